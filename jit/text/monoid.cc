#include "jit/text/monoid.h"

#include <cstdint>
#include <limits>

#include "jit/fold.h"
#include "jit/semantics.h"

namespace slipway::text {

using ir::Builder;
using ir::Op;
using ir::ValueId;

namespace {

bool IsHalf(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

// What changes nothing; of no operands at all the result. The least and the greatest of floats begin with NaN, which
// any number replaces.
uint64_t StartOf(Reduction op, DType accumulator) {
  if (op == Reduction::kAll) return 1;
  if (op == Reduction::kProd) return IsFloat(accumulator) ? ir::FloatToBits(accumulator, 1) : 1;
  const bool least = op == Reduction::kMin || op == Reduction::kArgmin;
  if (!least && op != Reduction::kMax && op != Reduction::kArgmax) return 0;
  if (IsFloat(accumulator)) return ir::FloatToBits(accumulator, std::numeric_limits<double>::quiet_NaN());
  const int bits = 8 * static_cast<int>(SizeOf(accumulator));
  const uint64_t all = ~uint64_t{0} >> (64 - bits);
  const uint64_t greatest = IsSignedInteger(accumulator) ? all >> 1 : all;
  return least ? greatest : ~greatest & all;
}

Op OpOf(Reduction op) {
  switch (op) {
    case Reduction::kProd:
      return Op::kMul;
    case Reduction::kMin:
      return Op::kMin;
    case Reduction::kMax:
      return Op::kMax;
    case Reduction::kAny:
      return Op::kBitOr;
    case Reduction::kAll:
      return Op::kBitAnd;
    default:
      return Op::kAdd;
  }
}

}  // namespace

DType Monoid::accumulator() const {
  switch (op_) {
    case Reduction::kAny:
    case Reduction::kAll:
      return DType::kBool;
    case Reduction::kCount:
      return DType::kInt64;
    case Reduction::kMin:
    case Reduction::kMax:
    case Reduction::kArgmin:
    case Reduction::kArgmax:
      return operand() == DType::kBool ? DType::kInt32 : operand();
    case Reduction::kCustom:
      return operand();
    default:
      break;
  }
  if (IsHalf(operand())) return DType::kFloat32;
  if (operand() != DType::kBool && !IsInteger(operand())) return operand();
  if (op_ == Reduction::kMean) return DType::kFloat64;
  return operand() == DType::kBool || IsSignedInteger(operand()) ? DType::kInt64 : DType::kUInt64;
}

DType Monoid::result() const { return IsHalf(operand()) && !WantsBools(op_) ? operand() : accumulator(); }

absl::InlinedVector<DType, 2> Monoid::types() const {
  if (op_ == Reduction::kCustom) return types_;
  if (IsPosition(op_)) return {accumulator(), DType::kInt64};
  return {accumulator()};
}

ReductionState Monoid::Start(Builder& builder) const {
  if (op_ == Reduction::kCustom) return start_(builder);
  const DType dtype = accumulator();
  const ValueId start = IsComplex(dtype) ? builder.Cast(dtype, builder.Literal(int64_t{op_ == Reduction::kProd}))
                                         : builder.Constant(dtype, StartOf(op_, dtype));
  if (!IsPosition(op_)) return {start};
  return {start, builder.Literal(int64_t{-1})};
}

ReductionState Monoid::Of(Builder& builder, absl::Span<const ValueId> operand, ValueId position) const {
  if (op_ == Reduction::kCustom) {
    ReductionState state;
    for (size_t part = 0; part < types_.size(); ++part) state.push_back(builder.Cast(types_[part], operand[part]));
    return state;
  }
  const DType dtype = accumulator();
  const ValueId value = builder.Cast(dtype, operand[0]);
  if (!IsPosition(op_)) return {value};
  position = builder.Cast(DType::kInt64, position);
  if (IsFloat(dtype)) {  // NaNs are no candidates.
    position = builder.Apply(
        Op::kSelect, {builder.Apply(Op::kIsnan, {value}), builder.Constant(DType::kInt64, ~uint64_t{0}), position});
  }
  return {value, position};
}

ReductionState Monoid::Merge(Builder& builder, const ReductionState& a, const ReductionState& b) const {
  if (op_ == Reduction::kCustom) return merge_(builder, a, b);
  if (!IsPosition(op_)) return {builder.Apply(OpOf(op_), {a[0], b[0]})};
  const auto both = [&](ValueId x, ValueId y) { return builder.Apply(Op::kBitAnd, {x, y}); };
  const auto either = [&](ValueId x, ValueId y) { return builder.Apply(Op::kBitOr, {x, y}); };
  const ValueId zero = builder.Constant(DType::kInt64, 0);
  const ValueId better = builder.Apply(op_ == Reduction::kArgmin ? Op::kLt : Op::kGt, {b[0], a[0]});
  const ValueId earlier = both(builder.Apply(Op::kEq, {b[0], a[0]}), builder.Apply(Op::kLt, {b[1], a[1]}));
  const ValueId alone = builder.Apply(Op::kLt, {a[1], zero});
  const ValueId second = both(builder.Apply(Op::kGe, {b[1], zero}), either(alone, either(better, earlier)));
  return {builder.Apply(Op::kSelect, {second, b[0], a[0]}), builder.Apply(Op::kSelect, {second, b[1], a[1]})};
}

// Positions ascend: of equals the first one stays, and only whether there is one yet has to be asked.
ReductionState Monoid::Append(Builder& builder, const ReductionState& a, const ReductionState& operand) const {
  if (!IsPosition(op_)) return Merge(builder, a, operand);
  ValueId second = ir::kNone;
  if (IsFloat(accumulator())) {  // What is not behind, or beside a NaN; a NaN of the operand's is no candidate.
    const Op behind = op_ == Reduction::kArgmin ? Op::kLe : Op::kGe;
    second = builder.Apply(Op::kBitAnd, {builder.Apply(Op::kNot, {builder.Apply(behind, {a[0], operand[0]})}),
                                         builder.Apply(Op::kEq, {operand[0], operand[0]})});
  } else {
    const Op better = op_ == Reduction::kArgmin ? Op::kLt : Op::kGt;
    second = builder.Apply(Op::kBitOr, {builder.Apply(better, {operand[0], a[0]}),
                                        builder.Apply(Op::kLt, {a[1], builder.Constant(DType::kInt64, 0)})});
  }
  return {builder.Apply(Op::kSelect, {second, operand[0], a[0]}),
          builder.Apply(Op::kSelect, {second, operand[1], a[1]})};
}

ReductionState Monoid::Results(Builder& builder, const ReductionState& state, ValueId count) const {
  if (op_ == Reduction::kCustom) return state;
  if (IsPosition(op_)) return {state[1]};
  ValueId result = state[0];
  if (op_ == Reduction::kMean) {
    const DType sum = accumulator();
    const DType dtype = IsComplex(sum) ? PartOf(sum) : sum;  // A real divisor stays real.
    result = builder.Apply(Op::kDiv, {result, builder.Cast(dtype, count)});
  }
  return {builder.Cast(this->result(), result)};
}

}  // namespace slipway::text
