#include "jit/text/expression_parser.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

#include "absl/strings/charconv.h"
#include "driver/status_macros.h"
#include "jit/text/cat.h"
#include "jit/text/words.h"

namespace slipway::text {

using ir::Op;

struct BinaryOperator {
  TokenKind token;
  Op op;
  Precedence precedence;
};

namespace {

// && and || are marked by kSelect: they become marker nodes.
constexpr BinaryOperator kBinaryOperators[] = {
    {TokenKind::kOrOr, Op::kSelect, kPrecOrOr},
    {TokenKind::kAndAnd, Op::kSelect, kPrecAndAnd},
    {TokenKind::kPipe, Op::kBitOr, kPrecOr},
    {TokenKind::kCaret, Op::kBitXor, kPrecXor},
    {TokenKind::kAmp, Op::kBitAnd, kPrecAnd},
    {TokenKind::kEqual, Op::kEq, kPrecEquality},
    {TokenKind::kNotEqual, Op::kNe, kPrecEquality},
    {TokenKind::kLess, Op::kLt, kPrecRelation},
    {TokenKind::kLessEqual, Op::kLe, kPrecRelation},
    {TokenKind::kGreater, Op::kGt, kPrecRelation},
    {TokenKind::kGreaterEqual, Op::kGe, kPrecRelation},
    {TokenKind::kShiftLeft, Op::kShl, kPrecShift},
    {TokenKind::kShiftRight, Op::kShr, kPrecShift},
    {TokenKind::kPlus, Op::kAdd, kPrecSum},
    {TokenKind::kMinus, Op::kSub, kPrecSum},
    {TokenKind::kStar, Op::kMul, kPrecProduct},
    {TokenKind::kSlash, Op::kDiv, kPrecProduct},
    {TokenKind::kPercent, Op::kRem, kPrecProduct},
};

// One behind the operator's place among them, by token; 0 for what is none.
struct BinaryByToken {
  constexpr BinaryByToken() {
    for (size_t i = 0; i < std::size(kBinaryOperators); ++i)
      at[static_cast<uint8_t>(kBinaryOperators[i].token)] = i + 1;
  }
  uint8_t at[256] = {};
};
constexpr BinaryByToken kBinaryByToken;

const BinaryOperator* FindBinary(TokenKind kind) {
  const uint8_t at = kBinaryByToken.at[static_cast<uint8_t>(kind)];
  return at == 0 ? nullptr : &kBinaryOperators[at - 1];
}

bool IsComparison(Precedence precedence) { return precedence == kPrecEquality || precedence == kPrecRelation; }

std::string Shorten(std::string_view digits) {
  return digits.size() <= 40 ? std::string(digits) : Cat(digits.substr(0, 37), "...");
}

}  // namespace

bool Cursor::Reduces(size_t ahead) {
  if (reduces_.empty()) FindReductions();
  return reduces_[std::min(at + ahead, tokens_.size() - 1)];
}

// One walk for all calls, so that calls inside of calls do not look over each other again and again.
void Cursor::FindReductions() {
  reduces_.resize(tokens_.size(), false);
  std::vector<size_t> open;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    switch (tokens_[i].kind) {
      case TokenKind::kLeftParen:
      case TokenKind::kLeftBracket:
        open.push_back(i);
        reduces_[i] = true;
        break;
      case TokenKind::kRightParen:
      case TokenKind::kRightBracket:
        if (!open.empty()) open.pop_back();
        break;
      case TokenKind::kComma: {
        if (open.empty()) break;
        const bool named = i + 2 < tokens_.size() && tokens_[i + 2].kind == TokenKind::kAssign;
        if (!named) reduces_[open.back()] = false;
        break;
      }
      case TokenKind::kLeftBrace:
      case TokenKind::kRightBrace:
        open.clear();  // No bracket reaches over a block.
        break;
      default:
        break;
    }
  }
}

const Token* Cursor::FindDefinition(std::string_view name) const {
  for (size_t i = at; i + 1 < tokens_.size(); ++i) {
    if (tokens_[i].kind == TokenKind::kName && TextOf(tokens_[i]) == "def" && TextOf(tokens_[i + 1]) == name) {
      return &tokens_[i + 1];
    }
  }
  return nullptr;
}

void Cursor::SkipStatement() {
  size_t depth = 0;
  for (; Peek() != TokenKind::kEnd; ++at) {
    if (Peek() == TokenKind::kLeftBrace) ++depth;
    if (Peek() == TokenKind::kRightBrace) {
      if (depth == 0) return;
      --depth;
    }
    if (Peek() != TokenKind::kNewline || depth != 0) continue;
    // A closed block's else belongs to it, also on a line of its own.
    size_t next = 1;
    while (Peek(next) == TokenKind::kNewline) ++next;
    if (!Is("else", next)) return;
  }
}

absl::Status ExpressionParser::Run(int results) {
  results_ = results;
  bool done = false;
  while (!done) {
    SLIPWAY_RETURN_IF_ERROR(Operand());
    SLIPWAY_RETURN_IF_ERROR(AfterOperand(done));
  }
  return broken_ ? KnownMistake() : absl::OkStatus();
}

absl::Status ExpressionParser::Instead(const absl::Status& mistake, Span span) {
  mistakes_.Add(mistake, statement_);
  broken_ = true;
  if (mistakes_.full()) return KnownMistake();  // Each costs a walk over the text.
  Emit(NodeKind::kInteger, span);
  return absl::OkStatus();
}

// Everything up to and including one whole operand: prefix operators, opening brackets, a number or a name.
absl::Status ExpressionParser::Operand() {
  while (true) {
    if (!pending_.empty() && pending_.back().kind == PendingKind::kFunction) {
      const Function& function = program_.functions[pending_.back().symbol];
      const size_t at = pending_.back().count;
      if (at < function.parameters.size() && program_.symbols[function.parameters[at]].kind == SymbolKind::kArray) {
        return ArrayArgument();
      }
    }
    const Token& token = Now();
    switch (token.kind) {
      case TokenKind::kMinus:
        PushUnary(Op::kNeg);
        break;
      case TokenKind::kPlus:
        PushUnary(Op::kConst);  // Unary plus: no operation.
        break;
      case TokenKind::kBang:
        PushUnary(Op::kNot);
        break;
      case TokenKind::kTilde:
        PushUnary(Op::kBitNot);
        break;
      case TokenKind::kLeftParen:
        pending_.push_back({.kind = PendingKind::kParen, .span = token.span});
        ++cursor_.at;
        break;
      case TokenKind::kInteger:
        return Integer();
      case TokenKind::kFloat:
        return Float();
      case TokenKind::kName: {
        bool whole = false;
        SLIPWAY_RETURN_IF_ERROR(Name(whole));
        if (whole) return absl::OkStatus();
        break;
      }
      case TokenKind::kBad:
        return KnownMistake();
      case TokenKind::kLeftBracket:
        return source_.ErrorAt(token.span, "expected a value, found '['", "there are no lists; index as x[i]");
      default:
        return ExpectedValue();
    }
  }
}

absl::Status ExpressionParser::ExpectedValue() const {
  const Token& token = Now();
  std::string_view hint;
  if (!pending_.empty() && pending_.back().kind == PendingKind::kBinary && token.kind != TokenKind::kEnd) {
    const Pending& pending = pending_.back();
    if (FindBinary(token.kind) != nullptr && pending.span.offset + pending.span.length == token.span.offset) {
      hint = "these two operators are not one here";
    }
  }
  if (token.kind == TokenKind::kLeftBrace) hint = "a block follows if, for, while and def";
  if (token.kind == TokenKind::kString) hint = "a string is the message of a check: check(x >= 0, \"x is negative\")";
  return source_.ErrorAt(token.span, Cat("expected a value, found ", cursor_.Found()), hint);
}

void ExpressionParser::PushUnary(Op op) {
  pending_.push_back({.kind = PendingKind::kUnary, .op = op, .span = Now().span});
  ++cursor_.at;
}

absl::Status ExpressionParser::Integer() {
  const Span span = Now().span;
  const std::string_view digits = cursor_.TextOf(Now());
  const bool hex = digits.size() > 1 && (digits[1] == 'x' || digits[1] == 'X');
  uint64_t value = 0;
  for (size_t i = hex ? 2 : 0; i < digits.size(); ++i) {
    const char c = digits[i];
    const uint64_t digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    const uint64_t base = hex ? 16 : 10;
    if (value > (UINT64_MAX - digit) / base) {
      return source_.ErrorAt(span, Cat("the integer ", Shorten(digits), " is out of range"),
                             "the largest is 18446744073709551615; write 1e30 or 1.0 for a float");
    }
    value = value * base + digit;
  }
  Emit(NodeKind::kInteger, span).bits = value;
  ++cursor_.at;
  return absl::OkStatus();
}

absl::Status ExpressionParser::Float() {
  const Span span = Now().span;
  const std::string_view spelled = cursor_.TextOf(Now());
  const bool hex = spelled.size() > 1 && (spelled[1] == 'x' || spelled[1] == 'X');
  const std::string_view digits = spelled.substr(hex ? 2 : 0);
  double value = 0;
  const auto result = absl::from_chars(digits.data(), digits.data() + digits.size(), value,
                                       hex ? absl::chars_format::hex : absl::chars_format::general);
  if (result.ec == std::errc::result_out_of_range) {
    const bool large = value > 1 || value < -1;
    return source_.ErrorAt(span, Cat("the number ", Shorten(spelled), " is out of range"),
                           large ? "the largest float64 is 1.7976931348623157e308"
                                 : "the smallest float64 is 4.9406564584124654e-324; write 0.0 for zero");
  }
  if (result.ec != std::errc() || result.ptr != digits.data() + digits.size()) {
    return source_.ErrorAt(span, Cat("malformed number '", Shorten(spelled), "'"));
  }
  Emit(NodeKind::kFloat, span).bits = std::bit_cast<uint64_t>(value);
  ++cursor_.at;
  return absl::OkStatus();
}

// What follows an operand: closes brackets, then one operator that wants another operand, or the end.
absl::Status ExpressionParser::AfterOperand(bool& done) {
  while (true) {
    const Token& token = Now();
    switch (token.kind) {
      case TokenKind::kRightParen:
        Reduce(kPrecNone);
        if (bracket_ == token.kind && pending_.empty()) break;
        SLIPWAY_RETURN_IF_ERROR(CloseParen());
        continue;
      case TokenKind::kRightBracket:
        Reduce(kPrecNone);
        if (bracket_ == token.kind && pending_.empty()) break;
        SLIPWAY_RETURN_IF_ERROR(CloseIndex());
        continue;
      case TokenKind::kQuestion:
        return BeginChoose();
      case TokenKind::kBad:
        return KnownMistake();
      default:
        break;
    }
    if (const BinaryOperator* binary = FindBinary(token.kind)) return PushBinary(*binary);
    Reduce(kPrecNone);
    if (pending_.empty()) {
      done = true;
      if (results_ == 1 && !broken_ && ResultsOf(program_.nodes.back()) != 1) {
        return ResultsUnwanted(program_.nodes.back());
      }
      return absl::OkStatus();
    }
    switch (token.kind) {
      case TokenKind::kComma:
        if (pending_.back().kind != PendingKind::kReduceAxes || pending_.back().listed) return Comma();
        SLIPWAY_RETURN_IF_ERROR(CloseAxes(pending_.back()));
        continue;
      case TokenKind::kColon:
        return Colon();
      case TokenKind::kDotDot:
        if (pending_.back().kind == PendingKind::kRange) return Bound();
        break;
      case TokenKind::kName:
        if (pending_.back().kind == PendingKind::kRange && cursor_.Is("step")) return Bound();
        break;
      case TokenKind::kNewline: {
        if (pending_.back().kind != PendingKind::kIndex || cursor_.TextOf(token) != ";") return Unclosed();
        bool whole = false;
        SLIPWAY_RETURN_IF_ERROR(BorderOfIndex(whole));
        if (whole) continue;
        return absl::OkStatus();
      }
      case TokenKind::kEnd:
      case TokenKind::kLeftBrace:
      case TokenKind::kRightBrace:
        return Unclosed();
      default:
        break;
    }
    return UnexpectedAfterOperand();
  }
}

absl::Status ExpressionParser::UnexpectedAfterOperand() const {
  const Token& token = Now();
  std::string hint;
  switch (token.kind) {
    case TokenKind::kBad:
      return KnownMistake();
    case TokenKind::kComma:
      return source_.ErrorAt(token.span, "',' outside the arguments of a call", "separate statements with ';'");
    case TokenKind::kColon:
      return source_.ErrorAt(token.span, "':' without a '?' before it");
    case TokenKind::kAssign:
      hint = "write == to compare";
      break;
    case TokenKind::kLeftBracket:
      hint = "only an input can be indexed, by its name";
      break;
    case TokenKind::kLeftParen:
      hint = "write * to multiply";
      break;
    case TokenKind::kDotDot:
      hint = "a range stands in a 'for' or in a reduction: sum(k in 0..n: ...)";
      break;
    case TokenKind::kName:
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      hint = "write * to multiply, or start a new line";
      if (const ForeignWord* word = FindForeignWord(cursor_.TextOf(token))) hint = word->hint;
      break;
    default:
      break;
  }
  return source_.ErrorAt(token.span, Cat("expected an operator, found ", cursor_.Found()), hint);
}

absl::Status ExpressionParser::PushBinary(const BinaryOperator& binary) {
  const Span span = Now().span;
  Reduce(static_cast<Precedence>(binary.precedence + 1));
  if (!pending_.empty() && pending_.back().kind == PendingKind::kBinary &&
      pending_.back().precedence == binary.precedence && IsComparison(binary.precedence)) {
    return source_.ErrorAt(span, "comparisons cannot be chained",
                           binary.precedence == kPrecRelation ? "write 1 < x && x < 3, or set brackets"
                                                              : "write x == y && y == z, or set brackets");
  }
  Reduce(binary.precedence);
  Pending pending{.kind = PendingKind::kBinary, .precedence = binary.precedence, .op = binary.op, .span = span};
  if (binary.op == Op::kSelect) {
    Emit(binary.token == TokenKind::kAndAnd ? NodeKind::kAndBegin : NodeKind::kOrBegin, span);
    pending.begin = LastNode();
    pending.heavy = heavy_;
  }
  pending_.push_back(pending);
  ++cursor_.at;
  return absl::OkStatus();
}

// Emits the pending operators that bind at least as tightly as `precedence`.
void ExpressionParser::Reduce(Precedence precedence) {
  while (!pending_.empty()) {
    const Pending& top = pending_.back();
    if (top.kind == PendingKind::kUnary) {
      EmitUnary(top);
    } else if (top.kind == PendingKind::kBinary && top.precedence >= precedence) {
      EmitBinary(top);
    } else if (top.kind == PendingKind::kChooseElse && precedence == kPrecNone) {
      EmitMarkerEnd(NodeKind::kChooseEnd, top);
    } else {
      return;
    }
    pending_.pop_back();
  }
}

void ExpressionParser::EmitUnary(const Pending& unary) {
  if (unary.op == Op::kConst) return;
  Node& operand = program_.nodes.back();
  // A sign belongs to its number, so that -9223372036854775808 is one.
  if (unary.op == Op::kNeg && operand.kind == NodeKind::kInteger && !operand.negative &&
      operand.bits <= uint64_t{1} << 63) {
    operand.negative = operand.bits != 0;
    return;
  }
  Node& node = Emit(NodeKind::kOperator, unary.span);
  node.op = unary.op;
  node.count = 1;
}

void ExpressionParser::EmitBinary(const Pending& binary) {
  if (binary.op == Op::kSelect) {
    const bool is_and = program_.nodes[binary.begin].kind == NodeKind::kAndBegin;
    EmitMarkerEnd(is_and ? NodeKind::kAndEnd : NodeKind::kOrEnd, binary);
    return;
  }
  Node& node = Emit(NodeKind::kOperator, binary.span);
  node.op = binary.op;
  node.count = 2;
}

void ExpressionParser::EmitMarkerEnd(NodeKind kind, const Pending& pending) {
  const bool lazy = heavy_ != pending.heavy;
  Node& end = Emit(kind, pending.span);
  end.begin = pending.begin;
  end.lazy = lazy;
  program_.nodes[pending.begin].lazy = lazy;
  cost_.branches += lazy;
}

absl::Status ExpressionParser::BeginChoose() {
  Reduce(kPrecOrOr);
  Emit(NodeKind::kChooseBegin, Now().span);
  pending_.push_back({.kind = PendingKind::kChooseThen, .begin = LastNode(), .heavy = heavy_, .span = Now().span});
  ++cursor_.at;
  return absl::OkStatus();
}

absl::Status ExpressionParser::Colon() {
  Pending& top = pending_.back();
  if (top.kind == PendingKind::kRange) return EndRange();
  if (top.kind != PendingKind::kChooseThen) return source_.ErrorAt(Now().span, "':' without a '?' before it");
  top.kind = PendingKind::kChooseElse;
  Emit(NodeKind::kChooseElse, Now().span).begin = top.begin;
  ++cursor_.at;
  return absl::OkStatus();
}

absl::Status ExpressionParser::CloseParen() {
  Reduce(kPrecNone);
  if (pending_.empty()) return source_.ErrorAt(Now().span, "')' without a '(' before it");
  const Pending top = pending_.back();
  if (top.listed) return CloseList();
  switch (top.kind) {
    case PendingKind::kParen:
      break;
    case PendingKind::kBuiltin:
    case PendingKind::kCast:
      SLIPWAY_RETURN_IF_ERROR(CloseCall(top));
      break;
    case PendingKind::kFunction:
      SLIPWAY_RETURN_IF_ERROR(CloseFunction(top, top.count + 1));
      break;
    case PendingKind::kExternal:
      SLIPWAY_RETURN_IF_ERROR(CloseExternal(top, top.count + 1));
      break;
    case PendingKind::kAtomic:
      SLIPWAY_RETURN_IF_ERROR(CloseAtomic(top));
      break;
    case PendingKind::kReduceAxes:
      return CloseAxes(top);
    case PendingKind::kUnknown:
      Emit(NodeKind::kInteger, top.span);
      break;
    case PendingKind::kReduceBody:
      symbols_.EndScope();
      SLIPWAY_RETURN_IF_ERROR(EndReduction(top));
      break;
    case PendingKind::kIdentity:
      return source_.ErrorAt(Now().span, Cat("expected ',' and what is reduced, found ')'"),
                             "reduce(f, 0, x), of the function, its identity, and an expression");
    default:
      return Unclosed();
  }
  pending_.pop_back();
  ++cursor_.at;
  return absl::OkStatus();
}

absl::Status ExpressionParser::Comma() {
  Pending& top = pending_.back();
  switch (top.kind) {
    case PendingKind::kParen:
      return source_.ErrorAt(Now().span, "',' outside the arguments of a call", "separate statements with ';'");
    case PendingKind::kRange:
      return EndRange();
    case PendingKind::kIdentity:
      if (!top.listed) return EndIdentity();
      break;
    case PendingKind::kChooseThen:
    case PendingKind::kFill:
      return Unclosed();
    case PendingKind::kReduceBody:
      if (!top.listed) return Unclosed();
      break;
    default:
      break;
  }
  if (top.count == UINT8_MAX - 1) {
    return source_.ErrorAt(top.span, Cat("'", source_.TextOf(top.span), "' has too many arguments"));
  }
  ++top.count;
  ++cursor_.at;
  return absl::OkStatus();
}

// The innermost open bracket (or '?') is not what the token at the cursor closes.
absl::Status ExpressionParser::Unclosed() const {
  if (Now().kind == TokenKind::kBad) return KnownMistake();
  const Pending& top = pending_.back();
  const std::string at = source_.Position(top.span.offset);
  std::string_view wanted = "')'";
  std::string opened = Cat("to end the arguments of ", source_.TextOf(top.span), " at ", at);
  switch (top.kind) {
    case PendingKind::kParen:
      opened = Cat("to close '(' at ", at);
      break;
    case PendingKind::kIndex:
    case PendingKind::kFill:
      wanted = "']'";
      opened = Cat("to end the index of ", source_.TextOf(top.span), " at ", at);
      break;
    case PendingKind::kChooseThen:
      wanted = "':'";
      opened = Cat("for the '?' at ", at);
      break;
    case PendingKind::kRange:
      wanted = top.count == 0 ? "'..'" : "':'";
      opened = top.count == 0 ? Cat("and the end of the range of ", source_.TextOf(top.name))
                              : Cat("behind the range of ", source_.TextOf(top.name));
      break;
    default:
      break;
  }
  return source_.ErrorAt(Now().span, Cat("expected ", wanted, " ", opened, ", found ", cursor_.Found()));
}

}  // namespace slipway::text
