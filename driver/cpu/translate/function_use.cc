#include "driver/cpu/translate/function_use.h"

#include <map>
#include <utility>
#include <vector>

namespace slipway::cpu {
namespace {

using ptx::Function;

std::vector<const Function*> Callees(const Function& function, const FunctionsByName& functions, FunctionUse* use) {
  std::vector<const Function*> callees;
  bool through_register = false;
  for (const ptx::Instruction& instruction : function.body) {
    if (instruction.opcode != "call") continue;
    const Function* const callee = Callee(instruction, functions);
    if (callee == nullptr) {
      through_register = true;
    } else if (callee->has_body) {
      callees.push_back(callee);
    } else {
      use->prints |= callee->name == "vprintf";
      use->allocates |= callee->name == "malloc" || callee->name == "free";
    }
  }
  if (!through_register) return callees;
  for (const auto& [name, any] : functions) {
    if (any->has_body && !any->is_kernel) callees.push_back(any);
  }
  return callees;
}

}  // namespace

FunctionUse UseOf(const Function& function, const FunctionsByName& functions) {
  FunctionUse use;
  struct Frame {
    const Function* function;
    std::vector<const Function*> left;  // Callees to look at.
  };
  std::map<const Function*, bool> active;  // Those that were looked at, and whether they still are.
  std::vector<Frame> stack;                // Not the thread's: text from outside may have calls as deep as it is long.
  const auto enter = [&](const Function* next) {
    active[next] = true;
    stack.push_back({next, Callees(*next, functions, &use)});
  };
  enter(&function);
  while (!stack.empty()) {
    Frame& frame = stack.back();
    if (frame.left.empty()) {
      active[frame.function] = false;
      stack.pop_back();
      continue;
    }
    const Function* const next = frame.left.back();
    frame.left.pop_back();
    const auto known = active.find(next);
    if (known == active.end()) {
      enter(next);
    } else if (known->second) {
      use.recurses = true;
    }
  }
  return use;
}

}  // namespace slipway::cpu
