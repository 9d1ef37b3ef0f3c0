// Blocks that run as one where a kernel asks only for its global index, and the kernels that only look as if they did.
// Against the same computed block by block and thread by thread.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "driver/cpu/failed_threads.h"
#include "driver/cpu/program.h"
#include "gtest/gtest.h"
#include "tests/cpu/ptx_kernel.h"

namespace slipway::cpu {
namespace {

struct Place {
  uint32_t block, size, thread;  // %ctaid.x, %ntid.x, %tid.x
};

struct Index {
  const char* name;
  const char* ptx;  // %v, 64 bits, of %c, %n, %t and whatever special registers it likes.
  uint64_t (*value)(Place place);
};

uint32_t Low(Place p) { return p.block * p.size + p.thread; }
uint64_t Signed(uint32_t value) { return static_cast<uint64_t>(int64_t{static_cast<int32_t>(value)}); }

// The names of the first kind begin with what they are made of, as compilers write it.
constexpr Index kIndices[] = {
    {"mad_signed", "mad.lo.s32 %r1, %c, %n, %t; cvt.s64.s32 %v, %r1;", [](Place p) { return Signed(Low(p)); }},
    {"mad_unsigned", "mad.lo.u32 %r1, %n, %c, %t; cvt.u64.u32 %v, %r1;", [](Place p) { return uint64_t{Low(p)}; }},
    {"mul_add", "mul.lo.s32 %r1, %n, %c; add.s32 %r2, %t, %r1; cvt.s64.s32 %v, %r2;",
     [](Place p) { return Signed(Low(p)); }},
    {"wide", "mul.wide.u32 %l1, %c, %n; cvt.u64.u32 %l2, %t; add.s64 %v, %l1, %l2;",
     [](Place p) { return uint64_t{p.block} * p.size + p.thread; }},
    {"wide_mad", "cvt.u64.u32 %l2, %t; mad.wide.u32 %v, %c, %n, %l2;",
     [](Place p) { return uint64_t{p.block} * p.size + p.thread; }},
    {"long_mad", "cvt.u64.u32 %l1, %c; cvt.u64.u32 %l2, %n; cvt.u64.u32 %l3, %t; mad.lo.s64 %v, %l1, %l2, %l3;",
     [](Place p) { return uint64_t{p.block} * p.size + p.thread; }},
    {"product_made_wider", "mul.lo.s32 %r1, %c, %n; cvt.s64.s32 %l1, %r1; cvt.u64.u32 %l2, %t; add.s64 %v, %l1, %l2;",
     [](Place p) { return Signed(p.block * p.size) + p.thread; }},
    {"constant", "mad.lo.s32 %r1, %c, 32, %t; cvt.s64.s32 %v, %r1;",
     [](Place p) { return Signed(p.block * 32 + p.thread); }},
    {"shift", "shl.b32 %r1, %c, 6; add.s32 %r2, %r1, %t; cvt.s64.s32 %v, %r2;",
     [](Place p) { return Signed(p.block * 64 + p.thread); }},
    {"twice",
     "mad.lo.s32 %r1, %c, %n, %t; mad.lo.s32 %r2, %c, %n, %t; xor.b32 %r3, %r1, %r2; add.s32 %r3, %r3, %r1;"
     "cvt.s64.s32 %v, %r3;",
     [](Place p) { return Signed(Low(p)); }},
    {"with_size", "mad.lo.s32 %r1, %c, %n, %t; cvt.u64.u32 %l1, %n; cvt.s64.s32 %v, %r1; add.s64 %v, %v, %l1;",
     [](Place p) { return Signed(Low(p)) + p.size; }},
    // And these ask for more.
    {"or", "shl.b32 %r1, %c, 5; or.b32 %r2, %r1, %t; cvt.s64.s32 %v, %r2;",
     [](Place p) { return Signed(p.block << 5 | p.thread); }},
    {"two_constants",
     "mad.lo.s32 %r1, %c, 32, %t; mad.lo.s32 %r2, %c, 64, %t; xor.b32 %r3, %r1, %r2; cvt.u64.u32 %v, %r3;",
     [](Place p) { return uint64_t{(p.block * 32 + p.thread) ^ (p.block * 64 + p.thread)}; }},
    {"also_thread", "mad.lo.s32 %r1, %c, %n, %t; mad.lo.s32 %r2, %t, 4096, %r1; cvt.u64.u32 %v, %r2;",
     [](Place p) { return uint64_t{Low(p) + p.thread * 4096}; }},
    {"also_block", "mad.lo.s32 %r1, %c, %n, %t; xor.b32 %r2, %c, %r1; cvt.u64.u32 %v, %r2;",
     [](Place p) { return uint64_t{Low(p) ^ p.block}; }},
    {"block_start", "mul.lo.s32 %r1, %c, %n; add.s32 %r2, %r1, %t; xor.b32 %r3, %r1, %r2; cvt.u64.u32 %v, %r3;",
     [](Place p) { return uint64_t{Low(p) ^ p.block * p.size}; }},
    {"lane", "mad.lo.s32 %r1, %c, %n, %t; mov.u32 %r2, %laneid; xor.b32 %r1, %r1, %r2; cvt.u64.u32 %v, %r1;",
     [](Place p) { return uint64_t{Low(p) ^ p.thread % 32}; }},
    {"guarded",
     "mov.u32 %r2, 7; setp.gt.u32 %p1, %t, 3; @%p1 mov.u32 %r2, %t; mad.lo.s32 %r1, %c, %n, %r2;"
     "cvt.u64.u32 %v, %r1;",
     [](Place p) { return uint64_t{p.block * p.size + (p.thread > 3 ? p.thread : 7)}; }},
    {"changed", "mov.u32 %r2, %tid.x; add.s32 %r2, %r2, %r2; mad.lo.s32 %r1, %c, %n, %r2; cvt.u64.u32 %v, %r1;",
     [](Place p) { return uint64_t{Low(p) + p.thread}; }},
    {"other_way", "mad.lo.s32 %r1, %t, %n, %c; cvt.u64.u32 %v, %r1;",
     [](Place p) { return uint64_t{p.thread * p.size + p.block}; }},
    {"no_thread", "mul.lo.s32 %r1, %c, %n; cvt.u64.u32 %v, %r1;", [](Place p) { return uint64_t{p.block * p.size}; }},
    {"function",
     "mad.lo.s32 %r1, %c, %n, %t; { .param .b32 from; call.uni (from), lane_of, (); ld.param.b32 %r2, "
     "[from]; } xor.b32 %r1, %r1, %r2; cvt.u64.u32 %v, %r1;",
     [](Place p) { return uint64_t{Low(p) ^ p.thread}; }},
};

// Adds 1 to counts[row & 3][%v & 8191], and the hash of %v to sums there: an element for each index, whoever has it.
std::string KernelOf(const Index& index) {
  return std::string(R"(
    .func (.param .b32 to) lane_of() { .reg .b32 %r<2>; mov.u32 %r1, %tid.x; st.param.b32 [to], %r1; ret; }
    .visible .entry k(.param .u64 counts, .param .u64 sums) {
    .reg .pred %p<3>; .reg .b32 %r<20>, %c, %n, %t; .reg .b64 %l<20>, %v, %h, %at, %row;
    mov.u32 %c, %ctaid.x; mov.u32 %n, %ntid.x; mov.u32 %t, %tid.x;
    )") + index.ptx +
         R"(
    mov.u32 %r10, %ctaid.y; mov.u32 %r11, %ntid.y; mov.u32 %r12, %tid.y; mad.lo.s32 %r13, %r10, %r11, %r12;
    and.b32 %r13, %r13, 3; mul.wide.u32 %row, %r13, 8192; and.b64 %at, %v, 8191; add.s64 %at, %at, %row;
    shl.b64 %at, %at, 3; ld.param.u64 %l10, [counts]; ld.param.u64 %l11, [sums]; add.s64 %l10, %l10, %at;
    add.s64 %l11, %l11, %at; mul.lo.s64 %h, %v, 0x9E3779B97F4A7C15;
    red.global.add.u64 [%l10], 1; red.global.add.u64 [%l11], %h; ret; })";
}

class PtxGlobalIndex : public testing::TestWithParam<Index> {};
INSTANTIATE_TEST_SUITE_P(Ways, PtxGlobalIndex, testing::ValuesIn(kIndices),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(PtxGlobalIndex, IsEachThreadsOwn) {
  const auto program = LoadOrDie(KernelOf(GetParam()));
  ASSERT_NE(program, nullptr);
  struct Case {
    uint32_t grid_x, grid_y, block_x, block_y;
    uint64_t first, last;
  };
  const Case cases[] = {
      {1, 1, 1, 1, 0, 1},
      {200, 1, 32, 1, 0, 200},
      {200, 1, 64, 1, 3, 177},
      {37, 5, 32, 8, 0, 185},
      {37, 5, 32, 8, 30, 120},  // From within a row to within another.
      {7, 3, 64, 16, 2, 20},
      {5, 2, 1024, 1, 0, 10},
      {9, 2, 96, 3, 1, 17},
      // Where 32-bit indices become negative, and where they wrap.
      {67'108'864, 1, 32, 1, 67'108'800, 67'108'864},
      {67'108'865, 1, 32, 1, 67'108'800, 67'108'865},
      {2'147'483'647, 1, 64, 1, 67'108'850, 67'108'900},
      {2'147'483'647, 1, 64, 2, 2'147'483'600, 2'147'483'647},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(testing::Message() << one.grid_x << " x " << one.grid_y << " blocks of " << one.block_x << " x "
                                    << one.block_y << ", " << one.first << " to " << one.last);
    std::vector<uint64_t> counts(4 * 8192), sums(counts.size()), wanted_counts(counts), wanted_sums(counts);
    struct alignas(16) {
      uint64_t* counts;
      uint64_t* sums;
    } params{counts.data(), sums.data()};
    CpuLaunch launch;
    launch.params = reinterpret_cast<const std::byte*>(&params);
    launch.grid[0] = one.grid_x;
    launch.grid[1] = one.grid_y;
    launch.block[0] = one.block_x;
    launch.block[1] = one.block_y;
    program->kernels()[0].run(&launch, one.first, one.last, nullptr);
    EXPECT_EQ(launch.trapped, 0U);
    for (uint64_t block = one.first; block < one.last; ++block) {
      const auto x = static_cast<uint32_t>(block % one.grid_x), y = static_cast<uint32_t>(block / one.grid_x);
      for (uint32_t thread_y = 0; thread_y < one.block_y; ++thread_y) {
        for (uint32_t thread_x = 0; thread_x < one.block_x; ++thread_x) {
          const uint64_t value = GetParam().value({x, one.block_x, thread_x});
          const uint64_t at = (y * one.block_y + thread_y) % 4 * 8192 + value % 8192;
          ++wanted_counts[at];
          wanted_sums[at] += value * 0x9E3779B97F4A7C15;
        }
      }
    }
    EXPECT_EQ(counts, wanted_counts);
    EXPECT_EQ(sums, wanted_sums);
  }
}

// A thread that fails is told by its own block and place in it.
TEST(PtxGlobalIndexTest, ATrapIsToldOfItsThread) {
  const auto program = LoadOrDie(R"(.visible .entry k(.param .u32 at) {
    .reg .pred %p; .reg .b32 %r<9>; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3; ld.param.u32 %r5, [at]; setp.eq.u32 %p, %r4, %r5; @%p trap; ret; })");
  ASSERT_NE(program, nullptr);
  struct Place {
    uint32_t block, thread;
  };
  for (const Place& place : {Place{0, 0}, Place{0, 95}, Place{1, 0}, Place{7, 33}, Place{9, 95}}) {
    alignas(16) uint32_t at[4] = {place.block * 96 + place.thread};
    CpuLaunch launch;
    launch.params = reinterpret_cast<const std::byte*>(at);
    launch.grid[0] = 10;
    launch.block[0] = 96;
    program->kernels()[0].run(&launch, 0, 10, nullptr);
    EXPECT_EQ(launch.trapped, kThreadTrapped);
    const std::optional<FailedThread> failed = TakeFailedThread();
    ASSERT_TRUE(failed.has_value() && failed->has_thread);
    EXPECT_EQ(failed->block[0], place.block);
    EXPECT_EQ(failed->thread[0], place.thread);
  }
}

}  // namespace
}  // namespace slipway::cpu
