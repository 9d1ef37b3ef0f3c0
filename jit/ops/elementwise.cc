#include "slipway/elementwise.h"

#include <algorithm>
#include <chrono>
#include <list>
#include <memory>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "driver/as_absl.h"
#include "driver/compile_history.h"
#include "driver/status_macros.h"
#include "jit/compile_cache.h"
#include "jit/ops/broadcast.h"
#include "jit/ops/elementwise_arguments.h"
#include "jit/ops/elementwise_kernel.h"
#include "jit/ops/elementwise_text.h"
#include "jit/ops/formula.h"
#include "jit/text/cat.h"
#include "jit/text/emit.h"
#include "jit/text/parser.h"
#include "launch/run_all.h"
#include "slipway/dispatch.h"
#include "slipway/null_driver.h"

namespace slipway {
namespace {

using elementwise::Arguments;
using elementwise::BindByName;
using elementwise::BindByPosition;
using elementwise::Shape;
using elementwise::Shapes;
using elementwise::Specialization;
using text::Cat;
using text::ShapeRule;

}  // namespace

struct Elementwise::State : elementwise::Formula {
  using Formula::Formula;

  // The kernel of a call with arguments like these; see Elementwise::CompileFor.
  absl::StatusOr<ir::Kernel> KernelLike(const Signature& arguments, bool wide,
                                        elementwise::KernelOrigin* origin = nullptr);
};

absl::StatusOr<Elementwise> Elementwise::Parse(std::string_view text, std::string_view signature, std::string_view name,
                                               const CompileOptions& options) {
  return Parse(text,
               ElementwiseOptions{.signature = std::string(signature), .name = std::string(name), .compile = options});
}

absl::StatusOr<Elementwise> Elementwise::Parse(std::string_view text, const ElementwiseOptions& options) {
  SLIPWAY_RETURN_IF_ERROR(elementwise::CheckFormulaOptions(options));
  const auto begin = std::chrono::steady_clock::now();
  SLIPWAY_ASSIGN_OR_RETURN(text::Program program,
                           text::Parse(text, options.signature, options.constants, options.functions));
  return Elementwise(
      std::make_shared<State>(std::move(program), options.name, options.compile, internal::MicrosecondsSince(begin)));
}

absl::StatusOr<std::vector<AnyArray>> Elementwise::Evaluate(const Stream& stream,
                                                            absl::Span<const NamedArg> inputs) const {
  SLIPWAY_ASSIGN_OR_RETURN(Arguments arguments, BindByName(state_->program(), inputs, /*with_outputs=*/false));
  return state_->Allocate(stream, std::move(arguments));
}

absl::StatusOr<std::vector<AnyArray>> Elementwise::Evaluate(const Stream& stream, absl::Span<const Arg> inputs) const {
  SLIPWAY_ASSIGN_OR_RETURN(Arguments arguments, BindByPosition(state_->program(), inputs, /*with_outputs=*/false));
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

absl::Status Elementwise::CheckOneOutput() const { return elementwise::CheckOneOutput(state_->program()); }

absl::Status Elementwise::IntoByName(const Stream& stream, absl::Span<const NamedArg> args) const {
  SLIPWAY_ASSIGN_OR_RETURN(const Arguments arguments, BindByName(state_->program(), args, /*with_outputs=*/true));
  return state_->Run(stream, arguments);
}

absl::StatusOr<BoundFormula> Elementwise::Bind(const Device& device, absl::Span<const Arg> args) const {
  SLIPWAY_ASSIGN_OR_RETURN(const Arguments arguments, BindByPosition(state_->program(), args, /*with_outputs=*/true));
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
  for (const ParamSpec& param : kernel().signature()) {
    if (param.name == name && param.kind == ParamKind::kScalar) return launch_.Set(name, number);
  }
  return absl::InvalidArgumentError(Cat("input '", AsAbsl(name), "' is an array; only numbers can be set: bind the ",
                                        "formula again for other arrays"));
}

absl::Status Elementwise::IntoByPosition(const Stream& stream, absl::Span<const Arg> args) const {
  return IntoAndRemember(stream, args, State::kNoSlot);
}

absl::Status Elementwise::IntoAndRemember(const Stream& stream, absl::Span<const Arg> args, size_t slot) const {
  SLIPWAY_ASSIGN_OR_RETURN(const Arguments arguments, BindByPosition(state_->program(), args, /*with_outputs=*/true));
  return state_->Run(stream, arguments, slot);
}

Elementwise::Elementwise(std::shared_ptr<State> state) : state_(std::move(state)), slots_(&state_->slots()) {}

std::vector<std::string> Elementwise::inputs() const {
  std::vector<std::string> names;
  for (const text::Parameter& input : state_->program().inputs) names.push_back(input.name);
  return names;
}

std::vector<std::string> Elementwise::outputs() const {
  std::vector<std::string> names;
  for (const text::Parameter& output : state_->program().outputs) names.push_back(output.name);
  return names;
}

std::vector<ElementwiseVariant> Elementwise::Inspect() const { return state_->Variants(); }

size_t Elementwise::plans() const { return state_->plans(); }

uint64_t Elementwise::compiles() const { return state_->compiles(); }

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
  return CompileOnce(kernel, target, state_->options());
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
  std::vector<const ParamSpec*> given(program().outputs.size(), nullptr);  // Outputs that are described.
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
    if (argument.kind == ParamKind::kArray && argument.index > IndexWidth::kIndex32) {
      return BadArgument(argument.name, absl::StrCat("has index width #", static_cast<int>(argument.index),
                                                     "; give IndexWidth::kIndex64 or IndexWidth::kIndex32"));
    }
    if (argument.vector_rows && argument.layout == Layout::kStrided) {
      return BadArgument(argument.name,
                         "is strided, and only contiguous arrays have rows of whole vectors; leave vector_rows out");
    }
    if (argument.dtype == DType::kVoid || argument.kind > ParamKind::kArray) {
      return BadArgument(argument.name, "is neither a number nor an array of a dtype");
    }
    const auto output = find(program().outputs, argument.name), input = find(program().inputs, argument.name);
    if (output != program().outputs.end()) {
      if (argument.kind != ParamKind::kArray) return BadArgument(argument.name, "is an output, which is an array");
      given[static_cast<size_t>(output - program().outputs.begin())] = &argument;
    } else if (input == program().inputs.end()) {
      std::vector<std::string> names;
      for (const auto* each : {&program().inputs, &program().outputs}) {
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
  SLIPWAY_ASSIGN_OR_RETURN(Arguments bound, BindByName(program(), inputs, /*with_outputs=*/false));
  SLIPWAY_RETURN_IF_ERROR(elementwise::CheckArguments(program(), bound, device));
  absl::InlinedVector<DType, 8> input_types;
  for (const Arg* input : bound.inputs) input_types.push_back(input->dtype());
  absl::InlinedVector<DType, 4> output_types = elementwise::OutputTypes(program(), bound);
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] != nullptr) output_types[i] = given[i]->dtype;
  }
  SLIPWAY_ASSIGN_OR_RETURN(const text::Typing typing, text::InferTypes(program(), input_types, output_types));
  SLIPWAY_ASSIGN_OR_RETURN(const Shapes shapes, ShapesOf(program(), bound));
  std::list<Arg> outputs;
  for (size_t i = 0; i < given.size(); ++i) {
    const text::Parameter& output = program().outputs[i];
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
  SLIPWAY_ASSIGN_OR_RETURN(const Specialized specialized,
                           Specialize(device, bound, shapes, Specialization::Team::kThread));
  return elementwise::BuildKernel(program(), typing, specialized.form, name(), origin);
}

absl::Status Elementwise::Precompile(const Device& device, absl::Span<const Signature> arguments) const {
  SLIPWAY_ASSIGN_OR_RETURN(const Target target, TargetFor(device));
  return internal::RunAll(arguments.size(), [&](size_t i) -> absl::Status {
    for (const bool wide : {true, false}) {
      SLIPWAY_ASSIGN_OR_RETURN(const ir::Kernel kernel, state_->KernelLike(arguments[i], wide));
      SLIPWAY_ASSIGN_OR_RETURN(CompiledKernel compiled, CompileOnce(kernel, target, state_->options()));
      SLIPWAY_ASSIGN_OR_RETURN(Kernel loaded, Kernel::Load(device, std::move(compiled)));
      state_->Keep(std::move(loaded));
    }
    return absl::OkStatus();
  });
}

}  // namespace slipway
