// Checks of kernels: what their codes stand for, and the words of a failure.
#ifndef SLIPWAY_LAUNCH_CHECKS_H_
#define SLIPWAY_LAUNCH_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driver/error_record.h"

namespace slipway::internal {

// Makes the checks of a kernel known to the process and returns the code of the first; those of the others follow. A
// kernel of the same name with the same messages has the same codes: what is kept are texts, for ever, since a failure
// may be read after its kernel is gone. RESOURCE_EXHAUSTED past 1,048,576 codes.
absl::StatusOr<uint32_t> RegisterChecks(const std::string& kernel, const std::vector<std::string>& messages);

// INVALID_ARGUMENT, "KERNEL: MESSAGE (element I, block B, thread T)".
absl::Status DecodeFailure(const KernelFailure& failure);

// A message with its values, each of which is the bits that CheckPrintfFormat's types have, in 64: int32, uint32,
// int64, uint64 or float64, as the conversion says. A conversion that is none stays as it is written.
std::string FormatCheck(const std::string& message, const uint64_t* values, size_t count);

}  // namespace slipway::internal

#endif  // SLIPWAY_LAUNCH_CHECKS_H_
