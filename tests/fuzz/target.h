// What a fuzz target is: one function over text, in a source of its own.
//
//   void FuzzOne(std::string_view text) { ... SLIPWAY_FUZZ_CHECK(invariant, "what is broken"); ... }
//   const TokenMutator& Mutator() { static const TokenMutator mutator(...); return mutator; }
//
// The rest (libfuzzer.cc, or run_corpus.cc where there is no libFuzzer) is the same for all.
#ifndef SLIPWAY_TESTS_FUZZ_TARGET_H_
#define SLIPWAY_TESTS_FUZZ_TARGET_H_

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/token_mutator.h"

namespace slipway::fuzz {

// Tries one input. Must return for every text, soon and without a trace, or end the process: that is a finding.
void FuzzOne(std::string_view text);

// How texts of the target's language are changed; the same object each time.
const TokenMutator& Mutator();

[[noreturn]] inline void Fail(const char* file, int line, std::string_view what) {
  std::fprintf(stderr, "%s:%d: %.*s\n", file, line, static_cast<int>(what.size()), what.data());
  std::abort();
}

}  // namespace slipway::fuzz

#define SLIPWAY_FUZZ_CHECK(condition, what)                              \
  do {                                                                   \
    if (!(condition)) ::slipway::fuzz::Fail(__FILE__, __LINE__, (what)); \
  } while (false)

#endif  // SLIPWAY_TESTS_FUZZ_TARGET_H_
