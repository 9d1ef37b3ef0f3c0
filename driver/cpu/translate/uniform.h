// Which registers hold the same value for all threads of a warp that stay together.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_UNIFORM_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_UNIFORM_H_

#include <vector>

#include "driver/cpu/ptx/module.h"

namespace slipway::cpu {

// Whether a variable in memory is each thread's own: local memory, and what calls pass to each other.
bool IsOfThread(const ptx::Function& kernel, int variable);

// Whether an instruction computes its results from its operands alone: no memory but the kernel's parameters, no flags,
// nothing that changes while a thread runs.
bool IsPure(const ptx::Function& kernel, const ptx::Instruction& instruction);

// Whether a kernel asks for a thread's y or z.
bool UsesRows(const ptx::Function& kernel);

// For each register of a kernel, whether lanes of a warp that go the same ways have the same value in it: loop
// counters, strides and sizes, as a rule. The warp's threads are one row, or (`rows`) several. It is a guess, because
// lanes that part in a loop may meet again in different turns of it: whoever counts on it compares the lanes' values
// first.
std::vector<bool> UniformRegisters(const ptx::Function& kernel, bool rows);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_UNIFORM_H_
