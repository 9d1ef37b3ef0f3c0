// Operators and casts against the tables of instruction results (tests/data/ptx-vectors), where an instruction of PTX
// does what they do: run on the CPU device, and folded.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "gtest/gtest.h"
#include "jit/fold.h"
#include "tests/cpu/ptx_forms.h"
#include "tests/jit/op_kernels.h"
#include "tests/jit/reference.h"
#include "tests/jit/run_on_cpu.h"

namespace slipway {
namespace {

using ir::CastKind;
using ir::Op;
using ptx_forms::Form;

constexpr const char* kData = "tests/data/ptx-vectors";

std::string PtxType(DType dtype) {
  const std::string name(ShortName(dtype));  // i32, u32, f32, bf16
  return name[0] == 'i' ? "s" + name.substr(1) : name;
}

// An operator and the instruction that it is; `order` says which operand of the instruction each of its own is.
struct Instruction {
  OpCase op;
  std::string form;
  std::vector<int> order;
};

std::vector<Instruction> Instructions() {
  std::vector<Instruction> all;
  const auto add = [&](Op op, DType type, const std::string& form, std::vector<int> order = {0, 1, 2, 3}) {
    all.push_back({{op, type}, form, order});
  };
  struct Rounded {
    Op first;
    const char* name;
  };
  for (DType type : {DType::kFloat32, DType::kFloat64}) {
    for (const Rounded& r : {Rounded{Op::kAddRn, "add"},
                             {Op::kSubRn, "sub"},
                             {Op::kMulRn, "mul"},
                             {Op::kDivRn, "div"},
                             {Op::kFmaRn, "fma"},
                             {Op::kSqrtRn, "sqrt"},
                             {Op::kRcpRn, "rcp"}}) {
      const char* const modes[] = {"rn", "rz", "rp", "rm"};
      for (int mode = 0; mode < 4; ++mode) {
        add(static_cast<Op>(static_cast<int>(r.first) + mode), type,
            absl::StrCat(r.name, ".", modes[mode], ".", PtxType(type)));
      }
    }
  }
  for (DType type : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    const std::string t = PtxType(type);
    for (const auto& [op, name] : std::map<Op, const char*>{{Op::kAdd, "add.rn."},
                                                            {Op::kSub, "sub.rn."},
                                                            {Op::kMul, "mul.rn."},
                                                            {Op::kDiv, "div.rn."},
                                                            {Op::kFma, "fma.rn."},
                                                            {Op::kSqrt, "sqrt.rn."},
                                                            {Op::kMin, "min."},
                                                            {Op::kMax, "max."},
                                                            {Op::kMinNan, "min.NaN."},
                                                            {Op::kMaxNan, "max.NaN."},
                                                            {Op::kAbs, "abs."},
                                                            {Op::kNeg, "neg."}}) {
      add(op, type, name + t);
    }
    add(Op::kCopysign, type, "copysign." + t, {1, 0});
  }
  for (DType type : {DType::kInt16, DType::kInt32, DType::kInt64, DType::kUInt16, DType::kUInt32, DType::kUInt64}) {
    const std::string t = PtxType(type);
    for (const auto& [op, name] : std::map<Op, const char*>{{Op::kMulhi, "mul.hi."},
                                                            {Op::kSad, "sad."},
                                                            {Op::kMin, "min."},
                                                            {Op::kMax, "max."},
                                                            {Op::kAbs, "abs."},
                                                            {Op::kNeg, "neg."},
                                                            {Op::kAddSat, "add.sat."},
                                                            {Op::kSubSat, "sub.sat."},
                                                            {Op::kBitFieldExtract, "bfe."}}) {
      add(op, type, name + t);
    }
    for (const auto& [op, name] :
         std::map<Op, const char*>{{Op::kDp4a, "dp4a."}, {Op::kDp2aLo, "dp2a.lo."}, {Op::kDp2aHi, "dp2a.hi."}}) {
      if (SizeOf(type) == 4) add(op, type, name + t + "." + t);
    }
  }
  for (DType type : {DType::kUInt32, DType::kUInt64}) {
    const std::string t = SizeOf(type) == 4 ? "b32" : "b64";
    add(Op::kPopc, type, "popc." + t);
    add(Op::kClz, type, "clz." + t);
    add(Op::kBrev, type, "brev." + t);
    add(Op::kBitFieldInsert, type, "bfi." + t, {1, 0, 2, 3});
  }
  add(Op::kBytePermute, DType::kUInt32, "prmt.b32");
  add(Op::kFunnelShiftLeft, DType::kUInt32, "shf.l.wrap.b32");
  add(Op::kFunnelShiftRight, DType::kUInt32, "shf.r.wrap.b32");
  add(Op::kFunnelShiftLeftClamp, DType::kUInt32, "shf.l.clamp.b32");
  add(Op::kFunnelShiftRightClamp, DType::kUInt32, "shf.r.clamp.b32");
  return all;
}

// The instruction that a cast is, where it is one.
std::string CastForm(const CastCase& c) {
  if (c.from == DType::kBool || c.to == DType::kBool || c.kind == CastKind::kBits) return "";
  const char* const float_modes[] = {"rn.", "", "rz.", "rp.", "rm."};
  const char* const integer_modes[] = {"rzi.", "rni.", "rzi.", "rpi.", "rmi."};
  const bool from_float = IsFloat(c.from), to_float = IsFloat(c.to);
  const int kind = static_cast<int>(c.kind);
  std::string modifiers;
  if (c.kind == CastKind::kSaturate) {
    if (from_float && !to_float) return "";  // It differs for a NaN.
    if (!from_float && to_float) return "";  // .sat is another thing there.
    modifiers = from_float ? "rn.satfinite." : "sat.";
  } else if (from_float && !to_float) {
    modifiers = integer_modes[kind];
  } else if (to_float) {
    const bool widens = from_float && SizeOf(c.from) < SizeOf(c.to);
    modifiers = widens ? "" : float_modes[kind];
  }
  return absl::StrCat("cvt.", modifiers, PtxType(c.to), ".", PtxType(c.from));
}

const std::map<std::string, Form>& Forms() {
  static const auto* const kForms = [] {
    auto* forms = new std::map<std::string, Form>;
    for (std::vector<Form>& file : ptx_forms::ReadForms(kData, "")) {
      for (Form& form : file) forms->emplace(form.form, std::move(form));
    }
    return forms;
  }();
  return *kForms;
}
const Form* Find(const std::string& name) {
  const auto found = Forms().find(name);
  return found == Forms().end() ? nullptr : &found->second;
}

uint64_t Cut(DType dtype, uint64_t bits) { return bits & ir::WidthMask(dtype); }

// Whether a result is what a table says: some NaN where it says so.
bool IsAsExpected(DType dtype, const std::string& expected, uint64_t bits) {
  if (expected.find('n') != std::string::npos) return std::isnan(FloatValue(dtype, bits));
  return Matches(dtype, {Cut(dtype, std::stoull(expected, nullptr, 16))}, bits);
}

// A row of operands out of a table, and what it gives.
struct Row {
  size_t which;  // Of the operators or casts of a group.
  std::vector<uint64_t> operands;
  std::string expected;
};

std::vector<Column> Columns(const std::vector<Row>& rows, const std::vector<DType>& types) {
  std::vector<Column> columns;
  for (size_t k = 0; k < types.size(); ++k) {
    columns.push_back({types[k], {}});
    for (const Row& row : rows) columns.back().bits.push_back(row.operands[k]);
  }
  return columns;
}

constexpr int kMaxReports = 5;

TEST(Vectors, OfOperators) {
  std::map<std::string, std::vector<Instruction>> by_name;  // Of the operator on its type; one may have several forms.
  std::vector<OpCase> cases;
  for (const Instruction& instruction : Instructions()) {
    if (Find(instruction.form) == nullptr) continue;
    by_name[CaseName(instruction.op)].push_back(instruction);
    cases.push_back(instruction.op);
  }
  size_t checked = 0, forms = 0;
  for (const std::vector<OpCase>& group : Groups(cases)) {
    const std::vector<DType> types = OperandTypes(group[0]);
    std::vector<Row> rows;
    for (size_t n = 0; n < group.size(); ++n) {
      for (const Instruction& instruction : by_name[CaseName(group[n])]) {
        const Form& form = *Find(instruction.form);
        ++forms;
        for (size_t t = 0; t < form.threads; ++t) {
          Row row = {n, {}, form.expected[t]};
          bool comparable = true;
          for (size_t k = 0; k < types.size(); ++k) {
            row.operands.push_back(Cut(types[k], form.inputs[t * form.in.size() + instruction.order[k]]));
            // bfe and bfi take a count modulo 256, the operators as it is.
            const bool count = ir::SemanticsOf(group[n].op).slots[k] == ir::kSlotCount;
            comparable = comparable && !(count && row.operands[k] > 255);
          }
          if (comparable) rows.push_back(row);
        }
      }
    }
    absl::StatusOr<Results> results =
        RunOnCpu(OpsKernel(group), Columns(rows, types), static_cast<int64_t>(rows.size()));
    ASSERT_TRUE(results.ok()) << results.status();
    int wrong = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const OpCase& c = group[rows[i].which];
      const uint64_t result = (*results)[rows[i].which][i];
      uint64_t folded = result;
      ir::Fold(c.op, c.type, rows[i].operands, &folded);
      ++checked;
      const bool right = IsAsExpected(ResultType(c), rows[i].expected, result) &&
                         IsAsExpected(ResultType(c), rows[i].expected, folded);
      if (right || ++wrong > kMaxReports) continue;
      std::string operands;
      for (size_t k = 0; k < types.size(); ++k) absl::StrAppend(&operands, " ", Show(types[k], rows[i].operands[k]));
      ADD_FAILURE() << CaseName(c) << operands << " gave " << Show(ResultType(c), result) << " and folds to "
                    << Show(ResultType(c), folded) << ", expected " << rows[i].expected;
    }
    EXPECT_EQ(wrong, 0);
  }
  EXPECT_GT(forms, 120u);
  EXPECT_GT(checked, 15000u);
}

TEST(Vectors, OfCasts) {
  size_t checked = 0, forms = 0;
  std::vector<CastCase> cases;
  for (const CastCase& c : AllCastCases()) {
    if (Find(CastForm(c)) != nullptr) cases.push_back(c);
  }
  for (const std::vector<CastCase>& group : Groups(cases)) {
    std::vector<Row> rows;
    for (size_t n = 0; n < group.size(); ++n) {
      const Form& form = *Find(CastForm(group[n]));
      ++forms;
      for (size_t t = 0; t < form.threads; ++t) {
        rows.push_back({n, {Cut(group[n].from, form.inputs[t])}, form.expected[t]});
      }
    }
    absl::StatusOr<Results> results =
        RunOnCpu(CastsKernel(group), Columns(rows, {group[0].from}), static_cast<int64_t>(rows.size()));
    ASSERT_TRUE(results.ok()) << results.status();
    int wrong = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const CastCase& c = group[rows[i].which];
      const uint64_t result = (*results)[rows[i].which][i];
      const uint64_t folded = ir::FoldCast(c.from, c.to, rows[i].operands[0], c.kind);
      ++checked;
      const bool right = IsAsExpected(c.to, rows[i].expected, result) && IsAsExpected(c.to, rows[i].expected, folded);
      if (right || ++wrong > kMaxReports) continue;
      ADD_FAILURE() << CaseName(c) << " of " << Show(c.from, rows[i].operands[0]) << " gave " << Show(c.to, result)
                    << " and folds to " << Show(c.to, folded) << ", expected " << rows[i].expected;
    }
    EXPECT_EQ(wrong, 0);
  }
  EXPECT_GT(forms, 250u);
  EXPECT_GT(checked, 25000u);
}

}  // namespace
}  // namespace slipway
