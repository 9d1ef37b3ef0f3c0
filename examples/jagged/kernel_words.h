// The words in which the kernels of this folder are written.
#ifndef SLIPWAY_EXAMPLES_JAGGED_KERNEL_WORDS_H_
#define SLIPWAY_EXAMPLES_JAGGED_KERNEL_WORDS_H_

#include <cstdint>
#include <initializer_list>

#include "slipway/embedded.h"

namespace slipway::jagged {

using Int = Expr<int64_t>;
using Bool = Expr<bool>;
template <class T>
using In = ArrayVar<const T, 1, Layout::kContiguous>;
template <class T>
using Out = ArrayVar<T, 1, Layout::kContiguous>;
// An array whose element type differs between the variants of a family, and a number that does.
using Any = AnyArrayVar;
using AnyNumber = AnyExpr;

// Indices come in int32, int64 and uint32, tags in int8 and int64; all arithmetic on them is in int64.
template <class T>
Int Wide(const T& value) {
  return Cast<int64_t>(value);
}

// Whether a value of any type is not zero.
template <class T>
Bool IsNonzero(const T& value) {
  return Cast<bool>(value);
}

// Runs `body(i)` for 0 <= i < count, spread over the threads of the grid.
template <class Body>
void ForEach(const Int& count, const Body& body) {
  For(GridStride(count), body);
}

// A thread of those that share a row's elements out: a warp's, or one alone where rows are short (Rows in family.h).
struct Lane {
  Int number, count;  // The count is 32 or 1, the same for all rows of a launch.

  friend Bool operator==(const Lane& lane, int number) { return lane.number == number; }
};

// Runs `body(row, lane)` for 0 <= row < rows in all lanes of each row; see InRow and RowReduce. A warp for each where
// the launch has threads enough for that.
template <class Body>
void ForEachRow(const Int& rows, const Body& body) {
  const Bool warps = Wide(GridSize()) * Wide(BlockSize()) >= rows * 32;
  const Int shift = Select(warps, Int(5), Int(0)), count = Select(warps, Int(32), Int(1));
  For(GridStride(rows * count), [&](Int thread) { body(Int(thread >> shift), Lane{thread & (count - 1), count}); });
}

// Runs `body(p)` for begin <= p < end, each in one lane of the row.
template <class Body>
void InRow(const Lane& lane, const Int& begin, const Int& end, const Body& body) {
  For(Range(begin + lane.number, end, lane.count), body);
}

// `element(p)` for begin <= p < end combined by the row's lanes, the same in all of them. Each lane starts from
// `neutral`, which must not change what it is combined with. The type is that of `neutral`. Floats are combined in
// another order than one after the other, the same in every run.
template <class Element, class Combine>
AnyExpr RowReduce(const Lane& lane, const Int& begin, const Int& end, const AnyExpr& neutral, const Element& element,
                  const Combine& combine) {
  AnyVar result(neutral.dtype(), neutral);
  InRow(lane, begin, end, [&](Int p) { result = combine(AnyExpr(result), AnyExpr(element(p))); });
  If(lane.count == 32, [&] {
    for (int distance = 16; distance > 0; distance /= 2) {
      const AnyExpr other = WarpShuffleXor(AnyExpr(result), distance);
      result = combine(AnyExpr(result), other);
    }
  });
  return result;
}

// Of `count` elements that come in two groups, those of which `in_first` holds first: how many these are.
template <class InFirst>
Int CountFirst(const Int& count, const InFirst& in_first) {
  Var<int64_t> begin = 0, end = count;
  While([&] { return begin < end; },
        [&] {
          const Int middle = (begin + end) / 2;
          If(in_first(middle), [&] { begin = middle + 1; }).Else([&] { end = middle; });
        });
  return begin;
}

// The row of non-decreasing offsets that position `p` lies in: the last one that begins at or before it, -1 if none
// does.
template <class Offsets>
Int RowOf(const Offsets& offsets, const Int& count, const Int& p) {
  return CountFirst(count, [&](Int row) { return Wide(offsets[row]) <= p; }) - 1;
}

// Whether a run of equal values begins at i.
inline Bool BeginsRun(const In<int64_t>& values, const Int& i) {
  return i == 0 || values[i] != values[max(i - 1, 0)];  // max() keeps the look back inside the array.
}

// Where a call notes its first mistake: row * kCodes + the message's number, the least of all; all ones for none. The
// least is what a loop over the rows would have met first. Check (slipway/embedded/threads.h) would tell the one that
// stands first in the kernel, of whichever row.
using Record = Out<uint64_t>;
inline constexpr uint64_t kNoMistake = ~uint64_t{0};
inline constexpr int64_t kCodes = 256;

inline void Fail(const Record& record, const Int& row, const Int& code) {
  AtomicMin(record[0], Cast<uint64_t>(row * kCodes + code));
}

// Notes which of the mistakes, numbered from 0, a row has made; whether it has made none. What a mistake makes
// meaningless has to be computed after that.
inline Bool Passes(const Record& record, const Int& row, std::initializer_list<Bool> mistakes) {
  Var<bool> passes = true;
  int64_t code = 0;
  for (const Bool& mistake : mistakes) {
    If(mistake, [&] {
      Fail(record, row, code);
      passes = false;
    });
    ++code;
  }
  return passes;
}

// A scan of a kernel that is made of several passes (Scanned in family.h). In its counting pass Count() stores what
// each element counts; after it scan[i] is the sum of all before element i, for 0 <= i <= count.
struct Scan {
  enum class State { kCounting, kDone };

  // True in the counting pass, which has nothing more to do then: if (scan.Count(length, value)) return;
  template <class Value>
  bool Count(const Int& count, const Value& value) const {
    if (state != State::kCounting) return false;
    ForEach(count, [&](Int i) { sums[i] = Wide(value(i)); });
    return true;
  }
  Int operator[](const Int& i) const { return sums[i]; }

  Out<int64_t> sums;
  State state;
};

// What all threads of the grid find, combined into an element that has a value before.
template <class Target, class Value>
void SumInto(const Target& target, const Int& count, const Value& value) {
  Var<int64_t> sum = 0;
  ForEach(count, [&](Int i) { sum += Wide(value(i)); });
  GridReduceAdd(target, Int(sum));
}
template <class Target, class Value>
void MaxInto(const Target& target, const Int& count, const Value& value) {
  Var<int64_t> most = INT64_MIN;
  ForEach(count, [&](Int i) { most = max(most, Wide(value(i))); });
  GridReduceMax(target, Int(most));
}
template <class Target, class Value>
void MinInto(const Target& target, const Int& count, const Value& value) {
  Var<int64_t> least = INT64_MAX;
  ForEach(count, [&](Int i) { least = min(least, Wide(value(i))); });
  GridReduceMin(target, Int(least));
}

}  // namespace slipway::jagged

#endif  // SLIPWAY_EXAMPLES_JAGGED_KERNEL_WORDS_H_
