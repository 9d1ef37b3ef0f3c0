// The shape of a launch: grid and block given, or left to Slipway for a problem size; and what else a launch may ask
// for.
//
//   kernel(stream, ForSize(n), ...);                                     // one thread an element, block from occupancy
//   kernel(stream, ForShape(rows, columns), ...);                        // threads along both axes
//   kernel(stream, LaunchConfig{.grid = {64}, .block = {256}}, ...);
//   kernel(stream, LaunchConfig{.grid = {64}, .block = {256}, .cooperative = true}, ...);
#ifndef SLIPWAY_LAUNCH_CONFIG_H_
#define SLIPWAY_LAUNCH_CONFIG_H_

#include <cstdint>

namespace slipway {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;

  friend bool operator==(const Dim3&, const Dim3&) = default;
};

inline constexpr int64_t kNoSize = INT64_MIN;
inline constexpr int32_t kStreamPriority = INT32_MIN;  // A launch has its stream's priority.

struct LaunchConfig {
  Dim3 grid = {0, 0, 0};      // grid.x of 0: grid and block are computed from the sizes, which must be given then.
  Dim3 block;                 // Threads of a block; not looked at if grid is not given.
  uint32_t shared_bytes = 0;  // Dynamic shared memory of each block. More than 48 KiB needs no further step.
  // Problem sizes along x, y and z; not looked at if grid is given.
  int64_t size = kNoSize;
  int64_t size_y = 1, size_z = 1;

  // Each of these sends the launch through cuLaunchKernelEx, which costs a little more, and is UNIMPLEMENTED by drivers
  // or devices that lack it.
  Dim3 cluster = {0, 0, 0};            // Blocks of a cluster; cluster.x of 0 asks for none. Compute capability 9.0 on.
  bool cooperative = false;            // All blocks run at once, so that they may wait for each other.
  bool programmatic = false;           // May start before the kernel ahead of it on the stream has ended, once that one
                                       // allows it (programmatic dependent launch). Compute capability 9.0 on.
  int32_t priority = kStreamPriority;  // As of Device::CreateStream: lower runs first.

  constexpr bool HasAttributes() const {
    return (cluster.x != 0) | cooperative | programmatic | (priority != kStreamPriority);
  }
  // Whether a size is of one dimension: along x.
  constexpr bool IsFlat() const { return (size_y == 1) & (size_z == 1); }
};

// One thread for each of `size` elements; 0 launches nothing. A negative size is an INVALID_ARGUMENT at launch, and so
// is one past the device's largest grid, unless the kernel is made to cover its problem with any grid
// (CompiledKernel::grid_stride): then it gets the largest.
constexpr LaunchConfig ForSize(int64_t size) {
  LaunchConfig config;
  config.size = size;
  return config;
}

// One thread for each element of an array of that shape, the last extent along x. The threads of a block are shared
// out to the axes, x first: where the array is no narrower than a block along x and y, which costs no more than a grid
// that is given, always the same way.
constexpr LaunchConfig ForShape(int64_t size) { return ForSize(size); }
constexpr LaunchConfig ForShape(int64_t rows, int64_t columns) {
  LaunchConfig config;
  config.size = columns;
  config.size_y = rows;
  return config;
}
constexpr LaunchConfig ForShape(int64_t planes, int64_t rows, int64_t columns) {
  LaunchConfig config = ForShape(rows, columns);
  config.size_z = planes;
  return config;
}

}  // namespace slipway

#endif  // SLIPWAY_LAUNCH_CONFIG_H_
