// Images into contexts: by cuModuleLoadDataEx and its kin, and by the libraries that are loaded where they are used.
#ifndef SLIPWAY_DRIVER_CPU_MODULE_LOAD_H_
#define SLIPWAY_DRIVER_CPU_MODULE_LOAD_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "driver/cpu/objects.h"

namespace slipway::cpu {

using AllocateVariables = std::function<absl::StatusOr<std::byte*>(size_t bytes, size_t align)>;

// Compiles PTX as this device takes it, or finds it in the cache. Refuses what ptxas refuses of kernels, too.
absl::StatusOr<std::unique_ptr<Program>> LoadChecked(std::string_view ptx, AllocateVariables allocate);

// What a driver answers for that, with the message in the logs; in the information log, where it is asked for, what
// each kernel of `program` takes, in ptxas's words.
CUresult LoadResult(const absl::Status& status, const JitLogs& logs, const Program* program = nullptr);
inline CUresult LoadResult(const absl::StatusOr<std::unique_ptr<Program>>& program, const JitLogs& logs) {
  return LoadResult(program.status(), logs, program.ok() ? program->get() : nullptr);
}

// The PTX of an image of any kind. NO_BINARY_FOR_GPU or INVALID_IMAGE, with a message in the logs, if there is none.
CUresult ReadImage(const void* image, const JitLogs& logs, std::string* ptx);

CUresult LoadModule(const std::shared_ptr<Context>& context, std::string ptx, const JitLogs& logs, CUmodule* module);

// The handle of a kernel of a module, made when first asked for, with `settings` unless those are null.
CUfunction FunctionOf(const std::shared_ptr<Module>& module, const CpuKernel& kernel,
                      const std::shared_ptr<FunctionSettings>& settings = nullptr);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_MODULE_LOAD_H_
