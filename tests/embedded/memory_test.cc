// Arrays of the kernel's own, atomics and special accesses of embedded kernels, compared with plain host loops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
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

class Memory : public RunFixture {};

// Tiles of a transposition: a shared array of two dimensions, padded, and a barrier.
TEST_F(Memory, SharedTile) {
  auto kernel = MakeKernel("transpose", [](ArrayVar<float, 2> out, ArrayVar<const float, 2> in) {
    auto tile = SharedArray<float>(16, 17);
    Expr<int64_t> x = Cast<int64_t>(ThreadIndex(0)), y = Cast<int64_t>(ThreadIndex(1));
    Expr<int64_t> column = BlockIndex(0) * 16 + x, row = BlockIndex(1) * 16 + y;
    If(row < in.shape(0) && column < in.shape(1), [&] { tile(y, x) = in(row, column); });
    SyncThreads();
    Expr<int64_t> to_column = BlockIndex(1) * 16 + x, to_row = BlockIndex(0) * 16 + y;
    If(to_row < out.shape(0) && to_column < out.shape(1), [&] { out(to_row, to_column) = tile(x, y); });
  });
  const int64_t rows = 37, columns = 50;
  std::vector<float> host(rows * columns);
  std::iota(host.begin(), host.end(), 0.5f);
  auto in = Array<float, 2>::From(device, host, {rows, columns}).value();
  auto out = Array<float, 2>::Zeros(device, {columns, rows}).value();
  ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {4, 3}, .block = {16, 16}}, out, in), absl::OkStatus());
  ASSERT_EQ(stream.Synchronize(), absl::OkStatus());
  const std::vector<float> got = AnyArray(out).ToVector<float>().value();
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) ASSERT_EQ(got[j * rows + i], host[i * columns + j]) << i << " " << j;
  }
}

// Two arrays in the launch's memory, the second aligned behind an odd first one.
TEST_F(Memory, DynamicSharedArrays) {
  auto kernel = MakeKernel("dynamic", [](ArrayVar<double, 1> out, ArrayVar<const int8_t, 1> in) {
    Expr<int64_t> n = Cast<int64_t>(BlockSize());
    auto bytes = DynamicSharedArray<int8_t>(n + 3);
    auto wide = DynamicSharedArray<double>(2, n);
    Expr<uint32_t> i = ThreadIndex();
    bytes[i] = in[i];
    wide(0, i) = 0.5 * in[i];
    wide(1, i) = Cast<double>(bytes.shape(0) * 1000 + wide.shape(1));
    SyncThreads();
    Expr<int64_t> other = n - 1 - i;
    out[i] = bytes[other] + 100 * wide(0, other) + wide(1, other);
  });
  ASSERT_EQ(kernel.status(), absl::OkStatus());
  const int n = 96;
  std::vector<int8_t> host(n);
  std::iota(host.begin(), host.end(), -50);
  auto in = Make(host);
  auto out = Make(std::vector<double>(n));
  const uint32_t bytes = (n + 3 + 7) / 8 * 8 + 2 * n * 8;
  ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {1}, .block = {96}, .shared_bytes = bytes}, out, in), absl::OkStatus());
  std::vector<double> want(n);
  for (int i = 0; i < n; ++i) want[i] = host[n - 1 - i] * 51.0 + (n + 3) * 1000 + n;
  EXPECT_EQ(Read(out), want);
}

// A stack in local memory that is indexed by values, and constants that are, too.
TEST_F(Memory, LocalAndConstantArrays) {
  const std::vector<float> taps = {0.25f, -1.5f, 3.0f, 0.125f};
  auto kernel = MakeKernel("local", [&](ArrayVar<float, 1> out, ArrayVar<const float, 1> in) {
    auto table = ConstantArray(taps);
    auto grid = ConstantArray<int16_t>({2, 3}, {10, 20, 30, 40, 50, 60});
    For(GridStride(out.size()), [&](Expr<int64_t> i) {
      auto window = LocalArray<float>(4);
      For(Range(0, 4), [&](Expr<int64_t> k) { window[k] = in[i + k]; });
      Var<float> sum = 0.0f;
      For(Range(0, 4), [&](Expr<int64_t> k) { sum += window[3 - k] * table[k]; });
      out[i] = sum + grid(i % 2, i % 3);
    });
  });
  ASSERT_EQ(kernel.status(), absl::OkStatus());
  const int n = 100;
  std::vector<float> host(n + 3), want(n);
  for (int i = 0; i < n + 3; ++i) host[i] = static_cast<float>((i * 37) % 11);
  for (int i = 0; i < n; ++i) {
    float sum = 0;
    for (int k = 0; k < 4; ++k) sum = std::fma(host[i + 3 - k], taps[k], sum);
    want[i] = sum + static_cast<float>(10 * (i % 2 * 3 + i % 3 + 1));
  }
  auto in = Make(host), out = Make(std::vector<float>(n));
  ASSERT_EQ(kernel(stream, ForSize(n), out, in), absl::OkStatus());
  EXPECT_EQ(Read(out), want);
}

// Atomics, on every dtype, in global and in shared memory: what all threads did to one element together.

template <class T>
T Of(int value) {
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}
template <class T>
double ToDouble(T value) {
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<double>(value);
  }
}

template <class T>
class Atomics : public RunFixture {};
using Numbers = testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, float16,
                               bfloat16, float, double>;
TYPED_TEST_SUITE(Atomics, Numbers);

TYPED_TEST(Atomics, AddMinMaxExchange) {
  using T = TypeParam;
  const int n = 100;  // Small numbers, so that sums are exact in every type, in any order.
  auto kernel = MakeKernel("atomics", [](ArrayVar<T, 1> result, ArrayVar<T, 1> old, ArrayVar<const T, 1> x) {
    auto shared = SharedArray<T>(4);
    Expr<int64_t> i = GlobalIndex();
    If(i < 4, [&] { shared[i] = result[i]; });
    SyncThreads();
    If(i < x.size(), [&] {
      AtomicAdd(result[0], x[i]);
      AtomicMin(result[1], x[i]);
      AtomicMax(result[2], x[i]);
      old[i] = AtomicExchange(result[3], x[i]);
      AtomicAdd(shared[0], x[i], MemoryOrder::kAcquireRelease, MemoryScope::kBlock);
      AtomicMin(shared[1], x[i], MemoryOrder::kSequential);
      AtomicMax(shared[2], x[i], MemoryOrder::kRelaxed, MemoryScope::kSystem);
    });
    SyncThreads();
    If(i < 3, [&] { result[4 + i] = shared[i]; });
  });
  ASSERT_EQ(kernel.status(), absl::OkStatus());
  std::vector<T> x(n);
  double sum = 1, least = 1, most = 1;
  for (int i = 0; i < n; ++i) {
    const int value = std::is_unsigned_v<T> ? i % 2 : i % 3 - 1;
    x[i] = Of<T>(value + (i == 50 ? 5 : 0));
    sum += ToDouble(x[i]), least = std::min(least, ToDouble(x[i])), most = std::max(most, ToDouble(x[i]));
  }
  auto result = this->Make(std::vector<T>(7, Of<T>(1))), old = this->Make(std::vector<T>(n)), values = this->Make(x);
  ASSERT_EQ(kernel(this->stream, LaunchConfig{.grid = {1}, .block = {128}}, result, old, values), absl::OkStatus());
  const std::vector<T> got = this->Read(result);
  for (int k : {0, 4}) EXPECT_EQ(ToDouble(got[k]), sum) << k;
  for (int k : {1, 5}) EXPECT_EQ(ToDouble(got[k]), least) << k;
  for (int k : {2, 6}) EXPECT_EQ(ToDouble(got[k]), most) << k;
  // Exchanged: what was there first, and each value but the one that is there now, once.
  std::vector<double> seen = {ToDouble(got[3])}, want = {1};
  for (const T& value : this->Read(old)) seen.push_back(ToDouble(value));
  for (const T& value : x) want.push_back(ToDouble(value));
  std::sort(seen.begin(), seen.end());
  std::sort(want.begin(), want.end());
  EXPECT_EQ(seen, want);
}

// A lock-free maximum of absolute values by compare-and-swap: every type, 8- and 16-bit ones among them.
TYPED_TEST(Atomics, CompareExchange) {
  using T = TypeParam;
  auto kernel = MakeKernel("cas", [](ArrayVar<T, 1> result, ArrayVar<const T, 1> x) {
    Expr<int64_t> i = GlobalIndex();
    If(i < x.size(), [&] {
      Var<bool> done = false;
      While([&] { return !done; },
            [&] {
              Expr<T> seen = Load(result[1], MemoryAccess::Relaxed());
              If(x[i] <= seen, [&] { done = true; }).Else([&] {
                done = AtomicCompareExchange(result[1], seen, x[i]) == seen;
              });
            });
    });
  });
  ASSERT_EQ(kernel.status(), absl::OkStatus());
  const int n = 300;
  std::vector<T> x(n);
  for (int i = 0; i < n; ++i) x[i] = Of<T>((i * 7919) % 100);
  auto result = this->Make(std::vector<T>(3, Of<T>(3))), values = this->Make(x);
  ASSERT_EQ(kernel(this->stream, ForSize(n), result, values), absl::OkStatus());
  const std::vector<T> got = this->Read(result);
  EXPECT_EQ(ToDouble(got[0]), 3) << "a neighbour was touched";
  EXPECT_EQ(ToDouble(got[1]), 99);
  EXPECT_EQ(ToDouble(got[2]), 3) << "a neighbour was touched";
}

template <class T>
class AtomicBits : public RunFixture {};
using Bits = testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(AtomicBits, Bits);

TYPED_TEST(AtomicBits, AndOrXor) {
  using T = TypeParam;
  auto kernel = MakeKernel("bits", [](ArrayVar<T, 1> result, ArrayVar<const T, 1> x) {
    For(GridStride(x.size()), [&](Expr<int64_t> i) {
      AtomicAnd(result[0], x[i]);
      AtomicOr(result[1], x[i]);
      AtomicXor(result[2], x[i]);
    });
  });
  const int n = 77;
  std::vector<T> x(n), want = {static_cast<T>(-1), 0, static_cast<T>(0x5a5a5a5a5a5a5a5a)};
  for (int i = 0; i < n; ++i) {
    x[i] = static_cast<T>(static_cast<uint64_t>(i + 1) * 0x9e3779b97f4a7c15 | 0x8000000100800081);
    want[0] &= x[i], want[1] |= x[i], want[2] ^= x[i];
  }
  auto result = this->Make(std::vector<T>{static_cast<T>(-1), 0, static_cast<T>(0x5a5a5a5a5a5a5a5a)});
  ASSERT_EQ(kernel(this->stream, ForSize(n), result, this->Make(x)), absl::OkStatus());
  EXPECT_EQ(this->Read(result), want);
}

TEST_F(Memory, AtomicsOfBools) {
  auto kernel = MakeKernel("bools", [](ArrayVar<bool, 1> flags, ArrayVar<bool, 1> was) {
    Expr<int64_t> i = GlobalIndex();
    AtomicAnd(flags[0], i != 5);
    AtomicOr(flags[1], i == 5);
    AtomicXor(flags[2], i < 3);
    was[0] = AtomicExchange(flags[3], true);
  });
  auto flags = Array<bool, 1>::From(device, std::vector<bool>{true, false, false, false}).value();
  auto was = Array<bool, 1>::Zeros(device, 1).value();
  ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {1}, .block = {32}}, flags, was), absl::OkStatus());
  ASSERT_EQ(stream.Synchronize(), absl::OkStatus());
  std::array<bool, 4> got;
  ASSERT_EQ(AnyArray(flags).CopyTo(got.data()), absl::OkStatus());
  EXPECT_THAT(got, testing::ElementsAre(false, true, true, true));
}

// What a typed element does not take is told while the kernel is traced.
template <class T>
class AtomicsThatThereAreNot : public testing::Test {
 protected:
  template <class Operation>
  static std::string Message(Operation operation) {
    return std::string(MakeKernel("k", [&](ArrayVar<T, 1> y) { operation(y[0]); }).status().message());
  }
};
using OtherTypes = testing::Types<bool, int64_t, float16, bfloat16, float, double, complex64, complex128>;
TYPED_TEST_SUITE(AtomicsThatThereAreNot, OtherTypes);

TYPED_TEST(AtomicsThatThereAreNot, AreRefused) {
  using T = TypeParam;
  constexpr bool kComplex = IsComplex(kDTypeOf<T>), kFloat = IsFloat(kDTypeOf<T>);
  constexpr bool kBool = std::is_same_v<T, bool>;
  const std::string on = " on 'arg0' of " + std::string(Name(kDTypeOf<T>)) + ": it takes ";
  const std::string complex = "no complex numbers; their parts, as two arrays of floats";
  const auto told = [&](bool refused, const std::string& op, const std::string& takes) {
    return refused ? "atomic " + op + on + (kComplex ? complex : takes) : std::string();
  };
  const auto message = [](auto operation) { return AtomicsThatThereAreNot<T>::Message(operation); };
  const T one = Of<T>(1);
  using Place = ElementRef<T>;
  EXPECT_EQ(message([&](const Place& y) { AtomicAdd(y, one); }), told(kBool || kComplex, "add", "integers and floats"));
  EXPECT_EQ(message([&](const Place& y) { AtomicMin(y, one); }), told(kBool || kComplex, "min", "integers and floats"));
  EXPECT_EQ(message([&](const Place& y) { AtomicMax(y, one); }), told(kBool || kComplex, "max", "integers and floats"));
  EXPECT_EQ(message([&](const Place& y) { AtomicAnd(y, one); }), told(kFloat || kComplex, "and", "integers and bools"));
  EXPECT_EQ(message([&](const Place& y) { AtomicOr(y, one); }), told(kFloat || kComplex, "or", "integers and bools"));
  EXPECT_EQ(message([&](const Place& y) { AtomicXor(y, one); }), told(kFloat || kComplex, "xor", "integers and bools"));
  EXPECT_EQ(message([&](const Place& y) { AtomicExchange(y, one); }), told(kComplex, "exchange", ""));
  EXPECT_EQ(message([&](const Place& y) { AtomicCompareExchange(y, one, one); }),
            told(kComplex, "compare_exchange", ""));
  EXPECT_EQ(message([&](const Place& y) { AtomicIncrement(y, one); }), told(true, "increment", "uint32 only"));
  EXPECT_EQ(message([&](const Place& y) { AtomicDecrement(y, one); }), told(true, "decrement", "uint32 only"));
}

TEST_F(Memory, CompareExchangeOfBools) {
  auto kernel = MakeKernel("cas", [](ArrayVar<bool, 1> flags, ArrayVar<bool, 1> was) {
    was[0] = AtomicCompareExchange(flags[0], true, true);
    was[1] = AtomicCompareExchange(flags[1], false, true);
    was[2] = AtomicCompareExchange(flags[2], true, false);
  });
  auto flags = Array<bool, 1>::From(device, std::vector<bool>{false, false, true}).value();
  auto was = Array<bool, 1>::From(device, std::vector<bool>{true, true, false}).value();
  ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {1}, .block = {1}}, flags, was), absl::OkStatus());
  ASSERT_EQ(stream.Synchronize(), absl::OkStatus());
  std::array<bool, 3> now, before;
  ASSERT_EQ(AnyArray(flags).CopyTo(now.data()), absl::OkStatus());
  ASSERT_EQ(AnyArray(was).CopyTo(before.data()), absl::OkStatus());
  EXPECT_THAT(now, testing::ElementsAre(false, true, false));
  EXPECT_THAT(before, testing::ElementsAre(false, false, true));
}

TEST_F(Memory, IncrementAndDecrementWrap) {
  auto kernel = MakeKernel("wrap", [](ArrayVar<uint32_t, 1> y) {
    AtomicIncrement(y[0], 9);
    AtomicDecrement(y[1], 9);
  });
  auto y = Make(std::vector<uint32_t>{7, 3});
  ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {1}, .block = {5}}, y), absl::OkStatus());
  uint32_t up = 7, down = 3;
  for (int i = 0; i < 5; ++i) {
    up = up >= 9 ? 0 : up + 1;
    down = down == 0 || down > 9 ? 9 : down - 1;
  }
  EXPECT_THAT(Read(y), testing::ElementsAre(up, down));
}

// Every order and scope, in the PTX's own words.
TEST_F(Memory, OrdersAndScopesReachThePtx) {
  auto kernel = MakeKernel("orders", [](ArrayVar<int32_t, 1> y) {
    AtomicAdd(y[0], 1, MemoryOrder::kRelaxed, MemoryScope::kBlock);
    AtomicAdd(y[0], 1, MemoryOrder::kRelaxed, MemoryScope::kSystem);
    AtomicAdd(y[0], 1, MemoryOrder::kAcquire);
    AtomicExchange(y[4], 6, MemoryOrder::kSequential);
    Expr<int32_t> flag = Load(y[1], MemoryAccess::Acquire());
    Store(y[2], flag, MemoryAccess::Release(MemoryScope::kSystem));
    Store(y[3], Load(y[3], MemoryAccess::Volatile()) + 1, MemoryAccess::Volatile());
    Fence(MemoryScope::kSystem);
  });
  const std::string ptx = kernel.Inspect(device).value().ptx;
  for (const char* wanted : {"atom.relaxed.cta.global.add.s32", "atom.relaxed.sys.global.add.s32",
                             "atom.acquire.gpu.global.add.s32", "fence.sc.gpu; atom.acquire.gpu.global.exch.b32",
                             "ld.acquire.gpu", "st.release.sys", "ld.volatile", "st.volatile", "membar.sys"}) {
    EXPECT_THAT(ptx, HasSubstr(wanted));
  }
  auto y = Make(std::vector<int32_t>{0, 5, 0, 8, 0});
  ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {1}, .block = {1}}, y), absl::OkStatus());
  EXPECT_THAT(Read(y), testing::ElementsAre(3, 5, 5, 9, 6));
}

// A message passed from block to block: flags with release and acquire. Blocks start in index order.
TEST_F(Memory, BlocksPassAMessage) {
  auto kernel = MakeKernel("relay", [](ArrayVar<int32_t, 1> flags, ArrayVar<int64_t, 1> data) {
    Expr<int64_t> b = Cast<int64_t>(BlockIndex());
    If(b > 0, [&] {
      While([&] { return Load(flags[b - 1], MemoryAccess::Acquire()) == 0; }, [&] {});
      data[b] = data[b - 1] * 3 + b;
    }).Else([&] { data[b] = 1; });
    Store(flags[b], 1, MemoryAccess::Release());
  });
  const int n = 30;
  auto flags = Make(std::vector<int32_t>(n));
  auto data = Make(std::vector<int64_t>(n));
  ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {n}, .block = {1}}, flags, data), absl::OkStatus());
  std::vector<int64_t> want = {1};
  for (int i = 1; i < n; ++i) want.push_back(want.back() * 3 + i);
  EXPECT_EQ(Read(data), want);
}

// Groups of neighbouring elements, and hints to the caches, of every dtype.
template <class T>
class Groups : public RunFixture {};
using Elements = testing::Types<int8_t, uint16_t, int32_t, float16, bfloat16, float, double, complex64>;
TYPED_TEST_SUITE(Groups, Elements);

template <class T, int N>
void CheckGroups(const Device& device, const Stream& stream) {
  constexpr Layout kDense = Layout::kContiguous;
  auto kernel = MakeKernel("groups", [](ArrayVar<T, 1, kDense> out, ArrayVar<const T, 1, kDense> in) {
    For(GridStride(out.size() / N), [&](Expr<int64_t> i) {
      const CacheHint hint = N == 2 ? CacheHint::kStreaming : CacheHint::kNone;
      auto values = LoadVector<N>(in[N * i], hint);
      const auto turned = [&]<size_t... K>(std::index_sequence<K...>) {
        return std::array<Expr<T>, N>{values[N - 1 - K]...};
      }
      (std::make_index_sequence<N>());
      StoreVector(out[N * i], turned, hint);
    });
  });
  ASSERT_EQ(kernel.status(), absl::OkStatus());
  const int64_t n = 64;
  std::vector<T> host(n), want(n);
  for (int i = 0; i < n; ++i) host[i] = Of<T>(i + 1);
  for (int i = 0; i < n; ++i) want[i] = host[i / N * N + N - 1 - i % N];
  auto in = Array<T, 1>::From(device, host).value();
  auto out = Array<T, 1>::Zeros(device, n).value();
  ASSERT_EQ(kernel(stream, ForSize(n / N), out.AsContiguous().value(), in.AsContiguous().value()), absl::OkStatus());
  ASSERT_EQ(stream.Synchronize(), absl::OkStatus());
  EXPECT_EQ(AnyArray(out).ToVector<T>().value(), want) << N;
  const std::string ptx = kernel.Inspect(device).value().ptx;
  EXPECT_THAT(ptx, testing::AnyOf(HasSubstr(".v2."), HasSubstr(".v4."), HasSubstr(".b32"), HasSubstr(".b64"),
                                  HasSubstr(".b16")));
}

TYPED_TEST(Groups, OfEverySize) {
  using T = TypeParam;
  CheckGroups<T, 2>(this->device, this->stream);
  if constexpr (sizeof(T) <= 4) CheckGroups<T, 4>(this->device, this->stream);
  if constexpr (sizeof(T) <= 2) CheckGroups<T, 8>(this->device, this->stream);
  if constexpr (sizeof(T) <= 1) CheckGroups<T, 16>(this->device, this->stream);
}

TYPED_TEST(Groups, HintsOfSingleElements) {
  using T = TypeParam;
  auto kernel = MakeKernel("hints", [](ArrayVar<T, 1> out, ArrayVar<const T, 1> in) {
    For(GridStride(in.size()), [&](Expr<int64_t> i) {
      Store(out[5 * i], Load(in[i], MemoryAccess::ReadOnly()), {});
      Store(out[5 * i + 1], Load(in[i], MemoryAccess::Cached(CacheHint::kStreaming)),
            MemoryAccess::Cached(CacheHint::kStreaming));
      Store(out[5 * i + 2], Load(in[i], MemoryAccess::Cached(CacheHint::kCacheGlobal)),
            MemoryAccess::Cached(CacheHint::kCacheGlobal));
      Store(out[5 * i + 3], Load(in[i], MemoryAccess::Cached(CacheHint::kLastUse)),
            MemoryAccess::Cached(CacheHint::kWriteThrough));
      Store(out[5 * i + 4], in[i], {});
    });
  });
  ASSERT_EQ(kernel.status(), absl::OkStatus());
  std::vector<T> host(20), want(100);
  for (int i = 0; i < 20; ++i) host[i] = Of<T>(3 * i + 1);
  for (int i = 0; i < 100; ++i) want[i] = host[i / 5];
  auto in = this->Make(host), out = this->Make(std::vector<T>(100));
  ASSERT_EQ(kernel(this->stream, ForSize(20), out, in), absl::OkStatus());
  EXPECT_EQ(this->Read(out), want);
  const std::string ptx = kernel.Inspect(this->device).value().ptx;
  for (const char* wanted : {"ld.global.nc", "ld.global.cs", "ld.global.cg", "ld.global.lu", "st.global.cs",
                             "st.global.cg", "st.global.wt"}) {
    EXPECT_THAT(ptx, HasSubstr(wanted));
  }
}

}  // namespace
}  // namespace slipway
