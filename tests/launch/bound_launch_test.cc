// Launches that are bound: what may be set, what is refused and then stays as it was, and what they keep alive. The
// bytes that they launch with are packing_test.cc's.
#include "slipway/bound_launch.h"

#include <optional>

#include "slipway/fault_driver.h"
#include "slipway/graph.h"
#include "tests/launch/expect_launch.h"

namespace slipway {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using enum absl::StatusCode;

class BoundLaunchTest : public testing::Test {
 protected:
  using Saxpy = TypedKernel<ArrayView<float, 1>, ArrayView<const float, 1>, float>;

  static Signature SaxpySignature() {
    Signature signature = {ArrayParam(DType::kFloat32, 1), ArrayParam(DType::kFloat32, 1, Layout::kStrided, true),
                           ScalarParam(DType::kFloat32)};
    signature[0].name = "y";
    signature[1].name = "x";
    signature[2].name = "a";
    return signature;
  }
  // The launch with these arguments that any other way makes.
  Bytes Packed(const Arg& y, const Arg& x, float a) {
    EXPECT_TRUE(kernel_.Launch(stream_, config_, {y, x, a}).ok());
    return TakeRecordedLaunches()[0].buffer;
  }

  Device device_ = RecordingDevice();
  Stream stream_ = device_.CreateStream().value();
  Kernel kernel_ = Kernel::Load(device_, EmptyKernel(SaxpySignature(), "saxpy")).value();
  Array<float, 1> x_ = Array<float, 1>::Empty(device_, 1000).value();
  Array<float, 1> y_ = Array<float, 1>::Empty(device_, 1000).value();
  const LaunchConfig config_{.grid = {4}, .block = {256}};
};

TEST_F(BoundLaunchTest, LaunchesWithWhatItHasNow) {
  BoundLaunch bound = kernel_.Bind(config_, {y_, x_, 2.0f}).value();
  const Bytes first = Packed(y_, x_, 2.0f), second = Packed(x_, y_, 3.0f);
  ExpectLaunched(bound.Launch(stream_), kernel_, stream_, config_, first);
  ASSERT_TRUE(bound.Set(0, x_).ok());
  ASSERT_TRUE(bound.Set("x", y_).ok());
  ASSERT_TRUE(bound.Set("a", 3.0f).ok());
  ExpectLaunched(bound.Launch(stream_), kernel_, stream_, config_, second);
  EXPECT_EQ(bound.kernel().name(), "saxpy");
  // On other streams; default ones want their context current.
  const Stream other = device_.CreateStream().value();
  ExpectLaunched(bound.Launch(other), kernel_, other, config_, second);
  ASSERT_TRUE(bound.Launch(device_.DefaultStream()).ok());
  const auto launches = TakeRecordedLaunches();
  ASSERT_THAT(launches, SizeIs(1));
  EXPECT_EQ(launches[0].context, device_.context());
  EXPECT_EQ(launches[0].buffer, second);
  // Moved to another place.
  std::optional<BoundLaunch> moved(std::move(bound));
  ExpectLaunched(moved->Launch(stream_), kernel_, stream_, config_, second);
}

TEST_F(BoundLaunchTest, BindRefusesWhatALaunchRefuses) {
  ExpectRefused(kernel_.Bind(config_, {y_, x_}).status(), "kernel 'saxpy': 2 arguments were given and 3 are wanted");
  ExpectRefused(kernel_.Bind(config_, {y_, x_, 2.0}).status(),
                "kernel 'saxpy': argument 'a' (#3): a float64 scalar was given where float32 is wanted exactly");
  ExpectRefused(kernel_.Bind({.grid = {1, 65536}, .block = {32}}, {y_, x_, 2.0f}).status(),
                "kernel 'saxpy': grid.y is 65536; the limit is 65535");
  ExpectRefused(kernel_.Bind(ForSize(-1), {y_, x_, 2.0f}).status(), "the size -1 is negative");
  ExpectRefused(kernel_.BindByName(config_, {{"y", y_}, {"x", x_}}).status(), "argument 'a' is missing");
  const Saxpy typed = Saxpy::From(kernel_).value();
  const ArrayView<float, 1> null(device_, nullptr, {10});
  ExpectRefused(typed.Bind(config_, null, x_, 2.0f).status(), "argument 'y' (#1): its data pointer is null");
  ExpectRefused(typed.Bind(LaunchConfig{}, y_, x_, 2.0f).status(), "grid.x is 0 and no size is given");
}

TEST_F(BoundLaunchTest, WhatDoesNotFitLeavesTheOld) {
  BoundLaunch bound = kernel_.Bind(config_, {y_, x_, 2.0f}).value();
  const Bytes before = Packed(y_, x_, 2.0f);
  ExpectError(bound.Set(3, 1.0f), kOutOfRange,
              "kernel 'saxpy': there is no argument at index 3; it has 3, counted from 0: (y: float32[:], x: const "
              "float32[:], a: float32)");
  ExpectError(bound.Set("b", 1.0f), kNotFound,
              "kernel 'saxpy': no parameter is called 'b'; they are (y: float32[:], x: const float32[:], a: float32)");
  ExpectRefused(bound.Set(2, 1.0), "kernel 'saxpy': argument 'a' (#3): a float64 scalar was given");
  ExpectRefused(bound.Set("y", ArrayView<const float, 1>(x_)), "argument 'y' (#1): the kernel writes it and it is a");
  ExpectRefused(bound.SetConfig({.grid = {1}, .block = {2000}}), "kernel 'saxpy': block.x is 2000");
  LaunchConfig much = ForSize(10);
  much.shared_bytes = 1 << 30;
  ExpectRefused(bound.SetConfig(much), "bytes of dynamic shared memory were asked for");
  ExpectLaunched(bound.Launch(stream_), kernel_, stream_, config_, before);
}

TEST_F(BoundLaunchTest, TypedSetChecksArrays) {
  const Saxpy typed = Saxpy::From(kernel_).value();
  auto bound = typed.Bind(config_, y_, x_, 2.0f).value();
  const Bytes before = Packed(y_, x_, 2.0f);
  const ArrayView<float, 1> null(device_, nullptr, {10}), repeated(device_, y_.data(), {10}, {0});
  ExpectRefused(bound.Set<0>(null),
                "kernel 'saxpy': argument 'y' (#1): its data pointer is null though it has elements");
  ExpectRefused(bound.Set<0>(repeated), "argument 'y' (#1): the kernel writes it and several of its indices share");
  ExpectLaunched(bound.Launch(stream_), kernel_, stream_, config_, before);
  ASSERT_TRUE(bound.Set<1>(repeated).ok());  // Any strides may be read.
  ASSERT_TRUE(bound.Set<2>(-1.0f).ok());
  ExpectLaunched(bound.Launch(stream_), kernel_, stream_, config_, Packed(y_, repeated, -1.0f));
  EXPECT_EQ(bound.kernel().name(), "saxpy");

  using Contiguous = TypedKernel<ArrayView<float, 1, Layout::kContiguous>, float*>;
  auto promised = Contiguous::Load(device_, EmptyKernel({ArrayParam(DType::kFloat32, 1, Layout::kContiguous),
                                                         {.kind = ParamKind::kPointer, .dtype = DType::kFloat32}}))
                      .value()
                      .Bind(config_, y_, y_.data())
                      .value();
  const ArrayView<float, 1> gaps(device_, y_.data(), {10}, {3});
  ExpectRefused(promised.Set<0>(gaps), "argument 'p0' (#1): the kernel is compiled for contiguous memory");
  ExpectRefused(promised.Set<1>(gaps), "argument 'p1' (#2): the kernel takes a bare address and its elements are not");
  ASSERT_TRUE(promised.Set<1>(x_).ok());
  ASSERT_TRUE(promised.Launch(stream_).ok());
  EXPECT_THAT(TakeRecordedLaunches(), SizeIs(1));
}

template <size_t I, class A>
constexpr bool kCanSet = requires(BoundKernel<ArrayView<float, 1>, float>& bound, const A& arg) {
  bound.template Set<I>(arg);
};
static_assert(kCanSet<1, float>);
static_assert(!kCanSet<1, double>);  // Narrows.
static_assert(!kCanSet<2, float>);   // There is none.
static_assert(kCanSet<0, Array<float, 1>>);
static_assert(!kCanSet<0, ArrayView<const float, 1>>);

TEST_F(BoundLaunchTest, ConfigurationsAreReplaced) {
  BoundLaunch bound = kernel_.Bind(ForSize(1000), {y_, x_, 2.0f}).value();
  const Bytes packed = Packed(y_, x_, 2.0f);
  const uint32_t block = kernel_.plan().block;
  ExpectLaunched(bound.Launch(stream_), kernel_, stream_, {.grid = {(999 + block) / block}, .block = {block}}, packed);
  // A launch of nothing launches nothing, and can be given something again. Streams are still looked at.
  ASSERT_TRUE(bound.SetConfig(ForSize(0)).ok());
  EXPECT_TRUE(bound.Launch(stream_).ok());
  EXPECT_TRUE(bound.Launch(device_.DefaultStream()).ok());
  EXPECT_THAT(TakeRecordedLaunches(), IsEmpty());
  const Device other = Device::Open(NullDriver()).value();
  ExpectRefused(bound.Launch(other.CreateStream().value()), "kernel 'saxpy': it is loaded on ");
  ASSERT_TRUE(bound.SetConfig(config_).ok());
  ExpectLaunched(bound.Launch(stream_), kernel_, stream_, config_, packed);
  // Attributes, which go another way.
  LaunchConfig cooperative = config_;
  cooperative.cooperative = true;
  ASSERT_TRUE(bound.SetConfig(cooperative).ok());
  ASSERT_TRUE(bound.Launch(stream_).ok());
  auto launches = TakeRecordedLaunches();
  ASSERT_THAT(launches, SizeIs(1));
  ExpectLaunch(launches[0], kernel_, stream_, config_, packed);
  ASSERT_THAT(launches[0].attributes, SizeIs(1));
  EXPECT_EQ(launches[0].attributes[0].id, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  ASSERT_TRUE(bound.Launch(device_.DefaultStream()).ok());
  launches = TakeRecordedLaunches();
  ASSERT_THAT(launches, SizeIs(1));
  EXPECT_THAT(launches[0].attributes, SizeIs(1));
  EXPECT_EQ(launches[0].context, device_.context());
}

TEST_F(BoundLaunchTest, StreamsThatCannotBeLaunchedOn) {
  const BoundLaunch bound = kernel_.Bind(config_, {y_, x_, 2.0f}).value();
  const Device other = Device::Open(NullDriver()).value();
  ExpectRefused(bound.Launch(other.CreateStream().value()), "kernel 'saxpy': it is loaded on ");
  ExpectRefused(bound.Launch(other.DefaultStream()), "launch on a stream of the kernel's device");
  Stream moved = device_.CreateStream().value();
  const Stream now = std::move(moved);
  ExpectError(bound.Launch(moved), kFailedPrecondition, "kernel 'saxpy': ");
  EXPECT_THAT(TakeRecordedLaunches(), IsEmpty());
  EXPECT_TRUE(bound.Launch(now).ok());
}

TEST_F(BoundLaunchTest, KeepsItsKernelLoaded) {
  TakeRecordedLaunches();
  const int64_t before = CountRecordedObjects().modules;
  std::optional<BoundLaunch> bound;
  {
    const Kernel kernel = Kernel::Load(device_, EmptyKernel({ScalarParam(DType::kInt32)})).value();
    bound = kernel.Bind(config_, {1}).value();
  }
  EXPECT_EQ(CountRecordedObjects().modules, before + 1);
  EXPECT_TRUE(bound->Launch(stream_).ok());
  bound.reset();
  EXPECT_EQ(CountRecordedObjects().modules, before);
}

TEST_F(BoundLaunchTest, DriverErrorsAreReported) {
  FaultDriver& fault = *FaultDriver::Wrap(RecordingDriver()).value();
  const Device device = Device::Open(fault.api()).value();
  const Stream stream = device.CreateStream().value();
  const Kernel kernel = Kernel::Load(device, EmptyKernel({ScalarParam(DType::kInt32)}, "k")).value();
  BoundLaunch bound = kernel.Bind(config_, {1}).value();
  ASSERT_TRUE(fault.Arm({.function = "LaunchKernel", .result = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES}).ok());
  const absl::Status status = bound.Launch(stream);
  fault.Disarm();
  EXPECT_THAT(std::string(status.message()),
              testing::HasSubstr("launch of kernel 'k': CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)"));
  EXPECT_TRUE(bound.Launch(stream).ok());
}

TEST_F(BoundLaunchTest, UpdatesWhatAGraphLaunches) {
  BoundLaunch bound = kernel_.Bind(config_, {y_, x_, 2.0f}).value();
  const BoundLaunch never = kernel_.Bind(config_, {y_, x_, 2.0f}).value();
  const Graph graph = Graph::Capture(stream_, [&]() -> absl::Status {
                        for (int i = 0; i < 3; ++i) {
                          if (absl::Status status = bound.Launch(stream_); !status.ok()) return status;
                        }
                        return absl::OkStatus();
                      }).value();
  GraphExec exec = graph.Instantiate().value();
  const Bytes before = Packed(y_, x_, 2.0f), after = Packed(x_, y_, 5.0f);
  const LaunchConfig larger{.grid = {9, 2}, .block = {128}, .shared_bytes = 64};
  ASSERT_TRUE(bound.Set(0, x_).ok() && bound.Set(1, y_).ok() && bound.Set(2, 5.0f).ok());
  ASSERT_TRUE(bound.SetConfig(larger).ok());
  const auto launched = [&](absl::Span<const bool> updated) {
    ASSERT_TRUE(exec.Launch(stream_).ok());
    const auto launches = TakeRecordedLaunches();
    ASSERT_EQ(launches.size(), updated.size());
    for (size_t i = 0; i < updated.size(); ++i) {
      EXPECT_EQ(launches[i].buffer, updated[i] ? after : before) << i;
      EXPECT_EQ(launches[i].grid, AsArray(updated[i] ? larger.grid : config_.grid)) << i;
      EXPECT_EQ(launches[i].block, AsArray(updated[i] ? larger.block : config_.block)) << i;
      EXPECT_EQ(launches[i].shared_bytes, updated[i] ? 64u : 0u) << i;
    }
  };
  launched({false, false, false});  // What is set does not change what was captured.
  ASSERT_TRUE(bound.UpdateIn(exec, 1).ok());
  launched({false, true, false});
  ASSERT_TRUE(bound.UpdateIn(exec).ok());
  launched({true, true, true});

  EXPECT_EQ(bound.UpdateIn(exec, 3).code(), kNotFound);
  EXPECT_EQ(never.UpdateIn(exec).code(), kNotFound);
  ASSERT_TRUE(bound.SetConfig(ForSize(0)).ok());
  ExpectError(bound.UpdateIn(exec), kFailedPrecondition,
              "kernel 'saxpy': a launch of size 0 launches nothing, and a graph's node cannot; give it a size");
  launched({true, true, true});

  LaunchConfig cooperative = config_;
  cooperative.cooperative = true;
  ASSERT_TRUE(bound.SetConfig(cooperative).ok());
  ExpectError(bound.UpdateIn(exec), kFailedPrecondition,
              "kernel 'saxpy': the attributes of its configuration are not those that it was bound with, and a graph's "
              "node cannot change them; bind and capture it anew");
  ASSERT_TRUE(bound.SetConfig(config_).ok());
  EXPECT_TRUE(bound.UpdateIn(exec).ok());
}

}  // namespace
}  // namespace slipway
