// Exact rounding without the host's dynamic rounding mode.
//
// Narrow results are computed in double by "rounding to odd" (Boldo and Melquiond, "Emulation of FMA and correctly
// rounded sums: proved algorithms using rounding to odd", IEEE Trans. Computers 57(4), 2008): an inexact result takes
// the neighbour with an odd last bit, after which rounding to a format at least two bits narrower, in any direction, is
// right. Directed results of f64 itself have nothing wider to come from, and call the host (F64Operation).
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_ROUNDING_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_ROUNDING_H_

#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/types/span.h"
#include "driver/cpu/translate/emitter.h"

namespace slipway::cpu {

enum class Rounding : uint8_t { kNearest, kZero, kDown, kUp };

// .rn .rz .rm .rp (or .rni ... with `integer`); kNearest, and *given (if asked for) false, where none stands.
Rounding TakeRounding(Emitter& e, bool* given = nullptr);

// double operands -> the exact result rounded to odd. Exact operands are f32 or narrower values, so that products fit.
Value* AddToOdd(Emitter& e, Value* x, Value* y);
Value* DivideToOdd(Emitter& e, Value* x, Value* y);
Value* SqrtToOdd(Emitter& e, Value* x);

// double (exact or rounded to odd) -> `type` (f32: float; f16 and bf16: i16; f64: as it is).
Value* Narrow(Emitter& e, Value* exact, Type type, Rounding rounding);
// f32, f16 or bf16 value -> double or float, exactly.
Value* WidenToDouble(Emitter& e, Value* value, Type type);
Value* WidenToFloat(Emitter& e, Value* value, Type type);

// sum + error, exactly: sum moved to its neighbour where `rounding` asks for that. double.
Value* RoundByError(Emitter& e, Value* sum, Value* error, Rounding rounding);
// The rounding error of sum = x + y (Knuth's TwoSum).
Value* SumError(Emitter& e, Value* x, Value* y, Value* sum);

// f64 with a directed rounding: calls a function of the host that switches the rounding mode around one operation.
Value* CallF64(Emitter& e, std::string_view operation, std::initializer_list<Value*> operands, Rounding rounding);
// The functions that translated code may call: (symbol, address).
absl::Span<const std::pair<std::string_view, void*>> RuntimeFunctions();

// Subnormals of `type` become zeros of the same sign (.ftz).
Value* FlushSubnormal(Emitter& e, Value* value, Type type);
// To [0, 1], NaN to 0 (.sat).
Value* Saturate(Emitter& e, Value* value);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_ROUNDING_H_
