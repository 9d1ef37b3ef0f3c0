// Casts in LLVM IR. Every kind is its PTX conversion where there is one on all targets; where LLVM's own instruction
// says less (poison out of range) or rounds twice, the value is brought to what does.
#include <string>

#include "absl/strings/str_cat.h"
#include "driver/check.h"
#include "jit/lower_ops.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace slipway {

using ir::CastKind;
using llvm::Value;

namespace {

// PTX's words for a rounding mode.
const char* Mode(CastKind kind) {
  switch (kind) {
    case CastKind::kToZero:
      return "rz";
    case CastKind::kUp:
      return "rp";
    case CastKind::kDown:
      return "rm";
    default:
      return "rn";
  }
}

// llvm.nvvm.f2ull.rz and its like, one for each pair of types of 32 and 64 bits and each mode.
Value* Convert(llvm::IRBuilder<>& b, const std::string& name, Value* value) {
  const llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID("llvm.nvvm." + name);
  SLIPWAY_CHECK(id != llvm::Intrinsic::not_intrinsic, "LLVM has no conversion of this name");
  return b.CreateIntrinsic(id, {}, {value});
}
const char* IntegerName(bool is_signed, unsigned bits) {
  return bits == 64 ? (is_signed ? "ll" : "ull") : (is_signed ? "i" : "ui");
}

bool IsHalf(llvm::Type* type) { return type->isHalfTy() || type->isBFloatTy(); }

}  // namespace

// Of two neighbours one is odd; an exact value is both `down` and `up`.
Value* RoundToOdd(llvm::IRBuilder<>& b, Value* down, Value* up) {
  Value* bits = b.CreateBitCast(down, b.getIntNTy(down->getType()->getScalarSizeInBits()));
  return b.CreateSelect(b.CreateTrunc(bits, b.getInt1Ty()), down, up);
}

Value* OperatorLowering::FloatToInt(Value* value, DType to, CastKind kind) {
  using namespace llvm::Intrinsic;
  if (IsHalf(value->getType())) value = b_.CreateFPExt(value, b_.getFloatTy());
  const bool wide = value->getType()->isDoubleTy(), is_signed = IsSignedInteger(to);
  const unsigned bits = 8 * SizeOf(to);
  const char* const mode = kind == CastKind::kValue || kind == CastKind::kSaturate ? "rz" : Mode(kind);
  // LLVM's fptosi is poison out of range and fptosi.sat takes every NaN to 0; these are cvt, and LLVM folds them by
  // PTX's table.
  Value* converted = Convert(b_, absl::StrCat(wide ? "d" : "f", "2", IntegerName(is_signed, bits), ".", mode), value);
  if (bits < 32) {
    llvm::IntegerType* i32 = b_.getInt32Ty();
    if (is_signed) {
      const int64_t most = (int64_t{1} << (bits - 1)) - 1;
      converted = b_.CreateBinaryIntrinsic(smin, converted, llvm::ConstantInt::getSigned(i32, most));
      converted = b_.CreateBinaryIntrinsic(smax, converted, llvm::ConstantInt::getSigned(i32, -most - 1));
    } else {
      converted = b_.CreateBinaryIntrinsic(umin, converted, b_.getInt32((1u << bits) - 1));
    }
    converted = b_.CreateTrunc(converted, b_.getIntNTy(bits));
  }
  // A NaN that cvt does not make 0 is the top bit of the target, which clamping what it is in 32 bits does not give.
  const bool nan_is_zero = kind == CastKind::kSaturate;
  if ((nan_is_zero && (wide || bits == 64)) || (!nan_is_zero && wide && bits < 32 && !is_signed)) {
    const llvm::APInt of_nan = nan_is_zero ? llvm::APInt(bits, 0) : llvm::APInt::getSignMask(bits);
    converted = b_.CreateSelect(b_.CreateFCmpUNO(value, value), b_.getInt(of_nan), converted);
  }
  return converted;
}

Value* OperatorLowering::IntToFloat(Value* value, bool is_signed, DType to, CastKind kind) {
  llvm::Type* type = ValueType(b_.getContext(), to);
  llvm::Type* step = to == DType::kFloat64 ? b_.getDoubleTy() : b_.getFloatTy();
  const unsigned width = value->getType()->getIntegerBitWidth();
  const auto convert = [&](const char* mode) {
    const unsigned bits = width == 64 ? 64 : 32;
    Value* wide = is_signed ? b_.CreateSExt(value, b_.getIntNTy(bits)) : b_.CreateZExt(value, b_.getIntNTy(bits));
    return Convert(b_, absl::StrCat(IntegerName(is_signed, bits), "2", step->isDoubleTy() ? "d" : "f", ".", mode),
                   wide);
  };
  if (kind != CastKind::kValue && kind != CastKind::kSaturate) {  // A mode, of which twice is once.
    return Narrow(convert(Mode(kind)), to, kind);
  }
  Value* number;
  if (to == DType::kBFloat16 && width >= 32) {
    number = RoundToOdd(b_, convert("rm"), convert("rp"));
  } else {
    // float16 is left by integers that float32 does not hold, so that rounding to it is the only one.
    number = is_signed ? b_.CreateSIToFP(value, step) : b_.CreateUIToFP(value, step);
  }
  if (kind == CastKind::kSaturate) return SaturateFloat(number, to);
  return type == step ? number : b_.CreateFPTrunc(number, type);
}

// A float as another that may hold less of it.
Value* OperatorLowering::Narrow(Value* value, DType to, CastKind kind) {
  llvm::Type* type = ValueType(b_.getContext(), to);
  if (value->getType() == type) return value;
  if (IsHalf(value->getType())) value = b_.CreateFPExt(value, b_.getFloatTy());  // Between float16 and bfloat16.
  if (kind == CastKind::kValue) return b_.CreateFPTrunc(value, type);
  if (value->getType()->isDoubleTy()) value = Convert(b_, absl::StrCat("d2f.", Mode(kind)), value);
  if (to == DType::kFloat32) return value;
  if (to == DType::kFloat16) {
    Value* bits = PtxInstruction(b_, absl::StrCat("cvt.", Mode(kind), ".f16.f32"), b_.getInt16Ty(), {value});
    return b_.CreateBitCast(bits, type);
  }
  // bfloat16 is the upper half of a float32, and one more is the next number away from zero. The instructions for it
  // are of sm_80 and sm_90, and do not know all modes.
  Value* bits = b_.CreateBitCast(value, b_.getInt32Ty());
  Value* upper = b_.CreateLShr(bits, 16);
  if (kind != CastKind::kToZero) {
    Value* zero = b_.getInt32(0);
    Value* exact = b_.CreateICmpEQ(b_.CreateAnd(bits, 0xffff), zero);
    Value* away = kind == CastKind::kUp ? b_.CreateICmpSGE(bits, zero) : b_.CreateICmpSLT(bits, zero);
    away = b_.CreateAnd(away, b_.CreateNot(exact));
    upper = b_.CreateAdd(upper, b_.CreateZExt(away, b_.getInt32Ty()));
  }
  upper = b_.CreateSelect(b_.CreateFCmpUNO(value, value), b_.getInt32(0x7fff), upper);
  return b_.CreateBitCast(b_.CreateTrunc(upper, b_.getInt16Ty()), type);
}

// Held within the greatest finite numbers of `to` before it is brought to it; a NaN stays one.
Value* OperatorLowering::SaturateFloat(Value* value, DType to) {
  llvm::Type* type = ValueType(b_.getContext(), to);
  if (IsHalf(value->getType())) value = b_.CreateFPExt(value, b_.getFloatTy());
  if (to == DType::kFloat64) value = b_.CreateFPExt(value, b_.getDoubleTy());
  llvm::APFloat most = llvm::APFloat::getLargest(type->getFltSemantics());
  bool exact;
  most.convert(value->getType()->getFltSemantics(), llvm::APFloat::rmNearestTiesToEven, &exact);
  Value* high = llvm::ConstantFP::get(value->getType(), most);
  Value* low = llvm::ConstantFP::get(value->getType(), -most);
  value = b_.CreateSelect(b_.CreateFCmpOGT(value, high), high, value);
  value = b_.CreateSelect(b_.CreateFCmpOLT(value, low), low, value);
  return value->getType() == type ? value : b_.CreateFPTrunc(value, type);
}

Value* OperatorLowering::SaturateInt(Value* value, DType from, DType to) {
  using namespace llvm::Intrinsic;
  const bool from_signed = IsSignedInteger(from), to_signed = IsSignedInteger(to);
  const unsigned from_bits = 8 * SizeOf(from), to_bits = 8 * SizeOf(to);
  // The digits beside the sign, which is what the greatest numbers differ in.
  const unsigned from_digits = from_bits - from_signed, to_digits = to_bits - to_signed;
  if (from_digits > to_digits) {
    Value* most = b_.getInt(llvm::APInt::getLowBitsSet(from_bits, to_digits));
    value = b_.CreateBinaryIntrinsic(from_signed ? smin : umin, value, most);
  }
  if (from_signed && !to_signed) {
    value = b_.CreateBinaryIntrinsic(smax, value, b_.getInt(llvm::APInt(from_bits, 0)));
  } else if (from_signed && from_bits > to_bits) {
    value = b_.CreateBinaryIntrinsic(smax, value, b_.getInt(llvm::APInt::getSignedMinValue(to_bits).sext(from_bits)));
  }
  llvm::Type* type = b_.getIntNTy(to_bits);
  return from_signed && to_signed ? b_.CreateSExtOrTrunc(value, type) : b_.CreateZExtOrTrunc(value, type);
}

Value* OperatorLowering::Cast(Value* value, DType from, DType to, CastKind kind) {
  if (IsComplex(from) || IsComplex(to)) return nullptr;
  llvm::Type* type = ValueType(b_.getContext(), to);
  if (kind == CastKind::kBits) return b_.CreateBitCast(value, type);
  if (from == to && kind != CastKind::kSaturate) return value;
  if (to == DType::kBool) {  // Anything but zero; a NaN is true.
    if (IsFloat(from)) return b_.CreateFCmpUNE(value, llvm::ConstantFP::getZero(value->getType()));
    return b_.CreateICmpNE(value, llvm::ConstantInt::get(value->getType(), 0));
  }
  if (IsFloat(from)) {
    if (IsInteger(to)) return FloatToInt(value, to, kind);
    if (kind == CastKind::kSaturate) return SaturateFloat(value, to);
    return SizeOf(from) < SizeOf(to) ? b_.CreateFPExt(value, type) : Narrow(value, to, kind);
  }
  if (IsFloat(to)) return IntToFloat(value, IsSignedInteger(from), to, kind);
  if (kind == CastKind::kSaturate && from != DType::kBool) return SaturateInt(value, from, to);
  return IsSignedInteger(from) ? b_.CreateSExtOrTrunc(value, type) : b_.CreateZExtOrTrunc(value, type);
}

}  // namespace slipway
