// The part of the Builder that makes control flow.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jit/builder.h"

namespace slipway::ir {

BlockId Builder::OpenRegion(Region region, ValueId owner) {
  const BlockId block = static_cast<BlockId>(kernel_.blocks.size());
  if (open_.size() > kMaxDepth) {
    Fail(absl::ResourceExhaustedError(absl::StrCat("ifs, loops and functions nest more than ", kMaxDepth, " deep")));
  }
  kernel_.blocks.emplace_back();
  block_is_open_.push_back(1);
  open_.push_back({region, block, owner});
  return block;
}

const char* Builder::NameOf(Region region) {
  constexpr const char* kNames[] = {"nothing",        "an if",     "an else", "a for", "a while's condition",
                                    "a while's body", "a function"};
  return kNames[static_cast<int>(region)];
}

bool Builder::CloseRegion(Region region, const char* call) {
  if (!Takes()) return false;
  if (open_.back().region != region) {
    Fail(absl::FailedPreconditionError(
        depth() == 0 ? absl::StrCat(call, " closes nothing: no block is open")
                     : absl::StrCat(call, " comes while ", NameOf(open_.back().region), " is open; end that first")));
    return false;
  }
  block_is_open_[open_.back().block] = 0;
  open_.pop_back();
  return true;
}

bool Builder::CheckCondition(ValueId condition, const char* what) {
  if (!CheckOperands({condition})) return false;
  if (TypeOf(condition) != DType::kBool) {
    Fail(absl::InvalidArgumentError(absl::StrCat("the condition of ", what, " is ", DescribeValue(condition),
                                                 "; a bool is wanted: compare it with 0")));
    return false;
  }
  return true;
}

void Builder::BeginIf(ValueId condition) {
  if (!CheckCondition(condition, "an if")) return;
  const ValueId owner = Emit(Op::kIf, DType::kVoid, {condition});
  if (!Takes()) return;
  const BlockId then_block = OpenRegion(Region::kThen, owner);
  kernel_.insts[owner].blocks[0] = then_block;
}
void Builder::BeginElse() {
  const ValueId owner = open_.back().owner;
  if (!CloseRegion(Region::kThen, "else")) return;
  const BlockId else_block = OpenRegion(Region::kElse, owner);
  kernel_.insts[owner].blocks[1] = else_block;
}
void Builder::EndIf() {
  if (!Takes()) return;
  if (open_.back().region == Region::kThen) BeginElse();  // Every kIf has both blocks.
  CloseRegion(Region::kElse, "the end of an if");
}

void Builder::ReopenElse() {
  if (!Takes()) return;
  const std::vector<ValueId>& block = kernel_.blocks[open_.back().block];
  const ValueId owner = block.empty() ? kNone : block.back();
  if (owner == kNone || kernel_.insts[owner].op != Op::kIf || !kernel_.blocks[kernel_.insts[owner].blocks[1]].empty()) {
    Fail(absl::FailedPreconditionError(
        "an else follows its if directly; between the two something was computed (a lambda that captures variables by "
        "value does that: capture by reference), or there is no if"));
    return;
  }
  const BlockId else_block = kernel_.insts[owner].blocks[1];
  block_is_open_[else_block] = 1;
  open_.push_back({Region::kElse, else_block, owner});
}

ValueId Builder::BeginFor(std::string name, DType dtype, ValueId begin, ValueId end, ValueId step, uint32_t unroll) {
  if (!CheckOperands({begin, end, step})) return kNone;
  if (!IsInteger(dtype)) {
    Fail(absl::InvalidArgumentError(
        absl::StrCat("loop variable '", name, "' is ", std::string(Name(dtype)), "; loops count in integers")));
    return kNone;
  }
  const std::string what = absl::StrCat("loop variable '", name, "'");
  const ValueId operands[] = {ConvertForStore(dtype, begin, what), ConvertForStore(dtype, end, what),
                              ConvertForStore(dtype, step, what)};
  if (!Takes()) return kNone;
  const VarId var = static_cast<VarId>(kernel_.vars.size());
  kernel_.vars.push_back({std::move(name), dtype});
  const ValueId owner = Emit(Op::kFor, DType::kVoid, operands, var, unroll);
  if (!Takes()) return kNone;
  const BlockId body = OpenRegion(Region::kFor, owner);
  kernel_.insts[owner].blocks[0] = body;
  return Read(var);
}
void Builder::EndFor() { CloseRegion(Region::kFor, "the end of a for"); }

void Builder::BeginWhile(uint32_t unroll) {
  if (!Takes()) return;
  const ValueId owner = Emit(Op::kWhile, DType::kVoid, {}, 0, unroll);
  if (!Takes()) return;
  const BlockId condition = OpenRegion(Region::kWhileCondition, owner);
  kernel_.insts[owner].blocks[0] = condition;
}
void Builder::WhileCondition(ValueId condition) {
  if (!CheckCondition(condition, "a while")) return;
  const ValueId owner = open_.back().owner;
  if (open_.back().region == Region::kWhileCondition) Emit(Op::kYield, DType::kVoid, {condition});
  if (!CloseRegion(Region::kWhileCondition, "the condition of a while")) return;
  const BlockId body = OpenRegion(Region::kWhileBody, owner);
  kernel_.insts[owner].blocks[1] = body;
}
void Builder::EndWhile() { CloseRegion(Region::kWhileBody, "the end of a while"); }

void Builder::BeginScope() {
  if (!Takes()) return;
  const ValueId owner = Emit(Op::kScope, DType::kVoid, {});
  if (!Takes()) return;
  ++scopes_;
  const BlockId body = OpenRegion(Region::kScope, owner);
  kernel_.insts[owner].blocks[0] = body;
}
void Builder::EndScope() {
  if (CloseRegion(Region::kScope, "the end of a function")) --scopes_;
}
void Builder::Leave() {
  if (scopes_ == 0) return Fail(absl::FailedPreconditionError("a scope is left outside of any"));
  Emit(Op::kLeave, DType::kVoid, {});
}
void Builder::Break() { LeaveLoop(Op::kBreak, "break"); }
void Builder::Continue() { LeaveLoop(Op::kContinue, "continue"); }

void Builder::LeaveLoop(Op op, const char* what) {
  for (auto open = open_.rbegin(); open != open_.rend(); ++open) {
    if (open->region == Region::kFor || open->region == Region::kWhileBody) {
      Emit(op, DType::kVoid, {});
      return;
    }
    if (open->region == Region::kScope || open->region == Region::kWhileCondition) break;
  }
  Fail(absl::FailedPreconditionError(
      absl::StrCat(what, " stands outside of any loop", scopes_ == 0 ? "" : " of its function")));
}

void Builder::Return() { Emit(Op::kReturn, DType::kVoid, {}); }

}  // namespace slipway::ir
