#include "driver/cpu/translate/tighten_thread_loop.h"

#include <optional>

#include "driver/cpu/translate/thread_loop.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace slipway::cpu {
namespace {

using llvm::BasicBlock;
using llvm::CmpInst;
using llvm::Value;

// The loop, its header's test, and everything that has to change.
struct GuardedLoop : ThreadLoop {
  llvm::ICmpInst* guard = nullptr;  // Of sum with limit; true lets the thread in.
  CmpInst::Predicate enter = CmpInst::BAD_ICMP_PREDICATE;
  Value* sum = nullptr;
  Value* limit = nullptr;
};

bool HasEffects(const BasicBlock& block) {
  for (const llvm::Instruction& instruction : block) {
    if (instruction.mayHaveSideEffects()) return true;
  }
  return false;
}

// `index` seen through what the optimiser may have put around it.
bool IsIndex(Value* value, Value* index) {
  if (auto* cast = llvm::dyn_cast<llvm::CastInst>(value)) {
    // The index is below 2^16, as many threads as run as one block: neither extending nor truncating (to 16 bits or
    // more) changes it.
    return cast->getDestTy()->isIntegerTy() && cast->getDestTy()->getIntegerBitWidth() >= 16 &&
           IsIndex(cast->getOperand(0), index);
  }
  return value == index;
}

// base of `base + index`; null if value is not that. A zero for the index itself.
Value* Base(Value* value, Value* index, const llvm::Loop& loop) {
  if (IsIndex(value, index)) return llvm::ConstantInt::get(value->getType(), 0);
  auto* add = llvm::dyn_cast<llvm::BinaryOperator>(value);
  if (add == nullptr || add->getOpcode() != llvm::Instruction::Add) return nullptr;
  for (int i = 0; i < 2; ++i) {
    if (IsIndex(add->getOperand(i), index) && loop.isLoopInvariant(add->getOperand(1 - i)))
      return add->getOperand(1 - i);
  }
  return nullptr;
}

std::optional<GuardedLoop> Match(const llvm::Loop& loop) {
  const std::optional<ThreadLoop> thread_loop = MatchThreadLoop(loop);
  BasicBlock* const header = loop.getHeader();
  BasicBlock* const latch = loop.getLoopLatch();
  if (!thread_loop.has_value() || latch == header) return std::nullopt;
  GuardedLoop found{*thread_loop};
  // The header does nothing but skip to the latch, which does nothing but count.
  auto* guard_branch = llvm::dyn_cast<llvm::BranchInst>(header->getTerminator());
  if (guard_branch == nullptr || !guard_branch->isConditional() || HasEffects(*header) || HasEffects(*latch) ||
      !latch->phis().empty()) {
    return std::nullopt;
  }
  const bool enters_if_false = guard_branch->getSuccessor(0) == latch;
  if (!enters_if_false && guard_branch->getSuccessor(1) != latch) return std::nullopt;
  found.guard = llvm::dyn_cast<llvm::ICmpInst>(guard_branch->getCondition());
  if (found.guard == nullptr || !found.guard->hasOneUse()) return std::nullopt;
  found.sum = found.guard->getOperand(0);
  found.limit = found.guard->getOperand(1);
  found.enter = enters_if_false ? found.guard->getInversePredicate() : found.guard->getPredicate();
  if (loop.isLoopInvariant(found.sum)) {
    std::swap(found.sum, found.limit);
    found.enter = CmpInst::getSwappedPredicate(found.enter);
  }
  if (!loop.isLoopInvariant(found.limit) || !found.sum->getType()->isIntegerTy()) return std::nullopt;
  if (found.enter != CmpInst::ICMP_SLT && found.enter != CmpInst::ICMP_ULT) return std::nullopt;
  return found;
}

// Whether base + (bound - 1) leaves the type, in the sense in which it is compared.
Value* MayWrap(llvm::IRBuilder<>& b, const GuardedLoop& loop, Value* base, Value* last) {
  const bool is_signed = loop.enter == CmpInst::ICMP_SLT;
  if (auto* add = llvm::dyn_cast<llvm::BinaryOperator>(loop.sum)) {
    if (is_signed ? add->hasNoSignedWrap() : add->hasNoUnsignedWrap()) return b.getFalse();
  } else {
    return b.getFalse();  // The index alone.
  }
  Value* const checked = b.CreateBinaryIntrinsic(
      is_signed ? llvm::Intrinsic::sadd_with_overflow : llvm::Intrinsic::uadd_with_overflow, base, last);
  return b.CreateExtractValue(checked, 1);
}

// Keeps a copy of the loop as it is for when `wraps` is true; what follows is done to the original.
void KeepCopy(llvm::Loop& loop, Value* wraps, llvm::LoopInfo& loops, llvm::DominatorTree& dominators) {
  BasicBlock* const check = loop.getLoopPreheader();
  llvm::SplitBlock(check, check->getTerminator(), &dominators, &loops);
  llvm::ValueToValueMapTy map;
  llvm::SmallVector<BasicBlock*, 8> blocks;
  llvm::Loop* const copy =
      llvm::cloneLoopWithPreheader(loop.getLoopPreheader(), check, &loop, map, ".wraps", &loops, &dominators, blocks);
  llvm::remapInstructionsInBlocks(blocks, map);
  KeepScalar(*copy);
  llvm::ReplaceInstWithInst(check->getTerminator(),
                            llvm::BranchInst::Create(blocks.front(), loop.getLoopPreheader(), wraps));
}

bool Tighten(llvm::Loop& loop, llvm::LoopInfo& loops, llvm::DominatorTree& dominators) {
  const std::optional<GuardedLoop> match = Match(loop);
  if (!match.has_value()) return false;
  Value* const base = Base(match->sum, match->index, loop);
  if (base == nullptr) return false;
  llvm::IRBuilder<> b(loop.getLoopPreheader()->getTerminator());
  llvm::Type* const bound_type = match->bound->getType();
  llvm::Type* const wide = b.getInt64Ty();
  Value* const last =
      b.CreateZExtOrTrunc(b.CreateSub(match->bound, llvm::ConstantInt::get(bound_type, 1)), match->sum->getType());
  Value* const wraps = MayWrap(b, *match, base, last);
  if (wraps != b.getFalse()) KeepCopy(loop, wraps, loops, dominators);

  BasicBlock* const preheader = loop.getLoopPreheader();
  b.SetInsertPoint(preheader->getTerminator());
  Value* const inside = b.CreateICmp(match->enter, base, match->limit);
  Value* const room = b.CreateZExtOrTrunc(b.CreateSub(match->limit, base), wide);
  Value* const some = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, room, b.CreateZExtOrTrunc(match->bound, wide));
  Value* const count = b.CreateZExtOrTrunc(b.CreateSelect(inside, some, llvm::ConstantInt::get(wide, 0)), bound_type);
  // The loop tests at its end: no threads, no loop.
  Value* const none = b.CreateICmpEQ(count, llvm::ConstantInt::get(bound_type, 0));
  llvm::ReplaceInstWithInst(preheader->getTerminator(),
                            llvm::BranchInst::Create(loop.getUniqueExitBlock(), loop.getHeader(), none));
  match->exit_test->setOperand(1, count);
  auto* const branch = llvm::cast<llvm::BranchInst>(loop.getHeader()->getTerminator());
  branch->setCondition(b.getInt1(branch->getSuccessor(1) == loop.getLoopLatch()));
  return true;
}

}  // namespace

llvm::PreservedAnalyses TightenThreadLoopPass::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  auto& dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
  bool changed = false;
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    changed |= loop->isInnermost() && Tighten(*loop, loops, dominators);
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace slipway::cpu
