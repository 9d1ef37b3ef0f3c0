#include "jit/ops/elementwise_arguments.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "driver/status_macros.h"
#include "jit/text/cat.h"
#include "jit/text/suggest.h"

namespace slipway::elementwise {
namespace {

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
    return Invalid(Cat(Called(role, parameter), ": ", Describe(arg), " has a negative extent; extents are 0 or more"));
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

absl::Status CheckKind(const Parameter& parameter, const Arg& arg) {
  switch (parameter.shape) {
    case ShapeRule::kAny:
      return absl::OkStatus();
    case ShapeRule::kScalar:
      if (arg.is_scalar()) return absl::OkStatus();
      return Invalid(Cat(Called("input", parameter), ": a number is declared, ", Describe(arg),
                         " is given; declare it as '", parameter.name, ": T[]' to take arrays"));
    case ShapeRule::kElementwise:
      if (!arg.is_scalar()) return absl::OkStatus();
      return Invalid(Cat(Called("input", parameter), ": an array is declared, ", Describe(arg),
                         " is given; declare it as '", parameter.name, ": T' to take numbers"));
    case ShapeRule::kGathered:
      if (!arg.is_scalar() && arg.rank() == parameter.rank) return absl::OkStatus();
      return Invalid(Cat(Called("input", parameter), ": it is read with ", parameter.rank,
                         parameter.rank == 1 ? " index" : " indices", ", so an array of rank ", parameter.rank,
                         " is wanted; ", Describe(arg), " is given"));
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

Footprint FootprintOf(const Arg& arg) {
  return {.address = reinterpret_cast<uint64_t>(arg.data()),
          .item_size = static_cast<int64_t>(SizeOf(arg.dtype())),
          .shape = arg.shape(),
          .strides = arg.strides()};
}

std::string ShapesOf(const Program& program, const Arguments& arguments) {
  std::string shapes;
  for (size_t i = 0; i < arguments.inputs.size(); ++i) {
    const Arg& arg = *arguments.inputs[i];
    if (arg.is_scalar() || program.inputs[i].shape == ShapeRule::kGathered) continue;
    shapes += Cat(shapes.empty() ? "" : ", ", "'", program.inputs[i].name, "' is ", ToString(arg.shape()));
  }
  return shapes;
}

}  // namespace

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
      if (symbol.name != named.name || symbol.kind == text::SymbolKind::kLocal) continue;
      if (symbol.kind == text::SymbolKind::kOutput && !with_outputs) {
        return Invalid(Cat("'", named.name, "' is an output; call Into to write into an array that is there"));
      }
      slot =
          symbol.kind == text::SymbolKind::kInput ? &arguments.inputs[symbol.index] : &arguments.outputs[symbol.index];
    }
    if (slot == nullptr) {
      std::vector<std::string_view> known;
      for (const Parameter& input : program.inputs) known.push_back(input.name);
      for (const Parameter& output : program.outputs) known.push_back(output.name);
      const std::string hint = text::DidYouMean(named.name, known);
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
    SLIPWAY_RETURN_IF_ERROR(generics.Check("output", parameter, arg));
    SLIPWAY_RETURN_IF_ERROR(CheckMemory("output", parameter, arg, device));
    SLIPWAY_RETURN_IF_ERROR(CheckWritable(parameter, arg));
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

absl::StatusOr<Shape> LoopShape(const Program& program, const Arguments& arguments) {
  Shape broadcast;
  bool fits = true;
  for (size_t i = 0; i < arguments.inputs.size(); ++i) {
    if (program.inputs[i].shape == ShapeRule::kGathered) continue;
    fits = fits && BroadcastInto(arguments.inputs[i]->shape(), broadcast);
  }
  if (!fits) {
    return Invalid(Cat("the shapes do not broadcast: ", ShapesOf(program, arguments),
                       "; aligned at the last dimension, extents must be equal or 1"));
  }
  if (ElementCount(broadcast.rank, broadcast.extents) == INT64_MAX) {
    return Invalid(Cat("the inputs broadcast to ", ToString(broadcast.span()),
                       ", which is more elements than 64 bits count: ", ShapesOf(program, arguments)));
  }
  if (arguments.outputs.empty()) return broadcast;

  Shape shape;
  shape.rank = arguments.outputs[0]->rank();
  std::copy_n(arguments.outputs[0]->shape().begin(), shape.rank, shape.extents);
  for (size_t i = 1; i < arguments.outputs.size(); ++i) {
    if (arguments.outputs[i]->shape() != shape.span()) {
      return Invalid(Cat("outputs '", program.outputs[0].name, "' and '", program.outputs[i].name,
                         "' have different shapes, ", ToString(shape.span()), " and ",
                         ToString(arguments.outputs[i]->shape())));
    }
  }
  if (!BroadcastsTo(broadcast.span(), shape.span())) {
    return Invalid(Cat("output '", program.outputs[0].name, "' has shape ", ToString(shape.span()),
                       ", but the inputs broadcast to ", ToString(broadcast.span()), ": ",
                       ShapesOf(program, arguments)));
  }
  return shape;
}

bool SameElements(const Arg& a, const Arg& b, const Shape& shape) {
  if (SizeOf(a.dtype()) != SizeOf(b.dtype())) return false;
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
      const bool gathered = program.inputs[j].shape == ShapeRule::kGathered;
      if (!gathered && output.data() == input.data() && SameElements(output, input, shape)) continue;
      if (!MayOverlap(written, FootprintOf(input))) continue;
      return Invalid(Cat("output '", program.outputs[i].name, "' overlaps input '", program.inputs[j].name, "'",
                         gathered ? ", which is read by index" : " in another order of elements",
                         ": elements would be overwritten before they are read; write into an array of its own"));
    }
  }
  return absl::OkStatus();
}

}  // namespace slipway::elementwise
