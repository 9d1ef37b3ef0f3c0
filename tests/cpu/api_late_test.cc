// SLIPWAY_CPU_ASYNC=late: nothing runs before a wait or a query asks for it.
#include <atomic>
#include <cstdlib>
#include <thread>

#include "tests/cpu/api_fixture.h"

namespace slipway::cpu {
namespace {

const bool late_is_set = [] {
  setenv("SLIPWAY_CPU_ASYNC", "late", /*overwrite=*/1);
  return true;
}();

class ApiLate : public ApiTest {
 protected:
  uint32_t Peek(CUdeviceptr address) { return *reinterpret_cast<volatile uint32_t*>(address); }
  // Time for whatever would run by itself.
  void Linger() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }
};

TEST_F(ApiLate, NothingRunsBeforeAWait) {
  CUdeviceptr words = NewWords(1 << 20);
  CUstream stream = NewStream();
  std::atomic<int> called{0};
  ASSERT_CUDA(Launch("store", 4096, 256, stream, uint64_t{words}, 5u));
  ASSERT_CUDA(Api().LaunchHostFunc(
      stream, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &called));
  for (int i = 0; i < 100; ++i) ASSERT_CUDA(Launch("add_one", 4096, 256, stream, uint64_t{words}, 1u << 20));
  Linger();
  EXPECT_EQ(Peek(words), 0u);
  EXPECT_EQ(called, 0);
  ASSERT_CUDA(Api().StreamSynchronize(stream));
  EXPECT_EQ(called, 1);
  EXPECT_EQ(ReadWords(words, 1 << 20), std::vector<uint32_t>(1 << 20, 105));
}

TEST_F(ApiLate, AWaitRunsOnlyWhatItNeeds) {
  CUdeviceptr a = NewWords(64), b = NewWords(64), c = NewWords(64);
  CUstream first = NewStream(), second = NewStream(), third = NewStream();
  CUevent event = NewEvent();
  ASSERT_CUDA(Launch("store", 1, 64, first, uint64_t{a}, 1u));
  ASSERT_CUDA(Api().EventRecord(event, first));
  ASSERT_CUDA(Launch("store", 1, 64, first, uint64_t{a}, 2u));
  ASSERT_CUDA(Api().StreamWaitEvent(second, event, 0));
  ASSERT_CUDA(Launch("store", 1, 64, second, uint64_t{b}, 3u));
  ASSERT_CUDA(Launch("store", 1, 64, third, uint64_t{c}, 4u));
  ASSERT_CUDA(Api().StreamSynchronize(second));
  Linger();
  EXPECT_EQ(Peek(a), 1u);
  EXPECT_EQ(Peek(b), 3u);
  EXPECT_EQ(Peek(c), 0u);
  ASSERT_CUDA(Api().CtxSynchronize());
  EXPECT_EQ(Peek(a), 2u);
  EXPECT_EQ(Peek(c), 4u);
}

TEST_F(ApiLate, PollingGetsThere) {
  CUdeviceptr a = NewWords(64);
  CUstream first = NewStream(), second = NewStream();
  CUevent event = NewEvent();
  std::atomic<int> called{0};
  ASSERT_CUDA(Launch("store", 1, 64, first, uint64_t{a}, 1u));
  ASSERT_CUDA(Api().LaunchHostFunc(
      first, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &called));
  ASSERT_CUDA(Api().EventRecord(event, first));
  ASSERT_CUDA(Api().StreamWaitEvent(second, event, 0));
  ASSERT_CUDA(Launch("add_one", 1, 64, second, uint64_t{a}, 64u));
  Linger();
  EXPECT_EQ(Peek(a), 0u);
  while (Api().StreamQuery(second) == CUDA_ERROR_NOT_READY) std::this_thread::yield();
  EXPECT_EQ(Peek(a), 2u);
  EXPECT_EQ(called, 1);
}

TEST_F(ApiLate, SynchronousCallsAndFreesAreWaits) {
  CUdeviceptr a = NewWords(64), b = NewWords(64);
  CUstream blocking = NewStream(CU_STREAM_DEFAULT);
  ASSERT_CUDA(Launch("store", 1, 64, blocking, uint64_t{a}, 1u));
  EXPECT_EQ(ReadWords(a, 64), std::vector<uint32_t>(64, 1));
  ASSERT_CUDA(Launch("store", 1, 64, blocking, uint64_t{a}, 2u));
  EXPECT_CUDA(Api().MemFree(b));
  EXPECT_EQ(Peek(a), 2u);
}

TEST_F(ApiLate, GraphsWaitToBeAskedFor) {
  CUdeviceptr a = NewWords(64), b = NewWords(1 << 20);
  CUstream stream = NewStream(), side = NewStream(), other = NewStream();
  CUevent fork = NewEvent(), join = NewEvent(), done = NewEvent();
  std::atomic<int> called{0};
  Function("store");
  Function("add_one");
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_CUDA(Api().StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  ASSERT_CUDA(Api().EventRecord(fork, stream));
  ASSERT_CUDA(Api().StreamWaitEvent(side, fork, 0));
  ASSERT_CUDA(Launch("add_one", 4096, 256, side, uint64_t{b}, 1u << 20));
  ASSERT_CUDA(Api().LaunchHostFunc(
      side, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &called));
  ASSERT_CUDA(Launch("add_one", 1, 64, stream, uint64_t{a}, 64u));
  ASSERT_CUDA(Launch("add_one", 1, 64, stream, uint64_t{a}, 64u));
  ASSERT_CUDA(Api().EventRecord(join, side));
  ASSERT_CUDA(Api().StreamWaitEvent(stream, join, 0));
  ASSERT_CUDA(Api().StreamEndCapture(stream, &graph));
  ASSERT_CUDA(Api().GraphInstantiateWithFlags(&exec, graph, 0));

  for (uint32_t round = 1; round <= 4; ++round) {
    ASSERT_CUDA(Api().GraphLaunch(exec, stream));
    ASSERT_CUDA(Api().EventRecord(done, stream));
    Linger();
    EXPECT_EQ(Peek(a), 2 * (round - 1));
    EXPECT_EQ(called, static_cast<int>(round - 1));
    if (round == 1) {
      ASSERT_CUDA(Api().StreamSynchronize(stream));
    } else if (round == 2) {
      ASSERT_CUDA(Api().EventSynchronize(done));
    } else if (round == 3) {
      while (Api().StreamQuery(stream) == CUDA_ERROR_NOT_READY) std::this_thread::yield();
    } else {  // By way of a stream that waits for the launch, and a second launch on another.
      ASSERT_CUDA(Api().GraphLaunch(exec, other));
      ASSERT_CUDA(Launch("store", 1, 64, other, uint64_t{a}, 50u));
      ASSERT_CUDA(Api().StreamSynchronize(other));
      EXPECT_EQ(Peek(a), 50u);
      EXPECT_EQ(called, 5);
      break;
    }
    EXPECT_EQ(Peek(a), 2 * round);
    EXPECT_EQ(called, static_cast<int>(round));
  }
  EXPECT_EQ(ReadWords(b, 1 << 20), std::vector<uint32_t>(1 << 20, 5));
}

}  // namespace
}  // namespace slipway::cpu
