// What parts of an array are named by: integers, slices, new axes; the rules are NumPy's.
#ifndef SLIPWAY_INDEX_H_
#define SLIPWAY_INDEX_H_

#include <concepts>
#include <cstdint>
#include <optional>

namespace slipway {

// start:stop:step along a dimension; Slice() is all of it, Slice{.step = -1} all of it backwards. Bounds that are
// negative count from the end, and those past the ends stand for the ends. A step of 0 is an error where it is used.
struct Slice {
  std::optional<int64_t> start;
  std::optional<int64_t> stop;
  int64_t step = 1;
};

struct NewAxis {};
inline constexpr NewAxis kNewAxis;  // A dimension of extent 1.
struct Ellipsis {};
inline constexpr Ellipsis kEllipsis;  // As many whole dimensions as are left; at most once.

class Index {
 public:
  enum class Kind { kInteger, kSlice, kNewAxis, kEllipsis };

  template <std::integral I>
  Index(I at) : kind(Kind::kInteger), integer(static_cast<int64_t>(at)) {}  // NOLINT(google-explicit-constructor)
  Index(const Slice& range) : kind(Kind::kSlice), slice(range) {}           // NOLINT(google-explicit-constructor)
  Index(NewAxis) : kind(Kind::kNewAxis) {}                                  // NOLINT(google-explicit-constructor)
  Index(Ellipsis) : kind(Kind::kEllipsis) {}                                // NOLINT(google-explicit-constructor)

  Kind kind;
  int64_t integer = 0;
  Slice slice;
};

}  // namespace slipway

#endif  // SLIPWAY_INDEX_H_
