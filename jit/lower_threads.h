// What threads do together, and messages, in LLVM IR.
#ifndef SLIPWAY_JIT_LOWER_THREADS_H_
#define SLIPWAY_JIT_LOWER_THREADS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "jit/compile.h"
#include "jit/effects.h"
#include "jit/ir.h"
#include "jit/lower_ops.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace slipway {

// The most that a special register can hold, where it holds at least 1; 0 for others.
uint64_t PositiveBoundOf(ir::SpecialRegister reg);

class ThreadLowering {
 public:
  ThreadLowering(const ir::Kernel& kernel, const Target& target, llvm::Module& module, llvm::IRBuilder<>& builder,
                 llvm::IRBuilder<>& entry, OperatorLowering& operators, const std::vector<llvm::Value*>& values)
      : kernel_(kernel),
        target_(target),
        module_(module),
        context_(module.getContext()),
        b_(builder),
        entry_(entry),
        operators_(operators),
        values_(values) {}

  llvm::Value* Special(ir::SpecialRegister reg);
  llvm::Value* Barrier(const ir::Inst& inst);
  llvm::Value* Warp(const ir::Inst& inst);
  void GridSync();
  void Sleep(const ir::Inst& inst);
  void Printf(const ir::Inst& inst);
  void Assert(const ir::Inst& inst);
  void Trap();

  // Whether any of it made a loop.
  bool has_loops() const { return has_loops_; }

 private:
  llvm::Value* Shuffle(llvm::Value* mask, llvm::Value* value, llvm::Intrinsic::ID how, llvm::Value* lane,
                       llvm::Value* clamp);
  llvm::Value* Reduce(ir::WarpOp op, DType dtype, llvm::Value* mask, llvm::Value* value);
  llvm::Value* Combine(ir::WarpOp op, DType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* AsWord(llvm::Value* value, bool is_signed);
  llvm::Value* Call(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Value*> arguments);
  llvm::Value* Text(const std::string& text);
  llvm::BasicBlock* NewBlock(const char* name);

  const ir::Kernel& kernel_;
  const Target target_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<>& b_;
  llvm::IRBuilder<>& entry_;
  OperatorLowering& operators_;
  const std::vector<llvm::Value*>& values_;
  bool has_loops_ = false;
};

}  // namespace slipway

#endif  // SLIPWAY_JIT_LOWER_THREADS_H_
