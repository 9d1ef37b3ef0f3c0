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

#include "slipway/compile_options.h"
#include "slipway/device.h"
#include "slipway/embedded/generic_trace.h"
#include "slipway/generic_kernel.h"
#include "slipway/kernel.h"
#include "slipway/kernel_name.h"
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
//
// A kernel that is never used allocates nothing, and costs some thirty instructions, where its name is a literal, its
// parameters have no names, nothing but the defaults is asked for, and at most 8 bytes are captured.
template <class F>
GenericKernel MakeGenericKernel(const KernelName& name, std::initializer_list<const char*> parameter_names,
                                F&& function, const CompileOptions& options = {}) {
  using Function = std::decay_t<F>;
  if constexpr (internal::kFitsRecipe<Function>) {
    if (name.literal() != nullptr && parameter_names.size() == 0 && options == CompileOptions{}) {
      return GenericKernel(internal::Recipe::Of(
          name.literal(), Function(function), [](const char* text, const void* kept) -> GenericKernel::Maker {
            return
                [text, traced = *static_cast<const Function*>(kept)](const Device& device, const Signature& signature) {
                  return internal::MakeTraced(text, {}, traced, CompileOptions{}, device, signature);
                };
          }));
    }
  }
  auto traced = std::make_shared<const Function>(std::forward<F>(function));
  auto make = [text = name.ToString(), names = std::vector<std::string>(parameter_names.begin(), parameter_names.end()),
               traced = std::move(traced), options](const Device& device, const Signature& signature) {
    return internal::MakeTraced(text, names, *traced, options, device, signature);
  };
  return GenericKernel(name, std::move(make));
}
template <class F>
GenericKernel MakeGenericKernel(const KernelName& name, F&& function, const CompileOptions& options = {}) {
  return MakeGenericKernel(name, {}, std::forward<F>(function), options);
}

}  // namespace slipway

#endif  // SLIPWAY_EMBEDDED_GENERIC_KERNEL_H_
