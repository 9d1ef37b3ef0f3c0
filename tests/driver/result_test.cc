#include "driver/result.h"

#include <ostream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "slipway/device.h"
#include "slipway/null_driver.h"

namespace slipway {
namespace {

TEST(DriverStatusTest, SuccessIsOk) { EXPECT_TRUE(DriverStatus(NullDriver(), CUDA_SUCCESS, "anything").ok()); }

TEST(DriverStatusTest, SaysWhatFailedAndHow) {
  EXPECT_EQ(DriverStatus(NullDriver(), CUDA_ERROR_INVALID_VALUE, "cannot do it"),
            absl::InvalidArgumentError("cannot do it: CUDA_ERROR_INVALID_VALUE (1): invalid argument"));
}

struct CodeCase {
  CUresult result;
  absl::StatusCode code;
  const char* words;  // Where the driver has none.
};
void PrintTo(const CodeCase& item, std::ostream* out) { *out << item.words; }

const CodeCase kCodes[] = {
    {CUDA_ERROR_INVALID_VALUE, absl::StatusCode::kInvalidArgument, "CUDA_ERROR_INVALID_VALUE (1): invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, absl::StatusCode::kResourceExhausted, "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, absl::StatusCode::kFailedPrecondition,
     "CUDA_ERROR_NOT_INITIALIZED (3): the driver is not initialized"},
    {CUDA_ERROR_DEINITIALIZED, absl::StatusCode::kFailedPrecondition,
     "CUDA_ERROR_DEINITIALIZED (4): the driver is shutting down"},
    {CUDA_ERROR_STUB_LIBRARY, absl::StatusCode::kFailedPrecondition,
     "CUDA_ERROR_STUB_LIBRARY (34): the driver library is a stub for linking"},
    {CUDA_ERROR_DEVICE_UNAVAILABLE, absl::StatusCode::kUnavailable,
     "CUDA_ERROR_DEVICE_UNAVAILABLE (46): the device is busy or reserved"},
    {CUDA_ERROR_NO_DEVICE, absl::StatusCode::kNotFound, "CUDA_ERROR_NO_DEVICE (100): no CUDA device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, absl::StatusCode::kNotFound, "CUDA_ERROR_INVALID_DEVICE (101): invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, absl::StatusCode::kInvalidArgument,
     "CUDA_ERROR_INVALID_IMAGE (200): the module image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, absl::StatusCode::kFailedPrecondition,
     "CUDA_ERROR_INVALID_CONTEXT (201): no context or an invalid one is current"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, absl::StatusCode::kInvalidArgument,
     "CUDA_ERROR_NO_BINARY_FOR_GPU (209): the module has no code for this device"},
    {CUDA_ERROR_ECC_UNCORRECTABLE, absl::StatusCode::kDataLoss,
     "CUDA_ERROR_ECC_UNCORRECTABLE (214): uncorrectable memory error"},
    {CUDA_ERROR_INVALID_PTX, absl::StatusCode::kInvalidArgument,
     "CUDA_ERROR_INVALID_PTX (218): the PTX does not compile"},
    {CUDA_ERROR_JIT_COMPILER_NOT_FOUND, absl::StatusCode::kFailedPrecondition,
     "CUDA_ERROR_JIT_COMPILER_NOT_FOUND (221): the driver's PTX compiler library is not installed"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, absl::StatusCode::kUnimplemented,
     "CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222): the PTX version is newer than the driver"},
    {CUDA_ERROR_INVALID_SOURCE, absl::StatusCode::kInvalidArgument,
     "CUDA_ERROR_INVALID_SOURCE (300): the kernel source is invalid"},
    {CUDA_ERROR_FILE_NOT_FOUND, absl::StatusCode::kNotFound, "CUDA_ERROR_FILE_NOT_FOUND (301): file not found"},
    {CUDA_ERROR_OPERATING_SYSTEM, absl::StatusCode::kInternal,
     "CUDA_ERROR_OPERATING_SYSTEM (304): an operating system call failed"},
    {CUDA_ERROR_INVALID_HANDLE, absl::StatusCode::kInvalidArgument, "CUDA_ERROR_INVALID_HANDLE (400): invalid handle"},
    {CUDA_ERROR_ILLEGAL_STATE, absl::StatusCode::kFailedPrecondition,
     "CUDA_ERROR_ILLEGAL_STATE (401): an object is not in a state that allows this"},
    {CUDA_ERROR_NOT_FOUND, absl::StatusCode::kNotFound, "CUDA_ERROR_NOT_FOUND (500): named symbol not found"},
    {CUDA_ERROR_NOT_READY, absl::StatusCode::kUnavailable, "CUDA_ERROR_NOT_READY (600): not finished yet"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, absl::StatusCode::kAborted,
     "CUDA_ERROR_ILLEGAL_ADDRESS (700): a kernel accessed an illegal address"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, absl::StatusCode::kResourceExhausted,
     "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701): too many resources requested for launch"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, absl::StatusCode::kDeadlineExceeded,
     "CUDA_ERROR_LAUNCH_TIMEOUT (702): a kernel ran too long and was stopped"},
    {CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, absl::StatusCode::kAlreadyExists,
     "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED (704): peer access is enabled already"},
    {CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, absl::StatusCode::kFailedPrecondition,
     "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE (708): the primary context is in use"},
    {CUDA_ERROR_CONTEXT_IS_DESTROYED, absl::StatusCode::kFailedPrecondition,
     "CUDA_ERROR_CONTEXT_IS_DESTROYED (709): the context was destroyed"},
    {CUDA_ERROR_ASSERT, absl::StatusCode::kAborted, "CUDA_ERROR_ASSERT (710): an assertion failed in a kernel"},
    {CUDA_ERROR_HARDWARE_STACK_ERROR, absl::StatusCode::kAborted,
     "CUDA_ERROR_HARDWARE_STACK_ERROR (714): a kernel overran its call stack"},
    {CUDA_ERROR_ILLEGAL_INSTRUCTION, absl::StatusCode::kAborted,
     "CUDA_ERROR_ILLEGAL_INSTRUCTION (715): a kernel ran an illegal instruction"},
    {CUDA_ERROR_MISALIGNED_ADDRESS, absl::StatusCode::kAborted,
     "CUDA_ERROR_MISALIGNED_ADDRESS (716): a kernel accessed a misaligned address"},
    {CUDA_ERROR_INVALID_ADDRESS_SPACE, absl::StatusCode::kAborted,
     "CUDA_ERROR_INVALID_ADDRESS_SPACE (717): a kernel accessed an address in the wrong space"},
    {CUDA_ERROR_INVALID_PC, absl::StatusCode::kAborted,
     "CUDA_ERROR_INVALID_PC (718): a kernel jumped to an invalid address"},
    {CUDA_ERROR_LAUNCH_FAILED, absl::StatusCode::kAborted,
     "CUDA_ERROR_LAUNCH_FAILED (719): a kernel failed while it ran"},
    {CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, absl::StatusCode::kInvalidArgument,
     "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE (720): too many blocks for a cooperative launch"},
    {CUDA_ERROR_NOT_PERMITTED, absl::StatusCode::kPermissionDenied,
     "CUDA_ERROR_NOT_PERMITTED (800): operation not permitted"},
    {CUDA_ERROR_NOT_SUPPORTED, absl::StatusCode::kUnimplemented,
     "CUDA_ERROR_NOT_SUPPORTED (801): operation not supported"},
    {CUDA_ERROR_SYSTEM_NOT_READY, absl::StatusCode::kUnavailable,
     "CUDA_ERROR_SYSTEM_NOT_READY (802): the system is not ready to use CUDA"},
    {CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, absl::StatusCode::kFailedPrecondition,
     "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803): the kernel module and the driver library do not match"},
    {CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, absl::StatusCode::kFailedPrecondition,
     "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE (804): forward compatibility is not supported on this device"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, absl::StatusCode::kFailedPrecondition,
     "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (900): not allowed while a stream is being captured"},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, absl::StatusCode::kFailedPrecondition,
     "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (901): the capture was ended by an earlier error"},
    {CUDA_ERROR_STREAM_CAPTURE_MERGE, absl::StatusCode::kFailedPrecondition,
     "CUDA_ERROR_STREAM_CAPTURE_MERGE (902): two captures would be merged"},
    {CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, absl::StatusCode::kFailedPrecondition,
     "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED (903): no capture was begun on this stream"},
    {CUDA_ERROR_STREAM_CAPTURE_UNJOINED, absl::StatusCode::kFailedPrecondition,
     "CUDA_ERROR_STREAM_CAPTURE_UNJOINED (904): the capture has a branch that was not joined"},
    {CUDA_ERROR_STREAM_CAPTURE_ISOLATION, absl::StatusCode::kFailedPrecondition,
     "CUDA_ERROR_STREAM_CAPTURE_ISOLATION (905): a capture may not depend on work outside of it"},
    {CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, absl::StatusCode::kFailedPrecondition,
     "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT (906): the legacy default stream would depend on a capture"},
    {CUDA_ERROR_CAPTURED_EVENT, absl::StatusCode::kFailedPrecondition,
     "CUDA_ERROR_CAPTURED_EVENT (907): the event was last recorded in a capture"},
    {CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, absl::StatusCode::kFailedPrecondition,
     "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD (908): a capture is ended by another thread than began it"},
    {CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, absl::StatusCode::kInvalidArgument,
     "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE (910): the graph differs in more than an update can change"},
    {CUDA_ERROR_UNKNOWN, absl::StatusCode::kUnknown, "CUDA_ERROR_UNKNOWN (999): unknown error"},
    {static_cast<CUresult>(12345), absl::StatusCode::kUnknown,
     "unlisted CUDA error (12345): the driver has no text for it"},
};

class StatusCodeTest : public testing::TestWithParam<CodeCase> {};

TEST_P(StatusCodeTest, HasWords) {
  const DriverApi silent;  // Every entry null.
  EXPECT_EQ(DriverStatus(silent, GetParam().result, "x"),
            absl::Status(GetParam().code, std::string("x: ") + GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(Codes, StatusCodeTest, testing::ValuesIn(kCodes));

TEST(DriverStatusTest, TheDriversOwnWordsComeFirst) {
  DriverApi api = NullDriver();
  api.GetErrorName = [](CUresult, const char** name) {
    *name = "CUDA_ERROR_FROM_THE_FUTURE";
    return CUDA_SUCCESS;
  };
  api.GetErrorString = [](CUresult, const char** text) {
    *text = "something new";
    return CUDA_SUCCESS;
  };
  EXPECT_EQ(DriverStatus(api, static_cast<CUresult>(12345), "x"),
            absl::UnknownError("x: CUDA_ERROR_FROM_THE_FUTURE (12345): something new"));
}

}  // namespace
}  // namespace slipway
