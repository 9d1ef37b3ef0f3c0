// Control flow and thread indices inside an embedded kernel.
//
//   If(i < y.size(), [&] { y[i] = 1; }).Else([&] { Return(); });
//   For(Range(0, 10), [&](Var<int64_t> k) { sum += x[k]; });
//   For(GridStride(y.size()), [&](Var<int64_t> i) { y[i] = a * x[i]; });
//   While([&] { return n > 1; }, [&] { n = n / 2; });
//
// Each lambda runs once, on the host, while the kernel is traced; what it does becomes the branch or the loop. So a
// host `if` chooses what the kernel is, and If chooses what a thread does. Capture by reference: see var.h. An Expr
// made inside such a lambda ends with it; carry results out in Vars.
#ifndef SLIPWAY_EMBEDDED_CONTROL_H_
#define SLIPWAY_EMBEDDED_CONTROL_H_

#include <cstdint>
#include <source_location>
#include <type_traits>
#include <utility>

#include "slipway/embedded/operand.h"
#include "slipway/embedded/operators.h"
#include "slipway/embedded/trace.h"
#include "slipway/embedded/var.h"

namespace slipway {

// What If returns, to hang an Else on, in the same statement.
class IfResult {
 public:
  explicit IfResult(const internal::Operand& condition) : condition_(condition) {}
  template <class Body>
  void Else(Body&& otherwise) && {
    const internal::TraceEntry entry(condition_);
    internal::ReopenElse();
    std::forward<Body>(otherwise)();
    internal::EndIf();
  }

 private:
  internal::Operand condition_;  // Tells whose kernel it is.
};

template <Condition C, class Body>
IfResult If(const C& condition, Body&& then, const std::source_location& where = std::source_location::current()) {
  const internal::Operand holds = internal::ToOperand(condition);
  const internal::TraceEntry entry(holds);
  internal::LocateAt(where);
  internal::BeginIf(holds);
  std::forward<Body>(then)();
  internal::EndIf();
  return IfResult(holds);
}
template <Condition C, class Then, class Otherwise>
requires std::is_invocable_v<Otherwise>
void If(const C& condition, Then&& then, Otherwise&& otherwise,
        const std::source_location& where = std::source_location::current()) {
  If(condition, std::forward<Then>(then), where).Else(std::forward<Otherwise>(otherwise));
}

// Where a For runs: from begin on in steps, up to (or, with a negative step, down to) but not including end. The bounds
// are computed once, in int64. Step 0 runs nothing.
struct LoopRange {
  Expr<int64_t> begin, end, step;
  uint32_t unroll = 0;

  // How many turns the compiler makes one of: 1 for none, 0 (as it is) as it sees fit.
  LoopRange Unroll(uint32_t count) const { return {begin, end, step, count}; }
};
namespace internal {
// An operand that tells whose kernel some are of: the first that is no number of the host program.
template <class... X>
Operand AnyOf(const X&... x) {
  Operand found = 0;
  const auto look = [&](const auto& operand) {
    if constexpr (Expression<std::remove_cvref_t<decltype(operand)>>) {
      if (found.kind != Operand::kValue) found = ToOperand(operand);
    }
  };
  (look(x), ...);
  return found;
}
template <class X>
Expr<int64_t> Bound(const X& x) {
  return Expr<int64_t>::FromTrace(LoopBound(ToOperand(x)));
}
}  // namespace internal
template <IndexLike E>
LoopRange Range(const E& end) {
  const internal::TraceEntry entry(internal::ToOperand(end));
  return {Expr<int64_t>(0), internal::Bound(end), Expr<int64_t>(1)};
}
template <IndexLike B, IndexLike E>
LoopRange Range(const B& begin, const E& end) {
  const internal::TraceEntry entry(internal::AnyOf(begin, end));
  return {internal::Bound(begin), internal::Bound(end), Expr<int64_t>(1)};
}
template <IndexLike B, IndexLike E, IndexLike S>
LoopRange Range(const B& begin, const E& end, const S& step) {
  const internal::TraceEntry entry(internal::AnyOf(begin, end, step));
  return {internal::Bound(begin), internal::Bound(end), internal::Bound(step)};
}

// block * block_dim + thread in x, as int64: the element of a launch ForSize(n) that this thread is for. A launch has
// at least n threads, so compare it with n, or use GridStride.
inline Expr<int64_t> GlobalIndex() { return Expr<int64_t>::FromTrace(internal::GlobalIndexValue()); }
// thread, block and their counts, by dimension: 0 is x, 1 is y, 2 is z.
inline Expr<uint32_t> ThreadIndex(int dimension = 0) {
  return Expr<uint32_t>::FromTrace(internal::SpecialValue("thread", dimension));
}
inline Expr<uint32_t> BlockIndex(int dimension = 0) {
  return Expr<uint32_t>::FromTrace(internal::SpecialValue("block", dimension));
}
inline Expr<uint32_t> BlockSize(int dimension = 0) {
  return Expr<uint32_t>::FromTrace(internal::SpecialValue("block_dim", dimension));
}
inline Expr<uint32_t> GridSize(int dimension = 0) {
  return Expr<uint32_t>::FromTrace(internal::SpecialValue("grid_dim", dimension));
}

// The elements 0 to n - 1, shared out over the threads of the launch along x, however many those are. Threads that
// differ in y or z alone would do the same elements again: a kernel that never asks for its place along y or z is
// launched by ForSize, and refuses grids, blocks and shapes that have more than x. A kernel that takes its thread's
// place from nowhere else may be launched for sizes past the largest grid.
template <IndexLike E>
LoopRange GridStride(const E& n) {
  const internal::TraceEntry entry(internal::ToOperand(n));
  // In statements of their own: C++ leaves the order of arguments to the compiler, and kernels should not depend on it.
  const Expr<int64_t> first = Expr<int64_t>::FromTrace(internal::GridStrideFirst());
  const Expr<int64_t> end = internal::Bound(n);
  return {first, end, Expr<int64_t>::FromTrace(internal::GridStrideStep())};
}

// The body takes the loop's value, as a Var<int64_t> (a copy of its own) or an Expr<int64_t>.
template <class Body>
requires std::is_invocable_v<Body, Expr<int64_t>>
void For(const LoopRange& range, Body&& body, const std::source_location& where = std::source_location::current()) {
  const internal::TraceEntry entry(range.end.Get());
  internal::LocateAt(where);
  const Expr<int64_t> value =
      Expr<int64_t>::FromTrace(internal::BeginFor(range.begin.Get(), range.end.Get(), range.step.Get(), range.unroll));
  std::forward<Body>(body)(value);
  internal::EndFor();
}

// Runs the body as long as the condition, computed anew each time, holds.
template <class ConditionBody, class Body>
requires Condition<std::invoke_result_t<ConditionBody>>
void While(ConditionBody&& condition, Body&& body, uint32_t unroll = 0,
           const std::source_location& where = std::source_location::current()) {
  internal::LocateAt(where);
  internal::BeginWhile(unroll);
  {
    const auto holds = std::forward<ConditionBody>(condition)();
    internal::WhileCondition(internal::ToOperand(holds));
  }
  std::forward<Body>(body)();
  internal::EndWhile();
}

// End the innermost loop, or this turn of it.
inline void Break() { internal::BreakLoop(); }
inline void Continue() { internal::ContinueLoop(); }

// In a DeviceFunction without results ends the call (see device_function.h); elsewhere this thread's work.
inline void Return() { internal::ReturnFromThis(); }
// Ends this thread's work, wherever.
inline void Exit() { internal::ExitThread(); }

}  // namespace slipway

#endif  // SLIPWAY_EMBEDDED_CONTROL_H_
