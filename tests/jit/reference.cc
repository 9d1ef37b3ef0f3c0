#include "tests/jit/reference.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "tests/jit/reference_functions.h"

namespace slipway {

using ir::Op;
using Wide = __int128;

namespace {

template <class T>
uint64_t BitsOf(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return bits;
}

}  // namespace

Wide IntFromBits(DType dtype, uint64_t bits) {
  const int width = dtype == DType::kBool ? 1 : static_cast<int>(8 * SizeOf(dtype));
  if (!IsSignedInteger(dtype)) return static_cast<Wide>(bits);
  const Wide value = static_cast<Wide>(bits);
  return value >= (Wide{1} << (width - 1)) ? value - (Wide{1} << width) : value;
}

uint64_t IntToBits(DType dtype, Wide value) {
  const uint64_t low = static_cast<uint64_t>(value);
  return SizeOf(dtype) == 8 ? low : low & ((uint64_t{1} << (8 * SizeOf(dtype))) - 1);
}

long double FloatValue(DType dtype, uint64_t bits) {
  switch (dtype) {
    case DType::kFloat16: {
      float16 half;
      half.bits = static_cast<uint16_t>(bits);
      return static_cast<float>(half);
    }
    case DType::kBFloat16: {
      bfloat16 half;
      half.bits = static_cast<uint16_t>(bits);
      return static_cast<float>(half);
    }
    case DType::kFloat32: {
      float value;
      std::memcpy(&value, &bits, sizeof(value));
      return value;
    }
    default: {
      double value;
      std::memcpy(&value, &bits, sizeof(value));
      return value;
    }
  }
}

// To the 16-bit types through float32, which may sit on a tie that the value itself does not.
uint64_t FloatBits(DType dtype, long double value) {
  if (dtype == DType::kFloat64) return BitsOf(static_cast<double>(value));
  if (dtype == DType::kFloat32) return BitsOf(static_cast<float>(value));
  const float near = static_cast<float>(value);
  float odd = near;  // Round to odd: the tie is never hit unless it is exact.
  if (!std::isnan(value) && !std::isinf(near) && static_cast<long double>(near) != value) {
    const float away = static_cast<long double>(near) < value ? INFINITY : -INFINITY;
    if ((BitsOf(near) & 1) == 0) odd = std::nextafter(near, away);
  }
  return dtype == DType::kFloat16 ? float16(odd).bits : bfloat16(odd).bits;
}

namespace {

Wide FloorDivide(Wide a, Wide b) {
  const Wide quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

bool Compare(Op op, auto a, auto b) {
  switch (op) {
    case Op::kLt:
      return a < b;
    case Op::kLe:
      return a <= b;
    case Op::kGt:
      return a > b;
    case Op::kGe:
      return a >= b;
    case Op::kEq:
      return a == b;
    default:
      return a != b;
  }
}

bool IsComparison(Op op) {
  return op == Op::kLt || op == Op::kLe || op == Op::kGt || op == Op::kGe || op == Op::kEq || op == Op::kNe;
}

[[noreturn]] void Unknown(const OpCase& c) {
  std::fprintf(stderr, "reference.cc knows no %s\n", CaseName(c).c_str());
  std::abort();
}

Wide IntResult(const OpCase& c, Wide a, Wide b) {
  const Wide ones = -1;  // What dividing by zero gives, in every width.
  const int width = static_cast<int>(8 * SizeOf(c.type));
  switch (c.op) {
    case Op::kAdd:
      return a + b;
    case Op::kSub:
      return a - b;
    case Op::kMul:
      return static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
    case Op::kDiv:
      return b == 0 ? ones : a / b;
    case Op::kRem:
      return b == 0 ? ones : a % b;
    case Op::kFloorDiv:
      return b == 0 ? ones : FloorDivide(a, b);
    case Op::kFloorMod:
      return b == 0 ? ones : a - FloorDivide(a, b) * b;
    case Op::kNeg:
      return -a;
    case Op::kNot:
      return a == 0;
    case Op::kBitNot:
      return ~a;
    case Op::kBitAnd:
      return a & b;
    case Op::kBitOr:
      return a | b;
    case Op::kBitXor:
      return a ^ b;
    case Op::kShl:
      return b >= width ? 0 : static_cast<Wide>(static_cast<unsigned __int128>(a) << static_cast<int>(b));
    case Op::kShr:
      return a >> static_cast<int>(b >= width ? width : b);
    case Op::kMin:
    case Op::kMinNan:
      return a < b ? a : b;
    case Op::kMax:
    case Op::kMaxNan:
      return a > b ? a : b;
    case Op::kAbs:
      return a < 0 ? -a : a;
    case Op::kFloor:
    case Op::kCeil:
    case Op::kTrunc:
    case Op::kRound:
    case Op::kRint:
      return a;
    default:
      Unknown(c);
  }
}

// Minimum and maximum where the zeros have an order and a NaN loses (or wins).
long double MinMax(bool is_max, bool nan_wins, long double a, long double b) {
  if (std::isnan(a) || std::isnan(b)) {
    if (nan_wins) return NAN;
    return std::isnan(a) ? b : a;
  }
  if (a == b) return is_max == std::signbit(a) ? b : a;
  return (a < b) == is_max ? b : a;
}

// Basic operations in T, which rounds once; 16-bit floats compute in float.
template <class T>
long double Basic(const OpCase& c, const long double* x) {
  const T a = static_cast<T>(x[0]), b = static_cast<T>(x[1]), z = static_cast<T>(x[2]);
  switch (c.op) {
    case Op::kAdd:
      return a + b;
    case Op::kSub:
      return a - b;
    case Op::kMul:
      return a * b;
    case Op::kDiv:
    case Op::kTrueDiv:
      return a / b;
    case Op::kFma:
      return std::fma(a, b, z);
    case Op::kSqrt:
      return std::sqrt(a);
    case Op::kFmod:
      return std::fmod(a, b);
    default:
      Unknown(c);
  }
}

struct Function {
  Op op;
  long double (*value)(long double, long double);
  int ulps32;  // CUDA C++ Programming Guide, "Mathematical Functions", and a little more for libclc.
  int ulps64;
};
#define SLIPWAY_UNARY(op, function, u32, u64)                                           \
  {                                                                                     \
    op, [](long double a, long double) -> long double { return function(a); }, u32, u64 \
  }
const Function kFunctions[] = {
    {Op::kRsqrt, [](long double a, long double) -> long double { return 1 / std::sqrt(a); }, 3, 2},
    SLIPWAY_UNARY(Op::kCbrt, std::cbrt, 2, 2),
    SLIPWAY_UNARY(Op::kExp, std::exp, 3, 2),
    SLIPWAY_UNARY(Op::kExp2, std::exp2, 3, 2),
    {Op::kExp10, [](long double a, long double) -> long double { return std::pow(10.0L, a); }, 3, 2},
    SLIPWAY_UNARY(Op::kExpm1, std::expm1, 3, 2),
    SLIPWAY_UNARY(Op::kLog, std::log, 3, 2),
    SLIPWAY_UNARY(Op::kLog2, std::log2, 3, 2),
    SLIPWAY_UNARY(Op::kLog10, std::log10, 3, 2),
    SLIPWAY_UNARY(Op::kLog1p, std::log1p, 3, 2),
    SLIPWAY_UNARY(Op::kSin, std::sin, 3, 3),
    SLIPWAY_UNARY(Op::kCos, std::cos, 3, 3),
    SLIPWAY_UNARY(Op::kTan, std::tan, 5, 3),
    SLIPWAY_UNARY(Op::kAsin, std::asin, 4, 3),
    SLIPWAY_UNARY(Op::kAcos, std::acos, 4, 3),
    SLIPWAY_UNARY(Op::kAtan, std::atan, 4, 3),
    SLIPWAY_UNARY(Op::kSinh, std::sinh, 4, 3),
    SLIPWAY_UNARY(Op::kCosh, std::cosh, 4, 3),
    SLIPWAY_UNARY(Op::kTanh, std::tanh, 4, 3),
    SLIPWAY_UNARY(Op::kAsinh, std::asinh, 5, 4),
    SLIPWAY_UNARY(Op::kAcosh, std::acosh, 5, 4),
    SLIPWAY_UNARY(Op::kAtanh, std::atanh, 5, 4),
    SLIPWAY_UNARY(Op::kErf, std::erf, 4, 4),
    SLIPWAY_UNARY(Op::kErfc, std::erfc, 6, 6),
    SLIPWAY_UNARY(Op::kTgamma, std::tgamma, 8, 12),
    SLIPWAY_UNARY(Op::kLgamma, std::lgamma, 8, 8),
    {Op::kPow, [](long double a, long double b) -> long double { return std::pow(a, b); }, 8, 3},
    {Op::kAtan2, [](long double a, long double b) -> long double { return std::atan2(a, b); }, 5, 4},
    {Op::kHypot, [](long double a, long double b) -> long double { return std::hypot(a, b); }, 5, 4},
};
#undef SLIPWAY_UNARY

Expected FloatResult(const OpCase& c, const uint64_t* operands) {
  long double x[3] = {};
  for (int k = 0; k < ir::SemanticsOf(c.op).arity; ++k) x[k] = FloatValue(c.type, operands[k]);
  const uint64_t sign = uint64_t{1} << (8 * SizeOf(c.type) - 1);
  if (IsComparison(c.op)) return {Compare(c.op, x[0], x[1])};
  auto exact = [&](long double value) { return Expected{FloatBits(c.type, value), 0}; };
  auto basic = [&](Op op) {
    const OpCase as = {op, c.type};
    const long double value = c.type == DType::kFloat64 ? Basic<double>(as, x) : Basic<float>(as, x);
    return FloatValue(c.type, FloatBits(c.type, value));
  };
  switch (c.op) {
    case Op::kNeg:
      return {operands[0] ^ sign};
    case Op::kAbs:
      return {operands[0] & ~sign};
    case Op::kCopysign:
      return {(operands[0] & ~sign) | (operands[1] & sign)};
    case Op::kIsnan:
      return {std::isnan(x[0])};
    case Op::kIsinf:
      return {std::isinf(x[0])};
    case Op::kIsfinite:
      return {std::isfinite(x[0])};
    case Op::kFloor:
      return exact(std::floor(x[0]));
    case Op::kCeil:
      return exact(std::ceil(x[0]));
    case Op::kTrunc:
      return exact(std::trunc(x[0]));
    case Op::kRound:
      return exact(std::round(x[0]));
    case Op::kRint:
      return exact(std::nearbyint(x[0]));
    case Op::kMin:
    case Op::kMinNan:
      return exact(MinMax(false, c.op == Op::kMinNan, x[0], x[1]));
    case Op::kMax:
    case Op::kMaxNan:
      return exact(MinMax(true, c.op == Op::kMaxNan, x[0], x[1]));
    case Op::kFloorDiv:
      return exact(std::floor(basic(Op::kDiv)));
    case Op::kFloorMod: {
      const long double rest = basic(Op::kFmod);
      if (rest == 0) return exact(std::copysign(rest, x[1]));
      if (!std::isnan(rest) && std::signbit(rest) != std::signbit(x[1])) {
        const long double pair[3] = {rest, x[1], 0};
        const OpCase add = {Op::kAdd, c.type};
        return exact(c.type == DType::kFloat64 ? Basic<double>(add, pair) : Basic<float>(add, pair));
      }
      return exact(rest);
    }
    default:
      break;
  }
  for (const Function& function : kFunctions) {
    if (function.op != c.op) continue;
    const int ulps = c.type == DType::kFloat64 ? function.ulps64 : c.type == DType::kFloat32 ? function.ulps32 : 1;
    return {FloatBits(c.type, function.value(x[0], x[1])), ulps};
  }
  return exact(basic(c.op));
}

// Floats in order: neighbours differ by 1, and so do the two zeros from nothing.
int64_t Ordinal(DType dtype, uint64_t bits) {
  const uint64_t sign = uint64_t{1} << (8 * SizeOf(dtype) - 1);
  const int64_t magnitude = static_cast<int64_t>(bits & ~sign);
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

}  // namespace

Expected Reference(const OpCase& c, const uint64_t* operands) {
  if (c.op == Op::kSelect) return {operands[0] != 0 ? operands[1] : operands[2]};
  Expected expected;
  for (auto* function : {SpecialFunction, RandomNumber, PartOfReal, PartOfFloat, RoundedOperation, IntegerFunction}) {
    if (function(c, operands, &expected)) return expected;
  }
  if (IsFloat(c.type)) return FloatResult(c, operands);
  const int arity = ir::SemanticsOf(c.op).arity;
  const Wide a = IntFromBits(c.type, operands[0]);
  const bool shift = c.op == Op::kShl || c.op == Op::kShr;
  const Wide b = arity > 1 ? IntFromBits(shift ? DType::kUInt32 : c.type, operands[1]) : 0;
  if (IsComparison(c.op)) return {Compare(c.op, a, b)};
  if (c.op == Op::kIsnan || c.op == Op::kIsinf) return {0};
  if (c.op == Op::kIsfinite) return {1};
  return {IntToBits(c.type, IntResult(c, a, b))};
}

namespace {

// `bits`, the nearest to `value`, as another rounding has it: a step towards where it should have gone.
uint64_t Directed(DType dtype, uint64_t bits, long double value, ir::CastKind kind) {
  const long double near = FloatValue(dtype, bits);
  if (std::isnan(value) || near == value || std::isinf(value)) return bits;
  const bool negative = std::signbit(value);
  const bool away = (near > value) != negative;  // Nearest went away from zero.
  using ir::CastKind;
  const bool wants_away = kind == CastKind::kUp ? !negative : kind == CastKind::kDown && negative;
  if (kind == CastKind::kSaturate) return std::isinf(near) ? bits - 1 : bits;
  return away == wants_away ? bits : wants_away ? bits + 1 : bits - 1;
}

uint64_t FloatResultOf(DType to, long double value, ir::CastKind kind) {
  using ir::CastKind;
  const uint64_t nearest = FloatBits(to, value);
  if (kind == CastKind::kSaturate && std::isinf(value)) return nearest - 1;
  if (kind == CastKind::kValue || kind == CastKind::kNearest) return nearest;
  return Directed(to, nearest, value, kind);
}

}  // namespace

uint64_t ReferenceCast(DType from, DType to, uint64_t bits, ir::CastKind kind) {
  using ir::CastKind;
  if (kind == CastKind::kBits) return bits;
  if (from == to && kind != CastKind::kSaturate) return bits;
  const int width = static_cast<int>(8 * SizeOf(to));
  const Wide low = IsSignedInteger(to) ? -(Wide{1} << (width - 1)) : 0;
  const Wide high = (Wide{1} << (IsSignedInteger(to) ? width - 1 : width)) - 1;
  if (!IsFloat(from)) {
    const Wide value = IntFromBits(from, bits);
    if (to == DType::kBool) return value != 0;
    // Every integer fits a long double.
    if (IsFloat(to)) return FloatResultOf(to, static_cast<long double>(value), kind);
    if (kind == CastKind::kSaturate) return IntToBits(to, value < low ? low : value > high ? high : value);
    return IntToBits(to, value);
  }
  const long double value = FloatValue(from, bits);
  if (to == DType::kBool) return !(value == 0);
  if (IsFloat(to)) return FloatResultOf(to, value, kind);
  if (std::isnan(value)) {
    const bool zero = (from != DType::kFloat64 && width != 64) || kind == CastKind::kSaturate;
    return zero ? 0 : uint64_t{1} << (width - 1);
  }
  const long double integral = kind == CastKind::kNearest ? std::nearbyint(value)
                               : kind == CastKind::kUp    ? std::ceil(value)
                               : kind == CastKind::kDown  ? std::floor(value)
                                                          : std::trunc(value);
  if (integral <= static_cast<long double>(low)) return IntToBits(to, low);
  if (integral >= std::ldexp(1.0L, IsSignedInteger(to) ? width - 1 : width)) return IntToBits(to, high);
  return IntToBits(to, static_cast<Wide>(integral));
}

bool Matches(DType dtype, const Expected& expected, uint64_t bits) {
  if (!IsFloat(dtype)) return expected.bits == bits;
  const bool is_nan = std::isnan(FloatValue(dtype, bits));
  if (std::isnan(FloatValue(dtype, expected.bits))) return is_nan;
  if (is_nan) return false;
  if (expected.absolute > 0 &&
      std::fabs(FloatValue(dtype, bits) - FloatValue(dtype, expected.bits)) <= expected.absolute) {
    return true;
  }
  if (expected.ulps == 0) return expected.bits == bits;
  return std::llabs(Ordinal(dtype, expected.bits) - Ordinal(dtype, bits)) <= expected.ulps;
}

std::vector<uint64_t> InterestingValues(DType dtype) {
  if (dtype == DType::kBool) return {0, 1};
  std::vector<uint64_t> values;
  const int width = static_cast<int>(8 * SizeOf(dtype));
  if (!IsFloat(dtype)) {
    const Wide top = Wide{1} << (width - 1);
    for (Wide value : {Wide{0}, Wide{1}, Wide{2}, Wide{3}, Wide{7}, Wide{10}, Wide{100}, Wide{-1}, Wide{-2}, Wide{-7},
                       Wide{-10}, top - 1, top, top + 1, top / 2, top / 3, -top / 5}) {
      values.push_back(IntToBits(dtype, value));
    }
    return values;
  }
  const uint64_t sign = uint64_t{1} << (width - 1);
  const uint64_t infinity = FloatBits(dtype, INFINITY);
  for (long double value :
       {0.0L, 0.5L, 1.0L, 1.5L, 2.0L, 2.5L, 3.0L, 0.1L, 7.25L, 100.0L, 10000.5L, 1e-3L, 3.14159265358979L}) {
    values.push_back(FloatBits(dtype, value));
  }
  // The least subnormal and normal numbers, the greatest number, infinity.
  const int mantissa = dtype == DType::kFloat16    ? 10
                       : dtype == DType::kBFloat16 ? 7
                       : dtype == DType::kFloat32  ? 23
                                                   : 52;
  for (uint64_t bits : {uint64_t{1}, (uint64_t{1} << mantissa) - 1, uint64_t{1} << mantissa, infinity - 1, infinity}) {
    values.push_back(bits);
  }
  const size_t positive = values.size();
  for (size_t k = 0; k < positive; ++k) values.push_back(values[k] | sign);
  values.push_back(infinity | uint64_t{1} << (mantissa - 1));  // A quiet NaN.
  return values;
}

std::string Show(DType dtype, uint64_t bits) {
  char text[64];
  if (IsFloat(dtype)) {
    std::snprintf(text, sizeof(text), "%La (0x%llx)", FloatValue(dtype, bits), static_cast<unsigned long long>(bits));
  } else {
    std::snprintf(text, sizeof(text), IsSignedInteger(dtype) ? "%lld" : "%llu",
                  static_cast<long long>(IntFromBits(dtype, bits)));
  }
  return text;
}

}  // namespace slipway
