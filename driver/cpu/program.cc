#include "driver/cpu/program.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <utility>

#include "driver/cpu/call_stack.h"
#include "driver/cpu/ptx/message.h"
#include "driver/cpu/ptx/parser.h"
#include "driver/cpu/translate/host_code.h"
#include "driver/cpu/translate/module_translator.h"
#include "driver/status_macros.h"
#include "llvm/Support/Alignment.h"

namespace slipway::cpu {
namespace {

constexpr size_t kGlobalAlign = 256;  // As device allocations are.
constexpr uint64_t kMaxGlobalBytes = uint64_t{1} << 40;
constexpr uint64_t kCheckedGap = 256;  // Behind each variable that is checked.

struct FreeAligned {
  void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{kGlobalAlign}); }
};

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
    if (*bytes > kMaxGlobalBytes) return ptx::Malformed(variable.line, "global variables of more than 1 TiB");
  }
  for (size_t i = 0; i < module.variables.size(); ++i) offsets[i] = offsets[definitions[i]];
  return offsets;
}

// The address that an initialiser names: of a variable, or of a device function, which is that of its code.
absl::StatusOr<uint64_t> AddressOf(const ptx::Module& module, const std::vector<uint64_t>& addresses,
                                   const HostCode& code, std::string_view symbol, int line) {
  for (size_t i = 0; i < module.variables.size(); ++i) {
    if (module.variables[i].name == symbol && IsInMemory(module.variables[i])) return addresses[i];
  }
  for (const ptx::Alias& alias : module.aliases) {
    if (alias.name == symbol) symbol = alias.target;
  }
  for (const ptx::Function& function : module.functions) {
    if (function.name != symbol || !function.has_body || function.is_kernel) continue;
    SLIPWAY_ASSIGN_OR_RETURN(void* const address, code.Find(DeviceSymbol(symbol)));
    return reinterpret_cast<uint64_t>(address);
  }
  return ptx::Unsupported(line, "an initial value is the address of '", symbol,
                          "', which is no global variable or device function of this module");
}

absl::Status Initialize(const ptx::Module& module, const std::vector<size_t>& definitions,
                        const std::vector<uint64_t>& addresses, const HostCode& code) {
  for (size_t i = 0; i < module.variables.size(); ++i) {
    const ptx::Variable& variable = module.variables[i];
    if (!IsInMemory(variable) || definitions[i] != i) continue;
    auto* const memory = reinterpret_cast<std::byte*>(addresses[i]);
    const size_t given = variable.initializer.size();
    std::copy(variable.initializer.begin(), variable.initializer.end(), memory);
    std::memset(memory + given, 0, variable.bytes - given);
    for (const ptx::Relocation& relocation : variable.relocations) {
      SLIPWAY_ASSIGN_OR_RETURN(uint64_t address,
                               AddressOf(module, addresses, code, relocation.symbol, relocation.line));
      address = (address + static_cast<uint64_t>(relocation.addend)) >> relocation.shift;
      std::memcpy(memory + relocation.offset, &address, relocation.bytes);
    }
  }
  return absl::OkStatus();
}

}  // namespace

struct Program::State {
  int isa = 0;
  int sm = 0;
  std::vector<CpuKernel> kernels;
  std::vector<CpuGlobal> globals;
  std::unique_ptr<std::byte, FreeAligned> own_memory;
  std::unique_ptr<HostCode> code;
};

Program::Program(std::unique_ptr<State> state) : state_(std::move(state)) {}
Program::~Program() = default;

absl::StatusOr<std::unique_ptr<Program>> Program::Load(std::string_view ptx, const ProgramOptions& options) {
  SLIPWAY_ASSIGN_OR_RETURN(const std::unique_ptr<ptx::Module> module, ptx::Parse(ptx));
  if (module->version > options.max_isa) {
    return absl::OutOfRangeError(ptx::Concat(".version ", module->version / 10, ".", module->version % 10,
                                             " is newer than this device's driver takes (", options.max_isa / 10, ".",
                                             options.max_isa % 10, "); compile for that or an older PTX ISA"));
  }
  if (module->sm > options.sm) {
    return absl::FailedPreconditionError(ptx::Concat(".target ", module->target, " is newer than this device (sm_",
                                                     options.sm, "); compile for that or an older target"));
  }
  auto state = std::make_unique<State>();
  state->isa = module->version;
  state->sm = module->sm;

  const std::vector<size_t> definitions = Definitions(*module);
  uint64_t bytes = 0;
  SLIPWAY_ASSIGN_OR_RETURN(std::vector<uint64_t> addresses,
                           LayOut(*module, definitions, options.check_memory ? kCheckedGap : 0, &bytes));
  if (bytes != 0) {
    std::byte* memory = nullptr;
    if (options.allocate) {
      SLIPWAY_ASSIGN_OR_RETURN(memory, options.allocate(bytes, kGlobalAlign));
    } else {
      memory = static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kGlobalAlign}, std::nothrow));
      if (memory == nullptr)
        return absl::ResourceExhaustedError(ptx::Concat("no memory for ", bytes, " bytes of global variables"));
      state->own_memory.reset(memory);
    }
    for (size_t i = 0; i < addresses.size(); ++i) {
      const ptx::Variable& variable = module->variables[i];
      if (!IsInMemory(variable)) continue;
      if (definitions[i] == i) {
        state->globals.push_back(
            {std::string(variable.name), memory + addresses[i], variable.bytes, variable.space == ptx::Space::kConst});
      }
      addresses[i] += reinterpret_cast<uint64_t>(memory);
    }
  }

  llvm::LLVMContext context;
  llvm::Module target("ptx", context);
  SLIPWAY_RETURN_IF_ERROR(HostCode::Prepare(target));
  SLIPWAY_RETURN_IF_ERROR(TranslateModule(*module, addresses, options.check_memory, target, &state->kernels));
  SLIPWAY_ASSIGN_OR_RETURN(state->code, HostCode::Compile(target));
  SLIPWAY_RETURN_IF_ERROR(Initialize(*module, definitions, addresses, *state->code));
  for (size_t i = 0; i < state->kernels.size(); ++i) {
    SLIPWAY_ASSIGN_OR_RETURN(void* const run, state->code->Find(KernelSymbol(i)));
    CpuKernel& kernel = state->kernels[i];
    kernel.run = reinterpret_cast<CpuRunBlocks>(run);
    kernel.buffer_bytes = std::max<size_t>(kernel.params_bytes, 16);
    if (options.note_call_stacks) {
      kernel.call_stack_at = CallStackOffset(kernel.params_bytes);
      kernel.buffer_bytes = kernel.call_stack_at + sizeof(CallStack);
    }
  }
  return std::unique_ptr<Program>(new Program(std::move(state)));
}

const std::vector<CpuKernel>& Program::kernels() const { return state_->kernels; }
const std::vector<CpuGlobal>& Program::globals() const { return state_->globals; }
int Program::isa() const { return state_->isa; }
int Program::sm() const { return state_->sm; }

const CpuKernel* Program::FindKernel(std::string_view name) const {
  const auto it =
      std::find_if(state_->kernels.begin(), state_->kernels.end(), [&](const auto& k) { return k.name == name; });
  return it == state_->kernels.end() ? nullptr : &*it;
}

const CpuGlobal* Program::FindGlobal(std::string_view name) const {
  const auto it =
      std::find_if(state_->globals.begin(), state_->globals.end(), [&](const auto& g) { return g.name == name; });
  return it == state_->globals.end() ? nullptr : &*it;
}

bool Program::ContainsCode(const void* pc) const {
  const auto at = reinterpret_cast<uintptr_t>(pc);
  for (const auto& [begin, size] : state_->code->sections()) {
    if (at - begin < size) return true;
  }
  return false;
}

}  // namespace slipway::cpu
