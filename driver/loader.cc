#include "driver/loader.h"

#include <dlfcn.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace slipway {
namespace {

enum class Need { kRequired, kOptional };
using Need::kOptional;
using Need::kRequired;

// Members whose declared variant is exported with a `_v2` at its end. Not to be guessed by trying `_v2` first: newer
// drivers have a cuCtxGetDevice_v2, for one, with other parameters.
constexpr std::string_view kVersion2[] = {
    "GetProcAddress",
    "DeviceTotalMem",
    "DevicePrimaryCtxRelease",
    "CtxPushCurrent",
    "CtxPopCurrent",
    "ModuleGetGlobal",
    "LinkCreate",
    "LinkAddData",
    "MemGetInfo",
    "MemAlloc",
    "MemFree",
    "MemAllocHost",
    "MemHostGetDevicePointer",
    "MemHostRegister",
    "MemcpyHtoD",
    "MemcpyDtoH",
    "MemcpyDtoD",
    "MemcpyHtoDAsync",
    "MemcpyDtoHAsync",
    "MemcpyDtoDAsync",
    "MemsetD8",
    "MemsetD32",
    "StreamDestroy",
    "EventDestroy",
    "StreamBeginCapture",
    "StreamGetCaptureInfo",
    "GraphKernelNodeGetParams",
    "GraphExecKernelNodeSetParams",
    "GraphExecUpdate",
};

// cuGetProcAddress as of CUDA 11.3, before it got its last parameter.
using GetProcAddress11030 = CUresult (*)(const char* symbol, void** function, int version, uint64_t flags);

// The two ways to a function's address.
class Resolver {
 public:
  explicit Resolver(void* library)
      : library_(library),
        newer_(reinterpret_cast<decltype(DriverApi::GetProcAddress)>(dlsym(library, "cuGetProcAddress_v2"))),
        older_(reinterpret_cast<GetProcAddress11030>(dlsym(library, "cuGetProcAddress"))) {}

  void* Find(const char* member, int since, Need need) const {
    const std::string symbol = absl::StrCat("cu", member);
    void* function = nullptr;
    constexpr uint64_t kDefaultFlags = 0;  // CU_GET_PROC_ADDRESS_DEFAULT: a null stream is the legacy default stream.
    if (newer_ != nullptr) {
      CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
      if (newer_(symbol.c_str(), &function, since, kDefaultFlags, &found) != CUDA_SUCCESS ||
          found != CU_GET_PROC_ADDRESS_SUCCESS) {
        function = nullptr;
      }
    } else if (older_ != nullptr) {
      if (older_(symbol.c_str(), &function, since, kDefaultFlags) != CUDA_SUCCESS) function = nullptr;
    }
    if (function == nullptr && need == kRequired) function = dlsym(library_, ExportedName(member).c_str());
    return function;
  }

 private:
  void* library_;
  decltype(DriverApi::GetProcAddress) newer_;
  GetProcAddress11030 older_;
};

// dlopen's reason, cut short in the common case: this text is what every user without a GPU reads.
std::string Reason(const char* error, const std::string& library) {
  if (error == nullptr) return absl::StrCat(library, ": cannot be opened");
  const std::string not_there = absl::StrCat(library, ": cannot open shared object file: No such file or directory");
  return error == not_there ? absl::StrCat(library, ": not found") : error;
}

}  // namespace

std::string ExportedName(const char* member) {
  const bool version2 = std::find(std::begin(kVersion2), std::end(kVersion2), member) != std::end(kVersion2);
  return absl::StrCat("cu", member, version2 ? "_v2" : "");
}

absl::StatusOr<DriverApi> LoadDriver(absl::Span<const std::string> libraries, const char* name) {
  void* library = nullptr;
  std::string opened;
  std::vector<std::string> reasons;
  for (const std::string& candidate : libraries) {
    library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) {
      opened = candidate;
      break;
    }
    reasons.push_back(Reason(dlerror(), candidate));
  }
  if (library == nullptr) {
    return absl::NotFoundError(absl::StrCat("no CUDA driver library could be opened (", absl::StrJoin(reasons, "; "),
                                            "); install the NVIDIA driver, or add its folder to LD_LIBRARY_PATH"));
  }

  const Resolver resolver(library);
  DriverApi api;
  std::vector<std::string> missing;
#define SLIPWAY_RESOLVE(member, since, need, parameters)                                           \
  api.member = reinterpret_cast<decltype(DriverApi::member)>(resolver.Find(#member, since, need)); \
  if (api.member == nullptr && need == kRequired) missing.push_back(ExportedName(#member));
  SLIPWAY_DRIVER_FUNCTIONS(SLIPWAY_RESOLVE)
#undef SLIPWAY_RESOLVE
  api.name = name;
  if (!missing.empty()) {
    dlclose(library);
    return absl::FailedPreconditionError(absl::StrCat("the CUDA driver library ", opened, " lacks ",
                                                      absl::StrJoin(missing, ", "),
                                                      "; Slipway needs a driver of CUDA 11.0 or newer"));
  }
  return api;
}

absl::StatusOr<const DriverApi*> CudaDriver() {
  static const auto* const driver = new absl::StatusOr<DriverApi>(LoadDriver({"libcuda.so.1", "libcuda.so"}, "cuda"));
  if (!driver->ok()) return driver->status();
  return &**driver;
}

}  // namespace slipway
