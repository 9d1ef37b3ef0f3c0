#include "jit/fold.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "jit/fold_types.h"
#include "jit/semantics.h"

namespace slipway::ir {
namespace {

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

bool CompareBools(DType type, const uint64_t* x, uint64_t* result, bool less, bool equal, bool greater) {
  *result = (x[0] < x[1] && less) || (x[0] == x[1] && equal) || (x[0] > x[1] && greater) ? 1 : 0;
  return true;
}

}  // namespace

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
  if (SizeOf(type) == 2) {
    // The product is exact in float64. The sum may not be, so it is rounded to odd: what is even is not exact then, and
    // rounding it a second time, to 16 bits, does not take it for a tie.
    const double product = FloatFromBits(type, x[0]) * FloatFromBits(type, x[1]);
    const double addend = FloatFromBits(type, x[2]);
    double sum = product + addend;
    const double part = sum - product;
    const double lost = (product - (sum - part)) + (addend - part);  // Exactly what the sum lost (Knuth's TwoSum).
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (lost != 0 && !std::isnan(lost) && (ToBits(sum) & 1) == 0) {
      sum = std::nextafter(sum, lost > 0 ? kInfinity : -kInfinity);
    }
    *result = FloatToBits(type, sum);
    return true;
  }
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
bool FoldRemainder(DType type, const uint64_t* x, uint64_t* result) {
  return Compute<2>(type, x, result, nullptr, [](auto a, auto b) { return std::remainder(a, b); });
}
bool FoldSaturate(DType type, const uint64_t* x, uint64_t* result) {
  return Compute<1>(type, x, result, nullptr, [](auto a) { return a > 0 ? std::min(a, decltype(a){1}) : 0; });
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

}  // namespace slipway::ir
