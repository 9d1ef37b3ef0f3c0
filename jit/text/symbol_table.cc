#include "jit/text/symbol_table.h"

#include <algorithm>
#include <utility>

#include "driver/as_absl.h"
#include "driver/status_macros.h"
#include "driver/suggest.h"
#include "jit/text/cat.h"
#include "jit/text/functions.h"
#include "jit/text/words.h"

namespace slipway::text {

SymbolTable::SymbolTable(Program& program, absl::Span<const TextConstant> constants)
    : program_(program), source_(program.source), declared_(!program.signature.text().empty()) {
  for (uint32_t i = 0; i < program_.symbols.size(); ++i) names_.emplace(program_.symbols[i].name, i);
  for (const TextConstant& constant : constants) constants_.emplace(constant.name, constant);
  assigned_.resize(program_.symbols.size());
}

const uint32_t* SymbolTable::Find(std::string_view name) const {
  const auto found = names_.find(AsAbsl(name));
  return found == names_.end() ? nullptr : &found->second;
}

bool SymbolTable::Knows(std::string_view name) const { return Find(name) != nullptr; }

const TextConstant* SymbolTable::FindConstant(std::string_view name) const {
  if (constants_.empty()) return nullptr;
  // A function's parameter hides one; other names that are those of constants are refused.
  if (const uint32_t* const own = Find(name); own != nullptr && program_.symbols[*own].parameter) return nullptr;
  const auto found = constants_.find(AsAbsl(name));
  return found == constants_.end() ? nullptr : &found->second;
}

const uint32_t* SymbolTable::FindFunction(std::string_view name) const {
  if (functions_.empty()) return nullptr;
  const auto found = functions_.find(AsAbsl(name));
  return found == functions_.end() ? nullptr : &found->second;
}

uint32_t SymbolTable::Add(Symbol symbol) {
  const uint32_t id = static_cast<uint32_t>(program_.symbols.size());
  const auto [at, fresh] = names_.try_emplace(symbol.name, id);
  // Inputs and outputs are known everywhere, wherever they are met first.
  const bool everywhere = symbol.kind == SymbolKind::kInput || symbol.kind == SymbolKind::kOutput;
  if (!scopes_.empty() && !everywhere) hidden_.emplace_back(symbol.name, fresh ? kNone : at->second);
  at->second = id;
  if (!everywhere) symbol.function = function_;
  program_.symbols.push_back(std::move(symbol));
  assigned_.push_back(false);
  return id;
}

void SymbolTable::EndScope() {
  const size_t begin = scopes_.back();
  scopes_.pop_back();
  for (; hidden_.size() > begin; hidden_.pop_back()) {
    const auto& [name, before] = hidden_.back();
    if (before == kNone) {
      names_.erase(name);
    } else {
      names_[name] = before;
    }
  }
}

void SymbolTable::EnterFunction(uint32_t function) {
  function_ = function + 1;
  BeginScope();
}
void SymbolTable::LeaveFunction(uint32_t function) {
  EndScope();
  LeaveBrokenFunction(function);
}
void SymbolTable::LeaveBrokenFunction(uint32_t function) {
  function_ = 0;
  functions_.emplace(program_.functions[function].name, function);
}

// Reading.

absl::StatusOr<uint32_t> SymbolTable::Resolve(Span span, Use use) {
  const std::string_view name = source_.TextOf(span);
  const uint32_t* const found = Find(name);
  if (found == nullptr) {
    if (!declared_) return AddInput(span, use);
    const absl::Status unknown = UnknownName(span);
    Break(span);
    return unknown;
  }
  const uint32_t id = *found;
  switch (program_.symbols[id].kind) {
    case SymbolKind::kInput:
      SLIPWAY_RETURN_IF_ERROR(UseInput(id, span, use));
      break;
    case SymbolKind::kOutput:
      SLIPWAY_RETURN_IF_ERROR(UseOutput(id, span, use));
      break;
    case SymbolKind::kBroken:
      return KnownMistake();
    default:
      SLIPWAY_RETURN_IF_ERROR(UseOwn(id, span, use));
  }
  return id;
}

absl::StatusOr<uint32_t> SymbolTable::AddInput(Span span, Use use) {
  const std::string name(source_.TextOf(span));
  const uint32_t index = static_cast<uint32_t>(program_.inputs.size());
  program_.inputs.push_back({.name = name, .span = span});
  const uint32_t id = Add({.name = name, .kind = SymbolKind::kInput, .index = index, .span = span});
  SLIPWAY_RETURN_IF_ERROR(UseInput(id, span, use));
  return id;
}

absl::Status SymbolTable::UseInput(uint32_t symbol, Span span, Use use) {
  Parameter& input = program_.inputs[program_.symbols[symbol].index];
  input.used = true;
  if ((use == Use::kValue || use == Use::kReduced) && input.shape == ShapeRule::kGathered) {
    return source_.ErrorAt(span,
                           Cat("'", input.name, "' needs ", input.rank, input.rank == 1 ? " index" : " indices",
                               ": it is declared as a gathered array"),
                           Cat("index it, or declare it as '", input.name, ": T[]'"));
  }
  if (use == Use::kIndexed && input.shape == ShapeRule::kScalar) {
    return source_.ErrorAt(span, Cat("'", input.name, "' cannot be indexed: it is declared as a number"),
                           Cat("declare it with its dimensions: '", input.name, ": T[:]'"));
  }
  input.plain |= use == Use::kValue || (use == Use::kReduced && input.shape == ShapeRule::kScalar);
  input.reduced |= use == Use::kReduced && input.shape != ShapeRule::kScalar;
  input.indexed |= use == Use::kIndexed;
  input.asked |= use == Use::kAsked;
  return absl::OkStatus();
}

absl::Status SymbolTable::UseOutput(uint32_t symbol, Span span, Use use) const {
  const Parameter& output = program_.outputs[program_.symbols[symbol].index];
  const bool as_value = use == Use::kValue || use == Use::kReduced;
  if (InFunction() && as_value) {
    return source_.ErrorAt(span, Cat("'", output.name, "' is an output of the text"),
                           "a function sees its parameters, inputs and constants: pass it");
  }
  if (use == Use::kAsked) return absl::OkStatus();
  if ((output.shape == ShapeRule::kGathered) != (use == Use::kIndexed)) {
    if (use == Use::kIndexed) {
      return source_.ErrorAt(span, Cat("'", output.name, "' cannot be indexed"),
                             "it is written element by element, and has one value an element");
    }
    return source_.ErrorAt(span, Cat("'", output.name, "' needs an index: it is an output that is written by index"));
  }
  if (as_value && !assigned_[symbol]) {
    return source_.ErrorAt(span, Cat("the output '", output.name, "' is read before it is assigned"));
  }
  return absl::OkStatus();
}

// A local, a variable or a parameter.
absl::Status SymbolTable::UseOwn(uint32_t id, Span span, Use use) {
  Symbol& symbol = program_.symbols[id];
  if (symbol.function != function_ && !symbol.constant) {
    return source_.ErrorAt(span, Cat("'", symbol.name, "' belongs to the text outside of the function"),
                           "a function sees its parameters, inputs and constants: pass it");
  }
  if ((use == Use::kIndexed || use == Use::kAsked) && symbol.parameter && !symbol.used)
    symbol.kind = SymbolKind::kArray;
  const bool array = symbol.kind == SymbolKind::kArray;
  const bool as_value = use == Use::kValue || use == Use::kReduced;
  symbol.used |= as_value && !array;
  if (array != as_value) return absl::OkStatus();
  if (array || symbol.parameter) {
    return source_.ErrorAt(span, Cat("'", symbol.name, "' is used both with an index and without"),
                           "a parameter of a function is a value or an array");
  }
  return source_.ErrorAt(span, Cat("'", symbol.name, "' cannot be indexed"),
                         "only an input can: what is computed here has one value an element");
}

absl::Status SymbolTable::UnknownName(Span span) const {
  const std::string_view name = source_.TextOf(span);
  std::vector<std::string_view> known;
  for (const auto& [other, id] : names_) {
    const SymbolKind kind = program_.symbols[id].kind;
    if (kind != SymbolKind::kOutput && kind != SymbolKind::kBroken) known.push_back(other);
  }
  for (const auto& [other, constant] : constants_) known.push_back(other);
  std::sort(known.begin(), known.end());  // The order of a hash table is nobody's.
  std::string hint = DidYouMean(name, known);
  if (hint.empty() && (IsCallable(name) || FindFunction(name) != nullptr)) {
    hint = Cat("a function is called with its arguments in brackets: ", name, "(...)");
  }
  return source_.ErrorAt(span, Cat("unknown name '", name, "'"), hint);
}

absl::Status SymbolTable::SetRank(uint32_t id, int rank, Span span) {
  Symbol& symbol = program_.symbols[id];
  const bool own = symbol.kind == SymbolKind::kArray;
  Parameter* const parameter = own                                 ? nullptr
                               : symbol.kind == SymbolKind::kInput ? &program_.inputs[symbol.index]
                                                                   : &program_.outputs[symbol.index];
  int& known = own ? symbol.rank : parameter->rank;
  const std::string_view verb = symbol.kind == SymbolKind::kOutput ? "written" : "read";
  if (rank > kMaxRank) {
    return source_.ErrorAt(span, Cat("'", symbol.name, "' is ", verb, " with ", rank, " indices"),
                           Cat("at most ", kMaxRank, " are allowed"));
  }
  if (known == 0) known = rank;
  if (known == rank) return absl::OkStatus();
  return source_.ErrorAt(
      span,
      Cat("'", symbol.name, "' is ", verb, " with ", rank, rank == 1 ? " index" : " indices", ", but ",
          own || parameter->type == TypeRule::kAny ? Cat("was ", verb) : "is declared", " with ", known),
      "an array has one rank");
}

void SymbolTable::SetFolded(uint32_t id) {
  Symbol& symbol = program_.symbols[id];
  if (symbol.kind == SymbolKind::kArray) symbol.folded = true;
  if (symbol.kind == SymbolKind::kInput) program_.inputs[symbol.index].folded = true;
  if (symbol.kind == SymbolKind::kOutput) program_.outputs[symbol.index].folded = true;
}

// Defining.

// Whether the name may be defined here, where it may hide one of an outer function or text only.
absl::Status SymbolTable::CheckFree(Span span) const {
  const std::string_view name = source_.TextOf(span);
  if (FindConstant(name) != nullptr) {
    return source_.ErrorAt(span, Cat("'", name, "' is a constant of the program that gave this text"),
                           "use another name");
  }
  const uint32_t* const found = Find(name);
  if (found == nullptr) return absl::OkStatus();
  const Symbol& symbol = program_.symbols[*found];
  if (symbol.function != function_) return absl::OkStatus();
  switch (symbol.kind) {
    case SymbolKind::kBroken:
      return absl::OkStatus();
    case SymbolKind::kInput:
      return source_.ErrorAt(span, Cat("assignment to the input '", name, "'"),
                             declared_ ? "inputs are read only; give the result a name of its own"
                                       : Cat("it is an input because ", source_.Position(symbol.span.offset),
                                             " reads it first; give the result a name of its own"));
    case SymbolKind::kOutput:
      if (!assigned_[*found]) {
        return source_.ErrorAt(span, Cat("'", name, "' is an output of the signature"),
                               "leave 'let' out, or give the local another name");
      }
      [[fallthrough]];
    default:
      return source_.ErrorAt(span, Cat("'", name, "' is assigned twice"), "a name keeps its value; use another one");
  }
}

absl::StatusOr<uint32_t> SymbolTable::DefineLocal(Span span, SymbolKind kind) {
  SLIPWAY_RETURN_IF_ERROR(CheckFree(span));
  const uint32_t id = Add({.name = std::string(source_.TextOf(span)), .kind = kind, .span = span});
  assigned_[id] = true;
  return id;
}
absl::StatusOr<uint32_t> SymbolTable::DefineConstant(Span span) {
  SLIPWAY_ASSIGN_OR_RETURN(const uint32_t id, DefineLocal(span, SymbolKind::kLocal));
  program_.symbols[id].constant = true;
  return id;
}
absl::StatusOr<uint32_t> SymbolTable::DefineParameter(Span span) {
  const uint32_t* const found = Find(source_.TextOf(span));
  if (found != nullptr && program_.symbols[*found].function == function_ && program_.symbols[*found].parameter) {
    return source_.ErrorAt(span, Cat("two parameters are called '", source_.TextOf(span), "'"));
  }
  const uint32_t id = Add({.name = std::string(source_.TextOf(span)), .kind = SymbolKind::kLocal, .span = span});
  program_.symbols[id].parameter = true;
  assigned_[id] = true;
  return id;
}

absl::Status SymbolTable::NotAnOutput(Span span, std::string_view hint) const {
  std::vector<std::string_view> outputs;
  for (const Parameter& output : program_.outputs) outputs.push_back(output.name);
  const std::string near = DidYouMean(source_.TextOf(span), outputs);
  return source_.ErrorAt(span, Cat("'", source_.TextOf(span), "' is no output of the signature"),
                         near.empty() ? hint : near);
}

absl::StatusOr<uint32_t> SymbolTable::DefineOutput(Span span) {
  const std::string name(source_.TextOf(span));
  const uint32_t* const found = Find(name);
  if (found == nullptr) {
    if (declared_) return NotAnOutput(span, Cat("write 'let ", name, " = ...' for a local"));
    SLIPWAY_RETURN_IF_ERROR(CheckFree(span));
    const uint32_t index = static_cast<uint32_t>(program_.outputs.size());
    program_.outputs.push_back({.name = name, .shape = ShapeRule::kElementwise, .span = span, .used = true});
    const uint32_t id = Add({.name = name, .kind = SymbolKind::kOutput, .index = index, .span = span});
    assigned_[id] = true;
    return id;
  }
  const Symbol& symbol = program_.symbols[*found];
  if (symbol.kind == SymbolKind::kBroken) return KnownMistake();
  if (symbol.kind == SymbolKind::kOutput && program_.outputs[symbol.index].shape == ShapeRule::kGathered) {
    return source_.ErrorAt(span, Cat("'", name, "' needs an index: it is an output that is written by index"));
  }
  if (symbol.kind != SymbolKind::kOutput || assigned_[*found]) return CheckFree(span);
  Parameter& output = program_.outputs[symbol.index];
  output.used = true;
  assigned_[*found] = true;
  return *found;
}

bool SymbolTable::IsVariable(Span span) const {
  const uint32_t* const found = Find(source_.TextOf(span));
  return found != nullptr && program_.symbols[*found].kind == SymbolKind::kVariable;
}

absl::StatusOr<uint32_t> SymbolTable::ResolveVariable(Span span) const {
  const std::string_view name = source_.TextOf(span);
  const uint32_t* const found = Find(name);
  if (found != nullptr && program_.symbols[*found].kind == SymbolKind::kBroken) return KnownMistake();
  if (found == nullptr || program_.symbols[*found].kind != SymbolKind::kVariable) {
    const bool local = found != nullptr && program_.symbols[*found].kind == SymbolKind::kLocal;
    return source_.ErrorAt(span, Cat("'", name, "' is no variable"),
                           local ? Cat("define it with 'var ", name, " = ...' to assign it again")
                                 : Cat("define one before: 'var ", name, " = ...'"));
  }
  if (program_.symbols[*found].function != function_) {
    return source_.ErrorAt(span, Cat("'", name, "' belongs to the text outside of the function"),
                           "return what it should become");
  }
  return *found;
}

absl::StatusOr<uint32_t> SymbolTable::ResolveStored(Span span) {
  const std::string name(source_.TextOf(span));
  const uint32_t* const found = Find(name);
  if (found == nullptr) {
    if (declared_) return NotAnOutput(span, "declare it behind '->', with its dimensions");
    const uint32_t index = static_cast<uint32_t>(program_.outputs.size());
    program_.outputs.push_back(
        {.name = name, .shape = ShapeRule::kGathered, .span = span, .used = true, .indexed = true});
    const uint32_t id = Add({.name = name, .kind = SymbolKind::kOutput, .index = index, .span = span});
    assigned_[id] = true;
    return id;
  }
  const Symbol& symbol = program_.symbols[*found];
  if (symbol.kind == SymbolKind::kBroken) return KnownMistake();
  if (symbol.kind == SymbolKind::kInput) {
    return source_.ErrorAt(span, Cat("the input '", name, "' cannot be written"),
                           Cat("declare it behind '->', with its dimensions: '-> ", name, ": T[:]'"));
  }
  if (symbol.kind != SymbolKind::kOutput) {
    return source_.ErrorAt(span, Cat("'", name, "' cannot be indexed"),
                           "only an output's elements can be written: what is computed here has one value an element");
  }
  Parameter& output = program_.outputs[symbol.index];
  // An output that is declared without a type is what the text makes of it.
  if (!output.used && output.type == TypeRule::kAny) output.shape = ShapeRule::kGathered;
  if (output.shape != ShapeRule::kGathered) {
    return source_.ErrorAt(span, Cat("'", name, "' is written both with an index and without"),
                           "an output is written at the element that is computed, or by index");
  }
  output.used = output.indexed = true;
  assigned_[*found] = true;
  return *found;
}

void SymbolTable::Break(Span span) {
  const std::string_view name = source_.TextOf(span);
  const uint32_t* const found = Find(name);
  if (found != nullptr && program_.symbols[*found].kind == SymbolKind::kOutput) assigned_[*found] = true;
  if (found != nullptr && program_.symbols[*found].function == function_) return;
  Add({.name = std::string(name), .kind = SymbolKind::kBroken, .span = span});
}

absl::Status SymbolTable::CheckFunctionName(Span span) const {
  const std::string_view name = source_.TextOf(span);
  if (const uint32_t* const found = FindFunction(name)) {
    return source_.ErrorAt(span, Cat("the function '", name, "' is defined twice"),
                           Cat("first at ", source_.Position(program_.functions[*found].span.offset)));
  }
  for (const AnyExternalFunction& external : program_.externals) {
    if (external.name() == name)
      return source_.ErrorAt(span, Cat("the function '", name, "' is one of a library"), "name it otherwise");
  }
  return absl::OkStatus();
}

void SymbolTable::CheckParameters(Mistakes& mistakes) const {
  const auto add = [&](const Source& source, Span span, std::string_view message, std::string_view hint = {}) {
    if (!mistakes.full()) mistakes.Add(source.ErrorAt(span, message, hint), span.offset);
  };
  if (program_.nodes.empty()) return add(source_, {0, 0}, "missing output: the text has no statement");
  for (const Parameter& output : program_.outputs) {
    if (!output.used) add(program_.signature, output.span, Cat("output '", output.name, "' is never assigned"));
  }
  for (const Parameter& input : program_.inputs) {
    if (input.used) continue;
    add(program_.signature, input.span, Cat("input '", input.name, "' is not used"), "leave it out of the signature");
  }
  if (program_.outputs.empty()) {
    const Node& last = program_.nodes.back();
    const bool local = last.kind == NodeKind::kAssign || last.kind == NodeKind::kDeclare;
    add(source_, local ? last.span : Span{0, 0},
        local ? "missing output: there are only locals" : "missing output: nothing is assigned to one",
        local ? "leave one 'let' out" : "write 'z = ' before an expression");
  }
}

}  // namespace slipway::text
