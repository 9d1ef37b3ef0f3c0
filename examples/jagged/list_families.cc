// Lists of varying length: row i is the elements from starts[i] to stops[i] - 1 (ListArray), or from offsets[i] to
// offsets[i + 1] - 1 (ListOffsetArray).
#include "examples/jagged/family.h"
#include "examples/jagged/kernel_words.h"

namespace slipway::jagged {
namespace {

// Stores in toindex[p], for p from `begin` on, the positions of a list of `count` elements at `from`, then -1 up to but
// not including `end`.
void PadRow(const Out<int64_t>& toindex, const Lane& lane, const Int& begin, const Int& end, const Int& from,
            const Int& count) {
  InRow(lane, begin, end, [&](Int p) {
    const Int d = p - begin;
    toindex[p] = Select(d < count, from + d, -1);
  });
}

Int LengthOf(const Any& starts, const Any& stops, const Int& i) { return Wide(stops[i]) - Wide(starts[i]); }
Int LengthOf(const Any& offsets, const Int& i) { return Wide(offsets[i + 1]) - Wide(offsets[i]); }

}  // namespace

std::vector<Family> ListFamilies() {
  const Size length = Of({"length"});
  const Size length_and_one = Of({"length"}, 1);
  const Size rows = Rows({"length"});
  const Size lenstarts = Of({"lenstarts"});
  const Size fromlength = Of({"fromlength"});
  return {
      // tocarry = the positions of all lists, which must have the lengths that fromoffsets gives.
      Scanned("ListArray_broadcast_tooffsets", {Of({"offsetslength"}, -1)}, Rows({"offsetslength"}),
              [](Scan start, Out<int64_t> tocarry, In<int64_t> fromoffsets, Int offsetslength, Any fromstarts,
                 Any fromstops, Int lencontent, Record record) {
                const auto count = [&](Int i) {
                  const Int from = Wide(fromstarts[i]), to = Wide(fromstops[i]);
                  const Int wanted = fromoffsets[i + 1] - fromoffsets[i];
                  return Select(Passes(record, i, {from != to && to > lencontent, wanted < 0, to - from != wanted}),
                                wanted, 0);
                };
                if (start.Count(offsetslength - 1, count)) return;
                ForEachRow(offsetslength - 1, [&](Int i, Lane lane) {
                  const Int begin = start[i], from = Wide(fromstarts[i]);
                  InRow(lane, begin, start[i + 1], [&](Int p) { tocarry[p] = from + (p - begin); });
                });
              },
              {"stops[i] > len(content)", "broadcast's offsets must be monotonically increasing",
               "cannot broadcast nested list"}),

      // tooffsets = the sums of the lengths.
      Scanned("ListArray_compact_offsets", {length}, length_and_one,
              [](Scan start, Out<int64_t> tooffsets, Any fromstarts, Any fromstops, Int length, Record record) {
                const auto count = [&](Int i) {
                  const Int result = LengthOf(fromstarts, fromstops, i);
                  return Select(Passes(record, i, {result < 0}), result, 0);
                };
                if (start.Count(length, count)) return;
                ForEach(length + 1, [&](Int i) { tooffsets[i] = start[i]; });
              },
              {"stops[i] < starts[i]"}),

      // tostarts[tostartsoffset + i] = fromstarts[i] + base; tostops[tostopsoffset + i] = fromstops[i] + base.
      Map("ListArray_fill", length,
          [](Out<int64_t> tostarts, Int tostartsoffset, Out<int64_t> tostops, Int tostopsoffset, Any fromstarts,
             Any fromstops, Int length, Int base) {
            ForEach(length, [&](Int i) {
              tostarts[tostartsoffset + i] = Wide(fromstarts[i]) + base;
              tostops[tostopsoffset + i] = Wide(fromstops[i]) + base;
            });
          }),

      // toindex[p] = p - offsets[i] for p in [offsets[i], offsets[i + 1]).
      Map("ListArray_localindex", rows,
          [](Out<int64_t> toindex, Any offsets, Int length) {
            ForEachRow(length, [&](Int i, Lane lane) {
              const Int begin = Wide(offsets[i]);
              InRow(lane, begin, Wide(offsets[i + 1]), [&](Int p) { toindex[p] = p - begin; });
            });
          }),

      // tomin[0] = the smallest length; nothing is written where there is no list.
      {"ListArray_min_range",
       [](Call& call) {
         static const GenericKernel kMin = MakeGenericKernel(
             "ListArray_min_range", [](Out<int64_t> tomin, Any fromstarts, Any fromstops, Int lenstarts) {
               MinInto(tomin[0], lenstarts, [&](Int i) { return LengthOf(fromstarts, fromstops, i); });
             });
         const int64_t lenstarts = call["lenstarts"];
         if (lenstarts == 0) return;
         call.SetFirst("tomin", INT64_MAX);
         call.Launch(kMin, lenstarts);
       }},

      // tomin[0] = the sum of the lengths, each at least `target`.
      Reduced("ListArray_rpad_and_clip_length_axis1", "tomin", 0, lenstarts,
              [](Out<int64_t> tomin, Any fromstarts, Any fromstops, Int target, Int lenstarts) {
                SumInto(tomin[0], lenstarts, [&](Int i) { return max(target, LengthOf(fromstarts, fromstops, i)); });
              }),

      // Each list padded with -1 to at least `target` elements, one after the other: list i is toindex[tostarts[i]] to
      // toindex[tostops[i] - 1].
      Scanned("ListArray_rpad_axis1", {length}, rows,
              [](Scan start, Out<int64_t> toindex, Any fromstarts, Any fromstops, Any tostarts, Any tostops, Int target,
                 Int length) {
                if (start.Count(length, [&](Int i) { return max(target, LengthOf(fromstarts, fromstops, i)); })) return;
                ForEachRow(length, [&](Int i, Lane lane) {
                  If(lane == 0, [&] {
                    tostarts[i] = Cast(tostarts.dtype(), start[i]);
                    tostops[i] = Cast(tostops.dtype(), start[i + 1]);
                  });
                  PadRow(toindex, lane, start[i], start[i + 1], Wide(fromstarts[i]),
                         LengthOf(fromstarts, fromstops, i));
                });
              }),

      Map("ListArray_validity", length,
          [](Any starts, Any stops, Int length, Int lencontent, Record record) {
            ForEach(length, [&](Int i) {
              const Int start = Wide(starts[i]), stop = Wide(stops[i]);
              If(start != stop, [&] { Passes(record, i, {start > stop, start<0, stop> lencontent}); });
            });
          },
          {"start[i] > stop[i]", "start[i] < 0", "stop[i] > len(content)"}),

      // tooffsets[i] = fromoffsets[i] - the number of negative noneindexes in the lists before i. A list that ends
      // before it begins has none.
      Scanned("ListOffsetArray_drop_none_indexes", {Of({"noneindexes"}), Of({"length_offsets"})},
              Of({"length_offsets"}),
              [](Scan rank, Scan dropped, Any tooffsets, Any noneindexes, Any fromoffsets, Int length_offsets,
                 Int length_indexes) {
                if (rank.Count(noneindexes.size(), [&](Int j) { return Wide(noneindexes[j]) < 0; })) return;
                const auto count = [&](Int i) {  // In the list that ends at offset i.
                  const Int begin = Wide(fromoffsets[max(i - 1, 0)]);
                  return rank[max(Wide(fromoffsets[i]), begin)] - rank[begin];
                };
                if (dropped.Count(length_offsets, count)) return;
                ForEach(length_offsets,
                        [&](Int i) { tooffsets[i] = Cast(tooffsets.dtype(), Wide(fromoffsets[i]) - dropped[i + 1]); });
              }),

      // tooffsets[i] = inneroffsets[outeroffsets[i]].
      Map("ListOffsetArray_flatten_offsets", Of({"outeroffsetslen"}),
          [](Out<int64_t> tooffsets, Any outeroffsets, Int outeroffsetslen, In<int64_t> inneroffsets) {
            ForEach(outeroffsetslen, [&](Int i) { tooffsets[i] = inneroffsets[Wide(outeroffsets[i])]; });
          }),

      // For i = p / target, j = p % target: toindex[p] = fromoffsets[i] + j if that is below fromoffsets[i + 1], else
      // -1.
      Map("ListOffsetArray_rpad_and_clip_axis1", Of({"length", "target"}),
          [](Out<int64_t> toindex, Any fromoffsets, Int length, Int target) {
            ForEach(length * target, [&](Int p) {
              const Int i = p / target;
              const Int at = Wide(fromoffsets[i]) + p % target;
              toindex[p] = Select(at < Wide(fromoffsets[i + 1]), at, -1);
            });
          }),

      // Each list padded with -1 to at least `target` elements, one after the other.
      Scanned("ListOffsetArray_rpad_axis1", {fromlength}, Rows({"fromlength"}),
              [](Scan start, Out<int64_t> toindex, Any fromoffsets, Int fromlength, Int target) {
                if (start.Count(fromlength, [&](Int i) { return max(target, LengthOf(fromoffsets, i)); })) return;
                ForEachRow(fromlength, [&](Int i, Lane lane) {
                  PadRow(toindex, lane, start[i], start[i + 1], Wide(fromoffsets[i]), LengthOf(fromoffsets, i));
                });
              }),

      // tooffsets = the sums of the lengths, each at least `target`; tolength[0] = the sum of all.
      Scanned("ListOffsetArray_rpad_length_axis1", {fromlength}, Of({"fromlength"}, 1),
              [](Scan start, Any tooffsets, Any fromoffsets, Int fromlength, Int target, Out<int64_t> tolength) {
                if (start.Count(fromlength, [&](Int i) { return max(target, LengthOf(fromoffsets, i)); })) return;
                ForEach(fromlength + 1, [&](Int i) {
                  tooffsets[i] = Cast(tooffsets.dtype(), start[i]);
                  If(i == fromlength, [&] { tolength[0] = start[i]; });
                });
              }),

      // size[0] = the length of the lists, which must be one; 0 where there is no list.
      Map("ListOffsetArray_toRegularArray", Of({"offsetslength"}),
          [](Out<int64_t> size, Any fromoffsets, Int offsetslength, Record record) {
            If(offsetslength <= 1, [&] { size[0] = 0; }).Else([&] {
              const Int first = LengthOf(fromoffsets, 0);
              ForEach(offsetslength - 1, [&](Int i) {
                const Int own = LengthOf(fromoffsets, i);
                If(Passes(record, i, {own < 0, own != first}) && i == 0, [&] { size[0] = own; });
              });
            });
          },
          {"offsets must be monotonically increasing",
           "cannot convert to RegularArray because subarray lengths are not regular"}),

      // The bytes of each list padded with zeros to at least `target`, one after the other.
      Scanned("NumpyArray_pad_zero_to_length", {Of({"offsetslength"}, -1)}, Rows({"offsetslength"}),
              [](Scan start, In<uint8_t> fromptr, Any fromoffsets, Int offsetslength, Int target, Out<uint8_t> toptr) {
                const Int length = offsetslength - 1;
                if (start.Count(length, [&](Int i) { return max(target, LengthOf(fromoffsets, i)); })) return;
                ForEachRow(length, [&](Int i, Lane lane) {
                  const Int begin = start[i], from = Wide(fromoffsets[i]), count = LengthOf(fromoffsets, i);
                  InRow(lane, begin, start[i + 1], [&](Int p) {
                    If(p - begin < count, [&] { toptr[p] = fromptr[from + (p - begin)]; }).Else([&] { toptr[p] = 0; });
                  });
                });
              }),
  };
}

}  // namespace slipway::jagged
