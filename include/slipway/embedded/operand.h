// What the operations of an embedded kernel take, and the types of their results: the rules of docs/semantics.md as
// the compiler applies them. Users meet the concepts in error messages; the rest is for var.h, any_var.h and
// operators.h.
#ifndef SLIPWAY_EMBEDDED_OPERAND_H_
#define SLIPWAY_EMBEDDED_OPERAND_H_

#include <complex>
#include <source_location>
#include <type_traits>

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
class AnyExpr;
class AnyVar;
class AnyElementRef;  // See any_array_var.h.
class AnyParam;       // See any_param.h.

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
  static constexpr bool kIsExpression = false, kIsOperand = std::is_arithmetic_v<X>, kRunTimeTyped = false;
  static constexpr OperandType kType = {std::is_same_v<X, bool>       ? DType::kBool
                                        : std::is_floating_point_v<X> ? DType::kFloat64
                                                                      : DType::kInt64,
                                        true};
};
template <class T>
struct ExpressionTraits {
  static constexpr bool kIsExpression = true, kIsOperand = true, kRunTimeTyped = false;
  static constexpr OperandType kType = {kDTypeOf<T>, false};
};
template <class T>
struct OperandTraits<Expr<T>> : ExpressionTraits<T> {};
template <class T>
struct OperandTraits<Var<T>> : ExpressionTraits<T> {};
template <class T>
struct OperandTraits<ElementRef<T>> : ExpressionTraits<T> {};
// Of a type that is known when the kernel is traced, and void to the compiler.
struct RunTimeTypedTraits {
  static constexpr bool kIsExpression = true, kIsOperand = true, kRunTimeTyped = true;
  static constexpr OperandType kType = {DType::kVoid, false};
};
template <>
struct OperandTraits<AnyExpr> : RunTimeTypedTraits {};
template <>
struct OperandTraits<AnyVar> : RunTimeTypedTraits {};
template <>
struct OperandTraits<AnyElementRef> : RunTimeTypedTraits {};
template <>
struct OperandTraits<AnyParam> : RunTimeTypedTraits {};
template <class T>
requires std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>
struct OperandTraits<T> {
  static constexpr bool kIsExpression = false, kIsOperand = true, kRunTimeTyped = false;
  static constexpr OperandType kType = {kDTypeOf<T>, false};
};

template <class T>
requires std::is_floating_point_v<T>
struct OperandTraits<std::complex<T>> {
  static constexpr bool kIsExpression = false, kIsOperand = true, kRunTimeTyped = false;
  static constexpr OperandType kType = {DType::kComplex128, true};
};

template <class... X>
constexpr DType CommonTypeOf() {
  const OperandType types[] = {OperandTraits<X>::kType...};
  return CommonType(types, sizeof...(X));
}

// The type of an operation by the operand rules of jit/semantics.h. kVoid does not compile, unless the type of an
// operand is known only when the kernel is traced: then the rules are applied there.
template <class... X>
constexpr DType ArithmeticType() {
  constexpr DType common = CommonTypeOf<X...>();
  return common == DType::kBool ? DType::kInt32 : common;
}
template <class... X>
constexpr DType RealType() {  // Arithmetic of real numbers only; and so RealFunctionType below.
  constexpr DType type = ArithmeticType<X...>();
  return IsComplex(type) ? DType::kVoid : type;
}
template <class... X>
constexpr DType FunctionType() {
  constexpr DType common = CommonTypeOf<X...>();
  return common == DType::kVoid || IsFloat(common) || IsComplex(common) ? common : DType::kFloat64;
}
template <class... X>
constexpr DType RealFunctionType() {
  constexpr DType type = FunctionType<X...>();
  return IsComplex(type) ? DType::kVoid : type;
}
// What tells something of a complex number: its parts' type; and what makes one of real numbers.
template <class X>
constexpr DType PartType() {
  constexpr DType type = ArithmeticType<X>();
  return IsComplex(type) ? PartOf(type) : type;
}
template <class X>
constexpr DType PartFunctionType() {
  constexpr DType type = FunctionType<X>();
  return IsComplex(type) ? PartOf(type) : type;
}
template <class A, class B>
constexpr DType ComplexType() {
  return ComplexOf(RealFunctionType<A, B>());
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
// Functions that have fewer types, or another result than their operands.
template <class... X>
constexpr DType RoundedType() {
  constexpr DType type = FunctionType<X...>();
  return type == DType::kFloat32 || type == DType::kFloat64 ? type : DType::kVoid;
}
template <class... X>
constexpr DType FastType() {
  constexpr DType type = RealFunctionType<X...>();
  return type == DType::kFloat64 ? DType::kVoid : type;
}
template <class... X>
constexpr DType ExponentType() {  // An int32 that tells something of floats.
  return RealFunctionType<X...>() == DType::kVoid ? DType::kVoid : DType::kInt32;
}
template <class X>
constexpr DType CountType() {  // An int32 that tells something of an integer.
  return IntegerType<X>() == DType::kVoid ? DType::kVoid : DType::kInt32;
}
template <class... X>
constexpr DType WideType() {
  return TwiceAsWide(IntegerType<X...>());
}
template <class... X>
constexpr DType WordType() {
  constexpr DType type = IntegerType<X...>();
  return type == DType::kInt32 || type == DType::kUInt32 ? type : DType::kVoid;
}
// Random numbers, of a seed, maybe a stream, and a counter.
template <DType type, class... X>
constexpr DType TypeOfIntegers() {
  return ((IsInteger(ArithmeticType<X>()) && ...)) ? type : DType::kVoid;
}
template <class... X>
constexpr DType RandomBitsType() {
  return TypeOfIntegers<DType::kUInt32, X...>();
}
template <class... X>
constexpr DType RandomFloat32Type() {
  return TypeOfIntegers<DType::kFloat32, X...>();
}
template <class... X>
constexpr DType RandomFloat64Type() {
  return TypeOfIntegers<DType::kFloat64, X...>();
}
template <class S, class C, class N>
constexpr DType RandomIntegerType() {
  return TypeOfIntegers<IntegerType<N>(), S, C>();
}
// Functions some operands of which are integers of their own: exponents, orders, counts.
template <class... N>
constexpr bool AreIntegers() {
  return (IsInteger(ArithmeticType<N>()) && ...);
}
template <class X, class N>
constexpr DType ScaledType() {
  return AreIntegers<N>() ? RealFunctionType<X>() : DType::kVoid;
}
template <class N, class X>
constexpr DType OrderedType() {
  return AreIntegers<N>() ? RealFunctionType<X>() : DType::kVoid;
}
template <class A, class B, class N>
constexpr DType FunnelType() {
  return AreIntegers<N>() ? IntegerType<A, B>() : DType::kVoid;
}
template <class A, class B, class N>
constexpr DType PermutedType() {
  return AreIntegers<N>() ? WordType<A, B>() : DType::kVoid;
}
template <class X, class P, class L>
constexpr DType FieldType() {
  return AreIntegers<P, L>() ? IntegerType<X>() : DType::kVoid;
}
template <class X, class Y, class P, class L>
constexpr DType InsertedType() {
  return AreIntegers<P, L>() ? IntegerType<X, Y>() : DType::kVoid;
}
template <class... X>
constexpr DType BoolType() {
  return ((OperandTraits<X>::kType.type == DType::kBool) && ...) ? DType::kBool : DType::kVoid;
}
template <class... X>
constexpr DType ComparisonType() {
  return DType::kBool;  // All numbers are equal or not.
}
template <class... X>
constexpr DType OrderType() {  // Complex numbers have no order.
  return (IsComplex(OperandTraits<X>::kType.type) || ...) ? DType::kVoid : DType::kBool;
}

template <DType type>
using ExprOf = Expr<typename TypeOfDType<type>::Type>;

}  // namespace internal

// Makes a number that a kernel's function captures part of its code, which may then be better, and which another value
// of the number makes another kernel of: y[i] = Constant(scale) * x[i].
template <class X>
struct NamedConstant {
  X value;
};
template <class X>
requires(internal::OperandTraits<X>::kIsOperand &&
         !internal::OperandTraits<X>::kIsExpression) NamedConstant<X> Constant(X number) {
  return {number};
}
namespace internal {
template <class X>
struct OperandTraits<NamedConstant<X>> : OperandTraits<X> {};
template <class X>
inline constexpr bool kIsNamedConstant = false;
template <class X>
inline constexpr bool kIsNamedConstant<NamedConstant<X>> = true;
template <class X>
Operand NumberOf(const X& x) {
  if constexpr (std::is_arithmetic_v<X>) {
    return x;
  } else if constexpr (IsComplex(OperandTraits<X>::kType.type)) {
    return std::complex<double>(x.real(), x.imag());
  } else {
    return Operand(kDTypeOf<X>, x.bits);
  }
}
}  // namespace internal

// Anything that an operation takes: an expression, or a number of the host program.
template <class X>
concept OperandLike = internal::OperandTraits<std::remove_cvref_t<X>>::kIsOperand;
// An expression of a kernel: Expr, Var, or an element of an array.
template <class X>
concept Expression = internal::OperandTraits<std::remove_cvref_t<X>>::kIsExpression;
// One whose type is known only when the kernel is traced (see any_var.h). It may stand wherever a type is asked for;
// the wrong type is then an error of the kernel.
template <class X>
concept RunTimeTyped = internal::OperandTraits<std::remove_cvref_t<X>>::kRunTimeTyped;
// What can be stored into a T without a cast.
template <class X, class T>
concept StorableIn = OperandLike<X> &&
    (RunTimeTyped<X> || StoresInto(internal::OperandTraits<std::remove_cvref_t<X>>::kType.type, kDTypeOf<T>));
template <class X>
concept Condition = OperandLike<X> &&
    (RunTimeTyped<X> || internal::OperandTraits<std::remove_cvref_t<X>>::kType.type == DType::kBool);
template <class X>
concept IndexLike = OperandLike<X> &&
    (RunTimeTyped<X> || IsInteger(internal::OperandTraits<std::remove_cvref_t<X>>::kType.type));

namespace internal {
template <class X>
Operand ToOperand(const X& x) {
  if constexpr (Expression<X>) {
    return x.Get();
  } else if constexpr (kIsNamedConstant<X>) {
    return NumberOf(x.value);
  } else {
    Operand number = NumberOf(x);
    number.source = &x;
    return number;
  }
}
// An index, and where in the program it stands: operators take no default arguments, but what they take may.
struct LocatedIndex {
  template <IndexLike I>
  LocatedIndex(const I& index, const std::source_location& at = std::source_location::current())  // NOLINT
      : value(ToOperand(index)), where(at) {}
  Operand value;
  std::source_location where;
};
}  // namespace internal

}  // namespace slipway

#endif  // SLIPWAY_EMBEDDED_OPERAND_H_
