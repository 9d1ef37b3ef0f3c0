#include "benchmarks/nvrtc.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace slipway {

absl::StatusOr<Nvrtc> Nvrtc::Open() {
  std::vector<std::string> candidates;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* root = std::getenv(variable)) {
      for (const char* directory : {"/lib64/", "/lib/"}) {
        candidates.push_back(absl::StrCat(root, directory, "libnvrtc.so"));
      }
    }
  }
  for (const char* name : {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so",
                           "/usr/local/cuda/lib/libnvrtc.so"}) {
    candidates.push_back(name);
  }
  void* library = nullptr;
  for (const std::string& candidate : candidates) {
    library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
  }
  if (library == nullptr) {
    return absl::NotFoundError(absl::StrCat("NVRTC was not found; tried ", absl::StrJoin(candidates, ", ")));
  }
  Nvrtc nvrtc;
  bool complete = true;
  auto find = [&](const char* name, auto* function) {
    *reinterpret_cast<void**>(function) = dlsym(library, name);
    complete &= *function != nullptr;
  };
  find("nvrtcVersion", &nvrtc.version_);
  find("nvrtcCreateProgram", &nvrtc.create_);
  find("nvrtcCompileProgram", &nvrtc.compile_);
  find("nvrtcGetPTXSize", &nvrtc.ptx_size_);
  find("nvrtcGetPTX", &nvrtc.ptx_);
  find("nvrtcGetProgramLogSize", &nvrtc.log_size_);
  find("nvrtcGetProgramLog", &nvrtc.log_);
  find("nvrtcDestroyProgram", &nvrtc.destroy_);
  if (!complete) return absl::NotFoundError("the NVRTC that was found lacks functions");
  return nvrtc;
}

namespace {

// The headers beside the library that was opened are not told; these are the toolkit's usual places.
std::string IncludeOption() {
  std::vector<std::string> roots = {"/usr/local/cuda"};
  for (const char* variable : {"CUDA_PATH", "CUDA_HOME"}) {
    if (const char* root = std::getenv(variable)) roots.insert(roots.begin(), root);
  }
  for (const std::string& root : roots) {
    if (access((root + "/include/cuda_fp16.h").c_str(), R_OK) == 0) return "--include-path=" + root + "/include";
  }
  return "";
}

}  // namespace

absl::StatusOr<std::string> Nvrtc::CompileToPtx(const std::string& source, int sm,
                                                const std::vector<const char*>& further) const {
  Program program = nullptr;
  if (create_(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr) != 0) {
    return absl::InternalError("nvrtcCreateProgram failed");
  }
  const std::string architecture = absl::StrCat("--gpu-architecture=compute_", sm);
  static const std::string include = IncludeOption();
  std::vector<const char*> options = {architecture.c_str(), "--std=c++17"};
  if (!include.empty()) options.push_back(include.c_str());
  options.insert(options.end(), further.begin(), further.end());
  absl::StatusOr<std::string> result = absl::InternalError("NVRTC failed");
  const int failed = compile_(program, static_cast<int>(options.size()), options.data());
  size_t size = 0;
  if (failed == 0 && ptx_size_(program, &size) == 0) {
    std::string text(size, '\0');
    if (ptx_(program, text.data()) == 0) result = text.substr(0, size == 0 ? 0 : size - 1);
  } else if (log_size_(program, &size) == 0) {
    std::string log(size, '\0');
    log_(program, log.data());
    result = absl::InvalidArgumentError(log);
  }
  destroy_(&program);
  return result;
}

std::string Nvrtc::Version() const {
  int major = 0, minor = 0;
  version_(&major, &minor);
  return absl::StrCat(major, ".", minor);
}

}  // namespace slipway
