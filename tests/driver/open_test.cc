// Device::Open, by name and by table. This program is not linked with the CPU device; a stand-in is registered where a
// test wants one.
#include <cstdlib>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "driver/loader.h"
#include "driver/registry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "slipway/device.h"
#include "slipway/fault_driver.h"
#include "slipway/null_driver.h"

namespace slipway {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

DriverApi Renamed(const char* name) {
  DriverApi api = NullDriver();
  api.name = name;
  return api;
}

// Drivers to register as "cuda" and "cpu".
absl::StatusOr<const DriverApi*> NoLibrary() { return LoadDriver({"libslipway-none.so.1"}, "cuda").status(); }
absl::StatusOr<const DriverApi*> OneGpu() {
  static const DriverApi api = Renamed("cuda");
  return &api;
}
absl::StatusOr<const DriverApi*> NoGpu() {
  static const DriverApi api = [] {
    DriverApi made = Renamed("cuda");
    made.Init = [](unsigned) { return CUDA_ERROR_NO_DEVICE; };
    return made;
  }();
  return &api;
}
absl::StatusOr<const DriverApi*> TwoGpusOfWhichTheSecondWorks() {
  static const DriverApi api = [] {
    DriverApi made = Renamed("cuda");
    made.DeviceGetCount = [](int* count) {
      *count = 2;
      return CUDA_SUCCESS;
    };
    made.DevicePrimaryCtxRetain = [](CUcontext* context, CUdevice device) {
      if (device == 0) return CUDA_ERROR_DEVICE_UNAVAILABLE;
      return NullDriver().DevicePrimaryCtxRetain(context, device);
    };
    return made;
  }();
  return &api;
}
absl::StatusOr<const DriverApi*> StandInCpu() {
  static const DriverApi api = Renamed("cpu");
  return &api;
}

class OpenTest : public testing::Test {
 protected:
  void SetUp() override {
    unsetenv("SLIPWAY_DEVICE");
    unsetenv("SLIPWAY_LOG");
  }
  void TearDown() override { unsetenv("SLIPWAY_DEVICE"); }
};

class UnknownNameTest : public OpenTest, public testing::WithParamInterface<const char*> {};

TEST_P(UnknownNameTest, IsRefusedWithWhatIsAllowed) {
  const std::string name = GetParam();
  EXPECT_EQ(Device::Open(name).status(),
            absl::InvalidArgumentError("unknown device '" + name +
                                       "': give 'auto', 'cuda', 'cuda:N' (N from 0), 'cpu' or 'host'"));
  setenv("SLIPWAY_DEVICE", name.c_str(), 1);
  EXPECT_EQ(Device::Open().status(),
            absl::InvalidArgumentError("unknown device '" + name +
                                       "' in the environment variable SLIPWAY_DEVICE: give 'auto', 'cuda', 'cuda:N' "
                                       "(N from 0), 'cpu' or 'host'"));
}

INSTANTIATE_TEST_SUITE_P(Names, UnknownNameTest,
                         testing::Values("gpu", "CUDA", "cuda:", "cuda:x", "cuda:-1", "cuda:+1", "cuda: 1", "cuda:1 ",
                                         "cuda:99999999999", "cpu:0", "auto:0", " "));

TEST_F(OpenTest, CudaWithoutALibrary) {
  const DriverRegistration cuda("cuda", &NoLibrary);
  const absl::Status status = Device::Open("cuda").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(status), AllOf(StartsWith("no CUDA driver library could be opened (libslipway-none.so.1: "),
                                     EndsWith("install the NVIDIA driver, or add its folder to LD_LIBRARY_PATH")));
}

TEST_F(OpenTest, CudaWithoutADevice) {
  const DriverRegistration cuda("cuda", &NoGpu);
  EXPECT_EQ(Device::Open("cuda").status(),
            absl::NotFoundError("cannot initialize the driver 'cuda': CUDA_ERROR_NO_DEVICE (100): no CUDA device is "
                                "detected"));
}

TEST_F(OpenTest, CudaOrdinalPastTheLastDevice) {
  const DriverRegistration cuda("cuda", &OneGpu);
  EXPECT_EQ(Device::Open("cuda:7").status(),
            absl::NotFoundError("there is no device cuda:7: the driver has 1 device, numbered from 0 (the environment "
                                "variable CUDA_VISIBLE_DEVICES may hide others)"));
  EXPECT_EQ(Device::Open("cuda:0").value(), Device::Open("cuda").value());
}

TEST_F(OpenTest, CpuThatIsNotLinked) {
  EXPECT_EQ(Device::Open("cpu").status(),
            absl::NotFoundError("the CPU device is not part of this program: link slipway::cpu_device (or "
                                "slipway::slipway)"));
}

TEST_F(OpenTest, AutoWithNeither) {
  const DriverRegistration cuda("cuda", &NoGpu);
  const absl::Status status = Device::Open("auto").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Message(status),
              AllOf(StartsWith("no device works. GPU: cannot initialize the driver 'cuda': CUDA_ERROR_NO_DEVICE"),
                    HasSubstr(". CPU device: the CPU device is not part of this program: link slipway::cpu_device")));
}

TEST_F(OpenTest, AutoTakesAGpu) {
  const DriverRegistration cuda("cuda", &OneGpu);
  const DriverRegistration cpu("cpu", &StandInCpu);
  testing::internal::CaptureStderr();
  const Device device = Device::Open("auto").value();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(device.Describe(), "null device (cuda:0)");
  EXPECT_FALSE(device.is_cpu());
}

TEST_F(OpenTest, AutoTakesTheFirstGpuThatWorks) {
  const DriverRegistration cuda("cuda", &TwoGpusOfWhichTheSecondWorks);
  const DriverRegistration cpu("cpu", &StandInCpu);
  EXPECT_EQ(Device::Open("auto").value().Describe(), "null device (cuda:1)");
  EXPECT_EQ(Device::Open("cuda").status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(OpenTest, AutoFallsBackToTheCpuDeviceAndSaysWhyOnce) {
  const DriverRegistration cuda("cuda", &NoGpu);
  const DriverRegistration cpu("cpu", &StandInCpu);
  testing::internal::CaptureStderr();
  const Device device = Device::Open().value();
  EXPECT_TRUE(Device::Open("auto").ok());
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "slipway: using the CPU device, not a GPU: cannot initialize the driver 'cuda': CUDA_ERROR_NO_DEVICE (100): "
      "no CUDA device is detected\n");
  EXPECT_TRUE(device.is_cpu());
}

TEST_F(OpenTest, TheEnvironmentPicksWhereTheProgramDoesNot) {
  const DriverRegistration cuda("cuda", &OneGpu);
  const DriverRegistration cpu("cpu", &StandInCpu);
  setenv("SLIPWAY_DEVICE", "cpu", 1);
  EXPECT_TRUE(Device::Open().value().is_cpu());
  EXPECT_FALSE(Device::Open("cuda").value().is_cpu());
  setenv("SLIPWAY_DEVICE", "", 1);
  EXPECT_FALSE(Device::Open().value().is_cpu());
}

TEST_F(OpenTest, TableWithoutARequiredEntry) {
  static DriverApi api = Renamed("mine");
  api.MemAlloc = nullptr;
  api.LaunchKernel = nullptr;
  api.MemAllocAsync = nullptr;  // Optional.
  static const DriverApi nameless = Renamed(nullptr);
  EXPECT_EQ(Device::Open(nameless).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Device::Open(api).status(),
            absl::InvalidArgumentError("the driver table 'mine' lacks required functions: MemAlloc, LaunchKernel; set "
                                       "every entry of DriverApi"));
}

TEST_F(OpenTest, OrdinalsOfATable) {
  EXPECT_EQ(Device::Open(NullDriver(), 1).status(),
            absl::NotFoundError("there is no device null:1: the driver has 1 device, numbered from 0"));
  EXPECT_EQ(Device::Open(NullDriver(), -1).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(OpenTest, ReadsTheProperties) {
  const DeviceProperties properties = Device::Open(NullDriver()).value().properties();
  EXPECT_EQ(properties.name, "null device");
  EXPECT_EQ(properties.compute_major, 9);
  EXPECT_EQ(properties.compute_minor, 0);
  EXPECT_EQ(properties.driver_version, 13000);
  EXPECT_EQ(properties.multiprocessors, 132);
  EXPECT_EQ(properties.warp_size, 32);
  EXPECT_EQ(properties.max_threads_per_block, 1024);
  EXPECT_EQ(properties.max_threads_per_multiprocessor, 2048);
  EXPECT_THAT(properties.max_block, testing::ElementsAre(1024, 1024, 64));
  EXPECT_THAT(properties.max_grid, testing::ElementsAre(2147483647, 65535, 65535));
  EXPECT_EQ(properties.shared_bytes_per_block, 49152u);
  EXPECT_EQ(properties.shared_bytes_per_block_optin, 232448u);
  EXPECT_EQ(properties.total_memory, size_t{80} << 30);
}

TEST_F(OpenTest, OneStatePerDeviceWhileAHandleLives) {
  uint16_t id = 0;
  {
    const Device first = Device::Open(RecordingDriver()).value();
    const Device second = Device::Open(RecordingDriver()).value();
    EXPECT_EQ(first, second);
    EXPECT_EQ(CountRecordedObjects().retained_contexts, 1);
    id = first.id();
    EXPECT_NE(id, 0);
  }
  EXPECT_EQ(CountRecordedObjects().retained_contexts, 0);
  EXPECT_NE(Device::Open(RecordingDriver()).value().id(), id) << "ids are not used again at once";
}

TEST_F(OpenTest, IdsAreUniqueAmongOpenDevices) {
  static DriverApi tables[8];
  std::vector<Device> devices;
  std::set<uint16_t> ids;
  for (DriverApi& api : tables) {
    api = NullDriver();
    devices.push_back(Device::Open(api).value());
    ids.insert(devices.back().id());
  }
  EXPECT_EQ(ids.size(), std::size(tables));
  EXPECT_FALSE(devices[0] == devices[1]);
}

TEST_F(OpenTest, IdsWrapAroundWithoutTouchingOpenDevices) {
  const Device open = Device::Open(NullDriver()).value();
  for (int i = 0; i < 70000; ++i) {
    const uint16_t id = Device::Open(RecordingDriver()).value().id();
    ASSERT_NE(id, 0);
    ASSERT_NE(id, open.id());
  }
}

TEST_F(OpenTest, NoMoreDevicesThanIds) {
  static DriverApi api = NullDriver();  // A machine of very many.
  api.DeviceGetCount = [](int* count) {
    *count = 65536;
    return CUDA_SUCCESS;
  };
  std::vector<Device> devices;
  absl::Status status;
  while (status.ok()) {
    absl::StatusOr<Device> device = Device::Open(api, static_cast<int>(devices.size()));
    status = device.status();
    if (status.ok()) devices.push_back(*std::move(device));
  }
  EXPECT_EQ(devices.size(), 65535u);
  EXPECT_EQ(status, absl::ResourceExhaustedError("65535 devices are open already; close some"));
  devices.pop_back();
  EXPECT_TRUE(Device::Open(RecordingDriver()).ok());
}

TEST_F(OpenTest, EveryFailureOfTheDriverIsSaid) {
  FaultDriver& fault = *FaultDriver::Wrap(RecordingDriver()).value();
  static const DriverApi& api = fault.api();
  const DriverRegistration registration("cpu", [] { return absl::StatusOr<const DriverApi*>(&api); });
  const auto open = [] { return Device::Open("cpu").status(); };
  const auto count = [] { return Device::Count("cpu").status(); };
  const struct {
    const char* function;
    int call;
    const char* words;
    absl::Status (*ask)();
  } rows[] = {
      {"Init", 1, "cannot initialize the driver 'fault'", open},
      {"Init", 1, "cannot initialize the driver 'fault'", count},
      {"DeviceGetCount", 1, "cannot count the devices of the driver 'fault'", open},
      {"DeviceGetCount", 1, "cannot count the devices of the driver 'fault'", count},
      {"DeviceGet", 1, "cannot get device fault:0", open},
      // The second attribute that is asked for: CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR.
      {"DeviceGetAttribute", 2, "cannot read the properties of the device (attribute 76)", open},
      {"DeviceGetName", 1, "cannot read the properties of the device", open},
      {"DeviceTotalMem", 1, "cannot read the properties of the device", open},
      {"DriverGetVersion", 1, "cannot read the properties of the device", open},
      {"DevicePrimaryCtxRetain", 1, "cannot get a context on null device", open},
  };
  for (const auto& row : rows) {
    ASSERT_TRUE(fault.Arm({.function = row.function, .call = row.call, .result = CUDA_ERROR_NOT_SUPPORTED}).ok());
    const absl::Status status = row.ask();
    fault.Disarm();
    EXPECT_EQ(status, absl::UnimplementedError(std::string(row.words) +
                                               ": CUDA_ERROR_NOT_SUPPORTED (801): operation not supported"));
  }
}

TEST_F(OpenTest, EveryFailureOfTheDriverIsReportedAndLeaksNothing) {
  FaultDriver& fault = *FaultDriver::Wrap(RecordingDriver()).value();
  int failed = 0;
  for (int call = 1;; ++call) {
    ASSERT_TRUE(fault.Arm({.call = call, .result = CUDA_ERROR_NOT_SUPPORTED}).ok());
    const absl::Status status = Device::Open(fault.api()).status();
    const bool fired = fault.fired();
    fault.Disarm();
    if (status.ok()) {
      // Every call of a successful Open has been failed once. What failed now is the release of the context, for the
      // handle that has gone already; make up for it.
      EXPECT_TRUE(fired);
      EXPECT_EQ(RecordingDriver().DevicePrimaryCtxRelease(0), CUDA_SUCCESS);
      break;
    }
    ++failed;
    EXPECT_EQ(CountRecordedObjects(), RecordedObjects{}) << "after call " << call;
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    EXPECT_THAT(Message(status), EndsWith(": CUDA_ERROR_NOT_SUPPORTED (801): operation not supported"));
  }
  EXPECT_GT(failed, 15);
}

TEST_F(OpenTest, ThreadsThatOpenOneDeviceShareItsState) {
  constexpr int kThreads = 8;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 500; ++i) {
        const Device device = Device::Open(RecordingDriver()).value();
        ASSERT_NE(device.id(), 0);
        ASSERT_EQ(Device::Open(RecordingDriver()).value(), device);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(CountRecordedObjects(), RecordedObjects{});
}

}  // namespace
}  // namespace slipway
