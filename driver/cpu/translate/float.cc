// Functions of floats alone (PTX ISA 9.7.3): reciprocals, roots, approximate transcendentals, tests.
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "driver/cpu/translate/float_arithmetic.h"
#include "driver/cpu/translate/instructions.h"
#include "llvm/IR/Intrinsics.h"

namespace slipway::cpu {
namespace {

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 look at the upper half of their operand alone and give the upper half of
// the result alone.
Value* UpperHalf(Emitter& e, Value* value) {
  return e.b.CreateBitCast(e.b.CreateAnd(e.Bits(value), ~uint64_t{0} << 32), e.b.getDoubleTy());
}

void RcpSqrt(Emitter& e, FloatOp op) {
  const FloatMode mode = TakeFloatMode(e);
  const bool approximate = e.Take("approx");
  const Type type = e.TakeType();
  if (approximate && mode.ftz && type.bits == 64) {
    e.FinishModifiers();
    if (!e.Want(2, 2)) return;
    Value* x = FlushSubnormal(e, UpperHalf(e, e.In(1, type)), type);
    return e.Out(UpperHalf(e, FlushSubnormal(e, FloatArithmetic(e, op, type, {}, {x}), type)), type);
  }
  EmitFloatArithmetic(e, op, type, mode);
}
void Rcp(Emitter& e) { RcpSqrt(e, FloatOp::kRcp); }
void Sqrt(Emitter& e) { RcpSqrt(e, FloatOp::kSqrt); }

// A float function of one operand that is approximate on a GPU: here the host's own function, rounded.
template <class F>
void Approximate(Emitter& e, F function) {
  const bool ftz = e.Take("ftz");
  const bool upper_half = ftz;
  if (!e.Take("approx")) {
    // tanh and ex2 of half types have no other form; f32 forms carry .approx.
    return e.Malformed("expected .approx");
  }
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (!e.Want(2, 2)) return;
  Value* result = e.PerLane(type, {e.In(1, type)}, [&](const std::vector<Value*>& x) -> Value* {
    Value* value = ftz && type.kind == Kind::kFloat ? FlushSubnormal(e, x[0], type.lane()) : x[0];
    if (type.bits == 64) {
      if (upper_half) value = UpperHalf(e, value);
      Value* wide = function(value);
      return upper_half ? UpperHalf(e, FlushSubnormal(e, wide, type)) : wide;
    }
    if (type.bits == 16) {
      return Narrow(e, e.b.CreateFPExt(function(WidenToFloat(e, value, type.lane())), e.b.getDoubleTy()), type.lane(),
                    Rounding::kNearest);
    }
    Value* narrow = function(value);
    return ftz ? FlushSubnormal(e, narrow, type) : narrow;
  });
  e.Out(result, type);
}

template <llvm::Intrinsic::ID kId>
void ApproximateIntrinsic(Emitter& e) {
  Approximate(e, [&](Value* x) { return e.Call(kId, {x}); });
}

// 2^x, by operations that vectorise, as calls of the C library do not: x = n + f with |f| <= 1/2, and seven terms of
// the series of e^(f ln 2), of which the next is below 2^-27.
Value* PowerOfTwo(Emitter& e, Value* x) {
  static constexpr double kTerms[] = {1.5252733804059838e-05, 0.00015403530393381606, 0.0013333558146428441,
                                      0.009618129107628477,   0.055504108664821576,   0.2402265069591007,
                                      0.6931471805599453};  // ln(2)^k / k!, from 7 down to 1.
  // A sum of this size has the nearest integer in its lowest bits.
  constexpr float kInteger = 0x1.8p23F;
  constexpr uint32_t kIntegerBits = 0x4b400000, kBias = 127, kMantissa = 23;
  const auto real = [&](double value) { return llvm::ConstantFP::get(x->getType(), value); };
  // Beyond, the result is 0 or infinite. A NaN goes along as any number.
  Value* const above = e.b.CreateSelect(e.b.CreateFCmpOGT(x, real(-252)), x, real(-252));
  Value* const clamped = e.b.CreateSelect(e.b.CreateFCmpOLT(above, real(252)), above, real(252));
  Value* const sum = e.b.CreateFAdd(clamped, real(kInteger));
  Value* const n = e.b.CreateSub(e.Bits(sum), e.Int(32, kIntegerBits));
  Value* const f = e.b.CreateFSub(clamped, e.b.CreateFSub(sum, real(kInteger)));
  Value* series = real(kTerms[0]);
  for (size_t k = 1; k < std::size(kTerms); ++k) series = e.Call(llvm::Intrinsic::fma, {series, f, real(kTerms[k])});
  series = e.Call(llvm::Intrinsic::fma, {series, f, real(1)});
  // In two steps, as the result may be subnormal, or infinite.
  const auto power = [&](Value* exponent) {
    return e.b.CreateBitCast(e.b.CreateShl(e.b.CreateAdd(exponent, e.Int(32, kBias)), kMantissa), x->getType());
  };
  Value* const half = e.b.CreateAShr(n, 1);
  Value* const result = e.b.CreateFMul(e.b.CreateFMul(series, power(half)), power(e.b.CreateSub(n, half)));
  return e.b.CreateSelect(e.b.CreateFCmpUNO(x, x), x, result);
}

void Ex2(Emitter& e) {
  Approximate(e, [&](Value* x) { return PowerOfTwo(e, x); });
}

void Rsqrt(Emitter& e) {
  Approximate(e, [&](Value* x) {
    return e.b.CreateFDiv(llvm::ConstantFP::get(x->getType(), 1), e.Call(llvm::Intrinsic::sqrt, {x}));
  });
}

void CopySign(Emitter& e) {  // copysign d, a, b: the sign of a, the magnitude of b.
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (e.Want(3, 3)) e.Out(e.Call(llvm::Intrinsic::copysign, {e.In(2, type), e.In(1, type)}), type);
}

void TestP(Emitter& e) {
  static constexpr struct {
    std::string_view name;
    llvm::FPClassTest classes;
  } kTests[] = {{"finite", llvm::fcFinite},
                {"infinite", llvm::fcInf},
                {"number", ~llvm::fcNan},
                {"notanumber", llvm::fcNan},
                {"normal", llvm::fcNormal | llvm::fcZero},
                {"subnormal", llvm::fcSubnormal}};
  llvm::FPClassTest classes = llvm::fcNone;
  for (const auto& test : kTests) {
    if (e.Take(test.name)) classes = test.classes;
  }
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (classes == llvm::fcNone) return e.Malformed("expected a test such as .finite");
  if (!e.Want(2, 2)) return;
  e.Out(e.b.createIsFPClass(e.In(1, type), classes), Type{Kind::kPredicate, 1});
}

constexpr InstructionRow kRows[] = {
    {"rcp", &Rcp, types::kF32F64},
    {"sqrt", &Sqrt, types::kF32F64},
    {"rsqrt", &Rsqrt, types::kF32F64},
    {"sin", &ApproximateIntrinsic<llvm::Intrinsic::sin>, types::kF32},
    {"cos", &ApproximateIntrinsic<llvm::Intrinsic::cos>, types::kF32},
    {"lg2", &ApproximateIntrinsic<llvm::Intrinsic::log2>, types::kF32},
    {"ex2", &Ex2, types::kF32 | types::kHalves | types::kPackedHalves},
    {"tanh", &ApproximateIntrinsic<llvm::Intrinsic::tanh>, types::kF32 | types::kHalves | types::kPackedHalves},
    {"copysign", &CopySign, types::kF32F64},
    {"testp", &TestP, types::kF32F64},
};

}  // namespace

absl::Span<const InstructionRow> FloatInstructions() { return kRows; }

}  // namespace slipway::cpu
