// The part of the Builder that applies operators: promotion, literals, folding, casts.
#include <bit>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "jit/builder.h"
#include "jit/expand.h"
#include "jit/fold.h"
#include "jit/known_dtype.h"
#include "jit/semantics.h"

namespace slipway::ir {
namespace {

// The least type that holds every value of an integer type beside a literal that does not fit it, for the advice in
// messages.
const char* WiderFor(DType dtype, DType literal_type, uint64_t bits) {
  for (DType wider : {DType::kInt16, DType::kInt32, DType::kInt64, DType::kUInt64}) {
    const bool holds = IsUnsignedInteger(dtype) ? IsUnsignedInteger(wider) || SizeOf(wider) > SizeOf(dtype)
                                                : !IsUnsignedInteger(wider);
    if (holds && LiteralFits(literal_type, bits, wider)) return Name(wider).data();
  }
  return "float64";
}

// Whether a literal has this type where it meets nothing: else what literals make is a constant.
bool IsLiteralType(DType dtype) {
  return dtype == DType::kInt64 || dtype == DType::kUInt64 || dtype == DType::kFloat64 || dtype == DType::kComplex128 ||
         dtype == DType::kBool;
}

// The dtype of a set that has one.
DType TypeOfOne(TypeSet set) { return static_cast<DType>(std::countr_zero(set)); }

}  // namespace

// Makes a literal a constant of `dtype`; kNone, with an error, where it does not fit. A float literal never becomes an
// integer, nor a complex one a real number.
ValueId Builder::Adopt(ValueId literal, DType dtype, absl::string_view context) {
  const ConstantValue constant = *AsConstant(literal);
  if (IsComplex(dtype)) {
    const bool complex = IsComplex(constant.type);
    const ValueId re = Adopt(complex ? Part(literal, 0) : literal, PartOf(dtype), context);
    const ValueId im = Adopt(complex ? Part(literal, 1) : Literal(0.0), PartOf(dtype), context);
    return Complex(re, im);
  }
  if (constant.type == DType::kBool || constant.type == dtype) {
    return Converted(literal, dtype, FoldCast(constant.type, dtype, constant.bits));
  }
  if (IsInteger(dtype) && IsInteger(constant.type)) {
    if (LiteralFits(constant.type, constant.bits, dtype)) return Converted(literal, dtype, constant.bits);
    Fail(absl::InvalidArgumentError(absl::StrFormat("%s: %s does not fit %s; use a wider type, such as a cast to %s",
                                                    context, DescribeValue(literal), Name(dtype),
                                                    WiderFor(dtype, constant.type, constant.bits))));
    return kNone;
  }
  if (IsFloat(dtype) && !IsComplex(constant.type)) {
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
    return Converted(literal, dtype, bits);
  }
  Fail(absl::InvalidArgumentError(
      absl::StrFormat("%s: %s cannot become %s; write a cast", context, DescribeValue(literal), Name(dtype))));
  return kNone;
}

std::string Builder::DescribeValues(absl::Span<const ValueId> values) const {
  std::string text = DescribeValue(values[0]);
  for (size_t i = 1; i < values.size(); ++i) absl::StrAppend(&text, " and ", DescribeValue(values[i]));
  return text;
}

// The common type of operands, literals included; kVoid, with an error, where there is none.
DType Builder::CommonType(absl::Span<const ValueId> operands, const std::string& what) {
  OperandType types[kMaxArity];
  for (size_t i = 0; i < operands.size(); ++i) types[i] = {TypeOf(operands[i]), IsLiteral(operands[i])};
  const DType common = slipway::CommonType(types, operands.size());
  if (common != DType::kVoid) return common;
  Fail(absl::InvalidArgumentError(absl::StrCat(what, ": ", DescribeValues(operands),
                                               " have no common type; cast one of them, such as with int64(...) or "
                                               "uint64(...)")));
  return DType::kVoid;
}

// An operand of any type as the slot wants it; kNone after an error.
ValueId Builder::BringTo(char slot, DType operation, ValueId value, Op op) {
  switch (slot) {
    case kSlotT:
      // A real number among complex ones stays real (jit/complex.h).
      if (IsComplex(operation) && !IsComplex(TypeOf(value))) operation = PartOf(operation);
      return IsLiteral(value) ? Adopt(value, operation, Spelling(op)) : Cast(operation, value);
    case kSlotCount:
      return BringToCount(value);
    case kSlotModulo:
      return Cast(DType::kUInt32, value);
    case kSlotUInt64:
      return Cast(DType::kUInt64, value);
    case kSlotInt32:
      return Cast(DType::kInt32, value, CastKind::kSaturate);
    default:
      return value;
  }
}

// A count reaches the instruction as a uint32 in which every count past the width, negative ones included, is still
// past the width.
ValueId Builder::BringToCount(ValueId count) {
  if (const ConstantValue* constant = AsConstant(count)) {
    const uint64_t bits = IsSignedInteger(constant->type)
                              ? static_cast<uint64_t>(SignedFromBits(constant->type, constant->bits))
                              : constant->bits;
    return Converted(count, DType::kUInt32, bits > 64 ? 64 : bits);
  }
  if (SizeOf(TypeOf(count)) == 8) {
    const ValueId wide = Cast(DType::kUInt64, count);
    return Cast(DType::kUInt32, Apply(Op::kMin, {wide, Constant(DType::kUInt64, 64)}));
  }
  return Cast(DType::kUInt32, count);  // Sign extension makes a negative count a large one.
}

// Operands are of any type here and are brought to what the slots want; a constant result is folded.
ValueId Builder::Operate(Op op, DType operation, absl::Span<const ValueId> operands, bool literal) {
  const Semantics& row = SemanticsOf(op);
  ValueId converted[kMaxArity] = {kNone, kNone, kNone, kNone};
  uint64_t bits[kMaxArity] = {0, 0, 0, 0};
  bool constant = true, captured = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    converted[i] = BringTo(row.slots[i], operation, operands[i], op);
    if (!status_.ok()) return kNone;
    if (const ConstantValue* value = AsConstant(converted[i])) {
      bits[i] = value->bits;
      captured = captured || value->origin != 0;
    } else {
      constant = false;
    }
  }
  if (IsExpanded(row, operation)) {
    const ValueId result = Expand(*this, op, operation, converted);
    return literal ? AsLiteral(result) : result;
  }
  const DType result = ResultTypeOf(row, operation);
  uint64_t folded = 0;
  if (constant && Fold(op, operation, absl::MakeConstSpan(bits, operands.size()), &folded)) {
    return AddConstant(result, folded, literal && IsLiteralType(result), captured ? NewOrigin() : 0);
  }
  const Lowering& lowering = LoweringOf(op, operation);
  if (lowering.by == LowerBy::kIdentity) return converted[0];
  if (lowering.by == LowerBy::kConstFalse) return AddConstant(DType::kBool, 0, false);
  if (lowering.by == LowerBy::kConstTrue) return AddConstant(DType::kBool, 1, false);
  return Emit(op, result, absl::MakeConstSpan(converted, operands.size()));
}

// A constant as a literal, where a literal may have its type.
ValueId Builder::AsLiteral(ValueId value) {
  if (!IsConstant(value)) return value;
  ConstantValue constant = *AsConstant(value);
  constant.literal = IsLiteralType(constant.type);
  return AddConstant(constant);
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
  if (row.operands == OperandRule::kCompare) return ApplyCompare(op, operands[0], operands[1]);
  if (row.operands == OperandRule::kSelect) return ApplySelect(operands);
  if (op == Op::kNeg && IsLiteral(operands[0]) && TypeOf(operands[0]) == DType::kUInt64) {
    return NegateLiteral(operands[0]);
  }

  ValueId of_operation[kMaxArity];
  size_t count = 0;
  int not_integer = 0;  // The place, from 1, of an operand that should be an integer and is not.
  for (int i = 0; i < row.arity; ++i) {
    const DType type = TypeOf(operands[i]);
    if (row.slots[i] == kSlotT) {
      of_operation[count++] = operands[i];
    } else if (!IsInteger(type) && type != DType::kBool) {
      not_integer = i + 1;
    }
  }
  DType operation = row.operands == OperandRule::kOwn
                        ? TypeOfOne(row.accepts)
                        : CommonType(absl::MakeConstSpan(of_operation, count), Spelling(op));
  if (!status_.ok()) return kNone;
  if (operation == DType::kBool && !Contains(row.accepts, operation) && op != Op::kBitNot) operation = DType::kInt32;
  if (row.operands == OperandRule::kFloat && !IsFloat(operation) && !IsComplex(operation)) operation = DType::kFloat64;
  if (not_integer != 0 || !Contains(row.accepts, operation)) {
    std::string hint = row.hint == nullptr ? "" : absl::StrCat("; ", row.hint);
    if (hint.empty() && IsComplex(operation)) hint = "; take their real and imag, or their abs";
    if (hint.empty() && not_integer != 0) {
      hint = absl::StrCat("; operand ", not_integer, " is an integer; cast it to int32");
    }
    Fail(absl::InvalidArgumentError(absl::StrCat(Spelling(op), " does not take ", DescribeValues(operands), hint)));
    return kNone;
  }
  bool literal = true;
  for (ValueId value : operands) literal = literal && IsLiteral(value);
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

ValueId Builder::ApplySelect(absl::Span<const ValueId> operands) {
  if (TypeOf(operands[0]) != DType::kBool) {
    Fail(absl::InvalidArgumentError(absl::StrCat("the condition of 'select' is ", DescribeValue(operands[0]),
                                                 "; a bool is wanted: compare it with 0")));
    return kNone;
  }
  const DType operation = CommonType(operands.subspan(1), "'select'");
  if (!status_.ok()) return kNone;
  // A constant condition chooses even where the arms are not constant. A captured one is left to run time, unless both
  // arms are literals, and so the result one.
  const bool both_literal = IsLiteral(operands[1]) && IsLiteral(operands[2]);
  const ConstantValue* condition = AsConstant(operands[0]);
  if (condition != nullptr && (condition->origin == 0 || both_literal)) {
    const ValueId chosen = condition->bits != 0 ? operands[1] : operands[2];
    if (both_literal && TypeOf(chosen) == operation) return chosen;
    const ValueId converted = IsLiteral(chosen) ? Adopt(chosen, operation, "'select'") : Cast(operation, chosen);
    return both_literal ? AsLiteral(converted) : converted;
  }
  return Operate(Op::kSelect, operation, operands, false);
}

namespace {

// The kind that says the same, where it says nothing that a plain cast does not.
CastKind Simplest(DType from, DType to, CastKind kind) {
  if (kind == CastKind::kBits) return from == to ? CastKind::kValue : kind;
  const bool from_float = IsFloat(from), to_float = IsFloat(to);
  if (from == DType::kBool) return CastKind::kValue;
  if (kind == CastKind::kSaturate) return kind;
  if (from_float && !to_float) return kind == CastKind::kToZero ? CastKind::kValue : kind;
  const bool exact = from_float ? SizeOf(from) < SizeOf(to) || from == to : !to_float;
  return exact || kind == CastKind::kNearest ? CastKind::kValue : kind;
}

}  // namespace

// A literal whose bits are asked for, as a constant of the size that is wanted; kNone, with an error, where it has
// none.
ValueId Builder::LiteralBits(DType dtype, ValueId value) {
  const DType type = TypeOf(value);
  const size_t size = SizeOf(dtype);
  if (IsFloat(type) && size >= 4) return Adopt(value, size == 4 ? DType::kFloat32 : DType::kFloat64, "bits");
  if (IsInteger(type)) {
    for (DType candidate : {DType::kUInt8, DType::kInt8, DType::kUInt16, DType::kInt16, DType::kUInt32, DType::kInt32,
                            DType::kUInt64, DType::kInt64}) {
      const ConstantValue constant = *AsConstant(value);
      if (SizeOf(candidate) == size && LiteralFits(constant.type, constant.bits, candidate)) {
        return Converted(value, candidate, constant.bits);
      }
    }
  }
  Fail(
      absl::InvalidArgumentError(absl::StrFormat("'%s_bits': %s has no bits of that size; cast it to a type of %d bits",
                                                 Name(dtype), DescribeValue(value), 8 * size)));
  return kNone;
}

// To a complex type, part by part; a complex number is no real one.
ValueId Builder::CastComplex(DType dtype, ValueId value, CastKind kind) {
  const DType from = TypeOf(value);
  if (!IsComplex(dtype) || kind == CastKind::kBits) {
    Fail(absl::InvalidArgumentError(absl::StrFormat("there is no cast from %s to %s%s%s; %s", DescribeValue(value),
                                                    Name(dtype), kind == CastKind::kValue ? "" : "_", Suffix(kind),
                                                    kind == CastKind::kBits ? "take the bits of the real and imag parts"
                                                    : dtype == DType::kBool ? "compare it with 0"
                                                                            : "take its real, imag or abs")));
    return kNone;
  }
  if (from == dtype && !IsLiteral(value) && kind != CastKind::kSaturate) return value;
  const DType part = PartOf(dtype);
  const ValueId re = Cast(part, IsComplex(from) ? Part(value, 0) : value, kind);
  return Complex(re, Cast(part, IsComplex(from) ? Part(value, 1) : Literal(0.0), kind));
}

ValueId Builder::Cast(DType dtype, ValueId value, CastKind kind) {
  if (!CheckOperands({value})) return kNone;
  dtype = Known(dtype);
  if (kind == CastKind::kBits && IsLiteral(value) && dtype != DType::kBool && !IsComplex(dtype)) {
    value = LiteralBits(dtype, value);
    if (!status_.ok()) return kNone;
  }
  const DType from = TypeOf(value);
  if (dtype == DType::kVoid) {
    Fail(absl::InvalidArgumentError("a cast to no type"));
    return kNone;
  }
  if (IsComplex(dtype) || IsComplex(from)) return CastComplex(dtype, value, kind);
  if (kind == CastKind::kBits && (SizeOf(from) != SizeOf(dtype) || from == DType::kBool || dtype == DType::kBool)) {
    const bool of_bool = from == DType::kBool || dtype == DType::kBool;
    Fail(absl::InvalidArgumentError(absl::StrFormat(
        "'%s_bits' does not take %s; %s", Name(dtype), Name(from),
        of_bool ? "the bits of a bool are no number: cast it" : "only types of one size have the same bits")));
    return kNone;
  }
  if (kind != CastKind::kValue && dtype == DType::kBool) {
    Fail(absl::InvalidArgumentError(
        absl::StrFormat("there is no 'bool_%s': a bool is neither rounded nor clamped; compare with 0", Suffix(kind))));
    return kNone;
  }
  if (from == dtype && !IsLiteral(value) && !(kind == CastKind::kSaturate && IsFloat(from))) return value;
  kind = Simplest(from, dtype, kind);
  if (const ConstantValue* constant = AsConstant(value)) {
    return Converted(value, dtype, FoldCast(constant->type, dtype, constant->bits, kind));
  }
  return Emit(Op::kCast, dtype, {value}, static_cast<uint64_t>(kind));
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
