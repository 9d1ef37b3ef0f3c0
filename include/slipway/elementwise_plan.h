// What an elementwise call remembers: how arguments of the same types, shapes and strides were launched. Used by the
// launch path of elementwise.h; applications do not need it.
//
// A call whose plan is known computes nothing from shapes. It compares the arguments' geometry with the plan's, stores
// them into a launch buffer as it goes, and makes sure by one unsigned compare an array that the output is clear of the
// inputs. Everything else (other shapes, an output over its input, broadcasting, several outputs, default streams,
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

#include "absl/status/status.h"
#include "slipway/array.h"
#include "slipway/dtype.h"
#include "slipway/facts.h"
#include "slipway/kernel.h"
#include "slipway/packing.h"
#include "slipway/stream.h"
#include "slipway/submit.h"

namespace slipway::internal {

// Two words that are compared and copied at once, wherever they stand, and how they are kept. Read and written through
// pointers to such types and not by memcpy, which makes gcc load them once for each use.
using WordPair __attribute__((vector_size(16), may_alias)) = uint64_t;
using UnalignedPair __attribute__((vector_size(16), may_alias, aligned(1))) = uint64_t;
struct alignas(16) StoredPair {
  uint64_t words[2] = {};
};

// The code of a call: five bits an argument, twelve in a word, never 0: of a number its dtype, of an array 16 and its
// rank.
inline constexpr int kMaxCodedArgs = 35, kCodesInWord = 12;
constexpr uint64_t ElementwiseCode(Facts word) {
  return word & facts::kScalar ? word & facts::kDTypeMask : 16 + static_cast<uint64_t>(facts::RankOf(word));
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
  // Of the call's arguments and the form, with a 0 behind the last; all 0 is no call's.
  uint64_t code[kMaxCodedArgs / kCodesInWord + 1] = {};
  // The words {data, shape, strides, facts} of every array, in order; data and the facts' alignment do not count.
  const StoredPair* geometry = nullptr;
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
  static constexpr bool kPossible = false, kIsArray = false;
};
template <Element T>
struct PlannedArg<T> {
  static constexpr bool kPossible = true, kIsArray = false;
  static constexpr int kRank = 0;
  static constexpr uint64_t kCode = static_cast<uint64_t>(kDTypeOf<T>);
  static constexpr size_t kAlign = alignof(T), kDirectBytes = sizeof(T), kLinearBytes = sizeof(T);
};
template <class T, int N, Layout L>
struct PlannedArg<ArrayView<T, N, L>> {
  static constexpr bool kPossible = true, kIsArray = true;
  static constexpr int kRank = N;
  static constexpr uint64_t kCode = 16 + N;
  static constexpr size_t kAlign = 8, kDirectBytes = 8 * (1 + 2 * N), kLinearBytes = 16;
  static const ArrayView<T, N, L>& View(const ArrayView<T, N, L>& view) { return view; }
};
template <class T, int N>
struct PlannedArg<Array<T, N>> : PlannedArg<ArrayView<T, N>> {
  static const ArrayView<T, N>& View(const Array<T, N>& array) { return array.view(); }
};

template <class... Args>
inline constexpr bool kStartsWithArray = false;
template <class Output, class... Inputs>
inline constexpr bool kStartsWithArray<Output, Inputs...> = PlannedArg<Output>::kIsArray;
template <class... Args>
concept PlannedCall = (sizeof...(Args) <= kMaxCodedArgs) &&
                      (PlannedArg<Args>::kPossible && ...) && kStartsWithArray<Args...>;

// Packs the arguments of one call while it compares them with a plan.
template <class... Args>
class PlannedPacker {
 public:
  static constexpr int kCount = sizeof...(Args);
  static constexpr std::array<uint64_t, kCount / kCodesInWord + 1> kCode = [] {
    std::array<uint64_t, kCount / kCodesInWord + 1> code{};
    int i = 0;
    ((code[i / kCodesInWord] |= PlannedArg<Args>::kCode << 5 * (i % kCodesInWord), ++i), ...);
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
  // The extents, and what copies of whole pairs reach beyond.
  static constexpr size_t kTailPairs = kMostRank < 2 ? 0 : (kMostRank + 1) / 2;
  static constexpr size_t kBytes = std::max(kDirect[kCount], kLinear[kCount]) + 8 + 16 * kTailPairs + 16;

  // Stores the arguments as the form has them. Whether their geometry is the plan's, and every array is clear of the
  // output, which is the first, or is the output itself, element by element.
  template <PlanForm kForm>
  [[gnu::always_inline]] static bool Pack(const CodedPlan& plan, std::byte* buffer, const Args&... args) {
    constexpr const auto& kOffsets = kForm == PlanForm::kLinear ? kLinear : kDirect;
    Comparison compared{plan.geometry};
    int i = 0;
    (PackOne<kForm>(plan, buffer + kOffsets[i++], compared, args), ...);
    const WordPair differ = (compared.first & WordPair{0, ~uint64_t{0}}) | compared.inner |
                            (compared.last & WordPair{~uint64_t{0}, kFacts}) | (compared.point & WordPair{0, kFacts});
    return (differ[0] | differ[1]) == 0 && Clear(plan, args...);
  }

 private:
  static constexpr Facts kFacts = ~facts::kAlignMask;

  // The bits that differ: in the first pairs of arrays, in the last, in those between, and where one is all there is.
  struct Comparison {
    const StoredPair* geometry;
    WordPair first = {}, inner = {}, last = {}, point = {};
  };

  template <PlanForm kForm, int kRank, int kPair>
  [[gnu::always_inline]] static void PackPair(std::byte* to, const std::byte* from, Comparison& compared) {
    const WordPair pair = *reinterpret_cast<const UnalignedPair*>(from);
    if constexpr (kForm == PlanForm::kDirect) *reinterpret_cast<UnalignedPair*>(to) = pair;
    (kRank == 0       ? compared.point
     : kPair == 0     ? compared.first
     : kPair == kRank ? compared.last
                      : compared.inner) |= pair ^ *reinterpret_cast<const WordPair*>(&compared.geometry[kPair]);
  }
  template <PlanForm kForm, class A>
  [[gnu::always_inline]] static void PackOne(const CodedPlan& plan, std::byte* to, Comparison& compared, const A& arg) {
    if constexpr (PlannedArg<A>::kIsArray) {
      constexpr int kRank = PlannedArg<A>::kRank;
      const auto& view = PlannedArg<A>::View(arg);
      // A view is {data, shape, strides, facts}; see array.h. What the last pair stores beyond the struct is
      // overwritten by the next parameter, or stands behind the last.
      const auto* const from = reinterpret_cast<const std::byte*>(&view);
      [&]<size_t... P>(std::index_sequence<P...>) __attribute__((always_inline)) {
        (PackPair<kForm, kRank, P>(to + 16 * P, from + 16 * P, compared), ...);
      }
      (std::make_index_sequence<kRank + 1>());
      compared.geometry += kRank + 1;
      if constexpr (kForm == PlanForm::kLinear) {
        const void* const data = view.data();
        std::memcpy(to, &data, 8);
        std::memcpy(to + 8, &plan.elements, 8);
      }
    } else {
      Packer<A>::Store(to, arg);
    }
  }

  [[gnu::always_inline]] static bool Clear(const CodedPlan& plan, const Args&... args) {
    uint64_t output = 0;
    int i = 0;
    const auto clear = [&](const auto& arg) __attribute__((always_inline)) {
      using Arg = PlannedArg<std::remove_cvref_t<decltype(arg)>>;
      const int at = i++;
      if constexpr (Arg::kIsArray) {
        const auto address = reinterpret_cast<uint64_t>(Arg::View(arg).data());
        if (at == 0) {
          output = address;
        } else if (address - (output + plan.clear_from) < plan.clear_span) [[unlikely]] {
          return address == output && (plan.same >> at & 1) != 0;
        }
      }
      return true;
    };
    return (clear(args) && ...);
  }
};

}  // namespace slipway::internal

#endif  // SLIPWAY_ELEMENTWISE_PLAN_H_
