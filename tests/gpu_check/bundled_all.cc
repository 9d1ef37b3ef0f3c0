// The device tests inside the bundle's program.
#include <cstring>

#include "driver/loader.h"
#include "driver/registry.h"
#include "gtest/gtest.h"
#include "tests/gpu_check/bundled.h"

namespace slipway::gpu_check {
namespace {

// Device tests open the CPU device by its name. With --device cuda a GPU stands in for it.
int DeviceTestsMain(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const bool on_gpu = argc == 3 && std::strcmp(argv[1], "--device") == 0 && std::strcmp(argv[2], "cuda") == 0;
  static const DriverRegistration* const stand_in = on_gpu ? new DriverRegistration("cpu", &CudaDriver) : nullptr;
  static_cast<void>(stand_in);
  return RUN_ALL_TESTS();
}

}  // namespace

std::vector<BundledProgram> BundledPrograms() { return {{"tests", DeviceTestsMain}}; }

}  // namespace slipway::gpu_check
