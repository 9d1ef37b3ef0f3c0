// Instructions that exist and that the CPU device does not have, with the reason.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_REFUSED_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_REFUSED_H_

#include <string_view>

#include "driver/cpu/ptx/module.h"

namespace slipway::cpu {

// Empty for an instruction of no family that is refused as such.
std::string_view WhyRefused(const ptx::Instruction& instruction);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_REFUSED_H_
