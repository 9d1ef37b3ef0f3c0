// A parameter of a generic kernel of which the function says nothing: `auto`. It is an array or a number as each launch
// gives one, and may be used as either; used as what it is not, it makes the kernel an error for such launches.
//
//   MakeGenericKernel("scale", [](auto out, auto in, auto k) {
//     For(GridStride(out.size()), [&](Expr<int64_t> i) { out.Flat(i) = k * in.Flat(i); });
//   });
//
// It is also what the other parameter types are made from. The typed ones (Var<T>, ArrayVar<T, N>) take exactly what
// they say.
#ifndef SLIPWAY_EMBEDDED_ANY_PARAM_H_
#define SLIPWAY_EMBEDDED_ANY_PARAM_H_

#include <cstdint>
#include <initializer_list>

#include "absl/types/span.h"
#include "slipway/dtype.h"
#include "slipway/embedded/any_array_var.h"
#include "slipway/embedded/any_var.h"
#include "slipway/embedded/array_var.h"
#include "slipway/embedded/trace.h"
#include "slipway/embedded/var.h"
#include "slipway/signature.h"

namespace slipway {

class AnyParam {
 public:
  explicit AnyParam(uint32_t param) : param_(param) {}
  AnyParam(const AnyParam&) = default;
  AnyParam& operator=(const AnyParam&) = delete;  // A parameter is a value; to change something, make it an AnyVar.

  // Of an array: the dtype of its elements.
  DType dtype() const { return internal::ParamAt(param_).dtype; }
  bool is_array() const { return internal::ParamAt(param_).kind == ParamKind::kArray; }

  // As a number.
  internal::TraceRef Get() const { return internal::AsNumber(param_); }
  template <Element T>
  operator Expr<T>() const {  // NOLINT(google-explicit-constructor)
    return Expr<T>::FromTrace(internal::AsDeclared(param_, Scalar(kDTypeOf<T>)));
  }
  template <Element T>
  operator Var<T>() const {  // NOLINT(google-explicit-constructor)
    return Expr<T>(*this);
  }

  // As an array; see AnyArrayVar.
  operator AnyArrayVar() const {  // NOLINT(google-explicit-constructor)
    return AnyArrayVar::FromTrace(internal::AsArray(param_));
  }
  template <Element T, int N, Layout L>
  operator ArrayVar<T, N, L>() const {  // NOLINT(google-explicit-constructor)
    return ArrayVar<T, N, L>::FromTrace(internal::AsDeclared(param_, {.name = {},
                                                                      .kind = ParamKind::kArray,
                                                                      .dtype = kDTypeOf<T>,
                                                                      .rank = N,
                                                                      .layout = L,
                                                                      .read_only = std::is_const_v<T>}));
  }
  int rank() const { return Array().rank(); }
  bool is_contiguous() const { return Array().is_contiguous(); }
  Expr<int64_t> shape(int dimension) const { return Array().shape(dimension); }
  Expr<int64_t> size() const { return Array().size(); }
  template <IndexLike I>
  AnyElementRef operator[](const I& index) const {
    return Array()[index];
  }
  template <IndexLike... I>
  AnyElementRef operator()(const I&... indices) const {
    return Array()(indices...);
  }
  AnyElementRef At(absl::Span<const AnyExpr> indices) const { return Array().At(indices); }
  AnyElementRef At(std::initializer_list<AnyExpr> indices) const { return Array().At(indices); }
  template <IndexLike I>
  AnyElementRef Flat(const I& index) const {
    return Array().Flat(index);
  }

 private:
  AnyArrayVar Array() const { return *this; }
  static ParamSpec Scalar(DType dtype) { return {.name = {}, .kind = ParamKind::kScalar, .dtype = dtype}; }

  uint32_t param_;
};

}  // namespace slipway

#endif  // SLIPWAY_EMBEDDED_ANY_PARAM_H_
