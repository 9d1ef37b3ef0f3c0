// A piece of source text and the one way in which every front-end error is shown:
//
//   expression:1:9: unknown name 'xx'
//     z = a * xx + y
//             ^~ did you mean 'x'?
//
// Lines and columns count from 1; columns count code points, so that the caret stands right under non-ASCII text. A
// line longer than the terminal is clipped around the caret.
#ifndef SLIPWAY_JIT_TEXT_SOURCE_H_
#define SLIPWAY_JIT_TEXT_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "jit/ir.h"

namespace slipway::text {

// Bounds on what a text may be. A formula may come from anywhere, so each is checked and has its message.
inline constexpr size_t kMaxSourceBytes = size_t{1} << 20;
inline constexpr size_t kMaxNameBytes = 255;
// What compilers behind us take more than linear time for: calls of functions that become tens of instructions each
// (sin, pow, ...), and what becomes branches: blocks, reductions, lazily evaluated operands.
inline constexpr uint32_t kMaxCostlyCalls = 1024;
inline constexpr uint32_t kMaxBranches = 512;
// Nodes of a program once functions are put where they are called, and how deep blocks nest then.
inline constexpr uint32_t kMaxOperations = uint32_t{1} << 20;
inline constexpr uint32_t kMaxNesting = 128;
inline constexpr uint32_t kMaxFunctionParameters = 64;  // And results.
// Arrays of reductions over axes: each is a parameter of the kernel.
inline constexpr uint32_t kMaxReducedArrays = 64;

// A range of bytes in a Source.
struct Span {
  uint32_t offset = 0;
  uint32_t length = 0;
};

class Source {
 public:
  // `kind` is what messages call the text: "expression", "signature".
  Source(std::string_view kind, std::string text);

  std::string_view text() const { return text_; }
  std::string_view TextOf(Span span) const { return std::string_view(text_).substr(span.offset, span.length); }
  ir::Location LocationOf(uint32_t offset) const;
  // The same for the start of a token, in constant time for a one-line text: what stands before a token on its line is
  // ASCII, as only comments may hold anything else, and strings, whose bytes count.
  ir::Location LocationOfToken(uint32_t offset) const;
  // "1:9", for messages that mention a second place.
  std::string Position(uint32_t offset) const;

  // INVALID_ARGUMENT laid out as above; `hint` may be empty. A span past the end of the text points behind it.
  absl::Status ErrorAt(Span span, std::string_view message, std::string_view hint = {}) const;

  // The size and the encoding are checked before anything else looks at the text.
  absl::Status Validate() const;

 private:
  std::string kind_;
  std::string text_;
  std::vector<uint32_t> line_begins_;  // Of the second line and those after it.
};

}  // namespace slipway::text

#endif  // SLIPWAY_JIT_TEXT_SOURCE_H_
