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
};
void PrintTo(const CodeCase& item, std::ostream* out) { *out << static_cast<int>(item.result); }

class StatusCodeTest : public testing::TestWithParam<CodeCase> {};

TEST_P(StatusCodeTest, Maps) { EXPECT_EQ(DriverStatus(NullDriver(), GetParam().result, "x").code(), GetParam().code); }

INSTANTIATE_TEST_SUITE_P(Codes, StatusCodeTest,
                         testing::Values(CodeCase{CUDA_ERROR_OUT_OF_MEMORY, absl::StatusCode::kResourceExhausted},
                                         CodeCase{CUDA_ERROR_NO_DEVICE, absl::StatusCode::kNotFound},
                                         CodeCase{CUDA_ERROR_INVALID_PTX, absl::StatusCode::kInvalidArgument},
                                         CodeCase{CUDA_ERROR_UNSUPPORTED_PTX_VERSION, absl::StatusCode::kUnimplemented},
                                         CodeCase{CUDA_ERROR_INVALID_CONTEXT, absl::StatusCode::kFailedPrecondition},
                                         CodeCase{CUDA_ERROR_NOT_READY, absl::StatusCode::kUnavailable},
                                         CodeCase{CUDA_ERROR_ILLEGAL_ADDRESS, absl::StatusCode::kAborted},
                                         CodeCase{CUDA_ERROR_LAUNCH_TIMEOUT, absl::StatusCode::kDeadlineExceeded},
                                         CodeCase{CUDA_ERROR_UNKNOWN, absl::StatusCode::kUnknown},
                                         CodeCase{static_cast<CUresult>(12345), absl::StatusCode::kUnknown}));

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

TEST(DriverStatusTest, ADriverWithoutWordsIsNoObstacle) {
  DriverApi api;  // Every entry null.
  EXPECT_EQ(DriverStatus(api, CUDA_ERROR_NOT_FOUND, "x"),
            absl::NotFoundError("x: CUDA_ERROR_NOT_FOUND (500): named symbol not found"));
  EXPECT_EQ(DriverStatus(api, static_cast<CUresult>(12345), "x"),
            absl::UnknownError("x: unlisted CUDA error (12345): the driver has no text for it"));
}

}  // namespace
}  // namespace slipway
