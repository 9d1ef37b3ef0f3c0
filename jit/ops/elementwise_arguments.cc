#include "jit/ops/elementwise_arguments.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "driver/status_macros.h"
#include "driver/suggest.h"
#include "jit/text/cat.h"
#include "jit/text/functions.h"

namespace slipway::elementwise {
namespace {

using text::AxisReduction;
using text::Cat;
using text::Parameter;
using text::Program;
using text::ShapeRule;
using text::TypeRule;

std::string NamesOf(absl::Span<const Parameter> parameters) {
  std::string names;
  for (const Parameter& parameter : parameters) names += Cat(names.empty() ? "" : ", ", parameter.name);
  return names;
}

absl::Status Invalid(std::string message) { return absl::InvalidArgumentError(message); }

// "x", "input 'x'": which argument a message is about.
std::string Called(std::string_view role, const Parameter& parameter) { return Cat(role, " '", parameter.name, "'"); }

absl::Status CheckMemory(std::string_view role, const Parameter& parameter, const Arg& arg, const Device& device) {
  const Facts word = arg.facts();
  if (word & facts::kNegative) {
    const absl::Span<const int64_t> shape = arg.shape();
    const bool negative = std::any_of(shape.begin(), shape.end(), [](int64_t extent) { return extent < 0; });
    return Invalid(Cat(Called(role, parameter), ": ", Describe(arg),
                       negative ? " has a negative extent; extents are 0 or more"
                                : " has more elements than 63 bits count; give smaller parts of it"));
  }
  if (!(word & facts::kValid)) {
    if (arg.data() == nullptr) {
      return Invalid(Cat(Called(role, parameter), ": ", Describe(arg),
                         " has elements, but its data pointer is null; give memory of the device"));
    }
    return Invalid(Cat(Called(role, parameter), ": the address of ", Describe(arg), " is not a multiple of ",
                       AlignOf(arg.dtype()), ", as ", Name(arg.dtype()), " wants; copy it to aligned memory"));
  }
  if (!(word & (facts::kIndex32 | facts::kEmpty))) {
    const ByteRange range = RangeOf(arg.shape(), arg.strides(), static_cast<int64_t>(SizeOf(arg.dtype())));
    if (range.begin == INT64_MIN || range.end == INT64_MAX) {
      return Invalid(Cat(Called(role, parameter), ": ", Describe(arg), " reaches past the end of any memory"));
    }
  }
  if (facts::DeviceOf(word) != device.id()) {
    return Invalid(Cat(Called(role, parameter), ": the array is on another device than the stream (", device.Describe(),
                       "); copy it there"));
  }
  return absl::OkStatus();
}

// An array that the text reads by index, whatever else it does with it.
absl::Status CheckWhole(const Parameter& parameter, const Arg& arg) {
  if (parameter.indexed && parameter.rank != 0 && (arg.is_scalar() || arg.rank() != parameter.rank)) {
    return Invalid(Cat(Called("input", parameter), ": it is read with ", parameter.rank,
                       parameter.rank == 1 ? " index" : " indices", ", so an array of rank ", parameter.rank,
                       " is wanted; ", Describe(arg), " is given"));
  }
  if (parameter.folded && !arg.is_scalar() && ElementCount(arg.rank(), arg.shape().data()) == 0) {
    return Invalid(Cat(Called("input", parameter), ": ", Describe(arg),
                       " has no element to take for those outside; give the border a value: x[i; 0]"));
  }
  return absl::OkStatus();
}

absl::Status CheckKind(const Parameter& parameter, const Arg& arg) {
  SLIPWAY_RETURN_IF_ERROR(CheckWhole(parameter, arg));
  switch (parameter.shape) {
    case ShapeRule::kAny:
      return absl::OkStatus();
    case ShapeRule::kScalar:
      if (arg.is_scalar()) return absl::OkStatus();
      if (parameter.type == text::TypeRule::kAny) {  // Not declared: see ExpressionParser::TakeAsNumber.
        return Invalid(Cat(Called("input", parameter), ": a reduction's operation reads it, so a number is wanted; ",
                           Describe(arg), " is given"));
      }
      return Invalid(Cat(Called("input", parameter), ": a number is declared, ", Describe(arg),
                         " is given; declare it as '", parameter.name, ": T[]' to take arrays"));
    case ShapeRule::kElementwise:
      if (!arg.is_scalar()) return absl::OkStatus();
      return Invalid(Cat(Called("input", parameter), ": an array is declared, ", Describe(arg),
                         " is given; declare it as '", parameter.name, ": T' to take numbers"));
    case ShapeRule::kGathered:
      if (!arg.is_scalar() && arg.rank() == parameter.rank) return absl::OkStatus();
      return Invalid(Cat(Called("input", parameter), ": an array of rank ", parameter.rank, " is declared, ",
                         Describe(arg), " is given"));
  }
  return absl::OkStatus();
}

// Kernels may take pointers and structs; a text has no use for them.
absl::Status CheckArrayOrNumber(std::string_view role, const Parameter& parameter, const Arg& arg) {
  if (arg.is_array() && arg.rank() > kMaxRank) {
    return Invalid(Cat(Called(role, parameter), ": a tensor whose rank is not from 0 to ", kMaxRank,
                       " is given; arrays have 0 to ", kMaxRank, " dimensions"));
  }
  if (arg.is_scalar() || arg.is_array()) return absl::OkStatus();
  const bool pointer = (arg.facts() & facts::kPointer) != 0;
  return Invalid(Cat(Called(role, parameter), ": ", pointer ? "a raw pointer" : "a struct",
                     " is given; an array or a number is wanted",
                     pointer ? ": make an ArrayView of what it points to" : ""));
}

absl::Status CheckAllArraysOrNumbers(const Program& program, const Arguments& arguments) {
  for (size_t i = 0; i < arguments.outputs.size(); ++i) {
    SLIPWAY_RETURN_IF_ERROR(CheckArrayOrNumber("output", program.outputs[i], *arguments.outputs[i]));
  }
  for (size_t i = 0; i < arguments.inputs.size(); ++i) {
    SLIPWAY_RETURN_IF_ERROR(CheckArrayOrNumber("input", program.inputs[i], *arguments.inputs[i]));
  }
  return absl::OkStatus();
}

// The dtypes that the call has given to the signature's generic names.
class Generics {
 public:
  explicit Generics(const Program& program) : program_(program), bound_(program.generics.size(), nullptr) {}

  absl::Status Check(std::string_view role, const Parameter& parameter, const Arg& arg) {
    if (parameter.type == TypeRule::kFixed && parameter.dtype != arg.dtype()) {
      return Invalid(Cat(Called(role, parameter), ": ", Name(parameter.dtype), " is declared, ", Name(arg.dtype()),
                         " is given; ", Remedy(parameter.dtype, arg)));
    }
    if (parameter.type != TypeRule::kGeneric) return absl::OkStatus();
    const Binding& bound = bound_[parameter.generic];
    if (bound.parameter == nullptr) {
      bound_[parameter.generic] = {&parameter, arg.dtype()};
    } else if (bound.dtype != arg.dtype()) {
      return Invalid(Cat(Called(role, parameter), ": ", program_.generics[parameter.generic], " is ", Name(bound.dtype),
                         " by '", bound.parameter->name, "', but ", Name(arg.dtype()), " is given; ",
                         Remedy(bound.dtype, arg)));
    }
    return absl::OkStatus();
  }

 private:
  struct Binding {
    Binding(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
    Binding(const Parameter* by, DType to) : parameter(by), dtype(to) {}
    const Parameter* parameter = nullptr;
    DType dtype = DType::kVoid;
  };

  static std::string Remedy(DType wanted, const Arg& arg) {
    if (!arg.is_scalar()) return Cat("pass an array of ", Name(wanted), ", or declare another dtype");
    if (wanted == DType::kFloat32 && arg.dtype() == DType::kFloat64) return "pass a float, such as 2.0f";
    return Cat("pass a number of type ", Name(wanted));
  }

  const Program& program_;
  std::vector<Binding> bound_;
};

absl::Status CheckWritten(const Parameter& parameter, const Arg& arg) {
  if (parameter.shape == ShapeRule::kGathered && arg.rank() != parameter.rank) {
    return Invalid(Cat(Called("output", parameter), ": it is written with ", parameter.rank,
                       parameter.rank == 1 ? " index" : " indices", ", so an array of rank ", parameter.rank,
                       " is wanted; ", Describe(arg), " is given"));
  }
  if (parameter.folded && ElementCount(arg.rank(), arg.shape().data()) == 0) {
    return Invalid(Cat(Called("output", parameter), ": ", Describe(arg),
                       " has no element to take for those outside; give the border a value: x[i; 0]"));
  }
  return absl::OkStatus();
}

absl::Status CheckWritable(const Parameter& parameter, const Arg& arg) {
  if (arg.facts() & facts::kWritable) return absl::OkStatus();
  if (arg.facts() & facts::kReadOnly) {
    return Invalid(Cat(Called("output", parameter), ": the view is of const elements and cannot be written"));
  }
  for (int d = 0; d < arg.rank(); ++d) {
    if (arg.strides()[d] == 0 && arg.shape()[d] > 1) {
      return Invalid(Cat(Called("output", parameter), ": stride 0 in dimension ", d, " of ", Describe(arg),
                         ": its elements share one address; write into an array of its own"));
    }
  }
  return Invalid(Cat(Called("output", parameter), ": elements of ", Describe(arg),
                     " share addresses; write into an array of its own"));
}

// "'x' is (3, 4), 'y' is (2,)": the arrays that broadcast together, in the loop or in the operand of a reduction.
std::string DescribeShapes(const Program& program, const Arguments& arguments, uint32_t reduction) {
  std::string shapes;
  for (size_t i = 0; i < arguments.inputs.size(); ++i) {
    const Arg& arg = *arguments.inputs[i];
    bool here = program.inputs[i].elementwise();
    if (reduction != AxisReduction::kNoReduction) {
      here = std::any_of(program.reduced.begin(), program.reduced.end(), [&](const text::ReducedArray& reduced) {
        return reduced.input == i && reduced.reduction == reduction;
      });
    }
    if (arg.is_scalar() || !here) continue;
    shapes += Cat(shapes.empty() ? "" : ", ", "'", program.inputs[i].name, "' is ", ToString(arg.shape()));
  }
  return shapes;
}

absl::Status TooMany(const Program& program, const Arguments& arguments, const Shape& shape, uint32_t reduction) {
  if (ElementCount(shape.rank, shape.extents) != INT64_MAX) return absl::OkStatus();
  return Invalid(Cat("the inputs broadcast to ", ToString(shape.span()),
                     ", which is more elements than 64 bits count: ", DescribeShapes(program, arguments, reduction)));
}

// The dimensions that a reduction goes over, as bits.
absl::StatusOr<uint32_t> ReducedDimensions(const Program& program, const AxisReduction& reduction, const Shape& shape) {
  if (reduction.axes.empty()) return (uint32_t{1} << shape.rank) - 1;
  uint32_t reduced = 0;
  for (int axis : reduction.axes) {
    const int d = axis < 0 ? axis + shape.rank : axis;
    if (d < 0 || d >= shape.rank) {
      return program.source.ErrorAt(reduction.span,
                                    Cat("axis ", axis, " of what has the shape ", ToString(shape.span())),
                                    "axes count from 0, or from -1 backwards");
    }
    if (reduced & (uint32_t{1} << d)) {
      return program.source.ErrorAt(reduction.span, Cat("axis ", axis, " is named twice"));
    }
    reduced |= uint32_t{1} << d;
  }
  return reduced;
}

Shape ResultOf(const AxisReduction& reduction, const Shape& shape, uint32_t reduced) {
  Shape result;
  for (int d = 0; d < shape.rank; ++d) {
    const bool gone = (reduced & (uint32_t{1} << d)) != 0;
    if (gone && !reduction.keep_dimensions) continue;
    result.extents[result.rank++] = gone ? 1 : shape.extents[d];
  }
  return result;
}

// The least of nothing is no number.
absl::Status CheckNotEmpty(const Program& program, const AxisReduction& reduction, const Shape& shape,
                           uint32_t reduced) {
  using text::Reduction;
  const Reduction op = reduction.reduction;
  if (op != Reduction::kMin && op != Reduction::kMax && op != Reduction::kArgmin && op != Reduction::kArgmax) {
    return absl::OkStatus();
  }
  for (int d = 0; d < shape.rank; ++d) {
    if ((reduced & (uint32_t{1} << d)) != 0 && shape.extents[d] == 0) {
      return program.source.ErrorAt(reduction.span, Cat(text::Name(op), " over axis ", d, " of the shape ",
                                                        ToString(shape.span()), ", which has no elements"));
    }
  }
  return absl::OkStatus();
}

// What the operands of reductions broadcast to, inner ones first, and what they give to `loop`.
absl::Status ReducedShapes(const Program& program, const Arguments& arguments, EmptyReductions empty, Shapes& shapes) {
  const size_t count = program.axis_reductions.size();
  shapes.operands.resize(count);
  shapes.reduced.resize(count);
  for (size_t r = count; r-- > 0;) {
    const AxisReduction& reduction = program.axis_reductions[r];
    Shape& shape = shapes.operands[r];  // Holds the results of those inside already.
    bool fits = true, arrays = false;
    for (const text::ReducedArray& reduced : program.reduced) {
      if (reduced.reduction != r || arguments.inputs[reduced.input]->is_scalar()) continue;
      arrays = true;
      fits = fits && BroadcastInto(arguments.inputs[reduced.input]->shape(), shape);
    }
    const auto index = static_cast<uint32_t>(r);
    if (!fits) {
      return program.source.ErrorAt(
          reduction.span, Cat("the shapes inside do not broadcast: ", DescribeShapes(program, arguments, index)),
          "aligned at the last dimension, extents must be equal or 1");
    }
    if (!arrays) {
      return program.source.ErrorAt(
          reduction.span, Cat(text::Name(reduction.reduction), " over axes wants an array; numbers only are given"));
    }
    SLIPWAY_RETURN_IF_ERROR(TooMany(program, arguments, shape, index));
    SLIPWAY_ASSIGN_OR_RETURN(shapes.reduced[r], ReducedDimensions(program, reduction, shape));
    if (empty == EmptyReductions::kRefused) {
      SLIPWAY_RETURN_IF_ERROR(CheckNotEmpty(program, reduction, shape, shapes.reduced[r]));
    }
    const Shape result = ResultOf(reduction, shape, shapes.reduced[r]);
    Shape& outer = reduction.outer == AxisReduction::kNoReduction ? shapes.loop : shapes.operands[reduction.outer];
    const Shape around = outer;
    if (BroadcastInto(result.span(), outer)) continue;
    const std::string inputs = DescribeShapes(program, arguments, reduction.outer);
    return program.source.ErrorAt(
        reduction.span,
        Cat("the result has the shape ", ToString(result.span()), ", which does not broadcast with what is around it",
            inputs.empty() ? Cat(", of the shape ", ToString(around.span())) : Cat(": ", inputs)),
        inputs.empty()
            ? "all outputs of a text have one shape: keepdims=true keeps the dimensions that are reduced, as "
              "1, or write two texts"
            : "keepdims=true keeps the dimensions that are reduced, as 1");
  }
  return absl::OkStatus();
}

// Dimensions that the text names are there: also where nothing is launched.
absl::Status CheckDimensions(const Program& program, const Arguments& arguments, const Shape& loop) {
  for (uint32_t at : program.queries) {
    const text::Node& node = program.nodes[at];
    const auto query = static_cast<text::Query>(node.detail);
    int rank = loop.rank;
    std::string of = "the output";
    if (query == text::Query::kArrayExtent) {
      const text::Symbol& symbol = program.symbols[node.symbol];
      const bool input = symbol.kind == text::SymbolKind::kInput;
      if (!input && (symbol.kind != text::SymbolKind::kOutput || arguments.outputs.empty())) continue;
      const Arg& arg = input ? *arguments.inputs[symbol.index] : *arguments.outputs[symbol.index];
      rank = arg.is_scalar() ? 0 : arg.rank();
      of = Cat("'", symbol.name, "'");
    }
    const auto dimension = static_cast<int64_t>(node.bits);
    if (dimension >= -rank && dimension < rank) continue;
    return program.source.ErrorAt(node.span, Cat("dimension ", dimension, " of ", of, ", which has ", rank),
                                  "the shape of the output is that of the arrays that are read element by element, or "
                                  "of the array that is given");
  }
  return absl::OkStatus();
}

// Without a signature any name that a text reads is an input: where it reads what no call gives, and one that is given
// is nearly that, the text has it wrong.
absl::Status MisspeltInTheText(const Program& program, std::string_view unread, absl::Span<const NamedArg> args) {
  if (!program.signature.text().empty()) return absl::OkStatus();
  for (const Parameter& input : program.inputs) {
    if (std::any_of(args.begin(), args.end(), [&](const NamedArg& arg) { return arg.name == input.name; })) continue;
    const std::string hint = DidYouMean(input.name, {unread});
    if (!hint.empty()) return program.source.ErrorAt(input.span, Cat("unknown name '", input.name, "'"), hint);
  }
  return absl::OkStatus();
}

}  // namespace

Footprint FootprintOf(const Arg& arg) {
  return {.address = reinterpret_cast<uint64_t>(arg.data()),
          .item_size = static_cast<int64_t>(SizeOf(arg.dtype())),
          .shape = arg.shape(),
          .strides = arg.strides()};
}

absl::StatusOr<Arguments> BindByPosition(const Program& program, absl::Span<const Arg> args, bool with_outputs) {
  const size_t outputs = with_outputs ? program.outputs.size() : 0;
  const size_t wanted = outputs + program.inputs.size();
  if (args.size() != wanted) {
    const std::string inputs = program.inputs.empty() ? "" : Cat(" (", NamesOf(program.inputs), ")");
    return Invalid(with_outputs ? Cat(args.size(), args.size() == 1 ? " argument was" : " arguments were",
                                      " given where ", wanted, wanted == 1 ? " is" : " are", " wanted: the outputs (",
                                      NamesOf(program.outputs), "), then the inputs", inputs)
                                : Cat(args.size(), args.size() == 1 ? " input was" : " inputs were", " given where ",
                                      wanted, wanted == 1 ? " is wanted" : " are wanted", inputs));
  }
  Arguments arguments;
  for (size_t i = 0; i < args.size(); ++i) {
    if (i < outputs) {
      arguments.outputs.push_back(&args[i]);
    } else {
      arguments.inputs.push_back(&args[i]);
    }
  }
  SLIPWAY_RETURN_IF_ERROR(CheckAllArraysOrNumbers(program, arguments));
  return arguments;
}

absl::StatusOr<Arguments> BindByName(const Program& program, absl::Span<const NamedArg> args, bool with_outputs) {
  Arguments arguments;
  arguments.outputs.resize(with_outputs ? program.outputs.size() : 0, nullptr);
  arguments.inputs.resize(program.inputs.size(), nullptr);
  for (const NamedArg& named : args) {
    const Arg** slot = nullptr;
    for (const text::Symbol& symbol : program.symbols) {
      const bool input = symbol.kind == text::SymbolKind::kInput;
      const bool output = symbol.kind == text::SymbolKind::kOutput;
      if (symbol.name != named.name || (!input && !output)) continue;  // Functions may have the same names.
      if (output && !with_outputs) {
        return Invalid(Cat("'", named.name, "' is an output; call Into to write into an array that is there"));
      }
      slot = input ? &arguments.inputs[symbol.index] : &arguments.outputs[symbol.index];
    }
    if (slot == nullptr) {
      SLIPWAY_RETURN_IF_ERROR(MisspeltInTheText(program, named.name, args));
      std::vector<std::string_view> known;
      for (const Parameter& input : program.inputs) known.push_back(input.name);
      for (const Parameter& output : program.outputs) known.push_back(output.name);
      const std::string hint = DidYouMean(named.name, known);
      return Invalid(Cat("unknown argument '", named.name, "'",
                         hint.empty() ? Cat("; the inputs are ", NamesOf(program.inputs)) : Cat("; ", hint)));
    }
    if (*slot != nullptr) return Invalid(Cat("argument '", named.name, "' is given twice"));
    *slot = &named.arg;
  }
  for (size_t i = 0; i < arguments.outputs.size(); ++i) {
    if (arguments.outputs[i] == nullptr) return Invalid(Cat("output '", program.outputs[i].name, "' is missing"));
  }
  for (size_t i = 0; i < arguments.inputs.size(); ++i) {
    if (arguments.inputs[i] == nullptr) return Invalid(Cat("input '", program.inputs[i].name, "' is missing"));
  }
  SLIPWAY_RETURN_IF_ERROR(CheckAllArraysOrNumbers(program, arguments));
  return arguments;
}

absl::Status CheckArguments(const Program& program, const Arguments& arguments, const Device& device) {
  Generics generics(program);
  for (size_t i = 0; i < arguments.inputs.size(); ++i) {
    const Parameter& parameter = program.inputs[i];
    const Arg& arg = *arguments.inputs[i];
    SLIPWAY_RETURN_IF_ERROR(CheckKind(parameter, arg));
    SLIPWAY_RETURN_IF_ERROR(generics.Check("input", parameter, arg));
    if (!arg.is_scalar()) SLIPWAY_RETURN_IF_ERROR(CheckMemory("input", parameter, arg, device));
  }
  for (size_t i = 0; i < arguments.outputs.size(); ++i) {
    const Parameter& parameter = program.outputs[i];
    const Arg& arg = *arguments.outputs[i];
    if (arg.is_scalar()) {
      return Invalid(
          Cat(Called("output", parameter), ": an array is wanted, ", Describe(arg), " is given; outputs come first"));
    }
    SLIPWAY_RETURN_IF_ERROR(CheckWritten(parameter, arg));
    SLIPWAY_RETURN_IF_ERROR(generics.Check("output", parameter, arg));
    SLIPWAY_RETURN_IF_ERROR(CheckMemory("output", parameter, arg, device));
    SLIPWAY_RETURN_IF_ERROR(CheckWritable(parameter, arg));
  }
  return absl::OkStatus();
}

absl::Status CheckAllocates(const Program& program) {
  for (const Parameter& output : program.outputs) {
    if (output.shape != ShapeRule::kGathered) continue;
    return Invalid(
        Cat(Called("output", output), ": it is written by index, so the array to write must be given; call Into"));
  }
  return absl::OkStatus();
}

absl::InlinedVector<DType, 4> OutputTypes(const Program& program, const Arguments& arguments) {
  absl::InlinedVector<DType, 4> types;
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const Parameter& output = program.outputs[i];
    DType dtype = DType::kVoid;
    if (!arguments.outputs.empty()) {
      dtype = arguments.outputs[i]->dtype();
    } else if (output.type == TypeRule::kFixed) {
      dtype = output.dtype;
    } else if (output.type == TypeRule::kGeneric) {
      for (size_t j = 0; j < program.inputs.size(); ++j) {
        const Parameter& input = program.inputs[j];
        if (input.type == TypeRule::kGeneric && input.generic == output.generic) dtype = arguments.inputs[j]->dtype();
      }
    }
    types.push_back(dtype);
  }
  return types;
}

absl::StatusOr<Shapes> ShapesOf(const Program& program, const Arguments& arguments, EmptyReductions empty) {
  constexpr uint32_t kLoop = AxisReduction::kNoReduction;
  Shapes shapes;
  Shape& broadcast = shapes.loop;
  bool fits = true;
  for (size_t i = 0; i < arguments.inputs.size(); ++i) {
    if (!program.inputs[i].elementwise()) continue;
    fits = fits && BroadcastInto(arguments.inputs[i]->shape(), broadcast);
  }
  if (!fits) {
    return Invalid(Cat("the shapes do not broadcast: ", DescribeShapes(program, arguments, kLoop),
                       "; aligned at the last dimension, extents must be equal or 1"));
  }
  SLIPWAY_RETURN_IF_ERROR(ReducedShapes(program, arguments, empty, shapes));
  SLIPWAY_RETURN_IF_ERROR(TooMany(program, arguments, broadcast, kLoop));

  const Arg* first = nullptr;  // Of the outputs with an element for each of the loop's.
  size_t first_index = 0;
  Shape shape;
  for (size_t i = 0; i < arguments.outputs.size(); ++i) {
    if (program.outputs[i].shape == ShapeRule::kGathered) continue;
    const Arg& output = *arguments.outputs[i];
    if (first == nullptr) {
      first = &output;
      first_index = i;
      shape.rank = output.rank();
      std::copy_n(output.shape().begin(), shape.rank, shape.extents);
    } else if (output.shape() != shape.span()) {
      return Invalid(Cat("outputs '", program.outputs[first_index].name, "' and '", program.outputs[i].name,
                         "' have different shapes, ", ToString(shape.span()), " and ", ToString(output.shape())));
    }
  }
  if (first != nullptr) {
    if (!BroadcastsTo(broadcast.span(), shape.span())) {
      return Invalid(Cat("output '", program.outputs[first_index].name, "' has shape ", ToString(shape.span()),
                         ", but the inputs broadcast to ", ToString(broadcast.span()), ": ",
                         DescribeShapes(program, arguments, kLoop)));
    }
    broadcast = shape;
  }
  SLIPWAY_RETURN_IF_ERROR(CheckDimensions(program, arguments, shapes.loop));
  return shapes;
}

bool SameElements(const Arg& a, const Arg& b, const Shape& shape) {
  if (SizeOf(a.dtype()) != SizeOf(b.dtype()) || a.rank() > shape.rank || b.rank() > shape.rank) return false;
  const Loop loop{.shape = shape};
  const LoopOperand first = MakeOperand(loop, a.shape(), a.strides());
  const LoopOperand second = MakeOperand(loop, b.shape(), b.strides());
  for (int d = 0; d < shape.rank; ++d) {
    if (shape.extents[d] != 1 && first.strides[d] != second.strides[d]) return false;
  }
  return true;
}

absl::Status CheckOverlaps(const Program& program, const Arguments& arguments, const Shape& shape) {
  for (size_t i = 0; i < arguments.outputs.size(); ++i) {
    const Arg& output = *arguments.outputs[i];
    const Footprint written = FootprintOf(output);
    for (size_t j = 0; j < i; ++j) {
      if (MayOverlap(written, FootprintOf(*arguments.outputs[j]))) {
        return Invalid(Cat("outputs '", program.outputs[j].name, "' and '", program.outputs[i].name,
                           "' overlap in memory; each needs an array of its own"));
      }
    }
    for (size_t j = 0; j < arguments.inputs.size(); ++j) {
      const Arg& input = *arguments.inputs[j];
      if (input.is_scalar()) continue;
      const Parameter& parameter = program.inputs[j];
      const bool gathered = !parameter.elementwise() || parameter.whole() || parameter.reduced ||
                            program.outputs[i].shape == ShapeRule::kGathered;
      if (!gathered && output.data() == input.data() && SameElements(output, input, shape)) continue;
      if (!MayOverlap(written, FootprintOf(input))) continue;
      const std::string_view how = !gathered                                          ? " in another order of elements"
                                   : program.outputs[i].shape == ShapeRule::kGathered ? ", and is written by index"
                                   : parameter.reduced && !parameter.indexed          ? ", which is reduced"
                                                                                      : ", which is read by index";
      return Invalid(Cat("output '", program.outputs[i].name, "' overlaps input '", program.inputs[j].name, "'", how,
                         ": elements would be overwritten before they are read; write into an array of its own"));
    }
  }
  return absl::OkStatus();
}

}  // namespace slipway::elementwise
