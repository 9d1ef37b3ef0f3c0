// Kernels whose threads wait for each other, as regions; warp.h says what those are.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_REGION_FRAME_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_REGION_FRAME_H_

#include <string>

#include "absl/status/status.h"
#include "driver/cpu/program.h"
#include "driver/cpu/ptx/module.h"
#include "driver/cpu/translate/module_translator.h"
#include "llvm/IR/IRBuilder.h"

namespace slipway::cpu {

// Translates a flattened kernel and makes `run`, of type CpuRunBlocks, run it. `layout` says where its parameters are;
// `name` distinguishes it from the module's other kernels.
absl::Status EmitRegions(llvm::IRBuilder<>& b, ModuleTranslation& module, const ptx::Function& kernel,
                         const CpuKernel& layout, const std::string& name, llvm::Function* run);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_REGION_FRAME_H_
