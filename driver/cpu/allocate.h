// Giving and taking memory, for whichever entry point.
#ifndef SLIPWAY_DRIVER_CPU_ALLOCATE_H_
#define SLIPWAY_DRIVER_CPU_ALLOCATE_H_

#include <cstddef>
#include <cstdint>

#include "driver/cpu/arena.h"
#include "driver/cpu/objects.h"

namespace slipway::cpu {

// Memory of a context, on its device; or of a pool, on the pool's device.
struct PoolRequest {
  uint64_t id = 0;
  int device = 0;
  size_t max_bytes = 0;  // That the pool may hold; 0: whatever there is.
};
// OUT_OF_MEMORY, or CONTEXT_IS_DESTROYED where another thread destroys it meanwhile.
CUresult AllocateIn(Context& context, size_t bytes, Arena::Kind kind, void** memory, const PoolRequest* pool = nullptr);

// cuMemFree and its kin: waits for the work of the context that owns it. INVALID_VALUE for what is no live allocation
// of that kind; managed memory counts as kDevice.
CUresult FreeNow(uintptr_t address, Arena::Kind kind);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_ALLOCATE_H_
