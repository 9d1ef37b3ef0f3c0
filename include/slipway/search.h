// Searching in sorted arrays: where each of many numbers belongs.
//
//   AnyArray first = LowerBound(stream, sorted, needles).value();    // NumPy's searchsorted(sorted, needles, "left")
//   AnyArray behind = UpperBound(stream, sorted, needles).value();   // and "right"
//
// `sorted` is an array of one dimension in ascending order as Sort (sort.h) leaves it: -0 equals +0, NaNs are equal to
// each other and greater than all numbers. `needles` is an array of any shape; the result, int64, has the same. Dtypes
// are bools, integers and real floats of any width, any two of them that can be compared without rounding: all pairs
// but (u)int64 with floats. Both may be of any layout. In what is not sorted some position is found.
//
// Work is queued on the stream and nothing is waited for; results are memory of the stream. Each function may be called
// from any thread. Kernels are made once for each pair of dtypes.
//
// All functions return INVALID_ARGUMENT, naming the argument, before anything is queued, for: a number where an array
// is asked for; an array of another device than the stream's, at a null or misaligned address, or with a negative
// extent; an output that may not be written, or of another dtype or shape; complex numbers, or dtypes that are not
// compared exactly; `sorted` of other than one dimension.
#ifndef SLIPWAY_SEARCH_H_
#define SLIPWAY_SEARCH_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/arg.h"
#include "slipway/array.h"
#include "slipway/stream.h"

namespace slipway {

// How many elements of `sorted` are less than each needle: the first place where it can stand.
absl::StatusOr<AnyArray> LowerBound(const Stream& stream, const Arg& sorted, const Arg& needles);
// How many are not greater: the last place.
absl::StatusOr<AnyArray> UpperBound(const Stream& stream, const Arg& sorted, const Arg& needles);

// Into an int64 array of the needles' shape, which may overlap the others.
absl::Status LowerBoundInto(const Stream& stream, const Arg& positions, const Arg& sorted, const Arg& needles);
absl::Status UpperBoundInto(const Stream& stream, const Arg& positions, const Arg& sorted, const Arg& needles);

// In segments of `sorted`, elements offsets[i] to offsets[i + 1] - 1, each sorted by itself (SegmentedSort, which says
// what offsets are): needles[i], of all dimensions but the first, are looked for in segment i. Positions are those in
// the whole of `sorted`. INVALID_ARGUMENT also where the needles' first extent is not the number of segments.
absl::StatusOr<AnyArray> SegmentedLowerBound(const Stream& stream, const Arg& sorted, const Arg& offsets,
                                             const Arg& needles);
absl::StatusOr<AnyArray> SegmentedUpperBound(const Stream& stream, const Arg& sorted, const Arg& offsets,
                                             const Arg& needles);
absl::Status SegmentedLowerBoundInto(const Stream& stream, const Arg& positions, const Arg& sorted, const Arg& offsets,
                                     const Arg& needles);
absl::Status SegmentedUpperBoundInto(const Stream& stream, const Arg& positions, const Arg& sorted, const Arg& offsets,
                                     const Arg& needles);

}  // namespace slipway

#endif  // SLIPWAY_SEARCH_H_
