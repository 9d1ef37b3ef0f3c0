// Views of arrays: memory that somebody else owns, seen with a dtype, a shape and strides; and views of those.
//
//   ArrayView<const float, 2> x(device, address, {rows, columns});
//   auto reversed = x.Sliced(Slice(), Slice{.step = -1}).value();            // x[:, ::-1]
//   auto column = x.Sliced(Slice(), 3).value();                              // x[:, 3], of rank 1
//   auto flat = x.Reshaped({rows * columns}).value();
//
// All views have the same bytes in front: {T* data; int64 shape[N]; int64 strides[N]}, strides counted in elements.
// That prefix is what a kernel gets for a strided parameter; for a contiguous one it gets {T* data; int64 shape[N]},
// which is a prefix of the prefix. So packing never rearranges anything. Behind it stands the facts word (facts.h),
// computed once when the view is made.
//
// Data addresses are device addresses (on the CPU device those are host addresses as well). None of these types may be
// written by one thread while another uses it; different objects of one array may be used at the same time.
#ifndef SLIPWAY_VIEW_H_
#define SLIPWAY_VIEW_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "slipway/device.h"
#include "slipway/dtype.h"
#include "slipway/facts.h"
#include "slipway/index.h"
#include "slipway/signature.h"

namespace slipway {

// Row-major strides in elements, a trailing dimension fastest. Products past int64 saturate (such an array cannot
// exist; it can be described). Writes `rank` entries.
void RowMajorStrides(int rank, const int64_t* shape, int64_t* strides);

// Elements of a shape; INT64_MAX where the product passes it, 0 where a dimension is 0.
int64_t ElementCount(int rank, const int64_t* shape);

template <int N>
constexpr std::array<int64_t, N> RowMajorStrides(const std::array<int64_t, N>& shape) {
  std::array<int64_t, N> strides{};
  RowMajorStrides(N, shape.data(), strides.data());
  return strides;
}

class AnyArrayView;
template <Element T, int N, Layout L = Layout::kStrided>
class ArrayView;

namespace internal {
struct ViewLayout;  // launch/view_layout.h.

// A view made of the words {data, shape, strides} and the facts of them; a rank past kMaxRank keeps the data alone.
AnyArrayView ViewFromWords(const int64_t* words, Facts word);

// std::array<int64_t, 0> takes a byte; an empty class of its own for each member takes none.
template <int N, int kWhich>
struct NoExtents {
  constexpr NoExtents(const std::array<int64_t, N>& = {}) {}  // NOLINT(google-explicit-constructor)
};
template <int N, int kWhich>
using Extents = std::conditional_t<N == 0, NoExtents<N, kWhich>, std::array<int64_t, N>>;
}  // namespace internal

namespace internal {
// What views of views have in common, for views and arrays of known rank. `Self` has kRank and Rebound<M>(any), which
// makes one of its kind, of rank M, of an AnyArrayView or an error.
template <class Self>
class ViewsOfView {
 public:
  // Parts, as NumPy's x[...] gives them: an integer takes one index along a dimension, which is gone then; a Slice a
  // range of it; kNewAxis puts in a dimension of 1; dimensions that nothing is said of are taken whole. Negative
  // indices count from the end. OUT_OF_RANGE for an integer index past the ends; INVALID_ARGUMENT for a step of 0.
  template <class... I>
  auto Sliced(const I&... at) const {
    constexpr int kTaken = (0 + ... + (std::is_integral_v<I> ? 1 : 0));
    constexpr int kAdded = (0 + ... + (std::is_same_v<I, NewAxis> ? 1 : 0));
    static_assert((... && std::is_constructible_v<Index, I>), "an index is an integer, a Slice, or kNewAxis");
    static_assert(static_cast<int>(sizeof...(I)) - kAdded <= Self::kRank, "more indices than dimensions");
    return self().template Rebound<Self::kRank - kTaken + kAdded>(
        AnyView(self()).Sliced(std::initializer_list<Index>{Index(at)...}));
  }
  // Dimensions in another order: dimension d of the result is axes[d] of this; without axes, the reverse order.
  // INVALID_ARGUMENT unless each is named once; negative ones count from the end.
  auto Transposed() const { return self().template Rebound<Self::kRank>(AnyView(self()).Transposed()); }
  template <size_t M>
  auto Transposed(const int (&axes)[M]) const {
    static_assert(M == Self::kRank, "one axis for each dimension");
    return self().template Rebound<Self::kRank>(AnyView(self()).Transposed(absl::MakeConstSpan(axes, M)));
  }
  // The same elements in row-major order under another shape, one extent of which may be -1: what is left for it.
  // INVALID_ARGUMENT if the counts differ; FAILED_PRECONDITION if these strides have no such view: copy first.
  template <size_t M>
  auto Reshaped(const int64_t (&shape)[M]) const {
    return self().template Rebound<static_cast<int>(M)>(AnyView(self()).Reshaped(absl::MakeConstSpan(shape, M)));
  }
  // Repeats dimensions of 1, and adds new ones in front, as NumPy does; the result is not writable where an element
  // stands for several. INVALID_ARGUMENT for shapes that do not match.
  template <size_t M>
  auto BroadcastTo(const int64_t (&shape)[M]) const {
    return self().template Rebound<static_cast<int>(M)>(AnyView(self()).BroadcastTo(absl::MakeConstSpan(shape, M)));
  }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
  static const AnyArrayView& AnyView(const AnyArrayView& view) { return view; }
};
}  // namespace internal

// A view of N-dimensional device memory, a cheap value. L is a promise about the layout: kContiguous views are
// row-major without gaps, by construction. Elements of a view of const T are never written.
template <Element T, int N, Layout L>
class ArrayView : public internal::ViewsOfView<ArrayView<T, N, L>> {
  static_assert(N >= 0 && N <= kMaxRank, "Slipway arrays have 0 to 8 dimensions");
  static_assert(!std::is_volatile_v<T>, "volatile elements are not supported");

 public:
  using Value = T;
  using Shape = std::array<int64_t, N>;
  static constexpr int kRank = N;
  static constexpr Layout kLayout = L;
  static constexpr DType kDType = kDTypeOf<T>;
  static constexpr bool kReadOnly = std::is_const_v<T>;

  // Row-major and without gaps. A wrong argument (null with elements, a negative extent) is kept and reported by the
  // launch that is given the view.
  ArrayView(const Device& device, T* data, const Shape& shape) : ArrayView(device.id(), data, shape) {}
  // With strides in elements, of any sign; zero repeats an element.
  ArrayView(const Device& device, T* data, const Shape& shape, const Shape& strides) requires(L == Layout::kStrided)
      : ArrayView(device.id(), data, shape, strides) {}

  // A view of T is a view of const T, and a contiguous view is a strided one.
  template <class U, Layout K>
  requires(std::is_same_v<T, U> || std::is_same_v<T, const U>) &&
      (L == Layout::kStrided || K == L)
          ArrayView(const ArrayView<U, N, K>& other)  // NOLINT(google-explicit-constructor)
      : data_(other.data_),
  shape_(other.shape()), strides_(other.strides()),
  facts_(std::is_const_v<T> ? AsReadOnly(other.facts_) : other.facts_) {}
  ArrayView(const ArrayView&) = default;
  ArrayView& operator=(const ArrayView&) = default;

  T* data() const { return data_; }
  Shape shape() const {
    if constexpr (N == 0)
      return {};
    else
      return shape_;
  }
  Shape strides() const {
    if constexpr (N == 0)
      return {};
    else
      return strides_;
  }
  int64_t shape(int dimension) const { return shape()[dimension]; }
  int64_t stride(int dimension) const { return strides()[dimension]; }
  int64_t size() const { return ElementCount(N, shape().data()); }
  Facts facts() const { return facts_; }
  bool is_contiguous() const { return (facts_ & facts::kContiguous) != 0; }

  // This view with the promise; FAILED_PRECONDITION, with shape and strides, if it is not so.
  absl::StatusOr<ArrayView<T, N, Layout::kContiguous>> AsContiguous() const;

 private:
  template <Element U, int M, Layout K>
  friend class ArrayView;
  friend class AnyArrayView;
  friend class internal::ViewsOfView<ArrayView>;

  template <int M>
  static absl::StatusOr<ArrayView<T, M>> Rebound(const absl::StatusOr<AnyArrayView>& view);

  ArrayView(uint16_t device_id, T* data, const Shape& shape)
      : ArrayView(device_id, data, shape, RowMajorStrides<N>(shape)) {}
  ArrayView(uint16_t device_id, T* data, const Shape& shape, const Shape& strides)
      : data_(data),
        shape_(shape),
        strides_(strides),
        facts_(ComputeFacts(kDType, N, shape.data(), strides.data(), data, kReadOnly, device_id)) {}
  ArrayView(T* data, const Shape& shape, const Shape& strides, Facts word)
      : data_(data), shape_(shape), strides_(strides), facts_(word) {}

  T* data_;
  [[no_unique_address]] internal::Extents<N, 0> shape_;
  [[no_unique_address]] internal::Extents<N, 1> strides_;
  Facts facts_;
};

// A view whose dtype and rank are known at run time; made from any typed view, and turned back into one. It remembers
// whether its elements may be written.
class AnyArrayView {
 public:
  // Strides in elements, or none for row-major. `shape` has at most kMaxRank entries and `strides` as many as `shape`.
  // INVALID_ARGUMENT otherwise, or if dtype is kVoid.
  static absl::StatusOr<AnyArrayView> Make(const Device& device, DType dtype, void* data,
                                           absl::Span<const int64_t> shape, absl::Span<const int64_t> strides,
                                           bool read_only = false);
  static absl::StatusOr<AnyArrayView> Make(const Device& device, DType dtype, void* data,
                                           absl::Span<const int64_t> shape, bool read_only = false);

  template <class T, int N, Layout L>
  AnyArrayView(const ArrayView<T, N, L>& view)  // NOLINT(google-explicit-constructor)
      : data_(const_cast<std::remove_const_t<T>*>(view.data_)), facts_(view.facts_) {
    for (int d = 0; d < N; ++d) dims_[d] = view.shape(d), dims_[N + d] = view.stride(d);
  }

  DType dtype() const { return facts::DTypeOf(facts_); }
  int rank() const { return facts::RankOf(facts_); }
  void* data() const { return data_; }
  uint64_t Address() const { return reinterpret_cast<uintptr_t>(data_); }
  absl::Span<const int64_t> shape() const { return {dims_, static_cast<size_t>(rank())}; }
  absl::Span<const int64_t> strides() const { return {dims_ + rank(), static_cast<size_t>(rank())}; }
  int64_t size() const { return ElementCount(rank(), dims_); }
  Facts facts() const { return facts_; }
  bool read_only() const { return (facts_ & facts::kReadOnly) != 0; }
  bool is_contiguous() const { return (facts_ & facts::kContiguous) != 0; }

  // Views of this one, with the rules and errors of ArrayView's. An ellipsis (kEllipsis) stands for as many whole
  // dimensions as are left. INVALID_ARGUMENT also for more indices than dimensions, or more than kMaxRank of them then.
  absl::StatusOr<AnyArrayView> Sliced(absl::Span<const Index> at) const;
  absl::StatusOr<AnyArrayView> Sliced(std::initializer_list<Index> at) const {
    return Sliced(absl::MakeConstSpan(at.begin(), at.size()));
  }
  absl::StatusOr<AnyArrayView> Transposed() const;
  absl::StatusOr<AnyArrayView> Transposed(absl::Span<const int> axes) const;
  absl::StatusOr<AnyArrayView> Reshaped(absl::Span<const int64_t> shape) const;
  absl::StatusOr<AnyArrayView> BroadcastTo(absl::Span<const int64_t> shape) const;

  // The typed view. INVALID_ARGUMENT naming both sides if dtype or rank differ, if a view of const elements is asked to
  // become writable, or if a strided one is asked to be contiguous.
  template <Element T, int N, Layout L = Layout::kStrided>
  absl::StatusOr<ArrayView<T, N, L>> As() const {
    if (absl::Status status = CheckAs(kDTypeOf<T>, N, L, std::is_const_v<T>); !status.ok()) return status;
    std::array<int64_t, N> shape, strides;
    std::copy_n(dims_, N, shape.begin());
    std::copy_n(dims_ + N, N, strides.begin());
    return ArrayView<T, N, L>(static_cast<T*>(data_), shape, strides, std::is_const_v<T> ? AsReadOnly(facts_) : facts_);
  }

 private:
  friend class Arg;
  friend class AnyArray;
  friend struct internal::ViewLayout;
  friend AnyArrayView internal::ViewFromWords(const int64_t* words, Facts word);
  AnyArrayView(void* data, Facts word) : data_(data), facts_(word) {}
  absl::Status CheckAs(DType dtype, int rank, Layout layout, bool read_only) const;

  // `data_` and the first 2 * rank entries of `dims_` (shape, then strides) are the strided ABI struct.
  void* data_;
  int64_t dims_[2 * kMaxRank] = {};
  Facts facts_;
};

// "float32[3,4] strides [4,1]": for messages.
std::string Describe(const AnyArrayView& view);

namespace internal {
absl::Status NotContiguous(const AnyArrayView& view);
}  // namespace internal

template <Element T, int N, Layout L>
absl::StatusOr<ArrayView<T, N, Layout::kContiguous>> ArrayView<T, N, L>::AsContiguous() const {
  if (!is_contiguous()) return internal::NotContiguous(*this);
  return ArrayView<T, N, Layout::kContiguous>(data_, shape(), strides(), facts_);
}

template <Element T, int N, Layout L>
template <int M>
absl::StatusOr<ArrayView<T, M>> ArrayView<T, N, L>::Rebound(const absl::StatusOr<AnyArrayView>& view) {
  if (!view.ok()) return view.status();
  return view->template As<T, M>();
}

}  // namespace slipway

#endif  // SLIPWAY_VIEW_H_
