// What the code generator knows about NVIDIA targets: which exist, which PTX ISA each needs, and LLVM's machinery for
// each.
#ifndef SLIPWAY_JIT_TARGET_H_
#define SLIPWAY_JIT_TARGET_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/target.h"

namespace llvm {
class TargetMachine;
}  // namespace llvm

namespace slipway {

// OK if `target` names an architecture that LLVM knows and a PTX ISA that both it and LLVM take; INVALID_ARGUMENT
// otherwise.
absl::Status CheckTarget(const Target& target);

// The largest launch buffer that `target` takes, in bytes.
uint32_t MaxParameterBytes(const Target& target);

// A TargetMachine is costly to make, keeps no trace of what it compiled and serves one thread at a time: so they are
// lent. The lease gives it back when destroyed; the pool holds at most as many as were ever lent at once, for each
// target and level of optimisation. Thread-safe.
class TargetMachineLease {
 public:
  static absl::StatusOr<TargetMachineLease> Take(const Target& target, int opt_level);
  TargetMachineLease(TargetMachineLease&&) noexcept;
  TargetMachineLease& operator=(TargetMachineLease&&) = delete;
  ~TargetMachineLease();

  llvm::TargetMachine& operator*() const { return *machine_; }
  llvm::TargetMachine* operator->() const { return machine_.get(); }

 private:
  TargetMachineLease(const Target& target, int opt_level, std::unique_ptr<llvm::TargetMachine> machine);
  Target target_;
  int opt_level_;
  std::unique_ptr<llvm::TargetMachine> machine_;
};

}  // namespace slipway

#endif  // SLIPWAY_JIT_TARGET_H_
