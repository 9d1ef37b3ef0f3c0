// Contexts that are destroyed while a kernel runs that never ends by itself. (SetTimeToFinishForTesting: so much is
// waited for on the way; nothing depends on how much.)
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "driver/cpu/sanitizers.h"
#include "driver/cpu/testing.h"
#include "gmock/gmock.h"
#include "tests/assembled.h"
#include "tests/cpu/api_fixture.h"

namespace slipway::cpu {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kUsualMilliseconds = 5000;

class ApiEndless : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    SetTimeToFinishForTesting(20);
  }
  void TearDown() override {
    ApiTest::TearDown();
    SetTimeToFinishForTesting(kUsualMilliseconds);
  }
  // On the default stream, blocks and threads along x.
  static CUresult LaunchCooperative(CUfunction function, unsigned blocks, unsigned threads, LaunchBuffer& buffer) {
    CUlaunchAttribute cooperative = {};
    cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    cooperative.value.cooperative = 1;
    CUlaunchConfig config = {};
    config.gridDimX = blocks;
    config.blockDimX = threads;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.attrs = &cooperative;
    config.numAttrs = 1;
    return Api().LaunchKernelEx(&config, function, nullptr, buffer.extra());
  }
  // A kernel `k` with the parameter %a (.u64), %i the index of the thread in the grid.
  CUfunction Kernel(const std::string& body) {
    const std::string text =
        ".version 7.8\n.target sm_75\n.address_size 64\n"
        ".extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);\n"
        ".global .align 1 .b8 tick[6] = {116, 105, 99, 107, 10, 0};\n"
        ".visible .entry k(.param .u64 pa)\n{\n"
        ".reg .pred %p<4>; .reg .b32 %r<9>, %i; .reg .b64 %l<9>, %a; .shared .align 4 .b32 s[32];\n"
        "ld.param.u64 %a, [pa]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %i, %tid.x;\n"
        "mad.lo.u32 %i, %r0, %r1, %i;\n" +
        body + "\nret;\n}\n";
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    EXPECT_CUDA(Api().ModuleLoadDataEx(&module, text.c_str(), 0, nullptr, nullptr));
    EXPECT_CUDA(Api().ModuleGetFunction(&function, module, "k"));
    AssembleAfterTests(text);
    return function;
  }
  static void Start(CUfunction function, unsigned grid, unsigned block, const void* a = nullptr,
                    CUstream stream = nullptr) {
    LaunchBuffer buffer(reinterpret_cast<uint64_t>(a));
    EXPECT_CUDA(Api().LaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, nullptr, buffer.extra()));
  }
  // Waits until the first word is not 0.
  static void Await(const uint32_t& word) {
    while (std::atomic_ref(const_cast<uint32_t&>(word)).load() == 0) std::this_thread::yield();
  }
  // Destroys the context, makes another, and sees that it works. Gives what was said on stderr.
  std::string Renew() {
    testing::internal::CaptureStderr();
    TearDown();
    const std::string said = testing::internal::GetCapturedStderr();
    SetUp();
    const CUdeviceptr words = NewWords(64);
    EXPECT_CUDA(Launch("store", 2, 32, nullptr, words, 7U));
    EXPECT_THAT(ReadWords(words, 64), testing::Each(7U));
    return said;
  }
};

constexpr char kSaysSo[] = "cpu device: a context was destroyed before its work was done, and ends it: kernel k";

TEST_F(ApiEndless, WorkThatEndsIsDone) {
  SetTimeToFinishForTesting(kUsualMilliseconds);
  std::vector<uint32_t> words(64);
  Start(Kernel("mul.wide.u32 %l0, %i, 4; add.s64 %a, %a, %l0; st.global.u32 [%a], 5;"), 2, 32, words.data());
  EXPECT_THAT(Renew(), Not(HasSubstr("before its work was done")));
  EXPECT_THAT(words, testing::Each(5U));
}

TEST_F(ApiEndless, AGridOfAsManyBlocksAsThereCanBe) {
  uint32_t started = 0;
  Start(Kernel("mov.u32 %r2, 1; st.global.u32 [%a], %r2;"), 0x7FFFFFFF, 1, &started);
  while (Api().StreamQuery(nullptr) == CUDA_ERROR_NOT_READY && std::atomic_ref(started).load() == 0) {
  }
  EXPECT_EQ(started, 1U);
  // It may be done by now, on a fast machine.
  Renew();
}

TEST_F(ApiEndless, AGridOfAsManyBlocksAsThereCanBeWhoseThreadsWait) {
  uint32_t started = 0;
  Start(Kernel("mov.u32 %r2, 1; bar.sync 0; st.global.u32 [%a], %r2;"), 0x7FFFFFFF, 64, &started);
  ASSERT_EQ(Api().StreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  Await(started);
  EXPECT_THAT(Renew(), HasSubstr(kSaysSo));
}

// Each way in which code runs, and each place in which it can be.
struct Endless {
  const char* name;
  const char* body;  // After %a's word has been set.
  unsigned grid, block;
};
class ApiEndlessKernel : public ApiEndless, public testing::WithParamInterface<Endless> {};
TEST_P(ApiEndlessKernel, IsEnded) {
  uint32_t words[2] = {};  // The second stays 0.
  testing::internal::CaptureStdout();
  Start(Kernel(std::string("mov.u32 %r2, 1; st.volatile.global.u32 [%a], %r2;\n") + GetParam().body), GetParam().grid,
        GetParam().block, words);
  ASSERT_EQ(Api().StreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  Await(words[0]);
  EXPECT_THAT(Renew(), HasSubstr(kSaysSo));
  testing::internal::GetCapturedStdout();
}
const Endless kEndless[] = {
    {"EmptyLoop", "L: bra L;", 1, 1},
    {"EmptyLoopOfManyThreads", "L: bra L;", 100, 256},
    {"Stores", "L: add.u32 %r2, %r2, 1; or.b32 %r2, %r2, 1; st.global.u32 [%a], %r2; bra L;", 4, 64},
    {"Atomics", "L: atom.global.or.b32 %r3, [%a], 1; bra L;", 4, 64},
    {"WaitsForAFlag", "L: ld.volatile.global.u32 %r3, [%a+4]; setp.eq.u32 %p0, %r3, 0; @%p0 bra L;", 2, 64},
    {"Barriers", "L: bar.sync 0; bra L;", 2, 128},
    {"BarrierBeforeAnEmptyLoop", "bar.sync 0; L: bra L;", 2, 32},
    {"Shuffles", "L: shfl.sync.bfly.b32 %r2, %r2, 1, 31, -1; bra L;", 2, 32},
    {"Sleeps", "L: nanosleep.u32 1000; bra L;", 1, 32},
    {"Prints",
     "mov.u64 %l1, tick; cvta.global.u64 %l1, %l1; mov.u64 %l2, 0;\n"
     "L: { .param .b32 r; .param .b64 f; .param .b64 v; st.param.b64 [f], %l1; st.param.b64 [v], %l2;\n"
     "call.uni (r), vprintf, (f, v); ld.param.b32 %r5, [r]; } bra L;",
     1, 1},
};
INSTANTIATE_TEST_SUITE_P(Kinds, ApiEndlessKernel, testing::ValuesIn(kEndless),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(ApiEndless, OneWhoseBlocksWaitForEachOther) {
  uint32_t words[2] = {};
  const CUfunction function = Kernel(
      "mov.u32 %r2, 1; st.volatile.global.u32 [%a], %r2;\n"
      "L: ld.volatile.global.u32 %r3, [%a+4]; setp.eq.u32 %p0, %r3, 0; @%p0 bra L;");
  LaunchBuffer buffer(reinterpret_cast<uint64_t>(words));
  ASSERT_CUDA(LaunchCooperative(function, 5, 32, buffer));
  ASSERT_EQ(Api().StreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  Await(words[0]);
  EXPECT_THAT(Renew(), HasSubstr(kSaysSo));
}

TEST_F(ApiEndless, WhatIsQueuedBehindItNeverHappens) {
  const CUfunction function = Kernel("mov.u32 %r2, 1; st.volatile.global.u32 [%a], %r2;\nL: bra L;");
  const CUfunction store = Kernel("mov.u32 %r2, 1; st.global.u32 [%a], %r2;");
  uint32_t started = 0, stored = 0;
  std::atomic<bool> called{false};
  CUstream stream = NewStream();
  Start(function, 1, 1, &started, stream);
  Start(store, 1, 1, &stored, stream);
  EXPECT_CUDA(Api().LaunchHostFunc(
      stream, [](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }, &called));
  const CUevent event = NewEvent();
  EXPECT_CUDA(Api().EventRecord(event, stream));
  CUstream other = NewStream();
  EXPECT_CUDA(Api().StreamWaitEvent(other, event, 0));
  Start(store, 3, 1, &stored, other);
  ASSERT_EQ(Api().StreamQuery(stream), CUDA_ERROR_NOT_READY);
  Await(started);
  Renew();
  EXPECT_EQ(stored, 0U);
  EXPECT_FALSE(called);
}

TEST_F(ApiEndless, AThreadThatWaitsForItIsTold) {
  uint32_t started = 0;
  const CUfunction function = Kernel("mov.u32 %r2, 1; st.volatile.global.u32 [%a], %r2;\nL: bra L;");
  CUstream stream = NewStream();
  Start(function, 1, 1, &started, stream);
  CUresult answer = CUDA_SUCCESS;
  std::thread waiter([&] { answer = Api().StreamSynchronize(stream); });  // It may run the kernel itself.
  Await(started);
  std::thread destroyer([&] { EXPECT_CUDA(Api().DevicePrimaryCtxRelease(0)); });
  destroyer.join();
  waiter.join();
  EXPECT_EQ(answer, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_CUDA(Api().CtxPopCurrent(nullptr));
  ApiTest::SetUp();
}

TEST_F(ApiEndless, OneInAGraph) {
  uint32_t started = 0;
  const CUfunction function = Kernel("mov.u32 %r2, 1; st.volatile.global.u32 [%a], %r2;\nL: bra L;");
  const CUfunction after = Kernel("mov.u32 %r2, 1; st.volatile.global.u32 [%a], %r2;");
  uint32_t reached = 0;
  CUstream stream = NewStream();
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_CUDA(Api().StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  for (int i = 0; i < 3; ++i) {
    LaunchBuffer buffer(reinterpret_cast<uint64_t>(&started));
    LaunchBuffer buffer_after(reinterpret_cast<uint64_t>(&reached));
    ASSERT_CUDA(Api().LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, buffer.extra()));
    ASSERT_CUDA(Api().LaunchKernel(after, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, buffer_after.extra()));
  }
  ASSERT_CUDA(Api().StreamEndCapture(stream, &graph));
  ASSERT_CUDA(Api().GraphInstantiateWithFlags(&exec, graph, 0));
  ASSERT_CUDA(Api().GraphLaunch(exec, stream));
  ASSERT_CUDA(Api().GraphLaunch(exec, stream));
  ASSERT_EQ(Api().StreamQuery(stream), CUDA_ERROR_NOT_READY);
  Await(started);
  EXPECT_THAT(Renew(), HasSubstr("before its work was done"));
  EXPECT_EQ(reached, 0U);
  EXPECT_CUDA(Api().GraphExecDestroy(exec));
  EXPECT_CUDA(Api().GraphDestroy(graph));
}

TEST_F(ApiEndless, AnotherContextsKernelGoesOn) {
  uint32_t started = 0;
  uint32_t words[3] = {};
  CUcontext other = nullptr;
  ASSERT_CUDA(Api().DevicePrimaryCtxRetain(&other, 1));
  ASSERT_CUDA(Api().CtxPushCurrent(other));
  const CUfunction waits = Kernel(
      "mov.u32 %r2, 1; st.volatile.global.u32 [%a], %r2;\n"
      "L: ld.volatile.global.u32 %r3, [%a+4]; setp.eq.u32 %p0, %r3, 0; @%p0 bra L;\n"
      "st.global.u32 [%a+8], %r2;");
  CUstream stream = NewStream();
  Start(waits, 1, 1, words, stream);
  ASSERT_EQ(Api().StreamQuery(stream), CUDA_ERROR_NOT_READY);
  Await(words[0]);
  ASSERT_CUDA(Api().CtxPopCurrent(nullptr));
  Start(Kernel("mov.u32 %r2, 1; st.volatile.global.u32 [%a], %r2;\nL: bra L;"), 1, 1, &started);
  std::thread waiter([&] {
    EXPECT_CUDA(Api().CtxSetCurrent(context_));
    EXPECT_EQ(Api().CtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  });
  Await(started);
  Renew();
  waiter.join();
  EXPECT_EQ(words[2], 0U);
  std::atomic_ref(words[1]).store(1);
  ASSERT_CUDA(Api().CtxPushCurrent(other));
  EXPECT_CUDA(Api().StreamSynchronize(stream));
  EXPECT_EQ(words[2], 1U);
  ASSERT_CUDA(Api().CtxPopCurrent(nullptr));
  EXPECT_CUDA(Api().DevicePrimaryCtxRelease(1));
}

TEST_F(ApiEndless, ABlockThatWaitsForOneThatHasFailedEnds) {
  // The second block fails; the first would wait for it for ever. On a GPU the failure ends both.
  uint32_t words[2] = {};
  const CUfunction function = Kernel(
      "setp.eq.u32 %p0, %r0, 0; @%p0 bra L; mov.u64 %l1, 16; ld.global.u32 %r4, [%l1]; st.global.u32 [%a+4], %r4;\n"
      "L: ld.volatile.global.u32 %r3, [%a+4]; setp.eq.u32 %p0, %r3, 0; @%p0 bra L;");
  LaunchBuffer buffer(reinterpret_cast<uint64_t>(words));
  testing::internal::CaptureStderr();
  ASSERT_CUDA(LaunchCooperative(function, 2, 1, buffer));
  EXPECT_EQ(Api().CtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("illegal access at 0x10 in kernel k, block (1,0,0)"));
}

// A handler that the application has installed since: ours is put in front of it.
TEST_F(ApiEndless, IsEndedWhateverSignalHandlerWasInstalled) {
  uint32_t started[2] = {};
  Start(Kernel("mov.u32 %r2, 1; st.volatile.global.u32 [%a], %r2;\nL: bra L;"), 1, 32, started);
  ASSERT_EQ(Api().StreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  Await(started[0]);
  struct sigaction own = {}, before = {};
  own.sa_handler = [](int) { _exit(77); };
  ASSERT_EQ(sigaction(SIGSEGV, &own, &before), 0);
  const std::string said = Renew();
  ASSERT_EQ(sigaction(SIGSEGV, &before, nullptr), 0);
  EXPECT_THAT(said, HasSubstr(kSaysSo));
}

TEST_F(ApiEndless, AProcessThatExitsMeanwhile) {
  if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer ends a forked process that starts a thread";
  const pid_t child = fork();
  if (child == 0) {
    uint32_t started = 0;
    Start(Kernel("mov.u32 %r2, 1; st.volatile.global.u32 [%a], %r2;\nL: bra L;"), 100, 64, &started);
    if (Api().StreamQuery(nullptr) != CUDA_ERROR_NOT_READY) _exit(1);
    Await(started);
    std::exit(3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

}  // namespace
}  // namespace slipway::cpu
