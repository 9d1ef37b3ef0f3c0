// A kernel loaded on a device, launched with arguments whose types are known at run time.
//
//   Kernel kernel = Kernel::Load(device, compiled).value();
//   absl::Status status = kernel.Launch(stream, ForSize(n), {y, x, 2.0f});
//
// TypedKernel (typed_kernel.h) is the same with the types known at compile time.
#ifndef SLIPWAY_KERNEL_H_
#define SLIPWAY_KERNEL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "slipway/arg.h"
#include "slipway/device.h"
#include "slipway/facts.h"
#include "slipway/launch_config.h"
#include "slipway/module.h"
#include "slipway/signature.h"
#include "slipway/stream.h"

namespace slipway {

// What a kernel became on its way, for people to look at.
struct Inspection {
  std::string ir;                                     // Kernel IR.
  std::string llvm;                                   // LLVM IR after optimisation; empty if not kept.
  std::string ptx;                                    // Exactly the text that the driver is given.
  std::string math_library;                           // "libdevice", "libclc", or empty where none was needed.
  std::vector<std::pair<std::string, double>> times;  // Stage and microseconds, in order.
};

// A kernel as a compiler hands it over: PTX with the name and the parameters of its entry. Needs no device.
struct CompiledKernel {
  std::string name;
  Signature signature;
  std::shared_ptr<const Inspection> inspection;  // Never null; inspection->ptx is the code.
};

// The most bytes of parameters that a launch can carry (CUDA C++ Programming Guide, "Kernel Function Parameters": 4,096
// bytes, and 32,764 from CUDA 12.1 on for compute capability 7.0 and newer; PTX ISA 8.1 raised .param accordingly).
inline constexpr uint32_t kMaxParamBytes = 4096;
inline constexpr uint32_t kMaxLargeParamBytes = 32764;

// All that a launch wants to know about a kernel besides its parameters: read once when the kernel is loaded, plain
// fields after.
struct LaunchPlan {
  decltype(DriverApi::LaunchKernel) launch = nullptr;
  CUfunction function = nullptr;
  const DeviceState* device = nullptr;
  uint64_t max_size = 0;  // The largest ForSize: block times the most blocks that a grid has in x.
  uint32_t block = 0;     // Threads of a block under ForSize, from occupancy; a power of two, 1 << block_shift.
  uint32_t block_shift = 0;
  uint32_t max_grid[3] = {};
  uint32_t max_block[3] = {};
  uint32_t max_threads = 0;       // Of a block of this kernel.
  uint32_t max_shared_bytes = 0;  // Dynamic shared memory that a block of this kernel may have.
};

// One parameter, as a launch sees it. `pairs` is how an argument is copied: 0, a scalar of at most 8 bytes, as a whole
// zero-extended word; else so many 16-byte pieces, the last of which may reach into what lies behind the source (a
// view's facts word) and behind the target (the next parameter, which is stored later, or spare room).
struct ParamPlan {
  FactsDemand demand;
  uint32_t offset = 0;  // In the launch buffer.
  uint32_t pairs = 0;
};

class Kernel {
 public:
  // Loads a compiled kernel's PTX. INVALID_ARGUMENT if the driver refuses it (with its log), or if its parameters are
  // more bytes than this device and this PTX ISA take; NOT_FOUND if the PTX has no entry of that name.
  static absl::StatusOr<Kernel> Load(const Device& device, CompiledKernel compiled);

  // Queues the kernel on `stream` and returns. Arguments in the order of the parameters. Thread-safe. Costs no
  // allocation, no lock, and of the driver only the launch call itself (on a default stream the context is made current
  // as well, and the caller's put back).
  //
  // Errors, all INVALID_ARGUMENT and found before anything is launched: a wrong number of arguments; an argument whose
  // dtype, rank, layout, index range or device is not what the parameter wants, or that is null, or not writable where
  // the kernel writes; a stream of another device; a grid, block or shared memory past the kernel's or the device's
  // limits. Otherwise the driver's own error. What goes wrong while the kernel runs is reported by Stream::Synchronize.
  absl::Status Launch(const Stream& stream, const LaunchConfig& config, absl::Span<const Arg> args) const;
  absl::Status Launch(const Stream& stream, const LaunchConfig& config, std::initializer_list<Arg> args) const {
    return Launch(stream, config, absl::MakeConstSpan(args.begin(), args.size()));
  }
  // The same, written as a call: saxpy(stream, ForSize(n), y, x, 2.0f). Where the C++ types of all arguments tell dtype
  // and rank, checking and copying each is a few straight instructions and no list of Args is made; always inlined.
  template <class... Args>
  requires(std::is_convertible_v<const Args&, Arg>&&...) [[gnu::always_inline]] absl::Status operator()(
      const Stream& stream, const LaunchConfig& config, const Args&... args) const;

  // The same by parameter names, in any order, each exactly once. Looks every name up, so it costs more.
  absl::Status LaunchByName(const Stream& stream, const LaunchConfig& config, absl::Span<const NamedArg> args) const;
  absl::Status LaunchByName(const Stream& stream, const LaunchConfig& config,
                            std::initializer_list<NamedArg> args) const {
    return LaunchByName(stream, config, absl::MakeConstSpan(args.begin(), args.size()));
  }

  const std::string& name() const { return state_->compiled.name; }
  const Signature& signature() const { return state_->compiled.signature; }
  const Inspection& inspection() const { return *state_->compiled.inspection; }
  const CompiledKernel& compiled() const { return state_->compiled; }
  const Device& device() const { return state_->device; }
  const LaunchPlan& plan() const { return state_->plan; }
  absl::Span<const ParamPlan> params() const { return state_->params; }
  uint32_t num_params() const { return state_->num_params; }
  uint32_t buffer_size() const { return state_->buffer_size; }  // Bytes: the end of the last parameter.

 private:
  struct State {
    LaunchPlan plan;
    uint32_t num_params = 0;
    uint32_t buffer_size = 0;
    std::vector<ParamPlan> params;
    CompiledKernel compiled;
    Device device;
    Module module;  // Keeps the code loaded.
  };
  explicit Kernel(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

namespace internal {

// The rare ends of a launch, out of line so that the hot path stays small. They take configurations by value: a
// reference to one would make the hot path store it.
[[gnu::cold]] absl::Status ArgumentMismatch(const Kernel& kernel, absl::Span<const Facts> given);
[[gnu::cold]] absl::Status BadSize(const Kernel& kernel, int64_t size, uint32_t shared_bytes);  // OK for size 0.
[[gnu::cold]] absl::Status BadConfig(const Kernel& kernel, LaunchConfig config);
// A stream of another device, or a default stream, which wants the context made current.
[[gnu::noinline]] absl::Status CallIndirectly(const Kernel& kernel, const Stream& stream, LaunchConfig config,
                                              void* buffer, size_t bytes);
[[gnu::cold]] absl::Status LaunchFailed(const Kernel& kernel, CUresult result);

inline bool Fits(const LaunchPlan& plan, const Dim3& grid, const Dim3& block) {
  // Unsigned, so that a 0 less 1 is past every limit.
  return grid.x - 1 < plan.max_grid[0] && grid.y - 1 < plan.max_grid[1] && grid.z - 1 < plan.max_grid[2] &&
         block.x - 1 < plan.max_block[0] && block.y - 1 < plan.max_block[1] && block.z - 1 < plan.max_block[2] &&
         uint64_t{block.x} * block.y * block.z <= plan.max_threads;
}

// The driver's call, for a grid and a block that are right.
[[gnu::always_inline]] inline CUresult CallDriver(const LaunchPlan& plan, const Stream& stream, Dim3 grid, Dim3 block,
                                                  uint32_t shared_bytes, void* buffer, size_t bytes) {
  void* extra[] = {kLaunchParamBufferPointer, buffer, kLaunchParamBufferSize, &bytes, kLaunchParamEnd};
  return plan.launch(plan.function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared_bytes, stream.handle(),
                     nullptr, bytes == 0 ? nullptr : extra);
}

[[gnu::always_inline]] inline absl::Status Call(const Kernel& kernel, const Stream& stream, Dim3 grid, Dim3 block,
                                                uint32_t shared_bytes, void* buffer, size_t bytes) {
  const LaunchPlan& plan = kernel.plan();
  // One compare for the device and for whether its context must be current.
  if (stream.direct_device() != plan.device) [[unlikely]] {
    return CallIndirectly(kernel, stream, {grid, block, shared_bytes}, buffer, bytes);
  }
  const CUresult result = CallDriver(plan, stream, grid, block, shared_bytes, buffer, bytes);
  if (result != CUDA_SUCCESS) [[unlikely]]
    return LaunchFailed(kernel, result);
  return absl::OkStatus();
}

// The launch itself, once the arguments lie in `buffer`. Inlined into its callers, where much of it is constant. The
// two ways to a grid end in calls of their own, because merging them costs more than it saves.
[[gnu::always_inline]] inline absl::Status Submit(const Kernel& kernel, const Stream& stream,
                                                  const LaunchConfig& config, void* buffer, size_t bytes) {
  const LaunchPlan& plan = kernel.plan();
  const bool fits = config.shared_bytes <= plan.max_shared_bytes;
  if (config.grid.x != 0) {
    if (!fits || !Fits(plan, config.grid, config.block)) [[unlikely]]
      return BadConfig(kernel, config);
    return Call(kernel, stream, config.grid, config.block, config.shared_bytes, buffer, bytes);
  }
  // One compare for 0 (nothing to do), negative sizes and sizes past the grid.
  const uint64_t last = static_cast<uint64_t>(config.size) - 1;
  if (!fits || last >= plan.max_size) [[unlikely]]
    return BadSize(kernel, config.size, config.shared_bytes);
  return Call(kernel, stream, {static_cast<uint32_t>(last >> plan.block_shift) + 1, 1, 1}, {plan.block, 1, 1},
              config.shared_bytes, buffer, bytes);
}

}  // namespace internal
template <class... Args>
requires(std::is_convertible_v<const Args&, Arg>&&...)
    [[gnu::always_inline]] inline absl::Status Kernel::operator()(const Stream& stream, const LaunchConfig& config,
                                                                  const Args&... args) const {
  if constexpr ((internal::HasStaticArg<Args> && ...)) {
    // What arguments that fit can need: each with padding in front. Copies start at offsets below that, and the last
    // may be a strided struct where a contiguous one is wanted.
    constexpr size_t kBytes = (size_t{0} + ... + (internal::StaticArg<Args>::kBytes + 8));
    constexpr size_t kSlack = std::max({size_t{16}, internal::StaticArg<Args>::kBytes...});
    alignas(16) std::byte buffer[kBytes + kSlack];
    const State& state = *state_;
    if (state.num_params == sizeof...(Args) && state.buffer_size <= kBytes) [[likely]] {
      [[maybe_unused]] const ParamPlan* param = state.params.data();
      [[maybe_unused]] const auto pack = [&](const auto& arg) {
        using Source = internal::StaticArg<std::remove_cvref_t<decltype(arg)>>;
        const ParamPlan& plan = *param++;
        Source::Copy(buffer + plan.offset, arg);
        return plan.demand.Misfit(Source::FactsOf(arg));
      };
      // In order: what a copy reaches beyond its parameter is padding, or is overwritten by the next.
      Facts misfit = 0;
      ((misfit |= pack(args)), ...);
      if (misfit == 0) [[likely]]
        return internal::Submit(*this, stream, config, buffer, state.buffer_size);
    }
  }
  return Launch(stream, config, {Arg(args)...});  // Also says what is wrong.
}

}  // namespace slipway

#endif  // SLIPWAY_KERNEL_H_
