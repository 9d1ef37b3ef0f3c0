// The indices that a reduction along an axis needs before it, and mends after it.
#include <algorithm>

#include "examples/jagged/family.h"
#include "examples/jagged/kernel_words.h"

namespace slipway::jagged {
namespace {

// A group is a column `col` of an outer bin b, which holds the rows from outer_offsets[b] on: `body(row)` for each of
// them, one after the other in one thread. Neighbouring threads are neighbouring columns and read neighbours.
template <class Body>
void DownTheColumn(const In<int64_t>& outer_offsets, const Int& b, const Body& body) {
  For(Range(outer_offsets[b], outer_offsets[b + 1]), body);
}
Int LengthOfRow(const In<int64_t>& offsets, const Int& row) { return offsets[row + 1] - offsets[row]; }

// For row r of an outer bin and col < its length: missing[offsets[r] + col] = the number of earlier rows of the bin
// that are not that long. nummissing[col] = the number of such rows in the last bin. nextshifts[j] =
// missing[nextcarry[j]]. `starts` and `length` are not used.
void NonlocalNextShifts(Call& call) {
  static const GenericKernel kMissing =
      MakeGenericKernel("ListOffsetArray_reduce_nonlocal_missing",
                        [](Out<int64_t> nummissing, Out<int64_t> missing, Out<int64_t> nextshifts, In<int64_t> offsets,
                           Int length, In<int64_t> starts, In<int64_t> outer_offsets, Int outlength, Int maxcount,
                           Int nextlen, In<int64_t> nextcarry) {
                          ForEach(outlength * maxcount, [&](Int group) {
                            const Int b = group / maxcount, col = group % maxcount;
                            Var<int64_t> shorter = 0;
                            DownTheColumn(outer_offsets, b, [&](Int row) {
                              If(LengthOfRow(offsets, row) > col, [&] {
                                missing[offsets[row] + col] = shorter;
                              }).Else([&] { shorter += 1; });
                            });
                            If(b == outlength - 1, [&] { nummissing[col] = shorter; });
                          });
                        });
  static const GenericKernel kShifts = MakeGenericKernel(
      "ListOffsetArray_reduce_nonlocal_nextshifts_64",
      [](Out<int64_t> nummissing, Out<int64_t> missing, Out<int64_t> nextshifts, In<int64_t> offsets, Int length,
         In<int64_t> starts, In<int64_t> outer_offsets, Int outlength, Int maxcount, Int nextlen,
         In<int64_t> nextcarry) { ForEach(nextlen, [&](Int j) { nextshifts[j] = missing[nextcarry[j]]; }); });
  call.Launch(kMissing, call["outlength"] * call["maxcount"]);
  call.Launch(kShifts, call["nextlen"]);
}

// A transpose inside each outer bin of lists: group g = b * maxcount + col has, for the rows of bin b that are longer
// than col, offsets[row] + col. nextcarry is all groups, one after the other, nextoffsets[g + 1] the end of group g;
// distincts[g] = g where it is not empty, else -1, for g < distinctslen; maxnextparents[0] = the last that is not
// empty, -1 if all are. offsetscopy, nextlen and length are not used.
void NonlocalPrepareNext(Call& call) {
  static const ScanPasses kPasses(
      "ListOffsetArray_reduce_nonlocal_preparenext_64",
      [](Scan start, Out<int64_t> nextcarry, Out<int64_t> nextoffsets, Int nextlen, Out<int64_t> maxnextparents,
         Out<int64_t> distincts, Int distinctslen, In<int64_t> offsetscopy, In<int64_t> offsets, Int length,
         In<int64_t> outer_offsets, Int outlength, Int maxcount) {
        const Int groups = outlength * maxcount;
        const auto count = [&](Int group) {
          const Int col = group % maxcount;
          Var<int64_t> longer = 0;
          DownTheColumn(outer_offsets, group / maxcount,
                        [&](Int row) { longer += Wide(LengthOfRow(offsets, row) > col); });
          return longer;
        };
        if (start.Count(groups, count)) return;
        If(GlobalIndex() == 0, [&] { nextoffsets[0] = 0; });
        MaxInto(maxnextparents[0], groups, [&](Int group) {
          const Int col = group % maxcount;
          Var<int64_t> at = start[group];
          DownTheColumn(outer_offsets, group / maxcount, [&](Int row) {
            If(LengthOfRow(offsets, row) > col, [&] {
              nextcarry[at] = offsets[row] + col;
              at += 1;
            });
          });
          nextoffsets[group + 1] = at;
          return Select(at > start[group], group, -1);
        });
        ForEach(distinctslen, [&](Int group) {
          distincts[group] = -1;
          If(group < groups, [&] { If(start[group + 1] > start[group], [&] { distincts[group] = group; }); });
        });
      });
  call.SetFirst("maxnextparents", -1);
  const int64_t groups = call["outlength"] * call["maxcount"];
  kPasses.Run(call, {groups}, std::max(call["distinctslen"], groups + 1));
}

// With R runs of equal parents: outoffsets[r] = the start of run r, from R on lenparents; outcarry[p] = the run whose
// parent is p, and R, R + 1, ... for the p that have none, in order.
void RecordOutOffsets(Call& call) {
  static const GenericKernel kCountRuns =
      MakeGenericKernel("RecordArray_reduce_nonlocal_count_runs",
                        [](Out<int64_t> run, Out<int64_t> run_of, Out<int64_t> absent, Out<int64_t> outoffsets,
                           Out<int64_t> outcarry, In<int64_t> parents, Int lenparents, Int outlength) {
                          ForEach(lenparents, [&](Int i) { run[i] = Wide(BeginsRun(parents, i)); });
                        });
  static const GenericKernel kPlaceRuns =
      MakeGenericKernel("RecordArray_reduce_nonlocal_outoffsets_64",
                        [](Out<int64_t> run, Out<int64_t> run_of, Out<int64_t> absent, Out<int64_t> outoffsets,
                           Out<int64_t> outcarry, In<int64_t> parents, Int lenparents, Int outlength) {
                          ForEach(lenparents, [&](Int i) {
                            If(BeginsRun(parents, i), [&] {
                              outoffsets[run[i]] = i;
                              run_of[parents[i]] = run[i];
                            });
                          });
                          const Int runs = run[lenparents];
                          ForEach(outlength + 1 - runs, [&](Int k) { outoffsets[runs + k] = lenparents; });
                        });
  static const GenericKernel kCountAbsent =
      MakeGenericKernel("RecordArray_reduce_nonlocal_count_absent",
                        [](Out<int64_t> run, Out<int64_t> run_of, Out<int64_t> absent, Out<int64_t> outoffsets,
                           Out<int64_t> outcarry, In<int64_t> parents, Int lenparents,
                           Int outlength) { ForEach(outlength, [&](Int p) { absent[p] = Wide(run_of[p] < 0); }); });
  static const GenericKernel kCarry = MakeGenericKernel(
      "RecordArray_reduce_nonlocal_outcarry",
      [](Out<int64_t> run, Out<int64_t> run_of, Out<int64_t> absent, Out<int64_t> outoffsets, Out<int64_t> outcarry,
         In<int64_t> parents, Int lenparents, Int outlength) {
        ForEach(outlength, [&](Int p) { outcarry[p] = Select(run_of[p] < 0, run[lenparents] + absent[p], run_of[p]); });
      });
  const int64_t lenparents = call["lenparents"], outlength = call["outlength"];
  const AnyArray& run = call.Temporary(lenparents + 1);
  const AnyArray& run_of = call.Temporary(outlength);
  const AnyArray& absent = call.Temporary(outlength + 1);
  call.Fill(run_of, -1);
  call.Launch(kCountRuns, lenparents, {run, run_of, absent});
  ExclusiveScan(call, run);
  call.Launch(kPlaceRuns, std::max(lenparents, outlength + 1), {run, run_of, absent});
  call.Launch(kCountAbsent, outlength, {run, run_of, absent});
  ExclusiveScan(call, absent);
  call.Launch(kCarry, outlength, {run, run_of, absent});
}

// Positions 0, 1, 2, ... are dealt out to the bins in order, as many as each has; position p of bin b: toptr[p] +=
// fromoffsets[b]. Then, with t = toptr[i]: toptr[i] = t + fromshifts[t] - fromstarts[fromparents[i]]; i < length.
void RearrangeShifted(Call& call) {
  static const GenericKernel kAddOffsets =
      MakeGenericKernel("NumpyArray_rearrange_add_offsets",
                        [](Out<int64_t> toptr, In<int64_t> fromshifts, Int length, In<int64_t> fromoffsets,
                           Int outlength, In<int64_t> fromparents, In<int64_t> fromstarts) {
                          ForEachRow(outlength, [&](Int b, Lane lane) {
                            const Int first = fromoffsets[0], own = fromoffsets[b];
                            InRow(lane, own - first, fromoffsets[b + 1] - first, [&](Int p) { toptr[p] += own; });
                          });
                        });
  static const GenericKernel kShift =
      MakeGenericKernel("NumpyArray_rearrange_shifted",
                        [](Out<int64_t> toptr, In<int64_t> fromshifts, Int length, In<int64_t> fromoffsets,
                           Int outlength, In<int64_t> fromparents, In<int64_t> fromstarts) {
                          ForEach(length, [&](Int i) {
                            const Int t = toptr[i];
                            toptr[i] = t + fromshifts[t] - fromstarts[fromparents[i]];
                          });
                        });
  call.Launch(kAddOffsets, call["outlength"] * 32);
  call.Launch(kShift, call["length"]);
}

}  // namespace

std::vector<Family> ReductionIndexFamilies() {
  const Size length = Of({"length"});
  const Size outlength = Of({"outlength"});
  return {
      // For row i < length and p in [offsets[i] - offsets[0], offsets[i + 1] - offsets[0]) with p < nextparents_length:
      // nextparents[p] = i.
      Map("ListOffsetArray_reduce_local_nextparents_64", Rows({"length"}),
          [](Any nextparents, Any offsets, Int length, Int nextparents_length) {
            ForEachRow(length, [&](Int i, Lane lane) {
              const Int first = Wide(offsets[0]);
              const Int end = min(Wide(offsets[i + 1]) - first, nextparents_length);
              InRow(lane, Wide(offsets[i]) - first, end, [&](Int p) { nextparents[p] = Cast(nextparents.dtype(), i); });
            });
          }),

      // outoffsets[p] = the number of parents below p, which are in order; p <= outlength.
      Map("ListOffsetArray_reduce_local_outoffsets_64", Of({"outlength"}, 1),
          [](Out<int64_t> outoffsets, In<int64_t> parents, Int lenparents, Int outlength) {
            ForEach(outlength + 1,
                    [&](Int p) { outoffsets[p] = CountFirst(lenparents, [&](Int i) { return parents[i] < p; }); });
          }),

      // Where a run of equal parents begins: nextstarts[nextparents[i]] = i. Parents that do not occur keep their
      // entry.
      Map("ListOffsetArray_reduce_nonlocal_nextstarts_64", Of({"nextlen"}),
          [](Out<int64_t> nextstarts, In<int64_t> nextparents, Int nextlen) {
            ForEach(nextlen, [&](Int i) { If(BeginsRun(nextparents, i), [&] { nextstarts[nextparents[i]] = i; }); });
          }),

      // maxcount[0] = the greatest length, at least 0; offsetscopy = offsets.
      Reduced("ListOffsetArray_reduce_nonlocal_maxcount_offsetscopy_64", "maxcount", 0, Of({"length"}, 1),
              [](Out<int64_t> maxcount, Out<int64_t> offsetscopy, In<int64_t> offsets, Int length) {
                ForEach(length + 1, [&](Int i) { offsetscopy[i] = offsets[i]; });
                MaxInto(maxcount[0], length, [&](Int i) { return LengthOfRow(offsets, i); });
              }),

      {"ListOffsetArray_reduce_nonlocal_nextshifts_64", NonlocalNextShifts},

      // distincts in outlength blocks of one width: outstarts[b] = where block b begins, outstops[b] = the end of what
      // is not -1 in it. Both 0 where there is none.
      Map("ListOffsetArray_reduce_nonlocal_outstartsstops_64", Rows({"outlength"}),
          [](Out<int64_t> outstarts, Out<int64_t> outstops, In<int64_t> distincts, Int lendistincts, Int outlength) {
            const Int width = lendistincts / max(outlength, 1);
            ForEachRow(outlength, [&](Int b, Lane lane) {
              const Int begin = b * width;
              const auto end = [&](Int p) { return Select(distincts[p] != -1, p + 1, begin); };
              const AnyExpr stop = RowReduce(lane, begin, begin + width, begin, end, combine::Max());
              If(lane == 0, [&] {
                outstarts[b] = begin;
                outstops[b] = Wide(stop);
              });
            });
          }),

      {"ListOffsetArray_reduce_nonlocal_preparenext_64", NonlocalPrepareNext},
      {"NumpyArray_rearrange_shifted", RearrangeShifted},

      // In place: where toptr[k] >= 0, toptr[k] -= starts[k]. `offsets` is not used.
      Map("NumpyArray_reduce_adjust_starts_64", outlength,
          [](Out<int64_t> toptr, Int outlength, In<int64_t> offsets, In<int64_t> starts) {
            ForEach(outlength, [&](Int k) {
              const Int i = toptr[k];
              If(i >= 0, [&] { toptr[k] = i - starts[k]; });
            });
          }),

      // In place: where i = toptr[k] >= 0, toptr[k] = i + shifts[i] - starts[k]. `offsets` is not used.
      Map("NumpyArray_reduce_adjust_starts_shifts_64", outlength,
          [](Out<int64_t> toptr, Int outlength, In<int64_t> offsets, In<int64_t> starts, In<int64_t> shifts) {
            ForEach(outlength, [&](Int k) {
              const Int i = toptr[k];
              If(i >= 0, [&] { toptr[k] = i + shifts[i] - starts[k]; });
            });
          }),

      // toptr[b] = 1 where bin b is empty, else 0.
      Map("NumpyArray_reduce_mask_ByteMaskedArray_64", outlength,
          [](Out<int8_t> toptr, In<int64_t> offsets, Int outlength) {
            ForEach(outlength, [&](Int b) { toptr[b] = Cast<int8_t>(offsets[b + 1] <= offsets[b]); });
          }),

      {"RecordArray_reduce_nonlocal_outoffsets_64", RecordOutOffsets},
  };
}

}  // namespace slipway::jagged
