// Floating-point formats of 8 bits and fewer, which only cvt knows (PTX ISA 5.2.3, alternate formats; OCP Microscaling
// Formats (MX) Specification v1.0, section 5).
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_NARROW_FLOATS_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_NARROW_FLOATS_H_

#include <cstdint>

#include "driver/cpu/translate/emitter.h"

namespace slipway::cpu {

// If the instruction is a cvt to or from such a format, emits it (or fails) and returns true.
bool EmitNarrowConversion(Emitter& e);

// The host's functions behind that. `format` is an index into the formats: e4m3, e5m2, e2m3, e3m2, e2m1.
// To nearest even, what is too large to the largest finite number, with `relu` what is negative to 0.
uint32_t EncodeNarrowFloat(float value, uint32_t format, bool relu);
// The bits of an f16 of the same value.
uint32_t DecodeNarrowFloat(uint32_t code, uint32_t format, bool relu);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_NARROW_FLOATS_H_
