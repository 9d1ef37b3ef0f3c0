#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "jit/effects.h"
#include "jit/fold.h"
#include "jit/ir.h"
#include "jit/semantics.h"
#include "jit/walk.h"

namespace slipway::ir {
namespace {

std::string ParamName(const Kernel& kernel, uint64_t index) {
  return index < kernel.params.size() ? kernel.params[index].name : absl::StrCat("param#", index);
}
std::string ArrayName(const Kernel& kernel, uint64_t array) {
  const ArrayId id = static_cast<ArrayId>(array);
  return kernel.HasArray(id) ? kernel.ArrayOf(id).name : absl::StrCat("array#", array);
}

// "shared tile: float32[16,17]", "constant taps: float32[3] = 0x...".
std::string BufferText(const Buffer& buffer) {
  constexpr const char* kSpaces[] = {"local", "shared", "constant"};
  std::string text = absl::StrCat(
      kSpaces[static_cast<int>(buffer.space)], " ", buffer.spec.name, ": ", std::string(Name(buffer.spec.dtype)), "[",
      buffer.dynamic ? std::string(std::max(buffer.spec.rank - 1, 0), ',') : absl::StrJoin(buffer.shape, ","), "]");
  if (buffer.space == Space::kConstant) absl::StrAppend(&text, " = 0x", absl::BytesToHexString(buffer.data));
  return text;
}

// Shortest decimal form that reads back as the same number; independent of the locale, as all of Abseil's.
std::string FloatText(DType type, uint64_t bits) {
  const double value = FloatFromBits(type, bits);
  for (int digits = 1; digits <= 17; ++digits) {
    std::string text = absl::StrFormat("%.*g", digits, value);
    double read = 0;
    if (absl::SimpleAtod(text, &read) && FloatToBits(type, read) == bits) {
      if (text.find_first_of(".en") == std::string::npos) text += ".0";
      return text;
    }
  }
  return absl::StrFormat("0x%x", bits);  // A NaN.
}

std::string ConstantText(DType type, uint64_t bits) {
  std::string text;
  if (type == DType::kBool) return bits != 0 ? "true" : "false";
  if (IsFloat(type)) {
    text = FloatText(type, bits);
  } else if (IsSignedInteger(type)) {
    text = absl::StrCat(SignedFromBits(type, bits));
  } else {
    text = absl::StrCat(bits);
  }
  return absl::StrCat(text, ":", std::string(ShortName(type)));
}

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel), number_(kernel.insts.size(), kNone) {}

  std::string Print() {
    absl::StrAppend(&out_, kernel_.is_function ? "function " : "kernel ", kernel_.name, "(");
    for (size_t i = 0; i < kernel_.params.size(); ++i) {
      absl::StrAppend(&out_, i == 0 ? "" : ", ", Describe(kernel_.params[i]));
    }
    if (kernel_.is_function) absl::StrAppend(&out_, ") -> ", std::string(Name(kernel_.result)), " {\n");
    if (!kernel_.is_function) absl::StrAppend(&out_, ")", BoundsText(), " {\n");
    for (const External& external : kernel_.externals) {
      absl::StrAppend(&out_, "  extern ",
                      Describe(AnyExternalFunction(external.name, external.result, external.params, {})), "\n");
    }
    for (const Buffer& buffer : kernel_.buffers) absl::StrAppend(&out_, "  ", BufferText(buffer), "\n");
    Walk(
        kernel_, [this](ValueId owner, int which) { Enter(owner, which); }, [this](ValueId id) { Instruction(id); },
        [this](ValueId owner, int which) { Leave(owner, which); });
    absl::StrAppend(&out_, "}\n");
    return std::move(out_);
  }

 private:
  std::string BoundsText() const {
    const LaunchBounds& bounds = kernel_.bounds;
    std::string text;
    if (bounds.max_threads != 0) absl::StrAppend(&text, " max_threads ", bounds.max_threads);
    if (bounds.min_blocks != 0) absl::StrAppend(&text, " min_blocks ", bounds.min_blocks);
    if (bounds.max_registers != 0) absl::StrAppend(&text, " max_registers ", bounds.max_registers);
    return text;
  }

  std::string Indent() const { return std::string(2 * depth_, ' '); }

  std::string Variable(uint64_t var) const {
    const std::string& name = var < kernel_.vars.size() ? kernel_.vars[var].name : "";
    return absl::StrCat("$", var, name.empty() ? "" : ".", name);
  }

  std::string Operand(ValueId value) const {
    const Inst& inst = kernel_.insts[value];
    if (inst.op == Op::kConst) return ConstantText(inst.type, inst.imm);  // Where it is used, not on a line of its own.
    return absl::StrCat("%", number_[value]);
  }

  std::string Operands(const Inst& inst, size_t from, size_t to) const {
    std::string text;
    for (size_t i = from; i < to; ++i) {
      absl::StrAppend(&text, i == from ? "" : ", ", Operand(kernel_.OperandsOf(inst)[i]));
    }
    return text;
  }

  // "x[%1, %2]" with the first operands as indices.
  std::string Element(const Inst& inst, size_t indices) const {
    return absl::StrCat(ArrayName(kernel_, inst.imm), "[", Operands(inst, 0, indices), "]");
  }
  static std::string Unroll(const Inst& inst) { return inst.imm2 == 0 ? "" : absl::StrCat(" unroll ", inst.imm2); }

  std::string Body(const Inst& inst) const {
    const size_t count = inst.num_operands;
    const Access access = Access::Unpack(inst.imm2);
    if (IsOperator(inst.op)) return absl::StrCat(Name(inst.op), " ", Operands(inst, 0, count));
    switch (inst.op) {
      case Op::kScalarParam:
        return absl::StrCat("scalar ", ParamName(kernel_, inst.imm));
      case Op::kField:
        return absl::StrCat("field ", ParamName(kernel_, inst.imm), "+", inst.imm2);
      case Op::kSpecial:
        return absl::StrCat("special ", Name(static_cast<SpecialRegister>(inst.imm)));
      case Op::kPart:
        return absl::StrCat(inst.imm == 0 ? "real " : "imag ", Operands(inst, 0, count));
      case Op::kCast:
        return absl::StrCat("cast", inst.imm == 0 ? "" : "_", Suffix(static_cast<CastKind>(inst.imm)), " ",
                            Operands(inst, 0, count));
      case Op::kShape:
        return absl::StrCat("shape ", ArrayName(kernel_, inst.imm), ".", inst.imm2);
      case Op::kDeclare:
        return absl::StrCat("declare ", Element(inst, count));
      case Op::kReadVar:
        return absl::StrCat("read ", Variable(inst.imm));
      case Op::kWriteVar:
        return absl::StrCat("write ", Variable(inst.imm), " = ", Operands(inst, 0, count));
      case Op::kLoad:
        return absl::StrCat("load", Describe(access), " ", Element(inst, count));
      case Op::kStore:
        return absl::StrCat("store", Describe(access), " ", Element(inst, count - 1), " = ",
                            Operands(inst, count - 1, count));
      case Op::kLoadGroup:
        return absl::StrCat("load", Describe(access), " ", Element(inst, count), " x ", access.lanes);
      case Op::kStoreGroup: {
        const size_t indices = count - access.lanes;
        return absl::StrCat("store", Describe(access), " ", Element(inst, indices), " x ", access.lanes, " = ",
                            Operands(inst, indices, count));
      }
      case Op::kResult:
        return absl::StrCat("result ", Operands(inst, 0, count), ".", inst.imm);
      case Op::kAtomic: {
        const size_t indices = count - RowOf(access.op).operands;
        return absl::StrCat("atomic ", RowOf(access.op).name, Describe(access), " ", Element(inst, indices), ", ",
                            Operands(inst, indices, count));
      }
      case Op::kBarrier: {
        constexpr const char* kReductions[] = {"", " and", " or", " count"};
        const Barrier barrier = Barrier::Unpack(inst.imm);
        return absl::StrCat("barrier ", barrier.id, kReductions[static_cast<int>(barrier.reduction)],
                            count > 0 ? " " : "", Operands(inst, 0, count));
      }
      case Op::kWarp: {
        const WarpOp op = static_cast<WarpOp>(inst.imm);
        std::string text = absl::StrCat("warp ", RowOf(op).name, count > 0 ? " " : "", Operands(inst, 0, count));
        if (IsShuffle(op) && inst.imm2 != kWarpSize) absl::StrAppend(&text, " of ", inst.imm2);
        return text;
      }
      case Op::kFence:
        return absl::StrCat("fence ", Name(static_cast<MemoryScope>(inst.imm)));
      case Op::kIf:
        return absl::StrCat("if ", Operands(inst, 0, count), " {");
      case Op::kFor:
        return absl::StrCat("for ", Variable(inst.imm), " in ", Operands(inst, 0, count), Unroll(inst), " {");
      case Op::kWhile:
        return absl::StrCat("while", Unroll(inst), " {");
      case Op::kScope:
        return "scope {";
      case Op::kPrintf:
      case Op::kAssert: {
        const std::string text = inst.imm < kernel_.strings.size() ? kernel_.strings[inst.imm] : "";
        return absl::StrCat(Name(inst.op), " \"", absl::CEscape(text), "\"", count > 0 ? ", " : "",
                            Operands(inst, 0, count));
      }
      case Op::kCheck: {
        const std::string text = inst.imm < kernel_.checks.size() ? kernel_.checks[inst.imm] : "";
        return absl::StrCat(Stops(inst) ? "check " : "check_and_go_on ", Operands(inst, 0, 1), ", \"",
                            absl::CEscape(text), "\", ", Operands(inst, 1, count));
      }
      case Op::kAddress:
        return absl::StrCat(inst.imm2 != 0 ? "address " : "address const ", Element(inst, count));
      case Op::kCall:
        return absl::StrCat("call ", inst.imm < kernel_.externals.size() ? kernel_.externals[inst.imm].name : "", "(",
                            Operands(inst, 0, count), ")");
      case Op::kReturn:
        return absl::StrCat(Name(inst.op), count > 0 ? " " : "", Operands(inst, 0, count));
      case Op::kComplex:
      case Op::kYield:
      case Op::kSleep:
        return absl::StrCat(Name(inst.op), " ", Operands(inst, 0, count));
      default:
        return Name(inst.op);
    }
  }

  void Instruction(ValueId id) {
    const Inst& inst = kernel_.insts[id];
    if (inst.op == Op::kConst) return;
    absl::StrAppend(&out_, Indent());
    if (inst.type != DType::kVoid) {
      number_[id] = next_++;
      absl::StrAppend(&out_, "%", number_[id], ":", std::string(ShortName(inst.type)), " = ");
    }
    absl::StrAppend(&out_, Body(inst), "\n");
  }

  void Enter(ValueId owner, int which) {
    if (which == 1) {
      const bool is_if = kernel_.insts[owner].op == Op::kIf;
      // An empty else is not worth its lines.
      if (is_if && kernel_.blocks[kernel_.insts[owner].blocks[1]].empty()) {
        ++depth_;
        return;
      }
      absl::StrAppend(&out_, Indent(), is_if ? "} else {\n" : "} do {\n");
    }
    ++depth_;
  }
  void Leave(ValueId owner, int which) {
    --depth_;
    if (owner == kNone) return;
    if (which == 1 || kernel_.insts[owner].blocks[1] == kNone) absl::StrAppend(&out_, Indent(), "}\n");
  }

  const Kernel& kernel_;
  std::vector<uint32_t> number_;  // Of each value, as printed: in textual order, constants left out.
  uint32_t next_ = 0;
  int depth_ = 0;
  std::string out_;
};

}  // namespace

std::string Print(const Kernel& kernel) { return Printer(kernel).Print(); }

}  // namespace slipway::ir
