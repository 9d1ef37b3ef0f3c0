// What a compiler said, taken apart; from logs as NVRTC writes them.
#include "jit/cuda/diagnostics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "slipway/cuda.h"

namespace slipway {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kLog[] = R"(my kernels/a b.cu(2): warning #177-D: variable "unused" was declared but never referenced
    int unused = 1;
        ^

Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"

my kernels/a b.cu(3): error: identifier "foo" is undefined
    y[0] = foo;
           ^

kernel.h(7): error: no operator "+" matches these operands
          detected during instantiation of "void twice(T) [with T=S]" at line 9 of kernel.cu

2 errors detected in the compilation of "my kernels/a b.cu".
)";

TEST(Diagnostics, ErrorsAndWarningsAreApart) {
  const Diagnostics diagnostics = ReadLog(kLog);
  EXPECT_THAT(diagnostics.Warnings(), HasSubstr("a b.cu(2): warning #177-D"));
  EXPECT_THAT(diagnostics.Warnings(), HasSubstr("int unused = 1;"));
  EXPECT_THAT(diagnostics.Warnings(), Not(HasSubstr("error")));
  const absl::Status status = diagnostics.Failure("kernel.cu", "NVRTC_ERROR_COMPILATION");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              testing::StartsWith("my kernels/a b.cu(3): error: identifier \"foo\" is undefined\n    y[0] = foo;"));
  EXPECT_THAT(status.message(), HasSubstr("detected during instantiation of \"void twice(T) [with T=S]\""));
  EXPECT_THAT(status.message(), Not(HasSubstr("warning")));
  EXPECT_THAT(status.message(), Not(HasSubstr("2 errors detected")));
  EXPECT_EQ(CudaLog(status) + "\n", kLog);
  EXPECT_EQ(CudaLog(absl::OkStatus()), "");
}

TEST(Diagnostics, ManyErrors) {
  std::string log;
  for (int i = 1; i <= 500; ++i)
    absl::StrAppend(&log, "k.cu(", i, "): error: wrong\n    line\n", std::string(200, ' '), "^\n\n");
  const absl::Status status = ReadLog(log).Failure("k.cu", "");
  EXPECT_THAT(status.message(), HasSubstr("k.cu(10): error: wrong"));
  EXPECT_THAT(status.message(), Not(HasSubstr("k.cu(11)")));
  EXPECT_THAT(status.message(), HasSubstr("... and 490 more errors; CudaLog() has all"));
  EXPECT_THAT(CudaLog(status), HasSubstr("k.cu(500): error"));
}

TEST(Diagnostics, NameExpressionsAreCalledWhatTheyAre) {
  constexpr char kNames[] = R"(__nv_name_map(2): error: identifier "missing" is undefined
  #pragma nv_mangled_name missing<float>
                          ^

__nv_name_map(2): error: type name is not allowed
  #pragma nv_mangled_name missing<float>
                                  ^

__nv_name_map(3): error: expected a ">"
  #pragma nv_mangled_name g<int
                               ^

3 errors detected in the compilation of "kernel.cu".
)";
  const absl::Status status = ReadLog(kNames).Failure("kernel.cu", "");
  EXPECT_EQ(status.message(),
            "CudaOptions::name_expressions: 'missing<float>': identifier \"missing\" is undefined\n"
            "CudaOptions::name_expressions: 'g<int': expected a \">\"");
  EXPECT_EQ(CudaLog(status) + "\n", kNames);
}

TEST(Diagnostics, LogsOfOtherForms) {
  EXPECT_EQ(ReadLog("").Failure("k.cu", "NVRTC_ERROR_OUT_OF_MEMORY").message(), "k.cu: NVRTC_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(ReadLog("something else\n").Failure("k.cu", "").message(), "something else");
  EXPECT_THAT(ReadLog("nvrtc: error: failed to open libnvrtc-builtins.so.13.0.").Failure("k", "").message(),
              HasSubstr("failed to open"));
  EXPECT_THAT(ReadLog("k.cu(1): catastrophic error: cannot open source file \"x.h\"").Failure("k", "").message(),
              HasSubstr("cannot open source file"));
  EXPECT_EQ(ReadLog("").Warnings(), "");
}

}  // namespace
}  // namespace slipway
