#include "driver/cpu/translate/mask_last_turn.h"

#include <optional>
#include <utility>
#include <vector>

#include "driver/cpu/translate/thread_loop.h"
#include "llvm/Analysis/InstructionSimplify.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/Local.h"

namespace slipway::cpu {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::PHINode;
using llvm::Value;
namespace match = llvm::PatternMatch;

// A loop of one block, as the vectoriser leaves it. What it computes is not used behind it.
struct MaskedLoop {
  BasicBlock* before = nullptr;
  BasicBlock* body = nullptr;
  BasicBlock* behind = nullptr;
  PHINode* index = nullptr;  // From 0 to `end`, by `step`.
  Instruction* next = nullptr;
  Value* end = nullptr;
  uint64_t step = 0;                // A power of two.
  std::vector<Instruction*> masks;  // index + {0, 1, ..} <= last.
  Value* last = nullptr;            // The last thread's number: at least end - step.
};

// The vector {index, index + 1, ..}, as a variable of the loop, and what is more than that by a constant. The first
// element's distance from index; none if it is something else.
std::optional<uint64_t> DistanceFrom(const MaskedLoop& loop, Value* numbers) {
  const llvm::APInt* more = nullptr;
  uint64_t distance = 0;
  Value* base = numbers;
  if (match::match(numbers, match::m_Add(match::m_Value(base), match::m_APInt(more)))) {
    distance = more->getZExtValue();
  } else {
    base = numbers;
  }
  auto* const phi = llvm::dyn_cast<PHINode>(base);
  const llvm::APInt* growth = nullptr;
  if (phi == nullptr || phi->getParent() != loop.body ||
      !match::match(phi->getIncomingValueForBlock(loop.body),
                    match::m_Add(match::m_Specific(phi), match::m_APInt(growth))) ||
      *growth != loop.step) {
    return std::nullopt;
  }
  auto* const start = llvm::dyn_cast<llvm::Constant>(phi->getIncomingValueForBlock(loop.before));
  auto* const type = llvm::dyn_cast<llvm::FixedVectorType>(phi->getType());
  if (start == nullptr || type == nullptr) return std::nullopt;
  for (unsigned i = 0; i < type->getNumElements(); ++i) {
    auto* const element = llvm::dyn_cast_or_null<llvm::ConstantInt>(start->getAggregateElement(i));
    if (element == nullptr || element->getZExtValue() != i) return std::nullopt;
  }
  if (distance + type->getNumElements() > loop.step) return std::nullopt;
  return distance;
}

// Notes the masks; false if there are none.
bool FindMasks(MaskedLoop* loop) {
  for (Instruction& instruction : *loop->body) {
    Value* numbers = nullptr;
    Value* limit = nullptr;
    if (!match::match(&instruction,
                      match::m_SpecificICmp(llvm::CmpInst::ICMP_ULE, match::m_Value(numbers), match::m_Value(limit)))) {
      continue;
    }
    Value* const last = llvm::getSplatValue(limit);
    if (last == nullptr || last->getType() != loop->index->getType() || !DistanceFrom(*loop, numbers)) continue;
    if (auto* const made = llvm::dyn_cast<Instruction>(last); made != nullptr && made->getParent() == loop->body) {
      continue;
    }
    if (loop->last != nullptr && loop->last != last) continue;
    loop->last = last;
    loop->masks.push_back(&instruction);
  }
  return !loop->masks.empty();
}

std::optional<MaskedLoop> Find(const llvm::Loop& candidate) {
  if (candidate.getNumBlocks() != 1) return std::nullopt;
  MaskedLoop loop{
      .before = candidate.getLoopPreheader(), .body = candidate.getHeader(), .behind = candidate.getExitBlock()};
  if (loop.before == nullptr || loop.behind == nullptr) return std::nullopt;
  auto* const jump = llvm::dyn_cast<llvm::BranchInst>(loop.body->getTerminator());
  if (jump == nullptr || !jump->isConditional() || jump->getSuccessor(0) != loop.behind) return std::nullopt;
  const llvm::APInt* step = nullptr;
  Value* next = nullptr;
  Value* index = nullptr;
  if (!match::match(jump->getCondition(),
                    match::m_SpecificICmp(llvm::CmpInst::ICMP_EQ, match::m_Value(next), match::m_Value(loop.end))) ||
      !match::match(next, match::m_Add(match::m_Value(index), match::m_APInt(step))) || !step->isPowerOf2()) {
    return std::nullopt;
  }
  loop.next = llvm::dyn_cast<Instruction>(next);
  loop.index = llvm::dyn_cast<PHINode>(index);
  loop.step = step->getZExtValue();
  if (loop.next == nullptr || loop.index == nullptr || loop.index->getParent() != loop.body ||
      loop.index->getIncomingValueForBlock(loop.body) != next ||
      !match::match(loop.index->getIncomingValueForBlock(loop.before), match::m_Zero()) || !FindMasks(&loop)) {
    return std::nullopt;
  }
  if (IsUsedBehind(candidate)) return std::nullopt;
  return loop;
}

// The masks of a turn are all true.
void TakeMasksAway(BasicBlock& body, const std::vector<Value*>& masks) {
  for (Value* mask : masks) {
    llvm::replaceAndRecursivelySimplify(llvm::cast<Instruction>(mask),
                                        llvm::Constant::getAllOnesValue(mask->getType()));
  }
  for (Instruction& instruction : llvm::make_early_inc_range(body)) {
    auto* const access = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (access == nullptr) continue;
    const bool is_load = access->getIntrinsicID() == llvm::Intrinsic::masked_load;
    if (!is_load && access->getIntrinsicID() != llvm::Intrinsic::masked_store) continue;
    if (!match::match(access->getArgOperand(is_load ? 1 : 2), match::m_AllOnes())) continue;
    llvm::IRBuilder<> b(access);
    const unsigned pointer = is_load ? 0 : 1;
    const llvm::Align align = access->getParamAlign(pointer).valueOrOne();
    Value* const address = access->getArgOperand(pointer);
    Instruction* const plain = is_load
                                   ? static_cast<Instruction*>(b.CreateAlignedLoad(access->getType(), address, align))
                                   : b.CreateAlignedStore(access->getArgOperand(0), address, align);
    plain->copyMetadata(*access);
    if (is_load) access->replaceAllUsesWith(plain);
    access->eraseFromParent();
  }
}

// The first element of a vector of numbers is the index, which need not come from a vector's register.
void ReadIndex(const MaskedLoop& loop) {
  for (Instruction& instruction : llvm::make_early_inc_range(*loop.body)) {
    Value* numbers = nullptr;
    if (match::match(&instruction, match::m_ExtractElt(match::m_Value(numbers), match::m_Zero())) &&
        instruction.getType() == loop.index->getType() && llvm::isa<PHINode>(numbers) &&
        DistanceFrom(loop, numbers) == 0) {
      instruction.replaceAllUsesWith(loop.index);
      instruction.eraseFromParent();
    }
  }
}

// Makes the vectors of numbers anew, so that the loop before need not count them.
void MakeNumbers(const MaskedLoop& loop, const std::vector<std::pair<PHINode*, Value*>>& starts) {
  llvm::IRBuilder<> b(loop.body, loop.body->getFirstInsertionPt());
  for (const auto& [phi, start] : starts) {
    const unsigned count = llvm::cast<llvm::FixedVectorType>(phi->getType())->getNumElements();
    phi->replaceAllUsesWith(b.CreateAdd(b.CreateVectorSplat(count, loop.index), start));
    phi->eraseFromParent();
  }
}

void TakeFullTurnsOut(const MaskedLoop& loop) {
  ReadIndex(loop);
  std::vector<std::pair<PHINode*, Value*>> starts;
  for (PHINode& phi : loop.body->phis()) {
    if (phi.getType()->getScalarType() == loop.index->getType() && DistanceFrom(loop, &phi) == 0) {
      starts.emplace_back(&phi, phi.getIncomingValueForBlock(loop.before));
    }
  }
  llvm::Function& function = *loop.body->getParent();
  llvm::ValueToValueMapTy map;
  BasicBlock* const full = llvm::CloneBasicBlock(loop.body, map, ".full", &function);
  llvm::remapInstructionsInBlocks({full}, map);
  const auto of_full = [&](Value* value) {
    Value* const copy = map.lookup(value);
    return copy != nullptr ? copy : value;
  };

  // Before, the full turns, and whether that is all.
  llvm::Type* const type = loop.index->getType();
  BasicBlock* const rest = BasicBlock::Create(function.getContext(), "", &function, loop.body);
  llvm::IRBuilder<> b(loop.before->getTerminator());
  Value* const threads = b.CreateAdd(loop.last, llvm::ConstantInt::get(type, 1));
  Value* const end = b.CreateAnd(threads, llvm::ConstantInt::getSigned(type, -static_cast<int64_t>(loop.step)));
  b.CreateCondBr(b.CreateICmpNE(end, llvm::ConstantInt::get(type, 0)), full, loop.body);
  loop.before->getTerminator()->eraseFromParent();
  auto* const jump = llvm::cast<llvm::BranchInst>(full->getTerminator());
  b.SetInsertPoint(jump);
  jump->setCondition(b.CreateICmpEQ(of_full(loop.next), end));
  jump->setSuccessor(0, rest);
  jump->setSuccessor(1, full);
  for (PHINode& phi : full->phis()) phi.replaceIncomingBlockWith(loop.body, full);
  b.SetInsertPoint(rest);
  b.CreateCondBr(b.CreateICmpEQ(end, loop.end), loop.behind, loop.body);
  for (PHINode& phi : loop.behind->phis()) phi.addIncoming(phi.getIncomingValueForBlock(loop.body), rest);

  // What was the loop is one turn.
  for (PHINode& phi : loop.body->phis()) {
    phi.setIncomingValueForBlock(loop.body, of_full(phi.getIncomingValueForBlock(loop.body)));
    phi.replaceIncomingBlockWith(loop.body, rest);
  }
  MakeNumbers(loop, starts);
  auto* const last_jump = llvm::cast<llvm::BranchInst>(loop.body->getTerminator());
  b.SetInsertPoint(last_jump);
  b.CreateBr(loop.behind);
  Value* const condition = last_jump->getCondition();
  last_jump->eraseFromParent();
  llvm::RecursivelyDeleteTriviallyDeadInstructions(condition);

  std::vector<Value*> masks;
  for (Instruction* mask : loop.masks) masks.push_back(of_full(mask));
  TakeMasksAway(*full, masks);
  llvm::SmallVector<llvm::WeakTrackingVH, 8> phis;
  for (PHINode& phi : full->phis()) phis.emplace_back(&phi);
  for (llvm::WeakTrackingVH& phi : phis) {
    if (auto* const alive = llvm::dyn_cast_or_null<PHINode>(phi)) llvm::RecursivelyDeleteDeadPHINode(alive);
  }
}

}  // namespace

llvm::PreservedAnalyses MaskLastTurnPass::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  std::vector<MaskedLoop> found;
  for (const llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
    if (std::optional<MaskedLoop> masked = Find(*loop)) found.push_back(*std::move(masked));
  }
  for (const MaskedLoop& loop : found) TakeFullTurnsOut(loop);
  return found.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace slipway::cpu
