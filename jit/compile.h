// From kernel IR to PTX text.
#ifndef SLIPWAY_JIT_COMPILE_H_
#define SLIPWAY_JIT_COMPILE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "jit/ir.h"
#include "slipway/compile_options.h"
#include "slipway/kernel.h"
#include "slipway/target.h"

namespace slipway {

// Compiles a kernel. Thread-safe; different threads compile at the same time; nothing that grows is kept. The result
// carries PTX, signature and inspection (IR text, LLVM IR, times by stage, which math library).
//
// INVALID_ARGUMENT for a target that does not exist, for parameters past what it takes (4,096 bytes, 32,764 from PTX
// ISA 8.1 on; the message gives both numbers), for an option out of its range, and for a kernel name that starts with
// __nv or _Z; UNIMPLEMENTED for an operation on a type that is not supported (named, with the location); NOT_FOUND if a
// math function is used and no library is installed (says what to install).
//
// In the PTX every rounding operation says how it rounds and a contracted product is an fma, so that nothing is left to
// decide for whoever runs it. Arrays may overlap: nothing is read through the read-only cache.
absl::StatusOr<CompiledKernel> Compile(const ir::Kernel& kernel, const Target& target,
                                       const CompileOptions& options = {});

// A kernel with code that was made of it, now or before: signature, captured numbers and demands on launches come from
// the kernel.
CompiledKernel WithCode(const ir::Kernel& kernel, std::shared_ptr<const Inspection> inspection);

}  // namespace slipway

#endif  // SLIPWAY_JIT_COMPILE_H_
