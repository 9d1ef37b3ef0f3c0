#include "driver/cpu/translate/recover_addresses.h"

#include <vector>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

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
  if (llvm::isa<llvm::PtrToIntInst>(summand)) return 4;
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(summand)) {
    return load->hasMetadata(llvm::LLVMContext::MD_invariant_load) ? 3 : 1;
  }
  // An address of the module's own memory; no index is that large.
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(summand))
    return constant->getValue().ugt(uint64_t{1} << 40) && !constant->isNegative() ? 2 : 0;
  return 0;
}

// The base as a pointer, made where the base is: outside the loop if that is.
Value* AsPointer(Value* base, llvm::Instruction* user) {
  if (auto* was_pointer = llvm::dyn_cast<llvm::PtrToIntInst>(base)) return was_pointer->getPointerOperand();
  llvm::IRBuilder<> b(user);
  if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(base)) b.SetInsertPoint(instruction->getNextNode());
  return b.CreateIntToPtr(base, b.getPtrTy());
}

bool Recover(llvm::IntToPtrInst* cast) {
  std::vector<Value*> summands = Summands(cast->getOperand(0));
  if (summands.size() < 2) {
    auto* was_pointer = llvm::dyn_cast<llvm::PtrToIntInst>(summands[0]);
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
  Value* offset = nullptr;
  Value* constant = nullptr;  // Last, so that neighbouring accesses share the rest.
  for (size_t i = 0; i < summands.size(); ++i) {
    if (i == base) continue;
    Value*& part = llvm::isa<llvm::ConstantInt>(summands[i]) ? constant : offset;
    part = part == nullptr ? summands[i] : b.CreateAdd(part, summands[i]);
  }
  Value* address = pointer;
  if (offset != nullptr) address = b.CreateGEP(b.getInt8Ty(), address, offset);
  if (constant != nullptr) address = b.CreateGEP(b.getInt8Ty(), address, constant);
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
