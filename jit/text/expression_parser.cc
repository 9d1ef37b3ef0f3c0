#include "jit/text/expression_parser.h"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>
#include <system_error>

#include "absl/status/statusor.h"
#include "absl/strings/charconv.h"
#include "driver/status_macros.h"
#include "jit/text/cat.h"
#include "jit/text/functions.h"
#include "jit/text/suggest.h"
#include "jit/text/words.h"

namespace slipway::text {
namespace {

using ir::Op;

// Binding strength, C's, weakest first. Unary operators and calls bind tighter than all of these, ?: weaker.
enum Precedence : uint8_t {
  kPrecNone,
  kPrecOrOr,
  kPrecAndAnd,
  kPrecOr,
  kPrecXor,
  kPrecAnd,
  kPrecEquality,
  kPrecRelation,
  kPrecShift,
  kPrecSum,
  kPrecProduct,
};

struct BinaryOperator {
  TokenKind token;
  Op op;
  Precedence precedence;
};

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

const BinaryOperator* FindBinary(TokenKind kind) {
  for (const BinaryOperator& binary : kBinaryOperators) {
    if (binary.token == kind) return &binary;
  }
  return nullptr;
}

bool IsComparison(Precedence precedence) { return precedence == kPrecEquality || precedence == kPrecRelation; }

// What waits on the operator stack for its right-hand side or its closing bracket.
enum class PendingKind : uint8_t { kUnary, kBinary, kChooseThen, kChooseElse, kParen, kCall, kIndex };

struct Pending {
  PendingKind kind = PendingKind::kParen;
  Precedence precedence = kPrecNone;
  Op op = Op::kConst;
  uint8_t count = 0;                              // Arguments or indices so far, less the present one.
  DType cast = DType::kVoid;                      // kCall: not kVoid for a cast, and
  ir::CastKind cast_kind = ir::CastKind::kValue;  // of which kind.
  const Function* function = nullptr;             // kCall, unless a cast.
  uint32_t symbol = 0;                            // kIndex.
  uint32_t begin = 0;                             // The marker node that a lazy operator began with.
  uint32_t heavy = 0;                             // heavy_ when that was.
  Span span;
};

// Operator precedence parsing with explicit stacks: operators wait in pending_ until what binds tighter is emitted.
class ExpressionParser {
 public:
  ExpressionParser(Program& program, SymbolTable& symbols, const std::vector<Token>& tokens, size_t at)
      : program_(program), source_(program.source), symbols_(symbols), tokens_(tokens), at_(at) {}

  // The position behind the expression.
  absl::StatusOr<size_t> Run() {
    bool done = false;
    while (!done) {
      SLIPWAY_RETURN_IF_ERROR(Operand());
      SLIPWAY_RETURN_IF_ERROR(AfterOperand(done));
    }
    return at_;
  }

 private:
  const Token& Now() const { return tokens_[at_]; }
  TokenKind Peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)].kind; }
  std::string_view TextOf(const Token& token) const { return source_.TextOf(token.span); }
  std::string Found(const Token& token) const { return DescribeToken(source_, token); }

  Node& Emit(NodeKind kind, Span span) {
    program_.nodes.push_back({.kind = kind, .span = span});
    return program_.nodes.back();
  }
  uint32_t LastNode() const { return static_cast<uint32_t>(program_.nodes.size() - 1); }

  // Everything up to and including one whole operand: prefix operators, opening brackets, a number or a name.
  absl::Status Operand() {
    while (true) {
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
          ++at_;
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
        case TokenKind::kLeftBracket:
          return source_.ErrorAt(token.span, "expected a value, found '['", "there are no lists; index as x[i]");
        default:
          return ExpectedValue(token);
      }
    }
  }

  absl::Status ExpectedValue(const Token& token) const {
    std::string_view hint;
    if (!pending_.empty() && pending_.back().kind == PendingKind::kBinary && token.kind != TokenKind::kEnd) {
      const Pending& pending = pending_.back();
      if (FindBinary(token.kind) != nullptr && pending.span.offset + pending.span.length == token.span.offset) {
        hint = "these two operators are not one here";
      }
    }
    return source_.ErrorAt(token.span, Cat("expected a value, found ", Found(token)), hint);
  }

  void PushUnary(Op op) {
    pending_.push_back({.kind = PendingKind::kUnary, .op = op, .span = Now().span});
    ++at_;
  }

  absl::Status Integer() {
    const Span span = Now().span;
    const std::string_view digits = TextOf(Now());
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
    ++at_;
    return absl::OkStatus();
  }

  absl::Status Float() {
    const Span span = Now().span;
    std::string_view digits = TextOf(Now());
    const bool hex = digits.size() > 1 && (digits[1] == 'x' || digits[1] == 'X');
    if (hex) digits.remove_prefix(2);
    double value = 0;
    const auto result = absl::from_chars(digits.data(), digits.data() + digits.size(), value,
                                         hex ? absl::chars_format::hex : absl::chars_format::general);
    if (result.ec == std::errc::result_out_of_range) {
      const bool large = value > 1 || value < -1;
      return source_.ErrorAt(span, Cat("the number ", Shorten(digits), " is out of range"),
                             large ? "the largest float64 is 1.7976931348623157e308"
                                   : "the smallest float64 is 4.9406564584124654e-324; write 0.0 for zero");
    }
    if (result.ec != std::errc() || result.ptr != digits.data() + digits.size()) {
      return source_.ErrorAt(span, Cat("malformed number '", Shorten(digits), "'"));
    }
    Emit(NodeKind::kFloat, span).bits = std::bit_cast<uint64_t>(value);
    ++at_;
    return absl::OkStatus();
  }

  static std::string Shorten(std::string_view digits) {
    return digits.size() <= 40 ? std::string(digits) : Cat(digits.substr(0, 37), "...");
  }

  // A name: a constant, a call, a gather, or a value. `whole` unless it opened a bracket.
  absl::Status Name(bool& whole) {
    const Token token = Now();
    const std::string_view name = TextOf(token);
    whole = true;
    if (name == "true" || name == "false") {
      Emit(NodeKind::kBool, token.span).bits = name == "true";
      ++at_;
      return absl::OkStatus();
    }
    if (name == "let") {
      return source_.ErrorAt(token.span, "expected a value, found 'let'", "'let' stands at the start of a statement");
    }
    if (const ForeignWord* word = FindForeignWord(name)) {
      return source_.ErrorAt(token.span, Cat("'", name, "' is not part of the language"), word->hint);
    }
    if (Peek(1) == TokenKind::kLeftParen) {
      whole = false;
      return BeginCall(token);
    }
    if (Peek(1) == TokenKind::kLeftBracket) {
      whole = false;
      SLIPWAY_ASSIGN_OR_RETURN(const uint32_t symbol, symbols_.Resolve(token.span, /*gathered=*/true));
      pending_.push_back({.kind = PendingKind::kIndex, .symbol = symbol, .span = token.span});
      at_ += 2;
      if (Peek() == TokenKind::kRightBracket) {
        return source_.ErrorAt(Now().span, Cat("'", name, "' needs an index between the brackets"));
      }
      return absl::OkStatus();
    }
    SLIPWAY_ASSIGN_OR_RETURN(const uint32_t symbol, symbols_.Resolve(token.span, /*gathered=*/false));
    Emit(NodeKind::kName, token.span).symbol = symbol;
    ++at_;
    return absl::OkStatus();
  }

  absl::Status BeginCall(const Token& token) {
    const std::string_view name = TextOf(token);
    Pending call{.kind = PendingKind::kCall, .span = token.span};
    call.function = FindFunction(name);
    if (call.function == nullptr) {
      if (!FindCast(name, &call.cast, &call.cast_kind)) {
        std::string hint = DidYouMean(name, FunctionNames());
        if (symbols_.Knows(name)) {
          hint = Cat("'", name, "' is a value: multiply with *, index with [ ]");
        }
        return source_.ErrorAt(token.span, Cat("unknown function '", name, "'"), hint);
      }
    }
    at_ += 2;
    if (Peek() == TokenKind::kRightParen) return WrongArity(call, 0);
    pending_.push_back(call);
    return absl::OkStatus();
  }

  absl::Status WrongArity(const Pending& call, int given) const {
    const int wanted = call.function != nullptr ? call.function->arity : 1;
    const std::string_view name = source_.TextOf(call.span);
    std::string_view hint;
    if ((name == "min" || name == "max") && given > 2) hint = "nest the calls: min(x, min(y, z))";
    return source_.ErrorAt(call.span,
                           Cat(name, " takes ", wanted, wanted == 1 ? " argument, " : " arguments, ", given,
                               given == 1 ? " is given" : " are given"),
                           hint);
  }

  // What follows an operand: closes brackets, then one operator that wants another operand, or the end.
  absl::Status AfterOperand(bool& done) {
    while (true) {
      const Token& token = Now();
      switch (token.kind) {
        case TokenKind::kRightParen:
          SLIPWAY_RETURN_IF_ERROR(CloseParen());
          continue;
        case TokenKind::kRightBracket:
          SLIPWAY_RETURN_IF_ERROR(CloseIndex());
          continue;
        case TokenKind::kComma:
          return Comma();
        case TokenKind::kQuestion:
          return BeginChoose();
        case TokenKind::kColon:
          return ElseOfChoose();
        case TokenKind::kEnd:
        case TokenKind::kNewline:
          done = true;
          return EndExpression();
        default:
          break;
      }
      if (const BinaryOperator* binary = FindBinary(token.kind)) return PushBinary(*binary);
      return UnexpectedAfterOperand(token);
    }
  }

  absl::Status UnexpectedAfterOperand(const Token& token) const {
    std::string hint;
    if (token.kind == TokenKind::kAssign) hint = "write == to compare";
    if (token.kind == TokenKind::kLeftBracket) hint = "only an input can be indexed, by its name";
    if (token.kind == TokenKind::kLeftParen) hint = "write * to multiply";
    if (token.kind == TokenKind::kName || token.kind == TokenKind::kInteger || token.kind == TokenKind::kFloat) {
      hint = "write * to multiply, or start a new line";
      if (const ForeignWord* word = FindForeignWord(TextOf(token))) hint = word->hint;
    }
    return source_.ErrorAt(token.span, Cat("expected an operator, found ", Found(token)), hint);
  }

  absl::Status PushBinary(const BinaryOperator& binary) {
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
    ++at_;
    return absl::OkStatus();
  }

  // Emits the pending operators that bind at least as tightly as `precedence`.
  void Reduce(Precedence precedence) {
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

  void EmitUnary(const Pending& unary) {
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

  void EmitBinary(const Pending& binary) {
    if (binary.op == Op::kSelect) {
      const bool is_and = program_.nodes[binary.begin].kind == NodeKind::kAndBegin;
      EmitMarkerEnd(is_and ? NodeKind::kAndEnd : NodeKind::kOrEnd, binary);
      return;
    }
    Node& node = Emit(NodeKind::kOperator, binary.span);
    node.op = binary.op;
    node.count = 2;
  }

  void EmitMarkerEnd(NodeKind kind, const Pending& pending) {
    const bool lazy = heavy_ != pending.heavy;
    Node& end = Emit(kind, pending.span);
    end.begin = pending.begin;
    end.lazy = lazy;
    program_.nodes[pending.begin].lazy = lazy;
    program_.num_branches += lazy;
    program_.has_lazy_choice |= lazy && kind == NodeKind::kChooseEnd;
  }

  absl::Status BeginChoose() {
    Reduce(kPrecOrOr);
    Emit(NodeKind::kChooseBegin, Now().span);
    pending_.push_back({.kind = PendingKind::kChooseThen, .begin = LastNode(), .heavy = heavy_, .span = Now().span});
    ++at_;
    return absl::OkStatus();
  }

  absl::Status ElseOfChoose() {
    Reduce(kPrecNone);
    if (pending_.empty() || pending_.back().kind != PendingKind::kChooseThen) {
      return source_.ErrorAt(Now().span, "':' without a '?' before it");
    }
    pending_.back().kind = PendingKind::kChooseElse;
    Emit(NodeKind::kChooseElse, Now().span).begin = pending_.back().begin;
    ++at_;
    return absl::OkStatus();
  }

  absl::Status CloseParen() {
    const Token token = Now();
    Reduce(kPrecNone);
    if (pending_.empty()) return source_.ErrorAt(token.span, "')' without a '(' before it");
    const Pending top = pending_.back();
    if (top.kind != PendingKind::kParen && top.kind != PendingKind::kCall) return Unclosed(token);
    pending_.pop_back();
    ++at_;
    if (top.kind == PendingKind::kParen) return absl::OkStatus();
    const int given = top.count + 1;
    if (given != (top.function != nullptr ? top.function->arity : 1)) return WrongArity(top, given);
    if (top.function == nullptr) {
      Node& cast = Emit(NodeKind::kCast, top.span);
      cast.dtype = top.cast;
      cast.cast = top.cast_kind;
      return absl::OkStatus();
    }
    heavy_ += top.function->heavy;
    program_.num_costly_calls += top.function->heavy;
    Node& node = Emit(NodeKind::kOperator, top.span);
    node.op = top.function->op;
    node.count = static_cast<uint8_t>(given);
    return absl::OkStatus();
  }

  absl::Status CloseIndex() {
    const Token token = Now();
    Reduce(kPrecNone);
    if (pending_.empty()) return source_.ErrorAt(token.span, "']' without a '[' before it");
    const Pending top = pending_.back();
    if (top.kind != PendingKind::kIndex) return Unclosed(token);
    pending_.pop_back();
    ++at_;
    const int given = top.count + 1;
    SLIPWAY_RETURN_IF_ERROR(symbols_.SetRank(top.symbol, given, top.span));
    ++heavy_;
    Node& node = Emit(NodeKind::kGather, top.span);
    node.symbol = top.symbol;
    node.count = static_cast<uint8_t>(given);
    return absl::OkStatus();
  }

  absl::Status Comma() {
    Reduce(kPrecNone);
    if (pending_.empty() || pending_.back().kind == PendingKind::kParen) {
      return source_.ErrorAt(Now().span, "',' outside the arguments of a call", "separate statements with ';'");
    }
    Pending& top = pending_.back();
    if (top.kind == PendingKind::kChooseThen) return Unclosed(Now());
    if (top.count == UINT8_MAX - 1) {
      return source_.ErrorAt(top.span, Cat("'", source_.TextOf(top.span), "' has too many arguments"));
    }
    ++top.count;
    ++at_;
    return absl::OkStatus();
  }

  absl::Status EndExpression() {
    Reduce(kPrecNone);
    return pending_.empty() ? absl::OkStatus() : Unclosed(Now());
  }

  // The innermost open bracket (or '?') is not what `token` closes.
  absl::Status Unclosed(const Token& token) const {
    const Pending& top = pending_.back();
    std::string_view wanted = "')'";
    std::string opened = Cat("to close '(' at ", source_.Position(top.span.offset));
    if (top.kind == PendingKind::kCall) {
      opened = Cat("to end the arguments of ", source_.TextOf(top.span), " at ", source_.Position(top.span.offset));
    } else if (top.kind == PendingKind::kIndex) {
      wanted = "']'";
      opened = Cat("to end the index of ", source_.TextOf(top.span), " at ", source_.Position(top.span.offset));
    } else if (top.kind == PendingKind::kChooseThen) {
      wanted = "':'";
      opened = Cat("for the '?' at ", source_.Position(top.span.offset));
    }
    return source_.ErrorAt(token.span, Cat("expected ", wanted, " ", opened, ", found ", Found(token)));
  }

  Program& program_;
  const Source& source_;
  SymbolTable& symbols_;
  const std::vector<Token>& tokens_;
  size_t at_;
  std::vector<Pending> pending_;
  uint32_t heavy_ = 0;  // Gathers and costly functions so far: what a lazy operand is worth a branch for.
};

}  // namespace

absl::StatusOr<size_t> ParseExpression(Program& program, SymbolTable& symbols, const std::vector<Token>& tokens,
                                       size_t at) {
  return ExpressionParser(program, symbols, tokens, at).Run();
}

}  // namespace slipway::text
