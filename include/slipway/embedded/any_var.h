// Numbers of an embedded kernel whose types are known when the kernel is traced, and not to the compiler: Expr and Var
// for kernels that are written once for any dtypes.
//
//   auto scale = MakeGenericKernel("scale", [](AnyArrayVar out, AnyArrayVar in, AnyVar k) {
//     AnyVar sum(DType::kFloat64, 0);                        // A variable of a type that is chosen here,
//     AnyVar first = in.Flat(0);                             // or of its first value's.
//     if (IsFloat(out.dtype())) { ... }                      // A host `if` chooses what the kernel is.
//   });
//
// The rules are those of docs/semantics.md, applied while the kernel is traced. What the compiler would have refused
// (uint64 + int32, a float for an index) is then an error of the kernel. They mix with typed values: AnyExpr + Expr<T>
// is an AnyExpr, a Var<T> takes one that can be stored in it, Cast<T>(any) is an Expr<T>.
#ifndef SLIPWAY_EMBEDDED_ANY_VAR_H_
#define SLIPWAY_EMBEDDED_ANY_VAR_H_

#include <type_traits>
#include <utility>

#include "slipway/dtype.h"
#include "slipway/embedded/operand.h"
#include "slipway/embedded/trace.h"

namespace slipway {

// A value. Copies are the same value.
class AnyExpr {
 public:
  AnyExpr(const AnyExpr&) = default;
  // The present value of an expression, or a literal, which still takes the type of what it meets.
  template <OperandLike X>
  requires(!std::is_same_v<X, AnyExpr>) AnyExpr(const X& x)  // NOLINT(google-explicit-constructor)
      : ref_(internal::ValueOf(internal::ToOperand(x))) {}
  // An AnyExpr is one value; to change something, make it an AnyVar.
  AnyExpr& operator=(const AnyExpr&) = delete;

  // Of a literal, the type that it has where it meets none: int64, float64 or bool. kVoid after an error.
  DType dtype() const { return internal::TypeOfValue(ref_); }

  internal::TraceRef Get() const { return ref_; }
  static AnyExpr FromTrace(internal::TraceRef ref) { return AnyExpr(ref); }

 private:
  explicit AnyExpr(internal::TraceRef ref) : ref_(ref) {}
  internal::TraceRef ref_;
};

// A variable. Its type is that of its first value and stays; what is assigned is converted as a store does.
class AnyVar {
 public:
  template <OperandLike X>
  requires(!std::is_same_v<X, AnyVar>) AnyVar(const X& value)  // NOLINT(google-explicit-constructor)
      : ref_(internal::NewVariable(DType::kVoid, internal::ToOperand(value))) {}
  // Of a type of one's own; without a value it is zero.
  explicit AnyVar(DType dtype) : AnyVar(dtype, 0) {}
  template <OperandLike X>
  AnyVar(DType dtype, const X& value)
      : ref_(internal::NewVariable(internal::ElementType(dtype), internal::ToOperand(value))) {}
  AnyVar(const AnyVar& other) : ref_(internal::NewVariable(DType::kVoid, other.Get())) {}
  // The same variable under another name; `other` names none after.
  AnyVar(AnyVar&& other) noexcept : ref_(std::exchange(other.ref_, {})) {}

  template <OperandLike X>
  requires(!std::is_same_v<X, AnyVar>) AnyVar& operator=(const X& value) { return Write(internal::ToOperand(value)); }
  AnyVar& operator=(const AnyVar& other) { return Write(other.Get()); }

  DType dtype() const { return internal::TypeOfVariable(ref_); }  // kVoid after an error.

  // Its value at this point of the kernel.
  internal::TraceRef Get() const { return internal::ReadVariable(ref_); }

 private:
  AnyVar& Write(const internal::Operand& value) {
    internal::WriteVariable(ref_, value);
    return *this;
  }
  internal::TraceRef ref_;
};

}  // namespace slipway

#endif  // SLIPWAY_EMBEDDED_ANY_VAR_H_
