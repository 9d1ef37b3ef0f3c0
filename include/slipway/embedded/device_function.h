// Functions of one's own in embedded kernels.
//
//   const DeviceFunction clamp_add("clamp_add", [](Expr<float> x, Expr<float> y) {
//     If(x > 1, [&] { Return(Expr<float>(1)); });        // leaves the function
//     return x + y;
//   });
//   const DeviceFunction divmod("divmod", [](auto a, auto b) { return std::tuple(a / b, a % b); });   // generic
//   ...
//   auto [quotient, remainder] = divmod(n, 10);
//
// A plain C++ function on expressions serves as well; what a DeviceFunction adds is returning early, and that one which
// calls itself is an error of the kernel instead of an endless C++ recursion.
#ifndef SLIPWAY_EMBEDDED_DEVICE_FUNCTION_H_
#define SLIPWAY_EMBEDDED_DEVICE_FUNCTION_H_

#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "slipway/embedded/any_var.h"
#include "slipway/embedded/operand.h"
#include "slipway/embedded/trace.h"
#include "slipway/embedded/var.h"

namespace slipway {

namespace internal {

// What a call gives for what its body returns: an expression of the same type, or a tuple of them.
template <class R>
struct FunctionResult {
  static_assert(Expression<R>, "a DeviceFunction returns an expression, a std::tuple or std::pair of them, or nothing");
  static auto From(const std::vector<TraceRef>& results, size_t i) {
    const TraceRef ref = i < results.size() ? results[i] : TraceRef{};
    if constexpr (RunTimeTyped<R>) {
      return AnyExpr::FromTrace(ref);
    } else {
      return ExprOf<OperandTraits<R>::kType.type>::FromTrace(ref);
    }
  }
  static auto Make(const std::vector<TraceRef>& results) { return From(results, 0); }
  static std::vector<Operand> Operands(const R& value) { return {ToOperand(value)}; }
};
template <class... R>
struct FunctionResult<std::tuple<R...>> {
  static auto Make(const std::vector<TraceRef>& results) {
    return [&]<size_t... I>(std::index_sequence<I...>) { return std::tuple(FunctionResult<R>::From(results, I)...); }
    (std::index_sequence_for<R...>());
  }
  static std::vector<Operand> Operands(const std::tuple<R...>& values) {
    return std::apply([](const auto&... value) { return std::vector<Operand>{ToOperand(value)...}; }, values);
  }
};
template <class A, class B>
struct FunctionResult<std::pair<A, B>> {
  static auto Make(const std::vector<TraceRef>& results) {
    return std::pair(FunctionResult<A>::From(results, 0), FunctionResult<B>::From(results, 1));
  }
  static std::vector<Operand> Operands(const std::pair<A, B>& values) {
    return {ToOperand(values.first), ToOperand(values.second)};
  }
};

}  // namespace internal

// The results of the function that is open here, and its end.
template <OperandLike... X>
requires(sizeof...(X) > 0) void Return(const X&... results) {
  const internal::Operand list[] = {internal::ToOperand(results)...};
  internal::ReturnFromFunction(list);
}

// A function of embedded kernels: `body` takes expressions (Expr<T>, Var<T>, AnyExpr, ArrayVar<T, N>, auto, ...) and
// gives one, a tuple of several, or nothing. It is put where it is called, anew each time. Results have the types of
// those that are returned first. Copies share one function. Calling it is for a thread that traces a kernel.
template <class Body>
class DeviceFunction {
 public:
  DeviceFunction(std::string name, Body body)
      : state_(std::make_shared<const State>(State{std::move(name), std::move(body)})) {}

  const std::string& name() const { return state_->name; }

  template <class... Args>
  requires std::is_invocable_v<const Body&, const Args&...>
  auto operator()(const Args&... args) const {
    using R = std::remove_cvref_t<std::invoke_result_t<const Body&, const Args&...>>;
    const bool runs = internal::BeginFunction(state_.get(), state_->name);
    if constexpr (std::is_void_v<R>) {
      if (!runs) return;
      state_->body(args...);
      internal::EndFunction();
    } else {
      if (!runs) return internal::FunctionResult<R>::Make({});
      {
        const R results = state_->body(args...);
        internal::ReturnFromFunction(internal::FunctionResult<R>::Operands(results));
      }
      return internal::FunctionResult<R>::Make(internal::EndFunction());
    }
  }

 private:
  struct State {
    std::string name;
    Body body;
  };
  std::shared_ptr<const State> state_;
};

}  // namespace slipway

#endif  // SLIPWAY_EMBEDDED_DEVICE_FUNCTION_H_
