// Every operator on every type, and every cast, compiles for old and new targets. That ptxas takes what comes out,
// tests/assembled_kernels.cc sees to.
#include <regex>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/compile.h"
#include "tests/jit/op_kernels.h"

namespace slipway {
namespace {

struct TargetCase {
  Target target;
  MathLibrary library;
};

// Whatever rounds says how, so that ptxas may not fuse it; and nothing goes through the read-only cache, because arrays
// may overlap (a math library's constant tables do not).
void ExpectNothingLeftToDecide(const CompiledKernel& compiled) {
  static const std::regex kUndecided(R"(\b(add|sub|mul|fma|div|sqrt)(\.ftz)?\.(f16|bf16|f32|f64)\b)");
  const std::string& ptx = compiled.inspection->ptx;
  std::smatch match;
  EXPECT_FALSE(std::regex_search(ptx, match, kUndecided)) << compiled.name << ": " << match.str();
  if (compiled.inspection->math_library.empty()) {
    EXPECT_EQ(ptx.find("ld.global.nc"), std::string::npos) << compiled.name;
  }
}

class CompileOps : public testing::TestWithParam<TargetCase> {
 protected:
  // Whether `kernel` compiles; a failure that names it if it should.
  bool Compiles(const absl::StatusOr<ir::Kernel>& kernel) {
    if (!kernel.ok()) {
      ADD_FAILURE() << kernel.status();
      return false;
    }
    absl::StatusOr<CompiledKernel> compiled =
        Compile(*kernel, GetParam().target, {.math = GetParam().library, .keep_llvm = false});
    if (!compiled.ok()) {
      // Without the library there is nothing to test; with it, what libclc lacks is refused.
      const bool expected = absl::IsNotFound(compiled.status()) ||
                            (GetParam().library == MathLibrary::kLibclc && absl::IsUnimplemented(compiled.status()));
      if (!expected) ADD_FAILURE() << kernel->name << ": " << compiled.status();
      return false;
    }
    ExpectNothingLeftToDecide(*compiled);
    return true;
  }
};

TEST_P(CompileOps, EveryOperatorOnEveryType) {
  // Of libclc, its functions; each by itself, because some are refused.
  if (GetParam().library == MathLibrary::kLibclc) {
    int compiled = 0;
    for (const OpCase& c : AllOpCases()) compiled += IsLibraryFunction(c) && Compiles(OpKernel(c));
    EXPECT_TRUE(compiled == 0 || compiled > 100) << compiled;
    return;
  }
  size_t compiled = 0;
  for (const std::vector<OpCase>& group : Groups(AllOpCases())) {
    if (Compiles(OpsKernel(group))) compiled += group.size();
  }
  EXPECT_GT(compiled, 300u);
}

TEST_P(CompileOps, EveryCast) {
  for (const std::vector<CastCase>& group : Groups(AllCastCases())) EXPECT_TRUE(Compiles(CastsKernel(group)));
}

INSTANTIATE_TEST_SUITE_P(Targets, CompileOps,
                         testing::Values(TargetCase{{75, 63}, MathLibrary::kAuto},
                                         TargetCase{{90, 78}, MathLibrary::kAuto},
                                         TargetCase{{120, 90}, MathLibrary::kAuto},
                                         TargetCase{{90, 78}, MathLibrary::kLibclc}),
                         [](const testing::TestParamInfo<TargetCase>& info) {
                           return "sm_" + std::to_string(info.param.target.sm) +
                                  (info.param.library == MathLibrary::kLibclc ? "_libclc" : "");
                         });

}  // namespace
}  // namespace slipway
