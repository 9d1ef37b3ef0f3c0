#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "driver/error_record.h"
#include "jit/effects.h"
#include "jit/ir.h"
#include "jit/semantics.h"
#include "jit/walk.h"

namespace slipway::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel), state_(kernel.insts.size(), kUnseen) {}

  absl::Status Run() {
    if (!TreeIsSound() || !BuffersAreSound()) return status_;
    std::vector<size_t> scope_starts;
    std::vector<ValueId> in_scope;
    Walk(
        kernel_,
        [&](ValueId owner, int which) {
          scope_starts.push_back(in_scope.size());
          open_.push_back({owner == kNone ? Op::kReturn : kernel_.insts[owner].op, which});
        },
        [&](ValueId id) {
          if (status_.ok()) Check(id);
          state_[id] = kInScope;
          in_scope.push_back(id);
        },
        [&](ValueId, int) {
          for (size_t i = scope_starts.back(); i < in_scope.size(); ++i) state_[in_scope[i]] = kClosed;
          in_scope.resize(scope_starts.back());
          scope_starts.pop_back();
          open_.pop_back();
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
      const int wanted = inst.op == Op::kIf || inst.op == Op::kWhile    ? 2
                         : inst.op == Op::kFor || inst.op == Op::kScope ? 1
                                                                        : 0;
      for (int i = 0; i < 2; ++i) {
        const BlockId block = inst.blocks[i];
        if ((block != kNone) != (i < wanted)) Fail(id, "it has the wrong number of blocks");
        if (block == kNone) continue;
        if (block == 0 || block >= kernel_.blocks.size() || owned[block]++ != 0) Fail(id, "its block is not its own");
      }
    }
    return status_.ok();
  }

  bool BuffersAreSound() {
    for (const Buffer& buffer : kernel_.buffers) {
      const ParamSpec& spec = buffer.spec;
      int64_t elements = 1;
      bool sound = spec.kind == ParamKind::kArray && spec.layout == Layout::kContiguous && spec.dtype != DType::kVoid &&
                   spec.rank >= 0 && spec.rank <= kMaxRank && (!buffer.dynamic || buffer.space == Space::kShared) &&
                   buffer.shape.size() == (buffer.dynamic ? 0 : static_cast<size_t>(spec.rank));
      for (int64_t extent : buffer.shape) {
        sound = sound && extent > 0 && extent <= kMaxLocalBytes;
        if (sound) elements *= extent;
        sound = sound && elements <= kMaxLocalBytes;
      }
      if (buffer.space == Space::kConstant) {
        sound = sound && spec.read_only && buffer.data.size() == SizeOf(spec.dtype) * static_cast<size_t>(elements);
      }
      if (!sound) Fail(kNone, absl::StrCat("the buffer '", spec.name, "' is not sound"));
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
      if ((kernel_.insts[operand].op == Op::kLoadGroup) != (inst.op == Op::kResult)) {
        return Fail(id, "an operand is a group of values, or is none where one is wanted");
      }
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

  // The array of an access; its first operands are the indices, of which there are `others` fewer than operands.
  const ParamSpec* Element(ValueId id, const Inst& inst, int others, bool writes) {
    if (!kernel_.HasArray(static_cast<ArrayId>(inst.imm))) {
      Fail(id, "it does not name an array");
      return nullptr;
    }
    const ParamSpec& array = kernel_.ArrayOf(static_cast<ArrayId>(inst.imm));
    if (inst.num_operands != array.rank + others) {
      Fail(id, "it has the wrong number of indices");
      return nullptr;
    }
    for (int i = 0; i < array.rank; ++i) Want(id, IsInteger(Type(inst, i)), "an index is not an integer");
    Want(id, !writes || !array.read_only, "it writes a read-only array");
    return status_.ok() ? &array : nullptr;
  }

  void CheckElement(ValueId id, const Inst& inst) {
    const Access access = Access::Unpack(inst.imm2);
    const bool group = inst.op == Op::kLoadGroup || inst.op == Op::kStoreGroup;
    const bool writes = inst.op == Op::kStore || inst.op == Op::kStoreGroup || inst.op == Op::kAtomic;
    int values = inst.op == Op::kAtomic ? RowOf(access.op).operands : writes ? access.lanes : 0;
    const ParamSpec* array = Element(id, inst, values, writes);
    if (array == nullptr) return;
    for (int i = 0; i < values; ++i) {
      Want(id, Type(inst, array->rank + i) == array->dtype, "the value is not of the array's type");
    }
    const bool result = !writes || inst.op == Op::kAtomic;
    Want(id, inst.type == (result ? array->dtype : DType::kVoid), "its type is not the array's");
    const int lanes = access.lanes;
    const bool fits = (lanes == 2 || lanes == 4 || lanes == 8 || lanes == 16) && array->rank > 0 &&
                      lanes * SizeOf(array->dtype) <= kMaxGroupBytes;
    Want(id, group ? fits : lanes == 1, "it has the wrong number of lanes");
    if (inst.op == Op::kAtomic) {
      Want(id, Contains(RowOf(access.op).accepts, array->dtype), "it is not defined on the array's type");
      const Buffer* buffer = kernel_.BufferOf(static_cast<ArrayId>(inst.imm));
      Want(id, buffer == nullptr || buffer->space == Space::kShared, "its array is not shared with other threads");
    } else if (access.kind == Access::kAtomic) {
      Want(id, !IsComplex(array->dtype) && !group, "it cannot be done in one piece");
    }
  }

  void CheckWarp(ValueId id, const Inst& inst) {
    Want(id, inst.imm < kNumWarpOps, "there is no such operation");
    if (!status_.ok()) return;
    const WarpOp op = static_cast<WarpOp>(inst.imm);
    const WarpRow& row = RowOf(op);
    Want(id, inst.num_operands == row.operands, "it has the wrong number of operands");
    if (!status_.ok()) return;
    if (row.operands > 0) Want(id, Type(inst, 0) == DType::kUInt32, "its mask is not an uint32");
    if (row.operands > 1) Want(id, Contains(row.accepts, Type(inst, 1)), "it is not defined on its operand's type");
    if (row.operands > 2) Want(id, Type(inst, 2) == DType::kUInt32, "its lane is not an uint32");
    const DType value = row.operands > 1 ? Type(inst, 1) : DType::kVoid;
    Want(id, inst.type == ResultType(op, value), "its result type is wrong");
    const uint32_t width = inst.imm2;
    const bool width_fits = width >= 1 && width <= kWarpSize && (width & (width - 1)) == 0;
    Want(id, IsShuffle(op) ? width_fits : width == 0, "its width is wrong");
  }

  void CheckBarrier(ValueId id, const Inst& inst) {
    const Barrier barrier = Barrier::Unpack(inst.imm);
    const bool reduces = barrier.reduction != BarrierReduction::kNone;
    Want(id, barrier.id < kNumBarriers && inst.num_operands == reduces + barrier.counted,
         "it has the wrong number, or the wrong operands");
    if (!status_.ok()) return;
    if (reduces) Want(id, Type(inst, 0) == DType::kBool, "its predicate is not a bool");
    if (barrier.counted) Want(id, Type(inst, reduces) == DType::kUInt32, "its count is not an uint32");
    const DType result = !reduces                                        ? DType::kVoid
                         : barrier.reduction == BarrierReduction::kCount ? DType::kUInt32
                                                                         : DType::kBool;
    Want(id, inst.type == result, "its result type is wrong");
  }

  void CheckCall(ValueId id, const Inst& inst) {
    if (inst.imm >= kernel_.externals.size()) return Fail(id, "there is no such function");
    const External& function = kernel_.externals[inst.imm];
    Want(id, inst.type == function.result && inst.num_operands == function.params.size(),
         "it has another result or number of operands than the function");
    for (size_t i = 0; status_.ok() && i < inst.num_operands; ++i) {
      const DeviceParam& param = function.params[i];
      Want(id, Type(inst, i) == (param.pointer ? DType::kUInt64 : param.dtype),
           "an operand is not of its parameter's type");
    }
  }

  // Whether a loop (or, for kLeave, a scope) is open here; a loop outside of a scope does not count inside of it.
  bool IsInside(bool scope) const {
    for (auto region = open_.rbegin(); region != open_.rend(); ++region) {
      if (region->op == Op::kScope) return scope;
      if (region->op == Op::kWhile && region->which == 0) return false;
      if (!scope && (region->op == Op::kFor || region->op == Op::kWhile)) return true;
    }
    return false;
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
        Want(id, inst.imm < kNumSpecialRegisters && inst.type == TypeOf(static_cast<SpecialRegister>(inst.imm)),
             "there is no such register");
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
      case Op::kField: {
        operands(0);
        const ParamSpec* param = Param(id, ParamKind::kStruct);
        const bool number = inst.type != DType::kVoid;
        Want(id, number && param != nullptr && uint64_t{inst.imm2} + SizeOf(inst.type) <= param->struct_size,
             "there is no such field");
        break;
      }
      case Op::kComplex:
        operands(2);
        if (status_.ok()) {
          const DType part = PartOf(inst.type);
          Want(id, IsComplex(inst.type) && Type(inst, 0) == part && Type(inst, 1) == part, "its parts do not fit");
        }
        break;
      case Op::kPart:
        operands(1);
        if (status_.ok()) {
          Want(id, inst.imm < 2 && IsComplex(Type(inst, 0)) && inst.type == PartOf(Type(inst, 0)),
               "it is no part of a complex number");
        }
        break;
      case Op::kShape: {
        operands(0);
        const ArrayId array = static_cast<ArrayId>(inst.imm);
        Want(id, kernel_.HasArray(array), "it does not name an array");
        if (status_.ok()) {
          Want(id, inst.imm2 < static_cast<uint32_t>(kernel_.ArrayOf(array).rank) && inst.type == DType::kInt64,
               "there is no such dimension");
        }
        break;
      }
      case Op::kDeclare: {
        const ParamSpec* array = Element(id, inst, 0, false);
        const Buffer* buffer = kernel_.BufferOf(static_cast<ArrayId>(inst.imm));
        Want(id, array != nullptr && buffer != nullptr && buffer->dynamic && open_.size() == 1,
             "it does not declare a dynamic array, or not at the top of the kernel");
        for (size_t i = 0; status_.ok() && i < inst.num_operands; ++i) {
          Want(id, Type(inst, i) == DType::kInt64, "an extent is not an int64");
        }
        break;
      }
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
      case Op::kStore:
      case Op::kLoadGroup:
      case Op::kStoreGroup:
      case Op::kAtomic:
        CheckElement(id, inst);
        break;
      case Op::kResult:
        operands(1);
        if (status_.ok()) {
          const Inst& group = kernel_.insts[kernel_.OperandsOf(inst)[0]];
          Want(id, inst.imm < static_cast<uint64_t>(Access::Unpack(group.imm2).lanes) && inst.type == group.type,
               "its group has no such lane");
        }
        break;
      case Op::kBarrier:
        CheckBarrier(id, inst);
        break;
      case Op::kWarp:
        CheckWarp(id, inst);
        break;
      case Op::kFence:
        operands(0);
        Want(id, inst.imm <= static_cast<uint64_t>(MemoryScope::kSystem), "there is no such scope");
        break;
      case Op::kSleep:
        operands(1);
        if (status_.ok()) Want(id, Type(inst, 0) == DType::kUInt32, "its time is not an uint32");
        break;
      case Op::kPrintf:
        Want(id, inst.imm < kernel_.strings.size(), "it has no text");
        break;
      case Op::kAssert:
        operands(1);
        Want(id, inst.imm < kernel_.strings.size(), "it has no text");
        if (status_.ok()) Want(id, Type(inst, 0) == DType::kBool, "its condition is not a bool");
        break;
      case Op::kCheck:
        Want(id, inst.num_operands >= 2 && inst.num_operands <= 2 + internal::kMaxErrorValues,
             "it has the wrong number of operands");
        Want(id, inst.imm < kernel_.checks.size(), "it has no text");
        Want(id, !kernel_.is_function, "it stands in a device function");
        if (status_.ok()) {
          Want(id, Type(inst, 0) == DType::kBool, "its condition is not a bool");
          Want(id, Type(inst, 1) == DType::kInt64, "its element is not an int64");
        }
        break;
      case Op::kLeave:
        operands(0);
        Want(id, IsInside(/*scope=*/true), "it is in no scope");
        break;
      case Op::kBreak:
      case Op::kContinue:
        operands(0);
        Want(id, IsInside(/*scope=*/false), "it is in no loop");
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
      case Op::kAddress:
        Want(id, Element(id, inst, 0, inst.imm2 != 0) != nullptr && inst.type == DType::kUInt64,
             "it is no address of an element");
        break;
      case Op::kCall:
        CheckCall(id, inst);
        break;
      case Op::kReturn:
        operands(inst.num_operands == 0 ? 0 : 1);
        if (status_.ok() && inst.num_operands == 1) {
          Want(id, kernel_.is_function && Type(inst, 0) == kernel_.result, "it is not of the function's result");
        }
        break;
      case Op::kScope:
      case Op::kGridSync:
      case Op::kTrap:
        operands(0);
        break;
      default:
        Fail(id, "it is not an instruction");
    }
  }

  struct Open {
    Op op;
    int which;  // Of the instruction's blocks.
  };

  const Kernel& kernel_;
  std::vector<State> state_;
  std::vector<Open> open_;  // Around the present instruction.
  absl::Status status_;
};

}  // namespace

absl::Status Verify(const Kernel& kernel) { return Verifier(kernel).Run(); }

}  // namespace slipway::ir
