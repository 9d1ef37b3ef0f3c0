// Modifiers that an instruction's type does not allow: `add.ftz.s32`, `min.NaN.f64`. Emitters take what they know of
// and do not ask whether it goes together; ptxas, and so a driver, does.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_MODIFIERS_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_MODIFIERS_H_

#include <string_view>

#include "driver/cpu/ptx/module.h"

namespace slipway::cpu {

// The first modifier of arithmetic, a comparison or a conversion that has no place there; empty if there is none.
std::string_view MisplacedModifier(const ptx::Instruction& instruction);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_MODIFIERS_H_
