// Where a formula needs more than its textbook form, the reason is one of three: a square or a sum that would overflow
// or vanish where the result does not, a difference of nearly equal numbers, and the signs of zeros, which tell the two
// sides of a branch cut apart. The inverse functions are Kahan's ("Branch Cuts for Complex Elementary Functions, or
// Much Ado About Nothing's Sign Bit", 1987); values at infinities are those of C's Annex G, where docs/semantics.md
// says so.
#include "jit/complex.h"

#include <numbers>

#include "driver/check.h"
#include "jit/term.h"

namespace slipway::ir {
namespace {

struct Complex {
  Term re, im;
  bool is_real = false;  // A real operand among complex ones; im is 0.
};

struct Args {
  Builder* b;
  DType part;
  const ValueId* operands;

  Term Value(int i) const { return {b, operands[i]}; }
  Complex operator[](int i) const {
    const ValueId id = operands[i];
    if (!IsComplex(b->TypeOf(id))) return {{b, id}, Cast(part, Number(b, 0.0)), /*is_real=*/true};
    return {{b, b->Part(id, 0)}, {b, b->Part(id, 1)}};
  }
};

Term Join(const Complex& z) { return {z.re.b, z.re.b->Complex(z.re.id, z.im.id)}; }

// Numbers of the parts' type.
DType PartType(const Complex& z) { return z.re.b->TypeOf(z.re.id); }
Term Of(const Complex& z, double number) { return Cast(PartType(z), Number(z.re.b, number)); }
bool IsSingle(const Complex& z) { return PartType(z) == DType::kFloat32; }

Term Abs(Term x) { return Apply(Op::kAbs, x); }
Term Neg(Term x) { return Apply(Op::kNeg, x); }
Term Max(Term x, Term y) { return Apply(Op::kMax, x, y); }
Term Min(Term x, Term y) { return Apply(Op::kMin, x, y); }
Term WithSign(Term x, Term sign) { return Apply(Op::kCopysign, x, sign); }
Term IsInf(Term x) { return Apply(Op::kIsinf, x); }
Term IsFinite(Term x) { return Apply(Op::kIsfinite, x); }
Term Not(Term x) { return Apply(Op::kNot, x); }

// ---- Arithmetic ----------------------------------------------------------------------------------------------------

Complex Conj(const Complex& x) { return {x.re, Neg(x.im)}; }
Complex Negated(const Complex& x) { return {Neg(x.re), Neg(x.im)}; }
Complex TimesI(const Complex& x) { return {Neg(x.im), x.re}; }
Complex OverI(const Complex& x) { return {x.im, Neg(x.re)}; }

Complex Sum(const Complex& x, const Complex& y) {
  return {x.re + y.re, x.is_real ? y.im : y.is_real ? x.im : x.im + y.im};
}
Complex Difference(const Complex& x, const Complex& y) {
  return {x.re - y.re, x.is_real ? Neg(y.im) : y.is_real ? x.im : x.im - y.im};
}
Complex Product(const Complex& x, const Complex& y) {
  if (x.is_real) return {x.re * y.re, x.re * y.im};
  if (y.is_real) return {x.re * y.re, x.im * y.re};
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

// x without the power of two that is the exponent of its larger part, so that squares of it are ordinary numbers. Of an
// infinite x the direction: 1 for an infinite part, 0 for a finite one.
struct Scaled {
  Complex value;
  Term exponent, infinite;
};
Term PowerOfTwo(DType type, Term exponent) {
  const Format format = FormatOf(type);
  return BitsAs(type, (exponent + format.bias) << format.mantissa_bits);
}
Scaled Scale(const Complex& x) {
  const DType type = PartType(x);
  const Format format = FormatOf(type);
  const Term larger = Max(Abs(x.re), Abs(x.im));
  const Term field = BitsAs(format.signed_bits, larger) >> format.mantissa_bits;
  // Not the greatest exponent, whose inverse is no normal number.
  const Term exponent = Min(field, Number(x.re.b, 2 * format.bias - 1)) - format.bias;
  const Term scale = PowerOfTwo(type, Neg(exponent));
  const Term infinite = IsInf(larger);
  const auto part = [&](Term v) {
    const Term direction = WithSign(Select(IsInf(v), Of(x, 1), Of(x, 0)), v);
    return Select(infinite, direction, v * scale);
  };
  return {{part(x.re), x.is_real ? x.im : part(x.im), x.is_real}, exponent, infinite};
}

Complex Quotient(const Complex& x, const Complex& y) {
  if (y.is_real) return {x.re / y.re, x.im / y.re};
  const DType type = PartType(x);
  const Scaled a = Scale(x), b = Scale(y);
  const Complex n = Product(a.value, Conj(b.value));
  const Term square = b.value.re * b.value.re + b.value.im * b.value.im;
  // What was taken out comes back in two halves, of which each is a power of two: only the second can round.
  const Term exponent = a.exponent - b.exponent;
  const Term half = exponent >> 1;
  const Term first = Select(a.infinite, Infinity(x.re.b, type), PowerOfTwo(type, half));
  const Term second = Select(b.infinite, Of(x, 0), PowerOfTwo(type, exponent - half));
  const Term by_zero = WithSign(Infinity(x.re.b, type), y.re), is_zero = square == 0;
  const auto part = [&](Term numerator, Term of_x) {
    return Select(is_zero, by_zero * of_x, numerator / square * first * second);
  };
  return {part(n.re, x.re), part(n.im, x.im)};
}

// ---- Magnitude and direction ---------------------------------------------------------------------------------------

Term Magnitude(const Complex& x) { return Apply(Op::kHypot, x.re, x.im); }
Term Argument(const Complex& x) { return Apply(Op::kAtan2, x.im, x.re); }
Term Norm(const Complex& x) { return x.re * x.re + x.im * x.im; }
Complex Proj(const Complex& x) {
  const Term infinite = IsInf(x.re) | IsInf(x.im);
  return {Select(infinite, Infinity(x.re.b, PartType(x)), x.re), Select(infinite, WithSign(Of(x, 0), x.im), x.im)};
}

Term IsNan(const Complex& x) { return Apply(Op::kIsnan, x.re) | Apply(Op::kIsnan, x.im); }
Term IsInfinite(const Complex& x) { return IsInf(x.re) | IsInf(x.im); }
Term AreFinite(const Complex& x) { return IsFinite(x.re) & IsFinite(x.im); }
Term Equal(const Complex& x, const Complex& y) { return (x.re == y.re) & (x.im == y.im); }
Term Unequal(const Complex& x, const Complex& y) { return (x.re != y.re) | (x.im != y.im); }

// ---- Exponentials --------------------------------------------------------------------------------------------------

// Past this e^x is near the ends of the type, and is made in two factors.
double LargeExponent(const Complex& x) { return IsSingle(x) ? 80 : 700; }

// cos and sin of an angle; where `magnitude` is infinite and the angle has none, 1 and NaN, so that the magnitude
// stays.
struct Direction {
  Term cos, sin;
};
Direction DirectionOf(const Complex& type, Term angle, Term magnitude) {
  const Term lost = IsInf(magnitude) & Not(IsFinite(angle));
  return {Select(lost, Of(type, 1), Apply(Op::kCos, angle)), Apply(Op::kSin, angle)};
}

// A power of a real base, by its magnitude's function and the angle that it gives to the imaginary part.
Complex PowerOf(const Complex& x, Op magnitude, Term angle, double large_exponent) {
  const Term large = Abs(x.re) > large_exponent;
  const Term e = Apply(magnitude, Select(large, x.re * 0.5, x.re));
  const Term again = Select(large, e, Of(x, 1));
  const Direction to = DirectionOf(x, angle, x.re);
  // e^-inf is 0 in whatever direction; a real number stays real, also where e^x is infinite.
  const Term none = (x.re < 0) & IsInf(x.re) & Not(IsFinite(x.im));
  const Term sin = Select(none, Of(x, 0), to.sin);
  return {e * to.cos * again, Select(x.im == 0, x.im, e * sin * again)};
}
Complex Exp(const Complex& x) { return PowerOf(x, Op::kExp, x.im, LargeExponent(x)); }
Complex Exp2(const Complex& x) {
  return PowerOf(x, Op::kExp2, x.im * std::numbers::ln2, LargeExponent(x) * std::numbers::log2e);
}
// e^re cos(im) - 1 as (e^re - 1) cos(im) - (1 - cos(im)), of which neither is a difference of nearly equal numbers.
Complex Expm1(const Complex& x) {
  const Complex power = Exp(x);
  const Term half = Apply(Op::kSin, x.im * 0.5);
  const Term re = Apply(Op::kExpm1, x.re) * Apply(Op::kCos, x.im) - half * half * 2.0;
  const Term far = Not(Abs(x.re) < LargeExponent(x));  // There the 1 is lost, or all that is left.
  return {Select(far, power.re - 1.0, re), power.im};
}

// cosh and sinh of x are these times `again`.
struct Hyperbolic {
  Term cosh, sinh, again;
};
Hyperbolic HyperbolicOf(const Complex& type, Term x) {
  const Term large = Abs(x) > LargeExponent(type);
  const Term e = Apply(Op::kExp, Abs(x) * 0.5);
  return {Select(large, e * 0.5, Apply(Op::kCosh, x)), Select(large, WithSign(e * 0.5, x), Apply(Op::kSinh, x)),
          Select(large, e, Of(type, 1))};
}
Complex Sinh(const Complex& x) {
  const Hyperbolic of = HyperbolicOf(x, x.re);
  const Direction to = DirectionOf(x, x.im, x.re);
  return {Select(x.re == 0, x.re, of.sinh * to.cos * of.again), Select(x.im == 0, x.im, of.cosh * to.sin * of.again)};
}
Complex Cosh(const Complex& x) {
  const Hyperbolic of = HyperbolicOf(x, x.re);
  const Direction to = DirectionOf(x, x.im, x.re);
  const Term zero = WithSign(Of(x, 0), x.re) * WithSign(Of(x, 1), x.im);
  return {of.cosh * to.cos * of.again, Select((x.re == 0) | (x.im == 0), zero, of.sinh * to.sin * of.again)};
}
// Kahan's tanh; where 1 is all that is left of the real part, its limit.
Complex Tanh(const Complex& x) {
  const Term tan = Apply(Op::kTan, x.im), sinh = Apply(Op::kSinh, x.re);
  const Term beta = tan * tan + 1.0, square = sinh * sinh;
  const Term divisor = beta * square + 1.0;
  const Term re = beta * Apply(Op::kSqrt, square + 1.0) * sinh / divisor;
  const Term large = Abs(x.re) > (IsSingle(x) ? 11 : 22);
  const Term e = Apply(Op::kExp, Neg(Abs(x.re)));
  const Term rest = Apply(Op::kSin, x.im) * Apply(Op::kCos, x.im) * 4.0 * e * e;
  const Term limit = Select(IsInf(x.re) & Not(IsFinite(x.im)), WithSign(Of(x, 0), x.im), rest);
  return {Select(large, WithSign(Of(x, 1), x.re), re), Select(large, limit, tan / divisor)};
}
Complex Sin(const Complex& x) { return OverI(Sinh(TimesI(x))); }
Complex Cos(const Complex& x) { return Cosh(TimesI(x)); }
Complex Tan(const Complex& x) { return OverI(Tanh(TimesI(x))); }

// ---- Logarithms, powers, roots -------------------------------------------------------------------------------------

// The logarithm of |x|.
Term LogSize(const Complex& x) {
  const bool single = IsSingle(x);
  const Term larger = Max(Abs(x.re), Abs(x.im)), smaller = Min(Abs(x.re), Abs(x.im));
  // Near |x| = 1 the logarithm of |x|^2 from what that is more than 1.
  const Term ordered = (x.re == x.re) & (x.im == x.im);
  const Term near_one = (larger > 0.5) & (larger < 2.0) & (smaller < 2.0) & ordered;
  const Term excess = (larger - 1.0) * (larger + 1.0) + smaller * smaller;
  // |x| itself may overflow, or lose its digits where it is subnormal, and its logarithm be an ordinary number.
  const Term large = larger > (single ? 0x1p126 : 0x1p1022), small = larger < (single ? 0x1p-100 : 0x1p-960);
  const auto choose = [&](double if_large, double if_small, double otherwise) {
    return Select(large, Of(x, if_large), Select(small, Of(x, if_small), Of(x, otherwise)));
  };
  const Term scale = choose(0.25, single ? 0x1p100 : 0x1p600, 1);
  const Term back = choose(2 * std::numbers::ln2, -(single ? 100 : 600) * std::numbers::ln2, 0);
  const Term size = Apply(Op::kLog, Apply(Op::kHypot, x.re * scale, x.im * scale)) + back;
  return Select(near_one, Apply(Op::kLog1p, excess) * 0.5, size);
}

// From |1 + x|^2 - 1 near 0, where 1 + x has lost digits of x.
Complex Log1p(const Complex& x) {
  const Complex sum = {x.re + 1.0, x.im};
  const Term near = (Abs(x.re) < 0.5) & (Abs(x.im) < 2.0);
  const Term excess = x.re * (x.re + 2.0) + x.im * x.im;
  return {Select(near, Apply(Op::kLog1p, excess) * 0.5, LogSize(sum)), Argument(sum)};
}
Complex Log(const Complex& x) { return {LogSize(x), Argument(x)}; }
Complex Log2(const Complex& x) {
  const Complex log = Log(x);
  return {log.re * std::numbers::log2e, log.im * std::numbers::log2e};
}
Complex Log10(const Complex& x) {
  const Complex log = Log(x);
  return {log.re * std::numbers::log10e, log.im * std::numbers::log10e};
}

Complex Sqrt(const Complex& x) {
  const bool single = IsSingle(x);
  const Term larger = Max(Abs(x.re), Abs(x.im));
  const Term large = larger > (single ? 0x1p125 : 0x1p1021), small = larger < (single ? 0x1p-100 : 0x1p-960);
  const auto choose = [&](double if_large, double if_small) {
    return Select(large, Of(x, if_large), Select(small, Of(x, if_small), Of(x, 1)));
  };
  const Term scale = choose(0x1p-4, single ? 0x1p54 : 0x1p108), back = choose(0x1p2, single ? 0x1p-27 : 0x1p-54);
  const Term a = x.re * scale, b = x.im * scale;
  const Term root = Apply(Op::kSqrt, (Abs(a) + Apply(Op::kHypot, a, b)) * 0.5);
  const Term other = Select((x.re == 0) & (x.im == 0), Of(x, 0), Abs(b) / (root + root));
  const Term right = (x.re > 0) | (x.re == 0);
  const Term re = Select(right, root, other), im = WithSign(Select(right, other, root), x.im);
  const Term infinite = IsInf(x.im);
  return {Select(infinite, Abs(x.im), re * back), Select(infinite, x.im, im * back)};
}

Complex Pow(const Complex& x, const Complex& y) {
  const Complex power = Exp(Product(y, Log(x)));
  const Term nothing = Equal(y, {Of(y, 0), Of(y, 0)});
  return {Select(nothing, Of(x, 1), power.re), Select(nothing, Of(x, 0), power.im)};
}

// ---- Inverse functions ---------------------------------------------------------------------------------------------

Complex PlusOne(const Complex& x) { return {x.re + 1.0, x.im}; }
Complex MinusOne(const Complex& x) { return {x.re - 1.0, x.im}; }

Complex Asin(const Complex& x) {
  const Complex below = Sqrt(Negated(MinusOne(x))), above = Sqrt(PlusOne(x));
  return {Apply(Op::kAtan2, x.re, Product(below, above).re), Apply(Op::kAsinh, Product(Conj(below), above).im)};
}
Complex Acos(const Complex& x) {
  const Complex below = Sqrt(Negated(MinusOne(x))), above = Sqrt(PlusOne(x));
  return {Apply(Op::kAtan2, below.re, above.re) * 2.0, Apply(Op::kAsinh, Product(Conj(above), below).im)};
}
Complex Acosh(const Complex& x) {
  const Complex below = Sqrt(MinusOne(x)), above = Sqrt(PlusOne(x));
  return {Apply(Op::kAsinh, Product(Conj(below), above).re), Apply(Op::kAtan2, below.im, above.re) * 2.0};
}
// Far from 0 its real part is nothing beside its imaginary one, pi / 2.
Complex Atanh(const Complex& x) {
  const Term re = Abs(x.re), square = x.im * x.im;
  const Term distance = Number(x.re.b, 1.0) - re;
  const Term divisor = distance * distance + square;
  const Term far = IsInf(divisor);
  const Term quarter = Select(far, Of(x, 0), re * 4.0 / divisor);
  const Term angle = Apply(Op::kAtan2, x.im + x.im, distance * (re + 1.0) - square) * 0.5;
  // So near to 1 or -1 that squares vanish, only the distance counts.
  const Term near = divisor < (IsSingle(x) ? 0x1p-100 : 0x1p-900);
  const Term size = Select(near, (Number(x.re.b, std::numbers::ln2) - LogSize({distance, x.im})) * 0.5,
                           Apply(Op::kLog1p, quarter) * 0.25);
  return {WithSign(size, x.re), Select(far, WithSign(Of(x, std::numbers::pi / 2), x.im), angle)};
}
Complex Asinh(const Complex& x) { return OverI(Asin(TimesI(x))); }
Complex Atan(const Complex& x) { return OverI(Atanh(TimesI(x))); }

// ---- The table -----------------------------------------------------------------------------------------------------

template <Complex (*f)(const Complex&)>
Term Unary(const Args& x) {
  return Join(f(x[0]));
}
template <Complex (*f)(const Complex&, const Complex&)>
Term Binary(const Args& x) {
  const Complex a = x[0], b = x[1];
  return Join(f(a, b));
}
template <Term (*f)(const Complex&)>
Term Telling(const Args& x) {
  return f(x[0]);
}
// One part alone, so that the other one is not read.
template <int part>
Term PartOf(const Args& x) {
  return {x.b, x.b->Part(x.operands[0], part)};
}
template <Term (*f)(const Complex&, const Complex&)>
Term Comparing(const Args& x) {
  const Complex a = x[0], b = x[1];
  return f(a, b);
}
Term Choice(const Args& x) {
  const Complex a = x[1], b = x[2];
  return Join({Select(x.Value(0), a.re, b.re), Select(x.Value(0), a.im, b.im)});
}

struct Expansion {
  Op op;
  Term (*expand)(const Args& x);
};
constexpr Expansion kExpansions[] = {
    {Op::kAdd, Binary<Sum>},
    {Op::kSub, Binary<Difference>},
    {Op::kMul, Binary<Product>},
    {Op::kDiv, Binary<Quotient>},
    {Op::kTrueDiv, Binary<Quotient>},
    {Op::kNeg, Unary<Negated>},
    {Op::kEq, Comparing<Equal>},
    {Op::kNe, Comparing<Unequal>},
    {Op::kSelect, Choice},
    {Op::kReal, PartOf<0>},
    {Op::kImag, PartOf<1>},
    {Op::kConj, Unary<Conj>},
    {Op::kAbs, Telling<Magnitude>},
    {Op::kArg, Telling<Argument>},
    {Op::kNorm, Telling<Norm>},
    {Op::kProj, Unary<Proj>},
    {Op::kIsnan, Telling<IsNan>},
    {Op::kIsinf, Telling<IsInfinite>},
    {Op::kIsfinite, Telling<AreFinite>},
    {Op::kExp, Unary<Exp>},
    {Op::kExp2, Unary<Exp2>},
    {Op::kExpm1, Unary<Expm1>},
    {Op::kLog, Unary<Log>},
    {Op::kLog2, Unary<Log2>},
    {Op::kLog10, Unary<Log10>},
    {Op::kLog1p, Unary<Log1p>},
    {Op::kSqrt, Unary<Sqrt>},
    {Op::kPow, Binary<Pow>},
    {Op::kSin, Unary<Sin>},
    {Op::kCos, Unary<Cos>},
    {Op::kTan, Unary<Tan>},
    {Op::kSinh, Unary<Sinh>},
    {Op::kCosh, Unary<Cosh>},
    {Op::kTanh, Unary<Tanh>},
    {Op::kAsin, Unary<Asin>},
    {Op::kAcos, Unary<Acos>},
    {Op::kAtan, Unary<Atan>},
    {Op::kAsinh, Unary<Asinh>},
    {Op::kAcosh, Unary<Acosh>},
    {Op::kAtanh, Unary<Atanh>},
};

}  // namespace

ValueId ExpandComplex(Builder& builder, Op op, DType type, const ValueId* operands) {
  for (const Expansion& expansion : kExpansions) {
    if (expansion.op == op) return expansion.expand({&builder, PartOf(type), operands}).id;
  }
  SLIPWAY_CHECK(false, "the semantics table says that an operator takes complex numbers, and there is no expansion");
  return kNone;
}

}  // namespace slipway::ir
