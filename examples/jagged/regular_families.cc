// Lists of one length (RegularArray): row i is the elements i * size to (i + 1) * size - 1.
#include "examples/jagged/family.h"
#include "examples/jagged/kernel_words.h"

namespace slipway::jagged {

std::vector<Family> RegularFamilies() {
  const Size length = Of({"length"});
  const Size length_by_size = Of({"length", "size"});
  const Size length_by_nextsize = Of({"length", "nextsize"});
  return {
      // tocarry[p] = fromcarry[p / size] * size + p % size; p < lencarry * size.
      Map("RegularArray_getitem_carry", Of({"lencarry", "size"}),
          [](Out<int64_t> tocarry, In<int64_t> fromcarry, Int lencarry, Int size) {
            ForEach(lencarry * size, [&](Int p) { tocarry[p] = fromcarry[p / size] * size + p % size; });
          }),

      // For j = p % regularsize: multistarts[p] = singleoffsets[j], multistops[p] = singleoffsets[j + 1].
      Map("RegularArray_getitem_jagged_expand", Of({"regularlength", "regularsize"}),
          [](Out<int64_t> multistarts, Out<int64_t> multistops, In<int64_t> singleoffsets, Int regularsize,
             Int regularlength) {
            ForEach(regularlength * regularsize, [&](Int p) {
              const Int j = p % regularsize;
              multistarts[p] = singleoffsets[j];
              multistops[p] = singleoffsets[j + 1];
            });
          }),

      // For i = p / lenarray, j = p % lenarray: tocarry[p] = i * size + fromarray[j], toadvanced[p] = j.
      Map("RegularArray_getitem_next_array", Of({"length", "lenarray"}),
          [](Out<int64_t> tocarry, Out<int64_t> toadvanced, In<int64_t> fromarray, Int length, Int lenarray, Int size) {
            ForEach(length * lenarray, [&](Int p) {
              const Int j = p % lenarray;
              tocarry[p] = p / lenarray * size + fromarray[j];
              toadvanced[p] = j;
            });
          }),

      // tocarry[i] = i * size + fromarray[fromadvanced[i]], toadvanced[i] = i.
      Map("RegularArray_getitem_next_array_advanced", length,
          [](Out<int64_t> tocarry, Out<int64_t> toadvanced, In<int64_t> fromadvanced, In<int64_t> fromarray, Int length,
             Int size) {
            ForEach(length, [&](Int i) {
              tocarry[i] = i * size + fromarray[fromadvanced[i]];
              toadvanced[i] = i;
            });
          }),

      // toarray[j] = fromarray[j], counted from the end where it is negative.
      Map("RegularArray_getitem_next_array_regularize", Of({"lenarray"}),
          [](Out<int64_t> toarray, In<int64_t> fromarray, Int lenarray, Int size, Record record) {
            ForEach(lenarray, [&](Int j) {
              const Int given = fromarray[j];
              const Int index = Select(given < 0, given + size, given);
              If(Passes(record, j, {index < 0 || index >= size}), [&] { toarray[j] = index; });
            });
          },
          {"index out of range"}),

      // tocarry[i] = i * size + at, counted from the end where that is negative. `at` is checked even where there is no
      // row.
      Map("RegularArray_getitem_next_at", Of({"length"}, 1),
          [](Out<int64_t> tocarry, Int at, Int length, Int size, Record record) {
            const Int index = Select(at < 0, at + size, at);
            If(Passes(record, 0, {index < 0 || index >= size}),
               [&] { ForEach(length, [&](Int i) { tocarry[i] = i * size + index; }); });
          },
          {"index out of range"}),

      // For i = p / nextsize, j = p % nextsize: tocarry[p] = i * size + regular_start + j * step.
      Map("RegularArray_getitem_next_range", length_by_nextsize,
          [](Out<int64_t> tocarry, Int regular_start, Int step, Int length, Int size, Int nextsize) {
            ForEach(length * nextsize,
                    [&](Int p) { tocarry[p] = p / nextsize * size + regular_start + p % nextsize * step; });
          }),

      // toadvanced[p] = fromadvanced[p / nextsize].
      Map("RegularArray_getitem_next_range_spreadadvanced", length_by_nextsize,
          [](Out<int64_t> toadvanced, In<int64_t> fromadvanced, Int length, Int nextsize) {
            ForEach(length * nextsize, [&](Int p) { toadvanced[p] = fromadvanced[p / nextsize]; });
          }),

      // toindex[p] = p % size.
      Map("RegularArray_localindex", length_by_size,
          [](Out<int64_t> toindex, Int size, Int length) {
            ForEach(length * size, [&](Int p) { toindex[p] = p % size; });
          }),

      // nextparents[p] = p / size.
      Map("RegularArray_reduce_local_nextparents_64", length_by_size,
          [](Out<int64_t> nextparents, Int size, Int length) {
            ForEach(length * size, [&](Int p) { nextparents[p] = p / size; });
          }),

      // A transpose inside each bin: bin b holds rows [offsets[b], offsets[b + 1]); the group of (b, column j) holds
      // row * size + j for those rows in order, and nextcarry is all groups, one after another. nextoffsets[0] = 0 and
      // nextoffsets[b * size + j + 1] = the end of group (b, j). `length` is not used.
      Map(
          "RegularArray_reduce_nonlocal_preparenext_64",
          [](Call& call) { return (call["outlength"] * call["size"] + 1) * 32; },
          [](Out<int64_t> nextcarry, Out<int64_t> nextoffsets, In<int64_t> offsets, Int size, Int length,
             Int outlength) {
            ForEachRow(outlength * size + 1, [&](Int end, Lane lane) {
              If(end == 0, [&] { nextoffsets[0] = 0; }).Else([&] {
                const Int b = (end - 1) / size, j = (end - 1) % size;
                const Int rows = offsets[b + 1] - offsets[b];
                const Int begin = (offsets[b] - offsets[0]) * size + j * rows;
                InRow(lane, 0, rows, [&](Int k) { nextcarry[begin + k] = (offsets[b] + k) * size + j; });
                nextoffsets[end] = begin + rows;
              });
            });
          }),

      // For i = p / target, j = p % target: toindex[p] = i * size + j if j < size, else -1.
      Map("RegularArray_rpad_and_clip_axis1", Of({"length", "target"}),
          [](Out<int64_t> toindex, Int target, Int size, Int length) {
            ForEach(length * target, [&](Int p) {
              const Int j = p % target;
              toindex[p] = Select(j < size, p / target * size + j, -1);
            });
          }),
  };
}

}  // namespace slipway::jagged
