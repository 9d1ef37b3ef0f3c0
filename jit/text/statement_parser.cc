#include "jit/text/statement_parser.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "driver/error_record.h"
#include "driver/status_macros.h"
#include "driver/suggest.h"
#include "jit/text/cat.h"
#include "jit/text/words.h"

namespace slipway::text {
namespace {

using ir::Op;

// What an assignment with an operator does: to a variable, and to an element that others may change at the same time.
struct Compound {
  TokenKind token;
  Op op;
  bool is_atomic;
  ir::AtomicOp atomic;
};
constexpr Compound kCompounds[] = {
    {TokenKind::kPlusAssign, Op::kAdd, true, ir::AtomicOp::kAdd},
    {TokenKind::kMinusAssign, Op::kSub, true, ir::AtomicOp::kAdd},  // Of the value negated.
    {TokenKind::kStarAssign, Op::kMul, false, {}},
    {TokenKind::kSlashAssign, Op::kDiv, false, {}},
    {TokenKind::kPercentAssign, Op::kRem, false, {}},
    {TokenKind::kAmpAssign, Op::kBitAnd, true, ir::AtomicOp::kAnd},
    {TokenKind::kPipeAssign, Op::kBitOr, true, ir::AtomicOp::kOr},
    {TokenKind::kCaretAssign, Op::kBitXor, true, ir::AtomicOp::kXor},
    {TokenKind::kShiftLeftAssign, Op::kShl, false, {}},
    {TokenKind::kShiftRightAssign, Op::kShr, false, {}},
};
const Compound* FindCompound(TokenKind kind) {
  for (const Compound& compound : kCompounds) {
    if (compound.token == kind) return &compound;
  }
  return nullptr;
}

}  // namespace

void StatementParser::Run() {
  while (!mistakes_.full() && !gave_up_) {
    while (Peek() == TokenKind::kNewline) ++cursor_.at;
    if (Peek() == TokenKind::kEnd) break;
    const size_t scopes = symbols_.depth();
    targets_.clear();
    const absl::Status status = Statement();
    if (!status.ok()) Recover(status, scopes);
  }
  if (!blocks_.empty() && mistakes_.empty()) {
    const Block& block = blocks_.back();
    Report(source_.ErrorAt(Now().span, Cat("expected '}' to end the block of '", source_.TextOf(block.span), "' at ",
                                           source_.Position(block.span.offset), ", found the end of the text")));
  }
  if (mistakes_.empty()) symbols_.CheckParameters(mistakes_);
}

Node& StatementParser::Emit(NodeKind kind, Span span) {
  ++cost().operations;
  program_.nodes.push_back({.kind = kind, .span = span});
  return program_.nodes.back();
}

absl::Status StatementParser::Expected(std::string_view wanted, std::string_view hint) const {
  if (Peek() == TokenKind::kBad) return KnownMistake();
  return source_.ErrorAt(Now().span, Cat("expected ", wanted, ", found ", Found()), hint);
}

void StatementParser::Recover(const absl::Status& status, size_t scopes) {
  mistakes_.Add(status, statement_);
  while (symbols_.depth() > scopes) symbols_.EndScope();
  for (const Span& target : targets_) symbols_.Break(target);
  if (function_ != nullptr) {
    function_->broken = true;
    if (!InFunctionBlock()) {  // Its head, or an expression as its body.
      while (symbols_.depth() > 0) symbols_.EndScope();
      symbols_.LeaveBrokenFunction(FunctionIndex());
      function_ = nullptr;
    }
  }
  // A statement that broke off where the next one begins does not take it along.
  const bool begins = Is("let") || Is("if") || Is("for") || Is("while") || Is("return");
  if (!begins || !StartsLine(Now().span.offset) || Now().span.offset == statement_) cursor_.SkipStatement();
}

bool StatementParser::StartsLine(uint32_t offset) const {
  const std::string_view before = source_.text().substr(0, offset);
  const size_t last = before.find_last_not_of(" \t\r");
  return last == std::string_view::npos || before[last] == '\n';
}

absl::Status StatementParser::Statement() {
  const Token token = Now();
  statement_ = token.span.offset;
  absl::Status status;
  if (Peek() == TokenKind::kRightBrace) {
    status = CloseBlock();
  } else if (Is("let")) {
    status = Let();
  } else if (Introduces("var")) {
    status = Var();
  } else if (Introduces("const")) {
    status = Const();
  } else if (Introduces("def")) {
    return Def();
  } else if (Is("if")) {
    status = If();
  } else if (Is("for")) {
    status = For();
  } else if (Is("while")) {
    status = While();
  } else if (Is("return")) {
    status = Return();
  } else if ((Is("break") || Is("continue")) && EndsStatement(1)) {
    status = LeaveLoop();
  } else if (Is("check") && Peek(1) == TokenKind::kLeftParen) {
    status = Check();
  } else if (Peek() == TokenKind::kName && Peek(1) == TokenKind::kLeftParen &&
             FindAtomic(cursor_.TextOf(token)) != nullptr) {
    status = Atomic();
  } else {
    status = Assignment();
  }
  SLIPWAY_RETURN_IF_ERROR(status);
  return CheckCost(token.span);
}

bool StatementParser::EndsStatement(size_t ahead) const {
  const TokenKind kind = Peek(ahead);
  return kind == TokenKind::kNewline || kind == TokenKind::kEnd || kind == TokenKind::kRightBrace;
}

absl::Status StatementParser::Expression(int results) {
  ExpressionParser parser = NewExpression();
  SLIPWAY_RETURN_IF_ERROR(parser.Run(results));
  constant_ = parser.constant();
  if (function_ != nullptr) function_->heavy |= parser.heavy();
  return absl::OkStatus();
}

absl::Status StatementParser::LastExpression(int results) {
  SLIPWAY_RETURN_IF_ERROR(Expression(results));
  if (EndsStatement()) return absl::OkStatus();
  return NewExpression().UnexpectedAfterOperand();
}

absl::Status StatementParser::ExpressionBefore(TokenKind end, std::string_view what) {
  SLIPWAY_RETURN_IF_ERROR(Expression());
  if (Peek() == end) return absl::OkStatus();
  if (EndsStatement() || Peek() == TokenKind::kLeftBrace) return Expected(what);
  return NewExpression().UnexpectedAfterOperand();
}

absl::Status StatementParser::CheckCost(Span at) {
  const Cost& cost = this->cost();
  if (cost.costly_calls > kMaxCostlyCalls) {
    return TooMuch(at, Cat("up to here the text calls ", cost.costly_calls, " costly functions"), kMaxCostlyCalls);
  }
  if (cost.branches > kMaxBranches) {
    return TooMuch(at,
                   Cat("up to here the text has ", cost.branches,
                       " blocks, reductions, and conditions with costly or indexed operands"),
                   kMaxBranches);
  }
  if (cost.operations > kMaxOperations) {
    return TooMuch(
        at, Cat("up to here the text has ", cost.operations, " operations, with functions put where they are called"),
        kMaxOperations);
  }
  if (cost.nesting > kMaxNesting) {
    return TooMuch(at, Cat("blocks nest ", cost.nesting, " deep, with functions put where they are called"),
                   kMaxNesting);
  }
  return absl::OkStatus();
}

absl::Status StatementParser::TooMuch(Span at, std::string_view message, uint32_t limit) {
  gave_up_ = true;  // Whatever follows is too much, too.
  return source_.ErrorAt(at, message, Cat("at most ", limit, " are allowed; split it into several texts"));
}

absl::Status StatementParser::CheckTargetWord(Span span) const {
  const std::string_view word = source_.TextOf(span);
  if (FindKeyword(word) != nullptr) {
    return source_.ErrorAt(span, Cat("'", word, "' cannot be assigned: it is a word of the language"));
  }
  if (FindForeignWord(word) != nullptr) {
    return source_.ErrorAt(span, Cat("'", word, "' cannot be a name"), "it is kept free for the language");
  }
  return absl::OkStatus();
}

absl::Status StatementParser::Targets(std::string_view behind) {
  while (true) {
    if (Peek() != TokenKind::kName) return Expected(Cat("a name after '", behind, "'"));
    SLIPWAY_RETURN_IF_ERROR(CheckTargetWord(Now().span));
    targets_.push_back(Now().span);
    ++cursor_.at;
    if (Peek() != TokenKind::kComma) return absl::OkStatus();
    ++cursor_.at;
    behind = ",";
  }
}

absl::Status StatementParser::OptionalType(DType& dtype) {
  if (Peek() != TokenKind::kColon) return absl::OkStatus();
  ++cursor_.at;
  if (Peek() == TokenKind::kName) dtype = DTypeFromName(cursor_.TextOf(Now()));
  if (dtype == DType::kVoid) {
    std::vector<std::string_view> names;
    for (int i = 1; i < kNumDTypes; ++i) names.push_back(slipway::Name(static_cast<DType>(i)));
    for (int i = 1; i < kNumDTypes; ++i) names.push_back(ShortName(static_cast<DType>(i)));
    return Expected("a dtype", Peek() == TokenKind::kName ? DidYouMean(cursor_.TextOf(Now()), names) : "");
  }
  ++cursor_.at;
  return absl::OkStatus();
}

absl::Status StatementParser::Value(std::string_view what) {
  if (Peek() != TokenKind::kAssign) {
    if (Peek() == TokenKind::kBad) return KnownMistake();
    return source_.ErrorAt(Now().span, Cat("expected '=' after the name of ", what));
  }
  ++cursor_.at;
  const int results = static_cast<int>(targets_.size());
  if (results > UINT8_MAX)
    return source_.ErrorAt(targets_[0], Cat("an assignment to ", results, " names"), "at most 255 are allowed");
  SLIPWAY_RETURN_IF_ERROR(LastExpression(results));
  const Node& last = program_.nodes.back();
  if (const int given = ResultsOf(last); given != results && results != 1) {
    return source_.ErrorAt(
        targets_[0],
        Cat(results, " names are assigned, but the expression has ", given, given == 1 ? " result" : " results"),
        "call a function with as many results");
  }
  return absl::OkStatus();
}

absl::Status StatementParser::Let() {
  ++cursor_.at;
  SLIPWAY_RETURN_IF_ERROR(Targets("let"));
  DType dtype = DType::kVoid;
  SLIPWAY_RETURN_IF_ERROR(OptionalType(dtype));
  SLIPWAY_RETURN_IF_ERROR(Value("a local"));
  return DefineAll(SymbolKind::kLocal, dtype);
}

absl::Status StatementParser::Var() {
  ++cursor_.at;
  SLIPWAY_RETURN_IF_ERROR(Targets("var"));
  DType dtype = DType::kVoid;
  SLIPWAY_RETURN_IF_ERROR(OptionalType(dtype));
  SLIPWAY_RETURN_IF_ERROR(Value("a variable"));
  return DefineAll(SymbolKind::kVariable, dtype);
}

absl::Status StatementParser::DefineAll(SymbolKind kind, DType dtype) {
  const bool plain = kind == SymbolKind::kLocal && dtype == DType::kVoid;
  std::vector<Node> nodes;
  for (Span target : targets_) {
    SLIPWAY_ASSIGN_OR_RETURN(const uint32_t symbol, symbols_.DefineLocal(target, kind));
    nodes.push_back(
        {.kind = plain ? NodeKind::kAssign : NodeKind::kDeclare, .dtype = dtype, .symbol = symbol, .span = target});
  }
  EmitBackwards(nodes);
  return absl::OkStatus();
}

absl::Status StatementParser::Const() {
  const Span word = Now().span;
  ++cursor_.at;
  SLIPWAY_RETURN_IF_ERROR(CheckTargetWord(Now().span));
  targets_.push_back(Now().span);
  ++cursor_.at;
  SLIPWAY_RETURN_IF_ERROR(Value("a constant"));
  if (!blocks_.empty()) {
    return source_.ErrorAt(word, "a constant is defined outside of blocks", "write 'let' for a local of the block");
  }
  if (!constant_) {
    return source_.ErrorAt(targets_[0],
                           Cat("'", source_.TextOf(targets_[0]), "' is not constant: its value comes from inputs"),
                           "write 'let' for a local");
  }
  SLIPWAY_ASSIGN_OR_RETURN(const uint32_t symbol, symbols_.DefineConstant(targets_[0]));
  Emit(NodeKind::kAssign, targets_[0]).symbol = symbol;
  return absl::OkStatus();
}

absl::Status StatementParser::Assignment() {
  const Token token = Now();
  if (Peek() != TokenKind::kName || FindKeyword(cursor_.TextOf(token)) != nullptr ||
      FindForeignWord(cursor_.TextOf(token)) != nullptr) {
    return NoAssignment();
  }
  if (Peek(1) == TokenKind::kLeftBracket) {
    if (!AssignsElement()) return NoAssignment();
    return Element();
  }
  if (FindCompound(Peek(1)) != nullptr) return CompoundAssignment();
  if (Peek(1) != TokenKind::kAssign && Peek(1) != TokenKind::kComma) return NoAssignment();
  if (Peek(1) == TokenKind::kComma && !AssignsSeveral()) return NoAssignment();
  SLIPWAY_RETURN_IF_ERROR(Targets(""));
  SLIPWAY_RETURN_IF_ERROR(Value("an output"));
  std::vector<Node> nodes(targets_.size());
  for (size_t i = 0; i < targets_.size(); ++i) SLIPWAY_RETURN_IF_ERROR(Assign(targets_[i], nodes[i]));
  EmitBackwards(nodes);
  return absl::OkStatus();
}

void StatementParser::EmitBackwards(const std::vector<Node>& nodes) {
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) Emit(node->kind, node->span) = *node;
}

absl::Status StatementParser::Assign(Span target, Node& node) {
  if (symbols_.IsVariable(target)) {
    node = {.kind = NodeKind::kWrite, .span = target};
    SLIPWAY_ASSIGN_OR_RETURN(node.symbol, symbols_.ResolveVariable(target));
    return absl::OkStatus();
  }
  if (!blocks_.empty() || function_ != nullptr) {
    const std::string_view name = source_.TextOf(target);
    if (function_ != nullptr) {
      return source_.ErrorAt(target, Cat("'", name, "' is no variable of the function"),
                             Cat("write 'let ", name, " = ...', or 'var ", name, " = ...' to assign it again"));
    }
    return source_.ErrorAt(target, Cat("'", name, "' is no variable: inside of a block only variables are assigned"),
                           Cat("write 'var ", name, " = ...' before the block, and assign outputs behind it"));
  }
  node = {.kind = NodeKind::kAssign, .span = target};
  SLIPWAY_ASSIGN_OR_RETURN(node.symbol, symbols_.DefineOutput(target));
  return absl::OkStatus();
}

absl::Status StatementParser::CompoundAssignment() {
  const Span target = Now().span;
  const Span op_span = cursor_.At(1).span;
  const Compound& compound = *FindCompound(Peek(1));
  SLIPWAY_ASSIGN_OR_RETURN(const uint32_t symbol, symbols_.ResolveVariable(target));
  Emit(NodeKind::kName, target).symbol = symbol;
  cursor_.at += 2;
  SLIPWAY_RETURN_IF_ERROR(LastExpression());
  Node& node = Emit(NodeKind::kOperator, op_span);
  node.op = compound.op;
  node.count = 2;
  Emit(NodeKind::kWrite, target).symbol = symbol;
  return absl::OkStatus();
}

bool StatementParser::AssignsElement() const {
  size_t depth = 0;
  for (size_t ahead = 1;; ++ahead) {
    switch (Peek(ahead)) {
      case TokenKind::kLeftBracket:
      case TokenKind::kLeftParen:
        ++depth;
        break;
      case TokenKind::kRightBracket:
      case TokenKind::kRightParen:
        if (--depth == 0) return Peek(ahead + 1) == TokenKind::kAssign || FindCompound(Peek(ahead + 1)) != nullptr;
        break;
      case TokenKind::kEnd:
        return false;
      default:
        break;
    }
  }
}

bool StatementParser::AssignsSeveral() const {
  size_t ahead = 0;
  while (Peek(ahead) == TokenKind::kName && Peek(ahead + 1) == TokenKind::kComma) ahead += 2;
  return Peek(ahead) == TokenKind::kName && Peek(ahead + 1) == TokenKind::kAssign;
}

absl::Status StatementParser::Element() {
  const Span target = Now().span;
  SLIPWAY_ASSIGN_OR_RETURN(const uint32_t symbol, symbols_.ResolveStored(target));
  ++cursor_.at;
  int rank = 0;
  bool broken = false;
  do {
    ++cursor_.at;
    ++rank;
    const absl::Status index = NewExpression().RunWithin(TokenKind::kRightBracket);
    broken |= !index.ok();
    const bool ended = Peek() == TokenKind::kComma || Peek() == TokenKind::kRightBracket;
    if (!index.ok() && !(IsKnownMistake(index) && ended)) return index;
  } while (Peek() == TokenKind::kComma);
  if (Peek() != TokenKind::kRightBracket) {
    const absl::Status status = Peek() == TokenKind::kNewline && cursor_.TextOf(Now()) == ";"
                                    ? source_.ErrorAt(Now().span, "an element that is written has no border",
                                                      "leave the ';' and what follows out")
                                    : Expected(Cat("']' to end the index of ", source_.TextOf(target)));
    while (Peek() != TokenKind::kRightBracket && Peek() != TokenKind::kEnd) ++cursor_.at;
    return status;
  }
  ++cursor_.at;
  SLIPWAY_RETURN_IF_ERROR(symbols_.SetRank(symbol, rank, target));
  const Token op = Now();
  ++cursor_.at;
  SLIPWAY_RETURN_IF_ERROR(LastExpression());
  if (broken) return KnownMistake();
  if (function_ != nullptr) function_->heavy = true;
  if (op.kind == TokenKind::kAssign) {
    Node& store = Emit(NodeKind::kStore, target);
    store.symbol = symbol;
    store.count = static_cast<uint8_t>(rank);
    return absl::OkStatus();
  }
  const Compound& compound = *FindCompound(op.kind);
  if (!compound.is_atomic) {
    return source_.ErrorAt(op.span, Cat("there is no atomic '", source_.TextOf(op.span), "'"),
                           "elements are updated with += -= &= |= ^= and atomic_min, atomic_max, ...");
  }
  if (op.kind == TokenKind::kMinusAssign) {
    Node& minus = Emit(NodeKind::kOperator, op.span);
    minus.op = Op::kNeg;
    minus.count = 1;
  }
  Node& atomic = Emit(NodeKind::kAtomic, target);
  atomic.symbol = symbol;
  atomic.count = static_cast<uint8_t>(rank);
  atomic.detail = static_cast<uint8_t>(compound.atomic);
  Emit(NodeKind::kDrop, target);
  return absl::OkStatus();
}

absl::Status StatementParser::Atomic() {
  const Span span = Now().span;
  SLIPWAY_RETURN_IF_ERROR(LastExpression());
  if (program_.nodes.back().kind != NodeKind::kAtomic) {
    return source_.ErrorAt(span, "this value is not assigned to anything", "let the atomic operation stand alone");
  }
  Emit(NodeKind::kDrop, span);
  return absl::OkStatus();
}

// check(condition, "message", values ...)
absl::Status StatementParser::Check() {
  const Span word = Now().span;
  constexpr std::string_view kHint = "write check(x >= 0, \"x is negative\")";
  cursor_.at += 2;
  SLIPWAY_RETURN_IF_ERROR(NewExpression().RunWithin(TokenKind::kRightParen));
  if (Peek() == TokenKind::kRightParen) return Expected("',' and a message behind the condition", kHint);
  if (Peek() != TokenKind::kComma) return NewExpression().UnexpectedAfterOperand();
  ++cursor_.at;
  if (Peek() != TokenKind::kString) return Expected("a message in quotes", kHint);
  const uint32_t message = static_cast<uint32_t>(program_.checks.size());
  program_.checks.push_back(StringValue(cursor_.TextOf(Now())));
  ++cursor_.at;
  size_t values = 0;
  for (; Peek() == TokenKind::kComma; ++values) {
    ++cursor_.at;
    SLIPWAY_RETURN_IF_ERROR(NewExpression().RunWithin(TokenKind::kRightParen));
  }
  if (values > ::slipway::internal::kMaxErrorValues) {
    return source_.ErrorAt(word, Cat("a check gives ", values, " values"),
                           Cat("at most ", ::slipway::internal::kMaxErrorValues, " are allowed"));
  }
  if (Peek() != TokenKind::kRightParen) {
    return values == 0 ? Expected("',' or ')' behind the message") : NewExpression().UnexpectedAfterOperand();
  }
  ++cursor_.at;
  if (!EndsStatement()) return Expected("a new line or ';' behind the check");
  program_.wants_number = true;  // Which element it was.
  ++cost().branches;
  if (function_ != nullptr) function_->heavy = true;
  Node& node = Emit(NodeKind::kCheck, word);
  node.symbol = message;
  node.count = static_cast<uint8_t>(values);
  return absl::OkStatus();
}

absl::Status StatementParser::NoAssignment() const {
  if (Peek() == TokenKind::kBad) return KnownMistake();
  size_t end = 0;
  int depth = 0;
  for (; !EndsStatement(end) && Peek(end) != TokenKind::kLeftBrace; ++end) {
    const TokenKind kind = Peek(end);
    if (kind == TokenKind::kBad) return KnownMistake();
    depth += kind == TokenKind::kLeftParen || kind == TokenKind::kLeftBracket;
    depth -= kind == TokenKind::kRightParen || kind == TokenKind::kRightBracket;
    if ((kind != TokenKind::kAssign && FindCompound(kind) == nullptr) || depth != 0) continue;
    const std::string_view op = cursor_.TextOf(cursor_.At(end));
    if (end == 0) return source_.ErrorAt(Now().span, Cat("expected the name of an output before '", op, "'"));
    if (end == 1 && Peek() == TokenKind::kName) return CheckTargetWord(Now().span);
    const Span left{Now().span.offset, cursor_.At(end).span.offset - Now().span.offset};
    const size_t trimmed = source_.TextOf(left).find_last_not_of(" \t") + 1;
    return source_.ErrorAt({left.offset, static_cast<uint32_t>(trimmed)}, "only a single name can be assigned",
                           "write 'z = ' and then the expression");
  }
  if (Is("else")) {
    return source_.ErrorAt(Now().span, "'else' without an 'if' before it", "it follows the '}' of the if's block");
  }
  if (const ForeignWord* word = FindForeignWord(cursor_.TextOf(Now()))) {
    return source_.ErrorAt(Now().span, Cat("'", word->text, "' is not part of the language"), word->hint);
  }
  if (end == 0) return Expected("a statement");
  const Token& last = cursor_.At(end - 1);
  return source_.ErrorAt({Now().span.offset, last.span.offset + last.span.length - Now().span.offset},
                         "missing output: this value is not assigned to anything", "write 'z = ' before it");
}

}  // namespace slipway::text
