// What the kernels of sorts have in common: how they read keys and know their rows, and what launches tell them of it.
//
// Each kernel has a form for rows of one length and one for segments (kSegments). Arrays that a form does not have, or
// that are not wanted, are given as a number (ArrayOrNone).
#ifndef SLIPWAY_JIT_OPS_SORT_KEYS_H_
#define SLIPWAY_JIT_OPS_SORT_KEYS_H_

#include <algorithm>
#include <cstdint>

#include "jit/ops/sort_kernels.h"
#include "jit/ops/sort_order.h"
#include "slipway/arg.h"
#include "slipway/embedded.h"

namespace slipway::sort {

using Index = Expr<int64_t>;

// The keys in a kernel, which reads them nowhere else, and what decides of each: bits `shift` and up of its order word,
// under `mask`.
struct Keys {
  AnyArrayVar array;
  Expr<uint64_t> flip, infinity;
  Expr<int32_t> shift;
  Expr<uint64_t> mask;

  DType dtype() const { return array.dtype(); }
  AnyExpr operator[](const Index& i) const { return array[i]; }
  AnyExpr BitsOf(const AnyExpr& key) const {
    return (OrderWord(key, flip, infinity) >> shift) & Cast(WordOf(key.dtype()), mask);
  }
  AnyExpr BitsAt(const Index& i) const { return BitsOf((*this)[i]); }
};

// What a launch is told of them.
struct KeyBits {
  uint64_t flip, infinity;
  int32_t shift;
  uint64_t mask;
};
inline KeyBits BitsFrom(const Task& task, int begin, int end) {
  const KeyForm form = FormOf(task.dtype, task.descending);
  return {form.flip, form.infinity, std::min(begin, BitsOf(task.dtype) - 1), LowBits(end - begin)};
}
inline KeyBits AllBitsOf(const Task& task) { return BitsFrom(task, task.begin_bit, task.end_bit); }

// A row's elements among all.
struct RowRange {
  Index begin, end;
};
// Of rows of `length` elements; or of segments, between two offsets, where `length` is the size of the keys and what
// lies outside is cut off.
template <bool kSegments, class Offsets>
RowRange RangeOfRow(const Offsets& offsets, const Index& row, const Index& length) {
  if constexpr (kSegments) {
    const AnyArrayVar ends = offsets;
    const auto clamped = [&](const AnyExpr& at) { return Index(min(max(Cast<int64_t>(at), 0), length)); };
    const Index begin = clamped(ends[row]);
    return {begin, Index(max(begin, clamped(ends[row + 1])))};
  } else {
    return {row * length, (row + 1) * length};
  }
}

// Stores into an output, where it is wanted.
template <class Output, class X>
void StoreTo(const Output& output, const Index& at, const X& value) {
  if (output.is_array()) output[at] = Cast(output.dtype(), value);
}

inline Arg ArrayOrNone(const AnyArrayView* array) { return array == nullptr ? Arg(int32_t{0}) : Arg(*array); }

}  // namespace slipway::sort

#endif  // SLIPWAY_JIT_OPS_SORT_KEYS_H_
