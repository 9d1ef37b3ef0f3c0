// Vectors that are loaded only to be taken apart.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_LOAD_ELEMENTS_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_LOAD_ELEMENTS_H_

#include "llvm/IR/PassManager.h"

namespace slipway::cpu {

// Where a loop over threads gathers (table[index[t]]), LLVM's vectoriser loads the indices as a vector and takes them
// out of it one by one. To load each by itself is an instruction where that is two or three.
//
//   v = load <8 x i32>; w = sext v to <8 x i64>; extract w, 0; ..; extract w, 7  ->  eight loads and widenings
class LoadElementsPass : public llvm::PassInfoMixin<LoadElementsPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_LOAD_ELEMENTS_H_
