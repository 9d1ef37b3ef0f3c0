#include "jit/ops/team_kernel.h"

#include <vector>

#include "driver/status_macros.h"
#include "jit/ops/team.h"
#include "slipway/memory_model.h"

namespace slipway::elementwise {
namespace {

using ir::Op;
using ir::ParamId;
using ir::ValueId;
using text::SharedReductions;

// The element, for whose reductions there are these states.
absl::Status WriteResults(ElementWriter& writer, ValueId index, ElementWriter::Range operands,
                          std::vector<text::ReductionState> states) {
  SharedReductions shared{.pass = SharedReductions::Pass::kResults, .states = std::move(states)};
  shared.count = writer.builder().Apply(Op::kSub, {operands.end, operands.begin});
  return writer.WriteElement(index, &shared);
}

// A thread for an element.
absl::Status WriteThread(ElementWriter& writer) {
  ir::Builder& b = writer.builder();
  const ValueId index = b.GlobalIndex(writer.SignedIndex());
  b.BeginIf(b.Apply(Op::kLt, {index, writer.Size()}));
  const ElementWriter::Range operands = writer.OperandsOf(index);
  StateVariables states(b, writer.Monoids());
  SLIPWAY_RETURN_IF_ERROR(
      writer.MergeOperands(index, operands.begin, {operands.begin, operands.end, /*step=*/1}, states));
  SLIPWAY_RETURN_IF_ERROR(WriteResults(writer, index, operands, states.Read()));
  b.EndIf();
  return absl::OkStatus();
}

// A block for a row of neighbouring elements, whose operands are neighbours, too.
absl::Status WriteTile(ElementWriter& writer) {
  ir::Builder& b = writer.builder();
  const std::vector<text::Monoid> monoids = writer.Monoids();
  Team team(b, monoids);
  const ValueId thread = b.Cast(writer.UnsignedIndex(), team.thread());
  const ValueId row = b.Apply(Op::kDiv, {thread, writer.UnsignedLiteral(kTile)});
  const ValueId column = b.Apply(Op::kRem, {thread, writer.UnsignedLiteral(kTile)});
  const ValueId block = b.Cast(writer.UnsignedIndex(), writer.BlockNumber());
  const ValueId index = b.Cast(writer.SignedIndex(),
                               b.Apply(Op::kAdd, {b.Apply(Op::kMul, {block, writer.UnsignedLiteral(kTile)}), column}));
  // Threads past the last element come to the barrier with the others.
  const ValueId inside = b.Apply(Op::kLt, {index, writer.Size()});
  StateVariables states(b, monoids);
  b.BeginIf(inside);
  const ElementWriter::Range operands = writer.OperandsOf(index);
  SLIPWAY_RETURN_IF_ERROR(writer.MergeOperands(index, operands.begin,
                                               team.ShareOf(operands.begin, operands.end, row, kTeam / kTile), states));
  b.EndIf();
  std::vector<text::ReductionState> merged = team.BeginMergedColumns(states.Read());
  b.BeginIf(inside);
  SLIPWAY_RETURN_IF_ERROR(WriteResults(writer, index, writer.OperandsOf(index), std::move(merged)));
  b.EndIf();
  b.EndIf();
  return absl::OkStatus();
}

// Begins an if of the first thread, which has the states of the operands from `begin` to `end`.
absl::StatusOr<std::vector<text::ReductionState>> BeginShared(ElementWriter& writer, Team& team, ValueId index,
                                                              ValueId origin, ValueId begin, ValueId end) {
  ir::Builder& b = writer.builder();
  StateVariables states(b, team.monoids());
  SLIPWAY_RETURN_IF_ERROR(writer.MergeOperands(index, origin, team.ShareOf(begin, end), states));
  return team.BeginMerged(states.Read());
}

absl::Status WriteBlock(ElementWriter& writer) {
  ir::Builder& b = writer.builder();
  Team team(b, writer.Monoids());
  const ValueId index = writer.BlockNumber();
  b.BeginIf(b.Apply(Op::kLt, {index, writer.Size()}));
  const ElementWriter::Range operands = writer.OperandsOf(index);
  SLIPWAY_ASSIGN_OR_RETURN(std::vector<text::ReductionState> states,
                           BeginShared(writer, team, index, operands.begin, operands.begin, operands.end));
  SLIPWAY_RETURN_IF_ERROR(WriteResults(writer, index, operands, std::move(states)));
  b.EndIf();
  b.EndIf();
  return absl::OkStatus();
}

// Blocks that leave their states, of which the one that comes last of those of an element makes the result.
absl::Status WriteBlocks(ElementWriter& writer) {
  ir::Builder& b = writer.builder();
  const ValueId blocks = b.Scalar(writer.AddNumber("blocks"));
  const std::vector<ParamId> left = writer.AddStates();
  const ParamId tickets = writer.AddLinear("tickets", DType::kUInt32);
  Team team(b, writer.Monoids());
  const ir::ArrayId is_last = b.AddSharedArray("is_last", DType::kBool, {1});
  const ValueId zero = writer.Literal(0), one = writer.Literal(1);

  const ValueId block = writer.BlockNumber();
  const ValueId index = b.Apply(Op::kDiv, {block, blocks});
  b.BeginIf(b.Apply(Op::kLt, {index, writer.Size()}));
  const ValueId first = b.Apply(Op::kMul, {index, blocks});
  const ElementWriter::Range operands = writer.OperandsOf(index);
  const ValueId count = operands.end;
  const ValueId each = b.Apply(Op::kAdd, {b.Apply(Op::kDiv, {b.Apply(Op::kSub, {count, one}), blocks}), one});
  const ValueId begin = b.Apply(Op::kMul, {b.Apply(Op::kSub, {block, first}), each});
  const ValueId end = b.Apply(Op::kMin, {b.Apply(Op::kAdd, {begin, each}), count});
  SLIPWAY_ASSIGN_OR_RETURN(const std::vector<text::ReductionState> states,
                           BeginShared(writer, team, index, operands.begin, begin, end));
  writer.StoreStates(states, left, block);
  b.Fence(MemoryScope::kDevice);
  // It is 0 again after the last one.
  const ValueId last = b.Cast(DType::kUInt32, b.Apply(Op::kSub, {blocks, one}));
  const ValueId number = b.Atomic(ir::AtomicOp::kIncrement, tickets, absl::MakeConstSpan(&index, 1),
                                  absl::MakeConstSpan(&last, 1), MemoryOrder::kAcquireRelease);
  b.Store(is_last, {zero}, b.Apply(Op::kEq, {number, last}));
  b.EndIf();
  b.ThreadBarrier(ir::BarrierReduction::kNone, ir::kNone);

  b.BeginIf(b.Load(is_last, {zero}));
  b.Fence(MemoryScope::kDevice);
  StateVariables all(b, team.monoids());
  const Team::Share share = team.ShareOf(zero, blocks);
  const ValueId k = b.BeginFor("block", writer.SignedIndex(), share.begin, share.end, writer.Literal(share.step));
  all.Merge(writer.LoadStates(left, b.Apply(Op::kAdd, {first, k})));
  b.EndFor();
  SLIPWAY_RETURN_IF_ERROR(WriteResults(writer, index, operands, team.BeginMerged(all.Read())));
  b.EndIf();
  b.EndIf();
  b.EndIf();
  return absl::OkStatus();
}

}  // namespace

absl::Status WriteTeam(ElementWriter& writer) {
  if (writer.spec().segmented) writer.AddOffsets();
  switch (writer.spec().team) {
    case Specialization::Team::kThread:
      return WriteThread(writer);
    case Specialization::Team::kTile:
      return WriteTile(writer);
    case Specialization::Team::kBlock:
      return WriteBlock(writer);
    case Specialization::Team::kBlocks:
      return WriteBlocks(writer);
  }
  return absl::InternalError("there is no such team");
}

}  // namespace slipway::elementwise
