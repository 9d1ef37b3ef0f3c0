// Checks of kernels in LLVM IR: what driver/error_record.h says that kernels do.
#ifndef SLIPWAY_JIT_LOWER_CHECKS_H_
#define SLIPWAY_JIT_LOWER_CHECKS_H_

#include <cstdint>
#include <vector>

#include "jit/ir.h"
#include "jit/lower_memory.h"
#include "jit/lower_threads.h"
#include "llvm/IR/IRBuilder.h"

namespace slipway {

// For a kernel that has checks; its function has the two words for them as its last parameters.
class CheckLowering {
 public:
  CheckLowering(const ir::Kernel& kernel, llvm::IRBuilder<>& builder, MemoryLowering& memory, ThreadLowering& threads,
                const std::vector<llvm::Value*>& values)
      : kernel_(kernel),
        context_(builder.getContext()),
        b_(builder),
        memory_(memory),
        threads_(threads),
        values_(values) {}

  // The beginning of the kernel: nothing is done where another launch has failed.
  void Gate(llvm::Function* function, llvm::BasicBlock* end);
  // `end`: where a thread goes that stops.
  void Check(const ir::Inst& inst, llvm::BasicBlock* end);

 private:
  llvm::Value* At(llvm::Value* address, uint64_t offset);
  llvm::LoadInst* Load(llvm::Value* address, uint64_t offset);
  void Store(llvm::Value* address, uint64_t offset, llvm::Value* value);
  llvm::Value* Atomic(llvm::AtomicRMWInst::BinOp op, llvm::Value* address, uint64_t offset, llvm::Value* value,
                      const char* scope);
  void Leave(const ir::Inst& inst, llvm::Value* key);
  void Fill(const ir::Inst& inst, llvm::Value* place, llvm::Value* key);
  llvm::Value* Bits(llvm::Value* value, DType dtype);
  void Branch(llvm::Value* condition, const char* name, llvm::BasicBlock* otherwise);
  llvm::BasicBlock* NewBlock(const char* name);

  const ir::Kernel& kernel_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<>& b_;
  MemoryLowering& memory_;
  ThreadLowering& threads_;
  const std::vector<llvm::Value*>& values_;
  llvm::Value* gate_ = nullptr;    // Its address.
  llvm::Value* launch_ = nullptr;  // The least key of this launch.
};

}  // namespace slipway

#endif  // SLIPWAY_JIT_LOWER_CHECKS_H_
