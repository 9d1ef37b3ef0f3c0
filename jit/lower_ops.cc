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

Value* PtxInstruction(llvm::IRBuilder<>& b, const std::string& opcode, llvm::Type* type,
                      llvm::ArrayRef<Value*> operands) {
  auto letter = [](llvm::Type* t) {
    return t->isFloatTy() ? "f" : t->isDoubleTy() ? "d" : t->isIntegerTy(64) ? "l" : t->isIntegerTy(16) ? "h" : "r";
  };
  std::string code = absl::StrCat(opcode, " $0"), constraints = absl::StrCat("=", letter(type));
  llvm::SmallVector<llvm::Type*, 4> types;
  for (Value* operand : operands) {
    types.push_back(operand->getType());
    absl::StrAppend(&code, ", $", types.size());
    absl::StrAppend(&constraints, ",", letter(operand->getType()));
  }
  code += ";";
  return b.CreateCall(llvm::InlineAsm::get(llvm::FunctionType::get(type, types, /*isVarArg=*/false), code, constraints,
                                           /*hasSideEffects=*/false),
                      operands);
}

// One rule for both 16-bit types and for every target, where there is no instruction of theirs: compute in float32,
// round once.
Value* OperatorLowering::InFloat32(Op op, DType type, absl::Span<Value* const> operands) {
  const char* const slots = ir::SemanticsOf(op).slots;
  llvm::SmallVector<Value*, ir::kMaxArity> wide;
  for (size_t i = 0; i < operands.size(); ++i) {
    wide.push_back(slots[i] == ir::kSlotT ? b_.CreateFPExt(operands[i], b_.getFloatTy()) : operands[i]);
  }
  Value* result = Apply(op, DType::kFloat32, absl::MakeConstSpan(wide.data(), wide.size()));
  if (result == nullptr || !result->getType()->isFloatTy()) return result;
  return b_.CreateFPTrunc(result, ValueType(b_.getContext(), type));
}

Value* OperatorLowering::Apply(Op op, DType type, absl::Span<Value* const> operands) {
  const ir::Lowering& how = ir::LoweringOf(op, type);
  const bool moves_bits = how.by == LowerBy::kSelect || how.by == LowerBy::kIdentity;
  // min and max of 16-bit floats are instructions of sm_80 (PTX ISA 7.0).
  const bool in_halves = how.in_halves && (how.by != LowerBy::kMinMax || target_.sm >= 80);
  if ((type == DType::kFloat16 || type == DType::kBFloat16) && !moves_bits && !in_halves) {
    return InFloat32(op, type, operands);
  }
  if (type == DType::kFloat32) {
    if (Value* approximation = Approximate(op, operands)) return approximation;
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
    case LowerBy::kFma:
      return Fma(operands);
    case LowerBy::kNvvm: {
      const char* form = type == DType::kFloat64 ? ".d" : options_.fast_math.flush_subnormals ? ".ftz.f" : ".f";
      return b_.CreateIntrinsic(llvm::Intrinsic::lookupIntrinsicID(absl::StrCat(how.name, form)), {},
                                llvm::ArrayRef<Value*>(operands.data(), operands.size()));
    }
    case LowerBy::kPtx:
      if (op == Op::kFastTanh && target_.ptx_isa < 70) {  // PTX ISA 7.0 brought tanh.approx.
        return Library(ir::SemanticsOf(op), "tanh", operands);
      }
      return Approximating(how.name, operands);
    case LowerBy::kInteger: {
      Value* result = LowerIntegerFunction(b_, how.name, IsSignedInteger(type), operands);
      SLIPWAY_CHECK(result != nullptr, "the semantics table names an unknown integer function");
      const bool counts = ir::SemanticsOf(op).result == ir::ResultRule::kInt32;
      return counts ? b_.CreateZExtOrTrunc(result, b_.getInt32Ty()) : result;
    }
    case LowerBy::kLibrary:
      return Library(ir::SemanticsOf(op), how.name, operands);
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
  if (bits >= 32) return PtxInstruction(b_, absl::StrCat(opcode, is_signed ? "s" : "u", bits), a->getType(), {a, b});
  // Narrow operands divide in 32 bits: all ones and MIN / -1 come out right when the result is cut.
  auto widen = [&](Value* value) {
    return is_signed ? b_.CreateSExt(value, b_.getInt32Ty()) : b_.CreateZExt(value, b_.getInt32Ty());
  };
  Value* wide =
      PtxInstruction(b_, absl::StrCat(opcode, is_signed ? "s32" : "u32"), b_.getInt32Ty(), {widen(a), widen(b)});
  return b_.CreateTrunc(wide, a->getType());
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
  const std::string opcode = left ? "shl.b" : arithmetic ? "shr.s" : "shr.u";
  if (bits >= 32) return PtxInstruction(b_, absl::StrCat(opcode, bits), a->getType(), {a, count});
  Value* wide = arithmetic ? b_.CreateSExt(a, b_.getInt32Ty()) : b_.CreateZExt(a, b_.getInt32Ty());
  return b_.CreateTrunc(PtxInstruction(b_, absl::StrCat(opcode, 32), b_.getInt32Ty(), {wide, count}), a->getType());
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
  if (!a->getType()->isDoubleTy() && target_.sm >= 80) {  // min.NaN (PTX ISA 7.0, sm_80); there is none for f64.
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

Value* OperatorLowering::Fma(absl::Span<Value* const> operands) {
  llvm::Type* type = operands[0]->getType();
  if (!type->isBFloatTy() || target_.sm >= 80) {  // fma.rn.bf16: PTX ISA 7.0, sm_80.
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {operands[0], operands[1], operands[2]});
  }
  // In float64, where the product is exact, and rounded once. float32 would round the sum a first time.
  Value* wide[3];
  for (int i = 0; i < 3; ++i) wide[i] = b_.CreateFPExt(operands[i], b_.getDoubleTy());
  Value* product = b_.CreateFMul(wide[0], wide[1]);
  Value* down = b_.CreateIntrinsic(llvm::Intrinsic::nvvm_add_rm_d, {}, {product, wide[2]});
  Value* up = b_.CreateIntrinsic(llvm::Intrinsic::nvvm_add_rp_d, {}, {product, wide[2]});
  // A sum that is 0 is -0 when rounded down, and any sign that an addition of zeros has by rounding to nearest.
  Value* zero = b_.CreateFCmpOEQ(up, llvm::ConstantFP::getZero(b_.getDoubleTy()));
  return b_.CreateFPTrunc(b_.CreateSelect(zero, up, RoundToOdd(b_, down, up)), type);
}

Value* OperatorLowering::Library(const ir::Semantics& row, const char* stem, absl::Span<Value* const> operands) {
  llvm::Type* type = operands[row.slots[0] == ir::kSlotT ? 0 : 1]->getType();
  llvm::SmallVector<Value*, ir::kMaxArity> arguments(operands.begin(), operands.end());
  if (llvm::StringRef(stem) == "yn") {  // libdevice has the limit from below at -0.
    Value* zero = llvm::ConstantFP::getZero(type);
    arguments[1] = b_.CreateSelect(b_.CreateFCmpOEQ(arguments[1], zero), zero, arguments[1]);
  }
  if (options_.math == MathLibrary::kLibclc) {
    const llvm::StringRef name(stem);
    if ((name == "fmod" || name == "remainder") && type->isFloatTy()) {
      // Its float32 functions are wrong for subnormal divisors, its float64 ones are not; and the remainder of two
      // float32 numbers is a float32 number.
      for (Value*& argument : arguments) argument = b_.CreateFPExt(argument, b_.getDoubleTy());
      return b_.CreateFPTrunc(Library(row, stem, {arguments.data(), arguments.size()}), type);
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
  const std::string symbol =
      MathSymbol(options_.math, stem, type->isDoubleTy(), absl::string_view(row.slots, operands.size()));
  if (std::find(math_symbols_.begin(), math_symbols_.end(), symbol) == math_symbols_.end()) {
    math_symbols_.push_back(symbol);
  }
  llvm::SmallVector<llvm::Type*, ir::kMaxArity> parameters;
  for (Value* argument : arguments) parameters.push_back(argument->getType());
  llvm::Module* module = b_.GetInsertBlock()->getModule();
  llvm::FunctionCallee function =
      module->getOrInsertFunction(symbol, llvm::FunctionType::get(type, parameters, /*isVarArg=*/false));
  Value* result = b_.CreateCall(function, arguments);
  if (llvm::StringRef(stem) != "jn") return result;
  // For order 2 and more libdevice divides by powers of the argument: 0 by 0 where the result is one.
  Value* magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, arguments[1]);
  Value* tiny = b_.CreateFCmpOLT(magnitude, llvm::ConstantFP::get(type, type->isDoubleTy() ? 0x1p-537 : 0x1p-74));
  Value* vanishes = b_.CreateAnd(tiny, b_.CreateICmpSGE(arguments[0], b_.getInt32(2)));
  return b_.CreateSelect(vanishes, llvm::ConstantFP::getZero(type), result);
}

}  // namespace slipway
