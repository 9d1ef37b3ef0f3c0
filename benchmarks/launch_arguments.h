// The arguments that the launch benchmarks pass: a ring of sets, each a different one, so that no packing can be
// hoisted out of a loop over it. They are made in another translation unit: the optimiser knows nothing about them.
#ifndef SLIPWAY_BENCHMARKS_LAUNCH_ARGUMENTS_H_
#define SLIPWAY_BENCHMARKS_LAUNCH_ARGUMENTS_H_

#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

#include "slipway/array.h"
#include "slipway/device.h"
#include "slipway/memory.h"

namespace slipway::launch_cases {

// What an application holds, and what its kernels take: the struct that Slipway's strided views begin with.
template <int N>
struct Tensor {
  float* data;
  int64_t shape[N];
  int64_t strides[N];
};

// `kCount` arrays of rank N, as tensors and as views of the same memory.
template <int N, int kCount>
struct ArrayArguments {
  std::array<Tensor<N>, kCount> tensors;
  std::array<ArrayView<float, N>, kCount> views;
};

struct ScalarArguments {
  int32_t i;
  float f;
  int64_t l;
  double d;
};

// The arguments of one launch: as many of each kind as the cases of launch_cases.h want.
struct ArgumentSet {
  const ArgumentSet* next;  // The next launch's; the last set's is the first.
  int64_t size;             // The launch's problem size.
  std::array<ScalarArguments, 4> scalars;
  ArrayView<float, 0> cell;  // The output of formulas over numbers alone.
  std::tuple<ArrayArguments<1, 26>, ArrayArguments<2, 3>, ArrayArguments<3, 8>, ArrayArguments<4, 1>,
             ArrayArguments<5, 1>, ArrayArguments<6, 1>, ArrayArguments<7, 1>, ArrayArguments<8, 1>>
      arrays;  // By rank, from 1. All strided, none contiguous, none overlapping another.
};

// A ring of sets over device memory of its own.
class ArgumentRing {
 public:
  static constexpr int kSets = 16;
  // kChanging: shapes, strides and problem sizes differ from set to set, too. kSame: only addresses and scalars do.
  enum class Shapes { kChanging, kSame };
  static ArgumentRing Make(const Device& device, Shapes shapes);  // Ends the process if the device has no memory.

  const ArgumentSet* first() const { return sets_.data(); }
  const DeviceMemory& memory() const { return memory_; }  // All that the sets' arrays lie in.

 private:
  explicit ArgumentRing(DeviceMemory memory) : memory_(std::move(memory)) {}
  DeviceMemory memory_;
  std::vector<ArgumentSet> sets_;
};

}  // namespace slipway::launch_cases

#endif  // SLIPWAY_BENCHMARKS_LAUNCH_ARGUMENTS_H_
