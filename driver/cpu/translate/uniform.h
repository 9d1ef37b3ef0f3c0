// How the values of registers change from lane to lane of a warp that stays together.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_UNIFORM_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_UNIFORM_H_

#include <cstdint>
#include <optional>
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

// For each register of a kernel, by how much its value grows from lane to lane, where the lanes' threads lie next to
// each other in x and go the same ways: 0 for loop counters, sizes and strides, the size of an element for the address
// of a thread's own; null for all that is not known to grow evenly. It is a guess, because lanes that part in a loop
// may meet again in different turns of it: whoever counts on it compares the lanes' values first.
std::vector<std::optional<int64_t>> LaneStrides(const ptx::Function& kernel);

// Whether the stride is 0, by register.
std::vector<bool> UniformRegisters(const ptx::Function& kernel);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_UNIFORM_H_
