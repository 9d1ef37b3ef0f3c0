// That a lower priority number is served first. A program of its own: on one core the order is seen.
#include <sched.h>

#include <thread>

#include "tests/cpu/api_fixture.h"

namespace slipway::cpu {
namespace {

// Before the device counts the cores that it may use.
const bool one_core = [] {
  cpu_set_t allowed, one;
  CPU_ZERO(&one);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return false;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed)) continue;
    CPU_SET(core, &one);
    break;
  }
  return sched_setaffinity(0, sizeof(one), &one) == 0;
}();

// Each block waits for words[0] and adds 1 to words[1]; out = words[1] before the kernel that reads it.
constexpr const char* kPtx = R"(
.version 7.8
.target sm_75
.address_size 64

.visible .entry wait_and_count(.param .u64 words)
{
  .reg .pred %p<2>;
  .reg .b32 %r<3>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [words];
again:
  ld.volatile.global.u32 %r1, [%rd1];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra again;
  atom.global.add.u32 %r2, [%rd1+4], 1;
  ret;
}

.visible .entry look(.param .u64 words, .param .u64 out)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [words];
  ld.param.u64 %rd2, [out];
  ld.volatile.global.u32 %r1, [%rd1+4];
  st.volatile.global.u32 [%rd2], %r1;
  ret;
}
)";

class ApiPriority : public ApiTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(one_core);
    ApiTest::SetUp();
    CUmodule module = nullptr;
    ASSERT_CUDA(Api().ModuleLoadDataEx(&module, kPtx, 0, nullptr, nullptr));
    ASSERT_CUDA(Api().ModuleGetFunction(&count_, module, "wait_and_count"));
    ASSERT_CUDA(Api().ModuleGetFunction(&look_, module, "look"));
    words_ = NewFlag();
    out_ = NewWords(4);
  }
  void TearDown() override {
    words_[0] = 1;
    ApiTest::TearDown();
  }
  CUstream NewStreamOf(int priority) {
    CUstream stream = nullptr;
    EXPECT_CUDA(Api().StreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, priority));
    return stream;
  }
  CUresult Count(unsigned blocks, CUstream stream) {
    LaunchBuffer buffer(reinterpret_cast<uint64_t>(words_));
    return Api().LaunchKernel(count_, blocks, 1, 1, 1, 1, 1, 0, stream, nullptr, buffer.extra());
  }
  CUresult Look(int index, CUstream stream) {
    LaunchBuffer buffer(reinterpret_cast<uint64_t>(words_), uint64_t{out_ + 4 * static_cast<unsigned>(index)});
    return Api().LaunchKernel(look_, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, buffer.extra());
  }
  // Until a pool thread has begun what was launched. Queries wake one and run nothing themselves.
  void UntilItRuns(CUstream stream) {
    EXPECT_EQ(Api().StreamQuery(stream), CUDA_ERROR_NOT_READY);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  // The host only looks on, so that all the work is the pool thread's.
  void UntilDone(CUstream stream) {
    while (Api().StreamQuery(stream) == CUDA_ERROR_NOT_READY) std::this_thread::yield();
  }
  uint32_t Out(int index) { return reinterpret_cast<volatile uint32_t*>(out_)[index]; }

  CUfunction count_ = nullptr, look_ = nullptr;
  volatile uint32_t* words_ = nullptr;
  CUdeviceptr out_ = 0;
};

TEST_F(ApiPriority, TheMoreUrgentOfWhatIsReadyIsFirst) {
  CUstream busy = NewStreamOf(0), low = NewStreamOf(0), middle = NewStreamOf(-1), high = NewStreamOf(-5);
  ASSERT_CUDA(Count(1, busy));
  UntilItRuns(busy);
  // In the wrong order; each counts one up after it has looked.
  for (auto [stream, index] : {std::pair(low, 2), std::pair(middle, 1), std::pair(high, 0)}) {
    ASSERT_CUDA(Look(index, stream));
    ASSERT_CUDA(Count(1, stream));
  }
  // All are asked for before any can run, in late mode too.
  for (CUstream stream : {low, middle, high}) EXPECT_EQ(Api().StreamQuery(stream), CUDA_ERROR_NOT_READY);
  words_[0] = 1;
  for (CUstream stream : {low, middle, high}) UntilDone(stream);
  EXPECT_EQ(Out(0), 1u);
  EXPECT_EQ(Out(1), 2u);
  EXPECT_EQ(Out(2), 3u);
}

TEST_F(ApiPriority, ALaunchMakesRoomBetweenItsBlocks) {
  constexpr uint32_t kBlocks = 10'000;
  CUstream low = NewStreamOf(0), high = NewStreamOf(-1);
  ASSERT_CUDA(Count(kBlocks, low));
  UntilItRuns(low);
  ASSERT_CUDA(Look(0, high));
  EXPECT_EQ(Api().StreamQuery(high), CUDA_ERROR_NOT_READY);
  words_[0] = 1;
  UntilDone(low);
  EXPECT_LT(Out(0), kBlocks);
  EXPECT_CUDA(Api().StreamQuery(high));
  EXPECT_EQ(words_[1], kBlocks);
}

TEST_F(ApiPriority, ALaunchHasAPriorityOfItsOwn) {
  constexpr uint32_t kBlocks = 10'000;
  CUstream low = NewStreamOf(0), other = NewStreamOf(0);
  ASSERT_CUDA(Count(kBlocks, low));
  UntilItRuns(low);
  CUlaunchAttribute attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  attribute.value.priority = -2;
  CUlaunchConfig config = {1, 1, 1, 1, 1, 1, 0, other, &attribute, 1};
  LaunchBuffer buffer(reinterpret_cast<uint64_t>(words_), uint64_t{out_});
  ASSERT_CUDA(Api().LaunchKernelEx(&config, look_, nullptr, buffer.extra()));
  words_[0] = 1;
  UntilDone(low);
  EXPECT_LT(Out(0), kBlocks);
}

// A captured kernel keeps the priority of the stream that it was captured on.
TEST_F(ApiPriority, NodesKeepTheirs) {
  constexpr uint32_t kBlocks = 10'000;
  CUstream low = NewStreamOf(0), high = NewStreamOf(-3);
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_CUDA(Api().StreamBeginCapture(high, CU_STREAM_CAPTURE_MODE_RELAXED));
  ASSERT_CUDA(Look(0, high));
  ASSERT_CUDA(Look(1, high));
  ASSERT_CUDA(Api().StreamEndCapture(high, &graph));
  ASSERT_CUDA(Api().GraphInstantiateWithFlags(&exec, graph, 0));
  ASSERT_CUDA(Count(kBlocks, low));
  UntilItRuns(low);
  ASSERT_CUDA(Api().GraphLaunch(exec, high));
  words_[0] = 1;
  UntilDone(low);
  EXPECT_LT(Out(0), kBlocks);
  EXPECT_LT(Out(1), kBlocks);
}

}  // namespace
}  // namespace slipway::cpu
