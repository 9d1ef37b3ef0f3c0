// Dtypes from data, which may be anything.
#ifndef SLIPWAY_JIT_KNOWN_DTYPE_H_
#define SLIPWAY_JIT_KNOWN_DTYPE_H_

#include "slipway/dtype.h"

namespace slipway::ir {

// The dtype, or kVoid if there is none of that number.
constexpr DType Known(DType dtype) { return static_cast<int>(dtype) < kNumDTypes ? dtype : DType::kVoid; }

}  // namespace slipway::ir

#endif  // SLIPWAY_JIT_KNOWN_DTYPE_H_
