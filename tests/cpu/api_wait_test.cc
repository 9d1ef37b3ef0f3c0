// Kernels whose threads wait for each other, through the driver: on several cores, across blocks, and what a launch
// says that cannot end.
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "tests/assembled.h"
#include "tests/cpu/address_space_limit.h"
#include "tests/cpu/api_fixture.h"

namespace slipway::cpu {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

// Each takes {words, n}.
constexpr char kPtx[] = R"(
.version 7.0
.target sm_70
.address_size 64
// words[block] = the sum of the numbers of the block's threads, by way of shared memory and shuffles.
.visible .entry block_sum(.param .u64 words, .param .u32 n)
{
.shared .b32 s[32]; .reg .b32 %r<20>; .reg .b64 %l<4>; .reg .pred %p<4>;
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3;
shfl.sync.down.b32 %r5, %r4, 16, 31, -1; add.u32 %r4, %r4, %r5;
shfl.sync.down.b32 %r5, %r4, 8, 31, -1; add.u32 %r4, %r4, %r5;
shfl.sync.down.b32 %r5, %r4, 4, 31, -1; add.u32 %r4, %r4, %r5;
shfl.sync.down.b32 %r5, %r4, 2, 31, -1; add.u32 %r4, %r4, %r5;
shfl.sync.down.b32 %r5, %r4, 1, 31, -1; add.u32 %r4, %r4, %r5;
shr.u32 %r6, %r3, 5; shl.b32 %r6, %r6, 2; mov.u32 %r7, s; add.u32 %r7, %r7, %r6;
and.b32 %r8, %r3, 31; setp.eq.u32 %p1, %r8, 0; @%p1 st.shared.u32 [%r7], %r4;
bar.sync 0;
setp.ne.u32 %p2, %r3, 0; @%p2 ret;
mov.u32 %r9, 0; mov.u32 %r10, s; shr.u32 %r11, %r2, 5;
LOOP: ld.shared.u32 %r12, [%r10]; add.u32 %r9, %r9, %r12; add.u32 %r10, %r10, 4; sub.u32 %r11, %r11, 1;
setp.ne.u32 %p3, %r11, 0; @%p3 bra LOOP;
ld.param.u64 %l1, [words]; mad.wide.u32 %l1, %r1, 4, %l1; st.global.u32 [%l1], %r9;
ret;
}
// Block after block: each waits for the one before it, and adds one to what that has left.
.visible .entry chain(.param .u64 words, .param .u32 n)
{
.reg .b32 %r<9>; .reg .b64 %l<4>; .reg .pred %p<4>;
mov.u32 %r1, %ctaid.x; mov.u32 %r3, %tid.x; setp.ne.u32 %p1, %r3, 0; mov.u32 %r2, 0;
ld.param.u64 %l1, [words]; mad.wide.u32 %l2, %r1, 4, %l1;
@%p1 bra DONE;
setp.eq.u32 %p2, %r1, 0; @%p2 bra STORE;
SPIN: ld.acquire.gpu.global.u32 %r2, [%l2+-4]; setp.eq.u32 %p3, %r2, 0; @%p3 bra SPIN;
STORE: add.u32 %r2, %r2, 1; st.release.gpu.global.u32 [%l2], %r2;
DONE: bar.sync 0;
ret;
}
// n times: every block adds one to words[0], then waits until all have (as grid-wide synchronization does).
.visible .entry grid_barrier(.param .u64 words, .param .u32 n)
{
.reg .b32 %r<12>; .reg .b64 %l<4>; .reg .pred %p<4>;
mov.u32 %r3, %tid.x; mov.u32 %r4, %nctaid.x; ld.param.u32 %r5, [n]; ld.param.u64 %l1, [words]; mov.u32 %r6, 0;
ROUND: add.u32 %r6, %r6, %r4;
bar.sync 0; setp.ne.u32 %p1, %r3, 0; @%p1 bra MEET;
membar.gl; atom.global.add.u32 %r7, [%l1], 1;
SPIN: ld.volatile.global.u32 %r7, [%l1]; setp.lt.u32 %p2, %r7, %r6; @%p2 bra SPIN;
membar.gl;
MEET: bar.sync 0;
sub.u32 %r5, %r5, 1; setp.ne.u32 %p3, %r5, 0; @%p3 bra ROUND;
mov.u32 %r8, %ctaid.x; mad.wide.u32 %l2, %r8, 4, %l1; setp.eq.u32 %p1, %r3, 0; @%p1 st.global.u32 [%l2+4], %r6;
ret;
}
.visible .entry large(.param .u64 words, .param .u32 n)
{
.local .align 4 .b8 own[500000]; .reg .b32 %r<4>; .reg .b64 %l<4>;
mov.u32 %r1, %tid.x; st.local.u32 [own], %r1; bar.sync 0; ld.local.u32 %r2, [own];
ld.param.u64 %l1, [words]; mad.wide.u32 %l1, %r1, 4, %l1; st.global.u32 [%l1], %r2;
ret;
}
.visible .entry deadlock(.param .u64 words, .param .u32 n)
{
.reg .b32 %r<4>; .reg .pred %p<2>;
mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0;
@%p1 bra OTHER;
bar.sync 1, 64; ret;
OTHER: bar.sync 2, 64; ret;
}
.visible .entry bad_barrier(.param .u64 words, .param .u32 n)
{
.reg .b32 %r<4>;
ld.param.u32 %r1, [n]; bar.sync %r1;
ret;
}
)";

class ApiWait : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    AssembleAfterTests(kPtx);
    ASSERT_CUDA(Api().ModuleLoadDataEx(&module_, kPtx, 0, nullptr, nullptr));
  }
  CUresult LaunchWait(const char* kernel, unsigned grid, unsigned block, CUdeviceptr words, uint32_t n,
                      CUstream stream = nullptr, bool cooperative = false) {
    CUfunction function = nullptr;
    if (CUresult result = Api().ModuleGetFunction(&function, module_, kernel); result != CUDA_SUCCESS) return result;
    LaunchBuffer buffer(static_cast<uint64_t>(words), n);
    if (!cooperative) {
      return Api().LaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, nullptr, buffer.extra());
    }
    CUlaunchAttribute attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
    CUlaunchConfig config = {};
    config.gridDimX = grid;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = block;
    config.hStream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return Api().LaunchKernelEx(&config, function, nullptr, buffer.extra());
  }
  CUmodule module_ = nullptr;
};

uint32_t SumOfBlock(uint32_t block, uint32_t threads) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < threads; ++i) sum += block * threads + i;
  return sum;
}

TEST_F(ApiWait, ManyBlocksOnAllCores) {
  constexpr uint32_t kBlocks = 5000;
  for (uint32_t threads : {32U, 256U, 1024U}) {
    const CUdeviceptr words = NewWords(kBlocks);
    ASSERT_CUDA(LaunchWait("block_sum", kBlocks, threads, words, 0));
    ASSERT_CUDA(Api().CtxSynchronize());
    const std::vector<uint32_t> sums = ReadWords(words, kBlocks);
    for (uint32_t block = 0; block < kBlocks; ++block) ASSERT_EQ(sums[block], SumOfBlock(block, threads)) << block;
  }
}

TEST_F(ApiWait, EightThreadsWithAStreamEach) {
  std::vector<CUdeviceptr> words;
  std::vector<CUstream> streams;
  for (int i = 0; i < 8; ++i) {
    words.push_back(NewWords(64));
    streams.push_back(NewStream());
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      EXPECT_CUDA(Api().CtxPushCurrent(context_));
      for (int k = 0; k < 20; ++k) EXPECT_CUDA(LaunchWait("block_sum", 64, 32U << (k % 6), words[i], 0, streams[i]));
      EXPECT_CUDA(LaunchWait("block_sum", 64, 128, words[i], 0, streams[i]));
      EXPECT_CUDA(Api().StreamSynchronize(streams[i]));
      CUcontext popped = nullptr;
      EXPECT_CUDA(Api().CtxPopCurrent(&popped));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (CUdeviceptr one : words) {
    const std::vector<uint32_t> sums = ReadWords(one, 64);
    for (uint32_t block = 0; block < 64; ++block) ASSERT_EQ(sums[block], SumOfBlock(block, 128)) << block;
  }
}

TEST_F(ApiWait, BlocksStartInOrder) {
  constexpr uint32_t kBlocks = 300;
  const CUdeviceptr words = NewWords(kBlocks);
  ASSERT_CUDA(LaunchWait("chain", kBlocks, 64, words, 0));
  ASSERT_CUDA(Api().CtxSynchronize());
  std::vector<uint32_t> want(kBlocks);
  std::iota(want.begin(), want.end(), 1);
  EXPECT_EQ(ReadWords(words, kBlocks), want);
}

TEST_F(ApiWait, BlocksOfACooperativeLaunchMeet) {
  for (uint32_t blocks : {1U, 7U, 32U}) {
    const CUdeviceptr words = NewWords(blocks + 1);
    ASSERT_CUDA(LaunchWait("grid_barrier", blocks, 64, words, 10, nullptr, /*cooperative=*/true));
    ASSERT_CUDA(Api().CtxSynchronize());
    EXPECT_THAT(ReadWords(words, blocks + 1), Each(10 * blocks));
  }
}

// The results of a launch that fails, and the line that says why.
TEST_F(ApiWait, LaunchesThatCannotEnd) {
  struct {
    const char* kernel;
    uint32_t n;
    const char* message;
  } const kCases[] = {
      {"deadlock", 0,
       "cpu device: threads of a block wait for others that have ended or wait themselves, at a barrier or in a warp "
       "operation in kernel deadlock, block (0,0,0), thread (0,0,0); every later call on its context fails"},
      {"bad_barrier", 16,
       "cpu device: a barrier with a number past 15, or for a number of threads that is no multiple of 32 in kernel "
       "bad_barrier, block (0,0,0), thread (0,0,0)"},
  };
  for (const auto& test : kCases) {
    TearDown();
    SetUp();
    ::testing::internal::CaptureStderr();
    EXPECT_CUDA(LaunchWait(test.kernel, 1, 64, 0, test.n));
    EXPECT_EQ(Api().CtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED) << test.kernel;
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr(test.message));
    EXPECT_EQ(LaunchWait(test.kernel, 1, 64, 0, test.n), CUDA_ERROR_LAUNCH_FAILED);
  }
}

TEST_F(ApiWait, LaunchesWithoutMemory) {
  const CUdeviceptr words = NewWords(1024);
  ::testing::internal::CaptureStderr();
  {
    const AddressSpaceLimit limit(size_t{64} << 20);
    EXPECT_CUDA(LaunchWait("large", 1, 1024, words, 0));
    EXPECT_EQ(Api().CtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  }
  EXPECT_THAT(
      ::testing::internal::GetCapturedStderr(),
      HasSubstr("cpu device: no memory for the registers and the local memory of a block in kernel large, block "
                "(0,0,0); every later call on its context fails"));
}

}  // namespace
}  // namespace slipway::cpu
