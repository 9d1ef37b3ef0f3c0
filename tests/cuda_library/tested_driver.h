// A CUDA driver library that is tested by plain cu* calls: the CPU device's libcuda.so.1, or a GPU's.
//
// SLIPWAY_TEST_DRIVER, a variable of the environment and a macro, names the library; the variable comes first.
#ifndef SLIPWAY_TESTS_CUDA_LIBRARY_TESTED_DRIVER_H_
#define SLIPWAY_TESTS_CUDA_LIBRARY_TESTED_DRIVER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "driver/cpu/cuda_types.h"
#include "gtest/gtest.h"
#include "slipway/driver_api.h"

namespace slipway::cuda_library {

// The functions of Slipway's driver table; null, with why, if the library cannot be used. Opened once.
const DriverApi* TestedDriver(std::string* why);

// Any other function, as cuGetProcAddress gives it for CUDA `version`: Call<CUresult(unsigned)>("cuCtxSetFlags",
// 12010).
void* FindFunction(const char* symbol, int version);
template <typename Signature>
Signature* Function(const char* symbol, int version) {
  return reinterpret_cast<Signature*>(FindFunction(symbol, version));
}

// Arguments packed as the PTX ABI lays them out, for `extra`.
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
  alignas(16) std::array<std::byte, 64> bytes_ = {};
  std::array<void*, 5> extra_ = {kLaunchParamBufferPointer, bytes_.data(), kLaunchParamBufferSize, &size,
                                 kLaunchParamEnd};
};

// Every test has a context of its own on device 0, current, and destroyed at its end.
class DriverTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  CUmodule Load(const std::string& ptx);
  CUfunction Kernel(const char* name);  // Of kKernels.
  CUcontext NewContext();               // Current afterwards.
  void Destroy(CUcontext context);
  CUresult Launch(CUfunction function, CUstream stream, void** extra = nullptr, unsigned grid = 1,
                  unsigned block = 32) {
    return api_->LaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, nullptr, extra);
  }

  const DriverApi* api_ = nullptr;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
};

// nothing(), store(words, value), bounded() with .maxntid 64, shaped() with .reqntid 32, 1, 1, and a variable `cell`.
extern const char* const kKernels;

}  // namespace slipway::cuda_library

#endif  // SLIPWAY_TESTS_CUDA_LIBRARY_TESTED_DRIVER_H_
