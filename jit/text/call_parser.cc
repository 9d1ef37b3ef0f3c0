// The part of the expression parser that reads what begins with a name: values, elements, and calls of every form.
#include <algorithm>
#include <string>
#include <string_view>
#include <variant>

#include "driver/status_macros.h"
#include "driver/suggest.h"
#include "jit/text/cat.h"
#include "jit/text/expression_parser.h"
#include "jit/text/monoid.h"
#include "jit/text/words.h"

namespace slipway::text {
namespace {

constexpr uint32_t kNoSymbol = ~uint32_t{0};  // Of an array that is a mistake.
constexpr uint32_t kMaxParts = 16;            // Values of a state: a block's shared memory holds one for each thread.

}  // namespace

// A name: a constant, a call, an element, or a value. `whole` unless it opened a bracket.
absl::Status ExpressionParser::Name(bool& whole) {
  const Token token = Now();
  const std::string_view name = cursor_.TextOf(token);
  whole = true;
  if (name == "true" || name == "false") {
    Emit(NodeKind::kBool, token.span).bits = name == "true";
    ++cursor_.at;
    return absl::OkStatus();
  }
  if (const Keyword* word = FindKeyword(name)) {
    return source_.ErrorAt(token.span, Cat("expected a value, found '", name, "'"), word->hint);
  }
  if (const ForeignWord* word = FindForeignWord(name)) {
    return source_.ErrorAt(token.span, Cat("'", name, "' is not part of the language"), word->hint);
  }
  if (Peek(1) == TokenKind::kLeftParen) return BeginCall(whole);
  if (Peek(1) == TokenKind::kLeftBracket) {
    whole = false;
    return BeginIndex();
  }
  ++cursor_.at;
  return ValueOf(token.span);
}

absl::Status ExpressionParser::ValueOf(Span span) {
  if (const TextConstant* constant = symbols_.FindConstant(source_.TextOf(span))) {
    ConstantOf(*constant, span);
    return absl::OkStatus();
  }
  // Inside of a reduction over axes an array's elements are others than outside.
  const absl::StatusOr<uint32_t> resolved = symbols_.Resolve(span, InOperandOverAxes() ? Use::kReduced : Use::kValue);
  if (!resolved.ok()) return Instead(resolved.status(), span);
  const uint32_t id = *resolved;
  const Symbol& symbol = program_.symbols[id];
  constant_ &= symbol.constant;
  if (!InOperandOverAxes() || symbol.constant) {
    Emit(NodeKind::kName, span).symbol = id;
    return absl::OkStatus();
  }
  if (symbol.kind != SymbolKind::kInput) {
    return Instead(
        source_.ErrorAt(span, Cat("'", symbol.name, "' has one value an element, and this reduction goes over arrays"),
                        "write what it stands for, or reduce over a range: sum(k in 0..n: ...)"),
        span);
  }
  if (program_.inputs[symbol.index].shape == ShapeRule::kScalar) {
    Emit(NodeKind::kName, span).symbol = id;
    return absl::OkStatus();
  }
  const uint32_t reduction = axis_reductions_.back();
  uint32_t at = 0;
  while (at < program_.reduced.size() &&
         (program_.reduced[at].input != symbol.index || program_.reduced[at].reduction != reduction)) {
    ++at;
  }
  if (at == program_.reduced.size()) {
    if (at == kMaxReducedArrays) {
      return source_.ErrorAt(span, Cat("the text reduces ", at + 1, " arrays over their axes"),
                             Cat("at most ", kMaxReducedArrays, " are allowed; split it into several texts"));
    }
    program_.reduced.push_back({.input = symbol.index, .reduction = reduction});
  }
  Emit(NodeKind::kElement, span).symbol = at;
  return absl::OkStatus();
}

void ExpressionParser::ConstantOf(const TextConstant& constant, Span span) {
  if (const bool* truth = std::get_if<bool>(&constant.value)) {
    Emit(NodeKind::kBool, span).bits = *truth;
  } else if (const double* number = std::get_if<double>(&constant.value)) {
    Emit(NodeKind::kFloat, span).bits = std::bit_cast<uint64_t>(*number);
  } else if (const uint64_t* magnitude = std::get_if<uint64_t>(&constant.value)) {
    Emit(NodeKind::kInteger, span).bits = *magnitude;
  } else {
    const int64_t integer = std::get<int64_t>(constant.value);
    Node& node = Emit(NodeKind::kInteger, span);
    node.negative = integer < 0;
    node.bits = node.negative ? uint64_t{0} - static_cast<uint64_t>(integer) : static_cast<uint64_t>(integer);
  }
}

// Elements: x[i, j], x[i, j; border].

absl::Status ExpressionParser::BeginIndex() {
  const Token token = Now();
  Pending index{.kind = PendingKind::kIndex, .span = token.span};
  index.element = !pending_.empty() && pending_.back().kind == PendingKind::kAtomic && pending_.back().count == 0 &&
                  pending_.back().indices == 0;
  if (index.element) {
    SLIPWAY_ASSIGN_OR_RETURN(index.symbol, symbols_.ResolveStored(token.span));
  } else {
    const absl::StatusOr<uint32_t> array = symbols_.Resolve(token.span, Use::kIndexed);
    if (!array.ok()) {
      SLIPWAY_RETURN_IF_ERROR(Instead(array.status(), token.span));
      program_.nodes.pop_back();  // The value comes behind the indices.
    }
    index.symbol = array.ok() ? *array : kNoSymbol;
  }
  pending_.push_back(index);
  cursor_.at += 2;
  if (Peek() == TokenKind::kRightBracket) {
    return source_.ErrorAt(Now().span, Cat("'", source_.TextOf(token.span), "' needs an index between the brackets"));
  }
  return absl::OkStatus();
}

absl::Status ExpressionParser::CloseIndex() {
  Reduce(kPrecNone);
  if (pending_.empty()) return source_.ErrorAt(Now().span, "']' without a '[' before it");
  const Pending top = pending_.back();
  if (top.kind != PendingKind::kIndex && top.kind != PendingKind::kFill) return Unclosed();
  pending_.pop_back();
  ++cursor_.at;
  if (top.element) {
    SLIPWAY_RETURN_IF_ERROR(symbols_.SetRank(top.symbol, top.count + 1, top.span));
    Pending& atomic = pending_.back();
    atomic.symbol = top.symbol;
    atomic.indices = static_cast<uint8_t>(top.count + 1);
    return absl::OkStatus();
  }
  return EndIndex(top, top.kind == PendingKind::kFill ? Border::kConstant : Border::kNone);
}

absl::Status ExpressionParser::EndIndex(const Pending& index, Border border) {
  if (index.symbol == kNoSymbol) return Instead(KnownMistake(), index.span);
  const absl::Status rank = symbols_.SetRank(index.symbol, index.count + 1, index.span);
  if (!rank.ok()) return Instead(rank, index.span);
  EmitGather(index, border);
  return absl::OkStatus();
}

// What follows the ';' of an index: the name of a border, which closes it (then it is `whole`), or a value.
absl::Status ExpressionParser::BorderOfIndex(bool& whole) {
  Pending& top = pending_.back();
  if (top.element) {
    return source_.ErrorAt(Now().span, "an element that is written has no border",
                           "leave the ';' and what follows out");
  }
  ++cursor_.at;
  const Border* border = Peek() == TokenKind::kName ? FindBorder(cursor_.TextOf(Now())) : nullptr;
  whole = border != nullptr && Peek(1) == TokenKind::kRightBracket;
  if (!whole) {
    if (Peek() == TokenKind::kRightBracket) {
      return source_.ErrorAt(Now().span, "expected what lies outside of the array",
                             "clamp, wrap, reflect, symmetric, or a value");
    }
    top.kind = PendingKind::kFill;
    return absl::OkStatus();
  }
  const Pending index = top;
  pending_.pop_back();
  cursor_.at += 2;
  return EndIndex(index, *border);
}

void ExpressionParser::EmitGather(const Pending& index, Border border) {
  ++heavy_;
  constant_ = false;
  // A wrapped or mirrored index is a remainder for each dimension.
  const bool divides = border == Border::kWrap || border == Border::kReflect || border == Border::kSymmetric;
  if (divides) cost_.costly_calls += index.count + 1;
  if (border == Border::kConstant) ++cost_.branches;
  if (border != Border::kNone && border != Border::kConstant) symbols_.SetFolded(index.symbol);
  Node& node = Emit(NodeKind::kGather, index.span);
  node.symbol = index.symbol;
  node.count = static_cast<uint8_t>(index.count + 1);
  node.detail = static_cast<uint8_t>(border);
}

// Calls.

absl::Status ExpressionParser::BeginCall(bool& whole) {
  const Token token = Now();
  const std::string_view name = cursor_.TextOf(token);
  whole = false;
  if (const uint32_t* function = symbols_.FindFunction(name)) return BeginFunction(*function, whole);
  for (uint32_t i = 0; i < program_.externals.size(); ++i) {
    if (program_.externals[i].name() == name) return BeginExternal(i, whole);
  }
  if (const QueryName* query = FindQuery(name)) {
    whole = true;
    return QueryOf(*query);
  }
  if (const ir::AtomicOp* op = FindAtomic(name)) return BeginAtomic(*op);
  Pending call{.kind = PendingKind::kBuiltin, .span = token.span};
  call.builtin = FindBuiltin(name);
  if (const Reduction* reduction = FindReduction(name)) {
    const bool over_range = Peek(2) == TokenKind::kName && cursor_.Is("in", 3);
    if (call.builtin == nullptr || over_range || cursor_.Reduces(1)) return BeginReduction(*reduction);
  }
  if (call.builtin == nullptr) {
    call.kind = PendingKind::kCast;
    if (!FindCast(name, &call.cast, &call.cast_kind)) {
      return BeginUnknown(symbols_.BreakFunction(name) ? UnknownFunction(token.span) : KnownMistake(), whole);
    }
  }
  cursor_.at += 2;
  if (Peek() == TokenKind::kRightParen) {
    return WrongArity(call.span, call.builtin != nullptr ? call.builtin->arity : 1, 0);
  }
  pending_.push_back(call);
  return absl::OkStatus();
}

// Its arguments are read like any others.
absl::Status ExpressionParser::BeginUnknown(const absl::Status& mistake, bool& whole) {
  const Span span = Now().span;
  SLIPWAY_RETURN_IF_ERROR(Instead(mistake, span));
  cursor_.at += 2;
  whole = Peek() == TokenKind::kRightParen;
  if (whole) {
    ++cursor_.at;
    return absl::OkStatus();
  }
  program_.nodes.pop_back();  // The value comes behind the arguments.
  pending_.push_back({.kind = PendingKind::kUnknown, .span = span});
  return absl::OkStatus();
}

absl::Status ExpressionParser::UnknownFunction(Span span) const {
  const std::string_view name = source_.TextOf(span);
  std::string hint;
  if (const Token* definition = cursor_.FindDefinition(name)) {
    hint = Cat("it is defined only at ", source_.Position(definition->span.offset), ": define it before it is called");
  } else if (symbols_.Knows(name)) {
    hint = Cat("'", name, "' is a value: multiply with *, index with [ ]");
  } else {
    std::vector<std::string_view> names(FunctionNames().begin(), FunctionNames().end());
    for (const Function& function : program_.functions) names.push_back(function.name);
    for (const AnyExternalFunction& function : program_.externals) names.push_back(function.name());
    hint = DidYouMean(name, names);
  }
  if (!program_.functions.empty() && program_.functions.back().name == name) {
    // The one that is being defined: known once it is complete.
    return source_.ErrorAt(span, Cat("'", name, "' calls itself"), "there is no recursion; loop with 'for' or 'while'");
  }
  return source_.ErrorAt(span, Cat("unknown function '", name, "'"), hint);
}

absl::Status ExpressionParser::WrongArity(Span call, int wanted, int given) const {
  const std::string_view name = source_.TextOf(call);
  std::string_view hint;
  if ((name == "min" || name == "max") && given > 2) hint = "nest the calls: min(x, min(y, z))";
  return source_.ErrorAt(call,
                         Cat(name, " takes ", wanted, wanted == 1 ? " argument, " : " arguments, ", given,
                             given == 1 ? " is given" : " are given"),
                         hint);
}

absl::Status ExpressionParser::CloseCall(const Pending& call) {
  const int given = call.count + 1;
  const int wanted = call.builtin != nullptr ? call.builtin->arity : 1;
  if (given != wanted) return Instead(WrongArity(call.span, wanted, given), call.span);
  if (call.builtin == nullptr) {
    Node& cast = Emit(NodeKind::kCast, call.span);
    cast.dtype = call.cast;
    cast.cast = call.cast_kind;
    return absl::OkStatus();
  }
  heavy_ += call.builtin->heavy;
  cost_.costly_calls += call.builtin->heavy;
  Node& node = Emit(NodeKind::kOperator, call.span);
  node.op = call.builtin->op;
  node.count = static_cast<uint8_t>(given);
  return absl::OkStatus();
}

// Functions of the text.

absl::Status ExpressionParser::BeginFunction(uint32_t function, bool& whole) {
  const Span span = Now().span;
  const Function& callee = program_.functions[function];
  if (callee.broken) return BeginUnknown(KnownMistake(), whole);
  pending_.push_back({.kind = PendingKind::kFunction, .symbol = function, .span = span});
  cursor_.at += 2;
  if (Peek() != TokenKind::kRightParen) return absl::OkStatus();
  whole = true;
  SLIPWAY_RETURN_IF_ERROR(CloseFunction(pending_.back(), 0));
  pending_.pop_back();
  ++cursor_.at;
  return absl::OkStatus();
}

// An argument that stands for an array is its name.
absl::Status ExpressionParser::ArrayArgument() {
  const Pending& call = pending_.back();
  const uint32_t parameter = program_.functions[call.symbol].parameters[call.count];
  const TokenKind behind = Peek(1);
  if (Peek() != TokenKind::kName || (behind != TokenKind::kComma && behind != TokenKind::kRightParen)) {
    return source_.ErrorAt(Now().span,
                           Cat("parameter '", program_.symbols[parameter].name, "' of ", source_.TextOf(call.span),
                               " is read by index: the name of an array is wanted"));
  }
  const Span span = Now().span;
  const int rank = program_.symbols[parameter].rank;
  SLIPWAY_ASSIGN_OR_RETURN(const uint32_t array, symbols_.Resolve(span, rank == 0 ? Use::kAsked : Use::kIndexed));
  if (rank != 0) SLIPWAY_RETURN_IF_ERROR(symbols_.SetRank(array, rank, span));
  array_arguments_.emplace_back(parameter, array);
  constant_ = false;
  ++cursor_.at;
  return absl::OkStatus();
}

absl::Status ExpressionParser::CloseFunction(const Pending& call, int given) {
  const Function& callee = program_.functions[call.symbol];
  const int wanted = static_cast<int>(callee.parameters.size());
  if (given != wanted) return WrongArity(call.span, wanted, given);
  if (callee.results != 1 && (pending_.size() != 1 || results_ == 1)) {
    Node node{.count = static_cast<uint8_t>(callee.results), .symbol = call.symbol, .span = call.span};
    return ResultsUnwanted(node);
  }
  for (size_t i = 0; i < callee.parameters.size(); ++i) {
    const uint32_t parameter = callee.parameters[callee.parameters.size() - 1 - i];
    if (program_.symbols[parameter].kind != SymbolKind::kArray) continue;
    Node& bind = Emit(NodeKind::kBindArray, call.span);
    bind.symbol = parameter;
    bind.begin = array_arguments_.back().second;
    if (program_.symbols[parameter].folded) symbols_.SetFolded(bind.begin);
    array_arguments_.pop_back();
  }
  heavy_ += callee.heavy;
  constant_ = false;
  cost_.costly_calls += callee.cost.costly_calls;
  cost_.branches += callee.cost.branches;
  cost_.operations += callee.cost.operations;
  cost_.nesting = std::max(cost_.nesting, nesting_ + 1 + callee.cost.nesting);
  Node& node = Emit(NodeKind::kCall, call.span);
  node.symbol = call.symbol;
  node.count = static_cast<uint8_t>(callee.results);
  return absl::OkStatus();
}

// Functions of libraries.

absl::Status ExpressionParser::BeginExternal(uint32_t external, bool& whole) {
  pending_.push_back({.kind = PendingKind::kExternal, .symbol = external, .span = Now().span});
  cursor_.at += 2;
  if (Peek() != TokenKind::kRightParen) return absl::OkStatus();
  whole = true;
  SLIPWAY_RETURN_IF_ERROR(CloseExternal(pending_.back(), 0));
  pending_.pop_back();
  ++cursor_.at;
  return absl::OkStatus();
}

absl::Status ExpressionParser::CloseExternal(const Pending& call, int given) {
  const int wanted = static_cast<int>(program_.externals[call.symbol].params().size());
  if (given != wanted) return WrongArity(call.span, wanted, given);
  ++heavy_;
  ++cost_.costly_calls;
  constant_ = false;
  Node& node = Emit(NodeKind::kExternal, call.span);
  node.symbol = call.symbol;
  node.count = static_cast<uint8_t>(given);
  return absl::OkStatus();
}

absl::Status ExpressionParser::ResultsUnwanted(const Node& call) const {
  return source_.ErrorAt(call.span, Cat(source_.TextOf(call.span), " has ", call.count, " results; one is wanted here"),
                         "take them apart first: let a, b = f(x)");
}

// What is asked of the element or of an array.

// The dimension that a query names: a number, and nothing else.
absl::Status ExpressionParser::Dimension(Node& node) {
  const bool negative = Peek() == TokenKind::kMinus;
  const Span span = Now().span;
  if (negative) ++cursor_.at;
  const std::string_view digits = cursor_.TextOf(Now());
  if (Peek() != TokenKind::kInteger || digits.size() != 1 || digits[0] - '0' > kMaxRank - !negative ||
      (negative && digits[0] == '0')) {
    return source_.ErrorAt(Peek() == TokenKind::kEnd ? span : Now().span,
                           Cat("expected the number of a dimension, found ", cursor_.Found()),
                           "0 to 7, or -1 to -8 to count from the last");
  }
  const int dimension = digits[0] - '0';
  node.bits = static_cast<uint64_t>(static_cast<int64_t>(negative ? -dimension : dimension));
  ++cursor_.at;
  return absl::OkStatus();
}

absl::Status ExpressionParser::QueryOf(QueryName name) {
  Node node{.kind = NodeKind::kQuery, .span = Now().span};
  const bool takes_array = name != QueryName::kIndex;
  cursor_.at += 2;
  bool array = false;
  if (takes_array && Peek() == TokenKind::kName) {
    array = true;
    SLIPWAY_ASSIGN_OR_RETURN(node.symbol, symbols_.Resolve(Now().span, Use::kAsked));
    const Symbol& symbol = program_.symbols[node.symbol];
    // An output that is written element by element has the shape that all have.
    if (symbol.kind == SymbolKind::kOutput && program_.outputs[symbol.index].shape != ShapeRule::kGathered) {
      array = false;
    }
    ++cursor_.at;
    if (name == QueryName::kShape && Peek() == TokenKind::kComma) ++cursor_.at;
  }
  bool dimension = false;
  if ((name == QueryName::kIndex || name == QueryName::kShape) && Peek() != TokenKind::kRightParen) {
    dimension = true;
    SLIPWAY_RETURN_IF_ERROR(Dimension(node));
  }
  if (Peek() == TokenKind::kBad) return KnownMistake();
  if (Peek() != TokenKind::kRightParen || (name == QueryName::kShape && !dimension)) {
    return source_.ErrorAt(
        Now().span,
        Cat("expected ", Peek() == TokenKind::kRightParen ? "a dimension" : "')'", ", found ", cursor_.Found()),
        name == QueryName::kIndex   ? "index(d) or index()"
        : name == QueryName::kShape ? "shape(d) or shape(x, d)"
        : name == QueryName::kSize  ? "size() or size(x)"
                                    : "rank() or rank(x)");
  }
  ++cursor_.at;
  switch (name) {
    case QueryName::kIndex:
      node.detail = static_cast<uint8_t>(dimension ? Query::kIndex : Query::kNumber);
      if (InOperandOverAxes()) {
        return source_.ErrorAt(node.span, "inside of a reduction over axes there is no index",
                               "reduce over a range: sum(k in 0..n: ...)");
      }
      break;
    case QueryName::kShape:
      node.detail = static_cast<uint8_t>(array ? Query::kArrayExtent : Query::kExtent);
      break;
    case QueryName::kSize:
      node.detail = static_cast<uint8_t>(array ? Query::kArraySize : Query::kSize);
      break;
    case QueryName::kRank:
      node.detail = static_cast<uint8_t>(array ? Query::kArrayRank : Query::kRank);
      break;
  }
  program_.wants_number |= node.detail == static_cast<uint8_t>(Query::kNumber);
  program_.wants_indices |= dimension && !array;
  program_.wants_indices |= node.detail == static_cast<uint8_t>(Query::kRank);
  program_.wants_extents |= dimension && name == QueryName::kShape && !array;
  if (dimension) program_.queries.push_back(static_cast<uint32_t>(program_.nodes.size()));
  ++cost_.operations;
  constant_ = false;
  program_.nodes.push_back(node);
  return absl::OkStatus();
}

// Atomic operations: atomic_add(h[i], v).

absl::Status ExpressionParser::BeginAtomic(ir::AtomicOp op) {
  const Span span = Now().span;
  pending_.push_back({.kind = PendingKind::kAtomic, .detail = static_cast<uint8_t>(op), .span = span});
  cursor_.at += 2;
  if (Peek() == TokenKind::kName && Peek(1) == TokenKind::kLeftBracket) return absl::OkStatus();
  if (Peek() == TokenKind::kBad) return KnownMistake();
  return source_.ErrorAt(Now().span,
                         Cat(source_.TextOf(span), " wants an element of an output, found ", cursor_.Found()),
                         Cat("write ", source_.TextOf(span), "(h[i], ...)"));
}

absl::Status ExpressionParser::CloseAtomic(const Pending& call) {
  const int wanted = 1 + ir::RowOf(static_cast<ir::AtomicOp>(call.detail)).operands;
  if (call.count + 1 != wanted) return WrongArity(call.span, wanted, call.count + 1);
  if (call.indices == 0) {
    return source_.ErrorAt(call.span, Cat(source_.TextOf(call.span), " wants an element of an output"));
  }
  ++heavy_;
  constant_ = false;
  Node& node = Emit(NodeKind::kAtomic, call.span);
  node.symbol = call.symbol;
  node.count = call.indices;
  node.detail = call.detail;
  return absl::OkStatus();
}

// Reductions: sum(k in 0..n: t[k]), sum(x, axis=1).

absl::Status ExpressionParser::BeginReduction(Reduction reduction) {
  const Span span = Now().span;
  const Pending call{.detail = static_cast<uint8_t>(reduction), .span = span};
  AddBranch();
  constant_ = false;
  cursor_.at += 2;
  if (reduction == Reduction::kCustom) return BeginCustom(call);
  if (Peek() == TokenKind::kRightParen) return WrongArity(span, 1, 0);
  return BeginOperand(call);
}

absl::Status ExpressionParser::BeginOperand(Pending call) {
  const auto reduction = static_cast<Reduction>(call.detail);
  const bool custom = reduction == Reduction::kCustom;
  const bool over_range = Peek() == TokenKind::kName && cursor_.Is("in", 1);
  const uint32_t operation = call.symbol;
  if (!over_range) {
    call.symbol = static_cast<uint32_t>(program_.axis_reductions.size());
    if (call.symbol == kMaxReducedArrays) {
      return source_.ErrorAt(call.span, Cat("the text has ", call.symbol + 1, " reductions over axes"),
                             Cat("at most ", kMaxReducedArrays, " are allowed; split it into several texts"));
    }
    program_.axis_reductions.push_back(
        {.reduction = reduction,
         .operation = operation,
         .parts = call.parts,
         .outer = axis_reductions_.empty() ? AxisReduction::kNoReduction : axis_reductions_.back(),
         .span = call.span});
    axis_reductions_.push_back(call.symbol);
  }
  Node& node = Emit(over_range ? NodeKind::kReduceBegin : NodeKind::kReduceAxes, call.span);
  node.symbol = call.symbol;
  node.detail = call.detail;
  if (custom) {
    node.count = call.parts;
    node.begin = call.begin;
  }
  call.begin = LastNode();
  call.kind = over_range ? PendingKind::kReduceBody : PendingKind::kReduceAxes;
  pending_.push_back(call);
  if (!over_range) return BeginList(pending_.back());
  symbols_.BeginScope();
  return BeginRange();
}

// Reductions by operations of the text's own: reduce(f, 0, x), reduce(f, (0, 1), (x, y), axis=1).

absl::Status ExpressionParser::BeginCustom(Pending call) {
  const Span name = Now().span;
  if (Peek() == TokenKind::kBad) return KnownMistake();
  if (Peek() != TokenKind::kName || (Peek(1) != TokenKind::kComma && Peek(1) != TokenKind::kRightParen)) {
    return source_.ErrorAt(name, Cat("expected the name of a function, found ", cursor_.Found()),
                           "reduce(f, 0, x), where def f(a, b) = ... makes one value of two");
  }
  SLIPWAY_ASSIGN_OR_RETURN(const Operation operation, OperationOf(name));
  ++cursor_.at;
  if (Peek() == TokenKind::kRightParen) {
    return source_.ErrorAt(Now().span, Cat("expected ',' and the identity of ", source_.TextOf(name), ", found ')'"),
                           "the value that changes nothing, and the result of no elements: reduce(f, 0, x)");
  }
  ++cursor_.at;
  call.kind = PendingKind::kIdentity;
  call.symbol = static_cast<uint32_t>(program_.operations.size());
  call.parts = static_cast<uint8_t>(operation.parts);
  call.begin = static_cast<uint32_t>(program_.nodes.size());
  program_.operations.push_back(operation);
  constant_ = true;
  pending_.push_back(call);
  return BeginList(pending_.back());
}

absl::StatusOr<Operation> ExpressionParser::OperationOf(Span name) {
  Operation operation{.span = name};
  const auto wrong = [&](std::string_view message, std::string_view hint) {
    return source_.ErrorAt(name, Cat("'", source_.TextOf(name), "' ", message), hint);
  };
  if (const uint32_t* const function = symbols_.FindFunction(source_.TextOf(name))) {
    const Function& callee = program_.functions[*function];
    if (callee.broken) return KnownMistake();
    operation.function = *function;
    operation.parts = callee.results;
    if (callee.parameters.size() != 2 * size_t{callee.results}) {
      return wrong(Cat("takes ", callee.parameters.size(), callee.parameters.size() == 1 ? " value" : " values",
                       " and returns ", callee.results),
                   "what reduce is given makes one state of two: of n values each it takes 2 n, the first state's "
                   "first, and returns n");
    }
    if (callee.results > kMaxParts) {
      return wrong(Cat("returns ", callee.results, " values"), Cat("a state of reduce has at most ", kMaxParts));
    }
    SLIPWAY_RETURN_IF_ERROR(CheckOperation(*function, name));
    heavy_ += callee.heavy;
    cost_.costly_calls += callee.cost.costly_calls;
    cost_.branches += callee.cost.branches;
    cost_.operations += callee.cost.operations;
    cost_.nesting = std::max(cost_.nesting, nesting_ + 1 + callee.cost.nesting);
    return operation;
  }
  operation.external = true;
  for (uint32_t i = 0; i < program_.externals.size(); ++i) {
    const AnyExternalFunction& external = program_.externals[i];
    if (external.name() != source_.TextOf(name)) continue;
    const auto& params = external.params();
    const bool fits = params.size() == 2 && std::all_of(params.begin(), params.end(), [&](const DeviceParam& param) {
                        return !param.pointer && param.dtype == external.result();
                      });
    if (!fits)
      return wrong("is no operation", Cat("it is ", Describe(external), "; one value of two of its type is wanted"));
    operation.function = i;
    ++heavy_;
    ++cost_.costly_calls;
    return operation;
  }
  if (IsCallable(source_.TextOf(name))) {
    return wrong("is a function of the language, and reduce wants one of the text",
                 Cat("write def f(a, b) = ", source_.TextOf(name), "(a, b), and reduce(f, ...)"));
  }
  return UnknownFunction(name);
}

// A function that merges states is called where no element is: it has to be made of its parameters, of constants, and
// of what is the same for all elements.
absl::Status ExpressionParser::CheckOperation(uint32_t function, Span name) {
  const auto wrong = [&](const Node& node, std::string_view what, std::string_view hint) {
    return source_.ErrorAt(name,
                           Cat("'", source_.TextOf(name), "' cannot be what reduce merges with: it ", what, " at ",
                               source_.Position(node.span.offset)),
                           hint);
  };
  std::vector<uint32_t> functions = {function};
  for (size_t f = 0; f < functions.size(); ++f) {
    const Function& each = program_.functions[functions[f]];
    for (uint32_t parameter : each.parameters) {
      if (f != 0 || program_.symbols[parameter].kind != SymbolKind::kArray) continue;
      return wrong({.span = program_.symbols[parameter].span},
                   Cat("takes an array, '", program_.symbols[parameter].name, "',"), "its parameters are values");
    }
    for (uint32_t i = each.begin + 1; i + 1 < program_.nodes[each.begin].begin; ++i) {
      const Node& node = program_.nodes[i];
      switch (node.kind) {
        case NodeKind::kStore:
        case NodeKind::kAtomic:
        case NodeKind::kCheck:
          return wrong(node, node.kind == NodeKind::kCheck ? "checks" : "writes",
                       "how often it is called, and with what, is not said: it may have no effects");
        case NodeKind::kGather:
          if (program_.symbols[node.symbol].kind != SymbolKind::kOutput) break;
          return wrong(node, "reads an output", "others write it meanwhile");
        case NodeKind::kReduceAxes:
          return wrong(node, "reduces over axes", "it is called without elements: reduce over a range");
        case NodeKind::kQuery:
          if (static_cast<Query>(node.detail) >= Query::kArrayExtent) break;
          return wrong(node, "asks for the element", "it is called without one");
        case NodeKind::kName:
          if (program_.symbols[node.symbol].kind == SymbolKind::kInput) {
            SLIPWAY_RETURN_IF_ERROR(TakeAsNumber(name, node.symbol));
          }
          break;
        case NodeKind::kCall:
          if (std::find(functions.begin(), functions.end(), node.symbol) == functions.end()) {
            functions.push_back(node.symbol);
          }
          break;
        case NodeKind::kReduceBegin:
          if (static_cast<Reduction>(node.detail) != Reduction::kCustom) break;
          if (const Operation& inner = program_.operations[node.symbol]; !inner.external) {
            functions.push_back(inner.function);
          }
          break;
        default:
          break;
      }
    }
  }
  return absl::OkStatus();
}

// An input that an operation reads has one value for all elements.
absl::Status ExpressionParser::TakeAsNumber(Span name, uint32_t symbol) {
  Parameter& input = program_.inputs[program_.symbols[symbol].index];
  if (input.shape == ShapeRule::kAny && !input.reduced && !input.indexed) input.shape = ShapeRule::kScalar;
  if (input.shape == ShapeRule::kScalar) return absl::OkStatus();
  return source_.ErrorAt(name, Cat("'", source_.TextOf(name), "' reads '", input.name, "', which is an array"),
                         "what reduce merges with knows numbers, and elements by index");
}

absl::Status ExpressionParser::BeginList(Pending& of) {
  if (of.parts == 1) return absl::OkStatus();
  const std::string_view what = of.kind == PendingKind::kIdentity ? "the identity" : "what is reduced";
  if (Peek() != TokenKind::kLeftParen) {
    if (Peek() == TokenKind::kBad) return KnownMistake();
    return source_.ErrorAt(Now().span,
                           Cat("expected '(' and the ", of.parts, " values of ", what, ", found ", cursor_.Found()),
                           "reduce(f, (0, 1), (x, y))");
  }
  of.listed = true;
  of.count = 0;
  ++cursor_.at;
  return absl::OkStatus();
}

absl::Status ExpressionParser::CloseList() {
  Pending& top = pending_.back();
  const bool identity = top.kind == PendingKind::kIdentity;
  if (top.count + 1 != top.parts) {
    return source_.ErrorAt(Now().span,
                           Cat(identity ? "the identity has " : "what is reduced has ", top.count + 1,
                               top.count == 0 ? " value; " : " values; ", top.parts, " are wanted"),
                           "as many as the function returns");
  }
  top.listed = false;
  top.count = 0;
  ++cursor_.at;
  const bool ends = Peek() == TokenKind::kRightParen && !identity;
  const bool goes_on = Peek() == TokenKind::kComma && top.kind != PendingKind::kReduceBody;
  if (ends || goes_on) return absl::OkStatus();
  return Unclosed();
}

// At the ',' behind it.
absl::Status ExpressionParser::EndIdentity() {
  const Pending identity = pending_.back();
  if (!constant_ && !broken_) {
    return source_.ErrorAt(identity.span, "the identity hangs on inputs",
                           "it is a number, or made of such: 0, -1.0 / 0.0");
  }
  constant_ = false;
  pending_.pop_back();
  ++cursor_.at;
  return BeginOperand(identity);
}

// "k in", of which the bounds follow.
absl::Status ExpressionParser::BeginRange() {
  if (Peek() != TokenKind::kName || !cursor_.Is("in", 1)) {
    if (Peek() == TokenKind::kBad) return KnownMistake();
    return source_.ErrorAt(Now().span, Cat("expected a range, found ", cursor_.Found()), "write k in 0..n");
  }
  const Pending& body = pending_.back();
  if (IsPosition(static_cast<Reduction>(body.detail)) && program_.nodes.back().kind == NodeKind::kReduceFor) {
    return source_.ErrorAt(Now().span,
                           Cat(source_.TextOf(body.span), " goes over one range: its result is one number"));
  }
  pending_.push_back({.kind = PendingKind::kRange, .name = Now().span, .span = body.span});
  cursor_.at += 2;
  return absl::OkStatus();
}

// ".." or "step", and the expression behind it.
absl::Status ExpressionParser::Bound() {
  Pending& range = pending_.back();
  const bool is_step = Peek() == TokenKind::kName;
  if (range.count != (is_step ? 1 : 0)) {
    return source_.ErrorAt(Now().span, Cat("expected ':' behind the range, found ", cursor_.Found()),
                           "a range is written 0..n or 0..n step 2");
  }
  ++range.count;
  ++cursor_.at;
  return absl::OkStatus();
}

// ',' and one more range, or ':' and the operand.
absl::Status ExpressionParser::EndRange() {
  const Pending range = pending_.back();
  if (range.count == 0) return Unclosed();
  if (range.count == 1) Emit(NodeKind::kInteger, range.name).bits = 1;
  pending_.pop_back();
  SLIPWAY_ASSIGN_OR_RETURN(const uint32_t symbol, symbols_.DefineLocal(range.name, SymbolKind::kLocal));
  Emit(NodeKind::kReduceFor, range.name).symbol = symbol;
  ++cost_.branches;
  const bool more = Peek() == TokenKind::kComma;
  ++cursor_.at;
  return more ? BeginRange() : BeginList(pending_.back());
}

absl::Status ExpressionParser::EndReduction(const Pending& call) {
  Node& node = Emit(NodeKind::kReduceEnd, call.span);
  node.begin = call.begin;
  node.detail = call.detail;
  if (static_cast<Reduction>(call.detail) == Reduction::kCustom) node.count = call.parts;
  if (call.parts == 1) return absl::OkStatus();
  return pending_.size() == 1 && results_ != 1 ? absl::OkStatus() : ResultsUnwanted(node);
}

// What follows the operand of a reduction over axes.
absl::Status ExpressionParser::CloseAxes(Pending call) {
  AxisReduction& reduction = program_.axis_reductions[call.symbol];
  while (Peek() == TokenKind::kComma) {
    ++cursor_.at;
    const bool named = Peek() == TokenKind::kName && Peek(1) == TokenKind::kAssign;
    if (named && cursor_.Is("axis")) {
      if (!reduction.axes.empty()) {
        return source_.ErrorAt(Now().span, "axis= stands there twice", "several axes are written axis=(0, 1)");
      }
      cursor_.at += 2;
      SLIPWAY_RETURN_IF_ERROR(Axes(reduction));
    } else if (named && cursor_.Is("keepdims")) {
      cursor_.at += 2;
      if (!cursor_.Is("true") && !cursor_.Is("false")) {
        return source_.ErrorAt(Now().span, Cat("expected true or false, found ", cursor_.Found()));
      }
      reduction.keep_dimensions = cursor_.Is("true");
      ++cursor_.at;
    } else {
      return source_.ErrorAt(Now().span, Cat("expected axis= or keepdims=, found ", cursor_.Found()),
                             Cat(source_.TextOf(call.span), "(x, axis=1, keepdims=true)"));
    }
  }
  if (Peek() != TokenKind::kRightParen) return Unclosed();
  ++cursor_.at;
  bool any_array = false;
  for (const ReducedArray& reduced : program_.reduced) any_array |= reduced.reduction == call.symbol;
  if (!any_array && !program_.runs_along && !broken_) {
    return source_.ErrorAt(call.span, Cat(source_.TextOf(call.span), " over axes wants an array in what it reduces"),
                           "of what is read by index reduce over a range: sum(k in 0..n: t[k])");
  }
  axis_reductions_.pop_back();
  SLIPWAY_RETURN_IF_ERROR(EndReduction(call));
  pending_.pop_back();
  return absl::OkStatus();
}

// 1, -1, (0, 2)
absl::Status ExpressionParser::Axes(AxisReduction& reduction) {
  const bool several = Peek() == TokenKind::kLeftParen;
  if (several) ++cursor_.at;
  while (true) {
    Node axis;
    SLIPWAY_RETURN_IF_ERROR(Dimension(axis));
    reduction.axes.push_back(static_cast<int>(static_cast<int64_t>(axis.bits)));
    if (!several || Peek() != TokenKind::kComma) break;
    ++cursor_.at;
  }
  if (!several) return absl::OkStatus();
  if (Peek() != TokenKind::kRightParen) {
    return source_.ErrorAt(Now().span, Cat("expected ')' to end the axes, found ", cursor_.Found()));
  }
  ++cursor_.at;
  return absl::OkStatus();
}

}  // namespace slipway::text
