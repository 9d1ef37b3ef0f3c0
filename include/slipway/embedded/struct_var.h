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
#include "slipway/embedded/vec.h"
#include "slipway/vec.h"

namespace slipway {

namespace internal {
template <class S>
struct IsHostVec : std::false_type {};
template <class T, int N>
struct IsHostVec<Vec<T, N>> : std::true_type {};
}  // namespace internal

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
  // A member that is a vector, and the struct itself if it is one.
  template <Element T, int N>
  VecExpr<T, N> Get(Vec<T, N> S::*member) const {
    return VectorAt<T, N>(OffsetOf(member));
  }
  auto Get() const requires internal::IsHostVec<S>::value {
    return [this]<Element T, int N>(const Vec<T, N>*) { return VectorAt<T, N>(0); }(static_cast<const S*>(nullptr));
  }

 private:
  template <Element T, int N>
  VecExpr<T, N> VectorAt(uint32_t offset) const {
    return VecExpr<T, N>::Make([&](int i) {
      const uint32_t at = offset + static_cast<uint32_t>(i * sizeof(T));
      return Expr<T>::FromTrace(internal::StructField(param_, at, kDTypeOf<T>));
    });
  }
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
