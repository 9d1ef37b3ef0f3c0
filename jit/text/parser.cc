#include "jit/text/parser.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "driver/status_macros.h"
#include "jit/text/cat.h"
#include "jit/text/expression_parser.h"
#include "jit/text/lexer.h"
#include "jit/text/mistakes.h"
#include "jit/text/signature_parser.h"
#include "jit/text/suggest.h"
#include "jit/text/symbol_table.h"
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

// The statements of a text whose signature has been parsed.
class Parser {
 public:
  Parser(Program& program, std::vector<Token> tokens, absl::Span<const NamedConstant> constants, Mistakes& mistakes)
      : program_(program),
        source_(program.source),
        symbols_(program, constants),
        cursor_(program.source, std::move(tokens)),
        mistakes_(mistakes) {}

  void Run() {
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

 private:
  enum class BlockKind : uint8_t { kIf, kElse, kFor, kWhile, kFunction };
  struct Block {
    BlockKind kind;
    Span span;         // The word that begins it.
    uint64_t ifs = 0;  // kIf, kElse: how many nest here: each 'else if' is one more.
  };

  const Token& Now() const { return cursor_.Now(); }
  TokenKind Peek(size_t ahead = 0) const { return cursor_.Peek(ahead); }
  bool Is(std::string_view word, size_t ahead = 0) const { return cursor_.Is(word, ahead); }
  // Words that are names elsewhere: `var x`, `def f`.
  bool Introduces(std::string_view word) const { return Is(word) && Peek(1) == TokenKind::kName; }
  std::string Found() const { return cursor_.Found(); }

  Cost& cost() { return function_ == nullptr ? cost_ : function_->cost; }
  Node& Emit(NodeKind kind, Span span) {
    ++cost().operations;
    program_.nodes.push_back({.kind = kind, .span = span});
    return program_.nodes.back();
  }
  absl::Status Expected(std::string_view wanted, std::string_view hint = {}) const {
    if (Peek() == TokenKind::kBad) return KnownMistake();
    return source_.ErrorAt(Now().span, Cat("expected ", wanted, ", found ", Found()), hint);
  }

  // Mistakes.

  void Report(const absl::Status& status) { mistakes_.Add(status, Now().span.offset); }

  // Goes on with the next statement. What this one should have defined is known to be broken.
  void Recover(const absl::Status& status, size_t scopes) {
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
  bool StartsLine(uint32_t offset) const {
    const std::string_view before = source_.text().substr(0, offset);
    const size_t last = before.find_last_not_of(" \t\r");
    return last == std::string_view::npos || before[last] == '\n';
  }

  // Statements.

  absl::Status Statement() {
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
    } else if (Peek() == TokenKind::kName && Peek(1) == TokenKind::kLeftParen &&
               FindAtomic(cursor_.TextOf(token)) != nullptr) {
      status = Atomic();
    } else {
      status = Assignment();
    }
    SLIPWAY_RETURN_IF_ERROR(status);
    return CheckCost(token.span);
  }

  bool EndsStatement(size_t ahead = 0) const {
    const TokenKind kind = Peek(ahead);
    return kind == TokenKind::kNewline || kind == TokenKind::kEnd || kind == TokenKind::kRightBrace;
  }

  // An expression, and how it ends where it is no statement's last part.
  absl::Status Expression(int results = 1) {
    ExpressionParser parser(program_, symbols_, cursor_, cost(), nesting_);
    SLIPWAY_RETURN_IF_ERROR(parser.Run(results));
    constant_ = parser.constant();
    if (function_ != nullptr) function_->heavy |= parser.heavy();
    return absl::OkStatus();
  }
  absl::Status LastExpression(int results = 1) {
    SLIPWAY_RETURN_IF_ERROR(Expression(results));
    if (EndsStatement()) return absl::OkStatus();
    return ExpressionParser(program_, symbols_, cursor_, cost(), nesting_).UnexpectedAfterOperand();
  }
  // Of a condition or a bound, behind which `end` stands.
  absl::Status ExpressionBefore(TokenKind end, std::string_view what) {
    SLIPWAY_RETURN_IF_ERROR(Expression());
    if (Peek() == end) return absl::OkStatus();
    if (EndsStatement() || Peek() == TokenKind::kLeftBrace) return Expected(what);
    return ExpressionParser(program_, symbols_, cursor_, cost(), nesting_).UnexpectedAfterOperand();
  }

  absl::Status CheckCost(Span at) {
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
  absl::Status TooMuch(Span at, std::string_view message, uint32_t limit) {
    gave_up_ = true;  // Whatever follows is too much, too.
    return source_.ErrorAt(at, message, Cat("at most ", limit, " are allowed; split it into several texts"));
  }

  absl::Status CheckTargetWord(Span span) const {
    const std::string_view word = source_.TextOf(span);
    if (FindKeyword(word) != nullptr) {
      return source_.ErrorAt(span, Cat("'", word, "' cannot be assigned: it is a word of the language"));
    }
    if (FindForeignWord(word) != nullptr) {
      return source_.ErrorAt(span, Cat("'", word, "' cannot be a name"), "it is kept free for the language");
    }
    return absl::OkStatus();
  }

  // name { "," name }, to targets_.
  absl::Status Targets(std::string_view behind) {
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

  // ": dtype", where it is there.
  absl::Status OptionalType(DType& dtype) {
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

  absl::Status Value(std::string_view what) {
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
    if (results != 1 && (last.kind != NodeKind::kCall || last.count != results)) {
      return source_.ErrorAt(
          targets_[0],
          Cat(results, " names are assigned, but the expression has ", last.kind == NodeKind::kCall ? last.count : 1,
              last.kind == NodeKind::kCall && last.count != 1 ? " results" : " result"),
          "call a function with as many results");
    }
    return absl::OkStatus();
  }

  absl::Status Let() {
    ++cursor_.at;
    SLIPWAY_RETURN_IF_ERROR(Targets("let"));
    DType dtype = DType::kVoid;
    SLIPWAY_RETURN_IF_ERROR(OptionalType(dtype));
    SLIPWAY_RETURN_IF_ERROR(Value("a local"));
    return DefineAll(SymbolKind::kLocal, dtype);
  }
  absl::Status Var() {
    ++cursor_.at;
    SLIPWAY_RETURN_IF_ERROR(Targets("var"));
    DType dtype = DType::kVoid;
    SLIPWAY_RETURN_IF_ERROR(OptionalType(dtype));
    SLIPWAY_RETURN_IF_ERROR(Value("a variable"));
    return DefineAll(SymbolKind::kVariable, dtype);
  }
  absl::Status DefineAll(SymbolKind kind, DType dtype) {
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

  absl::Status Const() {
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

  // name {, name} = expression; name op= expression; name[...] = expression.
  absl::Status Assignment() {
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
  // Values lie on the emitter's stack in order, so that the last is taken first.
  void EmitBackwards(const std::vector<Node>& nodes) {
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) Emit(node->kind, node->span) = *node;
  }

  absl::Status Assign(Span target, Node& node) {
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

  absl::Status CompoundAssignment() {
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

  // Whether what begins with "name[" goes on, behind the matching bracket, with an assignment.
  bool AssignsElement() const {
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
  bool AssignsSeveral() const {
    size_t ahead = 0;
    while (Peek(ahead) == TokenKind::kName && Peek(ahead + 1) == TokenKind::kComma) ahead += 2;
    return Peek(ahead) == TokenKind::kName && Peek(ahead + 1) == TokenKind::kAssign;
  }

  absl::Status Element() {
    const Span target = Now().span;
    SLIPWAY_ASSIGN_OR_RETURN(const uint32_t symbol, symbols_.ResolveStored(target));
    ++cursor_.at;
    int rank = 0;
    do {
      ++cursor_.at;
      ++rank;
      ExpressionParser parser(program_, symbols_, cursor_, cost(), nesting_);
      SLIPWAY_RETURN_IF_ERROR(parser.RunIndex());
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

  absl::Status Atomic() {
    const Span span = Now().span;
    SLIPWAY_RETURN_IF_ERROR(LastExpression());
    if (program_.nodes.back().kind != NodeKind::kAtomic) {
      return source_.ErrorAt(span, "this value is not assigned to anything", "let the atomic operation stand alone");
    }
    Emit(NodeKind::kDrop, span);
    return absl::OkStatus();
  }

  // Blocks.

  absl::Status OpenBlock(BlockKind kind, Span span) {
    if (Peek() != TokenKind::kLeftBrace) return Expected(Cat("'{' to begin the block of '", source_.TextOf(span), "'"));
    ++cursor_.at;
    blocks_.push_back({.kind = kind, .span = span, .ifs = 1});
    cost().branches += kind != BlockKind::kFunction && kind != BlockKind::kElse;
    if (function_ != nullptr && kind != BlockKind::kFunction) function_->heavy = true;
    Deepen(kind == BlockKind::kFunction ? 0 : 1);
    return absl::OkStatus();
  }
  void Deepen(uint64_t by) {
    nesting_ += by;
    cost().nesting = std::max(cost().nesting, nesting_);
  }

  absl::Status If() {
    const Span span = Now().span;
    ++cursor_.at;
    SLIPWAY_RETURN_IF_ERROR(ExpressionBefore(TokenKind::kLeftBrace, "'{' to begin the block of 'if'"));
    Emit(NodeKind::kIfBegin, span);
    SLIPWAY_RETURN_IF_ERROR(OpenBlock(BlockKind::kIf, span));
    symbols_.BeginScope();
    return absl::OkStatus();
  }

  absl::Status For() {
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
      return ExpressionParser(program_, symbols_, cursor_, cost(), nesting_).UnexpectedAfterOperand();
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

  absl::Status While() {
    const Span span = Now().span;
    ++cursor_.at;
    Emit(NodeKind::kWhileBegin, span);
    SLIPWAY_RETURN_IF_ERROR(ExpressionBefore(TokenKind::kLeftBrace, "'{' to begin the block of 'while'"));
    Emit(NodeKind::kWhileBody, span);
    SLIPWAY_RETURN_IF_ERROR(OpenBlock(BlockKind::kWhile, span));
    symbols_.BeginScope();
    return absl::OkStatus();
  }

  absl::Status CloseBlock() {
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
  // Behind a '}' the next statement needs a line or a ';' of its own.
  absl::Status EndOfBlock() const {
    if (EndsStatement()) return absl::OkStatus();
    return Expected("a new line or ';' behind '}'");
  }

  bool ElseFollows() {
    size_t ahead = 0;
    while (Peek(ahead) == TokenKind::kNewline) ++ahead;
    if (!Is("else", ahead)) return false;
    cursor_.at += ahead;
    return true;
  }

  absl::Status Else() {
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

  absl::Status LeaveLoop() {
    const Token word = Now();
    ++cursor_.at;
    for (auto block = blocks_.rbegin(); block != blocks_.rend() && block->kind != BlockKind::kFunction; ++block) {
      if (block->kind != BlockKind::kFor && block->kind != BlockKind::kWhile) continue;
      Emit(cursor_.TextOf(word) == "break" ? NodeKind::kBreak : NodeKind::kContinue, word.span);
      return absl::OkStatus();
    }
    return source_.ErrorAt(word.span, Cat("'", cursor_.TextOf(word), "' stands outside of any loop"));
  }

  // Functions.

  bool InFunctionBlock() const { return !blocks_.empty() && blocks_[0].kind == BlockKind::kFunction; }
  uint32_t FunctionIndex() const { return static_cast<uint32_t>(program_.functions.size() - 1); }

  absl::Status Def() {
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

  absl::Status FunctionParameters() {
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

  absl::Status Return() {
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
      return ExpressionParser(program_, symbols_, cursor_, cost(), nesting_).UnexpectedAfterOperand();
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

  absl::Status CloseFunction(Span brace) {
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

  absl::Status EndFunction() {
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

  // A statement that is none: what was it meant to be?
  absl::Status NoAssignment() const {
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

  static constexpr uint32_t kNoNode = ~uint32_t{0};

  Program& program_;
  const Source& source_;
  SymbolTable symbols_;
  Cursor cursor_;
  Mistakes& mistakes_;
  Cost cost_;  // Of what stands outside of functions.
  std::vector<Block> blocks_;
  std::vector<Span> targets_;     // Names that the statement defines.
  Function* function_ = nullptr;  // That is being defined.
  uint64_t nesting_ = 0, outer_nesting_ = 0;
  uint32_t last_return_ = kNoNode;
  uint32_t statement_ = 0;  // Where it begins.
  bool constant_ = false;   // Of the last expression.
  bool gave_up_ = false;
};

// What is known once the whole text has been read.
void Settle(Program& program) {
  for (Parameter& input : program.inputs) {
    const bool only_indexed = input.indexed && !input.plain && !input.reduced;
    if (input.shape == ShapeRule::kAny && only_indexed) input.shape = ShapeRule::kGathered;
  }
}

absl::Status CheckConstants(absl::Span<const NamedConstant> constants) {
  for (const NamedConstant& constant : constants) {
    const std::string& name = constant.name;
    bool good = !name.empty() && name.size() <= kMaxNameBytes && !absl::ascii_isdigit(name[0]);
    for (char c : name) good &= absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
    if (!good || FindKeyword(name) != nullptr || FindForeignWord(name) != nullptr) {
      return absl::InvalidArgumentError(
          Cat("the constant '", name.substr(0, 64),
              "' has no name of the language: letters, digits and underscores, and no word of it"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Program> Parse(std::string_view text, std::string_view signature,
                              absl::Span<const NamedConstant> constants) {
  Program program;
  program.source = Source("expression", std::string(text));
  program.signature = Source("signature", std::string(signature));
  SLIPWAY_RETURN_IF_ERROR(program.source.Validate());
  SLIPWAY_RETURN_IF_ERROR(CheckConstants(constants));
  if (!signature.empty()) SLIPWAY_RETURN_IF_ERROR(ParseSignature(program));
  Mistakes mistakes;
  std::vector<Token> tokens = Lex(program.source, mistakes);
  program.nodes.reserve(tokens.size());
  Parser(program, std::move(tokens), constants, mistakes).Run();
  SLIPWAY_RETURN_IF_ERROR(mistakes.ToStatus());
  Settle(program);
  return program;
}

}  // namespace slipway::text
