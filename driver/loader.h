// Fills a DriverApi from a shared library: the CUDA driver of the machine, or any library with the same symbols.
#ifndef SLIPWAY_DRIVER_LOADER_H_
#define SLIPWAY_DRIVER_LOADER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "slipway/driver_api.h"

namespace slipway {

// Opens the first of `libraries` (as dlopen takes names) that is there and resolves every function of the list, through
// the library's cuGetProcAddress at the CUDA version that the list names, then by exported name for those that are
// required. Optional functions that the driver lacks stay nullptr. NOT_FOUND if no library opens (the message repeats
// the dynamic loader's reasons); FAILED_PRECONDITION naming the required functions that are missing. A library that was
// taken stays open for the life of the process.
absl::StatusOr<DriverApi> LoadDriver(absl::Span<const std::string> libraries, const char* name);

// The CUDA driver: libcuda.so.1, else libcuda.so. Loaded at the first call; the same answer at each later one.
absl::StatusOr<const DriverApi*> CudaDriver();

// The name under which a driver library exports `cu<member>` in the variant that DriverApi declares: "cuMemAlloc_v2"
// for "MemAlloc".
std::string ExportedName(const char* member);

}  // namespace slipway

#endif  // SLIPWAY_DRIVER_LOADER_H_
