// Traces a kernel's function for the arguments of one launch: what a generic kernel's variants are made by.
#ifndef SLIPWAY_EMBEDDED_GENERIC_TRACE_H_
#define SLIPWAY_EMBEDDED_GENERIC_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/compile_options.h"
#include "slipway/device.h"
#include "slipway/embedded/any_param.h"
#include "slipway/embedded/function_params.h"
#include "slipway/embedded/trace.h"
#include "slipway/kernel.h"
#include "slipway/signature.h"

namespace slipway::internal {

// The most `auto` parameters that a function can have: each number of them is tried.
inline constexpr int kMaxAutoParams = 32;

template <class F, class Indices>
struct TakesParams;
template <class F, size_t... I>
struct TakesParams<F, std::index_sequence<I...>> {
  static constexpr bool value = std::is_invocable_v<const F&, decltype(AnyParam(static_cast<uint32_t>(I)))...>;
};

// How many parameters a function takes that has `auto` ones, each of which takes an AnyParam: the one number that it
// can be called with.
template <class F, size_t... kCount>
constexpr int CountAutoParams(std::index_sequence<kCount...>) {
  constexpr int kFits = (0 + ... + (TakesParams<F, std::make_index_sequence<kCount>>::value ? 1 : 0));
  static_assert(kFits > 0,
                "a generic kernel's function takes AnyArrayVar, AnyVar, AnyExpr, ArrayVar<T, N>, Var<T>, Expr<T> or "
                "auto parameters, by value, and can be called when it is const");
  static_assert(kFits < 2, "a generic kernel's function has a fixed number of parameters: no packs, no defaults");
  return (0 + ... + (TakesParams<F, std::make_index_sequence<kCount>>::value ? static_cast<int>(kCount) : 0));
}

template <class F>
constexpr int CountParams() {
  if constexpr (HasFunctionParams<F>) {
    constexpr int kCount = std::tuple_size_v<typename FunctionParams<F>::Types>;
    static_assert(TakesParams<F, std::make_index_sequence<kCount>>::value,
                  "a generic kernel's function takes AnyArrayVar, AnyVar, AnyExpr, ArrayVar<T, N>, Var<T>, Expr<T> or "
                  "auto parameters, by value, and can be called when it is const");
    return kCount;
  } else {
    return CountAutoParams<F>(std::make_index_sequence<kMaxAutoParams + 1>());
  }
}

// Whether a launch with such arguments can be traced for a function of `params` parameters: their number, and that they
// are arrays and numbers.
absl::Status CheckTraceable(const std::string& name, const Signature& signature, int params);

// Runs `function`, once, for arguments of `signature`.
template <class F>
std::shared_ptr<const TracedKernel> TraceFor(const std::string& name, const std::vector<std::string>& names,
                                             const Signature& signature, const F& function) {
  TraceScope scope(name, signature, names);
  scope.Capturing(function);
  if (scope.ok()) {
    [&]<size_t... I>(std::index_sequence<I...>) { function(AnyParam(static_cast<uint32_t>(I))...); }
    (std::make_index_sequence<CountParams<F>()>());
  }
  return scope.Finish(/*infer_read_only=*/true);
}

// Compiles and loads what was traced, or says why it cannot be.
absl::StatusOr<Kernel> LoadTraced(const Device& device, const TracedKernel& traced, const CompileOptions& options);

// All of that.
template <class F>
absl::StatusOr<Kernel> MakeTraced(const std::string& name, const std::vector<std::string>& names, const F& function,
                                  const CompileOptions& options, const Device& device, const Signature& signature) {
  if (absl::Status status = CheckTraceable(name, signature, CountParams<F>()); !status.ok()) return status;
  return LoadTraced(device, *TraceFor(name, names, signature, function), options);
}

}  // namespace slipway::internal

#endif  // SLIPWAY_EMBEDDED_GENERIC_TRACE_H_
