// Grid-stride loops in kernels, which the translator turns inside out, against the same loops run thread by thread.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "driver/cpu/program.h"
#include "gtest/gtest.h"

namespace slipway::cpu {
namespace {

std::unique_ptr<Program> LoadOrDie(const std::string& kernel) {
  auto program = Program::Load(".version 8.4\n.target sm_90\n.address_size 64\n" + kernel);
  EXPECT_TRUE(program.ok()) << program.status() << "\n" << kernel;
  return program.ok() ? *std::move(program) : nullptr;
}

struct alignas(16) Params {
  const void* out = nullptr;
  uint64_t n = 0, start = 0, stride = 0;
};

void RunBlocks(const Program& program, const Params& params, uint32_t blocks, uint32_t threads) {
  CpuLaunch launch;
  launch.params = reinterpret_cast<const std::byte*>(&params);
  launch.grid[0] = blocks;
  launch.block[0] = threads;
  program.kernels()[0].run(&launch, 0, blocks, nullptr);
}

constexpr char kEntry[] =
    ".visible .entry k(.param .u64 out, .param .u64 n, .param .u64 start, .param .u64 stride)\n{\n"
    ".reg .pred %p<9>; .reg .b32 %r<20>, %g; .reg .b64 %l<20>, %out;\n"
    "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.s32 %g, %r0, %r1, %r2;\n"
    "ld.param.u64 %out, [out];\n";

// --- Every index that a thread visits, in its order, whatever wraps.

struct Form {
  const char* name;
  const char* type;   // Of the index.
  const char* enter;  // A thread enters if `i enter n`, or always if empty,
  const char* stay;   // and goes on if `i stay n`.
  bool descends = false;
  bool tests_at_the_top = false;
};
void PrintTo(const Form& form, std::ostream* os) { *os << form.name; }

constexpr int kMostRounds = 24;

// out[g][round] = i + 1, for i = start + g, then in steps of stride.
std::string IndexKernel(const Form& form) {
  const std::string type = form.type;
  const std::string bits = type.substr(1);
  const std::string step = form.descends ? "sub" : "add";
  const std::string enter =
      *form.enter == 0 ? "" : "setp." + std::string(form.enter) + "." + type + " %p1, %i, %n; @!%p1 bra END;\n";
  const std::string again = form.tests_at_the_top
                                ? "bra LOOP;\n"
                                : "setp." + std::string(form.stay) + "." + type + " %p2, %i, %n; @%p2 bra LOOP;\n";
  return kEntry + (".reg .b" + bits + " %i, %n, %start, %stride, %wide;\n") + "ld.param.b" + bits +
         " %n, [n]; ld.param.b" + bits + " %start, [start]; ld.param.b" + bits + " %stride, [stride];\n" +
         "mul.wide.u32 %l0, %g, " + std::to_string(8 * kMostRounds) + "; add.s64 %l1, %out, %l0;\n" +
         (bits == "64" ? "mul.wide.u32 %l6, %r0, %r1; cvt.u64.u32 %l7, %r2; add.s64 %wide, %l6, %l7;\n"
                       : "mov.b32 %wide, %g;\n") +
         step + ".s" + bits + " %i, %start, %wide;\n" + (form.tests_at_the_top ? "LOOP: " + enter : enter + "LOOP:\n") +
         (bits == "64" ? "mov.b64 %l2, %i;\n" : "cvt.u64.u32 %l2, %i;\n") +
         "add.s64 %l3, %l2, 1; st.global.u64 [%l1], %l3; add.s64 %l1, %l1, 8;\n" + step + ".s" + bits +
         " %i, %i, %stride;\n" + again + "END: ret;\n}\n";
}

bool Holds(const std::string& test, bool less, bool equal) {
  if (test.empty()) return true;
  if (test == "lt") return less;
  if (test == "le") return less || equal;
  if (test == "gt") return !less && !equal;
  return !less;
}

// False if the thread does not end soon.
template <class T>
bool Visit(const Form& form, const Params& params, uint32_t g, uint64_t* visited) {
  using Unsigned = std::make_unsigned_t<T>;
  const auto moved = [&](Unsigned i, Unsigned by) { return static_cast<Unsigned>(form.descends ? i - by : i + by); };
  const T n = static_cast<T>(params.n);
  Unsigned i = moved(static_cast<Unsigned>(params.start), g);
  const char* test = form.enter;
  std::fill(visited, visited + kMostRounds, 0);
  for (int round = 0; round <= kMostRounds; ++round) {
    if (!Holds(test, static_cast<T>(i) < n, static_cast<T>(i) == n)) return true;
    if (round == kMostRounds) break;
    visited[round] = uint64_t{i} + 1;
    i = moved(i, static_cast<Unsigned>(params.stride));
    test = form.stay;
  }
  return false;
}

template <class T>
void CheckIndices(const Form& form) {
  const auto program = LoadOrDie(IndexKernel(form));
  ASSERT_NE(program, nullptr);
  constexpr T kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
  const T quarter = kMost / 4;
  const T values[] = {0,
                      1,
                      50,
                      300,
                      999,
                      kLeast,
                      T(kLeast + 90),
                      T(kLeast + 300),
                      T(kMost - 300),
                      T(kMost - 90),
                      T(kMost - 1),
                      kMost,
                      quarter,
                      T(0 - T(90)),
                      T(0 - T(300))};
  const T strides[] = {1,     64,           256,          300, quarter, T(quarter * 2 + 100), T(kMost - 50),
                       kMost, T(0 - T(70)), T(0 - T(200))};
  int ran = 0;
  for (const auto& [blocks, threads] : {std::pair{1U, 200U}, {4U, 48U}, {7U, 1U}}) {
    std::vector<uint64_t> out, want(size_t{blocks} * threads * kMostRounds);
    for (T n : values) {
      for (T start : values) {
        for (T stride : strides) {
          Params params{nullptr, static_cast<uint64_t>(n), static_cast<uint64_t>(start), static_cast<uint64_t>(stride)};
          bool ends = true;
          for (uint32_t g = 0; g < blocks * threads && ends; ++g) {
            ends = Visit<T>(form, params, g, &want[size_t{g} * kMostRounds]);
          }
          if (!ends) continue;
          ++ran;
          out.assign(want.size(), 0);
          params.out = out.data();
          RunBlocks(*program, params, blocks, threads);
          ASSERT_EQ(out, want) << +n << " from " << +start << " by " << +stride << ", " << blocks << " blocks";
        }
      }
    }
  }
  EXPECT_GT(ran, 1000);
}

class PtxGridStride : public ::testing::TestWithParam<Form> {};
TEST_P(PtxGridStride, VisitsTheSameIndicesInTheSameOrder) {
  const std::string type = GetParam().type;
  if (type == "s32") CheckIndices<int32_t>(GetParam());
  if (type == "u32") CheckIndices<uint32_t>(GetParam());
  if (type == "s64") CheckIndices<int64_t>(GetParam());
  if (type == "u64") CheckIndices<uint64_t>(GetParam());
}
const Form kForms[] = {
    {"S32", "s32", "lt", "lt"},
    {"U32", "u32", "lt", "lt"},
    {"S64", "s64", "lt", "lt"},
    {"U64", "u64", "lt", "lt"},
    {"S32Inclusive", "s32", "le", "le"},
    {"U64Inclusive", "u64", "le", "le"},
    {"S32EntersStrictly", "s32", "lt", "le"},
    {"S32Down", "s32", "gt", "gt", true},
    {"U32Down", "u32", "gt", "ge", true},
    {"S64DownInclusive", "s64", "ge", "ge", true},
    {"U64Down", "u64", "gt", "gt", true},
    {"S32AtTheTop", "s32", "lt", "lt", false, true},
    {"S32Unguarded", "s32", "", "lt"},
    {"U64DownUnguarded", "u64", "", "ge", true},
    {"U64AtTheTop", "u64", "lt", "lt", false, true},
};
INSTANTIATE_TEST_SUITE_P(Forms, PtxGridStride, ::testing::ValuesIn(kForms),
                         [](const auto& info) { return info.param.name; });

// The usual `size_t i = blockIdx.x * blockDim.x + threadIdx.x`: 32-bit arithmetic that may wrap, then a 64-bit loop.
TEST(PtxGridStrideWidened, WrapsBeforeItIsWidened) {
  for (const bool is_signed : {false, true}) {
    const std::string widen = is_signed ? "cvt.s64.s32" : "cvt.u64.u32";
    const auto program = LoadOrDie(
        kEntry + (".reg .b64 %i, %n, %stride; .reg .b32 %start;\nld.param.b64 %n, [n]; ld.param.b32 %start, [start]; "
                  "ld.param.b64 %stride, [stride]; add.s32 %r3, %start, %g;\n" +
                  widen + " %i, %r3; mul.wide.u32 %l0, %g, " + std::to_string(8 * kMostRounds) +
                  "; add.s64 %l1, %out, %l0;\nsetp.ge.s64 %p1, %i, %n; @%p1 ret;\n"
                  "LOOP: add.s64 %l3, %i, 1; st.global.u64 [%l1], %l3; add.s64 %l1, %l1, 8;\n"
                  "add.s64 %i, %i, %stride; setp.lt.s64 %p2, %i, %n; @%p2 bra LOOP; ret;\n}\n"));
    ASSERT_NE(program, nullptr);
    for (const uint32_t start : {0U, 100U, 0x7fffff00U, 0x7fffffc0U, 0xffffff00U, 0xffffffc0U}) {
      for (const int64_t n : {0L, 120L, 0x7fffffe0L, 0x80000020L, 0xfffffff0L, 0x100000400L}) {
        constexpr uint32_t kThreads = 200;
        const int64_t stride = 0x20000000;
        std::vector<uint64_t> out(kThreads * kMostRounds), want(kThreads * kMostRounds);
        for (uint32_t g = 0; g < kThreads; ++g) {
          const uint32_t narrow = start + g;
          int64_t i = is_signed ? int64_t{static_cast<int32_t>(narrow)} : int64_t{narrow};
          for (int round = 0; i < n; i += stride, ++round) want[g * kMostRounds + round] = static_cast<uint64_t>(i + 1);
        }
        RunBlocks(*program, {out.data(), static_cast<uint64_t>(n), start, static_cast<uint64_t>(stride)}, 1, kThreads);
        ASSERT_EQ(out, want) << "from " << start << " below " << n << (is_signed ? " signed" : "");
      }
    }
  }
}

// --- Bodies, over grids that are smaller than n, equal and larger.

constexpr size_t kCells = 1200;  // 32-bit words; loops over i < n work on the first n.
using Cells = std::vector<uint32_t>;

struct Body {
  const char* name;
  std::string kernel;  // What follows kEntry.
  // One thread: g, n, the grid's size, the cells.
  std::function<void(uint32_t, uint32_t, uint32_t, Cells&)> reference;
};
void PrintTo(const Body& body, std::ostream* os) { *os << body.name; }

// The loop, with %l1 the address of cell i and %r4 the grid's size.
std::string Loop(const std::string& body, const std::string& tag = "") {
  return "mov.u32 %r3, %nctaid.x; mul.lo.s32 %r4, %r3, %r1; ld.param.u32 %r5, [n]; mov.u32 %r6, %g;\n"
         "setp.ge.s32 %p1, %r6, %r5; @%p1 bra END" +
         tag + ";\nLOOP" + tag + ": mul.wide.s32 %l0, %r6, 4; add.s64 %l1, %out, %l0;\n" + body + "\nNEXT" + tag +
         ": add.s32 %r6, %r6, %r4; setp.lt.s32 %p2, %r6, %r5; @%p2 bra LOOP" + tag + ";\nEND" + tag + ":\n";
}
const std::string kEnd = "ret;\n}\n";

const Body kBodies[] = {
    {"Store", Loop("mad.lo.s32 %r7, %r6, 3, 7; st.global.u32 [%l1], %r7;") + kEnd,
     [](uint32_t g, uint32_t n, uint32_t grid, Cells& cells) {
       for (uint32_t i = g; i < n; i += grid) cells[i] = 3 * i + 7;
     }},
    {"Branches",
     Loop("ld.global.u32 %r7, [%l1]; and.b32 %r8, %r7, 1; setp.eq.s32 %p3, %r8, 0; @%p3 bra NEXT;\n"
          "add.s32 %r7, %r7, %r6; st.global.u32 [%l1], %r7;") +
         kEnd,
     [](uint32_t g, uint32_t n, uint32_t grid, Cells& cells) {
       for (uint32_t i = g; i < n; i += grid) {
         if (cells[i] % 2 != 0) cells[i] += i;
       }
     }},
    {"Atomics", Loop("add.s64 %l2, %out, 4796; atom.global.add.u32 %r7, [%l2], %r6;") + kEnd,  // Cell 1199.
     [](uint32_t g, uint32_t n, uint32_t grid, Cells& cells) {
       for (uint32_t i = g; i < n; i += grid) cells[1199] += i;
     }},
    {"TwoLoops",
     Loop("st.global.u32 [%l1], %r6;", "1") +
         Loop("ld.global.u32 %r7, [%l1]; add.s32 %r7, %r7, %g; "
              "st.global.u32 [%l1], %r7;",
              "2") +
         kEnd,
     [](uint32_t g, uint32_t n, uint32_t grid, Cells& cells) {
       for (uint32_t i = g; i < n; i += grid) cells[i] = i + g;
     }},
    {"StoreBefore",  // A thread sees its own store from before the loop.
     "mul.wide.u32 %l3, %g, 4; add.s64 %l3, %out, %l3; setp.ge.u32 %p4, %g, 100; @%p4 bra GO;\n"
     "st.global.u32 [%l3], 5; GO:\n" +
         Loop("ld.global.u32 %r7, [%l1]; add.s32 %r7, %r7, 1; st.global.u32 [%l1], %r7;") + kEnd,
     [](uint32_t g, uint32_t n, uint32_t grid, Cells& cells) {
       if (g < 100) cells[g] = 5;
       for (uint32_t i = g; i < n; i += grid) ++cells[i];
     }},
    {"LoadBefore",  // The value from before the loop, which the loop overwrites.
     "ld.param.u32 %r5, [n]; setp.ge.u32 %p4, %g, %r5; @%p4 ret; mul.wide.u32 %l3, %g, 4; add.s64 %l3, %out, %l3;\n"
     "ld.global.u32 %r9, [%l3];\n" +
         Loop("add.s32 %r7, %r9, %r6; st.global.u32 [%l1], %r7;") + kEnd,
     [](uint32_t g, uint32_t n, uint32_t grid, Cells& cells) {
       if (g >= n) return;
       const uint32_t loaded = cells[g];
       for (uint32_t i = g; i < n; i += grid) cells[i] = loaded + i;
     }},
    {"NestedLoop",
     Loop("mov.u32 %r7, 0; mov.u32 %r8, 0;\nINNER: mad.lo.s32 %r7, %r7, 5, %r6; add.s32 %r8, %r8, 1; "
          "setp.lt.s32 %p3, %r8, 6; @%p3 bra INNER;\nst.global.u32 [%l1], %r7;") +
         kEnd,
     [](uint32_t g, uint32_t n, uint32_t grid, Cells& cells) {
       for (uint32_t i = g; i < n; i += grid) {
         uint32_t x = 0;
         for (int k = 0; k < 6; ++k) x = x * 5 + i;
         cells[i] = x;
       }
     }},
    {"NestedLoopOfVaryingLength",
     Loop("mov.u32 %r7, 0; and.b32 %r9, %r6, 7; mov.u32 %r8, 0;\nINNER: setp.ge.s32 %p3, %r8, %r9; @%p3 bra DONE;\n"
          "mad.lo.s32 %r7, %r7, 5, %r6; add.s32 %r8, %r8, 1; bra INNER;\nDONE: st.global.u32 [%l1], %r7;") +
         kEnd,
     [](uint32_t g, uint32_t n, uint32_t grid, Cells& cells) {
       for (uint32_t i = g; i < n; i += grid) {
         uint32_t x = 0;
         for (uint32_t k = 0; k < i % 8; ++k) x = x * 5 + i;
         cells[i] = x;
       }
     }},
    {"EarlyReturn",
     "and.b32 %r9, %g, 3; setp.eq.s32 %p4, %r9, 2; @%p4 ret;\n" + Loop("st.global.u32 [%l1], %r6;") + kEnd,
     [](uint32_t g, uint32_t n, uint32_t grid, Cells& cells) {
       if (g % 4 == 2) return;
       for (uint32_t i = g; i < n; i += grid) cells[i] = i;
     }},
    {"Accumulator",
     "mov.u32 %r9, 0;\n" + Loop("mad.lo.s32 %r9, %r9, 3, %r6;") +
         "mul.wide.u32 %l3, %g, 4; add.s64 %l3, %out, %l3; st.global.u32 [%l3], %r9;\n" + kEnd,
     [](uint32_t g, uint32_t n, uint32_t grid, Cells& cells) {
       uint32_t sum = 0;
       for (uint32_t i = g; i < n; i += grid) sum = 3 * sum + i;
       cells[g] = sum;
     }},
    {"AccumulatorStored", "mov.u32 %r9, 0;\n" + Loop("mad.lo.s32 %r9, %r9, 3, %r6; st.global.u32 [%l1], %r9;") + kEnd,
     [](uint32_t g, uint32_t n, uint32_t grid, Cells& cells) {
       uint32_t sum = 0;
       for (uint32_t i = g; i < n; i += grid) cells[i] = sum = 3 * sum + i;
     }},
    {"Counter",  // A second value with a fixed step, the same for all threads.
     "mov.u32 %r9, 40;\n" + Loop("st.global.u32 [%l1], %r9; sub.s32 %r9, %r9, 3;") + kEnd,
     [](uint32_t g, uint32_t n, uint32_t grid, Cells& cells) {
       uint32_t counter = 40;
       for (uint32_t i = g; i < n; i += grid, counter -= 3) cells[i] = counter;
     }},
    {"LastIndex",  // The index itself, after the loop.
     Loop("st.global.u32 [%l1], 1;") + "mul.wide.u32 %l3, %g, 4; add.s64 %l3, %out, %l3; st.global.u32 [%l3], %r6;\n" +
         kEnd,
     [](uint32_t g, uint32_t n, uint32_t grid, Cells& cells) {
       uint32_t i = g;
       for (; i < n; i += grid) cells[i] = 1;
       cells[g] = i;
     }},
    {"Break", Loop("and.b32 %r7, %r6, 63; setp.eq.s32 %p3, %r7, 17; @%p3 bra END; st.global.u32 [%l1], %r6;") + kEnd,
     [](uint32_t g, uint32_t n, uint32_t grid, Cells& cells) {
       for (uint32_t i = g; i < n && i % 64 != 17; i += grid) cells[i] = i;
     }},
    {"LocalMemory",  // What a thread stores in one iteration, it reads in the next.
     ".local .align 4 .b8 depot[8]; .reg .b64 %sp; mov.u64 %sp, depot; st.local.u32 [%sp], %g; st.local.u32 [%sp+4], "
     "0;\n" +
         Loop("and.b32 %r7, %r6, 4; cvt.u64.u32 %l4, %r7; add.s64 %l4, %sp, %l4; ld.local.u32 %r8, [%l4]; "
              "add.s32 %r8, %r8, 2; st.local.u32 [%l4], %r8; st.global.u32 [%l1], %r8;") +
         kEnd,
     [](uint32_t g, uint32_t n, uint32_t grid, Cells& cells) {
       uint32_t depot[2] = {g, 0};
       for (uint32_t i = g; i < n; i += grid) cells[i] = depot[i / 4 % 2] += 2;
     }},
};

class PtxGridStrideBody : public ::testing::TestWithParam<Body> {};
TEST_P(PtxGridStrideBody, DoesWhatThreadsDo) {
  const auto program = LoadOrDie(kEntry + GetParam().kernel);
  ASSERT_NE(program, nullptr);
  for (const auto& [blocks, threads] : {std::pair{1U, 1U}, {1U, 7U}, {1U, 64U}, {3U, 33U}, {2U, 128U}, {9U, 128U}}) {
    for (uint32_t n : {0U, 1U, 2U, 16U, 63U, 64U, 65U, 99U, 127U, 256U, 300U, 1000U, 1152U}) {
      Cells want(kCells), out(kCells);
      for (size_t i = 0; i < kCells; ++i) want[i] = out[i] = static_cast<uint32_t>(i * i % 101);
      for (uint32_t g = 0; g < blocks * threads; ++g) GetParam().reference(g, n, blocks * threads, want);
      RunBlocks(*program, {out.data(), n, 0, 0}, blocks, threads);
      ASSERT_EQ(out, want) << "n " << n << ", " << blocks << " blocks of " << threads;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(All, PtxGridStrideBody, ::testing::ValuesIn(kBodies),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace slipway::cpu
