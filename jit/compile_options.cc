#include "slipway/compile_options.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "driver/as_absl.h"
#include "jit/math_library.h"
#include "slipway/launch_bounds.h"

namespace slipway {
namespace {

struct FastFlag {
  const char* name;
  bool FastMath::*flag;
};
constexpr FastFlag kFastFlags[] = {
    {"division", &FastMath::division},          {"sqrt", &FastMath::sqrt},
    {"functions", &FastMath::functions},        {"flush_subnormals", &FastMath::flush_subnormals},
    {"reassociate", &FastMath::reassociate},    {"no_nans", &FastMath::no_nans},
    {"no_infinities", &FastMath::no_infinities}};
static_assert(sizeof(FastMath) == sizeof(kFastFlags) / sizeof(FastFlag), "every flag is a part of cache keys");

}  // namespace

absl::Status CheckOptions(const CompileOptions& options) {
  if (options.opt_level < 0 || options.opt_level > 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("CompileOptions::opt_level is ", options.opt_level, "; 0, 1, 2 or 3 is wanted"));
  }
  if (options.math < MathLibrary::kAuto || options.math > MathLibrary::kLibclc) {
    return absl::InvalidArgumentError(absl::StrCat("CompileOptions::math is library #", static_cast<int>(options.math),
                                                   "; kAuto, kLibdevice or kLibclc is wanted"));
  }
  const uint32_t registers = options.max_registers;
  if (registers != 0 && (registers < kFewestRegisters || registers > kMostRegisters)) {
    return absl::InvalidArgumentError(absl::StrCat("CompileOptions::max_registers is ", registers, "; ",
                                                   kFewestRegisters, " to ", kMostRegisters,
                                                   " are possible, and 0 leaves it to the driver"));
  }
  return absl::OkStatus();
}

absl::StatusOr<FastMath> ParseFastMath(std::string_view names) {
  if (names == "all") return FastMath::All();
  FastMath flags;
  for (const absl::string_view name : absl::StrSplit(AsAbsl(names), ',', absl::SkipEmpty())) {
    const FastFlag* found = nullptr;
    std::string known;
    for (const FastFlag& row : kFastFlags) {
      if (name == row.name) found = &row;
      absl::StrAppend(&known, row.name, ", ");
    }
    if (found == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("fast_math has no flag '", name, "'; it has ", known, "and all"));
    }
    flags.*found->flag = true;
  }
  return flags;
}

std::string ToString(const CompileOptions& options) {
  std::string text = absl::StrCat("opt", options.opt_level);
  if (options.math != MathLibrary::kAuto) absl::StrAppend(&text, " ", Name(options.math));
  if (!options.contract) text += " nocontract";
  const char* before = " fast:";
  for (const FastFlag& row : kFastFlags) {
    if (!(options.fast_math.*row.flag)) continue;
    absl::StrAppend(&text, before, row.name);
    before = ",";
  }
  if (options.max_registers != 0) absl::StrAppend(&text, " regs", options.max_registers);
  if (options.line_info) text += " lines";
  return text;
}

}  // namespace slipway
