// What a launch that is captured into a graph uses, and the graph has to keep.
#ifndef SLIPWAY_LAUNCH_KEEP_ALIVE_H_
#define SLIPWAY_LAUNCH_KEEP_ALIVE_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "slipway/kernel.h"

namespace slipway::internal {

// The kernel's code, and the memory of Slipway that the arrays and pointers in a launch buffer point into.
std::vector<std::shared_ptr<const void>> OwnersOf(const Kernel& kernel, const std::byte* buffer);

}  // namespace slipway::internal

#endif  // SLIPWAY_LAUNCH_KEEP_ALIVE_H_
