#include "driver/cpu/translate/access_checks.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "driver/cpu/translate/launch_fields.h"
#include "driver/ptx/message.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"

namespace slipway::cpu {
namespace {

Value* Field(llvm::IRBuilder<>& b, Value* base, size_t offset) {
  return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), base, offset);
}

llvm::FunctionCallee HostFunction(ModuleTranslation& module, const char* symbol, llvm::Type* result,
                                  std::vector<llvm::Type*> arguments) {
  return module.target->getOrInsertFunction(symbol, llvm::FunctionType::get(result, arguments, false));
}

llvm::Constant* Text(ModuleTranslation& module, const std::string& text) {
  llvm::Constant*& constant = module.check_texts[text];
  if (constant == nullptr) {
    constant = llvm::IRBuilder<>(module.target->getContext()).CreateGlobalString(text, "", 0, module.target);
  }
  return constant;
}

llvm::GlobalVariable* Constant(ModuleTranslation& module, std::vector<llvm::Constant*> fields) {
  llvm::Constant* const value = llvm::ConstantStruct::getAnon(module.target->getContext(), fields);
  return new llvm::GlobalVariable(*module.target, value->getType(), /*isConstant=*/true,
                                  llvm::GlobalValue::PrivateLinkage, value);
}

// What a symbol tells of an access before it is made.
struct SymbolAccess {
  const ptx::Variable* variable = nullptr;  // Null: nothing; it is an address in a register, or an array without size.
  bool in_bounds = false;
  bool aligned = false;  // For sure.
};

SymbolAccess Look(const Emitter& e, const Operand& operand, uint64_t bytes) {
  SymbolAccess access;
  const Operand& base = operand.elements[0];
  if (base.kind != Operand::Kind::kSymbol) return access;
  if (base.variable >= 0) {
    access.variable = &e.function.variables[base.variable];
  } else if (const auto found = e.module.variables.find(base.name); found != e.module.variables.end()) {
    access.variable = found->second.variable;
  }
  if (access.variable == nullptr || access.variable->bytes == 0) return {};
  const auto offset = static_cast<uint64_t>(base.offset);  // A negative one is past every end.
  access.in_bounds = offset < access.variable->bytes && bytes <= access.variable->bytes - offset;
  access.aligned = access.variable->align % bytes == 0 && offset % bytes == 0;
  return access;
}

llvm::GlobalVariable* Site(Emitter& e, Space space, AccessKind kind, uint64_t bytes, const SymbolAccess& symbol) {
  static_assert(sizeof(AccessSite) == 48 && offsetof(AccessSite, where) == 0 && offsetof(AccessSite, function) == 8 &&
                offsetof(AccessSite, variable) == 16 && offsetof(AccessSite, variable_bytes) == 24 &&
                offsetof(AccessSite, bytes) == 32 && offsetof(AccessSite, known) == 36 &&
                offsetof(AccessSite, kind) == 40 && offsetof(AccessSite, space) == 41 &&
                offsetof(AccessSite, in_bounds) == 42);
  llvm::Constant* const null = llvm::ConstantPointerNull::get(e.b.getPtrTy());
  const bool named = symbol.variable != nullptr;
  return Constant(
      e.module,
      {Text(e.module, ptx::WhereIs(*e.module.source, *e.instruction)),
       e.function.is_kernel ? null : Text(e.module, std::string(e.function.name)),
       named ? Text(e.module, std::string(symbol.variable->name)) : null,
       e.b.getInt64(named ? symbol.variable->bytes : 0), e.b.getInt32(static_cast<uint32_t>(bytes)),
       e.b.getInt32(e.module.check_sites++ % CheckedThread::kKnownRanges), e.b.getInt8(static_cast<uint8_t>(kind)),
       e.b.getInt8(static_cast<uint8_t>(space)), e.b.getInt8(symbol.in_bounds)});
}

Value* Holds(Emitter& e, Value* offset, Value* size, uint64_t bytes) {
  return e.b.CreateAnd(e.b.CreateICmpULT(offset, size),
                       e.b.CreateICmpUGE(e.b.CreateSub(size, offset), e.Int(64, bytes)));
}

// The test that most accesses pass without a call; null if there is none.
Value* QuickTest(Emitter& e, Space space, uint64_t bytes, Value* address, uint32_t known) {
  llvm::Type* const i64 = e.b.getInt64Ty();
  if (space == Space::kShared) return Holds(e, address, e.checks.shared_bytes, bytes);
  if (space == Space::kLocal) {
    if (e.checks.locals.size() != 1) return nullptr;
    Value* const begin = e.b.CreatePtrToInt(e.Storage(e.checks.locals[0]), i64);
    return Holds(e, e.b.CreateSub(address, begin), e.Int(64, e.function.variables[e.checks.locals[0]].bytes), bytes);
  }
  if (space == Space::kParam) return nullptr;
  const size_t table =
      space == Space::kConst ? offsetof(CheckedThread, known_constant) : offsetof(CheckedThread, known);
  Value* const range = Field(e.b, e.checks.thread, table + known * sizeof(KnownRange));
  Value* const begin = e.b.CreateLoad(i64, Field(e.b, range, offsetof(KnownRange, begin)));
  Value* const end = e.b.CreateLoad(i64, Field(e.b, range, offsetof(KnownRange, end)));
  Value* const then = e.b.CreateLoad(i64, Field(e.b, range, offsetof(KnownRange, frees)));
  llvm::LoadInst* const now = e.b.CreateAlignedLoad(i64, e.checks.frees, llvm::Align(8));
  now->setAtomic(llvm::AtomicOrdering::Monotonic);
  Value* const inside = e.b.CreateAnd(e.b.CreateICmpUGE(address, begin),
                                      e.b.CreateICmpULE(address, e.b.CreateSub(end, e.Int(64, bytes))));
  return e.b.CreateAnd(inside, e.b.CreateICmpEQ(then, now));
}

Value* CallChecker(Emitter& e, const char* symbol, Value* what, llvm::GlobalVariable* site) {
  const ThreadContext& t = e.thread;
  return e.CallHost(
      symbol, e.b.getInt1Ty(),
      {e.checks.thread, what, site, t.block[0], t.block[1], t.block[2], t.thread[0], t.thread[1], t.thread[2]});
}

// Variables in local memory, and of calls, whose addresses a function takes.
void FindLocals(const Emitter& e, const Operand& operand, std::vector<int>& found) {
  for (const Operand& element : operand.elements) FindLocals(e, element, found);
  if (operand.kind != Operand::Kind::kSymbol || operand.variable < 0) return;
  const ptx::Function& function = e.function;
  const Space space = function.variables[operand.variable].space;
  const bool is_kernel_parameter = function.is_kernel && std::find(function.params.begin(), function.params.end(),
                                                                   operand.variable) != function.params.end();
  if ((space != Space::kLocal && space != Space::kParam) || is_kernel_parameter) return;
  if (std::find(found.begin(), found.end(), operand.variable) == found.end()) found.push_back(operand.variable);
}

}  // namespace

Value* EmitCheckBegin(llvm::IRBuilder<>& b, ModuleTranslation& module, const CpuKernel& kernel, Value* launch,
                      Value* shared) {
  if (!module.checked) return nullptr;
  static_assert(sizeof(CheckedKernel) == 24 && offsetof(CheckedKernel, shared_bytes) == 8 &&
                offsetof(CheckedKernel, params_bytes) == 16);
  llvm::Type* const ptr = b.getPtrTy();
  llvm::GlobalVariable* const description =
      Constant(module, {Text(module, kernel.name), b.getInt64(kernel.shared_bytes), b.getInt64(kernel.params_bytes)});
  return b.CreateCall(HostFunction(module, "slipway_check_begin", ptr, {ptr, ptr, ptr}), {launch, shared, description});
}

void EnterChecks(Emitter& e, Value* thread) {
  if (!e.module.checked) return;
  AccessChecks& checks = e.checks;
  llvm::Type* const ptr = e.b.getPtrTy();
  checks.thread =
      thread != nullptr ? thread : e.b.CreateCall(HostFunction(e.module, "slipway_check_thread", ptr, {}), {});
  checks.frees = e.b.CreateLoad(ptr, Field(e.b, checks.thread, offsetof(CheckedThread, frees)));
  checks.shared_bytes =
      e.b.CreateLoad(e.b.getInt64Ty(), Field(e.b, checks.thread, offsetof(CheckedThread, shared_bytes)));
  for (const ptx::Instruction& instruction : e.function.body) {
    if (instruction.opcode == "call") continue;  // What is called says itself whose address it takes.
    for (const Operand& operand : instruction.operands) {
      if (operand.kind != Operand::Kind::kAddress) FindLocals(e, operand, checks.locals);
    }
  }
  if (checks.locals.empty()) return;
  static_assert(sizeof(LocalFrame) == 16 && offsetof(LocalFrame, count) == 8 && sizeof(LocalVariable) == 24);
  const uint64_t bytes = sizeof(LocalFrame) + checks.locals.size() * sizeof(LocalVariable);
  checks.frame = e.EntryAlloca(llvm::ArrayType::get(e.b.getInt8Ty(), bytes), alignof(LocalFrame));
  // Of a kernel, what is noted there is a region's that has returned.
  checks.outer = e.function.is_kernel ? static_cast<Value*>(llvm::ConstantPointerNull::get(e.b.getPtrTy()))
                                      : e.b.CreateLoad(ptr, Field(e.b, checks.thread, offsetof(CheckedThread, frame)));
  e.b.CreateStore(checks.outer, checks.frame);
  e.b.CreateStore(e.b.getInt64(checks.locals.size()), Field(e.b, checks.frame, offsetof(LocalFrame, count)));
  size_t at = sizeof(LocalFrame);
  for (int local : checks.locals) {
    const ptx::Variable& variable = e.function.variables[local];
    e.b.CreateStore(e.b.getInt64(variable.bytes), Field(e.b, checks.frame, at + offsetof(LocalVariable, bytes)));
    e.b.CreateStore(Text(e.module, std::string(variable.name)),
                    Field(e.b, checks.frame, at + offsetof(LocalVariable, name)));
    at += sizeof(LocalVariable);
  }
}

void PlaceLocals(Emitter& e) {
  if (e.checks.frame == nullptr) return;
  size_t at = sizeof(LocalFrame);
  for (int local : e.checks.locals) {
    e.b.CreateStore(e.Storage(local), Field(e.b, e.checks.frame, at + offsetof(LocalVariable, begin)));
    at += sizeof(LocalVariable);
  }
  e.b.CreateStore(e.checks.frame, Field(e.b, e.checks.thread, offsetof(CheckedThread, frame)));
}

void LeaveChecks(Emitter& e) {
  if (e.checks.frame == nullptr) return;
  e.b.CreateStore(e.checks.outer, Field(e.b, e.checks.thread, offsetof(CheckedThread, frame)));
}

void EmitAccessCheck(Emitter& e, const Operand& operand, Space space, AccessKind kind, uint64_t bytes, Value* address) {
  if (e.checks.thread == nullptr || e.failed()) return;
  const SymbolAccess symbol = Look(e, operand, bytes);
  if (symbol.in_bounds && symbol.aligned) return;
  if (symbol.variable != nullptr) space = symbol.variable->space;
  const uint32_t known = e.module.check_sites % CheckedThread::kKnownRanges;
  llvm::GlobalVariable* const site = Site(e, space, kind, bytes, symbol);
  Value* at = e.b.CreatePtrToInt(address, e.b.getInt64Ty());
  if (space == Space::kShared) at = e.b.CreateSub(at, e.b.CreatePtrToInt(e.thread.shared, e.b.getInt64Ty()));

  llvm::Function* const function = e.b.GetInsertBlock()->getParent();
  llvm::BasicBlock* const ask = llvm::BasicBlock::Create(e.b.getContext(), "ask", function);
  llvm::BasicBlock* const access = llvm::BasicBlock::Create(e.b.getContext(), "access", function);
  llvm::MDNode* const likely = llvm::MDBuilder(e.b.getContext()).createLikelyBranchWeights();
  Value* quick = symbol.variable == nullptr ? QuickTest(e, space, bytes, at, known)
                 : symbol.in_bounds         ? e.b.getTrue()
                                            : nullptr;
  if (quick != nullptr && bytes > 1) {
    quick = e.b.CreateAnd(quick, e.b.CreateICmpEQ(e.b.CreateAnd(at, e.Int(64, bytes - 1)), e.Int(64, 0)));
  }
  if (quick != nullptr) {
    e.b.CreateCondBr(quick, access, ask, likely);
  } else {
    e.b.CreateBr(ask);
  }
  e.b.SetInsertPoint(ask);
  e.b.CreateCondBr(CallChecker(e, "slipway_check_access", at, site), access, e.exited, likely);
  e.b.SetInsertPoint(access);
}

Value* EmitCheckedFree(Emitter& e, Value* address) {
  return CallChecker(e, "slipway_check_free", address, Site(e, Space::kGeneric, AccessKind::kWrite, 1, {}));
}

Value* EmitHasFailed(llvm::IRBuilder<>& b, Value* launch) {
  llvm::LoadInst* const trapped =
      b.CreateAlignedLoad(b.getInt32Ty(), LaunchField(b, launch, offsetof(CpuLaunch, trapped)), llvm::Align(4));
  trapped->setAtomic(llvm::AtomicOrdering::Monotonic);
  return b.CreateICmpNE(trapped, b.getInt32(0));
}

}  // namespace slipway::cpu
