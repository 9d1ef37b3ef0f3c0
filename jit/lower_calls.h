// Calls of functions of libraries in LLVM IR.
#ifndef SLIPWAY_JIT_LOWER_CALLS_H_
#define SLIPWAY_JIT_LOWER_CALLS_H_

#include <vector>

#include "absl/types/span.h"
#include "jit/ir.h"
#include "llvm/IR/Attributes.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace slipway {

// How what is smaller than a register of 32 bits is extended when it is passed or returned; kNone for what is not.
llvm::Attribute::AttrKind ExtensionOf(DType dtype);

// Declares a function of a library in `module`, as clang would declare it for nvptx64: small integers are extended to
// 32 bits by the caller, bools are i1.
llvm::Function* DeclareExternal(const ir::External& external, llvm::Module& module);

// Calls it; arguments are values as the kernel has them, addresses i64. Null without a result.
llvm::Value* CallExternal(const ir::External& external, absl::Span<llvm::Value* const> arguments, llvm::IRBuilder<>& b,
                          llvm::Module& module);

}  // namespace slipway

#endif  // SLIPWAY_JIT_LOWER_CALLS_H_
