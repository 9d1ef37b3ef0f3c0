// There is no second road: what the CPU device runs is, byte for byte, the PTX that inspection shows, launched with the
// buffer that a GPU would get.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "driver/cpu/testing.h"
#include "slipway/array.h"
#include "slipway/cpu_device.h"
#include "slipway/device.h"
#include "slipway/elementwise.h"
#include "slipway/embedded.h"
#include "slipway/kernel.h"
#include "slipway/stream.h"

namespace slipway {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// The CPU device's own table, with a note taken of what passes.
std::vector<CUmodule> modules;
int launches_with_a_buffer = 0;
int other_launches = 0;

const DriverApi& NotingDriver() {
  static const DriverApi api = [] {
    DriverApi noting = CpuDriver();
    noting.ModuleLoadDataEx = [](CUmodule* module, const void* image, unsigned count, CUjit_option* options,
                                 void** values) {
      const CUresult result = CpuDriver().ModuleLoadDataEx(module, image, count, options, values);
      if (result == CUDA_SUCCESS) modules.push_back(*module);
      return result;
    };
    noting.LaunchKernel = [](CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                             unsigned bz, unsigned shared, CUstream stream, void** params, void** extra) {
      (params == nullptr && extra != nullptr ? launches_with_a_buffer : other_launches) += 1;
      return CpuDriver().LaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
    };
    return noting;
  }();
  return api;
}

class OneRoadTest : public testing::Test {
 protected:
  void SetUp() override {
    modules.clear();
    launches_with_a_buffer = other_launches = 0;
  }

  static std::vector<std::string> LoadedTexts() {
    std::vector<std::string> texts;
    for (CUmodule module : modules) texts.push_back(cpu::LoadedPtxForTesting(module));
    std::sort(texts.begin(), texts.end());
    return texts;
  }

  Device device_ = Device::Open(NotingDriver()).value();
  Stream stream_ = device_.CreateStream().value();
};

TEST_F(OneRoadTest, Formulas) {
  const auto x = Array<float, 1>::From(device_, std::vector<float>{1, 2, 3, 4}).value();
  const ArrayView<float, 1> every_second(device_, x.data(), {2}, {2});
  const auto doubles = Array<double, 1>::From(device_, std::vector<double>{4, 9}).value();
  const Elementwise text = Elementwise::Parse("z = sqrt(x) * a + exp(x - x)").value();
  EXPECT_THAT(text(stream_, doubles, 2.0)->ToVector<double>().value(), ElementsAre(5, 7));
  EXPECT_THAT(text(stream_, every_second, 0.0f)->ToVector<float>().value(), ElementsAre(1, 1));
  ASSERT_TRUE(text(stream_, x, 2.0f).ok());
  std::vector<std::string> shown;
  for (const ElementwiseVariant& variant : text.Inspect()) shown.push_back(variant.inspection->ptx);
  std::sort(shown.begin(), shown.end());
  EXPECT_THAT(shown, SizeIs(3));
  EXPECT_EQ(LoadedTexts(), shown);
  EXPECT_EQ(launches_with_a_buffer, 3);
  EXPECT_EQ(other_launches, 0);
}

TEST_F(OneRoadTest, EmbeddedKernels) {
  auto scale = MakeKernel("scale", [](ArrayVar<float, 1> y, Var<float> a) {
    For(GridStride(y.size()), [&](Expr<int64_t> i) { y[i] = a * sin(y[i] - y[i]) + a; });
  });
  const auto y = Array<float, 1>::From(device_, std::vector<float>{1, 2, 3}).value();
  ASSERT_TRUE(scale(stream_, ForSize(3), y, 5.0f).ok());
  EXPECT_THAT(y.ToVector().value(), ElementsAre(5, 5, 5));
  ASSERT_THAT(modules, SizeIs(1));
  EXPECT_EQ(LoadedTexts()[0], scale.Inspect(device_, /*index32=*/true).value().ptx);
  EXPECT_THAT(modules, SizeIs(1)) << "inspection compiles nothing anew";
  // The same text again, loaded and launched as a kernel of types known at run time.
  const CompiledKernel compiled = scale.CompiledFor(device_).value();
  const Kernel kernel = Kernel::Load(device_, compiled).value();
  ASSERT_TRUE(kernel.Launch(stream_, ForSize(3), {y, 7.0f}).ok());
  EXPECT_THAT(y.ToVector().value(), ElementsAre(7, 7, 7));
  ASSERT_THAT(modules, SizeIs(2)) << "kernels of one text share what is loaded";
  EXPECT_EQ(cpu::LoadedPtxForTesting(modules[1]), compiled.inspection->ptx);
  EXPECT_EQ(cpu::LoadedPtxForTesting(modules[1]), kernel.inspection().ptx);
  EXPECT_EQ(launches_with_a_buffer, 2);
  EXPECT_EQ(other_launches, 0);
}

}  // namespace
}  // namespace slipway
