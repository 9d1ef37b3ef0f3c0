// Kernels under SLIPWAY_CPU_CHECK, and what is told of them.
#ifndef SLIPWAY_TESTS_CPU_CHECK_FIXTURE_H_
#define SLIPWAY_TESTS_CPU_CHECK_FIXTURE_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/assembled.h"
#include "tests/cpu/api_fixture.h"

namespace slipway::cpu {

// The program that has these tests sets SLIPWAY_CPU_CHECK before main.
class CheckTest : public ApiTest {
 protected:
  struct Shape {
    unsigned grid = 1;
    unsigned block[2] = {1, 1};
    unsigned shared = 0;
  };

  // A text's kernel `k`.
  CUfunction Load(const std::string& body) {
    const std::string text = ".version 8.3\n.target sm_75\n.address_size 64\n" + body;
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    std::string log(1024, '\0');
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
    EXPECT_CUDA(Api().ModuleLoadDataEx(&module, text.c_str(), 2, options, values)) << log.c_str() << text;
    EXPECT_CUDA(Api().ModuleGetFunction(&function, module, "k"));
    AssembleAfterTests(text);
    return function;
  }

  template <class... Args>
  CUresult Run(CUfunction function, const Shape& shape, Args... args) {
    LaunchBuffer buffer(args...);
    EXPECT_CUDA(Api().LaunchKernel(function, shape.grid, 1, 1, shape.block[0], shape.block[1], 1, shape.shared, nullptr,
                                   nullptr, buffer.extra()));
    return Api().CtxSynchronize();
  }

  // Runs a kernel that fails, and gives what was told; then there is a new context.
  template <class... Args>
  std::string Told(CUresult want, CUfunction function, const Shape& shape, Args... args) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(Run(function, shape, args...), want);
    std::string told = testing::internal::GetCapturedStderr();
    EXPECT_EQ(Api().CtxSynchronize(), want) << "sticky";
    Renew();
    return told;
  }

  void Renew() {
    TearDown();
    SetUp();
  }

  CUdeviceptr Allocate(size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_CUDA(Api().MemAlloc(&address, bytes));
    return address;
  }
};

inline std::string Hex(uint64_t value) { return absl::StrCat("0x", absl::Hex(value)); }

}  // namespace slipway::cpu

#endif  // SLIPWAY_TESTS_CPU_CHECK_FIXTURE_H_
