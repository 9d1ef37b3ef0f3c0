#include "driver/cpu/translate/split_thread_loop.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "driver/cpu/translate/thread_loop.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

namespace slipway::cpu {
namespace {

using llvm::BasicBlock;
using llvm::BranchInst;
using llvm::CmpInst;
using llvm::Instruction;
using llvm::Value;

// There are two versions of a body for each branch. Each is compiled for itself, which takes about half a millisecond
// an instruction.
constexpr size_t kMostBranches = 2;
constexpr size_t kMostInstructions = 250;  // Of all versions.
// Of the sums and conditions that a branch depends on. What depends on the same values by many ways is looked at as
// often.
constexpr int kMostDepth = 12;
constexpr size_t kMostNumbers = 8;
// Rows of fewer threads are not worth a range each: a division a thread costs less. Where the width is known, divisions
// vectorise.
constexpr uint64_t kShortRow = 5;
constexpr uint64_t kShortKnownRow = 32;

// A number that grows (slope 1) or falls (-1) from thread to thread.
struct Slope {
  Value* value = nullptr;
  int slope = 0;
  bool is_signed = false;  // How it is compared or widened: past the last number of this kind it wraps.
};

// `number <predicate> limit`; the limit is the same for all threads.
struct Comparison {
  llvm::ICmpInst* test = nullptr;
  Slope number;
  CmpInst::Predicate predicate = CmpInst::BAD_ICMP_PREDICATE;
  Value* limit = nullptr;
};

// A division or remainder that a range knows for all of its threads, because its number is divided by what is the same
// for all (a thread's row), or because both are the same (the plane that the row is in).
struct Division {
  llvm::BinaryOperator* operation = nullptr;
  bool grows = false;  // The number does, by one a thread, and begins a new range with each multiple of the divisor.

  Value* number() const { return operation->getOperand(0); }
  Value* divisor() const { return operation->getOperand(1); }
  bool is_signed() const {
    return operation->getOpcode() == Instruction::SDiv || operation->getOpcode() == Instruction::SRem;
  }
  bool is_remainder() const {
    return operation->getOpcode() == Instruction::URem || operation->getOpcode() == Instruction::SRem;
  }
};

struct Candidate {
  llvm::Loop* loop = nullptr;
  ThreadLoop threads;
  std::vector<BasicBlock*> blocks;
  BasicBlock* preheader = nullptr;
  BasicBlock* header = nullptr;
  BasicBlock* latch = nullptr;
  BasicBlock* exit = nullptr;
  std::vector<BranchInst*> branches;
  std::vector<Comparison> comparisons;  // That they depend on.
  std::vector<Slope> widenings;         // Numbers that the comparisons use widened.
  std::vector<Division> divisions;

  // Of the lanes of a warp, whose number is known.
  bool is_of_lanes() const { return llvm::isa<llvm::ConstantInt>(threads.bound); }
};

// The slope of an integer, if it is 1, 0 or -1.
std::optional<int> SlopeOf(Value* value, Candidate* found, int depth = 0) {
  if (value == found->threads.index) return 1;
  if (found->loop->isLoopInvariant(value)) return 0;
  auto* const instruction = llvm::dyn_cast<Instruction>(value);
  if (instruction == nullptr || depth == kMostDepth || !value->getType()->isIntegerTy() ||
      value->getType()->getIntegerBitWidth() < 16 || value->getType()->getIntegerBitWidth() > 64) {
    return std::nullopt;
  }
  const auto of_operand = [&](unsigned i) { return SlopeOf(instruction->getOperand(i), found, depth + 1); };
  switch (instruction->getOpcode()) {
    case Instruction::Trunc:
      return of_operand(0);  // What is compared wraps in its own type, and it is below 2^16 that threads are counted.
    case Instruction::ZExt:
    case Instruction::SExt: {
      const std::optional<int> slope = of_operand(0);
      const bool is_signed = instruction->getOpcode() == Instruction::SExt;
      if (slope.value_or(0) != 0) found->widenings.push_back({instruction->getOperand(0), *slope, is_signed});
      return slope;
    }
    case Instruction::Add:
    case Instruction::Sub: {
      const std::optional<int> left = of_operand(0), right = of_operand(1);
      if (!left.has_value() || !right.has_value()) return std::nullopt;
      const int sum = instruction->getOpcode() == Instruction::Add ? *left + *right : *left - *right;
      return sum >= -1 && sum <= 1 ? std::optional(sum) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

// Whether a condition is made of comparisons alone that come out the same for ranges of threads; notes them.
bool MatchCondition(Value* condition, Candidate* found, int depth = 0) {
  if (found->loop->isLoopInvariant(condition)) return true;
  if (depth == kMostDepth || found->comparisons.size() + found->widenings.size() > kMostNumbers) return false;
  if (auto* const test = llvm::dyn_cast<llvm::ICmpInst>(condition)) {
    Comparison comparison{test, {test->getOperand(0)}, test->getPredicate(), test->getOperand(1)};
    if (found->loop->isLoopInvariant(comparison.number.value)) {
      std::swap(comparison.number.value, comparison.limit);
      comparison.predicate = CmpInst::getSwappedPredicate(comparison.predicate);
    }
    if (!found->loop->isLoopInvariant(comparison.limit)) return false;
    const std::optional<int> slope = SlopeOf(comparison.number.value, found);
    if (!slope.has_value()) return false;
    comparison.number.slope = *slope;
    comparison.number.is_signed = CmpInst::isSigned(comparison.predicate);
    if (*slope != 0) found->comparisons.push_back(comparison);
    return true;
  }
  auto* const operation = llvm::dyn_cast<Instruction>(condition);
  if (operation == nullptr) return false;
  switch (operation->getOpcode()) {
    case Instruction::And:
    case Instruction::Or:
    case Instruction::Xor:
    case Instruction::Select:
    case Instruction::Freeze:
      for (Value* operand : operation->operands()) {
        if (!operand->getType()->isIntegerTy(1) || !MatchCondition(operand, found, depth + 1)) return false;
      }
      return true;
    default:
      return false;
  }
}

bool HasEffects(const BasicBlock& block) {
  for (const Instruction& instruction : block) {
    if (instruction.mayHaveSideEffects()) return true;
  }
  return false;
}

// Whether one way of a branch, and not the other, has something that would have to be masked.
bool GuardsEffects(const BranchInst& branch, const Candidate& loop, const llvm::DominatorTree& dominators) {
  for (const BasicBlock* way : branch.successors()) {
    const llvm::BasicBlockEdge edge(branch.getParent(), way);
    if (!edge.isSingleEdge()) continue;
    for (const BasicBlock* block : loop.blocks) {
      if (dominators.dominates(edge, block) && HasEffects(*block)) return true;
    }
  }
  return false;
}

// Whether it is the same for all threads of a range.
bool IsShared(const Value* value, const Candidate& found, int depth = 0) {
  if (found.loop->isLoopInvariant(value)) return true;
  const auto* const instruction = llvm::dyn_cast<Instruction>(value);
  for (const Division& division : found.divisions) {
    if (division.operation == instruction) return !division.grows || !division.is_remainder();
  }
  if (instruction == nullptr || depth == kMostDepth || llvm::isa<llvm::PHINode>(instruction) ||
      instruction->mayReadOrWriteMemory() || !llvm::isSafeToSpeculativelyExecute(instruction)) {
    return false;
  }
  return llvm::all_of(instruction->operands(),
                      [&](const Value* operand) { return IsShared(operand, found, depth + 1); });
}

void MatchDivisions(Candidate* found) {
  if (found->is_of_lanes()) return;
  for (BasicBlock* block : found->blocks) {
    for (Instruction& instruction : *block) {
      if (!instruction.isIntDivRem() || !instruction.getType()->isIntegerTy()) continue;
      if (found->divisions.size() == kMostNumbers) return;
      Division division{llvm::cast<llvm::BinaryOperator>(&instruction)};
      if (IsShared(division.number(), *found) && IsShared(division.divisor(), *found)) {
        if (!found->divisions.empty()) found->divisions.push_back(division);
        continue;
      }
      auto* const constant = llvm::dyn_cast<llvm::ConstantInt>(division.divisor());
      if (!found->loop->isLoopInvariant(division.divisor()) ||
          (constant != nullptr && constant->getValue().ult(kShortKnownRow))) {
        continue;
      }
      const size_t widenings = found->widenings.size();
      division.grows = SlopeOf(division.number(), found) == 1 && widenings + found->comparisons.size() <= kMostNumbers;
      if (division.grows) {
        found->divisions.push_back(division);
      } else {
        found->widenings.resize(widenings);
      }
    }
  }
}

bool Taken(uint32_t version, size_t branch) { return (version >> branch & 1) != 0; }

// Whether a thread does anything in a version: a number with a bit for each branch.
bool HasEffect(const Candidate& loop, uint32_t version) {
  std::set<BasicBlock*> seen;
  std::vector<BasicBlock*> work = {loop.header};
  while (!work.empty()) {
    BasicBlock* const block = work.back();
    work.pop_back();
    if (block == loop.exit || !seen.insert(block).second) continue;
    if (HasEffects(*block)) return true;
    const auto found = std::find(loop.branches.begin(), loop.branches.end(), block->getTerminator());
    if (found == loop.branches.end()) {
      work.insert(work.end(), llvm::succ_begin(block), llvm::succ_end(block));
    } else {
      const auto branch = static_cast<size_t>(found - loop.branches.begin());
      work.push_back((*found)->getSuccessor(Taken(version, branch) ? 0 : 1));
    }
  }
  return false;
}

// How often the body is compiled.
size_t Copies(const Candidate& loop) {
  size_t copies = loop.is_of_lanes() ? 1 : 0;
  for (uint32_t v = 0; v < 1U << loop.branches.size(); ++v) copies += HasEffect(loop, v);
  return copies;
}

std::optional<Candidate> Match(llvm::Loop& loop, const llvm::DominatorTree& dominators) {
  llvm::MDNode* const id = loop.getLoopID();
  if (id == nullptr || llvm::findOptionMDForLoopID(id, kThreadLoopMark) == nullptr) return std::nullopt;
  const std::optional<ThreadLoop> threads = MatchThreadLoop(loop);
  if (!threads.has_value()) return std::nullopt;
  Candidate found{&loop,
                  *threads,
                  {loop.block_begin(), loop.block_end()},
                  loop.getLoopPreheader(),
                  loop.getHeader(),
                  loop.getLoopLatch(),
                  loop.getUniqueExitBlock()};
  if (IsUsedBehind(loop)) return std::nullopt;
  size_t instructions = 0;
  for (const BasicBlock* block : found.blocks) instructions += block->size();
  for (BasicBlock* block : found.blocks) {
    auto* const branch = llvm::dyn_cast<BranchInst>(block->getTerminator());
    if (branch == nullptr || branch->isUnconditional() || block == found.latch) continue;
    if (loop.isLoopInvariant(branch->getCondition())) continue;
    if (found.branches.size() == kMostBranches) break;
    const size_t comparisons = found.comparisons.size(), widenings = found.widenings.size();
    found.branches.push_back(branch);
    const size_t copies = Copies(found);
    if ((copies > 1 && instructions * copies > kMostInstructions) || !GuardsEffects(*branch, found, dominators) ||
        !MatchCondition(branch->getCondition(), &found) ||
        found.comparisons.size() + found.widenings.size() > kMostNumbers) {
      found.branches.pop_back();
      found.comparisons.resize(comparisons);
      found.widenings.resize(widenings);
    }
  }
  MatchDivisions(&found);
  return found.branches.empty() && found.divisions.empty() ? std::nullopt : std::optional(found);
}

// What has to hold for a thread of one version: comparisons, and conditions that are the same for all threads, each
// with how it has to come out.
struct Conjunction {
  std::vector<std::pair<const Comparison*, bool>> comparisons;
  std::vector<std::pair<Value*, bool>> shared;
};

// Whether `condition == wanted` is a conjunction; adds it.
bool MatchConjunction(Value* condition, bool wanted, const Candidate& loop, Conjunction* found) {
  namespace match = llvm::PatternMatch;
  if (loop.loop->isLoopInvariant(condition)) {
    found->shared.emplace_back(condition, wanted);
    return true;
  }
  for (const Comparison& comparison : loop.comparisons) {
    if (comparison.test != condition) continue;
    found->comparisons.emplace_back(&comparison, wanted);
    return !CmpInst::isEquality(comparison.predicate);
  }
  Value* left = nullptr;
  Value* right = nullptr;
  if (match::match(condition, match::m_Freeze(match::m_Value(left)))) {
    return MatchConjunction(left, wanted, loop, found);
  }
  if (match::match(condition, match::m_Not(match::m_Value(left)))) {
    return MatchConjunction(left, !wanted, loop, found);
  }
  const bool matches = wanted
                           ? match::match(condition, match::m_LogicalAnd(match::m_Value(left), match::m_Value(right)))
                           : match::match(condition, match::m_LogicalOr(match::m_Value(left), match::m_Value(right)));
  return matches && MatchConjunction(left, wanted, loop, found) && MatchConjunction(right, wanted, loop, found);
}

// The version that alone has effects, and what holds for its threads.
struct OnlyVersion {
  uint32_t version = 0;
  Conjunction condition;
};

std::optional<OnlyVersion> FindOnlyVersion(const Candidate& loop) {
  if (!loop.divisions.empty() || Copies(loop) != 1) return std::nullopt;
  OnlyVersion only;
  while (!HasEffect(loop, only.version)) ++only.version;
  for (size_t i = 0; i < loop.branches.size(); ++i) {
    if (!MatchConjunction(loop.branches[i]->getCondition(), Taken(only.version, i), loop, &only.condition)) {
      return std::nullopt;
    }
  }
  return only;
}

class Splitter {
 public:
  Splitter(const Candidate& candidate, bool masks_are_cheap)
      : loop_(candidate),
        masks_are_cheap_(masks_are_cheap),
        b_(candidate.header->getContext()),
        type_(candidate.threads.index->getType()) {}

  void Run() {
    if (loop_.is_of_lanes()) return SplitLanes(loop_.threads.bound);
    SplitRanges();
  }

 private:
  // Of the lanes of a warp, whose number is known: one version for each way that all of them can go together, and the
  // loop as it is for when they part. So few lanes are no work to share out to ranges: what is left of one after whole
  // vectors would be done lane by lane.
  void SplitLanes(Value* lanes) {
    llvm::Function* const function = loop_.header->getParent();
    BasicBlock* const check = BasicBlock::Create(b_.getContext(), "check", function, loop_.header);
    BasicBlock* const together = BasicBlock::Create(b_.getContext(), "together", function, loop_.header);
    loop_.preheader->getTerminator()->replaceSuccessorWith(loop_.header, check);
    from_ = llvm::ConstantInt::get(type_, 0);
    b_.SetInsertPoint(check);
    b_.CreateCondBr(b_.CreateICmpEQ(Count(lanes), lanes), together, loop_.header);
    b_.SetInsertPoint(together);
    EmitVersions(together, loop_.exit, lanes);
    loop_.threads.index->replaceIncomingBlockWith(loop_.preheader, check);
  }

  void SplitRanges() {
    llvm::Function* const function = loop_.header->getParent();
    BasicBlock* const range = BasicBlock::Create(b_.getContext(), "range", function, loop_.header);
    BasicBlock* const done = BasicBlock::Create(b_.getContext(), "range_done", function, loop_.exit);
    BasicBlock* const check = BasicBlock::Create(b_.getContext(), "rows", function, range);
    loop_.preheader->getTerminator()->replaceSuccessorWith(loop_.header, check);
    b_.SetInsertPoint(check);
    b_.CreateCondBr(HasShortRows(), loop_.header, range);
    if (const std::optional<OnlyVersion> only = FindOnlyVersion(loop_)) {
      RunWindow(*only, range, done);
    } else {
      RunRanges(check, range, done);
    }
    // The loop as it was is for short rows; where there are none, nothing leads to it.
    loop_.threads.index->replaceIncomingBlockWith(loop_.preheader, check);
    KeepScalar(*loop_.loop);
  }

  // All ranges, one after the other.
  void RunRanges(BasicBlock* before, BasicBlock* range, BasicBlock* done) {
    b_.SetInsertPoint(range);
    llvm::PHINode* const from = b_.CreatePHI(type_, 2, "from");
    from_ = from;
    Value* const bound = loop_.threads.bound;
    Value* const count = Count(bound);
    Value* const to = b_.CreateAdd(from, count, "to", true, true);
    from->addIncoming(llvm::ConstantInt::get(type_, 0), before);
    from->addIncoming(to, done);

    EmitVersions(range, done, count);
    b_.SetInsertPoint(done);
    b_.CreateCondBr(b_.CreateICmpULT(to, bound), range, loop_.exit);
  }

  // Of one version, whose threads follow each other unless a number wraps: the range of these, in `block`. It depends
  // on little, so that most of it moves out of loops around this one. Where a number wraps, all ranges.
  void RunWindow(const OnlyVersion& only, BasicBlock* block, BasicBlock* done) {
    llvm::Function* const function = loop_.header->getParent();
    BasicBlock* const window = BasicBlock::Create(b_.getContext(), "window", function, done);
    BasicBlock* const range = BasicBlock::Create(b_.getContext(), "range", function, done);
    BasicBlock* const run = BasicBlock::Create(b_.getContext(), "run", function, done);
    Value* const zero = llvm::ConstantInt::get(type_, 0);
    Value* const bound = loop_.threads.bound;
    b_.SetInsertPoint(block);
    from_ = zero;
    Value* const threads = b_.CreateZExt(bound, b_.getInt64Ty());
    Value* begin = b_.getInt64(0);
    Value* end = threads;
    Value* wraps = b_.getFalse();
    const auto note_wrap = [&](const Slope& number) {
      if (CannotWrap(number)) return;
      wraps = b_.CreateOr(wraps, b_.CreateICmpULT(b_.CreateFreeze(UntilWrap(number)), threads));
    };
    for (const auto& [comparison, wanted] : only.condition.comparisons) {
      const auto [from_here, until] = Window(*comparison, wanted);
      if (from_here != nullptr) {
        begin = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, begin, b_.CreateFreeze(from_here));
      } else {
        end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, end, b_.CreateFreeze(until));
      }
      note_wrap(comparison->number);
    }
    for (const Slope& number : loop_.widenings) note_wrap(number);
    for (const auto& [condition, wanted] : only.condition.shared) {
      Value* const holds = b_.CreateICmpEQ(b_.CreateFreeze(condition), b_.getInt1(wanted));
      end = b_.CreateSelect(holds, end, b_.getInt64(0));
    }
    b_.CreateCondBr(wraps, range, window);

    b_.SetInsertPoint(window);
    Value* const first = b_.CreateTrunc(begin, type_);
    Value* const length = b_.CreateTrunc(b_.CreateSub(end, begin), type_);
    b_.CreateCondBr(b_.CreateICmpULT(begin, end), run, loop_.exit);

    b_.SetInsertPoint(range);
    first_.clear();
    llvm::PHINode* const from = b_.CreatePHI(type_, 2, "from");
    from_ = from;
    Value* const count = Count(bound);
    Value* const to_here = b_.CreateAdd(from, count, "", true, true);
    b_.CreateCondBr(b_.CreateICmpEQ(VersionOfFirst(), b_.getInt32(only.version)), run, done);

    b_.SetInsertPoint(run);
    llvm::PHINode* const run_from = b_.CreatePHI(type_, 2);
    llvm::PHINode* const run_count = b_.CreatePHI(type_, 2);
    run_from->addIncoming(first, window);
    run_from->addIncoming(from, range);
    run_count->addIncoming(length, window);
    run_count->addIncoming(count, range);
    Value* const run_to = b_.CreateAdd(run_from, run_count, "", true, true);
    from_ = run_from;
    llvm::BranchInst* const enter = b_.CreateBr(done);
    enter->setSuccessor(0, Version(only.version, run, done, run_count));

    b_.SetInsertPoint(done);
    llvm::PHINode* const to = b_.CreatePHI(type_, 2, "to");
    for (BasicBlock* each : llvm::predecessors(done)) to->addIncoming(each == range ? to_here : run_to, each);
    from->addIncoming(zero, block);
    from->addIncoming(to, done);
    b_.CreateCondBr(b_.CreateAnd(wraps, b_.CreateICmpULT(to, bound)), range, loop_.exit);
  }

  // Whether a number that grows is divided by a small one.
  Value* HasShortRows() {
    Value* some = b_.getFalse();
    for (const Division& division : loop_.divisions) {
      if (!division.grows) continue;
      Value* const width = b_.CreateFreeze(division.divisor());
      Value* const least = llvm::ConstantInt::get(width->getType(), kShortRow);
      some = b_.CreateOr(some, division.is_signed() ? b_.CreateICmpSLT(width, least) : b_.CreateICmpULT(width, least));
    }
    return some;
  }

  // Goes on, from the builder's place in `before`, to the version for `count` threads from from_ on, and then to
  // `done`.
  void EmitVersions(BasicBlock* before, BasicBlock* done, Value* count) {
    for (const Division& division : loop_.divisions) {
      AtFirst(division.operation);
      if (division.grows && division.is_remainder()) multiples_[division.operation] = Multiple(division);
    }
    llvm::SwitchInst* const way = b_.CreateSwitch(VersionOfFirst(), done, 1U << loop_.branches.size());
    for (uint32_t v = 0; v < 1U << loop_.branches.size(); ++v) {
      if (HasEffect(loop_, v)) way->addCase(b_.getInt32(v), Version(v, before, done, count));
    }
  }

  // What the first thread of the range computes.
  Value* AtFirst(Value* value) {
    if (value == loop_.threads.index) return from_;
    auto* const instruction = llvm::dyn_cast<Instruction>(value);
    if (instruction == nullptr || !loop_.loop->contains(instruction)) return value;
    Value*& first = first_[value];
    if (first != nullptr) return first;
    Instruction* const copy = instruction->clone();
    copy->dropPoisonGeneratingAnnotations();  // It holds for threads that come to the branch.
    for (llvm::Use& operand : copy->operands()) operand.set(AtFirst(operand.get()));
    if (copy->isIntDivRem()) MakeSafe(*copy);
    return first_[value] = b_.Insert(copy);
  }

  // Threads that come to a division do not divide by 0, or the least number by -1; the first may not come to it.
  void MakeSafe(Instruction& division) {
    Value* const number = b_.CreateFreeze(division.getOperand(0));
    Value* const divisor = b_.CreateFreeze(division.getOperand(1));
    Value* const zero = llvm::ConstantInt::get(number->getType(), 0);
    Value* faults = b_.CreateICmpEQ(divisor, zero);
    if (division.getOpcode() == Instruction::SDiv || division.getOpcode() == Instruction::SRem) {
      const unsigned bits = number->getType()->getIntegerBitWidth();
      Value* const least = b_.CreateICmpEQ(number, b_.getInt(llvm::APInt::getSignedMinValue(bits)));
      faults = b_.CreateOr(
          faults, b_.CreateAnd(least, b_.CreateICmpEQ(divisor, llvm::ConstantInt::getAllOnesValue(number->getType()))));
    }
    division.setOperand(0, number);
    division.setOperand(1, b_.CreateSelect(faults, llvm::ConstantInt::get(number->getType(), 1), divisor));
  }

  static bool CannotWrap(const Slope& number) {
    auto* const sum = llvm::dyn_cast<llvm::OverflowingBinaryOperator>(number.value);
    return sum != nullptr && (number.is_signed ? sum->hasNoSignedWrap() : sum->hasNoUnsignedWrap());
  }

  // (distance + more) as i64, or the largest number.
  Value* Distance(Value* distance, uint64_t more) {
    Value* const wide = b_.CreateZExt(distance, b_.getInt64Ty());
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::uadd_sat, wide, b_.getInt64(more));
  }

  // After how many threads a number wraps.
  Value* UntilWrap(const Slope& number) {
    Value* const first = AtFirst(number.value);
    const unsigned bits = first->getType()->getIntegerBitWidth();
    const bool grows = number.slope > 0;
    const llvm::APInt end = number.is_signed
                                ? (grows ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getSignedMinValue(bits))
                                : (grows ? llvm::APInt::getMaxValue(bits) : llvm::APInt::getMinValue(bits));
    Value* const last = b_.getInt(end);
    return Distance(grows ? b_.CreateSub(last, first) : b_.CreateSub(first, last), 1);
  }

  // After how many threads a comparison comes out differently, if its number does not wrap.
  Value* UntilChange(const Comparison& comparison) {
    Value* const first = AtFirst(comparison.number.value);
    Value* const limit = comparison.limit;
    const bool grows = comparison.number.slope > 0;
    Value* const distance = grows ? b_.CreateSub(limit, first) : b_.CreateSub(first, limit);
    const CmpInst::Predicate predicate = comparison.predicate;
    if (CmpInst::isEquality(predicate)) {  // Also from the limit to the number after it.
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, Distance(distance, 0), b_.getInt64(1));
    }
    // Whether the limit itself is on the side that the number comes from.
    const bool is_less = llvm::ICmpInst::isLT(predicate) || llvm::ICmpInst::isGE(predicate);
    const bool before = grows != is_less;
    const CmpInst::Predicate less = comparison.number.is_signed ? CmpInst::ICMP_SLT : CmpInst::ICMP_ULT;
    const CmpInst::Predicate on_this_side = grows ? less : CmpInst::getSwappedPredicate(less);
    Value* const comes =
        b_.CreateICmp(before ? CmpInst::getNonStrictPredicate(on_this_side) : on_this_side, first, limit);
    return b_.CreateSelect(comes, Distance(distance, before ? 1 : 0), b_.getInt64(UINT64_MAX));
  }

  // The first thread for which a comparison comes out as wanted, or how many do before it comes out differently, if its
  // number does not wrap; the other is null. Threads are counted from from_.
  std::pair<Value*, Value*> Window(const Comparison& comparison, bool wanted) {
    const CmpInst::Predicate predicate =
        wanted ? comparison.predicate : CmpInst::getInversePredicate(comparison.predicate);
    Value* const first = AtFirst(comparison.number.value);
    const bool grows = comparison.number.slope > 0;
    const bool is_less = llvm::ICmpInst::isLT(predicate) || llvm::ICmpInst::isLE(predicate);
    Value* const distance = grows ? b_.CreateSub(comparison.limit, first) : b_.CreateSub(first, comparison.limit);
    Value* const holds = b_.CreateICmp(predicate, first, comparison.limit);
    const bool is_strict = CmpInst::isStrictPredicate(predicate);
    if (grows == is_less) {
      return {nullptr, b_.CreateSelect(holds, Distance(distance, is_strict ? 0 : 1), b_.getInt64(0))};
    }
    return {b_.CreateSelect(holds, b_.getInt64(0), Distance(distance, is_strict ? 1 : 0)), nullptr};
  }

  // What a number that is divided has more than its remainder, from the first thread of the range to the last.
  Value* Multiple(const Division& division) {
    Value* const number = b_.CreateFreeze(AtFirst(division.number()));
    Value* const first = AtFirst(division.operation);
    return division.is_remainder() ? b_.CreateSub(number, first)
                                   : b_.CreateMul(first, b_.CreateFreeze(division.divisor()));
  }

  // After how many threads it comes out differently: at the next multiple of the divisor. Of negative numbers a thread
  // is a range.
  Value* UntilChange(const Division& division) {
    Value* const number = b_.CreateFreeze(AtFirst(division.number()));
    Value* const divisor = b_.CreateFreeze(division.divisor());
    Value* const place = b_.CreateSub(number, Multiple(division));
    Value* const until = Distance(b_.CreateSub(divisor, place), 0);
    if (!division.is_signed()) return until;
    Value* const zero = llvm::ConstantInt::get(number->getType(), 0);
    Value* const forward = b_.CreateAnd(b_.CreateICmpSGE(number, zero), b_.CreateICmpSGT(divisor, zero));
    return b_.CreateSelect(forward, until, b_.getInt64(1));
  }

  // Which version the first thread takes.
  Value* VersionOfFirst() {
    Value* version = b_.getInt32(0);
    for (size_t i = 0; i < loop_.branches.size(); ++i) {
      Value* const taken = b_.CreateFreeze(AtFirst(loop_.branches[i]->getCondition()));
      version = b_.CreateOr(version, b_.CreateShl(b_.CreateZExt(taken, b_.getInt32Ty()), i));
    }
    return version;
  }

  // Whether the threads of a version have nothing to do.
  Value* IsIdle(Value* version) {
    Value* idle = b_.getFalse();
    for (uint32_t v = 0; v < 1U << loop_.branches.size(); ++v) {
      if (!HasEffect(loop_, v)) idle = b_.CreateOr(idle, b_.CreateICmpEQ(version, b_.getInt32(v)));
    }
    return idle;
  }

  // The threads of a range, at least one.
  Value* Count(Value* bound) {
    Value* count = b_.CreateZExt(b_.CreateSub(bound, from_), b_.getInt64Ty());
    const auto until = [&](Value* threads) {
      // What a branch that no thread comes to compares may be undefined.
      count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, count, b_.CreateFreeze(threads));
    };
    for (const Comparison& comparison : loop_.comparisons) {
      until(UntilChange(comparison));
      if (!CmpInst::isEquality(comparison.predicate) && !CannotWrap(comparison.number)) {
        until(UntilWrap(comparison.number));
      }
    }
    for (const Slope& number : loop_.widenings) {
      if (!CannotWrap(number)) until(UntilWrap(number));
    }
    if (loop_.divisions.empty()) return AtLeastOne(count);
    Value* const all = count;
    for (const Division& division : loop_.divisions) {
      if (!division.grows) continue;
      until(UntilChange(division));
      const Slope number{division.number(), 1, division.is_signed()};
      if (!CannotWrap(number)) until(UntilWrap(number));
    }
    return AtLeastOne(b_.CreateSelect(IsIdle(VersionOfFirst()), all, count));
  }

  Value* AtLeastOne(Value* count) {
    count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, count, b_.getInt64(1));
    return b_.CreateZExtOrTrunc(count, type_);
  }

  // A copy of the loop for a range of `count` threads. Gives its header.
  BasicBlock* Version(uint32_t version, BasicBlock* before, BasicBlock* done, Value* count) {
    llvm::ValueToValueMapTy map;
    llvm::SmallVector<BasicBlock*, 8> copies;
    for (BasicBlock* block : loop_.blocks) {
      BasicBlock* const copy = llvm::CloneBasicBlock(block, map, "", before->getParent());
      copy->moveBefore(done);
      map[block] = copy;
      copies.push_back(copy);
    }
    llvm::remapInstructionsInBlocks(copies, map);
    for (size_t i = 0; i < loop_.branches.size(); ++i) {
      llvm::cast<BranchInst>(map[loop_.branches[i]])->setCondition(b_.getInt1(Taken(version, i)));
    }
    for (const Division& division : loop_.divisions) {
      auto* const copy = llvm::cast<Instruction>(map[division.operation]);
      b_.SetInsertPoint(copy);
      copy->replaceAllUsesWith(division.grows && division.is_remainder()
                                   ? b_.CreateSub(copy->getOperand(0), multiples_[division.operation])
                                   : first_[division.operation]);
      copy->eraseFromParent();
    }
    auto* const index = llvm::cast<llvm::PHINode>(map[loop_.threads.index]);
    auto* const exit_test = llvm::cast<llvm::ICmpInst>(map[loop_.threads.exit_test]);
    auto* const latch = llvm::cast<BasicBlock>(map[loop_.latch]);
    auto* const header = llvm::cast<BasicBlock>(map[loop_.header]);
    index->replaceIncomingBlockWith(loop_.preheader, before);
    CountFrom(index, exit_test, from_, count);
    latch->getTerminator()->replaceSuccessorWith(loop_.exit, done);
    llvm::cast<BranchInst>(latch->getTerminator())->setMetadata(llvm::LLVMContext::MD_loop, CopyOfLoopId());
    return header;
  }

  llvm::MDNode* CopyOfLoopId() {
    if (!masks_are_cheap_) return slipway::cpu::CopyOfLoopId(*id_);
    // What is left of a range after whole vectors, seven of thirty-one threads, costs more than they do.
    return slipway::cpu::CopyOfLoopId(
        *id_, {llvm::MDNode::get(b_.getContext(),
                                 {llvm::MDString::get(b_.getContext(), "llvm.loop.vectorize.predicate.enable"),
                                  llvm::ConstantAsMetadata::get(b_.getTrue())})});
  }

  const Candidate& loop_;
  const bool masks_are_cheap_;
  llvm::IRBuilder<> b_;
  llvm::Type* const type_;  // Of the loop's index.
  llvm::MDNode* const id_ = loop_.loop->getLoopID();
  Value* from_ = nullptr;  // The first thread of the range.
  std::map<Value*, Value*> first_;
  std::map<Value*, Value*> multiples_;  // Of remainders.
};

}  // namespace

llvm::PreservedAnalyses SplitThreadLoopPass::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  auto& dominators = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
  std::vector<Candidate> candidates;
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (std::optional<Candidate> found = Match(*loop, dominators)) candidates.push_back(*std::move(found));
  }
  for (const Candidate& candidate : candidates) Splitter(candidate, masks_are_cheap_).Run();
  return candidates.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace slipway::cpu
