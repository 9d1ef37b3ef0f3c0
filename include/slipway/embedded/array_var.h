// Arrays inside an embedded kernel.
//
//   [](ArrayVar<float, 2> y, ArrayVar<const float, 1> x) {
//     y(i, j) = 2 * x[at[i]];          // gathers and scatters: any integer is an index
//     AtomicAdd(y(0, 0), x[i]);      // memory.h
//   }
//
// Indices are not checked. Copying an ArrayVar is the same array.
#ifndef SLIPWAY_EMBEDDED_ARRAY_VAR_H_
#define SLIPWAY_EMBEDDED_ARRAY_VAR_H_

#include <cstdint>
#include <type_traits>

#include "slipway/dtype.h"
#include "slipway/embedded/operand.h"
#include "slipway/embedded/trace.h"
#include "slipway/embedded/var.h"
#include "slipway/signature.h"

namespace slipway {

namespace internal {
// The place that an element is, for the operations of memory.h.
struct Place {
  template <class E>
  explicit Place(const E& element) : array(element.array_), indices(element.indices_) {}
  TraceRef array;
  Indices indices;
};
}  // namespace internal

// One element: a place in an array. Used as a value it is loaded, at that point; assigned, it is stored. The indices
// are computed once, where it is written, so `auto e = y[i]` names the same place after i has changed, and its value
// each time it is used. Elements of T may be assigned, elements of const T may not.
template <Element T>
class ElementRef {
 public:
  using Value = std::remove_const_t<T>;

  ElementRef(const ElementRef&) = default;
  const ElementRef& operator=(const ElementRef& other) const requires(!std::is_const_v<T>) {
    return Store(other.Get());
  }
  ElementRef& operator=(const ElementRef& other) requires(!std::is_const_v<T>) {
    Store(other.Get());
    return *this;
  }
  template <StorableIn<Value> X>
  requires(!std::is_const_v<T> && !std::is_same_v<X, ElementRef>) const ElementRef& operator=(const X& value) const {
    return Store(internal::ToOperand(value));
  }

  internal::TraceRef Get() const { return internal::LoadElement(array_, indices_); }

 private:
  template <Element U, int N, Layout L>
  friend class ArrayVar;
  friend struct internal::Place;

  ElementRef(internal::TraceRef array, const internal::Indices& indices) : array_(array), indices_(indices) {}
  const ElementRef& Store(const internal::Operand& value) const {
    internal::StoreElement(array_, indices_, value);
    return *this;
  }

  internal::TraceRef array_;
  internal::Indices indices_;
};

// An array of element type T (const T: only read) and rank N: a parameter, or one of the kernel's own (memory.h).
template <Element T, int N, Layout L = Layout::kStrided>
class ArrayVar {
  static_assert(N >= 0 && N <= kMaxRank, "Slipway arrays have 0 to 8 dimensions");

 public:
  using Value = T;
  static constexpr int kRank = N;

  ElementRef<T> operator[](const internal::LocatedIndex& index) const requires(N == 1) { return (*this)(index); }
  ElementRef<T> operator()() const requires(N == 0) { return ElementRef<T>(array_, {}); }
  template <IndexLike... I>
  requires(sizeof...(I) + 1 == N) ElementRef<T>
  operator()(const internal::LocatedIndex& first, const I&... others) const {
    const internal::TraceEntry entry(array_);
    internal::LocateAt(first.where);
    return ElementRef<T>(array_,
                         {N, {internal::ValueOf(first.value), internal::ValueOf(internal::ToOperand(others))...}});
  }

  // The extent of a dimension, and the number of elements.
  Expr<int64_t> shape(int dimension) const { return Expr<int64_t>::FromTrace(internal::Extent(array_, dimension)); }
  Expr<int64_t> size() const { return Expr<int64_t>::FromTrace(internal::SizeOfArray(array_)); }

  internal::TraceRef Get() const { return array_; }
  static ArrayVar FromTrace(internal::TraceRef array) { return ArrayVar(array); }

 private:
  explicit ArrayVar(internal::TraceRef array) : array_(array) {}
  internal::TraceRef array_;
};

}  // namespace slipway

#endif  // SLIPWAY_EMBEDDED_ARRAY_VAR_H_
