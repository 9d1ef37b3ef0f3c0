#include "driver/cpu/translate/float_arithmetic.h"

#include "llvm/IR/Intrinsics.h"

namespace slipway::cpu {
namespace {

constexpr size_t kOperands[] = {2, 2, 2, 3, 2, 1, 1};  // Of each FloatOp.

const char* const kRuntimeName[] = {"add", "add", "mul", "fma", "div", "div", "sqrt"};

// The operation in the operands' own LLVM type, to nearest.
Value* Native(Emitter& e, FloatOp op, const std::vector<Value*>& x) {
  switch (op) {
    case FloatOp::kAdd:
      return e.b.CreateFAdd(x[0], x[1]);
    case FloatOp::kSub:
      return e.b.CreateFSub(x[0], x[1]);
    case FloatOp::kMul:
      return e.b.CreateFMul(x[0], x[1]);
    case FloatOp::kFma:
      return e.Call(llvm::Intrinsic::fma, {x[0], x[1], x[2]});
    case FloatOp::kDiv:
      return e.b.CreateFDiv(x[0], x[1]);
    case FloatOp::kRcp:
      return e.b.CreateFDiv(llvm::ConstantFP::get(x[0]->getType(), 1), x[0]);
    case FloatOp::kSqrt:
      return e.Call(llvm::Intrinsic::sqrt, {x[0]});
  }
  return nullptr;
}

// The same of narrower operands widened to double: exact, or rounded to odd.
Value* ToOdd(Emitter& e, FloatOp op, const std::vector<Value*>& x) {
  switch (op) {
    case FloatOp::kAdd:
      return AddToOdd(e, x[0], x[1]);
    case FloatOp::kSub:
      return AddToOdd(e, x[0], e.b.CreateFNeg(x[1]));
    case FloatOp::kMul:
      return e.b.CreateFMul(x[0], x[1]);
    case FloatOp::kFma:
      return AddToOdd(e, e.b.CreateFMul(x[0], x[1]), x[2]);
    case FloatOp::kDiv:
      return DivideToOdd(e, x[0], x[1]);
    case FloatOp::kRcp:
      return DivideToOdd(e, llvm::ConstantFP::get(e.b.getDoubleTy(), 1), x[0]);
    case FloatOp::kSqrt:
      return SqrtToOdd(e, x[0]);
  }
  return nullptr;
}

// An exact zero sum of operands with opposite signs is -0 when rounding down, which computing to nearest in double
// does not give; when every product and addend is zero too, the signs decide as they do to nearest.
Value* FixZeroSum(Emitter& e, FloatOp op, const std::vector<Value*>& x, Value* sum) {
  if (op != FloatOp::kAdd && op != FloatOp::kSub && op != FloatOp::kFma) return sum;
  Value* first = op == FloatOp::kFma ? e.b.CreateFMul(x[0], x[1]) : x[0];
  Value* second = op == FloatOp::kFma ? x[2] : op == FloatOp::kSub ? e.b.CreateFNeg(x[1]) : x[1];
  Value* zero = llvm::ConstantFP::get(e.b.getDoubleTy(), 0);
  Value* opposite = e.b.CreateICmpSLT(e.b.CreateXor(e.Bits(first), e.Bits(second)), e.Int(64, 0));
  Value* negative_zero = e.b.CreateAnd(e.b.CreateFCmpOEQ(sum, zero), opposite);
  return e.b.CreateSelect(negative_zero, llvm::ConstantFP::get(e.b.getDoubleTy(), -0.0), sum);
}

Value* Relu(Emitter& e, Value* value) {  // max(value, 0); a NaN stays one.
  Value* zero = llvm::ConstantFP::get(value->getType(), 0);
  return e.b.CreateSelect(e.b.CreateFCmpOLE(value, zero), zero, value);
}

Value* F64(Emitter& e, FloatOp op, FloatMode mode, std::vector<Value*> x) {
  Value* result = nullptr;
  if (mode.rounding == Rounding::kNearest) {
    result = Native(e, op, x);
  } else {
    if (op == FloatOp::kSub) x[1] = e.b.CreateFNeg(x[1]);
    if (op == FloatOp::kRcp) x = {llvm::ConstantFP::get(e.b.getDoubleTy(), 1), x[0]};
    const char* name = kRuntimeName[static_cast<size_t>(op)];
    if (x.size() == 1) result = CallF64(e, name, {x[0]}, mode.rounding);
    if (x.size() == 2) result = CallF64(e, name, {x[0], x[1]}, mode.rounding);
    if (x.size() == 3) result = CallF64(e, name, {x[0], x[1], x[2]}, mode.rounding);
  }
  if (mode.sat) result = Saturate(e, result);
  return result;
}

}  // namespace

FloatMode TakeFloatMode(Emitter& e) {
  FloatMode mode;
  mode.rounding = TakeRounding(e);
  mode.ftz = e.Take("ftz");
  mode.sat = e.Take("sat");
  mode.relu = e.Take("relu");
  return mode;
}

Value* NarrowExact(Emitter& e, Value* value, Type lane) {
  if (lane.bits != 16) return value;
  Value* is_nan = e.b.CreateFCmpUNO(value, value);
  Value* bits = lane.kind == Kind::kBrainFloat ? e.b.CreateTrunc(e.b.CreateLShr(e.Bits(value), 16), e.b.getInt16Ty())
                                               : e.Bits(e.b.CreateFPTrunc(value, e.b.getHalfTy()));
  return e.b.CreateSelect(is_nan, e.Int(16, 0x7fff), bits);
}

Value* FloatArithmetic(Emitter& e, FloatOp op, Type lane, FloatMode mode, const std::vector<Value*>& operands) {
  std::vector<Value*> x = operands;
  if (lane.bits == 64) return F64(e, op, mode, x);
  if (mode.ftz) {
    for (Value*& operand : x) operand = FlushSubnormal(e, operand, lane);
  }
  const bool nearest = mode.rounding == Rounding::kNearest;
  const bool sum = op == FloatOp::kAdd || op == FloatOp::kSub;
  if (lane.bits == 32 && nearest && (!mode.ftz || sum || op == FloatOp::kSqrt)) {
    Value* result = Native(e, op, x);
    if (mode.ftz) result = FlushSubnormal(e, result, lane);  // A sum that is subnormal is exact.
    if (mode.sat) result = Saturate(e, result);
    return mode.relu ? Relu(e, result) : result;
  }
  // f16 sums and products to nearest come out right through float (Figueroa, "When is double rounding innocuous?",
  // SIGNUM Newsletter 30(3), 1995: 24 >= 2 * 11 + 2), which vectorises.
  if (lane.bits == 16 && lane.kind == Kind::kFloat && nearest && !mode.ftz && (sum || op == FloatOp::kMul)) {
    for (Value*& operand : x) operand = WidenToFloat(e, operand, lane);
    Value* result = Native(e, op, x);
    if (mode.sat) result = Saturate(e, result);
    if (mode.relu) result = Relu(e, result);
    return NarrowExact(e, result, lane);
  }
  for (Value*& operand : x) operand = WidenToDouble(e, operand, lane);
  Value* exact = ToOdd(e, op, x);
  if (mode.rounding == Rounding::kDown) exact = FixZeroSum(e, op, x, exact);
  // The hardware judges f32 products before they are rounded, everything else after.
  const bool flush_early = mode.ftz && lane.bits == 32 && (op == FloatOp::kMul || op == FloatOp::kFma);
  if (flush_early) {
    Value* magnitude = e.Call(llvm::Intrinsic::fabs, {exact});
    Value* tiny = e.b.CreateFCmpOLT(magnitude, llvm::ConstantFP::get(e.b.getDoubleTy(), 0x1p-126));
    Value* zero = e.Call(llvm::Intrinsic::copysign, {llvm::ConstantFP::get(e.b.getDoubleTy(), 0), exact});
    exact = e.b.CreateSelect(tiny, zero, exact);
  }
  if (mode.sat) exact = Saturate(e, exact);
  if (mode.relu) exact = Relu(e, exact);
  Value* result = Narrow(e, exact, lane, mode.rounding);
  return mode.ftz && !flush_early ? FlushSubnormal(e, result, lane) : result;
}

Type TakeFloatType(Emitter& e) { return e.Take("f32x2") ? Type{Kind::kFloat, 32, 2} : e.TakeType(); }

bool EmitMixedArithmetic(Emitter& e, FloatOp op, Type type, FloatMode mode) {
  const std::string_view name = e.TakeOneOf({"f16", "bf16"});
  if (name.empty()) return false;
  const Type narrow{name == "f16" ? Kind::kFloat : Kind::kBrainFloat, 16};
  e.FinishModifiers();
  const size_t count = kOperands[static_cast<size_t>(op)];
  if (!e.Want(count + 1, count + 1)) return true;
  if (!(type == Type{Kind::kFloat, 32})) {
    e.Malformed("expected .f32.", name);
    return true;
  }
  std::vector<Value*> x;
  for (size_t i = 1; i < count; ++i) x.push_back(WidenToFloat(e, e.In(i, narrow), narrow));
  x.push_back(e.In(count, type));
  e.Out(FloatArithmetic(e, op, type, mode, x), type);
  return true;
}

void EmitFloatArithmetic(Emitter& e, FloatOp op, Type type, FloatMode mode) {
  e.FinishModifiers();
  const size_t count = kOperands[static_cast<size_t>(op)];
  if (!e.Want(count + 1, count + 1)) return;
  if (type.kind == Kind::kTensorFloat) return e.Unsupported("tf32 arithmetic");
  if (op >= FloatOp::kDiv && type.bits == 32 && type.lanes == 2) return e.Unsupported("f32x2");
  const auto lane = [&](const std::vector<Value*>& x) { return FloatArithmetic(e, op, type.lane(), mode, x); };
  Value* result = nullptr;
  if (count == 1) result = e.PerLane(type, {e.In(1, type)}, lane);
  if (count == 2) result = e.PerLane(type, {e.In(1, type), e.In(2, type)}, lane);
  if (count == 3) result = e.PerLane(type, {e.In(1, type), e.In(2, type), e.In(3, type)}, lane);
  e.Out(result, type);
}

}  // namespace slipway::cpu
