// The rules on types that operands of an operator meet by (docs/semantics.md, "Promotion", "Literals", "Stores"). Front
// ends that know types at compile time and those that learn them at run time share these functions.
#ifndef SLIPWAY_PROMOTION_H_
#define SLIPWAY_PROMOTION_H_

#include <cstddef>

#include "slipway/dtype.h"

namespace slipway {

// The common type of two types; bool with bool is bool. kVoid where there is none: uint64 with a signed integer,
// anything with kVoid.
constexpr DType Promote(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::kVoid || b == DType::kVoid) return DType::kVoid;
  if (IsComplex(a) || IsComplex(b)) {
    return ComplexOf(Promote(IsComplex(a) ? PartOf(a) : a, IsComplex(b) ? PartOf(b) : b));
  }
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
// a kind that holds it (bool, integer, float, complex in this order).
constexpr bool StoresInto(DType from, DType to) {
  if (from == DType::kVoid || to == DType::kVoid) return false;
  const auto kind = [](DType type) { return type == DType::kBool ? 0 : IsInteger(type) ? 1 : IsFloat(type) ? 2 : 3; };
  return kind(from) <= kind(to);
}

// What promotion wants to know of an operand. A literal is a number that has no type of its own yet: `type` is int64,
// uint64 (only past INT64_MAX), float64, complex128 or bool.
struct OperandType {
  DType type = DType::kVoid;
  bool literal = false;
};

// The common type of an operator's operands; kVoid where there is none.
constexpr DType CommonType(const OperandType* operands, size_t count) {
  DType common = DType::kVoid;
  bool any = false, complex_literal = false, float_literal = false, integer_literal = false, large_literal = false;
  for (size_t i = 0; i < count; ++i) {
    const DType type = operands[i].type;
    if (operands[i].literal && type != DType::kBool) {
      complex_literal = complex_literal || IsComplex(type);
      float_literal = float_literal || IsFloat(type);
      integer_literal = integer_literal || IsInteger(type);
      large_literal = large_literal || type == DType::kUInt64;
      continue;
    }
    common = any ? Promote(common, type) : type;
    any = true;
    if (common == DType::kVoid) return common;
  }
  if (complex_literal) {
    const DType with_parts = ComplexOf(common);  // A literal's parts take the type of a float that they meet.
    return with_parts == DType::kVoid ? DType::kComplex128 : with_parts;
  }
  if (float_literal && !IsFloat(common) && !IsComplex(common)) return DType::kFloat64;
  if (integer_literal && !any) return large_literal ? DType::kUInt64 : DType::kInt64;
  if (integer_literal && common == DType::kBool) return DType::kInt32;
  return common;
}

}  // namespace slipway

#endif  // SLIPWAY_PROMOTION_H_
