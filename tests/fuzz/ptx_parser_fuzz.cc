// The PTX parser: any text is a module or a refusal, and what is in a module points to what is there.
#include <algorithm>

#include "driver/cpu/ptx/parser.h"
#include "tests/fuzz/ptx.h"
#include "tests/fuzz/target.h"

namespace slipway::fuzz {
namespace {

using ptx::Function;
using ptx::Operand;
using ptx::Variable;

void CheckVariable(const Variable& variable) {
  SLIPWAY_FUZZ_CHECK(!variable.name.empty(), "a variable without a name");
  SLIPWAY_FUZZ_CHECK(variable.initializer.size() <= variable.bytes, "an initialiser longer than its variable");
  for (const auto& relocation : variable.relocations) {
    SLIPWAY_FUZZ_CHECK(relocation.offset + relocation.bytes <= variable.initializer.size(),
                       "a relocation outside the initialiser");
    SLIPWAY_FUZZ_CHECK(relocation.shift < 64, "a shift of an address past its bits");
  }
}

void CheckOperand(const Function& function, const Operand& operand) {
  SLIPWAY_FUZZ_CHECK(operand.variable < static_cast<int>(function.variables.size()), "an operand names no variable");
  if (operand.kind == Operand::Kind::kRegister) SLIPWAY_FUZZ_CHECK(operand.variable >= 0, "a register without number");
  if (operand.kind == Operand::Kind::kPair) SLIPWAY_FUZZ_CHECK(operand.elements.size() == 2, "a pair of another size");
  for (const Operand& element : operand.elements) CheckOperand(function, element);
}

void CheckFunction(const Function& function) {
  for (const Variable& variable : function.variables) CheckVariable(variable);
  for (const auto* list : {&function.returns, &function.params}) {
    for (int index : *list) {
      SLIPWAY_FUZZ_CHECK(index >= 0 && static_cast<size_t>(index) < function.variables.size(),
                         "a parameter is missing");
    }
  }
  for (const auto& instruction : function.body) {
    SLIPWAY_FUZZ_CHECK(instruction.guard < static_cast<int>(function.variables.size()), "a guard is missing");
    SLIPWAY_FUZZ_CHECK(!instruction.opcode.empty() && instruction.line > 0, "an instruction without opcode or line");
    for (const Operand& operand : instruction.operands) CheckOperand(function, operand);
  }
  for (const auto& [name, index] : function.labels) {
    SLIPWAY_FUZZ_CHECK(index <= function.body.size(), "a label points past the body");
  }
}

}  // namespace

void FuzzOne(std::string_view text) {
  const auto module = ptx::Parse(text);
  if (!module.ok()) {
    SLIPWAY_FUZZ_CHECK(IsRefusal(module.status()), module.status().ToString());
    SLIPWAY_FUZZ_CHECK(module.status().message().substr(0, 5) == "line ", module.status().ToString());
    return;
  }
  for (const Variable& variable : (*module)->variables) CheckVariable(variable);
  for (const Function& function : (*module)->functions) CheckFunction(function);
}

const TokenMutator& Mutator() {
  static const TokenMutator mutator(PtxVocabulary());
  return mutator;
}

}  // namespace slipway::fuzz
