// Streams: which there are, what their handles say when they cannot be used, and host functions.
#include "slipway/stream.h"

#include <atomic>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "slipway/fault_driver.h"
#include "slipway/graph.h"
#include "slipway/null_driver.h"
#include "tests/driver/adding.h"
#include "tests/driver/backends.h"

namespace slipway {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class StreamTest : public testing::TestWithParam<Backend> {
 protected:
  bool computes() const { return IsComputing(*GetParam().api); }
  const Device device_ = Device::Open(*GetParam().api).value();
};

TEST_P(StreamTest, PrioritiesAreClampedToTheRange) {
  const PriorityRange range = device_.StreamPriorities().value();
  EXPECT_LE(range.greatest, range.least);
  if (!computes()) return;  // The null drivers keep none.
  EXPECT_EQ(device_.CreateStream(range.greatest).value().Priority().value(), range.greatest);
  EXPECT_EQ(device_.CreateStream(range.greatest - 7).value().Priority().value(), range.greatest);
  EXPECT_EQ(device_.CreateStream(range.least + 7).value().Priority().value(), range.least);
  EXPECT_EQ(device_.CreateStream().value().Priority().value(), 0);
}

TEST_P(StreamTest, ThePerThreadStreamIsTheThreadsOwn) {
  const Stream stream = device_.PerThreadStream();
  EXPECT_TRUE(stream.needs_context());
  EXPECT_EQ(stream.handle(), kStreamPerThread);
  EXPECT_EQ(stream.direct_device(), nullptr);
  EXPECT_TRUE(stream.CheckUsable().ok());
  std::atomic<int> runs{0};
  const auto use = [&] {
    EXPECT_TRUE(stream.AddHostFunction([&] { ++runs; }).ok());
    EXPECT_TRUE(stream.Synchronize().ok());
  };
  use();
  std::thread(use).join();
  EXPECT_EQ(runs, 2);
  const Graph graph = Graph::Capture(stream, [] { return absl::OkStatus(); }).value();
  EXPECT_EQ(stream.direct_device(), nullptr);
  GraphExec exec = graph.Instantiate().value();
  EXPECT_TRUE(exec.Launch(stream).ok());
  EXPECT_TRUE(stream.Synchronize().ok());
}

TEST_P(StreamTest, OneThatWasMovedFromSaysSo) {
  Stream stream = device_.CreateStream().value();
  const Stream other = std::move(stream);
  const Event event = Event::Create(device_).value();
  const absl::Status refused =
      absl::FailedPreconditionError("the stream was moved from; use the one that it was moved to");
  EXPECT_EQ(stream.CheckUsable(), refused);  // NOLINT(bugprone-use-after-move): what a moved-from handle says.
  EXPECT_EQ(stream.direct_device(), nullptr);
  EXPECT_EQ(stream.Synchronize(), refused);
  EXPECT_EQ(stream.Query().status(), refused);
  EXPECT_EQ(stream.Priority().status(), refused);
  EXPECT_EQ(stream.Wait(event), refused);
  EXPECT_EQ(event.Record(stream), refused);
  EXPECT_EQ(stream.AddHostFunction([] {}), refused);
  EXPECT_EQ(stream.BeginCapture(), refused);
  EXPECT_EQ(stream.EndCapture().status(), refused);
  EXPECT_EQ(Graph::Capture(other, [] { return absl::OkStatus(); }).value().Instantiate().value().Launch(stream),
            refused);
  EXPECT_FALSE(stream.IsCapturing());
  stream = device_.CreateStream().value();
  EXPECT_TRUE(stream.CheckUsable().ok());
  EXPECT_TRUE(stream.Synchronize().ok());
  EXPECT_EQ(stream.direct_device(), device_.state().get());
}

#ifndef NDEBUG
TEST_P(StreamTest, OneThatWasDestroyedSaysSo) {
  alignas(Stream) std::byte place[sizeof(Stream)];
  auto* stream = new (place) Stream(device_.CreateStream().value());
  stream->~Stream();
  // Undefined, strictly speaking; that it ends well is what debug builds promise where they can.
  const volatile bool keep = true;
  const Stream* const gone = keep ? std::launder(stream) : nullptr;
  EXPECT_EQ(gone->direct_device(), nullptr);
  EXPECT_EQ(gone->CheckUsable(), absl::FailedPreconditionError("the stream was destroyed; keep it while it is used"));
}
#endif

TEST_P(StreamTest, HostFunctionsRunInOrder) {
  const Stream stream = device_.CreateStream().value();
  std::vector<int> order;
  auto owned = std::make_shared<int>(0);
  std::weak_ptr<int> seen = owned;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(stream.AddHostFunction([&order, owned, i] { order.push_back(i); }).ok());
  }
  owned.reset();
  ASSERT_TRUE(stream.Synchronize().ok());
  EXPECT_THAT(order, testing::ElementsAre(0, 1, 2, 3, 4));
  EXPECT_TRUE(seen.expired());
}

TEST_P(StreamTest, AHostFunctionMayOwnMemory) {
  const Stream stream = device_.CreateStream().value();
  auto sums = std::make_shared<const Sums>(device_);
  const CUdeviceptr address = sums->address();
  ASSERT_TRUE(stream.AddHostFunction([sums] {}).ok());
  sums.reset();  // Now it goes with the function, which a thread of the driver's runs.
  ASSERT_TRUE(stream.Synchronize().ok());
  EXPECT_EQ(internal::OwnerOf(address), nullptr);
  EXPECT_TRUE(device_.Synchronize().ok());
}

TEST_P(StreamTest, AHostFunctionHasToBeOne) {
  const Stream stream = device_.CreateStream().value();
  EXPECT_EQ(stream.AddHostFunction(nullptr),
            absl::InvalidArgumentError("Stream::AddHostFunction: the function is empty; give one that can be called"));
}

INSTANTIATE_TEST_SUITE_P(Drivers, StreamTest, testing::ValuesIn(DriversAtHand()), &NameOf);

// ---- Where work runs.

class OrderTest : public testing::TestWithParam<Backend> {
 protected:
  const Device device_ = Device::Open(*GetParam().api).value();
};

TEST_P(OrderTest, AStreamWaitsForAnEventOfAnotherDevice) {
  const absl::StatusOr<Device> other = Device::Open(device_.api(), 1);
  const Device second = other.ok() ? *other : device_;
  const Stream first_stream = device_.CreateStream().value();
  const Stream second_stream = second.CreateStream().value();
  const Event event = Event::Create(device_).value();
  std::promise<void> go_on;
  std::future<void> wait = go_on.get_future();
  std::atomic<int> step{0};
  ASSERT_TRUE(first_stream
                  .AddHostFunction([&] {
                    wait.wait();
                    step = 1;
                  })
                  .ok());
  ASSERT_TRUE(event.Record(first_stream).ok());
  ASSERT_TRUE(second_stream.Wait(event).ok());
  int seen = -1;
  ASSERT_TRUE(second_stream.AddHostFunction([&] { seen = step; }).ok());
  EXPECT_FALSE(second_stream.Query().value());
  go_on.set_value();
  ASSERT_TRUE(second_stream.Synchronize().ok());
  EXPECT_EQ(seen, 1);
  ASSERT_TRUE(first_stream.Synchronize().ok());
}

TEST_P(OrderTest, AForeignStreamOfAnotherDeviceIsRefusedByName) {
  const absl::StatusOr<Device> other = Device::Open(device_.api(), 1);
  if (!other.ok()) GTEST_SKIP() << "one device only";
  const Stream theirs = other->CreateStream().value();
  const Stream stream = Stream::Foreign(device_, theirs.handle());
  const absl::Status refused = absl::InvalidArgumentError(
      "Stream::Foreign: the stream belongs to " + other->Describe() + " and was given as one of " + device_.Describe() +
      "; name the device that it was created on");
  EXPECT_EQ(stream.CheckUsable(), refused);
  EXPECT_EQ(stream.direct_device(), nullptr);
  EXPECT_EQ(stream.Synchronize(), refused);
  EXPECT_EQ(stream.AddHostFunction([] {}), refused);
  EXPECT_TRUE(theirs.Synchronize().ok());
  EXPECT_TRUE(Stream::Foreign(*other, theirs.handle()).CheckUsable().ok());
}

TEST_P(OrderTest, DevicesAreCountedAndFoundById) {
  const std::string name = device_.api().name;
  const int count = Device::Count(name).value();
  const std::vector<Device> all = Device::All(name).value();
  ASSERT_EQ(static_cast<int>(all.size()), count);
  EXPECT_EQ(all[0], device_);
  for (const Device& device : all) EXPECT_EQ(Device::FromId(device.id()).value(), device);
  EXPECT_THAT(Device::All().value(), testing::IsSupersetOf(all));
}

INSTANTIATE_TEST_SUITE_P(Drivers, OrderTest, testing::ValuesIn(ComputingDrivers()), &NameOf);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OrderTest);  // Without the CPU device and a GPU.

// ---- What goes wrong.

TEST(DeviceListTest, NamesAndIdsThatAreNone) {
  for (const absl::Status& status : {Device::Count("gpu").status(), Device::All("gpu").status()}) {
    EXPECT_EQ(status, absl::NotFoundError("there is no driver 'gpu'; give 'cuda', 'cpu' or 'host'"));
  }
  uint16_t id = 0;
  {
    static DriverApi api = RecordingDriver();
    const Device device = Device::Open(api).value();
    id = device.id();
    EXPECT_EQ(Device::FromId(id).value(), device);
  }
  EXPECT_EQ(Device::FromId(id).status(),
            absl::NotFoundError("no device with the id " + std::to_string(id) + " is open; it may have been closed"));
}

// A table of the recording driver's whose streams belong to a context of somebody else's.
CUcontext owner_of_streams = nullptr;
CUdevice device_of_owner = 0;
DriverApi TableWithForeignStreams() {
  DriverApi api = RecordingDriver();
  api.StreamGetCtx = [](CUstream, CUcontext* context) {
    *context = owner_of_streams;
    return CUDA_SUCCESS;
  };
  api.CtxGetDevice = [](CUdevice* device) {
    CUcontext current = nullptr;
    if (RecordingDriver().CtxGetCurrent(&current) != CUDA_SUCCESS || current != owner_of_streams) {
      return CUDA_ERROR_INVALID_CONTEXT;
    }
    *device = device_of_owner;
    return CUDA_SUCCESS;
  };
  return api;
}

TEST(ForeignStreamTest, ContextsOfOthersAreTold) {
  static DriverApi api = TableWithForeignStreams();
  const Device device = Device::Open(api).value();
  const auto handle = reinterpret_cast<CUstream>(0x5000);
  owner_of_streams = reinterpret_cast<CUcontext>(0xf0e);
  EXPECT_EQ(Stream::Foreign(device, handle).CheckUsable(),
            absl::InvalidArgumentError("Stream::Foreign: the stream belongs to another context of null device "
                                       "(recording:0) and was given as one of null device (recording:0); name the "
                                       "device that it was created on"));
  device_of_owner = 3;
  EXPECT_THAT(
      Message(Stream::Foreign(device, handle).CheckUsable()),
      StartsWith("Stream::Foreign: the stream belongs to another device of the driver 'recording' (number 3) "));
  api.CtxPushCurrent = [](CUcontext) { return CUDA_ERROR_CONTEXT_IS_DESTROYED; };
  EXPECT_THAT(Message(Stream::Foreign(device, handle).CheckUsable()),
              StartsWith("Stream::Foreign: the stream belongs to another context and was given as one of "));
  api.StreamGetCtx = [](CUstream, CUcontext*) { return CUDA_ERROR_INVALID_HANDLE; };
  EXPECT_THAT(Message(Stream::Foreign(device, handle).CheckUsable()),
              StartsWith("Stream::Foreign: the driver does not know the stream that was given: CUDA_ERROR_INVALID_"));
  api.StreamGetCtx = nullptr;  // A driver that cannot tell.
  EXPECT_TRUE(Stream::Foreign(device, handle).CheckUsable().ok());
}

// A table of the recording driver's that keeps host functions and runs none.
struct KeptFunction {
  CUhostFn function;
  void* data;
};
std::vector<KeptFunction> kept_functions;
DriverApi TableThatKeepsFunctions() {
  DriverApi api = RecordingDriver();
  api.LaunchHostFunc = [](CUstream, CUhostFn function, void* data) {
    kept_functions.push_back({function, data});
    return CUDA_SUCCESS;
  };
  return api;
}

class HostFunctionTest : public testing::Test {
 protected:
  void SetUp() override { kept_functions.clear(); }
  // Queues a function that owns `owned_`, and gives that up.
  void Queue(const Stream& stream) {
    ASSERT_TRUE(stream.AddHostFunction([owned = std::move(owned_), this] { ++runs_; }).ok());
    EXPECT_FALSE(seen_.expired());
  }
  std::shared_ptr<int> owned_ = std::make_shared<int>(0);
  const std::weak_ptr<int> seen_ = owned_;
  int runs_ = 0;
};

TEST_F(HostFunctionTest, OneThatRanIsDestroyedByALaterCall) {
  static DriverApi api = TableThatKeepsFunctions();
  const Device device = Device::Open(api).value();
  const Stream stream = device.CreateStream().value();
  Queue(stream);
  kept_functions[0].function(kept_functions[0].data);
  EXPECT_EQ(runs_, 1);
  EXPECT_FALSE(seen_.expired());
  const DeviceMemory memory = DeviceMemory::Allocate(device, 8).value();
  EXPECT_TRUE(seen_.expired());
  kept_functions[0].function(kept_functions[0].data);  // No driver does that; nothing comes of it.
  EXPECT_EQ(runs_, 1);
}

TEST_F(HostFunctionTest, WhatAFailedDeviceWillNotRunIsDropped) {
  static DriverApi api = TableThatKeepsFunctions();
  const Device device = Device::Open(api).value();
  const Stream stream = device.CreateStream().value();
  Queue(stream);
  api.StreamSynchronize = [](CUstream) { return CUDA_ERROR_ILLEGAL_ADDRESS; };
  EXPECT_EQ(stream.Synchronize().code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(seen_.expired());
  kept_functions[0].function(kept_functions[0].data);
  EXPECT_EQ(runs_, 0);
}

TEST_F(HostFunctionTest, TheDevicesOwnSynchronizeDropsToo) {
  static DriverApi api = TableThatKeepsFunctions();
  const Device device = Device::Open(api).value();
  Queue(device.CreateStream().value());
  api.CtxSynchronize = [] { return CUDA_ERROR_LAUNCH_FAILED; };
  EXPECT_EQ(device.Synchronize().code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(seen_.expired());
}

TEST_F(HostFunctionTest, WaitingForAnEventDropsToo) {
  static DriverApi api = TableThatKeepsFunctions();
  const Device device = Device::Open(api).value();
  const Event event = Event::Create(device).value();
  for (const CUresult result : {CUDA_ERROR_NOT_READY, CUDA_ERROR_ECC_UNCORRECTABLE}) {
    if (owned_ != nullptr) Queue(device.CreateStream().value());
    static CUresult answer;
    answer = result;
    api.EventSynchronize = [](CUevent) { return answer; };
    EXPECT_FALSE(event.Synchronize().ok());
    EXPECT_EQ(seen_.expired(), result == CUDA_ERROR_ECC_UNCORRECTABLE);
  }
}

TEST_F(HostFunctionTest, OneOfAClosedDeviceIsDropped) {
  static DriverApi api = TableThatKeepsFunctions();
  Queue(Device::Open(api).value().CreateStream().value());
  EXPECT_TRUE(seen_.expired());
  kept_functions[0].function(kept_functions[0].data);
  EXPECT_EQ(runs_, 0);
}

TEST_F(HostFunctionTest, OneThatCannotBeQueuedIsDropped) {
  FaultDriver& fault = *FaultDriver::Wrap(RecordingDriver()).value();
  fault.Disarm();
  const Device device = Device::Open(fault.api()).value();
  const Stream stream = device.CreateStream().value();
  for (const bool captured : {false, true}) {
    auto owned = std::make_shared<int>(0);
    const std::weak_ptr<int> seen = owned;
    if (captured) {
      ASSERT_TRUE(stream.BeginCapture().ok());
    }
    ASSERT_TRUE(fault.Arm({.function = "LaunchHostFunc", .result = CUDA_ERROR_NOT_PERMITTED}).ok());
    EXPECT_THAT(Message(stream.AddHostFunction([owned = std::move(owned)] {})),
                StartsWith("cannot queue a host function on a stream of null device (fault:0): "));
    fault.Disarm();
    EXPECT_TRUE(seen.expired());
  }
  EXPECT_TRUE(stream.EndCapture().ok());
}

}  // namespace
}  // namespace slipway
