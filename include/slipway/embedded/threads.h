// What the threads of an embedded kernel do together, and what they run on.
//
//   SyncThreads();                                        // all threads of the block meet
//   Expr<float> sum = WarpReduceAdd(x);                   // of the 32 lanes of a warp
//   Expr<uint32_t> votes = WarpBallot(x > 0);
//   Expr<float> left = WarpShuffleUp(x, 1);
//
// Operations of a warp take a mask of the lanes that come to it, all 32 unless one is given: each lane of the mask that
// has not ended has to come, with the same mask. The threads of a block are numbered x first; each 32 in a row are a
// warp.
#ifndef SLIPWAY_EMBEDDED_THREADS_H_
#define SLIPWAY_EMBEDDED_THREADS_H_

#include <cstdint>
#include <source_location>
#include <string>
#include <type_traits>

#include "slipway/dtype.h"
#include "slipway/embedded/any_var.h"
#include "slipway/embedded/operand.h"
#include "slipway/embedded/operators.h"
#include "slipway/embedded/trace.h"
#include "slipway/embedded/var.h"
#include "slipway/launch_bounds.h"
#include "slipway/memory_model.h"

namespace slipway {

// All threads of the block that have not ended meet; what each has stored is then seen by the others. In a branch or a
// loop only if all of them go there. `id` is one of 16 barriers.
inline void SyncThreads(int id = 0) {
  internal::OnBlock(internal::BarrierKind::kPlain, internal::Operand(false), id, nullptr);
}
// Only `threads` of them meet: a multiple of 32, whole warps.
template <IndexLike N>
void SyncThreads(int id, const N& threads) {
  const internal::TraceEntry entry(internal::ToOperand(threads));
  const internal::Operand count = internal::ToOperand(threads);
  internal::OnBlock(internal::BarrierKind::kPlain, internal::Operand(false), id, &count);
}
// Likewise, and tells each whether `predicate` holds in all, in any, and in how many of them.
template <Condition C>
Expr<bool> SyncThreadsAll(const C& predicate) {
  return Expr<bool>::FromTrace(
      internal::OnBlock(internal::BarrierKind::kAnd, internal::ToOperand(predicate), 0, nullptr));
}
template <Condition C>
Expr<bool> SyncThreadsAny(const C& predicate) {
  return Expr<bool>::FromTrace(
      internal::OnBlock(internal::BarrierKind::kOr, internal::ToOperand(predicate), 0, nullptr));
}
template <Condition C>
Expr<uint32_t> SyncThreadsCount(const C& predicate) {
  return Expr<uint32_t>::FromTrace(
      internal::OnBlock(internal::BarrierKind::kCount, internal::ToOperand(predicate), 0, nullptr));
}

// All threads of the grid meet. The launch has to be cooperative (LaunchConfig::cooperative).
inline void SyncGrid() { internal::SyncGrid(); }

// What this thread stored before is seen by the threads of `scope` before what it stores after.
inline void Fence(MemoryScope scope = MemoryScope::kDevice) { internal::FenceFor(scope); }

// Rests for about that many nanoseconds, at most a millisecond.
template <IndexLike N>
void Sleep(const N& nanoseconds) {
  internal::SleepFor(internal::ToOperand(nanoseconds));
}

// Warps.

inline constexpr uint32_t kWholeWarp = 0xffffffffu;

namespace internal {
template <class X>
auto WarpValue(const char* op, Operands operands, int width = 32) {
  if constexpr (RunTimeTyped<X>) {
    return AnyExpr::FromTrace(OnWarp(op, operands, width));
  } else {
    return ExprOf<OperandTraits<X>::kType.type>::FromTrace(OnWarp(op, operands, width));
  }
}
}  // namespace internal

// The value that another lane has: lane number `lane` of the group, the lane `distance` below or above, or the lane
// whose number differs in the bits `flip`. Groups are `width` neighbouring lanes (a power of 2); a lane that has no
// such other in its group gets its own value. Any type.
#define SLIPWAY_EMBEDDED_SHUFFLE(function, op, other)                                                    \
  template <Expression X, IndexLike L, IndexLike M = uint32_t>                                           \
  auto function(const X& value, const L& other, int width = 32, const M& mask = kWholeWarp) {            \
    return internal::WarpValue<X>(                                                                       \
        op, {internal::ToOperand(mask), internal::ToOperand(value), internal::ToOperand(other)}, width); \
  }
SLIPWAY_EMBEDDED_SHUFFLE(WarpShuffle, "shuffle", lane)
SLIPWAY_EMBEDDED_SHUFFLE(WarpShuffleUp, "shuffle_up", distance)
SLIPWAY_EMBEDDED_SHUFFLE(WarpShuffleDown, "shuffle_down", distance)
SLIPWAY_EMBEDDED_SHUFFLE(WarpShuffleXor, "shuffle_xor", flip)
#undef SLIPWAY_EMBEDDED_SHUFFLE

// Of all lanes of the mask together, the same in each. Sums of floats are taken in a fixed order.
#define SLIPWAY_EMBEDDED_WARP_REDUCE(function, op)                                              \
  template <Expression X, IndexLike M = uint32_t>                                               \
  auto function(const X& value, const M& mask = kWholeWarp) {                                   \
    return internal::WarpValue<X>(op, {internal::ToOperand(mask), internal::ToOperand(value)}); \
  }
SLIPWAY_EMBEDDED_WARP_REDUCE(WarpReduceAdd, "reduce_add")
SLIPWAY_EMBEDDED_WARP_REDUCE(WarpReduceMin, "reduce_min")
SLIPWAY_EMBEDDED_WARP_REDUCE(WarpReduceMax, "reduce_max")
SLIPWAY_EMBEDDED_WARP_REDUCE(WarpReduceAnd, "reduce_and")
SLIPWAY_EMBEDDED_WARP_REDUCE(WarpReduceOr, "reduce_or")
SLIPWAY_EMBEDDED_WARP_REDUCE(WarpReduceXor, "reduce_xor")
#undef SLIPWAY_EMBEDDED_WARP_REDUCE

// Whether a condition holds in all lanes of the mask, in any, or is the same in all; and the mask of those where it
// holds.
#define SLIPWAY_EMBEDDED_VOTE(function, op, Result)                                                                    \
  template <Condition C, IndexLike M = uint32_t>                                                                       \
  Expr<Result> function(const C& predicate, const M& mask = kWholeWarp) {                                              \
    return Expr<Result>::FromTrace(internal::OnWarp(op, {internal::ToOperand(mask), internal::ToOperand(predicate)})); \
  }
SLIPWAY_EMBEDDED_VOTE(WarpAll, "all", bool)
SLIPWAY_EMBEDDED_VOTE(WarpAny, "any", bool)
SLIPWAY_EMBEDDED_VOTE(WarpUniform, "uniform", bool)
SLIPWAY_EMBEDDED_VOTE(WarpBallot, "ballot", uint32_t)
#undef SLIPWAY_EMBEDDED_VOTE

// The lanes whose value has the same bits as this lane's; and all of the mask if that is the same in all, else 0.
template <Expression X, IndexLike M = uint32_t>
Expr<uint32_t> WarpMatchAny(const X& value, const M& mask = kWholeWarp) {
  return Expr<uint32_t>::FromTrace(
      internal::OnWarp("match_any", {internal::ToOperand(mask), internal::ToOperand(value)}));
}
template <Expression X, IndexLike M = uint32_t>
Expr<uint32_t> WarpMatchAll(const X& value, const M& mask = kWholeWarp) {
  return Expr<uint32_t>::FromTrace(
      internal::OnWarp("match_all", {internal::ToOperand(mask), internal::ToOperand(value)}));
}
// The lanes of the mask meet; what each has stored is then seen by the others.
inline void SyncWarp() { internal::OnWarp("sync", {internal::Operand(kWholeWarp)}); }
template <IndexLike M>
void SyncWarp(const M& mask) {
  internal::OnWarp("sync", {internal::ToOperand(mask)});
}
// The lanes that happen to run this together. Which ones they are is promised by nobody.
inline Expr<uint32_t> ActiveLanes() { return Expr<uint32_t>::FromTrace(internal::OnWarp("active", {})); }

// Where the thread is, and what it runs on.
#define SLIPWAY_EMBEDDED_REGISTER(function, name, Type) \
  inline Expr<Type> function() { return Expr<Type>::FromTrace(internal::RegisterValue(name)); }
SLIPWAY_EMBEDDED_REGISTER(LaneIndex, "lane", uint32_t)          // In its warp, 0 to 31.
SLIPWAY_EMBEDDED_REGISTER(LanesBelow, "lanes_below", uint32_t)  // The mask of the lanes of lower numbers,
SLIPWAY_EMBEDDED_REGISTER(LanesAbove, "lanes_above", uint32_t)  // and of higher ones.
SLIPWAY_EMBEDDED_REGISTER(MultiprocessorIndex, "multiprocessor", uint32_t)
SLIPWAY_EMBEDDED_REGISTER(MultiprocessorCount, "num_multiprocessors", uint32_t)
SLIPWAY_EMBEDDED_REGISTER(DynamicSharedBytes, "dynamic_shared_bytes", uint32_t)  // As the launch gave them.
SLIPWAY_EMBEDDED_REGISTER(Clock, "clock", uint64_t)                              // Cycles of its multiprocessor.
SLIPWAY_EMBEDDED_REGISTER(GlobalTimer, "global_timer", uint64_t)                 // Nanoseconds of the device.
#undef SLIPWAY_EMBEDDED_REGISTER

// What is promised of launches of the kernel. The last one counts.
inline void Bounds(const LaunchBounds& bounds) { internal::BoundLaunches(bounds); }

// Messages.

// Prints when the kernel runs, on the program's stdout, when the device is waited for. As printf with %d %i %u %x %X %o
// %c for integers and bools, %e %f %g %a for floats, flags, width, precision, and %%; a conversion prints its operand
// whatever its width. At most 32 operands. INVALID_ARGUMENT of the kernel for anything else.
template <OperandLike... X>
void Printf(const std::string& format, const X&... operands) {
  const internal::Operand list[sizeof...(X) + 1] = {internal::ToOperand(operands)..., 0};
  internal::PrintfOf(format, absl::MakeConstSpan(list, sizeof...(X)));
}
// Where the condition does not hold, the kernel has raised an error: this thread ends, the others go on, and
// Stream::Synchronize returns "KERNEL: MESSAGE (element I, block B, thread T)" of the first that failed: that with the
// least element, which is the index of the innermost GridStride loop around, or else the number of the thread in the
// grid. Of several checks that fail for one launch, the one that stands first in the kernel is told. The message is a
// format as Printf's, for at most 11 operands; a '%' is written "%%". In a kernel with barriers see CheckAndGoOn.
// docs/errors.md.
template <Condition C, OperandLike... X>
void Check(const C& condition, const std::string& message, const X&... operands) {
  const internal::Operand list[sizeof...(X) + 1] = {internal::ToOperand(operands)..., 0};
  internal::CheckThat(internal::ToOperand(condition), message, absl::MakeConstSpan(list, sizeof...(X)), /*stops=*/true);
}
// The same, but the thread goes on: where others wait for it, or where it is to do the rest by halves.
template <Condition C, OperandLike... X>
void CheckAndGoOn(const C& condition, const std::string& message, const X&... operands) {
  const internal::Operand list[sizeof...(X) + 1] = {internal::ToOperand(operands)..., 0};
  internal::CheckThat(internal::ToOperand(condition), message, absl::MakeConstSpan(list, sizeof...(X)),
                      /*stops=*/false);
}
// Where the condition does not hold, prints the message with the kernel's name, the line of the call, block and thread,
// and ends the launch with an error that the context keeps (CUDA_ERROR_ASSERT). The line is part of the code: a kernel
// whose assertion stands on another one is compiled anew.
template <Condition C>
void Assert(const C& condition, const std::string& message,
            const std::source_location& where = std::source_location::current()) {
  const internal::Operand holds = internal::ToOperand(condition);
  internal::LocateAt(where);
  internal::AssertThat(holds, message);
}
// Ends the launch with an error that the context keeps.
inline void Trap() { internal::TrapHere(); }

}  // namespace slipway

#endif  // SLIPWAY_EMBEDDED_THREADS_H_
