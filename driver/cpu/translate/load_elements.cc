#include "driver/cpu/translate/load_elements.h"

#include <vector>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

namespace slipway::cpu {
namespace {

using llvm::Value;

// The extractions, if the value is used for nothing else.
bool FindExtractions(Value& vector, std::vector<llvm::ExtractElementInst*>* found) {
  for (llvm::User* user : vector.users()) {
    auto* const extraction = llvm::dyn_cast<llvm::ExtractElementInst>(user);
    if (extraction == nullptr || !llvm::isa<llvm::ConstantInt>(extraction->getIndexOperand())) return false;
    found->push_back(extraction);
  }
  return !found->empty();
}

bool LoadOneByOne(llvm::LoadInst& load) {
  auto* const type = llvm::dyn_cast<llvm::FixedVectorType>(load.getType());
  if (type == nullptr || !load.isSimple() || !type->getElementType()->isIntegerTy() ||
      type->getScalarSizeInBits() % 8 != 0) {
    return false;
  }
  // Of the vector itself, or of what its elements are widened to.
  llvm::CastInst* const widened =
      load.hasOneUse() && (llvm::isa<llvm::SExtInst>(load.user_back()) || llvm::isa<llvm::ZExtInst>(load.user_back()))
          ? llvm::cast<llvm::CastInst>(load.user_back())
          : nullptr;
  std::vector<llvm::ExtractElementInst*> extractions;
  if (!FindExtractions(widened != nullptr ? *static_cast<Value*>(widened) : load, &extractions)) return false;
  if (extractions.size() > type->getNumElements()) return false;
  const uint64_t bytes = type->getScalarSizeInBits() / 8;
  for (llvm::ExtractElementInst* extraction : extractions) {
    const uint64_t i = llvm::cast<llvm::ConstantInt>(extraction->getIndexOperand())->getZExtValue();
    if (i >= type->getNumElements()) return false;
  }
  llvm::IRBuilder<> b(&load);
  for (llvm::ExtractElementInst* extraction : extractions) {
    const uint64_t i = llvm::cast<llvm::ConstantInt>(extraction->getIndexOperand())->getZExtValue();
    Value* const address = b.CreateConstGEP1_64(b.getInt8Ty(), load.getPointerOperand(), i * bytes);
    llvm::LoadInst* const element =
        b.CreateAlignedLoad(type->getElementType(), address, llvm::commonAlignment(load.getAlign(), i * bytes));
    element->copyMetadata(load, {llvm::LLVMContext::MD_access_group, llvm::LLVMContext::MD_invariant_load,
                                 llvm::LLVMContext::MD_alias_scope, llvm::LLVMContext::MD_noalias});
    extraction->replaceAllUsesWith(
        widened != nullptr ? b.CreateCast(widened->getOpcode(), element, extraction->getType()) : element);
    extraction->eraseFromParent();
  }
  if (widened != nullptr) widened->eraseFromParent();
  load.eraseFromParent();
  return true;
}

}  // namespace

llvm::PreservedAnalyses LoadElementsPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  std::vector<llvm::LoadInst*> loads;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) loads.push_back(load);
  }
  bool changed = false;
  for (llvm::LoadInst* load : loads) changed |= LoadOneByOne(*load);
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace slipway::cpu
