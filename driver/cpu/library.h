// Libraries (CUlibrary): code that is loaded into contexts when it is used there.
#ifndef SLIPWAY_DRIVER_CPU_LIBRARY_H_
#define SLIPWAY_DRIVER_CPU_LIBRARY_H_

#include <memory>

#include "driver/cpu/objects.h"

namespace slipway::cpu {

// The module of a library in a context, loaded at the first call.
CUresult ModuleIn(Library& library, const std::shared_ptr<Context>& context, std::shared_ptr<Module>* module);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_LIBRARY_H_
