// Reductions of bins of complex numbers, which lie in arrays of floats: element i is fromptr[2 * i], the real part, and
// fromptr[2 * i + 1]. They are ordered by their real parts, then by their imaginary ones.
#include <cstdint>
#include <limits>

#include "examples/jagged/by_segments.h"
#include "examples/jagged/family.h"
#include "examples/jagged/kernel_words.h"

namespace slipway::jagged {
namespace {

AnyExpr RealAt(const Any& fromptr, const Int& i) { return fromptr[2 * i]; }
AnyExpr ImagAt(const Any& fromptr, const Int& i) { return fromptr[2 * i + 1]; }
Int IsNonzeroAt(const Any& fromptr, const Int& i) {
  return Wide(IsNonzero(RealAt(fromptr, i)) || IsNonzero(ImagAt(fromptr, i)));
}

// The element that `better` (Min or Max) chooses of a bin that is not empty: its parts, and the position of the first
// that is so.
struct Best {
  AnyExpr real, imag;
  Int position;
};
template <class Better>
Best BestOf(const Any& fromptr, const Lane& lane, const Int& begin, const Int& end, const Better& better) {
  constexpr double kWorst = std::is_same_v<Better, combine::Min> ? std::numeric_limits<double>::infinity()
                                                                 : -std::numeric_limits<double>::infinity();
  const AnyExpr worst = Cast(fromptr.dtype(), kWorst);
  const AnyExpr real = RowReduce(
      lane, begin, end, RealAt(fromptr, begin), [&](Int p) { return RealAt(fromptr, p); }, better);
  const AnyExpr imag = RowReduce(
      lane, begin, end, worst,
      [&](Int p) { return Select(Cast<bool>(RealAt(fromptr, p) == real), ImagAt(fromptr, p), worst); }, better);
  const auto position = [&](Int p) {
    return Select(Cast<bool>(RealAt(fromptr, p) == real) && Cast<bool>(ImagAt(fromptr, p) == imag), p, end);
  };
  const Int first = Wide(RowReduce(lane, begin, end, end, position, combine::Min()));
  return {real, imag, Select(first < end, first, begin)};
}

// toptr[b] = the position of the best element of the bin, -1 where it is empty.
template <class Better>
void FindBest(const Out<int64_t>& toptr, const Any& fromptr, const In<int64_t>& offsets, const Int& outlength,
              const Better& better) {
  ForEachRow(outlength, [&](Int b, Lane lane) {
    const Int begin = offsets[b], end = offsets[b + 1];
    If(begin >= end, [&] { toptr[b] = -1; }).Else([&] {
      const Best best = BestOf(fromptr, lane, begin, end, better);
      If(lane == 0, [&] { toptr[b] = best.position; });
    });
  });
}

// The pair toptr[2 * b], toptr[2 * b + 1] = the best element, (identity, 0) where the bin is empty.
template <class Better>
void TakeBest(const Any& toptr, const Any& fromptr, const In<int64_t>& offsets, const Int& outlength,
              const AnyNumber& identity, const Better& better) {
  ForEachRow(outlength, [&](Int b, Lane lane) {
    const Int begin = offsets[b], end = offsets[b + 1];
    If(begin >= end, [&] {
      toptr[2 * b] = identity;
      toptr[2 * b + 1] = 0;
    }).Else([&] {
      const Best best = BestOf(fromptr, lane, begin, end, better);
      If(lane == 0, [&] {
        toptr[2 * b] = best.real;
        toptr[2 * b + 1] = best.imag;
      });
    });
  });
}

// The pair = all elements combined as complex numbers.
template <class Combine>
void ReducePairs(const Any& toptr, const Any& fromptr, const In<int64_t>& offsets, const Int& outlength, double neutral,
                 const Combine& combine) {
  const DType part = fromptr.dtype();
  ForEachRow(outlength, [&](Int b, Lane lane) {
    const AnyExpr start = MakeComplex(Cast(part, neutral), Cast(part, 0));
    const AnyExpr result = RowReduce(
        lane, offsets[b], offsets[b + 1], start,
        [&](Int p) { return MakeComplex(RealAt(fromptr, p), ImagAt(fromptr, p)); }, combine);
    If(lane == 0, [&] {
      toptr[2 * b] = real(result);
      toptr[2 * b + 1] = imag(result);
    });
  });
}

// toptr[b] = what the elements, as 1 where they are not zero and 0 where they are, combine to.
template <class Combine>
void ReduceNonzero(const Any& toptr, const Any& fromptr, const In<int64_t>& offsets, const Int& outlength,
                   int64_t neutral, const Combine& combine) {
  ForEachRow(outlength, [&](Int b, Lane lane) {
    const AnyExpr result = RowReduce(
        lane, offsets[b], offsets[b + 1], Int(neutral), [&](Int p) { return IsNonzeroAt(fromptr, p); }, combine);
    If(lane == 0, [&] { toptr[b] = Cast(toptr.dtype(), result); });
  });
}

// By SegmentedReduction; the language has no order of complex numbers.
constexpr FamilyText kTexts[] = {
    {"reduce_sum_complex", "let s = sum(complex(from_real, from_imag))\nto_real = real(s)\nto_imag = imag(s)"},
    {"reduce_prod_complex", "let s = prod(complex(from_real, from_imag))\nto_real = real(s)\nto_imag = imag(s)"},
    {"reduce_countnonzero_complex", "toptr = count(bool(from_real) || bool(from_imag))"},
    {"reduce_sum_bool_complex", "toptr = any(bool(from_real) || bool(from_imag))"},
    {"reduce_prod_bool_complex", "toptr = all(bool(from_real) || bool(from_imag))"},
};

}  // namespace

std::vector<Family> ComplexReduceFamilies() {
  const Size bins = Rows({"outlength"});
  std::vector<Family> families = {
      Map("reduce_argmin_complex", bins,
          [](Out<int64_t> toptr, Any fromptr, In<int64_t> offsets, Int outlength) {
            FindBest(toptr, fromptr, offsets, outlength, combine::Min());
          }),
      Map("reduce_argmax_complex", bins,
          [](Out<int64_t> toptr, Any fromptr, In<int64_t> offsets, Int outlength) {
            FindBest(toptr, fromptr, offsets, outlength, combine::Max());
          }),
      Map("reduce_min_complex", bins,
          [](Any toptr, Any fromptr, In<int64_t> offsets, Int outlength, AnyNumber identity) {
            TakeBest(toptr, fromptr, offsets, outlength, identity, combine::Min());
          }),
      Map("reduce_max_complex", bins,
          [](Any toptr, Any fromptr, In<int64_t> offsets, Int outlength, AnyNumber identity) {
            TakeBest(toptr, fromptr, offsets, outlength, identity, combine::Max());
          }),
      Map("reduce_sum_complex", bins,
          [](Any toptr, Any fromptr, In<int64_t> offsets, Int outlength) {
            ReducePairs(toptr, fromptr, offsets, outlength, 0, combine::Add());
          }),
      Map("reduce_prod_complex", bins,
          [](Any toptr, Any fromptr, In<int64_t> offsets, Int outlength) {
            ReducePairs(toptr, fromptr, offsets, outlength, 1, combine::Multiply());
          }),
      // How many are not zero; whether any is not; whether all are not.
      Map("reduce_countnonzero_complex", bins,
          [](Any toptr, Any fromptr, In<int64_t> offsets, Int outlength) {
            ReduceNonzero(toptr, fromptr, offsets, outlength, 0, combine::Add());
          }),
      Map("reduce_sum_bool_complex", bins,
          [](Any toptr, Any fromptr, In<int64_t> offsets, Int outlength) {
            ReduceNonzero(toptr, fromptr, offsets, outlength, 0, combine::Max());
          }),
      Map("reduce_prod_bool_complex", bins,
          [](Any toptr, Any fromptr, In<int64_t> offsets, Int outlength) {
            ReduceNonzero(toptr, fromptr, offsets, outlength, 1, combine::Min());
          }),
  };
  AddBySegments(families, kTexts);
  return families;
}

}  // namespace slipway::jagged
