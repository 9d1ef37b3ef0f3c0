// Threads that wait for each other on the CPU device: barriers, warp operations, divergent lanes, locks and flags; and
// every way in which such a kernel fails. Expected values are computed here by plain loops over threads.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "driver/cpu/program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/assembled.h"
#include "tests/cpu/address_space_limit.h"

namespace slipway::cpu {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr char kHeader[] = ".version 8.4\n.target sm_90\n.address_size 64\n";

// A kernel over {out, in, n} with %t (the thread's number in its block), %threads (in the block), %i (in the grid),
// %v = in[%i] and shared memory `s` of 4,096 words; stores %d into out[%i] where the body leaves at END.
std::string Kernel(const std::string& body, const std::string& before = "") {
  return before + R"(.visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n)
{
.shared .align 16 .b32 s[4096];
.reg .pred %p<20>; .reg .b32 %r<40>; .reg .b64 %l<20>; .reg .f32 %f<9>; .reg .f64 %g<9>;
.reg .b32 %i, %n, %t, %threads, %v, %d, %own, %block; .reg .b64 %to, %from;
mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.z; mov.u32 %r3, %ntid.x; mov.u32 %r4, %ntid.y;
mov.u32 %r5, %ntid.z;
mad.lo.s32 %r1, %r2, %r4, %r1; mad.lo.s32 %t, %r1, %r3, %r0;
mul.lo.s32 %threads, %r3, %r4; mul.lo.s32 %threads, %threads, %r5;
mov.u32 %block, %ctaid.x; mad.lo.s32 %i, %block, %threads, %t;
ld.param.u32 %n, [n]; ld.param.u64 %to, [out]; ld.param.u64 %from, [in];
mul.wide.u32 %l0, %i, 4; add.s64 %to, %to, %l0; add.s64 %from, %from, %l0;
ld.global.u32 %v, [%from]; mov.u32 %d, 0;
mov.u32 %own, s; shl.b32 %r6, %t, 2; add.s32 %own, %own, %r6;
)" + body +
         R"(
END: st.global.u32 [%to], %d;
ret;
}
)";
}

struct Shape {
  uint32_t x = 1, y = 1, z = 1;
  uint32_t threads() const { return x * y * z; }
};
void PrintTo(const Shape& shape, std::ostream* os) { *os << shape.x << "x" << shape.y << "x" << shape.z; }

constexpr uint32_t kBlocks = 3;

struct Ran {
  std::vector<uint32_t> out;
  uint32_t failure = 0;
};

Ran RunKernel(const Program& program, const Shape& shape, const std::vector<uint32_t>& in, uint32_t n = 0,
              uint32_t blocks = kBlocks) {
  Ran ran;
  ran.out.assign(in.size() + 16, 0xdeadbeef);
  struct alignas(16) {
    uint32_t* out;
    const uint32_t* in;
    uint32_t n;
  } params{ran.out.data(), in.data(), n};
  CpuLaunch launch;
  launch.params = reinterpret_cast<const std::byte*>(&params);
  launch.grid[0] = blocks;
  launch.block[0] = shape.x;
  launch.block[1] = shape.y;
  launch.block[2] = shape.z;
  alignas(128) static thread_local std::byte shared[1 << 16];
  program.kernels()[0].run(&launch, 0, blocks, shared);
  ran.failure = launch.trapped;
  ran.out.resize(in.size());
  return ran;
}

std::unique_ptr<Program> LoadOrDie(const std::string& body) {
  auto program = Program::Load(kHeader + body);
  EXPECT_TRUE(program.ok()) << program.status();
  AssembleAfterTests(kHeader + body);
  return program.ok() ? *std::move(program) : nullptr;
}

std::string Refusal(const std::string& body) {
  auto program = Program::Load(kHeader + body);
  return std::string(program.status().message());
}

// Values without a pattern.
std::vector<uint32_t> Input(size_t count) {
  std::vector<uint32_t> values(count);
  uint32_t x = 12345;
  for (uint32_t& value : values) value = x = x * 1664525 + 1013904223;
  return values;
}

class PtxWait : public ::testing::TestWithParam<Shape> {
 protected:
  // Runs over blocks of the shape; `want(block's values, thread)` is what out has.
  template <class Want>
  void Check(const std::string& kernel, const Want& want, uint32_t n = 0) {
    const auto program = LoadOrDie(kernel);
    ASSERT_NE(program, nullptr);
    const uint32_t threads = GetParam().threads();
    const std::vector<uint32_t> in = Input(kBlocks * threads);
    const Ran ran = RunKernel(*program, GetParam(), in, n);
    ASSERT_EQ(ran.failure, 0U);
    for (uint32_t block = 0; block < kBlocks; ++block) {
      const std::vector<uint32_t> values(in.begin() + block * threads, in.begin() + (block + 1) * threads);
      for (uint32_t t = 0; t < threads; ++t) {
        ASSERT_EQ(ran.out[block * threads + t], want(values, t)) << "block " << block << ", thread " << t;
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Blocks, PtxWait,
                         ::testing::Values(Shape{1}, Shape{7}, Shape{32}, Shape{33}, Shape{64}, Shape{96}, Shape{200},
                                           Shape{256}, Shape{1024}, Shape{16, 16}, Shape{64, 4}, Shape{5, 3, 7},
                                           Shape{8, 2, 64}),
                         [](const auto& info) {
                           return std::to_string(info.param.x) + "x" + std::to_string(info.param.y) + "x" +
                                  std::to_string(info.param.z);
                         });

TEST_P(PtxWait, ReverseThroughSharedMemory) {
  Check(Kernel(R"(
    st.shared.u32 [%own], %v;
    bar.sync 0;
    sub.s32 %r10, %threads, %t; sub.s32 %r10, %r10, 1; shl.b32 %r10, %r10, 2; mov.u32 %r11, s;
    add.s32 %r11, %r11, %r10; ld.shared.u32 %d, [%r11];)"),
        [](const std::vector<uint32_t>& values, uint32_t t) { return values[values.size() - 1 - t]; });
}

TEST_P(PtxWait, PrefixSumWithBarriersInALoop) {  // Hillis and Steele's, two barriers a step.
  Check(Kernel(R"(
    st.shared.u32 [%own], %v; mov.u32 %d, %v; mov.u32 %r10, 1;
    bar.sync 0;
    LOOP: setp.ge.u32 %p1, %r10, %threads; @%p1 bra END;
    setp.lt.u32 %p2, %t, %r10; mov.u32 %r12, 0;
    @%p2 bra SKIP;
    shl.b32 %r11, %r10, 2; sub.s32 %r11, %own, %r11; ld.shared.u32 %r12, [%r11];
    SKIP: barrier.sync 0;
    add.s32 %d, %d, %r12; st.shared.u32 [%own], %d; shl.b32 %r10, %r10, 1;
    bar.sync 0; bra LOOP;)"),
        [](const std::vector<uint32_t>& values, uint32_t t) {
          return std::accumulate(values.begin(), values.begin() + t + 1, 0U);
        });
}

TEST_P(PtxWait, ThreadsThatHaveEndedAreNotWaitedFor) {
  Check(Kernel(R"(
    and.b32 %r10, %t, 1; setp.eq.u32 %p1, %r10, 1; mov.u32 %d, 5;
    @%p1 bra END;
    st.shared.u32 [%own], %v;
    bar.sync 0;
    add.s32 %r11, %t, 2; setp.ge.u32 %p2, %r11, %threads; @%p2 mov.u32 %r11, 0;
    shl.b32 %r11, %r11, 2; mov.u32 %r12, s; add.s32 %r12, %r12, %r11; ld.shared.u32 %d, [%r12];)"),
        [](const std::vector<uint32_t>& values, uint32_t t) {
          if (t % 2 == 1) return 5U;
          return values[t + 2 < values.size() ? t + 2 : 0];
        });
}

TEST_P(PtxWait, ReductionsAtABarrier) {
  Check(Kernel(R"(
    and.b32 %r10, %v, 4096; setp.ne.u32 %p1, %r10, 0;
    bar.red.popc.u32 %r11, 0, %p1;
    setp.ge.u32 %p4, %v, 0;
    barrier.red.and.pred %p2, 0, %p4;
    bar.red.or.pred %p3, 0, !%p4;
    selp.u32 %r12, 10000, 0, %p2; selp.u32 %r13, 100000, 0, %p3; add.s32 %d, %r11, %r12; add.s32 %d, %d, %r13;)"),
        [](const std::vector<uint32_t>& values, uint32_t) {
          return 10000U + static_cast<uint32_t>(
                              std::count_if(values.begin(), values.end(), [](uint32_t v) { return (v & 4096) != 0; }));
        });
}

TEST_P(PtxWait, WarpSumByShuffles) {
  Check(Kernel(R"(
    mov.u32 %d, %v; mov.u32 %r10, 16; activemask.b32 %r14;
    LOOP: shfl.sync.down.b32 %r11|%p1, %d, %r10, 31, %r14;
    add.s32 %r12, %t, %r10; setp.lt.u32 %p2, %r12, %threads; and.pred %p1, %p1, %p2;
    @%p1 add.s32 %d, %d, %r11;
    shr.u32 %r10, %r10, 1; setp.ne.u32 %p3, %r10, 0; @%p3 bra LOOP;
    shfl.sync.idx.b32 %d, %d, 0, 31, %r14;)"),
        [](const std::vector<uint32_t>& values, uint32_t t) {
          const size_t first = t / 32 * 32;
          return std::accumulate(values.begin() + first, values.begin() + std::min(first + 32, values.size()), 0U);
        });
}

TEST_P(PtxWait, ShufflesWithAllOnes) {  // Of which a lane and a segment mask are five bits each.
  Check(Kernel(R"(
    mov.u32 %r10, -1;
    shfl.sync.bfly.b32 %r11, %v, %r10, 31, -1;
    shfl.sync.idx.b32 %r12, %v, 0, %r10, -1;
    mad.lo.s32 %d, %r12, 3, %r11;)"),
        [](const std::vector<uint32_t>& values, uint32_t t) {
          const uint32_t other = t ^ 31;  // Where there is no such lane: the lane's own value.
          return values[other < values.size() ? other : t] + 3 * values[t];
        });
}

TEST_P(PtxWait, FirstWarpGoesOnAlone) {  // Lanes of one warp shuffle while the others wait at the barrier.
  Check(
      Kernel(R"(
    st.shared.u32 [%own], %v;
    bar.sync 0;
    setp.ge.u32 %p1, %t, 32; @%p1 bra WAIT;
    mov.u32 %r10, 0; mov.u32 %r11, %t;
    GATHER: setp.ge.u32 %p2, %r11, %threads; @%p2 bra SUM;
    shl.b32 %r12, %r11, 2; mov.u32 %r13, s; add.s32 %r13, %r13, %r12; ld.shared.u32 %r12, [%r13];
    add.s32 %r10, %r10, %r12; add.s32 %r11, %r11, 32; bra GATHER;
    SUM: activemask.b32 %r15; mov.u32 %r15, -1; setp.lt.u32 %p5, %threads, 32; mov.u32 %r16, 1;
    @%p5 shl.b32 %r16, %r16, %threads; @%p5 sub.s32 %r15, %r16, 1;
    redux.sync.add.u32 %r10, %r10, %r15;
    setp.eq.u32 %p3, %t, 0; @%p3 st.shared.u32 [s+8192], %r10;
    WAIT: bar.sync 0; ld.shared.u32 %d, [s+8192];)"),
      [](const std::vector<uint32_t>& values, uint32_t) { return std::accumulate(values.begin(), values.end(), 0U); });
}

TEST_P(PtxWait, BothSidesOfABranchMeetInOneOperation) {  // From compute capability 7.0 on they may.
  Check(Kernel(R"(
    mov.u32 %r15, -1; and.b32 %r16, %t, -32; sub.s32 %r16, %threads, %r16; setp.lt.u32 %p5, %r16, 32; mov.u32 %r17, 1;
    @%p5 shl.b32 %r17, %r17, %r16; @%p5 sub.s32 %r15, %r17, 1;
    and.b32 %r10, %v, 1; setp.eq.u32 %p1, %r10, 0;
    @%p1 bra EVEN;
    vote.sync.ballot.b32 %d, 1, %r15; add.s32 %d, %d, 1; bra END;
    EVEN: vote.sync.ballot.b32 %d, 0, %r15;)"),
        [](const std::vector<uint32_t>& values, uint32_t t) {
          uint32_t odd = 0;
          const size_t first = t / 32 * 32;
          for (size_t i = first; i < std::min(first + 32, values.size()); ++i) odd |= (values[i] & 1) << (i - first);
          return odd + (values[t] & 1);
        });
}

TEST_P(PtxWait, BothSidesOfABranchMeetInOneShuffle) {  // Each with its own lane and segments.
  Check(Kernel(R"(
    and.b32 %r10, %t, 1; setp.eq.u32 %p1, %r10, 0; add.s32 %r11, %t, 2;
    @%p1 bra EVEN;
    shfl.sync.idx.b32 %d, %v, 3, 31, -1; bra END;
    EVEN: and.b32 %r10, %t, 2; setp.eq.u32 %p2, %r10, 0; @%p2 bra FOURTH;
    shfl.sync.idx.b32 %d, %v, %r11, 31, -1; bra END;
    FOURTH: shfl.sync.idx.b32 %d, %v, 1, 0x181f, -1;)"),
        [](const std::vector<uint32_t>& values, uint32_t t) {
          const uint32_t first = t / 32 * 32;
          const uint32_t from = t % 2 == 1 ? 3 : t % 4 == 2 ? (t + 2) % 32 : t % 32 / 8 * 8 + 1;
          return values[first + from < values.size() ? first + from : t];
        });
}

TEST_P(PtxWait, LanesGoRoundALoopADifferentNumberOfTimes) {
  Check(Kernel(R"(
    and.b32 %r10, %v, 15; mov.u32 %d, 0;
    LOOP: activemask.b32 %r11; popc.b32 %r12, %r11; setp.eq.u32 %p1, %r10, 0; @%p1 bra OUT;
    mad.lo.s32 %d, %d, 3, %r10; sub.s32 %r10, %r10, 1; bra LOOP;
    OUT: bar.sync 0;)"),
        [](const std::vector<uint32_t>& values, uint32_t t) {
          uint32_t d = 0;
          for (uint32_t k = values[t] & 15; k != 0; --k) d = d * 3 + k;
          return d;
        });
}

TEST_P(PtxWait, GuardedBarriersAndShuffles) {  // All take them or none does.
  Check(
      Kernel(R"(
    setp.ne.u32 %p1, %n, 0;
    st.shared.u32 [%own], %v;
    @%p1 bar.sync 0;
    xor.b32 %r10, %t, 1; setp.ge.u32 %p2, %r10, %threads; @%p2 mov.u32 %r10, %t;
    shl.b32 %r10, %r10, 2; mov.u32 %r11, s; add.s32 %r11, %r11, %r10; ld.shared.u32 %d, [%r11];
    @!%p1 bar.sync 0;)"),
      [](const std::vector<uint32_t>& values, uint32_t t) { return values[(t ^ 1) < values.size() ? t ^ 1 : t]; }, 1);
}

TEST_P(PtxWait, LocalMemoryAndWideRegistersLiveOn) {
  Check(Kernel(R"(
    { .local .align 8 .b64 own64[4]; .reg .b64 %w<4>; .reg .b16 %h; .reg .pred %q;
    cvt.u64.u32 %w0, %v; shl.b64 %w1, %w0, 32; or.b64 %w1, %w1, %w0;
    and.b32 %r10, %v, 3; mul.wide.u32 %w2, %r10, 8; mov.u64 %w3, own64; add.s64 %w3, %w3, %w2;
    st.local.u64 [own64], 0; st.local.u64 [own64+8], 0; st.local.u64 [own64+16], 0; st.local.u64 [own64+24], 0;
    st.local.u64 [%w3], %w1; cvt.u16.u32 %h, %v; setp.gt.u32 %q, %v, 0x7fffffff;
    bar.sync 0;
    ld.local.u64 %w0, [own64]; ld.local.u64 %w2, [own64+8]; add.s64 %w0, %w0, %w2; ld.local.u64 %w2, [own64+16];
    add.s64 %w0, %w0, %w2; ld.local.u64 %w2, [own64+24]; add.s64 %w0, %w0, %w2;
    bar.sync 0;
    sub.s64 %w0, %w0, %w1; cvt.u32.u64 %d, %w0; cvt.u32.u16 %r10, %h; add.s32 %d, %d, %r10; @%q add.s32 %d, %d, 1000000;
    })"),
        [](const std::vector<uint32_t>& values, uint32_t t) {
          return (values[t] & 0xffff) + (values[t] > 0x7fffffff ? 1000000 : 0);
        });
}

TEST_P(PtxWait, LocalMemoryIsAlignedAsItAsks) {
  Check(Kernel(R"(
    { .local .align 128 .b8 own[16]; .reg .b64 %w;
    mov.u64 %w, own; cvta.local.u64 %w, %w; cvt.u32.u64 %r10, %w; and.b32 %r10, %r10, 127; st.local.u32 [own], %r10;
    bar.sync 0;
    ld.local.u32 %r11, [own]; add.s32 %d, %v, %r11; })"),
        [](const std::vector<uint32_t>& values, uint32_t t) { return values[t]; });
}

TEST_P(PtxWait, AddressesOfLocalMemoryLiveOn) {  // The same in name, but another in each thread.
  Check(Kernel(R"(
    { .local .align 8 .b8 own[16]; .reg .b64 %w<3>;
    mov.u64 %w0, own; cvta.local.u64 %w1, %w0; add.s64 %w2, %w1, 4;
    st.u32 [%w1], %v; st.u32 [%w2], %t;
    bar.sync 0;
    ld.u32 %r10, [%w1]; ld.local.u32 %r11, [own+4]; add.s32 %r12, %r10, 1; st.local.u32 [%w0], %r12;
    bar.sync 0;
    ld.u32 %r13, [%w1]; ld.u32 %r14, [%w2]; mad.lo.s32 %d, %r13, 3, %r10; sub.s32 %d, %d, %r11; add.s32 %d, %d, %r14; })"),
        [](const std::vector<uint32_t>& values, uint32_t t) { return (values[t] + 1) * 3 + values[t]; });
}

constexpr char kFunctionsThatWait[] = R"(
.shared .align 4 .b32 first[1];
.func (.param .b32 result) broadcast(.param .b32 thread, .param .b32 value)
{ .reg .b32 %r<9>; .reg .pred %p;
  ld.param.b32 %r1, [thread]; ld.param.b32 %r2, [value];
  setp.ne.u32 %p, %r1, 0; @%p bra WAIT;
  st.shared.b32 [first], %r2;
  WAIT: bar.sync 0;
  ld.shared.b32 %r4, [first]; st.param.b32 [result], %r4;
  bar.sync 0;
  setp.eq.u32 %p, %r4, 0; @%p ret;
  ret; }
.func (.reg .b32 result) twice(.reg .b32 thread, .reg .b32 value)
{ .reg .b32 %r<9>; .param .b32 a; .param .b32 b; .param .b32 c;
  st.param.b32 [a], thread; add.s32 %r1, value, 1; st.param.b32 [b], %r1;
  call (c), broadcast, (a, b);
  ld.param.b32 %r2, [c]; add.s32 result, %r2, %r1; ret; }
)";

TEST_P(PtxWait, FunctionsThatWait) {  // By .param and by .reg, within each other, under a guard too.
  Check(
      Kernel(R"(
    { .param .b32 a; .param .b32 b; .param .b32 c; .reg .b32 %got;
    st.param.b32 [a], %t; st.param.b32 [b], %v;
    call (c), broadcast, (a, b);
    ld.param.b32 %r10, [c];
    call (%got), twice, (%t, %r10);
    mov.u32 %d, %got; setp.ne.u32 %p1, %n, 0; setp.eq.u32 %p2, %n, 0;
    @%p1 call (%got), twice, (%t, %d);
    @%p2 call (%got), twice, (%t, %d);
    mov.u32 %d, %got; })",
             kFunctionsThatWait),
      [](const std::vector<uint32_t>& values, uint32_t) { return 2 * (2 * (values[0] + 1) + 1); }, 1);
}

TEST_P(PtxWait, BranchTablesAcrossBarriers) {
  Check(Kernel(R"(
    mov.u32 %r10, 0;
    LOOP: setp.ge.u32 %p1, %r10, 6; @%p1 bra END;
    rem.u32 %r11, %r10, 3; add.s32 %r10, %r10, 1;
    TABLE: .branchtargets A, B, C;
    brx.idx %r11, TABLE;
    A: st.shared.u32 [%own], %v; bar.sync 0; bra LOOP;
    B: setp.eq.u32 %p2, %t, 0; ld.shared.u32 %r12, [s]; add.s32 %d, %d, %r12; bar.sync 0; @%p2 bra LOOP; bra LOOP;
    C: add.s32 %v, %v, 1; bra LOOP;)"),
        [](const std::vector<uint32_t>& values, uint32_t) { return 2 * values[0] + 1; });
}

TEST_P(PtxWait, LockTakenByEveryThread) {  // Needs every lane to make progress by itself.
  Check(
      Kernel(R"(
    setp.ne.u32 %p1, %t, 0; @%p1 bra READY; st.shared.u32 [s], 0; st.shared.u32 [s+4], 0;
    READY: bar.sync 0;
    TAKE: atom.shared.cas.b32 %r10, [s], 0, 1; setp.ne.u32 %p2, %r10, 0; @%p2 bra TAKE;
    membar.cta;
    ld.volatile.shared.u32 %r11, [s+4]; add.s32 %r11, %r11, %v; st.volatile.shared.u32 [s+4], %r11;
    membar.cta;
    atom.shared.exch.b32 %r10, [s], 0;
    bar.sync 0;
    ld.shared.u32 %d, [s+4];)"),
      [](const std::vector<uint32_t>& values, uint32_t) { return std::accumulate(values.begin(), values.end(), 0U); });
}

TEST_P(PtxWait, FlagsFromThreadToThread) {  // Each waits for the thread after it: the last one goes first.
  Check(Kernel(R"(
    st.volatile.shared.u32 [%own], 0; mov.u32 %r12, 0;
    bar.sync 0;
    add.s32 %r10, %t, 1; setp.ge.u32 %p1, %r10, %threads; @%p1 bra STORE;
    SPIN: ld.volatile.shared.u32 %r12, [%own+4]; setp.eq.u32 %p2, %r12, 0; @%p2 bra SPIN;
    STORE: add.s32 %d, %r12, 1; st.volatile.shared.u32 [%own], %d;)"),
        [](const std::vector<uint32_t>& values, uint32_t t) { return static_cast<uint32_t>(values.size()) - t; });
}

TEST_P(PtxWait, CompareAndSwapLoopsNeedNobody) {  // And so stay loops over threads.
  const auto program = LoadOrDie(Kernel(R"(
    ld.global.u32 %r10, [%to];
    LOOP: mov.u32 %r11, %r10; add.s32 %r12, %r11, %v; atom.global.cas.b32 %r10, [%to], %r11, %r12;
    setp.ne.u32 %p1, %r10, %r11; @%p1 bra LOOP; mov.u32 %d, %r12;)"));
  const std::vector<uint32_t> in = Input(GetParam().threads());
  const Ran ran = RunKernel(*program, GetParam(), in, 0, 1);
  for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(ran.out[i], 0xdeadbeef + in[i]);
}

TEST_P(PtxWait, RegistersWrittenInDifferentTurns) {  // Once in the text, by different lanes at different times.
  Check(Kernel(R"(
    and.b32 %r12, %v, 7; mov.u32 %r10, 0; mov.u32 %d, 99;
    LOOP: setp.ne.u32 %p1, %r10, %r12; @%p1 bra SKIP; mov.u32 %r11, %r10;
    SKIP: bar.sync 0; add.u32 %r10, %r10, 1; setp.lt.u32 %p2, %r10, 8; @%p2 bra LOOP;
    mov.u32 %d, %r11;)"),
        [](const std::vector<uint32_t>& values, uint32_t t) { return values[t] & 7; });
}

TEST_P(PtxWait, SumsOfStridedLoopsInALoop) {  // Threads that have one turn more fall behind in the outer loop.
  const auto program = LoadOrDie(Kernel(R"(
    st.shared.u32 [%own], %v; bar.sync 0;
    ld.param.u64 %l5, [in]; mov.u32 %r10, 0; mov.u32 %r20, 0;
    OUTER: mov.u32 %r11, %t;
    setp.ge.u32 %p1, %r11, %n; @%p1 bra NEXT;
    INNER: mul.wide.u32 %l6, %r11, 4; add.s64 %l6, %l5, %l6; ld.global.u32 %r12, [%l6];
    mad.lo.u32 %d, %r12, 5, %d; add.u32 %r11, %r11, %threads; setp.lt.u32 %p2, %r11, %n; @%p2 bra INNER;
    NEXT: mad.lo.u32 %r20, %r20, 3, %r10; add.u32 %r10, %r10, 1; setp.lt.u32 %p3, %r10, 4; @%p3 bra OUTER;
    bar.sync 0; xor.b32 %d, %d, %r20;)"));
  const uint32_t threads = GetParam().threads();
  const std::vector<uint32_t> in = Input(kBlocks * threads);
  for (uint32_t n : {threads / 2, threads, threads + threads / 3, 2 * threads + 1, 3 * threads}) {
    if (n > in.size()) continue;
    const Ran ran = RunKernel(*program, GetParam(), in, n);
    ASSERT_EQ(ran.failure, 0U);
    for (uint32_t i = 0; i < in.size(); ++i) {
      uint32_t sum = 0;
      for (int turn = 0; turn < 4; ++turn) {
        for (uint32_t k = i % threads; k < n; k += threads) sum += in[k] * 5;
      }
      ASSERT_EQ(ran.out[i], sum ^ (((0 * 3 + 1) * 3 + 2) * 3 + 3)) << n << ", thread " << i;
    }
  }
}

TEST_P(PtxWait, MasksOfEarlierTurns) {  // Odd lanes vote once more, among themselves, while even ones wait for all.
  Check(Kernel(R"(
    mov.u32 %r15, -1; and.b32 %r16, %t, -32; sub.s32 %r16, %threads, %r16; setp.lt.u32 %p5, %r16, 32; mov.u32 %r17, 1;
    @%p5 shl.b32 %r17, %r17, %r16; @%p5 sub.s32 %r15, %r17, 1;
    and.b32 %r10, %t, 1; mov.u32 %r11, 0;
    OUTER: mov.u32 %r12, %r15; mov.u32 %r13, 0;
    INNER: setp.lt.u32 %p1, %r13, %r10; vote.sync.ballot.b32 %r12, %p1, %r12; popc.b32 %r14, %r12;
    add.u32 %d, %d, %r14; add.u32 %r13, %r13, 1; @%p1 bra INNER;
    add.u32 %r11, %r11, 1; setp.lt.u32 %p2, %r11, 2; @%p2 bra OUTER;)"),
        [](const std::vector<uint32_t>& values, uint32_t t) {
          const uint32_t lanes = std::min<uint32_t>(32, static_cast<uint32_t>(values.size()) - t / 32 * 32);
          return 2 * (lanes / 2);  // Of the odd lanes' second vote nothing is left.
        });
}

// --- Named barriers

TEST(PtxWaitNamed, ProducersAndConsumers) {  // Warps 0 and 1 hand over to 2 and 3, several times, by barriers 1 and 2.
  const auto program = LoadOrDie(Kernel(R"(
    setp.ge.u32 %p1, %t, 64; mov.u32 %r10, 0;
    @%p1 bra CONSUME;
    PRODUCE: mad.lo.s32 %r11, %r10, 7, %v; st.shared.u32 [%own], %r11;
    bar.arrive 1, 128;
    bar.sync 2, 128;
    add.s32 %r10, %r10, 1; setp.lt.u32 %p2, %r10, 5; @%p2 bra PRODUCE; bra END;
    CONSUME: bar.sync 1, 128;
    ld.shared.u32 %r11, [%own+-256]; add.s32 %d, %d, %r11;
    bar.arrive 2, 128;
    add.s32 %r10, %r10, 1; setp.lt.u32 %p2, %r10, 5; @%p2 bra CONSUME;)"));
  const std::vector<uint32_t> in = Input(kBlocks * 128);
  const Ran ran = RunKernel(*program, {128}, in);
  ASSERT_EQ(ran.failure, 0U);
  for (uint32_t i = 0; i < in.size(); ++i) {
    ASSERT_EQ(ran.out[i], i % 128 < 64 ? 0 : 5 * in[i - 64] + 7 * (0 + 1 + 2 + 3 + 4)) << i;
  }
}

TEST(PtxWaitNamed, NumberAndThreadsInRegisters) {  // Each pair of warps has a barrier of its own.
  const auto program = LoadOrDie(Kernel(R"(
    st.shared.u32 [%own], %v; shr.u32 %r10, %t, 6; add.s32 %r10, %r10, 3; mov.u32 %r11, 64;
    barrier.cta.sync.aligned %r10, %r11;
    xor.b32 %r12, %t, 63; shl.b32 %r12, %r12, 2; mov.u32 %r13, s; add.s32 %r13, %r13, %r12; ld.shared.u32 %d, [%r13];)"));
  const std::vector<uint32_t> in = Input(kBlocks * 256);
  const Ran ran = RunKernel(*program, {256}, in);
  ASSERT_EQ(ran.failure, 0U);
  for (uint32_t i = 0; i < in.size(); ++i) ASSERT_EQ(ran.out[i], in[i ^ 63]) << i;
}

// --- What goes wrong

TEST(PtxWaitFailure, Deadlock) {
  const auto program = LoadOrDie(Kernel(R"(
    setp.lt.u32 %p1, %t, 32; @%p1 bra FIRST;
    bar.sync 1, 96; bra END;
    FIRST: bar.sync 2, 64;)"));
  EXPECT_EQ(RunKernel(*program, {64}, Input(64), 0, 1).failure, kDeadlock);
  // A lane that waits for one that waits for it.
  const auto lanes = LoadOrDie(Kernel(R"(
    setp.eq.u32 %p1, %t, 0; @%p1 bra FIRST;
    bar.warp.sync -1; bra END;
    FIRST: bar.sync 1, 64;)"));
  EXPECT_EQ(RunKernel(*lanes, {32}, Input(32), 0, 1).failure, kDeadlock);
}

TEST(PtxWaitFailure, BadBarriers) {
  const auto number = LoadOrDie(Kernel("bar.sync %n;"));
  EXPECT_EQ(RunKernel(*number, {32}, Input(96), 15).failure, 0U);
  EXPECT_EQ(RunKernel(*number, {32}, Input(96), 16).failure, kBadBarrier);
  const auto threads = LoadOrDie(Kernel("bar.sync 1, %n;"));
  EXPECT_EQ(RunKernel(*threads, {32}, Input(96), 32).failure, 0U);
  EXPECT_EQ(RunKernel(*threads, {32}, Input(96), 33).failure, kBadBarrier);
}

TEST(PtxWaitFailure, TrapsEndTheBlocks) {
  const auto program = LoadOrDie(Kernel(R"(
    bar.sync 0; mov.u32 %d, 1; st.global.u32 [%to], %d; setp.eq.u32 %p1, %i, %n; @%p1 trap; bar.sync 0; mov.u32 %d, 2;)"));
  const Ran ran = RunKernel(*program, {64}, Input(3 * 64), 70);
  EXPECT_EQ(ran.failure, kThreadTrapped);
  EXPECT_THAT(std::vector<uint32_t>(ran.out.begin(), ran.out.begin() + 64), Each(2U));
  EXPECT_THAT(std::vector<uint32_t>(ran.out.begin() + 128, ran.out.end()), Each(0xdeadbeef));
}

TEST(PtxWaitFailure, AnotherLaunchAfterOne) {  // Nothing of a block that did not end is left over.
  const auto bad = LoadOrDie(Kernel("setp.eq.u32 %p1, %t, 3; @%p1 trap; bar.sync 0;"));
  const auto good = LoadOrDie(Kernel("bar.sync 0; mov.u32 %d, %v;"));
  const std::vector<uint32_t> in = Input(3 * 64);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(RunKernel(*bad, {64}, in).failure, kThreadTrapped);
    EXPECT_EQ(RunKernel(*good, {64}, in).out, in);
  }
}

TEST(PtxWaitFailure, AnotherLaunchAfterOneWithoutMemory) {
  const auto kernel = [](const std::string& bytes) {
    return LoadOrDie(Kernel("{ .local .align 4 .b8 own[" + bytes + R"(]; st.local.u32 [own], %v;
    bar.sync 0; ld.local.u32 %d, [own]; })"));
  };
  const auto small = kernel("16");
  const auto large = kernel("500000");
  const std::vector<uint32_t> in = Input(32), more = Input(1024);
  std::thread thread([&] {  // One that keeps no memory yet.
    {
      const AddressSpaceLimit limit(size_t{64} << 20);  // Not enough for wide guards, either.
      EXPECT_EQ(RunKernel(*small, {32}, in, 0, 1).out, in);
      EXPECT_EQ(RunKernel(*large, {1024}, more, 0, 1).failure, kNoMemory);
    }
    EXPECT_EQ(RunKernel(*small, {32}, in, 0, 1).out, in);
    EXPECT_EQ(RunKernel(*large, {1024}, more, 0, 1).out, more);
  });
  thread.join();
}

struct Refused {
  const char* body;
  const char* message;
};

TEST(PtxWaitRefused, EveryMessage) {
  const Refused kRefused[] = {
      {"bar.sync 16;", "barriers are numbered from 0 to 15, not 16"},
      {"bar.sync 1, 33;", "a barrier is for a multiple of 32 threads, not 33"},
      {"bar.sync 1, 0;", "a barrier is for a multiple of 32 threads, not 0"},
      {"bar.arrive 1;", "expected 2 operands, got 1"},
      {"bar 0;", "expected .sync, .arrive or .red"},
      {"bar.red.popc.pred %p1, 0, %p2;", "expected .popc.u32, .and.pred or .or.pred"},
      {"bar.red.u32 %d, 0, %p2;", "expected .popc.u32, .and.pred or .or.pred"},
      {"shfl.sync.b32 %d, %v, 0, 31, -1;", "expected .up, .down, .bfly or .idx"},
      {"shfl.sync.up.b64 %l0, %l1, 0, 31, -1;", "only 32 bits are shuffled"},
      {"shfl.sync.up.b32 %d, %v, 0, 31;", "expected 5 operands, got 4"},
      {"vote.sync.all.b32 %d, %p1, -1;", "expected .all.pred, .any.pred, .uni.pred or .ballot.b32"},
      {"match.sync.b32 %d, %v, -1;", "expected .any or .all"},
      {"match.any.b32 %d, %v;", "expected .sync"},
      {"match.any.sync.b16 %d, %v, -1;", "values of 32 or 64 bits are matched"},
      {"redux.sync.b32 %d, %v, -1;", "expected .add, .min, .max, .and, .or or .xor"},
      {"redux.add.u32 %d, %v, -1;", "expected .sync"},
      {"redux.sync.min.f32 %f0, %f1, -1;", "redux of other types than 32-bit integers"},
      {"elect.sync %d, -1;", "expected d|p"},
      {"elect %d|%p1, -1;", "expected .sync"},
      {"nanosleep.u32;", "expected 1 operands, got 0"},
  };
  for (const Refused& refused : kRefused) {
    EXPECT_THAT(Refusal(Kernel(refused.body)), HasSubstr(refused.message)) << refused.body;
  }
}

TEST(PtxWaitRefused, FunctionsThatCallThemselvesAndWait) {
  EXPECT_THAT(Refusal(".func again();\n.func again() { bar.sync 0; call again; ret; }\n" + Kernel("call again;")),
              HasSubstr("'again': a function that calls itself and in which threads wait for each other"));
}

TEST(PtxWaitRefused, CodeThatWouldGrowWithTheSquareOfTheKernel) {  // Each barrier leads to the whole tail.
  std::string body;
  for (int i = 0; i < 300; ++i) body += "bar.sync 0; @%p1 bra TAIL;\n";
  body += "TAIL:\n";
  for (int i = 0; i < 400; ++i) body += "add.u32 %d, %d, %v;\n";
  EXPECT_THAT(Refusal(Kernel(body)), HasSubstr("too much code follows too many instructions at which threads wait"));
}

TEST(PtxWaitRefused, CallsThatDoNotFit) {
  EXPECT_THAT(Refusal(kFunctionsThatWait + Kernel("call broadcast, (%t, %v);")),
              HasSubstr("'broadcast' takes 2 arguments and gives 1 results, not 2 and 0"));
}

}  // namespace
}  // namespace slipway::cpu
