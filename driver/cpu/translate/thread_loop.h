// The innermost loop around a kernel's body, over the threads of a block along x.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_THREAD_LOOP_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_THREAD_LOOP_H_

#include <optional>

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Instructions.h"

namespace slipway::cpu {

// An entry of the loop's metadata: its iterations are threads, which are independent of each other.
inline constexpr char kThreadLoopMark[] = "slipway.threads";

// for (t = 0; t != bound; ++t), tested at the end.
struct ThreadLoop {
  llvm::PHINode* index = nullptr;
  llvm::ICmpInst* exit_test = nullptr;  // Of index + 1 (operand 0) with the bound (operand 1); of no other use.
  llvm::Value* bound = nullptr;
};

// Of any loop that counts so and leaves at its latch alone, with no value of the loop used behind it through a phi.
std::optional<ThreadLoop> MatchThreadLoop(const llvm::Loop& loop);

// Whether anything behind a loop uses a value that it computes.
bool IsUsedBehind(const llvm::Loop& loop);

// A loop's metadata for a copy of it, and more entries.
llvm::MDNode* CopyOfLoopId(const llvm::MDNode& id, llvm::ArrayRef<llvm::Metadata*> more = {});

// Makes a copy of a thread loop, of which these are parts, count from 0 to `count`. Everything but its counting sees
// the thread's own number, which is `from` more.
void CountFrom(llvm::PHINode* index, llvm::ICmpInst* exit_test, llvm::Value* from, llvm::Value* count);

// For a copy that seldom runs: not worth the time that vectorising and unrolling it would take.
void KeepScalar(llvm::Loop& loop);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_THREAD_LOOP_H_
