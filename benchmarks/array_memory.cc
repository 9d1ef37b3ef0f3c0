// What arrays cost the host: memory from the pool beside the driver's own, views of views, and a DLPack tensor on its
// way to a launch.
//
//   array_memory [--benchmark_filter=...] [--benchmark_out=FILE]
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "slipway/allocator.h"
#include "slipway/array.h"
#include "slipway/cpu_device.h"
#include "slipway/dlpack.h"
#include "slipway/null_driver.h"
#include "slipway/typed_kernel.h"
#include "tests/launch/dl_tensor.h"

namespace slipway {
namespace {

Device Open(const benchmark::State& state) {
  return state.range(0) == 0 ? Device::Open(NullDriver()).value() : Device::Open("cpu").value();
}
void OnBoth(benchmark::internal::Benchmark* benchmark) { benchmark->ArgName("cpu")->Arg(0)->Arg(1); }

void AllocateFromPool(benchmark::State& state) {
  const Device device = Open(state);
  const Stream stream = device.CreateStream().value();
  for (auto _ : state) benchmark::DoNotOptimize(DeviceMemory::Allocate(stream, 4096)->address());
}
BENCHMARK(AllocateFromPool)->Apply(OnBoth);

void AllocateFromDriver(benchmark::State& state) {
  const Device device = Open(state);
  for (auto _ : state) benchmark::DoNotOptimize(DeviceMemory::Allocate(device, 4096)->address());
}
BENCHMARK(AllocateFromDriver)->Apply(OnBoth);

void ArrayOfStream(benchmark::State& state) {
  const Device device = Open(state);
  const Stream stream = device.CreateStream().value();
  for (auto _ : state) benchmark::DoNotOptimize(Array<float, 2>::Empty(stream, {32, 32})->data());
}
BENCHMARK(ArrayOfStream)->Apply(OnBoth);

void SliceOfView(benchmark::State& state) {
  const Device device = Device::Open(NullDriver()).value();
  ArrayView<float, 2> view(device, reinterpret_cast<float*>(4096), {100, 100});
  for (auto _ : state) {
    benchmark::DoNotOptimize(view);
    benchmark::DoNotOptimize(view.Sliced(Slice{1, -1}, Slice{.step = -1})->data());
  }
}
BENCHMARK(SliceOfView);

using Saxpy = TypedKernel<ArrayView<float, 1>, ArrayView<const float, 1>, float>;
Saxpy Load(const Device& device) {
  auto inspection = std::make_shared<Inspection>();
  inspection->ptx = "the null driver does not read it";
  const Signature signature = {
      {.name = "y", .kind = ParamKind::kArray, .dtype = DType::kFloat32, .rank = 1},
      {.name = "x", .kind = ParamKind::kArray, .dtype = DType::kFloat32, .rank = 1, .read_only = true},
      {.name = "a", .kind = ParamKind::kScalar, .dtype = DType::kFloat32}};
  return Saxpy::Load(device, {"saxpy", signature, std::move(inspection)}).value();
}

void DLPackToLaunch(benchmark::State& state) {
  const Device device = Device::Open(NullDriver()).value();
  const Stream stream = device.CreateStream().value();
  const Saxpy saxpy = Load(device);
  int64_t shape[] = {1000}, strides[] = {1};
  TestTensor tensor = {reinterpret_cast<void*>(4096), {2, 0}, 1, {2, 32, 1}, shape, strides, 0};
  for (auto _ : state) {
    benchmark::DoNotOptimize(tensor);
    const absl::StatusOr<AnyArrayView> any = ViewOfDLPack(device, tensor);
    const absl::StatusOr<ArrayView<float, 1>> view = any->As<float, 1>();
    benchmark::DoNotOptimize(saxpy(stream, ForSize(1000), *view, *view, 2.0f).ok());
  }
}
BENCHMARK(DLPackToLaunch);

void LaunchAlone(benchmark::State& state) {
  const Device device = Device::Open(NullDriver()).value();
  const Stream stream = device.CreateStream().value();
  const Saxpy saxpy = Load(device);
  ArrayView<float, 1> view(device, reinterpret_cast<float*>(4096), {1000});
  for (auto _ : state) {
    benchmark::DoNotOptimize(view);
    benchmark::DoNotOptimize(saxpy(stream, ForSize(1000), view, view, 2.0f).ok());
  }
}
BENCHMARK(LaunchAlone);

}  // namespace
}  // namespace slipway

BENCHMARK_MAIN();
