// What threads of embedded kernels do together, compared with plain host loops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "slipway/slipway.h"
#include "tests/embedded/run_fixture.h"

namespace slipway {
namespace {

using testing::HasSubstr;

class Threads : public RunFixture {};

// Values that tell lanes apart in all bytes of their type.
template <class T>
T LaneValue(int lane) {
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return T(static_cast<float>(lane) - 7.5f);
  } else if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
    return T(lane + 0.25, -3 * lane);
  } else if constexpr (std::is_same_v<T, bool>) {
    return (lane * 5 & 2) != 0;
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(lane) * static_cast<T>(1.3) - 4;
  } else {
    return static_cast<T>(static_cast<uint64_t>(lane + 1) * 0x0123456789abcdefu);
  }
}

template <class T>
class Shuffles : public RunFixture {};
using AllTypes = testing::Types<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, float16,
                                bfloat16, float, double, complex64, complex128>;
TYPED_TEST_SUITE(Shuffles, AllTypes);

TYPED_TEST(Shuffles, MoveEveryTypeInGroupsOfEveryWidth) {
  using T = TypeParam;
  for (int width : {32, 8, 1}) {
    auto kernel = MakeKernel("shuffles", [width](ArrayVar<T, 2> out, ArrayVar<const T, 1> x) {
      Expr<int64_t> i = Cast<int64_t>(ThreadIndex());
      Expr<T> value = x[i];
      out(0, i) = WarpShuffle(value, (i * 5 + 3) % 32, width);
      out(1, i) = WarpShuffleUp(value, 3, width);
      out(2, i) = WarpShuffleDown(value, 2, width);
      out(3, i) = WarpShuffleXor(value, 5, width);
    });
    ASSERT_EQ(kernel.status(), absl::OkStatus());
    const int n = 64;  // Two warps.
    std::unique_ptr<T[]> host(new T[n]);
    for (int i = 0; i < n; ++i) host[i] = LaneValue<T>(i);
    auto x = Array<T, 1>::From(this->device, absl::MakeConstSpan(host.get(), n)).value();
    auto out = Array<T, 2>::Zeros(this->device, {4, n}).value();
    ASSERT_EQ(kernel(this->stream, LaunchConfig{.grid = {1}, .block = {n}}, out, x), absl::OkStatus());
    ASSERT_EQ(this->stream.Synchronize(), absl::OkStatus());
    std::unique_ptr<T[]> got(new T[4 * n]);
    ASSERT_EQ(AnyArray(out).CopyTo(got.get()), absl::OkStatus());
    for (int i = 0; i < n; ++i) {
      const int lane = i % 32, first = lane / width * width, last = first + width - 1;
      const int index = first + (i * 5 + 3) % 32 % width;
      const int up = lane - 3 < first ? lane : lane - 3, down = lane + 2 > last ? lane : lane + 2;
      const int flipped = (lane ^ 5) > last ? lane : lane ^ 5;
      const int from[] = {index, up, down, flipped};
      for (int k = 0; k < 4; ++k) {
        EXPECT_EQ(std::memcmp(&got[k * n + i], &host[i / 32 * 32 + from[k]], sizeof(T)), 0)
            << "width " << width << ", operation " << k << ", thread " << i;
      }
    }
  }
}

TEST_F(Threads, Votes) {
  auto kernel = MakeKernel("votes", [](ArrayVar<uint32_t, 2> out, ArrayVar<const int32_t, 1> x, Var<uint32_t> mask) {
    Expr<int64_t> i = Cast<int64_t>(ThreadIndex());
    Expr<int32_t> value = x[i];
    out(0, i) = Select(WarpAll(value > 0), 1, 0);
    out(1, i) = Select(WarpAny(value > 8), 1, 0);
    out(2, i) = Select(WarpUniform(value > 5), 1, 0);
    out(3, i) = WarpBallot(value % 3 == 0);
    out(4, i) = WarpMatchAny(value % 4);
    out(5, i) = WarpMatchAll(value / 100);
    out(6, i) = WarpMatchAny(Cast<double>(value % 2));
    If((LanesBelow() & 1) != 0 && i % 32 < 20, [&] {  // Lanes 1 to 19.
      out(7, i) = WarpBallot(value > 4, mask);
      out(8, i) = WarpReduceAdd(Cast<uint32_t>(value), mask);
      SyncWarp(mask);
    });
    out(9, i) = LanesBelow() + 2 * LaneIndex();
  });
  ASSERT_EQ(kernel.status(), absl::OkStatus());
  const int n = 64;
  std::vector<int32_t> host(n);
  for (int i = 0; i < n; ++i) host[i] = i < 32 ? i % 10 : 6 + i % 3;
  const uint32_t mask = 0xffffeu;
  auto out = Array<uint32_t, 2>::Zeros(device, {10, n}).value();
  ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {1}, .block = {n}}, out, Make(host), mask), absl::OkStatus());
  ASSERT_EQ(stream.Synchronize(), absl::OkStatus());
  const std::vector<uint32_t> got = AnyArray(out).ToVector<uint32_t>().value();
  for (int i = 0; i < n; ++i) {
    const int w = i / 32 * 32, lane = i % 32;
    uint32_t all = 1, any = 0, above = 0, ballot = 0, match = 0, match_all = 1, match_real = 0, part = 0, sum = 0;
    for (int k = 0; k < 32; ++k) {
      const int32_t v = host[w + k];
      all &= v > 0, any |= v > 8, above += v > 5;
      ballot |= (v % 3 == 0 ? 1u : 0u) << k;
      match |= (v % 4 == host[i] % 4 ? 1u : 0u) << k;
      match_all &= v / 100 == host[i] / 100;
      match_real |= (v % 2 == host[i] % 2 ? 1u : 0u) << k;
      if (k >= 1 && k < 20) part |= (v > 4 ? 1u : 0u) << k, sum += static_cast<uint32_t>(v);
    }
    const bool inside = lane >= 1 && lane < 20;
    const uint32_t want[] = {all,
                             any,
                             above == 0 || above == 32,
                             ballot,
                             match,
                             match_all ? ~0u : 0,
                             match_real,
                             inside ? part : 0,
                             inside ? sum : 0,
                             ((1u << lane) - 1) + 2u * lane};
    for (int k = 0; k < 10; ++k) EXPECT_EQ(got[k * n + i], want[k]) << "row " << k << ", thread " << i;
  }
}

template <class T>
class Reductions : public RunFixture {};
using Numbers = testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, float16,
                               bfloat16, float, double>;
TYPED_TEST_SUITE(Reductions, Numbers);

// Of the whole warp, and of lanes that a mask names.
TYPED_TEST(Reductions, OfAWarp) {
  using T = TypeParam;
  auto kernel = MakeKernel("reduce", [](ArrayVar<T, 2> out, ArrayVar<const T, 1> x, Var<uint32_t> mask) {
    Expr<int64_t> i = Cast<int64_t>(ThreadIndex());
    Expr<T> value = x[i];
    out(0, i) = WarpReduceAdd(value);
    out(1, i) = WarpReduceMin(value);
    out(2, i) = WarpReduceMax(value);
    If(((mask >> LaneIndex()) & 1) != 0, [&] {
      out(3, i) = WarpReduceAdd(value, mask);
      out(4, i) = WarpReduceMin(value, mask);
      out(5, i) = WarpReduceMax(value, mask);
    });
  });
  ASSERT_EQ(kernel.status(), absl::OkStatus());
  const int n = 32;
  const uint32_t mask = 0x2480f0u;
  std::vector<double> numbers(n);
  std::vector<T> host(n);
  for (int i = 0; i < n; ++i) {
    numbers[i] = std::is_unsigned_v<T> ? i * 13 % 7 : i * 13 % 7 - 3;  // Sums are exact in every type.
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
      host[i] = T(static_cast<float>(numbers[i]));
    } else {
      host[i] = static_cast<T>(numbers[i]);
    }
  }
  auto out = Array<T, 2>::Zeros(this->device, {6, n}).value();
  ASSERT_EQ(kernel(this->stream, LaunchConfig{.grid = {1}, .block = {n}}, out, this->Make(host), mask),
            absl::OkStatus());
  ASSERT_EQ(this->stream.Synchronize(), absl::OkStatus());
  const std::vector<T> got = AnyArray(out).template ToVector<T>().value();
  const auto number = [](T value) {
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
      return static_cast<double>(static_cast<float>(value));
    } else {
      return static_cast<double>(value);
    }
  };
  double want[6] = {0, 1e9, -1e9, 0, 1e9, -1e9};
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < 6; k += 3) {
      if (k == 3 && (mask >> i & 1) == 0) continue;
      want[k] += numbers[i];
      want[k + 1] = std::min(want[k + 1], numbers[i]);
      want[k + 2] = std::max(want[k + 2], numbers[i]);
    }
  }
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < 6; ++k) {
      const bool takes_part = k < 3 || (mask >> i & 1) != 0;
      EXPECT_EQ(number(got[k * n + i]), takes_part ? want[k] : 0) << "row " << k << ", lane " << i;
    }
  }
}

TEST_F(Threads, BitReductions) {
  auto kernel = MakeKernel("bits", [](ArrayVar<uint64_t, 1> out, ArrayVar<const uint64_t, 1> x) {
    Expr<uint64_t> wide = x[ThreadIndex()];
    Expr<uint8_t> narrow = Cast<uint8_t>(wide);
    out[0] = WarpReduceAnd(wide);
    out[1] = WarpReduceOr(wide);
    out[2] = WarpReduceXor(wide);
    out[3] = WarpReduceAnd(narrow);
    out[4] = WarpReduceXor(narrow);
    out[5] = Select(WarpReduceAnd(wide != 0), 1, 0) + Select(WarpReduceOr(wide == 0), 1, 0);
  });
  std::vector<uint64_t> host(32), want = {~uint64_t{0}, 0, 0, 255, 0, 1};
  for (int i = 0; i < 32; ++i) {
    host[i] = static_cast<uint64_t>(i + 1) * 0x9e3779b97f4a7c15 | 0x1000000000000011;
    want[0] &= host[i], want[1] |= host[i], want[2] ^= host[i];
    want[3] &= host[i] & 255, want[4] ^= host[i] & 255;
  }
  auto out = Make(std::vector<uint64_t>(6));
  ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {1}, .block = {32}}, out, Make(host)), absl::OkStatus());
  EXPECT_EQ(Read(out), want);
}

TEST_F(Threads, BarriersReduceAndCount) {
  auto kernel = MakeKernel("barriers", [](ArrayVar<uint32_t, 2> out, ArrayVar<const int32_t, 1> x) {
    Expr<uint32_t> i = ThreadIndex();
    Expr<int32_t> value = x[i];
    out(0, i) = Select(SyncThreadsAll(value >= 0), 1, 0);
    out(1, i) = Select(SyncThreadsAny(value == 77), 1, 0);
    out(2, i) = SyncThreadsCount(value % 2 == 0);
    // Two pairs of warps, each at a barrier of its own.
    auto box = SharedArray<uint32_t>(128);
    box[i] = 100 * i;
    If(i < 64, [&] { SyncThreads(1, 64); }).Else([&] { SyncThreads(2, 64); });
    out(3, i) = box[i ^ 32];
  });
  ASSERT_EQ(kernel.status(), absl::OkStatus());
  std::vector<int32_t> host(128);
  for (int i = 0; i < 128; ++i) host[i] = i * 3;
  auto out = Array<uint32_t, 2>::Zeros(device, {4, 128}).value();
  ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {1}, .block = {128}}, out, Make(host)), absl::OkStatus());
  ASSERT_EQ(stream.Synchronize(), absl::OkStatus());
  const std::vector<uint32_t> got = AnyArray(out).ToVector<uint32_t>().value();
  for (uint32_t i = 0; i < 128; ++i) {
    EXPECT_EQ(got[i], 1u);
    EXPECT_EQ(got[128 + i], 0u);
    EXPECT_EQ(got[256 + i], 64u);
    EXPECT_EQ(got[384 + i], 100 * (i ^ 32));
  }
}

// Blocks of a grid exchange, meet, and read what the others wrote, several times.
TEST_F(Threads, GridsMeet) {
  auto kernel = MakeKernel("rounds", [](ArrayVar<int64_t, 2> cells) {
    Expr<int64_t> i = GlobalIndex(), n = cells.shape(1);
    For(Range(0, 5), [&](Expr<int64_t> round) {
      Expr<int64_t> from = round % 2, to = 1 - from;
      cells(to, i) = cells(from, (i + 1) % n) * 2 + cells(from, (i + n - 17) % n);
      SyncGrid();
    });
  });
  ASSERT_EQ(kernel.status(), absl::OkStatus());
  const int blocks = 4, threads = 32, n = blocks * threads;
  std::vector<int64_t> host(2 * n);
  for (int i = 0; i < n; ++i) host[i] = i;
  auto cells = Array<int64_t, 2>::From(device, host, {2, n}).value();
  ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {blocks}, .block = {threads}, .cooperative = true}, cells),
            absl::OkStatus());
  ASSERT_EQ(stream.Synchronize(), absl::OkStatus());
  for (int round = 0; round < 5; ++round) {
    const int from = round % 2 * n, to = n - from;
    for (int i = 0; i < n; ++i) host[to + i] = host[from + (i + 1) % n] * 2 + host[from + (i + n - 17) % n];
  }
  EXPECT_EQ(AnyArray(cells).ToVector<int64_t>().value(), host);
}

TEST_F(Threads, GridsThatDoNotRunAtOnceDoNotMeet) {
  auto kernel = MakeKernel("meet", [](ArrayVar<int32_t, 1> cells) {
    SyncGrid();
    cells[0] = 1;
  });
  auto cells = Make<int32_t>({0});
  EXPECT_THAT(std::string(kernel(stream, ForSize(1), cells).message()),
              HasSubstr("kernel 'meet': all threads of its grid wait for each other (SyncGrid), which only those of a "
                        "cooperative launch can; set LaunchConfig::cooperative"));
  EXPECT_EQ(Read(cells)[0], 0);
}

TEST_F(Threads, RegistersAndRest) {
  auto kernel = MakeKernel("registers", [](ArrayVar<uint64_t, 1> out) {
    Expr<uint64_t> begin = Clock();
    Expr<uint64_t> time = GlobalTimer();
    out[0] = MultiprocessorIndex();
    out[1] = MultiprocessorCount();
    out[2] = DynamicSharedBytes();
    Sleep(1000);
    out[3] = Select(Clock() >= begin && GlobalTimer() >= time, 1, 0);
    out[4] = ActiveLanes();
    out[5] = LanesAbove();
  });
  ASSERT_EQ(kernel.status(), absl::OkStatus());
  auto out = Make(std::vector<uint64_t>(6));
  ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {1}, .block = {1}, .shared_bytes = 48}, out), absl::OkStatus());
  const std::vector<uint64_t> got = Read(out);
  EXPECT_LT(got[0], got[1]);
  EXPECT_EQ(got[2], 48u);
  EXPECT_EQ(got[3], 1u);
  EXPECT_EQ(got[4], 1u);
  EXPECT_EQ(got[5], 0xfffffffeu);
}

}  // namespace
}  // namespace slipway
