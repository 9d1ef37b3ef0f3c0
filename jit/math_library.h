// The libraries that give sin, exp, pow and the like: NVIDIA's libdevice and LLVM's libclc, both LLVM bitcode. Only the
// functions that a kernel calls, and what those need, are read and linked.
#ifndef SLIPWAY_JIT_MATH_LIBRARY_H_
#define SLIPWAY_JIT_MATH_LIBRARY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "jit/compile.h"

namespace llvm {
class Module;
}  // namespace llvm

namespace slipway {

// What a function is called in a library: MathSymbol(kLibdevice, "sin", false, "T") is "__nv_sinf", in libclc it is
// "_Z3sinf". `stem` and `slots` are the semantics table's.
std::string MathSymbol(MathLibrary library, absl::string_view stem, bool is_double, absl::string_view slots);

// "libdevice" or "libclc".
const char* Name(MathLibrary library);

// kAuto becomes the library that is installed, libdevice before libclc; which one is looked up once in a process. Does
// not fail: where none is installed that is said when a function is needed.
MathLibrary ResolveMathLibrary(MathLibrary library);

// Tells apart what different versions of a library would give: a hash of its file, which is read once in a process;
// "none" where it is not installed.
std::string MathLibraryVersion(MathLibrary library);

// Links `symbols` of the library options.math, which is not kAuto, into `module`, internal, with whatever they call.
// NOT_FOUND if the library is not installed (says what to install), UNIMPLEMENTED, naming the function, for one that
// libclc lacks or gives too badly. Thread-safe; each function is read from disk once in a process.
absl::Status LinkMath(const CompileOptions& options, const std::vector<std::string>& symbols, const Target& target,
                      llvm::Module& module);

}  // namespace slipway

#endif  // SLIPWAY_JIT_MATH_LIBRARY_H_
