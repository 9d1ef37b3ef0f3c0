// Segments of any lengths, each sorted in the way that is right for it, which the device decides.
#ifndef SLIPWAY_JIT_OPS_SORT_SEGMENTS_H_
#define SLIPWAY_JIT_OPS_SORT_SEGMENTS_H_

#include "absl/status/status.h"
#include "jit/ops/sort_kernels.h"
#include "slipway/stream.h"

namespace slipway::sort {

absl::Status QueueSegments(const Stream& stream, const Task& task);

}  // namespace slipway::sort

#endif  // SLIPWAY_JIT_OPS_SORT_SEGMENTS_H_
