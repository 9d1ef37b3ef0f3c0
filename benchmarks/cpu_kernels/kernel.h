// A kernel of kernels.ptx, loaded, with its parameters' types.
#ifndef SLIPWAY_BENCHMARKS_CPU_KERNELS_KERNEL_H_
#define SLIPWAY_BENCHMARKS_CPU_KERNELS_KERNEL_H_

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "slipway/module.h"
#include "slipway/typed_kernel.h"

namespace slipway::cpu_kernels {

// Ends the process with a message if `status` is not OK.
inline void Must(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "cpu_kernels: %s\n", std::string(status.message()).c_str());
  std::exit(1);
}
template <class T>
T Must(absl::StatusOr<T> value) {
  Must(value.status());
  return *std::move(value);
}

template <class... Params>
TypedKernel<Params...> Find(const Module& module, const std::string& name) {
  Signature signature = {internal::ParamTraits<Params>::Spec()...};
  for (size_t i = 0; i < signature.size(); ++i) signature[i].name = std::string(1, static_cast<char>('a' + i));
  return Must(TypedKernel<Params...>::From(
      Must(Kernel::FromFunction(module.device(), Must(module.GetFunction(name)), name, std::move(signature)))));
}

}  // namespace slipway::cpu_kernels

#endif  // SLIPWAY_BENCHMARKS_CPU_KERNELS_KERNEL_H_
