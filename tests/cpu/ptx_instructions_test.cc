// Instruction forms that the tables of expected results (ptx_vectors.cc) lack, against references of the host's own.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/cpu/ptx_instruction.h"

namespace slipway::cpu {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

const std::vector<uint32_t>& FloatEdges() {
  static const std::vector<uint32_t> edges = {0,          0x80000000, 1,          0x007fffff, 0x00800000, 0x3f800000,
                                              0xbf800001, 0x3eaaaaab, 0x4b7fffff, 0x7f7fffff, 0xff7fffff, 0x7f800000,
                                              0xff800000, 0x7fc00000, 0x33800000, 0x40490fdb};
  return edges;
}

bool SameFloat(uint64_t a, uint64_t b) { return a == b || (std::isnan(Float(a)) && std::isnan(Float(b))); }

TEST(PtxInstructions, PackedSingles) {  // Each half as the scalar instruction, which the tables hold to its definition.
  for (const char* form :
       {"add", "add.rz", "add.rm", "add.rp.ftz", "sub", "sub.rn.ftz", "mul", "mul.rp", "mul.rm.ftz"}) {
    const std::string name = form;
    const Instruction packed(kNewest, name + ".f32x2 %l8, %l0, %l1;", {"%l8"});
    const Instruction scalar(kNewest, name + ".f32 %f8, %f0, %f2; " + name + ".f32 %f9, %f1, %f3;", {"%f8", "%f9"});
    for (uint64_t a : FloatEdges()) {
      for (uint64_t b : FloatEdges()) {
        const uint64_t result = packed({a | b << 32, b | uint64_t{0x3fc00001} << 32})[0];
        const std::vector<uint64_t> want = scalar({a, b, b, 0x3fc00001});
        ASSERT_TRUE(SameFloat(result & 0xffffffff, want[0])) << name << " " << a << " " << b;
        ASSERT_TRUE(SameFloat(result >> 32, want[1])) << name << " " << a << " " << b;
      }
    }
  }
  for (const char* form : {"fma.rn", "fma.rz", "fma.rp", "fma.rm.ftz"}) {
    const std::string name = form;
    const Instruction packed(kNewest, name + ".f32x2 %l8, %l0, %l1, %l2;", {"%l8"});
    const Instruction scalar(kNewest, name + ".f32 %f8, %f0, %f1, %f2;", {"%f8"});
    for (uint64_t a : FloatEdges()) {
      for (uint64_t b : FloatEdges()) {
        const uint64_t c = 0x3f800003;
        const uint64_t result = packed({a | b << 32, b | c << 32, c | a << 32})[0];
        ASSERT_TRUE(SameFloat(result & 0xffffffff, scalar({a, b, c})[0])) << name << " " << a << " " << b;
        ASSERT_TRUE(SameFloat(result >> 32, scalar({b, c, a})[0])) << name << " " << a << " " << b;
      }
    }
  }
}

TEST(PtxInstructions, MixedPrecision) {  // The narrow operands are widened, which is exact.
  const std::vector<uint64_t> halves = {0,      0x8000, 1,      0x3ff,  0x400,  0x3c00,
                                        0xbc01, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x3555};
  for (const char* type : {"f16", "bf16"}) {
    const std::string widen = std::string("cvt.f32.") + type;
    for (const char* form : {"add", "add.rz", "sub.rm", "sub.sat", "add.rp.sat"}) {
      const std::string name = form;
      const Instruction mixed(kNewest, name + ".f32." + type + " %f8, %h0, %f1;", {"%f8"});
      const Instruction wide(kNewest, widen + " %f9, %h0; " + name + ".f32 %f8, %f9, %f1;", {"%f8"});
      for (uint64_t a : halves) {
        for (uint64_t b : FloatEdges()) {
          ASSERT_TRUE(SameFloat(mixed({a, b})[0], wide({a, b})[0])) << name << type << " " << a << " " << b;
        }
      }
    }
    for (const char* form : {"fma.rn", "fma.rz.sat", "fma.rp"}) {
      const std::string name = form;
      const Instruction mixed(kNewest, name + ".f32." + type + " %f8, %h0, %h1, %f2;", {"%f8"});
      const Instruction wide(
          kNewest, widen + " %f9, %h0; " + widen + " %f10, %h1; " + name + ".f32 %f8, %f9, %f10, %f2;", {"%f8"});
      for (uint64_t a : halves) {
        for (uint64_t b : halves) {
          for (uint64_t c : {0x3f800001U, 0x80000001U}) {
            ASSERT_TRUE(SameFloat(mixed({a, b, c})[0], wide({a, b, c})[0])) << name << type << " " << a << " " << b;
          }
        }
      }
    }
  }
}

TEST(PtxInstructions, MinimumAndMaximumOfThree) {
  const auto number = [](bool max, bool abs, float a, float b, float c) {
    float result = std::nanf("");
    for (float x : {a, b, c}) {
      if (abs) x = std::fabs(x);
      if (std::isnan(x)) continue;
      if (std::isnan(result) || (max ? x > result : x < result) ||
          (x == result && std::signbit(x) != std::signbit(result) && std::signbit(x) != max)) {
        result = x;
      }
    }
    return result;
  };
  for (const bool max : {false, true}) {
    for (const bool abs : {false, true}) {
      const std::string name = std::string(max ? "max" : "min") + (abs ? ".abs" : "");
      const Instruction plain(kNewest, name + ".f32 %f8, %f0, %f1, %f2;", {"%f8"});
      const Instruction nan(
          kNewest, std::string(max ? "max" : "min") + ".NaN" + (abs ? ".abs" : "") + ".f32 %f8, %f0, %f1, %f2;",
          {"%f8"});
      for (uint64_t a : FloatEdges()) {
        for (uint64_t b : FloatEdges()) {
          for (uint64_t c : {0x3f000000U, 0xff800000U, 0x7fc00000U}) {
            const float want = number(max, abs, Float(a), Float(b), Float(c));
            ASSERT_TRUE(SameFloat(plain({a, b, c})[0], Bits(want))) << name << " " << a << " " << b << " " << c;
            const bool any = std::isnan(Float(a)) || std::isnan(Float(b)) || std::isnan(Float(c));
            ASSERT_TRUE(SameFloat(nan({a, b, c})[0], any ? 0x7fffffff : Bits(want))) << name << " " << a << " " << b;
          }
        }
      }
    }
  }
}

// --- Formats of 8 bits and fewer: by their definition, value by value.

struct Narrow {
  const char* name;
  bool eight;  // Bits of a code; else as many as it takes.
  int exponent, mantissa;
  bool has_nan, has_infinity;
};
constexpr Narrow kNarrow[] = {{"e4m3x2", true, 4, 3, true, false},
                              {"e5m2x2", true, 5, 2, true, true},
                              {"e2m3x2", true, 2, 3, false, false},
                              {"e3m2x2", true, 3, 2, false, false},
                              {"e2m1x2", false, 2, 1, false, false}};

// The value of a code without its sign.
double NarrowValue(const Narrow& format, uint32_t code) {
  const int bias = (1 << (format.exponent - 1)) - 1;
  const int binade = static_cast<int>(code >> format.mantissa);
  const double fraction = (code & ((1U << format.mantissa) - 1)) / static_cast<double>(1 << format.mantissa);
  const uint32_t last = (1U << (format.exponent + format.mantissa)) - 1;
  if (format.has_infinity && binade == (1 << format.exponent) - 1) return fraction == 0 ? HUGE_VAL : std::nan("");
  if (format.has_nan && !format.has_infinity && code == last) return std::nan("");
  return binade == 0 ? fraction * std::exp2(1 - bias) : (1 + fraction) * std::exp2(binade - bias);
}

TEST(PtxInstructions, NarrowFloatsToHalf) {
  for (const Narrow& format : kNarrow) {
    const int bits = 1 + format.exponent + format.mantissa;
    const int slot = format.eight ? 8 : 4;
    const std::string source = format.eight ? "%h0;" : ".reg .b8 %c<2>; mov.b16 {%c0, %c1}, %h0;";
    for (const bool relu : {false, true}) {
      const std::string name = std::string("cvt.rn") + (relu ? ".relu" : "") + ".f16x2." + format.name;
      const Instruction convert(
          kNewestAlone,
          format.eight ? name + " %r8, %h0;" : ".reg .b8 %c<2>; mov.b16 {%c0, %c1}, %h0; " + name + " %r8, %c0;",
          {"%r8"});
      for (uint32_t code = 0; code < 1U << bits; ++code) {
        const uint32_t sign = code >> (bits - 1);
        const double magnitude = NarrowValue(format, code & ((1U << (bits - 1)) - 1));
        const uint32_t other = 1U << format.mantissa;  // The smallest normal number.
        for (const bool upper : {false, true}) {
          const uint64_t result = convert({upper ? code << slot | other : other << slot | code})[0];
          const uint32_t half = upper ? result >> 16 : result & 0xffff;
          const double value = [&] {  // Of the f16, by its definition.
            const int e = half >> 10 & 31;
            const double f = (half & 1023) / 1024.0;
            const double m = e == 31  ? (f == 0 ? HUGE_VAL : std::nan(""))
                             : e == 0 ? f * 0x1p-14
                                      : (1 + f) * std::exp2(e - 15);
            return (half >> 15) != 0 ? -m : m;
          }();
          if (std::isnan(magnitude)) {
            ASSERT_EQ(half, 0x7fffU) << name << " " << code;
          } else {
            const double want = sign == 0 ? magnitude : relu ? 0.0 : -magnitude;
            ASSERT_EQ(value, want) << name << " " << code;
            ASSERT_EQ(std::signbit(value), std::signbit(want)) << name << " " << code;
          }
        }
      }
    }
  }
}

TEST(PtxInstructions, SinglesToNarrowFloats) {
  for (const Narrow& format : kNarrow) {
    const int bits = 1 + format.exponent + format.mantissa;
    const int slot = format.eight ? 8 : 4;
    // All finite numbers in order; their codes are their places.
    std::vector<double> numbers;
    for (uint32_t code = 0; code < 1U << (bits - 1); ++code) {
      const double value = NarrowValue(format, code);
      if (std::isfinite(value)) numbers.push_back(value);
    }
    const auto encode = [&](float x, bool relu) -> uint32_t {
      if (std::isnan(x)) return format.has_nan ? 0x7f : static_cast<uint32_t>(numbers.size() - 1);
      const uint32_t sign = std::signbit(x) ? 1U << (bits - 1) : 0;
      if (relu && sign != 0) return 0;
      uint32_t best = 0;
      for (uint32_t i = 1; i < numbers.size(); ++i) {  // The nearest, of two the even one.
        const double distance = std::fabs(std::fabs(x) - numbers[i]), least = std::fabs(std::fabs(x) - numbers[best]);
        if (distance < least || (distance == least && (i & 1) == 0)) best = i;
      }
      if (std::fabs(x) >= numbers.back()) best = static_cast<uint32_t>(numbers.size() - 1);
      return sign | best;
    };
    std::vector<float> inputs = {0.0F, -0.0F, 1e-30F, -1e30F, 1e30F, HUGE_VALF, -HUGE_VALF, std::nanf("")};
    for (size_t i = 0; i + 1 < numbers.size(); ++i) {
      const float middle = static_cast<float>((numbers[i] + numbers[i + 1]) / 2);
      for (float x :
           {static_cast<float>(numbers[i]), middle, std::nextafter(middle, 0.0F), std::nextafter(middle, 1e9F)}) {
        inputs.push_back(x);
        inputs.push_back(-x);
      }
    }
    for (const bool relu : {false, true}) {
      const std::string name = std::string("cvt.rn.satfinite") + (relu ? ".relu." : ".") + format.name + ".f32";
      const Instruction convert(
          kNewestAlone,
          format.eight ? name + " %h8, %f0, %f1;"
                       : ".reg .b8 %c<2>; " + name + " %c0, %f0, %f1; mov.b16 %h8, {%c0, 0}; and.b16 %h8, %h8, 255;",
          {"%h8"});
      for (const float x : inputs) {
        const uint64_t result = convert({Bits(x), Bits(-x)})[0];
        ASSERT_EQ(result >> slot, encode(x, relu)) << name << " " << x;
        ASSERT_EQ(result & ((1U << slot) - 1), encode(-x, relu)) << name << " " << -x;
      }
    }
  }
  // Of f16x2: the halves are widened.
  const Instruction of_halves(kNewest, "cvt.rn.satfinite.e4m3x2.f16x2 %h8, %r0;", {"%h8"});
  EXPECT_EQ(of_halves({0x3c004000})[0], 0x3840U);  // 1 and 2
}

// --- Memory

TEST(PtxInstructions, LoadsWithScopesOrderingsAndHints) {
  alignas(64) uint32_t memory[16];
  for (uint32_t i = 0; i < 16; ++i) memory[i] = 100 + i;
  const uint64_t at = reinterpret_cast<uint64_t>(memory);
  for (const char* form : {
           "ld.global.u32 %r8, [%l0];",
           "ld.weak.global.ca.L2::128B.u32 %r8, [%l0];",
           "ld.relaxed.gpu.global.u32 %r8, [%l0];",
           "ld.acquire.sys.u32 %r8, [%l0];",
           "ld.relaxed.cluster.global.L1::evict_last.u32 %r8, [%l0];",
           "ld.volatile.global.u32 %r8, [%l0];",
           "ld.mmio.relaxed.sys.global.u32 %r8, [%l0];",
           "ld.global.nc.L1::no_allocate.L2::256B.u32 %r8, [%l0];",
           "ld.global.L2::cache_hint.u32 %r8, [%l0], %l1;",
           "ld.global.nc.L2::cache_hint.u32 %r8, [%l0], %l1;",
           "ld.global.L1::evict_first.L2::cache_hint.v4.u32 {%r8, %r9, %r10, %r11}, [%l0], %l1;",
           "ld.global.cv.u32 %r8, [%l0];",
           "ldu.global.u32 %r8, [%l0];",
           "createpolicy.fractional.L2::evict_last.b64 %l2, 0.5; ld.global.L2::cache_hint.u32 %r8, [%l0], %l2;",
           "createpolicy.range.global.L2::evict_last.L2::evict_first.b64 %l2, [%l0], 16, 64; ld.u32 %r8, [%l0];",
           "createpolicy.cvt.L2.b64 %l2, %l1; ld.u32 %r8, [%l0];",
           "prefetch.global.L1 [%l0]; prefetch.global.L2::evict_last [%l0]; prefetchu.L1 [%l0]; ld.u32 %r8, [%l0];",
           "prefetch.tensormap [%l0]; ld.u32 %r8, [%l0];",
           "applypriority.global.L2::evict_normal [%l0], 128; ld.u32 %r8, [%l0];",
       }) {
    EXPECT_EQ(Instruction(kHeader, form, {"%r8"})({at, 7})[0], 100U) << form;
  }
  const Instruction eight(kNewest, "ld.global.v8.b32 {%r8, %r9, %r10, _, %r11, %r12, %r13, %r14}, [%l0];",
                          {"%r8", "%r9", "%r10", "%r11", "%r12", "%r13", "%r14"});
  EXPECT_THAT(eight({at}), ElementsAre(100, 101, 102, 104, 105, 106, 107));
  const Instruction wide(kNewest, "ld.global.L2::evict_normal.v4.b64 {%l8, %l9, %l10, %l11}, [%l0];", {"%l8", "%l11"});
  EXPECT_THAT(wide({at}), ElementsAre(100 + (101ULL << 32), 106 + (107ULL << 32)));
}

TEST(PtxInstructions, StoresWithScopesOrderingsAndHints) {
  for (const char* form : {
           "st.global.u32 [%l0], %r1;",
           "st.release.cta.u32 [%l0], %r1;",
           "st.relaxed.sys.global.L1::no_allocate.u32 [%l0], %r1;",
           "st.global.wt.u32 [%l0], %r1;",
           "st.mmio.relaxed.sys.global.u32 [%l0], %r1;",
           "st.global.L2::cache_hint.u32 [%l0], %r1, %l2;",
           "st.volatile.u32 [%l0], %r1;",
           "discard.global.L2 [%l0], 128; st.u32 [%l0], %r1;",
       }) {
    alignas(128) uint32_t memory[32] = {5, 6};
    Instruction(kHeader, form, {})({reinterpret_cast<uint64_t>(memory), 9});
    EXPECT_EQ(memory[0], 9U) << form;
    EXPECT_EQ(memory[1], 6U) << form;
  }
  alignas(64) uint32_t memory[16] = {};
  Instruction(kNewest, "st.global.v8.b32 [%l0], {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r1};",
              {})({reinterpret_cast<uint64_t>(memory), 1, 2, 3, 4, 5, 6, 7});
  EXPECT_THAT(memory, ElementsAre(1, 2, 3, 4, 5, 6, 7, 1, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(PtxInstructions, VectorAtomics) {
  alignas(32) float singles[4] = {1, 2, 3, 4};
  const Instruction add(kHeader, "atom.global.add.v4.f32 {%f8, %f9, %f10, %f11}, [%l0], {%f1, %f2, %f3, %f4};",
                        {"%f8", "%f11"});
  EXPECT_THAT(add({reinterpret_cast<uint64_t>(singles), Bits(10), Bits(20), Bits(30), Bits(40)}),
              ElementsAre(Bits(1), Bits(4)));
  EXPECT_THAT(singles, ElementsAre(11, 22, 33, 44));
  Instruction(kHeader, "red.relaxed.gpu.global.add.v2.f32 [%l0], {%f1, %f2};",
              {})({reinterpret_cast<uint64_t>(singles), Bits(1), Bits(2)});
  EXPECT_THAT(singles, ElementsAre(12, 24, 33, 44));

  alignas(32) uint16_t halves[8] = {0x3c00, 0x4000, 0x4200, 0x7e00, 0x3c00, 0x4000, 0x4200, 0x4400};
  const Instruction min(kHeader, "atom.global.v4.f16.min.noftz {%h8, %h9, %h10, %h11}, [%l0], {%h1, %h2, %h3, %h4};",
                        {"%h9"});
  EXPECT_EQ(min({reinterpret_cast<uint64_t>(halves), 0x4000, 0x3c00, 0xc200, 0x3c00})[0], 0x4000U);
  EXPECT_THAT(halves, ElementsAre(0x3c00, 0x3c00, 0xc200, 0x3c00, 0x3c00, 0x4000, 0x4200, 0x4400));
  Instruction(kHeader, "red.global.add.noftz.v2.f16x2 [%l0], {%r1, %r2};",
              {})({reinterpret_cast<uint64_t>(halves + 4), 0x3c003c00, 0x3c003c00});
  EXPECT_THAT(halves, ElementsAre(0x3c00, 0x3c00, 0xc200, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500));
  alignas(32) uint32_t brains[2] = {0x3f804000, 0xbf803f80};
  Instruction(kHeader, "red.global.max.noftz.v2.bf16x2 [%l0], {%r1, %r2};",
              {})({reinterpret_cast<uint64_t>(brains), 0x40003f80, 0x3f803f80});
  EXPECT_THAT(brains, ElementsAre(0x40004000, 0x3f803f80));
}

TEST(PtxInstructions, AtomicsOf16And128Bits) {
  alignas(16) uint64_t wide[2] = {1, 2};
  const uint64_t at = reinterpret_cast<uint64_t>(wide);
  const Instruction exchange(
      kHeader, "mov.b128 %q1, {%l1, %l2}; atom.exch.b128 %q0, [%l0], %q1; mov.b128 {%l8, %l9}, %q0;", {"%l8", "%l9"});
  EXPECT_THAT(exchange({at, 3, 4}), ElementsAre(1, 2));
  EXPECT_THAT(wide, ElementsAre(3, 4));
  const Instruction compare(kHeader,
                            "mov.b128 %q1, {%l1, %l2}; mov.b128 %q2, {%l3, %l4};\n"
                            "atom.cas.b128 %q0, [%l0], %q1, %q2; mov.b128 {%l8, %l9}, %q0;",
                            {"%l8", "%l9"});
  EXPECT_THAT(compare({at, 3, 5, 6, 7}), ElementsAre(3, 4));
  EXPECT_THAT(wide, ElementsAre(3, 4));
  EXPECT_THAT(compare({at, 3, 4, 6, 7}), ElementsAre(3, 4));
  EXPECT_THAT(wide, ElementsAre(6, 7));
  uint16_t narrow[2] = {7, 9};
  const Instruction cas16(kHeader, "atom.cas.b16 %h8, [%l0], %h1, %h2;", {"%h8"});
  EXPECT_EQ(cas16({reinterpret_cast<uint64_t>(narrow), 7, 8})[0], 7U);
  EXPECT_EQ(cas16({reinterpret_cast<uint64_t>(narrow), 7, 10})[0], 8U);
  EXPECT_THAT(narrow, ElementsAre(8, 9));
  uint32_t word = 40;
  const Instruction hint(
      kHeader,
      "atom.global.add.L2::cache_hint.u32 %r8, [%l0], 2, %l1; red.global.L2::cache_hint.add.u32 [%l0], 3, %l1;",
      {"%r8"});
  EXPECT_EQ(hint({reinterpret_cast<uint64_t>(&word)})[0], 40U);
  EXPECT_EQ(word, 45U);
}

TEST(PtxInstructions, SpacesOfGenericAddresses) {
  const std::string ask =
      "isspacep.global %p1, %l9; isspacep.shared %p2, %l9; isspacep.local %p3, %l9; isspacep.const %p4, %l9;\n"
      "isspacep.param %p5, %l9; isspacep.shared::cta %p6, %l9; isspacep.shared::cluster %p7, %l9;\n"
      "isspacep.param::entry %p8, %l9;";
  const std::vector<std::string> outputs = {"%p1", "%p2", "%p3", "%p4", "%p5", "%p6", "%p7", "%p8"};
  const auto spaces = [&](const std::string& address) { return Instruction(kHeader, address + ask, outputs)({}); };
  EXPECT_THAT(spaces("mov.u64 %l9, cells; cvta.global.u64 %l9, %l9;"), ElementsAre(1, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(spaces("mov.u64 %l9, %out;"), ElementsAre(1, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(spaces("mov.u64 %l9, block; cvta.shared.u64 %l9, %l9; add.s64 %l9, %l9, 60;"),
              ElementsAre(0, 1, 0, 0, 0, 1, 1, 0));
  EXPECT_THAT(spaces("mov.u64 %l9, mine; cvta.local.u64 %l9, %l9; add.s64 %l9, %l9, 60;"),
              ElementsAre(0, 0, 1, 0, 0, 0, 0, 0));
  EXPECT_THAT(spaces("mov.u64 %l9, constants; cvta.const.u64 %l9, %l9;"), ElementsAre(0, 0, 0, 1, 0, 0, 0, 0));
  EXPECT_THAT(spaces("mov.b64 %l9, in; cvta.param.u64 %l9, %l9; add.s64 %l9, %l9, 8;"),
              ElementsAre(0, 0, 0, 0, 1, 0, 0, 1));
}

TEST(PtxInstructions, GenericAddressesReachEverySpace) {
  const Instruction read(kHeader, R"(
    mov.u64 %l9, constants; cvta.const.u64 %l9, %l9; ld.u32 %r8, [%l9+8];
    mov.b64 %l9, out; cvta.param.u64 %l9, %l9; ld.u64 %l8, [%l9]; sub.s64 %l8, %l8, %out;
    mov.u64 %l9, block; cvta.shared.u64 %l9, %l9; st.u32 [%l9+4], 7; ld.shared.u32 %r9, [block+4];
    mov.u64 %l9, mine; cvta.local.u64 %l9, %l9; st.u32 [%l9+4], 9; cvta.to.local.u64 %l9, %l9; ld.local.u32 %r10, [%l9+4];)",
                         {"%r8", "%l8", "%r9", "%r10"});
  EXPECT_THAT(read({}), ElementsAre(3, 0, 7, 9));
}

TEST(PtxInstructions, FencesOfEveryKind) {
  const Instruction fences(kHeader, R"(
    fence.sc.gpu; fence.acq_rel.cta; fence.sys; fence.sc.cluster; membar.gl; membar.cta; membar.sys;
    fence.proxy.alias; fence.proxy.async; fence.proxy.async.global; fence.proxy.async.shared::cta; membar.proxy.alias;
    fence.proxy.tensormap::generic.release.gpu; fence.proxy.tensormap::generic.acquire.gpu [%l0], 128;
    fence.mbarrier_init.release.cluster; mov.u32 %r8, 1;)",
                           {"%r8"});
  EXPECT_EQ(fences({reinterpret_cast<uint64_t>(&fences)})[0], 1U);
  EXPECT_EQ(Instruction(kNewest, "fence.acquire.gpu; fence.release.sys; mov.u32 %r8, 2;", {"%r8"})({})[0], 2U);
}

TEST(PtxInstructions, VideoOnPartsOfAWord) {
  const auto part = [](uint32_t word, int i, int bits, bool is_signed) {
    const int64_t value = word >> (i * bits) & ((1U << bits) - 1);
    return is_signed && (value >> (bits - 1)) != 0 ? value - (int64_t{1} << bits) : value;
  };
  const struct {
    const char* name;
    int64_t (*operation)(int64_t, int64_t);
  } kOperations[] = {{"vadd", [](int64_t x, int64_t y) { return x + y; }},
                     {"vsub", [](int64_t x, int64_t y) { return x - y; }},
                     {"vavrg",
                      [](int64_t x, int64_t y) {
                        const double half = static_cast<double>(x + y) / 2;
                        return static_cast<int64_t>(half >= 0 ? std::floor(half + 0.5) : std::floor(half));
                      }},
                     {"vabsdiff", [](int64_t x, int64_t y) { return std::abs(x - y); }},
                     {"vmin", [](int64_t x, int64_t y) { return std::min(x, y); }},
                     {"vmax", [](int64_t x, int64_t y) { return std::max(x, y); }},
                     {"vset.eq", [](int64_t x, int64_t y) -> int64_t { return x == y; }},
                     {"vset.ne", [](int64_t x, int64_t y) -> int64_t { return x != y; }},
                     {"vset.lt", [](int64_t x, int64_t y) -> int64_t { return x < y; }},
                     {"vset.le", [](int64_t x, int64_t y) -> int64_t { return x <= y; }},
                     {"vset.gt", [](int64_t x, int64_t y) -> int64_t { return x > y; }},
                     {"vset.ge", [](int64_t x, int64_t y) -> int64_t { return x >= y; }}};
  const uint32_t words[] = {0, 0x80ff7f01, 0x7f80ff00, 0x12345678, 0xfffefdfc, 0x80008000, 0x7fff8001, 0x01807fff};
  for (const auto& operation : kOperations) {
    const std::string name = operation.name;
    const std::string opcode = name.substr(0, name.find('.'));
    const std::string comparison = name.size() > opcode.size() ? name.substr(opcode.size()) : "";
    for (const int parts : {2, 4}) {
      for (const std::string types : {"uuu", "sss", "usu", "ssu"}) {
        for (const std::string last : {"", ".sat", ".add"}) {
          if (!comparison.empty() && last == ".sat") continue;
          std::string form = opcode + std::to_string(parts);
          for (size_t i = comparison.empty() ? 0 : 1; i < 3; ++i) form += std::string(".") + types[i] + "32";
          const Instruction instruction(kHeader, form + comparison + last + " %r8, %r0, %r1, %r2;", {"%r8"});
          const int bits = 32 / parts;
          const bool is_signed = types[0] == 's';
          const int64_t low = is_signed ? -(1LL << (bits - 1)) : 0, high = (1LL << (is_signed ? bits - 1 : bits)) - 1;
          for (const uint32_t a : words) {
            for (const uint32_t b : words) {
              uint32_t want = last == ".add" ? 1000 : 0;
              for (int i = 0; i < parts; ++i) {
                int64_t value =
                    operation.operation(part(a, i, bits, types[1] == 's'), part(b, i, bits, types[2] == 's'));
                if (last == ".sat") value = std::clamp(value, low, high);
                if (last == ".add") {
                  want += static_cast<uint32_t>(value);
                } else {
                  want |= (static_cast<uint32_t>(value) & ((1U << bits) - 1)) << (i * bits);
                }
              }
              ASSERT_EQ(instruction({a, b, 1000})[0], want) << form << comparison << last << " " << a << " " << b;
            }
          }
        }
      }
    }
  }
}

// --- Others

TEST(PtxInstructions, WhatChangesNothing) {
  EXPECT_EQ(Instruction(kHeader,
                        "nanosleep.u32 100; nanosleep.u32 %r0; pmevent 3; pmevent.mask 5; griddepcontrol.wait;\n"
                        "griddepcontrol.launch_dependents; mov.u32 %r8, 1;",
                        {"%r8"})({1000000})[0],
            1U);
  EXPECT_EQ(Instruction(kNewestAlone, "setmaxnreg.inc.sync.aligned.u32 96; mov.u32 %r8, 1;", {"%r8"})({})[0], 1U);
}

TEST(PtxInstructions, SpecialRegisters) {
  const struct {
    const char* name;
    const char* move;
    uint64_t want;
  } kCases[] = {
      {"%envreg0", "mov.b32 %r8, ", 0},
      {"%envreg31", "mov.b32 %r8, ", 0},
      {"%pm0", "mov.u32 %r8, ", 0},
      {"%pm7", "mov.u32 %r8, ", 0},
      {"%smid", "mov.u32 %r8, ", 0},
      {"%nsmid", "mov.u32 %r8, ", 1},
      {"%laneid", "mov.u32 %r8, ", 0},
      {"%nwarpid", "mov.u32 %r8, ", 1},
      {"%lanemask_ge", "mov.u32 %r8, ", 0xffffffff},
      {"%dynamic_smem_size", "mov.u32 %r8, ", 100},
      {"%total_smem_size", "mov.u32 %r8, ", 256},  // 64 static, 100 dynamic, in units of 128
      {"%aggr_smem_size", "mov.u32 %r8, ", 1280},  // and a KiB of the system's
      {"%clusterid.y", "mov.u32 %r8, ", 0},
      {"%nclusterid.y", "mov.u32 %r8, ", 3},
      {"%cluster_ctaid.x", "mov.u32 %r8, ", 0},
      {"%cluster_nctaid.z", "mov.u32 %r8, ", 1},
      {"%cluster_ctarank", "mov.u32 %r8, ", 0},
      {"%cluster_nctarank", "mov.u32 %r8, ", 1},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(Instruction(kHeader, std::string(c.move) + c.name + ";", {"%r8"})({})[0], c.want) << c.name;
  }
  EXPECT_EQ(Instruction(kHeader, "mov.pred %p1, %is_explicit_cluster;", {"%p1"})({})[0], 0U);
  EXPECT_EQ(Instruction(kHeader, "mov.u64 %l8, %current_graph_exec;", {"%l8"})({})[0], 0U);
  EXPECT_EQ(Instruction(kHeader, "mov.u64 %l8, %pm3_64;", {"%l8"})({})[0], 0U);
}

TEST(PtxInstructions, Clocks) {
  const auto now = [] {
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count());
  };
  const Instruction clocks(kHeader, R"(
    mov.u64 %l8, %clock64; mov.u32 %r8, %clock; mov.u32 %r9, %clock_hi; mov.u64 %l9, %clock64;
    mov.u64 %l10, %globaltimer; mov.u32 %r10, %globaltimer_lo; mov.u32 %r11, %globaltimer_hi; mov.u64 %l11, %globaltimer;)",
                           {"%l8", "%r8", "%r9", "%l9", "%l10", "%r10", "%r11", "%l11"});
  const uint64_t before = now();
  const std::vector<uint64_t> x = clocks({});
  const uint64_t after = now();
  EXPECT_LE(x[0], x[3]);
  EXPECT_LE(x[2], x[3] >> 32);
  EXPECT_GE(x[2], x[0] >> 32);
  EXPECT_LE(before, x[4]);
  EXPECT_LE(x[4], x[7]);
  EXPECT_LE(x[7], after);
  EXPECT_GE(x[6], x[4] >> 32);
  EXPECT_LE(x[6], x[7] >> 32);
}

TEST(PtxInstructions, ATableLookUpMayDropItsNumber) {
  const Instruction lop(kHeader, "setp.ne.u32 %p1, %r3, 0; lop3.or.b32 _|%p2, %r0, %r1, %r2, 0x80, %p1;", {"%p2"});
  EXPECT_EQ(lop({6, 3, 2, 0})[0], 1U);
  EXPECT_EQ(lop({6, 1, 2, 0})[0], 0U);
  EXPECT_EQ(lop({6, 1, 2, 1})[0], 1U);
}

// --- Refusals: one a family, with line, opcode and reason.

struct Refused {
  const char* name;
  const char* text;
  const char* message;
};
class PtxInstructionsRefused : public ::testing::TestWithParam<Refused> {};
TEST_P(PtxInstructionsRefused, SaysLineOpcodeAndReason) {
  const auto program = Program::Load(std::string(".version 9.0\n.target sm_100a\n") +
                                         ".entry k()\n{\n.reg .pred %p<3>; .reg .b16 %h<3>; .reg .b32 %r<5>; .reg .b64 "
                                         "%l<3>; .reg .f32 %f<5>;\n" +
                                         GetParam().text + "\n}\n",
                                     {.sm = 100});
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.status().code(), absl::StatusCode::kUnimplemented) << program.status();
  EXPECT_EQ(std::string(program.status().message()), GetParam().message);
}
const Refused kRefused[] = {
    {"CpAsync", "cp.async.ca.shared.global [%r1], [%l1], 16;",
     "line 6: cp.async.ca.shared.global: the CPU device has no asynchronous copies; copy by ld and st"},
    {"CpAsyncBulk", "cp.async.bulk.commit_group;",
     "line 6: cp.async.bulk.commit_group: the CPU device has no asynchronous copies; copy by ld and st"},
    {"StAsync", "st.async.shared::cluster.u32 [%r1], %r2, [%r3];",
     "line 6: st.async.shared::cluster.u32: the CPU device has no asynchronous copies; copy by ld and st"},
    {"RedAsync", "red.async.add.u32 [%r1], %r2, [%r3];",
     "line 6: red.async.add.u32: the CPU device has no asynchronous copies; copy by ld and st"},
    {"StBulk", "st.bulk.weak.shared::cta [%l1], %l2, 0;",
     "line 6: st.bulk.weak.shared::cta: the CPU device has no asynchronous copies; copy by ld and st"},
    {"Mbarrier", "mbarrier.init.shared.b64 [%r1], %r2;",
     "line 6: mbarrier.init.shared.b64: the CPU device has no mbarriers; use bar or barrier"},
    {"Mma", "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r0, %r1}, {%r2, %r3}, {%r4}, {%r0, %r1};",
     "line 6: mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16: the CPU device has no matrix instructions (tensor "
     "cores)"},
    {"Wmma", "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r0}, [%l1];",
     "line 6: wmma.load.a.sync.aligned.row.m16n16k16.f16: the CPU device has no matrix instructions (tensor cores)"},
    {"Wgmma", "wgmma.fence.sync.aligned;",
     "line 6: wgmma.fence.sync.aligned: the CPU device has no matrix instructions (tensor cores)"},
    {"Tcgen05", "tcgen05.wait::ld.sync.aligned;",
     "line 6: tcgen05.wait::ld.sync.aligned: the CPU device has no matrix instructions (tensor cores)"},
    {"Ldmatrix", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r1];",
     "line 6: ldmatrix.sync.aligned.m8n8.x1.shared.b16: the CPU device has no matrix instructions (tensor cores)"},
    {"Stmatrix", "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r0};",
     "line 6: stmatrix.sync.aligned.m8n8.x1.shared.b16: the CPU device has no matrix instructions (tensor cores)"},
    {"Movmatrix", "movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1;",
     "line 6: movmatrix.sync.aligned.m8n8.trans.b16: the CPU device has no matrix instructions (tensor cores)"},
    {"Tex", "tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%l1, {%r1}];",
     "line 6: tex.1d.v4.f32.s32: the CPU device has no textures and surfaces; read and write global memory"},
    {"Tld4", "tld4.r.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%l1, {%f1, %f2}];",
     "line 6: tld4.r.2d.v4.f32.f32: the CPU device has no textures and surfaces; read and write global memory"},
    {"Txq", "txq.width.b32 %r0, [%l1];",
     "line 6: txq.width.b32: the CPU device has no textures and surfaces; read and write global memory"},
    {"Suld", "suld.b.1d.b32.trap %r0, [%l1, {%r1}];",
     "line 6: suld.b.1d.b32.trap: the CPU device has no textures and surfaces; read and write global memory"},
    {"Sust", "sust.b.1d.b32.trap [%l1, {%r1}], %r0;",
     "line 6: sust.b.1d.b32.trap: the CPU device has no textures and surfaces; read and write global memory"},
    {"Sured", "sured.b.add.1d.u32.trap [%l1, {%r1}], %r0;",
     "line 6: sured.b.add.1d.u32.trap: the CPU device has no textures and surfaces; read and write global memory"},
    {"Suq", "suq.width.b32 %r0, [%l1];",
     "line 6: suq.width.b32: the CPU device has no textures and surfaces; read and write global memory"},
    {"Istypep", "istypep.texref %p1, %l1;",
     "line 6: istypep.texref: the CPU device has no textures and surfaces; read and write global memory"},
    {"Mapa", "mapa.u64 %l0, %l1, %r2;", "line 6: mapa.u64: the CPU device has no clusters of blocks"},
    {"Getctarank", "getctarank.u64 %r0, %l1;", "line 6: getctarank.u64: the CPU device has no clusters of blocks"},
    {"BarrierCluster", "barrier.cluster.arrive;",
     "line 6: barrier.cluster.arrive: the CPU device has no clusters of blocks"},
    {"ClusterLaunchControl", "clusterlaunchcontrol.try_cancel.async.b128 [%r1], [%r2];",
     "line 6: clusterlaunchcontrol.try_cancel.async.b128: the CPU device has no clusters of blocks"},
    {"Multimem", "multimem.ld_reduce.relaxed.gpu.global.add.u32 %r0, [%l1];",
     "line 6: multimem.ld_reduce.relaxed.gpu.global.add.u32: the CPU device has no multimem addresses"},
    {"Alloca", "alloca.u64 %l0, %l1;",
     "line 6: alloca.u64: the CPU device has no stack allocation of variable size; declare a .local array"},
    {"Stacksave", "stacksave.u64 %l0;",
     "line 6: stacksave.u64: the CPU device has no stack allocation of variable size; declare a .local array"},
    {"Stackrestore", "stackrestore.u64 %l0;",
     "line 6: stackrestore.u64: the CPU device has no stack allocation of variable size; declare a .local array"},
    {"Tensormap", "tensormap.replace.tile.global_address.global.b1024.b64 [%l1], %l2;",
     "line 6: tensormap.replace.tile.global_address.global.b1024.b64: the CPU device has no tensor maps"},
    {"StochasticRounding", "cvt.rs.f16x2.f32 %r0, %f1, %f2, %r3;",
     "line 6: cvt.rs.f16x2.f32: the CPU device has no stochastic rounding"},
    {"OutOfBoundsNan", "fma.rn.oob.f16x2 %r0, %r1, %r2, %r3;",
     "line 6: fma.rn.oob.f16x2: the CPU device has no out-of-bounds NaN"},
    {"Video", "vadd.s32.u32.s32.sat %r0, %r1.b0, %r2.h1;",
     "line 6: vadd.s32.u32.s32.sat: the CPU device has no video instructions but those on 2 or 4 parts"},
    {"VideoNegated", "vmad.s32.s32.u32.sat.shr7 %r0, %r1, -%r2, %r3;",
     "line 6: vmad.s32.s32.u32.sat.shr7: the CPU device has no video instructions but those on 2 or 4 parts"},
    {"VideoSelectors", "vadd2.s32.s32.s32 %r0, %r1.h01, %r2.h32, %r3;",
     "line 6: vadd2.s32.s32.s32: '%r1.h01': no operand of this instruction has parts or a sign"},
    {"VideoMask", "vadd4.s32.s32.s32 %r0.b10, %r1, %r2, %r3;",
     "line 6: vadd4.s32.s32.s32: '%r0.b10': no result of this instruction has parts"},
    {"PartOfARegister", "add.u32 %r0, %r1.b0, %r2;",
     "line 6: add.u32: '%r1.b0': no operand of this instruction has parts or a sign"},
    {"NegatedRegister", "add.u32 %r0, -%r1, %r2;",
     "line 6: add.u32: '%r1': no operand of this instruction has parts or a sign"},
    {"PartOfAResult", "add.u32 %r0.x, %r1, %r2;", "line 6: add.u32: '%r0.x': no result of this instruction has parts"},
    {"UnknownRegister", "mov.u32 %r0, %envreg32;",
     "line 6: mov.u32: '%envreg32' is no register of this function, nor a special register that the CPU device has"},
    {"ReservedSharedMemory", "mov.u32 %r0, %reserved_smem_offset_begin;",
     "line 6: mov.u32: '%reserved_smem_offset_begin' is no register of this function, nor a special register that the "
     "CPU device has"},
    {"Scale", "cvt.rz.satfinite.ue8m0x2.f32 %h0, %f1, %f2;",
     "line 6: cvt.rz.satfinite.ue8m0x2.f32: no type that the CPU device knows"},
    {"PackedToScalar", "cvt.rn.bf16.f16x2 %h0, %r1;",
     "line 6: cvt.rn.bf16.f16x2: types that the CPU device does not convert"},
    {"NarrowToSingle", "cvt.rn.f32.e4m3x2 %f0, %h1;",
     "line 6: cvt.rn.f32.e4m3x2: types that the CPU device does not convert"},
    {"NarrowFromDouble", "cvt.rn.satfinite.e4m3x2.f64 %h0, %l1, %l2;",
     "line 6: cvt.rn.satfinite.e4m3x2.f64: types that the CPU device does not convert"},
    {"VectorOfIntegers", "atom.global.add.v2.u32 {%r0, %r1}, [%l1], {%r2, %r3};",
     "line 6: atom.global.add.v2.u32: no vector of this operation and type"},
    {"VectorOfCas", "atom.global.cas.v2.f32 {%f0, %f1}, [%l1], {%f2, %f3}, {%f2, %f3};",
     "line 6: atom.global.cas.v2.f32: no vector of this operation and type"},
    {"AtomicMinimumOfSingles", "atom.global.min.f32 %f0, [%l1], %f1;",
     "line 6: atom.global.min.f32: no such atomic of a floating-point type"},
    {"PackedSinglesDivided", "sqrt.rn.f32x2 %l0, %l1;", "line 6: sqrt.rn.f32x2: no type that the CPU device knows"},
};
INSTANTIATE_TEST_SUITE_P(All, PtxInstructionsRefused, ::testing::ValuesIn(kRefused),
                         [](const auto& info) { return info.param.name; });

class PtxInstructionsMalformed : public ::testing::TestWithParam<Refused> {};
TEST_P(PtxInstructionsMalformed, SaysLineOpcodeAndReason) {
  const auto program = Program::Load(
      std::string(".version 8.4\n.target sm_90\n") +
      ".entry k()\n{\n.reg .pred %p<3>; .reg .b16 %h<3>; .reg .b32 %r<5>; .reg .b64 %l<3>; .reg .f32 %f<5>;\n" +
      GetParam().text + "\n}\n");
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.status().code(), absl::StatusCode::kInvalidArgument) << program.status();
  EXPECT_THAT(std::string(program.status().message()), HasSubstr(GetParam().message));
}
const Refused kMalformed[] = {
    {"TypeThatItHasNot", "mul.lo.u8 %r0, %r1, %r2;", "line 6: mul.lo.u8: .u8 is no type of this instruction"},
    {"FloatsThatItHasNot", "shl.f32 %f0, %f1, %r2;", "line 6: shl.f32: .f32 is no type of this instruction"},
    {"HalvesThatItHasNot", "sin.approx.f16 %h0, %h1;", "line 6: sin.approx.f16: .f16 is no type of this instruction"},
    {"SecondType", "slct.f32.f64 %f0, %f1, %f2, %l1;",
     "slct.f32.f64: .f64 is no type of this instruction after the first"},
    {"HintWithoutPolicy", "ld.global.L2::cache_hint.u32 %r1, [%l1];", "expected 3 operands, got 2"},
    {"PolicyWithoutHint", "st.global.u32 [%l1], %r1, %l2;", "expected 2 operands, got 3"},
    {"AtomicHintWithoutPolicy", "red.global.L2::cache_hint.add.u32 [%l1], %r2;", "expected 3 operands, got 2"},
    {"PolicyOfNothing", "createpolicy.L2.b64 %l1, %l2;", "expected .fractional, .range or .cvt"},
    {"ShortVector", "red.global.add.v4.f32 [%l1], {%f0, %f1};", "expected 4 registers in braces"},
    {"NoVector", "atom.global.add.v2.f32 %f1, [%l1], {%f0, %f1};", "expected 2 registers in braces"},
    {"FenceWithoutScope", "fence.sc;", "expected a scope"},
    {"FenceWithOperands", "fence.sc.gpu [%l1], 128;", "expected 0 operands, got 2"},
    {"FnsOf64", "fns.b64 %l1, %l2, %r1, %r2;", "line 6: fns.b64: .b64 is no type of this instruction"},
    {"SpaceOfNothing", "isspacep %p1, %l1;", "expected a state space"},
    {"SignOfThree", "max.xorsign.abs.f32 %f0, %f1, %f2, %f3;", ".xorsign is for two operands"},
    {"AbsOfTwo", "max.abs.f32 %f0, %f1, %f2;", ".xorsign and .abs stand together"},
    {"FmaOfIntegers", "fma.rn.u32 %r0, %r1, %r2, %r3;", "fma.rn.u32: .u32 is no type of this instruction"},
    {"MixedResult", "add.f64.f16 %l0, %h1, %l2;", "expected .f32.f16"},
    {"VideoSaturatedSum", "vabsdiff4.u32.u32.u32.sat.add %r0, %r1, %r2, %r3;", ".sat and .add do not stand together"},
    {"VideoComparison", "vset4.u32.u32 %r0, %r1, %r2, %r3;", "expected a comparison such as .eq"},
    {"VideoType", "vadd4.u32.u32.u64 %r0, %r1, %r2, %r3;", ".u64 is no type of this instruction after the first"},
    {"NarrowRounding", "cvt.rz.satfinite.e4m3x2.f32 %h0, %f1, %f2;", "expected .rn"},
    {"NarrowUnbounded", "cvt.rn.e4m3x2.f32 %h0, %f1, %f2;", "expected .satfinite"},
    {"NarrowOfOne", "cvt.rn.satfinite.e4m3x2.f32 %h0, %f1;", "expected 3 operands, got 2"},
    {"PartOfAnAddress", "ld.global.u32 %r0, [%l1.x];", "'%l1.x' is no address"},
};
INSTANTIATE_TEST_SUITE_P(All, PtxInstructionsMalformed, ::testing::ValuesIn(kMalformed),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace slipway::cpu
