// Numbers inside an embedded kernel.
//
//   Expr<T>  a value, computed where it is written. `auto t = a * x[i];` is one. Cannot be assigned.
//   Var<T>   a variable. `Var<float> sum = 0;` makes one; assigning writes it, wherever that stands: inside an If it is
//            written if the If is taken, inside a loop in every iteration.
//
// Copying a Var makes another variable with its present value, as copying a float does. So capture Vars by reference in
// the lambdas of If, For and While: what a by-value capture assigns is its own copy. (C++ makes assigning such a copy
// an error, unless the lambda is `mutable`.)
//
// Types follow docs/semantics.md and are known to the compiler: int8 + float is Expr<float>, uint64 + int32 does not
// compile. Numbers of the host program (1, 0.5f, n) are literals: they take the type of what they meet, and their
// values are part of the kernel. To have a value that changes from launch to launch, make it a parameter.
//
// All of this is for the thread that is running a kernel's function, while it runs. Elsewhere it does nothing, and a
// value that is carried into another kernel makes that kernel an error.
#ifndef SLIPWAY_EMBEDDED_VAR_H_
#define SLIPWAY_EMBEDDED_VAR_H_

#include <concepts>
#include <type_traits>
#include <utility>

#include "slipway/dtype.h"
#include "slipway/embedded/trace.h"
#include "slipway/promotion.h"

namespace slipway {

template <Element T>
class Expr;
template <Element T>
class Var;
template <Element T>
class ElementRef;  // y[i]; see array_var.h.

namespace internal {

// The C++ type of a dtype.
template <DType>
struct TypeOfDType {
  using Type = void;
};
#define SLIPWAY_TYPE_OF_DTYPE(enumerator, type, name, short_name, size) \
  template <>                                                           \
  struct TypeOfDType<DType::enumerator> {                               \
    using Type = type;                                                  \
  };
SLIPWAY_DTYPES(SLIPWAY_TYPE_OF_DTYPE)
#undef SLIPWAY_TYPE_OF_DTYPE

// What an operand is to the rules: its type, and whether it is a literal.
template <class X>
struct OperandTraits {
  static constexpr bool kIsExpression = false, kIsOperand = std::is_arithmetic_v<X>;
  static constexpr OperandType kType = {std::is_same_v<X, bool>       ? DType::kBool
                                        : std::is_floating_point_v<X> ? DType::kFloat64
                                                                      : DType::kInt64,
                                        true};
};
template <class T>
struct ExpressionTraits {
  static constexpr bool kIsExpression = true, kIsOperand = true;
  static constexpr OperandType kType = {kDTypeOf<T>, false};
};
template <class T>
struct OperandTraits<Expr<T>> : ExpressionTraits<T> {};
template <class T>
struct OperandTraits<Var<T>> : ExpressionTraits<T> {};
template <class T>
struct OperandTraits<ElementRef<T>> : ExpressionTraits<T> {};
template <class T>
requires std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>
struct OperandTraits<T> {
  static constexpr bool kIsExpression = false, kIsOperand = true;
  static constexpr OperandType kType = {kDTypeOf<T>, false};
};

template <class... X>
constexpr DType CommonTypeOf() {
  const OperandType types[] = {OperandTraits<X>::kType...};
  return CommonType(types, sizeof...(X));
}

// The type of an operation by the operand rules of jit/semantics.h; kVoid does not compile.
template <class... X>
constexpr DType ArithmeticType() {
  constexpr DType common = CommonTypeOf<X...>();
  return common == DType::kBool ? DType::kInt32 : common;
}
template <class... X>
constexpr DType FunctionType() {
  constexpr DType common = CommonTypeOf<X...>();
  return common == DType::kVoid || IsFloat(common) || IsComplex(common) ? common : DType::kFloat64;
}
template <class... X>
constexpr DType IntegerType() {
  constexpr DType common = ArithmeticType<X...>();
  return IsInteger(common) ? common : DType::kVoid;
}
template <class... X>
constexpr DType BitType() {
  constexpr DType common = CommonTypeOf<X...>();
  return IsInteger(common) || common == DType::kBool ? common : DType::kVoid;
}
template <class X>
constexpr DType IntegerTypeNotBool() {
  return IsInteger(CommonTypeOf<X>()) ? CommonTypeOf<X>() : DType::kVoid;
}
template <class X, class N>
constexpr DType ShiftType() {
  constexpr DType shifted = ArithmeticType<X>(), count = ArithmeticType<N>();
  return IsInteger(shifted) && IsInteger(count) ? shifted : DType::kVoid;
}
template <class... X>
constexpr DType BoolType() {
  return ((OperandTraits<X>::kType.type == DType::kBool) && ...) ? DType::kBool : DType::kVoid;
}
template <class... X>
constexpr DType ComparisonType() {
  return DType::kBool;  // All real numbers compare; complex ones are an error of the trace.
}

template <DType type>
using ExprOf = Expr<typename TypeOfDType<type>::Type>;

}  // namespace internal

// Anything that an operation takes: an expression, or a number of the host program.
template <class X>
concept OperandLike = internal::OperandTraits<std::remove_cvref_t<X>>::kIsOperand;
// An expression of a kernel: Expr, Var, or an element of an array.
template <class X>
concept Expression = internal::OperandTraits<std::remove_cvref_t<X>>::kIsExpression;
// What can be stored into a T without a cast.
template <class X, class T>
concept StorableIn = OperandLike<X> &&
    StoresInto(internal::OperandTraits<std::remove_cvref_t<X>>::kType.type, kDTypeOf<T>);
template <class X>
concept Condition = OperandLike<X> && internal::OperandTraits<std::remove_cvref_t<X>>::kType.type == DType::kBool;
template <class X>
concept IndexLike = OperandLike<X> && IsInteger(internal::OperandTraits<std::remove_cvref_t<X>>::kType.type);

namespace internal {
template <class X>
Operand ToOperand(const X& x) {
  if constexpr (Expression<X>) {
    return x.Get();
  } else if constexpr (std::is_arithmetic_v<X>) {
    return x;
  } else {
    return Operand(kDTypeOf<X>, x.bits);
  }
}
}  // namespace internal

// A value. Copies are the same value.
template <Element T>
class Expr {
  static_assert(!std::is_const_v<T>);

 public:
  using Value = T;

  Expr(const Expr&) = default;
  // The present value of a variable or an array's element, so that functions can take Expr<T> and be given either.
  template <Expression X>
  requires(!std::is_same_v<X, Expr> && internal::OperandTraits<X>::kType.type == kDTypeOf<T>) Expr(const X& x)
      : ref_(x.Get()) {}  // NOLINT(google-explicit-constructor)
  // A constant.
  template <OperandLike X>
  requires(!Expression<X> && StorableIn<X, T>) Expr(X number)  // NOLINT(google-explicit-constructor)
      : ref_(internal::CastTo(kDTypeOf<T>, internal::ToOperand(number))) {}
  // An Expr is one value; to change something, make it a Var.
  Expr& operator=(const Expr&) = delete;

  internal::TraceRef Get() const { return ref_; }
  static Expr FromTrace(internal::TraceRef ref) { return Expr(ref); }

 private:
  explicit Expr(internal::TraceRef ref) : ref_(ref) {}
  internal::TraceRef ref_;
};

// A variable.
template <Element T>
class Var {
  static_assert(!std::is_const_v<T>, "a Var is a variable; for a value that stays use Expr, or auto");

 public:
  using Value = T;

  // With a first value; without one it is zero.
  Var() : Var(Expr<T>(T{})) {}
  template <StorableIn<T> X>
  requires(!std::is_same_v<X, Var>) Var(const X& value)  // NOLINT(google-explicit-constructor)
      : ref_(internal::NewVariable(kDTypeOf<T>, internal::ToOperand(value))) {}
  Var(const Var& other) : ref_(internal::NewVariable(kDTypeOf<T>, other.Get())) {}
  // The same variable under another name; `other` names none after.
  Var(Var&& other) noexcept : ref_(std::exchange(other.ref_, {})) {}

  template <StorableIn<T> X>
  requires(!std::is_same_v<X, Var>) Var& operator=(const X& value) { return Write(internal::ToOperand(value)); }
  Var& operator=(const Var& other) { return Write(other.Get()); }

  // Its value at this point of the kernel.
  internal::TraceRef Get() const { return internal::ReadVariable(ref_); }

 private:
  Var& Write(const internal::Operand& value) {
    internal::WriteVariable(ref_, value);
    return *this;
  }
  internal::TraceRef ref_;
};
template <Expression X>
Var(const X&) -> Var<typename internal::TypeOfDType<internal::OperandTraits<X>::kType.type>::Type>;

// Operators and functions. Each exists where at least one operand is an expression and docs/semantics.md gives the
// types a result; otherwise it does not compile.
#define SLIPWAY_EMBEDDED_UNARY(function, op, type_rule)                                              \
  template <Expression A>                                                                            \
  requires(internal::type_rule<A>() != DType::kVoid) auto function(const A& a) {                     \
    constexpr DType kType = internal::type_rule<A>();                                                \
    return internal::ExprOf<kType>::FromTrace(internal::Apply(op, {internal::ToOperand(a)}, kType)); \
  }
#define SLIPWAY_EMBEDDED_BINARY(function, op, type_rule)                                                              \
  template <OperandLike A, OperandLike B>                                                                             \
  requires((Expression<A> || Expression<B>)&&internal::type_rule<A, B>() != DType::kVoid) auto function(const A& a,   \
                                                                                                        const B& b) { \
    constexpr DType kType = internal::type_rule<A, B>();                                                              \
    return internal::ExprOf<kType>::FromTrace(                                                                        \
        internal::Apply(op, {internal::ToOperand(a), internal::ToOperand(b)}, kType));                                \
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
requires((Expression<A> || Expression<B> || Expression<C>)&&internal::FunctionType<A, B, C>() !=
         DType::kVoid) auto fma(const A& a, const B& b, const C& c) {
  constexpr DType kType = internal::FunctionType<A, B, C>();
  return internal::ExprOf<kType>::FromTrace(
      internal::Apply("fma", {internal::ToOperand(a), internal::ToOperand(b), internal::ToOperand(c)}, kType));
}

// `a` where the condition holds, else `b`; both are computed.
template <Condition C, OperandLike A, OperandLike B>
requires(Expression<C>&& internal::CommonTypeOf<A, B>() != DType::kVoid) auto Select(const C& condition, const A& a,
                                                                                     const B& b) {
  constexpr DType kType = internal::CommonTypeOf<A, B>();
  return internal::ExprOf<kType>::FromTrace(internal::Apply(
      "select", {internal::ToOperand(condition), internal::ToOperand(a), internal::ToOperand(b)}, kType));
}

// The value as another type, by the rules of casts; of a number of the host program, a constant.
template <Element T, OperandLike X>
Expr<T> Cast(const X& x) {
  return Expr<T>::FromTrace(internal::CastTo(kDTypeOf<T>, internal::ToOperand(x)));
}

// Compound assignment to variables and elements: `sum += x[i]` is `sum = sum + x[i]`.
#define SLIPWAY_EMBEDDED_COMPOUND(op)                  \
  template <Element T, OperandLike X>                  \
  Var<T>& operator op##=(Var<T>& target, const X& x) { \
    return target = target op x;                       \
  }                                                    \
  template <Element T, OperandLike X>                  \
  requires(!std::is_const_v<T>) ElementRef<T>          \
  operator op##=(ElementRef<T> target, const X& x) {   \
    target = target op x;                              \
    return target;                                     \
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

#endif  // SLIPWAY_EMBEDDED_VAR_H_
