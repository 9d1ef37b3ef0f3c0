// A kernel from a C++ function.
//
//   auto saxpy = MakeKernel("saxpy", [](ArrayVar<float, 1> y, ArrayVar<const float, 1> x, Var<float> a) {
//     For(GridStride(y.size()), [&](Var<int64_t> i) { y[i] = a * x[i] + y[i]; });
//   });
//   absl::Status status = saxpy(stream, ForSize(n), y, x, 2.0f);
#ifndef SLIPWAY_EMBEDDED_KERNEL_H_
#define SLIPWAY_EMBEDDED_KERNEL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/array.h"
#include "slipway/bound_launch.h"
#include "slipway/compile_options.h"
#include "slipway/device.h"
#include "slipway/dispatch.h"
#include "slipway/embedded/array_var.h"
#include "slipway/embedded/function_params.h"
#include "slipway/embedded/struct_var.h"
#include "slipway/embedded/trace.h"
#include "slipway/embedded/var.h"
#include "slipway/kernel.h"
#include "slipway/launch_config.h"
#include "slipway/stream.h"
#include "slipway/target.h"
#include "slipway/typed_kernel.h"

namespace slipway {

namespace internal {

// What a parameter of a kernel's function stands for in a launch, and how it is made in a trace.
template <class P>
struct KernelParam {
  static_assert(sizeof(P) == 0,
                "a kernel's function takes ArrayVar<T, N>, Var<T> (or Expr<T>) and StructVar<S> parameters");
};
template <class T>
struct KernelParam<Var<T>> {
  using Launch = T;
  static Var<T> Make(uint32_t index) { return Expr<T>::FromTrace(ScalarParam(index)); }
};
template <class T>
struct KernelParam<Expr<T>> {
  using Launch = T;
  static Expr<T> Make(uint32_t index) { return Expr<T>::FromTrace(ScalarParam(index)); }
};
template <class S>
struct KernelParam<StructVar<S>> {
  using Launch = S;
  static StructVar<S> Make(uint32_t index) { return StructVar<S>(index); }
};
template <class T, int N, Layout L>
struct KernelParam<ArrayVar<T, N, L>> {
  using Launch = ArrayView<T, N, L>;
  static ArrayVar<T, N, L> Make(uint32_t index) { return ArrayVar<T, N, L>::FromTrace(ArrayParam(index)); }
};

// Whether an argument says what device its memory is of.
template <class A>
inline constexpr bool kKnowsDevice = Packer<A>::kHasFacts;
template <Tensor A>
inline constexpr bool kKnowsDevice<A> = TensorAccess<A>::kHasDevice || TensorAccess<A>::kHasFacts;

}  // namespace internal

// A kernel with its parameter types (ArrayView<T, N, L> and scalars), compiled for a device when it is first launched
// there. Compiling happens once however many threads ask; the others wait. A failure is kept and repeated. Cheap to
// copy; copies share everything. Safe to use from any thread.
//
// Addresses are computed in 32 bits where all arrays of a launch allow it, in 64 bits otherwise: at most two compiled
// forms a device.
template <class... Params>
class EmbeddedKernel {
 public:
  explicit EmbeddedKernel(std::shared_ptr<const internal::TracedKernel> traced, const CompileOptions& options = {})
      : state_(std::make_shared<State>(std::move(traced), options)) {}

  const std::string& name() const { return state_->traced->name(); }
  // Why the kernel cannot be: the first mistake made while it was traced. Launches return the same.
  const absl::Status& status() const { return state_->traced->status(); }

  // Queues the kernel on `stream`. Arguments as TypedKernel takes them; wrong ones do not compile. After the first
  // launch on a device it costs what a TypedKernel costs and two compares: no allocation, no lock. A look into a cache
  // comes on top where launches of one kernel alternate between devices.
  template <class... Args>
  requires(sizeof...(Args) == sizeof...(Params) && (ArgumentFor<Params, Args> && ...)) absl::Status operator()(
      const Stream& stream, const LaunchConfig& config, const Args&... args) const {
    const bool index32 = (Index32<Params>(args) & ...);
    const TypedKernel<Params...>* kernel = state_->last[index32].load(std::memory_order_acquire);
    if (kernel == nullptr || kernel->kernel().device() != stream.device()) [[unlikely]] {
      absl::StatusOr<const TypedKernel<Params...>*> loaded = Loaded(stream.device(), index32);
      if (!loaded.ok()) return std::move(loaded).status();
      kernel = *loaded;
      state_->last[index32].store(kernel, std::memory_order_release);
    }
    return (*kernel)(stream, config, args...);
  }

  // Packs the arguments once, to be launched again and again: see bound_launch.h. On the device of the first argument
  // that is an array, or on the one given. Errors as a launch's, but for those of the stream, and NOT_FOUND where that
  // device is not open any more. Arrays that 32-bit offsets reach bind the form for such arrays: what Set replaces
  // them by has to be reached, too.
  template <class... Args>
  requires(sizeof...(Args) == sizeof...(Params) &&
           (ArgumentFor<Params, Args> && ...)) absl::StatusOr<BoundKernel<Params...>> Bind(const Device& device,
                                                                                           const LaunchConfig& config,
                                                                                           const Args&... args)
  const {
    absl::StatusOr<const TypedKernel<Params...>*> kernel = Loaded(device, (Index32<Params>(args) & ...));
    if (!kernel.ok()) return std::move(kernel).status();
    return (*kernel)->Bind(config, args...);
  }
  template <class... Args>
  requires(sizeof...(Args) == sizeof...(Params) &&
           (ArgumentFor<Params, Args> && ...)) absl::StatusOr<BoundKernel<Params...>> Bind(const LaunchConfig& config,
                                                                                           const Args&... args)
  const {
    static_assert((internal::kKnowsDevice<Args> || ...), "no argument tells its device: give Bind one first");
    uint16_t id = 0;
    bool found = false;
    const auto look = [&](const auto& arg) {
      using A = std::remove_cvref_t<decltype(arg)>;
      if constexpr (internal::kKnowsDevice<A>) {
        if (!std::exchange(found, true)) id = facts::DeviceOf(internal::Packer<A>::FactsOf(arg, 0));
      }
    };
    (look(args), ...);
    absl::StatusOr<Device> device = Device::FromId(id);
    if (!device.ok()) return std::move(device).status();
    return Bind(*device, config, args...);
  }

  // Compiles and loads it ahead of the first launch, in the form for arrays of any size.
  absl::StatusOr<TypedKernel<Params...>> On(const Device& device) const {
    absl::StatusOr<const TypedKernel<Params...>*> kernel = Loaded(device, /*index32=*/false);
    if (!kernel.ok()) return std::move(kernel).status();
    return **kernel;
  }

  // Compiles and loads all that launches on the device can need: both forms.
  absl::Status Precompile(const Device& device) const {
    absl::Status narrow = Loaded(device, /*index32=*/true).status();
    return narrow.ok() ? Loaded(device, /*index32=*/false).status() : narrow;
  }

  // The kernel as compiled for a device, in the form for arrays of any size: PTX with its signature, to be launched
  // with arguments whose types are known at run time (Kernel::Load).
  absl::StatusOr<CompiledKernel> CompiledFor(const Device& device) const {
    absl::StatusOr<const TypedKernel<Params...>*> kernel = Loaded(device, /*index32=*/false);
    if (!kernel.ok()) return std::move(kernel).status();
    return (*kernel)->kernel().compiled();
  }

  // The same for a target, which needs no device, compiled anew by each call.
  absl::StatusOr<CompiledKernel> CompiledFor(const Target& target, bool index32 = false) const {
    return state_->traced->Compile(target, index32, state_->options);
  }

  // What it became on its way: IR, LLVM IR, PTX, times by stage. `index32` shows the form for arrays that 32-bit
  // offsets reach.
  absl::StatusOr<Inspection> Inspect(const Device& device, bool index32 = false) const {
    absl::StatusOr<const TypedKernel<Params...>*> kernel = Loaded(device, index32);
    if (!kernel.ok()) return std::move(kernel).status();
    return (*kernel)->kernel().inspection();
  }
  // The kernel IR, which needs no device. Empty if status() is an error.
  std::string ir() const { return state_->traced->ir(); }

  // How often it has been compiled so far, failures included.
  uint64_t compiles() const { return state_->cache.counters().compiles; }

 private:
  struct State {
    State(std::shared_ptr<const internal::TracedKernel> t, const CompileOptions& o)
        : traced(std::move(t)), options(o) {}
    const std::shared_ptr<const internal::TracedKernel> traced;
    const CompileOptions options;
    // Keys: device id << 1 | index32. An entry's kernel keeps its device open, so the id stays its own.
    SpecializationCache<TypedKernel<Params...>> cache;
    // What was launched last, by index32: a launch that finds its device here need not look into the cache, whose
    // entries stay until the State goes.
    std::atomic<const TypedKernel<Params...>*> last[2] = {};
  };

  template <class P, class A>
  static bool Index32(const A& arg) {
    if constexpr (internal::ParamTraits<P>::kIsArray) {
      return (internal::Packer<A>::FactsOf(arg, 0) & facts::kIndex32) != 0;
    } else {
      return true;
    }
  }

  [[gnu::noinline]] absl::StatusOr<const TypedKernel<Params...>*> Loaded(const Device& device, bool index32) const {
    if (device.state() == nullptr) {
      return absl::InvalidArgumentError("kernel '" + name() +
                                        "': its stream or device was moved from; give one that lives");
    }
    const uint64_t key[] = {uint64_t{device.id()} << 1 | (index32 ? 1 : 0)};
    return state_->cache.GetOrMake(key, [&]() -> absl::StatusOr<TypedKernel<Params...>> {
      const absl::StatusOr<Target> target = TargetFor(device);
      if (!target.ok()) return target.status();
      absl::StatusOr<CompiledKernel> compiled = state_->traced->Compile(*target, index32, state_->options);
      if (!compiled.ok()) return std::move(compiled).status();
      return TypedKernel<Params...>::Load(device, *std::move(compiled));
    });
  }

  std::shared_ptr<State> state_;
};

namespace internal {

template <class... P, class F, size_t... I>
EmbeddedKernel<typename KernelParam<P>::Launch...> TraceFunction(std::string name,
                                                                 std::initializer_list<const char*> names, F&& function,
                                                                 const CompileOptions& options, std::tuple<P...>*,
                                                                 std::index_sequence<I...>) {
  TraceScope scope(std::move(name), {ParamTraits<typename KernelParam<P>::Launch>::Spec()...},
                   std::vector<std::string>(names.begin(), names.end()));
  // A braced list, so that the parameters are made in order. Each is moved into the function, which is no new variable.
  scope.Capturing(function);
  if (scope.ok()) std::apply(std::forward<F>(function), std::tuple<P...>{KernelParam<P>::Make(I)...});
  return EmbeddedKernel<typename KernelParam<P>::Launch...>(scope.Finish(), options);
}

template <class F>
auto MakeKernel(std::string name, std::initializer_list<const char*> names, F&& function,
                const CompileOptions& options) {
  using Types = typename FunctionParams<std::decay_t<F>>::Types;
  return TraceFunction(std::move(name), names, std::forward<F>(function), options, static_cast<Types*>(nullptr),
                       std::make_index_sequence<std::tuple_size_v<Types>>());
}

}  // namespace internal

// Makes a kernel from a function of ArrayVar and Var parameters, which runs once, now, on this thread: everything it
// does to them becomes the kernel. `name` is an identifier; it is the kernel's name in PTX and in profilers.
//
// Numbers of the host program that the function captures keep the values that they have now. They are no part of the
// code: launches hand them over, behind the arguments. So kernels that differ in such values alone are compiled once,
// and PTX is that of the first. What the function computes from them on the host (2 * k), and what it finds elsewhere
// (in a vector, in a copy that a lambda inside of it made by [=]), is part of the code, as what is written down is and
// what it says is a Constant(k).
//
// Never fails: what went wrong is kept in status() and returned by every launch. INVALID_ARGUMENT for a mistake in the
// kernel or an option out of its range (compile_options.h), RESOURCE_EXHAUSTED past the limits of docs/semantics.md,
// FAILED_PRECONDITION inside of another kernel's function.
template <class F>
auto MakeKernel(std::string name, F&& function, const CompileOptions& options = {}) {
  return internal::MakeKernel(std::move(name), {}, std::forward<F>(function), options);
}
// With a name for each parameter, in order, which messages and listings then use: {"y", "x", "a"}. Without them they
// are arg0, arg1, ... INVALID_ARGUMENT for another number of names than of parameters, or the same name twice.
template <class F>
auto MakeKernel(std::string name, std::initializer_list<const char*> parameter_names, F&& function,
                const CompileOptions& options = {}) {
  return internal::MakeKernel(std::move(name), parameter_names, std::forward<F>(function), options);
}

}  // namespace slipway

#endif  // SLIPWAY_EMBEDDED_KERNEL_H_
