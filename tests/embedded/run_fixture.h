// What tests that run embedded kernels on the CPU device begin with.
#ifndef SLIPWAY_TESTS_EMBEDDED_RUN_FIXTURE_H_
#define SLIPWAY_TESTS_EMBEDDED_RUN_FIXTURE_H_

#include <gtest/gtest.h>

#include <vector>

#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/stream.h"

namespace slipway {

class RunFixture : public testing::Test {
 protected:
  template <class T>
  Array<T, 1> Make(const std::vector<T>& values) {
    return Array<T, 1>::From(device, values).value();
  }
  // After all that is queued.
  template <class T>
  std::vector<T> Read(const Array<T, 1>& array) {
    EXPECT_TRUE(stream.Synchronize().ok());
    return AnyArray(array).template ToVector<T>().value();
  }

  Device device = Device::Open("cpu").value();
  Stream stream = device.CreateStream().value();
};

}  // namespace slipway

#endif  // SLIPWAY_TESTS_EMBEDDED_RUN_FIXTURE_H_
