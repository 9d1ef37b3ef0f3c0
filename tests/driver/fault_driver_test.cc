#include "slipway/fault_driver.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "slipway/null_driver.h"

namespace slipway {
namespace {

using ::testing::HasSubstr;

class FaultDriverTest : public testing::Test {
 protected:
  void TearDown() override { fault_.Disarm(); }
  CUresult Allocate() {
    CUdeviceptr address = 0;
    return fault_.api().MemAlloc(&address, 16);
  }
  FaultDriver& fault_ = *FaultDriver::Wrap(NullDriver()).value();
};

TEST_F(FaultDriverTest, PassesCallsOn) {
  int version = 0;
  EXPECT_STREQ(fault_.api().name, "fault");
  EXPECT_EQ(fault_.api().DriverGetVersion(&version), CUDA_SUCCESS);
  EXPECT_EQ(version, 13000);
  EXPECT_EQ(&fault_.wrapped(), &NullDriver());
}

TEST_F(FaultDriverTest, FailsTheNthCallOnceAndDoesNotMakeIt) {
  ASSERT_TRUE(fault_.Arm({.call = 2, .result = CUDA_ERROR_OUT_OF_MEMORY}).ok());
  int version = 0;
  EXPECT_EQ(Allocate(), CUDA_SUCCESS);
  EXPECT_FALSE(fault_.fired());
  EXPECT_EQ(fault_.api().DriverGetVersion(&version), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(version, 0);
  EXPECT_TRUE(fault_.fired());
  EXPECT_EQ(Allocate(), CUDA_SUCCESS);
  EXPECT_EQ(fault_.calls(), 3);
}

TEST_F(FaultDriverTest, CountsOneFunctionOnlyIfAsked) {
  ASSERT_TRUE(fault_.Arm({.function = "MemAlloc", .call = 2, .result = CUDA_ERROR_UNKNOWN}).ok());
  int version = 0;
  EXPECT_EQ(Allocate(), CUDA_SUCCESS);
  EXPECT_EQ(fault_.api().DriverGetVersion(&version), CUDA_SUCCESS);
  EXPECT_EQ(Allocate(), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(Allocate(), CUDA_SUCCESS);
  EXPECT_EQ(fault_.calls(), 3);
}

TEST_F(FaultDriverTest, StickyFaultsStay) {
  ASSERT_TRUE(fault_.Arm({.call = 2, .result = CUDA_ERROR_LAUNCH_FAILED, .sticky = true}).ok());
  EXPECT_EQ(Allocate(), CUDA_SUCCESS);
  EXPECT_EQ(Allocate(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(fault_.api().CtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  fault_.Disarm();
  EXPECT_EQ(Allocate(), CUDA_SUCCESS);
}

TEST_F(FaultDriverTest, ArmRefusesWhatCannotHappen) {
  const absl::Status function = fault_.Arm({.function = "cuMemAlloc"});
  EXPECT_EQ(function.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(function.message()),
              HasSubstr("FaultDriver::Arm: the driver table has no function 'cuMemAlloc'; give the name of a DriverApi "
                        "member"));
  const absl::Status call = fault_.Arm({.call = 0});
  EXPECT_EQ(call.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(call.message()),
              HasSubstr("FaultDriver::Arm: calls are counted from 1, and call 0 was asked for"));
}

TEST_F(FaultDriverTest, WrapsEachTableOnceAndIndependently) {
  EXPECT_EQ(FaultDriver::Wrap(NullDriver()).value(), &fault_);
  FaultDriver& other = *FaultDriver::Wrap(RecordingDriver()).value();
  ASSERT_NE(&other, &fault_);
  ASSERT_TRUE(other.Arm({.function = "MemAlloc"}).ok());
  EXPECT_EQ(Allocate(), CUDA_SUCCESS);
  CUdeviceptr address = 0;
  EXPECT_EQ(other.api().MemAlloc(&address, 16), CUDA_ERROR_UNKNOWN);
  other.Disarm();
}

TEST_F(FaultDriverTest, AbsentEntriesStayAbsentAndTablesAreLimited) {
  // Tables live as long as the process.
  static DriverApi lacking = NullDriver(), another = NullDriver(), one_more = NullDriver(), too_many = NullDriver();
  lacking.MemAllocAsync = nullptr;
  FaultDriver& fault = *FaultDriver::Wrap(lacking).value();
  EXPECT_EQ(fault.api().MemAllocAsync, nullptr);
  EXPECT_NE(fault.api().MemFreeAsync, nullptr);
  absl::Status status;
  for (const DriverApi* api : {&another, &one_more, &too_many}) status.Update(FaultDriver::Wrap(*api).status());
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("4 driver tables are wrapped already"));
}

}  // namespace
}  // namespace slipway
