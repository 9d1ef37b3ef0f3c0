#include "tests/jit/op_kernels.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "jit/builder.h"

namespace slipway {

using ir::Builder;
using ir::Op;
using ir::OperandRule;
using ir::ParamId;
using ir::ValueId;

const std::vector<DType> kArithmeticTypes = {
    DType::kBool,   DType::kInt8,   DType::kInt16,   DType::kInt32,    DType::kInt64,   DType::kUInt8,  DType::kUInt16,
    DType::kUInt32, DType::kUInt64, DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64};

std::vector<OpCase> AllOpCases() {
  std::vector<OpCase> cases;
  for (int op = 0; op < ir::kNumOperators; ++op) {
    for (DType type : kArithmeticTypes) {
      if (ir::Contains(ir::SemanticsOf(static_cast<Op>(op)).accepts, type))
        cases.push_back({static_cast<Op>(op), type});
    }
  }
  return cases;
}

std::string CaseName(const OpCase& c) {
  static const char* const kSigns[] = {"add", "sub", "mul", "div", "rem"};
  std::string name = ir::Name(c.op);
  for (char ch : name) {
    if (ch >= 'a' && ch <= 'z') return absl::StrCat(name, "_", AsAbsl(ShortName(c.type)));
  }
  const int index = static_cast<int>(c.op);
  return absl::StrCat("op", index, "_", index < 5 ? kSigns[index] : "", "_", AsAbsl(ShortName(c.type)));
}

std::vector<DType> OperandTypes(const OpCase& c) {
  const ir::Semantics& row = ir::SemanticsOf(c.op);
  std::vector<DType> types(row.arity, c.type);
  if (row.operands == OperandRule::kShift) types[1] = DType::kUInt32;
  if (row.operands == OperandRule::kSelect) types[0] = DType::kBool;
  return types;
}

// A kernel's parameters come before its body, so the operator is tried once to see what it gives.
DType ResultType(const OpCase& c) {
  Builder b("probe");
  std::vector<ValueId> operands;
  for (DType type : OperandTypes(c)) {
    operands.push_back(b.Scalar(b.AddScalar(absl::StrCat("p", operands.size()), type)));
  }
  return b.TypeOf(b.Apply(c.op, operands));
}

absl::StatusOr<ir::Kernel> OpKernel(const OpCase& c) {
  // No position is constant; the one "constant" makes out[i * 1 + 0].
  return ConstantsKernel(c, -1, {0});
}

absl::StatusOr<ir::Kernel> ConstantsKernel(const OpCase& c, int position, const std::vector<uint64_t>& constants) {
  Builder b(CaseName(c));
  const ParamId out = b.AddArray({.name = "out", .dtype = ResultType(c), .rank = 1});
  const std::vector<DType> types = OperandTypes(c);
  std::vector<ParamId> inputs(types.size());
  for (size_t k = 0; k < types.size(); ++k) {
    if (static_cast<int>(k) == position) continue;
    inputs[k] = b.AddArray({.name = std::string(1, 'a' + k), .dtype = types[k], .rank = 1, .read_only = true});
  }
  const ValueId i = b.GlobalIndex(DType::kInt64);
  b.BeginIf(b.Apply(Op::kLt, {i, b.Shape(inputs[position == 0 ? 1 : 0], 0)}));
  std::vector<ValueId> operands(types.size());
  for (size_t k = 0; k < types.size(); ++k) {
    if (static_cast<int>(k) != position) operands[k] = b.Load(inputs[k], {i});
  }
  const ValueId row = b.Apply(Op::kMul, {i, b.Literal(static_cast<int64_t>(constants.size()))});
  for (size_t k = 0; k < constants.size(); ++k) {
    if (position >= 0) operands[position] = b.Constant(types[position], constants[k]);
    const ValueId at = b.Apply(Op::kAdd, {row, b.Literal(static_cast<int64_t>(k))});
    b.Store(out, {at}, b.Apply(c.op, operands));
  }
  b.EndIf();
  return std::move(b).Finish();
}

absl::StatusOr<ir::Kernel> CastKernel(DType from, DType to) {
  Builder b(absl::StrCat("cast_", AsAbsl(ShortName(from)), "_", AsAbsl(ShortName(to))));
  const ParamId out = b.AddArray({.name = "out", .dtype = to, .rank = 1});
  const ParamId a = b.AddArray({.name = "a", .dtype = from, .rank = 1, .read_only = true});
  const ValueId i = b.GlobalIndex(DType::kInt64);
  b.BeginIf(b.Apply(Op::kLt, {i, b.Shape(out, 0)}));
  b.Store(out, {i}, b.Cast(to, b.Load(a, {i})));
  b.EndIf();
  return std::move(b).Finish();
}

}  // namespace slipway
