// The Builder's rules for functions with operands and results of types of their own, and for casts of every kind.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/builder.h"
#include "jit/semantics.h"

namespace slipway::ir {
namespace {

using testing::HasSubstr;

constexpr DType kArithmetic[] = {DType::kBool,     DType::kInt8,    DType::kInt16,  DType::kInt32,  DType::kInt64,
                                 DType::kUInt8,    DType::kUInt16,  DType::kUInt32, DType::kUInt64, DType::kFloat16,
                                 DType::kBFloat16, DType::kFloat32, DType::kFloat64};

// A builder with a scalar parameter of each type.
class BuilderFunctions : public testing::Test {
 protected:
  BuilderFunctions() {
    for (DType t : kArithmetic) b.AddScalar(std::string(Name(t)), t);
  }
  ValueId Of(DType t) { return Of(b, t); }
  static ValueId Of(Builder& builder, DType t) {
    return builder.Scalar(
        static_cast<ParamId>(std::find(std::begin(kArithmetic), std::end(kArithmetic), t) - std::begin(kArithmetic)));
  }
  ValueId L(int64_t v) { return b.Literal(v); }
  ValueId L(double v) { return b.Literal(v); }
  DType Type(Op op, std::initializer_list<ValueId> operands) {
    const DType type = b.TypeOf(b.Apply(op, operands));
    EXPECT_TRUE(b.status().ok()) << b.status();
    return type;
  }
  uint64_t BitsOf(ValueId value) {
    EXPECT_TRUE(b.IsConstant(value)) << b.status();
    return b.ConstantBits(value);
  }

  Builder b{"k"};
};

TEST_F(BuilderFunctions, FunctionsWithOperandsAndResultsOfFixedTypes) {
  const DType f32 = DType::kFloat32, f64 = DType::kFloat64, i32 = DType::kInt32;
  EXPECT_EQ(Type(Op::kLdexp, {Of(f32), Of(DType::kInt8)}), f32);
  EXPECT_EQ(Type(Op::kLdexp, {Of(f32), Of(DType::kUInt64)}), f32);
  EXPECT_EQ(Type(Op::kLdexp, {Of(i32), Of(DType::kBool)}), f64);
  EXPECT_EQ(Type(Op::kJn, {Of(DType::kInt64), Of(DType::kFloat16)}), DType::kFloat16);
  EXPECT_EQ(Type(Op::kIlogb, {Of(f64)}), i32);
  EXPECT_EQ(Type(Op::kFrexpExponent, {Of(DType::kBFloat16)}), i32);
  EXPECT_EQ(Type(Op::kRemquoQuotient, {Of(f32), L(2.0)}), i32);
  EXPECT_EQ(Type(Op::kPopc, {Of(DType::kUInt64)}), i32);
  EXPECT_EQ(Type(Op::kClz, {Of(DType::kBool)}), i32);
  EXPECT_EQ(Type(Op::kMulWide, {Of(DType::kUInt32), Of(DType::kUInt8)}), DType::kUInt64);
  EXPECT_EQ(Type(Op::kRotl, {Of(DType::kUInt8), Of(DType::kInt64)}), DType::kUInt8);
  EXPECT_EQ(Type(Op::kFunnelShiftLeft, {Of(DType::kUInt8), Of(DType::kUInt16), L(int64_t{3})}), DType::kUInt16);
  EXPECT_EQ(Type(Op::kBitFieldInsert, {Of(i32), L(int64_t{-1}), Of(DType::kUInt8), Of(DType::kInt64)}), i32);
  EXPECT_EQ(Type(Op::kSignbit, {Of(DType::kUInt8)}), DType::kBool);
  EXPECT_EQ(Type(Op::kAddRz, {Of(f32), L(int64_t{1})}), f32);
  EXPECT_EQ(Type(Op::kFastSin, {Of(DType::kFloat16)}), DType::kFloat16);
}

TEST_F(BuilderFunctions, FunctionsOfLiteralsStayLiteralsWhereTheyAreInt64OrFloat64) {
  EXPECT_TRUE(b.IsLiteral(b.Apply(Op::kFloorDiv, {L(int64_t{-7}), L(int64_t{2})})));
  EXPECT_TRUE(b.IsLiteral(b.Apply(Op::kLdexp, {L(1.5), L(int64_t{3})})));
  EXPECT_EQ(Type(Op::kAdd, {Of(DType::kFloat32), b.Apply(Op::kNan, {L(int64_t{0})})}), DType::kFloat32);
  const ValueId count = b.Apply(Op::kPopc, {L(int64_t{255})});
  EXPECT_FALSE(b.IsLiteral(count));
  EXPECT_EQ(b.TypeOf(count), DType::kInt32);
  EXPECT_EQ(BitsOf(count), 8u);
}

TEST_F(BuilderFunctions, WhatFunctionsDoNotTakeIsSaidWithTheRemedy) {
  struct Case {
    Op op;
    std::vector<DType> operands;
    const char* message;
  };
  const DType f16 = DType::kFloat16, f32 = DType::kFloat32, f64 = DType::kFloat64, i32 = DType::kInt32,
              u32 = DType::kUInt32, i64 = DType::kInt64;
  const Case cases[] = {
      {Op::kLdexp, {f32, f32}, "'ldexp' does not take float32 and float32; operand 2 is an integer; cast it to int32"},
      {Op::kJn, {f64, f64}, "'jn' does not take float64 and float64; operand 1 is an integer; cast it to int32"},
      {Op::kAddRz,
       {f16, f16},
       "'add_rz' does not take float16 and float16; rounding modes are for float32 and float64: cast to one of them"},
      {Op::kFastExp,
       {f64},
       "'fast_exp' does not take float64; the fast functions are float32's: cast to float32, or call the function "
       "without fast_"},
      {Op::kFastSin,
       {i32},
       "'fast_sin' does not take int32; the fast functions are float32's: cast to float32, or call the function "
       "without "
       "fast_"},
      {Op::kPopc,
       {f32},
       "'popc' does not take float32; it works on the bits of integers; cast a float, or take its bits as an "
       "integer's"},
      {Op::kRotl,
       {i32, f32},
       "'rotl' does not take int32 and float32; it works on the bits of integers; cast a float, or take its bits as an "
       "integer's"},
      {Op::kMulWide,
       {i64, i64},
       "'mul_wide' does not take int64 and int64; it takes integers of 8 to 32 bits; for the high half of 64-bit "
       "products use mulhi"},
      {Op::kDp4a,
       {i32, u32, i32},
       "'dp4a' does not take int32 and uint32 and int32; it takes int32 or uint32; cast both to one of them"},
      {Op::kMulhi, {DType::kUInt64, i64}, "'mulhi': uint64 and int64 have no common type"},
  };
  for (const Case& c : cases) {
    Builder one = b;
    std::vector<ValueId> operands;
    for (DType type : c.operands) operands.push_back(Of(one, type));
    one.Apply(c.op, operands);
    EXPECT_EQ(one.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(one.status().message()), testing::StartsWith(c.message));
  }
}

TEST_F(BuilderFunctions, RoundedAndSaturatedCasts) {
  EXPECT_EQ(BitsOf(b.Cast(DType::kInt32, L(2.5), CastKind::kNearest)), 2u);
  EXPECT_EQ(BitsOf(b.Cast(DType::kInt32, L(2.5), CastKind::kUp)), 3u);
  EXPECT_EQ(BitsOf(b.Cast(DType::kFloat32, L(0.1), CastKind::kToZero)), 0x3dccccccu);
  EXPECT_EQ(BitsOf(b.Cast(DType::kInt8, L(int64_t{300}), CastKind::kSaturate)), 127u);
  EXPECT_EQ(BitsOf(b.Cast(DType::kFloat16, L(1e6), CastKind::kSaturate)), 0x7bffu);
  // Where nothing is rounded, a rounded cast is the plain one, or the value itself.
  const ValueId i = Of(DType::kInt32);
  EXPECT_EQ(b.Cast(DType::kInt32, i, CastKind::kUp), i);
  b.NewVar("x", DType::kVoid, b.Cast(DType::kFloat64, Of(DType::kFloat32), CastKind::kDown));
  b.NewVar("y", DType::kVoid, b.Cast(DType::kInt8, Of(DType::kFloat32), CastKind::kDown));
  const std::string text = Print(std::move(b).Finish().value());
  EXPECT_THAT(text, HasSubstr(":f64 = cast %"));
  EXPECT_THAT(text, HasSubstr(":i8 = cast_rd %"));
}

TEST_F(BuilderFunctions, BitsOfATypeAreThoseOfAnotherOfItsSize) {
  EXPECT_EQ(b.TypeOf(b.Cast(DType::kUInt16, Of(DType::kBFloat16), CastKind::kBits)), DType::kUInt16);
  EXPECT_EQ(BitsOf(b.Cast(DType::kUInt32, L(1.0), CastKind::kBits)), 0x3f800000u);
  EXPECT_EQ(BitsOf(b.Cast(DType::kFloat32, L(int64_t{0x7f800000}), CastKind::kBits)), 0x7f800000u);
  EXPECT_EQ(BitsOf(b.Cast(DType::kFloat32, L(int64_t{-1}), CastKind::kBits)), 0xffffffffu);
  ASSERT_TRUE(b.status().ok());
  const auto message = [&](DType to, ValueId value, CastKind kind) {
    Builder one = b;
    one.Cast(to, value, kind);
    EXPECT_EQ(one.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(one.status().message());
  };
  EXPECT_EQ(message(DType::kUInt32, Of(DType::kFloat64), CastKind::kBits),
            "'uint32_bits' does not take float64; only types of one size have the same bits");
  EXPECT_EQ(message(DType::kUInt8, Of(DType::kBool), CastKind::kBits),
            "'uint8_bits' does not take bool; the bits of a bool are no number: cast it");
  EXPECT_EQ(message(DType::kBool, Of(DType::kInt8), CastKind::kBits),
            "'bool_bits' does not take int8; the bits of a bool are no number: cast it");
  EXPECT_EQ(message(DType::kFloat32, L(int64_t{1} << 40), CastKind::kBits),
            "'float32_bits': literal 1099511627776 has no bits of that size; cast it to a type of 32 bits");
  EXPECT_EQ(message(DType::kUInt16, L(1.5), CastKind::kBits),
            "'uint16_bits': literal 1.5 has no bits of that size; cast it to a type of 16 bits");
  EXPECT_EQ(message(DType::kBool, Of(DType::kFloat32), CastKind::kUp),
            "there is no 'bool_ru': a bool is neither rounded nor clamped; compare with 0");
}

}  // namespace
}  // namespace slipway::ir
