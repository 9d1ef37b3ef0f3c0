// A parsed text: what the parser makes, and what the emitter turns into kernel IR once dtypes are known.
//
// Expressions are held in postfix order, one flat list for the whole text: an operator follows its operands. So neither
// parsing nor emitting recurses, and a formula 100,000 operators deep is a list of that length. Operands that may be
// evaluated lazily stand between markers:
//
//   c ? x : y     c  kChooseBegin  x  kChooseElse  y  kChooseEnd
//   a && b        a  kAndBegin     b  kAndEnd            (|| likewise)
//
// Statements stand in the same list, each behind the expressions that it uses; blocks stand between markers, too.
#ifndef SLIPWAY_JIT_TEXT_PROGRAM_H_
#define SLIPWAY_JIT_TEXT_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "jit/ops.h"
#include "jit/text/source.h"
#include "slipway/device_library.h"
#include "slipway/dtype.h"

namespace slipway::text {

enum class NodeKind : uint8_t {
  // Values.
  kInteger,  // bits: the magnitude; negative: a minus sign before it.
  kFloat,    // bits: those of a float64.
  kBool,     // bits: 0 or 1.
  kName,     // symbol.
  kElement,  // Of an array in the operand of a reduction over axes; symbol: into Program::reduced.
  kOperator,
  kCast,    // dtype; one operand.
  kGather,  // symbol; count indices, and behind them what lies outside where the border is kConstant.
  kQuery,   // symbol, where it is about an array; bits: the dimension.
  kAtomic,  // symbol; count indices, then the operation's operands. The element from before.
  kChooseBegin,
  kChooseElse,
  kChooseEnd,
  kAndBegin,
  kAndEnd,
  kOrBegin,
  kOrEnd,
  // Reductions: kReduceBegin, a kReduceFor behind each range, the operand, kReduceEnd; over axes: kReduceAxes, the
  // operand, kReduceEnd. By an operation of the text's own, its identity stands before: count values from the node
  // `begin` on, which kReduceBegin or kReduceAxes takes; as many operands, and as many results.
  kReduceBegin,  // symbol: into Program::operations, of such a reduction.
  kReduceFor,    // symbol: the variable; operands begin, end, step.
  kReduceAxes,   // symbol: into Program::axis_reductions.
  kReduceEnd,
  kCall,      // symbol: into Program::functions. Its value parameters are the operands; as many results.
  kExternal,  // symbol: into Program::externals; count operands, one result.
  // Statements.
  kAssign,     // symbol: an output or a local; one operand.
  kDeclare,    // symbol: a variable or a local; one operand; dtype, or kVoid for that of the operand.
  kWrite,      // symbol: a variable; one operand.
  kStore,      // symbol: an output; count indices and the value.
  kDrop,       // One operand, of which only the effects were wanted.
  kCheck,      // symbol: into Program::checks; the condition and count values.
  kBindArray,  // symbol: an array parameter of the function that is called next; begin: the symbol it stands for.
  kIfBegin,    // One operand.
  kElse,
  kIfEnd,
  kForBegin,  // symbol: the variable; operands begin, end, step.
  kForEnd,
  kWhileBegin,  // Then the condition,
  kWhileBody,   // which is its operand, and the body.
  kWhileEnd,
  kBreak,
  kContinue,
  // Functions: kFunction, the body, kFunctionEnd. What calls one jumps behind the kFunction.
  kFunction,  // begin: the node behind the kFunctionEnd.
  kReturn,    // count operands.
  kFunctionEnd,
};

// What a gather reads where an index lies outside of the array, as NumPy's pad names it.
enum class Border : uint8_t {
  kNone,       // Nobody looks.
  kClamp,      // The nearest element.
  kWrap,       // The array goes on from its other end.
  kReflect,    // Mirrored in its first and last elements: d c b | a b c d | c b a.
  kSymmetric,  // Mirrored with them: c b a | a b c d | d c b.
  kConstant,   // A value that is given.
};

// What can be asked of the element that is computed, or of an array.
enum class Query : uint8_t {
  kIndex,   // Along a dimension of the output.
  kNumber,  // In row-major order.
  kExtent,
  kSize,
  kRank,  // Of the output.
  kArrayExtent,
  kArraySize,
  kArrayRank,  // Of the array `symbol`.
};

// kCustom: by one of Program::operations.
enum class Reduction : uint8_t { kSum, kProd, kMean, kMin, kMax, kAny, kAll, kCount, kArgmin, kArgmax, kCustom };

struct Node {
  NodeKind kind = NodeKind::kInteger;
  ir::Op op = ir::Op::kConst;                // kOperator.
  uint8_t count = 0;                         // Operands of kOperator, indices of what goes to an element, results.
  DType dtype = DType::kVoid;                // kCast, kDeclare, and
  ir::CastKind cast = ir::CastKind::kValue;  // of which kind.
  bool negative = false;                     // kInteger.
  bool lazy = false;    // Markers: what they guard is worth a branch, or may only be evaluated where needed.
  uint8_t detail = 0;   // A Border, Query, Reduction or ir::AtomicOp.
  uint32_t symbol = 0;  // Into Program::symbols, unless the kind says otherwise.
  uint32_t begin = 0;   // kChooseElse, kChooseEnd, kAndEnd, kOrEnd, kReduceEnd: the node of the Begin, of that of a
                        // reduction by a custom operation the first one of its identity.
  Span span;            // For errors: the operator, the name, the number.
  uint64_t bits = 0;
};

enum class SymbolKind : uint8_t {
  kInput,
  kOutput,
  kLocal,     // A value that keeps.
  kVariable,  // One that is assigned again.
  kArray,     // A function's parameter that stands for an array.
  kBroken,    // Its definition has a mistake, which has been told.
};

struct Symbol {
  std::string name;
  SymbolKind kind = SymbolKind::kInput;
  uint32_t index = 0;      // Among the inputs or the outputs.
  Span span;               // Where the text first names it.
  uint32_t function = 0;   // That it belongs to, counted from 1; 0: the text itself.
  bool constant = false;   // The same for every element, and seen by functions.
  bool parameter = false;  // Of a function.
  bool used = false;       // A parameter: as a value.
  int rank = 0;            // kArray: how many indices it is read with; 0 while unknown.
  bool folded = false;     // kArray: as of Parameter.
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
  int rank = 0;          // Where it is read or written by index; 0 while unknown.
  Span span;             // In the signature where there is one, else in the text.
  bool used = false;     // An input that is read, an output that is assigned.
  bool plain = false;    // Input: read as it is, at the element that is computed.
  bool indexed = false;  // Read or written by index.
  bool asked = false;    // For its extents.
  bool reduced = false;  // Over its axes.
  bool folded = false;   // Read by an index that a border's rule brings inside: it has elements.

  // Whether the kernel needs the whole array beside, or instead of, the element.
  bool whole() const { return shape != ShapeRule::kGathered && shape != ShapeRule::kScalar && (indexed || asked); }
  // Whether it is broadcast with the others.
  bool elementwise() const {
    if (shape == ShapeRule::kGathered) return false;
    return plain || !(reduced || (shape == ShapeRule::kAny && (indexed || asked)));
  }
};

// What a call has as results: one, but of functions and operations that say otherwise.
inline int ResultsOf(const Node& node) {
  const bool several = node.kind == NodeKind::kCall ||
                       (node.kind == NodeKind::kReduceEnd && static_cast<Reduction>(node.detail) == Reduction::kCustom);
  return several ? node.count : 1;
}

// An associative operation that a reduction is made with: of two states of some values each, the first ones' first. A
// function of the text, or one of a library, of one value.
struct Operation {
  bool external = false;
  uint32_t function = 0;  // Into Program::functions, or Program::externals.
  uint32_t parts = 1;     // Values of a state.
  Span span;              // Its name, where it is reduced with.
};

// A reduction over axes of what its operand broadcasts to.
struct AxisReduction {
  Reduction reduction = Reduction::kSum;
  uint32_t operation = 0;  // kCustom: into Program::operations.
  uint32_t parts = 1;      // That many operands, and results.
  std::vector<int> axes;   // Negative ones count from the last; none: all.
  bool keep_dimensions = false;
  uint32_t outer = kNoReduction;  // The reduction that it stands in.
  Span span;

  static constexpr uint32_t kNoReduction = ~uint32_t{0};
};

// An input in the operand of a reduction over axes.
struct ReducedArray {
  uint32_t input = 0;
  uint32_t reduction = 0;
};

// What a piece of text costs, with the functions that it calls in their places. At most kMaxCostlyCalls, kMaxBranches,
// kMaxOperations, kMaxNesting.
struct Cost {
  uint64_t costly_calls = 0;
  uint64_t branches = 0;
  uint64_t operations = 0;
  uint64_t nesting = 0;
};

struct Function {
  std::string name;
  Span span;
  uint32_t begin = 0;                // Node of its kFunction.
  std::vector<uint32_t> parameters;  // Symbols.
  uint32_t results = 1;
  bool returns_early = false;
  bool broken = false;  // Has a mistake, which has been told.
  bool heavy = false;   // Has effects, branches or costly calls.
  Cost cost;
};

struct Program {
  Source source{"expression", ""};
  Source signature{"signature", ""};  // Empty where it was inferred.
  std::vector<Parameter> inputs;
  std::vector<Parameter> outputs;
  std::vector<std::string> generics;
  std::vector<Symbol> symbols;
  std::vector<Node> nodes;
  std::vector<Function> functions;
  std::vector<AnyExternalFunction> externals;  // Functions of libraries, which texts know by their names.
  std::vector<Operation> operations;           // Of reductions.
  std::vector<AxisReduction> axis_reductions;  // Inner ones after those that they stand in.
  std::vector<ReducedArray> reduced;
  std::vector<std::string> checks;  // Their messages.
  std::vector<uint32_t> queries;    // Nodes that ask for a dimension, of the output or of an array.
  bool runs_along = false;          // Reductions over axes go over the elements that the text itself is computed for.
  bool wants_number = false;        // Of the element.
  bool wants_indices = false;       // Along the output's own dimensions.
  bool wants_extents = false;       // Of those dimensions.

  // Whether a kernel may visit the elements in any order and shape.
  bool loops_freely() const { return !wants_number && !wants_indices && axis_reductions.empty(); }
};

}  // namespace slipway::text

#endif  // SLIPWAY_JIT_TEXT_PROGRAM_H_
