#include "driver/nvtx.h"

#include <dlfcn.h>

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "driver/nvtx_abi.h"
#include "driver/status_macros.h"
#include "slipway/hooks.h"

namespace slipway {
namespace {

using nvtx::kMaxModuleSize;
constexpr int kModules = std::size(nvtx::kModuleSizes);

// Where a library puts its functions. Every slot of every module is there, since a library may fill all it knows.
struct Slots {
  nvtx::Function slots[kModules][kMaxModuleSize] = {};
  nvtx::Function* tables[kModules][kMaxModuleSize + 1] = {};

  Slots() {
    for (int module = 0; module < kModules; ++module) {
      for (unsigned i = 1; i < nvtx::kModuleSizes[module]; ++i) tables[module][i] = &slots[module][i];
    }
  }
  template <class Function>
  Function Core2(nvtx::Core2 entry) const {
    return reinterpret_cast<Function>(slots[nvtx::kCore2][entry]);
  }
};

// Of the library that is being started.
Slots* slots = nullptr;

int GetModuleFunctionTable(nvtx::Module module, nvtx::FunctionTable* table, unsigned* size) {
  if (module < nvtx::kCore || module >= kModules) return 0;
  if (table != nullptr) *table = slots->tables[module];
  if (size != nullptr) *size = nvtx::kModuleSizes[module];
  return 1;
}

const void* GetExportTable(uint32_t id) {
  static constexpr nvtx::Callbacks kCallbacks = {sizeof(kCallbacks), &GetModuleFunctionTable};
  static constexpr nvtx::VersionInfo kVersionInfo = {sizeof(kVersionInfo), nvtx::kVersion, 0, [](uint32_t) {}};
  switch (id) {
    case nvtx::kCallbacks:
      return &kCallbacks;
    case nvtx::kVersionInfo:
      return &kVersionInfo;
    default:
      return nullptr;
  }
}

const char* VerbOf(HookPoint point) {
  switch (point) {
    case HookPoint::kBeforeCompile:
      return "compile ";
    case HookPoint::kBeforeLoad:
      return "load ";
    default:
      return "launch ";
  }
}

constexpr HookPoint kBegins =
    HookPoint::kBeforeCompile | HookPoint::kBeforeLoad | HookPoint::kBeforeLaunch | HookPoint::kBeforeGraphLaunch;

}  // namespace

absl::Status StartNvtx(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return absl::NotFoundError(absl::StrCat("cannot load the NVTX library '", library, "': ", dlerror()));
  }
  // Not closed below: what a library has begun it cannot be asked to end.
  const auto initialize = reinterpret_cast<nvtx::Initialize>(dlsym(handle, nvtx::kInitializeName));
  if (initialize == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", library, "' is no NVTX injection library: it has no function ", nvtx::kInitializeName));
  }
  // Never destroyed: a library keeps the addresses, and may write there at any time.
  static auto* const all_slots = new std::deque<Slots>;
  slots = &all_slots->emplace_back();
  if (initialize(&GetExportTable) == 0) {
    return absl::UnavailableError(absl::StrCat("the NVTX library '", library, "' does not start"));
  }
  const auto create = slots->Core2<nvtx::DomainCreate>(nvtx::kDomainCreateA);
  const auto push = slots->Core2<nvtx::DomainRangePush>(nvtx::kDomainRangePushEx);
  const auto pop = slots->Core2<nvtx::DomainRangePop>(nvtx::kDomainRangePop);
  if (create == nullptr || push == nullptr || pop == nullptr) {
    return absl::UnimplementedError(absl::StrCat("the NVTX library '", library, "' has no ranges in domains"));
  }
  const nvtx::Domain domain = create("slipway");
  SLIPWAY_ASSIGN_OR_RETURN(HookRegistration hook, AddHook(kAllHookPoints, [=](const HookEvent& event) {
                             if (!Includes(kBegins, event.point)) {
                               pop(domain);
                               return;
                             }
                             const std::string name = absl::StrCat(VerbOf(event.point), AsAbsl(event.name));
                             const nvtx::EventAttributes attributes = {.version = nvtx::kVersion,
                                                                       .size = sizeof(nvtx::EventAttributes),
                                                                       .message_type = nvtx::kMessageAscii,
                                                                       .message = name.c_str()};
                             push(domain, &attributes);
                           }));
  // For as long as the process lives, where leak checkers see it.
  static auto* const kept = new std::vector<HookRegistration>;
  kept->push_back(std::move(hook));
  return absl::OkStatus();
}

}  // namespace slipway
