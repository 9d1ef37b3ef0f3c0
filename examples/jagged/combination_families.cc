// All combinations of n elements of each list, with or without repetition, in lexicographic order of their positions.
#include "examples/jagged/family.h"
#include "examples/jagged/kernel_words.h"
#include "examples/jagged/pointer_table.h"

namespace slipway::jagged {
namespace {

// The ways to choose k of n, in whole numbers all the way; 0 where n < k.
Int Binomial(const Int& n, const Int& k) {
  Var<int64_t> ways = Wide(n >= k);
  For(Range(1, k + 1), [&](Int i) { ways = ways * (n - k + i) / i; });
  return ways;
}

// How many combinations of n of `count` elements there are.
Int Combinations(const Int& count, const Int& n, const Bool& replacement) {
  return Binomial(count + Select(replacement, n - 1, 0), n);
}

// Stores combination number `which` of a list of `count` elements that begins at `start`: its r-th element goes to
// tocarry[r][to]. Each element in turn is the first for which the combinations that begin so reach past `which`.
void StoreCombination(const PointerTable& tocarry, const Int& to, const Int& which, const Int& start, const Int& count,
                      const Int& n, const Bool& replacement) {
  Var<int64_t> left = which, element = 0;
  const Int skip = Wide(!replacement);
  For(Range(n), [&](Int r) {
    const auto with_element = [&] { return Combinations(count - element - skip, n - 1 - r, replacement); };
    Var<int64_t> ways = with_element();
    While([&] { return left >= ways; },
          [&] {
            left -= ways;
            element += 1;
            ways = with_element();
          });
    StoreTo(tocarry, r, to, start + element);
    element += skip;
  });
}

// The families, where `list(i)` gives where list i begins and how many elements it has.
struct List {
  Int start, count;
};
template <class ListAt>
void CombineLists(const Scan& offset, const PointerTable& tocarry, const Out<int64_t>& toindex, const Int& n,
                  const Bool& replacement, const Int& length, const ListAt& list_at) {
  if (offset.Count(length, [&](Int i) { return Combinations(list_at(i).count, n, replacement); })) return;
  ForEachRow(length, [&](Int i, Lane lane) {
    const List list = list_at(i);
    const Int begin = offset[i];
    InRow(lane, begin, offset[i + 1],
          [&](Int q) { StoreCombination(tocarry, q, q - begin, list.start, list.count, n, replacement); });
  });
  ForEach(n, [&](Int r) { toindex[r] = offset[length]; });
}

List ListBetween(const Any& starts, const Any& stops, const Int& i) {
  const Int start = Wide(starts[i]);
  return {start, Wide(stops[i]) - start};
}

}  // namespace

// tocarry[r][q] = the r-th element of combination q, lists in order; toindex[r] = how many there are in all.
// `fromindex` is scratch space that is not needed here.
std::vector<Family> CombinationFamilies() {
  const Size length = Of({"length"});
  const Size place = [](Call& call) { return call["length"] * 32 + call["n"]; };
  return {
      Scanned("ListArray_combinations", {length}, place,
              [](Scan offset, PointerTable tocarry, Out<int64_t> toindex, In<int64_t> fromindex, Int n,
                 Bool replacement, Any starts, Any stops, Int length) {
                CombineLists(offset, tocarry, toindex, n, replacement, length,
                             [&](Int i) { return ListBetween(starts, stops, i); });
              }),

      // totallen[0] = how many there are; tooffsets = the sums of how many each list has.
      Scanned("ListArray_combinations_length", {length}, Of({"length"}, 1),
              [](Scan offset, Out<int64_t> totallen, Out<int64_t> tooffsets, Int n, Bool replacement, Any starts,
                 Any stops, Int length) {
                const auto count = [&](Int i) {
                  return Combinations(ListBetween(starts, stops, i).count, n, replacement);
                };
                if (offset.Count(length, count)) return;
                ForEach(length + 1, [&](Int i) {
                  tooffsets[i] = offset[i];
                  If(i == length, [&] { totallen[0] = offset[i]; });
                });
              }),

      Scanned("RegularArray_combinations_64", {length}, place,
              [](Scan offset, PointerTable tocarry, Out<int64_t> toindex, In<int64_t> fromindex, Int n,
                 Bool replacement, Int size, Int length) {
                CombineLists(offset, tocarry, toindex, n, replacement, length, [&](Int i) {
                  return List{i * size, size};
                });
              }),
  };
}

}  // namespace slipway::jagged
