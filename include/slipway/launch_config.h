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

  friend bool operator==(const Dim3&, const Dim3&) = default;
};

inline constexpr int64_t kNoSize = INT64_MIN;

struct LaunchConfig {
  Dim3 grid = {0, 0, 0};      // grid.x of 0: grid and block are computed from `size`, which must be given then.
  Dim3 block;                 // Threads of a block; not looked at if grid is not given.
  uint32_t shared_bytes = 0;  // Dynamic shared memory of each block.
  int64_t size = kNoSize;     // A problem size; not looked at if grid is given.
};

// One thread for each of `size` elements; 0 launches nothing. A negative size is an INVALID_ARGUMENT at launch.
constexpr LaunchConfig ForSize(int64_t size) {
  LaunchConfig config;
  config.size = size;
  return config;
}

}  // namespace slipway

#endif  // SLIPWAY_LAUNCH_CONFIG_H_
