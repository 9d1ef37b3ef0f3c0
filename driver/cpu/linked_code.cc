#include "driver/cpu/linked_code.h"

#include <dlfcn.h>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "driver/cpu/compiled_module.h"
#include "driver/cpu/memory_check.h"
#include "driver/cpu/translate/instruction_functions.h"
#include "driver/cpu/translate/rounding.h"
#include "driver/cpu/translate/system_calls.h"
#include "driver/cpu/warp.h"
#include "llvm/ExecutionEngine/JITSymbol.h"
#include "llvm/ExecutionEngine/RuntimeDyld.h"
#include "llvm/ExecutionEngine/SectionMemoryManager.h"
#include "llvm/Object/ObjectFile.h"

namespace slipway::cpu {
namespace {

absl::Status Bug(absl::string_view detail) {
  return absl::InternalError(absl::StrCat(
      "the CPU device: translated code cannot be linked (this is a bug in Slipway; please report it): ", detail));
}

// A function of the host that translated code may call; null if there is none of this name.
void* HostFunction(llvm::StringRef name) {
  using Functions = absl::flat_hash_map<absl::string_view, void*>;
  static const Functions& functions = *[] {
    auto* made = new Functions;
    for (const auto& list : {RuntimeFunctions(), SystemFunctions(), InstructionFunctions(), CheckFunctions()}) {
      for (const auto& [symbol, address] : list)
        made->emplace(absl::string_view(symbol.data(), symbol.size()), address);
    }
    made->emplace("slipway_cpu_run_warps", reinterpret_cast<void*>(&slipway_cpu_run_warps));
    return made;
  }();
  const auto found = functions.find(absl::string_view(name.data(), name.size()));
  // What LLVM makes calls of: memcpy, fma and their like.
  return found != functions.end() ? found->second : dlsym(RTLD_DEFAULT, name.str().c_str());
}

class Resolver : public llvm::JITSymbolResolver {
 public:
  explicit Resolver(std::byte* variables) : variables_(variables) {}

  void lookup(const LookupSet& symbols, OnResolvedFunction on_resolved) override {
    LookupResult found;
    for (llvm::StringRef symbol : symbols) {
      void* const address = symbol == kVariablesSymbol ? static_cast<void*>(variables_) : HostFunction(symbol);
      if (address == nullptr) {
        on_resolved(llvm::createStringError("nothing is called '" + symbol + "'"));
        return;
      }
      found[symbol] = llvm::JITEvaluatedSymbol::fromPointer(address);
    }
    on_resolved(std::move(found));
  }
  llvm::Expected<LookupSet> getResponsibilitySet(const LookupSet&) override { return LookupSet(); }

 private:
  std::byte* const variables_;
};

// Notes where code goes.
class Memory : public llvm::SectionMemoryManager {
 public:
  uint8_t* allocateCodeSection(uintptr_t size, unsigned alignment, unsigned id, llvm::StringRef name) override {
    uint8_t* const section = SectionMemoryManager::allocateCodeSection(size, alignment, id, name);
    if (section != nullptr) sections.emplace_back(reinterpret_cast<uintptr_t>(section), size);
    return section;
  }
  // Nothing throws through translated code.
  void registerEHFrames(uint8_t*, uint64_t, size_t) override {}

  std::vector<std::pair<uintptr_t, size_t>> sections;
};

}  // namespace

struct LinkedCode::State {
  Memory memory;
  absl::flat_hash_map<std::string, void*> symbols;
};

LinkedCode::LinkedCode() : state_(std::make_unique<State>()) {}
LinkedCode::~LinkedCode() = default;

absl::StatusOr<std::unique_ptr<LinkedCode>> LinkedCode::Link(std::string_view object, std::byte* variables) {
  llvm::Expected<std::unique_ptr<llvm::object::ObjectFile>> file = llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(object.data(), object.size()), "kernels"));
  if (!file) return Bug(llvm::toString(file.takeError()));
  std::unique_ptr<LinkedCode> code(new LinkedCode);
  Resolver resolver(variables);
  llvm::RuntimeDyld linker(code->state_->memory, resolver);
  if (linker.loadObject(**file) == nullptr || linker.hasError()) return Bug(std::string(linker.getErrorString()));
  linker.resolveRelocations();
  if (linker.hasError()) return Bug(std::string(linker.getErrorString()));
  std::string problem;
  if (code->state_->memory.finalizeMemory(&problem)) return Bug(problem);
  for (const auto& [name, symbol] : linker.getSymbolTable()) {
    code->state_->symbols.emplace(name.str(), reinterpret_cast<void*>(symbol.getAddress()));
  }
  return code;
}

absl::StatusOr<void*> LinkedCode::Find(const std::string& symbol) const {
  const auto found = state_->symbols.find(symbol);
  if (found == state_->symbols.end()) return Bug(absl::StrCat("nothing is called '", symbol, "'"));
  return found->second;
}

const std::vector<std::pair<uintptr_t, size_t>>& LinkedCode::sections() const { return state_->memory.sections; }

}  // namespace slipway::cpu
