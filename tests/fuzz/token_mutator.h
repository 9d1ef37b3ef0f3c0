// Mutants of program text that still read like the language: whole tokens and statements change, not bytes.
//
// Random bytes end in the lexer. A mutant made of the language's own tokens gets past the parser about every third
// time, so that what stands behind it is tried, too. The mutator knows no language but by its Vocabulary.
#ifndef SLIPWAY_TESTS_FUZZ_TOKEN_MUTATOR_H_
#define SLIPWAY_TESTS_FUZZ_TOKEN_MUTATOR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace slipway::fuzz {

// What a mutator knows of a language. The text pointed to must outlive it.
struct Vocabulary {
  // Tokens that may stand for each other (opcodes, types, ...). One in several groups counts for the first.
  std::vector<std::vector<std::string_view>> groups;
  // Pieces of text that may be put in before any statement, such as whole statements.
  std::vector<std::string_view> snippets;
  // Numbers at which something changes.
  std::vector<std::string_view> numbers;
  std::string_view ends_statement = ";";  // Characters.
};

class TokenMutator {
 public:
  explicit TokenMutator(Vocabulary vocabulary);

  // One to four changes to `text`; a function of text and seed.
  std::string Mutate(std::string_view text, uint32_t seed) const;

  // `text` with a few statements of `other` put in.
  std::string CrossOver(std::string_view text, std::string_view other, uint32_t seed) const;

 private:
  struct Change;
  void ChangeOnce(std::string& text, std::mt19937& random) const;

  Vocabulary vocabulary_;
  std::map<std::string_view, size_t> group_of_;
};

}  // namespace slipway::fuzz

#endif  // SLIPWAY_TESTS_FUZZ_TOKEN_MUTATOR_H_
