// Functions of floats alone (PTX ISA 9.7.3): reciprocals, roots, approximate transcendentals, tests.
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
    {"ex2", &ApproximateIntrinsic<llvm::Intrinsic::exp2>, types::kF32 | types::kHalves | types::kPackedHalves},
    {"tanh", &ApproximateIntrinsic<llvm::Intrinsic::tanh>, types::kF32 | types::kHalves | types::kPackedHalves},
    {"copysign", &CopySign, types::kF32F64},
    {"testp", &TestP, types::kF32F64},
};

}  // namespace

absl::Span<const InstructionRow> FloatInstructions() { return kRows; }

}  // namespace slipway::cpu
