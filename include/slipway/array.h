// Arrays on a device: views of memory that somebody else owns, and arrays that own theirs.
//
//   auto x = Array<float, 1>::From(device, host_x).value();              // std::vector<float>, copied to the device
//   auto y = Array<float, 2>::Zeros(device, {rows, columns}).value();
//   ArrayView<const float, 1> reversed(device, x.data() + n - 1, {n}, {-1});
//   std::vector<float> back = y.ToVector().value();
//
// All views have the same bytes in front: {T* data; int64 shape[N]; int64 strides[N]}, strides counted in elements.
// That prefix is what a kernel gets for a strided parameter; for a contiguous one it gets {T* data; int64 shape[N]},
// which is a prefix of the prefix. So packing never rearranges anything. Behind it stands the facts word (facts.h),
// computed once when the view is made.
//
// Data addresses are device addresses (on the CPU device those are host addresses as well). None of these types may be
// written by one thread while another uses it; different objects of one array may be used at the same time.
#ifndef SLIPWAY_ARRAY_H_
#define SLIPWAY_ARRAY_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "slipway/device.h"
#include "slipway/dtype.h"
#include "slipway/facts.h"
#include "slipway/memory.h"
#include "slipway/signature.h"
#include "slipway/stream.h"

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

namespace internal {
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

// A view of N-dimensional device memory, a cheap value. L is a promise about the layout: kContiguous views are
// row-major without gaps, by construction. Elements of a view of const T are never written.
template <Element T, int N, Layout L = Layout::kStrided>
class ArrayView {
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
  absl::Span<const int64_t> shape() const { return {dims_, static_cast<size_t>(rank())}; }
  absl::Span<const int64_t> strides() const { return {dims_ + rank(), static_cast<size_t>(rank())}; }
  int64_t size() const { return ElementCount(rank(), dims_); }
  Facts facts() const { return facts_; }
  bool read_only() const { return (facts_ & facts::kReadOnly) != 0; }

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

// An array of any dtype and rank that owns its memory, row-major; copies share it. Freeing, when the last of them goes,
// waits for the work that is queued on the device.
class AnyArray {
 public:
  // Uninitialised, or zeros. RESOURCE_EXHAUSTED if the memory is not there, INVALID_ARGUMENT for a negative extent,
  // more than kMaxRank of them, or a size in bytes past int64.
  static absl::StatusOr<AnyArray> Empty(const Device& device, DType dtype, absl::Span<const int64_t> shape);
  static absl::StatusOr<AnyArray> Zeros(const Device& device, DType dtype, absl::Span<const int64_t> shape);
  // A copy of host memory, row-major.
  static absl::StatusOr<AnyArray> From(const Device& device, DType dtype, absl::Span<const int64_t> shape,
                                       const void* host);

  // Over memory that is there already, of which it takes all and which it keeps. INVALID_ARGUMENT, beginning with
  // `what`, for another size than the elements have, or an address that is no multiple of what an element wants.
  static absl::StatusOr<AnyArray> Over(std::shared_ptr<const DeviceMemory> memory, DType dtype,
                                       absl::Span<const int64_t> shape, const std::string& what = "memory");

  const AnyArrayView& view() const { return view_; }
  DType dtype() const { return view_.dtype(); }
  int rank() const { return view_.rank(); }
  absl::Span<const int64_t> shape() const { return view_.shape(); }
  absl::Span<const int64_t> strides() const { return view_.strides(); }
  int64_t size() const { return view_.size(); }
  size_t bytes() const { return owner_->bytes(); }
  void* data() const { return view_.data(); }
  const Device& device() const { return owner_->device(); }

  // Copies all elements to host memory of bytes() bytes, after everything queued on the device (or on `stream`, which
  // is enough if nothing else writes them) has finished; reports what went wrong there.
  absl::Status CopyTo(void* host) const;
  absl::Status CopyTo(void* host, const Stream& stream) const;
  // Copies bytes() bytes from host memory, after everything queued on the device has finished.
  absl::Status CopyFrom(const void* host) const;
  // Copies all elements into `to`, of the same dtype and shape (INVALID_ARGUMENT otherwise, naming both), on the same
  // device or another: DeviceMemory::CopyTo tells what `stream` orders, and its errors.
  absl::Status CopyTo(const AnyArray& to, const Stream& stream) const;
  // A copy on `device`, for work on `stream` (of either device), on which it is queued; without a stream, after
  // everything queued on this array's device has finished, and then there for any work.
  absl::StatusOr<AnyArray> To(const Device& device, const Stream& stream) const;
  absl::StatusOr<AnyArray> To(const Device& device) const;

  template <Element T>
  absl::StatusOr<std::vector<T>> ToVector() const {
    if (absl::Status status = CheckDType(kDTypeOf<T>); !status.ok()) return status;
    if constexpr (std::is_same_v<T, bool>) {  // std::vector<bool> has no bytes to copy into.
      std::unique_ptr<bool[]> values(new bool[static_cast<size_t>(size())]);
      if (absl::Status status = CopyTo(values.get()); !status.ok()) return status;
      return std::vector<bool>(values.get(), values.get() + size());
    } else {
      std::vector<T> values(static_cast<size_t>(size()));
      if (absl::Status status = CopyTo(values.data()); !status.ok()) return status;
      return values;
    }
  }

 private:
  template <Element T, int N>
  friend class Array;
  AnyArray(const AnyArrayView& view, std::shared_ptr<const DeviceMemory> owner)
      : view_(view), owner_(std::move(owner)) {}
  absl::Status CheckDType(DType dtype) const;

  AnyArrayView view_;
  std::shared_ptr<const DeviceMemory> owner_;  // Never null.
};

// An array that owns its memory, row-major, with dtype and rank known; copies share the memory.
template <Element T, int N>
class Array {
  static_assert(!std::is_const_v<T>, "an Array owns what it holds; make an ArrayView<const T, N> of it instead");

 public:
  using Value = T;
  using Shape = std::array<int64_t, N>;
  static constexpr int kRank = N;

  // Errors as AnyArray's; From also wants as many values as the shape has elements.
  static absl::StatusOr<Array> Empty(const Device& device, const Shape& shape) {
    return Own(AnyArray::Empty(device, kDTypeOf<T>, shape));
  }
  static absl::StatusOr<Array> Zeros(const Device& device, const Shape& shape) {
    return Own(AnyArray::Zeros(device, kDTypeOf<T>, shape));
  }
  static absl::StatusOr<Array> From(const Device& device, absl::Span<const T> values, const Shape& shape) {
    if (absl::Status status = CheckCount(values.size(), shape); !status.ok()) return status;
    return Own(AnyArray::From(device, kDTypeOf<T>, shape, values.data()));
  }
  static absl::StatusOr<Array> From(const Device& device, absl::Span<const T> values) requires(N == 1) {
    return From(device, values, Shape{static_cast<int64_t>(values.size())});
  }
  static absl::StatusOr<Array> From(const Device& device,
                                    const std::vector<bool>& values) requires(N == 1 && std::is_same_v<T, bool>) {
    std::unique_ptr<T[]> copy(new T[values.size()]);
    std::copy(values.begin(), values.end(), copy.get());
    return From(device, absl::MakeConstSpan(copy.get(), values.size()), Shape{static_cast<int64_t>(values.size())});
  }
  static absl::StatusOr<Array> Empty(const Device& device, int64_t size) requires(N == 1) {
    return Empty(device, Shape{size});
  }
  static absl::StatusOr<Array> Zeros(const Device& device, int64_t size) requires(N == 1) {
    return Zeros(device, Shape{size});
  }
  // The same array with its types known. INVALID_ARGUMENT naming both sides if they differ.
  static absl::StatusOr<Array> FromAny(const AnyArray& array) { return Own(array); }

  const ArrayView<T, N>& view() const { return view_; }
  operator const ArrayView<T, N>&() const { return view_; }      // NOLINT(google-explicit-constructor)
  operator ArrayView<const T, N>() const { return view_; }       // NOLINT(google-explicit-constructor)
  operator AnyArrayView() const { return view_; }                // NOLINT(google-explicit-constructor)
  operator AnyArray() const { return AnyArray(view_, owner_); }  // NOLINT(google-explicit-constructor)
  ArrayView<T, N, Layout::kContiguous> contiguous() const { return view_.AsContiguous().value(); }

  T* data() const { return view_.data(); }
  Shape shape() const { return view_.shape(); }
  int64_t shape(int dimension) const { return view_.shape(dimension); }
  int64_t size() const { return view_.size(); }
  size_t bytes() const { return owner_->bytes(); }
  const Device& device() const { return owner_->device(); }

  // As AnyArray's.
  absl::Status CopyTo(T* host) const { return AnyArray(*this).CopyTo(host); }
  absl::Status CopyTo(T* host, const Stream& stream) const { return AnyArray(*this).CopyTo(host, stream); }
  absl::Status CopyFrom(absl::Span<const T> values) const {
    if (absl::Status status = CheckCount(values.size(), shape()); !status.ok()) return status;
    return AnyArray(*this).CopyFrom(values.data());
  }
  absl::Status CopyTo(const Array& to, const Stream& stream) const { return AnyArray(*this).CopyTo(to, stream); }
  absl::StatusOr<Array> To(const Device& device, const Stream& stream) const {
    return Own(AnyArray(*this).To(device, stream));
  }
  absl::StatusOr<Array> To(const Device& device) const { return Own(AnyArray(*this).To(device)); }
  absl::StatusOr<std::vector<T>> ToVector() const { return AnyArray(*this).template ToVector<T>(); }

 private:
  Array(const ArrayView<T, N>& view, std::shared_ptr<const DeviceMemory> owner)
      : view_(view), owner_(std::move(owner)) {}
  static absl::StatusOr<Array> Own(const absl::StatusOr<AnyArray>& array) {
    if (!array.ok()) return array.status();
    absl::StatusOr<ArrayView<T, N>> view = array->view().template As<T, N>();
    if (!view.ok()) return view.status();
    return Array(*view, array->owner_);
  }
  static absl::Status CheckCount(size_t values, const Shape& shape);

  ArrayView<T, N> view_;
  std::shared_ptr<const DeviceMemory> owner_;  // Never null.
};

namespace internal {
absl::Status NotContiguous(const AnyArrayView& view);
absl::Status WrongCount(size_t values, absl::Span<const int64_t> shape);
}  // namespace internal

template <Element T, int N, Layout L>
absl::StatusOr<ArrayView<T, N, Layout::kContiguous>> ArrayView<T, N, L>::AsContiguous() const {
  if (!is_contiguous()) return internal::NotContiguous(*this);
  return ArrayView<T, N, Layout::kContiguous>(data_, shape(), strides(), facts_);
}

template <Element T, int N>
absl::Status Array<T, N>::CheckCount(size_t values, const Shape& shape) {
  if (ElementCount(N, shape.data()) == static_cast<int64_t>(values)) return absl::OkStatus();
  return internal::WrongCount(values, shape);
}

}  // namespace slipway

#endif  // SLIPWAY_ARRAY_H_
