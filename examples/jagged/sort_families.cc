// Sorting within segments, runs of equal values, unique values.
#include <algorithm>

#include "examples/jagged/family.h"
#include "examples/jagged/kernel_words.h"
#include "examples/jagged/sort.h"

namespace slipway::jagged {
namespace {

// Offsets of any type as int64, which the sort takes.
const AnyArray& WideOffsets(Call& call, const Arg& offsets, int64_t count) {
  static const GenericKernel kWiden = MakeGenericKernel(
      "widen", [](Out<int64_t> to, Any from, Int count) { ForEach(count, [&](Int i) { to[i] = Wide(from[i]); }); });
  const AnyArray& wide = call.Temporary(count);
  call.LaunchWith(kWiden, ForSize(count), {wide, offsets, count});
  return wide;
}

// The order of fromptr within the segments, and their offsets.
struct Sorted {
  const AnyArray& offsets;
  const AnyArray& order;
};
Sorted SortCall(Call& call, int64_t segments) {
  const AnyArray& offsets = WideOffsets(call, call.Argument("offsets"), segments + 1);
  return {offsets, SortSegments(call, call.Argument("fromptr"), offsets, segments, call["length"],
                                call.Argument("ascending").scalar_as<bool>())};
}

// toptr[p] = fromptr, sorted within each segment. `stable` need not be looked at: the sort always is.
void Sort(Call& call) {
  static const GenericKernel kTake =
      MakeGenericKernel("sort_take", [](Any to, Any from, In<int64_t> order, In<int64_t> offsets, Int segments) {
        ForEach(min(to.size(), offsets[segments]), [&](Int p) { to[p] = from[order[p]]; });
      });
  const int64_t segments = call["offsetslength"] - 1;
  if (segments < 0) return;
  const auto [offsets, order] = SortCall(call, segments);
  call.LaunchWith(kTake, ForSize(call["toptr"]),
                  {call.Argument("toptr"), call.Argument("fromptr"), order, offsets, segments});
}

// toptr[p] = which element of its segment comes to p.
void ArgSort(Call& call) {
  static const GenericKernel kTake =
      MakeGenericKernel("argsort_take", [](Out<int64_t> to, In<int64_t> order, In<int64_t> offsets, Int segments) {
        ForEach(min(to.size(), offsets[segments]),
                [&](Int p) { to[p] = order[p] - offsets[RowOf(offsets, segments + 1, p)]; });
      });
  const int64_t segments = call["offsetslength"] - 1;
  if (segments < 0) return;
  const auto [offsets, order] = SortCall(call, segments);
  call.LaunchWith(kTake, ForSize(call["toptr"]), {call.Argument("toptr"), order, offsets, segments});
}

// tocarry = the positions 0 to length - 1, ordered by ascending fromindex: one segment.
void LocalPrepareNext(Call& call) {
  static const GenericKernel kOneSegment = MakeGenericKernel(
      "one_segment", [](Out<int64_t> offsets, Int length) { ForEach(2, [&](Int i) { offsets[i] = i * length; }); });
  static const GenericKernel kTake =
      MakeGenericKernel("ListOffsetArray_local_preparenext_64",
                        [](In<int64_t> order, Out<int64_t> tocarry, In<int64_t> fromindex, Int length) {
                          ForEach(length, [&](Int i) { tocarry[i] = order[i]; });
                        });
  const int64_t length = call["length"];
  const AnyArray& offsets = call.Temporary(2);
  call.LaunchWith(kOneSegment, ForSize(2), {offsets, length});
  call.Launch(kTake, length, {SortSegments(call, call.Argument("fromindex"), offsets, 1, length, true)});
}

// In place on segments: keeps the value at the beginning of each, and those in it that differ from the one before,
// packed to the front of toptr; the rest stays. An empty segment, too, has the value where it begins. tooffsets[b] =
// where segment b begins in the packed values, the last one their number.
void UniqueRanges(Call& call) {
  static const ScanPasses kPasses(
      "unique_ranges", [](Scan rank, Scan start, Any values, Any toptr, In<int64_t> fromoffsets, Int offsetslength,
                          Out<int64_t> tooffsets) {
        const Int size = values.size();
        const auto differs = [&](Int i) {  // From the one before, in its segment.
          const Int segment = RowOf(fromoffsets, offsetslength, i);
          const Bool in_segment = segment >= 0 && segment < offsetslength - 1;
          return in_segment && fromoffsets[max(segment, 0)] != i && Cast<bool>(values[i] != values[max(i - 1, 0)]);
        };
        if (rank.Count(size, differs)) return;
        const auto count = [&](Int b) {
          const Int begin = fromoffsets[b];
          return Wide(begin < size) + rank[fromoffsets[b + 1]] - rank[begin];
        };
        if (start.Count(offsetslength - 1, count)) return;
        ForEachRow(offsetslength - 1, [&](Int b, Lane lane) {
          const Int begin = fromoffsets[b], to = start[b];
          If(lane == 0 && start[b + 1] > to, [&] { toptr[to] = values[begin]; });
          InRow(lane, begin, fromoffsets[b + 1],
                [&](Int i) { If(rank[i + 1] > rank[i], [&] { toptr[to + 1 + rank[i] - rank[begin]] = values[i]; }); });
        });
        ForEach(offsetslength, [&](Int b) { tooffsets[b] = start[b]; });
      });
  const Arg toptr = call.Argument("toptr");
  const int64_t size = call["toptr"], segments = std::max<int64_t>(call["offsetslength"] - 1, 0);
  const AnyArray& values = call.Temporary(size, toptr.dtype());
  call.Copy(values, toptr);
  kPasses.Run(call, {size, segments}, (segments + 1) * 32, {values});
}

// Of the first length - 1 ranges [fromstarts[i], fromstops[i]), and of their pairs i < j of one length, the last in the
// order of (i, j): toequal[0] = whether the values of the two are equal; false where there is no pair.
void SubrangeEqual(Call& call) {
  static const GenericKernel kFindPair = MakeGenericKernel(
      "NumpyArray_subrange_find_pair",
      [](Out<int64_t> pair, Any tmpptr, In<int64_t> fromstarts, In<int64_t> fromstops, Int length, Out<bool> toequal) {
        const Int ranges = length - 1;
        const auto count = [&](Int i) { return fromstops[i] - fromstarts[i]; };
        MaxInto(pair[0], ranges * ranges, [&](Int k) {
          const Int i = k / ranges, j = k % ranges;
          return Select(i < j && count(i) == count(j), k, -1);
        });
      });
  static const GenericKernel kCompare = MakeGenericKernel(
      "NumpyArray_subrange_equal",
      [](Out<int64_t> pair, Any tmpptr, In<int64_t> fromstarts, In<int64_t> fromstops, Int length, Out<bool> toequal) {
        ForEachRow(1, [&](Int, Lane lane) {
          If(pair[0] < 0, [&] { toequal[0] = false; }).Else([&] {
            const Int i = pair[0] / (length - 1), j = pair[0] % (length - 1);
            const Int a = fromstarts[i], b = fromstarts[j];
            const auto is_equal = [&](Int d) { return Wide(Cast<bool>(tmpptr[a + d] == tmpptr[b + d])); };
            const AnyExpr all = RowReduce(lane, 0, fromstops[i] - a, Int(1), is_equal, combine::Min());
            If(lane == 0, [&] { toequal[0] = IsNonzero(all); });
          });
        });
      });
  const AnyArray& pair = call.Temporary(1);
  const int64_t ranges = std::max<int64_t>(call["length"] - 1, 0);
  call.Fill(pair, -1);
  call.Launch(kFindPair, ranges * ranges, {pair});
  call.Launch(kCompare, 32, {pair});
}

}  // namespace

std::vector<Family> SortFamilies() {
  const Size parentslength = Of({"parentslength"});
  return {
      {"argsort", ArgSort},
      {"sort", Sort},
      {"ListOffsetArray_local_preparenext_64", LocalPrepareNext},
      {"unique_ranges", UniqueRanges},
      {"unique_ranges_bool", UniqueRanges},
      {"NumpyArray_subrange_equal", SubrangeEqual},
      {"NumpyArray_subrange_equal_bool", SubrangeEqual},

      // Where the runs of equal parents begin; toindex[tolength - 1] = parentslength.
      Scanned("sorting_ranges", {parentslength}, Of({"parentslength"}, 1),
              [](Scan run, Out<int64_t> toindex, Int tolength, In<int64_t> parents, Int parentslength) {
                const auto begins_later_run = [&](Int i) { return i > 0 && BeginsRun(parents, i); };
                if (run.Count(parentslength, begins_later_run)) return;
                ForEach(parentslength + 1, [&](Int i) {
                  If(i == parentslength, [&] {
                    toindex[0] = 0;
                    toindex[tolength - 1] = parentslength;
                  }).Else([&] { If(begins_later_run(i), [&] { toindex[run[i] + 1] = i; }); });
                });
              }),

      // tolength[0] = 1 + the number of runs, at least 2.
      Reduced("sorting_ranges_length", "tolength", 2, parentslength,
              [](Out<int64_t> tolength, In<int64_t> parents, Int parentslength) {
                SumInto(tolength[0], parentslength, [&](Int i) { return i > 0 && BeginsRun(parents, i); });
              }),

      // tooffsets[p] = fromoffsets[r] for position p of the r-th run of equal starts; offsets past the number of runs
      // take one more position each. Over all that, tooffsets[startslength] = the last one of fromoffsets.
      Scanned(
          "unique_offsets", {Of({"startslength"})},
          [](Call& call) { return std::max(call["startslength"], call["length"]); },
          [](Scan run, Any tooffsets, Int length, In<int64_t> fromoffsets, In<int64_t> starts, Int startslength) {
            if (run.Count(startslength, [&](Int i) { return BeginsRun(starts, i); })) return;
            const auto store = [&](const Int& p, const Int& i) {
              tooffsets[p] = Cast(tooffsets.dtype(), fromoffsets[i]);
            };
            ForEach(startslength, [&](Int p) {
              const Int own = run[p + 1] - 1;
              If(own < length, [&] { store(p, own); });
            });
            ForEach(length, [&](Int i) {
              const Int past = i - run[startslength];
              If(past > 0, [&] { store(startslength + past, i); });
              If(i == length - 1, [&] { store(startslength, i); });
            });
          }),
  };
}

}  // namespace slipway::jagged
