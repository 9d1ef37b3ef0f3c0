// The kernel IR of elementwise calls: as small as one would write it by hand, and specialised by no more than it must.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jit/ir.h"
#include "jit/ops/elementwise_kernel.h"
#include "jit/text/emit.h"
#include "jit/text/parser.h"

namespace slipway::elementwise {
namespace {

constexpr DType kF32 = DType::kFloat32;

ArgumentForm Linear(DType dtype) { return {.dtype = dtype, .access = Access::kLinear, .contiguous = true}; }

std::string IrOf(const std::string& text, Specialization specialization) {
  const absl::StatusOr<text::Program> program = text::Parse(text);
  if (!program.ok()) return program.status().ToString();
  std::vector<DType> inputs, outputs;
  for (const ArgumentForm& form : specialization.inputs) inputs.push_back(form.dtype);
  for (const ArgumentForm& form : specialization.outputs) outputs.push_back(form.dtype);
  const absl::StatusOr<text::Typing> typing = text::InferTypes(*program, inputs, outputs);
  if (!typing.ok()) return typing.status().ToString();
  const absl::StatusOr<ir::Kernel> kernel = BuildKernel(*program, *typing, specialization, "k");
  return kernel.ok() ? ir::Print(*kernel) : kernel.status().ToString();
}

TEST(KernelTest, ContiguousAxpy) {
  EXPECT_EQ(
      IrOf("z = a * x + y", {.loop_rank = 1,
                             .index = IndexWidth::kIndex32,
                             .outputs = {Linear(kF32)},
                             .inputs = {{.dtype = kF32}, Linear(kF32), Linear(kF32)}}),
      R"(kernel k(z: float32[:] contiguous index32, a: float32, x: const float32[:] contiguous index32, y: const float32[:] contiguous index32) {
  %0:u32 = special block.x
  %1:i32 = cast %0
  %2:u32 = special block_dim.x
  %3:i32 = cast %2
  %4:u32 = special thread.x
  %5:i32 = cast %4
  %6:i32 = * %1, %3
  %7:i32 = + %6, %5
  %8:i64 = shape z.0
  %9:i32 = cast %8
  %10:bool = < %7, %9
  if %10 {
    %11:f32 = scalar a
    %12:f32 = load x[%7]
    %13:f32 = load y[%7]
    %14:f32 = * %11, %12
    %15:f32 = + %14, %13
    store z[%7] = %15
  }
}
)");
}

TEST(KernelTest, ARowAgainstAMatrixDividesOnce) {
  const std::string ir =
      IrOf("z = x + row",
           {.loop_rank = 2,
            .index = IndexWidth::kIndex32,
            .outputs = {Linear(kF32)},
            .inputs = {Linear(kF32), {.dtype = kF32, .access = Access::kIndexed, .mask = 2, .contiguous = true}}});
  EXPECT_THAT(ir, testing::StartsWith(
                      "kernel k(z: float32[:] contiguous index32, x: const float32[:] contiguous index32, row: const "
                      "float32[:] contiguous index32, size: int32, extent1: int32) {\n"));
  const auto count = [&](const std::string& part) {
    int found = 0;
    for (size_t at = ir.find(part); at != std::string::npos; at = ir.find(part, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("= / "), 1) << ir;
  EXPECT_EQ(count("row["), 1);
  EXPECT_EQ(count("store z["), 1);
}

TEST(KernelTest, ExtentsKeepClearOfTheProgramsNames) {
  const std::string ir =
      IrOf("z = size + extent1", {.loop_rank = 2,
                                  .index = IndexWidth::kIndex64,
                                  .outputs = {Linear(kF32)},
                                  .inputs = {Linear(kF32), {.dtype = kF32, .access = Access::kIndexed, .mask = 1}}});
  EXPECT_THAT(ir, testing::HasSubstr("size_: int64, extent1_: int64)"));
}

TEST(KernelTest, InputsAreReadBeforeOutputsAreWritten) {
  const std::string ir =
      IrOf("z = x + 1; w = y + z",
           {.loop_rank = 1, .outputs = {Linear(kF32), Linear(kF32)}, .inputs = {Linear(kF32), Linear(kF32)}});
  EXPECT_LT(ir.find("load y["), ir.find("store z[")) << ir;
}

TEST(KernelTest, LazyOperandsBecomeBranches) {
  const std::string ir = IrOf("z = i < 3 ? t[i] : x",
                              {.loop_rank = 1,
                               .outputs = {Linear(kF32)},
                               .inputs = {Linear(DType::kInt32),
                                          {.dtype = kF32, .access = Access::kGathered, .rank = 1, .contiguous = true},
                                          Linear(kF32)}});
  const size_t branch = ir.rfind("if ");
  EXPECT_GT(ir.find("load t["), branch) << ir;
  EXPECT_THAT(
      IrOf("z = x > 0 ? x : y", {.loop_rank = 1, .outputs = {Linear(kF32)}, .inputs = {Linear(kF32), Linear(kF32)}}),
      testing::HasSubstr("select"));
}

TEST(KernelTest, KeysTellSpecializationsApart) {
  const Specialization base{.loop_rank = 2,
                            .index = IndexWidth::kIndex32,
                            .outputs = {Linear(kF32)},
                            .inputs = {{.dtype = kF32, .access = Access::kIndexed, .mask = 3},
                                       {.dtype = kF32, .access = Access::kGathered, .rank = 1},
                                       {.dtype = kF32}}};
  std::vector<Specialization> others(9, base);
  others[0].loop_rank = 3;
  others[1].index = IndexWidth::kIndex64;
  others[2].outputs[0].dtype = DType::kFloat64;
  others[3].inputs[0].mask = 1;
  others[4].inputs[0].contiguous = true;
  others[5].inputs[1].rank = 2;
  others[6].inputs[1].contiguous = true;
  others[7].inputs[2].dtype = DType::kInt32;
  others[8].inputs[0].access = Access::kLinear;
  EXPECT_EQ(KeyOf(base), KeyOf(base));
  for (const Specialization& other : others) EXPECT_NE(KeyOf(base), KeyOf(other));
}

}  // namespace
}  // namespace slipway::elementwise
