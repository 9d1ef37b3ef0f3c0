// Kernels that were compiled ahead of time, as bytes: for programs that load and launch them without a compiler (they
// link slipway::driver and slipway::launch, and no LLVM).
//
//   SaveKernels("kernels.slipway", {saxpy.CompiledFor(device).value(), ...});           // Where there is a compiler.
//   std::vector<CompiledKernel> kernels = LoadKernels("kernels.slipway").value();       // Where there is none.
//   auto saxpy = TypedKernel<ArrayView<float, 1>, ...>::Load(device, kernels[0]);
//
// The bytes may also be compiled into a program: KernelsAsSource writes a C++ file with them.
#ifndef SLIPWAY_KERNEL_ARCHIVE_H_
#define SLIPWAY_KERNEL_ARCHIVE_H_

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
// Kernels whose modules are loaded when one is first launched, and the text of several once a device. DATA_LOSS for
// what EncodeKernels of this version has not made, or for a part or a changed copy of it.
absl::StatusOr<std::vector<CompiledKernel>> DecodeKernels(std::string_view bytes);

// The same in a file, which is written whole or not at all. INTERNAL or NOT_FOUND, with the path, where it cannot be
// written or read.
absl::Status SaveKernels(const std::string& path, absl::Span<const CompiledKernel> kernels);
absl::StatusOr<std::vector<CompiledKernel>> LoadKernels(const std::string& path);

// The kernel of that name. NOT_FOUND, listing those that there are.
absl::StatusOr<CompiledKernel> FindKernel(absl::Span<const CompiledKernel> kernels, std::string_view name);

// A C++ source file that defines `extern const unsigned char <name>[]` and `extern const unsigned long <name>_size`, to
// be given to DecodeKernels. INVALID_ARGUMENT if `name` is no identifier.
absl::StatusOr<std::string> KernelsAsSource(absl::Span<const CompiledKernel> kernels, std::string_view name);

}  // namespace slipway

#endif  // SLIPWAY_KERNEL_ARCHIVE_H_
