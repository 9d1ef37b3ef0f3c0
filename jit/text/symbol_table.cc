#include "jit/text/symbol_table.h"

#include <utility>

#include "driver/as_absl.h"
#include "driver/status_macros.h"
#include "jit/text/cat.h"
#include "jit/text/functions.h"
#include "jit/text/suggest.h"

namespace slipway::text {

SymbolTable::SymbolTable(Program& program)
    : program_(program), source_(program.source), declared_(!program.signature.text().empty()) {
  for (uint32_t i = 0; i < program_.symbols.size(); ++i) names_.emplace(program_.symbols[i].name, i);
  assigned_.resize(program_.symbols.size());
}

bool SymbolTable::Knows(std::string_view name) const { return names_.contains(AsAbsl(name)); }

uint32_t SymbolTable::Add(Symbol symbol) {
  const uint32_t id = static_cast<uint32_t>(program_.symbols.size());
  names_.emplace(symbol.name, id);
  program_.symbols.push_back(std::move(symbol));
  assigned_.push_back(false);
  return id;
}

absl::StatusOr<uint32_t> SymbolTable::Resolve(Span span, bool gathered) {
  const std::string_view name = source_.TextOf(span);
  const auto found = names_.find(AsAbsl(name));
  if (found == names_.end()) {
    if (declared_) return UnknownName(span);
    const uint32_t index = static_cast<uint32_t>(program_.inputs.size());
    program_.inputs.push_back({.name = std::string(name),
                               .shape = gathered ? ShapeRule::kGathered : ShapeRule::kAny,
                               .span = span,
                               .used = true});
    return Add({.name = std::string(name), .kind = SymbolKind::kInput, .index = index, .span = span});
  }
  const Symbol& symbol = program_.symbols[found->second];
  if (symbol.kind == SymbolKind::kInput) {
    Parameter& input = program_.inputs[symbol.index];
    if (!input.used && gathered && input.shape == ShapeRule::kAny) input.shape = ShapeRule::kGathered;
    input.used = true;
    SLIPWAY_RETURN_IF_ERROR(CheckUse(input, span, gathered));
  } else if (gathered) {
    return source_.ErrorAt(span, Cat("'", name, "' cannot be indexed"),
                           "only an input can: what is computed here has one value an element");
  } else if (!assigned_[found->second]) {
    return source_.ErrorAt(span, Cat("the output '", name, "' is read before it is assigned"));
  }
  return found->second;
}

absl::Status SymbolTable::UnknownName(Span span) const {
  const std::string_view name = source_.TextOf(span);
  std::vector<std::string_view> known;
  for (const Symbol& symbol : program_.symbols) {
    if (symbol.kind != SymbolKind::kOutput) known.push_back(symbol.name);
  }
  std::string hint = DidYouMean(name, known);
  if (hint.empty() && FindFunction(name) != nullptr) {
    hint = Cat("a function is called with its arguments in brackets: ", name, "(...)");
  }
  return source_.ErrorAt(span, Cat("unknown name '", name, "'"), hint);
}

absl::Status SymbolTable::CheckUse(Parameter& input, Span span, bool gathered) const {
  if (gathered == (input.shape == ShapeRule::kGathered)) return absl::OkStatus();
  if (input.type == TypeRule::kAny) {
    return source_.ErrorAt(span, Cat("'", input.name, "' is used both with an index and without"),
                           "pass the array a second time under another name");
  }
  if (gathered) {
    return source_.ErrorAt(span,
                           Cat("'", input.name, "' cannot be indexed: it is declared as ",
                               input.shape == ShapeRule::kScalar ? "a number" : "an elementwise array"),
                           Cat("declare it with its dimensions: '", input.name, ": T[:]'"));
  }
  return source_.ErrorAt(span,
                         Cat("'", input.name, "' needs ", input.rank, input.rank == 1 ? " index" : " indices",
                             ": it is declared as a gathered array"),
                         Cat("index it, or declare it as '", input.name, ": T[]'"));
}

absl::Status SymbolTable::SetRank(uint32_t symbol, int rank, Span span) {
  Parameter& input = program_.inputs[program_.symbols[symbol].index];
  if (rank > kMaxRank) {
    return source_.ErrorAt(span, Cat("'", input.name, "' is read with ", rank, " indices"),
                           Cat("at most ", kMaxRank, " are allowed"));
  }
  if (input.rank == 0) input.rank = rank;
  if (input.rank == rank) return absl::OkStatus();
  return source_.ErrorAt(span,
                         Cat("'", input.name, "' is read with ", rank, rank == 1 ? " index" : " indices", ", but ",
                             input.type == TypeRule::kAny ? "was read with " : "is declared with ", input.rank),
                         "an array has one rank");
}

absl::StatusOr<uint32_t> SymbolTable::Define(Span span, bool local) {
  const std::string name(source_.TextOf(span));
  const auto found = names_.find(name);
  if (found == names_.end()) return DefineNew(name, span, local);
  const Symbol& symbol = program_.symbols[found->second];
  if (symbol.kind == SymbolKind::kInput) {
    return source_.ErrorAt(span, Cat("assignment to the input '", name, "'"),
                           declared_ ? "inputs are read only; give the result a name of its own"
                                     : Cat("it is an input because ", source_.Position(symbol.span.offset),
                                           " reads it first; give the result a name of its own"));
  }
  if (local && !assigned_[found->second]) {
    return source_.ErrorAt(span, Cat("'", name, "' is an output of the signature"),
                           "leave 'let' out, or give the local another name");
  }
  if (assigned_[found->second]) {
    return source_.ErrorAt(span, Cat("'", name, "' is assigned twice"), "a name keeps its value; use another one");
  }
  program_.outputs[symbol.index].used = true;
  assigned_[found->second] = true;
  return found->second;
}

absl::StatusOr<uint32_t> SymbolTable::DefineNew(const std::string& name, Span span, bool local) {
  if (declared_ && !local) {
    std::vector<std::string_view> outputs;
    for (const Parameter& output : program_.outputs) outputs.push_back(output.name);
    const std::string hint = DidYouMean(name, outputs);
    return source_.ErrorAt(span, Cat("'", name, "' is no output of the signature"),
                           hint.empty() ? Cat("write 'let ", name, " = ...' for a local") : hint);
  }
  const SymbolKind kind = local ? SymbolKind::kLocal : SymbolKind::kOutput;
  const uint32_t index = local ? program_.num_locals++ : static_cast<uint32_t>(program_.outputs.size());
  if (!local) {
    program_.outputs.push_back({.name = name, .shape = ShapeRule::kElementwise, .span = span, .used = true});
  }
  const uint32_t id = Add({.name = name, .kind = kind, .index = index, .span = span});
  assigned_[id] = true;
  return id;
}

absl::Status SymbolTable::CheckParameters() const {
  if (program_.nodes.empty()) return source_.ErrorAt({0, 0}, "missing output: the text has no statement");
  for (const Parameter& output : program_.outputs) {
    if (!output.used) {
      return program_.signature.ErrorAt(output.span, Cat("output '", output.name, "' is never assigned"));
    }
  }
  for (const Parameter& input : program_.inputs) {
    if (!input.used) {
      return program_.signature.ErrorAt(input.span, Cat("input '", input.name, "' is not used"),
                                        "leave it out of the signature");
    }
  }
  if (program_.outputs.empty()) {
    const Node& last = program_.nodes.back();
    return source_.ErrorAt(last.span, "missing output: there are only locals", "leave one 'let' out");
  }
  return absl::OkStatus();
}

}  // namespace slipway::text
