// Captures and graphs by their handles, with launches made by hand: what runs when, and what is kept alive.
#include "slipway/graph.h"

#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "slipway/fault_driver.h"
#include "slipway/memory.h"
#include "slipway/module.h"
#include "slipway/null_driver.h"
#include "slipway/stream.h"
#include "tests/assembled.h"
#include "tests/driver/adding.h"
#include "tests/driver/backends.h"

namespace slipway {
namespace {

using ::testing::Each;

class GraphTest : public testing::TestWithParam<Backend> {
 protected:
  // Whether graphs hold what was captured: the null driver's are empty.
  bool captures() const { return GetParam().api != &NullDriver(); }
  bool computes() const { return IsComputing(*GetParam().api); }
  const Device device_ = Device::Open(*GetParam().api).value();
  const Stream stream_ = device_.CreateStream().value();
};

TEST_P(GraphTest, RecordsOnceAndRunsOftenAlsoWithAFirstLoadInside) {  // FC-28
  const Sums sums(device_);
  std::optional<Adding> add;
  const Graph graph = Graph::Capture(stream_, [&]() -> absl::Status {
                        EXPECT_TRUE(stream_.IsCapturing());
                        EXPECT_EQ(stream_.direct_device(), nullptr);
                        EXPECT_FALSE(stream_.needs_context());
                        add.emplace(device_);  // Loads the kernel.
                        for (int i = 0; i < 3; ++i) add->Launch(stream_, sums, 1);
                        return absl::OkStatus();
                      }).value();
  EXPECT_FALSE(stream_.IsCapturing());
  EXPECT_EQ(stream_.direct_device(), device_.state().get());
  EXPECT_EQ(graph.device(), device_);
  EXPECT_EQ(graph.node_count(), captures() ? 3u : 0u);
  ASSERT_TRUE(stream_.Synchronize().ok());
  if (computes()) {
    EXPECT_THAT(sums.Read(), Each(0));
  }

  GraphExec exec = graph.Instantiate().value();
  EXPECT_EQ(exec.device(), device_);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(exec.Launch(stream_).ok());
  ASSERT_TRUE(stream_.Synchronize().ok());
  if (computes()) {
    EXPECT_THAT(sums.Read(), Each(15));
  }
  add->Launch(stream_, sums, 1);  // The stream is an ordinary one.
  ASSERT_TRUE(stream_.Synchronize().ok());
  if (computes()) {
    EXPECT_THAT(sums.Read(), Each(16));
  }
}

TEST_P(GraphTest, AnEmptyGraph) {
  const Graph graph = Graph::Capture(stream_, [] { return absl::OkStatus(); }).value();
  EXPECT_EQ(graph.node_count(), 0u);
  GraphExec exec = graph.Instantiate().value();
  EXPECT_TRUE(exec.Launch(stream_).ok());
  EXPECT_TRUE(stream_.Synchronize().ok());
}

TEST_P(GraphTest, StreamsForkAndJoin) {
  const Sums sums(device_);
  const Adding add(device_);
  const Stream side = device_.CreateStream().value();
  const Event begun = Event::Create(device_, false).value();
  const Event ended = Event::Create(device_, false).value();
  const Graph graph = Graph::Capture(stream_, [&]() -> absl::Status {
                        add.Launch(stream_, sums, 1);
                        absl::Status status = begun.Record(stream_);
                        status.Update(side.Wait(begun));
                        EXPECT_TRUE(side.IsCapturing());
                        EXPECT_EQ(side.direct_device(), nullptr);
                        add.Launch(side, sums, 20);
                        status.Update(ended.Record(side));
                        status.Update(stream_.Wait(ended));
                        add.Launch(stream_, sums, 300);
                        return status;
                      }).value();
  EXPECT_EQ(graph.node_count(), captures() ? 3u : 0u);
  EXPECT_EQ(side.direct_device(), nullptr);  // Not told yet.
  EXPECT_EQ(side.capture(), nullptr);        // What a launch asks on its slow road.
  EXPECT_EQ(side.direct_device(), device_.state().get());

  GraphExec exec = graph.Instantiate().value();
  ASSERT_TRUE(exec.Launch(stream_).ok());
  ASSERT_TRUE(exec.Launch(side).ok());
  ASSERT_TRUE(device_.Synchronize().ok());
  if (computes()) {
    EXPECT_THAT(sums.Read(), Each(642));
  }
}

TEST_P(GraphTest, WhatFailsInsideEndsTheCaptureAndFreesTheStream) {
  const Sums sums(device_);
  const Adding add(device_);
  EXPECT_EQ(Graph::Capture(stream_,
                           [&] {
                             add.Launch(stream_, sums, 1);
                             return absl::CancelledError("changed my mind");
                           })
                .status(),
            absl::CancelledError("changed my mind"));
  EXPECT_FALSE(stream_.IsCapturing());
  add.Launch(stream_, sums, 4);
  ASSERT_TRUE(stream_.Synchronize().ok());
  if (computes()) {
    EXPECT_THAT(sums.Read(), Each(4));
  }
}

TEST_P(GraphTest, MemoryComesAndGoesDuringACapture) {
  const Adding add(device_);
  for (const CaptureMode mode : {CaptureMode::kGlobal, CaptureMode::kThreadLocal, CaptureMode::kRelaxed}) {
    std::optional<Sums> unused(device_);
    std::optional<Sums> sums;
    const Graph graph = Graph::Capture(
                            stream_,
                            [&]() -> absl::Status {
                              sums.emplace(device_);  // Allocated and filled with zeros now, not when the graph runs.
                              add.Launch(stream_, *sums, 2);
                              unused.reset();
                              return absl::OkStatus();
                            },
                            mode)
                            .value();
    GraphExec exec = graph.Instantiate().value();
    ASSERT_TRUE(exec.Launch(stream_).ok());
    ASSERT_TRUE(exec.Launch(stream_).ok());
    ASSERT_TRUE(stream_.Synchronize().ok());
    if (computes()) {
      EXPECT_THAT(sums->Read(), Each(4));
    }
  }
}

TEST_P(GraphTest, GraphsKeepWhatTheirLaunchesUse) {  // FC-29
  if (!captures()) GTEST_SKIP() << "nothing is captured";
  std::optional<Sums> sums(device_);
  const CUdeviceptr address = sums->address();
  std::optional<Adding> add(device_);
  std::optional<Graph> graph = Graph::Capture(stream_, [&]() -> absl::Status {
                                 add->Launch(stream_, *sums, 1);
                                 return absl::OkStatus();
                               }).value();
  std::optional<GraphExec> exec = graph->Instantiate().value();
  std::weak_ptr<const void> memory = internal::OwnerOf(address);
  std::weak_ptr<const void> kernel = add->owner();
  ASSERT_FALSE(memory.expired());
  sums.reset();
  add.reset();
  graph.reset();
  EXPECT_FALSE(memory.expired());
  EXPECT_FALSE(kernel.expired());
  ASSERT_TRUE(exec->Launch(stream_).ok());
  exec.reset();
  ASSERT_TRUE(stream_.Synchronize().ok());
  EXPECT_TRUE(memory.expired());
  EXPECT_TRUE(kernel.expired());
  EXPECT_EQ(internal::OwnerOf(address), nullptr);
}

TEST_P(GraphTest, OwnersAreFoundByAnyAddressInside) {
  const DeviceMemory memory = DeviceMemory::Allocate(device_, 100).value();
  EXPECT_NE(internal::OwnerOf(memory.address()), nullptr);
  EXPECT_EQ(internal::OwnerOf(memory.address() + 99), internal::OwnerOf(memory.address()));
  EXPECT_EQ(internal::OwnerOf(memory.address() + 100), nullptr);
  EXPECT_EQ(internal::OwnerOf(memory.address() - 1), nullptr);
  EXPECT_EQ(internal::OwnerOf(0), nullptr);
}

TEST_P(GraphTest, HostFunctionsRunAtEveryLaunchAndLiveAsLongAsTheGraph) {
  if (!captures()) GTEST_SKIP() << "nothing is captured";
  auto owned = std::make_shared<int>(0);
  std::weak_ptr<int> seen = owned;
  std::atomic<int> runs{0};
  std::optional<Graph> graph =
      Graph::Capture(stream_, [&] { return stream_.AddHostFunction([owned, &runs] { ++runs; }); }).value();
  owned.reset();
  EXPECT_EQ(runs, 0);
  std::optional<GraphExec> exec = graph->Instantiate().value();
  graph.reset();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(exec->Launch(stream_).ok());
  ASSERT_TRUE(stream_.Synchronize().ok());
  EXPECT_EQ(runs, 3);
  EXPECT_FALSE(seen.expired());
  exec.reset();
  EXPECT_TRUE(seen.expired());
}

TEST_P(GraphTest, SetKernelNodeGivesLaunchesOtherArguments) {
  if (!captures()) GTEST_SKIP() << "nothing is captured";
  const Sums sums(device_);
  std::optional<Sums> others(device_);
  const Adding add(device_);
  constexpr uint64_t key = 1;
  const Graph graph = Graph::Capture(stream_, [&]() -> absl::Status {
                        add.Launch(stream_, sums, 1, key);
                        add.Launch(stream_, sums, 1000);
                        add.Launch(stream_, sums, 10, key);
                        return absl::OkStatus();
                      }).value();
  GraphExec exec = graph.Instantiate().value();
  const auto run = [&] {
    EXPECT_TRUE(exec.Launch(stream_).ok());
    EXPECT_TRUE(stream_.Synchronize().ok());
  };
  run();
  AddingArguments two = add.Arguments(sums, 2);
  ASSERT_TRUE(exec.SetKernelNode(key, 1, two.node(), {internal::OwnerOf(sums.address())}).ok());
  run();
  AddingArguments three = add.Arguments(*others, 3);
  const std::weak_ptr<const void> kept = internal::OwnerOf(others->address());
  ASSERT_TRUE(exec.SetKernelNode(key, -1, three.node(), {kept.lock()}).ok());
  run();
  if (computes()) {
    EXPECT_THAT(sums.Read(), Each(1011 + 1003 + 1000));
    EXPECT_THAT(others->Read(), Each(6));
  }
  others.reset();
  EXPECT_FALSE(kept.expired());
  run();
  AddingArguments back = add.Arguments(sums, 0);
  ASSERT_TRUE(exec.SetKernelNode(key, 0, back.node(), {}).ok());
  EXPECT_FALSE(kept.expired());
  ASSERT_TRUE(exec.SetKernelNode(key, 1, back.node(), {}).ok());
  ASSERT_TRUE(stream_.Synchronize().ok());
  EXPECT_TRUE(kept.expired());
}

TEST_P(GraphTest, UpdateTakesOverAnotherGraph) {
  if (!captures()) GTEST_SKIP() << "nothing is captured";
  std::optional<Sums> sums(device_);
  const Sums others(device_);
  const Adding add(device_);
  constexpr uint64_t key = 1;
  const auto capture = [&](const Sums& target, int value) {
    return Graph::Capture(stream_,
                          [&]() -> absl::Status {
                            add.Launch(stream_, target, value, key);
                            return absl::OkStatus();
                          })
        .value();
  };
  GraphExec exec = capture(*sums, 1).Instantiate().value();
  ASSERT_TRUE(exec.Launch(stream_).ok());
  ASSERT_TRUE(exec.Update(capture(others, 5)).ok());
  ASSERT_TRUE(exec.Launch(stream_).ok());
  ASSERT_TRUE(stream_.Synchronize().ok());
  if (computes()) {
    EXPECT_THAT(sums->Read(), Each(1));
    EXPECT_THAT(others.Read(), Each(5));
  }
  AddingArguments seven = add.Arguments(others, 7);  // Still found by the key.
  ASSERT_TRUE(exec.SetKernelNode(key, 0, seven.node(), {}).ok());
  ASSERT_TRUE(exec.Launch(stream_).ok());
  ASSERT_TRUE(stream_.Synchronize().ok());
  if (computes()) {
    EXPECT_THAT(others.Read(), Each(12));
  }
}

TEST_P(GraphTest, ThreadsCaptureAndLaunchAtTheSameTime) {
  const Adding add(device_);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const Stream stream = device_.CreateStream().value();
      for (int round = 0; round < 5; ++round) {
        const Sums sums(device_);
        const Graph graph = Graph::Capture(stream, [&]() -> absl::Status {
                              for (int i = 0; i < 4; ++i) add.Launch(stream, sums, 1);
                              return absl::OkStatus();
                            }).value();
        GraphExec exec = graph.Instantiate().value();
        for (int i = 0; i < 3; ++i) EXPECT_TRUE(exec.Launch(stream).ok());
        EXPECT_TRUE(stream.Synchronize().ok());
        if (computes()) {
          EXPECT_THAT(sums.Read(), Each(12));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(GraphTest, OneThreadLoadsAndAllocatesWhileAnotherCaptures) {  // FC-28
  const Sums sums(device_);
  const Adding add(device_);
  std::promise<void> begun, done;
  std::thread other([&] {
    begun.get_future().wait();
    const Adding another(device_);
    const Sums own(device_);
    done.set_value();
  });
  const Graph graph = Graph::Capture(
                          stream_,
                          [&]() -> absl::Status {
                            begun.set_value();
                            done.get_future().wait();
                            add.Launch(stream_, sums, 1);
                            return absl::OkStatus();
                          },
                          CaptureMode::kGlobal)
                          .value();
  other.join();
  EXPECT_EQ(graph.node_count(), captures() ? 1u : 0u);
}

TEST_P(GraphTest, AStreamThatGoesWhileItIsCapturedLeavesNothing) {
  const Sums sums(device_);
  const Adding add(device_);
  {
    const Stream gone = device_.CreateStream().value();
    ASSERT_TRUE(gone.BeginCapture().ok());
    add.Launch(gone, sums, 1);
  }
  add.Launch(stream_, sums, 1);
  ASSERT_TRUE(stream_.Synchronize().ok());
  if (computes()) {
    EXPECT_THAT(sums.Read(), Each(1));
  }
}

TEST_P(GraphTest, AMovedStreamGoesOnCapturing) {
  Stream first = device_.CreateStream().value();
  ASSERT_TRUE(first.BeginCapture(CaptureMode::kRelaxed).ok());
  const Stream second = std::move(first);
  EXPECT_TRUE(second.IsCapturing());
  EXPECT_EQ(second.direct_device(), nullptr);
  EXPECT_TRUE(second.EndCapture().ok());
  EXPECT_EQ(second.direct_device(), device_.state().get());
}

TEST_P(GraphTest, TheCallersContextIsPutBack) {
  const DriverApi& api = device_.api();
  const auto use_everything = [&] {
    const Sums sums(device_);
    const Adding add(device_);
    constexpr uint64_t key = 1;
    const auto capture = [&] {
      return Graph::Capture(stream_,
                            [&]() -> absl::Status {
                              add.Launch(stream_, sums, 1, key);
                              return stream_.AddHostFunction([] {});
                            })
          .value();
    };
    GraphExec exec = capture().Instantiate().value();
    AddingArguments one = add.Arguments(sums, 1);
    EXPECT_EQ(exec.SetKernelNode(key, 0, one.node(), {}).ok(), captures());
    EXPECT_TRUE(exec.Update(capture()).ok());
    EXPECT_TRUE(exec.Launch(stream_).ok());
    EXPECT_TRUE(stream_.AddHostFunction([] {}).ok());
    EXPECT_TRUE(stream_.Priority().ok());
    EXPECT_TRUE(device_.StreamPriorities().ok());
    EXPECT_TRUE(Stream::Foreign(device_, stream_.handle()).CheckUsable().ok());
    EXPECT_TRUE(stream_.Synchronize().ok());
  };
  ASSERT_EQ(Current(api), nullptr);
  use_everything();
  EXPECT_EQ(Current(api), nullptr);
  std::thread(use_everything).join();  // FC-26
  const absl::StatusOr<Device> other = Device::Open(api, 1);
  if (!other.ok()) return;
  const ScopedContext foreign(*other->state());
  use_everything();
  EXPECT_EQ(Current(api), other->context());
}

INSTANTIATE_TEST_SUITE_P(Drivers, GraphTest, testing::ValuesIn(DriversAtHand()), &NameOf);

// ---- While a graph runs.

class RunningGraphTest : public testing::TestWithParam<Backend> {
 protected:
  const Device device_ = Device::Open(*GetParam().api).value();
  const Stream stream_ = device_.CreateStream().value();
};

TEST_P(RunningGraphTest, MayBeDestroyedAndIsKeptUntilItIsDone) {
  std::promise<void> started, go_on;
  std::future<void> wait = go_on.get_future();
  auto owned = std::make_shared<int>(0);
  std::weak_ptr<int> seen = owned;
  std::optional<Graph> graph = Graph::Capture(stream_, [&] {
                                 return stream_.AddHostFunction([owned, &started, &wait] {
                                   started.set_value();
                                   wait.wait();
                                 });
                               }).value();
  owned.reset();
  std::optional<GraphExec> exec = graph->Instantiate().value();
  graph.reset();
  ASSERT_TRUE(exec->Launch(stream_).ok());
  // Without this, a device that runs nothing before a wait would not have begun.
  std::thread waiter([&] { EXPECT_TRUE(stream_.Synchronize().ok()); });
  started.get_future().wait();
  exec.reset();
  EXPECT_FALSE(seen.expired());
  go_on.set_value();
  waiter.join();
  ASSERT_TRUE(stream_.Synchronize().ok());
  EXPECT_TRUE(seen.expired());
}

TEST_P(RunningGraphTest, UpdateKeepsWhatStillRuns) {
  std::promise<void> started, go_on;
  std::future<void> wait = go_on.get_future();
  auto owned = std::make_shared<int>(0);
  std::weak_ptr<int> seen = owned;
  const auto capture = [&](std::function<void()> function) {
    return Graph::Capture(stream_, [&] { return stream_.AddHostFunction(std::move(function)); }).value();
  };
  GraphExec exec = capture([] {}).Instantiate().value();
  ASSERT_TRUE(exec.Update(capture([owned, &started, &wait] {
                    started.set_value();
                    wait.wait();
                  }))
                  .ok());
  owned.reset();
  ASSERT_TRUE(exec.Launch(stream_).ok());
  std::thread waiter([&] { EXPECT_TRUE(stream_.Synchronize().ok()); });
  started.get_future().wait();
  std::atomic<int> runs{0};
  ASSERT_TRUE(exec.Update(capture([&] { ++runs; })).ok());
  EXPECT_FALSE(seen.expired());
  ASSERT_TRUE(exec.Launch(stream_).ok());
  go_on.set_value();
  waiter.join();
  ASSERT_TRUE(stream_.Synchronize().ok());
  EXPECT_TRUE(seen.expired());
  EXPECT_EQ(runs, 1);
}

TEST_P(RunningGraphTest, ALaunchThatFailsForgetsNoneThatRuns) {
  FaultDriver& fault = *FaultDriver::Wrap(*GetParam().api).value();
  fault.Disarm();
  const Device device = Device::Open(fault.api()).value();
  const Stream stream = device.CreateStream().value();
  std::promise<void> started, go_on;
  std::future<void> wait = go_on.get_future();
  auto owned = std::make_shared<int>(0);
  std::weak_ptr<int> seen = owned;
  const auto capture = [&](std::function<void()> function) {
    return Graph::Capture(stream, [&] { return stream.AddHostFunction(std::move(function)); }).value();
  };
  std::optional<GraphExec> exec = capture([owned, &started, &wait] {
                                    started.set_value();
                                    wait.wait();
                                  })
                                      .Instantiate()
                                      .value();
  owned.reset();
  ASSERT_TRUE(exec->Launch(stream).ok());
  std::thread waiter([&] { EXPECT_TRUE(stream.Synchronize().ok()); });
  started.get_future().wait();
  ASSERT_TRUE(exec->Update(capture([] {})).ok());  // Shares the event with what is retired.
  ASSERT_TRUE(fault.Arm({.function = "GraphLaunch", .result = CUDA_ERROR_NOT_PERMITTED}).ok());
  EXPECT_EQ(exec->Launch(stream).code(), absl::StatusCode::kPermissionDenied);
  fault.Disarm();
  exec.reset();
  EXPECT_FALSE(seen.expired());
  go_on.set_value();
  waiter.join();
  ASSERT_TRUE(stream.Synchronize().ok());
  EXPECT_TRUE(seen.expired());
}

INSTANTIATE_TEST_SUITE_P(Drivers, RunningGraphTest, testing::ValuesIn(ComputingDrivers()), &NameOf);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RunningGraphTest);  // Without the CPU device and a GPU.

}  // namespace
}  // namespace slipway
