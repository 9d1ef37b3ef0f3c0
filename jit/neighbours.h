// Addresses found from each other: of two that differ in a multiple of one value, the second is the first and that.
#ifndef SLIPWAY_JIT_NEIGHBOURS_H_
#define SLIPWAY_JIT_NEIGHBOURS_H_

#include "llvm/IR/PassManager.h"

namespace slipway {

// Of elements that lie a constant number of strides apart, all but the first of a block are found by adding strides
// instead of multiplying anew: in(row + 8, column) is in(row, column) and 8 strides, in(row + 16, column) that and the
// same 8 strides. Runs after an InstCombine, which brings constants to the outside of indices.
struct NeighboursPass : llvm::PassInfoMixin<NeighboursPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace slipway

#endif  // SLIPWAY_JIT_NEIGHBOURS_H_
