// An application's own tensor type as an argument of every launch, without an intermediate object.
//
//   template <>
//   struct slipway::TensorTrait<MyTensor> {
//     static constexpr DType kDType = DType::kFloat32;      // or: static DType dtype(const MyTensor&);
//     static constexpr int kRank = 2;                       // or: static int rank(const MyTensor&);
//     static float* data(const MyTensor& t) { return t.data; }
//     static const int64_t* shape(const MyTensor& t) { return t.shape; }
//     static const int64_t* strides(const MyTensor& t) { return t.strides; }
//   };
//   kernel(stream, ForSize(n), my_tensor, 2.0f);
//
// data        the first element's device address. A pointer to const makes the tensor one that may not be written.
// shape       anything that [d] gives extents of
// strides     anything that [d] gives strides in elements of; a null pointer stands for row-major
// device_id   optional: the device whose memory it is (DeviceState::id). Without it the tensor is believed to be of the
//             kernel's device.
// facts       optional: the facts word (facts.h), for tensor types that keep one.
//
// Without `facts` a launch checks dtype, rank, null, alignment, device if it is told, and, where the kernel was
// specialised for them, contiguity and the range of 32-bit indices (which costs more, as they are found out anew). That
// no extent is negative, and that the elements of a written tensor are apart from each other, is believed.
#ifndef SLIPWAY_TENSOR_TRAIT_H_
#define SLIPWAY_TENSOR_TRAIT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "slipway/dtype.h"
#include "slipway/facts.h"
#include "slipway/signature.h"

namespace slipway {

template <class T>
struct TensorTrait {};

// Whether T has a TensorTrait, complete but for what is optional.
template <class T>
concept Tensor = requires(const T& t) {
  TensorTrait<T>::data(t);
  TensorTrait<T>::shape(t)[0];
  TensorTrait<T>::strides(t)[0];
}
&&(
    requires { TensorTrait<T>::kDType; } || requires(const T& t) { TensorTrait<T>::dtype(t); }) &&
    (
        requires { TensorTrait<T>::kRank; } || requires(const T& t) { TensorTrait<T>::rank(t); });

namespace internal {

// Reads a tensor through its trait.
template <Tensor T>
struct TensorAccess {
  using Trait = TensorTrait<T>;
  static constexpr bool kStaticDType = requires { Trait::kDType; };
  static constexpr bool kStaticRank = requires { Trait::kRank; };
  static constexpr bool kHasDevice = requires(const T& t) { Trait::device_id(t); };
  static constexpr bool kHasFacts = requires(const T& t) { Trait::facts(t); };
  static constexpr bool kReadOnly =
      std::is_const_v<std::remove_pointer_t<decltype(Trait::data(std::declval<const T&>()))>>;

  static constexpr DType DTypeOf(const T& t) {
    if constexpr (kStaticDType) {
      return Trait::kDType;
    } else {
      return Trait::dtype(t);
    }
  }
  static constexpr int RankOf(const T& t) {
    if constexpr (kStaticRank) {
      static_assert(Trait::kRank >= 0 && Trait::kRank <= kMaxRank, "Slipway's arrays have 0 to 8 dimensions");
      return Trait::kRank;
    } else {
      return Trait::rank(t);
    }
  }
  static constexpr int kMostRank = [] {
    if constexpr (kStaticRank) {
      return Trait::kRank;
    } else {
      return kMaxRank;
    }
  }();

  // {data, shape, strides}, the strided ABI struct: 1 + 2 * rank words of 8 bytes.
  [[gnu::always_inline]] static void Store(std::byte* to, const T& t) {
    const int rank = RankOf(t);
    const auto* const data = Trait::data(t);
    std::memcpy(to, &data, 8);
    const auto& shape = Trait::shape(t);
    const auto& strides = Trait::strides(t);
    if constexpr (kWordPointer<decltype(shape)> && kWordPointer<decltype(strides)>) {
      // Where shape and strides are members of a struct, the compiler knows whether they are neighbours.
      if (rank != 0 && __builtin_constant_p(strides == shape + rank) && strides == shape + rank) {
        std::memcpy(to + 8, shape, 16 * static_cast<size_t>(rank));
        return;
      }
    }
    CopyWords(to + 8, shape, rank);
    if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(strides)>>) {
      if (strides == nullptr) [[unlikely]] {
        int64_t stride = 1;
        for (int d = rank - 1; d >= 0; --d) {
          std::memcpy(to + 8 * (1 + rank + d), &stride, 8);
          if (shape[d] > 1 && __builtin_mul_overflow(stride, int64_t{shape[d]}, &stride)) stride = INT64_MAX;
        }
        return;
      }
    }
    CopyWords(to + 8 * (1 + rank), strides, rank);
  }
  template <class Extents>
  static constexpr bool kWordPointer =
      std::is_same_v<std::decay_t<Extents>, const int64_t*> || std::is_same_v<std::decay_t<Extents>, int64_t*>;
  template <class Extents>
  [[gnu::always_inline]] static void CopyWords(std::byte* to, const Extents& from, int count) {
    if constexpr (kWordPointer<Extents>) {
      if (count != 0) std::memcpy(to, from, 8 * static_cast<size_t>(count));  // Of nothing there may be no pointer.
    } else {
      for (int d = 0; d < count; ++d) {
        const int64_t value = from[d];
        std::memcpy(to + 8 * d, &value, 8);
      }
    }
  }

  // The exact facts. A tensor that does not name its device gets `device_id`. Ranks past kMaxRank fit no parameter.
  [[gnu::noinline]] static Facts FactsOf(const T& t, uint16_t device_id) {
    if constexpr (kHasFacts) {
      return Trait::facts(t);
    } else {
      const int rank = RankOf(t);
      if (rank < 0 || rank > kMaxRank) {
        const Facts shown = rank < 0 || rank > 15 ? 15 : rank;
        return shown << facts::kRankShift | static_cast<Facts>(DTypeOf(t));
      }
      int64_t words[1 + 2 * kMaxRank] = {};
      Store(reinterpret_cast<std::byte*>(words), t);
      if constexpr (kHasDevice) device_id = Trait::device_id(t);
      return ComputeFacts(DTypeOf(t), rank, words + 1, words + 1 + rank, reinterpret_cast<const void*>(words[0]),
                          kReadOnly, device_id);
    }
  }

  // Whether something about a tensor of the right dtype and rank asks for a look at its exact facts.
  [[gnu::always_inline]] static bool IsOdd(const T& t, const FactsDemand& demand) {
    if constexpr (kHasFacts) {
      return demand.Misfit(Trait::facts(t)) != 0;
    } else {
      if constexpr (kReadOnly) {
        if ((demand.mask & facts::kWritable) != 0) return true;
      }
      if constexpr (kHasDevice) {
        if (((facts::OfDevice(Trait::device_id(t)) ^ demand.want) & facts::kDeviceMask) != 0) return true;
      }
      const auto address = reinterpret_cast<uint64_t>(Trait::data(t));
      return address == 0 || (address & (AlignOf(DTypeOf(t)) - 1)) != 0;
    }
  }
};

}  // namespace internal
}  // namespace slipway

#endif  // SLIPWAY_TENSOR_TRAIT_H_
