// Data to sort and search, and the order that it is to have, for tests on the CPU device.
#ifndef SLIPWAY_TESTS_JIT_ORDERED_DATA_H_
#define SLIPWAY_TESTS_JIT_ORDERED_DATA_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/dtype.h"
#include "slipway/stream.h"

namespace slipway {

// How elements lie in a std::vector; bools as bytes of 0 and 1.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

using OrderedTypes = testing::Types<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
                                    float16, bfloat16, float, double>;

// Its number, and whether it is one.
template <class T>
auto NumberOf(T x) {
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return static_cast<float>(x);
  } else {
    return x;
  }
}
template <class T>
bool IsNaN(T x) {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else {
    return std::isnan(NumberOf(x));
  }
}

// Less in the order of sorts: NaNs are equal, and last both ways.
template <class T>
bool ComesBefore(T a, T b, bool descending) {
  if (IsNaN(a) || IsNaN(b)) return !IsNaN(a) && IsNaN(b);
  return descending ? NumberOf(b) < NumberOf(a) : NumberOf(a) < NumberOf(b);
}

enum class Pattern { kAnyBits, kFewValues, kSorted, kReversed, kEqual };
inline constexpr Pattern kAllPatterns[] = {Pattern::kAnyBits, Pattern::kFewValues, Pattern::kSorted, Pattern::kReversed,
                                           Pattern::kEqual};

// Values that are easily put in the wrong place: extremes, zeros of both signs, subnormals, infinities, NaNs of both
// signs and of several payloads.
template <class T>
std::vector<Stored<T>> SpecialValues() {
  if constexpr (std::is_same_v<T, bool>) {
    return {0, 1};
  } else if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    return {Limits::min(), Limits::max(), 0, 1, static_cast<T>(-1), static_cast<T>(Limits::min() + 1)};
  } else if constexpr (std::is_floating_point_v<T>) {
    using Limits = std::numeric_limits<T>;
    return {T(0),
            -T(0),
            Limits::infinity(),
            -Limits::infinity(),
            Limits::denorm_min(),
            T(1),
            -Limits::denorm_min(),
            Limits::max(),
            Limits::lowest(),
            Limits::quiet_NaN(),
            -Limits::quiet_NaN(),
            std::nan(""),
            Limits::min(),
            -Limits::min()};
  } else {
    std::vector<T> values;
    for (uint16_t bits : {0x0000, 0x8000, 0x7c00, 0xfc00, 0x7f80, 0xff80, 0x0001, 0x8001, 0x3c00, 0x3f80, 0x7fff,
                          0xffff, 0x7e01, 0xfe00, 0x7bff, 0xfbff, 0x7f7f, 0xff7f}) {
      T value;
      value.bits = bits;
      values.push_back(value);
    }
    return values;
  }
}

template <class T>
std::vector<Stored<T>> MakeKeys(size_t n, Pattern pattern, uint64_t seed = 1) {
  std::mt19937_64 random(seed + n);
  const std::vector<Stored<T>> special = SpecialValues<T>();
  std::vector<Stored<T>> keys(n);
  for (Stored<T>& key : keys) {
    const uint64_t bits = random();
    const bool any = pattern != Pattern::kFewValues && bits % 8 != 0;
    if (any && !std::is_same_v<T, bool>) {
      const uint64_t of_key = random();
      std::memcpy(static_cast<void*>(&key), &of_key, sizeof(key));
    } else {
      key = special[(bits >> 8) % special.size()];
    }
  }
  const auto before = [](Stored<T> a, Stored<T> b) { return ComesBefore(a, b, false); };
  if (pattern == Pattern::kEqual) std::fill(keys.begin(), keys.end(), special[0]);
  if (pattern == Pattern::kSorted || pattern == Pattern::kReversed) std::stable_sort(keys.begin(), keys.end(), before);
  if (pattern == Pattern::kReversed) std::reverse(keys.begin(), keys.end());
  return keys;
}

// The positions of elements begin to end - 1 in their order.
template <class T>
std::vector<int64_t> OrderOf(const std::vector<T>& keys, size_t begin, size_t end, bool descending) {
  std::vector<int64_t> order(end - begin);
  std::iota(order.begin(), order.end(), static_cast<int64_t>(begin));
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return ComesBefore(keys[static_cast<size_t>(a)], keys[static_cast<size_t>(b)], descending);
  });
  return order;
}
template <class T>
std::vector<T> Taken(const std::vector<T>& keys, const std::vector<int64_t>& order) {
  std::vector<T> taken;
  for (int64_t i : order) taken.push_back(keys[static_cast<size_t>(i)]);
  return taken;
}

// Arrays on the CPU device, and what they hold.
class OrderedTest : public testing::Test {
 protected:
  template <class T>
  AnyArray Make(const std::vector<Stored<T>>& values, const std::vector<int64_t>& shape) {
    return AnyArray::From(device_, kDTypeOf<T>, shape, values.data()).value();
  }
  template <class T>
  AnyArray Make(const std::vector<Stored<T>>& values) {
    return Make<T>(values, {static_cast<int64_t>(values.size())});
  }
  // In row-major order; a failure of the test where the array could not be made.
  template <class T>
  std::vector<Stored<T>> Read(const absl::StatusOr<AnyArray>& array) {
    if (!array.ok()) {
      ADD_FAILURE() << array.status();
      return {};
    }
    EXPECT_EQ(array->dtype(), kDTypeOf<T>);
    std::vector<Stored<T>> values(static_cast<size_t>(array->size()));
    const absl::Status read = array->CopyTo(values.data(), stream_);
    EXPECT_TRUE(read.ok()) << read;
    return values;
  }

  Device device_ = Device::Open("cpu").value();
  Stream stream_ = device_.CreateStream().value();
};

// Whether the same bits stand in both, and where not.
template <class T>
testing::AssertionResult SameBits(const std::vector<T>& got, const std::vector<T>& wanted) {
  if (got.size() != wanted.size()) return testing::AssertionFailure() << got.size() << " of " << wanted.size();
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::memcmp(&got[i], &wanted[i], sizeof(T)) != 0) {
      return testing::AssertionFailure() << "element " << i << " of " << got.size() << " differs: " << NumberOf(got[i])
                                         << ", not " << NumberOf(wanted[i]);
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace slipway

#endif  // SLIPWAY_TESTS_JIT_ORDERED_DATA_H_
