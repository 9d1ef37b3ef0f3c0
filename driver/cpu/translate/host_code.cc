#include "driver/cpu/translate/host_code.h"

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "driver/cpu/translate/build_vectors.h"
#include "driver/cpu/translate/frame.h"
#include "driver/cpu/translate/interchange_loops.h"
#include "driver/cpu/translate/load_elements.h"
#include "driver/cpu/translate/mask_last_turn.h"
#include "driver/cpu/translate/recover_addresses.h"
#include "driver/cpu/translate/scalar_extremes.h"
#include "driver/cpu/translate/set_rare_branches_aside.h"
#include "driver/cpu/translate/split_thread_loop.h"
#include "driver/cpu/translate/tighten_thread_loop.h"
#include "driver/cpu/translate/widen_thread_loop.h"
#include "driver/ptx/message.h"
#include "driver/status_macros.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/xxhash.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/Mem2Reg.h"

namespace slipway::cpu {
namespace {

absl::Status Bug(std::string_view what, const std::string& detail) {
  return absl::InternalError(
      ptx::Concat("the CPU device: ", what, " (this is a bug in Slipway; please report it): ", detail));
}

absl::Status Bug(std::string_view what, llvm::Error error) { return Bug(what, llvm::toString(std::move(error))); }

// What LLVM finds out about the host, once: asking the processor takes longer than translating a small kernel's PTX.
absl::StatusOr<llvm::orc::JITTargetMachineBuilder> Host() {
  static const auto* const host = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
    using Found = absl::StatusOr<llvm::orc::JITTargetMachineBuilder>;
    llvm::Expected<llvm::orc::JITTargetMachineBuilder> builder = llvm::orc::JITTargetMachineBuilder::detectHost();
    if (!builder) return new Found(Bug("LLVM does not know this host", builder.takeError()));
    builder->setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
    // AMD's gathers take longer than the loads that they stand for, Intel's since the microcode against Gather Data
    // Sampling (Intel Security Advisory 00828, August 2023), and elsewhere about as long. Without them a load that all
    // lanes make from one address, under a branch, does not become one.
    if (builder->getTargetTriple().isX86()) builder->addFeatures({"+prefer-no-gather"});
    return new Found(*std::move(builder));
  }();
  return *host;
}

// Target machines that nobody uses now. One holds what LLVM derives from the host's features, which takes longer than
// translating a small kernel.
struct SpareMachines {
  std::mutex mutex;
  std::vector<std::unique_ptr<llvm::TargetMachine>> machines;

  static SpareMachines& Get() {
    static SpareMachines* const spare = new SpareMachines;
    return *spare;
  }
};

// LLVM's optimiser and instruction selector take time that grows with the square of a straight-line function's length.
// Kernels of ordinary size get everything, long ones (formulas of thousands of terms) what is linear.
enum class Effort : uint8_t { kFull, kLinear };
constexpr size_t kLongFunction = 6000;  // IR instructions, before optimisation: about 2,000 of PTX.

Effort EffortFor(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    if (function.getInstructionCount() > kLongFunction) return Effort::kLinear;
  }
  return Effort::kFull;
}

// Registers to values, and addresses that the hardware can compute; of all functions, or of those that seldom run.
void OptimizeLinearly(llvm::Module& module, bool all) {
  llvm::FunctionAnalysisManager functions;
  llvm::PassBuilder().registerFunctionAnalyses(functions);
  llvm::FunctionPassManager manager;
  manager.addPass(llvm::PromotePass());
  manager.addPass(llvm::EarlyCSEPass());
  manager.addPass(llvm::SimplifyCFGPass());
  manager.addPass(RecoverAddressesPass());
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() && (all || SeldomRuns(function))) manager.run(function, functions);
  }
}

void Optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.LoopInterleaving = true;
  // Compilers of PTX have unrolled what is worth it; here it is remainders of vectorised loops that would be, at a
  // fifth of the time that a small kernel takes to load.
  tuning.LoopUnrolling = false;
  // LLVM 22's is not to be trusted: of four bytes of a word that are zero-extended, the highest needs no mask after its
  // shift, and the vector that it makes of them masks another with poison (its "copyable elements"; dp4a.u32.s32 in
  // tests/data/ptx-vectors). Threads are vectorized by the loop over them, which is where the speed comes from.
  tuning.SLPVectorization = false;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder passes(&machine, tuning);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(components);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, components, modules);
  // After registers have become values and device functions have been inlined.
  passes.registerPeepholeEPCallback(
      [](llvm::FunctionPassManager& manager, llvm::OptimizationLevel) { manager.addPass(RecoverAddressesPass()); });
  const bool masks_are_cheap = machine.getMCSubtargetInfo()->checkFeatures("+avx512vl");
  passes.registerVectorizerStartEPCallback([=](llvm::FunctionPassManager& manager, llvm::OptimizationLevel) {
    manager.addPass(llvm::LoopSimplifyPass());
    manager.addPass(InterchangeLoopsPass());
    manager.addPass(RecoverAddressesPass());
    manager.addPass(TightenThreadLoopPass());
    manager.addPass(SetRareBranchesAsidePass());
    manager.addPass(llvm::LoopSimplifyPass());
    manager.addPass(SplitThreadLoopPass(masks_are_cheap));
    manager.addPass(llvm::LoopSimplifyPass());
    manager.addPass(WidenThreadLoopPass());
    manager.addPass(llvm::SimplifyCFGPass());
  });
  passes.registerVectorizerEndEPCallback([](llvm::FunctionPassManager& manager, llvm::OptimizationLevel) {
    manager.addPass(BuildVectorsPass());
    manager.addPass(LoadElementsPass());
    manager.addPass(MaskLastTurnPass());
  });
  const auto each_seldom = [&](auto f) {
    for (llvm::Function& function : module) {
      if (SeldomRuns(function)) f(function);
    }
  };
  // Passes leave alone what is not to be optimised.
  each_seldom([](llvm::Function& function) { function.addFnAttr(llvm::Attribute::OptimizeNone); });
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
  each_seldom([](llvm::Function& function) { function.removeFnAttr(llvm::Attribute::OptimizeNone); });
  OptimizeLinearly(module, /*all=*/false);
}

}  // namespace

void HostCompiler::PutBack::operator()(llvm::TargetMachine* machine) const {
  SpareMachines& spare = SpareMachines::Get();
  std::lock_guard<std::mutex> lock(spare.mutex);
  spare.machines.emplace_back(machine);
}

absl::StatusOr<HostCompiler> HostCompiler::Get() {
  {
    SpareMachines& spare = SpareMachines::Get();
    std::lock_guard<std::mutex> lock(spare.mutex);
    if (!spare.machines.empty()) {
      Machine machine(spare.machines.back().release());
      spare.machines.pop_back();
      return HostCompiler(std::move(machine));
    }
  }
  SLIPWAY_ASSIGN_OR_RETURN(llvm::orc::JITTargetMachineBuilder builder, Host());
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine = builder.createTargetMachine();
  if (!machine) return Bug("LLVM has no target machine for this host", machine.takeError());
  return HostCompiler(Machine(machine->release()));
}

const std::string& HostCompiler::Description() {
  static const std::string& description = *[] {
    absl::StatusOr<llvm::orc::JITTargetMachineBuilder> host = Host();
    auto* const text = new std::string("slipway cpu device, LLVM " LLVM_VERSION_STRING);
    if (!host.ok()) return text;
    // The features are some hundred names.
    const std::string features = host->getFeatures().getString();
    const llvm::XXH128_hash_t hash =
        llvm::xxh3_128bits(llvm::ArrayRef<uint8_t>(reinterpret_cast<const uint8_t*>(features.data()), features.size()));
    *text += ptx::Concat(", ", host->getTargetTriple().str(), ", ", host->getCPU(), ", ", hash.high64, "-", hash.low64);
    return text;
  }();
  return description;
}

void HostCompiler::Prepare(llvm::Module& module) const {
  module.setDataLayout(machine_->createDataLayout());
  module.setTargetTriple(machine_->getTargetTriple());
}

absl::StatusOr<std::string> HostCompiler::Compile(llvm::Module& module) {
  std::string problems;
  llvm::raw_string_ostream problem_stream(problems);
  if (llvm::verifyModule(module, &problem_stream)) return Bug("the translated IR is broken", problems);
  const bool linear = EffortFor(module) == Effort::kLinear;
  if (linear) {
    OptimizeLinearly(module, /*all=*/true);
  } else {
    Optimize(module, *machine_);
  }
  PutScalarExtremesRight(module);
  machine_->setOptLevel(linear ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default);
  machine_->setFastISel(linear);

  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream object_stream(object);
  llvm::legacy::PassManager emit;
  if (machine_->addPassesToEmitFile(emit, object_stream, nullptr, llvm::CodeGenFileType::ObjectFile)) {
    return Bug("LLVM cannot emit objects", "addPassesToEmitFile");
  }
  emit.run(module);
  return std::string(object.data(), object.size());
}

}  // namespace slipway::cpu
