// The same kernels over the same values on two devices.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "driver/status_macros.h"
#include "jit/compile.h"
#include "slipway/array.h"
#include "slipway/elementwise.h"
#include "slipway/embedded.h"
#include "slipway/kernel.h"
#include "slipway/stream.h"
#include "tests/gpu_check/checks.h"
#include "tests/jit/op_kernels.h"
#include "tests/jit/reference.h"

namespace slipway::gpu_check {
namespace {

// What came out of a kernel: elements as they lie in memory.
struct Output {
  DType dtype = DType::kFloat32;
  std::string bytes;
};
using Outputs = std::vector<Output>;
// Runs one kernel on a device.
using RunOn = std::function<absl::StatusOr<Outputs>(const Stream& stream)>;

struct NamedKernel {
  std::string name;
  RunOn run;
};

absl::StatusOr<Output> Fetch(const Stream& stream, const AnyArray& array) {
  Output output = {array.dtype(), std::string(array.bytes(), '\0')};
  SLIPWAY_RETURN_IF_ERROR(array.CopyTo(output.bytes.data(), stream));
  return output;
}

// ---- operators and casts
// ---------------------------------------------------------------------------------------------

constexpr int64_t kCount = 4096;

// Interesting values and random bits. bool has two.
std::vector<uint64_t> SomeValues(DType dtype, std::mt19937_64& random) {
  const std::vector<uint64_t> interesting = InterestingValues(dtype);
  const int bits = 8 * static_cast<int>(SizeOf(dtype));
  const uint64_t mask = dtype == DType::kBool ? 1 : bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  std::vector<uint64_t> values(kCount);
  for (uint64_t& value : values) {
    value = random() % 2 == 0 ? interesting[random() % interesting.size()] : random() & mask;
  }
  return values;
}

std::string Bytes(DType dtype, const std::vector<uint64_t>& values) {
  const size_t size = SizeOf(dtype);
  std::string bytes(values.size() * size, '\0');
  for (size_t i = 0; i < values.size(); ++i) std::memcpy(&bytes[i * size], &values[i], size);
  return bytes;
}

// Launches an IR kernel whose first parameter is its output.
absl::StatusOr<Outputs> RunKernel(const Stream& stream, const ir::Kernel& kernel, const Outputs& inputs) {
  const Device& device = stream.device();
  SLIPWAY_ASSIGN_OR_RETURN(const Target target, TargetFor(device));
  SLIPWAY_ASSIGN_OR_RETURN(const CompiledKernel compiled, Compile(kernel, target, {.keep_llvm = false}));
  SLIPWAY_ASSIGN_OR_RETURN(const Kernel loaded, Kernel::Load(device, compiled));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray out, AnyArray::Zeros(device, kernel.params[0].dtype, {kCount}));
  std::vector<AnyArray> arrays = {out};
  for (const Output& input : inputs) {
    SLIPWAY_ASSIGN_OR_RETURN(AnyArray array, AnyArray::From(device, input.dtype, {kCount}, input.bytes.data()));
    arrays.push_back(std::move(array));
  }
  const std::vector<Arg> args(arrays.begin(), arrays.end());
  SLIPWAY_RETURN_IF_ERROR(loaded.Launch(stream, ForSize(kCount), args));
  SLIPWAY_ASSIGN_OR_RETURN(Output output, Fetch(stream, out));
  return Outputs{std::move(output)};
}

void AddIrKernel(const absl::StatusOr<ir::Kernel>& kernel, const std::vector<DType>& types, uint64_t seed,
                 std::vector<NamedKernel>& kernels) {
  if (!kernel.ok()) return;
  std::mt19937_64 random(seed);
  Outputs inputs;
  for (const DType type : types) inputs.push_back({type, Bytes(type, SomeValues(type, random))});
  kernels.push_back({kernel->name, [kernel = *kernel, inputs = std::move(inputs)](const Stream& stream) {
                       return RunKernel(stream, kernel, inputs);
                     }});
}

void AddOperators(std::vector<NamedKernel>& kernels) {
  uint64_t seed = 1;
  for (const OpCase& c : AllOpCases()) {
    // The hardware's approximations are its own.
    if (!IsFast(c)) AddIrKernel(OpKernel(c), OperandTypes(c), seed++, kernels);
  }
  for (const DType from : kArithmeticTypes) {
    for (const DType to : kArithmeticTypes) AddIrKernel(CastKernel(from, to), {from}, seed++, kernels);
  }
}

// ---- formulas
// --------------------------------------------------------------------------------------------------------

// Each over x, y: float32 [37][101], the second a transposed view; row: float32 [101], broadcast; i, j: int32 of x's
// shape; d: float64 of x's shape; a: a number.
constexpr const char* kFormulas[] = {
    "z = a * x + y",
    "z = (x - row) * (x - row) / (1 + y * y)",
    "z = x > y ? x : y",
    "z = sqrt(abs(x)) + exp(-x * x) * sin(y)",
    "z = log(1 + abs(x)) * cos(y) + tanh(x)",
    "z = pow(abs(x), 0.5) + atan2(y, x)",
    "z = i / j + i % j",
    "z = floor_div(i, j) * 7 + floor_mod(i, j)",
    "z = (i << 3) ^ (j >> 1) & 255",
    "z = float32(i) / float32(j)",
    "z = d * d - float64(x)",
    "z = int32(x * 100) + i",
    "z = min(x, y) + max(x, row)",
    "z = round(x) - trunc(y) + floor(row)",
    "z = uint8(i) + uint8(j)",
    "z = float16(x) * float16(y)",
    "z = x == y || i < j && !(x != y)",
    "z = erf(x) + cbrt(y) + hypot(x, y)",
    "z = exp(d) / (1 + exp(d))",
    "z = int64(d * 1000) / (int64(j) + 1)",
};

constexpr int64_t kRows = 37, kColumns = 101;

// Host values, the same on both devices.
struct FormulaInputs {
  std::vector<float> x, y, row;
  std::vector<int32_t> i, j;
  std::vector<double> d;
};

FormulaInputs MakeFormulaInputs() {
  std::mt19937_64 random(42);
  std::normal_distribution<double> normal(0, 3);
  FormulaInputs inputs;
  for (int64_t k = 0; k < kRows * kColumns; ++k) {
    inputs.x.push_back(static_cast<float>(normal(random)));
    inputs.y.push_back(static_cast<float>(normal(random)));
    inputs.i.push_back(static_cast<int32_t>(random()));
    inputs.j.push_back(static_cast<int32_t>(random() % 17) - 8);
    inputs.d.push_back(normal(random));
  }
  for (int64_t k = 0; k < kColumns; ++k) inputs.row.push_back(static_cast<float>(normal(random)));
  return inputs;
}

absl::StatusOr<Outputs> RunFormula(const Stream& stream, const char* text, const FormulaInputs& host) {
  const Device& device = stream.device();
  constexpr std::array<int64_t, 2> kShape = {kRows, kColumns};
  SLIPWAY_ASSIGN_OR_RETURN(const auto x, (Array<float, 2>::From(device, host.x, kShape)));
  SLIPWAY_ASSIGN_OR_RETURN(const auto y_memory, (Array<float, 2>::From(device, host.y, {kColumns, kRows})));
  const ArrayView<const float, 2> y(device, y_memory.data(), kShape, {1, kRows});
  SLIPWAY_ASSIGN_OR_RETURN(const auto row, (Array<float, 1>::From(device, host.row)));
  SLIPWAY_ASSIGN_OR_RETURN(const auto i, (Array<int32_t, 2>::From(device, host.i, kShape)));
  SLIPWAY_ASSIGN_OR_RETURN(const auto j, (Array<int32_t, 2>::From(device, host.j, kShape)));
  SLIPWAY_ASSIGN_OR_RETURN(const auto d, (Array<double, 2>::From(device, host.d, kShape)));
  const std::vector<NamedArg> all = {{"a", 1.5f}, {"x", x}, {"y", y}, {"row", row}, {"i", i}, {"j", j}, {"d", d}};
  SLIPWAY_ASSIGN_OR_RETURN(const Elementwise formula, Elementwise::Parse(text));
  std::vector<NamedArg> used;
  for (const std::string& name : formula.inputs()) {
    for (const NamedArg& arg : all) {
      if (arg.name == name) used.push_back(arg);
    }
  }
  SLIPWAY_ASSIGN_OR_RETURN(const std::vector<AnyArray> results, formula.Evaluate(stream, used));
  Outputs outputs;
  for (const AnyArray& result : results) {
    SLIPWAY_ASSIGN_OR_RETURN(Output output, Fetch(stream, result));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

void AddFormulas(std::vector<NamedKernel>& kernels) {
  const auto inputs = std::make_shared<const FormulaInputs>(MakeFormulaInputs());
  for (const char* text : kFormulas) {
    kernels.push_back({text, [text, inputs](const Stream& stream) { return RunFormula(stream, text, *inputs); }});
  }
}

// ---- embedded kernels
// ------------------------------------------------------------------------------------------------

absl::StatusOr<Outputs> Histogram(const Stream& stream) {
  const auto histogram = MakeKernel("histogram", [](ArrayVar<uint32_t, 1> counts, ArrayVar<const uint32_t, 1> values) {
    For(GridStride(values.size()), [&](Var<int64_t> i) { AtomicAdd(counts[values[i] % 64u], 1u); });
  });
  std::mt19937 random(7);
  std::vector<uint32_t> host(100'000);
  for (uint32_t& value : host) value = static_cast<uint32_t>(random());
  SLIPWAY_ASSIGN_OR_RETURN(const auto values, (Array<uint32_t, 1>::From(stream.device(), host)));
  SLIPWAY_ASSIGN_OR_RETURN(const auto counts,
                           (Array<uint32_t, 1>::From(stream.device(), std::vector<uint32_t>(64, 0))));
  SLIPWAY_RETURN_IF_ERROR(histogram(stream, ForSize(values.size()), counts, values));
  SLIPWAY_ASSIGN_OR_RETURN(Output output, Fetch(stream, counts));
  return Outputs{std::move(output)};
}

// Steps of x * x + c until it leaves a circle: loops whose lengths differ from thread to thread.
absl::StatusOr<Outputs> EscapeTimes(const Stream& stream) {
  constexpr int64_t kSide = 192;
  const auto escape = MakeKernel("escape", [](ArrayVar<int32_t, 2> steps, Var<float> scale) {
    For(GridStride(steps.shape(0) * steps.shape(1)), [&](Var<int64_t> at) {
      const Var<int64_t> row = at / steps.shape(1), column = at % steps.shape(1);
      const Var<float> cr = Cast<float>(column) * scale - 2.0f, ci = Cast<float>(row) * scale - 1.5f;
      Var<float> zr = 0.0f, zi = 0.0f;
      Var<int32_t> count = 0;
      While([&] { return count < 100 && zr * zr + zi * zi < 4.0f; },
            [&] {
              const Var<float> next = zr * zr - zi * zi + cr;
              zi = 2.0f * zr * zi + ci;
              zr = next;
              count = count + 1;
            });
      steps(row, column) = count;
    });
  });
  SLIPWAY_ASSIGN_OR_RETURN(const auto steps, (Array<int32_t, 2>::Empty(stream.device(), {kSide, kSide})));
  SLIPWAY_RETURN_IF_ERROR(escape(stream, ForSize(kSide * kSide), steps, 3.0f / kSide));
  SLIPWAY_ASSIGN_OR_RETURN(Output output, Fetch(stream, steps));
  return Outputs{std::move(output)};
}

// ---- comparing
// -------------------------------------------------------------------------------------------------------

struct Difference {
  size_t values = 0, different = 0;
  std::string first;
};

// Any NaN is like any other: which one comes out the PTX ISA leaves open.
void Compare(const Output& got, const Output& wanted, Difference& difference) {
  const size_t size = SizeOf(wanted.dtype);
  for (size_t at = 0; at + size <= wanted.bytes.size(); at += size) {
    uint64_t a = 0, b = 0;
    std::memcpy(&a, &got.bytes[at], size);
    std::memcpy(&b, &wanted.bytes[at], size);
    ++difference.values;
    if (Matches(wanted.dtype, Expected{.bits = b}, a)) continue;
    if (difference.different++ == 0) {
      difference.first = absl::StrCat("element ", at / size, ": ", Show(wanted.dtype, a), " there, ",
                                      Show(wanted.dtype, b), " on the reference");
    }
  }
}

absl::StatusOr<Difference> CompareOn(const Stream& stream, const Stream& reference, const NamedKernel& kernel) {
  SLIPWAY_ASSIGN_OR_RETURN(const Outputs got, kernel.run(stream));
  SLIPWAY_ASSIGN_OR_RETURN(const Outputs wanted, kernel.run(reference));
  if (got.size() != wanted.size()) return absl::InternalError("different numbers of outputs");
  Difference difference;
  for (size_t k = 0; k < got.size(); ++k) {
    if (got[k].dtype != wanted[k].dtype || got[k].bytes.size() != wanted[k].bytes.size()) {
      return absl::InternalError("outputs of different types or sizes");
    }
    Compare(got[k], wanted[k], difference);
  }
  return difference;
}

}  // namespace

absl::StatusOr<Json> CompareDevices(const Device& device, const Device& reference, const std::string& only) {
  SLIPWAY_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  SLIPWAY_ASSIGN_OR_RETURN(const Stream reference_stream, reference.CreateStream());
  std::vector<NamedKernel> kernels;
  AddOperators(kernels);
  AddFormulas(kernels);
  kernels.push_back({"histogram by atomics", Histogram});
  kernels.push_back({"escape times", EscapeTimes});
  std::erase_if(kernels, [&](const NamedKernel& kernel) { return kernel.name.find(only) == std::string::npos; });
  if (kernels.empty()) return absl::NotFoundError(absl::StrCat("no kernel has '", only, "' in its name"));

  size_t values = 0;
  Json different = Json::array(), failed = Json::array();
  for (const NamedKernel& kernel : kernels) {
    const absl::StatusOr<Difference> result = CompareOn(stream, reference_stream, kernel);
    if (!result.ok()) {
      failed.push_back({{"kernel", kernel.name}, {"error", std::string(result.status().message())}});
      continue;
    }
    values += result->values;
    if (result->different == 0) continue;
    different.push_back({{"kernel", kernel.name},
                         {"values", result->values},
                         {"different", result->different},
                         {"first", result->first}});
  }
  return Json{{"kernels", kernels.size()}, {"values", values}, {"different", different}, {"failed", failed}};
}

}  // namespace slipway::gpu_check
