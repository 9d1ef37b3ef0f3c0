// What users of libraries like this one ran into, as far as formulas and views go. Each case has run-time values,
// numbers and constants, because libraries tend to get one of the three right.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "tests/comma_locale.h"
#include "tests/text/cpu_fixture.h"

namespace slipway {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using FieldCaseTest = CpuTest;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::string ErrorOf(const absl::Status& status) { return std::string(status.message()); }

// FC-01: integer division follows one rule, exactly.
TEST_F(FieldCaseTest, IntegerDivision) {
  const auto a = From<int32_t>({7, -7, 1, 2}), b = From<int32_t>({2, 2, 2, -4});
  EXPECT_THAT(Run<int32_t>("z = a / b", a, b), ElementsAre(3, -3, 0, 0));
  EXPECT_THAT(Run<int32_t>("z = floor_div(a, b)", a, b), ElementsAre(3, -4, 0, -1));
  EXPECT_THAT(Run<double>("z = true_div(a, b)", a, b), ElementsAre(3.5, -3.5, 0.5, -0.5));
  EXPECT_THAT(Run<int64_t>("z = -7 / 2"), ElementsAre(-3));
  EXPECT_THAT(Run<int64_t>("z = 1 / 2"), ElementsAre(0));
  EXPECT_THAT(Run<double>("z = true_div(1, 2)"), ElementsAre(0.5));
  EXPECT_THAT(Run<int64_t>("z = x / 1", From<int64_t>({(int64_t{1} << 60) + 1})), ElementsAre(1152921504606846977));
  EXPECT_THAT(Run<int64_t>("z = 1152921504606846977 / 1"), ElementsAre(1152921504606846977));
}

// FC-02: remainders with negative operands, in every way that an operand can be given.
template <class T>
class RemainderTest : public CpuTest {};
using SignedTypes = testing::Types<int8_t, int16_t, int32_t, int64_t>;
TYPED_TEST_SUITE(RemainderTest, SignedTypes);
TYPED_TEST(RemainderTest, SignsOfQuotientAndRemainder) {
  const auto a = this->template From<TypeParam>({-9, 9, -9, -8}), b = this->template From<TypeParam>({4, -4, -4, 4});
  EXPECT_THAT(this->template Run<TypeParam>("z = a / b", a, b), ElementsAre(-2, -2, 2, -2));
  EXPECT_THAT(this->template Run<TypeParam>("z = a % b", a, b), ElementsAre(-1, 1, -1, 0));
  EXPECT_THAT(this->template Run<TypeParam>("z = floor_div(a, b)", a, b), ElementsAre(-3, -3, 2, -2));
  EXPECT_THAT(this->template Run<TypeParam>("z = floor_mod(a, b)", a, b), ElementsAre(3, -3, -1, 0));
  EXPECT_THAT(this->template Run<TypeParam>("z = a - (a / b * b + a % b)", a, b), Each(0));
  // Each pair again, both as numbers, with a literal on the right, and both as literals: the same results.
  const auto all_four = [](const std::string& a, const std::string& b) {
    const std::string pair = a + ", " + b + ")";
    return Elementwise::Parse("q = " + a + " / " + b + "; r = " + a + " % " + b + "; f = floor_div(" + pair +
                              "; m = floor_mod(" + pair)
        .value();
  };
  const Elementwise of_numbers = all_four("a", "b");
  const int pairs[][6] = {// a, b, and the results of / % floor_div floor_mod.
                          {-9, 4, -2, -1, -3, 3},
                          {9, -4, -2, 1, -3, -3},
                          {-9, -4, 2, -1, 2, -1},
                          {-8, 4, -2, 0, -2, 0}};
  for (const auto& pair : pairs) {
    const auto x = static_cast<TypeParam>(pair[0]), y = static_cast<TypeParam>(pair[1]);
    const std::string a = std::to_string(pair[0]), b = std::to_string(pair[1]);
    const auto numbers = of_numbers.Evaluate(this->stream_, x, y).value();
    const auto mixed = all_four("a", b).Evaluate(this->stream_, x).value();
    const auto literals = all_four(a, b).Evaluate(this->stream_).value();
    for (int i = 0; i < 4; ++i) {
      EXPECT_THAT(this->template Values<TypeParam>(numbers[i]), ElementsAre(pair[2 + i])) << a << " " << b;
      EXPECT_THAT(this->template Values<TypeParam>(mixed[i]), ElementsAre(pair[2 + i])) << a << " " << b;
      EXPECT_THAT(this->template Values<int64_t>(literals[i]), ElementsAre(pair[2 + i])) << a << " " << b;
    }
  }
}
TEST_F(FieldCaseTest, RemaindersOfLiteralsAndFloats) {
  EXPECT_THAT(Run<int64_t>("z = floor_mod(-9, 4) * 100 + -9 % 4"), ElementsAre(299));
  EXPECT_THAT(Run<double>("z = fmod(x, 2.0)", From<double>({-7.5})), ElementsAre(-1.5));
  EXPECT_THAT(Run<double>("z = floor_mod(x, 2.0)", From<double>({-7.5})), ElementsAre(0.5));
}

// FC-03: unsigned stays unsigned.
TEST_F(FieldCaseTest, UnsignedValues) {
  EXPECT_THAT(Run<double>("z = float64(x)", From<uint8_t>({200})), ElementsAre(200.0));
  EXPECT_THAT(Run<double>("z = float64(x)", From<uint16_t>({60000})), ElementsAre(60000.0));
  const auto x = From<uint32_t>({4000000000u});
  EXPECT_THAT(Run<double>("z = float64(x)", x), ElementsAre(4000000000.0));
  EXPECT_THAT(Run<uint32_t>("z = uint32(x)", From<double>({4000000000.0})), ElementsAre(4000000000u));
  EXPECT_THAT(Run<bool>("z = x > 5", x), ElementsAre(true));
  EXPECT_THAT(Run<uint32_t>("z = x >> 4", x), ElementsAre(250000000u));
  EXPECT_THAT(Run<uint32_t>("z = x / 7", x), ElementsAre(571428571u));
  EXPECT_THAT(Run<uint32_t>("z = x % 7", x), ElementsAre(3u));
  EXPECT_THAT(Run<uint32_t>("z = max(x, 5)", x), ElementsAre(4000000000u));
  EXPECT_THAT(Run<uint32_t>("z = min(x, y)", x, From<uint32_t>({5})), ElementsAre(5u));
  // By plain assignment between arrays.
  const auto wide = Array<double, 1>::Zeros(device_, 1).value();
  ASSERT_TRUE(Elementwise::Parse("z = x").value().Into(stream_, wide, x).ok());
  EXPECT_THAT(Values(wide), ElementsAre(4000000000.0));
}

// FC-04: signed against unsigned compares the numbers.
TEST_F(FieldCaseTest, MixedSignComparisons) {
  const auto x = From<uint64_t>({0, 1, uint64_t{1} << 63, ~uint64_t{0}});
  const int64_t minus_one = -1, lowest = std::numeric_limits<int64_t>::min();
  for (const int64_t y : {minus_one, lowest}) {
    const auto array = From<int64_t>({y, y, y, y});
    const std::string literal = y == -1 ? "-1" : "-9223372036854775808";
    for (const char* op : {"<", "<=", "=="}) {
      EXPECT_THAT(Run<bool>(std::string("z = x ") + op + " y", x, y), Each(false)) << op;
      EXPECT_THAT(Run<bool>(std::string("z = x ") + op + " y", x, array), Each(false)) << op;
      EXPECT_THAT(Run<bool>(std::string("z = x ") + op + literal, x), Each(false)) << op;
      EXPECT_THAT(Run<bool>(std::string("z = y ") + op + " x", y, x), Each(std::string(op) != "==")) << op;
    }
    for (const char* op : {">", ">=", "!="}) {
      EXPECT_THAT(Run<bool>(std::string("z = x ") + op + " y", x, y), Each(true)) << op;
      EXPECT_THAT(Run<bool>(std::string("z = x ") + op + " y", x, array), Each(true)) << op;
      EXPECT_THAT(Run<bool>(std::string("z = x ") + op + literal, x), Each(true)) << op;
    }
  }
}

// FC-05: float literals are not narrowed on the way.
TEST_F(FieldCaseTest, FloatLiteralsAreExact) {
  EXPECT_THAT(Run<double>("z = a + 2e50", From<double>({1.0})), ElementsAre(2e50));
  EXPECT_THAT(Run<double>("z = trunc(0.12 * s)", 200.0), ElementsAre(24.0));
  EXPECT_EQ(BitsOf(Run<double>("z = x + 0.1", From<double>({0}))[0]), BitsOf(0.1));
  EXPECT_EQ(BitsOf(Run<float>("z = x + 0.1", From<float>({0}))[0]), BitsOf(0.1f));
  EXPECT_EQ(BitsOf(Run<double>("z = 2.2204460492503131e-16")[0]), BitsOf(0x1p-52));
  // The PTX holds the very bits.
  const Elementwise text = Elementwise::Parse("z = x * 0.1").value();
  ASSERT_TRUE(text(stream_, From<double>({3})).ok());
  EXPECT_THAT(text.Inspect()[0].inspection->ptx, HasSubstr("0d3FB999999999999A"));
}

// FC-06: min and max return the number, min_nan and max_nan the NaN; -0 is less than +0. Bits are compared, not values.
template <class T>
class MinMaxTest : public CpuTest {};
using FloatTypes = testing::Types<float16, bfloat16, float, double>;
TYPED_TEST_SUITE(MinMaxTest, FloatTypes);
TYPED_TEST(MinMaxTest, NanAndSignedZero) {
  using T = TypeParam;
  const auto cast = [](const std::vector<float>& values) {
    std::vector<T> cast;
    for (const float value : values) cast.push_back(static_cast<T>(value));
    return cast;
  };
  const std::vector<T> first = cast({1, kNan, 1, kNan, -0.0f}), second = cast({2, 2, kNan, kNan, 0.0f});
  const auto a = this->From(first), b = this->From(second);
  const auto check = [&](const std::string& text, const std::vector<float>& wanted) {
    const Elementwise parsed = Elementwise::Parse(text).value();
    std::vector<std::vector<T>> results = {this->template Run<T>(parsed, a, b), this->template Run<T>(parsed, b, a)};
    // The right-hand side as a number.
    for (int reversed = 0; reversed < 2; ++reversed) {
      std::vector<T>& result = results.emplace_back();
      for (size_t i = 0; i < wanted.size(); ++i) {
        const T number = (reversed == 1 ? first : second)[i];
        result.push_back(this->template Run<T>(parsed, reversed == 1 ? b : a, number)[i]);
      }
    }
    for (const std::vector<T>& result : results) {
      ASSERT_EQ(result.size(), wanted.size());
      for (size_t i = 0; i < wanted.size(); ++i) {
        // Exact for each of these types, zeros' signs included.
        const auto got = static_cast<float>(result[i]);
        if (std::isnan(wanted[i])) {
          EXPECT_TRUE(std::isnan(got)) << text << " " << i;
        } else {
          EXPECT_EQ(BitsOf(got), BitsOf(wanted[i])) << text << " " << i;
        }
      }
    }
  };
  check("z = max(a, b)", {2, 2, 1, kNan, 0.0f});
  check("z = min(a, b)", {1, 2, 1, kNan, -0.0f});
  check("z = max_nan(a, b)", {2, kNan, kNan, kNan, 0.0f});
  check("z = min_nan(a, b)", {1, kNan, kNan, kNan, -0.0f});
  // A literal, on either side.
  for (const char* text : {"z = max(x, 2.0)", "z = max(2.0, x)"}) {
    EXPECT_EQ(static_cast<float>(this->template Run<T>(text, this->From(cast({kNan, 1})))[0]), 2) << text;
  }
}

// Beside a number that cannot be a NaN, one element and several: code generators take short cuts there.
TYPED_TEST(MinMaxTest, BesideAKnownNumber) {
  using T = TypeParam;
  for (const size_t n : {1, 2, 3, 4, 5, 17, 64}) {
    const auto nans = this->From(std::vector<T>(n, static_cast<T>(kNan)));
    const auto ones = this->From(std::vector<int8_t>(n, 1));
    const std::string one = std::string(Name(kDTypeOf<T>)) + "(x)";
    for (const std::string& text : {"z = f64(max(y, " + one + "))", "z = f64(min(y, " + one + "))"}) {
      EXPECT_EQ(this->template Run<double>(text, nans, ones), std::vector<double>(n, 1)) << text << " " << n;
    }
    for (const std::string& text : {"z = f64(max(" + one + ", y))", "z = f64(min(" + one + ", y))"}) {
      EXPECT_EQ(this->template Run<double>(text, ones, nans), std::vector<double>(n, 1)) << text << " " << n;
    }
  }
}

// FC-07: what binds how.
TEST_F(FieldCaseTest, BooleanOperatorsAndChains) {
  const auto a = From<int32_t>({1, 2, 1, 2, 1}), b = From<int32_t>({1, 2, 3, 4, 1});
  EXPECT_THAT(Run<bool>("z = (a == 1) & (b > 2)", a, b), ElementsAre(false, false, true, false, false));
  EXPECT_THAT(Run<bool>("z = a == 1 && b > 2", a, b), ElementsAre(false, false, true, false, false));
  EXPECT_THAT(ErrorOf(Elementwise::Parse("z = a == 1 and b > 2").status()), HasSubstr("write &&"));
  EXPECT_THAT(ErrorOf(Elementwise::Parse("z = 1 < x < 3").status()), HasSubstr("comparisons cannot be chained"));
  EXPECT_THAT(Run<bool>("z = 1 < x && x < 3", From<int32_t>({0, 2, 5})), ElementsAre(false, true, false));
  EXPECT_THAT(Run<int32_t>("z = (a == a) + (a == a)", a), Each(2));
  EXPECT_THAT(Run<bool>("z = !true"), ElementsAre(false));
  EXPECT_THAT(Run<int32_t>("z = ~x", From<int32_t>({1})), ElementsAre(-2));
  // & binds weaker than <, as in C: Python's 10 < (20 & 1) would be false.
  EXPECT_THAT(Run<int32_t>("z = 10 < 20 & 1"), ElementsAre(1));
  EXPECT_THAT(Run<int32_t>("z = x < 20 & 1", From<int32_t>({10, 30})), ElementsAre(1, 0));
}

// FC-08: float to integer saturates, and NaN is what PTX says.
TEST_F(FieldCaseTest, FloatToInteger) {
  const std::vector<float> values = {kNan, kInfinity, -kInfinity, 3e9f, -1.5f, 300};
  const auto x = From(values);
  EXPECT_THAT(Run<int32_t>("z = int32(x)", x), ElementsAre(0, INT32_MAX, INT32_MIN, INT32_MAX, -1, 300));
  EXPECT_THAT(Run<uint32_t>("z = uint32(x)", x), ElementsAre(0, UINT32_MAX, 0, 3000000000u, 0, 300));
  EXPECT_THAT(Run<int64_t>("z = int64(x)", From<float>({kNan})), ElementsAre(INT64_MIN));
  EXPECT_THAT(Run<uint64_t>("z = uint64(x)", From<float>({kNan})), ElementsAre(uint64_t{1} << 63));
  EXPECT_THAT(Run<int32_t>("z = int32(x)", From<double>({std::nan("")})), ElementsAre(INT32_MIN));
  // The folder agrees.
  EXPECT_THAT(Run<int32_t>("z = int32(float32(3e9))"), ElementsAre(INT32_MAX));
  EXPECT_THAT(Run<int32_t>("z = int32(-1.5)"), ElementsAre(-1));
  EXPECT_THAT(Run<uint32_t>("z = uint32(-1.5)"), ElementsAre(0));
  EXPECT_THAT(Run<int32_t>("z = int32(0.0 / 0.0)"), ElementsAre(INT32_MIN));
}

// FC-09: no integer division ends the process.
TEST_F(FieldCaseTest, DivisionsThatTrapOnHosts) {
  const auto a = From<int32_t>({INT32_MIN, 7, 7}), b = From<int32_t>({-1, -1, 0});
  EXPECT_THAT(Run<int32_t>("z = a / b", a, b), ElementsAre(INT32_MIN, -7, -1));
  EXPECT_THAT(Run<int32_t>("z = a % b", a, b), ElementsAre(0, 0, -1));
  EXPECT_THAT(Run<int32_t>("z = a / -1", a), ElementsAre(INT32_MIN, -7, -7));
  EXPECT_THAT(Run<int8_t>("z = a / b", From<int8_t>({-128, 1}), From<int8_t>({-1, 0})), ElementsAre(-128, -1));
  EXPECT_THAT(Run<int64_t>("z = a / b", From<int64_t>({INT64_MIN, 1}), From<int64_t>({-1, 0})),
              ElementsAre(INT64_MIN, -1));
  EXPECT_THAT(Run<uint32_t>("z = a / b", From<uint32_t>({5}), From<uint32_t>({0})), ElementsAre(UINT32_MAX));
  // A test for zero that the user wrote himself still counts.
  EXPECT_THAT(Run<int32_t>("z = b == 0 ? 99 : a / b", b, a), ElementsAre(INT32_MIN, -7, 99));
}

// FC-10: subnormals are numbers.
TEST_F(FieldCaseTest, Subnormals) {
  EXPECT_EQ(BitsOf(Run<float>("z = x / 2", From<float>({0x1p-126f}))[0]), 0x00400000u);
  EXPECT_EQ(BitsOf(Run<float>("z = x * 2", From<float>({0x1p-149f}))[0]), 0x00000002u);
  EXPECT_EQ(Run<float>("z = sqrt(x)", From<float>({0x1p-140f}))[0], 0x1p-70f);
  EXPECT_EQ(Run<double>("z = x / 2", From<double>({0x1p-1022}))[0], 0x1p-1023);
  EXPECT_EQ(Run<double>("z = x * 2", From<double>({0x1p-1074}))[0], 0x1p-1073);
  EXPECT_EQ(Run<double>("z = sqrt(x)", From<double>({0x1p-1060}))[0], 0x1p-530);
}

// FC-11: no locale reaches texts, PTX or values.
TEST_F(FieldCaseTest, DecimalComma) {
  std::vector<double> i(1000);
  std::iota(i.begin(), i.end(), 0.0);
  struct Outcome {
    double sum, epsilon;
    std::string generated;
    bool operator==(const Outcome&) const = default;
  };
  const auto run = [&] {
    const Elementwise text = Elementwise::Parse("z = 0.5*i + 4096 - 4096.0; e = 2.2204460492503131e-16").value();
    const auto outputs = text.Evaluate(stream_, From(i)).value();
    const std::vector<double> z = Values<double>(outputs[0]);
    const Inspection& inspection = *text.Inspect()[0].inspection;
    return Outcome{std::accumulate(z.begin(), z.end(), 0.0), Values<double>(outputs[1])[0],
                   inspection.ir + inspection.llvm + inspection.ptx};
  };
  const Outcome plain = run();
  EXPECT_EQ(plain.sum, 249750.0);
  EXPECT_EQ(plain.epsilon, 0x1p-52);
  EXPECT_THAT(plain.generated, HasSubstr("4096"));
  {
    const CommaStreams streams;
    EXPECT_EQ(run(), plain);
  }
  const CommaLocale comma;
  if (!comma.set()) GTEST_SKIP() << "localedef is not installed";
  EXPECT_EQ(run(), plain);
}

// FC-12: negative steps.
TEST_F(FieldCaseTest, ReversedViews) {
  const auto x = From<int32_t>({0, 1, 2, 3, 4, 5});
  const ArrayView<int32_t, 1> reversed(device_, x.data() + 5, {6}, {-1});
  EXPECT_THAT(Run<int32_t>("z = x * 10", reversed), ElementsAre(50, 40, 30, 20, 10, 0));
  EXPECT_THAT(Run<int32_t>("z = x + 0", ArrayView<int32_t, 1>(device_, x.data() + 5, {3}, {-2})), ElementsAre(5, 3, 1));
  EXPECT_THAT(Run<int32_t>("z = x * 10 + y", x, reversed), ElementsAre(5, 14, 23, 32, 41, 50));
  // As output, and as both.
  const auto out = Array<int32_t, 1>::Zeros(device_, 6).value();
  const ArrayView<int32_t, 1> backwards(device_, out.data() + 5, {6}, {-1});
  const Elementwise copy = Elementwise::Parse("z = x").value();
  ASSERT_TRUE(copy.Into(stream_, backwards, x).ok());
  EXPECT_THAT(Values(out), ElementsAre(5, 4, 3, 2, 1, 0));
  ASSERT_TRUE(copy.Into(stream_, backwards, reversed).ok());
  EXPECT_THAT(Values(out), ElementsAre(0, 1, 2, 3, 4, 5));
  // A 3 x 4 ramp flipped on axis 1, then transposed: element [i][j] = x[j][3 - i].
  std::vector<int32_t> ramp(12);
  std::iota(ramp.begin(), ramp.end(), 0);
  const auto matrix = From(ramp);
  const ArrayView<int32_t, 2> turned(device_, matrix.data() + 3, {4, 3}, {-1, 4});
  EXPECT_THAT(Run<int32_t>("z = x + 0", turned), ElementsAre(3, 7, 11, 2, 6, 10, 1, 5, 9, 0, 4, 8));
  // Gathered from by the kernel's own indices.
  EXPECT_THAT(Run<int32_t>("z = t[i, 0]", turned, From<int32_t>({0, 1, 2, 3})), ElementsAre(3, 2, 1, 0));
}

// FC-13: a zero stride after a contiguous array, and the other way round.
TEST_F(FieldCaseTest, ZeroStrideAfterContiguous) {
  const std::vector<float> ones(1000, 1.0f);
  const auto dense = From(ones);
  const auto one = From<float>({1});
  const ArrayView<float, 1> repeated(device_, one.data(), {1000}, {0});
  for (const bool dense_first : {true, false}) {
    const Elementwise text = Elementwise::Parse("z = x").value();
    for (int call = 0; call < 2; ++call) {
      const std::vector<float> z = (call == 0) == dense_first ? Run<float>(text, dense) : Run<float>(text, repeated);
      EXPECT_EQ(z, ones);
    }
    EXPECT_EQ(text.compiles(), 2u);
  }
  // An extent of 1 has no stride worth the name.
  std::vector<float> ten(10);
  std::iota(ten.begin(), ten.end(), 0.0f);
  const auto row = From(ten);
  EXPECT_EQ(Run<float>("z = x", ArrayView<float, 2>(device_, row.data(), {1, 10}, {12345, 1})), ten);
}

// FC-14: what overlaps in another order is refused, the same addresses are fine.
TEST_F(FieldCaseTest, Overlap) {
  std::vector<int64_t> ramp(4096);
  std::iota(ramp.begin(), ramp.end(), 0);
  const auto x = From(ramp, {64, 64});
  const ArrayView<int64_t, 2> transposed(device_, x.data(), {64, 64}, {1, 64});
  const Elementwise sum = Elementwise::Parse("z = x + y").value();
  EXPECT_THAT(ErrorOf(sum.Into(stream_, x, x, transposed)), HasSubstr("output 'z' overlaps input 'y'"));
  // Into another array it is right, every time.
  for (int run = 0; run < 20; ++run) {
    const std::vector<int64_t> z = Run<int64_t>(sum, x, transposed);
    ASSERT_EQ(std::accumulate(z.begin(), z.end(), int64_t{0}), 16773120);
    ASSERT_EQ(z[5 * 64 + 9], 65 * (5 + 9));
  }
  const auto line = From(ramp);
  const ArrayView<int64_t, 1> later(device_, line.data() + 1, {4095}), earlier(device_, line.data(), {4095});
  EXPECT_THAT(ErrorOf(Elementwise::Parse("z = x + 1").value().Into(stream_, later, earlier)), HasSubstr("overlaps"));
  ASSERT_TRUE(sum.Into(stream_, line, line, line).ok());
  EXPECT_EQ(Values(line)[4095], 8190);
}

// FC-18 and FC-19: numbers of every size, between arrays and by themselves, arrive as they were given.
TEST_F(FieldCaseTest, NumbersOfMixedSizes) {
  const auto out = [&](int size) { return Array<int64_t, 1>::Zeros(device_, size).value(); };
  const auto a = out(1), c = out(1), d = out(1), e = out(1), f = out(1);
  const auto b = Array<double, 1>::Zeros(device_, 1).value();
  const Elementwise text = Elementwise::Parse("A = a; B = b; C = c; D = d; E = e ? 1 : 0; F = f").value();
  ASSERT_TRUE(
      text.Into(stream_, a, b, c, d, e, f, int8_t{-7}, 2.5, int16_t{-300}, int32_t{70000}, true, (int64_t{1} << 40) + 3)
          .ok());
  EXPECT_THAT(Values(a), ElementsAre(-7));
  EXPECT_THAT(Values(b), ElementsAre(2.5));
  EXPECT_THAT(Values(c), ElementsAre(-300));
  EXPECT_THAT(Values(d), ElementsAre(70000));
  EXPECT_THAT(Values(e), ElementsAre(1));
  EXPECT_THAT(Values(f), ElementsAre((int64_t{1} << 40) + 3));
}
TEST_F(FieldCaseTest, NumbersOfAnotherWidth) {
  EXPECT_THAT(Run<float>("z = x", 5.0f), ElementsAre(5));
  EXPECT_THAT(Run<double>("z = x", 5.0), ElementsAre(5));
  EXPECT_EQ(BitsOf(static_cast<float>(Run<float16>("z = x", float16(1.5f))[0])), BitsOf(1.5f));
  const auto refused = [&](const std::string& signature, const Arg& arg) {
    return ErrorOf(Elementwise::Parse("z = x", signature).value()(stream_, arg).status());
  };
  EXPECT_EQ(refused("x: f32 -> z", 5.0),
            "input 'x': float32 is declared, float64 is given; pass a float, such as 2.0f");
  EXPECT_EQ(refused("x: f32 -> z", int64_t{1}),
            "input 'x': float32 is declared, int64 is given; pass a number of type float32");
  EXPECT_EQ(refused("x: i32 -> z", (int64_t{1} << 32) + 1),
            "input 'x': int32 is declared, int64 is given; pass a number of type int32");
}

// FC-20: parameters past 4,096 bytes. Strides that cannot be collapsed make each array 56 bytes.
TEST_F(FieldCaseTest, ManyArrays) {
  const std::array<int64_t, 3> shape = {2, 3, 4}, strides = {40, 12, 2};
  for (const int arrays : {70, 73, 74, 128}) {
    std::string text = "z = x0";
    std::vector<Array<int32_t, 1>> memory;
    std::vector<ArrayView<int32_t, 3>> views;
    for (int k = 0; k < arrays; ++k) {
      if (k > 0) text += " + x" + std::to_string(k);
      memory.push_back(From(std::vector<int32_t>(80, k)));
      views.push_back(ArrayView<int32_t, 3>(device_, memory.back().data(), shape, strides));
    }
    const std::vector<Arg> args(views.begin(), views.end());
    const Elementwise sum = Elementwise::Parse(text).value();
    const auto outputs = sum.Evaluate(stream_, absl::MakeConstSpan(args));
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_THAT(Values<int32_t>((*outputs)[0]), Each(arrays * (arrays - 1) / 2));
    EXPECT_EQ(sum.Inspect()[0].signature[1].rank, 3);
  }
}

}  // namespace
}  // namespace slipway
