// Branches that few threads take, to atomics, fences and volatile stores, in kernels whose threads are otherwise
// vectorised: wherever those threads stand in a block, the values are those of a loop over threads.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "driver/cpu/program.h"
#include "gtest/gtest.h"
#include "tests/cpu/ptx_kernel.h"

namespace slipway::cpu {
namespace {

struct State {
  std::vector<uint32_t> out;
  uint64_t count = 0, last = 0;
};

struct Kernel {
  const char* name;
  // Of %i, below %n, and %x, what the thread's element of `in` is; %to is the address of its element of `out`, %count
  // that of two words of 64 bits. END is the end.
  const char* ptx;
  void (*thread)(uint32_t i, uint32_t x, State& state);  // Below 100 is rare.
};

constexpr Kernel kKernels[] = {
    {"either",
     "setp.lt.u32 %p1, %x, 100; @%p1 bra RARE; mad.lo.u32 %r1, %x, 3, 1; st.global.u32 [%to], %r1; bra END;"
     "RARE: red.global.add.u64 [%count], 1;",
     [](uint32_t i, uint32_t x, State& s) { x < 100 ? void(++s.count) : void(s.out[i] = 3 * x + 1); }},
    {"goes_on",
     "setp.lt.u32 %p1, %x, 100; @!%p1 bra GO; red.global.add.u64 [%count], 1; GO: add.u32 %r1, %x, 7;"
     "st.global.u32 [%to], %r1;",
     [](uint32_t i, uint32_t x, State& s) {
       s.count += x < 100;
       s.out[i] = x + 7;
     }},
    {"goes_on_with_another_value",
     "mov.u32 %r1, %x; setp.lt.u32 %p1, %x, 100; @!%p1 bra GO; cvt.u64.u32 %l1, %x; atom.global.add.u64 %l2, [%count], "
     "%l1; add.u32 %r1, %x, 1000; GO: mul.lo.u32 %r1, %r1, 5; st.global.u32 [%to], %r1;",
     [](uint32_t i, uint32_t x, State& s) {
       if (x < 100) s.count += x;
       s.out[i] = 5 * (x < 100 ? x + 1000 : x);
     }},
    {"after_a_store",
     "st.global.u32 [%to], %x; setp.lt.u32 %p1, %x, 100; @!%p1 bra END; red.global.add.u64 [%count], 1;"
     "st.volatile.global.u32 [%to], 5;",
     [](uint32_t i, uint32_t x, State& s) {
       s.count += x < 100;
       s.out[i] = x < 100 ? 5 : x;
     }},
    {"two_in_a_row",
     "setp.lt.u32 %p1, %x, 50; @!%p1 bra ONE; red.global.add.u64 [%count], 1; membar.sys; bra END;"
     "ONE: setp.lt.u32 %p2, %x, 100; @!%p2 bra TWO; red.global.max.u64 [%count+8], 9; TWO: st.global.u32 [%to], %x;",
     [](uint32_t i, uint32_t x, State& s) {
       if (x < 50) return void(++s.count);
       if (x < 100) s.last = std::max<uint64_t>(s.last, 9);
       s.out[i] = x;
     }},
    {"one_in_another",
     "and.b32 %r2, %i, 1; setp.eq.u32 %p3, %r2, 0; @%p3 bra EVEN; setp.lt.u32 %p1, %x, 100; @!%p1 bra ODD;"
     "red.global.add.u64 [%count], 1; setp.gt.u32 %p2, %x, 20; @%p2 bra ODD; red.global.add.u64 [%count+8], 1; bra END;"
     "ODD: add.u32 %r1, %x, 2; st.global.u32 [%to], %r1; bra END; EVEN: st.global.u32 [%to], %i;",
     [](uint32_t i, uint32_t x, State& s) {
       if (i % 2 == 0) return void(s.out[i] = i);
       if (x < 100) {
         ++s.count;
         if (x <= 20) return void(++s.last);
       }
       s.out[i] = x + 2;
     }},
    // A thread may read what it has stored, at an address that nobody knows is another.
    {"reads_what_it_stored",
     "st.global.u32 [%to], 3; ld.global.u32 %r1, [%to]; add.u32 %r1, %r1, %x; setp.lt.u32 %p1, %r1, 103;"
     "@!%p1 bra END; red.global.add.u64 [%count], 1;",
     [](uint32_t i, uint32_t x, State& s) {
       s.out[i] = 3;
       s.count += x + 3 < 103;
     }},
    {"exits",
     "setp.lt.u32 %p1, %x, 100; @!%p1 bra GO; red.global.add.u64 [%count], 1; exit; GO: st.global.u32 [%to], %x;",
     [](uint32_t i, uint32_t x, State& s) { x < 100 ? void(++s.count) : void(s.out[i] = x); }},
    {"chosen_from_a_table",
     "min.u32 %r1, %x, 100; div.u32 %r1, %r1, 50; T: .branchtargets A, B, C; brx.idx %r1, T;"
     "A: red.global.add.u64 [%count], 1; bra END; B: red.global.add.u64 [%count+8], 1; bra END;"
     "C: st.global.u32 [%to], %x;",
     [](uint32_t i, uint32_t x, State& s) {
       x < 50 ? void(++s.count) : x < 100 ? void(++s.last) : void(s.out[i] = x);
     }},
    {"always", "red.global.add.u64 [%count], 1; st.global.u32 [%to], %x;",
     [](uint32_t i, uint32_t x, State& s) {
       ++s.count;
       s.out[i] = x;
     }},
    {"by_a_flag",  // That is the same for all.
     "ld.global.u64 %l1, [%count+8]; setp.ne.u64 %p1, %l1, 0; @%p1 bra RARE; st.global.u32 [%to], %x; bra END;"
     "RARE: red.global.add.u64 [%count], 1;",
     [](uint32_t i, uint32_t x, State& s) { s.out[i] = x; }},
};

std::string Text(const Kernel& kernel) {
  return std::string(R"(.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 count, .param .u32 n) {
    .reg .pred %p<9>; .reg .b32 %r<20>, %i, %x, %n; .reg .b64 %l<20>, %to, %count;
    mov.u32 %r10, %ctaid.x; mov.u32 %r11, %ntid.x; mov.u32 %r12, %tid.x; mad.lo.u32 %i, %r10, %r11, %r12;
    mov.u32 %r13, %tid.y; mov.u32 %r14, %nctaid.x; mul.lo.u32 %r14, %r14, %r11; mad.lo.u32 %i, %r13, %r14, %i;
    ld.param.u32 %n, [n]; setp.ge.u32 %p0, %i, %n; @%p0 bra END;
    ld.param.u64 %l0, [in]; ld.param.u64 %to, [out]; ld.param.u64 %count, [count];
    mul.wide.u32 %l1, %i, 4; add.s64 %l0, %l0, %l1; add.s64 %to, %to, %l1; ld.global.u32 %x, [%l0];
    )") + kernel.ptx +
         "\nEND: ret; }\n";
}

class PtxRareBranches : public testing::TestWithParam<Kernel> {};
INSTANTIATE_TEST_SUITE_P(Kernels, PtxRareBranches, testing::ValuesIn(kKernels),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(PtxRareBranches, WhereverTheyAreTaken) {
  const auto program = LoadOrDie(Text(GetParam()));
  ASSERT_NE(program, nullptr);
  struct Case {
    uint32_t blocks, x, y;
  };
  for (const Case& one : {Case{1, 1, 1}, Case{1, 7, 1}, Case{2, 255, 1}, Case{2, 256, 1}, Case{3, 257, 1},
                          Case{2, 1000, 1}, Case{3, 1024, 1}, Case{3, 40, 3}, Case{2, 300, 3}}) {
    const uint32_t all = one.blocks * one.x * one.y;
    for (const uint32_t n : {all, all - 1, all / 2 + 1}) {
      std::vector<std::vector<uint32_t>> taken = {{}, {0}, {n - 1}, {n / 2}, {0, n - 1}};
      for (uint32_t i : {254, 255, 256, 257, 511, 512}) taken.push_back({i});
      taken.emplace_back();
      for (uint32_t i = 0; i < n; ++i) taken.back().push_back(i);  // All of them,
      taken.emplace_back();
      for (uint32_t i = 3; i < n; i += 5) taken.back().push_back(i);  // and every fifth.
      for (const std::vector<uint32_t>& threads : taken) {
        std::vector<uint32_t> in(all);
        for (uint32_t i = 0; i < all; ++i) in[i] = 100 + i;
        for (uint32_t i : threads) {
          if (i < all) in[i] = i * 37 % 100;
        }
        State got{std::vector<uint32_t>(all, 77)}, wanted = got;
        uint64_t counts[2] = {};
        struct alignas(16) {
          const uint32_t* in;
          uint32_t* out;
          uint64_t* count;
          uint32_t n;
        } params{in.data(), got.out.data(), counts, n};
        CpuLaunch launch;
        launch.params = reinterpret_cast<const std::byte*>(&params);
        launch.grid[0] = one.blocks;
        launch.block[0] = one.x;
        launch.block[1] = one.y;
        program->kernels()[0].run(&launch, 0, one.blocks, nullptr);
        EXPECT_EQ(launch.trapped, 0U);
        for (uint32_t i = 0; i < n; ++i) GetParam().thread(i, in[i], wanted);
        ASSERT_EQ(got.out, wanted.out) << one.blocks << " blocks of " << one.x << " x " << one.y << ", n " << n;
        ASSERT_EQ(counts[0], wanted.count) << one.blocks << " blocks of " << one.x << " x " << one.y << ", n " << n;
        ASSERT_EQ(counts[1], wanted.last);
      }
    }
  }
}

}  // namespace
}  // namespace slipway::cpu
