// Kernels in which threads share the reductions of an element out.
#ifndef SLIPWAY_JIT_OPS_TEAM_KERNEL_H_
#define SLIPWAY_JIT_OPS_TEAM_KERNEL_H_

#include "absl/status/status.h"
#include "jit/ops/element_writer.h"

namespace slipway::elementwise {

// The body of a kernel whose specialisation has another Team than kThread; its further parameters, too. The operands
// are shared out over the threads, each thread's merged, then the block's, then the blocks'; what comes of it does not
// hang on which thread was how fast.
absl::Status WriteTeam(ElementWriter& writer);

}  // namespace slipway::elementwise

#endif  // SLIPWAY_JIT_OPS_TEAM_KERNEL_H_
