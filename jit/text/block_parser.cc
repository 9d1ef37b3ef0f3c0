// The part of the statement parser that reads blocks and functions.
#include <algorithm>
#include <string>
#include <utility>

#include "driver/status_macros.h"
#include "jit/text/cat.h"
#include "jit/text/statement_parser.h"

namespace slipway::text {

absl::Status StatementParser::OpenBlock(BlockKind kind, Span span) {
  if (Peek() != TokenKind::kLeftBrace) return Expected(Cat("'{' to begin the block of '", source_.TextOf(span), "'"));
  ++cursor_.at;
  blocks_.push_back({.kind = kind, .span = span, .ifs = 1});
  cost().branches += kind != BlockKind::kFunction && kind != BlockKind::kElse;
  if (function_ != nullptr && kind != BlockKind::kFunction) function_->heavy = true;
  Deepen(kind == BlockKind::kFunction ? 0 : 1);
  return absl::OkStatus();
}

void StatementParser::Deepen(uint64_t by) {
  nesting_ += by;
  cost().nesting = std::max(cost().nesting, nesting_);
}

absl::Status StatementParser::If() {
  const Span span = Now().span;
  ++cursor_.at;
  SLIPWAY_RETURN_IF_ERROR(ExpressionBefore(TokenKind::kLeftBrace, "'{' to begin the block of 'if'"));
  Emit(NodeKind::kIfBegin, span);
  SLIPWAY_RETURN_IF_ERROR(OpenBlock(BlockKind::kIf, span));
  symbols_.BeginScope();
  return absl::OkStatus();
}

absl::Status StatementParser::For() {
  const Span span = Now().span;
  ++cursor_.at;
  if (Peek() != TokenKind::kName) return Expected("the name of the loop's variable", "write for k in 0..n { ... }");
  const Span name = Now().span;
  SLIPWAY_RETURN_IF_ERROR(CheckTargetWord(name));
  ++cursor_.at;
  DType dtype = DType::kVoid;
  SLIPWAY_RETURN_IF_ERROR(OptionalType(dtype));
  if (!Is("in")) return Expected("'in'", "write for k in 0..n { ... }");
  ++cursor_.at;
  SLIPWAY_RETURN_IF_ERROR(ExpressionBefore(TokenKind::kDotDot, "'..' and the end of the range"));
  ++cursor_.at;
  SLIPWAY_RETURN_IF_ERROR(Expression());
  if (Is("step")) {
    ++cursor_.at;
    SLIPWAY_RETURN_IF_ERROR(ExpressionBefore(TokenKind::kLeftBrace, "'{' to begin the block of 'for'"));
  } else {
    Emit(NodeKind::kInteger, span).bits = 1;
  }
  if (Peek() != TokenKind::kLeftBrace && !EndsStatement()) {
    return NewExpression().UnexpectedAfterOperand();
  }
  SLIPWAY_RETURN_IF_ERROR(OpenBlock(BlockKind::kFor, span));
  symbols_.BeginScope();
  absl::StatusOr<uint32_t> symbol = symbols_.DefineLocal(name, SymbolKind::kLocal);
  if (!symbol.ok()) {  // The block is open, and is read on.
    mistakes_.Add(symbol.status(), name.offset);
    symbols_.Break(name);
    return absl::OkStatus();
  }
  Node& node = Emit(NodeKind::kForBegin, name);
  node.symbol = *symbol;
  node.dtype = dtype == DType::kVoid ? DType::kInt64 : dtype;
  return absl::OkStatus();
}

absl::Status StatementParser::While() {
  const Span span = Now().span;
  ++cursor_.at;
  Emit(NodeKind::kWhileBegin, span);
  SLIPWAY_RETURN_IF_ERROR(ExpressionBefore(TokenKind::kLeftBrace, "'{' to begin the block of 'while'"));
  Emit(NodeKind::kWhileBody, span);
  SLIPWAY_RETURN_IF_ERROR(OpenBlock(BlockKind::kWhile, span));
  symbols_.BeginScope();
  return absl::OkStatus();
}

absl::Status StatementParser::CloseBlock() {
  const Span brace = Now().span;
  ++cursor_.at;
  if (blocks_.empty()) return source_.ErrorAt(brace, "'}' without a '{' before it");
  Block block = blocks_.back();
  if (block.kind == BlockKind::kFunction) return CloseFunction(brace);
  symbols_.EndScope();
  if (block.kind == BlockKind::kIf && ElseFollows()) return Else();
  blocks_.pop_back();
  nesting_ -= block.ifs;
  const NodeKind end = block.kind == BlockKind::kFor     ? NodeKind::kForEnd
                       : block.kind == BlockKind::kWhile ? NodeKind::kWhileEnd
                                                         : NodeKind::kIfEnd;
  for (uint64_t i = 0; i < block.ifs; ++i) Emit(end, block.span);
  return EndOfBlock();
}

absl::Status StatementParser::EndOfBlock() const {
  if (EndsStatement()) return absl::OkStatus();
  return Expected("a new line or ';' behind '}'");
}

bool StatementParser::ElseFollows() {
  size_t ahead = 0;
  while (Peek(ahead) == TokenKind::kNewline) ++ahead;
  if (!Is("else", ahead)) return false;
  cursor_.at += ahead;
  return true;
}

absl::Status StatementParser::Else() {
  Block& block = blocks_.back();
  const Span span = Now().span;
  ++cursor_.at;
  Emit(NodeKind::kElse, span);
  if (Is("if")) {
    ++cursor_.at;
    absl::Status status = ExpressionBefore(TokenKind::kLeftBrace, "'{' to begin the block of 'else if'");
    if (!status.ok()) {
      const uint64_t ifs = block.ifs;
      blocks_.pop_back();
      nesting_ -= ifs;
      return status;
    }
    Emit(NodeKind::kIfBegin, span);
    ++block.ifs;
    ++cost().branches;
    Deepen(1);
  } else {
    block.kind = BlockKind::kElse;
    if (Peek() != TokenKind::kLeftBrace) {
      nesting_ -= block.ifs;
      blocks_.pop_back();
      return Expected("'{' to begin the block of 'else'");
    }
  }
  ++cursor_.at;
  symbols_.BeginScope();
  return absl::OkStatus();
}

absl::Status StatementParser::LeaveLoop() {
  const Token word = Now();
  ++cursor_.at;
  for (auto block = blocks_.rbegin(); block != blocks_.rend() && block->kind != BlockKind::kFunction; ++block) {
    if (block->kind != BlockKind::kFor && block->kind != BlockKind::kWhile) continue;
    Emit(cursor_.TextOf(word) == "break" ? NodeKind::kBreak : NodeKind::kContinue, word.span);
    return absl::OkStatus();
  }
  return source_.ErrorAt(word.span, Cat("'", cursor_.TextOf(word), "' stands outside of any loop"));
}

absl::Status StatementParser::Def() {
  const Span word = Now().span;
  if (!blocks_.empty()) return source_.ErrorAt(word, "a function is defined outside of blocks");
  ++cursor_.at;
  const Span name = Now().span;
  SLIPWAY_RETURN_IF_ERROR(CheckTargetWord(name));
  if (IsCallable(source_.TextOf(name))) {
    return source_.ErrorAt(name, Cat("'", source_.TextOf(name), "' is a function of the language"),
                           "give yours another name");
  }
  SLIPWAY_RETURN_IF_ERROR(symbols_.CheckFunctionName(name));
  program_.functions.push_back({.name = std::string(source_.TextOf(name)), .span = name, .results = 0});
  function_ = &program_.functions.back();
  symbols_.EnterFunction(FunctionIndex());
  function_->begin = static_cast<uint32_t>(program_.nodes.size());
  outer_nesting_ = std::exchange(nesting_, 0);
  program_.nodes.push_back({.kind = NodeKind::kFunction, .span = name});
  ++cursor_.at;
  SLIPWAY_RETURN_IF_ERROR(FunctionParameters());
  if (Peek() == TokenKind::kLeftBrace) {
    SLIPWAY_RETURN_IF_ERROR(OpenBlock(BlockKind::kFunction, name));
    last_return_ = kNoNode;
    return absl::OkStatus();
  }
  if (Peek() != TokenKind::kAssign) return Expected("'=' and an expression, or '{' and statements");
  ++cursor_.at;
  SLIPWAY_RETURN_IF_ERROR(LastExpression());
  function_->results = 1;
  Node& node = Emit(NodeKind::kReturn, name);
  node.count = 1;
  return EndFunction();
}

absl::Status StatementParser::FunctionParameters() {
  if (Peek() != TokenKind::kLeftParen) return Expected("'(' and the names of parameters");
  if (Peek(1) == TokenKind::kRightParen) {
    cursor_.at += 2;
    return absl::OkStatus();
  }
  do {
    ++cursor_.at;
    if (Peek() != TokenKind::kName) return Expected("the name of a parameter");
    SLIPWAY_RETURN_IF_ERROR(CheckTargetWord(Now().span));
    SLIPWAY_ASSIGN_OR_RETURN(const uint32_t symbol, symbols_.DefineParameter(Now().span));
    function_->parameters.push_back(symbol);
    ++cursor_.at;
  } while (Peek() == TokenKind::kComma);
  if (function_->parameters.size() > kMaxFunctionParameters) {
    return source_.ErrorAt(function_->span,
                           Cat("'", function_->name, "' has ", function_->parameters.size(), " parameters"),
                           Cat("at most ", kMaxFunctionParameters, " are allowed"));
  }
  if (Peek() != TokenKind::kRightParen) return Expected("')' to end the parameters");
  ++cursor_.at;
  return absl::OkStatus();
}

absl::Status StatementParser::Return() {
  const Span word = Now().span;
  if (function_ == nullptr) {
    return source_.ErrorAt(word, "'return' stands outside of a function",
                           "a result is assigned to an output: z = x + y");
  }
  uint32_t count = 0;
  do {
    ++cursor_.at;
    SLIPWAY_RETURN_IF_ERROR(Expression());
    ++count;
  } while (Peek() == TokenKind::kComma);
  if (!EndsStatement()) {
    return NewExpression().UnexpectedAfterOperand();
  }
  if (count > kMaxFunctionParameters) {
    return source_.ErrorAt(word, Cat("'", function_->name, "' returns ", count, " results"),
                           Cat("at most ", kMaxFunctionParameters, " are allowed"));
  }
  if (function_->results != 0 && function_->results != count) {
    return source_.ErrorAt(word, Cat("'", function_->name, "' returns ", count, count == 1 ? " result" : " results",
                                     " here, but ", function_->results, " before"));
  }
  function_->results = count;
  if (last_return_ != kNoNode) function_->returns_early = true;
  last_return_ = static_cast<uint32_t>(program_.nodes.size());
  if (blocks_.size() > 1) function_->returns_early = true;
  Node& node = Emit(NodeKind::kReturn, word);
  node.count = static_cast<uint8_t>(count);
  return absl::OkStatus();
}

absl::Status StatementParser::CloseFunction(Span brace) {
  blocks_.pop_back();
  const bool returns = last_return_ != kNoNode && last_return_ + 1 == program_.nodes.size();
  if (!returns && !function_->broken) {
    absl::Status status = source_.ErrorAt(brace, Cat("'", function_->name, "' ends without a result"),
                                          "the last statement of a function is its 'return'");
    function_->broken = true;
    mistakes_.Add(status, brace.offset);
  }
  SLIPWAY_RETURN_IF_ERROR(EndFunction());
  return EndOfBlock();
}

absl::Status StatementParser::EndFunction() {
  Emit(NodeKind::kFunctionEnd, function_->span);
  program_.nodes[function_->begin].begin = static_cast<uint32_t>(program_.nodes.size());
  if (function_->returns_early) {
    function_->heavy = true;
    ++function_->cost.branches;
  }
  const absl::Status cost = CheckCost(function_->span);
  if (!cost.ok()) function_->broken = true;
  symbols_.LeaveFunction(FunctionIndex());
  function_ = nullptr;
  nesting_ = outer_nesting_;
  return cost;
}

}  // namespace slipway::text
