// Loops inside a kernel whose turns wait for each other, run for several threads at a time.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_WIDEN_THREAD_LOOP_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_WIDEN_THREAD_LOOP_H_

#include "llvm/IR/PassManager.h"

namespace slipway::cpu {

// LLVM vectorises innermost loops alone, and not one that adds up floats, whose order counts. So a thread that sums
// over a row, a window or a column takes an addition's latency for each element. This pass runs eight neighbouring
// threads side by side instead, as vectors that go round the inner loops together:
//
//   for (t = 0; t != threads; ++t) { sum = 0; for (k = 0; k != n; ++k) sum += a[k] * x[k * m + t]; y[t] = sum; }
//   for (t = 0; t + 8 <= threads; t += 8) {
//     sum[8] = 0; for (k = 0; k != n; ++k) sum[0..7] += a[k] * x[k * m + t .. + 7]; y[t .. t + 7] = sum[0..7];
//   }
//   for (; t != threads; ++t) ...                         // The loop as it was.
//
// That is done where all threads go the same way: each branch in the body hangs on what is the same for all. What grows
// evenly from thread to thread is computed for the first of the eight alone, and what lies at neighbouring addresses is
// loaded and stored at once. An index that wraps as it is widened to an address is compared for each time; where one
// does among the eight, they run in the loop as it was. Threads are independent, so each sees its own accesses in order
// and nothing else. A loop that could tell the difference stays as it is: one with atomic or volatile accesses or calls
// that touch memory, or in a function with local memory (which all threads of a block share).
//
// Needs loops that have a preheader.
class WidenThreadLoopPass : public llvm::PassInfoMixin<WidenThreadLoopPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_WIDEN_THREAD_LOOP_H_
