// The kernels of sorts, over packed arrays of one dimension: rows of one length, or segments of any.
//
// By length: a few threads a row put short ones in order (sort_rows.h), a block sorts longer ones in its shared memory,
// and what is longer than that is sorted by digits in tiles (sort_digits.h). Which it is for a segment is decided on
// the device (sort_segments.h).
#ifndef SLIPWAY_JIT_OPS_SORT_KERNELS_H_
#define SLIPWAY_JIT_OPS_SORT_KERNELS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "slipway/stream.h"
#include "slipway/view.h"

namespace slipway::sort {

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

// Writes it to each place of `order`, of which a sort of segments leaves those in no segment.
inline constexpr int64_t kNoPosition = -1;
absl::Status QueueNoPositions(const Stream& stream, const AnyArrayView& order);

// to[r * length + i] = from[r * length + order[r * length + i]], where that is a position and not kNoPosition.
absl::Status QueueGather(const Stream& stream, const AnyArrayView& to, const AnyArrayView& from,
                         const AnyArrayView& order, int64_t length);

}  // namespace slipway::sort

#endif  // SLIPWAY_JIT_OPS_SORT_KERNELS_H_
