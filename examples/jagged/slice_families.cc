// Slicing lists by a number, a range or an array: array[:, 1], array[:, 2:5], array[:, [0, 2]].
#include "examples/jagged/family.h"
#include "examples/jagged/kernel_words.h"

namespace slipway::jagged {
namespace {

constexpr int64_t kAbsent = INT64_MAX;  // A start or stop that is not given.

// The part of a list that start:stop:step chooses, as Python does it.
struct Slice {
  Int first;
  Int count;
};
Slice SliceOf(const Int& length, const Int& start, const Int& stop, const Int& step) {
  const Bool forward = step > 0;
  const Int lowest = Select(forward, 0, -1), highest = Select(forward, length, length - 1);
  const auto bound = [&](const Int& given, const Int& if_absent) {
    const Int from_front = Select(given < 0, given + length, given);
    return Int(Select(given == kAbsent, if_absent, min(max(from_front, lowest), highest)));
  };
  const Int first = bound(start, Select(forward, 0, length - 1));
  const Int last = bound(stop, Select(forward, length, -1));
  const Int distance = max(Select(forward, last - first, first - last), 0);
  const Int stride = abs(step);
  return {first, Select(step == 0, 0, (distance + stride - 1) / max(stride, 1))};
}

Int SliceLength(const Any& starts, const Any& stops, const Int& i, const Int& start, const Int& stop, const Int& step) {
  return SliceOf(Wide(stops[i]) - Wide(starts[i]), start, stop, step).count;
}

// What a list of `count` elements that ends at `stop` must be, to be indexed by x.
Bool IsOutside(const Int& x, const Int& count) { return x < -count || x >= count; }

constexpr char kStopBeforeStart[] = "stops[i] < starts[i]";
constexpr char kPastContent[] = "stops[i] > len(content)";
constexpr char kOutOfRange[] = "index out of range";

}  // namespace

std::vector<Family> SliceFamilies() {
  const Size lenstarts = Of({"lenstarts"});
  const Size rows = Rows({"lenstarts"});
  return {
      // tocarry[i] = where element `at` of list i is, counted from its end where that is negative.
      Map("ListArray_getitem_next_at", lenstarts,
          [](Out<int64_t> tocarry, Any fromstarts, Any fromstops, Int lenstarts, Int at, Record record) {
            ForEach(lenstarts, [&](Int i) {
              const Int start = Wide(fromstarts[i]), stop = Wide(fromstops[i]);
              If(Passes(record, i, {IsOutside(at, stop - start)}),
                 [&] { tocarry[i] = Select(at >= 0, start, stop) + at; });
            });
          },
          {kOutOfRange}),

      // For x = fromarray[j], p = i * lenarray + j: tocarry[p] = where element x of list i is, toadvanced[p] = j.
      Map("ListArray_getitem_next_array", rows,
          [](Out<int64_t> tocarry, Out<int64_t> toadvanced, Any fromstarts, Any fromstops, In<int64_t> fromarray,
             Int lenstarts, Int lenarray, Int lencontent, Record record) {
            ForEachRow(lenstarts, [&](Int i, Lane lane) {
              const Int start = Wide(fromstarts[i]), stop = Wide(fromstops[i]);
              If(Passes(record, i, {stop < start, start != stop && stop > lencontent}), [&] {
                InRow(lane, 0, lenarray, [&](Int j) {
                  const Int x = fromarray[j];
                  If(IsOutside(x, stop - start), [&] { Fail(record, i, 2); }).Else([&] {
                    tocarry[i * lenarray + j] = Select(x >= 0, start, stop) + x;
                    toadvanced[i * lenarray + j] = j;
                  });
                });
              });
            });
          },
          {kStopBeforeStart, kPastContent, kOutOfRange}),

      // For x = fromarray[fromadvanced[i]]: tocarry[i] = where element x of list i is, toadvanced[i] = i.
      Map("ListArray_getitem_next_array_advanced", lenstarts,
          [](Out<int64_t> tocarry, Out<int64_t> toadvanced, Any fromstarts, Any fromstops, In<int64_t> fromarray,
             In<int64_t> fromadvanced, Int lenstarts, Int lencontent, Record record) {
            ForEach(lenstarts, [&](Int i) {
              const Int start = Wide(fromstarts[i]), stop = Wide(fromstops[i]);
              If(Passes(record, i, {stop < start, start != stop && stop > lencontent}), [&] {
                const Int x = fromarray[fromadvanced[i]];
                If(IsOutside(x, stop - start), [&] { Fail(record, i, 2); }).Else([&] {
                  tocarry[i] = Select(x >= 0, start, stop) + x;
                  toadvanced[i] = i;
                });
              });
            });
          },
          {kStopBeforeStart, kPastContent, kOutOfRange}),

      // tocarry = the positions that start:stop:step chooses of each list; tooffsets = the sums of how many those are.
      Scanned("ListArray_getitem_next_range", {lenstarts}, rows,
              [](Scan to, Any tooffsets, Out<int64_t> tocarry, Any fromstarts, Any fromstops, Int lenstarts, Int start,
                 Int stop, Int step) {
                if (to.Count(lenstarts,
                             [&](Int i) { return SliceLength(fromstarts, fromstops, i, start, stop, step); })) {
                  return;
                }
                ForEachRow(lenstarts, [&](Int i, Lane lane) {
                  const Int from = Wide(fromstarts[i]);
                  const Slice slice = SliceOf(Wide(fromstops[i]) - from, start, stop, step);
                  InRow(lane, 0, slice.count, [&](Int d) { tocarry[to[i] + d] = from + slice.first + d * step; });
                });
                ForEach(lenstarts + 1, [&](Int i) { tooffsets[i] = Cast(tooffsets.dtype(), to[i]); });
              }),

      // carrylength[0] = how many those are in all.
      Reduced(
          "ListArray_getitem_next_range_carrylength", "carrylength", 0, lenstarts,
          [](Out<int64_t> carrylength, Any fromstarts, Any fromstops, Int lenstarts, Int start, Int stop, Int step) {
            SumInto(carrylength[0], lenstarts,
                    [&](Int i) { return SliceLength(fromstarts, fromstops, i, start, stop, step); });
          }),

      // total[0] = the sum of the lists' lengths, which is the last offset less the first.
      Map(
          "ListArray_getitem_next_range_counts", [](Call&) { return 1; },
          [](Out<int64_t> total, Any fromoffsets, Int lenstarts) {
            ForEach(1, [&](Int i) {
              If(lenstarts == 0, [&] { total[i] = 0; }).Else([&] {
                total[i] = Wide(fromoffsets[lenstarts]) - Wide(fromoffsets[0]);
              });
            });
          }),

      // toadvanced[p] = fromadvanced[i] for p in [fromoffsets[i], fromoffsets[i + 1]).
      Map("ListArray_getitem_next_range_spreadadvanced", rows,
          [](Out<int64_t> toadvanced, In<int64_t> fromadvanced, Any fromoffsets, Int lenstarts) {
            ForEachRow(lenstarts, [&](Int i, Lane lane) {
              InRow(lane, Wide(fromoffsets[i]), Wide(fromoffsets[i + 1]),
                    [&](Int p) { toadvanced[p] = fromadvanced[i]; });
            });
          }),
  };
}

}  // namespace slipway::jagged
