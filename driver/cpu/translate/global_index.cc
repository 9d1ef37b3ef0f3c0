#include "driver/cpu/translate/global_index.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "driver/cpu/translate/flow.h"

namespace slipway::cpu {
namespace {

using ptx::Instruction;
using ptx::Operand;

// What a register holds. All but sizes are of no use but for the index.
enum class Role : uint8_t { kOther, kThread, kBlock, kSize, kBlockStart };

struct Source {
  std::string_view name;
  Role role;
};
constexpr Source kSources[] = {{"%tid.x", Role::kThread}, {"%ctaid.x", Role::kBlock}, {"%ntid.x", Role::kSize}};

// Special registers that say nothing of a thread's place along x.
constexpr std::string_view kIndifferent[] = {"%ntid.x",   "%ntid.y",   "%ntid.z", "%nctaid.x",
                                             "%nctaid.y", "%nctaid.z", "%tid.y",  "%tid.z",
                                             "%ctaid.y",  "%ctaid.z",  "%gridid", "%globaltimer"};

// Copies, and integers made wider: a place along x is below 2^31, so the sign does not matter.
constexpr std::string_view kCopies[] = {"mov.u32", "mov.b32",     "mov.s32",     "mov.u64",     "mov.b64",
                                        "mov.s64", "cvt.u64.u32", "cvt.s64.s32", "cvt.u64.s32", "cvt.s64.u32"};
constexpr std::string_view kProducts[] = {"mul.lo.s32", "mul.lo.u32",   "mul.lo.s64",
                                          "mul.lo.u64", "mul.wide.s32", "mul.wide.u32"};
constexpr std::string_view kProductSums[] = {"mad.lo.s32", "mad.lo.u32",   "mad.lo.s64",
                                             "mad.lo.u64", "mad.wide.s32", "mad.wide.u32"};
constexpr std::string_view kSums[] = {"add.s32", "add.u32", "add.s64", "add.u64"};
constexpr std::string_view kShifts[] = {"shl.b32", "shl.b64"};

template <size_t n>
bool Contains(const std::string_view (&names)[n], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool AnySpecial(const Operand& operand, bool (*f)(std::string_view)) {
  if (operand.kind == Operand::Kind::kSpecial && f(operand.name)) return true;
  return std::any_of(operand.elements.begin(), operand.elements.end(),
                     [&](const Operand& element) { return AnySpecial(element, f); });
}

class Search {
 public:
  explicit Search(const ptx::Function& kernel)
      : kernel_(kernel), roles_(kernel.variables.size()), definitions_(kernel.variables.size()) {}

  std::optional<GlobalIndex> Run() {
    for (const Instruction& instruction : kernel_.body) {
      if (instruction.opcode == "call") return std::nullopt;
      for (int r : EffectsOf(instruction).writes) ++definitions_[r];
    }
    std::vector<bool> is_part(kernel_.body.size());
    for (size_t i = 0; i < kernel_.body.size(); ++i) is_part[i] = IsPart(kernel_.body[i]);
    for (size_t i = 0; i < kernel_.body.size(); ++i) {
      if (!is_part[i] && AsksForMore(kernel_.body[i])) return std::nullopt;
    }
    return found_;
  }

 private:
  // Whether an instruction does nothing but a step on the way to the index; notes what its result is.
  bool IsPart(const Instruction& instruction) {
    const std::vector<Operand>& operands = instruction.operands;
    if (instruction.guard >= 0 || operands.size() < 2) return false;
    const Operand& result = operands[0];
    if (result.kind != Operand::Kind::kRegister || !result.part.empty() || definitions_[result.variable] != 1) {
      return false;
    }
    const auto role = [&](size_t i) { return RoleOf(operands[i]); };
    const auto is = [&](Role role) {
      roles_[result.variable] = role;
      return true;
    };
    // A product of a block and the size, or a sum with its thread, by operands in either order.
    const auto either = [&](size_t i, Role one, Role other) {
      return (role(i) == one && role(i + 1) == other) || (role(i) == other && role(i + 1) == one);
    };
    const auto product = [&] {
      for (size_t i : {1, 2}) {
        if (role(i) == Role::kBlock && operands[3 - i].kind == Operand::Kind::kInteger) {
          return IsSize(operands[3 - i].bits);
        }
      }
      return either(1, Role::kBlock, Role::kSize) && IsSize(0);
    };
    if (Contains(kCopies, instruction.text) && operands.size() == 2) {
      return role(1) != Role::kOther && is(role(1));
    }
    if (Contains(kProducts, instruction.text) && operands.size() == 3) return product() && is(Role::kBlockStart);
    if (Contains(kShifts, instruction.text) && operands.size() == 3) {
      return role(1) == Role::kBlock && operands[2].kind == Operand::Kind::kInteger && operands[2].bits < 31 &&
             IsSize(uint64_t{1} << operands[2].bits) && is(Role::kBlockStart);
    }
    if (Contains(kProductSums, instruction.text) && operands.size() == 4) {
      return role(3) == Role::kThread && product() && is(Role::kOther);
    }
    if (Contains(kSums, instruction.text) && operands.size() == 3) {
      return either(1, Role::kBlockStart, Role::kThread) && is(Role::kOther);
    }
    return false;
  }

  Role RoleOf(const Operand& operand) const {
    if (operand.kind == Operand::Kind::kSpecial) {
      for (const Source& source : kSources) {
        if (source.name == operand.name) return source.role;
      }
    }
    if (operand.kind != Operand::Kind::kRegister || !operand.part.empty() || operand.negated) return Role::kOther;
    return roles_[operand.variable];
  }

  // Whether all indices can be of blocks of this size.
  bool IsSize(uint64_t constant) {
    if (constant > UINT32_MAX || (found_.has_value() && found_->block_size != constant)) return false;
    found_ = GlobalIndex{static_cast<uint32_t>(constant)};
    return true;
  }

  bool AsksForMore(const Instruction& instruction) const {
    for (const Operand& operand : instruction.operands) {
      if (AnySpecial(operand, [](std::string_view name) { return !Contains(kIndifferent, name); })) return true;
    }
    for (int r : EffectsOf(instruction).reads) {
      if (roles_[r] != Role::kOther && roles_[r] != Role::kSize) return true;
    }
    return false;
  }

  const ptx::Function& kernel_;
  std::vector<Role> roles_;  // By register.
  std::vector<int> definitions_;
  std::optional<GlobalIndex> found_;
};

}  // namespace

std::optional<GlobalIndex> FindGlobalIndex(const ptx::Function& kernel) { return Search(kernel).Run(); }

}  // namespace slipway::cpu
