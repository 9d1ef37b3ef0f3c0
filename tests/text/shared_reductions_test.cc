// Reductions over axes that are large enough to be shared out over the threads of blocks, and over blocks, or to be
// worked out once for all elements that want them: values on the CPU device against host loops in wider precision.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "slipway/graph.h"
#include "slipway/index.h"
#include "tests/text/cpu_fixture.h"

namespace slipway {
namespace {

using testing::HasSubstr;

class SharedReductionsTest : public CpuTest {
 protected:
  template <class T, int N>
  Array<T, N> Of(std::array<int64_t, N> shape, const std::vector<T>& values) {
    return Array<T, N>::From(device_, values, shape).value();
  }
  std::vector<double> Random(size_t n) {
    std::uniform_real_distribution<double> distribution(-1, 1);
    std::vector<double> values(n);
    for (double& value : values) value = distribution(random_);
    return values;
  }
  template <class T>
  std::vector<T> Integers(size_t n, int64_t least, int64_t most) {
    std::uniform_int_distribution<int64_t> distribution(least, most);
    std::vector<T> values(n);
    for (T& value : values) value = static_cast<T>(distribution(random_));
    return values;
  }

  std::mt19937 random_{7};
};

// Around every bound of how many threads and blocks there are.
const int64_t kSizes[] = {1, 2, 255, 256, 257, 1023, 1024, 1025, 16383, 16384, 16385, 100003, 1 << 20};

TEST_F(SharedReductionsTest, OfEverySize) {
  for (int64_t n : kSizes) {
    SCOPED_TRACE(n);
    const std::vector<int32_t> x = Integers<int32_t>(static_cast<size_t>(n), -1000000, 1000000);
    int64_t sum = 0, count = 0;
    int32_t least = INT32_MAX, most = INT32_MIN;
    uint64_t product = 1;
    for (int32_t value : x) {
      sum += value;
      count += value > 0;
      least = std::min(least, value);
      most = std::max(most, value);
      product *= static_cast<uint64_t>(int64_t{value});
    }
    const auto array = From(x);
    EXPECT_EQ(Run<int64_t>("z = sum(x)", array), std::vector<int64_t>{sum});
    EXPECT_EQ(Run<int64_t>("z = prod(x)", array), std::vector<int64_t>{static_cast<int64_t>(product)});
    EXPECT_EQ(Run<int64_t>("z = count(x > 0)", array), std::vector<int64_t>{count});
    EXPECT_EQ(Run<int32_t>("z = min(x)", array), std::vector<int32_t>{least});
    EXPECT_EQ(Run<int32_t>("z = max(x)", array), std::vector<int32_t>{most});
    EXPECT_EQ(Run<double>("z = mean(x)", array),
              std::vector<double>{static_cast<double>(sum) / static_cast<double>(n)});
    EXPECT_EQ(Run<bool>("z = any(x == 1000001)", array), std::vector<bool>{false});
    EXPECT_EQ(Run<bool>("z = all(x < 1000001)", array), std::vector<bool>{true});
    const auto first = [&](int32_t value) { return std::find(x.begin(), x.end(), value) - x.begin(); };
    EXPECT_EQ(Run<int64_t>("z = argmin(x)", array), std::vector<int64_t>{first(least)});
    EXPECT_EQ(Run<int64_t>("z = argmax(x)", array), std::vector<int64_t>{first(most)});
    // All at once, with a formula around and inside.
    EXPECT_EQ(Run<int64_t>("z = 2 * sum(x * 3) - int64(min(x)) + int64(max(x)) + argmax(x) + count(x > 0)", array),
              std::vector<int64_t>{6 * sum - least + most + first(most) + count});
  }
}

TEST_F(SharedReductionsTest, OfEveryAxis) {
  const int64_t shapes[][3] = {{3, 5, 9000}, {300, 3, 50}, {70000, 5, 3}, {2, 1, 50000}, {5000, 7, 1}};
  for (const auto& s : shapes) {
    SCOPED_TRACE(testing::Message() << s[0] << " x " << s[1] << " x " << s[2]);
    const auto n = static_cast<size_t>(s[0] * s[1] * s[2]);
    const std::vector<int32_t> x = Integers<int32_t>(n, -99, 99);
    const auto array = Of<int32_t, 3>({s[0], s[1], s[2]}, x);
    for (int mask = 1; mask < 8; ++mask) {
      std::string axes;
      for (int d = 0; d < 3; ++d) {
        if (mask & (1 << d)) axes += (axes.empty() ? "" : ", ") + std::to_string(d - (d == 1 ? 3 : 0));
      }
      std::vector<int64_t> sums, positions, best;
      const int64_t kept[3] = {mask & 1 ? 1 : s[0], mask & 2 ? 1 : s[1], mask & 4 ? 1 : s[2]};
      const auto results = static_cast<size_t>(kept[0] * kept[1] * kept[2]);
      sums.resize(results), positions.resize(results, -1), best.resize(results, INT64_MIN);
      std::vector<int64_t> turn(results, 0);
      for (int64_t i = 0; i < s[0]; ++i) {
        for (int64_t j = 0; j < s[1]; ++j) {
          for (int64_t k = 0; k < s[2]; ++k) {
            const int64_t value = x[static_cast<size_t>((i * s[1] + j) * s[2] + k)];
            const auto at =
                static_cast<size_t>(((mask & 1 ? 0 : i) * kept[1] + (mask & 2 ? 0 : j)) * kept[2] + (mask & 4 ? 0 : k));
            sums[at] += value;
            if (value > best[at]) best[at] = value, positions[at] = turn[at];
            ++turn[at];
          }
        }
      }
      SCOPED_TRACE(axes);
      const std::string over = ", axis=(" + axes + ")";
      EXPECT_EQ(Run<int64_t>("z = sum(x" + over + ")", array), sums);
      EXPECT_EQ(Run<int64_t>("z = argmax(x" + over + ", keepdims=true)", array), positions);
      // Strided: along every dimension backwards.
      const auto back = AnyArray(array).Sliced({Slice{.step = -1}, Slice{.step = -1}, Slice{.step = -1}});
      ASSERT_TRUE(back.ok()) << back.status();
      std::vector<int64_t> reversed(sums.rbegin(), sums.rend());
      EXPECT_EQ(Run<int64_t>("z = sum(x" + over + ")", *back), reversed);
    }
  }
}

// Numbers of which sums and products are exact in every dtype.
TEST_F(SharedReductionsTest, OfEveryDType) {
  constexpr int64_t kSize = 70001;
  std::vector<int8_t> x;
  int64_t sum = 0, twos = 0, first_most = -1, first_least = -1;
  for (int64_t i = 0; i < kSize; ++i) {
    const int8_t value = static_cast<int8_t>(i % 977 == 5 ? 2 : i % 977 == 9 ? 0 : 1);
    if (i % 9770 != 5 && value == 2) {
      x.push_back(1);
    } else {
      x.push_back(value);
    }
    sum += x.back();
    twos += x.back() == 2;
    if (first_most < 0 && x.back() == 2) first_most = i;
    if (first_least < 0 && x.back() == 0) first_least = i;
  }
  const auto array = From(x);
  for (const std::string dtype : {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"}) {
    SCOPED_TRACE(dtype);
    const std::string of_x = dtype + "(x)";
    // A half is what the sum is rounded to in the end.
    const double wanted = dtype == "f16"    ? std::numeric_limits<double>::infinity()
                          : dtype == "bf16" ? 256 * std::nearbyint(static_cast<double>(sum) / 256 / 2) * 2
                                            : static_cast<double>(sum);
    const absl::StatusOr<Elementwise> text =
        Elementwise::Parse("total = f64(sum(" + of_x + "))\nproduct = f64(prod(f64(" + of_x + ") + (x == 0)))\n" +
                           "most = f64(max(" + of_x + "))\nleast = f64(min(" + of_x + "))\n" + "at = f64(argmax(" +
                           of_x + "))\nfirst = f64(argmin(" + of_x + "))");
    ASSERT_TRUE(text.ok()) << text.status();
    const absl::StatusOr<std::vector<AnyArray>> results = text->Evaluate(stream_, array);
    ASSERT_TRUE(results.ok()) << results.status();
    std::vector<double> values;
    for (const AnyArray& result : *results) values.push_back(Values<double>(result)[0]);
    EXPECT_EQ(values, (std::vector<double>{wanted, std::ldexp(1.0, static_cast<int>(twos)), 2, 0,
                                           static_cast<double>(first_most), static_cast<double>(first_least)}));
  }
  EXPECT_EQ(Run<bool>("z = max(x == 2) == 1", array), std::vector<bool>{true});
  EXPECT_EQ(Run<int64_t>("z = sum(x == 2)", array), std::vector<int64_t>{twos});
  const std::vector<complex128> total = Run<complex128>("z = sum(complex(f64(x), f64(x) * -2))", array);
  ASSERT_EQ(total.size(), 1u);
  EXPECT_EQ(total[0], complex128(static_cast<double>(sum), -2 * static_cast<double>(sum)));
  const std::vector<complex64> turned =
      Run<complex64>("z = prod(x == 2 ? complex(f32(0), f32(1)) : complex(f32(1), f32(0)))", array);
  ASSERT_EQ(turned.size(), 1u);
  const complex64 powers[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  EXPECT_EQ(turned[0], powers[twos % 4]);
}

TEST_F(SharedReductionsTest, FloatsWithinTheErrorOfPairwiseSums) {
  const std::vector<double> x = Random(1 << 20);
  std::vector<float> narrow(x.begin(), x.end());
  long double sum = 0, squares = 0, magnitudes = 0;
  for (float value : narrow) {
    sum += value;
    squares += static_cast<long double>(value) * value;
    magnitudes += std::abs(value);
  }
  const auto array = From(narrow);
  // 4096 turns of a thread at most, and a tree: what each addition may be wrong by, of the sum of magnitudes.
  const double bound = (4096 + 30) * 0x1p-24 * static_cast<double>(magnitudes);
  EXPECT_NEAR(Run<float>("z = sum(x)", array)[0], static_cast<double>(sum), bound);
  EXPECT_NEAR(Run<float>("z = sum(x * x)", array)[0], static_cast<double>(squares), bound);
  const std::vector<float> once = Run<float>("z = sum(x)", array);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Run<float>("z = sum(x)", array), once);
}

// More states than a block has room for.
TEST_F(SharedReductionsTest, Many) {
  std::string text = "y = 0";
  int64_t factors = 0;
  for (int i = 1; i <= 40; ++i) {
    text += " + sum(x * " + std::to_string(i) + ")";
    factors += i;
  }
  EXPECT_EQ(Run<int64_t>(text, From(std::vector<int32_t>(70000, 2))), std::vector<int64_t>{2 * 70000 * factors});
}

TEST_F(SharedReductionsTest, NansAndZeros) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> x(50000, kNan);
  EXPECT_TRUE(std::isnan(Run<float>("z = max(x)", From(x))[0]));
  EXPECT_EQ(Run<int64_t>("z = argmax(x)", From(x)), std::vector<int64_t>{-1});
  x[41234] = -5;
  x[41235] = -5;
  EXPECT_EQ(Run<float>("z = max(x)", From(x)), std::vector<float>{-5});
  EXPECT_EQ(Run<int64_t>("z = argmax(x)", From(x)), std::vector<int64_t>{41234});
  EXPECT_EQ(Run<int64_t>("z = argmin(x)", From(x)), std::vector<int64_t>{41234});
  EXPECT_TRUE(std::isnan(Run<float>("z = sum(x)", From(x))[0]));
  EXPECT_EQ(Run<int64_t>("z = count(x == x)", From(x)), std::vector<int64_t>{2});
}

// Each once, and not for every element that wants it: or else these would take minutes.
TEST_F(SharedReductionsTest, WorkedOutOnce) {
  const int64_t rows = 300, columns = 4000;
  const std::vector<double> x = Random(static_cast<size_t>(rows * columns));
  const auto array = Of<double, 2>({rows, columns}, x);
  double most = 0;
  for (double value : x) most = std::max(most, std::abs(value));
  const absl::StatusOr<Elementwise> normalize =
      Elementwise::Parse("y = (x - mean(x, axis=-1, keepdims=true)) / max(abs(x))");
  ASSERT_TRUE(normalize.ok()) << normalize.status();
  const std::vector<double> y = Run<double>(*normalize, array);
  const absl::StatusOr<Elementwise> softmax = Elementwise::Parse(
      "let e = exp(x - max(x, axis=1, keepdims=true))\n"
      "y = e / sum(exp(x - max(x, axis=1, keepdims=true)), axis=1, keepdims=true)");
  ASSERT_TRUE(softmax.ok()) << softmax.status();
  const std::vector<double> s = Run<double>(*softmax, array);
  const std::vector<double> deviation = Run<double>(
      "const two = 2\ndef squared(a) = pow(a, two)\n"
      "d = sqrt(mean(squared(x - mean(x, axis=1, keepdims=true)), axis=1)) + two - 2",
      array);
  const std::vector<double> everything = Run<double>("v = mean((x - mean(x)) * (x - mean(x)))", array);
  ASSERT_EQ(y.size(), x.size());
  ASSERT_EQ(s.size(), x.size());
  ASSERT_EQ(deviation.size(), static_cast<size_t>(rows));
  long double all = 0, all_squares = 0;
  for (double value : x) all += value;
  all /= static_cast<long double>(x.size());
  for (double value : x) all_squares += (value - all) * (value - all);
  EXPECT_NEAR(everything[0], static_cast<double>(all_squares / static_cast<long double>(x.size())), 1e-13);
  for (int64_t i = 0; i < rows; ++i) {
    const double* const row = &x[static_cast<size_t>(i * columns)];
    long double mean = 0, squares = 0, exponentials = 0;
    const double greatest = *std::max_element(row, row + columns);
    for (int64_t j = 0; j < columns; ++j) mean += row[j], exponentials += std::exp(row[j] - greatest);
    mean /= columns;
    for (int64_t j = 0; j < columns; ++j) squares += (row[j] - mean) * (row[j] - mean);
    ASSERT_NEAR(deviation[static_cast<size_t>(i)], static_cast<double>(std::sqrt(squares / columns)), 1e-13);
    for (int64_t j = 0; j < columns; j += 37) {
      const auto at = static_cast<size_t>(i * columns + j);
      ASSERT_NEAR(y[at], static_cast<double>((row[j] - mean) / most), 1e-13) << at;
      ASSERT_NEAR(s[at], static_cast<double>(std::exp(row[j] - greatest) / exponentials), 1e-15) << at;
    }
  }
  // What a call was compiled for serves the next one.
  const uint64_t compiles = normalize->compiles();
  EXPECT_GE(compiles, 3u);
  EXPECT_EQ(normalize->Inspect().size(), compiles);
  EXPECT_EQ(Run<double>(*normalize, array), y);
  EXPECT_EQ(normalize->compiles(), compiles);
}

TEST_F(SharedReductionsTest, WithinWhateverStandsAround) {
  const size_t n = 40000;
  const std::vector<int64_t> x = Integers<int64_t>(n, -9, 9);
  int64_t sum = 0;
  for (int64_t value : x) sum += value;
  const auto array = From(x);
  const auto table = From<int64_t>({3, 1, 4});
  EXPECT_EQ(Run<int64_t>("z = n > 0 ? sum(x) : 5", 1, array), std::vector<int64_t>{sum});
  EXPECT_EQ(Run<int64_t>("var z0 = 0\nif n > 0 { z0 += sum(x) } else { z0 -= sum(x) }\nz = z0", -1, array),
            std::vector<int64_t>{-sum});
  EXPECT_EQ(Run<int64_t>("var i = 0\nwhile i * i < sum(x * 0 + 1) { i += 1 }\nz = i", array),
            std::vector<int64_t>{200});
  EXPECT_EQ(Run<int64_t>("def total() = sum(x) * k\nz = total() + total()", array, int64_t{3}),
            std::vector<int64_t>{6 * sum});
  EXPECT_EQ(Run<int64_t>("z = sum(x * t[2]) + t[0] + size(x)", array, table),
            std::vector<int64_t>{4 * sum + 3 + int64_t{n}});
  EXPECT_EQ(Run<int64_t>("z = sum(k in 0..3: t[k] * sum(x))", table, array), std::vector<int64_t>{8 * sum});
  // Of other arrays, of other axes, of results.
  const auto matrix = Of<int64_t, 2>({200, 200}, x);
  std::vector<int64_t> rows(200, 0);
  for (size_t i = 0; i < n; ++i) rows[i / 200] += x[i];
  const auto column = Of<int64_t, 2>({200, 1}, std::vector<int64_t>(200, 1));
  EXPECT_EQ(Run<int64_t>("z = max(sum(m, axis=1, keepdims=true) * c) * 1000 + min(m) + sum(y)", matrix, column, array),
            (std::vector<int64_t>{*std::max_element(rows.begin(), rows.end()) * 1000 - 9 + sum}));
}

TEST_F(SharedReductionsTest, IntoWhatIsThere) {
  const size_t n = 60000;
  const std::vector<float> x(n, 0.5f);
  const auto array = From(x);
  const auto out = Array<double, 1>::Zeros(device_, {6}).value();
  const auto third = out.Sliced(Slice{.start = 4, .stop = 5});
  ASSERT_TRUE(third.ok());
  const absl::StatusOr<Elementwise> text = Elementwise::Parse("z = sum(x)");
  ASSERT_TRUE(text->Into(stream_, *third, array).ok());
  EXPECT_EQ(Values(out), (std::vector<double>{0, 0, 0, 0, 30000, 0}));
  // A whole array of the sum, and a bound call: of one launch, whatever it has to do.
  const absl::StatusOr<Elementwise> share = Elementwise::Parse("z = x * k / sum(x)");
  const auto shares = Array<float, 1>::Zeros(device_, {int64_t{n}}).value();
  const Arg args[] = {Arg(shares), Arg(array), Arg(30000.0f)};
  const Arg of_sum[] = {Arg(*third), Arg(array)};
  absl::StatusOr<BoundFormula> bound = text->Bind(device_, of_sum);
  ASSERT_TRUE(bound.ok()) << bound.status();
  ASSERT_TRUE(bound->Launch(stream_).ok());
  ASSERT_TRUE(share->IntoByPosition(stream_, args).ok());
  EXPECT_EQ(Values(shares), std::vector<float>(n, 0.5f));
  EXPECT_EQ(Values(out), (std::vector<double>{0, 0, 0, 0, 30000, 0}));
  const absl::Status refused = share->Into(stream_, array, array, 1.0f);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("overlaps input 'x', which is reduced"));
}

TEST_F(SharedReductionsTest, InAGraph) {
  const size_t n = 1 << 17;
  const auto array = From(std::vector<int32_t>(n, 3));
  const auto out = Array<int64_t, 1>::Zeros(device_, {1}).value();
  const auto centred = Array<double, 1>::Zeros(device_, {int64_t{n}}).value();
  const Elementwise total = Elementwise::Parse("z = sum(x)").value();
  const Elementwise centre = Elementwise::Parse("z = x - mean(x)").value();
  absl::StatusOr<Graph> graph = Graph::Capture(stream_, [&]() -> absl::Status {
    const absl::Status first = total.Into(stream_, out, array);
    return first.ok() ? centre.Into(stream_, centred, array) : first;
  });
  ASSERT_TRUE(graph.ok()) << graph.status();
  absl::StatusOr<GraphExec> exec = graph->Instantiate();
  ASSERT_TRUE(exec.ok()) << exec.status();
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_TRUE(exec->Launch(stream_).ok());
    EXPECT_EQ(Values(out), std::vector<int64_t>{3 * int64_t{n}});
    EXPECT_EQ(Values(centred), std::vector<double>(n, 0));
  }
}

}  // namespace
}  // namespace slipway
