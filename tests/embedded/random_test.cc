// Random numbers of kernels: bits against the published test vectors, the mappings to numbers against formulas of their
// own, and, with fixed seeds, whether the numbers look as they should.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "slipway/slipway.h"
#include "tests/embedded/run_fixture.h"

namespace slipway {
namespace {

class Random : public RunFixture {
 protected:
  // f(i) for i < n.
  template <class T, class F>
  std::vector<T> Numbers(int64_t n, F f) {
    auto kernel = MakeKernel(
        "numbers", [&](ArrayVar<T, 1> out) { For(GridStride(out.size()), [&](Expr<int64_t> i) { out[i] = f(i); }); });
    EXPECT_EQ(kernel.status(), absl::OkStatus());
    auto out = Array<T, 1>::Zeros(device, {n}).value();
    EXPECT_EQ(kernel(stream, ForSize(n), out), absl::OkStatus());
    return Read(out);
  }
};

// "Known answers" of philox4x32 with 10 rounds: D. E. Shaw Research, Random123 1.14, tests/kat_vectors.
struct KnownAnswer {
  uint32_t counter[4], key[2], words[4];
};
constexpr KnownAnswer kKnownAnswers[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};
uint64_t Pair(const uint32_t* words) { return words[0] | uint64_t{words[1]} << 32; }

TEST_F(Random, BitsAreThePublishedOnes) {
  auto kernel = MakeKernel(
      "bits", [](ArrayVar<uint32_t, 1> out, Var<uint64_t> seed, Var<uint64_t> stream_id, Var<uint64_t> counter) {
        const auto words = Philox4x32(seed, stream_id, counter);
        for (int i = 0; i < 4; ++i) {
          out[i] = words[i];
          out[4 + i] = random_bits(seed, stream_id, counter, i);
        }
        For(Range(4), [&](Expr<int64_t> i) { out[8 + i] = random_bits(seed, stream_id, counter, i); });
      });
  ASSERT_EQ(kernel.status(), absl::OkStatus());
  for (const KnownAnswer& known : kKnownAnswers) {
    auto out = Array<uint32_t, 1>::Zeros(device, {12}).value();
    const uint64_t seed = Pair(known.key), counter = Pair(known.counter), stream_id = Pair(known.counter + 2);
    ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {1}, .block = {1}}, out, seed, stream_id, counter), absl::OkStatus());
    const std::vector<uint32_t> got = Read(out);
    for (int i = 0; i < 12; ++i) EXPECT_EQ(got[i], known.words[i % 4]) << i;
  }
}

TEST_F(Random, BitsOfConstantsFold) {
  const std::vector<uint32_t> got = Numbers<uint32_t>(1, [](auto) { return random_bits(Expr<int>(0), 0, 0, 2); });
  EXPECT_EQ(got[0], kKnownAnswers[0].words[2]);
}

TEST_F(Random, NumbersAreThoseOfTheirWords) {
  const int n = 1000;
  const auto word = [&](int k) { return Numbers<uint32_t>(n, [k](auto i) { return random_bits(7, 0, i, k); }); };
  const std::vector<uint32_t> words[] = {word(0), word(1), word(2), word(3)};
  const auto uniform = Numbers<float>(n, [](auto i) { return random_uniform(7, i); });
  const auto uniform64 = Numbers<double>(n, [](auto i) { return random_uniform_f64(7, i); });
  const auto normal = Numbers<float>(n, [](auto i) { return random_normal(7, i); });
  const auto normal64 = Numbers<double>(n, [](auto i) { return random_normal_f64(7, i); });
  const auto die = Numbers<int>(n, [](auto i) { return random_integer(7, i, 6); });
  const auto from_words = Numbers<float>(n, [](auto i) { return UniformFrom(Philox4x32(7, 0, i)[0]); });
  const auto wide_from_words = Numbers<double>(n, [](auto i) {
    const auto w = Philox4x32(7, 0, i);
    return UniformFrom(w[0], w[1]);
  });
  const auto sine = Numbers<float>(n, [](auto i) {
    const auto w = Philox4x32(7, 0, i);
    return NormalFrom(w[0], w[1]).first;
  });
  const auto cosine = Numbers<float>(n, [](auto i) {
    const auto w = Philox4x32(7, 0, i);
    return NormalFrom(w[0], w[1]).second;
  });
  EXPECT_EQ(from_words, uniform);
  EXPECT_EQ(wide_from_words, uniform64);
  EXPECT_EQ(sine, normal);
  const double turn = 2 * std::acos(-1.0);
  for (int i = 0; i < n; ++i) {
    const float u = static_cast<float>(words[0][i]) * 0x1p-32f + 0x1p-33f;
    const float v = static_cast<float>(words[1][i]) * 0x1p-32f + 0x1p-33f;
    EXPECT_EQ(uniform[i], u);
    const auto wide = [&](int k) {
      return static_cast<double>(words[k][i] ^ uint64_t{words[k + 1][i]} << 21) * 0x1p-53 + 0x1p-54;
    };
    EXPECT_EQ(uniform64[i], wide(0));
    const double radius = std::sqrt(-2 * std::log(static_cast<double>(u)));
    EXPECT_NEAR(normal[i], radius * std::sin(turn * v), 4e-6);
    EXPECT_NEAR(cosine[i], radius * std::cos(turn * v), 4e-6);
    EXPECT_NEAR(normal64[i], std::sqrt(-2 * std::log(wide(0))) * std::sin(turn * wide(2)), 1e-13);
    const unsigned __int128 fraction = words[0][i] | uint64_t{words[1][i]} << 32;
    EXPECT_EQ(die[i], static_cast<int>(fraction * 6 >> 64));
  }
}

// The ends of the words' ranges: never 0, and 1 is reached.
TEST_F(Random, TheEndsOfTheInterval) {
  auto kernel = MakeKernel("ends", [](ArrayVar<float, 1> f, ArrayVar<double, 1> d, ArrayVar<const uint32_t, 1> w) {
    f[0] = UniformFrom(w[0]);
    f[1] = UniformFrom(w[1]);
    d[0] = UniformFrom(w[0], w[0]);
    d[1] = UniformFrom(w[1], w[1]);
  });
  auto f = Make<float>({0, 0});
  auto d = Make<double>({0, 0});
  auto w = Make<uint32_t>({0, 0xffffffff});
  ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {1}, .block = {1}}, f, d, w), absl::OkStatus());
  EXPECT_THAT(Read(f), testing::ElementsAre(0x1p-33f, 1.0f));
  const std::vector<double> wide = Read(d);
  EXPECT_EQ(wide[0], 0x1p-54);
  EXPECT_LE(wide[1], 1.0);
}

template <class T>
class RandomIntegers : public Random {};
using Integers = testing::Types<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>;
TYPED_TEST_SUITE(RandomIntegers, Integers);

TYPED_TEST(RandomIntegers, AreBelowAndReachTheEnds) {
  using T = TypeParam;
  const T n = 100;
  const auto got = this->template Numbers<T>(20000, [&](auto i) { return random_integer(3, i, Expr<T>(n)); });
  std::array<int, 100> count = {};
  for (T value : got) {
    ASSERT_GE(value, T{0});
    ASSERT_LT(value, n);
    ++count[static_cast<int>(value)];
  }
  // 200 of each are expected, with a deviation of 14.
  EXPECT_GT(*std::min_element(count.begin(), count.end()), 140);
  EXPECT_LT(*std::max_element(count.begin(), count.end()), 260);
  const T most = std::numeric_limits<T>::max();
  const auto wide = this->template Numbers<T>(1000, [&](auto i) { return random_integer(3, i, Expr<T>(most)); });
  int upper_half = 0;
  for (T value : wide) {
    ASSERT_LT(value, most);
    upper_half += value > most / 2;
  }
  EXPECT_NEAR(upper_half, 500, 80);
  for (int none : {0, std::is_signed_v<T> ? -5 : 0}) {
    const T limit = static_cast<T>(none);
    EXPECT_EQ(this->template Numbers<T>(2, [&](auto i) { return random_integer(3, i, Expr<T>(limit)); })[1], T{0});
  }
}

// Moments, buckets, neighbours, with a fixed seed: the numbers are the same in every run.
TEST_F(Random, LooksUniformAndNormal) {
  const int n = 1 << 16;
  const auto u = Numbers<float>(n, [](auto i) { return random_uniform(2024, i); });
  std::array<int, 64> buckets = {};
  double sum = 0, neighbours = 0;
  for (int i = 0; i < n; ++i) {
    ASSERT_GT(u[i], 0);
    ASSERT_LE(u[i], 1);
    ++buckets[std::min(63, static_cast<int>(u[i] * 64))];
    sum += u[i];
    if (i > 0) neighbours += (u[i] - 0.5) * (u[i - 1] - 0.5);
  }
  EXPECT_NEAR(sum / n, 0.5, 0.005);           // Deviation 0.0011.
  EXPECT_NEAR(neighbours / n * 12, 0, 0.02);  // Correlation; deviation 0.004.
  double chi = 0;
  for (int count : buckets) chi += (count - n / 64.0) * (count - n / 64.0) / (n / 64.0);
  EXPECT_LT(chi, 110);  // 63 degrees of freedom, deviation 11.
  EXPECT_GT(chi, 25);
  const auto z = Numbers<double>(n, [](auto i) { return random_normal_f64(2024, i); });
  double mean = 0, square = 0, fourth = 0;
  for (double x : z) {
    mean += x / n;
    square += x * x / n;
    fourth += x * x * x * x / n;
  }
  EXPECT_NEAR(mean, 0, 0.02);
  EXPECT_NEAR(square, 1, 0.03);
  EXPECT_NEAR(fourth, 3, 0.2);
  // Seeds are apart.
  const auto other = Numbers<float>(n, [](auto i) { return random_uniform(2025, i); });
  double together = 0;
  for (int i = 0; i < n; ++i) together += (u[i] - 0.5) * (other[i] - 0.5);
  EXPECT_NEAR(together / n * 12, 0, 0.02);
}

TEST_F(Random, InTextAndInKernelBuilders) {
  auto formula = Elementwise::Parse("z = random_uniform(seed, x) + random_integer(seed, x, 10)");
  ASSERT_TRUE(formula.ok()) << formula.status();
  auto x = Make<int64_t>({0, 1, 2, 3, 1000000007});
  auto z = (*formula)(stream, {{"seed", int64_t{42}}, {"x", x}});
  ASSERT_TRUE(z.ok()) << z.status();
  const std::vector<float> from_text = z->ToVector<float>().value();
  KernelBuilder b("same");
  const AnyArrayVar out = b.Array("out", DType::kFloat32, 1), in = b.Array("in", DType::kInt64, 1);
  const AnyExpr seed = b.Scalar("seed", DType::kUInt64);
  const AnyExpr i = b.GridStrideIndex(out.size());
  out[i] = b.Apply("random_uniform", {seed, in[i]}) + random_integer(seed, in[i], 10);
  absl::StatusOr<Kernel> kernel = b.Build(device);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  auto same = Array<float, 1>::Zeros(device, {5}).value();
  ASSERT_EQ(kernel->Launch(stream, ForSize(5), {same, x, uint64_t{42}}), absl::OkStatus());
  EXPECT_EQ(Read(same), from_text);
}

TEST_F(Random, SeedsAndCountersAreIntegers) {
  auto op = MakeKernel("k", [](ArrayVar<float, 1> y) { y[0] = random_uniform(AnyExpr(y[0]), 1); });
  EXPECT_THAT(std::string(op.status().message()), testing::HasSubstr("'random_uniform' does not take float32"));
  auto block = MakeKernel("k", [](ArrayVar<float, 1> y) { y[0] = UniformFrom(Philox4x32(AnyExpr(y[0]), 0, 1)[0]); });
  EXPECT_THAT(std::string(block.status().message()),
              testing::HasSubstr("a seed, stream or counter of random numbers is float32; an integer is wanted"));
}

}  // namespace
}  // namespace slipway
