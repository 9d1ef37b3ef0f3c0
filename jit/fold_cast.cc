// Constants as numbers, and casts between them.
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "jit/fold.h"
#include "jit/fold_types.h"

namespace slipway::ir {
namespace {

// Rounds to a narrow float given by its explicit mantissa bits and exponent range, to nearest even, once. Integer
// arithmetic on the bits of the double, so that no intermediate format rounds a first time.
uint16_t RoundToSixteenBits(double value, int mantissa_bits, int exponent_bits) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint16_t sign = static_cast<uint16_t>(bits >> 63 << 15);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint16_t infinity = static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits);
  const uint64_t magnitude = bits & ~(uint64_t{1} << 63);
  if (magnitude > uint64_t{0x7ff} << 52) return 0x7fff;  // The NaN that cvt gives.
  if (magnitude == uint64_t{0x7ff} << 52) return sign | infinity;
  const int exponent = static_cast<int>(magnitude >> 52) - 1023;
  uint64_t significand = magnitude & ((uint64_t{1} << 52) - 1);
  if (magnitude >> 52 != 0) significand |= uint64_t{1} << 52;
  // How many low bits of the 53-bit significand fall away; more for results below the smallest normal.
  int shift = 52 - mantissa_bits;
  int result_exponent = exponent + bias;
  if (result_exponent < 1) {
    shift += 1 - result_exponent;
    result_exponent = 0;
  }
  if (shift > 54) return sign;  // Less than half of the smallest subnormal.
  const uint64_t half = uint64_t{1} << (shift - 1);
  const uint64_t rest = significand & ((uint64_t{1} << shift) - 1);
  uint64_t kept = significand >> shift;
  if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  // A normal result's leading bit is added onto the exponent field, as is a carry out of the mantissa.
  const uint64_t packed =
      result_exponent == 0 ? kept : (static_cast<uint64_t>(result_exponent - 1) << mantissa_bits) + kept;
  return packed >= infinity ? sign | infinity : static_cast<uint16_t>(sign | packed);
}

double ExpandSixteenBits(uint16_t bits, int mantissa_bits, int exponent_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits & 0x7fff) >> mantissa_bits;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  double magnitude;
  if (exponent == (1 << exponent_bits) - 1) {
    magnitude = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(mantissa, 1 - bias - mantissa_bits);
  } else {
    magnitude = std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// PTX ISA, cvt.rzi: towards zero, clamped to the target's range; NaN is 0 where neither side has 64 bits, else
// the pattern with only the top bit set.
template <class T>
T TruncateToInteger(double value, bool from_float64) {
  constexpr int kWidth = sizeof(T) * 8;
  if (std::isnan(value)) {
    const bool zero = !from_float64 && kWidth < 64;
    return zero ? T{0} : static_cast<T>(std::make_unsigned_t<T>{1} << (kWidth - 1));
  }
  const double truncated = std::trunc(value);
  // Both bounds are powers of two (or zero) and so exact in a double; max() itself need not be.
  const double low = static_cast<double>(std::numeric_limits<T>::min());
  const double high = std::ldexp(1.0, std::is_signed_v<T> ? kWidth - 1 : kWidth);
  if (truncated < low) return std::numeric_limits<T>::min();
  if (truncated >= high) return std::numeric_limits<T>::max();
  return static_cast<T>(truncated);
}

}  // namespace

uint64_t WidthMask(DType dtype) {
  if (dtype == DType::kBool) return 1;
  const size_t size = SizeOf(dtype);
  return size >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * size)) - 1;
}

bool LiteralFits(DType literal_type, uint64_t bits, DType dtype) {
  const bool negative = literal_type == DType::kInt64 && static_cast<int64_t>(bits) < 0;
  if (IsUnsignedInteger(dtype)) return !negative && bits <= WidthMask(dtype);
  const uint64_t max = WidthMask(dtype) >> 1;
  if (negative) return static_cast<int64_t>(bits) >= -static_cast<int64_t>(max) - 1;
  return bits <= max;
}

double FloatFromBits(DType dtype, uint64_t bits) {
  switch (dtype) {
    case DType::kFloat16:
      return ExpandSixteenBits(static_cast<uint16_t>(bits), 10, 5);
    case DType::kBFloat16:
      return ExpandSixteenBits(static_cast<uint16_t>(bits), 7, 8);
    case DType::kFloat32:
      return FromBits<float>(bits);
    default:
      return FromBits<double>(bits);
  }
}

uint64_t FloatToBits(DType dtype, double value) {
  switch (dtype) {
    case DType::kFloat16:
      return RoundToSixteenBits(value, 10, 5);
    case DType::kBFloat16:
      return RoundToSixteenBits(value, 7, 8);
    case DType::kFloat32: {
      DefaultFloatEnvironment environment;
      return ToBits(static_cast<float>(value));
    }
    default:
      return ToBits(value);
  }
}

int64_t SignedFromBits(DType dtype, uint64_t bits) {
  const int unused = 64 - 8 * static_cast<int>(SizeOf(dtype));
  return static_cast<int64_t>(bits << unused) >> unused;
}

uint64_t FoldCast(DType from, DType to, uint64_t bits) {
  if (from == to) return bits;
  DefaultFloatEnvironment environment;
  if (to == DType::kBool) {
    if (IsFloat(from)) return (bits & (WidthMask(from) >> 1)) != 0 ? 1 : 0;  // Anything but a zero, NaN included.
    return bits != 0 ? 1 : 0;
  }
  if (IsFloat(from)) {
    const double value = FloatFromBits(from, bits);
    if (IsFloat(to)) return FloatToBits(to, value);
    uint64_t result = 0;
    Visit(to, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_integral_v<T>) result = ToBits(TruncateToInteger<T>(value, from == DType::kFloat64));
      return true;
    });
    return result;
  }
  if (IsFloat(to)) {
    const bool negative = IsSignedInteger(from) && SignedFromBits(from, bits) < 0;
    if (to == DType::kFloat64) {
      return ToBits(negative ? static_cast<double>(SignedFromBits(from, bits)) : static_cast<double>(bits));
    }
    // To the 16-bit floats through float32, as the code generator does on every target.
    const float value = negative ? static_cast<float>(SignedFromBits(from, bits)) : static_cast<float>(bits);
    return to == DType::kFloat32 ? ToBits(value) : FloatToBits(to, value);
  }
  const uint64_t wide = IsSignedInteger(from) ? static_cast<uint64_t>(SignedFromBits(from, bits)) : bits;
  return wide & WidthMask(to);
}

}  // namespace slipway::ir
