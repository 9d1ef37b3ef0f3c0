// Arrays from and to other libraries of the process, without a copy: DLPack (NumPy, PyTorch, JAX, CuPy and others) and
// structs in the manner of __cuda_array_interface__ (Numba, CuPy).
//
//   AnyArray x = FromDLPack(device, managed).value();          // takes it over: its deleter is called with x's last
//   copy AnyArrayView v = ViewOfDLPack(device, tensor).value();     // of a DLTensor that somebody else keeps
//   DLManagedTensorVersioned* out = ToDLPackVersioned(x).value();
//
// The structs are DLPack's own (dlpack.h of any version, of which nothing has to be installed): the unversioned
// DLManagedTensor, and DLManagedTensorVersioned of DLPack 1.x. Which memory is of which device:
//   kDLCUDA, kDLCUDAManaged, kDLCUDAHost   a GPU's, of the ordinal that the tensor says (pinned memory: any GPU's)
//   kDLCPU, kDLCUDAHost                    the CPU device's, and the host driver's. On the CPU device an import
//   registers
//                                          host memory (host_memory.h), so that it is checked and copied like its own.
// Host memory for a GPU is refused: copy it with Array::From.
//
// Order: DLPack leaves it to its users. Before somebody else works on an exported array, their stream has to wait for
// the work on it (WaitFor below is that for a stream as Python's __dlpack__(stream=...) names it); an imported one is
// ready on the stream that was asked for there. Exported memory of a stream is freed once the device has nothing left
// to do, for who took it does not say when they are done.
#ifndef SLIPWAY_DLPACK_H_
#define SLIPWAY_DLPACK_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/stream.h"
#include "slipway/view.h"

struct DLManagedTensor;           // dlpack/dlpack.h.
struct DLManagedTensorVersioned;  // dlpack/dlpack.h, 1.0 and newer.

namespace slipway {

namespace internal {
// The fields of a DLTensor, which is a struct without a name that could be declared here.
struct DlpackTensor {
  void* data;
  int32_t device_type;
  int32_t device_id;
  int32_t ndim;
  uint8_t dtype_code;
  uint8_t dtype_bits;
  uint16_t dtype_lanes;
  const int64_t* shape;
  const int64_t* strides;  // In elements; null for row-major.
  uint64_t byte_offset;
};
absl::StatusOr<AnyArrayView> ViewOfDlpackTensor(const Device& device, const DlpackTensor& tensor, bool read_only);
}  // namespace internal

// The array that a tensor describes, of which the result takes the ownership: the deleter is called when the last array
// that shares it goes, once the device has finished what it was given. On an error the tensor stays the caller's.
// INVALID_ARGUMENT, naming the field, for: a null pointer, a major version that is not 1, a dtype that Slipway has not
// (lanes, odd widths, float8, sub-byte types), a rank past 8, a negative extent, a device whose memory `device` cannot
// reach, elements that are not aligned. Read-only tensors (1.x) become views of const elements. Thread-safe.
absl::StatusOr<AnyArray> FromDLPack(const Device& device, DLManagedTensor* tensor);
absl::StatusOr<AnyArray> FromDLPack(const Device& device, DLManagedTensorVersioned* tensor);

// A view of a DLTensor (of any dlpack.h), whose memory somebody else keeps. Costs no allocation and no call of the
// driver. Errors as FromDLPack's.
template <class Tensor>
absl::StatusOr<AnyArrayView> ViewOfDLPack(const Device& device, const Tensor& tensor, bool read_only = false) {
  static_assert(sizeof(Tensor) == sizeof(internal::DlpackTensor) && offsetof(Tensor, data) == 0 &&
                    offsetof(Tensor, byte_offset) == offsetof(internal::DlpackTensor, byte_offset),
                "ViewOfDLPack takes a DLTensor");
  return internal::ViewOfDlpackTensor(device,
                                      {.data = tensor.data,
                                       .device_type = static_cast<int32_t>(tensor.device.device_type),
                                       .device_id = static_cast<int32_t>(tensor.device.device_id),
                                       .ndim = tensor.ndim,
                                       .dtype_code = tensor.dtype.code,
                                       .dtype_bits = tensor.dtype.bits,
                                       .dtype_lanes = tensor.dtype.lanes,
                                       .shape = tensor.shape,
                                       .strides = tensor.strides,
                                       .byte_offset = tensor.byte_offset},
                                      read_only);
}

// The array for others: its memory stays until they call the deleter, which they may on any thread. The unversioned
// form cannot say that elements are const: INVALID_ARGUMENT then. INVALID_ARGUMENT also for memory that nobody else can
// reach (of a null driver).
absl::StatusOr<DLManagedTensor*> ToDLPack(const AnyArray& array);
absl::StatusOr<DLManagedTensorVersioned*> ToDLPackVersioned(const AnyArray& array);

// The pair that __dlpack_device__ returns: DLDeviceType and ordinal. Errors as ToDLPack's.
struct DlpackDevice {
  int32_t type;
  int32_t id;
};
absl::StatusOr<DlpackDevice> DlpackDeviceOf(const Device& device);

// Makes the work that a consumer queues from now on wait for what `producer` was given so far. `consumer` is the number
// that Python's array API gives __dlpack__(stream=...), for CUDA: 1 the legacy default stream, 2 the default stream of
// the thread, -1 none that has to wait, else a CUstream. INVALID_ARGUMENT for 0, which the protocol forbids as
// ambiguous. On the CPU device and the host driver, whose consumers have no streams: waits for `producer` on the host,
// unless -1.
absl::Status WaitFor(const Stream& producer, int64_t consumer);

// What a dict of __cuda_array_interface__ version 3 says, as plain data. Pointers refer to memory of the caller's.
struct CudaArrayInterface {
  uint64_t data = 0;  // Device address; may be 0 for an array without elements.
  bool read_only = false;
  const char* typestr = "";  // "<f4": byte order, kind, bytes.
  int ndim = 0;
  const int64_t* shape = nullptr;
  const int64_t* strides = nullptr;  // In bytes; null for row-major.
  // As for WaitFor: 0 is forbidden, 1 legacy, 2 per thread, else a CUstream; -1 (None): nothing to wait for.
  int64_t stream = -1;
  int version = 3;
};

// The array that such a struct describes, kept as long as `owner` is shared (null: as long as it is needed). Where
// `wait` is given, it waits for the struct's stream. INVALID_ARGUMENT, naming the field and the dimension, for what
// FromDLPack refuses, big-endian or structured types, strides that are no multiple of the element's size, a version
// other than 2 or 3, and a stream of 0.
absl::StatusOr<AnyArray> FromCudaArrayInterface(const Device& device, const CudaArrayInterface& array,
                                                std::shared_ptr<const void> owner, const Stream* wait = nullptr);

// The struct of an array, with what it refers to. The array has to be kept meanwhile.
struct ExportedCudaArray {
  CudaArrayInterface array;  // Refers to the members below: copy it with them, or not at all.
  int64_t shape[kMaxRank];
  int64_t strides[kMaxRank];
  char typestr[8];

  ExportedCudaArray() = default;
  ExportedCudaArray(const ExportedCudaArray&) = delete;
  ExportedCudaArray& operator=(const ExportedCudaArray&) = delete;
};
// `stream`: where the array is ready; null where that has been waited for. INVALID_ARGUMENT for bfloat16, which NumPy's
// type strings do not have.
absl::StatusOr<std::unique_ptr<ExportedCudaArray>> ToCudaArrayInterface(const AnyArray& array, const Stream* stream);

}  // namespace slipway

#endif  // SLIPWAY_DLPACK_H_
