// Code of libraries on its way into kernels: what a DeviceLibrary (slipway/device_library.h) is made of.
#ifndef SLIPWAY_JIT_LIBRARY_H_
#define SLIPWAY_JIT_LIBRARY_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jit/ir.h"
#include "slipway/compile_options.h"
#include "slipway/target.h"

namespace llvm {
class Module;
}  // namespace llvm

namespace slipway::internal {

// One piece of code. Immutable but for what it remembers; safe to use from any thread.
class LibraryPart {
 public:
  virtual ~LibraryPart() = default;
  LibraryPart(const LibraryPart&) = delete;
  LibraryPart& operator=(const LibraryPart&) = delete;

  const std::string& name() const { return name_; }
  // LLVM bitcode; empty for other code.
  virtual std::string_view bitcode() const { return {}; }
  // PTX text for a target, the same each time; failures are not kept.
  absl::StatusOr<std::shared_ptr<const std::string>> Ptx(const Target& target) const;

 protected:
  explicit LibraryPart(std::string name) : name_(std::move(name)) {}

 private:
  virtual absl::StatusOr<std::string> MakePtx(const Target& target) const = 0;

  const std::string name_;
  mutable std::mutex mutex_;
  mutable std::map<std::pair<int, int>, std::shared_ptr<const std::string>> made_;  // By architecture and PTX ISA.
};

// A part whose PTX a function makes.
std::shared_ptr<const LibraryPart> MakeLibraryPart(std::string name,
                                                   std::function<absl::StatusOr<std::string>(const Target&)> make_ptx);

}  // namespace slipway::internal

namespace slipway {

// A part of the keys by which compiled kernels are kept: the content of the kernel's libraries, as they are for the
// target. Empty for a kernel without. Errors of parts that have to be compiled first.
absl::StatusOr<std::string> LibrariesKey(const ir::Kernel& kernel, const Target& target);

// Links the bitcode that the kernel calls into its module, internal, with what it calls itself. `*math_symbols` gets
// the functions of libdevice that it wants. INVALID_ARGUMENT for a function of another type than it is declared with.
// INVALID_ARGUMENT also for code that the target cannot have (check_bitcode.h).
absl::Status LinkBitcode(const ir::Kernel& kernel, const Target& target, llvm::Module& module,
                         std::vector<std::string>* math_symbols);

// The PTX of a kernel joined with that of its libraries, if it needs any of it. Errors of parts that have to be
// compiled, and those of Join (driver/ptx/join.h).
absl::StatusOr<std::string> JoinLibraries(const ir::Kernel& kernel, const Target& target, std::string ptx);

}  // namespace slipway

#endif  // SLIPWAY_JIT_LIBRARY_H_
