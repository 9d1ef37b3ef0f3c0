// Vectors of numbers that grow evenly, put together from scalars by the vectoriser.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_BUILD_VECTORS_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_BUILD_VECTORS_H_

#include "llvm/IR/PassManager.h"

namespace slipway::cpu {

// On processors whose gathers are slow LLVM's vectoriser computes whatever an address depends on as scalars. Where the
// same number is also a value (an index that is kept, or compared), it inserts them one by one into a vector. This pass
// makes such a vector of the first number: a broadcast and one addition.
//
//   {i, i + 1, .., i + 7}, eight additions and insertions  ->  broadcast(i) + {0, 1, .., 7}
class BuildVectorsPass : public llvm::PassInfoMixin<BuildVectorsPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_BUILD_VECTORS_H_
