// PTX text to a CompiledModule: the compiler half of Program::Load.
#ifndef SLIPWAY_DRIVER_CPU_COMPILE_H_
#define SLIPWAY_DRIVER_CPU_COMPILE_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "driver/cpu/compiled_module.h"
#include "driver/cpu/program.h"

namespace slipway::cpu {

// Parses, translates, optimises and emits. Fails as Program::Load does. Thread-safe.
absl::StatusOr<CompiledModule> Compile(std::string_view ptx, const ProgramOptions& options);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_COMPILE_H_
