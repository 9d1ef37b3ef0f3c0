// A kernel from a C++ function that is written once for any dtypes and ranks.
//
//   GenericKernel scale = MakeGenericKernel("scale", [](AnyArrayVar out, AnyArrayVar in, AnyVar k) {
//     For(GridStride(out.size()), [&](Expr<int64_t> i) { out.Flat(i) = k * in.Flat(i); });
//   });
//   absl::Status status = scale(stream, ForSize(n), out, in, 2.0f);
//
// The function runs anew for each combination of dtypes, ranks and layouts (contiguous or not) that it is launched
// with, and of whether all arrays allow 32-bit indices and wide accesses to neighbours (docs/generated-code.md);
// each is compiled once, however many threads ask.
#ifndef SLIPWAY_EMBEDDED_GENERIC_KERNEL_H_
#define SLIPWAY_EMBEDDED_GENERIC_KERNEL_H_

#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/compile_options.h"
#include "slipway/device.h"
#include "slipway/embedded/generic_trace.h"
#include "slipway/generic_kernel.h"
#include "slipway/kernel.h"
#include "slipway/signature.h"

namespace slipway {

// Parameters of `function` are AnyArrayVar, AnyVar and AnyExpr, which take any dtype and rank; ArrayVar<T, N>, Var<T>
// and Expr<T>, which take what they say; or auto, which takes either an array or a number. Arrays that the function
// does not write are only read, and take views of const elements. Numbers of the host program that it captures are
// handed over by launches, as those of MakeKernel; it is copied, runs when a launch needs it, on the launching thread,
// for different signatures on several threads at once, and must not throw.
//
// Launches return, for their signature and from then on: INVALID_ARGUMENT for a mistake in the kernel (types that do
// not meet, another number of indices than the rank), for another number of arguments than parameters, or for pointers
// and structs, which embedded kernels do not take; and whatever compiling and loading return. variants() shows what
// each signature became.
template <class F>
GenericKernel MakeGenericKernel(std::string name, std::initializer_list<const char*> parameter_names, F&& function,
                                const CompileOptions& options = {}) {
  using Function = std::decay_t<F>;
  auto traced = std::make_shared<const Function>(std::forward<F>(function));
  std::vector<std::string> names(parameter_names.begin(), parameter_names.end());
  auto make = [name, names = std::move(names), traced = std::move(traced), options](
                  const Device& device, const Signature& signature) -> absl::StatusOr<Kernel> {
    if (absl::Status status = internal::CheckTraceable(name, signature, internal::CountParams<Function>());
        !status.ok()) {
      return status;
    }
    return internal::LoadTraced(device, *internal::TraceFor(name, names, signature, *traced), options);
  };
  return GenericKernel(std::move(name), std::move(make));
}
template <class F>
GenericKernel MakeGenericKernel(std::string name, F&& function, const CompileOptions& options = {}) {
  return MakeGenericKernel(std::move(name), {}, std::forward<F>(function), options);
}

}  // namespace slipway

#endif  // SLIPWAY_EMBEDDED_GENERIC_KERNEL_H_
