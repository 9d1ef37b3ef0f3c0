// Blocks, variables, functions, constants, indices, borders, updates by index: values on the CPU device against host
// loops.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/text/cpu_fixture.h"

namespace slipway {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

class StatementsTest : public CpuTest {
 protected:
  // Runs `text` into the arrays given, outputs first.
  template <class... Args>
  void Into(const std::string& text, const std::string& signature, const Args&... args) {
    const absl::StatusOr<Elementwise> parsed = Elementwise::Parse(text, signature);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    const absl::Status status = parsed->Into(stream_, args...);
    ASSERT_TRUE(status.ok()) << status;
  }
  // The message of a call that is refused.
  template <class... Args>
  std::string Refusal(const std::string& text, const std::string& signature, const Args&... args) {
    const absl::StatusOr<Elementwise> parsed = Elementwise::Parse(text, signature);
    if (!parsed.ok()) return std::string(parsed.status().message());
    return std::string(parsed->Into(stream_, args...).message());
  }
  template <class T, int N>
  Array<T, N> Filled(std::array<int64_t, N> shape, T first, T step) {
    int64_t size = 1;
    for (int64_t extent : shape) size *= extent;
    std::vector<T> values(size);
    for (int64_t i = 0; i < size; ++i) values[i] = static_cast<T>(first + step * static_cast<T>(i));
    return Array<T, N>::From(device_, values, shape).value();
  }
};

// Blocks and variables.

TEST_F(StatementsTest, IfElseChains) {
  const std::vector<int32_t> x = {-5, -1, 0, 1, 7, 100};
  EXPECT_THAT(Run<int64_t>("var s = 0\n"
                           "if x < 0 {\n  s = -1\n} else if x == 0 {\n  s = 10\n}\nelse if x > 50 { s = 50 } else {\n"
                           "  s = 1\n}\nz = s",
                           From(x)),
              ElementsAre(-1, -1, 10, 1, 1, 50));
}

TEST_F(StatementsTest, ForLoops) {
  const std::vector<int64_t> n = {0, 1, 5, 10, -3};
  EXPECT_THAT(Run<int64_t>("var s = 0; for k in 0..n { s += k * k }; z = s", From(n)), ElementsAre(0, 0, 30, 285, 0));
  EXPECT_THAT(Run<int64_t>("var s = 0; for k in n..0 step -2 { s = s * 10 + k }; z = s", From(n)),
              ElementsAre(0, 1, 531, 108642, 0));
  EXPECT_THAT(Run<int64_t>("var s = 0; for k in 0..n step 0 { s += 1 }; z = s", From(n)), ElementsAre(0, 0, 0, 0, 0));
}

TEST_F(StatementsTest, WhileBreakContinue) {
  // The steps of Collatz's sequence, at most 1000.
  const std::vector<int64_t> x = {1, 2, 3, 7, 27, 97};
  EXPECT_THAT(Run<int64_t>(R"(
var n = x
var steps = 0
while n != 1 {
  n = n % 2 == 0 ? n / 2 : 3 * n + 1
  steps += 1
  if steps >= 1000 { break }
}
z = steps)",
                           From(x)),
              ElementsAre(0, 1, 7, 16, 111, 118));
  EXPECT_THAT(
      Run<int64_t>("var s = 0; for k in 0..x { if k % 3 != 0 { continue }; if k > 20 { break }; s += k }; z = s",
                   From(x)),
      ElementsAre(0, 0, 0, 3 + 6, 63, 63));
}

TEST_F(StatementsTest, MandelbrotAgainstTheHost) {
  constexpr int kSize = 64;
  std::vector<float> re(kSize), im(kSize);
  std::vector<int64_t> wanted(kSize);
  for (int i = 0; i < kSize; ++i) {
    re[i] = -2 + 3.0f * static_cast<float>(i) / kSize;
    im[i] = -1 + 2.0f * static_cast<float>(i * 7 % kSize) / kSize;
    float u = 0, v = 0;
    int64_t k = 0;
    for (; k < 50 && std::fma(u, u, v * v) <= 4; ++k) {
      const float next = std::fma(u, u, -(v * v)) + re[i];
      v = std::fma(2 * u, v, im[i]);
      u = next;
    }
    wanted[i] = k;
  }
  EXPECT_EQ(Run<int64_t>(R"(
var u: float32 = 0; var v: float32 = 0; var k = 0
while k < 50 && fma(u, u, v * v) <= 4 {
  let next = fma(u, u, -(v * v)) + re
  v = fma(2 * u, v, im)
  u = next
  k += 1
}
z = k)",
                         From(re), From(im)),
            wanted);
}

TEST_F(StatementsTest, ALocalOfABlockEndsWithIt) {
  const std::vector<float> x = {1, 2};
  EXPECT_THAT(Run<float>("var s = x; if x > 1 { let t = 10 * x; s = t } else { let t = -x; s = t }; z = s", From(x)),
              ElementsAre(-1, 20));
}

TEST_F(StatementsTest, AVariableHasTheTypeOfItsFirstValueOrTheDeclaredOne) {
  const std::vector<int32_t> x = {3};
  EXPECT_THAT(Run<float>("var s: float32 = 0; s = s + x; s /= 2; z = s", From(x)), ElementsAre(1.5f));
  EXPECT_THAT(Run<double>("var s = 0.0; s += x; z = s", From(x)), ElementsAre(3.0));
  EXPECT_THAT(Run<int8_t>("let s: int8 = x; z = s", From(x)), ElementsAre(3));
}

TEST_F(StatementsTest, EveryCompoundAssignment) {
  const std::vector<int32_t> x = {13};
  EXPECT_THAT(Run<int32_t>("var s = x; s += 7; s -= 2; s *= 3; s /= 2; s %= 20; s <<= 3; s >>= 1; s |= 3; s &= 0x2f; "
                           "s ^= 5; z = s",
                           From(x)),
              ElementsAre((((((13 + 7 - 2) * 3 / 2) % 20) << 3 >> 1 | 3) & 0x2f) ^ 5));
}

TEST_F(StatementsTest, LazyOperandsInsideOfBlocks) {
  const std::vector<int64_t> i = {-1, 0, 2, 3, 9};
  const std::vector<float> t = {1, 2, 3};
  EXPECT_THAT(Run<float>("var s: f32 = 0; for k in 0..2 { s += i >= 0 && i < size(t) && t[i] > 1 ? t[i] : 0.0 }; z = s",
                         From(i), From(t)),
              ElementsAre(0, 0, 6, 0, 0));
}

// Functions and constants.

TEST_F(StatementsTest, Functions) {
  const std::vector<double> x = {1, 4, 9};
  EXPECT_THAT(
      Run<double>("def square(a) = a * a\ndef hyp(a, b) = sqrt(square(a) + square(b))\nz = hyp(x, 2 * x)", From(x)),
      ElementsAre(std::sqrt(5.0), std::sqrt(80.0), std::sqrt(405.0)));
  // Generic: of integers here, of floats there.
  EXPECT_THAT(Run<double>("def half(a) = a / 2\nz = half(7) + half(x)", From(x)), ElementsAre(3.5, 5, 7.5));
}

TEST_F(StatementsTest, FunctionsOfSeveralResultsThatReturnEarly) {
  const std::vector<int32_t> x = {7, -7, 0, 12};
  const Elementwise text = Elementwise::Parse(R"(
def divmod(a, b) {
  if b == 0 {
    return 0, a
  }
  let q = floor_div(a, b)
  return q, a - q * b
}
q, r = divmod(x, 4)
let u, v = divmod(x, x)
w = u + v)")
                               .value();
  const auto outputs = text.Evaluate(stream_, {{"x", From(x)}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(Values<int64_t>((*outputs)[0]), ElementsAre(1, -2, 0, 3));
  EXPECT_THAT(Values<int32_t>((*outputs)[1]), ElementsAre(3, 1, 0, 0));
  EXPECT_THAT(Values<int64_t>((*outputs)[2]), ElementsAre(1, 1, 0, 1));
}

TEST_F(StatementsTest, FunctionsOfArrays) {
  const std::vector<float> t = {1, 10, 100, 1000}, u = {5, 6, 7, 8};
  EXPECT_THAT(Run<float>(R"(
def blur(a, i) = a[i - 1; clamp] + a[i] + a[i + 1; clamp]
def both(a, b, i) = blur(a, i) + 2 * blur(b, i)
let i = index(0)
z = both(x, y, i) + x + y)",
                         From(t), From(u)),
              ElementsAre(12 + 2 * 16 + 6, 111 + 2 * 18 + 16, 1110 + 2 * 21 + 107, 2100 + 2 * 23 + 1008));
}

TEST_F(StatementsTest, NestedCallsOfOneFunctionWithDifferentArrays) {
  const std::vector<int64_t> t = {2, 0, 1}, u = {1, 2, 0};
  EXPECT_THAT(Run<int64_t>("def at(a, i) = a[i]\nz = at(t, at(u, i)) * 10 + at(u, at(t, i))", From(t), From(u),
                           From<int64_t>({0, 1, 2})),
              ElementsAre(0 * 10 + 0, 1 * 10 + 1, 2 * 10 + 2));
}

TEST_F(StatementsTest, LoopsInFunctionsInsideOfExpressions) {
  const std::vector<double> x = {0.5, 2, 0};
  std::vector<double> wanted;
  for (double v : x) {
    double y = v;
    if (v <= 0) {
      wanted.push_back(-1);
      continue;
    }
    for (int i = 0; i < 20; ++i) y = (y + v / y) / 2;
    wanted.push_back(1 + y);
  }
  EXPECT_EQ(Run<double>(R"(
def newton(a) {
  var y = a
  for i in 0..20 { y = (y + a / y) / 2 }
  return y
}
z = x > 0 ? 1 + newton(x) : -1.0)",
                        From(x)),
            wanted);
}

TEST_F(StatementsTest, Constants) {
  const std::vector<float> x = {1, 2};
  EXPECT_THAT(Run<float>("const two_pi = 2 * 3.14159265358979; def turn(a) = a * two_pi\nz = turn(x)", From(x)),
              ElementsAre(static_cast<float>(2 * 3.14159265358979), 2 * static_cast<float>(2 * 3.14159265358979)));
  const absl::StatusOr<Elementwise> text =
      Elementwise::Parse("z = x * scale + (fast ? offset : 7) + (big > 5 ? 0 : 1)",
                         {.constants = {{"scale", 0.5}, {"fast", true}, {"offset", -3}, {"big", UINT64_MAX}}});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(text->inputs(), ElementsAre("x"));
  EXPECT_THAT(Run<float>(*text, From(x)), ElementsAre(-2.5f, -2));
}

// Indices and extents.

TEST_F(StatementsTest, IndicesOfEveryLayout) {
  const auto x = Filled<int32_t, 3>({2, 3, 4}, 0, 0);
  const std::string text = "z = 100 * index(0) + 10 * index(1) + index(-1) + x";
  std::vector<int64_t> wanted, numbers(24);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 4; ++k) wanted.push_back(100 * i + 10 * j + k);
    }
  }
  std::iota(numbers.begin(), numbers.end(), 0);
  EXPECT_EQ(Run<int64_t>(text, x), wanted);
  EXPECT_EQ(Run<int64_t>("z = index() + x", x), numbers);
  // Into a view whose dimensions run backwards and are swapped.
  auto z = Array<int64_t, 3>::Zeros(device_, {4, 3, 2}).value();
  for (const char* form : {"z = 100 * index(0) + 10 * index(1) + index(2) + 0 * x", "z = index() + 0 * x"}) {
    const absl::StatusOr<Elementwise> parsed = Elementwise::Parse(form);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    const auto given = AnyArrayView::Make(device_, DType::kInt64, z.data() + 23, {2, 3, 4}, {-1, -2, -6}, false);
    ASSERT_TRUE(given.ok()) << given.status();
    ASSERT_TRUE(parsed->IntoByPosition(stream_, {Arg(*given), Arg(x)}).ok());
    const std::vector<int64_t> values = Values(z);
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 3; ++j) {
        for (int k = 0; k < 4; ++k) {
          EXPECT_EQ(values[23 - i - 2 * j - 6 * k], form[4] == '1' ? 100 * i + 10 * j + k : 12 * i + 4 * j + k);
        }
      }
    }
  }
}

TEST_F(StatementsTest, IndicesWithUnitExtents) {
  const auto x = Filled<int32_t, 3>({1, 3, 1}, 0, 1);
  EXPECT_THAT(Run<int64_t>("z = 100 * index(0) + 10 * index(1) + index(2) + 1000 * x", x), ElementsAre(0, 1010, 2020));
  const auto one = Filled<int32_t, 1>({1}, 7, 0);
  EXPECT_THAT(Run<int64_t>("z = index(0) + x", one), ElementsAre(7));
  EXPECT_THAT(Run<int64_t>("z = index() + shape(0) + x", one), ElementsAre(8));
}

TEST_F(StatementsTest, IndicesCountInTheBroadcastShape) {
  const auto x = Filled<int32_t, 2>({3, 1}, 0, 100);
  const auto y = Filled<int32_t, 1>({2}, 0, 0);
  EXPECT_THAT(Run<int64_t>("z = x + y + 10 * index(0) + index(1)", x, y), ElementsAre(0, 1, 110, 111, 220, 221));
  EXPECT_THAT(
      Run<int64_t>("z = x + y + 0 * index(0) + shape(0) * 10 + shape(1) + 1000 * size() + 10000 * rank()", x, y),
      ElementsAre(26032, 26032, 26132, 26132, 26232, 26232));
}

TEST_F(StatementsTest, ExtentsOfArrays) {
  const auto x = Filled<float, 2>({2, 3}, 0, 1);
  EXPECT_THAT(Run<int64_t>("z = 1000 * rank(x) + 100 * size(x) + 10 * shape(x, 0) + shape(x, -1) + int64(0 * x)", x),
              ElementsAre(2623, 2623, 2623, 2623, 2623, 2623));
  EXPECT_THAT(Run<int64_t>("z = size(t) + i * shape(t, 0)", Filled<float, 1>({5}, 0, 1), From<int64_t>({0, 1})),
              ElementsAre(5, 10));
  EXPECT_THAT(Run<int64_t>("z = 10 * size(x) + rank(x) + int64(x)", 3), ElementsAre(13));
  EXPECT_THAT(Run<int64_t>("z = 10 * shape(x, 0) + shape(x, 1)", x), ElementsAre(23));  // Asked, and nothing else.
}

TEST_F(StatementsTest, DimensionsThatAreNotThere) {
  const auto x = Filled<float, 1>({5}, 0, 1);
  auto z = Array<int64_t, 1>::Zeros(device_, 5).value();
  EXPECT_THAT(
      Refusal("z = index(1) + int64(x)", "", z, x),
      "expression:1:5: dimension 1 of the output, which has 1\n"
      "  z = index(1) + int64(x)\n"
      "      ^~~~~ the shape of the output is that of the arrays that are read element by element, or of the array "
      "that is given");
  EXPECT_THAT(Refusal("z = shape(x, -2) + int64(x)", "", z, x), HasSubstr("dimension -2 of 'x', which has 1"));
  const auto none = Array<float, 1>::Zeros(device_, 0).value();
  auto nowhere = Array<int64_t, 1>::Zeros(device_, 0).value();
  EXPECT_THAT(Refusal("z = index(1) + int64(x)", "", nowhere, none), HasSubstr("dimension 1 of the output"));
}

// Borders.

// What NumPy's pad of that name does, one index at a time.
int64_t Folded(const std::string& border, int64_t i, int64_t n) {
  if (border == "clamp") return std::clamp<int64_t>(i, 0, n - 1);
  while (i < 0 || i >= n) {
    if (border == "wrap") {
      i += i < 0 ? n : -n;
    } else if (border == "symmetric") {
      i = i < 0 ? -1 - i : 2 * n - 1 - i;
    } else if (n == 1) {
      return 0;
    } else {
      i = i < 0 ? -i : 2 * (n - 1) - i;
    }
  }
  return i;
}

TEST_F(StatementsTest, BordersInOneDimension) {
  for (const std::string border : {"clamp", "wrap", "reflect", "symmetric"}) {
    for (int64_t n : {1, 2, 3, 7}) {
      const auto x = Filled<int32_t, 1>({n}, 100, 1);
      for (int offset : {-11, -3, -1, 0, 1, 2, 20}) {
        std::vector<int32_t> wanted;
        for (int64_t i = 0; i < n; ++i) wanted.push_back(static_cast<int32_t>(100 + Folded(border, i + offset, n)));
        const std::string text =
            "let i = index(0); z = x[i + (" + std::to_string(offset) + "); " + border + "] + 0 * x";
        EXPECT_EQ(Run<int32_t>(text, x), wanted) << text << " of " << n;
      }
    }
  }
}

TEST_F(StatementsTest, BordersInTwoAndThreeDimensions) {
  for (const std::string border : {"clamp", "wrap", "reflect", "symmetric"}) {
    for (const std::array<int64_t, 3> n : {std::array<int64_t, 3>{2, 3, 4}, {1, 1, 5}, {3, 1, 2}}) {
      const auto x = Filled<int32_t, 3>(n, 0, 1);
      std::vector<int32_t> wanted;
      for (int64_t i = 0; i < n[0]; ++i) {
        for (int64_t j = 0; j < n[1]; ++j) {
          for (int64_t k = 0; k < n[2]; ++k) {
            wanted.push_back(
                static_cast<int32_t>((Folded(border, i - 1, n[0]) * n[1] + Folded(border, j + 4, n[1])) * n[2] +
                                     Folded(border, k - 2, n[2])));
          }
        }
      }
      EXPECT_EQ(Run<int32_t>("z = x[index(0) - 1, index(1) + 4, index(2) - 2; " + border + "] + 0 * x", x), wanted);
    }
  }
  const auto x = Filled<float, 2>({2, 3}, 1, 1);
  EXPECT_THAT(Run<float>("let i = index(0); let j = index(1); z = x[i - 1, j; 0] + x[i, j - 1; 0] - x * 0", x),
              ElementsAre(0 + 0, 0 + 1, 0 + 2, 1 + 0, 2 + 4, 3 + 5));
}

TEST_F(StatementsTest, AConstantBorder) {
  const std::vector<float> x = {1, 2, 3};
  EXPECT_THAT(Run<float>("let i = index(0); z = x[i - 1; -1.5] * 10 + x[i + 1; x]", From(x)),
              ElementsAre(-15 + 2, 10 + 3, 20 + 3));
  EXPECT_THAT(Run<double>("z = t[i; 0.1]", From<int32_t>({7, 8}), From<int64_t>({-1, 0, 1, 2, INT64_MIN, INT64_MAX})),
              ElementsAre(0.1, 7, 8, 0.1, 0.1, 0.1));
  // Nothing is read where there is nothing.
  EXPECT_THAT(Run<float>("z = t[i; 4]", Array<float, 1>::Zeros(device_, 0).value(), From<int64_t>({0})),
              ElementsAre(4));
}

TEST_F(StatementsTest, AnEmptyArrayHasNoElementForItsBorder) {
  auto z = Array<float, 1>::Zeros(device_, 1).value();
  EXPECT_THAT(Refusal("z = t[i; clamp]", "", z, Array<float, 1>::Zeros(device_, 0).value(), From<int64_t>({0})),
              HasSubstr("has no element to take for those outside; give the border a value: x[i; 0]"));
}

TEST_F(StatementsTest, ADeclaredElementwiseArrayIsReadByIndexToo) {
  const Elementwise text = Elementwise::Parse("z = x[index(0) - 1; wrap]", "x: T[] -> z: T[]").value();
  EXPECT_THAT(Run<float>(text, From<float>({1, 2, 3})), ElementsAre(3, 1, 2));
  EXPECT_THAT(Run<float>("z = x / x[0]", From<float>({2, 4, 8})), ElementsAre(1, 2, 4));
}

TEST_F(StatementsTest, WhatIsReadByIndexMayNotBeOverwritten) {
  const auto x = From<float>({1, 2, 3});
  EXPECT_THAT(Refusal("z = x[index(0) - 1; clamp] + x", "", x, x),
              HasSubstr("output 'z' overlaps input 'x', which is read by index"));
}

// Updates by index.

TEST_F(StatementsTest, Histogram) {
  std::vector<int32_t> x(10000), wanted(16, 3);
  std::mt19937 random(1);
  for (int32_t& v : x) v = static_cast<int32_t>(random() % 16);
  for (int32_t v : x) ++wanted[v];
  const auto bins = From(std::vector<int32_t>(16, 3));
  Into("hist[x] += 1", "x: i32[] -> hist: i32[:]", bins, From(x));
  EXPECT_EQ(Values(bins), wanted);
  const auto again = From(std::vector<int32_t>(16, 3));
  Into("hist[x] += 1", "", again, From(x));  // Without a signature.
  EXPECT_EQ(Values(again), wanted);
}

TEST_F(StatementsTest, AtomicOperations) {
  const std::vector<int32_t> x = {5, -2, 9, 4};
  const auto all = From<int32_t>({0, 0, 100, -100, -1, 0, 0, 0});
  Into(
      "a[0] += x; a[1] -= x; atomic_min(a[2], x); atomic_max(a[3], x); a[4] &= x + 3; a[5] |= x & 15; a[6] ^= x; "
      "atomic_add(a[7], 1)",
      "x: i32[] -> a: i32[:]", all, From(x));
  EXPECT_THAT(Values(all), ElementsAre(16, -16, -2, 9, 8 & 1 & 12 & 7, (5 | (-2 & 15) | 9 | 4), 5 ^ -2 ^ 9 ^ 4, 4));
  const auto floats = From<double>({0, -1e300, 1e300});
  Into("a[0] += x; atomic_max(a[1], x); atomic_min(a[2], x)", "x: T[] -> a: f64[:]", floats, From(x));
  EXPECT_THAT(Values(floats), ElementsAre(16, 9, -2));
}

TEST_F(StatementsTest, AtomicOperationsGiveTheElementFromBefore) {
  // Keeps what is positive, in any order.
  std::vector<int32_t> x(1000), wanted;
  for (int i = 0; i < 1000; ++i) x[i] = i * 37 % 101 - 50;
  for (int32_t v : x) {
    if (v > 0) wanted.push_back(v);
  }
  const auto count = From<int64_t>({0});
  const auto kept = From(std::vector<int32_t>(1000, 0));
  Into("if x > 0 {\n  let at = atomic_add(count[0], 1)\n  kept[at] = x\n}", "x: i32[] -> count: i64[:], kept: i32[:]",
       count, kept, From(x));
  ASSERT_EQ(Values(count)[0], static_cast<int64_t>(wanted.size()));
  std::vector<int32_t> values = Values(kept);
  values.resize(wanted.size());
  std::sort(values.begin(), values.end());
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(values, wanted);
}

TEST_F(StatementsTest, ScatterIntoTwoDimensionsBesideAnElementwiseOutput) {
  const auto x = Filled<float, 2>({2, 3}, 1, 1);
  const auto transposed = Array<float, 2>::Zeros(device_, {3, 2}).value();
  const auto twice = Array<float, 2>::Zeros(device_, {2, 3}).value();
  Into("t[index(1), index(0)] = x; y = 2 * x", "x: T[] -> t: T[:,:], y: T[]", transposed, twice, x);
  EXPECT_THAT(Values(transposed), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(Values(twice), ElementsAre(2, 4, 6, 8, 10, 12));
}

TEST_F(StatementsTest, UpdatesAreRefusedWhereTheyCannotBe) {
  const auto x = From<int32_t>({1, 2});
  const auto matrix = Array<int32_t, 2>::Zeros(device_, {2, 2}).value();
  EXPECT_THAT(
      Refusal("h[x] += 1", "x: i32[] -> h: i32[:]", x, x),
      HasSubstr("output 'h' overlaps input 'x', and is written by index: elements would be overwritten before they "
                "are read"));
  EXPECT_THAT(Refusal("h[x] += 1", "x: i32[] -> h: i32[:]", matrix, x),
              HasSubstr("output 'h': it is written with 1 index, so an array of rank 1 is wanted"));
  const Elementwise text = Elementwise::Parse("h[x] += 1", "x: i32[] -> h: i32[:]").value();
  EXPECT_EQ(std::string(text(stream_, x).status().message()),
            "output 'h': it is written by index, so the array to write must be given; call Into");
}

// A parameter of a function hides a constant of the host program.
TEST(HostConstants, AParameterOfThatName) {
  const Device device = Device::Open("cpu").value();
  const Stream stream = device.CreateStream().value();
  const auto x = Array<float, 1>::From(device, {7, 1}).value();
  const auto formula =
      Elementwise::Parse("def f(a) = a * 2\ny = f(x) + a", ElementwiseOptions{.constants = {{"a", 5.0}}}).value();
  EXPECT_EQ(formula(stream, x).value().ToVector<float>().value(), (std::vector<float>{19, 7}));
  const auto twice = Elementwise::Parse("y = a", ElementwiseOptions{.constants = {{"a", 5.0}, {"a", 6.0}}});
  EXPECT_EQ(twice.status().message(), "the constant 'a' is given twice");
}

TEST(ArgumentOfAnArrayWithoutDimensions, IsItsOnlyElement) {
  const Device device = Device::Open("cpu").value();
  const Stream stream = device.CreateStream().value();
  const auto x = Array<double, 0>::From(device, std::vector<double>{3}, {}).value();
  const auto formula = Elementwise::Parse("y = argmax(x)").value();
  const absl::StatusOr<AnyArray> y = formula(stream, x);
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->ToVector<int64_t>().value(), std::vector<int64_t>{0});
}

// So many calls of the library that its functions are no longer copied into the kernel: as many as a text may have.
TEST_F(StatementsTest, AsManyCostlyCallsAsThereMayBe) {
  std::string text = "y = ";
  for (int k = 0; k < 1024; ++k)
    text += (k == 0 ? "" : " + ") + std::string(k % 2 == 0 ? "sin" : "exp") + "(x / " + std::to_string(k + 1) + ")";
  const auto x = From<float>({0.5f, 2, -3}), y = From<float>({0, 0, 0});
  Into(text, "", y, x);
  const std::vector<float> got = Values(y), given = Values(x);
  for (size_t i = 0; i < 3; ++i) {
    double wanted = 0;
    for (int k = 0; k < 1024; ++k) {
      const double at = double{given[i]} / (k + 1);
      wanted += k % 2 == 0 ? std::sin(at) : std::exp(at);
    }
    EXPECT_NEAR(got[i], wanted, 0.05);  // Half an ulp of float32 around 500 for each addition, and then some.
  }
}

}  // namespace
}  // namespace slipway
