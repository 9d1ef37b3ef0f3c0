// Indices into a content, in int32, int64 or uint32, where negative ones stand for what is missing.
#include "examples/jagged/family.h"
#include "examples/jagged/kernel_words.h"
#include "examples/jagged/valid_elements.h"

namespace slipway::jagged {
namespace {

constexpr char kOutOfRange[] = "index out of range";

// c_i of the ranges: how many of the indices from fromstarts[i] on, up to but not including fromstops[i], are not
// negative, where `rank` counts them.
Int ValidInRange(const Scan& rank, const In<int64_t>& fromstarts, const In<int64_t>& fromstops, const Int& i) {
  const Int start = fromstarts[i];
  return rank[max(fromstops[i], start)] - rank[start];
}

}  // namespace

std::vector<Family> IndexedFamilies() {
  const Size length = Of({"length"});
  const Size lenindex = Of({"lenindex"});
  const Size in_bins = [](Call& call) { return call["outlength"] == 0 ? 0 : call["fromindex"]; };
  return {
      // toindex[i] = i.
      Map("localindex", length,
          [](Out<int64_t> toindex, Int length) { ForEach(length, [&](Int i) { toindex[i] = i; }); }),

      // toindex[i] = i if i < length, else -1; i < target.
      Map("index_rpad_and_clip_axis0", Of({"target"}),
          [](Out<int64_t> toindex, Int target, Int length) {
            ForEach(target, [&](Int i) { toindex[i] = Select(i < length, i, -1); });
          }),

      // tostarts[i] = i * target, tostops[i] = (i + 1) * target.
      Map("index_rpad_and_clip_axis1", length,
          [](Out<int64_t> tostarts, Out<int64_t> tostops, Int target, Int length) {
            ForEach(length, [&](Int i) {
              tostarts[i] = i * target;
              tostops[i] = (i + 1) * target;
            });
          }),

      // For r < repetitions, j < indexlength: outindex[r * indexlength + j] = index[j] + r * regularsize where
      // index[j] >= 0, else index[j].
      Map("missing_repeat", Of({"indexlength", "repetitions"}),
          [](Out<int64_t> outindex, In<int64_t> index, Int indexlength, Int repetitions, Int regularsize) {
            ForEach(indexlength * repetitions, [&](Int p) {
              const Int base = index[p % indexlength];
              outindex[p] = Select(base >= 0, base + p / indexlength * regularsize, base);
            });
          }),

      // In place: the r-th entry that is -1 becomes m + r, where m is the number of entries that are not.
      Scanned("Index_nones_as_index", {length}, length,
              [](Scan rank, Out<int64_t> toindex, Int length) {
                if (rank.Count(length, [&](Int i) { return toindex[i] != -1; })) return;
                ForEach(length,
                        [&](Int i) { If(toindex[i] == -1, [&] { toindex[i] = rank[length] + (i - rank[i]); }); });
              }),

      // toindex[toindexoffset + i] = -1 where fromindex[i] < 0, else fromindex[i] + base.
      Map("IndexedArray_fill", length,
          [](Out<int64_t> toindex, Int toindexoffset, Any fromindex, Int length, Int base) {
            ForEach(length, [&](Int i) {
              const Int index = Wide(fromindex[i]);
              toindex[toindexoffset + i] = Select(index < 0, -1, index + base);
            });
          }),

      // toindex[toindexoffset + i] = i + base.
      Map("IndexedArray_fill_count", length,
          [](Out<int64_t> toindex, Int toindexoffset, Int length, Int base) {
            ForEach(length, [&](Int i) { toindex[toindexoffset + i] = i + base; });
          }),

      // tocarry = the indices that are not negative, in order.
      Scanned("IndexedArray_flatten_nextcarry", {lenindex}, lenindex,
              [](Scan rank, Out<int64_t> tocarry, Any fromindex, Int lenindex, Int lencontent, Record record) {
                const auto count = [&](Int i) {
                  const Int index = Wide(fromindex[i]);
                  return Passes(record, i, {index >= lencontent}) && index >= 0;
                };
                if (rank.Count(lenindex, count)) return;
                ForEach(lenindex, [&](Int i) {
                  const Int index = Wide(fromindex[i]);
                  If(index >= 0 && index < lencontent, [&] { tocarry[rank[i]] = index; });
                });
              },
              {kOutOfRange}),

      // outoffsets[i] = offsets[0] + the lengths of the lists that outindex chooses before i; a missing one is empty.
      Scanned("IndexedArray_flatten_none2empty", {Of({"outindexlength"})}, Of({"outindexlength"}, 1),
              [](Scan start, Out<int64_t> outoffsets, Any outindex, Int outindexlength, In<int64_t> offsets,
                 Int offsetslength, Record record) {
                const auto list_length = [&](Int i) {
                  Var<int64_t> result = 0;
                  const Int index = Wide(outindex[i]);
                  If(Passes(record, i, {index >= 0 && index + 1 >= offsetslength}) && index >= 0,
                     [&] { result = offsets[index + 1] - offsets[index]; });
                  return result;
                };
                if (start.Count(outindexlength, list_length)) return;
                ForEach(outindexlength + 1, [&](Int i) { outoffsets[i] = offsets[0] + start[i]; });
              },
              {"flattening offset out of range"}),

      // tocarry[i] = fromindex[i].
      Map("IndexedArray_getitem_nextcarry", lenindex,
          [](Out<int64_t> tocarry, Any fromindex, Int lenindex, Int lencontent, Record record) {
            ForEach(lenindex, [&](Int i) {
              const Int index = Wide(fromindex[i]);
              If(Passes(record, i, {index < 0 || index >= lencontent}), [&] { tocarry[i] = index; });
            });
          },
          {kOutOfRange}),

      // tocarry = the indices that are not negative, in order; toindex[i] = the rank of i among them, or -1.
      Scanned(
          "IndexedArray_getitem_nextcarry_outindex", {lenindex}, lenindex,
          [](Scan rank, Out<int64_t> tocarry, Any toindex, Any fromindex, Int lenindex, Int lencontent, Record record) {
            const auto count = [&](Int i) {
              const Int index = Wide(fromindex[i]);
              return Passes(record, i, {index >= lencontent}) && index >= 0;
            };
            if (rank.Count(lenindex, count)) return;
            ForEach(lenindex, [&](Int i) {
              const Int index = Wide(fromindex[i]);
              If(index < 0, [&] { toindex[i] = Cast(toindex.dtype(), -1); }).Else([&] {
                If(index < lencontent, [&] {
                  tocarry[rank[i]] = index;
                  toindex[i] = Cast(toindex.dtype(), rank[i]);
                });
              });
            });
          },
          {kOutOfRange}),

      // For the r-th missing element of all bins b < outlength, at i: toindex[r] = i - starts[b].
      Scanned(
          "IndexedArray_index_of_nulls", {in_bins}, Rows({"outlength"}),
          [](Scan rank, Out<int64_t> toindex, Any fromindex, In<int64_t> offsets, Int outlength, In<int64_t> starts) {
            const auto is_null = [&](Int i) { return Wide(fromindex[i]) < 0; };
            if (rank.Count(fromindex.size(), is_null)) return;
            ForEachRow(outlength, [&](Int b, Lane lane) {
              InRow(lane, offsets[b], offsets[b + 1],
                    [&](Int i) { If(is_null(i), [&] { toindex[rank[i] - rank[offsets[0]]] = i - starts[b]; }); });
            });
          }),

      // For bin b and i in [offsets[b], offsets[b + 1]): v = nextoffsets[b] + i - offsets[b];
      // tocarry[i] = v if v < nextoffsets[b + 1], else -1. `starts` is not used.
      Map("IndexedArray_local_preparenext_64", Rows({"outlength"}),
          [](Out<int64_t> tocarry, In<int64_t> starts, In<int64_t> offsets, In<int64_t> nextoffsets, Int outlength) {
            ForEachRow(outlength, [&](Int b, Lane lane) {
              const Int begin = offsets[b], next = nextoffsets[b], next_end = nextoffsets[b + 1];
              InRow(lane, begin, offsets[b + 1], [&](Int i) {
                const Int v = next + (i - begin);
                tocarry[i] = Select(v < next_end, v, -1);
              });
            });
          }),

      // numnull[0] = how many are negative.
      Reduced("IndexedArray_numnull", "numnull", 0, lenindex,
              [](Out<int64_t> numnull, Any fromindex, Int lenindex) {
                SumInto(numnull[0], lenindex, [&](Int i) { return Wide(fromindex[i]) < 0; });
              }),

      // numnull[i] = 1 where fromindex[i] < 0, else 0; tolength[0] = their sum.
      Reduced("IndexedArray_numnull_parents", "tolength", 0, lenindex,
              [](Out<int64_t> numnull, Out<int64_t> tolength, Any fromindex, Int lenindex) {
                SumInto(tolength[0], lenindex, [&](Int i) {
                  const Int is_null = Wide(Wide(fromindex[i]) < 0);
                  numnull[i] = is_null;
                  return is_null;
                });
              }),

      // toindex[i] = i for i < lenindex; toindex[lenindex] = -1.
      Map("IndexedArray_numnull_unique_64", Of({"lenindex"}, 1),
          [](Out<int64_t> toindex, Int lenindex) {
            ForEach(lenindex + 1, [&](Int i) { toindex[i] = Select(i < lenindex, i, -1); });
          }),

      // toindex[i] = -1 where mask[i] != 0, else fromindex[i].
      Map("IndexedArray_overlay_mask", length,
          [](Out<int64_t> toindex, In<int8_t> mask, Any fromindex, Int length) {
            ForEach(length, [&](Int i) { toindex[i] = Select(mask[i] != 0, -1, Wide(fromindex[i])); });
          }),

      // tostarts = the sums of the c_i before, tostops = those with c_i, tolength[0] = the sum of all.
      Scanned("IndexedArray_ranges_next_64", {Of({"index"}), length}, Of({"length"}, 1),
              [](Scan rank, Scan start, Any index, In<int64_t> fromstarts, In<int64_t> fromstops, Int length,
                 Out<int64_t> tostarts, Out<int64_t> tostops, Out<int64_t> tolength) {
                if (rank.Count(index.size(), [&](Int p) { return Wide(index[p]) >= 0; })) return;
                if (start.Count(length, [&](Int i) { return ValidInRange(rank, fromstarts, fromstops, i); })) return;
                ForEach(length + 1, [&](Int i) {
                  If(i < length, [&] {
                    tostarts[i] = start[i];
                    tostops[i] = start[i + 1];
                  }).Else([&] { tolength[0] = start[length]; });
                });
              }),

      // tocarry = the indices in all the ranges that are not negative, in order.
      Scanned("IndexedArray_ranges_carry_next_64", {Of({"index"}), length}, Rows({"length"}),
              [](Scan rank, Scan start, Any index, In<int64_t> fromstarts, In<int64_t> fromstops, Int length,
                 Out<int64_t> tocarry) {
                if (rank.Count(index.size(), [&](Int p) { return Wide(index[p]) >= 0; })) return;
                if (start.Count(length, [&](Int i) { return ValidInRange(rank, fromstarts, fromstops, i); })) return;
                ForEachRow(length, [&](Int i, Lane lane) {
                  const Int shift = start[i] - rank[fromstarts[i]];
                  InRow(lane, fromstarts[i], fromstops[i], [&](Int p) {
                    const Int value = Wide(index[p]);
                    If(value >= 0, [&] { tocarry[rank[p] + shift] = value; });
                  });
                });
              }),

      Scanned("IndexedArray_reduce_next_64", {[](Call& call) { return call["outlength"] == 0 ? 0 : call["index"]; }},
              Of({"index"}, 1),
              [](Scan rank, Out<int64_t> nextcarry, Out<int64_t> nextoffsets, Out<int64_t> outindex, Any index,
                 In<int64_t> offsets, Int outlength) {
                ReduceNext(
                    rank, nextcarry, nextoffsets, outindex, index.size(), offsets, outlength,
                    [&](Int i) { return Wide(index[i]) >= 0; }, [&](Int i) { return Wide(index[i]); });
              }),

      // outoffsets[i] = starts[i] for i < startslength; outoffsets[startslength] = outindexlength.
      Map("IndexedArray_reduce_next_fix_offsets_64", Of({"startslength"}, 1),
          [](Out<int64_t> outoffsets, In<int64_t> starts, Int startslength, Int outindexlength) {
            ForEach(startslength + 1, [&](Int i) {
              If(i < startslength, [&] { outoffsets[i] = starts[i]; }).Else([&] { outoffsets[i] = outindexlength; });
            });
          }),

      Scanned("IndexedArray_reduce_next_nonlocal_nextshifts_64", {length}, length,
              [](Scan rank, Out<int64_t> nextshifts, Any index, Int length) {
                NextShifts(
                    rank, nextshifts, length, [&](Int i) { return Wide(index[i]) >= 0; }, [](Int) { return 0; });
              }),

      Scanned("IndexedArray_reduce_next_nonlocal_nextshifts_fromshifts_64", {length}, length,
              [](Scan rank, Out<int64_t> nextshifts, Any index, Int length, In<int64_t> shifts) {
                NextShifts(
                    rank, nextshifts, length, [&](Int i) { return Wide(index[i]) >= 0; },
                    [&](Int i) { return shifts[i]; });
              }),

      // With j = outerindex[i]: toindex[i] = -1 where j < 0, else innerindex[j] as it is.
      Map("IndexedArray_simplify", Of({"outerlength"}),
          [](Out<int64_t> toindex, Any outerindex, Int outerlength, Any innerindex, Int innerlength, Record record) {
            ForEach(outerlength, [&](Int i) {
              const Int j = Wide(outerindex[i]);
              If(j < 0, [&] { toindex[i] = -1; }).Else([&] {
                If(Passes(record, i, {j >= innerlength}), [&] { toindex[i] = Wide(innerindex[j]); });
              });
            });
          },
          {kOutOfRange}),

      Map("IndexedArray_validity", length,
          [](Any index, Int length, Int lencontent, Bool isoption, Record record) {
            ForEach(length, [&](Int i) {
              const Int value = Wide(index[i]);
              Passes(record, i, {!isoption && value < 0, value >= lencontent});
            });
          },
          {"index[i] < 0", "index[i] >= len(content)"}),

      // The r-th i with index[i] >= 0: starts_out[r] = starts_in[i], stops_out[r] = stops_in[i].
      Scanned("MaskedArray_getitem_next_jagged_project", {length}, length,
              [](Scan rank, Any index, In<int64_t> starts_in, In<int64_t> stops_in, Out<int64_t> starts_out,
                 Out<int64_t> stops_out, Int length) {
                const auto is_valid = [&](Int i) { return Wide(index[i]) >= 0; };
                if (rank.Count(length, is_valid)) return;
                ForEach(length, [&](Int i) {
                  If(is_valid(i), [&] {
                    starts_out[rank[i]] = starts_in[i];
                    stops_out[rank[i]] = stops_in[i];
                  });
                });
              }),

      // With k = the number of valid entries of index_in before i: starts_out[i] = offsets_in[k]; where i is valid,
      // mask_out[i] = i and stops_out[i] = offsets_in[k + 1], else -1 and offsets_in[k].
      Scanned("Content_getitem_next_missing_jagged_getmaskstartstop", {length}, length,
              [](Scan rank, In<int64_t> index_in, In<int64_t> offsets_in, Out<int64_t> mask_out,
                 Out<int64_t> starts_out, Out<int64_t> stops_out, Int length) {
                const auto is_valid = [&](Int i) { return index_in[i] >= 0; };
                if (rank.Count(length, is_valid)) return;
                ForEach(length, [&](Int i) {
                  const Bool valid = is_valid(i);
                  starts_out[i] = offsets_in[rank[i]];
                  stops_out[i] = offsets_in[rank[i] + Wide(valid)];
                  mask_out[i] = Select(valid, i, -1);
                });
              }),
  };
}

}  // namespace slipway::jagged
