// Kernel IR back to the text language.
#ifndef SLIPWAY_JIT_OPS_ELEMENTWISE_TEXT_H_
#define SLIPWAY_JIT_OPS_ELEMENTWISE_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "jit/ir.h"
#include "jit/ops/elementwise_kernel.h"

namespace slipway::elementwise {

// A text that computes what a kernel computes, of the same inputs and outputs, in the same order. Built for the
// specialisation of the kernel that was printed it gives the same IR (ir::Hash), but where what one expression has to
// be in the language was none: conditions of while loops (which become `while true` with a break) and operands of
// reductions over axes (which become functions) with steps of control in them, results of which some are converted
// where they are returned.
struct PrintedText {
  std::string text;       // One statement an instruction.
  std::string signature;  // Every input and output, with its dtype where the kernel reads it.
};

// Prints a kernel that BuildKernel wrote. UNIMPLEMENTED, naming the instruction and its place, for what the language
// cannot say; nothing that it can say is among that.
absl::StatusOr<PrintedText> PrintText(const ir::Kernel& kernel, const KernelOrigin& origin);

}  // namespace slipway::elementwise

#endif  // SLIPWAY_JIT_OPS_ELEMENTWISE_TEXT_H_
