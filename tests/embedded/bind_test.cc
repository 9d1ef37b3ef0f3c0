// Embedded kernels whose arguments are packed once: values on the CPU device, exact bytes on the recording driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/embedded.h"
#include "slipway/null_driver.h"
#include "slipway/stream.h"

namespace slipway {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

auto MakeSaxpy() {
  return MakeKernel("saxpy", {"y", "x", "a"}, [](ArrayVar<float, 1> y, ArrayVar<const float, 1> x, Var<float> a) {
    For(GridStride(y.size()), [&](Var<int64_t> i) { y[i] = a * x[i] + y[i]; });
  });
}

TEST(Bind, ValuesFollowWhatIsSet) {
  const Device device = Device::Open("cpu").value();
  const Stream stream = device.CreateStream().value();
  const auto saxpy = MakeSaxpy();
  const auto x = Array<float, 1>::From(device, {1, 2, 3}).value(), y = Array<float, 1>::Zeros(device, 3).value(),
             z = Array<float, 1>::From(device, {10, 20, 30}).value();
  auto step = saxpy.Bind(ForSize(3), y, x, 2.0f);
  ASSERT_TRUE(step.ok()) << step.status();
  ASSERT_TRUE(step->Launch(stream).ok());
  for (int t = 1; t <= 3; ++t) {
    ASSERT_TRUE(step->Set<2>(static_cast<float>(t)).ok());
    ASSERT_TRUE(step->Launch(stream).ok());
  }
  ASSERT_TRUE(step->Set<1>(z).ok());
  ASSERT_TRUE(step->Launch(stream).ok());
  ASSERT_TRUE(stream.Synchronize().ok());
  EXPECT_THAT(y.ToVector().value(), ElementsAre(38, 76, 114));
  EXPECT_EQ(saxpy.compiles(), 1u);
}

TEST(Bind, TakesTheDeviceOfItsFirstArray) {
  const Device device = Device::Open(RecordingDriver()).value();
  const Stream stream = device.CreateStream().value();
  const auto saxpy = MakeSaxpy();
  const ArrayView<float, 1> y(device, reinterpret_cast<float*>(0x10000), {5}, {2});
  const ArrayView<const float, 1> x(device, reinterpret_cast<float*>(0x20000), {5});
  TakeRecordedLaunches();
  const auto step = saxpy.Bind(LaunchConfig{.grid = {2}, .block = {64}}, y, x, 0.5f).value();
  EXPECT_EQ(step.kernel().device(), device);
  ASSERT_TRUE(step.Launch(stream).ok());
  const std::vector<RecordedLaunch> launches = TakeRecordedLaunches();
  ASSERT_EQ(launches.size(), 1u);
  struct {
    uint64_t y[3] = {0x10000, 5, 2}, x[3] = {0x20000, 5, 1};
    float a = 0.5f;
  } wanted;
  ASSERT_EQ(launches[0].buffer.size(), 52u);
  EXPECT_EQ(std::memcmp(launches[0].buffer.data(), &wanted, 52), 0);
  EXPECT_EQ(launches[0].grid, (std::array<uint32_t, 3>{2, 1, 1}));
}

TEST(Bind, OnAGivenDevice) {
  const Device device = Device::Open("cpu").value();
  const Stream stream = device.CreateStream().value();
  const auto nothing = MakeKernel("nothing", [](Var<int32_t>) {});
  const auto bound = nothing.Bind(device, LaunchConfig{.grid = {1}, .block = {1}}, 7);
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_TRUE(bound->Launch(stream).ok());
  EXPECT_TRUE(stream.Synchronize().ok());
}

TEST(Bind, SaysWhatIsWrong) {
  const Device device = Device::Open("cpu").value();
  const auto saxpy = MakeSaxpy();
  const auto x = Array<float, 1>::Zeros(device, 3).value();
  const ArrayView<float, 1> null(device, nullptr, {3});
  EXPECT_THAT(std::string(saxpy.Bind(ForSize(3), null, x, 2.0f).status().message()),
              HasSubstr("argument 'y' (#1): its data pointer is null"));
  // The form for arrays that 32-bit offsets reach is bound: others cannot be set in their place.
  auto step = saxpy.Bind(ForSize(3), x, x, 2.0f).value();
  const ArrayView<float, 1> far(device, x.data(), {2}, {int64_t{1} << 40});
  EXPECT_THAT(std::string(step.Set<1>(far).message()), HasSubstr("the kernel computes addresses in 32 bits"));

  const auto bad = MakeKernel("bad", [](ArrayVar<uint8_t, 1> y) { y[0] = y[0] + 300; });
  const auto bytes = Array<uint8_t, 1>::Zeros(device, 3).value();
  EXPECT_EQ(bad.Bind(ForSize(1), bytes).status(), bad.status());

  std::optional<Device> passing = Device::Open(RecordingDriver()).value();
  const ArrayView<float, 1> left(*passing, reinterpret_cast<float*>(0x10000), {3});
  passing.reset();
  EXPECT_EQ(saxpy.Bind(ForSize(3), left, x, 2.0f).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace slipway
