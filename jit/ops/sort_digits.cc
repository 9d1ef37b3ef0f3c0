#include "jit/ops/sort_digits.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "driver/status_macros.h"
#include "jit/ops/kept_kernel.h"
#include "jit/ops/sort_keys.h"
#include "slipway/array.h"
#include "slipway/embedded.h"
#include "slipway/launch_config.h"

namespace slipway::sort {
namespace {

constexpr uint32_t kThreads = 256, kWarps = kThreads / 32;
constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits;
static_assert(kDigits == kThreads, "in the kernels a thread stands for a digit, too");

struct ListedSegment {
  ListedSegment(const AnyArrayVar& list, const Index& number)
      : begin(Field(list, number, 0)), length(Field(list, number, 1)), first_tile(Field(list, number, 2)) {}
  static Index Field(const AnyArrayVar& list, const Index& number, int64_t field) {
    return Cast<int64_t>(list[kHeader + kFields * number + field]);
  }
  Index begin, length, first_tile;
};

// A block's tile.
struct Tile {
  Index number;  // Among all tiles.
  Index row;     // Among all long rows.
  Index begin;   // The row's first element.
  Index first;   // The tile's first element in the row, and how many it has.
  Index size;
};
template <bool kSegments, class List, class Owners, class Body>
void WithTile(const List& list, const Owners& owners, const Index& length, const Body& body) {
  const Index number = Cast<int64_t>(BlockIndex());
  const auto size_from = [&](const Index& first, const Index& of) { return Index(min(of - first, kTile)); };
  if constexpr (!kSegments) {
    const Index tiles = TilesOf(length);
    const Index row = number / tiles, first = (number - row * tiles) * kTile;
    body(Tile{number, row, row * length, first, size_from(first, length)});
  } else {
    If(number < Cast<int64_t>(AnyArrayVar(list)[kTileCount]), [&] {
      const Index row = Cast<int64_t>(AnyArrayVar(owners)[number]);
      const ListedSegment segment(list, row);
      const Index first = (number - segment.first_tile) * kTile;
      body(Tile{number, row, segment.begin, first, size_from(first, segment.length)});
    });
  }
}

// counts[tile, digit]: the keys of a tile that have a digit.
template <bool kSegments>
const GenericKernel& CountDigits() {
  static const GenericKernel& kernel = Kept(
      MakeGenericKernel(kSegments ? "sort_count_digits_of_segments" : "sort_count_digits",
                        [](AnyArrayVar counts, AnyArrayVar array, auto list, auto owners, Index length,
                           Expr<uint64_t> flip, Expr<uint64_t> infinity, Expr<int32_t> shift, Expr<uint64_t> mask) {
                          const Keys keys{array, flip, infinity, shift, mask};
                          const auto count = SharedArray<uint32_t>(kDigits);
                          WithTile<kSegments>(list, owners, length, [&](const Tile& tile) {
                            count[ThreadIndex()] = 0u;
                            SyncThreads();
                            For(Range(ThreadIndex(), tile.size, kThreads), [&](const Index& i) {
                              AtomicAdd(count[Cast<uint32_t>(keys.BitsAt(tile.begin + tile.first + i))], 1u,
                                        MemoryOrder::kRelaxed, MemoryScope::kBlock);
                            });
                            SyncThreads();
                            counts[tile.number * kDigits + ThreadIndex()] = count[ThreadIndex()];
                          });
                        }));
  return kernel;
}

// In each row, and for each digit, the exclusive sum of the counts over the tiles, in their place, and that of all in
// totals[row, digit]. A warp has 32 digits and a part of the tiles, a block all the parts.
template <bool kSegments>
const GenericKernel& SumTiles() {
  static const GenericKernel& kernel = Kept(MakeGenericKernel(
      kSegments ? "sort_sum_tiles_of_segments" : "sort_sum_tiles",
      [](AnyArrayVar counts, AnyArrayVar totals, auto list, Index length) {
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
        if constexpr (kSegments) {
          If(row < Cast<int64_t>(AnyArrayVar(list)[kSegmentCount]), [&] {
            const ListedSegment segment(list, row);
            sum(segment.first_tile, TilesOf(segment.length));
          });
        } else {
          const Index tiles = TilesOf(length);
          sum(row * tiles, tiles);
        }
      }));
  return kernel;
}

// Moves the keys of a tile, and their positions, to where their digits belong. A warp takes a run of neighbours, 32 at
// a time in their order; those of a digit find each other by the bits that their lanes set in `peers`.
template <bool kSegments>
const GenericKernel& Scatter() {
  static const GenericKernel& kernel = Kept(MakeGenericKernel(
      kSegments ? "sort_scatter_of_segments" : "sort_scatter",
      [](auto keys_to, auto order_to, AnyArrayVar array, auto order, AnyArrayVar counts, AnyArrayVar totals, auto list,
         auto owners, Index length, Expr<uint64_t> flip, Expr<uint64_t> infinity, Expr<int32_t> shift,
         Expr<uint64_t> mask) {
        const Keys keys{array, flip, infinity, shift, mask};
        const DType number = counts.dtype();
        const AnyArrayVar next = SharedArray(number, {kWarps, kDigits});  // Where a warp's next key of a digit goes.
        const auto peers = SharedArray<uint32_t>(kWarps, kDigits);
        WithTile<kSegments>(list, owners, length, [&](const Tile& tile) {
          const Expr<uint32_t> thread = ThreadIndex(), warp = thread >> 5u, lane = thread & 31u;
          const Index run = (tile.size + (kThreads - 1)) / kThreads * 32;  // Of a warp.
          const Index begin = Cast<int64_t>(warp) * run;
          const auto each = [&](const auto& body) { For(Range(begin + lane, begin + lane + run, 32), body); };
          const auto digit_at = [&](const Index& i) {
            return Expr<uint32_t>(Cast<uint32_t>(keys.BitsAt(tile.begin + tile.first + i)));
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
              digit = Cast<uint32_t>(keys.BitsOf(key));
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
                StoreTo(order_to, to, kSegments ? from : Index(tile.first + i));
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

}  // namespace

absl::Status QueueLong(const Stream& stream, const Task& task, const LongRows& of) {
  const bool segments = of.list != nullptr;
  if (of.tiles > INT32_MAX) {
    return absl::ResourceExhaustedError(
        absl::StrCat("keys has ", task.keys.size(), " elements; at most 2^43 can be sorted at once"));
  }
  const int64_t size = task.keys.size();
  const DType counter = task.length <= int64_t{UINT32_MAX} ? DType::kUInt32 : DType::kUInt64;
  const DType position = task.order != nullptr && task.length > INT32_MAX ? task.order->dtype() : DType::kInt32;
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray counts, AnyArray::Empty(stream, counter, {of.tiles * kDigits}));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray totals, AnyArray::Empty(stream, counter, {of.rows * kDigits}));
  Buffers keys_buffers(stream, task.keys.dtype(), size, task.sorted);
  Buffers order_buffers(stream, position, size, task.order);

  const LaunchConfig per_tile{.grid = {static_cast<uint32_t>(of.tiles)}, .block = {kThreads}};
  // A part of the tiles for each warp, a few at least.
  const uint32_t parts = static_cast<uint32_t>(std::clamp<int64_t>(of.tiles_of_row / 4, 2, 32));
  const LaunchConfig per_row{.grid = {static_cast<uint32_t>(of.rows * (kDigits / 32))}, .block = {32 * parts}};

  const AnyArrayView *keys = &task.keys, *order = nullptr;
  const int passes = std::max(1, (task.end_bit - task.begin_bit + kDigitBits - 1) / kDigitBits);
  for (int pass = 0; pass < passes; ++pass) {
    const int first_bit = task.begin_bit + kDigitBits * pass;
    const KeyBits bits = BitsFrom(task, first_bit, std::min(first_bit + kDigitBits, task.end_bit));
    SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView* keys_to, keys_buffers.ForPass(passes - 1 - pass));
    const AnyArrayView* order_to = nullptr;
    if (task.order != nullptr) {
      SLIPWAY_ASSIGN_OR_RETURN(order_to, order_buffers.ForPass(passes - 1 - pass));
    }
    SLIPWAY_RETURN_IF_ERROR((segments ? CountDigits<true>() : CountDigits<false>())
                                .Launch(stream, per_tile,
                                        {counts, *keys, ArrayOrNone(of.list), ArrayOrNone(of.owners), task.length,
                                         bits.flip, bits.infinity, bits.shift, bits.mask}));
    SLIPWAY_RETURN_IF_ERROR((segments ? SumTiles<true>() : SumTiles<false>())
                                .Launch(stream, per_row, {counts, totals, ArrayOrNone(of.list), task.length}));
    SLIPWAY_RETURN_IF_ERROR((segments ? Scatter<true>() : Scatter<false>())
                                .Launch(stream, per_tile,
                                        {ArrayOrNone(keys_to), ArrayOrNone(order_to), *keys, ArrayOrNone(order), counts,
                                         totals, ArrayOrNone(of.list), ArrayOrNone(of.owners), task.length, bits.flip,
                                         bits.infinity, bits.shift, bits.mask}));
    keys = keys_to;
    order = order_to;
  }
  return absl::OkStatus();
}

}  // namespace slipway::sort
