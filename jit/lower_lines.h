// Which line of its source an instruction comes from, in LLVM IR: what becomes .file and .loc in PTX.
#ifndef SLIPWAY_JIT_LOWER_LINES_H_
#define SLIPWAY_JIT_LOWER_LINES_H_

#include <vector>

#include "jit/ir.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/DebugLoc.h"

namespace slipway {

// Only lines: no variables and no types, so that the code is what it is without.
class LineLowering {
 public:
  // Describes `function`, the kernel. Both outlive this.
  LineLowering(const ir::Kernel& kernel, llvm::Module& module, llvm::Function& function);

  // The place of an instruction; none where it is unknown.
  llvm::DebugLoc At(const ir::Location& location);
  // To be called once, when all instructions have their places.
  void Finish() { builder_.finalize(); }

 private:
  llvm::DIBuilder builder_;
  llvm::DISubprogram* kernel_ = nullptr;
  std::vector<llvm::DIFile*> files_;
  std::vector<llvm::DIScope*> scopes_;  // The kernel's part that is in each file.
};

}  // namespace slipway

#endif  // SLIPWAY_JIT_LOWER_LINES_H_
