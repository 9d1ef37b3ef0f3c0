// What an elementwise call remembers: how arguments of the same types, shapes and strides were launched. Used by the
// launch path of elementwise.h; applications do not need it.
//
// A call whose plan is known computes nothing from shapes. It stores its arguments into a launch buffer, makes sure by
// one unsigned compare an array that the output is clear of the inputs, and compares shapes and strides with the
// plan's. Everything else (other shapes, an output over its input, broadcasting, several outputs, default streams,
// hooks) takes the road through a list of Args, which has the same plans; see jit/ops/elementwise_plan.h.
#ifndef SLIPWAY_ELEMENTWISE_PLAN_H_
#define SLIPWAY_ELEMENTWISE_PLAN_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "absl/status/status.h"
#include "slipway/array.h"
#include "slipway/dtype.h"
#include "slipway/facts.h"
#include "slipway/kernel.h"
#include "slipway/packing.h"
#include "slipway/stream.h"
#include "slipway/submit.h"

namespace slipway::internal {

// Two words that are compared and copied at once, wherever they stand, and how they are kept.
struct alignas(16) StoredPair {
  uint64_t words[2] = {};
};
#ifdef __SSE2__
// Of operators on vectors gcc makes a tree of its own, for which all that is compared waits in registers; these
// intrinsics it leaves as they are written. They are those of floats, which no bit operation looks at.
using WordPair = __m128;
inline WordPair LoadPair(const void* from) { return _mm_loadu_ps(static_cast<const float*>(from)); }
inline void StorePair(void* to, WordPair pair) { _mm_storeu_ps(static_cast<float*>(to), pair); }
inline WordPair AddDifference(WordPair differ, WordPair pair, const StoredPair& wanted) {
  return _mm_or_ps(differ, _mm_xor_ps(pair, _mm_load_ps(reinterpret_cast<const float*>(&wanted))));
}
// 0 if and only if both words are: each 32 bits saturate to 16, which leaves nothing 0 that was not.
inline uint64_t AnyBit(WordPair pair) {
  const __m128i words = _mm_castps_si128(pair);
  return static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_packs_epi32(words, words)));
}
#else
using WordPair = StoredPair;
inline WordPair LoadPair(const void* from) {
  WordPair pair;
  std::memcpy(&pair, from, sizeof(pair));
  return pair;
}
inline void StorePair(void* to, WordPair pair) { std::memcpy(to, &pair, sizeof(pair)); }
inline WordPair AddDifference(WordPair differ, WordPair pair, const StoredPair& wanted) {
  for (int i : {0, 1}) differ.words[i] |= pair.words[i] ^ wanted.words[i];
  return differ;
}
inline uint64_t AnyBit(WordPair pair) { return pair.words[0] | pair.words[1]; }
#endif

// The code of a call: the types of its arguments, eight in a word as digits of a number, the first lowest. A digit is
// never 0, so that a call with fewer arguments has another code, and words but the last say that there are more.
inline constexpr int kMaxCodedArgs = 40, kCodesInWord = 8;
inline constexpr uint64_t kCodeRadix = 1 + kNumDTypes * (kMaxRank + 2);
inline constexpr uint64_t kMoreCode = uint64_t{1} << 62;
constexpr uint64_t ElementwiseCode(Facts word) {
  const int form = word & facts::kScalar ? kMaxRank + 1 : facts::RankOf(word);
  return 1 + static_cast<uint64_t>(facts::DTypeOf(word)) + uint64_t{kNumDTypes} * static_cast<uint64_t>(form);
}
template <size_t kWords>
constexpr void AddCode(std::array<uint64_t, kWords>& code, int at, uint64_t digit) {
  for (int i = 0; i < at % kCodesInWord; ++i) digit *= kCodeRadix;
  code[at / kCodesInWord] += digit;
  if (at != 0 && at % kCodesInWord == 0) code[at / kCodesInWord - 1] |= kMoreCode;
}
// Set in the first word of plans of PlanForm::kLinear.
inline constexpr uint64_t kLinearCode = uint64_t{1} << 63;

// How arguments get into the launch buffer.
enum class PlanForm : uint8_t {
  kDirect,   // Every array as its view begins: {data, shape, strides}.
  kLinear,   // Every array as {data, number of elements}: all are contiguous and of one shape.
  kGeneral,  // Anything else.
};

// The part of a plan that calls with arguments of known types look at. Never changed after others can see it.
struct CodedPlan {
  // Of the call's arguments and the form; all 0 is no call's.
  std::array<uint64_t, kMaxCodedArgs / kCodesInWord> code = {};
  const StoredPair* geometry = nullptr;  // The words {shape, strides} of every array, in order.
  Facts facts = 0;                       // What every array has: it is valid, and of the device.
  // Whether an array at address a is clear of the output at address o: a - (o + clear_from) >= clear_span, unsigned.
  // Where that does not hold, it is looked at more closely.
  uint64_t clear_from = 0;
  uint64_t clear_span = 0;
  uint64_t same = 0;  // Bit i: argument i, at the output's address, is the output element by element.
  uint64_t elements = 0;
  uint32_t grid = 0;
  uint32_t block = 0;
  // The numbers behind the arguments: the extents of the loop.
  uint32_t tail_offset = 0;
  StoredPair tail[4];
  const DeviceState* device = nullptr;
  std::optional<Kernel> kernel;  // None only where there is no plan.
};

// The plans that were used last, by the shape of the output. Threads may read and replace them at any time; a plan
// lives as long as this does.
struct PlanSlots {
  static constexpr int kBits = 8;
  static constexpr size_t kNoSlot = SIZE_MAX;
  std::atomic<const CodedPlan*> plans[1 << kBits];  // Never null.

  // Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4): neighbouring sizes come far apart.
  static constexpr size_t SlotOf(int rank, const int64_t* shape) {
    uint64_t hash = rank == 0 ? 0 : static_cast<uint64_t>(shape[0]);
    for (int d = 1; d < rank; ++d) hash = std::rotl(hash, 9) ^ static_cast<uint64_t>(shape[d]);
    return hash * 0x9e3779b97f4a7c15 >> (64 - kBits);
  }
};

// The launch of a plan whose stream and arguments were looked at.
[[gnu::always_inline]] inline absl::Status CallPlanned(const CodedPlan& plan, const Stream& stream, void* buffer) {
  const CUresult result = CallDriver(*plan.kernel, stream, {plan.grid, 1, 1}, {plan.block, 1, 1}, 0, buffer);
  if (result != CUDA_SUCCESS) [[unlikely]]
    return LaunchFailed(*plan.kernel, result);
  return absl::OkStatus();
}

// One argument of known type.
template <class A>
struct PlannedArg {
  static constexpr bool kPossible = false, kIsOutput = false;
};
template <Element T>
struct PlannedArg<T> {
  static constexpr bool kPossible = true, kIsArray = false, kIsOutput = false;
  static constexpr int kRank = 0;
  static constexpr uint64_t kCode = ElementwiseCode(facts::OfScalar(kDTypeOf<T>));
  static constexpr size_t kAlign = alignof(T), kDirectBytes = sizeof(T), kLinearBytes = sizeof(T);
};
template <class T, int N, Layout L>
struct PlannedArg<ArrayView<T, N, L>> {
  static constexpr bool kPossible = true, kIsArray = true, kIsOutput = !std::is_const_v<T>;
  static constexpr int kRank = N;
  static constexpr uint64_t kCode = ElementwiseCode(static_cast<Facts>(kDTypeOf<T>) | Facts{N} << facts::kRankShift);
  static constexpr size_t kAlign = 8, kDirectBytes = 8 * (1 + 2 * N), kLinearBytes = 16;
  static const ArrayView<T, N, L>& View(const ArrayView<T, N, L>& view) { return view; }
};
template <class T, int N>
struct PlannedArg<Array<T, N>> : PlannedArg<ArrayView<T, N>> {
  static const ArrayView<T, N>& View(const Array<T, N>& array) { return array.view(); }
};

template <class... Args>
inline constexpr bool kStartsWithOutput = false;
template <class Output, class... Inputs>
inline constexpr bool kStartsWithOutput<Output, Inputs...> = PlannedArg<Output>::kIsOutput;
template <class... Args>
concept PlannedCall = (sizeof...(Args) <= kMaxCodedArgs) &&
                      (PlannedArg<Args>::kPossible && ...) && kStartsWithOutput<Args...>;

// Packs the arguments of one call while it compares them with a plan.
//
// Of an array, the types in the code, shape and strides settle all that its facts say, but for the device and whether
// its address is a good one, which are bits that the facts of all arrays have to have: one AND an array. Constness
// takes no part: the output is writable by its type, and inputs are only read.
template <class... Args>
class PlannedPacker {
 public:
  static constexpr int kCount = sizeof...(Args);
  static constexpr std::array<uint64_t, (kCount - 1) / kCodesInWord + 1> kCode = [] {
    std::array<uint64_t, (kCount - 1) / kCodesInWord + 1> code{};
    int i = 0;
    (AddCode(code, i++, PlannedArg<Args>::kCode), ...);
    return code;
  }();
  // Whether the code of a plan, but for its first word, is that of the call.
  [[gnu::always_inline]] static bool RestOfCodeFits(const CodedPlan& plan) {
    bool fits = true;
    for (size_t w = 1; w < kCode.size(); ++w) fits = fits && plan.code[w] == kCode[w];
    return fits;
  }
  static constexpr int kMostRank = std::max({PlannedArg<Args>::kRank...});

  // Where each parameter stands, by the rules of the PTX ABI; the last entry is the end.
  static constexpr std::array<size_t, kCount + 1> Offsets(bool linear) {
    constexpr size_t kAlign[] = {PlannedArg<Args>::kAlign...};
    constexpr size_t kDirect[] = {PlannedArg<Args>::kDirectBytes...}, kLinear[] = {PlannedArg<Args>::kLinearBytes...};
    std::array<size_t, kCount + 1> offsets{};
    size_t end = 0;
    for (int i = 0; i < kCount; ++i) {
      offsets[i] = (end + kAlign[i] - 1) / kAlign[i] * kAlign[i];
      end = offsets[i] + (linear ? kLinear[i] : kDirect[i]);
    }
    offsets[kCount] = end;
    return offsets;
  }
  static constexpr std::array<size_t, kCount + 1> kDirect = Offsets(false), kLinear = Offsets(true);
  static constexpr size_t kTailPairs = kMostRank < 2 ? 0 : (kMostRank + 1) / 2;
  // The extents behind the arguments, and what scalars, stored as words, reach beyond.
  static constexpr size_t kBytes = std::max(kDirect[kCount], kLinear[kCount]) + 8 + 16 * kTailPairs + 8;

  // Stores the arguments as the form has them. Whether their geometry is the plan's, and every array is clear of the
  // output, which is the first, or is the output itself, element by element.
  template <PlanForm kForm>
  [[gnu::always_inline]] static bool Pack(const CodedPlan& plan, std::byte* buffer, const Args&... args) {
    return [&]<size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
      constexpr const auto& kOffsets = kForm == PlanForm::kLinear ? kLinear : kDirect;
      // What branches comes first: gcc would put off behind a branch all comparing that is not looked at before it.
      uint64_t output = 0;
      if (!(PackValue<I>(plan, buffer + kOffsets[I], output, args) && ...)) return false;
      Comparison compared{.geometry = plan.geometry};
      (PackGeometry<kForm>(plan, buffer + kOffsets[I], compared, args), ...);
      const Facts facts = (plan.facts & ... & FactsOf(args));
      uint64_t differ = facts ^ plan.facts;
      if constexpr (kMostRank != 0) differ |= AnyBit(compared.differ);
      return differ == 0;
    }
    (std::index_sequence_for<Args...>());
  }

 private:
  struct Comparison {
    const StoredPair* geometry;
    WordPair differ = {};  // Bits in which shapes and strides differ.
  };

  // Stores a number, which may reach into the next parameter, or the address of an array. Whether that is clear of the
  // output, or the output itself. `output` becomes the address of the first array, plus plan.clear_from.
  template <int I, class A>
  [[gnu::always_inline]] static bool PackValue(const CodedPlan& plan, std::byte* to, uint64_t& output, const A& arg) {
    if constexpr (!PlannedArg<A>::kIsArray) {
      Packer<A>::Store(to, arg);
    } else {
      const uint64_t address = AddressOf(arg);
      std::memcpy(to, &address, 8);
      if constexpr (I == 0) {
        output = address + plan.clear_from;
      } else if (address - output < plan.clear_span) [[unlikely]] {
        // The address is read again, as the fence has it, so that the difference may take its register.
        std::atomic_signal_fence(std::memory_order_seq_cst);
        return AddressOf(arg) + plan.clear_from == output && (plan.same >> I & 1) != 0;
      }
    }
    return true;
  }

  // Stores what comes behind the address of an array, and compares it with the plan.
  template <PlanForm kForm, class A>
  [[gnu::always_inline]] static void PackGeometry(const CodedPlan& plan, std::byte* to, Comparison& compared,
                                                  const A& arg) {
    if constexpr (PlannedArg<A>::kIsArray) {
      // A view is {data, shape, strides, facts}; see array.h.
      const auto* const from = reinterpret_cast<const std::byte*>(&PlannedArg<A>::View(arg));
      [&]<size_t... P>(std::index_sequence<P...>) __attribute__((always_inline)) {
        (PackPair<kForm>(to + 8 + 16 * P, from + 8 + 16 * P, compared), ...);
      }
      (std::make_index_sequence<PlannedArg<A>::kRank>());
      if constexpr (kForm == PlanForm::kLinear) std::memcpy(to + 8, &plan.elements, 8);
    }
  }
  template <PlanForm kForm>
  [[gnu::always_inline]] static void PackPair(std::byte* to, const std::byte* from, Comparison& compared) {
    const WordPair words = LoadPair(from);
    if constexpr (kForm == PlanForm::kDirect) StorePair(to, words);
    compared.differ = AddDifference(compared.differ, words, *compared.geometry++);
  }

  template <class A>
  [[gnu::always_inline]] static uint64_t AddressOf(const A& array) {
    return reinterpret_cast<uint64_t>(PlannedArg<A>::View(array).data());
  }
  template <class A>
  [[gnu::always_inline]] static Facts FactsOf(const A& arg) {
    if constexpr (PlannedArg<A>::kIsArray) {
      return PlannedArg<A>::View(arg).facts();
    } else {
      return ~Facts{0};
    }
  }
};

}  // namespace slipway::internal

#endif  // SLIPWAY_ELEMENTWISE_PLAN_H_
