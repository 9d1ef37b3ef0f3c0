// Copies and fills of every shape, as the entry points ask for them.
#ifndef SLIPWAY_DRIVER_CPU_COPY_H_
#define SLIPWAY_DRIVER_CPU_COPY_H_

#include <cstddef>
#include <cstdint>

#include "driver/cpu/op.h"
#include "slipway/driver_api.h"

namespace slipway::cpu {

// What the caller says a pointer is. kAny: memory of the device where it is that, else memory of the host
// (CU_MEMORYTYPE_UNIFIED).
enum class Where : uint8_t { kHost, kDevice, kAny };

struct CopyEnd {
  Where where = Where::kAny;
  CUdeviceptr address = 0;
  size_t pitch = 0;  // Bytes from row to row, and from slice to slice.
  size_t slice_pitch = 0;
};
struct CopyShape {
  size_t bytes = 0;  // Of a row.
  size_t rows = 1;
  size_t slices = 1;
};

enum class CopyWait : uint8_t {
  kAsync,   // Waits only where pageable memory of the host makes it.
  kAlways,  // Returns when the copy is done, whatever memory it is.
  kSync,    // What synchronous calls do: the same, but for copies within devices, for which nobody waits.
};

// Queues a copy on a stream. On a capturing one nothing is waited for or staged: memory is read and written when the
// graph runs. INVALID_VALUE for memory that is not there.
CUresult Copy(const CopyEnd& to, const CopyEnd& from, const CopyShape& shape, CUstream stream, CopyWait wait);

// Queues a fill of `count` elements of `width` bytes (1, 2 or 4), in each of `rows` rows. kSync waits for memory that
// the host may touch.
CUresult Fill(CUdeviceptr to, size_t pitch, uint32_t value, uint32_t width, size_t count, size_t rows, CUstream stream,
              CopyWait wait);

// Makes an empty op the same copy or fill, for a graph: memory is read and written when that runs. It stays kNothing if
// there is nothing to do.
CUresult MakeCopy(const CopyEnd& to, const CopyEnd& from, const CopyShape& shape, Op* op);
CUresult MakeFill(CUdeviceptr to, size_t pitch, uint32_t value, uint32_t width, size_t count, size_t rows, Op* op);

// Before the synchronous forms of what can also be queued, which are not told apart further down.
CUresult BeforeSynchronousCall();

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_COPY_H_
