// Program to kernel IR, for inputs of known dtypes. All rules about types are the Builder's: what is inferred here is
// read off a trial run of it, so that the text language has no type rules of its own.
#ifndef SLIPWAY_JIT_TEXT_EMIT_H_
#define SLIPWAY_JIT_TEXT_EMIT_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jit/builder.h"
#include "jit/text/monoid.h"
#include "jit/text/program.h"
#include "slipway/dtype.h"

namespace slipway::text {

// A value that was emitted, or a constant, which no instruction holds.
struct EmittedValue {
  ir::ValueId id = ir::kNone;
  DType constant_type = DType::kVoid;
  bool literal = false;            // A constant whose type is that of what it meets.
  uint64_t constant_bits[2] = {};  // Of a complex number both parts'.
};
EmittedValue NoteValue(ir::Builder& builder, ir::ValueId value);
ir::ValueId RemakeConstant(ir::Builder& builder, const EmittedValue& constant);  // By another builder.

// The types inside a program, for one combination of input dtypes.
struct Typing {
  std::vector<DType> outputs;  // Of each output: as stored.
  // Of every variable that must be declared before the value it is first given is known (of lazily evaluated choices,
  // reductions, results of functions), in the order in which they are declared.
  std::vector<DType> variables;
  // Of every reduction over axes, each time that it is come to: which of the variables belong to it. The first has the
  // type of its operand.
  struct ReductionSlots {
    uint32_t reduction = 0;
    size_t begin = 0, end = 0;
  };
  std::vector<ReductionSlots> reductions;
  // What is known of a reduction by an operation of the text's own, by the first of its variables.
  struct OperationTypes {
    absl::InlinedVector<DType, 2> types;  // Of a state,
    std::vector<EmittedValue> identity;   // and that of no operands: constants.
    size_t begin = 0, end = 0;            // The operation's own variables, where two states are merged.
  };
  absl::flat_hash_map<size_t, OperationTypes> operations;
  // Of the text's constants, by symbol: where states are merged, the text is not run from its beginning.
  absl::flat_hash_map<uint32_t, EmittedValue> constants;
};

// The typing of a program. `output_types` has an entry an output: the dtype that it is stored in, or kVoid to have it
// inferred (the type of its value; not of outputs that are written by index). Every error that depends on dtypes is
// found here, with line and caret: INVALID_ARGUMENT, or UNIMPLEMENTED for what no dtype of this stage can do.
absl::StatusOr<Typing> InferTypes(const Program& program, absl::Span<const DType> input_types,
                                  absl::Span<const DType> output_types);

// What an input stands for in a kernel: the value of a number or of an element, and the array parameter that is read by
// index, which nobody may write while the kernel runs, or asked for its extents. Either may be absent.
struct InputBinding {
  ir::ValueId value = ir::kNone;
  ir::ParamId array = ir::kNone;
};

// Values by dimension.
using Indices = absl::InlinedVector<ir::ValueId, kMaxRank>;

// A reduction over axes: the dimensions of what its operand broadcasts to.
struct ReductionBinding {
  static constexpr uint8_t kReduced = 0xff;
  static constexpr uint8_t kSingle = 0xfe;

  int rank = 0;
  // Of each dimension, which one of the output's (of the reduction that it stands in) it goes along with, or kReduced,
  // or kSingle where it has one element, whatever it is broadcast with.
  std::array<uint8_t, kMaxRank> outer = {};
  std::vector<ir::ParamId> arrays;  // Of Program::reduced, by its index: kNone for numbers and those of others.

  int reduced() const { return static_cast<int>(std::count(outer.begin(), outer.begin() + rank, kReduced)); }
  // One of the arrays, all of which have the same shape.
  ir::ParamId AnyArray() const {
    return *std::find_if(arrays.begin(), arrays.end(), [](ir::ParamId array) { return array != ir::kNone; });
  }
};

// Reductions over axes that the kernel works out itself, by more threads than one, or as they run along: of a program
// in which none stands in another, or where not all threads come to it, and all go over the same elements. Emit is
// called for each element, to have the states that the operands are, and for the program with the results in their
// places.
struct SharedReductions {
  enum class Pass : uint8_t { kOperands, kResults };
  Pass pass = Pass::kOperands;
  // kOperands: of the element, row-major over the dimensions that are reduced; and what argmin and argmax call it.
  ir::ValueId number = ir::kNone, position = ir::kNone;
  ir::ValueId count = ir::kNone;       // kResults: how many there are.
  std::vector<ReductionState> states;  // By reduction. kOperands: filled; kResults: given.
};

// Where the program runs: all that it can see of its kernel.
struct Site {
  std::vector<InputBinding> inputs;
  std::vector<ir::ParamId> outputs;  // Those that are written by index.
  // Of the element, as far as the program wants them; in the kernel's own index type.
  DType index_type = DType::kInt64;
  ir::ValueId number = ir::kNone;
  ir::ValueId size = ir::kNone;
  ir::ValueId element = ir::kNone;  // The number again, as int64: what checks name.
  Indices indices;
  Indices extents;
  int rank = 0;  // Of the output.
  std::vector<ReductionBinding> reductions;
  SharedReductions* shared = nullptr;  // Null: each is a loop of the thread.
};

// The operations of a program's reductions over axes; they refer to the program and its typing. `site` is what
// functions of the text see where states are merged: numbers, and arrays to read by index.
std::vector<Monoid> MonoidsOf(const Program& program, const Typing& typing, const Site& site = {});

// Where a reduction over axes became instructions: what printing it back needs to know, and the IR does not say.
struct EmittedReduction {
  uint32_t reduction = 0;                          // Into Program::axis_reductions.
  ir::ValueId begin = 0, end = 0;                  // Its instructions' ids, and of them
  ir::ValueId operand_begin = 0, operand_end = 0;  // those of the operand.
  EmittedValue operand;
  ir::ValueId result = ir::kNone;
};

// Emits the program's statements. Returns the value of each output, not yet converted to the type it is stored in;
// kNone for those that are written by index. `reductions`, where it is not null, gets those over axes, each after those
// that stand in it.
absl::StatusOr<std::vector<ir::ValueId>> Emit(const Program& program, const Typing& typing, const Site& site,
                                              ir::Builder& builder,
                                              std::vector<EmittedReduction>* reductions = nullptr);

}  // namespace slipway::text

#endif  // SLIPWAY_JIT_TEXT_EMIT_H_
