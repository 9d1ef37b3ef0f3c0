// Lists of fixed length (RegularArray) and of varying length (ListArray, ListOffsetArray), and what reductions over
// them need.
#include "examples/awkward/family.h"
#include "examples/awkward/kernel_words.h"

namespace slipway::awkward {
namespace {

// tocarry[p] = fromcarry[p / size] * size + p % size; p < lencarry * size.
absl::StatusOr<Kernel> RegularCarry(const Device& device) {
  return Make(device, "RegularArray_getitem_carry",
              [](Out<int64_t> tocarry, In<int64_t> fromcarry, Int lencarry, Int size) {
                ForEach(lencarry * size, [&](Int p) { tocarry[p] = fromcarry[p / size] * size + p % size; });
              });
}

// For j = p % regularsize: multistarts[p] = singleoffsets[j], multistops[p] = singleoffsets[j + 1].
absl::StatusOr<Kernel> RegularJaggedExpand(const Device& device) {
  return Make(device, "RegularArray_getitem_jagged_expand",
              [](Out<int64_t> multistarts, Out<int64_t> multistops, In<int64_t> singleoffsets, Int regularsize,
                 Int regularlength) {
                ForEach(regularlength * regularsize, [&](Int p) {
                  Int j = p % regularsize;
                  multistarts[p] = singleoffsets[j];
                  multistops[p] = singleoffsets[j + 1];
                });
              });
}

// For i = p / lenarray, j = p % lenarray: tocarry[p] = i * size + fromarray[j], toadvanced[p] = j; p < length *
// lenarray.
absl::StatusOr<Kernel> RegularNextArray(const Device& device) {
  return Make(
      device, "RegularArray_getitem_next_array",
      [](Out<int64_t> tocarry, Out<int64_t> toadvanced, In<int64_t> fromarray, Int length, Int lenarray, Int size) {
        ForEach(length * lenarray, [&](Int p) {
          Int j = p % lenarray;
          tocarry[p] = p / lenarray * size + fromarray[j];
          toadvanced[p] = j;
        });
      });
}

// tocarry[i] = i * size + fromarray[fromadvanced[i]], toadvanced[i] = i.
absl::StatusOr<Kernel> RegularNextArrayAdvanced(const Device& device) {
  return Make(device, "RegularArray_getitem_next_array_advanced",
              [](Out<int64_t> tocarry, Out<int64_t> toadvanced, In<int64_t> fromadvanced, In<int64_t> fromarray,
                 Int length, Int size) {
                ForEach(length, [&](Int i) {
                  tocarry[i] = i * size + fromarray[fromadvanced[i]];
                  toadvanced[i] = i;
                });
              });
}

// For i = p / nextsize, j = p % nextsize: tocarry[p] = i * size + regular_start + j * step; p < length * nextsize.
absl::StatusOr<Kernel> RegularNextRange(const Device& device) {
  return Make(device, "RegularArray_getitem_next_range",
              [](Out<int64_t> tocarry, Int regular_start, Int step, Int length, Int size, Int nextsize) {
                ForEach(length * nextsize,
                        [&](Int p) { tocarry[p] = p / nextsize * size + regular_start + p % nextsize * step; });
              });
}

// toadvanced[p] = fromadvanced[p / nextsize]; p < length * nextsize.
absl::StatusOr<Kernel> RegularSpreadAdvanced(const Device& device) {
  return Make(device, "RegularArray_getitem_next_range_spreadadvanced",
              [](Out<int64_t> toadvanced, In<int64_t> fromadvanced, Int length, Int nextsize) {
                ForEach(length * nextsize, [&](Int p) { toadvanced[p] = fromadvanced[p / nextsize]; });
              });
}

// toindex[p] = p % size; p < length * size.
absl::StatusOr<Kernel> RegularLocalIndex(const Device& device) {
  return Make(device, "RegularArray_localindex", [](Out<int64_t> toindex, Int size, Int length) {
    ForEach(length * size, [&](Int p) { toindex[p] = p % size; });
  });
}

// For i = p / target, j = p % target: toindex[p] = i * size + j if j < size, else -1; p < length * target.
absl::StatusOr<Kernel> RegularRpadAndClip(const Device& device) {
  return Make(device, "RegularArray_rpad_and_clip_axis1", [](Out<int64_t> toindex, Int target, Int size, Int length) {
    ForEach(length * target, [&](Int p) {
      Int j = p % target;
      toindex[p] = Select(j < size, p / target * size + j, -1);
    });
  });
}

// nextparents[p] = p / size; p < length * size.
absl::StatusOr<Kernel> RegularLocalNextParents(const Device& device) {
  return Make(device, "RegularArray_reduce_local_nextparents_64", [](Out<int64_t> nextparents, Int size, Int length) {
    ForEach(length * size, [&](Int p) { nextparents[p] = p / size; });
  });
}

// A transpose inside each bin: bin b holds rows [offsets[b], offsets[b + 1]); the group of (b, column j) holds
// row * size + j for those rows in order, and nextcarry is all groups, one after another. nextoffsets[0] = 0 and
// nextoffsets[b * size + j + 1] = the end of group (b, j). `length` is not used.
absl::StatusOr<Kernel> RegularNonlocalPrepareNext(const Device& device) {
  return Make(
      device, "RegularArray_reduce_nonlocal_preparenext_64",
      [](Out<int64_t> nextcarry, Out<int64_t> nextoffsets, In<int64_t> offsets, Int size, Int length, Int outlength) {
        ForEach(outlength * size + 1, [&](Int end) {
          If(end == 0, [&] { nextoffsets[0] = 0; }).Else([&] {
            Int b = (end - 1) / size;
            Int j = (end - 1) % size;
            Int rows = offsets[b + 1] - offsets[b];
            Int begin = (offsets[b] - offsets[0]) * size + j * rows;
            For(Range(0, rows), [&](Int k) { nextcarry[begin + k] = (offsets[b] + k) * size + j; });
            nextoffsets[end] = begin + rows;
          });
        });
      });
}

// tostarts[tostartsoffset + i] = fromstarts[i] + base; tostops[tostopsoffset + i] = fromstops[i] + base.
template <class Index>
absl::StatusOr<Kernel> ListFill(const Device& device) {
  return Make(device, "ListArray_fill",
              [](Out<int64_t> tostarts, Int tostartsoffset, Out<int64_t> tostops, Int tostopsoffset,
                 In<Index> fromstarts, In<Index> fromstops, Int length, Int base) {
                ForEach(length, [&](Int i) {
                  tostarts[tostartsoffset + i] = Wide(fromstarts[i]) + base;
                  tostops[tostopsoffset + i] = Wide(fromstops[i]) + base;
                });
              });
}

// toindex[p] = p - offsets[i] for p in [offsets[i], offsets[i + 1]), i < length.
template <class Index>
absl::StatusOr<Kernel> ListLocalIndex(const Device& device) {
  return Make(device, "ListArray_localindex", [](Out<int64_t> toindex, In<Index> offsets, Int length) {
    ForEach(length, [&](Int i) {
      Int begin = Wide(offsets[i]);
      For(Range(begin, Wide(offsets[i + 1])), [&](Int p) { toindex[p] = p - begin; });
    });
  });
}

// For i = p / target, j = p % target: toindex[p] = fromoffsets[i] + j if that is below fromoffsets[i + 1], else -1;
// p < length * target.
template <class Index>
absl::StatusOr<Kernel> OffsetsRpadAndClip(const Device& device) {
  return Make(device, "ListOffsetArray_rpad_and_clip_axis1",
              [](Out<int64_t> toindex, In<Index> fromoffsets, Int length, Int target) {
                ForEach(length * target, [&](Int p) {
                  Int i = p / target;
                  Int at = Wide(fromoffsets[i]) + p % target;
                  toindex[p] = Select(at < Wide(fromoffsets[i + 1]), at, -1);
                });
              });
}

// tooffsets[i] = inneroffsets[outeroffsets[i]]; i < outeroffsetslen.
template <class Index>
absl::StatusOr<Kernel> OffsetsFlatten(const Device& device) {
  return Make(device, "ListOffsetArray_flatten_offsets",
              [](Out<int64_t> tooffsets, In<Index> outeroffsets, Int outeroffsetslen, In<int64_t> inneroffsets) {
                ForEach(outeroffsetslen, [&](Int i) { tooffsets[i] = inneroffsets[Wide(outeroffsets[i])]; });
              });
}

// For row i < length and p in [offsets[i] - offsets[0], offsets[i + 1] - offsets[0]) with p < nextparents_length:
// nextparents[p] = i.
template <class Index>
absl::StatusOr<Kernel> OffsetsLocalNextParents(const Device& device) {
  return Make(device, "ListOffsetArray_reduce_local_nextparents_64",
              [](Out<Index> nextparents, In<Index> offsets, Int length, Int nextparents_length) {
                ForEach(length, [&](Int i) {
                  Int first = Wide(offsets[0]);
                  Int end = min(Wide(offsets[i + 1]) - first, nextparents_length);
                  For(Range(Wide(offsets[i]) - first, end), [&](Int p) { nextparents[p] = Cast<Index>(i); });
                });
              });
}

// Where a run of equal parents begins: nextstarts[nextparents[i]] = i. Parents that do not occur keep their entry.
absl::StatusOr<Kernel> OffsetsNonlocalNextStarts(const Device& device) {
  return Make(device, "ListOffsetArray_reduce_nonlocal_nextstarts_64",
              [](Out<int64_t> nextstarts, In<int64_t> nextparents, Int nextlen) {
                ForEach(nextlen, [&](Int i) {
                  // The first element begins a run; max() keeps the look back inside the array.
                  If(i == 0 || nextparents[i] != nextparents[max(i - 1, 0)], [&] { nextstarts[nextparents[i]] = i; });
                });
              });
}

// In place: where toptr[k] >= 0, toptr[k] -= starts[k]. `offsets` is not used.
absl::StatusOr<Kernel> NumpyAdjustStarts(const Device& device) {
  return Make(device, "NumpyArray_reduce_adjust_starts_64",
              [](Out<int64_t> toptr, Int outlength, In<int64_t> offsets, In<int64_t> starts) {
                ForEach(outlength, [&](Int k) {
                  Int i = toptr[k];
                  If(i >= 0, [&] { toptr[k] = i - starts[k]; });
                });
              });
}

// In place: where i = toptr[k] >= 0, toptr[k] = i + shifts[i] - starts[k]. `offsets` is not used.
absl::StatusOr<Kernel> NumpyAdjustStartsShifts(const Device& device) {
  return Make(device, "NumpyArray_reduce_adjust_starts_shifts_64",
              [](Out<int64_t> toptr, Int outlength, In<int64_t> offsets, In<int64_t> starts, In<int64_t> shifts) {
                ForEach(outlength, [&](Int k) {
                  Int i = toptr[k];
                  If(i >= 0, [&] { toptr[k] = i + shifts[i] - starts[k]; });
                });
              });
}

// toptr[b] = 1 where bin b is empty, else 0.
absl::StatusOr<Kernel> NumpyMaskEmpty(const Device& device) {
  return Make(device, "NumpyArray_reduce_mask_ByteMaskedArray_64",
              [](Out<int8_t> toptr, In<int64_t> offsets, Int outlength) {
                ForEach(outlength, [&](Int b) { toptr[b] = Cast<int8_t>(offsets[b + 1] <= offsets[b]); });
              });
}

// toptr[b] = offsets[b + 1] - offsets[b].
absl::StatusOr<Kernel> ReduceCount(const Device& device) {
  return Make(device, "reduce_count_64", [](Out<int64_t> toptr, In<int64_t> offsets, Int outlength) {
    ForEach(outlength, [&](Int b) { toptr[b] = offsets[b + 1] - offsets[b]; });
  });
}

}  // namespace

std::vector<Family> ListFamilies() {
  const auto length = [](Scalars& s) { return s["length"]; };
  const auto outlength = [](Scalars& s) { return s["outlength"]; };
  const auto length_by_size = [](Scalars& s) { return s["length"] * s["size"]; };
  const auto length_by_nextsize = [](Scalars& s) { return s["length"] * s["nextsize"]; };
  const auto length_by_target = [](Scalars& s) { return s["length"] * s["target"]; };
  return {
      {"RegularArray_getitem_carry", [](Scalars& s) { return s["lencarry"] * s["size"]; }, {RegularCarry}},
      {"RegularArray_getitem_jagged_expand",
       [](Scalars& s) { return s["regularlength"] * s["regularsize"]; },
       {RegularJaggedExpand}},
      {"RegularArray_getitem_next_array", [](Scalars& s) { return s["length"] * s["lenarray"]; }, {RegularNextArray}},
      {"RegularArray_getitem_next_array_advanced", length, {RegularNextArrayAdvanced}},
      {"RegularArray_getitem_next_range", length_by_nextsize, {RegularNextRange}},
      {"RegularArray_getitem_next_range_spreadadvanced", length_by_nextsize, {RegularSpreadAdvanced}},
      {"RegularArray_localindex", length_by_size, {RegularLocalIndex}},
      {"RegularArray_rpad_and_clip_axis1", length_by_target, {RegularRpadAndClip}},
      {"RegularArray_reduce_local_nextparents_64", length_by_size, {RegularLocalNextParents}},
      {"RegularArray_reduce_nonlocal_preparenext_64",
       [](Scalars& s) { return s["outlength"] * s["size"] + 1; },
       {RegularNonlocalPrepareNext}},
      {"ListArray_fill", length, {ListFill<int32_t>, ListFill<int64_t>, ListFill<uint32_t>}},
      {"ListArray_localindex", length, {ListLocalIndex<int32_t>, ListLocalIndex<int64_t>, ListLocalIndex<uint32_t>}},
      {"ListOffsetArray_rpad_and_clip_axis1",
       length_by_target,
       {OffsetsRpadAndClip<int32_t>, OffsetsRpadAndClip<int64_t>, OffsetsRpadAndClip<uint32_t>}},
      {"ListOffsetArray_flatten_offsets",
       [](Scalars& s) { return s["outeroffsetslen"]; },
       {OffsetsFlatten<int32_t>, OffsetsFlatten<int64_t>, OffsetsFlatten<uint32_t>}},
      {"ListOffsetArray_reduce_local_nextparents_64",
       length,
       {OffsetsLocalNextParents<int32_t>, OffsetsLocalNextParents<int64_t>, OffsetsLocalNextParents<uint32_t>}},
      {"ListOffsetArray_reduce_nonlocal_nextstarts_64",
       [](Scalars& s) { return s["nextlen"]; },
       {OffsetsNonlocalNextStarts}},
      {"NumpyArray_reduce_adjust_starts_64", outlength, {NumpyAdjustStarts}},
      {"NumpyArray_reduce_adjust_starts_shifts_64", outlength, {NumpyAdjustStartsShifts}},
      {"NumpyArray_reduce_mask_ByteMaskedArray_64", outlength, {NumpyMaskEmpty}},
      {"reduce_count_64", outlength, {ReduceCount}},
  };
}

std::vector<Family> AllFamilies() {
  std::vector<Family> families = IndexFamilies();
  for (Family& family : ListFamilies()) families.push_back(std::move(family));
  return families;
}

}  // namespace slipway::awkward
