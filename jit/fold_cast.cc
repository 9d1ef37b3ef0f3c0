// Constants as numbers, and casts between them.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "jit/fold.h"
#include "jit/fold_types.h"

namespace slipway::ir {
namespace {

struct Format {
  int mantissa_bits, exponent_bits;
};
constexpr Format FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return {10, 5};
    case DType::kBFloat16:
      return {7, 8};
    case DType::kFloat32:
      return {23, 8};
    default:
      return {52, 11};
  }
}

// A finite number: significand * 2^exponent.
struct Number {
  bool negative;
  uint64_t significand;
  int exponent;
};

// Whether rounding goes away from zero, where `rest` of a unit of 2 * `half` is to go.
bool RoundsAway(CastKind kind, bool negative, bool odd, uint64_t rest, uint64_t half) {
  switch (kind) {
    case CastKind::kToZero:
      return false;
    case CastKind::kUp:
      return !negative && rest != 0;
    case CastKind::kDown:
      return negative && rest != 0;
    default:
      return rest > half || (rest == half && odd);
  }
}

// The bits of a number in a float format, rounded once. Integer arithmetic, so that no format between rounds a first
// time.
uint64_t RoundTo(DType dtype, const Number& number, CastKind kind) {
  const Format format = FormatOf(dtype);
  const uint64_t sign = number.negative ? uint64_t{1} << (format.mantissa_bits + format.exponent_bits) : 0;
  const uint64_t infinity = ((uint64_t{1} << format.exponent_bits) - 1) << format.mantissa_bits;
  if (number.significand == 0) return sign;
  const int top = 63 - std::countl_zero(number.significand);
  int biased = top + number.exponent + (1 << (format.exponent_bits - 1)) - 1;
  // How many low bits fall away; more for results below the smallest normal number.
  int shift = top - format.mantissa_bits;
  if (biased < 1) {
    shift += 1 - biased;
    biased = 0;
  }
  uint64_t kept = 0, rest = 1, half = 2;  // What falls away whole is less than a half.
  if (shift <= 0) {
    kept = number.significand << -shift;
    rest = 0;
  } else if (shift < 64) {
    kept = number.significand >> shift;
    rest = number.significand & ((uint64_t{1} << shift) - 1);
    half = uint64_t{1} << (shift - 1);
  } else if (shift == 64) {
    rest = number.significand;
    half = uint64_t{1} << 63;
  }
  if (RoundsAway(kind, number.negative, (kept & 1) != 0, rest, half)) ++kept;
  // A normal result's leading bit is added onto the exponent field, as is a carry out of the mantissa.
  const uint64_t packed = biased == 0 ? kept : (static_cast<uint64_t>(biased - 1) << format.mantissa_bits) + kept;
  if (packed < infinity) return sign | packed;
  const bool stays_finite = kind == CastKind::kToZero || kind == CastKind::kSaturate ||
                            (kind == CastKind::kUp && number.negative) || (kind == CastKind::kDown && !number.negative);
  return sign | (stays_finite ? infinity - 1 : infinity);
}

// The same of a double, which may be no number.
uint64_t RoundTo(DType dtype, double value, CastKind kind) {
  if (dtype == DType::kFloat64 && (kind != CastKind::kSaturate || std::isfinite(value))) return ToBits(value);
  const Format format = FormatOf(dtype);
  const uint64_t bits = ToBits(value), magnitude = bits & ~(uint64_t{1} << 63);
  const bool negative = bits != magnitude;
  if (magnitude > uint64_t{0x7ff} << 52) {
    return (uint64_t{1} << (format.mantissa_bits + format.exponent_bits)) - 1;  // The NaN that cvt gives.
  }
  // Infinity as a number past every range: directed rounding must not make it finite.
  if (magnitude == uint64_t{0x7ff} << 52) {
    const CastKind as = kind == CastKind::kSaturate ? kind : CastKind::kNearest;
    return RoundTo(dtype, Number{negative, 1, 2000}, as);
  }
  const int exponent = static_cast<int>(magnitude >> 52);
  const uint64_t fraction = magnitude & ((uint64_t{1} << 52) - 1);
  if (exponent == 0) return RoundTo(dtype, Number{negative, fraction, -1074}, kind);
  return RoundTo(dtype, Number{negative, fraction | uint64_t{1} << 52, exponent - 1075}, kind);
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

double RoundToIntegral(double value, CastKind kind) {
  switch (kind) {
    case CastKind::kNearest:
      return std::nearbyint(value);
    case CastKind::kUp:
      return std::ceil(value);
    case CastKind::kDown:
      return std::floor(value);
    default:
      return std::trunc(value);
  }
}

// PTX ISA, cvt with an integer rounding: clamped to the target's range; NaN is 0 where neither side has 64 bits, else
// the pattern with only the top bit set.
template <class T>
T ToInteger(double value, bool from_float64, CastKind kind) {
  constexpr int kWidth = sizeof(T) * 8;
  if (std::isnan(value)) {
    const bool zero = (!from_float64 && kWidth < 64) || kind == CastKind::kSaturate;
    return zero ? T{0} : static_cast<T>(std::make_unsigned_t<T>{1} << (kWidth - 1));
  }
  const double integral = RoundToIntegral(value, kind);
  // Both bounds are powers of two (or zero) and so exact in a double; max() itself need not be.
  const double low = static_cast<double>(std::numeric_limits<T>::min());
  const double high = std::ldexp(1.0, std::is_signed_v<T> ? kWidth - 1 : kWidth);
  if (integral < low) return std::numeric_limits<T>::min();
  if (integral >= high) return std::numeric_limits<T>::max();
  return static_cast<T>(integral);
}

// An integer held at the ends of another type's range.
uint64_t SaturateInteger(DType from, DType to, uint64_t bits) {
  const bool negative = IsSignedInteger(from) && SignedFromBits(from, bits) < 0;
  const uint64_t most = IsSignedInteger(to) ? WidthMask(to) >> 1 : WidthMask(to);
  if (!negative) return std::min(bits, most);
  if (!IsSignedInteger(to)) return 0;
  return static_cast<uint64_t>(std::max(SignedFromBits(from, bits), -static_cast<int64_t>(most) - 1)) & WidthMask(to);
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

uint64_t FloatToBits(DType dtype, double value) { return RoundTo(dtype, value, CastKind::kValue); }

int64_t SignedFromBits(DType dtype, uint64_t bits) {
  const int unused = 64 - 8 * static_cast<int>(SizeOf(dtype));
  return static_cast<int64_t>(bits << unused) >> unused;
}

uint64_t FoldCast(DType from, DType to, uint64_t bits, CastKind kind) {
  if (from == to && (kind != CastKind::kSaturate || !IsFloat(to))) return bits;
  if (kind == CastKind::kBits) return bits;
  DefaultFloatEnvironment environment;
  if (to == DType::kBool) {
    if (IsFloat(from)) return (bits & (WidthMask(from) >> 1)) != 0 ? 1 : 0;  // Anything but a zero, NaN included.
    return bits != 0 ? 1 : 0;
  }
  if (IsFloat(from)) {
    const double value = FloatFromBits(from, bits);
    if (IsFloat(to)) return RoundTo(to, value, kind);
    uint64_t result = 0;
    Visit(to, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (std::is_integral_v<T>) result = ToBits(ToInteger<T>(value, from == DType::kFloat64, kind));
      return true;
    });
    return result;
  }
  const bool negative = IsSignedInteger(from) && SignedFromBits(from, bits) < 0;
  if (IsFloat(to)) {
    const uint64_t magnitude = negative ? uint64_t{0} - static_cast<uint64_t>(SignedFromBits(from, bits)) : bits;
    return RoundTo(to, Number{negative, magnitude, 0}, kind);
  }
  if (kind == CastKind::kSaturate) return SaturateInteger(from, to, bits);
  return (negative ? static_cast<uint64_t>(SignedFromBits(from, bits)) : bits) & WidthMask(to);
}

}  // namespace slipway::ir
