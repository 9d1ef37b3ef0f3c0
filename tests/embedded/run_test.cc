// Embedded kernels run on the CPU device, compared with plain host loops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/embedded.h"
#include "slipway/kernel.h"
#include "slipway/stream.h"
#include "tests/embedded/run_fixture.h"
#include "tests/ptxas.h"

namespace slipway {
namespace {

using testing::HasSubstr;

class RunTest : public RunFixture {};

TEST_F(RunTest, Saxpy) {
  auto saxpy = MakeKernel("saxpy", [](ArrayVar<float, 1> y, ArrayVar<const float, 1> x, Var<float> a) {
    For(GridStride(y.size()), [&](Var<int64_t> i) { y[i] = a * x[i] + y[i]; });
  });
  const int64_t n = 1000;
  std::vector<float> host_x(n), host_y(n), want(n);
  for (int64_t i = 0; i < n; ++i) {
    host_x[i] = 0.25f * static_cast<float>(i), host_y[i] = 3;
    want[i] = std::fma(2.0f, host_x[i], host_y[i]);
  }
  auto x = Make(host_x), y = Make(host_y);
  ASSERT_TRUE(saxpy(stream, ForSize(n), y, x, 2.0f).ok());
  EXPECT_EQ(Read(y), want);
  // Fewer threads than elements: the grid strides.
  ASSERT_TRUE(saxpy(stream, LaunchConfig{.grid = {2}, .block = {32}}, y, x, -2.0f).ok());
  EXPECT_EQ(Read(y), host_y);
}

// One compiled form for arrays that 32-bit offsets reach; values are launch parameters and compile nothing.
TEST_F(RunTest, CompilesOncePerForm) {
  auto fill = MakeKernel("fill", [](ArrayVar<int32_t, 1> y, Var<int32_t> v) {
    Expr<int64_t> i = GlobalIndex();
    If(i < y.size(), [&] { y[i] = v; });
  });
  auto y = Make(std::vector<int32_t>(100));
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 10; ++round) ASSERT_TRUE(fill(stream, ForSize(100), y, t).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fill.compiles(), 1u);
  ASSERT_TRUE(stream.Synchronize().ok());

  const Inspection narrow = fill.Inspect(device, /*index32=*/true).value();
  EXPECT_EQ(fill.compiles(), 1u);
  EXPECT_THAT(narrow.ir, HasSubstr("index32"));
  EXPECT_THAT(narrow.ptx, HasSubstr(".entry fill"));
  EXPECT_THAT(fill.Inspect(device).value().ir, testing::Not(HasSubstr("index32")));
  EXPECT_EQ(fill.compiles(), 2u);
  // Offsets past 32 bits take the other form, which is there now.
  ArrayView<int32_t, 1> wide(device, y.data(), {1}, {int64_t{1} << 40});
  ASSERT_TRUE(fill(stream, ForSize(1), wide, 7).ok());
  EXPECT_EQ(fill.compiles(), 2u);
  EXPECT_EQ(Read(y)[0], 7);
}

TEST_F(RunTest, NothingIsLaunchedForSizeZero) {
  auto fill = MakeKernel("fill", [](ArrayVar<int32_t, 1> y) { y[GlobalIndex()] = 1; });
  auto y = Array<int32_t, 1>::Empty(device, 0).value();
  EXPECT_TRUE(fill(stream, ForSize(0), y).ok());
  EXPECT_TRUE(stream.Synchronize().ok());
}

TEST_F(RunTest, AMistakeIsReturnedByEveryLaunch) {
  auto bad = MakeKernel("bad", [](ArrayVar<uint8_t, 1> y) { y[0] = y[0] + 300; });
  auto y = Make(std::vector<uint8_t>(1));
  for (int i = 0; i < 2; ++i) {
    const absl::Status status = bad(stream, ForSize(1), y);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("literal 300 does not fit uint8"));
  }
  EXPECT_FALSE(bad.CompiledFor(device).ok());
  EXPECT_FALSE(bad.Inspect(device).ok());
  EXPECT_FALSE(bad.On(device).ok());
}

TEST_F(RunTest, CompiledForIsLaunchedDynamically) {
  auto twice = MakeKernel(
      "twice", {"y"}, [](ArrayVar<double, 1> y) { For(GridStride(y.size()), [&](Expr<int64_t> i) { y[i] *= 2; }); });
  Kernel kernel = Kernel::Load(device, twice.CompiledFor(device).value()).value();
  auto y = Make(std::vector<double>{1, 2, 3});
  ASSERT_TRUE(kernel.Launch(stream, ForSize(3), {y}).ok());
  EXPECT_EQ(Read(y), (std::vector<double>{2, 4, 6}));
  ASSERT_TRUE(twice.On(device).value()(stream, ForSize(3), y).ok());
  EXPECT_EQ(Read(y), (std::vector<double>{4, 8, 12}));
}

// Control flow. Collatz: a loop of unknown length with branches, per element.
TEST_F(RunTest, WhileAndIfPerElement) {
  auto collatz = MakeKernel("collatz", [](ArrayVar<int32_t, 1> steps, ArrayVar<const int64_t, 1> start) {
    Expr<int64_t> i = GlobalIndex();
    If(i >= steps.size(), [&] { Return(); });
    Var<int64_t> n = start[i];
    Var<int32_t> count = 0;
    While([&] { return n > 1; },
          [&] {
            If(n % 2 == 0, [&] { n = n / 2; }).Else([&] { n = 3 * n + 1; });
            count += 1;
          });
    steps[i] = count;
  });
  std::vector<int64_t> start;
  std::vector<int32_t> want;
  for (int64_t v = 1; v <= 1000; ++v) {
    start.push_back(v);
    int32_t count = 0;
    for (int64_t n = v; n > 1; ++count) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    want.push_back(count);
  }
  auto x = Make(start);
  auto y = Make(std::vector<int32_t>(start.size()));
  ASSERT_TRUE(collatz(stream, ForSize(1000), y, x).ok());
  EXPECT_EQ(Read(y), want);
}

TEST_F(RunTest, LoopsUpDownInStepsAndNotAtAll) {
  auto sums = MakeKernel("sums", [](ArrayVar<int64_t, 1> y, Var<int64_t> b, Var<int64_t> e, Var<int64_t> s) {
    Var<int64_t> sum = 0, rounds = 0;
    For(Range(b, e, s), [&](Var<int64_t> i) {
      sum += i;
      rounds += 1;
      i = 1000;  // Its own copy: the loop goes on.
    });
    y[0] = sum;
    y[1] = rounds;
  });
  const int64_t kMax = std::numeric_limits<int64_t>::max();
  const struct {
    int64_t b, e, s, sum, rounds;
  } kCases[] = {
      {0, 10, 1, 45, 10}, {0, 10, 3, 18, 4}, {10, 0, -1, 55, 10}, {10, 0, -4, 18, 3}, {0, 10, 0, 0, 0},
      {5, 5, 1, 0, 0},    {5, 0, 1, 0, 0},   {0, 5, -1, 0, 0},    {-3, 3, 2, -3, 3},  {kMax - 1, kMax, 5, kMax - 1, 1}};
  for (const auto& c : kCases) {
    auto y = Make(std::vector<int64_t>(2));
    ASSERT_TRUE(sums(stream, LaunchConfig{.grid = {1}, .block = {1}}, y, c.b, c.e, c.s).ok());
    EXPECT_EQ(Read(y), (std::vector<int64_t>{c.sum, c.rounds})) << c.b << " " << c.e << " " << c.s;
  }
}

TEST_F(RunTest, TheLambdaFormsOfIf) {
  auto kernel = MakeKernel("k", [](ArrayVar<int32_t, 1> y) {
    Expr<int64_t> i = GlobalIndex();
    If(i < y.size(), [&] {
      Var<int32_t> v = 0;
      If(
          i % 3 == 0, [&] { v = 10; }, [&] { v = 20; });
      If(i % 2 == 0 && i > 4, [&] { v += 1; });
      y[i] = v;
    });
  });
  auto y = Make(std::vector<int32_t>(10));
  ASSERT_TRUE(kernel(stream, ForSize(10), y).ok());
  EXPECT_EQ(Read(y), (std::vector<int32_t>{10, 20, 20, 10, 20, 20, 11, 20, 21, 10}));
}

TEST_F(RunTest, WhatFollowsAReturnDoesNotRun) {
  auto kernel = MakeKernel("k", [](ArrayVar<int32_t, 1> y) {
    Expr<int64_t> i = GlobalIndex();
    For(Range(10), [&](Expr<int64_t> k) {
      y[i] += 1;
      If(k == i, [&] {
        Return();
        y[i] = -1;
      });
    });
    y[i] = -2;
    Return();
    y[i] = -3;
  });
  auto y = Make(std::vector<int32_t>(12));
  ASSERT_TRUE(kernel(stream, LaunchConfig{.grid = {1}, .block = {12}}, y).ok());
  EXPECT_EQ(Read(y), (std::vector<int32_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, -2, -2}));
}

// Gathers, scatters, strides of any sign, two dimensions.
TEST_F(RunTest, GatherAndScatterThroughStridedViews) {
  auto permute = MakeKernel("permute", [](ArrayVar<double, 1> out, ArrayVar<const double, 1> in,
                                          ArrayVar<const int32_t, 1> from, ArrayVar<const uint8_t, 1> to) {
    For(GridStride(from.size()), [&](Expr<int64_t> i) { out[to[i]] = in[from[i]]; });
  });
  auto in = Make(std::vector<double>{0, 10, 20, 30});
  auto out = Make(std::vector<double>(4));
  auto from = Make(std::vector<int32_t>{3, 1, 0, 2});
  auto to = Make(std::vector<uint8_t>{0, 2, 3, 1});
  ASSERT_TRUE(permute(stream, ForSize(4), out, in, from, to).ok());
  EXPECT_EQ(Read(out), (std::vector<double>{30, 20, 10, 0}));
  ArrayView<double, 1> reversed(device, out.data() + 3, {4}, {-1});
  ASSERT_TRUE(permute(stream, ForSize(4), reversed, in, from, to).ok());
  EXPECT_EQ(Read(out), (std::vector<double>{0, 10, 20, 30}));
}

TEST_F(RunTest, TwoDimensions) {
  auto transpose = MakeKernel("transpose", [](ArrayVar<float, 2> y, ArrayVar<const float, 2> x) {
    For(GridStride(y.size()), [&](Expr<int64_t> i) {
      auto row = i / y.shape(1), column = i % y.shape(1);
      y(row, column) = x(column, row);
    });
  });
  auto x = Array<float, 2>::From(device, std::vector<float>{0, 1, 2, 3, 4, 5}, {2, 3}).value();
  auto y = Array<float, 2>::Zeros(device, {3, 2}).value();
  ASSERT_TRUE(transpose(stream, ForSize(6), y, x).ok());
  ASSERT_TRUE(stream.Synchronize().ok());
  EXPECT_EQ(AnyArray(y).ToVector<float>().value(), (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

TEST_F(RunTest, ThreadAndBlockIndices) {
  auto where = MakeKernel("where", [](ArrayVar<uint32_t, 2> y) {
    auto i = (BlockIndex(1) * GridSize() + BlockIndex()) * BlockSize() * BlockSize(1) + ThreadIndex(1) * BlockSize() +
             ThreadIndex();
    y(i, 0) = ThreadIndex();
    y(i, 1) = ThreadIndex(1);
    y(i, 2) = BlockIndex();
    y(i, 3) = BlockIndex(1);
  });
  auto y = Array<uint32_t, 2>::Zeros(device, {72, 4}).value();
  ASSERT_TRUE(where(stream, LaunchConfig{.grid = {3, 2}, .block = {4, 3}}, y).ok());
  ASSERT_TRUE(stream.Synchronize().ok());
  const std::vector<uint32_t> got = AnyArray(y).ToVector<uint32_t>().value();
  for (uint32_t by = 0, i = 0; by < 2; ++by) {
    for (uint32_t bx = 0; bx < 3; ++bx) {
      for (uint32_t ty = 0; ty < 3; ++ty) {
        for (uint32_t tx = 0; tx < 4; ++tx, ++i) {
          EXPECT_EQ((std::vector<uint32_t>(got.begin() + 4 * i, got.begin() + 4 * i + 4)),
                    (std::vector<uint32_t>{tx, ty, bx, by}));
        }
      }
    }
  }
}

template <class T>
class AtomicAddTest : public RunTest {};
using AtomicTypes = testing::Types<int32_t, int64_t, uint32_t, uint64_t, float, double>;
TYPED_TEST_SUITE(AtomicAddTest, AtomicTypes);
TYPED_TEST(AtomicAddTest, CountsEveryThreadAndReturnsTheOldValue) {
  auto count = MakeKernel("count", [](ArrayVar<TypeParam, 1> bins, ArrayVar<int32_t, 1> seen) {
    auto old = AtomicAdd(bins[GlobalIndex() % 7], 1);
    seen[Cast<int64_t>(old) * 7 + GlobalIndex() % 7] = 1;
  });
  auto bins = this->Make(std::vector<TypeParam>(7));
  auto seen = this->Make(std::vector<int32_t>(7 * 128));
  ASSERT_TRUE(count(this->stream, LaunchConfig{.grid = {7}, .block = {128}}, bins, seen).ok());
  EXPECT_EQ(this->Read(bins), std::vector<TypeParam>(7, 128));
  EXPECT_EQ(this->Read(seen), std::vector<int32_t>(7 * 128, 1));  // Each old value was given once.
}

// Arithmetic over the dtypes, against C++ in the same type.
template <class T>
class DTypeTest : public RunTest {};
using Numbers = testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, float, double>;
TYPED_TEST_SUITE(DTypeTest, Numbers);
TYPED_TEST(DTypeTest, ArithmeticAgreesWithTheHost) {
  using T = TypeParam;
  auto kernel = MakeKernel("arithmetic", [](ArrayVar<T, 2> y, ArrayVar<const T, 1> a, ArrayVar<const T, 1> b) {
    For(GridStride(a.size()), [&](Expr<int64_t> i) {
      Expr<T> x = a[i], z = b[i];
      y(0, i) = x + z;
      y(1, i) = x - z;
      y(2, i) = x * z;
      y(3, i) = x / z;
      y(4, i) = min(x, z);
      y(5, i) = max(x, z);
      y(6, i) = Select(x < z, x, z);
      y(7, i) = -x;
      y(8, i) = Select(x == z || x > 100, T{1}, T{2});
    });
  });
  ASSERT_TRUE(kernel.status().ok()) << kernel.status();
  const std::vector<T> a = {T(1), T(7), T(100), T(-7), T(120), T(0), T(-128), T(50)};
  const std::vector<T> b = {T(2), T(3), T(-9), T(2), T(120), T(5), T(3), T(101)};
  const int64_t n = static_cast<int64_t>(a.size());
  auto y = Array<T, 2>::Zeros(this->device, {9, n}).value();
  ASSERT_TRUE(kernel(this->stream, ForSize(n), y, this->Make(a), this->Make(b)).ok());
  ASSERT_TRUE(this->stream.Synchronize().ok());
  const std::vector<T> got = AnyArray(y).template ToVector<T>().value();
  for (int64_t i = 0; i < n; ++i) {
    // Wrapping in T, through the unsigned type, where C++ would promote to int or overflow.
    auto wrap = [](auto v) { return static_cast<T>(v); };
    using Wide = std::conditional_t<std::is_floating_point_v<T>, T, uint64_t>;
    const Wide x = static_cast<Wide>(a[i]), z = static_cast<Wide>(b[i]);
    const T want[] = {wrap(x + z),          wrap(x - z),          wrap(x * z),
                      wrap(a[i] / b[i]),    std::min(a[i], b[i]), std::max(a[i], b[i]),
                      std::min(a[i], b[i]), wrap(Wide{0} - x),    T(a[i] == b[i] || a[i] > 100 ? 1 : 2)};
    for (int row = 0; row < 9; ++row) {
      EXPECT_EQ(got[row * n + i], want[row]) << "row " << row << " a " << +a[i] << " b " << +b[i];
    }
  }
}

TEST_F(RunTest, HalfTypesRoundOncePerOperator) {
  const auto body = [](ArrayVar<float16, 1> h, ArrayVar<bfloat16, 1> b) {
    h[0] = h[1] + h[2];
    b[0] = b[1] * b[2] + b[3];
  };
  // 256.5 + 1: the product rounds to 256 first, and the sum to 256; contracted, as CUDA compilers do from sm_80 on, it
  // rounds to 258.
  const float contracted = device.properties().compute_major >= 8 ? 258.0f : 256.0f;
  const std::pair<bool, float> kSums[] = {{false, 256.0f}, {true, contracted}};
  for (const auto& [contract, sum] : kSums) {
    auto kernel = MakeKernel("half", body, {.contract = contract});
    auto h = Make(std::vector<float16>{float16(0.0f), float16(2048.0f), float16(1.0f)});
    auto b = Make(std::vector<bfloat16>{bfloat16(0.0f), bfloat16(3.0f), bfloat16(85.5f), bfloat16(1.0f)});
    ASSERT_TRUE(kernel(stream, LaunchConfig{.grid = {1}, .block = {1}}, h, b).ok());
    EXPECT_EQ(static_cast<float>(Read(h)[0]), 2048.0f);
    EXPECT_EQ(static_cast<float>(Read(b)[0]), sum);
  }
}

TEST_F(RunTest, MathFunctions) {
  auto kernel = MakeKernel("functions", [](ArrayVar<double, 1> y, Var<double> x) {
    y[0] = sqrt(x), y[1] = exp(x), y[2] = log(x), y[3] = sin(x), y[4] = pow(x, 2.5), y[5] = atan2(x, 3);
    y[6] = tanh(x), y[7] = fma(x, x, 1), y[8] = floor(x), y[9] = hypot(x, 2), y[10] = erf(x), y[11] = fmod(x, 0.3);
    y[12] = floor_mod(-x, 1), y[13] = true_div(7, Cast<int32_t>(x)), y[14] = copysign(x, -1.0);
  });
  const double x = 1.7;
  auto y = Make(std::vector<double>(15));
  ASSERT_TRUE(kernel(stream, LaunchConfig{.grid = {1}, .block = {1}}, y, x).ok());
  const std::vector<double> got = Read(y);
  const double want[] = {std::sqrt(x),
                         std::exp(x),
                         std::log(x),
                         std::sin(x),
                         std::pow(x, 2.5),
                         std::atan2(x, 3),
                         std::tanh(x),
                         std::fma(x, x, 1),
                         std::floor(x),
                         std::hypot(x, 2),
                         std::erf(x),
                         std::fmod(x, 0.3),
                         -x + 2,
                         7.0,
                         -x};
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-14 * std::abs(want[i])) << i;
}

TEST_F(RunTest, BoolsAndMixedSigns) {
  auto kernel =
      MakeKernel("flags", [](ArrayVar<bool, 1> y, ArrayVar<const uint64_t, 1> u, ArrayVar<const int64_t, 1> s) {
        For(GridStride(y.size()), [&](Expr<int64_t> i) { y[i] = u[i] < s[i] || !(u[i] != 5); });
      });
  auto u = Make(std::vector<uint64_t>{0, ~uint64_t{0}, 5, 3, uint64_t{1} << 63});
  auto s = Make(std::vector<int64_t>{-1, -1, -9, 4, std::numeric_limits<int64_t>::min()});
  auto y = Make(std::vector<bool>(5));
  ASSERT_TRUE(kernel(stream, ForSize(5), y, u, s).ok());
  EXPECT_EQ(Read(y), (std::vector<bool>{false, false, true, true, false}));
}

TEST_F(RunTest, ArgumentsOfOtherTypesDoNotCompile) {
  using K = EmbeddedKernel<ArrayView<float, 1>, ArrayView<const float, 1>, float>;
  static_assert(std::is_invocable_v<K, Stream&, LaunchConfig, Array<float, 1>&, Array<float, 1>&, float>);
  static_assert(!std::is_invocable_v<K, Stream&, LaunchConfig, Array<float, 1>&, Array<double, 1>&, float>);
  static_assert(!std::is_invocable_v<K, Stream&, LaunchConfig, Array<float, 1>&, Array<float, 2>&, float>);
  static_assert(!std::is_invocable_v<K, Stream&, LaunchConfig, Array<float, 1>&, Array<float, 1>&, double>);
  static_assert(!std::is_invocable_v<K, Stream&, LaunchConfig, Array<float, 1>&, Array<float, 1>&>);
  static_assert(!std::is_invocable_v<K, Stream&, LaunchConfig, ArrayView<const float, 1>&, Array<float, 1>&, float>);
}

// The PTX of both forms is taken by ptxas, where that is installed.
TEST_F(RunTest, PtxIsAssembled) {
  if (FindPtxas().empty()) GTEST_SKIP() << "ptxas is not installed";
  auto kernel = MakeKernel("mixed", [](ArrayVar<float, 2> y, ArrayVar<const int8_t, 1> x, ArrayVar<int32_t, 1> bins) {
    For(GridStride(x.size()), [&](Expr<int64_t> i) {
      Var<float> sum = 0;
      For(Range(y.shape(0)), [&](Expr<int64_t> k) { sum += y(k, i) * x[i]; });
      If(isnan(sum), [&] { Return(); }).Else([&] { AtomicAdd(bins[x[i] & 15], 1); });
      y(0, i) = exp(sum);
    });
  });
  const std::vector<std::string> ptx = {kernel.Inspect(device).value().ptx, kernel.Inspect(device, true).value().ptx};
  for (int sm : {90, 120}) EXPECT_EQ(AssembleAll(ptx, sm), absl::OkStatus());
}

TEST(MovedFrom, StreamsAndDevicesAreSaid) {
  const auto kernel = MakeKernel("k", [](Var<int32_t>) {});
  Device device = Device::Open("cpu").value();
  Stream stream = device.CreateStream().value();
  const Stream taken = std::move(stream);
  const auto expect = [](const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), "kernel 'k': its stream or device was moved from; give one that lives");
  };
  expect(kernel(stream, ForSize(1), 1));  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(kernel(taken, ForSize(1), 1).ok());
  expect(kernel(stream, ForSize(1), 1));
  const Device other = std::move(device);
  expect(kernel.On(device).status());  // NOLINT(bugprone-use-after-move)
  expect(kernel.Precompile(device));
}

}  // namespace
}  // namespace slipway
