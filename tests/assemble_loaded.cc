// Linked into a test program: every PTX that the CPU device loaded in it is given to NVIDIA's assembler at the end,
// where that is installed, for sm_75, sm_90 and sm_120 as far as the text's own target allows. What the CPU device
// takes and a GPU would refuse cannot pass then.
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "driver/registry.h"
#include "gtest/gtest.h"
#include "slipway/cpu_device.h"
#include "tests/ptxas.h"

namespace slipway {
namespace {

// Longer texts try the patience of compilers, and ptxas has little.
constexpr size_t kMostBytes = size_t{1} << 18;

std::mutex mutex;
std::set<std::string>& Texts() {
  static auto* texts = new std::set<std::string>;
  return *texts;
}

const DriverApi& NotingDriver() {
  static const DriverApi api = [] {
    DriverApi noting = CpuDriver();
    noting.ModuleLoadDataEx = [](CUmodule* module, const void* image, unsigned count, CUjit_option* options,
                                 void** values) {
      const CUresult result = CpuDriver().ModuleLoadDataEx(module, image, count, options, values);
      if (result == CUDA_SUCCESS) {
        std::string text = static_cast<const char*>(image);
        const std::lock_guard<std::mutex> lock(mutex);
        if (text.size() <= kMostBytes) Texts().insert(std::move(text));
      }
      return result;
    };
    return noting;
  }();
  return api;
}

int TargetOf(const std::string& text) {
  const size_t at = text.find(".target sm_");
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + 11);
}

class AssembleLoaded : public testing::Environment {
 public:
  void SetUp() override {
    // For the rest of the program; after static initialisation, so that it is the newest of this name.
    static const DriverRegistration registration("cpu",
                                                 [] { return absl::StatusOr<const DriverApi*>(&NotingDriver()); });
  }
  void TearDown() override {
    if (FindPtxas().empty()) return;
    for (const int sm : {75, 90, 120}) {
      std::vector<std::string> texts;
      for (const std::string& text : Texts()) {
        if (TargetOf(text) <= sm) texts.push_back(text);
      }
      const absl::Status status = AssembleAll(texts, sm);
      EXPECT_TRUE(status.ok()) << status;
    }
  }
};

[[maybe_unused]] testing::Environment* const environment = testing::AddGlobalTestEnvironment(new AssembleLoaded);

}  // namespace
}  // namespace slipway
