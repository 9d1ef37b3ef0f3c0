// Walks a program and makes kernel IR of it. Used by emit.cc alone.
#ifndef SLIPWAY_JIT_TEXT_EMITTER_H_
#define SLIPWAY_JIT_TEXT_EMITTER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "jit/builder.h"
#include "jit/text/emit.h"
#include "jit/text/mistakes.h"
#include "jit/text/monoid.h"
#include "jit/text/program.h"

namespace slipway::text {

// Runs over the nodes with a stack of values. Functions are put where they are called: a call goes on with the nodes of
// the function and comes back behind them.
//
// A variable must be declared before what it is first given is known. So the walk is done twice: without a typing it is
// a trial run, whose IR is thrown away, in which lazy operands are evaluated like any others, and such variables are
// declared late; it collects their types.
class Emitter {
 public:
  Emitter(const Program& program, const Typing* typing, const Site& site, ir::Builder& builder);

  // Whether it came to the end; Result() says what is wrong. A run for a typing ends at the first mistake.
  bool Run();

  const std::vector<ir::ValueId>& outputs() const { return outputs_; }
  std::vector<DType> TakeVariables() { return std::move(variables_); }
  std::vector<Typing::ReductionSlots> TakeSlots() { return std::move(slots_); }
  std::vector<EmittedReduction> TakeReductions() { return std::move(emitted_); }
  absl::flat_hash_map<size_t, Typing::OperationTypes> TakeOperations() { return std::move(operations_); }
  absl::flat_hash_map<uint32_t, EmittedValue> Constants();

  // Instead of a run, for one function: two states merged, with the variables of the typing from `first_variable` on.
  ReductionState Merge(const Operation& operation, absl::Span<const ir::ValueId> states, size_t first_variable) {
    UseConstants();
    next_type_ = first_variable;
    return CallOperation(operation, states, {});
  }

  // Keeps the builder's complaint, if there is one, with the place that it is about.
  void TakeError(const Node& node);
  // What is wrong so far: after a mistake a trial run goes on, with values that are kNone.
  absl::Status Result() const;

 private:
  // A lazily evaluated operand that has become an if, which writes a variable.
  struct Choice {
    ir::VarId var = 0;
    uint32_t begin = 0;
    size_t slot = 0;
  };
  struct OpenReduction {
    const Node* node = nullptr;
    size_t slot = 0;
    DType operand = DType::kVoid;
    const Operation* operation = nullptr;           // Of the text's own,
    ReductionState identity;                        // and its identity.
    absl::InlinedVector<ir::VarId, 2> accumulator;  // A state; of argmin and argmax with the position.
    ir::VarId turns = 0;                            // So far; where the result needs it.
    ir::VarId found = 0;  // Of argmin and argmax: whether there is one yet, for any number may be a position.
    int loops = 0;
    ir::ValueId index = ir::kNone;  // Of the innermost loop.
    const ReductionBinding* axes = nullptr;
    size_t visit = 0;
    EmittedReduction emitted;  // Over axes.
    Indices indices;           // Over axes: where its operand's arrays are read.

    size_t parts() const { return operation == nullptr ? 1 : operation->parts; }
  };
  struct Call {
    const Function* function = nullptr;
    uint32_t return_to = 0;
    Span span;
    size_t slot = 0;
    std::vector<ir::VarId> results;  // Where it returns early.
  };

  bool trial() const { return typing_ == nullptr; }
  // Variables whose types the trial run finds, by the order of their declarations.
  size_t ReserveType();
  void FindType(size_t slot, DType dtype);
  DType TypeOf(size_t slot) const { return trial() ? variables_[slot] : typing_->variables[slot]; }
  ir::VarId NewVariable(const char* name, DType dtype);

  ir::ValueId Pop();
  ReductionState PopLast(size_t count);
  void Push(ir::ValueId value) { stack_.push_back(value); }
  void PushAll(const ReductionState& values) { stack_.insert(stack_.end(), values.begin(), values.end()); }
  absl::Span<const ir::ValueId> Last(size_t count) const { return absl::MakeConstSpan(stack_).last(count); }
  // Replaces the last values by one.
  void Replace(size_t count, ir::ValueId value);

  bool HasAllOperands() const;
  void Visit(uint32_t index, const Node& node, uint32_t& next);
  void VisitLazy(uint32_t index, const Node& node);
  void VisitStatement(const Node& node);
  ir::ValueId IntegerLiteral(const Node& node);
  ir::ValueId ValueOf(const Node& node);
  void AddMistake(const Node& node, const absl::Status& status);
  // What the value on top of the stack has to be; where it is not, a bool takes its place.
  void CheckBool(const Node& node, std::string_view what, std::string_view hint);
  void CheckLogical(const Node& node, std::string_view side);
  // Of the values on the stack. Where they do not fit, one is begun nevertheless, so that its end closes it.
  void BeginIf(const Node& node);
  ir::ValueId BeginFor(const Node& node, DType dtype);
  void WhileCondition(const Node& node);
  void BeginChoice(uint32_t index);
  void WriteChoice();
  void BeginLogical(bool is_and);
  void EndLazy();

  void BeginCall(const Node& node, uint32_t& next);
  void Return(const Node& node);
  void EndCall(uint32_t& next);
  ReductionState CallOperation(const Operation& operation, absl::Span<const ir::ValueId> states, Span span);
  void UseConstants();

  // Elements: emit_elements.cc.
  ir::ArrayId ArrayOf(uint32_t symbol) const;
  // An element of an array; of an input, which nobody writes while the kernel runs (calls with such are refused),
  // through the read-only cache.
  ir::ValueId LoadFrom(ir::ArrayId array, absl::Span<const ir::ValueId> indices);
  void Gather(const Node& node);
  ir::ValueId Reduce(Border border, ir::ValueId index, ir::ValueId extent);
  ir::ValueId Fold(Border border, ir::ValueId index, ir::ValueId extent);
  ir::ValueId GatherOrFill(ir::ArrayId array, absl::Span<const ir::ValueId> indices, ir::ValueId fill);
  void Query(const Node& node);
  void Atomic(const Node& node);
  ir::ValueId Int(int64_t value) { return builder_.Literal(value); }

  // Reductions: emit_reductions.cc.
  void BeginReduction(const Node& node);
  void BeginAxes(uint32_t index, const Node& node, uint32_t& next);
  uint32_t EndOf(uint32_t begin) const;
  void PlaceOperand(OpenReduction& open, ir::ValueId number);
  ir::ValueId ExtentOf(const ReductionBinding& axes, int dimension);
  void BeginReductionLoop(const Node& node);
  const OpenReduction& OpenAxes(uint32_t reduction) const;
  ir::ValueId Element(const Node& node);
  void EndReduction();
  bool CheckReduction(OpenReduction& open, const ReductionState& values);
  bool FindOperation(OpenReduction& open, const ReductionState& operand);
  bool CheckPart(const Node& node, DType dtype, ir::ValueId value, const std::string& what);
  Monoid MonoidOf(const OpenReduction& open) const;
  const Operation* OperationOf(const Node& node) const;
  void DeclareAccumulator(OpenReduction& open);
  bool CountsTurns(const OpenReduction& open) const;
  void Combine(const OpenReduction& open, const ReductionState& operand);
  void CombinePosition(const OpenReduction& open, ir::ValueId value);
  ReductionState ResultsOf(const OpenReduction& open);
  ir::ValueId TurnsOf(const OpenReduction& open);

  const Program& program_;
  const Typing* const typing_;
  const Site& site_;
  ir::Builder& builder_;
  std::vector<ir::ValueId> values_;  // By symbol.
  std::vector<ir::VarId> vars_;      // By symbol.
  std::vector<ir::ArrayId> arrays_;  // By symbol: of functions' parameters.
  std::vector<ir::ValueId> outputs_;
  std::vector<ir::ValueId> stack_;
  std::vector<Choice> choices_;
  std::vector<OpenReduction> reductions_;
  std::vector<Call> calls_;
  std::vector<DType> variables_;  // The trial run's.
  std::vector<EmittedReduction> emitted_;
  Mistakes mistakes_;
  absl::Status first_mistake_;
  absl::flat_hash_set<const Node*> told_;  // Those that have one: a function is walked through at each call.
  size_t next_type_ = 0;
  size_t visits_ = 0;  // Of reductions over axes, so far.
  std::vector<Typing::ReductionSlots> slots_;
  absl::flat_hash_map<size_t, Typing::OperationTypes> operations_;  // The trial run's.
  bool in_operation_ = false;                                       // A function is called to merge states.
};

}  // namespace slipway::text

#endif  // SLIPWAY_JIT_TEXT_EMITTER_H_
