// Captures and graphs of the recording driver: what tests of the layers above look at.
#include <array>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "slipway/null_driver.h"

namespace slipway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr CUstreamCaptureMode kMode = CU_STREAM_CAPTURE_MODE_GLOBAL;

const DriverApi& Api() { return RecordingDriver(); }

class RecordingGraphTest : public testing::Test {
 protected:
  void SetUp() override {
    TakeRecordedLaunches();
    before_ = CountRecordedObjects();
    EXPECT_EQ(Api().StreamCreateWithPriority(&stream_, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(Api().StreamCreateWithPriority(&side_, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(Api().EventCreate(&event_, 0), CUDA_SUCCESS);
    EXPECT_EQ(Api().EventCreate(&join_, 0), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(Api().StreamDestroy(stream_), CUDA_SUCCESS);
    EXPECT_EQ(Api().StreamDestroy(side_), CUDA_SUCCESS);
    EXPECT_EQ(Api().EventDestroy(event_), CUDA_SUCCESS);
    EXPECT_EQ(Api().EventDestroy(join_), CUDA_SUCCESS);
    EXPECT_EQ(CountRecordedObjects(), before_);
  }

  CUresult Launch(unsigned char byte, CUstream stream) {
    std::array<unsigned char, 2> buffer = {byte, 7};
    size_t size = buffer.size();
    void* extra[] = {kLaunchParamBufferPointer, buffer.data(), kLaunchParamBufferSize, &size, kLaunchParamEnd};
    return Api().LaunchKernel(kFunction, byte, 1, 1, 32, 1, 1, 0, stream, nullptr, extra);
  }
  void Begin() { ASSERT_EQ(Api().StreamBeginCapture(stream_, kMode), CUDA_SUCCESS); }
  CUgraph End() {
    CUgraph graph = nullptr;
    EXPECT_EQ(Api().StreamEndCapture(stream_, &graph), CUDA_SUCCESS);
    return graph;
  }
  void EndBroken(CUresult want) {
    auto graph = reinterpret_cast<CUgraph>(1);
    EXPECT_EQ(Api().StreamEndCapture(stream_, &graph), want);
    EXPECT_EQ(graph, nullptr);
    EXPECT_EQ(Status(stream_), CU_STREAM_CAPTURE_STATUS_NONE);
  }
  CUgraphExec Instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(Api().GraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    return exec;
  }
  std::vector<CUgraphNode> Nodes(CUgraph graph) {
    size_t count = 0;
    EXPECT_EQ(Api().GraphGetNodes(graph, nullptr, &count), CUDA_SUCCESS);
    std::vector<CUgraphNode> nodes(count);
    EXPECT_EQ(Api().GraphGetNodes(graph, nodes.data(), &count), CUDA_SUCCESS);
    return nodes;
  }
  CUstreamCaptureStatus Status(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    EXPECT_EQ(Api().StreamIsCapturing(stream, &status), CUDA_SUCCESS);
    return status;
  }

  const CUfunction kFunction = reinterpret_cast<CUfunction>(0x100);
  RecordedObjects before_;
  CUstream stream_ = nullptr, side_ = nullptr;
  CUevent event_ = nullptr, join_ = nullptr;
};

TEST_F(RecordingGraphTest, LaunchesBecomeNodesAndNodesLaunches) {
  Begin();
  EXPECT_EQ(Status(stream_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(CountRecordedObjects().captures, before_.captures + 1);
  EXPECT_EQ(Launch(1, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Api().MemsetD8Async(0, 0, 1, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Launch(2, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Launch(9, side_), CUDA_SUCCESS);  // Which does not capture.
  const CUgraph graph = End();
  EXPECT_THAT(TakeRecordedLaunches(), testing::SizeIs(1));
  EXPECT_EQ(CountRecordedObjects().captures, before_.captures);
  EXPECT_EQ(CountRecordedObjects().graphs, before_.graphs + 1);
  const std::vector<CUgraphNode> nodes = Nodes(graph);
  ASSERT_EQ(nodes.size(), 3u);
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  EXPECT_EQ(Api().GraphNodeGetType(nodes[1], &type), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEMSET);

  const CUgraphExec exec = Instantiate(graph);
  EXPECT_EQ(CountRecordedObjects().graph_execs, before_.graph_execs + 1);
  EXPECT_THAT(TakeRecordedLaunches(), IsEmpty());
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Api().GraphLaunch(exec, side_), CUDA_SUCCESS);
    const std::vector<RecordedLaunch> launches = TakeRecordedLaunches();
    ASSERT_EQ(launches.size(), 2u);
    EXPECT_THAT(launches[0].buffer, ElementsAre(1, 7));
    EXPECT_THAT(launches[1].buffer, ElementsAre(2, 7));
    EXPECT_THAT(launches[1].grid, ElementsAre(2, 1, 1));
    EXPECT_EQ(launches[1].function, kFunction);
    EXPECT_EQ(launches[1].stream, side_);
    EXPECT_EQ(launches[1].graph, exec);
  }
  for (const CUresult want : {CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE}) {
    EXPECT_EQ(Api().GraphExecDestroy(exec), want);
    EXPECT_EQ(Api().GraphDestroy(graph), want);
  }
  EXPECT_EQ(Api().GraphLaunch(exec, side_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().GraphNodeGetType(nodes[1], &type), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(RecordingGraphTest, ParametersAreReadAndSet) {
  Begin();
  EXPECT_EQ(Launch(1, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Launch(2, stream_), CUDA_SUCCESS);
  const CUgraph graph = End();
  const CUgraphExec exec = Instantiate(graph);
  const std::vector<CUgraphNode> nodes = Nodes(graph);
  CUDA_KERNEL_NODE_PARAMS params;
  ASSERT_EQ(Api().GraphKernelNodeGetParams(nodes[1], &params), CUDA_SUCCESS);
  EXPECT_EQ(params.func, kFunction);
  EXPECT_EQ(params.gridDimX, 2u);
  ASSERT_NE(params.extra, nullptr);
  EXPECT_EQ(*static_cast<unsigned char*>(params.extra[1]), 2);
  unsigned char buffer[] = {5, 6, 7};
  size_t size = sizeof(buffer);
  void* extra[] = {kLaunchParamBufferPointer, buffer, kLaunchParamBufferSize, &size, kLaunchParamEnd};
  params.extra = extra;
  params.gridDimX = 4;
  EXPECT_EQ(Api().GraphExecKernelNodeSetParams(exec, nodes[1], &params), CUDA_SUCCESS);
  EXPECT_EQ(Api().GraphLaunch(exec, stream_), CUDA_SUCCESS);
  const std::vector<RecordedLaunch> launches = TakeRecordedLaunches();
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_THAT(launches[0].buffer, ElementsAre(1, 7));
  EXPECT_THAT(launches[1].buffer, ElementsAre(5, 6, 7));
  EXPECT_EQ(launches[1].grid[0], 4u);
  EXPECT_EQ(Api().GraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(Api().GraphExecKernelNodeSetParams(exec, nodes[1], &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().GraphExecDestroy(exec), CUDA_SUCCESS);
}

TEST_F(RecordingGraphTest, UpdateTakesOverWhatFits) {
  std::vector<CUgraph> graphs;
  for (int i = 0; i < 2; ++i) {
    Begin();
    EXPECT_EQ(Launch(1 + i, stream_), CUDA_SUCCESS);
    EXPECT_EQ(Launch(3 + i, stream_), CUDA_SUCCESS);
    graphs.push_back(End());
  }
  Begin();
  EXPECT_EQ(Launch(1, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Api().MemsetD8Async(0, 0, 1, stream_), CUDA_SUCCESS);
  graphs.push_back(End());
  Begin();
  graphs.push_back(End());
  const CUgraphExec exec = Instantiate(graphs[0]);
  CUgraphExecUpdateResultInfo info;
  EXPECT_EQ(Api().GraphExecUpdate(exec, graphs[2], &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
  EXPECT_EQ(info.errorNode, Nodes(graphs[2])[1]);
  EXPECT_EQ(Api().GraphExecUpdate(exec, graphs[3], &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  EXPECT_EQ(info.errorNode, nullptr);
  EXPECT_EQ(Api().GraphExecUpdate(exec, graphs[1], &info), CUDA_SUCCESS);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
  EXPECT_EQ(Api().GraphLaunch(exec, stream_), CUDA_SUCCESS);
  const std::vector<RecordedLaunch> launches = TakeRecordedLaunches();
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_THAT(launches[0].buffer, ElementsAre(2, 7));
  EXPECT_THAT(launches[1].buffer, ElementsAre(4, 7));
  // Named by the nodes that it was made from, as before.
  CUDA_KERNEL_NODE_PARAMS params;
  ASSERT_EQ(Api().GraphKernelNodeGetParams(Nodes(graphs[0])[0], &params), CUDA_SUCCESS);
  EXPECT_EQ(Api().GraphExecKernelNodeSetParams(exec, Nodes(graphs[0])[0], &params), CUDA_SUCCESS);
  EXPECT_EQ(Api().GraphExecKernelNodeSetParams(exec, Nodes(graphs[1])[0], &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().GraphExecUpdate(nullptr, graphs[1], &info), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().GraphExecDestroy(exec), CUDA_SUCCESS);
  for (const CUgraph graph : graphs) EXPECT_EQ(Api().GraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(RecordingGraphTest, ForksJoinAndTellTheirDependencies) {
  Begin();
  EXPECT_EQ(Launch(1, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Api().EventRecord(event_, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Api().StreamWaitEvent(side_, event_, 0), CUDA_SUCCESS);
  EXPECT_EQ(Status(side_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(Launch(2, side_), CUDA_SUCCESS);
  EXPECT_EQ(Launch(3, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Api().EventRecord(join_, side_), CUDA_SUCCESS);
  EXPECT_EQ(Api().StreamWaitEvent(stream_, join_, 0), CUDA_SUCCESS);
  CUstreamCaptureStatus status;
  uint64_t id = 0;
  CUgraph captured = nullptr;
  const CUgraphNode* dependencies = nullptr;
  size_t count = 0;
  EXPECT_EQ(Api().StreamGetCaptureInfo(stream_, &status, &id, &captured, &dependencies, &count), CUDA_SUCCESS);
  ASSERT_EQ(count, 2u);
  const std::vector<CUgraphNode> last(dependencies, dependencies + count);
  EXPECT_NE(id, 0u);
  EXPECT_EQ(Api().GraphDestroy(captured), CUDA_ERROR_INVALID_VALUE) << "while it is being captured";
  const CUgraph graph = End();
  EXPECT_EQ(graph, captured);
  EXPECT_EQ(Status(side_), CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_THAT(Nodes(graph), testing::IsSupersetOf(last));
  EXPECT_EQ(Api().GraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(RecordingGraphTest, HostFunctionsRunWithTheGraph) {
  int calls = 0;
  Begin();
  EXPECT_EQ(Api().LaunchHostFunc(
                stream_, [](void* data) { ++*static_cast<int*>(data); }, &calls),
            CUDA_SUCCESS);
  const CUgraph graph = End();
  EXPECT_EQ(calls, 0);
  const CUgraphExec exec = Instantiate(graph);
  EXPECT_EQ(Api().GraphLaunch(exec, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Api().GraphLaunch(exec, stream_), CUDA_SUCCESS);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(Api().GraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(Api().GraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(RecordingGraphTest, ViolationsAreAnswered) {
  EXPECT_EQ(Api().StreamBeginCapture(nullptr, kMode), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EndBroken(CUDA_ERROR_ILLEGAL_STATE);
  Begin();
  EXPECT_EQ(Api().StreamBeginCapture(stream_, kMode), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(Api().StreamSynchronize(stream_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(Launch(1, stream_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(Status(stream_), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  EndBroken(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

  Begin();
  EXPECT_EQ(Api().CtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EndBroken(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

  Begin();
  EXPECT_EQ(Api().StreamWaitEvent(stream_, event_, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  EndBroken(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

  Begin();
  EXPECT_EQ(Api().EventRecord(event_, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Api().StreamWaitEvent(side_, event_, 0), CUDA_SUCCESS);
  EXPECT_EQ(Launch(1, side_), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  EndBroken(CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(Api().EventQuery(event_), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(Api().StreamWaitEvent(side_, event_, 0), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(Api().EventRecord(event_, side_), CUDA_SUCCESS);
  EXPECT_EQ(Api().EventQuery(event_), CUDA_SUCCESS);

  Begin();
  EXPECT_EQ(Api().StreamBeginCapture(side_, kMode), CUDA_SUCCESS);
  EXPECT_EQ(Api().EventRecord(event_, side_), CUDA_SUCCESS);
  EXPECT_EQ(Api().StreamWaitEvent(stream_, event_, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
  EXPECT_EQ(Api().StreamEndCapture(side_, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EndBroken(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

  Begin();
  EXPECT_EQ(Api().EventRecord(event_, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Api().StreamWaitEvent(side_, event_, 0), CUDA_SUCCESS);
  EXPECT_EQ(Api().StreamEndCapture(side_, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  EndBroken(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

  Begin();
  const CUgraph empty = End();
  const CUgraphExec exec = Instantiate(empty);
  Begin();
  EXPECT_EQ(Api().GraphLaunch(exec, stream_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EndBroken(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(Api().GraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(Api().GraphDestroy(empty), CUDA_SUCCESS);
}

TEST_F(RecordingGraphTest, AStreamTakesItsCaptureAlong) {
  CUstream stream = nullptr;
  ASSERT_EQ(Api().StreamCreateWithPriority(&stream, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(Api().StreamBeginCapture(stream, kMode), CUDA_SUCCESS);
  EXPECT_EQ(Launch(1, stream), CUDA_SUCCESS);
  EXPECT_EQ(Api().StreamDestroy(stream), CUDA_SUCCESS);
  EXPECT_EQ(CountRecordedObjects().captures, before_.captures);
  EXPECT_EQ(CountRecordedObjects().graphs, before_.graphs);
}

TEST_F(RecordingGraphTest, AttributesOfALaunch) {
  CUlaunchAttribute attributes[2] = {};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attributes[0].value.cooperative = 1;
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  attributes[1].value.priority = -3;
  unsigned char byte = 4;
  size_t size = 1;
  void* extra[] = {kLaunchParamBufferPointer, &byte, kLaunchParamBufferSize, &size, kLaunchParamEnd};
  CUlaunchConfig config = {2, 3, 4, 5, 6, 7, 8, stream_, attributes, 2};
  EXPECT_EQ(Api().LaunchKernelEx(&config, kFunction, nullptr, extra), CUDA_SUCCESS);
  const std::vector<RecordedLaunch> launches = TakeRecordedLaunches();
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_THAT(launches[0].grid, ElementsAre(2, 3, 4));
  EXPECT_THAT(launches[0].block, ElementsAre(5, 6, 7));
  EXPECT_EQ(launches[0].shared_bytes, 8u);
  EXPECT_EQ(launches[0].stream, stream_);
  EXPECT_THAT(launches[0].buffer, ElementsAre(4));
  ASSERT_EQ(launches[0].attributes.size(), 2u);
  EXPECT_EQ(launches[0].attributes[0].value.cooperative, 1);
  EXPECT_EQ(launches[0].attributes[1].value.priority, -3);
  EXPECT_EQ(launches[0].graph, nullptr);
}

}  // namespace
}  // namespace slipway
