// The functions that a text may call: the operators of the semantics table that have names.
#ifndef SLIPWAY_JIT_TEXT_FUNCTIONS_H_
#define SLIPWAY_JIT_TEXT_FUNCTIONS_H_

#include <string_view>

#include "absl/types/span.h"
#include "jit/ops.h"
#include "slipway/dtype.h"

namespace slipway::text {

struct Function {
  std::string_view name;
  ir::Op op;
  int arity;
  // Costs enough that a branch around it pays: a lazily evaluated operand holding one becomes control flow, others are
  // computed and selected.
  bool heavy;
};

// Null if there is none of that name. Casts are not functions.
const Function* FindFunction(std::string_view name);

// A cast's name: a dtype ("float32", "f32"), and maybe what it keeps ("float32_rz", "int8_sat", "u32_bits"). False if
// it is none.
bool FindCast(std::string_view name, DType* dtype, ir::CastKind* kind);

// All names, for suggestions.
absl::Span<const std::string_view> FunctionNames();

}  // namespace slipway::text

#endif  // SLIPWAY_JIT_TEXT_FUNCTIONS_H_
