// The driver whose device is this process.
#include "slipway/host_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "slipway/device.h"
#include "slipway/graph.h"
#include "slipway/memory.h"
#include "slipway/module.h"
#include "slipway/stream.h"

namespace slipway {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class HostDriverTest : public testing::Test {
 protected:
  const DriverApi& api_ = HostDriver();
  const Device device_ = Device::Open("host").value();
};

TEST_F(HostDriverTest, IsADevice) {
  EXPECT_EQ(device_.Describe(), "host (host:0)");
  EXPECT_EQ(device_, Device::Open(HostDriver()).value());
  EXPECT_FALSE(device_.is_cpu());
  EXPECT_EQ(device_.properties().compute_major, 0);
  EXPECT_EQ(device_.properties().multiprocessors, 1);
  EXPECT_GT(device_.properties().total_memory, size_t{1} << 20);
}

TEST_F(HostDriverTest, AnswersByName) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status;
  ASSERT_EQ(api_.GetProcAddress("cuLaunchKernel", &function, 13000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(function, reinterpret_cast<void*>(api_.LaunchKernel));
}

TEST_F(HostDriverTest, MemoryIsMemory) {
  const DeviceMemory memory = DeviceMemory::Allocate(device_, 1000).value();
  EXPECT_EQ(memory.address() % 256, 0);
  const std::vector<uint8_t> from(1000, 7);
  ASSERT_TRUE(memory.CopyFromHost(from.data(), from.size()).ok());
  EXPECT_EQ(std::memcmp(reinterpret_cast<const void*>(memory.address()), from.data(), from.size()), 0);
  std::vector<uint8_t> back(1000);
  ASSERT_TRUE(memory.CopyToHost(back.data(), back.size()).ok());
  EXPECT_EQ(back, from);
  ASSERT_EQ(api_.MemsetD8(memory.address(), 3, 1000), CUDA_SUCCESS);
  EXPECT_EQ(*reinterpret_cast<const uint8_t*>(memory.address() + 999), 3);
  ASSERT_EQ(api_.MemsetD32Async(memory.address() + 4, 0x01020304, 2, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(*reinterpret_cast<const uint32_t*>(memory.address() + 8), 0x01020304);
  EXPECT_EQ(*reinterpret_cast<const uint8_t*>(memory.address() + 12), 3);
  EXPECT_EQ(api_.MemsetD32(memory.address() + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
  // Overlapping copies are as if there were memory between.
  ASSERT_EQ(api_.MemcpyDtoDAsync(memory.address() + 1, memory.address(), 999, nullptr), CUDA_SUCCESS);
}

TEST_F(HostDriverTest, MemoryThatIsNotThere) {
  CUdeviceptr address = 0;
  EXPECT_EQ(api_.MemAlloc(&address, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(api_.MemAlloc(&address, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(api_.MemAlloc(&address, SIZE_MAX / 2), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(api_.MemFree(0), CUDA_SUCCESS);
  size_t free = 0, total = 0;
  ASSERT_EQ(api_.MemGetInfo(&free, &total), CUDA_SUCCESS);
  EXPECT_LE(free, total);
}

TEST_F(HostDriverTest, EventsKnowTheTime) {
  const Stream stream = device_.CreateStream().value();
  const Event start = Event::Create(device_).value(), end = Event::Create(device_).value();
  EXPECT_FALSE(end.MillisecondsSince(start).ok());  // Not recorded yet.
  ASSERT_TRUE(start.Record(stream).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  ASSERT_TRUE(end.Record(stream).ok());
  EXPECT_GE(end.MillisecondsSince(start).value(), 2.0f);
  EXPECT_LE(start.MillisecondsSince(end).value(), -2.0f);
  EXPECT_TRUE(end.Query().value());
  const Event plain = Event::Create(device_, /*timing=*/false).value();
  ASSERT_TRUE(plain.Record(stream).ok());
  EXPECT_FALSE(plain.MillisecondsSince(start).ok());
}

TEST_F(HostDriverTest, LoadsNoPtx) {
  const absl::Status status = Module::LoadPtx(device_, ".version 7.8\n.entry k() {}\n").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the host device runs functions of this program (slipway/host_function.h), not PTX; open a GPU "
                        "or the CPU device"));
}

TEST_F(HostDriverTest, CapturesNothing) {
  const Stream stream = device_.CreateStream().value();
  const absl::Status status = Graph::Capture(stream, [] { return absl::OkStatus(); }).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_TRUE(stream.Synchronize().ok());
}

// Sums a float and a double, to an address.
CUresult Sum(void (*)(), const std::byte* buffer) {
  float a;
  double b;
  double* to;
  std::memcpy(&a, buffer, 4);
  std::memcpy(&b, buffer + 8, 8);
  std::memcpy(&to, buffer + 16, 8);
  *to = a + b;
  return CUDA_SUCCESS;
}

class HostEntryTest : public HostDriverTest {
 protected:
  CUresult Launch(void** params, void** extra) const {
    return api_.LaunchKernel(function_, 1, 1, 1, 1, 1, 1, 0, nullptr, params, extra);
  }
  const CUfunction function_ = internal::RegisterHostEntry(
      {.call = &Sum, .function = nullptr, .bytes = 24, .params = {{0, 4}, {8, 8}, {16, 8}}});
  float a_ = 1.5f;
  double b_ = 2.25;
  double result_ = 0;
  double* to_ = &result_;
};

TEST_F(HostEntryTest, TakesALaunchBuffer) {
  std::byte buffer[24] = {};
  std::memcpy(buffer, &a_, 4);
  std::memcpy(buffer + 8, &b_, 8);
  std::memcpy(buffer + 16, &to_, 8);
  size_t size = 24;
  void* extra[] = {kLaunchParamBufferSize, &size, kLaunchParamBufferPointer, buffer, kLaunchParamEnd};
  EXPECT_EQ(Launch(nullptr, extra), CUDA_SUCCESS);
  EXPECT_EQ(result_, 3.75);
  result_ = 0;
  CUlaunchConfig config = {};
  EXPECT_EQ(api_.LaunchKernelEx(&config, function_, nullptr, extra), CUDA_SUCCESS);
  EXPECT_EQ(result_, 3.75);
  size = 32;
  EXPECT_EQ(Launch(nullptr, extra), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HostEntryTest, TakesAddressesOfParameters) {
  void* params[] = {&a_, &b_, &to_};
  EXPECT_EQ(Launch(params, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(result_, 3.75);
  EXPECT_EQ(Launch(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HostEntryTest, TellsItsParameters) {
  size_t offset = 0, bytes = 0;
  EXPECT_EQ(api_.FuncGetParamInfo(function_, 1, &offset, &bytes), CUDA_SUCCESS);
  EXPECT_EQ(offset, 8);
  EXPECT_EQ(bytes, 8);
  EXPECT_EQ(api_.FuncGetParamInfo(function_, 3, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HostEntryTest, IsRegisteredOnce) {
  EXPECT_EQ(internal::RegisterHostEntry({.call = &Sum, .function = nullptr, .bytes = 24}), function_);
}

TEST(HostFailureTest, IsKeptOnceAndForItsThread) {
  EXPECT_TRUE(internal::TakeHostFailure().ok());
  EXPECT_EQ(internal::KeepHostFailure(absl::NotFoundError("x")), CUDA_ERROR_LAUNCH_FAILED);
  std::thread([] { EXPECT_TRUE(internal::TakeHostFailure().ok()); }).join();
  EXPECT_EQ(internal::TakeHostFailure(), absl::NotFoundError("x"));
  EXPECT_TRUE(internal::TakeHostFailure().ok());
}

// Host functions may be launched when main has returned, after the thread's own objects are gone.
TEST(HostFailureTest, IsKeptUntilTheProcessEnds) {
  const auto use_late = [] {
    std::atexit([] {
      const bool kept = internal::TakeHostFailure() == absl::NotFoundError("long enough for a text of its own");
      internal::KeepHostFailure(absl::InternalError("late"));
      _exit(kept && internal::TakeHostFailure() == absl::InternalError("late") ? 0 : 1);
    });
    internal::KeepHostFailure(absl::NotFoundError("long enough for a text of its own"));
    std::exit(2);
  };
  EXPECT_EXIT(use_late(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace slipway
