// Arrays that own their memory, or share it with others, on a device.
//
//   auto x = Array<float, 1>::From(device, host_x).value();              // std::vector<float>, copied to the device
//   auto y = Array<float, 2>::Zeros(stream, {rows, columns}).value();    // memory of a stream, from a pool
//   auto top = y.Sliced(Slice{0, 10}).value();                           // shares y's memory
//   std::vector<float> back = top.ToVector().value();                    // row-major, whatever its strides
//
// view.h has the views that they can be looked at through; host_array.h has arrays on the host, indexed as std::mdspan.
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
#include "slipway/host_array.h"
#include "slipway/memory.h"
#include "slipway/signature.h"
#include "slipway/stream.h"
#include "slipway/view.h"

namespace slipway {

// Queues on `stream`, of the views' device, a copy of all elements of `from` into `to`: of the same dtype, and of a
// shape that `from` can be broadcast to (INVALID_ARGUMENT otherwise, or where `to` is not writable, naming both). Any
// strides; where the two overlap the result is as if `from` had been read first. What is contiguous on both sides is
// the driver's own copy, other strides are a kernel. The memory of views has to stay until it is done.
absl::Status Copy(const Stream& stream, const AnyArrayView& to, const AnyArrayView& from);

namespace internal {
// RESOURCE_EXHAUSTED where the host has no room for a packed copy: of a view that repeats elements, or a huge array.
absl::Status CheckHostRoom(const AnyArrayView& view);
}  // namespace internal

// An array of any dtype and rank; copies share the memory, and so do views made of it (Sliced and so on), which keep
// it. Freeing, when the last of them goes, is safe while work is queued that uses it: memory of a device waits for it;
// memory of a stream is given back in the stream's order, and launches on other streams note their use (memory.h).
class AnyArray {
 public:
  // Uninitialised, or zeros; row-major. RESOURCE_EXHAUSTED if the memory is not there, INVALID_ARGUMENT for a negative
  // extent, more than kMaxRank of them, or a size in bytes past int64.
  static absl::StatusOr<AnyArray> Empty(const Device& device, DType dtype, absl::Span<const int64_t> shape);
  static absl::StatusOr<AnyArray> Zeros(const Device& device, DType dtype, absl::Span<const int64_t> shape);
  // A copy of row-major host memory.
  static absl::StatusOr<AnyArray> From(const Device& device, DType dtype, absl::Span<const int64_t> shape,
                                       const void* host);
  // The same in memory of a stream, for work that is queued on it later; nothing is waited for. From reads `host` as
  // DeviceMemory::QueueFromHost does.
  static absl::StatusOr<AnyArray> Empty(const Stream& stream, DType dtype, absl::Span<const int64_t> shape);
  static absl::StatusOr<AnyArray> Zeros(const Stream& stream, DType dtype, absl::Span<const int64_t> shape);
  static absl::StatusOr<AnyArray> From(const Stream& stream, DType dtype, absl::Span<const int64_t> shape,
                                       const void* host);

  // Over memory that is there already, of which it takes all and which it keeps. INVALID_ARGUMENT, beginning with
  // `what`, for another size than the elements have, or an address that is no multiple of what an element wants.
  static absl::StatusOr<AnyArray> Over(std::shared_ptr<const DeviceMemory> memory, DType dtype,
                                       absl::Span<const int64_t> shape, const std::string& what = "memory");
  // The array that `view` shows, in memory that it keeps. OUT_OF_RANGE, beginning with `what`, where an element of it
  // lies outside of the memory; INVALID_ARGUMENT for a view of another device.
  static absl::StatusOr<AnyArray> Over(std::shared_ptr<const DeviceMemory> memory, const AnyArrayView& view,
                                       const std::string& what = "memory");

  const AnyArrayView& view() const { return view_; }
  operator const AnyArrayView&() const { return view_; }  // NOLINT(google-explicit-constructor)
  DType dtype() const { return view_.dtype(); }
  int rank() const { return view_.rank(); }
  absl::Span<const int64_t> shape() const { return view_.shape(); }
  absl::Span<const int64_t> strides() const { return view_.strides(); }
  int64_t size() const { return view_.size(); }
  bool is_contiguous() const { return view_.is_contiguous(); }
  // Of the elements, as they are when packed.
  size_t bytes() const { return static_cast<size_t>(size()) * SizeOf(dtype()); }
  void* data() const { return view_.data(); }
  const Device& device() const { return owner_->device(); }
  const std::shared_ptr<const DeviceMemory>& memory() const { return owner_; }

  // Of the same memory; rules and errors as AnyArrayView's.
  absl::StatusOr<AnyArray> Sliced(absl::Span<const Index> at) const { return Shared(view_.Sliced(at)); }
  absl::StatusOr<AnyArray> Sliced(std::initializer_list<Index> at) const { return Shared(view_.Sliced(at)); }
  absl::StatusOr<AnyArray> Transposed() const { return Shared(view_.Transposed()); }
  absl::StatusOr<AnyArray> Transposed(absl::Span<const int> axes) const { return Shared(view_.Transposed(axes)); }
  absl::StatusOr<AnyArray> Reshaped(absl::Span<const int64_t> shape) const { return Shared(view_.Reshaped(shape)); }
  absl::StatusOr<AnyArray> BroadcastTo(absl::Span<const int64_t> shape) const {
    return Shared(view_.BroadcastTo(shape));
  }
  // This array if it is contiguous, else a row-major copy in memory of `stream`, on which it is queued.
  absl::StatusOr<AnyArray> Contiguous(const Stream& stream) const;

  // Copies all elements in row-major order to host memory of bytes() bytes, after everything queued on the device (or
  // on `stream`, which is enough if nothing else writes them) has finished; reports what went wrong there.
  absl::Status CopyTo(void* host) const;
  absl::Status CopyTo(void* host, const Stream& stream) const;
  // Copies bytes() bytes from row-major host memory, after everything queued on the device has finished.
  absl::Status CopyFrom(const void* host) const;
  // The same queued on `stream`; DeviceMemory::QueueFromHost tells when `host` is read.
  absl::Status CopyFrom(const void* host, const Stream& stream) const;
  // Copies all elements into `to`, of the same dtype and shape (INVALID_ARGUMENT otherwise, naming both), on the same
  // device or another: DeviceMemory::CopyTo tells what `stream` orders, and its errors.
  absl::Status CopyTo(const AnyArray& to, const Stream& stream) const;
  // A row-major copy on `device`, for work on `stream` (of either device), on which it is queued; without a stream,
  // after everything queued on this array's device has finished, and then there for any work.
  absl::StatusOr<AnyArray> To(const Device& device, const Stream& stream) const;
  absl::StatusOr<AnyArray> To(const Device& device) const;

  // What `stream` was given so far uses it, through views or bare addresses of it, of which launches do not know whose
  // they are; DeviceMemory::RecordUse.
  absl::Status RecordUse(const Stream& stream) const { return owner_->RecordUse(stream); }

  template <Element T>
  absl::StatusOr<std::vector<T>> ToVector() const {
    if (absl::Status status = CheckDType(kDTypeOf<T>); !status.ok()) return status;
    if (absl::Status status = internal::CheckHostRoom(view_); !status.ok()) return status;
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
  static absl::StatusOr<AnyArray> In(DeviceMemory memory, DType dtype, absl::Span<const int64_t> shape);
  absl::StatusOr<AnyArray> Shared(const absl::StatusOr<AnyArrayView>& view) const {
    if (!view.ok()) return view.status();
    return AnyArray(*view, owner_);
  }
  absl::Status CheckDType(DType dtype) const;
  size_t Offset() const;  // Of the first element in the memory, in bytes.
  absl::Status CopyAcross(const AnyArray& to, const Stream& stream) const;

  AnyArrayView view_;
  std::shared_ptr<const DeviceMemory> owner_;  // Never null.
};

// The same with dtype and rank known.
template <Element T, int N>
class Array : public internal::ViewsOfView<Array<T, N>> {
  static_assert(!std::is_const_v<T>, "an Array owns what it holds; make an ArrayView<const T, N> of it instead");

 public:
  using Value = T;
  using Shape = std::array<int64_t, N>;
  static constexpr int kRank = N;

  // Errors as AnyArray's; From also wants as many values as the shape has elements. `Home` is a Device or a Stream.
  template <class Home>
  static absl::StatusOr<Array> Empty(const Home& home, const Shape& shape) {
    return Own(AnyArray::Empty(home, kDTypeOf<T>, shape));
  }
  template <class Home>
  static absl::StatusOr<Array> Zeros(const Home& home, const Shape& shape) {
    return Own(AnyArray::Zeros(home, kDTypeOf<T>, shape));
  }
  template <class Home>
  static absl::StatusOr<Array> From(const Home& home, absl::Span<const T> values, const Shape& shape) {
    if (absl::Status status = CheckCount(values.size(), shape); !status.ok()) return status;
    return Own(AnyArray::From(home, kDTypeOf<T>, shape, values.data()));
  }
  template <class Home>
  static absl::StatusOr<Array> From(const Home& home, absl::Span<const T> values) requires(N == 1) {
    return From(home, values, Shape{static_cast<int64_t>(values.size())});
  }
  template <class Home>
  static absl::StatusOr<Array> From(const Home& home,
                                    const std::vector<bool>& values) requires(N == 1 && std::is_same_v<T, bool>) {
    std::unique_ptr<T[]> copy(new T[values.size()]);
    std::copy(values.begin(), values.end(), copy.get());
    return From(home, absl::MakeConstSpan(copy.get(), values.size()), Shape{static_cast<int64_t>(values.size())});
  }
  // Any strides on the host's side; the array is row-major. What is not contiguous is packed first.
  template <class Home>
  static absl::StatusOr<Array> From(const Home& home, const HostView<const T, N>& values) {
    if (values.is_contiguous()) return Own(AnyArray::From(home, kDTypeOf<T>, values.shape(), values.data()));
    const HostArray<T, N> packed = HostArray<T, N>::From(values);
    return Own(AnyArray::From(home, kDTypeOf<T>, packed.shape(), packed.data()));
  }
  template <class Home>
  static absl::StatusOr<Array> From(const Home& home, const HostArray<T, N>& values) {
    return From(home, values.view());
  }
  template <class Home>
  static absl::StatusOr<Array> Empty(const Home& home, int64_t size) requires(N == 1) {
    return Empty(home, Shape{size});
  }
  template <class Home>
  static absl::StatusOr<Array> Zeros(const Home& home, int64_t size) requires(N == 1) {
    return Zeros(home, Shape{size});
  }
  // The same array with its types known. INVALID_ARGUMENT naming both sides if they differ.
  static absl::StatusOr<Array> FromAny(const AnyArray& array) { return Own(array); }

  const ArrayView<T, N>& view() const { return view_; }
  operator const ArrayView<T, N>&() const { return view_; }      // NOLINT(google-explicit-constructor)
  operator ArrayView<const T, N>() const { return view_; }       // NOLINT(google-explicit-constructor)
  operator AnyArrayView() const { return view_; }                // NOLINT(google-explicit-constructor)
  operator AnyArray() const { return AnyArray(view_, owner_); }  // NOLINT(google-explicit-constructor)
  // FAILED_PRECONDITION if it is a view with gaps or of another order.
  absl::StatusOr<ArrayView<T, N, Layout::kContiguous>> AsContiguous() const { return view_.AsContiguous(); }

  T* data() const { return view_.data(); }
  Shape shape() const { return view_.shape(); }
  int64_t shape(int dimension) const { return view_.shape(dimension); }
  Shape strides() const { return view_.strides(); }
  int64_t stride(int dimension) const { return view_.stride(dimension); }
  int64_t size() const { return view_.size(); }
  bool is_contiguous() const { return view_.is_contiguous(); }
  size_t bytes() const { return static_cast<size_t>(size()) * sizeof(T); }
  const Device& device() const { return owner_->device(); }
  const std::shared_ptr<const DeviceMemory>& memory() const { return owner_; }

  // As AnyArray's.
  absl::StatusOr<Array> Contiguous(const Stream& stream) const { return Own(AnyArray(*this).Contiguous(stream)); }
  absl::Status CopyTo(T* host) const { return AnyArray(*this).CopyTo(host); }
  absl::Status CopyTo(T* host, const Stream& stream) const { return AnyArray(*this).CopyTo(host, stream); }
  absl::Status CopyFrom(absl::Span<const T> values) const {
    if (absl::Status status = CheckCount(values.size(), shape()); !status.ok()) return status;
    return AnyArray(*this).CopyFrom(values.data());
  }
  absl::Status CopyFrom(absl::Span<const T> values, const Stream& stream) const {
    if (absl::Status status = CheckCount(values.size(), shape()); !status.ok()) return status;
    return AnyArray(*this).CopyFrom(values.data(), stream);
  }
  absl::Status CopyTo(const Array& to, const Stream& stream) const { return AnyArray(*this).CopyTo(to, stream); }
  absl::StatusOr<Array> To(const Device& device, const Stream& stream) const {
    return Own(AnyArray(*this).To(device, stream));
  }
  absl::StatusOr<Array> To(const Device& device) const { return Own(AnyArray(*this).To(device)); }
  absl::StatusOr<std::vector<T>> ToVector() const { return AnyArray(*this).template ToVector<T>(); }
  // A row-major copy on the host, to be indexed there.
  absl::StatusOr<HostArray<T, N>> ToHost() const {
    if (absl::Status status = internal::CheckHostRoom(view_); !status.ok()) return status;
    HostArray<T, N> host(shape());
    if (absl::Status status = AnyArray(*this).CopyTo(host.data()); !status.ok()) return status;
    return host;
  }
  absl::Status RecordUse(const Stream& stream) const { return owner_->RecordUse(stream); }

 private:
  template <Element U, int M>
  friend class Array;
  friend class internal::ViewsOfView<Array>;
  Array(const ArrayView<T, N>& view, std::shared_ptr<const DeviceMemory> owner)
      : view_(view), owner_(std::move(owner)) {}
  static absl::StatusOr<Array> Own(const absl::StatusOr<AnyArray>& array) {
    if (!array.ok()) return array.status();
    absl::StatusOr<ArrayView<T, N>> view = array->view().template As<T, N>();
    if (!view.ok()) return view.status();
    return Array(*view, array->owner_);
  }
  template <int M>
  absl::StatusOr<Array<T, M>> Rebound(const absl::StatusOr<AnyArrayView>& view) const {
    if (!view.ok()) return view.status();
    absl::StatusOr<ArrayView<T, M>> typed = view->template As<T, M>();
    if (!typed.ok()) return typed.status();
    return Array<T, M>(*typed, owner_);
  }
  static absl::Status CheckCount(size_t values, const Shape& shape);

  ArrayView<T, N> view_;
  std::shared_ptr<const DeviceMemory> owner_;  // Never null.
};

namespace internal {
absl::Status WrongCount(size_t values, absl::Span<const int64_t> shape);
}  // namespace internal

template <Element T, int N>
absl::Status Array<T, N>::CheckCount(size_t values, const Shape& shape) {
  if (ElementCount(N, shape.data()) == static_cast<int64_t>(values)) return absl::OkStatus();
  return internal::WrongCount(values, shape);
}

}  // namespace slipway

#endif  // SLIPWAY_ARRAY_H_
