#include "jit/text/emit.h"

#include <bit>
#include <cstdint>
#include <string>

#include "absl/container/inlined_vector.h"
#include "driver/check.h"
#include "driver/status_macros.h"
#include "jit/text/cat.h"

namespace slipway::text {
namespace {

using ir::Builder;
using ir::kNone;
using ir::Op;
using ir::ValueId;

class Emitter {
 public:
  // Without a typing this is the trial run: lazy operands are evaluated like any others, which gives every choice the
  // same type as its branches would, and `choices` collects them.
  Emitter(const Program& program, const Typing* typing, absl::Span<const InputBinding> inputs, Builder& builder)
      : program_(program), typing_(typing), inputs_(inputs), builder_(builder) {
    values_.resize(program.symbols.size(), kNone);
    outputs_.resize(program.outputs.size(), kNone);
    if (typing_ != nullptr) NumberChoices();
  }

  absl::Status Run() {
    for (uint32_t i = 0; i < program_.nodes.size(); ++i) {
      const Node& node = program_.nodes[i];
      builder_.SetLocation(program_.source.LocationOfToken(node.span.offset));
      SLIPWAY_RETURN_IF_ERROR(Visit(i, node));
      if (!builder_.status().ok()) return ErrorAt(node, builder_.status());
    }
    SLIPWAY_CHECK(stack_.empty(), "the text front end left values on its stack");
    return absl::OkStatus();
  }

  const std::vector<ValueId>& outputs() const { return outputs_; }
  const std::vector<DType>& choices() const { return choices_; }

  // The builder's complaint, with the place that it is about.
  absl::Status ErrorAt(const Node& node, const absl::Status& status) const {
    const absl::Status placed = program_.source.ErrorAt(node.span, std::string(status.message()));
    return absl::Status(status.code(), placed.message());
  }

 private:
  bool trial() const { return typing_ == nullptr; }

  // The typing lists choices by their ends; here their types are wanted where they begin.
  void NumberChoices() {
    if (!program_.has_lazy_choice) return;
    choice_of_.resize(program_.nodes.size());
    uint32_t count = 0;
    for (const Node& node : program_.nodes) {
      if (node.kind == NodeKind::kChooseEnd && node.lazy) choice_of_[node.begin] = count++;
    }
  }

  ValueId Pop() {
    SLIPWAY_CHECK(!stack_.empty(), "the text front end's stack is empty");
    const ValueId value = stack_.back();
    stack_.pop_back();
    return value;
  }

  absl::Status Visit(uint32_t index, const Node& node) {
    const bool branches = node.lazy && !trial();
    switch (node.kind) {
      case NodeKind::kInteger:
        stack_.push_back(IntegerLiteral(node));
        break;
      case NodeKind::kFloat:
        stack_.push_back(builder_.Literal(std::bit_cast<double>(node.bits)));
        break;
      case NodeKind::kBool:
        stack_.push_back(builder_.Literal(node.bits != 0));
        break;
      case NodeKind::kName: {
        const Symbol& symbol = program_.symbols[node.symbol];
        stack_.push_back(symbol.kind == SymbolKind::kInput ? inputs_[symbol.index].value : values_[node.symbol]);
        break;
      }
      case NodeKind::kOperator: {
        const auto operands = absl::MakeConstSpan(stack_).last(node.count);
        const ValueId result = builder_.Apply(node.op, operands);
        stack_.resize(stack_.size() - node.count);
        stack_.push_back(result);
        break;
      }
      case NodeKind::kCast:
        stack_.push_back(builder_.Cast(node.dtype, Pop(), node.cast));
        break;
      case NodeKind::kGather: {
        const auto indices = absl::MakeConstSpan(stack_).last(node.count);
        const ValueId result =
            builder_.Load(inputs_[program_.symbols[node.symbol].index].array, indices, MemoryAccess::ReadOnly());
        stack_.resize(stack_.size() - node.count);
        stack_.push_back(result);
        break;
      }
      case NodeKind::kChooseBegin:
        SLIPWAY_RETURN_IF_ERROR(CheckBool(node, stack_.back(), "the condition of", "compare it with 0"));
        if (branches) BeginChoice(index);
        break;
      case NodeKind::kChooseElse:
        if (!open_.empty() && open_.back().begin == node.begin) {
          WriteChoice();
          builder_.BeginElse();
        }
        break;
      case NodeKind::kChooseEnd:
        if (branches) {
          WriteChoice();
          EndLazy();
        } else {
          const auto operands = absl::MakeConstSpan(stack_).last(3);
          const ValueId result = builder_.Apply(Op::kSelect, operands);
          stack_.resize(stack_.size() - 3);
          stack_.push_back(result);
          if (node.lazy) choices_.push_back(builder_.TypeOf(result));
        }
        break;
      case NodeKind::kAndBegin:
      case NodeKind::kOrBegin:
        SLIPWAY_RETURN_IF_ERROR(CheckLogical(node, stack_.back(), "the left side of"));
        if (branches) BeginLogical(node.kind == NodeKind::kAndBegin);
        break;
      case NodeKind::kAndEnd:
      case NodeKind::kOrEnd:
        SLIPWAY_RETURN_IF_ERROR(CheckLogical(node, stack_.back(), "the right side of"));
        if (branches) {
          builder_.Write(open_.back().var, Pop());
          EndLazy();
        } else {
          const ValueId right = Pop();
          const ValueId left = Pop();
          stack_.push_back(builder_.Apply(node.kind == NodeKind::kAndEnd ? Op::kBitAnd : Op::kBitOr, {left, right}));
        }
        break;
      case NodeKind::kAssign: {
        const Symbol& symbol = program_.symbols[node.symbol];
        values_[node.symbol] = Pop();
        if (symbol.kind == SymbolKind::kOutput) outputs_[symbol.index] = values_[node.symbol];
        break;
      }
    }
    return absl::OkStatus();
  }

  ValueId IntegerLiteral(const Node& node) {
    if (node.negative) return builder_.Literal(static_cast<int64_t>(uint64_t{0} - node.bits));
    if (node.bits <= static_cast<uint64_t>(INT64_MAX)) return builder_.Literal(static_cast<int64_t>(node.bits));
    return builder_.Literal(node.bits);
  }

  absl::Status CheckBool(const Node& node, ValueId value, std::string_view what, std::string_view hint) const {
    if (!builder_.status().ok() || builder_.TypeOf(value) == DType::kBool) return absl::OkStatus();
    return program_.source.ErrorAt(
        node.span,
        Cat(what, " '", program_.source.TextOf(node.span), "' is ", Name(builder_.TypeOf(value)), "; a bool is wanted"),
        hint);
  }
  absl::Status CheckLogical(const Node& node, ValueId value, std::string_view side) const {
    const std::string_view bitwise = program_.source.TextOf(node.span).substr(0, 1);
    return CheckBool(node, value, side, Cat("compare it with 0, or write ", bitwise, " to combine bits"));
  }

  // Lazy operands become an if that writes a variable.
  struct Open {
    ir::VarId var;
    uint32_t begin;
  };

  void BeginChoice(uint32_t index) {
    const DType dtype = typing_->choices[choice_of_[index]];
    const ValueId condition = Pop();
    open_.push_back({builder_.NewVar("choice", dtype, builder_.Constant(dtype, 0)), index});
    builder_.BeginIf(condition);
  }
  void WriteChoice() {
    const ir::VarId var = open_.back().var;
    if (builder_.status().ok()) builder_.Write(var, builder_.Cast(builder_.VarType(var), Pop()));
  }
  // a && b: the variable is false, and b where a holds; a || b: it is true, and b where a does not.
  void BeginLogical(bool is_and) {
    const ValueId left = Pop();
    open_.push_back({builder_.NewVar("condition", DType::kBool, builder_.Literal(!is_and)), kNone});
    builder_.BeginIf(is_and ? left : builder_.Apply(Op::kNot, {left}));
  }
  void EndLazy() {
    builder_.EndIf();
    stack_.push_back(builder_.Read(open_.back().var));
    open_.pop_back();
  }

  const Program& program_;
  const Typing* const typing_;
  const absl::Span<const InputBinding> inputs_;
  Builder& builder_;
  std::vector<ValueId> values_;  // By symbol.
  std::vector<ValueId> outputs_;
  std::vector<ValueId> stack_;
  std::vector<Open> open_;
  std::vector<DType> choices_;
  std::vector<uint32_t> choice_of_;  // By node.
};

}  // namespace

absl::StatusOr<Typing> InferTypes(const Program& program, absl::Span<const DType> input_types,
                                  absl::Span<const DType> output_types) {
  Builder builder("typing");
  absl::InlinedVector<InputBinding, 8> inputs(program.inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Parameter& input = program.inputs[i];
    if (input.shape == ShapeRule::kGathered) {
      inputs[i].array = builder.AddArray({.name = input.name,
                                          .kind = ParamKind::kArray,
                                          .dtype = input_types[i],
                                          .rank = input.rank,
                                          .read_only = true});
    } else {
      inputs[i].value = builder.Scalar(builder.AddScalar(input.name, input_types[i]));
    }
  }
  Emitter emitter(program, nullptr, inputs, builder);
  SLIPWAY_RETURN_IF_ERROR(emitter.Run());
  Typing typing{.outputs = {output_types.begin(), output_types.end()}, .choices = emitter.choices()};
  for (const Node& node : program.nodes) {
    if (node.kind != NodeKind::kAssign) continue;
    const Symbol& symbol = program.symbols[node.symbol];
    if (symbol.kind != SymbolKind::kOutput) continue;
    DType& stored = typing.outputs[symbol.index];
    const ValueId value = emitter.outputs()[symbol.index];
    if (stored == DType::kVoid) stored = builder.TypeOf(value);
    builder.ConvertForStore(stored, value, Cat("output '", symbol.name, "'"));
    if (!builder.status().ok()) return emitter.ErrorAt(node, builder.status());
  }
  return typing;
}

absl::StatusOr<std::vector<ValueId>> Emit(const Program& program, const Typing& typing,
                                          absl::Span<const InputBinding> inputs, Builder& builder) {
  Emitter emitter(program, &typing, inputs, builder);
  SLIPWAY_RETURN_IF_ERROR(emitter.Run());
  return emitter.outputs();
}

}  // namespace slipway::text
