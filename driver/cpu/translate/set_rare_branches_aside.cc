#include "driver/cpu/translate/set_rare_branches_aside.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "driver/cpu/translate/thread_loop.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace slipway::cpu {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

constexpr uint64_t kPortion = 256;          // Threads, a multiple of 8.
constexpr size_t kMostInstructions = 1000;  // Of a body, which becomes two that are vectorised and one that is not.

// Whether vectors have no form of an instruction.
bool IsForOneThread(const Instruction& instruction) {
  if (const auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return !load->isSimple();
  if (const auto* const store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) return !store->isSimple();
  return instruction.mayReadOrWriteMemory() && !llvm::isa<llvm::AssumeInst>(instruction);
}

struct Candidate {
  llvm::Loop* loop = nullptr;
  ThreadLoop threads;
  std::vector<BasicBlock*> often;  // Blocks that a thread may come to without a rare one; the latch is one.
  std::set<BasicBlock*> rare;      // All others.
};

// What the branches between a loop's frequent blocks depend on.
std::set<const Instruction*> DependenciesOfBranches(const Candidate& candidate) {
  std::set<const Instruction*> found;
  std::vector<const Value*> work;
  for (const BasicBlock* block : candidate.often) {
    // The latch's counts threads.
    if (block != candidate.loop->getLoopLatch()) work.push_back(block->getTerminator());
  }
  while (!work.empty()) {
    const auto* const instruction = llvm::dyn_cast<Instruction>(work.back());
    work.pop_back();
    if (instruction == nullptr || !candidate.loop->contains(instruction) || !found.insert(instruction).second) continue;
    work.insert(work.end(), instruction->op_begin(), instruction->op_end());
  }
  return found;
}

// Whether a thread may come to `load` after `store`, in one turn of the loop.
bool MayComeAfter(const llvm::LoadInst& load, const llvm::StoreInst& store, const Candidate& candidate) {
  if (load.getParent() == store.getParent() && store.comesBefore(&load)) return true;
  std::set<const BasicBlock*> seen;
  std::vector<const BasicBlock*> work = {store.getParent()};
  while (!work.empty()) {
    const BasicBlock* const block = work.back();
    work.pop_back();
    if (block == candidate.loop->getLoopLatch()) continue;
    for (const BasicBlock* next : llvm::successors(block)) {
      if (next == load.getParent()) return true;
      if (!candidate.rare.contains(const_cast<BasicBlock*>(next)) && seen.insert(next).second) work.push_back(next);
    }
  }
  return false;
}

// Finds the blocks that are seldom come to, or nothing if there are none.
bool FindRare(Candidate* found) {
  const llvm::Loop& loop = *found->loop;
  std::set<BasicBlock*> for_one_thread;
  for (BasicBlock* block : loop.blocks()) {
    if (std::any_of(block->begin(), block->end(), IsForOneThread)) for_one_thread.insert(block);
  }
  if (for_one_thread.empty()) return false;
  // A block from which there is no other way leads there, too.
  for (bool changed = true; changed;) {
    changed = false;
    for (BasicBlock* block : loop.blocks()) {
      if (block == loop.getLoopLatch() || for_one_thread.contains(block)) continue;
      const bool leads = std::all_of(llvm::succ_begin(block), llvm::succ_end(block),
                                     [&](BasicBlock* next) { return for_one_thread.contains(next); });
      if (leads) changed = for_one_thread.insert(block).second;
    }
  }
  if (for_one_thread.contains(loop.getHeader()) || for_one_thread.contains(loop.getLoopLatch())) return false;
  std::vector<BasicBlock*> work = {loop.getHeader()};
  std::set<BasicBlock*> often(work.begin(), work.end());
  while (!work.empty()) {
    BasicBlock* const block = work.back();
    work.pop_back();
    if (block == loop.getLoopLatch()) continue;
    for (BasicBlock* next : llvm::successors(block)) {
      if (!for_one_thread.contains(next) && often.insert(next).second) work.push_back(next);
    }
  }
  for (BasicBlock* block : loop.blocks()) {
    if (often.contains(block)) {
      found->often.push_back(block);
    } else {
      found->rare.insert(block);
    }
  }
  return often.contains(loop.getLoopLatch());
}

std::optional<Candidate> Match(llvm::Loop& loop) {
  llvm::MDNode* const id = loop.getLoopID();
  if (id == nullptr || llvm::findOptionMDForLoopID(id, kThreadLoopMark) == nullptr ||
      llvm::findOptionMDForLoopID(id, "llvm.loop.parallel_accesses") == nullptr || !loop.isInnermost()) {
    return std::nullopt;
  }
  const std::optional<ThreadLoop> threads = MatchThreadLoop(loop);
  if (!threads.has_value() || llvm::isa<llvm::ConstantInt>(threads->bound)) return std::nullopt;
  Candidate found{&loop, *threads};
  if (!FindRare(&found)) return std::nullopt;
  size_t instructions = 0;
  for (const BasicBlock* block : loop.blocks()) instructions += block->size();
  if (instructions > kMostInstructions || IsUsedBehind(loop)) return std::nullopt;
  std::vector<const llvm::StoreInst*> stores;
  for (const BasicBlock* block : found.often) {
    const Instruction* const end = block->getTerminator();
    if (!llvm::isa<llvm::BranchInst>(end) && !llvm::isa<llvm::SwitchInst>(end)) return std::nullopt;
    for (const Instruction& instruction : *block) {
      if (const auto* const store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) stores.push_back(store);
    }
  }
  for (const Instruction* needed : DependenciesOfBranches(found)) {
    const auto* const load = llvm::dyn_cast<llvm::LoadInst>(needed);
    if (load == nullptr) continue;
    for (const llvm::StoreInst* store : stores) {
      if (MayComeAfter(*load, *store, found)) return std::nullopt;
    }
  }
  return found;
}

class Rewriter {
 public:
  explicit Rewriter(const Candidate& candidate)
      : loop_(candidate),
        header_(candidate.loop->getHeader()),
        latch_(candidate.loop->getLoopLatch()),
        preheader_(candidate.loop->getLoopPreheader()),
        exit_(candidate.loop->getUniqueExitBlock()),
        function_(header_->getParent()),
        b_(header_->getContext()),
        type_(candidate.threads.index->getType()) {}

  void Run() {
    b_.SetInsertPoint(&*function_->getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
    comes_ = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt8Ty(), kPortion), nullptr, "comes");
    comes_->setAlignment(llvm::Align(64));

    BasicBlock* const portion = Block("portion");
    BasicBlock* const done = Block("portion_done");
    preheader_->getTerminator()->replaceSuccessorWith(header_, portion);
    b_.SetInsertPoint(portion);
    llvm::PHINode* const from = b_.CreatePHI(type_, 2, "from");
    from_ = from;
    Value* const bound = loop_.threads.bound;
    Value* const left = b_.CreateSub(bound, from);
    Value* const count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, Index(kPortion));
    Value* const to = b_.CreateAdd(from, count, "to", true, true);
    from->addIncoming(Index(0), preheader_);
    from->addIncoming(to, done);
    b_.CreateMemSet(comes_, b_.getInt8(0), kPortion, llvm::Align(64));

    BasicBlock* const look = Block("look");
    EmitCopy(portion, look, count, /*looks=*/true);
    b_.SetInsertPoint(look);
    auto* const words = llvm::FixedVectorType::get(b_.getInt64Ty(), kPortion / 8);
    Value* const any = b_.CreateOrReduce(b_.CreateAlignedLoad(words, comes_, llvm::Align(64)));
    BasicBlock* const all_often = Block("all_often");
    BasicBlock* const some_rare = Block("some_rare");
    b_.CreateCondBr(b_.CreateICmpEQ(any, b_.getInt64(0)), all_often, some_rare);
    EmitCopy(all_often, done, count, /*looks=*/false);
    b_.SetInsertPoint(done);
    b_.CreateCondBr(b_.CreateICmpULT(to, bound), portion, exit_);

    // The loop as it was, from `from` to `to`.
    KeepScalar(*loop_.loop);
    b_.SetInsertPoint(some_rare);
    b_.CreateBr(header_);
    loop_.threads.index->replaceIncomingBlockWith(preheader_, some_rare);
    loop_.threads.index->setIncomingValueForBlock(some_rare, from);
    loop_.threads.exit_test->setOperand(1, to);
    latch_->getTerminator()->replaceSuccessorWith(exit_, done);
  }

 private:
  Value* Index(uint64_t value) { return llvm::ConstantInt::get(type_, value); }
  BasicBlock* Block(const char* name) { return BasicBlock::Create(b_.getContext(), name, function_, header_); }

  // A copy of the frequent blocks for a portion, entered from the open block `before` and left to `after`. One that
  // looks stores nothing but who would come to a rare block.
  void EmitCopy(BasicBlock* before, BasicBlock* after, Value* count, bool looks) {
    BasicBlock* const preheader = Block("copy");
    b_.SetInsertPoint(before);
    b_.CreateBr(preheader);
    llvm::ValueToValueMapTy map;
    llvm::SmallVector<BasicBlock*, 8> copies;
    for (BasicBlock* block : loop_.often) {
      BasicBlock* const copy = llvm::CloneBasicBlock(block, map, "", function_);
      copy->moveBefore(header_);
      map[block] = copy;
      copies.push_back(copy);
    }
    auto* const latch = llvm::cast<BasicBlock>(map[latch_]);
    auto* const header = llvm::cast<BasicBlock>(map[header_]);
    BasicBlock* rare = nullptr;
    if (looks) {
      rare = Block("comes");
      b_.SetInsertPoint(rare);
      b_.CreateBr(latch);
    }
    // Branches to rare blocks first, while their targets are still the original's.
    for (BasicBlock* copy : copies) {
      for (llvm::PHINode& phi : llvm::make_early_inc_range(copy->phis())) {
        phi.removeIncomingValueIf([&](unsigned i) { return loop_.rare.contains(phi.getIncomingBlock(i)); },
                                  /*DeletePHIIfEmpty=*/false);
      }
      if (looks) {
        for (BasicBlock* target : loop_.rare) copy->getTerminator()->replaceSuccessorWith(target, rare);
      } else {
        KeepToOften(copy);
      }
    }
    llvm::remapInstructionsInBlocks(copies, map);
    if (looks) {
      for (llvm::PHINode& phi : latch->phis()) phi.addIncoming(llvm::PoisonValue::get(phi.getType()), rare);
      for (BasicBlock* copy : copies) {
        for (Instruction& instruction : llvm::make_early_inc_range(*copy)) {
          if (llvm::isa<llvm::StoreInst>(instruction)) instruction.eraseFromParent();
        }
      }
      b_.SetInsertPoint(latch, latch->begin());
      llvm::PHINode* const comes = b_.CreatePHI(b_.getInt8Ty(), 2, "comes");
      for (BasicBlock* predecessor : llvm::predecessors(latch)) {
        comes->addIncoming(b_.getInt8(predecessor == rare ? 1 : 0), predecessor);
      }
    }
    Count(latch, preheader, after, count, map);
    if (looks) {
      b_.SetInsertPoint(latch->getTerminator());
      Value* const place = b_.CreateInBoundsGEP(b_.getInt8Ty(), comes_, llvm::cast<Value>(map[loop_.threads.index]));
      llvm::StoreInst* const store = b_.CreateStore(&*latch->begin(), place);
      store->setMetadata(llvm::LLVMContext::MD_access_group, AccessGroup());
    }
    b_.SetInsertPoint(preheader);
    b_.CreateBr(header);
  }

  // Ends a copy of a frequent block with a branch to frequent ones alone.
  void KeepToOften(BasicBlock* copy) {
    Instruction* const end = copy->getTerminator();
    const auto is_rare = [&](BasicBlock* block) { return loop_.rare.contains(block); };
    if (auto* const branch = llvm::dyn_cast<llvm::BranchInst>(end); branch != nullptr && branch->isConditional()) {
      for (unsigned i = 0; i < 2; ++i) {
        if (!is_rare(branch->getSuccessor(i))) continue;
        BasicBlock* const other = branch->getSuccessor(1 - i);
        branch->eraseFromParent();
        llvm::BranchInst::Create(other, copy);
        return;
      }
    } else if (auto* const choice = llvm::dyn_cast<llvm::SwitchInst>(end)) {
      BasicBlock* never = nullptr;
      for (unsigned i = 0; i < choice->getNumSuccessors(); ++i) {
        if (!is_rare(choice->getSuccessor(i))) continue;
        if (never == nullptr) {
          never = Block("never");
          new llvm::UnreachableInst(b_.getContext(), never);
        }
        choice->setSuccessor(i, never);
      }
    }
  }

  // The copy counts from 0 to `count`; everything but its counting sees the thread's own number.
  void Count(BasicBlock* latch, BasicBlock* preheader, BasicBlock* after, Value* count, llvm::ValueToValueMapTy& map) {
    auto* const index = llvm::cast<llvm::PHINode>(map[loop_.threads.index]);
    auto* const exit_test = llvm::cast<llvm::ICmpInst>(map[loop_.threads.exit_test]);
    index->replaceIncomingBlockWith(preheader_, preheader);
    CountFrom(index, exit_test, from_, count);
    latch->getTerminator()->replaceSuccessorWith(exit_, after);
    latch->getTerminator()->setMetadata(llvm::LLVMContext::MD_loop, CopyOfLoopId(*id_));
  }

  // The one that all accesses of threads are in.
  llvm::MDNode* AccessGroup() const {
    const llvm::MDNode* const entry = llvm::findOptionMDForLoopID(id_, "llvm.loop.parallel_accesses");
    return llvm::cast<llvm::MDNode>(entry->getOperand(1));
  }

  const Candidate& loop_;
  BasicBlock *const header_, *const latch_, *const preheader_, *const exit_;
  llvm::Function* const function_;
  llvm::IRBuilder<> b_;
  llvm::Type* const type_;  // Of the loop's index.
  llvm::MDNode* const id_ = loop_.loop->getLoopID();
  llvm::AllocaInst* comes_ = nullptr;
  Value* from_ = nullptr;  // The first thread of the portion.
};

}  // namespace

llvm::PreservedAnalyses SetRareBranchesAsidePass::run(llvm::Function& function,
                                                      llvm::FunctionAnalysisManager& analyses) {
  auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  std::vector<Candidate> candidates;
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (std::optional<Candidate> found = Match(*loop)) candidates.push_back(*std::move(found));
  }
  for (const Candidate& candidate : candidates) Rewriter(candidate).Run();
  return candidates.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace slipway::cpu
