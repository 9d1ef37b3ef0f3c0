#include "jit/lower_checks.h"

#include <cstddef>

#include "driver/error_record.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Intrinsics.h"
#include "slipway/memory_model.h"

namespace slipway {

using internal::ErrorGate;
using internal::ErrorPlace;
using internal::ErrorReport;
using ir::SpecialRegister;
using llvm::BasicBlock;
using llvm::Value;
using Rmw = llvm::AtomicRMWInst;

namespace {
constexpr char kDeviceScope[] = "device", kSystemScope[] = "";
}  // namespace

void CheckLowering::Gate(llvm::Function* function, BasicBlock* end) {
  const auto first = static_cast<unsigned>(kernel_.params.size());
  gate_ = b_.CreateIntToPtr(function->getArg(first), b_.getPtrTy(kGlobalSpace), "errors");
  launch_ = function->getArg(first + 1);
  BasicBlock* const body = NewBlock("no_error");
  // An ordinary load, which caches serve: what threads of this launch lower meanwhile makes no difference.
  Value* const key = Load(gate_, offsetof(ErrorGate, key));
  Branch(b_.CreateICmpNE(key, b_.getInt64(internal::kNoError)), "error", body);
  // Of this launch: the others of its threads go on, so that the first failure is found among all.
  Value* const differs = b_.CreateLShr(b_.CreateXor(key, launch_), internal::kErrorLaunchShift);
  Branch(b_.CreateICmpNE(differs, b_.getInt64(0)), "error_before", body);
  Branch(b_.CreateICmpSLT(key, b_.getInt64(0)), "close", end);
  Atomic(Rmw::And, gate_, offsetof(ErrorGate, key), b_.getInt64(~internal::kOpenError), kDeviceScope);
  b_.CreateBr(end);
  b_.SetInsertPoint(body);
}

void CheckLowering::Check(const ir::Inst& inst, BasicBlock* end) {
  const absl::Span<const ir::ValueId> operands = kernel_.OperandsOf(inst);
  BasicBlock* const holds = NewBlock("check_holds");
  BasicBlock* const left = ir::Stops(inst) ? end : holds;
  Branch(b_.CreateNot(values_[operands[0]]), "check_failed", holds);
  Value* const element =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, values_[operands[1]], b_.getInt64(internal::kMaxErrorElement));
  const uint64_t code = inst.imm << internal::kErrorCodeShift;
  Value* const key = b_.CreateAdd(b_.CreateAdd(launch_, b_.getInt64(code)), element, "key");
  // Most threads of many that fail see here that another one was before them.
  llvm::LoadInst* const seen = Load(gate_, offsetof(ErrorGate, key));
  seen->setAtomic(llvm::AtomicOrdering::Monotonic, context_.getOrInsertSyncScopeID(kDeviceScope));
  Branch(b_.CreateICmpULT(key, seen), "check_lowers", left);
  Value* const before = Atomic(Rmw::UMin, gate_, offsetof(ErrorGate, key), key, kDeviceScope);
  Branch(b_.CreateICmpULT(key, before), "check_first", left);
  Leave(inst, key);
  b_.CreateBr(left);
  b_.SetInsertPoint(holds);
}

// Takes a place and fills it, or lowers the rest.
void CheckLowering::Leave(const ir::Inst& inst, Value* key) {
  BasicBlock* const done = NewBlock("check_left");
  Value* const taken = Atomic(Rmw::Add, gate_, offsetof(ErrorGate, places), b_.getInt64(1), kDeviceScope);
  Value* const report = b_.CreateIntToPtr(Load(gate_, offsetof(ErrorGate, report)), b_.getPtrTy(kGlobalSpace));
  BasicBlock* const full = NewBlock("check_full");
  Branch(b_.CreateICmpULT(taken, b_.getInt64(internal::kErrorPlaces)), "check_place", full);
  Value* const offset = b_.CreateMul(taken, b_.getInt64(sizeof(ErrorPlace)));
  Fill(inst, b_.CreateGEP(b_.getInt8Ty(), At(report, offsetof(ErrorReport, places)), offset), key);
  b_.CreateBr(done);
  b_.SetInsertPoint(full);
  Atomic(Rmw::UMin, report, offsetof(ErrorReport, rest), key, kSystemScope);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

void CheckLowering::Fill(const ir::Inst& inst, Value* place, Value* key) {
  constexpr SpecialRegister kBlock[] = {SpecialRegister::kBlockX, SpecialRegister::kBlockY, SpecialRegister::kBlockZ};
  constexpr SpecialRegister kThread[] = {SpecialRegister::kThreadX, SpecialRegister::kThreadY,
                                         SpecialRegister::kThreadZ};
  const absl::Span<const ir::ValueId> operands = kernel_.OperandsOf(inst);
  Store(place, offsetof(ErrorPlace, element), values_[operands[1]]);
  for (size_t i = 0; i < 3; ++i) {
    Store(place, offsetof(ErrorPlace, block) + 4 * i, threads_.Special(kBlock[i]));
    Store(place, offsetof(ErrorPlace, thread) + 4 * i, threads_.Special(kThread[i]));
  }
  for (size_t i = 2; i < operands.size(); ++i) {
    Store(place, offsetof(ErrorPlace, values) + 8 * (i - 2),
          Bits(values_[operands[i]], kernel_.insts[operands[i]].type));
  }
  memory_.Fence(MemoryScope::kSystem);
  Store(place, offsetof(ErrorPlace, key), key);
}

// The bits of one of the types of formats, in 64.
Value* CheckLowering::Bits(Value* value, DType dtype) {
  if (IsFloat(dtype)) return b_.CreateBitCast(value, b_.getInt64Ty());
  return b_.CreateIntCast(value, b_.getInt64Ty(), IsSignedInteger(dtype));
}

Value* CheckLowering::At(Value* address, uint64_t offset) {
  return offset == 0 ? address : b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), address, offset);
}

llvm::LoadInst* CheckLowering::Load(Value* address, uint64_t offset) {
  return b_.CreateAlignedLoad(b_.getInt64Ty(), At(address, offset), llvm::Align(8));
}

// The host may be reading.
void CheckLowering::Store(Value* address, uint64_t offset, Value* value) {
  const llvm::Align align(value->getType()->getPrimitiveSizeInBits() / 8);
  b_.CreateAlignedStore(value, At(address, offset), align, /*isVolatile=*/true);
}

Value* CheckLowering::Atomic(Rmw::BinOp op, Value* address, uint64_t offset, Value* value, const char* scope) {
  return b_.CreateAtomicRMW(op, At(address, offset), value, llvm::Align(8), llvm::AtomicOrdering::Monotonic,
                            context_.getOrInsertSyncScopeID(scope));
}

// Goes on in a block of its own where the condition holds, which it rarely does.
void CheckLowering::Branch(Value* condition, const char* name, BasicBlock* otherwise) {
  BasicBlock* const block = NewBlock(name);
  b_.CreateCondBr(condition, block, otherwise);
  b_.SetInsertPoint(block);
}

BasicBlock* CheckLowering::NewBlock(const char* name) {
  return BasicBlock::Create(context_, name, b_.GetInsertBlock()->getParent());
}

}  // namespace slipway
