// The operators of the semantics table in LLVM IR: arithmetic and casts on values, no control flow and no memory.
#ifndef SLIPWAY_JIT_LOWER_OPS_H_
#define SLIPWAY_JIT_LOWER_OPS_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "jit/compile.h"
#include "jit/semantics.h"
#include "llvm/IR/IRBuilder.h"
#include "slipway/dtype.h"

namespace slipway {

// The LLVM type of a value. bool is i1, integers carry no sign, complex types are a struct of two floats.
llvm::Type* ValueType(llvm::LLVMContext& context, DType dtype);

class OperatorLowering {
 public:
  // `library` is kLibdevice or kLibclc: whose names math functions are called by.
  OperatorLowering(llvm::IRBuilder<>& builder, const Target& target, MathLibrary library)
      : b_(builder), target_(target), library_(library) {}

  // The result of an operator on values of `type`, the type of the operation (for kSelect operand 0 is an i1, for
  // shifts operand 1 an i32). Null where the semantics table has no lowering for it.
  llvm::Value* Apply(ir::Op op, DType type, absl::Span<llvm::Value* const> operands);

  // A value cast by the rule of docs/semantics.md. Null where complex types are involved.
  llvm::Value* Cast(llvm::Value* value, DType from, DType to);

  // The math library's functions that were called, each once, in order of first use.
  const std::vector<std::string>& math_symbols() const { return math_symbols_; }

 private:
  llvm::Value* Binary(const char* name, llvm::Value* a, llvm::Value* b);
  llvm::Value* Divide(const char* name, llvm::Value* a, llvm::Value* b);
  llvm::Value* Shift(const char* name, llvm::Value* a, llvm::Value* count);
  llvm::Value* Compare(const char* name, llvm::Value* a, llvm::Value* b);
  llvm::Value* Intrinsic(const char* name, absl::Span<llvm::Value* const> operands);
  llvm::Value* MinMax(const char* name, llvm::Value* a, llvm::Value* b);
  llvm::Value* Classify(ir::Op op, llvm::Value* a);
  llvm::Value* Library(const char* stem, absl::Span<llvm::Value* const> operands);
  llvm::Value* FloatToInt(llvm::Value* value, DType to);

  // The PTX instruction `opcode` ("div.s32") on integers; its result has the type of `a`.
  llvm::Value* Ptx(const std::string& opcode, llvm::Value* a, llvm::Value* b);

  llvm::IRBuilder<>& b_;
  const Target target_;
  const MathLibrary library_;
  std::vector<std::string> math_symbols_;
};

}  // namespace slipway

#endif  // SLIPWAY_JIT_LOWER_OPS_H_
