#include "driver/cpu/translate/host_code.h"

#include "driver/cpu/memory_check.h"
#include "driver/cpu/translate/build_vectors.h"
#include "driver/cpu/translate/frame.h"
#include "driver/cpu/translate/instruction_functions.h"
#include "driver/cpu/translate/interchange_loops.h"
#include "driver/cpu/translate/recover_addresses.h"
#include "driver/cpu/translate/rounding.h"
#include "driver/cpu/translate/split_thread_loop.h"
#include "driver/cpu/translate/system_calls.h"
#include "driver/cpu/translate/tighten_thread_loop.h"
#include "driver/cpu/warp.h"
#include "driver/status_macros.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/RTDyldObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/SectionMemoryManager.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
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
    return new Found(*std::move(builder));
  }();
  return *host;
}

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine() {
  SLIPWAY_ASSIGN_OR_RETURN(llvm::orc::JITTargetMachineBuilder builder, Host());
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine = builder.createTargetMachine();
  if (!machine) return Bug("LLVM has no target machine for this host", machine.takeError());
  return std::move(*machine);
}

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
  passes.registerVectorizerStartEPCallback([](llvm::FunctionPassManager& manager, llvm::OptimizationLevel) {
    manager.addPass(llvm::LoopSimplifyPass());
    manager.addPass(InterchangeLoopsPass());
    manager.addPass(RecoverAddressesPass());
    manager.addPass(TightenThreadLoopPass());
    manager.addPass(SplitThreadLoopPass());
    manager.addPass(llvm::SimplifyCFGPass());
  });
  passes.registerVectorizerEndEPCallback(
      [](llvm::FunctionPassManager& manager, llvm::OptimizationLevel) { manager.addPass(BuildVectorsPass()); });
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

// Notes where code goes.
class RecordingMemoryManager : public llvm::SectionMemoryManager {
 public:
  explicit RecordingMemoryManager(std::vector<std::pair<uintptr_t, size_t>>* sections) : sections_(sections) {}

  uint8_t* allocateCodeSection(uintptr_t size, unsigned alignment, unsigned id, llvm::StringRef name) override {
    uint8_t* const section = SectionMemoryManager::allocateCodeSection(size, alignment, id, name);
    if (section != nullptr) sections_->emplace_back(reinterpret_cast<uintptr_t>(section), size);
    return section;
  }

 private:
  std::vector<std::pair<uintptr_t, size_t>>* sections_;
};

}  // namespace

struct HostCode::Session {
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

HostCode::HostCode() : session_(std::make_unique<Session>()) {}
HostCode::~HostCode() = default;

absl::Status HostCode::Prepare(llvm::Module& module) {
  SLIPWAY_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, MakeTargetMachine());
  module.setDataLayout(machine->createDataLayout());
  module.setTargetTriple(machine->getTargetTriple());
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<HostCode>> HostCode::Compile(llvm::Module& module) {
  std::string problems;
  llvm::raw_string_ostream problem_stream(problems);
  if (llvm::verifyModule(module, &problem_stream)) return Bug("the translated IR is broken", problems);
  SLIPWAY_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, MakeTargetMachine());
  if (EffortFor(module) == Effort::kFull) {
    Optimize(module, *machine);
  } else {
    OptimizeLinearly(module, /*all=*/true);
    machine->setOptLevel(llvm::CodeGenOptLevel::None);
    machine->setFastISel(true);
  }

  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream object_stream(object);
  llvm::legacy::PassManager emit;
  if (machine->addPassesToEmitFile(emit, object_stream, nullptr, llvm::CodeGenFileType::ObjectFile)) {
    return Bug("LLVM cannot emit objects", "addPassesToEmitFile");
  }
  emit.run(module);

  SLIPWAY_ASSIGN_OR_RETURN(llvm::orc::JITTargetMachineBuilder host, Host());
  std::unique_ptr<HostCode> code(new HostCode);
  auto* const sections = &code->sections_;
  llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> jit =
      llvm::orc::LLJITBuilder()
          .setNumCompileThreads(0)
          .setJITTargetMachineBuilder(host)
          .setObjectLinkingLayerCreator([sections](llvm::orc::ExecutionSession& session)
                                            -> llvm::Expected<std::unique_ptr<llvm::orc::ObjectLayer>> {
            return std::make_unique<llvm::orc::RTDyldObjectLinkingLayer>(
                session,
                [sections](const llvm::MemoryBuffer&) { return std::make_unique<RecordingMemoryManager>(sections); });
          })
          .create();
  if (!jit) return Bug("LLVM's JIT does not start", jit.takeError());
  llvm::orc::SymbolMap runtime;
  const auto export_to_code = [&](std::string_view name, void* address) {
    runtime[(*jit)->mangleAndIntern(llvm::StringRef(name.data(), name.size()))] = {
        llvm::orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
  };
  for (const auto& functions : {RuntimeFunctions(), SystemFunctions(), InstructionFunctions(), CheckFunctions()}) {
    for (const auto& [name, address] : functions) export_to_code(name, address);
  }
  export_to_code("slipway_cpu_run_warps", reinterpret_cast<void*>(&slipway_cpu_run_warps));
  if (llvm::Error error = (*jit)->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(runtime)))) {
    return Bug("symbols", std::move(error));
  }
  if (llvm::Error error =
          (*jit)->addObjectFile(std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(object), "kernels"))) {
    return Bug("linking", std::move(error));
  }
  code->session_->jit = std::move(*jit);
  return code;
}

absl::StatusOr<void*> HostCode::Find(const std::string& symbol) const {
  llvm::Expected<llvm::orc::ExecutorAddr> address = session_->jit->lookup(symbol);
  if (!address) return Bug("translated code cannot be linked", address.takeError());
  return address->toPtr<void*>();
}

}  // namespace slipway::cpu
