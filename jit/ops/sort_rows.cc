#include "jit/ops/sort_rows.h"

#include <algorithm>

#include "jit/ops/kept_kernel.h"
#include "jit/ops/sort_keys.h"
#include "slipway/embedded.h"
#include "slipway/launch_config.h"

namespace slipway::sort {
namespace {

constexpr uint32_t kThreads = 256;

// How many of the keys `begin` to `end` - 1 come before number `i` of them, whose bits are `bits`.
template <class I, class BitsAt>
Var<int32_t> CountBefore(const I& begin, const I& end, const I& i, const AnyExpr& bits, const BitsAt& bits_at) {
  Var<int32_t> before = 0;
  For(Range(begin, end), [&](const Index& j) {
    const AnyExpr there = bits_at(j);
    before += Cast<int32_t>(Cast<bool>(there < bits) || (Cast<bool>(there == bits) && j < i));
  });
  return before;
}

template <bool kSegments>
const GenericKernel& ShortRows() {
  static const GenericKernel& kernel = Kept(MakeGenericKernel(
      kSegments ? "sort_short_segments" : "sort_short_rows",
      [](auto sorted, auto order, AnyArrayVar array, auto offsets, Expr<int32_t> log_lanes, Index rows, Index length,
         Expr<uint64_t> flip, Expr<uint64_t> infinity, Expr<int32_t> shift, Expr<uint64_t> mask) {
        const Keys keys{array, flip, infinity, shift, mask};
        const Index lanes = Index(1) << log_lanes;  // Threads of a row.
        For(GridStride(rows << log_lanes), [&](const Index& t) {
          const RowRange row = RangeOfRow<kSegments>(offsets, t >> log_lanes, length);
          const auto sort = [&] {
            For(Range(row.begin + (t & (lanes - 1)), row.end, lanes), [&](const Index& i) {
              const AnyExpr key = keys[i];
              const Var<int32_t> before =
                  CountBefore(row.begin, row.end, i, keys.BitsOf(key), [&](const Index& j) { return keys.BitsAt(j); });
              const Index at = row.begin + before;
              StoreTo(sorted, at, key);
              StoreTo(order, at, kSegments ? i : Index(i - row.begin));
            });
          };
          if constexpr (kSegments) {
            If(row.end - row.begin <= kShortRow, sort);
          } else {
            sort();
          }
        });
      }));
  return kernel;
}

// Runs of so many are sorted by counting, and merged from then on.
constexpr int32_t kLogRun = 5;
constexpr int64_t kRun = int64_t{1} << kLogRun;

// The elements of a row that is being sorted, twice: one half is read while the other is written.
struct SharedRow {
  explicit SharedRow(DType word)
      : bits(SharedArray(word, {2 * kBlockRow})), items(SharedArray<uint16_t>(2 * kBlockRow)) {}
  template <class At, class Bits, class Item>
  void Put(const At& at, const Bits& b, const Item& item) const {
    bits[at] = b;
    items[at] = Cast<uint16_t>(item);
  }

  AnyArrayVar bits;
  ArrayVar<uint16_t, 1, Layout::kContiguous> items;  // Their numbers in the row.
};

// One round of merging: each run of 2 ** log_width elements with its neighbour. An element's place is its place in its
// own run and the number of elements of the other that come before it. Past `size` the row is all ones.
void MergeRuns(const SharedRow& row, const Expr<int32_t>& from, const Expr<int32_t>& to, const Expr<int32_t>& size,
               const Expr<int32_t>& log_width) {
  const Expr<int32_t> one = 1, width = one << log_width;
  For(Range(ThreadIndex(), size, BlockSize()), [&](const Index& index) {
    const Expr<int32_t> i = Cast<int32_t>(index);
    const AnyExpr bits = row.bits[from + i];
    const Expr<bool> is_left = (i & width) == 0;
    const Expr<int32_t> pair = i & -(2 * width);
    const Expr<int32_t> other = from + Select(is_left, pair + width, pair);
    // Of equals the left run's come first, so it is less + 1 that is looked for there; of nothing less than 0.
    const AnyExpr limit = bits - Cast(bits.dtype(), is_left);
    const Expr<bool> has_before = !is_left || Cast<bool>(bits != 0);
    Var<int32_t> found = 0, bit = log_width;
    While([&] { return bit > 0; },
          [&] {
            bit = bit - 1;
            // A shift and not a choice, which would become a branch that nobody can foretell.
            found += Cast<int32_t>(row.bits[other + found + (one << bit) - 1] <= limit) << bit;
          });
    found += Cast<int32_t>(row.bits[other + found] <= limit);
    row.Put(to + pair + (i & (width - 1)) + Select(has_before, found, 0), bits, row.items[from + i]);
  });
}

template <bool kSegments>
const GenericKernel& BlockRows() {
  static const GenericKernel& kernel = Kept(MakeGenericKernel(
      kSegments ? "sort_block_segments" : "sort_block_rows",
      [](auto sorted, auto order, AnyArrayVar array, auto offsets, auto list, Index rows, Index length,
         Expr<uint64_t> flip, Expr<uint64_t> infinity, Expr<int32_t> shift, Expr<uint64_t> mask) {
        const Keys keys{array, flip, infinity, shift, mask};
        const SharedRow shared(WordOf(keys.dtype()));
        const auto sort_row = [&](const Index& row) {
          const RowRange range = RangeOfRow<kSegments>(offsets, row, length);
          const Expr<int32_t> size = Cast<int32_t>(min(range.end - range.begin, kBlockRow));
          const auto each = [&](const auto& body) { For(Range(ThreadIndex(), size, BlockSize()), body); };

          each([&](const Index& i) { shared.bits[i] = keys.BitsAt(range.begin + i); });
          const Expr<int32_t> padded = Expr<int32_t>(1) << (32 - clz(size - 1));
          For(Range(size + Cast<int32_t>(ThreadIndex()), padded, BlockSize()), [&](const Index& i) {
            for (const int64_t half : {int64_t{0}, kBlockRow})
              shared.bits[half + i] = Cast(shared.bits.dtype(), ~uint64_t{0});
          });
          SyncThreads();
          each([&](const Index& i) {
            const Index begin = i & -kRun;
            const AnyExpr bits = shared.bits[i];
            const Var<int32_t> before = CountBefore(begin, Index(min(begin + kRun, Cast<int64_t>(size))), i, bits,
                                                    [&](const Index& j) { return shared.bits[j]; });
            shared.Put(kBlockRow + begin + before, bits, i);
          });
          SyncThreads();
          constexpr int32_t kHalves = static_cast<int32_t>(kBlockRow);
          Var<int32_t> log_width = kLogRun, from = kHalves;
          While([&] { return (Expr<int32_t>(1) << log_width) < size; },
                [&] {
                  MergeRuns(shared, from, kHalves - from, size, log_width);
                  SyncThreads();
                  log_width = log_width + 1;
                  from = kHalves - from;
                });
          each([&](const Index& i) {
            const Index item = Cast<int64_t>(shared.items[from + i]);
            StoreTo(sorted, range.begin + i, keys[range.begin + item]);
            StoreTo(order, range.begin + i, kSegments ? Index(range.begin + item) : item);
          });
          SyncThreads();
        };
        if constexpr (kSegments) {
          // How many segments there are for blocks, and which.
          const AnyArrayVar listed = list;
          For(Range(BlockIndex(), min(Cast<int64_t>(listed[0]), listed.size() - 1), GridSize()),
              [&](const Index& at) { sort_row(Cast<int64_t>(listed[at + 1])); });
        } else {
          For(Range(BlockIndex(), rows, GridSize()), sort_row);
        }
      }));
  return kernel;
}

}  // namespace

absl::Status QueueShort(const Stream& stream, const Task& task) {
  const KeyBits bits = AllBitsOf(task);
  // Most segments are taken to be much shorter than they may be.
  const int32_t log_lanes = task.offsets != nullptr || task.length <= 32 ? 3 : 5;
  const GenericKernel& kernel = task.offsets != nullptr ? ShortRows<true>() : ShortRows<false>();
  return kernel.Launch(stream, ForSize(task.rows << log_lanes),
                       {ArrayOrNone(task.sorted), ArrayOrNone(task.order), task.keys, ArrayOrNone(task.offsets),
                        log_lanes, task.rows, task.length, bits.flip, bits.infinity, bits.shift, bits.mask});
}

absl::Status QueueBlocks(const Stream& stream, const Task& task, const AnyArrayView* list, int64_t blocks) {
  const KeyBits bits = AllBitsOf(task);
  const LaunchConfig config{.grid = {static_cast<uint32_t>(std::min<int64_t>(blocks, INT32_MAX))}, .block = {kThreads}};
  const GenericKernel& kernel = task.offsets != nullptr ? BlockRows<true>() : BlockRows<false>();
  return kernel.Launch(stream, config,
                       {ArrayOrNone(task.sorted), ArrayOrNone(task.order), task.keys, ArrayOrNone(task.offsets),
                        ArrayOrNone(list), task.rows, task.length, bits.flip, bits.infinity, bits.shift, bits.mask});
}

}  // namespace slipway::sort
