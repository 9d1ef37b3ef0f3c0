#include "jit/lower_threads.h"

#include <string>

#include "llvm/IR/ConstantRange.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace slipway {

using ir::BarrierReduction;
using ir::Inst;
using ir::WarpOp;
using llvm::BasicBlock;
using llvm::Value;

namespace {

// Special registers and the limits of what they hold (CUDA programming guide, "Technical Specifications per Compute
// Capability", the same for sm_75 to sm_121). Told to LLVM, so that products of them are known not to wrap.
struct Register {
  llvm::Intrinsic::ID id;
  uint64_t first;
  uint64_t last;  // ~0: anything.
};
constexpr uint64_t kMaxGridX = 0x7fffffff, kMaxGridYZ = 65535, kAnything = ~uint64_t{0};
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
    {llvm::Intrinsic::nvvm_read_ptx_sreg_laneid, 0, 31},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_lanemask_lt, 0, 0x7fffffff},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_lanemask_gt, 0, 0xfffffffe},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_smid, 0, kAnything},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_nsmid, 0, kAnything},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_dynamic_smem_size, 0, kAnything},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_clock64, 0, kAnything},
    {llvm::Intrinsic::nvvm_read_ptx_sreg_globaltimer, 0, kAnything},
};
static_assert(std::size(kRegisters) == ir::kNumSpecialRegisters);

}  // namespace

uint64_t PositiveBoundOf(ir::SpecialRegister reg) {
  const Register& row = kRegisters[static_cast<int>(reg)];
  return row.first > 0 ? row.last : 0;
}

Value* ThreadLowering::Call(llvm::Intrinsic::ID id, llvm::ArrayRef<Value*> arguments) {
  return b_.CreateIntrinsic(id, llvm::ArrayRef<llvm::Type*>(), arguments);
}

BasicBlock* ThreadLowering::NewBlock(const char* name) {
  return BasicBlock::Create(context_, name, b_.GetInsertBlock()->getParent());
}

Value* ThreadLowering::Special(ir::SpecialRegister reg) {
  const Register& row = kRegisters[static_cast<int>(reg)];
  auto* call = llvm::cast<llvm::CallInst>(Call(row.id, {}));
  if (row.last != kAnything) {
    const unsigned bits = call->getType()->getIntegerBitWidth();
    call->addRangeRetAttr(llvm::ConstantRange(llvm::APInt(bits, row.first), llvm::APInt(bits, row.last + 1)));
  }
  return call;
}

Value* ThreadLowering::Barrier(const Inst& inst) {
  // By reduction, of all threads and of a number of them.
  constexpr llvm::Intrinsic::ID kBarriers[4][2] = {
      {llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_count},
      {llvm::Intrinsic::nvvm_barrier_cta_red_and_aligned_all, llvm::Intrinsic::nvvm_barrier_cta_red_and_aligned_count},
      {llvm::Intrinsic::nvvm_barrier_cta_red_or_aligned_all, llvm::Intrinsic::nvvm_barrier_cta_red_or_aligned_count},
      {llvm::Intrinsic::nvvm_barrier_cta_red_popc_aligned_all,
       llvm::Intrinsic::nvvm_barrier_cta_red_popc_aligned_count}};
  const ir::Barrier barrier = ir::Barrier::Unpack(inst.imm);
  const absl::Span<const ir::ValueId> operands = kernel_.OperandsOf(inst);
  const bool reduces = barrier.reduction != BarrierReduction::kNone;
  llvm::SmallVector<Value*, 3> arguments = {b_.getInt32(barrier.id)};
  if (barrier.counted) arguments.push_back(values_[operands.back()]);
  if (reduces) arguments.push_back(values_[operands[0]]);
  return Call(kBarriers[static_cast<int>(barrier.reduction)][barrier.counted], arguments);
}

// A value of any type moved between lanes: as 32-bit words, each by an instruction of its own.
Value* ThreadLowering::Shuffle(Value* mask, Value* value, llvm::Intrinsic::ID how, Value* lane, Value* clamp) {
  llvm::Type* type = value->getType();
  if (type->isStructTy()) {  // Complex.
    Value* moved = llvm::PoisonValue::get(type);
    for (unsigned i = 0; i < 2; ++i) {
      moved = b_.CreateInsertValue(moved, Shuffle(mask, b_.CreateExtractValue(value, i), how, lane, clamp), i);
    }
    return moved;
  }
  const unsigned bits = static_cast<unsigned>(type->getPrimitiveSizeInBits());
  Value* word = b_.CreateBitCast(value, b_.getIntNTy(bits));
  if (bits <= 32) {
    Value* moved = Call(how, {mask, b_.CreateZExt(word, b_.getInt32Ty()), lane, clamp});
    return b_.CreateBitCast(b_.CreateTrunc(moved, b_.getIntNTy(bits)), type);
  }
  Value* low = Call(how, {mask, b_.CreateTrunc(word, b_.getInt32Ty()), lane, clamp});
  Value* high = Call(how, {mask, b_.CreateTrunc(b_.CreateLShr(word, 32), b_.getInt32Ty()), lane, clamp});
  Value* moved =
      b_.CreateOr(b_.CreateZExt(low, b_.getInt64Ty()), b_.CreateShl(b_.CreateZExt(high, b_.getInt64Ty()), 32));
  return b_.CreateBitCast(moved, type);
}

Value* ThreadLowering::AsWord(Value* value, bool is_signed) {
  Value* word =
      b_.CreateBitCast(value, b_.getIntNTy(static_cast<unsigned>(value->getType()->getPrimitiveSizeInBits())));
  if (word->getType()->isIntegerTy(64)) return word;
  return is_signed ? b_.CreateSExt(word, b_.getInt32Ty()) : b_.CreateZExt(word, b_.getInt32Ty());
}

Value* ThreadLowering::Combine(WarpOp op, DType dtype, Value* a, Value* b) {
  constexpr ir::Op kOperators[] = {ir::Op::kAdd,    ir::Op::kMin,   ir::Op::kMax,
                                   ir::Op::kBitAnd, ir::Op::kBitOr, ir::Op::kBitXor};
  Value* operands[] = {a, b};
  return operators_.Apply(kOperators[static_cast<int>(op) - static_cast<int>(WarpOp::kReduceAdd)], dtype, operands);
}

// The instruction where there is one (32-bit integers, sm_80 on). Else, where the mask is known to be the whole warp,
// five exchanges in a tree, after which all lanes hold the same; and for any other mask, a walk along its lanes.
Value* ThreadLowering::Reduce(WarpOp op, DType dtype, Value* mask, Value* value) {
  if ((IsInteger(dtype) || dtype == DType::kBool) && SizeOf(dtype) <= 4 && target_.sm >= 80) {
    const bool is_signed = IsSignedInteger(dtype);
    const llvm::Intrinsic::ID kInstructions[] = {
        llvm::Intrinsic::nvvm_redux_sync_add,
        is_signed ? llvm::Intrinsic::nvvm_redux_sync_min : llvm::Intrinsic::nvvm_redux_sync_umin,
        is_signed ? llvm::Intrinsic::nvvm_redux_sync_max : llvm::Intrinsic::nvvm_redux_sync_umax,
        llvm::Intrinsic::nvvm_redux_sync_and,
        llvm::Intrinsic::nvvm_redux_sync_or,
        llvm::Intrinsic::nvvm_redux_sync_xor};
    Value* all = Call(kInstructions[static_cast<int>(op) - static_cast<int>(WarpOp::kReduceAdd)],
                      {AsWord(value, is_signed), mask});
    return b_.CreateTrunc(all, value->getType());
  }
  auto* constant = llvm::dyn_cast<llvm::ConstantInt>(mask);
  if (constant != nullptr && constant->isMinusOne()) {
    for (int distance = ir::kWarpSize / 2; distance > 0; distance /= 2) {
      Value* other =
          Shuffle(mask, value, llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, b_.getInt32(distance), b_.getInt32(31));
      value = Combine(op, dtype, value, other);
    }
    return value;
  }
  // From the lowest lane of the mask upwards, in all lanes alike.
  has_loops_ = true;
  const auto lowest = [&](Value* lanes) {
    return b_.CreateIntrinsic(llvm::Intrinsic::cttz, {b_.getInt32Ty()}, {lanes, b_.getTrue()});
  };
  const auto rest_of = [&](Value* lanes) { return b_.CreateAnd(lanes, b_.CreateSub(lanes, b_.getInt32(1))); };
  const auto from = [&](Value* lane) {
    return Shuffle(mask, value, llvm::Intrinsic::nvvm_shfl_sync_idx_i32, lane, b_.getInt32(31));
  };
  Value* first = from(lowest(mask));
  Value* rest = rest_of(mask);
  BasicBlock* before = b_.GetInsertBlock();
  BasicBlock* body = NewBlock("reduce");
  BasicBlock* end = NewBlock("reduced");
  b_.CreateCondBr(b_.CreateICmpNE(rest, b_.getInt32(0)), body, end);
  b_.SetInsertPoint(body);
  llvm::PHINode* lanes = b_.CreatePHI(b_.getInt32Ty(), 2);
  llvm::PHINode* sum = b_.CreatePHI(value->getType(), 2);
  lanes->addIncoming(rest, before);
  sum->addIncoming(first, before);
  Value* next = Combine(op, dtype, sum, from(lowest(lanes)));
  Value* left = rest_of(lanes);
  lanes->addIncoming(left, b_.GetInsertBlock());
  sum->addIncoming(next, b_.GetInsertBlock());
  BasicBlock* latch = b_.GetInsertBlock();
  b_.CreateCondBr(b_.CreateICmpNE(left, b_.getInt32(0)), body, end);
  b_.SetInsertPoint(end);
  llvm::PHINode* result = b_.CreatePHI(value->getType(), 2);
  result->addIncoming(first, before);
  result->addIncoming(next, latch);
  return result;
}

Value* ThreadLowering::Warp(const Inst& inst) {
  const WarpOp op = static_cast<WarpOp>(inst.imm);
  const absl::Span<const ir::ValueId> operands = kernel_.OperandsOf(inst);
  Value* mask = operands.empty() ? nullptr : values_[operands[0]];
  Value* value = operands.size() < 2 ? nullptr : values_[operands[1]];
  if (ir::IsReduction(op)) return Reduce(op, inst.type, mask, value);
  if (ir::IsShuffle(op)) {
    constexpr llvm::Intrinsic::ID kShuffles[] = {
        llvm::Intrinsic::nvvm_shfl_sync_idx_i32, llvm::Intrinsic::nvvm_shfl_sync_up_i32,
        llvm::Intrinsic::nvvm_shfl_sync_down_i32, llvm::Intrinsic::nvvm_shfl_sync_bfly_i32};
    // PTX ISA, shfl.sync: which bits of the lane stay the thread's own, and the last lane there is.
    const uint32_t clamp = (ir::kWarpSize - inst.imm2) << 8 | (op == WarpOp::kShuffleUp ? 0 : 31);
    return Shuffle(mask, value, kShuffles[static_cast<int>(op)], values_[operands[2]], b_.getInt32(clamp));
  }
  switch (op) {
    case WarpOp::kAll:
      return Call(llvm::Intrinsic::nvvm_vote_all_sync, {mask, value});
    case WarpOp::kAny:
      return Call(llvm::Intrinsic::nvvm_vote_any_sync, {mask, value});
    case WarpOp::kUniform:
      return Call(llvm::Intrinsic::nvvm_vote_uni_sync, {mask, value});
    case WarpOp::kBallot:
      return Call(llvm::Intrinsic::nvvm_vote_ballot_sync, {mask, value});
    case WarpOp::kMatchAny: {
      Value* word = AsWord(value, false);
      return Call(word->getType()->isIntegerTy(64) ? llvm::Intrinsic::nvvm_match_any_sync_i64
                                                   : llvm::Intrinsic::nvvm_match_any_sync_i32,
                  {mask, word});
    }
    case WarpOp::kMatchAll: {
      Value* word = AsWord(value, false);
      return b_.CreateExtractValue(Call(word->getType()->isIntegerTy(64) ? llvm::Intrinsic::nvvm_match_all_sync_i64p
                                                                         : llvm::Intrinsic::nvvm_match_all_sync_i32p,
                                        {mask, word}),
                                   0);
    }
    case WarpOp::kActive:
      return Call(llvm::Intrinsic::nvvm_activemask, {});
    default:
      return Call(llvm::Intrinsic::nvvm_bar_warp_sync, {mask});
  }
}

// What cooperative_groups::grid_group::sync() does (CUDA's cooperative_groups headers): the driver puts the address of
// a workspace into %envreg1 and %envreg2; at byte 4 a counter stands, of which the top bit turns each time all blocks
// have come. One thread a block counts, for its block 1 and for block 0 what makes the sum 2^31.
void ThreadLowering::GridSync() {
  has_loops_ = true;
  const auto fence = [&] { Call(llvm::Intrinsic::nvvm_membar_gl, {}); };
  const auto any = [&](ir::SpecialRegister x, ir::SpecialRegister y, ir::SpecialRegister z) {
    return b_.CreateOr(b_.CreateOr(Special(x), Special(y)), Special(z));
  };
  using Reg = ir::SpecialRegister;
  Call(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {b_.getInt32(0)});
  BasicBlock* arrive = NewBlock("grid_arrive");
  BasicBlock* wait = NewBlock("grid_wait");
  BasicBlock* passed = NewBlock("grid_passed");
  BasicBlock* end = NewBlock("grid_end");
  b_.CreateCondBr(b_.CreateICmpEQ(any(Reg::kThreadX, Reg::kThreadY, Reg::kThreadZ), b_.getInt32(0)), arrive, end);

  b_.SetInsertPoint(arrive);
  Value* high = b_.CreateZExt(Call(llvm::Intrinsic::nvvm_read_ptx_sreg_envreg1, {}), b_.getInt64Ty());
  Value* low = b_.CreateZExt(Call(llvm::Intrinsic::nvvm_read_ptx_sreg_envreg2, {}), b_.getInt64Ty());
  Value* workspace = b_.CreateOr(b_.CreateShl(high, 32), low);
  Value* counter = b_.CreateIntToPtr(b_.CreateAdd(workspace, b_.getInt64(4)), b_.getPtrTy());
  Value* blocks = b_.CreateMul(b_.CreateMul(Special(Reg::kGridDimX), Special(Reg::kGridDimY)), Special(Reg::kGridDimZ));
  Value* first = b_.CreateICmpEQ(any(Reg::kBlockX, Reg::kBlockY, Reg::kBlockZ), b_.getInt32(0));
  Value* count = b_.CreateSelect(first, b_.CreateSub(b_.getInt32(0x80000000u), b_.CreateSub(blocks, b_.getInt32(1))),
                                 b_.getInt32(1));
  fence();
  Value* old = b_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, counter, count, llvm::MaybeAlign(4),
                                  llvm::AtomicOrdering::Monotonic, context_.getOrInsertSyncScopeID("device"));
  b_.CreateBr(wait);

  b_.SetInsertPoint(wait);
  Value* now = b_.CreateLoad(b_.getInt32Ty(), counter, /*isVolatile=*/true);
  b_.CreateCondBr(b_.CreateICmpSLT(b_.CreateXor(now, old), b_.getInt32(0)), passed, wait);

  b_.SetInsertPoint(passed);
  fence();
  b_.CreateBr(end);

  b_.SetInsertPoint(end);
  Call(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {b_.getInt32(0)});
}

void ThreadLowering::Sleep(const Inst& inst) {
  Call(llvm::Intrinsic::nvvm_nanosleep, {values_[kernel_.OperandsOf(inst)[0]]});
}

// Messages.

Value* ThreadLowering::Text(const std::string& text) {
  llvm::Constant* bytes = llvm::ConstantDataArray::getString(context_, text);
  auto* variable = new llvm::GlobalVariable(module_, bytes->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::InternalLinkage, bytes, kernel_.name + "_text", nullptr,
                                            llvm::GlobalValue::NotThreadLocal, /*AddressSpace=*/1);
  return b_.CreateAddrSpaceCast(variable, b_.getPtrTy());
}

// CUDA programming guide, "Formatted Output": vprintf(format, arguments), the arguments in memory as C passes them.
void ThreadLowering::Printf(const Inst& inst) {
  llvm::SmallVector<llvm::Type*, 8> types;
  for (ir::ValueId operand : kernel_.OperandsOf(inst)) types.push_back(values_[operand]->getType());
  Value* arguments = llvm::ConstantPointerNull::get(b_.getPtrTy());
  if (!types.empty()) {
    llvm::StructType* list = llvm::StructType::get(context_, types);
    arguments = entry_.CreateAlloca(list, nullptr, "printf");
    for (size_t i = 0; i < types.size(); ++i) {
      b_.CreateStore(values_[kernel_.OperandsOf(inst)[i]],
                     b_.CreateStructGEP(list, arguments, static_cast<unsigned>(i)));
    }
  }
  llvm::FunctionCallee vprintf = module_.getOrInsertFunction("vprintf", b_.getInt32Ty(), b_.getPtrTy(), b_.getPtrTy());
  b_.CreateCall(vprintf, {Text(kernel_.strings[inst.imm]), arguments});
}

// CUDA's assert: __assertfail(message, file, line, function, size of a character).
void ThreadLowering::Assert(const Inst& inst) {
  BasicBlock* fail = NewBlock("assert_failed");
  BasicBlock* end = NewBlock("assert_holds");
  b_.CreateCondBr(values_[kernel_.OperandsOf(inst)[0]], end, fail);
  b_.SetInsertPoint(fail);
  llvm::FunctionCallee assertfail = module_.getOrInsertFunction(
      "__assertfail", b_.getVoidTy(), b_.getPtrTy(), b_.getPtrTy(), b_.getInt32Ty(), b_.getPtrTy(), b_.getInt64Ty());
  b_.CreateCall(assertfail, {Text(kernel_.strings[inst.imm]), Text(kernel_.name), b_.getInt32(inst.imm2),
                             Text(kernel_.name), b_.getInt64(1)});
  b_.CreateBr(end);
  b_.SetInsertPoint(end);
}

void ThreadLowering::Trap() {
  b_.CreateIntrinsic(llvm::Intrinsic::trap, llvm::ArrayRef<llvm::Type*>(), llvm::ArrayRef<Value*>());
}

}  // namespace slipway
