// From kernel IR to PTX text.
#ifndef SLIPWAY_JIT_COMPILE_H_
#define SLIPWAY_JIT_COMPILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "jit/ir.h"
#include "slipway/device.h"
#include "slipway/kernel.h"

namespace slipway {

// What code is generated for.
struct Target {
  int sm = 90;       // Compute capability * 10: 75 to 121.
  int ptx_isa = 78;  // PTX ISA version * 10, such as 63 or 90.
};

// The target for a device: its compute capability (the newest known one below it where LLVM does not know it), and the
// newest PTX ISA that both its driver and LLVM take. FAILED_PRECONDITION below sm_75 or if the driver is too old.
absl::StatusOr<Target> TargetFor(const Device& device);
// The same from numbers; driver_version as cuDriverGetVersion gives it.
absl::StatusOr<Target> TargetFor(int compute_capability_times_10, int driver_version);

// Which library gives sin, exp, pow and the like. kAuto is libdevice where one is found ($SLIPWAY_LIBDEVICE, the CUDA
// toolkit's usual places), else libclc ($SLIPWAY_LIBCLC, Debian's libclc-22); looked up once in a process. Errors of
// both are a few units in the last place; libclc's exp gives 0 for a subnormal float32 result, and its tgamma, off by
// hundreds of units, is refused.
enum class MathLibrary { kAuto, kLibdevice, kLibclc };

struct CompileOptions {
  MathLibrary math = MathLibrary::kAuto;
  bool keep_llvm = true;  // Keep the optimised LLVM IR as text for inspection; costs some of the compile time.
};

// Compiles a kernel. Thread-safe; different threads compile at the same time; nothing that grows is kept. The result
// carries PTX, signature and inspection (IR text, LLVM IR, times by stage, which math library).
//
// INVALID_ARGUMENT for a target that does not exist, for parameters past what it takes (4,096 bytes, 32,764 from PTX
// ISA 8.1 on; the message gives both numbers), and for a kernel name that starts with __nv or _Z; UNIMPLEMENTED for an
// operation on a type that is not supported (named, with the location); NOT_FOUND if a math function is used and no
// library is installed (says what to install).
//
// In the PTX every rounding operation says how it rounds and a contracted product is an fma, so that nothing is left to
// decide for whoever runs it. Arrays may overlap: nothing is read through the read-only cache.
absl::StatusOr<CompiledKernel> Compile(const ir::Kernel& kernel, const Target& target,
                                       const CompileOptions& options = {});

}  // namespace slipway

#endif  // SLIPWAY_JIT_COMPILE_H_
