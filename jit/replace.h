// What passes that replace instructions by better values have in common.
#ifndef SLIPWAY_JIT_REPLACE_H_
#define SLIPWAY_JIT_REPLACE_H_

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Analysis.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instruction.h"
#include "llvm/IR/ValueHandle.h"
#include "llvm/Transforms/Utils/Local.h"

namespace slipway {

// Replaces each instruction, in order, by what `make_better()`, called anew for each block, gives for it, unless that
// is null; then deletes what nobody uses any more. Control flow stays as it is.
template <class MakeBetter>
llvm::PreservedAnalyses ReplaceInstructions(llvm::Function& function, const MakeBetter& make_better) {
  llvm::SmallVector<llvm::WeakTrackingVH, 16> replaced;
  for (llvm::BasicBlock& block : function) {
    auto better = make_better();
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
      llvm::Value* const value = better(instruction);
      if (value == nullptr) continue;
      instruction.replaceAllUsesWith(value);
      replaced.push_back(&instruction);
    }
  }
  llvm::RecursivelyDeleteTriviallyDeadInstructionsPermissive(replaced);
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace slipway

#endif  // SLIPWAY_JIT_REPLACE_H_
