#include "slipway/module.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "driver/allocation.h"
#include "driver/as_absl.h"
#include "driver/compile_history.h"
#include "driver/disk_cache.h"
#include "driver/image.h"
#include "driver/ptx/join.h"
#include "driver/ptx/names.h"
#include "driver/status_macros.h"
#include "driver/suggest.h"
#include "slipway/graph.h"
#include "slipway/hooks.h"

namespace slipway {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string CudaVersion(int number) { return absl::StrCat(number / 1000, ".", number % 1000 / 10); }

// "cannot load the PTX on ...: CUDA_ERROR_...", and what the driver had to say. `ptx` is empty for binary images.
absl::Status Failure(const Device& device, CUresult result, const std::string& what, std::string_view ptx,
                     std::string_view log) {
  absl::Status status = DriverStatus(device.api(), result, what);
  std::string message(status.message());
  if (result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION) {
    const std::string_view version = ptx::VersionOf(ptx);
    absl::StrAppend(&message, ". The PTX is of ISA version ", version.empty() ? "(none stated)" : AsAbsl(version),
                    ", the driver of CUDA ", CudaVersion(device.properties().driver_version),
                    ": emit an older PTX version or install a newer driver");
  }
  log = log.substr(0, log.find('\0'));
  while (!log.empty() && IsSpace(log.back())) log.remove_suffix(1);
  if (!log.empty()) absl::StrAppend(&message, "\n", AsAbsl(log));
  // Text for a newer architecture is wrong, a binary image is at the wrong place.
  const bool misplaced = result == CUDA_ERROR_NO_BINARY_FOR_GPU && ptx.empty();
  return absl::Status(misplaced ? absl::StatusCode::kFailedPrecondition : status.code(), message);
}

// Options of loading and linking: a buffer for what goes wrong. Not to be moved: the driver keeps the addresses.
class ErrorLog {
 public:
  unsigned count() const { return static_cast<unsigned>(std::size(options_)); }
  CUjit_option* options() { return options_; }
  void** values() { return values_; }
  std::string_view text() const { return text_; }

 private:
  std::string text_ = std::string(16384, '\0');
  CUjit_option options_[2] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values_[2] = {text_.data(), reinterpret_cast<void*>(text_.size())};
};

// The device's context is current. `*module` is set only on success. `image` ends with a NUL if it is text.
absl::Status LoadInto(const Device& device, const std::string& image, const char* what, std::string_view ptx,
                      CUmodule* module) {
  ErrorLog log;
  CUmodule loaded = nullptr;
  const CUresult result =
      device.api().ModuleLoadDataEx(&loaded, image.c_str(), log.count(), log.options(), log.values());
  if (result != CUDA_SUCCESS) {
    return Failure(device, result, absl::StrCat("cannot load ", what, " on ", device.Describe()), ptx, log.text());
  }
  *module = loaded;
  return absl::OkStatus();
}

int CapabilityOf(const Device& device) {
  return device.properties().compute_major * 10 + device.properties().compute_minor;
}

absl::Status Named(const std::string& name, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(name, ": ", status.message()));
}

// " (did you mean 'scale'?)"
std::string Hint(const std::string& name, const std::vector<std::string>& known) {
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  const std::string hint = DidYouMean(name, candidates);
  return hint.empty() ? "" : absl::StrCat(" (", hint, ")");
}

// A NUL in PTX text, other than at its end, is where the driver would stop reading.
absl::Status CheckNoNul(std::string_view ptx) {
  const size_t nul = ptx.find('\0');
  if (nul == ptx.npos || ptx.find_first_not_of('\0', nul) == ptx.npos) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the PTX has a zero byte at offset ", nul, " of ", ptx.size(),
                                                 ", where the driver would stop reading; give text without it"));
}

// The kinds of input as the driver's linker has them.
CUjitInputType InputTypeOf(ImageKind kind) {
  switch (kind) {
    case ImageKind::kPtx:
      return CU_JIT_INPUT_PTX;
    case ImageKind::kCubin:
    case ImageKind::kRelocatable:
      return CU_JIT_INPUT_CUBIN;
    case ImageKind::kFatbin:
      return CU_JIT_INPUT_FATBINARY;
    case ImageKind::kObject:
      return CU_JIT_INPUT_OBJECT;
    case ImageKind::kArchive:
      return CU_JIT_INPUT_LIBRARY;
  }
  return CU_JIT_INPUT_PTX;
}

// A link that is under way; ended with its scope, the image that it made with it.
class ScopedLink {
 public:
  explicit ScopedLink(const Device& device) : device_(device) {
    made_ = device.api().LinkCreate(log_.count(), log_.options(), log_.values(), &link_);
  }
  ~ScopedLink() {
    if (made_ == CUDA_SUCCESS) static_cast<void>(device_.api().LinkDestroy(link_));
  }
  ScopedLink(const ScopedLink&) = delete;
  ScopedLink& operator=(const ScopedLink&) = delete;

  absl::Status Add(const LinkInput& input, ImageKind kind) {
    SLIPWAY_RETURN_IF_ERROR(Check(made_, "", ""));
    // Text is counted with the NUL at its end; the driver does not write to what it is given.
    const size_t bytes = input.image.size() + (kind == ImageKind::kPtx ? 1 : 0);
    return Check(device_.api().LinkAddData(link_, InputTypeOf(kind), const_cast<char*>(input.image.c_str()), bytes,
                                           input.name.c_str(), 0, nullptr, nullptr),
                 input.name, input.image);
  }
  absl::StatusOr<std::string> Complete() {
    void* image = nullptr;
    size_t bytes = 0;
    SLIPWAY_RETURN_IF_ERROR(Check(device_.api().LinkComplete(link_, &image, &bytes), "", ""));
    return std::string(static_cast<const char*>(image), bytes);
  }

 private:
  absl::Status Check(CUresult result, const std::string& input, std::string_view ptx) const {
    if (result == CUDA_SUCCESS) return absl::OkStatus();
    return Failure(device_, result,
                   absl::StrCat("cannot link ", input, input.empty() ? "on " : " on ", device_.Describe()), ptx,
                   log_.text());
  }

  const Device& device_;
  ErrorLog log_;
  CUlinkState link_ = nullptr;
  CUresult made_;
};

// What a GPU's driver makes of PTX text, from the disk cache if it was made before by a driver of this version for such
// a GPU; empty where it is not to be had by itself: without a disk cache, from a driver whose linker gives no machine
// code, and for text that is wrong, of which the message then comes from loading it. The device's context is current.
constexpr char kCubinKind[] = "cubin";
struct MachineCode {
  std::string cubin;
  std::string key;  // On disk.
};
MachineCode AssembledBefore(const Device& device, std::string_view ptx, const std::string& name) {
  if (device.is_cpu() || !internal::HasDiskCache()) return {};
  const auto begin = std::chrono::steady_clock::now();
  CompileRecord note = {
      .name = name,
      .kind = kCubinKind,
      .key = {{"architecture", absl::StrCat("sm_", CapabilityOf(device))},
              {"driver", absl::StrCat(device.api().name, " of CUDA ", CudaVersion(device.properties().driver_version))},
              {"PTX", internal::ContentHash(ptx)}}};
  MachineCode code{.key = absl::StrCat(internal::KeyLine(name, note.key), "\n", AsAbsl(ptx))};
  if (std::optional<std::string> known = internal::LoadFromDisk(kCubinKind, code.key)) {
    note.from_disk = true;
    code.cubin = *std::move(known);
  } else {
    ScopedLink link(device);
    if (!link.Add({name, std::string(ptx)}, ImageKind::kPtx).ok()) return {};
    absl::StatusOr<std::string> linked = link.Complete();
    if (!linked.ok() || !BeginsElf(linked->c_str())) return {};
    code.cubin = *std::move(linked);
    internal::StoreOnDisk(kCubinKind, code.key, code.cubin);
  }
  note.microseconds = internal::MicrosecondsSince(begin);
  internal::NoteCompile(std::move(note));
  return code;
}

}  // namespace

struct Module::State {
  explicit State(const Device& on) : device(on) {}
  ~State() {
    if (handle == nullptr) return;
    const ScopedContext current(*device.state());
    const internal::RelaxedCapture relaxed(device.api());
    // As for streams: a module goes with its context.
    if (current.ok()) static_cast<void>(device.api().ModuleUnload(handle));
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Fills in what PTX text tells of names.
  void ReadNames(std::string_view ptx) {
    kernels = ptx::KernelNames(ptx);
    globals = ptx::VariableNames(ptx);
  }
  // What the driver tells of a binary image, if it does. The context is current.
  void AskNames() {
    const DriverApi& api = device.api();
    unsigned count = 0;
    if (!kernels.empty() || api.ModuleGetFunctionCount == nullptr || api.ModuleEnumerateFunctions == nullptr ||
        api.FuncGetName == nullptr || api.ModuleGetFunctionCount(&count, handle) != CUDA_SUCCESS || count == 0) {
      return;
    }
    std::vector<CUfunction> functions(count);
    if (api.ModuleEnumerateFunctions(functions.data(), count, handle) != CUDA_SUCCESS) return;
    for (const CUfunction function : functions) {
      const char* name = nullptr;
      if (function != nullptr && api.FuncGetName(&name, function) == CUDA_SUCCESS && name != nullptr) {
        kernels.emplace_back(name);
      }
    }
  }
  // Loads, with hooks around it; `code` is the PTX text that the image is, or was made of, if it is.
  absl::Status Load(const std::string& image, const char* what, std::string_view code) {
    const auto load = [&] { return LoadInto(device, image, what, code, &handle); };
    if (!internal::Hooked(HookPoint::kBeforeLoad | HookPoint::kAfterLoad)) return load();
    const std::string name = absl::StrJoin(kernels, ", ");
    const HookEvent event = {.point = HookPoint::kBeforeLoad, .name = name, .device = &device, .code = code};
    return internal::WithHooks(event, HookPoint::kAfterLoad, load);
  }

  const Device device;
  CUmodule handle = nullptr;
  std::vector<std::string> kernels, globals;  // Names, for messages.

  // Memory of variables that somebody holds.
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<const internal::Allocation>> memory;
};

absl::StatusOr<Module> Module::LoadPtx(const Device& device, std::string_view ptx) {
  if (ptx.empty()) return absl::InvalidArgumentError("Module::LoadPtx: the PTX is empty");
  if (const size_t nul = ptx.find('\0'); nul != ptx.npos) {
    return absl::InvalidArgumentError(absl::StrCat("Module::LoadPtx: the PTX has a zero byte at offset ", nul, " of ",
                                                   ptx.size(),
                                                   ", where the driver would stop reading; give text without it"));
  }
  const ScopedContext current(*device.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  const internal::RelaxedCapture relaxed(device.api());  // A kernel may first be needed while a stream is captured.

  // Allocated before the driver is asked, so that nothing can fail between its success and an owner.
  auto state = std::make_shared<State>(device);
  state->ReadNames(ptx);
  const MachineCode code = AssembledBefore(device, ptx, ptx::TitleOf(ptx));
  if (!code.cubin.empty()) {
    if (state->Load(code.cubin, "a cubin", ptx).ok()) return Module(std::move(state));
    internal::DropFromDisk(kCubinKind, code.key);
  }
  SLIPWAY_RETURN_IF_ERROR(state->Load(std::string(ptx), "the PTX", ptx));
  return Module(std::move(state));
}

absl::StatusOr<Module> Module::Load(const Device& device, std::string_view bytes) {
  absl::StatusOr<Image> image = Examine(bytes);
  if (!image.ok()) return Named("Module::Load", image.status());
  if (image->kind == ImageKind::kPtx) {
    if (absl::Status status = CheckNoNul(bytes); !status.ok()) return Named("Module::Load", status);
    return LoadPtx(device, bytes.substr(0, bytes.find('\0')));
  }
  if (image->kind != ImageKind::kCubin && image->kind != ImageKind::kFatbin) {
    return absl::InvalidArgumentError(
        absl::StrCat("Module::Load: the image is ", Name(image->kind), "; Module::Link takes it"));
  }
  // The CPU device has a compute capability and runs none of its machine code: it says so itself.
  if (!device.is_cpu()) {
    if (absl::Status status = CheckRunsOn(*image, CapabilityOf(device)); !status.ok()) {
      return Named("Module::Load", status);
    }
  }
  const ScopedContext current(*device.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  const internal::RelaxedCapture relaxed(device.api());
  auto state = std::make_shared<State>(device);
  SLIPWAY_RETURN_IF_ERROR(state->Load(std::string(bytes), Name(image->kind), ""));
  state->AskNames();
  return Module(std::move(state));
}

absl::StatusOr<Module> Module::LoadFile(const Device& device, const std::string& path) {
  std::string bytes;
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  bool ok = file != nullptr;
  if (ok) {
    char buffer[1 << 16];
    for (size_t read = 0; (read = std::fread(buffer, 1, sizeof(buffer), file)) != 0;) bytes.append(buffer, read);
    ok = std::ferror(file) == 0;
    std::fclose(file);
  }
  if (!ok) return absl::NotFoundError(absl::StrCat("Module::LoadFile: '", path, "' cannot be read"));
  absl::StatusOr<Module> module = Load(device, bytes);
  return module.ok() ? module : Named(path, module.status());
}

absl::StatusOr<Module> Module::Link(const Device& device, absl::Span<const LinkInput> inputs) {
  if (inputs.empty()) return absl::InvalidArgumentError("Module::Link: there is nothing to link");
  std::vector<ImageKind> kinds;
  std::vector<ptx::JoinInput> texts;
  for (const LinkInput& input : inputs) {
    absl::StatusOr<Image> image = Examine(input.image);
    if (!image.ok()) return Named(absl::StrCat("Module::Link: ", input.name), image.status());
    if (image->kind == ImageKind::kPtx) {
      if (absl::Status status = CheckNoNul(input.image); !status.ok()) {
        return Named(absl::StrCat("Module::Link: ", input.name), status);
      }
      texts.push_back({input.name, input.image});
    } else if (!device.is_cpu()) {
      if (absl::Status status = CheckRunsOn(*image, CapabilityOf(device)); !status.ok()) {
        return Named(absl::StrCat("Module::Link: ", input.name), status);
      }
    }
    kinds.push_back(image->kind);
  }
  // What does not fit together is found by one road on all devices, as far as it can be read.
  auto state = std::make_shared<State>(device);
  if (texts.size() == inputs.size()) {
    absl::StatusOr<std::string> joined = ptx::Join(texts);
    if (!joined.ok()) return Named("Module::Link", joined.status());
    state->ReadNames(*joined);
  }
  const ScopedContext current(*device.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  const internal::RelaxedCapture relaxed(device.api());
  ScopedLink link(device);
  for (size_t i = 0; i < inputs.size(); ++i) SLIPWAY_RETURN_IF_ERROR(link.Add(inputs[i], kinds[i]));
  SLIPWAY_ASSIGN_OR_RETURN(const std::string linked, link.Complete());
  SLIPWAY_RETURN_IF_ERROR(state->Load(linked, "what was linked", ""));
  state->AskNames();
  return Module(std::move(state));
}

absl::StatusOr<CUfunction> Module::GetFunction(const std::string& name) const {
  const Device& device = state_->device;
  const ScopedContext current(*device.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  const internal::RelaxedCapture relaxed(device.api());  // Drivers that load lazily do it here.
  CUfunction function = nullptr;
  const CUresult result = device.api().ModuleGetFunction(&function, state_->handle, name.c_str());
  if (result == CUDA_SUCCESS) return function;
  if (result == CUDA_ERROR_NOT_FOUND) {
    return absl::NotFoundError(
        absl::StrCat("the module has no kernel '", name, "'", Hint(name, state_->kernels), "; it has ",
                     state_->kernels.empty() ? "none" : absl::StrJoin(state_->kernels, ", "),
                     " (names as in the PTX: C++ kernels are mangled unless they are extern \"C\")"));
  }
  return DriverStatus(device.api(), result, absl::StrCat("cannot get the kernel '", name, "'"));
}

absl::StatusOr<DeviceMemory> Module::GetGlobal(const std::string& name) const {
  const Device& device = state_->device;
  const ScopedContext current(*device.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  const internal::RelaxedCapture relaxed(device.api());
  const std::lock_guard lock(state_->mutex);
  std::weak_ptr<const internal::Allocation>& known = state_->memory[name];
  if (std::shared_ptr<const internal::Allocation> memory = known.lock()) {
    const CUdeviceptr address = memory->address;
    const size_t bytes = memory->bytes;
    return DeviceMemory(device, std::move(memory), address, bytes);
  }
  CUdeviceptr address = 0;
  size_t bytes = 0;
  const CUresult result = device.api().ModuleGetGlobal(&address, &bytes, state_->handle, name.c_str());
  if (result == CUDA_ERROR_NOT_FOUND) {
    state_->memory.erase(name);
    return absl::NotFoundError(
        absl::StrCat("the module has no variable '", name, "'", Hint(name, state_->globals), "; ",
                     state_->globals.empty() ? "none of its variables is known by name"
                                             : absl::StrCat("it has ", absl::StrJoin(state_->globals, ", ")),
                     " (names as in the PTX: C++ names are mangled unless they are extern \"C\")"));
  }
  if (result != CUDA_SUCCESS) {
    return DriverStatus(device.api(), result, absl::StrCat("cannot get the variable '", name, "'"));
  }
  auto memory = internal::Allocation::PartOf(state_, device, address, bytes);
  known = memory;
  return DeviceMemory(device, std::move(memory), address, bytes);
}

const std::vector<std::string>& Module::kernels() const { return state_->kernels; }
const std::vector<std::string>& Module::globals() const { return state_->globals; }
const Device& Module::device() const { return state_->device; }

absl::StatusOr<std::string> JoinPtx(absl::Span<const LinkInput> inputs) {
  std::vector<ptx::JoinInput> texts;
  for (const LinkInput& input : inputs) texts.push_back({input.name, input.image});
  return ptx::Join(texts);
}

}  // namespace slipway
