#include "jit/ops/formula.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "driver/compile_history.h"
#include "driver/status_macros.h"
#include "jit/compile_cache.h"
#include "jit/ops/broadcast.h"
#include "jit/text/cat.h"
#include "slipway/array_uses.h"

namespace slipway::elementwise {

using text::Cat;
using text::ShapeRule;

namespace {

// The dtypes of a call, as the key of its typing.
absl::InlinedVector<uint64_t, 8> TypingKey(absl::Span<const DType> inputs, absl::Span<const DType> outputs) {
  absl::InlinedVector<uint64_t, 8> key;
  int count = 0;
  for (const absl::Span<const DType> types : {inputs, outputs}) {
    for (DType dtype : types) {
      if (count++ % 8 == 0) key.push_back(0);
      key.back() = key.back() << 8 | static_cast<uint64_t>(dtype);
    }
  }
  return key;
}

ArgumentForm FormOf(const Arg& arg, const LoopOperand& operand) {
  return {.dtype = arg.dtype(),
          .access = operand.linear ? Access::kLinear : Access::kIndexed,
          .mask = static_cast<uint8_t>(operand.linear ? 0 : operand.mask),
          .contiguous = operand.contiguous};
}

// The view of an array that the kernel gets: over the loop dimensions that it depends on, or the whole loop as one.
absl::StatusOr<AnyArrayView> ViewFor(const Device& device, const Arg& arg, const Loop& loop, const LoopOperand& operand,
                                     bool read_only) {
  Shape shape;
  int64_t strides[kMaxRank] = {};
  if (operand.linear) {
    shape.rank = 1;
    shape.extents[0] = loop.size;
    strides[0] = 1;
  } else {
    for (int d = 0; d < loop.shape.rank; ++d) {
      if ((operand.mask & (uint32_t{1} << d)) == 0) continue;
      shape.extents[shape.rank] = loop.shape.extents[d];
      strides[shape.rank] = operand.strides[d];
      ++shape.rank;
    }
  }
  void* const data = static_cast<char*>(arg.data()) + operand.offset * static_cast<int64_t>(SizeOf(arg.dtype()));
  return AnyArrayView::Make(device, arg.dtype(), data, shape.span(),
                            absl::MakeConstSpan(strides, static_cast<size_t>(shape.rank)), read_only);
}

// Plans are kept for so many different geometries of one text; later ones are made anew for each call. So the memory of
// a program whose shapes never come again stays bounded, and nothing that a thread may be reading is ever freed.
constexpr size_t kMaxPlans = 1024;

const internal::CodedPlan kNoPlan;

// The dimensions of a reduction as its kernel has them, and for threads that share the operands out, with those merged
// that it goes over and all arrays step through as through one.
struct ReducedLoop {
  Shape shape;
  std::array<uint8_t, kMaxRank> outer = {};
  absl::InlinedVector<LoopOperand, 4> arrays;

  bool IsReduced(int d) const { return outer[d] == text::ReductionBinding::kReduced; }
  bool MergesWithNext(int d) const {
    if (!IsReduced(d) || !IsReduced(d + 1)) return false;
    return std::all_of(arrays.begin(), arrays.end(), [&](const LoopOperand& array) {
      return array.strides[d] == array.strides[d + 1] * shape.extents[d + 1];
    });
  }
  // Drops dimension d, whose index is to be 0 or is another one's part.
  void Drop(int d) {
    std::copy(shape.extents + d + 1, shape.extents + shape.rank, shape.extents + d);
    std::copy(outer.begin() + d + 1, outer.begin() + shape.rank, outer.begin() + d);
    for (LoopOperand& array : arrays) {
      std::copy(array.strides + d + 1, array.strides + shape.rank, array.strides + d);
    }
    --shape.rank;
  }
  void Merge() {
    for (int d = shape.rank - 1; d >= 0; --d) {
      if (IsReduced(d) && shape.extents[d] == 1) Drop(d);
    }
    for (int d = shape.rank - 2; d >= 0; --d) {
      if (!MergesWithNext(d)) continue;
      shape.extents[d + 1] *= shape.extents[d];
      Drop(d);
    }
  }
  int64_t Count() const {
    int64_t count = 1;
    for (int d = 0; d < shape.rank; ++d) count *= IsReduced(d) ? shape.extents[d] : 1;
    return count;
  }
};

ReducedLoop LoopOf(const text::AxisReduction& reduction, const Shape& operand, uint32_t reduced, int outer_rank) {
  ReducedLoop loop{.shape = operand, .arrays = {}};
  loop.outer = OuterDimensions(reduction, operand.span(), reduced, outer_rank);
  return loop;
}

// How many threads work out the reductions of an element, of which the output has `elements`. It follows from shapes
// alone, so that a call gives the same bits on every device.
constexpr int64_t kLeastForTile = 64;             // Operands that pay for a barrier,
constexpr int64_t kLeastForBlock = 1024;          // and for a block's.
constexpr int64_t kEnoughThreads = 16384;         // Elements enough to keep a device busy with a thread each.
constexpr int64_t kOperandsOfBlock = 32 * kTeam;  // Where several blocks take one element.
constexpr int64_t kMostBlocks = 1024;
Specialization::Team TeamFor(const ReducedLoop& loop, int64_t elements) {
  using Team = Specialization::Team;
  const int64_t count = loop.Count();
  const int last = loop.shape.rank - 1;
  // Where the last dimension is kept, neighbouring threads read neighbours.
  if (count >= kLeastForTile && !loop.IsReduced(last) && loop.shape.extents[last] >= kTile) {
    return elements >= kEnoughThreads ? Team::kThread : Team::kTile;
  }
  if (count < kLeastForBlock || elements > INT32_MAX) return Team::kThread;
  return elements < kMostBlocks / 8 && count >= 2 * kOperandsOfBlock ? Team::kBlocks : Team::kBlock;
}
int64_t BlocksFor(int64_t count, int64_t elements) {
  return std::min((count - 1) / kOperandsOfBlock + 1, kMostBlocks / elements);
}

}  // namespace

bool IsShareable(const text::Program& program) {
  using text::NodeKind;
  if (program.axis_reductions.empty()) return false;
  for (const text::AxisReduction& reduction : program.axis_reductions) {
    if (reduction.outer != text::AxisReduction::kNoReduction) return false;
  }
  int depth = 0;         // Of what some threads, or some turns, may skip.
  bool effects = false;  // So far.
  for (const text::Node& node : program.nodes) {
    switch (node.kind) {
      case NodeKind::kReduceAxes:
        if (depth != 0 || effects) return false;
        break;
      case NodeKind::kStore:
      case NodeKind::kAtomic:
      case NodeKind::kCheck:
        effects = true;
        break;
      case NodeKind::kWhileBegin:  // Whether it ends may hang on a reduction.
        return false;
      case NodeKind::kIfBegin:
      case NodeKind::kForBegin:
      case NodeKind::kFunction:
      case NodeKind::kReduceBegin:
        ++depth;
        break;
      case NodeKind::kIfEnd:
      case NodeKind::kForEnd:
      case NodeKind::kFunctionEnd:
        --depth;
        break;
      case NodeKind::kReduceEnd:
        depth -= program.nodes[node.begin].kind == NodeKind::kReduceBegin;
        break;
      case NodeKind::kChooseBegin:
      case NodeKind::kAndBegin:
      case NodeKind::kOrBegin:
        depth += node.lazy;
        break;
      case NodeKind::kChooseEnd:
      case NodeKind::kAndEnd:
      case NodeKind::kOrEnd:
        depth -= node.lazy;
        break;
      default:
        break;
    }
  }
  return true;
}

// Whether a block has room for what each of its threads keeps of all reductions (team.h), 8 bytes a value, and a flag.
static bool StatesFitInABlock(const text::Program& program) {
  constexpr uint32_t kMost = (48 << 10) / (8 * kTeam) - 1;
  uint32_t values = 0;
  for (const text::AxisReduction& reduction : program.axis_reductions) {
    values += text::IsPosition(reduction.reduction) ? 2 : reduction.parts;
  }
  return values <= kMost;
}

static absl::Status CheckName(std::string_view name) {
  bool good = !name.empty() && name.size() <= text::kMaxNameBytes && !absl::ascii_isdigit(name[0]);
  for (char c : name) good &= absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      Cat("the kernel name '", name.substr(0, 64), "' is not made of letters, digits and underscores"));
}

absl::Status CheckFormulaOptions(const ElementwiseOptions& options) {
  SLIPWAY_RETURN_IF_ERROR(CheckName(options.name));
  return CheckOptions(options.compile);
}

absl::Status CheckOneOutput(const text::Program& program) {
  const size_t outputs = program.outputs.size();
  if (outputs == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(Cat("the text has ", outputs, " outputs; call Evaluate to have all of them"));
}

absl::Status CheckStream(const Stream& stream) {
  if (stream.device().state() != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError("the stream was moved from or destroyed; launch on one that lives");
}

Formula::Formula(text::Program program, std::string name, const CompileOptions& options, double parse_microseconds,
                 Kind kind, bool is_part)
    : program_(std::move(program)),
      name_(std::move(name)),
      options_(options),
      parse_microseconds_(parse_microseconds),
      kind_(kind),
      is_part_(is_part),
      shareable_(IsShareable(program_) && StatesFitInABlock(program_)) {
  for (std::atomic<const internal::CodedPlan*>& slot : slots_.plans) slot.store(&kNoPlan, std::memory_order_relaxed);
}

void Formula::Remember(const Plan& plan, size_t slot) {
  if (slot == kNoSlot || plan.coded.code[0] == 0) return;
  std::atomic<const internal::CodedPlan*>& last = slots_.plans[slot];
  if (last.load(std::memory_order_relaxed) != &plan.coded) last.store(&plan.coded, std::memory_order_release);
}

void Formula::Keep(Kernel kernel) {
  const std::lock_guard lock(mutex_);
  kept_.push_back(std::move(kernel));
}

absl::StatusOr<const text::Typing*> Formula::TypingOf(const Arguments& arguments) {
  absl::InlinedVector<DType, 8> inputs;
  for (const Arg* input : arguments.inputs) inputs.push_back(input->dtype());
  const auto outputs = OutputTypes(program_, arguments);
  return typings_.GetOrMake(TypingKey(inputs, outputs), [&] { return text::InferTypes(program_, inputs, outputs); });
}

absl::StatusOr<Kernel> Formula::CompileFor(const Device& device, const text::Typing& typing,
                                           const Specialization& specialization) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    devices_.push_back(device);
  }
  const auto begin = std::chrono::steady_clock::now();
  SLIPWAY_ASSIGN_OR_RETURN(const ir::Kernel kernel, BuildKernel(program_, typing, specialization, name_));
  const double build_microseconds = internal::MicrosecondsSince(begin);
  SLIPWAY_ASSIGN_OR_RETURN(const Target target, TargetFor(device));
  SLIPWAY_ASSIGN_OR_RETURN(CompiledKernel compiled, CompileOnce(kernel, target, options_));
  auto inspection = std::make_shared<Inspection>(*compiled.inspection);
  inspection->times.insert(inspection->times.begin(),
                           {{"parse", parse_microseconds_}, {"build IR", build_microseconds}});
  compiled.inspection = inspection;
  SLIPWAY_ASSIGN_OR_RETURN(Kernel loaded, Kernel::Load(device, std::move(compiled)));
  std::lock_guard<std::mutex> lock(mutex_);
  variants_.push_back(
      {.device = device.Describe(), .signature = loaded.signature(), .inspection = std::move(inspection)});
  return loaded;
}

absl::StatusOr<Formula::Specialized> Formula::Specialize(const Device& device, const Arguments& arguments,
                                                         const Shapes& shapes, Specialization::Team most) const {
  const Shape& shape = shapes.loop;
  Loop loop{.shape = shape, .size = ElementCount(shape.rank, shape.extents)};
  const auto goes_over = [](const text::Parameter& parameter, const Arg& arg) {
    return !arg.is_scalar() && parameter.elementwise();
  };
  absl::InlinedVector<LoopOperand, 8> operands;  // Outputs, then inputs, that the loop goes over.
  for (size_t i = 0; i < arguments.outputs.size(); ++i) {
    const Arg& output = *arguments.outputs[i];
    if (!goes_over(program_.outputs[i], output)) continue;
    operands.push_back(MakeOperand(loop, output.shape(), output.strides()));
  }
  for (size_t i = 0; i < arguments.inputs.size(); ++i) {
    const Arg& input = *arguments.inputs[i];
    if (goes_over(program_.inputs[i], input)) operands.push_back(MakeOperand(loop, input.shape(), input.strides()));
  }
  const bool scans = kind_ == Kind::kScan;
  const bool keeps_dimensions = program_.wants_indices || (!program_.axis_reductions.empty() && !scans);
  Collapse(loop, absl::MakeSpan(operands),
           keeps_dimensions                 ? LoopOrder::kDimensions
           : program_.wants_number || scans ? LoopOrder::kRowMajor
                                            : LoopOrder::kAny);

  Specialized specialized{.form = {.loop_rank = loop.shape.rank, .output_rank = keeps_dimensions ? shape.rank : 0},
                          .given = {},
                          .extents = {}};
  Specialization& specialization = specialized.form;
  bool index32 = loop.size <= kMaxElementsIndex32;
  bool vector = true;  // Whether all that the loop goes over is aligned for wide accesses.
  absl::InlinedVector<Given, 8>& given = specialized.given;
  const auto give_view = [&](size_t argument, const AnyArrayView& view) {
    index32 &= (view.facts() & facts::kIndex32) != 0;
    given.push_back({.argument = static_cast<uint32_t>(argument), .view = view});
  };
  const auto whole = [](const Arg& arg) {
    return ArgumentForm{.dtype = arg.dtype(),
                        .access = Access::kGathered,
                        .rank = static_cast<uint8_t>(arg.rank()),
                        .contiguous = (arg.facts() & facts::kContiguous) != 0};
  };
  const size_t outputs = arguments.outputs.size();
  size_t at = 0;
  const auto add = [&](const text::Parameter& parameter, const Arg& arg, size_t argument,
                       bool read_only) -> absl::StatusOr<ArgumentForm> {
    if (arg.is_scalar()) {
      given.push_back({.argument = static_cast<uint32_t>(argument)});
      return ArgumentForm{.dtype = arg.dtype(), .access = Access::kScalar};
    }
    if (parameter.shape == ShapeRule::kGathered) {
      give_view(argument, arg.view());
      return whole(arg);
    }
    if (!parameter.elementwise()) return ArgumentForm{.dtype = arg.dtype(), .access = Access::kNone};
    SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView view, ViewFor(device, arg, loop, operands[at], read_only));
    vector &= (arg.facts() & view.facts() & facts::kVector) != 0;
    give_view(argument, view);
    return FormOf(arg, operands[at++]);
  };
  for (size_t i = 0; i < outputs; ++i) {
    SLIPWAY_ASSIGN_OR_RETURN(ArgumentForm form,
                             add(program_.outputs[i], *arguments.outputs[i], i, /*read_only=*/false));
    specialization.outputs.push_back(form);
  }
  for (size_t i = 0; i < arguments.inputs.size(); ++i) {
    SLIPWAY_ASSIGN_OR_RETURN(ArgumentForm form,
                             add(program_.inputs[i], *arguments.inputs[i], outputs + i, /*read_only=*/true));
    specialization.inputs.push_back(form);
  }
  // What the kernel is given once more.
  const ArgumentForm number{.access = Access::kScalar};
  for (size_t i = 0; i < arguments.inputs.size(); ++i) {
    const Arg& input = *arguments.inputs[i];
    if (!program_.inputs[i].whole()) continue;
    specialization.views.push_back(input.is_scalar() ? number : whole(input));
    if (!input.is_scalar()) give_view(outputs + i, input.view());
  }
  absl::InlinedVector<ReducedLoop, 2> reduced_loops;
  if (scans) specialization.reductions.resize(program_.axis_reductions.size());
  for (size_t r = 0; r < program_.axis_reductions.size() && !scans; ++r) {
    const text::AxisReduction& reduction = program_.axis_reductions[r];
    const bool outermost = reduction.outer == text::AxisReduction::kNoReduction;
    const Shape& around = outermost ? shape : shapes.operands[reduction.outer];
    reduced_loops.push_back(LoopOf(reduction, shapes.operands[r], shapes.reduced[r], around.rank));
    for (const text::ReducedArray& reduced : program_.reduced) {
      const Arg& input = *arguments.inputs[reduced.input];
      if (reduced.reduction != r || input.is_scalar()) continue;
      reduced_loops[r].arrays.push_back(MakeOperand({.shape = shapes.operands[r]}, input.shape(), input.strides()));
    }
  }
  const bool same_loops = std::all_of(reduced_loops.begin(), reduced_loops.end(), [&](const ReducedLoop& each) {
    return each.shape == reduced_loops[0].shape && each.outer == reduced_loops[0].outer;
  });
  if (most != Specialization::Team::kThread && shareable_ && same_loops) {
    specialization.team = std::min(most, TeamFor(reduced_loops[0], loop.size));
  }
  if (specialization.team != Specialization::Team::kThread) {
    // All of them alike, or they would not go over the same elements any more.
    ReducedLoop all = reduced_loops[0];
    for (size_t r = 1; r < reduced_loops.size(); ++r) {
      all.arrays.insert(all.arrays.end(), reduced_loops[r].arrays.begin(), reduced_loops[r].arrays.end());
    }
    all.Merge();
    auto from = all.arrays.begin();
    for (ReducedLoop& each : reduced_loops) {
      const auto count = static_cast<std::ptrdiff_t>(each.arrays.size());
      each.shape = all.shape;
      each.outer = all.outer;
      each.arrays.assign(from, from + count);
      from += count;
    }
  }
  absl::InlinedVector<size_t, 2> seen(reduced_loops.size(), 0);
  for (const text::ReducedArray& reduced : program_.reduced) {
    const Arg& input = *arguments.inputs[reduced.input];
    if (input.is_scalar()) {
      specialization.views.push_back(number);
      continue;
    }
    const ReducedLoop& over = reduced_loops[reduced.reduction];
    const LoopOperand& operand = over.arrays[seen[reduced.reduction]++];
    SLIPWAY_ASSIGN_OR_RETURN(
        const AnyArrayView view,
        AnyArrayView::Make(device, input.dtype(), input.data(), over.shape.span(),
                           absl::MakeConstSpan(operand.strides, static_cast<size_t>(over.shape.rank)), true));
    specialization.views.push_back(whole(Arg(view)));
    give_view(outputs + reduced.input, view);
  }
  for (const ReducedLoop& each : reduced_loops) {
    specialization.reductions.push_back({.rank = static_cast<uint8_t>(each.shape.rank), .outer = each.outer});
    index32 &= each.Count() <= kMaxElementsIndex32;
  }
  specialization.index = index32 ? IndexWidth::kIndex32 : IndexWidth::kIndex64;
  if (vector && TakesWideAccesses(device)) {
    specialization.lanes = LanesFor(program_, specialization);
  }

  if (TakesExtents(specialization)) {
    for (int d = 0; d < loop.shape.rank; ++d) {
      const int64_t extent = d == 0 ? loop.size : loop.shape.extents[d];
      specialized.extents.push_back(index32 ? Arg(static_cast<int32_t>(extent)) : Arg(extent));
    }
  }
  specialized.shares = {.elements = loop.size, .lanes = specialization.lanes};
  if (specialization.team == Specialization::Team::kBlock) specialized.shares.blocks = loop.size;
  if (specialization.team == Specialization::Team::kTile) specialized.shares.blocks = (loop.size - 1) / kTile + 1;
  if (specialization.team == Specialization::Team::kBlocks) {
    const int64_t blocks = BlocksFor(reduced_loops[0].Count(), loop.size);
    specialized.shares.blocks = blocks * loop.size;
    specialized.extents.push_back(index32 ? Arg(static_cast<int32_t>(blocks)) : Arg(blocks));
  }
  return specialized;
}

absl::StatusOr<const Kernel*> Formula::KernelFor(const Device& device, const text::Typing& typing,
                                                 const Specialized& specialized) {
  auto key = KeyOf(specialized.form);
  key.push_back(reinterpret_cast<uint64_t>(device.state().get()));
  return kernels_.GetOrMake(key, [&] { return CompileFor(device, typing, specialized.form); });
}

absl::StatusOr<Plan> Formula::PlanFor(const Device& device, const Arguments& arguments, const text::Typing& typing,
                                      const Shapes& shapes) {
  SLIPWAY_ASSIGN_OR_RETURN(const Specialized specialized,
                           Specialize(device, arguments, shapes, Specialization::Team::kBlocks));
  SLIPWAY_ASSIGN_OR_RETURN(const Kernel* kernel, KernelFor(device, typing, specialized));
  std::optional<Scratch> scratch;
  if (specialized.form.team == Specialization::Team::kBlocks) {
    scratch = Scratch{.states = StatesOf(program_, typing),
                      .blocks = specialized.shares.blocks,
                      .elements = specialized.shares.elements,
                      .offsets = {}};
  }
  return MakePlan(*kernel, program_, shapes.loop, specialized.shares, arguments, specialized.given, specialized.extents,
                  scratch);
}

absl::InlinedVector<Arg, 16> Formula::ArgsOf(const Specialized& specialized, const Arguments& arguments) {
  absl::InlinedVector<Arg, 16> args;
  for (const Given& given : specialized.given) {
    args.push_back(given.view.has_value() ? Arg(*given.view) : ArgAt(arguments, given.argument));
  }
  args.insert(args.end(), specialized.extents.begin(), specialized.extents.end());
  return args;
}

absl::Status Formula::Launch(const Stream& stream, const Arguments& arguments, const text::Typing& typing,
                             const Specialized& specialized, const LaunchConfig& config, absl::Span<const Arg> more) {
  SLIPWAY_ASSIGN_OR_RETURN(const Kernel* kernel, KernelFor(stream.device(), typing, specialized));
  absl::InlinedVector<Arg, 16> args = ArgsOf(specialized, arguments);
  args.insert(args.end(), more.begin(), more.end());
  SLIPWAY_RETURN_IF_ERROR(kernel->Launch(stream, config, args));
  for (size_t i = 0; i < arguments.outputs.size() + arguments.inputs.size(); ++i) {
    SLIPWAY_RETURN_IF_ERROR(internal::NoteUses(stream, absl::MakeConstSpan(&ArgAt(arguments, i), 1)));
  }
  return absl::OkStatus();
}

absl::StatusOr<BoundLaunch> Formula::Bind(const Device& device, const Arguments& arguments) {
  SLIPWAY_RETURN_IF_ERROR(CheckArguments(program_, arguments, device));
  SLIPWAY_ASSIGN_OR_RETURN(const text::Typing* typing, TypingOf(arguments));
  SLIPWAY_ASSIGN_OR_RETURN(const Shapes shapes, ShapesOf(program_, arguments));
  SLIPWAY_RETURN_IF_ERROR(CheckOverlaps(program_, arguments, shapes.loop));
  if (ElementCount(shapes.loop.rank, shapes.loop.extents) == 0) {
    return absl::InvalidArgumentError("there are no elements, so there is nothing to launch again and again");
  }
  // Of one launch: nothing before it, and no memory of its own.
  SLIPWAY_ASSIGN_OR_RETURN(const Specialized specialized,
                           Specialize(device, arguments, shapes, Specialization::Team::kBlock));
  SLIPWAY_ASSIGN_OR_RETURN(const Kernel* kernel, KernelFor(device, *typing, specialized));
  return kernel->Bind(specialized.shares.Config(), ArgsOf(specialized, arguments));
}

absl::StatusOr<const Plan*> Formula::KeptPlan(const Device& device, absl::Span<const uint64_t> key,
                                              const Arguments& arguments, const text::Typing& typing,
                                              const Shapes& shapes, std::unique_ptr<const Plan>& here) {
  SLIPWAY_ASSIGN_OR_RETURN(Plan made, PlanFor(device, arguments, typing, shapes));
  auto plan = std::make_unique<Plan>(std::move(made));
  plan->Settle();
  here = std::move(plan);
  if (plans_.size() >= kMaxPlans) return here.get();
  SLIPWAY_ASSIGN_OR_RETURN(
      const std::unique_ptr<const Plan>* kept,
      plans_.GetOrMake(key, [&]() -> absl::StatusOr<std::unique_ptr<const Plan>> { return std::move(here); }));
  return kept->get();
}

absl::Status Formula::Run(const Stream& stream, const Arguments& arguments, size_t slot) {
  const PlanKey key = KeyOf(arguments);
  const std::unique_ptr<const Plan>* const known = plans_.Find(key);
  if (known != nullptr && (*known)->coded.device == stream.device().state().get()) {
    const Plan& plan = **known;
    if (!SeemsClear(plan, arguments)) SLIPWAY_RETURN_IF_ERROR(CheckOverlaps(program_, arguments, plan.shape));
    Remember(plan, slot);
    return LaunchPlanned(plan, stream, arguments);
  }
  SLIPWAY_RETURN_IF_ERROR(CheckStream(stream));
  SLIPWAY_RETURN_IF_ERROR(CheckArguments(program_, arguments, stream.device()));
  SLIPWAY_ASSIGN_OR_RETURN(const text::Typing* typing, TypingOf(arguments));
  SLIPWAY_ASSIGN_OR_RETURN(const Shapes shapes, ShapesOf(program_, arguments));
  SLIPWAY_RETURN_IF_ERROR(CheckOverlaps(program_, arguments, shapes.loop));
  return RunChecked(stream, arguments, key, *typing, shapes, slot);
}

absl::StatusOr<std::vector<AnyArray>> Formula::Allocate(const Stream& stream, Arguments arguments) {
  SLIPWAY_RETURN_IF_ERROR(CheckStream(stream));
  SLIPWAY_RETURN_IF_ERROR(CheckAllocates(program_));
  SLIPWAY_RETURN_IF_ERROR(CheckArguments(program_, arguments, stream.device()));
  SLIPWAY_ASSIGN_OR_RETURN(const text::Typing* typing, TypingOf(arguments));
  SLIPWAY_ASSIGN_OR_RETURN(const Shapes shapes, ShapesOf(program_, arguments));
  std::vector<AnyArray> arrays;
  arrays.reserve(typing->outputs.size());
  absl::InlinedVector<Arg, 4> args;
  for (DType dtype : typing->outputs) {
    SLIPWAY_ASSIGN_OR_RETURN(AnyArray array, AnyArray::Empty(stream, dtype, shapes.loop.span()));
    arrays.push_back(std::move(array));
  }
  for (const AnyArray& array : arrays) args.push_back(Arg(array));
  for (const Arg& arg : args) arguments.outputs.push_back(&arg);
  SLIPWAY_RETURN_IF_ERROR(RunChecked(stream, arguments, KeyOf(arguments), *typing, shapes, kNoSlot));
  return arrays;
}

absl::Status Formula::RunChecked(const Stream& stream, const Arguments& arguments, const PlanKey& key,
                                 const text::Typing& typing, const Shapes& shapes, size_t slot) {
  if (ElementCount(shapes.loop.rank, shapes.loop.extents) == 0) return absl::OkStatus();
  const Way way = WayFor(shapes);
  if (way != Way::kWhole) return RunParts(stream, arguments, way);
  const std::unique_ptr<const Plan>* const known = plans_.Find(key);
  if (known != nullptr) return LaunchPlanned(**known, stream, arguments);
  std::unique_ptr<const Plan> here;
  SLIPWAY_ASSIGN_OR_RETURN(const Plan* plan, KeptPlan(stream.device(), key, arguments, typing, shapes, here));
  if (here == nullptr) Remember(*plan, slot);
  return LaunchPlanned(*plan, stream, arguments);
}

}  // namespace slipway::elementwise
