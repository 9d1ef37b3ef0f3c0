// Elementwise kernels of every make compile for the oldest, a middle and the newest architecture. That ptxas takes what
// comes out, tests/assembled_kernels.cc sees to.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jit/compile.h"
#include "jit/ops/elementwise_kernel.h"
#include "jit/text/emit.h"
#include "jit/text/parser.h"

namespace slipway::elementwise {
namespace {

const char* const kTexts[] = {
    "z = a * x + y",
    "z = (x - y) * (x - y) / (1 + exp(-x))",
    "z = x > 0 ? log(x) : y; w = x < y || isnan(x)",
    "z = i >= 0 && i < 10 ? t[i] : x",
    "z = t[i, j] + t[j, i]",
    "z = i / j + i % j + floor_div(i, j) + floor_mod(i, j) + (i << 2) + (j >> k)",
    "z = pow(x, y) + atan2(x, y) + hypot(x, y) + sin(x) * cosh(y) + erf(x)",
    "z = int8(x) + uint16(y); w = float64(i)",
    "let c = 0.1; z = min(x, c) + max_nan(y, x) + select(x > y, x, c)",
};

class PtxTest : public testing::TestWithParam<int> {};

TEST_P(PtxTest, IsMade) {
  int made = 0;
  const absl::StatusOr<Target> target = TargetFor(GetParam(), 13000);
  ASSERT_TRUE(target.ok()) << target.status();
  for (const char* text : kTexts) {
    const absl::StatusOr<text::Program> program = text::Parse(text);
    ASSERT_TRUE(program.ok()) << program.status();
    std::vector<DType> inputs;
    for (const text::Parameter& input : program->inputs) {
      inputs.push_back(input.name >= "i" && input.name <= "k" ? DType::kInt32 : DType::kFloat32);
    }
    const std::vector<DType> inferred(program->outputs.size(), DType::kVoid);
    const absl::StatusOr<text::Typing> typing = text::InferTypes(*program, inputs, inferred);
    ASSERT_TRUE(typing.ok()) << typing.status();
    for (const bool dense : {true, false}) {
      Specialization specialization{.loop_rank = dense ? 1 : 3,
                                    .index = dense ? IndexWidth::kIndex32 : IndexWidth::kIndex64};
      const auto form = [&](DType dtype) {
        return dense ? ArgumentForm{.dtype = dtype, .access = Access::kLinear, .contiguous = true}
                     : ArgumentForm{.dtype = dtype, .access = Access::kIndexed, .mask = 7};
      };
      for (const DType dtype : typing->outputs) specialization.outputs.push_back(form(dtype));
      for (size_t i = 0; i < inputs.size(); ++i) {
        specialization.inputs.push_back(form(inputs[i]));
        if (program->inputs[i].shape == text::ShapeRule::kGathered) {
          specialization.inputs.back() = {
              .dtype = inputs[i], .access = Access::kGathered, .rank = static_cast<uint8_t>(program->inputs[i].rank)};
        }
      }
      const absl::StatusOr<ir::Kernel> kernel =
          BuildKernel(*program, *typing, specialization, "elementwise_" + std::to_string(made++));
      ASSERT_TRUE(kernel.ok()) << kernel.status();
      const absl::StatusOr<CompiledKernel> compiled = Compile(*kernel, *target, {.keep_llvm = false});
      ASSERT_TRUE(compiled.ok()) << compiled.status();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, PtxTest, testing::Values(75, 90, 120));

}  // namespace
}  // namespace slipway::elementwise
