// What LLVM 22 gets wrong about minimumnum and maximumnum.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_SCALAR_EXTREMES_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_SCALAR_EXTREMES_H_

#include "llvm/IR/Module.h"

namespace slipway::cpu {

// Puts minimum and maximum, of operands that are a NaN only where both are, in the places of scalar calls of minimumnum
// and maximumnum. Of those whose one operand is known to be a number, x86's code generator with AVX-512 DQ takes the
// other one where that is a NaN (LowerFMINIMUM_FMAXIMUM orders the operands of vmaxss as for maximum). Vectors come
// right, so this is for what is left after vectorizing.
void PutScalarExtremesRight(llvm::Module& module);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_SCALAR_EXTREMES_H_
