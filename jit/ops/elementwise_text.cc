#include "jit/ops/elementwise_text.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "driver/status_macros.h"
#include "jit/effects.h"
#include "jit/fold.h"
#include "jit/semantics.h"
#include "jit/text/cat.h"
#include "jit/text/functions.h"
#include "jit/text/words.h"

namespace slipway::elementwise {
namespace {

using ir::Inst;
using ir::kNone;
using ir::Op;
using ir::ValueId;
using text::Cat;

// What a value of the frame around a program stands for: the loop's own numbers, which the program sees by name.
struct Role {
  enum Kind : uint8_t {
    kNumber,          // The element's, in row-major order.
    kSize,            // Of the loop.
    kIndex,           // Along `dimension`.
    kExtent,          // Of `dimension`, and
    kUnsignedExtent,  // for dividing by it.
    kRest,            // The number without the dimensions behind `dimension`.
    kOuterProduct,    // kRest of the dimension outside, times the extent.
    kUnsignedIndex,
    kInnerProduct,  // Of extents.
  };
  Kind kind = kNumber;
  int dimension = 0;
};

class TextPrinter {
 public:
  explicit TextPrinter(const ir::Kernel& kernel)
      : kernel_(kernel), roles_(kernel.insts.size()), names_(kernel.insts.size()), plain_(kernel.params.size()) {}

  absl::StatusOr<PrintedText> Print() && {
    if (!kernel_.buffers.empty()) return No(Cat("array '", kernel_.buffers[0].spec.name, "' of the kernel's own"));
    if (kernel_.bounds.max_threads != 0 || kernel_.bounds.max_registers != 0) return No("launch bounds");
    SLIPWAY_RETURN_IF_ERROR(FindFrame());
    SLIPWAY_RETURN_IF_ERROR(CheckParameters());
    CountUses();
    const std::vector<ValueId>& block = kernel_.blocks[body_];
    size_t begin = SkipFrame(block);
    begin = ReadInputs(block, begin);
    const size_t end = FindResults(block);
    if (end < begin) return No("a loop without a program");
    for (size_t i = begin; i < end; ++i) SLIPWAY_RETURN_IF_ERROR(Statement(block[i]));
    for (const Result& result : results_) {
      absl::StrAppend(&out_, kernel_.params[result.output].name, " = ", Operand(result.value), "\n");
    }
    PrintedText printed{.text = std::move(out_), .signature = Signature()};
    SLIPWAY_RETURN_IF_ERROR(Specialize(printed.specialization));
    return printed;
  }

 private:
  struct Result {
    uint32_t output = 0;
    ValueId value = kNone;  // Before it is converted for its output.
    uint8_t mask = 0;
  };

  const Inst& At(ValueId id) const { return kernel_.insts[id]; }
  ValueId OperandOf(const Inst& inst, size_t i) const { return kernel_.OperandsOf(inst)[i]; }
  bool Is(ValueId id, Op op) const { return At(id).op == op; }
  bool Has(ValueId id, Role::Kind kind) const { return roles_[id].has_value() && roles_[id]->kind == kind; }

  absl::Status No(std::string_view what, const Inst* inst = nullptr) const {
    const bool placed = inst != nullptr && inst->location.line != 0;
    return absl::UnimplementedError(
        Cat("kernel '", kernel_.name, "' has no text: the language cannot say ", what,
            placed ? Cat(" (at ", inst->location.line, ":", inst->location.column, ")") : ""));
  }

  // The frame: one thread an element, and nothing but the program in the if that bounds it.
  absl::Status FindFrame() {
    const std::vector<ValueId>& top = kernel_.blocks[0];
    constexpr std::string_view kWhat = "a kernel that is no loop over elements";
    if (top.empty() || !Is(top.back(), Op::kIf)) return No(kWhat);
    const Inst& guard = At(top.back());
    const ValueId condition = OperandOf(guard, 0);
    if (!Is(condition, Op::kLt) || !kernel_.blocks[guard.blocks[1]].empty()) return No(kWhat);
    number_ = OperandOf(At(condition), 0);
    const ValueId size = OperandOf(At(condition), 1);
    if (!IsThreadNumber(number_)) return No(kWhat);
    for (ValueId id : top) {
      const Op op = At(id).op;
      const bool known = op == Op::kSpecial || op == Op::kCast || op == Op::kMul || op == Op::kAdd ||
                         op == Op::kShape || op == Op::kScalarParam || op == Op::kLt || op == Op::kIf;
      if (!known) return No(kWhat, &At(id));
    }
    body_ = guard.blocks[0];
    narrow_ = At(number_).type == DType::kInt32;
    roles_[number_] = Role{Role::kNumber};
    roles_[size] = Role{Role::kSize};
    if (Is(size, Op::kScalarParam)) {
      first_extent_ = static_cast<size_t>(At(size).imm);
      loop_rank_ = static_cast<int>(kernel_.params.size() - first_extent_);
    } else {
      first_extent_ = kernel_.params.size();
      loop_rank_ = 1;
    }
    if (loop_rank_ > kMaxRank) return No(kWhat);
    return absl::OkStatus();
  }

  // block.x * block_dim.x + thread.x
  bool IsThreadNumber(ValueId id) const {
    const auto reads = [&](ValueId value, ir::SpecialRegister reg) {
      while (Is(value, Op::kCast)) value = OperandOf(At(value), 0);
      return Is(value, Op::kSpecial) && At(value).imm == static_cast<uint64_t>(reg);
    };
    if (!Is(id, Op::kAdd) || !reads(OperandOf(At(id), 1), ir::SpecialRegister::kThreadX)) return false;
    const ValueId product = OperandOf(At(id), 0);
    return Is(product, Op::kMul) && reads(OperandOf(At(product), 0), ir::SpecialRegister::kBlockX) &&
           reads(OperandOf(At(product), 1), ir::SpecialRegister::kBlockDimX);
  }

  // Outputs, inputs, extents; all with names that the language has.
  absl::Status CheckParameters() {
    while (outputs_ < first_extent_ && kernel_.params[outputs_].kind == ParamKind::kArray &&
           !kernel_.params[outputs_].read_only) {
      ++outputs_;
    }
    for (size_t i = 0; i < kernel_.params.size(); ++i) {
      const ParamSpec& param = kernel_.params[i];
      if (param.kind == ParamKind::kStruct || (param.kind == ParamKind::kArray && !param.read_only && i >= outputs_)) {
        return No(Cat("parameter '", param.name, "': parameters are outputs, then arrays that are read and numbers"));
      }
      if (text::FindKeyword(param.name) != nullptr || text::FindForeignWord(param.name) != nullptr) {
        return No(Cat("parameter '", param.name, "', which is a word of it"));
      }
    }
    while (TakenPrefix(value_prefix_)) value_prefix_ += "_";
    while (TakenPrefix(variable_prefix_) || variable_prefix_ == value_prefix_) variable_prefix_ += "_";
    return absl::OkStatus();
  }
  bool TakenPrefix(const std::string& prefix) const {
    for (const ParamSpec& param : kernel_.params) {
      if (param.name.substr(0, prefix.size()) == prefix) return true;
    }
    return false;
  }

  void CountUses() {
    uses_.assign(kernel_.insts.size(), 0);
    for (const std::vector<ValueId>& block : kernel_.blocks) {
      for (ValueId id : block) {
        for (ValueId operand : kernel_.OperandsOf(At(id))) ++uses_[operand];
      }
    }
  }

  // What comes before the program: indices out of the element's number, and extents.
  size_t SkipFrame(const std::vector<ValueId>& block) {
    size_t i = 0;
    for (; i < block.size(); ++i) {
      const Inst& inst = At(block[i]);
      if (inst.op == Op::kConst) continue;
      const std::optional<Role> role = FrameRole(inst);
      if (!role.has_value()) break;
      roles_[block[i]] = role;
      if (role->kind == Role::kIndex) unravelled_ |= static_cast<uint8_t>(1 << role->dimension);
      if (role->kind == Role::kExtent && inst.op == Op::kDiv) keeps_dimensions_ = true;
    }
    while (i > 0 && At(block[i - 1]).op == Op::kConst) --i;
    if (loop_rank_ == 1) roles_[number_] = Role{keeps_dimensions_ ? Role::kIndex : Role::kNumber, 0};
    return i;
  }

  std::optional<Role> FrameRole(const Inst& inst) const {
    const auto role = [&](size_t i) { return roles_[OperandOf(inst, i)]; };
    const auto is = [&](size_t i, Role::Kind kind) { return role(i).has_value() && role(i)->kind == kind; };
    const bool is_unsigned = inst.type == DType::kUInt32 || inst.type == DType::kUInt64;
    switch (inst.op) {
      case Op::kScalarParam:
        if (inst.imm <= first_extent_ || inst.imm >= kernel_.params.size()) return std::nullopt;
        return Role{Role::kExtent, static_cast<int>(inst.imm - first_extent_)};
      case Op::kCast:
        if (is_unsigned && is(0, Role::kNumber)) return Role{Role::kRest, loop_rank_ - 1};
        if (is_unsigned && is(0, Role::kExtent)) return Role{Role::kUnsignedExtent, role(0)->dimension};
        if (!is_unsigned && inst.type == At(number_).type && is(0, Role::kUnsignedIndex)) {
          return Role{Role::kIndex, role(0)->dimension};
        }
        if (!is_unsigned && inst.type == At(number_).type && is(0, Role::kRest) && role(0)->dimension == 0) {
          return Role{Role::kIndex, 0};
        }
        return std::nullopt;
      case Op::kDiv:
        if (is(0, Role::kRest) && is(1, Role::kUnsignedExtent)) return Role{Role::kRest, role(0)->dimension - 1};
        // The outermost extent is what the others leave of the size.
        if (is(0, Role::kSize) && (is(1, Role::kInnerProduct) || Is(OperandOf(inst, 1), Op::kConst))) {
          return Role{Role::kExtent, 0};
        }
        return std::nullopt;
      case Op::kMul:
        if (is(0, Role::kRest) && is(1, Role::kUnsignedExtent)) {
          return Role{Role::kOuterProduct, role(1)->dimension};
        }
        if ((is(0, Role::kInnerProduct) || Is(OperandOf(inst, 0), Op::kConst)) && is(1, Role::kExtent)) {
          return Role{Role::kInnerProduct};
        }
        return std::nullopt;
      case Op::kSub:
        if (is(0, Role::kRest) && is(1, Role::kOuterProduct)) {
          return Role{Role::kUnsignedIndex, role(1)->dimension};
        }
        return std::nullopt;
      default:
        return std::nullopt;
    }
  }

  // The loop's dimensions that an element of its own depends on; none if the indices are others.
  std::optional<uint8_t> MaskOf(absl::Span<const ValueId> indices) const {
    if (indices.size() == 1 && indices[0] == number_) return static_cast<uint8_t>((1 << loop_rank_) - 1);
    int last = -1;
    uint8_t mask = 0;
    for (ValueId index : indices) {
      if (!Has(index, Role::kIndex) || roles_[index]->dimension <= last) return std::nullopt;
      last = roles_[index]->dimension;
      mask |= static_cast<uint8_t>(1 << last);
    }
    return mask;
  }

  // Whether a load is as the language makes them: what is read by index, and broadcast, nobody writes.
  bool IsOrdinary(const Inst& load) const {
    static const uint32_t kReadOnly = ir::Access(MemoryAccess::ReadOnly()).Pack();
    return load.imm2 == 0 || (load.imm2 == kReadOnly && kernel_.params[load.imm].read_only);
  }

  // Numbers, and arrays that are read at the element: in the order of the parameters, before anything else.
  size_t ReadInputs(const std::vector<ValueId>& block, size_t i) {
    size_t next = outputs_;
    for (; i < block.size(); ++i) {
      const Inst& inst = At(block[i]);
      if (inst.op != Op::kScalarParam && inst.op != Op::kLoad) break;
      if (inst.imm < next || inst.imm >= first_extent_) break;
      if (inst.op == Op::kLoad) {
        const std::optional<uint8_t> mask = MaskOf(kernel_.OperandsOf(inst));
        if (!mask.has_value() || !IsOrdinary(inst)) break;
        plain_[inst.imm] = *mask;
      }
      names_[block[i]] = kernel_.params[inst.imm].name;
      next = inst.imm + 1;
    }
    return i;
  }

  // The stores at the end, and the conversions before them. Returns where they begin.
  size_t FindResults(const std::vector<ValueId>& block) {
    size_t end = block.size();
    uint64_t before = kernel_.params.size();
    while (end > 0) {
      const Inst& store = At(block[end - 1]);
      if (store.op != Op::kStore || store.imm >= outputs_ || store.imm >= before || store.imm2 != 0) break;
      const auto operands = kernel_.OperandsOf(store);
      const std::optional<uint8_t> mask = MaskOf(operands.first(operands.size() - 1));
      if (!mask.has_value()) break;
      ValueId value = operands.back();
      --end;
      if (end > 0 && block[end - 1] == value && uses_[value] == 1) {
        const Inst& cast = At(value);
        if (cast.op == Op::kCast && cast.imm == 0) {
          value = OperandOf(cast, 0);
          --end;
        } else if (cast.op == Op::kConst) {
          --end;
        }
      }
      plain_[store.imm] = *mask;
      results_.insert(results_.begin(), {static_cast<uint32_t>(store.imm), value, *mask});
      before = store.imm;
    }
    return end;
  }

  // Values.

  static std::string ConstantText(DType type, uint64_t bits) {
    const std::string name(Name(type));
    if (type == DType::kBool) return bits != 0 ? "true" : "false";
    if (!IsFloat(type)) {
      return IsSignedInteger(type) ? absl::StrCat(name, "(", ir::SignedFromBits(type, bits), ")")
                                   : absl::StrCat(name, "(", bits, ")");
    }
    const double value = ir::FloatFromBits(type, bits);
    if (!std::isfinite(value)) {
      return absl::StrFormat("%s_bits(uint%d(0x%x))", name, 8 * SizeOf(type), bits);
    }
    std::string digits = absl::StrFormat("%.17g", value);
    if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
    return absl::StrCat(name, "(", digits, ")");
  }

  std::string Operand(ValueId id) const {
    if (!names_[id].empty()) return names_[id];
    if (Is(id, Op::kConst)) return ConstantText(At(id).type, At(id).imm);
    if (!roles_[id].has_value()) return absl::StrCat(value_prefix_, id);
    const Role& role = *roles_[id];
    switch (role.kind) {
      case Role::kNumber:
        return "index()";
      case Role::kSize:
        return "size()";
      case Role::kIndex:
        keeps_dimensions_ = true;
        return absl::StrCat("index(", role.dimension, ")");
      case Role::kExtent:
        keeps_dimensions_ = true;
        return absl::StrCat("shape(", role.dimension, ")");
      default:
        return absl::StrCat(value_prefix_, id);
    }
  }
  std::string Operands(const Inst& inst, size_t from, size_t to) const {
    return absl::StrJoin(kernel_.OperandsOf(inst).subspan(from, to - from), ", ",
                         [&](std::string* out, ValueId id) { absl::StrAppend(out, Operand(id)); });
  }
  std::string VariableName(uint64_t var) const { return absl::StrCat(variable_prefix_, var); }

  static std::string Operation(Op op, const std::vector<std::string>& operands) {
    const std::string name = ir::Name(op);
    if (op == Op::kNeg) return absl::StrCat("(-", operands[0], ")");
    if (name[0] >= 'a' && name[0] <= 'z') return absl::StrCat(name, "(", absl::StrJoin(operands, ", "), ")");
    if (operands.size() == 1) return absl::StrCat(name, operands[0]);
    return absl::StrCat("(", operands[0], " ", name, " ", operands[1], ")");
  }
  static std::string CastText(const Inst& inst, const std::string& operand) {
    const auto kind = static_cast<ir::CastKind>(inst.imm);
    return absl::StrCat(std::string(Name(inst.type)), inst.imm == 0 ? "" : "_", ir::Suffix(kind), "(", operand, ")");
  }

  // The expression that is the instruction.
  absl::StatusOr<std::string> Expression(const Inst& inst) const {
    if (ir::IsOperator(inst.op)) {
      std::vector<std::string> operands;
      for (ValueId operand : kernel_.OperandsOf(inst)) operands.push_back(Operand(operand));
      return Operation(inst.op, operands);
    }
    switch (inst.op) {
      case Op::kCast:
        // What the program sees of the loop is int64.
        if (roles_[OperandOf(inst, 0)].has_value() && inst.type == DType::kInt64) return Operand(OperandOf(inst, 0));
        return CastText(inst, Operand(OperandOf(inst, 0)));
      case Op::kReadVar:
        return VariableName(inst.imm);
      case Op::kShape:
        return absl::StrCat("shape(", kernel_.params[inst.imm].name, ", ", inst.imm2, ")");
      case Op::kLoad:
        if (!IsOrdinary(inst)) return No("a load that is no ordinary one", &inst);
        return absl::StrCat(kernel_.params[inst.imm].name, "[", Operands(inst, 0, inst.num_operands), "]");
      case Op::kAtomic: {
        const ir::Access access = ir::Access::Unpack(inst.imm2);
        if (access.order != MemoryOrder::kRelaxed || access.scope != MemoryScope::kDevice) {
          return No("an atomic operation that is not relaxed among the device's threads", &inst);
        }
        const size_t indices = inst.num_operands - static_cast<size_t>(ir::RowOf(access.op).operands);
        return absl::StrCat("atomic_", ir::RowOf(access.op).name, "(", kernel_.params[inst.imm].name, "[",
                            Operands(inst, 0, indices), "], ", Operands(inst, indices, inst.num_operands), ")");
      }
      default:
        return No(Cat("'", ir::Name(inst.op), "'"), &inst);
    }
  }

  // Statements.

  void Line(std::string_view text) { out_ += Cat(std::string(2 * depth_, ' '), text, "\n"); }

  absl::Status Block(ir::BlockId block) {
    ++depth_;
    declared_.emplace_back();
    for (ValueId id : kernel_.blocks[block]) SLIPWAY_RETURN_IF_ERROR(Statement(id));
    for (uint64_t var : declared_.back()) known_.erase(var);
    declared_.pop_back();
    --depth_;
    return absl::OkStatus();
  }

  absl::Status Statement(ValueId id) {
    const Inst& inst = At(id);
    if (inst.op == Op::kConst) return absl::OkStatus();
    if (inst.op == Op::kReadVar && !known_.contains(inst.imm)) return No("a variable that begins elsewhere", &inst);
    switch (inst.op) {
      case Op::kWriteVar: {
        const bool fresh = known_.insert(inst.imm).second;
        if (fresh) declared_.back().push_back(inst.imm);
        const std::string type = fresh ? absl::StrCat(": ", std::string(Name(kernel_.vars[inst.imm].type))) : "";
        Line(Cat(fresh ? "var " : "", VariableName(inst.imm), type, " = ", Operand(OperandOf(inst, 0))));
        return absl::OkStatus();
      }
      case Op::kStore:
        if (inst.imm2 != 0) return No("a store that is no ordinary one", &inst);
        Line(Cat(kernel_.params[inst.imm].name, "[", Operands(inst, 0, inst.num_operands - 1),
                 "] = ", Operand(kernel_.OperandsOf(inst).back())));
        return absl::OkStatus();
      case Op::kIf:
        Line(Cat("if ", Operand(OperandOf(inst, 0)), " {"));
        SLIPWAY_RETURN_IF_ERROR(Block(inst.blocks[0]));
        if (!kernel_.blocks[inst.blocks[1]].empty()) {
          Line("} else {");
          SLIPWAY_RETURN_IF_ERROR(Block(inst.blocks[1]));
        }
        Line("}");
        return absl::OkStatus();
      case Op::kFor:
        return For(inst);
      case Op::kWhile:
        return While(inst);
      case Op::kBreak:
      case Op::kContinue:
        Line(ir::Name(inst.op));
        return absl::OkStatus();
      default:
        break;
    }
    SLIPWAY_ASSIGN_OR_RETURN(const std::string expression, Expression(inst));
    Line(Cat("let ", value_prefix_, id, " = ", expression));
    return absl::OkStatus();
  }

  absl::Status For(const Inst& inst) {
    if (inst.imm2 != 0) return No("how often a loop is unrolled", &inst);
    const std::vector<ValueId>& block = kernel_.blocks[inst.blocks[0]];
    // The variable is read once, first, as the language does it.
    if (block.empty() || !Is(block[0], Op::kReadVar) || At(block[0]).imm != inst.imm) {
      return No("a loop that does not begin by reading its variable", &inst);
    }
    const std::string name = VariableName(inst.imm);
    Line(Cat("for ", name, ": ", Name(kernel_.vars[inst.imm].type), " in ", Operand(OperandOf(inst, 0)), "..",
             Operand(OperandOf(inst, 1)), " step ", Operand(OperandOf(inst, 2)), " {"));
    names_[block[0]] = name;
    ++depth_;
    declared_.emplace_back();
    for (size_t i = 1; i < block.size(); ++i) SLIPWAY_RETURN_IF_ERROR(Statement(block[i]));
    for (uint64_t var : declared_.back()) known_.erase(var);
    declared_.pop_back();
    --depth_;
    Line("}");
    return absl::OkStatus();
  }

  absl::Status While(const Inst& inst) {
    if (inst.imm2 != 0) return No("how often a loop is unrolled", &inst);
    const std::optional<std::string> condition = ConditionText(kernel_.blocks[inst.blocks[0]]);
    if (condition.has_value()) {
      Line(Cat("while ", *condition, " {"));
      SLIPWAY_RETURN_IF_ERROR(Block(inst.blocks[1]));
      Line("}");
      return absl::OkStatus();
    }
    Line("while true {");
    ++depth_;
    declared_.emplace_back();
    for (ValueId id : kernel_.blocks[inst.blocks[0]]) {
      if (!Is(id, Op::kYield)) {
        SLIPWAY_RETURN_IF_ERROR(Statement(id));
        continue;
      }
      const std::string name = absl::StrCat(value_prefix_, id);
      Line(Cat("let ", name, " = ", Operand(OperandOf(At(id), 0))));
      Line(Cat("if !", name, " {"));
      Line("  break");
      Line("}");
    }
    const size_t depth = depth_--;
    SLIPWAY_RETURN_IF_ERROR(Block(inst.blocks[1]));
    depth_ = depth;
    for (uint64_t var : declared_.back()) known_.erase(var);
    declared_.pop_back();
    --depth_;
    Line("}");
    return absl::OkStatus();
  }

  // A block of a condition as one expression; none where evaluating it would not make the same instructions.
  std::optional<std::string> ConditionText(const std::vector<ValueId>& block) const {
    std::vector<std::pair<ValueId, std::string>> stack;
    for (ValueId id : block) {
      const Inst& inst = At(id);
      if (inst.op == Op::kConst) continue;
      if (inst.op == Op::kReadVar) {
        if (!known_.contains(inst.imm) || uses_[id] != 1) return std::nullopt;
        stack.emplace_back(id, VariableName(inst.imm));
        continue;
      }
      if (!ir::IsOperator(inst.op) && inst.op != Op::kCast && inst.op != Op::kYield) return std::nullopt;
      std::vector<std::string> operands(inst.num_operands);
      for (size_t i = inst.num_operands; i-- > 0;) {
        const ValueId operand = OperandOf(inst, i);
        const bool here = !stack.empty() && stack.back().first == operand;
        operands[i] = here ? stack.back().second : Operand(operand);
        if (here) stack.pop_back();
        for (const auto& [waiting, text] : stack) {
          if (waiting == operand) return std::nullopt;
        }
      }
      if (inst.op == Op::kYield) return stack.empty() ? std::optional(operands[0]) : std::nullopt;
      if (uses_[id] != 1) return std::nullopt;
      stack.emplace_back(id, inst.op == Op::kCast ? CastText(inst, operands[0]) : Operation(inst.op, operands));
    }
    return std::nullopt;
  }

  // The parameters.

  std::string Signature() const {
    std::vector<std::string> inputs, outputs;
    for (size_t i = 0; i < first_extent_; ++i) {
      const ParamSpec& param = kernel_.params[i];
      std::string text = absl::StrCat(param.name, ": ", std::string(Name(param.dtype)));
      if (param.kind == ParamKind::kArray) {
        const std::string dimensions = absl::StrJoin(std::vector<std::string>(param.rank, ":"), ",");
        absl::StrAppend(&text, "[", plain_[i].has_value() ? "" : dimensions, "]");
      }
      (i < outputs_ ? outputs : inputs).push_back(std::move(text));
    }
    return absl::StrCat(absl::StrJoin(inputs, ", "), inputs.empty() ? "" : " ", "-> ", absl::StrJoin(outputs, ", "));
  }

  absl::Status Specialize(Specialization& specialization) const {
    specialization.loop_rank = loop_rank_;
    specialization.index = narrow_ ? IndexWidth::kIndex32 : IndexWidth::kIndex64;
    uint8_t needed = 0;  // By arrays; what is unravelled beside is there because the program kept its dimensions.
    for (const std::optional<uint8_t>& mask : plain_) needed |= mask.value_or(0);
    const bool keeps = keeps_dimensions_ || (loop_rank_ > 1 && (unravelled_ & ~needed) != 0);
    specialization.output_rank = keeps ? loop_rank_ : 0;
    const auto all = static_cast<uint8_t>((1 << loop_rank_) - 1);
    for (size_t i = 0; i < first_extent_; ++i) {
      const ParamSpec& param = kernel_.params[i];
      ArgumentForm form{.dtype = param.dtype, .contiguous = param.layout == Layout::kContiguous};
      if (param.kind == ParamKind::kArray && !plain_[i].has_value()) {
        form.access = Access::kGathered;
        form.rank = static_cast<uint8_t>(param.rank);
        if (param.rank == 0) return No(Cat("'", param.name, "', an array of rank 0 that is read by index"));
      } else if (param.kind == ParamKind::kArray) {
        const bool linear = *plain_[i] == all && param.rank == 1 && form.contiguous;
        form.access = linear ? Access::kLinear : Access::kIndexed;
        form.mask = linear ? 0 : *plain_[i];
      }
      (i < outputs_ ? specialization.outputs : specialization.inputs).push_back(form);
    }
    if (TakesExtents(specialization) != (first_extent_ != kernel_.params.size())) {
      return No("a size that is given beside an output of that size");
    }
    return absl::OkStatus();
  }

  const ir::Kernel& kernel_;
  std::vector<std::optional<Role>> roles_;     // By value.
  std::vector<std::string> names_;             // By value; of inputs and loop variables.
  std::vector<std::optional<uint8_t>> plain_;  // By parameter: the dimensions of one that is met element by element.
  std::vector<uint32_t> uses_;                 // By value.
  std::vector<Result> results_;
  std::string value_prefix_ = "v", variable_prefix_ = "s";
  ir::BlockId body_ = 0;
  ValueId number_ = kNone;
  bool narrow_ = false;
  mutable bool keeps_dimensions_ = false;  // The text names one.
  uint8_t unravelled_ = 0;                 // Dimensions along which the frame knows the index.
  size_t outputs_ = 0;
  size_t first_extent_ = 0;
  int loop_rank_ = 1;
  absl::flat_hash_set<uint64_t> known_;                 // Variables that have begun.
  std::vector<std::vector<uint64_t>> declared_ = {{}};  // In each open block.
  size_t depth_ = 0;
  std::string out_;
};

}  // namespace

absl::StatusOr<PrintedText> PrintText(const ir::Kernel& kernel) { return TextPrinter(kernel).Print(); }

}  // namespace slipway::elementwise
