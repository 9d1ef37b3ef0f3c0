#include "driver/cpu/ptx/constant_expression.h"

#include <bit>

#include "driver/ptx/message.h"
#include "driver/status_macros.h"

namespace slipway::ptx {
namespace {

constexpr int kMaxDepth = 100;

struct BinaryOperator {
  std::string_view text;
  int precedence;
};
constexpr BinaryOperator kBinaryOperators[] = {
    {"||", 1}, {"&&", 2}, {"|", 3},  {"^", 4},  {"&", 5}, {"==", 6}, {"!=", 6}, {"<", 7},  {"<=", 7},
    {">", 7},  {">=", 7}, {"<<", 8}, {">>", 8}, {"+", 9}, {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10},
};

double AsDouble(const Constant& c) {
  if (c.is_float) return std::bit_cast<double>(c.bits);
  return c.is_unsigned ? static_cast<double>(c.bits) : static_cast<double>(static_cast<int64_t>(c.bits));
}
Constant FromDouble(double value) { return {.is_float = true, .bits = std::bit_cast<uint64_t>(value)}; }

class Parser {
 public:
  Parser(const std::vector<Token>& tokens, size_t* at) : tokens_(tokens), at_(*at) {}

  absl::StatusOr<Constant> Conditional(int depth) {
    SLIPWAY_ASSIGN_OR_RETURN(Constant condition, Binary(1, depth + 1));
    if (!Is("?")) return condition;
    ++at_;
    SLIPWAY_ASSIGN_OR_RETURN(Constant if_true, Conditional(depth + 1));
    if (!Is(":")) return Error("expected ':'");
    ++at_;
    SLIPWAY_ASSIGN_OR_RETURN(Constant if_false, Conditional(depth + 1));
    return condition.bits != 0 ? if_true : if_false;
  }

 private:
  const Token& token() const { return tokens_[at_]; }
  bool Is(std::string_view text) const { return token().kind == Token::Kind::kPunctuation && token().text == text; }
  absl::Status Error(std::string_view what) const {
    return Malformed(token().line, what, " in a constant, got '", token().text, "'");
  }

  absl::StatusOr<Constant> Binary(int precedence, int depth) {
    if (depth > kMaxDepth) return Error("nesting deeper than 100");
    SLIPWAY_ASSIGN_OR_RETURN(Constant left, Unary(depth + 1));
    while (true) {
      const BinaryOperator* found = nullptr;
      for (const BinaryOperator& op : kBinaryOperators) {
        if (Is(op.text) && op.precedence >= precedence) found = &op;
      }
      if (found == nullptr) return left;
      ++at_;
      SLIPWAY_ASSIGN_OR_RETURN(Constant right, Binary(found->precedence + 1, depth + 1));
      SLIPWAY_ASSIGN_OR_RETURN(left, Apply(found->text, left, right));
    }
  }

  absl::StatusOr<Constant> Apply(std::string_view op, const Constant& a, const Constant& b) {
    if (a.is_float || b.is_float) {
      const double x = AsDouble(a), y = AsDouble(b);
      if (op == "+") return FromDouble(x + y);
      if (op == "-") return FromDouble(x - y);
      if (op == "*") return FromDouble(x * y);
      if (op == "/") return FromDouble(x / y);
      return Error(Concat("operator ", op, " is not for floats"));
    }
    Constant result{.is_unsigned = a.is_unsigned || b.is_unsigned};
    const uint64_t x = a.bits, y = b.bits;
    const int64_t sx = static_cast<int64_t>(x), sy = static_cast<int64_t>(y);
    const bool u = result.is_unsigned;
    if ((op == "/" || op == "%") && y == 0) return Error("division by zero");
    const bool wraps = !u && sy == -1;  // INT64_MIN / -1 would trap.
    if (op == "+") result.bits = x + y;
    if (op == "-") result.bits = x - y;
    if (op == "*") result.bits = x * y;
    if (op == "/") result.bits = u ? x / y : wraps ? 0 - x : static_cast<uint64_t>(sx / sy);
    if (op == "%") result.bits = u ? x % y : wraps ? 0 : static_cast<uint64_t>(sx % sy);
    if (op == "<<") result.bits = y > 63 ? 0 : x << y;
    if (op == ">>")
      result.bits = a.is_unsigned ? (y > 63 ? 0 : x >> y) : static_cast<uint64_t>(sx >> (y > 63 ? 63 : y));
    if (op == "&") result.bits = x & y;
    if (op == "|") result.bits = x | y;
    if (op == "^") result.bits = x ^ y;
    if (op == "&&") result.bits = x != 0 && y != 0;
    if (op == "||") result.bits = x != 0 || y != 0;
    if (op == "==") result.bits = x == y;
    if (op == "!=") result.bits = x != y;
    if (op == "<") result.bits = u ? x < y : sx < sy;
    if (op == "<=") result.bits = u ? x <= y : sx <= sy;
    if (op == ">") result.bits = u ? x > y : sx > sy;
    if (op == ">=") result.bits = u ? x >= y : sx >= sy;
    return result;
  }

  absl::StatusOr<Constant> Unary(int depth) {
    if (depth > kMaxDepth) return Error("nesting deeper than 100");
    for (std::string_view op : {"-", "+", "~", "!"}) {
      if (!Is(op)) continue;
      ++at_;
      SLIPWAY_ASSIGN_OR_RETURN(Constant value, Unary(depth + 1));
      if (value.is_float) {
        if (op == "-") value.bits ^= uint64_t{1} << 63;
        if (op == "~" || op == "!") return Error(Concat("operator ", op, " is not for floats"));
        return value;
      }
      if (op == "-") value.bits = 0 - value.bits;
      if (op == "~") value.bits = ~value.bits;
      if (op == "!") value.bits = value.bits == 0;
      return value;
    }
    if (Is("(")) {
      ++at_;
      if (token().kind == Token::Kind::kDirective && (token().text == ".s64" || token().text == ".u64")) {  // A cast.
        const bool is_unsigned = token().text == ".u64";
        ++at_;
        if (!Is(")")) return Error("expected ')'");
        ++at_;
        SLIPWAY_ASSIGN_OR_RETURN(Constant value, Unary(depth + 1));
        value.is_unsigned = is_unsigned;
        return value;
      }
      SLIPWAY_ASSIGN_OR_RETURN(Constant value, Conditional(depth + 1));
      if (!Is(")")) return Error("expected ')'");
      ++at_;
      return value;
    }
    if (token().kind == Token::Kind::kIdentifier && token().text == "WARP_SZ") {
      ++at_;
      return Constant{.bits = 32};
    }
    Constant value{.bits = token().bits};
    if (token().kind == Token::Kind::kFloat || token().kind == Token::Kind::kFloat32) {
      value.is_float = true;
      value.narrow = token().kind == Token::Kind::kFloat32;
    } else if (token().kind == Token::Kind::kInteger) {
      value.is_unsigned = token().bits >> 63 != 0 || token().text.back() == 'U';
    } else {
      return Error("expected a number");
    }
    ++at_;
    return value;
  }

  const std::vector<Token>& tokens_;
  size_t& at_;
};

}  // namespace

absl::StatusOr<Constant> ParseConstant(const std::vector<Token>& tokens, size_t* at) {
  return Parser(tokens, at).Conditional(0);
}

}  // namespace slipway::ptx
