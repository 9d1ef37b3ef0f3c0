// Memory of streams: the pool, an application's own, uses on other streams; and host memory.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "driver/allocators.h"
#include "driver/caching_allocator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "slipway/allocator.h"
#include "slipway/fault_driver.h"
#include "slipway/graph.h"
#include "slipway/host_memory.h"
#include "slipway/memory.h"
#include "slipway/null_driver.h"
#include "tests/driver/backends.h"

namespace slipway {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

// A stream that does nothing from Hold to Release.
class HeldStream {
 public:
  explicit HeldStream(const Device& device) : stream_(device.CreateStream().value()) {
    auto held = released_.get_future().share();
    EXPECT_TRUE(stream_.AddHostFunction([held] { held.wait(); }).ok());
  }
  ~HeldStream() { Release(); }
  const Stream& operator*() const { return stream_; }
  const Stream* operator->() const { return &stream_; }
  void Release() {
    if (!std::exchange(is_released_, true)) released_.set_value();
  }

 private:
  std::promise<void> released_;
  bool is_released_ = false;
  Stream stream_;
};

class MemoryTest : public testing::TestWithParam<Backend> {
 protected:
  bool computes() const { return IsComputing(*GetParam().api); }
  const Device device_ = Device::Open(*GetParam().api).value();
};

TEST_P(MemoryTest, OfAStreamIsAllocatedAndFreedInItsOrder) {
  const Stream stream = device_.CreateStream().value();
  for (int i = 0; i < 3; ++i) {
    const DeviceMemory memory = DeviceMemory::Allocate(stream, 1000).value();
    EXPECT_EQ(memory.bytes(), 1000u);
    EXPECT_EQ(memory.address() % 256, 0u);
    EXPECT_EQ(memory.home(), stream.handle());
    ASSERT_TRUE(memory.QueueZeros(stream, 1000).ok());
    std::vector<unsigned char> back(1000, 1);
    ASSERT_TRUE(memory.QueueToHost(stream, back.data(), 1000).ok());
    ASSERT_TRUE(stream.Synchronize().ok());
    if (computes()) {
      EXPECT_THAT(back, Each(0));
    }
  }
  const DeviceMemory nothing = DeviceMemory::Allocate(stream, 0).value();
  EXPECT_EQ(nothing.address(), 0u);
  EXPECT_EQ(nothing.home(), nullptr);
}

TEST_P(MemoryTest, OutlivesItsStream) {
  std::optional<Stream> stream = device_.CreateStream().value();
  std::optional<DeviceMemory> memory = DeviceMemory::Allocate(*stream, 4096).value();
  ASSERT_TRUE(memory->QueueZeros(*stream, 4096).ok());
  stream.reset();
  std::vector<unsigned char> back(4096, 1);
  ASSERT_TRUE(memory->CopyToHost(back.data(), 4096).ok());
  if (computes()) {
    EXPECT_THAT(back, Each(0));
  }
  memory.reset();
  EXPECT_TRUE(device_.Synchronize().ok());
}

TEST_P(MemoryTest, IsKeptForUsesOnOtherStreams) {
  if (!computes()) GTEST_SKIP() << "nothing runs here";
  SetAllocator(device_, std::make_shared<internal::CachingAllocator>(*device_.state()));
  const Stream home = device_.CreateStream().value();
  HeldStream other(device_);
  constexpr size_t kBytes = 1 << 16;
  const HostMemory seen = HostMemory::Pinned(device_, kBytes).value();
  std::optional<DeviceMemory> memory = DeviceMemory::Allocate(home, kBytes).value();
  const CUdeviceptr address = memory->address();
  const std::vector<unsigned char> first(kBytes, 1), second(kBytes, 2);
  ASSERT_TRUE(memory->CopyFromHost(first.data(), kBytes).ok());
  ASSERT_TRUE(memory->QueueToHost(*other, seen.data(), kBytes).ok());  // Notes the use itself.
  ASSERT_TRUE(memory->RecordUse(*other).ok());
  memory.reset();
  // The same memory again, for work that has to come after the other stream's.
  const DeviceMemory next = DeviceMemory::Allocate(home, kBytes).value();
  EXPECT_EQ(next.address(), address);
  ASSERT_TRUE(next.QueueFromHost(home, second.data(), kBytes).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // Gives a mistake its time; nothing hangs on it.
  other.Release();
  ASSERT_TRUE(other->Synchronize().ok());
  const auto* bytes = static_cast<const unsigned char*>(seen.data());
  EXPECT_THAT(std::vector<unsigned char>(bytes, bytes + kBytes), Each(1));
  SetAllocator(device_, nullptr);
}

TEST_P(MemoryTest, GoesToOtherStreamsOnceItsOwnIsDone) {
  if (!computes()) GTEST_SKIP() << "nothing runs here";
  SetAllocator(device_, std::make_shared<internal::CachingAllocator>(*device_.state()));
  CUdeviceptr address = 0;
  const Stream other = device_.CreateStream().value();
  {
    HeldStream held(device_);
    {
      const DeviceMemory memory = DeviceMemory::Allocate(*held, 3 << 20).value();
      address = memory.address();
    }
    const DeviceMemory meanwhile = DeviceMemory::Allocate(other, 3 << 20).value();
    EXPECT_NE(meanwhile.address(), address);
    held.Release();
    ASSERT_TRUE(held->Synchronize().ok());
    const DeviceMemory after = DeviceMemory::Allocate(other, 3 << 20).value();
    EXPECT_EQ(after.address(), address);
    const DeviceMemory again = DeviceMemory::Allocate(*held, 3 << 20).value();
    EXPECT_NE(again.address(), address);
    address = again.address();
  }
  // Of a stream that is gone.
  std::set<CUdeviceptr> addresses;
  ASSERT_TRUE(device_.Synchronize().ok());
  std::vector<DeviceMemory> held;
  for (int i = 0; i < 3; ++i) {
    held.push_back(DeviceMemory::Allocate(other, 3 << 20).value());
    addresses.insert(held.back().address());
  }
  EXPECT_TRUE(addresses.contains(address));
  held.clear();
  SetAllocator(device_, nullptr);
}

TEST_P(MemoryTest, ReuseCostsTheDriverNothing) {
  const auto allocator = std::make_shared<internal::CachingAllocator>(*device_.state());
  SetAllocator(device_, allocator);
  const Stream stream = device_.CreateStream().value();
  std::set<CUdeviceptr> addresses;
  for (int i = 0; i < 100; ++i) {
    for (const size_t bytes : {1, 300, 5000, 200000, 3000000}) {
      addresses.insert(DeviceMemory::Allocate(stream, bytes).value().address());
    }
  }
  EXPECT_EQ(addresses.size(), 5u);
  const MemoryStatistics statistics = StatisticsOf(device_);
  EXPECT_EQ(statistics.allocations, 500u);
  EXPECT_EQ(statistics.reused, 495u);
  EXPECT_EQ(statistics.in_use, 0u);
  EXPECT_GE(statistics.held, 5000000u);
  EXPECT_EQ(statistics.peak_held, statistics.held);
  EXPECT_GE(statistics.peak_in_use, 3000000u);
  ASSERT_TRUE(TrimMemory(device_).ok());
  EXPECT_EQ(StatisticsOf(device_).held, 0u);
  SetAllocator(device_, nullptr);
}

TEST_P(MemoryTest, TrimKeepsWhatIsInUse) {
  SetAllocator(device_, std::make_shared<internal::CachingAllocator>(*device_.state()));
  const Stream stream = device_.CreateStream().value();
  const DeviceMemory small = DeviceMemory::Allocate(stream, 100).value();
  const DeviceMemory large = DeviceMemory::Allocate(stream, 4 << 20).value();
  for (int i = 0; i < 2; ++i) static_cast<void>(DeviceMemory::Allocate(stream, 8 << 20).value());
  EXPECT_EQ(StatisticsOf(device_).held, size_t{(2 + 4 + 8) << 20});  // A slab, and two of their own.
  ASSERT_TRUE(TrimMemory(device_, 100 << 20).ok());
  EXPECT_EQ(StatisticsOf(device_).held, size_t{(2 + 4 + 8) << 20});
  ASSERT_TRUE(TrimMemory(device_).ok());
  EXPECT_EQ(StatisticsOf(device_).held, size_t{(2 + 4) << 20});
  const DeviceMemory next = DeviceMemory::Allocate(stream, 100).value();
  EXPECT_EQ(next.address(), small.address() + 256);
  SetAllocator(device_, nullptr);
}

// What an application's pool is asked for. Memory is a counter's.
class CountingAllocator : public Allocator {
 public:
  absl::StatusOr<CUdeviceptr> Allocate(CUstream stream, size_t bytes) override {
    if (full) return absl::ResourceExhaustedError("the application's pool is full");
    last_stream = stream;
    live[next] = bytes;
    return std::exchange(next, next + (bytes + 255) / 256 * 256);
  }
  void Free(CUstream stream, CUdeviceptr address, size_t bytes) override {
    EXPECT_EQ(stream, last_stream);
    EXPECT_EQ(live.at(address), bytes);
    live.erase(address);
  }
  void Forget(CUstream stream) override { forgotten.push_back(stream); }
  void Trim(size_t keep) override {
    EXPECT_EQ(keep, 0u);
    ++trims;
    if (full_until_trimmed) full = false;
  }
  MemoryStatistics Statistics() const override { return {.in_use = 17, .held = 4711}; }

  std::map<CUdeviceptr, size_t> live;
  std::vector<CUstream> forgotten;
  CUstream last_stream = nullptr;
  CUdeviceptr next = CUdeviceptr{1} << 59;
  bool full = false, full_until_trimmed = false;
  int trims = 0;
};

TEST_P(MemoryTest, ComesFromTheApplicationsOwnPool) {
  const auto pool = std::make_shared<CountingAllocator>();
  SetAllocator(device_, pool);
  CUstream handle = nullptr;
  {
    const Stream stream = device_.CreateStream().value();
    handle = stream.handle();
    std::optional<DeviceMemory> memory = DeviceMemory::Allocate(stream, 1000).value();
    EXPECT_EQ(memory->address(), CUdeviceptr{1} << 59);
    EXPECT_EQ(pool->last_stream, stream.handle());
    EXPECT_EQ(StatisticsOf(device_).held, 4711u);
    // It goes back to where it came from.
    SetAllocator(device_, nullptr);
    EXPECT_EQ(pool->live.size(), 1u);
    memory.reset();
    EXPECT_TRUE(pool->live.empty());
    SetAllocator(device_, pool);
  }
  EXPECT_THAT(pool->forgotten, testing::ElementsAre(handle));
  const Stream stream = device_.CreateStream().value();
  pool->full = pool->full_until_trimmed = true;
  EXPECT_TRUE(DeviceMemory::Allocate(stream, 10).ok());
  EXPECT_EQ(pool->trims, 1);
  pool->full = true, pool->full_until_trimmed = false;
  const absl::Status full = DeviceMemory::Allocate(stream, 10).status();
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(full),
              MatchesRegex("cannot allocate 10 bytes on .* \\([0-9]+ of [0-9]+ bytes are free; the pool holds 4711, of "
                           "which 17 are in use\\); free arrays, or TrimMemory of what others hold: the application's "
                           "pool is full"));
  SetAllocator(device_, nullptr);
}

TEST_P(MemoryTest, TooMuchIsSaidWithSizesAndRecoveredFrom) {
  const Stream stream = device_.CreateStream().value();
  const size_t total = device_.properties().total_memory;
  const absl::Status status = DeviceMemory::Allocate(stream, 2 * total).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(Message(status), HasSubstr(absl::StrCat("cannot allocate ", 2 * total, " bytes on ")));
  EXPECT_THAT(Message(status), HasSubstr("bytes are free; the pool holds "));
  EXPECT_TRUE(DeviceMemory::Allocate(stream, 100).ok());
  EXPECT_FALSE(DeviceMemory::Allocate(stream, SIZE_MAX).ok());
  EXPECT_FALSE(DeviceMemory::Allocate(stream, SIZE_MAX / 2).ok());
}

TEST_P(MemoryTest, OfAStreamThatIsCapturedIsTheDevices) {
  const Stream stream = device_.CreateStream().value();
  if (!stream.BeginCapture().ok()) GTEST_SKIP() << "no captures";
  const absl::StatusOr<DeviceMemory> memory = DeviceMemory::Allocate(stream, 64);
  ASSERT_TRUE(stream.EndCapture().ok());
  ASSERT_TRUE(memory.ok()) << memory.status();
  // The null driver does not say that a stream is captured.
  if (std::string_view(GetParam().api->name) != "null") {
    EXPECT_EQ(memory->home(), nullptr);
  }
  EXPECT_EQ(DeviceMemory::Allocate(device_.PerThreadStream(), 64)->home(), nullptr);
  EXPECT_EQ(DeviceMemory::Allocate(device_.DefaultStream(), 64)->home(), kStreamLegacy);
}

TEST_P(MemoryTest, IsFreedWhileItsStreamIsCaptured) {
  if (!computes()) GTEST_SKIP() << "nothing runs here";
  for (const char* kind : {"caching", "off"}) {
    setenv("SLIPWAY_POOL", kind, 1);
    SetAllocator(device_, nullptr);
    const Stream stream = device_.CreateStream().value();
    const Stream other = device_.CreateStream().value();
    std::optional<DeviceMemory> memory = DeviceMemory::Allocate(stream, 64).value();
    std::optional<DeviceMemory> used = DeviceMemory::Allocate(stream, 64).value();
    ASSERT_TRUE(used->RecordUse(other).ok());
    ASSERT_TRUE(stream.BeginCapture().ok());
    memory.reset();
    used.reset();
    const absl::StatusOr<Graph> graph = stream.EndCapture();
    ASSERT_TRUE(graph.ok()) << kind << graph.status();
    EXPECT_EQ(graph->node_count(), 0u) << kind;
  }
  unsetenv("SLIPWAY_POOL");
  SetAllocator(device_, nullptr);
}

TEST_P(MemoryTest, CopiesAreRefusedWhileTheHomeIsCaptured) {
  if (!computes()) GTEST_SKIP() << "nothing runs here";
  const Stream stream = device_.CreateStream().value();
  const DeviceMemory memory = DeviceMemory::Allocate(stream, 64).value();
  ASSERT_TRUE(stream.BeginCapture().ok());
  char bytes[64] = {};
  EXPECT_EQ(memory.CopyFromHost(bytes, 64),
            absl::FailedPreconditionError(
                "DeviceMemory::CopyFromHost: the stream that the memory was allocated for is captured, so what it was "
                "given before cannot be waited for; copy before the capture, or after it"));
  EXPECT_EQ(memory.CopyToHost(bytes, 64).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(stream.EndCapture().ok());
}

TEST_P(MemoryTest, IsAdopted) {
  const auto owner = std::make_shared<int>(5);
  const DeviceMemory whole = DeviceMemory::Allocate(device_, 1024).value();
  {
    const DeviceMemory memory = DeviceMemory::Adopt(device_, whole.address(), 1024, owner).value();
    EXPECT_EQ(owner.use_count(), 2);
    EXPECT_TRUE(memory.CopyTo(whole, device_.DefaultStream(), 0).ok());
    EXPECT_NE(internal::OwnerOf(memory.address() + 1000), nullptr);
  }
  EXPECT_EQ(owner.use_count(), 1);
  // What was known before is still known.
  EXPECT_NE(internal::OwnerOf(whole.address()), nullptr);
  const DeviceMemory foreign = DeviceMemory::Adopt(device_, 0x1234500, 16, nullptr).value();
  EXPECT_NE(internal::OwnerOf(0x1234500), nullptr);
  EXPECT_EQ(DeviceMemory::Adopt(device_, 0, 16, owner).status(),
            absl::InvalidArgumentError(
                "DeviceMemory::Adopt: the address is null but bytes is 16; give the memory's address"));
  EXPECT_TRUE(DeviceMemory::Adopt(device_, 0, 0, owner).ok());
}

TEST_P(MemoryTest, QueuedCopiesCheckTheirArguments) {
  const Stream stream = device_.CreateStream().value();
  const DeviceMemory memory = DeviceMemory::Allocate(stream, 16).value();
  char bytes[16] = {};
  EXPECT_EQ(memory.QueueFromHost(stream, bytes, 17),
            absl::OutOfRangeError(
                "DeviceMemory::QueueFromHost: 17 bytes from offset 0 leave the allocation, which has 16 bytes"));
  EXPECT_EQ(memory.QueueToHost(stream, nullptr, 16),
            absl::InvalidArgumentError("DeviceMemory::QueueToHost: the host pointer is null but count is 16"));
  EXPECT_EQ(memory.QueueZeros(stream, 1, 16),
            absl::OutOfRangeError(
                "DeviceMemory::QueueZeros: 1 bytes from offset 16 leave the allocation, which has 16 bytes"));
  const Device null_device = Device::Open(NullDriver(), 0).value();
  if (!(null_device == device_)) {
    EXPECT_THAT(Message(memory.QueueZeros(null_device.CreateStream().value(), 1)),
                MatchesRegex("DeviceMemory::QueueZeros: the stream is of .* and the memory of .*; give a stream of the "
                             "memory's device"));
  }
}

TEST_P(MemoryTest, HostMemoryOfEveryKind) {
  EXPECT_EQ(HostMemory::Pinned(device_, 0)->data(), nullptr);
  const HostMemory pinned = HostMemory::Pinned(device_, 100).value();
  EXPECT_NE(pinned.data(), nullptr);
  EXPECT_EQ(pinned.address(), 0u);
  for (const absl::StatusOr<HostMemory>& memory :
       {HostMemory::Mapped(device_, 100), HostMemory::Mapped(device_, 100, /*write_combined=*/true),
        HostMemory::Managed(device_, 100)}) {
    ASSERT_TRUE(memory.ok()) << memory.status();
    std::memset(memory->data(), 3, 100);
    EXPECT_NE(memory->address(), 0u);
    EXPECT_EQ(memory->bytes(), 100u);
    if (!computes()) continue;
    const Stream stream = device_.CreateStream().value();
    const DeviceMemory view = DeviceMemory::Adopt(device_, memory->address(), memory->bytes(), memory->owner()).value();
    ASSERT_TRUE(view.QueueZeros(stream, 99).ok());
    ASSERT_TRUE(stream.Synchronize().ok());
    EXPECT_EQ(static_cast<const char*>(memory->data())[98], 0);
    EXPECT_EQ(static_cast<const char*>(memory->data())[99], 3);
  }
  std::vector<char> own(4096, 3);
  {
    const HostMemory registered = HostMemory::Register(device_, own.data(), own.size()).value();
    EXPECT_EQ(registered.data(), own.data());
    EXPECT_NE(registered.address(), 0u);
    if (device_.is_cpu()) {
      // Overlaps are taken, and each lives as long as its owner.
      std::optional<HostMemory> part = HostMemory::Register(device_, own.data(), 100).value();
      part.reset();
      const Stream stream = device_.CreateStream().value();
      const DeviceMemory view = DeviceMemory::Adopt(device_, registered.address(), 4096, registered.owner()).value();
      ASSERT_TRUE(view.QueueZeros(stream, 4095).ok());
      ASSERT_TRUE(stream.Synchronize().ok());
      EXPECT_EQ(own[4094], 0);
      EXPECT_EQ(own[4095], 3);
    }
  }
  if (device_.is_cpu()) {
    const DeviceMemory gone =
        DeviceMemory::Adopt(device_, reinterpret_cast<CUdeviceptr>(own.data()), 16, nullptr).value();
    EXPECT_FALSE(gone.QueueZeros(device_.CreateStream().value(), 16).ok());
  }
  EXPECT_EQ(HostMemory::Register(device_, nullptr, 8).status(),
            absl::InvalidArgumentError("HostMemory::Register: the memory is null but bytes is 8; give its address"));
  if (computes()) {
    const absl::Status status = HostMemory::Pinned(device_, size_t{1} << 60).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(Message(status), HasSubstr("cannot get 1152921504606846976 bytes of pinned host memory for "));
  }
}

// To be run under ThreadSanitizer too: 8 threads, each with streams of its own, that allocate, fill, hand over, check.
TEST_P(MemoryTest, EightThreadsShareOnePool) {
  SetAllocator(device_, std::make_shared<internal::CachingAllocator>(*device_.state()));
  std::atomic<int> wrong{0};
  const bool checked = computes();
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int round = 0; round < 4; ++round) {
      const Stream a = device_.CreateStream().value(), b = device_.CreateStream().value();
      for (int i = 0; i < 60; ++i) {
        const size_t bytes = size_t{1} << (4 + random() % 14);
        const auto value = static_cast<unsigned char>(random());
        const std::vector<unsigned char> sent(bytes, value);
        std::vector<unsigned char> back(bytes);
        absl::StatusOr<DeviceMemory> memory = DeviceMemory::Allocate(a, bytes);
        bool fine = memory.ok() && memory->QueueFromHost(a, sent.data(), bytes).ok();
        absl::StatusOr<Event> event = Event::Create(device_, false);
        fine = fine && event.ok() && event->Record(a).ok() && b.Wait(*event).ok();
        fine = fine && memory->QueueToHost(b, back.data(), bytes).ok() && (i % 4 != 0 || b.Synchronize().ok());
        if (fine && checked && i % 4 == 0) fine = back == sent;
        if (!fine) ++wrong;
        // What b reads into ordinary memory has been read when QueueToHost returns.
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(StatisticsOf(device_).in_use, 0u);
  SetAllocator(device_, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Drivers, MemoryTest, testing::ValuesIn(DriversAtHand()), NameOf);

TEST(MemoryClassesTest, WasteAtMostAnEighth) {
  using internal::CachingAllocator;
  size_t before = 0;
  for (size_t bytes = 1; bytes < (size_t{1} << 34); bytes += 1 + bytes / 37) {
    const size_t rounded = CachingAllocator::RoundUp(bytes);
    EXPECT_GE(rounded, bytes);
    EXPECT_EQ(rounded % 256, 0u);
    EXPECT_LE(rounded, std::max(bytes + bytes / 8 + 1, (bytes + 255) / 256 * 256)) << bytes;
    EXPECT_GE(rounded, before);
    EXPECT_EQ(CachingAllocator::RoundUp(rounded), rounded);
    before = rounded;
  }
  EXPECT_EQ(CachingAllocator::RoundUp(SIZE_MAX), SIZE_MAX);
}

TEST(MemoryLeaksTest, ClosingTheDeviceGivesAllBack) {
  for (const char* kind : {"caching", "driver", "off"}) {
    setenv("SLIPWAY_POOL", kind, 1);
    const RecordedObjects before = CountRecordedObjects();
    {
      const Device device = Device::Open(RecordingDriver()).value();
      for (int i = 0; i < 10; ++i) {
        const Stream stream = device.CreateStream().value(), other = device.CreateStream().value();
        const DeviceMemory memory = DeviceMemory::Allocate(stream, 1000 << i).value();
        EXPECT_TRUE(memory.RecordUse(other).ok());
        const HostMemory host = HostMemory::Mapped(device, 64).value();
      }
    }
    const RecordedObjects after = CountRecordedObjects();
    EXPECT_EQ(after.allocations, before.allocations) << kind;
    EXPECT_EQ(after.host_allocations, before.host_allocations) << kind;
    EXPECT_EQ(after.streams, before.streams) << kind;
    EXPECT_EQ(after.events, before.events) << kind;
    EXPECT_EQ(after.retained_contexts, before.retained_contexts) << kind;
  }
  unsetenv("SLIPWAY_POOL");
}

TEST(MemoryFaultsTest, EveryCallMayFail) {
  FaultDriver& fault = *FaultDriver::Wrap(RecordingDriver()).value();
  for (const char* kind : {"caching", "driver", "off"}) {
    setenv("SLIPWAY_POOL", kind, 1);
    const RecordedObjects before = CountRecordedObjects();
    int failed = 0;
    for (int call = 1; call < 200; ++call) {
      const Device device = Device::Open(fault.api()).value();
      {
        const Stream stream = device.CreateStream().value(), other = device.CreateStream().value();
        ASSERT_TRUE(fault.Arm({.call = call, .result = CUDA_ERROR_OUT_OF_MEMORY}).ok());
        absl::StatusOr<DeviceMemory> memory = DeviceMemory::Allocate(stream, 1000);
        if (memory.ok()) static_cast<void>(memory->RecordUse(other));
        memory = absl::CancelledError();
        static_cast<void>(HostMemory::Managed(device, 100));
        failed += fault.fired() ? 1 : 0;
        fault.Disarm();
        ASSERT_EQ(fault.api().CtxSetCurrent(nullptr), CUDA_SUCCESS);  // Putting it back may have been what failed.
      }
    }
    EXPECT_GT(failed, 5);
    const RecordedObjects after = CountRecordedObjects();
    // What the driver refuses to give back, or to make its context current for, is lost; nothing else may be.
    EXPECT_EQ(after.streams, before.streams) << kind;
    EXPECT_LE(after.events, before.events + 3) << kind;
  }
  unsetenv("SLIPWAY_POOL");
}

}  // namespace
}  // namespace slipway
