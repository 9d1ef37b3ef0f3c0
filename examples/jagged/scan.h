// Prefix sums on the device: what turns counts into offsets, and flags into places.
#ifndef SLIPWAY_EXAMPLES_JAGGED_SCAN_H_
#define SLIPWAY_EXAMPLES_JAGGED_SCAN_H_

#include "examples/jagged/call.h"
#include "slipway/arg.h"

namespace slipway::jagged {

// Queues: sums[i] becomes the sum of what was in sums[0] to sums[i - 1], for n + 1 int64 elements of which the last
// need not be set before, and becomes the sum of all. In place, in 1 launch up to 2,048 elements, else in 3 for each
// factor of 2,048: tiles by themselves, the tiles' sums (by the same function), their addition.
void ExclusiveScan(Call& call, const Arg& sums);

}  // namespace slipway::jagged

#endif  // SLIPWAY_EXAMPLES_JAGGED_SCAN_H_
