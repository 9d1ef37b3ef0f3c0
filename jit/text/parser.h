// Text to Program. The grammar stands in docs/language.md.
#ifndef SLIPWAY_JIT_TEXT_PARSER_H_
#define SLIPWAY_JIT_TEXT_PARSER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jit/text/program.h"
#include "slipway/elementwise_options.h"

namespace slipway::text {

// Parses statements, with the signature given or, where `signature` is empty, inferred: free names in order of first
// appearance are the inputs, assigned names that are not `let` the outputs. Everything that can be known without dtypes
// is checked here; every mistake has one message, laid out as jit/text/source.h says. `constants` are numbers that the
// text may use by name, `functions` are functions of libraries that it may call. `runs_along` as of Program. Time and
// memory are linear in the text.
absl::StatusOr<Program> Parse(std::string_view text, std::string_view signature = {},
                              absl::Span<const TextConstant> constants = {},
                              absl::Span<const AnyExternalFunction> functions = {}, bool runs_along = false);

}  // namespace slipway::text

#endif  // SLIPWAY_JIT_TEXT_PARSER_H_
