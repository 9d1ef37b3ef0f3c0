// Drivers by name, so that Device::Open("cpu") finds a driver that only some programs link.
//
// A library that brings a driver defines one registration object at namespace scope:
//
//   const DriverRegistration registration("cpu", [] { return absl::StatusOr<const DriverApi*>(&CpuDriver()); });
//
// In a static library the linker drops an object file that nobody refers to, so the target must also carry an
// interface link option `--undefined=<a symbol of that file>`; driver/cpu/CMakeLists.txt does so.
#ifndef SLIPWAY_DRIVER_REGISTRY_H_
#define SLIPWAY_DRIVER_REGISTRY_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "slipway/driver_api.h"

namespace slipway {

// Makes a driver's table available, loading whatever it needs. Called at each look-up, from any thread.
using OpenDriver = absl::StatusOr<const DriverApi*> (*)();

// Registers a driver while it lives. Of several registrations of one name the newest is found, so that a test can stand
// in for a driver. `name` must outlive the registration. Safe during static initialisation and from any thread.
class DriverRegistration {
 public:
  DriverRegistration(std::string_view name, OpenDriver open);
  ~DriverRegistration();
  DriverRegistration(const DriverRegistration&) = delete;
  DriverRegistration& operator=(const DriverRegistration&) = delete;

 private:
  friend OpenDriver FindDriver(std::string_view name);
  std::string_view name_;
  OpenDriver open_;
};

// The driver registered as `name`, or nullptr.
OpenDriver FindDriver(std::string_view name);

}  // namespace slipway

#endif  // SLIPWAY_DRIVER_REGISTRY_H_
