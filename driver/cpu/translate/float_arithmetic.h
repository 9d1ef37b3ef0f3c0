// IEEE arithmetic of every PTX float type, rounding and modifier.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_FLOAT_ARITHMETIC_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_FLOAT_ARITHMETIC_H_

#include <vector>

#include "driver/cpu/translate/emitter.h"
#include "driver/cpu/translate/rounding.h"

namespace slipway::cpu {

enum class FloatOp : uint8_t { kAdd, kSub, kMul, kFma, kDiv, kRcp, kSqrt };

struct FloatMode {
  Rounding rounding = Rounding::kNearest;
  bool ftz = false;
  bool sat = false;
  bool relu = false;
};

// Takes .rn/.rz/.rm/.rp, .ftz, .sat and .relu.
FloatMode TakeFloatMode(Emitter& e);

// The operation on one lane: float or double for f32 and f64, i16 for f16 and bf16; likewise the result.
Value* FloatArithmetic(Emitter& e, FloatOp op, Type lane, FloatMode mode, const std::vector<Value*>& operands);

// The type of an instruction of floats: the type that is left, or f32x2, which only such instructions have.
Type TakeFloatType(Emitter& e);

// The whole instruction: reads as many operands as `op` has, works on every lane, writes.
void EmitFloatArithmetic(Emitter& e, FloatOp op, Type type, FloatMode mode);

// add, sub and fma with .f32.f16 or .f32.bf16: the result and the last operand are f32, the others are widened. False
// if no second type stands.
bool EmitMixedArithmetic(Emitter& e, FloatOp op, Type type, FloatMode mode);

// A result that needs no rounding (of min, abs and the like) from float to the lane's type; NaN becomes the one NaN.
Value* NarrowExact(Emitter& e, Value* value, Type lane);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_FLOAT_ARITHMETIC_H_
