// C functions of the program, launched by every way in.
#include "slipway/host_function.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "slipway/array.h"
#include "slipway/bound_launch.h"
#include "slipway/device.h"
#include "slipway/generic_kernel.h"
#include "slipway/hooks.h"
#include "slipway/kernel.h"
#include "slipway/null_driver.h"
#include "slipway/stream.h"
#include "slipway/tensor_trait.h"

// The error type of another project's C functions.
extern "C" {
struct Error {
  const char* str;
  const char* filename;
  int64_t id;
  int64_t attempt;
};
}

template <>
struct slipway::HostResult<Error> {
  static absl::Status ToStatus(const Error& error) {
    if (error.str == nullptr) return absl::OkStatus();
    return absl::OutOfRangeError(std::string(error.str) + " at " + std::to_string(error.id));
  }
};

struct Vec {
  double* data;
  int64_t shape[1];
  int64_t strides[1];
};
template <>
struct slipway::TensorTrait<Vec> {
  static constexpr DType kDType = DType::kFloat64;
  static constexpr int kRank = 1;
  static double* data(const Vec& t) { return t.data; }
  static const int64_t* shape(const Vec& t) { return t.shape; }
  static const int64_t* strides(const Vec& t) { return t.strides; }
};

namespace slipway {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void Scale(double* to, const double* from, double by, int64_t length) {
  for (int64_t i = 0; i < length; ++i) to[i] = by * from[i];
}
Error Take(int32_t* to, const int32_t* from, const int64_t* index, int64_t length, int64_t from_length) {
  for (int64_t i = 0; i < length; ++i) {
    if (index[i] < 0 || index[i] >= from_length) return {"index out of range", "take.cc", i, index[i]};
    to[i] = from[index[i]];
  }
  return {};
}
absl::Status Sum(double* to, const double* from, int64_t length) {
  if (length == 0) return absl::FailedPreconditionError("nothing to sum; give one element or more");
  *to = 0;
  for (int64_t i = 0; i < length; ++i) *to += from[i];
  return absl::OkStatus();
}
struct Pair {
  int8_t a;
  double b;
};
struct Seen {
  bool flag;
  int8_t i8;
  uint16_t u16;
  float f32;
  Pair pair;
  std::complex<float> c64;
  const void* any;
  uint64_t u64;
};
void Mixed(Seen* seen, bool flag, int8_t i8, uint16_t u16, float f32, Pair pair, std::complex<float> c64,
           const void* any, uint64_t u64) {
  *seen = {flag, i8, u16, f32, pair, c64, any, u64};
}
int calls = 0;
void Count() { ++calls; }
void Nothrow(int32_t* to) noexcept { *to = 1; }

class HostFunctionTest : public testing::Test {
 protected:
  const Device device_ = Device::Open("host").value();
  const Stream stream_ = device_.CreateStream().value();
  const Array<double, 1> x_ = Array<double, 1>::From(device_, {1, 2, 3}).value();
  const Array<double, 1> y_ = Array<double, 1>::Zeros(device_, 3).value();
};

TEST_F(HostFunctionTest, RunsWhenItIsLaunched) {
  const auto scale = HostFunction::Make("scale", &Scale).value();
  static_assert(std::is_same_v<decltype(scale), const TypedKernel<double*, const double*, double, int64_t>>);
  ASSERT_EQ(scale(stream_, kCallOnce, y_, x_, 2.0, 3), absl::OkStatus());
  EXPECT_THAT(y_.ToVector().value(), ElementsAre(2, 4, 6));
}

TEST_F(HostFunctionTest, TakesMemoryThatIsThere) {
  const auto scale = HostFunction::Make("scale", &Scale).value();
  std::vector<double> from = {1, 2, 3, 4}, to(4);
  ASSERT_EQ(scale(stream_, kCallOnce, to.data(), from.data(), 3.0, 4), absl::OkStatus());
  EXPECT_THAT(to, ElementsAre(3, 6, 9, 12));
  const ArrayView<double, 2> view(device_, to.data(), {2, 2});
  ASSERT_EQ(scale(stream_, kCallOnce, view, from.data(), 1.0, view.size()), absl::OkStatus());
  EXPECT_EQ(to, from);
  const Vec tensor = {to.data(), {4}, {1}};
  ASSERT_EQ(scale(stream_, kCallOnce, tensor, from.data(), 5.0, 4), absl::OkStatus());
  EXPECT_THAT(to, ElementsAre(5, 10, 15, 20));
}

TEST_F(HostFunctionTest, ArraysStandForAddressesOfAnything) {
  const auto copy = HostFunction::Make(
                        "copy", +[](void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); })
                        .value();
  ASSERT_EQ(copy(stream_, kCallOnce, y_, x_, sizeof(double) * 3), absl::OkStatus());
  EXPECT_THAT(y_.ToVector().value(), ElementsAre(1, 2, 3));
  const ArrayView<const double, 1> constant = x_;
  ASSERT_EQ(copy(stream_, kCallOnce, y_, constant, sizeof(double) * 3), absl::OkStatus());
  static_assert(ArgumentFor<const void*, ArrayView<const double, 1>>);
  static_assert(!ArgumentFor<void*, ArrayView<const double, 1>>);
  const Vec tensor = {y_.data(), {3}, {1}};
  ASSERT_EQ(copy(stream_, kCallOnce, tensor, x_, sizeof(double)), absl::OkStatus());
  const Array<double, 1> elsewhere = Array<double, 1>::Zeros(Device::Open(NullDriver()).value(), 3).value();
  EXPECT_THAT(std::string(copy(stream_, kCallOnce, y_, elsewhere, sizeof(double)).message()), HasSubstr("null device"));
}

TEST_F(HostFunctionTest, EveryWayIn) {
  const auto typed = HostFunction::Make("scale", &Scale, {"to", "from", "by", "length"}).value();
  const Kernel& kernel = typed.kernel();
  EXPECT_EQ(kernel.name(), "scale");
  ASSERT_EQ(kernel(stream_, kCallOnce, y_, x_, 2.0, int64_t{3}), absl::OkStatus());
  EXPECT_THAT(y_.ToVector().value(), ElementsAre(2, 4, 6));
  ASSERT_EQ(kernel.Launch(stream_, ForSize(3), {y_, x_, 3.0, int64_t{3}}), absl::OkStatus());
  EXPECT_THAT(y_.ToVector().value(), ElementsAre(3, 6, 9));
  ASSERT_EQ(kernel.LaunchByName(stream_, kCallOnce, {{"length", int64_t{3}}, {"by", 4.0}, {"from", x_}, {"to", y_}}),
            absl::OkStatus());
  EXPECT_THAT(y_.ToVector().value(), ElementsAre(4, 8, 12));
  auto bound = typed.Bind(kCallOnce, y_, x_, 5.0, 3).value();
  ASSERT_EQ(bound.Launch(stream_), absl::OkStatus());
  EXPECT_THAT(y_.ToVector().value(), ElementsAre(5, 10, 15));
  ASSERT_EQ(bound.Set<2>(6.0), absl::OkStatus());
  ASSERT_EQ(bound.Launch(stream_), absl::OkStatus());
  EXPECT_THAT(y_.ToVector().value(), ElementsAre(6, 12, 18));
  ASSERT_EQ(kernel.Launch(device_.DefaultStream(), kCallOnce, {y_, x_, 7.0, int64_t{3}}), absl::OkStatus());
  EXPECT_THAT(y_.ToVector().value(), ElementsAre(7, 14, 21));
}

TEST_F(HostFunctionTest, IsCalledOnceWhateverTheGrid) {
  const auto count = HostFunction::Make("count", &Count).value();
  calls = 0;
  ASSERT_TRUE(count(stream_, {.grid = {7, 2, 1}, .block = {32}}).ok());
  ASSERT_TRUE(count(stream_, ForSize(int64_t{1} << 35)).ok());
  EXPECT_EQ(calls, 2);
  ASSERT_TRUE(count(stream_, ForSize(0)).ok());
  EXPECT_EQ(calls, 2);
  ASSERT_TRUE(count(stream_, {.grid = {1}, .block = {1}, .priority = 1}).ok());  // By LaunchKernelEx.
  EXPECT_EQ(calls, 3);
}

TEST_F(HostFunctionTest, ParametersOfEveryKind) {
  const auto mixed = HostFunction::Make("mixed", &Mixed).value();
  Seen seen = {};
  const std::complex<float> c64(1, -2);
  ASSERT_EQ(
      mixed(stream_, kCallOnce, &seen, true, int8_t{-5}, uint16_t{65535}, 0.5f, Pair{3, 4.5}, c64, &calls, UINT64_MAX),
      absl::OkStatus());
  EXPECT_TRUE(seen.flag);
  EXPECT_EQ(seen.i8, -5);
  EXPECT_EQ(seen.u16, 65535);
  EXPECT_EQ(seen.f32, 0.5f);
  EXPECT_EQ(seen.pair.a, 3);
  EXPECT_EQ(seen.pair.b, 4.5);
  EXPECT_EQ(seen.c64, c64);
  EXPECT_EQ(seen.any, &calls);
  EXPECT_EQ(seen.u64, UINT64_MAX);
  const auto nothrow = HostFunction::Make("nothrow", &Nothrow).value();
  int32_t to = 0;
  ASSERT_TRUE(nothrow(stream_, kCallOnce, &to).ok());
  EXPECT_EQ(to, 1);
}

TEST_F(HostFunctionTest, ReturnsItsStatus) {
  const auto sum = HostFunction::Make("sum", &Sum).value();
  double total = 0;
  EXPECT_EQ(sum(stream_, kCallOnce, &total, x_, 3), absl::OkStatus());
  EXPECT_EQ(total, 6);
  EXPECT_EQ(sum(stream_, kCallOnce, &total, x_, 0),
            absl::FailedPreconditionError("kernel 'sum': nothing to sum; give one element or more"));
  EXPECT_EQ(sum(stream_, kCallOnce, &total, x_, 2), absl::OkStatus());  // It does not stick.
  EXPECT_TRUE(stream_.Synchronize().ok());
  // The other roads, too.
  auto bound = sum.Bind(kCallOnce, &total, x_, 0).value();
  EXPECT_EQ(bound.Launch(stream_).message(), "kernel 'sum': nothing to sum; give one element or more");
  EXPECT_EQ(sum(device_.DefaultStream(), kCallOnce, &total, x_, 0).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(HostFunctionTest, ReturnsAnApplicationsOwnErrors) {
  const auto take = HostFunction::Make("take", &Take).value();
  const std::vector<int32_t> from = {10, 20, 30};
  std::vector<int64_t> index = {2, 0, 3};
  std::vector<int32_t> to(3);
  EXPECT_EQ(take(stream_, kCallOnce, to.data(), from.data(), index.data(), 3, 3),
            absl::OutOfRangeError("kernel 'take': index out of range at 2"));
  index[2] = 1;
  EXPECT_EQ(take(stream_, kCallOnce, to.data(), from.data(), index.data(), 3, 3), absl::OkStatus());
  EXPECT_THAT(to, ElementsAre(30, 10, 20));
}

TEST_F(HostFunctionTest, HooksSeeIt) {
  const auto sum = HostFunction::Make("sum", &Sum).value();
  std::vector<std::string> seen;
  const HookRegistration hook = AddHook(HookPoint::kAfterLaunch, [&](const HookEvent& event) {
                                  seen.push_back(std::string(event.name) + " on " + event.device->Describe() + ": " +
                                                 std::string(event.status->message()));
                                }).value();
  double total = 0;
  ASSERT_FALSE(sum(stream_, kCallOnce, &total, x_, 0).ok());
  EXPECT_THAT(seen, ElementsAre("sum on host (host:0): kernel 'sum': nothing to sum; give one element or more"));
}

// Arguments are checked like a GPU kernel's.
TEST_F(HostFunctionTest, ChecksItsArguments) {
  const auto scale = HostFunction::Make("scale", &Scale, {"to", "from", "by", "length"}).value();
  std::vector<double> values(12);
  const ArrayView<double, 2> strided(device_, values.data(), {3, 2}, {4, 1});
  absl::Status status = scale(stream_, kCallOnce, strided, x_, 1.0, 3);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("argument 'to' (#1)"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("contiguous"));
  const ArrayView<const double, 1> constant(device_, values.data(), {3});
  status = scale.kernel()(stream_, kCallOnce, constant, x_, 1.0, int64_t{3});
  EXPECT_THAT(std::string(status.message()), HasSubstr("argument 'to' (#1)"));
  const auto elsewhere = Array<double, 1>::Zeros(Device::Open(NullDriver()).value(), 3).value();
  status = scale(stream_, kCallOnce, y_, elsewhere, 1.0, 3);
  EXPECT_THAT(std::string(status.message()), HasSubstr("argument 'from' (#2)"));
  status = scale.kernel().Launch(stream_, kCallOnce, {y_, x_, 1.0f, int64_t{3}});
  EXPECT_THAT(std::string(status.message()), HasSubstr("argument 'by' (#3)"));
  const Stream foreign = Device::Open(NullDriver())->CreateStream().value();
  status = scale(foreign, kCallOnce, y_, x_, 1.0, 3);
  EXPECT_THAT(std::string(status.message()), HasSubstr("launch on a stream of the kernel's device"));
}

TEST_F(HostFunctionTest, WhatCannotBeRegistered) {
  EXPECT_EQ(HostFunction::Make("", &Scale).status(),
            absl::InvalidArgumentError("HostFunction::Make: the name is empty; give one, which messages then show"));
  EXPECT_EQ(HostFunction::Make("f", static_cast<void (*)(int32_t)>(nullptr)).status(),
            absl::InvalidArgumentError("host function 'f': the function is null; give the address of one"));
  EXPECT_EQ(
      HostFunction::Make("f", &Sum, {"to", "from"}).status(),
      absl::InvalidArgumentError("host function 'f': 2 names were given for 3 parameters; give one a parameter, or "
                                 "none"));
  EXPECT_EQ(
      HostFunction::Make("f", &Nothrow, {"a", "b"}).status(),
      absl::InvalidArgumentError("host function 'f': 2 names were given for 1 parameter; give one a parameter, or "
                                 "none"));
  EXPECT_EQ(HostFunction::Make("f", &Sum, {"a"}).status(),
            absl::InvalidArgumentError("host function 'f': 1 name was given for 3 parameters; give one a parameter, or "
                                       "none"));
}

TEST_F(HostFunctionTest, ThreadsEachGetTheirOwnError) {
  const auto take = HostFunction::Make("take", &Take).value();
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const Stream stream = device_.CreateStream().value();
      const std::vector<int32_t> from(8);
      std::vector<int64_t> index(8, 0);
      std::vector<int32_t> to(8);
      index[t] = 9;
      const std::string wanted = "kernel 'take': index out of range at " + std::to_string(t);
      for (int i = 0; i < 200; ++i) {
        EXPECT_EQ(take(stream, kCallOnce, to.data(), from.data(), index.data(), 8, 8).message(), wanted);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// One GenericKernel for the host and for the other devices: one cache, one way to call it.
TEST_F(HostFunctionTest, OneGenericKernelServesHostAndGpu) {
  const Device gpu = Device::Open(RecordingDriver()).value();
  int made = 0;
  const GenericKernel scale("scale", [&](const Device& device, const Signature& signature) -> absl::StatusOr<Kernel> {
    ++made;
    if (&device.api() == &HostDriver()) return HostFunction::Make("scale", &Scale)->kernel();
    Signature own = signature;
    own[1].read_only = true;
    auto inspection = std::make_shared<Inspection>();
    inspection->ptx = ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry scale()\n{\n  ret;\n}\n";
    return Kernel::Load(device, {.name = "scale", .signature = own, .inspection = inspection});
  });
  ASSERT_EQ(scale(stream_, kCallOnce, y_, x_, 2.0, int64_t{3}), absl::OkStatus());
  EXPECT_THAT(y_.ToVector().value(), ElementsAre(2, 4, 6));
  const auto gpu_x = Array<double, 1>::Zeros(gpu, 3).value(), gpu_y = Array<double, 1>::Zeros(gpu, 3).value();
  const Stream gpu_stream = gpu.CreateStream().value();
  TakeRecordedLaunches();
  ASSERT_EQ(scale(gpu_stream, ForSize(3), gpu_y, gpu_x, 2.0, int64_t{3}), absl::OkStatus());
  EXPECT_EQ(TakeRecordedLaunches().size(), 1);
  ASSERT_EQ(scale(stream_, kCallOnce, y_, x_, 3.0, int64_t{3}), absl::OkStatus());
  EXPECT_THAT(y_.ToVector().value(), ElementsAre(3, 6, 9));
  EXPECT_EQ(made, 2);
}

}  // namespace
}  // namespace slipway
