// Values: every operator on every type and every cast, run on the CPU device and folded, against a reference of its
// own.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "jit/builder.h"
#include "jit/compile.h"
#include "jit/fold.h"
#include "tests/jit/op_kernels.h"
#include "tests/jit/reference.h"
#include "tests/jit/run_on_cpu.h"

namespace slipway {
namespace {

using ir::Op;

// Floats of all magnitudes, and in [-2, 2], where most of the functions of one operand are at their most curved.
std::vector<uint64_t> RandomFloats(DType dtype, int count) {
  std::mt19937_64 random(7);
  std::vector<uint64_t> values;
  const uint64_t mask = SizeOf(dtype) == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * SizeOf(dtype))) - 1;
  for (int k = 0; k < count; ++k) {
    const uint64_t bits = random();
    const long double unit = static_cast<long double>(static_cast<int64_t>(bits)) * 0x1p-62L;
    values.push_back(k % 3 == 0 ? bits & mask : FloatBits(dtype, k % 3 == 1 ? unit : unit * 10));
  }
  return values;
}

// Where an error is promised at all.
bool InDomain(const OpCase& c, uint64_t bits) {
  if (!IsFloat(c.type)) return true;
  const long double x = FloatValue(c.type, bits);
  switch (c.op) {
    case Op::kJn:  // libdevice's recurrence overflows on the way to what is nearly 0.
      return x == 0 || std::fabs(x) > 1e-4L || !std::isfinite(x);
    case Op::kLgamma:
    case Op::kTgamma:
      return !std::signbit(x);  // Not near the poles and zeros on the negative side.
    case Op::kFastSin:
    case Op::kFastCos:
      return !(std::fabs(x) > 3.1416L);
    case Op::kFastTan:
      return !(std::fabs(x) > 1.5L);
    case Op::kFastExp:
    case Op::kFastExp10:
      return !(std::fabs(x) > 36);  // The error grows with the argument.
    case Op::kFastPow:
      return std::isfinite(x) && !std::signbit(x) && x > 0x1p-10L && x < 0x1p5L;
    case Op::kFastDivide:
      return !(std::fabs(x) > 0x1p126L) && (x == 0 || std::fabs(x) >= 0x1p-126L);
    case Op::kFastRcp:
    case Op::kFastRsqrt:
    case Op::kFastSqrt:
      return x == 0 || std::fabs(x) >= 0x1p-126L;
    default:
      return true;
  }
}

std::vector<uint64_t> ValuesFor(const OpCase& c, size_t operand) {
  const DType dtype = OperandTypes(c)[operand];
  const std::vector<DType> types = OperandTypes(c);
  const char slot = ir::SemanticsOf(c.op).slots[operand];
  std::vector<uint64_t> values;
  if (slot == ir::kSlotUInt64) {
    values = {0, 1, 0xffffffff, 0x100000000, 0x85a308d3243f6a88, ~uint64_t{0}};
  } else if (slot == ir::kSlotCount || slot == ir::kSlotModulo) {
    values = {0, 1, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 100, 255, 256, 0x80000000, 0xffffffff};
    if (c.op == Op::kBytePermute) values = {0x3210, 0x7654, 0x0123, 0xfedc, 0x8888, 0x4040, 0xffff1234, 0};
  } else if (slot == ir::kSlotInt32) {
    if (c.op == Op::kJn || c.op == Op::kYn) {
      values = {0, 1, 2, 3, 5, 0xffffffff};
    } else {
      for (int64_t n : {0,   1,   2,   3,   10,  23,   24,   31,   52,   53,   100,  126,
                        127, 149, 150, 200, 300, 1022, 1023, 1074, 1100, 2100, 2200, INT32_MAX}) {
        values.push_back(static_cast<uint32_t>(n));
        values.push_back(static_cast<uint32_t>(-n));
      }
      values.push_back(0x80000000);
    }
  } else {
    values = InterestingValues(dtype);
    if (IsFloat(dtype) && types.size() <= 2) {
      const std::vector<uint64_t> more = RandomFloats(dtype, types.size() == 1 ? 300 : 15);
      values.insert(values.end(), more.begin(), more.end());
    }
  }
  if (types.size() >= 3 && dtype != DType::kBool && c.op != Op::kSelect) {  // Of the cube, a part each way will do.
    const size_t step = types.size() == 4 ? 5 : IsFloat(dtype) ? 3 : 2;
    std::vector<uint64_t> some;
    for (size_t k = operand; k < values.size(); k += step) some.push_back(values[k]);
    return some;
  }
  return values;
}

// All combinations of the operands' values, as columns.
std::vector<Column> Combinations(const OpCase& c, int without = -1) {
  std::vector<Column> columns;
  size_t total = 1;
  const std::vector<DType> types = OperandTypes(c);
  for (size_t k = 0; k < types.size(); ++k) {
    if (static_cast<int>(k) == without) continue;
    const std::vector<uint64_t> values = ValuesFor(c, k);
    for (Column& column : columns) {
      const std::vector<uint64_t> once = column.bits;
      for (size_t r = 1; r < values.size(); ++r) column.bits.insert(column.bits.end(), once.begin(), once.end());
    }
    Column column{types[k], {}};
    for (uint64_t value : values) column.bits.insert(column.bits.end(), total, value);
    columns.push_back(column);
    total *= values.size();
  }
  return columns;
}

std::string ShowOperands(const OpCase& c, const uint64_t* operands) {
  std::string text;
  const std::vector<DType> types = OperandTypes(c);
  for (size_t k = 0; k < types.size(); ++k) text += (k > 0 ? ", " : "") + Show(types[k], operands[k]);
  return text;
}

bool InDomain(const OpCase& c, const uint64_t* operands) {
  const std::vector<DType> types = OperandTypes(c);
  for (size_t k = 0; k < types.size(); ++k) {
    if (IsFloat(types[k]) && !InDomain(c, operands[k])) return false;
  }
  return true;
}

constexpr int kMaxReports = 5;

// Reports what one operator gave for some operands where it is wrong.
class Comparison {
 public:
  Comparison(const OpCase& c, const char* how) : c_(c), how_(how), type_(ResultType(c)) {}
  ~Comparison() { EXPECT_EQ(wrong_, 0) << CaseName(c_) << how_ << ": of " << compared_; }

  void Compare(const uint64_t* operands, uint64_t result, bool flushes_exp = false) {
    if (!InDomain(c_, operands)) return;
    ++compared_;
    const Expected expected = Reference(c_, operands);
    if (Matches(type_, expected, result)) return;
    if (flushes_exp && result == 0 && expected.bits < 0x00800000) return;
    if (++wrong_ > kMaxReports) return;
    ADD_FAILURE() << CaseName(c_) << "(" << ShowOperands(c_, operands) << ")" << how_ << " gave " << Show(type_, result)
                  << ", expected " << Show(type_, expected.bits) << " within " << expected.ulps << " ulp";
  }

 private:
  const OpCase c_;
  const char* const how_;
  const DType type_;
  int wrong_ = 0, compared_ = 0;
};

// Runs operators over all combinations and compares.
void CheckRunTime(const std::vector<OpCase>& cases, MathLibrary library) {
  const std::vector<Column> columns = Combinations(cases[0]);
  const size_t count = columns[0].bits.size();
  absl::StatusOr<Results> results = RunOnCpu(OpsKernel(cases), columns, static_cast<int64_t>(count), {.math = library});
  if (absl::IsNotFound(results.status())) return;  // That math library is not installed here.
  ASSERT_TRUE(results.ok()) << CaseName(cases[0]) << ": " << results.status();
  for (size_t n = 0; n < cases.size(); ++n) {
    // libclc's exp, by its own choice, gives 0 where the float32 result would be subnormal.
    const bool flushes_exp = library == MathLibrary::kLibclc && cases[n].op == Op::kExp;
    Comparison comparison(cases[n], library == MathLibrary::kLibclc ? " of libclc" : "");
    for (size_t i = 0; i < count; ++i) {
      uint64_t operands[ir::kMaxArity] = {};
      for (size_t k = 0; k < columns.size(); ++k) operands[k] = columns[k].bits[i];
      comparison.Compare(operands, (*results)[n][i], flushes_exp);
    }
  }
}

// Runs them with each operand in turn a constant, which changes the code: divisions and shifts by constants,
// comparisons that fold, products with powers of two.
void CheckConstants(const std::vector<OpCase>& cases) {
  for (int position = 0; position < 2; ++position) {
    // Zero and some more: all in one kernel, whose translation to host code is what this test costs.
    std::vector<uint64_t> constants;
    const std::vector<uint64_t> all = ValuesFor(cases[0], position);
    for (size_t k = 0; k < all.size(); ++k) {
      if (k == 0 || k % 3 == 1) constants.push_back(all[k]);
    }
    const std::vector<Column> columns = Combinations(cases[0], position);
    const size_t rows = columns[0].bits.size();
    absl::StatusOr<Results> results =
        RunOnCpu(ConstantsKernel(cases, position, constants), columns, static_cast<int64_t>(rows * constants.size()));
    ASSERT_TRUE(results.ok()) << CaseName(cases[0]) << ": " << results.status();
    for (size_t n = 0; n < cases.size(); ++n) {
      Comparison comparison(cases[n], position == 0 ? ", operand 0 constant," : ", operand 1 constant,");
      for (size_t i = 0; i < (*results)[n].size(); ++i) {
        uint64_t operands[ir::kMaxArity] = {};
        operands[position] = constants[i % constants.size()];
        operands[1 - position] = columns[0].bits[i / constants.size()];
        comparison.Compare(operands, (*results)[n][i]);
      }
    }
  }
}

// What the Builder makes of constants; false where that is no constant. It also folds what it writes in other
// operators.
bool FoldByBuilder(const OpCase& c, absl::Span<const uint64_t> operands, uint64_t* result) {
  if (!ir::IsExpanded(ir::SemanticsOf(c.op), c.type)) return ir::Fold(c.op, c.type, operands, result);
  ir::Builder b("folded");
  std::vector<ir::ValueId> values;
  const std::vector<DType> types = OperandTypes(c);
  for (size_t k = 0; k < operands.size(); ++k) values.push_back(b.Constant(types[k], operands[k]));
  const ir::ValueId folded = b.Apply(c.op, values);
  if (!b.IsConstant(folded)) return false;
  *result = b.ConstantBits(folded);
  return true;
}

// Folds it over all combinations.
void CheckFolded(const OpCase& c) {
  const std::vector<Column> columns = Combinations(c);
  Comparison comparison(c, " folded");
  for (size_t i = 0; i < columns[0].bits.size(); ++i) {
    uint64_t operands[ir::kMaxArity] = {}, result = 0;
    for (size_t k = 0; k < columns.size(); ++k) operands[k] = columns[k].bits[i];
    if (!FoldByBuilder(c, absl::MakeConstSpan(operands, columns.size()), &result)) return;
    comparison.Compare(operands, result);
  }
}

bool IsApproximate(const OpCase& c) { return IsLibraryFunction(c) || IsFast(c); }

// What Slipway takes from libclc; the rest is refused by name.
bool IsInLibclc(const OpCase& c) {
  ir::Builder b("one");
  std::vector<ir::ValueId> operands;
  for (DType type : OperandTypes(c)) {
    operands.push_back(b.Scalar(b.AddScalar("x" + std::to_string(operands.size()), type)));
  }
  b.NewVar("result", DType::kVoid, b.Apply(c.op, operands));
  absl::StatusOr<ir::Kernel> kernel = std::move(b).Finish();
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  const absl::Status status = Compile(*kernel, {90, 78}, {.math = MathLibrary::kLibclc, .keep_llvm = false}).status();
  if (absl::IsUnimplemented(status)) {
    EXPECT_NE(status.message().find(ir::Name(c.op)), absl::string_view::npos) << status;
  }
  return status.ok();
}

class Values : public testing::TestWithParam<DType> {
 protected:
  // The cases of this type that `wanted` takes.
  template <class F>
  std::vector<OpCase> Cases(F wanted) const {
    std::vector<OpCase> cases;
    for (const OpCase& c : AllOpCases()) {
      if (c.type == GetParam() && wanted(c)) cases.push_back(c);
    }
    return cases;
  }
};

TEST_P(Values, OfRunTimeOperands) {
  const std::vector<OpCase> cases = Cases([](const OpCase&) { return true; });
  EXPECT_GT(cases.size(), 5u);
  for (const std::vector<OpCase>& group : Groups(cases)) CheckRunTime(group, MathLibrary::kAuto);
}

TEST_P(Values, OfLibclcsFunctions) {
  const std::vector<OpCase> cases = Cases([](const OpCase& c) { return IsLibraryFunction(c) && IsInLibclc(c); });
  for (const std::vector<OpCase>& group : Groups(cases)) CheckRunTime(group, MathLibrary::kLibclc);
}

TEST_P(Values, OfConstantOperands) {
  const std::vector<OpCase> cases =
      Cases([](const OpCase& c) { return ir::SemanticsOf(c.op).arity == 2 && !IsApproximate(c); });
  for (const std::vector<OpCase>& group : Groups(cases)) CheckConstants(group);
}

TEST_P(Values, OfFoldedOperands) {
  for (const OpCase& c : Cases([](const OpCase&) { return true; })) CheckFolded(c);
}

TEST_P(Values, OfCasts) {
  const DType from = GetParam();
  std::vector<uint64_t> values = InterestingValues(from);
  if (IsFloat(from)) {
    // Around the ends of the integers and of the floats.
    for (int bits : {7, 8, 15, 16, 23, 24, 31, 32, 53, 63, 64, 127, 128}) {
      const uint64_t power = FloatBits(from, std::ldexp(1.0L, bits)), half = FloatBits(from, 0.5L);
      for (uint64_t near : {power - 1, power, power + 1, FloatBits(from, std::ldexp(1.0L, bits) - 0.5L), half + bits}) {
        if (FloatValue(from, power) == std::ldexp(1.0L, bits)) values.push_back(near);
        if (FloatValue(from, power) == std::ldexp(1.0L, bits))
          values.push_back(near ^ uint64_t{1} << (8 * SizeOf(from) - 1));
      }
    }
    for (long double x : {65504.0L, 65519.0L, 65520.0L, 0x1.ffp127L, 0x1.fefffp127L, 0x1p-25L, 0x1.8p-24L, 0x1p-149L,
                          0x1.000001p0L, 0x1.0101p0L, 0x1.00800001p0L}) {
      values.push_back(FloatBits(from, x));
      values.push_back(FloatBits(from, -x));
    }
    const std::vector<uint64_t> more = RandomFloats(from, 60);
    values.insert(values.end(), more.begin(), more.end());
  } else if (SizeOf(from) >= 4) {
    for (uint64_t x : {uint64_t{0x01010001}, uint64_t{0x01018000}, uint64_t{0x7fffff80}, uint64_t{0x7fffffc0},
                       uint64_t{0x0101000000000001}, uint64_t{0x7f80000000000001}, uint64_t{0x7ffffffffffffe00},
                       uint64_t{0x8000000000000401}, uint64_t{0xff7f7f7f00000001}}) {
      values.push_back(SizeOf(from) == 8 ? x : x & 0xffffffff);
    }
  }
  std::vector<CastCase> cases;
  for (const CastCase& c : AllCastCases()) {
    if (c.from == from) cases.push_back(c);
  }
  for (const std::vector<CastCase>& group : Groups(cases)) {
    absl::StatusOr<Results> results =
        RunOnCpu(CastsKernel(group), {{from, values}}, static_cast<int64_t>(values.size()));
    ASSERT_TRUE(results.ok()) << results.status();
    for (size_t n = 0; n < group.size(); ++n) {
      const auto [unused, to, kind] = group[n];
      int wrong = 0;
      for (size_t i = 0; i < values.size(); ++i) {
        const Expected expected = {ReferenceCast(from, to, values[i], kind)};
        const uint64_t result = (*results)[n][i], folded = ir::FoldCast(from, to, values[i], kind);
        if (Matches(to, expected, result) && Matches(to, expected, folded)) continue;
        if (++wrong > kMaxReports) continue;
        ADD_FAILURE() << CaseName(group[n]) << " of " << Show(from, values[i]) << " gave " << Show(to, result)
                      << " and folds to " << Show(to, folded) << ", expected " << Show(to, expected.bits);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Values, testing::ValuesIn(kArithmeticTypes),
                         [](const testing::TestParamInfo<DType>& info) { return std::string(ShortName(info.param)); });

}  // namespace
}  // namespace slipway
