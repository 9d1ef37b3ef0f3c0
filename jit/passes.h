// The optimisation passes between lowering and code generation.
#ifndef SLIPWAY_JIT_PASSES_H_
#define SLIPWAY_JIT_PASSES_H_

#include "slipway/compile_options.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace slipway {

// What of the passes a kernel has use for.
struct KernelShape {
  bool has_loops = false;       // Kernels without loops need a good half of the passes.
  bool unrolls = false;         // A loop asks to be unrolled.
  bool has_calls = false;       // Of math library functions, to be inlined.
  bool has_neighbours = false;  // An array is accessed at several places, whose addresses may have much in common.
  bool has_vectors = false;     // One is aligned for wide accesses, and nothing says which are wide.
  bool packs_halves = false;    // It computes with 16-bit floats that come or go several at once.
};

// Optimises `module` in place as far as options.opt_level says, and contracts to FMA at every level (jit/fma.h).
void Optimize(llvm::Module& module, llvm::TargetMachine& machine, const KernelShape& shape,
              const CompileOptions& options);

}  // namespace slipway

#endif  // SLIPWAY_JIT_PASSES_H_
