// Unions: element i is element index[i] of the content that tags[i] names.
#include "examples/jagged/family.h"
#include "examples/jagged/kernel_words.h"
#include "examples/jagged/pointer_table.h"

namespace slipway::jagged {
namespace {

// The length of the list that element i of a union of lists is; its content's offsets are array tags[i] of a table.
Int LengthOfList(const In<int8_t>& tags, const Any& index, const PointerTable& offsetsraws, const Int& i) {
  const Int tag = Wide(tags[i]), x = Wide(index[i]);
  return LoadFrom(offsetsraws, tag, x + 1) - LoadFrom(offsetsraws, tag, x);
}

// With k = the sums of fromcounts before: for d < fromcounts[i] and p = tmpstarts[i] + d, totags[p] = tag and
// toindex[p] = k[i] + d. Then tmpstarts[i] += fromcounts[i]. Where several rows write one position the last of them has
// it, as in a loop over the rows: each position first learns which row that is.
void NestedFill(Call& call) {
  static const GenericKernel kFindOwners = MakeGenericKernel(
      "UnionArray_nestedfill_owners", [](Out<int64_t> owner, Out<int64_t>, Any, Any, Out<int64_t> tmpstarts, AnyNumber,
                                         In<int64_t> fromcounts, Int length) {
        ForEachRow(length, [&](Int i, Lane lane) {
          InRow(lane, tmpstarts[i], tmpstarts[i] + fromcounts[i], [&](Int p) { AtomicMax(owner[p], i); });
        });
      });
  static const GenericKernel kCount =
      MakeGenericKernel("UnionArray_nestedfill_count",
                        [](Out<int64_t>, Out<int64_t> start, Any, Any, Out<int64_t>, AnyNumber, In<int64_t> fromcounts,
                           Int length) { ForEach(length, [&](Int i) { start[i] = fromcounts[i]; }); });
  static const GenericKernel kFillLists =
      MakeGenericKernel("UnionArray_nestedfill_tags_index",
                        [](Out<int64_t> owner, Out<int64_t> start, Any totags, Any toindex, Out<int64_t> tmpstarts,
                           AnyNumber tag, In<int64_t> fromcounts, Int length) {
                          ForEachRow(length, [&](Int i, Lane lane) {
                            const Int begin = tmpstarts[i];
                            InRow(lane, begin, begin + fromcounts[i], [&](Int p) {
                              If(owner[p] == i, [&] {
                                totags[p] = Cast(totags.dtype(), tag);
                                toindex[p] = Cast(toindex.dtype(), start[i] + (p - begin));
                              });
                            });
                          });
                        });
  static const GenericKernel kAdvance = MakeGenericKernel(
      "UnionArray_nestedfill_advance",
      [](Out<int64_t>, Out<int64_t>, Any, Any, Out<int64_t> tmpstarts, AnyNumber, In<int64_t> fromcounts, Int length) {
        ForEach(length, [&](Int i) { tmpstarts[i] += fromcounts[i]; });
      });
  const int64_t length = call["length"];
  const AnyArray& owner = call.Temporary(call["totags"]);
  const AnyArray& start = call.Temporary(length + 1);
  call.Fill(owner, -1);
  call.Launch(kFindOwners, length * 32, {owner, start});
  call.Launch(kCount, length, {owner, start});
  ExclusiveScan(call, start);
  call.Launch(kFillLists, length * 32, {owner, start});
  call.Launch(kAdvance, length, {owner, start});
}

}  // namespace

std::vector<Family> UnionFamilies() {
  const Size length = Of({"length"});
  return {
      // toindex[toindexoffset + i] = fromindex[i].
      Map("UnionArray_fillindex", length,
          [](Out<int64_t> toindex, Int toindexoffset, Any fromindex, Int length) {
            ForEach(length, [&](Int i) { toindex[toindexoffset + i] = Wide(fromindex[i]); });
          }),

      // toindex[toindexoffset + i] = i.
      Map("UnionArray_fillindex_count", length,
          [](Out<int64_t> toindex, Int toindexoffset, Int length) {
            ForEach(length, [&](Int i) { toindex[toindexoffset + i] = i; });
          }),

      // toindex[i] = max(fromindex[i], 0).
      Map("UnionArray_fillna", length,
          [](Out<int64_t> toindex, Any fromindex, Int length) {
            ForEach(length, [&](Int i) { toindex[i] = max(Wide(fromindex[i]), 0); });
          }),

      // totags[totagsoffset + i] = fromtags[i] + base.
      Map("UnionArray_filltags", length,
          [](Out<int8_t> totags, Int totagsoffset, In<int8_t> fromtags, Int length, Int base) {
            ForEach(length, [&](Int i) { totags[totagsoffset + i] = Cast<int8_t>(Wide(fromtags[i]) + base); });
          }),

      // totags[totagsoffset + i] = base.
      Map("UnionArray_filltags_const", length,
          [](Out<int8_t> totags, Int totagsoffset, Int length, Int base) {
            ForEach(length, [&](Int i) { totags[totagsoffset + i] = Cast<int8_t>(base); });
          }),

      // The lists that the elements are, one after the other: tooffsets = the sums of their lengths; for element d of
      // the
      // i-th, totags = fromtags[i] and toindex = where it begins in its content + d.
      Scanned("UnionArray_flatten_combine", {length}, Rows({"length"}),
              [](Scan start, Out<int8_t> totags, Out<int64_t> toindex, Out<int64_t> tooffsets, In<int8_t> fromtags,
                 Any fromindex, Int length, PointerTable offsetsraws) {
                if (start.Count(length, [&](Int i) { return LengthOfList(fromtags, fromindex, offsetsraws, i); })) {
                  return;
                }
                ForEachRow(length, [&](Int i, Lane lane) {
                  const Int begin = start[i];
                  const Int from = LoadFrom(offsetsraws, Wide(fromtags[i]), Wide(fromindex[i]));
                  InRow(lane, begin, start[i + 1], [&](Int p) {
                    totags[p] = fromtags[i];
                    toindex[p] = from + (p - begin);
                  });
                });
                ForEach(length + 1, [&](Int i) { tooffsets[i] = start[i]; });
              }),

      // total_length[0] = the sum of their lengths.
      Reduced("UnionArray_flatten_length", "total_length", 0, length,
              [](Out<int64_t> total_length, In<int8_t> fromtags, Any fromindex, Int length, PointerTable offsetsraws) {
                SumInto(total_length[0], length,
                        [&](Int i) { return LengthOfList(fromtags, fromindex, offsetsraws, i); });
              }),

      {"UnionArray_nestedfill_tags_index", NestedFill},

      // tocarry = fromindex[i] where fromtags[i] == which, in order; lenout[0] = their number.
      Scanned("UnionArray_project", {length}, Of({"length"}, 1),
              [](Scan rank, Out<int64_t> lenout, Out<int64_t> tocarry, In<int8_t> fromtags, Any fromindex, Int length,
                 Int which) {
                const auto is_chosen = [&](Int i) { return Wide(fromtags[i]) == which; };
                if (rank.Count(length, is_chosen)) return;
                ForEach(length + 1, [&](Int i) {
                  If(i == length, [&] { lenout[0] = rank[length]; }).Else([&] {
                    If(is_chosen(i), [&] { tocarry[rank[i]] = Wide(fromindex[i]); });
                  });
                });
              }),

      // toindex[i] = the number of earlier positions with the same tag; current[t] = that of all with tag t < size. One
      // scan counts for all tags: element t * length + i is whether position i has tag t.
      Scanned(
          "UnionArray_regular_index", {Of({"size", "length"})},
          [](Call& call) { return call["size"] + call["length"]; },
          [](Scan rank, Any toindex, Any current, Int size, Any fromtags, Int length) {
            const auto has_tag = [&](Int k) { return Wide(fromtags[k % length]) == k / length; };
            if (rank.Count(size * length, has_tag)) return;
            ForEach(length, [&](Int i) {
              const Int first = Wide(fromtags[i]) * length;
              toindex[i] = Cast(toindex.dtype(), rank[first + i] - rank[first]);
            });
            ForEach(size,
                    [&](Int t) { current[t] = Cast(current.dtype(), rank[(t + 1) * length] - rank[t * length]); });
          }),

      // size[0] = 1 + the largest tag, at least 1.
      Reduced("UnionArray_regular_index_getsize", "size", 1, length,
              [](Out<int64_t> size, Any fromtags, Int length) {
                MaxInto(size[0], length, [&](Int i) { return Wide(fromtags[i]) + 1; });
              }),

      // Where outertags[i] == outerwhich and innertags[j] == innerwhich, with j = outerindex[i]: totags[i] = towhich,
      // toindex[i] = innerindex[j] + base. Other positions are left alone.
      Map("UnionArray_simplify", length,
          [](Out<int8_t> totags, Out<int64_t> toindex, Any outertags, Any outerindex, In<int8_t> innertags,
             Any innerindex, Int towhich, Int innerwhich, Int outerwhich, Int length, Int base) {
            ForEach(length, [&](Int i) {
              If(Wide(outertags[i]) == outerwhich, [&] {
                const Int j = Wide(outerindex[i]);
                If(Wide(innertags[j]) == innerwhich, [&] {
                  totags[i] = Cast<int8_t>(towhich);
                  toindex[i] = Wide(innerindex[j]) + base;
                });
              });
            });
          }),

      // Where fromtags[i] == fromwhich: totags[i] = towhich, toindex[i] = fromindex[i] + base. Other positions are left
      // alone.
      Map("UnionArray_simplify_one", length,
          [](Out<int8_t> totags, Out<int64_t> toindex, Any fromtags, Any fromindex, Int towhich, Int fromwhich,
             Int length, Int base) {
            ForEach(length, [&](Int i) {
              If(Wide(fromtags[i]) == fromwhich, [&] {
                totags[i] = Cast<int8_t>(towhich);
                toindex[i] = Wide(fromindex[i]) + base;
              });
            });
          }),

      Map("UnionArray_validity", length,
          [](In<int8_t> tags, Any index, Int length, Int numcontents, In<int64_t> lencontents, Record record) {
            ForEach(length, [&](Int i) {
              const Int tag = Wide(tags[i]), value = Wide(index[i]);
              If(Passes(record, i, {tag < 0, value < 0, tag >= numcontents}),
                 [&] { If(value >= lencontents[tag], [&] { Fail(record, i, 3); }); });
            });
          },
          {"tags[i] < 0", "index[i] < 0", "tags[i] >= len(contents)", "index[i] >= len(content[tags[i]])"}),
  };
}

}  // namespace slipway::jagged
