// Approximate instructions: within the errors that the PTX ISA documents (9.7.3 and 9.7.4), against long double; and
// what they give for special operands.
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/cpu/ptx_instruction.h"

namespace slipway::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

enum class Bound { kRelative, kAbsolute };

struct Approximation {
  const char* name;
  const char* text;
  long double (*want)(long double);
  double low, high;  // Operands: evenly in between or, for a positive `low`, evenly in their logarithms.
  Bound bound;
  double error;
};

const Approximation kOfSingles[] = {
    {"Ex2", "ex2.approx.f32 %f8, %f0;", [](long double x) { return std::exp2(x); }, -126, 127.9, Bound::kRelative,
     0x1p-22},
    {"Ex2Ftz", "ex2.approx.ftz.f32 %f8, %f0;", [](long double x) { return std::exp2(x); }, -125.9, 127.9,
     Bound::kRelative, 0x1p-22},
    {"Lg2NearOne", "lg2.approx.f32 %f8, %f0;", [](long double x) { return std::log2(x); }, 0.5, 2, Bound::kAbsolute,
     0x1p-22},
    {"Lg2", "lg2.approx.ftz.f32 %f8, %f0;", [](long double x) { return std::log2(x); }, 2.001, 0x1p127,
     Bound::kRelative, 0x1p-22},
    {"Sin", "sin.approx.f32 %f8, %f0;", [](long double x) { return std::sin(x); }, -3.14159, 3.14159, Bound::kAbsolute,
     0x1p-21},
    {"Cos", "cos.approx.ftz.f32 %f8, %f0;", [](long double x) { return std::cos(x); }, -3.14159, 3.14159,
     Bound::kAbsolute, 0x1p-21},
    {"Tanh", "tanh.approx.f32 %f8, %f0;", [](long double x) { return std::tanh(x); }, -10, 10, Bound::kRelative,
     0x1p-11},
    {"Rsqrt", "rsqrt.approx.f32 %f8, %f0;", [](long double x) { return 1 / std::sqrt(x); }, 0x1p-126, 0x1p127,
     Bound::kRelative, 0x1p-22},
    {"Rcp", "rcp.approx.f32 %f8, %f0;", [](long double x) { return 1 / x; }, 0x1p-125, 0x1p125, Bound::kRelative,
     0x1p-23},
    {"Sqrt", "sqrt.approx.f32 %f8, %f0;", [](long double x) { return std::sqrt(x); }, 0x1p-126, 0x1p127,
     Bound::kRelative, 0x1p-23},
    {"DivFull", "div.full.f32 %f8, 0f40490fdb, %f0;", [](long double x) { return 3.1415927410125732421875L / x; },
     0x1p-120, 0x1p120, Bound::kRelative, 0x1p-22},
    {"DivApprox", "div.approx.f32 %f8, 0f40490fdb, %f0;", [](long double x) { return 3.1415927410125732421875L / x; },
     0x1p-120, 0x1p120, Bound::kRelative, 0x1p-22},
};

class PtxApproximations : public ::testing::TestWithParam<Approximation> {};

TEST_P(PtxApproximations, AreWithinTheirErrors) {
  const Approximation& form = GetParam();
  const Instruction instruction(kHeader, form.text, {"%f8"});
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    const double at = i < 2 ? i : static_cast<double>(random() >> 11) * 0x1p-53;
    const float x = static_cast<float>(form.low > 0 ? form.low * std::pow(form.high / form.low, at)
                                                    : form.low + at * (form.high - form.low));
    const long double got = Float(instruction({Bits(x)})[0]), want = form.want(x);
    const long double error = std::fabs(got - want) / (form.bound == Bound::kRelative ? std::fabs(want) : 1);
    ASSERT_LE(error, form.error) << x << " got " << got << " want " << want;
  }
}
INSTANTIATE_TEST_SUITE_P(All, PtxApproximations, ::testing::ValuesIn(kOfSingles),
                         [](const auto& info) { return info.param.name; });

TEST(PtxApproximationsOfHalves, AreWithinTheirErrors) {  // Every number of the type, in both lanes.
  const struct {
    const char* text;
    bool brain;
    long double (*want)(long double);
    Bound bound;
    double error;
  } kForms[] = {
      {"ex2.approx.f16x2 %r8, %r0;", false, [](long double x) { return std::exp2(x); }, Bound::kRelative, 0x1p-9},
      {"ex2.approx.ftz.bf16x2 %r8, %r0;", true, [](long double x) { return std::exp2(x); }, Bound::kRelative, 0x1p-7},
      {"tanh.approx.f16x2 %r8, %r0;", false, [](long double x) { return std::tanh(x); }, Bound::kAbsolute, 0x1p-10},
      {"tanh.approx.bf16x2 %r8, %r0;", true, [](long double x) { return std::tanh(x); }, Bound::kRelative, 0x1p-8},
  };
  const auto value = [](uint32_t half, bool brain) -> long double {
    if (brain) return Float(uint64_t{half} << 16);
    const int exponent = half >> 10 & 31;
    const long double fraction = (half & 1023) / 1024.0L;
    const long double magnitude = exponent == 31  ? (fraction == 0 ? HUGE_VALL : std::nanl(""))
                                  : exponent == 0 ? fraction * 0x1p-14L
                                                  : (1 + fraction) * std::exp2(static_cast<long double>(exponent - 15));
    return (half >> 15) != 0 ? -magnitude : magnitude;
  };
  for (const auto& form : kForms) {
    const Instruction instruction(kHeader, form.text, {"%r8"});
    const long double least = form.brain ? 0x1p-126L : 0x1p-14L, most = form.brain ? 0x1.fep127L : 65504;
    for (uint32_t half = 0; half < 65536; ++half) {
      const uint32_t other = half ^ 0x1234;
      const uint64_t result = instruction({half | other << 16})[0];
      for (const auto& [operand, bits] : {std::pair(half, result & 0xffff), std::pair(other, result >> 16)}) {
        const long double x = value(operand, form.brain), got = value(static_cast<uint32_t>(bits), form.brain);
        const long double want = form.want(x);
        if (std::isnan(x)) {
          ASSERT_TRUE(std::isnan(got)) << form.text << " " << operand;
        } else if (std::fabs(want) > most) {
          ASSERT_GE(std::fabs(got), most) << form.text << " " << operand;
        } else if (std::fabs(want) >= least) {  // Subnormal results have fewer bits.
          const long double error = std::fabs(got - want) / (form.bound == Bound::kRelative ? std::fabs(want) : 1);
          ASSERT_LE(error, form.error) << form.text << " " << operand;
        } else {
          ASSERT_LE(std::fabs(got), least) << form.text << " " << operand;
        }
      }
    }
  }
}

TEST(PtxApproximationsOfDoubles, AreWithinTheirErrors) {
  const Instruction rsqrt(kHeader, "rsqrt.approx.f64 %d8, %d0;", {"%d8"});
  const Instruction upper_rsqrt(kHeader, "rsqrt.approx.ftz.f64 %d8, %d0;", {"%d8"});
  const Instruction upper_rcp(kHeader, "rcp.approx.ftz.f64 %d8, %d0;", {"%d8"});
  std::mt19937_64 random(9);
  for (int i = 0; i < 10000; ++i) {
    const double x = std::exp2(static_cast<double>(random() >> 11) * 0x1p-53 * 1000 - 500);
    const auto result = [&](const Instruction& f) { return std::bit_cast<double>(f({std::bit_cast<uint64_t>(x)})[0]); };
    ASSERT_NEAR(result(rsqrt) * std::sqrt(x), 1, 0x1p-28) << x;
    // Only the upper halves of operand and result count.
    ASSERT_NEAR(result(upper_rsqrt) * std::sqrt(x), 1, 0x1p-18) << x;
    ASSERT_NEAR(result(upper_rcp) * x, 1, 0x1p-18) << x;
    ASSERT_EQ(std::bit_cast<uint64_t>(result(upper_rcp)) & 0xffffffff, 0U);
    ASSERT_EQ(std::bit_cast<uint64_t>(result(upper_rsqrt)) & 0xffffffff, 0U);
  }
}

TEST(PtxApproximationsOfSpecials, AreAsDocumented) {
  constexpr float kTiny = 0x1p-140F;
  const struct {
    const char* text;  // Of %f0 and %f1.
    float a, b, want;
  } kCases[] = {
      {"ex2.approx.f32", -kInfinity, 0, 0.0F},
      {"ex2.approx.f32", kInfinity, 0, kInfinity},
      {"ex2.approx.f32", -0.0F, 0, 1.0F},
      {"ex2.approx.f32", kTiny, 0, 1.0F},
      {"ex2.approx.f32", -140.0F, 0, kTiny},
      {"ex2.approx.ftz.f32", -140.0F, 0, 0.0F},
      {"ex2.approx.f32", kNan, 0, kNan},
      {"ex2.approx.f32", 128.0F, 0, kInfinity},
      {"lg2.approx.f32", -kInfinity, 0, kNan},
      {"lg2.approx.f32", -1.0F, 0, kNan},
      {"lg2.approx.f32", -0.0F, 0, -kInfinity},
      {"lg2.approx.f32", 0.0F, 0, -kInfinity},
      {"lg2.approx.f32", kInfinity, 0, kInfinity},
      {"lg2.approx.f32", kTiny, 0, -140.0F},
      {"lg2.approx.ftz.f32", kTiny, 0, -kInfinity},
      {"lg2.approx.ftz.f32", -kTiny, 0, -kInfinity},
      {"sin.approx.f32", -kInfinity, 0, kNan},
      {"sin.approx.f32", kInfinity, 0, kNan},
      {"sin.approx.f32", -0.0F, 0, -0.0F},
      {"sin.approx.ftz.f32", -kTiny, 0, -0.0F},
      {"cos.approx.f32", kInfinity, 0, kNan},
      {"cos.approx.f32", -0.0F, 0, 1.0F},
      {"cos.approx.ftz.f32", kTiny, 0, 1.0F},
      {"tanh.approx.f32", -kInfinity, 0, -1.0F},
      {"tanh.approx.f32", kInfinity, 0, 1.0F},
      {"tanh.approx.f32", -0.0F, 0, -0.0F},
      {"tanh.approx.f32", kNan, 0, kNan},
      {"rsqrt.approx.f32", -kInfinity, 0, kNan},
      {"rsqrt.approx.f32", -1.0F, 0, kNan},
      {"rsqrt.approx.f32", -0.0F, 0, -kInfinity},
      {"rsqrt.approx.f32", 0.0F, 0, kInfinity},
      {"rsqrt.approx.f32", kInfinity, 0, 0.0F},
      {"rsqrt.approx.f32", kTiny, 0, 0x1p70F},
      {"rsqrt.approx.ftz.f32", kTiny, 0, kInfinity},
      {"rcp.approx.f32", -kInfinity, 0, -0.0F},
      {"rcp.approx.f32", -0.0F, 0, -kInfinity},
      {"rcp.approx.ftz.f32", kTiny, 0, kInfinity},
      {"rcp.approx.ftz.f32", 0x1p127F, 0, 0.0F},
      {"sqrt.approx.f32", -0.0F, 0, -0.0F},
      {"sqrt.approx.f32", -1.0F, 0, kNan},
      {"sqrt.approx.f32", kInfinity, 0, kInfinity},
      {"sqrt.approx.ftz.f32", -kTiny, 0, -0.0F},
      {"div.approx.f32", 0x1p127F, 0x1p127F, 0.0F},
      {"div.approx.f32", -1.0F, 0x1p127F, -0.0F},
      {"div.approx.f32", kInfinity, 0x1p127F, kNan},
      {"div.approx.f32", 0x1p126F, 0x1p126F, 1.0F},
      {"div.approx.f32", 1.0F, kInfinity, 0.0F},
      {"div.approx.f32", 1.0F, -0.0F, -kInfinity},
      {"div.approx.f32", 0.0F, 0.0F, kNan},
      {"div.full.f32", 0x1p127F, 0x1p127F, 1.0F},
      {"div.approx.ftz.f32", kTiny, kTiny, kNan},
      {"div.full.ftz.f32", 1.0F, kTiny, kInfinity},
  };
  for (const auto& c : kCases) {
    const std::string name = c.text;
    const Instruction instruction(kHeader, name + (name.substr(0, 3) == "div" ? " %f8, %f0, %f1;" : " %f8, %f0;"),
                                  {"%f8"});
    const float got = Float(instruction({Bits(c.a), Bits(c.b)})[0]);
    if (std::isnan(c.want)) {
      EXPECT_TRUE(std::isnan(got)) << name << " " << c.a << " " << c.b << " got " << got;
    } else {
      EXPECT_EQ(Bits(got), Bits(c.want)) << name << " " << c.a << " " << c.b << " got " << got;
    }
  }
}

}  // namespace
}  // namespace slipway::cpu
