#include "examples/formulas/engine.h"

#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace slipway::formulas {
namespace {

absl::StatusOr<AnyArray> Upload(const Device& device, const Column& column) {
  if (column.whole) return Array<int64_t, 1>::From(device, column.integers);
  return Array<double, 1>::From(device, column.reals);
}

// The elements as float64, which holds every dtype that a plot or a listing can show.
absl::StatusOr<std::vector<double>> Download(const Elementwise& to_double, const Stream& stream,
                                             const AnyArray& array) {
  absl::StatusOr<AnyArray> wide = to_double(stream, array);
  if (!wide.ok()) return std::move(wide).status();
  if (absl::Status status = stream.Synchronize(); !status.ok()) return status;
  return wide->ToVector<double>();
}

// A sheet while it is evaluated.
class Evaluation {
 public:
  Evaluation(const Sheet& sheet, const Stream& stream)
      : sheet_(sheet), stream_(stream), state_(sheet.paragraphs.size()), results_(sheet.paragraphs.size()) {}

  absl::Status Upload(const Table& table) {
    for (const Column& column : table.columns) {
      absl::StatusOr<AnyArray> array = formulas::Upload(stream_.device(), column);
      if (!array.ok()) return std::move(array).status();
      known_.emplace(column.name, *std::move(array));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Outcome> Run() {
    Declare();
    while (EvaluateSome()) {
    }
    for (size_t i = 0; i < state_.size(); ++i) {
      if (!state_[i].done) Explain(i);
    }
    return Collect();
  }

 private:
  struct State {
    bool done = false;
    std::string error;
  };

  void Fail(size_t i, std::string error) { state_[i] = {true, std::move(error)}; }

  // Which paragraph assigns which name; mistakes that need no values.
  void Declare() {
    for (size_t i = 0; i < state_.size(); ++i) {
      const Paragraph& paragraph = sheet_.paragraphs[i];
      if (!paragraph.formula.ok()) {
        Fail(i, Message(sheet_, paragraph, paragraph.formula.status()));
        continue;
      }
      for (const std::string& output : paragraph.formula->outputs()) {
        if (known_.count(output) != 0) {
          Fail(i, MessageAt(sheet_, paragraph, output, absl::StrCat("'", output, "' is a column of the table")));
        } else if (const auto [other, is_new] = maker_.emplace(output, i); !is_new) {
          Fail(i, MessageAt(sheet_, paragraph, output,
                            absl::StrCat("'", output, "' is assigned in line ", sheet_.paragraphs[other->second].line,
                                         ", too")));
        }
      }
    }
  }

  // Evaluates the paragraphs all of whose names are known; whether there was one.
  bool EvaluateSome() {
    bool some = false;
    for (size_t i = 0; i < state_.size(); ++i) {
      if (state_[i].done) continue;
      const Elementwise& formula = *sheet_.paragraphs[i].formula;
      std::vector<NamedArg> arguments;
      const std::vector<std::string> inputs = formula.inputs();
      for (const std::string& input : inputs) {
        const auto found = known_.find(input);
        if (found != known_.end()) arguments.push_back({input, Arg(found->second)});
      }
      if (arguments.size() != inputs.size()) continue;
      some = true;
      absl::StatusOr<std::vector<AnyArray>> outputs = formula.Evaluate(stream_, arguments);
      if (!outputs.ok()) {
        Fail(i, Message(sheet_, sheet_.paragraphs[i], outputs.status()));
        continue;
      }
      state_[i].done = true;
      results_[i] = *outputs;
      const std::vector<std::string> names = formula.outputs();
      for (size_t k = 0; k < names.size(); ++k) known_.emplace(names[k], (*outputs)[k]);
    }
    return some;
  }

  // Why a paragraph could not be evaluated: the first name that is not known.
  void Explain(size_t i) {
    const Paragraph& paragraph = sheet_.paragraphs[i];
    for (const std::string& input : paragraph.formula->inputs()) {
      if (known_.count(input) != 0) continue;
      const auto maker = maker_.find(input);
      std::string words;
      if (maker == maker_.end()) {
        words = absl::StrCat("no column or formula is called '", input, "'");
        const std::string similar = Similar(input, Names());
        if (!similar.empty()) absl::StrAppend(&words, "; did you mean '", similar, "'?");
      } else if (maker->second == i || Needs(maker->second, i)) {
        words = absl::StrCat("'", input, "' needs itself");
      } else {
        words = absl::StrCat("'", input, "', in line ", sheet_.paragraphs[maker->second].line, ", has no value");
      }
      Fail(i, MessageAt(sheet_, paragraph, input, words));
      return;
    }
  }

  // Whether paragraph `from` needs what paragraph `to` assigns, by way of others too.
  bool Needs(size_t from, size_t to) const {
    std::set<size_t> seen;
    std::vector<size_t> open = {from};
    while (!open.empty()) {
      const size_t at = open.back();
      open.pop_back();
      if (!seen.insert(at).second || !sheet_.paragraphs[at].formula.ok()) continue;
      for (const std::string& input : sheet_.paragraphs[at].formula->inputs()) {
        const auto maker = maker_.find(input);
        if (maker == maker_.end()) continue;
        if (maker->second == to) return true;
        open.push_back(maker->second);
      }
    }
    return false;
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& [name, array] : known_) names.push_back(name);
    for (const auto& [name, maker] : maker_) names.push_back(name);
    return names;
  }

  absl::StatusOr<Outcome> Collect() {
    const absl::StatusOr<Elementwise> to_double = Elementwise::Parse("y = float64(x)", {}, "to_float64");
    if (!to_double.ok()) return to_double.status();
    Outcome outcome;
    for (size_t i = 0; i < state_.size(); ++i) {
      if (!state_[i].error.empty()) {
        outcome.errors.push_back(state_[i].error);
        continue;
      }
      const std::vector<std::string> names = sheet_.paragraphs[i].formula->outputs();
      for (size_t k = 0; k < names.size(); ++k) {
        absl::StatusOr<std::vector<double>> values = Download(*to_double, stream_, results_[i][k]);
        if (!values.ok()) return std::move(values).status();
        outcome.results.push_back({names[k], results_[i][k].dtype(), *std::move(values)});
      }
    }
    return outcome;
  }

  const Sheet& sheet_;
  const Stream& stream_;
  std::map<std::string, AnyArray> known_;  // Columns, and results so far.
  std::map<std::string, size_t> maker_;    // Of each name that is assigned, the paragraph.
  std::vector<State> state_;
  std::vector<std::vector<AnyArray>> results_;
};

}  // namespace

absl::StatusOr<Outcome> Evaluate(const Sheet& sheet, const Table& table, const Stream& stream) {
  Evaluation evaluation(sheet, stream);
  if (absl::Status status = evaluation.Upload(table); !status.ok()) return status;
  absl::StatusOr<Outcome> outcome = evaluation.Run();
  if (outcome.ok()) outcome->errors.insert(outcome->errors.end(), sheet.errors.begin(), sheet.errors.end());
  return outcome;
}

}  // namespace slipway::formulas
