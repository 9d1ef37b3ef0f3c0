// The few words in which the kernels of this folder are written.
#ifndef SLIPWAY_EXAMPLES_AWKWARD_KERNEL_WORDS_H_
#define SLIPWAY_EXAMPLES_AWKWARD_KERNEL_WORDS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "slipway/device.h"
#include "slipway/embedded.h"
#include "slipway/kernel.h"

namespace slipway::awkward {

using Int = Expr<int64_t>;
using Bool = Expr<bool>;
template <class T>
using In = ArrayVar<const T, 1>;
template <class T>
using Out = ArrayVar<T, 1>;

// Compiles and loads the kernel that `function` describes.
template <class Function>
absl::StatusOr<Kernel> Make(const Device& device, std::string name, Function function) {
  auto typed = MakeKernel(std::move(name), function).On(device);
  if (!typed.ok()) return typed.status();
  return typed->kernel();
}

// Runs `body` for 0 <= i < count, spread over the threads of the grid.
template <class Body>
void ForEach(Int count, const Body& body) {
  For(GridStride(count), body);
}

// Indices come in int32, int64 and uint32; all arithmetic on them is in int64.
template <class T>
Int Wide(const T& value) {
  return Cast<int64_t>(value);
}

}  // namespace slipway::awkward

#endif  // SLIPWAY_EXAMPLES_AWKWARD_KERNEL_WORDS_H_
