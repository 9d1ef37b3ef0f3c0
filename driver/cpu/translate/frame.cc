#include "driver/cpu/translate/frame.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "driver/cpu/limits.h"
#include "driver/cpu/translate/launch_fields.h"
#include "driver/cpu/translate/thread_loop.h"
#include "llvm/IR/MDBuilder.h"

namespace slipway::cpu {
namespace {

constexpr uint32_t kMaxParameterAlign = 16;
constexpr uint32_t kSharedAlign = 128;  // As CpuRunBlocks asks for.
constexpr char kSeldomRuns[] = "slipway.seldom";

}  // namespace

void SetTranslatedAttributes(llvm::Function* function) {
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr("probe-stack", "inline-asm");
  // An access to address 0 is an illegal one, which is told; LLVM would take it for one that never comes.
  function->addFnAttr(llvm::Attribute::NullPointerIsValid);
}

void SetSeldomRuns(llvm::Function* function) { function->addFnAttr(kSeldomRuns); }
bool SeldomRuns(const llvm::Function& function) { return function.hasFnAttribute(kSeldomRuns); }

void SetParamsAttributes(llvm::Function* function, unsigned argument, uint64_t bytes) {
  function->addParamAttr(argument, llvm::Attribute::NoAlias);
  function->addParamAttr(argument, llvm::Attribute::ReadOnly);
  function->addDereferenceableParamAttr(argument, std::max<uint64_t>(bytes, 1));
  function->addParamAttr(argument,
                         llvm::Attribute::getWithAlignment(function->getContext(), llvm::Align(kMaxParameterAlign)));
}

void SetSharedAttributes(llvm::Function* function, unsigned argument, uint64_t bytes) {
  if (bytes == 0) return;
  function->addDereferenceableParamAttr(argument, bytes);
  function->addParamAttr(argument,
                         llvm::Attribute::getWithAlignment(function->getContext(), llvm::Align(kSharedAlign)));
}

void ReadLaunchDimensions(llvm::IRBuilder<>& b, ThreadContext& thread) {
  llvm::MDBuilder metadata(b.getContext());
  for (unsigned i = 0; i < 3; ++i) {
    llvm::LoadInst* size = LoadLaunchField(b, thread.launch, offsetof(CpuLaunch, block) + 4 * i, b.getInt32Ty());
    size->setMetadata(llvm::LLVMContext::MD_range,
                      metadata.createRange(llvm::APInt(32, 1), llvm::APInt(32, kMaxBlock[i] + 1)));
    thread.block_size[i] = size;
    thread.grid_size[i] = LoadLaunchField(b, thread.launch, offsetof(CpuLaunch, grid) + 4 * i, b.getInt32Ty());
  }
}

llvm::MDNode* ThreadLoopMetadata(const ModuleTranslation& module, llvm::LLVMContext& context, ThreadAxis axis) {
  const auto entry = [&](const char* name) { return llvm::MDNode::get(context, llvm::MDString::get(context, name)); };
  std::vector<llvm::Metadata*> parts = {nullptr};
  if (module.threads_are_apart) {
    parts.push_back(
        llvm::MDNode::get(context, {llvm::MDString::get(context, "llvm.loop.parallel_accesses"), module.access_group}));
  }
  if (axis != ThreadAxis::kOther) parts.push_back(entry(kThreadLoopMark));
  if (axis == ThreadAxis::kLanes) parts.push_back(entry("llvm.loop.unroll.disable"));
  llvm::MDNode* const id = llvm::MDNode::getDistinct(context, parts);
  id->replaceOperandWith(0, id);
  return id;
}

}  // namespace slipway::cpu
