// What a launch gives a kernel that has checks, and the words of a failure.
#include "launch/checks.h"

#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "driver/error_record.h"
#include "slipway/bound_launch.h"
#include "slipway/fault_driver.h"
#include "slipway/null_driver.h"
#include "tests/launch/launch_test_util.h"

namespace slipway::internal {
namespace {

using testing::HasSubstr;

CompiledKernel Checked(const std::string& name, Signature signature, std::vector<std::string> messages) {
  CompiledKernel compiled = EmptyKernel(std::move(signature), name);
  compiled.checks = std::move(messages);
  return compiled;
}

struct Words {
  int32_t argument;
  int32_t padding;
  uint64_t captured;
  ErrorWords errors;
};
static_assert(sizeof(Words) == 32);

uint64_t CodeOf(const ErrorWords& words) { return words.launch >> kErrorCodeShift & (kErrorCodes - 1); }
uint64_t NumberOf(const ErrorWords& words) { return words.launch >> kErrorLaunchShift & kErrorLaunches; }

class ChecksTest : public testing::Test {
 protected:
  void SetUp() override { TakeRecordedLaunches(); }
  static std::vector<Words> Launched() {
    std::vector<Words> all;
    for (const RecordedLaunch& launch : TakeRecordedLaunches()) {
      EXPECT_EQ(launch.buffer.size(), sizeof(Words));
      std::memcpy(&all.emplace_back(), launch.buffer.data(), std::min(launch.buffer.size(), sizeof(Words)));
    }
    return all;
  }
  const Device device_ = Device::Open(RecordingDriver()).value();
  const Stream stream_ = device_.CreateStream().value();
};

TEST_F(ChecksTest, TwoWordsStandBehindAllElse) {
  CompiledKernel compiled = Checked("words", {ScalarParam(DType::kInt32)}, {"first", "second"});
  compiled.captured = "captured";
  const Kernel kernel = Kernel::Load(device_, compiled).value();
  EXPECT_EQ(kernel.buffer_size(), sizeof(Words));
  BoundLaunch bound = kernel.Bind(ForSize(1), {3}).value();
  ASSERT_TRUE(kernel(stream_, ForSize(1), 1).ok());
  ASSERT_TRUE(kernel.Launch(stream_, {.grid = {1}, .block = {1}}, {2}).ok());
  ASSERT_TRUE(bound.Launch(stream_).ok());
  ASSERT_TRUE(bound.Launch(device_.DefaultStream()).ok());
  const std::vector<Words> launched = Launched();
  ASSERT_EQ(launched.size(), 4u);
  for (uint64_t i = 0; i < 4; ++i) {
    const Words& words = launched[i];
    EXPECT_EQ(words.argument, static_cast<int32_t>(i == 3 ? 3 : i + 1));
    EXPECT_EQ(words.padding, 0);
    EXPECT_EQ(std::memcmp(&words.captured, "captured", 8), 0);
    EXPECT_NE(words.errors.gate, 0u);
    EXPECT_EQ(words.errors.gate == launched[0].errors.gate, i != 3);  // A stream has one.
    EXPECT_EQ(words.errors.launch & (kOpenError | kMaxErrorElement), kOpenError);
    EXPECT_EQ(NumberOf(words.errors), i == 3 ? 0 : i);
    EXPECT_EQ(CodeOf(words.errors), kernel.first_check());
  }
}

TEST_F(ChecksTest, NumbersComeAgain) {
  CompiledKernel compiled = Checked("again", {ScalarParam(DType::kInt32)}, {"first"});
  compiled.captured = "captured";
  const Kernel kernel = Kernel::Load(device_, compiled).value();
  for (uint32_t i = 0; i < kErrorLaunches + 2; ++i) ASSERT_TRUE(kernel(stream_, ForSize(1), 1).ok());
  const std::vector<Words> launched = Launched();
  for (size_t i = 0; i < launched.size(); ++i) EXPECT_EQ(NumberOf(launched[i].errors), i % kErrorLaunches);
}

TEST_F(ChecksTest, ALaunchIsOneCall) {
  FaultDriver& faults = *FaultDriver::Wrap(NullDriver()).value();
  const Device device = Device::Open(faults.api()).value();
  const Kernel kernel = Kernel::Load(device, Checked("calls", {ScalarParam(DType::kInt32)}, {"first"})).value();
  const Stream stream = device.CreateStream().value();
  BoundLaunch bound = kernel.Bind(ForSize(1), {3}).value();
  ASSERT_TRUE(kernel(stream, ForSize(1), 1).ok());
  ASSERT_TRUE(faults.Arm({.call = 1 << 30}).ok());
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(kernel(stream, ForSize(1), 1).ok());
    ASSERT_TRUE(bound.Launch(stream).ok());
    EXPECT_TRUE(stream.CheckErrors().ok());
  }
  EXPECT_EQ(faults.calls(), 100);
  faults.Disarm();
}

TEST_F(ChecksTest, WhatIsAllocatedIsGivenBack) {
  const RecordedObjects before = CountRecordedObjects();
  {
    const Kernel kernel = Kernel::Load(device_, Checked("objects", {}, {"first"})).value();
    const Stream stream = device_.CreateStream().value();
    ASSERT_TRUE(kernel.Launch(stream, ForSize(1), {}).ok());
    EXPECT_EQ(CountRecordedObjects().host_allocations, before.host_allocations + 1);
  }
  ASSERT_TRUE(stream_.Synchronize().ok());
  EXPECT_EQ(CountRecordedObjects(), before);
}

TEST_F(ChecksTest, TextsHaveTheirCodesForEver) {
  const uint32_t first = RegisterChecks("codes", {"a", "b"}).value();
  const uint32_t other = RegisterChecks("codes", {"a", "c"}).value();
  EXPECT_EQ(RegisterChecks("codes", {"a", "b"}).value(), first);
  EXPECT_GE(other, first + 2);
  EXPECT_EQ(DecodeFailure({.code = other + 1, .element = 7, .place = nullptr}),
            absl::InvalidArgumentError("codes: c (element 7)"));
}

TEST_F(ChecksTest, TooManyOfThem) {
  const absl::Status status = RegisterChecks("many", std::vector<std::string>(kErrorCodes + 1)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("kernel 'many': it has 1048577 checks, and the process has loaded kernels with "));
  EXPECT_TRUE(RegisterChecks("few", {"a"}).ok());
}

TEST_F(ChecksTest, ACodeThatNobodyHas) {
  const absl::Status status = DecodeFailure({.code = kErrorCodes - 1, .element = 0, .place = nullptr});
  EXPECT_EQ(status, absl::InternalError("a kernel raised an error with the code 1048575, which no kernel has; its "
                                        "memory was overwritten, perhaps by a kernel"));
}

TEST_F(ChecksTest, PlacesInThreeDimensions) {
  ErrorPlace place = {.element = 1ull << 40, .block = {1, 0, 2}, .thread = {3}, .values = {7}};
  const uint32_t code = RegisterChecks("places", {"%d of 100%%"}).value();
  EXPECT_EQ(DecodeFailure({.code = code, .element = place.element, .place = &place}),
            absl::InvalidArgumentError("places: 7 of 100% (element 1099511627776, block (1, 0, 2), thread 3)"));
}

TEST(FormatCheckTest, ValuesAsTheirConversionsSay) {
  const uint64_t values[] = {static_cast<uint64_t>(-5), uint64_t{1} << 63, std::bit_cast<uint64_t>(0.1),
                             static_cast<uint64_t>('x')};
  EXPECT_EQ(FormatCheck("%d %lld %g %c %%", values, 4), "-5 -9223372036854775808 0.1 x %");
  EXPECT_EQ(FormatCheck("%u|%+5.1d|%-4i|%#x", values, 1), "4294967291|%+5.1d|%-4i|%#x");
  EXPECT_EQ(FormatCheck("", values, 4), "");
}

// Of an archive that was made to do harm: what no check of ours could say is not handed to printf.
TEST(FormatCheckTest, StrangeFormats) {
  const uint64_t values[] = {1, 2};
  for (const char* format : {"%s", "%n", "%p", "%*d", "%hhd", "%", "%l", "%ll", "%5", "%Lf", "%zd", "%.", "%ls"}) {
    EXPECT_EQ(FormatCheck(format, values, 2), format);
  }
  // All that kernels may ask for (999 places), and no more.
  EXPECT_EQ(FormatCheck("%999d", values, 2).size(), 999u);
  EXPECT_EQ(FormatCheck("%1000000000d", values, 2).size(), 1399u);
  EXPECT_EQ(FormatCheck("%.1000000000f", values, 2).size(), 1399u);
}

}  // namespace
}  // namespace slipway::internal
