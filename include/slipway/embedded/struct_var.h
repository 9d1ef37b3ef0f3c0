// A struct parameter of an embedded kernel: a trivially copyable C++ type by value, laid out as the compiler does.
//
//   struct Camera { float x, y; int32_t mode; };
//   MakeKernel("shade", [](ArrayVar<float, 1> out, StructVar<Camera> camera) {
//     Expr<float> x = camera.Get(&Camera::x);
//   });
//   shade(stream, ForSize(n), out, Camera{...});
#ifndef SLIPWAY_EMBEDDED_STRUCT_VAR_H_
#define SLIPWAY_EMBEDDED_STRUCT_VAR_H_

#include <cstdint>
#include <type_traits>

#include "slipway/dtype.h"
#include "slipway/embedded/trace.h"
#include "slipway/embedded/var.h"

namespace slipway {

template <class S>
requires std::is_trivially_copyable_v<S> && std::is_class_v<S>
class StructVar {
 public:
  explicit StructVar(uint32_t param) : param_(param) {}

  // A member that is a number.
  template <Element T>
  Expr<T> Get(T S::*member) const {
    return Expr<T>::FromTrace(internal::StructField(param_, OffsetOf(member), kDTypeOf<T>));
  }
  // A number of a member that is an array of numbers: of an index that is known now.
  template <Element T, size_t N>
  Expr<T> Get(T (S::*member)[N], size_t index) const {
    const uint32_t offset = OffsetOf(member) + static_cast<uint32_t>(index < N ? index * sizeof(T) : sizeof(S));
    return Expr<T>::FromTrace(internal::StructField(param_, offset, kDTypeOf<T>));
  }

 private:
  template <class M>
  static uint32_t OffsetOf(M S::*member) {
    alignas(S) static constinit char storage[sizeof(S)] = {};
    const S* object = reinterpret_cast<const S*>(storage);
    return static_cast<uint32_t>(reinterpret_cast<const char*>(&(object->*member)) - storage);
  }

  uint32_t param_;
};

}  // namespace slipway

#endif  // SLIPWAY_EMBEDDED_STRUCT_VAR_H_
