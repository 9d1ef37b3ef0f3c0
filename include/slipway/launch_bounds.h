// What a kernel promises of its launches, and asks of the compiler in return.
#ifndef SLIPWAY_LAUNCH_BOUNDS_H_
#define SLIPWAY_LAUNCH_BOUNDS_H_

#include <cstdint>

namespace slipway {

// Of a thread, that a compiler can be held to (ptxas takes fewer, and gives some all the same).
inline constexpr uint32_t kFewestRegisters = 16, kMostRegisters = 255;

// 0 leaves a thing to the compiler.
struct LaunchBounds {
  uint32_t max_threads = 0;    // Of a block, at most 1,024. The driver refuses launches with more.
  uint32_t min_blocks = 0;     // That fit on a multiprocessor at once, at most 32; with max_threads only.
  uint32_t max_registers = 0;  // Of a thread, kFewestRegisters to kMostRegisters.

  friend bool operator==(const LaunchBounds&, const LaunchBounds&) = default;
};

}  // namespace slipway

#endif  // SLIPWAY_LAUNCH_BOUNDS_H_
