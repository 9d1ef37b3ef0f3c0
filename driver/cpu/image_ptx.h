// The PTX in an image, which is all that the CPU device runs of it.
#ifndef SLIPWAY_DRIVER_CPU_IMAGE_PTX_H_
#define SLIPWAY_DRIVER_CPU_IMAGE_PTX_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace slipway::cpu {

// PTX text as it stands; of a fatbin the text for the newest architecture that is not newer than sm, unpacked.
// FAILED_PRECONDITION where there is machine code alone; INVALID_ARGUMENT for what is no image, or is cut off or
// damaged.
absl::StatusOr<std::string> PtxOf(std::string_view image, int sm);

// The same of an image of unknown size: a driver's entry is told no more. Machine code is not looked into.
absl::StatusOr<std::string> PtxAt(const void* image, int sm);

// The bytes of an LZ4 block (LZ4 Block Format Description), `size` of them. INVALID_ARGUMENT if it does not hold that.
absl::StatusOr<std::string> UnpackLz4(std::string_view block, size_t size);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_IMAGE_PTX_H_
