// Grid and block of a launch, and its limits.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "driver/log.h"
#include "driver/status_macros.h"
#include "slipway/kernel.h"

namespace slipway {
namespace {

std::atomic<bool>& WarningsOn() {
  static std::atomic<bool> on = [] {
    const char* const setting = std::getenv("SLIPWAY_LAUNCH_WARNINGS");
    return setting == nullptr || std::string_view(setting) != "off";
  }();
  return on;
}

template <class... Parts>
absl::Status Error(const Kernel& kernel, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("kernel '", kernel.name(), "': ", parts...));
}

absl::Status CheckShared(const Kernel& kernel, uint32_t bytes) {
  const uint32_t most = kernel.plan().max_shared_bytes;
  if (bytes <= most) return absl::OkStatus();
  return Error(kernel, bytes, " bytes of dynamic shared memory were asked for; a block of this kernel can have ", most,
               ", so use less or split the work");
}

// Of a kernel whose threads are told apart along x alone: that there is nothing along y and z.
absl::Status CheckAlongX(const Kernel& kernel, const char* what, std::array<int64_t, 2> along_yz) {
  for (int axis : {0, 1}) {
    if (along_yz[axis] <= 1) continue;
    return Error(kernel, "the ", what, " along ", axis == 0 ? "y" : "z", " is ", along_yz[axis],
                 ", and it shares its work out along x alone, by GridStride, so that all of it would be done ",
                 along_yz[axis], " times; launch it by ForSize(n), or with a grid and a block along x");
  }
  return absl::OkStatus();
}

absl::Status CheckShape(const Kernel& kernel, const Dim3& grid, const Dim3& block) {
  const LaunchPlan& plan = kernel.plan();
  if (kernel.compiled().along_x) {
    SLIPWAY_RETURN_IF_ERROR(CheckAlongX(kernel, "grid", {grid.y, grid.z}));
    SLIPWAY_RETURN_IF_ERROR(CheckAlongX(kernel, "block", {block.y, block.z}));
  }
  const struct {
    const char* what;
    uint32_t value, limit;
  } rows[] = {
      {"grid.x", grid.x, plan.max_grid[0]},    {"grid.y", grid.y, plan.max_grid[1]},
      {"grid.z", grid.z, plan.max_grid[2]},    {"block.x", block.x, plan.max_block[0]},
      {"block.y", block.y, plan.max_block[1]}, {"block.z", block.z, plan.max_block[2]},
  };
  for (const auto& row : rows) {
    if (row.value == 0) {
      return Error(kernel, row.what, " is 0; every dimension of a launch is 1 or more (ForSize(0) launches nothing)");
    }
    if (row.value > row.limit) {
      return Error(kernel, row.what, " is ", row.value, "; the limit is ", row.limit,
                   ", so use another dimension or let each thread do more");
    }
  }
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  if (threads <= plan.max_threads) return absl::OkStatus();
  return Error(kernel, "a block of ", block.x, " x ", block.y, " x ", block.z, " = ", threads,
               " threads was asked for; the limit is ", plan.max_threads, ", so use smaller blocks and more of them");
}

// Bits that hold the numbers below `extent`, which is 1 or more.
uint32_t BitsFor(int64_t extent) { return static_cast<uint32_t>(std::bit_width(static_cast<uint64_t>(extent) - 1)); }

// Threads of a block along each axis, as shifts: a warp along x if the problem is that wide, then along y and z as far
// as the problem goes, what is left along x again.
std::array<uint32_t, 3> ShareThreads(const LaunchPlan& plan, const int64_t (&sizes)[3]) {
  constexpr uint32_t kWarpShift = 5;
  std::array<uint32_t, 3> shifts = {std::min(BitsFor(sizes[0]), std::min(kWarpShift, plan.block_shift)), 0, 0};
  uint32_t left = plan.block_shift - shifts[0];
  for (int axis : {1, 2}) {
    const uint32_t most = static_cast<uint32_t>(std::bit_width(plan.max_block[axis])) - 1;
    shifts[axis] = std::min({BitsFor(sizes[axis]), left, most});
    left -= shifts[axis];
  }
  const uint32_t most = static_cast<uint32_t>(std::bit_width(plan.max_block[0])) - 1;
  shifts[0] += std::min({left, most - shifts[0], BitsFor(sizes[0]) - shifts[0]});
  return shifts;
}

// Whether threads that find nothing to do are left out. On the CPU device each of them takes time, where a GPU runs
// them at once with the others; and a kernel that strides over its grid covers its problem with any.
bool TrimsBlocks(const Kernel& kernel) { return kernel.device().is_cpu() && kernel.compiled().grid_stride; }

// The threads of a block, of no more than that, for a size of 1 or more.
uint32_t WholeWarps(int64_t size) {
  constexpr int64_t kWarp = 32;
  return static_cast<uint32_t>(std::min<int64_t>((size - 1) / kWarp + 1, UINT32_MAX / kWarp) * kWarp);
}

absl::StatusOr<internal::ReadyLaunch> ConfigureSizes(const Kernel& kernel, const LaunchConfig& config) {
  constexpr const char* kAxes[] = {"x", "y", "z"};
  const LaunchPlan& plan = kernel.plan();
  const int64_t sizes[] = {config.size, config.size_y, config.size_z};
  if (config.size == kNoSize) {
    return Error(kernel, "grid.x is 0 and no size is given; give LaunchConfig a grid and a block, or use ForSize(n)");
  }
  const bool flat = config.size_y == 1 && config.size_z == 1;
  for (int axis = 0; axis < 3; ++axis) {
    if (sizes[axis] >= 0) continue;
    return Error(kernel, "the size ", sizes[axis], flat ? "" : absl::StrCat(" along ", kAxes[axis]),
                 " is negative; ForSize wants 0 or more");
  }
  internal::ReadyLaunch launch{.grid = {0, 1, 1}, .block = {plan.block, 1, 1}, .shared_bytes = config.shared_bytes};
  if (std::find(sizes, sizes + 3, 0) != sizes + 3) return launch;  // Nothing to do.

  if (kernel.compiled().along_x) SLIPWAY_RETURN_IF_ERROR(CheckAlongX(kernel, "size", {config.size_y, config.size_z}));
  std::array<uint32_t, 3> shifts = {plan.block_shift, 0, 0};
  if (!flat) shifts = ShareThreads(plan, sizes);
  uint32_t blocks[3];
  for (int axis = 0; axis < 3; ++axis) {
    const uint64_t wanted = ((static_cast<uint64_t>(sizes[axis]) - 1) >> shifts[axis]) + 1;
    if (wanted > plan.max_grid[axis] && !kernel.compiled().grid_stride) {
      const uint64_t most = uint64_t{plan.max_grid[axis]} << shifts[axis];
      return Error(kernel, "the size ", sizes[axis], flat ? "" : absl::StrCat(" along ", kAxes[axis]), " is more than ",
                   most, ", the most elements that a grid of ", plan.max_grid[axis], " blocks of ",
                   uint32_t{1} << shifts[axis],
                   " threads covers; launch in parts, or give a grid to a kernel with a grid-stride loop");
    }
    blocks[axis] = static_cast<uint32_t>(std::min<uint64_t>(wanted, plan.max_grid[axis]));
  }
  launch.grid = {blocks[0], blocks[1], blocks[2]};
  launch.block = {uint32_t{1} << shifts[0], uint32_t{1} << shifts[1], uint32_t{1} << shifts[2]};
  if (flat && TrimsBlocks(kernel)) launch.block.x = std::min(launch.block.x, WholeWarps(config.size));
  return launch;
}

// Once a kernel, and then never looked at again.
void SayIfSmall(const Kernel& kernel, const Dim3& grid) {
  const LaunchPlan& plan = kernel.plan();
  if (kernel.compiled().syncs_grid) return;  // May be as large as fits at once, and no larger.
  if (TrimsBlocks(kernel)) return;           // Comes by for that.
  const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
  const uint32_t small = plan.small_grid.get();
  if (grid.x == 0 || blocks > small) return;
  if (plan.small_grid.exchange(0) == 0) return;  // Another thread is saying it.
  LogWarning(absl::StrCat("kernel '", kernel.name(), "' was launched with ", blocks, blocks == 1 ? " block" : " blocks",
                          " on ", kernel.device().Describe(), ", which has ",
                          kernel.device().properties().multiprocessors,
                          " multiprocessors: part of it has nothing to do. Give each launch more work, or use smaller "
                          "blocks. (Said once for a kernel; SLIPWAY_LAUNCH_WARNINGS=off turns it off.)"));
}

}  // namespace

void SetLaunchWarnings(bool on) { WarningsOn().store(on, std::memory_order_relaxed); }
bool LaunchWarnings() { return WarningsOn().load(std::memory_order_relaxed); }

namespace internal {

ShapePlan ShapePlanOf(const LaunchPlan& plan) {
  const std::array<uint32_t, 3> shifts = ShareThreads(plan, {INT64_MAX, INT64_MAX, INT64_MAX});
  if (shifts[2] != 0) return {};
  ShapePlan shape{.shift = {shifts[0], shifts[1]}};
  for (int axis : {0, 1}) {
    // Sizes of more than half of the threads along an axis have as many bits as those.
    const uint64_t threads = uint64_t{1} << shifts[axis];
    shape.least[axis] = threads / 2;
    shape.span[axis] = plan.max_grid[axis] * threads - shape.least[axis];
  }
  return shape;
}

absl::StatusOr<ReadyLaunch> Configure(const Kernel& kernel, const LaunchConfig& config) {
  if (kernel.compiled().syncs_grid && !config.cooperative) {
    return Error(kernel,
                 "all threads of its grid wait for each other (SyncGrid), which only those of a cooperative "
                 "launch can; set LaunchConfig::cooperative");
  }
  if (absl::Status status = CheckShared(kernel, config.shared_bytes); !status.ok()) return status;
  ReadyLaunch launch{.grid = config.grid, .block = config.block, .shared_bytes = config.shared_bytes};
  if (config.grid.x == 0) {
    absl::StatusOr<ReadyLaunch> sized = ConfigureSizes(kernel, config);
    if (!sized.ok()) return sized;
    launch = *sized;
  } else if (absl::Status status = CheckShape(kernel, config.grid, config.block); !status.ok()) {
    return status;
  }
  SayIfSmall(kernel, launch.grid);
  return launch;
}

}  // namespace internal
}  // namespace slipway
