// The rules on types that operands of an operator meet by (docs/semantics.md, "Promotion", "Literals", "Stores"). Front
// ends that know types at compile time and those that learn them at run time share these functions.
#ifndef SLIPWAY_PROMOTION_H_
#define SLIPWAY_PROMOTION_H_

#include <cstddef>

#include "slipway/dtype.h"

namespace slipway {

// The common type of two types; bool with bool is bool. kVoid where there is none: uint64 with a signed integer,
// anything with kVoid, complex with anything but itself.
constexpr DType Promote(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::kVoid || b == DType::kVoid || IsComplex(a) || IsComplex(b)) return DType::kVoid;
  if (a == DType::kBool) return b;
  if (b == DType::kBool) return a;
  if (IsFloat(a) != IsFloat(b)) return IsFloat(a) ? a : b;
  if (IsFloat(a)) {
    if (SizeOf(a) == SizeOf(b)) return DType::kFloat32;  // float16 with bfloat16: the least that holds both.
    return SizeOf(a) > SizeOf(b) ? a : b;
  }
  if (IsSignedInteger(a) == IsSignedInteger(b)) return SizeOf(a) > SizeOf(b) ? a : b;
  const DType with_sign = IsSignedInteger(a) ? a : b, without = IsSignedInteger(a) ? b : a;
  if (SizeOf(with_sign) > SizeOf(without)) return with_sign;
  switch (without) {
    case DType::kUInt8:
      return DType::kInt16;
    case DType::kUInt16:
      return DType::kInt32;
    case DType::kUInt32:
      return DType::kInt64;
    default:
      return DType::kVoid;  // No signed type holds all of uint64.
  }
}

// The integer of the same sign and twice the width; kVoid where there is none.
constexpr DType TwiceAsWide(DType integer) {
  switch (integer) {
    case DType::kInt8:
      return DType::kInt16;
    case DType::kInt16:
      return DType::kInt32;
    case DType::kInt32:
      return DType::kInt64;
    case DType::kUInt8:
      return DType::kUInt16;
    case DType::kUInt16:
      return DType::kUInt32;
    case DType::kUInt32:
      return DType::kUInt64;
    default:
      return DType::kVoid;
  }
}

// Whether a value of type `from` may be stored into something declared `to` without a cast: the same kind of number, or
// a kind that holds it (bool, integer, float in this order).
constexpr bool StoresInto(DType from, DType to) {
  if (from == DType::kVoid || to == DType::kVoid) return false;
  if (IsComplex(from) || IsComplex(to)) return from == to;
  const int from_kind = from == DType::kBool ? 0 : IsInteger(from) ? 1 : 2;
  const int to_kind = to == DType::kBool ? 0 : IsInteger(to) ? 1 : 2;
  return from_kind <= to_kind;
}

// What promotion wants to know of an operand. A literal is a number that has no type of its own yet: `type` is int64,
// uint64 (only past INT64_MAX), float64 or bool.
struct OperandType {
  DType type = DType::kVoid;
  bool literal = false;
};

// The common type of an operator's operands; kVoid where there is none.
constexpr DType CommonType(const OperandType* operands, size_t count) {
  DType common = DType::kVoid;
  bool any = false, float_literal = false, integer_literal = false, large_literal = false;
  for (size_t i = 0; i < count; ++i) {
    const DType type = operands[i].type;
    if (operands[i].literal && type != DType::kBool) {
      float_literal = float_literal || IsFloat(type);
      integer_literal = integer_literal || IsInteger(type);
      large_literal = large_literal || type == DType::kUInt64;
      continue;
    }
    common = any ? Promote(common, type) : type;
    any = true;
    if (common == DType::kVoid) return common;
  }
  if (float_literal && !IsFloat(common)) return IsComplex(common) ? DType::kVoid : DType::kFloat64;
  if (integer_literal && !any) return large_literal ? DType::kUInt64 : DType::kInt64;
  if (integer_literal && common == DType::kBool) return DType::kInt32;
  return common;
}

}  // namespace slipway

#endif  // SLIPWAY_PROMOTION_H_
