// Operators and functions of an embedded kernel. Each exists where at least one operand is an expression and
// docs/semantics.md gives the types a result; otherwise it does not compile. Where the type of an operand is known only
// when the kernel is traced, the rules are applied then, and breaking one is an error of the kernel.
#ifndef SLIPWAY_EMBEDDED_OPERATORS_H_
#define SLIPWAY_EMBEDDED_OPERATORS_H_

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
SLIPWAY_EMBEDDED_BINARY(operator<, "<", ComparisonType)
SLIPWAY_EMBEDDED_BINARY(operator<=, "<=", ComparisonType)
SLIPWAY_EMBEDDED_BINARY(operator>, ">", ComparisonType)
SLIPWAY_EMBEDDED_BINARY(operator>=, ">=", ComparisonType)
SLIPWAY_EMBEDDED_BINARY(operator==, "==", ComparisonType)
SLIPWAY_EMBEDDED_BINARY(operator!=, "!=", ComparisonType)
// Both sides are computed, as C++ does for overloaded operators; on bools that is & and |. Where the right side must
// not be computed (a gather that is only in range if the left side holds), use If.
SLIPWAY_EMBEDDED_BINARY(operator&&, "&", BoolType)
SLIPWAY_EMBEDDED_BINARY(operator||, "|", BoolType)
SLIPWAY_EMBEDDED_UNARY(operator-, "neg", ArithmeticType)
SLIPWAY_EMBEDDED_UNARY(operator!, "!", BoolType)
SLIPWAY_EMBEDDED_UNARY(operator~, "~", IntegerTypeNotBool)

SLIPWAY_EMBEDDED_BINARY(true_div, "true_div", FunctionType)
SLIPWAY_EMBEDDED_BINARY(floor_div, "floor_div", ArithmeticType)
SLIPWAY_EMBEDDED_BINARY(floor_mod, "floor_mod", ArithmeticType)
SLIPWAY_EMBEDDED_BINARY(min, "min", ArithmeticType)
SLIPWAY_EMBEDDED_BINARY(max, "max", ArithmeticType)
SLIPWAY_EMBEDDED_BINARY(min_nan, "min_nan", ArithmeticType)
SLIPWAY_EMBEDDED_BINARY(max_nan, "max_nan", ArithmeticType)
SLIPWAY_EMBEDDED_BINARY(pow, "pow", FunctionType)
SLIPWAY_EMBEDDED_BINARY(atan2, "atan2", FunctionType)
SLIPWAY_EMBEDDED_BINARY(fmod, "fmod", FunctionType)
SLIPWAY_EMBEDDED_BINARY(hypot, "hypot", FunctionType)
SLIPWAY_EMBEDDED_BINARY(copysign, "copysign", FunctionType)
SLIPWAY_EMBEDDED_UNARY(abs, "abs", ArithmeticType)
SLIPWAY_EMBEDDED_UNARY(floor, "floor", ArithmeticType)
SLIPWAY_EMBEDDED_UNARY(ceil, "ceil", ArithmeticType)
SLIPWAY_EMBEDDED_UNARY(trunc, "trunc", ArithmeticType)
SLIPWAY_EMBEDDED_UNARY(round, "round", ArithmeticType)
SLIPWAY_EMBEDDED_UNARY(rint, "rint", ArithmeticType)
SLIPWAY_EMBEDDED_UNARY(isnan, "isnan", ComparisonType)
SLIPWAY_EMBEDDED_UNARY(isinf, "isinf", ComparisonType)
SLIPWAY_EMBEDDED_UNARY(isfinite, "isfinite", ComparisonType)
#define SLIPWAY_EMBEDDED_FUNCTION(name) SLIPWAY_EMBEDDED_UNARY(name, #name, FunctionType)
SLIPWAY_EMBEDDED_FUNCTION(sqrt)
SLIPWAY_EMBEDDED_FUNCTION(rsqrt)
SLIPWAY_EMBEDDED_FUNCTION(cbrt)
SLIPWAY_EMBEDDED_FUNCTION(exp)
SLIPWAY_EMBEDDED_FUNCTION(exp2)
SLIPWAY_EMBEDDED_FUNCTION(exp10)
SLIPWAY_EMBEDDED_FUNCTION(expm1)
SLIPWAY_EMBEDDED_FUNCTION(log)
SLIPWAY_EMBEDDED_FUNCTION(log2)
SLIPWAY_EMBEDDED_FUNCTION(log10)
SLIPWAY_EMBEDDED_FUNCTION(log1p)
SLIPWAY_EMBEDDED_FUNCTION(sin)
SLIPWAY_EMBEDDED_FUNCTION(cos)
SLIPWAY_EMBEDDED_FUNCTION(tan)
SLIPWAY_EMBEDDED_FUNCTION(asin)
SLIPWAY_EMBEDDED_FUNCTION(acos)
SLIPWAY_EMBEDDED_FUNCTION(atan)
SLIPWAY_EMBEDDED_FUNCTION(sinh)
SLIPWAY_EMBEDDED_FUNCTION(cosh)
SLIPWAY_EMBEDDED_FUNCTION(tanh)
SLIPWAY_EMBEDDED_FUNCTION(asinh)
SLIPWAY_EMBEDDED_FUNCTION(acosh)
SLIPWAY_EMBEDDED_FUNCTION(atanh)
SLIPWAY_EMBEDDED_FUNCTION(erf)
SLIPWAY_EMBEDDED_FUNCTION(erfc)
SLIPWAY_EMBEDDED_FUNCTION(tgamma)
SLIPWAY_EMBEDDED_FUNCTION(lgamma)
#undef SLIPWAY_EMBEDDED_FUNCTION
#undef SLIPWAY_EMBEDDED_BINARY
#undef SLIPWAY_EMBEDDED_UNARY

// a * b + c, rounded once.
template <OperandLike A, OperandLike B, OperandLike C>
requires((Expression<A> || Expression<B> ||
          Expression<C>)&&(RunTimeTyped<A> || RunTimeTyped<B> || RunTimeTyped<C> ||
                           internal::FunctionType<A, B, C>() != DType::kVoid)) auto fma(const A& a, const B& b,
                                                                                        const C& c) {
  return internal::Operate<internal::FunctionType<A, B, C>()>(
      "fma", {internal::ToOperand(a), internal::ToOperand(b), internal::ToOperand(c)});
}

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
