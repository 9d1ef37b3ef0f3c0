// Reductions, over ranges and over axes: values on the CPU device against host loops.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/text/cpu_fixture.h"

namespace slipway {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ReductionsTest : public CpuTest {
 protected:
  template <class T, int N>
  Array<T, N> Of(std::array<int64_t, N> shape, const std::vector<T>& values) {
    return Array<T, N>::From(device_, values, shape).value();
  }
  template <class... Inputs>
  std::string Refusal(const std::string& text, const Inputs&... inputs) {
    const absl::StatusOr<Elementwise> parsed = Elementwise::Parse(text);
    if (!parsed.ok()) return std::string(parsed.status().message());
    return std::string(parsed->Evaluate(stream_, inputs...).status().message());
  }
};

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST_F(ReductionsTest, MatrixProduct) {
  const auto a = Of<double, 2>({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto b = Of<double, 2>({3, 2}, {7, 8, 9, 10, 11, 12});
  const auto c = Array<double, 2>::Zeros(device_, {2, 2}).value();
  const absl::StatusOr<Elementwise> text =
      Elementwise::Parse("let i = index(0); let j = index(1)\nc = sum(k in 0..shape(a, 1): a[i, k] * b[k, j])");
  ASSERT_TRUE(text.ok()) << text.status();
  ASSERT_TRUE(text->Into(stream_, c, a, b).ok());
  EXPECT_THAT(Values(c), ElementsAre(58, 64, 139, 154));
}

TEST_F(ReductionsTest, OverRanges) {
  const std::vector<int64_t> n = {0, 1, 4, 10};
  EXPECT_THAT(Run<int64_t>("z = sum(k in 0..n: k)", From(n)), ElementsAre(0, 0, 6, 45));
  EXPECT_THAT(Run<int64_t>("z = prod(k in 1..n + 1: k)", From(n)), ElementsAre(1, 1, 24, 3628800));
  EXPECT_THAT(Run<int64_t>("z = count(k in 0..n: k % 3 == 0)", From(n)), ElementsAre(0, 1, 2, 4));
  EXPECT_THAT(Run<bool>("z = any(k in 0..n: k == 3)", From(n)), ElementsAre(false, false, true, true));
  EXPECT_THAT(Run<bool>("z = all(k in 0..n: k < 4)", From(n)), ElementsAre(true, true, true, false));
  EXPECT_THAT(Run<int64_t>("z = max(k in 0..n: k * (6 - k))", From(n)), ElementsAre(INT64_MIN, 0, 9, 9));
  EXPECT_THAT(Run<int64_t>("z = argmax(k in 0..n: k * (6 - k))", From(n)), ElementsAre(-1, 0, 3, 3));
  EXPECT_THAT(Run<int64_t>("z = argmin(k in 0..n step 2: (k - 5) * (k - 5))", From(n)), ElementsAre(-1, 0, 2, 4));
  EXPECT_THAT(Run<double>("z = mean(k in 0..n: k)", From<int64_t>({1, 4, 10})), ElementsAre(0, 1.5, 4.5));
  EXPECT_THAT(Run<int64_t>("z = sum(i in 0..n, j in i..n: i * j)", From(n)), ElementsAre(0, 0, 25, 1155));
}

TEST_F(ReductionsTest, OverAxes) {
  const auto x = Of<int32_t, 2>({2, 3}, {1, 2, 3, 4, 5, 60});
  EXPECT_THAT(Run<int64_t>("z = sum(x, axis=1)", x), ElementsAre(6, 69));
  EXPECT_THAT(Run<int64_t>("z = sum(x, axis=0)", x), ElementsAre(5, 7, 63));
  EXPECT_THAT(Run<int64_t>("z = sum(x, axis=-1)", x), ElementsAre(6, 69));
  EXPECT_THAT(Run<int64_t>("z = sum(x)", x), ElementsAre(75));
  EXPECT_THAT(Run<int64_t>("z = prod(x, axis=(0, 1))", x), ElementsAre(7200));
  EXPECT_THAT(Run<int32_t>("z = max(x, axis=0)", x), ElementsAre(4, 5, 60));
  EXPECT_THAT(Run<int32_t>("z = min(x)", x), ElementsAre(1));
  EXPECT_THAT(Run<double>("z = mean(x, axis=1)", x), ElementsAre(2, 23));
  EXPECT_THAT(Run<int64_t>("z = count(x > 2, axis=1)", x), ElementsAre(1, 3));
  EXPECT_THAT(Run<bool>("z = any(x > 4, axis=1)", x), ElementsAre(false, true));
  EXPECT_THAT(Run<bool>("z = all(x > 1, axis=1)", x), ElementsAre(false, true));
  EXPECT_THAT(Run<int64_t>("z = argmax(x, axis=1)", x), ElementsAre(2, 2));
  EXPECT_THAT(Run<int64_t>("z = argmax(x)", x), ElementsAre(5));
  EXPECT_THAT(Run<int64_t>("z = argmin(-x, axis=0)", x), ElementsAre(1, 1, 1));
}

TEST_F(ReductionsTest, OfComplexNumbers) {
  using Z = complex64;
  const auto x = Of<Z, 2>({2, 3}, {{1, 2}, {3, -1}, {0, 1}, {-2, 0.5f}, {4, 4}, {0.25f, -8}});
  EXPECT_THAT(Run<Z>("z = sum(x, axis=1)", x), ElementsAre(Z(4, 2), Z(2.25f, -3.5f)));
  EXPECT_THAT(Run<Z>("z = sum(x, axis=0)", x), ElementsAre(Z(-1, 2.5f), Z(7, 3), Z(0.25f, -7)));
  EXPECT_THAT(Run<Z>("z = mean(x, axis=0)", x), ElementsAre(Z(-0.5f, 1.25f), Z(3.5f, 1.5f), Z(0.125f, -3.5f)));
  // (1 + 2i)(3 - i) i = (5 + 5i) i; (-2 + i/2)(4 + 4i) = -10 - 6i, times (1/4 - 8i).
  EXPECT_THAT(Run<Z>("z = prod(x, axis=1)", x), ElementsAre(Z(-5, 5), Z(-50.5f, 78.5f)));
  EXPECT_THAT(Run<int64_t>("z = count(x != 0, axis=1)", x), ElementsAre(3, 3));
  EXPECT_THAT(Run<float>("z = max(norm(x))", x), ElementsAre(64.0625f));
  EXPECT_THAT(
      Run<complex128>("z = sum(k in 0..n: complex(k, 1)) + prod(k in 0..0: complex(k, k))", From<int64_t>({0, 4})),
      ElementsAre(complex128(1, 0), complex128(7, 4)));
  EXPECT_THAT(Run<complex128>("z = mean(k in 0..n: complex(k, 1))", From<int64_t>({4})),
              ElementsAre(complex128(1.5, 1)));
  for (const std::string name : {"min", "max", "argmin", "argmax"}) {
    EXPECT_EQ(Refusal("z = " + name + "(x)", x),
              "expression:1:5: " + name + " does not take complex64\n  z = " + name + "(x)\n      ^" +
                  std::string(name.size() - 1, '~') +
                  " complex numbers have no order; take their abs, or their real and imag");
  }
}

TEST_F(ReductionsTest, KeptDimensionsBroadcast) {
  const auto x = Of<double, 2>({2, 3}, {1, 2, 3, 4, 5, 9});
  EXPECT_THAT(Run<double>("z = x - mean(x, axis=1, keepdims=true)", x), ElementsAre(-1, 0, 1, -2, -1, 3));
  EXPECT_THAT(Run<double>("z = x - mean(x, axis=0)", x), ElementsAre(-1.5, -1.5, -3, 1.5, 1.5, 3));
  EXPECT_THAT(Run<double>("z = x / sum(x)", x),
              ElementsAre(1 / 24.0, 2 / 24.0, 3 / 24.0, 4 / 24.0, 5 / 24.0, 9 / 24.0));
  const absl::StatusOr<AnyArray> kept = Elementwise::Parse("z = sum(x, axis=0, keepdims=true)").value()(stream_, x);
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_THAT(kept->shape(), ElementsAre(1, 3));
}

TEST_F(ReductionsTest, OperandsBroadcastInside) {
  const auto x = Of<double, 2>({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto w = Of<double, 1>({3}, {1, 10, 100});
  const auto column = Of<double, 2>({2, 1}, {1, -1});
  EXPECT_THAT(Run<double>("z = sum(x * w, axis=1)", x, w), ElementsAre(321, 654));
  EXPECT_THAT(Run<double>("z = sum(x * column, axis=0)", x, column), ElementsAre(-3, -3, -3));
  EXPECT_THAT(Run<double>("z = sum(a * x, axis=0)", 2.0, x), ElementsAre(10, 14, 18));
  // An outer product, reduced: neither array has both dimensions.
  EXPECT_THAT(Run<double>("z = sum(w * column, axis=1)", w, column), ElementsAre(111, -111));
}

// A dimension of one element that is kept is broadcast with what stands around.
TEST_F(ReductionsTest, KeptDimensionsOfOneElementBroadcast) {
  const auto row = Of<int32_t, 2>({1, 3}, {1, 2, 3});
  const auto z = Of<int32_t, 1>({3}, {10, 20, 30});
  EXPECT_THAT(Run<int64_t>("y = z - sum(x, axis=1)", z, row), ElementsAre(4, 14, 24));
  const auto cube = Of<int32_t, 3>({2, 2, 1}, {1, 2, 3, 4});
  const auto wide = Of<int32_t, 3>({2, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  EXPECT_THAT(Run<int64_t>("y = z - sum(x, axis=1, keepdims=true)", wide, cube),
              ElementsAre(-3, -2, -1, 0, 1, 2, -1, 0, 1, 2, 3, 4));
  const auto flat = Of<int32_t, 3>({2, 1, 2}, {1, 5, 7, 2});
  const auto square = Of<int32_t, 2>({2, 3}, {0, 0, 0, 0, 0, 0});
  EXPECT_THAT(Run<int32_t>("y = z - max(x, axis=2)", square, flat), ElementsAre(-5, -5, -5, -7, -7, -7));
  const auto pair = Of<int32_t, 3>({1, 2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(Run<int64_t>("y = sum(x, axis=2, keepdims=true) - sum(x, axis=2)", pair), ElementsAre(0, -4, 4, 0));
  // A whole loop, and one that is bound: of many operands, too.
  const auto ones = Of<int32_t, 2>({1, 3000}, std::vector<int32_t>(3000, 1));
  const auto out = Array<int64_t, 1>::Zeros(device_, {3}).value();
  const absl::StatusOr<Elementwise> text = Elementwise::Parse("y = z - sum(x, axis=1)");
  const Arg args[] = {Arg(out), Arg(z), Arg(ones)};
  ASSERT_TRUE(text->Bind(device_, args)->Launch(stream_).ok());
  EXPECT_THAT(Values(out), ElementsAre(-2990, -2980, -2970));
  EXPECT_THAT(Run<int64_t>(*text, z, ones), ElementsAre(-2990, -2980, -2970));
}

TEST_F(ReductionsTest, ReductionsInsideOfReductions) {
  const auto x = Of<double, 2>({2, 3}, {1, 2, 3, 4, 5, 9});
  // The variance of each row.
  EXPECT_THAT(
      Run<double>("z = mean((x - mean(x, axis=1, keepdims=true)) * (x - mean(x, axis=1, keepdims=true)), axis=1)", x),
      ElementsAre(2.0 / 3, 14.0 / 3));
  EXPECT_THAT(Run<double>("z = sum(k in 0..2: sum(x, axis=0) * k)", x), ElementsAre(5, 7, 12));
  EXPECT_THAT(Run<double>("def scale(a) = a / max(x)\nz = scale(sum(x, axis=1))", x), ElementsAre(6 / 9.0, 18 / 9.0));
}

TEST_F(ReductionsTest, ThreeDimensions) {
  std::vector<int64_t> values(24);
  for (int i = 0; i < 24; ++i) values[i] = i * i % 17;
  const auto x = Of<int64_t, 3>({2, 3, 4}, values);
  for (const auto& [text, mask] : std::vector<std::pair<std::string, int>>{
           {"0", 1}, {"1", 2}, {"2", 4}, {"(0, 2)", 5}, {"(-1, 1)", 6}, {"(0, 1, 2)", 7}}) {
    std::vector<int64_t> wanted;
    const int n[] = {2, 3, 4};
    wanted.assign(((mask & 1) ? 1 : 2) * ((mask & 2) ? 1 : 3) * ((mask & 4) ? 1 : 4), 0);
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 3; ++j) {
        for (int k = 0; k < 4; ++k) {
          int at = 0;
          const int index[] = {i, j, k};
          for (int d = 0; d < 3; ++d) {
            if (!(mask >> d & 1)) at = at * n[d] + index[d];
          }
          wanted[at] += values[(i * 3 + j) * 4 + k];
        }
      }
    }
    EXPECT_EQ(Run<int64_t>("z = sum(x, axis=" + text + ")", x), wanted) << text;
    EXPECT_EQ(Run<int64_t>("z = sum(x, axis=" + text + ", keepdims=true)", x), wanted) << text;
  }
}

TEST_F(ReductionsTest, IntegersIn64BitsAndHalvesInFloat32) {
  EXPECT_THAT(Run<int64_t>("z = sum(x)", From(std::vector<int8_t>(300, 100))), ElementsAre(30000));
  EXPECT_THAT(Run<uint64_t>("z = sum(x)", From(std::vector<uint32_t>(4, 4000000000u))), ElementsAre(16000000000u));
  // 2048 + 1 is 2048 in float16, so that a sum in float16 would stop there.
  EXPECT_THAT(Run<float>("z = float32(sum(float16(x)))", From(std::vector<float>(4096, 1))), ElementsAre(4096));
  EXPECT_THAT(Run<int64_t>("z = sum(x > 0)", From<int32_t>({1, -1, 2})), ElementsAre(2));
}

TEST_F(ReductionsTest, NansAreLeftOutOfMinimaAndPositions) {
  const auto x = From<float>({kNan, 3, kNan, 1, 1});
  EXPECT_THAT(Run<float>("z = min(x)", x), ElementsAre(1));
  EXPECT_THAT(Run<int64_t>("z = argmin(x)", x), ElementsAre(3));
  EXPECT_THAT(Run<int64_t>("z = argmax(x)", x), ElementsAre(1));
  const auto none = From<float>({kNan, kNan});
  EXPECT_TRUE(std::isnan(Run<float>("z = max(x)", none)[0]));
  EXPECT_THAT(Run<int64_t>("z = argmax(x)", none), ElementsAre(-1));
}

TEST_F(ReductionsTest, NothingToReduce) {
  const auto x = Array<float, 2>::Zeros(device_, {0, 2}).value();
  EXPECT_THAT(Run<float>("z = sum(x, axis=0)", x), ElementsAre(0, 0));
  EXPECT_THAT(Run<float>("z = prod(x, axis=0)", x), ElementsAre(1, 1));
  EXPECT_THAT(Run<float>("z = sum(x, axis=1)", x), ElementsAre());
  EXPECT_THAT(Run<float>("z = min(x, axis=1)", x), ElementsAre());
  EXPECT_TRUE(std::isnan(Run<float>("z = mean(x, axis=0)", x)[0]));
  EXPECT_EQ(Refusal("z = min(x, axis=0)", x),
            "expression:1:5: min over axis 0 of the shape (0, 2), which has no elements\n"
            "  z = min(x, axis=0)\n"
            "      ^~~");
}

TEST_F(ReductionsTest, Mistakes) {
  const auto x = Of<float, 2>({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto y = Of<float, 1>({4}, {1, 2, 3, 4});
  EXPECT_THAT(Refusal("z = sum(x, axis=2)", x), HasSubstr("axis 2 of what has the shape (2, 3)"));
  EXPECT_THAT(Refusal("z = sum(x, axis=(0, -2))", x), HasSubstr("axis -2 is named twice"));
  EXPECT_THAT(Refusal("z = sum(x * y, axis=0)", x, y),
              HasSubstr("the shapes inside do not broadcast: 'x' is (2, 3), 'y' is (4,)"));
  EXPECT_THAT(
      Refusal("z = x - sum(x, axis=1)", x),
      HasSubstr("the result has the shape (2,), which does not broadcast with what is around it: 'x' is (2, 3)"));
  EXPECT_EQ(
      Refusal("y = argmax(x, axis=1); z = argmin(x, axis=0)", x),
      "expression:1:5: the result has the shape (2,), which does not broadcast with what is around it, of the "
      "shape (3,)\n"
      "  y = argmax(x, axis=1); z = argmin(x, axis=0)\n"
      "      ^~~~~~ all outputs of a text have one shape: keepdims=true keeps the dimensions that are reduced, as "
      "1, or write two texts");
  EXPECT_THAT(Refusal("z = sum(a, axis=0)", 2.0f), HasSubstr("sum over axes wants an array; numbers only are given"));
  EXPECT_THAT(Refusal("z = any(x, axis=0)", x), HasSubstr("any wants bools; float32 is given"));
}

}  // namespace
}  // namespace slipway
