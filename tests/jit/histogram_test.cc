// Histograms against loops on the host, and every message.
#include "slipway/histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "slipway/compile_history.h"
#include "tests/jit/ordered_data.h"

namespace slipway {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
class NumberedTest : public OrderedTest {};
using IntegerTypes = testing::Types<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(NumberedTest, IntegerTypes);

// In shared memory and without; what is no bin's number is not counted.
TYPED_TEST(NumberedTest, Counts) {
  using T = TypeParam;
  for (size_t n : {0, 1, 33, 1000, 70001}) {
    std::vector<Stored<T>> samples = MakeKeys<T>(n, Pattern::kAnyBits);
    for (size_t i = 0; i < n; i += 2) samples[i] = static_cast<Stored<T>>(samples[i] & 63);
    if (std::is_same_v<T, bool>) {
      for (Stored<T>& sample : samples) sample &= 1;
    }
    for (int64_t bins : {1, 2, 50, 256, 8192, 8193, 100000}) {
      std::vector<int64_t> wanted(static_cast<size_t>(bins));
      for (Stored<T> sample : samples) {
        if (sample >= 0 && static_cast<uint64_t>(sample) < static_cast<uint64_t>(bins))
          ++wanted[static_cast<size_t>(sample)];
      }
      EXPECT_EQ(this->template Read<int64_t>(Histogram(this->stream_, this->template Make<T>(samples), bins)), wanted);
    }
  }
}

template <class T>
class EvenTest : public OrderedTest {};
TYPED_TEST_SUITE(EvenTest, OrderedTypes);

// By the edges themselves, samples on every edge and next to it among them.
TYPED_TEST(EvenTest, Counts) {
  using T = TypeParam;
  struct Range {
    double lower, upper;
    int64_t bins;
  };
  for (const Range& range :
       {Range{0, 1, 10}, {-1, 1, 7}, {-100.1, 99.7, 1000}, {0.1, 0.1000001, 3}, {-1e30, 1e30, 9000}, {0, 256, 256}}) {
    std::vector<double> edges;
    const double step = (range.upper - range.lower) / static_cast<double>(range.bins);
    for (int64_t k = 0; k < range.bins; ++k) {
      volatile const double product = static_cast<double>(k) * step;  // Rounded by itself.
      edges.push_back(product + range.lower);
    }
    edges.push_back(range.upper);
    std::vector<Stored<T>> samples = MakeKeys<T>(5000, Pattern::kAnyBits);
    if constexpr (std::is_same_v<T, double>) {
      for (double edge : edges) {
        for (double to : {-1e300, 1e300}) samples.push_back(std::nextafter(edge, to));
        samples.push_back(edge);
      }
    }
    std::mt19937_64 random(9);
    if constexpr (!std::is_integral_v<T>) {
      for (int i = 0; i < 3000; ++i) {
        const double x = range.lower + (range.upper - range.lower) * static_cast<double>(random() >> 11) * 0x1p-53;
        samples.push_back(static_cast<T>(static_cast<float>(x)));
      }
    }
    std::vector<int64_t> wanted(static_cast<size_t>(range.bins));
    for (Stored<T> sample : samples) {
      const auto x = static_cast<double>(NumberOf(sample));
      if (!(x >= range.lower && x <= range.upper)) continue;
      const auto bin = std::upper_bound(edges.begin(), edges.end(), x) - edges.begin() - 1;
      ++wanted[static_cast<size_t>(std::min<int64_t>(bin, range.bins - 1))];
    }
    EXPECT_EQ(this->template Read<int64_t>(
                  HistogramEven(this->stream_, this->template Make<T>(samples), range.lower, range.upper, range.bins)),
              wanted)
        << range.lower << " to " << range.upper;
  }
}

class HistogramTest : public OrderedTest {
 protected:
  std::string MessageOf(const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  }
};

TEST_F(HistogramTest, AnyLayoutInAndOut) {
  const AnyArray samples = Make<uint8_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 1}, {3, 4});
  EXPECT_THAT(Read<int64_t>(Histogram(stream_, samples.Sliced({Slice{.step = -2}}).value().Transposed().value(), 10)),
              ElementsAre(1, 3, 1, 1, 0, 0, 0, 0, 1, 1));
  const AnyArray into = Make<int64_t>(std::vector<int64_t>(6, 7));
  ASSERT_TRUE(HistogramInto(stream_, into.Sliced({Slice{.step = -2}}).value(), samples).ok());
  EXPECT_THAT(Read<int64_t>(into), ElementsAre(7, 1, 7, 3, 7, 1));
  ASSERT_TRUE(HistogramEvenInto(stream_, into, samples, 0, 9).ok());
  EXPECT_THAT(Read<int64_t>(into), ElementsAre(4, 1, 2, 1, 2, 2));
  // Into its own samples.
  const AnyArray own = Make<int64_t>({2, 2, 0});
  ASSERT_TRUE(HistogramInto(stream_, own, own).ok());
  EXPECT_THAT(Read<int64_t>(own), ElementsAre(1, 0, 2));
}

// Whole numbers add up exactly in any order, and fractions in a fixed one.
TEST_F(HistogramTest, Weights) {
  for (size_t n : {0, 1, 100, 40000}) {
    const std::vector<uint8_t> samples = MakeKeys<uint8_t>(n, Pattern::kAnyBits);
    std::vector<int16_t> whole = MakeKeys<int16_t>(n, Pattern::kAnyBits);
    std::vector<float> fractions(n);
    for (size_t i = 0; i < n; ++i) fractions[i] = 1.0f / static_cast<float>(i % 1000 + 3);
    const AnyArray of = Make<uint8_t>(samples);
    for (int64_t bins : {1, 100, 256, 5000}) {
      std::vector<double> wanted(static_cast<size_t>(bins));
      std::vector<long double> wide(static_cast<size_t>(bins));
      for (size_t i = 0; i < n; ++i) {
        if (samples[i] >= bins) continue;
        wanted[samples[i]] += whole[i];
        wide[samples[i]] += fractions[i];
      }
      for (bool deterministic : {false, true}) {
        const WeightOptions options{.deterministic = deterministic};
        EXPECT_EQ(Read<double>(WeightedHistogram(stream_, of, Make<int16_t>(whole), bins, options)), wanted);
        const auto sums = Read<double>(WeightedHistogram(stream_, of, Make<float>(fractions), bins, options));
        for (size_t b = 0; b < sums.size(); ++b) {
          ASSERT_NEAR(sums[b], static_cast<double>(wide[b]), 1e-12 * static_cast<double>(wide[b]) * 200);
        }
        const AnyArray into = AnyArray::Empty(device_, DType::kFloat64, {bins}).value();
        ASSERT_TRUE(WeightedHistogramInto(stream_, into, of, Make<int16_t>(whole), options).ok());
        EXPECT_EQ(Read<double>(into), wanted);
      }
      const WeightOptions fixed{.deterministic = true};
      EXPECT_TRUE(SameBits(Read<double>(WeightedHistogram(stream_, of, Make<float>(fractions), bins, fixed)),
                           Read<double>(WeightedHistogram(stream_, of, Make<float>(fractions), bins, fixed))));
    }
  }
}

TEST_F(HistogramTest, WeightsOfEvenBins) {
  const AnyArray samples = Make<float>({0.5f, 1.5f, 2.0f, -1.0f, std::nanf(""), 0.0f});
  const AnyArray weights = Make<double>({1, 2, 4, 8, 16, 32});
  for (bool deterministic : {false, true}) {
    const WeightOptions options{.deterministic = deterministic};
    EXPECT_THAT(Read<double>(WeightedHistogramEven(stream_, samples, weights, 0, 2, 2, options)), ElementsAre(33, 6));
    const AnyArray into = Make<double>({-1, -1, -1, -1});
    ASSERT_TRUE(WeightedHistogramEvenInto(stream_, into, samples, weights, 0, 2, options).ok());
    EXPECT_THAT(Read<double>(into), ElementsAre(32, 1, 0, 6));
  }
}

TEST_F(HistogramTest, OneBinForAll) {
  const std::vector<int32_t> samples(100000, 3);
  EXPECT_THAT(Read<int64_t>(Histogram(stream_, Make<int32_t>(samples), 5)), ElementsAre(0, 0, 0, 100000, 0));
}

TEST_F(HistogramTest, CompilesOnceForAType) {
  const auto count = [&](size_t n, int64_t bins) {
    const AnyArray samples = Make<float>(MakeKeys<float>(n, Pattern::kAnyBits));
    ASSERT_TRUE(HistogramEven(stream_, samples, -1.0 * static_cast<double>(n), 5, bins).ok());
  };
  count(100, 10);
  ClearCompileHistory();
  count(3000, 77);
  EXPECT_EQ(CompileHistory().size(), 0u);
}

TEST_F(HistogramTest, Messages) {
  const AnyArray samples = Make<int32_t>({1, 2, 3}), floats = Make<float>({1, 2, 3});
  const auto count = [&](const Arg& of, int64_t bins) { return MessageOf(Histogram(stream_, of, bins).status()); };
  EXPECT_EQ(count(3, 2), "Histogram: samples: int32 scalar: not an array; give an array, or a view of one");
  EXPECT_EQ(count(samples, 0), "Histogram: 0 bins were asked for; there can be 1 to 2^31 - 1");
  EXPECT_EQ(count(samples, int64_t{1} << 31), "Histogram: 2147483648 bins were asked for; there can be 1 to 2^31 - 1");
  EXPECT_THAT(count(floats, 2),
              HasSubstr("samples: float32[3]: bin numbers are integers; convert them, or give bounds (HistogramEven)"));
  EXPECT_THAT(count(Make<complex64>({{1, 2}}), 2), HasSubstr("complex numbers are in no bin; take real(x) or abs(x)"));

  const double infinity = std::numeric_limits<double>::infinity();
  const auto even = [&](double lower, double upper) {
    return MessageOf(HistogramEven(stream_, samples, lower, upper, 3).status());
  };
  EXPECT_EQ(even(1, 1), "HistogramEven: lower is 1 and upper 1; give finite bounds, the lower one first");
  EXPECT_THAT(even(0, infinity), HasSubstr("lower is 0 and upper inf; give finite bounds"));
  EXPECT_THAT(even(std::nan(""), 1), HasSubstr("lower is nan and upper 1; give finite bounds"));

  EXPECT_THAT(MessageOf(HistogramInto(stream_, Make<int32_t>({1, 2}), samples)),
              HasSubstr("HistogramInto: counts: int32[2]: the result is int64; give an array of that"));
  EXPECT_THAT(MessageOf(HistogramInto(stream_, Make<int64_t>({1, 2}, {1, 2}), samples)),
              HasSubstr("counts: int64[1,2]: has to have one dimension, an element for each bin"));
  EXPECT_THAT(MessageOf(HistogramInto(stream_, int64_t{1}, samples)), HasSubstr("counts: int64 scalar: not an array"));
  EXPECT_THAT(MessageOf(HistogramInto(stream_, Make<int64_t>({}), samples)), HasSubstr("0 bins were asked for"));

  const auto weigh = [&](const Arg& weights) {
    return MessageOf(WeightedHistogram(stream_, samples, weights, 3).status());
  };
  EXPECT_THAT(weigh(Make<float>({1, 2})),
              HasSubstr("weights: float32[2]: the samples have the shape (3,); give a weight for each"));
  EXPECT_THAT(weigh(Make<complex128>({{1, 2}, {1, 2}, {1, 2}})),
              HasSubstr("weights are real; weigh by real(x) and by"));
}

}  // namespace
}  // namespace slipway
