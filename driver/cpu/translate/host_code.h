// LLVM IR to machine code of this process.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_HOST_CODE_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_HOST_CODE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace slipway::cpu {

// Optimised for the host and linked; the code lives as long as the object.
class HostCode {
 public:
  // Prepares `module` (which has no data layout yet) for the host. Must be called before IR is built in it.
  static absl::Status Prepare(llvm::Module& module);

  // Optimises and compiles. INTERNAL if the IR is broken or LLVM fails, which is a bug in Slipway.
  static absl::StatusOr<std::unique_ptr<HostCode>> Compile(llvm::Module& module);
  ~HostCode();

  // INTERNAL if there is no such function.
  absl::StatusOr<void*> Find(const std::string& symbol) const;

  // Sections of machine code: (first byte, size).
  const std::vector<std::pair<uintptr_t, size_t>>& sections() const { return sections_; }

 private:
  struct Session;
  HostCode();
  std::unique_ptr<Session> session_;
  std::vector<std::pair<uintptr_t, size_t>> sections_;
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_HOST_CODE_H_
