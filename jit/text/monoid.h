// What a reduction keeps of the operands that it has seen, and how two such states become one: the same rules for the
// loop of one thread, for threads that share the operands out, and for scans. They stand in docs/language.md,
// "Reductions".
#ifndef SLIPWAY_JIT_TEXT_MONOID_H_
#define SLIPWAY_JIT_TEXT_MONOID_H_

#include <functional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "jit/builder.h"
#include "jit/text/program.h"
#include "slipway/dtype.h"

namespace slipway::text {

inline bool IsPosition(Reduction op) { return op == Reduction::kArgmin || op == Reduction::kArgmax; }

inline bool WantsBools(Reduction op) {
  return op == Reduction::kAny || op == Reduction::kAll || op == Reduction::kCount;
}

// A state, as values of a kernel: the accumulator, and of argmin and argmax the position (int64; -1 for none yet). Of
// an operation of the text's own as many values as that has.
using ReductionState = absl::InlinedVector<ir::ValueId, 2>;

// The operation of one reduction on operands of one dtype. Merging is associative up to the rounding of sums and
// products, and the state of no operands changes nothing.
class Monoid {
 public:
  using StartFunction = std::function<ReductionState(ir::Builder&)>;
  using MergeFunction = std::function<ReductionState(ir::Builder&, const ReductionState&, const ReductionState&)>;

  Monoid(Reduction op, DType operand) : op_(op), types_{operand} {}
  // Of an operation of the text's own, on states of these types.
  Monoid(absl::InlinedVector<DType, 2> types, StartFunction start, MergeFunction merge)
      : op_(Reduction::kCustom), types_(std::move(types)), start_(std::move(start)), merge_(std::move(merge)) {}

  Reduction op() const { return op_; }
  // Whether states have to be merged in the order of their operands; else any will do.
  bool ordered() const { return op_ == Reduction::kCustom; }
  // What operands are brought together in: integers of sums and products in 64 bits, halves in float32.
  DType accumulator() const;
  absl::InlinedVector<DType, 2> types() const;  // Of a state.

  ReductionState Start(ir::Builder& builder) const;  // Of no operands.
  // Of one operand, which is one value but for operations of the text's own. `position` is its number, for argmin and
  // argmax.
  ReductionState Of(ir::Builder& builder, absl::Span<const ir::ValueId> operand, ir::ValueId position) const;
  // Of two states; positions of equals are told apart by their numbers.
  ReductionState Merge(ir::Builder& builder, const ReductionState& a, const ReductionState& b) const;
  // The same of a state and one operand that comes behind all of its own.
  ReductionState Append(ir::Builder& builder, const ReductionState& a, const ReductionState& operand) const;
  // The reduction's value, of an operation of the text's own as many as a state has. `count` is the number of operands
  // (an integer), which a mean is divided by.
  ReductionState Results(ir::Builder& builder, const ReductionState& state, ir::ValueId count) const;

 private:
  DType operand() const { return types_[0]; }
  // Of the result, which is rounded to a half at the end, where operands are halves.
  DType result() const;

  Reduction op_;
  absl::InlinedVector<DType, 2> types_;  // Of an operand's values.
  StartFunction start_;
  MergeFunction merge_;
};

}  // namespace slipway::text

#endif  // SLIPWAY_JIT_TEXT_MONOID_H_
