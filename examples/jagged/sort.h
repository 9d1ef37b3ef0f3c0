// Sorting within segments on the device.
#ifndef SLIPWAY_EXAMPLES_JAGGED_SORT_H_
#define SLIPWAY_EXAMPLES_JAGGED_SORT_H_

#include <cstdint>

#include "examples/jagged/call.h"
#include "slipway/arg.h"
#include "slipway/array.h"

namespace slipway::jagged {

// Queues a stable sort of positions by keys, within each segment: order[p], of `count` int64 elements, becomes the
// position whose key comes to position p. `offsets` are int64, `segments` + 1 of them, non-decreasing; positions
// outside of them stay where they are. NaN comes first in both directions.
//
// Merges runs of 1, 2, 4, ... elements in one launch each, in which every element finds its place by a binary search:
// log2(count) launches, whatever the segments are.
const AnyArray& SortSegments(Call& call, const Arg& keys, const Arg& offsets, int64_t segments, int64_t count,
                             bool ascending);

}  // namespace slipway::jagged

#endif  // SLIPWAY_EXAMPLES_JAGGED_SORT_H_
