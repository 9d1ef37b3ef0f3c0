// A kernel whose parameters are known at compile time: wrong arguments do not compile, offsets in the launch buffer are
// constants, and a launch is straight stores, one AND an array, and the driver's call.
//
//   using Saxpy = TypedKernel<ArrayView<float, 1>, ArrayView<const float, 1>, float>;
//   Saxpy saxpy = Saxpy::Load(device, compiled).value();
//   absl::Status status = saxpy(stream, ForSize(n), y, x, 2.0f);
#ifndef SLIPWAY_TYPED_KERNEL_H_
#define SLIPWAY_TYPED_KERNEL_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/arg.h"
#include "slipway/array.h"
#include "slipway/array_uses.h"
#include "slipway/device.h"
#include "slipway/driver_api.h"
#include "slipway/dtype.h"
#include "slipway/facts.h"
#include "slipway/kernel.h"
#include "slipway/launch_config.h"
#include "slipway/packing.h"
#include "slipway/signature.h"
#include "slipway/stream.h"
#include "slipway/submit.h"
#include "slipway/tensor_trait.h"

namespace slipway {

namespace internal {

// How a parameter type lies in the launch buffer and which arguments it takes.
template <class P>
struct ParamTraits {
  static_assert(sizeof(P) == 0,
                "a parameter is an ArrayView, a scalar of a Slipway dtype, a pointer or a plain struct");
};

// A scalar takes what converts to it without narrowing, as list initialisation does: an int32 fits an int64, a double
// does not fit a float.
template <Element P>
struct ParamTraits<P> {
  static_assert(!std::is_const_v<P>, "parameters are values, so const says nothing");
  static constexpr bool kIsArray = false;
  static constexpr bool kIsConstArray = false;
  static constexpr size_t kSize = sizeof(P);
  static constexpr size_t kAlign = alignof(P);
  template <class A>
  static constexpr bool kAccepts = std::is_convertible_v<const A&, P>&& requires(const A& a) {
    P{a};
  };
  static ParamSpec Spec() { return {.name = {}, .kind = ParamKind::kScalar, .dtype = kDTypeOf<P>}; }
};

template <StructArgument P>
struct ParamTraits<P> {
  static constexpr bool kIsArray = false;
  static constexpr bool kIsConstArray = false;
  static constexpr size_t kSize = sizeof(P);
  static constexpr size_t kAlign = alignof(P);
  template <class A>
  static constexpr bool kAccepts = std::is_same_v<A, P>;
  static ParamSpec Spec() {
    return {.name = {},
            .kind = ParamKind::kStruct,
            .struct_size = sizeof(P),
            .struct_align = static_cast<uint32_t>(alignof(P))};
  }
};

// Whether an array or a tensor has elements that a parameter of T takes: the same type, to which const may be added.
template <class T, class A>
struct HasElements : std::false_type {};
template <class T, class U, int N, Layout K>
struct HasElements<T, ArrayView<U, N, K>> : std::bool_constant<std::is_same_v<T, U> || std::is_same_v<T, const U>> {};
template <class T, class U, int N>
struct HasElements<T, Array<U, N>> : HasElements<T, ArrayView<U, N>> {};
template <class T, Tensor A>
requires(!std::is_void_v<T>) struct HasElements<T, A>
    : std::bool_constant<(!TensorAccess<A>::kReadOnly || std::is_const_v<T>)&&[] {
      if constexpr (TensorAccess<A>::kStaticDType) {
        return TensorTrait<A>::kDType == kDTypeOf<T>;
      } else {
        return true;  // Compared at launch.
      }
    }()> {
};

// Whether it is an array or a tensor that may stand for a `void*`: not one that is read-only, unless for `const void*`.
template <class T, class A>
struct StandsForVoid : std::false_type {};
template <class T, class U, int N, Layout K>
requires std::is_void_v<T>
struct StandsForVoid<T, ArrayView<U, N, K>> : std::bool_constant<std::is_const_v<T> || !std::is_const_v<U>> {
};
template <class T, class U, int N>
struct StandsForVoid<T, Array<U, N>> : StandsForVoid<T, ArrayView<U, N>> {};
template <class T, Tensor A>
requires std::is_void_v<T>
struct StandsForVoid<T, A> : std::bool_constant<std::is_const_v<T> || !TensorAccess<A>::kReadOnly> {
};

// A pointer takes pointers that convert to it, the driver's addresses, and arrays of any rank that are contiguous.
template <class T>
struct ParamTraits<T*> {
  static constexpr bool kIsArray = false;
  static constexpr bool kIsConstArray = false;
  static constexpr size_t kSize = sizeof(T*);
  static constexpr size_t kAlign = alignof(T*);
  template <class A>
  static constexpr bool kAccepts =
      (std::is_pointer_v<A> && std::is_convertible_v<A, T*>) || std::is_null_pointer_v<A> ||
      std::is_same_v<A, CUdeviceptr> || HasElements<T, A>::value || StandsForVoid<T, A>::value;
  static ParamSpec Spec() {
    return {.name = {}, .kind = ParamKind::kPointer, .dtype = kPointeeOf<T>, .read_only = std::is_const_v<T>};
  }
};

// An array takes an Array, a view, or an application's tensor of the same element type (const may be added) and rank. A
// contiguous parameter takes strided ones too: the facts word tells whether they are contiguous.
template <class T, int N, Layout L>
struct ParamTraits<ArrayView<T, N, L>> {
  static constexpr bool kIsArray = true;
  static constexpr bool kIsConstArray = std::is_const_v<T>;
  static constexpr size_t kSize = 8 * (1 + N * (L == Layout::kStrided ? 2 : 1));
  static constexpr size_t kAlign = 8;
  template <class A>
  static constexpr bool kHasRank = [] {
    if constexpr (!Tensor<A>) {
      return A::kRank == N;
    } else if constexpr (TensorAccess<A>::kStaticRank) {
      return TensorTrait<A>::kRank == N;
    } else {
      return true;  // Compared at launch.
    }
  }();
  template <class A>
  static constexpr bool kAccepts = [] {
    if constexpr (HasElements<T, A>::value) {
      return kHasRank<A>;
    } else {
      return false;
    }
  }();
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

// What the arrays of a launch have in common: all that can be demanded of an array, and its device, are bits that are
// 1, so that one AND an array does instead of four instructions that compare each with its own demand.
struct ArrayChecks {
  Facts all = ~Facts{0};         // Bits that all arrays have.
  Facts written = ~Facts{0};     // Those whose parameters are not const,
  Facts contiguous = ~Facts{0};  // and those whose parameters are contiguous, though perhaps not the arrays.
  Facts others = 0;              // What is amiss with what is not looked at that way.
};

// How an argument of type A is stored and checked for a parameter of type P.
template <class P, class A>
struct ParamPacker {  // Scalars.
  static constexpr size_t kOverrun = 0;
  [[gnu::always_inline]] static void Store(std::byte* to, const A& arg) {
    const P value{arg};
    std::memcpy(to, &value, sizeof(P));
  }
  static void Check(ArrayChecks&, const ParamPlan*, const A&) {}
  static Facts FactsOf(const A&, uint16_t) { return facts::OfScalar(kDTypeOf<P>); }
};
template <StructArgument P, class A>
struct ParamPacker<P, A> {
  static constexpr size_t kOverrun = 0;
  [[gnu::always_inline]] static void Store(std::byte* to, const A& arg) { std::memcpy(to, &arg, sizeof(P)); }
  static void Check(ArrayChecks&, const ParamPlan*, const A&) {}
  static Facts FactsOf(const A&, uint16_t) { return facts::OfStruct(sizeof(P), alignof(P)); }
};
template <class T, class A>
struct ParamPacker<T*, A> {
  static constexpr size_t kOverrun = 0;
  static constexpr bool kIsRaw = std::is_pointer_v<A> || std::is_null_pointer_v<A> || std::is_same_v<A, CUdeviceptr>;
  static uint64_t AddressOf(const A& arg) {
    if constexpr (std::is_null_pointer_v<A>) {
      return 0;
    } else if constexpr (std::is_same_v<A, CUdeviceptr>) {
      return arg;
    } else if constexpr (std::is_pointer_v<A>) {
      return reinterpret_cast<uint64_t>(static_cast<T*>(arg));
    } else if constexpr (Tensor<A>) {
      return reinterpret_cast<uint64_t>(TensorTrait<A>::data(arg));
    } else {
      return reinterpret_cast<uint64_t>(ViewOf(arg).data());
    }
  }
  [[gnu::always_inline]] static void Store(std::byte* to, const A& arg) {
    const uint64_t address = AddressOf(arg);
    std::memcpy(to, &address, 8);
  }
  [[gnu::always_inline]] static void Check(ArrayChecks& checks, const ParamPlan* plan, const A& arg) {
    // Raw addresses are believed. Of arrays there are few here, so each is looked at by itself.
    if constexpr (!kIsRaw) {
      checks.others |= plan->demand.Misfit(FactsOf(arg, facts::DeviceOf(plan->demand.want)));
    }
  }
  static Facts FactsOf(const A& arg, uint16_t device_id) {
    if constexpr (kIsRaw) {
      return facts::OfPointer(kPointeeOf<T>, std::is_const_v<T>, AddressOf(arg));
    } else {
      return Packer<A>::FactsOf(arg, device_id);
    }
  }
};
template <class T, int N, Layout L, class A>
struct ParamPacker<ArrayView<T, N, L>, A> {
  static constexpr size_t kSize = ParamTraits<ArrayView<T, N, L>>::kSize;
  static constexpr size_t kOverrun = Tensor<A> ? Packer<A>::kMaxBytes - kSize : 0;

  [[gnu::always_inline]] static void Store(std::byte* to, const A& arg) {
    if constexpr (Tensor<A>) {
      // A rank that is not the parameter's is refused; until then nothing of it may be read or written.
      if constexpr (!TensorAccess<A>::kStaticRank) {
        if (TensorAccess<A>::RankOf(arg) != N) [[unlikely]]
          return;
      }
      TensorAccess<A>::Store(to, arg);
    } else {
      // The ABI struct is what a view begins with; see array.h.
      std::memcpy(to, static_cast<const void*>(&ViewOf(arg)), kSize);
    }
  }
  [[gnu::always_inline]] static void Check(ArrayChecks& checks, const ParamPlan* plan, const A& arg) {
    if constexpr (Tensor<A>) {
      constexpr TypeCode kCode = CodeOf(ParamKind::kArray, kDTypeOf<T>, N);
      if (Packer<A>::Code(arg) != kCode) [[unlikely]] {
        checks.others |= facts::kRankMask;
      } else {
        checks.others |= Glance(plan->demand, arg);
      }
    } else {
      const Facts word = ViewOf(arg).facts();
      checks.all &= word;
      if constexpr (!std::is_const_v<T>) checks.written &= word;
      if constexpr (L == Layout::kContiguous && N > 0) checks.contiguous &= word;
    }
  }
  static Facts FactsOf(const A& arg, uint16_t device_id) { return Packer<A>::FactsOf(arg, device_id); }
};

// The type as which a bound launch is first given its arguments: scalars as the parameter's, arrays as their own.
template <class P, class A>
using BoundArgument =
    std::conditional_t<Element<P> || StructArgument<P> ||
                           (std::is_pointer_v<P> && (std::is_pointer_v<A> || std::is_null_pointer_v<A>)),
                       P, A>;
[[gnu::cold]] absl::Status BoundMismatch(const Kernel& kernel, size_t index, Facts given);

// Whether `given` can stand for a typed kernel with parameters `wanted`; INVALID_ARGUMENT says which differs and how.
absl::Status CheckSignature(const Kernel& kernel, const Signature& wanted);

}  // namespace internal

// Whether an argument of type A may be given for a parameter of type P.
template <class P, class A>
concept ArgumentFor = internal::ParamTraits<P>::template kAccepts<A>;

template <class... Params>
class BoundKernel;  // bound_launch.h.

// Params are ArrayView<T, N, L> (ArrayView<const T, N, L> where the kernel only reads), scalar types, T* for functions
// that take bare addresses, and plain structs. Shares its
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
    if constexpr ((internal::kOwns<Args> || ...)) {
      if (internal::UsedElsewhere(stream, args...)) [[unlikely]] {
        const auto launch = [&](const auto&... views) { return (*this)(stream, config, views...); };
        return internal::LaunchNotingUses(stream, launch, args...);
      }
    }
    return Launch(std::index_sequence_for<Params...>(), stream, config, args...);
  }

  // Packs the arguments once, to be launched again and again. Errors as a launch's, but for those of the stream. Wants
  // bound_launch.h.
  template <class... Args>
  requires(sizeof...(Args) == sizeof...(Params) &&
           (ArgumentFor<Params, Args> && ...)) absl::StatusOr<BoundKernel<Params...>> Bind(const LaunchConfig& config,
                                                                                           const Args&... args)
  const;

  const Kernel& kernel() const { return kernel_; }

 private:
  static constexpr std::array<size_t, sizeof...(Params) + 1> kOffsets = internal::Offsets<Params...>();
  static constexpr size_t kBytes = kOffsets[sizeof...(Params)];
  static_assert(kBytes <= kMaxLargeParamBytes, "the parameters of one kernel are at most 32,764 bytes");

  explicit TypedKernel(Kernel kernel) : kernel_(std::move(kernel)) {}

  template <size_t... I, class... Args>
  [[gnu::always_inline]] absl::Status Launch(std::index_sequence<I...>, const Stream& stream,
                                             const LaunchConfig& config, const Args&... args) const {
    // The last copy may reach past the end: a strided tensor's for a contiguous parameter.
    constexpr size_t kSlack = std::max({size_t{1}, internal::ParamPacker<Params, Args>::kOverrun...});
    alignas(16) std::byte buffer[kBytes + kSlack];
    // All arguments are looked at and packed before the one branch; misfits are told apart afterwards. Looked at first:
    // what is stored might be what is looked at, for all that the compiler knows.
    internal::ArrayChecks checks;
    [[maybe_unused]] const ParamPlan* const plans = kernel_.params().data();
    (internal::ParamPacker<Params, Args>::Check(checks, plans + I, args), ...);
    (internal::ParamPacker<Params, Args>::Store(buffer + kOffsets[I], args), ...);
    (ZeroPadding<I>(buffer), ...);
    Facts misfit = checks.others;
    if constexpr ((Tensor<Args> || ...)) misfit |= kernel_.arrays_demand().promises;
    if constexpr (((internal::ParamTraits<Params>::kIsArray && !Tensor<Args>) || ...)) {
      constexpr bool kAllWritten = ((!internal::ParamTraits<Params>::kIsConstArray || Tensor<Args>)&&...);
      misfit |= ~checks.all & (kAllWritten ? kernel_.arrays_demand().written : kernel_.arrays_demand().read);
      if constexpr (!kAllWritten) misfit |= ~checks.written & facts::kWritable;
      misfit |= ~checks.contiguous & facts::kContiguous;
    }
    if (misfit != 0) [[unlikely]] {
      // Read again, as the fence has it, rather than kept in registers on the straight road.
      std::atomic_signal_fence(std::memory_order_seq_cst);
      const std::array<Facts, sizeof...(Args)> given = {
          internal::ParamPacker<Params, Args>::FactsOf(args, kernel_.device().id())...};
      if (absl::Status status = internal::CheckArguments(kernel_, given); !status.ok()) return status;
    }
    return internal::Submit(kernel_, stream, config, kBytes == 0 ? nullptr : buffer);
  }

  // Padding is zero, so that equal arguments make equal bytes.
  template <size_t I>
  [[gnu::always_inline]] static void ZeroPadding(std::byte* buffer) {
    using P = std::tuple_element_t<I, std::tuple<Params...>>;
    constexpr size_t kEnd = kOffsets[I] + internal::ParamTraits<P>::kSize;
    if constexpr (kEnd < kOffsets[I + 1]) std::memset(buffer + kEnd, 0, kOffsets[I + 1] - kEnd);
  }

  Kernel kernel_;
};

}  // namespace slipway

#endif  // SLIPWAY_TYPED_KERNEL_H_
