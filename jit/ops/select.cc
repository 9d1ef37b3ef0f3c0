#include "slipway/select.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "driver/status_macros.h"
#include "jit/ops/broadcast.h"
#include "jit/ops/elementwise_arguments.h"
#include "jit/ops/expressions.h"
#include "jit/ops/formula.h"
#include "jit/text/cat.h"
#include "jit/text/parser.h"
#include "slipway/elementwise.h"
#include "slipway/scan.h"

namespace slipway {
namespace {

using elementwise::Arguments;
using elementwise::Formula;
using elementwise::KeptTexts;
using text::Cat;

// Compacts the values of expressions where a condition holds. Two texts of the same inputs: one says what the values
// are and whether they are kept, for their types and shapes; one is the scan that puts them in their places.
class Compaction {
 public:
  static absl::StatusOr<Compaction> Make(absl::Span<const std::string> values, std::string_view condition) {
    const std::string end = EndOfNames(values, condition);
    const std::string kept = "condition" + end, place = "place" + end, count = "total" + end;
    // What is wrong with an expression is told of this text, in words that its user knows: of each by itself first, for
    // one that has no end would go on in the next.
    std::string plain = Cat(kept, " = ", condition), stores;
    SLIPWAY_RETURN_IF_ERROR(text::Parse(plain).status());
    for (size_t i = 0; i < values.size(); ++i) {
      const std::string value = Cat("value", values.size() == 1 ? "" : Cat(i), end, " = ", values[i]);
      SLIPWAY_RETURN_IF_ERROR(text::Parse(value).status());
      plain += Cat("\n", value);
      stores += Cat("room", i, end, "[", place, "] = ", values[i], "\n");
    }
    SLIPWAY_ASSIGN_OR_RETURN(text::Program program, text::Parse(plain));
    SLIPWAY_ASSIGN_OR_RETURN(
        Scan scan,
        Scan::Parse(Cat("let ", kept, " = ", condition, "\nlet ", place, " = count(", kept, ") - 1\nif ", kept, " {\n",
                        stores, "}\nif index() == size() - 1 { ", count, "[0] = ", place, " + 1 }"),
                    {{.name = "select"}}));
    return Compaction(condition, end, std::make_shared<Formula>(std::move(program), "select", CompileOptions(), 0),
                      std::move(scan));
  }

  absl::StatusOr<Selection> operator()(const Stream& stream, absl::Span<const NamedArg> inputs) const {
    const text::Program& program = plain_->program();
    SLIPWAY_RETURN_IF_ERROR(elementwise::CheckStream(stream));
    SLIPWAY_ASSIGN_OR_RETURN(const Arguments arguments,
                             elementwise::BindByName(program, inputs, /*with_outputs=*/false));
    SLIPWAY_RETURN_IF_ERROR(elementwise::CheckArguments(program, arguments, stream.device()));
    SLIPWAY_ASSIGN_OR_RETURN(const text::Typing* typing, plain_->TypingOf(arguments));
    SLIPWAY_ASSIGN_OR_RETURN(const elementwise::Shapes shapes, elementwise::ShapesOf(program, arguments));
    if (typing->outputs[0] != DType::kBool) {
      return absl::InvalidArgumentError(Cat("the condition '", condition_.substr(0, 200), "' is ",
                                            Name(typing->outputs[0]), "; a bool is wanted: compare it with 0"));
    }
    const int64_t elements = ElementCount(shapes.loop.rank, shapes.loop.extents);
    SLIPWAY_ASSIGN_OR_RETURN(AnyArray count, AnyArray::Zeros(stream, DType::kInt64, {1}));
    Selection selection{.room = {}, .count = std::move(count)};
    std::vector<NamedArg> args(inputs.begin(), inputs.end());
    std::vector<std::string> names = {"total" + end_};
    for (size_t i = 1; i < typing->outputs.size(); ++i) {
      SLIPWAY_ASSIGN_OR_RETURN(AnyArray room, AnyArray::Empty(stream, typing->outputs[i], {elements}));
      selection.room.push_back(std::move(room));
      names.push_back(Cat("room", i - 1, end_));
    }
    args.push_back({names[0], selection.count});
    for (size_t i = 1; i < names.size(); ++i) args.push_back({names[i], selection.room[i - 1]});
    SLIPWAY_RETURN_IF_ERROR(scan_.Into(stream, args));
    return selection;
  }

 private:
  Compaction(std::string_view condition, std::string end, std::shared_ptr<Formula> plain, Scan scan)
      : condition_(condition), end_(std::move(end)), plain_(std::move(plain)), scan_(std::move(scan)) {}

  // What the names of the texts' own end with, so that they are no names of the user's.
  static std::string EndOfNames(absl::Span<const std::string> values, std::string_view condition) {
    std::string end;
    const auto taken = [&](std::string_view text) {
      if (text.find(end) == text.npos) return false;
      constexpr std::string_view kNames[] = {"condition", "place", "total", "room", "value"};
      return std::any_of(std::begin(kNames), std::end(kNames),
                         [&](std::string_view name) { return text.find(name) != text.npos; });
    };
    while (taken(condition) || std::any_of(values.begin(), values.end(), taken)) end += "_";
    return end;
  }

  std::string condition_, end_;
  std::shared_ptr<Formula> plain_;
  Scan scan_;
};

absl::StatusOr<Selection> Compact(const Stream& stream, absl::Span<const std::string> values,
                                  std::string_view condition, absl::Span<const NamedArg> inputs) {
  static auto* const kept = new KeptTexts<Compaction>();
  std::string text(condition);
  for (const std::string& value : values) text += Cat("\n", value);
  SLIPWAY_ASSIGN_OR_RETURN(const Compaction compaction,
                           kept->GetOrMake(text, [&] { return Compaction::Make(values, condition); }));
  return compaction(stream, inputs);
}

// The first of each run of equal elements.
constexpr std::string_view kBegins = "index() == 0 || x[index() - 1] != x";

absl::Status CheckRank1(const Arg& x) {
  if (!x.is_scalar() && x.rank() == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(Cat("x: an array of rank 1 is wanted; ", Describe(x), " is given"));
}

}  // namespace

absl::StatusOr<int64_t> Selection::Count(const Stream& stream) const {
  SLIPWAY_RETURN_IF_ERROR(stream.Synchronize());
  SLIPWAY_ASSIGN_OR_RETURN(const std::vector<int64_t> counts, count.ToVector<int64_t>());
  return counts[0];
}

absl::StatusOr<AnyArray> Selection::Get(const Stream& stream, size_t which) const {
  if (which >= room.size()) {
    return absl::OutOfRangeError(Cat("selection ", which, " was asked for; there are ", room.size()));
  }
  SLIPWAY_ASSIGN_OR_RETURN(const int64_t elements, Count(stream));
  return room[which].Sliced({Slice{.start = 0, .stop = elements}});
}

absl::StatusOr<Selection> Select(const Stream& stream, std::string_view value, std::string_view condition,
                                 std::initializer_list<NamedArg> inputs) {
  const std::string values[] = {std::string(value)};
  return Compact(stream, values, condition, absl::MakeConstSpan(inputs.begin(), inputs.size()));
}

absl::StatusOr<Selection> Unique(const Stream& stream, const Arg& x) {
  SLIPWAY_RETURN_IF_ERROR(CheckRank1(x));
  return Select(stream, "x", kBegins, {{"x", x}});
}

absl::StatusOr<Runs> RunLengths(const Stream& stream, const Arg& x) {
  SLIPWAY_RETURN_IF_ERROR(CheckRank1(x));
  const std::string values[] = {"x", "index()"};
  const NamedArg inputs[] = {{"x", x}};
  SLIPWAY_ASSIGN_OR_RETURN(Selection runs, Compact(stream, values, kBegins, inputs));
  static const absl::StatusOr<Elementwise>& lengths = *new absl::StatusOr<Elementwise>(
      Elementwise::Parse("let i = index()\n"
                         "length = i >= n[0] ? 0 : (i + 1 < n[0] ? begins[i + 1] : size()) - begins",
                         {.name = "run_lengths"}));
  SLIPWAY_RETURN_IF_ERROR(lengths.status());
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray made, (*lengths)(stream, {{"n", runs.count}, {"begins", runs.room[1]}}));
  return Runs{.values_and_begins = std::move(runs), .lengths = std::move(made)};
}

}  // namespace slipway
