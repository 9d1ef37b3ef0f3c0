// Fields of CpuLaunch as IR loads.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_LAUNCH_FIELDS_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_LAUNCH_FIELDS_H_

#include <cstddef>

#include "driver/cpu/program.h"
#include "llvm/IR/IRBuilder.h"

namespace slipway::cpu {

inline llvm::Value* LaunchField(llvm::IRBuilder<>& b, llvm::Value* launch, size_t offset) {
  return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), launch, offset);
}

// A field that never changes while a kernel runs.
inline llvm::LoadInst* LoadLaunchField(llvm::IRBuilder<>& b, llvm::Value* launch, size_t offset, llvm::Type* type) {
  llvm::LoadInst* load = b.CreateLoad(type, LaunchField(b, launch, offset));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
  return load;
}

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_LAUNCH_FIELDS_H_
