// What only a bundle's program has: the device tests as a subcommand. Linked statically, one program is smaller than
// two.
#ifndef SLIPWAY_TESTS_GPU_CHECK_BUNDLED_H_
#define SLIPWAY_TESTS_GPU_CHECK_BUNDLED_H_

#include <string_view>
#include <vector>

namespace slipway::gpu_check {

struct BundledProgram {
  std::string_view name;
  int (*main)(int argc, char** argv);
};

// None in the program that an ordinary build makes (bundled_none.cc), all in a bundle's (bundled_all.cc).
std::vector<BundledProgram> BundledPrograms();

}  // namespace slipway::gpu_check

#endif  // SLIPWAY_TESTS_GPU_CHECK_BUNDLED_H_
