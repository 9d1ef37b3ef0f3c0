#include "jit/ops/sort_arguments.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "driver/status_macros.h"
#include "jit/ops/broadcast.h"
#include "launch/byte_range.h"

namespace slipway::sort {
namespace {

// Its elements in row-major order, of one dimension; `array` is contiguous.
absl::StatusOr<AnyArrayView> Flat(const AnyArrayView& array) { return array.Reshaped({array.size()}); }

}  // namespace

absl::Status Argument::Refused(std::string_view why) const {
  return absl::InvalidArgumentError(
      absl::StrCat(AsAbsl(call), ": ", AsAbsl(name), ": ", Describe(arg), ": ", AsAbsl(why)));
}

absl::Status CheckStream(std::string_view call, const Stream& stream) {
  if (stream.device().state() == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(AsAbsl(call), ": the stream was moved from or destroyed; give one that lives"));
  }
  return stream.CheckUsable();
}

absl::StatusOr<AnyArrayView> Input(const Stream& stream, const Argument& argument) {
  if (!argument.arg.is_array()) return argument.Refused("not an array; give an array, or a view of one");
  const AnyArrayView view = argument.arg.view();
  if (facts::DeviceOf(view.facts()) != stream.device().id()) {
    return argument.Refused(
        absl::StrCat("not of ", stream.device().Describe(), ", which the stream is of; copy it there (AnyArray::To)"));
  }
  if ((view.facts() & facts::kValid) == 0) {
    return argument.Refused("has elements at a null or misaligned address, or a negative extent");
  }
  return view;
}

absl::StatusOr<AnyArrayView> Output(const Stream& stream, const Argument& argument, DType dtype,
                                    absl::Span<const int64_t> shape) {
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView view, Input(stream, argument));
  if (dtype != DType::kVoid && view.dtype() != dtype) {
    return argument.Refused(absl::StrCat("the result is ", AsAbsl(Name(dtype)), "; give an array of that"));
  }
  if (view.shape() != shape) {
    return argument.Refused(
        absl::StrCat("the result has the shape ", elementwise::ToString(shape), "; give an array of that"));
  }
  if ((view.facts() & facts::kWritable) == 0) {
    return argument.Refused(view.read_only() ? "a view of const elements; give one that may be written"
                                             : "elements share addresses; give an array that has one for each");
  }
  return view;
}

absl::StatusOr<AnyArrayView> Offsets(const Stream& stream, const Argument& argument) {
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView view, Input(stream, argument));
  if (view.dtype() != DType::kInt32 && view.dtype() != DType::kInt64) {
    return argument.Refused("offsets are int32 or int64; convert them (Elementwise \"y = int64(x)\")");
  }
  if (view.rank() != 1 || view.size() == 0) {
    return argument.Refused("offsets have one dimension, and one element more than there are segments");
  }
  return view;
}

bool Overlap(const AnyArrayView& a, const AnyArrayView& b) {
  const slipway::internal::AddressRange x = slipway::internal::BytesTouched(a), y = slipway::internal::BytesTouched(b);
  return !x.empty && !y.empty && x.first <= y.last && y.first <= x.last;
}

absl::StatusOr<Packed> Packed::Make(const Stream& stream, const AnyArrayView& array,
                                    absl::Span<const AnyArrayView> outputs) {
  const bool overlaps =
      std::any_of(outputs.begin(), outputs.end(), [&](const AnyArrayView& output) { return Overlap(array, output); });
  if (array.is_contiguous() && !overlaps) {
    SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView flat, Flat(array));
    return Packed(flat, std::nullopt);
  }
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray copy, AnyArray::Empty(stream, array.dtype(), array.shape()));
  SLIPWAY_RETURN_IF_ERROR(Copy(stream, copy, array));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView flat, Flat(copy.view()));
  return Packed(flat, std::move(copy));
}

absl::StatusOr<Unpacked> Unpacked::Make(const Stream& stream, const AnyArrayView& array, bool keep) {
  if (array.is_contiguous()) {
    SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView flat, Flat(array));
    return Unpacked(array, flat, std::nullopt);
  }
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray copy, AnyArray::Empty(stream, array.dtype(), array.shape()));
  if (keep) SLIPWAY_RETURN_IF_ERROR(Copy(stream, copy, array));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView flat, Flat(copy.view()));
  return Unpacked(array, flat, std::move(copy));
}

absl::Status Unpacked::Finish(const Stream& stream) const {
  return copy_.has_value() ? Copy(stream, array_, *copy_) : absl::OkStatus();
}

}  // namespace slipway::sort
