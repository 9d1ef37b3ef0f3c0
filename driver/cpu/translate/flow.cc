#include "driver/cpu/translate/flow.h"

#include <algorithm>
#include <string_view>

namespace slipway::cpu {
namespace {

using ptx::Function;
using ptx::Instruction;
using ptx::Operand;

// Opcodes whose first operand is read like the others. (Stores and reductions begin with an address, calls without
// results with a name: neither is a register.)
constexpr std::string_view kReadOnly[] = {"bra", "brx", "ret", "exit", "nanosleep", "stackrestore", "pmevent"};

bool IsRegisterWrite(const Instruction& instruction) {
  if (instruction.operands.empty()) return false;
  if (instruction.opcode == "bar" || instruction.opcode == "barrier") {
    return std::find(instruction.modifiers.begin(), instruction.modifiers.end(), "red") != instruction.modifiers.end();
  }
  if (std::find(std::begin(kReadOnly), std::end(kReadOnly), instruction.opcode) != std::end(kReadOnly)) return false;
  const Operand::Kind kind = instruction.operands[0].kind;
  if (instruction.opcode == "call")
    return kind == Operand::Kind::kList && instruction.operands.size() > 1 &&
           instruction.operands[1].kind != Operand::Kind::kList;
  return kind != Operand::Kind::kAddress;
}

}  // namespace

Effects EffectsOf(const Instruction& instruction) {
  Effects effects;
  const auto read = [&](int variable) { effects.reads.push_back(variable); };
  const bool writes = IsRegisterWrite(instruction);
  if (writes) {
    ForEachRegister(instruction.operands[0], [&](int variable) { effects.writes.push_back(variable); });
  }
  for (size_t k = writes ? 1 : 0; k < instruction.operands.size(); ++k) ForEachRegister(instruction.operands[k], read);
  if (instruction.guard >= 0) read(instruction.guard);
  return effects;
}

std::vector<size_t> SuccessorsOf(const Function& function, size_t i) {
  const Instruction& instruction = function.body[i];
  std::vector<size_t> next;
  const auto jump = [&](std::string_view label) {
    if (const auto it = function.labels.find(label); it != function.labels.end()) next.push_back(it->second);
  };
  bool ends = true;
  if (instruction.opcode == "bra") {
    if (!instruction.operands.empty()) jump(instruction.operands[0].name);
  } else if (instruction.opcode == "brx") {
    if (instruction.operands.size() > 1) {
      const auto table = function.branch_tables.find(instruction.operands[1].name);
      if (table != function.branch_tables.end()) {
        for (std::string_view label : table->second) jump(label);
      }
    }
  } else {
    ends = instruction.opcode == "ret" || instruction.opcode == "exit" || instruction.opcode == "trap";
  }
  if (!ends || instruction.guard >= 0) next.push_back(i + 1);
  return next;
}

std::vector<bool> ReachableFrom(const Function& function, size_t start, const std::vector<bool>& stops) {
  const size_t count = function.body.size();
  std::vector<bool> reached(count);
  std::vector<size_t> work = {start};
  while (!work.empty()) {
    const size_t i = work.back();
    work.pop_back();
    if (i >= count || reached[i]) continue;
    reached[i] = true;
    if (stops[i]) {
      if (function.body[i].guard >= 0) work.push_back(i + 1);
      continue;
    }
    for (size_t next : SuccessorsOf(function, i)) work.push_back(next);
  }
  return reached;
}

FlowBlocks SplitIntoBlocks(const Function& function, const std::vector<size_t>& points) {
  const size_t count = function.body.size();
  std::vector<bool> begins(count + 1);
  begins[0] = true;
  for (const auto& [name, index] : function.labels) begins[index] = true;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view opcode = function.body[i].opcode;
    if (opcode == "bra" || opcode == "brx" || opcode == "ret" || opcode == "exit") begins[i + 1] = true;
  }
  for (size_t point : points) begins[point + 1] = true;
  FlowBlocks result;
  result.block_of.resize(count);
  for (size_t i = 0; i < count; ++i) {
    if (begins[i]) result.blocks.push_back({i, i, {}, {}});
    result.blocks.back().end = i + 1;
    result.block_of[i] = result.blocks.size() - 1;
  }
  for (size_t k = 0; k < result.blocks.size(); ++k) {
    for (size_t next : SuccessorsOf(function, result.blocks[k].end - 1)) {
      const size_t to = next < count ? result.block_of[next] : result.blocks.size();
      result.blocks[k].successors.push_back(to);
      if (next < count) result.blocks[to].predecessors.push_back(k);
    }
  }
  return result;
}

std::vector<std::vector<int>> LiveInto(const Function& function, const FlowBlocks& split) {
  const size_t count = split.blocks.size();
  // Register by register, backwards from where it is read: memory and time are those of the live ranges alone.
  const size_t registers = function.variables.size();
  std::vector<std::vector<size_t>> read_first(registers);  // Blocks that read it before they write it.
  std::vector<std::vector<size_t>> kills(registers);       // Blocks that write it, whatever the guards say.
  {
    std::vector<size_t> read_in(registers, SIZE_MAX), killed_in(registers, SIZE_MAX);
    for (size_t k = 0; k < count; ++k) {
      for (size_t i = split.blocks[k].begin; i < split.blocks[k].end; ++i) {
        const Effects effects = EffectsOf(function.body[i]);
        for (int r : effects.reads) {
          if (killed_in[r] == k || read_in[r] == k) continue;
          read_in[r] = k;
          read_first[r].push_back(k);
        }
        if (function.body[i].guard >= 0) continue;
        for (int r : effects.writes) {
          if (killed_in[r] == k) continue;
          killed_in[r] = k;
          kills[r].push_back(k);
        }
      }
    }
  }
  std::vector<std::vector<int>> live(count);
  std::vector<size_t> live_for(count, SIZE_MAX), killed_for(count, SIZE_MAX);  // The register that it was noted for.
  for (size_t r = 0; r < registers; ++r) {
    if (read_first[r].empty()) continue;
    for (size_t k : kills[r]) killed_for[k] = r;
    std::vector<size_t> work = read_first[r];
    while (!work.empty()) {
      const size_t k = work.back();
      work.pop_back();
      if (live_for[k] == r) continue;
      live_for[k] = r;
      live[k].push_back(static_cast<int>(r));
      for (size_t before : split.blocks[k].predecessors) {
        if (killed_for[before] != r) work.push_back(before);
      }
    }
  }
  return live;
}

std::vector<std::vector<int>> LiveAcross(const Function& function, const std::vector<size_t>& points) {
  const FlowBlocks split = SplitIntoBlocks(function, points);
  const std::vector<std::vector<int>> live_into = LiveInto(function, split);
  std::vector<std::vector<int>> live(points.size());
  for (size_t p = 0; p < points.size(); ++p) {
    if (points[p] + 1 >= function.body.size()) continue;
    const std::vector<int> own = EffectsOf(function.body[points[p]]).writes;
    for (int r : live_into[split.block_of[points[p] + 1]]) {
      if (std::find(own.begin(), own.end(), r) == own.end()) live[p].push_back(r);
    }
  }
  return live;
}

}  // namespace slipway::cpu
