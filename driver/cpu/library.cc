// Kernels as functions: what a CUkernel is in a context.
#include <memory>
#include <mutex>

#include "driver/cpu/library.h"
#include "driver/cpu/module_load.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu {

CUresult ModuleIn(Library& library, const std::shared_ptr<Context>& context, std::shared_ptr<Module>* module) {
  Runtime& runtime = Runtime::Get();
  const std::lock_guard lock(library.mutex);
  const auto loaded = library.modules.find(context->id);
  if (loaded != library.modules.end()) {
    *module = runtime.modules.Find(loaded->second);
    if (*module != nullptr) return CUDA_SUCCESS;
  }
  SLIPWAY_RETURN_IF_FAILED(runtime.captures.BeforeUnsafeCall());
  // Those of contexts that are gone.
  absl::erase_if(library.modules, [&](const auto& entry) { return runtime.modules.Find(entry.second) == nullptr; });
  CUmodule handle = nullptr;
  SLIPWAY_RETURN_IF_FAILED(LoadModule(context, library.ptx, JitLogs(), &handle));
  library.modules[context->id] = handle;
  *module = runtime.modules.Find(handle);
  return *module == nullptr ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
}

CUresult ResolveFunction(CUfunction handle, const std::shared_ptr<Context>& context,
                         std::shared_ptr<Function>* function) {
  Runtime& runtime = Runtime::Get();
  *function = runtime.functions.Find(handle);
  if (*function != nullptr) return CUDA_SUCCESS;
  const std::shared_ptr<Kernel> kernel = runtime.kernels.Find(reinterpret_cast<CUkernel>(handle));
  const std::shared_ptr<Library> library = kernel == nullptr ? nullptr : kernel->library.lock();
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  std::shared_ptr<Module> module;
  SLIPWAY_RETURN_IF_FAILED(ModuleIn(*library, context, &module));
  const CpuKernel* const found = module->program->FindKernel(kernel->kernel->name);
  const std::shared_ptr<FunctionSettings>& settings = kernel->settings[static_cast<size_t>(context->device)];
  *function = runtime.functions.Find(FunctionOf(module, *found, settings));
  return *function == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult ResolveFunction(CUfunction handle, std::shared_ptr<Function>* function) {
  *function = Runtime::Get().functions.Find(handle);
  if (*function != nullptr) return CUDA_SUCCESS;
  if (Runtime::Get().kernels.Find(reinterpret_cast<CUkernel>(handle)) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(CurrentContext(&context));
  return ResolveFunction(handle, context, function);
}

}  // namespace slipway::cpu
