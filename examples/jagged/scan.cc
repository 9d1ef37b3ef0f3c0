#include "examples/jagged/scan.h"

#include <algorithm>

#include "examples/jagged/kernel_words.h"

namespace slipway::jagged {
namespace {

constexpr int64_t kBlock = 256, kWarp = 32;
constexpr int64_t kEach = 8;  // Neighbours that a thread adds up by itself.
constexpr int64_t kTile = kBlock * kEach;

// Block b scans tile b of sums[0] to sums[count - 1]; tiles[b] = the sum of the tile. Where there is one tile, its sum
// goes behind the elements, too, and the block need have no more warps than that takes.
const GenericKernel& ScanTiles() {
  static const GenericKernel kernel =
      MakeGenericKernel("scan_tiles", [](Out<int64_t> sums, Int count, Out<int64_t> tiles) {
        const Int begin = min(GlobalIndex() * kEach, count), end = min(begin + kEach, count);
        Var<int64_t> sum = 0;
        For(Range(begin, end), [&](Int i) { sum += sums[i]; });
        const Int own = sum;
        sum = BlockScanExclusiveAdd(own);
        const Int after = sum + own;
        For(Range(begin, end), [&](Int i) {
          const Int value = sums[i];
          sums[i] = sum;
          sum += value;
        });
        If(ThreadIndex() == BlockSize() - 1, [&] {
          tiles[BlockIndex()] = after;
          If(GridSize() == 1, [&] { sums[count] = after; });
        });
      });
  return kernel;
}

// Adds to each tile what `tiles`, scanned, has before it; the sum of all goes behind the elements.
const GenericKernel& AddTiles() {
  static const GenericKernel kernel =
      MakeGenericKernel("add_tiles", [](Out<int64_t> sums, Int count, In<int64_t> tiles, Int tile_count) {
        ForEach(count + 1, [&](Int i) {
          If(i < count, [&] { sums[i] += tiles[i / kTile]; }).Else([&] { sums[i] = tiles[tile_count]; });
        });
      });
  return kernel;
}

}  // namespace

void ExclusiveScan(Call& call, const Arg& sums) {
  const int64_t count = sums.view().size() - 1;
  const int64_t tile_count = std::max<int64_t>((count + kTile - 1) / kTile, 1);
  const AnyArray& tiles = call.Temporary(tile_count + 1);
  const int64_t warps = std::clamp<int64_t>((count + kEach * kWarp - 1) / (kEach * kWarp), 1, kBlock / kWarp);
  call.LaunchWith(ScanTiles(),
                  {.grid = {static_cast<uint32_t>(tile_count)}, .block = {static_cast<uint32_t>(warps * kWarp)}},
                  {sums, count, tiles});
  if (tile_count == 1) return;
  ExclusiveScan(call, tiles);
  call.LaunchWith(AddTiles(), ForSize(count + 1), {sums, count, tiles, tile_count});
}

}  // namespace slipway::jagged
