#include "slipway/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "driver/status_macros.h"
#include "jit/ops/broadcast.h"
#include "jit/ops/kept_kernel.h"
#include "jit/ops/sort_arguments.h"
#include "jit/ops/sort_kernels.h"
#include "slipway/array_uses.h"
#include "slipway/embedded.h"
#include "slipway/launch_config.h"

namespace slipway {
namespace {

using Index = Expr<int64_t>;
using sort::Argument;
using sort::Packed;

constexpr uint32_t kThreads = 256;
constexpr int64_t kSharedBytes = 32 << 10;  // Of a block's own bins, at most.

// Which bin a sample is in; -1 for none. `bins` is the number of bins.
Index NumberedBin(const AnyExpr& sample, const Index& bins) {
  if (sample.dtype() == DType::kBool) return Select(Cast<int64_t>(sample) < bins, Cast<int64_t>(sample), -1);
  // Comparisons are of the numbers, whatever their signs.
  const Expr<bool> is_bin = Cast<bool>(sample >= 0) && Cast<bool>(sample < bins);
  return Select(is_bin, Cast<int64_t>(sample), -1);
}
Index EvenBin(const AnyExpr& sample, const Index& bins, const Expr<double>& lower, const Expr<double>& upper) {
  const Expr<double> x = Cast<double>(sample);
  const Expr<double> step = (upper - lower) / Cast<double>(bins);
  const auto edge = [&](const Index& k) {
    return Expr<double>(Select(k == bins, upper, add_rn(mul_rn(Cast<double>(k), step), lower)));
  };
  // Within one of the bin that the edges say.
  const Index guess = min(Cast<int64_t>(((x - lower) / (upper - lower)) * Cast<double>(bins)), bins - 1);
  const Index below = guess - Cast<int64_t>(x < edge(guess));
  const Index bin = below + Cast<int64_t>(x >= edge(below + 1) && below != bins - 1);
  return Select(x >= lower && x <= upper, bin, -1);
}
template <bool kEven>
Index BinOf(const AnyExpr& sample, const Index& bins, const Expr<double>& lower, const Expr<double>& upper) {
  if constexpr (kEven) {
    return EvenBin(sample, bins, lower, upper);
  } else {
    return NumberedBin(sample, bins);
  }
}

// Adds 1 or a weight for each sample to `result`, int64 or float64, which is zero before.
template <bool kEven, bool kShared>
const GenericKernel& Accumulate() {
  static const GenericKernel& kernel = Kept(MakeGenericKernel(
      kShared ? "histogram_shared" : "histogram_global",
      [](AnyArrayVar result, AnyArrayVar samples, auto weights, Expr<double> lower, Expr<double> upper) {
        const Index bins = result.size();
        const auto add = [&](const auto& range, const AnyArrayVar& to, MemoryScope scope) {
          For(range, [&](const Index& i) {
            const Index bin = BinOf<kEven>(samples[i], bins, lower, upper);
            If(bin >= 0, [&] {
              const AnyExpr one = weights.is_array() ? AnyExpr(weights[i]) : AnyExpr(1);
              AtomicAdd(to[bin], Cast(to.dtype(), one), MemoryOrder::kRelaxed, scope);
            });
          });
        };
        if constexpr (!kShared) {
          add(GridStride(samples.size()), result, MemoryScope::kDevice);
        } else {
          const AnyArrayVar own = DynamicSharedArray(weights.is_array() ? DType::kFloat64 : DType::kUInt32, bins);
          const auto each_bin = [&](const auto& body) { For(Range(ThreadIndex(), bins, BlockSize()), body); };
          each_bin([&](const Index& b) { own[b] = Cast(own.dtype(), 0); });
          SyncThreads();
          // Each block one piece: where blocks run one after the other, to stride over all of it each time would read
          // a part of every page.
          const Index each = (samples.size() - 1) / Cast<int64_t>(GridSize()) + 1;
          const Index begin = Cast<int64_t>(BlockIndex()) * each;
          const Index first = begin + Cast<int64_t>(ThreadIndex()), end = min(begin + each, samples.size());
          add(Range(first, end, Cast<int64_t>(BlockSize())), own, MemoryScope::kBlock);
          SyncThreads();
          each_bin([&](const Index& b) {
            const AnyExpr sum = own[b];
            If(Cast<bool>(sum != 0), [&] { AtomicAdd(result[b], Cast(result.dtype(), sum)); });
          });
        }
      }));
  return kernel;
}

// The bin of each sample, or `bins` for none.
template <bool kEven>
const GenericKernel& Bins() {
  static const GenericKernel& kernel =
      Kept(MakeGenericKernel("histogram_bins", [](AnyArrayVar numbers, AnyArrayVar samples, Index bins,
                                                  Expr<double> lower, Expr<double> upper) {
        For(GridStride(samples.size()), [&](const Index& i) {
          const Index bin = BinOf<kEven>(samples[i], bins, lower, upper);
          numbers[i] = Cast(numbers.dtype(), Select(bin < 0, bins, bin));
        });
      }));
  return kernel;
}

// Sums of the weights of each bin, of samples that are sorted by their bins: a warp for each, always in the same order.
const GenericKernel& SumBins() {
  static const GenericKernel& kernel = Kept(MakeGenericKernel(
      "histogram_sum_bins", [](AnyArrayVar sums, AnyArrayVar numbers, AnyArrayVar order, AnyArrayVar weights) {
        const auto first_of = [&](const Index& bin) {
          Var<int64_t> low = 0, high = numbers.size();
          While([&] { return low < high; },
                [&] {
                  const Index middle = (low + high) >> 1;
                  const Expr<bool> before = Cast<int64_t>(numbers[middle]) < bin;
                  low = Select(before, middle + 1, low);
                  high = Select(before, high, middle);
                });
          return low;
        };
        const Index lane = Cast<int64_t>(LaneIndex());
        const Index warp = Cast<int64_t>(BlockIndex()) * (kThreads / 32) + Cast<int64_t>(ThreadIndex() >> 5u);
        const Index warps = Cast<int64_t>(GridSize()) * (kThreads / 32);
        For(Range(warp, sums.size(), warps), [&](const Index& bin) {
          const Var<int64_t> begin = first_of(bin), end = first_of(bin + 1);
          Var<double> sum = 0.0;
          For(Range(begin + lane, end, 32),
              [&](const Index& k) { sum += Cast<double>(weights[Cast<int64_t>(order[k])]); });
          const Expr<double> of_bin = WarpReduceAdd(Expr<double>(sum));
          If(lane == 0, [&] { sums[bin] = of_bin; });
        });
      }));
  return kernel;
}

// What bins there are.
struct BinRule {
  int64_t bins = 0;
  bool even = false;
  double lower = 0, upper = 0;
};

// A histogram, its arguments checked.
struct Counting {
  AnyArrayView samples;
  std::optional<AnyArrayView> weights;
  BinRule rule;
};

absl::Status QueueAccumulate(const Stream& stream, const Counting& counting, const AnyArrayView& result) {
  const BinRule& rule = counting.rule;
  SLIPWAY_ASSIGN_OR_RETURN(const Packed samples, Packed::Make(stream, counting.samples));
  std::optional<Packed> weights;
  if (counting.weights.has_value()) {
    SLIPWAY_ASSIGN_OR_RETURN(weights, Packed::Make(stream, *counting.weights));
  }
  const Arg weights_or_none = weights.has_value() ? Arg(weights->view()) : Arg(int32_t{0});
  const int64_t size = counting.samples.size();
  const int64_t bytes = rule.bins * (weights.has_value() ? 8 : 4);
  if (bytes > kSharedBytes) {
    const GenericKernel& kernel = rule.even ? Accumulate<true, false>() : Accumulate<false, false>();
    return kernel.Launch(stream, ForSize(size), {result, samples.view(), weights_or_none, rule.lower, rule.upper});
  }
  // As many blocks as run at once, each with samples enough to be worth its bins, and not more than uint32 counts.
  const int64_t most = int64_t{8} * std::max(1, stream.device().properties().multiprocessors);
  const int64_t worth = size / std::max<int64_t>(16 * kThreads, 4 * rule.bins);
  const int64_t blocks = std::max({std::min(most, worth), size >> 31, int64_t{1}});
  const LaunchConfig config{
      .grid = {static_cast<uint32_t>(blocks)}, .block = {kThreads}, .shared_bytes = static_cast<uint32_t>(bytes)};
  const GenericKernel& kernel = rule.even ? Accumulate<true, true>() : Accumulate<false, true>();
  return kernel.Launch(stream, config, {result, samples.view(), weights_or_none, rule.lower, rule.upper});
}

absl::Status QueueOrdered(const Stream& stream, const Counting& counting, const AnyArrayView& result) {
  const BinRule& rule = counting.rule;
  const int64_t size = counting.samples.size();
  SLIPWAY_ASSIGN_OR_RETURN(const Packed samples, Packed::Make(stream, counting.samples));
  SLIPWAY_ASSIGN_OR_RETURN(const Packed weights, Packed::Make(stream, *counting.weights));
  const DType index = size <= INT32_MAX ? DType::kInt32 : DType::kInt64;
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray numbers, AnyArray::Empty(stream, DType::kUInt32, {size}));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray sorted, AnyArray::Empty(stream, DType::kUInt32, {size}));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray order, AnyArray::Empty(stream, index, {size}));
  const GenericKernel& bins = rule.even ? Bins<true>() : Bins<false>();
  SLIPWAY_RETURN_IF_ERROR(
      bins.Launch(stream, ForSize(size), {numbers, samples.view(), rule.bins, rule.lower, rule.upper}));
  SLIPWAY_RETURN_IF_ERROR(
      sort::Queue(stream, {.keys = numbers.view(),
                           .sorted = &sorted.view(),
                           .order = &order.view(),
                           .rows = 1,
                           .length = size,
                           .end_bit = static_cast<int>(std::bit_width(static_cast<uint64_t>(rule.bins)))}));
  const int64_t blocks = std::min<int64_t>((rule.bins + kThreads / 32 - 1) / (kThreads / 32), INT32_MAX);
  return SumBins().Launch(stream, LaunchConfig{.grid = {static_cast<uint32_t>(blocks)}, .block = {kThreads}},
                          {result, sorted, order, weights.view()});
}

// What the functions have in common. `weights` is null for counts, `result` for a new array; with one, `rule.bins` is
// not looked at.
absl::StatusOr<AnyArray> Count(const Stream& stream, std::string_view call, const Arg* result, const Arg& samples,
                               const Arg* weights, BinRule rule, const WeightOptions& options = {}) {
  SLIPWAY_RETURN_IF_ERROR(sort::CheckStream(call, stream));
  const Argument samples_argument{call, "samples", samples};
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView of, sort::Input(stream, samples_argument));
  if (IsComplex(of.dtype())) return samples_argument.Refused("complex numbers are in no bin; take real(x) or abs(x)");
  if (!rule.even && IsFloat(of.dtype())) {
    return samples_argument.Refused("bin numbers are integers; convert them, or give bounds (HistogramEven)");
  }
  Counting counting{.samples = of, .weights = std::nullopt, .rule = rule};
  if (weights != nullptr) {
    const Argument argument{call, "weights", *weights};
    SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView view, sort::Input(stream, argument));
    if (IsComplex(view.dtype())) return argument.Refused("weights are real; weigh by real(x) and by imag(x)");
    if (view.shape() != of.shape()) {
      return argument.Refused(
          absl::StrCat("the samples have the shape ", elementwise::ToString(of.shape()), "; give a weight for each"));
    }
    counting.weights = view;
  }
  const DType dtype = weights != nullptr ? DType::kFloat64 : DType::kInt64;
  std::optional<AnyArrayView> to;
  if (result != nullptr) {
    const Argument argument{call, weights != nullptr ? "sums" : "counts", *result};
    if (result->is_array() && result->rank() != 1) {
      return argument.Refused("has to have one dimension, an element for each bin");
    }
    const absl::Span<const int64_t> shape = result->is_array() ? result->shape() : absl::Span<const int64_t>();
    SLIPWAY_ASSIGN_OR_RETURN(to, sort::Output(stream, argument, dtype, shape));
    counting.rule.bins = to->size();
  }
  if (counting.rule.bins < 1 || counting.rule.bins > INT32_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat(AsAbsl(call), ": ", counting.rule.bins, " bins were asked for; there can be 1 to 2^31 - 1"));
  }
  if (rule.even && !(std::isfinite(rule.lower) && std::isfinite(rule.upper) && rule.lower < rule.upper)) {
    return absl::InvalidArgumentError(absl::StrCat(AsAbsl(call), ": lower is ", rule.lower, " and upper ", rule.upper,
                                                   "; give finite bounds, the lower one first"));
  }
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray sums, AnyArray::Zeros(stream, dtype, {counting.rule.bins}));
  if (of.size() > 0) {
    SLIPWAY_RETURN_IF_ERROR(options.deterministic && weights != nullptr
                                ? QueueOrdered(stream, counting, sums.view())
                                : QueueAccumulate(stream, counting, sums.view()));
  }
  if (to.has_value()) SLIPWAY_RETURN_IF_ERROR(Copy(stream, *to, sums));
  for (const Arg* arg : {result, &samples, weights}) {
    if (arg != nullptr) SLIPWAY_RETURN_IF_ERROR(internal::NoteUses(stream, absl::MakeConstSpan(arg, 1)));
  }
  return sums;
}

}  // namespace

absl::StatusOr<AnyArray> Histogram(const Stream& stream, const Arg& samples, int64_t bins) {
  return Count(stream, "Histogram", nullptr, samples, nullptr, {.bins = bins});
}

absl::Status HistogramInto(const Stream& stream, const Arg& counts, const Arg& samples) {
  return Count(stream, "HistogramInto", &counts, samples, nullptr, {}).status();
}

absl::StatusOr<AnyArray> HistogramEven(const Stream& stream, const Arg& samples, double lower, double upper,
                                       int64_t bins) {
  return Count(stream, "HistogramEven", nullptr, samples, nullptr, {bins, true, lower, upper});
}

absl::Status HistogramEvenInto(const Stream& stream, const Arg& counts, const Arg& samples, double lower,
                               double upper) {
  return Count(stream, "HistogramEvenInto", &counts, samples, nullptr, {0, true, lower, upper}).status();
}

absl::StatusOr<AnyArray> WeightedHistogram(const Stream& stream, const Arg& samples, const Arg& weights, int64_t bins,
                                           const WeightOptions& options) {
  return Count(stream, "WeightedHistogram", nullptr, samples, &weights, {.bins = bins}, options);
}

absl::Status WeightedHistogramInto(const Stream& stream, const Arg& sums, const Arg& samples, const Arg& weights,
                                   const WeightOptions& options) {
  return Count(stream, "WeightedHistogramInto", &sums, samples, &weights, {}, options).status();
}

absl::StatusOr<AnyArray> WeightedHistogramEven(const Stream& stream, const Arg& samples, const Arg& weights,
                                               double lower, double upper, int64_t bins, const WeightOptions& options) {
  return Count(stream, "WeightedHistogramEven", nullptr, samples, &weights, {bins, true, lower, upper}, options);
}

absl::Status WeightedHistogramEvenInto(const Stream& stream, const Arg& sums, const Arg& samples, const Arg& weights,
                                       double lower, double upper, const WeightOptions& options) {
  return Count(stream, "WeightedHistogramEvenInto", &sums, samples, &weights, {0, true, lower, upper}, options)
      .status();
}

}  // namespace slipway
