#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "jit/ir.h"
#include "jit/semantics.h"
#include "jit/walk.h"

namespace slipway::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel), state_(kernel.insts.size(), kUnseen) {}

  absl::Status Run() {
    if (!TreeIsSound()) return status_;
    std::vector<size_t> scope_starts;
    std::vector<ValueId> in_scope;
    Walk(
        kernel_, [&](ValueId, int) { scope_starts.push_back(in_scope.size()); },
        [&](ValueId id) {
          if (status_.ok()) Check(id);
          state_[id] = kInScope;
          in_scope.push_back(id);
        },
        [&](ValueId, int) {
          for (size_t i = scope_starts.back(); i < in_scope.size(); ++i) state_[in_scope[i]] = kClosed;
          in_scope.resize(scope_starts.back());
          scope_starts.pop_back();
        });
    return status_;
  }

 private:
  enum State : uint8_t { kUnseen, kInScope, kClosed };

  void Fail(ValueId id, const std::string& what) {
    if (!status_.ok()) return;
    const std::string where =
        id == kNone ? std::string() : absl::StrCat(": instruction ", id, " (", Name(kernel_.insts[id].op), ")");
    status_ = absl::InternalError(
        absl::StrCat("kernel '", kernel_.name, "'", where, ": ", what, "; this is a bug in what made the kernel"));
  }
  void Want(ValueId id, bool condition, const char* what) {
    if (!condition) Fail(id, what);
  }

  // Every block and every instruction is owned once, so that the walk ends.
  bool TreeIsSound() {
    if (kernel_.blocks.empty()) Fail(kNone, "there is no body");
    std::vector<uint8_t> owned(kernel_.blocks.size(), 0), placed(kernel_.insts.size(), 0);
    for (const std::vector<ValueId>& block : kernel_.blocks) {
      for (ValueId id : block) {
        if (id >= kernel_.insts.size() || placed[id]++ != 0) Fail(kNone, "a block lists a wrong instruction");
      }
    }
    for (ValueId id = 0; id < kernel_.insts.size(); ++id) {
      const Inst& inst = kernel_.insts[id];
      if (static_cast<size_t>(inst.first_operand) + inst.num_operands > kernel_.operands.size()) {
        Fail(id, "operands lie outside the kernel");
      }
      const int wanted = inst.op == Op::kIf || inst.op == Op::kWhile ? 2 : inst.op == Op::kFor ? 1 : 0;
      for (int i = 0; i < 2; ++i) {
        const BlockId block = inst.blocks[i];
        if ((block != kNone) != (i < wanted)) Fail(id, "it has the wrong number of blocks");
        if (block == kNone) continue;
        if (block == 0 || block >= kernel_.blocks.size() || owned[block]++ != 0) Fail(id, "its block is not its own");
      }
    }
    return status_.ok();
  }

  DType Type(const Inst& inst, size_t i) const { return kernel_.insts[kernel_.OperandsOf(inst)[i]].type; }

  void Check(ValueId id) {
    const Inst& inst = kernel_.insts[id];
    for (ValueId operand : kernel_.OperandsOf(inst)) {
      if (operand >= kernel_.insts.size() || state_[operand] != kInScope) {
        return Fail(id, "an operand is not defined before it, or no longer in scope");
      }
      if (kernel_.insts[operand].type == DType::kVoid) return Fail(id, "an operand has no value");
    }
    if (IsOperator(inst.op)) {
      CheckOperator(id, inst);
    } else {
      CheckStructure(id, inst);
    }
  }

  void CheckOperator(ValueId id, const Inst& inst) {
    const Semantics& row = SemanticsOf(inst.op);
    if (inst.num_operands != row.arity) return Fail(id, absl::StrCat("it takes ", row.arity, " operands"));
    std::vector<DType> types;
    for (size_t i = 0; i < inst.num_operands; ++i) types.push_back(Type(inst, i));
    const DType operation = OperationType(inst.op, inst.type, types);
    const LowerBy by = LoweringOf(inst.op, operation).by;
    if (!Contains(row.accepts, operation) || by == LowerBy::kNone) {
      return Fail(id, absl::StrCat("it is not defined on ", std::string(Name(operation))));
    }
    for (size_t i = 0; i < types.size(); ++i) {
      const DType want = OperandTypeOf(row, operation, static_cast<int>(i));
      if (types[i] != want) Fail(id, absl::StrCat("operand ", i, " is not ", std::string(Name(want))));
    }
    Want(id, inst.type == ResultTypeOf(row, operation), "its result type is wrong");
  }

  const ParamSpec* Param(ValueId id, ParamKind kind) {
    const uint64_t index = kernel_.insts[id].imm;
    if (index < kernel_.params.size() && kernel_.params[index].kind == kind) return &kernel_.params[index];
    Fail(id, kind == ParamKind::kArray ? "it does not name an array" : "it does not name a scalar");
    return nullptr;
  }

  void CheckElement(ValueId id, const Inst& inst, bool writes) {
    const ParamSpec* param = Param(id, ParamKind::kArray);
    if (param == nullptr) return;
    const size_t indices = static_cast<size_t>(param->rank);
    if (inst.num_operands != indices + (writes ? 1 : 0)) return Fail(id, "it has the wrong number of indices");
    for (size_t i = 0; i < indices; ++i) Want(id, IsInteger(Type(inst, i)), "an index is not an integer");
    if (writes) {
      Want(id, !param->read_only, "it writes a read-only array");
      Want(id, Type(inst, indices) == param->dtype, "the value is not of the array's type");
    }
    Want(id, inst.type == (inst.op == Op::kStore ? DType::kVoid : param->dtype), "its type is not the array's");
  }

  void CheckStructure(ValueId id, const Inst& inst) {
    auto operands = [&](int count) { Want(id, inst.num_operands == count, "it has the wrong number of operands"); };
    auto variable = [&]() -> const Variable* {
      if (inst.imm < kernel_.vars.size()) return &kernel_.vars[inst.imm];
      Fail(id, "it does not name a variable");
      return nullptr;
    };
    switch (inst.op) {
      case Op::kConst:
        operands(0);
        Want(id, inst.type != DType::kVoid && !IsComplex(inst.type), "it has no constant type");
        break;
      case Op::kScalarParam:
        operands(0);
        if (const ParamSpec* param = Param(id, ParamKind::kScalar)) {
          Want(id, inst.type == param->dtype, "its type is not the parameter's");
        }
        break;
      case Op::kSpecial:
        operands(0);
        Want(id, inst.imm < kNumSpecialRegisters && inst.type == DType::kUInt32, "there is no such register");
        break;
      case Op::kCast:
        operands(1);
        if (status_.ok()) {
          const DType from = Type(inst, 0);
          Want(id, !IsComplex(inst.type) && !IsComplex(from) && inst.type != DType::kVoid,
               "it casts what cannot be cast");
          const CastKind kind = static_cast<CastKind>(inst.imm);
          Want(id, inst.imm < kNumCastKinds && (kind == CastKind::kValue || inst.type != DType::kBool),
               "there is no such cast");
          Want(id, kind != CastKind::kBits || (SizeOf(from) == SizeOf(inst.type) && from != DType::kBool),
               "it takes bits of another size");
        }
        break;
      case Op::kShape:
        operands(0);
        if (const ParamSpec* param = Param(id, ParamKind::kArray)) {
          Want(id, inst.imm2 < static_cast<uint32_t>(param->rank) && inst.type == DType::kInt64,
               "there is no such dimension");
        }
        break;
      case Op::kReadVar:
        operands(0);
        if (const Variable* var = variable()) Want(id, inst.type == var->type, "its type is not the variable's");
        break;
      case Op::kWriteVar:
        operands(1);
        if (const Variable* var = variable(); var != nullptr && status_.ok()) {
          Want(id, Type(inst, 0) == var->type, "the value is not of the variable's type");
        }
        break;
      case Op::kLoad:
        CheckElement(id, inst, /*writes=*/false);
        break;
      case Op::kAtomicAdd:
        Want(id, Contains(kAtomicAddTypes, inst.type), "its type cannot be added to atomically");
        [[fallthrough]];
      case Op::kStore:
        CheckElement(id, inst, /*writes=*/true);
        break;
      case Op::kIf:
      case Op::kYield:
        operands(1);
        if (status_.ok()) Want(id, Type(inst, 0) == DType::kBool, "its condition is not a bool");
        break;
      case Op::kFor:
        operands(3);
        if (const Variable* var = variable(); var != nullptr && status_.ok()) {
          Want(id, IsInteger(var->type), "its variable is not an integer");
          for (size_t i = 0; i < 3; ++i) Want(id, Type(inst, i) == var->type, "a bound is not of its variable's type");
        }
        break;
      case Op::kWhile: {
        operands(0);
        const std::vector<ValueId>& condition = kernel_.blocks[inst.blocks[0]];
        Want(id, !condition.empty() && kernel_.insts[condition.back()].op == Op::kYield,
             "its condition does not end in a yield");
        break;
      }
      case Op::kReturn:
        operands(0);
        break;
      default:
        Fail(id, "it is not an instruction");
    }
  }

  const Kernel& kernel_;
  std::vector<State> state_;
  absl::Status status_;
};

}  // namespace

absl::Status Verify(const Kernel& kernel) { return Verifier(kernel).Run(); }

}  // namespace slipway::ir
