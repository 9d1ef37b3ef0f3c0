// What families of byte masks and of indices have in common: both say which elements are there.
#ifndef SLIPWAY_EXAMPLES_JAGGED_VALID_ELEMENTS_H_
#define SLIPWAY_EXAMPLES_JAGGED_VALID_ELEMENTS_H_

#include "examples/jagged/kernel_words.h"

namespace slipway::jagged {

// nextshifts[r] = the number of elements that are not valid before the r-th valid one, plus shift(i) of that one.
template <class IsValid, class Shift>
void NextShifts(const Scan& rank, const Out<int64_t>& nextshifts, const Int& length, const IsValid& is_valid,
                const Shift& shift) {
  if (rank.Count(length, is_valid)) return;
  ForEach(length, [&](Int i) { If(is_valid(i), [&] { nextshifts[rank[i]] = i - rank[i] + shift(i); }); });
}

// Of the elements in the bins b < outlength, that is from offsets[0] to offsets[outlength]: the r-th valid one has
// nextcarry[r] = value(i) and outindex[i] = r, the others outindex[i] = -1. nextoffsets[b] = how many valid ones lie in
// the bins before b, for b <= outlength.
template <class IsValid, class Value>
void ReduceNext(const Scan& rank, const Out<int64_t>& nextcarry, const Out<int64_t>& nextoffsets,
                const Out<int64_t>& outindex, const Int& elements, const In<int64_t>& offsets, const Int& outlength,
                const IsValid& is_valid, const Value& value) {
  if (rank.Count(elements, is_valid)) return;
  If(outlength == 0, [&] { nextoffsets[0] = 0; }).Else([&] {
    const Int begin = offsets[0], end = offsets[outlength], before = rank[begin];
    ForEach(end - begin, [&](Int k) {
      const Int i = begin + k;
      If(is_valid(i), [&] {
        nextcarry[rank[i] - before] = value(i);
        outindex[i] = rank[i] - before;
      }).Else([&] { outindex[i] = -1; });
    });
    ForEach(outlength + 1, [&](Int b) { nextoffsets[b] = rank[offsets[b]] - before; });
  });
}

}  // namespace slipway::jagged

#endif  // SLIPWAY_EXAMPLES_JAGGED_VALID_ELEMENTS_H_
