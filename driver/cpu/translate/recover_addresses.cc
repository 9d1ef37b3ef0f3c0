#include "driver/cpu/translate/recover_addresses.h"

#include <vector>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/PatternMatch.h"

namespace slipway::cpu {
namespace {

using llvm::Value;

constexpr size_t kMaxSummands = 16;

// The summands of an integer, through additions and disjoint ors.
std::vector<Value*> Summands(Value* sum) {
  std::vector<Value*> leaves;
  std::vector<Value*> work = {sum};
  while (!work.empty()) {
    Value* const value = work.back();
    work.pop_back();
    auto* const operation = llvm::dyn_cast<llvm::BinaryOperator>(value);
    const bool adds = operation != nullptr && (operation->getOpcode() == llvm::Instruction::Add ||
                                               (operation->getOpcode() == llvm::Instruction::Or &&
                                                llvm::cast<llvm::PossiblyDisjointInst>(operation)->isDisjoint()));
    if (adds && leaves.size() + work.size() < kMaxSummands) {
      work.push_back(operation->getOperand(1));
      work.push_back(operation->getOperand(0));
    } else {
      leaves.push_back(value);
    }
  }
  return leaves;
}

// How sure it is that a summand is the pointer; 0 if it is not.
int Rank(Value* summand) {
  if (llvm::isa<llvm::PtrToIntOperator>(summand)) return 4;  // Of a variable of the module, too.
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(summand)) {
    return load->hasMetadata(llvm::LLVMContext::MD_invariant_load) ? 3 : 1;
  }
  // An address that the text has as a number; no index is that large.
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(summand))
    return constant->getValue().ugt(uint64_t{1} << 40) && !constant->isNegative() ? 2 : 0;
  return 0;
}

// The base as a pointer, made where the base is: outside the loop if that is.
Value* AsPointer(Value* base, llvm::Instruction* user) {
  if (auto* was_pointer = llvm::dyn_cast<llvm::PtrToIntOperator>(base)) return was_pointer->getPointerOperand();
  llvm::IRBuilder<> b(user);
  if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(base)) b.SetInsertPoint(instruction->getNextNode());
  return b.CreateIntToPtr(base, b.getPtrTy());
}

Value* Sum(llvm::IRBuilder<>& b, const std::vector<Value*>& values) {
  Value* sum = values[0];
  for (size_t i = 1; i < values.size(); ++i) sum = b.CreateAdd(sum, values[i]);
  return sum;
}

// x for `x << shift` and `x * (1 << shift)`, x * y for `x * (y << shift)`, else null.
Value* Unscaled(llvm::IRBuilder<>& b, Value* value, unsigned shift) {
  using llvm::PatternMatch::m_c_Mul, llvm::PatternMatch::m_Mul, llvm::PatternMatch::m_Shl,
      llvm::PatternMatch::m_SpecificInt, llvm::PatternMatch::m_Value;
  Value* x = nullptr;
  if (llvm::PatternMatch::match(value, m_Shl(m_Value(x), m_SpecificInt(shift)))) return x;
  if (llvm::PatternMatch::match(value, m_Mul(m_Value(x), m_SpecificInt(uint64_t{1} << shift)))) return x;
  Value* y = nullptr;
  if (llvm::PatternMatch::match(value, m_c_Mul(m_Value(x), m_Shl(m_Value(y), m_SpecificInt(shift)))))
    return b.CreateMul(x, y);
  return nullptr;
}

// base + the sum of offsets. A scale that they share becomes the GEP's element size: the vectoriser recognises a stride
// that it must compare with 1 only as a whole index. Offsets without it go first; most often they do not depend on the
// thread.
Value* Offset(llvm::IRBuilder<>& b, Value* base, const std::vector<Value*>& offsets) {
  for (unsigned shift = 4; shift > 0; --shift) {
    std::vector<Value*> indices, others;
    for (Value* offset : offsets) {
      Value* const index = Unscaled(b, offset, shift);
      (index != nullptr ? indices : others).push_back(index != nullptr ? index : offset);
    }
    if (indices.empty()) continue;
    if (!others.empty()) base = b.CreateGEP(b.getInt8Ty(), base, Sum(b, others));
    return b.CreateGEP(b.getIntNTy(8U << shift), base, Sum(b, indices));
  }
  return b.CreateGEP(b.getInt8Ty(), base, Sum(b, offsets));
}

bool Recover(llvm::IntToPtrInst* cast) {
  std::vector<Value*> summands = Summands(cast->getOperand(0));
  if (summands.size() < 2) {
    auto* was_pointer = llvm::dyn_cast<llvm::PtrToIntOperator>(summands[0]);
    if (was_pointer == nullptr) return false;
    cast->replaceAllUsesWith(was_pointer->getPointerOperand());
    return true;
  }
  size_t base = 0;
  for (size_t i = 1; i < summands.size(); ++i) {
    if (Rank(summands[i]) > Rank(summands[base])) base = i;
  }
  if (Rank(summands[base]) == 0) return false;
  Value* const pointer = AsPointer(summands[base], cast);
  llvm::IRBuilder<> b(cast);
  std::vector<Value*> offsets;
  std::vector<Value*> constants;  // Last, so that neighbouring accesses share the rest.
  for (size_t i = 0; i < summands.size(); ++i) {
    if (i != base) (llvm::isa<llvm::ConstantInt>(summands[i]) ? constants : offsets).push_back(summands[i]);
  }
  Value* address = pointer;
  if (!offsets.empty()) address = Offset(b, address, offsets);
  if (!constants.empty()) address = b.CreateGEP(b.getInt8Ty(), address, Sum(b, constants));
  cast->replaceAllUsesWith(address);
  return true;
}

}  // namespace

llvm::PreservedAnalyses RecoverAddressesPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  std::vector<llvm::IntToPtrInst*> casts;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (auto* cast = llvm::dyn_cast<llvm::IntToPtrInst>(&instruction)) casts.push_back(cast);
  }
  bool changed = false;
  for (llvm::IntToPtrInst* cast : casts) {
    if (!Recover(cast)) continue;
    cast->eraseFromParent();
    changed = true;
  }
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace slipway::cpu
