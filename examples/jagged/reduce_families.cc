// Reductions of bins: bin b is the elements from offsets[b] to offsets[b + 1] - 1, and has a warp.
#include <cstdint>

#include "examples/jagged/by_segments.h"
#include "examples/jagged/family.h"
#include "examples/jagged/kernel_words.h"

namespace slipway::jagged {
namespace {

// Combines `element(p)` over each bin, from what `neutral` is: the result of an empty bin. `store(b, result)`.
template <class Element, class Combine, class Store>
void ReduceBins(const In<int64_t>& offsets, const Int& outlength, const AnyExpr& neutral, const Element& element,
                const Combine& combine, const Store& store) {
  ForEachRow(outlength, [&](Int b, Lane lane) {
    const AnyExpr result = RowReduce(lane, offsets[b], offsets[b + 1], neutral, element, combine);
    If(lane == 0, [&] { store(b, result); });
  });
}

// The same where the result goes into toptr, which has its type.
template <class Element, class Combine>
void ReduceInto(const Any& toptr, const In<int64_t>& offsets, const Int& outlength, const AnyExpr& neutral,
                const Element& element, const Combine& combine) {
  ReduceBins(offsets, outlength, neutral, element, combine,
             [&](Int b, AnyExpr result) { toptr[b] = Cast(toptr.dtype(), result); });
}

// toptr[b] = the position of the first element that `better` (Min or Max) chooses of the bin, -1 where it is empty.
template <class Better>
void FindBest(const Out<int64_t>& toptr, const Any& fromptr, const In<int64_t>& offsets, const Int& outlength,
              const Better& better) {
  ForEachRow(outlength, [&](Int b, Lane lane) {
    const Int begin = offsets[b], end = offsets[b + 1];
    If(begin >= end, [&] { toptr[b] = -1; }).Else([&] {
      const AnyExpr best = RowReduce(
          lane, begin, end, fromptr[begin], [&](Int p) { return fromptr[p]; }, better);
      const AnyExpr first = RowReduce(
          lane, begin, end, end, [&](Int p) { return Select(Cast<bool>(fromptr[p] == best), p, end); }, combine::Min());
      // Nothing is equal to the best where all are NaN.
      If(lane == 0, [&] { toptr[b] = Select(Wide(first) < end, Wide(first), begin); });
    });
  });
}

Int CountOne(const Any& fromptr, const Int& p) { return Wide(IsNonzero(fromptr[p])); }

// The bodies of families that differ in the types of their variants only.
constexpr auto kCountNonzero = [](Any toptr, Any fromptr, In<int64_t> offsets, Int outlength) {
  ReduceInto(
      toptr, offsets, outlength, Int(0), [&](Int p) { return CountOne(fromptr, p); }, combine::Add());
};

// By SegmentedReduction; that of squares of distances wants the bin's mean within the reduction, which has none.
constexpr FamilyText kTexts[] = {
    {"reduce_sum", "toptr = sum($T(fromptr))"},
    {"reduce_prod", "toptr = prod($T(fromptr))"},
    {"reduce_min", "toptr = min(min(fromptr), identity)"},
    {"reduce_max", "toptr = max(max(fromptr), identity)"},
    {"reduce_argmin", "let p = argmin(fromptr)\ntoptr = p >= 0 ? begin + p : begin < end ? begin : -1"},
    {"reduce_argmax", "let p = argmax(fromptr)\ntoptr = p >= 0 ? begin + p : begin < end ? begin : -1"},
    {"reduce_countnonzero", "toptr = count(bool(fromptr))"},
    {"reduce_sum_int32_bool_64", "toptr = count(bool(fromptr))"},
    {"reduce_sum_int64_bool_64", "toptr = count(bool(fromptr))"},
    {"reduce_sum_bool", "toptr = any(bool(fromptr))"},
    {"reduce_prod_bool", "toptr = all(bool(fromptr))"},
    {"reduce_sumofsquares", "let x = 0\ntoptr = sum(float64(fromptr) * float64(fromptr))"},
    {"reduce_sumofpowers", "toptr = sum(pow(float64(fromptr), float64(exponent)))"},
};

}  // namespace

std::vector<Family> ReduceFamilies() {
  const Size bins = Rows({"outlength"});
  std::vector<Family> families = {
      // toptr[b] = the sum of the bin, in toptr's type; 0 for an empty one.
      Map("reduce_sum", bins,
          [](Any toptr, Any fromptr, In<int64_t> offsets, Int outlength) {
            const DType type = toptr.dtype();
            ReduceInto(
                toptr, offsets, outlength, Cast(type, 0), [&](Int p) { return Cast(type, fromptr[p]); },
                combine::Add());
          }),
      // The product; 1 for an empty one.
      Map("reduce_prod", bins,
          [](Any toptr, Any fromptr, In<int64_t> offsets, Int outlength) {
            const DType type = toptr.dtype();
            ReduceInto(
                toptr, offsets, outlength, Cast(type, 1), [&](Int p) { return Cast(type, fromptr[p]); },
                combine::Multiply());
          }),
      // The smallest of the bin and `identity`; the largest.
      Map("reduce_min", bins,
          [](Any toptr, Any fromptr, In<int64_t> offsets, Int outlength, AnyNumber identity) {
            ReduceInto(
                toptr, offsets, outlength, identity, [&](Int p) { return fromptr[p]; }, combine::Min());
          }),
      Map("reduce_max", bins,
          [](Any toptr, Any fromptr, In<int64_t> offsets, Int outlength, AnyNumber identity) {
            ReduceInto(
                toptr, offsets, outlength, identity, [&](Int p) { return fromptr[p]; }, combine::Max());
          }),
      // The position of the first smallest; of the first largest. `starts` is not used.
      Map("reduce_argmin", bins,
          [](Out<int64_t> toptr, Any fromptr, In<int64_t> offsets, In<int64_t> starts, Int outlength) {
            FindBest(toptr, fromptr, offsets, outlength, combine::Min());
          }),
      Map("reduce_argmax", bins,
          [](Out<int64_t> toptr, Any fromptr, In<int64_t> offsets, In<int64_t> starts, Int outlength) {
            FindBest(toptr, fromptr, offsets, outlength, combine::Max());
          }),

      // How many elements there are; how many are not zero.
      Map("reduce_count_64", Of({"outlength"}),
          [](Out<int64_t> toptr, In<int64_t> offsets, Int outlength) {
            ForEach(outlength, [&](Int b) { toptr[b] = offsets[b + 1] - offsets[b]; });
          }),
      Map("reduce_countnonzero", bins, kCountNonzero),
      Map("reduce_sum_int32_bool_64", bins, kCountNonzero),
      Map("reduce_sum_int64_bool_64", bins, kCountNonzero),
      // Whether any is not zero; whether all are.
      Map("reduce_sum_bool", bins,
          [](Any toptr, Any fromptr, In<int64_t> offsets, Int outlength) {
            ReduceInto(
                toptr, offsets, outlength, Int(0), [&](Int p) { return CountOne(fromptr, p); }, combine::Max());
          }),
      Map("reduce_prod_bool", bins,
          [](Any toptr, Any fromptr, In<int64_t> offsets, Int outlength) {
            ReduceInto(
                toptr, offsets, outlength, Int(1), [&](Int p) { return CountOne(fromptr, p); }, combine::Min());
          }),

      // Sums in float64: of squares, of squares of the distance to the bin's mean, of n-th powers.
      Map("reduce_sumofsquares", bins,
          [](Any toptr, Any fromptr, In<int64_t> offsets, Int outlength) {
            ReduceInto(
                toptr, offsets, outlength, Expr<double>(0.0),
                [&](Int p) {
                  const Expr<double> x = Cast<double>(fromptr[p]);
                  return x * x;
                },
                combine::Add());
          }),
      Map("reduce_centered_sumofsquares", bins,
          [](Any toptr, Any fromptr, In<int64_t> offsets, Int outlength, In<double> means) {
            ForEachRow(outlength, [&](Int b, Lane lane) {
              const Expr<double> mean = means[b];
              const auto squared = [&](Int p) {
                const Expr<double> x = Cast<double>(fromptr[p]) - mean;
                return x * x;
              };
              const AnyExpr result =
                  RowReduce(lane, offsets[b], offsets[b + 1], Expr<double>(0.0), squared, combine::Add());
              If(lane == 0, [&] { toptr[b] = result; });
            });
          }),
      Map("reduce_sumofpowers", bins,
          [](Any toptr, Any fromptr, In<int64_t> offsets, Int outlength, Int n) {
            const Expr<double> exponent = Cast<double>(n);
            ReduceInto(
                toptr, offsets, outlength, Expr<double>(0.0),
                [&](Int p) { return pow(Cast<double>(fromptr[p]), exponent); }, combine::Add());
          }),
  };
  AddBySegments(families, kTexts);
  return families;
}

}  // namespace slipway::jagged
