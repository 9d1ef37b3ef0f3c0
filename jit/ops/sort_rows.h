// Rows that are sorted by one launch: short ones by a few threads each, others in a block's shared memory.
#ifndef SLIPWAY_JIT_OPS_SORT_ROWS_H_
#define SLIPWAY_JIT_OPS_SORT_ROWS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "jit/ops/sort_kernels.h"
#include "slipway/stream.h"
#include "slipway/view.h"

namespace slipway::sort {

inline constexpr int64_t kShortRow = 128;
inline constexpr int64_t kBlockRow = 2048;

// Rows of at most kShortRow elements; of segments, those that are no longer.
absl::Status QueueShort(const Stream& stream, const Task& task);

// Rows of at most kBlockRow elements. Of segments, those that `list` (int64) names behind their number, of which there
// are at most `blocks`.
absl::Status QueueBlocks(const Stream& stream, const Task& task, const AnyArrayView* list, int64_t blocks);

}  // namespace slipway::sort

#endif  // SLIPWAY_JIT_OPS_SORT_ROWS_H_
