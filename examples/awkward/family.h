// Kernel families of the Awkward Array project, written as Slipway kernels in embedded C++.
//
// A family is one operation (what it computes stands beside its kernel) in one variant for each combination of element
// types that the project has. Its arguments, in order, are those of the project's own C interface.
#ifndef SLIPWAY_EXAMPLES_AWKWARD_FAMILY_H_
#define SLIPWAY_EXAMPLES_AWKWARD_FAMILY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "slipway/device.h"
#include "slipway/kernel.h"

namespace slipway::awkward {

// The scalar arguments of a call, by name.
using Scalars = std::map<std::string, int64_t>;

struct Family {
  const char* name;  // Without the project's `awkward_` prefix.
  // How many elements the kernel loops over, which shapes the grid; from scalar arguments alone.
  int64_t (*size)(Scalars& arguments);
  // One function a variant, which compiles and loads it; the kernel's signature tells which variant it is.
  std::vector<absl::StatusOr<Kernel> (*)(const Device&)> variants;
};

std::vector<Family> IndexFamilies();  // Option and union types: masks, tags and indices.
std::vector<Family> ListFamilies();   // Lists of fixed and of varying length.
std::vector<Family> AllFamilies();

}  // namespace slipway::awkward

#endif  // SLIPWAY_EXAMPLES_AWKWARD_FAMILY_H_
