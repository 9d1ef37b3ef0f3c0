// Reductions and scans by operations of the text's own, reduce(f, identity, x): of all ways that reductions are shared
// out, and in order, against loops on the host.
#include <complex>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "slipway/embedded.h"
#include "slipway/reduce.h"
#include "slipway/scan.h"
#include "tests/text/cpu_fixture.h"

namespace slipway {
namespace {

using testing::HasSubstr;

// Maps x -> a x + b of 32-bit integers, one behind the other: associative, exact, and different in any other order.
struct Affine {
  uint32_t a = 1, b = 0;
  Affine Then(Affine next) const { return {a * next.a, next.a * b + next.b}; }
  uint32_t Mixed() const { return a * 31 + b; }
};
const char kThen[] = "def then(a, b, c, d) { return a * c, c * b + d }\n";
const char kMixed[] = "let a, b = reduce(then, (1, 0), (x, x + 7))\ny = a * 31 + b\n";

// Which of two is not 0, the later one: of any dtype, and not commutative.
const char kLast[] = "def last(a, b) = b != 0 ? b : a\n";

const int64_t kSizes[] = {1, 2, 3, 255, 256, 257, 1023, 1025, 2049, 16385, 32768, 100003, 1 << 19};

class CustomReductionsTest : public CpuTest {
 protected:
  std::vector<uint32_t> Numbers(size_t n) {
    std::vector<uint32_t> x(n);
    for (uint32_t& value : x) value = random_() | 1;
    return x;
  }
  static Affine Of(uint32_t x) { return {x, x + 7}; }
  static Affine All(const std::vector<uint32_t>& x) {
    Affine all;
    for (uint32_t value : x) all = all.Then(Of(value));
    return all;
  }
  static Elementwise Parsed(const std::string& text, const ElementwiseOptions& options = {}) {
    absl::StatusOr<Elementwise> parsed = Elementwise::Parse(text, options);
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return *parsed;
  }

  std::mt19937 random_{23};
};

TEST_F(CustomReductionsTest, OfEverySizeInOrder) {
  const Elementwise mixed = Parsed(std::string(kThen) + kMixed);
  for (int64_t n : kSizes) {
    SCOPED_TRACE(n);
    const std::vector<uint32_t> x = Numbers(static_cast<size_t>(n));
    EXPECT_EQ(Run<uint32_t>(mixed, From(x)), std::vector<uint32_t>{All(x).Mixed()});
  }
  EXPECT_EQ(Run<uint32_t>(mixed, From(std::vector<uint32_t>())), std::vector<uint32_t>{31});
}

TEST_F(CustomReductionsTest, OfEveryAxisInOrder) {
  const int64_t shapes[][3] = {{3, 5, 7}, {3, 5, 9000}, {300, 3, 50}, {20000, 3, 2}, {2, 70, 33}, {0, 2, 3}};
  for (const auto& s : shapes) {
    SCOPED_TRACE(testing::Message() << s[0] << " x " << s[1] << " x " << s[2]);
    const std::vector<uint32_t> x = Numbers(static_cast<size_t>(s[0] * s[1] * s[2]));
    const auto array = Array<uint32_t, 3>::From(device_, x, {s[0], s[1], s[2]}).value();
    for (int mask = 1; mask < 8; ++mask) {
      const int64_t kept[3] = {mask & 1 ? 1 : s[0], mask & 2 ? 1 : s[1], mask & 4 ? 1 : s[2]};
      std::vector<Affine> all(static_cast<size_t>(kept[0] * kept[1] * kept[2]));
      size_t next = 0;
      for (int64_t i = 0; i < s[0]; ++i) {
        for (int64_t j = 0; j < s[1]; ++j) {
          for (int64_t k = 0; k < s[2]; ++k) {
            Affine& one = all[static_cast<size_t>(((mask & 1 ? 0 : i) * kept[1] + (mask & 2 ? 0 : j)) * kept[2] +
                                                  (mask & 4 ? 0 : k))];
            one = one.Then(Of(x[next++]));
          }
        }
      }
      std::vector<uint32_t> wanted;
      for (const Affine& one : all) wanted.push_back(one.Mixed());
      std::string axes;
      for (int d = 0; d < 3; ++d) {
        if (mask & (1 << d)) axes += (axes.empty() ? "" : ", ") + std::to_string(d);
      }
      SCOPED_TRACE(axes);
      const std::string text = std::string(kThen) + "let a, b = reduce(then, (1, 0), (x, x + 7), axis=(" + axes +
                               "), keepdims=true)\ny = a * 31 + b\n";
      EXPECT_EQ(Run<uint32_t>(text, array), wanted);
    }
  }
}

template <class T>
class CustomReductionsOfTest : public CustomReductionsTest {};
using Types = testing::Types<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, float16,
                             bfloat16, float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(CustomReductionsOfTest, Types);

// The last of the few elements that are not 0, along rows and over all, and up to each element.
TYPED_TEST(CustomReductionsOfTest, LastThatIsNotZero) {
  using T = TypeParam;
  const std::string zero = std::is_same_v<T, bool> ? "false" : "0";
  const std::string last = std::is_same_v<T, bool> ? "def last(a, b) = b != false ? b : a\n" : kLast;
  const std::string over = "reduce(last, " + zero + ", x";
  for (int64_t n : {0, 1, 700, 40001}) {
    SCOPED_TRACE(n);
    std::vector<T> x;
    std::vector<T> running;
    T of_all{};
    for (int64_t i = 0; i < n; ++i) {
      x.push_back(this->random_() % 61 == 0 ? static_cast<T>(static_cast<float>(1 + this->random_() % 100)) : T{});
      if (x.back() != T{}) of_all = x.back();
      running.push_back(of_all);
    }
    const auto array = this->From(x);
    EXPECT_EQ(this->template Run<T>(last + "y = " + over + ")", array), std::vector<T>{of_all});
    EXPECT_EQ(this->template Run<T>(last + "y = " + over + ", axis=0, keepdims=true)", array), std::vector<T>{of_all});
    const Scan scan = Scan::Parse(last + "y = " + over + ")").value();
    EXPECT_EQ(this->template Values<T>(scan(this->stream_, {{"x", array}})), running);
  }
}

TEST_F(CustomReductionsTest, ScansInOrder) {
  const std::string text = std::string(kThen) + kMixed;
  const Scan inclusive = Scan::Parse(text).value();
  const Scan exclusive = Scan::Parse(text, {{}, /*exclusive=*/true}).value();
  for (int64_t n : kSizes) {
    SCOPED_TRACE(n);
    const std::vector<uint32_t> x = Numbers(static_cast<size_t>(n));
    std::vector<uint32_t> running, before;
    Affine all;
    for (uint32_t value : x) {
      before.push_back(all.Mixed());
      all = all.Then(Of(value));
      running.push_back(all.Mixed());
    }
    EXPECT_EQ(Values<uint32_t>(inclusive(stream_, {{"x", From(x)}})), running);
    EXPECT_EQ(Values<uint32_t>(exclusive(stream_, {{"x", From(x)}})), before);
  }
  // Down columns.
  const std::vector<uint32_t> x = Numbers(5000 * 3);
  std::vector<uint32_t> running(x.size());
  for (size_t column = 0; column < 3; ++column) {
    Affine all;
    for (size_t i = column; i < x.size(); i += 3) {
      all = all.Then(Of(x[i]));
      running[i] = all.Mixed();
    }
  }
  const Scan columns =
      Scan::Parse(std::string(kThen) + "let a, b = reduce(then, (1, 0), (x, x + 7), axis=0)\ny = a * 31 + b\n").value();
  EXPECT_EQ(Values<uint32_t>(columns(stream_, {{"x", From(x, {5000, 3})}})), running);
}

TEST_F(CustomReductionsTest, SegmentsInOrder) {
  const std::string text = std::string(kThen) + kMixed;
  const SegmentedReduction reduction = SegmentedReduction::Parse(text).value();
  const Scan scan = Scan::Parse(text).value();
  for (int64_t longest : {5, 300, 5000}) {
    SCOPED_TRACE(longest);
    std::vector<int64_t> offsets = {0};
    while (offsets.back() < 60000) {
      const bool empty = random_() % 3 == 0;
      offsets.push_back(offsets.back() + (empty ? 0 : 1 + static_cast<int64_t>(random_()) % longest));
    }
    const std::vector<uint32_t> x = Numbers(static_cast<size_t>(offsets.back()));
    std::vector<uint32_t> wanted, running;
    for (size_t s = 0; s + 1 < offsets.size(); ++s) {
      Affine all;
      for (int64_t i = offsets[s]; i < offsets[s + 1]; ++i) {
        all = all.Then(Of(x[static_cast<size_t>(i)]));
        running.push_back(all.Mixed());
      }
      wanted.push_back(all.Mixed());
    }
    EXPECT_EQ(Values<uint32_t>(reduction(stream_, From(offsets), {{"x", From(x)}})), wanted);
    EXPECT_EQ(Values<uint32_t>(scan.OverSegments(stream_, From(offsets), {{"x", From(x)}})), running);
  }
}

// How many, their mean, and the sum of squares of what they differ from it by, of two sets as one (Chan, Golub,
// LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979).
TEST_F(CustomReductionsTest, MeanAndVariance) {
  const std::string text = R"(
def both(n, mean, squares, m, other, more) {
  let all = n + m
  if all == 0 { return n, mean, squares }
  let d = other - mean
  return all, mean + d * (float64(m) / all), squares + more + d * d * (float64(n) * m / all)
}
let n, mean, squares = reduce(both, (0, 0.0, 0.0), (1, float64(x), 0.0))
y = k == 0 ? mean : squares / n
)";
  std::normal_distribution<float> distribution(1000, 0.1f);
  for (int64_t n : {1, 100, 5000, 300000}) {
    std::vector<float> x(static_cast<size_t>(n));
    for (float& value : x) value = distribution(random_);
    const long double mean = std::accumulate(x.begin(), x.end(), 0.0L) / static_cast<long double>(n);
    long double squares = 0;
    for (float value : x) squares += (value - mean) * (value - mean);
    const double variance = static_cast<double>(squares / static_cast<long double>(n));
    const auto get = [&](int k) { return Values<double>(Reduce(stream_, text, {{"x", From(x)}, {"k", k}})).at(0); };
    EXPECT_NEAR(get(0), static_cast<double>(mean), 1e-9);
    EXPECT_NEAR(get(1), variance, 1e-9 * variance);
    EXPECT_EQ(BitsOf(get(1)), BitsOf(get(1)));  // The same in every run.
  }
}

// What stands around is worked out by launches of its own, and the states of it as several outputs.
TEST_F(CustomReductionsTest, WorkedOutOnce) {
  const std::string text = std::string(kThen) +
                           "const seven = 7\n"
                           "let a, b = reduce(then, (1, 0), (x, x + seven), axis=1, keepdims=true)\n"
                           "y = x * a + b + max(x)\n";
  const int64_t rows = 40, columns = 3000;
  const std::vector<uint32_t> x = Numbers(static_cast<size_t>(rows * columns));
  const uint32_t most = *std::max_element(x.begin(), x.end());
  std::vector<uint32_t> wanted(x.size());
  for (size_t row = 0; row < rows; ++row) {
    const auto at = x.begin() + static_cast<std::ptrdiff_t>(row * columns);
    const Affine all = All({at, at + columns});
    for (size_t i = row * columns; i < (row + 1) * columns; ++i) wanted[i] = x[i] * all.a + all.b + most;
  }
  EXPECT_EQ(Run<uint32_t>(Parsed(text), From(x, {rows, columns})), wanted);
  // Within another reduction.
  const Elementwise nested = Parsed(std::string(kLast) + "y = sum(x ^ reduce(last, 0, x, axis=1, keepdims=true))");
  uint64_t sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += x[i] ^ x[(i / columns + 1) * columns - 1];
  EXPECT_EQ(Run<uint64_t>(nested, From(x, {rows, columns})), std::vector<uint64_t>{sum});
}

TEST_F(CustomReductionsTest, OverRanges) {
  const Elementwise powers = Parsed(std::string(kThen) +
                                    "let a, b = reduce(then, (uint32(1), uint32(0)), k in 0..n: (x, x + uint32(k)))\n"
                                    "y = a * 31 + b\n");
  const std::vector<uint32_t> x = Numbers(100);
  std::vector<uint32_t> wanted;
  for (uint32_t value : x) {
    Affine all;
    for (uint32_t k = 0; k < 9; ++k) all = all.Then({value, value + k});
    wanted.push_back(all.Mixed());
  }
  EXPECT_EQ(Values<uint32_t>(powers.Evaluate(stream_, {{{"x", From(x)}, {"n", 9}}}).value().at(0)), wanted);
  EXPECT_EQ(Run<int32_t>(Parsed("def last(a, b) = b != 0 ? b : a\n"
                                "y = reduce(last, 0, i in 0..shape(t, 0), j in 0..i: t[i, j])"),
                         From<int32_t>({1, 2, 3, 0, 5, 6, 7, 0, 9}, {3, 3})),
            std::vector<int32_t>{7});
}

// Operations know numbers, constants, tables, loops, and other functions.
TEST_F(CustomReductionsTest, WhatOperationsSee) {
  const std::vector<uint32_t> x = Numbers(50000);
  uint32_t product = 1, divisor = 0;
  for (uint32_t value : x) {
    product = static_cast<uint32_t>(uint64_t{product} * (value % 1000003) % 1000003);
    divisor = std::gcd(divisor, value * 6);
  }
  const auto array = From(x);
  EXPECT_EQ(Values<uint64_t>(Reduce(stream_, "def times(a, b) = a * b % m\ny = reduce(times, 1, uint64(x) % m)",
                                    {{"x", array}, {"m", uint64_t{1000003}}})),
            std::vector<uint64_t>{product});
  EXPECT_EQ(Values<uint64_t>(Reduce(stream_,
                                    "const m = 1000003\ndef rest(a) = a % m\ndef times(a, b) = rest(a * b)\n"
                                    "y = reduce(times, 1, rest(uint64(x)))",
                                    {{"x", array}})),
            std::vector<uint64_t>{product});
  EXPECT_EQ(Values<uint32_t>(Reduce(stream_,
                                    "def gcd(a, b) {\n  var x = a\n  var y = b\n  while y != 0 { let r = x % y\n"
                                    "x = y\ny = r }\n  return x\n}\nresult = reduce(gcd, 0, x * 6)",
                                    {{"x", array}})),
            std::vector<uint32_t>{divisor});
  // The group of the turns and flips of a triangle, by its table.
  const int32_t group[6][6] = {{0, 1, 2, 3, 4, 5}, {1, 2, 0, 4, 5, 3}, {2, 0, 1, 5, 3, 4},
                               {3, 5, 4, 0, 2, 1}, {4, 3, 5, 1, 0, 2}, {5, 4, 3, 2, 1, 0}};
  std::vector<int32_t> elements(70001), running;
  int32_t all = 0;
  for (int32_t& element : elements) {
    element = static_cast<int32_t>(random_() % 6);
    all = group[all][element];
    running.push_back(all);
  }
  const auto table = From(std::vector<int32_t>(&group[0][0], &group[0][0] + 36), {6, 6});
  const std::string by_table = "def times(a, b) = group[a, b]\ny = reduce(times, 0, x)";
  EXPECT_EQ(Values<int32_t>(Reduce(stream_, by_table, {{"x", From(elements)}, {"group", table}})),
            std::vector<int32_t>{all});
  EXPECT_EQ(Values<int32_t>(Scan::Parse(by_table).value()(stream_, {{"x", From(elements)}, {"group", table}})),
            running);
}

// An operation that is written in C++.
TEST_F(CustomReductionsTest, ByAnEmbeddedFunction) {
  const ExportedFunction last =
      ExportFunction("last", [](Expr<int32_t> a, Expr<int32_t> b) { return Expr<int32_t>(Select(b != 0, b, a)); });
  const AnyExternalFunction function = AnyExternalFunction::Parse("int32 last(int32 a, int32 b)", last).value();
  std::vector<int32_t> x(40000), running;
  int32_t all = 0;
  for (int32_t& value : x) {
    value = random_() % 50 == 0 ? static_cast<int32_t>(random_()) : 0;
    if (value != 0) all = value;
    running.push_back(all);
  }
  EXPECT_EQ(Run<int32_t>(Parsed("y = reduce(last, 0, x)", {.functions = {function}}), From(x)),
            std::vector<int32_t>{all});
  const Scan scan = Scan::Parse("reduce(last, 0, x)", {{.functions = {function}}}).value();
  EXPECT_EQ(Values<int32_t>(scan(stream_, {{"x", From(x)}})), running);
}

// Beside others of the same arrays, in one loop.
TEST_F(CustomReductionsTest, BesideOthers) {
  std::vector<int32_t> x(30001);
  for (int32_t& value : x) value = static_cast<int32_t>(random_() % 1000) - 500;
  int64_t sum = 0;
  int32_t last = 0;
  for (int32_t value : x) {
    sum += value;
    if (value != 0) last = value;
  }
  const auto best = std::max_element(x.begin(), x.end()) - x.begin();
  EXPECT_EQ(
      Run<int64_t>(std::string(kLast) + "y = sum(x) + 1000 * reduce(last, 0, x) + argmax(x) + count(x > 0)", From(x)),
      std::vector<int64_t>{sum + int64_t{1000} * last + best +
                           std::count_if(x.begin(), x.end(), [](int32_t value) { return value > 0; })});
}

TEST_F(CustomReductionsTest, Mistakes) {
  const auto parse = [](const std::string& text, const ElementwiseOptions& options = {}) {
    return std::string(Elementwise::Parse(text, options).status().message());
  };
  const std::string f = "def f(a, b) = a + b\n";
  const std::string two = "def two(a, b, c, d) { return a, d }\n";
  EXPECT_EQ(parse("def f(a) = a\ny = reduce(f, 0, x)"),
            "expression:2:12: 'f' takes 1 value and returns 1\n"
            "  y = reduce(f, 0, x)\n"
            "             ^ what reduce is given makes one state of two: of n values each it takes 2 n, the first "
            "state's first, and returns n");
  EXPECT_THAT(parse("y = reduce(g, 0, x)"), HasSubstr("unknown function 'g'"));
  std::string parameters = "a0", results = "a0";
  for (int i = 1; i < 34; ++i) parameters += ", a" + std::to_string(i);
  for (int i = 1; i < 17; ++i) results += ", a" + std::to_string(i);
  EXPECT_THAT(parse("def f(" + parameters + ") { return " + results + " }\ny = reduce(f, 0, x)"),
              HasSubstr("'f' returns 17 values"));
  EXPECT_THAT(parse("y = reduce(max, 0, x)"), HasSubstr("write def f(a, b) = max(a, b), and reduce(f, ...)"));
  EXPECT_THAT(parse("y = reduce()"), HasSubstr("expected the name of a function"));
  EXPECT_THAT(parse("y = reduce(1, x)"), HasSubstr("expected the name of a function"));
  EXPECT_EQ(parse(f + "y = reduce(f)"),
            "expression:2:13: expected ',' and the identity of f, found ')'\n"
            "  y = reduce(f)\n"
            "              ^ the value that changes nothing, and the result of no elements: reduce(f, 0, x)");
  EXPECT_THAT(parse(f + "y = reduce(f, x)"), HasSubstr("expected ',' and what is reduced, found ')'"));
  EXPECT_THAT(parse(f + "y = reduce(f, n, x)"), HasSubstr("the identity hangs on inputs"));
  EXPECT_THAT(parse(f + "y = reduce(f, 0, x, 1)"), HasSubstr("expected axis= or keepdims="));
  EXPECT_THAT(parse(f + "y = reduce(f, 0, 3)"), HasSubstr("reduce over axes wants an array in what it reduces"));
  EXPECT_THAT(parse(two + "y = reduce(two, 0, x)"), HasSubstr("expected '(' and the 2 values of the identity"));
  EXPECT_THAT(parse(two + "let p, q = reduce(two, (0, 0), x)\ny = p"),
              HasSubstr("expected '(' and the 2 values of what is reduced"));
  EXPECT_THAT(parse(two + "let p, q = reduce(two, (0, 0, 0), (x, x))\ny = p"),
              HasSubstr("the identity has 3 values; 2 are wanted"));
  EXPECT_THAT(parse(two + "let p, q = reduce(two, (0, 0), (x))\ny = p"),
              HasSubstr("what is reduced has 1 value; 2 are wanted"));
  EXPECT_THAT(parse(two + "let p, q = reduce(two, (0, 0), (x, x) + 1)\ny = p"), HasSubstr("expected ')'"));
  EXPECT_THAT(parse(two + "y = reduce(two, (0, 0), (x, x))"), HasSubstr("reduce has 2 results; one is wanted here"));
  EXPECT_THAT(parse(two + "y = 1 + reduce(two, (0, 0), k in 0..3: (k, k))"),
              HasSubstr("reduce has 2 results; one is wanted here"));
  EXPECT_THAT(parse(f + "let p, q = reduce(f, 0, x)\ny = p"),
              HasSubstr("2 names are assigned, but the expression has 1 result"));
  EXPECT_THAT(parse("def reduce(a, b) = a"), HasSubstr("'reduce' is a function of the language"));
  // What an operation may not do.
  EXPECT_EQ(parse("def f(a, b) {\n  check(a > 0, \"no\")\n  return a\n}\ny = reduce(f, 0, x)"),
            "expression:5:12: 'f' cannot be what reduce merges with: it checks at 2:3\n"
            "  y = reduce(f, 0, x)\n"
            "             ^ how often it is called, and with what, is not said: it may have no effects");
  EXPECT_THAT(
      parse("def f(a, b) {\n  h[0] += a\n  return a\n}\ny = reduce(f, 0, x)", {.signature = "x, h: i32[:] -> y"}),
      HasSubstr("'h'"));
  EXPECT_THAT(parse("def g(a) {\n  h[0] += 1\n  return a\n}\ndef f(a, b) = g(a)\ny = reduce(f, 0, x)\nh[1] = 0"),
              HasSubstr("it writes at 2:3"));
  EXPECT_THAT(parse("def f(a, b) = a + b * index()\ny = reduce(f, 0, x)"),
              HasSubstr("it asks for the element at 1:23"));
  EXPECT_THAT(parse("def f(a, b) = a + b * max(t)\ny = reduce(f, 0, x)"), HasSubstr("it reduces over axes at 1:23"));
  EXPECT_THAT(parse("def f(a, b) = a[0] + b\ny = reduce(f, 0, x)"), HasSubstr("it takes an array, 'a', at 1:7"));
  EXPECT_THAT(parse("def f(a, b) = a + b * w\ny = reduce(f, 0, x)", {.signature = "x: T[], w: T[] -> y: T[]"}),
              HasSubstr("'f' reads 'w', which is an array"));
  const AnyExternalFunction other = AnyExternalFunction::Parse("int32 other(int32 a, float32 b)", {}).value();
  EXPECT_THAT(parse("y = reduce(other, 0, x)", {.functions = {other}}),
              HasSubstr("it is int32 other(int32, float32); one value of two of its type is wanted"));
  EXPECT_THAT(parse("def f(a, b) = a + h[0]\ny = reduce(f, 0, x)", {.signature = "x, h: i32[:] -> y"}), "");
  EXPECT_THAT(parse("def f(a, b) = a + h[0]\nh[1] = reduce(f, 0, x)", {.signature = "x -> h: i32[:]"}),
              HasSubstr("it reads an output at 1:19"));
  // Types.
  const auto types = [&](const std::string& text) {
    return std::string(Parsed(text)(stream_, From<int32_t>({1, 2})).status().message());
  };
  EXPECT_EQ(types("def f(a, b) = (a + b) / 2.0\ny = reduce(f, 0, x)"),
            "expression:2:5: the result of f is float64, and what is reduced int32\n"
            "  y = reduce(f, 0, x)\n"
            "      ^~~~~~ they have to agree: write int32(...) there, or float64(...) around what is reduced");
  EXPECT_THAT(types(f + "y = reduce(f, int64(0), x)"),
              HasSubstr("the identity of f is int64, and what is reduced int32"));
  EXPECT_THAT(types(f + "y = reduce(f, 0.5, x)"), HasSubstr("the identity of f"));
  EXPECT_THAT(types(two + "let p, q = reduce(two, (0, int8(0)), (x, x))\ny = p"),
              HasSubstr("identity 2 of two is int8, and what is reduced int32"));
  EXPECT_THAT(std::string(Reduce(stream_, "def f(a, b) = a + b * w\ny = reduce(f, 0, x)",
                                 {{"x", From<int32_t>({1, 2})}, {"w", From<int32_t>({1, 2})}})
                              .status()
                              .message()),
              HasSubstr("input 'w': a reduction's operation reads it, so a number is wanted; "));
}

}  // namespace
}  // namespace slipway
