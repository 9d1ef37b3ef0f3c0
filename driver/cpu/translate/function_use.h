// What kernels do through the functions that they call.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_FUNCTION_USE_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_FUNCTION_USE_H_

#include "driver/cpu/ptx/module.h"
#include "driver/cpu/translate/flatten.h"

namespace slipway::cpu {

struct FunctionUse {
  bool prints = false;     // Calls vprintf;
  bool allocates = false;  // malloc or free;
  bool recurses = false;   // a function that it is in.
};

// Of a function and all that it may call. A call through a register may be of any function of the module.
FunctionUse UseOf(const ptx::Function& function, const FunctionsByName& functions);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_FUNCTION_USE_H_
