// A kernel that is specialised by its arguments: for their dtypes, ranks and layouts, when they are first seen.
//
//   GenericKernel scale("scale", [](const Device& device, const Signature& signature) { return MakeScale(...); });
//   absl::Status status = scale(stream, ForSize(n), out, in, 2.0f);
//
// How a kernel is made is the maker's business: from embedded C++ (embedded/generic_kernel.h has a front end for that),
// from CUDA C++, from a table of ready ones, or, for the host device, from a C function (host_function.h). So one
// GenericKernel can serve every back end, with one cache and one way to call it.
#ifndef SLIPWAY_GENERIC_KERNEL_H_
#define SLIPWAY_GENERIC_KERNEL_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "slipway/array.h"
#include "slipway/bound_launch.h"
#include "slipway/device.h"
#include "slipway/dispatch.h"
#include "slipway/kernel.h"
#include "slipway/kernel_name.h"
#include "slipway/packing.h"
#include "slipway/submit.h"
#include "slipway/typed_kernel.h"

namespace slipway {

namespace internal {

// Arguments that C++ knows all of but their values: numbers, and arrays with dtype and rank. Where they lie in the
// launch buffer is then a constant for each layout of the arrays.
template <class A>
struct PlainArgument {
  static constexpr bool kIs = Element<A>, kIsArray = false, kIsConst = false;
  template <Layout L>
  using Param = A;
};
template <class T, int N, Layout K>
struct PlainArgument<ArrayView<T, N, K>> {
  static constexpr bool kIs = true, kIsArray = true, kIsConst = std::is_const_v<T>;
  template <Layout L>
  using Param = ArrayView<T, N, L>;
};
template <class T, int N>
struct PlainArgument<Array<T, N>> : PlainArgument<ArrayView<T, N>> {};

// What the facts of such arguments say together, of 1 to 64: what all arrays have, and which arguments are const, a bit
// for each.
struct PlainFacts {
  Facts all = ~Facts{0};
  uint64_t is_const = 0;

  template <class... Args>
  [[gnu::always_inline]] static PlainFacts Of(const Args&... args) {
    PlainFacts facts;
    [[maybe_unused]] const auto look_at = [&](const auto& arg) {
      using A = std::decay_t<decltype(arg)>;
      if constexpr (PlainArgument<A>::kIsArray) {
        facts.all &= Packer<A>::FactsOf(arg, 0) | (PlainArgument<A>::kIsConst ? facts::kWritable : 0);
      }
    };
    (look_at(args), ...);
    uint64_t bit = 1;
    ((facts.is_const |= PlainArgument<Args>::kIsConst ? bit : 0, bit <<= 1), ...);
    return facts;
  }
};

// What a specialisation asks of calls with such arguments, of the types that it was made for.
struct PlainDemand {
  Facts mask = 0, want = 1;          // Of what all arrays have. None is met until it is set.
  uint64_t written = 0;              // A bit for each parameter that is written.
  Layout layout = Layout::kStrided;  // Of the kernel's array parameters.

  [[gnu::always_inline]] bool IsMetBy(const PlainFacts& given) const {
    return (((given.all & mask) ^ want) | (written & given.is_const)) == 0;
  }
};

// What a kernel that was not used yet is to be made of, without an allocation: its name, a literal, and something small
// that its maker is made of.
struct Recipe {
  using Maker = std::function<absl::StatusOr<Kernel>(const Device& device, const Signature& signature)>;
  using MakeMaker = Maker (*)(const char* name, const void* kept);

  const char* name = "";
  MakeMaker make_maker = nullptr;
  alignas(void*) std::byte kept[sizeof(void*)] = {};

  template <class T>
  static Recipe Of(const char* name, const T& kept, MakeMaker make_maker) {
    Recipe recipe{.name = name, .make_maker = make_maker};
    if constexpr (!std::is_empty_v<T>) std::memcpy(recipe.kept, &kept, sizeof(T));
    return recipe;
  }
};
template <class T>
inline constexpr bool kFitsRecipe = sizeof(T) <= sizeof(Recipe::kept) &&
                                    alignof(T) <= alignof(void*) && std::is_trivially_copyable_v<T>;

template <class... Args>
inline constexpr bool kPlainCall = sizeof...(Args) <= 64 && (PlainArgument<Args>::kIs && ...);

// Stores such arguments for parameters of that layout.
template <Layout L, class... Args>
[[gnu::always_inline]] inline void StorePlain([[maybe_unused]] std::byte* buffer, const Args&... args) {
  [[maybe_unused]] constexpr auto kOffsets = Offsets<typename PlainArgument<Args>::template Param<L>...>();
  [[maybe_unused]] size_t i = 0;
  (Packer<Args>::Store(buffer + kOffsets[i++], args), ...);
}

}  // namespace internal

// A handle with shared ownership: cheap to copy; copies share the specialisations. Safe to use from any thread. What
// they share is made at the first use, or copy.
class GenericKernel {
 public:
  // Makes the kernel for a device and the types of a call: of each argument what it is, dtype, rank, whether it is
  // contiguous, and read_only for what may not be written; the arrays' index width is 32 bits where all of them allow
  // that, and contiguous ones are `vector` and `vector_rows` where all are aligned for that. Names are empty. The
  // kernel's own signature has the same kinds, dtypes and ranks, or an address for an array; it may ask for less
  // (strided where contiguous was given, 64-bit indices, no alignment) or for more, which launches then refuse
  // arguments for; it says which arrays are only read. Called once for each specialisation, however
  // many threads ask, possibly for several at once; an error is kept and returned by every such call. It must not
  // throw.
  using Maker = internal::Recipe::Maker;
  // The maker may be whatever a Maker is made of. One of at most 8 bytes, as a lambda that captures no more than a
  // pointer, is kept as it is until the first use, if the name is a literal: a kernel that is never used then allocates
  // nothing.
  template <std::convertible_to<Maker> F>
  GenericKernel(const KernelName& name, F&& maker) {
    if constexpr (internal::kFitsRecipe<std::decay_t<F>>) {
      if (name.literal() != nullptr) {
        recipe_ = internal::Recipe::Of(name.literal(), std::decay_t<F>(maker), [](const char*, const void* kept) {
          return Maker(*static_cast<const std::decay_t<F>*>(kept));
        });
        return;
      }
    }
    Adopt(name.ToString(), Maker(std::forward<F>(maker)));
  }

  explicit GenericKernel(const internal::Recipe& recipe) : recipe_(recipe) {}  // For front ends.

  GenericKernel(const GenericKernel& other);
  GenericKernel(GenericKernel&& other) noexcept
      : used_(other.used_.load(std::memory_order_relaxed)), recipe_(other.recipe_) {
    other.used_.store(&unused_, std::memory_order_relaxed);
    other.recipe_.make_maker = nullptr;
  }
  GenericKernel& operator=(GenericKernel other) noexcept;
  ~GenericKernel() {
    if (used_.load(std::memory_order_relaxed) != &unused_) Disown();
  }

  // Queues the specialisation for these arguments on `stream`. Errors as Kernel::Launch's, and the maker's. It costs
  // little more than a typed launch (than a dynamic one, where an argument's type is known at run time only, or arrays
  // are of both layouts): no allocation, no lock. The specialisation is looked up by the arguments' types, at the same
  // cost however many there are, and whichever the last call was for.
  template <internal::Packable... Args>
  [[gnu::always_inline]] absl::Status operator()(const Stream& stream, const LaunchConfig& config,
                                                 const Args&... args) const;
  absl::Status Launch(const Stream& stream, const LaunchConfig& config, absl::Span<const Arg> args) const;
  absl::Status Launch(const Stream& stream, const LaunchConfig& config, std::initializer_list<Arg> args) const {
    return Launch(stream, config, absl::MakeConstSpan(args.begin(), args.size()));
  }

  // The specialisation for a device and arguments of these kinds, made if it is not there: to prepare it ahead of a
  // launch, to bind it, or to look at it.
  absl::StatusOr<Kernel> For(const Device& device, absl::Span<const Arg> args) const;
  absl::StatusOr<Kernel> For(const Device& device, std::initializer_list<Arg> args) const {
    return For(device, absl::MakeConstSpan(args.begin(), args.size()));
  }

  // Makes the specialisations for such arguments ahead of launches, on as many threads as there are cores, and those
  // that are there stay. Of each parameter its kind, dtype, rank and layout count, and for a struct size and alignment;
  // 32-bit indices are meant where all arrays of a signature say so; alignment that is not said may be either way, and
  // kernels for both are made. All are tried; the error of the first that failed,
  // which launches for such arguments will repeat.
  absl::Status Precompile(const Device& device, absl::Span<const Signature> signatures) const;
  // Forgets all specialisations, failures too, so that they are made anew. Demands quiescence: no call of any copy may
  // be running. Kernels that were given out (For, variants()) stay good.
  void Clear() const;

  const std::string& name() const { return state().name; }
  // Every kernel made so far, in no particular order.
  std::vector<Kernel> variants() const;
  DispatchCounters counters() const { return state().cache.counters(); }

 private:
  // One specialisation and what an argument must be to get it: exactly what it was made for, in one compare.
  struct Variant {
    struct Param {
      FactsDemand demand;
      uint32_t offset = 0;  // In the launch buffer.
    };
    explicit Variant(Kernel k) : kernel(std::move(k)) {}
    const DeviceState* device = nullptr;
    std::vector<uint64_t> type_words;  // Of the arguments, as internal::TypeWords makes them.
    std::vector<Param> params;
    internal::PlainDemand plain;
    Facts forbidden = 0;  // What the arrays must not all have: that of which it was made without, as kIndex32.
    Kernel kernel;
  };
  // Specialisations by the calls that they served: by the types of the arguments, and what all arrays have of what
  // chooses one. For look-ups without a lock. Slots are filled and never emptied; an eighth of them at most, so that
  // most look-ups end at the first, and all at an empty one.
  struct TypeTable {
    constexpr TypeTable() : mask(0), slots(&none) {}
    explicit TypeTable(size_t capacity)
        : owned(new std::atomic<const Variant*>[capacity]()),
          hashes(new uint64_t[capacity]),
          mask(capacity - 1),
          slots(owned.get()) {}

    std::atomic<const Variant*> none{nullptr};
    const std::unique_ptr<std::atomic<const Variant*>[]> owned;
    const std::unique_ptr<uint64_t[]> hashes;  // Of the filled slots' calls, for who makes a larger table.
    const size_t mask;                         // The capacity is a power of two.
    std::atomic<const Variant*>* const slots;
  };
  // What launches look at.
  struct Launched {
    std::atomic<const TypeTable*> by_types{&none_};
  };
  // What copies share.
  struct State : Launched {
    State(std::string n, Maker m) : name(std::move(n)), maker(std::move(m)) {}
    const std::string name;
    const Maker maker;
    std::atomic<size_t> owners{1};
    SpecializationCache<Variant> cache;
    std::mutex mutex;              // Guards what follows.
    std::vector<Kernel> variants;  // For variants().
    size_t launched = 0;           // In the type table, which is the last of these; readers may still be in the others.
    std::vector<std::unique_ptr<const TypeTable>> tables;
    std::vector<Device> devices;  // Their ids stand in keys, failed ones too, and so must not be used again.
  };

  State& state() const {
    Launched* const used = used_.load(std::memory_order_acquire);
    return used == &unused_ ? MakeState() : static_cast<State&>(*used);
  }
  State& MakeState() const;
  void Adopt(std::string name, Maker maker);
  void Disown();
  absl::StatusOr<const Variant*> Find(const Device& device, absl::Span<const Arg> args) const;
  absl::StatusOr<const Variant*> MakeOnce(const Device& device, absl::Span<const uint64_t> key,
                                          const Signature& signature, Facts form) const;
  absl::StatusOr<Variant> Make(const Device& device, const Signature& signature, Facts form) const;
  // Whether a specialisation is for a call's device and the types of its arguments.
  template <class... Args>
  [[gnu::always_inline]] static bool IsOfTypes(const Variant* variant, const Stream& stream, const Args&... args);
  // Whether the arguments, which are of its types, meet what it asks of each.
  template <class... Args>
  [[gnu::always_inline]] static bool Fits(const Variant& variant, const Args&... args);
  // Where the search for a specialisation begins, and mostly ends.
  template <size_t kCount>
  [[gnu::always_inline]] const Variant* FirstOf(const std::array<uint64_t, kCount>& words, Facts all) const {
    const TypeTable& table = *used_.load(std::memory_order_acquire)->by_types.load(std::memory_order_acquire);
    return table.slots[HashCall(words, all) & table.mask].load(std::memory_order_acquire);
  }
  // The one for plain arguments, by the words of their types; null if none is there that says it is.
  template <size_t kCount>
  [[gnu::always_inline]] const Variant* LookUp(const DeviceState* device, const std::array<uint64_t, kCount>& words,
                                               const internal::PlainFacts& given) const {
    return LookUpIn(used_.load(std::memory_order_acquire)->by_types.load(std::memory_order_acquire), device, words,
                    HashCall(words, given.all), given.all, given.is_const);
  }
  template <class Words>
  [[gnu::noinline]] static const Variant* LookUpIn(const TypeTable* table, const DeviceState* device, Words words,
                                                   uint64_t hash, Facts all, uint64_t is_const) {
    for (;; ++hash) {
      const Variant* const variant = table->slots[hash & table->mask].load(std::memory_order_acquire);
      if (variant == nullptr) return nullptr;
      if (variant->device == device && variant->plain.IsMetBy({all, is_const}) &&
          internal::SameTypes(variant->type_words.data(), words)) {
        return variant;
      }
    }
  }
  // With the specialisation that is looked up. Out of line: two ways to look at the same words would spill them.
  template <class... Args>
  [[gnu::noinline]] absl::Status LaunchOtherwise(const Stream& stream, const LaunchConfig& config,
                                                 const Args&... args) const;
  template <class... Args>
  [[gnu::noinline, gnu::cold]] absl::Status LaunchAsList(const Stream& stream, const LaunchConfig& config,
                                                         const Args&... args) const;
  // The words are those of TypeWords: few, and differing in a few bits. Of types that C++ knows they give a constant,
  // which is why there is no loop: compilers keep one for many words. `all` is what all arrays have; if there are none,
  // everything.
  template <size_t kCount>
  [[gnu::always_inline]] static uint64_t HashCall(const std::array<uint64_t, kCount>& words, Facts all) {
    uint64_t hash = 0;
    [&]<size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
      ((hash = HashOn(hash, words[I])), ...);
    }
    (std::make_index_sequence<kCount>());
    return HashEnd(hash, all);
  }
  static uint64_t HashCall(const std::vector<uint64_t>& words, Facts all) {
    uint64_t hash = 0;
    for (const uint64_t word : words) hash = HashOn(hash, word);
    return HashEnd(hash, all);
  }
  [[gnu::always_inline]] static uint64_t HashOn(uint64_t hash, uint64_t word) {
    return (hash ^ word) * 0x9e3779b97f4a7c15;  // 2^64 by the golden ratio.
  }
  // The five facts that choose a specialisation become the lowest bits.
  [[gnu::always_inline]] static uint64_t HashEnd(uint64_t hash, Facts all) {
    constexpr Facts kLow = facts::kContiguous | facts::kIndex32;
    constexpr Facts kHigh = facts::kVector | facts::kVectorRows | facts::kStrided;
    static_assert(kLow >> 12 == 3 && kHigh >> 24 == 28);
    const Facts form = all & (kLow | kHigh);
    return (hash >> 32) + (form >> 12) + (form >> 24);
  }
  template <class... Args>
  [[gnu::always_inline]] static Facts FactsOfAll(const Args&... args) {
    Facts all = ~Facts{0};
    [[maybe_unused]] const auto look_at = [&](const auto& arg) {
      using Source = internal::Packer<std::decay_t<decltype(arg)>>;
      if constexpr (Source::kHasFacts) all &= Source::FactsOf(arg, 0);
    };
    (look_at(args), ...);
    return all;
  }
  // In the type table, for calls with such arguments.
  void Remember(const Variant* variant, Facts all) const;

  // Of kernels without a State, so that a launch has nothing more to look at.
  static const TypeTable none_;
  static Launched unused_;

  mutable std::atomic<Launched*> used_{&unused_};
  internal::Recipe recipe_;  // What a State will be made of.
};

template <internal::Packable... Args>
inline absl::Status GenericKernel::operator()(const Stream& stream, const LaunchConfig& config,
                                              const Args&... args) const {
  if constexpr ((internal::kOwns<std::decay_t<Args>> || ...)) {
    if (internal::UsedElsewhere(stream, args...)) [[unlikely]] {
      const auto launch = [&](const auto&... views) { return (*this)(stream, config, views...); };
      return internal::LaunchNotingUses(stream, launch, args...);
    }
  }
  // As Kernel's call operator, with the demands of a specialisation for such types. Entries stay until the State goes.
  if constexpr (internal::kPlainCall<std::decay_t<Args>...>) {
    const internal::PlainFacts given = internal::PlainFacts::Of(args...);
    const Variant* variant = FirstOf(internal::TypeWords(args...), given.all);
    if (!IsOfTypes(variant, stream, args...) || !variant->plain.IsMetBy(given)) [[unlikely]] {
      variant = LookUp(stream.device().state().get(), internal::TypeWords(args...), given);
      if (variant == nullptr) [[unlikely]]
        return LaunchOtherwise(stream, internal::CopyFields(config), args...);
    }
    alignas(16) std::byte buffer[internal::kPackedBytes<std::decay_t<Args>...>];
    constexpr bool kHasArrays = (internal::PlainArgument<std::decay_t<Args>>::kIsArray || ...);
    if (kHasArrays && variant->plain.layout == Layout::kContiguous) {
      internal::StorePlain<Layout::kContiguous>(buffer, args...);
    } else {
      internal::StorePlain<Layout::kStrided>(buffer, args...);
    }
    return internal::Submit(variant->kernel, stream, config, sizeof...(Args) == 0 ? nullptr : buffer);
  } else {
    const Variant* const variant = FirstOf(internal::TypeWords(args...), FactsOfAll(args...));
    if (!IsOfTypes(variant, stream, args...) || !Fits(*variant, args...)) [[unlikely]]
      return LaunchOtherwise(stream, internal::CopyFields(config), args...);
    return internal::SubmitCall(variant->kernel, variant->params.data(), stream, config, args...);
  }
}

template <class... Args>
inline bool GenericKernel::IsOfTypes(const Variant* variant, const Stream& stream, const Args&... args) {
  return __builtin_expect(variant != nullptr && variant->device == stream.device().state().get(), true) &&
         internal::SameTypes(variant->type_words.data(), internal::TypeWords(args...));
}

template <class... Args>
inline bool GenericKernel::Fits(const Variant& variant, const Args&... args) {
  [[maybe_unused]] const Variant::Param* param = variant.params.data();
  Facts misfit = 0;
  [[maybe_unused]] const auto look_at = [&](const auto& arg) {
    misfit |= internal::Packer<std::decay_t<decltype(arg)>>::Misfit((param++)->demand, arg);
  };
  (look_at(args), ...);
  if constexpr ((internal::Packer<std::decay_t<Args>>::kHasFacts || ...)) {
    misfit |= FactsOfAll(args...) & variant.forbidden;
  }
  return misfit == 0;
}

template <class... Args>
absl::Status GenericKernel::LaunchOtherwise(const Stream& stream, const LaunchConfig& config,
                                            const Args&... args) const {
  const TypeTable* const table = used_.load(std::memory_order_acquire)->by_types.load(std::memory_order_acquire);
  const auto words = internal::TypeWords(args...);
  for (uint64_t at = HashCall(words, FactsOfAll(args...));; ++at) {
    const Variant* const variant = table->slots[at & table->mask].load(std::memory_order_acquire);
    if (variant == nullptr) return LaunchAsList(stream, config, args...);
    if (!IsOfTypes(variant, stream, args...)) continue;
    if (!Fits(*variant, args...)) continue;
    return internal::SubmitCall(variant->kernel, variant->params.data(), stream, config, args...);
  }
}

template <class... Args>
absl::Status GenericKernel::LaunchAsList(const Stream& stream, const LaunchConfig& config, const Args&... args) const {
  const DeviceState* const device =
      stream.device().state().get();  // Null if the stream was moved from; Launch says so.
  const std::tuple<internal::AsArg<std::decay_t<Args>>...> list(
      internal::AsArgInput<std::decay_t<Args>>{args, device == nullptr ? uint16_t{0} : device->id}...);
  return std::apply(
      [&](const auto&... each) { return Launch(stream, config, std::initializer_list<Arg>{each.arg...}); }, list);
}

}  // namespace slipway

#endif  // SLIPWAY_GENERIC_KERNEL_H_
