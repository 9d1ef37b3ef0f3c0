#include "jit/lower_ops.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "driver/check.h"
#include "jit/math_library.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"

namespace slipway {

using ir::LowerBy;
using ir::Op;
using llvm::Value;

llvm::Type* ValueType(llvm::LLVMContext& context, DType dtype) {
  switch (dtype) {
    case DType::kVoid:
      return llvm::Type::getVoidTy(context);
    case DType::kBool:
      return llvm::Type::getInt1Ty(context);
    case DType::kFloat16:
      return llvm::Type::getHalfTy(context);
    case DType::kBFloat16:
      return llvm::Type::getBFloatTy(context);
    case DType::kFloat32:
      return llvm::Type::getFloatTy(context);
    case DType::kFloat64:
      return llvm::Type::getDoubleTy(context);
    case DType::kComplex64: {
      llvm::Type* part = llvm::Type::getFloatTy(context);
      return llvm::StructType::get(part, part);
    }
    case DType::kComplex128: {
      llvm::Type* part = llvm::Type::getDoubleTy(context);
      return llvm::StructType::get(part, part);
    }
    default:
      return llvm::Type::getIntNTy(context, 8 * SizeOf(dtype));
  }
}

Value* OperatorLowering::Apply(Op op, DType type, absl::Span<Value* const> operands) {
  const ir::Lowering& how = ir::LoweringOf(op, type);
  const bool moves_bits = how.by == LowerBy::kSelect || how.by == LowerBy::kIdentity;
  if ((type == DType::kFloat16 || type == DType::kBFloat16) && !moves_bits) {
    // One rule for both 16-bit types and for every target: compute in float32, round once. LLVM narrows it back to
    // native 16-bit instructions where those give the same bits.
    std::vector<Value*> wide;
    for (Value* operand : operands) wide.push_back(b_.CreateFPExt(operand, b_.getFloatTy()));
    Value* result = Apply(op, DType::kFloat32, wide);
    if (result == nullptr || !result->getType()->isFloatTy()) return result;
    return b_.CreateFPTrunc(result, ValueType(b_.getContext(), type));
  }
  switch (how.by) {
    case LowerBy::kNone:
      return nullptr;
    case LowerBy::kBinary:
      return Binary(how.name, operands[0], operands[1]);
    case LowerBy::kDivision:
      return Divide(how.name, operands[0], operands[1]);
    case LowerBy::kShift:
      return Shift(how.name, operands[0], operands[1]);
    case LowerBy::kCompare:
      return Compare(how.name, operands[0], operands[1]);
    case LowerBy::kIntrinsic:
      return Intrinsic(how.name, operands);
    case LowerBy::kMinMax:
      return MinMax(how.name, operands[0], operands[1]);
    case LowerBy::kNegate:
      return IsFloat(type) ? b_.CreateFNeg(operands[0]) : b_.CreateNeg(operands[0]);
    case LowerBy::kComplement:
      return b_.CreateNot(operands[0]);
    case LowerBy::kIdentity:
      return operands[0];
    case LowerBy::kClassify:
      return Classify(op, operands[0]);
    case LowerBy::kConstFalse:
      return b_.getFalse();
    case LowerBy::kConstTrue:
      return b_.getTrue();
    case LowerBy::kSelect:
      return b_.CreateSelect(operands[0], operands[1], operands[2]);
    case LowerBy::kLibrary:
      return Library(how.name, operands);
  }
  return nullptr;
}

Value* OperatorLowering::Binary(const char* name, Value* a, Value* b) {
  using Instruction = llvm::Instruction;
  const auto opcode = llvm::StringSwitch<Instruction::BinaryOps>(name)
                          .Case("add", Instruction::Add)
                          .Case("sub", Instruction::Sub)
                          .Case("mul", Instruction::Mul)
                          .Case("and", Instruction::And)
                          .Case("or", Instruction::Or)
                          .Case("xor", Instruction::Xor)
                          .Case("fadd", Instruction::FAdd)
                          .Case("fsub", Instruction::FSub)
                          .Case("fmul", Instruction::FMul)
                          .Case("fdiv", Instruction::FDiv)
                          .Default(Instruction::BinaryOpsEnd);
  SLIPWAY_CHECK(opcode != Instruction::BinaryOpsEnd, "the semantics table names an unknown LLVM instruction");
  return b_.CreateBinOp(opcode, a, b);
}

Value* OperatorLowering::Ptx(const std::string& opcode, Value* a, Value* b) {
  auto letter = [](Value* value) { return value->getType()->isIntegerTy(64) ? "l" : "r"; };
  llvm::FunctionType* type = llvm::FunctionType::get(a->getType(), {a->getType(), b->getType()}, false);
  llvm::InlineAsm* code =
      llvm::InlineAsm::get(type, absl::StrCat(opcode, " $0, $1, $2;"),
                           absl::StrCat("=", letter(a), ",", letter(a), ",", letter(b)), /*hasSideEffects=*/false);
  return b_.CreateCall(code, {a, b});
}

Value* OperatorLowering::Divide(const char* name, Value* a, Value* b) {
  const bool is_signed = name[0] == 's';
  const bool remainder = std::string(name + 1) == "rem";
  if (auto* divisor = llvm::dyn_cast<llvm::ConstantInt>(b); divisor != nullptr && !divisor->isZero()) {
    // LLVM's own instruction turns into shifts and multiplications. MIN / -1 is undefined there, so -1 is kept away.
    if (is_signed && divisor->isMinusOne()) {
      return remainder ? static_cast<Value*>(llvm::ConstantInt::get(a->getType(), 0)) : b_.CreateNeg(a);
    }
    if (is_signed) return remainder ? b_.CreateSRem(a, b) : b_.CreateSDiv(a, b);
    return remainder ? b_.CreateURem(a, b) : b_.CreateUDiv(a, b);
  }
  // To LLVM a division says that its divisor is not 0, and it deletes the user's own test for that. The PTX instruction
  // says no such thing, and gives all ones.
  const unsigned bits = a->getType()->getIntegerBitWidth();
  const char* opcode = remainder ? "rem." : "div.";
  if (bits >= 32) return Ptx(absl::StrCat(opcode, is_signed ? "s" : "u", bits), a, b);
  // Narrow operands divide in 32 bits: all ones and MIN / -1 come out right when the result is cut.
  auto widen = [&](Value* value) {
    return is_signed ? b_.CreateSExt(value, b_.getInt32Ty()) : b_.CreateZExt(value, b_.getInt32Ty());
  };
  return b_.CreateTrunc(Ptx(absl::StrCat(opcode, is_signed ? "s32" : "u32"), widen(a), widen(b)), a->getType());
}

Value* OperatorLowering::Shift(const char* name, Value* a, Value* count) {
  const bool left = name[0] == 's', arithmetic = name[0] == 'a';
  const unsigned bits = a->getType()->getIntegerBitWidth();
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(count)) {
    uint64_t places = constant->getZExtValue();
    if (places >= bits && !arithmetic) return llvm::ConstantInt::get(a->getType(), 0);
    Value* by = llvm::ConstantInt::get(a->getType(), std::min<uint64_t>(places, bits - 1));
    return left ? b_.CreateShl(a, by) : arithmetic ? b_.CreateAShr(a, by) : b_.CreateLShr(a, by);
  }
  // To LLVM a count past the width is poison; PTX clamps it.
  if (bits >= 32) return Ptx(absl::StrCat(left ? "shl.b" : arithmetic ? "shr.s" : "shr.u", bits), a, count);
  Value* wide = arithmetic ? b_.CreateSExt(a, b_.getInt32Ty()) : b_.CreateZExt(a, b_.getInt32Ty());
  return b_.CreateTrunc(Ptx(left ? "shl.b32" : arithmetic ? "shr.s32" : "shr.u32", wide, count), a->getType());
}

Value* OperatorLowering::Compare(const char* name, Value* a, Value* b) {
  using llvm::CmpInst;
  if (a->getType()->isFloatingPointTy()) {
    const auto predicate = llvm::StringSwitch<CmpInst::Predicate>(name)
                               .Case("olt", CmpInst::FCMP_OLT)
                               .Case("ole", CmpInst::FCMP_OLE)
                               .Case("ogt", CmpInst::FCMP_OGT)
                               .Case("oge", CmpInst::FCMP_OGE)
                               .Case("oeq", CmpInst::FCMP_OEQ)
                               .Case("une", CmpInst::FCMP_UNE)
                               .Default(CmpInst::BAD_FCMP_PREDICATE);
    SLIPWAY_CHECK(predicate != CmpInst::BAD_FCMP_PREDICATE, "the semantics table names an unknown float comparison");
    return b_.CreateFCmp(predicate, a, b);
  }
  const auto predicate = llvm::StringSwitch<CmpInst::Predicate>(name)
                             .Case("slt", CmpInst::ICMP_SLT)
                             .Case("sle", CmpInst::ICMP_SLE)
                             .Case("sgt", CmpInst::ICMP_SGT)
                             .Case("sge", CmpInst::ICMP_SGE)
                             .Case("ult", CmpInst::ICMP_ULT)
                             .Case("ule", CmpInst::ICMP_ULE)
                             .Case("ugt", CmpInst::ICMP_UGT)
                             .Case("uge", CmpInst::ICMP_UGE)
                             .Case("eq", CmpInst::ICMP_EQ)
                             .Case("ne", CmpInst::ICMP_NE)
                             .Default(CmpInst::BAD_ICMP_PREDICATE);
  SLIPWAY_CHECK(predicate != CmpInst::BAD_ICMP_PREDICATE, "the semantics table names an unknown integer comparison");
  return b_.CreateICmp(predicate, a, b);
}

Value* OperatorLowering::Intrinsic(const char* name, absl::Span<Value* const> operands) {
  const llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(name);
  SLIPWAY_CHECK(id != llvm::Intrinsic::not_intrinsic, "the semantics table names an unknown LLVM intrinsic");
  llvm::SmallVector<Value*, 3> arguments(operands.begin(), operands.end());
  if (id == llvm::Intrinsic::abs) arguments.push_back(b_.getFalse());  // |MIN| wraps, it is not poison.
  return b_.CreateIntrinsic(id, {operands[0]->getType()}, arguments);
}

Value* OperatorLowering::MinMax(const char* name, Value* a, Value* b) {
  if (a->getType()->isIntegerTy()) {
    const auto id = llvm::StringSwitch<llvm::Intrinsic::ID>(name)
                        .Case("smin", llvm::Intrinsic::smin)
                        .Case("smax", llvm::Intrinsic::smax)
                        .Case("umin", llvm::Intrinsic::umin)
                        .Default(llvm::Intrinsic::umax);
    return b_.CreateBinaryIntrinsic(id, a, b);
  }
  const llvm::StringRef rule(name);
  const bool is_min = rule.starts_with("min");
  // minimumnum and not minnum: only the former orders the zeros and ignores a signalling NaN, as PTX min does.
  const auto number = is_min ? llvm::Intrinsic::minimumnum : llvm::Intrinsic::maximumnum;
  if (!rule.ends_with(".NaN")) return b_.CreateBinaryIntrinsic(number, a, b);
  if (a->getType()->isFloatTy() && target_.sm >= 80) {  // min.NaN.f32 (PTX ISA 7.0, sm_80); there is none for f64.
    return b_.CreateBinaryIntrinsic(is_min ? llvm::Intrinsic::minimum : llvm::Intrinsic::maximum, a, b);
  }
  Value* nan = llvm::ConstantFP::getQNaN(a->getType());
  return b_.CreateSelect(b_.CreateFCmpUNO(a, b), nan, b_.CreateBinaryIntrinsic(number, a, b));
}

Value* OperatorLowering::Classify(Op op, Value* a) {
  if (op == Op::kIsnan) return b_.CreateFCmpUNO(a, a);
  Value* magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
  Value* infinity = llvm::ConstantFP::getInfinity(a->getType());
  return op == Op::kIsinf ? b_.CreateFCmpOEQ(magnitude, infinity) : b_.CreateFCmpOLT(magnitude, infinity);
}

Value* OperatorLowering::Library(const char* stem, absl::Span<Value* const> operands) {
  llvm::Type* type = operands[0]->getType();
  llvm::SmallVector<Value*, 2> arguments(operands.begin(), operands.end());
  if (library_ == MathLibrary::kLibclc) {
    const llvm::StringRef name(stem);
    if (name == "fmod" && type->isFloatTy()) {
      // Its float32 fmod is wrong for subnormal divisors, its float64 one is not; and the remainder of two float32
      // numbers is a float32 number.
      for (Value*& argument : arguments) argument = b_.CreateFPExt(argument, b_.getDoubleTy());
      return b_.CreateFPTrunc(Library(stem, {arguments.data(), arguments.size()}), type);
    }
    if (name == "pow" && type->isDoubleTy()) {
      // With huge exponents it overflows on the way to a 0 or an infinity that 2^63, as even as they are, gives as
      // well.
      for (double limit : {0x1p63, -0x1p63}) {
        Value* bound = llvm::ConstantFP::get(type, limit);
        Value* beyond = limit > 0 ? b_.CreateFCmpOGT(arguments[1], bound) : b_.CreateFCmpOLT(arguments[1], bound);
        arguments[1] = b_.CreateSelect(beyond, bound, arguments[1]);
      }
    }
  }
  const std::string symbol = MathSymbol(library_, stem, type->isDoubleTy(), static_cast<int>(operands.size()));
  if (std::find(math_symbols_.begin(), math_symbols_.end(), symbol) == math_symbols_.end()) {
    math_symbols_.push_back(symbol);
  }
  llvm::SmallVector<llvm::Type*, 2> parameters(operands.size(), type);
  llvm::Module* module = b_.GetInsertBlock()->getModule();
  llvm::FunctionCallee function =
      module->getOrInsertFunction(symbol, llvm::FunctionType::get(type, parameters, /*isVarArg=*/false));
  return b_.CreateCall(function, arguments);
}

Value* OperatorLowering::FloatToInt(Value* value, DType to) {
  using namespace llvm::Intrinsic;
  if (value->getType()->isHalfTy() || value->getType()->isBFloatTy()) value = b_.CreateFPExt(value, b_.getFloatTy());
  const bool wide = value->getType()->isDoubleTy(), is_signed = IsSignedInteger(to);
  const unsigned bits = 8 * SizeOf(to);
  // LLVM's fptosi is poison out of range and fptosi.sat takes every NaN to 0; these are cvt.rzi, and LLVM folds them by
  // PTX's table.
  ID id;
  if (bits == 64) {
    id = wide ? (is_signed ? nvvm_d2ll_rz : nvvm_d2ull_rz) : (is_signed ? nvvm_f2ll_rz : nvvm_f2ull_rz);
  } else {
    id = wide ? (is_signed ? nvvm_d2i_rz : nvvm_d2ui_rz) : (is_signed ? nvvm_f2i_rz : nvvm_f2ui_rz);
  }
  Value* converted = b_.CreateIntrinsic(id, {}, {value});
  if (bits >= 32) return converted;
  llvm::IntegerType* i32 = b_.getInt32Ty();
  if (is_signed) {
    const int64_t most = (int64_t{1} << (bits - 1)) - 1;
    converted = b_.CreateBinaryIntrinsic(smin, converted, llvm::ConstantInt::getSigned(i32, most));
    converted = b_.CreateBinaryIntrinsic(smax, converted, llvm::ConstantInt::getSigned(i32, -most - 1));
  } else {
    converted = b_.CreateBinaryIntrinsic(umin, converted, b_.getInt32((1u << bits) - 1));
    // A float64 NaN becomes the top bit of the target, which clamping what it becomes in 32 bits does not give.
    if (wide) converted = b_.CreateSelect(b_.CreateFCmpUNO(value, value), b_.getInt32(1u << (bits - 1)), converted);
  }
  return b_.CreateTrunc(converted, b_.getIntNTy(bits));
}

Value* OperatorLowering::Cast(Value* value, DType from, DType to) {
  if (from == to) return value;
  if (IsComplex(from) || IsComplex(to)) return nullptr;
  llvm::Type* type = ValueType(b_.getContext(), to);
  if (to == DType::kBool) {  // Anything but zero; a NaN is true.
    if (IsFloat(from)) return b_.CreateFCmpUNE(value, llvm::ConstantFP::getZero(value->getType()));
    return b_.CreateICmpNE(value, llvm::ConstantInt::get(value->getType(), 0));
  }
  const bool from_signed = IsSignedInteger(from);
  if (IsFloat(from)) {
    if (IsInteger(to)) return FloatToInt(value, to);
    if (SizeOf(from) > SizeOf(to)) return b_.CreateFPTrunc(value, type);
    if (SizeOf(from) < SizeOf(to)) return b_.CreateFPExt(value, type);
    return b_.CreateFPTrunc(b_.CreateFPExt(value, b_.getFloatTy()), type);  // Between float16 and bfloat16.
  }
  if (IsFloat(to)) {
    // To the 16-bit floats through float32, on every target: older ones have no other way.
    llvm::Type* step = to == DType::kFloat64 ? b_.getDoubleTy() : b_.getFloatTy();
    Value* number = from_signed ? b_.CreateSIToFP(value, step) : b_.CreateUIToFP(value, step);
    return type == step ? number : b_.CreateFPTrunc(number, type);
  }
  return from_signed ? b_.CreateSExtOrTrunc(value, type) : b_.CreateZExtOrTrunc(value, type);
}

}  // namespace slipway
