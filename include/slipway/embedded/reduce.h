// What the threads of a block, or of the grid, make of one value each: sums, extremes, scans, by any associative
// operation.
//
//   Expr<float> total = BlockReduceAdd(x[i]);                       // the same in every thread of the block
//   Expr<int> before = BlockScanExclusiveAdd(Cast<int>(keep));      // of the threads with lower numbers
//   auto longest = BlockReduce(length, [](auto a, auto b) { return max(a, b); });
//   GridReduceAdd(out[0], x[i]);                                    // one atomic addition a block
//   GridReduce(out[0], x[i], combine::Add(), partials, tickets[0]); // the same bits in every run
//
// All threads of the block have to come: not in a branch that some of them do not take, nor after some have returned. A
// block may have any number of threads, in one to three dimensions. They are numbered x first, and values are combined
// in the order of these numbers, always in the same tree: the result is the same in each run, and the operation need
// not be commutative. Sums and scans of float16 and bfloat16 are made, and given, in float32, those of bools in int32;
// other types keep theirs. Shared memory for up to 32 values of the type is taken once for each type and used by all
// calls.
#ifndef SLIPWAY_EMBEDDED_REDUCE_H_
#define SLIPWAY_EMBEDDED_REDUCE_H_

#include <cstdint>
#include <type_traits>

#include "slipway/embedded/any_array_var.h"
#include "slipway/embedded/any_var.h"
#include "slipway/embedded/array_var.h"
#include "slipway/embedded/control.h"
#include "slipway/embedded/functions.h"
#include "slipway/embedded/memory.h"
#include "slipway/embedded/operand.h"
#include "slipway/embedded/operators.h"
#include "slipway/embedded/threads.h"
#include "slipway/embedded/trace.h"
#include "slipway/embedded/var.h"

namespace slipway {

// Operations to combine two values by. A DeviceFunction or a lambda of two values serves as well.
namespace combine {
struct Add {
  auto operator()(const auto& a, const auto& b) const { return a + b; }
};
struct Multiply {
  auto operator()(const auto& a, const auto& b) const { return a * b; }
};
struct Min {
  auto operator()(const auto& a, const auto& b) const { return min(a, b); }
};
struct Max {
  auto operator()(const auto& a, const auto& b) const { return max(a, b); }
};
struct And {
  auto operator()(const auto& a, const auto& b) const { return a & b; }
};
struct Or {
  auto operator()(const auto& a, const auto& b) const { return a | b; }
};
struct Xor {
  auto operator()(const auto& a, const auto& b) const { return a ^ b; }
};
}  // namespace combine

namespace internal {

// The expression that a value is: an Expr<T>, or an AnyExpr.
template <class X>
auto AsExpr(const X& x) {
  if constexpr (RunTimeTyped<X>) {
    const AnyExpr value(x);
    return slipway::Cast(value.dtype(), value);  // A literal takes its type.
  } else {
    return ExprOf<OperandTraits<X>::kType.type>(x);
  }
}
// The same in the type that sums are made in.
constexpr DType SumType(DType dtype) {
  if (dtype == DType::kFloat16 || dtype == DType::kBFloat16) return DType::kFloat32;
  return dtype == DType::kBool ? DType::kInt32 : dtype;
}
template <class X>
auto AsSummand(const X& x) {
  if constexpr (RunTimeTyped<X>) {
    const AnyExpr value(x);
    return slipway::Cast(SumType(value.dtype()), value);
  } else {
    return slipway::Cast<typename TypeOfDType<SumType(OperandTraits<X>::kType.type)>::Type>(x);
  }
}
// What an operation gives, as the type of its operands.
template <class V, class Combine>
V Combined(const Combine& combine, const V& a, const V& b) {
  const auto both = combine(a, b);
  if constexpr (std::is_same_v<V, AnyExpr>) {
    return slipway::Cast(a.dtype(), both);
  } else {
    static_assert(StorableIn<decltype(both), typename V::Value>, "the operation gives another kind of number");
    return slipway::Cast<typename V::Value>(both);
  }
}

// The numbers of the block's threads that have a value: 0 to `count` - 1. Registers by name: that a reduction asks for
// a thread's place says nothing about how the kernel may be launched.
struct BlockPlace {
  static Expr<uint32_t> Register(const char* name) { return Expr<uint32_t>::FromTrace(RegisterValue(name)); }

  Expr<uint32_t> width = Register("block_dim.x"), height = Register("block_dim.y");
  Expr<uint32_t> thread = Register("thread.x") + width * (Register("thread.y") + height * Register("thread.z"));
  Expr<uint32_t> threads = width * height * Register("block_dim.z");
  Expr<uint32_t> lane = thread & 31, warp = thread >> 5;
};

// Lane l gets the values of the lanes l to l + 31, of which there are `count`; the one that counts is lane 0's.
template <class V, class Combine>
V WarpTree(const V& value, const Expr<uint32_t>& lane, const Expr<uint32_t>& count, const Combine& combine,
           uint32_t distance = 1) {
  if (distance == 32) return value;
  const V other = WarpShuffleDown(value, distance);
  const V both = Combined(combine, value, other);
  return WarpTree(V(Select(lane + distance < count, both, value)), lane, count, combine, 2 * distance);
}
// Lane l gets the values of the lanes 0 to l.
template <class V, class Combine>
V WarpScan(const V& value, const Expr<uint32_t>& lane, const Combine& combine, uint32_t distance = 1) {
  if (distance == 32) return value;
  const V other = WarpShuffleUp(value, distance);
  const V both = Combined(combine, other, value);
  return WarpScan(V(Select(lane >= distance, both, value)), lane, combine, 2 * distance);
}

// What a call keeps in the block's scratch memory: one value of each warp, and after the barrier what warp 0 makes of
// them. Nobody reads the former after a call's last barrier, nor writes the latter before its first one, so calls need
// no barrier between them. Warp 0 has all the lanes that this takes; the last warp may not.
template <class V>
struct Scratch {
  static constexpr uint32_t kResults = 32;

  explicit Scratch(const V& value) : array(AnyArrayVar::FromTrace(BlockScratch(TypeOfValue(value.Get())))) {}
  V Load(const Expr<uint32_t>& at) const { return V::FromTrace(AnyExpr(array[at]).Get()); }

  AnyArrayVar array;
};

// Of the first `count` threads.
template <class V, class Combine>
V ReduceBlock(const V& value, const BlockPlace& place, const Expr<uint32_t>& count, const Combine& combine) {
  const Scratch<V> scratch(value);
  const Expr<uint32_t> first = place.thread - place.lane;
  const V of_warp = WarpTree(value, place.lane, Expr<uint32_t>(count - first), combine);
  If(place.lane == 0, [&] { scratch.array[place.warp] = of_warp; });
  SyncThreads();
  If(place.warp == 0, [&] {
    const Expr<uint32_t> warps = (count + 31) >> 5;
    const V of_block = WarpTree(scratch.Load(place.lane), place.lane, warps, combine);
    If(place.lane == 0, [&] { scratch.array[scratch.kResults] = of_block; });
  });
  SyncThreads();
  return scratch.Load(scratch.kResults);
}

// Of the threads of lower warps, of which warp 0 has none. `of_warp` is what WarpScan gave.
template <class V, class Combine>
V OfWarpsBelow(const V& of_warp, const BlockPlace& place, const Combine& combine) {
  const Scratch<V> scratch(of_warp);
  If(place.lane == 31, [&] { scratch.array[place.warp] = of_warp; });
  SyncThreads();
  If(place.warp == 0,
     [&] { scratch.array[place.lane + scratch.kResults] = WarpScan(scratch.Load(place.lane), place.lane, combine); });
  SyncThreads();
  return scratch.Load(Expr<uint32_t>(((place.warp - 1) & 31) + scratch.kResults));
}

// A number of the host program, or an expression, as a V.
template <class V, class X>
V ConvertedTo(const V& like, const X& x) {
  if constexpr (std::is_same_v<V, AnyExpr>) {
    return slipway::Cast(like.dtype(), x);
  } else {
    return V(x);
  }
}

}  // namespace internal

// The values of all threads of the block combined, the same in each of them.
template <Expression X, class Combine>
auto BlockReduce(const X& value, const Combine& combine) {
  const internal::TraceEntry entry(internal::ToOperand(value));
  const internal::BlockPlace place;
  return internal::ReduceBlock(internal::AsExpr(value), place, place.threads, combine);
}

// Of this thread and those with lower numbers.
template <Expression X, class Combine>
auto BlockScan(const X& value, const Combine& combine) {
  const internal::TraceEntry entry(internal::ToOperand(value));
  const internal::BlockPlace place;
  const auto of_warp = internal::WarpScan(internal::AsExpr(value), place.lane, combine);
  using V = std::remove_const_t<decltype(of_warp)>;
  const V below = internal::OfWarpsBelow(of_warp, place, combine);
  const V all = internal::Combined(combine, below, of_warp);
  return V(Select(place.warp == 0, of_warp, all));
}

// Of those with lower numbers only, after `initial`; in thread 0 that alone.
template <Expression X, OperandLike I, class Combine>
auto BlockScanExclusive(const X& value, const I& initial, const Combine& combine) {
  const internal::TraceEntry entry(internal::ToOperand(value));
  const internal::BlockPlace place;
  const auto of_warp = internal::WarpScan(internal::AsExpr(value), place.lane, combine);
  using V = std::remove_const_t<decltype(of_warp)>;
  const V warps_below = internal::OfWarpsBelow(of_warp, place, combine);
  const V lanes_below = WarpShuffleUp(of_warp, 1);
  const V both = internal::Combined(combine, warps_below, lanes_below);
  const V before = V(Select(place.warp == 0, lanes_below, V(Select(place.lane == 0, warps_below, both))));
  const V first = internal::ConvertedTo(of_warp, initial);
  const V result = internal::Combined(combine, first, before);
  return V(Select(place.thread == 0, first, result));
}

// The value that the thread with that number has, in every thread of the block.
template <Expression X, IndexLike N = int>
auto BlockBroadcast(const X& value, const N& thread = 0) {
  const internal::TraceEntry entry(internal::ToOperand(value));
  const internal::BlockPlace place;
  const auto own = internal::AsExpr(value);
  const internal::Scratch<std::remove_const_t<decltype(own)>> scratch(own);
  SyncThreads();
  If(place.thread == Cast<uint32_t>(thread), [&] { scratch.array[scratch.kResults] = own; });
  SyncThreads();
  return scratch.Load(scratch.kResults);
}

// The ready-made operations: sums wrap, min and max are those of functions.h, And, Or and Xor take integers and bools.
template <Expression X>
auto BlockReduceAdd(const X& value) {
  return BlockReduce(internal::AsSummand(value), combine::Add());
}
template <Expression X>
auto BlockScanAdd(const X& value) {
  return BlockScan(internal::AsSummand(value), combine::Add());
}
template <Expression X>
auto BlockScanExclusiveAdd(const X& value) {
  return BlockScanExclusive(internal::AsSummand(value), 0, combine::Add());
}
#define SLIPWAY_EMBEDDED_BLOCK_REDUCE(Name)     \
  template <Expression X>                       \
  auto BlockReduce##Name(const X& value) {      \
    return BlockReduce(value, combine::Name()); \
  }
SLIPWAY_EMBEDDED_BLOCK_REDUCE(Min)
SLIPWAY_EMBEDDED_BLOCK_REDUCE(Max)
SLIPWAY_EMBEDDED_BLOCK_REDUCE(And)
SLIPWAY_EMBEDDED_BLOCK_REDUCE(Or)
SLIPWAY_EMBEDDED_BLOCK_REDUCE(Xor)
#undef SLIPWAY_EMBEDDED_BLOCK_REDUCE

// The values of all threads of the grid combined into an element of an array, by one atomic operation a block. The
// element has to have a value before (0 for sums). Blocks come in any order, so sums of floats differ in their last
// bits from run to run. The types are those of the atomic operation (memory.h).
#define SLIPWAY_EMBEDDED_GRID_REDUCE(Name)                                           \
  template <class Element, Expression X>                                             \
  requires requires(const Element& e, const X& x) { Atomic##Name(e, x); }            \
  void GridReduce##Name(const Element& target, const X& value) {                     \
    const internal::TraceEntry entry(internal::ToOperand(value));                    \
    const auto of_block = BlockReduce##Name(value);                                  \
    If(internal::BlockPlace().thread == 0, [&] { Atomic##Name(target, of_block); }); \
  }
SLIPWAY_EMBEDDED_GRID_REDUCE(Add)
SLIPWAY_EMBEDDED_GRID_REDUCE(Min)
SLIPWAY_EMBEDDED_GRID_REDUCE(Max)
SLIPWAY_EMBEDDED_GRID_REDUCE(And)
SLIPWAY_EMBEDDED_GRID_REDUCE(Or)
SLIPWAY_EMBEDDED_GRID_REDUCE(Xor)
#undef SLIPWAY_EMBEDDED_GRID_REDUCE

// The same by any associative operation and in the order of blocks and threads, so that launches of one shape give the
// same bits: each block leaves its value in `partials`, an array (rank 1) of as many elements as the grid has blocks,
// and the one that comes last combines them and stores the result into `target`, over what was there. `ticket` is a
// uint32 element that is 0 before, and 0 again after.
template <class Element, Expression X, class Combine, class Partials, class Ticket>
void GridReduce(const Element& target, const X& value, const Combine& combine, const Partials& partials,
                const Ticket& ticket) {
  const internal::TraceEntry entry(internal::ToOperand(value));
  const internal::BlockPlace place;
  const auto at = [](const char* name) { return internal::BlockPlace::Register(name); };
  const Expr<uint32_t> columns = at("grid_dim.x"), rows = at("grid_dim.y");
  const Expr<uint32_t> blocks = columns * rows * at("grid_dim.z");
  const Expr<uint32_t> block = at("block.x") + columns * (at("block.y") + rows * at("block.z"));

  const auto of_block = internal::ReduceBlock(internal::AsExpr(value), place, place.threads, combine);
  using V = std::remove_const_t<decltype(of_block)>;
  Var<uint32_t> number = 0;
  If(place.thread == 0, [&] {
    partials[block] = of_block;
    Fence(MemoryScope::kDevice);
    number = AtomicIncrement(ticket, blocks - 1, MemoryOrder::kAcquireRelease);
  });
  If(BlockBroadcast(number) == blocks - 1, [&] {
    Fence(MemoryScope::kDevice);
    // Each thread takes as many neighbours as all have to take; the last ones may have none.
    const Expr<uint32_t> each = (blocks - 1) / place.threads + 1;
    const Expr<uint32_t> first = place.thread * each, takers = (blocks - 1) / each + 1;
    const auto load = [&](const auto& index) { return V::FromTrace(internal::AsExpr(partials[index]).Get()); };
    auto sum = [&] {
      if constexpr (std::is_same_v<V, AnyExpr>) {
        return AnyVar(load(min(first, blocks - 1)));
      } else {
        return Var<typename V::Value>(load(min(first, blocks - 1)));
      }
    }();
    For(Range(first + 1, min(first + each, blocks)),
        [&](const Expr<int64_t>& k) { sum = internal::Combined(combine, V(sum), load(k)); });
    const V result = internal::ReduceBlock(V(sum), place, takers, combine);
    If(place.thread == 0, [&] { target = result; });
  });
}

}  // namespace slipway

#endif  // SLIPWAY_EMBEDDED_REDUCE_H_
