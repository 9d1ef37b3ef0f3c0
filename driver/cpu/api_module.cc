// Loading PTX, alone or in a fatbin, and finding kernels and variables in it.
#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "driver/cpu/api.h"
#include "driver/cpu/fault.h"
#include "driver/cpu/image_ptx.h"
#include "driver/cpu/jit_options.h"
#include "driver/cpu/limits.h"
#include "driver/cpu/module_load.h"
#include "driver/cpu/program.h"
#include "driver/cpu/runtime.h"
#include "driver/cpu/testing.h"

namespace slipway::cpu {
namespace {

// What ptxas refuses about a kernel's parameters and static shared memory.
absl::Status CheckKernels(const Program& program) {
  size_t most = program.isa() < 81 ? kMaxParameterBytesBefore81 : kMaxParameterBytes;
  for (const CpuKernel& kernel : program.kernels()) {
    if (kernel.params_bytes > most) {
      return absl::InvalidArgumentError(
          absl::StrCat("kernel ", kernel.name, ": ", kernel.params_bytes, " bytes of parameters; PTX ISA ",
                       program.isa() / 10, ".", program.isa() % 10, " allows ", most,
                       most < kMaxParameterBytes ? " (8.1 and newer 32764: write a newer .version)" : ""));
    }
    if (kernel.shared_bytes > kSharedBytesPerBlock) {
      return absl::InvalidArgumentError(absl::StrCat("kernel ", kernel.name, ": ", kernel.shared_bytes,
                                                     " bytes of static shared memory; a block has ",
                                                     kSharedBytesPerBlock, " (more only as dynamic shared memory)"));
    }
  }
  return absl::OkStatus();
}

// What `ptxas -v` tells of a module, with the registers that a function's attributes tell.
std::string Information(const Program& program) {
  size_t variables = 0, constants = 0;
  for (const CpuGlobal& global : program.globals()) (global.constant ? constants : variables) += global.size;
  std::string text = absl::StrCat("ptxas info    : ", variables, " bytes gmem");
  if (constants != 0) absl::StrAppend(&text, ", ", constants, " bytes cmem[3]");
  for (const CpuKernel& kernel : program.kernels()) {
    absl::StrAppend(&text, "\nptxas info    : Compiling entry function '", kernel.name, "' for 'sm_", GetSettings().sm,
                    "'\nptxas info    : Function properties for ", kernel.name, "\n    ", kernel.local_bytes,
                    " bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info    : Used ",
                    kNominalRegisters, " registers, ", kernel.shared_bytes, " bytes smem, ", kernel.params_bytes,
                    " bytes cmem[0]");
  }
  return text + '\n';
}

}  // namespace

absl::StatusOr<std::unique_ptr<Program>> LoadChecked(std::string_view ptx, AllocateVariables allocate) {
  Runtime& runtime = Runtime::Get();
  LoadGate::Loading loading(runtime.load_gate);
  ProgramOptions options;
  options.sm = runtime.settings.sm;
  options.max_isa = kMaxPtxIsa;
  options.check_memory = runtime.settings.check.memory;
  options.note_call_stacks = runtime.settings.check.call_stack;
  options.cache = &runtime.object_cache;
  options.allocate = std::move(allocate);
  InstallFaultHandlers();
  absl::StatusOr<std::unique_ptr<Program>> program = Program::Load(ptx, options);
  if (!program.ok()) return program;
  absl::Status checked = CheckKernels(**program);
  if (!checked.ok()) return checked;
  return program;
}

CUresult ReadImage(const void* image, const JitLogs& logs, std::string* ptx) {
  absl::StatusOr<std::string> read = PtxAt(image, Runtime::Get().settings.sm);
  if (!read.ok()) {
    logs.Write({read.status().message().data(), read.status().message().size()});
    return read.status().code() == absl::StatusCode::kFailedPrecondition ? CUDA_ERROR_NO_BINARY_FOR_GPU
                                                                         : CUDA_ERROR_INVALID_IMAGE;
  }
  *ptx = *std::move(read);
  return CUDA_SUCCESS;
}

CUresult LoadResult(const absl::Status& status, const JitLogs& logs, const Program* program) {
  const bool informs = program != nullptr && logs.WantsInformation();
  logs.Write({status.message().data(), status.message().size()}, informs ? Information(*program) : std::string());
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return CUDA_SUCCESS;
    case absl::StatusCode::kOutOfRange:  // A newer .version.
      return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    case absl::StatusCode::kFailedPrecondition:  // A newer .target.
      return CUDA_ERROR_NO_BINARY_FOR_GPU;
    case absl::StatusCode::kResourceExhausted:
      return CUDA_ERROR_OUT_OF_MEMORY;
    default:
      return CUDA_ERROR_INVALID_PTX;
  }
}

CUresult LoadModule(const std::shared_ptr<Context>& context, std::string ptx, const JitLogs& logs, CUmodule* module) {
  Arena& arena = Runtime::Get().arena;
  auto loaded = std::make_shared<Module>();
  loaded->context = context;
  loaded->ptx = std::move(ptx);
  const auto allocate = [&](size_t bytes, size_t align) -> absl::StatusOr<std::byte*> {
    if (align > Arena::kAlignment) {
      return absl::InvalidArgumentError(
          absl::StrCat("a variable with .align ", align, "; at most ", Arena::kAlignment, " is possible"));
    }
    void* memory = arena.Allocate(bytes, context->device, context->id, Arena::Kind::kModule);
    if (memory == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat("no device memory for ", bytes, " bytes of variables"));
    }
    loaded->globals = static_cast<std::byte*>(memory);
    return loaded->globals;
  };
  absl::StatusOr<std::unique_ptr<Program>> program = LoadChecked(loaded->ptx, allocate);
  SLIPWAY_RETURN_IF_FAILED(LoadResult(program, logs));
  loaded->program = *std::move(program);
  if (Runtime::Get().settings.check.memory && loaded->globals != nullptr) {
    std::vector<Arena::Part> variables;
    for (const CpuGlobal& global : loaded->program->globals()) {
      variables.push_back({global.name, reinterpret_cast<uintptr_t>(global.address), global.size, global.constant});
    }
    arena.SetParts(reinterpret_cast<uintptr_t>(loaded->globals), variables);
  }
  Module& added = *loaded;
  *module = added.handle = Runtime::Get().modules.Add(std::move(loaded));
  return CUDA_SUCCESS;
}

CUfunction FunctionOf(const std::shared_ptr<Module>& module, const CpuKernel& kernel,
                      const std::shared_ptr<FunctionSettings>& settings) {
  std::lock_guard<std::mutex> lock(module->mutex);
  CUfunction& handle = module->functions[kernel.name];
  if (handle == nullptr) {
    auto made = std::make_shared<Function>();
    made->module = module;
    made->kernel = &kernel;
    made->settings = settings != nullptr ? settings : std::make_shared<FunctionSettings>(kernel);
    handle = Runtime::Get().functions.Add(std::move(made));
  }
  return handle;
}

std::string LoadedPtxForTesting(CUmodule module) {
  std::shared_ptr<Module> found = Runtime::Get().modules.Find(module);
  return found == nullptr ? std::string() : found->ptx;
}

ObjectCache& ObjectCacheForTesting() { return Runtime::Get().object_cache; }

namespace api {

CUresult ModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options, void** values) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(CurrentContext(&context));
  if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  SLIPWAY_RETURN_IF_FAILED(Runtime::Get().captures.BeforeUnsafeCall());
  JitLogs logs;
  SLIPWAY_RETURN_IF_FAILED(JitLogs::Parse(count, options, values, &logs));
  std::string ptx;
  SLIPWAY_RETURN_IF_FAILED(ReadImage(image, logs, &ptx));
  return LoadModule(context, std::move(ptx), logs, module);
}

CUresult ModuleUnload(CUmodule module) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  Runtime& runtime = Runtime::Get();
  if (runtime.modules.Find(module) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  SLIPWAY_RETURN_IF_FAILED(runtime.captures.BeforeUnsafeCall());
  std::shared_ptr<Module> gone = runtime.modules.Remove(module);
  if (gone == nullptr) return CUDA_ERROR_INVALID_HANDLE;  // By another thread in between.
  gone->unloaded.store(true, std::memory_order_release);
  {
    std::lock_guard<std::mutex> lock(gone->mutex);
    for (const auto& [name, function] : gone->functions) runtime.functions.Remove(function);
    gone->functions.clear();
  }
  // Launches that are queued hold the module; waiting is what a driver does, and what a caller may rely on.
  Engine::Get().WaitAll(*gone->context);
  return Sticky(*gone->context);
}

CUresult ModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Module> found = Runtime::Get().modules.Find(module);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  SLIPWAY_RETURN_IF_FAILED(Sticky(*found->context));
  const CpuKernel* kernel = found->program->FindKernel(name);
  if (kernel == nullptr) return CUDA_ERROR_NOT_FOUND;
  *function = FunctionOf(found, *kernel);
  return CUDA_SUCCESS;
}

CUresult ModuleGetFunctionCount(unsigned* count, CUmodule module) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Module> found = Runtime::Get().modules.Find(module);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *count = static_cast<unsigned>(found->program->kernels().size());
  return CUDA_SUCCESS;
}

CUresult ModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule module) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (functions == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Module> found = Runtime::Get().modules.Find(module);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const std::vector<CpuKernel>& kernels = found->program->kernels();
  for (size_t i = 0; i < kernels.size() && i < count; ++i) functions[i] = FunctionOf(found, kernels[i]);
  return CUDA_SUCCESS;
}

CUresult ModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (name == nullptr || (address == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Module> found = Runtime::Get().modules.Find(module);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  SLIPWAY_RETURN_IF_FAILED(Sticky(*found->context));
  const CpuGlobal* global = found->program->FindGlobal(name);
  if (global == nullptr) return CUDA_ERROR_NOT_FOUND;
  if (address != nullptr) *address = reinterpret_cast<CUdeviceptr>(global->address);
  if (bytes != nullptr) *bytes = global->size;
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace slipway::cpu
