// Comparisons and selections (PTX ISA 9.7.6).
#include "driver/cpu/translate/emitter.h"
#include "driver/cpu/translate/instructions.h"
#include "driver/cpu/translate/rounding.h"

namespace slipway::cpu {
namespace {

using llvm::CmpInst;

constexpr Type kPredicate{Kind::kPredicate, 1};
constexpr CmpInst::Predicate kNone = CmpInst::BAD_ICMP_PREDICATE;

struct Comparison {
  std::string_view name;
  CmpInst::Predicate of_floats;
  CmpInst::Predicate of_signed;
  CmpInst::Predicate of_unsigned;
};

constexpr Comparison kComparisons[] = {
    {"eq", CmpInst::FCMP_OEQ, CmpInst::ICMP_EQ, CmpInst::ICMP_EQ},
    {"ne", CmpInst::FCMP_ONE, CmpInst::ICMP_NE, CmpInst::ICMP_NE},
    {"lt", CmpInst::FCMP_OLT, CmpInst::ICMP_SLT, CmpInst::ICMP_ULT},
    {"le", CmpInst::FCMP_OLE, CmpInst::ICMP_SLE, CmpInst::ICMP_ULE},
    {"gt", CmpInst::FCMP_OGT, CmpInst::ICMP_SGT, CmpInst::ICMP_UGT},
    {"ge", CmpInst::FCMP_OGE, CmpInst::ICMP_SGE, CmpInst::ICMP_UGE},
    {"lo", kNone, CmpInst::ICMP_ULT, CmpInst::ICMP_ULT},
    {"ls", kNone, CmpInst::ICMP_ULE, CmpInst::ICMP_ULE},
    {"hi", kNone, CmpInst::ICMP_UGT, CmpInst::ICMP_UGT},
    {"hs", kNone, CmpInst::ICMP_UGE, CmpInst::ICMP_UGE},
    {"equ", CmpInst::FCMP_UEQ, kNone, kNone},
    {"neu", CmpInst::FCMP_UNE, kNone, kNone},
    {"ltu", CmpInst::FCMP_ULT, kNone, kNone},
    {"leu", CmpInst::FCMP_ULE, kNone, kNone},
    {"gtu", CmpInst::FCMP_UGT, kNone, kNone},
    {"geu", CmpInst::FCMP_UGE, kNone, kNone},
    {"num", CmpInst::FCMP_ORD, kNone, kNone},
    {"nan", CmpInst::FCMP_UNO, kNone, kNone},
};

// What setp and set have in common: the comparison of operands 1 and 2 and its combination with operand 3.
struct Compared {
  std::string_view combine;  // "and", "or", "xor" or empty
  const Comparison* comparison = nullptr;
  bool ftz = false;
};

Compared TakeComparison(Emitter& e) {
  Compared result;
  for (const Comparison& row : kComparisons) {
    if (result.comparison == nullptr && e.Take(row.name)) result.comparison = &row;
  }
  if (result.comparison == nullptr) e.Unsupported("no comparison that the CPU device knows");
  result.combine = e.TakeOneOf({"and", "or", "xor"});
  result.ftz = e.Take("ftz");
  return result;
}

Value* Compare(Emitter& e, const Compared& compared, Type lane, Value* x, Value* y) {
  if (lane.is_predicate() || compared.comparison == nullptr) {
    e.Malformed("no comparison for this type");
    return e.b.getFalse();
  }
  const Comparison& row = *compared.comparison;
  const CmpInst::Predicate predicate = lane.is_float()    ? row.of_floats
                                       : lane.is_signed() ? row.of_signed
                                                          : row.of_unsigned;
  if (predicate == kNone) {
    e.Malformed(".", row.name, " is not for this type");
    return e.b.getFalse();
  }
  if (!lane.is_float()) return e.b.CreateICmp(predicate, x, y);
  if (compared.ftz) {
    x = FlushSubnormal(e, x, lane);
    y = FlushSubnormal(e, y, lane);
  }
  return e.b.CreateFCmp(predicate, WidenToFloat(e, x, lane), WidenToFloat(e, y, lane));
}

Value* Combine(Emitter& e, const Compared& compared, Value* value, size_t other_operand) {
  if (compared.combine.empty()) return value;
  Value* other = e.ReadPredicate(e.operand(other_operand));
  if (compared.combine == "and") return e.b.CreateAnd(value, other);
  return compared.combine == "or" ? e.b.CreateOr(value, other) : e.b.CreateXor(value, other);
}

void SetP(Emitter& e) {
  const Compared compared = TakeComparison(e);
  const Type type = e.TakeType();
  e.FinishModifiers();
  const size_t count = compared.combine.empty() ? 3 : 4;
  if (!e.Want(count, count)) return;
  Value* x = e.In(1, type);
  Value* y = e.In(2, type);
  const Operand& result = e.operand(0);
  const bool pair = result.kind == Operand::Kind::kPair;
  if (type.lanes == 2) {  // p for the lower lane, q for the upper.
    if (!pair) return e.Malformed("expected p|q");
    for (int lane = 0; lane < 2; ++lane) {
      Value* value = Compare(e, compared, type.lane(), e.Lane(x, lane, 16), e.Lane(y, lane, 16));
      e.Write(result.elements[lane], Combine(e, compared, value, 3), kPredicate);
    }
    return;
  }
  Value* value = Compare(e, compared, type, x, y);
  Value* combined = Combine(e, compared, value, 3);
  // Both operands are read before either result is written: p may be the third operand.
  Value* inverse = pair ? Combine(e, compared, e.b.CreateNot(value), 3) : nullptr;
  e.Write(pair ? result.elements[0] : result, combined, kPredicate);
  if (pair) e.Write(result.elements[1], inverse, kPredicate);
}

// What `set` writes for true: all ones, or 1.0.
uint64_t True(Type type) {
  if (!type.is_float()) return ~uint64_t{0} >> (64 - type.bits);
  return type.bits == 32 ? 0x3f800000 : type.kind == Kind::kBrainFloat ? 0x3f80 : 0x3c00;
}

void Set(Emitter& e) {
  const Compared compared = TakeComparison(e);
  const Type to = e.TakeType();
  const Type from = e.TakeType();
  e.FinishModifiers();
  const size_t count = compared.combine.empty() ? 3 : 4;
  if (!e.Want(count, count)) return;
  Value* x = e.In(1, from);
  Value* y = e.In(2, from);
  // Packed operands fill half of the result each.
  const Type part = from.lanes == 2 ? (to.lanes == 2 ? to.lane() : Type{Kind::kUnsigned, 16}) : to;
  Value* result = e.PerLane(from, {x, y}, [&](const std::vector<Value*>& lanes) -> Value* {
    Value* value = Combine(e, compared, Compare(e, compared, from.lane(), lanes[0], lanes[1]), 3);
    return e.b.CreateSelect(value, e.Int(part.bits, True(part)), e.Int(part.bits, 0));
  });
  e.Out(result, to);
}

void SelP(Emitter& e) {
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (!e.Want(4, 4)) return;
  e.Out(e.b.CreateSelect(e.ReadPredicate(e.operand(3)), e.In(1, type), e.In(2, type)), type);
}

void Slct(Emitter& e) {  // c >= 0 ? a : b
  const bool ftz = e.Take("ftz");
  const Type type = e.TakeType();
  const Type selector_type = e.TakeType();
  e.FinishModifiers();
  if (!e.Want(4, 4)) return;
  Value* selector = e.In(3, selector_type);
  if (ftz) selector = FlushSubnormal(e, selector, selector_type);
  Value* positive = selector_type.is_float()
                        ? e.b.CreateFCmpOGE(selector, llvm::ConstantFP::get(selector->getType(), 0))
                        : e.b.CreateICmpSGE(selector, llvm::ConstantInt::get(selector->getType(), 0));
  e.Out(e.b.CreateSelect(positive, e.In(1, type), e.In(2, type)), type);
}

constexpr ptx::TypeSet kCompared = types::kBits | types::kIntegers | types::kFloats;
constexpr ptx::TypeSet kSettable = types::kIntegers32 | types::kF32 | types::kHalves | types::kPackedHalves |
                                   types::Only({Kind::kSigned, 16}) | types::Only({Kind::kUnsigned, 16});
constexpr ptx::TypeSet kSelected = types::kBits | types::kIntegers | types::kF32F64;
constexpr InstructionRow kRows[] = {
    {"setp", &SetP, kCompared},
    {"set", &Set, kSettable, kCompared},
    {"selp", &SelP, kSelected},
    {"slct", &Slct, kSelected, types::Only({Kind::kSigned, 32}) | types::kF32},
};

}  // namespace

absl::Span<const InstructionRow> ComparisonInstructions() { return kRows; }

}  // namespace slipway::cpu
