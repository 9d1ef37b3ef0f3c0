// Kernels that were compiled ahead of time, as bytes: for programs that load and launch them without a compiler (they
// link slipway::driver and slipway::launch, and no LLVM).
//
//   SaveKernels("kernels.slipway", {saxpy.CompiledFor(device).value(), ...});           // Where there is a compiler.
//   const auto archive = KernelArchive::Open("kernels.slipway").value();                // Where there is none.
//   auto saxpy = TypedKernel<ArrayView<float, 1>, ...>::Load(device, archive.Find("saxpy").value());
//
// The bytes may also be compiled into a program: KernelsAsSource writes a C++ file with them. Of a kernel that is not
// asked for, nothing but a row of a table is read, so that an archive may have thousands.
#ifndef SLIPWAY_KERNEL_ARCHIVE_H_
#define SLIPWAY_KERNEL_ARCHIVE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "slipway/kernel.h"

namespace slipway {

// PTX with name, signature and whatever else a launch wants to know; captured numbers with the values that they have.
// Inspection is left out but for the PTX. The same bytes for the same kernels, on every machine of one byte order.
std::string EncodeKernels(absl::Span<const CompiledKernel> kernels);

// The same in a file, which is written whole or not at all. INTERNAL, with the path, where it cannot be written.
absl::Status SaveKernels(const std::string& path, absl::Span<const CompiledKernel> kernels);

// A C++ source file that defines `extern const unsigned char <name>[]` and `extern const unsigned long <name>_size`, to
// be given to KernelArchive::FromBytes. INVALID_ARGUMENT if `name` is no identifier.
absl::StatusOr<std::string> KernelsAsSource(absl::Span<const CompiledKernel> kernels, std::string_view name);

// What is in such a file or such bytes. A handle with shared ownership: cheap to copy, safe to use from any thread.
// Kernels of one PTX text share the module that is loaded of it.
class KernelArchive {
 public:
  // The file stays open, and may be replaced (not overwritten) meanwhile. NOT_FOUND, with the path, where it cannot be
  // read; DATA_LOSS for what SaveKernels of this version has not made, and for a part of it.
  static absl::StatusOr<KernelArchive> Open(const std::string& path);
  // The bytes are not copied, and have to outlive the archive.
  static absl::StatusOr<KernelArchive> FromBytes(std::string_view bytes);

  size_t size() const;
  // The kernel of that name, the first that was saved if there are several. NOT_FOUND, listing the names that there
  // are; DATA_LOSS where it was changed since it was saved.
  absl::StatusOr<CompiledKernel> Find(std::string_view name) const;
  // Those of that name, such as the specialisations of a generic kernel, or all, in the order in which they were saved.
  absl::StatusOr<std::vector<CompiledKernel>> FindAll(std::string_view name) const;
  absl::StatusOr<std::vector<CompiledKernel>> All() const;

 private:
  struct State;
  explicit KernelArchive(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace slipway

#endif  // SLIPWAY_KERNEL_ARCHIVE_H_
