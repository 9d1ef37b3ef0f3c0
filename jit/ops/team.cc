#include "jit/ops/team.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "jit/ops/elementwise_kernel.h"

namespace slipway::elementwise {

using ir::Op;
using ir::ValueId;
using text::ReductionState;

namespace {

constexpr int kGroup = 16;
static_assert(kTeam % kGroup == 0, "each of the group has as many to merge");

}  // namespace

Team::Team(ir::Builder& builder, absl::Span<const text::Monoid> monoids)
    : builder_(builder), monoids_(monoids.begin(), monoids.end()) {
  builder_.SetBounds({.max_threads = kTeam});
  for (const text::Monoid& monoid : monoids_) {
    std::vector<ir::ArrayId>& parts = scratch_.emplace_back();
    for (DType dtype : monoid.types()) {
      parts.push_back(
          builder_.AddSharedArray(absl::StrCat("team", scratch_.size(), "_", parts.size()), dtype, {kTeam}));
    }
  }
  thread_ = builder_.Cast(DType::kInt32, builder_.Special(ir::SpecialRegister::kThreadX));
}

void Team::Keep(const States& states, ValueId at) {
  for (size_t i = 0; i < states.size(); ++i) {
    for (size_t part = 0; part < states[i].size(); ++part) builder_.Store(scratch_[i][part], {at}, states[i][part]);
  }
}
Team::States Team::Kept(ValueId at) {
  States states;
  for (const std::vector<ir::ArrayId>& parts : scratch_) {
    ReductionState& state = states.emplace_back();
    for (ir::ArrayId part : parts) state.push_back(builder_.Load(part, {at}));
  }
  return states;
}

Team::Share Team::ShareOf(ValueId begin, ValueId end) { return ShareOf(begin, end, thread_, kTeam); }

Team::Share Team::ShareOf(ValueId begin, ValueId end, ValueId member, int members) {
  const DType dtype = builder_.TypeOf(begin);
  const auto number = [&](int n) { return builder_.Constant(dtype, static_cast<uint64_t>(n)); };
  member = builder_.Cast(dtype, member);
  if (std::none_of(monoids_.begin(), monoids_.end(), [](const text::Monoid& monoid) { return monoid.ordered(); })) {
    return {builder_.Apply(Op::kAdd, {begin, member}), end, members};
  }
  const ValueId count = builder_.Apply(Op::kSub, {end, begin});
  const ValueId each =
      builder_.Apply(Op::kDiv, {builder_.Apply(Op::kAdd, {count, number(members - 1)}), number(members)});
  const ValueId first = builder_.Apply(Op::kAdd, {begin, builder_.Apply(Op::kMul, {member, each})});
  return {first, builder_.Apply(Op::kMin, {builder_.Apply(Op::kAdd, {first, each}), end}), 1};
}

Team::States Team::MergeKept(ValueId first, ValueId end, int step) {
  StateVariables merged(builder_, monoids_, Kept(first));
  const ValueId second = builder_.Apply(Op::kAdd, {first, Number(step)});
  const ValueId at = builder_.BeginFor("member", DType::kInt32, second, end, Number(step), /*unroll=*/1);
  merged.Merge(Kept(at));
  builder_.EndFor();
  return merged.Read();
}

// A kernel that comes here again has a barrier between: the first thread reads what others would write.
std::vector<ReductionState> Team::BeginMerged(absl::Span<const ReductionState> states) {
  Keep({states.begin(), states.end()}, thread_);
  builder_.ThreadBarrier(ir::BarrierReduction::kNone, ir::kNone);
  constexpr int kEach = kTeam / kGroup;
  builder_.BeginIf(builder_.Apply(Op::kLt, {thread_, Number(kGroup)}));
  const ValueId first = builder_.Apply(Op::kMul, {thread_, Number(kEach)});
  Keep(MergeKept(first, builder_.Apply(Op::kAdd, {first, Number(kEach)}), 1), first);
  builder_.EndIf();
  builder_.ThreadBarrier(ir::BarrierReduction::kNone, ir::kNone);
  builder_.BeginIf(builder_.Apply(Op::kEq, {thread_, Number(0)}));
  return MergeKept(thread_, Number(kTeam), kEach);
}

std::vector<ReductionState> Team::ForAll(absl::Span<const ReductionState> states) {
  Keep(BeginMerged(states), Number(0));
  builder_.EndIf();
  builder_.ThreadBarrier(ir::BarrierReduction::kNone, ir::kNone);
  States all = Kept(Number(0));
  builder_.ThreadBarrier(ir::BarrierReduction::kNone, ir::kNone);  // Before the next call writes there.
  return all;
}

// Groups of neighbours: one thread goes through a group and leaves in the place of each what the group has up to it;
// then each thread goes through what the groups have in all.
Team::Scanned Team::Scan(absl::Span<const ReductionState> states) {
  const auto barrier = [&] { builder_.ThreadBarrier(ir::BarrierReduction::kNone, ir::kNone); };
  Keep({states.begin(), states.end()}, thread_);
  barrier();
  builder_.BeginIf(builder_.Apply(Op::kLt, {thread_, Number(kTeam / kGroup)}));
  const ValueId first = builder_.Apply(Op::kMul, {thread_, Number(kGroup)});
  StateVariables group(builder_, monoids_, Kept(first));
  const ValueId at = builder_.BeginFor("member", DType::kInt32, builder_.Apply(Op::kAdd, {first, Number(1)}),
                                       builder_.Apply(Op::kAdd, {first, Number(kGroup)}), Number(1), /*unroll=*/1);
  group.Merge(Kept(at));
  Keep(group.Read(), at);
  builder_.EndFor();
  builder_.EndIf();
  barrier();
  const ValueId own = builder_.Apply(Op::kShr, {thread_, Number(std::countr_zero(unsigned{kGroup}))});
  StateVariables below(builder_, monoids_), all(builder_, monoids_);
  const ValueId g =
      builder_.BeginFor("group", DType::kInt32, Number(0), Number(kTeam / kGroup), Number(1), /*unroll=*/1);
  const States of_group =
      Kept(builder_.Apply(Op::kAdd, {builder_.Apply(Op::kMul, {g, Number(kGroup)}), Number(kGroup - 1)}));
  all.Merge(of_group);
  builder_.BeginIf(builder_.Apply(Op::kLt, {g, own}));
  below.Merge(of_group);
  builder_.EndIf();
  builder_.EndFor();
  builder_.BeginIf(builder_.Apply(Op::kNe, {builder_.Apply(Op::kBitAnd, {thread_, Number(kGroup - 1)}), Number(0)}));
  below.Merge(Kept(builder_.Apply(Op::kSub, {thread_, Number(1)})));
  builder_.EndIf();
  barrier();  // Before the next call writes there.
  return {below.Read(), all.Read()};
}

std::vector<ReductionState> Team::BeginMergedColumns(absl::Span<const ReductionState> states) {
  Keep({states.begin(), states.end()}, thread_);
  builder_.ThreadBarrier(ir::BarrierReduction::kNone, ir::kNone);
  builder_.BeginIf(builder_.Apply(Op::kLt, {thread_, Number(kTile)}));
  return MergeKept(thread_, Number(kTeam), kTile);
}

StateVariables::StateVariables(ir::Builder& builder, absl::Span<const text::Monoid> monoids)
    : StateVariables(builder, monoids, [&] {
        std::vector<ReductionState> start;
        for (const text::Monoid& monoid : monoids) start.push_back(monoid.Start(builder));
        return start;
      }()) {}

StateVariables::StateVariables(ir::Builder& builder, absl::Span<const text::Monoid> monoids,
                               absl::Span<const ReductionState> first)
    : builder_(builder), monoids_(monoids.begin(), monoids.end()) {
  for (size_t i = 0; i < monoids_.size(); ++i) {
    auto& vars = vars_.emplace_back();
    const auto types = monoids_[i].types();
    for (size_t part = 0; part < types.size(); ++part) {
      vars.push_back(builder_.NewVar(part == 0 ? "state" : "position", types[part], first[i][part]));
    }
  }
}

std::vector<ReductionState> StateVariables::Read() const {
  std::vector<ReductionState> states;
  for (const auto& vars : vars_) {
    ReductionState& state = states.emplace_back();
    for (ir::VarId var : vars) state.push_back(builder_.Read(var));
  }
  return states;
}

void StateVariables::Merge(absl::Span<const ReductionState> states) { Each(&text::Monoid::Merge, states); }
void StateVariables::Append(absl::Span<const ReductionState> operands) { Each(&text::Monoid::Append, operands); }

void StateVariables::Each(MergeOne merge, absl::Span<const ReductionState> states) {
  const std::vector<ReductionState> before = Read();
  for (size_t i = 0; i < vars_.size(); ++i) {
    const ReductionState merged = (monoids_[i].*merge)(builder_, before[i], states[i]);
    for (size_t part = 0; part < merged.size(); ++part) builder_.Write(vars_[i][part], merged[part]);
  }
}

}  // namespace slipway::elementwise
