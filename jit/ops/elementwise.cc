#include "slipway/elementwise.h"

#include <chrono>
#include <mutex>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/ascii.h"
#include "driver/status_macros.h"
#include "jit/compile.h"
#include "jit/ops/broadcast.h"
#include "jit/ops/elementwise_arguments.h"
#include "jit/ops/elementwise_kernel.h"
#include "jit/text/cat.h"
#include "jit/text/emit.h"
#include "jit/text/parser.h"
#include "slipway/dispatch.h"

namespace slipway {
namespace {

using elementwise::Access;
using elementwise::ArgumentForm;
using elementwise::Arguments;
using elementwise::BindByName;
using elementwise::BindByPosition;
using elementwise::Loop;
using elementwise::LoopOperand;
using elementwise::Shape;
using elementwise::Specialization;
using text::Cat;
using text::ShapeRule;

double MicrosecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

absl::Status CheckName(std::string_view name) {
  bool good = !name.empty() && name.size() <= text::kMaxNameBytes && !absl::ascii_isdigit(name[0]);
  for (char c : name) good &= absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      Cat("the kernel name '", name.substr(0, 64), "' is not made of letters, digits and underscores"));
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

}  // namespace

struct Elementwise::State {
  text::Program program;
  std::string name;
  double parse_microseconds = 0;

  // What a call's dtypes give, and the kernels. The device's address is part of a kernel's key, and devices_ keeps it
  // from being used again.
  SpecializationCache<text::Typing> typings;
  SpecializationCache<Kernel> kernels;

  std::mutex mutex;  // Guards what follows.
  std::vector<Device> devices;
  std::vector<ElementwiseVariant> variants;

  absl::StatusOr<const text::Typing*> TypingOf(const Arguments& arguments);
  absl::StatusOr<std::vector<AnyArray>> Allocate(const Stream& stream, Arguments arguments);
  // Checks and runs a call whose arguments are bound, outputs included.
  absl::Status Run(const Stream& stream, const Arguments& arguments);
  absl::Status Launch(const Stream& stream, const Arguments& arguments, const text::Typing& typing, Loop loop);
  absl::StatusOr<Kernel> CompileFor(const Device& device, const text::Typing& typing,
                                    const Specialization& specialization);
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
  const double build_microseconds = MicrosecondsSince(begin);
  SLIPWAY_ASSIGN_OR_RETURN(const Target target, TargetFor(device));
  SLIPWAY_ASSIGN_OR_RETURN(CompiledKernel compiled, Compile(kernel, target));
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

absl::Status Elementwise::State::Launch(const Stream& stream, const Arguments& arguments, const text::Typing& typing,
                                        Loop loop) {
  const Device& device = stream.device();
  const size_t num_outputs = arguments.outputs.size();
  absl::InlinedVector<LoopOperand, 8> operands;  // Outputs, then inputs that the loop goes over.
  for (const Arg* output : arguments.outputs) {
    operands.push_back(MakeOperand(loop, output->shape(), output->strides()));
  }
  for (size_t i = 0; i < arguments.inputs.size(); ++i) {
    const Arg& input = *arguments.inputs[i];
    if (input.is_scalar() || program.inputs[i].shape == ShapeRule::kGathered) continue;
    operands.push_back(MakeOperand(loop, input.shape(), input.strides()));
  }
  Collapse(loop, absl::MakeSpan(operands));

  Specialization specialization{.loop_rank = loop.shape.rank};
  bool index32 = loop.size <= elementwise::kMaxElementsIndex32;
  // An Arg of an array points at its view: all views come first.
  absl::InlinedVector<AnyArrayView, 8> views;
  views.reserve(operands.size());
  size_t at = 0;
  for (const Arg* output : arguments.outputs) {
    specialization.outputs.push_back(FormOf(*output, operands[at]));
    SLIPWAY_ASSIGN_OR_RETURN(AnyArrayView view, ViewFor(device, *output, loop, operands[at++], /*read_only=*/false));
    index32 &= (view.facts() & facts::kIndex32) != 0;
    views.push_back(view);
  }
  for (size_t i = 0; i < arguments.inputs.size(); ++i) {
    const Arg& input = *arguments.inputs[i];
    if (input.is_scalar()) {
      specialization.inputs.push_back({.dtype = input.dtype(), .access = Access::kScalar});
    } else if (program.inputs[i].shape == ShapeRule::kGathered) {
      specialization.inputs.push_back({.dtype = input.dtype(),
                                       .access = Access::kGathered,
                                       .rank = static_cast<uint8_t>(input.rank()),
                                       .contiguous = (input.facts() & facts::kContiguous) != 0});
      index32 &= (input.facts() & facts::kIndex32) != 0;
    } else {
      specialization.inputs.push_back(FormOf(input, operands[at]));
      SLIPWAY_ASSIGN_OR_RETURN(AnyArrayView view, ViewFor(device, input, loop, operands[at++], /*read_only=*/true));
      index32 &= (view.facts() & facts::kIndex32) != 0;
      views.push_back(view);
    }
  }
  specialization.index = index32 ? IndexWidth::kIndex32 : IndexWidth::kIndex64;

  absl::InlinedVector<Arg, 12> args;
  size_t view = 0;
  for (size_t i = 0; i < num_outputs; ++i) args.push_back(Arg(views[view++]));
  for (size_t i = 0; i < arguments.inputs.size(); ++i) {
    const Access access = specialization.inputs[i].access;
    const bool as_given = access == Access::kScalar || access == Access::kGathered;
    args.push_back(as_given ? *arguments.inputs[i] : Arg(views[view++]));
  }
  if (elementwise::TakesExtents(specialization)) {
    for (int d = 0; d < loop.shape.rank; ++d) {
      const int64_t extent = d == 0 ? loop.size : loop.shape.extents[d];
      args.push_back(index32 ? Arg(static_cast<int32_t>(extent)) : Arg(extent));
    }
  }

  auto key = elementwise::KeyOf(specialization);
  key.push_back(reinterpret_cast<uint64_t>(device.state().get()));
  SLIPWAY_ASSIGN_OR_RETURN(const Kernel* kernel,
                           kernels.GetOrMake(key, [&] { return CompileFor(device, typing, specialization); }));
  return kernel->Launch(stream, ForSize(loop.size), args);
}

absl::Status Elementwise::State::Run(const Stream& stream, const Arguments& arguments) {
  SLIPWAY_RETURN_IF_ERROR(elementwise::CheckArguments(program, arguments, stream.device()));
  SLIPWAY_ASSIGN_OR_RETURN(const text::Typing* typing, TypingOf(arguments));
  SLIPWAY_ASSIGN_OR_RETURN(const Shape shape, LoopShape(program, arguments));
  SLIPWAY_RETURN_IF_ERROR(CheckOverlaps(program, arguments, shape));
  Loop loop{.shape = shape, .size = ElementCount(shape.rank, shape.extents)};
  if (loop.size == 0) return absl::OkStatus();
  return Launch(stream, arguments, *typing, loop);
}

absl::StatusOr<std::vector<AnyArray>> Elementwise::State::Allocate(const Stream& stream, Arguments arguments) {
  SLIPWAY_RETURN_IF_ERROR(elementwise::CheckArguments(program, arguments, stream.device()));
  SLIPWAY_ASSIGN_OR_RETURN(const text::Typing* typing, TypingOf(arguments));
  SLIPWAY_ASSIGN_OR_RETURN(const Shape shape, LoopShape(program, arguments));
  std::vector<AnyArray> arrays;
  arrays.reserve(typing->outputs.size());
  absl::InlinedVector<Arg, 4> args;
  for (DType dtype : typing->outputs) {
    SLIPWAY_ASSIGN_OR_RETURN(AnyArray array, AnyArray::Empty(stream.device(), dtype, shape.span()));
    arrays.push_back(std::move(array));
  }
  for (const AnyArray& array : arrays) args.push_back(Arg(array));
  for (const Arg& arg : args) arguments.outputs.push_back(&arg);
  Loop loop{.shape = shape, .size = ElementCount(shape.rank, shape.extents)};
  if (loop.size != 0) SLIPWAY_RETURN_IF_ERROR(Launch(stream, arguments, *typing, loop));
  return arrays;
}

absl::StatusOr<Elementwise> Elementwise::Parse(std::string_view text, std::string_view signature,
                                               std::string_view name) {
  SLIPWAY_RETURN_IF_ERROR(CheckName(name));
  const auto begin = std::chrono::steady_clock::now();
  SLIPWAY_ASSIGN_OR_RETURN(text::Program program, text::Parse(text, signature));
  auto state = std::make_shared<State>();
  state->program = std::move(program);
  state->name = name;
  state->parse_microseconds = MicrosecondsSince(begin);
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

absl::Status Elementwise::IntoByPosition(const Stream& stream, absl::Span<const Arg> args) const {
  SLIPWAY_ASSIGN_OR_RETURN(const Arguments arguments, BindByPosition(state_->program, args, /*with_outputs=*/true));
  return state_->Run(stream, arguments);
}

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

uint64_t Elementwise::compiles() const { return state_->kernels.counters().compiles; }

}  // namespace slipway
