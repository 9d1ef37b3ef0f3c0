// Kernels in CUDA C++, compiled through NVRTC where that is installed.
//
//   CudaModule module = CompileCuda(device, R"(
//     #include <slipway/device.h>
//     template <class T>
//     __global__ void twice(slipway::ArrayView<T, 2> a) {
//       long long i = blockIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
//       if (j < a.shape(1)) a(i, j) *= 2;
//     }
//   )", {.name_expressions = {"twice<float>"}}).value();
//   auto twice = module.Get<ArrayView<float, 2>>("twice<float>").value();
//   absl::Status status = twice(stream, config, array);
//
// NVRTC is opened at run time: $SLIPWAY_NVRTC, the toolkit in $CUDA_HOME, $CUDA_PATH or /usr/local/cuda, the loader's
// own search. PTX is what comes out, so kernels run on the CPU device as on a GPU. Sources that were compiled before,
// with the same headers, are found in memory (kernel_cache.h) or on disk (disk_cache.h).
#ifndef SLIPWAY_CUDA_H_
#define SLIPWAY_CUDA_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/device.h"
#include "slipway/device_library.h"
#include "slipway/kernel.h"
#include "slipway/module.h"
#include "slipway/signature.h"
#include "slipway/target.h"
#include "slipway/typed_kernel.h"

namespace slipway {

// A header that is not in the file system: what `#include <name>` gives.
struct CudaHeader {
  std::string name;
  std::string source;
};

struct CudaOptions {
  // What messages and line information call the source.
  std::string file_name = "kernel.cu";
  // Kernels whose names the compiler is to tell, as C++ writes them: "ns::scale<float>". Others are found if they are
  // extern "C", or by their mangled names.
  std::vector<std::string> name_expressions;
  std::vector<CudaHeader> headers;
  // Folders that are searched for headers before the toolkit's.
  std::vector<std::string> include_paths;
  // Whether the toolkit's headers (cuda_fp16.h and the like) are looked for, where it is installed.
  bool toolkit_headers = true;
  // What else NVRTC is told: "--use_fast_math", "-DN=4", "--std=c++20" (17 without it), each an option by itself. Not
  // the architecture, which the target says.
  std::vector<std::string> options;
  // Machine code for the target, too, which does not run elsewhere. PTX is what is loaded all the same.
  bool cubin = false;
  // Device functions that the source declares (extern "C" __device__ float f(float);) and does not define. The source
  // is then compiled with --relocatable-device-code=true, and `ptx` has it all. Not together with `cubin`.
  DeviceLibrary link;
};

// What a source became. Needs no device.
struct CudaCode {
  std::string ptx;
  std::string cubin;     // If it was asked for.
  std::string warnings;  // What the compiler said beside errors; empty if nothing.
  // Of each name expression, the kernel's name in PTX.
  std::vector<std::pair<std::string, std::string>> lowered_names;
  // Files that the compiler read for it, by way of others too, each once. An NVRTC that does not tell (13.0 does)
  // leaves those that their text names: files in branches of #if that are not taken count, names that macros make do
  // not.
  std::vector<std::string> included;
  // Whether it was compiled before: by this process, or by another and found on disk.
  bool from_memory = false, from_disk = false;
};

// Compiles for a target. Thread-safe. NOT_FOUND where NVRTC is not installed (says what to install and where it was
// looked for); INVALID_ARGUMENT for a source that is wrong, with the compiler's errors, each with file and line; for a
// target that NVRTC does not know; for an option that contains a line break or is the target's business; and for a name
// expression of what is no kernel. UNIMPLEMENTED for what this NVRTC cannot do. CudaLog(status) has everything that the
// compiler said.
absl::StatusOr<CudaCode> CompileCudaSource(std::string_view source, const Target& target,
                                           const CudaOptions& options = {});

// The whole log of a compile that failed; empty for any other status.
std::string CudaLog(const absl::Status& status);

// The version of the NVRTC that is used, "13.0". NOT_FOUND as above.
absl::StatusOr<std::string> NvrtcVersion();

// Compiled for a device; loaded there when the first kernel is taken out. A handle with shared ownership: cheap to
// copy, safe to use from any thread.
class CudaModule {
 public:
  // The kernel of that name: a name expression of the options, an extern "C" function, or a mangled name. Its
  // parameters are as `signature` says them; INVALID_ARGUMENT where the driver knows better. NOT_FOUND, listing what
  // there is, if it is not there. Kernels keep what they need loaded.
  absl::StatusOr<Kernel> Get(const std::string& name, Signature signature) const;
  // The same with types: ArrayView<T, N> for slipway::ArrayView<T, N> of <slipway/device.h>, scalars, T* and plain
  // structs.
  template <class... Params>
  absl::StatusOr<TypedKernel<Params...>> Get(const std::string& name) const {
    absl::StatusOr<Kernel> kernel = Get(name, Signature{internal::ParamTraits<Params>::Spec()...});
    if (!kernel.ok()) return std::move(kernel).status();
    return TypedKernel<Params...>::From(*std::move(kernel));
  }

  // The module itself, loaded if it is not yet: for its variables (symbol.h), whose names are those of extern "C"
  // variables, or LoweredName of name expressions such as "&ns::table".
  absl::StatusOr<Module> module() const;
  // What a name expression is called in PTX; any other name is its own.
  const std::string& LoweredName(const std::string& name) const;

  const CudaCode& code() const { return *code_; }
  const Device& device() const { return device_; }

 private:
  friend absl::StatusOr<CudaModule> CompileCuda(const Device&, std::string_view, const CudaOptions&);
  CudaModule(Device device, CudaCode code);

  Device device_;
  std::shared_ptr<const CudaCode> code_;
  std::shared_ptr<const Inspection> inspection_;
  std::shared_ptr<internal::SharedModules> modules_;
};

// Compiles for a device. Errors as CompileCudaSource's and TargetFor's.
absl::StatusOr<CudaModule> CompileCuda(const Device& device, std::string_view source, const CudaOptions& options = {});
// The same of a file, whose folder is searched for the headers that it includes in quotes. NOT_FOUND if it cannot be
// read.
absl::StatusOr<CudaModule> CompileCudaFile(const Device& device, const std::string& path, CudaOptions options = {});

// Device functions in CUDA C++, for kernels of other make to call. Compiled for each target when a kernel first needs
// it, as relocatable device code, and once; errors are those of CompileCudaSource, returned by whatever compiles the
// kernel.
DeviceLibrary CudaLibrary(std::string source, CudaOptions options = {});

}  // namespace slipway

#endif  // SLIPWAY_CUDA_H_
