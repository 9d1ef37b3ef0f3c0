// Tracing of control flow, functions and messages of embedded kernels.
#include <string>
#include <utility>
#include <vector>

#include "jit/trace_state.h"
#include "slipway/embedded/trace.h"

namespace slipway::internal {

void BeginIf(const Operand& condition) {
  if (TraceScope::State* trace = TraceOf({condition})) trace->builder.BeginIf(trace->Value(condition));
}
void ReopenElse() {
  if (TraceScope::State* trace = CurrentTrace()) trace->builder.ReopenElse();
}
void EndIf() {
  if (TraceScope::State* trace = CurrentTrace()) trace->builder.EndIf();
}
TraceRef BeginFor(const Operand& begin, const Operand& end, const Operand& step, uint32_t unroll) {
  TraceScope::State* trace = TraceOf({begin, end, step});
  if (trace == nullptr) return {};
  const ir::ValueId first = trace->Value(begin), last = trace->Value(end), by = trace->Value(step);
  const ir::ValueId value = trace->builder.BeginFor("", DType::kInt64, first, last, by, unroll);
  if (first == trace->first_element) trace->builder.SetElement(value);
  return trace->Ref(value);
}
void EndFor() {
  if (TraceScope::State* trace = CurrentTrace()) trace->builder.EndFor();
}
void BeginWhile(uint32_t unroll) {
  if (TraceScope::State* trace = CurrentTrace()) trace->builder.BeginWhile(unroll);
}
void WhileCondition(const Operand& condition) {
  if (TraceScope::State* trace = TraceOf({condition})) trace->builder.WhileCondition(trace->Value(condition));
}
void EndWhile() {
  if (TraceScope::State* trace = CurrentTrace()) trace->builder.EndWhile();
}
void BreakLoop() {
  if (TraceScope::State* trace = CurrentTrace()) trace->builder.Break();
}
void ContinueLoop() {
  if (TraceScope::State* trace = CurrentTrace()) trace->builder.Continue();
}
void ExitThread() {
  if (TraceScope::State* trace = CurrentTrace()) trace->builder.Return();
}

// Functions.

bool BeginFunction(const void* id, const std::string& name) {
  TraceScope::State* trace = CurrentTrace();
  if (trace == nullptr || !trace->builder.status().ok()) return false;
  for (const TraceScope::State::Function& open : trace->functions) {
    if (open.id != id) continue;
    trace->Fail("function '", name, "' calls itself", trace->functions.back().id == id ? "" : " through others",
                "; kernels have no recursion: write a loop, with a stack of its own in a local array if it needs one");
    return false;
  }
  trace->builder.BeginScope();
  trace->functions.push_back({id, name, {}});
  return trace->builder.status().ok();
}

void ReturnFromFunction(Operands results) {
  TraceScope::State* trace = CurrentTrace();
  if (trace == nullptr || !trace->builder.status().ok()) return;
  if (trace->functions.empty()) {
    return trace->Fail("a value is returned outside of any function; a kernel stores its results into arrays");
  }
  TraceScope::State::Function& function = trace->functions.back();
  const std::vector<ir::ValueId> values = Resolved(trace, results);
  if (!function.returned) {
    function.returned = true;
    for (ir::ValueId value : values) {
      function.results.push_back(trace->builder.NewVar(function.name, DType::kVoid, value));
    }
  } else if (values.size() != function.results.size()) {
    return trace->Fail("function '", function.name, "' returns ", values.size(), " values here and ",
                       function.results.size(), " elsewhere");
  } else {
    for (size_t i = 0; i < values.size(); ++i) trace->builder.Write(function.results[i], values[i]);
  }
  trace->builder.Leave();
}

std::vector<TraceRef> EndFunction() {
  TraceScope::State* trace = CurrentTrace();
  if (trace == nullptr || trace->functions.empty()) return {};
  const TraceScope::State::Function function = std::move(trace->functions.back());
  trace->functions.pop_back();
  trace->builder.EndScope();
  std::vector<TraceRef> results;
  for (ir::VarId result : function.results) results.push_back(trace->Ref(trace->builder.Read(result)));
  return results;
}

void ReturnFromThis() {
  TraceScope::State* trace = CurrentTrace();
  if (trace == nullptr) return;
  if (trace->functions.empty()) return trace->builder.Return();
  ReturnFromFunction({});
}

// Messages.

void PrintfOf(const std::string& format, Operands operands) {
  TraceScope::State* trace = TraceOf(operands);
  if (trace != nullptr) trace->builder.Printf(format, Resolved(trace, operands));
}
void CheckThat(const Operand& condition, const std::string& message, Operands operands, bool stops) {
  TraceScope::State* trace = TraceOf({condition});
  if (trace != nullptr) trace->builder.Check(trace->Value(condition), message, Resolved(trace, operands), stops);
}
void AssertThat(const Operand& condition, const std::string& message) {
  TraceScope::State* trace = TraceOf({condition});
  if (trace != nullptr) trace->builder.Assert(trace->Value(condition), message);
}
void TrapHere() {
  if (TraceScope::State* trace = CurrentTrace()) trace->builder.Trap();
}

}  // namespace slipway::internal
