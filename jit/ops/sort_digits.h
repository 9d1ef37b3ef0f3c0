// Rows of any length, sorted by digits of 8 bits, the least significant ones first, in tiles that all blocks share.
#ifndef SLIPWAY_JIT_OPS_SORT_DIGITS_H_
#define SLIPWAY_JIT_OPS_SORT_DIGITS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "jit/ops/sort_kernels.h"
#include "slipway/stream.h"
#include "slipway/view.h"

namespace slipway::sort {

inline constexpr int64_t kTile = 4096;  // Elements.
// A number, or one in a kernel.
template <class N>
constexpr N TilesOf(const N& elements) {
  return (elements + (kTile - 1)) / kTile;
}

// A list of long segments, int64: how many there are, how many tiles they have, then of each where it begins, its
// length, and its first tile. What is not listed is zero, and an empty segment.
inline constexpr int64_t kSegmentCount = 0, kTileCount = 1, kHeader = 2, kFields = 3;

struct LongRows {
  int64_t rows = 0;   // For segments, at most, and so are the others.
  int64_t tiles = 0;  // Of all.
  int64_t tiles_of_row = 0;
  const AnyArrayView* list = nullptr;    // Of segments.
  const AnyArrayView* owners = nullptr;  // Which of the list each tile belongs to; int32.
};

absl::Status QueueLong(const Stream& stream, const Task& task, const LongRows& of);

}  // namespace slipway::sort

#endif  // SLIPWAY_JIT_OPS_SORT_DIGITS_H_
