// The shape of a launch: grid and block given, or left to Slipway for a problem size.
//
//   kernel(stream, ForSize(n), ...);                                     // one thread an element, block from occupancy
//   kernel(stream, LaunchConfig{.grid = {64}, .block = {256}}, ...);
#ifndef SLIPWAY_LAUNCH_CONFIG_H_
#define SLIPWAY_LAUNCH_CONFIG_H_

#include <cstdint>

namespace slipway {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

struct LaunchConfig {
  Dim3 grid;
  Dim3 block;
  uint32_t shared_bytes = 0;  // Dynamic shared memory of each block.
  int64_t size = -1;          // Not negative: a problem size of rank 1, from which grid.x and block.x are computed.
};

// One thread for each of `size` elements; 0 launches nothing. A negative size is an INVALID_ARGUMENT at launch.
constexpr LaunchConfig ForSize(int64_t size) { return LaunchConfig{.size = size < 0 ? INT64_MIN : size}; }

}  // namespace slipway

#endif  // SLIPWAY_LAUNCH_CONFIG_H_
