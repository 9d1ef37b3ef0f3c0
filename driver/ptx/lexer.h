// PTX text to tokens.
#ifndef SLIPWAY_DRIVER_PTX_LEXER_H_
#define SLIPWAY_DRIVER_PTX_LEXER_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace slipway::ptx {

struct Token {
  enum class Kind : uint8_t {
    kEnd,
    kIdentifier,   // foo, %r1, $L__BB0_1
    kDirective,    // .visible, .L2::128B; text keeps the dot
    kInteger,      // bits
    kFloat,        // bits of a double
    kFloat32,      // 0f3f800000: bits of the double of the same value
    kString,       // text without the quotes
    kPunctuation,  // one character, or one of << >> <= >= == != && ||
  };
  Kind kind = Kind::kEnd;
  std::string_view text;
  uint64_t bits = 0;
  int line = 1;
};

// The tokens of `text`, the last of kind kEnd; they point into it. INVALID_ARGUMENT ("line 3: ...") for anything that
// is no token. Comments are dropped.
absl::StatusOr<std::vector<Token>> Tokenize(std::string_view text);

}  // namespace slipway::ptx

#endif  // SLIPWAY_DRIVER_PTX_LEXER_H_
