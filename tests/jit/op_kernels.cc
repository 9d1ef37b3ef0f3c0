#include "tests/jit/op_kernels.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "jit/builder.h"

namespace slipway {

using ir::Builder;
using ir::Op;
using ir::ParamId;
using ir::ValueId;

const std::vector<DType> kArithmeticTypes = {
    DType::kBool,   DType::kInt8,   DType::kInt16,   DType::kInt32,    DType::kInt64,   DType::kUInt8,  DType::kUInt16,
    DType::kUInt32, DType::kUInt64, DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64};

std::vector<OpCase> AllOpCases() {
  std::vector<OpCase> cases;
  for (int op = 0; op < ir::kNumOperators; ++op) {
    for (DType type : kArithmeticTypes) {
      const ir::Semantics& row = ir::SemanticsOf(static_cast<Op>(op));
      if (ir::Contains(row.accepts, type) && !IsComplex(ir::ResultTypeOf(row, type)))
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

bool IsFast(const OpCase& c) { return std::string(ir::Name(c.op)).find("fast_") == 0; }

bool IsLibraryFunction(const OpCase& c) { return ir::LoweringOf(c.op, c.type).by == ir::LowerBy::kLibrary; }

namespace {

// Cases with the same key together, some at a time.
template <class Case, class Key>
std::vector<std::vector<Case>> Grouped(const std::vector<Case>& cases, Key key) {
  constexpr size_t kGroup = 16;
  std::vector<std::vector<Case>> groups;
  std::map<std::string, size_t> open;
  for (const Case& c : cases) {
    const auto [at, added] = open.try_emplace(key(c), groups.size());
    if (added || groups[at->second].size() >= kGroup) {
      at->second = groups.size();
      groups.emplace_back();
    }
    groups[at->second].push_back(c);
  }
  return groups;
}

}  // namespace

std::vector<std::vector<OpCase>> Groups(const std::vector<OpCase>& cases) {
  return Grouped(cases, [](const OpCase& c) {
    const ir::Semantics& row = ir::SemanticsOf(c.op);
    // The orders of Bessel functions and the selectors of a permutation are integers of their own kind.
    const char* kind = c.op == Op::kJn || c.op == Op::kYn ? "order" : c.op == Op::kBytePermute ? "selector" : "";
    return absl::StrCat(AsAbsl(Name(c.type)), " ", std::string(row.slots, row.arity), " ", kind);
  });
}

std::vector<std::vector<CastCase>> Groups(const std::vector<CastCase>& cases) {
  return Grouped(cases, [](const CastCase& c) { return std::string(Name(c.from)); });
}

std::vector<DType> OperandTypes(const OpCase& c) {
  const ir::Semantics& row = ir::SemanticsOf(c.op);
  std::vector<DType> types;
  for (int i = 0; i < row.arity; ++i) types.push_back(ir::OperandTypeOf(row, c.type, i));
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

absl::StatusOr<ir::Kernel> OpKernel(const OpCase& c) { return OpsKernel({c}); }

absl::StatusOr<ir::Kernel> OpsKernel(const std::vector<OpCase>& cases) {
  // No position is constant; the one "constant" makes out[i * 1 + 0].
  return ConstantsKernel(cases, -1, {0});
}

absl::StatusOr<ir::Kernel> ConstantsKernel(const std::vector<OpCase>& cases, int position,
                                           const std::vector<uint64_t>& constants) {
  Builder b(CaseName(cases[0]));
  std::vector<ParamId> outs;
  for (const OpCase& c : cases) {
    outs.push_back(b.AddArray({.name = absl::StrCat("out", outs.size()), .dtype = ResultType(c), .rank = 1}));
  }
  const std::vector<DType> types = OperandTypes(cases[0]);
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
    for (size_t c = 0; c < cases.size(); ++c) b.Store(outs[c], {at}, b.Apply(cases[c].op, operands));
  }
  b.EndIf();
  return std::move(b).Finish();
}

std::string CaseName(const CastCase& c) {
  return absl::StrCat("cast_", AsAbsl(ShortName(c.from)), "_", AsAbsl(ShortName(c.to)),
                      c.kind == ir::CastKind::kValue ? "" : "_", Suffix(c.kind));
}

absl::StatusOr<ir::Kernel> CastsKernel(const std::vector<CastCase>& cases) {
  Builder b(CaseName(cases[0]));
  std::vector<ParamId> outs;
  for (const CastCase& c : cases) {
    outs.push_back(b.AddArray({.name = absl::StrCat("out", outs.size()), .dtype = c.to, .rank = 1}));
  }
  const ParamId a = b.AddArray({.name = "a", .dtype = cases[0].from, .rank = 1, .read_only = true});
  const ValueId i = b.GlobalIndex(DType::kInt64);
  b.BeginIf(b.Apply(Op::kLt, {i, b.Shape(outs[0], 0)}));
  const ValueId x = b.Load(a, {i});
  for (size_t c = 0; c < cases.size(); ++c) b.Store(outs[c], {i}, b.Cast(cases[c].to, x, cases[c].kind));
  b.EndIf();
  return std::move(b).Finish();
}
absl::StatusOr<ir::Kernel> CastKernel(DType from, DType to) { return CastsKernel({{from, to, ir::CastKind::kValue}}); }

std::vector<CastCase> AllCastCases() {
  std::vector<CastCase> cases;
  for (int kind = 0; kind < ir::kNumCastKinds; ++kind) {
    for (DType from : kArithmeticTypes) {
      for (DType to : kArithmeticTypes) {
        Builder b("probe");
        b.Cast(to, b.Scalar(b.AddScalar("x", from)), static_cast<ir::CastKind>(kind));
        if (b.status().ok()) cases.push_back({from, to, static_cast<ir::CastKind>(kind)});
      }
    }
  }
  return cases;
}

}  // namespace slipway
