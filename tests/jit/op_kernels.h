// Kernels that apply one operator, for tests that go through the whole table.
#ifndef SLIPWAY_TESTS_JIT_OP_KERNELS_H_
#define SLIPWAY_TESTS_JIT_OP_KERNELS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/ir.h"
#include "jit/semantics.h"

namespace slipway {

// An operator on operands of one type: T of jit/semantics.h.
struct OpCase {
  ir::Op op;
  DType type;
};
// Every operator on every type that its row accepts.
std::vector<OpCase> AllOpCases();
// "floor_div_i32": fit for a kernel and for a test.
std::string CaseName(const OpCase& c);

// The types of the operands of a case: T, but for the bool of a select and the uint32 count of a shift.
std::vector<DType> OperandTypes(const OpCase& c);

// The type of the result.
DType ResultType(const OpCase& c);

// out[i] = op(a[i], b[i], ...) for i < out.shape(0); parameters out, then "a", "b", "c" as many as there are operands,
// 1-D and strided.
absl::StatusOr<ir::Kernel> OpKernel(const OpCase& c);

// out[i * n + k] = op with operand `position` the k-th of n `constants` and the others a[i], b[i], ...; i runs over the
// first input's extent. Parameters as in OpKernel, without the operand at `position`.
absl::StatusOr<ir::Kernel> ConstantsKernel(const OpCase& c, int position, const std::vector<uint64_t>& constants);

// out[i] = in[i] cast.
absl::StatusOr<ir::Kernel> CastKernel(DType from, DType to);

// bool, the integers and the floats.
extern const std::vector<DType> kArithmeticTypes;

}  // namespace slipway

#endif  // SLIPWAY_TESTS_JIT_OP_KERNELS_H_
