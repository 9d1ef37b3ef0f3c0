// The instruction table: which function builds the IR of which opcode. One file a family.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_INSTRUCTIONS_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_INSTRUCTIONS_H_

#include <string_view>

#include "absl/types/span.h"

namespace slipway::cpu {

class Emitter;

struct InstructionRow {
  std::string_view opcode;
  void (*emit)(Emitter&);
};

absl::Span<const InstructionRow> ArithmeticInstructions();  // arithmetic.cc: add, mul, ... of every type
absl::Span<const InstructionRow> BitInstructions();         // bits.cc
absl::Span<const InstructionRow> FloatInstructions();       // float.cc: functions of floats alone
absl::Span<const InstructionRow> ComparisonInstructions();  // comparison.cc
absl::Span<const InstructionRow> ConversionInstructions();  // conversion.cc
absl::Span<const InstructionRow> MemoryInstructions();      // memory.cc: ld, st, mov, cvta, ...
absl::Span<const InstructionRow> AtomicInstructions();      // atomic.cc
absl::Span<const InstructionRow> ControlInstructions();     // control.cc: bra, call, ret, ...

// The emitter for an opcode; null if the CPU device lacks it.
const InstructionRow* FindInstruction(std::string_view opcode);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_INSTRUCTIONS_H_
