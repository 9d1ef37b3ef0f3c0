#include "jit/peephole.h"

#include <cstdint>
#include <utility>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"

namespace slipway {
namespace {

namespace match = llvm::PatternMatch;
using llvm::Value;

// variable * stride, and how much is added to the variable before. A stride of null is 1.
struct Term {
  Value* variable = nullptr;
  Value* stride = nullptr;
  int64_t constant = 0;

  bool IsLike(const Term& other) const { return variable == other.variable && stride == other.stride; }
};

Term TermOf(Value* index) {
  Term term{.variable = index};
  Value *x, *y;
  const llvm::APInt* constant;
  const auto splits = [&](Value* sum) {
    return match::match(sum, match::m_Add(match::m_Value(x), match::m_APInt(constant)));
  };
  if (match::match(index, match::m_Mul(match::m_Value(x), match::m_Value(y)))) {
    if (match::match(y, match::m_Add(match::m_Value(), match::m_APInt(constant)))) std::swap(x, y);
    term.variable = x;
    term.stride = y;
  }
  if (splits(term.variable) && constant->isSignedIntN(32)) {
    term.variable = x;
    term.constant = constant->getSExtValue();
  }
  return term;
}

// An address that is a sum: of where an array begins, and of at most two products of an index and a stride.
struct Address {
  llvm::GetElementPtrInst* value = nullptr;
  Value* base = nullptr;
  llvm::SmallVector<Term, 2> terms;
};

// Whether a is found from where it stands by way of others in its block; constants go into the instruction that
// accesses memory.
bool IsPlain(const llvm::GetElementPtrInst& address) {
  return address.getNumIndices() == 1 && address.getOperand(1)->getType()->isIntegerTy(64) &&
         !llvm::isa<llvm::Constant>(address.getOperand(1));
}
llvm::GetElementPtrInst* InnerOf(llvm::GetElementPtrInst& outer) {
  auto* inner = llvm::dyn_cast<llvm::GetElementPtrInst>(outer.getPointerOperand());
  if (inner == nullptr || !IsPlain(*inner) || inner->getSourceElementType() != outer.getSourceElementType()) {
    return nullptr;
  }
  return inner;
}

// The addresses of one block.
class Addresses {
 public:
  // An address that costs less, made before `address`; null where there is none.
  Value* Better(llvm::GetElementPtrInst& address) {
    if (!IsPlain(address)) return nullptr;
    Address sum{.value = &address, .base = address.getPointerOperand(), .terms = {TermOf(address.getOperand(1))}};
    llvm::GetElementPtrInst* inner = InnerOf(address);
    if (inner != nullptr) {
      sum.base = inner->getPointerOperand();
      sum.terms.push_back(TermOf(inner->getOperand(1)));
    }
    if (Value* neighbour = FromNeighbour(sum)) return neighbour;
    Value* merged = nullptr;
    // One that others use, too, or that stands outside of a loop, is better computed once.
    if (inner != nullptr && inner->hasOneUse() && inner->getParent() == address.getParent()) {
      llvm::IRBuilder<> b(&address);
      merged = b.CreateInBoundsGEP(address.getSourceElementType(), inner->getPointerOperand(),
                                   b.CreateAdd(inner->getOperand(1), address.getOperand(1)));
      sum.value = llvm::cast<llvm::GetElementPtrInst>(merged);
    }
    known_.push_back(sum);
    return merged;
  }

 private:
  // The address of an element a constant number of strides away, plus those strides.
  Value* FromNeighbour(const Address& address) {
    for (const Address& other : known_) {
      if (other.base != address.base || other.terms.size() != address.terms.size()) continue;
      if (other.value->getSourceElementType() != address.value->getSourceElementType()) continue;
      int64_t distance = 0;
      const Term* along = nullptr;
      bool alike = true;
      for (const Term& term : address.terms) {
        const auto* like = llvm::find_if(other.terms, [&](const Term& t) { return t.IsLike(term); });
        if (like == other.terms.end()) {
          alike = false;
          break;
        }
        if (like->constant == term.constant) continue;
        alike = along == nullptr;  // In one direction only.
        along = &term;
        distance = term.constant - like->constant;
      }
      if (!alike || along == nullptr || along->stride == nullptr) continue;
      llvm::IRBuilder<> b(address.value);
      Value*& strides = products_[{along->stride, distance}];
      if (strides == nullptr) strides = b.CreateMul(along->stride, b.getInt64(static_cast<uint64_t>(distance)));
      return b.CreateGEP(address.value->getSourceElementType(), other.value, strides);
    }
    return nullptr;
  }

  llvm::SmallVector<Address, 8> known_;
  llvm::DenseMap<std::pair<Value*, int64_t>, Value*> products_;
};

// An address that is another one and a constant is made where it is used: instructions that access memory have room for
// the constant, and outside of a loop it would take registers.
void SinkConstantOffset(llvm::Instruction& user) {
  Value* pointer = const_cast<Value*>(llvm::getLoadStorePointerOperand(&user));
  auto* address = llvm::dyn_cast_or_null<llvm::GetElementPtrInst>(pointer);
  if (address == nullptr || address->getParent() == user.getParent() || !address->hasAllConstantIndices()) return;
  llvm::Instruction* here = address->clone();
  here->insertBefore(user.getIterator());
  user.replaceUsesOfWith(address, here);
}

// A number that fits 32 bits, in those.
Value* AsWord(llvm::IRBuilder<>& b, Value* value) {
  Value* word;
  if (match::match(value, match::m_ZExt(match::m_Value(word))) && word->getType()->isIntegerTy(32)) return word;
  return b.CreateTrunc(value, b.getInt32Ty());
}

Value* UpperHalf(llvm::Instruction& half) {
  Value *x, *y;
  const auto product = match::m_Mul(match::m_Value(x), match::m_Value(y));
  if (!half.getType()->isIntegerTy(64) || !match::match(&half, match::m_LShr(product, match::m_SpecificInt(32)))) {
    return nullptr;
  }
  const llvm::APInt upper = llvm::APInt::getHighBitsSet(64, 32);
  for (Value* factor : {x, y}) {
    if (!llvm::MaskedValueIsZero(factor, upper, half.getModule()->getDataLayout())) return nullptr;
  }
  llvm::IRBuilder<> b(&half);
  Value* words[] = {AsWord(b, x), AsWord(b, y)};
  return b.CreateZExt(b.CreateIntrinsic(llvm::Intrinsic::nvvm_mulhi_ui, {}, words), half.getType());
}

}  // namespace

llvm::PreservedAnalyses PeepholePass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  llvm::SmallVector<llvm::WeakTrackingVH, 16> replaced;
  for (llvm::BasicBlock& block : function) {
    Addresses addresses;
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
      SinkConstantOffset(instruction);
      Value* better = nullptr;
      if (auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) better = addresses.Better(*address);
      if (instruction.getOpcode() == llvm::Instruction::LShr) better = UpperHalf(instruction);
      if (better == nullptr) continue;
      instruction.replaceAllUsesWith(better);
      replaced.push_back(&instruction);
    }
  }
  llvm::RecursivelyDeleteTriviallyDeadInstructionsPermissive(replaced);
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace slipway
