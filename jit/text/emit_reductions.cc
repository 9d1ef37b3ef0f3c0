// The part of the emitter that makes loops of reductions. Their rules stand in docs/language.md, "Reductions".
#include <limits>

#include "jit/fold.h"
#include "jit/semantics.h"
#include "jit/text/cat.h"
#include "jit/text/emitter.h"
#include "jit/text/functions.h"

namespace slipway::text {
namespace {

using ir::kNone;
using ir::Op;
using ir::ValueId;

Reduction OperationOf(const Node& node) { return static_cast<Reduction>(node.detail); }
bool WantsBools(Reduction op) { return op == Reduction::kAny || op == Reduction::kAll || op == Reduction::kCount; }
bool IsPosition(Reduction op) { return op == Reduction::kArgmin || op == Reduction::kArgmax; }
bool WantsOrder(Reduction op) { return IsPosition(op) || op == Reduction::kMin || op == Reduction::kMax; }

// What operands of a type are brought together in: integers of sums and products in 64 bits, halves in float32.
DType AccumulatorType(Reduction op, DType operand) {
  switch (op) {
    case Reduction::kAny:
    case Reduction::kAll:
      return DType::kBool;
    case Reduction::kCount:
      return DType::kInt64;
    case Reduction::kMin:
    case Reduction::kMax:
    case Reduction::kArgmin:
    case Reduction::kArgmax:
      return operand == DType::kBool ? DType::kInt32 : operand;
    default:
      break;
  }
  if (operand == DType::kFloat16 || operand == DType::kBFloat16) return DType::kFloat32;
  if (operand != DType::kBool && !IsInteger(operand)) return operand;
  if (op == Reduction::kMean) return DType::kFloat64;
  return operand == DType::kBool || IsSignedInteger(operand) ? DType::kInt64 : DType::kUInt64;
}

// The type of the result, where it is not the accumulator's.
DType ResultType(Reduction op, DType operand) {
  if (IsPosition(op)) return DType::kInt64;
  const bool half = operand == DType::kFloat16 || operand == DType::kBFloat16;
  return half && !WantsBools(op) ? operand : AccumulatorType(op, operand);
}

// What changes nothing; of no operands at all the result. The least and the greatest of floats begin with NaN, which
// any number replaces.
uint64_t StartOf(Reduction op, DType accumulator) {
  if (op == Reduction::kAll) return 1;
  if (op == Reduction::kProd) {
    return IsFloat(accumulator) ? ir::FloatToBits(accumulator, 1) : 1;
  }
  const bool least = op == Reduction::kMin || op == Reduction::kArgmin;
  if (!least && op != Reduction::kMax && op != Reduction::kArgmax) return 0;
  if (IsFloat(accumulator)) return ir::FloatToBits(accumulator, std::numeric_limits<double>::quiet_NaN());
  const int bits = 8 * static_cast<int>(SizeOf(accumulator));
  const uint64_t all = ~uint64_t{0} >> (64 - bits);
  const uint64_t greatest = IsSignedInteger(accumulator) ? all >> 1 : all;
  return least ? greatest : ~greatest & all;
}

}  // namespace

void Emitter::DeclareAccumulator(OpenReduction& open) {
  const Reduction op = OperationOf(*open.node);
  const DType dtype = AccumulatorType(op, open.operand);
  const ValueId start = IsComplex(dtype) ? builder_.Cast(dtype, Int(op == Reduction::kProd ? 1 : 0))
                                         : builder_.Constant(dtype, StartOf(op, dtype));
  open.accumulator = builder_.NewVar(std::string(Name(op)), dtype, start);
  if (IsPosition(op)) {
    open.position = builder_.NewVar("position", DType::kInt64, Int(-1));
    open.found = builder_.NewVar("found", DType::kBool, builder_.Constant(DType::kBool, 0));
  }
  if (CountsTurns(open)) open.turns = builder_.NewVar("turns", DType::kInt64, Int(0));
}

// Whether a variable counts how often the operand was evaluated: extents tell it, too, and one loop's index.
bool Emitter::CountsTurns(const OpenReduction& open) const {
  const Reduction op = OperationOf(*open.node);
  const bool over_axes = open.node->kind == NodeKind::kReduceAxes;
  return over_axes ? IsPosition(op) && (trial() || __builtin_popcount(open.axes->reduced) > 1) : op == Reduction::kMean;
}

void Emitter::BeginReduction(const Node& node) {
  OpenReduction open{.node = &node, .slot = ReserveType()};
  if (!trial()) {
    open.operand = TypeOf(open.slot);
    if (node.kind == NodeKind::kReduceAxes) open.axes = &site_.reductions[node.symbol];
    DeclareAccumulator(open);
  }
  reductions_.push_back(std::move(open));
}

void Emitter::BeginReductionLoop(const Node& node) {
  OpenReduction& open = reductions_.back();
  open.index = BeginFor(node, DType::kInt64);
  values_[node.symbol] = open.index;
  ++open.loops;
}

void Emitter::BeginAxes(const Node& node) {
  const Indices* outer = &site_.indices;
  const uint32_t around = program_.axis_reductions[node.symbol].outer;
  if (around != AxisReduction::kNoReduction && !trial()) outer = &OpenAxes(around).indices;
  const Indices outer_indices = *outer;  // What it points to moves.
  const ValueId begin = builder_.num_instructions();
  BeginReduction(node);
  if (trial()) return;
  OpenReduction& open = reductions_.back();
  open.emitted = {.reduction = node.symbol, .begin = begin};
  const ReductionBinding& axes = *open.axes;
  ir::ArrayId any = kNone;
  for (ir::ArrayId array : axes.arrays) {
    if (array != kNone) any = array;
  }
  const bool kept = program_.axis_reductions[node.symbol].keep_dimensions;
  const int result_rank = kept ? axes.rank : axes.rank - __builtin_popcount(axes.reduced);
  int result_dimension = 0;
  open.indices.assign(axes.rank, kNone);
  for (int d = 0; d < axes.rank; ++d) {
    if (axes.reduced & (uint32_t{1} << d)) {
      const ValueId extent = builder_.Cast(site_.index_type, builder_.Shape(any, d));
      open.index = open.indices[d] = builder_.BeginFor("axis", site_.index_type, Int(0), extent, Int(1));
      ++open.loops;
      result_dimension += kept;
    } else {
      // Shapes are aligned at the last dimension.
      open.indices[d] = outer_indices[axes.outer_rank - result_rank + result_dimension++];
    }
  }
  open.emitted.operand_begin = builder_.num_instructions();
}

const Emitter::OpenReduction& Emitter::OpenAxes(uint32_t reduction) const {
  const OpenReduction* open = &reductions_.back();
  while (open->axes != &site_.reductions[reduction]) --open;
  return *open;
}

ValueId Emitter::Element(const Node& node) {
  const ReducedArray& reduced = program_.reduced[node.symbol];
  if (!trial()) {
    const OpenReduction& open = OpenAxes(reduced.reduction);
    const ir::ParamId array = open.axes->arrays[node.symbol];
    if (array != kNone) return LoadFrom(array, open.indices);
  }
  return site_.inputs[reduced.input].value;
}

// Whether the operand is of a type that the operation takes.
bool Emitter::CheckReduction(const Node& node, DType operand) {
  const Reduction op = OperationOf(node);
  std::string message;
  const char* hint = nullptr;
  if (WantsBools(op) && operand != DType::kBool) {
    message = Cat(Name(op), " wants bools; ", slipway::Name(operand), " is given");
    hint = "compare it with 0";
  } else if (WantsOrder(op) && IsComplex(operand)) {
    message = Cat(Name(op), " does not take ", slipway::Name(operand));
    hint = "complex numbers have no order; take their abs, or their real and imag";
  } else {
    return true;
  }
  AddMistake(node, program_.source.ErrorAt(node.span, message, hint));
  return false;
}

void Emitter::EndReduction() {
  OpenReduction open = std::move(reductions_.back());
  const ValueId value = Pop();
  const Reduction op = OperationOf(*open.node);
  if (!builder_.status().ok()) return;  // Told by Run.
  if (open.axes != nullptr) {
    open.emitted.operand_end = builder_.num_instructions();
    open.emitted.operand = NoteValue(builder_, value);
  }
  if (trial()) {
    open.operand = builder_.TypeOf(value);
    FindType(open.slot, open.operand);
    if (value == kNone || !CheckReduction(*open.node, open.operand)) {
      for (int i = 0; i < open.loops; ++i) builder_.EndFor();
      reductions_.pop_back();
      return Push(kNone);
    }
  }
  if (trial()) {  // The types of what a turn computes; the variables come only now.
    Combine(open, builder_.Cast(AccumulatorType(op, open.operand), value), value);
  } else if (IsPosition(op)) {
    CombinePosition(open, value);
  } else {
    builder_.Write(open.accumulator, Combine(open, builder_.Read(open.accumulator), value));
  }
  if (!trial() && CountsTurns(open)) {
    builder_.Write(open.turns, builder_.Apply(Op::kAdd, {builder_.Read(open.turns), Int(1)}));
  }
  for (int i = 0; i < open.loops; ++i) builder_.EndFor();
  if (trial()) DeclareAccumulator(open);
  reductions_.pop_back();
  Push(ResultOf(open));
  if (open.axes == nullptr) return;
  open.emitted.end = builder_.num_instructions();
  open.emitted.result = stack_.back();
  emitted_.push_back(open.emitted);
}

ValueId Emitter::Combine(const OpenReduction& open, ValueId accumulator, ValueId value) {
  const Reduction op = OperationOf(*open.node);
  const DType dtype = AccumulatorType(op, open.operand);
  const ValueId operand = builder_.Cast(dtype, value);
  switch (op) {
    case Reduction::kProd:
      return builder_.Apply(Op::kMul, {accumulator, operand});
    case Reduction::kMin:
      return builder_.Apply(Op::kMin, {accumulator, operand});
    case Reduction::kMax:
      return builder_.Apply(Op::kMax, {accumulator, operand});
    case Reduction::kAny:
      return builder_.Apply(Op::kBitOr, {accumulator, operand});
    case Reduction::kAll:
      return builder_.Apply(Op::kBitAnd, {accumulator, operand});
    case Reduction::kArgmin:
    case Reduction::kArgmax:
      return builder_.Apply(Op::kLt, {accumulator, operand});
    default:
      return builder_.Apply(Op::kAdd, {accumulator, operand});
  }
}

// The first of the least, or of the greatest; numbers before NaNs.
void Emitter::CombinePosition(const OpenReduction& open, ValueId value) {
  const Reduction op = OperationOf(*open.node);
  const DType dtype = AccumulatorType(op, open.operand);
  const ValueId operand = builder_.Cast(dtype, value);
  const ValueId best = builder_.Read(open.accumulator);
  const ValueId less = builder_.Apply(op == Reduction::kArgmin ? Op::kLt : Op::kGt, {operand, best});
  const ValueId first = IsFloat(dtype) ? builder_.Apply(Op::kBitAnd, {builder_.Apply(Op::kIsnan, {best}),
                                                                      builder_.Apply(Op::kEq, {operand, operand})})
                                       : builder_.Apply(Op::kNot, {builder_.Read(open.found)});
  // Of an array without dimensions there is no index.
  const ValueId index = CountsTurns(open)     ? builder_.Read(open.turns)
                        : open.index == kNone ? Int(0)
                                              : builder_.Cast(DType::kInt64, open.index);
  builder_.BeginIf(builder_.Apply(Op::kBitOr, {less, first}));
  builder_.Write(open.accumulator, operand);
  builder_.Write(open.position, index);
  builder_.Write(open.found, builder_.Constant(DType::kBool, 1));
  builder_.EndIf();
}

ValueId Emitter::ResultOf(const OpenReduction& open) {
  const Reduction op = OperationOf(*open.node);
  if (IsPosition(op)) return builder_.Read(open.position);
  ValueId result = builder_.Read(open.accumulator);
  if (op == Reduction::kMean) {
    const DType sum = builder_.VarType(open.accumulator);
    const DType dtype = IsComplex(sum) ? PartOf(sum) : sum;  // A real divisor stays real.
    result = builder_.Apply(Op::kDiv, {result, builder_.Cast(dtype, TurnsOf(open))});
  }
  return builder_.Cast(ResultType(op, open.operand), result);
}

// How many operands there were.
ValueId Emitter::TurnsOf(const OpenReduction& open) {
  if (CountsTurns(open)) return builder_.Read(open.turns);
  if (trial()) return builder_.Constant(DType::kInt64, 1);
  ir::ArrayId any = kNone;
  for (ir::ArrayId array : open.axes->arrays) {
    if (array != kNone) any = array;
  }
  ValueId turns = builder_.Constant(DType::kInt64, 1);
  for (int d = 0; d < open.axes->rank; ++d) {
    if (open.axes->reduced & (uint32_t{1} << d)) turns = builder_.Apply(Op::kMul, {turns, builder_.Shape(any, d)});
  }
  return turns;
}

}  // namespace slipway::text
