// NVRTC's functions, declared here so that building needs no CUDA, and opened at run time. A test compares the
// declarations with nvrtc.h where that is installed.
#ifndef SLIPWAY_JIT_CUDA_NVRTC_H_
#define SLIPWAY_JIT_CUDA_NVRTC_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace slipway {

using nvrtcProgram = struct _nvrtcProgram*;  // NOLINT: NVRTC's own name.
using nvrtcResult = int;                     // An enum there; these are the values that are told apart here.
inline constexpr nvrtcResult kNvrtcSuccess = 0, kNvrtcInvalidOption = 5;

// X(name, required, parameters)
// clang-format off
#define SLIPWAY_NVRTC_FUNCTIONS(X)                                                                                   \
  X(Version, true, (int* major, int* minor))                                                                         \
  X(GetNumSupportedArchs, false, (int* count))                                                                       \
  X(GetSupportedArchs, false, (int* archs))                                                                          \
  X(CreateProgram, true, (nvrtcProgram* program, const char* source, const char* name, int num_headers,               \
                          const char* const* headers, const char* const* include_names))                             \
  X(DestroyProgram, true, (nvrtcProgram* program))                                                                   \
  X(CompileProgram, true, (nvrtcProgram program, int num_options, const char* const* options))                       \
  X(GetPTXSize, true, (nvrtcProgram program, size_t* size))                                                          \
  X(GetPTX, true, (nvrtcProgram program, char* ptx))                                                                 \
  X(GetCUBINSize, false, (nvrtcProgram program, size_t* size))                                                       \
  X(GetCUBIN, false, (nvrtcProgram program, char* cubin))                                                            \
  X(GetProgramLogSize, true, (nvrtcProgram program, size_t* size))                                                   \
  X(GetProgramLog, true, (nvrtcProgram program, char* log))                                                          \
  X(AddNameExpression, true, (nvrtcProgram program, const char* expression))                                         \
  X(GetLoweredName, true, (nvrtcProgram program, const char* expression, const char** name))
// clang-format on

struct Nvrtc {
#define SLIPWAY_NVRTC_POINTER(name, required, parameters) nvrtcResult(*name) parameters = nullptr;
  SLIPWAY_NVRTC_FUNCTIONS(SLIPWAY_NVRTC_POINTER)
#undef SLIPWAY_NVRTC_POINTER
  const char* (*GetErrorString)(nvrtcResult result) = nullptr;
  int major = 0, minor = 0;
  // The library's size and age: updates keep the version that it tells.
  std::string file;
  std::string include_folder;  // Of the toolkit, with cuda_fp16.h; empty if there is none.

  // The library of this process, opened at first use and never closed. NOT_FOUND, with where it was looked for.
  static absl::StatusOr<const Nvrtc*> Get();
};

}  // namespace slipway

#endif  // SLIPWAY_JIT_CUDA_NVRTC_H_
