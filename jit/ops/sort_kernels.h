// The kernels of sorts, over packed arrays of one dimension: rows of one length, or segments of any.
//
// By length: up to kShortRow elements are put in their places by counting, a few threads a row; up to kBlockRow a block
// sorts in its shared memory, by the same and then by merging; what is longer is sorted by least significant digits of
// 8 bits first, in tiles of kTile elements. Which it is for a segment is decided on the device.
#ifndef SLIPWAY_JIT_OPS_SORT_KERNELS_H_
#define SLIPWAY_JIT_OPS_SORT_KERNELS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "slipway/stream.h"
#include "slipway/view.h"

namespace slipway::sort {

inline constexpr int64_t kShortRow = 128;
inline constexpr int64_t kBlockRow = 2048;
inline constexpr int64_t kTile = 4096;

// What is to be sorted. All arrays are contiguous, of one dimension and of one size; outputs overlap nothing.
struct Task {
  AnyArrayView keys;
  DType dtype = keys.dtype();             // Whose order it is; `keys` may be seen as another.
  const AnyArrayView* sorted = nullptr;   // The keys in their order; null where they are not wanted.
  const AnyArrayView* order = nullptr;    // Their positions, in the row or in all of `keys`; int32 or int64, or null.
  const AnyArrayView* offsets = nullptr;  // Of segments; null for rows.
  int64_t rows = 0;                       // Or segments.
  int64_t length = 0;                     // Of a row, or of all segments together.
  bool descending = false;
  int begin_bit = 0, end_bit = 0;
};

absl::Status Queue(const Stream& stream, const Task& task);

// to[r * length + i] = from[r * length + order[r * length + i]]
absl::Status QueueGather(const Stream& stream, const AnyArrayView& to, const AnyArrayView& from,
                         const AnyArrayView& order, int64_t length);

}  // namespace slipway::sort

#endif  // SLIPWAY_JIT_OPS_SORT_KERNELS_H_
