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

// Whether it is one of the fast functions, which approximate.
bool IsFast(const OpCase& c);

bool IsLibraryFunction(const OpCase& c);

// The types of the operands of a case, by the slots of its row.
std::vector<DType> OperandTypes(const OpCase& c);

// The type of the result.
DType ResultType(const OpCase& c);

// out[i] = op(a[i], b[i], ...) for i < out.shape(0); parameters out, then "a", "b", ... as many as there are operands,
// 1-D and strided.
absl::StatusOr<ir::Kernel> OpKernel(const OpCase& c);

// The same of several operators on operands of the same types: parameters out0, out1, ..., then the operands. Compiling
// costs more than running does, and one kernel of ten operators less than ten kernels.
absl::StatusOr<ir::Kernel> OpsKernel(const std::vector<OpCase>& cases);

// Operators whose operands are of the same types and take the same values, some at a time: for OpsKernel.
std::vector<std::vector<OpCase>> Groups(const std::vector<OpCase>& cases);

// outN[i * n + k] = op with operand `position` the k-th of n `constants` and the others a[i], b[i], ...; i runs over
// the first input's extent. Parameters as in OpsKernel, without the operand at `position`.
absl::StatusOr<ir::Kernel> ConstantsKernel(const std::vector<OpCase>& cases, int position,
                                           const std::vector<uint64_t>& constants);

// A kind of cast between two types of kArithmeticTypes.
struct CastCase {
  DType from, to;
  ir::CastKind kind;
};
std::vector<CastCase> AllCastCases();                                           // Every one that there is.
std::vector<std::vector<CastCase>> Groups(const std::vector<CastCase>& cases);  // Of one source type, some at a time.
// "cast_i32_f32_rz".
std::string CaseName(const CastCase& c);
// out0[i], out1[i], ... = in[i] cast; all from one type.
absl::StatusOr<ir::Kernel> CastsKernel(const std::vector<CastCase>& cases);
absl::StatusOr<ir::Kernel> CastKernel(DType from, DType to);

// bool, the integers and the floats.
extern const std::vector<DType> kArithmeticTypes;

}  // namespace slipway

#endif  // SLIPWAY_TESTS_JIT_OP_KERNELS_H_
