#include "slipway/dlpack.h"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "driver/status_macros.h"
#include "launch/byte_range.h"
#include "launch/dlpack_abi.h"
#include "slipway/graph.h"
#include "slipway/host_memory.h"

namespace slipway {
namespace internal {
namespace {

struct TypeRow {
  DType dtype;
  uint8_t code, bits;
  char kind;  // Of NumPy's type strings; 0 where they have none.
};
constexpr TypeRow kTypes[] = {
    {DType::kBool, kDlpackBool, 8, 'b'},
    {DType::kInt8, kDlpackInt, 8, 'i'},
    {DType::kInt16, kDlpackInt, 16, 'i'},
    {DType::kInt32, kDlpackInt, 32, 'i'},
    {DType::kInt64, kDlpackInt, 64, 'i'},
    {DType::kUInt8, kDlpackUInt, 8, 'u'},
    {DType::kUInt16, kDlpackUInt, 16, 'u'},
    {DType::kUInt32, kDlpackUInt, 32, 'u'},
    {DType::kUInt64, kDlpackUInt, 64, 'u'},
    {DType::kFloat16, kDlpackFloat, 16, 'f'},
    {DType::kBFloat16, kDlpackBfloat, 16, 0},
    {DType::kFloat32, kDlpackFloat, 32, 'f'},
    {DType::kFloat64, kDlpackFloat, 64, 'f'},
    {DType::kComplex64, kDlpackComplex, 64, 'c'},
    {DType::kComplex128, kDlpackComplex, 128, 'c'},
};

const TypeRow& RowOf(DType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) return row;
  }
  return kTypes[0];  // An array has one of them.
}

DType DTypeOf(const DlpackTensor& tensor) {
  if (tensor.dtype_lanes != 1) return DType::kVoid;
  for (const TypeRow& row : kTypes) {
    if (row.code == tensor.dtype_code && row.bits == tensor.dtype_bits) return row.dtype;
  }
  return DType::kVoid;
}

template <class... Parts>
absl::Status Refused(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("DLPack: ", parts...));
}

// What `later` is given from here on comes after what `earlier` was given so far; both are of one driver.
absl::Status PutAfter(const Stream& later, const Stream& earlier) {
  SLIPWAY_ASSIGN_OR_RETURN(const Event event, Event::Create(earlier.device(), /*timing=*/false));
  SLIPWAY_RETURN_IF_ERROR(event.Record(earlier));
  return later.Wait(event);
}

bool IsDriver(const Device& device, std::string_view name) { return device.api().name == name; }
bool IsHostLike(const Device& device) { return device.is_cpu() || IsDriver(device, "host"); }

absl::Status CheckReach(const Device& device, int32_t type, int32_t id) {
  if (IsHostLike(device)) {
    if (type == kDlpackCpu || type == kDlpackCudaHost) return absl::OkStatus();
    return Refused("the tensor's device_type is ", type, ", and ", device.Describe(),
                   " reaches host memory (1, 3) only; open the tensor's own device");
  }
  if (type == kDlpackCuda || type == kDlpackCudaManaged) {
    if (id == device.state()->ordinal) return absl::OkStatus();
    return Refused("the tensor is of device ", id, ", and was given for ", device.Describe(),
                   "; open the tensor's own device");
  }
  if (type == kDlpackCudaHost) return absl::OkStatus();
  if (type == kDlpackCpu) {
    return Refused("the tensor is in host memory, which ", device.Describe(),
                   " does not reach; copy it (Array::From), or open the CPU device");
  }
  return Refused("the tensor's device_type is ", type,
                 "; Slipway takes CUDA (2), pinned (3) and managed memory (13) on a "
                 "GPU, and host memory (1, 3) on the CPU device");
}

// Calls the deleter when the last array goes: after what the device was given, since whoever owns the memory may give
// it to others at once.
template <class Managed, class Native>
struct Taken {
  Taken(Device on, Native* tensor) : device(std::move(on)), managed(tensor) {}
  ~Taken() {
    {
      const ScopedContext current(*device.state());
      const RelaxedCapture relaxed(device.api());
      if (current.ok()) static_cast<void>(device.api().CtxSynchronize());
    }
    registered.reset();
    auto* const own = reinterpret_cast<Managed*>(managed);
    if (own->deleter != nullptr) own->deleter(managed);
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

  const Device device;
  Native* managed;
  std::shared_ptr<const void> registered;  // Of the CPU device.
};

// Memory for all that a view touches, kept by `owner`.
absl::StatusOr<std::shared_ptr<const DeviceMemory>> MemoryOf(const Device& device, const AnyArrayView& view,
                                                             std::shared_ptr<const void> owner) {
  const AddressRange range = BytesTouched(view);
  const CUdeviceptr first = range.empty ? 0 : range.first;
  const size_t bytes = range.empty ? 0 : range.last - range.first + 1;
  // Of nothing the owner is kept as well: it has to be told when it may go.
  SLIPWAY_ASSIGN_OR_RETURN(DeviceMemory memory, DeviceMemory::Adopt(device, first, bytes, owner));
  auto shared =
      std::make_shared<std::pair<std::shared_ptr<const void>, DeviceMemory>>(std::move(owner), std::move(memory));
  return std::shared_ptr<const DeviceMemory>(shared, &shared->second);
}

template <class Managed, class Native>
absl::StatusOr<AnyArray> Take(const Device& device, Native* tensor, bool read_only) {
  const auto& own = *reinterpret_cast<const Managed*>(tensor);
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView view, ViewOfDlpackTensor(device, own.tensor, read_only));
  const AddressRange range = BytesTouched(view);
  std::shared_ptr<const void> registered;
  // Memory of the arena, exported before, is known already.
  if (device.is_cpu() && !range.empty && OwnerOf(range.first) == nullptr) {
    SLIPWAY_ASSIGN_OR_RETURN(const HostMemory memory, HostMemory::Register(device, reinterpret_cast<void*>(range.first),
                                                                           range.last - range.first + 1));
    registered = memory.owner();
  }
  // Everything that may fail comes first: from here on the deleter would be called.
  auto taken = std::make_shared<Taken<Managed, Native>>(device, tensor);
  taken->registered = std::move(registered);
  SLIPWAY_ASSIGN_OR_RETURN(std::shared_ptr<const DeviceMemory> memory, MemoryOf(device, view, std::move(taken)));
  return AnyArray::Over(std::move(memory), view, "DLPack tensor");
}

// What an exported tensor refers to.
template <class Managed>
struct Exported {
  explicit Exported(const AnyArray& from) : array(from) {}
  Managed managed = {};
  AnyArray array;
  int64_t shape[kMaxRank];
  int64_t strides[kMaxRank];
};

template <class Managed, class Native>
absl::StatusOr<Native*> Give(const AnyArray& array) {
  SLIPWAY_ASSIGN_OR_RETURN(const DlpackDevice device, DlpackDeviceOf(array.device()));
  auto exported = std::make_unique<Exported<Managed>>(array);
  std::copy(array.shape().begin(), array.shape().end(), exported->shape);
  std::copy(array.strides().begin(), array.strides().end(), exported->strides);
  const TypeRow& row = RowOf(array.dtype());
  exported->managed.tensor = {.data = array.data(),
                              .device_type = device.type,
                              .device_id = device.id,
                              .ndim = array.rank(),
                              .dtype_code = row.code,
                              .dtype_bits = row.bits,
                              .dtype_lanes = 1,
                              .shape = exported->shape,
                              .strides = exported->strides,
                              .byte_offset = 0};
  exported->managed.context = exported.get();
  exported->managed.deleter = [](Native* self) {
    delete static_cast<Exported<Managed>*>(reinterpret_cast<Managed*>(self)->context);
  };
  array.memory()->RecordUseAnywhere();
  return reinterpret_cast<Native*>(&exported.release()->managed);
}

}  // namespace

absl::StatusOr<AnyArrayView> ViewOfDlpackTensor(const Device& device, const DlpackTensor& tensor, bool read_only) {
  const DType dtype = DTypeOf(tensor);
  if (dtype == DType::kVoid) [[unlikely]] {
    return Refused("the tensor's dtype has code ", static_cast<int>(tensor.dtype_code), ", ",
                   static_cast<int>(tensor.dtype_bits), " bits and ", tensor.dtype_lanes,
                   tensor.dtype_lanes == 1 ? " lane" : " lanes", "; Slipway has no such element type");
  }
  if (tensor.ndim < 0 || tensor.ndim > kMaxRank) [[unlikely]] {
    return Refused("the tensor's ndim is ", tensor.ndim, "; arrays have 0 to ", kMaxRank, " dimensions");
  }
  if (tensor.ndim > 0 && tensor.shape == nullptr) [[unlikely]] {
    return Refused("the tensor's shape is null and its ndim is ", tensor.ndim);
  }
  SLIPWAY_RETURN_IF_ERROR(CheckReach(device, tensor.device_type, tensor.device_id));
  const auto rank = static_cast<size_t>(tensor.ndim);
  void* const data = tensor.data == nullptr ? nullptr : static_cast<char*>(tensor.data) + tensor.byte_offset;
  const absl::Span<const int64_t> shape = absl::MakeConstSpan(tensor.shape, rank);
  SLIPWAY_ASSIGN_OR_RETURN(
      const AnyArrayView view,
      tensor.strides == nullptr
          ? AnyArrayView::Make(device, dtype, data, shape, read_only)
          : AnyArrayView::Make(device, dtype, data, shape, absl::MakeConstSpan(tensor.strides, rank), read_only));
  if ((view.facts() & facts::kNegative) != 0) [[unlikely]] {
    return Refused("the tensor's shape, ", Describe(view), ", is more elements than 63 bits count");
  }
  if ((view.facts() & facts::kValid) == 0) [[unlikely]] {
    if (data == nullptr) return Refused("the tensor's data is null, and ", Describe(view), " has elements");
    return Refused("the tensor's data and byte_offset make an address that is no multiple of ", AlignOf(dtype),
                   ", which ", AsAbsl(Name(dtype)), " wants");
  }
  return view;
}

}  // namespace internal

using internal::Refused;

absl::StatusOr<DlpackDevice> DlpackDeviceOf(const Device& device) {
  if (internal::IsHostLike(device)) return DlpackDevice{internal::kDlpackCpu, 0};
  if (internal::IsDriver(device, "cuda")) return DlpackDevice{internal::kDlpackCuda, device.state()->ordinal};
  return Refused("memory of ", device.Describe(), " cannot be reached by others");
}

absl::StatusOr<AnyArray> FromDLPack(const Device& device, DLManagedTensor* tensor) {
  if (tensor == nullptr) return Refused("the tensor is null");
  return internal::Take<internal::DlpackManaged>(device, tensor, /*read_only=*/false);
}

absl::StatusOr<AnyArray> FromDLPack(const Device& device, DLManagedTensorVersioned* tensor) {
  if (tensor == nullptr) return Refused("the tensor is null");
  const auto& own = *reinterpret_cast<const internal::DlpackManagedVersioned*>(tensor);
  if (own.major != internal::kDlpackMajor) {
    return Refused("the tensor is of DLPack ", own.major, ".", own.minor, "; Slipway takes version ",
                   internal::kDlpackMajor, ", and unversioned ones");
  }
  if ((own.flags & internal::kDlpackSubbytePadded) != 0) return Refused("the tensor's elements are padded sub-bytes");
  return internal::Take<internal::DlpackManagedVersioned>(device, tensor, (own.flags & internal::kDlpackReadOnly) != 0);
}

absl::StatusOr<DLManagedTensor*> ToDLPack(const AnyArray& array) {
  if (array.view().read_only()) {
    return Refused(Describe(array.view()),
                   " is a view of const elements, which an unversioned tensor cannot say; use "
                   "ToDLPackVersioned");
  }
  return internal::Give<internal::DlpackManaged, DLManagedTensor>(array);
}

absl::StatusOr<DLManagedTensorVersioned*> ToDLPackVersioned(const AnyArray& array) {
  using internal::DlpackManagedVersioned;
  SLIPWAY_ASSIGN_OR_RETURN(DLManagedTensorVersioned * tensor,
                           (internal::Give<DlpackManagedVersioned, DLManagedTensorVersioned>(array)));
  auto& own = *reinterpret_cast<DlpackManagedVersioned*>(tensor);
  own.major = internal::kDlpackMajor, own.minor = internal::kDlpackMinor;
  own.flags = array.view().read_only() ? internal::kDlpackReadOnly : 0;
  return tensor;
}

absl::Status WaitFor(const Stream& producer, int64_t consumer) {
  SLIPWAY_RETURN_IF_ERROR(producer.CheckUsable());
  if (consumer == -1) return absl::OkStatus();
  if (consumer < -1) return Refused("the consumer's stream is ", consumer, ", which no stream is");
  const Device& device = producer.device();
  if (internal::IsHostLike(device)) return producer.Synchronize();
  if (consumer == 0) {
    return Refused("the consumer's stream is 0, which may mean two; give 1 (legacy default) or 2 (of the thread)");
  }
  return internal::PutAfter(Stream::Foreign(device, reinterpret_cast<CUstream>(consumer)), producer);
}

namespace {

template <class... Parts>
absl::Status RefusedInterface(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("cuda array interface: ", parts...));
}

DType DTypeOfTypestr(std::string_view text) {
  // '|' is for types of one byte, where order says nothing.
  if (text.size() < 3 || (text[0] != '<' && text[0] != '|' && text[0] != '=')) return DType::kVoid;
  int bytes = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data() + 2, end, bytes);
  if (error != std::errc() || read != end) return DType::kVoid;
  for (const internal::TypeRow& row : internal::kTypes) {
    if (row.kind == text[1] && row.bits == 8 * bytes && (text[0] != '|' || bytes == 1)) return row.dtype;
  }
  return DType::kVoid;
}

}  // namespace

absl::StatusOr<AnyArray> FromCudaArrayInterface(const Device& device, const CudaArrayInterface& array,
                                                std::shared_ptr<const void> owner, const Stream* wait) {
  if (array.version != 2 && array.version != 3) {
    return RefusedInterface("version is ", array.version, "; Slipway takes 2 and 3");
  }
  const std::string_view typestr = array.typestr == nullptr ? "" : array.typestr;
  const DType dtype = DTypeOfTypestr(typestr);
  if (dtype == DType::kVoid) {
    return RefusedInterface("typestr is '", AsAbsl(typestr), "'; Slipway takes little-endian b1, i, u, f and c types");
  }
  if (array.ndim < 0 || array.ndim > kMaxRank) {
    return RefusedInterface("shape has ", array.ndim, " dimensions; arrays have 0 to ", kMaxRank);
  }
  if (array.ndim > 0 && array.shape == nullptr) {
    return RefusedInterface("shape is null and ndim is ", array.ndim);
  }
  if (array.stream == 0 || array.stream < -1) {
    return RefusedInterface("stream is ", array.stream, ", which the protocol forbids");
  }
  const auto size = static_cast<int64_t>(SizeOf(dtype));
  const auto rank = static_cast<size_t>(array.ndim);
  int64_t strides[kMaxRank];
  for (size_t d = 0; d < rank && array.strides != nullptr; ++d) {
    if (array.strides[d] % size != 0 && array.shape[d] > 1) {
      return RefusedInterface("the stride of dimension ", d, " is ", array.strides[d],
                              " bytes, which is no multiple of the ", size, " bytes of an element of '",
                              AsAbsl(typestr), "'; copy it");
    }
    strides[d] = array.strides[d] / size;
  }
  auto* const data = reinterpret_cast<void*>(array.data);
  const absl::Span<const int64_t> shape = absl::MakeConstSpan(array.shape, rank);
  SLIPWAY_ASSIGN_OR_RETURN(
      const AnyArrayView view,
      array.strides == nullptr
          ? AnyArrayView::Make(device, dtype, data, shape, array.read_only)
          : AnyArrayView::Make(device, dtype, data, shape, absl::MakeConstSpan(strides, rank), array.read_only));
  if ((view.facts() & facts::kValid) == 0) {
    return RefusedInterface("data is ", array.data, ", and ", Describe(view),
                            " has elements there: give an address that is a multiple of ", AlignOf(dtype));
  }
  if (wait != nullptr && array.stream != -1) {
    const Stream stream = Stream::Foreign(device, reinterpret_cast<CUstream>(array.stream));
    SLIPWAY_RETURN_IF_ERROR(internal::PutAfter(*wait, stream));
  }
  SLIPWAY_ASSIGN_OR_RETURN(std::shared_ptr<const DeviceMemory> memory,
                           internal::MemoryOf(device, view, std::move(owner)));
  return AnyArray::Over(std::move(memory), view, "cuda array interface");
}

absl::StatusOr<std::unique_ptr<ExportedCudaArray>> ToCudaArrayInterface(const AnyArray& array, const Stream* stream) {
  const internal::TypeRow& row = internal::RowOf(array.dtype());
  if (row.kind == 0) {
    return RefusedInterface("NumPy's type strings have no ", AsAbsl(Name(array.dtype())), "; use DLPack");
  }
  auto exported = std::make_unique<ExportedCudaArray>();
  const int bytes = row.bits / 8;
  std::snprintf(exported->typestr, sizeof(exported->typestr), "%c%c%d", bytes == 1 ? '|' : '<', row.kind, bytes);
  for (size_t d = 0; d < array.shape().size(); ++d) {
    exported->shape[d] = array.shape()[d];
    exported->strides[d] = array.strides()[d] * bytes;
  }
  array.memory()->RecordUseAnywhere();
  exported->array = {
      .data = array.size() == 0 ? 0 : array.view().Address(),
      .read_only = array.view().read_only(),
      .typestr = exported->typestr,
      .ndim = array.rank(),
      .shape = exported->shape,
      .strides = array.is_contiguous() ? nullptr : exported->strides,
      .stream = stream == nullptr ? -1 : static_cast<int64_t>(reinterpret_cast<intptr_t>(stream->handle()))};
  return exported;
}

}  // namespace slipway
