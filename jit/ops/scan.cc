#include "slipway/scan.h"

#include <algorithm>
#include <list>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "driver/status_macros.h"
#include "jit/ops/broadcast.h"
#include "jit/ops/formula.h"
#include "jit/ops/rows.h"
#include "jit/ops/scan_kernel.h"
#include "jit/text/cat.h"

namespace slipway {
namespace {

using elementwise::Arguments;
using elementwise::Formula;
using elementwise::Shape;
using elementwise::Specialization;
using text::Cat;

// How the rows of a loop are scanned; it follows from shapes alone.
constexpr int64_t kShortRow = 256;      // Which a thread goes through.
constexpr int64_t kEnoughRows = 16384;  // Rows enough for a thread each, where neighbouring rows lie side by side.
constexpr int64_t kLeastPart = 16384;   // Elements of a row that are worth a block, where there are several.
constexpr int64_t kMostBlocks = 1024;

struct Rows {
  int64_t count = 0;
  int64_t length = 0;  // Of each, or of segments of each on the average.
  bool side_by_side = false;
};

text::Program WithoutReductions(text::Program program) {
  program.axis_reductions.clear();
  return program;
}

}  // namespace

struct Scan::State {
  State(elementwise::ParsedRows parsed, const ScanOptions& options)
      : axes(parsed.program.axis_reductions[0].axes),
        span(parsed.program.axis_reductions[0].span),
        exclusive(options.exclusive),
        loop(WithoutReductions(parsed.program)),
        formula(std::move(parsed.program), options.name, options.compile, parsed.parse_microseconds,
                Formula::Kind::kScan) {}

  const std::vector<int> axes;
  const text::Span span;
  const bool exclusive;
  const text::Program loop;  // For shapes.
  Formula formula;

  absl::StatusOr<std::vector<AnyArray>> Allocate(const Stream& stream, const Arg* offsets, Arguments arguments);
  absl::Status Run(const Stream& stream, const Arg* offsets, const Arguments& arguments);
  // The shape of the elements; INVALID_ARGUMENT for what is wrong with an argument by itself, outputs or not.
  absl::StatusOr<Shape> CheckCall(const Stream& stream, const Arg* offsets, const Arguments& arguments) const;
  absl::Status RunChecked(const Stream& stream, const Arg* offsets, const Arguments& arguments, const Shape& shape);
  absl::StatusOr<uint32_t> ScannedDimensions(int rank) const;
  // The dimensions that are scanned last.
  absl::StatusOr<Arguments> Turned(const Arguments& arguments, const Shape& shape, uint32_t scanned,
                                   std::list<AnyArrayView>& views, std::list<Arg>& args) const;
  absl::Status Launch(const Stream& stream, const Arguments& arguments, const Shape& shape, const Rows& rows,
                      const Arg* offsets);
};

absl::StatusOr<uint32_t> Scan::State::ScannedDimensions(int rank) const {
  if (axes.empty()) return (uint32_t{1} << rank) - 1;
  uint32_t scanned = 0;
  for (int axis : axes) {
    const int d = axis < 0 ? axis + rank : axis;
    if (d < 0 || d >= rank) {
      return formula.program().source.ErrorAt(span, Cat("axis ", axis, " of what has ", rank, " dimensions"),
                                              "axes count from 0, or from -1 backwards");
    }
    scanned |= uint32_t{1} << d;
  }
  return scanned;
}

absl::StatusOr<Arguments> Scan::State::Turned(const Arguments& arguments, const Shape& shape, uint32_t scanned,
                                              std::list<AnyArrayView>& views, std::list<Arg>& args) const {
  absl::InlinedVector<int, kMaxRank> order;
  for (uint32_t wanted : {uint32_t{0}, uint32_t{1}}) {
    for (int d = 0; d < shape.rank; ++d) {
      if ((scanned >> d & 1) == wanted) order.push_back(d);
    }
  }
  if (std::is_sorted(order.begin(), order.end())) return arguments;
  if (loop.wants_number) {
    return absl::InvalidArgumentError(
        "the text asks for index(), and scans along axes that are not the last ones: there is no one order of "
        "elements");
  }
  const auto turn = [&](const text::Parameter& parameter, const Arg*& arg) -> absl::Status {
    if (arg->is_scalar() || !parameter.elementwise()) return absl::OkStatus();
    SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView whole, arg->view().BroadcastTo(shape.span()));
    SLIPWAY_ASSIGN_OR_RETURN(AnyArrayView turned, whole.Transposed(order));
    arg = &args.emplace_back(views.emplace_back(std::move(turned)));
    return absl::OkStatus();
  };
  Arguments turned = arguments;
  for (size_t i = 0; i < turned.outputs.size(); ++i) {
    SLIPWAY_RETURN_IF_ERROR(turn(loop.outputs[i], turned.outputs[i]));
  }
  for (size_t i = 0; i < turned.inputs.size(); ++i) {
    SLIPWAY_RETURN_IF_ERROR(turn(loop.inputs[i], turned.inputs[i]));
  }
  return turned;
}

absl::StatusOr<Shape> Scan::State::CheckCall(const Stream& stream, const Arg* offsets,
                                             const Arguments& arguments) const {
  SLIPWAY_RETURN_IF_ERROR(elementwise::CheckStream(stream));
  SLIPWAY_RETURN_IF_ERROR(elementwise::CheckArguments(loop, arguments, stream.device()));
  SLIPWAY_ASSIGN_OR_RETURN(const elementwise::Shapes shapes, elementwise::ShapesOf(loop, arguments));
  if (offsets == nullptr) return shapes.loop;
  SLIPWAY_RETURN_IF_ERROR(elementwise::CheckOffsets(*offsets));
  if (shapes.loop.rank == 1) return shapes.loop;
  return absl::InvalidArgumentError(
      Cat("segments are of arrays of rank 1; the inputs broadcast to ", elementwise::ToString(shapes.loop.span())));
}

absl::Status Scan::State::Run(const Stream& stream, const Arg* offsets, const Arguments& arguments) {
  SLIPWAY_ASSIGN_OR_RETURN(const Shape shape, CheckCall(stream, offsets, arguments));
  SLIPWAY_RETURN_IF_ERROR(elementwise::CheckOverlaps(loop, arguments, shape));
  if (offsets != nullptr) SLIPWAY_RETURN_IF_ERROR(elementwise::CheckOffsetsOverlaps(loop, arguments, *offsets));
  return RunChecked(stream, offsets, arguments, shape);
}

absl::Status Scan::State::RunChecked(const Stream& stream, const Arg* offsets, const Arguments& arguments,
                                     const Shape& shape) {
  const int64_t elements = ElementCount(shape.rank, shape.extents);
  if (offsets != nullptr) {
    const int64_t segments = offsets->shape()[0] - 1;
    if (elements == 0 || segments == 0) return absl::OkStatus();
    return Launch(stream, arguments, shape, {.count = segments, .length = elements / segments}, offsets);
  }
  SLIPWAY_ASSIGN_OR_RETURN(const uint32_t scanned, ScannedDimensions(shape.rank));
  if (elements == 0) return absl::OkStatus();
  std::list<AnyArrayView> views;
  std::list<Arg> args;
  SLIPWAY_ASSIGN_OR_RETURN(const Arguments turned, Turned(arguments, shape, scanned, views, args));
  Shape turned_shape{.rank = shape.rank};
  Rows rows{.count = 1, .length = 1};
  int at = 0;
  for (uint32_t wanted : {uint32_t{0}, uint32_t{1}}) {
    for (int d = 0; d < shape.rank; ++d) {
      if ((scanned >> d & 1) != wanted) continue;
      turned_shape.extents[at++] = shape.extents[d];
      (wanted != 0 ? rows.length : rows.count) *= shape.extents[d];
    }
  }
  rows.side_by_side = shape.rank > 0 && (scanned >> (shape.rank - 1) & 1) == 0;
  return Launch(stream, turned, turned_shape, rows, nullptr);
}

absl::Status Scan::State::Launch(const Stream& stream, const Arguments& arguments, const Shape& shape, const Rows& rows,
                                 const Arg* offsets) {
  using Kind = Specialization::Kind;
  SLIPWAY_ASSIGN_OR_RETURN(const text::Typing* typing, formula.TypingOf(arguments));
  SLIPWAY_ASSIGN_OR_RETURN(
      Formula::Specialized specialized,
      formula.Specialize(stream.device(), arguments, {.loop = shape, .operands = {}, .reduced = {}},
                         Specialization::Team::kThread));
  Specialization& form = specialized.form;
  form.exclusive = exclusive;
  form.segmented = offsets != nullptr;
  if (form.segmented) form.offsets = offsets->dtype();
  const auto number = [&](int64_t value) {
    return form.index == IndexWidth::kIndex32 ? Arg(static_cast<int32_t>(value)) : Arg(value);
  };
  std::vector<Arg> more;
  if (form.segmented) {
    more.push_back(*offsets);
    if ((offsets->facts() & facts::kIndex32) == 0) form.index = IndexWidth::kIndex64;
  }
  more.push_back(number(rows.count));
  if (!form.segmented) more.push_back(number(rows.length));
  if (rows.length <= kShortRow || (rows.side_by_side && rows.count >= kEnoughRows)) {
    form.kind = Kind::kScanRows;
    return formula.Launch(stream, arguments, *typing, specialized, ForSize(rows.count), more);
  }
  // Blocks of whole tiles, but for the last one of a row.
  int64_t blocks = 1;
  if (!form.segmented && rows.count < kMostBlocks) {
    blocks = std::clamp<int64_t>(rows.length / kLeastPart, 1, kMostBlocks / rows.count);
  }
  const int64_t tiles = (rows.length - 1) / elementwise::kScanTile + 1;
  const int64_t each = ((tiles - 1) / blocks + 1) * elementwise::kScanTile;
  if (blocks > 1) blocks = (rows.length - 1) / each + 1;
  if (rows.count > INT32_MAX / blocks) {
    return absl::InvalidArgumentError(
        Cat(rows.count, " rows of ", rows.length, " elements are more than a grid has blocks; scan parts of them"));
  }
  const LaunchConfig config{.grid = {static_cast<uint32_t>(rows.count * blocks), 1, 1},
                            .block = {elementwise::kTeam, 1, 1}};
  more.push_back(number(blocks));
  more.push_back(number(each));
  std::vector<AnyArray> sums;
  if (blocks > 1) {
    for (DType dtype : elementwise::StatesOf(formula.program(), *typing)) {
      SLIPWAY_ASSIGN_OR_RETURN(AnyArray states, AnyArray::Empty(stream, dtype, {rows.count * blocks}));
      sums.push_back(std::move(states));
    }
    for (const AnyArray& each_sum : sums) more.push_back(Arg(each_sum));
    form.kind = Kind::kScanSums;
    SLIPWAY_RETURN_IF_ERROR(formula.Launch(stream, arguments, *typing, specialized, config, more));
    form.carried = true;
  }
  form.kind = Kind::kScanTiles;
  return formula.Launch(stream, arguments, *typing, specialized, config, more);
}

absl::StatusOr<std::vector<AnyArray>> Scan::State::Allocate(const Stream& stream, const Arg* offsets,
                                                            Arguments arguments) {
  SLIPWAY_RETURN_IF_ERROR(elementwise::CheckAllocates(loop));
  SLIPWAY_ASSIGN_OR_RETURN(const Shape shape, CheckCall(stream, offsets, arguments));
  SLIPWAY_ASSIGN_OR_RETURN(const text::Typing* typing, formula.TypingOf(arguments));
  std::vector<AnyArray> arrays;
  for (DType dtype : typing->outputs) {
    SLIPWAY_ASSIGN_OR_RETURN(AnyArray array, AnyArray::Empty(stream, dtype, shape.span()));
    arrays.push_back(std::move(array));
  }
  std::vector<Arg> args(arrays.begin(), arrays.end());
  for (const Arg& arg : args) arguments.outputs.push_back(&arg);
  SLIPWAY_RETURN_IF_ERROR(RunChecked(stream, offsets, arguments, shape));
  return arrays;
}

absl::StatusOr<Scan> Scan::Parse(std::string_view text, const ScanOptions& options) {
  SLIPWAY_ASSIGN_OR_RETURN(elementwise::ParsedRows parsed,
                           elementwise::ParseRows(text, options, "a scan", elementwise::Along::kElements));
  if (parsed.program.wants_indices || parsed.program.wants_extents) {
    return absl::InvalidArgumentError(
        "the text asks for a dimension of its output, which a scan does not keep; of an array shape(x, d) may be "
        "asked");
  }
  return Scan(std::make_shared<State>(std::move(parsed), options));
}

absl::StatusOr<std::vector<AnyArray>> Scan::Evaluate(const Stream& stream, absl::Span<const NamedArg> inputs) const {
  SLIPWAY_ASSIGN_OR_RETURN(Arguments arguments, elementwise::BindByName(state_->loop, inputs, /*with_outputs=*/false));
  return state_->Allocate(stream, nullptr, std::move(arguments));
}

absl::StatusOr<AnyArray> Scan::operator()(const Stream& stream, std::initializer_list<NamedArg> inputs) const {
  SLIPWAY_RETURN_IF_ERROR(elementwise::CheckOneOutput(state_->loop));
  SLIPWAY_ASSIGN_OR_RETURN(std::vector<AnyArray> arrays, Evaluate(stream, inputs));
  return std::move(arrays[0]);
}

absl::Status Scan::Into(const Stream& stream, absl::Span<const NamedArg> args) const {
  SLIPWAY_ASSIGN_OR_RETURN(const Arguments arguments,
                           elementwise::BindByName(state_->loop, args, /*with_outputs=*/true));
  return state_->Run(stream, nullptr, arguments);
}

absl::StatusOr<AnyArray> Scan::OverSegments(const Stream& stream, const Arg& offsets,
                                            std::initializer_list<NamedArg> inputs) const {
  SLIPWAY_RETURN_IF_ERROR(elementwise::CheckOneOutput(state_->loop));
  SLIPWAY_ASSIGN_OR_RETURN(Arguments arguments, elementwise::BindByName(state_->loop, inputs, /*with_outputs=*/false));
  SLIPWAY_ASSIGN_OR_RETURN(std::vector<AnyArray> arrays, state_->Allocate(stream, &offsets, std::move(arguments)));
  return std::move(arrays[0]);
}

absl::Status Scan::OverSegmentsInto(const Stream& stream, const Arg& offsets, absl::Span<const NamedArg> args) const {
  SLIPWAY_ASSIGN_OR_RETURN(const Arguments arguments,
                           elementwise::BindByName(state_->loop, args, /*with_outputs=*/true));
  return state_->Run(stream, &offsets, arguments);
}

uint64_t Scan::compiles() const { return state_->formula.compiles(); }

}  // namespace slipway
