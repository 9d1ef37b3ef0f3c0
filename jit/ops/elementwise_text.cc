#include "jit/ops/elementwise_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "driver/status_macros.h"
#include "jit/effects.h"
#include "jit/fold.h"
#include "jit/semantics.h"
#include "jit/text/cat.h"
#include "jit/text/functions.h"

namespace slipway::elementwise {
namespace {

using ir::Inst;
using ir::kNone;
using ir::Op;
using ir::ValueId;
using text::Cat;
using text::EmittedReduction;
using text::EmittedValue;
using Values = absl::Span<const ValueId>;

std::string NumberText(DType type, uint64_t bits) {
  const std::string name(Name(type));
  if (type == DType::kBool) return bits != 0 ? "true" : "false";
  if (!IsFloat(type)) {
    return IsSignedInteger(type) ? absl::StrCat(name, "(", ir::SignedFromBits(type, bits), ")")
                                 : absl::StrCat(name, "(", bits, ")");
  }
  const double value = ir::FloatFromBits(type, bits);
  if (!std::isfinite(value)) return absl::StrFormat("%s_bits(uint%d(0x%x))", name, 8 * SizeOf(type), bits);
  std::string digits = absl::StrFormat("%.17g", value);
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  return absl::StrCat(name, "(", digits, ")");
}

std::string ConstantText(const EmittedValue& value) {
  const DType type = value.constant_type;
  if (!IsComplex(type)) return NumberText(type, value.constant_bits[0]);
  return Cat("complex(", NumberText(PartOf(type), value.constant_bits[0]), ", ",
             NumberText(PartOf(type), value.constant_bits[1]), ")");
}

std::string OperationText(Op op, const std::vector<std::string>& operands) {
  const std::string name = ir::Name(op);
  if (op == Op::kNeg) return absl::StrCat("(-", operands[0], ")");
  if (name[0] >= 'a' && name[0] <= 'z') return absl::StrCat(name, "(", absl::StrJoin(operands, ", "), ")");
  if (operands.size() == 1) return absl::StrCat(name, operands[0]);
  return absl::StrCat("(", operands[0], " ", name, " ", operands[1], ")");
}

std::string Escaped(const std::string& message) {
  return absl::StrReplaceAll(message, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}, {"\t", "\\t"}});
}

std::string CastText(const Inst& inst, const std::string& operand) {
  const auto kind = static_cast<ir::CastKind>(inst.imm);
  return absl::StrCat(std::string(Name(inst.type)), inst.imm == 0 ? "" : "_", ir::Suffix(kind), "(", operand, ")");
}

class TextPrinter {
 public:
  TextPrinter(const ir::Kernel& kernel, const KernelOrigin& origin)
      : kernel_(kernel),
        origin_(origin),
        program_(*origin.program),
        names_(kernel.insts.size()),
        arrays_(kernel.params.size()),
        views_(kernel.params.size(), kNone),
        uses_(kernel.insts.size(), 0),
        seen_from_inside_(kernel.insts.size(), false),
        constants_(kernel.insts.size(), false),
        taken_as_value_(program_.inputs.size(), false),
        taken_otherwise_(program_.inputs.size(), false) {}

  absl::StatusOr<PrintedText> Print() && {
    NamePrefixes();
    NameParameters();
    NameNumbers();
    CountUses();
    FindScopes();
    for (const EmittedReduction& reduction : origin_.reductions) reductions_.emplace(reduction.begin, &reduction);
    FindWhatIsSeen();
    SLIPWAY_RETURN_IF_ERROR(Statements(Between(ProgramBlock(), origin_.begin, origin_.end)));
    UseTheRest();
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      if (program_.outputs[i].shape == text::ShapeRule::kGathered) continue;
      Line(Cat(program_.outputs[i].name, " = ", ValueText(origin_.outputs[i])));
    }
    return PrintedText{.text = constants_text_ + functions_ + out_, .signature = Signature()};
  }

 private:
  // A function that returns early: a scope, the variables that it leaves results in, and their reads behind it.
  struct Scope {
    std::vector<uint64_t> results;
    std::vector<ValueId> reads;
    ValueId end = kNone;  // The first of what comes after it.
  };
  // A function that is being printed.
  struct Function {
    std::vector<std::string> parameters, arguments;
    absl::flat_hash_map<uint32_t, std::string> elements;  // Of views, by parameter: its name.
    const Scope* scope = nullptr;
    absl::flat_hash_map<uint64_t, std::string> results;  // That are written and not yet returned.
    // What was printed around it.
    std::string out;
    size_t depth = 0;
    absl::flat_hash_set<uint64_t> known;
    std::vector<std::vector<uint64_t>> declared;
  };

  const Inst& At(ValueId id) const { return kernel_.insts[id]; }
  ValueId OperandOf(const Inst& inst, size_t i) const { return kernel_.OperandsOf(inst)[i]; }
  bool Is(ValueId id, Op op) const { return At(id).op == op; }

  static bool IsPure(const Inst& inst) {
    return ir::IsOperator(inst.op) || inst.op == Op::kConst || inst.op == Op::kCast || inst.op == Op::kPart ||
           inst.op == Op::kComplex;
  }

  absl::Status No(std::string_view what, const Inst* inst = nullptr) const {
    const bool placed = inst != nullptr && inst->location.line != 0;
    return absl::UnimplementedError(
        Cat("kernel '", kernel_.name, "' has no text: the language cannot say ", what,
            placed ? Cat(" (at ", inst->location.line, ":", inst->location.column, ")") : ""));
  }

  // Instructions of a block whose ids are in a range: ids grow along a block.
  static Values Between(Values block, ValueId begin, ValueId end) {
    const auto first = std::lower_bound(block.begin(), block.end(), begin);
    return block.subspan(static_cast<size_t>(first - block.begin()),
                         static_cast<size_t>(std::lower_bound(first, block.end(), end) - first));
  }
  Values Block(ir::BlockId block) const { return kernel_.blocks[block]; }
  // The body of the if that bounds the loop.
  Values ProgramBlock() const { return Block(At(kernel_.blocks[0].back()).blocks[0]); }

  // Names.

  // Names that begin with these are the printer's.
  void NamePrefixes() {
    const auto taken = [&](const std::string& prefix) {
      const auto begins = [&](const text::Parameter& each) { return each.name.substr(0, prefix.size()) == prefix; };
      return std::any_of(program_.inputs.begin(), program_.inputs.end(), begins) ||
             std::any_of(program_.outputs.begin(), program_.outputs.end(), begins) ||
             std::any_of(program_.externals.begin(), program_.externals.end(),
                         [&](const auto& each) { return each.name().substr(0, prefix.size()) == prefix; });
    };
    for (std::string* prefix : {&value_prefix_, &variable_prefix_, &function_prefix_}) {
      while (taken(*prefix)) *prefix += "_";
    }
  }

  void NameParameters() {
    const text::Site& site = origin_.site;
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      const text::InputBinding& input = site.inputs[i];
      if (input.value != kNone) {
        names_[input.value] = program_.inputs[i].name;
        input_of_[input.value] = i;
      }
      if (input.array != kNone) NameArray(input.array, i);
    }
    for (size_t i = 0; i < site.outputs.size(); ++i) arrays_[site.outputs[i]] = program_.outputs[i].name;
    for (const text::ReductionBinding& reduction : site.reductions) {
      for (size_t i = 0; i < reduction.arrays.size(); ++i) {
        if (reduction.arrays[i] == kNone) continue;
        NameArray(reduction.arrays[i], program_.reduced[i].input);
        views_[reduction.arrays[i]] = program_.reduced[i].input;
      }
    }
  }
  void NameArray(ir::ParamId param, size_t input) {
    arrays_[param] = program_.inputs[input].name;
    array_input_[param] = input;
  }

  // What the program sees of its loop.
  void NameNumbers() {
    const text::Site& site = origin_.site;
    const auto name = [&](ValueId id, std::string text) {
      if (id != kNone) numbers_.try_emplace(id, std::move(text));
    };
    for (size_t d = 0; d < site.extents.size(); ++d) name(site.extents[d], Cat("shape(", d, ")"));
    if (program_.wants_indices) {
      for (size_t d = 0; d < site.indices.size(); ++d) name(site.indices[d], Cat("index(", d, ")"));
    }
    name(site.number, "index()");
    name(site.element, "index()");
    name(site.size, "size()");
  }

  void CountUses() {
    for (const std::vector<ValueId>& block : kernel_.blocks) {
      for (ValueId id : block) {
        for (ValueId operand : kernel_.OperandsOf(At(id))) ++uses_[operand];
      }
    }
  }

  // The variables that results are left in begin right before a scope and are read right behind it, and nowhere else.
  void FindScopes() {
    for (const std::vector<ValueId>& block : kernel_.blocks) {
      for (size_t i = 0; i < block.size(); ++i) {
        if (Is(block[i], Op::kScope)) FindScope(block, i);
      }
    }
  }
  void FindScope(const std::vector<ValueId>& block, size_t at) {
    Scope scope;
    for (size_t i = at + 1; i < block.size() && Is(block[i], Op::kReadVar); ++i) {
      const uint64_t var = At(block[i]).imm;
      if (std::count(scope.results.begin(), scope.results.end(), var) != 0) break;
      scope.results.push_back(var);
      scope.reads.push_back(block[i]);
    }
    // As many of them as begin before it.
    std::vector<ValueId> begins;
    for (size_t i = at; i-- > 0 && (Is(block[i], Op::kWriteVar) || IsPure(At(block[i])));) {
      if (Is(block[i], Op::kWriteVar)) begins.insert(begins.begin(), block[i]);
    }
    const auto starts_with = [&](size_t count) {
      for (size_t i = 0; i < count; ++i) {
        if (At(begins[begins.size() - count + i]).imm != scope.results[i]) return false;
      }
      return true;
    };
    size_t count = std::min(begins.size(), scope.results.size());
    while (count > 0 && !starts_with(count)) --count;
    scope.results.resize(count);
    scope.reads.resize(count);
    if (count == 0) return;
    scope.end = scope.reads[0];
    silent_.insert(begins.end() - static_cast<ptrdiff_t>(count), begins.end());
    silent_.insert(scope.reads.begin(), scope.reads.end());
    scopes_.emplace(block[at], std::move(scope));
  }

  // What functions and operands of reductions use of what is before them, and what that is made of.
  void FindWhatIsSeen() {
    const auto mark = [&](ValueId begin, ValueId end) {
      for (ValueId inside = begin; inside < end; ++inside) {
        for (ValueId operand : kernel_.OperandsOf(At(inside))) {
          if (operand < begin) seen_from_inside_[operand] = true;
        }
      }
    };
    for (const auto& [id, scope] : scopes_) mark(id, scope.end);
    for (const EmittedReduction& reduction : origin_.reductions) mark(reduction.begin, reduction.end);
    for (ValueId id = origin_.end; id-- > origin_.begin;) {
      if (!seen_from_inside_[id] || !IsPure(At(id))) continue;
      for (ValueId operand : kernel_.OperandsOf(At(id))) seen_from_inside_[operand] = true;
    }
  }

  // Values.

  std::string ValueName(ValueId id) const { return absl::StrCat(value_prefix_, id); }
  std::string VariableName(uint64_t var) const { return absl::StrCat(variable_prefix_, var); }

  std::string Operand(ValueId id) {
    if (!names_[id].empty()) {
      if (const auto input = input_of_.find(id); input != input_of_.end()) taken_as_value_[input->second] = true;
      return names_[id];
    }
    if (Is(id, Op::kConst)) return NumberText(At(id).type, At(id).imm);
    const auto number = numbers_.find(id);
    return number == numbers_.end() ? ValueName(id) : number->second;
  }
  std::string ValueText(const EmittedValue& value) {
    return value.constant_type == DType::kVoid ? Operand(value.id) : ConstantText(value);
  }
  std::string Operands(Values operands) {
    return absl::StrJoin(operands, ", ", [&](std::string* out, ValueId id) { absl::StrAppend(out, Operand(id)); });
  }
  std::string Array(uint64_t param) {
    if (const auto input = array_input_.find(param); input != array_input_.end()) {
      taken_otherwise_[input->second] = true;
    }
    return arrays_[param];
  }

  // Whether functions and operands of reductions know it without being given it.
  bool SeenEverywhere(ValueId id) const { return Is(id, Op::kConst) || constants_[id]; }

  // The expression that is the instruction.
  absl::StatusOr<std::string> Expression(const Inst& inst) {
    const Values operands = kernel_.OperandsOf(inst);
    if (ir::IsOperator(inst.op)) {
      std::vector<std::string> texts;
      for (ValueId operand : operands) texts.push_back(Operand(operand));
      return OperationText(inst.op, texts);
    }
    switch (inst.op) {
      case Op::kCast:
        // What the program sees of the loop is int64.
        if (numbers_.contains(operands[0]) && inst.type == DType::kInt64) return Operand(operands[0]);
        return CastText(inst, Operand(operands[0]));
      case Op::kComplex:
        return Cat("complex(", Operands(operands), ")");
      case Op::kPart:
        return Cat(inst.imm == 0 ? "real(" : "imag(", Operand(operands[0]), ")");
      case Op::kReadVar:
        return VariableName(inst.imm);
      case Op::kShape:
        return Cat("shape(", Array(inst.imm), ", ", inst.imm2, ")");
      case Op::kLoad:
        return Cat(Array(inst.imm), "[", Operands(operands), "]");
      case Op::kAtomic: {
        const ir::AtomicRow& row = ir::RowOf(ir::Access::Unpack(inst.imm2).op);
        const size_t indices = operands.size() - static_cast<size_t>(row.operands);
        return Cat("atomic_", row.name, "(", Array(inst.imm), "[", Operands(operands.first(indices)), "], ",
                   Operands(operands.subspan(indices)), ")");
      }
      case Op::kCall:
        return Cat(kernel_.externals[inst.imm].name, "(", Operands(operands), ")");
      default:
        return No(Cat("'", ir::Name(inst.op), "'"), &inst);
    }
  }

  // Statements.

  void Line(std::string_view text) { out_ += Cat(std::string(2 * depth_, ' '), text, "\n"); }

  void Open() {
    ++depth_;
    declared_.emplace_back();
  }
  void Close() {
    for (uint64_t var : declared_.back()) known_.erase(var);
    declared_.pop_back();
    --depth_;
  }
  absl::Status BlockOf(Values block) {
    Open();
    SLIPWAY_RETURN_IF_ERROR(Statements(block));
    Close();
    return absl::OkStatus();
  }

  absl::Status Statements(Values block) {
    for (size_t i = 0; i < block.size();) {
      if (const EmittedReduction* reduction = ReductionAt(block[i])) {
        SLIPWAY_RETURN_IF_ERROR(Reduce(*reduction));
        while (i < block.size() && block[i] < reduction->end) ++i;
        continue;
      }
      if (!silent_.contains(block[i])) SLIPWAY_RETURN_IF_ERROR(Statement(block[i]));
      ++i;
    }
    return absl::OkStatus();
  }

  absl::Status Statement(ValueId id) {
    const Inst& inst = At(id);
    switch (inst.op) {
      case Op::kConst:
        return absl::OkStatus();
      case Op::kWriteVar:
        Write(inst);
        return absl::OkStatus();
      case Op::kStore: {
        const Values operands = kernel_.OperandsOf(inst);
        Line(
            Cat(Array(inst.imm), "[", Operands(operands.first(operands.size() - 1)), "] = ", Operand(operands.back())));
        return absl::OkStatus();
      }
      case Op::kCheck: {
        const Values operands = kernel_.OperandsOf(inst);
        const std::string values = operands.size() > 2 ? absl::StrCat(", ", Operands(operands.subspan(2))) : "";
        Line(Cat("check(", Operand(operands[0]), ", \"", Escaped(kernel_.checks[inst.imm]), "\"", values, ")"));
        return absl::OkStatus();
      }
      case Op::kIf:
        return If(inst);
      case Op::kFor:
        return For(inst);
      case Op::kWhile:
        return While(inst);
      case Op::kScope:
        return CallScope(id);
      case Op::kLeave:
        return Return(inst);
      case Op::kBreak:
      case Op::kContinue:
        Line(ir::Name(inst.op));
        return absl::OkStatus();
      case Op::kLoad:
        if (views_[inst.imm] != kNone) {
          if (open_reductions_.empty()) return No("an array that is reduced outside of its reduction", &inst);
          ElementOf(id);
          return absl::OkStatus();
        }
        break;
      case Op::kReadVar:
        if (!known_.contains(inst.imm)) return No("a variable that begins elsewhere", &inst);
        break;
      default:
        break;
    }
    SLIPWAY_ASSIGN_OR_RETURN(const std::string expression, Expression(inst));
    const Values operands = kernel_.OperandsOf(inst);
    constants_[id] = IsPure(inst) && depth_ == 0 && seen_from_inside_[id] &&
                     std::all_of(operands.begin(), operands.end(), [&](ValueId each) { return SeenEverywhere(each); });
    if (constants_[id]) {
      absl::StrAppend(&constants_text_, "const ", ValueName(id), " = ", expression, "\n");
    } else {
      Line(Cat("let ", ValueName(id), " = ", expression));
    }
    return absl::OkStatus();
  }

  void Write(const Inst& inst) {
    std::string value = Operand(OperandOf(inst, 0));
    if (!calls_.empty() && calls_.back()->scope != nullptr) {
      const std::vector<uint64_t>& results = calls_.back()->scope->results;
      if (std::count(results.begin(), results.end(), inst.imm) != 0) {
        calls_.back()->results[inst.imm] = std::move(value);
        return;
      }
    }
    const bool fresh = known_.insert(inst.imm).second;
    if (fresh) declared_.back().push_back(inst.imm);
    const std::string type = fresh ? absl::StrCat(": ", std::string(Name(kernel_.vars[inst.imm].type))) : "";
    Line(Cat(fresh ? "var " : "", VariableName(inst.imm), type, " = ", value));
  }

  absl::Status If(const Inst& inst) {
    Line(Cat("if ", Operand(OperandOf(inst, 0)), " {"));
    SLIPWAY_RETURN_IF_ERROR(BlockOf(Block(inst.blocks[0])));
    if (!Block(inst.blocks[1]).empty()) {
      Line("} else {");
      SLIPWAY_RETURN_IF_ERROR(BlockOf(Block(inst.blocks[1])));
    }
    Line("}");
    return absl::OkStatus();
  }

  absl::Status For(const Inst& inst) {
    const Values block = Block(inst.blocks[0]);
    // The variable is read once, first, as the language does it.
    if (block.empty() || !Is(block[0], Op::kReadVar) || At(block[0]).imm != inst.imm) {
      return No("a loop that does not begin by reading its variable", &inst);
    }
    const std::string name = VariableName(inst.imm);
    Line(Cat("for ", name, ": ", Name(kernel_.vars[inst.imm].type), " in ", Operand(OperandOf(inst, 0)), "..",
             Operand(OperandOf(inst, 1)), " step ", Operand(OperandOf(inst, 2)), " {"));
    names_[block[0]] = name;
    SLIPWAY_RETURN_IF_ERROR(BlockOf(block.subspan(1)));
    Line("}");
    return absl::OkStatus();
  }

  absl::Status While(const Inst& inst) {
    const Values condition = Block(inst.blocks[0]);
    if (condition.empty() || !Is(condition.back(), Op::kYield)) return No("a loop without a condition", &inst);
    const ValueId holds = OperandOf(At(condition.back()), 0);
    const Values steps = condition.first(condition.size() - 1);
    if (std::optional<std::string> text = OneExpression(steps, {.id = holds}, /*reduces=*/false)) {
      Line(Cat("while ", *text, " {"));
      SLIPWAY_RETURN_IF_ERROR(BlockOf(Block(inst.blocks[1])));
      Line("}");
      return absl::OkStatus();
    }
    Line("while true {");
    Open();
    SLIPWAY_RETURN_IF_ERROR(Statements(steps));
    const std::string name = ValueName(condition.back());
    Line(Cat("let ", name, " = ", Operand(holds)));
    Line(Cat("if !", name, " {"));
    Line("  break");
    Line("}");
    SLIPWAY_RETURN_IF_ERROR(Statements(Block(inst.blocks[1])));
    Close();
    Line("}");
    return absl::OkStatus();
  }

  // Instructions as one expression; none where evaluating it would not make the same instructions, or it would be long.
  std::optional<std::string> OneExpression(Values block, const EmittedValue& result, bool reduces) {
    constexpr size_t kMostInstructions = 64;
    if (block.size() > kMostInstructions) return std::nullopt;
    if (reduces && result.constant_type != DType::kVoid) return std::nullopt;
    std::vector<std::pair<ValueId, std::string>> stack;
    for (size_t at = 0; at < block.size(); ++at) {
      const ValueId id = block[at];
      const Inst& inst = At(id);
      if (const EmittedReduction* reduction = reduces ? ReductionAt(id) : nullptr) {
        if (!IsInner(*reduction)) return std::nullopt;
        absl::StatusOr<std::string> text = ReductionText(*reduction);
        if (!text.ok()) return std::nullopt;  // Told where it stands alone.
        if (reduction->result != result.id && uses_[reduction->result] > 1) return std::nullopt;
        stack.emplace_back(reduction->result, *std::move(text));
        while (at + 1 < block.size() && block[at + 1] < reduction->end) ++at;
        continue;
      }
      if (inst.op == Op::kConst) continue;
      if (id != result.id && uses_[id] > 1) return std::nullopt;
      if (inst.op == Op::kReadVar) {
        if (reduces || !known_.contains(inst.imm)) return std::nullopt;
        stack.emplace_back(id, VariableName(inst.imm));
        continue;
      }
      if (inst.op == Op::kLoad) {
        if (!reduces || views_[inst.imm] == kNone) return std::nullopt;
        stack.emplace_back(id, Array(inst.imm));
        continue;
      }
      if (!IsPure(inst)) return std::nullopt;
      std::vector<std::string> operands(inst.num_operands);
      for (size_t i = inst.num_operands; i-- > 0;) {
        const ValueId operand = OperandOf(inst, i);
        const bool here = !stack.empty() && stack.back().first == operand;
        // Of what is outside a reduction knows constants and numbers.
        const bool known = !reduces || SeenEverywhere(operand) || Is(operand, Op::kScalarParam);
        if (!here && !known) return std::nullopt;
        operands[i] = here ? std::move(stack.back().second) : Operand(operand);
        if (here) stack.pop_back();
        for (const auto& [waiting, text] : stack) {
          if (waiting == operand) return std::nullopt;
        }
      }
      stack.emplace_back(id, inst.op == Op::kCast      ? CastText(inst, operands[0])
                             : inst.op == Op::kPart    ? Cat(inst.imm == 0 ? "real(" : "imag(", operands[0], ")")
                             : inst.op == Op::kComplex ? Cat("complex(", operands[0], ", ", operands[1], ")")
                                                       : OperationText(inst.op, operands));
    }
    if (stack.empty() && !reduces) return Operand(result.id);
    if (stack.size() != 1 || stack[0].first != result.id) return std::nullopt;
    return std::move(stack[0].second);
  }

  // Functions.

  void BeginFunction(Function& function) {
    std::swap(function.out, out_);
    std::swap(function.known, known_);
    std::swap(function.depth, depth_);
    function.declared = std::exchange(declared_, {{}});
    depth_ = 1;
    calls_.push_back(&function);
  }
  // Writes it before all that calls it; returns the call.
  std::string EndFunction(Function& function) {
    calls_.pop_back();
    const std::string name = absl::StrCat(function_prefix_, num_functions_++);
    absl::StrAppend(&functions_, "def ", name, "(", absl::StrJoin(function.parameters, ", "), ") {\n", out_, "}\n");
    std::swap(function.out, out_);
    std::swap(function.known, known_);
    std::swap(function.depth, depth_);
    declared_ = std::move(function.declared);
    return absl::StrCat(name, "(", absl::StrJoin(function.arguments, ", "), ")");
  }
  static void AddParameter(Function& function, std::string parameter, std::string argument) {
    function.parameters.push_back(std::move(parameter));
    function.arguments.push_back(std::move(argument));
  }

  // A scope, with what it uses of the values before it as parameters.
  absl::Status CallScope(ValueId id) {
    const auto found = scopes_.find(id);
    if (found == scopes_.end()) return No("'scope'", &At(id));
    const Scope& scope = found->second;
    Function function;
    function.scope = &scope;
    absl::flat_hash_set<ValueId> passed;
    for (ValueId inside = id + 1; inside < scope.end; ++inside) {
      for (ValueId operand : kernel_.OperandsOf(At(inside))) {
        if (operand >= id || SeenEverywhere(operand) || input_of_.contains(operand) || numbers_.contains(operand)) {
          continue;
        }
        if (passed.insert(operand).second) AddParameter(function, Operand(operand), Operand(operand));
      }
    }
    BeginFunction(function);
    SLIPWAY_RETURN_IF_ERROR(Statements(Block(At(id).blocks[0])));
    std::vector<std::string> results;
    for (ValueId read : scope.reads) results.push_back(ValueName(read));
    const std::string call = EndFunction(function);
    Line(Cat("let ", absl::StrJoin(results, ", "), " = ", call));
    return absl::OkStatus();
  }

  absl::Status Return(const Inst& inst) {
    if (calls_.empty() || calls_.back()->scope == nullptr) return No("'leave' outside of a function", &inst);
    Function& function = *calls_.back();
    std::vector<std::string> results;
    for (uint64_t var : function.scope->results) {
      const auto result = function.results.find(var);
      if (result == function.results.end()) return No("a function that returns nothing", &inst);
      results.push_back(result->second);
    }
    function.results.clear();
    Line(Cat("return ", absl::StrJoin(results, ", ")));
    return absl::OkStatus();
  }

  // Reductions over axes.

  const EmittedReduction* ReductionAt(ValueId begin) const {
    const auto found = reductions_.find(begin);
    return found == reductions_.end() ? nullptr : found->second;
  }
  // Whether it goes over the elements of the reduction that is being printed; others are of the whole loop, whatever
  // they stand in.
  bool IsInner(const EmittedReduction& emitted) const {
    return !open_reductions_.empty() &&
           program_.axis_reductions[emitted.reduction].outer == open_reductions_.back()->reduction;
  }

  // As a statement; within the operand of another one as a parameter of the function that the operand is.
  absl::Status Reduce(const EmittedReduction& reduction) {
    SLIPWAY_ASSIGN_OR_RETURN(std::string text, ReductionText(reduction));
    if (IsInner(reduction)) {
      AddParameter(*OperandFunction(), ValueName(reduction.result), std::move(text));
    } else {
      Line(Cat("let ", ValueName(reduction.result), " = ", text));
    }
    // A complex result may be made of parts, and those be used.
    if (Is(reduction.result, Op::kComplex)) {
      const Values parts = kernel_.OperandsOf(At(reduction.result));
      for (size_t i = 0; i < parts.size(); ++i) {
        if (parts[i] >= reduction.begin)
          names_[parts[i]] = Cat(i == 0 ? "real(" : "imag(", ValueName(reduction.result), ")");
      }
    }
    return absl::OkStatus();
  }

  // The function that the operand of the innermost open reduction is.
  Function* OperandFunction() {
    for (size_t i = calls_.size(); i-- > 0;) {
      if (calls_[i]->scope == nullptr) return calls_[i];
    }
    return nullptr;
  }
  void ElementOf(ValueId id) {
    const auto view = static_cast<uint32_t>(At(id).imm);
    Function& function = *OperandFunction();
    const auto [known, fresh] = function.elements.try_emplace(view, ValueName(id));
    if (fresh) AddParameter(function, ValueName(id), Array(view));
    names_[id] = known->second;
  }

  absl::StatusOr<std::string> ReductionText(const EmittedReduction& emitted) {
    const text::AxisReduction& reduction = program_.axis_reductions[emitted.reduction];
    if (reduction.reduction == text::Reduction::kCustom)
      return No("which function a reduction over axes was made with");
    open_reductions_.push_back(&emitted);
    absl::StatusOr<std::string> operand = OperandText(emitted);
    open_reductions_.pop_back();
    if (!operand.ok()) return operand;
    std::string axes;
    if (reduction.axes.size() == 1) axes = absl::StrCat(", axis=", reduction.axes[0]);
    if (reduction.axes.size() > 1) axes = absl::StrCat(", axis=(", absl::StrJoin(reduction.axes, ", "), ")");
    return Cat(text::Name(reduction.reduction), "(", *operand, axes, reduction.keep_dimensions ? ", keepdims=true" : "",
               ")");
  }

  // The operand, as an expression or as the call of a function that is given the elements.
  absl::StatusOr<std::string> OperandText(const EmittedReduction& emitted) {
    Values block;
    for (const std::vector<ValueId>& each : kernel_.blocks) {
      const Values part = Between(each, emitted.operand_begin, emitted.operand_end);
      // Blocks inside of it begin later.
      if (!part.empty() && (block.empty() || part.front() < block.front())) block = part;
    }
    const std::string functions = functions_;
    const size_t num_functions = num_functions_;
    if (std::optional<std::string> text = OneExpression(block, emitted.operand, /*reduces=*/true)) return *text;
    functions_ = functions;  // Without those of inner reductions that were tried.
    num_functions_ = num_functions;
    Function function;
    BeginFunction(function);
    SLIPWAY_RETURN_IF_ERROR(Statements(block));
    Line(Cat("return ", ValueText(emitted.operand)));
    return EndFunction(function);
  }

  // The parameters.

  // What is not read, as every input has to be.
  void UseTheRest() {
    size_t next = kernel_.insts.size();
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      const bool as_value = origin_.site.inputs[i].value != kNone;
      if (as_value ? taken_as_value_[i] : taken_otherwise_[i]) continue;
      const std::string& name = program_.inputs[i].name;
      Line(Cat("let ", value_prefix_, next++, " = ", as_value ? name : Cat("rank(", name, ")")));
    }
  }

  std::string Signature() const {
    std::vector<std::string> inputs, outputs;
    for (size_t i = 0; i < program_.inputs.size(); ++i) inputs.push_back(InputText(i));
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      const ParamSpec& param = kernel_.params[origin_.site.outputs[i]];
      const bool by_index = program_.outputs[i].shape == text::ShapeRule::kGathered;
      outputs.push_back(ArrayText(program_.outputs[i].name, param, by_index));
    }
    return absl::StrCat(absl::StrJoin(inputs, ", "), inputs.empty() ? "" : " ", "-> ", absl::StrJoin(outputs, ", "));
  }
  static std::string ArrayText(const std::string& name, const ParamSpec& param, bool by_index) {
    const std::string dimensions =
        by_index ? absl::StrJoin(std::vector<std::string>(static_cast<size_t>(param.rank), ":"), ",") : "";
    return absl::StrCat(name, ": ", std::string(Name(param.dtype)), "[", dimensions, "]");
  }
  std::string InputText(size_t i) const {
    const std::string& name = program_.inputs[i].name;
    const text::InputBinding& input = origin_.site.inputs[i];
    if (input.value != kNone) {
      const Inst& inst = At(input.value);
      if (inst.op == Op::kScalarParam) return absl::StrCat(name, ": ", std::string(Name(inst.type)));
      return ArrayText(name, kernel_.params[inst.imm], /*by_index=*/false);
    }
    for (size_t param = 0; param < views_.size(); ++param) {
      if (views_[param] == i && taken_otherwise_[i]) return ArrayText(name, kernel_.params[param], /*by_index=*/false);
    }
    // An array that only its shape is asked of may be a number, too, and may have no dimension to be declared.
    const ParamSpec* const param = input.array == kNone ? nullptr : &kernel_.params[input.array];
    return param == nullptr || param->rank == 0 ? name : ArrayText(name, *param, /*by_index=*/true);
  }

  const ir::Kernel& kernel_;
  const KernelOrigin& origin_;
  const text::Program& program_;
  std::vector<std::string> names_;                     // By value; of inputs, loop variables and elements of views.
  std::vector<std::string> arrays_;                    // By parameter.
  std::vector<uint32_t> views_;                        // By parameter: the input that it is a view of, for a reduction.
  absl::flat_hash_map<ValueId, size_t> input_of_;      // Of the values that inputs have.
  absl::flat_hash_map<uint64_t, size_t> array_input_;  // By parameter.
  absl::flat_hash_map<ValueId, std::string> numbers_;
  std::vector<uint32_t> uses_;                          // By value.
  std::vector<bool> seen_from_inside_;                  // By value: functions and operands of reductions may need it.
  std::vector<bool> constants_;                         // By value: printed as a constant, which those see.
  std::vector<bool> taken_as_value_, taken_otherwise_;  // By input: what the text does with it.
  absl::flat_hash_map<ValueId, Scope> scopes_;
  absl::flat_hash_set<ValueId> silent_;  // What belongs to scopes.
  std::string value_prefix_ = "v", variable_prefix_ = "s", function_prefix_ = "f";
  absl::flat_hash_set<uint64_t> known_;                               // Variables that have begun.
  std::vector<std::vector<uint64_t>> declared_ = {{}};                // In each open block.
  std::vector<Function*> calls_;                                      // Functions that are open.
  absl::flat_hash_map<ValueId, const EmittedReduction*> reductions_;  // By their first instruction.
  std::vector<const EmittedReduction*> open_reductions_;
  size_t num_functions_ = 0;
  size_t depth_ = 0;
  std::string constants_text_, functions_, out_;
};

}  // namespace

absl::StatusOr<PrintedText> PrintText(const ir::Kernel& kernel, const KernelOrigin& origin) {
  return TextPrinter(kernel, origin).Print();
}

}  // namespace slipway::elementwise
