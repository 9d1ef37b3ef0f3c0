// Kernels written twice: as kernel IR and as CUDA C++ with the same parameters, for comparing what Slipway and NVRTC
// make of them.
#ifndef SLIPWAY_BENCHMARKS_TWINS_H_
#define SLIPWAY_BENCHMARKS_TWINS_H_

#include <string>
#include <vector>

#include "jit/ir.h"

namespace slipway {

struct Twin {
  std::string name;  // Of the kernel, in both.
  ir::Kernel kernel;
  std::string cuda;
};

// saxpy, a 5-point stencil and (x - y) * (x - y) / (1 + exp(-x)), float32 over strided arrays, each with 64-bit and
// with 32-bit index arithmetic.
std::vector<Twin> MakeTwins();

// saxpy with 64-bit indices alone.
Twin MakeSaxpy();

}  // namespace slipway

#endif  // SLIPWAY_BENCHMARKS_TWINS_H_
