// What the launch layer's tests share: kernels without code, and a driver whose memory is real.
#ifndef SLIPWAY_TESTS_LAUNCH_LAUNCH_TEST_UTIL_H_
#define SLIPWAY_TESTS_LAUNCH_LAUNCH_TEST_UTIL_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "slipway/device.h"
#include "slipway/kernel.h"
#include "slipway/null_driver.h"
#include "slipway/signature.h"

namespace slipway {

// A kernel of this signature whose code does nothing; parameters without a name become p0, p1, ... The null drivers
// take any PTX.
inline CompiledKernel EmptyKernel(Signature signature, const std::string& name = "kernel",
                                  const std::string& isa = "8.1") {
  for (size_t i = 0; i < signature.size(); ++i) {
    if (signature[i].name.empty()) signature[i].name = "p" + std::to_string(i);
  }
  auto inspection = std::make_shared<Inspection>();
  inspection->ptx =
      ".version " + isa + "\n.target sm_90\n.address_size 64\n.visible .entry " + name + "()\n{\n  ret;\n}\n";
  return {name, std::move(signature), std::move(inspection)};
}

inline ParamSpec ScalarParam(DType dtype) { return {.name = {}, .kind = ParamKind::kScalar, .dtype = dtype}; }
inline ParamSpec ArrayParam(DType dtype, int rank, Layout layout = Layout::kStrided, bool read_only = false,
                            IndexWidth index = IndexWidth::kIndex64) {
  return {.name = {},
          .kind = ParamKind::kArray,
          .dtype = dtype,
          .rank = rank,
          .layout = layout,
          .index = index,
          .read_only = read_only};
}

// A device on the recording driver, whose kernels do not say that a launch is small. Clears the record.
inline Device RecordingDevice() {
  SetLaunchWarnings(false);
  TakeRecordedLaunches();
  return Device::Open(RecordingDriver()).value();
}

// The null driver with memory and copies that are real, for tests of what arrays hold.
const DriverApi& HostMemoryDriver();

inline void ExpectError(const absl::Status& status, absl::StatusCode code, const std::string& message) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr(message));
}

}  // namespace slipway

#endif  // SLIPWAY_TESTS_LAUNCH_LAUNCH_TEST_UTIL_H_
