// Field cases of what a device does with ordinary PTX (tests/field-cases.md), by plain driver calls.
#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "tests/assembled.h"
#include "tests/cpu/api_fixture.h"

namespace slipway::cpu {
namespace {

using testing::Each;
using testing::ElementsAre;

class FieldCases : public ApiTest {
 protected:
  CUfunction Load(const std::string& ptx, const char* kernel) {
    const std::string text = ".version 7.8\n.target sm_80\n.address_size 64\n" + ptx;
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    EXPECT_CUDA(Api().ModuleLoadDataEx(&module, text.c_str(), 0, nullptr, nullptr));
    EXPECT_CUDA(Api().ModuleGetFunction(&function, module, kernel));
    AssembleAfterTests(text);
    return function;
  }

  // Launches and waits.
  template <class... Args>
  void Run(CUfunction function, unsigned grid, unsigned block, Args... args) {
    LaunchBuffer buffer(args...);
    ASSERT_CUDA(Api().LaunchKernel(function, grid, 1, 1, block, 1, 1, 0, nullptr, nullptr, buffer.extra()));
    ASSERT_CUDA(Api().CtxSynchronize());
  }

  template <class T>
  CUdeviceptr Copied(const std::vector<T>& values) {
    CUdeviceptr address = 0;
    EXPECT_CUDA(Api().MemAlloc(&address, values.size() * sizeof(T)));
    EXPECT_CUDA(Api().MemcpyHtoD(address, values.data(), values.size() * sizeof(T)));
    return address;
  }
  template <class T>
  std::vector<T> Read(CUdeviceptr address, size_t count) {
    std::vector<T> values(count);
    EXPECT_CUDA(Api().MemcpyDtoH(values.data(), address, count * sizeof(T)));
    return values;
  }
};

// --- FC-32: atomic minimum and maximum of floating-point numbers, which PTX leaves to compare-and-swap loops.

// A loop that compares the bits, as it must: NaN is unequal to itself. OP is max or min, F the type, B that of its
// bits, S the space of the cell (of a block, or of all), SIZE its bytes.
constexpr char kExtremum[] = R"(
.visible .entry extremum(.param .u64 cell, .param .u64 values, .param .u64 olds)
{
  .reg .pred %p<3>; .reg .b32 %r<4>; .reg .b64 %rd<6>; .reg .B %value, %old, %assumed, %next;
  .shared .align 8 .b8 mine[8];
  ld.param.u64 %rd1, [cell]; ld.param.u64 %rd2, [values]; ld.param.u64 %rd3, [olds];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r1, %r1, %r2, %r3;
  mul.wide.u32 %rd4, %r1, SIZE; add.s64 %rd2, %rd2, %rd4; add.s64 %rd3, %rd3, %rd4;
  ld.global.B %value, [%rd2];
  setp.ne.u32 %p1, %r3, 0;
  BEFORE
  ld.volatile.SPACE.B %old, [%rd5];
AGAIN:
  mov.B %assumed, %old;
  OP.F %next, %assumed, %value;
  atom.SPACE.cas.B %old, [%rd5], %assumed, %next;
  setp.ne.B %p2, %old, %assumed;
  @%p2 bra AGAIN;
  st.global.B [%rd3], %old;
  AFTER
  ret;
}
)";
constexpr char kToShared[] = R"(
  @%p1 bra READY; ld.global.B %old, [%rd1]; st.shared.B [mine], %old;
READY: bar.sync 0; mov.u64 %rd5, mine;)";
constexpr char kFromShared[] = R"(
  bar.sync 0; @%p1 bra DONE; ld.shared.B %old, [mine]; st.global.B [%rd1], %old;
DONE:)";

// binary16 of a small integer or of what is said here, and back; exact.
uint16_t HalfBits(double value) {
  if (std::isnan(value)) return 0x7fff;
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (value == 0) return sign;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);  // In [1/2, 1).
  return static_cast<uint16_t>(sign | (exponent + 14) << 10 | (static_cast<int>(fraction * 2048) & 0x3ff));
}
double FromHalfBits(uint16_t bits) {
  const double magnitude = (bits >> 10 & 31) == 31 ? std::numeric_limits<double>::quiet_NaN()
                           : (bits & 0x7fff) == 0  ? 0.0
                                                   : std::ldexp(1024 + (bits & 0x3ff), (bits >> 10 & 31) - 25);
  return bits >> 15 != 0 ? -magnitude : magnitude;
}

struct FloatForm {
  const char* name;
  const char* type;
  const char* bits;
  size_t bytes;
  uint64_t (*to_bits)(double);
  double (*from_bits)(uint64_t);
};
const FloatForm kFloatForms[] = {
    {"F32", "f32", "b32", 4, [](double x) -> uint64_t { return std::bit_cast<uint32_t>(static_cast<float>(x)); },
     [](uint64_t bits) -> double { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }},
    {"F64", "f64", "b64", 8, [](double x) { return std::bit_cast<uint64_t>(x); },
     [](uint64_t bits) { return std::bit_cast<double>(bits); }},
    {"F16", "f16", "b16", 2, [](double x) -> uint64_t { return HalfBits(x); },
     [](uint64_t bits) { return FromHalfBits(static_cast<uint16_t>(bits)); }},
};

class FC32AtomicExtrema : public FieldCases, public testing::WithParamInterface<std::tuple<FloatForm, bool>> {
 protected:
  // What is in a cell after threads brought the values, and the old values that they got.
  struct Outcome {
    double cell;
    std::vector<double> olds;
  };
  Outcome Bring(const char* operation, double start, const std::vector<double>& values, unsigned blocks) {
    const auto& [form, shared] = GetParam();
    const std::string text = absl::StrReplaceAll(
        absl::StrReplaceAll(
            kExtremum, {{"BEFORE", shared ? kToShared : "mov.u64 %rd5, %rd1;"}, {"AFTER", shared ? kFromShared : ""}}),
        {{"OP.F", absl::StrCat(operation, ".", form.type)},
         {".B ", absl::StrCat(".", form.bits, " ")},
         {"SPACE", shared ? "shared" : "global"},
         {"SIZE", absl::StrCat(form.bytes)}});
    const auto pack = [&](const std::vector<double>& list) {
      std::vector<std::byte> packed(list.size() * form.bytes);
      for (size_t i = 0; i < list.size(); ++i) {
        const uint64_t bits = form.to_bits(list[i]);
        std::memcpy(packed.data() + i * form.bytes, &bits, form.bytes);
      }
      return Copied(packed);
    };
    const auto unpack = [&](CUdeviceptr address, size_t count) {
      const std::vector<std::byte> packed = Read<std::byte>(address, count * form.bytes);
      std::vector<double> list;
      for (size_t i = 0; i < count; ++i) {
        uint64_t bits = 0;
        std::memcpy(&bits, packed.data() + i * form.bytes, form.bytes);
        list.push_back(form.from_bits(bits));
      }
      return list;
    };
    const CUdeviceptr cell = pack({start}), in = pack(values), olds = pack(values);
    Run(Load(text, "extremum"), blocks, static_cast<unsigned>(values.size()) / blocks, uint64_t{cell}, uint64_t{in},
        uint64_t{olds});
    return {unpack(cell, 1)[0], unpack(olds, values.size())};
  }

  // Each change of the cell was seen by the one that came next, from the start to the end.
  static void ExpectAChain(double start, const std::vector<double>& values, const Outcome& outcome, bool is_maximum) {
    std::map<double, double> next;  // From what a thread found to what it left.
    for (size_t i = 0; i < values.size(); ++i) {
      const double old = outcome.olds[i];
      if (is_maximum ? values[i] <= old : values[i] >= old) continue;
      EXPECT_TRUE(next.emplace(old, values[i]).second) << "two threads changed " << old;
    }
    size_t changes = 0;
    double at = start;
    for (auto found = next.find(at); found != next.end(); found = next.find(at), ++changes) at = found->second;
    EXPECT_EQ(at, outcome.cell);
    EXPECT_EQ(changes, next.size());
  }

  static std::vector<double> Numbers(int from, int count) {
    std::vector<double> numbers;
    for (int i = 0; i < count; ++i) numbers.push_back(from + i * 37 % count);  // Mixed, each once.
    return numbers;
  }
};

TEST_P(FC32AtomicExtrema, AcrossSignsFromManyThreads) {
  const auto& [form, shared] = GetParam();
  const std::vector<double> up = Numbers(0, 512), down = Numbers(-512, 512);
  // Of shared memory each block has its own.
  for (unsigned blocks : shared ? std::vector<unsigned>{1} : std::vector<unsigned>{1, 8, 512}) {
    const Outcome most = Bring("max", -1, up, blocks);
    EXPECT_EQ(most.cell, 511);
    ExpectAChain(-1, up, most, /*is_maximum=*/true);
    const double start = form.bytes == 2 ? 65504 : static_cast<double>(3.4e38f);
    const Outcome least = Bring("min", start, down, blocks);
    EXPECT_EQ(least.cell, -512);
    ExpectAChain(start, down, least, /*is_maximum=*/false);
  }
}

TEST_P(FC32AtomicExtrema, NanEndsAndLosesToNumbers) {  // As max and min of PTX have it: FC-06.
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const char* operation : {"max", "min"}) {
    const Outcome brought = Bring(operation, 511, {nan}, 1);
    EXPECT_EQ(brought.cell, 511) << operation;
    EXPECT_EQ(brought.olds[0], 511) << operation;
    const Outcome found = Bring(operation, nan, {5}, 1);
    EXPECT_EQ(found.cell, 5) << operation;
    EXPECT_TRUE(std::isnan(found.olds[0])) << operation;
    EXPECT_TRUE(std::isnan(Bring(operation, nan, std::vector<double>(64, nan), 1).cell)) << operation;
  }
}

TEST_P(FC32AtomicExtrema, NegativeZeroIsLessThanZero) {
  EXPECT_FALSE(std::signbit(Bring("max", -0.0, {0.0}, 1).cell));
  EXPECT_FALSE(std::signbit(Bring("max", 0.0, {-0.0}, 1).cell));
  EXPECT_TRUE(std::signbit(Bring("min", 0.0, {-0.0}, 1).cell));
  EXPECT_TRUE(std::signbit(Bring("min", -0.0, {0.0}, 1).cell));
}

std::string NameOf(const testing::TestParamInfo<std::tuple<FloatForm, bool>>& info) {
  const auto& [form, shared] = info.param;
  return std::string(form.name) + (shared ? "Shared" : "Global");
}
INSTANTIATE_TEST_SUITE_P(Forms, FC32AtomicExtrema, testing::Combine(testing::ValuesIn(kFloatForms), testing::Bool()),
                         &NameOf);

// The other way that compilers know: integers of the same bits, signed for numbers above zero and turned round below.
constexpr char kByIntegers[] = R"(
.visible .entry extremum(.param .u64 cells, .param .u64 values)
{
  .reg .pred %p<2>; .reg .b32 %r<5>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [cells]; ld.param.u64 %rd2, [values];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r1, %r1, %r2, %r3;
  mul.wide.u32 %rd4, %r1, 4; add.s64 %rd2, %rd2, %rd4; ld.global.b32 %r4, [%rd2];
  setp.lt.s32 %p1, %r4, 0;
  @%p1 bra NEGATIVE;
  red.global.max.s32 [%rd1], %r4;
  red.global.min.s32 [%rd1+4], %r4;
  ret;
NEGATIVE:
  red.global.min.u32 [%rd1], %r4;
  red.global.max.u32 [%rd1+4], %r4;
  ret;
}
)";

TEST_F(FieldCases, FC32AtomicExtremaByIntegers) {
  std::vector<float> values;
  for (int i = 0; i < 512; ++i) values.push_back(static_cast<float>(i * 37 % 512) - 256.5f);
  const CUdeviceptr cells = Copied(std::vector<float>{-3.4e38f, 3.4e38f}), in = Copied(values);
  Run(Load(kByIntegers, "extremum"), 8, 64, uint64_t{cells}, uint64_t{in});
  EXPECT_THAT(Read<float>(cells, 2), ElementsAre(254.5f, -256.5f));
}

// --- FC-36: instructions that a software device got wrong.

constexpr char kDetails[] = R"(
.visible .entry details(.param .u64 out)
{
  .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .f32 %f<6>;
  ld.param.u64 %rd1, [out];
  // select(5, 9, not p), p = NaN < 1, by each way to turn p round.
  mov.b32 %f1, 0f7FC00000; mov.b32 %f2, 0f3F800000; setp.lt.f32 %p1, %f1, %f2;
  not.pred %p2, %p1; selp.b32 %r1, 5, 9, %p2; st.global.b32 [%rd1], %r1;
  setp.lt.f32 %p1|%p2, %f1, %f2; selp.b32 %r1, 5, 9, %p2; st.global.b32 [%rd1+4], %r1;
  mov.b32 %r1, 9; @!%p1 mov.b32 %r1, 5; st.global.b32 [%rd1+8], %r1;
  setp.eq.and.s32 %p2, %r1, %r1, !%p1; selp.b32 %r1, 5, 9, %p2; st.global.b32 [%rd1+12], %r1;
  // Fields of bits past the word.
  mov.b32 %r1, 0xF0F0F0F0; mov.b32 %r2, 0x70F0F0F0; mov.b32 %r3, 36; mov.b32 %r4, 28; mov.b32 %r5, 8;
  bfe.u32 %r6, %r1, %r3, %r5; st.global.b32 [%rd1+16], %r6;
  bfe.s32 %r6, %r1, %r3, %r5; st.global.b32 [%rd1+20], %r6;
  bfe.s32 %r6, %r2, %r3, %r5; st.global.b32 [%rd1+24], %r6;
  bfe.u32 %r6, %r1, %r4, %r5; st.global.b32 [%rd1+28], %r6;
  bfe.s32 %r6, %r1, %r4, %r5; st.global.b32 [%rd1+32], %r6;
  // Directed rounding, of integers and of sums.
  mov.b32 %r1, 16777219; cvt.rz.f32.s32 %f1, %r1; cvt.rn.f32.s32 %f2, %r1;
  st.global.f32 [%rd1+36], %f1; st.global.f32 [%rd1+40], %f2;
  mov.b32 %r1, 2147483647; cvt.rz.f32.s32 %f1, %r1; cvt.rn.f32.s32 %f2, %r1;
  st.global.f32 [%rd1+44], %f1; st.global.f32 [%rd1+48], %f2;
  mov.b32 %f1, 0f3F800000; mov.b32 %f2, 0f30800000; add.rp.f32 %f3, %f1, %f2; add.rm.f32 %f4, %f1, %f2;
  st.global.f32 [%rd1+52], %f3; st.global.f32 [%rd1+56], %f4;
  // Sums of 64 bits.
  mov.b64 %rd2, 5; mov.b64 %rd3, 0xFFFFFFFFFFFFFFFF; add.u64 %rd2, %rd2, %rd3; st.global.b64 [%rd1+64], %rd2;
  mov.b64 %rd2, 0xFFFFFFFF00000000; mov.b64 %rd3, 0x100000000; add.u64 %rd2, %rd2, %rd3; st.global.b64 [%rd1+72], %rd2;
  ret;
}
)";

TEST_F(FieldCases, FC36InstructionsToTheLetter) {
  const CUdeviceptr out = NewWords(20);
  Run(Load(kDetails, "details"), 1, 1, uint64_t{out});
  const auto of = [](float value) { return std::bit_cast<uint32_t>(value); };
  EXPECT_THAT(ReadWords(out, 15),
              ElementsAre(5, 5, 5, 5, 0, 0xFFFFFFFF, 0, 0xF, 0xFFFFFFFF, of(16777218.f), of(16777220.f),
                          of(2147483520.f), of(2147483648.f), 0x3F800001, 0x3F800000));
  EXPECT_THAT(Read<uint64_t>(out + 64, 2), ElementsAre(4, 0));
}

// --- FC-37: printf.

// A string of the module. `label` names it.
std::string Text(const char* label, const std::string& text) {
  std::string list;
  for (char c : text) absl::StrAppend(&list, static_cast<int>(c), ", ");
  return absl::StrCat(".global .align 1 .b8 ", label, "[", text.size() + 1, "] = {", list, "0};\n");
}

// A kernel whose threads below `n` call printf(format, arguments laid out by `stores` at %sp).
std::string PrintingKernel(const std::string& format, const std::string& stores, size_t bytes) {
  return absl::StrCat(".extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);\n",
                      Text("format", format), Text("word", "text"),
                      ".visible .entry print(.param .u32 n)\n{\n.local .align 8 .b8 depot[", bytes,
                      "]; .reg .pred %p; .reg .b32 %i, %n, %r<4>; .reg .b64 %sp, %l<3>;\n"
                      "ld.param.u32 %n, [n]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
                      "mad.lo.u32 %i, %r1, %r2, %r3; setp.ge.u32 %p, %i, %n; @%p bra DONE;\n"
                      "mov.u64 %sp, depot; cvta.local.u64 %sp, %sp;\n",
                      stores,
                      "mov.u64 %l2, format; cvta.global.u64 %l2, %l2;\n"
                      "{ .param .b32 r; .param .b64 f; .param .b64 a; st.param.b64 [f], %l2; st.param.b64 [a], %sp;\n"
                      "call.uni (r), vprintf, (f, a); }\nDONE: ret;\n}\n");
}

TEST_F(FieldCases, FC37PrintfOfEveryWidth) {
  // What C passes: 8 bits as an int, a float as a double.
  const CUfunction print =
      Load(PrintingKernel("%hhd %hhu %lld %llu %g %% %s\n",
                          "st.b32 [%sp], -5; st.b32 [%sp+4], 250; st.b64 [%sp+8], -1099511627776;\n"
                          "st.b64 [%sp+16], 0xffffffffffffffff;\n"
                          "mov.b64 %l1, 0d3FB99999A0000000; st.b64 [%sp+24], %l1;\n"
                          "mov.u64 %l1, word; cvta.global.u64 %l1, %l1; st.b64 [%sp+32], %l1;\n",
                          40),
           "print");
  testing::internal::CaptureStdout();
  Run(print, 1, 1, 1u);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "-5 250 -1099511627776 18446744073709551615 0.1 % text\n");
}

TEST_F(FieldCases, FC37PrintfOfManyArguments) {  // A GPU's printf ends at 32; compilers say so. Here each is printed.
  std::string format, stores, want;
  for (int i = 0; i < 33; ++i) {
    absl::StrAppend(&format, "%d,");
    absl::StrAppend(&stores, "st.b32 [%sp+", 4 * i, "], ", 1000 + i, ";\n");
    absl::StrAppend(&want, 1000 + i, ",");
  }
  const CUfunction print = Load(PrintingKernel(format + "\n", stores, 4 * 33), "print");
  testing::internal::CaptureStdout();
  Run(print, 1, 1, 1u);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), want + "\n");
}

TEST_F(FieldCases, FC37PrintfOf100000Threads) {  // Nothing is lost: there is no buffer that overflows.
  constexpr int kThreads = 100'000;
  const CUfunction print = Load(PrintingKernel("%d\n", "st.b32 [%sp], %i;\n", 8), "print");
  testing::internal::CaptureStdout();
  Run(print, (kThreads + 255) / 256, 256, static_cast<uint32_t>(kThreads));
  const std::string out = testing::internal::GetCapturedStdout();
  std::vector<int> seen(kThreads);
  for (const char* at = out.c_str(); *at != '\0';) {
    char* end = nullptr;
    const int64_t i = std::strtoll(at, &end, 10);
    ASSERT_TRUE(end != at && *end == '\n' && i >= 0 && i < kThreads) << std::string(at).substr(0, 40);
    ++seen[static_cast<size_t>(i)];
    at = end + 1;
  }
  EXPECT_THAT(seen, Each(1));
}

// --- FC-39: shuffles.

// The lanes of a warp are given value = lane * 2^33 + lane in two halves; MASK are those that take part.
constexpr char kShuffles[] = R"(
.visible .entry shuffles(.param .u64 out)
{
  .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 24; add.s64 %rd1, %rd1, %rd2;
  and.b32 %r2, %r1, 31; cvt.u64.u32 %rd2, %r2; shl.b64 %rd3, %rd2, 33; add.s64 %rd3, %rd3, %rd2;
  mov.b64 {%r3, %r4}, %rd3;
  MASK
  shfl.sync.down.b32 %r5, %r3, 3, 0x181f, %r8; shfl.sync.down.b32 %r6, %r4, 3, 0x181f, %r8;
  mov.b64 %rd4, {%r5, %r6}; st.global.b64 [%rd1], %rd4;
  shfl.sync.bfly.b32 %r5, %r3, 4, 0x181f, %r8; shfl.sync.bfly.b32 %r6, %r4, 4, 0x181f, %r8;
  mov.b64 %rd4, {%r5, %r6}; st.global.b64 [%rd1+8], %rd4;
  shfl.sync.idx.b32 %r5, %r3, 1, 0x101f, %r8; shfl.sync.idx.b32 %r6, %r4, 1, 0x101f, %r8;
  mov.b64 %rd4, {%r5, %r6}; st.global.b64 [%rd1+16], %rd4;
DONE:
  ret;
}
)";

uint64_t OfLane(uint64_t lane) { return (lane << 33) + lane; }

TEST_F(FieldCases, FC39ShufflesOf64BitsWithinSegments) {
  // The second warp has 8 threads.
  const std::string text =
      absl::StrReplaceAll(kShuffles, {{"MASK", "mov.b32 %r8, -1; setp.lt.u32 %p, %r1, 32; @!%p mov.b32 %r8, 0xff;"}});
  const CUdeviceptr out = NewWords(40 * 6);
  Run(Load(text, "shuffles"), 1, 40, uint64_t{out});
  const std::vector<uint64_t> got = Read<uint64_t>(out, 40 * 3);
  for (uint64_t thread = 0; thread < 40; ++thread) {
    const uint64_t lane = thread % 32;
    EXPECT_EQ(got[3 * thread], OfLane(lane % 8 < 5 ? lane + 3 : lane)) << "down, thread " << thread;
    EXPECT_EQ(got[3 * thread + 1], OfLane(lane ^ 4)) << "xor, thread " << thread;
    EXPECT_EQ(got[3 * thread + 2], OfLane((lane & ~uint64_t{15}) + 1)) << "index, thread " << thread;
  }
}

TEST_F(FieldCases, FC39LanesThatAreNotInTheMask) {  // They do not take part: they have gone on, and store nothing.
  const std::string text = absl::StrReplaceAll(
      kShuffles, {{"MASK", "mov.b32 %r8, 0x55555555; and.b32 %r7, %r1, 1; setp.ne.u32 %p, %r7, 0; @%p bra DONE;"},
                  {"down.b32 %r5, %r3, 3", "down.b32 %r5, %r3, 2"},
                  {"down.b32 %r6, %r4, 3", "down.b32 %r6, %r4, 2"},
                  {"idx.b32 %r5, %r3, 1", "idx.b32 %r5, %r3, 6"},
                  {"idx.b32 %r6, %r4, 1", "idx.b32 %r6, %r4, 6"}});
  const CUdeviceptr out = NewWords(64 * 6);
  Run(Load(text, "shuffles"), 1, 64, uint64_t{out});
  const std::vector<uint64_t> got = Read<uint64_t>(out, 64 * 3);
  for (uint64_t thread = 0; thread < 64; ++thread) {
    const uint64_t lane = thread % 32;
    const bool takes_part = lane % 2 == 0;
    EXPECT_EQ(got[3 * thread], takes_part ? OfLane(lane % 8 < 6 ? lane + 2 : lane) : 0) << "down, thread " << thread;
    EXPECT_EQ(got[3 * thread + 1], takes_part ? OfLane(lane ^ 4) : 0) << "xor, thread " << thread;
    EXPECT_EQ(got[3 * thread + 2], takes_part ? OfLane((lane & ~uint64_t{15}) + 6) : 0) << "index, thread " << thread;
  }
}

}  // namespace
}  // namespace slipway::cpu
