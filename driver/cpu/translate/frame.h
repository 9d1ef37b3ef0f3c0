// What the functions around a kernel's body have in common.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_FRAME_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_FRAME_H_

#include <cstdint>

#include "driver/cpu/translate/emitter.h"
#include "driver/cpu/translate/module_translator.h"

namespace slipway::cpu {

// What all translated code has. Frames touch each of their pages in order: one that is larger than a guard page cannot
// step over it into what lies behind the stack.
void SetTranslatedAttributes(llvm::Function* function);

// A function that seldom runs: it is not worth more of LLVM's time than takes registers out of memory.
void SetSeldomRuns(llvm::Function* function);
bool SeldomRuns(const llvm::Function& function);

// Of the argument that is the launch buffer: nobody writes it and it may be read at any time, so that every read moves
// out of the loops.
void SetParamsAttributes(llvm::Function* function, unsigned argument, uint64_t bytes);

// Of the argument that is the block's shared memory, of which so many bytes are there whatever the launch: what lies at
// a place in them that is known may be read before a branch that guards it.
void SetSharedAttributes(llvm::Function* function, unsigned argument, uint64_t bytes);

// Reads the sizes of block and grid; thread.launch is set.
void ReadLaunchDimensions(llvm::IRBuilder<>& b, ThreadContext& thread);

// The metadata of a loop over threads that are independent of each other: along x, where it is to be vectorised (and
// not unrolled before that: of a short loop nothing would be left), or another axis.
enum class ThreadAxis : uint8_t { kX, kOther, kLanes };
llvm::MDNode* ThreadLoopMetadata(const ModuleTranslation& module, llvm::LLVMContext& context, ThreadAxis axis);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_FRAME_H_
