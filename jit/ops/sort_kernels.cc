#include "jit/ops/sort_kernels.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "driver/status_macros.h"
#include "jit/ops/kept_kernel.h"
#include "jit/ops/sort_order.h"
#include "slipway/array.h"
#include "slipway/embedded.h"
#include "slipway/launch_config.h"

namespace slipway::sort {
namespace {

using Index = Expr<int64_t>;

constexpr uint32_t kThreads = 256, kWarps = kThreads / 32;
constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits;
static_assert(kDigits == kThreads, "in the kernels a thread stands for a digit, too");

// Of keys, what decides: bits `shift` and up of the order word, under `mask`.
struct KeyBits {
  Expr<uint64_t> flip, infinity;
  Expr<int32_t> shift;
  Expr<uint64_t> mask;

  AnyExpr operator()(const AnyExpr& key) const {
    return (OrderWord(key, flip, infinity) >> shift) & Cast(WordOf(key.dtype()), mask);
  }
};

// A row's elements among all: of rows of one length, or between two offsets.
struct RowRange {
  Index begin, end;
};
template <class Offsets>
RowRange RangeOfRow(const Offsets& offsets, const Index& row, const Index& length) {
  if (!offsets.is_array()) return {row * length, (row + 1) * length};
  // Here `length` is the size of the keys; what lies outside is cut off.
  const AnyArrayVar ends = offsets;
  const auto clamped = [&](const AnyExpr& at) { return Index(min(max(Cast<int64_t>(at), 0), length)); };
  const Index begin = clamped(ends[row]);
  return {begin, Index(max(begin, clamped(ends[row + 1])))};
}

// What an output is given, where it is wanted.
template <class Output, class X>
void StoreTo(const Output& output, const Index& at, const X& value) {
  if (output.is_array()) output[at] = Cast(output.dtype(), value);
}

// ---- Short rows -----------------------------------------------------------------------------------------------------

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

const GenericKernel& ShortRows() {
  static const GenericKernel& kernel = Kept(MakeGenericKernel(
      "sort_short_rows",
      [](auto sorted, auto order, AnyArrayVar keys, auto offsets, Expr<int32_t> log_lanes, Index rows, Index length,
         Expr<uint64_t> flip, Expr<uint64_t> infinity, Expr<int32_t> shift, Expr<uint64_t> mask) {
        const KeyBits bits{flip, infinity, shift, mask};
        const Index lanes = Index(1) << log_lanes;  // Threads of a row.
        For(GridStride(rows << log_lanes), [&](const Index& t) {
          const RowRange row = RangeOfRow(offsets, t >> log_lanes, length);
          const auto sort = [&] {
            For(Range(row.begin + (t & (lanes - 1)), row.end, lanes), [&](const Index& i) {
              const AnyExpr key = keys[i];
              const Var<int32_t> before =
                  CountBefore(row.begin, row.end, i, bits(key), [&](const Index& j) { return bits(keys[j]); });
              const Index at = row.begin + before;
              StoreTo(sorted, at, key);
              StoreTo(order, at, offsets.is_array() ? i : Index(i - row.begin));
            });
          };
          if (offsets.is_array()) {
            If(row.end - row.begin <= kShortRow, sort);
          } else {
            sort();
          }
        });
      }));
  return kernel;
}

// ---- Rows that a block sorts ----------------------------------------------------------------------------------------

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

const GenericKernel& BlockRows() {
  static const GenericKernel& kernel =
      Kept(MakeGenericKernel("sort_block_rows", [](auto sorted, auto order, AnyArrayVar keys, auto offsets, auto list,
                                                   Index rows, Index length, Expr<uint64_t> flip,
                                                   Expr<uint64_t> infinity, Expr<int32_t> shift, Expr<uint64_t> mask) {
        const KeyBits key_bits{flip, infinity, shift, mask};
        const SharedRow shared(WordOf(keys.dtype()));
        // `list`: how many segments there are for blocks, and which.
        const auto listed = [&] { return Index(min(Cast<int64_t>(AnyArrayVar(list)[0]), list.size() - 1)); };
        const Index count = list.is_array() ? listed() : rows;
        For(Range(BlockIndex(), count, GridSize()), [&](const Index& r) {
          const Index row = list.is_array() ? Index(Cast<int64_t>(AnyArrayVar(list)[r + 1])) : r;
          const RowRange range = RangeOfRow(offsets, row, length);
          const Expr<int32_t> size = Cast<int32_t>(min(range.end - range.begin, kBlockRow));
          const auto each = [&](const auto& body) { For(Range(ThreadIndex(), size, BlockSize()), body); };

          each([&](const Index& i) { shared.bits[i] = key_bits(keys[range.begin + i]); });
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
            StoreTo(order, range.begin + i, offsets.is_array() ? Index(range.begin + item) : item);
          });
          SyncThreads();
        });
      }));
  return kernel;
}

// ---- Long rows, by digits -------------------------------------------------------------------------------------------

// A list of long segments, int64: how many there are, how many tiles they have, then of each where it begins, its
// length, and its first tile. `owners` has the number of the segment of each tile. What is not listed is zero, and an
// empty segment.
constexpr int64_t kSegments = 0, kTiles = 1, kHeader = 2, kFields = 3;
struct ListedSegment {
  ListedSegment(const AnyArrayVar& list, const Index& number)
      : begin(Field(list, number, 0)), length(Field(list, number, 1)), first_tile(Field(list, number, 2)) {}
  static Index Field(const AnyArrayVar& list, const Index& number, int64_t field) {
    return Cast<int64_t>(list[kHeader + kFields * number + field]);
  }
  Index begin, length, first_tile;
};

// A block's tile. `list` is a number where rows are of one length.
struct Tile {
  Index number;  // Among all tiles.
  Index row;     // Among all long rows.
  Index begin;   // The row's first element.
  Index first;   // The tile's first element in the row, and how many it has.
  Index size;
};
template <class List, class Owners, class Body>
void WithTile(const List& list, const Owners& owners, const Index& length, const Body& body) {
  const Index number = Cast<int64_t>(BlockIndex());
  const auto size_from = [&](const Index& first, const Index& of) { return Index(min(of - first, kTile)); };
  if (!list.is_array()) {
    const Index tiles = (length + (kTile - 1)) / kTile;
    const Index row = number / tiles, first = (number - row * tiles) * kTile;
    body(Tile{number, row, row * length, first, size_from(first, length)});
    return;
  }
  If(number < Cast<int64_t>(AnyArrayVar(list)[kTiles]), [&] {
    const Index row = Cast<int64_t>(AnyArrayVar(owners)[number]);
    const ListedSegment segment(list, row);
    const Index first = (number - segment.first_tile) * kTile;
    body(Tile{number, row, segment.begin, first, size_from(first, segment.length)});
  });
}

// counts[tile, digit]: the keys of a tile that have a digit.
const GenericKernel& CountDigits() {
  static const GenericKernel& kernel = Kept(MakeGenericKernel(
      "sort_count_digits", [](AnyArrayVar counts, AnyArrayVar keys, auto list, auto owners, Index length,
                              Expr<uint64_t> flip, Expr<uint64_t> infinity, Expr<int32_t> shift, Expr<uint64_t> mask) {
        const KeyBits digit{flip, infinity, shift, mask};
        const auto count = SharedArray<uint32_t>(kDigits);
        WithTile(list, owners, length, [&](const Tile& tile) {
          count[ThreadIndex()] = 0u;
          SyncThreads();
          For(Range(ThreadIndex(), tile.size, kThreads), [&](const Index& i) {
            AtomicAdd(count[Cast<uint32_t>(digit(keys[tile.begin + tile.first + i]))], 1u, MemoryOrder::kRelaxed,
                      MemoryScope::kBlock);
          });
          SyncThreads();
          counts[tile.number * kDigits + ThreadIndex()] = count[ThreadIndex()];
        });
      }));
  return kernel;
}

// In each row, and for each digit, the exclusive sum of the counts over the tiles, in their place, and that of all in
// totals[row, digit]. A warp has 32 digits and a part of the tiles, a block all the parts.
const GenericKernel& SumTiles() {
  static const GenericKernel& kernel =
      Kept(MakeGenericKernel("sort_sum_tiles", [](AnyArrayVar counts, AnyArrayVar totals, auto list, Index length) {
        constexpr int kGroups = kDigits / 32;
        const AnyArrayVar sums = SharedArray(counts.dtype(), {32 * 32});
        const Index row = Cast<int64_t>(BlockIndex() / static_cast<uint32_t>(kGroups));
        const Index digit = Cast<int64_t>(BlockIndex() % static_cast<uint32_t>(kGroups) * 32u + (ThreadIndex() & 31u));
        const Index part = Cast<int64_t>(ThreadIndex() >> 5u), parts = Cast<int64_t>(BlockSize() >> 5u);
        const auto sum = [&](const Index& first_tile, const Index& tiles) {
          const Index each = (tiles + parts - 1) / parts;
          const Index begin = min(part * each, tiles), end = min(begin + each, tiles);
          const auto count_of = [&](const Index& tile) { return counts[(first_tile + tile) * kDigits + digit]; };
          AnyVar of_part(counts.dtype(), 0);
          For(Range(begin, end), [&](const Index& tile) { of_part += count_of(tile); });
          sums[part * 32 + (digit & 31)] = of_part;
          SyncThreads();
          AnyVar before(counts.dtype(), 0);
          For(Range(part), [&](const Index& p) { before += sums[p * 32 + (digit & 31)]; });
          For(Range(begin, end), [&](const Index& tile) {
            const AnyExpr count = count_of(tile);
            count_of(tile) = before;
            before += count;
          });
          If(part == parts - 1, [&] { totals[row * kDigits + digit] = before; });
        };
        if (list.is_array()) {
          If(row < Cast<int64_t>(AnyArrayVar(list)[kSegments]), [&] {
            const ListedSegment segment(list, row);
            sum(segment.first_tile, (segment.length + (kTile - 1)) / kTile);
          });
        } else {
          const Index tiles = (length + (kTile - 1)) / kTile;
          sum(row * tiles, tiles);
        }
      }));
  return kernel;
}

// Moves the keys of a tile, and their positions, to where their digits belong. A warp takes a run of neighbours, 32 at
// a time in their order; those of a digit find each other by the bits that their lanes set in `peers`.
const GenericKernel& Scatter() {
  static const GenericKernel& kernel = Kept(MakeGenericKernel(
      "sort_scatter", [](auto keys_to, auto order_to, AnyArrayVar keys, auto order, AnyArrayVar counts,
                         AnyArrayVar totals, auto list, auto owners, Index length, Expr<uint64_t> flip,
                         Expr<uint64_t> infinity, Expr<int32_t> shift, Expr<uint64_t> mask) {
        const KeyBits digit_of{flip, infinity, shift, mask};
        const DType number = counts.dtype();
        const AnyArrayVar next = SharedArray(number, {kWarps, kDigits});  // Where a warp's next key of a digit goes.
        const auto peers = SharedArray<uint32_t>(kWarps, kDigits);
        WithTile(list, owners, length, [&](const Tile& tile) {
          const Expr<uint32_t> thread = ThreadIndex(), warp = thread >> 5u, lane = thread & 31u;
          const Index run = (tile.size + (kThreads - 1)) / kThreads * 32;  // Of a warp.
          const Index begin = Cast<int64_t>(warp) * run;
          const auto each = [&](const auto& body) { For(Range(begin + lane, begin + lane + run, 32), body); };
          const auto digit_at = [&](const Index& i) {
            return Expr<uint32_t>(Cast<uint32_t>(digit_of(keys[tile.begin + tile.first + i])));
          };

          for (uint32_t w = 0; w < kWarps; ++w) {
            next(w, thread) = 0;
            peers(w, thread) = 0u;
          }
          SyncThreads();
          each([&](const Index& i) {
            If(i < tile.size,
               [&] { AtomicAdd(next(warp, digit_at(i)), 1, MemoryOrder::kRelaxed, MemoryScope::kBlock); });
          });
          // Here the thread stands for a digit.
          const AnyExpr below = BlockScanExclusiveAdd(AnyExpr(totals[tile.row * kDigits + thread]));
          AnyVar at(number, below + counts[tile.number * kDigits + thread]);
          for (uint32_t w = 0; w < kWarps; ++w) {
            const AnyExpr count = next(w, thread);
            next(w, thread) = at;
            at += count;
          }
          SyncThreads();

          each([&](const Index& i) {
            const Index from = tile.begin + tile.first + i;
            const Expr<bool> is_there = i < tile.size;
            AnyVar key(keys.dtype(), Cast(keys.dtype(), 0));
            Var<uint32_t> digit = 0u, same = 0u;
            If(is_there, [&] {
              key = keys[from];
              digit = Cast<uint32_t>(digit_of(key));
              AtomicOr(peers(warp, digit), 1u << lane, MemoryOrder::kRelaxed, MemoryScope::kBlock);
            });
            SyncWarp();
            If(is_there, [&] {
              same = peers(warp, digit);
              const Index to = tile.begin + Cast<int64_t>(next(warp, digit)) + popc(same & LanesBelow());
              StoreTo(keys_to, to, key);
              if (order.is_array()) {
                StoreTo(order_to, to, order[from]);
              } else {
                StoreTo(order_to, to, list.is_array() ? from : Index(tile.first + i));
              }
            });
            SyncWarp();
            If(is_there && (same & LanesAbove()) == 0, [&] {
              next(warp, digit) += Cast(number, popc(same));
              peers(warp, digit) = 0u;
            });
            SyncWarp();
          });
        });
      }));
  return kernel;
}

// ---- Lists of segments that are not short ---------------------------------------------------------------------------

const GenericKernel& ListSegments() {
  static const GenericKernel& kernel =
      Kept(MakeGenericKernel("sort_list_segments", [](AnyArrayVar middle, auto list, auto owners, AnyArrayVar offsets,
                                                      Index segments, Index length) {
        For(GridStride(segments), [&](const Index& s) {
          const Index begin = min(max(Cast<int64_t>(offsets[s]), 0), length);
          const Index size = min(Cast<int64_t>(offsets[s + 1]), length) - begin;
          If(size > kShortRow && size <= kBlockRow, [&] {
            const Index slot = Cast<int64_t>(AtomicAdd(middle[0], 1)) + 1;
            If(slot < middle.size(), [&] { middle[slot] = s; });
          });
          if (!list.is_array()) return;
          If(size > kBlockRow, [&] {
            const AnyArrayVar all = list, owner = owners;
            const Index tiles = (size + (kTile - 1)) / kTile;
            const Index number = Cast<int64_t>(AtomicAdd(all[kSegments], 1));
            const Index first_tile = Cast<int64_t>(AtomicAdd(all[kTiles], tiles));
            // There is room for all, unless offsets fall.
            const Index at = kHeader + kFields * number;
            If(at + kFields <= all.size() && first_tile + tiles <= owner.size(), [&] {
              all[at] = begin;
              all[at + 1] = size;
              all[at + 2] = first_tile;
              For(Range(tiles), [&](const Index& t) { owner[first_tile + t] = Cast(owner.dtype(), number); });
            });
          });
        });
      }));
  return kernel;
}

const GenericKernel& Gather() {
  static const GenericKernel& kernel =
      Kept(MakeGenericKernel("sort_gather", [](AnyArrayVar to, AnyArrayVar from, AnyArrayVar order, Index length) {
        For(GridStride(to.size()),
            [&](const Index& i) { to[i] = from[i / length * length + Cast<int64_t>(order[i])]; });
      }));
  return kernel;
}

// ---- On the host ----------------------------------------------------------------------------------------------------

// An array, or the number that tells a kernel that there is none.
Arg ArrayOrNone(const AnyArrayView* array) { return array == nullptr ? Arg(int32_t{0}) : Arg(*array); }
const AnyArrayView* ViewOrNull(const std::optional<AnyArray>& array) {
  return array.has_value() ? &array->view() : nullptr;
}

// What a launch is told of KeyBits.
struct Bits {
  uint64_t flip, infinity;
  int32_t shift;
  uint64_t mask;
};
Bits BitsFrom(const Task& task, int begin, int end) {
  const KeyForm form = FormOf(task.dtype, task.descending);
  return {form.flip, form.infinity, std::min(begin, BitsOf(task.dtype) - 1), LowBits(end - begin)};
}
Bits AllBitsOf(const Task& task) { return BitsFrom(task, task.begin_bit, task.end_bit); }

constexpr int64_t kMaxBlocks = INT32_MAX;

absl::Status QueueShort(const Stream& stream, const Task& task) {
  const Bits bits = AllBitsOf(task);
  // Most segments are taken to be much shorter than they may be.
  const int32_t log_lanes = task.offsets != nullptr || task.length <= 32 ? 3 : 5;
  return ShortRows().Launch(stream, ForSize(task.rows << log_lanes),
                            {ArrayOrNone(task.sorted), ArrayOrNone(task.order), task.keys, ArrayOrNone(task.offsets),
                             log_lanes, task.rows, task.length, bits.flip, bits.infinity, bits.shift, bits.mask});
}

// `list` names the segments, at most `blocks` of them.
absl::Status QueueBlocks(const Stream& stream, const Task& task, const AnyArrayView* list, int64_t blocks) {
  const Bits bits = AllBitsOf(task);
  const LaunchConfig config{.grid = {static_cast<uint32_t>(std::min(blocks, kMaxBlocks))}, .block = {kThreads}};
  return BlockRows().Launch(
      stream, config,
      {ArrayOrNone(task.sorted), ArrayOrNone(task.order), task.keys, ArrayOrNone(task.offsets), ArrayOrNone(list),
       task.rows, task.length, bits.flip, bits.infinity, bits.shift, bits.mask});
}

// Where passes by digits write to: the output in the last one, and before that in turn two arrays of a type, the second
// of which may be the output.
class Buffers {
 public:
  Buffers(const Stream& stream, DType dtype, int64_t size, const AnyArrayView* output)
      : stream_(stream), dtype_(dtype), size_(size), output_(output) {}

  // Null in the last pass (0 are left after it) where there is no output.
  absl::StatusOr<const AnyArrayView*> ForPass(int left) {
    if (left == 0 || (left % 2 == 0 && output_ != nullptr && output_->dtype() == dtype_)) return output_;
    std::optional<AnyArray>& buffer = buffers_[left % 2];
    if (!buffer.has_value()) {
      SLIPWAY_ASSIGN_OR_RETURN(buffer, AnyArray::Empty(stream_, dtype_, {size_}));
    }
    return &buffer->view();
  }

 private:
  const Stream& stream_;
  DType dtype_;
  int64_t size_;
  const AnyArrayView* output_;
  std::optional<AnyArray> buffers_[2];
};

// Of rows longer than kBlockRow, which have so many tiles together; or of the segments that `list` and `owners` name,
// at most so many as `rows`.
absl::Status QueueLong(const Stream& stream, const Task& task, int64_t rows, int64_t tiles, const AnyArrayView* list,
                       const AnyArrayView* owners) {
  if (tiles > kMaxBlocks) {
    return absl::ResourceExhaustedError(
        absl::StrCat("keys has ", task.keys.size(), " elements; at most 2^43 can be sorted at once"));
  }
  const int64_t size = task.keys.size();
  const DType counter = task.length <= int64_t{UINT32_MAX} ? DType::kUInt32 : DType::kUInt64;
  const DType position = task.order != nullptr && task.length > INT32_MAX ? task.order->dtype() : DType::kInt32;
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray counts, AnyArray::Empty(stream, counter, {tiles * kDigits}));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray totals, AnyArray::Empty(stream, counter, {rows * kDigits}));
  Buffers keys_buffers(stream, task.keys.dtype(), size, task.sorted);
  Buffers order_buffers(stream, position, size, task.order);

  const LaunchConfig per_tile{.grid = {static_cast<uint32_t>(tiles)}, .block = {kThreads}};
  // A part of the tiles for each warp, a few at least.
  const uint32_t parts = static_cast<uint32_t>(std::clamp<int64_t>(tiles / rows / 4, 2, 32));
  const LaunchConfig per_row{.grid = {static_cast<uint32_t>(rows * (kDigits / 32))}, .block = {32 * parts}};

  const AnyArrayView *keys = &task.keys, *order = nullptr;
  const int passes = std::max(1, (task.end_bit - task.begin_bit + kDigitBits - 1) / kDigitBits);
  for (int pass = 0; pass < passes; ++pass) {
    const int first_bit = task.begin_bit + kDigitBits * pass;
    const Bits bits = BitsFrom(task, first_bit, std::min(first_bit + kDigitBits, task.end_bit));
    SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView* keys_to, keys_buffers.ForPass(passes - 1 - pass));
    const AnyArrayView* order_to = nullptr;
    if (task.order != nullptr) {
      SLIPWAY_ASSIGN_OR_RETURN(order_to, order_buffers.ForPass(passes - 1 - pass));
    }
    SLIPWAY_RETURN_IF_ERROR(CountDigits().Launch(stream, per_tile,
                                                 {counts, *keys, ArrayOrNone(list), ArrayOrNone(owners), task.length,
                                                  bits.flip, bits.infinity, bits.shift, bits.mask}));
    SLIPWAY_RETURN_IF_ERROR(SumTiles().Launch(stream, per_row, {counts, totals, ArrayOrNone(list), task.length}));
    SLIPWAY_RETURN_IF_ERROR(Scatter().Launch(
        stream, per_tile,
        {ArrayOrNone(keys_to), ArrayOrNone(order_to), *keys, ArrayOrNone(order), counts, totals, ArrayOrNone(list),
         ArrayOrNone(owners), task.length, bits.flip, bits.infinity, bits.shift, bits.mask}));
    keys = keys_to;
    order = order_to;
  }
  return absl::OkStatus();
}

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
  return QueueLong(stream, task, long_most, tiles_most, ViewOrNull(list), ViewOrNull(owners));
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
  const int64_t tiles = (task.length + (kTile - 1)) / kTile;
  return QueueLong(stream, seen, task.rows, task.rows * tiles, nullptr, nullptr);
}

absl::Status QueueGather(const Stream& stream, const AnyArrayView& to, const AnyArrayView& from,
                         const AnyArrayView& order, int64_t length) {
  if (to.size() == 0) return absl::OkStatus();
  return Gather()(stream, ForSize(to.size()), to, from, order, length);
}

}  // namespace slipway::sort
