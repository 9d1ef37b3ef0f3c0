#include "driver/cpu/translate/uniform.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "driver/cpu/translate/flow.h"

namespace slipway::cpu {
namespace {

using ptx::Function;
using ptx::Instruction;
using ptx::Operand;
using ptx::Space;

constexpr std::string_view kPure[] = {"mov", "add",   "sub", "mul",  "mad", "shl",  "shr", "and",  "or",
                                      "xor", "not",   "cvt", "cvta", "neg", "min",  "max", "setp", "selp",
                                      "bfe", "mul24", "div", "rem",  "abs", "popc", "clz", "fma"};

// Beyond this many blocks the analysis, which looks at all of them for each branch, is left out.
constexpr size_t kMostBlocks = 2000;

bool StartsWith(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

template <class F>
bool AnyPart(const Operand& operand, const F& f) {
  return f(operand) || std::any_of(operand.elements.begin(), operand.elements.end(),
                                   [&](const Operand& element) { return AnyPart(element, f); });
}

bool IsParameterLoad(const Function& kernel, const Instruction& instruction) {
  if (instruction.operands.size() != 2 || instruction.operands[1].elements.empty()) return false;
  const Operand& base = instruction.operands[1].elements[0];
  return base.kind == Operand::Kind::kSymbol &&
         std::find(kernel.params.begin(), kernel.params.end(), base.variable) != kernel.params.end();
}

// How a value changes from lane to lane: not known yet, by a stride, or not evenly.
struct Change {
  enum class Kind : uint8_t { kUnknown, kEven, kUneven } kind = Kind::kUnknown;
  int64_t stride = 0;

  static Change Even(int64_t stride) { return {Kind::kEven, stride}; }
  static Change Uneven() { return {Kind::kUneven}; }
  bool is_unknown() const { return kind == Kind::kUnknown; }
  bool is_uneven() const { return kind == Kind::kUneven; }
  bool is_none() const { return kind == Kind::kEven && stride == 0; }
  bool operator==(const Change&) const = default;
};

bool IsNumberOfThread(std::string_view special) { return special == "%tid.x" || special == "%laneid"; }

// Whether the instruction computes integers from integers of 32 or 64 bits, without saturation.
bool IsOfIntegers(const Instruction& instruction) {
  constexpr std::string_view kTypes[] = {"u32", "s32", "b32", "u64", "s64", "b64"};
  constexpr std::string_view kOthers[] = {"lo", "wide", "to", "global", "shared", "const", "local", "shared::cta"};
  return std::all_of(instruction.modifiers.begin(), instruction.modifiers.end(), [&](std::string_view modifier) {
    return std::find(std::begin(kTypes), std::end(kTypes), modifier) != std::end(kTypes) ||
           std::find(std::begin(kOthers), std::end(kOthers), modifier) != std::end(kOthers);
  });
}

class Analysis {
 public:
  explicit Analysis(const Function& kernel) : kernel_(kernel), split_(SplitIntoBlocks(kernel, {})) {}

  std::vector<std::optional<int64_t>> Run() {
    const size_t registers = kernel_.variables.size();
    if (split_.blocks.size() > kMostBlocks) return std::vector<std::optional<int64_t>>(registers);
    FindPostDominators();
    live_into_ = LiveInto(kernel_, split_);
    changes_.resize(registers);
    definitions_.resize(registers);
    for (const Instruction& instruction : kernel_.body) {
      effects_.push_back(EffectsOf(instruction));
      Instruction unguarded = instruction;
      unguarded.guard = -1;
      is_pure_.push_back(IsPure(kernel_, unguarded));
      for (int r : effects_.back().writes) {
        ++definitions_[r];
        if (instruction.opcode == "mov" && instruction.operands.size() == 2 && instruction.operands[1].name == "%tid.x")
          place_.insert(r);
      }
    }
    std::vector<bool> seen(kernel_.body.size());  // Branches whose influence has been noted.
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < kernel_.body.size(); ++i) {
        if (!effects_[i].writes.empty()) {
          const Change change = ChangeOfResult(i);
          for (int r : effects_[i].writes) changed |= Note(r, change);
        }
        const std::string_view opcode = kernel_.body[i].opcode;
        if (seen[i] || (opcode != "bra" && opcode != "brx")) continue;
        if (std::all_of(effects_[i].reads.begin(), effects_[i].reads.end(),
                        [&](int r) { return changes_[r].is_unknown() || changes_[r].is_none(); })) {
          continue;
        }
        changed = seen[i] = true;
        MarkInfluenced(split_.block_of[i]);
      }
    }
    std::vector<std::optional<int64_t>> strides(registers);
    for (size_t r = 0; r < registers; ++r) {
      if (changes_[r].kind == Change::Kind::kEven) strides[r] = changes_[r].stride;
    }
    return strides;
  }

 private:
  // One more value that a register may get. Whether that is news.
  bool Note(int r, const Change& change) {
    Change& known = changes_[r];
    if (change.is_unknown() || known.is_uneven() || known == change) return false;
    known = known.is_unknown() ? change : Change::Uneven();
    return true;
  }

  Change ChangeOf(const Operand& operand) const {
    switch (operand.kind) {
      case Operand::Kind::kRegister:
        return changes_[operand.variable];
      case Operand::Kind::kSpecial:
        if (IsNumberOfThread(operand.name)) return Change::Even(1);
        return StartsWith(operand.name, "%lanemask") ? Change::Uneven() : Change::Even(0);
      case Operand::Kind::kSymbol:
        return operand.variable >= 0 && IsOfThread(kernel_, operand.variable) ? Change::Uneven() : Change::Even(0);
      default: {  // The same if all parts are.
        Change all = Change::Even(0);
        for (const Operand& part : operand.elements) {
          const Change change = ChangeOf(part);
          if (change.is_unknown()) return change;
          if (!change.is_none()) all = Change::Uneven();
        }
        return all;
      }
    }
  }

  Change ChangeOfResult(size_t i) const {
    const Instruction& instruction = kernel_.body[i];
    if (!is_pure_[i]) return Change::Uneven();
    if (IsOfWarp(instruction)) return Change::Even(0);
    const std::vector<Operand>& operands = instruction.operands;
    bool none = true;
    if (instruction.guard >= 0) {
      if (changes_[instruction.guard].is_unknown()) return {};
      if (!changes_[instruction.guard].is_none()) return Change::Uneven();
    }
    Change of[4];
    if (operands.size() > std::size(of)) return Change::Uneven();
    for (size_t k = 1; k < operands.size(); ++k) {
      of[k] = ChangeOf(operands[k]);
      if (of[k].is_unknown()) return {};
      none &= of[k].is_none();
    }
    if (none) return Change::Even(0);
    for (size_t k = 1; k < operands.size(); ++k) {
      if (of[k].is_uneven()) return Change::Uneven();
    }
    return IsOfIntegers(instruction) ? ChangeOfSum(instruction, of) : Change::Uneven();
  }

  // Of an integer operation whose operands all change evenly.
  static Change ChangeOfSum(const Instruction& instruction, const Change (&of)[4]) {
    const std::string_view opcode = instruction.opcode;
    const std::vector<Operand>& operands = instruction.operands;
    const auto is_number = [&](size_t k) { return operands[k].kind == Operand::Kind::kInteger; };
    const auto is = [&](std::string_view name, size_t count) { return opcode == name && operands.size() == count; };
    // Strides are those of elements: what does not fit here is none.
    const auto product = [&](size_t k, size_t number, bool shift) {
      const uint64_t bits = operands[number].bits;
      const auto factor = static_cast<int64_t>(bits);
      constexpr int64_t kMost = int64_t{1} << 24;
      if (shift ? bits > 24 : factor > kMost || factor < -kMost) return Change::Uneven();
      const int64_t stride = of[k].stride * (shift ? int64_t{1} << bits : factor);
      return stride > kMost || stride < -kMost ? Change::Uneven() : Change::Even(stride);
    };
    if (is("mov", 2) || is("cvt", 2) || is("cvta", 2)) return of[1];
    if (is("add", 3)) return Change::Even(of[1].stride + of[2].stride);
    if (is("sub", 3)) return Change::Even(of[1].stride - of[2].stride);
    if (is("shl", 3) && is_number(2)) return product(1, 2, true);
    if (!is("mul", 3) && !is("mad", 4)) return Change::Uneven();
    Change result = is_number(2)                         ? product(1, 2, false)
                    : is_number(1)                       ? product(2, 1, false)
                    : of[1].is_none() && of[2].is_none() ? Change::Even(0)
                                                         : Change::Uneven();
    if (opcode == "mad" && !result.is_uneven()) result.stride += of[3].stride;
    return result;
  }

  // %tid.x by 32 or a higher power of two, or rounded down to one: the first of the 32 is at a multiple of it.
  bool IsOfWarp(const Instruction& instruction) const {
    if (instruction.guard >= 0 || instruction.operands.size() != 3) return false;
    const Operand& of = instruction.operands[1];
    const Operand& by = instruction.operands[2];
    if (of.kind != Operand::Kind::kRegister || by.kind != Operand::Kind::kInteger) return false;
    if (definitions_[of.variable] != 1 || !place_.contains(of.variable)) return false;
    if (instruction.opcode == "shr") return by.bits >= 5;
    return instruction.opcode == "and" && (by.bits & 31) == 0;
  }

  // Whether a thread that comes here ends without reading anything.
  bool IsEnd(size_t block) const {
    if (block == split_.blocks.size()) return true;
    const Instruction& first = kernel_.body[split_.blocks[block].begin];
    return first.guard < 0 && (first.opcode == "ret" || first.opcode == "exit");
  }

  // Blocks and their immediate post-dominators, by the algorithm of Cooper, Harvey and Kennedy ("A Simple, Fast
  // Dominance Algorithm"), on the graph turned round. The last entry is the end.
  void FindPostDominators() {
    const size_t count = split_.blocks.size();
    std::vector<std::vector<size_t>> before(count + 1);  // Turned round: who follows.
    for (size_t k = 0; k < count; ++k) {
      if (split_.blocks[k].successors.empty() || IsEnd(k)) {
        before[count].push_back(k);
        continue;
      }
      for (size_t next : split_.blocks[k].successors) before[next].push_back(k);
    }
    std::vector<size_t> order;  // Reverse postorder from the end.
    std::vector<size_t> number(count + 1, SIZE_MAX);
    {
      std::vector<bool> seen(count + 1);
      std::vector<std::pair<size_t, size_t>> stack = {{count, 0}};
      seen[count] = true;
      while (!stack.empty()) {
        auto& [block, next] = stack.back();
        if (next == before[block].size()) {
          order.push_back(block);
          stack.pop_back();
          continue;
        }
        const size_t to = before[block][next++];
        if (seen[to]) continue;
        seen[to] = true;
        stack.emplace_back(to, 0);
      }
      std::reverse(order.begin(), order.end());
      for (size_t k = 0; k < order.size(); ++k) number[order[k]] = k;
    }
    post_dominator_.assign(count + 1, SIZE_MAX);
    post_dominator_[count] = count;
    const auto meet = [&](size_t a, size_t b) {
      while (a != b) {
        while (number[a] > number[b]) a = post_dominator_[a];
        while (number[b] > number[a]) b = post_dominator_[b];
      }
      return a;
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t block : order) {
        if (block == count) continue;
        size_t found = SIZE_MAX;
        if (split_.blocks[block].successors.empty() || IsEnd(block)) {
          found = count;
        } else {
          for (size_t next : split_.blocks[block].successors) {
            if (number[next] == SIZE_MAX || post_dominator_[next] == SIZE_MAX) continue;
            found = found == SIZE_MAX ? next : meet(found, next);
          }
        }
        changed |= std::exchange(post_dominator_[block], found) != found;
      }
    }
    for (size_t& found : post_dominator_) found = std::min(found, count);  // What never ends.
  }

  // Threads take different ways behind `branch`: what is written there, in more than one place, is different for them
  // when they meet again. Those that go to their end do not meet anybody.
  void MarkInfluenced(size_t branch) {
    std::vector<size_t> work;
    for (size_t next : split_.blocks[branch].successors) {
      if (!IsEnd(next)) work.push_back(next);
    }
    const size_t meet = post_dominator_[branch];
    if (work.size() < 2 || meet == split_.blocks.size()) return;
    std::vector<bool> seen(split_.blocks.size());
    std::set<int> written;
    while (!work.empty()) {
      const size_t block = work.back();
      work.pop_back();
      if (block == meet || block == split_.blocks.size() || seen[block]) continue;
      seen[block] = true;
      for (size_t i = split_.blocks[block].begin; i < split_.blocks[block].end; ++i) {
        written.insert(effects_[i].writes.begin(), effects_[i].writes.end());
      }
      work.insert(work.end(), split_.blocks[block].successors.begin(), split_.blocks[block].successors.end());
    }
    for (int r : live_into_[meet]) {
      if (definitions_[r] > 1 && written.contains(r)) changes_[r] = Change::Uneven();
    }
  }

  const Function& kernel_;
  const FlowBlocks split_;
  std::vector<Effects> effects_;
  std::vector<bool> is_pure_;     // By instruction, whatever its guard.
  std::vector<Change> changes_;   // By register.
  std::set<int> place_;           // Registers that get %tid.x.
  std::vector<int> definitions_;  // Instructions that write it.
  std::vector<size_t> post_dominator_;
  std::vector<std::vector<int>> live_into_;  // By block.
};

}  // namespace

bool IsOfThread(const Function& kernel, int variable) {
  const Space space = kernel.variables[variable].space;
  return space == Space::kLocal || (space == Space::kParam && std::find(kernel.params.begin(), kernel.params.end(),
                                                                        variable) == kernel.params.end());
}

bool IsPure(const Function& kernel, const Instruction& instruction) {
  if (instruction.guard >= 0) return false;
  for (std::string_view modifier : instruction.modifiers) {
    if (modifier == "cc") return false;  // Writes the carry flag.
  }
  const auto changes = [](const Operand& part) {
    const std::string_view name = part.kind == Operand::Kind::kSpecial ? part.name : "";
    return StartsWith(name, "%clock") || StartsWith(name, "%globaltimer") || StartsWith(name, "%pm");
  };
  for (const Operand& operand : instruction.operands) {
    if (AnyPart(operand, changes)) return false;
  }
  if (instruction.opcode == "ld") return IsParameterLoad(kernel, instruction);
  return std::find(std::begin(kPure), std::end(kPure), instruction.opcode) != std::end(kPure);
}

bool UsesRows(const Function& kernel) {
  const auto is_row = [](const Operand& part) {
    return part.kind == Operand::Kind::kSpecial && (part.name == "%tid.y" || part.name == "%tid.z");
  };
  for (const Instruction& instruction : kernel.body) {
    for (const Operand& operand : instruction.operands) {
      if (AnyPart(operand, is_row)) return true;
    }
  }
  return false;
}

std::vector<std::optional<int64_t>> LaneStrides(const Function& kernel) { return Analysis(kernel).Run(); }

std::vector<bool> UniformRegisters(const Function& kernel) {
  std::vector<bool> uniform;
  for (const std::optional<int64_t>& stride : LaneStrides(kernel)) uniform.push_back(stride == 0);
  return uniform;
}

}  // namespace slipway::cpu
