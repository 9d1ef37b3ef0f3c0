// `if (i < n)` around a kernel's body as a bound of the loop over threads.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_TIGHTEN_THREAD_LOOP_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_TIGHTEN_THREAD_LOOP_H_

#include "llvm/IR/PassManager.h"

namespace slipway::cpu {

// Nearly every kernel begins with `if (i >= n) return`, i being the block's first index plus the thread's. Vectorised
// as it stands, that masks every access, and masked stores cost twice the time. The threads that pass are the first
// ones of the block, so this pass shortens the loop instead:
//
//   for (t = 0; t != threads; ++t) if (base + t < n) body(t);
//   for (t = 0; t != min(max(n - base, 0), threads); ++t) body(t);
//
// Where base + t can wrap (32-bit indices), a copy of the loop as it was stays for that case. Needs loops in rotated
// form, and leaves them in it.
class TightenThreadLoopPass : public llvm::PassInfoMixin<TightenThreadLoopPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_TIGHTEN_THREAD_LOOP_H_
