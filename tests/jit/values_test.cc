// Values: every operator on every type and every cast, run on the CPU device and folded, against a reference of its
// own.
#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "jit/builder.h"
#include "jit/compile.h"
#include "jit/fold.h"
#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/kernel.h"
#include "slipway/stream.h"
#include "tests/jit/op_kernels.h"
#include "tests/jit/reference.h"

namespace slipway {
namespace {

using ir::Op;

struct Column {
  DType dtype;
  std::vector<uint64_t> bits;
};

// Elements as they lie in memory, and back.
std::string Pack(const Column& column) {
  const size_t size = SizeOf(column.dtype);
  std::string bytes(column.bits.size() * size, '\0');
  for (size_t i = 0; i < column.bits.size(); ++i) std::memcpy(&bytes[i * size], &column.bits[i], size);
  return bytes;
}
std::vector<uint64_t> Unpack(DType dtype, const std::string& bytes) {
  const size_t size = SizeOf(dtype);
  std::vector<uint64_t> values(bytes.size() / size);
  for (size_t i = 0; i < values.size(); ++i) std::memcpy(&values[i], &bytes[i * size], size);
  return values;
}

// Runs a kernel whose first parameter is the output, of `count` elements, over `size` threads.
absl::StatusOr<std::vector<uint64_t>> RunOnCpu(const absl::StatusOr<ir::Kernel>& kernel,
                                               const std::vector<Column>& inputs, int64_t count,
                                               MathLibrary library = MathLibrary::kAuto) {
  if (!kernel.ok()) return kernel.status();
  static const absl::StatusOr<Device> device = Device::Open("cpu");
  if (!device.ok()) return device.status();
  absl::StatusOr<Target> target = TargetFor(*device);
  if (!target.ok()) return target.status();
  absl::StatusOr<CompiledKernel> compiled = Compile(*kernel, *target, {.math = library, .keep_llvm = false});
  if (!compiled.ok()) return compiled.status();
  absl::StatusOr<Kernel> loaded = Kernel::Load(*device, *compiled);
  if (!loaded.ok()) {
    return absl::Status(loaded.status().code(),
                        std::string(loaded.status().message()) + "\n" + compiled->inspection->ptx);
  }
  const DType out_type = kernel->params[0].dtype;
  absl::StatusOr<AnyArray> out = AnyArray::Zeros(*device, out_type, {count});
  if (!out.ok()) return out.status();
  std::vector<AnyArray> arrays = {*out};
  for (const Column& input : inputs) {
    absl::StatusOr<AnyArray> array =
        AnyArray::From(*device, input.dtype, {static_cast<int64_t>(input.bits.size())}, Pack(input).data());
    if (!array.ok()) return array.status();
    arrays.push_back(*array);
  }
  absl::StatusOr<Stream> stream = device->CreateStream();
  if (!stream.ok()) return stream.status();
  std::vector<Arg> args(arrays.begin(), arrays.end());
  const int64_t size = inputs.empty() ? count : static_cast<int64_t>(inputs[0].bits.size());
  if (absl::Status status = loaded->Launch(*stream, ForSize(size), args); !status.ok()) return status;
  std::string bytes(out->bytes(), '\0');
  if (absl::Status status = out->CopyTo(bytes.data(), *stream); !status.ok()) return status;
  return Unpack(out_type, bytes);
}

std::vector<uint64_t> ValuesFor(const OpCase& c, size_t operand) {
  const DType dtype = OperandTypes(c)[operand];
  if (ir::SemanticsOf(c.op).operands == ir::OperandRule::kShift && operand == 1) {
    return {0, 1, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 100, 0x80000000, 0xffffffff};
  }
  std::vector<uint64_t> values = InterestingValues(dtype);
  if (c.op == Op::kLgamma || c.op == Op::kTgamma) {
    // Near their poles and zeros on the negative side no error in ulps is promised.
    const uint64_t sign = uint64_t{1} << (8 * SizeOf(dtype) - 1);
    values.erase(std::remove_if(values.begin(), values.end(), [&](uint64_t v) { return (v & sign) != 0; }),
                 values.end());
  }
  if (OperandTypes(c).size() == 3 && c.op == Op::kFma) {  // Of the cube, a third each way will do.
    std::vector<uint64_t> some;
    for (size_t k = operand; k < values.size(); k += 3) some.push_back(values[k]);
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

constexpr int kMaxReports = 5;

// Runs the operator over all combinations and compares.
void CheckRunTime(const OpCase& c, MathLibrary library) {
  const DType result_type = ResultType(c);
  const std::vector<Column> columns = Combinations(c);
  const size_t count = columns[0].bits.size();
  absl::StatusOr<std::vector<uint64_t>> results = RunOnCpu(OpKernel(c), columns, static_cast<int64_t>(count), library);
  if (absl::IsNotFound(results.status())) return;  // That math library is not installed here.
  ASSERT_TRUE(results.ok()) << CaseName(c) << ": " << results.status();
  int wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    uint64_t operands[3] = {};
    for (size_t k = 0; k < columns.size(); ++k) operands[k] = columns[k].bits[i];
    const Expected expected = Reference(c, operands);
    if (Matches(result_type, expected, (*results)[i])) continue;
    // libclc's exp, by its own choice, gives 0 where the float32 result would be subnormal.
    if (library == MathLibrary::kLibclc && c.op == Op::kExp && (*results)[i] == 0 && expected.bits < 0x00800000)
      continue;
    if (++wrong > kMaxReports) continue;
    ADD_FAILURE() << CaseName(c) << "(" << ShowOperands(c, operands) << ") gave " << Show(result_type, (*results)[i])
                  << ", expected " << Show(result_type, expected.bits) << " within " << expected.ulps << " ulp";
  }
  EXPECT_EQ(wrong, 0) << "of " << count;
}

// Runs it with each operand in turn a constant, which changes the code: divisions and shifts by constants, comparisons
// that fold, products with powers of two.
void CheckConstants(const OpCase& c) {
  const DType result_type = ResultType(c);
  for (int position = 0; position < 2; ++position) {
    // Zero and every third: all in one kernel, whose translation to host code is what this test costs.
    std::vector<uint64_t> constants;
    const std::vector<uint64_t> all = ValuesFor(c, position);
    for (size_t k = 0; k < all.size(); ++k) {
      if (k == 0 || k % 3 == 1) constants.push_back(all[k]);
    }
    const std::vector<Column> columns = Combinations(c, position);
    const size_t rows = columns[0].bits.size();
    absl::StatusOr<std::vector<uint64_t>> results =
        RunOnCpu(ConstantsKernel(c, position, constants), columns, static_cast<int64_t>(rows * constants.size()));
    ASSERT_TRUE(results.ok()) << CaseName(c) << ": " << results.status();
    int wrong = 0;
    for (size_t i = 0; i < results->size(); ++i) {
      uint64_t operands[3] = {};
      operands[position] = constants[i % constants.size()];
      operands[1 - position] = columns[0].bits[i / constants.size()];
      const Expected expected = Reference(c, operands);
      if (Matches(result_type, expected, (*results)[i]) || ++wrong > kMaxReports) continue;
      ADD_FAILURE() << CaseName(c) << "(" << ShowOperands(c, operands) << "), operand " << position
                    << " constant, gave " << Show(result_type, (*results)[i]) << ", expected "
                    << Show(result_type, expected.bits);
    }
    EXPECT_EQ(wrong, 0);
  }
}

// Folds it over all combinations.
void CheckFolded(const OpCase& c) {
  const DType result_type = ResultType(c);
  const std::vector<Column> columns = Combinations(c);
  int wrong = 0;
  for (size_t i = 0; i < columns[0].bits.size(); ++i) {
    uint64_t operands[3] = {}, result = 0;
    for (size_t k = 0; k < columns.size(); ++k) operands[k] = columns[k].bits[i];
    if (!ir::Fold(c.op, c.type, absl::MakeConstSpan(operands, columns.size()), &result)) return;
    const Expected expected = Reference(c, operands);
    if (Matches(result_type, expected, result) || ++wrong > kMaxReports) continue;
    ADD_FAILURE() << CaseName(c) << "(" << ShowOperands(c, operands) << ") folds to " << Show(result_type, result)
                  << ", expected " << Show(result_type, expected.bits);
  }
  EXPECT_EQ(wrong, 0);
}

bool IsLibraryFunction(const OpCase& c) { return ir::LoweringOf(c.op, c.type).by == ir::LowerBy::kLibrary; }

class Values : public testing::TestWithParam<DType> {
 protected:
  void ForEachCase(const std::function<void(const OpCase&)>& check) {
    int checked = 0;
    for (const OpCase& c : AllOpCases()) {
      if (c.type != GetParam()) continue;
      check(c);
      ++checked;
    }
    EXPECT_GT(checked, 5);
  }
};

TEST_P(Values, OfRunTimeOperands) {
  ForEachCase([](const OpCase& c) { CheckRunTime(c, MathLibrary::kAuto); });
}

TEST_P(Values, OfLibclcsFunctions) {
  ForEachCase([](const OpCase& c) {
    if (IsLibraryFunction(c) && c.op != Op::kTgamma) CheckRunTime(c, MathLibrary::kLibclc);  // Its tgamma is refused.
  });
}

TEST_P(Values, OfConstantOperands) {
  ForEachCase([](const OpCase& c) {
    if (ir::SemanticsOf(c.op).arity == 2 && !IsLibraryFunction(c)) CheckConstants(c);
  });
}

TEST_P(Values, OfFoldedOperands) { ForEachCase(CheckFolded); }

TEST_P(Values, OfCasts) {
  const DType from = GetParam();
  const std::vector<uint64_t> values = InterestingValues(from);
  for (DType to : kArithmeticTypes) {
    absl::StatusOr<std::vector<uint64_t>> results =
        RunOnCpu(CastKernel(from, to), {{from, values}}, static_cast<int64_t>(values.size()));
    ASSERT_TRUE(results.ok()) << results.status();
    for (size_t i = 0; i < values.size(); ++i) {
      const Expected expected = {ReferenceCast(from, to, values[i])};
      EXPECT_TRUE(Matches(to, expected, (*results)[i]))
          << Name(from) << " " << Show(from, values[i]) << " to " << Name(to) << " gave " << Show(to, (*results)[i])
          << ", expected " << Show(to, expected.bits);
      const uint64_t folded = ir::FoldCast(from, to, values[i]);
      EXPECT_TRUE(Matches(to, expected, folded))
          << Name(from) << " " << Show(from, values[i]) << " to " << Name(to) << " folds to " << Show(to, folded)
          << ", expected " << Show(to, expected.bits);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Values, testing::ValuesIn(kArithmeticTypes),
                         [](const testing::TestParamInfo<DType>& info) { return std::string(ShortName(info.param)); });

}  // namespace
}  // namespace slipway
