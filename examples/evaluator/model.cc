#include "examples/evaluator/model.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "driver/status_macros.h"
#include "driver/suggest.h"

namespace slipway::evaluator {
namespace {

struct Declaration {
  std::string_view word;
  Shape shape;
};
constexpr Declaration kDeclarations[] = {{"state", Shape::kState}, {"number", Shape::kNumber},
                                         {"group", Shape::kGroup}, {"stage", Shape::kStage},
                                         {"cell", Shape::kCell},   {"matrix", Shape::kMatrix}};

struct Function {
  std::string_view name;
  size_t arguments;
};
constexpr Function kFunctions[] = {{"exp", 1},         {"log", 1},        {"sqrt", 1},      {"tanh", 1},
                                   {"sin", 1},         {"cos", 1},        {"abs", 1},       {"min", 2},
                                   {"max", 2},         {"pow", 2},        {"mix", 2},       {"sum_groups", 1},
                                   {"mean_groups", 1}, {"min_groups", 1}, {"max_groups", 1}};

bool IsNameCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The word that begins at `at`, which is moved behind it and the space that follows.
std::string_view TakeWord(std::string_view text, size_t* at) {
  const size_t begin = *at;
  while (*at < text.size() && IsNameCharacter(text[*at])) ++*at;
  const std::string_view word = text.substr(begin, *at - begin);
  while (*at < text.size() && (text[*at] == ' ' || text[*at] == '\t')) ++*at;
  return word;
}

class ModelParser {
 public:
  absl::StatusOr<Model> Parse(std::string_view text) {
    int number = 0;
    for (const absl::string_view piece : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
      SLIPWAY_RETURN_IF_ERROR(ParseLine({++number, {piece.data(), piece.size()}}));
    }
    model_.parameters.push_back({"time", Shape::kNumber});
    std::vector<Equation> ordered;
    for (const std::string& state : model_.states) {
      const auto found = std::find_if(model_.equations.begin(), model_.equations.end(),
                                      [&](const Equation& equation) { return equation.name == state; });
      if (found == model_.equations.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat("model: state '", state, "' has no equation; add 'd ", state, " = ...'"));
      }
      ordered.push_back(*found);
    }
    if (ordered.empty()) return absl::InvalidArgumentError("model: there is no state; begin with 'state NAME, ...'");
    model_.equations = std::move(ordered);
    return std::move(model_);
  }

 private:
  absl::Status Define(const Line& line, size_t at, std::string_view name, Shape shape) {
    const int column = static_cast<int>(at) + 1;
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) {
      return ErrorAt(line, column, "a name was expected");
    }
    if (name == "time" || name == "d" || !model_.names.emplace(name, shape).second) {
      return ErrorAt(line, column,
                     absl::StrCat("'", absl::string_view(name.data(), name.size()), "' means something already"));
    }
    return absl::OkStatus();
  }

  absl::Status ParseLine(const Line& line) {
    size_t at = line.text.find_first_not_of(" \t\r");
    if (at == std::string_view::npos || line.text[at] == '#') return absl::OkStatus();
    const size_t begin = at;
    const std::string_view first = TakeWord(line.text, &at);
    if (at < line.text.size() && line.text[at] == '=') {
      SLIPWAY_ASSIGN_OR_RETURN(ExpressionPtr value, Checked(line, at + 1));
      SLIPWAY_RETURN_IF_ERROR(Define(line, begin, first, Shape::kAlias));
      model_.aliases.push_back({std::string(first), std::move(value)});
      return absl::OkStatus();
    }
    if (first == "d") return ParseEquation(line, at);
    for (const Declaration& declaration : kDeclarations) {
      if (first == declaration.word) return ParseNames(line, at, declaration.shape);
    }
    return ErrorAt(line, static_cast<int>(begin) + 1,
                   "'NAME = ...', 'd STATE = ...', or one of state, number, group, stage, cell, matrix was expected");
  }

  absl::Status ParseEquation(const Line& line, size_t at) {
    const size_t begin = at;
    const std::string_view state = TakeWord(line.text, &at);
    const auto known = model_.names.find(state);
    if (known == model_.names.end() || known->second != Shape::kState) {
      return ErrorAt(line, static_cast<int>(begin) + 1, "the name of a state was expected");
    }
    if (at >= line.text.size() || line.text[at] != '=')
      return ErrorAt(line, static_cast<int>(at) + 1, "'=' was expected");
    for (const Equation& equation : model_.equations) {
      if (equation.name == state)
        return ErrorAt(line, static_cast<int>(begin) + 1, "this state has an equation already");
    }
    SLIPWAY_ASSIGN_OR_RETURN(ExpressionPtr value, Checked(line, at + 1));
    model_.equations.push_back({std::string(state), std::move(value)});
    return absl::OkStatus();
  }

  absl::Status ParseNames(const Line& line, size_t at, Shape shape) {
    while (true) {
      const size_t begin = at;
      const std::string_view name = TakeWord(line.text, &at);
      SLIPWAY_RETURN_IF_ERROR(Define(line, begin, name, shape));
      if (shape == Shape::kState) {
        model_.states.emplace_back(name);
      } else {
        model_.parameters.push_back({std::string(name), shape});
      }
      if (at >= line.text.size() || line.text[at] == '#' || line.text[at] == '\r') return absl::OkStatus();
      if (line.text[at] != ',') return ErrorAt(line, static_cast<int>(at) + 1, "',' was expected");
      at = line.text.find_first_not_of(" \t", at + 1);
      if (at == std::string_view::npos) return ErrorAt(line, static_cast<int>(line.text.size()), "a name was expected");
    }
  }

  absl::StatusOr<ExpressionPtr> Checked(const Line& line, size_t at) {
    SLIPWAY_ASSIGN_OR_RETURN(ExpressionPtr value, ParseExpression(line, static_cast<int>(at) + 1));
    SLIPWAY_RETURN_IF_ERROR(Check(line, *value, /*matrix=*/false));
    return value;
  }

  static absl::Status Unknown(const Line& line, const Expression& value, const char* what,
                              const std::vector<std::string_view>& known) {
    const std::string hint = DidYouMean(value.text, known);
    return ErrorAt(line, value.column,
                   absl::StrCat("unknown ", what, " '", value.text, "'", hint.empty() ? "" : "; ", hint));
  }

  absl::Status Check(const Line& line, const Expression& value, bool matrix) {
    if (value.kind == Expression::Kind::kName && value.text != "time") {
      const auto known = model_.names.find(value.text);
      if (known == model_.names.end()) {
        std::vector<std::string_view> names;
        for (const auto& [name, shape] : model_.names) names.push_back(name);
        return Unknown(line, value, "name", names);
      }
      if ((known->second == Shape::kMatrix) != matrix) {
        return ErrorAt(line, value.column,
                       matrix ? "mix(matrix, expression) wants a matrix here"
                              : "a matrix may only be mixed with: mix(matrix, expression)");
      }
      return absl::OkStatus();
    }
    if (matrix) return ErrorAt(line, value.column, "mix(matrix, expression) wants a matrix here");
    if (value.kind == Expression::Kind::kCall) {
      const auto* const function = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                                [&](const Function& f) { return f.name == value.text; });
      if (function == std::end(kFunctions)) {
        std::vector<std::string_view> names;
        for (const Function& f : kFunctions) names.push_back(f.name);
        return Unknown(line, value, "function", names);
      }
      if (value.operands.size() != function->arguments) {
        return ErrorAt(
            line, value.column,
            absl::StrCat(value.text, " takes ", function->arguments, " and was given ", value.operands.size()));
      }
    }
    for (size_t i = 0; i < value.operands.size(); ++i) {
      SLIPWAY_RETURN_IF_ERROR(Check(line, *value.operands[i], i == 0 && value.text == "mix"));
    }
    return absl::OkStatus();
  }

  Model model_;
};

}  // namespace

const Equation* Model::AliasCalled(std::string_view name) const {
  for (const Equation& alias : aliases) {
    if (alias.name == name) return &alias;
  }
  return nullptr;
}

absl::StatusOr<Model> ParseModel(std::string_view text) { return ModelParser().Parse(text); }

std::string_view ReductionOf(std::string_view function) {
  constexpr std::string_view kSuffix = "_groups";
  if (function.size() <= kSuffix.size() || !function.ends_with(kSuffix)) return {};
  return function.substr(0, function.size() - kSuffix.size());
}

}  // namespace slipway::evaluator
