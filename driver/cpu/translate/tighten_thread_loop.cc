#include "driver/cpu/translate/tighten_thread_loop.h"

#include <optional>

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

namespace slipway::cpu {
namespace {

using llvm::BasicBlock;
using llvm::CmpInst;
using llvm::Value;

// for (t = 0; t != bound; ++t): the header's test, and everything that has to change.
struct ThreadLoop {
  llvm::PHINode* index = nullptr;
  llvm::ICmpInst* exit_test = nullptr;  // Of index + 1 with the bound.
  Value* bound = nullptr;
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
    // The index is below 1024: neither extending nor truncating (to 16 bits or more) changes it.
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

std::optional<ThreadLoop> Match(const llvm::Loop& loop) {
  using namespace llvm::PatternMatch;  // NOLINT(google-build-using-namespace): its matchers read as one expression.
  ThreadLoop found;
  BasicBlock* const header = loop.getHeader();
  BasicBlock* const latch = loop.getLoopLatch();
  BasicBlock* const exit = loop.getUniqueExitBlock();
  if (latch == nullptr || latch == header || exit == nullptr || loop.getLoopPreheader() == nullptr ||
      loop.getExitingBlock() != latch || !exit->phis().empty()) {
    return std::nullopt;
  }
  // One index, from 0 in steps of 1.
  for (llvm::PHINode& phi : header->phis()) {
    if (found.index != nullptr) return std::nullopt;
    found.index = &phi;
  }
  auto* latch_branch = llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator());
  if (found.index == nullptr || latch_branch == nullptr || !latch_branch->isConditional()) return std::nullopt;
  Value* const next = found.index->getIncomingValueForBlock(latch);
  if (!match(found.index->getIncomingValueForBlock(loop.getLoopPreheader()), m_Zero()) ||
      !match(next, m_c_Add(m_Specific(found.index), m_One()))) {
    return std::nullopt;
  }
  found.exit_test = llvm::dyn_cast<llvm::ICmpInst>(latch_branch->getCondition());
  if (found.exit_test == nullptr || found.exit_test->getOperand(0) != next || !found.exit_test->hasOneUse())
    return std::nullopt;
  found.bound = found.exit_test->getOperand(1);
  const bool stays_if_true = latch_branch->getSuccessor(0) == header;
  const CmpInst::Predicate stays =
      stays_if_true ? found.exit_test->getPredicate() : found.exit_test->getInversePredicate();
  if (!loop.isLoopInvariant(found.bound) || (stays != CmpInst::ICMP_NE && stays != CmpInst::ICMP_ULT))
    return std::nullopt;
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
Value* MayWrap(llvm::IRBuilder<>& b, const ThreadLoop& loop, Value* base, Value* last) {
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

bool Tighten(llvm::Loop& loop) {
  const std::optional<ThreadLoop> match = Match(loop);
  if (!match.has_value()) return false;
  Value* const base = Base(match->sum, match->index, loop);
  if (base == nullptr) return false;
  BasicBlock* const preheader = loop.getLoopPreheader();
  llvm::IRBuilder<> b(preheader->getTerminator());
  llvm::Type* const sum_type = match->sum->getType();
  llvm::Type* const bound_type = match->bound->getType();
  llvm::Type* const wide = b.getInt64Ty();
  Value* const last = b.CreateZExtOrTrunc(b.CreateSub(match->bound, llvm::ConstantInt::get(bound_type, 1)), sum_type);
  Value* const wraps = MayWrap(b, *match, base, last);
  Value* const inside = b.CreateICmp(match->enter, base, match->limit);
  Value* const room = b.CreateZExtOrTrunc(b.CreateSub(match->limit, base), wide);
  Value* const bound = b.CreateZExtOrTrunc(match->bound, wide);
  Value* const some = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, room, bound);
  Value* const count = b.CreateSelect(wraps, bound, b.CreateSelect(inside, some, llvm::ConstantInt::get(wide, 0)));
  // The loop tests at its end: no threads, no loop.
  Value* const none = b.CreateICmpEQ(count, llvm::ConstantInt::get(wide, 0));
  BasicBlock* const exit = loop.getUniqueExitBlock();
  llvm::ReplaceInstWithInst(preheader->getTerminator(), llvm::BranchInst::Create(exit, loop.getHeader(), none));
  b.SetInsertPoint(preheader->getTerminator());
  match->exit_test->setOperand(1, b.CreateZExtOrTrunc(count, bound_type));

  auto* const branch = llvm::cast<llvm::BranchInst>(loop.getHeader()->getTerminator());
  const bool enters_if_true = branch->getSuccessor(1) == loop.getLoopLatch();
  b.SetInsertPoint(branch);
  Value* const tested = branch->getCondition();
  branch->setCondition(enters_if_true ? b.CreateLogicalOr(b.CreateNot(wraps), tested)
                                      : b.CreateLogicalAnd(wraps, tested));
  return true;
}

}  // namespace

llvm::PreservedAnalyses TightenThreadLoopPass::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  bool changed = false;
  for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
    changed |= loop->isInnermost() && Tighten(*loop);
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace slipway::cpu
