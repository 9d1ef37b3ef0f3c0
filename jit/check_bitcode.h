// Whether LLVM's code generator for PTX takes a module that comes from outside. For what it does not take it ends the
// process, or worse; the verifier looks only at whether it is LLVM IR at all.
#ifndef SLIPWAY_JIT_CHECK_BITCODE_H_
#define SLIPWAY_JIT_CHECK_BITCODE_H_

#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "slipway/target.h"

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace slipway {

// What LLVM's reader takes at its word and should not: attributes of a parameter whose number makes the reader ask for
// more memory than there is, which ends the process. To be asked before anything is read. INVALID_ARGUMENT.
absl::Status CheckCounts(const std::string& library, std::string_view bitcode);

// What is wrong with it wherever it is compiled for: names, linkage and initial values of variables, and what functions
// are besides their code. INVALID_ARGUMENT, naming `library` and the symbol.
absl::Status CheckSymbols(const std::string& library, const llvm::Module& module);

// That each function with a body for which `is_checked` uses types, instructions and intrinsics that code for `target`
// can have. INVALID_ARGUMENT, naming `library`, the function, and what it uses.
absl::Status CheckCode(const std::string& library, const llvm::Module& module, const Target& target,
                       absl::FunctionRef<bool(const llvm::Function&)> is_checked);

}  // namespace slipway

#endif  // SLIPWAY_JIT_CHECK_BITCODE_H_
