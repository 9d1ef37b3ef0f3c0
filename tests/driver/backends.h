// The drivers that tests of handles run on.
#ifndef SLIPWAY_TESTS_DRIVER_BACKENDS_H_
#define SLIPWAY_TESTS_DRIVER_BACKENDS_H_

#include <gtest/gtest.h>

#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "slipway/driver_api.h"

namespace slipway {

// A driver to run the tests on, printed by its name.
struct Backend {
  const DriverApi* api;
};
void PrintTo(const Backend& backend, std::ostream* out);
std::string NameOf(const testing::TestParamInfo<Backend>& info);

// Those that really run kernels: the CPU device, with two devices, where it is built, and CUDA where it works.
std::vector<Backend> ComputingDrivers();
// Those, and the null, the recording and a fault driver.
std::vector<Backend> DriversAtHand();
bool IsComputing(const DriverApi& api);

// The context that is current on this thread.
CUcontext Current(const DriverApi& api);

inline std::string Message(const absl::Status& status) { return std::string(status.message()); }

}  // namespace slipway

#endif  // SLIPWAY_TESTS_DRIVER_BACKENDS_H_
