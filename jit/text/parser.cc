#include "jit/text/parser.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/status_macros.h"
#include "jit/text/cat.h"
#include "jit/text/expression_parser.h"
#include "jit/text/lexer.h"
#include "jit/text/signature_parser.h"
#include "jit/text/symbol_table.h"
#include "jit/text/words.h"

namespace slipway::text {
namespace {

// The statements of a text whose signature has been parsed.
class Parser {
 public:
  Parser(Program& program, std::vector<Token> tokens)
      : program_(program), source_(program.source), symbols_(program), tokens_(std::move(tokens)) {}

  absl::Status Run() {
    program_.nodes.reserve(tokens_.size());
    while (true) {
      while (Peek() == TokenKind::kNewline) ++at_;
      if (Peek() == TokenKind::kEnd) break;
      SLIPWAY_RETURN_IF_ERROR(Statement());
    }
    return symbols_.CheckParameters();
  }

 private:
  const Token& Now() const { return tokens_[at_]; }
  TokenKind Peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)].kind; }
  std::string_view TextOf(const Token& token) const { return source_.TextOf(token.span); }

  absl::Status Statement() {
    bool local = false;
    if (Peek() == TokenKind::kName && TextOf(Now()) == "let") {
      local = true;
      ++at_;
      if (Peek() != TokenKind::kName) {
        return source_.ErrorAt(Now().span, Cat("expected a name after 'let', found ", DescribeToken(source_, Now())));
      }
    }
    if (Peek() != TokenKind::kName || Peek(1) != TokenKind::kAssign) return NoAssignment(local);
    const Span target = Now().span;
    SLIPWAY_RETURN_IF_ERROR(CheckTargetWord(target));
    at_ += 2;
    SLIPWAY_ASSIGN_OR_RETURN(at_, ParseExpression(program_, symbols_, tokens_, at_));
    SLIPWAY_RETURN_IF_ERROR(CheckCost(target));
    SLIPWAY_ASSIGN_OR_RETURN(const uint32_t symbol, symbols_.Define(target, local));
    program_.nodes.push_back({.kind = NodeKind::kAssign, .symbol = symbol, .span = target});
    return absl::OkStatus();
  }

  absl::Status CheckCost(Span target) const {
    if (program_.num_costly_calls > kMaxCostlyCalls) {
      return source_.ErrorAt(target, Cat("up to here the text calls ", program_.num_costly_calls, " costly functions"),
                             Cat("at most ", kMaxCostlyCalls, " are allowed; split it into several texts"));
    }
    if (program_.num_branches > kMaxBranches) {
      return source_.ErrorAt(
          target, Cat("up to here the text has ", program_.num_branches, " conditions with costly or indexed operands"),
          Cat("at most ", kMaxBranches, " are allowed; split it into several texts"));
    }
    return absl::OkStatus();
  }

  absl::Status CheckTargetWord(Span span) const {
    const std::string_view word = source_.TextOf(span);
    if (word == "let" || word == "true" || word == "false") {
      return source_.ErrorAt(span, Cat("'", word, "' cannot be assigned: it is a word of the language"));
    }
    if (FindForeignWord(word) != nullptr) {
      return source_.ErrorAt(span, Cat("'", word, "' cannot be a name"), "it is kept free for the language");
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
    if (const ForeignWord* word = FindForeignWord(TextOf(Now()))) {
      return source_.ErrorAt(Now().span, Cat("'", word->text, "' is not part of the language"), word->hint);
    }
    const Token& last = tokens_[end - 1];
    return source_.ErrorAt({Now().span.offset, last.span.offset + last.span.length - Now().span.offset},
                           "missing output: this value is not assigned to anything", "write 'z = ' before it");
  }

  Program& program_;
  const Source& source_;
  SymbolTable symbols_;
  const std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace

absl::StatusOr<Program> Parse(std::string_view text, std::string_view signature) {
  Program program;
  program.source = Source("expression", std::string(text));
  program.signature = Source("signature", std::string(signature));
  SLIPWAY_RETURN_IF_ERROR(program.source.Validate());
  if (!signature.empty()) SLIPWAY_RETURN_IF_ERROR(ParseSignature(program));
  SLIPWAY_ASSIGN_OR_RETURN(std::vector<Token> tokens, Lex(program.source));
  SLIPWAY_RETURN_IF_ERROR(Parser(program, std::move(tokens)).Run());
  return program;
}

}  // namespace slipway::text
