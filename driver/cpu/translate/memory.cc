// Data movement (PTX ISA 9.7.9): ld, st, mov, cvta, isspacep, prefetch.
#include "driver/cpu/translate/access_checks.h"
#include "driver/cpu/translate/emitter.h"
#include "driver/cpu/translate/instructions.h"
#include "driver/cpu/translate/launch_fields.h"
#include "driver/cpu/translate/module_translator.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/Support/Alignment.h"

namespace slipway::cpu {
namespace {

struct Access {
  Space space = Space::kGeneric;
  Type type;
  int count = 1;  // .v2, .v4, .v8
  bool is_volatile = false;
  bool policy = false;  // A cache policy follows the operands.
  llvm::AtomicOrdering ordering = llvm::AtomicOrdering::NotAtomic;
};

// Everything between `ld` or `st` and the operands. Cache hints mean nothing here.
Access TakeAccess(Emitter& e, bool load) {
  Access access;
  e.Take("weak");
  access.is_volatile = e.Take("volatile");
  e.Take("mmio");
  if (e.Take("relaxed")) access.ordering = llvm::AtomicOrdering::Monotonic;
  if (load && e.Take("acquire")) access.ordering = llvm::AtomicOrdering::Acquire;
  if (!load && e.Take("release")) access.ordering = llvm::AtomicOrdering::Release;
  e.TakeOneOf({"cta", "cluster", "gpu", "sys"});
  access.space = e.TakeSpace();
  e.TakeOneOf({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  if (load) e.Take("nc");
  access.policy = e.TakeCacheHints();
  const std::string_view vector = e.TakeOneOf({"v2", "v4", "v8"});
  access.count = vector.empty() ? 1 : vector[1] - '0';
  access.type = e.TakeType();
  e.FinishModifiers();
  if (access.type.is_predicate()) e.Malformed("predicates have no memory form");
  return access;
}

uint64_t Bytes(const Access& access) { return static_cast<uint64_t>(access.type.total_bits()) / 8 * access.count; }

Value* ElementPointer(Emitter& e, Value* address, const Access& access, int index) {
  return index == 0 ? address
                    : e.b.CreateConstInBoundsGEP1_64(e.b.getInt8Ty(), address, index * access.type.total_bits() / 8);
}

template <class MemoryInstruction>
void Mark(Emitter& e, const Access& access, MemoryInstruction* instruction, int index) {
  const uint64_t bytes = access.type.total_bits() / 8;
  instruction->setAlignment(llvm::Align(index == 0 ? bytes * access.count : bytes));
  if (access.ordering != llvm::AtomicOrdering::NotAtomic && access.type.total_bits() <= 64) {
    instruction->setAtomic(access.ordering);
    instruction->setAlignment(llvm::Align(bytes));
  }
  instruction->setVolatile(access.is_volatile);
  if (access.space != Space::kLocal && access.space != Space::kParam) e.MarkParallel(instruction);
}

// Checks the number of operands; a cache policy is read and forgotten.
bool WantOperands(Emitter& e, const Access& access) {
  const size_t count = access.policy ? 3 : 2;
  if (!e.Want(count, count)) return false;
  if (access.policy) e.In(2, Type{Kind::kBits, 64});
  return !e.failed();
}

// The registers of a vector operand, or the operand itself.
const Operand& Element(Emitter& e, const Operand& operand, const Access& access, int index) {
  if (access.count == 1) {
    return operand.kind == Operand::Kind::kVector && operand.elements.size() == 1 ? operand.elements[0] : operand;
  }
  if (operand.kind != Operand::Kind::kVector || operand.elements.size() != static_cast<size_t>(access.count)) {
    e.Malformed("expected ", access.count, " registers in braces");
    return operand;
  }
  return operand.elements[index];
}

void Ld(Emitter& e) {
  const Access access = TakeAccess(e, true);
  if (!WantOperands(e, access)) return;
  Value* address = e.Address(e.operand(1), access.space);
  const bool is_atomic = access.ordering != llvm::AtomicOrdering::NotAtomic;
  EmitAccessCheck(e, e.operand(1), access.space, is_atomic ? AccessKind::kAtomicRead : AccessKind::kRead, Bytes(access),
                  address);
  std::vector<Value*> values;
  for (int i = 0; i < access.count; ++i) {
    llvm::LoadInst* load = e.b.CreateLoad(e.TypeOf(access.type), ElementPointer(e, address, access, i));
    Mark(e, access, load, i);
    // Kernel parameters never change: loads of them may move out of the loop over threads.
    if (access.space == Space::kParam && e.IsKernelParameter(e.operand(1))) {
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(e.b.getContext(), {}));
      e.MarkParallel(load);
    }
    values.push_back(load);
  }
  for (int i = 0; i < access.count && !e.failed(); ++i)
    e.Write(Element(e, e.operand(0), access, i), values[i], access.type);
}

void St(Emitter& e) {
  const Access access = TakeAccess(e, false);
  if (!WantOperands(e, access)) return;
  Value* address = e.Address(e.operand(0), access.space);
  if (access.space == Space::kConst) return e.Malformed("constant memory cannot be written");
  EmitAccessCheck(e, e.operand(0), access.space, AccessKind::kWrite, Bytes(access), address);
  for (int i = 0; i < access.count && !e.failed(); ++i) {
    Value* value = e.Read(Element(e, e.operand(1), access, i), access.type);
    if (e.failed()) return;
    Mark(e, access, e.b.CreateStore(value, ElementPointer(e, address, access, i)), i);
  }
}

void Mov(Emitter& e) {
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (e.Want(2, 2)) e.Out(e.In(1, type), type);
}

// Generic addresses are host addresses, as are those within .global, .const, .local and .param; .shared addresses count
// from the start of the block's shared memory.
void Cvta(Emitter& e) {
  const bool to_space = e.Take("to");
  const Space space = e.TakeSpace();
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (!e.Want(2, 2)) return;
  if (type.bits != 64) return e.Unsupported("only 64-bit addresses are supported");
  if (space == Space::kGeneric) return e.Malformed("expected a state space");
  Value* address = e.In(1, type);
  if (space == Space::kShared) {
    Value* base = e.b.CreatePtrToInt(e.thread.shared, e.b.getInt64Ty());
    address = to_space ? e.b.CreateSub(address, base) : e.b.CreateAdd(address, base);
  }
  e.Out(address, type);
}

Value* InRange(Emitter& e, Value* address, Value* begin, Value* size) {
  return e.b.CreateICmpULT(e.b.CreateSub(address, begin), size);
}

Value* IsInSpace(Emitter& e, Value* address, Space space) {
  Value* result = e.b.getFalse();
  if (space == Space::kShared) {
    Value* size = e.b.CreateZExt(
        e.b.CreateLoad(e.b.getInt32Ty(), LaunchField(e.b, e.thread.launch, offsetof(CpuLaunch, dynamic_shared_bytes))),
        e.b.getInt64Ty());
    size = e.b.CreateAdd(size, e.Int(64, e.module.shared_end));
    return InRange(e, address, e.b.CreatePtrToInt(e.thread.shared, e.b.getInt64Ty()), size);
  }
  if (space == Space::kConst) {
    for (const auto& [name, variable] : e.module.variables) {
      if (variable.variable->space != Space::kConst) continue;
      result =
          e.b.CreateOr(result, InRange(e, address, e.VariableAddress(variable), e.Int(64, variable.variable->bytes)));
    }
  }
  if (space == Space::kParam) {  // Of the kernel: one range, which its own code knows the extent of.
    const ptx::Function& kernel = e.function;
    uint64_t size = 0;
    for (int index : kernel.params) {
      size = llvm::alignTo(size, kernel.variables[index].align) + kernel.variables[index].bytes;
    }
    Value* begin = e.b.CreateLoad(e.b.getInt64Ty(), LaunchField(e.b, e.thread.launch, offsetof(CpuLaunch, params)));
    return InRange(e, address, begin, e.Int(64, size));
  }
  if (space == Space::kLocal) {
    // Of the functions that called this one.
    result = e.CallHost("slipway_is_local", e.b.getInt1Ty(), {address});
    for (size_t i = 0; i < e.function.variables.size(); ++i) {
      const ptx::Variable& variable = e.function.variables[i];
      if (variable.space != Space::kLocal) continue;
      Value* begin = e.b.CreatePtrToInt(e.Storage(static_cast<int>(i)), e.b.getInt64Ty());
      result = e.b.CreateOr(result, InRange(e, address, begin, e.Int(64, variable.bytes)));
    }
  }
  return result;
}

void IsSpaceP(Emitter& e) {
  const Space space = e.Take("shared::cluster") ? Space::kShared : e.TakeSpace();  // A cluster is one block.
  e.FinishModifiers();
  if (!e.Want(2, 2)) return;
  Value* address = e.In(1, Type{Kind::kBits, 64});
  Value* result = nullptr;
  if (space == Space::kGeneric) return e.Malformed("expected a state space");
  if (space == Space::kParam && !e.function.is_kernel) return e.Unsupported("in a function that is no kernel");
  if (space == Space::kGlobal) {
    result = e.b.getFalse();
    for (Space other : {Space::kShared, Space::kConst, Space::kLocal, Space::kParam}) {
      if (other == Space::kParam && !e.function.is_kernel) continue;
      result = e.b.CreateOr(result, IsInSpace(e, address, other));
    }
    result = e.b.CreateNot(result);
  } else {
    result = IsInSpace(e, address, space);
  }
  e.Out(result, Type{Kind::kPredicate, 1});
}

// Hints about caches: checked for form, then nothing.
void Prefetch(Emitter& e) {
  const Space space = e.TakeSpace();
  e.TakeOneOf({"L1", "L2", "tensormap"});
  e.TakePrefix("L2::");
  e.FinishModifiers();
  if (e.Want(1, 1)) e.Address(e.operand(0), space);
}

// applypriority: a hint. discard: what is read next is undefined, so the old contents do.
void Apply(Emitter& e) {
  const Space space = e.TakeSpace();
  e.TakeOneOf({"L2", "L2::evict_normal"});
  e.FinishModifiers();
  if (!e.Want(2, 2)) return;
  e.Address(e.operand(0), space);
  e.In(1, Type{Kind::kBits, 32});
}

// A cache policy is a number that only cache hints read.
void CreatePolicy(Emitter& e) {
  const std::string_view form = e.TakeOneOf({"fractional", "range", "cvt"});
  if (form.empty()) return e.Malformed("expected .fractional, .range or .cvt");
  const Space space = e.TakeSpace();
  e.Take("L2");
  e.TakePrefix("L2::");
  const Type type = e.TakeType();
  e.FinishModifiers();
  if (form == "range") {
    if (!e.Want(4, 4)) return;
    e.Address(e.operand(1), space);
    for (size_t i : {2, 3}) e.In(i, Type{Kind::kBits, 32});
  } else if (form == "cvt") {
    if (!e.Want(2, 2)) return;
    e.In(1, type);
  } else {
    if (!e.Want(1, 2)) return;
    if (e.operands() == 2) e.In(1, Type{Kind::kFloat, 32});
  }
  e.Out(e.Int(64, 0), type);
}

// Predicates are refused by name.
constexpr ptx::TypeSet kStored = types::kBytes | types::kBits | types::kIntegers | types::kFloats | types::kPredicate |
                                 types::Only({Kind::kBits, 128});
constexpr InstructionRow kRows[] = {{"ld", &Ld, kStored},
                                    {"ldu", &Ld, kStored},
                                    {"st", &St, kStored},
                                    {"mov", &Mov, kStored},
                                    {"cvta", &Cvta, types::kIntegers32To64},
                                    {"isspacep", &IsSpaceP},
                                    {"prefetch", &Prefetch},
                                    {"prefetchu", &Prefetch},
                                    {"applypriority", &Apply},
                                    {"discard", &Apply},
                                    {"createpolicy", &CreatePolicy, types::kBits32To64}};

}  // namespace

absl::Span<const InstructionRow> MemoryInstructions() { return kRows; }

}  // namespace slipway::cpu
