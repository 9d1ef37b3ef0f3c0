#include "examples/demo/kernels.h"

#include "slipway/embedded.h"

namespace slipway::demo {

absl::StatusOr<CompiledKernel> CompileSaxpy(const Device& device) {
  return MakeKernel("saxpy",
                    [](ArrayVar<float, 1> y, ArrayVar<const float, 1> x, Var<float> a) {
                      For(GridStride(y.size()), [&](Var<int64_t> i) { y[i] = a * x[i] + y[i]; });
                    })
      .CompiledFor(device);
}

absl::StatusOr<CompiledKernel> CompilePriceByCut(const Device& device) {
  return MakeKernel("price_by_cut",
                    [](ArrayVar<int64_t, 1> total, ArrayVar<int64_t, 1> count, ArrayVar<const int32_t, 1> price,
                       ArrayVar<const int8_t, 1> cut) {
                      For(GridStride(price.size()), [&](Var<int64_t> i) {
                        AtomicAdd(total[cut[i]], Cast<int64_t>(price[i]));
                        AtomicAdd(count[cut[i]], 1);
                      });
                    })
      .CompiledFor(device);
}

}  // namespace slipway::demo
