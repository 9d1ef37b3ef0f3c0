// Many threads at once: launches of every way, binds, specialisations and frees, on one kernel and on many; and threads
// whose context is somebody else's. Run under ThreadSanitizer too.
#include <algorithm>
#include <atomic>
#include <thread>
#include <tuple>
#include <vector>

#include "slipway/bound_launch.h"
#include "slipway/generic_kernel.h"
#include "tests/launch/expect_launch.h"

namespace slipway {
namespace {

using testing::SizeIs;

// Runs `f(thread)` on `count` threads that start together.
template <class F>
void OnThreads(int count, F&& f) {
  std::atomic<int> waiting{count};
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      for (--waiting; waiting.load() > 0;) std::this_thread::yield();
      f(t);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

class ThreadsTest : public testing::Test {
 protected:
  using Saxpy = TypedKernel<ArrayView<float, 1>, ArrayView<const float, 1>, float>;
  static Signature SaxpySignature() {
    return {ArrayParam(DType::kFloat32, 1), ArrayParam(DType::kFloat32, 1, Layout::kStrided, true),
            ScalarParam(DType::kFloat32)};
  }
  static void SetUpTestSuite() { SetLaunchWarnings(false); }

  Device device_ = Device::Open(NullDriver()).value();
  Stream stream_ = device_.CreateStream().value();
  Kernel kernel_ = Kernel::Load(device_, EmptyKernel(SaxpySignature())).value();
  Saxpy typed_ = Saxpy::From(kernel_).value();
  Array<float, 1> x_ = Array<float, 1>::Empty(device_, 1000).value();
  Array<float, 1> y_ = Array<float, 1>::Empty(device_, 1000).value();
};

TEST_F(ThreadsTest, EveryWayOfOneKernel) {
  const GenericKernel generic("generic", [](const Device& device, const Signature& signature) {
    return Kernel::Load(device, EmptyKernel(signature));
  });
  const BoundLaunch shared = kernel_.Bind(ForSize(100), {y_, x_, 1.0f}).value();
  std::atomic<int> failed{0};
  OnThreads(8, [&](int t) {
    const Stream own = device_.CreateStream().value();
    const Stream& stream = t % 2 == 0 ? stream_ : own;
    BoundLaunch bound = kernel_.Bind(ForSize(100), {y_, x_, 1.0f}).value();
    for (int i = 0; i < 500; ++i) {
      const float a = static_cast<float>(i);
      failed += !kernel_.Launch(stream, ForSize(i), {y_, x_, a}).ok();
      failed += !kernel_(stream, ForSize(i), y_, x_, a).ok();
      failed += !typed_(stream, ForSize(i), y_, x_, a).ok();
      failed += !kernel_.LaunchByName(stream, ForSize(i), {{"p2", a}, {"p0", y_}, {"p1", x_}}).ok();
      failed += !generic(stream, ForSize(i), y_, x_, a).ok();
      failed += !generic(stream, ForSize(i), y_.view(), static_cast<double>(a)).ok();
      failed += !shared.Launch(stream).ok();
      failed += !bound.Set(2, a).ok() + !bound.SetConfig(ForSize(i)).ok() + !bound.Launch(stream).ok();
      failed += !kernel_(device_.DefaultStream(), ForSize(i), y_, x_, a).ok();
      failed += kernel_(stream, ForSize(-1), y_, x_, a).ok();  // Errors are built in parallel, too.
    }
  });
  EXPECT_EQ(failed.load(), 0);
  EXPECT_EQ(generic.counters().compiles, 2u);
}

TEST_F(ThreadsTest, SmallLaunchesAreSaidOnce) {
  SetLaunchWarnings(true);
  const Kernel kernel = Kernel::Load(device_, EmptyKernel({})).value();
  SetLaunchWarnings(false);
  testing::internal::CaptureStderr();
  std::atomic<int> failed{0};
  OnThreads(8, [&](int) {
    for (int i = 0; i < 100; ++i) failed += !kernel(stream_, ForSize(1)).ok();
  });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(failed.load(), 0);
  EXPECT_THAT(said, testing::HasSubstr("was launched with 1 block on"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST_F(ThreadsTest, SixtyFourThreadsMakeOneSpecialisation) {
  std::atomic<int> made{0};
  const GenericKernel generic("generic", [&](const Device& device, const Signature& signature) {
    ++made;
    for (int i = 0; i < 100; ++i) std::this_thread::yield();  // Let the others arrive.
    return Kernel::Load(device, EmptyKernel(signature));
  });
  std::atomic<int> failed{0};
  OnThreads(64, [&](int) { failed += !generic(stream_, ForSize(10), y_, x_, 2.0f).ok(); });
  EXPECT_EQ(made.load(), 1);
  EXPECT_EQ(failed.load(), 0);
  // Several kinds at once, some of which fail: each is made once.
  std::atomic<int> kinds{0};
  const GenericKernel many("many", [&](const Device& device, const Signature& signature) -> absl::StatusOr<Kernel> {
    ++kinds;
    if (signature[0].dtype == DType::kInt8) return absl::InternalError("no");
    return Kernel::Load(device, EmptyKernel(signature));
  });
  OnThreads(64, [&](int t) {
    for (int i = 0; i < 20; ++i) {
      switch ((t + i) % 4) {
        case 0:
          failed += !many(stream_, ForSize(10), 1.0f).ok();
          break;
        case 1:
          failed += !many(stream_, ForSize(10), 1.0).ok();
          break;
        case 2:
          failed += many(stream_, ForSize(10), int8_t{1}).ok();
          break;
        default:
          failed += !many(stream_, ForSize(10), y_).ok();
          failed += many.variants().size() > 3;
      }
    }
  });
  EXPECT_EQ(kinds.load(), 4);
  EXPECT_EQ(failed.load(), 0);
  EXPECT_THAT(many.variants(), SizeIs(3));
}

// Every thread calls with every pair of types, each beginning with another one.
TEST_F(ThreadsTest, ManySpecialisationsAtOnce) {
  std::atomic<int> made{0}, failed{0};
  const GenericKernel generic("generic", [&](const Device& device, const Signature& signature) {
    ++made;
    return Kernel::Load(device, EmptyKernel(signature));
  });
  const std::tuple<int8_t, uint16_t, int32_t, uint64_t, float, double> all;
  const auto call = [&](auto... args) { failed += !generic(stream_, ForSize(10), args..., y_).ok(); };
  OnThreads(8, [&](int t) {
    int turn = t;
    const auto call_with_all = [&](auto a) {
      std::apply([&](auto... b) { ((++turn % 2 == 0 ? call(b, a) : call(a, b)), ...); }, all);
    };
    for (int round = 0; round < 20; ++round) {
      std::apply([&](auto... a) { (call_with_all(a), ...); }, all);
    }
  });
  EXPECT_EQ(made.load(), 6 * 6);
  EXPECT_EQ(failed.load(), 0);
}

// Arrays, kernels, streams and specialisations come and go on every thread while others launch.
TEST(ThreadsObjectsTest, MadeAndFreedWhileOthersLaunch) {
  SetLaunchWarnings(false);
  TakeRecordedLaunches();
  const RecordedObjects before = CountRecordedObjects();
  {
    const Device device = Device::Open(RecordingDriver()).value();
    const Kernel shared = Kernel::Load(device, EmptyKernel({ArrayParam(DType::kFloat32, 1)})).value();
    std::atomic<int> failed{0};
    OnThreads(8, [&](int t) {
      for (int i = 0; i < 100; ++i) {
        const Stream stream = device.CreateStream().value();
        const auto array = Array<float, 1>::Empty(device, 100 + t).value();
        failed += !shared(stream, ForSize(10), array).ok();
        const GenericKernel generic("generic", [](const Device& on, const Signature& signature) {
          return Kernel::Load(on, EmptyKernel(signature));
        });
        failed += !generic(stream, ForSize(10), array).ok();
        const Kernel own = Kernel::Load(device, EmptyKernel({ArrayParam(DType::kFloat32, 1)})).value();
        const BoundLaunch bound = own.Bind(ForSize(10), {array}).value();
        failed += !bound.Launch(stream).ok();
      }
    });
    EXPECT_EQ(failed.load(), 0);
    EXPECT_THAT(TakeRecordedLaunches(), SizeIs(8 * 100 * 3));
  }
  EXPECT_EQ(CountRecordedObjects(), before);
}

// FC-26: each way, from threads that never touched the driver or have another library's context current.
TEST(ThreadsContextTest, ContextsAreLeftAsTheyWere) {
  const Device device = RecordingDevice();
  const Stream stream = device.CreateStream().value();
  const Kernel kernel = Kernel::Load(device, EmptyKernel({ScalarParam(DType::kInt32)})).value();
  const auto typed = TypedKernel<int32_t>::From(kernel).value();
  const BoundLaunch bound = kernel.Bind(ForSize(10), {1}).value();
  CUcontext const theirs = reinterpret_cast<CUcontext>(0x77);
  for (CUcontext context : {CUcontext{nullptr}, theirs, device.context()}) {
    std::thread([&] {
      const DriverApi& api = device.api();
      if (context != nullptr) api.CtxSetCurrent(context);
      for (const bool legacy : {false, true}) {
        const Stream on = legacy ? device.DefaultStream() : Stream::Foreign(device, stream.handle());
        TakeRecordedLaunches();
        EXPECT_TRUE(kernel.Launch(on, ForSize(10), {1}).ok());
        EXPECT_TRUE(kernel(on, ForSize(10), 1).ok());
        EXPECT_TRUE(typed(on, ForSize(10), 1).ok());
        EXPECT_TRUE(bound.Launch(on).ok());
        const GenericKernel generic("generic", [](const Device& made_on, const Signature& signature) {
          return Kernel::Load(made_on, EmptyKernel(signature));  // Loads on this thread.
        });
        EXPECT_TRUE(generic(on, ForSize(10), 1).ok());
        const auto launches = TakeRecordedLaunches();
        EXPECT_THAT(launches, SizeIs(5));
        for (const RecordedLaunch& launch : launches) {
          EXPECT_EQ(launch.context, legacy ? device.context() : context);
        }
        EXPECT_TRUE((Array<float, 1>::Zeros(device, 10).ok()));
        CUcontext now = nullptr;
        api.CtxGetCurrent(&now);
        EXPECT_EQ(now, context);
      }
    }).join();
  }
}

}  // namespace
}  // namespace slipway
