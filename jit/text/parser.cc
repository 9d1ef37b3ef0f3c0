#include "jit/text/parser.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/charconv.h"
#include "absl/strings/string_view.h"
#include "driver/status_macros.h"
#include "jit/text/cat.h"
#include "jit/text/functions.h"
#include "jit/text/lexer.h"
#include "jit/text/signature_parser.h"
#include "jit/text/suggest.h"
#include "slipway/signature.h"

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
  uint8_t count = 0;                   // Arguments or indices so far, less the present one.
  DType cast = DType::kVoid;           // kCall: not kVoid for a cast.
  const Function* function = nullptr;  // kCall, unless a cast.
  uint32_t symbol = 0;                 // kIndex.
  uint32_t begin = 0;                  // The marker node that a lazy operator began with.
  uint32_t heavy = 0;                  // heavy_ when that was.
  Span span;
};

struct Word {
  std::string_view text;
  std::string_view hint;
};
constexpr Word kForeignWords[] = {{"and", "write && (or & to combine bits)"},
                                  {"or", "write || (or | to combine bits)"},
                                  {"not", "write ! (or ~ to flip bits)"},
                                  {"if", "a condition is written c ? x : y"},
                                  {"else", "a condition is written c ? x : y"},
                                  {"for", "there are no loops in an elementwise expression"},
                                  {"while", "there are no loops in an elementwise expression"},
                                  {"return", "a result is assigned to an output: z = x + y"}};

class Parser {
 public:
  explicit Parser(Program& program)
      : program_(program), source_(program.source), declared_(!program.signature.text().empty()) {}

  absl::Status Run() {
    SLIPWAY_RETURN_IF_ERROR(source_.Validate());
    if (declared_) SLIPWAY_RETURN_IF_ERROR(ParseSignature(program_));
    for (uint32_t i = 0; i < program_.symbols.size(); ++i) names_.emplace(program_.symbols[i].name, i);
    assigned_.resize(program_.symbols.size());
    SLIPWAY_ASSIGN_OR_RETURN(tokens_, Lex(source_));
    program_.nodes.reserve(tokens_.size());
    while (true) {
      while (Peek() == TokenKind::kNewline) ++at_;
      if (Peek() == TokenKind::kEnd) break;
      SLIPWAY_RETURN_IF_ERROR(Statement());
    }
    return CheckParameters();
  }

 private:
  const Token& Now() const { return tokens_[at_]; }
  TokenKind Peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)].kind; }
  std::string_view TextOf(const Token& token) const { return source_.TextOf(token.span); }

  // "'+'", "the end of the line": how a message names a token.
  std::string Found(const Token& token) const {
    if (token.kind == TokenKind::kEnd) return "the end of the text";
    if (token.kind == TokenKind::kNewline) return TextOf(token) == ";" ? "';'" : "the end of the line";
    return Cat("'", TextOf(token), "'");
  }

  Node& Emit(NodeKind kind, Span span) {
    program_.nodes.push_back({.kind = kind, .span = span});
    return program_.nodes.back();
  }
  uint32_t LastNode() const { return static_cast<uint32_t>(program_.nodes.size() - 1); }

  // --- Statements ---------------------------------------------------------------------------------------------------

  absl::Status Statement() {
    bool local = false;
    if (Peek() == TokenKind::kName && TextOf(Now()) == "let") {
      local = true;
      ++at_;
      if (Peek() != TokenKind::kName) {
        return source_.ErrorAt(Now().span, Cat("expected a name after 'let', found ", Found(Now())));
      }
    }
    if (Peek() != TokenKind::kName || Peek(1) != TokenKind::kAssign) return NoAssignment(local);
    const Span target = Now().span;
    const std::string name(TextOf(Now()));
    SLIPWAY_RETURN_IF_ERROR(CheckTargetWord(target));
    at_ += 2;
    SLIPWAY_RETURN_IF_ERROR(Expression());
    if (Peek() == TokenKind::kNewline) ++at_;
    SLIPWAY_ASSIGN_OR_RETURN(const uint32_t symbol, Define(name, target, local));
    Emit(NodeKind::kAssign, target).symbol = symbol;
    assigned_[symbol] = true;
    return absl::OkStatus();
  }

  absl::Status CheckTargetWord(Span span) const {
    const std::string_view word = source_.TextOf(span);
    if (word == "let" || word == "true" || word == "false") {
      return source_.ErrorAt(span, Cat("'", word, "' cannot be assigned: it is a word of the language"));
    }
    for (const Word& foreign : kForeignWords) {
      if (word == foreign.text) {
        return source_.ErrorAt(span, Cat("'", word, "' cannot be a name"), "it is kept free for the language");
      }
    }
    return absl::OkStatus();
  }

  // A statement that is no assignment: what was it meant to be?
  absl::Status NoAssignment(bool local) const {
    size_t end = at_;
    int depth = 0;
    for (; tokens_[end].kind != TokenKind::kEnd && tokens_[end].kind != TokenKind::kNewline; ++end) {
      const TokenKind kind = tokens_[end].kind;
      depth += kind == TokenKind::kLeftParen || kind == TokenKind::kLeftBracket;
      depth -= kind == TokenKind::kRightParen || kind == TokenKind::kRightBracket;
      if (kind != TokenKind::kAssign || depth != 0) continue;
      if (end == at_) return source_.ErrorAt(Now().span, "expected the name of an output before '='");
      const Span left{Now().span.offset, tokens_[end].span.offset - Now().span.offset};
      const size_t trimmed = source_.TextOf(left).find_last_not_of(" \t") + 1;
      return source_.ErrorAt({left.offset, static_cast<uint32_t>(trimmed)}, "only a single name can be assigned",
                             Peek(1) == TokenKind::kLeftBracket
                                 ? "an output is written element by element, without an index"
                                 : "write 'z = ' and then the expression");
    }
    if (local) return source_.ErrorAt(tokens_[at_ + 1].span, "expected '=' after the name of a local");
    for (const Word& word : kForeignWords) {
      if (Peek() == TokenKind::kName && TextOf(Now()) == word.text) {
        return source_.ErrorAt(Now().span, Cat("'", word.text, "' is not part of the language"), word.hint);
      }
    }
    const Token& last = tokens_[end - 1];
    return source_.ErrorAt({Now().span.offset, last.span.offset + last.span.length - Now().span.offset},
                           "missing output: this value is not assigned to anything", "write 'z = ' before it");
  }

  // The symbol that an assignment defines.
  absl::StatusOr<uint32_t> Define(const std::string& name, Span span, bool local) {
    const auto found = names_.find(name);
    if (found == names_.end()) {
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
      return AddSymbol({.name = name, .kind = kind, .index = index, .span = span});
    }
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
    return found->second;
  }

  uint32_t AddSymbol(Symbol symbol) {
    const uint32_t id = static_cast<uint32_t>(program_.symbols.size());
    names_.emplace(symbol.name, id);
    program_.symbols.push_back(std::move(symbol));
    assigned_.push_back(false);
    return id;
  }

  absl::Status CheckParameters() const {
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

  // --- Expressions: operator precedence with explicit stacks --------------------------------------------------------

  absl::Status Expression() {
    pending_.clear();
    bool done = false;
    while (!done) {
      SLIPWAY_RETURN_IF_ERROR(Operand());
      SLIPWAY_RETURN_IF_ERROR(AfterOperand(done));
    }
    return absl::OkStatus();
  }

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
    for (const Word& word : kForeignWords) {
      if (name == word.text) {
        return source_.ErrorAt(token.span, Cat("'", name, "' is not part of the language"), word.hint);
      }
    }
    if (Peek(1) == TokenKind::kLeftParen) {
      whole = false;
      return BeginCall(token);
    }
    if (Peek(1) == TokenKind::kLeftBracket) {
      whole = false;
      SLIPWAY_ASSIGN_OR_RETURN(const uint32_t symbol, Resolve(token, /*gathered=*/true));
      pending_.push_back({.kind = PendingKind::kIndex, .symbol = symbol, .span = token.span});
      at_ += 2;
      if (Peek() == TokenKind::kRightBracket) {
        return source_.ErrorAt(Now().span, Cat("'", name, "' needs an index between the brackets"));
      }
      return absl::OkStatus();
    }
    SLIPWAY_ASSIGN_OR_RETURN(const uint32_t symbol, Resolve(token, /*gathered=*/false));
    Emit(NodeKind::kName, token.span).symbol = symbol;
    ++at_;
    return absl::OkStatus();
  }

  absl::Status BeginCall(const Token& token) {
    const std::string_view name = TextOf(token);
    Pending call{.kind = PendingKind::kCall, .span = token.span};
    call.function = FindFunction(name);
    if (call.function == nullptr) {
      call.cast = DTypeFromName(name);
      if (call.cast == DType::kVoid) {
        std::string hint = DidYouMean(name, FunctionNames());
        if (names_.contains(absl::string_view(name.data(), name.size()))) {
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

  // The symbol behind a name that is read. Without a signature a new name becomes an input.
  absl::StatusOr<uint32_t> Resolve(const Token& token, bool gathered) {
    const std::string_view name = TextOf(token);
    const auto found = names_.find(absl::string_view(name.data(), name.size()));
    if (found == names_.end()) {
      if (declared_) {
        std::vector<std::string_view> known;
        for (const Symbol& symbol : program_.symbols) {
          if (symbol.kind != SymbolKind::kOutput) known.push_back(symbol.name);
        }
        std::string hint = DidYouMean(name, known);
        if (hint.empty() && FindFunction(name) != nullptr) {
          hint = Cat("a function is called with its arguments in brackets: ", name, "(...)");
        }
        return source_.ErrorAt(token.span, Cat("unknown name '", name, "'"), hint);
      }
      const uint32_t index = static_cast<uint32_t>(program_.inputs.size());
      program_.inputs.push_back({.name = std::string(name),
                                 .shape = gathered ? ShapeRule::kGathered : ShapeRule::kAny,
                                 .span = token.span,
                                 .used = true});
      return AddSymbol({.name = std::string(name), .kind = SymbolKind::kInput, .index = index, .span = token.span});
    }
    const Symbol& symbol = program_.symbols[found->second];
    if (symbol.kind == SymbolKind::kInput) {
      SLIPWAY_RETURN_IF_ERROR(CheckUse(program_.inputs[symbol.index], token, gathered));
    } else if (gathered) {
      return source_.ErrorAt(token.span, Cat("'", name, "' cannot be indexed"),
                             "only an input can: what is computed here has one value an element");
    } else if (!assigned_[found->second]) {
      return source_.ErrorAt(token.span, Cat("the output '", name, "' is read before it is assigned"));
    }
    return found->second;
  }

  absl::Status CheckUse(Parameter& input, const Token& token, bool gathered) {
    if (!input.used && gathered && input.shape == ShapeRule::kAny) input.shape = ShapeRule::kGathered;
    input.used = true;
    if (gathered == (input.shape == ShapeRule::kGathered)) return absl::OkStatus();
    if (input.type == TypeRule::kAny) {
      return source_.ErrorAt(token.span, Cat("'", input.name, "' is used both with an index and without"),
                             "pass the array a second time under another name");
    }
    if (gathered) {
      return source_.ErrorAt(token.span,
                             Cat("'", input.name, "' cannot be indexed: it is declared as ",
                                 input.shape == ShapeRule::kScalar ? "a number" : "an elementwise array"),
                             Cat("declare it with its dimensions: '", input.name, ": T[:]'"));
    }
    return source_.ErrorAt(token.span,
                           Cat("'", input.name, "' needs ", input.rank, input.rank == 1 ? " index" : " indices",
                               ": it is declared as a gathered array"),
                           Cat("write '", input.name, "[i]', or declare it as '", input.name, ": T[]'"));
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
      for (const Word& word : kForeignWords) {
        if (TextOf(token) == word.text) hint = word.hint;
      }
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
      Emit(NodeKind::kCast, top.span).dtype = top.cast;
      return absl::OkStatus();
    }
    heavy_ += top.function->heavy;
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
    Parameter& input = program_.inputs[program_.symbols[top.symbol].index];
    const int given = top.count + 1;
    if (given > kMaxRank) {
      return source_.ErrorAt(top.span, Cat("'", input.name, "' is read with ", given, " indices"),
                             Cat("at most ", kMaxRank, " are allowed"));
    }
    if (input.rank == 0) input.rank = given;
    if (input.rank != given) {
      return source_.ErrorAt(
          top.span,
          Cat("'", input.name, "' is read with ", given, given == 1 ? " index" : " indices", ", but ",
              input.type == TypeRule::kAny ? "was read with " : "is declared with ", input.rank),
          "an array has one rank");
    }
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
  const bool declared_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  absl::flat_hash_map<std::string, uint32_t> names_;
  std::vector<bool> assigned_;  // By symbol.
  std::vector<Pending> pending_;
  uint32_t heavy_ = 0;  // Gathers and costly functions so far: what a lazy operand is worth a branch for.
};

}  // namespace

absl::StatusOr<Program> Parse(std::string_view text, std::string_view signature) {
  Program program;
  program.source = Source("expression", std::string(text));
  program.signature = Source("signature", std::string(signature));
  SLIPWAY_RETURN_IF_ERROR(Parser(program).Run());
  return program;
}

}  // namespace slipway::text
