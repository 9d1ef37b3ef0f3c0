// Graphs: what is in them, that they compute what was captured, and that they can be changed.
#include <algorithm>
#include <atomic>
#include <functional>
#include <random>
#include <thread>

#include "driver/cpu/testing.h"
#include "tests/cpu/api_fixture.h"

namespace slipway::cpu {
namespace {

class ApiGraph : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    for (const char* name : {"empty", "store", "add_one", "spin"}) Function(name);
    stream_ = NewStream();
    words_ = NewWords(64);
  }

  CUgraph Capture(const std::function<void()>& body) {
    CUgraph graph = nullptr;
    EXPECT_CUDA(Api().StreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    body();
    EXPECT_CUDA(Api().StreamEndCapture(stream_, &graph));
    return graph;
  }
  CUgraphExec Instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    EXPECT_CUDA(Api().GraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
  }
  std::vector<CUgraphNode> Nodes(CUgraph graph) {
    size_t count = 0;
    EXPECT_CUDA(Api().GraphGetNodes(graph, nullptr, &count));
    std::vector<CUgraphNode> nodes(count);
    EXPECT_CUDA(Api().GraphGetNodes(graph, nodes.data(), &count));
    return nodes;
  }
  CUresult Store(uint32_t value, CUdeviceptr words = 0, CUstream stream = nullptr) {
    return Launch("store", 1, 64, stream != nullptr ? stream : stream_, uint64_t{words != 0 ? words : words_}, value);
  }
  CUresult AddOne(CUdeviceptr words = 0, CUstream stream = nullptr) {
    return Launch("add_one", 1, 64, stream != nullptr ? stream : stream_, uint64_t{words != 0 ? words : words_}, 64u);
  }
  CUresult LaunchAndWait(CUgraphExec exec) {
    CUresult result = Api().GraphLaunch(exec, stream_);
    return result != CUDA_SUCCESS ? result : Api().StreamSynchronize(stream_);
  }
  // Parameters of `store` on words_.
  CUDA_KERNEL_NODE_PARAMS StoreParams(LaunchBuffer& buffer) {
    return {.func = Function("store"),
            .gridDimX = 1,
            .gridDimY = 1,
            .gridDimZ = 1,
            .blockDimX = 64,
            .blockDimY = 1,
            .blockDimZ = 1,
            .sharedMemBytes = 0,
            .kernelParams = nullptr,
            .extra = buffer.extra(),
            .kern = nullptr,
            .ctx = nullptr};
  }
  void ExpectWords(uint32_t value, CUdeviceptr words = 0) {
    EXPECT_EQ(ReadWords(words != 0 ? words : words_, 64), std::vector<uint32_t>(64, value));
  }

  CUstream stream_ = nullptr;
  CUdeviceptr words_ = 0;
};

TEST_F(ApiGraph, ReplaysWhatWasCaptured) {
  CUgraph graph = Capture([&] {
    EXPECT_CUDA(AddOne());
    EXPECT_CUDA(AddOne());
  });
  CUgraphExec exec = Instantiate(graph);
  EXPECT_CUDA(Api().GraphDestroy(graph));
  ExpectWords(0);
  for (uint32_t round = 1; round <= 5; ++round) {
    ASSERT_CUDA(LaunchAndWait(exec));
    ExpectWords(2 * round);
  }
  // Many in a row, in order with launches around them.
  ASSERT_CUDA(Store(100));
  for (int i = 0; i < 2000; ++i) ASSERT_CUDA(Api().GraphLaunch(exec, stream_));
  ASSERT_CUDA(AddOne());
  ASSERT_CUDA(Api().StreamSynchronize(stream_));
  ExpectWords(4101);
  EXPECT_CUDA(Api().GraphExecDestroy(exec));
}

TEST_F(ApiGraph, AnEmptyGraphLaunches) {
  CUgraph graph = Capture([] {});
  EXPECT_TRUE(Nodes(graph).empty());
  CUgraphExec exec = Instantiate(graph);
  EXPECT_CUDA(Store(3));
  for (int i = 0; i < 3; ++i) ASSERT_CUDA(Api().GraphLaunch(exec, stream_));
  ASSERT_CUDA(Api().StreamSynchronize(stream_));
  ExpectWords(3);
}

TEST_F(ApiGraph, EveryKindOfWork) {
  CUdeviceptr other = NewWords(64), large = NewWords(1 << 20);
  std::vector<uint32_t> from(64, 1), to(64), much(1 << 20, 9), much_to(1 << 20);
  std::atomic<int> called{0};
  CUgraph graph = Capture([&] {
    EXPECT_CUDA(Api().MemcpyHtoDAsync(words_, from.data(), 256, stream_));
    EXPECT_CUDA(AddOne());
    EXPECT_CUDA(Api().MemcpyDtoDAsync(other, words_, 128, stream_));
    EXPECT_CUDA(Api().MemsetD32Async(other + 128, 77, 16, stream_));
    EXPECT_CUDA(Api().MemsetD8Async(other + 192, 1, 64, stream_));
    EXPECT_CUDA(Api().LaunchHostFunc(
        stream_, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &called));
    EXPECT_CUDA(Api().MemcpyDtoHAsync(to.data(), other, 256, stream_));
    EXPECT_CUDA(Api().MemcpyHtoDAsync(large, much.data(), much.size() * 4, stream_));
    EXPECT_CUDA(Launch("add_one", 4096, 256, stream_, uint64_t{large}, 1u << 20));
    EXPECT_CUDA(Api().MemcpyDtoHAsync(much_to.data(), large, much.size() * 4, stream_));
  });
  const CUgraphNodeType want[] = {CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMCPY,
                                  CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_HOST,
                                  CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_KERNEL,
                                  CU_GRAPH_NODE_TYPE_MEMCPY};
  std::vector<CUgraphNode> nodes = Nodes(graph);
  ASSERT_EQ(nodes.size(), std::size(want));
  for (size_t i = 0; i < nodes.size(); ++i) {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    EXPECT_CUDA(Api().GraphNodeGetType(nodes[i], &type));
    EXPECT_EQ(type, want[i]) << i;
  }
  EXPECT_EQ(called, 0);
  CUgraphExec exec = Instantiate(graph);
  for (uint32_t round = 1; round <= 3; ++round) {
    // Host memory is read when the graph runs.
    from.assign(64, round * 10);
    much.assign(much.size(), round * 100);
    ASSERT_CUDA(LaunchAndWait(exec));
    EXPECT_EQ(called, static_cast<int>(round));
    EXPECT_EQ(to[0], round * 10 + 1);
    EXPECT_EQ(to[31], round * 10 + 1);
    EXPECT_EQ(to[32], 77u);
    EXPECT_EQ(to[63], 0x01010101u);
    EXPECT_EQ(much_to.front(), round * 100 + 1);
    EXPECT_EQ(much_to.back(), round * 100 + 1);
  }
}

// A diamond whose branches write, and whose joint reads, in both orders of capture; many times, on all cores.
TEST_F(ApiGraph, BranchesComeBetweenForkAndJoin) {
  constexpr int kBranches = 40;  // More than there are lanes.
  std::vector<CUstream> sides;
  std::vector<CUdeviceptr> words;
  std::vector<CUevent> joins;
  for (int i = 0; i < kBranches; ++i) {
    sides.push_back(NewStream());
    words.push_back(NewWords(64));
    joins.push_back(NewEvent());
  }
  CUevent fork = NewEvent();
  std::vector<uint32_t> seen(kBranches);
  CUgraph graph = Capture([&] {
    EXPECT_CUDA(AddOne());
    EXPECT_CUDA(Api().EventRecord(fork, stream_));
    for (int i = 0; i < kBranches; ++i) {
      EXPECT_CUDA(Api().StreamWaitEvent(sides[i], fork, 0));
      EXPECT_CUDA(Api().MemcpyDtoDAsync(words[i], words_, 256, sides[i]));
      for (int j = 0; j < i; ++j) EXPECT_CUDA(AddOne(words[i], sides[i]));
      EXPECT_CUDA(Api().EventRecord(joins[i], sides[i]));
    }
    for (int i = 0; i < kBranches; ++i) EXPECT_CUDA(Api().StreamWaitEvent(stream_, joins[i], 0));
    for (int i = 0; i < kBranches; ++i) {
      EXPECT_CUDA(Api().MemcpyDtoHAsync(&seen[i], words[i] + 4 * i, 4, stream_));
    }
  });
  CUgraphExec exec = Instantiate(graph);
  for (uint32_t round = 1; round <= 100; ++round) {
    ASSERT_CUDA(LaunchAndWait(exec));
    for (int i = 0; i < kBranches; ++i) ASSERT_EQ(seen[i], round + i) << "branch " << i;
  }
}

// Work at random over many streams, small and large, that waits for whom it must: what comes out is what the same work
// gives one after the other.
TEST_F(ApiGraph, RandomWork) {
  constexpr size_t kStreams = 24;
  constexpr uint32_t kWords = 64 * 256, kFew = 64;  // All of an array is a large kernel's, its beginning a small one's.
  struct Lane {
    CUstream stream;
    CUevent event;
    CUdeviceptr words;
    uint32_t few, rest;  // What the words must be.
  };
  std::vector<Lane> lanes;
  for (size_t i = 0; i < kStreams; ++i) {
    lanes.push_back({i == 0 ? stream_ : NewStream(), NewEvent(CU_EVENT_DISABLE_TIMING), NewWords(kWords), 0, 0});
  }
  const auto wait = [&](Lane& waiter, Lane& other) {
    EXPECT_CUDA(Api().EventRecord(other.event, other.stream));
    EXPECT_CUDA(Api().StreamWaitEvent(waiter.stream, other.event, 0));
  };
  for (uint32_t seed = 1; seed <= 10; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::function<void()>> expected;  // The same work on what the words must be.
    CUgraph graph = Capture([&] {
      for (size_t i = 1; i < kStreams; ++i) wait(lanes[i], lanes[0]);
      for (int op = 0; op < 300; ++op) {
        Lane& lane = lanes[random() % kStreams];
        Lane& other = lanes[random() % kStreams];
        const bool small = random() % 3 != 0;
        if (random() % 4 == 0 && &lane != &other) {
          wait(lane, other);
          EXPECT_CUDA(Api().MemcpyDtoDAsync(lane.words, other.words, (small ? kFew : kWords) * 4, lane.stream));
          wait(other, lane);
          expected.push_back([&lane, &other, small] {
            lane.few = other.few;
            if (!small) lane.rest = other.rest;
          });
        } else {
          EXPECT_CUDA(Launch("add_one", small ? 1 : kWords / 256, small ? kFew : 256, lane.stream, uint64_t{lane.words},
                             kWords));
          expected.push_back([&lane, small] {
            ++lane.few;
            if (!small) ++lane.rest;
          });
        }
      }
      for (size_t i = 1; i < kStreams; ++i) wait(lanes[0], lanes[i]);
    });
    CUgraphExec exec = Instantiate(graph);
    for (int round = 0; round < 3; ++round) {
      ASSERT_CUDA(Api().GraphLaunch(exec, stream_));
      for (const auto& one : expected) one();
    }
    ASSERT_CUDA(Api().StreamSynchronize(stream_));
    for (size_t i = 0; i < kStreams; ++i) {
      std::vector<uint32_t> want(kWords, lanes[i].rest);
      std::fill_n(want.begin(), kFew, lanes[i].few);
      ASSERT_EQ(ReadWords(lanes[i].words, kWords), want) << "seed " << seed << ", stream " << i;
    }
    EXPECT_CUDA(Api().GraphExecDestroy(exec));
    EXPECT_CUDA(Api().GraphDestroy(graph));
  }
}

// An independent branch runs while another is held up by a host function.
TEST_F(ApiGraph, BranchesRunAtOnce) {
  CUstream side = NewStream();
  CUevent fork = NewEvent(), join = NewEvent();
  volatile uint32_t* flag = NewFlag();
  CUgraph graph = Capture([&] {
    EXPECT_CUDA(Api().EventRecord(fork, stream_));
    EXPECT_CUDA(Api().StreamWaitEvent(side, fork, 0));
    EXPECT_CUDA(Api().LaunchHostFunc(
        stream_,
        [](void* data) {
          while (*static_cast<volatile uint32_t*>(data) == 0) std::this_thread::yield();
        },
        const_cast<uint32_t*>(flag)));
    EXPECT_CUDA(Launch("store", 1, 1, side, reinterpret_cast<uint64_t>(flag), 1u));
    EXPECT_CUDA(Api().EventRecord(join, side));
    EXPECT_CUDA(Api().StreamWaitEvent(stream_, join, 0));
  });
  CUgraphExec exec = Instantiate(graph);
  EXPECT_CUDA(LaunchAndWait(exec));
}

// "If multiple graph launches of the same exec are queued, they are ordered", whatever streams they are on.
TEST_F(ApiGraph, ASecondLaunchWaitsForTheFirst) {
  CUstream other = NewStream();
  volatile uint32_t* flag = NewFlag();
  CUgraph graph = Capture([&] {
    EXPECT_CUDA(LaunchSpin(flag, stream_));
    EXPECT_CUDA(AddOne());
  });
  CUgraphExec exec = Instantiate(graph);
  ASSERT_CUDA(Api().GraphLaunch(exec, stream_));
  ASSERT_CUDA(Api().GraphLaunch(exec, other));
  EXPECT_EQ(Api().StreamQuery(other), CUDA_ERROR_NOT_READY);
  *flag = 1;
  ASSERT_CUDA(Api().StreamSynchronize(other));
  EXPECT_CUDA(Api().StreamQuery(stream_));
  ExpectWords(2);
}

TEST_F(ApiGraph, GraphsAreOrderedByEventsAndTheLegacyStream) {
  CUstream blocking = NewStream(CU_STREAM_DEFAULT);
  CUgraph graph = Capture([&] {
    for (int i = 0; i < 10; ++i) EXPECT_CUDA(AddOne());
  });
  CUgraphExec exec = Instantiate(graph);
  CUevent event = NewEvent();
  CUdeviceptr copy = NewWords(64);
  ASSERT_CUDA(Api().GraphLaunch(exec, stream_));
  ASSERT_CUDA(Api().EventRecord(event, stream_));
  ASSERT_CUDA(Api().StreamWaitEvent(blocking, event, 0));
  ASSERT_CUDA(Api().GraphLaunch(exec, blocking));
  ASSERT_CUDA(Api().MemcpyDtoDAsync(copy, words_, 256, nullptr));  // The legacy stream: after the blocking one.
  ASSERT_CUDA(Api().GraphLaunch(exec, nullptr));
  ASSERT_CUDA(Api().GraphLaunch(exec, kStreamPerThread));
  ASSERT_CUDA(Api().CtxSynchronize());
  ExpectWords(20, copy);
  ExpectWords(40);
}

TEST_F(ApiGraph, ParametersOfAKernelNode) {
  LaunchBuffer buffer(uint64_t{words_}, 5u);
  CUgraph graph = Capture([&] { EXPECT_CUDA(Store(5)); });
  CUgraphNode node = Nodes(graph).at(0);
  CUDA_KERNEL_NODE_PARAMS params;
  ASSERT_CUDA(Api().GraphKernelNodeGetParams(node, &params));
  EXPECT_EQ(params.func, Function("store"));
  EXPECT_EQ(params.gridDimX, 1u);
  EXPECT_EQ(params.blockDimX, 64u);
  EXPECT_EQ(params.blockDimZ, 1u);
  EXPECT_EQ(params.sharedMemBytes, 0u);
  ASSERT_NE(params.kernelParams, nullptr);
  EXPECT_EQ(*static_cast<uint64_t*>(params.kernelParams[0]), words_);
  EXPECT_EQ(*static_cast<uint32_t*>(params.kernelParams[1]), 5u);
  EXPECT_EQ(Api().GraphKernelNodeGetParams(node, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().GraphKernelNodeGetParams(nullptr, &params), CUDA_ERROR_INVALID_VALUE);
  // What was got can be set.
  CUgraphExec exec = Instantiate(graph);
  ASSERT_CUDA(Api().GraphExecKernelNodeSetParams(exec, node, &params));
  ASSERT_CUDA(LaunchAndWait(exec));
  ExpectWords(5);
}

TEST_F(ApiGraph, SetParamsChangesLaterLaunchesOnly) {
  volatile uint32_t* flag = NewFlag();
  CUdeviceptr copy = NewWords(64);
  CUgraph graph = Capture([&] {
    EXPECT_CUDA(LaunchSpin(flag, stream_));
    EXPECT_CUDA(Store(1));
    EXPECT_CUDA(AddOne());
  });
  std::vector<CUgraphNode> nodes = Nodes(graph);
  CUgraphExec exec = Instantiate(graph);
  ASSERT_CUDA(Api().GraphLaunch(exec, stream_));
  ASSERT_CUDA(Api().MemcpyDtoDAsync(copy, words_, 256, stream_));
  LaunchBuffer buffer(uint64_t{words_}, 50u);
  CUDA_KERNEL_NODE_PARAMS params = StoreParams(buffer);
  ASSERT_CUDA(Api().GraphExecKernelNodeSetParams(exec, nodes[1], &params));  // While the first launch runs.
  ASSERT_CUDA(Api().GraphLaunch(exec, stream_));
  *flag = 1;
  ASSERT_CUDA(Api().StreamSynchronize(stream_));
  ExpectWords(2, copy);
  ExpectWords(51);
  // While nothing runs; then another function, and a size that is no small work any more.
  LaunchBuffer next(uint64_t{words_}, 60u);
  params = StoreParams(next);
  ASSERT_CUDA(Api().GraphExecKernelNodeSetParams(exec, nodes[1], &params));
  ASSERT_CUDA(LaunchAndWait(exec));
  ExpectWords(61);
  CUdeviceptr large = NewWords(1 << 20);
  LaunchBuffer more(uint64_t{large}, 1u << 20);
  params.func = Function("add_one");
  params.gridDimX = 4096;
  params.blockDimX = 256;
  params.extra = more.extra();
  ASSERT_CUDA(Api().GraphExecKernelNodeSetParams(exec, nodes[1], &params));
  ASSERT_CUDA(LaunchAndWait(exec));
  ExpectWords(62);
  EXPECT_EQ(ReadWords(large, 1 << 20), std::vector<uint32_t>(1 << 20, 1));
  // The graph itself is as it was.
  CUgraphExec fresh = Instantiate(graph);
  ASSERT_CUDA(LaunchAndWait(fresh));
  ExpectWords(2);
}

// An inner loop: every launch has a value of its own, and many are queued at once.
TEST_F(ApiGraph, SetParamsBetweenQueuedLaunches) {
  constexpr uint32_t kLaunches = 300;
  CUdeviceptr log = NewWords(kLaunches * 64);
  CUgraph graph = Capture([&] {
    for (int i = 0; i < 20; ++i) EXPECT_CUDA(Store(0));
    EXPECT_CUDA(AddOne());
  });
  std::vector<CUgraphNode> nodes = Nodes(graph);
  CUgraphExec exec = Instantiate(graph);
  for (uint32_t i = 0; i < kLaunches; ++i) {
    LaunchBuffer store(uint64_t{log + 256 * i}, i);
    CUDA_KERNEL_NODE_PARAMS params = StoreParams(store);
    ASSERT_CUDA(Api().GraphExecKernelNodeSetParams(exec, nodes[19], &params));
    LaunchBuffer add(uint64_t{log + 256 * i}, 64u);
    params.func = Function("add_one");
    params.extra = add.extra();
    ASSERT_CUDA(Api().GraphExecKernelNodeSetParams(exec, nodes[20], &params));
    ASSERT_CUDA(Api().GraphLaunch(exec, stream_));
  }
  ASSERT_CUDA(Api().StreamSynchronize(stream_));
  std::vector<uint32_t> got = ReadWords(log, kLaunches * 64);
  for (uint32_t i = 0; i < kLaunches; ++i) ASSERT_EQ(got[i * 64 + 63], i + 1) << i;
}

TEST_F(ApiGraph, SetParamsIsChecked) {
  CUgraph graph = Capture([&] {
    EXPECT_CUDA(Store(1));
    EXPECT_CUDA(Api().MemsetD8Async(words_, 0, 4, stream_));
  });
  CUgraph other = Capture([&] { EXPECT_CUDA(Store(1)); });
  std::vector<CUgraphNode> nodes = Nodes(graph);
  CUgraphExec exec = Instantiate(graph);
  LaunchBuffer buffer(uint64_t{words_}, 9u), wrong(uint64_t{words_});
  CUDA_KERNEL_NODE_PARAMS params = StoreParams(buffer);
  const auto set = [&](CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* with) {
    return Api().GraphExecKernelNodeSetParams(exec, node, with);
  };
  EXPECT_EQ(set(nodes[0], nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(nodes[1], &params), CUDA_ERROR_INVALID_VALUE) << "no kernel";
  EXPECT_EQ(set(Nodes(other)[0], &params), CUDA_ERROR_INVALID_VALUE) << "another graph's node";
  EXPECT_EQ(Api().GraphExecKernelNodeSetParams(nullptr, nodes[0], &params), CUDA_ERROR_INVALID_VALUE);
  CUDA_KERNEL_NODE_PARAMS bad = params;
  bad.func = nullptr;
  EXPECT_EQ(set(nodes[0], &bad), CUDA_ERROR_INVALID_HANDLE);
  bad = params;
  bad.blockDimX = 2048;
  EXPECT_EQ(set(nodes[0], &bad), CUDA_ERROR_INVALID_VALUE);
  bad = params;
  bad.extra = wrong.extra();
  EXPECT_EQ(set(nodes[0], &bad), CUDA_ERROR_INVALID_VALUE);
  // A function of another context.
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  ASSERT_CUDA(Api().DevicePrimaryCtxRetain(&context, 1));
  ASSERT_CUDA(Api().CtxPushCurrent(context));
  ASSERT_CUDA(Api().ModuleLoadDataEx(&module, kTestPtx, 0, nullptr, nullptr));
  ASSERT_CUDA(Api().CtxPopCurrent(nullptr));
  bad = params;
  ASSERT_CUDA(Api().ModuleGetFunction(&bad.func, module, "store"));
  EXPECT_EQ(set(nodes[0], &bad), CUDA_ERROR_INVALID_VALUE);
  ASSERT_CUDA(Api().DevicePrimaryCtxRelease(1));
  EXPECT_CUDA(set(nodes[0], &params));
}

TEST_F(ApiGraph, UpdateTakesOverAnotherGraph) {
  CUgraph graph = Capture([&] {
    EXPECT_CUDA(Store(1));
    EXPECT_CUDA(AddOne());
  });
  CUdeviceptr words = NewWords(64);
  CUgraph changed = Capture([&] {
    EXPECT_CUDA(Store(30, words));
    EXPECT_CUDA(Store(40, words_));
  });
  CUgraphExec exec = Instantiate(graph);
  ASSERT_CUDA(Api().GraphLaunch(exec, stream_));
  CUgraphExecUpdateResultInfo info;
  ASSERT_CUDA(Api().GraphExecUpdate(exec, changed, &info));
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
  EXPECT_EQ(info.errorNode, nullptr);
  ASSERT_CUDA(LaunchAndWait(exec));
  ExpectWords(30, words);
  ExpectWords(40);
  // The nodes that name the exec's are still those of the graph that it was made from.
  LaunchBuffer buffer(uint64_t{words_}, 9u);
  CUDA_KERNEL_NODE_PARAMS params = StoreParams(buffer);
  EXPECT_CUDA(Api().GraphExecKernelNodeSetParams(exec, Nodes(graph)[1], &params));
  EXPECT_EQ(Api().GraphExecKernelNodeSetParams(exec, Nodes(changed)[1], &params), CUDA_ERROR_INVALID_VALUE);
  ASSERT_CUDA(LaunchAndWait(exec));
  ExpectWords(9);
}

TEST_F(ApiGraph, UpdateSaysWhatDiffers) {
  CUstream side = NewStream();
  CUevent fork = NewEvent(), join = NewEvent();
  CUdeviceptr other = NewWords(64);
  CUcontext context = nullptr;
  CUdeviceptr peer = 0;
  ASSERT_CUDA(Api().DevicePrimaryCtxRetain(&context, 1));
  ASSERT_CUDA(Api().CtxPushCurrent(context));
  ASSERT_CUDA(Api().MemAlloc(&peer, 256));
  ASSERT_CUDA(Api().CtxPopCurrent(nullptr));
  const auto three = [&](const std::function<void()>& second, const std::function<void()>& third) {
    return Capture([&] {
      EXPECT_CUDA(Store(1));
      second();
      third();
    });
  };
  const auto add = [&] { EXPECT_CUDA(AddOne()); };
  const auto copy = [&] { EXPECT_CUDA(Api().MemcpyDtoDAsync(other, words_, 64, stream_)); };
  CUgraphExec exec = Instantiate(three(add, copy));
  struct Case {
    const char* name;
    CUgraph graph;
    CUgraphExecUpdateResult want;
    int error_node;  // -1: none.
    int from_node;
  };
  const Case cases[] = {
      {"fewer nodes", Capture(add), CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, -1, -1},
      {"another type", three(copy, copy), CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, 1, -1},
      {"another edge",
       three(
           [&] {
             EXPECT_CUDA(Api().EventRecord(fork, stream_));
             EXPECT_CUDA(Api().StreamWaitEvent(side, fork, 0));
             EXPECT_CUDA(AddOne(words_, side));
           },
           [&] {
             copy();
             EXPECT_CUDA(Api().EventRecord(join, side));
             EXPECT_CUDA(Api().StreamWaitEvent(stream_, join, 0));
           }),
       CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, 2, 0},
      {"another device", three(add, [&] { EXPECT_CUDA(Api().MemcpyDtoDAsync(peer, words_, 64, stream_)); }),
       CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, 2, -1},
  };
  for (const Case& one : cases) {
    CUgraphExecUpdateResultInfo info;
    EXPECT_EQ(Api().GraphExecUpdate(exec, one.graph, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE) << one.name;
    EXPECT_EQ(info.result, one.want) << one.name;
    std::vector<CUgraphNode> nodes = Nodes(one.graph);
    EXPECT_EQ(info.errorNode, one.error_node < 0 ? nullptr : nodes[one.error_node]) << one.name;
    EXPECT_EQ(info.errorFromNode, one.from_node < 0 ? nullptr : nodes[one.from_node]) << one.name;
  }
  // It is as it was.
  ASSERT_CUDA(LaunchAndWait(exec));
  ExpectWords(2);
  CUgraphExecUpdateResultInfo info;
  EXPECT_EQ(Api().GraphExecUpdate(exec, nullptr, &info), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR);
  EXPECT_EQ(Api().GraphExecUpdate(exec, cases[0].graph, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().GraphExecUpdate(nullptr, cases[0].graph, &info), CUDA_ERROR_INVALID_VALUE);
  ASSERT_CUDA(Api().DevicePrimaryCtxRelease(1));
}

TEST_F(ApiGraph, HandlesAreChecked) {
  size_t count = 0;
  CUgraphNodeType type;
  CUgraphExec exec = nullptr;
  CUgraph graph = Capture([&] {
    EXPECT_CUDA(AddOne());
    EXPECT_CUDA(AddOne());
  });
  EXPECT_EQ(Api().GraphGetNodes(graph, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().GraphGetNodes(nullptr, nullptr, &count), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().GraphNodeGetType(nullptr, &type), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().GraphNodeGetType(Nodes(graph)[0], nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().GraphInstantiateWithFlags(nullptr, graph, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().GraphInstantiateWithFlags(&exec, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().GraphInstantiateWithFlags(&exec, graph, 4), CUDA_ERROR_NOT_SUPPORTED) << "launch from the device";
  EXPECT_EQ(Api().GraphInstantiateWithFlags(&exec, graph, 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(Api().GraphInstantiateWithFlags(&exec, graph, 8)) << "node priorities";
  EXPECT_EQ(Api().GraphLaunch(nullptr, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().GraphLaunch(exec, reinterpret_cast<CUstream>(0x30)), CUDA_ERROR_INVALID_HANDLE);
  // Room for one, and for more than there are.
  std::vector<CUgraphNode> nodes(4, reinterpret_cast<CUgraphNode>(1));
  count = 1;
  EXPECT_CUDA(Api().GraphGetNodes(graph, nodes.data(), &count));
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(nodes[1], reinterpret_cast<CUgraphNode>(1));
  count = 4;
  EXPECT_CUDA(Api().GraphGetNodes(graph, nodes.data(), &count));
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(nodes[2], nullptr);
  for (CUresult want : {CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE}) {
    EXPECT_EQ(Api().GraphDestroy(graph), want);
    EXPECT_EQ(Api().GraphExecDestroy(exec), want);
  }
  EXPECT_EQ(Api().GraphNodeGetType(nodes[0], &type), CUDA_ERROR_INVALID_VALUE) << "gone with its graph";
}

TEST_F(ApiGraph, DestroyedWhileRunning) {
  volatile uint32_t* flag = NewFlag();
  const size_t handles = LiveHandlesForTesting();
  CUgraph graph = Capture([&] {
    EXPECT_CUDA(LaunchSpin(flag, stream_));
    EXPECT_CUDA(AddOne());
  });
  CUgraphExec exec = Instantiate(graph);
  ASSERT_CUDA(Api().GraphLaunch(exec, stream_));
  ASSERT_CUDA(Api().GraphLaunch(exec, stream_));
  EXPECT_CUDA(Api().GraphExecDestroy(exec));
  EXPECT_CUDA(Api().GraphDestroy(graph));
  EXPECT_EQ(Api().GraphLaunch(exec, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(LiveHandlesForTesting(), handles);
  *flag = 1;
  ASSERT_CUDA(Api().StreamSynchronize(stream_));
  ExpectWords(2);
}

TEST_F(ApiGraph, TheStreamIsDestroyedWhileItRuns) {
  volatile uint32_t* flag = NewFlag();
  CUstream other = NewStream();
  CUgraphExec exec = Instantiate(Capture([&] {
    EXPECT_CUDA(LaunchSpin(flag, stream_));
    EXPECT_CUDA(AddOne());
  }));
  ASSERT_CUDA(Api().GraphLaunch(exec, other));
  EXPECT_CUDA(Api().StreamDestroy(other));
  *flag = 1;
  ASSERT_CUDA(LaunchAndWait(exec));
  ExpectWords(2);
}

TEST_F(ApiGraph, AModuleThatWasUnloaded) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_CUDA(Api().ModuleLoadDataEx(&module, kTestPtx, 0, nullptr, nullptr));
  ASSERT_CUDA(Api().ModuleGetFunction(&function, module, "empty"));
  CUgraph graph =
      Capture([&] { EXPECT_CUDA(Api().LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream_, nullptr, nullptr)); });
  CUgraphExec exec = Instantiate(graph);
  ASSERT_CUDA(Api().GraphLaunch(exec, stream_));
  ASSERT_CUDA(Api().ModuleUnload(module));
  EXPECT_EQ(Api().GraphLaunch(exec, stream_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Api().GraphInstantiateWithFlags(&exec, graph, 0), CUDA_ERROR_INVALID_HANDLE);
  CUDA_KERNEL_NODE_PARAMS params;
  EXPECT_CUDA(Api().GraphKernelNodeGetParams(Nodes(graph)[0], &params));
  EXPECT_EQ(params.func, nullptr);
  EXPECT_CUDA(Api().StreamSynchronize(stream_));
}

TEST_F(ApiGraph, AContextThatIsGone) {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  ASSERT_CUDA(Api().DevicePrimaryCtxRetain(&context, 1));
  ASSERT_CUDA(Api().CtxPushCurrent(context));
  ASSERT_CUDA(Api().StreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
  CUgraph graph = nullptr;
  ASSERT_CUDA(Api().StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  ASSERT_CUDA(Api().MemsetD8Async(words_, 1, 4, stream));
  ASSERT_CUDA(Api().StreamEndCapture(stream, &graph));
  CUgraphExec exec = Instantiate(graph);
  // A graph runs on its own device, whatever stream it is launched on.
  ASSERT_CUDA(LaunchAndWait(exec));
  EXPECT_EQ(ReadWords(words_, 1)[0], 0x01010101u);
  // Queued work is done before the context goes.
  ASSERT_CUDA(Api().MemsetD8Async(words_, 2, 4, stream));
  ASSERT_CUDA(Api().GraphLaunch(exec, stream));
  ASSERT_CUDA(Api().CtxPopCurrent(nullptr));
  ASSERT_CUDA(Api().DevicePrimaryCtxRelease(1));
  EXPECT_EQ(Api().GraphLaunch(exec, stream_), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(Api().GraphInstantiateWithFlags(&exec, graph, 0), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(ReadWords(words_, 1)[0], 0x01010101u);
}

TEST_F(ApiGraph, MemoryThatWasFreed) {
  CUdeviceptr gone = NewWords(1 << 22);
  CUgraphExec exec = Instantiate(Capture([&] {
    EXPECT_CUDA(AddOne());
    EXPECT_CUDA(Api().MemcpyDtoDAsync(words_, gone, 64, stream_));
  }));
  ASSERT_CUDA(LaunchAndWait(exec));
  ASSERT_CUDA(Api().MemFree(gone));
  EXPECT_EQ(LaunchAndWait(exec), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(Api().GraphLaunch(exec, stream_), CUDA_ERROR_ILLEGAL_ADDRESS) << "sticky";
}

TEST_F(ApiGraph, FaultsAreSticky) {
  Function("trapper");
  std::atomic<int> called{0};
  CUgraphExec exec = Instantiate(Capture([&] {
    EXPECT_CUDA(Store(1));
    EXPECT_CUDA(Launch("trapper", 1, 1, stream_));
    EXPECT_CUDA(Store(2));
    EXPECT_CUDA(Api().LaunchHostFunc(
        stream_, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &called));
  }));
  ASSERT_CUDA(Api().GraphLaunch(exec, stream_));
  EXPECT_EQ(Api().StreamSynchronize(stream_), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(Api().GraphLaunch(exec, stream_), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(called, 0);
  EXPECT_EQ(*reinterpret_cast<volatile uint32_t*>(words_), 1u) << "what came before has run, what came after has not";
  EXPECT_CUDA(Api().GraphExecDestroy(exec));
}

TEST_F(ApiGraph, AnIllegalAccessOfASmallKernel) {
  CUgraphExec exec = Instantiate(Capture([&] {
    EXPECT_CUDA(AddOne());
    EXPECT_CUDA(Store(1, 8));  // An address that is nobody's.
    EXPECT_CUDA(AddOne());
  }));
  EXPECT_EQ(LaunchAndWait(exec), CUDA_ERROR_ILLEGAL_ADDRESS);
}

// Threads launch one graph on streams of their own, and change it.
TEST_F(ApiGraph, ThreadsShareAnExec) {
  constexpr int kThreads = 4;
  constexpr uint32_t kRounds = 200;
  CUgraph graph = Capture([&] {
    for (int i = 0; i < 5; ++i) EXPECT_CUDA(AddOne());
    EXPECT_CUDA(Store(1, words_ + 0));
    for (int i = 0; i < 5; ++i) EXPECT_CUDA(AddOne());
  });
  CUgraphNode node = Nodes(graph)[5];
  CUgraphExec exec = Instantiate(graph);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ASSERT_CUDA(Api().CtxPushCurrent(context_));
      CUstream stream = NewStream();
      for (uint32_t i = 0; i < kRounds; ++i) {
        LaunchBuffer buffer(uint64_t{words_}, 10 + i);
        CUDA_KERNEL_NODE_PARAMS params = StoreParams(buffer);
        if (t % 2 == 0) {
          ASSERT_CUDA(Api().GraphExecKernelNodeSetParams(exec, node, &params));
        }
        ASSERT_CUDA(Api().GraphLaunch(exec, stream));
      }
      ASSERT_CUDA(Api().StreamSynchronize(stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<uint32_t> words = ReadWords(words_, 64);
  EXPECT_EQ(words, std::vector<uint32_t>(64, words[0]));
  EXPECT_GE(words[0], 6u);
}

}  // namespace
}  // namespace slipway::cpu
