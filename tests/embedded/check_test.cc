// Errors that kernels raise: what is told of them, on every road that launches a kernel. All on the CPU device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "slipway/array.h"
#include "slipway/bound_launch.h"
#include "slipway/cpu_device.h"
#include "slipway/device.h"
#include "slipway/elementwise.h"
#include "slipway/embedded.h"
#include "slipway/fault_driver.h"
#include "slipway/graph.h"
#include "slipway/kernel.h"
#include "slipway/kernel_archive.h"
#include "slipway/kernel_builder.h"
#include "slipway/stream.h"
#include "tests/embedded/run_fixture.h"

namespace slipway {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

absl::Status Raised(const std::string& message) { return absl::InvalidArgumentError(message); }

// y[i] = x[i], for x that are not negative.
auto MakePositive(const std::string& name = "positive") {
  return MakeKernel(name, [](ArrayVar<float, 1> y, ArrayVar<const float, 1> x) {
    For(GridStride(y.size()), [&](Expr<int64_t> i) {
      Check(x[i] >= 0, "%g is negative", x[i]);
      y[i] = x[i];
    });
  });
}

class CheckTest : public RunFixture {
 protected:
  std::vector<float> Contents(const Array<float, 1>& array) { return AnyArray(array).ToVector<float>().value(); }

  Array<float, 1> x_ = Make<float>({1, 2, -3, 4, -5}), y_ = Make<float>({0, 0, 0, 0, 0});
  const std::string kNegative = "positive: -3 is negative (element 2, block 0, thread 2)";
};

TEST_F(CheckTest, TheFirstFailureIsTold) {
  const auto positive = MakePositive();
  ASSERT_TRUE(positive(stream, ForSize(5), y_, x_).ok());
  EXPECT_EQ(stream.Synchronize(), Raised(kNegative));
  EXPECT_TRUE(stream.Synchronize().ok());  // Once.
  EXPECT_THAT(Read(y_), ElementsAre(1, 2, 0, 4, 0));
}

TEST_F(CheckTest, WhatHoldsIsQuiet) {
  const auto positive = MakePositive();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(positive(stream, ForSize(1), y_, y_).ok());
  EXPECT_TRUE(stream.CheckErrors().ok());
  EXPECT_TRUE(stream.Synchronize().ok());
  EXPECT_TRUE(stream.CheckErrors().ok());
}

TEST_F(CheckTest, LaterKernelsDoNothingUntilItIsRead) {
  const auto positive = MakePositive();
  const auto good = Make<float>({1, 1, 1, 1, 1}), z = Make<float>({0, 0, 0, 0, 0});
  ASSERT_TRUE(positive(stream, ForSize(5), y_, x_).ok());
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(positive(stream, ForSize(5), z, good).ok());  // Numbers come again.
  EXPECT_EQ(stream.Synchronize(), Raised(kNegative));
  EXPECT_THAT(Read(z), Each(0));
  ASSERT_TRUE(positive(stream, ForSize(5), z, good).ok());
  EXPECT_THAT(Read(z), Each(1));
}

TEST_F(CheckTest, AnotherStreamKnowsNothingOfIt) {
  const auto positive = MakePositive();
  const Stream other = device.CreateStream().value();
  const auto good = Make<float>({1, 1, 1, 1, 1});
  ASSERT_TRUE(positive(stream, ForSize(5), y_, x_).ok());
  EXPECT_FALSE(stream.Synchronize().ok());
  ASSERT_TRUE(positive(stream, ForSize(5), y_, x_).ok());
  ASSERT_TRUE(positive(other, ForSize(5), y_, good).ok());
  EXPECT_TRUE(other.Synchronize().ok());
  EXPECT_EQ(stream.Synchronize(), Raised(kNegative));
}

TEST_F(CheckTest, QueryAndPeek) {
  const auto positive = MakePositive();
  ASSERT_TRUE(positive(stream, ForSize(5), y_, x_).ok());
  ASSERT_TRUE(device.Synchronize().ok());
  EXPECT_EQ(stream.CheckErrors(), Raised(kNegative));
  EXPECT_EQ(stream.CheckErrors(), Raised(kNegative));  // It stays.
  EXPECT_EQ(stream.Query().status(), Raised(kNegative));
  EXPECT_EQ(stream.Query().value(), true);
  EXPECT_TRUE(stream.CheckErrors().ok());
}

TEST_F(CheckTest, DefaultAndForeignStreams) {
  const auto positive = MakePositive();
  const auto expect_told = [&](const Stream& launched, const Stream& waited) {
    ASSERT_TRUE(positive(launched, ForSize(5), y_, x_).ok());
    EXPECT_EQ(waited.Synchronize(), Raised(kNegative));
    EXPECT_TRUE(launched.Synchronize().ok());
  };
  // By the stream that they are, not by the object.
  expect_told(device.DefaultStream(), device.DefaultStream());
  expect_told(device.PerThreadStream(), device.PerThreadStream());
  expect_told(Stream::Foreign(device, nullptr), device.DefaultStream());
  expect_told(Stream::Foreign(device, stream.handle()), stream);
  expect_told(stream, Stream::Foreign(device, stream.handle()));
}

TEST_F(CheckTest, StreamsMayMoveAndGo) {
  const auto positive = MakePositive();
  Stream first = device.CreateStream().value();
  ASSERT_TRUE(positive(first, ForSize(5), y_, x_).ok());
  const Stream second = std::move(first);
  EXPECT_FALSE(first.CheckErrors().ok());
  EXPECT_EQ(second.Synchronize(), Raised(kNegative));
  for (int i = 0; i < 20; ++i) {  // With an error that nobody reads.
    const Stream brief = device.CreateStream().value();
    EXPECT_TRUE(brief.CheckErrors().ok());
    ASSERT_TRUE(positive(brief, ForSize(5), y_, x_).ok());
  }
}

TEST_F(CheckTest, ValuesOfEveryKind) {
  const auto kernel = MakeKernel(
      "kinds", [](Expr<int8_t> a, Expr<uint16_t> b, Expr<int64_t> c, Expr<uint64_t> d, Expr<float> e, Expr<double> f,
                  Expr<bool> g) { Check(a > 0, "%d %u %d %x 100%% %.2f %g %d|%5d|%-5d|", a, b, c, d, e, f, g, a, b); });
  ASSERT_TRUE(kernel(stream, {.grid = {1}, .block = {1}}, int8_t{-7}, uint16_t{65535}, int64_t{-1} << 40,
                     ~uint64_t{0} >> 4, 1.5f, 1e300, true)
                  .ok());
  EXPECT_EQ(
      stream.Synchronize(),
      Raised("kinds: -7 65535 -1099511627776 fffffffffffffff 100% 1.50 1e+300 1|   -7|65535| (element 0, block 0, "
             "thread 0)"));
}

TEST_F(CheckTest, TheThreadEndsOrGoesOn) {
  const auto stops = MakeKernel("stops", [](ArrayVar<int32_t, 1> y) {
    const auto i = GlobalIndex();
    Check(i != 1, "one");
    y[i] = 1;
  });
  const auto goes_on = MakeKernel("goes_on", [](ArrayVar<int32_t, 1> y) {
    const auto i = GlobalIndex();
    CheckAndGoOn(i != 1, "one");
    y[i] = 1;
  });
  const auto y = Make<int32_t>({0, 0, 0});
  ASSERT_TRUE(stops(stream, {.grid = {1}, .block = {3}}, y).ok());
  EXPECT_EQ(stream.Synchronize(), Raised("stops: one (element 1, block 0, thread 1)"));
  EXPECT_THAT(Read(y), ElementsAre(1, 0, 1));
  ASSERT_TRUE(goes_on(stream, {.grid = {1}, .block = {3}}, y).ok());
  EXPECT_EQ(stream.Synchronize(), Raised("goes_on: one (element 1, block 0, thread 1)"));
  EXPECT_THAT(Read(y), ElementsAre(1, 1, 1));
}

TEST_F(CheckTest, TheChecksOrderCountsBeforeTheElements) {
  const auto kernel = MakeKernel("two", [](ArrayVar<const int32_t, 1> x) {
    For(GridStride(x.size()), [&](Expr<int64_t> i) {
      CheckAndGoOn(x[i] != 1, "is one");
      CheckAndGoOn(x[i] != 2, "is two");
    });
  });
  const auto x = Make<int32_t>({0, 2, 0, 1, 1});
  ASSERT_TRUE(kernel(stream, ForSize(5), x).ok());
  EXPECT_EQ(stream.Synchronize(), Raised("two: is one (element 3, block 0, thread 3)"));
}

TEST_F(CheckTest, ElementsOfGridsInThreeDimensions) {
  const auto kernel = MakeKernel("shape", [](ArrayVar<int32_t, 1> y) {
    Check(BlockIndex(0) + BlockIndex(1) + BlockIndex(2) + ThreadIndex(2) < 6u, "far");
    y[0] = 1;
  });
  const auto y = Make<int32_t>({0});
  ASSERT_TRUE(kernel(stream, {.grid = {2, 3, 3}, .block = {4, 2, 3}}, y).ok());
  // In layers of 8 x 6 threads: the first of block (1, 2, 1) with a thread.z of 2.
  EXPECT_EQ(stream.Synchronize(), Raised("shape: far (element 276, block (1, 2, 1), thread (0, 0, 2))"));
  static_assert(((1 * 3 + 2) * 6 + 2 * 2) * 8 + 1 * 4 == 276);
}

TEST_F(CheckTest, BarriersDoNotWaitForThreadsThatEnded) {
  const auto kernel = MakeKernel("barrier", [](ArrayVar<int32_t, 1> y, Expr<int32_t> bad) {
    const auto i = ThreadIndex();
    auto shared = SharedArray<int32_t>(64);
    shared[i] = 1;
    Check(i != bad, "thread %d", i);
    SyncThreads();
    y[i] = shared[63 - i] + 1;
  });
  const auto y = Array<int32_t, 1>::Zeros(device, 64).value();
  ASSERT_TRUE(kernel(stream, {.grid = {1}, .block = {64}}, y, 40).ok());
  EXPECT_EQ(stream.Synchronize(), Raised("barrier: thread 40 (element 40, block 0, thread 40)"));
  std::vector<int32_t> wanted(64, 2);
  wanted[40] = 0;
  EXPECT_EQ(Read(y), wanted);
}

// They are a part of the kernel that calls them.
TEST_F(CheckTest, InDeviceFunctions) {
  const DeviceFunction root("root", [](Expr<float> a) {
    Check(a >= 0, "%g has no root", a);
    return sqrt(a);
  });
  const auto roots = MakeKernel("roots", [&](ArrayVar<float, 1> y, ArrayVar<const float, 1> x) {
    For(GridStride(y.size()), [&](Expr<int64_t> i) { y[i] = root(x[i]); });
  });
  ASSERT_TRUE(roots(stream, ForSize(5), y_, x_).ok());
  EXPECT_EQ(stream.Synchronize(), Raised("roots: -3 has no root (element 2, block 0, thread 2)"));
  const ExportedFunction exported = ExportFunction("root", [&](Expr<float> a) { return root(a); });
  EXPECT_EQ(exported.status(),
            absl::InvalidArgumentError("device function 'root': only kernels can check, for a launch gives them where "
                                       "to leave an error; return what tells the caller"));
}

// What no thread reaches raises nothing, and what is known to hold is no check.
TEST_F(CheckTest, ConstantConditions) {
  const auto kernel = MakeKernel("constant", [](ArrayVar<float, 1> y) {
    Check(Expr<bool>(true), "never");
    If(y.size() > 100, [] { Check(Expr<bool>(false), "not reached"); });
  });
  EXPECT_EQ(kernel.On(device).value().kernel().compiled().checks, std::vector<std::string>{"not reached"});
  ASSERT_TRUE(kernel(stream, ForSize(5), y_).ok());
  EXPECT_TRUE(stream.Synchronize().ok());
}

TEST_F(CheckTest, AMillionThreadsFail) {
  const int64_t n = 1 << 20;
  const auto x = Array<float, 1>::From(device, std::vector<float>(n, -1)).value();
  const auto y = Array<float, 1>::Zeros(device, n).value();
  const auto positive = MakePositive();
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_TRUE(positive(stream, ForSize(n), y, x).ok());
    EXPECT_EQ(stream.Synchronize(), Raised("positive: -1 is negative (element 0, block 0, thread 0)"));
  }
}

// Each of 40 is the first for a while, and there are places for 31: of the last one, its key is all that is known.
TEST_F(CheckTest, MoreFailuresThanPlaces) {
  const auto backwards = MakeKernel("backwards", [](Expr<int32_t> n) {
    For(Range(n - 1, -1, -1), [&](Expr<int64_t> k) {
      for (int i = 0; i < 40; ++i) CheckAndGoOn(k != i, "check " + std::to_string(i) + " of %d", n);
    });
  });
  ASSERT_TRUE(backwards(stream, {.grid = {1}, .block = {1}}, 40).ok());
  EXPECT_EQ(stream.Synchronize(), Raised("backwards: check 0 of %d (element 0)"));
  ASSERT_TRUE(backwards(stream, {.grid = {1}, .block = {1}}, 31).ok());
  EXPECT_EQ(stream.Synchronize(), Raised("backwards: check 0 of 31 (element 0, block 0, thread 0)"));
}

TEST_F(CheckTest, SeveralThreadsLaunch) {
  const auto positive = MakePositive();
  ASSERT_TRUE(positive(stream, ForSize(2), y_, y_).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) EXPECT_TRUE(positive(stream, ForSize(5), y_, t == 2 && i == 50 ? x_ : y_).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stream.Synchronize(), Raised(kNegative));
  EXPECT_TRUE(stream.Synchronize().ok());
}

TEST_F(CheckTest, TheKernelMayBeGone) {
  {
    const auto brief = MakePositive("brief");
    ASSERT_TRUE(brief(stream, ForSize(5), y_, x_).ok());
  }
  EXPECT_EQ(stream.Synchronize(), Raised("brief: -3 is negative (element 2, block 0, thread 2)"));
}

TEST_F(CheckTest, CapturedNumbersToo) {
  const float limit = 2;
  const auto kernel = MakeKernel("limited", [&limit](ArrayVar<float, 1> y, ArrayVar<const float, 1> x) {
    For(GridStride(y.size()), [&](Expr<int64_t> i) {
      Check(x[i] <= limit, "%g is more than %g", x[i], Expr<float>(limit));
      y[i] = limit * x[i];
    });
  });
  ASSERT_TRUE(kernel(stream, ForSize(5), y_, x_).ok());
  EXPECT_EQ(stream.Synchronize(), Raised("limited: 4 is more than 2 (element 3, block 0, thread 3)"));
  EXPECT_THAT(Read(y_), ElementsAre(2, 4, -6, 0, -10));
}

TEST_F(CheckTest, FromTheBuilder) {
  KernelBuilder b("gather_scale");
  auto out = b.Array("out", DType::kFloat64, 1), in = b.Array("in", DType::kFloat32, 1),
       at = b.Array("at", DType::kInt32, 1);
  const auto i = b.GridStrideIndex(out.size());
  b.Check(at[i] >= 0 && at[i] < in.size(), "index out of range");
  b.CheckAndGoOn(at[i] != 1, "index %d, of %d", {at[i], in.size()});
  out[i] = b.Cast(DType::kFloat64, in[at[i]]);
  EXPECT_THAT(b.Ir().value(), HasSubstr("check %"));
  EXPECT_THAT(b.Ir().value(), HasSubstr("check_and_go_on %"));
  const Kernel kernel = b.Build(device).value();
  EXPECT_EQ(kernel.compiled().checks.size(), 2u);
  std::vector<int32_t> where(20, 2);
  where[17] = 5;
  where[19] = -1;
  auto at_array = Make(where);
  const auto out_array = Array<double, 1>::Zeros(device, 20).value();
  ASSERT_TRUE(kernel.Launch(stream, ForSize(20), {out_array, x_, at_array}).ok());
  EXPECT_EQ(stream.Synchronize(), Raised("gather_scale: index out of range (element 17, block 0, thread 17)"));
  at_array = Make(std::vector<int32_t>(20, 1));
  ASSERT_TRUE(kernel.Launch(stream, ForSize(20), {out_array, x_, at_array}).ok());
  EXPECT_EQ(stream.Synchronize(), Raised("gather_scale: index 1, of 5 (element 0, block 0, thread 0)"));
  EXPECT_THAT(AnyArray(out_array).ToVector<double>().value(), Each(2));
}

TEST_F(CheckTest, EveryWayToLaunch) {
  const auto typed = MakePositive().On(device).value();
  const Kernel& kernel = typed.kernel();
  const auto expect_told = [&](const absl::Status& launched) {
    ASSERT_TRUE(launched.ok()) << launched;
    EXPECT_EQ(stream.Synchronize(), Raised(kNegative));
  };
  expect_told(typed(stream, ForSize(5), y_, x_));
  expect_told(typed(stream, {.grid = {1}, .block = {32}}, y_, x_));
  expect_told(kernel(stream, ForSize(5), y_, x_));
  expect_told(kernel.Launch(stream, ForSize(5), {y_, x_}));
  expect_told(kernel.LaunchByName(stream, ForSize(5), {{"arg1", x_}, {"arg0", y_}}));
  expect_told(kernel.Launch(stream, {.grid = {1}, .block = {32}, .cooperative = true}, {y_, x_}));
  auto bound = kernel.Bind(ForSize(5), {y_, x_}).value();
  expect_told(bound.Launch(stream));
  expect_told(bound.Launch(stream));
  expect_told(typed.Bind(ForSize(5), y_, x_).value().Launch(stream));
  EXPECT_TRUE(typed(stream, ForSize(0), y_, x_).ok());
  EXPECT_TRUE(stream.Synchronize().ok());
  const auto generic = MakeGenericKernel("positive", [](AnyArrayVar y, AnyArrayVar x) {
    For(GridStride(y.size()), [&](Expr<int64_t> i) {
      Check(x[i] >= 0, "%g is negative", x[i]);
      y[i] = x[i];
    });
  });
  expect_told(generic(stream, ForSize(5), y_, x_));
}

TEST_F(CheckTest, AnArchiveHasTheMessages) {
  const CompiledKernel compiled = MakePositive("archived").On(device).value().kernel().compiled();
  const std::string bytes = EncodeKernels({compiled});
  const CompiledKernel found = KernelArchive::FromBytes(bytes).value().Find("archived").value();
  EXPECT_EQ(found.checks, compiled.checks);
  const Kernel kernel = Kernel::Load(device, found).value();
  ASSERT_TRUE(kernel.Launch(stream, ForSize(5), {y_, x_}).ok());
  EXPECT_EQ(stream.Synchronize(), Raised("archived: -3 is negative (element 2, block 0, thread 2)"));
}

class CheckGraphTest : public CheckTest {
 protected:
  GraphExec Captured(absl::FunctionRef<absl::Status()> record) {
    const absl::StatusOr<Graph> graph = Graph::Capture(stream, record);
    EXPECT_TRUE(graph.ok()) << graph.status();
    return graph->Instantiate().value();
  }
  Array<float, 1> good_ = Make<float>({1, 1, 1, 1, 1}), z_ = Make<float>({0, 0, 0, 0, 0});
};

TEST_F(CheckGraphTest, TheStreamThatItIsLaunchedOnIsTold) {
  const auto positive = MakePositive();
  GraphExec exec = Captured([&] {
    absl::Status status = positive(stream, ForSize(5), y_, good_);
    status.Update(positive(stream, ForSize(5), y_, x_));
    status.Update(positive(stream, ForSize(5), z_, good_));
    return status;
  });
  EXPECT_TRUE(stream.Synchronize().ok());
  const Stream other = device.CreateStream().value();
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(exec.Launch(other).ok());
    EXPECT_TRUE(stream.Synchronize().ok());
    EXPECT_EQ(other.Synchronize(), Raised(kNegative));
    EXPECT_THAT(Contents(z_), Each(0));  // Nothing behind it ran, in no replay.
    EXPECT_TRUE(other.Synchronize().ok());
  }
}

// Replays behind the one that failed do nothing.
TEST_F(CheckGraphTest, ReplaysStop) {
  const auto add = MakeKernel("add", [](ArrayVar<float, 1> z, ArrayVar<const float, 1> x) {
    For(GridStride(z.size()), [&](Expr<int64_t> i) {
      Check(z[i] < 3, "%g", z[i]);
      z[i] += x[i];
    });
  });
  GraphExec exec = Captured([&] {
    absl::Status status = add(stream, ForSize(5), z_, good_);
    status.Update(add(stream, ForSize(5), z_, good_));
    return status;
  });
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(exec.Launch(stream).ok());
  EXPECT_EQ(stream.Synchronize(), Raised("add: 3 (element 0, block 0, thread 0)"));
  EXPECT_THAT(Contents(z_), Each(3));
}

TEST_F(CheckGraphTest, BoundLaunchesAreUpdated) {
  const Kernel kernel = MakePositive().On(device).value().kernel();
  BoundLaunch bound = kernel.Bind(ForSize(5), {y_, good_}).value();
  GraphExec exec = Captured([&] {
    absl::Status status = bound.Launch(stream);
    status.Update(bound.Launch(stream));
    return status;
  });
  ASSERT_TRUE(exec.Launch(stream).ok());
  EXPECT_TRUE(stream.Synchronize().ok());
  ASSERT_TRUE(bound.Set(1, x_).ok());
  ASSERT_TRUE(bound.UpdateIn(exec, 1).ok());
  ASSERT_TRUE(exec.Launch(stream).ok());
  EXPECT_EQ(stream.Synchronize(), Raised(kNegative));
  ASSERT_TRUE(bound.UpdateIn(exec).ok());
  ASSERT_TRUE(exec.Launch(stream).ok());
  EXPECT_EQ(stream.Synchronize(), Raised(kNegative));
}

TEST_F(CheckGraphTest, AnotherGraphsLaunches) {
  const auto positive = MakePositive();
  const auto capture = [&](const Array<float, 1>& x) {
    return Graph::Capture(stream, [&] { return positive(stream, ForSize(5), y_, x); }).value();
  };
  GraphExec exec = capture(good_).Instantiate().value();
  ASSERT_TRUE(exec.Update(capture(x_)).ok());
  ASSERT_TRUE(exec.Launch(stream).ok());
  { GraphExec gone = std::move(exec); }
  EXPECT_EQ(stream.Synchronize(), Raised(kNegative));
}

TEST_F(CheckTest, AFailingDriverIsTold) {
  FaultDriver& faults = *FaultDriver::Wrap(CpuDriver()).value();
  const Device faulty = Device::Open(faults.api()).value();
  const Kernel kernel = MakePositive().On(faulty).value().kernel();
  const auto x = Array<float, 1>::From(faulty, {-1}).value();
  for (const char* function : {"MemHostAlloc", "MemHostGetDevicePointer", "MemAlloc", "MemcpyHtoDAsync"}) {
    const Stream fresh = faulty.CreateStream().value();
    ASSERT_TRUE(faults.Arm({.function = function, .result = CUDA_ERROR_OUT_OF_MEMORY}).ok());
    const absl::Status launched = kernel.Launch(fresh, ForSize(1), {x, x});
    EXPECT_TRUE(faults.fired()) << function;
    faults.Disarm();
    EXPECT_EQ(launched.code(), absl::StatusCode::kResourceExhausted) << function;
    EXPECT_THAT(std::string(launched.message()), HasSubstr("cannot make the record of the errors that kernels raise"));
    ASSERT_TRUE(kernel.Launch(fresh, ForSize(1), {x, x}).ok());
    EXPECT_EQ(fresh.Synchronize(), Raised("positive: -1 is negative (element 0, block 0, thread 0)"));
  }
}

// What cannot be set back is told again, once the driver can.
TEST_F(CheckTest, AFailingDriverLosesNoError) {
  FaultDriver& faults = *FaultDriver::Wrap(CpuDriver()).value();
  const Device faulty = Device::Open(faults.api()).value();
  const auto positive = MakePositive();
  const auto x = Array<float, 1>::From(faulty, {-1}).value();
  const Stream fresh = faulty.CreateStream().value();
  for (const char* function : {"StreamCreateWithPriority", "MemcpyHtoDAsync"}) {
    ASSERT_TRUE(positive(fresh, ForSize(1), x, x).ok());
    ASSERT_TRUE(faulty.Synchronize().ok());
    ASSERT_TRUE(faults.Arm({.function = function, .result = CUDA_ERROR_OUT_OF_MEMORY}).ok());
    EXPECT_EQ(fresh.Synchronize().code(), absl::StatusCode::kResourceExhausted) << function;
    faults.Disarm();
    EXPECT_EQ(fresh.Synchronize(), Raised("positive: -1 is negative (element 0, block 0, thread 0)"));
    EXPECT_TRUE(fresh.Synchronize().ok());
  }
}

// Mistakes.

TEST_F(CheckTest, FormatsAreChecked) {
  const auto expect = [](absl::FunctionRef<void(KernelBuilder&, const AnyExpr&)> say, const std::string& message) {
    KernelBuilder b("bad");
    say(b, b.GlobalIndex());
    EXPECT_EQ(b.status(), absl::InvalidArgumentError(message));
  };
  expect([](auto& b, const auto& i) { b.Check(i > 0, "100%"); },
         "check: '%' is not a conversion of kernels; they have %d %i %u %x %X %o %c for integers, %e %f %g %a for "
         "floats, and %%");
  expect([](auto& b, const auto& i) { b.Check(i > 0, "%g", {i}); },
         "check: '%g' is given int64; it prints floats: cast it, or use %d");
  expect([](auto& b, const auto& i) { b.Check(i > 0, "%d"); },
         "check: the format asks for more numbers than the 0 given; '%d' has none");
  expect([](auto& b, const auto& i) { b.Check(i > 0, "none", {i}); },
         "check: 1 numbers are given and the format asks for 0");
  expect([](auto& b, const auto& i) { b.Check(i, "no bool"); },
         "the condition of a check is int64; a bool is wanted: compare it with 0");
  expect([](auto& b, const auto& i) { b.Check(i > 0, "", std::vector<AnyExpr>(12, i)); },
         "check: 12 values; at most 11 are possible");
}

}  // namespace
}  // namespace slipway
