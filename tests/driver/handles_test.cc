// Streams, events, memory, modules and contexts through their handles: one body for every driver at hand, then what
// happens when a driver fails.
#include <array>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "slipway/device.h"
#include "slipway/fault_driver.h"
#include "slipway/memory.h"
#include "slipway/module.h"
#include "slipway/null_driver.h"
#include "slipway/stream.h"
#include "tests/assembled.h"
#include "tests/driver/backends.h"

namespace slipway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kPtx[] = R"(
.version 6.3
.target sm_70
.address_size 64

.visible .entry store_seven(.param .u64 out)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, 7;
  st.global.u32 [%rd2], %r1;
  ret;
}
)";

// Stores 7 when it has counted to `rounds`.
constexpr char kSlowPtx[] = R"(
.version 6.3
.target sm_70
.address_size 64

.visible .entry store_seven_late(.param .u64 out, .param .u32 rounds)
{
  .reg .pred %p<2>;
  .reg .b32 %r<5>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [rounds];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r2, 0;
LOOP:
  ld.volatile.global.u32 %r3, [%rd2];
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, %r1;
  @%p1 bra LOOP;
  mov.u32 %r4, 7;
  st.global.u32 [%rd2], %r4;
  ret;
}
)";

class HandlesTest : public testing::TestWithParam<Backend> {
 protected:
  const Device device_ = Device::Open(*GetParam().api).value();
  // Whether memory is real, so that what was copied there comes back.
  const bool computes_ = IsComputing(*GetParam().api);
};

class ComputingTest : public HandlesTest {};

TEST_P(HandlesTest, CopiesGoThereAndBack) {
  const DeviceMemory memory = DeviceMemory::Allocate(device_, 16).value();
  EXPECT_NE(memory.address(), 0u);
  EXPECT_EQ(memory.bytes(), 16u);
  const std::array<int, 4> sent = {1, 2, 3, 4};
  std::array<int, 2> back = {};
  EXPECT_TRUE(memory.CopyFromHost(sent.data(), 16).ok());
  EXPECT_TRUE(memory.CopyToHost(back.data(), 8, 4).ok());
  if (computes_) {
    EXPECT_THAT(back, testing::ElementsAre(2, 3));
  }
}

TEST_P(HandlesTest, NoBytesNoAllocation) {
  const DeviceMemory memory = DeviceMemory::Allocate(device_, 0).value();
  EXPECT_EQ(memory.address(), 0u);
  EXPECT_TRUE(memory.CopyFromHost(nullptr, 0).ok());
  EXPECT_TRUE(memory.CopyToHost(nullptr, 0).ok());
}

TEST_P(HandlesTest, CopiesOutsideTheAllocationAreRefused) {
  const DeviceMemory memory = DeviceMemory::Allocate(device_, 16).value();
  char host[32] = {};
  EXPECT_EQ(memory.CopyFromHost(host, 17),
            absl::OutOfRangeError("DeviceMemory::CopyFromHost: 17 bytes from offset 0 leave the allocation, which has "
                                  "16 bytes"));
  EXPECT_EQ(memory.CopyToHost(host, 1, 16).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(memory.CopyToHost(host, ~size_t{0}, 8).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(memory.CopyToHost(host, 0, 17).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(memory.CopyToHost(nullptr, 4),
            absl::InvalidArgumentError("DeviceMemory::CopyToHost: the host pointer is null but count is 4"));
}

TEST_P(HandlesTest, AnAllocationThatCannotBeSaysHowMuchIsFree) {
  const absl::Status status = DeviceMemory::Allocate(device_, size_t{1} << 52).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(status),
              AllOf(StartsWith("cannot allocate 4503599627370496 bytes on " + device_.Describe() + " ("),
                    HasSubstr(" bytes are free): CUDA_ERROR_OUT_OF_MEMORY (2)")));
}

TEST_P(HandlesTest, AKernelRunsOnAStreamAndEventsFollowIt) {
  AssembleAfterTests(kPtx);
  const Module module = Module::LoadPtx(device_, kPtx).value();
  const CUfunction function = module.GetFunction("store_seven").value();
  const DeviceMemory memory = DeviceMemory::Allocate(device_, 4).value();
  for (const bool default_stream : {false, true}) {
    const int zero = 0;
    ASSERT_TRUE(memory.CopyFromHost(&zero, sizeof(zero)).ok());
    const Stream stream = default_stream ? device_.DefaultStream() : device_.CreateStream().value();
    EXPECT_EQ(stream.needs_context(), default_stream);
    EXPECT_EQ(stream.direct_device(), default_stream ? nullptr : device_.state().get());
    const Event start = Event::Create(device_).value();
    const Event end = Event::Create(device_).value();
    ASSERT_TRUE(start.Record(stream).ok());
    CUdeviceptr out = memory.address();
    void* params[] = {&out};
    {
      std::optional<ScopedContext> current;
      if (stream.needs_context()) current.emplace(*device_.state());
      ASSERT_EQ(device_.api().LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream.handle(), params, nullptr),
                CUDA_SUCCESS);
    }
    ASSERT_TRUE(end.Record(stream).ok());
    const Stream other = device_.CreateStream().value();
    EXPECT_TRUE(other.Wait(end).ok());
    EXPECT_TRUE(end.Synchronize().ok());
    EXPECT_EQ(end.Query().value(), true);
    EXPECT_GE(end.MillisecondsSince(start).value(), 0.0f);
    EXPECT_TRUE(stream.Synchronize().ok());
    EXPECT_EQ(stream.Query().value(), true);
    EXPECT_TRUE(other.Synchronize().ok());
    int value = -1;
    ASSERT_TRUE(memory.CopyToHost(&value, sizeof(value)).ok());
    if (computes_) {
      EXPECT_EQ(value, 7);
    }
  }
  EXPECT_TRUE(device_.Synchronize().ok());
}

TEST_P(HandlesTest, EventsWithoutTimingOrder) {
  const Stream stream = device_.CreateStream(-1).value();
  const Event event = Event::Create(device_, /*timing=*/false).value();
  EXPECT_TRUE(event.Record(stream).ok());
  EXPECT_TRUE(event.Synchronize().ok());
}

TEST_P(HandlesTest, ForeignStreamsAreNotDestroyed) {
  Stream owner = device_.CreateStream().value();
  { const Stream foreign = Stream::Foreign(device_, owner.handle()); }
  EXPECT_TRUE(owner.Synchronize().ok());
  EXPECT_TRUE(Stream::Foreign(device_, nullptr).needs_context());
  EXPECT_TRUE(Stream::Foreign(device_, kStreamPerThread).needs_context());
  EXPECT_FALSE(Stream::Foreign(device_, owner.handle()).needs_context());
}

TEST_P(HandlesTest, MovedHandlesHaveOneOwner) {
  Stream a = device_.CreateStream().value();
  Stream b = device_.CreateStream().value();
  const CUstream handle = a.handle();
  b = std::move(a);
  EXPECT_EQ(b.handle(), handle);
  Stream c = std::move(b);
  EXPECT_TRUE(c.Synchronize().ok());

  Event e = Event::Create(device_).value();
  Event f = Event::Create(device_).value();
  f = std::move(e);
  const Event g = std::move(f);
  EXPECT_TRUE(g.Record(c).ok());

  DeviceMemory m = DeviceMemory::Allocate(device_, 8).value();
  DeviceMemory n = DeviceMemory::Allocate(device_, 16).value();
  n = std::move(m);
  EXPECT_EQ(n.bytes(), 8u);
  EXPECT_EQ(m.address(), 0u);  // NOLINT(bugprone-use-after-move): what a moved-from handle promises.
}

TEST_P(HandlesTest, TheCallersContextIsPutBack) {
  const DriverApi& api = device_.api();
  ASSERT_EQ(Current(api), nullptr);
  const auto use_everything = [&] {
    const Stream stream = device_.CreateStream().value();
    const Event event = Event::Create(device_).value();
    const DeviceMemory memory = DeviceMemory::Allocate(device_, 64).value();
    const Module module = Module::LoadPtx(device_, kPtx).value();
    char host[64] = {};
    EXPECT_TRUE(module.GetFunction("store_seven").ok());
    EXPECT_TRUE(memory.CopyFromHost(host, 64).ok());
    EXPECT_TRUE(event.Record(device_.DefaultStream()).ok());
    EXPECT_TRUE(stream.Wait(event).ok());
    EXPECT_TRUE(stream.Synchronize().ok());
    EXPECT_TRUE(device_.DefaultStream().Synchronize().ok());
    EXPECT_TRUE(device_.Synchronize().ok());
  };
  use_everything();
  EXPECT_EQ(Current(api), nullptr);
  std::thread(use_everything).join();  // A thread that never had a context.

  {
    const ScopedContext current(*device_.state());
    EXPECT_TRUE(current.ok());
    EXPECT_TRUE(current.status().ok());
    EXPECT_EQ(Current(api), device_.context());
    use_everything();
    EXPECT_EQ(Current(api), device_.context());
  }
  EXPECT_EQ(Current(api), nullptr);

  // A context of somebody else's: another device's where the driver has one, any number where it is not looked at.
  const absl::StatusOr<Device> other = Device::Open(api, 1);
  if (!other.ok() && computes_) return;
  const CUcontext foreign = other.ok() ? other->context() : reinterpret_cast<CUcontext>(0xf0e);
  ASSERT_EQ(api.CtxPushCurrent(foreign), CUDA_SUCCESS);
  use_everything();
  EXPECT_EQ(Current(api), foreign);
  CUcontext popped = nullptr;
  EXPECT_EQ(api.CtxPopCurrent(&popped), CUDA_SUCCESS);
  EXPECT_EQ(popped, foreign);
  EXPECT_EQ(Current(api), nullptr);
}

TEST_P(HandlesTest, ThreadsMayMakeAndDropHandlesOfOneDevice) {
  const DeviceMemory shared = DeviceMemory::Allocate(device_, 64).value();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const Stream stream = device_.CreateStream().value();
        const Event event = Event::Create(device_).value();
        const DeviceMemory memory = DeviceMemory::Allocate(device_, 64).value();
        EXPECT_NE(memory.address(), shared.address());
        EXPECT_TRUE(event.Record(stream).ok());
        EXPECT_TRUE(stream.Wait(event).ok());
        EXPECT_TRUE(stream.Synchronize().ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(HandlesTest, HandlesKeepTheirDeviceOpen) {
  // `device_` is a handle of the same state, so this shows only that nothing dangles; the recording driver's count
  // below shows the rest.
  std::optional<Stream> stream;
  {
    const Device device = Device::Open(*GetParam().api).value();
    stream.emplace(device.CreateStream().value());
  }
  EXPECT_TRUE(stream->Synchronize().ok());
}

TEST_P(HandlesTest, PtxThatCannotBeTextIsRefused) {
  EXPECT_EQ(Module::LoadPtx(device_, "").status(), absl::InvalidArgumentError("Module::LoadPtx: the PTX is empty"));
  std::string ptx = kPtx;
  ptx[10] = '\0';
  EXPECT_EQ(Module::LoadPtx(device_, ptx).status(),
            absl::InvalidArgumentError("Module::LoadPtx: the PTX has a zero byte at offset 10 of " +
                                       std::to_string(ptx.size()) +
                                       ", where the driver would stop reading; give text without it"));
}

TEST_P(ComputingTest, PtxThatDoesNotParseIsRefused) {
  const absl::Status status =
      Module::LoadPtx(device_, ".version 6.3\n.target sm_70\n.address_size 64\n.entry k() { bogus.u32 %r1; }").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status),
              AllOf(StartsWith("cannot load the PTX on " + device_.Describe() + ": CUDA_ERROR_"), HasSubstr("bogus")));
}

TEST_P(ComputingTest, HandlesMayGoWhileTheirWorkIsQueued) {
  const DeviceMemory memory = DeviceMemory::Allocate(device_, 4).value();
  const int zero = 0;
  ASSERT_TRUE(memory.CopyFromHost(&zero, sizeof(zero)).ok());
  {
    AssembleAfterTests(kSlowPtx);
    const Module module = Module::LoadPtx(device_, kSlowPtx).value();
    const CUfunction function = module.GetFunction("store_seven_late").value();
    const Stream stream = device_.CreateStream().value();
    CUdeviceptr out = memory.address();
    uint32_t rounds = 3000000;
    void* params[] = {&out, &rounds};
    ASSERT_EQ(device_.api().LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream.handle(), params, nullptr),
              CUDA_SUCCESS);
  }
  ASSERT_TRUE(device_.Synchronize().ok());
  int value = -1;
  ASSERT_TRUE(memory.CopyToHost(&value, sizeof(value)).ok());
  EXPECT_EQ(value, 7);
}

TEST_P(ComputingTest, AFailedLookUpLeavesNoErrorBehind) {  // FC-33
  const Module module = Module::LoadPtx(device_, kPtx).value();
  EXPECT_FALSE(module.GetFunction("store_eight").ok());
  EXPECT_TRUE(module.GetFunction("store_seven").ok());
  EXPECT_TRUE(device_.Synchronize().ok());
}

TEST_P(ComputingTest, AKernelThatTheModuleLacks) {
  const Module module = Module::LoadPtx(device_, kPtx).value();
  EXPECT_EQ(module.device(), device_);
  EXPECT_EQ(module.GetFunction("store_eight").status(),
            absl::NotFoundError("the module has no kernel 'store_eight'; it has store_seven (names as in the PTX: C++ "
                                "kernels are mangled unless they are extern \"C\")"));
}

INSTANTIATE_TEST_SUITE_P(Drivers, HandlesTest, testing::ValuesIn(DriversAtHand()), &NameOf);
INSTANTIATE_TEST_SUITE_P(Drivers, ComputingTest, testing::ValuesIn(ComputingDrivers()), &NameOf);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ComputingTest);  // Without the CPU device and a GPU.

// ---- What goes wrong.

TEST(MismatchTest, EventsAndStreamsOfDifferentDrivers) {
  const Device null = Device::Open(NullDriver()).value();
  const Device recording = Device::Open(RecordingDriver()).value();
  const Stream stream = null.CreateStream().value();
  const Event event = Event::Create(recording).value();
  const Event other = Event::Create(null).value();
  EXPECT_EQ(stream.Wait(event),
            absl::InvalidArgumentError("Stream::Wait: the event belongs to null device (recording:0) and the stream to "
                                       "null device (null:0), which is another driver; synchronize the event on the "
                                       "host"));
  EXPECT_EQ(event.Record(stream), absl::InvalidArgumentError(
                                      "Event::Record: the stream belongs to null device (null:0) and the event to null "
                                      "device (recording:0); create the event on the stream's device"));
  EXPECT_EQ(event.MillisecondsSince(other).status(),
            absl::InvalidArgumentError("Event::MillisecondsSince: the events belong to null device (null:0) and null "
                                       "device (recording:0); time can be measured on one device only"));
}

TEST(ModuleTest, MessagesCarryTheDriversLogAndVersions) {
  static DriverApi api = RecordingDriver();
  const Device device = Device::Open(api).value();
  api.ModuleLoadDataEx = [](CUmodule*, const void*, unsigned count, CUjit_option* options, void** values) {
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] == CU_JIT_ERROR_LOG_BUFFER) std::snprintf(static_cast<char*>(values[i]), 64, "line 3: bad\n");
    }
    return CUDA_ERROR_INVALID_PTX;
  };
  EXPECT_EQ(
      Module::LoadPtx(device, kPtx).status(),
      absl::InvalidArgumentError("cannot load the PTX on null device (recording:0): CUDA_ERROR_INVALID_PTX (218): "
                                 "the PTX does not compile\nline 3: bad"));
  api.ModuleLoadDataEx = [](CUmodule*, const void*, unsigned, CUjit_option*, void**) {
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  };
  EXPECT_EQ(Module::LoadPtx(device, ".version 99.1\n.target sm_90\n").status(),
            absl::UnimplementedError("cannot load the PTX on null device (recording:0): "
                                     "CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222): the PTX version is newer than the "
                                     "driver. The PTX is of ISA version 99.1, the driver of CUDA 13.0: emit an older "
                                     "PTX version or install a newer driver"));
  EXPECT_THAT(Message(Module::LoadPtx(device, ".target sm_90\n").status()),
              HasSubstr(". The PTX is of ISA version (none stated), the driver of CUDA 13.0: "));
}

TEST(ModuleTest, AModuleWithoutKernelsSaysSo) {
  static DriverApi api = RecordingDriver();
  api.ModuleGetFunction = [](CUfunction*, CUmodule, const char*) { return CUDA_ERROR_NOT_FOUND; };
  const Device device = Device::Open(api).value();
  const Module module = Module::LoadPtx(device, ".version 6.3\n").value();
  EXPECT_THAT(Message(module.GetFunction("k").status()), StartsWith("the module has no kernel 'k'; it has none ("));
}

// Everything that a program does with handles, stopping at the first error.
absl::Status UseEverything(const DriverApi& api) {
  absl::StatusOr<Device> device = Device::Open(api);
  if (!device.ok()) return device.status();
  absl::StatusOr<Stream> stream = device->CreateStream();
  if (!stream.ok()) return stream.status();
  absl::StatusOr<Event> start = Event::Create(*device);
  if (!start.ok()) return start.status();
  absl::StatusOr<Event> end = Event::Create(*device);
  if (!end.ok()) return end.status();
  absl::StatusOr<DeviceMemory> memory = DeviceMemory::Allocate(*device, 256);
  if (!memory.ok()) return memory.status();
  absl::StatusOr<Module> module = Module::LoadPtx(*device, kPtx);
  if (!module.ok()) return module.status();
  absl::StatusOr<CUfunction> function = module->GetFunction("store_seven");
  if (!function.ok()) return function.status();
  char host[256] = {};
  absl::Status status = memory->CopyFromHost(host, sizeof(host));
  if (status.ok()) status = start->Record(*stream);
  if (status.ok()) status = end->Record(*stream);
  if (status.ok()) status = stream->Wait(*start);
  if (status.ok()) status = end->Synchronize();
  if (status.ok()) status = end->Query().status();
  if (status.ok()) status = end->MillisecondsSince(*start).status();
  if (status.ok()) status = stream->Query().status();
  if (status.ok()) status = stream->Synchronize();
  if (status.ok()) status = memory->CopyToHost(host, sizeof(host));
  if (status.ok()) status = device->Synchronize();
  return status;
}

int64_t Sum(const RecordedObjects& objects) {
  return objects.retained_contexts + objects.modules + objects.streams + objects.events + objects.allocations +
         objects.host_allocations;
}

TEST(FailureTest, EveryCallThatFailsIsReportedAndLeaksNothing) {
  FaultDriver& fault = *FaultDriver::Wrap(RecordingDriver()).value();
  fault.Disarm();
  int reported = 0, unreported = 0;
  for (int call = 1;; ++call) {
    const RecordedObjects before = CountRecordedObjects();
    ASSERT_TRUE(fault.Arm({.call = call, .result = CUDA_ERROR_NOT_PERMITTED}).ok());
    const absl::Status status = UseEverything(fault.api());
    const bool fired = fault.fired();
    fault.Disarm();
    ASSERT_EQ(RecordingDriver().CtxSetCurrent(nullptr),
              CUDA_SUCCESS);  // Undoes a failed return to the caller's context.
    if (!fired) {
      EXPECT_TRUE(status.ok()) << status;
      break;
    }
    if (status.ok()) {
      // A destructor's own call failed, or the return to the caller's context: nobody to tell, and at most the one
      // object is left with the driver.
      ++unreported;
      EXPECT_LE(Sum(CountRecordedObjects()) - Sum(before), 1) << "after call " << call;
      continue;
    }
    ++reported;
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
    EXPECT_EQ(CountRecordedObjects(), before) << "after call " << call << ": " << status;
  }
  EXPECT_GT(reported, 40);
  EXPECT_GT(unreported, 6);
}

TEST(FailureTest, DestructorsAreCalmWhenTheContextIsDead) {
  FaultDriver& fault = *FaultDriver::Wrap(RecordingDriver()).value();
  for (const CUresult result :
       {CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_DEINITIALIZED}) {
    fault.Disarm();
    const Device device = Device::Open(fault.api()).value();
    Stream stream = device.CreateStream().value();
    Event event = Event::Create(device).value();
    DeviceMemory memory = DeviceMemory::Allocate(device, 64).value();
    Module module = Module::LoadPtx(device, kPtx).value();
    ASSERT_TRUE(fault.Arm({.call = 1, .result = result, .sticky = true}).ok());
    char host = 0;
    EXPECT_FALSE(stream.Synchronize().ok());
    EXPECT_FALSE(memory.CopyToHost(&host, 1).ok());
    EXPECT_FALSE(stream.Query().ok());
    // The handles go now, each with a driver that refuses everything.
  }
  fault.Disarm();
}

TEST(FailureTest, NothingIsDoneInTheCallersContextIfOursCannotBeMadeCurrent) {
  FaultDriver& fault = *FaultDriver::Wrap(RecordingDriver()).value();
  const Device device = Device::Open(fault.api()).value();
  const RecordedObjects before = CountRecordedObjects();
  ASSERT_TRUE(fault.Arm({.function = "CtxSetCurrent", .result = CUDA_ERROR_CONTEXT_IS_DESTROYED, .sticky = true}).ok());
  const absl::Status expected = absl::FailedPreconditionError(
      "cannot make the device's context current: CUDA_ERROR_CONTEXT_IS_DESTROYED (709): the context was destroyed");
  EXPECT_EQ(device.CreateStream().status(), expected);
  EXPECT_EQ(Event::Create(device).status(), expected);
  EXPECT_EQ(DeviceMemory::Allocate(device, 8).status(), expected);
  EXPECT_EQ(Module::LoadPtx(device, kPtx).status(), expected);
  EXPECT_EQ(device.Synchronize(), expected);
  fault.Disarm();
  EXPECT_EQ(CountRecordedObjects(), before);
}

}  // namespace
}  // namespace slipway
