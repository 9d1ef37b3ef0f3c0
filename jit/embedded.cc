// Tracing of embedded kernels: every operation of Var, ArrayVar, If, For, ... ends here and goes on to an ir::Builder.
#include <array>
#include <atomic>
#include <complex>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "driver/check.h"
#include "driver/log.h"
#include "driver/status_macros.h"
#include "jit/builder.h"
#include "jit/compile.h"
#include "jit/compile_cache.h"
#include "jit/fold.h"
#include "jit/ir.h"
#include "jit/random.h"
#include "jit/semantics.h"
#include "jit/trace_state.h"
#include "slipway/embedded/trace.h"
#include "slipway/facts.h"

namespace slipway::internal {
namespace {

class Traced final : public TracedKernel {
 public:
  Traced(std::string name, bool grid_stride, bool along_x, absl::StatusOr<ir::Kernel> kernel)
      : name_(std::move(name)), status_(kernel.status()), grid_stride_(grid_stride), along_x_(along_x) {
    if (kernel.ok()) kernel_ = *std::move(kernel);
  }
  const std::string& name() const override { return name_; }
  const absl::Status& status() const override { return status_; }
  std::string ir() const override { return status_.ok() ? ir::Print(kernel_) : std::string(); }

  absl::StatusOr<CompiledKernel> Compile(const Target& target, bool index32,
                                         const CompileOptions& options) const override {
    SLIPWAY_RETURN_IF_ERROR(status_);
    if (!index32) return Compiled(CompileOnce(kernel_, target, options));
    ir::Kernel narrow = kernel_;
    for (ParamSpec& param : narrow.params) {
      if (param.kind == ParamKind::kArray) param.index = IndexWidth::kIndex32;
    }
    return Compiled(CompileOnce(narrow, target, options));
  }

 private:
  absl::StatusOr<CompiledKernel> Compiled(absl::StatusOr<CompiledKernel> kernel) const {
    if (!kernel.ok()) return kernel;
    kernel->grid_stride = grid_stride_;
    kernel->along_x = along_x_;
    return kernel;
  }

  std::string name_;
  absl::Status status_;
  bool grid_stride_, along_x_;  // See CompiledKernel.
  ir::Kernel kernel_;
};

// Arrays that no instruction writes are read-only: launches then take views of const elements for them.
void InferReadOnly(ir::Kernel& kernel) {
  for (ParamSpec& param : kernel.params) param.read_only = param.kind == ParamKind::kArray;
  for (const ir::Inst& inst : kernel.insts) {
    const bool writes = inst.op == ir::Op::kStore || inst.op == ir::Op::kStoreGroup || inst.op == ir::Op::kAtomic ||
                        (inst.op == ir::Op::kAddress && inst.imm2 != 0);
    const auto array = static_cast<ir::ArrayId>(inst.imm);
    if (writes && !ir::IsBuffer(array)) kernel.params[array].read_only = false;
  }
}

// What launches know of the alignment of arrays is kept where accesses may become wide ones by it: of arrays that are
// read or written at several places. So other kernels are compiled once, however their arrays lie.
void InferWideAccesses(ir::Kernel& kernel) {
  std::vector<int> loads(kernel.params.size()), stores(kernel.params.size());
  for (const ir::Inst& inst : kernel.insts) {
    const auto array = static_cast<ir::ArrayId>(inst.imm);
    if (inst.op == ir::Op::kLoad && !ir::IsBuffer(array)) ++loads[array];
    if (inst.op == ir::Op::kStore && !ir::IsBuffer(array)) ++stores[array];
  }
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    ParamSpec& param = kernel.params[i];
    if ((loads[i] > 1 || stores[i] > 1) && SizeOf(param.dtype) < facts::kVectorBytes) continue;
    param.vector = param.vector_rows = false;
  }
}

// Numbers each trace, so that values of one are not taken for values of another. 0 is no trace.
uint32_t NextSerial() {
  static std::atomic<uint32_t> next{1};
  uint32_t serial = next.fetch_add(1, std::memory_order_relaxed);
  while (serial == 0) serial = next.fetch_add(1, std::memory_order_relaxed);
  return serial;
}

}  // namespace

TraceScope::State::State(const std::string& kernel_name)
    : name(kernel_name), serial(NextSerial()), builder(kernel_name) {}

void TraceScope::State::CheckParamName(const std::string& parameter) {
  for (uint32_t i = 0; i < builder.num_params(); ++i) {
    if (builder.Param(i).name == parameter) {
      return Fail("two parameters are called '", parameter, "'; give each its own name");
    }
  }
}

uint32_t TraceScope::State::Resolve(TraceRef ref) {
  if (ref.trace == serial) return ref.id;
  if (builder.status().ok()) {
    Fail(ref.trace == 0 ? "a Var that holds nothing is used: it was moved from, or made outside of any kernel"
                        : "a Var, Expr or ArrayVar of another kernel is used; values belong to the kernel whose "
                          "function made them");
  }
  return ir::kNone;
}

// A number that lies in the function object was captured by value; one whose address lies there, by reference: a
// reference that is captured is kept as a pointer, by every compiler that we know. Were it not, the number would be a
// constant of the kernel, which is slower and not wrong.
bool TraceScope::State::Holds(const void* source) const {
  if (closure == nullptr || source == nullptr) return false;
  const auto* const at = static_cast<const std::byte*>(source);
  if (!std::less<>()(at, closure) && std::less<>()(at, closure + closure_bytes)) return true;
  for (size_t i = 0; i + sizeof(void*) <= closure_bytes; i += sizeof(void*)) {
    if (std::memcmp(closure + i, &source, sizeof(void*)) == 0) return true;
  }
  return false;
}

ir::ValueId TraceScope::State::Value(const Operand& operand) {
  const bool held = operand.kind != Operand::kValue && Holds(operand.source);
  if (operand.kind != Operand::kComplex128) return held ? Capture(operand) : Number(operand);
  // Its parts, each a number with a place of its own.
  Operand re = operand.real, im = operand.imag;
  re.source = operand.source;
  im.source = static_cast<const std::byte*>(operand.source) + (held ? sizeof(float) : 0);
  const ir::ValueId real_part = held ? Capture(re) : Number(re);
  return builder.Complex(real_part, held ? Capture(im) : Number(im));
}

ir::ValueId TraceScope::State::Capture(const Operand& operand) {
  const ir::ValueId value = Number(operand);
  // The place alone does not tell a number: the function may be mutable.
  for (const Captured& known : captured) {
    if (known.source == operand.source && known.kind == operand.kind && known.bits == operand.NumberBits()) {
      return builder.Captured(value, known.origin);
    }
  }
  captured.push_back({operand.source, operand.kind, operand.NumberBits(), builder.NewOrigin()});
  return builder.Captured(value, captured.back().origin);
}

ir::ValueId TraceScope::State::Number(const Operand& operand) {
  switch (operand.kind) {
    case Operand::kValue:
      return Resolve(operand.ref);
    case Operand::kInt64:
      return builder.Literal(static_cast<int64_t>(operand.bits));
    case Operand::kUInt64:
      return builder.Literal(operand.bits);
    case Operand::kFloat64:
      return builder.Literal(operand.real);
    case Operand::kComplex128:
      return builder.Literal(std::complex<double>(operand.real, operand.imag));
    case Operand::kBool:
      return builder.Literal(operand.bits != 0);
    case Operand::kBits:
      return builder.Constant(operand.type, operand.bits);
  }
  return ir::kNone;
}

namespace {

thread_local TraceScope::State* current = nullptr;

}  // namespace

TraceScope::TraceScope(std::string name, Signature params, const std::vector<std::string>& given)
    : state_(std::make_unique<State>(name)), outer_(current) {
  if (outer_ != nullptr) {
    state_->builder.Fail(absl::FailedPreconditionError(
        absl::StrCat("kernel '", name, "' is made inside the function of kernel '", outer_->name,
                     "'; make it before, and launch the two one after the other")));
  }
  if (!given.empty() && given.size() != params.size()) {
    state_->Fail("the number of names (", given.size(), ") is not that of its parameters (", params.size(),
                 "); name each, in order, or none");
  }
  for (size_t i = 0; i < params.size(); ++i) {
    ParamSpec& param = params[i];
    param.name = i < given.size() ? given[i] : absl::StrCat("arg", i);
    state_->CheckParamName(param.name);
    if (param.kind == ParamKind::kArray) {
      state_->builder.AddArray(std::move(param));
    } else if (param.kind == ParamKind::kStruct) {
      state_->builder.AddStruct(std::move(param.name), param.struct_size, param.struct_align);
    } else {
      state_->builder.AddScalar(std::move(param.name), param.dtype);
    }
  }
  current = state_.get();
}
TraceScope::~TraceScope() { current = outer_; }
void TraceScope::Capturing(const void* function, size_t bytes) {
  state_->closure = static_cast<const std::byte*>(function);
  state_->closure_bytes = bytes;
}
bool TraceScope::ok() const { return state_->builder.status().ok(); }
std::shared_ptr<const TracedKernel> TraceScope::Finish(bool infer_read_only) {
  return FinishTrace(*state_, infer_read_only, /*infer_wide_accesses=*/true);
}

std::shared_ptr<const TracedKernel> FinishTrace(TraceScope::State& trace, bool infer_read_only,
                                                bool infer_wide_accesses) {
  absl::StatusOr<ir::Kernel> kernel = std::move(trace.builder).Finish();
  if (kernel.ok() && infer_read_only) InferReadOnly(*kernel);
  if (kernel.ok() && infer_wide_accesses) InferWideAccesses(*kernel);
  const bool grid_stride = trace.strides_grid && !trace.asks_for_place;
  const bool along_x = trace.strides_grid && !trace.asks_beside_x;
  return std::make_shared<Traced>(trace.name, grid_stride, along_x, std::move(kernel));
}

TraceScope::State* ExchangeCurrentTrace(TraceScope::State* trace) { return std::exchange(current, trace); }

namespace {

// Traces that are open beside the current ones of threads: KernelBuilders. Few, and looked for only by operations
// outside of their lambdas.
struct OpenTraces {
  std::mutex mutex;
  absl::flat_hash_map<uint32_t, TraceScope::State*> by_serial;

  static OpenTraces& Get() {
    static auto* const traces = new OpenTraces;
    return *traces;
  }
};

}  // namespace

void RegisterOpenTrace(TraceScope::State* trace) {
  OpenTraces& open = OpenTraces::Get();
  const std::lock_guard lock(open.mutex);
  open.by_serial[trace->serial] = trace;
}
void ForgetOpenTrace(TraceScope::State* trace) {
  OpenTraces& open = OpenTraces::Get();
  const std::lock_guard lock(open.mutex);
  open.by_serial.erase(trace->serial);
}

TraceScope::State* TraceOf(TraceRef ref) {
  if (ref.trace == 0 || (current != nullptr && current->serial == ref.trace)) return CurrentTrace();
  OpenTraces& open = OpenTraces::Get();
  {
    const std::lock_guard lock(open.mutex);
    const auto found = open.by_serial.find(ref.trace);
    // A value of a builder inside of another kernel's function is an error of that kernel.
    if (found != open.by_serial.end() && current == nullptr) return found->second;
  }
  return CurrentTrace();
}
TraceScope::State* TraceOf(Operands operands) {
  for (const Operand& operand : operands) {
    if (operand.kind == Operand::kValue) return TraceOf(operand.ref);
  }
  return CurrentTrace();
}

TraceEntry::TraceEntry(const Operand& operand)
    : outer_(ExchangeCurrentTrace(operand.kind == Operand::kValue && operand.ref.trace != 0 ? TraceOf(operand.ref)
                                                                                            : current)) {}
TraceEntry::~TraceEntry() { ExchangeCurrentTrace(static_cast<TraceScope::State*>(outer_)); }

TraceScope::State* CurrentTrace() {
  if (current == nullptr) {
    static const bool said = [] {
      LogWarning("an operation on Var, Expr or ArrayVar outside of a kernel's function does nothing");
      return true;
    }();
    (void)said;
  }
  return current;
}

TraceRef Apply(const char* op, Operands operands, DType type) {
  TraceScope::State* trace = TraceOf(operands);
  if (trace == nullptr) return {};
  ir::Op found;
  SLIPWAY_CHECK(ir::OpFromName(op, &found),
                "embedded/operators.h names an operator that is not in the semantics table");
  const ir::ValueId result = trace->builder.Apply(found, Resolved(trace, operands));
  if (!trace->builder.status().ok()) return {};
  SLIPWAY_CHECK(type == DType::kVoid || trace->builder.TypeOf(result) == type,
                "C++ and the semantics table disagree on the type of a result");
  return trace->Ref(result);
}

TraceRef CastTo(DType type, const Operand& value, const char* kind) {
  TraceScope::State* trace = TraceOf({value});
  if (trace == nullptr) return {};
  for (int i = 0; i < ir::kNumCastKinds; ++i) {
    const ir::CastKind candidate = static_cast<ir::CastKind>(i);
    if (std::string_view(kind) != ir::Suffix(candidate)) continue;
    return trace->Ref(trace->builder.Cast(type, trace->Value(value), candidate));
  }
  trace->Fail("a cast's rounding is none of Rounding's; kNearest, kToZero, kUp or kDown is wanted");
  return {};
}

std::array<TraceRef, 4> PhiloxBlock(Operands seed_stream_counter) {
  TraceScope::State* trace = TraceOf(seed_stream_counter);
  if (trace == nullptr) return {};
  const std::vector<ir::ValueId> operands = Resolved(trace, seed_stream_counter);
  const auto wide = [&](int i) {
    ir::Builder& builder = trace->builder;
    if (builder.status().ok() && !IsInteger(builder.TypeOf(operands[i]))) {
      trace->Fail("a seed, stream or counter of random numbers is ", std::string(Name(builder.TypeOf(operands[i]))),
                  "; an integer is wanted: cast it to uint64");
    }
    return ir::Term{&builder, builder.Cast(DType::kUInt64, operands[i])};
  };
  const ir::Term seed = wide(0), stream = wide(1), counter = wide(2);
  const ir::RandomWords words = ir::Philox4x32(seed, stream, counter);
  std::array<TraceRef, 4> refs;
  for (int i = 0; i < 4; ++i) refs[i] = trace->Ref(words[i].id);
  return refs;
}

TraceRef NewVariable(DType type, const Operand& value) {
  TraceScope::State* trace = TraceOf({value});
  if (trace == nullptr) return {};
  return trace->Ref(trace->builder.NewVar("", type, trace->Value(value)));
}
TraceRef ReadVariable(TraceRef variable) {
  TraceScope::State* trace = TraceOf(variable);
  if (trace == nullptr) return {};
  return trace->Ref(trace->builder.Read(trace->Resolve(variable)));
}
void WriteVariable(TraceRef variable, const Operand& value) {
  TraceScope::State* trace = TraceOf(variable);
  if (trace == nullptr) return;
  trace->builder.Write(trace->Resolve(variable), trace->Value(value));
}

TraceRef ScalarParam(uint32_t param) {
  TraceScope::State* trace = CurrentTrace();
  return trace == nullptr ? TraceRef{} : trace->Ref(trace->builder.Scalar(param));
}
TraceRef ArrayParam(uint32_t param) {
  TraceScope::State* trace = CurrentTrace();
  return trace == nullptr ? TraceRef{} : trace->Ref(param);
}

std::vector<ir::ValueId> Resolved(TraceScope::State* trace, Operands operands) {
  std::vector<ir::ValueId> values;
  for (const Operand& operand : operands) values.push_back(trace->Value(operand));
  return values;
}
std::vector<ir::ValueId> Resolved(TraceScope::State* trace, const Indices& indices) {
  std::vector<ir::ValueId> values;
  for (int i = 0; i < indices.count; ++i) values.push_back(trace->Resolve(indices.at[i]));
  return values;
}

void LocateAt(const std::source_location& where) {
  if (current == nullptr) return;
  ir::Builder& builder = current->builder;
  builder.SetLocation({where.line(), where.column(), builder.AddFile(where.file_name())});
}

TraceRef ValueOf(const Operand& operand) {
  TraceScope::State* trace = TraceOf({operand});
  return trace == nullptr ? TraceRef{} : trace->Ref(trace->Value(operand));
}
TraceRef Extent(TraceRef array, int dimension) {
  TraceScope::State* trace = TraceOf(array);
  return trace == nullptr ? TraceRef{} : trace->Ref(trace->builder.Shape(trace->Resolve(array), dimension));
}

TraceRef SizeOfArray(TraceRef array) {
  TraceScope::State* trace = TraceOf(array);
  if (trace == nullptr) return {};
  const int rank = ParamOf(array).rank;
  if (rank == 0) return trace->Ref(trace->builder.Constant(DType::kInt64, 1));
  const uint32_t param = trace->Resolve(array);
  ir::ValueId size = trace->builder.Shape(param, 0);
  for (int d = 1; d < rank; ++d) size = trace->builder.Apply(ir::Op::kMul, {size, trace->builder.Shape(param, d)});
  return trace->Ref(size);
}

TraceRef GlobalIndexValue() {
  TraceScope::State* trace = CurrentTrace();
  if (trace == nullptr) return {};
  trace->asks_for_place = true;
  return trace->Ref(trace->builder.GlobalIndex(DType::kInt64));
}
TraceRef GridStrideFirst() {
  TraceScope::State* trace = CurrentTrace();
  if (trace == nullptr) return {};
  trace->strides_grid = true;
  trace->first_element = trace->builder.GlobalIndex(DType::kInt64);
  return trace->Ref(trace->first_element);
}
TraceRef GridStrideStep() {
  TraceScope::State* trace = CurrentTrace();
  if (trace == nullptr) return {};
  ir::Builder& builder = trace->builder;
  const ir::ValueId blocks = builder.Cast(DType::kInt64, builder.Special(ir::SpecialRegister::kGridDimX));
  const ir::ValueId threads = builder.Cast(DType::kInt64, builder.Special(ir::SpecialRegister::kBlockDimX));
  return trace->Ref(builder.Apply(ir::Op::kMul, {blocks, threads}));
}
namespace {
std::optional<ir::SpecialRegister> RegisterByName(std::string_view name) {
  for (int i = 0; i < ir::kNumSpecialRegisters; ++i) {
    const auto reg = static_cast<ir::SpecialRegister>(i);
    if (name == ir::Name(reg)) return reg;
  }
  return std::nullopt;
}
}  // namespace

TraceRef SpecialValue(const char* name, int dimension) {
  TraceScope::State* trace = CurrentTrace();
  if (trace == nullptr) return {};
  trace->asks_for_place = true;
  if (dimension != 0) trace->asks_beside_x = true;
  if (dimension < 0 || dimension > 2) {
    trace->builder.Fail(absl::OutOfRangeError(
        absl::StrCat("kernel '", trace->name, "': a grid has dimensions 0, 1 and 2, not ", dimension)));
    return {};
  }
  constexpr const char* kAxes[] = {".x", ".y", ".z"};
  const std::optional<ir::SpecialRegister> reg = RegisterByName(absl::StrCat(name, kAxes[dimension]));
  SLIPWAY_CHECK(reg.has_value(), "embedded/control.h names a register that there is not");
  return trace->Ref(trace->builder.Special(*reg));
}

TraceRef RegisterValue(const char* name) {
  TraceScope::State* trace = CurrentTrace();
  if (trace == nullptr) return {};
  const std::optional<ir::SpecialRegister> reg = RegisterByName(name);
  SLIPWAY_CHECK(reg.has_value(), "embedded/threads.h names a register that there is not");
  return trace->Ref(trace->builder.Special(*reg));
}

TraceRef LoopBound(const Operand& bound) {
  TraceScope::State* trace = TraceOf({bound});
  if (trace == nullptr) return {};
  const ir::ValueId value = trace->Value(bound);
  const DType type = trace->builder.TypeOf(value);
  if (trace->builder.status().ok() && !IsInteger(type)) {
    trace->Fail("a bound of a loop is ", std::string(Name(type)), "; an integer is wanted: cast it to int64");
  }
  return trace->Ref(trace->builder.Cast(DType::kInt64, value));
}

}  // namespace slipway::internal
