// PTX as host code: control flow, calls, state spaces, thread indices, and every message about PTX that is refused.
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "driver/cpu/program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cpu/ptx_kernel.h"

namespace slipway::cpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(PtxProgram, LoopsAndBranches) {  // Collatz steps: threads leave the loop at different times.
  const auto program = LoadOrDie(ElementKernel(R"(
    add.s32 %r3, %i, 1; mov.u32 %d, 0;
    LOOP: setp.eq.s32 %p1, %r3, 1; @%p1 bra DONE;
    and.b32 %r4, %r3, 1; setp.eq.s32 %p2, %r4, 0;
    @%p2 shr.u32 %r3, %r3, 1;
    @!%p2 mad.lo.s32 %r3, %r3, 3, 1;
    add.s32 %d, %d, 1; bra.uni LOOP;
    DONE:)"));
  const std::vector<uint32_t> steps = RunKernel<uint32_t>(*program, 100, 0, 4, 32);
  for (uint32_t i = 0; i < steps.size(); ++i) {
    uint32_t want = 0;
    for (uint64_t x = i + 1; x != 1; x = x % 2 == 0 ? x / 2 : 3 * x + 1) ++want;
    EXPECT_EQ(steps[i], want) << i;
  }
}

TEST(PtxProgram, BranchTable) {
  const auto program = LoadOrDie(ElementKernel(R"(
    T: .branchtargets A, B, C;
    rem.u32 %r3, %i, 3;
    brx.idx %r3, T;
    A: mov.u32 %d, 10; bra OUT;
    B: mov.u32 %d, 20; bra OUT;
    C: mov.u32 %d, 30;
    OUT:)"));
  EXPECT_THAT(RunKernel<uint32_t>(*program, 5, 0, 1, 8), ElementsAre(10, 20, 30, 10, 20));
}

TEST(PtxProgram, CallsWithParamsAndRecursion) {
  const auto program = LoadOrDie(ElementKernel(R"(
    { .param .b32 a; .param .b32 r; st.param.b32 [a], %i; call.uni (r), factorial, (a); ld.param.b32 %d, [r]; })",
                                               "b32", R"(
    .func (.param .b32 r) factorial(.param .b32 n)
    {
      .reg .b32 %r<5>; .reg .pred %p;
      ld.param.b32 %r0, [n]; setp.gt.s32 %p, %r0, 1; @%p bra MORE;
      st.param.b32 [r], 1; ret;
      MORE: sub.s32 %r1, %r0, 1;
      { .param .b32 a; .param .b32 q; st.param.b32 [a], %r1; call (q), factorial, (a); ld.param.b32 %r2, [q]; }
      mul.lo.s32 %r3, %r2, %r0; st.param.b32 [r], %r3; ret;
    }
  )"));
  EXPECT_THAT(RunKernel<uint32_t>(*program, 6, 0, 1, 8), ElementsAre(1, 1, 2, 6, 24, 120));
}

TEST(PtxProgram, LocalMemoryIsAThreadsOwn) {
  const auto program = LoadOrDie(ElementKernel(R"(
    .local .align 4 .b8 depot[16]; .reg .b64 %sp, %at;
    mov.u64 %sp, depot; cvta.local.u64 %sp, %sp;
    st.u32 [%sp], %i; st.u32 [%sp+4], 5; st.u32 [%sp+8], 7; st.u32 [%sp+12], 9;
    rem.u32 %r3, %i, 4; mul.wide.u32 %l3, %r3, 4; add.s64 %at, %sp, %l3; ld.u32 %d, [%at];)"));
  EXPECT_THAT(RunKernel<uint32_t>(*program, 9, 0, 1, 16), ElementsAre(0, 5, 7, 9, 4, 5, 7, 9, 8));
  EXPECT_EQ(program->kernels()[0].local_bytes, 16U);
}

TEST(PtxProgram, GlobalsAndConstants) {
  const auto program = LoadOrDie(ElementKernel(R"(
    rem.u32 %r3, %i, 3; mul.wide.u32 %l3, %r3, 4; mov.u64 %l4, table; add.s64 %l4, %l4, %l3;
    ld.const.u32 %r4, [%l4]; ld.global.u64 %l5, [pointer]; ld.global.u32 %r5, [%l5]; add.u32 %d, %r4, %r5;)",
                                               "b32", R"(
    .const .align 4 .b32 table[3] = {100, 200, 300};
    .visible .global .align 4 .b32 cells[2] = {5, 6};
    .global .align 8 .u64 pointer[1] = {generic(cells)+4};
  )"));
  EXPECT_THAT(RunKernel<uint32_t>(*program, 4, 0, 1, 4), ElementsAre(106, 206, 306, 106));
  const CpuGlobal* cells = program->FindGlobal("cells");
  ASSERT_NE(cells, nullptr);
  EXPECT_EQ(cells->size, 8U);
  const uint32_t next = 1000;
  std::memcpy(cells->address + 4, &next, 4);
  EXPECT_THAT(RunKernel<uint32_t>(*program, 2, 0, 1, 2), ElementsAre(1100, 1200));
  EXPECT_EQ(program->FindGlobal("nothing"), nullptr);
}

TEST(PtxProgram, ZerosFollowShortInitialisers) {
  std::vector<std::byte> memory(2048, std::byte{0xff});
  ProgramOptions options;
  options.allocate = [&](size_t bytes, size_t align) -> absl::StatusOr<std::byte*> {
    void* at = memory.data();
    size_t space = memory.size();
    return static_cast<std::byte*>(std::align(align, bytes, at, space));
  };
  const auto program = LoadText(std::string(kHeader) +
                                    ".visible .global .align 4 .u32 some[4] = {7, 8};\n"
                                    ".visible .global .align 4 .u32 none[2];\n",
                                options);
  ASSERT_NE(program, nullptr);
  const auto words = [&](const char* name, size_t count) {
    std::vector<uint32_t> found(count);
    std::memcpy(found.data(), program->FindGlobal(name)->address, 4 * count);
    return found;
  };
  EXPECT_EQ(words("some", 4), (std::vector<uint32_t>{7, 8, 0, 0}));
  EXPECT_EQ(words("none", 2), (std::vector<uint32_t>{0, 0}));
}

TEST(PtxProgram, TrapEndsTheLaunch) {
  const auto program = LoadOrDie(ElementKernel("mov.u32 %d, 1; setp.eq.s32 %p1, %i, 3; @%p1 trap;"));
  uint32_t trapped = 0;
  EXPECT_THAT(RunKernel<uint32_t>(*program, 6, 0, 1, 8, &trapped), ElementsAre(1, 1, 1, 0, 0, 0));
  EXPECT_EQ(trapped, 1U);
}

// Around the block and the vector widths: the bound that replaces `if (i < n)` must be exact.
class PtxGuard : public ::testing::TestWithParam<uint32_t> {};
TEST_P(PtxGuard, LetsInExactlyTheFirst) {
  const uint32_t n = GetParam();
  for (const char* guard : {"setp.ge.s32 %p0, %i, %n;", "setp.ge.u32 %p0, %i, %n;", "setp.le.s32 %p0, %n, %i;"}) {
    const auto program = LoadOrDie(ElementKernel("add.s32 %d, %i, 1;", "b32", "", guard));
    struct alignas(16) {
      uint32_t* out;
      uint64_t parameter;
      uint32_t n;
    } params{};
    std::vector<uint32_t> out(512, 0);
    params = {out.data(), 0, n};
    CpuLaunch launch;
    launch.params = reinterpret_cast<const std::byte*>(&params);
    launch.grid[0] = 4;
    launch.block[0] = 128;
    program->kernels()[0].run(&launch, 0, 4, nullptr);
    for (uint32_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i < n ? i + 1 : 0) << guard << " n " << n << " i " << i;
  }
}
INSTANTIATE_TEST_SUITE_P(Sizes, PtxGuard, ::testing::Values(0, 1, 15, 16, 127, 128, 129, 255, 300, 511, 512));

TEST(PtxProgram, GuardOfAnIndexThatWraps) {  // 0xffffff00 + t: the last 256 - x threads come round to 0.
  const auto program = LoadOrDie(
      ".visible .entry k(.param .u64 out, .param .u32 first, .param .u32 n)\n{\n"
      ".reg .pred %p; .reg .b32 %r<5>; .reg .b64 %l<5>;\n"
      "mov.u32 %r0, %tid.x; ld.param.u32 %r1, [first]; add.u32 %r2, %r1, %r0; ld.param.u32 %r3, [n];\n"
      "setp.ge.u32 %p, %r2, %r3; @%p ret; ld.param.u64 %l0, [out]; mul.wide.u32 %l1, %r0, 4; add.s64 %l2, %l0, %l1;\n"
      "st.global.u32 [%l2], 1; ret;\n}\n");
  std::vector<uint32_t> out(256, 0);
  struct alignas(16) {
    uint32_t* out;
    uint32_t first, n;
  } params{out.data(), 0xffffff80U, 40};
  CpuLaunch launch;
  launch.params = reinterpret_cast<const std::byte*>(&params);
  launch.block[0] = 256;
  program->kernels()[0].run(&launch, 0, 1, nullptr);
  for (uint32_t t = 0; t < 256; ++t) EXPECT_EQ(out[t], 0xffffff80U + t < 40U ? 1U : 0U) << t;
}

TEST(PtxProgram, ThreadAndBlockIndicesIn3D) {
  const auto program = LoadOrDie(R"(
    .visible .entry k(.param .u64 out)
    {
      .reg .b32 %r<20>; .reg .b64 %l<4>;
      mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.z; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ctaid.y;
      mov.u32 %r5, %ctaid.z; mov.u32 %r6, %ntid.x; mov.u32 %r7, %ntid.y; mov.u32 %r8, %ntid.z; mov.u32 %r9, %nctaid.x;
      mov.u32 %r10, %nctaid.y;
      mad.lo.u32 %r11, %r5, %r10, %r4; mad.lo.u32 %r11, %r11, %r9, %r3;
      mad.lo.u32 %r11, %r11, %r8, %r2; mad.lo.u32 %r11, %r11, %r7, %r1; mad.lo.u32 %r11, %r11, %r6, %r0;
      ld.param.u64 %l0, [out]; mul.wide.u32 %l1, %r11, 4; add.s64 %l2, %l0, %l1; atom.global.add.u32 %r12, [%l2], %r11; ret;
    })");
  std::vector<uint32_t> out(2 * 3 * 2 * 5 * 2 * 3, 0), want(out.size());
  std::iota(want.begin(), want.end(), 0);
  alignas(16) uint32_t* params[2] = {out.data()};
  CpuLaunch launch{.params = reinterpret_cast<const std::byte*>(&params), .grid = {2, 3, 2}, .block = {5, 2, 3}};
  program->kernels()[0].run(&launch, 0, 7, nullptr);
  program->kernels()[0].run(&launch, 7, 12, nullptr);
  EXPECT_EQ(out, want);
}

// One that asks for x alone runs in every row; one that also asks for y or z (which is stored, so that it has to be
// right) in the rows that there are.
TEST(PtxProgram, RowsThatAKernelDoesNotAskFor) {
  struct Case {
    const char* place;  // What thread x adds.
    uint32_t sum;       // Over the 3 rows of each of 2 layers of 2 blocks.
  };
  for (const Case& c : {Case{"mov.u32 %r3, 1;", 12}, Case{"mov.u32 %r3, %tid.y;", 12}, Case{"mov.u32 %r3, %tid.z;", 6},
                        Case{"mov.u32 %r0, %tid.y; mov.u32 %r2, %tid.z; mad.lo.u32 %r3, %r2, 100, %r0;", 612}}) {
    const auto program =
        LoadOrDie(std::string(".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<4>; .reg .b64 %l<3>;\n") + c.place +
                  "mov.u32 %r1, %tid.x; ld.param.u64 %l0, [out]; mul.wide.u32 %l1, %r1, 4; add.s64 %l2, %l0, %l1;\n"
                  "red.global.add.u32 [%l2], %r3; ret;\n}\n");
    ASSERT_NE(program, nullptr);
    std::vector<uint32_t> out(37);
    alignas(16) uint32_t* params[2] = {out.data()};
    CpuLaunch launch{.params = reinterpret_cast<const std::byte*>(&params), .grid = {2, 1, 1}, .block = {36, 3, 2}};
    program->kernels()[0].run(&launch, 0, 2, nullptr);
    std::vector<uint32_t> want(36, c.sum);
    want.push_back(0);
    EXPECT_EQ(out, want) << c.place;
  }
}

TEST(PtxProgram, KernelsDescribeThemselves) {
  const auto program = LoadOrDie(R"(
    .visible .entry k(.param .u8 a, .param .f64 b, .param .align 16 .b8 c[20], .param .u16 d) .reqntid 32, 4
    { .shared .align 8 .b8 s[24]; ret; })");
  const CpuKernel& kernel = program->kernels()[0];
  EXPECT_EQ(kernel.params_bytes, 38U);
  ASSERT_EQ(kernel.params.size(), 4U);
  EXPECT_EQ(kernel.params[1].offset, 8U);
  EXPECT_EQ(kernel.params[2].offset, 16U);
  EXPECT_EQ(kernel.params[3].offset, 36U);
  EXPECT_EQ(kernel.shared_bytes, 24U);
  EXPECT_EQ(kernel.max_threads, 128U);
  EXPECT_EQ(kernel.required_block[1], 4U);
  EXPECT_TRUE(program->ContainsCode(reinterpret_cast<const void*>(kernel.run)));
  EXPECT_FALSE(program->ContainsCode(&kernel));
  EXPECT_EQ(program->FindKernel("other"), nullptr);
}

TEST(PtxProgram, Approximations) {  // The oracle has exact forms only.
  struct {
    const char* body;
    double want;
  } const kCases[] = {
      {"ex2.approx.f32 %f1, %f0;", std::exp2(0.7)},   {"lg2.approx.f32 %f1, %f0;", std::log2(0.7)},
      {"sin.approx.f32 %f1, %f0;", std::sin(0.7)},    {"cos.approx.ftz.f32 %f1, %f0;", std::cos(0.7)},
      {"tanh.approx.f32 %f1, %f0;", std::tanh(0.7)},  {"rsqrt.approx.f32 %f1, %f0;", 1 / std::sqrt(0.7)},
      {"rcp.approx.ftz.f32 %f1, %f0;", 1 / 0.7},      {"sqrt.approx.f32 %f1, %f0;", std::sqrt(0.7)},
      {"div.full.f32 %f1, %f0, 0f40400000;", 0.7 / 3}};
  for (const auto& test : kCases) {
    const auto program = LoadOrDie(ElementKernel(std::string("mov.f32 %f0, 0.7; ") + test.body + " mov.b32 %d, %f1;"));
    EXPECT_NEAR(RunKernel<float>(*program, 1, 0, 1, 1)[0], test.want, 1e-6) << test.body;
  }
}

// The loop over threads is vectorized, and what is left over is not: each length has other threads in either. The four
// products of a thread must not be vectorized wrongly in their turn, as LLVM 22 does (host_code.cc).
TEST(PtxProgram, DotProductsOfBytesAtEveryLength) {
  for (const std::string types : {"u32.u32", "u32.s32", "s32.u32", "s32.s32"}) {
    const auto program = LoadOrDie(ElementKernel(R"(
      mul.wide.s32 %l1, %i, 4; add.s64 %l1, %u, %l1; ld.global.u32 %r3, [%l1];
      mul.wide.s32 %l2, %n, 4; add.s64 %l1, %l1, %l2; ld.global.u32 %r4, [%l1];
      add.s64 %l1, %l1, %l2; ld.global.u32 %r5, [%l1];
      dp4a.)" + types + " %d, %r3, %r4, %r5;"));
    const auto byte = [](uint32_t word, int index, char sign) {
      const uint32_t bits = word >> (8 * index) & 0xFF;
      return sign == 's' ? static_cast<int8_t>(bits) : static_cast<int>(bits);
    };
    for (uint32_t n = 1; n <= 70; ++n) {
      std::vector<uint32_t> words(3 * n);
      for (uint32_t i = 0; i < words.size(); ++i) words[i] = (i + 1) * 2654435761u;
      const std::vector<uint32_t> sums =
          RunKernel<uint32_t>(*program, n, reinterpret_cast<uint64_t>(words.data()), 1, n);
      for (uint32_t i = 0; i < n; ++i) {
        uint32_t want = words[2 * n + i];
        for (int part = 0; part < 4; ++part) {
          want += static_cast<uint32_t>(byte(words[i], part, types[0]) * byte(words[n + i], part, types[4]));
        }
        ASSERT_EQ(sums[i], want) << types << ", thread " << i << " of " << n;
      }
    }
  }
}

TEST(PtxProgram, LongStraightLineCode) {
  std::string body = "mov.u32 %r3, 0;\n";
  for (int i = 0; i < 20000; ++i) body += "add.s32 %r3, %r3, %i;\n";
  const auto program = LoadOrDie(ElementKernel(body + "mov.u32 %d, %r3;"));
  EXPECT_THAT(RunKernel<uint32_t>(*program, 3, 0, 1, 4), ElementsAre(0, 20000, 40000));
}

struct Refused {
  const char* name;
  std::string text;
  const char* message;
  absl::StatusCode code = absl::StatusCode::kInvalidArgument;
};
TEST(PtxProgram, TargetsOfOneArchitectureOrFamily) {
  const auto told = [](const char* target, int sm) {
    const auto program = Program::Load(std::string(".version 9.0\n.target ") + target + "\n", {.sm = sm});
    return std::string(program.status().message());
  };
  EXPECT_EQ(told("sm_100a", 100), "");
  EXPECT_EQ(told("sm_100f", 103), "");
  EXPECT_THAT(told("sm_100a", 103),
              HasSubstr(".target sm_100a runs on that device alone, and not on this one (sm_103)"));
  EXPECT_THAT(told("sm_100f", 120),
              HasSubstr(".target sm_100f runs on devices of its family alone, and not on this one (sm_120)"));
}

class PtxRefused : public ::testing::TestWithParam<Refused> {};
TEST_P(PtxRefused, SaysLineOpcodeAndReason) {
  const auto program = Program::Load(GetParam().text);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.status().code(), GetParam().code) << program.status();
  EXPECT_THAT(std::string(program.status().message()), HasSubstr(GetParam().message));
}

std::string Instruction(const std::string& text) {
  return std::string(kHeader) +
         ".entry k(.param .u64 p)\n{\n.reg .pred %p<3>; .reg .b16 %h<3>; .reg .b32 %r<5>; .reg .b64 %l<3>;\n" + text +
         "\n}\n";
}
constexpr absl::StatusCode kUnimplemented = absl::StatusCode::kUnimplemented;

const Refused kRefused[] = {
    {"NewerIsa", ".version 99.0\n.target sm_90\n", ".version 99.0 is newer than this device's driver takes",
     absl::StatusCode::kOutOfRange},
    {"NewerTarget", ".version 8.8\n.target sm_120\n", ".target sm_120 is newer than this device (sm_90)",
     absl::StatusCode::kFailedPrecondition},
    {"TargetOfALaterIsa", ".version 7.0\n.target sm_90\n",
     ".target sm_90 is not in PTX ISA 7.0; write .version 7.8 or newer"},
    {"NoSuchTarget", ".version 8.0\n.target sm_77\n", "there is no .target sm_77"},
    {"NoSuchFormOfATarget", ".version 8.0\n.target sm_75a\n", "there is no .target sm_75a"},
    {"TooManyConstants", std::string(kHeader) + ".const .b8 a[65536];\n.const .b8 b[1];\n",
     "with 'b' there are 65537 bytes of .const variables; a module can have 65536"},
    {"MisplacedModifier", Instruction("add.ftz.s32 %r1, %r2, %r3;"), "add.ftz.s32: there is no .ftz here"},
    {"SaturatedLow", Instruction("mad.lo.sat.s32 %r1, %r2, %r3, %r4;"), "mad.lo.sat.s32: .sat is for .hi"},
    {"UnknownOpcode", Instruction("frobnicate.u32 %r1, %r2;"), "line 7: frobnicate.u32:", kUnimplemented},
    {"UnknownModifier", Instruction("add.fancy.u32 %r1, %r2, %r3;"), "the CPU device does not know .fancy here",
     kUnimplemented},
    {"NoType", Instruction("add %r1, %r2, %r3;"), "add: no type that the CPU device knows", kUnimplemented},
    {"TooFewOperands", Instruction("add.u32 %r1, %r2;"), "add.u32: expected 3 operands, got 2"},
    {"NarrowRegister", Instruction("add.u64 %l1, %l2, %r1;"), "'%r1' has 32 bits, where the instruction reads 64"},
    {"NarrowResult", Instruction("mov.b32 %h1, %r1;"), "'%h1' has 16 bits, where the instruction writes 32"},
    {"PredicateAsInteger", Instruction("add.u32 %r1, %r2, %p1;"), "'%p1' has 1 bits"},
    {"FloatForInteger", Instruction("mov.b16 %h1, 1.5;"), "a floating-point constant where 16 bits are read"},
    {"IntegerForFloat", Instruction("add.f32 %r1, %r2, 1;"),
     "an integer constant where a floating-point value is read"},
    {"UnknownName", Instruction("mov.b64 %l1, nothing;"), "'nothing' is not declared"},
    {"UnknownRegister", Instruction("mov.b32 %r1, %nothing;"), "'%nothing' is no register", kUnimplemented},
    {"UnknownLabel", Instruction("bra NOWHERE;"), "'NOWHERE' is no label of this function"},
    {"UnknownFunction", Instruction("call nothing;"), "'nothing' is not declared"},
    {"Address32", Instruction("ld.global.u32 %r1, [%r2];"), "'%r2' is no 64-bit address"},
    {"NoAddress", Instruction("ld.global.u32 %r1, %l1;"), "expected one address in brackets"},
    {"WriteConstant", Instruction("st.const.u32 [%l1], %r1;"), "constant memory cannot be written"},
    {"PredicateFromMemory", Instruction("ld.global.pred %p1, [%l1];"), "predicates have no memory form"},
    {"PredicateToMemory", Instruction("st.global.pred [%l1], %p1;"), "predicates have no memory form"},
    {"ReleasingLoad", Instruction("ld.release.gpu.global.u32 %r1, [%l1];"),
     "the CPU device does not know .release here", kUnimplemented},
    {"AcquiringStore", Instruction("st.acquire.gpu.global.u32 [%l1], %r1;"),
     "the CPU device does not know .acquire here", kUnimplemented},
    {"TooMuchLocalMemory", Instruction(".local .b8 a[524289];"),
     "line 7: 'k' has more local memory than a thread's 524288 bytes"},
    {"TooMuchLocalMemoryForCalls", Instruction("{ .param .b8 a[300000]; .param .b8 b[0x10000000000]; }"),
     "line 7: 'k' has more local memory than a thread's 524288 bytes"},
    {"BadVector", Instruction("ld.global.v2.u32 {%r1}, [%l1];"), "expected 2 registers in braces"},
    {"BadComparison", Instruction("setp.equ.s32 %p1, %r1, %r2;"), ".equ is not for this type"},
    {"NoRounding", Instruction("cvt.s32.f32 %r1, %r2;"), "expected .rni, .rzi, .rmi or .rpi"},
    {"NoHalf", Instruction("mul.u32 %r1, %r2, %r3;"), "expected .lo, .hi or .wide"},
    {"WrongArguments", std::string(kHeader) + ".func f(.param .b32 a) { ret; }\n.entry k()\n{\ncall f;\n}\n",
     "'f' takes 1 arguments and gives 0 results, not 0 and 0"},
    {"DefinedTwice", std::string(kHeader) + ".entry k() { ret; }\n.entry k() { ret; }\n",
     "line 5: 'k' is defined twice"},
    {"ExternGlobal", std::string(kHeader) + ".extern .global .b32 a;\n", "'a' is not defined in this module",
     kUnimplemented},
};
INSTANTIATE_TEST_SUITE_P(All, PtxRefused, ::testing::ValuesIn(kRefused),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace slipway::cpu
