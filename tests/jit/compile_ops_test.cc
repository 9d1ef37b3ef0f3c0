// Every operator on every type, and every cast, compiles for old and new targets, and ptxas takes what comes out.
#include <regex>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "jit/compile.h"
#include "tests/jit/op_kernels.h"
#include "tests/ptxas.h"

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
  // The PTX of `kernel`, or a failure that names it.
  std::string Ptx(const absl::StatusOr<ir::Kernel>& kernel) {
    if (!kernel.ok()) {
      ADD_FAILURE() << kernel.status();
      return "";
    }
    absl::StatusOr<CompiledKernel> compiled =
        Compile(*kernel, GetParam().target, {.math = GetParam().library, .keep_llvm = false});
    if (!compiled.ok()) {
      // Without the library there is nothing to test; with it, libclc's tgamma is refused.
      const bool expected = absl::IsNotFound(compiled.status()) ||
                            (GetParam().library == MathLibrary::kLibclc && absl::IsUnimplemented(compiled.status()) &&
                             kernel->name.find("tgamma") == 0);
      if (!expected) ADD_FAILURE() << kernel->name << ": " << compiled.status();
      return "";
    }
    ExpectNothingLeftToDecide(*compiled);
    return compiled->inspection->ptx;
  }

  void ExpectAssembles(const std::vector<std::string>& texts) {
    if (FindPtxas().empty()) GTEST_SKIP() << "ptxas is not installed; " << texts.size() << " texts not assembled";
    EXPECT_EQ(AssembleAll(texts, GetParam().target.sm), absl::OkStatus());
  }
};

TEST_P(CompileOps, EveryOperatorOnEveryType) {
  std::vector<std::string> texts;
  for (const OpCase& c : AllOpCases()) {
    const std::string ptx = Ptx(OpKernel(c));
    if (ptx.empty()) continue;
    texts.push_back(ptx);
  }
  EXPECT_GT(texts.size(), 200u);
  ExpectAssembles(texts);
}

TEST_P(CompileOps, EveryCast) {
  std::vector<std::string> texts;
  for (DType from : kArithmeticTypes) {
    for (DType to : kArithmeticTypes) texts.push_back(Ptx(CastKernel(from, to)));
  }
  ExpectAssembles(texts);
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
