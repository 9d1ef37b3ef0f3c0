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

// What differs between the lanes of a warp.
bool IsPerThread(const Function& kernel, const Operand& operand, bool rows) {
  if (operand.kind == Operand::Kind::kSymbol) return operand.variable >= 0 && IsOfThread(kernel, operand.variable);
  if (operand.kind != Operand::Kind::kSpecial) return false;
  const std::string_view special = operand.name;
  return (rows ? StartsWith(special, "%tid") : special == "%tid.x") || StartsWith(special, "%laneid") ||
         StartsWith(special, "%lanemask");
}

class Analysis {
 public:
  Analysis(const Function& kernel, bool rows) : kernel_(kernel), rows_(rows), split_(SplitIntoBlocks(kernel, {})) {}

  std::vector<bool> Run() {
    const size_t registers = kernel_.variables.size();
    if (split_.blocks.size() > kMostBlocks) return std::vector<bool>(registers);
    FindPostDominators();
    differs_.resize(registers);
    definitions_.resize(registers);
    for (const Instruction& instruction : kernel_.body) {
      effects_.push_back(EffectsOf(instruction));
      for (int r : effects_.back().writes) {
        ++definitions_[r];
        if (instruction.opcode == "mov" && instruction.operands.size() == 2 && instruction.operands[1].name == "%tid.x")
          place_.insert(r);
      }
    }
    for (size_t i = 0; i < kernel_.body.size(); ++i) {
      const Instruction& instruction = kernel_.body[i];
      const Effects& effects = effects_[i];
      const auto is_per_thread = [&](const Operand& part) { return IsPerThread(kernel_, part, rows_); };
      const bool per_thread = std::any_of(instruction.operands.begin(), instruction.operands.end(),
                                          [&](const Operand& operand) { return AnyPart(operand, is_per_thread); });
      Instruction unguarded = instruction;
      unguarded.guard = -1;
      const bool same = !per_thread && IsPure(kernel_, unguarded);
      for (int r : effects.writes) {
        if (!same) differs_[r] = true;
      }
    }
    std::vector<bool> seen(kernel_.body.size());  // Branches whose influence has been noted.
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < kernel_.body.size(); ++i) {
        const Effects& effects = effects_[i];
        if (std::none_of(effects.reads.begin(), effects.reads.end(), [&](int r) { return differs_[r]; })) continue;
        if (IsOfWarp(kernel_.body[i])) continue;
        for (int r : effects.writes) changed |= Mark(r);
        const std::string_view opcode = kernel_.body[i].opcode;
        if (seen[i] || (opcode != "bra" && opcode != "brx")) continue;
        seen[i] = true;
        changed |= MarkInfluenced(split_.block_of[i]);
      }
    }
    std::vector<bool> uniform(registers);
    for (size_t r = 0; r < registers; ++r) uniform[r] = definitions_[r] != 0 && !differs_[r];
    return uniform;
  }

 private:
  bool Mark(int r) {
    const bool is_new = !differs_[r];
    differs_[r] = true;
    return is_new;
  }

  // %tid.x by 32 or a higher power of two, or rounded down to one: the first of the 32 is at a multiple of it.
  bool IsOfWarp(const Instruction& instruction) const {
    if (rows_ || instruction.guard >= 0 || instruction.operands.size() != 3) return false;
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
  // until they meet again. Those that go to their end do not meet anybody.
  bool MarkInfluenced(size_t branch) {
    std::vector<size_t> work;
    for (size_t next : split_.blocks[branch].successors) {
      if (!IsEnd(next)) work.push_back(next);
    }
    if (work.size() < 2) return false;
    const size_t meet = post_dominator_[branch];
    std::vector<bool> seen(split_.blocks.size());
    bool changed = false;
    while (!work.empty()) {
      const size_t block = work.back();
      work.pop_back();
      if (block == meet || block == split_.blocks.size() || seen[block]) continue;
      seen[block] = true;
      for (size_t i = split_.blocks[block].begin; i < split_.blocks[block].end; ++i) {
        for (int r : effects_[i].writes) {
          if (definitions_[r] > 1) changed |= Mark(r);
        }
      }
      work.insert(work.end(), split_.blocks[block].successors.begin(), split_.blocks[block].successors.end());
    }
    return changed;
  }

  const Function& kernel_;
  const bool rows_;
  const FlowBlocks split_;
  std::vector<Effects> effects_;
  std::vector<bool> differs_;     // By register.
  std::set<int> place_;           // Registers that get %tid.x.
  std::vector<int> definitions_;  // Instructions that write it.
  std::vector<size_t> post_dominator_;
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

std::vector<bool> UniformRegisters(const Function& kernel, bool rows) { return Analysis(kernel, rows).Run(); }

}  // namespace slipway::cpu
