// Operators and casts of an embedded kernel; its functions: functions.h. Each exists where at least one operand is an
// expression and docs/semantics.md gives the types a result; otherwise it does not compile. Where the type of an
// operand is known only when the kernel is traced, the rules are applied then, and breaking one is an error of the
// kernel.
#ifndef SLIPWAY_EMBEDDED_OPERATORS_H_
#define SLIPWAY_EMBEDDED_OPERATORS_H_

#include <iterator>
#include <type_traits>

#include "slipway/dtype.h"
#include "slipway/embedded/any_array_var.h"
#include "slipway/embedded/any_var.h"
#include "slipway/embedded/array_var.h"
#include "slipway/embedded/operand.h"
#include "slipway/embedded/trace.h"
#include "slipway/embedded/var.h"

namespace slipway {

namespace internal {

// The result of an operation: an Expr of the type that the rule gives, or an AnyExpr where the rule cannot tell because
// an operand's type is known only when the kernel is traced.
template <DType type>
auto Operate(const char* op, Operands operands) {
  if constexpr (type == DType::kVoid) {
    return AnyExpr::FromTrace(Apply(op, operands, type));
  } else {
    return ExprOf<type>::FromTrace(Apply(op, operands, type));
  }
}

}  // namespace internal

#define SLIPWAY_EMBEDDED_UNARY(function, op, type_rule)                                             \
  template <Expression A>                                                                           \
  requires(RunTimeTyped<A> || internal::type_rule<A>() != DType::kVoid) auto function(const A& a) { \
    return internal::Operate<internal::type_rule<A>()>(op, {internal::ToOperand(a)});               \
  }
#define SLIPWAY_EMBEDDED_BINARY(function, op, type_rule)                                                         \
  template <OperandLike A, OperandLike B>                                                                        \
  requires((Expression<A> || Expression<B>)&&(RunTimeTyped<A> || RunTimeTyped<B> ||                              \
                                              internal::type_rule<A, B>() != DType::kVoid)) auto                 \
  function(const A& a, const B& b) {                                                                             \
    return internal::Operate<internal::type_rule<A, B>()>(op, {internal::ToOperand(a), internal::ToOperand(b)}); \
  }

SLIPWAY_EMBEDDED_BINARY(operator+, "+", ArithmeticType)
SLIPWAY_EMBEDDED_BINARY(operator-, "-", ArithmeticType)
SLIPWAY_EMBEDDED_BINARY(operator*, "*", ArithmeticType)
SLIPWAY_EMBEDDED_BINARY(operator/, "/", ArithmeticType)
SLIPWAY_EMBEDDED_BINARY(operator%, "%", IntegerType)
SLIPWAY_EMBEDDED_BINARY(operator&, "&", BitType)
SLIPWAY_EMBEDDED_BINARY(operator|, "|", BitType)
SLIPWAY_EMBEDDED_BINARY(operator^, "^", BitType)
SLIPWAY_EMBEDDED_BINARY(operator<<, "<<", ShiftType)
SLIPWAY_EMBEDDED_BINARY(operator>>, ">>", ShiftType)
SLIPWAY_EMBEDDED_BINARY(operator<, "<", OrderType)
SLIPWAY_EMBEDDED_BINARY(operator<=, "<=", OrderType)
SLIPWAY_EMBEDDED_BINARY(operator>, ">", OrderType)
SLIPWAY_EMBEDDED_BINARY(operator>=, ">=", OrderType)
SLIPWAY_EMBEDDED_BINARY(operator==, "==", ComparisonType)
SLIPWAY_EMBEDDED_BINARY(operator!=, "!=", ComparisonType)
// Both sides are computed, as C++ does for overloaded operators; on bools that is & and |. Where the right side must
// not be computed (a gather that is only in range if the left side holds), use If.
SLIPWAY_EMBEDDED_BINARY(operator&&, "&", BoolType)
SLIPWAY_EMBEDDED_BINARY(operator||, "|", BoolType)
SLIPWAY_EMBEDDED_UNARY(operator-, "neg", ArithmeticType)
SLIPWAY_EMBEDDED_UNARY(operator!, "!", BoolType)
SLIPWAY_EMBEDDED_UNARY(operator~, "~", IntegerTypeNotBool)
#undef SLIPWAY_EMBEDDED_BINARY
#undef SLIPWAY_EMBEDDED_UNARY

// `a` where the condition holds, else `b`; both are computed.
template <Condition C, OperandLike A, OperandLike B>
requires(Expression<C> && (RunTimeTyped<A> || RunTimeTyped<B> ||
                           internal::CommonTypeOf<A, B>() != DType::kVoid)) auto Select(const C& condition, const A& a,
                                                                                        const B& b) {
  return internal::Operate<internal::CommonTypeOf<A, B>()>(
      "select", {internal::ToOperand(condition), internal::ToOperand(a), internal::ToOperand(b)});
}

// The value as another type, by the rules of casts; of a number of the host program, a constant.
template <Element T, OperandLike X>
Expr<T> Cast(const X& x) {
  return Expr<T>::FromTrace(internal::CastTo(kDTypeOf<T>, internal::ToOperand(x)));
}
// The same with a type that is known when the kernel is traced: Cast(out.dtype(), x).
template <OperandLike X>
AnyExpr Cast(DType dtype, const X& x) {
  return AnyExpr::FromTrace(internal::CastTo(dtype, internal::ToOperand(x)));
}

// A rounding mode of IEEE 754: to nearest even, towards zero, plus infinity, minus infinity.
enum class Rounding { kNearest, kToZero, kUp, kDown };

namespace internal {
// "?" for what is none of them, which tracing refuses.
constexpr const char* CastKind(Rounding rounding) {
  constexpr const char* kKinds[] = {"rn", "rz", "ru", "rd"};
  const auto kind = static_cast<unsigned>(rounding);
  return kind < std::size(kKinds) ? kKinds[kind] : "?";
}
// Whether the bits of an X can be a T's: no bool, and of one size. Numbers of the host program have the bits that fit.
template <class T, class X>
constexpr bool HasBitsOf() {
  if constexpr (RunTimeTyped<X> || std::is_arithmetic_v<X>) return !std::is_same_v<T, bool>;
  constexpr DType from = OperandTraits<X>::kType.type;
  return SizeOf(from) == SizeOf(kDTypeOf<T>) && from != DType::kBool && !std::is_same_v<T, bool>;
}
}  // namespace internal

// The value as another type, rounded as is said: also from floats to integers, where Cast rounds towards zero, and from
// integers to floats, where it rounds to nearest.
template <Element T, OperandLike X>
requires(!std::is_same_v<T, bool>) Expr<T> RoundCast(const X& x, Rounding rounding) {
  return Expr<T>::FromTrace(internal::CastTo(kDTypeOf<T>, internal::ToOperand(x), internal::CastKind(rounding)));
}
template <OperandLike X>
AnyExpr RoundCast(DType dtype, const X& x, Rounding rounding) {
  return AnyExpr::FromTrace(internal::CastTo(dtype, internal::ToOperand(x), internal::CastKind(rounding)));
}

// The value as another type, and the type's nearest finite value where it is outside of its range; NaN is 0 in
// integers.
template <Element T, OperandLike X>
requires(!std::is_same_v<T, bool>) Expr<T> SaturateCast(const X& x) {
  return Expr<T>::FromTrace(internal::CastTo(kDTypeOf<T>, internal::ToOperand(x), "sat"));
}
template <OperandLike X>
AnyExpr SaturateCast(DType dtype, const X& x) {
  return AnyExpr::FromTrace(internal::CastTo(dtype, internal::ToOperand(x), "sat"));
}

// The same bits as another type of the same size.
template <Element T, OperandLike X>
requires(internal::HasBitsOf<T, X>()) Expr<T> BitCast(const X& x) {
  return Expr<T>::FromTrace(internal::CastTo(kDTypeOf<T>, internal::ToOperand(x), "bits"));
}
template <OperandLike X>
AnyExpr BitCast(DType dtype, const X& x) {
  return AnyExpr::FromTrace(internal::CastTo(dtype, internal::ToOperand(x), "bits"));
}

// Compound assignment to variables and elements: `sum += x[i]` is `sum = sum + x[i]`.
#define SLIPWAY_EMBEDDED_COMPOUND(op)                                     \
  template <Element T, OperandLike X>                                     \
  Var<T>& operator op##=(Var<T>& target, const X& x) {                    \
    return target = target op x;                                          \
  }                                                                       \
  template <OperandLike X>                                                \
  AnyVar& operator op##=(AnyVar& target, const X& x) {                    \
    return target = target op x;                                          \
  }                                                                       \
  template <Element T, OperandLike X>                                     \
  requires(!std::is_const_v<T>) ElementRef<T>                             \
  operator op##=(ElementRef<T> target, const X& x) {                      \
    target = target op x;                                                 \
    return target;                                                        \
  }                                                                       \
  template <OperandLike X>                                                \
  AnyElementRef operator op##=(const AnyElementRef& target, const X& x) { \
    return target = target op x;                                          \
  }
SLIPWAY_EMBEDDED_COMPOUND(+)
SLIPWAY_EMBEDDED_COMPOUND(-)
SLIPWAY_EMBEDDED_COMPOUND(*)
SLIPWAY_EMBEDDED_COMPOUND(/)
SLIPWAY_EMBEDDED_COMPOUND(%)
SLIPWAY_EMBEDDED_COMPOUND(&)
SLIPWAY_EMBEDDED_COMPOUND(|)
SLIPWAY_EMBEDDED_COMPOUND(^)
SLIPWAY_EMBEDDED_COMPOUND(<<)
SLIPWAY_EMBEDDED_COMPOUND(>>)
#undef SLIPWAY_EMBEDDED_COMPOUND

}  // namespace slipway

#endif  // SLIPWAY_EMBEDDED_OPERATORS_H_
