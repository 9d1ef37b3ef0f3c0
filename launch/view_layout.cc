#include "launch/view_layout.h"

#include <algorithm>
#include <bitset>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "driver/status_macros.h"

namespace slipway {
namespace internal {

std::string ShapeText(absl::Span<const int64_t> shape) { return absl::StrCat("[", absl::StrJoin(shape, ","), "]"); }

ViewLayout::ViewLayout(const AnyArrayView& view) : rank(view.rank()) {
  std::copy(view.shape().begin(), view.shape().end(), shape);
  std::copy(view.strides().begin(), view.strides().end(), strides);
}

AnyArrayView ViewLayout::ViewOf(const AnyArrayView& original) const {
  // Of nothing the address says nothing, and null stays null.
  const int64_t bytes = ElementCount(rank, shape) == 0 ? 0 : offset * static_cast<int64_t>(SizeOf(original.dtype()));
  void* const data =
      reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(original.data()) + static_cast<uintptr_t>(bytes));
  AnyArrayView view(data, ComputeFacts(original.dtype(), rank, shape, strides, data, original.read_only(),
                                       facts::DeviceOf(original.facts())));
  std::copy_n(shape, rank, view.dims_);
  std::copy_n(strides, rank, view.dims_ + rank);
  return view;
}

}  // namespace internal

namespace {

using internal::ShapeText;
using internal::ViewLayout;

// Products of what an array has in memory do not overflow; of what is only described they may, and nothing is read
// then.
int64_t Times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

absl::Status TooManyDimensions(const AnyArrayView& view, size_t wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat("array: ", Describe(view), " would get ", wanted, " dimensions; an array has at most ", kMaxRank));
}

// A bound of a slice: counted from the end where negative, and no further than one step outside in `step`'s direction.
int64_t Bound(const std::optional<int64_t>& bound, int64_t missing, int64_t extent, int64_t step) {
  if (!bound.has_value()) return missing;
  const int64_t from_start = *bound < 0 ? *bound + extent : *bound;
  return step > 0 ? std::clamp<int64_t>(from_start, 0, extent) : std::clamp<int64_t>(from_start, -1, extent - 1);
}

void AppendSlice(const Slice& slice, int64_t extent, int64_t stride, ViewLayout* layout) {
  const bool forward = slice.step > 0;
  const int64_t start = Bound(slice.start, forward ? 0 : extent - 1, extent, slice.step);
  const int64_t stop = Bound(slice.stop, forward ? extent : -1, extent, slice.step);
  const int64_t span = forward ? stop - start : start - stop;
  // Unsigned: the least integer has no positive twin.
  const uint64_t step = forward ? static_cast<uint64_t>(slice.step) : -static_cast<uint64_t>(slice.step);
  const int64_t count = span <= 0 ? 0 : static_cast<int64_t>((static_cast<uint64_t>(span) - 1) / step) + 1;
  if (count > 0) layout->offset += Times(start, stride);
  layout->Append(count, count > 1 ? Times(stride, slice.step) : stride);
}

}  // namespace

absl::StatusOr<AnyArrayView> AnyArrayView::Sliced(absl::Span<const Index> at) const {
  size_t taken = 0, added = 0, ellipses = 0;
  for (const Index& index : at) {
    taken += index.kind == Index::Kind::kInteger || index.kind == Index::Kind::kSlice ? 1 : 0;
    added += index.kind == Index::Kind::kNewAxis ? 1 : 0;
    ellipses += index.kind == Index::Kind::kEllipsis ? 1 : 0;
  }
  const auto rank = static_cast<size_t>(this->rank());
  if (taken > rank) {
    return absl::InvalidArgumentError(absl::StrCat("array: ", taken, " indices were given for ", Describe(*this),
                                                   ", which has ", rank, rank == 1 ? " dimension" : " dimensions"));
  }
  if (ellipses > 1) {
    return absl::InvalidArgumentError(absl::StrCat("array: ", ellipses, " ellipses were given for ", Describe(*this),
                                                   "; one stands for all dimensions that are left"));
  }
  if (rank + added > kMaxRank) return TooManyDimensions(*this, rank + added);
  ViewLayout layout;
  size_t d = 0;
  const auto take_whole = [&](size_t count) {
    for (; count > 0; --count, ++d) layout.Append(shape()[d], strides()[d]);
  };
  for (const Index& index : at) {
    switch (index.kind) {
      case Index::Kind::kInteger: {
        const int64_t extent = shape()[d];
        if (index.integer < -extent || index.integer >= extent) {
          return absl::OutOfRangeError(
              absl::StrCat("array: index ", index.integer, " along dimension ", d, " of ", Describe(*this),
                           extent > 0 ? absl::StrCat(" is out of range; give ", -extent, " to ", extent - 1)
                                      : std::string(" is out of range; there is nothing")));
        }
        layout.offset += Times(index.integer < 0 ? index.integer + extent : index.integer, strides()[d]);
        ++d;
        break;
      }
      case Index::Kind::kSlice:
        if (index.slice.step == 0) {
          return absl::InvalidArgumentError(absl::StrCat("array: a slice with a step of 0 was given for dimension ", d,
                                                         " of ", Describe(*this), "; steps are positive or negative"));
        }
        AppendSlice(index.slice, shape()[d], strides()[d], &layout);
        ++d;
        break;
      case Index::Kind::kNewAxis:
        layout.Append(1, 0);
        break;
      case Index::Kind::kEllipsis:
        take_whole(rank - taken);
        break;
    }
  }
  take_whole(rank - d);
  return layout.ViewOf(*this);
}

absl::StatusOr<AnyArrayView> AnyArrayView::Transposed() const {
  ViewLayout layout(*this);
  std::reverse(layout.shape, layout.shape + layout.rank);
  std::reverse(layout.strides, layout.strides + layout.rank);
  return layout.ViewOf(*this);
}

absl::StatusOr<AnyArrayView> AnyArrayView::Transposed(absl::Span<const int> axes) const {
  ViewLayout layout;
  std::bitset<kMaxRank> seen;
  for (const int axis : axes) {
    const int d = axis < 0 ? axis + rank() : axis;
    if (d < 0 || d >= rank() || seen[static_cast<size_t>(d)]) break;
    seen[static_cast<size_t>(d)] = true;
    layout.Append(shape()[static_cast<size_t>(d)], strides()[static_cast<size_t>(d)]);
  }
  if (layout.rank != rank() || axes.size() != shape().size()) {
    return absl::InvalidArgumentError(absl::StrCat("array: axes [", absl::StrJoin(axes, ","), "] are no order of the ",
                                                   rank(), rank() == 1 ? " dimension of " : " dimensions of ",
                                                   Describe(*this), "; name each once"));
  }
  return layout.ViewOf(*this);
}

namespace {

// Fills in an extent of -1, and sees that the counts agree.
absl::Status CompleteShape(const AnyArrayView& view, absl::Span<const int64_t> asked, int64_t* shape) {
  const auto error = [&](std::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("array: ", Describe(view), ", of ", view.size(),
                                                   " elements, has no shape ", ShapeText(asked), ": ",
                                                   absl::string_view(why.data(), why.size())));
  };
  int unknown = -1;
  for (size_t d = 0; d < asked.size(); ++d) {
    shape[d] = asked[d];
    if (asked[d] >= 0) continue;
    if (asked[d] != -1 || unknown >= 0) return error("extents are 0 or more, but for one that may be -1");
    unknown = static_cast<int>(d);
    shape[d] = 1;
  }
  const int64_t known = ElementCount(static_cast<int>(asked.size()), shape);
  if (unknown >= 0) {
    if (known == 0 || view.size() % known != 0) return error("nothing fits in the place of -1");
    shape[unknown] = view.size() / known;
  } else if (known != view.size()) {
    return error(absl::StrCat("that is ", known, " elements"));
  }
  return absl::OkStatus();
}

}  // namespace

// Runs of dimensions of both shapes with equal products stand for each other; within such a run the old ones have to
// step evenly, and then the new ones step as a row-major array of the last old one's stride.
absl::StatusOr<AnyArrayView> AnyArrayView::Reshaped(absl::Span<const int64_t> asked) const {
  if (asked.size() > kMaxRank) return TooManyDimensions(*this, asked.size());
  ViewLayout layout;
  layout.rank = static_cast<int>(asked.size());
  if (absl::Status status = CompleteShape(*this, asked, layout.shape); !status.ok()) return status;
  RowMajorStrides(layout.rank, layout.shape, layout.strides);
  if (is_contiguous() || size() <= 1) return layout.ViewOf(*this);
  // Dimensions of 1 have no say.
  int64_t old_shape[kMaxRank], old_strides[kMaxRank];
  int old_rank = 0;
  for (size_t d = 0; d < shape().size(); ++d) {
    if (shape()[d] == 1) continue;
    old_shape[old_rank] = shape()[d], old_strides[old_rank] = strides()[d];
    ++old_rank;
  }
  int from = 0, to = 0;
  while (from < old_rank) {
    int from_end = from, to_end = to;
    int64_t from_count = old_shape[from_end++], to_count = layout.shape[to_end++];
    while (from_count != to_count) {
      if (from_count < to_count) {
        from_count *= old_shape[from_end++];
      } else {
        to_count *= layout.shape[to_end++];
      }
    }
    for (int d = from; d + 1 < from_end; ++d) {
      if (old_strides[d] == old_shape[d + 1] * old_strides[d + 1]) continue;
      return absl::FailedPreconditionError(absl::StrCat("array: ", Describe(*this), " has no view of shape ",
                                                        ShapeText(layout.Shape()),
                                                        "; copy it (Contiguous), and take a view of that"));
    }
    int64_t stride = old_strides[from_end - 1];
    for (int d = to_end - 1; d >= to; --d) {
      layout.strides[d] = stride;
      stride *= layout.shape[d];
    }
    from = from_end, to = to_end;
  }
  // What is left has extents of 1.
  for (int d = to; d < layout.rank; ++d) layout.strides[d] = 1;
  return layout.ViewOf(*this);
}

absl::StatusOr<AnyArrayView> AnyArrayView::BroadcastTo(absl::Span<const int64_t> asked) const {
  if (asked.size() > kMaxRank) return TooManyDimensions(*this, asked.size());
  const size_t added = asked.size() - std::min(asked.size(), shape().size());
  bool fits = asked.size() >= shape().size();
  ViewLayout layout;
  for (size_t d = 0; d < asked.size() && fits; ++d) {
    const int64_t own = d < added ? 1 : shape()[d - added];
    fits = asked[d] >= 0 && (own == asked[d] || own == 1);
    layout.Append(asked[d], d < added || own != asked[d] ? 0 : strides()[d - added]);
  }
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("array: ", Describe(*this), " cannot be broadcast to ",
                                                   ShapeText(asked),
                                                   "; from the last dimension on, extents are equal or 1"));
  }
  return layout.ViewOf(*this);
}

}  // namespace slipway
