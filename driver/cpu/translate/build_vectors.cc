#include "driver/cpu/translate/build_vectors.h"

#include <vector>

#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/Local.h"

namespace slipway::cpu {
namespace {

using llvm::Value;

// Shorter vectors are as good as they are.
constexpr unsigned kLeastElements = 4;

// The elements, if `last` is the end of a chain of insertions, each used by the next alone, that sets all of them.
std::vector<Value*> ElementsOf(llvm::InsertElementInst* last) {
  auto* const type = llvm::dyn_cast<llvm::FixedVectorType>(last->getType());
  if (type == nullptr || !type->getElementType()->isIntegerTy() || type->getNumElements() < kLeastElements) return {};
  std::vector<Value*> elements(type->getNumElements());
  size_t found = 0;
  for (Value* at = last;;) {
    auto* const insertion = llvm::dyn_cast<llvm::InsertElementInst>(at);
    if (insertion == nullptr || (insertion != last && !insertion->hasOneUse())) break;
    auto* const index = llvm::dyn_cast<llvm::ConstantInt>(insertion->getOperand(2));
    if (index == nullptr || index->getZExtValue() >= elements.size()) return {};
    Value*& element = elements[index->getZExtValue()];
    if (element == nullptr) {
      element = insertion->getOperand(1);
      ++found;
    }
    at = insertion->getOperand(0);
  }
  return found == elements.size() ? elements : std::vector<Value*>();
}

// What each element is more than the first; empty if that is not known, or none is.
std::vector<llvm::Constant*> Growth(const std::vector<Value*>& elements, llvm::ScalarEvolution& evolution) {
  const llvm::SCEV* const first = evolution.getSCEV(elements[0]);
  std::vector<llvm::Constant*> growth;
  for (Value* element : elements) {
    const auto* const more =
        llvm::dyn_cast<llvm::SCEVConstant>(evolution.getMinusSCEV(evolution.getSCEV(element), first));
    if (more == nullptr) return {};
    growth.push_back(more->getValue());
  }
  return growth;
}

}  // namespace

llvm::PreservedAnalyses BuildVectorsPass::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  std::vector<llvm::InsertElementInst*> ends;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* const insertion = llvm::dyn_cast<llvm::InsertElementInst>(&instruction);
    if (insertion == nullptr) continue;
    if (insertion->hasOneUse() && llvm::isa<llvm::InsertElementInst>(insertion->user_back())) continue;
    ends.push_back(insertion);
  }
  if (ends.empty()) return llvm::PreservedAnalyses::all();
  auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  bool changed = false;
  for (llvm::InsertElementInst* end : ends) {
    const std::vector<Value*> elements = ElementsOf(end);
    if (elements.empty()) continue;
    const std::vector<llvm::Constant*> growth = Growth(elements, evolution);
    if (growth.empty()) continue;
    llvm::IRBuilder<> b(end);
    Value* const first = b.CreateVectorSplat(static_cast<unsigned>(elements.size()), elements[0]);
    end->replaceAllUsesWith(b.CreateAdd(first, llvm::ConstantVector::get(growth)));
    evolution.forgetValue(end);
    llvm::RecursivelyDeleteTriviallyDeadInstructions(end);
    changed = true;
  }
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace slipway::cpu
