#include "jit/target.h"

#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "driver/as_absl.h"
#include "driver/status_macros.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Triple.h"

extern "C" {
// LLVM's InitializeAllTargets() would demand every back end; these three are all we link.
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace slipway {
namespace {

// Architectures and the first PTX ISA that has each (PTX ISA 9.0, "Release Notes", table of PTX releases).
struct Architecture {
  int sm;
  int min_isa;
};
constexpr Architecture kArchitectures[] = {{75, 63}, {80, 70},  {86, 71},  {87, 74},  {88, 90},  {89, 78},
                                           {90, 78}, {100, 86}, {103, 88}, {110, 90}, {120, 87}, {121, 88}};

// The newest PTX ISA that each driver takes, by the CUDA version it reports (PTX ISA 9.0, "Release Notes").
struct DriverIsa {
  int driver_version;
  int isa;
};
constexpr DriverIsa kDriverIsas[] = {{10000, 63}, {10010, 64}, {10020, 65}, {11000, 70}, {11010, 71}, {11020, 72},
                                     {11030, 73}, {11040, 74}, {11050, 75}, {11060, 76}, {11070, 77}, {11080, 78},
                                     {12000, 80}, {12010, 81}, {12020, 82}, {12030, 83}, {12040, 84}, {12050, 85},
                                     {12070, 86}, {12080, 87}, {12090, 88}, {13000, 90}};

constexpr int kNewestIsa = 90;  // Of LLVM 22.

std::string IsaName(int isa) { return absl::StrFormat("%d.%d", isa / 10, isa % 10); }

std::string CudaName(int version) { return absl::StrFormat("%d.%d", version / 1000, version % 1000 / 10); }

const Architecture* FindArchitecture(int sm) {
  for (const Architecture& row : kArchitectures) {
    if (row.sm == sm) return &row;
  }
  return nullptr;
}

// The first driver that takes `isa`.
int DriverFor(int isa) {
  for (const DriverIsa& row : kDriverIsas) {
    if (row.isa >= isa) return row.driver_version;
  }
  return std::end(kDriverIsas)[-1].driver_version;
}

}  // namespace

absl::StatusOr<Target> TargetFor(int compute_capability_times_10, int driver_version) {
  const Architecture* architecture = nullptr;
  for (const Architecture& row : kArchitectures) {
    // PTX for an older architecture runs on every newer one, so a GPU from the future gets the newest that we know.
    if (row.sm <= compute_capability_times_10) architecture = &row;
  }
  if (architecture == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("the device has compute capability ",
                                                      IsaName(compute_capability_times_10),
                                                      "; Slipway makes code for 7.5 (Turing) and newer"));
  }
  int isa = 0;
  for (const DriverIsa& row : kDriverIsas) {
    if (row.driver_version <= driver_version) isa = row.isa;
  }
  if (isa < architecture->min_isa) {
    return absl::FailedPreconditionError(
        absl::StrCat("the driver is of CUDA ", CudaName(driver_version),
                     isa == 0 ? std::string(" and takes no PTX that Slipway makes")
                              : absl::StrCat(" and takes PTX up to ISA ", IsaName(isa)),
                     "; sm_", architecture->sm, " needs PTX ISA ", IsaName(architecture->min_isa),
                     ": install a driver of CUDA ", CudaName(DriverFor(architecture->min_isa)), " or newer"));
  }
  return Target{.sm = architecture->sm, .ptx_isa = isa};
}

absl::StatusOr<Target> TargetFor(const Device& device) {
  const DeviceProperties& properties = device.properties();
  return TargetFor(properties.compute_major * 10 + properties.compute_minor, properties.driver_version);
}

absl::Status CheckTarget(const Target& target) {
  const Architecture* architecture = FindArchitecture(target.sm);
  if (architecture == nullptr) {
    std::string known;
    for (const Architecture& row : kArchitectures) absl::StrAppend(&known, known.empty() ? "sm_" : ", sm_", row.sm);
    return absl::InvalidArgumentError(absl::StrCat("unknown target sm_", target.sm, "; known are ", known));
  }
  bool known_isa = false;
  for (const DriverIsa& row : kDriverIsas) known_isa |= row.isa == target.ptx_isa;
  if (!known_isa || target.ptx_isa < architecture->min_isa) {
    return absl::InvalidArgumentError(absl::StrCat("PTX ISA ", IsaName(target.ptx_isa), " was asked for; sm_",
                                                   target.sm, " takes ", IsaName(architecture->min_isa), " to ",
                                                   IsaName(kNewestIsa)));
  }
  return absl::OkStatus();
}

absl::StatusOr<Target> ParseTarget(std::string_view text) {
  const auto unreadable = [&] {
    return absl::InvalidArgumentError(absl::StrCat("target '", AsAbsl(text.substr(0, 64)),
                                                   "' is not understood; write an architecture, as in sm_90, or one "
                                                   "with a version of the PTX ISA, as in sm_90:8.3"));
  };
  const std::vector<absl::string_view> parts = absl::StrSplit(AsAbsl(text), ':');
  Target target;
  absl::string_view name = parts[0];
  if (parts.size() > 2 || !absl::ConsumePrefix(&name, "sm_") || !absl::SimpleAtoi(name, &target.sm)) {
    return unreadable();
  }
  if (const Architecture* architecture = FindArchitecture(target.sm)) target.ptx_isa = architecture->min_isa;
  if (parts.size() == 2) {
    const std::vector<absl::string_view> numbers = absl::StrSplit(parts[1], '.');
    int major = 0, minor = 0;
    if (numbers.size() != 2 || !absl::SimpleAtoi(numbers[0], &major) || !absl::SimpleAtoi(numbers[1], &minor) ||
        major < 0 || major > 99 || minor < 0 || minor > 9) {
      return unreadable();
    }
    target.ptx_isa = major * 10 + minor;
  }
  SLIPWAY_RETURN_IF_ERROR(CheckTarget(target));
  return target;
}

absl::StatusOr<std::vector<Target>> ParseTargets(std::string_view text) {
  std::vector<Target> targets;
  for (const absl::string_view one : absl::StrSplit(AsAbsl(text), ',')) {
    SLIPWAY_ASSIGN_OR_RETURN(const Target target, ParseTarget({absl::StripAsciiWhitespace(one).data(),
                                                               absl::StripAsciiWhitespace(one).size()}));
    for (const Target& other : targets) {
      if (other.sm != target.sm) continue;
      return absl::InvalidArgumentError(absl::StrCat("targets '", AsAbsl(text.substr(0, 64)), "' name sm_", target.sm,
                                                     " twice; give each architecture once"));
    }
    targets.push_back(target);
  }
  return targets;
}

std::string ToString(const Target& target) { return absl::StrCat("sm_", target.sm, ":", IsaName(target.ptx_isa)); }

uint32_t MaxParameterBytes(const Target& target) {
  // PTX ISA 8.1 raised the limit for sm_70 and newer.
  return target.ptx_isa >= 81 ? 32764 : 4096;
}

namespace {

struct MachinePool {
  std::mutex mutex;
  // By architecture, PTX ISA and level of optimisation.
  std::map<std::tuple<int, int, int>, std::vector<std::unique_ptr<llvm::TargetMachine>>> idle;
};

MachinePool& Pool() {
  // Never destroyed: a detached thread may still compile while the process exits.
  static MachinePool& pool = *new MachinePool;
  return pool;
}

std::unique_ptr<llvm::TargetMachine> MakeMachine(const Target& target, int opt_level) {
  static const llvm::Target* nvptx = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    std::string error;
    return llvm::TargetRegistry::lookupTarget(llvm::Triple("nvptx64-nvidia-cuda"), error);
  }();
  if (nvptx == nullptr) return nullptr;
  llvm::TargetOptions options;
  // Contraction is done in IR (jit/fma.cc). Anything but Fast makes the back end write .rn on what it emits, which
  // forbids ptxas to contract further.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  // The back end knows nothing better than its default.
  constexpr llvm::CodeGenOptLevel kLevels[] = {llvm::CodeGenOptLevel::None, llvm::CodeGenOptLevel::Less,
                                               llvm::CodeGenOptLevel::Default, llvm::CodeGenOptLevel::Default};
  return std::unique_ptr<llvm::TargetMachine>(nvptx->createTargetMachine(
      llvm::Triple("nvptx64-nvidia-cuda"), absl::StrCat("sm_", target.sm), absl::StrCat("+ptx", target.ptx_isa),
      options, llvm::Reloc::Static, std::nullopt, kLevels[opt_level]));
}

}  // namespace

absl::StatusOr<TargetMachineLease> TargetMachineLease::Take(const Target& target, int opt_level) {
  MachinePool& pool = Pool();
  {
    std::lock_guard<std::mutex> lock(pool.mutex);
    auto& idle = pool.idle[{target.sm, target.ptx_isa, opt_level}];
    if (!idle.empty()) {
      TargetMachineLease lease(target, opt_level, std::move(idle.back()));
      idle.pop_back();
      return lease;
    }
  }
  std::unique_ptr<llvm::TargetMachine> machine = MakeMachine(target, opt_level);
  if (machine == nullptr) {
    return absl::InternalError("LLVM has no NVPTX back end; Slipway needs an LLVM built with it, as Debian's is");
  }
  return TargetMachineLease(target, opt_level, std::move(machine));
}

TargetMachineLease::TargetMachineLease(const Target& target, int opt_level,
                                       std::unique_ptr<llvm::TargetMachine> machine)
    : target_(target), opt_level_(opt_level), machine_(std::move(machine)) {}
TargetMachineLease::TargetMachineLease(TargetMachineLease&&) noexcept = default;

TargetMachineLease::~TargetMachineLease() {
  if (machine_ == nullptr) return;
  MachinePool& pool = Pool();
  std::lock_guard<std::mutex> lock(pool.mutex);
  pool.idle[{target_.sm, target_.ptx_isa, opt_level_}].push_back(std::move(machine_));
}

}  // namespace slipway
