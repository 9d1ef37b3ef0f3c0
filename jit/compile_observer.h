// Sees every kernel that this process compiles: for tests, which ask more of a kernel than the one who compiled it.
#ifndef SLIPWAY_JIT_COMPILE_OBSERVER_H_
#define SLIPWAY_JIT_COMPILE_OBSERVER_H_

#include <atomic>

#include "jit/compile.h"

namespace slipway {

// Called at the end of every Compile() that succeeds, on the thread that compiles, possibly on several at once. Must
// not call Compile().
using CompileObserver = void (*)(const ir::Kernel& kernel, const Target& target, const CompileOptions& options,
                                 const CompiledKernel& result);

// Null: nobody looks, which costs one load and a branch for each compilation.
inline std::atomic<CompileObserver> compile_observer = nullptr;

}  // namespace slipway

#endif  // SLIPWAY_JIT_COMPILE_OBSERVER_H_
