// The part of the Builder that applies operators: promotion, literals, folding, casts.
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "jit/builder.h"
#include "jit/fold.h"
#include "jit/semantics.h"

namespace slipway::ir {
namespace {

// The least type that holds every value of an integer type beside a literal that does not fit it, for the advice in
// messages.
const char* WiderFor(DType literal_type, uint64_t bits) {
  for (DType wider : {DType::kInt16, DType::kInt32, DType::kInt64, DType::kUInt64}) {
    if (LiteralFits(literal_type, bits, wider)) return Name(wider).data();
  }
  return "float64";
}

}  // namespace

// Makes a literal a constant of `dtype`, which is bool, an integer or a float; kNone, with an error, where it does not
// fit. A float literal never becomes an integer.
ValueId Builder::Adopt(ValueId literal, DType dtype, absl::string_view context) {
  const ConstantValue constant = *AsConstant(literal);
  if (constant.type == DType::kBool || constant.type == dtype) {
    return Constant(dtype, FoldCast(constant.type, dtype, constant.bits));
  }
  if (IsInteger(dtype) && IsInteger(constant.type)) {
    if (LiteralFits(constant.type, constant.bits, dtype)) return Constant(dtype, constant.bits);
    Fail(absl::InvalidArgumentError(absl::StrFormat("%s: %s does not fit %s; use a wider type, such as a cast to %s",
                                                    context, DescribeValue(literal), Name(dtype),
                                                    WiderFor(constant.type, constant.bits))));
    return kNone;
  }
  if (IsFloat(dtype)) {
    const uint64_t bits = FoldCast(constant.type, dtype, constant.bits);
    const bool finite =
        constant.type != DType::kFloat64 || std::isfinite(FloatFromBits(DType::kFloat64, constant.bits));
    if (finite && !std::isfinite(FloatFromBits(dtype, bits))) {
      Fail(
          absl::InvalidArgumentError(absl::StrFormat("%s: %s is too large for %s; cast the other operand to a wider "
                                                     "type, such as float64",
                                                     context, DescribeValue(literal), Name(dtype))));
      return kNone;
    }
    return Constant(dtype, bits);
  }
  Fail(absl::InvalidArgumentError(
      absl::StrFormat("%s: %s cannot become %s; write a cast", context, DescribeValue(literal), Name(dtype))));
  return kNone;
}

// The common type of operands, literals included; kVoid, with an error, where there is none.
DType Builder::CommonType(absl::Span<const ValueId> operands, const std::string& what) {
  OperandType types[3];
  for (size_t i = 0; i < operands.size(); ++i) types[i] = {TypeOf(operands[i]), IsLiteral(operands[i])};
  const DType common = slipway::CommonType(types, operands.size());
  if (common != DType::kVoid) return common;
  std::string given = DescribeValue(operands[0]);
  for (size_t i = 1; i < operands.size(); ++i) absl::StrAppend(&given, " and ", DescribeValue(operands[i]));
  bool complex = false;
  for (ValueId value : operands) complex = complex || IsComplex(TypeOf(value));
  Fail(absl::InvalidArgumentError(absl::StrCat(what, ": ", given, " have no common type; ",
                                               complex ? "complex numbers go with their own type only"
                                                       : "cast one of them, such as with int64(...) or uint64(...)")));
  return DType::kVoid;
}

// Operands are of any type here and are brought to `operation`; a constant result is folded.
ValueId Builder::Operate(Op op, DType operation, absl::Span<const ValueId> operands, bool literal) {
  const Semantics& row = SemanticsOf(op);
  ValueId converted[3] = {kNone, kNone, kNone};
  uint64_t bits[3] = {0, 0, 0};
  bool constant = true;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool fixed =
        (row.operands == OperandRule::kShift && i == 1) || (row.operands == OperandRule::kSelect && i == 0);
    if (fixed) {
      converted[i] = operands[i];
    } else {
      converted[i] =
          IsLiteral(operands[i]) ? Adopt(operands[i], operation, Spelling(op)) : Cast(operation, operands[i]);
    }
    if (!status_.ok()) return kNone;
    if (const ConstantValue* value = AsConstant(converted[i])) {
      bits[i] = value->bits;
    } else {
      constant = false;
    }
  }
  const DType result = row.result == ResultRule::kBool ? DType::kBool : operation;
  uint64_t folded = 0;
  if (constant && Fold(op, operation, absl::MakeConstSpan(bits, operands.size()), &folded)) {
    return AddConstant(result, folded, literal);
  }
  const Lowering& lowering = LoweringOf(op, operation);
  if (lowering.by == LowerBy::kIdentity) return converted[0];
  if (lowering.by == LowerBy::kConstFalse) return AddConstant(DType::kBool, 0, false);
  if (lowering.by == LowerBy::kConstTrue) return AddConstant(DType::kBool, 1, false);
  return Emit(op, result, absl::MakeConstSpan(converted, operands.size()));
}

ValueId Builder::Apply(Op op, std::initializer_list<ValueId> operands) {
  return Apply(op, absl::MakeConstSpan(operands.begin(), operands.size()));
}

ValueId Builder::Apply(Op op, absl::Span<const ValueId> operands) {
  if (!CheckOperands(operands)) return kNone;
  if (!IsOperator(op)) {
    Fail(absl::InvalidArgumentError(absl::StrCat("'", Name(op), "' is an instruction, not an operator")));
    return kNone;
  }
  const Semantics& row = SemanticsOf(op);
  if (operands.size() != static_cast<size_t>(row.arity)) {
    Fail(absl::InvalidArgumentError(absl::StrFormat("%s takes %d operand%s, not %d", Spelling(op), row.arity,
                                                    row.arity == 1 ? "" : "s", operands.size())));
    return kNone;
  }
  for (ValueId value : operands) {
    if (op != Op::kSelect && IsComplex(TypeOf(value))) {
      Fail(absl::UnimplementedError(absl::StrFormat(
          "%s on %s: arithmetic on complex numbers is not available yet; compute with their real and imaginary parts "
          "in arrays of their own",
          Spelling(op), Name(TypeOf(value)))));
      return kNone;
    }
  }
  if (row.operands == OperandRule::kCompare) return ApplyCompare(op, operands[0], operands[1]);
  if (row.operands == OperandRule::kShift) return ApplyShift(op, operands[0], operands[1]);
  if (row.operands == OperandRule::kSelect) return ApplySelect(operands);
  if (op == Op::kNeg && IsLiteral(operands[0]) && TypeOf(operands[0]) == DType::kUInt64) {
    return NegateLiteral(operands[0]);
  }

  DType operation = CommonType(operands, Spelling(op));
  if (!status_.ok()) return kNone;
  if (operation == DType::kBool && !Contains(row.accepts, operation) && op != Op::kBitNot) operation = DType::kInt32;
  if (row.operands == OperandRule::kFloat && !IsFloat(operation)) operation = DType::kFloat64;
  if (!Contains(row.accepts, operation)) {
    std::string given = DescribeValue(operands[0]);
    for (size_t i = 1; i < operands.size(); ++i) absl::StrAppend(&given, " and ", DescribeValue(operands[i]));
    Fail(absl::InvalidArgumentError(absl::StrCat(
        Spelling(op), " does not take ", given, row.hint == nullptr ? "" : "; ", row.hint == nullptr ? "" : row.hint)));
    return kNone;
  }
  bool literal = true;
  for (ValueId value : operands) literal = literal && IsLiteral(value);
  if (op == Op::kTrueDiv) return Operate(Op::kDiv, operation, operands, literal);
  if (op == Op::kFloorDiv || op == Op::kFloorMod) {
    ValueId converted[2];
    for (int i = 0; i < 2; ++i) {
      const bool keep = literal || !IsLiteral(operands[i]);
      converted[i] =
          keep ? (literal ? operands[i] : Cast(operation, operands[i])) : Adopt(operands[i], operation, Spelling(op));
      if (!status_.ok()) return kNone;
    }
    return ExpandFloorDivision(op, converted[0], converted[1]);
  }
  return Operate(op, operation, operands, literal);
}

// -9223372036854775808 is written as the negation of a literal that int64 does not hold.
ValueId Builder::NegateLiteral(ValueId value) {
  const uint64_t bits = AsConstant(value)->bits;
  if (bits == uint64_t{1} << 63) return AddConstant(DType::kInt64, bits, true);
  Fail(absl::InvalidArgumentError(
      absl::StrCat("unary '-': literal -", bits, " does not fit int64; write it as a float, such as -", bits, ".0")));
  return kNone;
}

// The result has the type of the value that is shifted. The count reaches the instruction as a uint32 in which every
// count past the width, negative ones included, is still past the width.
ValueId Builder::ApplyShift(Op op, ValueId value, ValueId count) {
  DType type = TypeOf(value);
  if (type == DType::kBool) type = DType::kInt32;
  const DType count_type = TypeOf(count);
  if (!IsInteger(type) || (!IsInteger(count_type) && count_type != DType::kBool)) {
    Fail(absl::InvalidArgumentError(absl::StrCat(Spelling(op), " does not take ", DescribeValue(value), " and ",
                                                 DescribeValue(count), "; ", SemanticsOf(op).hint)));
    return kNone;
  }
  const bool literal = IsLiteral(value) && IsLiteral(count);
  ValueId clamped;
  if (const ConstantValue* constant = AsConstant(count)) {
    const uint64_t bits = IsSignedInteger(constant->type)
                              ? static_cast<uint64_t>(SignedFromBits(constant->type, constant->bits))
                              : constant->bits;
    clamped = Constant(DType::kUInt32, bits > 64 ? 64 : bits);
  } else if (SizeOf(count_type) == 8) {
    const ValueId wide = Cast(DType::kUInt64, count);
    clamped = Cast(DType::kUInt32, Apply(Op::kMin, {wide, Constant(DType::kUInt64, 64)}));
  } else {
    clamped = Cast(DType::kUInt32, count);  // Sign extension makes a negative count a large one.
  }
  return Operate(op, type, {value, clamped}, literal);
}

ValueId Builder::ApplySelect(absl::Span<const ValueId> operands) {
  if (TypeOf(operands[0]) != DType::kBool) {
    Fail(absl::InvalidArgumentError(absl::StrCat("the condition of 'select' is ", DescribeValue(operands[0]),
                                                 "; a bool is wanted: compare it with 0")));
    return kNone;
  }
  const DType operation = CommonType(operands.subspan(1), "'select'");
  if (!status_.ok()) return kNone;
  if (IsComplex(operation)) {
    Fail(absl::UnimplementedError(
        absl::StrFormat("'select' on %s: arithmetic on complex numbers is not available yet", Name(operation))));
    return kNone;
  }
  // A constant condition chooses even where the arms are not constant.
  if (const ConstantValue* condition = AsConstant(operands[0])) {
    const ValueId chosen = condition->bits != 0 ? operands[1] : operands[2];
    const bool both_literal = IsLiteral(operands[1]) && IsLiteral(operands[2]);
    if (both_literal && TypeOf(chosen) == operation) return chosen;
    if (both_literal)
      return AddConstant(operation, FoldCast(TypeOf(chosen), operation, AsConstant(chosen)->bits), true);
    return IsLiteral(chosen) ? Adopt(chosen, operation, "'select'") : Cast(operation, chosen);
  }
  return Operate(Op::kSelect, operation, operands, false);
}

// Quotient rounded towards minus infinity, and the remainder with the divisor's sign; operands are of one type, or
// literals. Division by zero gives what / and % give.
ValueId Builder::ExpandFloorDivision(Op op, ValueId a, ValueId b) {
  const bool quotient = op == Op::kFloorDiv;
  const ValueId operands[] = {a, b};
  const DType type = CommonType(operands, Spelling(op));
  if (IsUnsignedInteger(type)) return Apply(quotient ? Op::kDiv : Op::kRem, {a, b});
  if (IsFloat(type)) {
    if (quotient) return Apply(Op::kFloor, {Apply(Op::kDiv, {a, b})});
    const ValueId rest = Apply(Op::kFmod, {a, b});
    const ValueId zero = Literal(int64_t{0});
    const ValueId signs_differ = Apply(Op::kNe, {Apply(Op::kLt, {rest, zero}), Apply(Op::kLt, {b, zero})});
    const ValueId adjust = Apply(Op::kBitAnd, {Apply(Op::kNe, {rest, zero}), signs_differ});
    // A zero takes the divisor's sign, as the other results do.
    const ValueId zero_or_rest =
        Apply(Op::kSelect, {Apply(Op::kEq, {rest, zero}), Apply(Op::kCopysign, {rest, b}), rest});
    return Apply(Op::kSelect, {adjust, Apply(Op::kAdd, {rest, b}), zero_or_rest});
  }
  const ValueId zero = Literal(int64_t{0});
  const ValueId rest = Apply(Op::kRem, {a, b});
  // The remainder of a division by zero is all ones; it must not be adjusted.
  const ValueId signs_differ = Apply(Op::kLt, {Apply(Op::kBitXor, {rest, b}), zero});
  const ValueId adjust =
      Apply(Op::kBitAnd, {Apply(Op::kBitAnd, {Apply(Op::kNe, {rest, zero}), signs_differ}), Apply(Op::kNe, {b, zero})});
  if (!quotient) return Apply(Op::kSelect, {adjust, Apply(Op::kAdd, {rest, b}), rest});
  const ValueId towards_zero = Apply(Op::kDiv, {a, b});
  return Apply(Op::kSelect, {adjust, Apply(Op::kSub, {towards_zero, Literal(int64_t{1})}), towards_zero});
}

ValueId Builder::Cast(DType dtype, ValueId value) {
  if (!CheckOperands({value})) return kNone;
  const DType from = TypeOf(value);
  if (from == dtype && !IsLiteral(value)) return value;
  if (dtype == DType::kVoid || IsComplex(dtype) != IsComplex(from) || (IsComplex(dtype) && from != dtype)) {
    Fail(absl::UnimplementedError(absl::StrFormat("cast from %s to %s is not available", Name(from), Name(dtype))));
    return kNone;
  }
  if (const ConstantValue* constant = AsConstant(value)) {
    return Constant(dtype, FoldCast(constant->type, dtype, constant->bits));
  }
  return Emit(Op::kCast, dtype, {value});
}

ValueId Builder::ConvertForStore(DType dtype, ValueId value, const std::string& what) {
  if (!CheckOperands({value})) return kNone;
  const DType from = TypeOf(value);
  if (!StoresInto(from, dtype)) {
    Fail(absl::InvalidArgumentError(absl::StrFormat("%s is %s and cannot take %s without a cast; write %s(...)", what,
                                                    Name(dtype), DescribeValue(value), Name(dtype))));
    return kNone;
  }
  return IsLiteral(value) ? Adopt(value, dtype, what) : Cast(dtype, value);
}

}  // namespace slipway::ir
