// A stack for kernels that have local memory.
//
// Local memory is on the stack of what runs the kernel. One that runs over the end of an array there would overwrite
// what called it, the engine and the application included. So such a kernel gets a stack with nothing else on it,
// between guards, and nothing that is found there afterwards is relied on.
#ifndef SLIPWAY_DRIVER_CPU_BLOCK_STACK_H_
#define SLIPWAY_DRIVER_CPU_BLOCK_STACK_H_

#include <cstddef>
#include <cstdint>

#include "driver/cpu/program.h"

namespace slipway::cpu {

// Whether a kernel has to run on such a stack.
inline bool NeedsBlockStack(const CpuKernel& kernel) { return kernel.stack_bytes != 0 || kernel.recurses; }

// The upper end of this thread's; null if there is no memory. It is the thread's until it ends.
std::byte* BlockStackTop();

// Calls `run` there.
void RunOnBlockStack(std::byte* top, CpuRunBlocks run, CpuLaunch* launch, uint64_t first, uint64_t last,
                     std::byte* shared);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_BLOCK_STACK_H_
