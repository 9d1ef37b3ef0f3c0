// What tests look at behind the CPU device's handles.
#ifndef SLIPWAY_DRIVER_CPU_TESTING_H_
#define SLIPWAY_DRIVER_CPU_TESTING_H_

#include <cstdint>
#include <string>

#include "slipway/driver_api.h"

namespace slipway::cpu {

// The text that a module was loaded from, byte for byte; empty for a handle that names no module.
std::string LoadedPtxForTesting(CUmodule module);

class ObjectCache;
// The cache of translated code. After Init.
ObjectCache& ObjectCacheForTesting();

// How long what is queued when a context is destroyed has to finish before it is ended. Of all contexts, from now on.
void SetTimeToFinishForTesting(int64_t milliseconds);

// How many modules, functions, streams and events are alive, in all contexts.
size_t LiveHandlesForTesting();

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TESTING_H_
