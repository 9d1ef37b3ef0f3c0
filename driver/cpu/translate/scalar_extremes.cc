#include "driver/cpu/translate/scalar_extremes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

namespace slipway::cpu {

void PutScalarExtremesRight(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (call == nullptr || call->getType()->isVectorTy()) continue;
      const bool max = call->getIntrinsicID() == llvm::Intrinsic::maximumnum;
      if (!max && call->getIntrinsicID() != llvm::Intrinsic::minimumnum) continue;
      llvm::IRBuilder<> b(call);
      llvm::Value* const x = call->getArgOperand(0);
      llvm::Value* const y = call->getArgOperand(1);
      llvm::Value* const first = b.CreateSelect(b.CreateFCmpUNO(x, x), y, x);
      llvm::Value* const second = b.CreateSelect(b.CreateFCmpUNO(y, y), x, y);
      call->replaceAllUsesWith(
          b.CreateBinaryIntrinsic(max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, first, second));
      call->eraseFromParent();
    }
  }
}

}  // namespace slipway::cpu
