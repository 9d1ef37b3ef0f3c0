// Copies between arrays of any strides on one device.
#ifndef SLIPWAY_LAUNCH_STRIDED_COPY_H_
#define SLIPWAY_LAUNCH_STRIDED_COPY_H_

#include "absl/status/status.h"
#include "slipway/stream.h"
#include "slipway/view.h"

namespace slipway::internal {

// Queues the copy of `from` into `to`: of one shape and dtype, not overlapping, on the stream's device, which is all
// believed.
absl::Status QueueStridedCopy(const Stream& stream, const AnyArrayView& to, const AnyArrayView& from);

}  // namespace slipway::internal

#endif  // SLIPWAY_LAUNCH_STRIDED_COPY_H_
