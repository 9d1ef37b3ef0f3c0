// The arguments of an elementwise call: bound to the parameters of a program, checked, and turned into the loop to run.
// Every message about a call that is no type error inside the text is written here.
#ifndef SLIPWAY_JIT_OPS_ELEMENTWISE_ARGUMENTS_H_
#define SLIPWAY_JIT_OPS_ELEMENTWISE_ARGUMENTS_H_

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jit/ops/broadcast.h"
#include "jit/text/program.h"
#include "slipway/arg.h"
#include "slipway/device.h"

namespace slipway::elementwise {

// The arguments of a call in the order of the program's parameters. No outputs where they are yet to be allocated. The
// Args belong to the caller.
struct Arguments {
  absl::InlinedVector<const Arg*, 4> outputs;
  absl::InlinedVector<const Arg*, 32> inputs;
};

// By position: the inputs, or the outputs and then the inputs.
absl::StatusOr<Arguments> BindByPosition(const text::Program& program, absl::Span<const Arg> args, bool with_outputs);
absl::StatusOr<Arguments> BindByName(const text::Program& program, absl::Span<const NamedArg> args, bool with_outputs);

// Kinds, ranks, dtypes against the signature, null pointers, devices, writability.
absl::Status CheckArguments(const text::Program& program, const Arguments& arguments, const Device& device);

// Refuses to allocate what is written by index: nobody but the caller knows its shape and what it begins with.
absl::Status CheckAllocates(const text::Program& program);

// The dtype that each output is stored in, as far as it is known before types are inferred: that of the array given, or
// the declared one; else kVoid.
absl::InlinedVector<DType, 4> OutputTypes(const text::Program& program, const Arguments& arguments);

// The shapes of a call.
struct Shapes {
  Shape loop;  // Of the outputs, or what the inputs broadcast to where there are none yet.
  // What the operand of each reduction over axes broadcasts to, and which of its dimensions are reduced (a bit each).
  absl::InlinedVector<Shape, 2> operands;
  absl::InlinedVector<uint32_t, 2> reduced;
};
// Refuses shapes that do not broadcast, axes and dimensions that are not there, and, unless that is allowed, reductions
// that need an element where there is none.
enum class EmptyReductions : uint8_t { kRefused, kAllowed };
absl::StatusOr<Shapes> ShapesOf(const text::Program& program, const Arguments& arguments,
                                EmptyReductions empty = EmptyReductions::kRefused);

Footprint FootprintOf(const Arg& array);

// Whether two arrays whose first elements are at one address have each element of the loop at one address.
bool SameElements(const Arg& a, const Arg& b, const Shape& shape);

// Refuses outputs that overlap each other, or an input otherwise than element by element.
absl::Status CheckOverlaps(const text::Program& program, const Arguments& arguments, const Shape& shape);

}  // namespace slipway::elementwise

#endif  // SLIPWAY_JIT_OPS_ELEMENTWISE_ARGUMENTS_H_
