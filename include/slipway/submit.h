// The last steps of every launch, once the arguments lie in a buffer: the grid, the checks that need no arguments, and
// the driver's call. Part of kernel.h, which includes it; applications do not need it.
//
// On the straight road, nothing is asked of the driver and nothing is written down but the call. All that is rare takes
// another one, out of line, found by branches that are never taken otherwise:
//   - attributes of the launch, and sizes in two or three dimensions that are narrow along one: SubmitFully
//   - sizes and grids that are 0, too large, or too small to fill the device: SubmitOddSize, SubmitOddGrid
//   - a default stream (which wants its context made current), a stream of another device, a stream that is captured,
//     captured numbers and words for checks (which go behind the arguments), hooks: CallIndirectly. A stream says the
//     first three with one pointer, so that they are one compare.
#ifndef SLIPWAY_SUBMIT_H_
#define SLIPWAY_SUBMIT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <tuple>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "slipway/arg.h"
#include "slipway/array_uses.h"
#include "slipway/device.h"
#include "slipway/driver_api.h"
#include "slipway/facts.h"
#include "slipway/hooks.h"
#include "slipway/kernel.h"
#include "slipway/launch_config.h"
#include "slipway/packing.h"
#include "slipway/stream.h"
#include "slipway/tensor_trait.h"

namespace slipway::internal {

// A launch that is ready for the driver. Grid and block are right; grid.x of 0 stands for nothing to do.
struct ReadyLaunch {
  Dim3 grid;
  Dim3 block;
  uint32_t shared_bytes = 0;
  void* buffer = nullptr;                    // nullptr if there are no parameters.
  const LaunchConfig* attributes = nullptr;  // Where any is asked for.
  uint64_t bound = 0;  // Key of the bound launch that this is one of, if any; see CaptureRecord::NoteLaunch.
};

// The rare ends of a launch, out of line so that the hot path stays small. They take small things by value: a
// reference to one would make the hot path store it.
[[gnu::cold]] absl::Status ArgumentMismatch(const Kernel& kernel, absl::Span<const Facts> given);
// The arguments one by one, exactly: what a typed launch asks of all its arrays is more than some kernels demand of
// each.
[[gnu::noinline]] absl::Status CheckArguments(const Kernel& kernel, absl::Span<const Facts> given);
[[gnu::cold]] absl::Status SubmitOddSize(const Kernel& kernel, const Stream& stream, int64_t size,
                                         uint32_t shared_bytes, void* buffer);
[[gnu::cold]] absl::Status SubmitOddGrid(const Kernel& kernel, const Stream& stream, Dim3 grid, Dim3 block,
                                         uint32_t shared_bytes, void* buffer);
[[gnu::noinline]] absl::Status SubmitFully(const Kernel& kernel, const Stream& stream, LaunchConfig config,
                                           void* buffer);
[[gnu::noinline]] absl::Status CallIndirectly(const Kernel& kernel, const Stream& stream, ReadyLaunch launch);
[[gnu::cold]] absl::Status LaunchFailed(const Kernel& kernel, CUresult result);

// Grid and block of a configuration, checked; grid.x of 0 if there is nothing to do. Says once that a launch is too
// small for the device.
absl::StatusOr<ReadyLaunch> Configure(const Kernel& kernel, const LaunchConfig& config);

// How Configure shares out the threads of a block where there is enough to do along x and y; none, if it leaves threads
// for z there.
ShapePlan ShapePlanOf(const LaunchPlan& plan);

// A device that no stream is of, not even one that may not be launched on directly, whose device is null.
inline const DeviceState* NoDevice() {
  static constexpr char kNone = 0;
  return reinterpret_cast<const DeviceState*>(&kNone);
}

// One compare and one branch for all that may stand in a launch's way: a stream that is not the device's, or that the
// driver cannot be given just so, and hooks.
[[gnu::always_inline]] inline bool GoesStraight(const Stream& stream, const DeviceState* device) {
  const uint64_t differs = reinterpret_cast<uint64_t>(stream.direct_device()) ^ reinterpret_cast<uint64_t>(device);
  return (differs | AnyHooks()) == 0;
}

// A copy for the roads out of line, made field by field: were the caller's own configuration handed on, or copied
// whole, it would have to lie in memory, and be written there on the straight road too.
[[gnu::always_inline]] inline LaunchConfig CopyFields(const LaunchConfig& config) {
  LaunchConfig copy;
  copy.grid.x = config.grid.x, copy.grid.y = config.grid.y, copy.grid.z = config.grid.z;
  copy.block.x = config.block.x, copy.block.y = config.block.y, copy.block.z = config.block.z;
  copy.shared_bytes = config.shared_bytes;
  copy.size = config.size, copy.size_y = config.size_y, copy.size_z = config.size_z;
  copy.cluster.x = config.cluster.x, copy.cluster.y = config.cluster.y, copy.cluster.z = config.cluster.z;
  copy.cooperative = config.cooperative;
  copy.programmatic = config.programmatic;
  copy.priority = config.priority;
  return copy;
}

[[gnu::always_inline]] inline bool FillsDevice(const LaunchPlan& plan, const Dim3& grid) {
  return grid.x > plan.small_grid.get() || uint64_t{grid.x} * grid.y * grid.z > plan.small_grid.get();
}

[[gnu::always_inline]] inline bool Fits(const LaunchPlan& plan, const Dim3& grid, const Dim3& block) {
  // Unsigned, so that a 0 less 1 is past every limit.
  return grid.x - 1 < plan.max_grid[0] && grid.y - 1 < plan.max_grid[1] && grid.z - 1 < plan.max_grid[2] &&
         block.x - 1 < plan.max_block[0] && block.y - 1 < plan.max_block[1] && block.z - 1 < plan.max_block[2] &&
         uint64_t{block.x} * block.y * block.z <= plan.max_threads && FillsDevice(plan, grid);
}

// The driver's call, for a grid and a block that are right. The size of the buffer lies in the kernel, so that of its
// entry in `extra` nothing has to be made.
[[gnu::always_inline]] inline CUresult CallDriver(const Kernel& kernel, const Stream& stream, Dim3 grid, Dim3 block,
                                                  uint32_t shared_bytes, void* buffer) {
  const LaunchPlan& plan = kernel.plan();
  void* extra[5];
  std::memcpy(extra, kernel.size_entry(), sizeof(kernel.size_entry()));
  extra[2] = kLaunchParamBufferPointer, extra[3] = buffer, extra[4] = kLaunchParamEnd;
  return plan.launch(plan.function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared_bytes, stream.handle(),
                     nullptr, buffer == nullptr ? nullptr : extra);
}

[[gnu::always_inline]] inline absl::Status Call(const Kernel& kernel, const Stream& stream, Dim3 grid, Dim3 block,
                                                uint32_t shared_bytes, void* buffer) {
  if (!GoesStraight(stream, kernel.plan().device)) [[unlikely]] {
    return CallIndirectly(kernel, stream, {grid, block, shared_bytes, buffer});
  }
  const CUresult result = CallDriver(kernel, stream, grid, block, shared_bytes, buffer);
  if (result != CUDA_SUCCESS) [[unlikely]]
    return LaunchFailed(kernel, result);
  return absl::OkStatus();
}

// The launch itself, once the arguments lie in `buffer` (nullptr if there are none). Inlined into its callers, where
// much of it is constant. The two ways to a grid end in calls of their own, because merging them costs more than it
// saves.
[[gnu::always_inline]] inline absl::Status Submit(const Kernel& kernel, const Stream& stream,
                                                  const LaunchConfig& config, void* buffer) {
  const LaunchPlan& plan = kernel.plan();
  if (config.HasAttributes()) [[unlikely]]
    return SubmitFully(kernel, stream, CopyFields(config), buffer);
  const bool fits = config.shared_bytes <= plan.max_shared_bytes;
  if (config.grid.x != 0) {
    if (!fits || !Fits(plan, config.grid, config.block)) [[unlikely]] {
      return SubmitOddGrid(kernel, stream, config.grid, config.block, config.shared_bytes, buffer);
    }
    return Call(kernel, stream, config.grid, config.block, config.shared_bytes, buffer);
  }
  if (!config.IsFlat()) {
    const ShapePlan& shape = plan.shape;
    // Unsigned: what is 0 or negative is past every limit.
    const uint64_t x = static_cast<uint64_t>(config.size) - 1, y = static_cast<uint64_t>(config.size_y) - 1,
                   z = static_cast<uint64_t>(config.size_z) - 1;
    const bool ordinary = fits && x - shape.least[0] < shape.span[0] && y - shape.least[1] < shape.span[1] &&
                          (config.size_z == 1 || z < plan.max_grid[2]);
    const Dim3 grid = {static_cast<uint32_t>(x >> shape.shift[0]) + 1, static_cast<uint32_t>(y >> shape.shift[1]) + 1,
                       static_cast<uint32_t>(z) + 1};
    if (!ordinary || !FillsDevice(plan, grid)) [[unlikely]] {
      return SubmitFully(kernel, stream, CopyFields(config), buffer);
    }
    return Call(kernel, stream, grid, {uint32_t{1} << shape.shift[0], uint32_t{1} << shape.shift[1], 1},
                config.shared_bytes, buffer);
  }
  // One compare for 0 (nothing to do), negative sizes and sizes past the grid; one for grids that are small.
  const uint64_t last = static_cast<uint64_t>(config.size) - 1;
  if (!fits || last >= plan.max_size) [[unlikely]] {
    return SubmitOddSize(kernel, stream, config.size, config.shared_bytes, buffer);
  }
  const uint32_t last_block = static_cast<uint32_t>(last >> plan.block_shift);
  if (last_block < plan.small_grid.get()) [[unlikely]] {
    return SubmitOddSize(kernel, stream, config.size, config.shared_bytes, buffer);
  }
  return Call(kernel, stream, {last_block + 1, 1, 1}, {plan.block, 1, 1}, config.shared_bytes, buffer);
}

// Room for the arguments of a call, of which nothing but the types is known: each with padding in front. Copies start
// at offsets below that, and the last may be a strided struct where a contiguous one or an address is wanted.
template <class... Args>
inline constexpr size_t kPackedBytes =
    (size_t{0} + ... + (Packer<Args>::kMaxBytes + 8)) + std::max({size_t{16}, Packer<Args>::kMaxBytes...});

// Packs the arguments of a call, which are known to fit, for parameters that have an `offset` each, and launches.
template <class Param, class... Args>
[[gnu::always_inline]] inline absl::Status SubmitCall(const Kernel& kernel, [[maybe_unused]] const Param* param,
                                                      const Stream& stream, const LaunchConfig& config,
                                                      const Args&... args) {
  alignas(16) std::byte buffer[kPackedBytes<std::decay_t<Args>...>];
  // In order: what a copy reaches beyond its parameter is padding, or is overwritten by the next.
  (Packer<std::decay_t<Args>>::Store(buffer + (param++)->offset, args), ...);
  return Submit(kernel, stream, config, sizeof...(Args) == 0 ? nullptr : buffer);
}

}  // namespace slipway::internal

namespace slipway {

// A configuration is large; of the most frequent kind two numbers are enough.
inline absl::Status Kernel::Launch(const Stream& stream, const LaunchConfig& config, absl::Span<const Arg> args) const {
  if (config.IsFlat() && !config.HasAttributes() && config.grid.x == 0)
    return LaunchSized(stream, config.size, config.shared_bytes, args);
  return LaunchConfigured(stream, internal::CopyFields(config), args);
}

template <internal::Packable... Args>
inline absl::Status Kernel::operator()(const Stream& stream, const LaunchConfig& config, const Args&... args) const {
  if constexpr ((internal::kOwns<std::decay_t<Args>> || ...)) {
    if (internal::UsedElsewhere(stream, args...)) [[unlikely]] {
      const auto launch = [&](const auto&... views) { return (*this)(stream, config, views...); };
      return internal::LaunchNotingUses(stream, launch, args...);
    }
  }
  if (internal::SameTypes(state_->type_words.data(), internal::TypeWords(args...))) [[likely]] {
    // Looked at before anything is stored, as in TypedKernel.
    const ParamPlan* const params = state_->params.data();
    [[maybe_unused]] const ParamPlan* param = params;
    Facts misfit = 0;
    ((misfit |= internal::Glance((param++)->demand, args)), ...);
    if constexpr ((Tensor<std::decay_t<Args>> || ...)) misfit |= state_->arrays_demand.promises;
    if (misfit == 0) [[likely]]
      return internal::SubmitCall(*this, params, stream, config, args...);
  }
  return LaunchExactly(stream, internal::CopyFields(config), args...);
}

// Looks again, exactly: an array begins with its address, and so is packed where an address is wanted like any other.
// Only what fits by neither road is looked at one by one, which launches, too, or says what is wrong.
template <class... Args>
absl::Status Kernel::LaunchExactly(const Stream& stream, const LaunchConfig& config, const Args&... args) const {
  if (sizeof...(Args) == state_->num_params) {
    [[maybe_unused]] size_t i = 0;
    [[maybe_unused]] const auto fits = [&](const auto& arg) __attribute__((always_inline)) {
      using Source = std::decay_t<decltype(arg)>;
      const size_t at = i++;
      const auto own = static_cast<internal::TypeCode>(state_->type_words[at / internal::kCodesPerWord] >>
                                                       16 * (at % internal::kCodesPerWord));
      return internal::MayStandFor(own, arg) && internal::Packer<Source>::Misfit(state_->params[at].demand, arg) == 0;
    };
    if ((fits(args) && ...)) return internal::SubmitCall(*this, state_->params.data(), stream, config, args...);
  }
  return LaunchAsList(stream, config, args...);
}

// A std::tuple, because a tensor's AsArg stays where it was made.
template <class... Args>
absl::Status Kernel::LaunchAsList(const Stream& stream, const LaunchConfig& config, const Args&... args) const {
  const std::tuple<internal::AsArg<std::decay_t<Args>>...> list(
      internal::AsArgInput<std::decay_t<Args>>{args, state_->device.id()}...);
  return std::apply(
      [&](const auto&... each) { return Launch(stream, config, std::initializer_list<Arg>{each.arg...}); }, list);
}

}  // namespace slipway

#endif  // SLIPWAY_SUBMIT_H_
