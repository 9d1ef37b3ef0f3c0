// The part of the emitter that makes loops of reductions. Their rules stand in docs/language.md, "Reductions".
#include "jit/text/cat.h"
#include "jit/text/emitter.h"
#include "jit/text/functions.h"
#include "jit/text/monoid.h"

namespace slipway::text {
namespace {

using ir::kNone;
using ir::Op;
using ir::ValueId;

Reduction OperationOf(const Node& node) { return static_cast<Reduction>(node.detail); }
bool WantsOrder(Reduction op) { return IsPosition(op) || op == Reduction::kMin || op == Reduction::kMax; }

}  // namespace

void Emitter::DeclareAccumulator(OpenReduction& open) {
  const Monoid monoid = open.monoid();
  open.accumulator = builder_.NewVar(std::string(Name(monoid.op())), monoid.accumulator(), monoid.Start(builder_)[0]);
  if (IsPosition(monoid.op())) {
    open.position = builder_.NewVar("position", DType::kInt64, Int(-1));
    open.found = builder_.NewVar("found", DType::kBool, builder_.Constant(DType::kBool, 0));
  }
  if (CountsTurns(open)) open.turns = builder_.NewVar("turns", DType::kInt64, Int(0));
}

// Whether a variable counts how often the operand was evaluated: extents tell it, too, and one loop's index.
bool Emitter::CountsTurns(const OpenReduction& open) const {
  const Reduction op = OperationOf(*open.node);
  const bool over_axes = open.node->kind == NodeKind::kReduceAxes;
  return over_axes ? IsPosition(op) && (trial() || open.axes->reduced() > 1) : op == Reduction::kMean;
}

void Emitter::BeginReduction(const Node& node) {
  OpenReduction open{.node = &node, .slot = ReserveType()};
  if (!trial()) {
    open.operand = TypeOf(open.slot);
    if (node.kind == NodeKind::kReduceAxes) open.axes = &site_.reductions[node.symbol];
    if (open.axes == nullptr || site_.shared == nullptr) DeclareAccumulator(open);
  }
  reductions_.push_back(std::move(open));
}

void Emitter::BeginReductionLoop(const Node& node) {
  OpenReduction& open = reductions_.back();
  open.index = BeginFor(node, DType::kInt64);
  values_[node.symbol] = open.index;
  ++open.loops;
}

void Emitter::BeginAxes(uint32_t index, const Node& node, uint32_t& next) {
  const Indices* outer = &site_.indices;
  const uint32_t around = program_.axis_reductions[node.symbol].outer;
  if (around != AxisReduction::kNoReduction && !trial()) outer = &OpenAxes(around).indices;
  const Indices outer_indices = *outer;  // What it points to moves.
  const ValueId begin = builder_.num_instructions();
  const size_t visit = visits_++;
  if (site_.shared != nullptr && site_.shared->pass == SharedReductions::Pass::kResults) {
    const Typing::ReductionSlots& slots = typing_->reductions[visit];
    next_type_ = slots.end;
    next = EndOf(index) + 1;
    const Monoid monoid(OperationOf(node), TypeOf(slots.begin));
    return Push(monoid.Result(builder_, site_.shared->states[node.symbol], site_.shared->count));
  }
  BeginReduction(node);
  reductions_.back().visit = visit;
  if (trial()) {
    slots_.push_back({.reduction = node.symbol, .begin = reductions_.back().slot});
    return;
  }
  OpenReduction& open = reductions_.back();
  open.emitted = {.reduction = node.symbol, .begin = begin};
  const ReductionBinding& axes = *open.axes;
  open.indices.assign(axes.rank, kNone);
  for (int d = 0; d < axes.rank; ++d) {
    if (axes.outer[d] == ReductionBinding::kReduced) continue;
    open.indices[d] = axes.outer[d] == ReductionBinding::kSingle ? builder_.Constant(site_.index_type, 0)
                                                                 : outer_indices[axes.outer[d]];
  }
  if (site_.shared != nullptr) {
    PlaceOperand(open, site_.shared->number);
  } else {
    for (int d = 0; d < axes.rank; ++d) {
      if (axes.outer[d] != ReductionBinding::kReduced) continue;
      open.index = open.indices[d] = builder_.BeginFor("axis", site_.index_type, Int(0), ExtentOf(axes, d), Int(1));
      ++open.loops;
    }
  }
  open.emitted.operand_begin = builder_.num_instructions();
}

// The node that ends what begins at one.
uint32_t Emitter::EndOf(uint32_t begin) const {
  int open = 0;
  for (uint32_t i = begin;; ++i) {
    const NodeKind kind = program_.nodes[i].kind;
    open += kind == NodeKind::kReduceAxes || kind == NodeKind::kReduceBegin;
    if (kind == NodeKind::kReduceEnd && --open == 0) return i;
  }
}

// Where the operand's element of that number is. Unsigned, because dividing such numbers is cheaper.
void Emitter::PlaceOperand(OpenReduction& open, ValueId number) {
  const ReductionBinding& axes = *open.axes;
  const DType index = site_.index_type;
  const DType counter = index == DType::kInt32 ? DType::kUInt32 : DType::kUInt64;
  int left = axes.reduced();
  ValueId rest = left > 1 ? builder_.Cast(counter, number) : number;
  for (int d = axes.rank - 1; d >= 0; --d) {
    if (axes.outer[d] != ReductionBinding::kReduced) continue;
    if (--left == 0) {
      open.indices[d] = builder_.Cast(index, rest);
      break;
    }
    const ValueId extent = builder_.Cast(counter, ExtentOf(axes, d));
    const ValueId quotient = builder_.Apply(Op::kDiv, {rest, extent});
    open.indices[d] =
        builder_.Cast(index, builder_.Apply(Op::kSub, {rest, builder_.Apply(Op::kMul, {quotient, extent})}));
    rest = quotient;
  }
}

ValueId Emitter::ExtentOf(const ReductionBinding& axes, int dimension) {
  return builder_.Cast(site_.index_type, builder_.Shape(axes.AnyArray(), dimension));
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
    if (open.node->kind == NodeKind::kReduceAxes) slots_[open.visit].end = next_type_;
    if (value == kNone || !CheckReduction(*open.node, open.operand)) {
      for (int i = 0; i < open.loops; ++i) builder_.EndFor();
      reductions_.pop_back();
      return Push(kNone);
    }
  }
  if (open.axes != nullptr && site_.shared != nullptr) {  // What it becomes is the kernel's affair.
    const Monoid monoid = open.monoid();
    site_.shared->states[open.node->symbol] = monoid.Of(builder_, value, site_.shared->position);
    reductions_.pop_back();
    // Until all operands are known, any value stands for it; no operand hangs on it.
    return Push(monoid.Result(builder_, monoid.Start(builder_), Int(1)));
  }
  if (trial()) {  // The types of what a turn computes; the variables come only now.
    Combine(open, builder_.Cast(open.monoid().accumulator(), value), value);
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
  const Monoid monoid = open.monoid();
  if (IsPosition(monoid.op())) return builder_.Apply(Op::kLt, {accumulator, value});
  return monoid.Merge(builder_, {accumulator}, {builder_.Cast(monoid.accumulator(), value)})[0];
}

// The first of the least, or of the greatest; numbers before NaNs.
void Emitter::CombinePosition(const OpenReduction& open, ValueId value) {
  const Reduction op = OperationOf(*open.node);
  const DType dtype = open.monoid().accumulator();
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
  const Monoid monoid = open.monoid();
  if (IsPosition(monoid.op())) return builder_.Read(open.position);
  const ValueId turns = monoid.op() == Reduction::kMean ? TurnsOf(open) : kNone;
  return monoid.Result(builder_, {builder_.Read(open.accumulator)}, turns);
}

// How many operands there were.
ValueId Emitter::TurnsOf(const OpenReduction& open) {
  if (CountsTurns(open)) return builder_.Read(open.turns);
  if (trial()) return builder_.Constant(DType::kInt64, 1);
  ValueId turns = builder_.Constant(DType::kInt64, 1);
  for (int d = 0; d < open.axes->rank; ++d) {
    if (open.axes->outer[d] != ReductionBinding::kReduced) continue;
    turns = builder_.Apply(Op::kMul, {turns, builder_.Shape(open.axes->AnyArray(), d)});
  }
  return turns;
}

std::vector<Monoid> MonoidsOf(const Program& program, const Typing& typing) {
  std::vector<Monoid> monoids;
  for (const AxisReduction& reduction : program.axis_reductions) monoids.push_back({reduction.reduction, DType::kVoid});
  for (const Typing::ReductionSlots& slots : typing.reductions) {
    const Reduction op = program.axis_reductions[slots.reduction].reduction;
    monoids[slots.reduction] = Monoid(op, typing.variables[slots.begin]);
  }
  return monoids;
}

}  // namespace slipway::text
