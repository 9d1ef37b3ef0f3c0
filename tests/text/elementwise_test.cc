// Values of elementwise calls on the CPU device, against host loops.
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
using ElementwiseTest = CpuTest;

TEST_F(ElementwiseTest, Axpy) {
  constexpr int kSize = 10007;
  std::vector<float> x(kSize), y(kSize), wanted(kSize);
  for (int i = 0; i < kSize; ++i) {
    x[i] = 0.37f * static_cast<float>(i) - 1000;
    y[i] = static_cast<float>(i % 17);
    wanted[i] = std::fma(2.5f, x[i], y[i]);  // Contracted, as docs/semantics.md says.
  }
  const Elementwise axpy = Elementwise::Parse("z = a * x + y").value();
  EXPECT_EQ(Run<float>(axpy, 2.5f, From(x), From(y)), wanted);
}

TEST_F(ElementwiseTest, SeveralStatementsAndOutputs) {
  const std::vector<double> x = {3, 5, 8, 0.25}, y = {4, 12, 15, 1};
  const Elementwise text =
      Elementwise::Parse("let r = sqrt(x * x + y * y)\nu = x / r; v = y / r; one = u * u + v * v").value();
  const auto outputs = text.Evaluate(stream_, {{"x", From(x)}, {"y", From(y)}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  const std::vector<double> u = Values<double>((*outputs)[0]), v = Values<double>((*outputs)[1]);
  for (size_t i = 0; i < x.size(); ++i) {
    const double r = std::sqrt(std::fma(x[i], x[i], y[i] * y[i]));
    EXPECT_NEAR(u[i], x[i] / r, 1e-15);
    EXPECT_NEAR(v[i], y[i] / r, 1e-15);
    EXPECT_NEAR(Values<double>((*outputs)[2])[i], 1, 1e-15);
  }
}

TEST_F(ElementwiseTest, InPlace) {
  const auto x = From<float>({1, 2, 3, 4});
  const Elementwise text = Elementwise::Parse("z = x + x; w = 10 * x").value();
  const auto w = Array<float, 1>::Zeros(device_, 4).value();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(text.Into(stream_, x, w, x).ok());
  EXPECT_THAT(Values(x), ElementsAre(8, 16, 24, 32));
  EXPECT_THAT(Values(w), ElementsAre(40, 80, 120, 160));  // Of what x was before.
}

TEST_F(ElementwiseTest, NumbersOnlyGiveAnArrayOfRank0) {
  const auto z = Elementwise::Parse("z = a * a + 1").value()(stream_, {{"a", 3.0}});
  ASSERT_TRUE(z.ok()) << z.status();
  EXPECT_EQ(z->rank(), 0);
  EXPECT_THAT(Values<double>(z), ElementsAre(10));
}

TEST_F(ElementwiseTest, ArraysOfRank0Broadcast) {
  const float host = 4;
  const auto point = AnyArray::From(device_, DType::kFloat32, {}, &host).value();
  EXPECT_THAT(Run<float>("z = x * p", From<float>({1, 2, 3}), point), ElementsAre(4, 8, 12));
  EXPECT_THAT(Run<float>("z = p * p", point), ElementsAre(16));
  // And are written, from numbers and from each other.
  const auto z = Array<float, 0>::Zeros(device_, {}).value();
  ASSERT_TRUE(Elementwise::Parse("z = a * p").value().Into(stream_, z, 0.5f, point).ok());
  EXPECT_THAT(Values(z), ElementsAre(2));
}

TEST_F(ElementwiseTest, TextWithoutInputsFillsItsOutput) {
  const auto z = Array<int32_t, 2>::Zeros(device_, {3, 2}).value();
  ASSERT_TRUE(Elementwise::Parse("z = 7").value().Into(stream_, z).ok());
  EXPECT_THAT(Values(z), testing::Each(7));
}

TEST_F(ElementwiseTest, ConditionsAndGuards) {
  const auto x = From<float>({-2, -0.5f, 0, 0.5f, 2});
  EXPECT_THAT(Run<float>("z = x < 0 ? -x : x > 1 ? 1 : x", x), ElementsAre(2, 0.5f, 0, 0.5f, 1));
  EXPECT_THAT(Run<float>("z = x > 0 ? sqrt(x * x * 4) : cos(x - x)", x), ElementsAre(1, 1, 1, 1, 4));
  EXPECT_THAT(Run<bool>("z = x < 1 && x > -1 || x == 2", x), ElementsAre(false, true, true, true, true));
  EXPECT_THAT(Run<int64_t>("z = !(x < 0) ? 1 : 0", x), ElementsAre(0, 0, 1, 1, 1));
}

TEST_F(ElementwiseTest, GuardedGathersNeverReadOutside) {
  // Indices far outside: evaluating them would fault.
  const auto t = From<float>({10, 20, 30});
  const auto i = From<int64_t>({2, int64_t{1} << 40, 0, -(int64_t{1} << 40), 1});
  EXPECT_THAT(Run<float>("z = i >= 0 && i < 3 ? t[i] : -1.0", i, t), ElementsAre(30, -1, 10, -1, 20));
  EXPECT_THAT(Run<bool>("z = i >= 0 && i < 3 && t[i] > 15", i, t), ElementsAre(true, false, false, false, true));
  EXPECT_THAT(Run<bool>("z = i < 0 || i >= 3 || t[i] > 15", i, t), ElementsAre(true, true, false, true, true));
  EXPECT_THAT(Run<float>("z = i < 0 ? -1.0 : i > 2 ? -2.0 : t[i] + t[2 - i]", i, t), ElementsAre(40, -2, 40, -1, 40));
}

TEST_F(ElementwiseTest, GathersOfAnyRankAndStride) {
  std::vector<int32_t> host(12);
  std::iota(host.begin(), host.end(), 0);
  const auto table = From(host, {3, 4});
  const auto i = From<int32_t>({0, 1, 2, 2});
  const auto j = From<uint8_t>({3, 2, 1, 0});
  EXPECT_THAT(Run<int32_t>("z = t[i, j]", table, i, j), ElementsAre(3, 6, 9, 8));
  // The same table seen transposed and backwards.
  const ArrayView<int32_t, 2> turned(device_, table.data() + 11, {4, 3}, {-1, -4});
  EXPECT_THAT(Run<int32_t>("z = t[3 - j, 2 - i]", turned, j, i), ElementsAre(3, 6, 9, 8));
  EXPECT_THAT(Run<int32_t>("z = t[i[k], 0]", table, i, From<int64_t>({3, 0})), ElementsAre(8, 0));
}

TEST_F(ElementwiseTest, Broadcasting) {
  const auto column = From<int32_t>({1, 2, 3}, {3, 1});
  const auto row = From<int32_t>({10, 20, 30, 40});
  const auto z = Elementwise::Parse("z = c * 100 + r").value()(stream_, column, row);
  ASSERT_TRUE(z.ok()) << z.status();
  EXPECT_THAT(z->shape(), ElementsAre(3, 4));
  EXPECT_THAT(Values<int32_t>(z), ElementsAre(110, 120, 130, 140, 210, 220, 230, 240, 310, 320, 330, 340));
}

// Random shapes to rank 8, random strides: broadcast, reversed, padded, permuted, for three inputs and the output.
TEST_F(ElementwiseTest, AnyLayoutGivesTheValuesOfAHostLoop) {
  std::mt19937 random(99);
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  const Elementwise text = Elementwise::Parse("z = a * 1000 + b * 30 + c").value();
  struct Operand {
    Array<int32_t, 1> memory;
    std::vector<int32_t> host;
    std::vector<int64_t> shape, strides;
    int64_t first;
    AnyArrayView view;
  };
  for (int round = 0; round < 150; ++round) {
    const int rank = below(9);
    std::vector<int64_t> shape(rank);
    for (int64_t& extent : shape) extent = 1 + below(rank > 5 ? 2 : 4);
    const auto make = [&](bool output) {
      std::vector<int> order(rank);
      std::iota(order.begin(), order.end(), 0);
      if (below(2) == 0) std::shuffle(order.begin(), order.end(), random);
      std::vector<int64_t> own = shape, strides(rank);
      int64_t step = 1, first = 0;
      for (int d = rank - 1; d >= 0; --d) {
        const int at = order[d];
        const bool stretched = !output && below(4) == 0;
        const bool zero_stride = stretched && below(2) == 0;
        if (stretched && !zero_stride) own[at] = 1;
        if (zero_stride) continue;
        strides[at] = step;
        if (below(4) == 0) {
          strides[at] = -step;
          first += step * (own[at] - 1);
        }
        step *= own[at] + (below(5) == 0);
      }
      std::vector<int32_t> host(static_cast<size_t>(step) + 1);
      for (int32_t& value : host) value = static_cast<int32_t>(below(29));
      auto memory = From(host);
      // Leading dimensions may be missing.
      size_t skip = 0;
      while (!output && skip < own.size() && own[skip] == 1 && below(2) == 0) ++skip;
      own.erase(own.begin(), own.begin() + static_cast<long>(skip));
      strides.erase(strides.begin(), strides.begin() + static_cast<long>(skip));
      const auto view = AnyArrayView::Make(device_, DType::kInt32, memory.data() + first, own, strides).value();
      return Operand{memory, host, own, strides, first, view};
    };
    const Operand z = make(true), a = make(false), b = make(false), c = make(false);
    ASSERT_TRUE(text.Into(stream_, z.view, a.view, b.view, c.view).ok());
    const std::vector<int32_t> result = Values(z.memory);
    std::vector<int64_t> index(rank, 0);
    const auto offset = [&](const Operand& operand) {
      int64_t at = operand.first;
      const int shift = rank - static_cast<int>(operand.shape.size());
      for (size_t d = 0; d < operand.shape.size(); ++d) {
        if (operand.shape[d] != 1) at += index[shift + d] * operand.strides[d];
      }
      return static_cast<size_t>(at);
    };
    std::vector<int32_t> wanted = z.host;
    while (true) {
      wanted[offset(z)] = a.host[offset(a)] * 1000 + b.host[offset(b)] * 30 + c.host[offset(c)];
      int d = rank - 1;
      while (d >= 0 && ++index[d] == shape[d]) index[d--] = 0;
      if (d < 0) break;
    }
    ASSERT_EQ(result, wanted) << "round " << round;  // What is between the elements must be as it was, too.
  }
}

// Every dtype through a generic signature.
template <class T>
class DTypesTest : public CpuTest {};
using AllTypes =
    testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, float, double>;
TYPED_TEST_SUITE(DTypesTest, AllTypes);

TYPED_TEST(DTypesTest, GenericSignature) {
  const Elementwise text = Elementwise::Parse("z = a * x - y", "a: T, x: T[], y: T[] -> z: T[]").value();
  const std::vector<TypeParam> x = {1, 2, 100, 7}, y = {0, 2, 50, 7};
  std::vector<TypeParam> wanted;
  for (size_t i = 0; i < x.size(); ++i) wanted.push_back(static_cast<TypeParam>(TypeParam{3} * x[i] - y[i]));
  EXPECT_EQ(this->template Run<TypeParam>(text, TypeParam{3}, this->From(x), this->From(y)), wanted);
}

TEST_F(ElementwiseTest, HalfTypesAndBools) {
  const std::vector<float16> halves = {float16(1.5f), float16(-2.0f)};
  const auto doubled = Run<float16>("z = x * 2", From(halves));
  EXPECT_EQ(static_cast<float>(doubled[0]), 3.0f);
  EXPECT_EQ(static_cast<float>(doubled[1]), -4.0f);
  const std::vector<bfloat16> brains = {bfloat16(1.5f), bfloat16(-2.0f)};
  EXPECT_EQ(static_cast<float>(Run<bfloat16>("z = x + x", From(brains))[0]), 3.0f);
  const auto flags = Array<bool, 1>::From(device_, std::vector<bool>{true, false, true}).value();
  EXPECT_THAT(Run<int32_t>("z = x ? 1 : int32(2)", flags), ElementsAre(1, 2, 1));
}

// The functions that libm has, within a few ulp of it.
struct MathFunction {
  const char* name;
  double (*host)(double);
  double low, high;
};
std::ostream& operator<<(std::ostream& out, const MathFunction& function) { return out << function.name; }

class MathTest : public CpuTest, public testing::WithParamInterface<MathFunction> {};

TEST_P(MathTest, AgreesWithTheHost) {
  const auto& [name, host, low, high] = GetParam();
  std::vector<double> x;
  for (int i = 0; i <= 200; ++i) x.push_back(low + (high - low) * i / 200);
  std::vector<float> narrow(x.begin(), x.end());
  const Elementwise text = Elementwise::Parse(std::string("z = ") + name + "(x)").value();
  const std::vector<double> wide_result = Run<double>(text, From(x));
  const std::vector<float> narrow_result = Run<float>(text, From(narrow));
  ASSERT_EQ(wide_result.size(), x.size());
  ASSERT_EQ(narrow_result.size(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double wanted = host(x[i]);
    EXPECT_NEAR(wide_result[i], wanted, 1e-13 * std::max(1.0, std::abs(wanted))) << name << "(" << x[i] << ")";
    const double wanted_narrow = host(static_cast<double>(narrow[i]));
    EXPECT_NEAR(narrow_result[i], wanted_narrow, 1e-5 * std::max(1.0, std::abs(wanted_narrow)))
        << name << "(" << narrow[i] << ")";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Functions, MathTest,
    testing::Values(MathFunction{"abs", std::fabs, -3, 3}, MathFunction{"sqrt", std::sqrt, 0, 9},
                    MathFunction{"cbrt", std::cbrt, -9, 9}, MathFunction{"floor", std::floor, -3, 3},
                    MathFunction{"ceil", std::ceil, -3, 3}, MathFunction{"trunc", std::trunc, -3, 3},
                    MathFunction{"round", std::round, -3, 3}, MathFunction{"rint", std::rint, -3, 3},
                    MathFunction{"exp", std::exp, -5, 5}, MathFunction{"exp2", std::exp2, -5, 5},
                    MathFunction{"expm1", std::expm1, -2, 2}, MathFunction{"log", std::log, 0.1, 9},
                    MathFunction{"log2", std::log2, 0.1, 9}, MathFunction{"log10", std::log10, 0.1, 9},
                    MathFunction{"log1p", std::log1p, -0.9, 9}, MathFunction{"sin", std::sin, -9, 9},
                    MathFunction{"cos", std::cos, -9, 9}, MathFunction{"tan", std::tan, -1.5, 1.5},
                    MathFunction{"asin", std::asin, -1, 1}, MathFunction{"acos", std::acos, -1, 1},
                    MathFunction{"atan", std::atan, -9, 9}, MathFunction{"sinh", std::sinh, -3, 3},
                    MathFunction{"cosh", std::cosh, -3, 3}, MathFunction{"tanh", std::tanh, -3, 3},
                    MathFunction{"asinh", std::asinh, -9, 9}, MathFunction{"acosh", std::acosh, 1, 9},
                    MathFunction{"atanh", std::atanh, -0.9, 0.9}, MathFunction{"erf", std::erf, -3, 3},
                    MathFunction{"erfc", std::erfc, -3, 3}),
    [](const testing::TestParamInfo<MathFunction>& info) { return std::string(info.param.name); });

// From the text to the value: nothing on the way recurses, or takes time that grows faster than the text.
TEST_F(ElementwiseTest, ExpressionsAHundredThousandDeepAreRight) {
  constexpr int kDepth = 100000;
  const auto repeated = [](const std::string& part, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += part;
    return all;
  };
  const auto x = From<int32_t>({1, -3});
  EXPECT_THAT(Run<int32_t>("z = " + repeated("(", kDepth) + "x" + repeated(")", kDepth), x), ElementsAre(1, -3));
  EXPECT_THAT(Run<int32_t>("z = " + repeated("- ", kDepth) + "x", x), ElementsAre(1, -3));
  EXPECT_THAT(Run<int32_t>("z = " + repeated("x < 0 ? x : ", kDepth / 2) + "x", x), ElementsAre(1, -3));
  EXPECT_THAT(Run<int32_t>("z = x" + repeated(" + x", kDepth - 1), x), ElementsAre(kDepth, -3 * kDepth));
  // Additions that do not fold into a multiplication.
  const std::vector<float> deep =
      Run<float>("z = " + repeated("(1 + ", kDepth) + "x" + repeated(")", kDepth), From<float>({0.5f, -2}));
  EXPECT_THAT(deep, ElementsAre(100000.5f, 99998));
}

TEST_F(ElementwiseTest, RunsOnTheDefaultStream) {
  const Stream stream = device_.DefaultStream();
  const auto z = Elementwise::Parse("z = x + 1").value()(stream, From<float>({1, 2}));
  ASSERT_TRUE(z.ok()) << z.status();
  ASSERT_TRUE(stream.Synchronize().ok());
  EXPECT_THAT(*z->ToVector<float>(), ElementsAre(2, 3));
}

}  // namespace
}  // namespace slipway
