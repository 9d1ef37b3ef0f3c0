// The table itself, and the rules on types that stand beside it.
#include "jit/semantics.h"

#include <gtest/gtest.h>
#include <bit>

#include <string>
#include <vector>

namespace slipway::ir {
namespace {

constexpr DType kArithmetic[] = {DType::kBool,     DType::kInt8,    DType::kInt16,  DType::kInt32,  DType::kInt64,
                                 DType::kUInt8,    DType::kUInt16,  DType::kUInt32, DType::kUInt64, DType::kFloat16,
                                 DType::kBFloat16, DType::kFloat32, DType::kFloat64};

// The promotion rules of docs/semantics.md, written down from the text: by kind, width in bits and sign.
DType ExpectedPromotion(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::kBool) return b;
  if (b == DType::kBool) return a;
  if (IsFloat(a) && IsFloat(b)) {
    if (a == DType::kFloat64 || b == DType::kFloat64) return DType::kFloat64;
    return DType::kFloat32;  // float32 with a half, or the two halves.
  }
  if (IsFloat(a)) return a;
  if (IsFloat(b)) return b;
  // The narrowest type of all that holds every value of both; unsigned only of unsigned.
  for (DType c : {DType::kUInt8, DType::kInt8, DType::kUInt16, DType::kInt16, DType::kUInt32, DType::kInt32,
                  DType::kUInt64, DType::kInt64}) {
    auto holds = [&](DType t) {
      if (IsSignedInteger(t)) return IsSignedInteger(c) && SizeOf(c) >= SizeOf(t);
      return IsUnsignedInteger(c) ? SizeOf(c) >= SizeOf(t) : SizeOf(c) > SizeOf(t);
    };
    if (holds(a) && holds(b)) return c;
  }
  return DType::kVoid;
}

TEST(Promotion, OfEveryPairOfTypes) {
  for (DType a : kArithmetic) {
    for (DType b : kArithmetic) {
      EXPECT_EQ(Promote(a, b), ExpectedPromotion(a, b)) << Name(a) << " " << Name(b);
      EXPECT_EQ(Promote(a, b), Promote(b, a));
    }
    EXPECT_EQ(Promote(a, DType::kVoid), DType::kVoid);
    // The real type meets the complex type's parts.
    const bool wide = a == DType::kFloat64;
    EXPECT_EQ(Promote(a, DType::kComplex64), wide ? DType::kComplex128 : DType::kComplex64) << Name(a);
    EXPECT_EQ(Promote(DType::kComplex128, a), DType::kComplex128) << Name(a);
  }
  EXPECT_EQ(Promote(DType::kComplex64, DType::kComplex128), DType::kComplex128);
  EXPECT_EQ(Promote(DType::kComplex64, DType::kVoid), DType::kVoid);
}

TEST(Promotion, LiteralsAmongComplexNumbers) {
  const auto common = [](std::initializer_list<OperandType> operands) {
    return CommonType(operands.begin(), operands.size());
  };
  const OperandType integer = {DType::kInt64, true}, real = {DType::kFloat64, true},
                    complex = {DType::kComplex128, true};
  EXPECT_EQ(common({{DType::kComplex64}, integer}), DType::kComplex64);
  EXPECT_EQ(common({{DType::kComplex64}, real}), DType::kComplex64);
  EXPECT_EQ(common({{DType::kComplex64}, complex}), DType::kComplex64);
  EXPECT_EQ(common({{DType::kFloat16}, complex}), DType::kComplex64);
  EXPECT_EQ(common({{DType::kFloat64}, complex}), DType::kComplex128);
  EXPECT_EQ(common({{DType::kInt8}, complex}), DType::kComplex128);
  EXPECT_EQ(common({complex, integer}), DType::kComplex128);
}

TEST(Promotion, UInt64WithASignedTypeHasNone) {
  for (DType t : {DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64}) {
    EXPECT_EQ(Promote(t, DType::kUInt64), DType::kVoid);
  }
  EXPECT_EQ(Promote(DType::kUInt32, DType::kUInt64), DType::kUInt64);
}

TEST(Stores, WithinOneKindOrIntoOneThatHoldsIt) {
  EXPECT_TRUE(StoresInto(DType::kInt64, DType::kUInt8));
  EXPECT_TRUE(StoresInto(DType::kFloat64, DType::kFloat16));
  EXPECT_TRUE(StoresInto(DType::kInt64, DType::kFloat32));
  EXPECT_TRUE(StoresInto(DType::kBool, DType::kInt8));
  EXPECT_FALSE(StoresInto(DType::kFloat16, DType::kInt64));
  EXPECT_FALSE(StoresInto(DType::kInt8, DType::kBool));
  EXPECT_FALSE(StoresInto(DType::kFloat32, DType::kBool));
  EXPECT_TRUE(StoresInto(DType::kFloat64, DType::kComplex64));
  EXPECT_TRUE(StoresInto(DType::kComplex128, DType::kComplex64));
  EXPECT_FALSE(StoresInto(DType::kComplex64, DType::kFloat32));
  EXPECT_TRUE(StoresInto(DType::kComplex64, DType::kComplex64));
  EXPECT_FALSE(StoresInto(DType::kVoid, DType::kInt8));
}

class Row : public testing::TestWithParam<int> {};

TEST_P(Row, IsComplete) {
  const Op op = static_cast<Op>(GetParam());
  const Semantics& row = SemanticsOf(op);
  EXPECT_EQ(row.op, op);
  EXPECT_GE(row.arity, 1);
  EXPECT_LE(row.arity, kMaxArity);
  EXPECT_GE(std::string(row.slots).size(), static_cast<size_t>(row.arity));
  const bool has_t = std::string(row.slots, row.arity).find(kSlotT) != std::string::npos;
  EXPECT_EQ(has_t, row.operands != OperandRule::kOwn) << "nothing says what T is";
  EXPECT_TRUE(has_t || std::popcount(row.accepts) == 1);
  EXPECT_EQ(row.accepts & SetOf(DType::kVoid), 0u);
  EXPECT_EQ(Contains(row.accepts, DType::kComplex64), Contains(row.accepts, DType::kComplex128));
  EXPECT_TRUE(IsExpanded(row, DType::kComplex64));
  for (DType type : kArithmetic) {
    const Lowering& lowering = LoweringOf(op, type);
    const bool expanded = IsExpanded(row, type);
    const TypeSet kind = IsFloat(type)             ? kFloatTypes
                         : IsSignedInteger(type)   ? kSignedTypes
                         : IsUnsignedInteger(type) ? kUnsignedTypes
                                                   : kBoolType;
    EXPECT_EQ(lowering.by != LowerBy::kNone, (row.accepts & kind) != 0 && !expanded)
        << Name(op) << " on " << Name(type);
    const bool named =
        lowering.by == LowerBy::kBinary || lowering.by == LowerBy::kDivision || lowering.by == LowerBy::kShift ||
        lowering.by == LowerBy::kCompare || lowering.by == LowerBy::kIntrinsic || lowering.by == LowerBy::kMinMax ||
        lowering.by == LowerBy::kClassify || lowering.by == LowerBy::kLibrary || lowering.by == LowerBy::kNvvm ||
        lowering.by == LowerBy::kPtx || lowering.by == LowerBy::kInteger;
    EXPECT_EQ(lowering.name != nullptr, named || lowering.by == LowerBy::kNegate) << Name(op) << " on " << Name(type);
    // What a library computes or the hardware approximates is not folded, but for what is exact.
    if (lowering.by == LowerBy::kNone) continue;
    const bool exact = lowering.by != LowerBy::kLibrary && lowering.by != LowerBy::kPtx;
    EXPECT_EQ(row.fold != nullptr, exact || op == Op::kFmod || op == Op::kRemainder) << Name(op);
  }
  Op found;
  ASSERT_TRUE(OpFromName(Name(op), &found));
  EXPECT_EQ(found, op);
}
INSTANTIATE_TEST_SUITE_P(Operators, Row, testing::Range(0, kNumOperators));

TEST(Names, OfStructuralInstructionsAreNotOperators) {
  Op op;
  EXPECT_FALSE(OpFromName("load", &op));
  EXPECT_FALSE(OpFromName("", &op));
  EXPECT_EQ(Spelling(Op::kNeg), "unary '-'");
  EXPECT_EQ(Spelling(Op::kSqrt), "'sqrt'");
  EXPECT_STREQ(Name(SpecialRegister::kBlockDimY), "block_dim.y");
}

}  // namespace
}  // namespace slipway::ir
