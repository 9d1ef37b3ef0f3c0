#include "jit/ops/sort_kernels.h"

#include <optional>

#include "driver/status_macros.h"
#include "jit/ops/kept_kernel.h"
#include "jit/ops/sort_digits.h"
#include "jit/ops/sort_order.h"
#include "jit/ops/sort_rows.h"
#include "jit/ops/sort_segments.h"
#include "slipway/embedded.h"
#include "slipway/launch_config.h"

namespace slipway::sort {
namespace {

using Index = Expr<int64_t>;

const GenericKernel& Gather() {
  static const GenericKernel& kernel =
      Kept(MakeGenericKernel("sort_gather", [](AnyArrayVar to, AnyArrayVar from, AnyArrayVar order, Index length) {
        For(GridStride(to.size()), [&](const Index& i) {
          const Expr<int64_t> position = Cast<int64_t>(order[i]);
          If(position != kNoPosition, [&] { to[i] = from[i / length * length + position]; });
        });
      }));
  return kernel;
}

const GenericKernel& NoPositions() {
  static const GenericKernel& kernel = Kept(MakeGenericKernel("sort_no_positions", [](AnyArrayVar order) {
    For(GridStride(order.size()), [&](const Index& i) { order[i] = Cast(order.dtype(), Expr<int64_t>(kNoPosition)); });
  }));
  return kernel;
}

}  // namespace

absl::Status Queue(const Stream& stream, const Task& task) {
  if (task.keys.size() == 0 || task.rows == 0) return absl::OkStatus();
  // As the kernels see keys.
  const DType form = FormOf(task.dtype, task.descending).dtype;
  const auto in_form = [&](const AnyArrayView& keys) {
    return AnyArrayView::Make(stream.device(), form, keys.data(), keys.shape(), keys.read_only());
  };
  Task seen = task;
  SLIPWAY_ASSIGN_OR_RETURN(seen.keys, in_form(task.keys));
  std::optional<AnyArrayView> sorted;
  if (task.sorted != nullptr) {
    SLIPWAY_ASSIGN_OR_RETURN(sorted, in_form(*task.sorted));
    seen.sorted = &*sorted;
  }
  if (task.offsets != nullptr) return QueueSegments(stream, seen);
  if (task.length <= kShortRow) return QueueShort(stream, seen);
  if (task.length <= kBlockRow) return QueueBlocks(stream, seen, nullptr, task.rows);
  const int64_t tiles = TilesOf(task.length);
  return QueueLong(stream, seen, {.rows = task.rows, .tiles = task.rows * tiles, .tiles_of_row = tiles});
}

absl::Status QueueNoPositions(const Stream& stream, const AnyArrayView& order) {
  if (order.size() == 0) return absl::OkStatus();
  return NoPositions()(stream, ForSize(order.size()), order);
}

absl::Status QueueGather(const Stream& stream, const AnyArrayView& to, const AnyArrayView& from,
                         const AnyArrayView& order, int64_t length) {
  if (to.size() == 0) return absl::OkStatus();
  return Gather()(stream, ForSize(to.size()), to, from, order, length);
}

}  // namespace slipway::sort
