#include "jit/fma.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Operator.h"

namespace slipway {
namespace {

// `value` as a product that may be fused away, else null. The product of -a and b counts, too: InstCombine writes
// c - a * b as c + (-a) * b or as a subtraction, as it pleases.
llvm::BinaryOperator* ProductOf(llvm::Value* value) {
  auto* product = llvm::dyn_cast<llvm::BinaryOperator>(value);
  if (product == nullptr || product->getOpcode() != llvm::Instruction::FMul) return nullptr;
  return product->hasAllowContract() && product->hasOneUse() ? product : nullptr;
}

// The fma that does the work of `sum`, made before it; null where nothing can be fused.
llvm::Value* Fuse(llvm::BinaryOperator& sum) {
  const bool subtracts = sum.getOpcode() == llvm::Instruction::FSub;
  llvm::Value *left = sum.getOperand(0), *right = sum.getOperand(1);
  llvm::IRBuilder<> b(&sum);
  auto fma = [&](llvm::Value* x, llvm::Value* y, llvm::Value* z) {
    return b.CreateIntrinsic(llvm::Intrinsic::fma, {sum.getType()}, {x, y, z});
  };
  if (llvm::BinaryOperator* product = ProductOf(left)) {
    return fma(product->getOperand(0), product->getOperand(1), subtracts ? b.CreateFNeg(right) : right);
  }
  if (llvm::BinaryOperator* product = ProductOf(right)) {
    llvm::Value* x = product->getOperand(0);
    return fma(subtracts ? b.CreateFNeg(x) : x, product->getOperand(1), left);
  }
  return nullptr;
}

}  // namespace

llvm::PreservedAnalyses FmaPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    if (!contract_) break;
    auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
    if (sum == nullptr || (sum->getType()->getScalarType()->isBFloatTy() && !bfloat16_)) continue;
    const bool adds = sum->getOpcode() == llvm::Instruction::FAdd || sum->getOpcode() == llvm::Instruction::FSub;
    if (!adds || !sum->hasAllowContract()) continue;
    llvm::Value* left = sum->getOperand(0);
    llvm::Value* right = sum->getOperand(1);
    llvm::Value* fused = Fuse(*sum);
    if (fused == nullptr) continue;
    sum->replaceAllUsesWith(fused);
    sum->eraseFromParent();
    for (llvm::Value* operand : {left, right}) {
      auto* product = llvm::dyn_cast<llvm::BinaryOperator>(operand);
      // Products stand before their use, so erasing one cannot be the instruction that the walk goes to next.
      if (product != nullptr && product->use_empty()) product->eraseFromParent();
    }
  }
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (llvm::isa<llvm::FPMathOperator>(instruction)) instruction.setHasAllowContract(false);
  }
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace slipway
