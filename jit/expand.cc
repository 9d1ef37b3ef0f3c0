#include "jit/expand.h"

#include <array>
#include <cstdint>
#include <limits>

#include "driver/check.h"
#include "jit/complex.h"
#include "jit/random.h"
#include "jit/semantics.h"
#include "jit/term.h"

namespace slipway::ir {
namespace {

// What the 16-bit floats are computed in, where rounding each step to 16 bits would be wrong.
DType Working(DType type) { return SizeOf(type) == 2 ? DType::kFloat32 : type; }

struct Args {
  Builder* b;
  DType type;
  const ValueId* operands;

  Term operator[](int i) const { return {b, operands[i]}; }
  Term Wide(int i) const { return Cast(Working(type), (*this)[i]); }
};

// ---- Division ------------------------------------------------------------------------------------------------------

Term TrueDiv(const Args& x) { return x[0] / x[1]; }

// The remainder with the divisor's sign, and for integers whether % was adjusted to make it. Division by zero gives
// what / and % give: its remainder is all ones and must not be adjusted.
Term NeedsAdjusting(Term rest, Term divisor) { return (rest != 0) & ((rest ^ divisor) < 0) & (divisor != 0); }
Term FloorDiv(const Args& x) {
  const Term quotient = x[0] / x[1];
  if (IsUnsignedInteger(x.type)) return quotient;
  if (IsFloat(x.type)) return Apply(Op::kFloor, quotient);
  return Select(NeedsAdjusting(x[0] % x[1], x[1]), quotient - 1, quotient);
}
Term FloorMod(const Args& x) {
  if (IsFloat(x.type)) {
    const Term rest = Apply(Op::kFmod, x[0], x[1]);
    const Term adjust = (rest != 0) & ((rest < 0) != (x[1] < 0));
    // A zero takes the divisor's sign, as the other results do.
    const Term zero_or_rest = Select(rest == 0, Apply(Op::kCopysign, rest, x[1]), rest);
    return Select(adjust, rest + x[1], zero_or_rest);
  }
  const Term rest = x[0] % x[1];
  if (IsUnsignedInteger(x.type)) return rest;
  return Select(NeedsAdjusting(rest, x[1]), rest + x[1], rest);
}

// The quotient that `remainder` rounds, of which the low three bits are promised: of x and of fmod(x, 8 y) they are the
// same, and the latter's quotient is at most 8.
Term RemquoQuotient(const Args& x) {
  const Term eightfold = x[1] * 8;
  const Term dividend = Select(Apply(Op::kIsinf, eightfold), x[0], Apply(Op::kFmod, x[0], eightfold));
  const Term rest = Apply(Op::kRemainder, dividend, x[1]);
  const Term quotient = Apply(Op::kRint, dividend / x[1] - rest / x[1]);
  return Cast(DType::kInt32, quotient, CastKind::kSaturate) % 8;  // Of a NaN 0.
}

// ---- Parts of floats -----------------------------------------------------------------------------------------------

Term Signbit(const Args& x) {
  if (IsUnsignedInteger(x.type)) return {x.b, x.b->Constant(DType::kBool, 0)};
  return (IsFloat(x.type) ? BitsAs(FormatOf(x.type).signed_bits, x[0]) : x[0]) < 0;
}

Term Nan(const Args& x) { return NotANumber(x.b, x.type); }

Term ModfFraction(const Args& x) {
  const Term fraction = x[0] - Apply(Op::kTrunc, x[0]);
  return Apply(Op::kCopysign, Select(Apply(Op::kIsinf, x[0]), Cast(x.type, Number(x.b, 0.0)), fraction), x[0]);
}

// x == mantissa * 2^exponent with 0.5 <= |mantissa| < 1, unless x is 0 or not finite.
struct Split {
  Term ordinary, mantissa, exponent;
};
Split SplitFloat(const Args& x) {
  const DType type = Working(x.type);
  const Format format = FormatOf(type);
  const Term value = x.Wide(0);
  // A subnormal number is made a normal one first.
  const int64_t scale = format.mantissa_bits + 1;
  const Term power = {x.b, x.b->Constant(type, static_cast<uint64_t>(format.bias + scale) << format.mantissa_bits)};
  const Term least_normal = {x.b, x.b->Constant(type, uint64_t{1} << format.mantissa_bits)};
  const Term tiny = Apply(Op::kAbs, value) < least_normal;
  const Term bits = BitsAs(format.bits, Select(tiny, Apply(Op::kMulRn, value, power), value));
  const Term field = Cast(DType::kInt32, (bits >> format.mantissa_bits) & (2 * format.bias + 1));
  const Term exponent = field - Select(tiny, Number(x.b, format.bias - 1 + scale),
                                       Cast(DType::kInt32, Number(x.b, int64_t{format.bias - 1})));
  const Term others = {x.b, x.b->Constant(format.bits, ~format.exponent_mask())};
  const Term half = {x.b, x.b->Constant(format.bits, static_cast<uint64_t>(format.bias - 1) << format.mantissa_bits)};
  const Term ordinary = (value != 0) & Apply(Op::kIsfinite, value);
  return {ordinary, BitsAs(type, (bits & others) | half), exponent};
}
Term FrexpMantissa(const Args& x) {
  const Split split = SplitFloat(x);
  return Select(split.ordinary, Cast(x.type, split.mantissa), x[0]);
}
Term FrexpExponent(const Args& x) {
  const Split split = SplitFloat(x);
  return Select(split.ordinary, split.exponent, Number(x.b, int64_t{0}));
}
Term Logb(const Args& x) {
  const Split split = SplitFloat(x);
  const Term special = Select(x[0] == 0, Apply(Op::kNeg, Infinity(x.b, x.type)), Apply(Op::kAbs, x[0]));
  return Select(split.ordinary, Cast(x.type, split.exponent - 1), special);
}
// Of 0 and NaN the least int32, of an infinity the greatest (CUDA math API, ilogb).
Term Ilogb(const Args& x) {
  const Split split = SplitFloat(x);
  const Term special = Select(Apply(Op::kIsinf, x[0]), Number(x.b, int64_t{std::numeric_limits<int32_t>::max()}),
                              Number(x.b, int64_t{std::numeric_limits<int32_t>::min()}));
  return Select(split.ordinary, split.exponent - 1, Cast(DType::kInt32, special));
}

// x * 2^n in three multiplications by powers that are normal numbers. A power that is too small for one is led up to by
// one that leaves the mantissa room, so that only the last multiplication that matters can round.
Term Ldexp(const Args& x) {
  const DType type = Working(x.type);
  const Format format = FormatOf(type);
  const int64_t most = format.bias, least = 1 - format.bias, room = least + format.mantissa_bits + 1;
  const auto power = [&](Term exponent) {
    return BitsAs(type, Cast(format.bits, exponent + format.bias) << format.mantissa_bits);
  };
  const auto step = [&](Term exponent) {
    const Term up = Apply(Op::kMin, exponent, Number(x.b, most));
    return Select(exponent < least, Cast(DType::kInt32, Number(x.b, room)), up);
  };
  const Term first = step(x[1]);
  const Term after_first = x[1] - first;
  const Term second = step(after_first);
  const Term after_second = after_first - second;
  const Term third = Apply(Op::kMax, Apply(Op::kMin, after_second, Number(x.b, most)), Number(x.b, least));
  Term value = x.Wide(0);
  for (const Term exponent : {first, second, third}) value = Apply(Op::kMulRn, value, power(exponent));
  return Cast(x.type, value);
}

Term Fdim(const Args& x) { return Select(x[0] <= x[1], Cast(x.type, Number(x.b, 0.0)), x[0] - x[1]); }

// The numbers of one sign lie in their bits in order.
Term Nextafter(const Args& x) {
  const Format format = FormatOf(x.type);
  const Term a = x[0], b = x[1];
  const Term grows = (a < b) == (a > 0);
  const Term one = {x.b, x.b->Constant(format.bits, 1)}, minus_one = {x.b, x.b->Constant(format.bits, ~uint64_t{0})};
  const Term moved = BitsAs(x.type, BitsAs(format.bits, a) + Select(grows, one, minus_one));
  const Term least = {x.b, x.b->Constant(x.type, 1)};
  const Term from_number = Select(a == 0, Apply(Op::kCopysign, least, b), moved);
  const Term of_numbers = Select(a == b, b, from_number);
  return Select(Apply(Op::kIsnan, a) | Apply(Op::kIsnan, b), NotANumber(x.b, x.type), of_numbers);
}

// ---- Fast functions: by the instructions for powers and logarithms of 2, in float32 --------------------------------

constexpr double kLog2E = 1.4426950408889634, kLog2Of10 = 3.3219280948873623, kLn2 = 0.69314718055994531,
                 kLog10Of2 = 0.30102999566398120;

Term FastTan(const Args& x) {
  const Term a = x.Wide(0);
  return Cast(x.type, Apply(Op::kFastDivide, Apply(Op::kFastSin, a), Apply(Op::kFastCos, a)));
}
Term FastExp(const Args& x) { return Cast(x.type, Apply(Op::kFastExp2, x.Wide(0) * Number(x.b, kLog2E))); }
Term FastExp10(const Args& x) { return Cast(x.type, Apply(Op::kFastExp2, x.Wide(0) * Number(x.b, kLog2Of10))); }
Term FastLog(const Args& x) { return Cast(x.type, Apply(Op::kFastLog2, x.Wide(0)) * Number(x.b, kLn2)); }
Term FastLog10(const Args& x) { return Cast(x.type, Apply(Op::kFastLog2, x.Wide(0)) * Number(x.b, kLog10Of2)); }
Term FastPow(const Args& x) { return Cast(x.type, Apply(Op::kFastExp2, x.Wide(1) * Apply(Op::kFastLog2, x.Wide(0)))); }

// ---- Rounded subtraction, integers ---------------------------------------------------------------------------------

template <Op add>
Term SubRounded(const Args& x) {
  return Apply(add, x[0], Apply(Op::kNeg, x[1]));
}

Term MulWide(const Args& x) {
  const DType wide = TwiceAsWide(x.type);
  return Cast(wide, x[0]) * Cast(wide, x[1]);
}
// Averages without the overflow of the sum: what both have, and half of what one has.
Term Hadd(const Args& x) { return (x[0] & x[1]) + ((x[0] ^ x[1]) >> 1); }
Term Rhadd(const Args& x) { return (x[0] | x[1]) - ((x[0] ^ x[1]) >> 1); }

// ---- Complex numbers: functions that make them of real ones, and those of complex ones where they take real ones
// -----

Term MakeComplex(const Args& x) {
  const DType part = PartOf(ComplexOf(x.type));
  return {x.b, x.b->Complex(Cast(part, x[0]).id, Cast(part, x[1]).id)};
}
Term Polar(const Args& x) {
  const DType part = PartOf(ComplexOf(x.type));
  const Term radius = Cast(part, x[0]), angle = Cast(part, x[1]);
  return {x.b, x.b->Complex((radius * Apply(Op::kCos, angle)).id, (radius * Apply(Op::kSin, angle)).id)};
}
Term Itself(const Args& x) { return x[0]; }
Term Imag(const Args& x) { return Cast(x.type, Number(x.b, int64_t{0})); }
Term Arg(const Args& x) { return Apply(Op::kAtan2, Imag(x), x[0]); }
Term Norm(const Args& x) { return x[0] * x[0]; }
Term Proj(const Args& x) { return Select(Apply(Op::kIsinf, x[0]), Infinity(x.b, x.type), x[0]); }

// ---- Random numbers ------------------------------------------------------------------------------------------------

RandomWords Words(const Args& x) { return Philox4x32(x[0], {x.b, x.b->Constant(DType::kUInt64, 0)}, x[1]); }
Term RandomBits(const Args& x) {
  const RandomWords words = Philox4x32(x[0], x[1], x[2]);
  const Term which = x[3] & 3;
  const Term lower = Select(which == 0, words[0], words[1]), upper = Select(which == 2, words[2], words[3]);
  return Select(which < 2, lower, upper);
}
Term RandomInteger(const Args& x) { return IntegerBelow(Words(x), x[2]); }
template <Term (*number)(const RandomWords&)>
Term RandomNumber(const Args& x) {
  return number(Words(x));
}

struct Expansion {
  Op op;
  Term (*expand)(const Args& x);
};
constexpr Expansion kExpansions[] = {
    {Op::kTrueDiv, TrueDiv},
    {Op::kFloorDiv, FloorDiv},
    {Op::kFloorMod, FloorMod},
    {Op::kRemquoQuotient, RemquoQuotient},
    {Op::kFdim, Fdim},
    {Op::kNextafter, Nextafter},
    {Op::kLdexp, Ldexp},
    {Op::kLogb, Logb},
    {Op::kIlogb, Ilogb},
    {Op::kFrexpMantissa, FrexpMantissa},
    {Op::kFrexpExponent, FrexpExponent},
    {Op::kModfFraction, ModfFraction},
    {Op::kSignbit, Signbit},
    {Op::kNan, Nan},
    {Op::kFastTan, FastTan},
    {Op::kFastExp, FastExp},
    {Op::kFastExp10, FastExp10},
    {Op::kFastLog, FastLog},
    {Op::kFastLog10, FastLog10},
    {Op::kFastPow, FastPow},
    {Op::kSubRn, SubRounded<Op::kAddRn>},
    {Op::kSubRz, SubRounded<Op::kAddRz>},
    {Op::kSubRu, SubRounded<Op::kAddRu>},
    {Op::kSubRd, SubRounded<Op::kAddRd>},
    {Op::kMulWide, MulWide},
    {Op::kHadd, Hadd},
    {Op::kRhadd, Rhadd},
    {Op::kMakeComplex, MakeComplex},
    {Op::kReal, Itself},
    {Op::kImag, Imag},
    {Op::kConj, Itself},
    {Op::kArg, Arg},
    {Op::kNorm, Norm},
    {Op::kPolar, Polar},
    {Op::kProj, Proj},
    {Op::kRandomBits, RandomBits},
    {Op::kRandomInteger, RandomInteger},
    {Op::kRandomUniform, RandomNumber<UniformFloat32>},
    {Op::kRandomUniformF64, RandomNumber<UniformFloat64>},
    {Op::kRandomNormal, RandomNumber<NormalFloat32>},
    {Op::kRandomNormalF64, RandomNumber<NormalFloat64>},
};

}  // namespace

ValueId Expand(Builder& builder, Op op, DType type, const ValueId* operands) {
  if (IsComplex(type)) return ExpandComplex(builder, op, type, operands);
  for (const Expansion& expansion : kExpansions) {
    if (expansion.op == op) return expansion.expand({&builder, type, operands}).id;
  }
  SLIPWAY_CHECK(false, "an operator has neither a lowering in the semantics table nor an expansion");
  return kNone;
}

}  // namespace slipway::ir
