#include "slipway/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace slipway {
namespace {

TEST(DTypeTest, NamesRoundTrip) {
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(DTypeFromName(Name(dtype)), dtype);
    EXPECT_EQ(DTypeFromName(ShortName(dtype)), dtype);
  }
  EXPECT_EQ(Name(DType::kBFloat16), "bfloat16");
  EXPECT_EQ(ShortName(DType::kUInt64), "u64");
  EXPECT_EQ(Name(DType::kVoid), "void");
  EXPECT_EQ(DTypeFromName("void"), DType::kVoid);
  EXPECT_EQ(DTypeFromName("float"), DType::kVoid);
  EXPECT_EQ(DTypeFromName(""), DType::kVoid);
}

TEST(DTypeTest, CppTypes) {
  EXPECT_EQ(kDTypeOf<const float>, DType::kFloat32);
  EXPECT_EQ(kDTypeOf<long long>, DType::kInt64);            // NOLINT(google-runtime-int)
  EXPECT_EQ(kDTypeOf<unsigned long long>, DType::kUInt64);  // NOLINT(google-runtime-int)
  EXPECT_TRUE(Element<complex128>);
  EXPECT_FALSE(Element<char*>);
  EXPECT_FALSE(Element<long double>);
}

// The value of the finite half-precision number with these bits, by the definition of the format.
double ValueOf(int fraction_bits, int exponent_bits, uint16_t bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                                         : std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  return bits & 0x8000 ? -magnitude : magnitude;
}

// The bits nearest to `value`, ties to even, found among the neighbours of the format's ordered magnitudes.
uint16_t NearestBits(int fraction_bits, int exponent_bits, float value) {
  const uint16_t infinity = static_cast<uint16_t>(((1 << exponent_bits) - 1) << fraction_bits);
  const double magnitude = std::fabs(static_cast<double>(value));
  int low = 0, high = infinity;  // Magnitudes order as their bits; infinity stands for 2^(largest exponent + 1).
  const auto value_of = [&](int bits) {
    return bits == infinity ? std::ldexp(1.0, 1 << (exponent_bits - 1))
                            : ValueOf(fraction_bits, exponent_bits, static_cast<uint16_t>(bits));
  };
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (value_of(middle) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - value_of(low), above = value_of(high) - magnitude;
  int bits = below < above ? low : above < below ? high : (low % 2 == 0 ? low : high);
  if (magnitude >= value_of(infinity)) bits = infinity;
  return static_cast<uint16_t>(bits | (std::signbit(value) ? 0x8000 : 0));
}

template <class Half>
class HalfTest : public testing::Test {
 public:
  static constexpr int kFraction = std::is_same_v<Half, float16> ? 10 : 7;
  static constexpr int kExponent = 15 - kFraction;
};
using Halves = testing::Types<float16, bfloat16>;
TYPED_TEST_SUITE(HalfTest, Halves);

TYPED_TEST(HalfTest, EveryValueRoundTrips) {
  constexpr int kInfinity = ((1 << TestFixture::kExponent) - 1) << TestFixture::kFraction;
  for (int i = 0; i < 65536; ++i) {
    TypeParam half;
    half.bits = static_cast<uint16_t>(i);
    const float value = static_cast<float>(half);
    if ((i & 0x7fff) > kInfinity) {
      EXPECT_TRUE(std::isnan(value)) << i;
      EXPECT_EQ(TypeParam(value).bits, 0x7fff) << i;
    } else {
      if ((i & 0x7fff) < kInfinity) {
        ASSERT_EQ(value, ValueOf(TestFixture::kFraction, TestFixture::kExponent, half.bits)) << i;
      } else {
        ASSERT_TRUE(std::isinf(value)) << i;
      }
      ASSERT_EQ(TypeParam(value).bits, half.bits) << i;
    }
  }
}

TYPED_TEST(HalfTest, RoundsToNearestEven) {
  std::mt19937 random(7);
  for (int i = 0; i < 200000; ++i) {
    uint32_t word = random();
    if (i % 2 == 0) {  // Near the format's own values and midpoints, where rounding decides.
      TypeParam half;
      half.bits = static_cast<uint16_t>(random());
      word = std::bit_cast<uint32_t>(static_cast<float>(half)) + (random() % 3 - 1) +
             (random() % 2 << (22 - TestFixture::kFraction));
    }
    const float value = std::bit_cast<float>(word);
    if (std::isnan(value)) continue;
    ASSERT_EQ(TypeParam(value).bits, NearestBits(TestFixture::kFraction, TestFixture::kExponent, value))
        << std::hexfloat << value;
  }
}

TEST(DTypeTest, HalfFieldCase) { EXPECT_EQ(float16(1.5f).bits, 0x3E00); }  // FC-19.

}  // namespace
}  // namespace slipway
