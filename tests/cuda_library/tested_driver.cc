#include "tests/cuda_library/tested_driver.h"

#include <cstdlib>

#include "driver/loader.h"

namespace slipway::cuda_library {
namespace {

const absl::StatusOr<DriverApi>& Opened() {
  static const absl::StatusOr<DriverApi>& opened = *new absl::StatusOr<DriverApi>([]() -> absl::StatusOr<DriverApi> {
    const char* const named = std::getenv("SLIPWAY_TEST_DRIVER");
    absl::StatusOr<DriverApi> driver = LoadDriver({named != nullptr ? named : SLIPWAY_TEST_DRIVER}, "tested");
    if (driver.ok() && driver->Init(0) != CUDA_SUCCESS) return absl::NotFoundError("cuInit fails: there is no GPU");
    return driver;
  }());
  return opened;
}

}  // namespace

const char* const kKernels = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .global .align 4 .u32 cell = 41;
.visible .entry nothing() { ret; }
.visible .entry store(.param .u64 words, .param .u32 value)
{
  .reg .b32 %r<6>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [words]; ld.param.u32 %r1, [value];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4;
  mul.wide.u32 %rd2, %r5, 4; add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r1;
  ret;
}
.visible .entry bounded() .maxntid 64, 1, 1 { ret; }
.visible .entry shaped() .reqntid 32, 1, 1 { ret; }
)";

const DriverApi* TestedDriver(std::string* why) {
  if (!Opened().ok()) {
    *why = Opened().status().ToString();
    return nullptr;
  }
  return &*Opened();
}

void* FindFunction(const char* symbol, int version) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (Opened()->GetProcAddress == nullptr ||
      Opened()->GetProcAddress(symbol, &function, version, 0, &found) != CUDA_SUCCESS) {
    ADD_FAILURE() << symbol << " of CUDA " << version << " is not there";
  }
  return function;
}

void DriverTest::SetUp() {
  std::string why;
  api_ = TestedDriver(&why);
  if (api_ == nullptr) GTEST_SKIP() << why;
  context_ = NewContext();
}

void DriverTest::TearDown() {
  if (context_ != nullptr) Destroy(context_);
}

CUcontext DriverTest::NewContext() {
  CUcontext made = nullptr;
  EXPECT_EQ((Function<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate", 3020)(&made, 0, 0)), CUDA_SUCCESS);
  return made;
}

void DriverTest::Destroy(CUcontext context) {
  // In a context that a fault has broken, the call tells of that; it is gone all the same.
  static_cast<void>(Function<CUresult(CUcontext)>("cuCtxDestroy", 4000)(context));
}

CUmodule DriverTest::Load(const std::string& ptx) {
  CUmodule module = nullptr;
  EXPECT_EQ(api_->ModuleLoadDataEx(&module, ptx.c_str(), 0, nullptr, nullptr), CUDA_SUCCESS);
  return module;
}

CUfunction DriverTest::Kernel(const char* name) {
  if (module_ == nullptr) module_ = Load(kKernels);
  CUfunction function = nullptr;
  EXPECT_EQ(api_->ModuleGetFunction(&function, module_, name), CUDA_SUCCESS) << name;
  return function;
}

}  // namespace slipway::cuda_library
