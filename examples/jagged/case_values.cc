#include "examples/jagged/case_values.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>

#include "absl/strings/str_cat.h"

namespace slipway::jagged {
namespace {

using Types = std::tuple<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, float, double>;

// Calls `function(T{})` for the C++ type of a dtype.
template <class Function, class... T>
void ForType(DType dtype, const Function& function, std::tuple<T...>*) {
  ((dtype == kDTypeOf<T> ? function(T{}) : void()), ...);
}
template <class Function>
void ForType(DType dtype, const Function& function) {
  ForType(dtype, function, static_cast<Types*>(nullptr));
}

// Integers use all 64 bits, so they do not go through double.
template <class T>
T NumberOf(const Json& number) {
  if (number.is_number_float()) return static_cast<T>(number.get<double>());
  if (number.is_number_unsigned()) return static_cast<T>(number.get<uint64_t>());
  return static_cast<T>(number.get<int64_t>());
}

template <class T>
bool IsSame(T got, T expected) {
  if constexpr (std::is_floating_point_v<T>) return std::abs(got - expected) <= 1e-6 * std::abs(expected);
  return got == expected;
}

}  // namespace

Bytes BytesOf(const Json& numbers, DType dtype) {
  const size_t size = SizeOf(dtype);
  Bytes bytes(numbers.size() * size);
  ForType(dtype, [&](auto type) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto value = NumberOf<decltype(type)>(numbers[i]);
      std::memcpy(&bytes[i * size], &value, size);
    }
  });
  return bytes;
}

Bytes FillOf(size_t count, DType dtype) { return BytesOf(Json(std::vector<int>(count, 123)), dtype); }

Arg ScalarOf(const Json& number, DType dtype) {
  Arg result(int64_t{0});
  ForType(dtype, [&](auto type) { result = Arg(NumberOf<decltype(type)>(number)); });
  return result;
}

std::string FirstDifference(const Bytes& got, const Bytes& expected, DType dtype) {
  const size_t size = SizeOf(dtype);
  std::string difference;
  ForType(dtype, [&](auto type) {
    for (size_t at = 0; at < expected.size(); at += size) {
      decltype(type) is, wanted;
      std::memcpy(&is, &got[at], size);
      std::memcpy(&wanted, &expected[at], size);
      if (IsSame(is, wanted)) continue;
      difference = absl::StrCat("[", at / size, "] is ", is, ", expected ", wanted);
      return;
    }
  });
  return difference;
}

}  // namespace slipway::jagged
