// Memory that grows with each compile or launch (FC-34), in a process of its own: of its resident size nothing but the
// tests here has a part.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "driver/cpu/sanitizers.h"
#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/embedded.h"
#include "slipway/kernel.h"
#include "slipway/module.h"
#include "slipway/stream.h"

namespace slipway {
namespace {

using testing::Each;

int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

class ResidentTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    SetLaunchWarnings(false);
    // The CPU device keeps translated code: here so little that the first kernels fill it. What comes after them must
    // find its room in what goes.
    setenv("SLIPWAY_CPU_CACHE", "256K", /*overwrite=*/1);
  }

  // Of the device, free: of what the program has not freed, nothing else is told.
  size_t FreeBytes() const {
    const ScopedContext current(*device_.state());
    size_t free = 0, total = 0;
    EXPECT_EQ(device_.api().MemGetInfo(&free, &total), CUDA_SUCCESS);
    return free;
  }
  // Runs `body` for 0, 1, ...; after the first `warm`, the host's memory must be flat, and the device's as before.
  template <class F>
  void ExpectFlat(int warm, int count, const F& body) {
    if (cpu::kSanitized) count = warm + (count - warm) / 50;
    const size_t free_before = FreeBytes();
    for (int k = 0; k < warm; ++k) body(k);
    ASSERT_TRUE(stream_.Synchronize().ok());
    const int64_t before = ResidentBytes();
    for (int k = warm; k < count; ++k) body(k);
    ASSERT_TRUE(stream_.Synchronize().ok());
    const int64_t grown = ResidentBytes() - before;
    EXPECT_EQ(FreeBytes(), free_before);
    // Sanitizers keep what was freed for a while; the leak checker looks instead.
    EXPECT_LT(grown, cpu::kSanitized ? INT64_MAX : int64_t{1} << 20);
  }

  const Device device_ = Device::Open("cpu").value();
  const Stream stream_ = device_.CreateStream().value();
};

constexpr int64_t kSize = 256;

TEST_F(ResidentTest, KernelsAreCompiledLaunchedAndDropped) {
  ExpectFlat(50, 550, [&](int k) {
    const auto kernel = MakeKernel("add", [k](ArrayVar<int32_t, 1> x) {  // Another kernel for each k.
      For(GridStride(x.size()), [&](Expr<int64_t> i) { x[i] = x[i] + k; });
    });
    const auto x = Array<int32_t, 1>::From(device_, std::vector<int32_t>(kSize, 1000)).value();
    ASSERT_EQ(kernel(stream_, ForSize(kSize), x), absl::OkStatus());
    ASSERT_THAT(x.ToVector().value(), Each(1000 + k));
  });
}

TEST_F(ResidentTest, KernelsThatCannotBeMade) {
  const auto x = Array<uint64_t, 1>::Zeros(device_, kSize).value();
  ExpectFlat(50, 550, [&](int k) {
    const GenericKernel mixed = MakeGenericKernel("mixed", [k](AnyArrayVar y) {
      For(GridStride(y.size()), [&](Expr<int64_t> i) { y.Flat(i) = y.Flat(i) + Cast<int32_t>(i) + k; });
    });
    ASSERT_EQ(mixed(stream_, ForSize(kSize), x).code(), absl::StatusCode::kInvalidArgument);
    const absl::Status unknown =
        Module::LoadPtx(device_, ".version 7.0\n.target sm_75\n.address_size 64\n.entry k() { bogus; }").status();
    ASSERT_EQ(unknown.code(), absl::StatusCode::kInvalidArgument);
  });
}

TEST_F(ResidentTest, AMillionLaunches) {
  const auto kernel = MakeKernel(
      "count", [](ArrayVar<int32_t, 1> x, Var<int32_t> by) { If(GlobalIndex() == 0, [&] { x[0] = x[0] + by; }); });
  const auto x = Array<int32_t, 1>::Zeros(device_, kSize).value();
  int32_t launches = 0;
  ExpectFlat(10'000, 1'010'000, [&](int k) {
    ASSERT_TRUE(kernel(stream_, LaunchConfig{.grid = {1}, .block = {1}}, x, k % 3).ok());
    launches += k % 3;
  });
  EXPECT_EQ(x.ToVector().value()[0], launches);
}

}  // namespace
}  // namespace slipway
