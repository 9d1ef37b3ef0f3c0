// Every operation of the kernel IR, named once. What an operator means (types, folding, lowering) stands in the
// semantics table, jit/semantics.h; what a structural instruction means stands here.
#ifndef SLIPWAY_JIT_OPS_H_
#define SLIPWAY_JIT_OPS_H_

#include <cstdint>

#include "slipway/dtype.h"

namespace slipway::ir {

// An operation in each rounding mode of PTX: to nearest even, towards zero, up, down.
// clang-format off
#define SLIPWAY_IR_ROUNDED(X, name, text)                                                                   \
  X(k##name##Rn, text "_rn") X(k##name##Rz, text "_rz") X(k##name##Ru, text "_ru") X(k##name##Rd, text "_rd")

// Operators: pure functions of their operands, with a row each in the semantics table.  X(enumerator, text name)
#define SLIPWAY_IR_OPERATORS(X)                                                                             \
  X(kAdd, "+") X(kSub, "-") X(kMul, "*") X(kDiv, "/") X(kRem, "%")                                          \
  X(kTrueDiv, "true_div") X(kFloorDiv, "floor_div") X(kFloorMod, "floor_mod") X(kNeg, "neg")                \
  X(kNot, "!") X(kBitNot, "~") X(kBitAnd, "&") X(kBitOr, "|") X(kBitXor, "^") X(kShl, "<<") X(kShr, ">>")   \
  X(kLt, "<") X(kLe, "<=") X(kGt, ">") X(kGe, ">=") X(kEq, "==") X(kNe, "!=")                               \
  X(kMin, "min") X(kMax, "max") X(kMinNan, "min_nan") X(kMaxNan, "max_nan") X(kAbs, "abs") X(kFma, "fma")   \
  X(kSqrt, "sqrt") X(kRsqrt, "rsqrt") X(kCbrt, "cbrt")                                                      \
  X(kFloor, "floor") X(kCeil, "ceil") X(kTrunc, "trunc") X(kRound, "round") X(kRint, "rint")                \
  X(kExp, "exp") X(kExp2, "exp2") X(kExp10, "exp10") X(kExpm1, "expm1")                                     \
  X(kLog, "log") X(kLog2, "log2") X(kLog10, "log10") X(kLog1p, "log1p")                                     \
  X(kSin, "sin") X(kCos, "cos") X(kTan, "tan") X(kAsin, "asin") X(kAcos, "acos") X(kAtan, "atan")           \
  X(kSinh, "sinh") X(kCosh, "cosh") X(kTanh, "tanh") X(kAsinh, "asinh") X(kAcosh, "acosh")                  \
  X(kAtanh, "atanh") X(kErf, "erf") X(kErfc, "erfc") X(kTgamma, "tgamma") X(kLgamma, "lgamma")              \
  X(kPow, "pow") X(kAtan2, "atan2") X(kFmod, "fmod") X(kHypot, "hypot") X(kCopysign, "copysign")            \
  X(kIsnan, "isnan") X(kIsinf, "isinf") X(kIsfinite, "isfinite") X(kSelect, "select")                       \
  X(kRcbrt, "rcbrt") X(kRhypot, "rhypot") X(kNorm3d, "norm3d") X(kRnorm3d, "rnorm3d")                       \
  X(kNorm4d, "norm4d") X(kRnorm4d, "rnorm4d") X(kSinpi, "sinpi") X(kCospi, "cospi")                          \
  X(kErfinv, "erfinv") X(kErfcinv, "erfcinv") X(kErfcx, "erfcx")                                            \
  X(kNormcdf, "normcdf") X(kNormcdfinv, "normcdfinv")                                                       \
  X(kJ0, "j0") X(kJ1, "j1") X(kJn, "jn") X(kY0, "y0") X(kY1, "y1") X(kYn, "yn")                             \
  X(kCylBesselI0, "cyl_bessel_i0") X(kCylBesselI1, "cyl_bessel_i1")                                         \
  X(kRemainder, "remainder") X(kRemquoQuotient, "remquo_quotient") X(kFdim, "fdim")                         \
  X(kNextafter, "nextafter") X(kLdexp, "ldexp") X(kLogb, "logb") X(kIlogb, "ilogb")                         \
  X(kFrexpMantissa, "frexp_mantissa") X(kFrexpExponent, "frexp_exponent")                                   \
  X(kModfFraction, "modf_fraction") X(kSignbit, "signbit") X(kSaturate, "saturate") X(kNan, "nan")          \
  X(kFastSin, "fast_sin") X(kFastCos, "fast_cos") X(kFastTan, "fast_tan") X(kFastTanh, "fast_tanh")         \
  X(kFastExp, "fast_exp") X(kFastExp2, "fast_exp2") X(kFastExp10, "fast_exp10")                             \
  X(kFastLog, "fast_log") X(kFastLog2, "fast_log2") X(kFastLog10, "fast_log10") X(kFastPow, "fast_pow")     \
  X(kFastDivide, "fast_divide") X(kFastRcp, "fast_rcp") X(kFastSqrt, "fast_sqrt") X(kFastRsqrt, "fast_rsqrt") \
  SLIPWAY_IR_ROUNDED(X, Add, "add") SLIPWAY_IR_ROUNDED(X, Sub, "sub") SLIPWAY_IR_ROUNDED(X, Mul, "mul")     \
  SLIPWAY_IR_ROUNDED(X, Div, "div") SLIPWAY_IR_ROUNDED(X, Fma, "fma") SLIPWAY_IR_ROUNDED(X, Sqrt, "sqrt")   \
  SLIPWAY_IR_ROUNDED(X, Rcp, "rcp")                                                                         \
  X(kPopc, "popc") X(kClz, "clz") X(kCtz, "ctz") X(kFfs, "ffs") X(kBrev, "brev")                            \
  X(kMulhi, "mulhi") X(kMulWide, "mul_wide") X(kSad, "sad") X(kHadd, "hadd") X(kRhadd, "rhadd")             \
  X(kAddSat, "add_sat") X(kSubSat, "sub_sat") X(kRotl, "rotl") X(kRotr, "rotr")                             \
  X(kFunnelShiftLeft, "funnel_shift_left") X(kFunnelShiftRight, "funnel_shift_right")                       \
  X(kFunnelShiftLeftClamp, "funnel_shift_left_clamp") X(kFunnelShiftRightClamp, "funnel_shift_right_clamp") \
  X(kBytePermute, "byte_permute") X(kBitFieldExtract, "bit_field_extract")                                  \
  X(kBitFieldInsert, "bit_field_insert") X(kDp4a, "dp4a") X(kDp2aLo, "dp2a_lo") X(kDp2aHi, "dp2a_hi")       \
  X(kMakeComplex, "complex") X(kReal, "real") X(kImag, "imag") X(kConj, "conj") X(kArg, "arg")              \
  X(kNorm, "norm") X(kPolar, "polar") X(kProj, "proj")                                                      \
  X(kRandomBits, "random_bits") X(kRandomInteger, "random_integer")                                         \
  X(kRandomUniform, "random_uniform") X(kRandomUniformF64, "random_uniform_f64")                            \
  X(kRandomNormal, "random_normal") X(kRandomNormalF64, "random_normal_f64")

// Structural instructions. "imm" is the instruction's immediate; operands are values. An "array" is a parameter or a
// buffer of the kernel's own: an ArrayId (jit/ir.h). "access" is a packed Access (jit/effects.h).
// Values
//   kConst       a value of the instruction's dtype; imm holds its bits
//   kScalarParam the value of scalar parameter imm
//   kField       a number of the instruction's dtype at byte imm2 of struct parameter imm
//   kSpecial     a special register; imm is a SpecialRegister
//   kCast        operand 0 as the instruction's dtype; imm is a CastKind
//   kComplex     the complex number of real part operand 0 and imaginary part operand 1
//   kPart        of complex operand 0 the real (imm 0) or imaginary (imm 1) part
//   kReadVar     the present value of variable imm
//   kWriteVar    stores operand 0 into variable imm
// Memory
//   kShape       extent (int64) of dimension `imm2` of array imm
//   kDeclare     gives dynamic shared array imm its extents, the operands (int64 each, not negative)
//   kLoad        element of array imm at the operands, one integer a dimension; imm2 is its access
//   kStore       the last operand into array imm at the others; imm2 is its access
//   kLoadGroup   likewise, of as many neighbours along the last dimension as the access has lanes; see kResult
//   kStoreGroup  likewise; the last operands are the values, one a lane
//   kResult      lane imm of the kLoadGroup that operand 0 is
//   kAtomic      the operation of access imm2 on an element of array imm, at the first operands; the others are the
//                value or, of a compare-exchange, what is expected and the value. The result is the old element.
// Threads together
//   kBarrier     all threads of the block, or as many as an operand says, meet; see Barrier in jit/effects.h
//   kWarp        an operation among the lanes of a warp; imm is a WarpOp; operand 0 is the mask of lanes
//   kGridSync    all threads of a cooperative launch meet
//   kFence       orders memory accesses of this thread for a MemoryScope, imm
//   kSleep       lets the thread rest for about operand 0 (uint32) nanoseconds
// Control
//   kIf          operand 0 a bool; blocks: then, else (possibly empty)
//   kFor         imm is the induction variable; operands begin, end, step (all of its dtype, evaluated once); block:
//                body. Runs while variable < end (step > 0) or variable > end (step < 0); step 0 runs nothing. Ends
//                without wrapping around. The body does not write the variable. imm2 is how often to unroll; 0: as the
//                compiler sees fit
//   kWhile       blocks: condition (its last instruction is kYield of a bool), body. imm2 as of kFor
//   kYield       ends the condition block of a kWhile
//   kScope       block: what a kLeave in it ends: the body of a function, put where it is called
//   kLeave, kBreak, kContinue  end the innermost scope, the innermost loop, this turn of it; not across a scope
//   kReturn      ends this thread's work; what follows one of these four in its block is dead. At the end of a device
//                function that has a result it has an operand, the result
// Messages
//   kPrintf      prints by format Kernel::strings[imm] and the operands
//   kAssert      where operand 0 (a bool) is false, says Kernel::strings[imm] and the line imm2 of its source, and ends
//                the launch with an error
//   kTrap        ends the launch with an error
//   kCheck       where operand 0 (a bool) is false, raises the error Kernel::checks[imm] of the element that operand 1
//                (int64) is, with the other operands as values; imm2 is 1 if the thread ends there
// Functions of libraries
//   kAddress     the address (uint64, generic) of the element of array imm at the operands; imm2 is 1 if whoever is given
//                it may write there
//   kCall        calls Kernel::externals[imm] with the operands, which are of its parameters' types (uint64 for
//                pointers); the result is of its type
#define SLIPWAY_IR_STRUCTURE(X)                                                                             \
  X(kConst, "const") X(kScalarParam, "scalar") X(kField, "field") X(kSpecial, "special") X(kCast, "cast")   \
  X(kComplex, "complex") X(kPart, "part") X(kReadVar, "read") X(kWriteVar, "write")                         \
  X(kShape, "shape") X(kDeclare, "declare") X(kLoad, "load") X(kStore, "store")                             \
  X(kLoadGroup, "load_group") X(kStoreGroup, "store_group") X(kResult, "result") X(kAtomic, "atomic")       \
  X(kBarrier, "barrier") X(kWarp, "warp") X(kGridSync, "grid_sync") X(kFence, "fence") X(kSleep, "sleep")   \
  X(kIf, "if") X(kFor, "for") X(kWhile, "while") X(kYield, "yield") X(kScope, "scope")                      \
  X(kLeave, "leave") X(kBreak, "break") X(kContinue, "continue") X(kReturn, "return")                       \
  X(kPrintf, "printf") X(kAssert, "assert") X(kTrap, "trap") \
  X(kAddress, "address") X(kCall, "call") X(kCheck, "check")
// clang-format on

// The numbers enter structural hashes and so cache keys.
enum class Op : uint8_t {
#define SLIPWAY_IR_ENUMERATOR(enumerator, name) enumerator,
  SLIPWAY_IR_OPERATORS(SLIPWAY_IR_ENUMERATOR) SLIPWAY_IR_STRUCTURE(SLIPWAY_IR_ENUMERATOR)
#undef SLIPWAY_IR_ENUMERATOR
};
#define SLIPWAY_IR_COUNT(enumerator, name) +1
inline constexpr int kNumOps = 0 SLIPWAY_IR_OPERATORS(SLIPWAY_IR_COUNT) SLIPWAY_IR_STRUCTURE(SLIPWAY_IR_COUNT);
#undef SLIPWAY_IR_COUNT
inline constexpr Op kFirstStructuralOp = Op::kConst;
inline constexpr int kNumOperators = static_cast<int>(kFirstStructuralOp);
constexpr bool IsOperator(Op op) { return op < kFirstStructuralOp; }
const char* Name(Op op);

// What a cast keeps (docs/semantics.md, "Casts"). Where an exact kCast loses nothing, all but kBits are the same.
enum class CastKind : uint8_t {
  kValue,     // Rounded to nearest; from float to integer towards zero; integers to integers modulo 2^width.
  kNearest,   // Rounded to nearest even, also from float to integer.
  kToZero,    // Rounded towards zero,
  kUp,        // towards plus infinity,
  kDown,      // towards minus infinity.
  kSaturate,  // As kValue, and what lies outside the target's range is its nearest finite value; NaN is 0 in integers.
  kBits,      // The same bits; types of one size.
};
inline constexpr int kNumCastKinds = 7;
// "", "rn", "rz", "ru", "rd", "sat", "bits": what follows the dtype's name and a '_' in the text language.
const char* Suffix(CastKind kind);

// Registers that tell a thread where it is and what it runs on.  X(enumerator, text name, dtype)
// clang-format off
#define SLIPWAY_IR_REGISTERS(X)                                                                             \
  X(kThreadX, "thread.x", kUInt32) X(kThreadY, "thread.y", kUInt32) X(kThreadZ, "thread.z", kUInt32)        \
  X(kBlockX, "block.x", kUInt32) X(kBlockY, "block.y", kUInt32) X(kBlockZ, "block.z", kUInt32)              \
  X(kBlockDimX, "block_dim.x", kUInt32) X(kBlockDimY, "block_dim.y", kUInt32)                               \
  X(kBlockDimZ, "block_dim.z", kUInt32)                                                                     \
  X(kGridDimX, "grid_dim.x", kUInt32) X(kGridDimY, "grid_dim.y", kUInt32) X(kGridDimZ, "grid_dim.z", kUInt32) \
  X(kLane, "lane", kUInt32) X(kLanesBelow, "lanes_below", kUInt32) X(kLanesAbove, "lanes_above", kUInt32)   \
  X(kMultiprocessor, "multiprocessor", kUInt32) X(kNumMultiprocessors, "num_multiprocessors", kUInt32)      \
  X(kDynamicSharedBytes, "dynamic_shared_bytes", kUInt32)                                                   \
  X(kClock, "clock", kUInt64) X(kGlobalTimer, "global_timer", kUInt64)
// clang-format on

enum class SpecialRegister : uint8_t {
#define SLIPWAY_IR_ENUMERATOR(enumerator, name, dtype) enumerator,
  SLIPWAY_IR_REGISTERS(SLIPWAY_IR_ENUMERATOR)
#undef SLIPWAY_IR_ENUMERATOR
};
inline constexpr int kNumSpecialRegisters = static_cast<int>(SpecialRegister::kGlobalTimer) + 1;
const char* Name(SpecialRegister reg);  // "thread.x", "block_dim.y", ...
DType TypeOf(SpecialRegister reg);

}  // namespace slipway::ir

#endif  // SLIPWAY_JIT_OPS_H_
