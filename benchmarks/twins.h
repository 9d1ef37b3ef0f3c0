// Kernels written twice: in embedded C++ and as CUDA C++ of the same meaning, for comparing what Slipway and NVRTC make
// of them. Both take the same parameters, compute indices in the same type, and promise nothing of aliasing.
#ifndef SLIPWAY_BENCHMARKS_TWINS_H_
#define SLIPWAY_BENCHMARKS_TWINS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "slipway/compile_options.h"
#include "slipway/kernel.h"
#include "slipway/target.h"

namespace slipway {

struct Twin {
  using Compile = std::function<absl::StatusOr<CompiledKernel>(const Target&)>;

  std::string name;  // Of the kernel, in both.
  std::string kind;  // For people: "map", "reduction", ...
  // Ours, for any arrays: strided, in 64-bit indices. The CUDA C++ is the same.
  Compile generic;
  // And as a launch with ordinary arrays gets it: contiguous, in 32-bit indices.
  Compile specialized;
  std::string cuda;
};

std::vector<Twin> MakeTwins(const CompileOptions& options);

// saxpy alone.
Twin MakeSaxpy(const CompileOptions& options);

}  // namespace slipway

#endif  // SLIPWAY_BENCHMARKS_TWINS_H_
