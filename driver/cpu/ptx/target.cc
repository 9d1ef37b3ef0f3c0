#include "driver/cpu/ptx/target.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "driver/ptx/message.h"

namespace slipway::ptx {
namespace {

// From which PTX ISA on (* 10) each form of a target is there; 0: never. PTX ISA, "Release Notes" (PTX release
// history); from sm_30 on compared with ptxas 13.0, which calls sm_101 sm_110.
struct Target {
  int sm;
  int plain;
  int arch_specific;    // sm_NNa
  int family_specific;  // sm_NNf
  int family;           // The first of those that sm_NNf runs on.
};
constexpr Target kTargets[] = {
    {10, 10, 0, 0, 10},     {11, 10, 0, 0, 11},     {12, 12, 0, 0, 12},     {13, 12, 0, 0, 13},
    {20, 20, 0, 0, 20},     {30, 30, 0, 0, 30},     {32, 40, 0, 0, 32},     {35, 31, 0, 0, 35},
    {37, 41, 0, 0, 37},     {50, 40, 0, 0, 50},     {52, 41, 0, 0, 52},     {53, 42, 0, 0, 53},
    {60, 50, 0, 0, 60},     {61, 50, 0, 0, 61},     {62, 50, 0, 0, 62},     {70, 60, 0, 0, 70},
    {72, 61, 0, 0, 72},     {75, 63, 0, 0, 75},     {80, 70, 0, 0, 80},     {86, 71, 0, 0, 86},
    {87, 74, 0, 0, 87},     {88, 73, 0, 0, 88},     {89, 78, 0, 0, 89},     {90, 78, 80, 0, 90},
    {100, 86, 86, 88, 100}, {101, 86, 86, 88, 101}, {103, 88, 88, 88, 100}, {110, 90, 90, 90, 110},
    {120, 87, 87, 88, 120}, {121, 88, 88, 88, 120},
};

const Target* Find(int sm) {
  const Target* const found =
      std::find_if(std::begin(kTargets), std::end(kTargets), [sm](const Target& target) { return target.sm == sm; });
  return found == std::end(kTargets) ? nullptr : found;
}

absl::Status DoesNotRun(const Module& module, int sm, std::string_view why) {
  return absl::FailedPreconditionError(
      Concat(".target ", module.target, why, " (sm_", sm, "); compile for that or an older target"));
}

}  // namespace

absl::Status CheckTarget(const Module& module, int sm) {
  const Target* const target = Find(module.sm);
  const char form = module.target.back();
  if (target != nullptr) {
    const int since = form == 'a' ? target->arch_specific : form == 'f' ? target->family_specific : target->plain;
    if (since == 0) return absl::InvalidArgumentError(Concat("there is no .target ", module.target));
    if (module.version < since) {
      return absl::InvalidArgumentError(Concat(".target ", module.target, " is not in PTX ISA ", module.version / 10,
                                               ".", module.version % 10, "; write .version ", since / 10, ".",
                                               since % 10, " or newer"));
    }
  } else if (module.sm < sm) {
    return absl::InvalidArgumentError(Concat("there is no .target ", module.target));
  }
  if (module.sm > sm) return DoesNotRun(module, sm, " is newer than this device");
  if (form == 'a' && module.sm != sm) return DoesNotRun(module, sm, " runs on that device alone, and not on this one");
  if (form == 'f') {
    const Target* const device = Find(sm);
    if (device == nullptr || device->family != target->family) {
      return DoesNotRun(module, sm, " runs on devices of its family alone, and not on this one");
    }
  }
  return absl::OkStatus();
}

}  // namespace slipway::ptx
