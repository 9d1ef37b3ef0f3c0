// How an argument whose C++ type is known where a kernel is called gets into the launch buffer. Used by the launch
// paths of kernel.h, typed_kernel.h and generic_kernel.h; applications do not need it.
#ifndef SLIPWAY_PACKING_H_
#define SLIPWAY_PACKING_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "slipway/arg.h"
#include "slipway/array.h"
#include "slipway/dtype.h"
#include "slipway/facts.h"
#include "slipway/signature.h"
#include "slipway/tensor_trait.h"

namespace slipway::internal {

// What a parameter or an argument is, in 16 bits, never 0: kind, dtype and, of arrays, rank. Four of them make a word,
// so that a launch compares the types of four arguments, known to the compiler, with those of four parameters at once.
// A struct's is its size and alignment: those that are aligned to more than a word, behind which quick copies would
// leave gaps, and those of more than 511 times their alignment have no code that is equal to any.
using TypeCode = uint16_t;
inline constexpr int kCodesPerWord = 4;
constexpr TypeCode CodeOf(ParamKind kind, DType dtype, int rank) {
  return static_cast<TypeCode>((static_cast<unsigned>(kind) + 1) << 12 | static_cast<unsigned>(rank) << 8 |
                               static_cast<unsigned>(dtype));
}
inline constexpr TypeCode kStructParamCode = 0xfffe, kNoParamCode = 0xffff;  // An argument's that fits no code.
constexpr TypeCode StructCode(uint32_t size, uint32_t align, TypeCode otherwise) {
  if (size % align != 0 || size / align >= 512 || align > 8) return otherwise;
  const auto exponent = static_cast<unsigned>(std::countr_zero(align));
  return static_cast<TypeCode>((static_cast<unsigned>(ParamKind::kStruct) + 1) << 12 | exponent << 9 | size / align);
}
constexpr bool IsAddress(TypeCode code) { return code >> 12 == static_cast<unsigned>(ParamKind::kPointer) + 1; }
inline TypeCode CodeOf(const ParamSpec& param) {
  if (param.kind == ParamKind::kStruct) return StructCode(param.struct_size, param.struct_align, kStructParamCode);
  return CodeOf(param.kind, param.dtype, param.kind == ParamKind::kArray ? param.rank : 0);
}

// Packer<A>:
//   kMaxBytes             the most bytes that Store writes. A copy is made of whole words and may reach beyond what the
//                         parameter takes; parameters are stored in order, so that the next one overwrites that
//   Code(a)               the argument's TypeCode
//   Store(to, a)          copies the argument
//   Misfit(demand, a)     the facts that an argument of the right code fails to meet, exactly
//   FactsOf(a, device_id) its facts word, for messages and for keys
//   kHasFacts             whether it is an array that keeps its facts word
template <class A>
struct Packer {};

// What is amiss with an argument of the right code, as far as a glance tells: 0 if all is well. Otherwise it is to be
// looked at exactly, which may find that all is well.
template <class A>
[[gnu::always_inline]] inline Facts Glance(const FactsDemand& demand, const A& arg);

template <Element T>
struct Packer<T> {
  // Zero-extended to whole words, so that the padding behind it becomes zero. A complex64 may stand at 4 modulo 8,
  // where one word does not reach the end of the padding.
  static constexpr size_t kMaxBytes = sizeof(T) <= 8 && kDTypeOf<T> != DType::kComplex64 ? 8 : 16;
  static constexpr bool kHasFacts = false;
  static constexpr TypeCode Code(const T&) { return CodeOf(ParamKind::kScalar, kDTypeOf<T>, 0); }
  [[gnu::always_inline]] static void Store(std::byte* to, const T& value) {
    uint64_t words[kMaxBytes / 8] = {};
    std::memcpy(words, &value, sizeof(T));
    std::memcpy(to, words, kMaxBytes);
  }
  static constexpr Facts Misfit(const FactsDemand&, const T&) { return 0; }
  static constexpr Facts FactsOf(const T&, uint16_t) { return facts::OfScalar(kDTypeOf<T>); }
};

template <class T>
struct Packer<T*> {
  static constexpr size_t kMaxBytes = 8;
  static constexpr bool kHasFacts = false;
  static constexpr TypeCode Code(T* const&) { return CodeOf(ParamKind::kPointer, kPointeeOf<T>, 0); }
  static void Store(std::byte* to, T* const& pointer) { std::memcpy(to, &pointer, 8); }
  static Facts Misfit(const FactsDemand& demand, T* const& pointer) { return demand.MisfitOfAny(FactsOf(pointer, 0)); }
  static Facts FactsOf(T* const& pointer, uint16_t) {
    return facts::OfPointer(kPointeeOf<T>, std::is_const_v<T>, reinterpret_cast<uint64_t>(pointer));
  }
};

template <StructArgument S>
struct Packer<S> {
  // With zeros to a whole word.
  static constexpr size_t kMaxBytes = (sizeof(S) + 7) / 8 * 8;
  static constexpr bool kHasFacts = false;
  static constexpr TypeCode Code(const S&) { return StructCode(sizeof(S), alignof(S), kNoParamCode); }
  static void Store(std::byte* to, const S& value) {
    std::memcpy(to, &value, sizeof(S));
    if constexpr (kMaxBytes != sizeof(S)) std::memset(to + sizeof(S), 0, kMaxBytes - sizeof(S));
  }
  static Facts Misfit(const FactsDemand& demand, const S& value) { return demand.Misfit(FactsOf(value, 0)); }
  static constexpr Facts FactsOf(const S&, uint16_t) { return facts::OfStruct(sizeof(S), alignof(S)); }
};

template <class T, int N, Layout L>
struct Packer<ArrayView<T, N, L>> {
  static constexpr size_t kMaxBytes = 8 * (1 + 2 * N);
  static constexpr bool kHasFacts = true;
  static constexpr TypeCode Code(const ArrayView<T, N, L>&) { return CodeOf(ParamKind::kArray, kDTypeOf<T>, N); }
  [[gnu::always_inline]] static void Store(std::byte* to, const ArrayView<T, N, L>& view) {
    // The ABI struct is what a view begins with; see array.h.
    const auto* const from = reinterpret_cast<const std::byte*>(&view);
    if constexpr (N > 3) {
      std::memcpy(to, from, kMaxBytes);
    } else {
      // In pieces, which compilers copy without first computing the addresses of all views.
      for (int d = 0; d < N; ++d) std::memcpy(to + 16 * d, from + 16 * d, 16);
      std::memcpy(to + 16 * N, from + 16 * N, 8);
    }
  }
  static Facts Misfit(const FactsDemand& demand, const ArrayView<T, N, L>& view) { return demand.Misfit(view.facts()); }
  static Facts FactsOf(const ArrayView<T, N, L>& view, uint16_t) { return view.facts(); }
};
template <class T, int N>
struct Packer<Array<T, N>> : Packer<ArrayView<T, N>> {};

template <>
struct Packer<AnyArrayView> {
  static constexpr size_t kMaxBytes = 8 * (1 + 2 * kMaxRank);
  static constexpr bool kHasFacts = true;
  static TypeCode Code(const AnyArrayView& view) { return CodeOf(ParamKind::kArray, view.dtype(), view.rank()); }
  static void Store(std::byte* to, const AnyArrayView& view) {
    const auto* from = reinterpret_cast<const std::byte*>(&view);
    std::memcpy(to, from, 8);
    for (int d = 0; d < view.rank(); ++d) std::memcpy(to + 8 + 16 * d, from + 8 + 16 * d, 16);
  }
  static Facts Misfit(const FactsDemand& demand, const AnyArrayView& view) { return demand.Misfit(view.facts()); }
  static Facts FactsOf(const AnyArrayView& view, uint16_t) { return view.facts(); }
};
template <>
struct Packer<AnyArray> {
  static constexpr size_t kMaxBytes = Packer<AnyArrayView>::kMaxBytes;
  static constexpr bool kHasFacts = true;
  static TypeCode Code(const AnyArray& array) { return Packer<AnyArrayView>::Code(array.view()); }
  static void Store(std::byte* to, const AnyArray& array) { Packer<AnyArrayView>::Store(to, array.view()); }
  static Facts Misfit(const FactsDemand& demand, const AnyArray& array) { return demand.Misfit(array.view().facts()); }
  static Facts FactsOf(const AnyArray& array, uint16_t) { return array.view().facts(); }
};

template <Tensor T>
struct Packer<T> {
  using Access = TensorAccess<T>;
  static constexpr size_t kMaxBytes = 8 * (1 + 2 * Access::kMostRank);
  static constexpr bool kHasFacts = Access::kHasFacts;
  static constexpr TypeCode Code(const T& tensor) {
    const int rank = Access::RankOf(tensor);
    // A rank that no array has: nothing may be read of it.
    if (rank < 0 || rank > kMaxRank) return kNoParamCode;
    return CodeOf(ParamKind::kArray, Access::DTypeOf(tensor), rank);
  }
  [[gnu::always_inline]] static void Store(std::byte* to, const T& tensor) { Access::Store(to, tensor); }
  static Facts Misfit(const FactsDemand& demand, const T& tensor) {
    return demand.Misfit(Access::FactsOf(tensor, facts::DeviceOf(demand.want)));
  }
  static Facts FactsOf(const T& tensor, uint16_t device_id) { return Access::FactsOf(tensor, device_id); }
};

template <class A>
inline Facts Glance(const FactsDemand& demand, const A& arg) {
  if constexpr (Tensor<A>) {
    return TensorAccess<A>::IsOdd(arg, demand) ? facts::kValid : 0;  // Any bit: it is looked at again.
  } else {
    return Packer<A>::Misfit(demand, arg);
  }
}

// What may stand in the argument list of a launch.
template <class A>
concept Packable = requires(const A& a) {
  Packer<std::decay_t<A>>::Code(a);
};

// The argument as an Arg, for the roads that look at one argument after the other. A tensor gets a view of its own for
// that, which is why an AsArg stays where it is made. `device_id` is the kernel's.
template <class A>
struct AsArgInput {
  const A& argument;
  uint16_t device_id;
};
template <class A>
struct AsArg {
  AsArg(const AsArgInput<A>& input) : arg(input.argument) {}  // NOLINT(google-explicit-constructor)
  AsArg(const AsArg&) = delete;
  Arg arg;
};
template <Tensor A>
struct AsArg<A> {
  AsArg(const AsArgInput<A>& input) : view(ViewOf(input)), arg(view) {}  // NOLINT(google-explicit-constructor)
  AsArg(const AsArg&) = delete;
  static AnyArrayView ViewOf(const AsArgInput<A>& input) {
    const Facts word = TensorAccess<A>::FactsOf(input.argument, input.device_id);
    int64_t words[1 + 2 * kMaxRank] = {};
    if (facts::RankOf(word) <= kMaxRank) {
      TensorAccess<A>::Store(reinterpret_cast<std::byte*>(words), input.argument);
    }
    return ViewFromWords(words, word);
  }
  AnyArrayView view;
  Arg arg;
};

// The words of the types of a call's arguments, with a 0 behind the last code: a call with fewer arguments than the
// kernel has parameters, or more, differs in one of them.
template <class... Args>
[[gnu::always_inline]] constexpr auto TypeWords(const Args&... args) {
  std::array<uint64_t, sizeof...(Args) / kCodesPerWord + 1> words{};
  size_t i = 0;
  ((words[i / kCodesPerWord] |= uint64_t{Packer<std::decay_t<Args>>::Code(args)} << 16 * (i % kCodesPerWord), ++i),
   ...);
  return words;
}

// Whether a kernel's words are those of a call. In order: a word behind one that differs may not be there. No loop,
// which compilers keep for many words, with the constants in memory. Each compare says that it is likely: compilers
// take equality to be rare, and then compute what only the other road needs, as the arguments' addresses, ahead of it.
template <size_t kCount>
[[gnu::always_inline]] inline bool SameTypes(const uint64_t* own, const std::array<uint64_t, kCount>& words) {
  return [&]<size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    return (__builtin_expect(own[I] == words[I], true) && ...);
  }
  (std::make_index_sequence<kCount>());
}

// Whether an argument may stand for a parameter of that code, as far as its type tells: it is of the same type, or an
// array or a pointer of any type where the parameter is an address. Its facts tell the rest.
template <class A>
[[gnu::always_inline]] inline bool MayStandFor(TypeCode own, const A& arg) {
  if constexpr (Packer<A>::kHasFacts || Tensor<A> || std::is_pointer_v<A>) {
    if (IsAddress(own)) return true;
  }
  return own == Packer<A>::Code(arg);
}

}  // namespace slipway::internal

#endif  // SLIPWAY_PACKING_H_
