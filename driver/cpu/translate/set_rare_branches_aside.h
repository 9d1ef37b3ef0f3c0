// Branches of a loop over threads that few threads take, and that would keep it from being vectorised.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_SET_RARE_BRANCHES_ASIDE_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_SET_RARE_BRANCHES_ASIDE_H_

#include "llvm/IR/PassManager.h"

namespace slipway::cpu {

// A kernel that reports what is wrong does so in a branch with atomics, fences, volatile stores or calls, which have no
// form for vectors. This pass finds out, for a portion of threads at a time, whether any of them would come there:
//
//   for (t = 0; t != threads; ++t) { if (!(x[t] > 0)) report(t); else y[t] = log(x[t]); }
//   for (from = 0; from != threads; from = to) {
//     to = min(from + 256, threads);
//     for (t = from; t != to; ++t) comes[t - from] = !(x[t] > 0);           // As the body, without what it stores.
//     if (none of comes) for (t = from; t != to; ++t) y[t] = log(x[t]);
//     else for (t = from; t != to; ++t) { if (!(x[t] > 0)) report(t); else y[t] = log(x[t]); }
//   }
//
// Threads are independent, so what one loads before it branches is the same whether others have stored or not; loops in
// which it may load what it has stored itself stay as they are. Needs loops in rotated form, and leaves them in it.
class SetRareBranchesAsidePass : public llvm::PassInfoMixin<SetRareBranchesAsidePass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_SET_RARE_BRANCHES_ASIDE_H_
