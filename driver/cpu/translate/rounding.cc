#include "driver/cpu/translate/rounding.h"

#include "driver/ptx/message.h"
#include "llvm/IR/Module.h"

namespace slipway::cpu {
namespace {

constexpr Type kF32{Kind::kFloat, 32};

Value* SignBit(Emitter& e, Value* bits) { return e.b.CreateICmpSLT(bits, llvm::ConstantInt::get(bits->getType(), 0)); }

// The neighbour of the float with these bits that is larger (or smaller) in magnitude.
Value* Step(Emitter& e, Value* bits, Value* outward) {
  llvm::Type* type = bits->getType();
  return e.b.CreateAdd(
      bits, e.b.CreateSelect(outward, llvm::ConstantInt::get(type, 1), llvm::ConstantInt::get(type, -1, true)));
}

// `rounded` is nearest to a value that compares to it as given; moves it where the direction asks for the other
// neighbour. Bits in, bits out.
Value* Direct(Emitter& e, Value* bits, Value* value_is_below, Value* value_is_above, Rounding rounding) {
  Value* negative = SignBit(e, bits);
  Value* wrong = nullptr;
  switch (rounding) {
    case Rounding::kNearest:
      return bits;
    case Rounding::kZero:
      wrong = e.b.CreateSelect(negative, value_is_above, value_is_below);
      break;
    case Rounding::kDown:
      wrong = value_is_below;
      break;
    case Rounding::kUp:
      wrong = value_is_above;
      break;
  }
  // A value below a negative result lies further out.
  Value* outward = e.b.CreateICmpEQ(value_is_below, negative);
  return e.b.CreateSelect(wrong, Step(e, bits, outward), bits);
}

// Makes an inexact nearest result odd; error is the sign of (value - result), an ordered comparison with zero.
Value* MakeOdd(Emitter& e, Value* result, Value* error) {
  Value* bits = e.Bits(result);
  Value* zero = llvm::ConstantFP::get(e.b.getDoubleTy(), 0);
  Value* inexact = e.b.CreateFCmpONE(error, zero);
  Value* even = e.b.CreateICmpEQ(e.b.CreateAnd(bits, 1), e.Int(64, 0));
  Value* outward = e.b.CreateICmpEQ(e.b.CreateFCmpOLT(error, zero), SignBit(e, bits));
  Value* odd = e.b.CreateSelect(e.b.CreateAnd(inexact, even), Step(e, bits, outward), bits);
  return e.b.CreateBitCast(odd, e.b.getDoubleTy());
}

// f32 rounded to odd.
Value* OddFloat(Emitter& e, Value* exact) {
  Value* nearest = e.b.CreateFPTrunc(exact, e.b.getFloatTy());
  Value* back = e.b.CreateFPExt(nearest, e.b.getDoubleTy());
  Value* below = e.b.CreateFCmpOLT(exact, back);
  Value* above = e.b.CreateFCmpOGT(exact, back);
  Value* bits = Direct(e, e.Bits(nearest), below, above, Rounding::kZero);
  bits = e.b.CreateOr(bits, e.b.CreateZExt(e.b.CreateOr(below, above), e.b.getInt32Ty()));
  return e.b.CreateBitCast(bits, e.b.getFloatTy());
}

Value* NarrowToBrainFloat(Emitter& e, Value* exact, Rounding rounding) {
  // By integers, because the host's own instruction flushes subnormals.
  Value* bits = e.Bits(OddFloat(e, exact));
  Value* high = e.b.CreateLShr(bits, 16);
  Value* rounded = nullptr;
  if (rounding == Rounding::kNearest) {
    Value* half = e.b.CreateAdd(e.b.CreateAnd(high, 1), e.Int(32, 0x7fff));
    rounded = e.b.CreateLShr(e.b.CreateAdd(bits, half), 16);
  } else if (rounding == Rounding::kZero) {
    rounded = high;
  } else {
    Value* inexact = e.b.CreateICmpNE(e.b.CreateAnd(bits, 0xffff), e.Int(32, 0));
    Value* negative = SignBit(e, bits);
    Value* away = e.b.CreateAnd(inexact, rounding == Rounding::kDown ? negative : e.b.CreateNot(negative));
    rounded = e.b.CreateAdd(high, e.b.CreateZExt(away, e.b.getInt32Ty()));
  }
  rounded = e.b.CreateTrunc(rounded, e.b.getInt16Ty());
  return e.b.CreateSelect(e.b.CreateFCmpUNO(exact, exact), e.Int(16, 0x7fff), rounded);
}

}  // namespace

Rounding TakeRounding(Emitter& e, bool* given) {
  const std::string_view name = e.TakeOneOf({"rn", "rz", "rm", "rp"});
  if (given != nullptr) *given = !name.empty();
  if (name == "rz") return Rounding::kZero;
  if (name == "rm") return Rounding::kDown;
  if (name == "rp") return Rounding::kUp;
  return Rounding::kNearest;
}

Value* SumError(Emitter& e, Value* x, Value* y, Value* sum) {
  Value* y_part = e.b.CreateFSub(sum, x);
  Value* x_part = e.b.CreateFSub(sum, y_part);
  return e.b.CreateFAdd(e.b.CreateFSub(x, x_part), e.b.CreateFSub(y, y_part));
}

Value* AddToOdd(Emitter& e, Value* x, Value* y) {
  Value* sum = e.b.CreateFAdd(x, y);
  return MakeOdd(e, sum, SumError(e, x, y, sum));
}

Value* DivideToOdd(Emitter& e, Value* x, Value* y) {
  Value* quotient = e.b.CreateFDiv(x, y);
  // x - quotient * y is exact here; the quotient's error has its sign, or the other one if y is negative.
  Value* rest = e.Call(llvm::Intrinsic::fma, {e.b.CreateFNeg(quotient), y, x});
  Value* error = e.b.CreateSelect(SignBit(e, e.Bits(y)), e.b.CreateFNeg(rest), rest);
  return MakeOdd(e, quotient, error);
}

Value* SqrtToOdd(Emitter& e, Value* x) {
  Value* root = e.Call(llvm::Intrinsic::sqrt, {x});
  return MakeOdd(e, root, e.Call(llvm::Intrinsic::fma, {e.b.CreateFNeg(root), root, x}));
}

Value* Narrow(Emitter& e, Value* exact, Type type, Rounding rounding) {
  if (type.kind == Kind::kBrainFloat) return NarrowToBrainFloat(e, exact, rounding);
  if (type.bits == 64) return exact;
  if (type.bits == 16) {
    Value* odd = OddFloat(e, exact);
    Value* nearest = e.b.CreateFPTrunc(odd, e.b.getHalfTy());
    Value* back = e.b.CreateFPExt(nearest, e.b.getFloatTy());
    return Direct(e, e.Bits(nearest), e.b.CreateFCmpOLT(odd, back), e.b.CreateFCmpOGT(odd, back), rounding);
  }
  Value* nearest = e.b.CreateFPTrunc(exact, e.b.getFloatTy());
  if (rounding == Rounding::kNearest) return nearest;
  Value* back = e.b.CreateFPExt(nearest, e.b.getDoubleTy());
  return e.FromBits(
      Direct(e, e.Bits(nearest), e.b.CreateFCmpOLT(exact, back), e.b.CreateFCmpOGT(exact, back), rounding), kF32);
}

Value* WidenToFloat(Emitter& e, Value* value, Type type) {
  if (type.kind == Kind::kBrainFloat) {
    return e.b.CreateBitCast(e.b.CreateShl(e.b.CreateZExt(value, e.b.getInt32Ty()), 16), e.b.getFloatTy());
  }
  return type.bits == 16 ? e.b.CreateFPExt(e.b.CreateBitCast(value, e.b.getHalfTy()), e.b.getFloatTy()) : value;
}

Value* WidenToDouble(Emitter& e, Value* value, Type type) {
  return type.bits == 64 ? value : e.b.CreateFPExt(WidenToFloat(e, value, type), e.b.getDoubleTy());
}

Value* RoundByError(Emitter& e, Value* sum, Value* error, Rounding rounding) {
  Value* zero = llvm::ConstantFP::get(e.b.getDoubleTy(), 0);
  Value* bits = Direct(e, e.Bits(sum), e.b.CreateFCmpOLT(error, zero), e.b.CreateFCmpOGT(error, zero), rounding);
  return e.b.CreateBitCast(bits, e.b.getDoubleTy());
}

Value* CallF64(Emitter& e, std::string_view operation, std::initializer_list<Value*> operands, Rounding rounding) {
  const std::vector<Value*> given(operands);
  std::vector<Value*> arguments = {e.Int(32, static_cast<uint64_t>(rounding))};
  std::vector<llvm::Type*> types = {e.b.getInt32Ty()};
  for (Value* operand : given) {
    arguments.push_back(operand);
    types.push_back(e.b.getDoubleTy());
  }
  llvm::Module* module = e.b.GetInsertBlock()->getModule();
  llvm::FunctionCallee callee = module->getOrInsertFunction(ptx::Concat("slipway_f64_", operation),
                                                            llvm::FunctionType::get(e.b.getDoubleTy(), types, false));
  llvm::CallInst* call = e.b.CreateCall(callee, arguments);
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  return call;
}

Value* FlushSubnormal(Emitter& e, Value* value, Type type) {
  Value* bits = e.Bits(value);
  const int width = type.bits;
  const int mantissa = type.kind == Kind::kBrainFloat ? 7 : width == 16 ? 10 : width == 32 ? 23 : 52;
  const uint64_t sign = uint64_t{1} << (width - 1);
  const uint64_t exponent = sign - (uint64_t{1} << mantissa);
  Value* small = e.b.CreateICmpEQ(e.b.CreateAnd(bits, exponent), e.Int(width, 0));
  return e.FromBits(e.b.CreateSelect(small, e.b.CreateAnd(bits, sign), bits), type);
}

Value* Saturate(Emitter& e, Value* value) {
  Value* zero = llvm::ConstantFP::get(value->getType(), 0);
  Value* one = llvm::ConstantFP::get(value->getType(), 1);
  Value* at_most_one = e.b.CreateSelect(e.b.CreateFCmpOGT(value, one), one, value);
  return e.b.CreateSelect(e.b.CreateFCmpOGT(value, zero), at_most_one, zero);
}

}  // namespace slipway::cpu
