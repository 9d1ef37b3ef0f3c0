// Atomic operations and fences (PTX ISA 9.7.13).
#include "driver/cpu/translate/access_checks.h"
#include "driver/cpu/translate/emitter.h"
#include "driver/cpu/translate/float_arithmetic.h"
#include "driver/cpu/translate/instructions.h"
#include "llvm/IR/Intrinsics.h"

namespace slipway::cpu {
namespace {

using llvm::AtomicOrdering;
using llvm::AtomicRMWInst;

struct Operation {
  std::string_view name;
  AtomicRMWInst::BinOp of_unsigned;
  AtomicRMWInst::BinOp of_signed;
};

constexpr Operation kOperations[] = {
    {"add", AtomicRMWInst::Add, AtomicRMWInst::Add},
    {"exch", AtomicRMWInst::Xchg, AtomicRMWInst::Xchg},
    {"and", AtomicRMWInst::And, AtomicRMWInst::And},
    {"or", AtomicRMWInst::Or, AtomicRMWInst::Or},
    {"xor", AtomicRMWInst::Xor, AtomicRMWInst::Xor},
    {"min", AtomicRMWInst::UMin, AtomicRMWInst::Min},
    {"max", AtomicRMWInst::UMax, AtomicRMWInst::Max},
    {"inc", AtomicRMWInst::UIncWrap, AtomicRMWInst::UIncWrap},
    {"dec", AtomicRMWInst::UDecWrap, AtomicRMWInst::UDecWrap},
};

struct Semantics {
  AtomicOrdering ordering = AtomicOrdering::Monotonic;
  Space space = Space::kGeneric;
  bool policy = false;  // A cache policy follows the operands.
  int count = 1;        // .v2, .v4, .v8
};

// What may stand before the operation or after it.
void TakeHints(Emitter& e, Semantics& semantics) {
  e.Take("noftz");
  semantics.policy |= e.TakeCacheHints();
  const std::string_view vector = e.TakeOneOf({"v2", "v4", "v8"});
  if (!vector.empty()) semantics.count = vector[1] - '0';
}

Semantics TakeSemantics(Emitter& e) {
  Semantics result;
  const std::string_view order = e.TakeOneOf({"relaxed", "acquire", "release", "acq_rel"});
  if (order == "acquire") result.ordering = AtomicOrdering::Acquire;
  if (order == "release") result.ordering = AtomicOrdering::Release;
  if (order == "acq_rel") result.ordering = AtomicOrdering::AcquireRelease;
  e.TakeOneOf({"cta", "cluster", "gpu", "sys"});
  result.space = e.TakeSpace();
  TakeHints(e, result);
  return result;
}

// Replaces *address by update(*address) until nobody came between; gives the old value.
template <class F>
Value* UpdateLoop(Emitter& e, Value* address, int bits, AtomicOrdering ordering, F update) {
  llvm::Type* const type = e.b.getIntNTy(bits);
  llvm::Function* const function = e.b.GetInsertBlock()->getParent();
  llvm::BasicBlock* const before = e.b.GetInsertBlock();
  llvm::BasicBlock* const loop = llvm::BasicBlock::Create(e.b.getContext(), "update", function);
  llvm::BasicBlock* const done = llvm::BasicBlock::Create(e.b.getContext(), "updated", function);
  llvm::LoadInst* const first = e.b.CreateLoad(type, address);
  first->setAtomic(AtomicOrdering::Monotonic);
  first->setAlignment(llvm::Align(bits / 8));
  e.b.CreateBr(loop);
  e.b.SetInsertPoint(loop);
  llvm::PHINode* const old = e.b.CreatePHI(type, 2);
  old->addIncoming(first, before);
  Value* const exchanged = e.b.CreateAtomicCmpXchg(address, old, update(old), llvm::MaybeAlign(bits / 8), ordering,
                                                   AtomicOrdering::Monotonic);
  old->addIncoming(e.b.CreateExtractValue(exchanged, 0), e.b.GetInsertBlock());
  e.b.CreateCondBr(e.b.CreateExtractValue(exchanged, 1), done, loop);
  e.b.SetInsertPoint(done);
  return old;
}

// Threads of one block run on one thread of the host: nobody comes between what one of them does to shared memory.
template <class F>
Value* UpdateAlone(Emitter& e, Value* address, llvm::Type* type, llvm::Align align, F update) {
  Value* const old = e.b.CreateAlignedLoad(type, address, align);
  e.b.CreateAlignedStore(update(old), address, align);
  return old;
}

Value* Updated(Emitter& e, AtomicRMWInst::BinOp op, Value* old, Value* operand) {
  const auto choose = [&](llvm::CmpInst::Predicate predicate) {
    return e.b.CreateSelect(e.b.CreateICmp(predicate, old, operand), old, operand);
  };
  Value* const zero = llvm::Constant::getNullValue(old->getType());
  Value* const one = llvm::ConstantInt::get(old->getType(), 1);
  switch (op) {
    case AtomicRMWInst::Add:
      return e.b.CreateAdd(old, operand);
    case AtomicRMWInst::And:
      return e.b.CreateAnd(old, operand);
    case AtomicRMWInst::Or:
      return e.b.CreateOr(old, operand);
    case AtomicRMWInst::Xor:
      return e.b.CreateXor(old, operand);
    case AtomicRMWInst::UMin:
      return choose(llvm::CmpInst::ICMP_ULT);
    case AtomicRMWInst::UMax:
      return choose(llvm::CmpInst::ICMP_UGT);
    case AtomicRMWInst::Min:
      return choose(llvm::CmpInst::ICMP_SLT);
    case AtomicRMWInst::Max:
      return choose(llvm::CmpInst::ICMP_SGT);
    case AtomicRMWInst::UIncWrap:
      return e.b.CreateSelect(e.b.CreateICmpUGE(old, operand), zero, e.b.CreateAdd(old, one));
    case AtomicRMWInst::UDecWrap:
      return e.b.CreateSelect(e.b.CreateOr(e.b.CreateICmpEQ(old, zero), e.b.CreateICmpUGT(old, operand)), operand,
                              e.b.CreateSub(old, one));
    default:
      return operand;  // Exchange.
  }
}

Value* FloatUpdate(Emitter& e, std::string_view operation, Type type, const Semantics& semantics, Value* address,
                   Value* operand) {
  if (operation == "add" && type.bits == 64 && semantics.space != Space::kShared) {
    return e.b.CreateAtomicRMW(AtomicRMWInst::FAdd, address, operand, llvm::Align(8), semantics.ordering);
  }
  const bool extremum = semantics.count > 1 && type.bits == 16 && (operation == "min" || operation == "max");
  if ((operation != "add" && !extremum) || type.kind == Kind::kTensorFloat) {
    e.Unsupported("no such atomic of a floating-point type");
    return operand;
  }
  // f32 sums in global memory flush subnormals, those in shared memory and of half types do not (PTX ISA 9.7.13.6).
  const bool ftz = type.bits == 32 && semantics.space != Space::kShared;
  const auto sum = [&](Value* old) {
    return e.Bits(e.PerLane(type, {e.FromBits(old, type), operand}, [&](const std::vector<Value*>& x) {
      if (extremum) {
        return NarrowExact(e,
                           e.Call(operation == "max" ? llvm::Intrinsic::maximumnum : llvm::Intrinsic::minimumnum,
                                  {WidenToFloat(e, x[0], type.lane()), WidenToFloat(e, x[1], type.lane())}),
                           type.lane());
      }
      return FloatArithmetic(e, FloatOp::kAdd, type.lane(), {.ftz = ftz}, x);
    }));
  };
  const int bits = type.total_bits();
  Value* old_bits = semantics.space == Space::kShared
                        ? UpdateAlone(e, address, e.b.getIntNTy(bits), llvm::Align(bits / 8), sum)
                        : UpdateLoop(e, address, bits, semantics.ordering, sum);
  return e.FromBits(old_bits, type);
}

// Each element is an atomic of its own.
void AtomicVector(Emitter& e, std::string_view operation, Type type, const Semantics& semantics, Value* address,
                  size_t first) {
  const Operand& operand = e.operand(first + 1);
  const size_t count = static_cast<size_t>(semantics.count);
  for (const Operand* vector : {&operand, first == 0 ? &operand : &e.operand(0)}) {
    if (vector->kind != Operand::Kind::kVector || vector->elements.size() != count) {
      return e.Malformed("expected ", count, " registers in braces");
    }
  }
  std::vector<Value*> old;
  for (size_t i = 0; i < count && !e.failed(); ++i) {
    Value* element = e.b.CreateConstInBoundsGEP1_64(e.b.getInt8Ty(), address, i * type.total_bits() / 8);
    old.push_back(FloatUpdate(e, operation, type, semantics, element, e.Read(operand.elements[i], type)));
  }
  for (size_t i = 0; first == 1 && i < old.size() && !e.failed(); ++i) e.Write(e.operand(0).elements[i], old[i], type);
}

void Atomic(Emitter& e, bool returns) {
  Semantics semantics = TakeSemantics(e);
  const bool cas = e.Take("cas");
  const Operation* operation = nullptr;
  for (const Operation& row : kOperations) {
    if (!cas && operation == nullptr && e.Take(row.name)) operation = &row;
  }
  if (!cas && operation == nullptr) return e.Unsupported("no atomic operation that the CPU device knows");
  TakeHints(e, semantics);
  const Type type = e.TakeType();
  e.FinishModifiers();
  const size_t first = returns ? 1 : 0;
  const size_t count = first + (cas ? 3 : 2) + (semantics.policy ? 1 : 0);
  if (!e.Want(count, count)) return;
  if (semantics.policy) e.In(count - 1, Type{Kind::kBits, 64});
  Value* address = e.Address(e.operand(first), semantics.space);
  EmitAccessCheck(e, e.operand(first), semantics.space, AccessKind::kAtomic,
                  static_cast<uint64_t>(type.total_bits()) / 8 * semantics.count, address);
  if (semantics.count > 1) {
    if (cas || !type.is_float()) return e.Unsupported("no vector of this operation and type");
    return AtomicVector(e, operation->name, type, semantics, address, first);
  }
  Value* operand = e.In(first + 1, type);
  const llvm::Align align(type.total_bits() / 8);
  llvm::Type* const integer = e.b.getIntNTy(type.total_bits());
  const bool alone = semantics.space == Space::kShared;
  Value* old = nullptr;
  if (cas && alone) {
    Value* const replacement = e.Bits(e.In(first + 2, type));
    old = e.FromBits(UpdateAlone(e, address, integer, align,
                                 [&](Value* before) {
                                   Value* const equal = e.b.CreateICmpEQ(before, e.Bits(operand));
                                   return e.b.CreateSelect(equal, replacement, before);
                                 }),
                     type);
  } else if (cas) {
    Value* pair = e.b.CreateAtomicCmpXchg(address, e.Bits(operand), e.Bits(e.In(first + 2, type)), align,
                                          semantics.ordering, AtomicOrdering::Monotonic);
    old = e.FromBits(e.b.CreateExtractValue(pair, 0), type);
  } else if (type.is_float() && operation->name != "exch") {
    old = FloatUpdate(e, operation->name, type, semantics, address, operand);
  } else {
    const AtomicRMWInst::BinOp op = type.is_signed() ? operation->of_signed : operation->of_unsigned;
    Value* const bits = alone ? UpdateAlone(e, address, integer, align,
                                            [&](Value* before) { return Updated(e, op, before, e.Bits(operand)); })
                              : e.b.CreateAtomicRMW(op, address, e.Bits(operand), align, semantics.ordering);
    old = e.FromBits(bits, type);
  }
  if (returns) e.Out(old, type);
}
void Atom(Emitter& e) { Atomic(e, true); }
void Red(Emitter& e) { Atomic(e, false); }

// membar.{cta,gl,sys}, fence{.sc,.acq_rel,...}.scope. There is one memory, so a fence between ways to reach it (.proxy)
// is one among threads.
void Fence(Emitter& e) {
  const bool proxy = e.TakePrefix("proxy") || e.TakePrefix("mbarrier_init");
  if (proxy) {
    e.TakeOneOf({"alias", "async"});
    e.TakePrefix("async::");
    e.TakePrefix("tensormap::");
    e.TakePrefix("sync_restrict::");
    e.TakeOneOf({"global", "shared::cta", "shared::cluster"});
  }
  e.TakeOneOf({"sc", "acq_rel", "acquire", "release"});
  if (e.TakeOneOf({"cta", "cluster", "gpu", "gl", "sys"}).empty() && !proxy) e.Malformed("expected a scope");
  e.FinishModifiers();
  // A tensor map's address and size.
  if (e.operands() != 0 && (!proxy || !e.Want(2, 2))) return void(e.Want(0, 0));
  if (!e.failed()) e.b.CreateFence(AtomicOrdering::SequentiallyConsistent);
}

constexpr ptx::TypeSet kAtomic =
    types::kBits | types::Only({Kind::kBits, 128}) | types::kIntegers32To64 | types::kFloats;
constexpr InstructionRow kRows[] = {
    {"atom", &Atom, kAtomic}, {"red", &Red, kAtomic}, {"membar", &Fence}, {"fence", &Fence}};

}  // namespace

absl::Span<const InstructionRow> AtomicInstructions() { return kRows; }

}  // namespace slipway::cpu
