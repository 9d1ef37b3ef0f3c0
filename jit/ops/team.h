// What the threads of a block make together of the states that each of them has of some reductions.
#ifndef SLIPWAY_JIT_OPS_TEAM_H_
#define SLIPWAY_JIT_OPS_TEAM_H_

#include <vector>

#include "absl/types/span.h"
#include "jit/builder.h"
#include "jit/text/monoid.h"

namespace slipway::elementwise {

// A block of kTeam threads in one dimension, all of which come to each of these.
class Team {
 public:
  // `monoids` of the states that are merged; they share one set of barriers.
  Team(ir::Builder& builder, absl::Span<const text::Monoid> monoids);

  const std::vector<text::Monoid>& monoids() const { return monoids_; }
  ir::ValueId thread() const { return thread_; }  // int32.
  // What the thread takes of things from `begin` to `end`, of their index type: every `step`-th one, so that threads
  // read neighbours; or, where states are merged in order, as many neighbours as the others.
  struct Share {
    ir::ValueId begin, end;
    int step;
  };
  Share ShareOf(ir::ValueId begin, ir::ValueId end);
  // The same of member `member` of `members`.
  Share ShareOf(ir::ValueId begin, ir::ValueId end, ir::ValueId member, int members);

  // Begins an if of the first thread, which has the states of all threads merged, in their order; EndIf() of the
  // builder ends it. The tree is the same each time: a group of threads merges what all left in shared memory, then the
  // first one what the group left there. A loop each, and no shuffles: a little slower than those where a block has
  // little else to do, and a tenth of the code where states are many.
  std::vector<text::ReductionState> BeginMerged(absl::Span<const text::ReductionState> states);
  // The same for each of the first kTile threads, with the states of those that stand kTile apart from it.
  std::vector<text::ReductionState> BeginMergedColumns(absl::Span<const text::ReductionState> states);
  // The states of all threads merged, for each of them.
  std::vector<text::ReductionState> ForAll(absl::Span<const text::ReductionState> states);
  // In the order of the threads: of those with lower numbers, for each, and of all.
  struct Scanned {
    std::vector<text::ReductionState> below, all;
  };
  Scanned Scan(absl::Span<const text::ReductionState> states);

 private:
  using States = std::vector<text::ReductionState>;

  void Keep(const States& states, ir::ValueId at);
  States Kept(ir::ValueId at);
  // What lies at `first`, and from there on at every `step`-th place up to `end`.
  States MergeKept(ir::ValueId first, ir::ValueId end, int step);
  ir::ValueId Number(int n) { return builder_.Constant(DType::kInt32, static_cast<uint64_t>(n)); }

  ir::Builder& builder_;
  const std::vector<text::Monoid> monoids_;
  std::vector<std::vector<ir::ArrayId>> scratch_;  // Of each state's parts: one element a thread.
  ir::ValueId thread_;
};

// Variables that hold states.
class StateVariables {
 public:
  StateVariables(ir::Builder& builder, absl::Span<const text::Monoid> monoids);  // Of no operands.
  StateVariables(ir::Builder& builder, absl::Span<const text::Monoid> monoids,
                 absl::Span<const text::ReductionState> first);
  std::vector<text::ReductionState> Read() const;
  void Merge(absl::Span<const text::ReductionState> states);     // What comes behind what is there.
  void Append(absl::Span<const text::ReductionState> operands);  // The same of one operand each.

 private:
  using MergeOne = text::ReductionState (text::Monoid::*)(ir::Builder&, const text::ReductionState&,
                                                          const text::ReductionState&) const;
  void Each(MergeOne merge, absl::Span<const text::ReductionState> states);

  ir::Builder& builder_;
  const std::vector<text::Monoid> monoids_;
  std::vector<absl::InlinedVector<ir::VarId, 2>> vars_;
};

}  // namespace slipway::elementwise

#endif  // SLIPWAY_JIT_OPS_TEAM_H_
