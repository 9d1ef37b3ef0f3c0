#include "slipway/elementwise.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "driver/as_absl.h"
#include "driver/compile_history.h"
#include "driver/status_macros.h"
#include "jit/compile_cache.h"
#include "jit/ops/broadcast.h"
#include "jit/ops/elementwise_arguments.h"
#include "jit/ops/elementwise_kernel.h"
#include "jit/ops/elementwise_plan.h"
#include "jit/ops/elementwise_text.h"
#include "jit/text/cat.h"
#include "jit/text/emit.h"
#include "jit/text/parser.h"
#include "launch/run_all.h"
#include "slipway/dispatch.h"
#include "slipway/null_driver.h"

namespace slipway {
namespace {

using elementwise::Access;
using elementwise::ArgumentForm;
using elementwise::Arguments;
using elementwise::BindByName;
using elementwise::BindByPosition;
using elementwise::Given;
using elementwise::Loop;
using elementwise::LoopOperand;
using elementwise::LoopOrder;
using elementwise::Plan;
using elementwise::Shape;
using elementwise::Shapes;
using elementwise::Specialization;
using text::Cat;
using text::ShapeRule;

absl::Status CheckName(std::string_view name) {
  bool good = !name.empty() && name.size() <= text::kMaxNameBytes && !absl::ascii_isdigit(name[0]);
  for (char c : name) good &= absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      Cat("the kernel name '", name.substr(0, 64), "' is not made of letters, digits and underscores"));
}

absl::Status CheckStream(const Stream& stream) {
  if (stream.device().state() != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError("the stream was moved from or destroyed; launch on one that lives");
}

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

}  // namespace

struct Elementwise::State {
  static constexpr size_t kNoSlot = internal::PlanSlots::kNoSlot;

  State() {
    for (std::atomic<const internal::CodedPlan*>& slot : slots.plans) slot.store(&kNoPlan, std::memory_order_relaxed);
  }

  internal::PlanSlots slots;
  text::Program program;
  std::string name;
  CompileOptions options;
  double parse_microseconds = 0;

  // What a call's dtypes give, and the kernels. The device's address is part of a kernel's key, and devices_ keeps it
  // from being used again.
  SpecializationCache<text::Typing> typings;
  SpecializationCache<Kernel> kernels;
  SpecializationCache<std::unique_ptr<const Plan>> plans;

  std::mutex mutex;  // Guards what follows.
  std::vector<Device> devices;
  std::vector<ElementwiseVariant> variants;
  std::vector<Kernel> precompiled;  // So that their modules stay loaded.

  absl::StatusOr<const text::Typing*> TypingOf(const Arguments& arguments);
  absl::StatusOr<std::vector<AnyArray>> Allocate(const Stream& stream, Arguments arguments);
  // Checks and runs a call whose arguments are bound, outputs included. If a plan fits calls of known types, it goes to
  // `slot`, unless that is kNoSlot.
  absl::Status Run(const Stream& stream, const Arguments& arguments, size_t slot = kNoSlot);
  void Remember(const Plan& plan, size_t slot) {
    if (slot == kNoSlot || plan.coded.code[0] == 0) return;
    std::atomic<const internal::CodedPlan*>& last = slots.plans[slot];
    if (last.load(std::memory_order_relaxed) != &plan.coded) last.store(&plan.coded, std::memory_order_release);
  }
  // What a call's kernel is specialised by, and what that is given.
  struct Specialized {
    Specialization form;
    int64_t elements = 0;
    absl::InlinedVector<Given, 8> given;         // To the kernel's parameters,
    absl::InlinedVector<Arg, kMaxRank> extents;  // and to the last of them.
  };
  absl::StatusOr<Specialized> Specialize(const Device& device, const Arguments& arguments, const Shapes& shapes) const;
  absl::StatusOr<const Kernel*> KernelFor(const Device& device, const text::Typing& typing,
                                          const Specialized& specialized);
  absl::StatusOr<Plan> PlanFor(const Device& device, const Arguments& arguments, const text::Typing& typing,
                               const Shapes& shapes);
  absl::StatusOr<BoundLaunch> Bind(const Device& device, const Arguments& arguments);
  // The plan of the call, kept if there is room; else `here` holds it.
  absl::StatusOr<const Plan*> KeptPlan(const Device& device, absl::Span<const uint64_t> key, const Arguments& arguments,
                                       const text::Typing& typing, const Shapes& shapes,
                                       std::unique_ptr<const Plan>& here);
  absl::StatusOr<Kernel> CompileFor(const Device& device, const text::Typing& typing,
                                    const Specialization& specialization);
  // The kernel of a call with arguments like these; see Elementwise::CompileFor.
  absl::StatusOr<ir::Kernel> KernelLike(const Signature& arguments, bool wide,
                                        elementwise::KernelOrigin* origin = nullptr);
};

absl::StatusOr<const text::Typing*> Elementwise::State::TypingOf(const Arguments& arguments) {
  absl::InlinedVector<DType, 8> inputs;
  for (const Arg* input : arguments.inputs) inputs.push_back(input->dtype());
  const auto outputs = elementwise::OutputTypes(program, arguments);
  return typings.GetOrMake(TypingKey(inputs, outputs), [&] { return text::InferTypes(program, inputs, outputs); });
}

absl::StatusOr<Kernel> Elementwise::State::CompileFor(const Device& device, const text::Typing& typing,
                                                      const Specialization& specialization) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    devices.push_back(device);
  }
  const auto begin = std::chrono::steady_clock::now();
  SLIPWAY_ASSIGN_OR_RETURN(const ir::Kernel kernel, elementwise::BuildKernel(program, typing, specialization, name));
  const double build_microseconds = internal::MicrosecondsSince(begin);
  SLIPWAY_ASSIGN_OR_RETURN(const Target target, TargetFor(device));
  SLIPWAY_ASSIGN_OR_RETURN(CompiledKernel compiled, CompileOnce(kernel, target, options));
  auto inspection = std::make_shared<Inspection>(*compiled.inspection);
  inspection->times.insert(inspection->times.begin(),
                           {{"parse", parse_microseconds}, {"build IR", build_microseconds}});
  compiled.inspection = inspection;
  SLIPWAY_ASSIGN_OR_RETURN(Kernel loaded, Kernel::Load(device, std::move(compiled)));
  std::lock_guard<std::mutex> lock(mutex);
  variants.push_back(
      {.device = device.Describe(), .signature = loaded.signature(), .inspection = std::move(inspection)});
  return loaded;
}

absl::StatusOr<Elementwise::State::Specialized> Elementwise::State::Specialize(const Device& device,
                                                                               const Arguments& arguments,
                                                                               const Shapes& shapes) const {
  const Shape& shape = shapes.loop;
  Loop loop{.shape = shape, .size = ElementCount(shape.rank, shape.extents)};
  const auto goes_over = [](const text::Parameter& parameter, const Arg& arg) {
    return !arg.is_scalar() && parameter.elementwise();
  };
  absl::InlinedVector<LoopOperand, 8> operands;  // Outputs, then inputs, that the loop goes over.
  for (size_t i = 0; i < arguments.outputs.size(); ++i) {
    const Arg& output = *arguments.outputs[i];
    if (!goes_over(program.outputs[i], output)) continue;
    operands.push_back(MakeOperand(loop, output.shape(), output.strides()));
  }
  for (size_t i = 0; i < arguments.inputs.size(); ++i) {
    const Arg& input = *arguments.inputs[i];
    if (goes_over(program.inputs[i], input)) operands.push_back(MakeOperand(loop, input.shape(), input.strides()));
  }
  const bool keeps_dimensions = program.wants_indices || !program.axis_reductions.empty();
  Collapse(loop, absl::MakeSpan(operands),
           keeps_dimensions       ? LoopOrder::kDimensions
           : program.wants_number ? LoopOrder::kRowMajor
                                  : LoopOrder::kAny);

  Specialized specialized{.form = {.loop_rank = loop.shape.rank, .output_rank = keeps_dimensions ? shape.rank : 0},
                          .elements = loop.size};
  Specialization& specialization = specialized.form;
  bool index32 = loop.size <= elementwise::kMaxElementsIndex32;
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
    SLIPWAY_ASSIGN_OR_RETURN(ArgumentForm form, add(program.outputs[i], *arguments.outputs[i], i, /*read_only=*/false));
    specialization.outputs.push_back(form);
  }
  for (size_t i = 0; i < arguments.inputs.size(); ++i) {
    SLIPWAY_ASSIGN_OR_RETURN(ArgumentForm form,
                             add(program.inputs[i], *arguments.inputs[i], outputs + i, /*read_only=*/true));
    specialization.inputs.push_back(form);
  }
  // What the kernel is given once more.
  const ArgumentForm number{.access = Access::kScalar};
  for (size_t i = 0; i < arguments.inputs.size(); ++i) {
    const Arg& input = *arguments.inputs[i];
    if (!program.inputs[i].whole()) continue;
    specialization.views.push_back(input.is_scalar() ? number : whole(input));
    if (!input.is_scalar()) give_view(outputs + i, input.view());
  }
  for (const text::ReducedArray& reduced : program.reduced) {
    const Arg& input = *arguments.inputs[reduced.input];
    if (input.is_scalar()) {
      specialization.views.push_back(number);
      continue;
    }
    const Loop operand{.shape = shapes.operands[reduced.reduction]};
    const LoopOperand over = MakeOperand(operand, input.shape(), input.strides());
    SLIPWAY_ASSIGN_OR_RETURN(
        const AnyArrayView view,
        AnyArrayView::Make(device, input.dtype(), input.data(), operand.shape.span(),
                           absl::MakeConstSpan(over.strides, static_cast<size_t>(operand.shape.rank)), true));
    specialization.views.push_back(whole(Arg(view)));
    give_view(outputs + reduced.input, view);
  }
  for (size_t r = 0; r < program.axis_reductions.size(); ++r) {
    const uint32_t outer = program.axis_reductions[r].outer;
    const Shape& around = outer == text::AxisReduction::kNoReduction ? shape : shapes.operands[outer];
    specialization.reductions.push_back({.rank = static_cast<uint8_t>(shapes.operands[r].rank),
                                         .outer_rank = static_cast<uint8_t>(around.rank),
                                         .reduced = static_cast<uint8_t>(shapes.reduced[r])});
  }
  specialization.index = index32 ? IndexWidth::kIndex32 : IndexWidth::kIndex64;
  if (vector && elementwise::TakesWideAccesses(device)) {
    specialization.lanes = elementwise::LanesFor(program, specialization);
  }

  if (elementwise::TakesExtents(specialization)) {
    for (int d = 0; d < loop.shape.rank; ++d) {
      const int64_t extent = d == 0 ? loop.size : loop.shape.extents[d];
      specialized.extents.push_back(index32 ? Arg(static_cast<int32_t>(extent)) : Arg(extent));
    }
  }
  return specialized;
}

absl::StatusOr<const Kernel*> Elementwise::State::KernelFor(const Device& device, const text::Typing& typing,
                                                            const Specialized& specialized) {
  auto key = elementwise::KeyOf(specialized.form);
  key.push_back(reinterpret_cast<uint64_t>(device.state().get()));
  return kernels.GetOrMake(key, [&] { return CompileFor(device, typing, specialized.form); });
}

absl::StatusOr<Plan> Elementwise::State::PlanFor(const Device& device, const Arguments& arguments,
                                                 const text::Typing& typing, const Shapes& shapes) {
  SLIPWAY_ASSIGN_OR_RETURN(const Specialized specialized, Specialize(device, arguments, shapes));
  SLIPWAY_ASSIGN_OR_RETURN(const Kernel* kernel, KernelFor(device, typing, specialized));
  return elementwise::MakePlan(*kernel, program, shapes.loop, specialized.elements, specialized.form.lanes, arguments,
                               specialized.given, specialized.extents);
}

absl::StatusOr<BoundLaunch> Elementwise::State::Bind(const Device& device, const Arguments& arguments) {
  SLIPWAY_RETURN_IF_ERROR(elementwise::CheckArguments(program, arguments, device));
  SLIPWAY_ASSIGN_OR_RETURN(const text::Typing* typing, TypingOf(arguments));
  SLIPWAY_ASSIGN_OR_RETURN(const Shapes shapes, ShapesOf(program, arguments));
  SLIPWAY_RETURN_IF_ERROR(CheckOverlaps(program, arguments, shapes.loop));
  if (ElementCount(shapes.loop.rank, shapes.loop.extents) == 0) {
    return absl::InvalidArgumentError("there are no elements, so there is nothing to launch again and again");
  }
  SLIPWAY_ASSIGN_OR_RETURN(const Specialized specialized, Specialize(device, arguments, shapes));
  SLIPWAY_ASSIGN_OR_RETURN(const Kernel* kernel, KernelFor(device, *typing, specialized));
  absl::InlinedVector<Arg, 16> args;
  for (const Given& given : specialized.given) {
    args.push_back(given.view.has_value() ? Arg(*given.view) : elementwise::ArgAt(arguments, given.argument));
  }
  args.insert(args.end(), specialized.extents.begin(), specialized.extents.end());
  return kernel->Bind(ForSize((specialized.elements - 1) / specialized.form.lanes + 1), args);
}

absl::StatusOr<const Plan*> Elementwise::State::KeptPlan(const Device& device, absl::Span<const uint64_t> key,
                                                         const Arguments& arguments, const text::Typing& typing,
                                                         const Shapes& shapes, std::unique_ptr<const Plan>& here) {
  SLIPWAY_ASSIGN_OR_RETURN(Plan made, PlanFor(device, arguments, typing, shapes));
  auto plan = std::make_unique<Plan>(std::move(made));
  plan->Settle();
  here = std::move(plan);
  if (plans.size() >= kMaxPlans) return here.get();
  SLIPWAY_ASSIGN_OR_RETURN(
      const std::unique_ptr<const Plan>* kept,
      plans.GetOrMake(key, [&]() -> absl::StatusOr<std::unique_ptr<const Plan>> { return std::move(here); }));
  return kept->get();
}

absl::Status Elementwise::State::Run(const Stream& stream, const Arguments& arguments, size_t slot) {
  const elementwise::PlanKey key = elementwise::KeyOf(arguments);
  const std::unique_ptr<const Plan>* const known = plans.Find(key);
  if (known != nullptr && (*known)->coded.device == stream.device().state().get()) {
    const Plan& plan = **known;
    if (!SeemsClear(plan, arguments)) SLIPWAY_RETURN_IF_ERROR(CheckOverlaps(program, arguments, plan.shape));
    Remember(plan, slot);
    return LaunchPlanned(plan, stream, arguments);
  }
  SLIPWAY_RETURN_IF_ERROR(CheckStream(stream));
  SLIPWAY_RETURN_IF_ERROR(elementwise::CheckArguments(program, arguments, stream.device()));
  SLIPWAY_ASSIGN_OR_RETURN(const text::Typing* typing, TypingOf(arguments));
  SLIPWAY_ASSIGN_OR_RETURN(const Shapes shapes, ShapesOf(program, arguments));
  const Shape& shape = shapes.loop;
  SLIPWAY_RETURN_IF_ERROR(CheckOverlaps(program, arguments, shape));
  if (ElementCount(shape.rank, shape.extents) == 0) return absl::OkStatus();
  std::unique_ptr<const Plan> here;
  SLIPWAY_ASSIGN_OR_RETURN(const Plan* plan, KeptPlan(stream.device(), key, arguments, *typing, shapes, here));
  if (here == nullptr) Remember(*plan, slot);
  return LaunchPlanned(*plan, stream, arguments);
}

absl::StatusOr<std::vector<AnyArray>> Elementwise::State::Allocate(const Stream& stream, Arguments arguments) {
  SLIPWAY_RETURN_IF_ERROR(CheckStream(stream));
  SLIPWAY_RETURN_IF_ERROR(elementwise::CheckAllocates(program));
  SLIPWAY_RETURN_IF_ERROR(elementwise::CheckArguments(program, arguments, stream.device()));
  SLIPWAY_ASSIGN_OR_RETURN(const text::Typing* typing, TypingOf(arguments));
  SLIPWAY_ASSIGN_OR_RETURN(const Shapes shapes, ShapesOf(program, arguments));
  const Shape& shape = shapes.loop;
  std::vector<AnyArray> arrays;
  arrays.reserve(typing->outputs.size());
  absl::InlinedVector<Arg, 4> args;
  for (DType dtype : typing->outputs) {
    SLIPWAY_ASSIGN_OR_RETURN(AnyArray array, AnyArray::Empty(stream, dtype, shape.span()));
    arrays.push_back(std::move(array));
  }
  for (const AnyArray& array : arrays) args.push_back(Arg(array));
  for (const Arg& arg : args) arguments.outputs.push_back(&arg);
  if (ElementCount(shape.rank, shape.extents) == 0) return arrays;
  const elementwise::PlanKey key = elementwise::KeyOf(arguments);
  const std::unique_ptr<const Plan>* const known = plans.Find(key);
  const Plan* plan = known == nullptr ? nullptr : known->get();
  std::unique_ptr<const Plan> here;
  if (plan == nullptr) {
    SLIPWAY_ASSIGN_OR_RETURN(plan, KeptPlan(stream.device(), key, arguments, *typing, shapes, here));
  }
  SLIPWAY_RETURN_IF_ERROR(LaunchPlanned(*plan, stream, arguments));
  return arrays;
}

absl::StatusOr<Elementwise> Elementwise::Parse(std::string_view text, std::string_view signature, std::string_view name,
                                               const CompileOptions& options) {
  return Parse(text,
               ElementwiseOptions{.signature = std::string(signature), .name = std::string(name), .compile = options});
}

absl::StatusOr<Elementwise> Elementwise::Parse(std::string_view text, const ElementwiseOptions& options) {
  SLIPWAY_RETURN_IF_ERROR(CheckName(options.name));
  SLIPWAY_RETURN_IF_ERROR(CheckOptions(options.compile));
  const auto begin = std::chrono::steady_clock::now();
  SLIPWAY_ASSIGN_OR_RETURN(text::Program program,
                           text::Parse(text, options.signature, options.constants, options.functions));
  auto state = std::make_shared<State>();
  state->program = std::move(program);
  state->name = options.name;
  state->options = options.compile;
  state->parse_microseconds = internal::MicrosecondsSince(begin);
  return Elementwise(std::move(state));
}

absl::StatusOr<std::vector<AnyArray>> Elementwise::Evaluate(const Stream& stream,
                                                            absl::Span<const NamedArg> inputs) const {
  SLIPWAY_ASSIGN_OR_RETURN(Arguments arguments, BindByName(state_->program, inputs, /*with_outputs=*/false));
  return state_->Allocate(stream, std::move(arguments));
}

absl::StatusOr<std::vector<AnyArray>> Elementwise::Evaluate(const Stream& stream, absl::Span<const Arg> inputs) const {
  SLIPWAY_ASSIGN_OR_RETURN(Arguments arguments, BindByPosition(state_->program, inputs, /*with_outputs=*/false));
  return state_->Allocate(stream, std::move(arguments));
}

absl::StatusOr<AnyArray> Elementwise::EvaluateOne(const Stream& stream, absl::Span<const Arg> inputs) const {
  SLIPWAY_RETURN_IF_ERROR(CheckOneOutput());
  SLIPWAY_ASSIGN_OR_RETURN(std::vector<AnyArray> outputs, Evaluate(stream, inputs));
  return std::move(outputs[0]);
}

absl::StatusOr<AnyArray> Elementwise::operator()(const Stream& stream, std::initializer_list<NamedArg> inputs) const {
  SLIPWAY_RETURN_IF_ERROR(CheckOneOutput());
  SLIPWAY_ASSIGN_OR_RETURN(std::vector<AnyArray> outputs, Evaluate(stream, inputs));
  return std::move(outputs[0]);
}

absl::Status Elementwise::CheckOneOutput() const {
  const size_t outputs = state_->program.outputs.size();
  if (outputs == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(Cat("the text has ", outputs, " outputs; call Evaluate to have all of them"));
}

absl::Status Elementwise::IntoByName(const Stream& stream, absl::Span<const NamedArg> args) const {
  SLIPWAY_ASSIGN_OR_RETURN(const Arguments arguments, BindByName(state_->program, args, /*with_outputs=*/true));
  return state_->Run(stream, arguments);
}

absl::StatusOr<BoundFormula> Elementwise::Bind(const Device& device, absl::Span<const Arg> args) const {
  SLIPWAY_ASSIGN_OR_RETURN(const Arguments arguments, BindByPosition(state_->program, args, /*with_outputs=*/true));
  SLIPWAY_ASSIGN_OR_RETURN(BoundLaunch launch, state_->Bind(device, arguments));
  return BoundFormula(std::move(launch), inputs());
}

absl::Status BoundFormula::Set(std::string_view name, const Arg& number) {
  // The kernel has parameters beside the text's, whose names nobody is to know.
  if (std::find(inputs_.begin(), inputs_.end(), name) == inputs_.end()) {
    return absl::NotFoundError(
        Cat("no input is called '", AsAbsl(name), "'; the inputs are ", absl::StrJoin(inputs_, ", ")));
  }
  if (!number.is_scalar()) {
    return absl::InvalidArgumentError(Cat("input '", AsAbsl(name), "' was to become ", Describe(number),
                                          "; only numbers can be set: bind the formula again for other arrays"));
  }
  return launch_.Set(name, number);
}

absl::Status Elementwise::IntoByPosition(const Stream& stream, absl::Span<const Arg> args) const {
  return IntoAndRemember(stream, args, State::kNoSlot);
}

absl::Status Elementwise::IntoAndRemember(const Stream& stream, absl::Span<const Arg> args, size_t slot) const {
  SLIPWAY_ASSIGN_OR_RETURN(const Arguments arguments, BindByPosition(state_->program, args, /*with_outputs=*/true));
  return state_->Run(stream, arguments, slot);
}

Elementwise::Elementwise(std::shared_ptr<State> state) : state_(std::move(state)), slots_(&state_->slots) {}

std::vector<std::string> Elementwise::inputs() const {
  std::vector<std::string> names;
  for (const text::Parameter& input : state_->program.inputs) names.push_back(input.name);
  return names;
}

std::vector<std::string> Elementwise::outputs() const {
  std::vector<std::string> names;
  for (const text::Parameter& output : state_->program.outputs) names.push_back(output.name);
  return names;
}

std::vector<ElementwiseVariant> Elementwise::Inspect() const {
  std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->variants;
}

size_t Elementwise::plans() const { return state_->plans.size(); }

uint64_t Elementwise::compiles() const { return state_->kernels.counters().compiles; }

namespace {

absl::Status BadArgument(const std::string& name, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("argument '", name, "' ", what));
}

Arg ZeroOf(DType dtype) {
  switch (dtype) {
#define SLIPWAY_ZERO_OF(enumerator, type, name, short_name, size) \
  case DType::enumerator:                                         \
    return Arg(type{});
    SLIPWAY_DTYPES(SLIPWAY_ZERO_OF)
#undef SLIPWAY_ZERO_OF
    case DType::kVoid:
      break;
  }
  return Arg(false);
}

// A shape that is like any: with offsets past 32 bits only where that is said.
Shape ShapeLike(const ParamSpec& spec, int rank) {
  constexpr int64_t kExtent = 8, kManyElements = int64_t{1} << 32;
  Shape shape{.rank = rank};
  for (int d = 0; d < rank; ++d) {
    shape.extents[d] = d == 0 && spec.index == IndexWidth::kIndex64 ? kManyElements : kExtent;
  }
  return shape;
}

// An array that is aligned for wide accesses, or for its elements alone, and, where it is strided, leaves no dimensions
// to merge. Nothing lies at its address.
absl::StatusOr<AnyArrayView> ArrayLike(const Device& device, DType dtype, Layout layout, const Shape& shape, bool wide,
                                       bool read_only) {
  int64_t strides[kMaxRank], stride = layout == Layout::kStrided ? 2 : 1;
  for (int d = shape.rank - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= shape.extents[d] + (layout == Layout::kStrided ? 1 : 0);
  }
  const uintptr_t address = 0x10000 + (wide ? 0 : AlignOf(dtype));
  return AnyArrayView::Make(device, dtype, reinterpret_cast<void*>(address), shape.span(),
                            absl::MakeConstSpan(strides, static_cast<size_t>(shape.rank)), read_only);
}

}  // namespace

absl::StatusOr<CompiledKernel> Elementwise::CompileFor(const Target& target, const Signature& arguments) const {
  SLIPWAY_ASSIGN_OR_RETURN(const ir::Kernel kernel, state_->KernelLike(arguments, /*wide=*/true));
  return CompileOnce(kernel, target, state_->options);
}

absl::StatusOr<KernelText> Elementwise::TextFor(const Signature& arguments) const {
  elementwise::KernelOrigin origin;
  SLIPWAY_ASSIGN_OR_RETURN(const ir::Kernel kernel, state_->KernelLike(arguments, /*wide=*/false, &origin));
  SLIPWAY_ASSIGN_OR_RETURN(elementwise::PrintedText printed, elementwise::PrintText(kernel, origin));
  return KernelText{std::move(printed.text), std::move(printed.signature)};
}

absl::StatusOr<ir::Kernel> Elementwise::State::KernelLike(const Signature& arguments, bool wide,
                                                          elementwise::KernelOrigin* origin) {
  SLIPWAY_ASSIGN_OR_RETURN(const Device device, Device::Open(NullDriver()));
  const auto find = [](const std::vector<text::Parameter>& parameters, const std::string& name) {
    return std::find_if(parameters.begin(), parameters.end(), [&](const auto& each) { return each.name == name; });
  };
  std::list<AnyArrayView> views;  // Of Args, which refer to them.
  std::vector<NamedArg> inputs;
  std::vector<const ParamSpec*> given(program.outputs.size(), nullptr);  // Outputs that are described.
  for (const ParamSpec& argument : arguments) {
    const auto same = [&](const ParamSpec& other) { return other.name == argument.name; };
    if (std::count_if(arguments.begin(), arguments.end(), same) > 1)
      return BadArgument(argument.name, "is given twice");
    if (argument.kind == ParamKind::kArray && (argument.rank < 0 || argument.rank > kMaxRank)) {
      return BadArgument(argument.name,
                         absl::StrCat("has rank ", argument.rank, "; arrays have 0 to ", kMaxRank, " dimensions"));
    }
    if (argument.kind == ParamKind::kArray && argument.layout != Layout::kStrided &&
        argument.layout != Layout::kContiguous) {
      return BadArgument(argument.name, absl::StrCat("has layout #", static_cast<int>(argument.layout),
                                                     "; give Layout::kStrided or Layout::kContiguous"));
    }
    if (argument.dtype == DType::kVoid || argument.kind > ParamKind::kArray) {
      return BadArgument(argument.name, "is neither a number nor an array of a dtype");
    }
    const auto output = find(program.outputs, argument.name), input = find(program.inputs, argument.name);
    if (output != program.outputs.end()) {
      if (argument.kind != ParamKind::kArray) return BadArgument(argument.name, "is an output, which is an array");
      given[static_cast<size_t>(output - program.outputs.begin())] = &argument;
    } else if (input == program.inputs.end()) {
      std::vector<std::string> names;
      for (const auto* each : {&program.inputs, &program.outputs}) {
        for (const text::Parameter& parameter : *each) names.push_back(parameter.name);
      }
      return BadArgument(argument.name, absl::StrCat("is not in the text, which has ", absl::StrJoin(names, ", ")));
    } else if (argument.kind == ParamKind::kScalar) {
      inputs.push_back({argument.name, ZeroOf(argument.dtype)});
    } else {
      const int rank = input->shape == ShapeRule::kGathered ? input->rank : argument.rank;
      SLIPWAY_ASSIGN_OR_RETURN(AnyArrayView view, ArrayLike(device, argument.dtype, argument.layout,
                                                            ShapeLike(argument, rank), wide, /*read_only=*/true));
      inputs.push_back({argument.name, Arg(views.emplace_back(view))});
    }
  }
  SLIPWAY_ASSIGN_OR_RETURN(Arguments bound, BindByName(program, inputs, /*with_outputs=*/false));
  SLIPWAY_RETURN_IF_ERROR(elementwise::CheckArguments(program, bound, device));
  absl::InlinedVector<DType, 8> input_types;
  for (const Arg* input : bound.inputs) input_types.push_back(input->dtype());
  absl::InlinedVector<DType, 4> output_types = elementwise::OutputTypes(program, bound);
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] != nullptr) output_types[i] = given[i]->dtype;
  }
  SLIPWAY_ASSIGN_OR_RETURN(const text::Typing typing, text::InferTypes(program, input_types, output_types));
  SLIPWAY_ASSIGN_OR_RETURN(const Shapes shapes, ShapesOf(program, bound));
  std::list<Arg> outputs;
  for (size_t i = 0; i < given.size(); ++i) {
    const text::Parameter& output = program.outputs[i];
    // As a call would allocate it, or strided as what goes over the same loop is. Of one that is written by index
    // typing wants to be told.
    ParamSpec like = {.layout = Layout::kContiguous, .index = IndexWidth::kIndex32};
    for (const ParamSpec& argument : arguments) {
      if (argument.kind == ParamKind::kArray) like = argument;
    }
    if (given[i] != nullptr) like = *given[i];
    const bool by_index = output.shape == ShapeRule::kGathered;
    SLIPWAY_ASSIGN_OR_RETURN(AnyArrayView view, ArrayLike(device, typing.outputs[i], like.layout,
                                                          by_index ? ShapeLike(like, output.rank) : shapes.loop, wide,
                                                          /*read_only=*/false));
    bound.outputs.push_back(&outputs.emplace_back(views.emplace_back(view)));
  }
  SLIPWAY_ASSIGN_OR_RETURN(const State::Specialized specialized, Specialize(device, bound, shapes));
  return elementwise::BuildKernel(program, typing, specialized.form, name, origin);
}

absl::Status Elementwise::Precompile(const Device& device, absl::Span<const Signature> arguments) const {
  SLIPWAY_ASSIGN_OR_RETURN(const Target target, TargetFor(device));
  return internal::RunAll(arguments.size(), [&](size_t i) -> absl::Status {
    for (const bool wide : {true, false}) {
      SLIPWAY_ASSIGN_OR_RETURN(const ir::Kernel kernel, state_->KernelLike(arguments[i], wide));
      SLIPWAY_ASSIGN_OR_RETURN(CompiledKernel compiled, CompileOnce(kernel, target, state_->options));
      SLIPWAY_ASSIGN_OR_RETURN(Kernel loaded, Kernel::Load(device, std::move(compiled)));
      const std::lock_guard lock(state_->mutex);
      state_->precompiled.push_back(std::move(loaded));
    }
    return absl::OkStatus();
  });
}

}  // namespace slipway
