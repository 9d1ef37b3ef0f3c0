// Arrays to numbers, and segments of arrays to arrays.
//
//   AnyArray variance = Reduce(stream, "sum((x - m) * (x - m)) / n", {{"x", x}, {"m", mean}, {"n", n}}).value();
//   AnyArray totals = SegmentedReduce(stream, offsets, "sum(price * count)", {{"price", p}, {"count", c}}).value();
//   AnyArray last = Reduce(stream, "def later(a, b) = b != 0 ? b : a\nlast = reduce(later, 0, x)", {{"x", x}}).value();
#ifndef SLIPWAY_REDUCE_H_
#define SLIPWAY_REDUCE_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "slipway/arg.h"
#include "slipway/array.h"
#include "slipway/elementwise_options.h"
#include "slipway/stream.h"

namespace slipway {

// The value of an expression with reductions over axes (docs/language.md, "Reductions"), as Elementwise gives it, in
// memory of the stream: 0-d where all axes are reduced. A text of several statements assigns one output; functions that
// it defines may be operations of its reductions. Texts are parsed once and kept, up to 1,024 in a process; a program
// with more, or with functions of libraries, keeps Elementwise objects of its own. Errors as Elementwise's.
absl::StatusOr<AnyArray> Reduce(const Stream& stream, std::string_view expression,
                                std::initializer_list<NamedArg> inputs);

// A text whose reductions go over segments of arrays: segment s is the elements offsets[s] to offsets[s + 1] - 1 of
// arrays of rank 1, and the output has an element a segment. What stands outside of the reductions has one, too:
// "sum(x * w) / scale" with an array `scale`. Of an empty segment a reduction is that of none. Copies share the
// compiled kernels; safe to use from any thread.
class SegmentedReduction {
 public:
  // As Elementwise::Parse; an expression alone stands for "result = ...". INVALID_ARGUMENT also for a text without a
  // reduction over axes, and with ones over chosen axes, of different arrays' broadcasts, in one another, in a branch,
  // a loop or a function.
  static absl::StatusOr<SegmentedReduction> Parse(std::string_view text, const ElementwiseOptions& options = {});

  // `offsets` is an array of rank 1 of int32, int64 or uint32, ascending, within the arrays; that is not checked.
  // Positions of argmin and argmax count from the segment's begin. Errors as Elementwise's, and INVALID_ARGUMENT for
  // offsets that are none, and arrays of other ranks.
  absl::StatusOr<AnyArray> operator()(const Stream& stream, const Arg& offsets,
                                      std::initializer_list<NamedArg> inputs) const;
  absl::Status Into(const Stream& stream, const Arg& offsets, absl::Span<const NamedArg> args) const;

  uint64_t compiles() const;  // As Elementwise's.

 private:
  struct State;
  explicit SegmentedReduction(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

// The same for an expression that is parsed once and kept, as Reduce's are.
absl::StatusOr<AnyArray> SegmentedReduce(const Stream& stream, const Arg& offsets, std::string_view expression,
                                         std::initializer_list<NamedArg> inputs);

}  // namespace slipway

#endif  // SLIPWAY_REDUCE_H_
