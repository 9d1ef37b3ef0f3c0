// Kernel IR to LLVM IR, before any optimisation. Part of Compile() (jit/compile.h).
#ifndef SLIPWAY_JIT_LOWER_H_
#define SLIPWAY_JIT_LOWER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/compile.h"
#include "jit/ir.h"

namespace llvm {
class Module;
}  // namespace llvm

namespace slipway {

struct Lowered {
  std::vector<std::string> math_symbols;  // Functions of the math library that were declared, each once.
  bool has_loops = false;
  bool unrolls = false;         // Whether a loop asks to be unrolled.
  bool has_neighbours = false;  // Whether an array is accessed at more than one place.
  bool has_vectors = false;     // Whether one is aligned for wide accesses, and nothing says which are wide.
};

// Adds `kernel` to `module` as an entry of its name. options.math is kLibdevice or kLibclc and only gives the names by
// which math functions are called. UNIMPLEMENTED, with the place in the source, for an operation on a type that is not
// supported.
//
// Parameters follow jit/compile.h's ABI: a scalar as itself, an array as its struct by value. No aliasing is promised:
// arrays may overlap.
absl::StatusOr<Lowered> LowerToLlvm(const ir::Kernel& kernel, const Target& target, const CompileOptions& options,
                                    llvm::Module& module);

}  // namespace slipway

#endif  // SLIPWAY_JIT_LOWER_H_
