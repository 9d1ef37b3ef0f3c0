#include "jit/lower.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "driver/check.h"
#include "driver/status_macros.h"
#include "jit/lower_ops.h"
#include "jit/semantics.h"
#include "llvm/IR/ConstantRange.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"

namespace slipway {
namespace {

using ir::BlockId;
using ir::Inst;
using ir::Op;
using ir::ValueId;
using llvm::BasicBlock;
using llvm::Value;

constexpr unsigned kGlobalSpace = 1;

// Special registers and the limits of what they hold (CUDA programming guide, "Technical Specifications per Compute
// Capability", the same for sm_75 to sm_121). Told to LLVM, so that products of them are known not to wrap.
struct Register {
  llvm::Intrinsic::ID id;
  uint64_t first;
  uint64_t last;
};
constexpr uint64_t kMaxGridX = 0x7fffffff, kMaxGridYZ = 65535;
constexpr Register kRegisters[] = {
    {llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, 0, 1023},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_tid_y, 0, 1023},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_tid_z, 0, 63},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, 0, kMaxGridX - 1},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y, 0, kMaxGridYZ - 1},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z, 0, kMaxGridYZ - 1},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x, 1, 1024},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_y, 1, 1024},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_z, 1, 64},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x, 1, kMaxGridX},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y, 1, kMaxGridYZ},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_z, 1, kMaxGridYZ},
};

class KernelLowering {
 public:
  KernelLowering(const ir::Kernel& kernel, const Target& target, MathLibrary library, llvm::Module& module)
      : kernel_(kernel),
        module_(module),
        context_(module.getContext()),
        b_(context_),
        entry_(context_),
        ops_(b_, target, library),
        values_(kernel.insts.size(), nullptr) {
    // Permission to contract, spent by jit/fma.cc and by nothing else.
    llvm::FastMathFlags flags;
    flags.setAllowContract();
    b_.setFastMathFlags(flags);
  }

  absl::StatusOr<Lowered> Run() {
    MakeFunction();
    SLIPWAY_RETURN_IF_ERROR(LowerBlock(0));
    b_.CreateBr(return_block_);
    return_block_->insertInto(function_);
    b_.SetInsertPoint(return_block_);
    b_.CreateRetVoid();
    return Lowered{.math_symbols = ops_.math_symbols(), .has_loops = has_loops_};
  }

 private:
  // In memory a bool is a byte.
  llvm::Type* MemoryType(DType dtype) { return dtype == DType::kBool ? b_.getInt8Ty() : ValueType(context_, dtype); }

  llvm::Type* ParamStruct(const ParamSpec& param) {
    if (param.kind == ParamKind::kScalar) return ValueType(context_, param.dtype);  // A complex number.
    llvm::SmallVector<llvm::Type*, 3> fields = {llvm::PointerType::get(context_, kGlobalSpace)};
    if (param.rank > 0) {
      llvm::Type* sizes = llvm::ArrayType::get(b_.getInt64Ty(), param.rank);
      fields.push_back(sizes);
      if (param.layout == Layout::kStrided) fields.push_back(sizes);
    }
    return llvm::StructType::get(context_, fields);
  }

  void MakeFunction() {
    llvm::SmallVector<llvm::Type*, 8> types;
    for (const ParamSpec& param : kernel_.params)
      types.push_back(ByValue(param) ? b_.getPtrTy() : MemoryType(param.dtype));
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, /*isVarArg=*/false),
                                       llvm::Function::ExternalLinkage, kernel_.name, module_);
    function_->setCallingConv(llvm::CallingConv::PTX_Kernel);
    function_->setDoesNotThrow();
    for (size_t i = 0; i < kernel_.params.size(); ++i) {
      const ParamSpec& param = kernel_.params[i];
      if (!ByValue(param)) continue;
      function_->addParamAttr(i, llvm::Attribute::getWithByValType(context_, ParamStruct(param)));
      function_->addParamAttr(i, llvm::Attribute::getWithAlignment(context_, llvm::Align(AbiAlign(param))));
    }
    // Parameters are read and variables live in the entry block, which dominates every use; the kernel's body follows.
    BasicBlock* entry = BasicBlock::Create(context_, "entry", function_);
    BasicBlock* body = BasicBlock::Create(context_, "body", function_);
    return_block_ = BasicBlock::Create(context_, "return");
    entry_.SetInsertPoint(llvm::BranchInst::Create(body, entry));
    for (const ir::Variable& variable : kernel_.vars) {
      variables_.push_back(entry_.CreateAlloca(ValueType(context_, variable.type), nullptr, variable.name));
    }
    b_.SetInsertPoint(body);
  }

  static bool ByValue(const ParamSpec& param) { return param.kind == ParamKind::kArray || IsComplex(param.dtype); }

  // A field of parameter `param`'s struct, read once, in the entry block.
  Value* Field(uint64_t param, uint64_t byte_offset, llvm::Type* type) {
    Value*& field = fields_[{static_cast<uint32_t>(param), static_cast<uint32_t>(byte_offset), type}];
    if (field == nullptr) {
      Value* address = entry_.CreateConstInBoundsGEP1_64(entry_.getInt8Ty(), function_->getArg(param), byte_offset);
      field = entry_.CreateAlignedLoad(type, address, llvm::Align(type->isIntegerTy(32) ? 4 : 8));
    }
    return field;
  }
  // Little endian: the low half of an int64 stands first.
  Value* Extent(uint64_t param, int dimension, llvm::Type* type) { return Field(param, 8 + 8 * dimension, type); }
  Value* Stride(uint64_t param, int dimension, llvm::Type* type) {
    return Field(param, 8 + 8 * (kernel_.params[param].rank + dimension), type);
  }

  // The address of an element. Offsets are computed in the parameter's index width; that no partial sum of them wraps
  // follows from the width's promise, because a sum of the first terms is the offset of an element, too.
  Value* ElementAddress(uint64_t param, absl::Span<const ValueId> indices) {
    const ParamSpec& spec = kernel_.params[param];
    Value* base = Field(param, 0, llvm::PointerType::get(context_, kGlobalSpace));
    llvm::Type* width = spec.index == IndexWidth::kIndex32 ? b_.getInt32Ty() : b_.getInt64Ty();
    Value* offset = nullptr;
    for (int d = 0; d < spec.rank; ++d) {
      const DType dtype = kernel_.insts[indices[d]].type;
      Value* index = values_[indices[d]];
      index = IsSignedInteger(dtype) ? b_.CreateSExtOrTrunc(index, width) : b_.CreateZExtOrTrunc(index, width);
      if (spec.layout == Layout::kContiguous) {
        if (offset != nullptr) offset = b_.CreateNSWMul(offset, Extent(param, d, width));
      } else {
        index = b_.CreateNSWMul(index, Stride(param, d, width));
      }
      offset = offset == nullptr ? index : b_.CreateNSWAdd(offset, index);
    }
    if (offset == nullptr) return base;
    return b_.CreateInBoundsGEP(MemoryType(spec.dtype), base, b_.CreateSExt(offset, b_.getInt64Ty()));
  }

  absl::Status LowerBlock(BlockId block) {
    for (ValueId id : kernel_.blocks[block]) {
      SLIPWAY_RETURN_IF_ERROR(LowerInst(id));
    }
    return absl::OkStatus();
  }

  absl::Status Unsupported(const Inst& inst, DType dtype) {
    std::string where;
    if (inst.location.line != 0) where = absl::StrCat(inst.location.line, ":", inst.location.column, ": ");
    return absl::UnimplementedError(absl::StrCat("kernel '", kernel_.name, "': ", where, "'", ir::Name(inst.op),
                                                 "' is not supported on ", AsAbsl(Name(dtype))));
  }

  absl::Status LowerInst(ValueId id) {
    const Inst& inst = kernel_.insts[id];
    const absl::Span<const ValueId> operands = kernel_.OperandsOf(inst);
    auto value = [&](int i) { return values_[operands[i]]; };
    if (ir::IsOperator(inst.op)) return LowerOperator(id, inst, operands);
    switch (inst.op) {
      case Op::kConst:
        return LowerConst(id, inst);
      case Op::kScalarParam:
        values_[id] = LowerScalarParam(inst);
        break;
      case Op::kSpecial: {
        SLIPWAY_CHECK(inst.imm < std::size(kRegisters), "unknown special register");
        const Register& reg = kRegisters[inst.imm];
        llvm::CallInst* call = b_.CreateIntrinsic(reg.id, llvm::ArrayRef<llvm::Type*>(), llvm::ArrayRef<Value*>());
        call->addRangeRetAttr(llvm::ConstantRange(llvm::APInt(32, reg.first), llvm::APInt(32, reg.last + 1)));
        values_[id] = call;
        break;
      }
      case Op::kCast:
        values_[id] =
            ops_.Cast(value(0), kernel_.insts[operands[0]].type, inst.type, static_cast<ir::CastKind>(inst.imm));
        if (values_[id] == nullptr) return Unsupported(inst, kernel_.insts[operands[0]].type);
        break;
      case Op::kShape:
        values_[id] = Extent(inst.imm, static_cast<int>(inst.imm2), b_.getInt64Ty());
        break;
      case Op::kReadVar:
        values_[id] = b_.CreateLoad(variables_[inst.imm]->getAllocatedType(), variables_[inst.imm]);
        break;
      case Op::kWriteVar:
        b_.CreateStore(value(0), variables_[inst.imm]);
        break;
      case Op::kLoad:
        values_[id] = LowerLoad(inst, operands);
        break;
      case Op::kStore: {
        const DType dtype = kernel_.params[inst.imm].dtype;
        Value* stored = value(static_cast<int>(operands.size()) - 1);
        if (dtype == DType::kBool) stored = b_.CreateZExt(stored, b_.getInt8Ty());
        b_.CreateAlignedStore(stored, ElementAddress(inst.imm, operands.first(operands.size() - 1)),
                              llvm::Align(AlignOf(dtype)));
        break;
      }
      case Op::kAtomicAdd:
        return LowerAtomicAdd(id, inst, operands);
      case Op::kIf:
        return LowerIf(inst, value(0));
      case Op::kFor:
        return LowerFor(id, inst, operands);
      case Op::kWhile:
        return LowerWhile(inst);
      case Op::kYield:
        values_[id] = value(0);
        break;
      case Op::kReturn:
        b_.CreateBr(return_block_);
        Enter(NewBlock("after_return"));  // What follows is unreachable and goes away.
        break;
      default:
        SLIPWAY_CHECK(false, "an instruction that the code generator does not know");
    }
    return absl::OkStatus();
  }

  absl::Status LowerOperator(ValueId id, const Inst& inst, absl::Span<const ValueId> operands) {
    llvm::SmallVector<Value*, 3> values;
    llvm::SmallVector<DType, 3> types;
    for (ValueId operand : operands) {
      values.push_back(values_[operand]);
      types.push_back(kernel_.insts[operand].type);
    }
    const DType type = ir::OperationType(inst.op, inst.type, absl::MakeConstSpan(types.data(), types.size()));
    values_[id] = ops_.Apply(inst.op, type, absl::MakeConstSpan(values.data(), values.size()));
    return values_[id] == nullptr ? Unsupported(inst, type) : absl::OkStatus();
  }

  absl::Status LowerConst(ValueId id, const Inst& inst) {
    llvm::Type* type = ValueType(context_, inst.type);
    if (type->isIntegerTy()) {
      values_[id] = llvm::ConstantInt::get(type, llvm::APInt(type->getIntegerBitWidth(), inst.imm, false, true));
    } else if (type->isFloatingPointTy()) {
      const llvm::APInt bits(8 * SizeOf(inst.type), inst.imm, false, true);
      values_[id] = llvm::ConstantFP::get(type, llvm::APFloat(type->getFltSemantics(), bits));
    } else {
      return Unsupported(inst, inst.type);
    }
    return absl::OkStatus();
  }

  Value* LowerScalarParam(const Inst& inst) {
    llvm::Argument* argument = function_->getArg(inst.imm);
    if (inst.type == DType::kBool) return entry_.CreateICmpNE(argument, entry_.getInt8(0));
    if (!IsComplex(inst.type)) return argument;
    return entry_.CreateAlignedLoad(ValueType(context_, inst.type), argument, llvm::Align(AlignOf(inst.type)));
  }

  Value* LowerLoad(const Inst& inst, absl::Span<const ValueId> indices) {
    Value* loaded =
        b_.CreateAlignedLoad(MemoryType(inst.type), ElementAddress(inst.imm, indices), llvm::Align(AlignOf(inst.type)));
    return inst.type == DType::kBool ? b_.CreateICmpNE(loaded, b_.getInt8(0)) : loaded;
  }

  absl::Status LowerAtomicAdd(ValueId id, const Inst& inst, absl::Span<const ValueId> operands) {
    const DType dtype = kernel_.params[inst.imm].dtype;
    const bool atomic = dtype != DType::kBFloat16 && (IsFloat(dtype) || (IsInteger(dtype) && SizeOf(dtype) >= 4));
    if (!atomic) return Unsupported(inst, dtype);
    const auto add = IsFloat(dtype) ? llvm::AtomicRMWInst::FAdd : llvm::AtomicRMWInst::Add;
    values_[id] = b_.CreateAtomicRMW(add, ElementAddress(inst.imm, operands.first(operands.size() - 1)),
                                     values_[operands.back()], llvm::MaybeAlign(SizeOf(dtype)),
                                     llvm::AtomicOrdering::Monotonic, context_.getOrInsertSyncScopeID("device"));
    return absl::OkStatus();
  }

  BasicBlock* NewBlock(const char* name) { return BasicBlock::Create(context_, name); }
  void Enter(BasicBlock* block) {
    block->insertInto(function_);
    b_.SetInsertPoint(block);
  }

  absl::Status LowerIf(const Inst& inst, Value* condition) {
    BasicBlock* then = NewBlock("then");
    BasicBlock* otherwise = NewBlock("else");
    BasicBlock* end = NewBlock("endif");
    b_.CreateCondBr(condition, then, otherwise);
    Enter(then);
    SLIPWAY_RETURN_IF_ERROR(LowerBlock(inst.blocks[0]));
    b_.CreateBr(end);
    Enter(otherwise);
    if (inst.blocks[1] != ir::kNone) SLIPWAY_RETURN_IF_ERROR(LowerBlock(inst.blocks[1]));
    b_.CreateBr(end);
    Enter(end);
    return absl::OkStatus();
  }

  // The most that a value can be, where it is known to be at least 1; 0 where neither is known. Enough to see that the
  // step of a grid-stride loop counts upwards.
  uint64_t PositiveBound(ValueId id) const {
    const Inst& inst = kernel_.insts[id];
    const absl::Span<const ValueId> operands = kernel_.OperandsOf(inst);
    if (!IsInteger(inst.type)) return 0;
    const unsigned bits = 8 * SizeOf(inst.type);
    const uint64_t limit = ~uint64_t{0} >> (64 - bits + (IsSignedInteger(inst.type) ? 1 : 0));
    uint64_t bound = 0;
    if (inst.op == Op::kConst) {
      bound = inst.imm;
    } else if (inst.op == Op::kSpecial) {
      if (kRegisters[inst.imm].first > 0) bound = kRegisters[inst.imm].last;
    } else if (inst.op == Op::kCast) {
      bound = PositiveBound(operands[0]);
    } else if (inst.op == Op::kMul) {
      const uint64_t a = PositiveBound(operands[0]), b = PositiveBound(operands[1]);
      if (a != 0 && b <= limit / a) bound = a * b;
    }
    return bound <= limit ? bound : 0;
  }

  // begin, end and step as written; the loop is made with its test at the end, so that nothing has to rotate it:
  //   if (begin before end) { i = begin; do body; while (what is left > step, i += step); }
  // Comparing what is left as an unsigned number neither overflows nor wraps.
  absl::Status LowerFor(ValueId id, const Inst& inst, absl::Span<const ValueId> operands) {
    has_loops_ = true;
    const DType dtype = kernel_.insts[operands[0]].type;
    Value *begin = values_[operands[0]], *end = values_[operands[1]], *step = values_[operands[2]];
    const bool is_signed = IsSignedInteger(dtype);
    const bool upwards = !is_signed || PositiveBound(operands[2]) != 0;
    Value* zero = llvm::ConstantInt::get(begin->getType(), 0);
    const auto less = is_signed ? llvm::CmpInst::ICMP_SLT : llvm::CmpInst::ICMP_ULT;

    Value* runs = b_.CreateICmp(less, begin, end);
    Value* up = b_.getTrue();
    Value* stride = step;
    if (upwards) {
      if (PositiveBound(operands[2]) == 0) runs = b_.CreateAnd(runs, b_.CreateICmpNE(step, zero));
    } else {
      up = b_.CreateICmpSGT(step, zero);
      Value* down = b_.CreateICmpSLT(step, zero);
      runs = b_.CreateOr(b_.CreateAnd(up, runs), b_.CreateAnd(down, b_.CreateICmpSGT(begin, end)));
      stride = b_.CreateSelect(up, step, b_.CreateNeg(step));
    }
    BasicBlock* body = NewBlock("for");
    BasicBlock* exit = NewBlock("endfor");
    BasicBlock* before = b_.GetInsertBlock();
    b_.CreateCondBr(runs, body, exit);

    Enter(body);
    llvm::PHINode* i = b_.CreatePHI(begin->getType(), 2);
    i->addIncoming(begin, before);
    values_[id] = i;
    b_.CreateStore(i, variables_[inst.imm]);
    SLIPWAY_RETURN_IF_ERROR(LowerBlock(inst.blocks[0]));
    auto* constant = llvm::dyn_cast<llvm::ConstantInt>(step);
    Value* next;
    Value* more;
    if (constant != nullptr && constant->isOne()) {
      next = b_.CreateAdd(i, step, "", /*HasNUW=*/!is_signed, /*HasNSW=*/is_signed);  // i < end, so this holds.
      more = b_.CreateICmp(less, next, end);
    } else {
      next = b_.CreateAdd(i, step);
      Value* left = b_.CreateSelect(up, b_.CreateSub(end, i), b_.CreateSub(i, end));
      more = b_.CreateICmpUGT(left, stride);
    }
    i->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(more, body, exit);
    Enter(exit);
    return absl::OkStatus();
  }

  absl::Status LowerWhile(const Inst& inst) {
    has_loops_ = true;
    BasicBlock* test = NewBlock("while");
    BasicBlock* body = NewBlock("do");
    BasicBlock* end = NewBlock("endwhile");
    b_.CreateBr(test);
    Enter(test);
    SLIPWAY_RETURN_IF_ERROR(LowerBlock(inst.blocks[0]));
    b_.CreateCondBr(values_[kernel_.blocks[inst.blocks[0]].back()], body, end);
    Enter(body);
    SLIPWAY_RETURN_IF_ERROR(LowerBlock(inst.blocks[1]));
    b_.CreateBr(test);
    Enter(end);
    return absl::OkStatus();
  }

  const ir::Kernel& kernel_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b_;
  llvm::IRBuilder<> entry_;  // Inserts before the end of the entry block.
  OperatorLowering ops_;
  llvm::Function* function_ = nullptr;
  BasicBlock* return_block_ = nullptr;
  std::vector<Value*> values_;  // By ValueId.
  std::vector<llvm::AllocaInst*> variables_;
  absl::flat_hash_map<std::tuple<uint32_t, uint32_t, llvm::Type*>, Value*> fields_;
  bool has_loops_ = false;
};

}  // namespace

absl::StatusOr<Lowered> LowerToLlvm(const ir::Kernel& kernel, const Target& target, MathLibrary library,
                                    llvm::Module& module) {
  return KernelLowering(kernel, target, library, module).Run();
}

}  // namespace slipway
