// The language's rules as the Builder applies them: docs/semantics.md, rule by rule, and every message.
#include "jit/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>
#include <string>
#include <utility>
#include <vector>

#include "jit/fold.h"
#include "jit/semantics.h"

namespace slipway::ir {
namespace {

using testing::HasSubstr;

constexpr DType kArithmetic[] = {DType::kBool,     DType::kInt8,    DType::kInt16,  DType::kInt32,  DType::kInt64,
                                 DType::kUInt8,    DType::kUInt16,  DType::kUInt32, DType::kUInt64, DType::kFloat16,
                                 DType::kBFloat16, DType::kFloat32, DType::kFloat64};

// A builder with a scalar parameter of each type, by type, and arrays.
class BuilderTest : public testing::Test {
 protected:
  BuilderTest() {
    for (DType t : kArithmetic) b.AddScalar(std::string(Name(t)), t);
    complex = b.AddScalar("complex", DType::kComplex64);
    array = b.AddArray({.name = "y", .dtype = DType::kFloat32, .rank = 1});
    matrix = b.AddArray({.name = "m", .dtype = DType::kInt8, .rank = 2, .read_only = true});
  }
  ValueId Of(DType t) {
    for (size_t i = 0; i < std::size(kArithmetic); ++i) {
      if (kArithmetic[i] == t) return b.Scalar(static_cast<ParamId>(i));
    }
    return b.Scalar(complex);
  }
  ValueId L(int64_t v) { return b.Literal(v); }
  ValueId L(double v) { return b.Literal(v); }
  DType Type(Op op, std::initializer_list<ValueId> operands) {
    const DType type = b.TypeOf(b.Apply(op, operands));
    EXPECT_TRUE(b.status().ok()) << b.status();
    return type;
  }
  // The bits of a constant that the builder made, read from a kernel that stores it.
  uint64_t BitsOf(ValueId value) {
    Builder copy = b;
    copy.NewVar("out", copy.TypeOf(value), value);
    Kernel kernel = std::move(copy).Finish().value();
    const Inst& write = kernel.insts.back();
    const Inst& constant = kernel.insts[kernel.OperandsOf(write)[0]];
    EXPECT_EQ(constant.op, Op::kConst);
    return constant.imm;
  }
  std::string Message() { return std::string(b.status().message()); }

  Builder b{"k"};
  ParamId complex = 0, array = 0, matrix = 0;
};

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

// Complex numbers.

TEST_F(BuilderTest, ComplexNumbersMeetRealOnes) {
  const ValueId z = Of(DType::kComplex64);
  EXPECT_EQ(Type(Op::kMul, {z, L(int64_t{2})}), DType::kComplex64);
  EXPECT_EQ(Type(Op::kAdd, {z, Of(DType::kInt64)}), DType::kComplex64);
  EXPECT_EQ(Type(Op::kAdd, {Of(DType::kBFloat16), z}), DType::kComplex64);
  EXPECT_EQ(Type(Op::kDiv, {Of(DType::kFloat64), z}), DType::kComplex128);
  EXPECT_EQ(Type(Op::kSub, {Of(DType::kFloat32), b.Literal(std::complex<double>(1, 2))}), DType::kComplex64);
  EXPECT_EQ(Type(Op::kPow, {z, L(0.5)}), DType::kComplex64);
  EXPECT_EQ(Type(Op::kSelect, {Of(DType::kBool), z, Of(DType::kFloat64)}), DType::kComplex128);
  EXPECT_EQ(Type(Op::kEq, {z, L(int64_t{0})}), DType::kBool);
  EXPECT_EQ(Type(Op::kAbs, {z}), DType::kFloat32);
  EXPECT_EQ(Type(Op::kReal, {z}), DType::kFloat32);
  EXPECT_EQ(Type(Op::kArg, {Of(DType::kFloat16)}), DType::kFloat16);
  EXPECT_EQ(Type(Op::kMakeComplex, {Of(DType::kFloat16), L(int64_t{1})}), DType::kComplex64);
  EXPECT_EQ(Type(Op::kMakeComplex, {Of(DType::kInt32), Of(DType::kFloat32)}), DType::kComplex64);
  EXPECT_EQ(Type(Op::kPolar, {Of(DType::kInt32), Of(DType::kInt32)}), DType::kComplex128);
}

TEST_F(BuilderTest, ComplexConstantsFold) {
  const ValueId i = b.Literal(std::complex<double>(0, 1));
  const ValueId square = b.Apply(Op::kMul, {i, i});
  ASSERT_TRUE(b.IsLiteral(square));
  EXPECT_EQ(b.TypeOf(square), DType::kComplex128);
  EXPECT_EQ(b.ConstantBits(b.Part(square, 0)), FloatToBits(DType::kFloat64, -1));
  EXPECT_EQ(b.ConstantBits(b.Part(square, 1)), FloatToBits(DType::kFloat64, 0));
  // What was made of parts gives them back, so that a constant part stays one.
  const ValueId mixed = b.Apply(Op::kMakeComplex, {Of(DType::kFloat32), L(2.0)});
  EXPECT_TRUE(b.IsConstant(b.Apply(Op::kImag, {mixed})));
  EXPECT_FALSE(b.IsConstant(b.Apply(Op::kReal, {mixed})));
  // A literal rounds to the parts' type of what it meets.
  const ValueId third = b.Cast(DType::kComplex64, b.Literal(std::complex<double>(1.0 / 3, 2)));
  EXPECT_EQ(b.ConstantBits(b.Part(third, 0)), FloatToBits(DType::kFloat32, 1.0 / 3));
  EXPECT_TRUE(b.status().ok()) << b.status();
}

TEST_F(BuilderTest, RealNumbersAmongComplexOnesStayReal) {
  Builder narrow("narrow");
  const ParamId z = narrow.AddScalar("z", DType::kComplex64), r = narrow.AddScalar("r", DType::kFloat32);
  narrow.NewVar("v", DType::kVoid, narrow.Apply(Op::kMul, {narrow.Scalar(r), narrow.Scalar(z)}));
  const Kernel kernel = std::move(narrow).Finish().value();
  int products = 0;
  for (const Inst& inst : kernel.insts) products += inst.op == Op::kMul;
  EXPECT_EQ(products, 2);
}

struct ComplexMistake {
  const char* name;
  ValueId (*make)(Builder& b, ValueId z, ValueId r);
  const char* message;
};
class ComplexMistakes : public testing::TestWithParam<ComplexMistake> {};
TEST_P(ComplexMistakes, SaysWhatIsWrong) {
  Builder b("k");
  const ParamId z = b.AddScalar("z", DType::kComplex64), r = b.AddScalar("r", DType::kFloat32);
  GetParam().make(b, b.Scalar(z), b.Scalar(r));
  EXPECT_EQ(b.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(b.status().message()), GetParam().message);
}
constexpr ComplexMistake kComplexMistakes[] = {
    {"Order",
     [](Builder& b, ValueId z, ValueId r) {
       return b.Apply(Op::kLt, {z, r});
     },
     "'<' does not take complex64 and float32; complex numbers have no order; compare their abs, or their real and "
     "imag"},
    {"OrderOfALiteral",
     [](Builder& b, ValueId z, ValueId) {
       return b.Apply(Op::kGe, {b.Literal(1.5), z});
     },
     "'>=' does not take literal 1.5 and complex64; complex numbers have no order; compare their abs, or their real "
     "and "
     "imag"},
    {"Min",
     [](Builder& b, ValueId z, ValueId r) {
       return b.Apply(Op::kMin, {z, r});
     },
     "'min' does not take complex64 and float32; take their real and imag, or their abs"},
    {"Erf", [](Builder& b, ValueId z, ValueId) { return b.Apply(Op::kErf, {z}); },
     "'erf' does not take complex64; take their real and imag, or their abs"},
    {"Cbrt", [](Builder& b, ValueId z, ValueId) { return b.Apply(Op::kCbrt, {z}); },
     "'cbrt' does not take complex64; of a complex number write pow(z, 1.0 / 3), its principal root"},
    {"Rsqrt", [](Builder& b, ValueId z, ValueId) { return b.Apply(Op::kRsqrt, {z}); },
     "'rsqrt' does not take complex64; of a complex number write 1 / sqrt(z)"},
    {"Exp10", [](Builder& b, ValueId z, ValueId) { return b.Apply(Op::kExp10, {z}); },
     "'exp10' does not take complex64; of a complex number write pow(10, z)"},
    {"Fma",
     [](Builder& b, ValueId z, ValueId r) {
       return b.Apply(Op::kFma, {z, r, z});
     },
     "'fma' does not take complex64 and float32 and complex64; of complex numbers write x * y + z: no instruction "
     "rounds "
     "that once"},
    {"ComplexOfComplex",
     [](Builder& b, ValueId z, ValueId r) {
       return b.Apply(Op::kMakeComplex, {z, r});
     },
     "'complex' does not take complex64 and float32; it makes a complex number of two real ones"},
    {"CastToReal", [](Builder& b, ValueId z, ValueId) { return b.Cast(DType::kFloat32, z); },
     "there is no cast from complex64 to float32; take its real, imag or abs"},
    {"CastToBool", [](Builder& b, ValueId z, ValueId) { return b.Cast(DType::kBool, z); },
     "there is no cast from complex64 to bool; compare it with 0"},
    {"Bits", [](Builder& b, ValueId z, ValueId) { return b.Cast(DType::kUInt64, z, CastKind::kBits); },
     "there is no cast from complex64 to uint64_bits; take the bits of the real and imag parts"},
    {"Remainder",
     [](Builder& b, ValueId z, ValueId r) {
       return b.Apply(Op::kRem, {z, r});
     },
     "'%' does not take complex64 and float32; use fmod (sign of the dividend) or floor_mod (sign of the divisor)"},
    {"LargeLiteral",
     [](Builder& b, ValueId z, ValueId) {
       return b.Apply(Op::kMul, {z, b.Literal(std::complex<double>(0, 1e300))});
     },
     "'*': literal 1.0000000000000001e+300 is too large for float32; cast the other operand to a wider type, such as "
     "float64"},
    {"Parts", [](Builder& b, ValueId, ValueId r) { return b.Complex(r, b.Literal(1.0)); },
     "a complex number of float32 and literal 1; two of float32 or two of float64 are wanted"},
    {"PartOfReal", [](Builder& b, ValueId, ValueId r) { return b.Part(r, 0); },
     "part 0 of float32; parts 0 and 1 of a complex number are wanted"},
};
INSTANTIATE_TEST_SUITE_P(Builder, ComplexMistakes, testing::ValuesIn(kComplexMistakes),
                         [](const testing::TestParamInfo<ComplexMistake>& info) {
                           return std::string(info.param.name);
                         });

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
  EXPECT_THAT(Message(), HasSubstr("literal -1 does not fit uint32"));
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

// Arrays.

TEST_F(BuilderTest, WrongRank) {
  b.Load(matrix, {L(int64_t{0})});
  EXPECT_EQ(Message(), "'m' has rank 2 and takes 2 indices, not 1");
}
TEST_F(BuilderTest, IndexMustBeAnInteger) {
  b.Load(array, {L(0.5)});
  EXPECT_EQ(Message(), "index 0 of 'y' is literal 0.5; an integer is wanted: cast it to int64");
}
TEST_F(BuilderTest, ReadOnlyArraysAreNotWritten) {
  b.Store(matrix, {L(int64_t{0}), L(int64_t{0})}, L(int64_t{1}));
  EXPECT_EQ(Message(), "'m' is read-only and cannot be written");
}
TEST_F(BuilderTest, ReadOnlyArraysAreNotAddedTo) {
  const ValueId one = L(int64_t{1});
  b.Atomic(AtomicOp::kAdd, matrix, std::vector<ValueId>{L(int64_t{0}), L(int64_t{0})}, {&one, 1});
  EXPECT_EQ(Message(), "'m' is read-only and cannot be written");
}
TEST_F(BuilderTest, AtomicsOnTypesThatHaveNone) {
  const ParamId parts = b.AddArray({.name = "s", .dtype = DType::kComplex64, .rank = 0});
  const ValueId one = L(int64_t{1});
  b.Atomic(AtomicOp::kAdd, parts, {}, {&one, 1});
  EXPECT_EQ(Message(),
            "atomic add on 's' of complex64: it takes no complex numbers; their parts, as two arrays of floats");
}
TEST_F(BuilderTest, AtomicBitsOfFloats) {
  const ValueId one = L(int64_t{1});
  b.Atomic(AtomicOp::kXor, array, {&one, 1}, {&one, 1});
  EXPECT_EQ(Message(), "atomic xor on 'y' of float32: it takes integers and bools");
}
TEST_F(BuilderTest, AtomicIncrementOfAnotherType) {
  const ValueId one = L(int64_t{1});
  b.Atomic(AtomicOp::kIncrement, array, {&one, 1}, {&one, 1});
  EXPECT_EQ(Message(), "atomic increment on 'y' of float32: it takes uint32 only");
}
TEST_F(BuilderTest, AtomicsOnLocalArrays) {
  const ArrayId own = b.AddLocalArray("own", DType::kInt32, {});
  const ValueId one = L(int64_t{1});
  b.Atomic(AtomicOp::kAdd, own, {}, {&one, 1});
  EXPECT_EQ(Message(), "atomic add on 'own', which is the thread's own; nobody else sees it: load and store");
}
// Arrays of the kernel's own.

TEST_F(BuilderTest, SharedArraysHaveALimit) {
  const int64_t fits[] = {48 << 8}, more[] = {1};
  b.AddSharedArray("a", DType::kFloat32, fits);
  EXPECT_EQ(b.status(), absl::OkStatus());
  b.AddSharedArray("b", DType::kFloat32, more);
  EXPECT_EQ(Message(),
            "array 'b' needs more static shared memory than there is: 49152 bytes, of which the kernel's "
            "other arrays take 49152");
}
TEST_F(BuilderTest, SizesOfLocalArraysDoNotOverflow) {
  const int64_t huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  b.AddLocalArray("a", DType::kInt8, huge);
  EXPECT_THAT(Message(), HasSubstr("needs more local memory than there is: 524288 bytes"));
}
TEST_F(BuilderTest, ExtentsArePositive) {
  const int64_t none[] = {4, 0};
  b.AddSharedArray("a", DType::kInt8, none);
  EXPECT_EQ(Message(), "array 'a' has extent 0 in dimension 1; extents are positive");
}
TEST_F(BuilderTest, ConstantArraysHoldTheirData) {
  const int64_t three[] = {3};
  b.AddConstantArray("taps", DType::kInt16, three, "12345");
  EXPECT_EQ(Message(), "constant array 'taps' is given 5 bytes; its shape holds 6");
}
TEST_F(BuilderTest, ConstantArraysAreNotWritten) {
  const int64_t one[] = {1};
  const ArrayId taps = b.AddConstantArray("taps", DType::kInt8, one, "x");
  b.Store(taps, {L(int64_t{0})}, L(int64_t{1}));
  EXPECT_EQ(Message(), "'taps' is read-only and cannot be written");
}
TEST_F(BuilderTest, DynamicSharedArraysStandAtTheTop) {
  const ValueId n = L(int64_t{4});
  b.BeginIf(b.Literal(true));
  b.AddDynamicSharedArray("d", DType::kInt8, {&n, 1});
  EXPECT_THAT(Message(), HasSubstr("dynamic shared array 'd' is declared inside an if"));
}
TEST_F(BuilderTest, ExtentsOfDynamicArraysAreIntegers) {
  const ValueId n = L(4.5);
  b.AddDynamicSharedArray("d", DType::kInt8, {&n, 1});
  EXPECT_EQ(Message(), "an extent of a shared array is literal 4.5; int64 is wanted: cast it");
}
TEST_F(BuilderTest, StructsHaveTheSizeOfAType) {
  b.AddStruct("s", 6, 4);
  EXPECT_EQ(Message(), "struct 's' has size 6 and alignment 4; give sizeof and alignof of a C++ type");
}
TEST_F(BuilderTest, FieldsLieInsideOfTheirStruct) {
  const ParamId s = b.AddStruct("s", 8, 4);
  b.Field(s, 6, DType::kInt32);
  EXPECT_THAT(Message(), HasSubstr("field of struct 's': int32 at byte 6 of 8, which is outside of it"));
}
TEST_F(BuilderTest, BoundsAreWhatDevicesHave) {
  b.SetBounds({.max_threads = 2048});
  EXPECT_THAT(Message(), HasSubstr("2048 threads of a block (at most 1024)"));
}
TEST_F(BuilderTest, GroupsAreOfContiguousArrays) {
  const ValueId zero = L(int64_t{0});
  b.LoadGroup(array, {&zero, 1}, 4, CacheHint::kNone);
  EXPECT_THAT(Message(), HasSubstr("'y' is not contiguous: several elements at once"));
}
TEST_F(BuilderTest, GroupsHave16Bytes) {
  const ParamId y = b.AddArray({.name = "c", .dtype = DType::kFloat64, .rank = 1, .layout = Layout::kContiguous});
  const ValueId zero = L(int64_t{0});
  b.LoadGroup(y, {&zero, 1}, 4, CacheHint::kNone);
  EXPECT_EQ(Message(),
            "4 elements of 'c' at once are 32 bytes; 2, 4, 8 or 16 elements of together at most 16 bytes are "
            "possible");
}
TEST_F(BuilderTest, AccessesThatAreNone) {
  const auto message = [](DType dtype, bool store, const MemoryAccess& access) {
    Builder b("k");
    const ParamId y = b.AddArray({.name = "y", .dtype = dtype, .rank = 0});
    if (store) b.Store(y, {}, b.Cast(dtype, b.Literal(int64_t{1})), access);
    if (!store) b.Load(y, {}, access);
    return std::string(b.status().message());
  };
  const auto f32 = DType::kFloat32;
  EXPECT_EQ(message(f32, false, MemoryAccess::Release()), "access to 'y': a load is relaxed, acquire or sequential");
  EXPECT_EQ(message(f32, true, MemoryAccess::Acquire()), "access to 'y': a store is relaxed, release or sequential");
  EXPECT_EQ(message(f32, true, MemoryAccess::Cached(CacheHint::kReadOnly)),
            "access to 'y': a store takes the hints cache_global, streaming and write_through");
  EXPECT_EQ(message(f32, false, MemoryAccess::Cached(CacheHint::kWriteThrough)),
            "access to 'y': a load cannot be written through");
  EXPECT_EQ(message(f32, false, {MemoryAccess::kVolatile, CacheHint::kStreaming}),
            "access to 'y': a volatile access takes no hint to the caches");
  EXPECT_THAT(message(DType::kComplex64, false, MemoryAccess::Relaxed()),
              HasSubstr("a complex number is not loaded or stored in one piece"));
}
TEST_F(BuilderTest, HintsAreForGlobalMemory) {
  const ArrayId tile = b.AddSharedArray("tile", DType::kInt8, {});
  b.Load(tile, {}, MemoryAccess::Cached(CacheHint::kStreaming));
  EXPECT_THAT(Message(), HasSubstr("hints to the caches are for arrays in global memory"));
}

// Threads.

TEST_F(BuilderTest, BarriersAreSixteen) {
  b.ThreadBarrier(BarrierReduction::kNone, kNone, 16);
  EXPECT_EQ(Message(), "barrier 16: a block has barriers 0 to 15");
}
TEST_F(BuilderTest, BarriersCountWholeWarps) {
  b.ThreadBarrier(BarrierReduction::kNone, kNone, 1, L(int64_t{33}));
  EXPECT_THAT(Message(), HasSubstr("barrier for 33 threads: whole warps meet"));
}
TEST_F(BuilderTest, BarriersReduceBools) {
  b.ThreadBarrier(BarrierReduction::kAnd, L(int64_t{1}));
  EXPECT_EQ(Message(), "what a barrier reduces is literal 1; bool is wanted: cast it");
}
TEST_F(BuilderTest, VotesAreOfBools) {
  b.Warp(WarpOp::kAny, {L(int64_t{1}), Of(DType::kFloat32)});
  EXPECT_EQ(Message(), "warp operation 'any' on float32; a bool is wanted: compare it with 0");
}
TEST_F(BuilderTest, LanesReduceNumbers) {
  b.Warp(WarpOp::kReduceXor, {L(int64_t{1}), Of(DType::kFloat32)});
  EXPECT_EQ(Message(), "warp operation 'reduce_xor' on float32; it takes no such type");
}
TEST_F(BuilderTest, MasksAreIntegers) {
  b.Warp(WarpOp::kSync, {L(0.5)});
  EXPECT_EQ(Message(), "a mask of lanes is literal 0.5; uint32 is wanted: cast it");
}
TEST_F(BuilderTest, ShufflesAreAmongPowersOfTwo) {
  b.Warp(WarpOp::kShuffle, {L(int64_t{1}), Of(DType::kFloat32), L(int64_t{0})}, 12);
  EXPECT_EQ(Message(), "shuffle among groups of 12 lanes: 1, 2, 4, 8, 16 and 32 are possible");
}

// Control.

TEST_F(BuilderTest, BreakStandsInALoop) {
  b.Break();
  EXPECT_EQ(Message(), "break stands outside of any loop");
}
TEST_F(BuilderTest, ContinueStandsInALoopOfItsFunction) {
  b.BeginFor("i", DType::kInt64, L(int64_t{0}), L(int64_t{4}), L(int64_t{1}));
  b.BeginScope();
  b.Continue();
  EXPECT_EQ(Message(), "continue stands outside of any loop of its function");
}

// Messages.

TEST_F(BuilderTest, PrintfFormats) {
  const auto message = [](const std::string& format, std::vector<DType> types) {
    Builder b("k");
    std::vector<ValueId> values;
    for (DType type : types) values.push_back(b.Scalar(b.AddScalar("v", type)));
    b.Printf(format, values);
    return std::string(b.status().message());
  };
  EXPECT_EQ(message("%d of %5.2f%%\n", {DType::kInt8, DType::kFloat16}), "");
  EXPECT_EQ(message("%lld %x %c", {DType::kInt64, DType::kUInt64, DType::kInt8}), "");
  EXPECT_THAT(message("%s", {DType::kInt8}), HasSubstr("'%s' is not a conversion of kernels; they have %d"));
  EXPECT_THAT(message("%", {}), HasSubstr("'%' is not a conversion of kernels"));
  EXPECT_THAT(message("%*d", {DType::kInt8}), HasSubstr("'%*' is not a conversion of kernels"));
  EXPECT_EQ(message("%d %d", {DType::kInt8}),
            "printf: the format asks for more numbers than the 1 given; '%d' has none");
  EXPECT_EQ(message("%d", {DType::kInt8, DType::kInt8}), "printf: 2 numbers are given and the format asks for 1");
  EXPECT_EQ(message("%d", {DType::kFloat32}), "printf: '%d' is given float32; it prints integers: cast it, or use %g");
  EXPECT_EQ(message("%g", {DType::kInt32}), "printf: '%g' is given int32; it prints floats: cast it, or use %d");
  EXPECT_EQ(message("%g", {DType::kComplex64}), "printf: '%g' is given complex64; print its real and imaginary part");
  EXPECT_EQ(message("%c", {DType::kInt64}), "printf: '%c' is given a 64-bit integer; cast it to int32");
  EXPECT_EQ(message(std::string("a\0b", 3), {}), "printf: the format has a NUL character");
  EXPECT_THAT(message("", std::vector<DType>(33, DType::kInt8)), HasSubstr("33 operands; at most 32 are possible"));
}
TEST_F(BuilderTest, AssertionsAreOfBools) {
  b.Assert(L(int64_t{1}), "x");
  EXPECT_THAT(Message(), HasSubstr("the condition of an assertion is literal 1; a bool is wanted"));
}
TEST_F(BuilderTest, AssertionsHaveNoNul) {
  b.Assert(b.Literal(true), std::string("a\0b", 3));
  EXPECT_EQ(Message(), "the message of an assertion has a NUL character");
}

TEST_F(BuilderTest, StoringASmallerKindIsRefused) {
  const ParamId ints = b.AddArray({.name = "n", .dtype = DType::kInt32, .rank = 1});
  b.Store(ints, {L(int64_t{0})}, Of(DType::kFloat32));
  EXPECT_EQ(Message(), "'n' is int32 and cannot take float32 without a cast; write int32(...)");
}
TEST_F(BuilderTest, StoringALiteralThatDoesNotFitIsRefused) {
  const ParamId bytes = b.AddArray({.name = "n", .dtype = DType::kUInt8, .rank = 0});
  b.Store(bytes, {}, L(int64_t{256}));
  EXPECT_THAT(Message(), HasSubstr("'n': literal 256 does not fit uint8"));
}
TEST_F(BuilderTest, StoresNarrowWithinOneKind) {
  b.Store(array, {L(int64_t{0})}, Of(DType::kFloat64));
  b.Store(array, {L(int64_t{0})}, Of(DType::kInt64));
  b.Store(array, {L(int64_t{0})}, Of(DType::kBool));
  b.Store(array, {L(int64_t{0})}, L(int64_t{3}));
  EXPECT_TRUE(b.status().ok());
}
TEST_F(BuilderTest, ShapeOfADimensionThatIsNotThere) {
  b.Shape(array, 1);
  EXPECT_EQ(b.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(Message(), HasSubstr("shape of 'y': dimension 1 of an array of rank 1"));
}
TEST_F(BuilderTest, AScalarIsNotAnArray) {
  b.Load(0, {L(int64_t{0})});
  EXPECT_EQ(Message(), "load: parameter 'bool' is not an array");
}
TEST_F(BuilderTest, AnArrayIsNotAScalar) {
  b.Scalar(array);
  EXPECT_EQ(Message(), "scalar: parameter 'y' is not a scalar");
}
TEST_F(BuilderTest, NoSuchParameter) {
  b.Scalar(99);
  EXPECT_EQ(Message(), "scalar: there is no parameter #99");
}
TEST(Parameters, RankAndTypeAreChecked) {
  Builder rank("k");
  rank.AddArray({.name = "x", .dtype = DType::kInt8, .rank = 9});
  EXPECT_EQ(rank.status().message(), "array 'x' has rank 9; ranks 0 to 8 are possible");
  Builder type("k");
  type.AddArray({.name = "x", .rank = 1});
  EXPECT_EQ(type.status().message(), "array 'x' has no element type");
  Builder scalar("k");
  scalar.AddScalar("s", DType::kVoid);
  EXPECT_EQ(scalar.status().message(), "scalar 's' has no type");
  // Numbers from data that are no dtypes.
  const DType none = static_cast<DType>(99);
  Builder by_number("k");
  by_number.AddScalar("s", none);
  EXPECT_EQ(by_number.status().message(), "scalar 's' has no type");
  Builder array_of_none("k");
  array_of_none.AddArray({.name = "x", .dtype = none});
  EXPECT_EQ(array_of_none.status().message(), "array 'x' has no element type");
  Builder cast("k");
  cast.Cast(none, cast.Literal(int64_t{1}));
  EXPECT_EQ(cast.status().message(), "a cast to no type");
  Builder variable("k");
  variable.NewVar("v", none, variable.Literal(int64_t{1}));
  EXPECT_EQ(variable.status().message(), "variable 'v' has no type");
}
TEST(Parameters, KernelNamesAreIdentifiers) {
  for (const char* name : {"", "1k", "a-b", "k\xc3\xa9"}) {
    EXPECT_THAT(std::string(Builder(name).status().message()), HasSubstr("is not an identifier")) << name;
  }
  EXPECT_TRUE(Builder("_saxpy_2").status().ok());
}
TEST_F(BuilderTest, GlobalIndexIsInt32OrInt64) {
  EXPECT_EQ(b.TypeOf(b.GlobalIndex(DType::kInt64)), DType::kInt64);
  EXPECT_EQ(b.TypeOf(b.GlobalIndex(DType::kInt32)), DType::kInt32);
  b.GlobalIndex(DType::kUInt8);
  EXPECT_EQ(Message(), "the global index is int32 or int64, not uint8");
}

// Variables and control flow.

TEST_F(BuilderTest, AVariableFromALiteralHasItsDefaultType) {
  EXPECT_EQ(b.VarType(b.NewVar("v", DType::kVoid, L(int64_t{1}))), DType::kInt64);
  EXPECT_EQ(b.VarType(b.NewVar("v", DType::kFloat32, L(int64_t{1}))), DType::kFloat32);
}
TEST_F(BuilderTest, AssigningASmallerKindIsRefused) {
  const VarId v = b.NewVar("v", DType::kInt32, L(int64_t{1}));
  b.Write(v, Of(DType::kFloat32));
  EXPECT_EQ(Message(), "variable 'v' is int32 and cannot take float32 without a cast; write int32(...)");
}
TEST_F(BuilderTest, NoSuchVariable) {
  b.Read(3);
  EXPECT_EQ(Message(), "there is no variable #3");
}
TEST_F(BuilderTest, ConditionsAreBools) {
  b.BeginIf(Of(DType::kInt32));
  EXPECT_EQ(Message(), "the condition of an if is int32; a bool is wanted: compare it with 0");
}
TEST_F(BuilderTest, LoopConditionsAreBools) {
  b.BeginWhile();
  b.WhileCondition(Of(DType::kFloat32));
  EXPECT_EQ(Message(), "the condition of a while is float32; a bool is wanted: compare it with 0");
}
TEST_F(BuilderTest, LoopsCountInIntegers) {
  b.BeginFor("i", DType::kFloat32, L(int64_t{0}), L(int64_t{1}), L(int64_t{1}));
  EXPECT_EQ(Message(), "loop variable 'i' is float32; loops count in integers");
}
TEST_F(BuilderTest, AValueDoesNotLeaveItsBlock) {
  b.BeginIf(Of(DType::kBool));
  const ValueId inside = b.Load(array, {L(int64_t{0})});
  b.EndIf();
  b.Store(array, {L(int64_t{1})}, inside);
  EXPECT_THAT(Message(), HasSubstr("made inside an if, a loop's condition or a loop's body is used outside of it"));
}
TEST_F(BuilderTest, AValueOfAnotherKernelIsRefused) {
  b.Apply(Op::kAdd, {12345, L(int64_t{1})});
  EXPECT_THAT(Message(), HasSubstr("a value that does not exist in this kernel"));
}
TEST_F(BuilderTest, BlocksAreEndedInOrder) {
  b.BeginIf(Of(DType::kBool));
  b.EndFor();
  EXPECT_EQ(Message(), "the end of a for does not close the innermost open block");
}
TEST_F(BuilderTest, ElseWithoutIf) {
  b.BeginElse();
  EXPECT_EQ(Message(), "else does not close the innermost open block");
}
TEST_F(BuilderTest, BlocksAreEnded) {
  b.BeginIf(Of(DType::kBool));
  EXPECT_EQ(std::move(b).Finish().status().message(), "kernel 'k': 1 open block(s) were not ended");
}
TEST_F(BuilderTest, BlocksNestToALimit) {
  for (int i = 0; i < kMaxDepth; ++i) b.BeginIf(Of(DType::kBool));
  EXPECT_TRUE(b.status().ok());
  b.BeginIf(Of(DType::kBool));
  EXPECT_EQ(b.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Message(), "ifs, loops and functions nest more than 256 deep");
}
TEST(Limits, AKernelHasAMostNumberOfInstructions) {
  Builder b("k");
  const ParamId a = b.AddScalar("a", DType::kFloat32);
  ValueId sum = b.Scalar(a);
  for (uint32_t i = 0; i < kMaxInstructions && b.status().ok(); ++i) sum = b.Apply(Op::kAdd, {sum, sum});
  EXPECT_EQ(b.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(b.status().message(), "kernel 'k' has more than 4194304 instructions; split it into several kernels");
}

TEST_F(BuilderTest, TheFirstErrorIsKeptAndTheRestIsQuiet) {
  const ValueId bad = b.Load(array, {L(0.5)});
  const std::string first = Message();
  EXPECT_EQ(bad, kNone);
  EXPECT_EQ(b.Apply(Op::kAdd, {bad, L(int64_t{1})}), kNone);
  b.Store(array, {bad}, bad);
  b.BeginIf(bad);
  b.EndIf();
  b.BeginFor("i", DType::kInt64, bad, bad, bad);
  b.EndFor();
  EXPECT_EQ(Message(), first);
  EXPECT_EQ(std::move(b).Finish().status().message(), first);
}

}  // namespace
}  // namespace slipway::ir
