#include "examples/jagged/jagged_array.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "driver/status_macros.h"
#include "examples/jagged/call.h"
#include "examples/jagged/family.h"
#include "examples/jagged/kernel_words.h"
#include "examples/jagged/scan.h"

namespace slipway::jagged {
namespace {

// Element `at` of an array of int64: the one number that has to be known to make room for a result. Waits.
absl::StatusOr<int64_t> NumberAt(const AnyArray& array, int64_t at, const Stream& stream) {
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray one, array.Sliced({slipway::Slice{at, at + 1}}));
  int64_t number = 0;
  SLIPWAY_RETURN_IF_ERROR(one.CopyTo(&number, stream));
  return number;
}

// Where lists begin and end, by their offsets.
struct Bounds {
  AnyArray starts, stops;
};
absl::StatusOr<Bounds> BoundsOf(const AnyArray& offsets) {
  const int64_t lists = offsets.size() - 1;
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray starts, offsets.Sliced({slipway::Slice{0, lists}}));
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray stops, offsets.Sliced({slipway::Slice{1, lists + 1}}));
  return Bounds{std::move(starts), std::move(stops)};
}

const GenericKernel& Take() {
  static const GenericKernel kernel = MakeGenericKernel("jagged_take", [](Any to, Any from, In<int64_t> carry) {
    ForEach(carry.size(), [&](Int i) { to[i] = from[carry[i]]; });
  });
  return kernel;
}

}  // namespace

absl::StatusOr<JaggedArray> JaggedArray::From(const Stream& stream, const std::vector<int64_t>& offsets,
                                              AnyArray content) {
  if (content.rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("content has rank ", content.rank(), "; wanted 1"));
  }
  if (offsets.empty() || offsets.front() != 0) {
    return absl::InvalidArgumentError("offsets begin with 0: one for each list, and the end of the last");
  }
  for (size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] < offsets[i - 1]) {
      return absl::InvalidArgumentError(absl::StrCat("offsets[", i, "] is ", offsets[i], ", below ", offsets[i - 1],
                                                     " before it; list ", i - 1, " cannot end before it begins"));
    }
  }
  if (offsets.back() != content.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the last of the offsets is ", offsets.back(), ", but content has ",
                                                   content.size(), " elements; wanted the same"));
  }
  SLIPWAY_ASSIGN_OR_RETURN(const auto there, (Array<int64_t, 1>::From(stream, offsets)));
  return JaggedArray(stream, AnyArray(there), std::move(content));
}

absl::Status JaggedArray::CheckNoneMissing(const char* operation) const {
  if (!mask_.has_value()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(operation, ": elements may be missing, and it takes none that are; call DropNone() first"));
}

absl::Status JaggedArray::CheckLists(const JaggedArray& other, const char* operation) const {
  if (other.size() == size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(operation, ": the other array has ", other.size(), " lists; wanted ", size(), ", as this one"));
}

absl::StatusOr<AnyArray> JaggedArray::Empty(int64_t count, DType dtype) const {
  return AnyArray::Empty(*stream_, dtype, {count});
}

absl::StatusOr<JaggedArray> JaggedArray::Taken(AnyArray offsets, const AnyArray& carry) const {
  Call call(*stream_, {}, nullptr);
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray content, Empty(carry.size(), dtype()));
  call.LaunchWith(Take(), ForSize(carry.size()), {content, content_, carry});
  std::optional<AnyArray> mask;
  if (mask_.has_value()) {
    SLIPWAY_ASSIGN_OR_RETURN(mask, Empty(carry.size(), DType::kInt8));
    call.LaunchWith(Take(), ForSize(carry.size()), {*mask, *mask_, carry});
  }
  SLIPWAY_RETURN_IF_ERROR(call.status());
  return JaggedArray(*stream_, std::move(offsets), std::move(content), std::move(mask));
}

absl::StatusOr<AnyArray> JaggedArray::Num() const {
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray counts, Empty(size()));
  SLIPWAY_RETURN_IF_ERROR(
      CallFamily("reduce_count_64", *stream_, {{"toptr", counts}, {"offsets", offsets_}, {"outlength", size()}}));
  return counts;
}

absl::StatusOr<AnyArray> JaggedArray::At(int64_t index) const {
  SLIPWAY_RETURN_IF_ERROR(CheckNoneMissing("At"));
  SLIPWAY_ASSIGN_OR_RETURN(const Bounds bounds, BoundsOf(offsets_));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray carry, Empty(size()));
  SLIPWAY_RETURN_IF_ERROR(CallFamily("ListArray_getitem_next_at", *stream_,
                                     {{"tocarry", carry},
                                      {"fromstarts", bounds.starts},
                                      {"fromstops", bounds.stops},
                                      {"lenstarts", size()},
                                      {"at", index}}));
  SLIPWAY_ASSIGN_OR_RETURN(const JaggedArray taken, Taken(offsets_, carry));
  return taken.content_;
}

absl::StatusOr<JaggedArray> JaggedArray::Sliced(std::optional<int64_t> start, std::optional<int64_t> stop,
                                                int64_t step) const {
  if (step == 0) return absl::InvalidArgumentError("Sliced: the step is 0; wanted another number");
  const int64_t first = start.value_or(INT64_MAX), last = stop.value_or(INT64_MAX);
  SLIPWAY_ASSIGN_OR_RETURN(const Bounds bounds, BoundsOf(offsets_));
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray offsets, Empty(size() + 1));
  // Room for all elements, which is as many as a slice can choose: asking first how many it does costs more.
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray carry, Empty(content_.size()));
  SLIPWAY_RETURN_IF_ERROR(CallFamily("ListArray_getitem_next_range", *stream_,
                                     {{"tooffsets", offsets},
                                      {"tocarry", carry},
                                      {"fromstarts", bounds.starts},
                                      {"fromstops", bounds.stops},
                                      {"lenstarts", size()},
                                      {"start", first},
                                      {"stop", last},
                                      {"step", step}}));
  SLIPWAY_ASSIGN_OR_RETURN(const int64_t count, NumberAt(offsets, size(), *stream_));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray chosen, carry.Sliced({slipway::Slice{0, count}}));
  return Taken(std::move(offsets), chosen);
}

absl::StatusOr<JaggedArray> JaggedArray::Masked(const JaggedArray& keep) const {
  static const GenericKernel kMissing = MakeGenericKernel("jagged_missing", [](Out<int8_t> to, In<bool> keep) {
    ForEach(keep.size(), [&](Int i) { to[i] = Cast<int8_t>(!keep[i]); });
  });
  SLIPWAY_RETURN_IF_ERROR(keep.CheckNoneMissing("Masked"));
  SLIPWAY_RETURN_IF_ERROR(CheckLists(keep, "Masked"));
  if (keep.dtype() != DType::kBool) {
    return absl::InvalidArgumentError(
        absl::StrCat("Masked: what to keep is in ", std::string(Name(keep.dtype())), "; wanted bool"));
  }
  SLIPWAY_ASSIGN_OR_RETURN(const Bounds ours, BoundsOf(offsets_));
  SLIPWAY_ASSIGN_OR_RETURN(const Bounds theirs, BoundsOf(keep.offsets_));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray same, Empty(size() + 1));
  SLIPWAY_RETURN_IF_ERROR(CallFamily("ListArray_getitem_jagged_descend", *stream_,
                                     {{"tooffsets", same},
                                      {"slicestarts", theirs.starts},
                                      {"slicestops", theirs.stops},
                                      {"sliceouterlen", size()},
                                      {"fromstarts", ours.starts},
                                      {"fromstops", ours.stops}}));
  const int64_t count = content_.size();
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray mask, Empty(count, DType::kInt8));
  Call call(*stream_, {}, nullptr);
  call.LaunchWith(kMissing, ForSize(count), {mask, keep.content_});
  SLIPWAY_RETURN_IF_ERROR(call.status());
  if (mask_.has_value()) {
    SLIPWAY_ASSIGN_OR_RETURN(AnyArray both, Empty(count, DType::kInt8));
    SLIPWAY_RETURN_IF_ERROR(CallFamily(
        "ByteMaskedArray_overlay_mask", *stream_,
        {{"tomask", both}, {"theirmask", mask}, {"mymask", *mask_}, {"length", count}, {"validwhen", false}}));
    mask = std::move(both);
  }
  return JaggedArray(*stream_, offsets_, content_, std::move(mask));
}

absl::StatusOr<JaggedArray> JaggedArray::DropNone() const {
  if (!mask_.has_value()) return *this;
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray carry, Empty(content_.size()));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray rank, Empty(content_.size()));
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray offsets, Empty(size() + 1));
  SLIPWAY_RETURN_IF_ERROR(CallFamily("ByteMaskedArray_reduce_next_64", *stream_,
                                     {{"nextcarry", carry},
                                      {"nextoffsets", offsets},
                                      {"outindex", rank},
                                      {"mask", *mask_},
                                      {"offsets", offsets_},
                                      {"outlength", size()},
                                      {"validwhen", false}}));
  SLIPWAY_ASSIGN_OR_RETURN(const int64_t count, NumberAt(offsets, size(), *stream_));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray there, carry.Sliced({slipway::Slice{0, count}}));
  return JaggedArray(*stream_, offsets_, content_).Taken(std::move(offsets), there);
}

absl::StatusOr<JaggedArray> JaggedArray::Columns() const {
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray longest, Empty(1));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray copy, Empty(size() + 1));
  SLIPWAY_RETURN_IF_ERROR(
      CallFamily("ListOffsetArray_reduce_nonlocal_maxcount_offsetscopy_64", *stream_,
                 {{"maxcount", longest}, {"offsetscopy", copy}, {"offsets", offsets_}, {"length", size()}}));
  SLIPWAY_ASSIGN_OR_RETURN(const int64_t columns, NumberAt(longest, 0, *stream_));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray carry, Empty(content_.size()));
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray offsets, Empty(columns + 1));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray last, Empty(1));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray distincts, Empty(columns));
  SLIPWAY_ASSIGN_OR_RETURN(const auto one_bin, (Array<int64_t, 1>::From(*stream_, std::vector<int64_t>{0, size()})));
  SLIPWAY_RETURN_IF_ERROR(CallFamily("ListOffsetArray_reduce_nonlocal_preparenext_64", *stream_,
                                     {{"nextcarry", carry},
                                      {"nextoffsets", offsets},
                                      {"nextlen", carry.size()},
                                      {"maxnextparents", last},
                                      {"distincts", distincts},
                                      {"distinctslen", columns},
                                      {"offsetscopy", copy},
                                      {"offsets", offsets_},
                                      {"length", size()},
                                      {"outer_offsets", one_bin},
                                      {"outlength", int64_t{1}},
                                      {"maxcount", columns}}));
  return Taken(std::move(offsets), carry);
}

absl::StatusOr<AnyArray> JaggedArray::Sum() const {
  SLIPWAY_ASSIGN_OR_RETURN(const JaggedArray there, DropNone());
  const DType result = IsFloat(dtype()) ? dtype() : IsUnsignedInteger(dtype()) ? DType::kUInt64 : DType::kInt64;
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray sums, Empty(size(), result));
  SLIPWAY_RETURN_IF_ERROR(
      CallFamily("reduce_sum", *stream_,
                 {{"toptr", sums}, {"fromptr", there.content_}, {"offsets", there.offsets_}, {"outlength", size()}}));
  return sums;
}

absl::StatusOr<JaggedArray> JaggedArray::Concatenate(const JaggedArray& other) const {
  SLIPWAY_RETURN_IF_ERROR(CheckNoneMissing("Concatenate"));
  SLIPWAY_RETURN_IF_ERROR(other.CheckNoneMissing("Concatenate"));
  if (other.dtype() != dtype()) {
    return absl::InvalidArgumentError(absl::StrCat("Concatenate: the other array is of ",
                                                   std::string(Name(other.dtype())), "; wanted ",
                                                   std::string(Name(dtype())), ", as this one"));
  }
  const int64_t split = content_.size();
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray offsets, Empty(size() + other.size() + 1));
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray content, Empty(split + other.content_.size(), dtype()));
  const auto fill = [&](const AnyArray& from, int64_t at, int64_t base) {
    return CallFamily(
        "IndexedArray_fill", *stream_,
        {{"toindex", offsets}, {"toindexoffset", at}, {"fromindex", from}, {"length", from.size()}, {"base", base}});
  };
  SLIPWAY_RETURN_IF_ERROR(fill(offsets_, 0, 0));
  SLIPWAY_RETURN_IF_ERROR(fill(other.offsets_, size(), split));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray front, content.Sliced({slipway::Slice{0, split}}));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray back, content.Sliced({slipway::Slice{split, content.size()}}));
  SLIPWAY_RETURN_IF_ERROR(Copy(*stream_, front, content_));
  SLIPWAY_RETURN_IF_ERROR(Copy(*stream_, back, other.content_));
  return JaggedArray(*stream_, std::move(offsets), std::move(content));
}

absl::StatusOr<std::pair<JaggedArray, JaggedArray>> JaggedArray::Cartesian(const JaggedArray& other) const {
  static const GenericKernel kCount =
      MakeGenericKernel("jagged_count_pairs", [](Out<int64_t> pairs, In<int64_t> a, In<int64_t> b, Int lists) {
        ForEach(lists, [&](Int i) { pairs[i] = (a[i + 1] - a[i]) * (b[i + 1] - b[i]); });
      });
  static const GenericKernel kPair = MakeGenericKernel(
      "jagged_pair",
      [](Out<int64_t> left, Out<int64_t> right, In<int64_t> pairs, In<int64_t> a, In<int64_t> b, Int lists) {
        ForEachRow(lists, [&](Int i, Lane lane) {
          const Int begin = pairs[i], a_begin = a[i], b_begin = b[i], b_count = b[i + 1] - b_begin;
          InRow(lane, begin, pairs[i + 1], [&](Int p) {
            left[p] = a_begin + (p - begin) / b_count;
            right[p] = b_begin + (p - begin) % b_count;
          });
        });
      });
  SLIPWAY_RETURN_IF_ERROR(CheckLists(other, "Cartesian"));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray pairs, Empty(size() + 1));
  Call call(*stream_, {}, nullptr);
  call.LaunchWith(kCount, ForSize(size()), {pairs, offsets_, other.offsets_, size()});
  ExclusiveScan(call, pairs);
  SLIPWAY_RETURN_IF_ERROR(call.status());
  SLIPWAY_ASSIGN_OR_RETURN(const int64_t count, NumberAt(pairs, size(), *stream_));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray left, Empty(count));
  SLIPWAY_ASSIGN_OR_RETURN(const AnyArray right, Empty(count));
  call.LaunchWith(kPair, ForSize(ThreadsForRows(size(), count)),
                  {left, right, pairs, offsets_, other.offsets_, size()});
  SLIPWAY_RETURN_IF_ERROR(call.status());
  SLIPWAY_ASSIGN_OR_RETURN(JaggedArray firsts, Taken(pairs, left));
  SLIPWAY_ASSIGN_OR_RETURN(JaggedArray seconds, other.Taken(pairs, right));
  return std::pair(std::move(firsts), std::move(seconds));
}

absl::StatusOr<JaggedArray> JaggedArray::Sorted(const char* family, DType result, bool ascending) const {
  SLIPWAY_RETURN_IF_ERROR(CheckNoneMissing("Sort"));
  SLIPWAY_ASSIGN_OR_RETURN(AnyArray to, Empty(content_.size(), result));
  SLIPWAY_RETURN_IF_ERROR(CallFamily(family, *stream_,
                                     {{"toptr", to},
                                      {"fromptr", content_},
                                      {"length", content_.size()},
                                      {"offsets", offsets_},
                                      {"offsetslength", size() + 1},
                                      {"ascending", ascending},
                                      {"stable", true}}));
  return JaggedArray(*stream_, offsets_, std::move(to));
}
absl::StatusOr<JaggedArray> JaggedArray::Sort(bool ascending) const { return Sorted("sort", dtype(), ascending); }
absl::StatusOr<JaggedArray> JaggedArray::ArgSort(bool ascending) const {
  return Sorted("argsort", DType::kInt64, ascending);
}

}  // namespace slipway::jagged
