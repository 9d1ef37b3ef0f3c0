#include "driver/ptx/lexer.h"

#include <bit>
#include <cmath>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/charconv.h"
#include "absl/strings/escaping.h"
#include "driver/ptx/message.h"
#include "driver/status_macros.h"

namespace slipway::ptx {
namespace {

bool StartsIdentifier(char c) { return absl::ascii_isalpha(c) || c == '_' || c == '$' || c == '%'; }
bool ContinuesIdentifier(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '$'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  absl::StatusOr<std::vector<Token>> Run() {
    std::vector<Token> tokens;
    tokens.reserve(text_.size() / 4);
    do {
      SLIPWAY_RETURN_IF_ERROR(SkipBlanks());
      SLIPWAY_ASSIGN_OR_RETURN(Token token, Next());
      tokens.push_back(token);
    } while (tokens.back().kind != Token::Kind::kEnd);
    return tokens;
  }

 private:
  absl::Status Error(std::string_view what) const { return Malformed(line_, what); }
  // The driver is handed text with a final NUL, which callers may count in.
  bool AtEnd() const { return at_ >= text_.size() || text_[at_] == '\0'; }
  char Peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  absl::Status SkipBlanks() {
    while (!AtEnd()) {
      const char c = Peek();
      if (c == '\n') ++line_;
      if (absl::ascii_isspace(c)) {
        ++at_;
      } else if (c == '/' && Peek(1) == '/') {
        while (!AtEnd() && Peek() != '\n') ++at_;
      } else if (c == '/' && Peek(1) == '*') {
        const size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) return Error("a comment that is not closed");
        for (; at_ < end + 2; ++at_) line_ += text_[at_] == '\n';
      } else {
        break;
      }
    }
    return absl::OkStatus();
  }

  Token Make(Token::Kind kind, size_t length, uint64_t bits = 0) {
    Token token{kind, text_.substr(at_, length), bits, line_};
    at_ += length;
    return token;
  }

  absl::StatusOr<Token> Next() {
    if (AtEnd()) return Make(Token::Kind::kEnd, 0);
    const char c = Peek();
    if (StartsIdentifier(c)) {
      size_t length = 1;
      while (ContinuesIdentifier(Peek(length))) ++length;
      return Make(Token::Kind::kIdentifier, length);
    }
    if (c == '.' && (absl::ascii_isalnum(Peek(1)) || Peek(1) == '_')) {
      size_t length = 1;
      while (ContinuesIdentifier(Peek(length)) || (Peek(length) == ':' && Peek(length + 1) == ':')) {
        length += Peek(length) == ':' ? 2 : 1;
      }
      return Make(Token::Kind::kDirective, length);
    }
    if (absl::ascii_isdigit(c)) return Number();
    if (c == '"') {
      size_t length = 1;
      while (Peek(length) != '"' && Peek(length) != '\n' && Peek(length) != '\0') ++length;
      if (Peek(length) != '"') return Error("a string that is not closed");
      ++at_;
      Token token = Make(Token::Kind::kString, length - 1);
      ++at_;
      return token;
    }
    for (std::string_view two : {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"}) {
      if (text_.substr(at_, 2) == two) return Make(Token::Kind::kPunctuation, 2);
    }
    if (std::string_view("{}()[]<>,;:=+-*/%!~&|^?@").find(c) != std::string_view::npos) {
      return Make(Token::Kind::kPunctuation, 1);
    }
    return Error(Concat("unexpected character '", absl::CHexEscape(std::string(1, c)), "'"));
  }

  absl::StatusOr<Token> Number() {
    size_t length = 0;
    while (absl::ascii_isalnum(Peek(length))) ++length;
    const std::string_view word = text_.substr(at_, length);
    const char marker = length > 1 && word[0] == '0' ? absl::ascii_tolower(word[1]) : '\0';
    if ((marker == 'f' && length == 10) || (marker == 'd' && length == 18)) return HexFloat(word, marker == 'f');
    if (marker == 'x' || marker == 'b') return Integer(word, word.substr(2), marker == 'x' ? 16 : 2);
    size_t digits = 0;
    while (absl::ascii_isdigit(Peek(digits))) ++digits;
    if (Peek(digits) == '.' || (absl::ascii_tolower(Peek(digits)) == 'e')) return Decimal();
    return Integer(word, word, word.size() > 1 && word[0] == '0' ? 8 : 10);
  }

  absl::StatusOr<Token> HexFloat(std::string_view word, bool narrow) {
    uint64_t bits = 0;
    for (char c : word.substr(2)) {
      if (!absl::ascii_isxdigit(c)) return Error(Concat("'", word, "' is not a number"));
      bits = bits << 4 | (absl::ascii_isdigit(c) ? c - '0' : absl::ascii_tolower(c) - 'a' + 10);
    }
    // Both kinds become the bits of a double; a 32-bit NaN keeps its payload, shifted, for which the conversion is done
    // by hand: the host's would set the quiet bit.
    if (narrow) {
      const uint32_t narrow_bits = static_cast<uint32_t>(bits);
      const float value = std::bit_cast<float>(narrow_bits);
      bits = std::isnan(value)
                 ? (uint64_t{narrow_bits >> 31} << 63 | uint64_t{0x7ff} << 52 | uint64_t{narrow_bits & 0x7fffff} << 29)
                 : std::bit_cast<uint64_t>(static_cast<double>(value));
    }
    return Make(narrow ? Token::Kind::kFloat32 : Token::Kind::kFloat, word.size(), bits);
  }

  absl::StatusOr<Token> Integer(std::string_view word, std::string_view digits, unsigned base) {
    if (!digits.empty() && (digits.back() == 'U' || digits.back() == 'u')) digits.remove_suffix(1);
    if (digits.empty()) return Error(Concat("'", word, "' is not a number"));
    uint64_t value = 0;
    for (char c : digits) {
      const unsigned digit = absl::ascii_isdigit(c)    ? c - '0'
                             : absl::ascii_isxdigit(c) ? absl::ascii_tolower(c) - 'a' + 10
                                                       : 99;
      if (digit >= base) return Error(Concat("'", word, "' is not a number"));
      if (value > (~uint64_t{0} - digit) / base) return Error(Concat("'", word, "' does not fit in 64 bits"));
      value = value * base + digit;
    }
    return Make(Token::Kind::kInteger, word.size(), value);
  }

  absl::StatusOr<Token> Decimal() {
    double value = 0;
    const char* const begin = text_.data() + at_;
    const auto result = absl::from_chars(begin, text_.data() + text_.size(), value);  // Knows no locale.
    if (result.ptr == begin) return Error("a number that cannot be read");
    return Make(Token::Kind::kFloat, result.ptr - begin, std::bit_cast<uint64_t>(value));
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

absl::StatusOr<std::vector<Token>> Tokenize(std::string_view text) { return Lexer(text).Run(); }

}  // namespace slipway::ptx
