#include "jit/text/lexer.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "jit/text/cat.h"
#include "jit/text/utf8.h"

namespace slipway::text {
namespace {

struct Spelling {
  std::string_view text;
  TokenKind kind;
  std::string_view hint = {};  // Of an operator of another language: what to write.
};

// Those that begin alike stand together, the longest first.
constexpr Spelling kSpellings[] = {
    {"(", TokenKind::kLeftParen},
    {")", TokenKind::kRightParen},
    {"[", TokenKind::kLeftBracket},
    {"]", TokenKind::kRightBracket},
    {"{", TokenKind::kLeftBrace},
    {"}", TokenKind::kRightBrace},
    {",", TokenKind::kComma},
    {"?", TokenKind::kQuestion},
    {"~", TokenKind::kTilde},
    {"..", TokenKind::kDotDot},
    {":=", TokenKind::kBad, "write ="},
    {":", TokenKind::kColon},
    {"===", TokenKind::kBad, "write =="},
    {"==", TokenKind::kEqual},
    {"=", TokenKind::kAssign},
    {"!=", TokenKind::kNotEqual},
    {"!", TokenKind::kBang},
    {"<<=", TokenKind::kShiftLeftAssign},
    {"<<", TokenKind::kShiftLeft},
    {"<=", TokenKind::kLessEqual},
    {"<>", TokenKind::kBad, "write !="},
    {"<", TokenKind::kLess},
    {">>=", TokenKind::kShiftRightAssign},
    {">>", TokenKind::kShiftRight},
    {">=", TokenKind::kGreaterEqual},
    {">", TokenKind::kGreater},
    {"&&", TokenKind::kAndAnd},
    {"&=", TokenKind::kAmpAssign},
    {"&", TokenKind::kAmp},
    {"||", TokenKind::kOrOr},
    {"|=", TokenKind::kPipeAssign},
    {"|", TokenKind::kPipe},
    {"^=", TokenKind::kCaretAssign},
    {"^", TokenKind::kCaret},
    {"++", TokenKind::kBad, "write x + 1; a sign after a sign needs a space"},
    {"+=", TokenKind::kPlusAssign},
    {"+", TokenKind::kPlus},
    {"--", TokenKind::kBad, "write x - 1; a sign after a sign needs a space"},
    {"->", TokenKind::kArrow},
    {"-=", TokenKind::kMinusAssign},
    {"-", TokenKind::kMinus},
    {"**", TokenKind::kBad, "a power is written pow(x, y)"},
    {"*=", TokenKind::kStarAssign},
    {"*", TokenKind::kStar},
    {"//", TokenKind::kBad, "flooring division is written floor_div(x, y), a comment starts with #"},
    {"/=", TokenKind::kSlashAssign},
    {"/", TokenKind::kSlash},
    {"%=", TokenKind::kPercentAssign},
    {"%", TokenKind::kPercent},
};

// Where those that begin with a character stand: one behind the first, 0 if there is none.
struct FirstCharacters {
  constexpr FirstCharacters() {
    for (size_t i = std::size(kSpellings); i > 0; --i) at[static_cast<uint8_t>(kSpellings[i - 1].text[0])] = i;
  }
  uint8_t at[256] = {};
};
constexpr FirstCharacters kFirst;

bool StartsName(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool ContinuesName(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }
// What a character stands for behind a backslash; NUL where it may not stand there.
char Escaped(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    default:
      return c == '"' || c == '\\' ? c : '\0';
  }
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Whether a line may not end after this token, so that the next line goes on with the same statement.
bool WantsMore(TokenKind kind) { return kind >= TokenKind::kComma || kind == TokenKind::kLeftParen; }

class Lexer {
 public:
  Lexer(const Source& source, Mistakes& mistakes) : source_(source), text_(source.text()), mistakes_(mistakes) {}

  std::vector<Token> Run() {
    tokens_.reserve(text_.size() / 2 + 2);
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == '\n' || c == ';') {
        EndStatement(c);
      } else if (StartsName(c)) {
        Name();
      } else if (IsDigit(c) || (c == '.' && at_ + 1 < text_.size() && IsDigit(text_[at_ + 1]))) {
        Number();
      } else if (c == '"') {
        String();
      } else {
        Operator();
      }
    }
    tokens_.push_back({TokenKind::kEnd, {static_cast<uint32_t>(text_.size()), 0}});
    return std::move(tokens_);
  }

 private:
  void Push(TokenKind kind, size_t length) {
    tokens_.push_back({kind, {static_cast<uint32_t>(at_), static_cast<uint32_t>(length)}});
    at_ += length;
  }

  // A mistake at `length` bytes from here, which are skipped.
  void ErrorHere(size_t length, std::string_view message, std::string_view hint = {}) {
    if (!mistakes_.full()) {
      mistakes_.Add(source_.ErrorAt({static_cast<uint32_t>(at_), static_cast<uint32_t>(length)}, message, hint),
                    static_cast<uint32_t>(at_));
    }
    Push(TokenKind::kBad, length);
  }

  void EndStatement(char c) {
    const bool has_statement = !tokens_.empty() && tokens_.back().kind != TokenKind::kNewline;
    const bool continues = c == '\n' && (brackets_ > 0 || (has_statement && WantsMore(tokens_.back().kind)));
    if (has_statement && !continues) {
      Push(TokenKind::kNewline, 1);
    } else {
      ++at_;
    }
  }

  void Name() {
    size_t length = 1;
    while (at_ + length < text_.size() && ContinuesName(text_[at_ + length])) ++length;
    if (length > kMaxNameBytes) {
      return ErrorHere(length, Cat("a name of ", length, " characters"),
                       Cat("at most ", kMaxNameBytes, " are allowed"));
    }
    Push(TokenKind::kName, length);
  }

  void Number() {
    size_t end = at_;
    const auto peek = [&](size_t ahead) { return end + ahead < text_.size() ? text_[end + ahead] : '\0'; };
    const auto skip = [&](auto&& accepts) {
      const size_t begin = end;
      while (end < text_.size() && accepts(text_[end])) ++end;
      return end != begin;
    };
    const auto is_hex = [](char c) { return absl::ascii_isxdigit(static_cast<unsigned char>(c)); };
    TokenKind kind = TokenKind::kInteger;
    bool good = true;
    const bool hex = peek(0) == '0' && (peek(1) == 'x' || peek(1) == 'X');
    if (hex) {
      end += 2;
      good = skip(is_hex);
      if (peek(0) == '.') {
        kind = TokenKind::kFloat;
        ++end;
        good |= skip(is_hex);
      }
    } else {
      skip(IsDigit);
      if (peek(0) == '.' && peek(1) != '.') {  // 1..n is a range.
        kind = TokenKind::kFloat;
        ++end;
        skip(IsDigit);
      }
    }
    const char exponent = absl::ascii_tolower(static_cast<unsigned char>(peek(0)));
    if (exponent == (hex ? 'p' : 'e')) {
      kind = TokenKind::kFloat;
      ++end;
      if (peek(0) == '+' || peek(0) == '-') ++end;
      good &= skip(IsDigit);
    } else if (hex && kind == TokenKind::kFloat) {
      good = false;  // As in C: 0x1.8 needs its exponent.
    }
    const size_t number_end = end;
    while (end < text_.size() && (ContinuesName(peek(0)) || (peek(0) == '.' && peek(1) != '.'))) ++end;
    if (!good || end != number_end) return BadNumber(end - at_, number_end - at_);
    if (kind == TokenKind::kInteger && !hex && end - at_ > 1 && text_[at_] == '0') {
      return ErrorHere(end - at_, "a number with a leading zero", "leave the zero out: there are no octal numbers");
    }
    Push(kind, end - at_);
  }

  void BadNumber(size_t length, size_t digits) {
    const std::string_view spelled = text_.substr(at_, length);
    const std::string_view suffix = spelled.substr(digits);
    if (suffix == "f" || suffix == "F" || suffix == "l" || suffix == "L" || suffix == "u" || suffix == "U") {
      return ErrorHere(length, Cat("malformed number '", spelled, "'"),
                       Cat("leave the suffix out: a number takes the type of what it meets, and ",
                           suffix == "u" || suffix == "U" ? "uint32" : "float32", "(x) makes one of that type"));
    }
    return ErrorHere(length, Cat("malformed number '", spelled, "'"));
  }

  void String() {
    for (size_t end = at_ + 1; end < text_.size() && text_[end] != '\n'; ++end) {
      if (text_[end] == '"') return Push(TokenKind::kString, end + 1 - at_);
      if (text_[end] != '\\') continue;
      if (++end == text_.size() || text_[end] == '\n') break;
      if (Escaped(text_[end]) != '\0') continue;
      const std::string_view shown = text_.substr(end - 1, 1 + utf8::SequenceLength(text_, end));
      ErrorHere(end - 1 + shown.size() - at_, Cat("a string with '", shown, "'"), R"(\" \\ \n and \t are known)");
      return SkipQuoted('"');
    }
    ErrorHere(std::min(text_.find('\n', at_), text_.size()) - at_, "a string that does not end on its line",
              "write \" at its end");
  }

  // To behind the closing quote, so that a string is one mistake.
  void SkipQuoted(char quote) {
    const char ends[] = {quote, '\n'};
    const size_t end = text_.find_first_of(std::string_view(ends, 2), at_);
    if (end != std::string_view::npos && text_[end] == quote) at_ = end + 1;
  }

  void Operator() {
    const std::string_view rest = text_.substr(at_);
    for (size_t i = kFirst.at[static_cast<uint8_t>(rest[0])]; i > 0 && i <= std::size(kSpellings); ++i) {
      const Spelling& spelling = kSpellings[i - 1];
      if (spelling.text[0] != rest[0]) break;
      if (rest.substr(0, spelling.text.size()) != spelling.text) continue;
      if (spelling.kind == TokenKind::kBad) {
        return ErrorHere(spelling.text.size(), Cat("'", spelling.text, "' is no operator here"), spelling.hint);
      }
      if (spelling.kind == TokenKind::kLeftParen || spelling.kind == TokenKind::kLeftBracket) ++brackets_;
      if (spelling.kind == TokenKind::kRightParen || spelling.kind == TokenKind::kRightBracket) {
        if (brackets_ > 0) --brackets_;
      }
      return Push(spelling.kind, spelling.text.size());
    }
    UnexpectedCharacter();
  }

  void UnexpectedCharacter() {
    const unsigned char c = static_cast<unsigned char>(text_[at_]);
    if (c < 0x20 || c == 0x7f) return ErrorHere(1, absl::StrFormat("unexpected control character 0x%02x", c));
    const std::string_view shown = text_.substr(at_, utf8::SequenceLength(text_, at_));
    std::string_view hint;
    if (c == '\'') hint = "a string is written with \"";
    if (c == '.') hint = "a number needs a digit beside its point";
    if (c >= 0x80) hint = "names are made of a-z, A-Z, 0-9 and _";
    ErrorHere(shown.size(), Cat("unexpected character '", shown, "'"), hint);
    if (c == '\'') SkipQuoted('\'');
  }

  const Source& source_;
  std::string_view text_;
  size_t at_ = 0;
  int64_t brackets_ = 0;  // Open ones; newlines inside them are spaces.
  Mistakes& mistakes_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> Lex(const Source& source, Mistakes& mistakes) { return Lexer(source, mistakes).Run(); }

std::string StringValue(std::string_view token) {
  std::string value;
  for (size_t i = 1; i + 1 < token.size(); ++i) value += token[i] == '\\' ? Escaped(token[++i]) : token[i];
  return value;
}

std::string DescribeToken(const Source& source, const Token& token) {
  if (token.kind == TokenKind::kEnd) return "the end of the text";
  if (token.kind == TokenKind::kNewline) return source.TextOf(token.span) == ";" ? "';'" : "the end of the line";
  return Cat("'", source.TextOf(token.span), "'");
}

}  // namespace slipway::text
