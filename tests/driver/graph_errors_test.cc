// What goes wrong with captures and graphs: each message, and what is left behind by calls that fail.
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "slipway/fault_driver.h"
#include "slipway/graph.h"
#include "slipway/null_driver.h"
#include "slipway/stream.h"
#include "tests/driver/adding.h"
#include "tests/driver/backends.h"

namespace slipway {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

absl::Status Nothing() { return absl::OkStatus(); }

class CaptureErrorTest : public testing::TestWithParam<Backend> {
 protected:
  bool captures() const { return GetParam().api != &NullDriver(); }
  bool computes() const { return IsComputing(*GetParam().api); }
  const Device device_ = Device::Open(*GetParam().api).value();
  const Stream stream_ = device_.CreateStream().value();
};

TEST_P(CaptureErrorTest, BeginAndEndComeInPairs) {
  EXPECT_EQ(stream_.EndCapture().status(),
            absl::FailedPreconditionError("Stream::EndCapture: the stream is not captured; call BeginCapture first"));
  ASSERT_TRUE(stream_.BeginCapture().ok());
  EXPECT_EQ(stream_.BeginCapture(),
            absl::FailedPreconditionError("Stream::BeginCapture: the stream is captured already; end that capture "
                                          "first, or use another stream"));
  EXPECT_TRUE(stream_.EndCapture().ok());
  EXPECT_FALSE(stream_.EndCapture().ok());
}

TEST_P(CaptureErrorTest, TheLegacyStreamCannotBeCaptured) {
  const absl::Status refused = absl::InvalidArgumentError(
      "Stream::BeginCapture: the legacy default stream cannot be captured; use one from Device::CreateStream");
  EXPECT_EQ(device_.DefaultStream().BeginCapture(), refused);
  EXPECT_EQ(Stream::Foreign(device_, nullptr).BeginCapture(), refused);
  EXPECT_EQ(Graph::Capture(device_.DefaultStream(), &Nothing).status(), refused);
}

TEST_P(CaptureErrorTest, WaitingOnTheHostIsRefusedAndTheCaptureGoesOn) {
  const Sums sums(device_);
  const Adding add(device_);
  const Event event = Event::Create(device_).value();
  const Graph graph =
      Graph::Capture(stream_, [&]() -> absl::Status {
        add.Launch(stream_, sums, 1);
        EXPECT_EQ(stream_.Synchronize(),
                  absl::FailedPreconditionError("Stream::Synchronize: the stream is captured, so nothing that it is "
                                                "given runs; end the capture first"));
        EXPECT_THAT(Message(stream_.Query().status()), StartsWith("Stream::Query: the stream is captured, so"));
        absl::Status status = event.Record(stream_);
        EXPECT_EQ(event.Synchronize(),
                  absl::FailedPreconditionError("Event::Synchronize: the event was last recorded in a stream that was "
                                                "captured, and stands for no work that ran; record it again, outside "
                                                "of the capture"));
        EXPECT_THAT(Message(event.Query().status()), StartsWith("Event::Query: the event was last recorded in a stre"));
        EXPECT_THAT(Message(event.MillisecondsSince(event).status()),
                    StartsWith("Event::MillisecondsSince: the event was last recorded in a stream that was captured"));
        return status;
      }).value();
  EXPECT_EQ(graph.node_count(), captures() ? 1u : 0u);
  EXPECT_FALSE(event.Synchronize().ok());  // It still stands for no work.
  EXPECT_THAT(Message(stream_.Wait(event)),
              StartsWith("Stream::Wait: the event was last recorded in a stream that was"));
  ASSERT_TRUE(event.Record(stream_).ok());
  EXPECT_TRUE(event.Synchronize().ok());
}

TEST_P(CaptureErrorTest, WaitingForTheWholeDeviceEndsTheCapture) {
  if (!computes()) GTEST_SKIP() << "the null drivers have nothing to wait for";
  const absl::Status status = Graph::Capture(stream_, [&] { return device_.Synchronize(); }).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), StartsWith("cannot wait for " + device_.Describe() +
                                          ", of which a stream is captured; wait before the capture, or after it: "
                                          "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (900)"));
  EXPECT_FALSE(stream_.IsCapturing());
  EXPECT_TRUE(device_.Synchronize().ok());
}

TEST_P(CaptureErrorTest, AForkedStreamThatGoesLeavesTheFirstOneUsable) {
  const Event event = Event::Create(device_).value();
  ASSERT_TRUE(stream_.BeginCapture().ok());
  ASSERT_TRUE(event.Record(stream_).ok());
  {
    const Stream side = device_.CreateStream().value();
    ASSERT_TRUE(side.Wait(event).ok());
  }
  static_cast<void>(stream_.EndCapture());  // Whether that is a graph is the driver's to say.
  EXPECT_FALSE(stream_.IsCapturing());
  EXPECT_TRUE(stream_.Synchronize().ok());
  EXPECT_TRUE(Graph::Capture(stream_, &Nothing).ok());
}

TEST_P(CaptureErrorTest, AForkedStreamCannotEndTheCapture) {
  const Stream side = device_.CreateStream().value();
  const Event event = Event::Create(device_).value();
  ASSERT_TRUE(stream_.BeginCapture().ok());
  ASSERT_TRUE(event.Record(stream_).ok());
  ASSERT_TRUE(side.Wait(event).ok());
  EXPECT_EQ(side.EndCapture().status(),
            absl::FailedPreconditionError("Stream::EndCapture: the stream came to its capture by waiting for an event; "
                                          "end it on the stream that began"));
  ASSERT_TRUE(event.Record(side).ok());
  ASSERT_TRUE(stream_.Wait(event).ok());
  EXPECT_TRUE(stream_.EndCapture().ok());
  EXPECT_FALSE(side.IsCapturing());
  EXPECT_TRUE(side.Synchronize().ok());
}

TEST_P(CaptureErrorTest, ABranchThatIsNotJoined) {
  if (!captures()) GTEST_SKIP() << "the null driver knows no branches";
  const Sums sums(device_);
  const Adding add(device_);
  const Stream side = device_.CreateStream().value();
  const Event event = Event::Create(device_).value();
  const absl::Status status = Graph::Capture(stream_, [&]() -> absl::Status {
                                add.Launch(stream_, sums, 1);
                                absl::Status status = event.Record(stream_);
                                status.Update(side.Wait(event));
                                add.Launch(side, sums, 1);
                                return status;
                              }).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), StartsWith("the capture of a stream made no graph (the stream is free again): "
                                          "CUDA_ERROR_STREAM_CAPTURE_UNJOINED (904)"));
  for (const Stream* stream : {&stream_, &side}) {
    EXPECT_FALSE(stream->IsCapturing());
    EXPECT_TRUE(stream->Synchronize().ok());
    add.Launch(*stream, sums, 1);
    EXPECT_TRUE(stream->Synchronize().ok());
  }
  if (computes()) {
    EXPECT_THAT(sums.Read(), Each(2));
  }
}

TEST_P(CaptureErrorTest, AnotherThreadCannotEndTheCapture) {
  if (!computes()) GTEST_SKIP() << "the null drivers know no threads";
  ASSERT_TRUE(stream_.BeginCapture().ok());
  std::thread([&] {
    const absl::Status status = stream_.EndCapture().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(status), StartsWith("cannot end the capture of a stream, which goes on: "
                                            "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD (908)"));
  }).join();
  EXPECT_TRUE(stream_.IsCapturing());
  static_cast<void>(stream_.EndCapture());  // Drivers may hold the try against the capture.
  EXPECT_FALSE(stream_.IsCapturing());
  ASSERT_TRUE(stream_.BeginCapture(CaptureMode::kRelaxed).ok());
  std::thread([&] { EXPECT_TRUE(stream_.EndCapture().ok()); }).join();
}

TEST_P(CaptureErrorTest, HandlesThatWereMovedFrom) {
  GraphExec exec = Graph::Capture(stream_, &Nothing).value().Instantiate().value();
  GraphExec moved = std::move(exec);
  EXPECT_EQ(exec.Launch(stream_),  // NOLINT(bugprone-use-after-move): what a moved-from handle says.
            absl::FailedPreconditionError("GraphExec::Launch: the GraphExec was moved from; use the one that it was "
                                          "moved to"));
  EXPECT_THAT(Message(exec.Update(Graph::Capture(stream_, &Nothing).value())),
              StartsWith("GraphExec::Update: the GraphExec was moved from"));
  EXPECT_THAT(Message(exec.SetKernelNode(0, 0, {}, {})),
              StartsWith("GraphExec::SetKernelNode: the GraphExec was moved from"));
  exec = std::move(moved);
  EXPECT_TRUE(exec.Launch(stream_).ok());
}

TEST_P(CaptureErrorTest, LaunchesThatTheGraphDoesNotHave) {
  if (!captures()) GTEST_SKIP() << "nothing is captured";
  const Sums sums(device_);
  const Adding add(device_);
  constexpr uint64_t key = 1, other = 2;
  GraphExec exec = Graph::Capture(stream_,
                                  [&]() -> absl::Status {
                                    add.Launch(stream_, sums, 1, key);
                                    return absl::OkStatus();
                                  })
                       .value()
                       .Instantiate()
                       .value();
  AddingArguments arguments = add.Arguments(sums, 1);
  EXPECT_EQ(exec.SetKernelNode(other, -1, arguments.node(), {}),
            absl::NotFoundError("the graph has no launch of this bound kernel; launch it while the graph that is "
                                "instantiated is captured"));
  EXPECT_EQ(exec.SetKernelNode(key, 1, arguments.node(), {}),
            absl::NotFoundError("launch 1 of this bound kernel was asked for; the graph has 1, counted from 0 (-1 "
                                "stands for all)"));
  EXPECT_FALSE(exec.SetKernelNode(key, -2, arguments.node(), {}).ok());
}

TEST_P(CaptureErrorTest, AnUpdateThatCannotBeNamesTheNode) {
  if (!captures()) GTEST_SKIP() << "nothing is captured";
  const Sums sums(device_);
  const Adding add(device_);
  const Graph kernels = Graph::Capture(stream_, [&]() -> absl::Status {
                          add.Launch(stream_, sums, 1);
                          add.Launch(stream_, sums, 1);
                          return absl::OkStatus();
                        }).value();
  GraphExec exec = kernels.Instantiate().value();
  const Graph mixed = Graph::Capture(stream_, [&]() -> absl::Status {
                        add.Launch(stream_, sums, 1);
                        return stream_.AddHostFunction([] {});
                      }).value();
  EXPECT_EQ(exec.Update(mixed),
            absl::InvalidArgumentError("GraphExec::Update: node 2 of 2 (a host function) of the new graph cannot be "
                                       "taken over: the node was of another type; instantiate the new graph instead"));
  const Graph shorter = Graph::Capture(stream_, [&]() -> absl::Status {
                          add.Launch(stream_, sums, 1);
                          return absl::OkStatus();
                        }).value();
  EXPECT_THAT(Message(exec.Update(shorter)),
              AllOf(StartsWith("GraphExec::Update: "), HasSubstr(" of the new graph cannot be taken over: the graphs "
                                                                 "have other nodes or dependencies; instantiate the")));
  ASSERT_TRUE(exec.Launch(stream_).ok());  // As it was.
  ASSERT_TRUE(stream_.Synchronize().ok());
  if (computes()) {
    EXPECT_THAT(sums.Read(), Each(2));
  }
}

INSTANTIATE_TEST_SUITE_P(Drivers, CaptureErrorTest, testing::ValuesIn(DriversAtHand()), &NameOf);

TEST(GraphMismatchTest, OtherDevicesAreNamed) {
  const Device null = Device::Open(NullDriver()).value();
  const Device recording = Device::Open(RecordingDriver()).value();
  const Stream stream = null.CreateStream().value();
  const Stream elsewhere = recording.CreateStream().value();
  GraphExec exec = Graph::Capture(stream, &Nothing).value().Instantiate().value();
  EXPECT_EQ(exec.Launch(elsewhere),
            absl::InvalidArgumentError("GraphExec::Launch: the graph was captured on null device (null:0) and the "
                                       "stream is of null device (recording:0); launch on a stream of its device"));
  EXPECT_EQ(exec.Update(Graph::Capture(elsewhere, &Nothing).value()),
            absl::InvalidArgumentError("GraphExec::Update: the new graph was captured on null device (recording:0) and "
                                       "this one on null device (null:0); capture it on a stream of the same device"));
}

TEST(OldDriverTest, WhatItLacksIsNamed) {
  static DriverApi api = RecordingDriver();
  const Device device = Device::Open(api).value();
  const Stream stream = device.CreateStream().value();
  const Sums sums(device);
  const Adding add(device);
  constexpr uint64_t key = 1;
  const auto capture = [&] {
    return Graph::Capture(stream,
                          [&]() -> absl::Status {
                            add.Launch(stream, sums, 1, key);
                            return absl::OkStatus();
                          })
        .value();
  };
  api.StreamGetCaptureInfo = nullptr;
  const Graph graph = capture();
  GraphExec exec = graph.Instantiate().value();
  AddingArguments arguments = add.Arguments(sums, 1);
  EXPECT_EQ(exec.SetKernelNode(key, 0, arguments.node(), {}),
            absl::UnimplementedError("changing a launch in a graph: the driver of null device (recording:0) lacks "
                                     "cuStreamGetCaptureInfo_v2, which came with CUDA 11.3; install a newer driver"));
  api.GraphExecKernelNodeSetParams = nullptr;
  EXPECT_THAT(Message(exec.SetKernelNode(key, 0, arguments.node(), {})),
              HasSubstr(" lacks cuGraphExecKernelNodeSetParams_v2, which came with CUDA 12.0"));
  api.GraphExecUpdate = nullptr;
  EXPECT_THAT(Message(exec.Update(graph)), AllOf(StartsWith("GraphExec::Update: the driver of"),
                                                 HasSubstr("cuGraphExecUpdate_v2, which came with")));
  api.GraphInstantiateWithFlags = nullptr;
  EXPECT_THAT(Message(graph.Instantiate().status()), AllOf(StartsWith("Graph::Instantiate: the driver of "),
                                                           HasSubstr("cuGraphInstantiateWithFlags, which ")));
}

TEST(InvalidCaptureTest, ALaunchInItSaysSo) {
  static DriverApi api = RecordingDriver();
  const Device device = Device::Open(api).value();
  const Stream stream = device.CreateStream().value();
  ASSERT_TRUE(stream.BeginCapture().ok());
  api.StreamGetCaptureInfo = [](CUstream, CUstreamCaptureStatus* status, uint64_t*, CUgraph*, const CUgraphNode**,
                                size_t*) {
    *status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    return CUDA_SUCCESS;
  };
  EXPECT_EQ(stream.capture()->NoteLaunch(stream, 0),
            absl::FailedPreconditionError("the capture has become invalid by an earlier call that captures forbid; end "
                                          "it and capture anew without that"));
  EXPECT_TRUE(stream.EndCapture().ok());
}

TEST(UpdateReasonTest, EachIsTold) {
  static CUgraphExecUpdateResult reason;
  static DriverApi api = RecordingDriver();
  api.GraphExecUpdate = [](CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo* info) {
    *info = {reason, nullptr, nullptr};
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  };
  const Device device = Device::Open(api).value();
  const Stream stream = device.CreateStream().value();
  const Graph graph = Graph::Capture(stream, &Nothing).value();
  GraphExec exec = graph.Instantiate().value();
  const std::pair<CUgraphExecUpdateResult, const char*> rows[] = {
      {CU_GRAPH_EXEC_UPDATE_ERROR, "the driver gives no reason"},
      {CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED, "the node was of another kernel"},
      {CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, "its parameters changed in a way that an update cannot follow"},
      {CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, "nodes like it cannot be updated"},
      {CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE, "its kernel changed in a way that an update cannot"},
      {CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED, "its launch attributes changed"},
      {static_cast<CUgraphExecUpdateResult>(99), "the driver gives a reason that Slipway does not know"},
  };
  for (const auto& [result, text] : rows) {
    reason = result;
    EXPECT_THAT(
        Message(exec.Update(graph)),
        StartsWith(std::string("GraphExec::Update: one of 0 nodes of the new graph cannot be taken over: ") + text));
  }
}

TEST(UpdateReasonTest, EachKindOfNodeIsTold) {
  static CUgraphNodeType kind;
  static const CUgraphNode node = reinterpret_cast<CUgraphNode>(0x40de);
  static DriverApi api = RecordingDriver();
  api.GraphGetNodes = [](CUgraph, CUgraphNode* nodes, size_t* count) {
    if (nodes != nullptr) *nodes = node;
    *count = 1;
    return CUDA_SUCCESS;
  };
  api.GraphNodeGetType = [](CUgraphNode, CUgraphNodeType* type) {
    *type = kind;
    return CUDA_SUCCESS;
  };
  api.GraphExecUpdate = [](CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo* info) {
    *info = {CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, node, nullptr};
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  };
  const Device device = Device::Open(api).value();
  const Stream stream = device.CreateStream().value();
  const Graph graph = Graph::Capture(stream, &Nothing).value();
  GraphExec exec = graph.Instantiate().value();
  const std::pair<CUgraphNodeType, std::string> rows[] = {
      {CU_GRAPH_NODE_TYPE_KERNEL, "a kernel"},     {CU_GRAPH_NODE_TYPE_MEMCPY, "a copy"},
      {CU_GRAPH_NODE_TYPE_MEMSET, "a memset"},     {CU_GRAPH_NODE_TYPE_HOST, "a host function"},
      {CU_GRAPH_NODE_TYPE_EMPTY, "an empty node"}, {static_cast<CUgraphNodeType>(99), "of another kind"},
  };
  for (const auto& [type, text] : rows) {
    kind = type;
    EXPECT_EQ(exec.Update(graph),
              absl::InvalidArgumentError("GraphExec::Update: node 1 of 1 (" + text +
                                         ") of the new graph cannot be taken over: the node was of another type; "
                                         "instantiate the new graph instead"));
  }
}

// ---- Calls that fail.

// Everything that a program does with graphs, stopping at the first error.
absl::Status UseGraphs(const Device& device, const Stream& stream, const Adding& add, const Sums& sums) {
  constexpr uint64_t key = 1;
  const auto capture = [&] {
    return Graph::Capture(stream, [&]() -> absl::Status {
      const std::shared_ptr<internal::CaptureRecord> record = stream.capture();
      AddingArguments arguments = add.Arguments(sums, 1);
      const CUresult launched = device.api().LaunchKernel(arguments.node().func, 1, 1, 1, 100, 1, 1, 0, stream.handle(),
                                                          arguments.params(), nullptr);
      absl::Status status = DriverStatus(device.api(), launched, "launch");
      if (status.ok()) status = record->NoteLaunch(stream, key);
      if (status.ok()) status = stream.AddHostFunction([] {});
      return status;
    });
  };
  absl::StatusOr<Graph> graph = capture();
  if (!graph.ok()) return graph.status();
  absl::StatusOr<GraphExec> exec = graph->Instantiate();
  if (!exec.ok()) return exec.status();
  absl::Status status = exec->Launch(stream);
  AddingArguments arguments = add.Arguments(sums, 2);
  if (status.ok()) status = exec->SetKernelNode(key, -1, arguments.node(), {});
  if (status.ok()) status = exec->Update(*graph);
  if (status.ok()) status = exec->Launch(stream);
  if (status.ok()) status = stream.AddHostFunction([] {});
  if (status.ok()) status = stream.Synchronize();
  return status;
}

TEST(GraphFailureTest, EveryCallThatFailsIsReportedAndLeaksNothing) {
  FaultDriver& fault = *FaultDriver::Wrap(RecordingDriver()).value();
  fault.Disarm();
  const Device device = Device::Open(fault.api()).value();
  const Stream stream = device.CreateStream().value();
  const Adding add(device);
  const Sums sums(device);
  int reported = 0, unreported = 0;
  for (int call = 1;; ++call) {
    const RecordedObjects before = CountRecordedObjects();
    ASSERT_TRUE(fault.Arm({.call = call, .result = CUDA_ERROR_NOT_PERMITTED}).ok());
    const absl::Status status = UseGraphs(device, stream, add, sums);
    const bool fired = fault.fired();
    fault.Disarm();
    ASSERT_EQ(RecordingDriver().CtxSetCurrent(nullptr), CUDA_SUCCESS);  // Undoes a failed return to the caller's.
    ASSERT_FALSE(stream.IsCapturing()) << "after call " << call << ": " << status;
    ASSERT_TRUE(stream.Synchronize().ok());
    ASSERT_TRUE(Graph::Capture(stream, &Nothing).ok()) << "after call " << call << ": " << status;
    if (!fired) {
      EXPECT_TRUE(status.ok()) << status;
      break;
    }
    if (status.ok()) {
      ++unreported;  // A destructor's call, or one that only asks whether something is due.
      continue;
    }
    ++reported;
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
    EXPECT_EQ(CountRecordedObjects(), before) << "after call " << call << ": " << status;
  }
  EXPECT_GT(reported, 20);
  EXPECT_GT(unreported, 3);
}

TEST(GraphFailureTest, DestructorsAreCalmWhenTheContextIsDead) {
  FaultDriver& fault = *FaultDriver::Wrap(RecordingDriver()).value();
  fault.Disarm();
  const Device device = Device::Open(fault.api()).value();
  CUstream handle = nullptr;
  {
    const Stream stream = device.CreateStream().value();
    handle = stream.handle();
    const Graph graph = Graph::Capture(stream, &Nothing).value();
    GraphExec exec = graph.Instantiate().value();
    ASSERT_TRUE(exec.Launch(stream).ok());
    ASSERT_TRUE(stream.BeginCapture().ok());
    ASSERT_TRUE(fault.Arm({.call = 1, .result = CUDA_ERROR_ILLEGAL_ADDRESS, .sticky = true}).ok());
    EXPECT_FALSE(stream.EndCapture().ok());
    EXPECT_FALSE(exec.Launch(stream).ok());
    // All go now, each with a driver that refuses everything.
  }
  fault.Disarm();
  CUgraph graph = nullptr;  // The record outlives this test.
  EXPECT_EQ(RecordingDriver().StreamEndCapture(handle, &graph), CUDA_SUCCESS);
  EXPECT_EQ(RecordingDriver().GraphDestroy(graph), CUDA_SUCCESS);
}

}  // namespace
}  // namespace slipway
