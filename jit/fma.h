// Contraction to fused multiply-add.
#ifndef SLIPWAY_JIT_FMA_H_
#define SLIPWAY_JIT_FMA_H_

#include "llvm/IR/PassManager.h"

namespace slipway {

// Turns a * b + c, a * b - c and c - a * b into llvm.fma where both operations carry the `contract` flag, the product
// has no other use, and the target has the instruction for their type; then takes that flag off every instruction of
// the function.
//
// Done here, on the IR that is final but for code generation, and not left to the back end or to ptxas: the PTX then
// says which operations are fused, and every device that runs it gets the same bits.
struct FmaPass : llvm::PassInfoMixin<FmaPass> {
  // `contract`: whether anything is fused, or flags are only taken off. `bfloat16`: whether bfloat16 has an fma.
  FmaPass(bool contract, bool bfloat16) : contract_(contract), bfloat16_(bfloat16) {}
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);

 private:
  bool contract_, bfloat16_;
};

}  // namespace slipway

#endif  // SLIPWAY_JIT_FMA_H_
