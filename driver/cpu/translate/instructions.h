// The instruction table: which function builds the IR of which opcode. One file a family.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_INSTRUCTIONS_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_INSTRUCTIONS_H_

#include <string_view>

#include "absl/types/span.h"
#include "driver/cpu/ptx/type.h"

namespace slipway::cpu {

class Emitter;

// Types of instructions, as the PTX ISA groups them. The widths are those that exist, not those that could be.
namespace types {

using ptx::Kind;
using ptx::Only;
using ptx::TypeSet;

constexpr TypeSet Widths(Kind kind, int from, int to) {
  TypeSet set = 0;
  for (int bits = from; bits <= to; bits *= 2) set |= Only({kind, static_cast<uint8_t>(bits)});
  return set;
}
inline constexpr TypeSet kPredicate = Only({Kind::kPredicate, 1});
inline constexpr TypeSet kBits = Widths(Kind::kBits, 16, 64);
inline constexpr TypeSet kBits32To64 = Widths(Kind::kBits, 32, 64);
inline constexpr TypeSet kB32 = Only({Kind::kBits, 32});
inline constexpr TypeSet kSigned = Widths(Kind::kSigned, 16, 64);
inline constexpr TypeSet kIntegers = kSigned | Widths(Kind::kUnsigned, 16, 64);
inline constexpr TypeSet kIntegers32 = Only({Kind::kSigned, 32}) | Only({Kind::kUnsigned, 32});
inline constexpr TypeSet kIntegers32To64 = Widths(Kind::kSigned, 32, 64) | Widths(Kind::kUnsigned, 32, 64);
inline constexpr TypeSet kPackedIntegers = Only({Kind::kSigned, 16, 2}) | Only({Kind::kUnsigned, 16, 2});
inline constexpr TypeSet kF32 = Only({Kind::kFloat, 32});
inline constexpr TypeSet kF32F64 = Widths(Kind::kFloat, 32, 64);
inline constexpr TypeSet kHalves = Only({Kind::kFloat, 16}) | Only({Kind::kBrainFloat, 16});
inline constexpr TypeSet kPackedHalves = Only({Kind::kFloat, 16, 2}) | Only({Kind::kBrainFloat, 16, 2});
inline constexpr TypeSet kFloats = kF32F64 | kHalves | kPackedHalves;
inline constexpr TypeSet kAny = ~TypeSet{0};
inline constexpr TypeSet kBytes = Only({Kind::kBits, 8}) | Only({Kind::kSigned, 8}) | Only({Kind::kUnsigned, 8});

}  // namespace types

struct InstructionRow {
  std::string_view opcode;
  void (*emit)(Emitter&);
  ptx::TypeSet types = types::kAny;  // That it has: its first type,
  ptx::TypeSet second = types;       // and the one after.
};

absl::Span<const InstructionRow> ArithmeticInstructions();  // arithmetic.cc: add, mul, ... of every type
absl::Span<const InstructionRow> BitInstructions();         // bits.cc
absl::Span<const InstructionRow> FloatInstructions();       // float.cc: functions of floats alone
absl::Span<const InstructionRow> ComparisonInstructions();  // comparison.cc
absl::Span<const InstructionRow> ConversionInstructions();  // conversion.cc
absl::Span<const InstructionRow> MemoryInstructions();      // memory.cc: ld, st, mov, cvta, ...
absl::Span<const InstructionRow> AtomicInstructions();      // atomic.cc
absl::Span<const InstructionRow> VideoInstructions();       // video.cc
absl::Span<const InstructionRow> ControlInstructions();     // control.cc: bra, call, ret, ...

// The emitter for an opcode; null if the CPU device lacks it.
const InstructionRow* FindInstruction(std::string_view opcode);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_INSTRUCTIONS_H_
