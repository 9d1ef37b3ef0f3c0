// The instructions at which threads wait for each other, or let each other go first; see warp.h.
#ifndef SLIPWAY_DRIVER_CPU_TRANSLATE_WAITS_H_
#define SLIPWAY_DRIVER_CPU_TRANSLATE_WAITS_H_

#include "driver/cpu/translate/emitter.h"
#include "driver/cpu/warp.h"

namespace slipway::cpu {

// Of an instruction that flattening puts where a warp goes round a loop in step: all lanes take their turns together.
inline constexpr std::string_view kTurn = "slipway.turn";

// Whether it is one, by its name.
bool IsWait(const ptx::Instruction& instruction);

// One, with its operands told apart; those that it does not have are null.
struct WaitForm {
  Wait kind = Wait::kYield;
  Mode mode = Mode::kNone;
  bool is_signed = false;
  bool is_whole = false;
  bool converged = false;
  const Operand* a = nullptr;  // Of `type`; b, c and mask are b32.
  const Operand* b = nullptr;
  const Operand* c = nullptr;  // Of a barrier: a predicate.
  const Operand* mask = nullptr;
  Type type;
  const Operand* result = nullptr;
  Type result_type;
  const Operand* predicate = nullptr;  // Result.
};

// Takes the current instruction's modifiers and operands. Fails as emitters do.
WaitForm ReadWait(Emitter& e);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_TRANSLATE_WAITS_H_
