// Device::Open by name: which driver, which ordinal, and what to say where there is none.
#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "driver/loader.h"
#include "driver/log.h"
#include "driver/registry.h"
#include "driver/status_macros.h"
#include "slipway/device.h"
#include "slipway/host_driver.h"

namespace slipway {
namespace {

const DriverRegistration cuda_registration("cuda", &CudaDriver);
const DriverRegistration host_registration("host", [] { return absl::StatusOr<const DriverApi*>(&HostDriver()); });

// A name taken apart: "cuda:3" is {"cuda", 3}.
struct DeviceName {
  std::string_view driver;
  int ordinal = 0;
};

absl::StatusOr<DeviceName> ParseName(std::string_view which, bool from_environment) {
  if (which == "auto" || which == "cpu" || which == "cuda" || which == "host") return DeviceName{.driver = which};
  constexpr std::string_view kPrefix = "cuda:";
  if (which.substr(0, kPrefix.size()) == kPrefix) {
    const std::string_view digits = which.substr(kPrefix.size());
    int ordinal = 0;
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (!digits.empty() && std::all_of(digits.begin(), digits.end(), is_digit) &&
        absl::SimpleAtoi(AsAbsl(digits), &ordinal)) {
      return DeviceName{.driver = "cuda", .ordinal = ordinal};
    }
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown device '", AsAbsl(which), "'",
                                                 from_environment ? " in the environment variable SLIPWAY_DEVICE" : "",
                                                 ": give 'auto', 'cuda', 'cuda:N' (N from 0), 'cpu' or 'host'"));
}

absl::StatusOr<const DriverApi*> GetDriver(std::string_view name) {
  if (OpenDriver open = FindDriver(name)) return open();
  if (name != "cpu") {
    return absl::NotFoundError(absl::StrCat("there is no driver '", AsAbsl(name), "'; give 'cuda', 'cpu' or 'host'"));
  }
  return absl::NotFoundError(
      "the CPU device is not part of this program: link slipway::cpu_device (or slipway::slipway)");
}

absl::StatusOr<Device> OpenNamed(const DeviceName& name) {
  SLIPWAY_ASSIGN_OR_RETURN(const DriverApi* api, GetDriver(name.driver));
  return Device::Open(*api, name.ordinal);
}

// The first GPU that works. Where none does, the error of the first: it is the one that people mean to use.
absl::StatusOr<Device> OpenAnyGpu() {
  SLIPWAY_ASSIGN_OR_RETURN(const DriverApi* api, GetDriver("cuda"));
  absl::StatusOr<Device> first = Device::Open(*api, 0);
  if (first.ok()) return first;
  int count = 0;
  if (api->DeviceGetCount(&count) != CUDA_SUCCESS) return first;
  for (int ordinal = 1; ordinal < count; ++ordinal) {
    absl::StatusOr<Device> next = Device::Open(*api, ordinal);
    if (next.ok()) return next;
  }
  return first;
}

absl::StatusOr<Device> OpenAuto() {
  absl::StatusOr<Device> gpu = OpenAnyGpu();
  if (gpu.ok()) return gpu;
  absl::StatusOr<Device> cpu = OpenNamed({.driver = "cpu"});
  if (!cpu.ok()) {
    return absl::NotFoundError(
        absl::StrCat("no device works. GPU: ", gpu.status().message(), ". CPU device: ", cpu.status().message()));
  }
  static std::once_flag said;
  std::call_once(said, [&] { LogWarning(absl::StrCat("using the CPU device, not a GPU: ", gpu.status().message())); });
  return cpu;
}

}  // namespace

absl::StatusOr<Device> Device::Open(std::string_view which) {
  bool from_environment = false;
  if (which.empty()) {
    const char* wanted = std::getenv("SLIPWAY_DEVICE");
    from_environment = wanted != nullptr && *wanted != '\0';
    which = from_environment ? wanted : "auto";
  }
  SLIPWAY_ASSIGN_OR_RETURN(const DeviceName name, ParseName(which, from_environment));
  return name.driver == "auto" ? OpenAuto() : OpenNamed(name);
}

absl::StatusOr<int> Device::Count(std::string_view driver) {
  SLIPWAY_ASSIGN_OR_RETURN(const DriverApi* api, GetDriver(driver));
  int count = 0;
  const CUresult initialized = api->Init(0);
  if (initialized == CUDA_ERROR_NO_DEVICE) return 0;  // As a driver says where it has nothing to drive.
  SLIPWAY_RETURN_IF_ERROR(
      DriverStatus(*api, initialized, absl::StrCat("cannot initialize the driver '", api->name, "'")));
  SLIPWAY_RETURN_IF_ERROR(DriverStatus(*api, api->DeviceGetCount(&count),
                                       absl::StrCat("cannot count the devices of the driver '", api->name, "'")));
  return count;
}

absl::StatusOr<std::vector<Device>> Device::All(std::string_view driver) {
  std::vector<Device> devices;
  if (driver.empty()) {
    for (const char* name : {"cuda", "cpu"}) {
      const absl::StatusOr<const DriverApi*> api = GetDriver(name);
      const int count = api.ok() ? Count(name).value_or(0) : 0;
      for (int ordinal = 0; ordinal < count; ++ordinal) {
        absl::StatusOr<Device> device = Open(**api, ordinal);
        if (device.ok()) devices.push_back(*std::move(device));
      }
    }
    return devices;
  }
  SLIPWAY_ASSIGN_OR_RETURN(const DriverApi* api, GetDriver(driver));
  SLIPWAY_ASSIGN_OR_RETURN(const int count, Count(driver));
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    SLIPWAY_ASSIGN_OR_RETURN(Device device, Open(*api, ordinal));
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace slipway
