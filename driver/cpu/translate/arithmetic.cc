// Arithmetic: the opcodes that exist for integers and floats, and integer arithmetic (PTX ISA 9.7.1 to 9.7.5).
#include "driver/cpu/translate/emitter.h"
#include "driver/cpu/translate/float_arithmetic.h"
#include "driver/cpu/translate/instructions.h"
#include "llvm/IR/Intrinsics.h"

namespace slipway::cpu {
namespace {

Value* Widen(Emitter& e, Value* value, Type type, int bits) {
  return type.is_signed() ? e.b.CreateSExt(value, e.b.getIntNTy(bits)) : e.b.CreateZExt(value, e.b.getIntNTy(bits));
}

// a + b + carry, with the carry out.
Value* AddWithCarry(Emitter& e, Value* a, Value* b, Value* carry_in, bool set_carry) {
  const unsigned bits = a->getType()->getIntegerBitWidth();
  llvm::Type* wide = e.b.getIntNTy(2 * bits);
  Value* sum = e.b.CreateAdd(e.b.CreateZExt(a, wide), e.b.CreateZExt(b, wide));
  sum = e.b.CreateAdd(sum, e.b.CreateZExt(carry_in, wide));
  if (set_carry) e.b.CreateStore(e.b.CreateTrunc(e.b.CreateLShr(sum, bits), e.b.getInt1Ty()), e.carry);
  return e.b.CreateTrunc(sum, a->getType());
}

Value* CarryIn(Emitter& e) { return e.b.CreateLoad(e.b.getInt1Ty(), e.carry); }

void AddSub(Emitter& e, bool subtract) {
  const FloatMode mode = TakeFloatMode(e);
  const bool set_carry = e.Take("cc");
  const Type type = TakeFloatType(e);
  if (type.is_float()) {
    const FloatOp op = subtract ? FloatOp::kSub : FloatOp::kAdd;
    if (!EmitMixedArithmetic(e, op, type, mode)) EmitFloatArithmetic(e, op, type, mode);
    return;
  }
  e.FinishModifiers();
  if (!e.Want(3, 3)) return;
  Value* result = e.PerLane(type, {e.In(1, type), e.In(2, type)}, [&](const std::vector<Value*>& x) -> Value* {
    if (mode.sat) return e.Call(subtract ? llvm::Intrinsic::ssub_sat : llvm::Intrinsic::sadd_sat, {x[0], x[1]});
    // The flag after a subtraction is the carry of a + ~b + 1, which is "no borrow".
    if (set_carry) return AddWithCarry(e, x[0], subtract ? e.b.CreateNot(x[1]) : x[1], e.b.getInt1(subtract), true);
    return subtract ? e.b.CreateSub(x[0], x[1]) : e.b.CreateAdd(x[0], x[1]);
  });
  e.Out(result, type);
}
void Add(Emitter& e) { AddSub(e, false); }
void Sub(Emitter& e) { AddSub(e, true); }

void AddSubCarry(Emitter& e, bool subtract) {
  const bool set_carry = e.Take("cc");
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (!e.Want(3, 3)) return;
  Value* y = e.In(2, type);
  e.Out(AddWithCarry(e, e.In(1, type), subtract ? e.b.CreateNot(y) : y, CarryIn(e), set_carry), type);
}
void AddC(Emitter& e) { AddSubCarry(e, false); }
void SubC(Emitter& e) { AddSubCarry(e, true); }

enum class Half : uint8_t { kLow, kHigh, kWide };

Half TakeHalf(Emitter& e) {
  const std::string_view half = e.TakeOneOf({"lo", "hi", "wide"});
  if (half.empty()) e.Malformed("expected .lo, .hi or .wide");
  return half == "hi" ? Half::kHigh : half == "wide" ? Half::kWide : Half::kLow;
}

Value* Product(Emitter& e, Half half, Type type, Value* x, Value* y) {
  if (half == Half::kLow) return e.b.CreateMul(x, y);
  const int wide = 2 * type.bits;
  // The product of two widened values cannot wrap, which LLVM needs to be told to see through address arithmetic.
  Value* product =
      e.b.CreateMul(Widen(e, x, type, wide), Widen(e, y, type, wide), "", !type.is_signed(), type.is_signed());
  return half == Half::kWide ? product : e.b.CreateTrunc(e.b.CreateLShr(product, type.bits), e.b.getIntNTy(type.bits));
}

Type ResultType(Half half, Type type) {
  return half == Half::kWide ? Type{type.kind, static_cast<uint8_t>(2 * type.bits)} : type;
}

void Mul(Emitter& e) {
  const FloatMode mode = TakeFloatMode(e);
  Half half = Half::kLow;
  const bool is_integer = !e.failed() && [&] {
    for (std::string_view modifier : e.instruction->modifiers) {
      if (modifier == "lo" || modifier == "hi" || modifier == "wide") return true;
    }
    return false;
  }();
  if (is_integer) half = TakeHalf(e);
  const Type type = TakeFloatType(e);
  if (type.is_float()) return EmitFloatArithmetic(e, FloatOp::kMul, type, mode);
  if (!is_integer) return e.Malformed("expected .lo, .hi or .wide");
  e.FinishModifiers();
  if (!e.Want(3, 3)) return;
  e.Out(Product(e, half, type, e.In(1, type), e.In(2, type)), ResultType(half, type));
}

void Fma(Emitter& e) {
  const FloatMode mode = TakeFloatMode(e);
  const Type type = TakeFloatType(e);
  if (!EmitMixedArithmetic(e, FloatOp::kFma, type, mode)) EmitFloatArithmetic(e, FloatOp::kFma, type, mode);
}

Value* AddSaturating(Emitter& e, Value* x, Value* y, bool saturate) {
  return saturate ? e.Call(llvm::Intrinsic::sadd_sat, {x, y}) : e.b.CreateAdd(x, y);
}

void Mad(Emitter& e) {
  const FloatMode mode = TakeFloatMode(e);
  const std::string_view name = e.TakeOneOf({"lo", "hi", "wide"});
  const bool set_carry = e.Take("cc");
  const Type type = e.TakeType();
  if (type.is_float()) return EmitFloatArithmetic(e, FloatOp::kFma, type, mode);
  if (name.empty()) return e.Malformed("expected .lo, .hi or .wide");
  const Half half = name == "hi" ? Half::kHigh : name == "wide" ? Half::kWide : Half::kLow;
  if (mode.sat && half != Half::kHigh) return e.Malformed(".sat is for .hi");
  e.FinishModifiers();
  if (!e.Want(4, 4)) return;
  const Type result = ResultType(half, type);
  Value* product = Product(e, half, type, e.In(1, type), e.In(2, type));
  Value* addend = e.In(3, result);
  e.Out(
      set_carry ? AddWithCarry(e, product, addend, e.b.getFalse(), true) : AddSaturating(e, product, addend, mode.sat),
      result);
}

void MadC(Emitter& e) {
  const Half half = TakeHalf(e);
  const bool set_carry = e.Take("cc");
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (!e.Want(4, 4)) return;
  Value* product = Product(e, half, type, e.In(1, type), e.In(2, type));
  e.Out(AddWithCarry(e, product, e.In(3, type), CarryIn(e), set_carry), type);
}

// The product of the operands' low 24 bits: bits 31..0 of it, or 47..16.
Value* Product24(Emitter& e, bool high, Type type, Value* x, Value* y) {
  const auto low24 = [&](Value* value) {
    Value* left = e.b.CreateShl(value, 8);
    return Widen(e, type.is_signed() ? e.b.CreateAShr(left, 8) : e.b.CreateLShr(left, 8), type, 64);
  };
  Value* product = e.b.CreateMul(low24(x), low24(y));
  return e.b.CreateTrunc(high ? e.b.CreateLShr(product, 16) : product, e.b.getInt32Ty());
}

void Mul24(Emitter& e, bool add) {
  const bool high = e.TakeOneOf({"lo", "hi"}) == "hi";
  const bool saturate = e.Take("sat");
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (!e.Want(add ? 4 : 3, add ? 4 : 3)) return;
  Value* result = Product24(e, high, type, e.In(1, type), e.In(2, type));
  if (add) result = AddSaturating(e, result, e.In(3, type), saturate);
  e.Out(result, type);
}
void PlainMul24(Emitter& e) { Mul24(e, false); }
void Mad24(Emitter& e) { Mul24(e, true); }

// div.approx: the exact quotient; but a divisor past 2^126 has a reciprocal that is flushed, so that the quotient is 0,
// or NaN for an infinite dividend (PTX ISA 9.7.3.8).
void ApproximateDiv(Emitter& e, Type type, FloatMode mode) {
  e.FinishModifiers();
  if (!e.Want(3, 3)) return;
  if (!(type == Type{Kind::kFloat, 32})) return e.Malformed("expected .f32");
  Value* x = e.In(1, type);
  Value* y = e.In(2, type);
  Value* magnitude = e.Call(llvm::Intrinsic::fabs, {y});
  Value* huge = e.b.CreateFCmpOGT(magnitude, llvm::ConstantFP::get(y->getType(), 0x1p126));
  Value* finite = e.b.CreateFCmpONE(magnitude, llvm::ConstantFP::getInfinity(y->getType()));
  Value* flushed = e.Call(llvm::Intrinsic::copysign, {llvm::ConstantFP::get(y->getType(), 0), y});
  Value* quotient = FloatArithmetic(e, FloatOp::kDiv, type, mode, {x, y});
  e.Out(e.b.CreateSelect(e.b.CreateAnd(huge, finite), e.b.CreateFMul(x, flushed), quotient), type);
}

// Quotient and remainder as the hardware gives them: all ones for a divisor of zero, and minimum / -1 wraps. LLVM must
// never see a divisor that can be zero: it would take that as leave to delete the tests around it.
void DivRem(Emitter& e, bool remainder) {
  const FloatMode mode = TakeFloatMode(e);
  const std::string_view approximate = e.TakeOneOf({"approx", "full"});
  const Type type = e.TakeType();
  if (type.is_float() && !remainder) {
    if (approximate == "approx") return ApproximateDiv(e, type, mode);
    return EmitFloatArithmetic(e, FloatOp::kDiv, type, mode);
  }
  e.FinishModifiers();
  if (!e.Want(3, 3) || type.is_float()) return e.Malformed("not for floating-point types");
  Value* x = e.In(1, type);
  Value* y = e.In(2, type);
  Value* zero = e.Int(type.bits, 0);
  Value* ones = e.Int(type.bits, ~uint64_t{0} >> (64 - type.bits));
  Value* by_zero = e.b.CreateICmpEQ(y, zero);
  Value* unsafe = by_zero;
  if (type.is_signed()) {
    Value* minimum = e.Int(type.bits, uint64_t{1} << (type.bits - 1));
    unsafe = e.b.CreateOr(by_zero, e.b.CreateAnd(e.b.CreateICmpEQ(x, minimum), e.b.CreateICmpEQ(y, ones)));
  }
  // With a divisor of 1, minimum / -1 gives minimum and remainder 0, which is what wrapping gives.
  Value* divisor = e.b.CreateSelect(unsafe, e.Int(type.bits, 1), y);
  Value* result = nullptr;
  if (type.is_signed()) {
    result = remainder ? e.b.CreateSRem(x, divisor) : e.b.CreateSDiv(x, divisor);
  } else {
    result = remainder ? e.b.CreateURem(x, divisor) : e.b.CreateUDiv(x, divisor);
  }
  e.Out(e.b.CreateSelect(by_zero, ones, result), type);
}
void Div(Emitter& e) { DivRem(e, false); }
void Rem(Emitter& e) { DivRem(e, true); }

struct MinMaxMode {
  bool max, propagate_nan, xorsign, abs, ftz;
};

Value* FloatMinMax(Emitter& e, const MinMaxMode& mode, Type lane, const std::vector<Value*>& x) {
  Value* result = nullptr;
  Value* sign = nullptr;
  for (Value* operand : x) {
    if (mode.ftz) operand = FlushSubnormal(e, operand, lane);
    operand = WidenToFloat(e, operand, lane);
    if (mode.xorsign) sign = sign == nullptr ? e.Bits(operand) : e.b.CreateXor(sign, e.Bits(operand));
    if (mode.abs) operand = e.Call(llvm::Intrinsic::fabs, {operand});
    const llvm::Intrinsic::ID id = mode.propagate_nan
                                       ? (mode.max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum)
                                       : (mode.max ? llvm::Intrinsic::maximumnum : llvm::Intrinsic::minimumnum);
    result = result == nullptr ? operand : e.Call(id, {result, operand});
  }
  if (mode.xorsign) result = e.Call(llvm::Intrinsic::copysign, {result, e.b.CreateBitCast(sign, result->getType())});
  return NarrowExact(e, result, lane);
}

void MinMax(Emitter& e, bool max) {
  const bool ftz = e.Take("ftz"), propagate_nan = e.Take("NaN"), xorsign = e.Take("xorsign"), abs = e.Take("abs"),
             relu = e.Take("relu");
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (!e.Want(3, type.is_float() ? 4 : 3)) return;
  const bool three = e.operands() == 4;  // .abs alone is for three operands.
  if (three ? xorsign : xorsign != abs) {
    return e.Malformed(three ? ".xorsign is for two operands" : ".xorsign and .abs stand together");
  }
  std::vector<Value*> inputs;
  for (size_t i = 1; i < e.operands(); ++i) inputs.push_back(e.In(i, type));
  const auto lane = [&](const std::vector<Value*>& x) -> Value* {
    if (type.is_float()) return FloatMinMax(e, {max, propagate_nan, xorsign, abs, ftz}, type.lane(), x);
    const llvm::Intrinsic::ID id = type.is_signed() ? (max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin)
                                                    : (max ? llvm::Intrinsic::umax : llvm::Intrinsic::umin);
    Value* result = e.Call(id, {x[0], x[1]});
    return relu ? e.Call(llvm::Intrinsic::smax, {result, e.Int(type.bits, 0)}) : result;
  };
  if (inputs.size() == 3) return e.Out(e.PerLane(type, {inputs[0], inputs[1], inputs[2]}, lane), type);
  e.Out(e.PerLane(type, {inputs[0], inputs[1]}, lane), type);
}
void Min(Emitter& e) { MinMax(e, false); }
void Max(Emitter& e) { MinMax(e, true); }

void AbsNeg(Emitter& e, bool negate) {
  const bool ftz = e.Take("ftz");
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (!e.Want(2, 2)) return;
  Value* result = e.PerLane(type, {e.In(1, type)}, [&](const std::vector<Value*>& x) -> Value* {
    if (!type.is_float()) return negate ? e.b.CreateNeg(x[0]) : e.Call(llvm::Intrinsic::abs, {x[0], e.b.getFalse()});
    Value* value = ftz ? FlushSubnormal(e, x[0], type.lane()) : x[0];
    const uint64_t sign = uint64_t{1} << (type.bits - 1);
    Value* bits = e.Bits(value);
    return e.FromBits(negate ? e.b.CreateXor(bits, sign) : e.b.CreateAnd(bits, sign - 1), type.lane());
  });
  e.Out(result, type);
}
void Abs(Emitter& e) { AbsNeg(e, false); }
void Neg(Emitter& e) { AbsNeg(e, true); }

void Sad(Emitter& e) {  // c + |a - b|
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (!e.Want(4, 4)) return;
  Value* x = e.In(1, type);
  Value* y = e.In(2, type);
  Value* less = type.is_signed() ? e.b.CreateICmpSLT(x, y) : e.b.CreateICmpULT(x, y);
  Value* difference = e.b.CreateSelect(less, e.b.CreateSub(y, x), e.b.CreateSub(x, y));
  e.Out(e.b.CreateAdd(e.In(3, type), difference), type);
}

constexpr ptx::TypeSet kSummands = types::kIntegers | types::kPackedIntegers | types::kFloats;
constexpr InstructionRow kRows[] = {
    {"add", &Add, kSummands},
    {"sub", &Sub, kSummands},
    {"addc", &AddC, types::kIntegers32To64},
    {"subc", &SubC, types::kIntegers32To64},
    {"mul", &Mul, types::kIntegers | types::kFloats},
    {"mad", &Mad, types::kIntegers | types::kF32F64},
    {"madc", &MadC, types::kIntegers32To64},
    {"fma", &Fma, types::kFloats},
    {"div", &Div, types::kIntegers | types::kF32F64},
    {"rem", &Rem, types::kIntegers},
    {"mul24", &PlainMul24, types::kIntegers32},
    {"mad24", &Mad24, types::kIntegers32},
    {"min", &Min, kSummands},
    {"max", &Max, kSummands},
    {"abs", &Abs, types::kSigned | types::kFloats},
    {"neg", &Neg, types::kSigned | types::kFloats},
    {"sad", &Sad, types::kIntegers},
};

}  // namespace

absl::Span<const InstructionRow> ArithmeticInstructions() { return kRows; }

}  // namespace slipway::cpu
