// Compiles each kernel once a process, and once in all of them where there is a disk cache; see slipway/kernel_cache.h
// and slipway/disk_cache.h.
#ifndef SLIPWAY_JIT_COMPILE_CACHE_H_
#define SLIPWAY_JIT_COMPILE_CACHE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/compile.h"
#include "jit/ir.h"
#include "slipway/kernel.h"

namespace slipway {

// As Compile, unless the same kernel (by its structural hash, with the values of captured numbers left out) was
// compiled before for the same target with the same options: then what came of that, with this kernel's captured
// numbers. Its inspection is that of the first. With line_info nothing is remembered. Threads that ask for one kernel
// at once wait for one compile; of failures see memory_cache.h. What copies of one result are loaded from is loaded
// once a device, too.
absl::StatusOr<CompiledKernel> CompileOnce(const ir::Kernel& kernel, const Target& target,
                                           const CompileOptions& options = {});

// What finds a kernel in memory, and on disk.
std::vector<std::string> CacheKeysOf(const ir::Kernel& kernel, const Target& target, const CompileOptions& options);

}  // namespace slipway

#endif  // SLIPWAY_JIT_COMPILE_CACHE_H_
