// Elementwise calls on the CPU device, with host data in and out.
#ifndef SLIPWAY_TESTS_TEXT_CPU_FIXTURE_H_
#define SLIPWAY_TESTS_TEXT_CPU_FIXTURE_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "slipway/elementwise.h"

namespace slipway {

class CpuTest : public testing::Test {
 protected:
  CpuTest() : device_(Device::Open("cpu").value()), stream_(device_.CreateStream().value()) {}

  template <class T>
  Array<T, 1> From(const std::vector<T>& values) {
    return Array<T, 1>::From(device_, values).value();
  }
  template <class T>
  Array<T, 2> From(const std::vector<T>& values, std::array<int64_t, 2> shape) {
    return Array<T, 2>::From(device_, values, shape).value();
  }

  // The one output of a call, as host values; a test failure where it went wrong.
  template <class T, class... Inputs>
  std::vector<T> Run(const Elementwise& text, const Inputs&... inputs) {
    const absl::StatusOr<AnyArray> output = text(stream_, inputs...);
    return Values<T>(output);
  }
  template <class T, class... Inputs>
  std::vector<T> Run(const std::string& text, const Inputs&... inputs) {
    const absl::StatusOr<Elementwise> parsed = Elementwise::Parse(text);
    if (!parsed.ok()) {
      ADD_FAILURE() << parsed.status();
      return {};
    }
    return Run<T>(*parsed, inputs...);
  }
  template <class T>
  std::vector<T> Values(const absl::StatusOr<AnyArray>& array) {
    if (!array.ok()) {
      ADD_FAILURE() << array.status();
      return {};
    }
    const absl::Status done = stream_.Synchronize();
    if (!done.ok()) {
      ADD_FAILURE() << done;
      return {};
    }
    absl::StatusOr<std::vector<T>> values = array->ToVector<T>();
    if (!values.ok()) {
      ADD_FAILURE() << values.status();
      return {};
    }
    return *std::move(values);
  }
  template <class T, int N>
  std::vector<T> Values(const Array<T, N>& array) {
    return Values<T>(absl::StatusOr<AnyArray>(array));
  }

  Device device_;
  Stream stream_;
};

inline uint32_t BitsOf(float value) { return std::bit_cast<uint32_t>(value); }
inline uint64_t BitsOf(double value) { return std::bit_cast<uint64_t>(value); }

}  // namespace slipway

#endif  // SLIPWAY_TESTS_TEXT_CPU_FIXTURE_H_
