#include "jit/emit_ptx.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/CodeGen/CodeGenTargetMachineImpl.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

namespace slipway {
namespace {

// Whether an address may point to more than one kind of memory, so that the back end has to find out which.
bool HasMixedAddresses(const llvm::Module& module) {
  int functions = 0;
  for (const llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    if (++functions > 1) return true;
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      if (llvm::isa<llvm::AllocaInst>(instruction)) return true;
    }
  }
  return false;
}

// The step from IR to machine instructions alone, which a pass configuration keeps to itself.
struct Selection : llvm::TargetPassConfig {
  static bool Add(llvm::TargetPassConfig& config) { return (config.*&Selection::addCoreISelPasses)(); }
};

// What TargetMachine::addPassesToEmitFile adds, with the passes on IR of -O0. False if the back end cannot.
bool AddLeanPasses(llvm::CodeGenTargetMachineImpl& machine, llvm::legacy::PassManager& passes,
                   llvm::raw_pwrite_stream& stream) {
  llvm::TargetPassConfig* config = machine.createPassConfig(passes);
  config->setDisableVerify(true);
  auto* info = new llvm::MachineModuleInfoWrapperPass(&machine);
  passes.add(config);
  passes.add(info);
  passes.add(llvm::createTargetTransformInfoWrapperPass(machine.getTargetIRAnalysis()));
  const llvm::CodeGenOptLevel level = machine.getOptLevel();
  machine.setOptLevel(llvm::CodeGenOptLevel::None);
  config->addIRPasses();
  machine.setOptLevel(level);
  config->addISelPrepare();
  if (Selection::Add(*config)) return false;
  config->addMachinePasses();
  config->setInitialized();
  if (machine.addAsmPrinter(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile,
                            info->getMMI().getContext())) {
    return false;
  }
  passes.add(llvm::createFreeMachineFunctionPass());
  return true;
}

}  // namespace

absl::Status EmitPtx(llvm::Module& module, llvm::TargetMachine& machine, std::string* ptx) {
  llvm::SmallString<0> text;
  text.reserve(8192);
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  const bool lean = machine.getOptLevel() != llvm::CodeGenOptLevel::None && !HasMixedAddresses(module);
  const bool able = lean ? AddLeanPasses(static_cast<llvm::CodeGenTargetMachineImpl&>(machine), passes, stream)
                         : !machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile,
                                                        /*DisableVerify=*/true);
  if (!able) return absl::InternalError("LLVM's NVPTX back end cannot write PTX text");
  passes.run(module);
  ptx->assign(text.begin(), text.end());
  return absl::OkStatus();
}

}  // namespace slipway
