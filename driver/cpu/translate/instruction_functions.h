// The host's functions behind single instructions that are no few operations of a processor.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_INSTRUCTION_FUNCTIONS_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_INSTRUCTION_FUNCTIONS_H_

#include <string_view>
#include <utility>

#include "absl/types/span.h"

namespace slipway::cpu {

// (symbol, address)
absl::Span<const std::pair<std::string_view, void*>> InstructionFunctions();

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_INSTRUCTION_FUNCTIONS_H_
