#include "slipway/array.h"

#include <new>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "driver/as_absl.h"
#include "driver/status_macros.h"
#include "launch/byte_range.h"
#include "launch/view_layout.h"
#include "slipway/graph.h"

namespace slipway {
namespace {

using internal::ShapeText;

absl::Status CheckShape(DType dtype, absl::Span<const int64_t> shape) {
  if (dtype == DType::kVoid || static_cast<int>(dtype) >= kNumDTypes) {
    const std::string which = dtype == DType::kVoid ? "void" : absl::StrCat("#", static_cast<int>(dtype));
    return absl::InvalidArgumentError(
        absl::StrCat("array: dtype ", which, " has no elements; give the dtype of an element"));
  }
  if (shape.size() > kMaxRank) {
    return absl::InvalidArgumentError(absl::StrCat(
        "array: ", shape.size(), " dimensions were given; an array has at most ", kMaxRank, ", so merge some"));
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 0) {
      return absl::InvalidArgumentError(absl::StrCat("array: extent ", shape[d], " of dimension ", d, " in shape ",
                                                     ShapeText(shape), " is negative; extents are 0 or more"));
    }
  }
  return absl::OkStatus();
}

// Blocking copies and memsets run on the legacy stream. Created streams do not wait for that one, and a copy from
// pageable memory or a memset may still be on its way when the call returns.
absl::Status WaitForLegacyStream(const Device& device) {
  return DriverStatus(device.api(), device.api().StreamSynchronize(kStreamLegacy), "waiting for a new array's memory");
}

}  // namespace

int64_t ElementCount(int rank, const int64_t* shape) {
  int64_t count = 1;
  bool overflow = false;
  for (int d = 0; d < rank; ++d) {
    if (shape[d] == 0) return 0;  // Also after an overflow: nothing times anything is nothing.
    overflow = overflow || __builtin_mul_overflow(count, shape[d], &count);
  }
  return overflow ? INT64_MAX : count;
}

void RowMajorStrides(int rank, const int64_t* shape, int64_t* strides) {
  int64_t stride = 1;
  for (int d = rank - 1; d >= 0; --d) {
    strides[d] = stride;
    // An extent of 0 would make all further strides 0, which would read as a broadcast.
    if (shape[d] > 1 && __builtin_mul_overflow(stride, shape[d], &stride)) stride = INT64_MAX;
  }
}

std::string Describe(const AnyArrayView& view) {
  std::string text = absl::StrCat(AsAbsl(Name(view.dtype())), ShapeText(view.shape()));
  if ((view.facts() & facts::kContiguous) == 0) absl::StrAppend(&text, " strides ", ShapeText(view.strides()));
  return text;
}

absl::StatusOr<AnyArrayView> AnyArrayView::Make(const Device& device, DType dtype, void* data,
                                                absl::Span<const int64_t> shape, absl::Span<const int64_t> strides,
                                                bool read_only) {
  SLIPWAY_RETURN_IF_ERROR(CheckShape(dtype, shape));
  if (strides.size() != shape.size()) {
    return absl::InvalidArgumentError(absl::StrCat("array: ", strides.size(), " strides were given for ", shape.size(),
                                                   " dimensions; give one a dimension, in elements"));
  }
  const int rank = static_cast<int>(shape.size());
  AnyArrayView view(data, ComputeFacts(dtype, rank, shape.data(), strides.data(), data, read_only, device.id()));
  std::copy(shape.begin(), shape.end(), view.dims_);
  std::copy(strides.begin(), strides.end(), view.dims_ + rank);
  return view;
}

absl::StatusOr<AnyArrayView> AnyArrayView::Make(const Device& device, DType dtype, void* data,
                                                absl::Span<const int64_t> shape, bool read_only) {
  SLIPWAY_RETURN_IF_ERROR(CheckShape(dtype, shape));
  int64_t strides[kMaxRank];
  RowMajorStrides(static_cast<int>(shape.size()), shape.data(), strides);
  return Make(device, dtype, data, shape, absl::MakeConstSpan(strides, shape.size()), read_only);
}

absl::Status AnyArrayView::CheckAs(DType dtype, int rank, Layout layout, bool read_only) const {
  if (dtype != this->dtype() || rank != this->rank()) {
    return absl::InvalidArgumentError(absl::StrCat("array: ", Describe(*this), " was taken for ", AsAbsl(Name(dtype)),
                                                   " of rank ", rank, "; ask for the types that it has"));
  }
  if (this->read_only() && !read_only) {
    return absl::InvalidArgumentError(absl::StrCat("array: ", Describe(*this),
                                                   " is a view of const elements and was "
                                                   "taken for a writable one; ask for ArrayView<const T, N>"));
  }
  if (layout == Layout::kContiguous && (facts_ & facts::kContiguous) == 0) return internal::NotContiguous(*this);
  return absl::OkStatus();
}

namespace {

absl::StatusOr<size_t> BytesOf(DType dtype, absl::Span<const int64_t> shape) {
  SLIPWAY_RETURN_IF_ERROR(CheckShape(dtype, shape));
  int64_t bytes;
  const int64_t count = ElementCount(static_cast<int>(shape.size()), shape.data());
  if (count == INT64_MAX || __builtin_mul_overflow(count, static_cast<int64_t>(SizeOf(dtype)), &bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("array: shape ", ShapeText(shape), " of ", AsAbsl(Name(dtype)),
                                                   " is more bytes than a 64-bit size counts; no device holds that"));
  }
  return static_cast<size_t>(bytes);
}

}  // namespace

absl::StatusOr<AnyArray> AnyArray::In(DeviceMemory memory, DType dtype, absl::Span<const int64_t> shape) {
  auto owner = std::make_shared<const DeviceMemory>(std::move(memory));
  SLIPWAY_ASSIGN_OR_RETURN(
      AnyArrayView view, AnyArrayView::Make(owner->device(), dtype, reinterpret_cast<void*>(owner->address()), shape));
  return AnyArray(view, std::move(owner));
}

absl::StatusOr<AnyArray> AnyArray::Empty(const Device& device, DType dtype, absl::Span<const int64_t> shape) {
  SLIPWAY_ASSIGN_OR_RETURN(const size_t bytes, BytesOf(dtype, shape));
  SLIPWAY_ASSIGN_OR_RETURN(DeviceMemory memory, DeviceMemory::Allocate(device, bytes));
  return In(std::move(memory), dtype, shape);
}

absl::StatusOr<AnyArray> AnyArray::Empty(const Stream& stream, DType dtype, absl::Span<const int64_t> shape) {
  SLIPWAY_ASSIGN_OR_RETURN(const size_t bytes, BytesOf(dtype, shape));
  SLIPWAY_ASSIGN_OR_RETURN(DeviceMemory memory, DeviceMemory::Allocate(stream, bytes));
  return In(std::move(memory), dtype, shape);
}

absl::StatusOr<AnyArray> AnyArray::Zeros(const Device& device, DType dtype, absl::Span<const int64_t> shape) {
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray array, Empty(device, dtype, shape));
  if (array.bytes() == 0) return array;
  const ScopedContext context(*device.state());
  SLIPWAY_RETURN_IF_ERROR(context.status());
  const DriverApi& api = device.api();
  const internal::RelaxedCapture relaxed(api);  // As for copies from the host: done at once, also in a capture.
  SLIPWAY_RETURN_IF_ERROR(
      DriverStatus(api, api.MemsetD8(array.owner_->address(), 0, array.bytes()), "filling a new array with zeros"));
  SLIPWAY_RETURN_IF_ERROR(WaitForLegacyStream(device));
  return array;
}

absl::StatusOr<AnyArray> AnyArray::Zeros(const Stream& stream, DType dtype, absl::Span<const int64_t> shape) {
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray array, Empty(stream, dtype, shape));
  SLIPWAY_RETURN_IF_ERROR(array.owner_->QueueZeros(stream, array.bytes()));
  return array;
}

absl::StatusOr<AnyArray> AnyArray::From(const Device& device, DType dtype, absl::Span<const int64_t> shape,
                                        const void* host) {
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray array, Empty(device, dtype, shape));
  SLIPWAY_RETURN_IF_ERROR(array.owner_->CopyFromHost(host, array.bytes()));
  return array;
}

absl::StatusOr<AnyArray> AnyArray::From(const Stream& stream, DType dtype, absl::Span<const int64_t> shape,
                                        const void* host) {
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray array, Empty(stream, dtype, shape));
  SLIPWAY_RETURN_IF_ERROR(array.owner_->QueueFromHost(stream, host, array.bytes()));
  return array;
}

absl::StatusOr<AnyArray> AnyArray::Over(std::shared_ptr<const DeviceMemory> memory, DType dtype,
                                        absl::Span<const int64_t> shape, const std::string& what) {
  SLIPWAY_RETURN_IF_ERROR(CheckShape(dtype, shape));
  const int64_t count = ElementCount(static_cast<int>(shape.size()), shape.data());
  int64_t bytes = 0;
  if (__builtin_mul_overflow(count, static_cast<int64_t>(SizeOf(dtype)), &bytes) ||
      static_cast<uint64_t>(bytes) != memory->bytes()) {
    return absl::InvalidArgumentError(absl::StrCat(what, " has ", memory->bytes(), " bytes, and ", AsAbsl(Name(dtype)),
                                                   ShapeText(shape), " takes ", bytes));
  }
  if (memory->address() % AlignOf(dtype) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(what, " lies at an address that is no multiple of ", AlignOf(dtype),
                                                   ", which ", AsAbsl(Name(dtype)), " wants"));
  }
  SLIPWAY_ASSIGN_OR_RETURN(AnyArrayView view, AnyArrayView::Make(memory->device(), dtype,
                                                                 reinterpret_cast<void*>(memory->address()), shape));
  return AnyArray(view, std::move(memory));
}

absl::StatusOr<AnyArray> AnyArray::Over(std::shared_ptr<const DeviceMemory> memory, const AnyArrayView& view,
                                        const std::string& what) {
  if (facts::DeviceOf(view.facts()) != memory->device().id()) {
    return absl::InvalidArgumentError(absl::StrCat(what, " is of ", memory->device().Describe(), ", and ",
                                                   Describe(view), " is a view of another device"));
  }
  const internal::AddressRange range = internal::BytesTouched(view);
  if (!range.empty && (range.first < memory->address() || range.last >= memory->address() + memory->bytes())) {
    return absl::OutOfRangeError(absl::StrCat(what, " has ", memory->bytes(), " bytes from address ", memory->address(),
                                              " on, and ", Describe(view), " at ", view.Address(), " reaches outside"));
  }
  return AnyArray(view, std::move(memory));
}

size_t AnyArray::Offset() const { return view_.Address() - owner_->address(); }

absl::StatusOr<AnyArray> AnyArray::Contiguous(const Stream& stream) const {
  if (is_contiguous()) return *this;
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray packed, Empty(stream, dtype(), shape()));
  SLIPWAY_RETURN_IF_ERROR(Copy(stream, packed.view_, view_));
  SLIPWAY_RETURN_IF_ERROR(RecordUse(stream));
  return packed;
}

absl::Status AnyArray::CopyTo(void* host) const {
  SLIPWAY_RETURN_IF_ERROR(device().Synchronize());
  if (is_contiguous()) return owner_->CopyToHost(host, bytes(), bytes() == 0 ? 0 : Offset());
  return CopyTo(host, device().DefaultStream());
}

absl::Status AnyArray::CopyTo(void* host, const Stream& stream) const {
  if (is_contiguous() && owner_->home() != nullptr && owner_->home() != stream.handle()) {
    // On the stream that was given: the memory's own may have been given more since, which is not waited for.
    SLIPWAY_RETURN_IF_ERROR(owner_->QueueToHost(stream, host, bytes(), bytes() == 0 ? 0 : Offset()));
    return stream.Synchronize();
  }
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray packed, Contiguous(stream));
  SLIPWAY_RETURN_IF_ERROR(stream.Synchronize());
  return packed.owner_->CopyToHost(host, bytes(), bytes() == 0 ? 0 : packed.Offset());
}

absl::Status AnyArray::CopyFrom(const void* host) const {
  SLIPWAY_RETURN_IF_ERROR(device().Synchronize());
  if (is_contiguous()) return owner_->CopyFromHost(host, bytes(), bytes() == 0 ? 0 : Offset());
  const Stream stream = device().DefaultStream();
  SLIPWAY_RETURN_IF_ERROR(CopyFrom(host, stream));
  return stream.Synchronize();
}

absl::Status AnyArray::CopyFrom(const void* host, const Stream& stream) const {
  if (is_contiguous()) return owner_->QueueFromHost(stream, host, bytes(), bytes() == 0 ? 0 : Offset());
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray packed, From(stream, dtype(), shape(), host));
  SLIPWAY_RETURN_IF_ERROR(Copy(stream, view_, packed.view_));
  return RecordUse(stream);
}

absl::Status AnyArray::CopyTo(const AnyArray& to, const Stream& stream) const {
  if (dtype() != to.dtype() || shape() != to.shape()) {
    return absl::InvalidArgumentError(absl::StrCat("array: ", Describe(view_), " cannot be copied into ",
                                                   Describe(to.view_), "; give one of the same dtype and shape"));
  }
  if (is_contiguous() && to.is_contiguous()) {
    if (bytes() == 0) return owner_->CopyTo(*to.owner_, stream, 0);
    return owner_->CopyTo(*to.owner_, stream, bytes(), Offset(), to.Offset());
  }
  if (device() == to.device()) {
    SLIPWAY_RETURN_IF_ERROR(Copy(stream, to.view_, view_));
    SLIPWAY_RETURN_IF_ERROR(RecordUse(stream));
    return to.RecordUse(stream);
  }
  return CopyAcross(to, stream);
}

// Between devices only what is contiguous travels, so it is packed where it comes from and unpacked where it goes to,
// on the stream that was given and one of the other device that waits, or is waited for.
absl::Status AnyArray::CopyAcross(const AnyArray& to, const Stream& stream) const {
  const bool of_source = stream.device() == device();
  SLIPWAY_ASSIGN_OR_RETURN(const Stream other, (of_source ? to : *this).device().CreateStream());
  const Stream& source = of_source ? stream : other;
  const Stream& target = of_source ? other : stream;
  // What the given stream was given before comes first on either side.
  SLIPWAY_ASSIGN_OR_RETURN(const Event before, Event::Create(stream.device(), /*timing=*/false));
  SLIPWAY_RETURN_IF_ERROR(before.Record(stream));
  const bool one_driver = &device().api() == &to.device().api();
  SLIPWAY_RETURN_IF_ERROR(one_driver ? other.Wait(before) : before.Synchronize());
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray packed, Contiguous(source));
  SLIPWAY_RETURN_IF_ERROR(source.Synchronize());
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray arrived, packed.To(to.device(), target));
  SLIPWAY_RETURN_IF_ERROR(slipway::Copy(target, to.view_, arrived.view_));
  // The other stream ends here, and what it did has to be over for the given one.
  return target.Synchronize();
}

absl::StatusOr<AnyArray> AnyArray::To(const Device& device, const Stream& stream) const {
  const bool of_target = stream.device() == device;
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray copy,
                           of_target ? Empty(stream, dtype(), shape()) : Empty(device, dtype(), shape()));
  SLIPWAY_RETURN_IF_ERROR(CopyTo(copy, stream));
  return copy;
}

absl::StatusOr<AnyArray> AnyArray::To(const Device& device) const {
  SLIPWAY_RETURN_IF_ERROR(this->device().Synchronize());
  const Stream stream = device.DefaultStream();
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray copy, Empty(device, dtype(), shape()));
  SLIPWAY_RETURN_IF_ERROR(CopyTo(copy, stream));
  SLIPWAY_RETURN_IF_ERROR(stream.Synchronize());
  return copy;
}

absl::Status AnyArray::CheckDType(DType dtype) const {
  if (dtype == this->dtype()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("array: ", Describe(view_), " was read as ", AsAbsl(Name(dtype)),
                                                 "; ask for ToVector of its own element type"));
}

namespace internal {

absl::Status CheckHostRoom(const AnyArrayView& view) {
  constexpr int64_t kSmall = int64_t{64} << 20;  // Not worth the asking.
  int64_t bytes = 0;
  const bool counts = !__builtin_mul_overflow(view.size(), static_cast<int64_t>(SizeOf(view.dtype())), &bytes);
  if (counts && bytes <= kSmall) return absl::OkStatus();
  void* const room = counts ? ::operator new(static_cast<size_t>(bytes), std::nothrow) : nullptr;
  ::operator delete(room);
  if (room != nullptr) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("array: the host has no room for a copy of ", Describe(view), "; copy parts of it"));
}

AnyArrayView ViewFromWords(const int64_t* words, Facts word) {
  AnyArrayView view(reinterpret_cast<void*>(words[0]), word);
  if (facts::RankOf(word) <= kMaxRank) std::copy_n(words + 1, 2 * facts::RankOf(word), view.dims_);
  return view;
}

absl::Status NotContiguous(const AnyArrayView& view) {
  return absl::FailedPreconditionError(absl::StrCat("array: ", Describe(view),
                                                    " is not contiguous, and that was "
                                                    "asked for; copy it, or take the strided view"));
}

absl::Status WrongCount(size_t values, absl::Span<const int64_t> shape) {
  return absl::InvalidArgumentError(
      absl::StrCat("array: ", values, " values were given for shape ", ShapeText(shape), ", which has ",
                   ElementCount(static_cast<int>(shape.size()), shape.data()), "; give one value an element"));
}

}  // namespace internal
}  // namespace slipway
