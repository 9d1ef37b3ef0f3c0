// What PTX is made for: an architecture and a version of the PTX language.
//
//   Target target = TargetFor(device).value();                         // What a device and its driver take.
//   Target target = ParseTarget("sm_90").value();                      // Without a device.
//   std::vector<Target> targets = ParseTargets("sm_75,sm_90").value();
#ifndef SLIPWAY_TARGET_H_
#define SLIPWAY_TARGET_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "slipway/device.h"

namespace slipway {

// PTX for an architecture runs on every newer one, too.
struct Target {
  int sm = 90;       // Compute capability * 10: 75 to 121.
  int ptx_isa = 78;  // PTX ISA version * 10, such as 63 or 90.

  friend bool operator==(const Target&, const Target&) = default;
};

// The target for a device: its compute capability (the newest known one below it where LLVM does not know it), and the
// newest PTX ISA that both its driver and LLVM take. FAILED_PRECONDITION below sm_75 or if the driver is too old.
absl::StatusOr<Target> TargetFor(const Device& device);
// The same from numbers; driver_version as cuDriverGetVersion gives it.
absl::StatusOr<Target> TargetFor(int compute_capability_times_10, int driver_version);

// "sm_90", in the oldest PTX ISA that the architecture has, which the most drivers take; or "sm_90:8.3", in that one.
// INVALID_ARGUMENT for anything else, an unknown architecture or an ISA that it does not have; the message lists them.
absl::StatusOr<Target> ParseTarget(std::string_view text);
// Several, with commas between; at most one for each architecture.
absl::StatusOr<std::vector<Target>> ParseTargets(std::string_view text);

std::string ToString(const Target& target);  // "sm_90:7.8": what ParseTarget takes.

}  // namespace slipway

#endif  // SLIPWAY_TARGET_H_
