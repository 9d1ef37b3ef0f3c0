// The parameter types of a kernel's function.
#ifndef SLIPWAY_EMBEDDED_FUNCTION_PARAMS_H_
#define SLIPWAY_EMBEDDED_FUNCTION_PARAMS_H_

#include <tuple>
#include <type_traits>

namespace slipway::internal {

// Of a function object, a function or a pointer to one, that is not a template: Types is a tuple of them, without
// references.
template <class F>
struct FunctionParams : FunctionParams<decltype(&F::operator())> {};
template <class R, class... P>
struct FunctionParams<R (*)(P...)> {
  using Types = std::tuple<std::remove_cvref_t<P>...>;
};
template <class R, class C, class... P>
struct FunctionParams<R (C::*)(P...)> : FunctionParams<R (*)(P...)> {};
template <class R, class C, class... P>
struct FunctionParams<R (C::*)(P...) const> : FunctionParams<R (*)(P...)> {};
template <class R, class C, class... P>
struct FunctionParams<R (C::*)(P...) noexcept> : FunctionParams<R (*)(P...)> {};
template <class R, class C, class... P>
struct FunctionParams<R (C::*)(P...) const noexcept> : FunctionParams<R (*)(P...)> {};

// Whether F has one: false for lambdas with `auto` parameters.
template <class F>
concept HasFunctionParams = std::is_pointer_v<F> || requires {
  &F::operator();
};

}  // namespace slipway::internal

#endif  // SLIPWAY_EMBEDDED_FUNCTION_PARAMS_H_
