#include "jit/semantics.h"

#include <array>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "jit/fold.h"

namespace slipway::ir {
namespace {

constexpr TypeSet kNumbers = kIntegerTypes | kFloatTypes;
constexpr TypeSet kAll = kBoolType | kNumbers;
constexpr TypeSet kComplexNumbers = kFloatTypes | kComplexTypes;
constexpr TypeSet kWords = SetOf(DType::kInt32) | SetOf(DType::kUInt32);
constexpr TypeSet kRoundedTypes = SetOf(DType::kFloat32) | SetOf(DType::kFloat64);
constexpr TypeSet kFastTypes = kFloatTypes & ~SetOf(DType::kFloat64);
constexpr auto kPromote = OperandRule::kPromote;
constexpr auto kCompare = OperandRule::kCompare;
constexpr auto kFloat = OperandRule::kFloat;
constexpr auto kSame = ResultRule::kOperation;
constexpr auto kBool = ResultRule::kBool;
constexpr auto kInt32 = ResultRule::kInt32;
constexpr auto kPart = ResultRule::kPart;
constexpr Lowering kNo = {};

constexpr Lowering Binary(const char* name) { return {LowerBy::kBinary, name}; }
constexpr Lowering FloatBinary(const char* name) { return {LowerBy::kBinary, name, /*in_halves=*/true}; }
constexpr Lowering Division(const char* name) { return {LowerBy::kDivision, name}; }
constexpr Lowering Shift(const char* name) { return {LowerBy::kShift, name}; }
constexpr Lowering Compare(const char* name) { return {LowerBy::kCompare, name}; }
constexpr Lowering Intrinsic(const char* name) { return {LowerBy::kIntrinsic, name}; }
constexpr Lowering MinMax(const char* name) { return {LowerBy::kMinMax, name}; }
constexpr Lowering FloatMinMax(const char* name) { return {LowerBy::kMinMax, name, /*in_halves=*/true}; }
constexpr Lowering Bits(const char* intrinsic) { return {LowerBy::kIntrinsic, intrinsic, /*in_halves=*/true}; }
constexpr Lowering kFlipSign = {LowerBy::kNegate, "fneg", /*in_halves=*/true};
constexpr Lowering kItself = {LowerBy::kIdentity, nullptr};
constexpr Lowering kSelectIt = {LowerBy::kSelect, nullptr};
constexpr Lowering kComplement = {LowerBy::kComplement, nullptr};
constexpr Lowering kFalse = {LowerBy::kConstFalse, nullptr};
constexpr Lowering kTrue = {LowerBy::kConstTrue, nullptr};

constexpr Semantics Library(Op op, int arity, const char* stem, const char* slots = "TTTT",
                            const char* hint = nullptr) {
  return {op, arity, kFloat, kSame, kFloatTypes, nullptr, kNo, kNo, {LowerBy::kLibrary, stem}, kNo, hint, slots};
}
// A function of real numbers, and how to say it of complex ones.
constexpr Semantics RealLibrary(Op op, const char* stem, const char* hint) { return Library(op, 1, stem, "T", hint); }
constexpr const char* kFmaHint = "of complex numbers write x * y + z: no instruction rounds that once";
// What the Builder writes in other operators.
constexpr Semantics Expanded(Op op, int arity, OperandRule operands, TypeSet accepts, ResultRule result = kSame,
                             const char* slots = "TTTT", const char* hint = nullptr) {
  return {op, arity, operands, result, accepts, nullptr, kNo, kNo, kNo, kNo, hint, slots};
}
// What takes complex numbers, too.
constexpr Semantics Complex(Semantics row) {
  row.accepts |= kComplexTypes;
  return row;
}
constexpr const char* kPartHint = "it makes a complex number of two real ones";
constexpr const char* kOrderHint = "complex numbers have no order; compare their abs, or their real and imag";
constexpr Semantics Random(Op op, int arity, const char* slots, TypeSet result) {
  return Expanded(op, arity, OperandRule::kOwn, result, kSame, slots);
}
constexpr const char* kFastHint =
    "the fast functions are float32's: cast to float32, or call the function without fast_";
constexpr Semantics Fast(Op op, int arity, const char* instruction) {
  return {op, arity, kFloat, kSame, kFastTypes, nullptr, kNo, kNo, {LowerBy::kPtx, instruction}, kNo, kFastHint};
}
constexpr Semantics FastExpanded(Op op, int arity) {
  return Expanded(op, arity, kFloat, kFastTypes, kSame, "TTTT", kFastHint);
}
constexpr const char* kRoundedHint = "rounding modes are for float32 and float64: cast to one of them";
constexpr Semantics Rounded(Op op, int arity, FoldFunction fold, const char* intrinsic) {
  return {op, arity, kFloat, kSame, kRoundedTypes, fold, kNo, kNo, {LowerBy::kNvvm, intrinsic}, kNo, kRoundedHint};
}
constexpr Semantics RoundedSub(Op op) { return Expanded(op, 2, kFloat, kRoundedTypes, kSame, "TTTT", kRoundedHint); }
constexpr const char* kIntegerHint = "it works on the bits of integers; cast a float, or take its bits as an integer's";
constexpr Semantics Integer(Op op, int arity, FoldFunction fold, const char* name, ResultRule result = kSame,
                            const char* slots = "TTTT", TypeSet accepts = kIntegerTypes,
                            const char* hint = kIntegerHint) {
  const Lowering lowering = {LowerBy::kInteger, name};
  return {op, arity, kPromote, result, accepts, fold, lowering, lowering, kNo, kNo, hint, slots};
}
constexpr const char* kWordHint = "it takes int32 or uint32; cast both to one of them";
constexpr Semantics Word(Op op, FoldFunction fold, const char* name, const char* slots) {
  return Integer(op, 3, fold, name, kSame, slots, kWords, kWordHint);
}
constexpr const char* kWideHint = "it takes integers of 8 to 32 bits; for the high half of 64-bit products use mulhi";

constexpr const char* kRemHint = "use fmod (sign of the dividend) or floor_mod (sign of the divisor)";
constexpr const char* kNotHint = "compare with 0: x == 0";
constexpr const char* kBitHint = "bits of a float cannot be combined; cast it to an integer first";
constexpr const char* kBitNotHint = "use ! on a bool, and cast a float to an integer first";

// clang-format off
constexpr std::array<Semantics, kNumOperators> kTable = {{
  // op, arity, operands, result, accepts, fold, signed, unsigned, floating, boolean, hint
  Complex({Op::kAdd, 2, kPromote, kSame, kNumbers, FoldAdd, Binary("add"), Binary("add"), FloatBinary("fadd"), kNo, nullptr}),
  Complex({Op::kSub, 2, kPromote, kSame, kNumbers, FoldSub, Binary("sub"), Binary("sub"), FloatBinary("fsub"), kNo, nullptr}),
  Complex({Op::kMul, 2, kPromote, kSame, kNumbers, FoldMul, Binary("mul"), Binary("mul"), FloatBinary("fmul"), kNo, nullptr}),
  Complex({Op::kDiv, 2, kPromote, kSame, kNumbers, FoldDiv, Division("sdiv"), Division("udiv"), Binary("fdiv"), kNo, nullptr}),
  {Op::kRem, 2, kPromote, kSame, kIntegerTypes, FoldRem, Division("srem"), Division("urem"), kNo, kNo, kRemHint},
  Complex(Expanded(Op::kTrueDiv, 2, kFloat, kFloatTypes)),
  Expanded(Op::kFloorDiv, 2, kPromote, kNumbers),
  Expanded(Op::kFloorMod, 2, kPromote, kNumbers),
  Complex({Op::kNeg, 1, kPromote, kSame, kNumbers, FoldNeg, {LowerBy::kNegate, "neg"}, {LowerBy::kNegate, "neg"}, kFlipSign, kNo, nullptr}),
  {Op::kNot, 1, kPromote, kSame, kBoolType, FoldNot, kNo, kNo, kNo, kComplement, kNotHint},
  {Op::kBitNot, 1, kPromote, kSame, kIntegerTypes, FoldBitNot, kComplement, kComplement, kNo, kNo, kBitNotHint},
  {Op::kBitAnd, 2, kPromote, kSame, kBoolType | kIntegerTypes, FoldBitAnd, Binary("and"), Binary("and"), kNo, Binary("and"), kBitHint},
  {Op::kBitOr, 2, kPromote, kSame, kBoolType | kIntegerTypes, FoldBitOr, Binary("or"), Binary("or"), kNo, Binary("or"), kBitHint},
  {Op::kBitXor, 2, kPromote, kSame, kBoolType | kIntegerTypes, FoldBitXor, Binary("xor"), Binary("xor"), kNo, Binary("xor"), kBitHint},
  {Op::kShl, 2, kPromote, kSame, kIntegerTypes, FoldShl, Shift("shl"), Shift("shl"), kNo, kNo, kBitHint, "Tc"},
  {Op::kShr, 2, kPromote, kSame, kIntegerTypes, FoldShr, Shift("ashr"), Shift("lshr"), kNo, kNo, kBitHint, "Tc"},
  {Op::kLt, 2, kCompare, kBool, kAll, FoldLt, Compare("slt"), Compare("ult"), Compare("olt"), Compare("ult"), kOrderHint},
  {Op::kLe, 2, kCompare, kBool, kAll, FoldLe, Compare("sle"), Compare("ule"), Compare("ole"), Compare("ule"), kOrderHint},
  {Op::kGt, 2, kCompare, kBool, kAll, FoldGt, Compare("sgt"), Compare("ugt"), Compare("ogt"), Compare("ugt"), kOrderHint},
  {Op::kGe, 2, kCompare, kBool, kAll, FoldGe, Compare("sge"), Compare("uge"), Compare("oge"), Compare("uge"), kOrderHint},
  Complex({Op::kEq, 2, kCompare, kBool, kAll, FoldEq, Compare("eq"), Compare("eq"), Compare("oeq"), Compare("eq"), nullptr}),
  Complex({Op::kNe, 2, kCompare, kBool, kAll, FoldNe, Compare("ne"), Compare("ne"), Compare("une"), Compare("ne"), nullptr}),
  {Op::kMin, 2, kPromote, kSame, kNumbers, FoldMin, MinMax("smin"), MinMax("umin"), FloatMinMax("min"), kNo, nullptr},
  {Op::kMax, 2, kPromote, kSame, kNumbers, FoldMax, MinMax("smax"), MinMax("umax"), FloatMinMax("max"), kNo, nullptr},
  {Op::kMinNan, 2, kPromote, kSame, kNumbers, FoldMinNan, MinMax("smin"), MinMax("umin"), FloatMinMax("min.NaN"), kNo, nullptr},
  {Op::kMaxNan, 2, kPromote, kSame, kNumbers, FoldMaxNan, MinMax("smax"), MinMax("umax"), FloatMinMax("max.NaN"), kNo, nullptr},
  Complex({Op::kAbs, 1, kPromote, kPart, kNumbers, FoldAbs, Intrinsic("llvm.abs"), kItself, Bits("llvm.fabs"), kNo, nullptr}),
  {Op::kFma, 3, kFloat, kSame, kFloatTypes, FoldFma, kNo, kNo, {LowerBy::kFma, nullptr, /*in_halves=*/true}, kNo, kFmaHint},
  Complex({Op::kSqrt, 1, kFloat, kSame, kFloatTypes, FoldSqrt, kNo, kNo, Intrinsic("llvm.sqrt"), kNo, nullptr}),
  RealLibrary(Op::kRsqrt, "rsqrt", "of a complex number write 1 / sqrt(z)"),
  RealLibrary(Op::kCbrt, "cbrt", "of a complex number write pow(z, 1.0 / 3), its principal root"),
  {Op::kFloor, 1, kPromote, kSame, kNumbers, FoldFloor, kItself, kItself, Intrinsic("llvm.floor"), kNo, nullptr},
  {Op::kCeil, 1, kPromote, kSame, kNumbers, FoldCeil, kItself, kItself, Intrinsic("llvm.ceil"), kNo, nullptr},
  {Op::kTrunc, 1, kPromote, kSame, kNumbers, FoldTrunc, kItself, kItself, Intrinsic("llvm.trunc"), kNo, nullptr},
  {Op::kRound, 1, kPromote, kSame, kNumbers, FoldRound, kItself, kItself, Intrinsic("llvm.round"), kNo, nullptr},
  {Op::kRint, 1, kPromote, kSame, kNumbers, FoldRint, kItself, kItself, Intrinsic("llvm.rint"), kNo, nullptr},
  Complex(Library(Op::kExp, 1, "exp")),
  Complex(Library(Op::kExp2, 1, "exp2")),
  RealLibrary(Op::kExp10, "exp10", "of a complex number write pow(10, z)"),
  Complex(Library(Op::kExpm1, 1, "expm1")),
  Complex(Library(Op::kLog, 1, "log")),
  Complex(Library(Op::kLog2, 1, "log2")),
  Complex(Library(Op::kLog10, 1, "log10")),
  Complex(Library(Op::kLog1p, 1, "log1p")),
  Complex(Library(Op::kSin, 1, "sin")),
  Complex(Library(Op::kCos, 1, "cos")),
  Complex(Library(Op::kTan, 1, "tan")),
  Complex(Library(Op::kAsin, 1, "asin")),
  Complex(Library(Op::kAcos, 1, "acos")),
  Complex(Library(Op::kAtan, 1, "atan")),
  Complex(Library(Op::kSinh, 1, "sinh")),
  Complex(Library(Op::kCosh, 1, "cosh")),
  Complex(Library(Op::kTanh, 1, "tanh")),
  Complex(Library(Op::kAsinh, 1, "asinh")),
  Complex(Library(Op::kAcosh, 1, "acosh")),
  Complex(Library(Op::kAtanh, 1, "atanh")),
  Library(Op::kErf, 1, "erf"),
  Library(Op::kErfc, 1, "erfc"),
  Library(Op::kTgamma, 1, "tgamma"),
  Library(Op::kLgamma, 1, "lgamma"),
  Complex(Library(Op::kPow, 2, "pow")),
  Library(Op::kAtan2, 2, "atan2"),
  {Op::kFmod, 2, kFloat, kSame, kFloatTypes, FoldFmod, kNo, kNo, {LowerBy::kLibrary, "fmod"}, kNo, nullptr},
  Library(Op::kHypot, 2, "hypot"),
  {Op::kCopysign, 2, kFloat, kSame, kFloatTypes, FoldCopysign, kNo, kNo, Bits("llvm.copysign"), kNo, nullptr},
  Complex({Op::kIsnan, 1, kPromote, kBool, kNumbers, FoldIsnan, kFalse, kFalse, {LowerBy::kClassify, "isnan"}, kNo, nullptr}),
  Complex({Op::kIsinf, 1, kPromote, kBool, kNumbers, FoldIsinf, kFalse, kFalse, {LowerBy::kClassify, "isinf"}, kNo, nullptr}),
  Complex({Op::kIsfinite, 1, kPromote, kBool, kNumbers, FoldIsfinite, kTrue, kTrue, {LowerBy::kClassify, "isfinite"}, kNo, nullptr}),
  Complex({Op::kSelect, 3, OperandRule::kSelect, kSame, kAll, FoldSelect, kSelectIt, kSelectIt, kSelectIt, kSelectIt, nullptr, "bTT"}),
  Library(Op::kRcbrt, 1, "rcbrt"),
  Library(Op::kRhypot, 2, "rhypot"),
  Library(Op::kNorm3d, 3, "norm3d"),
  Library(Op::kRnorm3d, 3, "rnorm3d"),
  Library(Op::kNorm4d, 4, "norm4d"),
  Library(Op::kRnorm4d, 4, "rnorm4d"),
  Library(Op::kSinpi, 1, "sinpi"),
  Library(Op::kCospi, 1, "cospi"),
  Library(Op::kErfinv, 1, "erfinv"),
  Library(Op::kErfcinv, 1, "erfcinv"),
  Library(Op::kErfcx, 1, "erfcx"),
  Library(Op::kNormcdf, 1, "normcdf"),
  Library(Op::kNormcdfinv, 1, "normcdfinv"),
  Library(Op::kJ0, 1, "j0"),
  Library(Op::kJ1, 1, "j1"),
  Library(Op::kJn, 2, "jn", "iT"),
  Library(Op::kY0, 1, "y0"),
  Library(Op::kY1, 1, "y1"),
  Library(Op::kYn, 2, "yn", "iT"),
  Library(Op::kCylBesselI0, 1, "cyl_bessel_i0"),
  Library(Op::kCylBesselI1, 1, "cyl_bessel_i1"),
  {Op::kRemainder, 2, kFloat, kSame, kFloatTypes, FoldRemainder, kNo, kNo, {LowerBy::kLibrary, "remainder"}, kNo, nullptr},
  Expanded(Op::kRemquoQuotient, 2, kFloat, kFloatTypes, kInt32),
  Expanded(Op::kFdim, 2, kFloat, kFloatTypes),
  Expanded(Op::kNextafter, 2, kFloat, kFloatTypes),
  Expanded(Op::kLdexp, 2, kFloat, kFloatTypes, kSame, "Ti"),
  Expanded(Op::kLogb, 1, kFloat, kFloatTypes),
  Expanded(Op::kIlogb, 1, kFloat, kFloatTypes, kInt32),
  Expanded(Op::kFrexpMantissa, 1, kFloat, kFloatTypes),
  Expanded(Op::kFrexpExponent, 1, kFloat, kFloatTypes, kInt32),
  Expanded(Op::kModfFraction, 1, kFloat, kFloatTypes),
  Expanded(Op::kSignbit, 1, kPromote, kNumbers, kBool),
  {Op::kSaturate, 1, kFloat, kSame, kFloatTypes, FoldSaturate, kNo, kNo, {LowerBy::kNvvm, "llvm.nvvm.saturate"}, kNo, nullptr},
  Expanded(Op::kNan, 1, kFloat, kFloatTypes),
  Fast(Op::kFastSin, 1, "sin.approx.f32"),
  Fast(Op::kFastCos, 1, "cos.approx.f32"),
  FastExpanded(Op::kFastTan, 1),
  Fast(Op::kFastTanh, 1, "tanh.approx.f32"),
  FastExpanded(Op::kFastExp, 1),
  Fast(Op::kFastExp2, 1, "ex2.approx.f32"),
  FastExpanded(Op::kFastExp10, 1),
  FastExpanded(Op::kFastLog, 1),
  Fast(Op::kFastLog2, 1, "lg2.approx.f32"),
  FastExpanded(Op::kFastLog10, 1),
  FastExpanded(Op::kFastPow, 2),
  Fast(Op::kFastDivide, 2, "div.approx.f32"),
  Fast(Op::kFastRcp, 1, "rcp.approx.f32"),
  Fast(Op::kFastSqrt, 1, "sqrt.approx.f32"),
  Fast(Op::kFastRsqrt, 1, "rsqrt.approx.f32"),
  Rounded(Op::kAddRn, 2, FoldAddRn, "llvm.nvvm.add.rn"),
  Rounded(Op::kAddRz, 2, FoldAddRz, "llvm.nvvm.add.rz"),
  Rounded(Op::kAddRu, 2, FoldAddRu, "llvm.nvvm.add.rp"),
  Rounded(Op::kAddRd, 2, FoldAddRd, "llvm.nvvm.add.rm"),
  RoundedSub(Op::kSubRn),
  RoundedSub(Op::kSubRz),
  RoundedSub(Op::kSubRu),
  RoundedSub(Op::kSubRd),
  Rounded(Op::kMulRn, 2, FoldMulRn, "llvm.nvvm.mul.rn"),
  Rounded(Op::kMulRz, 2, FoldMulRz, "llvm.nvvm.mul.rz"),
  Rounded(Op::kMulRu, 2, FoldMulRu, "llvm.nvvm.mul.rp"),
  Rounded(Op::kMulRd, 2, FoldMulRd, "llvm.nvvm.mul.rm"),
  Rounded(Op::kDivRn, 2, FoldDivRn, "llvm.nvvm.div.rn"),
  Rounded(Op::kDivRz, 2, FoldDivRz, "llvm.nvvm.div.rz"),
  Rounded(Op::kDivRu, 2, FoldDivRu, "llvm.nvvm.div.rp"),
  Rounded(Op::kDivRd, 2, FoldDivRd, "llvm.nvvm.div.rm"),
  Rounded(Op::kFmaRn, 3, FoldFmaRn, "llvm.nvvm.fma.rn"),
  Rounded(Op::kFmaRz, 3, FoldFmaRz, "llvm.nvvm.fma.rz"),
  Rounded(Op::kFmaRu, 3, FoldFmaRu, "llvm.nvvm.fma.rp"),
  Rounded(Op::kFmaRd, 3, FoldFmaRd, "llvm.nvvm.fma.rm"),
  Rounded(Op::kSqrtRn, 1, FoldSqrtRn, "llvm.nvvm.sqrt.rn"),
  Rounded(Op::kSqrtRz, 1, FoldSqrtRz, "llvm.nvvm.sqrt.rz"),
  Rounded(Op::kSqrtRu, 1, FoldSqrtRu, "llvm.nvvm.sqrt.rp"),
  Rounded(Op::kSqrtRd, 1, FoldSqrtRd, "llvm.nvvm.sqrt.rm"),
  Rounded(Op::kRcpRn, 1, FoldRcpRn, "llvm.nvvm.rcp.rn"),
  Rounded(Op::kRcpRz, 1, FoldRcpRz, "llvm.nvvm.rcp.rz"),
  Rounded(Op::kRcpRu, 1, FoldRcpRu, "llvm.nvvm.rcp.rp"),
  Rounded(Op::kRcpRd, 1, FoldRcpRd, "llvm.nvvm.rcp.rm"),
  Integer(Op::kPopc, 1, FoldPopc, "popc", kInt32),
  Integer(Op::kClz, 1, FoldClz, "clz", kInt32),
  Integer(Op::kCtz, 1, FoldCtz, "ctz", kInt32),
  Integer(Op::kFfs, 1, FoldFfs, "ffs", kInt32),
  Integer(Op::kBrev, 1, FoldBrev, "brev"),
  Integer(Op::kMulhi, 2, FoldMulhi, "mulhi"),
  Expanded(Op::kMulWide, 2, kPromote, kIntegerTypes & ~(SetOf(DType::kInt64) | SetOf(DType::kUInt64)), ResultRule::kWide, "TT", kWideHint),
  Integer(Op::kSad, 3, FoldSad, "sad"),
  Expanded(Op::kHadd, 2, kPromote, kIntegerTypes, kSame, "TT", kIntegerHint),
  Expanded(Op::kRhadd, 2, kPromote, kIntegerTypes, kSame, "TT", kIntegerHint),
  Integer(Op::kAddSat, 2, FoldAddSat, "add_sat"),
  Integer(Op::kSubSat, 2, FoldSubSat, "sub_sat"),
  Integer(Op::kRotl, 2, FoldRotl, "rotl", kSame, "Tm"),
  Integer(Op::kRotr, 2, FoldRotr, "rotr", kSame, "Tm"),
  Integer(Op::kFunnelShiftLeft, 3, FoldFunnelShiftLeft, "funnel_shift_left", kSame, "TTm"),
  Integer(Op::kFunnelShiftRight, 3, FoldFunnelShiftRight, "funnel_shift_right", kSame, "TTm"),
  Integer(Op::kFunnelShiftLeftClamp, 3, FoldFunnelShiftLeftClamp, "funnel_shift_left_clamp", kSame, "TTc"),
  Integer(Op::kFunnelShiftRightClamp, 3, FoldFunnelShiftRightClamp, "funnel_shift_right_clamp", kSame, "TTc"),
  Word(Op::kBytePermute, FoldBytePermute, "byte_permute", "TTm"),
  Integer(Op::kBitFieldExtract, 3, FoldBitFieldExtract, "bit_field_extract", kSame, "Tcc"),
  Integer(Op::kBitFieldInsert, 4, FoldBitFieldInsert, "bit_field_insert", kSame, "TTcc"),
  Word(Op::kDp4a, FoldDp4a, "dp4a", "TTT"),
  Word(Op::kDp2aLo, FoldDp2aLo, "dp2a_lo", "TTT"),
  Word(Op::kDp2aHi, FoldDp2aHi, "dp2a_hi", "TTT"),
  Expanded(Op::kMakeComplex, 2, kFloat, kFloatTypes, ResultRule::kComplex, "TT", kPartHint),
  Expanded(Op::kReal, 1, kPromote, kNumbers | kComplexTypes, kPart),
  Expanded(Op::kImag, 1, kPromote, kNumbers | kComplexTypes, kPart),
  Expanded(Op::kConj, 1, kPromote, kNumbers | kComplexTypes),
  Expanded(Op::kArg, 1, kFloat, kComplexNumbers, kPart),
  Expanded(Op::kNorm, 1, kPromote, kNumbers | kComplexTypes, kPart),
  Expanded(Op::kPolar, 2, kFloat, kFloatTypes, ResultRule::kComplex, "TT", kPartHint),
  Expanded(Op::kProj, 1, kFloat, kComplexNumbers),
  Random(Op::kRandomBits, 4, "wwwm", SetOf(DType::kUInt32)),
  Expanded(Op::kRandomInteger, 3, kPromote, kIntegerTypes, kSame, "wwT", kIntegerHint),
  Random(Op::kRandomUniform, 2, "ww", SetOf(DType::kFloat32)),
  Random(Op::kRandomUniformF64, 2, "ww", SetOf(DType::kFloat64)),
  Random(Op::kRandomNormal, 2, "ww", SetOf(DType::kFloat32)),
  Random(Op::kRandomNormalF64, 2, "ww", SetOf(DType::kFloat64)),
}};
// clang-format on

constexpr bool InOrder() {
  for (int i = 0; i < kNumOperators; ++i) {
    if (static_cast<int>(kTable[i].op) != i) return false;
  }
  return true;
}
static_assert(InOrder(), "rows of the semantics table stand in the order of SLIPWAY_IR_OPERATORS");

}  // namespace

const Semantics& SemanticsOf(Op op) { return kTable[static_cast<int>(op)]; }

const Lowering& LoweringOf(Op op, DType operation_type) {
  const Semantics& row = SemanticsOf(op);
  if (IsSignedInteger(operation_type)) return row.signed_integer;
  if (IsUnsignedInteger(operation_type)) return row.unsigned_integer;
  if (IsFloat(operation_type)) return row.floating;
  if (operation_type == DType::kBool) return row.boolean;
  return kNo;
}

DType OperandTypeOf(const Semantics& row, DType operation, int i) {
  switch (row.slots[i]) {
    case kSlotCondition:
      return DType::kBool;
    case kSlotCount:
    case kSlotModulo:
      return DType::kUInt32;
    case kSlotUInt64:
      return DType::kUInt64;
    case kSlotInt32:
      return DType::kInt32;
    default:
      return operation;
  }
}

DType ResultTypeOf(const Semantics& row, DType operation) {
  switch (row.result) {
    case ResultRule::kBool:
      return DType::kBool;
    case ResultRule::kInt32:
      return DType::kInt32;
    case ResultRule::kWide:
      return TwiceAsWide(operation);
    case ResultRule::kPart:
      return IsComplex(operation) ? PartOf(operation) : operation;
    case ResultRule::kComplex:
      return ComplexOf(operation);
    case ResultRule::kOperation:
      break;
  }
  return operation;
}

bool IsExpanded(const Semantics& row, DType operation) {
  if (IsComplex(operation)) return true;
  auto none = [](const Lowering& lowering) { return lowering.by == LowerBy::kNone; };
  return none(row.signed_integer) && none(row.unsigned_integer) && none(row.floating) && none(row.boolean);
}

DType OperationType(Op op, DType result, absl::Span<const DType> operands) {
  const Semantics& row = SemanticsOf(op);
  if (row.result == ResultRule::kOperation) return result;
  const char* const slots = row.slots;
  for (size_t i = 0; i < operands.size() && i < kMaxArity; ++i) {
    if (slots[i] == kSlotT) return operands[i];
  }
  return DType::kVoid;
}

std::string Spelling(Op op) {
  if (op == Op::kNeg) return "unary '-'";
  return absl::StrCat("'", Name(op), "'");
}

bool OpFromName(absl::string_view name, Op* op) {
  static const auto* const kOps = [] {
    auto* ops = new absl::flat_hash_map<absl::string_view, Op>;
    for (int i = 0; i < kNumOperators; ++i) ops->emplace(Name(static_cast<Op>(i)), static_cast<Op>(i));
    return ops;
  }();
  auto it = kOps->find(name);
  if (it == kOps->end()) return false;
  *op = it->second;
  return true;
}

}  // namespace slipway::ir
