#include "tests/jit/reference_functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace slipway {
namespace {

using ir::Op;
using Real = long double;

constexpr Real kPi = 3.141592653589793238462643383279502884L;
constexpr Real kInfinity = std::numeric_limits<Real>::infinity();

// sin(pi x) and cos(pi x): what is left beside the nearest half-integer is exact.
Real SinPi(Real x) {
  if (!std::isfinite(x)) return NAN;
  const Real turn = std::fmod(x, 2.0L), halves = std::rint(2 * turn), rest = kPi * (turn - halves / 2);
  switch (static_cast<int>(halves) & 3) {
    case 0:
      return std::sin(rest);
    case 1:
      return std::cos(rest);
    case 2:
      return -std::sin(rest);
    default:
      return -std::cos(rest);
  }
}
Real CosPi(Real x) { return std::isfinite(x) ? SinPi(std::fmod(std::fabs(x), 2.0L) + 0.5L) : NAN; }

// The x at which f, which grows where `grows`, is `y`, between 0 and 110 (past which erfc is no long double).
template <class F>
Real Solve(F f, Real y, bool grows) {
  Real low = 0, high = 110;
  for (int i = 0; i < 16500 && std::nextafter(low, high) < high; ++i) {
    // Halves the distance of large numbers, and the exponents' of small ones.
    const Real middle = low > 0 || high < 1e-4900L ? (low + high) / 2 : high > 1e-30L ? high * high / 120 : high / 2;
    const Real at = middle > low && middle < high ? middle : (low + high) / 2;
    ((f(at) < y) == grows ? low : high) = at;
  }
  return low;
}
Real Erfinv(Real x) {
  if (std::isnan(x) || std::fabs(x) > 1) return NAN;
  if (x == 0 || std::fabs(x) == 1) return x == 0 ? x : x * kInfinity;
  const Real a = std::fabs(x);
  if (a < 1e-15L) return x * std::sqrt(kPi) / 2 * (1 + kPi / 12 * x * x);
  const Real root = a < 0.5L ? Solve([](Real t) { return std::erf(t); }, a, true)
                             : Solve([](Real t) { return std::erfc(t); }, 1 - a, false);
  return std::copysign(root, x);
}
Real Erfcinv(Real y) {
  if (std::isnan(y) || y < 0 || y > 2) return NAN;
  if (y == 0 || y == 2) return y == 0 ? kInfinity : -kInfinity;
  if (y > 0.5L && y < 1.5L) return Erfinv(1 - y);
  if (y > 1) return -Erfcinv(2 - y);
  return Solve([](Real t) { return std::erfc(t); }, y, false);
}
Real Erfcx(Real x) {
  if (x < -200) return kInfinity;
  const Real square = x * x, rest = std::fma(x, x, -square);
  if (x < 0) return 2 * std::exp(square) * (1 + rest) - Erfcx(-x);
  if (x < 100) return std::exp(square) * (1 + rest) * std::erfc(x);
  const Real t = 1 / (2 * square);
  return (1 - t * (1 - 3 * t * (1 - 5 * t))) / (x * std::sqrt(kPi));
}

// 1 / sqrt(2) as the sum of two long doubles.
const Real kRootHalf = std::sqrt(0.5L);
const Real kRootHalfRest = -std::fma(kRootHalf, kRootHalf, -0.5L) / (2 * kRootHalf);
Real Normcdf(Real x) {
  if (std::fabs(x) > 150) return x > 0 ? 1 : 0;
  const Real z = -x * kRootHalf, rest = std::fma(-x, kRootHalf, -z) - x * kRootHalfRest;
  return (std::erfc(z) - 2 / std::sqrt(kPi) * std::exp(-z * z) * rest) / 2;
}
Real Normcdfinv(Real p) { return -std::sqrt(2.0L) * Erfcinv(2 * p); }

// The power series; all its terms are positive.
Real BesselI(int order, Real x) {
  if (std::isnan(x)) return x;
  if (std::fabs(x) > 11000) return order == 1 ? std::copysign(kInfinity, x) : kInfinity;
  Real term = order == 0 ? 1 : x / 2, sum = term;
  for (int k = 1; k < 20000; ++k) {
    term *= x / 2 / k * (x / 2) / (k + order);
    if (sum + term == sum) break;
    sum += term;
  }
  return sum;
}
// The functions of order n < 0 are not numbers in CUDA's library.
Real BesselJ(int n, Real x) { return n < 0 || std::isnan(x) ? NAN : std::isinf(x) ? 0 : jnl(n, x); }
Real BesselY(int n, Real x) {
  if (n < 0 || std::isnan(x) || x < 0) return NAN;
  return x == 0 ? -kInfinity : std::isinf(x) ? 0 : ynl(n, x);
}

Real Norm(const Real* x, int n) {
  Real sum = 0;
  for (int i = 0; i < n; ++i) {
    if (std::isinf(x[i])) return kInfinity;
    sum += x[i] * x[i];
  }
  return std::sqrt(sum);
}

struct Special {
  Op op;
  Real (*value)(const Real* x, const int32_t* n);  // n: the operands that are integers.
  // CUDA C++ Programming Guide, "Mathematical Functions": errors in units in the last place.
  int ulps32, ulps64;
  Real absolute32 = 0, absolute64 = 0;  // Or this far, where that is more.
};
#define SLIPWAY_SPECIAL(op, expression, ...)                                              \
  {                                                                                       \
    Op::op, [](const Real* x, const int32_t*) -> Real { return expression; }, __VA_ARGS__ \
  }
#define SLIPWAY_SPECIAL_N(op, expression, ...)                                              \
  {                                                                                         \
    Op::op, [](const Real* x, const int32_t* n) -> Real { return expression; }, __VA_ARGS__ \
  }
constexpr Real kBessel32 = 2.2e-6L, kBessel64 = 5e-12L;
const Special kSpecial[] = {
    SLIPWAY_SPECIAL(kRcbrt, 1 / std::cbrt(x[0]), 1, 1),
    SLIPWAY_SPECIAL(kRhypot, 1 / std::hypot(x[0], x[1]), 2, 1),
    SLIPWAY_SPECIAL(kNorm3d, Norm(x, 3), 3, 2),
    SLIPWAY_SPECIAL(kRnorm3d, 1 / Norm(x, 3), 2, 1),
    SLIPWAY_SPECIAL(kNorm4d, Norm(x, 4), 3, 2),
    SLIPWAY_SPECIAL(kRnorm4d, 1 / Norm(x, 4), 2, 1),
    SLIPWAY_SPECIAL(kSinpi, SinPi(x[0]), 2, 2),
    SLIPWAY_SPECIAL(kCospi, CosPi(x[0]), 2, 2),
    SLIPWAY_SPECIAL(kErfinv, Erfinv(x[0]), 2, 5),
    SLIPWAY_SPECIAL(kErfcinv, Erfcinv(x[0]), 4, 6),
    SLIPWAY_SPECIAL(kErfcx, Erfcx(x[0]), 4, 4),
    SLIPWAY_SPECIAL(kNormcdf, Normcdf(x[0]), 5, 5),
    SLIPWAY_SPECIAL(kNormcdfinv, Normcdfinv(x[0]), 5, 8),
    SLIPWAY_SPECIAL(kJ0, BesselJ(0, x[0]), 9, 7, kBessel32, kBessel64),
    SLIPWAY_SPECIAL(kJ1, BesselJ(1, x[0]), 9, 7, kBessel32, kBessel64),
    SLIPWAY_SPECIAL_N(kJn, BesselJ(n[0], x[1]), 9, 9, kBessel32, kBessel64),
    SLIPWAY_SPECIAL(kY0, BesselY(0, x[0]), 9, 7, kBessel32, kBessel64),
    SLIPWAY_SPECIAL(kY1, BesselY(1, x[0]), 9, 7, kBessel32, kBessel64),
    SLIPWAY_SPECIAL_N(kYn, BesselY(n[0], x[1]), 15, 15, kBessel32, kBessel64),
    SLIPWAY_SPECIAL(kCylBesselI0, BesselI(0, x[0]), 6, 6),
    SLIPWAY_SPECIAL(kCylBesselI1, BesselI(1, x[0]), 6, 6),
    // The fast functions (the same guide's table of intrinsics, and the PTX ISA's of approximations).
    SLIPWAY_SPECIAL(kFastSin, std::sin(x[0]), 2, 0, 0x1p-20L),
    SLIPWAY_SPECIAL(kFastCos, std::cos(x[0]), 2, 0, 0x1p-20L),
    SLIPWAY_SPECIAL(kFastTan, std::tan(x[0]), 40, 0, 0x1p-19L),
    SLIPWAY_SPECIAL(kFastTanh, std::tanh(x[0]), 1 << 13, 0),
    SLIPWAY_SPECIAL(kFastExp, std::exp(x[0]), 2 + 128, 0),
    SLIPWAY_SPECIAL(kFastExp2, std::exp2(x[0]), 2, 0),
    SLIPWAY_SPECIAL(kFastExp10, std::pow(10.0L, x[0]), 2 + 128, 0),
    SLIPWAY_SPECIAL(kFastLog, std::log(x[0]), 3, 0, 0x1p-21L),
    SLIPWAY_SPECIAL(kFastLog2, std::log2(x[0]), 2, 0, 0x1p-22L),
    SLIPWAY_SPECIAL(kFastLog10, std::log10(x[0]), 3, 0, 0x1p-22L),
    SLIPWAY_SPECIAL(kFastPow, std::pow(x[0], x[1]), 1 << 9, 0),
    SLIPWAY_SPECIAL(kFastDivide, x[0] / x[1], 2, 0),
    SLIPWAY_SPECIAL(kFastRcp, 1 / x[0], 1, 0),
    SLIPWAY_SPECIAL(kFastSqrt, std::sqrt(x[0]), 3, 0),
    SLIPWAY_SPECIAL(kFastRsqrt, 1 / std::sqrt(x[0]), 2, 0),
};
#undef SLIPWAY_SPECIAL
#undef SLIPWAY_SPECIAL_N

}  // namespace

bool SpecialFunction(const OpCase& c, const uint64_t* operands, Expected* expected) {
  for (const Special& special : kSpecial) {
    if (special.op != c.op) continue;
    Real x[ir::kMaxArity] = {};
    int32_t n[ir::kMaxArity] = {};
    const std::vector<DType> types = OperandTypes(c);
    for (size_t k = 0; k < types.size(); ++k) {
      if (IsFloat(types[k])) x[k] = FloatValue(types[k], operands[k]);
      if (!IsFloat(types[k])) n[k] = static_cast<int32_t>(operands[k]);
    }
    const Real value = special.value(x, n);
    const bool wide = c.type == DType::kFloat64;
    // In 16 bits a result of float32 is rounded once more.
    const int of_halves = std::max(1, special.ulps32 >> (c.type == DType::kFloat16 ? 13 : 16));
    *expected = {FloatBits(c.type, value), wide                        ? special.ulps64
                                           : c.type == DType::kFloat32 ? special.ulps32
                                                                       : of_halves};
    expected->absolute = static_cast<double>(wide ? special.absolute64 : special.absolute32);
    return true;
  }
  return false;
}

// ---- Parts of floats -----------------------------------------------------------------------------------------------

// Random numbers. Philox4x32-10 in 64-bit arithmetic, as the paper writes it down.
std::array<uint64_t, 4> Philox(uint64_t seed, uint64_t stream, uint64_t counter) {
  constexpr uint64_t kLow = 0xffffffff;
  uint64_t l0 = counter & kLow, r0 = counter >> 32, l1 = stream & kLow, r1 = stream >> 32;
  uint64_t k0 = seed & kLow, k1 = seed >> 32;
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = 0xD2511F53 * l0, p1 = 0xCD9E8D57 * l1;
    l0 = (p1 >> 32) ^ r0 ^ k0;
    l1 = (p0 >> 32) ^ r1 ^ k1;
    r0 = p1 & kLow;
    r1 = p0 & kLow;
    k0 = (k0 + 0x9E3779B9) & kLow;
    k1 = (k1 + 0xBB67AE85) & kLow;
  }
  return {l0, r0, l1, r1};
}
bool RandomNumber(const OpCase& c, const uint64_t* operands, Expected* expected) {
  const auto words = [&](uint64_t stream, uint64_t counter) { return Philox(operands[0], stream, counter); };
  const auto w = words(0, operands[1]);
  const auto uniform64 = [&](int k) { return (static_cast<Real>(w[k] ^ w[k + 1] << 21) + 0.5L) * 0x1p-53L; };
  const auto as = [](DType type, Real x) { return FloatValue(type, FloatBits(type, x)); };
  const auto normal = [](Real u, Real v) { return std::sqrt(-2 * std::log(u)) * SinPi(2 * v); };
  // A float32 rounds its 32 bits first, then their middle.
  const auto single = [&](int k) { return as(DType::kFloat32, as(DType::kFloat32, w[k]) * 0x1p-32L + 0x1p-33L); };
  switch (c.op) {
    case Op::kRandomBits:
      *expected = {words(operands[1], operands[2])[operands[3] % 4]};
      return true;
    case Op::kRandomUniform:
      *expected = {FloatBits(c.type, single(0))};
      return true;
    case Op::kRandomUniformF64:
      *expected = {FloatBits(c.type, uniform64(0))};
      return true;
    case Op::kRandomNormal:
      *expected = {FloatBits(c.type, normal(single(0), single(1))), 8, 1e-7};
      return true;
    case Op::kRandomNormalF64:
      *expected = {FloatBits(c.type, normal(as(c.type, uniform64(0)), as(c.type, uniform64(2)))), 8, 1e-16};
      return true;
    case Op::kRandomInteger: {
      const __int128 n = IntFromBits(c.type, operands[2]);
      if (n <= 0) {
        *expected = {0};
        return true;
      }
      // n times the 64 or 128 bits, in halves.
      using U = unsigned __int128;
      const U high = U{w[0] | w[1] << 32} * static_cast<U>(n), low = U{w[2] | w[3] << 32} * static_cast<U>(n);
      *expected = {static_cast<uint64_t>((SizeOf(c.type) == 8 ? high + (low >> 64) : high) >> 64)};
      return true;
    }
    default:
      return false;
  }
}

// Functions of complex numbers where they take real ones.
bool PartOfReal(const OpCase& c, const uint64_t* operands, Expected* expected) {
  const bool is_float = IsFloat(c.type);
  const Real x = is_float ? FloatValue(c.type, operands[0]) : 0;
  switch (c.op) {
    case Op::kReal:
    case Op::kConj:
      *expected = {operands[0]};
      return true;
    case Op::kImag:
      *expected = {0};
      return true;
    case Op::kArg:
      *expected = {FloatBits(c.type, std::isnan(x) ? x : std::signbit(x) ? kPi : 0), 1};
      return true;
    case Op::kNorm: {
      const auto n = static_cast<unsigned __int128>(is_float ? 0 : IntFromBits(c.type, operands[0]));
      *expected = {is_float ? FloatBits(c.type, x * x) : IntToBits(c.type, static_cast<__int128>(n * n))};
      return true;
    }
    case Op::kProj:
      *expected = {std::isinf(x) ? FloatBits(c.type, kInfinity) : operands[0]};
      return true;
    default:
      return false;
  }
}

bool PartOfFloat(const OpCase& c, const uint64_t* operands, Expected* expected) {
  const std::vector<DType> types = OperandTypes(c);
  if (!IsFloat(c.type)) {
    if (c.op != Op::kSignbit) return false;
    *expected = {IntFromBits(c.type, operands[0]) < 0};
    return true;
  }
  const Real a = FloatValue(c.type, operands[0]);
  const Real b = types.size() > 1 && IsFloat(types[1]) ? FloatValue(c.type, operands[1]) : 0;
  const auto exact = [&](Real value) {
    *expected = {FloatBits(c.type, value)};
    return true;
  };
  const auto integer = [&](int64_t value) {
    *expected = {static_cast<uint32_t>(value)};
    return true;
  };
  int exponent = 0, quotient = 0;
  switch (c.op) {
    case Op::kRemainder:
      return exact(std::remainder(a, b));
    case Op::kRemquoQuotient: {
      const Real rest = std::remquo(a, b, &quotient);
      const int low = std::abs(quotient) & 7;
      return integer(std::isnan(rest) ? 0 : quotient < 0 ? -low : low);
    }
    case Op::kFdim:
      if (std::isnan(a) || std::isnan(b)) return exact(NAN);
      if (a <= b) return exact(0);
      return exact(c.type == DType::kFloat64   ? Real{static_cast<double>(a) - static_cast<double>(b)}
                   : c.type == DType::kFloat32 ? Real{static_cast<float>(a) - static_cast<float>(b)}
                                               : a - b);
    case Op::kNextafter: {
      if (std::isnan(a) || std::isnan(b)) return exact(NAN);
      if (a == b) return exact(b);
      const uint64_t sign = uint64_t{1} << (8 * SizeOf(c.type) - 1);
      if (a == 0) {
        *expected = {1 | (b < 0 ? sign : 0)};
      } else {
        *expected = {(a < b) == (a > 0) ? operands[0] + 1 : operands[0] - 1};
      }
      return true;
    }
    case Op::kLdexp: {
      const int32_t n = static_cast<int32_t>(operands[1]);
      return exact(std::ldexp(a, std::max(-5000, std::min(5000, n))));
    }
    case Op::kLogb:
      return exact(std::logb(a));
    case Op::kIlogb:
      return integer(a == 0 || std::isnan(a) ? INT32_MIN : std::isinf(a) ? INT32_MAX : std::ilogb(a));
    case Op::kFrexpMantissa:
      return exact(std::frexp(a, &exponent));
    case Op::kFrexpExponent:
      if (std::isfinite(a)) std::frexp(a, &exponent);
      return integer(exponent);
    case Op::kModfFraction: {
      Real whole;
      return exact(std::modf(a, &whole));
    }
    case Op::kSignbit:
      *expected = {std::signbit(a)};
      return true;
    case Op::kSaturate:
      return exact(a > 0 ? std::min(a, Real{1}) : 0);
    case Op::kNan:
      return exact(NAN);
    case Op::kFma:
      if (SizeOf(c.type) != 2) return false;
      {
        const __float128 product = static_cast<__float128>(a) * b, z = FloatValue(c.type, operands[2]);
        const __float128 sum = product + z, part = sum - product;
        *expected = {RoundExact(c.type, sum, (product - (sum - part)) + (z - part))};
        return true;
      }
    default:
      return false;
  }
}

uint64_t RoundExact(DType dtype, __float128 high, __float128 low) {
  const Real near = static_cast<Real>(high);
  if (!std::isfinite(near) || near == 0) return FloatBits(dtype, near);
  const uint64_t sign = near < 0 ? uint64_t{1} << (8 * SizeOf(dtype) - 1) : 0;
  const __float128 magnitude = near < 0 ? -high : high, rest = near < 0 ? -low : low;
  const auto value = [&](uint64_t bits) -> __float128 {
    // Past the greatest number: the one that would follow.
    if (std::isinf(FloatValue(dtype, bits))) return 2 * (FloatValue(dtype, bits - 1) - FloatValue(dtype, bits - 2) / 2);
    return FloatValue(dtype, bits);
  };
  uint64_t below = FloatBits(dtype, near) & ~sign;
  while (below > 0 && (std::isinf(FloatValue(dtype, below)) || value(below) > magnitude ||
                       (value(below) == magnitude && rest < 0))) {
    --below;
  }
  if (value(below) == magnitude && rest == 0) return below | sign;
  const __float128 tie = (value(below) + value(below + 1)) / 2;
  const bool up = magnitude > tie || (magnitude == tie && (rest > 0 || (rest == 0 && (below & 1) != 0)));
  return (up ? below + 1 : below) | sign;
}

// ---- Rounding modes ------------------------------------------------------------------------------------------------

namespace {

enum Mode { kNearest, kToZero, kUp, kDown };
struct RoundedOp {
  Op first;  // _rn; the others follow.
  Op base;
};
constexpr RoundedOp kRounded[] = {{Op::kAddRn, Op::kAdd},    {Op::kSubRn, Op::kSub}, {Op::kMulRn, Op::kMul},
                                  {Op::kDivRn, Op::kDiv},    {Op::kFmaRn, Op::kFma}, {Op::kSqrtRn, Op::kSqrt},
                                  {Op::kRcpRn, Op::kTrueDiv}};

// The result rounded to nearest, and the sign of what it lacks of the exact one.
struct Nearest {
  Real value;
  int lacks;
};
int Sign(__float128 x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

template <class T>
Nearest Compute(Op op, T a, T b, T c) {
  using Quad = __float128;
  const Quad x = a, y = b, z = c;
  switch (op) {
    case Op::kAdd:
    case Op::kFma: {
      const Quad product = op == Op::kFma ? x * y : x, addend = op == Op::kFma ? z : y;
      const T r = op == Op::kFma ? std::fma(a, b, c) : a + b;
      const Quad sum = product + addend, part = sum - product;
      const Quad lost = (product - (sum - part)) + (addend - part);
      return {r, sum != r ? Sign(sum - r) : Sign(lost)};
    }
    case Op::kMul:
      return {a * b, Sign(x * y - (a * b))};
    case Op::kDiv: {
      const T r = a / b;
      if (std::isinf(r)) return {r, std::isinf(a) || b == 0 ? 0 : r > 0 ? -1 : 1};
      return {r, Sign(x - r * y) * Sign(y)};
    }
    default: {
      const T r = std::sqrt(a);
      return {r, Sign(x - static_cast<Quad>(r) * r)};
    }
  }
}

template <class T>
Expected InMode(DType dtype, Op op, Mode mode, T a, T b, T c) {
  if (op == Op::kSub) b = -b, op = Op::kAdd;
  if (op == Op::kTrueDiv) b = a, a = 1, op = Op::kDiv;
  const Nearest nearest = Compute<T>(op, a, b, c);
  const T r = static_cast<T>(nearest.value);
  uint64_t bits = FloatBits(dtype, r);
  if (std::isnan(r)) return {bits};
  const bool is_sum = op == Op::kAdd || op == Op::kFma;
  if (is_sum && r == 0 && nearest.lacks == 0) {
    const T left = op == Op::kFma ? (std::signbit(a) != std::signbit(b) ? -1 : 1) : a;
    const T right = op == Op::kFma ? c : b;
    const bool negative = std::signbit(left) == std::signbit(right) ? std::signbit(left) : mode == kDown;
    return {FloatBits(dtype, negative ? -0.0L : 0.0L)};
  }
  // An infinity that no operand was is past the exact result.
  int lacks = nearest.lacks;
  if (std::isinf(r) && op != Op::kDiv) {
    lacks = std::isfinite(a) && std::isfinite(b) && std::isfinite(c) ? (r > 0 ? -1 : 1) : 0;
  }
  const bool negative = std::signbit(r);
  if ((mode == kUp && lacks > 0) || (mode == kDown && lacks < 0)) bits += (lacks > 0) == negative ? -1 : 1;
  if (mode == kToZero && lacks != 0 && (lacks < 0) != negative) --bits;
  return {bits};
}

}  // namespace

bool RoundedOperation(const OpCase& c, const uint64_t* operands, Expected* expected) {
  for (const RoundedOp& rounded : kRounded) {
    const int mode = static_cast<int>(c.op) - static_cast<int>(rounded.first);
    if (mode < 0 || mode > 3) continue;
    Real x[3] = {};
    for (size_t k = 0; k < OperandTypes(c).size(); ++k) x[k] = FloatValue(c.type, operands[k]);
    const auto compute = [&](auto zero) {
      using T = decltype(zero);
      return InMode<T>(c.type, rounded.base, static_cast<Mode>(mode), static_cast<T>(x[0]), static_cast<T>(x[1]),
                       static_cast<T>(x[2]));
    };
    *expected = c.type == DType::kFloat64 ? compute(double{}) : compute(float{});
    return true;
  }
  return false;
}

// ---- Integers ------------------------------------------------------------------------------------------------------

bool IntegerFunction(const OpCase& c, const uint64_t* operands, Expected* expected) {
  using Wide = __int128;
  if (!IsInteger(c.type)) return false;
  const int width = static_cast<int>(8 * SizeOf(c.type));
  const std::vector<DType> types = OperandTypes(c);
  Wide x[ir::kMaxArity] = {};
  for (size_t k = 0; k < types.size(); ++k) x[k] = IntFromBits(types[k], operands[k]);
  const auto bit = [&](int operand, Wide i) {
    return i < width && (operands[operand] >> static_cast<int>(i) & 1) != 0;
  };
  const auto give = [&](Wide value) {
    *expected = {IntToBits(ResultType(c), value)};
    return true;
  };
  // Bit by bit: bit i of the result is what `from` says.
  const auto build = [&](auto from) {
    uint64_t bits = 0;
    for (int i = 0; i < width; ++i) bits |= static_cast<uint64_t>(from(i)) << i;
    *expected = {bits};
    return true;
  };
  const Wide low = IsSignedInteger(c.type) ? -(Wide{1} << (width - 1)) : 0;
  const Wide high = low + (Wide{1} << width) - 1;
  // Bit i of high:low, operands 1 and 0.
  const auto of_pair = [&](Wide i) { return i < width ? bit(0, i) : bit(1, i - width); };
  const auto byte = [&](int operand, int i) { return static_cast<int>(operands[operand] >> (8 * i) & 0xff); };
  const auto number = [&](int value, int bits) {
    return IsSignedInteger(c.type) && value >= 1 << (bits - 1) ? value - (1 << bits) : value;
  };
  int count = 0;
  switch (c.op) {
    case Op::kPopc:
      for (int i = 0; i < width; ++i) count += bit(0, i);
      return give(count);
    case Op::kClz:
      while (count < width && !bit(0, width - 1 - count)) ++count;
      return give(count);
    case Op::kCtz:
      while (count < width && !bit(0, count)) ++count;
      return give(count);
    case Op::kFfs:
      while (count < width && !bit(0, count)) ++count;
      return give(count == width ? 0 : count + 1);
    case Op::kBrev:
      return build([&](int i) { return bit(0, width - 1 - i); });
    case Op::kMulhi:
      if (!IsSignedInteger(c.type))
        return give(static_cast<Wide>(static_cast<unsigned __int128>(x[0]) * x[1] >> width));
      return give(x[0] * x[1] >> width);
    case Op::kMulWide:
      return give(x[0] * x[1]);
    case Op::kSad:
      return give((x[0] > x[1] ? x[0] - x[1] : x[1] - x[0]) + x[2]);
    case Op::kHadd:
      return give((x[0] + x[1]) >> 1);
    case Op::kRhadd:
      return give((x[0] + x[1] + 1) >> 1);
    case Op::kAddSat:
      return give(std::min(high, std::max(low, x[0] + x[1])));
    case Op::kSubSat:
      return give(std::min(high, std::max(low, x[0] - x[1])));
    case Op::kRotl:
      return build([&](int i) { return bit(0, (i + width - x[1] % width) % width); });
    case Op::kRotr:
      return build([&](int i) { return bit(0, (i + x[1]) % width); });
    case Op::kFunnelShiftLeft:
      return build([&](int i) { return of_pair(i + width - x[2] % width); });
    case Op::kFunnelShiftRight:
      return build([&](int i) { return of_pair(i + x[2] % width); });
    case Op::kFunnelShiftLeftClamp:
      return build([&](int i) { return of_pair(i + width - std::min<Wide>(x[2], width)); });
    case Op::kFunnelShiftRightClamp:
      return build([&](int i) { return of_pair(i + std::min<Wide>(x[2], width)); });
    case Op::kBytePermute: {
      uint64_t word = 0;
      for (int i = 0; i < 4; ++i) {
        const int selector = static_cast<int>(operands[2] >> (4 * i) & 15);
        const int chosen = byte((selector & 7) / 4, selector & 3);
        word |= static_cast<uint64_t>(selector >= 8 ? (chosen >= 128 ? 255 : 0) : chosen) << (8 * i);
      }
      *expected = {word};
      return true;
    }
    case Op::kBitFieldExtract: {
      if (x[2] == 0) return give(0);
      const Wide last = std::min<Wide>(x[1] + x[2] - 1, width - 1);
      const bool sign = IsSignedInteger(c.type) && bit(0, last);
      return build([&](int i) { return i < x[2] && i + x[1] < width ? bit(0, i + x[1]) : sign; });
    }
    case Op::kBitFieldInsert:
      return build([&](int i) { return i >= x[2] && i < x[2] + x[3] ? bit(1, i - x[2]) : bit(0, i); });
    case Op::kDp4a: {
      Wide sum = x[2];
      for (int i = 0; i < 4; ++i) sum += Wide{number(byte(0, i), 8)} * number(byte(1, i), 8);
      return give(sum);
    }
    case Op::kDp2aLo:
    case Op::kDp2aHi: {
      Wide sum = x[2];
      for (int i = 0; i < 2; ++i) {
        const int half = static_cast<int>(operands[0] >> (16 * i) & 0xffff);
        sum += Wide{number(half, 16)} * number(byte(1, (c.op == Op::kDp2aHi ? 2 : 0) + i), 8);
      }
      return give(sum);
    }
    default:
      return false;
  }
}

}  // namespace slipway
