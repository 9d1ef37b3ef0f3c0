// Numbers that have no type until they meet something.
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jit/builder.h"
#include "jit/fold.h"
#include "tests/jit/builder_fixture.h"

namespace slipway::ir {
namespace {

using testing::HasSubstr;

// Literals.

TEST_F(BuilderTest, ALiteralTakesTheTypeOfWhatItMeets) {
  for (DType t : kArithmetic) {
    if (t == DType::kBool) continue;
    EXPECT_EQ(Type(Op::kMul, {Of(t), L(int64_t{2})}), t);
    EXPECT_EQ(Type(Op::kSub, {L(int64_t{2}), Of(t)}), t);
    EXPECT_EQ(Type(Op::kMul, {Of(t), L(0.5)}), IsFloat(t) ? t : DType::kFloat64) << Name(t);
  }
}

TEST_F(BuilderTest, LiteralsAloneAreInt64OrFloat64AndStayLiterals) {
  const ValueId sum = b.Apply(Op::kAdd, {L(int64_t{1}), L(int64_t{2})});
  EXPECT_TRUE(b.IsLiteral(sum));
  EXPECT_EQ(b.TypeOf(sum), DType::kInt64);
  EXPECT_EQ(Type(Op::kAdd, {Of(DType::kInt8), sum}), DType::kInt8);
  EXPECT_EQ(b.TypeOf(b.Apply(Op::kAdd, {L(int64_t{1}), L(0.5)})), DType::kFloat64);
  EXPECT_EQ(b.TypeOf(b.Apply(Op::kLt, {L(int64_t{1}), L(0.5)})), DType::kBool);
  EXPECT_EQ(Type(Op::kMul, {Of(DType::kFloat32), b.Apply(Op::kSqrt, {L(int64_t{2})})}), DType::kFloat32);
  // A function that the device's library computes is not folded, and is a float64 as of a run-time value.
  const ValueId e = b.Apply(Op::kExp, {L(int64_t{1})});
  EXPECT_FALSE(b.IsConstant(e));
  EXPECT_EQ(Type(Op::kMul, {Of(DType::kFloat32), e}), DType::kFloat64);
}

TEST_F(BuilderTest, IntegerLiteralsDivideAsRunTimeValuesDo) {
  EXPECT_EQ(BitsOf(b.Apply(Op::kDiv, {L(int64_t{1}), L(int64_t{2})})), 0u);
  EXPECT_EQ(BitsOf(b.Apply(Op::kTrueDiv, {L(int64_t{1}), L(int64_t{2})})), FloatToBits(DType::kFloat64, 0.5));
  EXPECT_EQ(BitsOf(b.Apply(Op::kDiv, {L(int64_t{1}), L(int64_t{0})})), ~uint64_t{0});
}

TEST_F(BuilderTest, ALiteralThatDoesNotFitIsAnError) {
  b.Apply(Op::kAdd, {Of(DType::kUInt8), L(int64_t{300})});
  EXPECT_EQ(Message(), "'+': literal 300 does not fit uint8; use a wider type, such as a cast to int16");
}
TEST_F(BuilderTest, ANegativeLiteralDoesNotFitUnsigned) {
  b.Apply(Op::kMul, {Of(DType::kUInt32), L(int64_t{-1})});
  EXPECT_EQ(Message(), "'*': literal -1 does not fit uint32; use a wider type, such as a cast to int64");
}
TEST_F(BuilderTest, TheAdvisedTypeHoldsBothSides) {
  const struct {
    DType type;
    int64_t literal;
    const char* wider;
  } cases[] = {{DType::kInt8, 40000, "int32"},   {DType::kInt32, int64_t{1} << 31, "int64"},
               {DType::kUInt8, -1, "int16"},     {DType::kUInt8, -40000, "int32"},
               {DType::kUInt16, 70000, "int32"}, {DType::kUInt16, -1, "int32"},
               {DType::kUInt32, -1, "int64"},    {DType::kUInt32, int64_t{1} << 40, "int64"},
               {DType::kUInt64, -1, "float64"}};
  for (const auto& each : cases) {
    b = Builder("k");
    b.Apply(Op::kAdd, {b.Scalar(b.AddScalar("x", each.type)), L(each.literal)});
    EXPECT_THAT(Message(), testing::EndsWith(std::string("such as a cast to ") + each.wider)) << each.literal;
  }
}
TEST_F(BuilderTest, AFloatLiteralThatOverflowsIsAnError) {
  b.Apply(Op::kAdd, {Of(DType::kFloat32), L(2e50)});
  EXPECT_THAT(Message(), HasSubstr("is too large for float32; cast the other operand to a wider type"));
}
TEST_F(BuilderTest, AnInfiniteLiteralFitsEveryFloat) {
  EXPECT_EQ(Type(Op::kAdd, {Of(DType::kFloat16), L(HUGE_VAL)}), DType::kFloat16);
}

// FC-05: float64 literals keep every bit.
TEST_F(BuilderTest, FloatLiteralsAreExactInFloat64) {
  EXPECT_EQ(BitsOf(b.Cast(DType::kFloat64, L(0.1))), FloatToBits(DType::kFloat64, 0.1));
  EXPECT_EQ(BitsOf(b.Apply(Op::kAdd, {b.Constant(DType::kFloat64, FloatToBits(DType::kFloat64, 1)), L(2e50)})),
            FloatToBits(DType::kFloat64, 2e50));
}

TEST_F(BuilderTest, TheLeastInt64CanBeWritten) {
  const ValueId min = b.Apply(Op::kNeg, {b.Literal(uint64_t{1} << 63)});
  EXPECT_TRUE(b.IsLiteral(min));
  EXPECT_EQ(BitsOf(min), uint64_t{1} << 63);
  EXPECT_EQ(b.TypeOf(min), DType::kInt64);
}
TEST_F(BuilderTest, ALiteralBelowTheLeastInt64IsRefused) {
  b.Apply(Op::kNeg, {b.Literal((uint64_t{1} << 63) + 1)});
  EXPECT_THAT(Message(), HasSubstr("literal -9223372036854775809 does not fit int64"));
}

}  // namespace
}  // namespace slipway::ir
