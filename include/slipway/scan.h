// Texts whose reductions run along: every element has them of what came so far.
//
//   Scan balance = Scan::Parse("sum(paid) - sum(spent)").value();
//   AnyArray y = balance(stream, {{"paid", paid}, {"spent", spent}}).value();   // y[i]: of elements 0 to i.
//
// The text is one of the elementwise language (docs/language.md) with at least one reduction over axes, and is computed
// for every element of what its inputs broadcast to, with `sum(x)` and the like standing for the reduction of the
// elements from the first of its row up to this one, or up to the one before (ScanOptions::exclusive). A row is the
// whole array in row-major order; with `axis=`, the same for all reductions of the text, the elements along those axes.
// What stands before a reduction and around it is part of the same kernel, and several reductions run together. They
// may be by operations of the text's own (reduce(f, identity, x)): elements are brought together in their order.
//
// Outputs that are written by index scatter: with "let k = count(x > 0); if x > 0 { out[k - 1] = x }" an array of the
// positive elements is written, which is how Select (select.h) works.
//
// Sums of floats come out the same in every run, in an order that follows from the shapes alone. A scan takes one
// launch for a row of up to 16,384 elements and for any number of shorter rows, else two, and memory of the stream
// between them.
#ifndef SLIPWAY_SCAN_H_
#define SLIPWAY_SCAN_H_

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

struct ScanOptions : ElementwiseOptions {
  bool exclusive = false;  // Of the elements before this one: the first of a row has the reduction of none.
};

// A parsed text, not tied to a device; copies share the compiled kernels. Safe to use from any thread. Calls queue
// their work on the stream and return.
class Scan {
 public:
  // `text` as for Elementwise::Parse; an expression alone stands for "result = ...". INVALID_ARGUMENT as there, and for
  // a text without a reduction over axes, with reductions over different axes, in one another, in a branch, a loop or a
  // function, or behind a store or an update; for `shape(d)` and `index(d)`, which would be the row's.
  static absl::StatusOr<Scan> Parse(std::string_view text, const ScanOptions& options = {});

  // Inputs by name. Allocates the output for the stream. Errors as Elementwise's; INVALID_ARGUMENT for `index()` where
  // the axes are not the last ones.
  absl::StatusOr<AnyArray> operator()(const Stream& stream, std::initializer_list<NamedArg> inputs) const;
  absl::StatusOr<std::vector<AnyArray>> Evaluate(const Stream& stream, absl::Span<const NamedArg> inputs) const;
  // Outputs and inputs by name, into arrays that are there. An output may be an input, element by element.
  absl::Status Into(const Stream& stream, absl::Span<const NamedArg> args) const;
  absl::Status Into(const Stream& stream, std::initializer_list<NamedArg> args) const {
    return Into(stream, absl::MakeConstSpan(args.begin(), args.size()));
  }

  // The same with segments for rows: segment s is the elements offsets[s] to offsets[s + 1] - 1 of arrays of rank 1.
  // `offsets` is an array of rank 1 of int32, int64 or uint32, ascending, within the arrays; that is not checked.
  // Elements in no segment are not written.
  absl::StatusOr<AnyArray> OverSegments(const Stream& stream, const Arg& offsets,
                                        std::initializer_list<NamedArg> inputs) const;
  absl::Status OverSegmentsInto(const Stream& stream, const Arg& offsets, absl::Span<const NamedArg> args) const;

  uint64_t compiles() const;  // As Elementwise's.

 private:
  struct State;
  explicit Scan(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

}  // namespace slipway

#endif  // SLIPWAY_SCAN_H_
