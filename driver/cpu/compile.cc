#include "driver/cpu/compile.h"

#include <map>
#include <utility>
#include <vector>

#include "driver/cpu/limits.h"
#include "driver/cpu/ptx/parser.h"
#include "driver/cpu/ptx/target.h"
#include "driver/cpu/translate/host_code.h"
#include "driver/cpu/translate/module_translator.h"
#include "driver/ptx/message.h"
#include "driver/status_macros.h"
#include "llvm/Support/Alignment.h"

namespace slipway::cpu {
namespace {

constexpr uint64_t kMaxVariableBytes = uint64_t{1} << 40;
constexpr uint64_t kCheckedGap = 256;  // Behind each variable that is checked.

bool IsInMemory(const ptx::Variable& variable) {
  return variable.space == ptx::Space::kGlobal || variable.space == ptx::Space::kConst;
}

// Of each variable the one that is meant by its name: what is not extern before what is, what is not weak before what
// is, the first otherwise.
std::vector<size_t> Definitions(const ptx::Module& module) {
  const auto rank = [&](size_t i) { return 2 * module.variables[i].is_extern + module.variables[i].is_weak; };
  std::map<std::string_view, size_t> best;
  for (size_t i = 0; i < module.variables.size(); ++i) {
    const auto [known, is_first] = best.emplace(module.variables[i].name, i);
    if (!is_first && rank(i) < rank(known->second)) known->second = i;
  }
  std::vector<size_t> definitions;
  for (const ptx::Variable& variable : module.variables) definitions.push_back(best[variable.name]);
  return definitions;
}

// Offsets of the module's global and constant variables from the start of their memory.
absl::StatusOr<std::vector<uint64_t>> LayOut(const ptx::Module& module, const std::vector<size_t>& definitions,
                                             uint64_t gap, uint64_t* bytes) {
  std::vector<uint64_t> offsets(module.variables.size());
  *bytes = 0;
  uint64_t constant_bytes = 0;
  for (size_t i = 0; i < module.variables.size(); ++i) {
    const ptx::Variable& variable = module.variables[i];
    if (variable.space == ptx::Space::kShared) continue;
    if (!IsInMemory(variable)) {
      return ptx::Unsupported(variable.line, "'", variable.name,
                              "': only .global, .const and .shared variables can stand outside functions");
    }
    const ptx::Variable& definition = module.variables[definitions[i]];
    if (definition.is_extern || definition.bytes == 0) {
      return ptx::Unsupported(variable.line, "'", variable.name, "' is not defined in this module");
    }
    if (definitions[i] != i) {
      if (variable.is_extern || variable.is_weak) continue;
      return ptx::Malformed(variable.line, "'", variable.name, "' is defined twice");
    }
    *bytes = llvm::alignTo(*bytes, variable.align);
    offsets[i] = *bytes;
    *bytes += variable.bytes + gap;
    if (variable.space == ptx::Space::kConst)
      constant_bytes = llvm::alignTo(constant_bytes, variable.align) + variable.bytes;
    if (constant_bytes > kConstantBytes) {
      return ptx::Malformed(variable.line, "with '", variable.name, "' there are ", constant_bytes,
                            " bytes of .const variables; a module can have ", kConstantBytes);
    }
    if (*bytes > kMaxVariableBytes) return ptx::Malformed(variable.line, "global variables of more than 1 TiB");
  }
  for (size_t i = 0; i < module.variables.size(); ++i) offsets[i] = offsets[definitions[i]];
  return offsets;
}

// What an initialiser names: a variable, or a device function, whose address is that of its code.
absl::StatusOr<CompiledAddress> AddressOf(const ptx::Module& module, const std::vector<uint64_t>& offsets,
                                          const ptx::Relocation& relocation) {
  CompiledAddress address;
  address.bytes = static_cast<uint32_t>(relocation.bytes);
  address.shift = static_cast<uint32_t>(relocation.shift);
  address.addend = static_cast<uint64_t>(relocation.addend);
  std::string_view symbol = relocation.symbol;
  for (size_t i = 0; i < module.variables.size(); ++i) {
    if (module.variables[i].name != symbol || !IsInMemory(module.variables[i])) continue;
    address.symbol = kVariablesSymbol;
    address.addend += offsets[i];
    return address;
  }
  for (const ptx::Alias& alias : module.aliases) {
    if (alias.name == symbol) symbol = alias.target;
  }
  for (const ptx::Function& function : module.functions) {
    if (function.name != symbol || !function.has_body || function.is_kernel) continue;
    address.symbol = DeviceSymbol(symbol);
    return address;
  }
  return ptx::Unsupported(relocation.line, "an initial value is the address of '", symbol,
                          "', which is no global variable or device function of this module");
}

absl::Status DescribeVariables(const ptx::Module& module, const std::vector<size_t>& definitions,
                               const std::vector<uint64_t>& offsets, CompiledModule* compiled) {
  for (size_t i = 0; i < module.variables.size(); ++i) {
    const ptx::Variable& variable = module.variables[i];
    if (!IsInMemory(variable) || definitions[i] != i) continue;
    compiled->variables.push_back(
        {std::string(variable.name), offsets[i], variable.bytes, variable.space == ptx::Space::kConst});
    if (variable.initializer.empty()) continue;
    compiled->initial.push_back({offsets[i], std::string(reinterpret_cast<const char*>(variable.initializer.data()),
                                                         variable.initializer.size())});
    for (const ptx::Relocation& relocation : variable.relocations) {
      SLIPWAY_ASSIGN_OR_RETURN(CompiledAddress address, AddressOf(module, offsets, relocation));
      address.offset = offsets[i] + relocation.offset;
      compiled->addresses.push_back(std::move(address));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CompiledModule> Compile(std::string_view ptx, const ProgramOptions& options) {
  SLIPWAY_ASSIGN_OR_RETURN(const std::unique_ptr<ptx::Module> module, ptx::Parse(ptx));
  if (module->version > options.max_isa) {
    return absl::OutOfRangeError(ptx::Concat(".version ", module->version / 10, ".", module->version % 10,
                                             " is newer than this device's driver takes (", options.max_isa / 10, ".",
                                             options.max_isa % 10, "); compile for that or an older PTX ISA"));
  }
  SLIPWAY_RETURN_IF_ERROR(ptx::CheckTarget(*module, options.sm));
  CompiledModule compiled;
  compiled.isa = module->version;
  compiled.sm = module->sm;
  const std::vector<size_t> definitions = Definitions(*module);
  SLIPWAY_ASSIGN_OR_RETURN(
      const std::vector<uint64_t> offsets,
      LayOut(*module, definitions, options.check_memory ? kCheckedGap : 0, &compiled.variable_bytes));
  SLIPWAY_ASSIGN_OR_RETURN(HostCompiler compiler, HostCompiler::Get());
  llvm::LLVMContext context;
  llvm::Module target("ptx", context);
  compiler.Prepare(target);
  SLIPWAY_RETURN_IF_ERROR(
      TranslateModule(*module, {offsets, compiled.variable_bytes}, options.check_memory, target, &compiled.kernels));
  SLIPWAY_RETURN_IF_ERROR(DescribeVariables(*module, definitions, offsets, &compiled));
  SLIPWAY_ASSIGN_OR_RETURN(compiled.object, compiler.Compile(target));
  return compiled;
}

}  // namespace slipway::cpu
