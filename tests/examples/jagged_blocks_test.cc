// The building blocks that the kernel families stand on, past the sizes of the project's cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "examples/jagged/call.h"
#include "examples/jagged/scan.h"
#include "examples/jagged/sort.h"
#include "slipway/array.h"
#include "slipway/device.h"

namespace slipway::jagged {
namespace {

class JaggedBlocks : public ::testing::Test {
 protected:
  const Device device_ = Device::Open("cpu").value();
  const Stream stream_ = device_.CreateStream().value();
};

TEST_F(JaggedBlocks, ExclusiveScanOfAnySize) {
  // Around a tile of 2,048, and past 2,048 tiles, so that the tiles' sums have tiles themselves.
  for (const int64_t count : {0, 1, 7, 8, 255, 2047, 2048, 2049, 5000, 2048 * 2048 + 17}) {
    std::vector<int64_t> values(static_cast<size_t>(count + 1));
    std::mt19937_64 random(static_cast<uint64_t>(count));
    for (int64_t& value : values) value = static_cast<int64_t>(random() % 1000) - 300;
    std::vector<int64_t> expected(values.size());
    std::exclusive_scan(values.begin(), values.end(), expected.begin(), int64_t{0});
    const auto sums = Array<int64_t, 1>::From(device_, values).value();
    Call call(stream_, {}, nullptr);
    ExclusiveScan(call, sums);
    ASSERT_EQ(call.status(), absl::OkStatus());
    ASSERT_EQ(stream_.Synchronize(), absl::OkStatus());
    EXPECT_EQ(sums.ToVector().value(), expected) << count;
    EXPECT_EQ(call.launches(), count <= 2048 ? 1 : count <= 2048 * 2048 ? 3 : 5) << count;
  }
}

// The same by std::stable_sort.
template <class T>
std::vector<int64_t> Expected(const std::vector<T>& keys, const std::vector<int64_t>& offsets, bool ascending) {
  const auto before = [&](int64_t a, int64_t b) {
    const T x = keys[static_cast<size_t>(a)], y = keys[static_cast<size_t>(b)];
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && !std::isnan(y);
    }
    return ascending ? x < y : x > y;
  };
  std::vector<int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t b = 0; b + 1 < offsets.size(); ++b) {
    std::stable_sort(order.begin() + offsets[b], order.begin() + offsets[b + 1], before);
  }
  return order;
}

template <class T>
void ExpectSorted(const Device& device, const Stream& stream, const std::vector<T>& keys,
                  const std::vector<int64_t>& offsets) {
  const auto keys_there = Array<T, 1>::From(device, keys).value();
  const auto offsets_there = Array<int64_t, 1>::From(device, offsets).value();
  for (const bool ascending : {true, false}) {
    Call call(stream, {}, nullptr);
    const AnyArray& order = SortSegments(call, keys_there, offsets_there, static_cast<int64_t>(offsets.size()) - 1,
                                         static_cast<int64_t>(keys.size()), ascending);
    ASSERT_EQ(call.status(), absl::OkStatus());
    ASSERT_EQ(stream.Synchronize(), absl::OkStatus());
    EXPECT_EQ(order.ToVector<int64_t>().value(), Expected(keys, offsets, ascending)) << ascending;
  }
}

TEST_F(JaggedBlocks, SortsSegmentsStablyAndLeavesTheRest) {
  std::mt19937_64 random(7);
  std::vector<int32_t> keys(5000);
  for (int32_t& key : keys) key = static_cast<int32_t>(random() % 50) - 25;
  ExpectSorted(device_, stream_, keys, {0, 5000});
  ExpectSorted(device_, stream_, keys, {3, 3, 4, 1000, 1000, 1513, 4990});
  ExpectSorted(device_, stream_, keys, {0});
  ExpectSorted(device_, stream_, std::vector<int32_t>{}, {0, 0});
  ExpectSorted(device_, stream_, std::vector<int32_t>{4}, {0, 1});
}

TEST_F(JaggedBlocks, SortsUnsignedAndNaNFirst) {
  ExpectSorted<uint64_t>(device_, stream_, {uint64_t{1} << 63, 0, ~uint64_t{0}, 1, 5}, {0, 5});
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  ExpectSorted<double>(device_, stream_, {1, nan, -infinity, nan, 0, infinity, -0.0, nan, 2}, {0, 4, 9});
}

}  // namespace
}  // namespace slipway::jagged
