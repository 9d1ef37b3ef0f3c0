// Reductions and scans over blocks and grids, of blocks of all kinds of sizes, against loops of the host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "slipway/slipway.h"
#include "tests/embedded/run_fixture.h"

namespace slipway {
namespace {

using testing::HasSubstr;

constexpr uint32_t kBlockSizes[] = {1, 2, 31, 32, 33, 64, 100, 256, 1000, 1024};

// A value for each thread: small ones, so that sums of floats are exact, and no two neighbours the same.
template <class T>
T ValueOf(int i) {
  const int v = i * 37 % 61 - 30;
  if constexpr (std::is_same_v<T, bool>) {
    return i * 5 % 7 < 3;
  } else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return T(static_cast<float>(v));
  } else if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
    return T(v, -2 * v + 1);
  } else {
    return static_cast<T>(v);
  }
}
template <class T>
long double Number(T x) {
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return static_cast<float>(x);
  } else {
    return static_cast<long double>(x);
  }
}

// Host memory that holds bools one to a byte.
template <class T>
struct Host {
  explicit Host(int64_t n) : size(n), data(new T[n]()) {}
  T& operator[](int64_t i) { return data[i]; }
  int64_t size;
  std::unique_ptr<T[]> data;
};

class ReduceFixture : public RunFixture {
 protected:
  // What a kernel gives that stores f(x[thread]) of each thread of one block, for blocks of any shape.
  template <class R, class T>
  using BlockFunction = std::function<Host<R>(Host<T>& x, std::vector<uint32_t> block)>;
  template <class R, class T, class F>
  BlockFunction<R, T> OnBlocks(F f) {
    auto kernel = MakeKernel("reduce", [&](ArrayVar<R, 1> out, ArrayVar<const T, 1> in) {
      const Expr<uint32_t> thread = ThreadIndex(0) + BlockSize(0) * (ThreadIndex(1) + BlockSize(1) * ThreadIndex(2));
      out[thread] = f(Expr<T>(in[thread]));
    });
    EXPECT_EQ(kernel.status(), absl::OkStatus());
    return [this, kernel](Host<T>& x, std::vector<uint32_t> block) {
      auto in = Array<T, 1>::From(device, absl::MakeConstSpan(x.data.get(), x.size)).value();
      auto out = Array<R, 1>::Zeros(device, {x.size}).value();
      LaunchConfig config = {.grid = {1}};
      config.block = {block[0], block.size() > 1 ? block[1] : 1, block.size() > 2 ? block[2] : 1};
      EXPECT_EQ(kernel(stream, config, out, in), absl::OkStatus());
      EXPECT_EQ(stream.Synchronize(), absl::OkStatus());
      Host<R> got(x.size);
      EXPECT_EQ(AnyArray(out).CopyTo(got.data.get()), absl::OkStatus());
      return got;
    };
  }
  template <class R, class T, class F>
  Host<R> RunBlock(F f, Host<T>& x, std::vector<uint32_t> block) {
    return OnBlocks<R, T>(f)(x, std::move(block));
  }
  template <class T>
  Host<T> Values(int n) {
    Host<T> x(n);
    for (int i = 0; i < n; ++i) x[i] = ValueOf<T>(i);
    return x;
  }
};

template <class T>
class BlockReductions : public ReduceFixture {};
using Integers = testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
using Numbers = testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, float16,
                               bfloat16, float, double>;
TYPED_TEST_SUITE(BlockReductions, Numbers);

TYPED_TEST(BlockReductions, SumsAndExtremesOfEveryBlockSize) {
  using T = TypeParam;
  constexpr bool kHalf = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
  using Sum = std::conditional_t<kHalf, float, T>;
  const auto sums_of = this->template OnBlocks<Sum, T>([](auto v) { return BlockReduceAdd(v); });
  const auto lows_of = this->template OnBlocks<T, T>([](auto v) { return BlockReduceMin(v); });
  const auto highs_of = this->template OnBlocks<T, T>([](auto v) { return BlockReduceMax(v); });
  for (uint32_t n : kBlockSizes) {
    Host<T> x = this->template Values<T>(n);
    Sum sum = 0;
    T least = x[0], most = x[0];
    for (uint32_t i = 0; i < n; ++i) {
      sum = static_cast<Sum>(sum + static_cast<Sum>(x[i]));
      if (Number(x[i]) < Number(least)) least = x[i];
      if (Number(x[i]) > Number(most)) most = x[i];
    }
    Host<Sum> sums = sums_of(x, {n});
    Host<T> lows = lows_of(x, {n}), highs = highs_of(x, {n});
    for (uint32_t i = 0; i < n; ++i) {
      ASSERT_EQ(sums[i], sum) << n << " threads, thread " << i;
      ASSERT_EQ(lows[i], least) << n << " threads, thread " << i;
      ASSERT_EQ(highs[i], most) << n << " threads, thread " << i;
    }
  }
}

template <class T>
class BlockScans : public ReduceFixture {};
using SomeNumbers = testing::Types<int8_t, int32_t, uint64_t, bfloat16, float, double>;
TYPED_TEST_SUITE(BlockScans, SomeNumbers);

TYPED_TEST(BlockScans, OfEveryBlockSize) {
  using T = TypeParam;
  constexpr bool kHalf = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
  using Sum = std::conditional_t<kHalf, float, T>;
  const auto inclusive_of = this->template OnBlocks<Sum, T>([](auto v) { return BlockScanAdd(v); });
  const auto exclusive_of = this->template OnBlocks<Sum, T>([](auto v) { return BlockScanExclusiveAdd(v); });
  const auto most_of = this->template OnBlocks<T, T>([](auto v) { return BlockScan(v, combine::Max()); });
  for (uint32_t n : kBlockSizes) {
    Host<T> x = this->template Values<T>(n);
    Host<Sum> inclusive = inclusive_of(x, {n}), exclusive = exclusive_of(x, {n});
    Host<T> most = most_of(x, {n});
    Sum sum = 0;
    T high = x[0];
    for (uint32_t i = 0; i < n; ++i) {
      ASSERT_EQ(exclusive[i], sum) << n << " threads, thread " << i;
      sum = static_cast<Sum>(sum + static_cast<Sum>(x[i]));
      ASSERT_EQ(inclusive[i], sum) << n << " threads, thread " << i;
      if (Number(x[i]) > Number(high)) high = x[i];
      ASSERT_EQ(most[i], high) << n << " threads, thread " << i;
    }
  }
}

template <class T>
class BitReductions : public ReduceFixture {};
TYPED_TEST_SUITE(BitReductions, Integers);

TYPED_TEST(BitReductions, AndOrXor) {
  using T = TypeParam;
  const auto all_of = this->template OnBlocks<T, T>([](auto v) { return BlockReduceAnd(v); });
  const auto any_of = this->template OnBlocks<T, T>([](auto v) { return BlockReduceOr(v); });
  const auto odd_of = this->template OnBlocks<T, T>([](auto v) { return BlockReduceXor(v); });
  for (uint32_t n : {1u, 33u, 100u, 1024u}) {
    Host<T> x(n);
    for (uint32_t i = 0; i < n; ++i) x[i] = static_cast<T>(i * 0x9E3779B97F4A7C15u | 0x10 | (i == 7 ? 0x40 : 0));
    T all = static_cast<T>(~T{0}), any = 0, odd = 0;
    for (uint32_t i = 0; i < n; ++i) {
      all = static_cast<T>(all & x[i]);
      any = static_cast<T>(any | x[i]);
      odd = static_cast<T>(odd ^ x[i]);
    }
    EXPECT_EQ(all_of(x, {n})[n - 1], all);
    EXPECT_EQ(any_of(x, {n})[n - 1], any);
    EXPECT_EQ(odd_of(x, {n})[n - 1], odd);
  }
}

class Reduce : public ReduceFixture {};

TEST_F(Reduce, Bools) {
  for (uint32_t n : {1u, 40u, 256u}) {
    Host<bool> x = Values<bool>(n);
    int count = 0;
    for (uint32_t i = 0; i < n; ++i) count += x[i];
    EXPECT_EQ(RunBlock<int32_t>([](auto v) { return BlockReduceAdd(v); }, x, {n})[0], count);
    EXPECT_EQ(RunBlock<bool>([](auto v) { return BlockReduceAnd(v); }, x, {n})[0], count == static_cast<int>(n));
    EXPECT_EQ(RunBlock<bool>([](auto v) { return BlockReduceOr(v); }, x, {n})[0], count > 0);
    EXPECT_EQ(RunBlock<bool>([](auto v) { return BlockReduceXor(v); }, x, {n})[0], count % 2 == 1);
    EXPECT_EQ(RunBlock<bool>([](auto v) { return BlockBroadcast(v, 0); }, x, {n})[n - 1], x[0]);
  }
}

TEST_F(Reduce, ComplexNumbers) {
  for (uint32_t n : {1u, 100u, 1024u}) {
    Host<complex64> x = Values<complex64>(n);
    Host<complex128> wide = Values<complex128>(n);
    complex128 sum = 0;
    for (uint32_t i = 0; i < n; ++i) sum += wide[i];
    EXPECT_EQ(complex128(RunBlock<complex64>([](auto v) { return BlockReduceAdd(v); }, x, {n})[n / 2]), sum);
    EXPECT_EQ(RunBlock<complex128>([](auto v) { return BlockScanAdd(v); }, wide, {n})[n - 1], sum);
  }
}

TEST_F(Reduce, BlocksOfTwoAndThreeDimensions) {
  const auto sums_of = OnBlocks<int32_t, int32_t>([](auto v) { return BlockReduceAdd(v); });
  const auto scan_of = OnBlocks<int32_t, int32_t>([](auto v) { return BlockScanExclusiveAdd(v); });
  for (const std::vector<uint32_t>& block :
       std::vector<std::vector<uint32_t>>{{16, 16}, {5, 7}, {3, 5, 7}, {8, 8, 16}}) {
    const uint32_t n = std::accumulate(block.begin(), block.end(), 1u, std::multiplies<>());
    Host<int32_t> x = Values<int32_t>(n);
    Host<int32_t> sums = sums_of(x, block), scan = scan_of(x, block);
    int sum = 0;
    for (uint32_t i = 0; i < n; ++i) {
      EXPECT_EQ(scan[i], sum);
      sum += x[i];
    }
    for (uint32_t i = 0; i < n; ++i) EXPECT_EQ(sums[i], sum);
  }
}

// x -> a x + b, composed: associative, not commutative. Both numbers in one, a above b, modulo 251.
uint32_t Composed(uint32_t f, uint32_t g) {
  const uint32_t a = f >> 16, b = f & 0xffff, c = g >> 16, d = g & 0xffff;
  return (a * c % 251) << 16 | (b * c + d) % 251;
}

TEST_F(Reduce, KeepsTheOrderOfWhatDoesNotCommute) {
  const DeviceFunction composed("composed", [](Expr<uint32_t> f, Expr<uint32_t> g) {
    const Expr<uint32_t> a = f >> 16, b = f & 0xffff, c = g >> 16, d = g & 0xffff;
    return Expr<uint32_t>(((a * c % 251) << 16) | ((b * c + d) % 251));
  });
  using U = uint32_t;
  const auto all_of = OnBlocks<U, U>([&](auto v) { return BlockReduce(v, composed); });
  const auto scan_of = OnBlocks<U, U>([&](auto v) { return BlockScan(v, composed); });
  const auto before_of = OnBlocks<U, U>([&](auto v) { return BlockScanExclusive(v, 1u << 16 | 5, composed); });
  for (uint32_t n : kBlockSizes) {
    Host<uint32_t> x(n);
    for (uint32_t i = 0; i < n; ++i) x[i] = (i * 7 % 250 + 1) << 16 | i * 11 % 251;
    Host<uint32_t> all = all_of(x, {n}), scan = scan_of(x, {n}), before = before_of(x, {n});
    uint32_t f = x[0], g = 1u << 16 | 5;
    for (uint32_t i = 0; i < n; ++i) {
      if (i > 0) f = Composed(f, x[i]);
      ASSERT_EQ(scan[i], f) << n << " threads, thread " << i;
      ASSERT_EQ(before[i], g) << n << " threads, thread " << i;
      g = Composed(g, x[i]);
    }
    for (uint32_t i = 0; i < n; ++i) ASSERT_EQ(all[i], f) << n << " threads, thread " << i;
  }
}

// Calls one after the other, and in loops, use the same memory.
TEST_F(Reduce, ManyCallsShareTheirMemory) {
  const uint32_t n = 320;
  Host<int32_t> x = Values<int32_t>(n);
  Host<int32_t> got = RunBlock<int32_t>(
      [](auto v) {
        Var<int32_t> sum = 0;
        For(Range(20), [&](Expr<int64_t> k) {
          sum += BlockReduceMax(v + Cast<int32_t>(k)) - BlockReduceMin(v);
          sum += BlockBroadcast(v, k * 16);
        });
        return Expr<int32_t>(sum);
      },
      x, {n});
  int32_t want = 0;
  const auto [low, high] = std::minmax_element(x.data.get(), x.data.get() + n);
  for (int k = 0; k < 20; ++k) want += *high + k - *low + x[k * 16];
  for (uint32_t i = 0; i < n; ++i) EXPECT_EQ(got[i], want);
  auto kernel = MakeKernel("many", [](ArrayVar<double, 1> y) {
    Var<double> sum = 0.0;
    for (int k = 0; k < 400; ++k) sum += BlockBroadcast(Expr<double>(y[k]), k);  // Memory for each would be 100 KiB.
    y[0] = sum;
  });
  EXPECT_EQ(kernel.status(), absl::OkStatus());
}

// A reduction says nothing about how a kernel may be launched.
TEST_F(Reduce, LeavesGridStrideKernelsToForSize) {
  auto kernel = MakeKernel("dot", [](ArrayVar<int64_t, 1> out, ArrayVar<const int32_t, 1> x) {
    Var<int64_t> sum = 0;
    For(GridStride(x.size()), [&](Expr<int64_t> i) { sum += x[i] * x[i]; });
    GridReduceAdd(out[0], sum);
  });
  ASSERT_EQ(kernel.status(), absl::OkStatus());
  const int n = 100003;
  std::vector<int32_t> host(n);
  int64_t want = 0;
  for (int i = 0; i < n; ++i) {
    host[i] = i % 1000 - 500;
    want += host[i] * host[i];
  }
  auto x = Make(host);
  auto out = Make<int64_t>({0});
  ASSERT_EQ(kernel(stream, ForSize(n), out, x), absl::OkStatus());
  EXPECT_EQ(Read(out)[0], want);
}

template <class T>
class GridReductions : public ReduceFixture {};
using AtomicTypes = testing::Types<int32_t, uint8_t, int16_t, uint64_t, float16, bfloat16, float, double>;
TYPED_TEST_SUITE(GridReductions, AtomicTypes);

TYPED_TEST(GridReductions, IntoOneElement) {
  using T = TypeParam;
  auto kernel = MakeKernel("grid", [](ArrayVar<T, 1> out, ArrayVar<const T, 1> x) {
    const Expr<T> v = x[GlobalIndex()];
    GridReduceAdd(out[0], v);
    GridReduceMin(out[1], v);
    GridReduceMax(out[2], v);
  });
  ASSERT_EQ(kernel.status(), absl::OkStatus());
  const int blocks = 5, threads = 40;
  Host<T> x = this->template Values<T>(blocks * threads);
  long double sum = 0, low = Number(x[0]), high = low;
  for (int i = 0; i < blocks * threads; ++i) {
    sum += Number(x[i]);
    low = std::min(low, Number(x[i]));
    high = std::max(high, Number(x[i]));
  }
  auto in = Array<T, 1>::From(this->device, absl::MakeConstSpan(x.data.get(), x.size)).value();
  Host<T> start(3);
  start[1] = x[3];
  start[2] = x[3];
  auto out = Array<T, 1>::From(this->device, absl::MakeConstSpan(start.data.get(), 3)).value();
  ASSERT_EQ(kernel(this->stream, LaunchConfig{.grid = {blocks}, .block = {threads}}, out, in), absl::OkStatus());
  const std::vector<T> got = this->Read(out);
  if constexpr (std::is_integral_v<T>) {
    T wrapped = 0;
    for (int i = 0; i < blocks * threads; ++i) wrapped = static_cast<T>(wrapped + x[i]);
    EXPECT_EQ(got[0], wrapped);
  } else {
    EXPECT_EQ(Number(got[0]), sum);
  }
  EXPECT_EQ(Number(got[1]), low);
  EXPECT_EQ(Number(got[2]), high);
}

// The last block combines what the blocks left, in order; the ticket is ready for the next launch.
TEST_F(Reduce, GridsInOrder) {
  const auto composed = [](Expr<uint32_t> f, Expr<uint32_t> g) {
    const Expr<uint32_t> a = f >> 16, b = f & 0xffff, c = g >> 16, d = g & 0xffff;
    return ((a * c % 251) << 16) | ((b * c + d) % 251);
  };
  auto kernel = MakeKernel("grid", [&](ArrayVar<uint32_t, 1> out, ArrayVar<const uint32_t, 1> x,
                                       ArrayVar<uint32_t, 1> partials, ArrayVar<uint32_t, 1> tickets) {
    const Expr<uint32_t> block = BlockIndex(0) + GridSize(0) * BlockIndex(1);
    GridReduce(out[0], x[block * BlockSize(0) + ThreadIndex(0)], composed, partials, tickets[0]);
  });
  ASSERT_EQ(kernel.status(), absl::OkStatus());
  auto tickets = Array<uint32_t, 1>::Zeros(device, {1}).value();
  for (const std::vector<uint32_t>& shape :
       std::vector<std::vector<uint32_t>>{{1, 1, 33}, {7, 1, 33}, {40, 3, 32}, {500, 1, 64}, {31, 1, 1}, {33, 2, 48}}) {
    const uint32_t blocks = shape[0] * shape[1], n = blocks * shape[2];
    std::vector<uint32_t> host(n);
    for (uint32_t i = 0; i < n; ++i) host[i] = (i * 7 % 250 + 1) << 16 | i * 11 % 251;
    uint32_t want = host[0];
    for (uint32_t i = 1; i < n; ++i) want = Composed(want, host[i]);
    auto x = Make(host);
    auto partials = Array<uint32_t, 1>::Zeros(device, {blocks}).value();
    auto out = Array<uint32_t, 1>::Zeros(device, {1}).value();
    LaunchConfig config = {.grid = {shape[0], shape[1]}, .block = {shape[2]}};
    ASSERT_EQ(kernel(stream, config, out, x, partials, tickets), absl::OkStatus());
    EXPECT_EQ(Read(out)[0], want) << shape[0] << " x " << shape[1] << " blocks of " << shape[2];
    EXPECT_EQ(Read(tickets)[0], 0u);
  }
}

TEST_F(Reduce, SumsOfFloatsInOrderAreTheSameInEveryRun) {
  auto kernel = MakeKernel("grid", [](ArrayVar<float, 1> out, ArrayVar<const float, 1> x, ArrayVar<float, 1> partials,
                                      ArrayVar<uint32_t, 1> tickets) {
    GridReduce(out[0], x[GlobalIndex()], combine::Add(), partials, tickets[0]);
  });
  const int n = 64 * 96;
  std::vector<float> host(n);
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += host[i] = std::sin(static_cast<float>(i)) * std::exp2(static_cast<float>(i % 20));
  auto x = Make(host);
  auto partials = Array<float, 1>::Zeros(device, {64}).value();
  auto tickets = Array<uint32_t, 1>::Zeros(device, {1}).value();
  float first = 0;
  for (int run = 0; run < 5; ++run) {
    auto out = Array<float, 1>::Zeros(device, {1}).value();
    ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {64}, .block = {96}}, out, x, partials, tickets), absl::OkStatus());
    const float got = Read(out)[0];
    if (run == 0) first = got;
    EXPECT_EQ(got, first);
  }
  EXPECT_NEAR(first, sum, 0.05 * std::sqrt(n));
}

TEST_F(Reduce, InKernelBuilders) {
  for (DType dtype : {DType::kInt32, DType::kFloat16, DType::kFloat64}) {
    KernelBuilder b("sum");
    const AnyArrayVar out = b.Array("out", dtype, 1), in = b.Array("in", dtype, 1);
    const AnyExpr i = b.GlobalIndex();
    const AnyExpr x = in[i];
    const AnyExpr total = BlockReduceAdd(x), before = BlockScanExclusiveAdd(x);
    const AnyExpr least = BlockReduce(x, [](const AnyExpr& a, const AnyExpr& c) { return min(a, c); });
    EXPECT_EQ(total.dtype(), dtype == DType::kFloat16 ? DType::kFloat32 : dtype);
    EXPECT_EQ(least.dtype(), dtype);
    out[i] = total + before * 1000 + least * 100;
    absl::StatusOr<Kernel> kernel = b.Build(device);
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    if (dtype != DType::kInt32) continue;
    auto x_array = Make<int32_t>({5, 3, 9, 4});
    auto out_array = Array<int32_t, 1>::Zeros(device, {4}).value();
    ASSERT_EQ(kernel->Launch(stream, LaunchConfig{.grid = {1}, .block = {4}}, {out_array, x_array}), absl::OkStatus());
    EXPECT_THAT(Read(out_array), testing::ElementsAre(321, 5321, 8321, 17321));
  }
}

TEST_F(Reduce, MistakesAreErrorsOfTheKernel) {
  auto bits = MakeKernel("k", [](ArrayVar<float, 1> y) { y[0] = BlockReduceXor(AnyExpr(y[1])); });
  EXPECT_THAT(std::string(bits.status().message()), HasSubstr("'^' does not take float32 and float32"));
  auto order = MakeKernel("k", [](ArrayVar<complex64, 1> y) { y[0] = BlockReduceMin(AnyExpr(y[1])); });
  EXPECT_THAT(std::string(order.status().message()), HasSubstr("'min' does not take complex64 and complex64"));
}

}  // namespace
}  // namespace slipway
