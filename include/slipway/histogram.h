// Histograms: how many samples fall into each bin, or how much they weigh together.
//
//   AnyArray counts = Histogram(stream, labels, 10).value();                        // NumPy's bincount, ten bins
//   AnyArray even = HistogramEven(stream, samples, 0.0, 1.0, 256).value();          // NumPy's histogram over [0, 1]
//   AnyArray sums = WeightedHistogram(stream, labels, prices, 10, {.deterministic = true}).value();
//
// Samples are arrays of any shape and layout. Counts are int64, of one dimension, and exact; a sample that is in no bin
// is counted nowhere. Weights are an array of the samples' shape, of bools, integers or real floats; they are added in
// float64. Blocks of a launch count in their own shared memory where the bins fit, and else in the result.
//
// Work is queued on the stream and nothing is waited for; results are memory of the stream. Each function may be called
// from any thread. Kernels are made once for each dtype of samples and weights.
//
// All functions return INVALID_ARGUMENT, naming the argument, before anything is queued, for: a number where an array
// is asked for; an array of another device than the stream's, at a null or misaligned address, or with a negative
// extent; an output that may not be written, or of another dtype or size; complex samples or weights, or floats for bin
// numbers; weights of another shape; less than one bin, or more than 2^31 - 1; `lower` and `upper` that are not finite,
// or not in this order.
#ifndef SLIPWAY_HISTOGRAM_H_
#define SLIPWAY_HISTOGRAM_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/arg.h"
#include "slipway/array.h"
#include "slipway/stream.h"

namespace slipway {

// counts[b] is how many samples, bools or integers, are b, for b from 0 to bins - 1.
absl::StatusOr<AnyArray> Histogram(const Stream& stream, const Arg& samples, int64_t bins);
// Into an int64 array of one dimension, whose size is the number of bins. What was there is lost.
absl::Status HistogramInto(const Stream& stream, const Arg& counts, const Arg& samples);

// [lower, upper] in `bins` parts of the same width, as NumPy has them: edge k is k * ((upper - lower) / bins) + lower
// in float64, each operation rounded, and the last one is `upper`. A bin has its lower edge and not its upper one, but
// for the last, which has both. Samples are bools, integers or floats, and meet the edges in float64; NaN is in no bin.
absl::StatusOr<AnyArray> HistogramEven(const Stream& stream, const Arg& samples, double lower, double upper,
                                       int64_t bins);
absl::Status HistogramEvenInto(const Stream& stream, const Arg& counts, const Arg& samples, double lower, double upper);

struct WeightOptions {
  // Adds the weights of a bin in an order that depends on nothing but the samples, so that every run gives the same
  // bits, for the price of sorting the samples. Otherwise in the order in which threads come.
  bool deterministic = false;
};

// The sum of the weights of each bin's samples, float64. Into: a float64 array.
absl::StatusOr<AnyArray> WeightedHistogram(const Stream& stream, const Arg& samples, const Arg& weights, int64_t bins,
                                           const WeightOptions& options = {});
absl::Status WeightedHistogramInto(const Stream& stream, const Arg& sums, const Arg& samples, const Arg& weights,
                                   const WeightOptions& options = {});
absl::StatusOr<AnyArray> WeightedHistogramEven(const Stream& stream, const Arg& samples, const Arg& weights,
                                               double lower, double upper, int64_t bins,
                                               const WeightOptions& options = {});
absl::Status WeightedHistogramEvenInto(const Stream& stream, const Arg& sums, const Arg& samples, const Arg& weights,
                                       double lower, double upper, const WeightOptions& options = {});

}  // namespace slipway

#endif  // SLIPWAY_HISTOGRAM_H_
