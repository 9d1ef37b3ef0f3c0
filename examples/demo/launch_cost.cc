#include "examples/demo/launch_cost.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "driver/status_macros.h"
#include "examples/demo/kernels.h"
#include "slipway/null_driver.h"
#include "slipway/typed_kernel.h"

namespace slipway::demo {
namespace {

constexpr int kLaunchesInBatch = 2000;
constexpr int kBatches = 101;

// Keeps the optimiser from knowing what `value` points to, so that nothing about a launch moves out of the loop.
template <class T>
void Opaque(T* value) {
  asm volatile("" : : "r"(value) : "memory");
}

template <class Launch>
double NanosecondsPerLaunch(const Launch& launch) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kLaunchesInBatch; ++i) launch(static_cast<float>(i));
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
  return time.count() / kLaunchesInBatch;
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

}  // namespace

absl::StatusOr<LaunchCost> MeasureLaunchCost() {
  SLIPWAY_ASSIGN_OR_RETURN(const Device device, Device::Open(NullDriver()));
  SLIPWAY_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  SLIPWAY_ASSIGN_OR_RETURN(const Kernel dynamic, MakeSaxpy(device));
  using Saxpy = TypedKernel<ArrayView<float, 1>, ArrayView<const float, 1>, float>;
  SLIPWAY_ASSIGN_OR_RETURN(const Saxpy typed, Saxpy::From(dynamic));

  // The null driver never looks behind an address.
  constexpr int64_t kSize = 1 << 20;
  float* const memory = reinterpret_cast<float*>(uintptr_t{1} << 32);
  ArrayView<float, 1> y(device, memory, {kSize});
  ArrayView<const float, 1> x(device, memory + kSize, {kSize});
  LaunchConfig config = ForSize(kSize);
  int64_t failures = 0;

  struct BareArray {
    const float* data;
    int64_t shape, stride;
  };
  struct BareBuffer {
    BareArray y, x;
    float a;
  };
  const DriverApi& api = device.api();
  const CUfunction function = dynamic.plan().function;
  BareArray bare_y = {memory, kSize, 1}, bare_x = {memory + kSize, kSize, 1};
  unsigned block = 256, grid = kSize / 256;
  const auto launch_bare = [&](float a) {
    Opaque(&bare_y), Opaque(&bare_x), Opaque(&grid), Opaque(&block);
    BareBuffer buffer = {bare_y, bare_x, a};
    size_t size = offsetof(BareBuffer, a) + sizeof(float);
    void* extra[] = {kLaunchParamBufferPointer, &buffer, kLaunchParamBufferSize, &size, kLaunchParamEnd};
    failures += api.LaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream.handle(), nullptr, extra) != CUDA_SUCCESS;
  };
  const auto launch_typed = [&](float a) {
    Opaque(&y), Opaque(&x), Opaque(&config);
    failures += !typed(stream, config, y, x, a).ok();
  };
  const auto launch_dynamic = [&](float a) {
    Opaque(&y), Opaque(&x), Opaque(&config);
    failures += !dynamic.Launch(stream, config, {y, x, a}).ok();
  };

  std::vector<double> bare_times, typed_times, dynamic_times;
  for (int batch = 0; batch < kBatches; ++batch) {
    bare_times.push_back(NanosecondsPerLaunch(launch_bare));
    typed_times.push_back(NanosecondsPerLaunch(launch_typed));
    dynamic_times.push_back(NanosecondsPerLaunch(launch_dynamic));
  }
  if (failures != 0) return absl::InternalError("a launch on the null driver failed");
  return LaunchCost{Median(bare_times), Median(typed_times), Median(dynamic_times)};
}

}  // namespace slipway::demo
