#include "driver/cpu/translate/widen_thread_loop.h"

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "driver/cpu/translate/thread_loop.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/LoopIterator.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

namespace slipway::cpu {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

// Threads side by side: a vector of doubles where vectors are longest, and no more than a short row has.
constexpr unsigned kLanes = 8;

// The body is compiled twice.
constexpr size_t kMostInstructions = 400;

// Strides are sums and products of constants of the text: past this they are of no use as such.
constexpr int64_t kMostStride = int64_t{1} << 24;

// How a value of one lane follows from the first's.
struct Kind {
  bool is_known = false;  // Else nothing has been seen of it yet.
  bool varies = false;    // Each lane has its own.
  int64_t stride = 0;     // Else what each has more than the one before it; of pointers in bytes.

  bool is_uniform() const { return is_known && !varies && stride == 0; }
  bool operator==(const Kind& other) const = default;
};
constexpr Kind kVarying = {true, true, 0};
Kind Growing(int64_t stride) {
  return stride > kMostStride || stride < -kMostStride ? kVarying : Kind{true, false, stride};
}

bool TouchesMemory(const Instruction& instruction) {
  return instruction.mayReadOrWriteMemory() || instruction.mayHaveSideEffects();
}

// Whether it can be done for one lane after the other, or at once, between what comes before and after it.
bool CanBeWidened(const Instruction& instruction) {
  if (instruction.isTerminator()) {
    return llvm::isa<llvm::BranchInst>(instruction) || llvm::isa<llvm::SwitchInst>(instruction);
  }
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return load->isSimple();
  if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) return store->isSimple();
  return !TouchesMemory(instruction);
}

// How the values of a loop over threads differ among neighbouring lanes.
class Kinds {
 public:
  Kinds(const llvm::Loop& loop, const ThreadLoop& threads, llvm::ArrayRef<BasicBlock*> order)
      : loop_(loop), threads_(threads) {
    FindAfterEffects();
    for (bool changed = true; changed;) {
      changed = false;
      for (BasicBlock* block : order) {
        for (Instruction& instruction : *block) {
          if (&instruction == threads.index || instruction.isTerminator()) continue;
          const Kind kind = Next(instruction);
          if (kind == Of(&instruction)) continue;
          kinds_[&instruction] = kind;
          changed = true;
        }
      }
    }
  }

  Kind Of(const Value* value) const {
    if (value == threads_.index) return Growing(1);
    const auto* const instruction = llvm::dyn_cast<Instruction>(value);
    if (instruction == nullptr || !loop_.contains(instruction)) return Growing(0);
    return kinds_.lookup(value);
  }

 private:
  // Widening a number that grows is compared for wrapping, and if it does, the lanes start anew: that cannot be where
  // they may have written already.
  void FindAfterEffects() {
    std::vector<const BasicBlock*> work;
    for (const BasicBlock* block : loop_.blocks()) {
      for (const Instruction& instruction : *block) {
        if (!instruction.mayHaveSideEffects()) continue;
        after_effects_.insert(block);
        work.push_back(block);
        break;
      }
    }
    while (!work.empty()) {
      const BasicBlock* const block = work.back();
      work.pop_back();
      for (const BasicBlock* next : llvm::successors(block)) {
        if (next != loop_.getHeader() && loop_.contains(next) && after_effects_.insert(next).second) {
          work.push_back(next);
        }
      }
    }
  }

  Kind Meet(const llvm::PHINode& phi) const {
    Kind met;
    for (const Value* value : phi.incoming_values()) {
      const Kind kind = Of(value);
      if (!kind.is_known || kind == met) continue;
      if (met.is_known) return kVarying;
      met = kind;
    }
    return met;
  }

  Kind Next(const Instruction& instruction) const {
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) return Meet(*phi);
    bool all_uniform = true, varies = false;
    for (const Value* operand : instruction.operands()) {
      const Kind kind = Of(operand);
      if (!kind.is_known) return kind;
      all_uniform &= kind.is_uniform();
      varies |= kind.varies;
    }
    if (all_uniform) return Growing(0);
    return varies ? kVarying : OfGrowing(instruction);
  }

  // Of an instruction whose operands grow, or are uniform.
  Kind OfGrowing(const Instruction& instruction) const {
    const auto stride = [&](unsigned operand) { return Of(instruction.getOperand(operand)).stride; };
    const auto constant = [&](unsigned operand) -> std::optional<int64_t> {
      const auto* const number = llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(operand));
      if (number == nullptr || number->getBitWidth() > 64) return std::nullopt;
      return number->getValue().abs().ugt(kMostStride) ? std::nullopt : std::optional(number->getSExtValue());
    };
    switch (instruction.getOpcode()) {
      case Instruction::Add:
        return Growing(stride(0) + stride(1));
      case Instruction::Or:
        return llvm::cast<llvm::PossiblyDisjointInst>(instruction).isDisjoint() ? Growing(stride(0) + stride(1))
                                                                                : kVarying;
      case Instruction::Sub:
        return Growing(stride(0) - stride(1));
      case Instruction::Mul:
        for (unsigned i = 0; i < 2; ++i) {
          if (constant(i).has_value()) return Growing(*constant(i) * stride(1 - i));
        }
        return kVarying;
      case Instruction::Shl:
        return constant(1).value_or(64) < 24 && stride(1) == 0 ? Growing(stride(0) << *constant(1)) : kVarying;
      case Instruction::Trunc:
      case Instruction::Freeze:
      case Instruction::PtrToInt:
        return Growing(stride(0));
      case Instruction::IntToPtr:
        return instruction.getOperand(0)->getType()->isIntegerTy(64) ? Growing(stride(0)) : kVarying;
      case Instruction::ZExt:
      case Instruction::SExt:
        return IsChecked(instruction) ? Growing(stride(0)) : kVarying;
      case Instruction::Select:
        return stride(0) == 0 && stride(1) == stride(2) ? Growing(stride(1)) : kVarying;
      case Instruction::GetElementPtr: {
        const auto& address = llvm::cast<llvm::GetElementPtrInst>(instruction);
        const llvm::TypeSize size = instruction.getDataLayout().getTypeAllocSize(address.getSourceElementType());
        if (address.getNumIndices() != 1 || !address.getOperand(1)->getType()->isIntegerTy(64) || size > kMostStride) {
          return kVarying;
        }
        return Growing(stride(0) + stride(1) * static_cast<int64_t>(size.getFixedValue()));
      }
      default:
        return kVarying;
    }
  }

  // Whether the widening of a growing number to an address can be compared for.
  bool IsChecked(const Instruction& widening) const {
    return widening.getOperand(0)->getType()->getIntegerBitWidth() >= 32 &&
           !after_effects_.contains(widening.getParent());
  }

  const llvm::Loop& loop_;
  const ThreadLoop& threads_;
  std::set<const BasicBlock*> after_effects_;
  llvm::DenseMap<const Value*, Kind> kinds_;
};

struct Candidate {
  llvm::Loop* loop = nullptr;
  ThreadLoop threads;
  std::vector<BasicBlock*> order;  // Of the body, what comes before first.
};

std::optional<Candidate> Match(llvm::Loop& loop, llvm::LoopInfo& loops) {
  llvm::MDNode* const id = loop.getLoopID();
  if (id == nullptr || llvm::findOptionMDForLoopID(id, kThreadLoopMark) == nullptr || loop.isInnermost()) {
    return std::nullopt;
  }
  const std::optional<ThreadLoop> threads = MatchThreadLoop(loop);
  if (!threads.has_value()) return std::nullopt;
  size_t length = 0;
  for (const BasicBlock* block : loop.blocks()) {
    length += block->size();
    for (const Instruction& instruction : *block) {
      if (!CanBeWidened(instruction)) return std::nullopt;
    }
  }
  if (length > kMostInstructions || IsUsedBehind(loop)) return std::nullopt;
  llvm::LoopBlocksRPO order(&loop);
  order.perform(&loops);
  return Candidate{&loop, *threads, {order.begin(), order.end()}};
}

bool FitsIntoVectors(const Instruction& instruction, const Kinds& kinds) {
  const auto fits = [](const Value* value) { return llvm::VectorType::isValidElementType(value->getType()); };
  if (llvm::isa<llvm::StoreInst>(instruction)) return fits(instruction.getOperand(0));
  return !kinds.Of(&instruction).varies || (fits(&instruction) && llvm::all_of(instruction.operands(), fits));
}

// Whether elements of that type at that address lie next to each other.
bool AreNeighbours(const Kind& address, llvm::Type* type, const llvm::DataLayout& layout) {
  return !address.varies && layout.typeSizeEqualsStoreSize(type) &&
         address.stride == static_cast<int64_t>(layout.getTypeStoreSize(type).getFixedValue());
}

// Whether all lanes go the same way, with values that fit into vectors.
bool CanRunTogether(const Candidate& candidate, const Kinds& kinds) {
  for (const BasicBlock* block : candidate.order) {
    for (const Instruction& instruction : *block) {
      if (!instruction.isTerminator() && !FitsIntoVectors(instruction, kinds)) return false;
    }
    const Instruction* const end = block->getTerminator();
    if (block == candidate.loop->getLoopLatch() || end->getNumSuccessors() == 1) continue;
    if (!kinds.Of(end->getOperand(0)).is_uniform()) return false;
  }
  return true;
}

// Whether it is worth it: they carry floats round inner loops, which LLVM leaves as they are, and these load from
// places that lanes share, or that lie side by side, at least as often as from others. What is to be gathered a lane
// after the other gains less than vectors of few lanes cost where rows are short.
bool IsWorthIt(const Candidate& candidate, const Kinds& kinds, const llvm::LoopInfo& loops) {
  const llvm::DataLayout& layout = candidate.order[0]->getDataLayout();
  bool carries_floats = false;
  int together = 0, apart = 0;
  for (const BasicBlock* block : candidate.order) {
    if (loops.getLoopFor(block) == candidate.loop) continue;
    for (const Instruction& instruction : *block) {
      const bool varies = kinds.Of(&instruction).varies;
      carries_floats |= varies && llvm::isa<llvm::PHINode>(instruction) && loops.isLoopHeader(block) &&
                        instruction.getType()->isFloatingPointTy();
      if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
        const Kind address = kinds.Of(load->getPointerOperand());
        const bool at_once = address.is_uniform() || AreNeighbours(address, load->getType(), layout);
        ++(at_once ? together : apart);
      }
    }
  }
  return carries_floats && together >= apart;
}

class Widener {
 public:
  Widener(const Candidate& candidate, const Kinds& kinds)
      : loop_(candidate),
        kinds_(kinds),
        function_(candidate.loop->getHeader()->getParent()),
        b_(function_->getContext()),
        type_(candidate.threads.index->getType()) {}

  void Run() {
    BasicBlock* const before = loop_.loop->getLoopPreheader();
    BasicBlock* const header = loop_.loop->getHeader();
    BasicBlock* const exit = loop_.loop->getUniqueExitBlock();
    Value* const bound = loop_.threads.bound;
    BasicBlock* const next = NewBlock("lanes_next", header);
    enter_ = NewBlock("lanes", header);
    BasicBlock* const done = NewBlock("lanes_done", header);
    one_by_one_ = NewBlock("one_by_one", header);
    BasicBlock* const one_by_one_done = NewBlock("one_by_one_done", exit);

    before->getTerminator()->replaceSuccessorWith(header, next);
    b_.SetInsertPoint(next);
    llvm::PHINode* const first = b_.CreatePHI(type_, 3, "first");
    first_ = first;
    first->addIncoming(llvm::ConstantInt::get(type_, 0), before);
    Value* const lanes = llvm::ConstantInt::get(type_, kLanes);
    b_.CreateCondBr(b_.CreateICmpULT(b_.CreateSub(bound, first), lanes), one_by_one_, enter_);

    b_.SetInsertPoint(one_by_one_);
    to_ = b_.CreatePHI(type_, 2, "to");
    to_->addIncoming(bound, next);
    b_.CreateBr(header);
    b_.SetInsertPoint(enter_);
    after_ = b_.CreateAdd(first, lanes, "", true, true);
    b_.SetInsertPoint(done);
    first->addIncoming(after_, done);
    b_.CreateCondBr(b_.CreateICmpEQ(after_, bound), exit, next);

    Widen(done);

    llvm::PHINode* const index = loop_.threads.index;
    index->setIncomingValueForBlock(before, first);
    index->replaceIncomingBlockWith(before, one_by_one_);
    loop_.threads.exit_test->setOperand(1, to_);
    loop_.loop->getLoopLatch()->getTerminator()->replaceSuccessorWith(exit, one_by_one_done);
    b_.SetInsertPoint(one_by_one_done);
    first->addIncoming(to_, one_by_one_done);
    b_.CreateCondBr(b_.CreateICmpEQ(to_, bound), exit, next);
  }

 private:
  BasicBlock* NewBlock(const char* name, BasicBlock* before) {
    return BasicBlock::Create(b_.getContext(), name, function_, before);
  }

  void Widen(BasicBlock* done) {
    for (BasicBlock* block : loop_.order) begin_[block] = NewBlock("lanes", one_by_one_);
    b_.SetInsertPoint(enter_);
    b_.CreateBr(begin_[loop_.loop->getHeader()]);
    std::vector<llvm::PHINode*> phis;
    for (BasicBlock* block : loop_.order) {
      b_.SetInsertPoint(begin_[block]);
      for (Instruction& instruction : *block) {
        if (&instruction == loop_.threads.index || &instruction == loop_.threads.exit_test) continue;
        if (instruction.isTerminator()) {
          EmitTerminator(instruction, done);
        } else if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) {
          llvm::Type* const type = kinds_.Of(phi).varies ? VectorOf(phi->getType()) : phi->getType();
          Note(*phi, b_.CreatePHI(type, phi->getNumIncomingValues()));
          phis.push_back(phi);
        } else if (kinds_.Of(&instruction).varies || llvm::isa<llvm::StoreInst>(instruction)) {
          EmitVector(instruction);
        } else {
          EmitScalar(instruction);
        }
      }
      end_[block] = b_.GetInsertBlock();
    }
    for (llvm::PHINode* phi : phis) {
      const bool varies = kinds_.Of(phi).varies;
      auto* const copy = llvm::cast<llvm::PHINode>(varies ? vectors_[phi] : scalars_[phi]);
      for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
        Value* const value = phi->getIncomingValue(i);
        copy->addIncoming(varies ? Vector(value) : Scalar(value), end_[phi->getIncomingBlock(i)]);
      }
    }
  }

  void EmitTerminator(Instruction& instruction, BasicBlock* done) {
    if (instruction.getParent() == loop_.loop->getLoopLatch()) {
      b_.CreateBr(done);
      return;
    }
    Instruction* const copy = instruction.clone();
    copy->setMetadata(llvm::LLVMContext::MD_loop, nullptr);
    for (llvm::Use& operand : copy->operands()) {
      auto* const block = llvm::dyn_cast<BasicBlock>(operand.get());
      operand.set(block != nullptr ? begin_[block] : Scalar(operand.get()));
    }
    b_.Insert(copy);
  }

  // Of the first lane, from which the others' follow.
  void EmitScalar(Instruction& instruction) {
    Instruction* const copy = instruction.clone();
    for (llvm::Use& operand : copy->operands()) operand.set(Scalar(operand.get()));
    const Kind kind = kinds_.Of(&instruction);
    const bool widens = llvm::isa<llvm::ZExtInst>(copy) || llvm::isa<llvm::SExtInst>(copy);
    if (widens && kind.stride != 0) StartAnewIfWraps(copy->getOperand(0), kind.stride, llvm::isa<llvm::SExtInst>(copy));
    Note(instruction, b_.Insert(copy));
  }

  void StartAnewIfWraps(Value* number, int64_t stride, bool is_signed) {
    llvm::Type* const type = number->getType();
    const bool grows = stride > 0;
    Value* const more = llvm::ConstantInt::get(type, static_cast<uint64_t>((grows ? stride : -stride) * (kLanes - 1)));
    const llvm::Intrinsic::ID sum =
        is_signed ? (grows ? llvm::Intrinsic::sadd_with_overflow : llvm::Intrinsic::ssub_with_overflow)
                  : (grows ? llvm::Intrinsic::uadd_with_overflow : llvm::Intrinsic::usub_with_overflow);
    Value* const wraps = b_.CreateExtractValue(b_.CreateBinaryIntrinsic(sum, number, more), 1);
    BasicBlock* const goes_on = NewBlock("lanes", one_by_one_);
    to_->addIncoming(after_, b_.GetInsertBlock());
    b_.CreateCondBr(wraps, one_by_one_, goes_on);
    b_.SetInsertPoint(goes_on);
  }

  void EmitVector(Instruction& instruction) {
    switch (instruction.getOpcode()) {
      case Instruction::Load:
        return EmitLoad(llvm::cast<llvm::LoadInst>(instruction));
      case Instruction::Store:
        return EmitStore(llvm::cast<llvm::StoreInst>(instruction));
      case Instruction::Call:
        return EmitCall(llvm::cast<llvm::CallInst>(instruction));
      case Instruction::Select:
        if (kinds_.Of(instruction.getOperand(0)).is_uniform()) {
          Value* const copy = b_.CreateSelect(Scalar(instruction.getOperand(0)), Vector(instruction.getOperand(1)),
                                              Vector(instruction.getOperand(2)));
          return Note(instruction, copy);
        }
        break;
      default:
        break;
    }
    Instruction* const copy = instruction.clone();
    for (llvm::Use& operand : copy->operands()) operand.set(Vector(operand.get()));
    copy->mutateType(VectorOf(instruction.getType()));
    Note(instruction, b_.Insert(copy));
  }

  bool LiesTogether(const Value* address, llvm::Type* type) const {
    return AreNeighbours(kinds_.Of(address), type, function_->getDataLayout());
  }

  void EmitLoad(llvm::LoadInst& load) {
    if (!LiesTogether(load.getPointerOperand(), load.getType())) return EmitLanes(load);
    llvm::LoadInst* const copy =
        b_.CreateAlignedLoad(VectorOf(load.getType()), Scalar(load.getPointerOperand()), load.getAlign());
    copy->copyMetadata(load, {llvm::LLVMContext::MD_invariant_load, llvm::LLVMContext::MD_access_group});
    Note(load, copy);
  }

  void EmitStore(llvm::StoreInst& store) {
    if (!LiesTogether(store.getPointerOperand(), store.getValueOperand()->getType())) return EmitLanes(store);
    llvm::StoreInst* const copy =
        b_.CreateAlignedStore(Vector(store.getValueOperand()), Scalar(store.getPointerOperand()), store.getAlign());
    copy->copyMetadata(store, {llvm::LLVMContext::MD_access_group});
  }

  void EmitCall(llvm::CallInst& call) {
    const llvm::Intrinsic::ID id = call.getIntrinsicID();
    if (!llvm::isTriviallyVectorizable(id)) return EmitLanes(call);
    std::vector<llvm::Type*> types;
    std::vector<Value*> arguments;
    if (llvm::isVectorIntrinsicWithOverloadTypeAtArg(id, -1, nullptr)) types.push_back(VectorOf(call.getType()));
    for (unsigned i = 0; i < call.arg_size(); ++i) {
      Value* const argument = call.getArgOperand(i);
      const bool scalar = llvm::isVectorIntrinsicWithScalarOpAtArg(id, i, nullptr);
      if (scalar && !kinds_.Of(argument).is_uniform()) return EmitLanes(call);
      arguments.push_back(scalar ? Scalar(argument) : Vector(argument));
      if (llvm::isVectorIntrinsicWithOverloadTypeAtArg(id, static_cast<int>(i), nullptr)) {
        types.push_back(arguments.back()->getType());
      }
    }
    llvm::Function* const vector = llvm::Intrinsic::getOrInsertDeclaration(function_->getParent(), id, types);
    llvm::CallInst* const copy = b_.CreateCall(vector, arguments);
    if (llvm::isa<llvm::FPMathOperator>(copy)) copy->copyFastMathFlags(&call);
    Note(call, copy);
  }

  // One lane after the other.
  void EmitLanes(Instruction& instruction) {
    const bool gives = !instruction.getType()->isVoidTy();
    Value* all = gives ? llvm::PoisonValue::get(VectorOf(instruction.getType())) : nullptr;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      Instruction* const copy = instruction.clone();
      for (llvm::Use& operand : copy->operands()) operand.set(Lane(operand.get(), lane));
      b_.Insert(copy);
      if (gives) all = b_.CreateInsertElement(all, copy, lane);
    }
    if (gives) Note(instruction, all);
  }

  void Note(Instruction& instruction, Value* copy) {
    (kinds_.Of(&instruction).varies ? vectors_ : scalars_)[&instruction] = copy;
  }

  bool IsOfBody(const Value* value) const {
    const auto* const instruction = llvm::dyn_cast<Instruction>(value);
    return instruction != nullptr && loop_.loop->contains(instruction);
  }

  Value* Scalar(Value* value) {
    if (value == loop_.threads.index) return first_;
    return IsOfBody(value) ? scalars_[value] : value;
  }

  // Made where the first lane's is, once.
  Value* Vector(Value* value) {
    if (Value* const known = vectors_.lookup(value)) return known;
    Value* const first = Scalar(value);
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    auto* const definition = llvm::dyn_cast<Instruction>(first);
    if (definition == nullptr || !IsOfBody(value) || definition == first_) {
      b_.SetInsertPoint(enter_->getTerminator());
    } else if (llvm::isa<llvm::PHINode>(definition)) {
      b_.SetInsertPoint(definition->getParent(), definition->getParent()->getFirstInsertionPt());
    } else {
      b_.SetInsertPoint(definition->getParent(), std::next(definition->getIterator()));
    }
    const int64_t stride = kinds_.Of(value).stride;
    llvm::Type* const number = value->getType()->isPointerTy() ? b_.getInt64Ty() : value->getType();
    std::vector<llvm::Constant*> more;
    for (unsigned lane = 0; lane < kLanes && stride != 0; ++lane) {
      more.push_back(llvm::ConstantInt::get(number, static_cast<uint64_t>(stride * lane), /*IsSigned=*/true,
                                            /*ImplicitTrunc=*/true));
    }
    Value* vector = nullptr;
    if (stride == 0) {
      vector = b_.CreateVectorSplat(kLanes, first);
    } else if (value->getType()->isPointerTy()) {
      vector = b_.CreateGEP(b_.getInt8Ty(), first, llvm::ConstantVector::get(more));
    } else {
      vector = b_.CreateAdd(b_.CreateVectorSplat(kLanes, first), llvm::ConstantVector::get(more));
    }
    return vectors_[value] = vector;
  }

  Value* Lane(Value* value, unsigned lane) {
    const Kind kind = kinds_.Of(value);
    if (kind.varies) return b_.CreateExtractElement(vectors_[value], lane);
    Value* const first = Scalar(value);
    if (kind.stride == 0 || lane == 0) return first;
    const int64_t more = kind.stride * lane;
    if (value->getType()->isPointerTy())
      return b_.CreateGEP(b_.getInt8Ty(), first, b_.getInt64(static_cast<uint64_t>(more)));
    return b_.CreateAdd(first, llvm::ConstantInt::get(value->getType(), static_cast<uint64_t>(more), true, true));
  }

  static llvm::Type* VectorOf(llvm::Type* type) { return llvm::FixedVectorType::get(type, kLanes); }

  const Candidate& loop_;
  const Kinds& kinds_;
  llvm::Function* const function_;
  llvm::IRBuilder<> b_;
  llvm::Type* const type_;                                // Of the loop's index.
  Value* first_ = nullptr;                                // The first of the lanes' threads,
  Value* after_ = nullptr;                                // and the one after the last.
  BasicBlock* enter_ = nullptr;                           // Before the lanes' body.
  BasicBlock* one_by_one_ = nullptr;                      // Before the loop as it was, which then goes from first_
  llvm::PHINode* to_ = nullptr;                           // to here.
  llvm::DenseMap<BasicBlock*, BasicBlock*> begin_, end_;  // What became of a block; comparisons stand between.
  llvm::DenseMap<Value*, Value*> scalars_, vectors_;
};

}  // namespace

llvm::PreservedAnalyses WidenThreadLoopPass::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  for (Instruction& instruction : function.getEntryBlock()) {
    if (llvm::isa<llvm::AllocaInst>(instruction)) return llvm::PreservedAnalyses::all();
  }
  auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  std::vector<Candidate> candidates;
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (std::optional<Candidate> found = Match(*loop, loops)) candidates.push_back(*std::move(found));
  }
  bool changed = false;
  for (const Candidate& candidate : candidates) {
    const Kinds kinds(*candidate.loop, candidate.threads, candidate.order);
    if (!CanRunTogether(candidate, kinds) || !IsWorthIt(candidate, kinds, loops)) continue;
    Widener(candidate, kinds).Run();
    changed = true;
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace slipway::cpu
