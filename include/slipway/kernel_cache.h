// What the process remembers of what it compiled: kernels whose IR, target and options are the same are compiled once,
// however often they are made anew, and so are CUDA sources with the same headers. The IR of embedded kernels whose
// captured numbers differ is the same. What cannot be compiled (INVALID_ARGUMENT, UNIMPLEMENTED) is remembered, too.
#ifndef SLIPWAY_KERNEL_CACHE_H_
#define SLIPWAY_KERNEL_CACHE_H_

#include <cstddef>
#include <cstdint>

namespace slipway {

struct KernelCacheCounters {
  uint64_t hits = 0;      // Kernels that were found, or that another thread was compiling.
  uint64_t compiles = 0;  // Those that were not: compiled, failures included, or read from disk (disk_cache.h).
  uint64_t entries = 0;   // That are kept now, and their texts' bytes.
  uint64_t bytes = 0;
};
KernelCacheCounters GetKernelCacheCounters();

// Forgets all of them. Kernels that are there stay as they are.
void ClearKernelCache();

// Texts of at most so many bytes are kept, 64 MiB unless it is set here: those that were used last. 0 keeps none.
void SetKernelCacheLimit(size_t bytes);

}  // namespace slipway

#endif  // SLIPWAY_KERNEL_CACHE_H_
