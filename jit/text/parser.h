// Text to Program. The grammar stands in docs/language.md.
#ifndef SLIPWAY_JIT_TEXT_PARSER_H_
#define SLIPWAY_JIT_TEXT_PARSER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "jit/text/program.h"

namespace slipway::text {

// Parses statements, with the signature given or, where `signature` is empty, inferred: free names in order of first
// appearance are the inputs, assigned names that are not `let` the outputs. Everything that can be known without dtypes
// is checked here; every error is laid out as jit/text/source.h says. Time and memory are linear in the text.
absl::StatusOr<Program> Parse(std::string_view text, std::string_view signature = {});

}  // namespace slipway::text

#endif  // SLIPWAY_JIT_TEXT_PARSER_H_
