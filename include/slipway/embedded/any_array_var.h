// Arrays of an embedded kernel whose dtype, rank and layout are known when the kernel is traced.
//
//   [](AnyArrayVar out, AnyArrayVar in) {
//     For(GridStride(out.size()), [&](Expr<int64_t> i) { out.Flat(i) = in.Flat(i); });   // Any rank.
//     out(i, j) = in[k];                                    // As many indices as the rank, or the kernel is an error.
//     for (int d = 0; d < in.rank(); ++d) { ... in.shape(d) ... }
//   }
//
// Indices are not checked. Copying an AnyArrayVar is the same array.
#ifndef SLIPWAY_EMBEDDED_ANY_ARRAY_VAR_H_
#define SLIPWAY_EMBEDDED_ANY_ARRAY_VAR_H_

#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include "absl/types/span.h"
#include "slipway/dtype.h"
#include "slipway/embedded/any_var.h"
#include "slipway/embedded/array_var.h"
#include "slipway/embedded/operand.h"
#include "slipway/embedded/trace.h"
#include "slipway/embedded/var.h"
#include "slipway/signature.h"

namespace slipway {

// One element: a place in an array, as ElementRef<T> is. Storing into an array that the launch gives for reading only
// is an error of that launch.
class AnyElementRef {
 public:
  AnyElementRef(const AnyElementRef&) = default;
  const AnyElementRef& operator=(const AnyElementRef& other) const { return Store(other.Get()); }
  AnyElementRef& operator=(const AnyElementRef& other) {
    Store(other.Get());
    return *this;
  }
  template <OperandLike X>
  requires(!std::is_same_v<X, AnyElementRef>) const AnyElementRef& operator=(const X& value) const {
    return Store(internal::ToOperand(value));
  }

  DType dtype() const { return internal::ParamOf(array_).dtype; }
  internal::TraceRef Get() const { return internal::LoadElement(array_, indices_); }

 private:
  friend class AnyArrayVar;
  friend struct internal::Place;

  AnyElementRef(internal::TraceRef array, const internal::Indices& indices) : array_(array), indices_(indices) {}
  const AnyElementRef& Store(const internal::Operand& value) const {
    internal::StoreElement(array_, indices_, value);
    return *this;
  }

  internal::TraceRef array_;
  internal::Indices indices_;
};

// An array: a parameter, or one of the kernel's own (memory.h).
class AnyArrayVar {
 public:
  // kVoid, 0 and false after an error.
  DType dtype() const { return internal::ParamOf(array_).dtype; }
  int rank() const { return internal::ParamOf(array_).rank; }
  bool is_contiguous() const { return internal::ParamOf(array_).layout == Layout::kContiguous; }

  // The extent of a dimension, and the number of elements.
  Expr<int64_t> shape(int dimension) const { return Expr<int64_t>::FromTrace(internal::Extent(array_, dimension)); }
  Expr<int64_t> size() const { return Expr<int64_t>::FromTrace(internal::SizeOfArray(array_)); }

  AnyElementRef operator[](const internal::LocatedIndex& index) const { return (*this)(index); }
  AnyElementRef operator()() const { return At(absl::Span<const AnyExpr>()); }
  template <IndexLike... I>
  requires(sizeof...(I) < kMaxRank) AnyElementRef operator()(const internal::LocatedIndex& first,
                                                             const I&... others) const {
    const internal::TraceEntry entry(array_);
    internal::LocateAt(first.where);
    return At({AnyExpr::FromTrace(internal::ValueOf(first.value)), AnyExpr(others)...});
  }
  // The same for indices in a list: At({i, j, k}), or a vector of AnyExpr that a loop over rank() filled.
  AnyElementRef At(absl::Span<const AnyExpr> indices) const {
    std::vector<internal::TraceRef> values;
    for (const AnyExpr& index : indices) values.push_back(index.Get());
    return AnyElementRef(array_, internal::ManyIndices(values.data(), values.size()));
  }
  AnyElementRef At(std::initializer_list<AnyExpr> indices) const {
    return At(absl::MakeConstSpan(indices.begin(), indices.size()));
  }
  // Element number `index` in row-major order, whatever the rank. Contiguous arrays are addressed by it directly;
  // others of more than one dimension cost a division a dimension.
  template <IndexLike I>
  AnyElementRef Flat(const I& index) const {
    return AnyElementRef(array_, internal::Unravel(array_, internal::ToOperand(index)));
  }

  internal::TraceRef Get() const { return array_; }
  static AnyArrayVar FromTrace(internal::TraceRef array) { return AnyArrayVar(array); }

 private:
  explicit AnyArrayVar(internal::TraceRef array) : array_(array) {}
  internal::TraceRef array_;
};

}  // namespace slipway

#endif  // SLIPWAY_EMBEDDED_ANY_ARRAY_VAR_H_
