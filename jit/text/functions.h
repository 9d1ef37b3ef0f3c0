// What a text may call: the operators of the semantics table that have names, and forms of their own.
#ifndef SLIPWAY_JIT_TEXT_FUNCTIONS_H_
#define SLIPWAY_JIT_TEXT_FUNCTIONS_H_

#include <cstdint>
#include <string_view>

#include "absl/types/span.h"
#include "jit/effects.h"
#include "jit/ops.h"
#include "jit/text/program.h"
#include "slipway/dtype.h"

namespace slipway::text {

struct Builtin {
  std::string_view name;
  ir::Op op;
  int arity;
  // Costs enough that a branch around it pays: a lazily evaluated operand holding one becomes control flow, others are
  // computed and selected.
  bool heavy;
};

// Null if there is none of that name. Casts are not functions.
const Builtin* FindBuiltin(std::string_view name);

// A cast's name: a dtype ("float32", "f32"), and maybe what it keeps ("float32_rz", "int8_sat", "u32_bits"). False if
// it is none.
bool FindCast(std::string_view name, DType* dtype, ir::CastKind* kind);

// Calls of another form than a function's: reductions, what is asked of the element or of an array, atomic operations;
// and what borders of arrays are called. Null if there is none of that name.
const Reduction* FindReduction(std::string_view name);
std::string_view Name(Reduction reduction);
enum class QueryName : uint8_t { kIndex, kSize, kShape, kRank };
const QueryName* FindQuery(std::string_view name);
const ir::AtomicOp* FindAtomic(std::string_view name);  // "atomic_add", ...
const Border* FindBorder(std::string_view name);
std::string_view Name(Border border);

// Whether a call of that name means something in the language, so that it cannot be defined.
bool IsCallable(std::string_view name);

// All names, for suggestions.
absl::Span<const std::string_view> FunctionNames();

}  // namespace slipway::text

#endif  // SLIPWAY_JIT_TEXT_FUNCTIONS_H_
