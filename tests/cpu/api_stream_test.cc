// Streams, events, and the rules of the default streams.
#include <atomic>
#include <thread>

#include "tests/cpu/api_fixture.h"

namespace slipway::cpu {
namespace {

class ApiStream : public ApiTest {
 protected:
  void TearDown() override {
    // Whatever a test left spinning may end, so that the context can.
    for (volatile uint32_t* flag : flags_) *flag = 1;
    ApiTest::TearDown();
  }
  // A stream that is busy until Release.
  volatile uint32_t* Block(CUstream stream) {
    volatile uint32_t* flag = NewFlag();
    flags_.push_back(flag);
    EXPECT_CUDA(LaunchSpin(flag, stream));
    return flag;
  }
  std::vector<volatile uint32_t*> flags_;
};

TEST_F(ApiStream, WorkIsAsynchronousAndInOrder) {
  CUdeviceptr words = NewWords(256);
  CUstream stream = NewStream();
  volatile uint32_t* flag = Block(stream);
  ASSERT_CUDA(Launch("store", 1, 256, stream, uint64_t{words}, 10u));
  for (int i = 0; i < 50; ++i) ASSERT_CUDA(Launch("add_one", 1, 256, stream, uint64_t{words}, 256u));
  EXPECT_EQ(Api().StreamQuery(stream), CUDA_ERROR_NOT_READY);
  *flag = 1;
  ASSERT_CUDA(Api().StreamSynchronize(stream));
  EXPECT_CUDA(Api().StreamQuery(stream));
  EXPECT_EQ(flag[1], 1u);
  EXPECT_EQ(ReadWords(words, 256), std::vector<uint32_t>(256, 60));
}

TEST_F(ApiStream, CreationAndDestructionAreChecked) {
  CUstream stream = nullptr;
  EXPECT_EQ(Api().StreamCreateWithPriority(nullptr, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().StreamCreateWithPriority(&stream, 8, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(Api().StreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -100));
  EXPECT_CUDA(Api().StreamDestroy(stream));
  EXPECT_EQ(Api().StreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Api().StreamDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Api().StreamDestroy(kStreamLegacy), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ApiStream, ADestroyedStreamFinishesItsWork) {
  CUdeviceptr words = NewWords(256);
  CUstream stream = NewStream();
  volatile uint32_t* flag = Block(stream);
  ASSERT_CUDA(Launch("store", 1, 256, stream, uint64_t{words}, 3u));
  ASSERT_CUDA(Api().StreamDestroy(stream));
  EXPECT_EQ(Api().StreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
  *flag = 1;
  ASSERT_CUDA(Api().CtxSynchronize());
  EXPECT_EQ(ReadWords(words, 256), std::vector<uint32_t>(256, 3));
}

TEST_F(ApiStream, WorkFinishesIfTheHostOnlyPolls) {
  CUdeviceptr words = NewWords(64);
  CUstream stream = NewStream();
  CUevent event = NewEvent();
  for (uint32_t round = 1; round <= 20; ++round) {
    ASSERT_CUDA(Launch("add_one", 1, 64, stream, uint64_t{words}, 64u));
    ASSERT_CUDA(Api().EventRecord(event, stream));
    if (round % 2 == 0) {
      while (Api().StreamQuery(stream) == CUDA_ERROR_NOT_READY) std::this_thread::yield();
    } else {
      while (Api().EventQuery(event) == CUDA_ERROR_NOT_READY) std::this_thread::yield();
    }
  }
  if (IsLate()) return;
  // Not even a query: the host looks at memory.
  volatile uint32_t* flag = NewFlag();
  *flag = 1;
  ASSERT_CUDA(LaunchSpin(flag, stream));
  while (flag[1] == 0) std::this_thread::yield();
  ASSERT_CUDA(Api().StreamSynchronize(stream));
  EXPECT_EQ(ReadWords(words, 64), std::vector<uint32_t>(64, 20));
}

TEST_F(ApiStream, StreamsDoNotWaitForEachOther) {
  CUstream busy = NewStream(), free = NewStream();
  CUdeviceptr words = NewWords(64);
  Block(busy);
  ASSERT_CUDA(Launch("store", 1, 64, free, uint64_t{words}, 8u));
  ASSERT_CUDA(Api().StreamSynchronize(free));  // By this thread, if every other is spinning.
  EXPECT_EQ(Api().StreamQuery(busy), CUDA_ERROR_NOT_READY);
}

TEST_F(ApiStream, LegacyStreamWaitsForBlockingStreams) {
  CUstream blocking = NewStream(CU_STREAM_DEFAULT);
  CUdeviceptr words = NewWords(64);
  volatile uint32_t* flag = Block(blocking);
  ASSERT_CUDA(Launch("store", 1, 64, nullptr, uint64_t{words}, 4u));
  EXPECT_EQ(Api().StreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(*reinterpret_cast<volatile uint32_t*>(words), 0u);
  *flag = 1;
  ASSERT_CUDA(Api().StreamSynchronize(nullptr));
  EXPECT_EQ(flag[1], 1u);  // The blocking stream was first.
  EXPECT_CUDA(Api().StreamQuery(blocking));
  EXPECT_EQ(ReadWords(words, 64), std::vector<uint32_t>(64, 4));
}

TEST_F(ApiStream, BlockingStreamsWaitForTheLegacyStream) {
  CUstream blocking = NewStream(CU_STREAM_DEFAULT);
  CUdeviceptr words = NewWords(64);
  volatile uint32_t* flag = Block(nullptr);
  ASSERT_CUDA(Launch("store", 1, 64, blocking, uint64_t{words}, 4u));
  ASSERT_CUDA(Launch("store", 1, 64, kStreamPerThread, uint64_t{words}, 5u));
  EXPECT_EQ(Api().StreamQuery(blocking), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(Api().StreamQuery(kStreamPerThread), CUDA_ERROR_NOT_READY);
  *flag = 1;
  ASSERT_CUDA(Api().StreamSynchronize(blocking));
  EXPECT_EQ(flag[1], 1u);
  ASSERT_CUDA(Api().CtxSynchronize());
}

TEST_F(ApiStream, NonBlockingStreamsAreApartFromTheLegacyStream) {
  CUstream stream = NewStream();
  CUdeviceptr words = NewWords(64);
  volatile uint32_t* flag = Block(nullptr);
  ASSERT_CUDA(Launch("store", 1, 64, stream, uint64_t{words}, 4u));
  ASSERT_CUDA(Api().StreamSynchronize(stream));
  EXPECT_EQ(Api().StreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  *flag = 1;
  ASSERT_CUDA(Api().StreamSynchronize(nullptr));
  // And the other way round: a synchronous copy, which is the legacy stream's, passes a busy one.
  Block(stream);
  EXPECT_EQ(ReadWords(words, 64), std::vector<uint32_t>(64, 4));
  EXPECT_EQ(Api().StreamQuery(stream), CUDA_ERROR_NOT_READY);
}

TEST_F(ApiStream, PerThreadStreamsAreTheThreads) {
  CUdeviceptr words = NewWords(64);
  Block(kStreamPerThread);
  std::thread([&] {
    ASSERT_CUDA(Api().CtxSetCurrent(context_));
    ASSERT_CUDA(Launch("store", 1, 64, kStreamPerThread, uint64_t{words}, 6u));
    EXPECT_CUDA(Api().StreamSynchronize(kStreamPerThread));
  }).join();
  EXPECT_EQ(*reinterpret_cast<volatile uint32_t*>(words), 6u);
  EXPECT_EQ(Api().StreamQuery(kStreamPerThread), CUDA_ERROR_NOT_READY);
}

TEST_F(ApiStream, WaitingForAnEventOrdersTwoStreams) {
  CUstream first = NewStream(), second = NewStream();
  CUevent event = NewEvent(CU_EVENT_DISABLE_TIMING);
  CUdeviceptr words = NewWords(64);
  volatile uint32_t* flag = Block(first);
  ASSERT_CUDA(Launch("store", 1, 64, first, uint64_t{words}, 20u));
  ASSERT_CUDA(Api().EventRecord(event, first));
  ASSERT_CUDA(Launch("empty", 1, 1, first));
  ASSERT_CUDA(Api().StreamWaitEvent(second, event, 0));
  ASSERT_CUDA(Launch("add_one", 1, 64, second, uint64_t{words}, 64u));
  EXPECT_EQ(Api().EventQuery(event), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(Api().StreamQuery(second), CUDA_ERROR_NOT_READY);
  *flag = 1;
  ASSERT_CUDA(Api().StreamSynchronize(second));
  EXPECT_CUDA(Api().EventQuery(event));
  EXPECT_EQ(ReadWords(words, 64), std::vector<uint32_t>(64, 21));
  EXPECT_EQ(Api().StreamWaitEvent(second, event, 4), CUDA_ERROR_INVALID_VALUE);
}

// The wait is for the record that was there at the call.
TEST_F(ApiStream, AWaitIsForTheRecordOfItsTime) {
  CUstream first = NewStream(), second = NewStream();
  CUevent event = NewEvent();
  ASSERT_CUDA(Api().EventRecord(event, first));
  ASSERT_CUDA(Api().StreamWaitEvent(second, event, 0));
  Block(first);
  ASSERT_CUDA(Api().EventRecord(event, first));
  ASSERT_CUDA(Api().StreamSynchronize(second));
  EXPECT_EQ(Api().EventQuery(event), CUDA_ERROR_NOT_READY);
}

TEST_F(ApiStream, ALongChainOfStreams) {
  constexpr int kStreams = 50;
  CUdeviceptr words = NewWords(64);
  std::vector<CUstream> streams;
  std::vector<CUevent> events;
  volatile uint32_t* flag = nullptr;
  for (int i = 0; i < kStreams; ++i) {
    streams.push_back(NewStream());
    events.push_back(NewEvent());
    if (i == 0) flag = Block(streams[0]);
    if (i > 0) {
      ASSERT_CUDA(Api().StreamWaitEvent(streams[i], events[i - 1], 0));
    }
    ASSERT_CUDA(Launch("add_one", 1, 64, streams[i], uint64_t{words}, 64u));
    ASSERT_CUDA(Api().EventRecord(events[i], streams[i]));
  }
  *flag = 1;
  ASSERT_CUDA(Api().EventSynchronize(events.back()));
  EXPECT_EQ(ReadWords(words, 64), std::vector<uint32_t>(64, kStreams));
}

TEST_F(ApiStream, EventsThatWereNeverRecorded) {
  CUevent event = NewEvent();
  EXPECT_CUDA(Api().EventQuery(event));
  EXPECT_CUDA(Api().EventSynchronize(event));
  EXPECT_CUDA(Api().StreamWaitEvent(NewStream(), event, 0));
  float milliseconds = 0;
  EXPECT_EQ(Api().EventElapsedTime(&milliseconds, event, event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Api().EventCreate(&event, 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().EventCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ApiStream, ElapsedTime) {
  CUstream stream = NewStream();
  CUevent start = NewEvent(), end = NewEvent(), untimed = NewEvent(CU_EVENT_DISABLE_TIMING);
  ASSERT_CUDA(Api().EventRecord(start, stream));
  volatile uint32_t* flag = Block(stream);
  ASSERT_CUDA(Api().EventRecord(end, stream));
  ASSERT_CUDA(Api().EventRecord(untimed, stream));
  float milliseconds = -1;
  EXPECT_EQ(Api().EventElapsedTime(&milliseconds, start, end), CUDA_ERROR_NOT_READY);
  *flag = 1;
  ASSERT_CUDA(Api().EventSynchronize(end));
  ASSERT_CUDA(Api().EventElapsedTime(&milliseconds, start, end));
  EXPECT_GE(milliseconds, 0);
  ASSERT_CUDA(Api().StreamSynchronize(stream));
  EXPECT_EQ(Api().EventElapsedTime(&milliseconds, start, untimed), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Api().EventElapsedTime(nullptr, start, end), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ApiStream, HostFunctionsRunInOrderOnAThreadOfTheirOwn) {
  struct State {
    std::thread::id caller = std::this_thread::get_id();
    volatile uint32_t* words = nullptr;
    uint32_t seen = 0;
    bool other_thread = false;
    CUresult call = CUDA_SUCCESS;
  } state;
  CUdeviceptr words = NewWords(64);
  state.words = reinterpret_cast<volatile uint32_t*>(words);
  CUstream stream = NewStream();
  ASSERT_CUDA(Launch("store", 1, 64, stream, uint64_t{words}, 77u));
  ASSERT_CUDA(Api().LaunchHostFunc(
      stream,
      [](void* data) {
        State& state = *static_cast<State*>(data);
        state.seen = state.words[63];
        state.other_thread = std::this_thread::get_id() != state.caller;
        state.call = Api().CtxSynchronize();
      },
      &state));
  ASSERT_CUDA(Launch("store", 1, 64, stream, uint64_t{words}, 78u));
  ASSERT_CUDA(Api().StreamSynchronize(stream));
  EXPECT_EQ(state.seen, 77u);
  EXPECT_TRUE(state.other_thread);
  EXPECT_EQ(state.call, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(ReadWords(words, 64), std::vector<uint32_t>(64, 78));
  EXPECT_EQ(Api().LaunchHostFunc(stream, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

// A host function may wait for the thread that waits for it to be done with something else.
TEST_F(ApiStream, AHostFunctionDoesNotHoldUpOtherStreams) {
  std::atomic<bool> go{false};
  CUstream stream = NewStream(), other = NewStream();
  CUdeviceptr words = NewWords(64);
  ASSERT_CUDA(Api().LaunchHostFunc(
      stream,
      [](void* data) {
        while (!static_cast<std::atomic<bool>*>(data)->load()) std::this_thread::yield();
      },
      &go));
  ASSERT_CUDA(Launch("store", 1, 64, other, uint64_t{words}, 1u));
  ASSERT_CUDA(Api().StreamSynchronize(other));
  EXPECT_EQ(Api().StreamQuery(stream), CUDA_ERROR_NOT_READY);
  go = true;
  ASSERT_CUDA(Api().StreamSynchronize(stream));
}

TEST_F(ApiStream, AFullQueueWaitsInsteadOfGrowing) {
  CUdeviceptr words = NewWords(32);
  CUstream stream = NewStream();
  for (int i = 0; i < 5000; ++i) ASSERT_CUDA(Launch("add_one", 1, 32, stream, uint64_t{words}, 32u));
  ASSERT_CUDA(Api().StreamSynchronize(stream));
  EXPECT_EQ(ReadWords(words, 32), std::vector<uint32_t>(32, 5000));
}

}  // namespace
}  // namespace slipway::cpu
