// What LLVM's passes leave in a form that they like, and that the hardware does in more steps than another.
#ifndef SLIPWAY_JIT_PEEPHOLE_H_
#define SLIPWAY_JIT_PEEPHOLE_H_

#include "llvm/IR/PassManager.h"

namespace slipway {

// Runs last but for contraction: an InstCombine after it would undo it.
//
//   gep(gep(p, a), b)                    becomes gep(p, a + b), where the sum costs nothing: the instruction that
//                                        multiplies an index by its stride adds another for free
//   constants in addresses               are added where memory is accessed
//   the upper half of a 64-bit product   becomes mulhi, where both factors fit 32 bits: InstCombine makes such factors
//   of
//                                        64-bit numbers a mask, in which the back end sees no 32-bit factor any more
struct PeepholePass : llvm::PassInfoMixin<PeepholePass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace slipway

#endif  // SLIPWAY_JIT_PEEPHOLE_H_
