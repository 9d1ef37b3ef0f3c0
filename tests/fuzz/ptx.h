// PTX for fuzz targets.
#ifndef SLIPWAY_TESTS_FUZZ_PTX_H_
#define SLIPWAY_TESTS_FUZZ_PTX_H_

#include "absl/status/status.h"
#include "tests/fuzz/token_mutator.h"

namespace slipway::fuzz {

// The opcodes that the CPU device has and those that it refuses by name, with types, modifiers and the rest.
Vocabulary PtxVocabulary();

// Whether text may be refused so: by line and reason, or as a module that this device is too old for. What is INTERNAL
// is a bug.
bool IsRefusal(const absl::Status& status);

}  // namespace slipway::fuzz

#endif  // SLIPWAY_TESTS_FUZZ_PTX_H_
