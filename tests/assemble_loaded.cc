// Linked into a test program: every PTX that the CPU device loaded in it is assembled at the end (tests/assembled.h).
// What the CPU device takes and a GPU would refuse cannot pass then.
#include <string>

#include "absl/status/statusor.h"
#include "driver/registry.h"
#include "gtest/gtest.h"
#include "slipway/cpu_device.h"
#include "tests/assembled.h"

namespace slipway {
namespace {

// Longer texts try the patience of compilers, and ptxas has little.
constexpr size_t kMostBytes = size_t{1} << 18;

const DriverApi& NotingDriver() {
  static const DriverApi api = [] {
    DriverApi noting = CpuDriver();
    noting.ModuleLoadDataEx = [](CUmodule* module, const void* image, unsigned count, CUjit_option* options,
                                 void** values) {
      const CUresult result = CpuDriver().ModuleLoadDataEx(module, image, count, options, values);
      if (result == CUDA_SUCCESS) {
        const std::string text = static_cast<const char*>(image);
        if (text.size() <= kMostBytes) AssembleAfterTests(text);
      }
      return result;
    };
    return noting;
  }();
  return api;
}

class NoteLoaded : public testing::Environment {
 public:
  void SetUp() override {
    // For the rest of the program; after static initialisation, so that it is the newest of this name.
    static const DriverRegistration registration("cpu",
                                                 [] { return absl::StatusOr<const DriverApi*>(&NotingDriver()); });
  }
};

[[maybe_unused]] testing::Environment* const environment = testing::AddGlobalTestEnvironment(new NoteLoaded);

}  // namespace
}  // namespace slipway
