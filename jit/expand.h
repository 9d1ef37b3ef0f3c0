// Operators that the Builder writes in others: no kernel holds them, and folding and every device give what their parts
// give.
#ifndef SLIPWAY_JIT_EXPAND_H_
#define SLIPWAY_JIT_EXPAND_H_

#include "jit/builder.h"
#include "jit/ops.h"
#include "slipway/dtype.h"

namespace slipway::ir {

// `op` on operands that are of the types its row's slots want, with T `type`. The result is of the type that the row
// says; kNone after an error.
ValueId Expand(Builder& builder, Op op, DType type, const ValueId* operands);

}  // namespace slipway::ir

#endif  // SLIPWAY_JIT_EXPAND_H_
