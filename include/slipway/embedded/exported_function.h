// Device functions written like embedded kernels, for CUDA C++, PTX and other kernels to call.
//
//   const ExportedFunction blend = ExportFunction("blend", [](Expr<float> a, Expr<float> b) { return (a + b) / 2; });
//   auto module = CompileCuda(device, R"(
//     extern "C" __device__ float blend(float a, float b);
//     extern "C" __global__ void mix(float* y, const float* x) { y[threadIdx.x] = blend(y[threadIdx.x],
//     x[threadIdx.x]); }
//   )", {.link = {blend}}).value();
//
// In C++ it is extern "C". Parameters: Var<T> or Expr<T> is a T; ArrayVar<T, N, L> is a slipway::ArrayView<T, N, L> of
// <slipway/device.h> by value; StructVar<S> an S by value. It gives an Expr<T>, a T, or nothing.
#ifndef SLIPWAY_EMBEDDED_EXPORTED_FUNCTION_H_
#define SLIPWAY_EMBEDDED_EXPORTED_FUNCTION_H_

#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/compile_options.h"
#include "slipway/device_library.h"
#include "slipway/embedded/device_function.h"
#include "slipway/embedded/function_params.h"
#include "slipway/embedded/kernel.h"
#include "slipway/embedded/operand.h"
#include "slipway/embedded/trace.h"
#include "slipway/target.h"

namespace slipway {

// A handle with shared ownership: cheap to copy, safe to use from any thread.
class ExportedFunction {
 public:
  explicit ExportedFunction(std::shared_ptr<const internal::TracedKernel> traced, const CompileOptions& options)
      : traced_(std::move(traced)), library_({internal::LibraryOf(traced_, options)}) {}

  const std::string& name() const { return traced_->name(); }
  // The first mistake made while it was traced. Whatever needs its code returns the same.
  const absl::Status& status() const { return traced_->status(); }
  std::string ir() const { return traced_->ir(); }

  // It as a library, with what it calls itself.
  const DeviceLibrary& library() const { return library_; }
  operator DeviceLibrary() const { return library_; }  // NOLINT(google-explicit-constructor)

 private:
  std::shared_ptr<const internal::TracedKernel> traced_;
  DeviceLibrary library_;
};

namespace internal {

template <class R>
constexpr DType ResultOfFunction() {
  if constexpr (std::is_void_v<R>) {
    return DType::kVoid;
  } else {
    static_assert(OperandLike<R> && !RunTimeTyped<R>, "an exported function returns an Expr<T>, or nothing");
    return OperandTraits<R>::kType.type;
  }
}

template <class... P, class F, size_t... I>
ExportedFunction ExportFunction(std::string name, F&& function, const CompileOptions& options, std::tuple<P...>*,
                                std::index_sequence<I...>) {
  using R = std::remove_cvref_t<std::invoke_result_t<const std::decay_t<F>&, const P&...>>;
  TraceScope scope(std::move(name), {ParamTraits<typename KernelParam<P>::Launch>::Spec()...}, {});
  scope.IsFunction(ResultOfFunction<R>());
  if (scope.ok()) {
    // Its body may return from anywhere.
    const DeviceFunction<std::decay_t<F>> body("its body", std::forward<F>(function));
    const std::tuple<P...> params{KernelParam<P>::Make(I)...};
    if constexpr (std::is_void_v<R>) {
      std::apply(body, params);
    } else {
      scope.Return(ToOperand(std::apply(body, params)));
    }
  }
  return ExportedFunction(scope.Finish(), options);
}

}  // namespace internal

// Makes a device function of a function of Var, ArrayVar and StructVar parameters, which runs once, now, on this
// thread. `name` is an identifier: what others call it. Numbers that the function captures are part of its code.
//
// Never fails: what went wrong is kept in status(). Mistakes are those of MakeKernel. Return(x) returns early.
template <class F>
ExportedFunction ExportFunction(std::string name, F&& function, const CompileOptions& options = {}) {
  using Types = typename internal::FunctionParams<std::decay_t<F>>::Types;
  return internal::ExportFunction(std::move(name), std::forward<F>(function), options, static_cast<Types*>(nullptr),
                                  std::make_index_sequence<std::tuple_size_v<Types>>());
}

}  // namespace slipway

#endif  // SLIPWAY_EMBEDDED_EXPORTED_FUNCTION_H_
