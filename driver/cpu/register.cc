// Makes Device::Open("cpu") find the CPU device in every program that links it.
#include "driver/registry.h"
#include "slipway/cpu_device.h"

namespace slipway::cpu {
namespace {

const DriverRegistration registration("cpu", [] { return absl::StatusOr<const DriverApi*>(&CpuDriver()); });

}  // namespace
}  // namespace slipway::cpu

// Named by the target's link options: without it the linker would leave this file in the static library.
extern "C" void slipway_cpu_device_registered() {}
