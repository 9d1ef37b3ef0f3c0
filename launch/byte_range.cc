#include "launch/byte_range.h"

#include <algorithm>
#include <cstddef>

namespace slipway::internal {
namespace {

__int128 Saturated(__int128 value) { return std::clamp<__int128>(value, INT64_MIN, INT64_MAX); }

}  // namespace

ByteRange RangeOf(absl::Span<const int64_t> shape, absl::Span<const int64_t> strides, int64_t item_size) {
  // Addresses are 48 bits; what passes 63 here describes no array that exists, and saturating keeps it "everywhere".
  __int128 begin = 0;
  __int128 end = item_size;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return {};
    // Before it is multiplied again, which could pass 128 bits.
    const __int128 reach = Saturated(static_cast<__int128>(shape[d] - 1) * strides[d]) * item_size;
    (reach < 0 ? begin : end) += reach;
  }
  return {static_cast<int64_t>(Saturated(begin)), static_cast<int64_t>(Saturated(end))};
}

AddressRange BytesTouched(const AnyArrayView& view) {
  const ByteRange range = RangeOf(view.shape(), view.strides(), static_cast<int64_t>(SizeOf(view.dtype())));
  if (range.begin == range.end) return {};
  const __int128 address = view.Address();
  const auto clamped = [](__int128 at) { return static_cast<uint64_t>(std::clamp<__int128>(at, 0, UINT64_MAX)); };
  return {false, clamped(address + range.begin), clamped(address + range.end - 1)};
}

}  // namespace slipway::internal
