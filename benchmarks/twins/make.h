// How the files beside this one write a twin.
#ifndef SLIPWAY_BENCHMARKS_TWINS_MAKE_H_
#define SLIPWAY_BENCHMARKS_TWINS_MAKE_H_

#include <string>
#include <utility>
#include <vector>

#include "benchmarks/twins.h"
#include "slipway/embedded.h"

namespace slipway::twins {

// The shapes of the arrays of a kernel's function, which is a template over the layout.
template <class T, Layout L>
using Vector = ArrayVar<T, 1, L>;
template <class T, Layout L>
using Matrix = ArrayVar<T, 2, L>;

// Array<T, N>, thread indices and `index`, as the CUDA C++ of every twin begins.
extern const char* const kPrelude;

// `function` is called as function.template operator()<L>() and gives the kernel's function for arrays of that layout.
// In `cuda` NAME stands for the kernel's name.
template <class F>
Twin Make(const CompileOptions& options, const char* name, const char* kind, const F& function,
          const std::string& cuda) {
  const auto compile = [](auto kernel, bool index32) {
    return [kernel = std::move(kernel), index32](const Target& target) { return kernel.CompiledFor(target, index32); };
  };
  auto generic = MakeKernel(name, function.template operator()<Layout::kStrided>(), options);
  auto specialized = MakeKernel(name, function.template operator()<Layout::kContiguous>(), options);
  const std::string entry = std::string("extern \"C\" __global__ void ") + name;
  return {name, kind, compile(std::move(generic), false), compile(std::move(specialized), true),
          kPrelude + cuda.substr(0, cuda.find("KERNEL")) + entry + cuda.substr(cuda.find("KERNEL") + 6)};
}

// One a file.
std::vector<Twin> Maps(const CompileOptions& options);
std::vector<Twin> Bits(const CompileOptions& options);
std::vector<Twin> Grids(const CompileOptions& options);
std::vector<Twin> Blocks(const CompileOptions& options);
std::vector<Twin> Loops(const CompileOptions& options);

}  // namespace slipway::twins

#endif  // SLIPWAY_BENCHMARKS_TWINS_MAKE_H_
