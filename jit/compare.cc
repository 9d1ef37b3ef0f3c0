// The part of the Builder that applies comparisons, which compare numbers and not representations.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "jit/builder.h"
#include "jit/fold.h"
#include "jit/semantics.h"

namespace slipway::ir {
namespace {

// The operator that holds for swapped operands.
Op Mirrored(Op op) {
  switch (op) {
    case Op::kLt:
      return Op::kGt;
    case Op::kLe:
      return Op::kGe;
    case Op::kGt:
      return Op::kLt;
    case Op::kGe:
      return Op::kLe;
    default:
      return op;
  }
}

}  // namespace

// Comparisons compare the numbers that the operands are, whatever their types.
ValueId Builder::ApplyCompare(Op op, ValueId a, ValueId b) {
  const bool a_literal = IsLiteral(a), b_literal = IsLiteral(b);
  if (a_literal != b_literal) {
    bool done = false;
    const ValueId result =
        a_literal ? CompareWithLiteral(Mirrored(op), b, a, true, &done) : CompareWithLiteral(op, a, b, false, &done);
    if (done) return result;
  }
  const DType ta = TypeOf(a), tb = TypeOf(b);
  if ((IsComplex(ta) || IsComplex(tb)) && op != Op::kEq && op != Op::kNe) {
    Fail(absl::InvalidArgumentError(
        absl::StrCat(Spelling(op), " does not take ", DescribeValues({a, b}), "; ", SemanticsOf(op).hint)));
    return kNone;
  }
  if (!a_literal && !b_literal && Promote(ta, tb) == DType::kVoid) {
    // uint64 with a signed integer: no type holds both. A negative number is less than any unsigned one; else both
    // are unsigned.
    const bool a_signed = IsSignedInteger(ta);
    const ValueId with_sign = a_signed ? a : b;
    const ValueId negative = Apply(Op::kLt, {with_sign, Constant(TypeOf(with_sign), 0)});
    const ValueId wide = Cast(DType::kUInt64, with_sign);
    const ValueId numbers = a_signed ? Apply(op, {wide, b}) : Apply(op, {a, wide});
    const bool if_negative =
        op == Op::kNe || (a_signed ? op == Op::kLt || op == Op::kLe : op == Op::kGt || op == Op::kGe);
    if (if_negative) return Apply(Op::kBitOr, {negative, numbers});
    return Apply(Op::kBitAnd, {Apply(Op::kNot, {negative}), numbers});
  }
  const ValueId operands[] = {a, b};
  DType operation = CommonType(operands, Spelling(op));
  if (!status_.ok()) return kNone;
  if (a_literal && b_literal && (ta == DType::kUInt64) != (tb == DType::kUInt64) && IsInteger(ta) && IsInteger(tb)) {
    // One literal past INT64_MAX, which is the greater.
    const bool a_greater = ta == DType::kUInt64;
    const bool value = op == Op::kNe || (a_greater ? op == Op::kGt || op == Op::kGe : op == Op::kLt || op == Op::kLe);
    return AddConstant(DType::kBool, value ? 1 : 0, true);
  }
  return Operate(op, operation, operands, a_literal && b_literal);
}

// `value` op `literal`. Sets *done where the literal does not fit the value's type: then the result is a constant for
// integers, and for floats a comparison in float64, where infinities still compare as they should.
ValueId Builder::CompareWithLiteral(Op op, ValueId value, ValueId literal, bool literal_first, bool* done) {
  const DType type = TypeOf(value);
  const ConstantValue constant = *AsConstant(literal);
  if (constant.type == DType::kBool || IsComplex(constant.type)) return kNone;
  const DType integer = type == DType::kBool ? DType::kInt32 : type;
  if (IsInteger(integer) && IsInteger(constant.type) && !LiteralFits(constant.type, constant.bits, integer)) {
    *done = true;
    const bool literal_is_less = constant.type == DType::kInt64 && static_cast<int64_t>(constant.bits) < 0;
    const bool result =
        op == Op::kNe || (literal_is_less ? op == Op::kGt || op == Op::kGe : op == Op::kLt || op == Op::kLe);
    return AddConstant(DType::kBool, result ? 1 : 0, false);
  }
  if (IsFloat(type) && type != DType::kFloat64) {
    const double number = FloatFromBits(DType::kFloat64, FoldCast(constant.type, DType::kFloat64, constant.bits));
    if (std::isfinite(number) && !std::isfinite(FloatFromBits(type, FloatToBits(type, number)))) {
      *done = true;
      const ValueId wide = Cast(DType::kFloat64, value);
      const ValueId bound = Converted(literal, DType::kFloat64, FloatToBits(DType::kFloat64, number));
      return literal_first ? Operate(Mirrored(op), DType::kFloat64, {bound, wide}, false)
                           : Operate(op, DType::kFloat64, {wide, bound}, false);
    }
  }
  return kNone;
}

}  // namespace slipway::ir
