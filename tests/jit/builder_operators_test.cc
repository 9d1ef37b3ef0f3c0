// What operators make of operands of any types: promotion, comparisons, functions.
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jit/builder.h"
#include "jit/fold.h"
#include "jit/semantics.h"
#include "tests/jit/builder_fixture.h"

namespace slipway::ir {
namespace {

using testing::HasSubstr;

TEST_F(BuilderTest, ArithmeticHasThePromotedType) {
  for (DType s : kArithmetic) {
    for (DType t : kArithmetic) {
      DType want = Promote(s, t);
      if (want == DType::kVoid) continue;
      if (want == DType::kBool) want = DType::kInt32;
      EXPECT_EQ(Type(Op::kAdd, {Of(s), Of(t)}), want) << Name(s) << " + " << Name(t);
      EXPECT_EQ(Type(Op::kMax, {Of(s), Of(t)}), want);
    }
  }
}

TEST_F(BuilderTest, UInt64WithASignedTypeAsksForACast) {
  b.Apply(Op::kAdd, {Of(DType::kUInt64), Of(DType::kInt32)});
  EXPECT_EQ(b.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(),
            "'+': uint64 and int32 have no common type; cast one of them, such as with int64(...) or uint64(...)");
}

TEST_F(BuilderTest, BoolsAddAsInt32AndCombineAsBools) {
  const ValueId p = Of(DType::kBool);
  EXPECT_EQ(Type(Op::kAdd, {p, p}), DType::kInt32);
  EXPECT_EQ(Type(Op::kNeg, {p}), DType::kInt32);
  EXPECT_EQ(Type(Op::kMin, {p, p}), DType::kInt32);
  EXPECT_EQ(Type(Op::kShl, {p, L(int64_t{1})}), DType::kInt32);
  EXPECT_EQ(Type(Op::kBitAnd, {p, p}), DType::kBool);
  EXPECT_EQ(Type(Op::kBitXor, {p, Of(DType::kInt8)}), DType::kInt8);
  EXPECT_EQ(Type(Op::kNot, {p}), DType::kBool);
  EXPECT_EQ(Type(Op::kEq, {p, p}), DType::kBool);
  EXPECT_EQ(Type(Op::kAdd, {p, L(int64_t{1})}), DType::kInt32);
  EXPECT_EQ(Type(Op::kSqrt, {p}), DType::kFloat64);
}

TEST_F(BuilderTest, ComplementOfABoolIsRefused) {
  b.Apply(Op::kBitNot, {Of(DType::kBool)});
  EXPECT_EQ(Message(), "'~' does not take bool; use ! on a bool, and cast a float to an integer first");
}

TEST_F(BuilderTest, NotOfANumberIsRefused) {
  b.Apply(Op::kNot, {Of(DType::kInt32)});
  EXPECT_EQ(Message(), "'!' does not take int32; compare with 0: x == 0");
}

TEST_F(BuilderTest, RemainderOfFloatsIsRefusedByName) {
  b.Apply(Op::kRem, {Of(DType::kFloat32), L(int64_t{2})});
  EXPECT_EQ(Message(),
            "'%' does not take float32 and literal 2; use fmod (sign of the dividend) or floor_mod (sign of the "
            "divisor)");
}

TEST_F(BuilderTest, BitsOfFloatsAreRefused) {
  b.Apply(Op::kBitOr, {Of(DType::kFloat32), Of(DType::kInt32)});
  EXPECT_THAT(Message(), HasSubstr("'|' does not take float32 and int32; bits of a float"));
}

TEST_F(BuilderTest, ShiftOfAFloatIsRefused) {
  b.Apply(Op::kShl, {Of(DType::kFloat64), L(int64_t{2})});
  EXPECT_THAT(Message(), HasSubstr("'<<' does not take float64 and literal 2"));
}

// Comparisons.

// Every pair of integer types, values that C's conversions get wrong, and all six operators, folded: the numbers count.
TEST_F(BuilderTest, ComparisonsCompareTheNumbers) {
  const DType kIntegers[] = {DType::kInt8,  DType::kInt16,  DType::kInt32,  DType::kInt64,
                             DType::kUInt8, DType::kUInt16, DType::kUInt32, DType::kUInt64};
  for (DType s : kIntegers) {
    for (DType t : kIntegers) {
      for (uint64_t x : {uint64_t{0}, uint64_t{1}, WidthMask(s), WidthMask(s) / 2 + 1}) {
        for (uint64_t y : {uint64_t{0}, uint64_t{1}, WidthMask(t), WidthMask(t) / 2 + 1}) {
          auto number = [](DType type, uint64_t bits) {
            return IsSignedInteger(type) ? __int128{SignedFromBits(type, bits)} : static_cast<__int128>(bits);
          };
          const __int128 a = number(s, x), c = number(t, y);
          const std::pair<Op, bool> kCases[] = {{Op::kLt, a < c},  {Op::kLe, a <= c}, {Op::kGt, a > c},
                                                {Op::kGe, a >= c}, {Op::kEq, a == c}, {Op::kNe, a != c}};
          for (auto [op, want] : kCases) {
            const ValueId result = b.Apply(op, {b.Constant(s, x), b.Constant(t, y)});
            ASSERT_TRUE(b.IsConstant(result)) << b.status();
            ASSERT_EQ(BitsOf(result), want) << Name(s) << " " << Name(op) << " " << Name(t);
          }
        }
      }
    }
  }
}

TEST_F(BuilderTest, MixedSignComparisonsOfRunTimeValuesAreOfOneType) {
  EXPECT_EQ(Type(Op::kLt, {Of(DType::kUInt64), Of(DType::kInt64)}), DType::kBool);
  EXPECT_EQ(Type(Op::kNe, {Of(DType::kInt8), Of(DType::kUInt64)}), DType::kBool);
  EXPECT_EQ(Type(Op::kGe, {Of(DType::kUInt32), Of(DType::kInt32)}), DType::kBool);
  EXPECT_TRUE(std::move(b).Finish().ok());
}

TEST_F(BuilderTest, ComparisonWithALiteralOutOfRangeIsConstant) {
  const struct {
    Op op;
    int64_t literal;
    bool literal_first, want;
  } kCases[] = {{Op::kLt, -1, false, false}, {Op::kGt, -1, false, true},  {Op::kEq, 256, false, false},
                {Op::kNe, 256, false, true}, {Op::kLt, 256, false, true}, {Op::kGe, 256, false, false},
                {Op::kLt, -1, true, true},   {Op::kGe, -1, true, false},  {Op::kGt, 256, true, true}};
  for (const auto& c : kCases) {
    const ValueId x = Of(DType::kUInt8);
    const ValueId result = c.literal_first ? b.Apply(c.op, {L(c.literal), x}) : b.Apply(c.op, {x, L(c.literal)});
    ASSERT_TRUE(b.IsConstant(result)) << b.status();
    EXPECT_EQ(BitsOf(result), c.want) << Name(c.op) << " " << c.literal;
  }
  EXPECT_FALSE(b.IsConstant(b.Apply(Op::kLt, {Of(DType::kUInt8), L(int64_t{255})})));
  EXPECT_EQ(BitsOf(b.Apply(Op::kLt, {Of(DType::kInt64), b.Literal(uint64_t{1} << 63)})), 1u);
}

TEST_F(BuilderTest, FloatComparisonWithALiteralOutOfRangeIsInFloat64) {
  const ValueId less = b.Apply(Op::kLt, {Of(DType::kFloat32), L(1e300)});  // False of infinity and NaN: not constant.
  EXPECT_FALSE(b.IsConstant(less));
  b.NewVar("v", DType::kVoid, less);
  const Kernel kernel = std::move(b).Finish().value();
  EXPECT_THAT(Print(kernel), HasSubstr(":f64 = cast"));
  EXPECT_THAT(Print(kernel), HasSubstr("1e+300:f64"));
}

TEST_F(BuilderTest, IntegerWithFloatComparesInTheFloatsType) {
  const ValueId less = b.Apply(Op::kLt, {Of(DType::kInt32), Of(DType::kFloat32)});
  b.NewVar("v", DType::kVoid, less);
  EXPECT_THAT(Print(std::move(b).Finish().value()), HasSubstr(":f32 = cast"));
}

// Functions.

TEST_F(BuilderTest, FunctionsOfIntegersAreFloat64AndOfFloatsKeepTheType) {
  for (Op op : {Op::kSqrt, Op::kExp, Op::kSin, Op::kRsqrt, Op::kTgamma}) {
    EXPECT_EQ(Type(op, {Of(DType::kInt32)}), DType::kFloat64);
    EXPECT_EQ(Type(op, {Of(DType::kFloat16)}), DType::kFloat16);
    EXPECT_EQ(Type(op, {Of(DType::kFloat32)}), DType::kFloat32);
  }
  EXPECT_EQ(Type(Op::kPow, {Of(DType::kFloat32), Of(DType::kInt64)}), DType::kFloat32);
  EXPECT_EQ(Type(Op::kPow, {Of(DType::kInt8), Of(DType::kInt8)}), DType::kFloat64);
  EXPECT_EQ(Type(Op::kFma, {Of(DType::kFloat32), L(int64_t{2}), L(0.5)}), DType::kFloat32);
  EXPECT_EQ(Type(Op::kTrueDiv, {Of(DType::kInt8), Of(DType::kInt8)}), DType::kFloat64);
  EXPECT_EQ(Type(Op::kTrueDiv, {Of(DType::kFloat32), Of(DType::kInt8)}), DType::kFloat32);
  EXPECT_EQ(Type(Op::kAtan2, {Of(DType::kFloat16), Of(DType::kBFloat16)}), DType::kFloat32);
}

TEST_F(BuilderTest, RoundingAnIntegerLeavesItAndClassifyingItIsConstant) {
  const ValueId n = Of(DType::kInt16);
  EXPECT_EQ(b.Apply(Op::kFloor, {n}), n);
  EXPECT_EQ(b.Apply(Op::kAbs, {Of(DType::kUInt8)}) == kNone, false);
  EXPECT_EQ(BitsOf(b.Apply(Op::kIsnan, {n})), 0u);
  EXPECT_EQ(BitsOf(b.Apply(Op::kIsfinite, {n})), 1u);
}

TEST_F(BuilderTest, ShiftsHaveTheTypeOfTheShifted) {
  EXPECT_EQ(Type(Op::kShl, {Of(DType::kInt8), Of(DType::kInt64)}), DType::kInt8);
  EXPECT_EQ(Type(Op::kShr, {Of(DType::kUInt16), Of(DType::kUInt64)}), DType::kUInt16);
  EXPECT_EQ(Type(Op::kShl, {L(int64_t{1}), Of(DType::kInt32)}), DType::kInt64);
  // Counts past the width, negative ones too, in every type of count.
  EXPECT_EQ(BitsOf(b.Apply(Op::kShr, {b.Constant(DType::kInt8, 0x80), b.Constant(DType::kInt8, 0xff)})), 0xffu);
  EXPECT_EQ(BitsOf(b.Apply(Op::kShl, {b.Constant(DType::kInt32, 1), L(int64_t{1} << 32)})), 0u);
  EXPECT_EQ(BitsOf(b.Apply(Op::kShl, {b.Constant(DType::kInt64, 1), L(int64_t{-1})})), 0u);
  EXPECT_TRUE(std::move(b).Finish().ok());
}

// FC-02: truncating and flooring division, in every signed type; a == div * b + mod for both pairs.
TEST_F(BuilderTest, FlooringDivision) {
  const int kA[] = {-9, 9, -9, -8, 7, -7, 1, 2}, kB[] = {4, -4, -4, 4, 2, 2, 2, -4};
  const int kDiv[] = {-2, -2, 2, -2, 3, -3, 0, 0}, kRem[] = {-1, 1, -1, 0, 1, -1, 1, 2};
  const int kFloor[] = {-3, -3, 2, -2, 3, -4, 0, -1}, kMod[] = {3, -3, -1, 0, 1, 1, 1, -2};
  for (DType t : {DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64}) {
    for (size_t i = 0; i < std::size(kA); ++i) {
      auto constant = [&](int v) { return b.Constant(t, static_cast<uint64_t>(static_cast<int64_t>(v))); };
      auto value = [&](Op op) { return SignedFromBits(t, BitsOf(b.Apply(op, {constant(kA[i]), constant(kB[i])}))); };
      EXPECT_EQ(value(Op::kDiv), kDiv[i]);
      EXPECT_EQ(value(Op::kRem), kRem[i]);
      EXPECT_EQ(value(Op::kFloorDiv), kFloor[i]);
      EXPECT_EQ(value(Op::kFloorMod), kMod[i]);
    }
    const ValueId seven = b.Constant(t, 7), zero = b.Constant(t, 0);
    EXPECT_EQ(BitsOf(b.Apply(Op::kFloorDiv, {seven, zero})), WidthMask(t));
    EXPECT_EQ(BitsOf(b.Apply(Op::kFloorMod, {seven, zero})), WidthMask(t));
  }
  EXPECT_EQ(BitsOf(b.Apply(Op::kFloorDiv, {b.Constant(DType::kUInt8, 250), L(int64_t{7})})), 35u);
}

TEST_F(BuilderTest, FlooringRemainderOfFloats) {
  auto mod = [&](double x, double y) {
    return FloatFromBits(DType::kFloat64, BitsOf(b.Apply(Op::kFloorMod, {L(x), L(y)})));
  };
  EXPECT_EQ(mod(-7.5, 2), 0.5);
  EXPECT_EQ(mod(7.5, -2), -0.5);
  EXPECT_EQ(mod(-7.5, -2), -1.5);
  EXPECT_EQ(mod(6, 2), 0);
  EXPECT_TRUE(std::signbit(mod(6, -2)));
  EXPECT_FALSE(std::signbit(mod(-6, 2)));
  EXPECT_TRUE(std::isnan(mod(1, 0)));
  EXPECT_EQ(FloatFromBits(DType::kFloat64, BitsOf(b.Apply(Op::kFloorDiv, {L(-7.5), L(2.0)}))), -4);
  EXPECT_EQ(Type(Op::kFloorMod, {Of(DType::kFloat32), L(int64_t{2})}), DType::kFloat32);
  EXPECT_EQ(Type(Op::kFloorMod, {Of(DType::kInt32), L(int64_t{2})}), DType::kInt32);
  EXPECT_EQ(Type(Op::kFloorDiv, {L(int64_t{2}), Of(DType::kUInt8)}), DType::kUInt8);
}

TEST_F(BuilderTest, Select) {
  EXPECT_EQ(Type(Op::kSelect, {Of(DType::kBool), Of(DType::kInt8), Of(DType::kFloat32)}), DType::kFloat32);
  EXPECT_EQ(Type(Op::kSelect, {Of(DType::kBool), Of(DType::kBool), Of(DType::kBool)}), DType::kBool);
  EXPECT_EQ(Type(Op::kSelect, {Of(DType::kBool), L(int64_t{1}), L(0.5)}), DType::kFloat64);
  const ValueId chosen = b.Apply(Op::kSelect, {b.Literal(true), L(int64_t{1}), L(0.5)});
  EXPECT_TRUE(b.IsLiteral(chosen));
  EXPECT_EQ(BitsOf(chosen), FloatToBits(DType::kFloat64, 1));
}
TEST_F(BuilderTest, SelectWantsABool) {
  b.Apply(Op::kSelect, {Of(DType::kInt32), L(int64_t{1}), L(int64_t{2})});
  EXPECT_EQ(Message(), "the condition of 'select' is int32; a bool is wanted: compare it with 0");
}

TEST_F(BuilderTest, WrongNumberOfOperands) {
  b.Apply(Op::kPow, {Of(DType::kFloat32)});
  EXPECT_EQ(Message(), "'pow' takes 2 operands, not 1");
}
TEST_F(BuilderTest, AnInstructionIsNotAnOperator) {
  b.Apply(Op::kLoad, {});
  EXPECT_EQ(Message(), "'load' is an instruction, not an operator");
}

}  // namespace
}  // namespace slipway::ir
