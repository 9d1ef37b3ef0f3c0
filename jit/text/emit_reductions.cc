// The part of the emitter that makes loops of reductions. Their rules stand in docs/language.md, "Reductions".
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "jit/text/cat.h"
#include "jit/text/emitter.h"
#include "jit/text/functions.h"
#include "jit/text/monoid.h"

namespace slipway::text {
namespace {

using ir::Builder;
using ir::kNone;
using ir::Op;
using ir::ValueId;

Reduction ReductionOf(const Node& node) { return static_cast<Reduction>(node.detail); }
bool WantsOrder(Reduction op) { return IsPosition(op) || op == Reduction::kMin || op == Reduction::kMax; }

// Of the reduction whose first variable is `slot`. The site, where it is not null, is where its states are merged.
Monoid MonoidAt(const Program& program, const Typing& typing, std::shared_ptr<const Site> site, Reduction reduction,
                const Operation* operation, size_t slot) {
  if (operation == nullptr) return {reduction, typing.variables[slot]};
  const Typing::OperationTypes& types = typing.operations.at(slot);
  const auto start = [&types](Builder& builder) {
    ReductionState state;
    for (const EmittedValue& value : types.identity) state.push_back(RemakeConstant(builder, value));
    return state;
  };
  const auto merge = [&program, &typing, &types, operation, site = std::move(site)](
                         Builder& builder, const ReductionState& a, const ReductionState& b) {
    ReductionState states = a;
    states.insert(states.end(), b.begin(), b.end());
    ReductionState merged = Emitter(program, &typing, *site, builder).Merge(*operation, states, types.begin);
    for (size_t part = 0; part < merged.size(); ++part) merged[part] = builder.Cast(types.types[part], merged[part]);
    return merged;
  };
  return {types.types, start, merge};
}

}  // namespace

const Operation* Emitter::OperationOf(const Node& node) const {
  if (ReductionOf(node) != Reduction::kCustom) return nullptr;
  const bool over_axes = node.kind == NodeKind::kReduceAxes;
  return &program_.operations[over_axes ? program_.axis_reductions[node.symbol].operation : node.symbol];
}

Monoid Emitter::MonoidOf(const OpenReduction& open) const {
  if (!trial()) {
    const std::shared_ptr<const Site> site(std::shared_ptr<const Site>(), &site_);
    return MonoidAt(program_, *typing_, site, ReductionOf(*open.node), open.operation, open.slot);
  }
  if (open.operation == nullptr) return {ReductionOf(*open.node), open.operand};
  const auto start = [&identity = open.identity](Builder&) { return identity; };
  return {operations_.at(open.slot).types, start, nullptr};
}

void Emitter::DeclareAccumulator(OpenReduction& open) {
  const Monoid monoid = MonoidOf(open);
  const auto types = monoid.types();
  const ReductionState start = monoid.Start(builder_);
  for (size_t part = 0; part < types.size(); ++part) {
    const std::string name(part != 0 && IsPosition(monoid.op()) ? "position" : Name(monoid.op()));
    open.accumulator.push_back(builder_.NewVar(name, types[part], start[part]));
  }
  if (IsPosition(monoid.op())) {
    open.found = builder_.NewVar("found", DType::kBool, builder_.Constant(DType::kBool, 0));
  }
  if (CountsTurns(open)) open.turns = builder_.NewVar("turns", DType::kInt64, Int(0));
}

// Whether a variable counts how often the operand was evaluated: extents tell it, too, and one loop's index.
bool Emitter::CountsTurns(const OpenReduction& open) const {
  const Reduction op = ReductionOf(*open.node);
  const bool over_axes = open.node->kind == NodeKind::kReduceAxes;
  return over_axes ? IsPosition(op) && (trial() || open.axes->reduced() > 1) : op == Reduction::kMean;
}

void Emitter::BeginReduction(const Node& node) {
  OpenReduction open{.node = &node, .slot = ReserveType(), .operation = OperationOf(node)};
  if (open.operation != nullptr) open.identity = PopLast(open.parts());
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
    stack_.resize(stack_.size() - node.count);  // An identity.
    const Monoid monoid = MonoidAt(program_, *typing_, nullptr, ReductionOf(node), OperationOf(node), slots.begin);
    return PushAll(monoid.Results(builder_, site_.shared->states[node.symbol], site_.shared->count));
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
bool Emitter::CheckReduction(OpenReduction& open, const ReductionState& values) {
  if (open.operation != nullptr) return FindOperation(open, values);
  const Node& node = *open.node;
  const DType operand = open.operand;
  const Reduction op = ReductionOf(node);
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

// A value of an operation, as the type that its states have there: a literal takes it, others have to have it.
bool Emitter::CheckPart(const Node& node, DType dtype, ValueId value, const std::string& what) {
  if (value == kNone) return false;  // A mistake that has been told.
  if (builder_.IsLiteral(value)) {
    builder_.ConvertForStore(dtype, value, what);
    if (builder_.status().ok()) return true;
    TakeError(node);
    return false;
  }
  const DType given = builder_.TypeOf(value);
  if (given == dtype) return true;
  AddMistake(node,
             program_.source.ErrorAt(
                 node.span, Cat(what, " is ", slipway::Name(given), ", and what is reduced ", slipway::Name(dtype)),
                 Cat("they have to agree: write ", slipway::Name(dtype), "(...) there, or ", slipway::Name(given),
                     "(...) around what is reduced")));
  return false;
}

// The types of a reduction by an operation of the text's own, which is called once to see them.
bool Emitter::FindOperation(OpenReduction& open, const ReductionState& operand) {
  const Node& node = *open.node;
  const std::string name(program_.source.TextOf(open.operation->span));
  const auto part_of = [&](std::string_view what, size_t part) {
    return open.parts() == 1 ? Cat("the ", what, " of ", name) : Cat(what, " ", part + 1, " of ", name);
  };
  Typing::OperationTypes types;
  ReductionState states;
  for (size_t part = 0; part < operand.size(); ++part) {
    if (operand[part] == kNone) return false;
    const DType dtype = builder_.TypeOf(operand[part]);
    if (!CheckPart(node, dtype, open.identity[part], part_of("identity", part))) return false;
    open.identity[part] = builder_.Cast(dtype, open.identity[part]);
    types.types.push_back(dtype);
    types.identity.push_back(NoteValue(builder_, open.identity[part]));
    if (types.identity.back().constant_type == DType::kVoid) {
      AddMistake(node, program_.source.ErrorAt(node.span,
                                               Cat(part_of("identity", part), " is not known before the kernel runs"),
                                               "write the number that it is"));
      return false;
    }
    // What it is called with has types of its own, and values that nobody knows.
    states.push_back(builder_.Read(builder_.NewVar("state", dtype, builder_.Cast(dtype, operand[part]))));
  }
  states.insert(states.end(), states.begin(), states.end());
  types.begin = next_type_;
  const ReductionState merged = CallOperation(*open.operation, states, open.node->span);
  TakeError(node);
  types.end = next_type_;
  for (size_t part = 0; part < merged.size(); ++part) {
    if (!CheckPart(node, types.types[part], merged[part], part_of("result", part))) return false;
  }
  operations_.emplace(open.slot, std::move(types));
  return true;
}

void Emitter::EndReduction() {
  OpenReduction open = std::move(reductions_.back());
  const ReductionState operand = PopLast(open.parts());
  if (!builder_.status().ok()) return;  // Told by Run.
  if (open.axes != nullptr) {
    open.emitted.operand_end = builder_.num_instructions();
    open.emitted.operand = NoteValue(builder_, operand[0]);
  }
  if (trial()) {
    open.operand = builder_.TypeOf(operand[0]);
    FindType(open.slot, open.operand);
    const bool fits = operand[0] != kNone && CheckReduction(open, operand);
    if (open.node->kind == NodeKind::kReduceAxes) slots_[open.visit].end = next_type_;
    if (!fits) {
      for (int i = 0; i < open.loops; ++i) builder_.EndFor();
      reductions_.pop_back();
      return PushAll(ReductionState(open.parts(), kNone));
    }
  } else if (open.operation != nullptr) {
    next_type_ = typing_->operations.at(open.slot).end;
  }
  if (open.axes != nullptr && site_.shared != nullptr) {  // What it becomes is the kernel's affair.
    const Monoid monoid = MonoidOf(open);
    site_.shared->states[open.node->symbol] = monoid.Of(builder_, operand, site_.shared->position);
    reductions_.pop_back();
    // Until all operands are known, any value stands for it; no operand hangs on it.
    return PushAll(monoid.Results(builder_, monoid.Start(builder_), Int(1)));
  }
  Combine(open, operand);
  if (!trial() && CountsTurns(open)) {
    builder_.Write(open.turns, builder_.Apply(Op::kAdd, {builder_.Read(open.turns), Int(1)}));
  }
  for (int i = 0; i < open.loops; ++i) builder_.EndFor();
  if (trial()) DeclareAccumulator(open);
  reductions_.pop_back();
  PushAll(ResultsOf(open));
  if (open.axes == nullptr) return;
  open.emitted.end = builder_.num_instructions();
  open.emitted.result = stack_.back();
  emitted_.push_back(open.emitted);
}

// One operand more. The variables of a trial run come only behind the loops: it is about types, of which those of the
// text's own operations are known already.
void Emitter::Combine(const OpenReduction& open, const ReductionState& operand) {
  const Monoid monoid = MonoidOf(open);
  if (trial()) {
    if (open.operation != nullptr) return;
    const ValueId value = builder_.Cast(monoid.accumulator(), operand[0]);
    if (IsPosition(monoid.op())) {
      builder_.Apply(Op::kLt, {value, value});
    } else {
      monoid.Merge(builder_, {value}, {value});
    }
    return;
  }
  if (IsPosition(monoid.op())) return CombinePosition(open, operand[0]);
  ReductionState before;
  for (ir::VarId part : open.accumulator) before.push_back(builder_.Read(part));
  const ReductionState merged = monoid.Merge(builder_, before, monoid.Of(builder_, operand, kNone));
  for (size_t part = 0; part < merged.size(); ++part) builder_.Write(open.accumulator[part], merged[part]);
}

// The first of the least, or of the greatest; numbers before NaNs.
void Emitter::CombinePosition(const OpenReduction& open, ValueId value) {
  const Reduction op = ReductionOf(*open.node);
  const DType dtype = MonoidOf(open).accumulator();
  const ValueId operand = builder_.Cast(dtype, value);
  const ValueId best = builder_.Read(open.accumulator[0]);
  const ValueId less = builder_.Apply(op == Reduction::kArgmin ? Op::kLt : Op::kGt, {operand, best});
  const ValueId first = IsFloat(dtype) ? builder_.Apply(Op::kBitAnd, {builder_.Apply(Op::kIsnan, {best}),
                                                                      builder_.Apply(Op::kEq, {operand, operand})})
                                       : builder_.Apply(Op::kNot, {builder_.Read(open.found)});
  // Of an array without dimensions there is no index.
  const ValueId index = CountsTurns(open)     ? builder_.Read(open.turns)
                        : open.index == kNone ? Int(0)
                                              : builder_.Cast(DType::kInt64, open.index);
  builder_.BeginIf(builder_.Apply(Op::kBitOr, {less, first}));
  builder_.Write(open.accumulator[0], operand);
  builder_.Write(open.accumulator[1], index);
  builder_.Write(open.found, builder_.Constant(DType::kBool, 1));
  builder_.EndIf();
}

ReductionState Emitter::ResultsOf(const OpenReduction& open) {
  const Monoid monoid = MonoidOf(open);
  if (IsPosition(monoid.op())) return {builder_.Read(open.accumulator[1])};
  const ValueId turns = monoid.op() == Reduction::kMean ? TurnsOf(open) : kNone;
  ReductionState state;
  for (ir::VarId part : open.accumulator) state.push_back(builder_.Read(part));
  return monoid.Results(builder_, state, turns);
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

std::vector<Monoid> MonoidsOf(const Program& program, const Typing& typing, const Site& site) {
  const auto shared = std::make_shared<const Site>(site);
  std::vector<Monoid> monoids;
  for (const AxisReduction& reduction : program.axis_reductions) {
    monoids.push_back({reduction.reduction, DType::kVoid});
  }
  for (const Typing::ReductionSlots& slots : typing.reductions) {
    const AxisReduction& reduction = program.axis_reductions[slots.reduction];
    const bool custom = reduction.reduction == Reduction::kCustom;
    monoids[slots.reduction] = MonoidAt(program, typing, shared, reduction.reduction,
                                        custom ? &program.operations[reduction.operation] : nullptr, slots.begin);
  }
  return monoids;
}

}  // namespace slipway::text
