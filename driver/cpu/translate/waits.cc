#include "driver/cpu/translate/waits.h"

#include <algorithm>
#include <iterator>

namespace slipway::cpu {
namespace {

constexpr Type kB32{Kind::kBits, 32}, kPredicate{Kind::kPredicate, 1};

struct NamedMode {
  std::string_view name;
  Mode mode;
};

// The first of the rows whose name is among the modifiers; kNone if none is.
template <size_t kCount>
Mode TakeMode(Emitter& e, const NamedMode (&rows)[kCount]) {
  for (const NamedMode& row : rows) {
    if (e.Take(row.name)) return row.mode;
  }
  return Mode::kNone;
}

// d, or d|p.
void SetResults(Emitter& e, WaitForm& form, Type type) {
  const Operand& operand = e.operand(0);
  form.result = &operand;
  form.result_type = type;
  if (operand.kind != Operand::Kind::kPair) return;
  form.result = &operand.elements[0];
  form.predicate = &operand.elements[1];
}

// The mask is the last operand. A `.sync` form has one; without, it is the older form, which has none.
void SetMask(Emitter& e, WaitForm& form, bool sync, size_t operands_before) {
  form.converged = !sync;
  const size_t count = operands_before + (sync ? 1 : 0);
  if (!e.Want(count, count) || !sync) return;
  const Operand& mask = e.operand(operands_before);
  form.is_whole = mask.kind == Operand::Kind::kInteger && static_cast<uint32_t>(mask.bits) == kAllLanes;
  if (!form.is_whole) form.mask = &mask;
}

WaitForm Barrier(Emitter& e) {
  static constexpr NamedMode kModes[] = {{"popc", Mode::kPopulation}, {"and", Mode::kAnd}, {"or", Mode::kOr}};
  WaitForm form;
  form.kind = Wait::kBarrier;
  if (e.Take("warp")) {
    e.Take("sync");
    form.kind = Wait::kWarpBarrier;
    e.FinishModifiers();
    SetMask(e, form, true, 0);
    return form;
  }
  e.Take("cta");
  e.Take("aligned");
  const std::string_view action = e.TakeOneOf({"sync", "arrive", "red"});
  if (action.empty()) e.Malformed("expected .sync, .arrive or .red");
  size_t at = 0;
  if (action == "red") {
    e.Take("aligned");
    form.mode = TakeMode(e, kModes);
    const Type type = e.TakeType();
    const bool counts = form.mode == Mode::kPopulation;
    if (form.mode == Mode::kNone || type.is_predicate() == counts)
      e.Malformed("expected .popc.u32, .and.pred or .or.pred");
    SetResults(e, form, counts ? kB32 : kPredicate);
    if (!e.Want(3, 4)) return form;
    form.c = &e.operand(e.operands() - 1);
    at = 1;
  }
  e.Take("aligned");
  e.FinishModifiers();
  if (action == "arrive") form.kind = Wait::kBarrierArrive;
  if (action == "sync" && !e.Want(1, 2)) return form;
  if (action == "arrive" && !e.Want(2, 2)) return form;
  const size_t end = e.operands() - (form.c != nullptr ? 1 : 0);
  form.type = kB32;
  form.a = &e.operand(at);
  if (at + 1 < end) form.b = &e.operand(at + 1);
  form.is_whole = form.b == nullptr && form.a->kind == Operand::Kind::kInteger && form.a->bits == 0;
  if (form.a->kind == Operand::Kind::kInteger && form.a->bits >= kBarriers) {
    e.Malformed("barriers are numbered from 0 to 15, not ", form.a->bits);
  }
  if (form.b != nullptr && form.b->kind == Operand::Kind::kInteger &&
      (form.b->bits == 0 || form.b->bits % kLanes != 0)) {
    e.Malformed("a barrier is for a multiple of 32 threads, not ", form.b->bits);
  }
  if (form.is_whole) form.a = nullptr;
  return form;
}

WaitForm Shuffle(Emitter& e) {
  static constexpr NamedMode kModes[] = {
      {"up", Mode::kUp}, {"down", Mode::kDown}, {"bfly", Mode::kButterfly}, {"idx", Mode::kIndex}};
  WaitForm form;
  form.kind = Wait::kShuffle;
  const bool sync = e.Take("sync");
  form.mode = TakeMode(e, kModes);
  if (form.mode == Mode::kNone) e.Malformed("expected .up, .down, .bfly or .idx");
  form.type = e.TakeType();
  e.FinishModifiers();
  if (form.type.total_bits() != 32) e.Malformed("only 32 bits are shuffled");
  SetMask(e, form, sync, 4);
  SetResults(e, form, form.type);
  form.a = &e.operand(1);
  form.b = &e.operand(2);
  form.c = &e.operand(3);
  return form;
}

WaitForm Vote(Emitter& e) {
  static constexpr NamedMode kModes[] = {
      {"all", Mode::kAll}, {"any", Mode::kAny}, {"uni", Mode::kUniform}, {"ballot", Mode::kBallot}};
  WaitForm form;
  form.kind = Wait::kVote;
  const bool sync = e.Take("sync");
  form.mode = TakeMode(e, kModes);
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (form.mode == Mode::kNone || type.is_predicate() == (form.mode == Mode::kBallot)) {
    e.Malformed("expected .all.pred, .any.pred, .uni.pred or .ballot.b32");
  }
  SetMask(e, form, sync, 2);
  SetResults(e, form, type.is_predicate() ? kPredicate : kB32);
  form.type = kPredicate;
  form.a = &e.operand(1);
  return form;
}

WaitForm Match(Emitter& e) {
  static constexpr NamedMode kModes[] = {{"any", Mode::kAny}, {"all", Mode::kAll}};
  WaitForm form;
  form.kind = Wait::kMatch;
  form.mode = TakeMode(e, kModes);
  if (form.mode == Mode::kNone) e.Malformed("expected .any or .all");
  if (!e.Take("sync")) e.Malformed("expected .sync");
  form.type = e.TakeType();
  e.FinishModifiers();
  if (form.type.total_bits() < 32) e.Malformed("values of 32 or 64 bits are matched");
  SetMask(e, form, true, 2);
  SetResults(e, form, kB32);
  form.a = &e.operand(1);
  return form;
}

WaitForm Reduce(Emitter& e) {
  static constexpr NamedMode kModes[] = {{"add", Mode::kAdd}, {"min", Mode::kMin}, {"max", Mode::kMax},
                                         {"and", Mode::kAnd}, {"or", Mode::kOr},   {"xor", Mode::kXor}};
  WaitForm form;
  form.kind = Wait::kReduce;
  if (!e.Take("sync")) e.Malformed("expected .sync");
  form.mode = TakeMode(e, kModes);
  if (form.mode == Mode::kNone) e.Malformed("expected .add, .min, .max, .and, .or or .xor");
  form.type = e.TakeType();
  e.FinishModifiers();
  if (form.type.is_float() || form.type.total_bits() != 32) e.Unsupported("redux of other types than 32-bit integers");
  form.is_signed = form.type.is_signed();
  SetMask(e, form, true, 2);
  SetResults(e, form, form.type);
  form.a = &e.operand(1);
  return form;
}

WaitForm Elect(Emitter& e) {
  WaitForm form;
  form.kind = Wait::kElect;
  if (!e.Take("sync")) e.Malformed("expected .sync");
  e.FinishModifiers();
  SetMask(e, form, true, 1);
  SetResults(e, form, kB32);
  if (form.predicate == nullptr) e.Malformed("expected d|p");
  return form;
}

WaitForm ActiveMask(Emitter& e) {
  WaitForm form;
  form.kind = Wait::kActiveMask;
  form.result_type = e.TakeType();
  e.FinishModifiers();
  SetMask(e, form, false, 1);
  SetResults(e, form, kB32);
  return form;
}

WaitForm Sleep(Emitter& e) {
  e.TakeType();
  e.FinishModifiers();
  if (e.Want(1, 1)) e.In(0, kB32);
  return {};
}

WaitForm Turn(Emitter&) {
  WaitForm form;
  form.kind = Wait::kTurn;
  return form;
}

struct Row {
  std::string_view opcode;
  WaitForm (*read)(Emitter&);
};
constexpr Row kRows[] = {{"bar", &Barrier},     {"barrier", &Barrier}, {"shfl", &Shuffle}, {"vote", &Vote},
                         {"match", &Match},     {"redux", &Reduce},    {"elect", &Elect},  {"activemask", &ActiveMask},
                         {"nanosleep", &Sleep}, {kTurn, &Turn}};

const Row* Find(std::string_view opcode) {
  const auto* const row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.opcode == opcode; });
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace

bool IsWait(const ptx::Instruction& instruction) { return Find(instruction.opcode) != nullptr; }

WaitForm ReadWait(Emitter& e) { return Find(e.instruction->opcode)->read(e); }

}  // namespace slipway::cpu
