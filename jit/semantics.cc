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
constexpr auto kPromote = OperandRule::kPromote;
constexpr auto kCompare = OperandRule::kCompare;
constexpr auto kShift = OperandRule::kShift;
constexpr auto kFloat = OperandRule::kFloat;
constexpr auto kSame = ResultRule::kOperation;
constexpr auto kBool = ResultRule::kBool;
constexpr Lowering kNo = {};

constexpr Lowering Binary(const char* name) { return {LowerBy::kBinary, name}; }
constexpr Lowering Division(const char* name) { return {LowerBy::kDivision, name}; }
constexpr Lowering Shift(const char* name) { return {LowerBy::kShift, name}; }
constexpr Lowering Compare(const char* name) { return {LowerBy::kCompare, name}; }
constexpr Lowering Intrinsic(const char* name) { return {LowerBy::kIntrinsic, name}; }
constexpr Lowering MinMax(const char* name) { return {LowerBy::kMinMax, name}; }
constexpr Lowering kItself = {LowerBy::kIdentity, nullptr};
constexpr Lowering kSelectIt = {LowerBy::kSelect, nullptr};
constexpr Lowering kComplement = {LowerBy::kComplement, nullptr};
constexpr Lowering kFalse = {LowerBy::kConstFalse, nullptr};
constexpr Lowering kTrue = {LowerBy::kConstTrue, nullptr};

constexpr Semantics Library(Op op, int arity, const char* stem) {
  return {op, arity, kFloat, kSame, kFloatTypes, nullptr, kNo, kNo, {LowerBy::kLibrary, stem}, kNo, nullptr};
}

constexpr const char* kRemHint = "use fmod (sign of the dividend) or floor_mod (sign of the divisor)";
constexpr const char* kNotHint = "compare with 0: x == 0";
constexpr const char* kBitHint = "bits of a float cannot be combined; cast it to an integer first";
constexpr const char* kBitNotHint = "use ! on a bool, and cast a float to an integer first";

// clang-format off
constexpr std::array<Semantics, kNumOperators> kTable = {{
  // op, arity, operands, result, accepts, fold, signed, unsigned, floating, boolean, hint
  {Op::kAdd, 2, kPromote, kSame, kNumbers, FoldAdd, Binary("add"), Binary("add"), Binary("fadd"), kNo, nullptr},
  {Op::kSub, 2, kPromote, kSame, kNumbers, FoldSub, Binary("sub"), Binary("sub"), Binary("fsub"), kNo, nullptr},
  {Op::kMul, 2, kPromote, kSame, kNumbers, FoldMul, Binary("mul"), Binary("mul"), Binary("fmul"), kNo, nullptr},
  {Op::kDiv, 2, kPromote, kSame, kNumbers, FoldDiv, Division("sdiv"), Division("udiv"), Binary("fdiv"), kNo, nullptr},
  {Op::kRem, 2, kPromote, kSame, kIntegerTypes, FoldRem, Division("srem"), Division("urem"), kNo, kNo, kRemHint},
  // The Builder writes these three in other operators.
  {Op::kTrueDiv, 2, kFloat, kSame, kFloatTypes, nullptr, kNo, kNo, kNo, kNo, nullptr},
  {Op::kFloorDiv, 2, kPromote, kSame, kNumbers, nullptr, kNo, kNo, kNo, kNo, nullptr},
  {Op::kFloorMod, 2, kPromote, kSame, kNumbers, nullptr, kNo, kNo, kNo, kNo, nullptr},
  {Op::kNeg, 1, kPromote, kSame, kNumbers, FoldNeg, {LowerBy::kNegate, "neg"}, {LowerBy::kNegate, "neg"}, {LowerBy::kNegate, "fneg"}, kNo, nullptr},
  {Op::kNot, 1, kPromote, kSame, kBoolType, FoldNot, kNo, kNo, kNo, kComplement, kNotHint},
  {Op::kBitNot, 1, kPromote, kSame, kIntegerTypes, FoldBitNot, kComplement, kComplement, kNo, kNo, kBitNotHint},
  {Op::kBitAnd, 2, kPromote, kSame, kBoolType | kIntegerTypes, FoldBitAnd, Binary("and"), Binary("and"), kNo, Binary("and"), kBitHint},
  {Op::kBitOr, 2, kPromote, kSame, kBoolType | kIntegerTypes, FoldBitOr, Binary("or"), Binary("or"), kNo, Binary("or"), kBitHint},
  {Op::kBitXor, 2, kPromote, kSame, kBoolType | kIntegerTypes, FoldBitXor, Binary("xor"), Binary("xor"), kNo, Binary("xor"), kBitHint},
  {Op::kShl, 2, kShift, kSame, kIntegerTypes, FoldShl, Shift("shl"), Shift("shl"), kNo, kNo, kBitHint},
  {Op::kShr, 2, kShift, kSame, kIntegerTypes, FoldShr, Shift("ashr"), Shift("lshr"), kNo, kNo, kBitHint},
  {Op::kLt, 2, kCompare, kBool, kAll, FoldLt, Compare("slt"), Compare("ult"), Compare("olt"), Compare("ult"), nullptr},
  {Op::kLe, 2, kCompare, kBool, kAll, FoldLe, Compare("sle"), Compare("ule"), Compare("ole"), Compare("ule"), nullptr},
  {Op::kGt, 2, kCompare, kBool, kAll, FoldGt, Compare("sgt"), Compare("ugt"), Compare("ogt"), Compare("ugt"), nullptr},
  {Op::kGe, 2, kCompare, kBool, kAll, FoldGe, Compare("sge"), Compare("uge"), Compare("oge"), Compare("uge"), nullptr},
  {Op::kEq, 2, kCompare, kBool, kAll, FoldEq, Compare("eq"), Compare("eq"), Compare("oeq"), Compare("eq"), nullptr},
  {Op::kNe, 2, kCompare, kBool, kAll, FoldNe, Compare("ne"), Compare("ne"), Compare("une"), Compare("ne"), nullptr},
  {Op::kMin, 2, kPromote, kSame, kNumbers, FoldMin, MinMax("smin"), MinMax("umin"), MinMax("min"), kNo, nullptr},
  {Op::kMax, 2, kPromote, kSame, kNumbers, FoldMax, MinMax("smax"), MinMax("umax"), MinMax("max"), kNo, nullptr},
  {Op::kMinNan, 2, kPromote, kSame, kNumbers, FoldMinNan, MinMax("smin"), MinMax("umin"), MinMax("min.NaN"), kNo, nullptr},
  {Op::kMaxNan, 2, kPromote, kSame, kNumbers, FoldMaxNan, MinMax("smax"), MinMax("umax"), MinMax("max.NaN"), kNo, nullptr},
  {Op::kAbs, 1, kPromote, kSame, kNumbers, FoldAbs, Intrinsic("llvm.abs"), kItself, Intrinsic("llvm.fabs"), kNo, nullptr},
  {Op::kFma, 3, kFloat, kSame, kFloatTypes, FoldFma, kNo, kNo, Intrinsic("llvm.fma"), kNo, nullptr},
  {Op::kSqrt, 1, kFloat, kSame, kFloatTypes, FoldSqrt, kNo, kNo, Intrinsic("llvm.sqrt"), kNo, nullptr},
  Library(Op::kRsqrt, 1, "rsqrt"),
  Library(Op::kCbrt, 1, "cbrt"),
  {Op::kFloor, 1, kPromote, kSame, kNumbers, FoldFloor, kItself, kItself, Intrinsic("llvm.floor"), kNo, nullptr},
  {Op::kCeil, 1, kPromote, kSame, kNumbers, FoldCeil, kItself, kItself, Intrinsic("llvm.ceil"), kNo, nullptr},
  {Op::kTrunc, 1, kPromote, kSame, kNumbers, FoldTrunc, kItself, kItself, Intrinsic("llvm.trunc"), kNo, nullptr},
  {Op::kRound, 1, kPromote, kSame, kNumbers, FoldRound, kItself, kItself, Intrinsic("llvm.round"), kNo, nullptr},
  {Op::kRint, 1, kPromote, kSame, kNumbers, FoldRint, kItself, kItself, Intrinsic("llvm.rint"), kNo, nullptr},
  Library(Op::kExp, 1, "exp"),
  Library(Op::kExp2, 1, "exp2"),
  Library(Op::kExp10, 1, "exp10"),
  Library(Op::kExpm1, 1, "expm1"),
  Library(Op::kLog, 1, "log"),
  Library(Op::kLog2, 1, "log2"),
  Library(Op::kLog10, 1, "log10"),
  Library(Op::kLog1p, 1, "log1p"),
  Library(Op::kSin, 1, "sin"),
  Library(Op::kCos, 1, "cos"),
  Library(Op::kTan, 1, "tan"),
  Library(Op::kAsin, 1, "asin"),
  Library(Op::kAcos, 1, "acos"),
  Library(Op::kAtan, 1, "atan"),
  Library(Op::kSinh, 1, "sinh"),
  Library(Op::kCosh, 1, "cosh"),
  Library(Op::kTanh, 1, "tanh"),
  Library(Op::kAsinh, 1, "asinh"),
  Library(Op::kAcosh, 1, "acosh"),
  Library(Op::kAtanh, 1, "atanh"),
  Library(Op::kErf, 1, "erf"),
  Library(Op::kErfc, 1, "erfc"),
  Library(Op::kTgamma, 1, "tgamma"),
  Library(Op::kLgamma, 1, "lgamma"),
  Library(Op::kPow, 2, "pow"),
  Library(Op::kAtan2, 2, "atan2"),
  {Op::kFmod, 2, kFloat, kSame, kFloatTypes, FoldFmod, kNo, kNo, {LowerBy::kLibrary, "fmod"}, kNo, nullptr},
  Library(Op::kHypot, 2, "hypot"),
  {Op::kCopysign, 2, kFloat, kSame, kFloatTypes, FoldCopysign, kNo, kNo, Intrinsic("llvm.copysign"), kNo, nullptr},
  {Op::kIsnan, 1, kPromote, kBool, kNumbers, FoldIsnan, kFalse, kFalse, {LowerBy::kClassify, "isnan"}, kNo, nullptr},
  {Op::kIsinf, 1, kPromote, kBool, kNumbers, FoldIsinf, kFalse, kFalse, {LowerBy::kClassify, "isinf"}, kNo, nullptr},
  {Op::kIsfinite, 1, kPromote, kBool, kNumbers, FoldIsfinite, kTrue, kTrue, {LowerBy::kClassify, "isfinite"}, kNo, nullptr},
  {Op::kSelect, 3, OperandRule::kSelect, kSame, kAll, FoldSelect, kSelectIt, kSelectIt, kSelectIt, kSelectIt, nullptr},
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

DType OperationType(Op op, DType result, absl::Span<const DType> operands) {
  const Semantics& row = SemanticsOf(op);
  if (row.operands == OperandRule::kSelect) return operands.size() > 1 ? operands[1] : DType::kVoid;
  if (row.result == ResultRule::kBool) return operands.empty() ? DType::kVoid : operands[0];
  return result;
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
