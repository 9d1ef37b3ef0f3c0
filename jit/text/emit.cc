#include "jit/text/emit.h"

#include <algorithm>
#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "driver/check.h"
#include "driver/status_macros.h"
#include "jit/text/cat.h"
#include "jit/text/emitter.h"

namespace slipway::text {

using ir::Builder;
using ir::kNone;
using ir::Op;
using ir::ValueId;

namespace {

// Whether it is a mistake in the text, beside which there may be others; not one of the limits.
bool IsUsers(const absl::Status& status) { return absl::IsInvalidArgument(status) || absl::IsOutOfRange(status); }

}  // namespace

Emitter::Emitter(const Program& program, const Typing* typing, const Site& site, Builder& builder)
    : program_(program), typing_(typing), site_(site), builder_(builder) {
  values_.resize(program.symbols.size(), kNone);
  vars_.resize(program.symbols.size(), kNone);
  arrays_.resize(program.symbols.size(), kNone);
  outputs_.resize(program.outputs.size(), kNone);
}

bool Emitter::Run() {
  for (uint32_t i = 0; i < program_.nodes.size();) {
    const Node& node = program_.nodes[i];
    builder_.SetLocation(program_.source.LocationOfToken(node.span.offset));
    uint32_t next = i + 1;
    Visit(i, node, next);
    TakeError(node);
    if (!first_mistake_.ok() && (!trial() || mistakes_.full() || !IsUsers(first_mistake_))) return false;
    if (HasAllOperands()) return true;
    i = next;
  }
  SLIPWAY_CHECK(stack_.empty(), "the text front end left values on its stack");
  return true;
}

// What comes behind the last operand is of no use to who wants operands.
bool Emitter::HasAllOperands() const {
  return site_.shared != nullptr && site_.shared->pass == SharedReductions::Pass::kOperands && reductions_.empty() &&
         visits_ == typing_->reductions.size();
}

absl::Status Emitter::Result() const { return mistakes_.count() == 1 ? first_mistake_ : mistakes_.ToStatus(); }

void Emitter::AddMistake(const Node& node, const absl::Status& status) {
  if (!told_.insert(&node).second) return;
  if (first_mistake_.ok() || !IsUsers(status)) first_mistake_ = status;
  mistakes_.Add(status, node.span.offset);
}

void Emitter::TakeError(const Node& node) {
  if (builder_.status().ok()) return;
  const absl::Status status = trial() ? builder_.TakeError() : builder_.status();
  std::string hint;
  if (!calls_.empty()) {
    hint =
        Cat("in ", calls_.back().function->name, ", called at ", program_.source.Position(calls_.back().span.offset));
  }
  const absl::Status placed = program_.source.ErrorAt(node.span, std::string(status.message()), hint);
  AddMistake(node, absl::Status(status.code(), placed.message()));
}

size_t Emitter::ReserveType() {
  if (trial()) variables_.push_back(DType::kVoid);
  return next_type_++;
}
void Emitter::FindType(size_t slot, DType dtype) {
  if (trial() && variables_[slot] == DType::kVoid) variables_[slot] = dtype;
}

ir::VarId Emitter::NewVariable(const char* name, DType dtype) {
  return builder_.NewVar(name, dtype, IsComplex(dtype) ? builder_.Cast(dtype, Int(0)) : builder_.Constant(dtype, 0));
}

ValueId Emitter::Pop() {
  SLIPWAY_CHECK(!stack_.empty(), "the text front end's stack is empty");
  const ValueId value = stack_.back();
  stack_.pop_back();
  return value;
}
ReductionState Emitter::PopLast(size_t count) {
  SLIPWAY_CHECK(stack_.size() >= count, "the text front end's stack has too few values");
  ReductionState values(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
  stack_.resize(stack_.size() - count);
  return values;
}
void Emitter::Replace(size_t count, ValueId value) {
  stack_.resize(stack_.size() - count);
  stack_.push_back(value);
}

void Emitter::Visit(uint32_t index, const Node& node, uint32_t& next) {
  switch (node.kind) {
    case NodeKind::kInteger:
      Push(IntegerLiteral(node));
      break;
    case NodeKind::kFloat:
      Push(builder_.Literal(std::bit_cast<double>(node.bits)));
      break;
    case NodeKind::kBool:
      Push(builder_.Literal(node.bits != 0));
      break;
    case NodeKind::kName:
      Push(ValueOf(node));
      break;
    case NodeKind::kElement:
      Push(Element(node));
      break;
    case NodeKind::kOperator:
      Replace(node.count, builder_.Apply(node.op, Last(node.count)));
      break;
    case NodeKind::kCast:
      Push(builder_.Cast(node.dtype, Pop(), node.cast));
      break;
    case NodeKind::kGather:
      Gather(node);
      break;
    case NodeKind::kQuery:
      Query(node);
      break;
    case NodeKind::kAtomic:
      Atomic(node);
      break;
    case NodeKind::kReduceBegin:
      BeginReduction(node);
      break;
    case NodeKind::kReduceFor:
      BeginReductionLoop(node);
      break;
    case NodeKind::kReduceAxes:
      BeginAxes(index, node, next);
      break;
    case NodeKind::kReduceEnd:
      EndReduction();
      break;
    case NodeKind::kBindArray:
      arrays_[node.symbol] = ArrayOf(node.begin);
      break;
    case NodeKind::kCall:
      BeginCall(node, next);
      break;
    case NodeKind::kExternal:
      Replace(node.count, builder_.Call(program_.externals[node.symbol], Last(node.count)));
      break;
    case NodeKind::kReturn:
      Return(node);
      break;
    case NodeKind::kFunctionEnd:
      EndCall(next);
      break;
    case NodeKind::kFunction:
      next = node.begin;
      break;
    case NodeKind::kChooseBegin:
    case NodeKind::kChooseElse:
    case NodeKind::kChooseEnd:
    case NodeKind::kAndBegin:
    case NodeKind::kAndEnd:
    case NodeKind::kOrBegin:
    case NodeKind::kOrEnd:
      VisitLazy(index, node);
      break;
    default:
      VisitStatement(node);
  }
}

ValueId Emitter::IntegerLiteral(const Node& node) {
  if (node.negative) return builder_.Literal(static_cast<int64_t>(uint64_t{0} - node.bits));
  if (node.bits <= static_cast<uint64_t>(INT64_MAX)) return builder_.Literal(static_cast<int64_t>(node.bits));
  return builder_.Literal(node.bits);
}

ValueId Emitter::ValueOf(const Node& node) {
  const Symbol& symbol = program_.symbols[node.symbol];
  if (symbol.kind == SymbolKind::kInput) return site_.inputs[symbol.index].value;
  if (symbol.kind == SymbolKind::kVariable) return builder_.Read(vars_[node.symbol]);
  if (symbol.constant && in_operation_ && !builder_.IsConstant(values_[node.symbol])) {
    AddMistake(node, program_.source.ErrorAt(node.span,
                                             Cat("'", symbol.name, "' is read by the operation of a reduction, and ",
                                                 "its value is not known before the kernel runs"),
                                             "write it there, as what it stands for"));
  }
  return values_[node.symbol];
}

// Lazily evaluated operands.

void Emitter::VisitLazy(uint32_t index, const Node& node) {
  const bool branches = node.lazy && !trial();
  switch (node.kind) {
    case NodeKind::kChooseBegin:
      CheckBool(node, "the condition of", "compare it with 0");
      if (node.lazy) BeginChoice(index);
      break;
    case NodeKind::kChooseElse:
      if (!trial() && !choices_.empty() && choices_.back().begin == node.begin) {
        WriteChoice();
        builder_.BeginElse();
      }
      break;
    case NodeKind::kChooseEnd:
      if (branches) {
        WriteChoice();
        EndLazy();
        break;
      }
      Replace(3, builder_.Apply(Op::kSelect, Last(3)));
      if (node.lazy) {
        FindType(choices_.back().slot, builder_.TypeOf(stack_.back()));
        choices_.pop_back();
      }
      break;
    case NodeKind::kAndBegin:
    case NodeKind::kOrBegin:
      CheckLogical(node, "the left side of");
      if (branches) BeginLogical(node.kind == NodeKind::kAndBegin);
      break;
    default:
      CheckLogical(node, "the right side of");
      if (branches) {
        builder_.Write(choices_.back().var, Pop());
        EndLazy();
      } else {
        Replace(2, builder_.Apply(node.kind == NodeKind::kAndEnd ? Op::kBitAnd : Op::kBitOr, Last(2)));
      }
  }
}

void Emitter::CheckBool(const Node& node, std::string_view what, std::string_view hint) {
  ValueId& value = stack_.back();
  const DType type = builder_.TypeOf(value);
  if (!builder_.status().ok() || type == DType::kBool) return;
  if (value != kNone) {
    const std::string message =
        Cat(what, " '", program_.source.TextOf(node.span), "' is ", Name(type), "; a bool is wanted");
    AddMistake(node, program_.source.ErrorAt(node.span, message, hint));
  }
  value = builder_.Constant(DType::kBool, 0);
}
void Emitter::CheckLogical(const Node& node, std::string_view side) {
  const std::string_view bitwise = program_.source.TextOf(node.span).substr(0, 1);
  CheckBool(node, side, Cat("compare it with 0, or write ", bitwise, " to combine bits"));
}

void Emitter::BeginChoice(uint32_t index) {
  choices_.push_back({.begin = index, .slot = ReserveType()});
  if (trial()) return;
  const ValueId condition = Pop();
  choices_.back().var = NewVariable("choice", TypeOf(choices_.back().slot));
  builder_.BeginIf(condition);
}
void Emitter::WriteChoice() {
  const ir::VarId var = choices_.back().var;
  if (builder_.status().ok()) builder_.Write(var, builder_.Cast(builder_.VarType(var), Pop()));
}
// a && b: the variable is false, and b where a holds; a || b: it is true, and b where a does not.
void Emitter::BeginLogical(bool is_and) {
  const ValueId left = Pop();
  choices_.push_back({.var = builder_.NewVar("condition", DType::kBool, builder_.Literal(!is_and)), .begin = kNone});
  builder_.BeginIf(is_and ? left : builder_.Apply(Op::kNot, {left}));
}
void Emitter::EndLazy() {
  builder_.EndIf();
  Push(builder_.Read(choices_.back().var));
  choices_.pop_back();
}

// Statements.

void Emitter::BeginIf(const Node& node) {
  const int depth = builder_.depth();
  builder_.BeginIf(Pop());
  if (!trial() || builder_.depth() > depth) return;
  TakeError(node);
  builder_.BeginIf(builder_.Constant(DType::kBool, 0));
}

ValueId Emitter::BeginFor(const Node& node, DType dtype) {
  const std::string& name = program_.symbols[node.symbol].name;
  const ValueId step = Pop(), end = Pop(), begin = Pop();
  const int depth = builder_.depth();
  const ValueId index = builder_.BeginFor(name, dtype, begin, end, step);
  if (!trial() || builder_.depth() > depth) return index;
  TakeError(node);
  return builder_.BeginFor(name, DType::kInt64, Int(0), Int(0), Int(1));
}

void Emitter::WhileCondition(const Node& node) {
  const ValueId condition = Pop();
  builder_.WhileCondition(condition);
  if (!trial() || (builder_.status().ok() && condition != kNone)) return;
  TakeError(node);
  builder_.WhileCondition(builder_.Constant(DType::kBool, 0));
}

void Emitter::VisitStatement(const Node& node) {
  const Symbol* const symbol = node.symbol < program_.symbols.size() ? &program_.symbols[node.symbol] : nullptr;
  switch (node.kind) {
    case NodeKind::kAssign:
      values_[node.symbol] = Pop();
      if (symbol->kind == SymbolKind::kOutput) outputs_[symbol->index] = values_[node.symbol];
      break;
    case NodeKind::kDeclare: {
      const ValueId value = Pop();
      if (symbol->kind == SymbolKind::kVariable) {
        vars_[node.symbol] = builder_.NewVar(symbol->name, node.dtype, value);
      } else if (builder_.status().ok()) {
        values_[node.symbol] = builder_.ConvertForStore(node.dtype, value, Cat("'", symbol->name, "'"));
      }
      break;
    }
    case NodeKind::kWrite:
      builder_.Write(vars_[node.symbol], Pop());
      break;
    case NodeKind::kStore: {
      const ValueId value = Pop();
      builder_.Store(ArrayOf(node.symbol), Last(node.count), value);
      stack_.resize(stack_.size() - node.count);
      break;
    }
    case NodeKind::kDrop:
      Pop();
      break;
    case NodeKind::kCheck: {
      const absl::Span<const ValueId> operands = Last(size_t{1} + node.count);
      builder_.Check(operands[0], program_.checks[node.symbol], operands.subspan(1), /*stops=*/true);
      stack_.resize(stack_.size() - operands.size());
      break;
    }
    case NodeKind::kIfBegin:
      BeginIf(node);
      break;
    case NodeKind::kElse:
      builder_.BeginElse();
      break;
    case NodeKind::kIfEnd:
      builder_.EndIf();
      break;
    case NodeKind::kForBegin:
      values_[node.symbol] = BeginFor(node, node.dtype);
      break;
    case NodeKind::kForEnd:
      builder_.EndFor();
      break;
    case NodeKind::kWhileBegin:
      builder_.BeginWhile();
      break;
    case NodeKind::kWhileBody:
      WhileCondition(node);
      break;
    case NodeKind::kWhileEnd:
      builder_.EndWhile();
      break;
    case NodeKind::kBreak:
      builder_.Break();
      break;
    case NodeKind::kContinue:
      builder_.Continue();
      break;
    default:
      SLIPWAY_CHECK(false, "the text front end has no statement of that kind");
  }
}

// Functions.

void Emitter::BeginCall(const Node& node, uint32_t& next) {
  const Function& function = program_.functions[node.symbol];
  for (size_t i = function.parameters.size(); i-- > 0;) {
    const uint32_t parameter = function.parameters[i];
    if (program_.symbols[parameter].kind != SymbolKind::kArray) values_[parameter] = Pop();
  }
  Call call{.function = &function, .return_to = next, .span = node.span};
  if (function.returns_early) {
    for (uint32_t i = 0; i < function.results; ++i) {
      const size_t slot = ReserveType();
      if (i == 0) call.slot = slot;
      if (!trial()) call.results.push_back(NewVariable("result", TypeOf(slot)));
    }
    builder_.BeginScope();
  }
  calls_.push_back(std::move(call));
  next = function.begin + 1;
}

void Emitter::Return(const Node& node) {
  Call& call = calls_.back();
  if (!call.function->returns_early) return;  // The values lie where the caller looks for them.
  for (uint32_t i = 0; i < node.count; ++i) {
    const ValueId value = Last(node.count)[i];
    if (!builder_.status().ok()) break;
    if (!trial()) {
      builder_.Write(call.results[i], value);
    } else {
      FindType(call.slot + i, builder_.TypeOf(value));
      builder_.ConvertForStore(TypeOf(call.slot + i), value, Cat("a result of '", call.function->name, "'"));
    }
  }
  stack_.resize(stack_.size() - node.count);
  builder_.Leave();
}

void Emitter::EndCall(uint32_t& next) {
  const Call call = std::move(calls_.back());
  calls_.pop_back();
  next = call.return_to;
  if (!call.function->returns_early) return;
  builder_.EndScope();
  for (uint32_t i = 0; i < call.function->results; ++i) {
    if (TypeOf(call.slot + i) == DType::kVoid) {  // Whatever it returns is a mistake.
      Push(kNone);
      continue;
    }
    Push(builder_.Read(trial() ? NewVariable("result", TypeOf(call.slot + i)) : call.results[i]));
  }
}

// Two states of a reduction, by its operation: the first one's values, then the other's.
ReductionState Emitter::CallOperation(const Operation& operation, absl::Span<const ValueId> states, Span span) {
  if (operation.external) return {builder_.Call(program_.externals[operation.function], states)};
  const bool outer = std::exchange(in_operation_, true);
  const size_t depth = calls_.size();
  stack_.insert(stack_.end(), states.begin(), states.end());
  uint32_t next = 0;
  BeginCall({.kind = NodeKind::kCall, .symbol = operation.function, .span = span}, next);
  while (calls_.size() > depth) {
    const uint32_t i = next++;
    builder_.SetLocation(program_.source.LocationOfToken(program_.nodes[i].span.offset));
    Visit(i, program_.nodes[i], next);
    TakeError(program_.nodes[i]);
  }
  in_operation_ = outer;
  return PopLast(operation.parts);
}

absl::flat_hash_map<uint32_t, EmittedValue> Emitter::Constants() {
  absl::flat_hash_map<uint32_t, EmittedValue> constants;
  if (program_.operations.empty()) return constants;
  for (uint32_t s = 0; s < program_.symbols.size(); ++s) {
    const Symbol& symbol = program_.symbols[s];
    if (!symbol.constant || symbol.kind != SymbolKind::kLocal) continue;
    const EmittedValue value = NoteValue(builder_, values_[s]);
    if (value.constant_type != DType::kVoid) constants.emplace(s, value);
  }
  return constants;
}

void Emitter::UseConstants() {
  for (const auto& [symbol, value] : typing_->constants) values_[symbol] = RemakeConstant(builder_, value);
}

// The whole.

namespace {

// A kernel with the parameters that a program of these types could have, of the largest rank where none is known.
absl::StatusOr<Site> TrialSite(const Program& program, absl::Span<const DType> input_types,
                               absl::Span<const DType> output_types, Builder& builder) {
  Site site;
  const auto array = [&](const Parameter& parameter, DType dtype, bool read_only) {
    return builder.AddArray({.name = parameter.name,
                             .kind = ParamKind::kArray,
                             .dtype = dtype,
                             .rank = parameter.rank == 0 ? kMaxRank : parameter.rank,
                             .read_only = read_only});
  };
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const Parameter& input = program.inputs[i];
    InputBinding binding;
    if (input.shape != ShapeRule::kGathered)
      binding.value = builder.Scalar(builder.AddScalar(input.name, input_types[i]));
    if (input.shape == ShapeRule::kGathered || input.whole()) {
      binding.array = array(input, input_types[i], /*read_only=*/true);
    }
    site.inputs.push_back(binding);
  }
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const Parameter& output = program.outputs[i];
    const bool by_index = output.shape == ShapeRule::kGathered;
    if (by_index && output_types[i] == DType::kVoid) {
      return absl::InvalidArgumentError(
          Cat("output '", output.name, "' is written by index: the array that is written must be given; call Into"));
    }
    site.outputs.push_back(by_index ? array(output, output_types[i], /*read_only=*/false) : kNone);
  }
  if (!program.loops_freely() || std::any_of(program.nodes.begin(), program.nodes.end(),
                                             [](const Node& node) { return node.kind == NodeKind::kQuery; })) {
    const ValueId any = builder.Scalar(builder.AddScalar("any", DType::kInt64));
    site.number = site.size = any;
    site.indices.assign(kMaxRank, any);
    site.extents.assign(kMaxRank, any);
    site.rank = kMaxRank;
  }
  return site;
}

}  // namespace

absl::StatusOr<Typing> InferTypes(const Program& program, absl::Span<const DType> input_types,
                                  absl::Span<const DType> output_types) {
  Builder builder("typing");
  SLIPWAY_ASSIGN_OR_RETURN(const Site site, TrialSite(program, input_types, output_types, builder));
  Emitter emitter(program, nullptr, site, builder);
  if (!emitter.Run()) return emitter.Result();
  Typing typing{.outputs = {output_types.begin(), output_types.end()},
                .variables = emitter.TakeVariables(),
                .reductions = emitter.TakeSlots(),
                .operations = emitter.TakeOperations(),
                .constants = emitter.Constants()};
  for (const Node& node : program.nodes) {
    if (node.kind != NodeKind::kAssign) continue;
    const Symbol& symbol = program.symbols[node.symbol];
    if (symbol.kind != SymbolKind::kOutput) continue;
    DType& stored = typing.outputs[symbol.index];
    const ValueId value = emitter.outputs()[symbol.index];
    if (value == kNone) continue;
    if (stored == DType::kVoid) stored = builder.TypeOf(value);
    builder.ConvertForStore(stored, value, Cat("output '", symbol.name, "'"));
    emitter.TakeError(node);
  }
  SLIPWAY_RETURN_IF_ERROR(emitter.Result());
  return typing;
}

EmittedValue NoteValue(Builder& builder, ValueId value) {
  EmittedValue noted{.id = value};
  if (value == kNone || !builder.IsConstant(value)) return noted;
  noted.constant_type = builder.TypeOf(value);
  noted.literal = builder.IsLiteral(value);
  const bool complex = IsComplex(noted.constant_type);
  for (int part = 0; part < (complex ? 2 : 1); ++part) {
    noted.constant_bits[part] = builder.ConstantBits(complex ? builder.Part(value, part) : value);
  }
  return noted;
}

ValueId RemakeConstant(Builder& builder, const EmittedValue& constant) {
  const DType dtype = constant.constant_type;
  const auto* const bits = constant.constant_bits;
  if (!constant.literal) {
    if (!IsComplex(dtype)) return builder.Constant(dtype, bits[0]);
    return builder.Complex(builder.Constant(PartOf(dtype), bits[0]), builder.Constant(PartOf(dtype), bits[1]));
  }
  switch (dtype) {
    case DType::kBool:
      return builder.Literal(bits[0] != 0);
    case DType::kUInt64:
      return builder.Literal(bits[0]);
    case DType::kFloat64:
      return builder.Literal(std::bit_cast<double>(bits[0]));
    case DType::kComplex128:
      return builder.Literal(std::complex<double>(std::bit_cast<double>(bits[0]), std::bit_cast<double>(bits[1])));
    default:
      return builder.Literal(static_cast<int64_t>(bits[0]));
  }
}

absl::StatusOr<std::vector<ValueId>> Emit(const Program& program, const Typing& typing, const Site& site,
                                          Builder& builder, std::vector<EmittedReduction>* reductions) {
  Emitter emitter(program, &typing, site, builder);
  if (!emitter.Run()) return emitter.Result();
  if (reductions != nullptr) *reductions = emitter.TakeReductions();
  return emitter.outputs();
}

}  // namespace slipway::text
