// Contraction to fused multiply-add.
#ifndef SLIPWAY_JIT_FMA_H_
#define SLIPWAY_JIT_FMA_H_

#include "llvm/IR/PassManager.h"

namespace slipway {

// Turns a * b + c, a * b - c and c - a * b in float32 and float64 into llvm.fma where both operations carry the
// `contract` flag and the product has no other use; then takes that flag off every instruction of the function.
//
// Done here, on the IR that is final but for code generation, and not left to the back end or to ptxas: the PTX then
// says which operations are fused, and every device that runs it gets the same bits. The 16-bit types are left alone:
// their operators are defined as rounding once each.
struct FmaPass : llvm::PassInfoMixin<FmaPass> {
  explicit FmaPass(bool contract) : contract_(contract) {}
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);

 private:
  bool contract_;  // Whether anything is fused, or flags are only taken off.
};

}  // namespace slipway

#endif  // SLIPWAY_JIT_FMA_H_
