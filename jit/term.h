// Values on their way through the expansion of an operator, so that expansions read as formulas.
#ifndef SLIPWAY_JIT_TERM_H_
#define SLIPWAY_JIT_TERM_H_

#include <cstdint>
#include <type_traits>

#include "jit/builder.h"
#include "jit/ops.h"
#include "slipway/dtype.h"

namespace slipway::ir {

// Numbers take the type of what they meet.
struct Term {
  Builder* b;
  ValueId id;
};
template <class N>
requires std::is_arithmetic_v<N> Term Number(Builder* b, N number) {
  if constexpr (std::is_floating_point_v<N>) {
    return {b, b->Literal(static_cast<double>(number))};
  } else {
    return {b, b->Literal(static_cast<int64_t>(number))};
  }
}

inline Term Apply(Op op, Term x) { return {x.b, x.b->Apply(op, {x.id})}; }
inline Term Apply(Op op, Term x, Term y) { return {x.b, x.b->Apply(op, {x.id, y.id})}; }
inline Term Select(Term condition, Term x, Term y) {
  return {x.b, x.b->Apply(Op::kSelect, {condition.id, x.id, y.id})};
}
inline Term Cast(DType dtype, Term x, CastKind kind = CastKind::kValue) { return {x.b, x.b->Cast(dtype, x.id, kind)}; }
inline Term BitsAs(DType dtype, Term x) { return Cast(dtype, x, CastKind::kBits); }

#define SLIPWAY_TERM_OPERATOR(symbol, op)                                 \
  inline Term operator symbol(Term x, Term y) { return Apply(op, x, y); } \
  template <class N>                                                      \
  requires std::is_arithmetic_v<N> Term operator symbol(Term x, N y) { return x symbol Number(x.b, y); }
SLIPWAY_TERM_OPERATOR(+, Op::kAdd)
SLIPWAY_TERM_OPERATOR(-, Op::kSub)
SLIPWAY_TERM_OPERATOR(*, Op::kMul)
SLIPWAY_TERM_OPERATOR(/, Op::kDiv)
SLIPWAY_TERM_OPERATOR(%, Op::kRem)
SLIPWAY_TERM_OPERATOR(&, Op::kBitAnd)
SLIPWAY_TERM_OPERATOR(|, Op::kBitOr)
SLIPWAY_TERM_OPERATOR(^, Op::kBitXor)
SLIPWAY_TERM_OPERATOR(<<, Op::kShl)
SLIPWAY_TERM_OPERATOR(>>, Op::kShr)
SLIPWAY_TERM_OPERATOR(<, Op::kLt)
SLIPWAY_TERM_OPERATOR(<=, Op::kLe)
SLIPWAY_TERM_OPERATOR(>, Op::kGt)
SLIPWAY_TERM_OPERATOR(==, Op::kEq)
SLIPWAY_TERM_OPERATOR(!=, Op::kNe)
#undef SLIPWAY_TERM_OPERATOR

// How a float type lies in its bits (IEEE 754; bfloat16: the upper half of a float32).
struct Format {
  DType bits, signed_bits;
  int mantissa_bits, bias;

  uint64_t exponent_mask() const { return static_cast<uint64_t>(2 * bias + 1) << mantissa_bits; }
  uint64_t quiet_nan() const { return exponent_mask() | uint64_t{1} << (mantissa_bits - 1); }
};
inline Format FormatOf(DType type) {
  switch (type) {
    case DType::kFloat16:
      return {DType::kUInt16, DType::kInt16, 10, 15};
    case DType::kBFloat16:
      return {DType::kUInt16, DType::kInt16, 7, 127};
    case DType::kFloat32:
      return {DType::kUInt32, DType::kInt32, 23, 127};
    default:
      return {DType::kUInt64, DType::kInt64, 52, 1023};
  }
}
inline Term Infinity(Builder* b, DType type) { return {b, b->Constant(type, FormatOf(type).exponent_mask())}; }
inline Term NotANumber(Builder* b, DType type) { return {b, b->Constant(type, FormatOf(type).quiet_nan())}; }

}  // namespace slipway::ir

#endif  // SLIPWAY_JIT_TERM_H_
