#include "examples/evaluator/expression.h"

#include <cctype>
#include <charconv>
#include <utility>

#include "absl/strings/str_cat.h"

namespace slipway::evaluator {
namespace {

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

class Parser {
 public:
  Parser(const Line& line, int column) : line_(line), at_(static_cast<size_t>(column - 1)) {}

  absl::StatusOr<ExpressionPtr> Whole() {
    absl::StatusOr<ExpressionPtr> whole = Sum(0);
    if (!whole.ok()) return whole;
    SkipSpace();
    if (at_ < line_.text.size()) return Error("an operator was expected");
    return whole;
  }

 private:
  using Result = absl::StatusOr<ExpressionPtr>;

  absl::Status Error(std::string_view why) const { return ErrorAt(line_, static_cast<int>(at_) + 1, why); }
  void SkipSpace() {
    while (at_ < line_.text.size() && (line_.text[at_] == ' ' || line_.text[at_] == '\t')) ++at_;
    if (at_ < line_.text.size() && line_.text[at_] == '#') at_ = line_.text.size();
  }
  char Next() {
    SkipSpace();
    return at_ < line_.text.size() ? line_.text[at_] : '\0';
  }
  bool Take(char c) {
    if (Next() != c) return false;
    ++at_;
    return true;
  }

  Result Chain(int depth, std::string_view operators, Result (Parser::*operand)(int)) {
    Result left = (this->*operand)(depth);
    while (left.ok() && operators.find(Next()) != std::string_view::npos && Next() != '\0') {
      auto binary = std::make_shared<Expression>();
      binary->kind = Expression::Kind::kBinary;
      binary->column = static_cast<int>(at_) + 1;
      binary->text = line_.text[at_++];
      Result right = (this->*operand)(depth);
      if (!right.ok()) return right;
      binary->operands = {*left, *right};
      left = std::move(binary);
    }
    return left;
  }
  Result Sum(int depth) { return Chain(depth, "+-", &Parser::Product); }
  Result Product(int depth) { return Chain(depth, "*/", &Parser::Unary); }

  Result Unary(int depth) {
    constexpr int kMostDepth = 100;
    if (depth > kMostDepth) return Error("the expression nests too deep");
    const int column = static_cast<int>((Next(), at_)) + 1;
    if (!Take('-')) return Primary(depth);
    Result operand = Unary(depth + 1);
    if (!operand.ok()) return operand;
    auto negated = std::make_shared<Expression>();
    negated->kind = Expression::Kind::kNegate;
    negated->column = column;
    negated->operands = {*operand};
    return negated;
  }

  Result Primary(int depth) {
    const char first = Next();
    auto primary = std::make_shared<Expression>();
    primary->column = static_cast<int>(at_) + 1;
    if (Take('(')) {
      Result inner = Sum(depth + 1);
      if (inner.ok() && !Take(')')) return Error("')' was expected");
      return inner;
    }
    const char* const begin = line_.text.data() + at_;
    if (std::isdigit(static_cast<unsigned char>(first)) != 0 || first == '.') {
      const auto [end, error] = std::from_chars(begin, line_.text.data() + line_.text.size(), primary->number);
      if (error != std::errc()) return Error("this is no number");
      primary->text = std::string(begin, end);
      at_ += static_cast<size_t>(end - begin);
      return primary;
    }
    const auto is_name = [&](size_t i) {
      return i < line_.text.size() &&
             (std::isalnum(static_cast<unsigned char>(line_.text[i])) != 0 || line_.text[i] == '_');
    };
    if (!is_name(at_))
      return Error(first == '\0' ? "the expression ends here" : "a number, a name or '(' was expected");
    while (is_name(at_)) ++at_;
    primary->text = std::string(begin, line_.text.data() + at_);
    primary->kind = Expression::Kind::kName;
    if (!Take('(')) return primary;
    primary->kind = Expression::Kind::kCall;
    do {
      Result argument = Sum(depth + 1);
      if (!argument.ok()) return argument;
      primary->operands.push_back(*argument);
    } while (Take(','));
    if (!Take(')')) return Error("',' or ')' was expected");
    return primary;
  }

  const Line line_;
  size_t at_;
};

}  // namespace

absl::Status ErrorAt(const Line& line, int column, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("model:", line.number, ":", column, ": ", View(why), "\n  ",
                                                 View(line.text), "\n  ",
                                                 std::string(static_cast<size_t>(column - 1), ' '), "^"));
}

absl::StatusOr<ExpressionPtr> ParseExpression(const Line& line, int column) { return Parser(line, column).Whole(); }

}  // namespace slipway::evaluator
