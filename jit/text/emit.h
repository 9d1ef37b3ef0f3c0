// Program to kernel IR, for inputs of known dtypes. All rules about types are the Builder's: what is inferred here is
// read off a trial run of it, so that the text language has no type rules of its own.
#ifndef SLIPWAY_JIT_TEXT_EMIT_H_
#define SLIPWAY_JIT_TEXT_EMIT_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jit/builder.h"
#include "jit/text/program.h"
#include "slipway/dtype.h"

namespace slipway::text {

// The types inside a program, for one combination of input dtypes.
struct Typing {
  std::vector<DType> outputs;  // Of each output: as stored.
  // Of each lazily evaluated choice, in the order in which their values are complete: its variable must be declared
  // before its branches are emitted.
  std::vector<DType> choices;
};

// The typing of a program. `output_types` has an entry an output: the dtype that it is stored in, or kVoid to have it
// inferred (the type of its value). Every error that depends on dtypes is found here, with line and caret:
// INVALID_ARGUMENT, or UNIMPLEMENTED for what no dtype of this stage can do.
absl::StatusOr<Typing> InferTypes(const Program& program, absl::Span<const DType> input_types,
                                  absl::Span<const DType> output_types);

// What an input stands for in a kernel: the value of a number or of an element, or the array parameter to gather from,
// which nobody may write while the kernel runs.
struct InputBinding {
  ir::ValueId value = ir::kNone;
  ir::ParamId array = ir::kNone;
};

// Emits the program's statements. Returns the value of each output, not yet converted to the type it is stored in.
absl::StatusOr<std::vector<ir::ValueId>> Emit(const Program& program, const Typing& typing,
                                              absl::Span<const InputBinding> inputs, ir::Builder& builder);

}  // namespace slipway::text

#endif  // SLIPWAY_JIT_TEXT_EMIT_H_
