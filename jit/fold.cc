#include "jit/fold.h"

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "jit/semantics.h"

namespace slipway::ir {
namespace {

// Folds in the default float environment: an application that flushes subnormals or rounds upwards on this thread
// must get the same constants as any other.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatEnvironment() { std::fesetenv(&saved_); }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

 private:
  std::fenv_t saved_;
};

template <class T>
T FromBits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));  // Little endian, as everything that CUDA runs on.
  return value;
}

template <class T>
uint64_t ToBits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

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

struct Bool {};  // Tag for Visit: bool is its own type to this file, not an integer.

// Calls f with a value of the C++ type that computes for `type`: the integer itself, float for float16, bfloat16 and
// float32, double for float64, Bool for bool.
template <class F>
bool Visit(DType type, F f) {
  switch (type) {
    case DType::kBool:
      return f(Bool{});
    case DType::kInt8:
      return f(int8_t{});
    case DType::kInt16:
      return f(int16_t{});
    case DType::kInt32:
      return f(int32_t{});
    case DType::kInt64:
      return f(int64_t{});
    case DType::kUInt8:
      return f(uint8_t{});
    case DType::kUInt16:
      return f(uint16_t{});
    case DType::kUInt32:
      return f(uint32_t{});
    case DType::kUInt64:
      return f(uint64_t{});
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kFloat32:
      return f(float{});
    case DType::kFloat64:
      return f(double{});
    default:
      return false;
  }
}

template <class T>
T Read(DType type, uint64_t bits) {
  if constexpr (std::is_same_v<T, float>) {
    if (type != DType::kFloat32) return static_cast<float>(FloatFromBits(type, bits));
  }
  return FromBits<T>(bits);
}

template <class T>
uint64_t Written(DType type, T value) {
  if constexpr (std::is_same_v<T, float>) {
    if (type != DType::kFloat32) return FloatToBits(type, value);
  }
  return ToBits(value);
}

// Applies `integers` or `floats` to the operands, as many as the function takes. nullptr stands for "not this kind".
template <int arity, class IntegerFunction, class FloatFunction>
bool Compute(DType type, const uint64_t* x, uint64_t* result, IntegerFunction integers, FloatFunction floats) {
  return Visit(type, [&](auto tag) {
    using T = decltype(tag);
    auto apply = [&](auto& function) {
      if constexpr (std::is_same_v<std::decay_t<decltype(function)>, std::nullptr_t>) {
        return false;
      } else {
        auto finish = [&](auto value) {
          if constexpr (std::is_same_v<decltype(value), bool>) {
            *result = value ? 1 : 0;
          } else {
            *result = Written<T>(type, static_cast<T>(value));
          }
          return true;
        };
        if constexpr (arity == 1) return finish(function(Read<T>(type, x[0])));
        if constexpr (arity == 2) return finish(function(Read<T>(type, x[0]), Read<T>(type, x[1])));
        if constexpr (arity == 3) {
          return finish(function(Read<T>(type, x[0]), Read<T>(type, x[1]), Read<T>(type, x[2])));
        }
      }
    };
    if constexpr (std::is_same_v<T, Bool>) {
      return false;
    } else if constexpr (std::is_integral_v<T>) {
      return apply(integers);
    } else {
      return apply(floats);
    }
  });
}

template <class T>
using Unsigned = std::make_unsigned_t<T>;
// Wrapping arithmetic is done in uint64_t: signed overflow is undefined in C++, and uint16_t would promote to int.
template <class T>
uint64_t Wide(T value) {
  return static_cast<uint64_t>(value);
}

constexpr auto kIdentity = [](auto a) { return a; };

// NaN first: the number wins, or the NaN does; then the sign decides between zeros.
template <class T>
T MinNumber(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <class T>
T MaxNumber(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
template <class T>
T EitherNan(T a, T b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<T>::quiet_NaN() : T{0};
}

template <class T>
T SquareRoot(T a) {
  return std::sqrt(a);
}

// PTX ISA, cvt.rzi: towards zero, clamped to the target's range; NaN is 0 where neither side has 64 bits, else
// the pattern with only the top bit set.
template <class T>
T TruncateToInteger(double value, bool from_float64) {
  constexpr int kWidth = sizeof(T) * 8;
  if (std::isnan(value)) {
    const bool zero = !from_float64 && kWidth < 64;
    return zero ? T{0} : static_cast<T>(Unsigned<T>{1} << (kWidth - 1));
  }
  const double truncated = std::trunc(value);
  // Both bounds are powers of two (or zero) and so exact in a double; max() itself need not be.
  const double low = static_cast<double>(std::numeric_limits<T>::min());
  const double high = std::ldexp(1.0, std::is_signed_v<T> ? kWidth - 1 : kWidth);
  if (truncated < low) return std::numeric_limits<T>::min();
  if (truncated >= high) return std::numeric_limits<T>::max();
  return static_cast<T>(truncated);
}

bool CompareBools(DType type, const uint64_t* x, uint64_t* result, bool less, bool equal, bool greater) {
  *result = (x[0] < x[1] && less) || (x[0] == x[1] && equal) || (x[0] > x[1] && greater) ? 1 : 0;
  return true;
}

}  // namespace

uint64_t WidthMask(DType dtype) {
  if (dtype == DType::kBool) return 1;
  const size_t size = SizeOf(dtype);
  return size >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * size)) - 1;
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

bool FoldAdd(DType type, const uint64_t* x, uint64_t* result) {
  return Compute<2>(
      type, x, result, [](auto a, auto b) { return Wide(a) + Wide(b); }, [](auto a, auto b) { return a + b; });
}
bool FoldSub(DType type, const uint64_t* x, uint64_t* result) {
  return Compute<2>(
      type, x, result, [](auto a, auto b) { return Wide(a) - Wide(b); }, [](auto a, auto b) { return a - b; });
}
bool FoldMul(DType type, const uint64_t* x, uint64_t* result) {
  return Compute<2>(
      type, x, result, [](auto a, auto b) { return Wide(a) * Wide(b); }, [](auto a, auto b) { return a * b; });
}
bool FoldDiv(DType type, const uint64_t* x, uint64_t* result) {
  return Compute<2>(
      type, x, result,
      [](auto a, auto b) {
        using T = decltype(a);
        if (b == 0) return static_cast<T>(~T{0});
        // Negation wraps where the quotient MIN / -1 would overflow, which traps on x86.
        if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(uint64_t{0} - Wide(a));
        return static_cast<T>(a / b);
      },
      [](auto a, auto b) { return a / b; });
}
bool FoldRem(DType type, const uint64_t* x, uint64_t* result) {
  return Compute<2>(
      type, x, result,
      [](auto a, auto b) {
        using T = decltype(a);
        if (b == 0) return static_cast<T>(~T{0});
        if (std::is_signed_v<T> && b == static_cast<T>(-1)) return T{0};
        return static_cast<T>(a % b);
      },
      nullptr);
}
bool FoldNeg(DType type, const uint64_t* x, uint64_t* result) {
  if (IsFloat(type)) {
    *result = x[0] ^ (uint64_t{1} << (8 * SizeOf(type) - 1));
    return true;
  }
  return Compute<1>(
      type, x, result, [](auto a) { return uint64_t{0} - Wide(a); }, nullptr);
}
bool FoldNot(DType, const uint64_t* x, uint64_t* result) {
  *result = x[0] ^ 1;
  return true;
}
bool FoldBitNot(DType type, const uint64_t* x, uint64_t* result) {
  *result = ~x[0] & WidthMask(type);
  return true;
}
bool FoldBitAnd(DType, const uint64_t* x, uint64_t* result) {
  *result = x[0] & x[1];
  return true;
}
bool FoldBitOr(DType, const uint64_t* x, uint64_t* result) {
  *result = x[0] | x[1];
  return true;
}
bool FoldBitXor(DType, const uint64_t* x, uint64_t* result) {
  *result = x[0] ^ x[1];
  return true;
}
bool FoldShl(DType type, const uint64_t* x, uint64_t* result) {
  *result = x[1] >= 8 * SizeOf(type) ? 0 : x[0] << x[1] & WidthMask(type);
  return true;
}
bool FoldShr(DType type, const uint64_t* x, uint64_t* result) {
  const uint64_t last = 8 * SizeOf(type) - 1;
  if (IsSignedInteger(type)) {
    *result = static_cast<uint64_t>(SignedFromBits(type, x[0]) >> (x[1] > last ? last : x[1])) & WidthMask(type);
  } else {
    *result = x[1] > last ? 0 : x[0] >> x[1];
  }
  return true;
}

#define SLIPWAY_IR_FOLD_COMPARE(name, op, less, equal, greater)                           \
  bool Fold##name(DType type, const uint64_t* x, uint64_t* result) {                      \
    if (type == DType::kBool) return CompareBools(type, x, result, less, equal, greater); \
    auto compare = [](auto a, auto b) -> bool { return a op b; };                         \
    return Compute<2>(type, x, result, compare, compare);                                 \
  }
SLIPWAY_IR_FOLD_COMPARE(Lt, <, true, false, false)
SLIPWAY_IR_FOLD_COMPARE(Le, <=, true, true, false)
SLIPWAY_IR_FOLD_COMPARE(Gt, >, false, false, true)
SLIPWAY_IR_FOLD_COMPARE(Ge, >=, false, true, true)
SLIPWAY_IR_FOLD_COMPARE(Eq, ==, false, true, false)
SLIPWAY_IR_FOLD_COMPARE(Ne, !=, true, false, true)
#undef SLIPWAY_IR_FOLD_COMPARE

bool FoldMin(DType type, const uint64_t* x, uint64_t* result) {
  return Compute<2>(
      type, x, result, [](auto a, auto b) { return a < b ? a : b; }, [](auto a, auto b) { return MinNumber(a, b); });
}
bool FoldMax(DType type, const uint64_t* x, uint64_t* result) {
  return Compute<2>(
      type, x, result, [](auto a, auto b) { return a > b ? a : b; }, [](auto a, auto b) { return MaxNumber(a, b); });
}
bool FoldMinNan(DType type, const uint64_t* x, uint64_t* result) {
  return Compute<2>(
      type, x, result, [](auto a, auto b) { return a < b ? a : b; },
      [](auto a, auto b) { return std::isnan(EitherNan(a, b)) ? EitherNan(a, b) : MinNumber(a, b); });
}
bool FoldMaxNan(DType type, const uint64_t* x, uint64_t* result) {
  return Compute<2>(
      type, x, result, [](auto a, auto b) { return a > b ? a : b; },
      [](auto a, auto b) { return std::isnan(EitherNan(a, b)) ? EitherNan(a, b) : MaxNumber(a, b); });
}
bool FoldAbs(DType type, const uint64_t* x, uint64_t* result) {
  if (IsFloat(type)) {
    *result = x[0] & (WidthMask(type) >> 1);
    return true;
  }
  return Compute<1>(
      type, x, result, [](auto a) { return a < 0 ? uint64_t{0} - Wide(a) : Wide(a); }, nullptr);
}
bool FoldFma(DType type, const uint64_t* x, uint64_t* result) {
  return Compute<3>(type, x, result, nullptr, [](auto a, auto b, auto c) { return std::fma(a, b, c); });
}
bool FoldSqrt(DType type, const uint64_t* x, uint64_t* result) {
  return Compute<1>(type, x, result, nullptr, [](auto a) { return SquareRoot(a); });
}
bool FoldFloor(DType type, const uint64_t* x, uint64_t* result) {
  return Compute<1>(type, x, result, kIdentity, [](auto a) { return std::floor(a); });
}
bool FoldCeil(DType type, const uint64_t* x, uint64_t* result) {
  return Compute<1>(type, x, result, kIdentity, [](auto a) { return std::ceil(a); });
}
bool FoldTrunc(DType type, const uint64_t* x, uint64_t* result) {
  return Compute<1>(type, x, result, kIdentity, [](auto a) { return std::trunc(a); });
}
bool FoldRound(DType type, const uint64_t* x, uint64_t* result) {
  return Compute<1>(type, x, result, kIdentity, [](auto a) { return std::round(a); });
}
bool FoldRint(DType type, const uint64_t* x, uint64_t* result) {
  return Compute<1>(type, x, result, kIdentity, [](auto a) { return std::nearbyint(a); });
}
bool FoldFmod(DType type, const uint64_t* x, uint64_t* result) {
  return Compute<2>(type, x, result, nullptr, [](auto a, auto b) { return std::fmod(a, b); });
}
bool FoldCopysign(DType type, const uint64_t* x, uint64_t* result) {
  const uint64_t magnitude = WidthMask(type) >> 1;
  *result = (x[0] & magnitude) | (x[1] & ~magnitude);
  return true;
}
bool FoldIsnan(DType type, const uint64_t* x, uint64_t* result) {
  *result = IsFloat(type) && std::isnan(FloatFromBits(type, x[0])) ? 1 : 0;
  return true;
}
bool FoldIsinf(DType type, const uint64_t* x, uint64_t* result) {
  *result = IsFloat(type) && std::isinf(FloatFromBits(type, x[0])) ? 1 : 0;
  return true;
}
bool FoldIsfinite(DType type, const uint64_t* x, uint64_t* result) {
  *result = !IsFloat(type) || std::isfinite(FloatFromBits(type, x[0])) ? 1 : 0;
  return true;
}
bool FoldSelect(DType, const uint64_t* x, uint64_t* result) {
  *result = x[0] != 0 ? x[1] : x[2];
  return true;
}

bool Fold(Op op, DType type, absl::Span<const uint64_t> operands, uint64_t* result) {
  const Semantics& row = SemanticsOf(op);
  if (row.fold == nullptr) return false;
  if (!IsFloat(type)) return row.fold(type, operands.data(), result);
  DefaultFloatEnvironment environment;
  return row.fold(type, operands.data(), result);
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
