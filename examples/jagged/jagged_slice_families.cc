// Slicing lists by lists: array[[[0, 2], [], [1]]], where the slice may have missing lists and elements.
#include "examples/jagged/family.h"
#include "examples/jagged/kernel_words.h"

namespace slipway::jagged {
namespace {

constexpr char kSliceStopBeforeStart[] = "jagged slice's stops[i] < starts[i]";
constexpr char kSlicePastContent[] = "jagged slice's offsets extend beyond its content";
constexpr char kStopBeforeStart[] = "stops[i] < starts[i]";

}  // namespace

std::vector<Family> JaggedSliceFamilies() {
  const Size sliceouterlen = Of({"sliceouterlen"});
  const Size rows = Rows({"length"});
  return {
      // For each entry x = sliceindex[j] of slice row i, tocarry = where element x of list i is, in order; tooffsets =
      // the sums of the slice rows' lengths. Rows with an empty slice are not looked at.
      Scanned("ListArray_getitem_jagged_apply", {sliceouterlen}, Rows({"sliceouterlen"}),
              [](Scan to, Out<int64_t> tooffsets, Out<int64_t> tocarry, In<int64_t> slicestarts, In<int64_t> slicestops,
                 Int sliceouterlen, In<int64_t> sliceindex, Int sliceinnerlen, Any fromstarts, Any fromstops,
                 Int contentlen, Record record) {
                const auto count = [&](Int i) {
                  const Int slice_start = slicestarts[i], slice_stop = slicestops[i];
                  Var<int64_t> result = 0;
                  If(slice_start != slice_stop, [&] {
                    const Int start = Wide(fromstarts[i]), stop = Wide(fromstops[i]);
                    If(Passes(record, i,
                              {slice_stop<slice_start, slice_stop> sliceinnerlen, stop < start,
                               start != stop && stop > contentlen}),
                       [&] { result = slice_stop - slice_start; });
                  });
                  return result;
                };
                if (to.Count(sliceouterlen, count)) return;
                // A row that has made a mistake counts for none, so that nothing more is done with it.
                ForEachRow(sliceouterlen, [&](Int i, Lane lane) {
                  const Int start = Wide(fromstarts[i]), list = Wide(fromstops[i]) - start;
                  const Int slice_start = slicestarts[i];
                  InRow(lane, 0, to[i + 1] - to[i], [&](Int d) {
                    const Int x = sliceindex[slice_start + d];
                    If(x < -list || x >= list, [&] { Fail(record, i, 4); }).Else([&] {
                      tocarry[to[i] + d] = start + Select(x >= 0, x, x + list);
                    });
                  });
                });
                ForEach(sliceouterlen + 1, [&](Int i) { tooffsets[i] = to[i]; });
              },
              {kSliceStopBeforeStart, kSlicePastContent, kStopBeforeStart, "stops[i] > len(content)",
               "index out of range"}),

      // carrylen[0] = the sum of the slice rows' lengths.
      Reduced("ListArray_getitem_jagged_carrylen", "carrylen", 0, sliceouterlen,
              [](Out<int64_t> carrylen, In<int64_t> slicestarts, In<int64_t> slicestops, Int sliceouterlen) {
                SumInto(carrylen[0], sliceouterlen, [&](Int i) { return slicestops[i] - slicestarts[i]; });
              }),

      // tooffsets = slicestarts[0] (0 where there is no row) + the sums of the lists' lengths, which must be the slice
      // rows'.
      Scanned("ListArray_getitem_jagged_descend", {sliceouterlen}, Of({"sliceouterlen"}, 1),
              [](Scan to, Out<int64_t> tooffsets, In<int64_t> slicestarts, In<int64_t> slicestops, Int sliceouterlen,
                 Any fromstarts, Any fromstops, Record record) {
                const auto count = [&](Int i) {
                  const Int list = Wide(fromstops[i]) - Wide(fromstarts[i]);
                  return Select(Passes(record, i, {slicestops[i] - slicestarts[i] != list}), list, 0);
                };
                if (to.Count(sliceouterlen, count)) return;
                ForEach(sliceouterlen + 1, [&](Int i) {
                  Var<int64_t> base = 0;
                  If(sliceouterlen > 0, [&] { base = slicestarts[0]; });
                  tooffsets[i] = base + to[i];
                });
              },
              {"jagged slice inner length differs from array inner length"}),

      // One slice for every list: for p = i * jaggedsize + j, multistarts[p] = singleoffsets[j], multistops[p] =
      // singleoffsets[j + 1], tocarry[p] = fromstarts[i] + j.
      Map("ListArray_getitem_jagged_expand", rows,
          [](Out<int64_t> multistarts, Out<int64_t> multistops, In<int64_t> singleoffsets, Out<int64_t> tocarry,
             Any fromstarts, Any fromstops, Int jaggedsize, Int length, Record record) {
            ForEachRow(length, [&](Int i, Lane lane) {
              const Int start = Wide(fromstarts[i]), list = Wide(fromstops[i]) - start;
              If(Passes(record, i, {list < 0, list != jaggedsize}), [&] {
                InRow(lane, 0, jaggedsize, [&](Int j) {
                  const Int p = i * jaggedsize + j;
                  multistarts[p] = singleoffsets[j];
                  multistops[p] = singleoffsets[j + 1];
                  tocarry[p] = start + j;
                });
              });
            });
          },
          {kStopBeforeStart, "cannot fit jagged slice into nested list"}),

      // numvalid[0] = how many entries of all slice rows are not missing.
      Reduced("ListArray_getitem_jagged_numvalid", "numvalid", 0, rows,
              [](Out<int64_t> numvalid, In<int64_t> slicestarts, In<int64_t> slicestops, Int length,
                 In<int64_t> missing, Int missinglength, Record record) {
                Var<int64_t> valid = 0;
                ForEachRow(length, [&](Int i, Lane lane) {
                  const Int start = slicestarts[i], stop = slicestops[i];
                  If(start != stop, [&] {
                    If(Passes(record, i, {stop<start, stop> missinglength}),
                       [&] { InRow(lane, start, stop, [&](Int j) { valid += Wide(missing[j] >= 0); }); });
                  });
                });
                GridReduceAdd(numvalid[0], Int(valid));
              },
              {kSliceStopBeforeStart, kSlicePastContent}),

      // tocarry = the entries of all slice rows that are not missing, in order. tosmalloffsets and tolargeoffsets =
      // slicestarts[0] (0 where there is no row) + the sums of how many those are, and of the slice rows' lengths.
      Scanned("ListArray_getitem_jagged_shrink", {Of({"missing"}), Of({"length"}), Of({"length"})}, rows,
              [](Scan rank, Scan small, Scan large, Out<int64_t> tocarry, Out<int64_t> tosmalloffsets,
                 Out<int64_t> tolargeoffsets, In<int64_t> slicestarts, In<int64_t> slicestops, Int length,
                 In<int64_t> missing) {
                if (rank.Count(missing.size(), [&](Int j) { return missing[j] >= 0; })) return;
                const auto valid_in_row = [&](Int i) {
                  const Int start = slicestarts[i];
                  return rank[max(slicestops[i], start)] - rank[start];
                };
                if (small.Count(length, valid_in_row)) return;
                if (large.Count(length, [&](Int i) { return slicestops[i] - slicestarts[i]; })) return;
                ForEachRow(length, [&](Int i, Lane lane) {
                  const Int shift = small[i] - rank[slicestarts[i]];
                  InRow(lane, slicestarts[i], slicestops[i],
                        [&](Int j) { If(missing[j] >= 0, [&] { tocarry[rank[j] + shift] = j; }); });
                });
                ForEach(length + 1, [&](Int i) {
                  Var<int64_t> base = 0;
                  If(length > 0, [&] { base = slicestarts[0]; });
                  tosmalloffsets[i] = base + small[i];
                  tolargeoffsets[i] = base + large[i];
                });
              }),
  };
}

}  // namespace slipway::jagged
