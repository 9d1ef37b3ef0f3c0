// Which bytes the elements of a strided array lie in.
#ifndef SLIPWAY_LAUNCH_BYTE_RANGE_H_
#define SLIPWAY_LAUNCH_BYTE_RANGE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "slipway/view.h"

namespace slipway::internal {

// The bytes that an array touches: [begin, end) relative to its first element, saturated. Equal where it has none.
struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;
};
ByteRange RangeOf(absl::Span<const int64_t> shape, absl::Span<const int64_t> strides, int64_t item_size);

// The addresses of the first and the last byte that belong to an element of a view.
struct AddressRange {
  bool empty = true;
  uint64_t first = 0;
  uint64_t last = 0;
};
AddressRange BytesTouched(const AnyArrayView& view);

}  // namespace slipway::internal

#endif  // SLIPWAY_LAUNCH_BYTE_RANGE_H_
