// Tracing of calls of libraries' functions, and of functions that others call.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "driver/as_absl.h"
#include "driver/status_macros.h"
#include "jit/library.h"
#include "jit/trace_state.h"
#include "slipway/device_library.h"
#include "slipway/embedded/trace.h"

namespace slipway::internal {

TraceRef CallExternal(const AnyExternalFunction& function, Operands arguments) {
  TraceScope::State* trace = TraceOf(arguments);
  if (trace == nullptr) return {};
  const ir::ValueId result = trace->builder.Call(function, Resolved(trace, arguments));
  return result == ir::kNone ? TraceRef{} : trace->Ref(result);
}

TraceRef AddressOfElement(TraceRef array, const Indices& indices, bool writes) {
  TraceScope::State* trace = TraceOf(array);
  if (trace == nullptr) return {};
  return trace->Ref(trace->builder.Address(trace->Resolve(array), Resolved(trace, indices), writes));
}

TraceRef AddressOfArray(TraceRef array, bool writes) {
  TraceScope::State* trace = TraceOf(array);
  if (trace == nullptr) return {};
  const uint32_t id = trace->Resolve(array);
  if (!trace->builder.status().ok()) return {};
  const std::vector<ir::ValueId> first(static_cast<size_t>(trace->builder.Array(id).rank),
                                       trace->builder.Constant(DType::kInt64, 0));
  return trace->Ref(trace->builder.Address(id, first, writes));
}

void TraceScope::IsFunction(DType result) {
  if (IsComplex(result)) {
    state_->Fail("it gives ", std::string(Name(result)), "; exported functions give real numbers");
  }
  state_->builder.MakeFunction(result);
}

void TraceScope::Return(const Operand& result) {
  if (state_->builder.status().ok()) state_->builder.Result(state_->Value(result));
}

std::shared_ptr<const LibraryPart> LibraryOf(std::shared_ptr<const TracedKernel> function,
                                             const CompileOptions& options) {
  std::string name = function->name();
  return MakeLibraryPart(
      std::move(name), [function = std::move(function), options](const Target& target) -> absl::StatusOr<std::string> {
        SLIPWAY_ASSIGN_OR_RETURN(const CompiledKernel compiled, function->Compile(target, /*index32=*/false, options));
        return compiled.inspection->ptx;
      });
}

}  // namespace slipway::internal
