// Branches in the body of a loop over threads that only the first, the last or some threads in between take, and rows
// that threads are divided into.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_SPLIT_THREAD_LOOP_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_SPLIT_THREAD_LOOP_H_

#include "llvm/IR/PassManager.h"

namespace slipway::cpu {

// A store that a branch guards becomes a masked one when the loop is vectorised, which costs several times as much, or
// many times, as on AMD's processors. But where the branch compares numbers that grow or fall by one from thread to
// thread, it goes the same way for a whole range of threads, most often for all of them: 0 < x && x < width - 1, t <
// half, i + stride < n. So this pass runs the loop range by range, in a version for each outcome that has no branch
// left:
//
//   for (t = 0; t != threads; ++t) if (0 < x + t && x + t < last) body(t);
//   for (from = 0; from != threads; from = to) {
//     to = the first thread after `from` for which a comparison comes out differently, or `threads`;
//     if (0 < x + from && x + from < last) for (t = from; t != to; ++t) body(t);
//   }
//
// Numbers that wrap begin a new range. The lanes of a warp, of which there are few and always as many, are not shared
// out: all that go one way run in the version for it, those that part in the loop as it was. Needs loops in rotated
// form, and leaves them in it.
//
// Where such a number is divided by what all threads share, as row = i / width and column = i % width, a range is what
// lies in one row: the row is the same for all of its threads, and the column grows by one. Short rows, as seen at run
// time, are left to the loop as it was.
//
// Where masks cost next to nothing (AVX-512), the vectors of a range cover its last threads, too.
class SplitThreadLoopPass : public llvm::PassInfoMixin<SplitThreadLoopPass> {
 public:
  explicit SplitThreadLoopPass(bool masks_are_cheap) : masks_are_cheap_(masks_are_cheap) {}
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);

 private:
  bool masks_are_cheap_;
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_SPLIT_THREAD_LOOP_H_
