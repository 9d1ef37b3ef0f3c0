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
  Dim3 grid;
  Dim3 block;
  uint32_t shared_bytes = 0;  // Dynamic shared memory of each block.
  int64_t size = kNoSize;  // Otherwise a problem size, from which grid.x and block.x are computed; grid and block are
                           // not looked at then.
};

// One thread for each of `size` elements; 0 launches nothing. A negative size is an INVALID_ARGUMENT at launch.
// The grid of 0 makes the one negative size that means "none", INT64_MIN, an error too.
constexpr LaunchConfig ForSize(int64_t size) {
  return LaunchConfig{.grid = {0, 0, 0}, .block = {0, 0, 0}, .shared_bytes = 0, .size = size};
}

}  // namespace slipway

#endif  // SLIPWAY_LAUNCH_CONFIG_H_
