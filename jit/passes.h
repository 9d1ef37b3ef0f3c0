// The optimisation passes between lowering and code generation.
#ifndef SLIPWAY_JIT_PASSES_H_
#define SLIPWAY_JIT_PASSES_H_

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace slipway {

struct PassOptions {
  bool has_loops = false;  // Kernels without loops need a good half of the passes.
  bool unrolls = false;    // A loop asks to be unrolled.
  bool has_calls = false;  // Of math library functions, to be inlined.
};

// Optimises `module` in place, contraction to FMA included (jit/fma.h).
void Optimize(llvm::Module& module, llvm::TargetMachine& machine, const PassOptions& options);

}  // namespace slipway

#endif  // SLIPWAY_JIT_PASSES_H_
