// Kernels whose threads wait for each other, made ready to be cut into regions.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_FLATTEN_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_FLATTEN_H_

#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "driver/cpu/ptx/module.h"

namespace slipway::cpu {

using FunctionsByName = std::map<std::string_view, const ptx::Function*>;

// The function that a call names; null if it is called through a register or not known.
const ptx::Function* Callee(const ptx::Instruction& instruction, const FunctionsByName& functions);

// The functions, kernels among them, in which a thread may wait for others: which have an instruction that waits, call
// one that may, or go round a loop whose end depends on what other threads store.
std::set<const ptx::Function*> FunctionsThatWait(const FunctionsByName& functions);

struct FlatKernel {
  ptx::Function function;
  std::vector<const ptx::Variable*> origins;  // What each of its variables is a copy of.
};

// A kernel that may wait, with the bodies of the functions that it calls and that may wait in the place of the calls,
// and a yield in every loop that waits for a store. UNIMPLEMENTED if such functions call each other in a circle.
// `names` keeps the text that the result points to.
absl::StatusOr<FlatKernel> Flatten(const ptx::Function& kernel, const FunctionsByName& functions,
                                   const std::set<const ptx::Function*>& waiting, std::deque<std::string>* names);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_FLATTEN_H_
