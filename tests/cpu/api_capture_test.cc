// The rules of stream capture: modes, forks and joins, and what each violation is answered with.
#include <array>
#include <functional>
#include <thread>

#include "tests/cpu/api_fixture.h"

namespace slipway::cpu {
namespace {

constexpr CUstreamCaptureMode kGlobal = CU_STREAM_CAPTURE_MODE_GLOBAL;
constexpr CUstreamCaptureMode kThreadLocal = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
constexpr CUstreamCaptureMode kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;

class ApiCapture : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    // Module loading is not allowed while a test captures.
    Function("empty");
    Function("store");
    words_ = NewWords(64);
  }

  CUstreamCaptureStatus Status(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    EXPECT_CUDA(Api().StreamIsCapturing(stream, &status));
    return status;
  }
  CUresult LaunchEmpty(CUstream stream) { return Launch("empty", 1, 1, stream); }
  size_t NodeCount(CUgraph graph) {
    size_t count = 0;
    EXPECT_CUDA(Api().GraphGetNodes(graph, nullptr, &count));
    return count;
  }
  // Ends a capture that must be whole, and drops the graph.
  void EndWhole(CUstream stream) {
    CUgraph graph = nullptr;
    EXPECT_CUDA(Api().StreamEndCapture(stream, &graph));
    EXPECT_CUDA(Api().GraphDestroy(graph));
  }
  // Ends a capture that something has broken; the stream works afterwards.
  void EndBroken(CUstream stream, CUresult want = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) {
    auto graph = reinterpret_cast<CUgraph>(1);
    EXPECT_EQ(Api().StreamEndCapture(stream, &graph), want);
    EXPECT_EQ(graph, nullptr);
    EXPECT_EQ(Status(stream), CU_STREAM_CAPTURE_STATUS_NONE);
    EXPECT_CUDA(LaunchEmpty(stream));
    EXPECT_CUDA(Api().StreamSynchronize(stream));
  }

  CUdeviceptr words_ = 0;
};

TEST_F(ApiCapture, NothingRunsWhileAStreamCaptures) {
  CUstream stream = NewStream();
  EXPECT_EQ(Status(stream), CU_STREAM_CAPTURE_STATUS_NONE);
  ASSERT_CUDA(Api().StreamBeginCapture(stream, kGlobal));
  EXPECT_EQ(Status(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  ASSERT_CUDA(Launch("store", 1, 64, stream, uint64_t{words_}, 7u));
  CUgraph graph = nullptr;
  ASSERT_CUDA(Api().StreamEndCapture(stream, &graph));
  EXPECT_EQ(Status(stream), CU_STREAM_CAPTURE_STATUS_NONE);
  ASSERT_CUDA(Api().StreamSynchronize(stream));
  EXPECT_EQ(ReadWords(words_, 1)[0], 0u);
  EXPECT_EQ(NodeCount(graph), 1u);
  EXPECT_CUDA(Api().GraphDestroy(graph));
}

TEST_F(ApiCapture, BeginIsChecked) {
  CUstream stream = NewStream();
  EXPECT_EQ(Api().StreamBeginCapture(nullptr, kGlobal), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(Api().StreamBeginCapture(kStreamLegacy, kGlobal), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(Api().StreamBeginCapture(stream, static_cast<CUstreamCaptureMode>(3)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().StreamBeginCapture(reinterpret_cast<CUstream>(0x30), kGlobal), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_CUDA(Api().StreamBeginCapture(stream, kGlobal));
  EXPECT_EQ(Api().StreamBeginCapture(stream, kGlobal), CUDA_ERROR_ILLEGAL_STATE);
  EndWhole(stream);
  // The per-thread default stream can.
  ASSERT_CUDA(Api().StreamBeginCapture(kStreamPerThread, kGlobal));
  EXPECT_CUDA(LaunchEmpty(kStreamPerThread));
  EndWhole(kStreamPerThread);
}

TEST_F(ApiCapture, EndIsChecked) {
  CUstream stream = NewStream();
  CUgraph graph = nullptr;
  EXPECT_EQ(Api().StreamEndCapture(stream, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().StreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(Api().StreamEndCapture(reinterpret_cast<CUstream>(0x30), &graph), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ApiCapture, InfoTellsWhereTheNextNodeGoes) {
  CUstream stream = NewStream();
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  uint64_t id = 0, second_id = 0;
  CUgraph graph = nullptr, ended = nullptr;
  const CUgraphNode* dependencies = nullptr;
  size_t count = 99;
  EXPECT_CUDA(Api().StreamGetCaptureInfo(stream, &status, &id, &graph, &dependencies, &count));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(count, 99u);
  EXPECT_EQ(Api().StreamGetCaptureInfo(stream, nullptr, &id, &graph, &dependencies, &count), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().StreamIsCapturing(stream, nullptr), CUDA_ERROR_INVALID_VALUE);

  ASSERT_CUDA(Api().StreamBeginCapture(stream, kGlobal));
  EXPECT_CUDA(Api().StreamGetCaptureInfo(stream, &status, &id, &graph, &dependencies, &count));
  EXPECT_EQ(count, 0u);
  ASSERT_CUDA(LaunchEmpty(stream));
  EXPECT_CUDA(Api().StreamGetCaptureInfo(stream, &status, &id, &graph, &dependencies, &count));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  ASSERT_EQ(count, 1u);
  CUgraphNode node = nullptr;
  size_t one = 1;
  EXPECT_CUDA(Api().GraphGetNodes(graph, &node, &one));
  EXPECT_EQ(node, dependencies[0]);
  EXPECT_EQ(Api().GraphDestroy(graph), CUDA_ERROR_INVALID_VALUE) << "while it is being captured";
  EXPECT_CUDA(Api().StreamGetCaptureInfo(stream, &status, nullptr, nullptr, nullptr, nullptr));
  ASSERT_CUDA(Api().StreamEndCapture(stream, &ended));
  EXPECT_EQ(ended, graph);
  EXPECT_CUDA(Api().GraphDestroy(graph));

  ASSERT_CUDA(Api().StreamBeginCapture(stream, kGlobal));
  EXPECT_CUDA(Api().StreamGetCaptureInfo(stream, &status, &second_id, nullptr, nullptr, nullptr));
  EXPECT_NE(second_id, id);
  EndWhole(stream);
}

TEST_F(ApiCapture, ForkAndJoinByEvents) {
  CUstream origin = NewStream(), side = NewStream();
  CUevent fork = NewEvent(CU_EVENT_DISABLE_TIMING), join = NewEvent(CU_EVENT_DISABLE_TIMING);
  ASSERT_CUDA(Api().StreamBeginCapture(origin, kGlobal));
  ASSERT_CUDA(LaunchEmpty(origin));
  ASSERT_CUDA(Api().EventRecord(fork, origin));
  ASSERT_CUDA(Api().StreamWaitEvent(side, fork, 0));
  EXPECT_EQ(Status(side), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  ASSERT_CUDA(LaunchEmpty(side));
  ASSERT_CUDA(LaunchEmpty(origin));
  ASSERT_CUDA(Api().EventRecord(join, side));
  ASSERT_CUDA(Api().StreamWaitEvent(origin, join, 0));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUgraphNode* dependencies = nullptr;
  size_t count = 0;
  EXPECT_CUDA(Api().StreamGetCaptureInfo(origin, &status, nullptr, nullptr, &dependencies, &count));
  EXPECT_EQ(count, 2u);
  ASSERT_CUDA(LaunchEmpty(origin));
  CUgraph graph = nullptr;
  ASSERT_CUDA(Api().StreamEndCapture(origin, &graph));
  EXPECT_EQ(NodeCount(graph), 4u);
  EXPECT_EQ(Status(side), CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_CUDA(LaunchEmpty(side));
  EXPECT_CUDA(Api().StreamSynchronize(side));
  EXPECT_CUDA(Api().GraphDestroy(graph));
}

TEST_F(ApiCapture, AForkThatIsNotJoined) {
  CUstream origin = NewStream(), side = NewStream();
  CUevent fork = NewEvent(), join = NewEvent();
  ASSERT_CUDA(Api().StreamBeginCapture(origin, kGlobal));
  ASSERT_CUDA(LaunchEmpty(origin));
  ASSERT_CUDA(Api().EventRecord(fork, origin));
  ASSERT_CUDA(Api().StreamWaitEvent(side, fork, 0));
  ASSERT_CUDA(LaunchEmpty(side));
  ASSERT_CUDA(Api().EventRecord(join, side));
  ASSERT_CUDA(Api().StreamWaitEvent(origin, join, 0));
  ASSERT_CUDA(LaunchEmpty(side));  // After the join.
  EndBroken(origin, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_CUDA(Api().StreamSynchronize(side));
}

TEST_F(ApiCapture, EndedOnAnotherStream) {
  CUstream origin = NewStream(), side = NewStream();
  CUevent fork = NewEvent();
  CUgraph graph = nullptr;
  ASSERT_CUDA(Api().StreamBeginCapture(origin, kGlobal));
  ASSERT_CUDA(Api().EventRecord(fork, origin));
  ASSERT_CUDA(Api().StreamWaitEvent(side, fork, 0));
  EXPECT_EQ(Api().StreamEndCapture(side, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  EndBroken(origin);
}

TEST_F(ApiCapture, EndedByAnotherThread) {
  for (CUstreamCaptureMode mode : {kGlobal, kThreadLocal, kRelaxed}) {
    CUstream stream = NewStream();
    ASSERT_CUDA(Api().StreamBeginCapture(stream, mode));
    CUgraph graph = nullptr;
    CUresult result = CUDA_SUCCESS;
    std::thread([&] { result = Api().StreamEndCapture(stream, &graph); }).join();
    if (mode == kRelaxed) {
      EXPECT_CUDA(result);
      EXPECT_CUDA(Api().GraphDestroy(graph));
    } else {
      EXPECT_EQ(result, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
      EndBroken(stream);
    }
  }
}

TEST_F(ApiCapture, TwoCapturesDoNotMerge) {
  CUstream one = NewStream(), two = NewStream();
  CUevent event = NewEvent();
  ASSERT_CUDA(Api().StreamBeginCapture(one, kRelaxed));
  ASSERT_CUDA(Api().StreamBeginCapture(two, kRelaxed));
  ASSERT_CUDA(Api().EventRecord(event, one));
  EXPECT_EQ(Api().StreamWaitEvent(two, event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
  EndBroken(one);
  EndBroken(two);
}

TEST_F(ApiCapture, NothingFromOutsideIsWaitedFor) {
  CUstream capturing = NewStream(), other = NewStream();
  CUevent event = NewEvent();
  ASSERT_CUDA(Api().EventRecord(event, other));
  ASSERT_CUDA(Api().StreamBeginCapture(capturing, kGlobal));
  EXPECT_EQ(Api().StreamWaitEvent(capturing, event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  EXPECT_EQ(Status(capturing), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  // Everything else on it answers that it is broken.
  EXPECT_EQ(LaunchEmpty(capturing), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(Api().EventRecord(event, capturing), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(Api().StreamWaitEvent(capturing, event, 0), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(Api().StreamSynchronize(capturing), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(Api().MemsetD8Async(words_, 0, 4, capturing), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EndBroken(capturing);
}

TEST_F(ApiCapture, ACapturedEventIsNoEvent) {
  CUstream capturing = NewStream(), other = NewStream();
  CUevent event = NewEvent(), start = NewEvent();
  float milliseconds = 0;
  ASSERT_CUDA(Api().EventRecord(start, other));
  ASSERT_CUDA(Api().StreamSynchronize(other));
  const std::function<CUresult()> calls[] = {
      [&] { return Api().EventQuery(event); },
      [&] { return Api().EventSynchronize(event); },
      [&] { return Api().EventElapsedTime(&milliseconds, start, event); },
  };
  for (const auto& call : calls) {
    ASSERT_CUDA(Api().StreamBeginCapture(capturing, kRelaxed));
    ASSERT_CUDA(Api().EventRecord(event, capturing));
    EXPECT_EQ(call(), CUDA_ERROR_CAPTURED_EVENT);
    EndBroken(capturing);
    EXPECT_EQ(call(), CUDA_ERROR_CAPTURED_EVENT) << "of a capture that is over";
    EXPECT_EQ(Api().StreamWaitEvent(other, event, 0), CUDA_ERROR_CAPTURED_EVENT);
    // Recorded again, it is an event again.
    ASSERT_CUDA(Api().EventRecord(event, other));
    ASSERT_CUDA(Api().StreamSynchronize(other));
    EXPECT_CUDA(call());
  }
}

TEST_F(ApiCapture, AStreamThatCapturesIsNotWaitedFor) {
  CUstream capturing = NewStream();
  const std::function<CUresult()> calls[] = {
      [&] { return Api().StreamSynchronize(capturing); },
      [&] { return Api().StreamQuery(capturing); },
      [&] { return Api().CtxSynchronize(); },
      [&] { return Api().MemFreeAsync(words_, capturing); },
      [&] {
        CUdeviceptr address = 0;
        return Api().MemAllocAsync(&address, 64, capturing);
      },
  };
  for (const auto& call : calls) {
    ASSERT_CUDA(Api().StreamBeginCapture(capturing, kRelaxed));
    EXPECT_EQ(call(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EndBroken(capturing);
  }
}

// "When any stream in the same context is being captured, and it was not created with cudaStreamNonBlocking, any
// attempted use of the legacy stream is invalid."
TEST_F(ApiCapture, TheLegacyStreamIsTiedToBlockingStreams) {
  CUstream blocking = NewStream(CU_STREAM_DEFAULT);
  CUevent event = NewEvent(), outside = NewEvent();
  uint32_t word = 0;
  const std::function<CUresult()> calls[] = {
      [&] { return LaunchEmpty(nullptr); },
      [&] { return Api().StreamSynchronize(nullptr); },
      [&] { return Api().StreamQuery(kStreamLegacy); },
      [&] { return Api().EventRecord(outside, nullptr); },
      [&] { return Api().StreamWaitEvent(nullptr, event, 0); },
      [&] { return Api().StreamWaitEvent(nullptr, outside, 0); },
      [&] { return Api().MemcpyDtoH(&word, words_, 4); },
      [&] { return Api().MemcpyHtoD(words_, &word, 4); },
      [&] { return Api().MemcpyDtoD(words_, words_ + 4, 4); },
      [&] { return Api().MemsetD8(words_, 0, 4); },
      [&] { return Api().MemsetD32(words_, 0, 1); },
      [&] { return Api().MemsetD8Async(words_, 0, 4, nullptr); },
      [&] {
        return Api().LaunchHostFunc(
            nullptr, [](void*) {}, nullptr);
      },
  };
  for (const auto& call : calls) {
    ASSERT_CUDA(Api().StreamBeginCapture(blocking, kRelaxed));
    ASSERT_CUDA(Api().EventRecord(event, blocking));
    EXPECT_EQ(call(), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    EndBroken(blocking);
  }
  // Asking does not break it.
  CUstreamCaptureStatus status;
  ASSERT_CUDA(Api().StreamBeginCapture(blocking, kRelaxed));
  EXPECT_EQ(Api().StreamIsCapturing(nullptr, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EndWhole(blocking);
  EXPECT_CUDA(Api().StreamIsCapturing(nullptr, &status));
  // A non-blocking stream is apart from it.
  CUstream apart = NewStream();
  ASSERT_CUDA(Api().StreamBeginCapture(apart, kRelaxed));
  for (const auto& call : calls) {
    if (&call == &calls[4]) continue;  // Which is of the capture.
    EXPECT_CUDA(call());
  }
  EXPECT_CUDA(Api().StreamSynchronize(nullptr));
  EndWhole(apart);
}

// Each of them is unsafe, whatever it is called on.
TEST_F(ApiCapture, UnsafeCallsByMode) {
  CUstream capturing = NewStream(), other = NewStream();
  CUevent event = NewEvent();
  uint32_t word = 0;
  const std::function<CUresult()> calls[] = {
      [&] {
        CUdeviceptr address = 0;
        CUresult result = Api().MemAlloc(&address, 64);
        return result == CUDA_SUCCESS ? Api().MemFree(address) : result;
      },
      [&] { return Api().MemFree(words_) == CUDA_SUCCESS ? Api().MemAlloc(&words_, 256) : Api().MemFree(words_); },
      [&] {
        void* memory = nullptr;
        CUresult result = Api().MemAllocHost(&memory, 64);
        return result == CUDA_SUCCESS ? Api().MemFreeHost(memory) : result;
      },
      [&] {
        CUmodule module = nullptr;
        CUresult result =
            Api().ModuleLoadDataEx(&module, ".version 7.8\n.target sm_75\n.address_size 64\n", 0, nullptr, nullptr);
        return result == CUDA_SUCCESS ? Api().ModuleUnload(module) : result;
      },
      [&] { return Api().MemcpyDtoH(&word, words_, 4); },
      [&] { return Api().MemcpyHtoD(words_, &word, 4); },
      [&] { return Api().MemsetD8(words_, 0, 4); },
      [&] { return Api().StreamSynchronize(other); },
      [&] { return Api().StreamQuery(other); },
      [&] { return Api().EventQuery(event); },
      [&] { return Api().EventSynchronize(event); },
  };
  struct Case {
    CUstreamCaptureMode begun;
    CUstreamCaptureMode thread;
    bool another_thread;
    bool allowed;
  };
  const Case cases[] = {
      {kGlobal, kGlobal, false, false},           {kGlobal, kGlobal, true, false},
      {kGlobal, kThreadLocal, false, false},      {kGlobal, kThreadLocal, true, true},
      {kGlobal, kRelaxed, false, true},           {kGlobal, kRelaxed, true, true},
      {kThreadLocal, kGlobal, false, false},      {kThreadLocal, kGlobal, true, true},
      {kThreadLocal, kThreadLocal, false, false}, {kThreadLocal, kRelaxed, false, true},
      {kRelaxed, kGlobal, false, true},           {kRelaxed, kGlobal, true, true},
      {kRelaxed, kThreadLocal, false, true},
  };
  for (const Case& one : cases) {
    for (const auto& call : calls) {
      ASSERT_CUDA(Api().StreamBeginCapture(capturing, one.begun));
      CUresult result = CUDA_SUCCESS;
      const auto body = [&] {
        CUstreamCaptureMode mode = one.thread;
        EXPECT_CUDA(Api().ThreadExchangeStreamCaptureMode(&mode));
        EXPECT_EQ(mode, kGlobal);
        result = call();
        EXPECT_CUDA(Api().ThreadExchangeStreamCaptureMode(&mode));
        EXPECT_EQ(mode, one.thread);
      };
      if (one.another_thread) {
        std::thread([&] {
          EXPECT_CUDA(Api().CtxPushCurrent(context_));
          body();
        }).join();
      } else {
        body();
      }
      EXPECT_EQ(result, one.allowed ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
          << "call " << &call - calls << ", begun " << one.begun << ", thread " << one.thread << ", other thread "
          << one.another_thread;
      if (one.allowed) {
        EndWhole(capturing);
      } else {
        EndBroken(capturing);
      }
    }
  }
}

TEST_F(ApiCapture, ThreadModeIsChecked) {
  EXPECT_EQ(Api().ThreadExchangeStreamCaptureMode(nullptr), CUDA_ERROR_INVALID_VALUE);
  auto mode = static_cast<CUstreamCaptureMode>(7);
  EXPECT_EQ(Api().ThreadExchangeStreamCaptureMode(&mode), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(mode, 7);
}

TEST_F(ApiCapture, AGraphThatIsLaunchedIntoACaptureIsANode) {
  CUstream stream = NewStream();
  ASSERT_CUDA(Api().StreamBeginCapture(stream, kGlobal));
  CUgraph graph = nullptr, outer = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_CUDA(Api().StreamEndCapture(stream, &graph));
  ASSERT_CUDA(Api().GraphInstantiateWithFlags(&exec, graph, 0));
  ASSERT_CUDA(Api().StreamBeginCapture(stream, kGlobal));
  EXPECT_CUDA(Api().GraphLaunch(exec, stream));
  ASSERT_CUDA(Api().StreamEndCapture(stream, &outer));
  size_t count = 0;
  EXPECT_CUDA(Api().GraphGetNodes(outer, nullptr, &count));
  EXPECT_EQ(count, 1u);
  EXPECT_CUDA(Api().GraphExecDestroy(exec));
  EXPECT_CUDA(Api().GraphDestroy(graph));
  EXPECT_CUDA(Api().GraphDestroy(outer));
}

// Wrong arguments are no work: the capture goes on without them.
TEST_F(ApiCapture, WrongArgumentsDoNotBreakIt) {
  CUstream stream = NewStream();
  ASSERT_CUDA(Api().StreamBeginCapture(stream, kGlobal));
  EXPECT_EQ(Launch("store", 1, 64, stream, uint64_t{words_}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Launch("empty", 0, 64, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().MemsetD8Async(words_, 0, 1 << 30, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Status(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EndWhole(stream);
}

TEST_F(ApiCapture, DestroyedStreamsTakeTheirCaptureAlong) {
  CUstream origin = NewStream(), side = NewStream();
  CUevent fork = NewEvent();
  ASSERT_CUDA(Api().StreamBeginCapture(origin, kGlobal));
  ASSERT_CUDA(Api().EventRecord(fork, origin));
  ASSERT_CUDA(Api().StreamWaitEvent(side, fork, 0));
  EXPECT_CUDA(Api().StreamDestroy(side));
  EndBroken(origin);
  ASSERT_CUDA(Api().StreamBeginCapture(origin, kGlobal));
  EXPECT_CUDA(Api().StreamDestroy(origin));
  CUdeviceptr address = 0;
  EXPECT_CUDA(Api().MemAlloc(&address, 64)) << "nothing captures any more";
}

TEST_F(ApiCapture, ADestroyedContextTakesItsCapturesAlong) {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  ASSERT_CUDA(Api().DevicePrimaryCtxRetain(&context, 1));
  ASSERT_CUDA(Api().CtxPushCurrent(context));
  ASSERT_CUDA(Api().StreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
  ASSERT_CUDA(Api().StreamBeginCapture(stream, kGlobal));
  ASSERT_CUDA(Api().MemsetD8Async(words_, 0, 4, stream));
  ASSERT_CUDA(Api().CtxPopCurrent(nullptr));
  ASSERT_CUDA(Api().DevicePrimaryCtxRelease(1));
  CUdeviceptr address = 0;
  EXPECT_CUDA(Api().MemAlloc(&address, 64));
}

// Threads capture, each for itself, while others launch.
TEST_F(ApiCapture, ThreadsDoNotDisturbEachOther) {
  constexpr int kThreads = 4, kRounds = 50, kNodes = 20;
  std::array<CUdeviceptr, kThreads> words;
  for (CUdeviceptr& one : words) one = NewWords(64);
  Function("add_one");
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ASSERT_CUDA(Api().CtxPushCurrent(context_));
      CUstream stream = NewStream();
      for (int round = 0; round < kRounds; ++round) {
        if (t == 0) {  // Plain launches.
          for (int i = 0; i < kNodes; ++i) ASSERT_CUDA(Launch("add_one", 1, 64, stream, uint64_t{words[t]}, 64u));
          continue;
        }
        CUgraph graph = nullptr;
        CUgraphExec exec = nullptr;
        ASSERT_CUDA(Api().StreamBeginCapture(stream, kThreadLocal));
        for (int i = 0; i < kNodes; ++i) ASSERT_CUDA(Launch("add_one", 1, 64, stream, uint64_t{words[t]}, 64u));
        ASSERT_CUDA(Api().StreamEndCapture(stream, &graph));
        ASSERT_CUDA(Api().GraphInstantiateWithFlags(&exec, graph, 0));
        ASSERT_CUDA(Api().GraphDestroy(graph));
        ASSERT_CUDA(Api().GraphLaunch(exec, stream));
        ASSERT_CUDA(Api().GraphExecDestroy(exec));
      }
      ASSERT_CUDA(Api().StreamSynchronize(stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (CUdeviceptr one : words) EXPECT_EQ(ReadWords(one, 64), std::vector<uint32_t>(64, kRounds * kNodes));
}

}  // namespace
}  // namespace slipway::cpu
