// Numbers that grow from thread to thread: branches that ranges of threads take, which the translator makes loops of
// their own, and registers that it takes to grow evenly over the lanes of a warp. Against the same computed thread by
// thread, in 64 bits and more.
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "driver/cpu/program.h"
#include "gtest/gtest.h"
#include "tests/cpu/ptx_kernel.h"

namespace slipway::cpu {
namespace {

struct alignas(16) Params {
  uint32_t* out = nullptr;
  uint64_t start = 0, low = 0, high = 0;
};

constexpr uint32_t kMostThreads = 256;

// out[t] and out[t + kMostThreads] for the threads of one block.
std::vector<uint32_t> RunBlock(const Program& program, uint32_t threads, Params params) {
  std::vector<uint32_t> out(2 * kMostThreads, 99);
  params.out = out.data();
  CpuLaunch launch;
  launch.params = reinterpret_cast<const std::byte*>(&params);
  launch.block[0] = threads;
  alignas(128) static std::byte shared[4096];
  program.kernels()[0].run(&launch, 0, 1, shared);
  EXPECT_EQ(launch.trapped, 0U);
  return out;
}

// A kernel with %t, its %out, and the other parameters.
std::string Kernel(const std::string& body) {
  return ".visible .entry k(.param .u64 out, .param .u64 start, .param .u64 low, .param .u64 high)\n{\n"
         ".reg .pred %p<9>; .reg .b32 %r<20>, %t; .reg .b64 %l<20>, %out, %start, %low, %high; .shared .b32 s[1024];\n"
         "mov.u32 %t, %tid.x; ld.param.u64 %out, [out]; mul.wide.u32 %l0, %t, 4; add.s64 %out, %out, %l0;\n"
         "ld.param.u64 %start, [start]; ld.param.u64 %low, [low]; ld.param.u64 %high, [high];\n" +
         body + "\nEND: ret;\n}\n";
}

// --- Branches

struct Type {
  const char* name;  // PTX's.
  int bits;
  bool is_signed;
};
constexpr Type kTypes[] = {{"s32", 32, true}, {"u32", 32, false}, {"s64", 64, true}, {"u64", 64, false}};

// As the type has it, and in one that holds all of them.
__int128 Value(uint64_t bits, const Type& type) {
  if (type.bits == 32)
    return type.is_signed ? __int128{static_cast<int32_t>(bits)} : __int128{static_cast<uint32_t>(bits)};
  return type.is_signed ? __int128{static_cast<int64_t>(bits)} : __int128{bits};
}

struct Comparison {
  const char* name;
  bool (*holds)(__int128 x, __int128 y);
};
constexpr Comparison kComparisons[] = {
    {"lt", [](__int128 x, __int128 y) { return x < y; }},  {"le", [](__int128 x, __int128 y) { return x <= y; }},
    {"gt", [](__int128 x, __int128 y) { return x > y; }},  {"ge", [](__int128 x, __int128 y) { return x >= y; }},
    {"eq", [](__int128 x, __int128 y) { return x == y; }}, {"ne", [](__int128 x, __int128 y) { return x != y; }}};

// Numbers at which something may happen to a block: in its midst, at its ends, and where the type's numbers wrap.
std::vector<uint64_t> Starts(const Type& type) {
  const uint64_t most = type.bits == 32 ? UINT32_MAX : UINT64_MAX;
  const uint64_t half = uint64_t{1} << (type.bits - 1);
  return {0, 1000, most - 20, half - 20, half + 7};
}

class PtxBranches : public testing::TestWithParam<Type> {};
INSTANTIATE_TEST_SUITE_P(Types, PtxBranches, testing::ValuesIn(kTypes),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(PtxBranches, TwoWaysOfOneComparison) {
  const Type type = GetParam();
  const std::string bits = std::to_string(type.bits);
  for (const char* way : {"add", "sub"}) {
    const bool grows = way[0] == 'a';
    for (const Comparison& comparison : kComparisons) {
      const std::string place =
          type.bits == 32 ? "cvt.u32.u64 %r1, %start; cvt.u32.u64 %r3, %low; " + std::string(way) +
                                ".s32 %r2, %r1, %t; setp." + comparison.name + "." + type.name + " %p1, %r2, %r3;"
                          : "cvt.u64.u32 %l1, %t; " + std::string(way) + ".s64 %l2, %start, %l1; setp." +
                                comparison.name + "." + type.name + " %p1, %l2, %low;";
      const auto program = LoadOrDie(
          Kernel(place + "@%p1 bra YES; st.global.u32 [%out], 1; bra END; YES: st.global.u32 [%out+1024], 2;"));
      ASSERT_NE(program, nullptr);
      for (uint64_t start : Starts(type)) {
        for (int64_t offset : {-1, 0, 1, 5, 31, 39, 40}) {
          const uint64_t limit = grows ? start + offset : start - offset;
          for (uint32_t threads : {1U, 8U, 40U}) {
            const std::vector<uint32_t> out = RunBlock(*program, threads, {.start = start, .low = limit});
            for (uint32_t t = 0; t < threads; ++t) {
              const __int128 x = Value(grows ? start + t : start - t, type);
              const bool holds = comparison.holds(x, Value(limit, type));
              ASSERT_EQ(out[t], holds ? 99U : 1U)
                  << way << " " << comparison.name << " " << start << " " << limit << " thread " << t;
              ASSERT_EQ(out[t + kMostThreads], holds ? 2U : 99U)
                  << way << " " << comparison.name << " " << start << " " << limit << " thread " << t;
            }
          }
        }
      }
    }
  }
}

TEST_P(PtxBranches, BetweenTwoLimitsAndWithin) {  // One branch of two comparisons, and one inside it.
  const Type type = GetParam();
  const std::string name = type.name;
  const std::string place =
      type.bits == 32 ? "cvt.u32.u64 %r1, %start; cvt.u32.u64 %r3, %low; cvt.u32.u64 %r4, %high; add.s32 %r2, %r1, %t;"
                        "setp.lt." +
                            name + " %p1, %r2, %r3; setp.ge." + name +
                            " %p2, %r2, %r4; add.s32 %r5, %r3, 3;"
                            "setp.eq." +
                            name + " %p4, %r2, %r5;"
                      : "cvt.u64.u32 %l1, %t; add.s64 %l2, %start, %l1; setp.lt." + name + " %p1, %l2, %low; setp.ge." +
                            name + " %p2, %l2, %high; add.s64 %l5, %low, 3; setp.eq." + name + " %p4, %l2, %l5;";
  const auto program = LoadOrDie(Kernel(place + R"(
    or.pred %p3, %p1, %p2; @%p3 bra END; st.global.u32 [%out], 1; @!%p4 bra END; st.global.u32 [%out], 2;)"));
  ASSERT_NE(program, nullptr);
  for (uint64_t start : Starts(type)) {
    for (int64_t low : {-3, 0, 1, 7, 33, 70}) {
      for (int64_t high : {-3, 0, 1, 8, 32, 66, 100}) {
        const Params params{.start = start, .low = start + low, .high = start + high};
        const std::vector<uint32_t> out = RunBlock(*program, 66, params);
        for (uint32_t t = 0; t < 66; ++t) {
          const __int128 x = Value(start + t, type);
          const bool inside = x >= Value(params.low, type) && x < Value(params.high, type);
          const bool equal = x == Value(params.low + 3, type);
          ASSERT_EQ(out[t], inside ? (equal ? 2U : 1U) : 99U) << start << " " << low << " " << high << " thread " << t;
        }
      }
    }
  }
}

// One branch, or one inside another, with something to do in one place alone: for threads that follow each other.
TEST_P(PtxBranches, OneRange) {
  const Type type = GetParam();
  const std::string name = type.name;
  // Both hold; it is not so that one does not; one within the other; the second does not hold.
  const char* const kForms[] = {
      "and.pred %p3, %p1, %p2; @!%p3 bra END;",
      "not.pred %p1, %p1; not.pred %p2, %p2; or.pred %p3, %p1, %p2; @%p3 bra END;",
      "@!%p1 bra END; @!%p2 bra END;",
      "not.pred %p2, %p2; and.pred %p3, %p1, %p2; @!%p3 bra END;",
  };
  for (const char* way : {"add", "sub"}) {
    const bool grows = way[0] == 'a';
    for (size_t first = 0; first < 4; ++first) {
      for (size_t second = 0; second < 5; ++second) {  // "eq" is of one thread, for which there is no such range.
        for (size_t form = 0; form < std::size(kForms); ++form) {
          if ((first + second + form) % 3 != 0) continue;  // Each with each other would take long.
          const std::string one = kComparisons[first].name, other = kComparisons[second].name;
          const std::string place =
              type.bits == 32 ? "cvt.u32.u64 %r1, %start; cvt.u32.u64 %r3, %low; cvt.u32.u64 %r4, %high; " +
                                    std::string(way) + ".s32 %r2, %r1, %t; setp." + one + "." + name +
                                    " %p1, %r2, %r3; setp." + other + "." + name + " %p2, %r2, %r4;"
                              : "cvt.u64.u32 %l1, %t; " + std::string(way) + ".s64 %l2, %start, %l1; setp." + one +
                                    "." + name + " %p1, %l2, %low; setp." + other + "." + name + " %p2, %l2, %high;";
          const auto program = LoadOrDie(Kernel(place + kForms[form] + "st.global.u32 [%out], %t;"));
          ASSERT_NE(program, nullptr);
          for (uint64_t start : Starts(type)) {
            for (int64_t low : {-3, 0, 1, 17, 66}) {
              for (int64_t high : {-1, 0, 1, 16, 50, 65, 90}) {
                const Params params{.start = start,
                                    .low = grows ? start + low : start - low,
                                    .high = grows ? start + high : start - high};
                const std::vector<uint32_t> out = RunBlock(*program, 66, params);
                for (uint32_t t = 0; t < 66; ++t) {
                  const __int128 x = Value(grows ? start + t : start - t, type);
                  const bool holds = kComparisons[first].holds(x, Value(params.low, type)) &&
                                     kComparisons[second].holds(x, Value(params.high, type)) == (form != 3);
                  ASSERT_EQ(out[t], holds ? t : 99U) << way << " " << one << " " << other << " form " << form << " "
                                                     << start << " " << low << " " << high << " thread " << t;
                }
                ASSERT_EQ(out[66], 99U);
              }
            }
          }
        }
      }
    }
  }
}

// The same where threads have to agree on something, too.
TEST(PtxRanges, OneRangeUnlessNone) {
  const auto program = LoadOrDie(Kernel(R"(
    cvt.u32.u64 %r1, %start; cvt.u32.u64 %r3, %low; cvt.u32.u64 %r4, %high; add.s32 %r2, %r1, %t;
    setp.ge.s32 %p1, %r2, %r3; setp.eq.s32 %p2, %r4, 7; and.pred %p3, %p1, %p2; @!%p3 bra END;
    st.global.u32 [%out], %t;)"));
  ASSERT_NE(program, nullptr);
  for (uint64_t high : {7, 8}) {
    const std::vector<uint32_t> out = RunBlock(*program, 200, {.start = 5, .low = 25, .high = high});
    for (uint32_t t = 0; t < 200; ++t) ASSERT_EQ(out[t], high == 7 && t >= 20 ? t : 99U) << t;
  }
}

// Whole vectors and what is left of them, of all lengths.
TEST(PtxRanges, LastThreadsOfEachLength) {
  const auto program = LoadOrDie(Kernel(R"(
    cvt.u32.u64 %r1, %high; setp.ge.u32 %p1, %t, %r1; @%p1 bra END;
    ld.global.u32 %r2, [%out+1024]; mul.lo.u32 %r2, %r2, 3; and.b32 %r3, %t, 1; setp.eq.u32 %p2, %r3, 0;
    @%p2 add.u32 %r2, %r2, %t; st.global.u32 [%out], %r2;)"));
  ASSERT_NE(program, nullptr);
  for (uint32_t n = 0; n <= 130; ++n) {
    const std::vector<uint32_t> out = RunBlock(*program, 128, {.high = n});
    for (uint32_t t = 0; t < kMostThreads; ++t) {
      ASSERT_EQ(out[t], t < n && t < 128 ? 297 + (t % 2 == 0 ? t : 0) : 99U) << n << " thread " << t;
      ASSERT_EQ(out[t + kMostThreads], 99U);
    }
  }
}

// --- Registers that live across barriers

TEST(PtxEvenRegisters, WrapWithinAWarp) {  // As 32 and as 64 bits, signed and not.
  const auto program = LoadOrDie(Kernel(R"(
    cvt.u32.u64 %r1, %start; add.s32 %r1, %r1, %t; cvt.u64.u32 %l1, %t; mul.lo.s64 %l1, %l1, 8; add.s64 %l1, %start, %l1;
    mov.u32 %r2, 0; mov.u32 %r3, 0;
    LOOP: mul.wide.s32 %l2, %r1, 3; mul.wide.u32 %l3, %r1, 5; xor.b64 %l2, %l2, %l3; xor.b64 %l2, %l2, %l1;
    shr.u64 %l3, %l2, 32; cvt.u32.u64 %r4, %l2; cvt.u32.u64 %r5, %l3; add.s32 %r4, %r4, %r5; mad.lo.s32 %r3, %r3, 7, %r4;
    bar.sync 0;
    add.s32 %r1, %r1, 64; add.s64 %l1, %l1, 512; add.s32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 4; @%p1 bra LOOP;
    st.global.u32 [%out], %r3;)"));
  ASSERT_NE(program, nullptr);
  for (uint64_t start : {uint64_t{0}, uint64_t{0x7ffffff0}, uint64_t{0xfffffff5}, uint64_t{0x7fffffffffffff00},
                         uint64_t{0xffffffffffffff80}}) {
    const std::vector<uint32_t> out = RunBlock(*program, 64, {.start = start});
    for (uint32_t t = 0; t < 64; ++t) {
      uint32_t sum = 0;
      for (uint32_t turn = 0; turn < 4; ++turn) {
        const auto narrow = static_cast<uint32_t>(start + t + 64 * turn);
        const uint64_t wide = start + 8 * t + 512 * turn;
        const uint64_t mixed =
            (static_cast<uint64_t>(int64_t{static_cast<int32_t>(narrow)}) * 3) ^ (uint64_t{narrow} * 5) ^ wide;
        sum = sum * 7 + static_cast<uint32_t>(mixed) + static_cast<uint32_t>(mixed >> 32);
      }
      ASSERT_EQ(out[t], sum) << start << " thread " << t;
    }
  }
}

TEST(PtxEvenRegisters, OfLanesInDifferentTurns) {  // They look even, and are not where lanes meet again.
  const auto program = LoadOrDie(Kernel(R"(
    and.b32 %r1, %t, 3; mov.u32 %r2, %t; mov.u32 %r3, 0; mov.u32 %r4, 0;
    LOOP: setp.ge.u32 %p1, %r4, %r1; @%p1 bra MEET; add.u32 %r4, %r4, 1; add.u32 %r2, %r2, 100;
    vote.sync.ballot.b32 %r5, 1, -1; bra NEXT;
    MEET: vote.sync.ballot.b32 %r5, 0, -1; add.u32 %r4, %r4, 1;
    NEXT: mad.lo.u32 %r3, %r3, 3, %r2; add.u32 %r3, %r3, %r5; setp.lt.u32 %p2, %r4, 4; @%p2 bra LOOP;
    st.global.u32 [%out], %r3;)"));
  ASSERT_NE(program, nullptr);
  const std::vector<uint32_t> out = RunBlock(*program, 64, {});
  for (uint32_t t = 0; t < 64; ++t) {
    uint32_t sum = 0, value = t;
    for (uint32_t turn = 0; turn < 4; ++turn) {
      uint32_t votes = 0;
      for (uint32_t lane = 0; lane < 32; ++lane) votes |= static_cast<uint32_t>(turn < lane % 4) << lane;
      if (turn < t % 4) value += 100;
      sum = sum * 3 + value + votes;
    }
    ASSERT_EQ(out[t], sum) << "thread " << t;
  }
}

// --- Warps in step

TEST(PtxWarpsInStep, ComeToTheBarrierInDifferentPlaces) {
  const auto program = LoadOrDie(Kernel(R"(
    mov.u32 %r1, s; shl.b32 %r2, %t, 2; add.s32 %r1, %r1, %r2; shr.u32 %r3, %t, 5; and.b32 %r4, %r3, 1; mov.u32 %r5, 0;
    LOOP: mad.lo.u32 %r6, %r5, 1000, %t; st.shared.u32 [%r1], %r6; setp.eq.u32 %p1, %r4, 0; @%p1 bra EVEN;
    bar.sync 0; bra MEET;
    EVEN: bar.sync 0;
    MEET: xor.b32 %r7, %t, 32; shl.b32 %r7, %r7, 2; mov.u32 %r8, s; add.s32 %r8, %r8, %r7; ld.shared.u32 %r9, [%r8];
    bar.sync 0;
    add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 3; @%p2 bra LOOP;
    st.global.u32 [%out], %r9;)"));
  ASSERT_NE(program, nullptr);
  for (uint32_t threads : {64U, 128U}) {
    const std::vector<uint32_t> out = RunBlock(*program, threads, {});
    for (uint32_t t = 0; t < threads; ++t) ASSERT_EQ(out[t], 2000 + (t ^ 32)) << "thread " << t;
  }
}

TEST(PtxWarpsInStep, PartBeforeAnOperationWithoutAMask) {
  const auto program = LoadOrDie(Kernel(R"(
    and.b32 %r1, %t, 3; setp.eq.u32 %p1, %r1, 0; mov.u32 %r2, 7; @%p1 bra STORE; activemask.b32 %r2;
    STORE: st.global.u32 [%out], %r2;)"));
  ASSERT_NE(program, nullptr);
  const std::vector<uint32_t> out = RunBlock(*program, 64, {});
  for (uint32_t t = 0; t < 64; ++t) ASSERT_EQ(out[t], t % 4 == 0 ? 7 : 0xeeeeeeee) << "thread " << t;
}

TEST(PtxWarpsInStep, EndOneAfterTheOther) {
  const auto program = LoadOrDie(Kernel(R"(
    shr.u32 %r3, %t, 5; mov.u32 %r5, 0;
    LOOP: setp.ge.u32 %p1, %r5, %r3; @%p1 bra STORE; bar.sync 0; add.u32 %r5, %r5, 1; bra LOOP;
    STORE: st.global.u32 [%out], %r5;)"));
  ASSERT_NE(program, nullptr);
  const std::vector<uint32_t> out = RunBlock(*program, 256, {});
  for (uint32_t t = 0; t < 256; ++t) ASSERT_EQ(out[t], t / 32) << "thread " << t;
}

TEST(PtxWarpsInStep, CountThemselvesAtOneOfTheBarriers) {
  const auto program = LoadOrDie(Kernel(R"(
    bar.sync 0; setp.lt.u32 %p1, %t, 40; bar.red.popc.u32 %r1, 0, %p1; bar.sync 0; st.global.u32 [%out], %r1;)"));
  ASSERT_NE(program, nullptr);
  const std::vector<uint32_t> out = RunBlock(*program, 96, {});
  for (uint32_t t = 0; t < 96; ++t) ASSERT_EQ(out[t], 40U) << "thread " << t;
}

}  // namespace
}  // namespace slipway::cpu
