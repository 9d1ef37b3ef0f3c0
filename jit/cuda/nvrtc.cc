#include "jit/cuda/nvrtc.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace slipway {
namespace {

std::vector<std::string> Toolkits() {
  std::vector<std::string> roots;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* root = std::getenv(variable)) roots.push_back(root);
  }
  roots.push_back("/usr/local/cuda");
  return roots;
}

absl::StatusOr<Nvrtc> Open() {
  std::vector<std::string> candidates;
  const char* const given = std::getenv("SLIPWAY_NVRTC");
  if (given != nullptr) {
    candidates.push_back(given);  // Wrong or not: asked for.
  } else {
    for (const std::string& root : Toolkits()) {
      for (const char* folder : {"/lib64/", "/lib/"}) candidates.push_back(absl::StrCat(root, folder, "libnvrtc.so"));
    }
    for (const char* name : {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"}) {
      candidates.push_back(name);
    }
  }
  void* library = nullptr;
  std::string why;  // Of one that was asked for, or is there, what the loader has against it.
  for (const std::string& candidate : candidates) {
    library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    const char* const error = dlerror();
    if (error == nullptr || (given == nullptr && access(candidate.c_str(), F_OK) != 0)) continue;
    absl::StrAppend(&why, why.empty() ? "" : "; ", error);
  }
  if (library == nullptr) {
    return absl::NotFoundError(absl::StrCat(
        "CUDA C++ needs NVRTC, which was not found (looked for ", absl::StrJoin(candidates, ", "), ")",
        why.empty() ? "" : ": ", why,
        "; install the CUDA toolkit, or its package cuda-nvrtc, or set SLIPWAY_NVRTC to the path of a libnvrtc.so"));
  }
  Nvrtc nvrtc;
  std::string missing;
  const auto find = [&](const char* name, bool required, auto* function) {
    *reinterpret_cast<void**>(function) = dlsym(library, name);
    if (required && *function == nullptr) absl::StrAppend(&missing, missing.empty() ? "" : ", ", name);
  };
#define SLIPWAY_NVRTC_FIND(name, required, parameters) find("nvrtc" #name, required, &nvrtc.name);
  SLIPWAY_NVRTC_FUNCTIONS(SLIPWAY_NVRTC_FIND)
#undef SLIPWAY_NVRTC_FIND
  find("nvrtcGetErrorString", true, &nvrtc.GetErrorString);
  if (!missing.empty()) {
    return absl::NotFoundError(absl::StrCat("the NVRTC that was found lacks ", missing,
                                            "; install a newer CUDA toolkit, or set SLIPWAY_NVRTC to another library"));
  }
  nvrtc.Version(&nvrtc.major, &nvrtc.minor);
  Dl_info where;
  struct stat info;
  if (dladdr(reinterpret_cast<void*>(nvrtc.CompileProgram), &where) != 0 && stat(where.dli_fname, &info) == 0) {
    nvrtc.file = absl::StrCat(info.st_size, "-", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec);
  }
  for (const std::string& root : Toolkits()) {
    if (access((root + "/include/cuda_fp16.h").c_str(), R_OK) != 0) continue;
    nvrtc.include_folder = root + "/include";
    break;
  }
  return nvrtc;
}

}  // namespace

absl::StatusOr<const Nvrtc*> Nvrtc::Get() {
  static const auto* const opened = new absl::StatusOr<Nvrtc>(Open());  // Never destroyed: threads may still use it.
  if (!opened->ok()) return opened->status();
  return &**opened;
}

}  // namespace slipway
