// How the IR's instructions on memory and among threads say what they do: small structs that are packed into an
// instruction's immediates, and a table for each kind of operation.
#ifndef SLIPWAY_JIT_EFFECTS_H_
#define SLIPWAY_JIT_EFFECTS_H_

#include <cstdint>
#include <string>

#include "jit/semantics.h"
#include "slipway/dtype.h"
#include "slipway/memory_model.h"

namespace slipway::ir {

// What kAtomic does to an element. The operators' rules hold: min and max as `min` and `max`, wrapping sums.
//   X(enumerator, text name, operands, dtypes)
// clang-format off
#define SLIPWAY_IR_ATOMICS(X)                                              \
  X(kAdd, "add", 1, kIntegerTypes | kFloatTypes)                           \
  X(kMin, "min", 1, kIntegerTypes | kFloatTypes)                           \
  X(kMax, "max", 1, kIntegerTypes | kFloatTypes)                           \
  X(kAnd, "and", 1, kBoolType | kIntegerTypes)                             \
  X(kOr, "or", 1, kBoolType | kIntegerTypes)                               \
  X(kXor, "xor", 1, kBoolType | kIntegerTypes)                             \
  X(kExchange, "exchange", 1, kWordTypes)                                  \
  X(kCompareExchange, "compare_exchange", 2, kWordTypes)                   \
  X(kIncrement, "increment", 1, SetOf(DType::kUInt32))                     \
  X(kDecrement, "decrement", 1, SetOf(DType::kUInt32))
// clang-format on

// What can be exchanged in one piece.
inline constexpr TypeSet kWordTypes = kBoolType | kIntegerTypes | kFloatTypes;

enum class AtomicOp : uint8_t {
#define SLIPWAY_IR_ENUMERATOR(enumerator, name, operands, types) enumerator,
  SLIPWAY_IR_ATOMICS(SLIPWAY_IR_ENUMERATOR)
#undef SLIPWAY_IR_ENUMERATOR
};
struct AtomicRow {
  const char* name;
  int operands;     // Beside the indices.
  TypeSet accepts;  // Dtypes of the element.
};
const AtomicRow& RowOf(AtomicOp op);
inline constexpr int kNumAtomics = static_cast<int>(AtomicOp::kDecrement) + 1;

// How kLoad, kStore, kLoadGroup, kStoreGroup and kAtomic go to memory. An ordinary access packs to 0.
struct Access : MemoryAccess {
  AtomicOp op = AtomicOp::kAdd;  // Of kAtomic.
  int lanes = 1;                 // Of groups.

  Access() = default;
  Access(const MemoryAccess& access) : MemoryAccess(access) {}  // NOLINT(google-explicit-constructor)

  uint32_t Pack() const {
    return static_cast<uint32_t>(kind) | static_cast<uint32_t>(hint) << 4 | static_cast<uint32_t>(order) << 8 |
           static_cast<uint32_t>(scope) << 12 | static_cast<uint32_t>(op) << 16 |
           static_cast<uint32_t>(lanes - 1) << 20;
  }
  static Access Unpack(uint32_t bits) {
    const auto field = [&](int shift) { return bits >> shift & 0xf; };
    Access access;
    access.kind = static_cast<Kind>(field(0));
    access.hint = static_cast<CacheHint>(field(4));
    access.order = static_cast<MemoryOrder>(field(8));
    access.scope = static_cast<MemoryScope>(field(12));
    access.op = static_cast<AtomicOp>(field(16));
    access.lanes = static_cast<int>(field(20)) + 1;
    return access;
  }
};

// The most bytes that one access of a group can be.
inline constexpr int kMaxGroupBytes = 16;

// What kBarrier does beside letting threads meet: nothing, or tell all of them whether all or any of their operands are
// true, or how many (PTX: barrier.red).
enum class BarrierReduction : uint8_t { kNone, kAnd, kOr, kCount };

// Packed into kBarrier's imm. Operands: the predicate of a reduction, then the number of threads where it is counted.
struct Barrier {
  BarrierReduction reduction = BarrierReduction::kNone;
  int id = 0;            // 0 to 15.
  bool counted = false;  // Not all threads of the block; a multiple of 32.

  uint64_t Pack() const {
    return static_cast<uint64_t>(reduction) | static_cast<uint64_t>(id) << 8 | static_cast<uint64_t>(counted) << 16;
  }
  static Barrier Unpack(uint64_t bits) {
    return {static_cast<BarrierReduction>(bits & 0xff), static_cast<int>(bits >> 8 & 0xff), (bits >> 16 & 1) != 0};
  }
};
inline constexpr int kNumBarriers = 16;

// Operations among the lanes of a warp that a mask names. All of those lanes come to it, with the same mask.
//   X(enumerator, text name, operands, dtypes of operand 1, result)
// Operand 0 is the mask (uint32) of all but kActive. Operand 2 of a shuffle is the lane, the distance or the bits to
// flip (uint32), and imm2 how many neighbouring lanes make a group of their own: 1, 2, 4, 8, 16 or 32.
// clang-format off
#define SLIPWAY_IR_WARP_OPS(X)                                                                        \
  X(kShuffle, "shuffle", 3, kAllTypes, WarpResult::kValue)        /* From a lane of the group. */     \
  X(kShuffleUp, "shuffle_up", 3, kAllTypes, WarpResult::kValue)   /* From a lower lane, or its own. */ \
  X(kShuffleDown, "shuffle_down", 3, kAllTypes, WarpResult::kValue)                                   \
  X(kShuffleXor, "shuffle_xor", 3, kAllTypes, WarpResult::kValue)                                     \
  X(kAll, "all", 2, kBoolType, WarpResult::kBool)                                                     \
  X(kAny, "any", 2, kBoolType, WarpResult::kBool)                                                     \
  X(kUniform, "uniform", 2, kBoolType, WarpResult::kBool)         /* The same in all lanes. */        \
  X(kBallot, "ballot", 2, kBoolType, WarpResult::kMask)                                               \
  X(kMatchAny, "match_any", 2, kWordTypes, WarpResult::kMask)     /* Lanes with the same bits. */     \
  X(kMatchAll, "match_all", 2, kWordTypes, WarpResult::kMask)     /* The mask if all have, or 0. */   \
  X(kReduceAdd, "reduce_add", 2, kIntegerTypes | kFloatTypes, WarpResult::kValue)  /* Complex: by parts. */ \
  X(kReduceMin, "reduce_min", 2, kIntegerTypes | kFloatTypes, WarpResult::kValue)                     \
  X(kReduceMax, "reduce_max", 2, kIntegerTypes | kFloatTypes, WarpResult::kValue)                     \
  X(kReduceAnd, "reduce_and", 2, kBoolType | kIntegerTypes, WarpResult::kValue)                       \
  X(kReduceOr, "reduce_or", 2, kBoolType | kIntegerTypes, WarpResult::kValue)                         \
  X(kReduceXor, "reduce_xor", 2, kBoolType | kIntegerTypes, WarpResult::kValue)                       \
  X(kSync, "sync", 1, 0, WarpResult::kNothing)                    /* Also orders their accesses. */   \
  X(kActive, "active", 0, 0, WarpResult::kMask)                   /* Lanes that run together now. */
// clang-format on

inline constexpr TypeSet kAllTypes = kBoolType | kIntegerTypes | kFloatTypes | kComplexTypes;

enum class WarpResult : uint8_t { kNothing, kBool, kMask, kValue };
enum class WarpOp : uint8_t {
#define SLIPWAY_IR_ENUMERATOR(enumerator, name, operands, types, result) enumerator,
  SLIPWAY_IR_WARP_OPS(SLIPWAY_IR_ENUMERATOR)
#undef SLIPWAY_IR_ENUMERATOR
};
struct WarpRow {
  const char* name;
  int operands;
  TypeSet accepts;
  WarpResult result;
};
const WarpRow& RowOf(WarpOp op);
inline constexpr int kNumWarpOps = static_cast<int>(WarpOp::kActive) + 1;
inline constexpr int kWarpSize = 32;
constexpr bool IsShuffle(WarpOp op) { return op <= WarpOp::kShuffleXor; }
constexpr bool IsReduction(WarpOp op) { return op >= WarpOp::kReduceAdd && op <= WarpOp::kReduceXor; }

// The dtype of a warp operation's result; `value` is operand 1's.
DType ResultType(WarpOp op, DType value);

const char* Name(MemoryScope scope);  // "block", "device", "system"
const char* Name(MemoryOrder order);  // "relaxed", "acquire", ...
const char* Name(CacheHint hint);     // "cache_global", ...
// "", or " volatile", " acquire.device", " streaming": as it is printed behind the name of an instruction.
std::string Describe(const Access& access);

}  // namespace slipway::ir

#endif  // SLIPWAY_JIT_EFFECTS_H_
