// Functions of an embedded kernel, by the names of docs/language.md, where their rules are. Each exists where at least
// one operand is an expression and docs/semantics.md gives the types a result; otherwise it does not compile. Where the
// type of an operand is known only when the kernel is traced, the rules are applied then, and breaking one is an error
// of the kernel.
#ifndef SLIPWAY_EMBEDDED_FUNCTIONS_H_
#define SLIPWAY_EMBEDDED_FUNCTIONS_H_

#include "slipway/dtype.h"
#include "slipway/embedded/operand.h"
#include "slipway/embedded/operators.h"

namespace slipway {

#define SLIPWAY_EMBEDDED_FUNCTION(function, op, arity, type_rule)                           \
  template <OperandLike... X>                                                               \
  requires(sizeof...(X) == arity && (Expression<X> || ...) &&                               \
           ((RunTimeTyped<X> || ...) || internal::type_rule<X...>() != DType::kVoid)) auto  \
  function(const X&... x) {                                                                 \
    return internal::Operate<internal::type_rule<X...>()>(op, {internal::ToOperand(x)...}); \
  }

// Division.
SLIPWAY_EMBEDDED_FUNCTION(true_div, "true_div", 2, FunctionType)
SLIPWAY_EMBEDDED_FUNCTION(floor_div, "floor_div", 2, RealType)
SLIPWAY_EMBEDDED_FUNCTION(floor_mod, "floor_mod", 2, RealType)
SLIPWAY_EMBEDDED_FUNCTION(fmod, "fmod", 2, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(remainder, "remainder", 2, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(remquo_quotient, "remquo_quotient", 2, ExponentType)

// Smaller, greater, magnitude, sign.
SLIPWAY_EMBEDDED_FUNCTION(min, "min", 2, RealType)
SLIPWAY_EMBEDDED_FUNCTION(max, "max", 2, RealType)
SLIPWAY_EMBEDDED_FUNCTION(min_nan, "min_nan", 2, RealType)
SLIPWAY_EMBEDDED_FUNCTION(max_nan, "max_nan", 2, RealType)
SLIPWAY_EMBEDDED_FUNCTION(abs, "abs", 1, PartType)
SLIPWAY_EMBEDDED_FUNCTION(copysign, "copysign", 2, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(signbit, "signbit", 1, OrderType)
SLIPWAY_EMBEDDED_FUNCTION(fdim, "fdim", 2, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(saturate, "saturate", 1, RealFunctionType)

// Rounding to whole numbers.
SLIPWAY_EMBEDDED_FUNCTION(floor, "floor", 1, RealType)
SLIPWAY_EMBEDDED_FUNCTION(ceil, "ceil", 1, RealType)
SLIPWAY_EMBEDDED_FUNCTION(trunc, "trunc", 1, RealType)
SLIPWAY_EMBEDDED_FUNCTION(round, "round", 1, RealType)
SLIPWAY_EMBEDDED_FUNCTION(rint, "rint", 1, RealType)

// Classification.
SLIPWAY_EMBEDDED_FUNCTION(isnan, "isnan", 1, ComparisonType)
SLIPWAY_EMBEDDED_FUNCTION(isinf, "isinf", 1, ComparisonType)
SLIPWAY_EMBEDDED_FUNCTION(isfinite, "isfinite", 1, ComparisonType)

// Powers, roots, lengths.
SLIPWAY_EMBEDDED_FUNCTION(pow, "pow", 2, FunctionType)
SLIPWAY_EMBEDDED_FUNCTION(sqrt, "sqrt", 1, FunctionType)
SLIPWAY_EMBEDDED_FUNCTION(rsqrt, "rsqrt", 1, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(cbrt, "cbrt", 1, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(rcbrt, "rcbrt", 1, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(hypot, "hypot", 2, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(rhypot, "rhypot", 2, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(norm3d, "norm3d", 3, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(rnorm3d, "rnorm3d", 3, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(norm4d, "norm4d", 4, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(rnorm4d, "rnorm4d", 4, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(fma, "fma", 3, RealFunctionType)  // a * b + c, rounded once.

// Exponentials and logarithms.
SLIPWAY_EMBEDDED_FUNCTION(exp, "exp", 1, FunctionType)
SLIPWAY_EMBEDDED_FUNCTION(exp2, "exp2", 1, FunctionType)
SLIPWAY_EMBEDDED_FUNCTION(exp10, "exp10", 1, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(expm1, "expm1", 1, FunctionType)
SLIPWAY_EMBEDDED_FUNCTION(log, "log", 1, FunctionType)
SLIPWAY_EMBEDDED_FUNCTION(log2, "log2", 1, FunctionType)
SLIPWAY_EMBEDDED_FUNCTION(log10, "log10", 1, FunctionType)
SLIPWAY_EMBEDDED_FUNCTION(log1p, "log1p", 1, FunctionType)

// Trigonometry.
SLIPWAY_EMBEDDED_FUNCTION(sin, "sin", 1, FunctionType)
SLIPWAY_EMBEDDED_FUNCTION(cos, "cos", 1, FunctionType)
SLIPWAY_EMBEDDED_FUNCTION(tan, "tan", 1, FunctionType)
SLIPWAY_EMBEDDED_FUNCTION(sinpi, "sinpi", 1, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(cospi, "cospi", 1, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(asin, "asin", 1, FunctionType)
SLIPWAY_EMBEDDED_FUNCTION(acos, "acos", 1, FunctionType)
SLIPWAY_EMBEDDED_FUNCTION(atan, "atan", 1, FunctionType)
SLIPWAY_EMBEDDED_FUNCTION(atan2, "atan2", 2, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(sinh, "sinh", 1, FunctionType)
SLIPWAY_EMBEDDED_FUNCTION(cosh, "cosh", 1, FunctionType)
SLIPWAY_EMBEDDED_FUNCTION(tanh, "tanh", 1, FunctionType)
SLIPWAY_EMBEDDED_FUNCTION(asinh, "asinh", 1, FunctionType)
SLIPWAY_EMBEDDED_FUNCTION(acosh, "acosh", 1, FunctionType)
SLIPWAY_EMBEDDED_FUNCTION(atanh, "atanh", 1, FunctionType)

// Error functions, gamma, Bessel functions.
SLIPWAY_EMBEDDED_FUNCTION(erf, "erf", 1, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(erfc, "erfc", 1, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(erfinv, "erfinv", 1, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(erfcinv, "erfcinv", 1, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(erfcx, "erfcx", 1, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(normcdf, "normcdf", 1, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(normcdfinv, "normcdfinv", 1, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(tgamma, "tgamma", 1, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(lgamma, "lgamma", 1, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(j0, "j0", 1, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(j1, "j1", 1, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(jn, "jn", 2, OrderedType)
SLIPWAY_EMBEDDED_FUNCTION(y0, "y0", 1, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(y1, "y1", 1, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(yn, "yn", 2, OrderedType)
SLIPWAY_EMBEDDED_FUNCTION(cyl_bessel_i0, "cyl_bessel_i0", 1, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(cyl_bessel_i1, "cyl_bessel_i1", 1, RealFunctionType)

// Parts of floats.
SLIPWAY_EMBEDDED_FUNCTION(ldexp, "ldexp", 2, ScaledType)
SLIPWAY_EMBEDDED_FUNCTION(logb, "logb", 1, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(ilogb, "ilogb", 1, ExponentType)
SLIPWAY_EMBEDDED_FUNCTION(frexp_mantissa, "frexp_mantissa", 1, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(frexp_exponent, "frexp_exponent", 1, ExponentType)
SLIPWAY_EMBEDDED_FUNCTION(modf_fraction, "modf_fraction", 1, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(nextafter, "nextafter", 2, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(nan, "nan", 1, RealFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(scalbn, "ldexp", 2, ScaledType)

// Complex numbers. MakeComplex, because `complex` is the name of std::complex to whoever says `using namespace std`.
SLIPWAY_EMBEDDED_FUNCTION(MakeComplex, "complex", 2, ComplexType)  // Of a real and an imaginary part.
SLIPWAY_EMBEDDED_FUNCTION(polar, "polar", 2, ComplexType)          // Of a magnitude and an angle.
SLIPWAY_EMBEDDED_FUNCTION(real, "real", 1, PartType)
SLIPWAY_EMBEDDED_FUNCTION(imag, "imag", 1, PartType)
SLIPWAY_EMBEDDED_FUNCTION(conj, "conj", 1, ArithmeticType)
SLIPWAY_EMBEDDED_FUNCTION(arg, "arg", 1, PartFunctionType)
SLIPWAY_EMBEDDED_FUNCTION(norm, "norm", 1, PartType)  // abs(z) squared.
SLIPWAY_EMBEDDED_FUNCTION(proj, "proj", 1, FunctionType)

// Random numbers: random.h.
SLIPWAY_EMBEDDED_FUNCTION(random_bits, "random_bits", 4, RandomBitsType)
SLIPWAY_EMBEDDED_FUNCTION(random_integer, "random_integer", 3, RandomIntegerType)
SLIPWAY_EMBEDDED_FUNCTION(random_uniform, "random_uniform", 2, RandomFloat32Type)
SLIPWAY_EMBEDDED_FUNCTION(random_uniform_f64, "random_uniform_f64", 2, RandomFloat64Type)
SLIPWAY_EMBEDDED_FUNCTION(random_normal, "random_normal", 2, RandomFloat32Type)
SLIPWAY_EMBEDDED_FUNCTION(random_normal_f64, "random_normal_f64", 2, RandomFloat64Type)

// By the hardware, in float32, with the errors that docs/semantics.md states.
SLIPWAY_EMBEDDED_FUNCTION(fast_sin, "fast_sin", 1, FastType)
SLIPWAY_EMBEDDED_FUNCTION(fast_cos, "fast_cos", 1, FastType)
SLIPWAY_EMBEDDED_FUNCTION(fast_tan, "fast_tan", 1, FastType)
SLIPWAY_EMBEDDED_FUNCTION(fast_tanh, "fast_tanh", 1, FastType)
SLIPWAY_EMBEDDED_FUNCTION(fast_exp, "fast_exp", 1, FastType)
SLIPWAY_EMBEDDED_FUNCTION(fast_exp2, "fast_exp2", 1, FastType)
SLIPWAY_EMBEDDED_FUNCTION(fast_exp10, "fast_exp10", 1, FastType)
SLIPWAY_EMBEDDED_FUNCTION(fast_log, "fast_log", 1, FastType)
SLIPWAY_EMBEDDED_FUNCTION(fast_log2, "fast_log2", 1, FastType)
SLIPWAY_EMBEDDED_FUNCTION(fast_log10, "fast_log10", 1, FastType)
SLIPWAY_EMBEDDED_FUNCTION(fast_pow, "fast_pow", 2, FastType)
SLIPWAY_EMBEDDED_FUNCTION(fast_divide, "fast_divide", 2, FastType)
SLIPWAY_EMBEDDED_FUNCTION(fast_rcp, "fast_rcp", 1, FastType)
SLIPWAY_EMBEDDED_FUNCTION(fast_sqrt, "fast_sqrt", 1, FastType)
SLIPWAY_EMBEDDED_FUNCTION(fast_rsqrt, "fast_rsqrt", 1, FastType)

// Integers.
SLIPWAY_EMBEDDED_FUNCTION(popc, "popc", 1, CountType)
SLIPWAY_EMBEDDED_FUNCTION(clz, "clz", 1, CountType)
SLIPWAY_EMBEDDED_FUNCTION(ctz, "ctz", 1, CountType)
SLIPWAY_EMBEDDED_FUNCTION(ffs, "ffs", 1, CountType)
SLIPWAY_EMBEDDED_FUNCTION(brev, "brev", 1, IntegerType)
SLIPWAY_EMBEDDED_FUNCTION(mulhi, "mulhi", 2, IntegerType)
SLIPWAY_EMBEDDED_FUNCTION(mul_wide, "mul_wide", 2, WideType)
SLIPWAY_EMBEDDED_FUNCTION(sad, "sad", 3, IntegerType)
SLIPWAY_EMBEDDED_FUNCTION(hadd, "hadd", 2, IntegerType)
SLIPWAY_EMBEDDED_FUNCTION(rhadd, "rhadd", 2, IntegerType)
SLIPWAY_EMBEDDED_FUNCTION(add_sat, "add_sat", 2, IntegerType)
SLIPWAY_EMBEDDED_FUNCTION(sub_sat, "sub_sat", 2, IntegerType)
SLIPWAY_EMBEDDED_FUNCTION(rotl, "rotl", 2, ShiftType)
SLIPWAY_EMBEDDED_FUNCTION(rotr, "rotr", 2, ShiftType)
SLIPWAY_EMBEDDED_FUNCTION(funnel_shift_left, "funnel_shift_left", 3, FunnelType)
SLIPWAY_EMBEDDED_FUNCTION(funnel_shift_right, "funnel_shift_right", 3, FunnelType)
SLIPWAY_EMBEDDED_FUNCTION(funnel_shift_left_clamp, "funnel_shift_left_clamp", 3, FunnelType)
SLIPWAY_EMBEDDED_FUNCTION(funnel_shift_right_clamp, "funnel_shift_right_clamp", 3, FunnelType)
SLIPWAY_EMBEDDED_FUNCTION(byte_permute, "byte_permute", 3, PermutedType)
SLIPWAY_EMBEDDED_FUNCTION(bit_field_extract, "bit_field_extract", 3, FieldType)
SLIPWAY_EMBEDDED_FUNCTION(bit_field_insert, "bit_field_insert", 4, InsertedType)
SLIPWAY_EMBEDDED_FUNCTION(dp4a, "dp4a", 3, WordType)
SLIPWAY_EMBEDDED_FUNCTION(dp2a_lo, "dp2a_lo", 3, WordType)
SLIPWAY_EMBEDDED_FUNCTION(dp2a_hi, "dp2a_hi", 3, WordType)

// In a rounding mode, as docs/semantics.md says: never contracted with what is around them.
#define SLIPWAY_EMBEDDED_ROUNDED(name, arity)                           \
  SLIPWAY_EMBEDDED_FUNCTION(name##_rn, #name "_rn", arity, RoundedType) \
  SLIPWAY_EMBEDDED_FUNCTION(name##_rz, #name "_rz", arity, RoundedType) \
  SLIPWAY_EMBEDDED_FUNCTION(name##_ru, #name "_ru", arity, RoundedType) \
  SLIPWAY_EMBEDDED_FUNCTION(name##_rd, #name "_rd", arity, RoundedType)
SLIPWAY_EMBEDDED_ROUNDED(add, 2)
SLIPWAY_EMBEDDED_ROUNDED(sub, 2)
SLIPWAY_EMBEDDED_ROUNDED(mul, 2)
SLIPWAY_EMBEDDED_ROUNDED(div, 2)
SLIPWAY_EMBEDDED_ROUNDED(fma, 3)
SLIPWAY_EMBEDDED_ROUNDED(sqrt, 1)
SLIPWAY_EMBEDDED_ROUNDED(rcp, 1)
#undef SLIPWAY_EMBEDDED_ROUNDED
#undef SLIPWAY_EMBEDDED_FUNCTION

}  // namespace slipway

#endif  // SLIPWAY_EMBEDDED_FUNCTIONS_H_
