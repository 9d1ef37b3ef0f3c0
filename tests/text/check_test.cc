// Checks of the text language: what is told of them, on every road that evaluates a formula.
#include "absl/strings/str_cat.h"
#include "slipway/graph.h"
#include "slipway/kernel_archive.h"
#include "slipway/null_driver.h"
#include "tests/text/cpu_fixture.h"

namespace slipway {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

absl::Status Raised(const std::string& message) { return absl::InvalidArgumentError(message); }

Elementwise Root() {
  return Elementwise::Parse("check(x >= 0, \"%g has no root\", x)\ny = sqrt(x)", {}, "root").value();
}

class TextCheckTest : public CpuTest {
 protected:
  Array<float, 1> x_ = From<float>({4, 9, -1, -4}), y_ = From<float>({0, 0, 0, 0});
  const absl::Status kNoRoot = Raised("root: -1 has no root (element 2, block 0, thread 2)");
};

TEST_F(TextCheckTest, EveryWayToEvaluate) {
  const Elementwise root = Root();
  const auto expect_told = [&](const absl::Status& launched) {
    ASSERT_TRUE(launched.ok()) << launched;
    EXPECT_EQ(stream_.Synchronize(), kNoRoot);
  };
  for (int i = 0; i < 3; ++i) {  // Planned, from the second one on.
    expect_told(root.Into(stream_, y_, x_));
    EXPECT_THAT(Values(y_), ElementsAre(2, 3, 0, 0));
    expect_told(root.Into(stream_, {{"y", y_}, {"x", x_}}));
    expect_told(root.IntoByPosition(stream_, {y_, x_}));
  }
  expect_told(root(stream_, x_).status());
  expect_told(root.Evaluate(stream_, {{"x", x_}}).status());
  const BoundFormula bound = root.Bind(device_, {y_, x_}).value();
  expect_told(bound.Launch(stream_));
  expect_told(bound.Launch(stream_));
  GraphExec exec = Graph::Capture(stream_, [&] { return root.Into(stream_, y_, x_); }).value().Instantiate().value();
  expect_told(exec.Launch(stream_));
  expect_told(exec.Launch(stream_));
  const Device null = Device::Open(NullDriver()).value();
  const auto nowhere = Array<float, 1>::Empty(null, 4).value();
  const Stream quiet = null.CreateStream().value();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(root.Into(quiet, nowhere, nowhere).ok());
  EXPECT_TRUE(quiet.Synchronize().ok());
}

// The number of the element, however the arrays lie and the loop goes.
TEST_F(TextCheckTest, ElementsAreCountedInRows) {
  const auto column = From<float>({1, 2, 3}, {3, 1}), row = From<float>({1, 2}, {1, 2});
  const Elementwise text =
      Elementwise::Parse("check(a + b < 5, \"%d, %d: %g\", index(0), index(1), a + b)\nz = a", {}, "sums").value();
  ASSERT_TRUE(text(stream_, column, row).ok());
  EXPECT_EQ(stream_.Synchronize(), Raised("sums: 2, 1: 5 (element 5, block 0, thread 5)"));
  const auto square = From<float>({0, 1, 2, 3, 4, 9, 6, 7, 8}, {3, 3});
  const ArrayView<float, 2> transposed(device_, square.data(), {3, 3}, {1, 3});
  const Elementwise big = Elementwise::Parse("check(x < 9, \"big\")\nz = x", {}, "big").value();
  ASSERT_TRUE(big(stream_, transposed).ok());
  EXPECT_EQ(stream_.Synchronize(), Raised("big: big (element 7, block 0, thread 7)"));
}

TEST_F(TextCheckTest, InBlocksAndFunctions) {
  const Elementwise text = Elementwise::Parse(
                               "def root(a) {\n"
                               "  if a < -3 { check(false, \"far \\\"below\\\" 0\\\\\") }\n"
                               "  check(a >= 0, \"below 0\")\n"
                               "  if a > 8 { return 0.0 }\n"
                               "  return float64(sqrt(a))\n"
                               "}\n"
                               "var s = 0.0\n"
                               "for k in 0..2 { s += root(x + 1 - k)\n"
                               "  check(s < 100, \"%d: %g\", k, s) }\n"
                               "y = s",
                               {}, "blocks")
                               .value();
  ASSERT_TRUE(text(stream_, From<double>({4, 9, 0, 1})).ok());
  EXPECT_TRUE(stream_.Synchronize().ok());
  ASSERT_TRUE(text(stream_, From<double>({4, -2, -5, 1})).ok());
  EXPECT_EQ(stream_.Synchronize(), Raised("blocks: far \"below\" 0\\ (element 2, block 0, thread 2)"));
  ASSERT_TRUE(text(stream_, From<double>({4, -1.5, 5, 1})).ok());
  EXPECT_EQ(stream_.Synchronize(), Raised("blocks: below 0 (element 1, block 0, thread 1)"));
}

// Reductions are worked out first, where that is shared out; what checks stays with the elements.
TEST_F(TextCheckTest, BesideReductions) {
  const int64_t n = 100000;
  std::vector<float> values(n, 1);
  const auto x = From(values);
  values[70000] = -1;
  const auto bad = From(values);
  const Elementwise share = Elementwise::Parse("check(x >= 0, \"%g\", x)\ny = x / sum(x)", {}, "share").value();
  const Elementwise total =
      Elementwise::Parse("let s = sum(x)\ncheck(s > 99999, \"%g\", s)\ny = s", {}, "total").value();
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_THAT(Run<float>(share, x), Each(1.0f / n));
    ASSERT_TRUE(share(stream_, bad).ok());
    EXPECT_THAT(std::string(stream_.Synchronize().message()), testing::StartsWith("share: -1 (element 70000, block "));
    EXPECT_THAT(Run<float>(total, x), ElementsAre(100000));
    ASSERT_TRUE(total(stream_, bad).ok());
    // Told by whichever block came last.
    EXPECT_THAT(std::string(stream_.Synchronize().message()), testing::StartsWith("total: 99998 (element 0, block "));
  }
  // Within an operand: the element is the one that the reduction is for.
  const auto rows = From<float>({1, 2, 3, 4, 5, 6}, {3, 2});
  const Elementwise inside = Elementwise::Parse(
                                 "def small(a) {\n  check(a < 4, \"%g is large\", a)\n  return a\n}\n"
                                 "y = sum(small(x), axis=1)",
                                 {}, "inside")
                                 .value();
  ASSERT_TRUE(inside(stream_, rows).ok());
  EXPECT_EQ(stream_.Synchronize(), Raised("inside: 4 is large (element 1, block 0, thread 1)"));
}

// What is printed is parsed to the same kernel.
TEST_F(TextCheckTest, PrintedAndParsedAgain) {
  const Signature f32 = {
      {.name = "x", .kind = ParamKind::kArray, .dtype = DType::kFloat32, .rank = 1, .layout = Layout::kContiguous}};
  for (const char* text : {"check(x >= 0, \"%g has no root\", x)\ny = sqrt(x)",
                           "check(x > 1, \"a \\\"b\\\" \\\\ \\n\\t 100%% %lld %x\", index(), shape(0))\ny = x",
                           "def f(a) {\n  check(a > 0, \"%d\", int32(a))\n  if a > 1 { return a }\n  return 2 * "
                           "a\n}\ny = f(x) + f(x - 1)"}) {
    const Elementwise parsed = Elementwise::Parse(text, {}, "again").value();
    const KernelText printed = parsed.TextFor(f32).value();
    const absl::StatusOr<Elementwise> again = Elementwise::Parse(printed.text, printed.signature, "again");
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << printed.text;
    EXPECT_EQ(again->TextFor(f32).value().text, printed.text);
    const Target target = TargetFor(device_).value();
    const CompiledKernel first = parsed.CompileFor(target, f32).value(),
                         second = again->CompileFor(target, f32).value();
    EXPECT_EQ(first.checks, second.checks);
    EXPECT_EQ(first.inspection->ptx, second.inspection->ptx) << printed.text;
  }
}

TEST_F(TextCheckTest, CompiledAheadAndFromAnArchive) {
  const Signature f32 = {
      {.name = "x", .kind = ParamKind::kArray, .dtype = DType::kFloat32, .rank = 1, .layout = Layout::kContiguous}};
  const Elementwise root = Root();
  ASSERT_TRUE(root.Precompile(device_, {f32}).ok());
  ASSERT_TRUE(root.Into(stream_, y_, x_).ok());
  EXPECT_EQ(stream_.Synchronize(), kNoRoot);
  const std::string bytes = EncodeKernels({root.CompileFor(TargetFor(device_).value(), f32).value()});
  const Kernel kernel = Kernel::Load(device_, KernelArchive::FromBytes(bytes).value().Find("root").value()).value();
  ASSERT_TRUE(kernel.Launch(stream_, ForSize(4), {y_, x_}).ok());
  EXPECT_EQ(stream_.Synchronize(), kNoRoot);
}

TEST_F(TextCheckTest, TheWordIsAName) {
  EXPECT_THAT(Run<float>("let check = x + 1\nz = check * 2", From<float>({1, 2})), ElementsAre(4, 6));
  EXPECT_THAT(Run<float>("z = check", From<float>({1, 2})), ElementsAre(1, 2));
}

TEST_F(TextCheckTest, TypesAreChecked) {
  const auto error = [&](const std::string& text) {
    return std::string(Elementwise::Parse(text).value()(stream_, x_).status().message());
  };
  EXPECT_EQ(error("check(x, \"no\"); y = x"),
            "expression:1:1: the condition of a check is float32; a bool is wanted: compare it with 0\n"
            "  check(x, \"no\"); y = x\n"
            "  ^~~~~");
  EXPECT_EQ(error("check(x > 0, \"%d\", x); y = x"),
            "expression:1:1: check: '%d' is given float32; it prints integers: cast it, or use %g\n"
            "  check(x > 0, \"%d\", x); y = x\n"
            "  ^~~~~");
  EXPECT_THAT(error("check(x > 0, \"50% more\"); y = x"), HasSubstr("'% m' is not a conversion of kernels"));
}

}  // namespace
}  // namespace slipway
