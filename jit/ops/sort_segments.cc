#include "jit/ops/sort_segments.h"

#include <algorithm>
#include <optional>

#include "driver/status_macros.h"
#include "jit/ops/kept_kernel.h"
#include "jit/ops/sort_digits.h"
#include "jit/ops/sort_keys.h"
#include "jit/ops/sort_rows.h"
#include "slipway/array.h"
#include "slipway/embedded.h"
#include "slipway/launch_config.h"

namespace slipway::sort {
namespace {

// Lists the segments that are not short: those for a block each in `middle`, and, where there can be longer ones, these
// and their tiles.
const GenericKernel& ListSegments() {
  static const GenericKernel& kernel = Kept(MakeGenericKernel(
      "sort_list_segments", [](AnyArrayVar middle, auto list, auto owners, auto offsets, Index segments, Index length) {
        For(GridStride(segments), [&](const Index& s) {
          const RowRange range = RangeOfRow</*kSegments=*/true>(offsets, s, length);
          const Index size = range.end - range.begin;
          If(size > kShortRow && size <= kBlockRow, [&] {
            const Index slot = Cast<int64_t>(AtomicAdd(middle[0], 1)) + 1;
            If(slot < middle.size(), [&] { middle[slot] = s; });
          });
          if (!list.is_array()) return;
          If(size > kBlockRow, [&] {
            const AnyArrayVar all = list, owner = owners;
            const Index tiles = TilesOf(size);
            const Index number = Cast<int64_t>(AtomicAdd(all[kSegmentCount], 1));
            const Index first_tile = Cast<int64_t>(AtomicAdd(all[kTileCount], tiles));
            // There is room for all, unless offsets fall.
            const Index at = kHeader + kFields * number;
            If(at + kFields <= all.size() && first_tile + tiles <= owner.size(), [&] {
              all[at] = range.begin;
              all[at + 1] = size;
              all[at + 2] = first_tile;
              For(Range(tiles), [&](const Index& t) { owner[first_tile + t] = Cast(owner.dtype(), number); });
            });
          });
        });
      }));
  return kernel;
}

const AnyArrayView* ViewOrNull(const std::optional<AnyArray>& array) {
  return array.has_value() ? &array->view() : nullptr;
}

}  // namespace

absl::Status QueueSegments(const Stream& stream, const Task& task) {
  SLIPWAY_RETURN_IF_ERROR(QueueShort(stream, task));
  if (task.length <= kShortRow) return absl::OkStatus();
  // So many of each there can be at most. Lists are zeros at first.
  const int64_t middle_most = std::min(task.rows, task.length / (kShortRow + 1));
  const int64_t long_most = std::min(task.rows, task.length / (kBlockRow + 1));
  const int64_t tiles_most = task.length / kTile + long_most;
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray middle, AnyArray::Zeros(stream, DType::kInt64, {1 + middle_most}));
  std::optional<AnyArray> list, owners;
  if (long_most > 0) {
    SLIPWAY_ASSIGN_OR_RETURN(list, AnyArray::Zeros(stream, DType::kInt64, {kHeader + kFields * long_most}));
    SLIPWAY_ASSIGN_OR_RETURN(owners, AnyArray::Zeros(stream, DType::kInt32, {tiles_most}));
  }
  SLIPWAY_RETURN_IF_ERROR(ListSegments().Launch(
      stream, ForSize(task.rows),
      {middle, ArrayOrNone(ViewOrNull(list)), ArrayOrNone(ViewOrNull(owners)), *task.offsets, task.rows, task.length}));
  SLIPWAY_RETURN_IF_ERROR(QueueBlocks(stream, task, &middle.view(), middle_most));
  if (long_most == 0) return absl::OkStatus();
  return QueueLong(stream, task,
                   {.rows = long_most,
                    .tiles = tiles_most,
                    .tiles_of_row = TilesOf(task.length),
                    .list = ViewOrNull(list),
                    .owners = ViewOrNull(owners)});
}

}  // namespace slipway::sort
