#include "benchmarks/launch_arguments.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace slipway::launch_cases {
namespace {

// Elements between arrays, and of all arrays of a set. Rank 8 with extents of 4 is the largest array.
constexpr int64_t kGap = 64;
constexpr int64_t kSetElements = 1 << 19;

// Hands out one set's memory, array after array.
struct Allocator {
  const Device& device;
  float* next;
  int set;  // 0 where shapes do not change.

  template <int N>
  Tensor<N> Make() {
    constexpr int64_t kExtent[] = {100, 20, 10, 3, 3, 3, 3, 3};
    // Every set's shape differs from its neighbours', small where the rank makes elements many.
    const int64_t extent = kExtent[N - 1] + (N <= 3 ? set : set % 2);
    Tensor<N> tensor{next, {}, {}};
    int64_t stride = 2;  // Never contiguous, and no two dimensions can be walked as one.
    for (int d = N - 1; d >= 0; --d) {
      tensor.shape[d] = extent;
      tensor.strides[d] = stride;
      stride = stride * extent + 1;
    }
    next += (stride + kGap) / kGap * kGap;
    return tensor;
  }

  template <int N>
  ArrayView<float, N> View(const Tensor<N>& tensor) const {
    return {device, tensor.data, std::to_array(tensor.shape), std::to_array(tensor.strides)};
  }

  template <int N, size_t... I>
  ArrayArguments<N, sizeof...(I)> MakeArrays(std::index_sequence<I...>) {
    const std::array<Tensor<N>, sizeof...(I)> tensors = {((void)I, Make<N>())...};
    return {tensors, {View<N>(tensors[I])...}};
  }
};

ArgumentSet MakeSet(Allocator allocator, int k) {
  std::array<ScalarArguments, 4> scalars;
  for (int s = 0; s < 4; ++s) {
    const int value = 4 * k + s;
    scalars[s] = {
        .i = value, .f = 0.5F * static_cast<float>(value), .l = int64_t{1} << (value % 40), .d = 0.25 * value};
  }
  const ArrayView<float, 0> cell(allocator.device, allocator.next, {});
  allocator.next += kGap;
  const auto arrays = [&]<int N, int kCount>() { return allocator.MakeArrays<N>(std::make_index_sequence<kCount>()); };
  return {nullptr,
          100000 + 317 * allocator.set,
          scalars,
          cell,
          {arrays.operator()<1, 26>(), arrays.operator()<2, 3>(), arrays.operator()<3, 8>(), arrays.operator()<4, 1>(),
           arrays.operator()<5, 1>(), arrays.operator()<6, 1>(), arrays.operator()<7, 1>(), arrays.operator()<8, 1>()}};
}

}  // namespace

ArgumentRing ArgumentRing::Make(const Device& device, Shapes shapes) {
  ArgumentRing ring(DeviceMemory::Allocate(device, kSets * kSetElements * sizeof(float)).value());
  auto* const memory = reinterpret_cast<float*>(ring.memory_.address());
  for (int k = 0; k < kSets; ++k) {
    ring.sets_.push_back(MakeSet({device, memory + k * kSetElements, shapes == Shapes::kChanging ? k : 0}, k));
  }
  for (int k = 0; k < kSets; ++k) ring.sets_[k].next = &ring.sets_[(k + 1) % kSets];
  return ring;
}

}  // namespace slipway::launch_cases
