#include "jit/ir.h"

namespace slipway::ir {

const char* Name(Op op) {
  switch (op) {
#define SLIPWAY_IR_NAME(enumerator, name) \
  case Op::enumerator:                    \
    return name;
    SLIPWAY_IR_OPERATORS(SLIPWAY_IR_NAME)
    SLIPWAY_IR_STRUCTURE(SLIPWAY_IR_NAME)
#undef SLIPWAY_IR_NAME
  }
  return "unknown";
}

const char* Suffix(CastKind kind) {
  constexpr const char* kSuffixes[kNumCastKinds] = {"", "rn", "rz", "ru", "rd", "sat", "bits"};
  const int index = static_cast<int>(kind);
  return index < kNumCastKinds ? kSuffixes[index] : "unknown";
}

const char* Name(SpecialRegister reg) {
  constexpr const char* kNames[kNumSpecialRegisters] = {"thread.x",    "thread.y",   "thread.z",    "block.x",
                                                        "block.y",     "block.z",    "block_dim.x", "block_dim.y",
                                                        "block_dim.z", "grid_dim.x", "grid_dim.y",  "grid_dim.z"};
  const int index = static_cast<int>(reg);
  return index < kNumSpecialRegisters ? kNames[index] : "unknown";
}

}  // namespace slipway::ir
