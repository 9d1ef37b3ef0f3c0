// Runs the families over the project's own test cases.
#ifndef SLIPWAY_EXAMPLES_JAGGED_RUNNER_H_
#define SLIPWAY_EXAMPLES_JAGGED_RUNNER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "examples/jagged/family.h"
#include "slipway/device.h"
#include "slipway/stream.h"

namespace slipway::jagged {

struct Tally {
  int64_t passed = 0;  // A case counts once for each variant that it is valid for.
  int64_t total = 0;
  int64_t launches = 0;       // Of kernels; a step of size 0 launches none.
  int64_t variants = 0;       // Combinations of types that a case is valid for.
  int64_t compiles = 0;       // Kernels compiled by the first call of each variant,
  int64_t recompiles = 0;     // and by all its other calls, with other values: should be 0.
  std::string first_failure;  // "case u3, awkward_...: toindex[4] is 7, expected 9"; empty if there was none.

  Tally& operator+=(const Tally& other);  // Of the numbers; keeps its own first failure, if it has one.
};

// Runs every case of `family` in every variant that it is valid for. `data` is a folder of JSON files, one a family, as
// tests/data/awkward-kernels/README.md describes them. Outputs are filled as it says there before each call, and
// compared whole: integers exactly, floats to one part in a million. A call that must fail has to note exactly the
// mistake that a loop over the rows meets first. An error is one of the data; a call that fails is a case that did not
// pass.
absl::StatusOr<Tally> Run(const Family& family, const std::string& data, const Device& device, const Stream& stream,
                          Way way = kWay);

}  // namespace slipway::jagged

#endif  // SLIPWAY_EXAMPLES_JAGGED_RUNNER_H_
