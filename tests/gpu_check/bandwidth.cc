// Bytes a second: a copy, saxpy, and a sum, all over device memory.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "driver/status_macros.h"
#include "slipway/array.h"
#include "slipway/elementwise.h"
#include "slipway/embedded.h"
#include "slipway/memory.h"
#include "slipway/stream.h"
#include "tests/gpu_check/checks.h"

namespace slipway::gpu_check {
namespace {

constexpr int kRounds = 7, kRunsInARound = 10;

// The best round's bytes a second, in 1e9.
absl::StatusOr<double> Rate(const Stream& stream, double bytes, const std::function<absl::Status()>& run) {
  double best = 0;
  for (int round = 0; round <= kRounds; ++round) {  // The first compiles and warms up.
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kRunsInARound; ++i) SLIPWAY_RETURN_IF_ERROR(run());
    SLIPWAY_RETURN_IF_ERROR(stream.Synchronize());
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    if (round > 0) best = std::max(best, bytes * kRunsInARound / time.count() / 1e9);
  }
  return best;
}

absl::StatusOr<double> CopyRate(const Stream& stream, int64_t elements) {
  const size_t bytes = static_cast<size_t>(elements) * sizeof(float);
  SLIPWAY_ASSIGN_OR_RETURN(const DeviceMemory from, DeviceMemory::Allocate(stream.device(), bytes));
  SLIPWAY_ASSIGN_OR_RETURN(const DeviceMemory to, DeviceMemory::Allocate(stream.device(), bytes));
  const DriverApi& api = stream.device().api();
  return Rate(stream, 2.0 * static_cast<double>(bytes), [&] {
    return DriverStatus(api, api.MemcpyDtoDAsync(to.address(), from.address(), bytes, stream.handle()), "the copy");
  });
}

absl::StatusOr<double> SaxpyRate(const Stream& stream, const Array<float, 1>& x, const Array<float, 1>& y) {
  SLIPWAY_ASSIGN_OR_RETURN(const Elementwise saxpy, Elementwise::Parse("z = a * x + y"));
  SLIPWAY_ASSIGN_OR_RETURN(const auto z, (Array<float, 1>::Empty(stream.device(), x.shape())));
  SLIPWAY_ASSIGN_OR_RETURN(const double rate, Rate(stream, 3.0 * sizeof(float) * static_cast<double>(x.size()),
                                                   [&] { return saxpy.Into(stream, z, 2.0f, x, y); }));
  SLIPWAY_ASSIGN_OR_RETURN(const std::vector<float> values, AnyArray(z).ToVector<float>());
  const auto right = [](float value) { return value == 5; };  // 2 * 1 + 3.
  if (!std::all_of(values.begin(), values.end(), right)) return absl::DataLossError("saxpy computes what is wrong");
  return rate;
}

// Each thread adds up what its strides meet; then one block's threads add up theirs, and the host the rest. No atomics,
// so that the order of additions is the same in every run.
absl::StatusOr<double> SumRate(const Stream& stream, const Array<float, 1>& x) {
  const auto sum = MakeKernel("sum", [](ArrayVar<float, 1> partial, ArrayVar<const float, 1> from) {
    const Expr<int64_t> first = GlobalIndex();
    Var<float> total = 0.0f;
    For(Range(first, from.size(), partial.size()), [&](Var<int64_t> i) { total = total + from[i]; });
    If(first < partial.size(), [&] { partial[first] = total; });
  });
  constexpr int64_t kLast = 256;
  const int64_t threads =
      std::min<int64_t>(x.size(), int64_t{stream.device().properties().multiprocessors} *
                                      std::max(stream.device().properties().max_threads_per_multiprocessor, 256));
  SLIPWAY_ASSIGN_OR_RETURN(const auto partial, (Array<float, 1>::Empty(stream.device(), {threads})));
  SLIPWAY_ASSIGN_OR_RETURN(const auto last, (Array<float, 1>::Empty(stream.device(), {kLast})));
  SLIPWAY_ASSIGN_OR_RETURN(const double rate, Rate(stream, sizeof(float) * static_cast<double>(x.size()), [&] {
                             const absl::Status status = sum(stream, ForSize(threads), partial, x);
                             return status.ok() ? sum(stream, ForSize(kLast), last, partial) : status;
                           }));
  SLIPWAY_ASSIGN_OR_RETURN(const std::vector<float> values, AnyArray(last).ToVector<float>());
  double total = 0;
  for (const float value : values) total += value;
  // Ones: exact in float32 as long as no partial sum passes 2^24.
  if (total != static_cast<double>(x.size())) {
    return absl::DataLossError(absl::StrCat("the sum of ", x.size(), " ones is ", total));
  }
  return rate;
}

}  // namespace

absl::StatusOr<Json> MeasureBandwidth(const Device& device, int64_t elements) {
  SLIPWAY_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  const size_t count = static_cast<size_t>(elements);
  SLIPWAY_ASSIGN_OR_RETURN(const auto x, (Array<float, 1>::From(device, std::vector<float>(count, 1))));
  SLIPWAY_ASSIGN_OR_RETURN(const auto y, (Array<float, 1>::From(device, std::vector<float>(count, 3))));
  SLIPWAY_ASSIGN_OR_RETURN(const double copy, CopyRate(stream, elements));
  SLIPWAY_ASSIGN_OR_RETURN(const double saxpy, SaxpyRate(stream, x, y));
  SLIPWAY_ASSIGN_OR_RETURN(const double sum, SumRate(stream, x));
  return Json{{"elements", elements}, {"copy_gb_s", copy}, {"saxpy_gb_s", saxpy}, {"sum_gb_s", sum}};
}

}  // namespace slipway::gpu_check
