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

// The PTX instruction `opcode` ("div.s32", "bfe.u32") on registers; its result is of `type`.
llvm::Value* PtxInstruction(llvm::IRBuilder<>& b, const std::string& opcode, llvm::Type* type,
                            llvm::ArrayRef<llvm::Value*> operands);

// The integer function `name` of the semantics table (jit/lower_integers.cc), on operands of the types that its slots
// want. Null where there is none of that name.
llvm::Value* LowerIntegerFunction(llvm::IRBuilder<>& b, const char* name, bool is_signed,
                                  absl::Span<llvm::Value* const> operands);

// A float rounded to odd, for a result of fewer bits: `down` and `up` are the exact value rounded down and up. What is
// not exact has a last bit of 1, so that rounding it once more, to nearest, does not take it for a tie.
llvm::Value* RoundToOdd(llvm::IRBuilder<>& b, llvm::Value* down, llvm::Value* up);

// The LLVM type of a value. bool is i1, integers carry no sign, complex types are a struct of two floats.
llvm::Type* ValueType(llvm::LLVMContext& context, DType dtype);

// How float32 subnormals are treated in a function.
void SetFloatMode(llvm::Function& function, const FastMath& fast_math);

class OperatorLowering {
 public:
  // options.math is kLibdevice or kLibclc: whose names math functions are called by.
  OperatorLowering(llvm::IRBuilder<>& builder, const Target& target, const CompileOptions& options)
      : b_(builder), target_(target), options_(options) {}

  // The result of an operator on values of the types that its row's slots want, `type` being the type of the operation.
  // Null where the semantics table has no lowering for it.
  llvm::Value* Apply(ir::Op op, DType type, absl::Span<llvm::Value* const> operands);

  // A value cast by the rule of docs/semantics.md. Null where complex types are involved.
  llvm::Value* Cast(llvm::Value* value, DType from, DType to, ir::CastKind kind = ir::CastKind::kValue);

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
  llvm::Value* Fma(absl::Span<llvm::Value* const> operands);
  llvm::Value* Library(const ir::Semantics& row, const char* stem, absl::Span<llvm::Value* const> operands);
  // What fast_math puts in an operator's place on float32 (jit/lower_fast.cc); null where it leaves it alone.
  llvm::Value* Approximate(ir::Op op, absl::Span<llvm::Value* const> operands);
  llvm::Value* Approximating(const char* instruction, absl::Span<llvm::Value* const> operands);
  llvm::Value* InFloat32(ir::Op op, DType type, absl::Span<llvm::Value* const> operands);

  // Casts (jit/lower_casts.cc).
  llvm::Value* FloatToInt(llvm::Value* value, DType to, ir::CastKind kind);
  llvm::Value* IntToFloat(llvm::Value* value, bool is_signed, DType to, ir::CastKind kind);
  llvm::Value* Narrow(llvm::Value* value, DType to, ir::CastKind kind);
  llvm::Value* SaturateInt(llvm::Value* value, DType from, DType to);
  llvm::Value* SaturateFloat(llvm::Value* value, DType to);

  llvm::IRBuilder<>& b_;
  const Target target_;
  const CompileOptions options_;
  std::vector<std::string> math_symbols_;
};

}  // namespace slipway

#endif  // SLIPWAY_JIT_LOWER_OPS_H_
