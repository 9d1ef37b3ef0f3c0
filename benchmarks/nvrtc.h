// NVIDIA's run-time compiler, opened where it is installed, to measure ourselves against.
#ifndef SLIPWAY_BENCHMARKS_NVRTC_H_
#define SLIPWAY_BENCHMARKS_NVRTC_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace slipway {

class Nvrtc {
 public:
  // NOT_FOUND, saying where it was looked for, if there is none. The library stays loaded.
  static absl::StatusOr<Nvrtc> Open();

  // CUDA C++ to PTX for compute_<sm>, with the toolkit's headers where they are found and whatever options are added;
  // the compiler's log on failure.
  absl::StatusOr<std::string> CompileToPtx(const std::string& source, int sm,
                                           const std::vector<const char*>& options = {}) const;

  // "13.0".
  std::string Version() const;

 private:
  Nvrtc() = default;
  using Program = void*;
  // Signatures as in NVRTC's documentation, the enum of results as the int that it is.
  int (*version_)(int*, int*) = nullptr;
  int (*create_)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile_)(Program, int, const char* const*) = nullptr;
  int (*ptx_size_)(Program, size_t*) = nullptr;
  int (*ptx_)(Program, char*) = nullptr;
  int (*log_size_)(Program, size_t*) = nullptr;
  int (*log_)(Program, char*) = nullptr;
  int (*destroy_)(Program*) = nullptr;
};

}  // namespace slipway

#endif  // SLIPWAY_BENCHMARKS_NVRTC_H_
