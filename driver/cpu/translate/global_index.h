// Kernels for which blocks that lie next to each other are one block.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_GLOBAL_INDEX_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_GLOBAL_INDEX_H_

#include <cstdint>
#include <optional>

#include "driver/cpu/ptx/module.h"

namespace slipway::cpu {

// Most kernels ask for their place along x only to compute %ctaid.x * %ntid.x + %tid.x, and some have a number written
// where %ntid.x should be.
struct GlobalIndex {
  uint32_t block_size = 0;  // That number; 0: %ntid.x.
};

// The global index of a kernel that asks for nothing else along x, calls nothing, and so does the same whether its
// thread t of block b says so, or says that it is thread n * %ntid.x + t of block b - n. That holds as long as
// %nctaid.x * %ntid.x is at most 2^31, past which 32-bit indices wrap.
std::optional<GlobalIndex> FindGlobalIndex(const ptx::Function& kernel);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_GLOBAL_INDEX_H_
