#include "examples/demo/kernels.h"

#include "driver/status_macros.h"
#include "slipway/embedded.h"

namespace slipway::demo {

absl::StatusOr<Kernel> MakeSaxpy(const Device& device) {
  const auto saxpy =
      MakeKernel("saxpy", {"y", "x", "a"}, [](ArrayVar<float, 1> y, ArrayVar<const float, 1> x, Var<float> a) {
        For(GridStride(y.size()), [&](Var<int64_t> i) { y[i] = a * x[i] + y[i]; });
      });
  SLIPWAY_ASSIGN_OR_RETURN(const auto typed, saxpy.On(device));
  return typed.kernel();
}

absl::StatusOr<Kernel> MakePriceByCut(const Device& device) {
  const auto price_by_cut = MakeKernel("price_by_cut", {"total", "count", "price", "cut"},
                                       [](ArrayVar<int64_t, 1> total, ArrayVar<int64_t, 1> count,
                                          ArrayVar<const int32_t, 1> price, ArrayVar<const int8_t, 1> cut) {
                                         For(GridStride(price.size()), [&](Var<int64_t> i) {
                                           AtomicAdd(total[cut[i]], price[i]);
                                           AtomicAdd(count[cut[i]], 1);
                                         });
                                       });
  SLIPWAY_ASSIGN_OR_RETURN(const auto typed, price_by_cut.On(device));
  return typed.kernel();
}

}  // namespace slipway::demo
