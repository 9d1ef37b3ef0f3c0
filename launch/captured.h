// Captured numbers of a kernel (CompiledKernel::captured), put behind its arguments.
#ifndef SLIPWAY_LAUNCH_CAPTURED_H_
#define SLIPWAY_LAUNCH_CAPTURED_H_

#include <cstddef>
#include <cstring>
#include <string>

#include "slipway/kernel.h"

namespace slipway::internal {

// `buffer` has the kernel's buffer_size(), and its arguments.
inline void StoreCaptured(const Kernel& kernel, std::byte* buffer) {
  const std::string& captured = kernel.compiled().captured;
  if (!captured.empty()) std::memcpy(buffer + kernel.captured_offset(), captured.data(), captured.size());
}

}  // namespace slipway::internal

#endif  // SLIPWAY_LAUNCH_CAPTURED_H_
