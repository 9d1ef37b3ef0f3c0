// Formats of Printf and Check in kernels.
#ifndef SLIPWAY_JIT_PRINTF_FORMAT_H_
#define SLIPWAY_JIT_PRINTF_FORMAT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "slipway/dtype.h"

namespace slipway::ir {

struct PrintfFormat {
  std::string text;          // With the sizes that the operands have.
  std::vector<DType> types;  // What each operand is converted to: int32, uint32, int64, uint64 or float64.
};

// `what` begins messages. Checks that a format asks for as many numbers as there are, and for numbers of their kind.
// INVALID_ARGUMENT, quoting the conversion and the operand, otherwise; for conversions that kernels do not have (%s,
// %p, %n, widths of '*'); for a NUL, and past 32 operands, which is what CUDA's printf takes.
absl::StatusOr<PrintfFormat> CheckPrintfFormat(const std::string& what, const std::string& format,
                                               absl::Span<const DType> operands);

}  // namespace slipway::ir

#endif  // SLIPWAY_JIT_PRINTF_FORMAT_H_
