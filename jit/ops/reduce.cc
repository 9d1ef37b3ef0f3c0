#include "slipway/reduce.h"

#include <utility>
#include <vector>

#include "driver/status_macros.h"
#include "jit/ops/broadcast.h"
#include "jit/ops/expressions.h"
#include "jit/ops/formula.h"
#include "jit/ops/rows.h"
#include "jit/text/cat.h"
#include "slipway/elementwise.h"

namespace slipway {
namespace {

using elementwise::Arguments;
using elementwise::Formula;
using elementwise::KeptTexts;
using elementwise::Specialization;
using text::Cat;

constexpr int64_t kShortSegment = 256;  // On the average: which a thread goes through.

}  // namespace

absl::StatusOr<AnyArray> Reduce(const Stream& stream, std::string_view expression,
                                std::initializer_list<NamedArg> inputs) {
  static auto* const kept = new KeptTexts<Elementwise>();
  SLIPWAY_ASSIGN_OR_RETURN(const Elementwise formula, kept->GetOrMake(expression, [&] {
    return Elementwise::Parse(elementwise::AsText(expression), /*signature=*/"", "reduce");
  }));
  return formula(stream, inputs);
}

struct SegmentedReduction::State {
  State(elementwise::ParsedRows parsed, const ElementwiseOptions& options)
      : formula(std::move(parsed.program), options.name, options.compile, parsed.parse_microseconds) {}

  Formula formula;

  // What is wrong with an argument by itself, outputs or not.
  absl::Status CheckCall(const Stream& stream, const Arg& offsets, const Arguments& arguments) const;
  absl::Status RunChecked(const Stream& stream, const Arg& offsets, const Arguments& arguments);
};

absl::Status SegmentedReduction::State::CheckCall(const Stream& stream, const Arg& offsets,
                                                  const Arguments& arguments) const {
  SLIPWAY_RETURN_IF_ERROR(elementwise::CheckStream(stream));
  SLIPWAY_RETURN_IF_ERROR(elementwise::CheckOffsets(offsets));
  return elementwise::CheckArguments(formula.program(), arguments, stream.device());
}

absl::Status SegmentedReduction::State::RunChecked(const Stream& stream, const Arg& offsets,
                                                   const Arguments& arguments) {
  const text::Program& program = formula.program();
  SLIPWAY_ASSIGN_OR_RETURN(const elementwise::Shapes shapes,
                           elementwise::ShapesOf(program, arguments, elementwise::EmptyReductions::kAllowed));
  const int64_t segments = offsets.shape()[0] - 1;
  for (const elementwise::Shape& operand : shapes.operands) {
    if (operand.rank != 1 || !(operand == shapes.operands[0])) {
      return absl::InvalidArgumentError(
          Cat("segments are of arrays of rank 1 and one length; a reduction is of what has the shape ",
              elementwise::ToString(operand.span())));
    }
  }
  if (shapes.loop.rank != 1 || shapes.loop.extents[0] != segments) {
    return absl::InvalidArgumentError(Cat("there are ", segments, " segments, and the outputs and what stands outside ",
                                          "of reductions have the shape ", elementwise::ToString(shapes.loop.span())));
  }
  SLIPWAY_RETURN_IF_ERROR(elementwise::CheckOverlaps(program, arguments, shapes.loop));
  SLIPWAY_RETURN_IF_ERROR(elementwise::CheckOffsetsOverlaps(program, arguments, offsets));
  if (segments == 0) return absl::OkStatus();
  SLIPWAY_ASSIGN_OR_RETURN(const text::Typing* typing, formula.TypingOf(arguments));
  SLIPWAY_ASSIGN_OR_RETURN(Formula::Specialized specialized,
                           formula.Specialize(stream.device(), arguments, shapes, Specialization::Team::kThread));
  Specialization& form = specialized.form;
  form.kind = Specialization::Kind::kSegments;
  form.segmented = true;
  form.offsets = offsets.dtype();
  if ((offsets.facts() & facts::kIndex32) == 0) form.index = IndexWidth::kIndex64;
  const int64_t average = shapes.operands[0].extents[0] / segments;
  if (average <= kShortSegment || segments > INT32_MAX) {
    return formula.Launch(stream, arguments, *typing, specialized, ForSize(segments), {offsets});
  }
  form.team = Specialization::Team::kBlock;
  return formula.Launch(stream, arguments, *typing, specialized,
                        {.grid = {static_cast<uint32_t>(segments), 1, 1}, .block = {elementwise::kTeam, 1, 1}},
                        {offsets});
}

absl::StatusOr<SegmentedReduction> SegmentedReduction::Parse(std::string_view text, const ElementwiseOptions& options) {
  SLIPWAY_ASSIGN_OR_RETURN(elementwise::ParsedRows parsed,
                           elementwise::ParseRows(text, options, "a segmented reduction", elementwise::Along::kArrays));
  for (const text::AxisReduction& reduction : parsed.program.axis_reductions) {
    if (reduction.axes.empty() && !reduction.keep_dimensions) continue;
    return parsed.program.source.ErrorAt(reduction.span, "a segmented reduction goes over segments, not over axes",
                                         "leave axis= and keepdims= out");
  }
  return SegmentedReduction(std::make_shared<State>(std::move(parsed), options));
}

absl::StatusOr<AnyArray> SegmentedReduction::operator()(const Stream& stream, const Arg& offsets,
                                                        std::initializer_list<NamedArg> inputs) const {
  const text::Program& program = state_->formula.program();
  SLIPWAY_RETURN_IF_ERROR(elementwise::CheckOneOutput(program));
  SLIPWAY_RETURN_IF_ERROR(elementwise::CheckAllocates(program));
  SLIPWAY_ASSIGN_OR_RETURN(Arguments arguments,
                           elementwise::BindByName(program, absl::MakeConstSpan(inputs.begin(), inputs.size()),
                                                   /*with_outputs=*/false));
  SLIPWAY_RETURN_IF_ERROR(state_->CheckCall(stream, offsets, arguments));
  SLIPWAY_ASSIGN_OR_RETURN(const text::Typing* typing, state_->formula.TypingOf(arguments));
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray array, AnyArray::Empty(stream, typing->outputs[0], {offsets.shape()[0] - 1}));
  const Arg output(array);
  arguments.outputs.push_back(&output);
  SLIPWAY_RETURN_IF_ERROR(state_->RunChecked(stream, offsets, arguments));
  return array;
}

absl::Status SegmentedReduction::Into(const Stream& stream, const Arg& offsets, absl::Span<const NamedArg> args) const {
  SLIPWAY_ASSIGN_OR_RETURN(const Arguments arguments,
                           elementwise::BindByName(state_->formula.program(), args, /*with_outputs=*/true));
  SLIPWAY_RETURN_IF_ERROR(state_->CheckCall(stream, offsets, arguments));
  return state_->RunChecked(stream, offsets, arguments);
}

uint64_t SegmentedReduction::compiles() const { return state_->formula.compiles(); }

absl::StatusOr<AnyArray> SegmentedReduce(const Stream& stream, const Arg& offsets, std::string_view expression,
                                         std::initializer_list<NamedArg> inputs) {
  static auto* const kept = new KeptTexts<SegmentedReduction>();
  SLIPWAY_ASSIGN_OR_RETURN(const SegmentedReduction reduction,
                           kept->GetOrMake(expression, [&] { return SegmentedReduction::Parse(expression); }));
  return reduction(stream, offsets, inputs);
}

}  // namespace slipway
