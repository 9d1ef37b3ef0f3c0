// What loading a kernel refuses, the driver's errors at every step of a program that loads and launches one, and the
// room for parameters.
#include "slipway/fault_driver.h"
#include "slipway/kernel.h"
#include "tests/launch/launch_test_util.h"

namespace slipway {
namespace {

using testing::SizeIs;
using enum absl::StatusCode;

TEST(KernelLoadTest, DriverErrorsAreReportedAndLeakNothing) {
  FaultDriver& fault = *FaultDriver::Wrap(RecordingDriver()).value();
  const auto scenario = [&](absl::Status* launch) -> absl::Status {
    const auto device = Device::Open(fault.api());
    if (!device.ok()) return device.status();
    const auto stream = device->CreateStream();
    if (!stream.ok()) return stream.status();
    const auto kernel = Kernel::Load(*device, EmptyKernel({ScalarParam(DType::kInt32)}, "k"));
    if (!kernel.ok()) return kernel.status();
    const auto zeros = AnyArray::Zeros(*device, DType::kFloat32, {16});
    if (!zeros.ok()) return zeros.status();
    *launch = kernel->Launch(*stream, ForSize(1), {1});
    if (!launch->ok()) return *launch;
    *launch = kernel->Launch(device->DefaultStream(), ForSize(1), {1});
    return *launch;
  };
  absl::Status launch;
  int failures = 0;
  for (int n = 1; n < 200; ++n) {
    ASSERT_TRUE(fault.Arm({.function = {}, .call = n, .result = CUDA_ERROR_OUT_OF_MEMORY}).ok());
    const RecordedObjects before = CountRecordedObjects();
    const bool failed = !scenario(&launch).ok();
    failures += failed;
    // A scenario that succeeds although a call failed had it fail while cleaning up: that object is lost by design.
    if (failed) {
      EXPECT_EQ(CountRecordedObjects(), before) << "call " << n;
    }
    const bool fired = fault.fired();
    fault.Disarm();
    if (!fired) break;
  }
  EXPECT_GT(failures, 10);

  ASSERT_TRUE(fault.Arm({.function = "LaunchKernel", .result = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES}).ok());
  EXPECT_FALSE(scenario(&launch).ok());
  EXPECT_THAT(std::string(launch.message()),
              testing::HasSubstr("launch of kernel 'k': CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)"));
  ASSERT_TRUE(fault.Arm({.function = "LaunchKernel", .call = 2, .result = CUDA_ERROR_INVALID_VALUE}).ok());
  EXPECT_FALSE(scenario(&launch).ok());
  EXPECT_THAT(std::string(launch.message()), testing::HasSubstr("launch of kernel 'k': CUDA_ERROR_INVALID_VALUE (1)"));
  ASSERT_TRUE(fault.Arm({.function = "OccupancyMaxPotentialBlockSize", .result = CUDA_ERROR_INVALID_VALUE}).ok());
  EXPECT_THAT(std::string(scenario(&launch).message()), testing::HasSubstr("computing the occupancy of kernel 'k'"));
  // Where opting in to more shared memory fails, the default stays.
  ASSERT_TRUE(fault.Arm({.function = "FuncSetAttribute", .result = CUDA_ERROR_INVALID_VALUE}).ok());
  {
    const Device device = Device::Open(fault.api()).value();
    EXPECT_EQ(Kernel::Load(device, EmptyKernel({})).value().plan().max_shared_bytes,
              device.properties().shared_bytes_per_block);
  }
  fault.Disarm();
}

TEST(KernelLoadTest, Errors) {
  const Device device = RecordingDevice();
  ExpectError(Kernel::Load(device, {.name = "k", .signature = {}, .inspection = nullptr}).status(), kInvalidArgument,
              "kernel 'k': no code was given; set CompiledKernel::inspection");
  ExpectError(Kernel::Load(device, EmptyKernel({ScalarParam(DType::kVoid)}, "k")).status(), kInvalidArgument,
              "kernel 'k': parameter 'p0' has dtype void");
  ExpectError(Kernel::Load(device, EmptyKernel({ArrayParam(DType::kInt8, 9)}, "k")).status(), kInvalidArgument,
              "kernel 'k': parameter 'p0' has rank 9; ranks are 0 to 8");
}

TEST(KernelLoadTest, ParameterSpace) {  // FC-20.
  const Device device = RecordingDevice();
  const auto arrays = [](int count) { return Signature(count, ArrayParam(DType::kFloat32, 3)); };
  EXPECT_TRUE(Kernel::Load(device, EmptyKernel(arrays(73), "k", "7.8")).ok());  // 4,088 bytes.
  ExpectError(Kernel::Load(device, EmptyKernel(arrays(74), "k", "7.8")).status(), kInvalidArgument,
              "kernel 'k': its 74 parameters take 4144 bytes; at most 4096 are allowed in PTX ISA 7.8 (8.1 and newer "
              "take 32764). Use fewer arrays, a lower rank, or contiguous ones");
  for (const int count : {70, 73, 74, 128}) {
    const auto kernel = Kernel::Load(device, EmptyKernel(arrays(count), "k", "8.1"));
    ASSERT_TRUE(kernel.ok());
    EXPECT_EQ(kernel->buffer_size(), 56u * count);
    const ArrayView<float, 3> view(device, reinterpret_cast<float*>(0x1000), {2, 3, 4});
    EXPECT_TRUE(kernel->Launch(device.CreateStream().value(), ForSize(1), std::vector<Arg>(count, Arg(view))).ok());
    EXPECT_THAT(TakeRecordedLaunches()[0].buffer, SizeIs(56 * count));
  }
  ExpectError(Kernel::Load(device, EmptyKernel(arrays(600), "k", "8.1")).status(), kInvalidArgument,
              "kernel 'k': its 600 parameters take 33600 bytes; at most 32764 are allowed. Use fewer");
  // The limit itself, with scalars: 4,096 bytes and 4 more.
  EXPECT_TRUE(Kernel::Load(device, EmptyKernel(Signature(1024, ScalarParam(DType::kInt32)), "k", "6.3")).ok());
  ExpectError(Kernel::Load(device, EmptyKernel(Signature(1025, ScalarParam(DType::kInt32)), "k", "6.3")).status(),
              kInvalidArgument, "its 1025 parameters take 4100 bytes; at most 4096 are allowed in PTX ISA 6.3");
}

}  // namespace
}  // namespace slipway
