// PTX special registers (PTX ISA, chapter 10).
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_SPECIAL_REGISTERS_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_SPECIAL_REGISTERS_H_

#include <string_view>

#include "driver/cpu/translate/emitter.h"

namespace slipway::cpu {

// The value of a special register, i32 or i64; fails (and gives null) if the CPU device has none of that name.
Value* SpecialRegister(Emitter& e, std::string_view name);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_SPECIAL_REGISTERS_H_
