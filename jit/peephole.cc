#include "jit/peephole.h"

#include "jit/replace.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

namespace slipway {
namespace {

namespace match = llvm::PatternMatch;
using llvm::Value;

// Whether a is found from where it stands by way of others in its block; constants go into the instruction that
// accesses memory.
bool IsPlain(const llvm::GetElementPtrInst& address) {
  return address.getNumIndices() == 1 && address.getOperand(1)->getType()->isIntegerTy(64) &&
         !llvm::isa<llvm::Constant>(address.getOperand(1));
}

// gep(p, a + b) for gep(gep(p, a), b), made before it; null where there is no such pair. A step that others take, too,
// or that stands outside of a loop, is better made once.
Value* MergedSteps(llvm::GetElementPtrInst& outer) {
  auto* inner = llvm::dyn_cast<llvm::GetElementPtrInst>(outer.getPointerOperand());
  if (inner == nullptr || !IsPlain(*inner) || !IsPlain(outer)) return nullptr;
  if (inner->getSourceElementType() != outer.getSourceElementType()) return nullptr;
  if (!inner->hasOneUse() || inner->getParent() != outer.getParent()) return nullptr;
  llvm::IRBuilder<> b(&outer);
  return b.CreateInBoundsGEP(outer.getSourceElementType(), inner->getPointerOperand(),
                             b.CreateAdd(inner->getOperand(1), outer.getOperand(1)));
}

// An address that is another one and a constant is made where it is used: instructions that access memory have room for
// the constant, and outside of a loop it would take registers.
void SinkConstantOffset(llvm::Instruction& user) {
  Value* pointer = const_cast<Value*>(llvm::getLoadStorePointerOperand(&user));
  auto* address = llvm::dyn_cast_or_null<llvm::GetElementPtrInst>(pointer);
  if (address == nullptr || address->getParent() == user.getParent() || !address->hasAllConstantIndices()) return;
  llvm::Instruction* here = address->clone();
  here->insertBefore(user.getIterator());
  user.replaceUsesOfWith(address, here);
}

// A number that fits 32 bits, in those.
Value* AsWord(llvm::IRBuilder<>& b, Value* value) {
  Value* word;
  if (match::match(value, match::m_ZExt(match::m_Value(word))) && word->getType()->isIntegerTy(32)) return word;
  return b.CreateTrunc(value, b.getInt32Ty());
}

Value* UpperHalf(llvm::Instruction& half) {
  Value *x, *y;
  const auto product = match::m_Mul(match::m_Value(x), match::m_Value(y));
  if (!half.getType()->isIntegerTy(64) || !match::match(&half, match::m_LShr(product, match::m_SpecificInt(32)))) {
    return nullptr;
  }
  const llvm::APInt upper = llvm::APInt::getHighBitsSet(64, 32);
  for (Value* factor : {x, y}) {
    if (!llvm::MaskedValueIsZero(factor, upper, half.getModule()->getDataLayout())) return nullptr;
  }
  llvm::IRBuilder<> b(&half);
  Value* words[] = {AsWord(b, x), AsWord(b, y)};
  return b.CreateZExt(b.CreateIntrinsic(llvm::Intrinsic::nvvm_mulhi_ui, {}, words), half.getType());
}

}  // namespace

llvm::PreservedAnalyses PeepholePass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  const auto better = [](llvm::Instruction& instruction) -> Value* {
    SinkConstantOffset(instruction);
    if (auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) return MergedSteps(*address);
    return instruction.getOpcode() == llvm::Instruction::LShr ? UpperHalf(instruction) : nullptr;
  };
  return ReplaceInstructions(function, [&] { return better; });
}

}  // namespace slipway
