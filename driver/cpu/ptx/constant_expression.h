// Constant expressions (PTX ISA, 4.6): in operands, array sizes and initialisers.
#ifndef SLIPWAY_DRIVER_CPU_PTX_CONSTANT_EXPRESSION_H_
#define SLIPWAY_DRIVER_CPU_PTX_CONSTANT_EXPRESSION_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "driver/ptx/lexer.h"

namespace slipway::ptx {

struct Constant {
  bool is_float = false;
  bool narrow = false;  // Written 0f.
  bool is_unsigned = false;
  uint64_t bits = 0;  // Of an integer or of a double.
};

// Evaluates the expression that starts at tokens[*at] and moves *at past it. INVALID_ARGUMENT with the line otherwise.
absl::StatusOr<Constant> ParseConstant(const std::vector<Token>& tokens, size_t* at);

}  // namespace slipway::ptx

#endif  // SLIPWAY_DRIVER_CPU_PTX_CONSTANT_EXPRESSION_H_
