// A launch whose arguments are packed once, kept, re-set one by one, and launched again and again: what the inner loop
// of a solver wants. Launching one costs the driver's call and two branches, whatever its arguments are.
//
//   BoundLaunch step = kernel.Bind(ForSize(n), {y, x, 2.0f}).value();
//   for (int t = 0; t < steps; ++t) {
//     step.Set("a", alpha(t)).IgnoreError();
//     step.Launch(stream).IgnoreError();
//   }
//
// BoundKernel (below) is the same with the types known at compile time: step.Set<2>(alpha(t)).
#ifndef SLIPWAY_BOUND_LAUNCH_H_
#define SLIPWAY_BOUND_LAUNCH_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/arg.h"
#include "slipway/device.h"
#include "slipway/driver_api.h"
#include "slipway/facts.h"
#include "slipway/kernel.h"
#include "slipway/launch_config.h"
#include "slipway/packing.h"
#include "slipway/stream.h"
#include "slipway/submit.h"
#include "slipway/typed_kernel.h"

namespace slipway {

class GraphExec;  // graph.h.

// Keeps its kernel loaded, but not its arrays: they are views, as in any launch. Move-only; one that was moved from may
// only be destroyed or assigned. Launch may be called from several threads at once, as long as nothing is being set.
class BoundLaunch {
 public:
  BoundLaunch(BoundLaunch&&) noexcept = default;
  BoundLaunch& operator=(BoundLaunch&&) noexcept = default;

  // Queues the launch with the arguments as they are now; what is set later does not change it. INVALID_ARGUMENT for a
  // stream of another device than the kernel's; otherwise the driver's own error.
  [[gnu::always_inline]] absl::Status Launch(const Stream& stream) const {
    const State& state = *state_;
    // A launch of no blocks, with attributes or checks, has a device here that no stream has, and so takes the other
    // road.
    if (!internal::GoesStraight(stream, state.device)) [[unlikely]]
      return LaunchIndirectly(stream);
    const CUresult result =
        state.launch(state.function, state.grid.x, state.grid.y, state.grid.z, state.block.x, state.block.y,
                     state.block.z, state.shared_bytes, stream.handle(), nullptr, state.extra_or_null);
    if (result != CUDA_SUCCESS) [[unlikely]]
      return internal::LaunchFailed(state.kernel, result);
    return absl::OkStatus();
  }

  // Replaces an argument, by position from 0 or by the parameter's name. OUT_OF_RANGE or NOT_FOUND if there is no such
  // parameter; INVALID_ARGUMENT if the argument does not fit it, which leaves the old one in place.
  absl::Status Set(size_t index, const Arg& arg);
  absl::Status Set(std::string_view name, const Arg& arg);

  // Replaces grid, block, size and all else that a configuration says. Errors as a launch's; the old one stays then.
  absl::Status SetConfig(const LaunchConfig& config);

  // Changes what `graph` launches for this launch, captured in it before: its arguments, grid and block become those of
  // now. `occurrence` says which, counted from 0, if it was captured several times; -1 stands for all. What the graph
  // uses is kept alive by it. NOT_FOUND if the graph has no such launch; FAILED_PRECONDITION if there is nothing to
  // launch (size 0), or if its cluster, cooperation or priority are no longer those that it was bound with, which an
  // update of a graph cannot change.
  absl::Status UpdateIn(GraphExec& graph, int occurrence = -1) const;

  const Kernel& kernel() const { return state_->kernel; }

 private:
  friend class Kernel;
  template <class... Params>
  friend class BoundKernel;

  struct State {
    explicit State(Kernel k) : kernel(std::move(k)) {}
    // What Launch reads, first and together.
    decltype(DriverApi::LaunchKernel) launch = nullptr;
    CUfunction function = nullptr;
    // No stream's, if there is nothing to launch, attributes are asked for, or the kernel has checks.
    const DeviceState* device = nullptr;
    Dim3 grid = {0, 0, 0};
    Dim3 block;
    uint32_t shared_bytes = 0;
    void** extra_or_null = nullptr;
    void* extra[5] = {};
    std::unique_ptr<std::byte[]> buffer;
    LaunchConfig config;
    LaunchConfig first_config;  // As bound.
    Kernel kernel;
    const uint64_t key = NewKey();  // What graphs know this launch by; never 0.
  };
  static uint64_t NewKey();

  explicit BoundLaunch(std::unique_ptr<State> state) : state_(std::move(state)) {}
  absl::Status LaunchIndirectly(const Stream& stream) const;

  std::unique_ptr<State> state_;
};

// A bound launch of a TypedKernel<Params...>: arguments are set by position, and wrong ones do not compile.
template <class... Params>
class BoundKernel {
 public:
  absl::Status Launch(const Stream& stream) const { return launch_.Launch(stream); }

  // Replaces argument I. OK for scalars, always; INVALID_ARGUMENT, and the old one stays, for an array that does not
  // fit the kernel (null, of another device, not contiguous where that is promised, and so on).
  template <size_t I, class A>
  requires(I < sizeof...(Params) && ArgumentFor<std::tuple_element_t<I, std::tuple<Params...>>, A>) absl::Status
      Set(const A& arg) {
    using P = std::tuple_element_t<I, std::tuple<Params...>>;
    using Packer = internal::ParamPacker<P, A>;
    const Kernel& kernel = launch_.kernel();
    if constexpr (internal::ParamTraits<P>::kIsArray || std::is_pointer_v<P>) {
      const Facts word = Packer::FactsOf(arg, kernel.device().id());
      if (kernel.params()[I].demand.MisfitOfAny(word) != 0) [[unlikely]] {
        return internal::BoundMismatch(kernel, I, word);
      }
    }
    std::byte* const to = launch_.state_->buffer.get() + kernel.params()[I].offset;
    if constexpr (Packer::kOverrun == 0) {
      Packer::Store(to, arg);
    } else {
      std::byte whole[internal::ParamTraits<P>::kSize + Packer::kOverrun];
      Packer::Store(whole, arg);
      std::memcpy(to, whole, internal::ParamTraits<P>::kSize);
    }
    return absl::OkStatus();
  }

  absl::Status SetConfig(const LaunchConfig& config) { return launch_.SetConfig(config); }
  absl::Status UpdateIn(GraphExec& graph, int occurrence = -1) const { return launch_.UpdateIn(graph, occurrence); }

  // The same launch with its types left to run time.
  BoundLaunch& launch() { return launch_; }
  const Kernel& kernel() const { return launch_.kernel(); }

 private:
  template <class... P>
  friend class TypedKernel;
  explicit BoundKernel(BoundLaunch launch) : launch_(std::move(launch)) {}

  BoundLaunch launch_;
};

template <class... Params>
template <class... Args>
requires(sizeof...(Args) == sizeof...(Params) && (ArgumentFor<Params, Args> && ...))
    absl::StatusOr<BoundKernel<Params...>> TypedKernel<Params...>::Bind(const LaunchConfig& config, const Args&... args)
const {
  // Scalars become the parameter's type first.
  const std::tuple<internal::AsArg<internal::BoundArgument<Params, Args>>...> list(
      internal::AsArgInput<internal::BoundArgument<Params, Args>>{args, kernel_.device().id()}...);
  absl::StatusOr<BoundLaunch> launch = std::apply(
      [&](const auto&... each) { return kernel_.Bind(config, std::initializer_list<Arg>{each.arg...}); }, list);
  if (!launch.ok()) return std::move(launch).status();
  return BoundKernel<Params...>(*std::move(launch));
}

}  // namespace slipway

#endif  // SLIPWAY_BOUND_LAUNCH_H_
