// A kernel whose parameters are known at compile time: wrong arguments do not compile, offsets in the launch buffer are
// constants, and a launch is straight stores, one compare an array, and the driver's call.
//
//   using Saxpy = TypedKernel<ArrayView<float, 1>, ArrayView<const float, 1>, float>;
//   Saxpy saxpy = Saxpy::Load(device, compiled).value();
//   absl::Status status = saxpy(stream, ForSize(n), y, x, 2.0f);
#ifndef SLIPWAY_TYPED_KERNEL_H_
#define SLIPWAY_TYPED_KERNEL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/array.h"
#include "slipway/kernel.h"
#include "slipway/launch_config.h"
#include "slipway/stream.h"

namespace slipway {

namespace internal {

// How a parameter type lies in the launch buffer and which arguments it takes. A scalar takes what converts to it
// without narrowing, as list initialisation does: an int32 fits an int64, a double does not fit a float.
template <class P>
struct ParamTraits {
  static_assert(Element<P> && !std::is_const_v<P>, "a parameter is an ArrayView or a scalar of a Slipway dtype");
  static constexpr bool kIsArray = false;
  static constexpr size_t kSize = sizeof(P);
  static constexpr size_t kAlign = alignof(P);
  template <class A>
  static constexpr bool kAccepts = std::is_convertible_v<const A&, P>&& requires(const A& a) {
    P{a};
  };
  static ParamSpec Spec() { return {.name = {}, .kind = ParamKind::kScalar, .dtype = kDTypeOf<P>}; }
};

// An array takes an Array or a view of the same element type (const may be added) and rank. A contiguous parameter
// takes a strided view too: the facts word tells whether it is contiguous.
template <class T, int N, Layout L>
struct ParamTraits<ArrayView<T, N, L>> {
  static constexpr bool kIsArray = true;
  static constexpr size_t kSize = 8 * (1 + N * (L == Layout::kStrided ? 2 : 1));
  static constexpr size_t kAlign = 8;
  template <class U>
  static constexpr bool kSameElement = std::is_same_v<T, U> || std::is_same_v<T, const U>;
  template <class A>
  struct Match : std::false_type {};
  template <class U, Layout K>
  struct Match<ArrayView<U, N, K>> : std::bool_constant<kSameElement<U>> {};
  template <class U>
  struct Match<Array<U, N>> : std::bool_constant<kSameElement<U>> {};
  template <class A>
  static constexpr bool kAccepts = Match<A>::value;
  static ParamSpec Spec() {
    return {.name = {},
            .kind = ParamKind::kArray,
            .dtype = kDTypeOf<T>,
            .rank = N,
            .layout = L,
            .read_only = std::is_const_v<T>};
  }
};

template <class U, int N, Layout K>
const ArrayView<U, N, K>& ViewOf(const ArrayView<U, N, K>& view) {
  return view;
}
template <class U, int N>
const ArrayView<U, N>& ViewOf(const Array<U, N>& array) {
  return array.view();
}

// Offsets by the PTX ABI: each parameter at its natural alignment, in order. The entry after the last is the buffer's
// size, which is not padded.
template <class... Params>
constexpr std::array<size_t, sizeof...(Params) + 1> Offsets() {
  constexpr size_t kCount = sizeof...(Params);
  const size_t size[kCount + 1] = {ParamTraits<Params>::kSize...};
  const size_t align[kCount + 1] = {ParamTraits<Params>::kAlign...};
  std::array<size_t, kCount + 1> offsets{};
  size_t end = 0;
  for (size_t i = 0; i < kCount; ++i) {
    offsets[i] = (end + align[i] - 1) / align[i] * align[i];
    end = offsets[i] + size[i];
  }
  offsets[kCount] = end;
  return offsets;
}

// Whether `given` can stand for a typed kernel with parameters `wanted`; INVALID_ARGUMENT says which differs and how.
absl::Status CheckSignature(const Kernel& kernel, const Signature& wanted);

}  // namespace internal

// Whether an argument of type A may be given for a parameter of type P.
template <class P, class A>
concept ArgumentFor = internal::ParamTraits<P>::template kAccepts<A>;

// Params are ArrayView<T, N, L> (ArrayView<const T, N, L> where the kernel only reads) and scalar types. Shares its
// kernel; cheap to copy, safe to launch from any thread.
template <class... Params>
class TypedKernel {
 public:
  // Loads a kernel whose signature has these types; errors as Kernel::Load, and INVALID_ARGUMENT naming the first
  // parameter that differs.
  static absl::StatusOr<TypedKernel> Load(const Device& device, CompiledKernel compiled) {
    absl::StatusOr<Kernel> kernel = Kernel::Load(device, std::move(compiled));
    if (!kernel.ok()) return std::move(kernel).status();
    return From(*std::move(kernel));
  }
  static absl::StatusOr<TypedKernel> From(Kernel kernel) {
    if (absl::Status status = internal::CheckSignature(kernel, {internal::ParamTraits<Params>::Spec()...});
        !status.ok()) {
      return status;
    }
    return TypedKernel(std::move(kernel));
  }

  // Queues the kernel; see Kernel::Launch for errors and costs. Always inlined: what the caller writes down (the form
  // of the configuration, literals) then costs nothing at run time, and only the launch itself is left.
  template <class... Args>
  requires(sizeof...(Args) == sizeof...(Params) && (ArgumentFor<Params, Args> && ...))
      [[gnu::always_inline]] absl::Status
      operator()(const Stream& stream, const LaunchConfig& config, const Args&... args) const {
    return Launch(std::index_sequence_for<Params...>(), stream, config, args...);
  }

  const Kernel& kernel() const { return kernel_; }

 private:
  static constexpr std::array<size_t, sizeof...(Params) + 1> kOffsets = internal::Offsets<Params...>();
  static constexpr size_t kBytes = kOffsets[sizeof...(Params)];
  static_assert(kBytes <= kMaxLargeParamBytes, "the parameters of one kernel are at most 32,764 bytes");

  explicit TypedKernel(Kernel kernel) : kernel_(std::move(kernel)) {}

  template <size_t... I, class... Args>
  [[gnu::always_inline]] absl::Status Launch(std::index_sequence<I...>, const Stream& stream,
                                             const LaunchConfig& config, const Args&... args) const {
    alignas(16) std::byte buffer[kBytes == 0 ? 1 : kBytes];
    [[maybe_unused]] const ParamPlan* const plans = kernel_.params().data();
    // All arguments are packed and checked before the one branch; misfits are told apart afterwards.
    if (const Facts misfit = (Facts{0} | ... | Pack<I, Params>(plans, buffer, args)); misfit != 0) [[unlikely]] {
      const std::array<Facts, sizeof...(Args)> given = {FactsOf<Params>(args)...};
      return internal::ArgumentMismatch(kernel_, given);
    }
    return internal::Submit(kernel_, stream, config, buffer, kBytes);
  }

  template <class P, class A>
  static Facts FactsOf(const A& arg) {
    if constexpr (internal::ParamTraits<P>::kIsArray) {
      return internal::ViewOf(arg).facts();
    } else {
      return facts::OfScalar(kDTypeOf<P>);
    }
  }

  // Stores one argument; returns the facts that it fails to meet, or 0.
  template <size_t I, class P, class A>
  [[gnu::always_inline]] static Facts Pack(const ParamPlan* plans, std::byte* buffer, const A& arg) {
    using Traits = internal::ParamTraits<P>;
    if constexpr (Traits::kIsArray) {
      const auto& view = internal::ViewOf(arg);
      // The ABI struct is what a view begins with; see array.h.
      std::memcpy(buffer + kOffsets[I], static_cast<const void*>(&view), Traits::kSize);
      return plans[I].demand.Misfit(view.facts());
    } else {
      const P value{arg};
      std::memcpy(buffer + kOffsets[I], &value, sizeof(P));
      // Padding is zero, so that equal arguments make equal bytes.
      constexpr size_t kEnd = kOffsets[I] + sizeof(P);
      if constexpr (kEnd < kOffsets[I + 1]) std::memset(buffer + kEnd, 0, kOffsets[I + 1] - kEnd);
      return 0;
    }
  }

  Kernel kernel_;
};

}  // namespace slipway

#endif  // SLIPWAY_TYPED_KERNEL_H_
