// Kernels that functions of the library keep for the process.
#ifndef SLIPWAY_JIT_OPS_KEPT_KERNEL_H_
#define SLIPWAY_JIT_OPS_KEPT_KERNEL_H_

#include <utility>

#include "slipway/generic_kernel.h"

namespace slipway {

// For a static local variable. It is never destroyed: that would call drivers when the process ends, of which those
// that an application made may be gone by then.
inline const GenericKernel& Kept(GenericKernel kernel) { return *new GenericKernel(std::move(kernel)); }

}  // namespace slipway

#endif  // SLIPWAY_JIT_OPS_KEPT_KERNEL_H_
