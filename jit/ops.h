// Every operation of the kernel IR, named once. What an operator means (types, folding, lowering) stands in the
// semantics table, jit/semantics.h; what a structural instruction means stands here.
#ifndef SLIPWAY_JIT_OPS_H_
#define SLIPWAY_JIT_OPS_H_

#include <cstdint>

namespace slipway::ir {

// Operators: pure functions of their operands, with a row each in the semantics table.  X(enumerator, text name)
// clang-format off
#define SLIPWAY_IR_OPERATORS(X)                                                                             \
  X(kAdd, "+") X(kSub, "-") X(kMul, "*") X(kDiv, "/") X(kRem, "%")                                          \
  X(kTrueDiv, "true_div") X(kFloorDiv, "floor_div") X(kFloorMod, "floor_mod") X(kNeg, "neg")                \
  X(kNot, "!") X(kBitNot, "~") X(kBitAnd, "&") X(kBitOr, "|") X(kBitXor, "^") X(kShl, "<<") X(kShr, ">>")   \
  X(kLt, "<") X(kLe, "<=") X(kGt, ">") X(kGe, ">=") X(kEq, "==") X(kNe, "!=")                               \
  X(kMin, "min") X(kMax, "max") X(kMinNan, "min_nan") X(kMaxNan, "max_nan") X(kAbs, "abs") X(kFma, "fma")   \
  X(kSqrt, "sqrt") X(kRsqrt, "rsqrt") X(kCbrt, "cbrt")                                                      \
  X(kFloor, "floor") X(kCeil, "ceil") X(kTrunc, "trunc") X(kRound, "round") X(kRint, "rint")                \
  X(kExp, "exp") X(kExp2, "exp2") X(kExp10, "exp10") X(kExpm1, "expm1")                                     \
  X(kLog, "log") X(kLog2, "log2") X(kLog10, "log10") X(kLog1p, "log1p")                                     \
  X(kSin, "sin") X(kCos, "cos") X(kTan, "tan") X(kAsin, "asin") X(kAcos, "acos") X(kAtan, "atan")           \
  X(kSinh, "sinh") X(kCosh, "cosh") X(kTanh, "tanh") X(kAsinh, "asinh") X(kAcosh, "acosh")                  \
  X(kAtanh, "atanh") X(kErf, "erf") X(kErfc, "erfc") X(kTgamma, "tgamma") X(kLgamma, "lgamma")              \
  X(kPow, "pow") X(kAtan2, "atan2") X(kFmod, "fmod") X(kHypot, "hypot") X(kCopysign, "copysign")            \
  X(kIsnan, "isnan") X(kIsinf, "isinf") X(kIsfinite, "isfinite") X(kSelect, "select")

// Structural instructions. "imm" is the instruction's immediate; operands are values.
//   kConst       a value of the instruction's dtype; imm holds its bits
//   kScalarParam the value of scalar parameter imm
//   kSpecial     a special register (uint32); imm is a SpecialRegister
//   kCast        operand 0 as the instruction's dtype, by the cast rule of docs/semantics.md
//   kShape       extent (int64) of dimension `imm2` of array parameter `imm`
//   kReadVar     the present value of variable imm
//   kWriteVar    stores operand 0 into variable imm
//   kLoad        element of array parameter imm at the operands, one integer a dimension
//   kStore       the last operand into array parameter imm at the others
//   kAtomicAdd   likewise, adding; the result is the old element. int32, int64, uint32, uint64, float32, float64
//   kIf          operand 0 a bool; blocks: then, else (possibly empty)
//   kFor         imm is the induction variable; operands begin, end, step (all of its dtype, evaluated once); block:
//                body. Runs while variable < end (step > 0) or variable > end (step < 0); step 0 runs nothing. Ends
//                without wrapping around. The body does not write the variable.
//   kWhile       blocks: condition (its last instruction is kYield of a bool), body
//   kYield       ends the condition block of a kWhile
//   kReturn      ends this thread's work; what follows it in its block is dead
#define SLIPWAY_IR_STRUCTURE(X)                                                                             \
  X(kConst, "const") X(kScalarParam, "scalar") X(kSpecial, "special") X(kCast, "cast") X(kShape, "shape")   \
  X(kReadVar, "read") X(kWriteVar, "write") X(kLoad, "load") X(kStore, "store")                             \
  X(kAtomicAdd, "atomic_add") X(kIf, "if") X(kFor, "for") X(kWhile, "while") X(kYield, "yield")             \
  X(kReturn, "return")
// clang-format on

// The numbers enter structural hashes and so cache keys.
enum class Op : uint8_t {
#define SLIPWAY_IR_ENUMERATOR(enumerator, name) enumerator,
  SLIPWAY_IR_OPERATORS(SLIPWAY_IR_ENUMERATOR) SLIPWAY_IR_STRUCTURE(SLIPWAY_IR_ENUMERATOR)
#undef SLIPWAY_IR_ENUMERATOR
};
inline constexpr Op kFirstStructuralOp = Op::kConst;
inline constexpr int kNumOperators = static_cast<int>(kFirstStructuralOp);
constexpr bool IsOperator(Op op) { return op < kFirstStructuralOp; }
const char* Name(Op op);

enum class SpecialRegister : uint8_t {
  kThreadX,
  kThreadY,
  kThreadZ,
  kBlockX,
  kBlockY,
  kBlockZ,
  kBlockDimX,
  kBlockDimY,
  kBlockDimZ,
  kGridDimX,
  kGridDimY,
  kGridDimZ,
};
inline constexpr int kNumSpecialRegisters = 12;
const char* Name(SpecialRegister reg);  // "thread.x", "block_dim.y", ...

}  // namespace slipway::ir

#endif  // SLIPWAY_JIT_OPS_H_
