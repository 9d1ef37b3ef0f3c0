// Typed addresses from integer arithmetic.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_RECOVER_ADDRESSES_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_RECOVER_ADDRESSES_H_

#include "llvm/IR/PassManager.h"

namespace slipway::cpu {

// PTX addresses are sums of integers: a pointer from a parameter plus a scaled index. LLVM vectorises accesses whose
// address is a GEP on a pointer that does not change in the loop, so this pass rewrites `inttoptr (base + offset)` as
// `gep i8, (inttoptr base), offset` wherever it can tell which summand is the pointer: one that was a pointer, a value
// that was read from the kernel's parameters, or a module variable's address.
class RecoverAddressesPass : public llvm::PassInfoMixin<RecoverAddressesPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_RECOVER_ADDRESSES_H_
