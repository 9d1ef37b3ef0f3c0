// LLVM IR that is optimised to PTX text.
#ifndef SLIPWAY_JIT_EMIT_PTX_H_
#define SLIPWAY_JIT_EMIT_PTX_H_

#include <string>

#include "absl/status/status.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace slipway {

// Writes the module, which is spent after that.
//
// The back end's own passes on IR are half of what it costs and do little for a kernel that jit/passes.cc has been
// through: the loop strength reduction among them makes kernels longer. So they are left out, but for what is needed
// for correct code, unless the module has memory of a thread or functions of its own, whose address spaces they find.
absl::Status EmitPtx(llvm::Module& module, llvm::TargetMachine& machine, std::string* ptx);

}  // namespace slipway

#endif  // SLIPWAY_JIT_EMIT_PTX_H_
