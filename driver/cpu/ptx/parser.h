// PTX text to a ptx::Module.
#ifndef SLIPWAY_DRIVER_CPU_PTX_PARSER_H_
#define SLIPWAY_DRIVER_CPU_PTX_PARSER_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "driver/cpu/ptx/module.h"

namespace slipway::ptx {

// Parses a whole module (PTX ISA, chapters 4, 5 and 11; debug sections are skipped). Instructions are taken as they
// stand: whether one exists is for the translator to say. INVALID_ARGUMENT, "line 7: ...", for text that is not PTX;
// UNIMPLEMENTED for directives that are but that the CPU device lacks. Nesting and sizes are bounded, so text from
// outside can do no harm.
absl::StatusOr<std::unique_ptr<Module>> Parse(std::string_view text);

}  // namespace slipway::ptx

#endif  // SLIPWAY_DRIVER_CPU_PTX_PARSER_H_
