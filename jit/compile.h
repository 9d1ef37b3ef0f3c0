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
// toolkit's usual places), else libclc.
enum class MathLibrary { kAuto, kLibdevice, kLibclc };

struct CompileOptions {
  MathLibrary math = MathLibrary::kAuto;
  bool keep_llvm = true;  // Keep the optimised LLVM IR as text for inspection; costs some of the compile time.
};

// Compiles a kernel. Thread-safe; different threads compile at the same time. The result carries PTX, signature and
// inspection (IR text, LLVM IR, times by stage, which math library). UNIMPLEMENTED for an operation on a type that is
// not supported (named, with the location), NOT_FOUND if a math function is used and no library is installed (says what
// to install).
absl::StatusOr<CompiledKernel> Compile(const ir::Kernel& kernel, const Target& target,
                                       const CompileOptions& options = {});

}  // namespace slipway

#endif  // SLIPWAY_JIT_COMPILE_H_
