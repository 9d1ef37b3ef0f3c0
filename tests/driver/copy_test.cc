// Copies between device memories: of one device, of two, of two drivers.
#include <array>
#include <atomic>
#include <future>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "slipway/fault_driver.h"
#include "slipway/graph.h"
#include "slipway/memory.h"
#include "slipway/null_driver.h"
#include "tests/driver/adding.h"
#include "tests/driver/backends.h"

namespace slipway {
namespace {

using ::testing::Each;
using ::testing::StartsWith;

class CopyTest : public testing::TestWithParam<Backend> {
 protected:
  bool computes() const { return IsComputing(*GetParam().api); }
  static constexpr size_t kBytes = sizeof(Sums::Values);
  const Device device_ = Device::Open(*GetParam().api).value();
  // Another device of the same driver, or the same one again.
  const Device other_ = Device::Open(*GetParam().api, 1).value_or(device_);
};

TEST_P(CopyTest, IsOrderedByItsStreamOnEitherSide) {
  for (const bool of_source : {true, false}) {
    const Stream stream = (of_source ? device_ : other_).CreateStream().value();
    const Stream first = device_.CreateStream().value();
    const Stream last = other_.CreateStream().value();
    const Sums from(device_);
    const Sums to(other_);
    const Adding add(device_);
    const Adding add_there(other_);
    const Event written = Event::Create(device_).value();
    const Event copied = Event::Create(stream.device()).value();
    add.Launch(first, from, 5);
    ASSERT_TRUE(written.Record(first).ok());
    ASSERT_TRUE(stream.Wait(written).ok());
    ASSERT_TRUE(from.memory().CopyTo(to.memory(), stream, kBytes).ok());
    ASSERT_TRUE(copied.Record(stream).ok());
    ASSERT_TRUE(last.Wait(copied).ok());
    add_there.Launch(last, to, 20);
    ASSERT_TRUE(last.Synchronize().ok());
    if (computes()) {
      EXPECT_THAT(to.Read(), Each(25));
    }
  }
}

TEST_P(CopyTest, PartsOfOneAllocation) {
  const Stream stream = device_.CreateStream().value();
  const DeviceMemory memory = DeviceMemory::Allocate(device_, 16).value();
  const std::array<int, 4> sent = {1, 2, 3, 4};
  ASSERT_TRUE(memory.CopyFromHost(sent.data(), 16).ok());
  ASSERT_TRUE(memory.CopyTo(memory, stream, 8, 0, 8).ok());
  ASSERT_TRUE(memory.CopyTo(memory, stream, 0, 0, 0).ok());
  ASSERT_TRUE(stream.Synchronize().ok());
  std::array<int, 4> back = {};
  ASSERT_TRUE(memory.CopyToHost(back.data(), 16).ok());
  if (computes()) {
    EXPECT_THAT(back, testing::ElementsAre(1, 2, 1, 2));
  }
  EXPECT_EQ(memory.CopyTo(memory, stream, 8, 0, 4),
            absl::InvalidArgumentError("DeviceMemory::CopyTo: 8 bytes from offset 0 and from offset 4 of one "
                                       "allocation overlap; copy by way of other memory"));
  EXPECT_EQ(memory.CopyTo(memory, stream, 9, 8),
            absl::OutOfRangeError("DeviceMemory::CopyTo, source: 9 bytes from offset 8 leave the allocation, which has "
                                  "16 bytes"));
  EXPECT_EQ(memory.CopyTo(memory, stream, 8, 0, 9),
            absl::OutOfRangeError("DeviceMemory::CopyTo, target: 8 bytes from offset 9 leave the allocation, which has "
                                  "16 bytes"));
}

TEST_P(CopyTest, BothSidesAreKeptUntilItIsDone) {
  if (!computes()) GTEST_SKIP() << "nothing is copied";
  const Stream stream = other_.CreateStream().value();
  const Sums to(other_);
  std::promise<void> go_on;
  std::future<void> wait = go_on.get_future();
  ASSERT_TRUE(stream.AddHostFunction([&] { wait.wait(); }).ok());
  std::optional<Sums> from(device_);
  {
    const Stream writer = device_.CreateStream().value();
    Adding(device_).Launch(writer, *from, 9);
    ASSERT_TRUE(writer.Synchronize().ok());
  }
  ASSERT_TRUE(from->memory().CopyTo(to.memory(), stream, kBytes).ok());
  std::thread releases([&] {
    std::this_thread::yield();
    go_on.set_value();
  });
  from.reset();
  const Sums next(device_);  // Where it was, if that was free.
  releases.join();
  ASSERT_TRUE(stream.Synchronize().ok());
  EXPECT_THAT(to.Read(), Each(9));
}

TEST_P(CopyTest, CanBeCaptured) {
  const Stream stream = device_.CreateStream().value();
  std::optional<Sums> from(device_);
  const Sums to(other_);
  Adding(device_).Launch(stream, *from, 3);
  ASSERT_TRUE(stream.Synchronize().ok());
  const Graph graph =
      Graph::Capture(stream, [&] { return from->memory().CopyTo(to.memory(), stream, kBytes); }).value();
  from.reset();
  GraphExec exec = graph.Instantiate().value();
  if (computes()) {
    EXPECT_THAT(to.Read(), Each(0));
  }
  ASSERT_TRUE(exec.Launch(stream).ok());
  ASSERT_TRUE(stream.Synchronize().ok());
  if (computes()) {
    EXPECT_THAT(to.Read(), Each(3));
  }
}

TEST_P(CopyTest, GoesThroughTheHostBetweenDrivers) {
  static const DriverApi second_table = *GetParam().api;
  const Device elsewhere = Device::Open(second_table).value();
  const Adding add(device_);
  const Adding add_there(elsewhere);
  const Stream stream = device_.CreateStream().value();
  const Stream there = elsewhere.CreateStream().value();
  const Sums from(device_);
  const Sums to(elsewhere);
  add.Launch(stream, from, 6);
  add_there.Launch(there, to, 100);  // Comes first, though on a stream that the copy is not given.
  ASSERT_TRUE(from.memory().CopyTo(to.memory(), stream, kBytes).ok());
  if (computes()) {
    EXPECT_THAT(to.Read(), Each(6));
  }
  add.Launch(stream, from, 1);
  ASSERT_TRUE(stream.Synchronize().ok());
  ASSERT_TRUE(from.memory().CopyTo(to.memory(), there, kBytes).ok());
  if (computes()) {
    EXPECT_THAT(to.Read(), Each(7));
  }
  EXPECT_EQ(Graph::Capture(stream, [&] { return from.memory().CopyTo(to.memory(), stream, kBytes); }).status(),
            absl::FailedPreconditionError("DeviceMemory::CopyTo: the stream is captured, and a copy from " +
                                          device_.Describe() + " to " + elsewhere.Describe() +
                                          " goes through the host, so it cannot be; copy before the capture"));
}

INSTANTIATE_TEST_SUITE_P(Drivers, CopyTest, testing::ValuesIn(DriversAtHand()), &NameOf);

TEST(CopyErrorTest, AStreamOfAThirdDevice) {
  const Device null = Device::Open(NullDriver()).value();
  const Device recording = Device::Open(RecordingDriver()).value();
  const DeviceMemory memory = DeviceMemory::Allocate(null, 8).value();
  EXPECT_EQ(memory.CopyTo(memory, recording.CreateStream().value(), 8),
            absl::InvalidArgumentError("DeviceMemory::CopyTo: the stream is of null device (recording:0), the source "
                                       "of null device (null:0) and the target of null device (null:0); give a stream "
                                       "of one of these two"));
}

TEST(CopyErrorTest, EveryCallThatFailsIsReportedAndLeaksNothing) {
  FaultDriver& fault = *FaultDriver::Wrap(RecordingDriver()).value();
  fault.Disarm();
  const Device device = Device::Open(fault.api()).value();
  const Device recording = Device::Open(RecordingDriver()).value();
  const Stream stream = device.CreateStream().value();
  const DeviceMemory a = DeviceMemory::Allocate(device, 64).value();
  const DeviceMemory b = DeviceMemory::Allocate(device, 64).value();
  const DeviceMemory c = DeviceMemory::Allocate(recording, 64).value();
  int reported = 0;
  for (int call = 1;; ++call) {
    const RecordedObjects before = CountRecordedObjects();
    ASSERT_TRUE(fault.Arm({.call = call, .result = CUDA_ERROR_NOT_PERMITTED}).ok());
    absl::Status status = a.CopyTo(b, stream, 64);
    if (status.ok()) status = a.CopyTo(c, stream, 64);
    if (status.ok()) status = c.CopyTo(a, stream, 64);
    const bool fired = fault.fired();
    fault.Disarm();
    ASSERT_EQ(RecordingDriver().CtxSetCurrent(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(CountRecordedObjects(), before);
    if (!fired) break;
    reported += status.ok() ? 0 : 1;
  }
  EXPECT_GT(reported, 8);
}

}  // namespace
}  // namespace slipway
