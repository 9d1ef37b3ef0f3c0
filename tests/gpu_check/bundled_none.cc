#include "tests/gpu_check/bundled.h"

namespace slipway::gpu_check {

std::vector<BundledProgram> BundledPrograms() { return {}; }

}  // namespace slipway::gpu_check
