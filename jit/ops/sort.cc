#include "slipway/sort.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "driver/status_macros.h"
#include "jit/ops/broadcast.h"
#include "jit/ops/sort_arguments.h"
#include "jit/ops/sort_kernels.h"
#include "jit/ops/sort_order.h"
#include "slipway/array_uses.h"

namespace slipway {
namespace {

using sort::Argument;
using sort::Packed;
using sort::Task;
using sort::Unpacked;

// The keys of a sort along an axis, and what was asked for, checked.
struct Sorting {
  AnyArrayView keys;
  int axis = 0;
  bool descending = false;
  int begin_bit = 0, end_bit = 0;

  int64_t length() const { return keys.shape()[static_cast<size_t>(axis)]; }
};

absl::StatusOr<AnyArrayView> CheckKeys(const Stream& stream, const Argument& keys) {
  SLIPWAY_RETURN_IF_ERROR(sort::CheckStream(keys.call, stream));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView view, sort::Input(stream, keys));
  if (IsComplex(view.dtype())) {
    return keys.Refused("complex numbers have no order; sort by real(x) or abs(x) as keys (SortByKey)");
  }
  return view;
}

absl::StatusOr<Sorting> CheckBits(const Argument& keys, const AnyArrayView& view, int axis,
                                  const SortOptions& options) {
  const int bits = sort::BitsOf(view.dtype());
  const int end = options.end_bit == kAllBits ? bits : options.end_bit;
  if (options.begin_bit < 0 || options.begin_bit > end || end > bits) {
    return keys.Refused(absl::StrCat("bits ", options.begin_bit, " to ", end, " of a key were asked for; it has ", bits,
                                     ": give 0 <= begin_bit <= end_bit <= ", bits));
  }
  return Sorting{view, axis, options.descending, options.begin_bit, end};
}

absl::StatusOr<Sorting> Check(const Stream& stream, const Argument& keys, const SortOptions& options) {
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView view, CheckKeys(stream, keys));
  const int rank = view.rank();
  if (options.axis < -rank || options.axis >= rank) {
    return keys.Refused(
        rank == 0 ? std::string("has no axis to sort along; give it one (kNewAxis)")
                  : absl::StrCat("axis ", options.axis, " was asked for; there are -", rank, " to ", rank - 1));
  }
  return CheckBits(keys, view, options.axis < 0 ? options.axis + rank : options.axis, options);
}

// The same elements with that axis last.
absl::StatusOr<AnyArrayView> AxisLast(const AnyArrayView& array, int axis) {
  std::vector<int> axes;
  for (int d = 0; d < array.rank(); ++d) {
    if (d != axis) axes.push_back(d);
  }
  axes.push_back(axis);
  return array.Transposed(axes);
}

// Where the results of a sort go. Null, or none, for what is not wanted.
struct Results {
  const AnyArrayView* sorted = nullptr;
  const AnyArrayView* order = nullptr;
  absl::Span<const AnyArrayView> values;  // One for each array of values, in the keys' order.
};

// Of rows along the axis, or of segments where `offsets` is not null: what is in none of them stays as it is.
absl::Status Queue(const Stream& stream, const Sorting& sorting, const AnyArrayView* offsets, const Results& results,
                   absl::Span<const AnyArrayView> values) {
  const bool segmented = offsets != nullptr;
  std::vector<AnyArrayView> outputs(results.values.begin(), results.values.end());
  if (results.sorted != nullptr) outputs.push_back(*results.sorted);
  if (results.order != nullptr) outputs.push_back(*results.order);
  const auto pack = [&](const AnyArrayView& array) -> absl::StatusOr<Packed> {
    SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView turned, AxisLast(array, sorting.axis));
    return Packed::Make(stream, turned, outputs);
  };
  const auto unpack = [&](const AnyArrayView* array, std::optional<Unpacked>& to) -> absl::Status {
    if (array == nullptr) return absl::OkStatus();
    SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView turned, AxisLast(*array, sorting.axis));
    SLIPWAY_ASSIGN_OR_RETURN(to, Unpacked::Make(stream, turned, /*keep=*/segmented));
    return absl::OkStatus();
  };
  const int64_t size = sorting.keys.size(), length = sorting.length();
  SLIPWAY_ASSIGN_OR_RETURN(const Packed keys, pack(sorting.keys));
  std::vector<Packed> packed;
  for (const AnyArrayView& array : values) {
    SLIPWAY_ASSIGN_OR_RETURN(Packed one, pack(array));
    packed.push_back(std::move(one));
  }
  std::optional<Packed> bounds;
  if (segmented) {
    SLIPWAY_ASSIGN_OR_RETURN(bounds, Packed::Make(stream, *offsets, outputs));
  }
  std::optional<Unpacked> sorted, order;
  SLIPWAY_RETURN_IF_ERROR(unpack(results.sorted, sorted));
  SLIPWAY_RETURN_IF_ERROR(unpack(results.order, order));
  std::optional<AnyArray> positions;
  if (!values.empty()) {
    const DType index = length <= INT32_MAX ? DType::kInt32 : DType::kInt64;
    SLIPWAY_ASSIGN_OR_RETURN(positions, AnyArray::Empty(stream, index, {size}));
    if (segmented) SLIPWAY_RETURN_IF_ERROR(sort::QueueNoPositions(stream, positions->view()));
  }
  const int64_t rows = segmented ? offsets->size() - 1 : length == 0 ? 0 : size / length;
  const AnyArrayView* const order_to = positions.has_value() ? &positions->view()
                                       : order.has_value()   ? &order->view()
                                                             : nullptr;
  SLIPWAY_RETURN_IF_ERROR(sort::Queue(stream, Task{.keys = keys.view(),
                                                   .sorted = sorted.has_value() ? &sorted->view() : nullptr,
                                                   .order = order_to,
                                                   .offsets = segmented ? &bounds->view() : nullptr,
                                                   .rows = rows,
                                                   .length = length,
                                                   .descending = sorting.descending,
                                                   .begin_bit = sorting.begin_bit,
                                                   .end_bit = sorting.end_bit}));
  if (sorted.has_value()) SLIPWAY_RETURN_IF_ERROR(sorted->Finish(stream));
  if (order.has_value()) SLIPWAY_RETURN_IF_ERROR(order->Finish(stream));
  for (size_t v = 0; v < values.size(); ++v) {
    std::optional<Unpacked> to;
    SLIPWAY_RETURN_IF_ERROR(unpack(&results.values[v], to));
    SLIPWAY_RETURN_IF_ERROR(sort::QueueGather(stream, to->view(), packed[v].view(), positions->view(), length));
    SLIPWAY_RETURN_IF_ERROR(to->Finish(stream));
  }
  return absl::OkStatus();
}

// Whether int32 counts so many.
bool FitsInt32(int64_t positions) { return positions <= int64_t{INT32_MAX} + 1; }

absl::StatusOr<AnyArrayView> CheckOrder(const Stream& stream, const Argument& order, absl::Span<const int64_t> shape,
                                        int64_t positions) {
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView view, sort::Output(stream, order, DType::kVoid, shape));
  if (view.dtype() != DType::kInt64 && view.dtype() != DType::kInt32) {
    return order.Refused("positions are int64 or int32; give an array of one of these");
  }
  if (view.dtype() == DType::kInt32 && !FitsInt32(positions)) {
    return order.Refused(absl::StrCat(positions, " positions are more than int32 counts; give an int64 array"));
  }
  return view;
}

absl::Status CheckIndex(std::string_view call, DType index, int64_t positions) {
  if (index == DType::kInt64 || (index == DType::kInt32 && FitsInt32(positions))) return absl::OkStatus();
  if (index == DType::kInt32) {
    return absl::InvalidArgumentError(absl::StrCat(AsAbsl(call), ": options.index is int32, which does not count ",
                                                   positions, " positions; use kInt64"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(AsAbsl(call), ": options.index is ", AsAbsl(Name(index)), "; positions are kInt64 or kInt32"));
}

absl::StatusOr<Sorting> CheckSegmented(const Stream& stream, const Argument& keys, const SortOptions& options) {
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView view, CheckKeys(stream, keys));
  if (view.rank() != 1) return keys.Refused("segments are parts of an array of one dimension; reshape it");
  return CheckBits(keys, view, /*axis=*/0, options);
}

// A new array for a result.
absl::StatusOr<AnyArray> NewLike(const Stream& stream, const AnyArrayView& keys, DType dtype) {
  return AnyArray::Empty(stream, dtype, keys.shape());
}

absl::Status NoteUses(const Stream& stream, std::initializer_list<Arg> args) {
  return internal::NoteUses(stream, absl::MakeConstSpan(args.begin(), args.size()));
}

}  // namespace

absl::StatusOr<AnyArray> Sort(const Stream& stream, const Arg& keys, const SortOptions& options) {
  SLIPWAY_ASSIGN_OR_RETURN(const Sorting sorting, Check(stream, {"Sort", "keys", keys}, options));
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray sorted, NewLike(stream, sorting.keys, sorting.keys.dtype()));
  SLIPWAY_RETURN_IF_ERROR(Queue(stream, sorting, nullptr, {.sorted = &sorted.view()}, {}));
  SLIPWAY_RETURN_IF_ERROR(NoteUses(stream, {keys}));
  return sorted;
}

absl::Status SortInto(const Stream& stream, const Arg& sorted, const Arg& keys, const SortOptions& options) {
  SLIPWAY_ASSIGN_OR_RETURN(const Sorting sorting, Check(stream, {"SortInto", "keys", keys}, options));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView to, sort::Output(stream, {"SortInto", "sorted", sorted},
                                                               sorting.keys.dtype(), sorting.keys.shape()));
  SLIPWAY_RETURN_IF_ERROR(Queue(stream, sorting, nullptr, {.sorted = &to}, {}));
  return NoteUses(stream, {sorted, keys});
}

absl::StatusOr<AnyArray> Argsort(const Stream& stream, const Arg& keys, const SortOptions& options) {
  SLIPWAY_ASSIGN_OR_RETURN(const Sorting sorting, Check(stream, {"Argsort", "keys", keys}, options));
  SLIPWAY_RETURN_IF_ERROR(CheckIndex("Argsort", options.index, sorting.length()));
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray order, NewLike(stream, sorting.keys, options.index));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView to, CheckOrder(stream, {"Argsort", "the result", order},
                                                             sorting.keys.shape(), sorting.length()));
  SLIPWAY_RETURN_IF_ERROR(Queue(stream, sorting, nullptr, {.order = &to}, {}));
  SLIPWAY_RETURN_IF_ERROR(NoteUses(stream, {keys}));
  return order;
}

absl::Status ArgsortInto(const Stream& stream, const Arg& order, const Arg& keys, const SortOptions& options) {
  SLIPWAY_ASSIGN_OR_RETURN(const Sorting sorting, Check(stream, {"ArgsortInto", "keys", keys}, options));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView to,
                           CheckOrder(stream, {"ArgsortInto", "order", order}, sorting.keys.shape(), sorting.length()));
  SLIPWAY_RETURN_IF_ERROR(Queue(stream, sorting, nullptr, {.order = &to}, {}));
  return NoteUses(stream, {order, keys});
}

namespace {

absl::StatusOr<std::vector<AnyArrayView>> CheckValues(const Stream& stream, std::string_view call,
                                                      const Sorting& sorting, absl::Span<const Arg> values) {
  std::vector<AnyArrayView> views;
  for (size_t v = 0; v < values.size(); ++v) {
    const std::string name = absl::StrCat("values[", v, "]");
    const Argument argument{call, name, values[v]};
    SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView view, sort::Input(stream, argument));
    if (view.shape() != sorting.keys.shape()) {
      return argument.Refused(absl::StrCat("the keys have the shape ", elementwise::ToString(sorting.keys.shape()),
                                           "; give a value for each"));
    }
    views.push_back(view);
  }
  return views;
}

}  // namespace

namespace {

// Of rows, or of segments.
absl::StatusOr<SortedByKey> SortNewByKey(const Stream& stream, std::string_view call, const Sorting& sorting,
                                         const AnyArrayView* offsets, absl::Span<const Arg> values) {
  SLIPWAY_ASSIGN_OR_RETURN(const std::vector<AnyArrayView> from, CheckValues(stream, call, sorting, values));
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray sorted, NewLike(stream, sorting.keys, sorting.keys.dtype()));
  SortedByKey result{.keys = std::move(sorted), .values = {}};
  std::vector<AnyArrayView> to;
  for (const AnyArrayView& view : from) {
    SLIPWAY_ASSIGN_OR_RETURN(AnyArray array, NewLike(stream, sorting.keys, view.dtype()));
    to.push_back(array.view());
    result.values.push_back(std::move(array));
  }
  SLIPWAY_RETURN_IF_ERROR(Queue(stream, sorting, offsets, {.sorted = &result.keys.view(), .values = to}, from));
  SLIPWAY_RETURN_IF_ERROR(internal::NoteUses(stream, values));
  return result;
}

absl::Status SortIntoByKey(const Stream& stream, std::string_view call, const Sorting& sorting,
                           const AnyArrayView* offsets, const Arg& sorted_keys, absl::Span<const Arg> sorted_values,
                           absl::Span<const Arg> values) {
  SLIPWAY_ASSIGN_OR_RETURN(const std::vector<AnyArrayView> from, CheckValues(stream, call, sorting, values));
  if (sorted_values.size() != values.size()) {
    return absl::InvalidArgumentError(absl::StrCat(AsAbsl(call), ": sorted_values has ", sorted_values.size(),
                                                   " arrays and values ", values.size(), "; give one for each"));
  }
  const absl::Span<const int64_t> shape = sorting.keys.shape();
  std::vector<AnyArrayView> outputs;
  const auto add = [&](std::string_view name, const Arg& arg, DType dtype) -> absl::Status {
    const Argument argument{call, name, arg};
    SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView to, sort::Output(stream, argument, dtype, shape));
    for (const AnyArrayView& other : outputs) {
      if (sort::Overlap(to, other)) return argument.Refused("overlaps another output; give each its own memory");
    }
    outputs.push_back(to);
    return absl::OkStatus();
  };
  SLIPWAY_RETURN_IF_ERROR(add("sorted_keys", sorted_keys, sorting.keys.dtype()));
  for (size_t v = 0; v < values.size(); ++v) {
    SLIPWAY_RETURN_IF_ERROR(add(absl::StrCat("sorted_values[", v, "]"), sorted_values[v], from[v].dtype()));
  }
  SLIPWAY_RETURN_IF_ERROR(Queue(stream, sorting, offsets,
                                {.sorted = &outputs[0], .values = absl::MakeConstSpan(outputs).subspan(1)}, from));
  SLIPWAY_RETURN_IF_ERROR(NoteUses(stream, {sorted_keys}));
  SLIPWAY_RETURN_IF_ERROR(internal::NoteUses(stream, sorted_values));
  return internal::NoteUses(stream, values);
}

}  // namespace

absl::StatusOr<SortedByKey> SortByKey(const Stream& stream, const Arg& keys, absl::Span<const Arg> values,
                                      const SortOptions& options) {
  SLIPWAY_ASSIGN_OR_RETURN(const Sorting sorting, Check(stream, {"SortByKey", "keys", keys}, options));
  SLIPWAY_ASSIGN_OR_RETURN(SortedByKey result, SortNewByKey(stream, "SortByKey", sorting, nullptr, values));
  SLIPWAY_RETURN_IF_ERROR(NoteUses(stream, {keys}));
  return result;
}

absl::Status SortByKeyInto(const Stream& stream, const Arg& sorted_keys, absl::Span<const Arg> sorted_values,
                           const Arg& keys, absl::Span<const Arg> values, const SortOptions& options) {
  constexpr std::string_view kCall = "SortByKeyInto";
  SLIPWAY_ASSIGN_OR_RETURN(const Sorting sorting, Check(stream, {kCall, "keys", keys}, options));
  SLIPWAY_RETURN_IF_ERROR(SortIntoByKey(stream, kCall, sorting, nullptr, sorted_keys, sorted_values, values));
  return NoteUses(stream, {keys});
}

absl::StatusOr<SortedByKey> SegmentedSortByKey(const Stream& stream, const Arg& keys, absl::Span<const Arg> values,
                                               const Arg& offsets, const SortOptions& options) {
  constexpr std::string_view kCall = "SegmentedSortByKey";
  SLIPWAY_ASSIGN_OR_RETURN(const Sorting sorting, CheckSegmented(stream, {kCall, "keys", keys}, options));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView bounds, sort::Offsets(stream, {kCall, "offsets", offsets}));
  SLIPWAY_ASSIGN_OR_RETURN(SortedByKey result, SortNewByKey(stream, kCall, sorting, &bounds, values));
  SLIPWAY_RETURN_IF_ERROR(NoteUses(stream, {keys, offsets}));
  return result;
}

absl::Status SegmentedSortByKeyInto(const Stream& stream, const Arg& sorted_keys, absl::Span<const Arg> sorted_values,
                                    const Arg& keys, absl::Span<const Arg> values, const Arg& offsets,
                                    const SortOptions& options) {
  constexpr std::string_view kCall = "SegmentedSortByKeyInto";
  SLIPWAY_ASSIGN_OR_RETURN(const Sorting sorting, CheckSegmented(stream, {kCall, "keys", keys}, options));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView bounds, sort::Offsets(stream, {kCall, "offsets", offsets}));
  SLIPWAY_RETURN_IF_ERROR(SortIntoByKey(stream, kCall, sorting, &bounds, sorted_keys, sorted_values, values));
  return NoteUses(stream, {keys, offsets});
}

absl::StatusOr<AnyArray> SegmentedSort(const Stream& stream, const Arg& keys, const Arg& offsets,
                                       const SortOptions& options) {
  SLIPWAY_ASSIGN_OR_RETURN(const Sorting sorting, CheckSegmented(stream, {"SegmentedSort", "keys", keys}, options));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView bounds, sort::Offsets(stream, {"SegmentedSort", "offsets", offsets}));
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray sorted, NewLike(stream, sorting.keys, sorting.keys.dtype()));
  SLIPWAY_RETURN_IF_ERROR(Queue(stream, sorting, &bounds, {.sorted = &sorted.view()}, {}));
  SLIPWAY_RETURN_IF_ERROR(NoteUses(stream, {keys, offsets}));
  return sorted;
}

absl::Status SegmentedSortInto(const Stream& stream, const Arg& sorted, const Arg& keys, const Arg& offsets,
                               const SortOptions& options) {
  constexpr std::string_view kCall = "SegmentedSortInto";
  SLIPWAY_ASSIGN_OR_RETURN(const Sorting sorting, CheckSegmented(stream, {kCall, "keys", keys}, options));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView bounds, sort::Offsets(stream, {kCall, "offsets", offsets}));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView to,
                           sort::Output(stream, {kCall, "sorted", sorted}, sorting.keys.dtype(), sorting.keys.shape()));
  SLIPWAY_RETURN_IF_ERROR(Queue(stream, sorting, &bounds, {.sorted = &to}, {}));
  return NoteUses(stream, {sorted, keys, offsets});
}

absl::StatusOr<AnyArray> SegmentedArgsort(const Stream& stream, const Arg& keys, const Arg& offsets,
                                          const SortOptions& options) {
  constexpr std::string_view kCall = "SegmentedArgsort";
  SLIPWAY_ASSIGN_OR_RETURN(const Sorting sorting, CheckSegmented(stream, {kCall, "keys", keys}, options));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView bounds, sort::Offsets(stream, {kCall, "offsets", offsets}));
  SLIPWAY_RETURN_IF_ERROR(CheckIndex(kCall, options.index, sorting.length()));
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray order, NewLike(stream, sorting.keys, options.index));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView to,
                           CheckOrder(stream, {kCall, "the result", order}, sorting.keys.shape(), sorting.length()));
  SLIPWAY_RETURN_IF_ERROR(Queue(stream, sorting, &bounds, {.order = &to}, {}));
  SLIPWAY_RETURN_IF_ERROR(NoteUses(stream, {keys, offsets}));
  return order;
}

absl::Status SegmentedArgsortInto(const Stream& stream, const Arg& order, const Arg& keys, const Arg& offsets,
                                  const SortOptions& options) {
  constexpr std::string_view kCall = "SegmentedArgsortInto";
  SLIPWAY_ASSIGN_OR_RETURN(const Sorting sorting, CheckSegmented(stream, {kCall, "keys", keys}, options));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView bounds, sort::Offsets(stream, {kCall, "offsets", offsets}));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArrayView to,
                           CheckOrder(stream, {kCall, "order", order}, sorting.keys.shape(), sorting.length()));
  SLIPWAY_RETURN_IF_ERROR(Queue(stream, sorting, &bounds, {.order = &to}, {}));
  return NoteUses(stream, {order, keys, offsets});
}

}  // namespace slipway
