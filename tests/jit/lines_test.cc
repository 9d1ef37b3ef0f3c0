// CompileOptions::line_info: PTX that says which line of a formula or of C++ each instruction comes from, and what the
// CPU device's memory checker makes of it.
#include <cstdlib>
#include <source_location>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/elementwise.h"
#include "slipway/embedded.h"
#include "slipway/kernel_builder.h"
#include "slipway/stream.h"

namespace slipway {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr Target kTarget = {.sm = 90, .ptx_isa = 78};
constexpr CompileOptions kLines = {.line_info = true};

const bool check_is_set = [] {
  setenv("SLIPWAY_CPU_CHECK", "memory", /*overwrite=*/1);
  return true;
}();

int Here(const std::source_location& where = std::source_location::current()) { return static_cast<int>(where.line()); }
std::string Line(int line) { return "lines_test.cc:" + std::to_string(line); }

// The PTX without what tells lines.
std::string Code(const std::string& ptx) {
  std::string code;
  for (size_t at = 0; at < ptx.size();) {
    const size_t end = std::min(ptx.find('\n', at), ptx.size() - 1) + 1;
    const std::string line = ptx.substr(at, end - at);
    const bool tells = line.find("\t.loc") == 0 || line.find("\t.file") == 0 || line.find("//") != line.npos ||
                       line.find("$L__func") == 0 || line.find("$L__tmp") == 0 || line == "\n";
    if (!tells) code += line;
    at = end;
  }
  return code;
}

TEST(LinesTest, AreInThePtxWhereAskedAndChangeNothingElse) {
  const auto function = [](ArrayVar<float, 1> y, ArrayVar<const float, 1> x, Var<float> a) {
    For(GridStride(y.size()), [&](Expr<int64_t> i) { y[i] = a * x[i] + y[i]; });
  };
  const std::string plain = MakeKernel("saxpy", function).CompiledFor(kTarget)->inspection->ptx;
  const std::string lines = MakeKernel("saxpy", function, kLines).CompiledFor(kTarget)->inspection->ptx;
  EXPECT_THAT(plain, AllOf(Not(HasSubstr(".loc")), Not(HasSubstr(".file"))));
  EXPECT_THAT(lines, AllOf(HasSubstr(".loc"), HasSubstr("lines_test.cc"), Not(HasSubstr("debug"))));
  EXPECT_EQ(Code(lines), Code(plain));
}

TEST(LinesTest, OfCppNameTheStatement) {
  int store = 0, branch = 0, loop = 0;
  const auto kernel = MakeKernel(
      "statements",
      [&](ArrayVar<float, 2> y, ArrayVar<const float, 1> x) {
        Expr<int64_t> i = GlobalIndex();
        branch = Here() + 1;
        If(i < y.shape(0), [&] {
          loop = Here() + 1;
          For(Range(0, y.shape(1)), [&](Expr<int64_t> j) {
            store = Here() + 1;
            y(i, j) = x[j] * 2.0f;
          });
        });
      },
      kLines);
  const absl::StatusOr<CompiledKernel> compiled = kernel.CompiledFor(kTarget);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  for (int line : {store, branch, loop}) {
    EXPECT_THAT(compiled->inspection->ptx, HasSubstr(".loc\t1 " + std::to_string(line) + " ")) << line;
  }
}

// What the device tells of a launch that goes wrong.
template <class Launch>
std::string Told(const Device& device, const Launch& launch) {
  const Stream stream = device.CreateStream().value();
  testing::internal::CaptureStderr();
  const absl::Status launched = launch(stream);
  EXPECT_TRUE(launched.ok()) << launched;
  EXPECT_FALSE(stream.Synchronize().ok());
  return testing::internal::GetCapturedStderr();
}

// A fault stays with its context: each in a process of its own.
TEST(LinesDeathTest, TheMemoryCheckerNamesTheLineOfCpp) {
  const auto run = [] {
    const Device device = Device::Open("cpu").value();
    const auto y = Array<float, 1>::From(device, std::vector<float>(10)).value();
    int line = 0;
    const auto kernel = MakeKernel(
        "past_the_end",
        [&](ArrayVar<float, 1> out) {
          line = Here() + 1;
          out[out.size() + 3] = 1.0f;
        },
        kLines);
    const std::string told =
        Told(device, [&](const Stream& stream) { return kernel(stream, LaunchConfig{.grid = {1}, .block = {1}}, y); });
    const std::string want = "kernel past_the_end, block (0,0,0), thread (0,0,0), ";
    const bool good = told.find("invalid global write of size 4") != told.npos && told.find(want) != told.npos &&
                      told.find(Line(line)) != told.npos;
    if (!good) std::fputs(told.c_str(), stderr);
    std::_Exit(good ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST(LinesDeathTest, TheMemoryCheckerNamesTheLineOfAFormula) {
  const auto run = [] {
    const Device device = Device::Open("cpu").value();
    const auto table = Array<float, 1>::From(device, std::vector<float>(4)).value();
    const auto at = Array<int32_t, 1>::From(device, std::vector<int32_t>{1, 2, 1000000}).value();
    auto out = Array<float, 1>::From(device, std::vector<float>(3)).value();
    const Elementwise gather =
        Elementwise::Parse("let twice = 2 * at\ny = 1 +\n  table[twice]", {}, "gather", kLines).value();
    const std::string told = Told(device, [&](const Stream& stream) { return gather.Into(stream, out, at, table); });
    const bool good = told.find("invalid global read of size 4") != told.npos &&
                      told.find("kernel gather, block (0,0,0), thread (2,0,0), expression:3") != told.npos;
    if (!good) std::fputs(told.c_str(), stderr);
    std::_Exit(good ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace slipway
