// Control flow, functions, structs and messages of embedded kernels, compared with plain host loops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "slipway/slipway.h"
#include "tests/embedded/run_fixture.h"

namespace slipway {
namespace {

using testing::HasSubstr;

class Structure : public RunFixture {};

// Collatz steps, with a bound: a While that is left early and turns that are cut short.
TEST_F(Structure, BreakAndContinue) {
  auto kernel = MakeKernel("collatz", [](ArrayVar<int32_t, 1> steps, ArrayVar<int32_t, 1> odd) {
    For(GridStride(steps.size()), [&](Expr<int64_t> i) {
      Var<int64_t> n = i + 1;
      Var<int32_t> count = 0, odds = 0;
      While([&] { return n > 1; },
            [&] {
              If(count >= 50, [&] { Break(); });
              count += 1;
              If(n % 2 == 0, [&] {
                n = n / 2;
                Continue();
              });
              odds += 1;
              n = 3 * n + 1;
            });
      steps[i] = count;
      odd[i] = odds;
    });
  });
  const int n = 300;
  auto steps = Make(std::vector<int32_t>(n)), odd = Make(std::vector<int32_t>(n));
  ASSERT_EQ(kernel(stream, ForSize(n), steps, odd), absl::OkStatus());
  std::vector<int32_t> want_steps, want_odd;
  for (int i = 0; i < n; ++i) {
    int64_t value = i + 1;
    int32_t count = 0, odds = 0;
    while (value > 1) {
      if (count >= 50) break;
      ++count;
      if (value % 2 == 0) {
        value /= 2;
        continue;
      }
      ++odds;
      value = 3 * value + 1;
    }
    want_steps.push_back(count), want_odd.push_back(odds);
  }
  EXPECT_EQ(Read(steps), want_steps);
  EXPECT_EQ(Read(odd), want_odd);
}

// In a For the next turn still advances its variable, upwards and downwards.
TEST_F(Structure, ContinueAdvancesAFor) {
  auto kernel = MakeKernel("sums", [](ArrayVar<int64_t, 1> out) {
    Var<int64_t> up = 0, down = 0;
    For(Range(0, 20), [&](Expr<int64_t> i) {
      If(i % 3 == 0, [&] { Continue(); });
      If(i > 14, [&] { Break(); });
      up += i;
    });
    For(Range(20, 0, -3), [&](Expr<int64_t> i) {
      If(i % 2 == 0, [&] { Continue(); });
      down = down * 100 + i;
    });
    out[0] = up;
    out[1] = down;
  });
  auto out = Make(std::vector<int64_t>(2));
  ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {1}, .block = {1}}, out), absl::OkStatus());
  EXPECT_THAT(Read(out), testing::ElementsAre(1 + 2 + 4 + 5 + 7 + 8 + 10 + 11 + 13 + 14, 171105));
}

TEST_F(Structure, LoopsUnrollAsAsked) {
  const auto ptx = [&](uint32_t count) {
    auto kernel = MakeKernel("sum", [count](ArrayVar<float, 1> out, ArrayVar<const float, 1> x) {
      Var<float> sum = 0.0f;
      For(Range(0, x.size()).Unroll(count), [&](Expr<int64_t> i) { sum = sum * 0.5f + x[i]; });
      out[0] = sum;
    });
    return kernel.Inspect(device).value().ptx;
  };
  const auto loads = [](const std::string& text) {
    int count = 0;
    for (size_t at = text.find("ld.global"); at != std::string::npos; at = text.find("ld.global", at + 1)) ++count;
    return count;
  };
  EXPECT_GE(loads(ptx(0)), 1);  // As the compiler sees fit.
  EXPECT_EQ(loads(ptx(1)), 1);
  EXPECT_THAT(ptx(1), HasSubstr(".pragma \"nounroll\""));
  EXPECT_GE(loads(ptx(4)), 4);
  for (uint32_t count : {0u, 1u, 3u, 4u}) {
    auto kernel = MakeKernel("sum", [count](ArrayVar<float, 1> out, ArrayVar<const float, 1> x) {
      Var<float> sum = 0.0f;
      For(Range(0, x.size()).Unroll(count), [&](Expr<int64_t> i) { sum = sum * 0.5f + x[i]; });
      out[0] = sum;
    });
    std::vector<float> host(11);
    float want = 0;
    for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<float>(i), want = want * 0.5f + host[i];
    auto out = Make(std::vector<float>(1)), x = Make(host);
    ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {1}, .block = {1}}, out, x), absl::OkStatus());
    EXPECT_EQ(Read(out)[0], want) << count;
  }
}

// Functions.

TEST_F(Structure, FunctionsHaveSeveralResultsAndReturnEarly) {
  const DeviceFunction divmod("divmod", [](auto a, auto b) { return std::tuple(floor_div(a, b), floor_mod(a, b)); });
  const DeviceFunction clamp("clamp", [](Expr<int32_t> x, Expr<int32_t> low, Expr<int32_t> high) {
    If(x < low, [&] { Return(low); });
    If(x > high, [&] { Return(high); });
    return x;
  });
  const DeviceFunction first_square("first_square", [](Expr<int64_t> from) {
    Var<int64_t> found = -1;
    For(Range(from, from + 1000), [&](Expr<int64_t> i) {
      Expr<int64_t> root = Cast<int64_t>(rint(sqrt(Cast<double>(i))));
      If(root * root == i, [&] { Return(i); });  // Out of a loop of the function.
    });
    return Expr<int64_t>(found);
  });
  auto kernel = MakeKernel("calls", [&](ArrayVar<int64_t, 2> out) {
    For(GridStride(out.shape(0)), [&](Expr<int64_t> i) {
      auto [quotient, remainder] = divmod(i - 50, 7);
      out(i, 0) = quotient;
      out(i, 1) = remainder;
      auto [narrow, rest] = divmod(Cast<int16_t>(i), Cast<int16_t>(3));
      static_assert(std::is_same_v<decltype(narrow), Expr<int16_t>>);
      out(i, 2) = narrow * 100 + rest;
      out(i, 3) = clamp(Cast<int32_t>(i), 10, 20);
      out(i, 4) = first_square(i);
    });
  });
  ASSERT_EQ(kernel.status(), absl::OkStatus());
  const int64_t n = 100;
  auto out = Array<int64_t, 2>::Zeros(device, {n, 5}).value();
  ASSERT_EQ(kernel(stream, ForSize(n), out), absl::OkStatus());
  ASSERT_EQ(stream.Synchronize(), absl::OkStatus());
  const std::vector<int64_t> got = AnyArray(out).ToVector<int64_t>().value();
  for (int64_t i = 0; i < n; ++i) {
    const int64_t a = i - 50;
    const int64_t quotient = a / 7 - (a % 7 != 0 && a < 0), remainder = a - quotient * 7;
    int64_t square = 0;
    while (square * square < i) ++square;
    const std::vector<int64_t> want = {quotient, remainder, i / 3 * 100 + i % 3,
                                       i < 10   ? 10
                                       : i > 20 ? 20
                                                : i,
                                       square * square};
    EXPECT_EQ(std::vector<int64_t>(got.begin() + 5 * i, got.begin() + 5 * i + 5), want) << i;
  }
}

TEST_F(Structure, FunctionsWithoutResults) {
  const DeviceFunction mark("mark", [](ArrayVar<int32_t, 1> out, Expr<int64_t> i) {
    If(i % 2 == 0, [&] { Return(); });
    out[i] = 7;
  });
  auto kernel = MakeKernel("marks", [&](ArrayVar<int32_t, 1> out) {
    Expr<int64_t> i = GlobalIndex();
    If(i >= out.size(), [&] { Return(); });  // The thread's.
    mark(out, i);
    out[i] = out[i] + 1;
  });
  auto out = Make(std::vector<int32_t>(5));
  ASSERT_EQ(kernel(stream, ForSize(5), out), absl::OkStatus());
  EXPECT_THAT(Read(out), testing::ElementsAre(1, 8, 1, 8, 1));
}

TEST_F(Structure, ExitEndsTheThreadFromAFunction) {
  const DeviceFunction stop("stop", [](Expr<int64_t> i) { If(i == 2, [&] { Exit(); }); });
  auto kernel = MakeKernel("exits", [&](ArrayVar<int32_t, 1> out) {
    stop(GlobalIndex());
    out[GlobalIndex()] = 1;
  });
  auto out = Make(std::vector<int32_t>(4));
  ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {1}, .block = {4}}, out), absl::OkStatus());
  EXPECT_THAT(Read(out), testing::ElementsAre(1, 1, 0, 1));
}

TEST_F(Structure, RecursionIsRefused) {
  std::function<Expr<int64_t>(Expr<int64_t>)> again;
  const DeviceFunction factorial("factorial", [&](Expr<int64_t> n) { return n * again(n - 1); });
  again = [&](Expr<int64_t> n) { return factorial(n); };
  auto kernel = MakeKernel("k", [&](ArrayVar<int64_t, 1> y) { y[0] = factorial(y[0]); });
  EXPECT_EQ(kernel.status().message(),
            "kernel 'k': function 'factorial' calls itself; kernels have no recursion: write a loop, with a stack of "
            "its own in a local array if it needs one");
  const DeviceFunction even("even", [&](Expr<int64_t> n) { return again(n); });
  const DeviceFunction odd("odd", [&](Expr<int64_t> n) { return even(n - 1); });
  again = [&](Expr<int64_t> n) { return odd(n); };
  auto circle = MakeKernel("k", [&](ArrayVar<int64_t, 1> y) { y[0] = even(y[0]); });
  EXPECT_THAT(std::string(circle.status().message()), HasSubstr("function 'even' calls itself through others"));
}

TEST_F(Structure, MistakesOfFunctions) {
  auto outside = MakeKernel("k", [](ArrayVar<int64_t, 1> y) { Return(Expr<int64_t>(y[0])); });
  EXPECT_THAT(std::string(outside.status().message()), HasSubstr("a value is returned outside of any function"));
  const DeviceFunction uneven("uneven", [](Expr<int64_t> n) {
    If(n == 0, [&] { Return(n, n); });
    return n;
  });
  auto other = MakeKernel("k", [&](ArrayVar<int64_t, 1> y) { y[0] = uneven(y[0]); });
  EXPECT_THAT(std::string(other.status().message()),
              HasSubstr("function 'uneven' returns 1 values here and 2 elsewhere"));
}

// Structs.

TEST_F(Structure, StructParameters) {
  struct Flat {
    int8_t a;
    double b;
    int16_t c;
    float d[3];
    bool e;
  };
  auto kernel = MakeKernel("structs", [](ArrayVar<double, 1> out, StructVar<Flat> s, Var<int8_t> after) {
    out[0] = s.Get(&Flat::a);
    out[1] = s.Get(&Flat::b);
    out[2] = s.Get(&Flat::c);
    out[3] = s.Get(&Flat::d, 2);
    out[4] = Select(s.Get(&Flat::e), 1, 0);
    out[5] = after;
  });
  ASSERT_EQ(kernel.status(), absl::OkStatus());
  auto out = Make(std::vector<double>(6));
  const Flat flat = {-3, 1.5, 300, {1, 2, 0.25f}, true};
  ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {1}, .block = {1}}, out, flat, int8_t{-9}), absl::OkStatus());
  EXPECT_THAT(Read(out), testing::ElementsAre(-3, 1.5, 300, 0.25, 1, -9));
}

// Messages.

TEST_F(Structure, PrintfPrintsWhatTheHostWould) {
  auto kernel = MakeKernel("prints", [](Var<int64_t> big, Var<uint8_t> small, Var<float> real, Var<bool> flag) {
    Printf("%d|%5u|%-6.2f|%x|%d%%|%c\n", big, small, real, big, flag, Cast<int32_t>(Expr<int64_t>(65)));
    Printf("done\n");
  });
  ASSERT_EQ(kernel.status(), absl::OkStatus());
  testing::internal::CaptureStdout();
  ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {1}, .block = {1}}, int64_t{-1} << 40, uint8_t{200}, 1.5f, true),
            absl::OkStatus());
  ASSERT_EQ(stream.Synchronize(), absl::OkStatus());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "-1099511627776|  200|1.50  |ffffff0000000000|1%|A\ndone\n");
}

TEST_F(Structure, AssertionsAndTraps) {
  auto kernel = MakeKernel("asserts", [](ArrayVar<int32_t, 1> y, Var<int32_t> limit) {
    Assert(GlobalIndex() < limit, "index below the limit");
    y[GlobalIndex()] = 1;
  });
  auto y = Make(std::vector<int32_t>(64));
  ASSERT_EQ(kernel(stream, LaunchConfig{.grid = {1}, .block = {64}}, y, 64), absl::OkStatus());
  EXPECT_EQ(Read(y), std::vector<int32_t>(64, 1));
  EXPECT_THAT(kernel.Inspect(device).value().ptx, HasSubstr("__assertfail"));
  auto trap = MakeKernel("traps", [](ArrayVar<int32_t, 1> y) { If(y[0] == 5, [&] { Trap(); }); });
  ASSERT_EQ(trap(stream, LaunchConfig{.grid = {1}, .block = {1}}, y), absl::OkStatus());
  EXPECT_EQ(stream.Synchronize(), absl::OkStatus());
}

// The line is told whether or not PTX has lines, and never that of a kernel that is otherwise the same.
TEST_F(Structure, AssertionsTellTheirLine) {
  const int first = __LINE__ + 1;
  auto one = MakeKernel("lined", [](ArrayVar<int32_t, 1> y) { Assert(y[0] == 5, "five"); });
  auto other = MakeKernel("lined", [](ArrayVar<int32_t, 1> y) { Assert(y[0] == 5, "five"); });
  // The third parameter of __assertfail(message, file, line, function, size of a character).
  EXPECT_THAT(one.Inspect(device).value().ptx, HasSubstr("[param2], " + std::to_string(first) + ";"));
  EXPECT_THAT(other.Inspect(device).value().ptx, HasSubstr("[param2], " + std::to_string(first + 1) + ";"));
}

TEST_F(Structure, BoundsReachThePtx) {
  auto kernel = MakeKernel("bounded", [](ArrayVar<int32_t, 1> y) {
    Bounds({.max_threads = 128, .min_blocks = 2, .max_registers = 40});
    y[GlobalIndex()] = 1;
  });
  const std::string ptx = kernel.Inspect(device).value().ptx;
  EXPECT_THAT(ptx, HasSubstr(".maxntid 128"));
  EXPECT_THAT(ptx, HasSubstr(".minnctapersm 2"));
  EXPECT_THAT(ptx, HasSubstr(".maxnreg 40"));
  auto y = Make(std::vector<int32_t>(256));
  EXPECT_EQ(kernel(stream, LaunchConfig{.grid = {2}, .block = {128}}, y), absl::OkStatus());
  EXPECT_NE(kernel(stream, LaunchConfig{.grid = {1}, .block = {256}}, y), absl::OkStatus());
  EXPECT_EQ(Read(y), std::vector<int32_t>(256, 1));
}

}  // namespace
}  // namespace slipway
