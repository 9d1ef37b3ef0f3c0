// A CPU device with a context and a few handwritten kernels, for tests that speak to it by plain driver calls.
#ifndef SLIPWAY_TESTS_CPU_API_FIXTURE_H_
#define SLIPWAY_TESTS_CPU_API_FIXTURE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "slipway/cpu_device.h"

namespace slipway::cpu {

// A module with a handful of kernels: api_fixture.cc says what each does.
extern const char* const kTestPtx;

// Calls of the CPU device's table by name: Api().MemAlloc(...).
inline const DriverApi& Api() { return CpuDriver(); }

#define EXPECT_CUDA(call) EXPECT_EQ(call, CUDA_SUCCESS)
#define ASSERT_CUDA(call) ASSERT_EQ(call, CUDA_SUCCESS)

// Packs arguments as the PTX ABI lays them out: each at a multiple of its size.
class LaunchBuffer {
 public:
  template <typename... Args>
  explicit LaunchBuffer(Args... args) {
    (Append(args), ...);
  }
  void** extra() { return extra_.data(); }
  size_t size = 0;

 private:
  template <typename T>
  void Append(T value) {
    size = (size + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    std::memcpy(bytes_.data() + size, &value, sizeof(T));
    size += sizeof(T);
  }
  alignas(16) std::array<std::byte, 256> bytes_ = {};
  std::array<void*, 5> extra_ = {kLaunchParamBufferPointer, bytes_.data(), kLaunchParamBufferSize, &size,
                                 kLaunchParamEnd};
};

// Two devices with 256 MiB each (see api_environment.cc). Every test has a context of its own on device 0, current, and
// destroyed at its end.
class ApiTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // A kernel of kTestPtx, in a module that has only it (and the variables): most tests want one or two. From any
  // thread, whatever context is current.
  CUfunction Function(const std::string& name);
  // All of kTestPtx.
  CUmodule Module();
  CUstream NewStream(unsigned flags = CU_STREAM_NON_BLOCKING);
  CUevent NewEvent(unsigned flags = CU_EVENT_DEFAULT);
  // Zeroed, and finished.
  CUdeviceptr NewWords(size_t count);
  std::vector<uint32_t> ReadWords(CUdeviceptr address, size_t count);
  // One zero word that host and device share.
  volatile uint32_t* NewFlag();

  template <typename... Args>
  CUresult Launch(const char* kernel, unsigned grid, unsigned block, CUstream stream, Args... args) {
    LaunchBuffer buffer(args...);
    return Api().LaunchKernel(Function(kernel), grid, 1, 1, block, 1, 1, 0, stream, nullptr, buffer.extra());
  }
  // A kernel that runs until the flag is set, then stores 1 to its second word.
  CUresult LaunchSpin(volatile uint32_t* flag, CUstream stream) {
    return Launch("spin", 1, 1, stream, reinterpret_cast<uint64_t>(flag));
  }

  // Whether the device runs nothing before it is asked for (SLIPWAY_CPU_ASYNC=late).
  static bool IsLate() {
    const char* const mode = std::getenv("SLIPWAY_CPU_ASYNC");
    return mode != nullptr && std::strcmp(mode, "late") == 0;
  }

  CUcontext context_ = nullptr;

 private:
  CUmodule LoadModule(const std::string& ptx);
  std::mutex mutex_;
  CUmodule module_ = nullptr;
  std::map<std::string, CUfunction> functions_;
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_TESTS_CPU_API_FIXTURE_H_
