// Numbers of the host program that an embedded kernel's function captures: handed over by launches, no part of the
// code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/embedded.h"
#include "slipway/graph.h"
#include "slipway/hooks.h"
#include "slipway/kernel.h"
#include "slipway/kernel_builder.h"
#include "slipway/kernel_cache.h"
#include "slipway/null_driver.h"
#include "slipway/stream.h"
#include "tests/embedded/run_fixture.h"

namespace slipway {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const LaunchConfig kOneThread = {.grid = {1}, .block = {1}};

class CapturedTest : public RunFixture {
 protected:
  // How many kernels were compiled since the last call.
  uint64_t Compiled() {
    const uint64_t now = GetKernelCacheCounters().compiles;
    return now - std::exchange(compiled_, now);
  }

 private:
  uint64_t compiled_ = GetKernelCacheCounters().compiles;
};

template <class T>
auto MakeScale(const std::string& name, T k) {
  return MakeKernel(name, [k](ArrayVar<float, 1> y, ArrayVar<const float, 1> x) {
    For(GridStride(y.size()), [&](Expr<int64_t> i) { y[i] = k * x[i]; });
  });
}

TEST_F(CapturedTest, AnotherValueCompilesNothing) {
  auto x = Make<float>({1, 2, 3}), y = Make<float>({0, 0, 0});
  const auto twice = MakeScale("captured_scale", 2.0f);
  ASSERT_TRUE(twice(stream, ForSize(3), y, x).ok());
  EXPECT_THAT(Read(y), ElementsAre(2, 4, 6));
  EXPECT_EQ(Compiled(), 1u);
  for (const float k : {0.5f, -1.0f, 2.0f, 0.1f, std::nanf("")}) {
    const auto scale = MakeScale("captured_scale", k);
    ASSERT_TRUE(scale(stream, ForSize(3), y, x).ok());
    const std::vector<float> got = Read(y), host_x = {1, 2, 3};
    for (size_t i = 0; i < 3; ++i) {
      const float want = k * host_x[i];
      EXPECT_TRUE(got[i] == want || (std::isnan(got[i]) && std::isnan(want))) << k << " " << got[i];
    }
  }
  // The first one keeps its own.
  ASSERT_TRUE(twice(stream, ForSize(3), y, x).ok());
  EXPECT_THAT(Read(y), ElementsAre(2, 4, 6));
  EXPECT_EQ(Compiled(), 0u);
}

// The compile hooks and the loaded code agree with the counter.
TEST_F(CapturedTest, NeitherIsLoadedAgain) {
  auto x = Make<float>({1, 2, 3}), y = Make<float>({0, 0, 0});
  int compiles = 0;
  const HookRegistration hook = AddHook(HookPoint::kBeforeCompile, [&](const HookEvent&) { ++compiles; }).value();
  const auto first = MakeScale("captured_load", 2.0f), second = MakeScale("captured_load", 3.0f);
  const auto on_first = first.On(device).value(), on_second = second.On(device).value();
  EXPECT_EQ(compiles, 1);
  EXPECT_EQ(on_first.kernel().plan().function, on_second.kernel().plan().function);
  EXPECT_NE(on_first.kernel().compiled().captured, on_second.kernel().compiled().captured);
  ASSERT_TRUE(on_second(stream, ForSize(3), y, x).ok());
  EXPECT_THAT(Read(y), ElementsAre(3, 6, 9));
  ASSERT_TRUE(on_first(stream, ForSize(3), y, x).ok());
  EXPECT_THAT(Read(y), ElementsAre(2, 4, 6));
}

TEST_F(CapturedTest, OfEveryTypeByTheRulesOfLiterals) {
  const bool flag = true;
  const int8_t i8 = -3;
  const uint16_t u16 = 65535;
  const int64_t i64 = int64_t{1} << 40;
  const uint64_t u64 = ~uint64_t{0};
  const double f64 = 0.1;
  const float16 f16 = float16(1.5f);
  const auto kernel = MakeKernel(
      "captured_types", [=](ArrayVar<double, 1> d, ArrayVar<float, 1> f, ArrayVar<int64_t, 1> n,
                            ArrayVar<uint64_t, 1> u, ArrayVar<float16, 1> h, Var<int32_t> one, Var<float> half) {
        d[0] = f64;         // As it is,
        f[0] = f64 * half;  // and as a float32, which it becomes beside one.
        f[1] = half + i8;
        n[0] = one * i8;
        n[1] = one + Cast<int64_t>(i64);
        u[0] = u64;
        u[1] = Cast<uint64_t>(u16) + 1;
        h[0] = f16 * Cast<float16>(f16);
        If(flag, [&] { n[2] = 7; }).Else([&] { n[2] = 8; });
        n[3] = Select(one == 1, i8, i64);
      });
  ASSERT_TRUE(kernel.status().ok()) << kernel.status();
  auto d = Make<double>({0}), f0 = Make<double>({0});
  auto f = Make<float>({0, 0});
  auto n = Make<int64_t>({0, 0, 0, 0});
  auto u = Make<uint64_t>({0, 0});
  auto h = Make<float16>({float16(0.0f)});
  const absl::Status status = kernel(stream, LaunchConfig{.grid = {1}, .block = {1}}, d, f, n, u, h, int32_t{1}, 0.5f);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(Read(d), ElementsAre(0.1));
  EXPECT_THAT(Read(f), ElementsAre(0.1f * 0.5f, -2.5f));
  EXPECT_THAT(Read(n), ElementsAre(-3, 1 + i64, 7, -3));
  EXPECT_THAT(Read(u), ElementsAre(u64, 65536));
  EXPECT_EQ(static_cast<float>(Read(h)[0]), 2.25f);
  EXPECT_THAT(kernel.ir(), HasSubstr("captured"));
}

TEST_F(CapturedTest, ByReferenceToo) {
  auto x = Make<float>({1, 2}), y = Make<float>({0, 0});
  float k = 3;
  const auto make = [&] {
    return MakeKernel("captured_reference", [&](ArrayVar<float, 1> out, ArrayVar<const float, 1> in) {
      For(GridStride(out.size()), [&](Expr<int64_t> i) { out[i] = in[i] + k; });
    });
  };
  const auto first = make();
  k = 4;
  const auto second = make();
  ASSERT_TRUE(first(stream, ForSize(2), y, x).ok());
  EXPECT_THAT(Read(y), ElementsAre(4, 5));  // What it was when the kernel was made.
  ASSERT_TRUE(second(stream, ForSize(2), y, x).ok());
  EXPECT_THAT(Read(y), ElementsAre(5, 6));
  EXPECT_EQ(Compiled(), 1u);
}

TEST_F(CapturedTest, EqualValuesOfDifferentNumbersStayApart) {
  const auto make = [](int32_t a, int32_t b) {
    return MakeKernel("captured_apart", [a, b](ArrayVar<int32_t, 1> y) {
      y[0] = a;
      y[1] = b;
      y[2] = y[2] * a + b;
    });
  };
  auto y = Make<int32_t>({0, 0, 10});
  ASSERT_TRUE(make(5, 5)(stream, kOneThread, y).ok());
  EXPECT_THAT(Read(y), ElementsAre(5, 5, 55));
  ASSERT_TRUE(make(2, 3)(stream, kOneThread, y).ok());
  EXPECT_THAT(Read(y), ElementsAre(2, 3, 113));
  EXPECT_EQ(Compiled(), 1u);
}

// Host code may change what it captured; each use has the value of its time.
TEST_F(CapturedTest, AMutableFunction) {
  auto y = Make<int32_t>({0, 0, 0, 0});
  const auto kernel = MakeKernel("captured_mutable", [k = 1, i = 0](ArrayVar<int32_t, 1> out) mutable {
    for (; i < 4; ++i) {
      out[i] = k;
      k *= 3;
    }
  });
  ASSERT_TRUE(kernel(stream, kOneThread, y).ok());
  EXPECT_THAT(Read(y), ElementsAre(1, 3, 9, 27));
}

TEST_F(CapturedTest, ArraysAndStructsThatAreCaptured) {
  struct Taps {
    std::array<float, 3> at;
    int32_t first;
  };
  const auto make = [](const Taps& taps) {
    return MakeKernel("captured_taps", [taps](ArrayVar<float, 1> y, ArrayVar<const float, 1> x) {
      For(GridStride(y.size()), [&](Expr<int64_t> i) {
        Var<float> sum = 0;
        for (int k = 0; k < 3; ++k) sum += taps.at[k] * x[i + taps.first + k];
        y[i] = sum;
      });
    });
  };
  auto x = Make<float>({1, 2, 3, 4}), y = Make<float>({0, 0});
  ASSERT_TRUE(make({{1, 10, 100}, 0})(stream, ForSize(2), y, x).ok());
  EXPECT_THAT(Read(y), ElementsAre(321, 432));
  ASSERT_TRUE(make({{1, 1, 1}, 0})(stream, ForSize(2), y, x).ok());
  EXPECT_THAT(Read(y), ElementsAre(6, 9));
  EXPECT_EQ(Compiled(), 1u);
}

TEST_F(CapturedTest, ConstantsAreAskedFor) {
  const auto make = [](int32_t k) {
    return MakeKernel("captured_constant", [k](ArrayVar<int32_t, 1> y) { y[0] = y[0] / Constant(k); });
  };
  auto y = Make<int32_t>({1000});
  ASSERT_TRUE(make(10)(stream, kOneThread, y).ok());
  ASSERT_TRUE(make(4)(stream, kOneThread, y).ok());
  EXPECT_THAT(Read(y), ElementsAre(25));
  EXPECT_EQ(Compiled(), 2u);
  EXPECT_THAT(make(4).ir(), Not(HasSubstr("captured:")));
}

TEST_F(CapturedTest, WhatIsComputedOfThemOnTheHostIsCode) {
  const auto make = [](int32_t k) {
    return MakeKernel("captured_computed", [k](ArrayVar<int32_t, 1> y) { y[0] = 2 * k; });
  };
  EXPECT_THAT(make(10).ir(), Not(HasSubstr("captured:")));
}

// Folded with other numbers, by the builder, they are still no part of the code.
TEST_F(CapturedTest, Folded) {
  const auto make = [](double k, int32_t shift) {
    return MakeKernel("captured_folded", [k, shift](ArrayVar<float, 1> y, ArrayVar<int64_t, 1> n, Var<int64_t> one) {
      AnyExpr kept = k;
      y[0] = y[0] * (kept * 2.0 + 1);
      n[0] = one << shift;
      n[1] = one + SaturateCast<int8_t>(k);
      n[2] = Cast<int64_t>(kept > 5.0);
    });
  };
  auto y = Make<float>({10});
  auto n = Make<int64_t>({0, 0, 0});
  ASSERT_TRUE(make(1.5, 3)(stream, kOneThread, y, n, int64_t{1}).ok());
  EXPECT_THAT(Read(y), ElementsAre(40));
  EXPECT_THAT(Read(n), ElementsAre(8, 2, 0));
  ASSERT_TRUE(make(1000, 70)(stream, kOneThread, y, n, int64_t{1}).ok());
  EXPECT_THAT(Read(y), ElementsAre(40 * 2001));
  EXPECT_THAT(Read(n), ElementsAre(0, 128, 1));
  EXPECT_EQ(Compiled(), 1u);
}

TEST_F(CapturedTest, GenericKernels) {
  const auto make = [](double k) {
    return MakeGenericKernel("captured_generic", [k](AnyArrayVar out, AnyArrayVar in, AnyVar add) {
      For(GridStride(out.size()), [&](Expr<int64_t> i) { out.Flat(i) = k * in.Flat(i) + add; });
    });
  };
  auto x = Make<float>({1, 2}), y = Make<float>({0, 0});
  auto dx = Make<double>({1, 2}), dy = Make<double>({0, 0});
  for (const double k : {2.0, 0.1}) {
    const GenericKernel scale = make(k);
    for (int round = 0; round < 3; ++round) {
      ASSERT_TRUE(scale(stream, ForSize(2), y, x, 1.0f).ok());
      EXPECT_THAT(Read(y), ElementsAre(std::fma(static_cast<float>(k), 1.0f, 1.0f),
                                       std::fma(static_cast<float>(k), 2.0f, 1.0f)));
      ASSERT_TRUE(scale.Launch(stream, ForSize(2), {dy, dx, 1.0}).ok());
      EXPECT_THAT(Read(dy), ElementsAre(std::fma(k, 1.0, 1.0), std::fma(k, 2.0, 1.0)));
    }
    EXPECT_EQ(scale.counters().compiles, 2u);
  }
  EXPECT_EQ(Compiled(), 2u);
}

// Every way to launch.
TEST_F(CapturedTest, BoundListedNamedCapturedByGraphsAndOnTheDefaultStream) {
  const auto scale = MakeScale("captured_ways", 3.0f);
  auto x = Make<float>({1, 2, 3}), y = Make<float>({0, 0, 0});
  const auto expect = [&](float k) {
    EXPECT_THAT(Read(y), ElementsAre(k, 2 * k, 3 * k));
    ASSERT_TRUE(y.CopyFrom(std::vector<float>{0, 0, 0}).ok());
  };
  auto bound = scale.Bind(ForSize(3), y, x).value();
  ASSERT_TRUE(bound.Launch(stream).ok());
  expect(3);
  auto other_x = Make<float>({2, 4, 6});
  ASSERT_TRUE(bound.Set<1>(other_x).ok());
  ASSERT_TRUE(bound.Launch(stream).ok());
  expect(6);

  const Kernel kernel = Kernel::Load(device, scale.CompiledFor(device).value()).value();
  EXPECT_EQ(kernel.num_params(), 2u);
  ASSERT_TRUE(kernel(stream, ForSize(3), y, x).ok());
  expect(3);
  ASSERT_TRUE(kernel.Launch(stream, ForSize(3), {y, x}).ok());
  expect(3);
  ASSERT_TRUE(kernel.Launch(stream, LaunchConfig{.grid = {2}, .block = {32}, .priority = 0}, {y, x}).ok());
  expect(3);
  ASSERT_TRUE(kernel.LaunchByName(stream, ForSize(3), {{"arg1", x}, {"arg0", y}}).ok());
  expect(3);
  EXPECT_THAT(kernel.Launch(stream, ForSize(3), {y, x, 3.0f}).message(), HasSubstr("3 arguments were given and 2 are"));

  ASSERT_TRUE(kernel(device.DefaultStream(), ForSize(3), y, x).ok());
  ASSERT_TRUE(device.Synchronize().ok());
  expect(3);

  Graph graph = Graph::Capture(stream, [&]() -> absl::Status { return scale(stream, ForSize(3), y, x); }).value();
  GraphExec exec = graph.Instantiate().value();
  ASSERT_TRUE(exec.Launch(stream).ok());
  expect(3);
}

TEST_F(CapturedTest, ThePackedBytes) {
  const Device recording = Device::Open(RecordingDriver()).value();
  const Stream on = recording.CreateStream().value();
  const int16_t a = 0x1234;
  const double b = 1.5;
  const auto kernel = MakeKernel("captured_bytes", [a, b](ArrayVar<double, 0> y, Var<int16_t> n) {
    y() = b * y();
    If(n < a, [&] { y() = 0; });
  });
  const ArrayView<double, 0> y(recording, reinterpret_cast<double*>(0x10000), {});
  TakeRecordedLaunches();
  ASSERT_TRUE(kernel(on, LaunchConfig{.grid = {1}, .block = {1}}, y, int16_t{7}).ok());
  const std::vector<RecordedLaunch> launches = TakeRecordedLaunches();
  ASSERT_EQ(launches.size(), 1u);
  const auto& bytes = launches[0].buffer;
  ASSERT_EQ(bytes.size(), 8u + 8u + 16u);  // The address; the number, padded; 1.5, and 0x1234, padded.
  double packed_b;
  int16_t packed_a;
  std::memcpy(&packed_b, bytes.data() + 16, 8);
  std::memcpy(&packed_a, bytes.data() + 24, 2);
  EXPECT_EQ(packed_b, 1.5);
  EXPECT_EQ(packed_a, 0x1234);
}

// Past what there is room for, numbers are constants again.
TEST_F(CapturedTest, MoreThanFit) {
  const auto make = [](const std::array<int32_t, 400>& numbers) {
    return MakeKernel("captured_many", [numbers](ArrayVar<int32_t, 1> y) {
      for (int i = 0; i < 400; ++i) y[Constant(i)] = numbers[i];
    });
  };
  std::array<int32_t, 400> numbers;
  for (int i = 0; i < 400; ++i) numbers[i] = i * i - 7;
  auto y = Make(std::vector<int32_t>(400));
  const auto kernel = make(numbers);
  ASSERT_TRUE(kernel(stream, kOneThread, y).ok());
  EXPECT_EQ(Read(y), std::vector<int32_t>(numbers.begin(), numbers.end()));
  EXPECT_EQ(kernel.On(device).value().kernel().compiled().captured.size(), 1024u);
}

TEST_F(CapturedTest, ThreadsWaitForOneCompile) {
  auto x = Make<float>({1, 2, 3});
  std::vector<Array<float, 1>> results;
  for (int t = 0; t < 8; ++t) results.push_back(Make<float>({0, 0, 0}));
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const auto scale = MakeScale("captured_threads", static_cast<float>(t));
      ASSERT_TRUE(scale(stream, ForSize(3), results[t], x).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < 8; ++t) EXPECT_EQ(Read(results[t])[2], 3.0f * static_cast<float>(t));
  EXPECT_EQ(Compiled(), 1u);
}

// A hook may compile, even the very kernel that is being compiled.
TEST_F(CapturedTest, HooksThatCompile) {
  const auto compile = [&](const char* name) { EXPECT_TRUE(MakeScale(name, 1.0f).CompiledFor(device).ok()); };
  std::atomic<int> depth{0};
  const HookRegistration hook = AddHook(HookPoint::kAfterCompile, [&](const HookEvent& event) {
                                  if (depth++ >= 4) return;
                                  compile(event.name == "hooked_a" ? "hooked_b" : "hooked_a");
                                  compile("hooked_a");
                                }).value();
  std::thread other([&] { compile("hooked_b"); });
  compile("hooked_a");
  other.join();
  EXPECT_GE(depth, 1);
}

TEST_F(CapturedTest, TheCacheKeepsWhatItMay) {
  ClearKernelCache();
  EXPECT_EQ(GetKernelCacheCounters().entries, 0u);
  EXPECT_EQ(GetKernelCacheCounters().bytes, 0u);
  const auto compile = [&](const char* name) { ASSERT_TRUE(MakeScale(name, 1.0f).CompiledFor(device).ok()); };
  compile("cache_a");
  const uint64_t one = GetKernelCacheCounters().bytes;
  EXPECT_GT(one, 1000u);
  Compiled();
  SetKernelCacheLimit(2 * one + one / 2);  // Two of them.
  compile("cache_b");
  compile("cache_a");
  compile("cache_c");  // In the place of b, which was used before a.
  EXPECT_EQ(Compiled(), 2u);
  EXPECT_EQ(GetKernelCacheCounters().entries, 2u);
  compile("cache_a");
  EXPECT_EQ(Compiled(), 0u);
  compile("cache_b");
  EXPECT_EQ(Compiled(), 1u);
  SetKernelCacheLimit(0);
  EXPECT_EQ(GetKernelCacheCounters().entries, 0u);
  compile("cache_a");
  EXPECT_EQ(GetKernelCacheCounters().entries, 0u);
  SetKernelCacheLimit(size_t{64} << 20);
}

}  // namespace
}  // namespace slipway
