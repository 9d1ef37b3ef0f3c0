// Splits a text into tokens. Names and numbers keep their spelling; values are read by the parser.
#ifndef SLIPWAY_JIT_TEXT_LEXER_H_
#define SLIPWAY_JIT_TEXT_LEXER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jit/text/mistakes.h"
#include "jit/text/source.h"

namespace slipway::text {

enum class TokenKind : uint8_t {
  kEnd,
  kBad,      // What no token is; the lexer has said why.
  kNewline,  // Or ';'. None inside brackets, none after an operator.
  kName,
  kInteger,
  kFloat,
  kString,  // With its quotes.
  // Punctuation and operators.
  kLeftParen,
  kRightParen,
  kLeftBracket,
  kRightBracket,
  kLeftBrace,
  kRightBrace,
  // From here on: what a line may not end with, so that the statement goes on in the next one.
  kComma,
  kAssign,
  // An operator and the assignment of its result.
  kPlusAssign,
  kMinusAssign,
  kStarAssign,
  kSlashAssign,
  kPercentAssign,
  kAmpAssign,
  kPipeAssign,
  kCaretAssign,
  kShiftLeftAssign,
  kShiftRightAssign,
  kQuestion,
  kColon,
  kArrow,
  kDotDot,
  kPlus,
  kMinus,
  kStar,
  kSlash,
  kPercent,
  kAmp,
  kPipe,
  kCaret,
  kTilde,
  kBang,
  kShiftLeft,
  kShiftRight,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kAndAnd,
  kOrOr,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  Span span;
};

// The tokens of a validated source, ended by one kEnd. '#' starts a comment that ends with its line. Errors go to
// `mistakes` and leave a kBad: a character that starts no token, an operator of another language (`**`, `++`, ...; the
// message says what to write), a malformed number or string, a name longer than kMaxNameBytes.
std::vector<Token> Lex(const Source& source, Mistakes& mistakes);

// What a kString stands for.
std::string StringValue(std::string_view token);

// How a message names a token: "'+'", "the end of the line".
std::string DescribeToken(const Source& source, const Token& token);

}  // namespace slipway::text

#endif  // SLIPWAY_JIT_TEXT_LEXER_H_
