// Modules from files, libraries and their kernels, and what is asked about functions.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "driver/cpu/cuda_library/client.h"
#include "driver/cpu/function_attributes.h"
#include "driver/cpu/launch.h"
#include "driver/cpu/library.h"
#include "driver/cpu/limits.h"
#include "driver/cpu/module_load.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu::client {
namespace {

constexpr size_t kMaxFileBytes = size_t{1} << 30;

// With a NUL behind it, which ends PTX text for the loader.
CUresult ReadFile(const char* name, std::string* bytes) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream file(name, std::ios::binary | std::ios::ate);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  const std::streamoff size = file.tellg();
  if (size < 0 || static_cast<size_t>(size) > kMaxFileBytes) return CUDA_ERROR_INVALID_IMAGE;
  bytes->resize(static_cast<size_t>(size));
  file.seekg(0);
  return file.read(bytes->data(), size) ? CUDA_SUCCESS : CUDA_ERROR_FILE_NOT_FOUND;
}

CUresult FindLibrary(CUlibrary handle, std::shared_ptr<Library>* library) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  *library = Runtime::Get().libraries.Find(handle);
  return *library == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult FindKernel(CUkernel handle, std::shared_ptr<Kernel>* kernel) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  *kernel = Runtime::Get().kernels.Find(handle);
  return *kernel == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

// The module of a library in the current context.
CUresult CurrentModule(CUlibrary handle, std::shared_ptr<Module>* module) {
  std::shared_ptr<Library> library;
  SLIPWAY_RETURN_IF_FAILED(FindLibrary(handle, &library));
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(CurrentContext(&context));
  return ModuleIn(*library, context, module);
}

// With the library's lock held.
CUkernel KernelOf(CUlibrary handle, const std::shared_ptr<Library>& library, const CpuKernel& is) {
  CUkernel& kernel = library->kernels[is.name];
  if (kernel == nullptr) {
    auto made = std::make_shared<Kernel>();
    made->library = library;
    made->library_handle = handle;
    made->program = library->program;
    made->kernel = &is;
    for (int i = 0; i < GetSettings().devices; ++i) made->settings.push_back(std::make_shared<FunctionSettings>(is));
    kernel = Runtime::Get().kernels.Add(std::move(made));
  }
  return kernel;
}

CUresult SettingsOn(const Kernel& kernel, CUdevice device, FunctionSettings** settings) {
  if (device < 0 || device >= GetSettings().devices) return CUDA_ERROR_INVALID_DEVICE;
  *settings = kernel.settings[static_cast<size_t>(device)].get();
  return CUDA_SUCCESS;
}

}  // namespace

CUresult ModuleLoad(CUmodule* module, const char* file) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::string bytes;
  SLIPWAY_RETURN_IF_FAILED(ReadFile(file, &bytes));
  return ModuleLoadDataEx(module, bytes.c_str(), 0, nullptr, nullptr);
}

CUresult ModuleLoadData(CUmodule* module, const void* image) {
  return ModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

CUresult ModuleLoadFatBinary(CUmodule* module, const void* image) {
  return ModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

CUresult ModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = static_cast<CUmoduleLoadingMode>(1);  // CU_MODULE_EAGER_LOADING.
  return CUDA_SUCCESS;
}

// Modules with textures are not loaded, so none has one.
CUresult ModuleGetTexRef(void** reference, CUmodule module, const char* name) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (reference == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Runtime::Get().modules.Find(module) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_NOT_FOUND;
}

CUresult FuncGetModule(CUmodule* module, CUfunction function) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Function> found;
  SLIPWAY_RETURN_IF_FAILED(ResolveFunction(function, &found));
  *module = found->module->handle;
  return CUDA_SUCCESS;
}

CUresult FuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Function> found;
  SLIPWAY_RETURN_IF_FAILED(ResolveFunction(function, &found));
  *state = static_cast<CUfunctionLoadingState>(1);  // CU_FUNCTION_LOADING_STATE_LOADED.
  return CUDA_SUCCESS;
}

CUresult FuncLoad(CUfunction function) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Function> found;
  return ResolveFunction(function, &found);
}

CUresult FuncSetSharedMemConfig(CUfunction function, CUsharedconfig bank_size) {
  return IsBankSize(bank_size) ? FuncLoad(function) : CUDA_ERROR_INVALID_VALUE;
}

CUresult LibraryLoadData(CUlibrary* library, const void* code, CUjit_option* options, void** values, unsigned count,
                         CUlibraryOption* library_options, void**, unsigned library_count) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (library == nullptr || code == nullptr || (library_count != 0 && library_options == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  constexpr int kOptions = 2;  // CU_LIBRARY_NUM_OPTIONS.
  for (unsigned i = 0; i < library_count; ++i) {
    if (library_options[i] < 0 || library_options[i] >= kOptions) return CUDA_ERROR_INVALID_VALUE;
  }
  JitLogs logs;
  SLIPWAY_RETURN_IF_FAILED(JitLogs::Parse(count, options, values, &logs));
  auto loaded = std::make_shared<Library>();
  SLIPWAY_RETURN_IF_FAILED(ReadImage(code, logs, &loaded->ptx));
  absl::StatusOr<std::unique_ptr<Program>> program = LoadChecked(loaded->ptx, nullptr);
  SLIPWAY_RETURN_IF_FAILED(LoadResult(program, logs));
  loaded->program = *std::move(program);
  *library = Runtime::Get().libraries.Add(std::move(loaded));
  return CUDA_SUCCESS;
}

CUresult LibraryLoadFromFile(CUlibrary* library, const char* file, CUjit_option* options, void** values, unsigned count,
                             CUlibraryOption* library_options, void** library_values, unsigned library_count) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::string bytes;
  SLIPWAY_RETURN_IF_FAILED(ReadFile(file, &bytes));
  return LibraryLoadData(library, bytes.c_str(), options, values, count, library_options, library_values,
                         library_count);
}

CUresult LibraryUnload(CUlibrary handle) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  Runtime& runtime = Runtime::Get();
  const std::shared_ptr<Library> gone = runtime.libraries.Remove(handle);
  if (gone == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const std::lock_guard lock(gone->mutex);
  for (const auto& [name, kernel] : gone->kernels) runtime.kernels.Remove(kernel);
  CUresult first = CUDA_SUCCESS;  // What a broken context tells keeps it from none of the others.
  for (const auto& [context, module] : gone->modules) {
    const CUresult unloaded = runtime.modules.Find(module) == nullptr ? CUDA_SUCCESS : ModuleUnload(module);
    if (first == CUDA_SUCCESS) first = unloaded;
  }
  return first;
}

CUresult LibraryGetKernel(CUkernel* kernel, CUlibrary handle, const char* name) {
  std::shared_ptr<Library> library;
  SLIPWAY_RETURN_IF_FAILED(FindLibrary(handle, &library));
  if (kernel == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CpuKernel* const found = library->program->FindKernel(name);
  if (found == nullptr) return CUDA_ERROR_NOT_FOUND;
  const std::lock_guard lock(library->mutex);
  *kernel = KernelOf(handle, library, *found);
  return CUDA_SUCCESS;
}

CUresult LibraryGetKernelCount(unsigned* count, CUlibrary handle) {
  std::shared_ptr<Library> library;
  SLIPWAY_RETURN_IF_FAILED(FindLibrary(handle, &library));
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<unsigned>(library->program->kernels().size());
  return CUDA_SUCCESS;
}

CUresult LibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary handle) {
  std::shared_ptr<Library> library;
  SLIPWAY_RETURN_IF_FAILED(FindLibrary(handle, &library));
  if (kernels == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(library->mutex);
  const std::vector<CpuKernel>& all = library->program->kernels();
  for (size_t i = 0; i < all.size() && i < count; ++i) kernels[i] = KernelOf(handle, library, all[i]);
  return CUDA_SUCCESS;
}

CUresult LibraryGetModule(CUmodule* module, CUlibrary handle) {
  std::shared_ptr<Module> found;
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  SLIPWAY_RETURN_IF_FAILED(CurrentModule(handle, &found));
  *module = found->handle;
  return CUDA_SUCCESS;
}

CUresult LibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary handle, const char* name) {
  std::shared_ptr<Module> found;
  SLIPWAY_RETURN_IF_FAILED(CurrentModule(handle, &found));
  return ModuleGetGlobal(address, bytes, found->handle, name);
}

// Variables are in device memory; `.attribute(.managed)` is not taken.
CUresult LibraryGetManaged(CUdeviceptr*, size_t*, CUlibrary handle, const char* name) {
  std::shared_ptr<Library> library;
  SLIPWAY_RETURN_IF_FAILED(FindLibrary(handle, &library));
  return name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_FOUND;
}

CUresult KernelGetFunction(CUfunction* function, CUkernel handle) {
  std::shared_ptr<Kernel> kernel;
  SLIPWAY_RETURN_IF_FAILED(FindKernel(handle, &kernel));
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Module> module;
  SLIPWAY_RETURN_IF_FAILED(CurrentModule(kernel->library_handle, &module));
  *function = FunctionOf(module, *module->program->FindKernel(kernel->kernel->name),
                         kernel->settings[static_cast<size_t>(module->context->device)]);
  return CUDA_SUCCESS;
}

CUresult KernelGetLibrary(CUlibrary* library, CUkernel handle) {
  std::shared_ptr<Kernel> kernel;
  SLIPWAY_RETURN_IF_FAILED(FindKernel(handle, &kernel));
  if (library == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *library = kernel->library_handle;
  return CUDA_SUCCESS;
}

CUresult KernelGetName(const char** name, CUkernel handle) {
  std::shared_ptr<Kernel> kernel;
  SLIPWAY_RETURN_IF_FAILED(FindKernel(handle, &kernel));
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = kernel->kernel->name.c_str();
  return CUDA_SUCCESS;
}

CUresult KernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel handle, CUdevice device) {
  std::shared_ptr<Kernel> kernel;
  SLIPWAY_RETURN_IF_FAILED(FindKernel(handle, &kernel));
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  FunctionSettings* settings = nullptr;
  SLIPWAY_RETURN_IF_FAILED(SettingsOn(*kernel, device, &settings));
  return cpu::GetAttribute(*kernel->program, *kernel->kernel, *settings, attribute, value);
}

CUresult KernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle, CUdevice device) {
  std::shared_ptr<Kernel> kernel;
  SLIPWAY_RETURN_IF_FAILED(FindKernel(handle, &kernel));
  FunctionSettings* settings = nullptr;
  SLIPWAY_RETURN_IF_FAILED(SettingsOn(*kernel, device, &settings));
  return cpu::SetAttribute(*kernel->kernel, attribute, value, settings);
}

CUresult KernelSetCacheConfig(CUkernel handle, CUfunc_cache preference, CUdevice device) {
  std::shared_ptr<Kernel> kernel;
  SLIPWAY_RETURN_IF_FAILED(FindKernel(handle, &kernel));
  FunctionSettings* settings = nullptr;
  SLIPWAY_RETURN_IF_FAILED(SettingsOn(*kernel, device, &settings));
  const bool known = preference >= CU_FUNC_CACHE_PREFER_NONE && preference <= CU_FUNC_CACHE_PREFER_EQUAL;
  return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult KernelGetParamInfo(CUkernel handle, size_t index, size_t* offset, size_t* bytes) {
  std::shared_ptr<Kernel> kernel;
  SLIPWAY_RETURN_IF_FAILED(FindKernel(handle, &kernel));
  const std::vector<CpuParameter>& params = kernel->kernel->params;
  if (offset == nullptr || index >= params.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = params[index].offset;
  if (bytes != nullptr) *bytes = params[index].size;
  return CUDA_SUCCESS;
}

CUresult LinkAddFile(CUlinkState link, CUjitInputType type, const char* file, unsigned count, CUjit_option* options,
                     void** values) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::string bytes;
  SLIPWAY_RETURN_IF_FAILED(ReadFile(file, &bytes));
  return LinkAddData(link, type, bytes.data(), bytes.size(), file, count, options, values);
}

CUresult OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function, int block_size,
                                                            size_t dynamic_shared_bytes, unsigned flags) {
  constexpr unsigned kDisableCachingOverride = 1;
  if ((flags & ~kDisableCachingOverride) != 0) return CUDA_ERROR_INVALID_VALUE;
  return OccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, dynamic_shared_bytes);
}

CUresult OccupancyMaxPotentialBlockSizeWithFlags(int* min_grid_size, int* block_size, CUfunction function,
                                                 CUoccupancyB2DSize shared_bytes_of_block, size_t dynamic_shared_bytes,
                                                 int block_size_limit, unsigned flags) {
  constexpr unsigned kDisableCachingOverride = 1;
  if ((flags & ~kDisableCachingOverride) != 0) return CUDA_ERROR_INVALID_VALUE;
  return OccupancyMaxPotentialBlockSize(min_grid_size, block_size, function, shared_bytes_of_block,
                                        dynamic_shared_bytes, block_size_limit);
}

// What each of `blocks` blocks that share a multiprocessor may have besides its static shared memory; 0 if there is no
// room for so many threads.
CUresult OccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction function, int blocks, int block_size) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (bytes == nullptr || blocks <= 0 || block_size <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Function> found;
  SLIPWAY_RETURN_IF_FAILED(ResolveFunction(function, &found));
  const int sm = GetSettings().sm;
  const size_t unit = SharedGranularity(sm);
  const size_t share = LimitsFor(sm).shared_bytes_per_multiprocessor / static_cast<size_t>(blocks) / unit * unit;
  const size_t taken = ReservedSharedBytes(sm) + found->kernel->shared_bytes;
  const bool fit = blocks <= MaxActiveBlocks(*found, static_cast<uint64_t>(block_size), 0) && share >= taken;
  *bytes = fit ? std::min(share - taken, MaxSharedBytesOptIn(sm) - found->kernel->shared_bytes) : 0;
  return CUDA_SUCCESS;
}

}  // namespace slipway::cpu::client
