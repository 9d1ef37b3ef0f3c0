#include "examples/jagged/sort.h"

#include <utility>

#include "examples/jagged/kernel_words.h"

namespace slipway::jagged {
namespace {

const GenericKernel& FirstOrder() {
  static const GenericKernel kernel = MakeGenericKernel(
      "sort_first_order", [](Out<int64_t> order, Int count) { ForEach(count, [&](Int p) { order[p] = p; }); });
  return kernel;
}

// Whether key `a` has to come before key `b`.
Bool ComesBefore(const AnyExpr& a, const AnyExpr& b, const Bool& ascending) {
  const Bool before = Select(ascending, Cast<bool>(a < b), Cast<bool>(a > b));
  if (!IsFloat(a.dtype())) return before;
  const Bool a_is_nan = Cast<bool>(isnan(a)), b_is_nan = Cast<bool>(isnan(b));
  return !b_is_nan && (a_is_nan || before);
}

// Merges the sorted runs of `width` elements, two by two, within each segment.
const GenericKernel& MergeRuns() {
  static const GenericKernel kernel =
      MakeGenericKernel("sort_merge_runs", [](Out<int64_t> to, In<int64_t> from, Any keys, In<int64_t> offsets,
                                              Int segments, Int count, Int width, Bool ascending) {
        ForEach(count, [&](Int p) {
          const Int segment = RowOf(offsets, segments + 1, p);
          If(segment < 0 || segment >= segments, [&] { to[p] = from[p]; }).Else([&] {
            const Int begin = offsets[segment], end = offsets[segment + 1];
            const Int run = (p - begin) / width;
            const Bool is_left = (run & 1) == 0;
            const Int own_begin = begin + run * width;
            const Int other_begin = min(Select(is_left, own_begin + width, own_begin - width), end);
            const Int other_count = min(other_begin + width, end) - other_begin;
            const Int position = from[p];
            const AnyExpr key = keys[position];
            // Of equal keys, those of the left run come first.
            const Int passed = CountFirst(other_count, [&](Int k) {
              const AnyExpr other = keys[from[other_begin + k]];
              return Select(is_left, ComesBefore(other, key, ascending), !ComesBefore(key, other, ascending));
            });
            to[min(own_begin, other_begin) + (p - own_begin) + passed] = position;
          });
        });
      });
  return kernel;
}

}  // namespace

const AnyArray& SortSegments(Call& call, const Arg& keys, const Arg& offsets, int64_t segments, int64_t count,
                             bool ascending) {
  const AnyArray* order = &call.Temporary(count);
  const AnyArray* merged = &call.Temporary(count);
  call.LaunchWith(FirstOrder(), ForSize(count), {*order, count});
  for (int64_t width = 1; width < count; width *= 2) {
    call.LaunchWith(MergeRuns(), ForSize(count), {*merged, *order, keys, offsets, segments, count, width, ascending});
    std::swap(order, merged);
  }
  return *order;
}

}  // namespace slipway::jagged
