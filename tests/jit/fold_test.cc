// Constant folding against independent references: 128-bit integers, exhaustive small types, the PTX ISA's tables.
#include "jit/fold.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "jit/semantics.h"

namespace slipway::ir {
namespace {

using Int128 = __int128;

constexpr DType kIntegers[] = {DType::kInt8,  DType::kInt16,  DType::kInt32,  DType::kInt64,
                               DType::kUInt8, DType::kUInt16, DType::kUInt32, DType::kUInt64};

uint64_t Folded(Op op, DType type, std::vector<uint64_t> operands) {
  uint64_t result = 0;
  EXPECT_TRUE(Fold(op, type, operands, &result)) << Name(op) << " " << Name(type);
  return result;
}
float AsFloat(uint64_t bits) { return static_cast<float>(FloatFromBits(DType::kFloat32, bits)); }
uint64_t F32(float value) { return FloatToBits(DType::kFloat32, value); }
uint64_t F64(double value) { return FloatToBits(DType::kFloat64, value); }

Int128 Number(DType type, uint64_t bits) {
  return IsSignedInteger(type) ? Int128{SignedFromBits(type, bits)} : static_cast<Int128>(bits);
}

// What the rules say of an integer operator, in arithmetic that cannot overflow.
uint64_t Expected(Op op, DType type, uint64_t x, uint64_t y) {
  const Int128 a = Number(type, x), b = Number(type, y);
  const uint64_t mask = WidthMask(type);
  switch (op) {
    case Op::kAdd:
      return static_cast<uint64_t>(a + b) & mask;
    case Op::kSub:
      return static_cast<uint64_t>(a - b) & mask;
    case Op::kMul:
      return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b)) & mask;
    case Op::kDiv:
      return b == 0 ? mask : static_cast<uint64_t>(a / b) & mask;
    case Op::kRem:
      return b == 0 ? mask : static_cast<uint64_t>(a % b) & mask;
    case Op::kMin:
      return a < b ? x : y;
    case Op::kMax:
      return a < b ? y : x;
    case Op::kLt:
      return a < b;
    case Op::kGe:
      return a >= b;
    case Op::kEq:
      return a == b;
    default:
      ADD_FAILURE();
      return 0;
  }
}

class IntegerFold : public testing::TestWithParam<DType> {};

TEST_P(IntegerFold, AgreesWithWideArithmetic) {
  const DType type = GetParam();
  std::mt19937_64 random(7);
  const uint64_t mask = WidthMask(type);
  std::vector<uint64_t> values = {0, 1, 2, 3, 5, 7, mask, mask - 1, mask >> 1, (mask >> 1) + 1, (mask >> 1) - 1};
  for (int i = 0; i < 200; ++i) values.push_back((random() >> (random() % 64)) & mask);
  for (Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kRem, Op::kMin, Op::kMax, Op::kLt, Op::kGe, Op::kEq}) {
    for (uint64_t x : values) {
      for (uint64_t y : values) {
        ASSERT_EQ(Folded(op, type, {x, y}), Expected(op, type, x, y))
            << Name(op) << " " << Name(type) << " " << x << " " << y;
      }
    }
  }
}

TEST_P(IntegerFold, DivisionNeverTraps) {
  const DType type = GetParam();
  const uint64_t mask = WidthMask(type), min = (mask >> 1) + 1;
  EXPECT_EQ(Folded(Op::kDiv, type, {7, 0}), mask);
  EXPECT_EQ(Folded(Op::kRem, type, {7, 0}), mask);
  if (IsSignedInteger(type)) {
    EXPECT_EQ(Folded(Op::kDiv, type, {min, mask}), min);
    EXPECT_EQ(Folded(Op::kRem, type, {min, mask}), 0u);
    EXPECT_EQ(Folded(Op::kAbs, type, {min}), min);
  }
}

TEST_P(IntegerFold, ShiftsPastTheWidthGiveZeroOrTheSign) {
  const DType type = GetParam();
  const uint64_t mask = WidthMask(type), width = 8 * SizeOf(type), min = (mask >> 1) + 1;
  for (uint64_t count : {width, width + 1, uint64_t{0xffffffff}}) {
    EXPECT_EQ(Folded(Op::kShl, type, {mask, count}), 0u);
    EXPECT_EQ(Folded(Op::kShr, type, {min, count}), IsSignedInteger(type) ? mask : 0);
    EXPECT_EQ(Folded(Op::kShr, type, {1, count}), 0u);
  }
  EXPECT_EQ(Folded(Op::kShl, type, {mask, width - 1}), min);
  EXPECT_EQ(Folded(Op::kShr, type, {min, width - 1}), IsSignedInteger(type) ? mask : 1);
  EXPECT_EQ(Folded(Op::kShl, type, {mask, 0}), mask);
}

INSTANTIATE_TEST_SUITE_P(Types, IntegerFold, testing::ValuesIn(kIntegers),
                         [](const auto& info) { return std::string(Name(info.param)); });

TEST(FloatFold, IsIeeeInTheDefaultEnvironmentWhateverTheCallersIs) {
  const uint64_t third = Folded(Op::kDiv, DType::kFloat32, {F32(1), F32(3)});
  const uint64_t rounded = FoldCast(DType::kFloat64, DType::kFloat32, F64(0.1));
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  EXPECT_EQ(Folded(Op::kDiv, DType::kFloat32, {F32(1), F32(3)}), third);
  EXPECT_EQ(FoldCast(DType::kFloat64, DType::kFloat32, F64(0.1)), rounded);
  EXPECT_EQ(std::fegetround(), FE_UPWARD);  // Put back.
  std::fesetround(FE_TONEAREST);
}

// FC-10: subnormals are not flushed.
TEST(FloatFold, KeepsSubnormals) {
  EXPECT_EQ(Folded(Op::kDiv, DType::kFloat32, {F32(0x1p-126f), F32(2)}), 0x00400000u);
  EXPECT_EQ(Folded(Op::kMul, DType::kFloat32, {F32(2), F32(0x1p-149f)}), 0x00000002u);
  EXPECT_EQ(Folded(Op::kSqrt, DType::kFloat32, {F32(0x1p-140f)}), F32(0x1p-70f));
}

// FC-06: min and max of NaN and of zeros, by bits.
TEST(FloatFold, MinAndMaxOfNanAndZeros) {
  for (DType type : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    auto bits = [&](double v) { return FloatToBits(type, v); };
    const uint64_t nan = bits(NAN);
    EXPECT_EQ(Folded(Op::kMax, type, {bits(1), bits(2)}), bits(2));
    EXPECT_EQ(Folded(Op::kMax, type, {nan, bits(2)}), bits(2));
    EXPECT_EQ(Folded(Op::kMin, type, {bits(1), nan}), bits(1));
    EXPECT_TRUE(std::isnan(FloatFromBits(type, Folded(Op::kMax, type, {nan, nan}))));
    for (Op op : {Op::kMaxNan, Op::kMinNan}) {
      EXPECT_TRUE(std::isnan(FloatFromBits(type, Folded(op, type, {nan, bits(2)}))));
      EXPECT_TRUE(std::isnan(FloatFromBits(type, Folded(op, type, {bits(2), nan}))));
    }
    for (Op op : {Op::kMin, Op::kMinNan}) {
      EXPECT_EQ(Folded(op, type, {bits(-0.0), bits(0.0)}), bits(-0.0));
      EXPECT_EQ(Folded(op, type, {bits(0.0), bits(-0.0)}), bits(-0.0));
    }
    for (Op op : {Op::kMax, Op::kMaxNan}) {
      EXPECT_EQ(Folded(op, type, {bits(-0.0), bits(0.0)}), bits(0.0));
      EXPECT_EQ(Folded(op, type, {bits(0.0), bits(-0.0)}), bits(0.0));
    }
  }
}

TEST(FloatFold, ComparisonsWithNanAreFalseButForUnequal) {
  const uint64_t nan = F64(NAN);
  for (Op op : {Op::kLt, Op::kLe, Op::kGt, Op::kGe, Op::kEq}) {
    EXPECT_EQ(Folded(op, DType::kFloat64, {nan, nan}), 0u);
    EXPECT_EQ(Folded(op, DType::kFloat64, {F64(1), nan}), 0u);
  }
  EXPECT_EQ(Folded(Op::kNe, DType::kFloat64, {nan, nan}), 1u);
  EXPECT_EQ(Folded(Op::kEq, DType::kFloat64, {F64(-0.0), F64(0.0)}), 1u);
}

TEST(FloatFold, RoundingFunctions) {
  struct Case {
    float x, floor, ceil, trunc, round, rint;
  };
  for (const Case& c : {Case{2.5f, 2, 3, 2, 3, 2}, Case{-2.5f, -3, -2, -2, -3, -2}, Case{0.5f, 0, 1, 0, 1, 0},
                        Case{1.5f, 1, 2, 1, 2, 2}, Case{-0.25f, -1, -0.0f, -0.0f, -0.0f, -0.0f}}) {
    EXPECT_EQ(Folded(Op::kFloor, DType::kFloat32, {F32(c.x)}), F32(c.floor)) << c.x;
    EXPECT_EQ(Folded(Op::kCeil, DType::kFloat32, {F32(c.x)}), F32(c.ceil)) << c.x;
    EXPECT_EQ(Folded(Op::kTrunc, DType::kFloat32, {F32(c.x)}), F32(c.trunc)) << c.x;
    EXPECT_EQ(Folded(Op::kRound, DType::kFloat32, {F32(c.x)}), F32(c.round)) << c.x;
    EXPECT_EQ(Folded(Op::kRint, DType::kFloat32, {F32(c.x)}), F32(c.rint)) << c.x;
  }
}

TEST(FloatFold, SignBitsOfNegationAbsAndCopysign) {
  EXPECT_EQ(Folded(Op::kNeg, DType::kFloat32, {F32(0)}), 0x80000000u);
  EXPECT_EQ(Folded(Op::kAbs, DType::kFloat64, {F64(-0.0)}), 0u);
  EXPECT_EQ(Folded(Op::kCopysign, DType::kFloat32, {F32(3), F32(-0.0f)}), F32(-3));
  EXPECT_EQ(Folded(Op::kNeg, DType::kFloat16, {0x3c00}), 0xbc00u);
}

TEST(FloatFold, FmaRoundsOnce) {
  const float a = 1 + 0x1p-12f;  // a * a = 1 + 2^-11 + 2^-24: the last bit only survives unrounded.
  EXPECT_EQ(AsFloat(Folded(Op::kFma, DType::kFloat32, {F32(a), F32(a), F32(-(1 + 0x1p-11f))})), 0x1p-24f);
}

TEST(FloatFold, FmodTakesTheDividendsSign) {
  EXPECT_EQ(Folded(Op::kFmod, DType::kFloat64, {F64(-7.5), F64(2)}), F64(-1.5));
  EXPECT_EQ(Folded(Op::kFmod, DType::kFloat32, {F32(7.5f), F32(-2)}), F32(1.5f));
}

TEST(FloatFold, Classification) {
  EXPECT_EQ(Folded(Op::kIsnan, DType::kFloat16, {0x7c01}), 1u);
  EXPECT_EQ(Folded(Op::kIsinf, DType::kFloat16, {0xfc00}), 1u);
  EXPECT_EQ(Folded(Op::kIsfinite, DType::kBFloat16, {0x7f80}), 0u);
  EXPECT_EQ(Folded(Op::kIsfinite, DType::kFloat32, {F32(0x1p-149f)}), 1u);
}

// All 65,536 patterns go to numbers and back unchanged, and a value between two neighbours goes to the nearer one, or
// at the middle to the even one.
class SixteenBits : public testing::TestWithParam<DType> {};
TEST_P(SixteenBits, RoundToNearestEven) {
  const DType type = GetParam();
  const uint32_t infinity = type == DType::kFloat16 ? 0x7c00 : 0x7f80;
  for (uint32_t bits = 0; bits < infinity; ++bits) {
    const double low = FloatFromBits(type, bits);
    ASSERT_EQ(FloatToBits(type, low), bits);
    ASSERT_EQ(FloatToBits(type, -low), bits | 0x8000);
    if (bits + 1 == infinity) continue;
    const double high = FloatFromBits(type, bits + 1), middle = (low + high) / 2;
    ASSERT_LT(low, high);
    ASSERT_EQ(FloatToBits(type, middle), bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(FloatToBits(type, low + (high - low) * 0.25), bits);
    ASSERT_EQ(FloatToBits(type, low + (high - low) * 0.75), bits + 1);
  }
  const double max = FloatFromBits(type, infinity - 1), below = FloatFromBits(type, infinity - 2);
  EXPECT_EQ(FloatToBits(type, max + (max - below) / 2), infinity);
  EXPECT_EQ(FloatToBits(type, max + (max - below) * 0.25), infinity - 1);
  EXPECT_EQ(FloatToBits(type, -HUGE_VAL), infinity | 0x8000);
  EXPECT_TRUE(std::isnan(FloatFromBits(type, FloatToBits(type, NAN))));
}
INSTANTIATE_TEST_SUITE_P(Types, SixteenBits, testing::Values(DType::kFloat16, DType::kBFloat16),
                         [](const auto& info) { return std::string(Name(info.param)); });

TEST(SixteenBits, ArithmeticIsRoundedOncePerOperator) {
  // 2048 + 1 is halfway between 2048 and 2050 in float16: to even.
  const uint64_t a = FloatToBits(DType::kFloat16, 2048), one = FloatToBits(DType::kFloat16, 1);
  EXPECT_EQ(FloatFromBits(DType::kFloat16, Folded(Op::kAdd, DType::kFloat16, {a, one})), 2048);
  EXPECT_EQ(
      FloatFromBits(DType::kBFloat16, Folded(Op::kAdd, DType::kBFloat16,
                                             {FloatToBits(DType::kBFloat16, 256), FloatToBits(DType::kBFloat16, 3)})),
      260);
  EXPECT_EQ(Folded(Op::kMul, DType::kFloat16, {FloatToBits(DType::kFloat16, 60000), FloatToBits(DType::kFloat16, 2)}),
            0x7c00u);
}

// FC-08: float to integer is PTX's cvt.rzi.
TEST(CastFold, FloatToIntegerSaturatesAndNanFollowsTheIsaTable) {
  const struct {
    float x;
    int32_t i32;
    uint32_t u32;
  } kCases[] = {{NAN, 0, 0},
                {INFINITY, INT32_MAX, UINT32_MAX},
                {-INFINITY, INT32_MIN, 0},
                {3e9f, INT32_MAX, 3000000000u},
                {-1.5f, -1, 0},
                {300, 300, 300}};
  for (const auto& c : kCases) {
    EXPECT_EQ(FoldCast(DType::kFloat32, DType::kInt32, F32(c.x)), static_cast<uint32_t>(c.i32)) << c.x;
    EXPECT_EQ(FoldCast(DType::kFloat32, DType::kUInt32, F32(c.x)), c.u32) << c.x;
  }
  for (DType to : kIntegers) {
    const uint64_t top = (WidthMask(to) >> 1) + 1;
    EXPECT_EQ(FoldCast(DType::kFloat64, to, F64(NAN)), top) << Name(to);
    EXPECT_EQ(FoldCast(DType::kFloat32, to, F32(NAN)), SizeOf(to) == 8 ? top : 0) << Name(to);
    EXPECT_EQ(FoldCast(DType::kFloat16, to, 0x7e00), SizeOf(to) == 8 ? top : 0) << Name(to);
    EXPECT_EQ(FoldCast(DType::kFloat64, to, F64(1e300)), IsSignedInteger(to) ? top - 1 : WidthMask(to)) << Name(to);
    EXPECT_EQ(FoldCast(DType::kFloat64, to, F64(-1e300)), IsSignedInteger(to) ? top : 0) << Name(to);
    EXPECT_EQ(FoldCast(DType::kFloat64, to, F64(-0.9)), 0u) << Name(to);
  }
  EXPECT_EQ(FoldCast(DType::kFloat32, DType::kInt8, F32(300)), 127u);
  EXPECT_EQ(FoldCast(DType::kFloat64, DType::kInt64, F64(0x1p63)), static_cast<uint64_t>(INT64_MAX));
  EXPECT_EQ(FoldCast(DType::kFloat64, DType::kUInt64, F64(0x1p63)), uint64_t{1} << 63);
}

// FC-03: signedness is not lost on the way to a float.
TEST(CastFold, IntegerToFloatKeepsTheSignOfTheSource) {
  EXPECT_EQ(FoldCast(DType::kUInt8, DType::kFloat64, 200), F64(200));
  EXPECT_EQ(FoldCast(DType::kUInt16, DType::kFloat64, 60000), F64(60000));
  EXPECT_EQ(FoldCast(DType::kUInt32, DType::kFloat64, 4000000000u), F64(4000000000.0));
  EXPECT_EQ(FoldCast(DType::kUInt64, DType::kFloat32, ~uint64_t{0}), F32(0x1p64f));
  EXPECT_EQ(FoldCast(DType::kInt8, DType::kFloat32, 0xff), F32(-1));
  EXPECT_EQ(FoldCast(DType::kInt64, DType::kFloat32, (uint64_t{1} << 24) + 1), F32(0x1p24f));
  EXPECT_EQ(FoldCast(DType::kFloat64, DType::kUInt32, F64(4000000000.0)), 4000000000u);
}

TEST(CastFold, IntegerToIntegerExtendsBySourceAndTruncates) {
  EXPECT_EQ(FoldCast(DType::kInt8, DType::kInt32, 0xff), 0xffffffffu);
  EXPECT_EQ(FoldCast(DType::kUInt8, DType::kInt32, 0xff), 0xffu);
  EXPECT_EQ(FoldCast(DType::kInt8, DType::kUInt64, 0x80), 0xffffffffffffff80u);
  EXPECT_EQ(FoldCast(DType::kInt64, DType::kUInt8, 0x1ff), 0xffu);
}

TEST(CastFold, BoolIsUnequalToZero) {
  EXPECT_EQ(FoldCast(DType::kInt32, DType::kBool, 256), 1u);
  EXPECT_EQ(FoldCast(DType::kFloat32, DType::kBool, F32(-0.0f)), 0u);
  EXPECT_EQ(FoldCast(DType::kFloat32, DType::kBool, F32(NAN)), 1u);
  EXPECT_EQ(FoldCast(DType::kBool, DType::kFloat16, 1), 0x3c00u);
}

TEST(CastFold, SixteenBitRoutes) {
  // float64 to float16 rounds once: 1 + 2^-11 + 2^-40 is past the middle, which float32 cannot tell.
  EXPECT_EQ(FoldCast(DType::kFloat64, DType::kFloat16, F64(1 + 0x1p-11 + 0x1p-40)), 0x3c01u);
  EXPECT_EQ(FoldCast(DType::kFloat64, DType::kBFloat16, F64(1 + 0x1p-8 + 0x1p-40)), 0x3f81u);
  // So do integers: (2^8 + 1) * 2^32 is the middle between two bfloat16, and 1 more, which float32 loses, is past it.
  EXPECT_EQ(FoldCast(DType::kInt64, DType::kBFloat16, uint64_t{257} << 32), FloatToBits(DType::kBFloat16, 0x1p40));
  EXPECT_EQ(FoldCast(DType::kInt64, DType::kBFloat16, (uint64_t{257} << 32) + 1),
            FloatToBits(DType::kBFloat16, 0x1p40 + 0x1p33));
  EXPECT_EQ(FoldCast(DType::kInt64, DType::kFloat16, 65520), 0x7c00u);
  EXPECT_EQ(FoldCast(DType::kInt64, DType::kFloat16, 65519), 0x7bffu);
}

TEST(Fold, LeavesLibraryFunctionsToTheDevice) {
  uint64_t result = 0;
  for (Op op : {Op::kExp, Op::kSin, Op::kLog, Op::kTanh, Op::kRsqrt, Op::kCbrt}) {
    EXPECT_FALSE(Fold(op, DType::kFloat64, {F64(1)}, &result)) << Name(op);
  }
  EXPECT_FALSE(Fold(Op::kPow, DType::kFloat32, {F32(2), F32(2)}, &result));
}

}  // namespace
}  // namespace slipway::ir
