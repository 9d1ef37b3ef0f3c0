// Functions of libraries in embedded kernels.
//
//   const ExternalFunction<float(float, const float*, int32_t)> interpolate("interpolate", library);
//   auto kernel = MakeKernel("resample", [&](ArrayVar<float, 1> y, ArrayVar<const float, 1> table) {
//     For(GridStride(y.size()), [&](Var<int64_t> i) {
//       y[i] = interpolate(Cast<float>(i) / 3, table, Cast<int32_t>(table.size()));   // or AddressOf(table[2])
//     });
//   });
//
// Numbers are converted to the parameters' types as they are in assignments; a pointer is an AddressOf, or an array,
// which stands for the address of its first element. That the library has the function with these parameters is found
// out when the kernel is compiled: INVALID_ARGUMENT, with both declarations, if not.
#ifndef SLIPWAY_EMBEDDED_EXTERNAL_FUNCTION_H_
#define SLIPWAY_EMBEDDED_EXTERNAL_FUNCTION_H_

#include <array>
#include <string>
#include <type_traits>
#include <utility>

#include "slipway/device_library.h"
#include "slipway/dtype.h"
#include "slipway/embedded/any_var.h"
#include "slipway/embedded/array_var.h"
#include "slipway/embedded/operand.h"
#include "slipway/embedded/trace.h"
#include "slipway/embedded/var.h"

namespace slipway {

// The address of elements of type T in memory, for functions that take a T*.
template <Element T>
class AddressVar {
 public:
  explicit AddressVar(internal::TraceRef address) : address_(address) {}
  template <class U>
  requires std::is_same_v<T, const U> AddressVar(const AddressVar<U>& other)  // NOLINT(google-explicit-constructor)
      : address_(other.Get()) {}
  internal::TraceRef Get() const { return address_; }

 private:
  internal::TraceRef address_;
};

// Of an element, in an array of the kernel's parameters or of its own.
template <Element T>
AddressVar<T> AddressOf(const ElementRef<T>& element) {
  const internal::Place place(element);
  return AddressVar<T>(internal::AddressOfElement(place.array, place.indices, !std::is_const_v<T>));
}

namespace internal {

// What may be given for a parameter of type P, and how it is handed over.
template <class P>
struct ExternalParam {
  static_assert(!IsComplex(kDTypeOf<P>), "functions of libraries take no complex numbers; take their parts");
  static constexpr DeviceParam kParam = {.dtype = kDTypeOf<P>};
  template <class X>
  static constexpr bool kTakes = StorableIn<X, P> || RunTimeTyped<X>;
  template <class X>
  static Operand Make(const X& x) {
    return ToOperand(x);
  }
};
template <class T>
struct ExternalParam<T*> {
  static constexpr DeviceParam kParam = {
      .dtype = kDTypeOf<std::remove_const_t<T>>, .pointer = true, .read_only = std::is_const_v<T>};
  template <class X>
  struct Takes : std::is_convertible<X, AddressVar<T>> {};
  template <class U, int N, Layout L>
  struct Takes<ArrayVar<U, N, L>> : std::bool_constant<std::is_same_v<U, T> || std::is_same_v<const U, T>> {};
  template <class X>
  static constexpr bool kTakes = Takes<X>::value;
  static Operand Make(const AddressVar<T>& address) { return address.Get(); }
  template <class U, int N, Layout L>
  static Operand Make(const ArrayVar<U, N, L>& array) {
    return AddressOfArray(array.Get(), !std::is_const_v<T>);
  }
};

}  // namespace internal

// Declared by its C++ type: numbers of kernels' dtypes, and pointers to them. Calling it is for a thread that traces a
// kernel.
template <class F>
class ExternalFunction;
template <class R, class... Params>
class ExternalFunction<R(Params...)> : public AnyExternalFunction {
 public:
  // `name` as the library has it: extern "C", or mangled.
  ExternalFunction(std::string name, DeviceLibrary library)
      : AnyExternalFunction(std::move(name), kResult, {internal::ExternalParam<Params>::kParam...},
                            std::move(library)) {}

  template <class... Args>
  requires(sizeof...(Args) == sizeof...(Params) && (internal::ExternalParam<Params>::template kTakes<Args> && ...)) auto
  operator()(const Args&... args) const {
    const std::array<internal::Operand, sizeof...(Args)> operands = {internal::ExternalParam<Params>::Make(args)...};
    const internal::TraceRef result = internal::CallExternal(*this, operands);
    if constexpr (!std::is_void_v<R>) return Expr<R>::FromTrace(result);
  }

 private:
  static constexpr DType kResult = [] {
    if constexpr (std::is_void_v<R>) {
      return DType::kVoid;
    } else {
      return kDTypeOf<R>;
    }
  }();
  static_assert(!IsComplex(kResult), "functions of libraries give no complex numbers");
};

// The same for functions whose types are known at run time.
template <OperandLike... Args>
AnyExpr Call(const AnyExternalFunction& function, const Args&... args) {
  const std::array<internal::Operand, sizeof...(Args)> operands = {internal::ToOperand(args)...};
  return AnyExpr::FromTrace(internal::CallExternal(function, operands));
}

}  // namespace slipway

#endif  // SLIPWAY_EMBEDDED_EXTERNAL_FUNCTION_H_
