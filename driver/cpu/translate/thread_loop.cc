#include "driver/cpu/translate/thread_loop.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

namespace slipway::cpu {

std::optional<ThreadLoop> MatchThreadLoop(const llvm::Loop& loop) {
  using namespace llvm::PatternMatch;  // NOLINT(google-build-using-namespace): its matchers read as one expression.
  ThreadLoop found;
  llvm::BasicBlock* const header = loop.getHeader();
  llvm::BasicBlock* const latch = loop.getLoopLatch();
  llvm::BasicBlock* const exit = loop.getUniqueExitBlock();
  if (latch == nullptr || exit == nullptr || loop.getLoopPreheader() == nullptr || loop.getExitingBlock() != latch ||
      !exit->phis().empty()) {
    return std::nullopt;
  }
  // One index, from 0 in steps of 1.
  for (llvm::PHINode& phi : header->phis()) {
    if (found.index != nullptr) return std::nullopt;
    found.index = &phi;
  }
  auto* latch_branch = llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator());
  if (found.index == nullptr || latch_branch == nullptr || !latch_branch->isConditional()) return std::nullopt;
  llvm::Value* const next = found.index->getIncomingValueForBlock(latch);
  if (!match(found.index->getIncomingValueForBlock(loop.getLoopPreheader()), m_Zero()) ||
      !match(next, m_c_Add(m_Specific(found.index), m_One()))) {
    return std::nullopt;
  }
  found.exit_test = llvm::dyn_cast<llvm::ICmpInst>(latch_branch->getCondition());
  if (found.exit_test == nullptr || found.exit_test->getOperand(0) != next || !found.exit_test->hasOneUse())
    return std::nullopt;
  found.bound = found.exit_test->getOperand(1);
  const bool stays_if_true = latch_branch->getSuccessor(0) == header;
  const llvm::CmpInst::Predicate stays =
      stays_if_true ? found.exit_test->getPredicate() : found.exit_test->getInversePredicate();
  if (!loop.isLoopInvariant(found.bound) || (stays != llvm::CmpInst::ICMP_NE && stays != llvm::CmpInst::ICMP_ULT))
    return std::nullopt;
  return found;
}

bool IsUsedBehind(const llvm::Loop& loop) {
  for (const llvm::BasicBlock* block : loop.blocks()) {
    for (const llvm::Instruction& instruction : *block) {
      for (const llvm::User* user : instruction.users()) {
        if (!loop.contains(llvm::cast<llvm::Instruction>(user))) return true;
      }
    }
  }
  return false;
}

llvm::MDNode* CopyOfLoopId(const llvm::MDNode& id, llvm::ArrayRef<llvm::Metadata*> more) {
  llvm::SmallVector<llvm::Metadata*, 4> parts(id.op_begin(), id.op_end());
  parts.append(more.begin(), more.end());
  llvm::MDNode* const copy = llvm::MDNode::getDistinct(id.getContext(), parts);
  copy->replaceOperandWith(0, copy);
  return copy;
}

void CountFrom(llvm::PHINode* index, llvm::ICmpInst* exit_test, llvm::Value* from, llvm::Value* count) {
  auto* const next = llvm::cast<llvm::Instruction>(exit_test->getOperand(0));
  llvm::IRBuilder<> b(index->getParent(), index->getParent()->getFirstInsertionPt());
  llvm::Value* const thread = b.CreateAdd(index, from, "", true, true);
  index->replaceUsesWithIf(thread, [&](llvm::Use& use) { return use.getUser() != next && use.getUser() != thread; });
  b.SetInsertPoint(next->getNextNode());
  llvm::Value* const next_thread = b.CreateAdd(next, from, "", true, true);
  next->replaceUsesWithIf(next_thread, [&](llvm::Use& use) {
    return use.getUser() != index && use.getUser() != exit_test && use.getUser() != next_thread;
  });
  exit_test->setOperand(1, count);
}

void KeepScalar(llvm::Loop& loop) {
  loop.setLoopID(
      llvm::makePostTransformationMetadata(loop.getHeader()->getContext(), loop.getLoopID(), {kThreadLoopMark}, {}));
  llvm::addStringMetadataToLoop(&loop, "llvm.loop.vectorize.width", 1);
  llvm::addStringMetadataToLoop(&loop, "llvm.loop.interleave.count", 1);
  loop.setLoopAlreadyUnrolled();
}

}  // namespace slipway::cpu
