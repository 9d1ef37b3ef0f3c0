// Loops inside kernels that several threads go round side by side, and rows that threads are divided into, against the
// same computed thread by thread on the host, with the same roundings in the same order.
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "driver/cpu/program.h"
#include "gtest/gtest.h"
#include "tests/cpu/ptx_kernel.h"

namespace slipway::cpu {
namespace {

constexpr uint32_t kMostThreads = 256;

struct alignas(16) Params {
  double* out = nullptr;
  const double* x = nullptr;
  const double* a = nullptr;
  uint64_t start = 0;   // What %i counts from.
  uint64_t width = 1;   // Of a row.
  uint64_t turns = 0;   // Of the loop.
  uint64_t stride = 1;  // From turn to turn.
};

// out[t] for the threads of one block; what no thread writes is -1.
std::vector<double> RunBlock(const Program& program, uint32_t threads, Params params) {
  std::vector<double> out(kMostThreads, -1);
  params.out = out.data();
  CpuLaunch launch;
  launch.params = reinterpret_cast<const std::byte*>(&params);
  launch.block[0] = threads;
  program.kernels()[0].run(&launch, 0, 1, nullptr);
  EXPECT_EQ(launch.trapped, 0U);
  return out;
}

// A kernel with %t, %i = start + t, the parameters in registers of their names, and 0 in %sum, which it stores.
std::string Kernel(const std::string& body) {
  return ".visible .entry k(.param .u64 out, .param .u64 x, .param .u64 a, .param .u64 start, .param .u64 width, "
         ".param .u64 turns, .param .u64 stride)\n{\n"
         ".reg .pred %p<9>; .reg .b32 %r<20>, %t, %i, %width, %turns, %stride, %k; .reg .b64 %l<20>, %out, %x, %a;\n"
         ".reg .f64 %d<20>, %sum;\n"
         "mov.u32 %t, %tid.x; ld.param.u64 %out, [out]; mul.wide.u32 %l0, %t, 8; add.s64 %out, %out, %l0;\n"
         "ld.param.u64 %x, [x]; ld.param.u64 %a, [a]; ld.param.u32 %i, [start]; add.s32 %i, %i, %t;\n"
         "ld.param.u32 %width, [width]; ld.param.u32 %turns, [turns]; ld.param.u32 %stride, [stride];\n"
         "mov.u32 %k, 0; mov.f64 %sum, 0d0000000000000000;\n" +
         body + "\nst.global.f64 [%out], %sum;\nEND: ret;\n}\n";
}

// One turn after the other, with `turn` in the midst, of as many as there are.
std::string Turns(const std::string& turn) {
  return "setp.eq.u32 %p1, %turns, 0; @%p1 bra DONE;\nLOOP: " + turn +
         "\nadd.u32 %k, %k, 1; setp.lt.u32 %p2, %k, %turns; @%p2 bra LOOP;\nDONE:";
}

// %d0 = a[%k], %d1 = x[%r0 + %k * stride]; %r1 is the index.
constexpr char kLoad[] =
    "mul.wide.u32 %l1, %k, 8; add.s64 %l1, %a, %l1; ld.global.f64 %d0, [%l1]; mad.lo.s32 %r1, %k, %stride, %r0;"
    "mul.wide.s32 %l2, %r1, 8; add.s64 %l2, %x, %l2; ld.global.f64 %d1, [%l2];";

// Numbers of which no two sums in different orders are equal.
std::vector<double> Numbers(size_t count) {
  std::vector<double> numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = std::sin(static_cast<double>(i) + 0.1) * 1e3;
  return numbers;
}

constexpr uint32_t kThreads[] = {1, 7, 8, 9, 16, 37, 256};

TEST(PtxWiden, SumsOverNeighbours) {
  const auto program =
      LoadOrDie(Kernel("mov.u32 %r0, %i;" + Turns(std::string(kLoad) + "fma.rn.f64 %sum, %d0, %d1, %sum;")));
  ASSERT_NE(program, nullptr);
  const std::vector<double> x = Numbers(2000), a = Numbers(20);
  for (uint32_t threads : kThreads) {
    for (uint64_t turns : {0, 1, 5, 20}) {
      for (uint64_t stride : {0, 1, 40}) {
        const std::vector<double> out =
            RunBlock(*program, threads, {.x = x.data(), .a = a.data(), .start = 100, .turns = turns, .stride = stride});
        for (uint32_t t = 0; t < kMostThreads; ++t) {
          double sum = 0;
          for (uint64_t k = 0; k < turns; ++k) sum = std::fma(a[k], x[100 + t + k * stride], sum);
          ASSERT_EQ(out[t], t < threads ? sum : -1) << threads << " threads, " << turns << " turns, thread " << t;
        }
      }
    }
  }
}

TEST(PtxWiden, ChoicesAndFunctions) {
  const auto program = LoadOrDie(Kernel("mov.u32 %r0, %i;" + Turns(std::string(kLoad) + R"(
      setp.gt.f64 %p3, %d1, %d0; selp.f64 %d2, %d1, %d0, %p3; min.f64 %d3, %d1, %d0;
      abs.f64 %d4, %d1; sqrt.rn.f64 %d4, %d4; sub.rn.f64 %d2, %d2, %d3; fma.rn.f64 %sum, %d2, %d4, %sum;
      cvt.rn.f64.s32 %d5, %i; add.rn.f64 %sum, %sum, %d5;)")));
  ASSERT_NE(program, nullptr);
  const std::vector<double> x = Numbers(2000), a = Numbers(20);
  const std::vector<double> out =
      RunBlock(*program, 41, {.x = x.data(), .a = a.data(), .start = 3, .turns = 20, .stride = 4});
  for (uint32_t t = 0; t < 41; ++t) {
    double sum = 0;
    for (uint64_t k = 0; k < 20; ++k) {
      const double y = x[3 + t + 4 * k];
      const double more = std::fmax(y, a[k]) - std::fmin(y, a[k]);
      sum = std::fma(more, std::sqrt(std::fabs(y)), sum) + static_cast<double>(3 + t);
    }
    ASSERT_EQ(out[t], sum) << "thread " << t;
  }
}

TEST(PtxWiden, SomeAccessesAreApart) {  // x[2 * i + k * stride] and x[i * i % 50] beside what lies together.
  const auto program =
      LoadOrDie(Kernel("mov.u32 %r0, %i; mul.lo.s32 %r5, %i, %i; rem.u32 %r5, %r5, 50;" + Turns(std::string(kLoad) + R"(
      fma.rn.f64 %sum, %d0, %d1, %sum; add.s32 %r6, %r1, %i; mul.wide.s32 %l3, %r6, 8; add.s64 %l3, %x, %l3;
      ld.global.f64 %d2, [%l3]; mul.wide.u32 %l4, %r5, 8; add.s64 %l4, %x, %l4; ld.global.f64 %d3, [%l4];
      fma.rn.f64 %sum, %d2, %d3, %sum;)")));
  ASSERT_NE(program, nullptr);
  const std::vector<double> x = Numbers(3000), a = Numbers(20);
  const std::vector<double> out =
      RunBlock(*program, 133, {.x = x.data(), .a = a.data(), .start = 5, .turns = 11, .stride = 40});
  for (uint32_t t = 0; t < 133; ++t) {
    const uint32_t i = 5 + t;
    double sum = 0;
    for (uint32_t k = 0; k < 11; ++k) {
      sum = std::fma(a[k], x[i + 40 * k], sum);
      sum = std::fma(x[2 * i + 40 * k], x[i * i % 50], sum);
    }
    ASSERT_EQ(out[t], sum) << "thread " << t;
  }
}

TEST(PtxWiden, NumbersThatWrap) {  // As they are widened: among the eight, and from one turn to the next.
  const auto program = LoadOrDie(Kernel(
      Turns("mul.wide.u32 %l1, %k, 8; add.s64 %l1, %a, %l1; ld.global.f64 %d0, [%l1]; mad.lo.s32 %r1, %k, %stride, %i;"
            "cvt.s64.s32 %l2, %r1; add.s64 %l2, %l2, 1099511627776; cvt.u64.u32 %l3, %r1; mad.lo.s64 %l2, %l3, 8, %l2;"
            "cvt.rn.f64.s64 %d2, %l2; fma.rn.f64 %sum, %d0, %d2, %sum;")));
  ASSERT_NE(program, nullptr);
  const std::vector<double> a = Numbers(16);
  for (uint32_t start : {0U, 0x7fffffe0U, 0x7ffffffbU, 0x80000000U, 0xfffffff9U}) {
    for (uint32_t stride : {1U, 8U, 0x40000000U}) {
      const std::vector<double> out =
          RunBlock(*program, 40, {.a = a.data(), .start = start, .turns = 12, .stride = stride});
      for (uint32_t t = 0; t < 40; ++t) {
        double sum = 0;
        for (uint32_t k = 0; k < 12; ++k) {
          const uint32_t number = start + t + k * stride;
          const int64_t wide = int64_t{static_cast<int32_t>(number)} + (int64_t{1} << 40) + 8 * int64_t{number};
          sum = std::fma(a[k], static_cast<double>(wide), sum);
        }
        ASSERT_EQ(out[t], sum) << start << " + " << t << ", stride " << stride;
      }
    }
  }
}

TEST(PtxWiden, ThreadsThatGoDifferentWays) {  // Each has as many turns as its number; the first ends before it.
  const auto program = LoadOrDie(Kernel("mov.u32 %r0, %i; setp.eq.u32 %p4, %t, 0; @%p4 bra END; mov.u32 %turns, %t;" +
                                        Turns(std::string(kLoad) + "fma.rn.f64 %sum, %d0, %d1, %sum;")));
  ASSERT_NE(program, nullptr);
  const std::vector<double> x = Numbers(2000), a = Numbers(100);
  const std::vector<double> out = RunBlock(*program, 64, {.x = x.data(), .a = a.data(), .start = 9, .stride = 2});
  for (uint32_t t = 0; t < 64; ++t) {
    double sum = 0;
    for (uint32_t k = 0; k < t; ++k) sum = std::fma(a[k], x[9 + t + 2 * k], sum);
    ASSERT_EQ(out[t], t == 0 ? -1 : sum) << "thread " << t;
  }
}

TEST(PtxWiden, StoresInTheLoop) {  // out[t] in each turn, before more is read.
  const auto program = LoadOrDie(Kernel("mov.u32 %r0, %i;" + Turns(std::string(kLoad) + R"(
      fma.rn.f64 %sum, %d0, %d1, %sum; st.global.f64 [%out], %sum; add.s32 %r7, %r1, %i; mul.wide.s32 %l7, %r7, 8;
      add.s64 %l7, %x, %l7; ld.global.f64 %d6, [%l7]; ld.global.f64 %d7, [%l1+8]; ld.global.f64 %d8, [%l1+16];
      sub.rn.f64 %sum, %sum, %d6; fma.rn.f64 %sum, %d7, %d8, %sum;)")));
  ASSERT_NE(program, nullptr);
  const std::vector<double> x = Numbers(3000), a = Numbers(20);
  const std::vector<double> out =
      RunBlock(*program, 61, {.x = x.data(), .a = a.data(), .start = 1, .turns = 9, .stride = 40});
  for (uint32_t t = 0; t < 61; ++t) {
    double sum = 0;
    for (uint32_t k = 0; k < 9; ++k) {
      sum = std::fma(a[k], x[1 + t + 40 * k], sum) - x[2 * (1 + t) + 40 * k];
      sum = std::fma(a[k + 1], a[k + 2], sum);
    }
    ASSERT_EQ(out[t], sum) << "thread " << t;
  }
}

// --- Rows

struct Type {
  const char* name;  // PTX's.
  bool is_signed;
};

class PtxRows : public testing::TestWithParam<Type> {};
INSTANTIATE_TEST_SUITE_P(Types, PtxRows, testing::Values(Type{"s32", true}, Type{"u32", false}),
                         [](const auto& info) { return std::string(info.param.name); });

// As PTX divides: all ones by 0, and the least number by -1 wraps.
uint32_t Quotient(uint32_t x, uint32_t y, bool is_signed) {
  if (y == 0) return UINT32_MAX;
  if (!is_signed) return x / y;
  return static_cast<uint32_t>(int64_t{static_cast<int32_t>(x)} / static_cast<int32_t>(y));
}
uint32_t Remainder(uint32_t x, uint32_t y, bool is_signed) {
  if (y == 0) return UINT32_MAX;
  return x - Quotient(x, y, is_signed) * y;
}

TEST_P(PtxRows, PlacesAndWhatFollowsFromThem) {  // With a loop and without one.
  const Type type = GetParam();
  const std::string name = type.name;
  const std::string place = "div." + name + " %r10, %i, %width; rem." + name + " %r11, %i, %width; div." + name +
                            " %r12, %r10, 3; rem." + name + " %r13, %r10, 3;";
  const std::string mix =
      "cvt.rn.f64.s32 %d10, %r10; cvt.rn.f64.s32 %d11, %r11; cvt.rn.f64.s32 %d12, %r12; cvt.rn.f64.s32 %d13, %r13;"
      "fma.rn.f64 %sum, %sum, 0d3FE0000000000000, %d10; fma.rn.f64 %sum, %d11, 0d4008000000000000, %sum;"
      "fma.rn.f64 %sum, %d12, 0d4014000000000000, %sum; fma.rn.f64 %sum, %d13, 0d401C000000000000, %sum;";
  for (const bool loops : {false, true}) {
    const std::string body = place + (loops ? Turns(mix) : mix);
    const auto program = LoadOrDie(Kernel(body));
    ASSERT_NE(program, nullptr);
    for (uint32_t start : {0U, 5U, 0x7ffffff0U, 0x80000000U, 0xffffffe3U}) {
      for (uint32_t width : {0U, 1U, 3U, 5U, 8U, 30U, 100U, 5000U, 0x7fffffffU, 0x80000000U, 0xffffffffU}) {
        for (uint32_t threads : {1U, 8U, 100U}) {
          const std::vector<double> out =
              RunBlock(*program, threads, {.start = start, .width = width, .turns = loops ? 3U : 0U});
          for (uint32_t t = 0; t < threads; ++t) {
            const uint32_t row = Quotient(start + t, width, type.is_signed);
            const uint32_t column = Remainder(start + t, width, type.is_signed);
            const double of[] = {static_cast<double>(static_cast<int32_t>(row)),
                                 static_cast<double>(static_cast<int32_t>(column)),
                                 static_cast<double>(static_cast<int32_t>(Quotient(row, 3, type.is_signed))),
                                 static_cast<double>(static_cast<int32_t>(Remainder(row, 3, type.is_signed)))};
            double sum = 0;
            for (int k = 0; k < (loops ? 3 : 1); ++k) {
              sum = std::fma(of[3], 7.0, std::fma(of[2], 5.0, std::fma(of[1], 3.0, std::fma(sum, 0.5, of[0]))));
            }
            ASSERT_EQ(out[t], sum) << start << " + " << t << ", rows of " << width;
          }
        }
      }
    }
  }
}

TEST_P(PtxRows, OfASumOverRows) {  // sum of a[k] * x[k * width + column], for the threads below a bound alone.
  const Type type = GetParam();
  const std::string name = type.name;
  const auto program = LoadOrDie(Kernel("setp.ge.s32 %p5, %i, 70; @%p5 bra END; div." + name +
                                        " %r10, %i, %width; mul.lo.s32 %r11, %r10, %width; sub.s32 %r0, %i, %r11;"
                                        "mov.u32 %stride, %width;" +
                                        Turns(std::string(kLoad) + "fma.rn.f64 %sum, %d0, %d1, %sum;") +
                                        "cvt.rn.f64.s32 %d9, %r10; add.rn.f64 %sum, %sum, %d9;"));
  ASSERT_NE(program, nullptr);
  const std::vector<double> x = Numbers(2000), a = Numbers(20);
  for (uint64_t width : {1, 2, 5, 8, 11, 16, 64, 100}) {
    for (uint32_t threads : kThreads) {
      const std::vector<double> out =
          RunBlock(*program, threads, {.x = x.data(), .a = a.data(), .start = 2, .width = width, .turns = 13});
      for (uint32_t t = 0; t < threads; ++t) {
        double sum = 0;
        for (uint64_t k = 0; k < 13; ++k) sum = std::fma(a[k], x[k * width + (2 + t) % width], sum);
        ASSERT_EQ(out[t], 2 + t < 70 ? sum + static_cast<double>((2 + t) / width) : -1)
            << "rows of " << width << ", thread " << t;
      }
    }
  }
}

}  // namespace
}  // namespace slipway::cpu
