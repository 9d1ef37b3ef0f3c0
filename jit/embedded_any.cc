// Tracing of values and arrays whose types the compiler does not know: what AnyVar, AnyArrayVar and AnyParam ask for.
#include <cstdint>
#include <string>
#include <utility>

#include "driver/status_macros.h"
#include "jit/trace_state.h"
#include "slipway/embedded/generic_trace.h"
#include "slipway/embedded/trace.h"
#include "slipway/signature.h"

namespace slipway::internal {
namespace {

const ParamSpec& NoParam() {
  static const auto* const none = new ParamSpec;
  return *none;
}

// The parameter as messages name it: "'x: float32[:,:]'".
std::string Quoted(const ParamSpec& param) { return absl::StrCat("'", Describe(param), "'"); }

}  // namespace

DType TypeOfValue(TraceRef value) {
  TraceScope::State* trace = TraceOf(value);
  return trace == nullptr ? DType::kVoid : trace->builder.TypeOf(trace->Resolve(value));
}

DType TypeOfVariable(TraceRef variable) {
  TraceScope::State* trace = TraceOf(variable);
  if (trace == nullptr) return DType::kVoid;
  const uint32_t var = trace->Resolve(variable);
  return trace->builder.status().ok() ? trace->builder.VarType(var) : DType::kVoid;
}

const ParamSpec& ParamOf(TraceRef array) {
  TraceScope::State* trace = TraceOf(array);
  if (trace == nullptr) return NoParam();
  const uint32_t param = trace->Resolve(array);
  return trace->builder.status().ok() ? trace->builder.Array(param) : NoParam();
}

const ParamSpec& ParamAt(uint32_t param) {
  TraceScope::State* trace = CurrentTrace();
  return trace != nullptr && trace->builder.status().ok() ? trace->builder.Param(param) : NoParam();
}

DType ElementType(DType dtype) {
  TraceScope::State* trace = CurrentTrace();
  if (trace != nullptr && dtype == DType::kVoid) {
    trace->Fail("a variable of dtype void was asked for; give it the dtype of a number");
  }
  return dtype;
}

Indices ManyIndices(const TraceRef* indices, size_t count) {
  Indices result;
  if (count > kMaxRank) {
    if (TraceScope::State* trace = TraceOf(indices[0])) {
      trace->Fail("an element was given ", count, " indices; an array has at most ", kMaxRank, " dimensions");
    }
    return result;
  }
  for (size_t i = 0; i < count; ++i) result.at[result.count++] = indices[i];
  return result;
}

// With A = outer * extent, the index inside is i - A, and a contiguous array's offset is A + (i - A): the compiler sees
// i, and the divisions go.
Indices Unravel(TraceRef array, const Operand& index) {
  Indices result;
  TraceScope::State* trace = TraceOf(array);
  if (trace == nullptr) return result;
  ir::Builder& builder = trace->builder;
  const ParamSpec& spec = ParamOf(array);
  const uint32_t param = trace->Resolve(array);
  ir::ValueId rest = trace->Value(index);
  const DType given = builder.TypeOf(rest);
  if (builder.status().ok() && !IsInteger(given)) {
    trace->Fail("the index of an element of '", spec.name, "' is ", std::string(Name(given)),
                "; an integer is wanted: cast it to int64");
  }
  result.count = spec.rank;
  // Numbers below 0 count no element, and unsigned divisions are the cheaper ones.
  const DType width = spec.index == IndexWidth::kIndex32 ? DType::kUInt32 : DType::kUInt64;
  if (spec.rank > 1) rest = builder.Cast(width, rest);
  for (int d = spec.rank - 1; d > 0; --d) {
    const ir::ValueId extent = builder.Cast(width, builder.Shape(param, d));
    const ir::ValueId outer = builder.Apply(ir::Op::kDiv, {rest, extent});
    const ir::ValueId passed = builder.Apply(ir::Op::kMul, {outer, extent});
    result.at[d] = trace->Ref(builder.Apply(ir::Op::kSub, {rest, passed}));
    rest = outer;
  }
  if (spec.rank > 0) result.at[0] = trace->Ref(rest);
  return result;
}

TraceRef AsNumber(uint32_t param) {
  TraceScope::State* trace = CurrentTrace();
  if (trace == nullptr || !trace->builder.status().ok()) return {};
  const ParamSpec& spec = trace->builder.Param(param);
  if (spec.kind != ParamKind::kScalar) {
    trace->Fail("parameter ", Quoted(spec),
                " is used as a number, and the launch gives an array; use an element of "
                "it, or give a number");
  }
  return ScalarParam(param);
}

TraceRef AsArray(uint32_t param) {
  TraceScope::State* trace = CurrentTrace();
  if (trace == nullptr || !trace->builder.status().ok()) return {};
  const ParamSpec& spec = trace->builder.Param(param);
  if (spec.kind != ParamKind::kArray) {
    trace->Fail("parameter ", Quoted(spec), " is used as an array, and the launch gives a number; give an array");
  }
  return ArrayParam(param);
}

TraceRef AsDeclared(uint32_t param, const ParamSpec& declared) {
  TraceScope::State* trace = CurrentTrace();
  if (trace == nullptr || !trace->builder.status().ok()) return {};
  const ParamSpec& given = trace->builder.Param(param);
  const bool array = declared.kind == ParamKind::kArray;
  const bool fits = given.kind == declared.kind && given.dtype == declared.dtype && given.rank == declared.rank &&
                    (!array || declared.layout == Layout::kStrided || given.layout == declared.layout);
  if (!fits) {
    ParamSpec shown = declared;
    shown.name = given.name;
    trace->Fail("the function declares ", Quoted(shown), " and the launch gives ", Quoted(given),
                "; give what is declared, or declare ", array ? "an AnyArrayVar" : "an AnyVar", " to take any type");
  }
  return array ? ArrayParam(param) : ScalarParam(param);
}

absl::Status CheckTraceable(const std::string& name, const Signature& signature, int params) {
  if (signature.size() != static_cast<size_t>(params)) {
    return absl::InvalidArgumentError(absl::StrCat("kernel '", name, "': its function takes ", params,
                                                   params == 1 ? " parameter" : " parameters", " and the launch gives ",
                                                   signature.size(), signature.size() == 1 ? " argument" : " arguments",
                                                   "; give one argument a parameter"));
  }
  for (size_t i = 0; i < signature.size(); ++i) {
    const ParamKind kind = signature[i].kind;
    if (kind == ParamKind::kScalar || kind == ParamKind::kArray) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "kernel '", name, "': argument #", i + 1, " is a ", kind == ParamKind::kPointer ? "raw pointer" : "struct",
        "; a kernel written in C++ takes arrays and numbers: give ",
        kind == ParamKind::kPointer ? "an ArrayView of what it points to" : "the struct's members one by one"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Kernel> LoadTraced(const Device& device, const TracedKernel& traced, const CompileOptions& options) {
  SLIPWAY_ASSIGN_OR_RETURN(const Target target, TargetFor(device));
  SLIPWAY_ASSIGN_OR_RETURN(CompiledKernel compiled, traced.Compile(target, /*index32=*/false, options));
  return Kernel::Load(device, std::move(compiled));
}

}  // namespace slipway::internal
