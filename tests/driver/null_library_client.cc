// A program that wants a GPU: it opens the machine's CUDA driver and launches. Run with the null driver library first
// on LD_LIBRARY_PATH, it gets the null device.
#include <cstdio>

#include "slipway/device.h"
#include "slipway/driver_api.h"
#include "slipway/stream.h"

int main() {
  using namespace slipway;
  const absl::StatusOr<Device> device = Device::Open("cuda");
  if (!device.ok()) {
    std::fprintf(stderr, "%s\n", device.status().ToString().c_str());
    return 1;
  }
  const absl::StatusOr<Stream> stream = device->CreateStream();
  if (!stream.ok()) return 1;
  const DriverApi& api = device->api();
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  if (api.ModuleLoadDataEx(&module, "", 0, nullptr, nullptr) != CUDA_SUCCESS) return 1;
  if (api.ModuleGetFunction(&function, module, "k") != CUDA_SUCCESS) return 1;
  if (api.LaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream->handle(), nullptr, nullptr) != CUDA_SUCCESS) return 1;
  std::printf("launched on %s\n", device->Describe().c_str());
  return stream->Synchronize().ok() ? 0 : 1;
}
