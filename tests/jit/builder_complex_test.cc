// Complex numbers as the Builder writes them.
#include <complex>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jit/builder.h"
#include "jit/fold.h"
#include "tests/jit/builder_fixture.h"

namespace slipway::ir {
namespace {

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

}  // namespace
}  // namespace slipway::ir
