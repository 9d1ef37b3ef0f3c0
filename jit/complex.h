// Operators on complex numbers, which the Builder writes in operators on their real and imaginary parts.
#ifndef SLIPWAY_JIT_COMPLEX_H_
#define SLIPWAY_JIT_COMPLEX_H_

#include "jit/builder.h"
#include "jit/ops.h"
#include "slipway/dtype.h"

namespace slipway::ir {

// `op` with the complex type `type` as the type of the operation. What stands in a slot of that type is of it, or of
// the type of its parts: a real operand stays real, so that r * z is two products. The result is of the type that the
// row says; kNone after an error.
ValueId ExpandComplex(Builder& builder, Op op, DType type, const ValueId* operands);

}  // namespace slipway::ir

#endif  // SLIPWAY_JIT_COMPLEX_H_
