// A parsed PTX module to an LLVM module with one function of type CpuRunBlocks a kernel.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_MODULE_TRANSLATOR_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_MODULE_TRANSLATOR_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "driver/cpu/program.h"
#include "driver/cpu/ptx/module.h"
#include "llvm/IR/Module.h"

namespace slipway::cpu {

// A variable of the module: where it lies.
struct ModuleVariable {
  const ptx::Variable* variable = nullptr;
  // An offset: from where the memory of the module's variables begins for .global and .const, into shared memory for
  // .shared.
  uint64_t offset = 0;
};

// What the translation of one module shares between its functions.
struct ModuleTranslation {
  const ptx::Module* source = nullptr;
  llvm::Module* target = nullptr;
  std::map<std::string_view, ModuleVariable> variables;
  std::map<std::string_view, const ptx::Function*> functions;
  std::map<std::string_view, llvm::Function*> device_functions;
  // Every access to memory that threads share is marked with this group. Loops over threads promise that the group's
  // accesses are independent, where threads_are_apart: a kernel's threads share no storage that PTX keeps apart.
  llvm::MDNode* access_group = nullptr;
  bool threads_are_apart = false;  // Of the kernel that is being translated.
  uint64_t shared_end =
      0;  // Of static shared memory in the kernel being translated (any kernel, in a device function).
  std::map<const ptx::Variable*, uint64_t> function_shared;  // Offsets of functions' own .shared variables.
  // The memory of .global and .const variables, whose address is known when the code is linked; null if there are none.
  llvm::GlobalVariable* memory = nullptr;
  // Whether a thread may fail and leave its block to go on: then the block is the last.
  bool threads_fail_alone = false;
  bool checked = false;                                // Accesses are: see access_checks.h, whose are
  uint32_t check_sites = 0;                            // the number of accesses so far,
  std::map<std::string, llvm::Constant*> check_texts;  // and strings.
};

// Where .global and .const variables lie in the memory of the module's variables.
struct VariableLayout {
  const std::vector<uint64_t>& offsets;  // Of ptx::Module::variables; ignored for .shared.
  uint64_t bytes = 0;                    // Of all.
};

// Translates every function of `source` into `target`. Fills `kernels` but for what Program::Load does; the function of
// kernels[i] is called KernelSymbol(i). `checked`: with a test before each access.
absl::Status TranslateModule(const ptx::Module& source, const VariableLayout& layout, bool checked,
                             llvm::Module& target, std::vector<CpuKernel>* kernels);

// Of a device function that an initialiser of a variable names.
std::string DeviceSymbol(std::string_view name);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_MODULE_TRANSLATOR_H_
