// Launches that are captured: each way to launch, what the graph keeps, and arguments that change from step to step.
#include "slipway/graph.h"

#include <array>
#include <cstring>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "slipway/bound_launch.h"
#include "slipway/cpu_device.h"
#include "slipway/generic_kernel.h"
#include "slipway/null_driver.h"
#include "tests/launch/adding_kernel.h"
#include "tests/launch/launch_test_util.h"

namespace slipway {
namespace {

using testing::Each;

class CapturedLaunchTest : public testing::Test {
 protected:
  Array<int32_t, 1> Zeros(int64_t size = 100) const { return Array<int32_t, 1>::Zeros(device_, size).value(); }
  const Device device_ = Device::Open(CpuDriver()).value();
  const Stream stream_ = device_.CreateStream().value();
  const LaunchConfig config_ = ForSize(100);
};

TEST_F(CapturedLaunchTest, TheFirstLaunchMayBeInside) {  // FC-28
  const auto x = Zeros();
  int made = 0;
  const GenericKernel generic("add", [&](const Device& device, const Signature&) -> absl::StatusOr<Kernel> {
    ++made;
    return Kernel::Load(device, CompiledAdding());
  });
  for (const CaptureMode mode : {CaptureMode::kGlobal, CaptureMode::kThreadLocal, CaptureMode::kRelaxed}) {
    const auto before = x.ToVector().value()[0];
    const absl::StatusOr<Graph> graph = Graph::Capture(
        stream_,
        [&]() -> absl::Status {
          const AddingKernel typed = LoadAdding(device_);
          absl::Status status = typed(stream_, config_, x, 1, 1);
          status.Update(typed.kernel().Launch(stream_, config_, {x, 1, 1}));
          status.Update(generic(stream_, config_, x, 1, 1));
          status.Update(typed(stream_, ForSize(0), x, 1000, 1));  // Nothing, here too.
          return status;
        },
        mode);
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_EQ(graph->node_count(), 3u);
    EXPECT_THAT(x.ToVector().value(), Each(before));
    GraphExec exec = graph->Instantiate().value();
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(exec.Launch(stream_).ok());
    EXPECT_THAT(x.ToVector().value(), Each(before + 15));
  }
  EXPECT_EQ(made, 1);
}

TEST_F(CapturedLaunchTest, ArraysAndKernelsAreKeptHoweverTheyWereGiven) {  // FC-29
  const AddingKernel add = LoadAdding(device_);
  const auto y = Zeros();
  using Launch = std::function<absl::Status(const AddingKernel&, const Array<int32_t, 1>&)>;
  const Launch ways[] = {
      [&](const AddingKernel& kernel, const auto& x) { return kernel(stream_, config_, x, 1, 1); },
      [&](const AddingKernel& kernel, const auto& x) {
        return kernel(stream_, config_, ArrayView<int32_t, 1>(device_, x.data() + 99, {100}, {-1}), 1, 1);
      },
      [&](const AddingKernel& kernel, const auto& x) {
        return kernel.kernel().Launch(stream_, config_, {x, 1, 1});
      },
      [&](const AddingKernel& kernel, const auto& x) {
        BoundLaunch bound = kernel.kernel().Bind(config_, {y, 1, 1}).value();
        absl::Status status = bound.Set("x", x);
        status.Update(bound.Launch(stream_));
        status.Update(bound.Set("x", y));
        return status;
      },
  };
  for (const Launch& launch : ways) {
    std::optional<Array<int32_t, 1>> x = Zeros();
    std::optional<AddingKernel> kernel = LoadAdding(device_);
    const std::weak_ptr<const void> memory = internal::OwnerOf(reinterpret_cast<CUdeviceptr>(x->data()));
    std::optional<Graph> graph = Graph::Capture(stream_, [&] { return launch(*kernel, *x); }).value();
    x.reset();
    kernel.reset();
    std::optional<GraphExec> exec = graph->Instantiate().value();
    graph.reset();
    // Were the memory free, it would be taken now.
    std::vector<Array<int32_t, 1>> others;
    for (int i = 0; i < 20; ++i) others.push_back(Zeros());
    EXPECT_FALSE(memory.expired());
    ASSERT_TRUE(exec->Launch(stream_).ok());
    exec.reset();
    ASSERT_TRUE(stream_.Synchronize().ok());
    EXPECT_TRUE(memory.expired());
    for (const auto& other : others) EXPECT_THAT(other.ToVector().value(), Each(0));
  }
}

TEST_F(CapturedLaunchTest, BoundArgumentsChangeFromStepToStep) {
  const auto x = Zeros();
  const AddingKernel add = LoadAdding(device_);
  BoundLaunch step = add.kernel().Bind(config_, {x, 0, 1}).value();
  BoundLaunch fixed = add.kernel().Bind(config_, {x, 1000, 1}).value();
  GraphExec exec = Graph::Capture(stream_,
                                  [&] {
                                    absl::Status status = step.Launch(stream_);
                                    status.Update(fixed.Launch(stream_));
                                    status.Update(step.Launch(stream_));
                                    return status;
                                  })
                       .value()
                       .Instantiate()
                       .value();
  int expected = 0;
  for (int i = 1; i <= 5; ++i) {
    ASSERT_TRUE(step.Set("value", i).ok());
    ASSERT_TRUE(step.UpdateIn(exec).ok());
    ASSERT_TRUE(exec.Launch(stream_).ok());
    expected += 2 * i + 1000;
  }
  EXPECT_THAT(x.ToVector().value(), Each(expected));
  ASSERT_TRUE(step.Set("value", 50).ok());
  ASSERT_TRUE(step.UpdateIn(exec, 1).ok());
  ASSERT_TRUE(exec.Launch(stream_).ok());
  EXPECT_THAT(x.ToVector().value(), Each(expected + 5 + 1000 + 50));
}

TEST_F(CapturedLaunchTest, ABoundArrayIsKeptFromItsUpdateOn) {
  const AddingKernel add = LoadAdding(device_);
  BoundLaunch step = add.kernel().Bind(config_, {Zeros(), 1, 1}).value();
  auto result = Zeros();
  GraphExec exec = Graph::Capture(stream_, [&] { return step.Launch(stream_); }).value().Instantiate().value();
  for (int i = 0; i < 10; ++i) {
    const auto temporary = Zeros();
    ASSERT_TRUE(step.Set("x", temporary).ok());
    ASSERT_TRUE(step.UpdateIn(exec).ok());
    ASSERT_TRUE(exec.Launch(stream_).ok());
  }
  ASSERT_TRUE(step.Set("x", result).ok());
  ASSERT_TRUE(step.UpdateIn(exec).ok());
  ASSERT_TRUE(exec.Launch(stream_).ok());
  EXPECT_THAT(result.ToVector().value(), Each(1));
}

TEST_F(CapturedLaunchTest, LaunchesThatWereNotCapturedAreToldApart) {
  const auto x = Zeros();
  const AddingKernel add = LoadAdding(device_);
  const BoundLaunch captured = add.kernel().Bind(config_, {x, 1, 1}).value();
  const BoundLaunch other = add.kernel().Bind(config_, {x, 1, 1}).value();
  GraphExec exec = Graph::Capture(stream_, [&] { return captured.Launch(stream_); }).value().Instantiate().value();
  ExpectError(other.UpdateIn(exec), absl::StatusCode::kNotFound, "the graph has no launch of this bound kernel");
  EXPECT_TRUE(captured.UpdateIn(exec, 0).ok());
}

// A launch is known to a graph by a number of its own: one made where a captured one was is not taken for it.
TEST_F(CapturedLaunchTest, LaunchesThatAreGoneAreNotTakenForNewOnes) {
  const auto x = Zeros();
  const AddingKernel add = LoadAdding(device_);
  std::optional<BoundLaunch> captured = add.kernel().Bind(config_, {x, 1, 1}).value();
  GraphExec exec = Graph::Capture(stream_, [&] { return captured->Launch(stream_); }).value().Instantiate().value();
  captured.reset();
  for (int i = 0; i < 8; ++i) {
    const BoundLaunch fresh = add.kernel().Bind(config_, {x, 5, 1}).value();
    ExpectError(fresh.UpdateIn(exec), absl::StatusCode::kNotFound, "the graph has no launch of this bound kernel");
  }
}

TEST_F(CapturedLaunchTest, ForkedStreamsLaunchIntoTheGraphAndThenThemselves) {
  const auto x = Zeros();
  const auto y = Zeros();
  const AddingKernel add = LoadAdding(device_);
  const Stream side = device_.CreateStream().value();
  const Event begun = Event::Create(device_, false).value();
  const Event ended = Event::Create(device_, false).value();
  const Graph graph = Graph::Capture(stream_, [&] {
                        absl::Status status = begun.Record(stream_);
                        status.Update(side.Wait(begun));
                        status.Update(add(stream_, config_, x, 1, 1));
                        status.Update(add(side, config_, y, 2, 1));
                        status.Update(ended.Record(side));
                        status.Update(stream_.Wait(ended));
                        return status;
                      }).value();
  EXPECT_EQ(graph.node_count(), 2u);
  ASSERT_TRUE(add(side, config_, y, 10, 1).ok());
  EXPECT_THAT(y.ToVector().value(), Each(10));
  EXPECT_EQ(side.direct_device(), device_.state().get());
  GraphExec exec = graph.Instantiate().value();
  ASSERT_TRUE(exec.Launch(stream_).ok());
  EXPECT_THAT(x.ToVector().value(), Each(1));
  EXPECT_THAT(y.ToVector().value(), Each(12));
}

TEST_F(CapturedLaunchTest, AThousandKernelsAndSixteenThreads) {
  const AddingKernel add = LoadAdding(device_);
  const auto x = Zeros();
  GraphExec exec = Graph::Capture(stream_,
                                  [&] {
                                    absl::Status status;
                                    for (int i = 0; i < 1000; ++i) status.Update(add(stream_, config_, x, 1, 1));
                                    return status;
                                  })
                       .value()
                       .Instantiate()
                       .value();
  ASSERT_TRUE(exec.Launch(stream_).ok());
  EXPECT_THAT(x.ToVector().value(), Each(1000));

  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&] {
      const Stream stream = device_.CreateStream().value();
      const auto mine = Zeros();
      BoundLaunch step = add.kernel().Bind(config_, {mine, 1, 1}).value();
      GraphExec own = Graph::Capture(stream, [&] { return step.Launch(stream); }).value().Instantiate().value();
      for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(step.Set("value", i).ok());
        EXPECT_TRUE(step.UpdateIn(own).ok());
        EXPECT_TRUE(own.Launch(stream).ok());
      }
      std::vector<int32_t> values(100);
      EXPECT_TRUE(mine.CopyTo(values.data(), stream).ok());
      EXPECT_THAT(values, Each(45));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// ---- What the driver is given.

TEST(RecordedGraphTest, ANodeHoldsTheBytesOfItsLaunch) {
  const Device device = RecordingDevice();
  const Stream stream = device.CreateStream().value();
  const Kernel kernel =
      Kernel::Load(device, EmptyKernel({ArrayParam(DType::kInt32, 1), ScalarParam(DType::kFloat32)})).value();
  const auto x = Array<int32_t, 1>::Zeros(device, 640).value();
  const auto y = Array<int32_t, 1>::Zeros(device, 320).value();
  BoundLaunch bound = kernel.Bind(ForSize(640), {x, 1.5f}).value();
  const Graph graph = Graph::Capture(stream, [&] { return bound.Launch(stream); }).value();
  EXPECT_TRUE(TakeRecordedLaunches().empty());
  GraphExec exec = graph.Instantiate().value();
  const auto check = [&](const auto& array, float value) {
    ASSERT_TRUE(exec.Launch(stream).ok());
    const std::vector<RecordedLaunch> launches = TakeRecordedLaunches();
    ASSERT_EQ(launches.size(), 1u);
    const RecordedLaunch& launch = launches[0];
    EXPECT_EQ(launch.function, kernel.plan().function);
    EXPECT_EQ(launch.stream, stream.handle());
    EXPECT_EQ(launch.graph, exec.handle());
    const uint32_t block = kernel.plan().block;
    EXPECT_EQ(launch.block, (std::array<uint32_t, 3>{block, 1, 1}));
    EXPECT_EQ(launch.grid, (std::array<uint32_t, 3>{(static_cast<uint32_t>(array.size()) + block - 1) / block, 1, 1}));
    // The PTX ABI's layout: {pointer, extent, stride} and a float behind.
    unsigned char expected[28];
    const int64_t words[3] = {reinterpret_cast<int64_t>(array.data()), array.size(), 1};
    std::memcpy(expected, words, 24);
    std::memcpy(expected + 24, &value, 4);
    EXPECT_THAT(launch.buffer, testing::ElementsAreArray(expected));
  };
  check(x, 1.5f);
  ASSERT_TRUE(bound.Set(0, y).ok());
  ASSERT_TRUE(bound.Set(1, 2.5f).ok());
  ASSERT_TRUE(bound.SetConfig(ForSize(320)).ok());
  check(x, 1.5f);  // Not yet.
  ASSERT_TRUE(bound.UpdateIn(exec).ok());
  check(y, 2.5f);
}

}  // namespace
}  // namespace slipway
