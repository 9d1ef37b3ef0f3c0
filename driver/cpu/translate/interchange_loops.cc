#include "driver/cpu/translate/interchange_loops.h"

#include <map>
#include <optional>
#include <vector>

#include "driver/cpu/translate/thread_loop.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

namespace slipway::cpu {
namespace {

using llvm::BasicBlock;
using llvm::CmpInst;
using llvm::Instruction;
using llvm::Value;

// The body is compiled twice, and as vectors, which takes about half a millisecond an instruction: this bounds what
// loading a kernel can come to cost.
constexpr size_t kMaxBody = 500;

// Of the sums and conversions that make an index. Sums of sums of the same values would take exponential time.
constexpr int kMaxDepth = 12;

// A value that changes by the same step in every iteration of the inner loop.
struct Induction {
  llvm::PHINode* phi = nullptr;
  Value* start = nullptr;  // May depend on the thread.
  Value* step = nullptr;   // Does not.
  bool subtracts = false;
};

// `first + t < limit` or `first - t > limit`, signed or not, or with equality: true for the first threads of a block.
struct PrefixTest {
  CmpInst::Predicate predicate = CmpInst::BAD_ICMP_PREDICATE;
  Value* sum = nullptr;  // first + t or first - t, where thread t computes it.
  Value* limit = nullptr;

  bool descends() const { return llvm::ICmpInst::isGT(predicate) || llvm::ICmpInst::isGE(predicate); }
  bool ascends() const { return llvm::ICmpInst::isLT(predicate) || llvm::ICmpInst::isLE(predicate); }
};

// An integer that is widened and must not wrap from one thread of a block to the next.
struct Widening {
  Value* narrow = nullptr;
  bool is_signed = false;
  bool ascends = false;
};

struct Nest {
  llvm::Loop* outer = nullptr;
  llvm::Loop* inner = nullptr;
  ThreadLoop threads;
  std::vector<Induction> inductions;
  llvm::BranchInst* guard = nullptr;  // Null if every thread enters the inner loop.
  PrefixTest enter;
  PrefixTest stay;
  size_t stay_induction = 0;
  bool stay_tests_next = false;  // The value of the next iteration, not of this one.
  std::vector<Widening> widenings;
};

// Whether an instruction may run again, or in another order among other threads' instructions.
bool IsIndependent(const Instruction& instruction) {
  if (instruction.isAtomic() || instruction.isVolatile()) return false;
  if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
    return !call->mayReadOrWriteMemory() && !call->mayHaveSideEffects();
  }
  return true;
}
bool IsPure(const Instruction& instruction) {
  if (instruction.isTerminator()) return true;
  if (instruction.mayHaveSideEffects()) return false;
  return !instruction.mayReadFromMemory() || instruction.hasMetadata(llvm::LLVMContext::MD_invariant_load);
}

std::optional<Induction> MatchInduction(llvm::PHINode& phi, const Nest& nest) {
  using llvm::PatternMatch::m_Sub, llvm::PatternMatch::m_c_Add, llvm::PatternMatch::m_Specific,
      llvm::PatternMatch::m_Value, llvm::PatternMatch::match;
  Induction found{&phi, phi.getIncomingValueForBlock(nest.inner->getLoopPreheader())};
  Value* const next = phi.getIncomingValueForBlock(nest.inner->getLoopLatch());
  if (match(next, m_Sub(m_Specific(&phi), m_Value(found.step)))) {
    found.subtracts = true;
  } else if (auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(next);
             gep != nullptr && gep->getPointerOperand() == &phi && gep->getNumIndices() == 1 &&
             gep->getSourceElementType()->isIntegerTy(8)) {
    found.step = gep->getOperand(1);
  } else if (!match(next, m_c_Add(m_Specific(&phi), m_Value(found.step)))) {
    return std::nullopt;
  }
  if (!nest.outer->isLoopInvariant(found.step)) return std::nullopt;
  return found;
}

// c if value is c * t plus what all threads share, and no `widenings` wrap.
std::optional<int> Coefficient(Value* value, const Nest& nest, std::vector<Widening>* widenings, int depth = 0) {
  if (value == nest.threads.index) return 1;
  if (nest.outer->isLoopInvariant(value)) return 0;
  auto* const instruction = llvm::dyn_cast<Instruction>(value);
  if (instruction == nullptr || depth == kMaxDepth || !value->getType()->isIntegerTy() ||
      value->getType()->getIntegerBitWidth() < 16) {
    return std::nullopt;
  }
  const unsigned opcode = instruction->getOpcode();
  const auto of_operand = [&](int i) { return Coefficient(instruction->getOperand(i), nest, widenings, depth + 1); };
  if (opcode == Instruction::Trunc) return of_operand(0);  // The index fits: it is below 1024.
  if (opcode == Instruction::ZExt || opcode == Instruction::SExt) {
    Value* const narrow = instruction->getOperand(0);
    const std::optional<int> c = of_operand(0);
    if (narrow == nest.threads.index || c == std::nullopt || *c == 0) return c;
    if (*c != 1 && *c != -1) return std::nullopt;
    widenings->push_back({narrow, opcode == Instruction::SExt, *c == 1});
    return c;
  }
  if (opcode != Instruction::Add && opcode != Instruction::Sub) return std::nullopt;
  const std::optional<int> left = of_operand(0), right = of_operand(1);
  if (!left.has_value() || !right.has_value()) return std::nullopt;
  const int sum = opcode == Instruction::Add ? *left + *right : *left - *right;
  return sum >= -1 && sum <= 1 ? std::optional(sum) : std::nullopt;
}

bool MatchPrefixTest(CmpInst::Predicate predicate, Value* sum, Value* limit, Nest* nest, PrefixTest* test) {
  if (!sum->getType()->isIntegerTy() || sum->getType()->getIntegerBitWidth() > 64 ||
      !nest->outer->isLoopInvariant(limit)) {
    return false;
  }
  *test = {predicate, sum, limit};
  const std::optional<int> coefficient = Coefficient(sum, *nest, &nest->widenings);
  return (coefficient == 1 && test->ascends()) || (coefficient == -1 && test->descends());
}

// The comparison that makes `branch` go to a place other than `elsewhere`.
llvm::ICmpInst* TestFor(llvm::BranchInst* branch, const BasicBlock* elsewhere, CmpInst::Predicate* predicate) {
  auto* const test = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
  if (test != nullptr) {
    *predicate = branch->getSuccessor(1) == elsewhere ? test->getPredicate() : test->getInversePredicate();
  }
  return test;
}

bool MatchGuard(Nest* nest) {
  BasicBlock* const header = nest->outer->getHeader();
  BasicBlock* const latch = nest->outer->getLoopLatch();
  BasicBlock* const enter = nest->inner->getLoopPreheader();
  BasicBlock* const leave = nest->inner->getExitBlock();
  // Apart from the inner loop, there are the header, its preheader, its exit and the latch, in part the same ones.
  for (BasicBlock* block : nest->outer->blocks()) {
    if (nest->inner->contains(block)) continue;
    if (block != header && block != latch && block != enter && block != leave) return false;
    if (block != header && !block->phis().empty()) return false;
    for (Instruction& instruction : *block) {
      if (!IsPure(instruction)) return false;
      for (llvm::User* user : instruction.users()) {
        if (!nest->outer->contains(llvm::cast<Instruction>(user))) return false;
      }
    }
  }
  if (leave == nullptr || (leave != latch && leave->getSingleSuccessor() != latch)) return false;
  if (header == enter) return true;
  auto* const branch = llvm::dyn_cast<llvm::BranchInst>(header->getTerminator());
  if (branch == nullptr || enter->getSinglePredecessor() != header) return false;
  if (branch->isUnconditional()) return true;
  BasicBlock* const past = branch->getSuccessor(branch->getSuccessor(0) == enter ? 1 : 0);
  CmpInst::Predicate predicate = CmpInst::BAD_ICMP_PREDICATE;
  llvm::ICmpInst* const test = TestFor(branch, past, &predicate);
  if ((past != latch && past != leave) || test == nullptr) return false;
  nest->guard = branch;
  Value *sum = test->getOperand(0), *limit = test->getOperand(1);
  if (nest->outer->isLoopInvariant(sum)) {
    std::swap(sum, limit);
    predicate = CmpInst::getSwappedPredicate(predicate);
  }
  return MatchPrefixTest(predicate, sum, limit, nest, &nest->enter);
}

bool MatchStay(Nest* nest) {
  BasicBlock* const latch = nest->inner->getLoopLatch();
  auto* const branch = llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator());
  CmpInst::Predicate predicate = CmpInst::BAD_ICMP_PREDICATE;
  if (branch == nullptr || !branch->isConditional()) return false;
  llvm::ICmpInst* const test = TestFor(branch, nest->inner->getExitBlock(), &predicate);
  if (test == nullptr) return false;
  Value *sum = test->getOperand(0), *limit = test->getOperand(1);
  if (nest->outer->isLoopInvariant(sum)) {
    std::swap(sum, limit);
    predicate = CmpInst::getSwappedPredicate(predicate);
  }
  for (size_t i = 0; i < nest->inductions.size(); ++i) {
    const Induction& induction = nest->inductions[i];
    nest->stay_induction = i;
    nest->stay_tests_next = induction.phi->getIncomingValueForBlock(latch) == sum;
    if (!nest->stay_tests_next && induction.phi != sum) continue;
    return MatchPrefixTest(predicate, induction.start, limit, nest, &nest->stay);
  }
  return false;
}

std::optional<Nest> Match(llvm::Loop& outer) {
  llvm::MDNode* const id = outer.getLoopID();
  if (id == nullptr || llvm::findOptionMDForLoopID(id, kThreadLoopMark) == nullptr) return std::nullopt;
  if (outer.getSubLoops().size() != 1) return std::nullopt;
  Nest nest{&outer, outer.getSubLoops()[0]};
  const std::optional<ThreadLoop> threads = MatchThreadLoop(outer);
  if (!threads.has_value() || !nest.inner->isInnermost() || nest.inner->getLoopPreheader() == nullptr ||
      nest.inner->getLoopLatch() == nullptr || nest.inner->getExitingBlock() != nest.inner->getLoopLatch()) {
    return std::nullopt;
  }
  nest.threads = *threads;
  size_t length = 0;
  for (BasicBlock* block : nest.inner->blocks()) {
    length += block->size();
    for (Instruction& instruction : *block) {
      if (!IsIndependent(instruction)) return std::nullopt;
      for (llvm::User* user : instruction.users()) {
        if (!nest.inner->contains(llvm::cast<Instruction>(user))) return std::nullopt;
      }
    }
  }
  if (length > kMaxBody) return std::nullopt;
  for (llvm::PHINode& phi : nest.inner->getHeader()->phis()) {
    const std::optional<Induction> induction = MatchInduction(phi, nest);
    if (!induction.has_value()) return std::nullopt;
    nest.inductions.push_back(*induction);
  }
  if (!MatchGuard(&nest) || !MatchStay(&nest)) return std::nullopt;
  return nest;
}

class Interchange {
 public:
  explicit Interchange(const Nest& nest) : nest_(nest), b_(nest.outer->getHeader()->getContext()) {}

  void Run() {
    BasicBlock* const before = nest_.outer->getLoopPreheader();
    BasicBlock* const header = nest_.outer->getHeader();
    BasicBlock* const exit = nest_.outer->getUniqueExitBlock();
    Instruction* const end = before->getTerminator();
    b_.SetInsertPoint(end);
    Value* const stay_first = ForFirstThread(nest_.stay.sum);
    Value* const enter_first = nest_.guard == nullptr ? nullptr : ForFirstThread(nest_.enter.sum);
    Value* const threads = b_.CreateZExtOrTrunc(nest_.threads.bound, b_.getInt64Ty());
    Value* count = threads;
    Value* wraps = b_.getFalse();
    if (nest_.guard != nullptr) {
      count = Count(nest_.enter, enter_first, threads);
      wraps = Wraps(nest_.enter.predicate, enter_first, threads);
    }
    for (const Widening& widening : nest_.widenings) {
      const CmpInst::Predicate of_type = widening.is_signed ? CmpInst::ICMP_SLT : CmpInst::ICMP_ULT;
      const CmpInst::Predicate way = widening.ascends ? of_type : CmpInst::getSwappedPredicate(of_type);
      wraps = b_.CreateOr(wraps, Wraps(way, ForFirstThread(widening.narrow), threads));
    }

    // before -> some -> steps -> threads (a loop) -> next -> more -> steps; rest: the original nest.
    BasicBlock* const some = Block("threads_some");
    BasicBlock* const steps = Block("steps");
    BasicBlock* const next = Block("step_next");
    BasicBlock* const more = Block("step_more");
    BasicBlock* const rest = Block("rest");
    b_.CreateCondBr(wraps, rest, some);
    end->eraseFromParent();
    b_.SetInsertPoint(some);
    b_.CreateCondBr(b_.CreateICmpEQ(count, b_.getInt64(0)), exit, steps);
    b_.SetInsertPoint(steps);
    llvm::PHINode* const running = b_.CreatePHI(b_.getInt64Ty(), 2);
    running->addIncoming(count, some);
    std::vector<llvm::PHINode*> offsets;
    for (const Induction& induction : nest_.inductions) {
      offsets.push_back(b_.CreatePHI(induction.step->getType(), 2));
      offsets.back()->addIncoming(llvm::Constant::getNullValue(induction.step->getType()), some);
    }
    CloneThreads(steps, next, running, offsets);

    b_.SetInsertPoint(next);
    std::vector<Value*> next_offsets;
    for (size_t i = 0; i < offsets.size(); ++i) {
      const Induction& induction = nest_.inductions[i];
      next_offsets.push_back(induction.subtracts ? b_.CreateSub(offsets[i], induction.step)
                                                 : b_.CreateAdd(offsets[i], induction.step));
    }
    const size_t k = nest_.stay_induction;
    Value* const stay_offset = nest_.stay_tests_next ? next_offsets[k] : offsets[k];
    Value* const first = b_.CreateAdd(stay_first, stay_offset);
    Value* const still = Count(nest_.stay, first, running);
    b_.CreateCondBr(Wraps(nest_.stay.predicate, first, running), rest, more);
    b_.SetInsertPoint(more);
    b_.CreateCondBr(b_.CreateICmpEQ(still, b_.getInt64(0)), exit, steps);
    running->addIncoming(still, more);
    for (size_t i = 0; i < offsets.size(); ++i) offsets[i]->addIncoming(next_offsets[i], more);

    // The original nest, from the iteration that was reached on, for the threads that were still running.
    b_.SetInsertPoint(rest);
    const auto either = [&](Value* at_start, Value* later) {
      llvm::PHINode* const phi = b_.CreatePHI(at_start->getType(), 2);
      phi->addIncoming(at_start, before);
      phi->addIncoming(later, next);
      return phi;
    };
    Value* const bound = either(threads, running);
    Value* const at_start = either(b_.getTrue(), b_.getFalse());
    Value* const reached = either(llvm::Constant::getNullValue(first->getType()), first);
    std::vector<Value*> reached_offsets;
    for (size_t i = 0; i < offsets.size(); ++i) {
      reached_offsets.push_back(either(llvm::Constant::getNullValue(offsets[i]->getType()), next_offsets[i]));
    }
    nest_.threads.exit_test->setOperand(1, b_.CreateZExtOrTrunc(bound, nest_.threads.bound->getType()));
    b_.CreateBr(header);
    nest_.threads.index->replaceIncomingBlockWith(before, rest);
    StartOriginalAt(at_start, reached, reached_offsets);
  }

 private:
  BasicBlock* Block(const char* name) {
    return BasicBlock::Create(b_.getContext(), name, nest_.outer->getHeader()->getParent(), nest_.outer->getHeader());
  }

  Value* ForFirstThread(Value* value) {
    if (value == nest_.threads.index) return llvm::ConstantInt::get(value->getType(), 0);
    auto* const instruction = llvm::dyn_cast<Instruction>(value);
    if (instruction == nullptr || !nest_.outer->contains(instruction)) return value;
    Value*& first = first_[value];
    if (first != nullptr) return first;
    Instruction* const copy = instruction->clone();
    copy->dropPoisonGeneratingAnnotations();  // It holds for threads past the guard.
    for (llvm::Use& operand : copy->operands()) operand.set(ForFirstThread(operand.get()));
    return first_[value] = b_.Insert(copy);
  }

  // How many of `threads` (at least 1), from the first on, pass; if first + t does not wrap.
  Value* Count(const PrefixTest& test, Value* first, Value* threads) {
    Value* const passes = b_.CreateICmp(test.predicate, first, test.limit);
    Value* const distance = b_.CreateZExt(
        test.ascends() ? b_.CreateSub(test.limit, first) : b_.CreateSub(first, test.limit), b_.getInt64Ty());
    Value* count = nullptr;
    if (CmpInst::isStrictPredicate(test.predicate)) {
      count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, distance, threads);
    } else {
      Value* const last = b_.CreateSub(threads, b_.getInt64(1));
      count = b_.CreateAdd(b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, distance, last), b_.getInt64(1));
    }
    return b_.CreateSelect(passes, count, b_.getInt64(0));
  }

  // Whether first + (threads - 1), or first - (threads - 1) for a test of descending values, leaves the type in the
  // sense in which `test` compares.
  Value* Wraps(CmpInst::Predicate test, Value* first, Value* threads) {
    Value* const steps = b_.CreateTrunc(b_.CreateSub(threads, b_.getInt64(1)), first->getType());
    const bool is_signed = CmpInst::isSigned(test);
    if (llvm::ICmpInst::isLT(test) || llvm::ICmpInst::isLE(test)) {
      return b_.CreateICmp(is_signed ? CmpInst::ICMP_SLT : CmpInst::ICMP_ULT, b_.CreateAdd(first, steps), first);
    }
    return b_.CreateICmp(is_signed ? CmpInst::ICMP_SGT : CmpInst::ICMP_UGT, b_.CreateSub(first, steps), first);
  }

  Value* Moved(Value* start, Value* offset) {
    return start->getType()->isPointerTy() ? b_.CreateGEP(b_.getInt8Ty(), start, offset) : b_.CreateAdd(start, offset);
  }

  // for (t = 0; t != running; ++t): one iteration of the inner loop each.
  void CloneThreads(BasicBlock* before, BasicBlock* after, Value* running, llvm::ArrayRef<llvm::PHINode*> offsets) {
    BasicBlock* const header = nest_.outer->getHeader();
    BasicBlock* const enter = nest_.inner->getLoopPreheader();
    llvm::Function* const function = header->getParent();
    llvm::SmallVector<BasicBlock*, 8> sources = {header};
    if (enter != header) sources.push_back(enter);
    sources.append(nest_.inner->block_begin(), nest_.inner->block_end());
    llvm::ValueToValueMapTy map;
    llvm::SmallVector<BasicBlock*, 8> copies;
    for (BasicBlock* source : sources) {
      BasicBlock* const copy = llvm::CloneBasicBlock(source, map, ".step", function);
      copy->moveBefore(after);
      map[source] = copy;
      copies.push_back(copy);
    }
    llvm::remapInstructionsInBlocks(copies, map);
    const auto copy_of = [&](BasicBlock* block) { return llvm::cast<BasicBlock>(map[block]); };

    auto* const index = llvm::cast<llvm::PHINode>(map[nest_.threads.index]);
    if (enter != header) {
      Instruction* const branch = copy_of(header)->getTerminator();
      b_.SetInsertPoint(branch);
      b_.CreateBr(copy_of(enter));
      branch->eraseFromParent();
    }
    for (size_t i = 0; i < offsets.size(); ++i) {
      auto* const phi = llvm::cast<llvm::PHINode>(map[nest_.inductions[i].phi]);
      b_.SetInsertPoint(copy_of(enter)->getTerminator());
      phi->replaceAllUsesWith(Moved(phi->getIncomingValueForBlock(copy_of(enter)), offsets[i]));
      phi->eraseFromParent();
    }
    Instruction* const branch = copy_of(nest_.inner->getLoopLatch())->getTerminator();
    b_.SetInsertPoint(branch);
    llvm::Type* const type = index->getType();
    Value* const next = b_.CreateAdd(index, llvm::ConstantInt::get(type, 1), "", true, true);
    llvm::BranchInst* const latch =
        b_.CreateCondBr(b_.CreateICmpEQ(next, b_.CreateTrunc(running, type)), after, copy_of(header));
    branch->eraseFromParent();
    latch->setMetadata(llvm::LLVMContext::MD_loop, CopyOfLoopId());
    while (index->getNumIncomingValues() != 0) index->removeIncomingValue(0U, false);
    index->addIncoming(llvm::ConstantInt::get(type, 0), before);
    index->addIncoming(next, latch->getParent());
    b_.SetInsertPoint(before);
    b_.CreateBr(copy_of(header));
  }

  llvm::MDNode* CopyOfLoopId() {
    llvm::MDNode* const id = nest_.outer->getLoopID();
    llvm::SmallVector<llvm::Metadata*, 4> parts(id->op_begin(), id->op_end());
    llvm::MDNode* const copy = llvm::MDNode::getDistinct(b_.getContext(), parts);
    copy->replaceOperandWith(0, copy);
    return copy;
  }

  void StartOriginalAt(Value* at_start, Value* reached, llvm::ArrayRef<Value*> offsets) {
    BasicBlock* const header = nest_.outer->getHeader();
    BasicBlock* const enter = nest_.inner->getLoopPreheader();
    // Whether a thread still runs: the guard at first, then the inner loop's own test.
    Instruction* branch = header == enter || nest_.guard == nullptr ? header->getTerminator() : nest_.guard;
    b_.SetInsertPoint(branch);
    Value* const thread = b_.CreateZExtOrTrunc(nest_.threads.index, reached->getType());
    Value* const value = nest_.stay.ascends() ? b_.CreateAdd(reached, thread) : b_.CreateSub(reached, thread);
    Value* stays = b_.CreateICmp(nest_.stay.predicate, value, nest_.stay.limit);
    if (nest_.guard == nullptr) {
      // Every thread enters, at the start.
      BasicBlock* const in = branch->getSuccessor(0);
      BasicBlock* const split = BasicBlock::Create(b_.getContext(), "rest_enter", header->getParent(), in);
      if (header == enter) in->replacePhiUsesWith(header, split);
      b_.CreateCondBr(b_.CreateOr(at_start, stays), split, nest_.outer->getLoopLatch());
      branch->eraseFromParent();
      b_.SetInsertPoint(split);
      b_.CreateBr(in);
    } else {
      const bool enters_if_true = nest_.guard->getSuccessor(0) == enter;
      if (!enters_if_true) stays = b_.CreateNot(stays);
      nest_.guard->setCondition(b_.CreateSelect(at_start, nest_.guard->getCondition(), stays));
    }
    for (size_t i = 0; i < offsets.size(); ++i) {
      llvm::PHINode* const phi = nest_.inductions[i].phi;
      const int incoming = 1 - phi->getBasicBlockIndex(nest_.inner->getLoopLatch());
      b_.SetInsertPoint(phi->getIncomingBlock(incoming)->getTerminator());
      phi->setIncomingValue(incoming, Moved(nest_.inductions[i].start, offsets[i]));
    }
    KeepScalar(*nest_.inner);
  }

  const Nest& nest_;
  llvm::IRBuilder<> b_;
  std::map<Value*, Value*> first_;
};

// The first nest that can be interchanged.
bool InterchangeOne(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
    const std::optional<Nest> nest = Match(*loop);
    if (!nest.has_value()) continue;
    Interchange(*nest).Run();
    return true;
  }
  return false;
}

}  // namespace

llvm::PreservedAnalyses InterchangeLoopsPass::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  // Local memory is one for all threads of a block, which run one after another: their order must stay.
  for (Instruction& instruction : function.getEntryBlock()) {
    if (llvm::isa<llvm::AllocaInst>(instruction)) return llvm::PreservedAnalyses::all();
  }
  bool changed = false;
  while (InterchangeOne(function, analyses)) {
    changed = true;
    analyses.invalidate(function, llvm::PreservedAnalyses::none());
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace slipway::cpu
