#include "tests/driver/backends.h"

#include <cstdlib>
#include <ostream>

#include "driver/registry.h"
#include "slipway/device.h"
#include "slipway/fault_driver.h"
#include "slipway/null_driver.h"

namespace slipway {
namespace {

const DriverApi* Registered(const char* name) {
  OpenDriver open = FindDriver(name);
  if (open == nullptr) return nullptr;
  const absl::StatusOr<const DriverApi*> api = open();
  return api.ok() && Device::Open(**api).ok() ? *api : nullptr;
}

}  // namespace

void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.api->name; }
std::string NameOf(const testing::TestParamInfo<Backend>& info) { return info.param.api->name; }

std::vector<Backend> ComputingDrivers() {
  setenv("SLIPWAY_CPU_DEVICES", "2", /*overwrite=*/0);
  std::vector<Backend> drivers;
  for (const char* name : {"cpu", "cuda"}) {
    if (const DriverApi* api = Registered(name)) drivers.push_back({api});
  }
  return drivers;
}

std::vector<Backend> DriversAtHand() {
  std::vector<Backend> drivers = ComputingDrivers();
  drivers.push_back({&NullDriver()});
  drivers.push_back({&RecordingDriver()});
  drivers.push_back({&FaultDriver::Wrap(RecordingDriver()).value()->api()});
  return drivers;
}

bool IsComputing(const DriverApi& api) {
  const std::string name = api.name;
  return name == "cpu" || name == "cuda";
}

CUcontext Current(const DriverApi& api) {
  CUcontext context = nullptr;
  EXPECT_EQ(api.CtxGetCurrent(&context), CUDA_SUCCESS);
  return context;
}

}  // namespace slipway
