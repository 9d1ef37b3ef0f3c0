// The semantics table: what each operator of the kernel IR means. One row an operator, read by everything that needs to
// know: the Builder (which types, what result), the folder (constants), the code generator (how it is lowered), the
// verifier. docs/semantics.md says the same in words.
//
// An operator works on one type T, "the type of the operation". In a verified kernel its operands have the types that
// the row's slots say, T or a fixed one, and its result the one that the result rule says. OperationType() reads T off
// an instruction.
#ifndef SLIPWAY_JIT_SEMANTICS_H_
#define SLIPWAY_JIT_SEMANTICS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jit/ops.h"
#include "slipway/dtype.h"
#include "slipway/promotion.h"  // Promote, CommonType, StoresInto: the rules on operand types.

namespace slipway::ir {

// A set of dtypes, one bit each.
using TypeSet = uint32_t;
constexpr TypeSet SetOf(DType dtype) { return TypeSet{1} << static_cast<int>(dtype); }
constexpr bool Contains(TypeSet set, DType dtype) { return (set & SetOf(dtype)) != 0; }
inline constexpr TypeSet kBoolType = SetOf(DType::kBool);
inline constexpr TypeSet kSignedTypes =
    SetOf(DType::kInt8) | SetOf(DType::kInt16) | SetOf(DType::kInt32) | SetOf(DType::kInt64);
inline constexpr TypeSet kUnsignedTypes =
    SetOf(DType::kUInt8) | SetOf(DType::kUInt16) | SetOf(DType::kUInt32) | SetOf(DType::kUInt64);
inline constexpr TypeSet kIntegerTypes = kSignedTypes | kUnsignedTypes;
inline constexpr TypeSet kFloatTypes =
    SetOf(DType::kFloat16) | SetOf(DType::kBFloat16) | SetOf(DType::kFloat32) | SetOf(DType::kFloat64);
inline constexpr TypeSet kComplexTypes = SetOf(DType::kComplex64) | SetOf(DType::kComplex128);

// How T is found from the operands in the slots of kind T.
enum class OperandRule : uint8_t {
  kPromote,  // They are brought to their common type; a bool among bools becomes int32 unless bool is accepted.
  kFloat,    // Likewise, and where no float or complex number is among them they become float64.
  kCompare,  // Compares the numbers, whatever the types.
  kOwn,      // There is no such slot: T is the one type that the row accepts.
  kSelect,   // As kPromote; a constant condition chooses without asking the other operand to fit.
};

// What stands at each place of an operator's operands, a letter for each.
enum Slot : char {
  kSlotT = 'T',          // The type of the operation.
  kSlotCondition = 'b',  // A bool.
  kSlotCount = 'c',      // A uint32, from any integer: one that is negative or past 2^32 stays past every width.
  kSlotModulo = 'm',     // A uint32, from any integer: its low 32 bits.
  kSlotUInt64 = 'w',     // A uint64, from any integer: its value modulo 2^64.
  kSlotInt32 = 'i',      // An int32, from any integer: clamped to its range.
};

enum class ResultRule : uint8_t {
  kOperation,
  kBool,
  kInt32,
  kWide,     // The integer of T's sign and twice its width.
  kPart,     // Of a complex T the type of its parts, else T.
  kComplex,  // The complex type whose parts hold the float T.
};

// How the code generator makes an operator, for one kind of operation type. `name` is in LLVM's own words.
enum class LowerBy : uint8_t {
  kNone,        // Not for this kind; or the Builder writes it in other operators, so that no kernel holds it.
  kBinary,      // LLVM binary instruction `name`: add, sub, mul, and, or, xor, fadd, fsub, fmul, fdiv.
  kDivision,    // sdiv, udiv, srem, urem with the PTX rules: divisor 0 gives all ones, MIN / -1 wraps with remainder 0.
  kShift,       // shl, lshr, ashr; counts of the width and more give 0, for ashr the sign.
  kCompare,     // icmp or fcmp with predicate `name` (floats: ordered but for "une").
  kIntrinsic,   // LLVM intrinsic `name` (llvm.sqrt, llvm.fma, ...), overloaded on the operation type, exact.
  kMinMax,      // min or max; `name` is smin, smax, umin, umax, or for floats min, max, min.NaN, max.NaN as in PTX.
  kNegate,      // Integers 0 - x (wrapping), floats flip the sign bit; `name` is neg or fneg.
  kComplement,  // xor with all ones (bool: with true).
  kIdentity,    // Operand 0 as it is.
  kClassify,    // isnan, isinf, isfinite: by comparing |x| with infinity.
  kConstFalse,  // A constant, for kinds where the answer cannot vary: isnan of an integer.
  kConstTrue,
  kSelect,
  kFma,
  kNvvm,     // LLVM intrinsic of an NVPTX instruction: `name` and ".f" for float32, ".d" for float64.
  kPtx,      // The PTX instruction `name`, on float32.
  kInteger,  // The function `name` of jit/lower_integers.cc.
  kLibrary,  // Math library function with stem `name`: __nv_<name>f for float32, __nv_<name> for float64.
};

struct Lowering {
  LowerBy by = LowerBy::kNone;
  const char* name = nullptr;
  bool in_halves = false;  // float16 and bfloat16 are lowered in their own type, too.
};

// Folds `type` (the type of the operation) over operand bits, each zero-extended from its type's width. False where
// this is not folded.
using FoldFunction = bool (*)(DType type, const uint64_t* operands, uint64_t* result);

struct Semantics {
  Op op;
  int arity;
  OperandRule operands;
  ResultRule result;
  TypeSet accepts;  // What T may be.
  // Null for functions that a math library computes: folded they might differ from the device by an ulp, and a constant
  // would no longer give what the same value gives at run time.
  FoldFunction fold;
  // float16 and bfloat16 are lowered as `floating` in float32, rounded once to the type. No lowering at all: the
  // Builder writes the operator in others (jit/expand.cc), so that no kernel holds it; and so it does with every
  // operator on complex numbers (jit/complex.cc).
  Lowering signed_integer, unsigned_integer, floating, boolean;
  const char* hint;            // How to mend an operand of a type that is not accepted; null where nothing helps.
  const char* slots = "TTTT";  // The first `arity` count.
};
inline constexpr int kMaxArity = 4;

// The row of an operator.
const Semantics& SemanticsOf(Op op);

// The type of operand `i` and of the result where `operation` is the type of the operation.
DType OperandTypeOf(const Semantics& row, DType operation, int i);
DType ResultTypeOf(const Semantics& row, DType operation);

// Whether the Builder writes it in other operators where `operation` is the type of the operation.
bool IsExpanded(const Semantics& row, DType operation);

// The column of the row that holds for an operation type.
const Lowering& LoweringOf(Op op, DType operation_type);

// The type of the operation, from an instruction's result type and the types of its operands.
DType OperationType(Op op, DType result, absl::Span<const DType> operands);

// How an operator is named in messages: "'+'", "unary '-'", "'sqrt'".
std::string Spelling(Op op);

// The operator or function of that name in the text language (neg is written with a minus); false if there is none.
bool OpFromName(absl::string_view name, Op* op);

}  // namespace slipway::ir

#endif  // SLIPWAY_JIT_SEMANTICS_H_
