#include "jit/effects.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace slipway::ir {
namespace {

constexpr AtomicRow kAtomicRows[] = {
#define SLIPWAY_IR_ROW(enumerator, name, operands, types) {name, operands, types},
    SLIPWAY_IR_ATOMICS(SLIPWAY_IR_ROW)
#undef SLIPWAY_IR_ROW
};
constexpr WarpRow kWarpRows[] = {
#define SLIPWAY_IR_ROW(enumerator, name, operands, types, result) {name, operands, types, result},
    SLIPWAY_IR_WARP_OPS(SLIPWAY_IR_ROW)
#undef SLIPWAY_IR_ROW
};

}  // namespace

const AtomicRow& RowOf(AtomicOp op) { return kAtomicRows[static_cast<int>(op)]; }
const WarpRow& RowOf(WarpOp op) { return kWarpRows[static_cast<int>(op)]; }

DType ResultType(WarpOp op, DType value) {
  switch (RowOf(op).result) {
    case WarpResult::kNothing:
      return DType::kVoid;
    case WarpResult::kBool:
      return DType::kBool;
    case WarpResult::kMask:
      return DType::kUInt32;
    case WarpResult::kValue:
      return value;
  }
  return DType::kVoid;
}

const char* Name(MemoryScope scope) {
  constexpr const char* kNames[] = {"block", "device", "system"};
  return kNames[static_cast<int>(scope)];
}
const char* Name(MemoryOrder order) {
  constexpr const char* kNames[] = {"relaxed", "acquire", "release", "acquire_release", "sequential"};
  return kNames[static_cast<int>(order)];
}
const char* Name(CacheHint hint) {
  constexpr const char* kNames[] = {"none", "cache_global", "streaming", "last_use", "read_only", "write_through"};
  return kNames[static_cast<int>(hint)];
}

std::string Describe(const Access& access) {
  if (access.kind == Access::kVolatile) return " volatile";
  if (access.kind == Access::kAtomic) return absl::StrCat(" ", Name(access.order), ".", Name(access.scope));
  if (access.hint != CacheHint::kNone) return absl::StrCat(" ", Name(access.hint));
  return "";
}

}  // namespace slipway::ir
