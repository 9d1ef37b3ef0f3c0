// Runs kernels of tests/jit/op_kernels.h on the CPU device (or the GPU that stands in for it).
#ifndef SLIPWAY_TESTS_JIT_RUN_ON_CPU_H_
#define SLIPWAY_TESTS_JIT_RUN_ON_CPU_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/compile.h"
#include "jit/ir.h"

namespace slipway {

// An array of elements given as bits, zero-extended.
struct Column {
  DType dtype;
  std::vector<uint64_t> bits;
};

// Runs a kernel whose first parameters are its outputs, of `count` elements, and the others `inputs`. The results are
// those of each output.
using Results = std::vector<std::vector<uint64_t>>;
absl::StatusOr<Results> RunOnCpu(const absl::StatusOr<ir::Kernel>& kernel, const std::vector<Column>& inputs,
                                 int64_t count, CompileOptions options = {});

}  // namespace slipway

#endif  // SLIPWAY_TESTS_JIT_RUN_ON_CPU_H_
