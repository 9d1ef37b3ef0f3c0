// LLVM IR to machine code of this host, as a relocatable object.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_HOST_CODE_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_HOST_CODE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace slipway::cpu {

// Compiles one module at a time. What LLVM needs for that is costly to make, and kept for the next compiler.
class HostCompiler {
 public:
  // INTERNAL if LLVM does not know this host.
  static absl::StatusOr<HostCompiler> Get();

  // What the objects are for and who makes them: equal where an object can be exchanged for another of the same module.
  static const std::string& Description();

  // Prepares a module, which has no data layout yet, for the host. Must be called before IR is built in it.
  void Prepare(llvm::Module& module) const;

  // Optimises and emits. INTERNAL if the IR is broken or LLVM fails, which is a bug in Slipway.
  absl::StatusOr<std::string> Compile(llvm::Module& module);

 private:
  struct PutBack {
    void operator()(llvm::TargetMachine* machine) const;
  };
  using Machine = std::unique_ptr<llvm::TargetMachine, PutBack>;
  explicit HostCompiler(Machine machine) : machine_(std::move(machine)) {}
  Machine machine_;
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_HOST_CODE_H_
