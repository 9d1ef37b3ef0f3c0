// What sorts, searches and histograms ask of the arrays that they are given, and how they say it.
#ifndef SLIPWAY_JIT_OPS_SORT_ARGUMENTS_H_
#define SLIPWAY_JIT_OPS_SORT_ARGUMENTS_H_

#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "slipway/arg.h"
#include "slipway/array.h"
#include "slipway/stream.h"

namespace slipway::sort {

// "Sort: keys: float32[3]: why", INVALID_ARGUMENT.
struct Argument {
  std::string_view call;
  std::string_view name;
  const Arg& arg;

  absl::Status Refused(std::string_view why) const;
};

// FAILED_PRECONDITION or INVALID_ARGUMENT for a stream that work cannot be queued on.
absl::Status CheckStream(std::string_view call, const Stream& stream);

// The view of an array that is read.
absl::StatusOr<AnyArrayView> Input(const Stream& stream, const Argument& argument);
// Of one that is written, of this shape, and of this dtype, unless that is kVoid.
absl::StatusOr<AnyArrayView> Output(const Stream& stream, const Argument& argument, DType dtype,
                                    absl::Span<const int64_t> shape);
// Of one dimension and int32 or int64, with an element at least.
absl::StatusOr<AnyArrayView> Offsets(const Stream& stream, const Argument& argument);

// Whether the bytes between the first and the last element of each have some in common.
bool Overlap(const AnyArrayView& a, const AnyArrayView& b);

// An input as kernels take it: packed, of one dimension, and in memory that an output will not be written to. A copy,
// which is queued, or the array itself.
class Packed {
 public:
  static absl::StatusOr<Packed> Make(const Stream& stream, const AnyArrayView& array,
                                     absl::Span<const AnyArrayView> outputs = {});
  const AnyArrayView& view() const { return view_; }

 private:
  Packed(const AnyArrayView& view, std::optional<AnyArray> copy) : view_(view), copy_(std::move(copy)) {}
  AnyArrayView view_;
  std::optional<AnyArray> copy_;  // Keeps its memory.
};

// An output as kernels take it: the array itself, or one whose elements Finish copies there. What is not written stays
// as it is if `keep` says so.
class Unpacked {
 public:
  static absl::StatusOr<Unpacked> Make(const Stream& stream, const AnyArrayView& array, bool keep = false);
  const AnyArrayView& view() const { return view_; }
  absl::Status Finish(const Stream& stream) const;

 private:
  Unpacked(const AnyArrayView& array, const AnyArrayView& view, std::optional<AnyArray> copy)
      : array_(array), view_(view), copy_(std::move(copy)) {}
  AnyArrayView array_, view_;
  std::optional<AnyArray> copy_;
};

}  // namespace slipway::sort

#endif  // SLIPWAY_JIT_OPS_SORT_ARGUMENTS_H_
