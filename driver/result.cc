#include "driver/result.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "slipway/device.h"

namespace slipway {
namespace {

#define SLIPWAY_RESULT(result) result, #result
// One that Slipway has no use for but to name it.
#define SLIPWAY_OTHER_RESULT(number, name) static_cast<CUresult>(number), #name
// Sorted by number. ABORTED stands for work that was cut short by what a kernel or the hardware did: the context is
// lost, and every later call on it repeats the error.
constexpr ResultInfo kResults[] = {
    {SLIPWAY_RESULT(CUDA_SUCCESS), "no error", absl::StatusCode::kOk},
    {SLIPWAY_RESULT(CUDA_ERROR_INVALID_VALUE), "invalid argument", absl::StatusCode::kInvalidArgument},
    {SLIPWAY_RESULT(CUDA_ERROR_OUT_OF_MEMORY), "out of memory", absl::StatusCode::kResourceExhausted},
    {SLIPWAY_RESULT(CUDA_ERROR_NOT_INITIALIZED), "the driver is not initialized",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_RESULT(CUDA_ERROR_DEINITIALIZED), "the driver is shutting down", absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_OTHER_RESULT(5, CUDA_ERROR_PROFILER_DISABLED), "the profiler is not initialized for this run",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_OTHER_RESULT(6, CUDA_ERROR_PROFILER_NOT_INITIALIZED), "the profiler is not initialized (no longer given)",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_OTHER_RESULT(7, CUDA_ERROR_PROFILER_ALREADY_STARTED), "the profiler runs already (no longer given)",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_OTHER_RESULT(8, CUDA_ERROR_PROFILER_ALREADY_STOPPED), "the profiler does not run (no longer given)",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_RESULT(CUDA_ERROR_STUB_LIBRARY), "the driver library is a stub for linking",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_OTHER_RESULT(36, CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER), "the call wants a newer driver",
     absl::StatusCode::kUnimplemented},
    {SLIPWAY_RESULT(CUDA_ERROR_DEVICE_UNAVAILABLE), "the device is busy or reserved", absl::StatusCode::kUnavailable},
    {SLIPWAY_RESULT(CUDA_ERROR_NO_DEVICE), "no CUDA device is detected", absl::StatusCode::kNotFound},
    {SLIPWAY_RESULT(CUDA_ERROR_INVALID_DEVICE), "invalid device ordinal", absl::StatusCode::kNotFound},
    {SLIPWAY_OTHER_RESULT(102, CUDA_ERROR_DEVICE_NOT_LICENSED), "the device has no license that this needs",
     absl::StatusCode::kPermissionDenied},
    {SLIPWAY_RESULT(CUDA_ERROR_INVALID_IMAGE), "the module image is invalid", absl::StatusCode::kInvalidArgument},
    {SLIPWAY_RESULT(CUDA_ERROR_INVALID_CONTEXT), "no context or an invalid one is current",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_OTHER_RESULT(202, CUDA_ERROR_CONTEXT_ALREADY_CURRENT), "the context is current already (no longer given)",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_OTHER_RESULT(205, CUDA_ERROR_MAP_FAILED), "a resource cannot be mapped", absl::StatusCode::kInternal},
    {SLIPWAY_OTHER_RESULT(206, CUDA_ERROR_UNMAP_FAILED), "a resource cannot be unmapped", absl::StatusCode::kInternal},
    {SLIPWAY_OTHER_RESULT(207, CUDA_ERROR_ARRAY_IS_MAPPED), "the array is mapped and cannot be destroyed",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_OTHER_RESULT(208, CUDA_ERROR_ALREADY_MAPPED), "the resource is mapped already",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_RESULT(CUDA_ERROR_NO_BINARY_FOR_GPU), "the module has no code for this device",
     absl::StatusCode::kInvalidArgument},
    {SLIPWAY_OTHER_RESULT(210, CUDA_ERROR_ALREADY_ACQUIRED), "the resource is acquired already",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_OTHER_RESULT(211, CUDA_ERROR_NOT_MAPPED), "the resource is not mapped",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_OTHER_RESULT(212, CUDA_ERROR_NOT_MAPPED_AS_ARRAY), "the resource is not mapped as an array",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_OTHER_RESULT(213, CUDA_ERROR_NOT_MAPPED_AS_POINTER), "the resource is not mapped as a pointer",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_RESULT(CUDA_ERROR_ECC_UNCORRECTABLE), "uncorrectable memory error", absl::StatusCode::kDataLoss},
    {SLIPWAY_RESULT(CUDA_ERROR_UNSUPPORTED_LIMIT), "the device has no such limit", absl::StatusCode::kUnimplemented},
    {SLIPWAY_OTHER_RESULT(216, CUDA_ERROR_CONTEXT_ALREADY_IN_USE), "another thread uses the context",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_OTHER_RESULT(217, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED), "the devices have no access to each other",
     absl::StatusCode::kUnimplemented},
    {SLIPWAY_RESULT(CUDA_ERROR_INVALID_PTX), "the PTX does not compile", absl::StatusCode::kInvalidArgument},
    {SLIPWAY_OTHER_RESULT(219, CUDA_ERROR_INVALID_GRAPHICS_CONTEXT), "invalid graphics context",
     absl::StatusCode::kInvalidArgument},
    {SLIPWAY_OTHER_RESULT(220, CUDA_ERROR_NVLINK_UNCORRECTABLE), "uncorrectable NVLink error",
     absl::StatusCode::kDataLoss},
    {SLIPWAY_RESULT(CUDA_ERROR_JIT_COMPILER_NOT_FOUND), "the driver's PTX compiler library is not installed",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_RESULT(CUDA_ERROR_UNSUPPORTED_PTX_VERSION), "the PTX version is newer than the driver",
     absl::StatusCode::kUnimplemented},
    {SLIPWAY_OTHER_RESULT(223, CUDA_ERROR_JIT_COMPILATION_DISABLED), "compiling PTX is switched off",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_OTHER_RESULT(224, CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY), "the device has no such execution affinity",
     absl::StatusCode::kUnimplemented},
    {SLIPWAY_OTHER_RESULT(225, CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC),
     "the PTX synchronizes on the device, which is not supported", absl::StatusCode::kUnimplemented},
    {SLIPWAY_OTHER_RESULT(226, CUDA_ERROR_CONTAINED), "an error was contained; the process should start anew",
     absl::StatusCode::kAborted},
    {SLIPWAY_RESULT(CUDA_ERROR_INVALID_SOURCE), "the kernel source is invalid", absl::StatusCode::kInvalidArgument},
    {SLIPWAY_RESULT(CUDA_ERROR_FILE_NOT_FOUND), "file not found", absl::StatusCode::kNotFound},
    {SLIPWAY_OTHER_RESULT(302, CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND), "a symbol of a shared library was not found",
     absl::StatusCode::kNotFound},
    {SLIPWAY_OTHER_RESULT(303, CUDA_ERROR_SHARED_OBJECT_INIT_FAILED), "a shared library could not be initialized",
     absl::StatusCode::kInternal},
    {SLIPWAY_RESULT(CUDA_ERROR_OPERATING_SYSTEM), "an operating system call failed", absl::StatusCode::kInternal},
    {SLIPWAY_RESULT(CUDA_ERROR_INVALID_HANDLE), "invalid handle", absl::StatusCode::kInvalidArgument},
    {SLIPWAY_RESULT(CUDA_ERROR_ILLEGAL_STATE), "an object is not in a state that allows this",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_OTHER_RESULT(402, CUDA_ERROR_LOSSY_QUERY), "the answer would not be the whole truth",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_RESULT(CUDA_ERROR_NOT_FOUND), "named symbol not found", absl::StatusCode::kNotFound},
    {SLIPWAY_RESULT(CUDA_ERROR_NOT_READY), "not finished yet", absl::StatusCode::kUnavailable},
    {SLIPWAY_RESULT(CUDA_ERROR_ILLEGAL_ADDRESS), "a kernel accessed an illegal address", absl::StatusCode::kAborted},
    {SLIPWAY_RESULT(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES), "too many resources requested for launch",
     absl::StatusCode::kResourceExhausted},
    {SLIPWAY_RESULT(CUDA_ERROR_LAUNCH_TIMEOUT), "a kernel ran too long and was stopped",
     absl::StatusCode::kDeadlineExceeded},
    {SLIPWAY_OTHER_RESULT(703, CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING),
     "the launch has an incompatible texturing mode", absl::StatusCode::kInvalidArgument},
    {SLIPWAY_RESULT(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED), "peer access is enabled already",
     absl::StatusCode::kAlreadyExists},
    {SLIPWAY_OTHER_RESULT(705, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED), "peer access is not enabled",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_RESULT(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE), "the primary context is in use",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_RESULT(CUDA_ERROR_CONTEXT_IS_DESTROYED), "the context was destroyed",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_RESULT(CUDA_ERROR_ASSERT), "an assertion failed in a kernel", absl::StatusCode::kAborted},
    {SLIPWAY_OTHER_RESULT(711, CUDA_ERROR_TOO_MANY_PEERS), "peer access is enabled for as many devices as can be",
     absl::StatusCode::kResourceExhausted},
    {SLIPWAY_OTHER_RESULT(712, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED), "the host memory is registered already",
     absl::StatusCode::kAlreadyExists},
    {SLIPWAY_OTHER_RESULT(713, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED), "the host memory is not registered",
     absl::StatusCode::kNotFound},
    {SLIPWAY_RESULT(CUDA_ERROR_HARDWARE_STACK_ERROR), "a kernel overran its call stack", absl::StatusCode::kAborted},
    {SLIPWAY_RESULT(CUDA_ERROR_ILLEGAL_INSTRUCTION), "a kernel ran an illegal instruction", absl::StatusCode::kAborted},
    {SLIPWAY_RESULT(CUDA_ERROR_MISALIGNED_ADDRESS), "a kernel accessed a misaligned address",
     absl::StatusCode::kAborted},
    {SLIPWAY_RESULT(CUDA_ERROR_INVALID_ADDRESS_SPACE), "a kernel accessed an address in the wrong space",
     absl::StatusCode::kAborted},
    {SLIPWAY_RESULT(CUDA_ERROR_INVALID_PC), "a kernel jumped to an invalid address", absl::StatusCode::kAborted},
    {SLIPWAY_RESULT(CUDA_ERROR_LAUNCH_FAILED), "a kernel failed while it ran", absl::StatusCode::kAborted},
    {SLIPWAY_RESULT(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE), "too many blocks for a cooperative launch",
     absl::StatusCode::kInvalidArgument},
    {SLIPWAY_OTHER_RESULT(721, CUDA_ERROR_TENSOR_MEMORY_LEAK), "a kernel left tensor memory allocated",
     absl::StatusCode::kAborted},
    {SLIPWAY_RESULT(CUDA_ERROR_NOT_PERMITTED), "operation not permitted", absl::StatusCode::kPermissionDenied},
    {SLIPWAY_RESULT(CUDA_ERROR_NOT_SUPPORTED), "operation not supported", absl::StatusCode::kUnimplemented},
    {SLIPWAY_RESULT(CUDA_ERROR_SYSTEM_NOT_READY), "the system is not ready to use CUDA",
     absl::StatusCode::kUnavailable},
    {SLIPWAY_RESULT(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH), "the kernel module and the driver library do not match",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_RESULT(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE), "forward compatibility is not supported on this device",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_OTHER_RESULT(805, CUDA_ERROR_MPS_CONNECTION_FAILED), "the MPS client cannot reach its server",
     absl::StatusCode::kUnavailable},
    {SLIPWAY_OTHER_RESULT(806, CUDA_ERROR_MPS_RPC_FAILURE), "a call between the MPS client and its server failed",
     absl::StatusCode::kUnavailable},
    {SLIPWAY_OTHER_RESULT(807, CUDA_ERROR_MPS_SERVER_NOT_READY), "the MPS server takes no new clients yet",
     absl::StatusCode::kUnavailable},
    {SLIPWAY_OTHER_RESULT(808, CUDA_ERROR_MPS_MAX_CLIENTS_REACHED), "the MPS server has as many clients as it takes",
     absl::StatusCode::kResourceExhausted},
    {SLIPWAY_OTHER_RESULT(809, CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED),
     "the MPS server has as many connections as it takes", absl::StatusCode::kResourceExhausted},
    {SLIPWAY_OTHER_RESULT(810, CUDA_ERROR_MPS_CLIENT_TERMINATED), "the MPS server ended the client",
     absl::StatusCode::kAborted},
    {SLIPWAY_OTHER_RESULT(811, CUDA_ERROR_CDP_NOT_SUPPORTED), "kernels cannot launch kernels here",
     absl::StatusCode::kUnimplemented},
    {SLIPWAY_OTHER_RESULT(812, CUDA_ERROR_CDP_VERSION_MISMATCH), "launches by kernels are of another version",
     absl::StatusCode::kUnimplemented},
    {SLIPWAY_RESULT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED), "not allowed while a stream is being captured",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_RESULT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED), "the capture was ended by an earlier error",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_RESULT(CUDA_ERROR_STREAM_CAPTURE_MERGE), "two captures would be merged",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_RESULT(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED), "no capture was begun on this stream",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_RESULT(CUDA_ERROR_STREAM_CAPTURE_UNJOINED), "the capture has a branch that was not joined",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_RESULT(CUDA_ERROR_STREAM_CAPTURE_ISOLATION), "a capture may not depend on work outside of it",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_RESULT(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT), "the legacy default stream would depend on a capture",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_RESULT(CUDA_ERROR_CAPTURED_EVENT), "the event was last recorded in a capture",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_RESULT(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD), "a capture is ended by another thread than began it",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_OTHER_RESULT(909, CUDA_ERROR_TIMEOUT), "the time to wait is over", absl::StatusCode::kDeadlineExceeded},
    {SLIPWAY_RESULT(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE), "the graph differs in more than an update can change",
     absl::StatusCode::kInvalidArgument},
    {SLIPWAY_OTHER_RESULT(911, CUDA_ERROR_EXTERNAL_DEVICE), "a device beside the GPU failed",
     absl::StatusCode::kAborted},
    {SLIPWAY_OTHER_RESULT(912, CUDA_ERROR_INVALID_CLUSTER_SIZE), "invalid size of a cluster",
     absl::StatusCode::kInvalidArgument},
    {SLIPWAY_OTHER_RESULT(913, CUDA_ERROR_FUNCTION_NOT_LOADED), "the function is not loaded",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_OTHER_RESULT(914, CUDA_ERROR_INVALID_RESOURCE_TYPE), "invalid type of a resource",
     absl::StatusCode::kInvalidArgument},
    {SLIPWAY_OTHER_RESULT(915, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION), "invalid configuration of a resource",
     absl::StatusCode::kInvalidArgument},
    {SLIPWAY_OTHER_RESULT(916, CUDA_ERROR_KEY_ROTATION),
     "the key of confidential computing was changed; the channel is to be set up anew",
     absl::StatusCode::kFailedPrecondition},
    {SLIPWAY_RESULT(CUDA_ERROR_UNKNOWN), "unknown error", absl::StatusCode::kUnknown},
};
#undef SLIPWAY_OTHER_RESULT
#undef SLIPWAY_RESULT

}  // namespace

const ResultInfo* FindResult(CUresult result) {
  for (const ResultInfo& info : kResults) {
    if (info.result == result) return &info;
  }
  return nullptr;
}

absl::Status DriverStatus(const DriverApi& api, CUresult result, std::string_view what) {
  if (result == CUDA_SUCCESS) return absl::OkStatus();
  const ResultInfo* info = FindResult(result);
  // The driver's own words come first: it knows codes newer than our table.
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.GetErrorName == nullptr || api.GetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr) {
    name = info != nullptr ? info->name : "unlisted CUDA error";
  }
  if (api.GetErrorString == nullptr || api.GetErrorString(result, &text) != CUDA_SUCCESS || text == nullptr) {
    text = info != nullptr ? info->text : "the driver has no text for it";
  }
  return absl::Status(info != nullptr ? info->code : absl::StatusCode::kUnknown,
                      absl::StrCat(AsAbsl(what), ": ", name, " (", static_cast<int>(result), "): ", text));
}

}  // namespace slipway
