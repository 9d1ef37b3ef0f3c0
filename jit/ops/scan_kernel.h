// Kernels of reductions that run along the elements of a loop: what each element has of its row so far.
#ifndef SLIPWAY_JIT_OPS_SCAN_KERNEL_H_
#define SLIPWAY_JIT_OPS_SCAN_KERNEL_H_

#include "absl/status/status.h"
#include "jit/ops/element_writer.h"

namespace slipway::elementwise {

// How many neighbouring elements a thread of kScanTiles goes through, and a block at once.
inline constexpr int kScanItems = 8;
inline constexpr int kScanTile = kScanItems * kTeam;

// The body of a kernel of one of these kinds, and its further parameters: where rows are segments their offsets, and
// the number of rows; else that, and the length of a row, of which the loop has one after the other. Then of
//   kScanRows   none: a thread for a row;
//   kScanSums   the number of blocks of a row, how many elements each of them takes, and the arrays of StatesOf, with
//   an
//               element a block, for what those are together;
//   kScanTiles  the same; without the arrays if not `carried`.
absl::Status WriteScan(ElementWriter& writer);

}  // namespace slipway::elementwise

#endif  // SLIPWAY_JIT_OPS_SCAN_KERNEL_H_
