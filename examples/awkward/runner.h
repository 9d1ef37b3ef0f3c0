// Runs the families over the project's own test cases.
#ifndef SLIPWAY_EXAMPLES_AWKWARD_RUNNER_H_
#define SLIPWAY_EXAMPLES_AWKWARD_RUNNER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "examples/awkward/family.h"
#include "slipway/device.h"
#include "slipway/stream.h"

namespace slipway::awkward {

struct Tally {
  int64_t passed = 0;  // A case counts once for each variant that it is valid for.
  int64_t total = 0;
  int64_t launches = 0;       // Kernels launched; a case of size 0 launches none.
  int kernels = 0;            // Variants compiled.
  std::string first_failure;  // "case u3, awkward_...: toindex[4] is 7, expected 9"; empty if there was none.
};

// Runs every case of `family` in every variant that it is valid for. `data` is a folder of JSON files, one a family, as
// tests/data/awkward-kernels/README.md describes them. Outputs are filled as it says there before each launch, and
// compared whole. An error is one of the data or of the set-up; a kernel that fails is a case that did not pass.
absl::StatusOr<Tally> Run(const Family& family, const std::string& data, const Device& device, const Stream& stream);

}  // namespace slipway::awkward

#endif  // SLIPWAY_EXAMPLES_AWKWARD_RUNNER_H_
