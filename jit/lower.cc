#include "jit/lower.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "driver/check.h"
#include "driver/status_macros.h"
#include "jit/lower_calls.h"
#include "jit/lower_checks.h"
#include "jit/lower_lines.h"
#include "jit/lower_memory.h"
#include "jit/lower_ops.h"
#include "jit/lower_threads.h"
#include "jit/semantics.h"
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

class KernelLowering {
 public:
  KernelLowering(const ir::Kernel& kernel, const Target& target, const CompileOptions& options, llvm::Module& module)
      : kernel_(kernel),
        options_(options),
        module_(module),
        context_(module.getContext()),
        b_(context_),
        entry_(context_),
        ops_(b_, target, options),
        values_(kernel.insts.size(), nullptr),
        memory_(kernel, target, module, b_, entry_, values_),
        threads_(kernel, target, module, b_, entry_, ops_, values_),
        checks_(kernel, b_, memory_, threads_, values_) {
    // Permission to contract is spent by jit/fma.cc and by nothing else.
    const FastMath& fast = options.fast_math;
    llvm::FastMathFlags flags;
    flags.setAllowContract(options.contract);
    flags.setAllowReassoc(fast.reassociate);
    flags.setNoSignedZeros(fast.reassociate);
    flags.setNoNaNs(fast.no_nans);
    flags.setNoInfs(fast.no_infinities);
    b_.setFastMathFlags(flags);
  }

  absl::StatusOr<Lowered> Run() {
    MakeFunction();
    SLIPWAY_RETURN_IF_ERROR(LowerBlock(0));
    b_.CreateBr(return_block_);
    return_block_->insertInto(function_);
    b_.SetInsertPoint(return_block_);
    if (result_ == nullptr) {
      b_.CreateRetVoid();
    } else {
      b_.CreateRet(b_.CreateLoad(result_->getAllocatedType(), result_));
    }
    if (lines_.has_value()) lines_->Finish();
    return Lowered{.math_symbols = ops_.math_symbols(),
                   .has_loops = has_loops_ || threads_.has_loops(),
                   .unrolls = unrolls_,
                   .has_neighbours = memory_.has_neighbours(),
                   .has_vectors = memory_.has_vectors()};
  }

 private:
  void MakeFunction() {
    function_ = memory_.MakeFunction();
    SetFloatMode(*function_, options_.fast_math);
    if (options_.line_info) lines_.emplace(kernel_, module_, *function_);
    LimitRegisters();
    // Parameters are read and variables live in the entry block, which dominates every use; the kernel's body follows.
    BasicBlock* entry = BasicBlock::Create(context_, "entry", function_);
    BasicBlock* body = BasicBlock::Create(context_, "body", function_);
    return_block_ = BasicBlock::Create(context_, "return");
    entry_.SetInsertPoint(llvm::BranchInst::Create(body, entry));
    for (const ir::Variable& variable : kernel_.vars) {
      variables_.push_back(entry_.CreateAlloca(ValueType(context_, variable.type), nullptr, variable.name));
    }
    if (kernel_.result != DType::kVoid) {
      result_ = entry_.CreateAlloca(ValueType(context_, kernel_.result), nullptr, "result");
    }
    b_.SetInsertPoint(body);
    if (!kernel_.checks.empty()) checks_.Gate(function_, return_block_);
  }

  // The smaller of what the kernel and the options say.
  void LimitRegisters() {
    const uint32_t own = kernel_.bounds.max_registers, asked = options_.max_registers;
    const uint32_t limit = own == 0 || asked == 0 ? std::max(own, asked) : std::min(own, asked);
    if (limit != 0) function_->addFnAttr("nvvm.maxnreg", std::to_string(limit));
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

  // What is made from now on is of where the instruction comes from.
  void SetLine(const Inst& inst) {
    if (lines_.has_value()) b_.SetCurrentDebugLocation(lines_->At(inst.location));
  }

  absl::Status LowerInst(ValueId id) {
    const Inst& inst = kernel_.insts[id];
    const absl::Span<const ValueId> operands = kernel_.OperandsOf(inst);
    auto value = [&](int i) { return values_[operands[i]]; };
    SetLine(inst);
    if (ir::IsOperator(inst.op)) return LowerOperator(id, inst, operands);
    switch (inst.op) {
      case Op::kConst:
        return LowerConst(id, inst);
      case Op::kScalarParam:
        values_[id] = memory_.Scalar(inst);
        break;
      case Op::kField:
        values_[id] = memory_.Field(inst);
        break;
      case Op::kSpecial:
        values_[id] = threads_.Special(static_cast<ir::SpecialRegister>(inst.imm));
        break;
      case Op::kCast:
        values_[id] =
            ops_.Cast(value(0), kernel_.insts[operands[0]].type, inst.type, static_cast<ir::CastKind>(inst.imm));
        if (values_[id] == nullptr) return Unsupported(inst, kernel_.insts[operands[0]].type);
        break;
      case Op::kComplex:
        values_[id] = llvm::PoisonValue::get(ValueType(context_, inst.type));
        for (unsigned i = 0; i < 2; ++i) values_[id] = b_.CreateInsertValue(values_[id], value(i), i);
        break;
      case Op::kPart:
        values_[id] = b_.CreateExtractValue(value(0), static_cast<unsigned>(inst.imm));
        break;
      case Op::kReadVar:
        values_[id] = b_.CreateLoad(variables_[inst.imm]->getAllocatedType(), variables_[inst.imm]);
        break;
      case Op::kWriteVar:
        b_.CreateStore(value(0), variables_[inst.imm]);
        break;
      case Op::kShape:
        values_[id] = memory_.Shape(inst);
        break;
      case Op::kDeclare:
        memory_.Declare(inst);
        break;
      case Op::kLoad:
        values_[id] = memory_.Load(inst);
        break;
      case Op::kStore:
        memory_.Store(inst);
        break;
      case Op::kLoadGroup:
        values_[id] = memory_.LoadGroup(inst);
        break;
      case Op::kStoreGroup:
        memory_.StoreGroup(inst);
        break;
      case Op::kResult:
        values_[id] = memory_.Result(inst);
        break;
      case Op::kAtomic:
        values_[id] = memory_.Atomic(inst);
        break;
      case Op::kBarrier:
        values_[id] = threads_.Barrier(inst);
        break;
      case Op::kWarp:
        values_[id] = threads_.Warp(inst);
        break;
      case Op::kGridSync:
        threads_.GridSync();
        break;
      case Op::kFence:
        memory_.Fence(static_cast<MemoryScope>(inst.imm));
        break;
      case Op::kSleep:
        threads_.Sleep(inst);
        break;
      case Op::kPrintf:
        threads_.Printf(inst);
        break;
      case Op::kAssert:
        threads_.Assert(inst);
        break;
      case Op::kTrap:
        threads_.Trap();
        break;
      case Op::kCheck:
        checks_.Check(inst, return_block_);
        break;
      case Op::kIf:
        return LowerIf(inst, value(0));
      case Op::kFor:
        return LowerFor(id, inst, operands);
      case Op::kWhile:
        return LowerWhile(inst);
      case Op::kYield:
        values_[id] = value(0);
        break;
      case Op::kScope:
        return LowerScope(inst);
      case Op::kLeave:
        JumpTo(scopes_.back());
        break;
      case Op::kBreak:
        JumpTo(loops_.back().exit);
        break;
      case Op::kContinue:
        JumpTo(loops_.back().next);
        break;
      case Op::kReturn:
        LowerReturn(operands);
        break;
      case Op::kAddress:
        values_[id] = memory_.Address(inst);
        break;
      case Op::kCall: {
        llvm::SmallVector<Value*, 8> arguments;
        for (ValueId operand : operands) arguments.push_back(values_[operand]);
        values_[id] = CallExternal(kernel_.externals[inst.imm], absl::MakeConstSpan(arguments.data(), arguments.size()),
                                   b_, module_);
        break;
      }
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

  BasicBlock* NewBlock(const char* name) { return BasicBlock::Create(context_, name); }
  void Enter(BasicBlock* block) {
    block->insertInto(function_);
    b_.SetInsertPoint(block);
  }
  void JumpTo(BasicBlock* block) {
    b_.CreateBr(block);
    Enter(NewBlock("dead"));  // What follows is unreachable and goes away.
  }

  // A kernel's thread ends where it returns. A device function's goes back to its caller with a result, and ends
  // without.
  void LowerReturn(absl::Span<const ValueId> operands) {
    if (!operands.empty()) {
      b_.CreateStore(values_[operands[0]], result_);
    } else if (kernel_.is_function) {
      b_.CreateIntrinsic(b_.getVoidTy(), llvm::Intrinsic::nvvm_exit, {});
    }
    JumpTo(return_block_);
  }

  // The body of a loop, up to where its next turn begins, which breaks and continues in it jump around.
  absl::Status LowerTurn(BlockId body, BasicBlock* exit, BasicBlock* next) {
    loops_.push_back({exit, next});
    SLIPWAY_RETURN_IF_ERROR(LowerBlock(body));
    loops_.pop_back();
    return absl::OkStatus();
  }

  // Tells the compiler how often to unroll the loop that this jump closes.
  void SetUnroll(llvm::BranchInst* jump, uint32_t count) {
    if (count == 0) return;
    auto* how = llvm::MDNode::get(
        context_, count == 1
                      ? llvm::ArrayRef<llvm::Metadata*>{llvm::MDString::get(context_, "llvm.loop.unroll.disable")}
                      : llvm::ArrayRef<llvm::Metadata*>{llvm::MDString::get(context_, "llvm.loop.unroll.count"),
                                                        llvm::ConstantAsMetadata::get(b_.getInt32(count))});
    llvm::MDNode* loop = llvm::MDNode::getDistinct(context_, {nullptr, how});
    loop->replaceOperandWith(0, loop);
    jump->setMetadata(llvm::LLVMContext::MD_loop, loop);
    unrolls_ |= count > 1;
  }

  absl::Status LowerScope(const Inst& inst) {
    BasicBlock* end = NewBlock("endscope");
    scopes_.push_back(end);
    SLIPWAY_RETURN_IF_ERROR(LowerBlock(inst.blocks[0]));
    scopes_.pop_back();
    b_.CreateBr(end);
    Enter(end);
    return absl::OkStatus();
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
      bound = PositiveBoundOf(static_cast<ir::SpecialRegister>(inst.imm));
    } else if (inst.op == Op::kCast) {
      bound = PositiveBound(operands[0]);
    } else if (inst.op == Op::kMul) {
      const uint64_t a = PositiveBound(operands[0]), b = PositiveBound(operands[1]);
      if (a != 0 && b <= limit / a) bound = a * b;
    }
    return bound <= limit ? bound : 0;
  }

  // Whether a signed value is known not to be negative: enough for the index of a thread.
  bool IsNonNegative(ValueId id) const {
    const Inst& inst = kernel_.insts[id];
    const absl::Span<const ValueId> operands = kernel_.OperandsOf(inst);
    switch (inst.op) {
      case Op::kConst:
        return IsSignedInteger(inst.type) && llvm::SignExtend64(inst.imm, 8 * SizeOf(inst.type)) >= 0;
      case Op::kCast: {
        const DType from = kernel_.insts[operands[0]].type;
        return static_cast<ir::CastKind>(inst.imm) == ir::CastKind::kValue && IsUnsignedInteger(from) &&
               SizeOf(from) < SizeOf(inst.type);
      }
      case Op::kAdd:
        // A thread's place in its block beside that of its block: no sum of two 32-bit numbers wraps in 64 bits.
        return inst.type == DType::kInt64 && IsPlace(operands[0]) && IsPlace(operands[1]);
      default:
        return false;
    }
  }
  // The product of at most two 31-bit numbers, or one: what indices of threads and blocks are made of.
  bool IsPlace(ValueId id) const {
    const Inst& inst = kernel_.insts[id];
    const absl::Span<const ValueId> operands = kernel_.OperandsOf(inst);
    if (inst.op == Op::kCast) return kernel_.insts[operands[0]].op == Op::kSpecial && IsNonNegative(id);
    return inst.op == Op::kMul && IsNonNegative(operands[0]) && IsNonNegative(operands[1]) &&
           PositiveBound(operands[1]) != 0;
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
    // Where neither can wrap around, the last turn is told by what the variable is before it is increased: nothing else
    // changes from turn to turn.
    const bool counts_up =
        upwards && is_signed && stride == step && PositiveBound(operands[2]) != 0 && IsNonNegative(operands[0]);
    Value* last = counts_up ? b_.CreateNSWSub(end, step) : nullptr;
    BasicBlock* body = NewBlock("for");
    BasicBlock* exit = NewBlock("endfor");
    BasicBlock* before = b_.GetInsertBlock();
    b_.CreateCondBr(runs, body, exit);

    Enter(body);
    llvm::PHINode* i = b_.CreatePHI(begin->getType(), 2);
    i->addIncoming(begin, before);
    values_[id] = i;
    b_.CreateStore(i, variables_[inst.imm]);
    BasicBlock* turn = NewBlock("next");
    SLIPWAY_RETURN_IF_ERROR(LowerTurn(inst.blocks[0], exit, turn));
    b_.CreateBr(turn);
    Enter(turn);
    SetLine(inst);
    auto* constant = llvm::dyn_cast<llvm::ConstantInt>(step);
    Value* next;
    Value* more;
    if (constant != nullptr && constant->isOne()) {
      next = b_.CreateAdd(i, step, "", /*HasNUW=*/!is_signed, /*HasNSW=*/is_signed);  // i < end, so this holds.
      more = b_.CreateICmp(less, next, end);
    } else if (last != nullptr) {
      next = b_.CreateNSWAdd(i, step);
      more = b_.CreateICmpSLT(i, last);
    } else {
      next = b_.CreateAdd(i, step);
      Value* left = b_.CreateSelect(up, b_.CreateSub(end, i), b_.CreateSub(i, end));
      more = b_.CreateICmpUGT(left, stride);
    }
    i->addIncoming(next, b_.GetInsertBlock());
    SetUnroll(b_.CreateCondBr(more, body, exit), inst.imm2 != 0 ? inst.imm2 : OwnUnroll(inst, operands));
    Enter(exit);
    return absl::OkStatus();
  }

  // How often a loop is unrolled whose author leaves it to us. ptxas does well by itself but for loops that count by
  // one up to a bound of the launch, which it makes longer than need be.
  uint32_t OwnUnroll(const Inst& loop, absl::Span<const ValueId> operands) const {
    constexpr uint32_t kTurns = 4;
    constexpr size_t kSmallBody = 24;
    const auto is_constant = [&](int i) { return kernel_.insts[operands[i]].op == Op::kConst; };
    const std::vector<ValueId>& body = kernel_.blocks[loop.blocks[0]];
    if (!is_constant(2) || kernel_.insts[operands[2]].imm != 1 || is_constant(1) || body.size() > kSmallBody) return 0;
    const bool simple = std::all_of(body.begin(), body.end(), [&](ValueId id) {
      const Op op = kernel_.insts[id].op;
      return ir::IsOperator(op) || op == Op::kConst || op == Op::kCast || op == Op::kReadVar || op == Op::kWriteVar ||
             op == Op::kLoad || op == Op::kStore || op == Op::kShape;
    });
    return simple ? kTurns : 0;
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
    SLIPWAY_RETURN_IF_ERROR(LowerTurn(inst.blocks[1], end, test));
    SetUnroll(b_.CreateBr(test), inst.imm2);
    Enter(end);
    return absl::OkStatus();
  }

  struct Loop {
    BasicBlock* exit;
    BasicBlock* next;  // Where the next turn begins.
  };

  const ir::Kernel& kernel_;
  const CompileOptions& options_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b_;
  llvm::IRBuilder<> entry_;  // Inserts before the end of the entry block.
  OperatorLowering ops_;
  std::vector<Value*> values_;  // By ValueId.
  std::optional<LineLowering> lines_;
  MemoryLowering memory_;
  ThreadLowering threads_;
  CheckLowering checks_;
  llvm::Function* function_ = nullptr;
  BasicBlock* return_block_ = nullptr;
  llvm::AllocaInst* result_ = nullptr;  // Of a device function that has one.
  std::vector<llvm::AllocaInst*> variables_;
  std::vector<Loop> loops_;          // Around the present instruction.
  std::vector<BasicBlock*> scopes_;  // The ends of those around it.
  bool has_loops_ = false;
  bool unrolls_ = false;
};

}  // namespace

absl::StatusOr<Lowered> LowerToLlvm(const ir::Kernel& kernel, const Target& target, const CompileOptions& options,
                                    llvm::Module& module) {
  return KernelLowering(kernel, target, options, module).Run();
}

}  // namespace slipway
