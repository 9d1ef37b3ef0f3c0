// Kernels whose threads wait for each other, as regions; warp.h says what those are.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_REGION_FRAME_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_REGION_FRAME_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "driver/cpu/ptx/module.h"
#include "driver/cpu/translate/module_translator.h"
#include "llvm/IR/IRBuilder.h"

namespace slipway::cpu {

// Translates a flattened kernel and makes `run`, of type CpuRunBlocks, run it. `offsets` are those of its parameters in
// the launch buffer of `params_bytes`; `name` distinguishes it from the module's other kernels.
absl::Status EmitRegions(llvm::IRBuilder<>& b, ModuleTranslation& module, const ptx::Function& kernel,
                         const std::vector<uint64_t>& offsets, uint64_t params_bytes, const std::string& name,
                         llvm::Function* run);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_REGION_FRAME_H_
