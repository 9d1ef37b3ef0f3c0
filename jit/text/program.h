// A parsed text: what the parser makes, and what the emitter turns into kernel IR once dtypes are known.
//
// Expressions are held in postfix order, one flat list for the whole text: an operator follows its operands. So neither
// parsing nor emitting recurses, and a formula 100,000 operators deep is a list of that length. Operands that may be
// evaluated lazily stand between markers:
//
//   c ? x : y     c  kChooseBegin  x  kChooseElse  y  kChooseEnd
//   a && b        a  kAndBegin     b  kAndEnd            (|| likewise)
#ifndef SLIPWAY_JIT_TEXT_PROGRAM_H_
#define SLIPWAY_JIT_TEXT_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "jit/ops.h"
#include "jit/text/source.h"
#include "slipway/dtype.h"

namespace slipway::text {

enum class NodeKind : uint8_t {
  kInteger,  // bits: the magnitude; negative: a minus sign before it.
  kFloat,    // bits: those of a float64.
  kBool,     // bits: 0 or 1.
  kName,     // symbol.
  kOperator,
  kCast,    // dtype; one operand.
  kGather,  // symbol; count indices.
  kChooseBegin,
  kChooseElse,
  kChooseEnd,
  kAndBegin,
  kAndEnd,
  kOrBegin,
  kOrEnd,
  kAssign,  // symbol: an output or a local; one operand.
};

struct Node {
  NodeKind kind = NodeKind::kInteger;
  ir::Op op = ir::Op::kConst;                // kOperator.
  uint8_t count = 0;                         // Operands of kOperator and kGather.
  DType dtype = DType::kVoid;                // kCast, and
  ir::CastKind cast = ir::CastKind::kValue;  // of which kind.
  bool negative = false;                     // kInteger.
  bool lazy = false;    // Markers: what they guard is worth a branch, or may only be evaluated where needed.
  uint32_t symbol = 0;  // Into Program::symbols.
  uint32_t begin = 0;   // kChooseElse, kChooseEnd, kAndEnd, kOrEnd: the node of the Begin.
  Span span;            // For errors: the operator, the name, the number.
  uint64_t bits = 0;
};

enum class SymbolKind : uint8_t { kInput, kOutput, kLocal };

struct Symbol {
  std::string name;
  SymbolKind kind = SymbolKind::kInput;
  uint32_t index = 0;  // Among the inputs, the outputs or the locals.
  Span span;           // Where the text first names it.
};

// The dtype that a parameter was declared with.
enum class TypeRule : uint8_t { kAny, kFixed, kGeneric };

enum class ShapeRule : uint8_t {
  kAny,          // Inferred: a number or an elementwise array, as the call has it.
  kScalar,       // "a: T": a number.
  kElementwise,  // "x: T[]": an array of any rank, broadcast against the others.
  kGathered,     // "x: T[:,:]", or used with indices: an array of `rank`, read where the indices say.
};

struct Parameter {
  std::string name;
  TypeRule type = TypeRule::kAny;
  DType dtype = DType::kVoid;  // kFixed.
  uint32_t generic = 0;        // kGeneric: into Program::generics.
  ShapeRule shape = ShapeRule::kAny;
  int rank = 0;  // kGathered.
  Span span;     // In the signature where there is one, else in the text.
  bool used = false;
};

struct Program {
  Source source{"expression", ""};
  Source signature{"signature", ""};  // Empty where it was inferred.
  std::vector<Parameter> inputs;
  std::vector<Parameter> outputs;
  std::vector<std::string> generics;
  std::vector<Symbol> symbols;
  std::vector<Node> nodes;
  bool has_lazy_choice = false;
  uint32_t num_costly_calls = 0;  // At most kMaxCostlyCalls.
  uint32_t num_branches = 0;      // At most kMaxBranches.
  uint32_t num_locals = 0;
};

}  // namespace slipway::text

#endif  // SLIPWAY_JIT_TEXT_PROGRAM_H_
