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

namespace {

struct RegisterRow {
  const char* name;
  DType dtype;
};
constexpr RegisterRow kRegisters[] = {
#define SLIPWAY_IR_ROW(enumerator, name, dtype) {name, DType::dtype},
    SLIPWAY_IR_REGISTERS(SLIPWAY_IR_ROW)
#undef SLIPWAY_IR_ROW
};

}  // namespace

const char* Name(SpecialRegister reg) {
  const int index = static_cast<int>(reg);
  return index < kNumSpecialRegisters ? kRegisters[index].name : "unknown";
}
DType TypeOf(SpecialRegister reg) { return kRegisters[static_cast<int>(reg)].dtype; }

}  // namespace slipway::ir
