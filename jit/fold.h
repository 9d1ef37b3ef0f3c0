// Constant folding: what the device would compute, computed here. Exact for integers, correctly rounded for floats, by
// the rules of docs/semantics.md and of the PTX ISA where that leaves no choice (division by zero, shift counts, float
// to integer, min and max of NaN and of zeros).
//
// Values are bits, zero-extended from their type's width. The float environment that the calling thread has set
// (rounding mode, flush to zero) does not matter. The sign and payload of a NaN that an operation makes are not part of
// the rules; a quiet NaN is given. Thread-safe.
#ifndef SLIPWAY_JIT_FOLD_H_
#define SLIPWAY_JIT_FOLD_H_

#include <cstdint>

#include "absl/types/span.h"
#include "jit/ops.h"
#include "slipway/dtype.h"

namespace slipway::ir {

// Folds an operator over constants; `type` is the type of the operation. False where the operator is not folded.
bool Fold(Op op, DType type, absl::Span<const uint64_t> operands, uint64_t* result);

// Folds a cast between any two of bool, integers and floats. Other kinds than kValue are not for bool.
uint64_t FoldCast(DType from, DType to, uint64_t bits, CastKind kind = CastKind::kValue);

// Bits of a constant as a number, exactly, and back, rounded once to nearest even; `dtype` is a float.
double FloatFromBits(DType dtype, uint64_t bits);
uint64_t FloatToBits(DType dtype, double value);
int64_t SignedFromBits(DType dtype, uint64_t bits);  // dtype a signed integer.
// Whether an integer literal (int64, or uint64 past its end) is a value of the integer type `dtype`.
bool LiteralFits(DType literal_type, uint64_t bits, DType dtype);
uint64_t WidthMask(DType dtype);  // All ones over the dtype's width; 1 for bool.

// The fold functions that the rows of the semantics table name: bool Fold<Name>(type, operands, result).
// clang-format off
#define SLIPWAY_IR_FOLDED(X)                                                                                     \
  X(Add) X(Sub) X(Mul) X(Div) X(Rem) X(Neg) X(Not) X(BitNot) X(BitAnd) X(BitOr) X(BitXor) X(Shl) X(Shr) X(Lt)    \
  X(Le) X(Gt) X(Ge) X(Eq) X(Ne) X(Min) X(Max) X(MinNan) X(MaxNan) X(Abs) X(Fma) X(Sqrt) X(Floor) X(Ceil)         \
  X(Trunc) X(Round) X(Rint) X(Fmod) X(Copysign) X(Isnan) X(Isinf) X(Isfinite) X(Select) X(Remainder)             \
  X(Saturate) X(AddRn) X(AddRz) X(AddRu) X(AddRd) X(MulRn) X(MulRz) X(MulRu) X(MulRd) X(DivRn) X(DivRz)          \
  X(DivRu) X(DivRd) X(FmaRn) X(FmaRz) X(FmaRu) X(FmaRd) X(SqrtRn) X(SqrtRz) X(SqrtRu) X(SqrtRd) X(RcpRn)         \
  X(RcpRz) X(RcpRu) X(RcpRd) X(Popc) X(Clz) X(Ctz) X(Ffs) X(Brev) X(Mulhi) X(Sad) X(AddSat) X(SubSat) X(Rotl) X(Rotr)   \
  X(FunnelShiftLeft) X(FunnelShiftRight) X(FunnelShiftLeftClamp) X(FunnelShiftRightClamp) X(BytePermute)         \
  X(BitFieldExtract) X(BitFieldInsert) X(Dp4a) X(Dp2aLo) X(Dp2aHi)
// clang-format on
#define SLIPWAY_IR_DECLARE_FOLD(name) bool Fold##name(DType type, const uint64_t* operands, uint64_t* result);
SLIPWAY_IR_FOLDED(SLIPWAY_IR_DECLARE_FOLD)
#undef SLIPWAY_IR_DECLARE_FOLD

}  // namespace slipway::ir

#endif  // SLIPWAY_JIT_FOLD_H_
