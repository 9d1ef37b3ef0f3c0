// The elements of arrays that fulfil a condition, in their order, and what sorted arrays hold.
//
//   Selection kept = Select(stream, "x * x", "x > 0", {{"x", x}}).value();
//   AnyArray squares = kept.Get(stream).value();     // Waits for how many there are.
//
// How many there are is known on the device first: calls wait for nothing, and whoever wants an array of that size asks
// for it. Conditions and values are expressions of the language of docs/language.md, computed for every element of what
// the inputs broadcast to, in row-major order, in the kernel that compacts.
#ifndef SLIPWAY_SELECT_H_
#define SLIPWAY_SELECT_H_

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/arg.h"
#include "slipway/array.h"
#include "slipway/stream.h"

namespace slipway {

// Elements at the front of arrays with room for more.
struct Selection {
  std::vector<AnyArray> room;  // Of rank 1, as long as the inputs have elements; what is behind `count` has no value.
  AnyArray count;              // One int64: how many elements there are.

  // How many, once the stream has come so far. Waits for it.
  absl::StatusOr<int64_t> Count(const Stream& stream) const;
  // The array of that size, which shares the memory. Waits for the stream.
  absl::StatusOr<AnyArray> Get(const Stream& stream, size_t which = 0) const;
};

// The values of an expression where a condition, a bool, holds. Errors as Elementwise's; expressions are kept as
// Reduce's (reduce.h).
absl::StatusOr<Selection> Select(const Stream& stream, std::string_view value, std::string_view condition,
                                 std::initializer_list<NamedArg> inputs);

// Of an array of rank 1 in which equal elements are neighbours, such as a sorted one: the different elements, where
// each begins (int64), and how many of it there are (int64). NaNs differ from all.
struct Runs {
  Selection values_and_begins;  // room[0], room[1].
  AnyArray lengths;             // As long as the input; the first `count` are.
};
absl::StatusOr<Runs> RunLengths(const Stream& stream, const Arg& x);
// The different elements alone.
absl::StatusOr<Selection> Unique(const Stream& stream, const Arg& x);

}  // namespace slipway

#endif  // SLIPWAY_SELECT_H_
