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
// compile. Numbers of the host program (1, 0.5f, n) are literals: they take the type of what they meet. Values of those
// that the kernel's function captures are handed over by launches, so that another value is not another kernel to
// compile; Constant(n) makes one part of the code. To change a value from launch to launch, make it a parameter.
//
// All of this is for the thread that is running a kernel's function, while it runs. Elsewhere it does nothing, and a
// value that is carried into another kernel makes that kernel an error.
#ifndef SLIPWAY_EMBEDDED_VAR_H_
#define SLIPWAY_EMBEDDED_VAR_H_

#include <type_traits>
#include <utility>

#include "slipway/dtype.h"
#include "slipway/embedded/operand.h"
#include "slipway/embedded/trace.h"

namespace slipway {

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
  requires(!Expression<X> && StorableIn<X, T>) Expr(const X& number)  // NOLINT(google-explicit-constructor)
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
  requires(!std::is_same_v<X, Var> && !std::is_same_v<X, AnyParam>)
      Var(const X& value)  // NOLINT(google-explicit-constructor)
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
requires(!RunTimeTyped<X>) Var(const X&)
->Var<typename internal::TypeOfDType<internal::OperandTraits<X>::kType.type>::Type>;

}  // namespace slipway

#endif  // SLIPWAY_EMBEDDED_VAR_H_
