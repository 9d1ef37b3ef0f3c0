// Threads, contexts, streams and lifetimes on a device that computes: the field cases of launches that outlive what
// they use, and of programs that have several devices.
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "driver/cpu/sanitizers.h"
#include "slipway/array.h"
#include "slipway/cpu_device.h"
#include "slipway/graph.h"
#include "tests/launch/adding_kernel.h"
#include "tests/launch/launch_test_util.h"

namespace slipway {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// Before main, and so before the device reads it.
const bool two_devices = setenv("SLIPWAY_CPU_DEVICES", "2", /*overwrite=*/1) == 0;

using Ints = Array<int32_t, 1>;
constexpr int64_t kSize = 1000;

class LifetimeTest : public testing::Test {
 protected:
  const Device device_ = Device::Open(CpuDriver(), 0).value();
  const Device other_ = Device::Open(CpuDriver(), 1).value();
  const Stream stream_ = device_.CreateStream().value();
  const AddingKernel add_ = LoadAdding(device_);
};

CUcontext Current() {
  CUcontext context = nullptr;
  EXPECT_EQ(CpuDriver().CtxGetCurrent(&context), CUDA_SUCCESS);
  return context;
}

TEST_F(LifetimeTest, AThreadThatNeverTouchedTheDriver) {  // FC-26
  const std::vector<int32_t> ones(kSize, 1);
  std::optional<Ints> x = Ints::From(device_, ones).value();
  std::optional<Event> event = Event::Create(device_).value();
  const auto in_fresh_thread = [](const auto& what) {
    std::thread([&] {
      EXPECT_EQ(Current(), nullptr);
      what();
      EXPECT_EQ(Current(), nullptr);
    }).join();
  };
  in_fresh_thread([&] { EXPECT_TRUE(add_(stream_, ForSize(kSize), *x, 1, 1).ok()); });
  in_fresh_thread([&] { EXPECT_TRUE(add_(device_.DefaultStream(), ForSize(kSize), *x, 0, 1).ok()); });
  in_fresh_thread([&] { EXPECT_THAT(x->ToVector().value(), Each(2)); });
  in_fresh_thread([&] { x.reset(); });
  in_fresh_thread([&] { event.reset(); });
  in_fresh_thread([&] {
    const Ints y = Ints::From(device_, ones).value();
    const Ints there = y.To(other_).value();
    EXPECT_THAT(there.ToVector().value(), Each(1));
  });
  const ScopedContext foreign(*other_.state());
  std::thread([&] {
    const ScopedContext theirs(*other_.state());
    const Ints y = Ints::From(device_, ones).value();
    EXPECT_TRUE(add_(stream_, ForSize(kSize), y, 1, 1).ok());
    EXPECT_TRUE(add_(device_.PerThreadStream(), ForSize(kSize), y, 0, 1).ok());
    EXPECT_THAT(y.ToVector().value(), Each(2));
    EXPECT_EQ(Current(), other_.context());
  }).join();
  EXPECT_EQ(Current(), other_.context());
}

// x[i] += value in one block, which is loaded quickly: for tests that load it many times.
constexpr char kShortPtx[] = R"(
.version 7.8
.target sm_75
.address_size 64
.visible .entry add(.param .u64 x, .param .u32 value)
{
  .reg .b32 %r<5>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [x];
  ld.param.u32 %r1, [value];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r3, [%rd3];
  add.u32 %r4, %r3, %r1;
  st.global.u32 [%rd3], %r4;
  ret;
}
)";

TEST_F(LifetimeTest, KernelsComeAndGoWhileOthersLaunch) {  // FC-27
  using ShortKernel = TypedKernel<int32_t*, int32_t>;
  AssembleAfterTests(kShortPtx);
  const int rounds = cpu::kSanitized ? 100 : 1000;  // Of each of two threads.
  const auto load = [&](const char* ptx) {
    auto inspection = std::make_shared<Inspection>();
    inspection->ptx = ptx;
    return ShortKernel::Load(device_, {"add",
                                       {{.name = "x", .kind = ParamKind::kPointer, .dtype = DType::kInt32},
                                        {.name = "value", .kind = ParamKind::kScalar, .dtype = DType::kInt32}},
                                       std::move(inspection)});
  };
  const LaunchConfig config = {.grid = {1}, .block = {256}};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      const Stream stream = device_.CreateStream().value();
      const Ints x = Ints::Zeros(device_, 256).value();
      int added = 0;
      for (int round = 0; round < rounds; ++round) {
        if (round % 50 == 49) {
          EXPECT_EQ(load("bad image").status().code(), absl::StatusCode::kInvalidArgument);
          continue;
        }
        const ShortKernel kernel = load(kShortPtx).value();
        for (int value = 1; value <= 3; ++value) EXPECT_TRUE(kernel(stream, config, x, value).ok());
        added += 1 + 2 + 3;
        // The kernel goes here, while its launches may be queued.
      }
      EXPECT_TRUE(stream.Synchronize().ok());
      EXPECT_THAT(x.ToVector().value(), Each(added));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(LifetimeTest, MemoryGivenUpWhileItIsUsed) {  // FC-29
  const Ints result = Ints::Zeros(device_, kSize).value();
  const Stream second = device_.CreateStream().value();
  {
    const Ints temporary = Ints::Zeros(device_, kSize).value();
    ASSERT_TRUE(add_(stream_, ForSize(kSize), temporary, 3, 20000).ok());
    ASSERT_TRUE(add_(stream_, ForSize(kSize), result, 7, 20000).ok());
  }
  std::vector<Ints> others;
  for (int i = 0; i < 20; ++i) {
    others.push_back(Ints::Zeros(device_, kSize).value());
    ASSERT_TRUE(add_(second, ForSize(kSize), others.back(), 9, 1).ok());
  }
  ASSERT_TRUE(device_.Synchronize().ok());
  EXPECT_THAT(result.ToVector().value(), Each(7));
  for (const Ints& other : others) EXPECT_THAT(other.ToVector().value(), Each(9));
}

TEST_F(LifetimeTest, HostMemoryMayGoOnceACopyReturns) {  // FC-29
  auto host = std::make_unique<std::vector<int32_t>>(kSize, 5);
  const Ints x = Ints::From(device_, *host).value();
  host->assign(kSize, 6);
  host.reset();
  ASSERT_TRUE(add_(stream_, ForSize(kSize), x, 1, 1).ok());
  EXPECT_THAT(x.ToVector().value(), Each(6));
}

TEST_F(LifetimeTest, StreamsThatCannotBeUsed) {
  const Ints x = Ints::Zeros(device_, kSize).value();
  Stream moved = device_.CreateStream().value();
  const Stream target = std::move(moved);
  const auto launch = [&](const Stream& stream) { return add_(stream, ForSize(kSize), x, 1, 1); };
  ExpectError(launch(moved), absl::StatusCode::kFailedPrecondition,  // NOLINT(bugprone-use-after-move)
              "kernel 'add': the stream was moved from; use the one that it was moved to");
  const Stream theirs = other_.CreateStream().value();
  ExpectError(launch(theirs), absl::StatusCode::kInvalidArgument,
              "kernel 'add': it is loaded on " + device_.Describe() + " and the stream is of " + other_.Describe() +
                  "; launch on a stream of the kernel's device");
  ExpectError(launch(Stream::Foreign(device_, theirs.handle())), absl::StatusCode::kInvalidArgument,
              "kernel 'add': Stream::Foreign: the stream belongs to " + other_.Describe() +
                  " and was given as one of " + device_.Describe());
#ifndef NDEBUG
  alignas(Stream) std::byte place[sizeof(Stream)];
  auto* gone = new (place) Stream(device_.CreateStream().value());
  gone->~Stream();
  ExpectError(launch(*std::launder(gone)), absl::StatusCode::kFailedPrecondition,
              "kernel 'add': the stream was destroyed; keep it while it is used");
#endif
  EXPECT_TRUE(launch(target).ok());
  EXPECT_TRUE(launch(Stream::Foreign(device_, target.handle())).ok());
  EXPECT_THAT(x.ToVector().value(), Each(2));
}

TEST_F(LifetimeTest, ArraysOfAnotherDeviceAreRefusedByName) {
  const Ints x = Ints::Zeros(other_, kSize).value();
  ExpectError(add_(stream_, ForSize(kSize), x, 1, 1), absl::StatusCode::kInvalidArgument,
              "argument 'x' (#1): its memory belongs to " + other_.Describe() + " and the kernel is loaded on " +
                  device_.Describe() + "; copy it there first, with To(device)");
}

TEST_F(LifetimeTest, ArraysMoveBetweenDevices) {
  const Ints x = Ints::From(device_, {1, 2, 3}).value();
  const Ints there = x.To(other_).value();
  EXPECT_EQ(there.device(), other_);
  ASSERT_TRUE(add_(stream_, ForSize(3), x, 10, 1).ok());
  EXPECT_THAT(there.ToVector().value(), ElementsAre(1, 2, 3));
  const Ints later = x.To(other_, stream_).value();
  const Stream at_target = other_.CreateStream().value();
  const Event copied = Event::Create(device_).value();
  ASSERT_TRUE(copied.Record(stream_).ok());
  ASSERT_TRUE(at_target.Wait(copied).ok());
  const AddingKernel add_there = LoadAdding(other_);
  ASSERT_TRUE(add_there(at_target, ForSize(3), later, 100, 1).ok());
  EXPECT_THAT(later.ToVector().value(), ElementsAre(111, 112, 113));
  ASSERT_TRUE(later.CopyTo(x, at_target).ok());
  ASSERT_TRUE(at_target.Synchronize().ok());
  EXPECT_THAT(x.ToVector().value(), ElementsAre(111, 112, 113));
  EXPECT_THAT(x.To(device_).value().ToVector().value(), ElementsAre(111, 112, 113));

  // Of a rank known at run time; through the host to another driver.
  const Device host_memory = Device::Open(HostMemoryDriver()).value();
  const AnyArray any = x;
  EXPECT_THAT(any.To(host_memory).value().ToVector<int32_t>().value(), ElementsAre(111, 112, 113));
  EXPECT_EQ(any.To(other_).value().To(device_).value().rank(), 1);
  EXPECT_EQ(Ints::Empty(device_, 0).value().To(other_).value().size(), 0);

  ExpectError(x.CopyTo(Ints::Empty(other_, 4).value(), stream_), absl::StatusCode::kInvalidArgument,
              "array: int32[3] cannot be copied into int32[4]; give one of the same dtype and shape");
  ExpectError(any.CopyTo(Array<float, 1>::Empty(other_, 3).value(), stream_), absl::StatusCode::kInvalidArgument,
              "array: int32[3] cannot be copied into float32[3]; give one of the same dtype and shape");
}

// FC-33, in a process of its own, because what a kernel broke stays broken until the device is closed.
int AfterAnIllegalAccess() {
  int failures = 0;
  const auto expect = [&](bool fine, const char* what) {
    if (fine) return;
    ++failures;
    std::fprintf(stderr, "not so: %s\n", what);
  };
  {
    const Device device = Device::Open(CpuDriver()).value();
    const Stream stream = device.CreateStream().value();
    const AddingKernel add = LoadAdding(device);
    const Ints x = Ints::Zeros(device, kSize).value();
    GraphExec exec =
        Graph::Capture(stream, [&] { return add(stream, ForSize(kSize), x, 1, 1); }).value().Instantiate().value();
    const ArrayView<int32_t, 1> nowhere(device, reinterpret_cast<int32_t*>(0x7f0000000000), {kSize});
    expect(add(stream, ForSize(kSize), nowhere, 1, 1).ok(), "the launch itself is fine");
    const absl::Status status = stream.Synchronize();
    expect(status.code() == absl::StatusCode::kAborted, "the next wait tells");
    expect(status.message().find("CUDA_ERROR_ILLEGAL_ADDRESS (700)") != std::string::npos, "and says what");
    expect(add(stream, ForSize(kSize), x, 1, 1).code() == absl::StatusCode::kAborted, "launches fail");
    expect(exec.Launch(stream).code() == absl::StatusCode::kAborted, "graphs fail");
    expect(x.ToVector().status().code() == absl::StatusCode::kAborted, "copies fail");
    expect(Ints::Zeros(device, 10).status().code() == absl::StatusCode::kAborted, "allocations fail");
    expect(stream.AddHostFunction([] {}).code() == absl::StatusCode::kAborted, "host functions fail");
    // All handles go here, quietly.
  }
  const Device device = Device::Open(CpuDriver()).value();
  const Stream stream = device.CreateStream().value();
  const Ints x = Ints::Zeros(device, kSize).value();
  expect(LoadAdding(device)(stream, ForSize(kSize), x, 1, 1).ok() && x.ToVector().value()[kSize - 1] == 1,
         "the device, opened anew, works");
  return failures;
}

TEST(IllegalAccessDeathTest, FailsFastAndEndsWell) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(std::_Exit(AfterAnIllegalAccess()), testing::ExitedWithCode(0), "");
}

TEST_F(LifetimeTest, AFailedLookUpIsOneError) {  // FC-33
  CompiledKernel compiled = CompiledAdding();
  compiled.name = "subtract";
  EXPECT_EQ(Kernel::Load(device_, compiled).status().code(), absl::StatusCode::kNotFound);
  const Ints x = Ints::Zeros(device_, kSize).value();
  EXPECT_TRUE(add_(stream_, ForSize(kSize), x, 1, 1).ok());
  EXPECT_THAT(x.ToVector().value(), Each(1));
}

}  // namespace
}  // namespace slipway
