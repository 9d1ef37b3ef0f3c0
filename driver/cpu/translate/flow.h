// Control and data flow of a PTX function's instructions: what may run after each of them, and which registers live on.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_FLOW_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_FLOW_H_

#include <cstddef>
#include <vector>

#include "driver/cpu/ptx/module.h"

namespace slipway::cpu {

// The registers that an instruction reads (its guard among them) and those that it writes.
struct Effects {
  std::vector<int> reads;
  std::vector<int> writes;
};
Effects EffectsOf(const ptx::Instruction& instruction);

// Calls f(register) for each register in an operand.
template <class F>
void ForEachRegister(const ptx::Operand& operand, const F& f) {
  if (operand.kind == ptx::Operand::Kind::kRegister) f(operand.variable);
  for (const ptx::Operand& element : operand.elements) ForEachRegister(element, f);
}

// The instructions that may run after body[i]; body.size() is the return at the end. Labels that do not exist lead
// nowhere: the translation of the branch complains of them.
std::vector<size_t> SuccessorsOf(const ptx::Function& function, size_t i);

// Which instructions can be reached from body[start] when those of which `stops` is true, where they run, end the way.
// An instruction that stops counts as reached.
std::vector<bool> ReachableFrom(const ptx::Function& function, size_t start, const std::vector<bool>& stops);

// Basic blocks. A block also ends behind each of the points given.
struct FlowBlock {
  size_t begin = 0, end = 0;
  std::vector<size_t> predecessors;
  std::vector<size_t> successors;  // The number of blocks stands for the return at the end.
};
struct FlowBlocks {
  std::vector<FlowBlock> blocks;
  std::vector<size_t> block_of;  // By instruction.
};
FlowBlocks SplitIntoBlocks(const ptx::Function& function, const std::vector<size_t>& points);

// For each block, the registers whose values at its beginning are read in it or after it.
std::vector<std::vector<int>> LiveInto(const ptx::Function& function, const FlowBlocks& split);

// For each instruction of `points` (indices, ascending), the registers whose values are read after it that have been
// written before it; those that the instruction writes itself are not among them.
std::vector<std::vector<int>> LiveAcross(const ptx::Function& function, const std::vector<size_t>& points);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_FLOW_H_
