// CompileOptions::line_info: PTX that says which line of a formula or of C++ each instruction comes from, and what the
// CPU device's memory checker makes of it.
#include <algorithm>
#include <cstdint>
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
// The PTX without what tells lines.
std::string Code(const std::string& ptx) {
  std::string code;
  for (size_t at = 0; at < ptx.size();) {
    const size_t end = std::min(ptx.find('\n', at), ptx.size() - 1) + 1;
    const std::string line = ptx.substr(at, end - at);
    const bool tells = line.find("\t.loc") == 0 || line.find("\t.file") == 0 || line.find("//") != line.npos ||
                       line.find("$L__func") == 0 || line.find("$L__tmp") == 0 ||
                       line.find("debug_macinfo") != line.npos || line == "\n";
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
  EXPECT_THAT(lines, AllOf(HasSubstr(".loc"), HasSubstr("lines_test.cc"), Not(HasSubstr(", debug"))));
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

// Runs what goes wrong and says so on stderr; what the context keeps of that goes with the process.
template <class Launch>
[[noreturn]] void Fail(const Device& device, const Launch& launch) {
  const Stream stream = device.CreateStream().value();
  const absl::Status launched = launch(stream), ended = stream.Synchronize();
  std::_Exit(launched.ok() && !ended.ok() ? 0 : 1);
}

constexpr int kWrongLine = __LINE__ + 1;
void StorePastTheEnd(ArrayVar<float, 1> out) { out[out.size() + 3] = 1.0f; }

TEST(LinesDeathTest, TheMemoryCheckerNamesTheLineOfCpp) {
  const auto run = [] {
    const Device device = Device::Open("cpu").value();
    const auto y = Array<float, 1>::From(device, std::vector<float>(10)).value();
    const auto kernel = MakeKernel(
        "past_the_end", [](ArrayVar<float, 1> out) { StorePastTheEnd(out); }, kLines);
    Fail(device, [&](const Stream& stream) { return kernel(stream, LaunchConfig{.grid = {1}, .block = {1}}, y); });
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0),
              AllOf(HasSubstr("invalid global write of size 4"),
                    HasSubstr("kernel past_the_end, block (0,0,0), thread (0,0,0), "),
                    HasSubstr("lines_test.cc:" + std::to_string(kWrongLine))));
}

TEST(LinesDeathTest, TheMemoryCheckerNamesTheLineOfAFormula) {
  const auto run = [] {
    const Device device = Device::Open("cpu").value();
    const auto table = Array<float, 1>::From(device, std::vector<float>(4)).value();
    const auto at = Array<int32_t, 1>::From(device, std::vector<int32_t>{1, 0, 1000000}).value();
    auto out = Array<float, 1>::From(device, std::vector<float>(3)).value();
    const Elementwise gather = Elementwise::Parse("let twice = 2 * at\ny = 1 +\n  table[twice]",
                                                  "at: i32[], table: f32[:] -> y: f32[]", "gather", kLines)
                                   .value();
    Fail(device, [&](const Stream& stream) { return gather.Into(stream, out, at, table); });
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0),
              AllOf(HasSubstr("invalid global read of size 4"),
                    HasSubstr("kernel gather, block (0,0,0), thread (2,0,0), expression:3")));
}

}  // namespace
}  // namespace slipway
