// Grid-stride loops inside kernels, turned inside out.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_INTERCHANGE_LOOPS_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_INTERCHANGE_LOOPS_H_

#include "llvm/IR/PassManager.h"

namespace slipway::cpu {

// A loop inside the kernel keeps LLVM from vectorising the loop over threads around it. Where it is the usual loop over
// a grid's stride, this pass interchanges the two. Neighbouring threads then work on neighbouring elements in the
// innermost loop, which vectorises:
//
//   for (t = 0; t != threads; ++t) for (i = base + t; i < n; i += stride) body(i);
//   for (first = base, m = threads; m != 0; first += stride) {
//     m = min(m, max(n - first, 0));                      // The threads that still run are the first m of the block.
//     for (t = 0; t != m; ++t) body(first + t);
//   }
//
// The test may be any comparison that holds for the first threads alone (i ascending or descending with t), and body
// may use further values that change by a fixed step. Threads are independent, so each sees its own iterations in order
// and nothing else. A loop that could tell the difference stays as it is: one with atomic or volatile accesses or
// calls, in a function with local memory (which all threads of a block share), with another exit, or with values that
// are carried otherwise.
//
// First + t may wrap inside a block; then the threads that pass are not the first. From that iteration on the original
// nest takes over, at run time. Needs loops in rotated form.
class InterchangeLoopsPass : public llvm::PassInfoMixin<InterchangeLoopsPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_INTERCHANGE_LOOPS_H_
