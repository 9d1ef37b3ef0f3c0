#include "driver/cpu/program.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/compile_history.h"
#include "driver/cpu/call_stack.h"
#include "driver/cpu/compile.h"
#include "driver/cpu/compiled_module.h"
#include "driver/cpu/linked_code.h"
#include "driver/cpu/object_cache.h"
#include "driver/cpu/translate/host_code.h"
#include "driver/disk_cache.h"
#include "driver/ptx/names.h"
#include "driver/status_macros.h"

namespace slipway::cpu {
namespace {

struct FreeAligned {
  void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{kVariablesAlign}); }
};

// Everything that shapes the code and how it is launched, or decides whether there is any.
std::string CacheKey(std::string_view ptx, const ProgramOptions& options) {
  return absl::StrCat(HostCompiler::Description(), " sm ", options.sm, " isa ", options.max_isa,
                      options.check_memory ? " checked" : "", options.note_call_stacks ? " with call stacks" : "", "\n",
                      absl::string_view(ptx.data(), ptx.size()));
}

absl::StatusOr<std::string> CompileAndEncode(std::string_view ptx, const ProgramOptions& options) {
  SLIPWAY_ASSIGN_OR_RETURN(const CompiledModule compiled, Compile(ptx, options));
  return Encode(compiled);
}

constexpr char kKind[] = "host";  // In the disk cache and in the history.

// From the disk, if it is there and is what Link takes.
absl::StatusOr<std::string> LoadOrCompile(const std::string& key, std::string_view ptx, const ProgramOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  CompileRecord note = {.name = ptx::TitleOf(ptx),
                        .kind = kKind,
                        .key = {{"host", key.substr(0, key.find('\n'))},
                                {"sources", internal::kSourceFingerprint},
                                {"PTX", internal::ContentHash(ptx)}}};
  const auto noted = [&](absl::StatusOr<std::string> bytes) {
    note.status = bytes.status();
    note.microseconds = internal::MicrosecondsSince(begin);
    internal::NoteCompile(std::move(note));
    return bytes;
  };
  if (!internal::HasDiskCache()) return noted(CompileAndEncode(ptx, options));
  const std::string disk_key = absl::StrCat(internal::KeyLine(note.name, note.key), "\n", key);
  if (std::optional<std::string> known = internal::LoadFromDisk(kKind, disk_key)) {
    note.from_disk = true;
    if (Decode(*known).ok()) return noted(*std::move(known));
    note.from_disk = false;
    internal::DropFromDisk(kKind, disk_key);
  }
  absl::StatusOr<std::string> bytes = CompileAndEncode(ptx, options);
  if (bytes.ok()) internal::StoreOnDisk(kKind, disk_key, *bytes);
  return noted(std::move(bytes));
}

// Gives the variables their initial values.
absl::Status Initialize(const CompiledModule& compiled, const LinkedCode& code, std::byte* memory) {
  if (compiled.variable_bytes != 0) std::memset(memory, 0, compiled.variable_bytes);
  for (const CompiledBytes& initial : compiled.initial) {
    std::memcpy(memory + initial.offset, initial.bytes.data(), initial.bytes.size());
  }
  for (const CompiledAddress& value : compiled.addresses) {
    void* symbol = memory;
    if (value.symbol != kVariablesSymbol) {
      SLIPWAY_ASSIGN_OR_RETURN(symbol, code.Find(value.symbol));
    }
    const uint64_t address = (reinterpret_cast<uint64_t>(symbol) + value.addend) >> value.shift;
    std::memcpy(memory + value.offset, &address, value.bytes);
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
  std::unique_ptr<LinkedCode> code;
};

Program::Program(std::unique_ptr<State> state) : state_(std::move(state)) {}
Program::~Program() = default;

absl::StatusOr<std::unique_ptr<Program>> Program::Load(std::string_view ptx, const ProgramOptions& options) {
  if (options.cache != nullptr) {
    const std::string key = CacheKey(ptx, options);
    SLIPWAY_ASSIGN_OR_RETURN(const ObjectCache::Bytes bytes,
                             options.cache->GetOrCompile(key, [&] { return LoadOrCompile(key, ptx, options); }));
    return Link(*bytes, options);
  }
  SLIPWAY_ASSIGN_OR_RETURN(const std::string bytes, CompileAndEncode(ptx, options));
  return Link(bytes, options);
}

absl::StatusOr<std::unique_ptr<Program>> Program::Link(const std::string& bytes, const ProgramOptions& options) {
  SLIPWAY_ASSIGN_OR_RETURN(CompiledModule compiled, Decode(bytes));
  auto state = std::make_unique<State>();
  state->isa = compiled.isa;
  state->sm = compiled.sm;
  state->kernels = std::move(compiled.kernels);
  std::byte* memory = nullptr;
  if (const uint64_t size = compiled.variable_bytes; size != 0) {
    if (options.allocate) {
      SLIPWAY_ASSIGN_OR_RETURN(memory, options.allocate(size, kVariablesAlign));
    } else {
      memory = static_cast<std::byte*>(::operator new (size, std::align_val_t{kVariablesAlign}, std::nothrow));
      if (memory == nullptr) {
        return absl::ResourceExhaustedError(absl::StrCat("no memory for ", size, " bytes of global variables"));
      }
      state->own_memory.reset(memory);
    }
  }
  SLIPWAY_ASSIGN_OR_RETURN(state->code, LinkedCode::Link(compiled.object, memory));
  SLIPWAY_RETURN_IF_ERROR(Initialize(compiled, *state->code, memory));
  for (CompiledVariable& variable : compiled.variables) {
    state->globals.push_back({std::move(variable.name), memory + variable.offset, variable.bytes, variable.constant});
  }
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
