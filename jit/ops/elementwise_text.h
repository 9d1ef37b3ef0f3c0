// Kernel IR back to the text language.
#ifndef SLIPWAY_JIT_OPS_ELEMENTWISE_TEXT_H_
#define SLIPWAY_JIT_OPS_ELEMENTWISE_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "jit/ir.h"
#include "jit/ops/elementwise_kernel.h"

namespace slipway::elementwise {

// A text whose kernel is the one that was printed: parsed with the signature, and built for the specialisation, it
// gives the same IR (ir::Hash), but for while loops whose condition is no single expression, which become `while true`
// with a break.
struct PrintedText {
  std::string text;       // One statement an instruction.
  std::string signature;  // Every parameter with its dtype.
  Specialization specialization;
};

// Prints a kernel that runs once for each element of a loop, as BuildKernel writes it: a view that such a kernel is
// given of an array is an input of its own here. UNIMPLEMENTED, naming the instruction and its place, for what the
// language cannot say: kernels of another make, shared memory, barriers, functions that return early, ...
absl::StatusOr<PrintedText> PrintText(const ir::Kernel& kernel);

}  // namespace slipway::elementwise

#endif  // SLIPWAY_JIT_OPS_ELEMENTWISE_TEXT_H_
