// How kernels are compiled: one struct that every front end takes. What is not said keeps the semantics of
// docs/semantics.md to the bit.
//
//   auto saxpy = MakeKernel("saxpy", function, CompileOptions{.fast_math = {.division = true}});
//   auto axpy = Elementwise::Parse("z = a * x + y", {}, "axpy", {.line_info = true});
//   CompiledKernel kernel = builder.Compile(device, /*index32=*/false, {.max_registers = 64}).value();
#ifndef SLIPWAY_COMPILE_OPTIONS_H_
#define SLIPWAY_COMPILE_OPTIONS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace slipway {

// Which library gives sin, exp, pow and the like. kAuto is libdevice where one is found ($SLIPWAY_LIBDEVICE, the CUDA
// toolkit's usual places), else libclc ($SLIPWAY_LIBCLC, Debian's libclc-22); looked up once in a process. Errors of
// both are a few units in the last place; libclc's exp gives 0 for a subnormal float32 result, and its tgamma, off by
// hundreds of units, is refused.
enum class MathLibrary { kAuto, kLibdevice, kLibclc };

// What arithmetic may give up for speed; each by itself, and nothing by default. Float64 and integers are touched only
// where that is said. 16-bit floats that are computed in float32 are touched as float32 is. Bounds are of the PTX ISA.
struct FastMath {
  // float32 / by div.full: 2 ulp instead of rounded correctly.
  bool division = false;
  // float32 sqrt and rsqrt by sqrt.approx and rsqrt.approx: a relative error of 2^-23 and 2^-22.9.
  bool sqrt = false;
  // float32 sin, cos, tan, tanh, exp, exp2, exp10, log, log2, log10 and pow as the functions fast_sin, ... are
  // (docs/semantics.md has their errors): sin and cos are of use for |x| <= pi only.
  bool functions = false;
  // float32 subnormals are zeros, as operands and as results (.ftz).
  bool flush_subnormals = false;
  // Float sums and products, float64's too, may be taken in another order, and the sign of a zero is anyone's.
  bool reassociate = false;
  // No operand or result of float arithmetic, float64's too, is a NaN, or infinite: where one is, any value may come.
  bool no_nans = false;
  bool no_infinities = false;

  // All of them: at least what nvcc's --use_fast_math allows.
  static constexpr FastMath All() { return {true, true, true, true, true, true, true}; }
  friend bool operator==(const FastMath&, const FastMath&) = default;
};

struct CompileOptions {
  MathLibrary math = MathLibrary::kAuto;
  bool keep_llvm = true;  // Keep the optimised LLVM IR as text for inspection; costs some of the compile time.

  // How much is optimised before the PTX is written: 0 nothing, 1 what is cheap, 2 what pays for most kernels, 3
  // everything. Results are the same at each, but for what fast_math allows. The driver optimises the PTX once more.
  int opt_level = 3;
  // A product and a sum become one fma where one feeds the other, as CUDA compilers do. Off, each is rounded.
  bool contract = true;
  FastMath fast_math = {};
  // Of a thread, 16 to 255; 0 leaves it to the driver. LaunchBounds of the kernel itself can only ask for fewer.
  uint32_t max_registers = 0;
  // The PTX says which line of the source each instruction comes from: for profilers, debuggers and the CPU device's
  // memory checker. The code stays the same; compiling takes longer.
  bool line_info = false;

  friend bool operator==(const CompileOptions&, const CompileOptions&) = default;
};

// INVALID_ARGUMENT, naming the option, for one that is out of its range.
absl::Status CheckOptions(const CompileOptions& options);

// The flags of such names with commas between, as ToString writes them ("division,sqrt"), or "all".
// INVALID_ARGUMENT for any other; the message lists them.
absl::StatusOr<FastMath> ParseFastMath(std::string_view names);

// All that shapes the code, as text: equal for equal code of one kernel and one target, and so a part of cache keys.
// keep_llvm does not count. "opt3", "opt3 nocontract fast:division,sqrt".
std::string ToString(const CompileOptions& options);

}  // namespace slipway

#endif  // SLIPWAY_COMPILE_OPTIONS_H_
