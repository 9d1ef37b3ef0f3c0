// Sorting: whole arrays along an axis, keys with values, the order itself, and segments of one array.
//
//   AnyArray sorted = Sort(stream, keys).value();                                  // along the last axis
//   AnyArray order = Argsort(stream, keys, {.descending = true}).value();          // int64 positions
//   SortedByKey both = SortByKey(stream, keys, {prices, names}).value();
//   AnyArray rows = SegmentedSort(stream, keys, offsets).value();                  // each keys[offsets[i]:offsets[i +
//   1]]
//
// Every sort is stable, ascending or descending: equal keys stay in the order in which they came. Keys are bools,
// integers and real floats of any width. -0 and +0 are equal; NaNs are equal to each other and come last, whichever way
// the others are sorted. Complex keys are refused. Arrays are of any layout (strides of any sign, any rank for Sort,
// SortByKey and Argsort) and of any size, empty ones too.
//
// Work is queued on the stream and nothing is waited for. Results are memory of the stream, and so is what a sort needs
// beside them: about as much as the keys, and as the order where one is asked for. What is not contiguous is packed
// first, and so is an input that an output overlaps. The result is the same in every run. Each function may be called
// from any thread. Kernels are made once for each dtype and kept by the process; values, sizes and options compile
// nothing.
//
// All functions return INVALID_ARGUMENT, naming the argument, before anything is queued, for: a number where an array
// is asked for; an array of another device than the stream's, at a null or misaligned address, or with a negative
// extent; an output that is read only, shares addresses between its elements, or is of another dtype or shape than
// asked for; a dtype without an order; an axis, or bits, that there are not. docs/algorithms.md tells how it is done.
#ifndef SLIPWAY_SORT_H_
#define SLIPWAY_SORT_H_

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "slipway/arg.h"
#include "slipway/array.h"
#include "slipway/dtype.h"
#include "slipway/stream.h"

namespace slipway {

inline constexpr int kAllBits = -1;

struct SortOptions {
  int axis = -1;  // From the last one where negative. Segmented sorts have no choice: their arrays have one.
  bool descending = false;
  // Only these bits of the keys count, [begin_bit, end_bit), from the least significant one, and time goes with their
  // number. They are bits of the key as an unsigned number of the same order: an unsigned integer itself; a signed one
  // with its sign bit flipped; a float's bits with the sign flipped, or, if it is negative, all of them. A bool has
  // one.
  int begin_bit = 0;
  int end_bit = kAllBits;
  DType index = DType::kInt64;  // Of the positions that Argsort gives: kInt64 or kInt32.
};

// The elements of `keys` along an axis in their order.
absl::StatusOr<AnyArray> Sort(const Stream& stream, const Arg& keys, const SortOptions& options = {});
// Into an array of the same dtype and shape, which may be `keys`.
absl::Status SortInto(const Stream& stream, const Arg& sorted, const Arg& keys, const SortOptions& options = {});

// For each place the position along the axis that its element has in `keys`. INVALID_ARGUMENT where options.index
// cannot count the axis.
absl::StatusOr<AnyArray> Argsort(const Stream& stream, const Arg& keys, const SortOptions& options = {});
// Into an array of the same shape, int64 or int32; options.index is not looked at.
absl::Status ArgsortInto(const Stream& stream, const Arg& order, const Arg& keys, const SortOptions& options = {});

// Keys in their order, and what belongs to each: arrays of the same shape as `keys`, of any dtype.
struct SortedByKey {
  AnyArray keys;
  std::vector<AnyArray> values;
};
absl::StatusOr<SortedByKey> SortByKey(const Stream& stream, const Arg& keys, absl::Span<const Arg> values,
                                      const SortOptions& options = {});
inline absl::StatusOr<SortedByKey> SortByKey(const Stream& stream, const Arg& keys, std::initializer_list<Arg> values,
                                             const SortOptions& options = {}) {
  return SortByKey(stream, keys, absl::MakeConstSpan(values.begin(), values.size()), options);
}
// Into arrays of the same dtypes and shape, one for each of `values`. Each output may overlap any input, but no other
// output.
absl::Status SortByKeyInto(const Stream& stream, const Arg& sorted_keys, absl::Span<const Arg> sorted_values,
                           const Arg& keys, absl::Span<const Arg> values, const SortOptions& options = {});

// Sorts each segment of `keys`, an array of one dimension, by itself: elements offsets[i] to offsets[i + 1] - 1, for
// each i. `offsets` is an array of one dimension, int32 or int64, of at least one element, that never falls and lies in
// [0, size of keys]: it is not read on the host, and where it is not so, only that nothing outside of the arrays is
// accessed is promised. Segments may be of any lengths, mixed, and empty. Elements that are in no segment are left
// undefined in new arrays, and as they were in those that are there.
absl::StatusOr<AnyArray> SegmentedSort(const Stream& stream, const Arg& keys, const Arg& offsets,
                                       const SortOptions& options = {});
absl::Status SegmentedSortInto(const Stream& stream, const Arg& sorted, const Arg& keys, const Arg& offsets,
                               const SortOptions& options = {});
// The same as positions in the whole of `keys`.
absl::StatusOr<AnyArray> SegmentedArgsort(const Stream& stream, const Arg& keys, const Arg& offsets,
                                          const SortOptions& options = {});
absl::Status SegmentedArgsortInto(const Stream& stream, const Arg& order, const Arg& keys, const Arg& offsets,
                                  const SortOptions& options = {});
// Each segment of the keys, and the values in their order; as SortByKey.
absl::StatusOr<SortedByKey> SegmentedSortByKey(const Stream& stream, const Arg& keys, absl::Span<const Arg> values,
                                               const Arg& offsets, const SortOptions& options = {});
inline absl::StatusOr<SortedByKey> SegmentedSortByKey(const Stream& stream, const Arg& keys,
                                                      std::initializer_list<Arg> values, const Arg& offsets,
                                                      const SortOptions& options = {}) {
  return SegmentedSortByKey(stream, keys, absl::MakeConstSpan(values.begin(), values.size()), offsets, options);
}
absl::Status SegmentedSortByKeyInto(const Stream& stream, const Arg& sorted_keys, absl::Span<const Arg> sorted_values,
                                    const Arg& keys, absl::Span<const Arg> values, const Arg& offsets,
                                    const SortOptions& options = {});

}  // namespace slipway

#endif  // SLIPWAY_SORT_H_
