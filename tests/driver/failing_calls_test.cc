// The words for each call of the driver's that fails: what Slipway says in front of the driver's own.
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "slipway/fault_driver.h"
#include "slipway/graph.h"
#include "slipway/memory.h"
#include "slipway/module.h"
#include "slipway/null_driver.h"
#include "slipway/stream.h"
#include "tests/driver/adding.h"
#include "tests/driver/backends.h"

namespace slipway {
namespace {

using ::testing::StartsWith;

// What the calls are made with, all of one device of a fault driver's.
struct Handles {
  const Device device;
  const Stream stream = device.CreateStream().value();
  const Event event = Event::Create(device).value();
  const Sums sums{device};
  const Sums others{device};
  const Adding add{device};
};

constexpr uint64_t kKey = 1;  // Of the launch that CaptureLaunch notes.

absl::StatusOr<Graph> CaptureLaunch(const Handles& on) {
  return Graph::Capture(on.stream, [&] {
    AddingArguments arguments = on.add.Arguments(on.sums, 1);
    const CUDA_KERNEL_NODE_PARAMS node = arguments.node();
    const CUresult launched = on.device.api().LaunchKernel(node.func, 1, 1, 1, node.blockDimX, 1, 1, 0,
                                                           on.stream.handle(), node.kernelParams, nullptr);
    EXPECT_EQ(launched, CUDA_SUCCESS);
    return on.stream.capture()->NoteLaunch(on.stream, kKey);
  });
}

// `call` arms the fault itself, through `arm`, once what it needs has been made.
struct FailingCall {
  const char* function;  // Of the driver table.
  const char* words;
  absl::Status (*call)(const Handles& on, const std::function<void()>& arm);
};
void PrintTo(const FailingCall& row, std::ostream* out) { *out << row.function; }

#define SLIPWAY_ARMED(expression) \
  [](const Handles& on, const std::function<void()>& arm) -> absl::Status { return arm(), (expression); }

const FailingCall kFailingCalls[] = {
    {"CtxGetStreamPriorityRange", "cannot read the stream priorities of null device (fault:0)",
     SLIPWAY_ARMED(on.device.StreamPriorities().status())},
    {"StreamCreateWithPriority", "cannot create a stream on null device (fault:0)",
     SLIPWAY_ARMED(on.device.CreateStream().status())},
    {"CtxSynchronize", "work on null device (fault:0) failed", SLIPWAY_ARMED(on.device.Synchronize())},

    {"StreamGetPriority", "cannot read a stream's priority on null device (fault:0)",
     SLIPWAY_ARMED(on.stream.Priority().status())},
    {"StreamWaitEvent", "cannot make a stream wait for an event", SLIPWAY_ARMED(on.stream.Wait(on.event))},
    {"StreamSynchronize", "work on a stream of null device (fault:0) failed", SLIPWAY_ARMED(on.stream.Synchronize())},
    {"StreamQuery", "work on a stream of null device (fault:0) failed", SLIPWAY_ARMED(on.stream.Query().status())},

    {"EventCreate", "cannot create an event on null device (fault:0)",
     SLIPWAY_ARMED(Event::Create(on.device).status())},
    {"EventRecord", "cannot record an event", SLIPWAY_ARMED(on.event.Record(on.stream))},
    {"EventSynchronize", "the work before an event failed", SLIPWAY_ARMED(on.event.Synchronize())},
    {"EventQuery", "the work before an event failed", SLIPWAY_ARMED(on.event.Query().status())},
    {"EventElapsedTime", "no time between two events (both must have timing, be recorded and be finished)",
     SLIPWAY_ARMED(on.event.MillisecondsSince(on.event).status())},

    {"MemAlloc", "cannot allocate 8 bytes on null device (fault:0)",
     SLIPWAY_ARMED(DeviceMemory::Allocate(on.device, 8).status())},
    {"MemcpyHtoD", "cannot copy from the host to the device",
     SLIPWAY_ARMED(on.sums.memory().CopyFromHost(&kKey, sizeof(kKey)))},
    {"StreamSynchronize", "cannot copy from the host to the device",
     SLIPWAY_ARMED(on.sums.memory().CopyFromHost(&kKey, sizeof(kKey)))},
    {"MemcpyDtoH", "cannot copy from the device to the host",
     [](const Handles& on, const std::function<void()>& arm) {
       int host = 0;
       arm();
       return on.sums.memory().CopyToHost(&host, sizeof(host));
     }},
    {"MemcpyDtoDAsync", "cannot copy from null device (fault:0) to null device (fault:0)",
     SLIPWAY_ARMED(on.sums.memory().CopyTo(on.others.memory(), on.stream, 8))},

    {"ModuleLoadDataEx", "cannot load the PTX on null device (fault:0)",
     SLIPWAY_ARMED(Module::LoadPtx(on.device, kAddingPtx).status())},
    {"ModuleGetFunction", "cannot get the kernel 'add'",
     [](const Handles& on, const std::function<void()>& arm) {
       const Module module = Module::LoadPtx(on.device, kAddingPtx).value();
       arm();
       return module.GetFunction("add").status();
     }},

    {"StreamBeginCapture", "cannot capture a stream of null device (fault:0)", SLIPWAY_ARMED(on.stream.BeginCapture())},
    {"StreamGetCaptureInfo", "cannot find a launch in the graph that is captured",
     SLIPWAY_ARMED(CaptureLaunch(on).status())},
    {"GraphGetNodes", "cannot count the nodes of a graph", SLIPWAY_ARMED(CaptureLaunch(on).status())},
    {"GraphInstantiateWithFlags", "cannot instantiate a graph of 1 nodes on null device (fault:0)",
     SLIPWAY_ARMED(CaptureLaunch(on).value().Instantiate().status())},
    {"GraphLaunch", "launch of a graph on null device (fault:0)",
     SLIPWAY_ARMED(CaptureLaunch(on).value().Instantiate().value().Launch(on.stream))},
    {"GraphExecUpdate", "cannot update a graph",
     SLIPWAY_ARMED(CaptureLaunch(on).value().Instantiate().value().Update(CaptureLaunch(on).value()))},
    {"GraphExecKernelNodeSetParams", "cannot change launch 0 of a bound kernel in a graph",
     SLIPWAY_ARMED(CaptureLaunch(on).value().Instantiate().value().SetKernelNode(
         kKey, -1, on.add.Arguments(on.sums, 2).node(), {}))},
};
#undef SLIPWAY_ARMED

class FailingCallTest : public testing::TestWithParam<FailingCall> {};

TEST_P(FailingCallTest, IsSaid) {
  FaultDriver& fault = *FaultDriver::Wrap(RecordingDriver()).value();
  fault.Disarm();
  const Handles handles{Device::Open(fault.api()).value()};
  const absl::Status status = GetParam().call(handles, [&] {
    ASSERT_TRUE(fault.Arm({.function = GetParam().function, .result = CUDA_ERROR_NOT_PERMITTED}).ok());
  });
  fault.Disarm();
  EXPECT_EQ(status, absl::PermissionDeniedError(std::string(GetParam().words) +
                                                ": CUDA_ERROR_NOT_PERMITTED (800): operation not permitted"));
}

INSTANTIATE_TEST_SUITE_P(Driver, FailingCallTest, testing::ValuesIn(kFailingCalls));

}  // namespace
}  // namespace slipway
