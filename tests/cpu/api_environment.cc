// The device that these tests run on: two ordinals, and little memory.
#include <cstdlib>

namespace {
// Before main, and so before the first Init reads them.
const bool environment_is_set = [] {
  setenv("SLIPWAY_CPU_DEVICES", "2", /*overwrite=*/1);
  setenv("SLIPWAY_CPU_MEMORY", "256M", /*overwrite=*/1);
  unsetenv("SLIPWAY_CPU_ARCH");
  return true;
}();
}  // namespace
