// C functions of the host program as kernels of the host device: registered with their signature, launched by every way
// in, over arrays in host memory whose plain addresses they are given.
//
//   void scale(double* to, const double* from, double by, int64_t length);
//
//   TypedKernel<double*, const double*, double, int64_t> scale_on_host = HostFunction::Make("scale", &scale).value();
//   absl::Status status = scale_on_host(stream, kCallOnce, y, x, 2.0, n);
//
// As one back end of a GenericKernel, where the other devices get a kernel (scale_on_host.kernel() is a Kernel):
//
//   GenericKernel scale("scale", [](const Device& device, const Signature&) -> absl::StatusOr<Kernel> {
//     if (&device.api() == &HostDriver()) return HostFunction::Make("scale", &scale)->kernel();
//     return scale_in_cuda.On(device)->kernel();
//   });
#ifndef SLIPWAY_HOST_FUNCTION_H_
#define SLIPWAY_HOST_FUNCTION_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/driver_api.h"
#include "slipway/host_driver.h"
#include "slipway/kernel.h"
#include "slipway/launch_config.h"
#include "slipway/signature.h"
#include "slipway/typed_kernel.h"

namespace slipway {

// The configuration of a launch that is one call. A host function does its own loops: it is called once for each
// launch, whatever grid and block are; they are checked like those of a GPU. (ForSize(0) launches nothing, here as
// anywhere.)
inline constexpr LaunchConfig kCallOnce = {.grid = {1, 1, 1}, .block = {1, 1, 1}};

// What a host function returns, as a status. Void and absl::Status are known; an application's own error type is made
// known by
//
//   template <>
//   struct slipway::HostResult<Error> {
//     static absl::Status ToStatus(const Error& e) { return e.str == nullptr ? absl::OkStatus() : ...; }
//   };
template <class R>
struct HostResult {
  static_assert(sizeof(R) == 0, "specialise slipway::HostResult for what the function returns");
};
template <>
struct HostResult<absl::Status> {
  static absl::Status ToStatus(absl::Status status) { return status; }
};

namespace internal {

template <class P>
struct IsView : std::false_type {};
template <class T, int N, Layout L>
struct IsView<ArrayView<T, N, L>> : std::true_type {};

// A parameter as it lies in a launch buffer.
template <class P>
P LoadParam(const std::byte* from) {
  std::array<std::byte, sizeof(P)> bytes;
  std::memcpy(bytes.data(), from, sizeof(P));
  return std::bit_cast<P>(bytes);
}

// HostEntry::Call of functions of one type.
template <class R, class... Params>
CUresult CallHost(void (*function)(), const std::byte* buffer) {
  [[maybe_unused]] static constexpr auto kOffsets = Offsets<Params...>();
  const auto typed = reinterpret_cast<R (*)(Params...)>(function);
  const auto call = [&]<size_t... I>(std::index_sequence<I...>)->R {
    return typed(LoadParam<Params>(buffer + kOffsets[I])...);
  };
  if constexpr (std::is_void_v<R>) {
    call(std::index_sequence_for<Params...>());
  } else {
    absl::Status status = HostResult<R>::ToStatus(call(std::index_sequence_for<Params...>()));
    if (!status.ok()) [[unlikely]]
      return KeepHostFailure(std::move(status));
  }
  return CUDA_SUCCESS;
}

absl::StatusOr<Kernel> MakeHostKernel(HostEntry::Call call, void (*function)(), std::string name, Signature signature,
                                      std::vector<std::string> param_names);

}  // namespace internal

// Makes kernels of C functions; see Make.
class HostFunction {
 public:
  // Registers a function under `name`, for messages; `param_names` (one a parameter, or none) are for messages, too,
  // and for launches by name. The function must stay for as long as the process lives, and is called on whatever
  // threads launch it. Parameters are
  //   T*      given an array of the host device, contiguous and of any rank, or a raw address, which is believed;
  //           const T* if the function only reads
  //   others  scalars of Slipway's dtypes and plain structs, by value
  //
  // The launch returns what the function returned: its status, headed by the name. Nothing of it is sticky. Errors of
  // Make, all INVALID_ARGUMENT: a null function, an empty name, a number of parameter names that does not fit.
  template <class R, class... Params>
  static absl::StatusOr<TypedKernel<Params...>> Make(std::string name, R (*function)(Params...),
                                                     std::vector<std::string> param_names = {}) {
    static_assert((!internal::IsView<Params>::value && ...), "a host function takes arrays by their address");
    absl::StatusOr<Kernel> kernel = internal::MakeHostKernel(
        &internal::CallHost<R, Params...>, reinterpret_cast<void (*)()>(function), std::move(name),
        Signature{internal::ParamTraits<Params>::Spec()...}, std::move(param_names));
    if (!kernel.ok()) return kernel.status();
    return TypedKernel<Params...>::From(*std::move(kernel));
  }
};

}  // namespace slipway

#endif  // SLIPWAY_HOST_FUNCTION_H_
