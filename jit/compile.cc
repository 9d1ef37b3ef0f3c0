#include "jit/compile.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "driver/profilers.h"
#include "driver/status_macros.h"
#include "jit/compile_observer.h"
#include "jit/emit_ptx.h"
#include "jit/library.h"
#include "jit/lower.h"
#include "jit/math_library.h"
#include "jit/passes.h"
#include "jit/target.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "slipway/hooks.h"

namespace slipway {
namespace {

bool IsHalf(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

// Whether there are groups of 16-bit floats, and operators on such.
bool PacksHalves(const ir::Kernel& kernel) {
  bool groups = false, operators = false;
  for (const ir::Inst& inst : kernel.insts) {
    const bool group = inst.op == ir::Op::kLoadGroup || inst.op == ir::Op::kStoreGroup;
    groups |= group && IsHalf(kernel.ArrayOf(static_cast<ir::ArrayId>(inst.imm)).dtype);
    operators |= ir::IsOperator(inst.op) && IsHalf(inst.type);
  }
  return groups && operators;
}

// Keeps the errors that LLVM reports. Its own handler prints to stderr and ends the process.
class Diagnostics : public llvm::DiagnosticHandler {
 public:
  explicit Diagnostics(std::string* errors) : errors_(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream stream(*errors_);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      if (!errors_->empty()) stream << "; ";
      info.print(printer);
    }
    return true;  // Handled: remarks and warnings are of no use to anybody here.
  }

 private:
  std::string* errors_;
};

// Adds the time since the last call, or since it was made, to a list of stages.
class Stopwatch {
 public:
  explicit Stopwatch(std::vector<std::pair<std::string, double>>& times) : times_(times) {}
  void Lap(const char* stage) {
    const Clock::time_point now = Clock::now();
    times_.emplace_back(stage, std::chrono::duration<double, std::micro>(now - last_).count());
    last_ = now;
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::vector<std::pair<std::string, double>>& times_;
  Clock::time_point last_ = Clock::now();
};

absl::Status CheckParameterSpace(const ir::Kernel& kernel, const Target& target) {
  uint32_t used = LayOut(kernel.params).size;
  if (!kernel.checks.empty()) used = (used + 7) / 8 * 8 + 2 * sizeof(uint64_t);  // See CompiledKernel::checks.
  const uint32_t allowed = MaxParameterBytes(target);
  if (used <= allowed) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("kernel '", kernel.name, "' has ", kernel.params.size(), " parameters of ", used, " bytes; ",
                   allowed, " bytes are allowed", allowed < 32764 ? " (32764 with a driver of CUDA 12.1 or newer)" : "",
                   ": pass fewer arrays, arrays of lower rank, or contiguous ones, whose strides are not passed"));
}

absl::Status CheckName(const ir::Kernel& kernel) {
  // Names of the math libraries' functions, which share the module.
  if (!absl::StartsWith(kernel.name, "__nv") && !absl::StartsWith(kernel.name, "_Z")) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("kernel name '", kernel.name, "' is reserved: names must not start with __nv or _Z"));
}

absl::StatusOr<CompiledKernel> CompileUnseen(const ir::Kernel& kernel, const Target& target,
                                             const CompileOptions& given) {
  SLIPWAY_RETURN_IF_ERROR(CheckTarget(target));
  SLIPWAY_RETURN_IF_ERROR(CheckOptions(given));
  SLIPWAY_RETURN_IF_ERROR(ir::Verify(kernel));
  SLIPWAY_RETURN_IF_ERROR(CheckName(kernel));
  SLIPWAY_RETURN_IF_ERROR(CheckParameterSpace(kernel, target));

  CompileOptions options = given;
  options.math = ResolveMathLibrary(given.math);
  auto inspection = std::make_shared<Inspection>();
  inspection->ir = ir::Print(kernel);
  Stopwatch stopwatch(inspection->times);

  SLIPWAY_ASSIGN_OR_RETURN(TargetMachineLease machine, TargetMachineLease::Take(target, options.opt_level));
  std::string errors;
  // A context of its own for each compile: types and constants that pile up in a shared one are never freed.
  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<Diagnostics>(&errors));
  llvm::Module module(kernel.name, context);
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());

  SLIPWAY_ASSIGN_OR_RETURN(Lowered lowered, LowerToLlvm(kernel, target, options, module));
  stopwatch.Lap("lower");
  if (!kernel.libraries.empty()) {
    std::vector<std::string> libdevice;
    SLIPWAY_RETURN_IF_ERROR(LinkBitcode(kernel, target, module, &libdevice));
    // What clang makes of CUDA calls libdevice, whatever the kernel itself calls.
    if (options.math == MathLibrary::kLibdevice) {
      lowered.math_symbols = std::move(libdevice);
    } else if (!libdevice.empty()) {
      CompileOptions with_libdevice = options;
      with_libdevice.math = MathLibrary::kLibdevice;
      SLIPWAY_RETURN_IF_ERROR(LinkMath(with_libdevice, libdevice, target, module));
    }
    stopwatch.Lap("link libraries");
  }
  if (!lowered.math_symbols.empty()) {
    SLIPWAY_RETURN_IF_ERROR(LinkMath(options, lowered.math_symbols, target, module));
    inspection->math_library = Name(options.math);
    stopwatch.Lap("link math");
  }
  const KernelShape shape = {.has_loops = lowered.has_loops,
                             .unrolls = lowered.unrolls,
                             .has_calls = !lowered.math_symbols.empty() || !kernel.libraries.empty(),
                             .has_neighbours = lowered.has_neighbours,
                             .has_vectors = lowered.has_vectors,
                             .packs_halves = PacksHalves(kernel)};
  Optimize(module, *machine, shape, options);
  stopwatch.Lap("optimize");
  if (options.keep_llvm) {
    llvm::raw_string_ostream stream(inspection->llvm);
    module.print(stream, nullptr);
    stopwatch.Lap("print LLVM IR");
  }
  SLIPWAY_RETURN_IF_ERROR(EmitPtx(module, *machine, &inspection->ptx));
  stopwatch.Lap("generate PTX");
  if (!errors.empty()) {
    std::string bitcode;
    for (const auto& part : kernel.libraries) {
      if (!part->bitcode().empty()) absl::StrAppend(&bitcode, bitcode.empty() ? "" : ", ", part->name());
    }
    if (!bitcode.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("kernel '", kernel.name, "': LLVM cannot make PTX of it with ", bitcode, ": ", errors));
    }
    return absl::InternalError(absl::StrCat("kernel '", kernel.name, "': LLVM could not generate code: ", errors,
                                            "; this is a bug in Slipway, please report it with the kernel's IR:\n",
                                            inspection->ir));
  }
  if (!kernel.externals.empty()) {
    SLIPWAY_ASSIGN_OR_RETURN(inspection->ptx, JoinLibraries(kernel, target, std::move(inspection->ptx)));
    stopwatch.Lap("join libraries");
  }
  return WithCode(kernel, std::move(inspection));
}

}  // namespace

CompiledKernel WithCode(const ir::Kernel& kernel, std::shared_ptr<const Inspection> inspection) {
  CompiledKernel compiled = {.name = kernel.name, .signature = kernel.params, .inspection = std::move(inspection)};
  compiled.syncs_grid = std::any_of(kernel.insts.begin(), kernel.insts.end(),
                                    [](const ir::Inst& inst) { return inst.op == ir::Op::kGridSync; });
  if (!kernel.captured.empty()) compiled.signature.pop_back();
  compiled.captured = kernel.captured;
  compiled.checks = kernel.checks;
  return compiled;
}

absl::StatusOr<CompiledKernel> Compile(const ir::Kernel& kernel, const Target& target, const CompileOptions& options) {
  StartProfilersFromEnvironment();
  HookEvent event = {.point = HookPoint::kBeforeCompile, .name = kernel.name};
  const bool hooked = internal::Hooked(HookPoint::kBeforeCompile | HookPoint::kAfterCompile);
  if (hooked) {
    event.id = internal::NewHookId();
    internal::RunHooks(event);
  }
  absl::StatusOr<CompiledKernel> result = CompileUnseen(kernel, target, options);
  if (hooked) {
    event.point = HookPoint::kAfterCompile;
    const absl::Status status = result.status();
    event.status = &status;
    if (result.ok()) {
      event.code = result->inspection->ptx;
      event.times = result->inspection->times;
    }
    internal::RunHooks(event);
  }
  if (!result.ok()) return result;
  if (const CompileObserver observe = compile_observer.load(std::memory_order_acquire)) {
    observe(kernel, target, options, *result);
  }
  return result;
}

}  // namespace slipway
