// Masks for the last turn of a vectorised loop only.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_MASK_LAST_TURN_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_MASK_LAST_TURN_H_

#include "llvm/IR/PassManager.h"

namespace slipway::cpu {

// Where LLVM's vectoriser covers the last threads of a loop by masks, it masks every turn, though only the last one
// needs it. Masks cost next to nothing in the cache; but a processor does not fetch ahead for masked loads (on AMD's
// Zen 5 a stencil over 40 MB takes 1.8 times as long). This pass takes the full turns to a loop of their own, without
// masks.
//
//   for (i = 0; i < round_up(n, 16); i += 16) mask(i .. i + 15 < n): body
//   ->
//   for (i = 0; i < round_down(n, 16); i += 16) body
//   if (i < n) mask(i .. i + 15 < n): body
class MaskLastTurnPass : public llvm::PassInfoMixin<MaskLastTurnPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_MASK_LAST_TURN_H_
