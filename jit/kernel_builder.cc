#include "slipway/kernel_builder.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "driver/status_macros.h"
#include "jit/semantics.h"
#include "jit/trace_state.h"

namespace slipway {

using internal::Operand;
using internal::TraceRef;

KernelBuilder::Entered::Entered(const KernelBuilder& builder)
    : outer_(internal::ExchangeCurrentTrace(builder.state_.get())) {}
KernelBuilder::Entered::~Entered() {
  internal::ExchangeCurrentTrace(static_cast<internal::TraceScope::State*>(outer_));
}

KernelBuilder::KernelBuilder(std::string name) : state_(std::make_unique<internal::TraceScope::State>(name)) {
  internal::RegisterOpenTrace(state_.get());
}
// What is left behind is a builder that failed, so that it says so wherever it is used.
KernelBuilder::KernelBuilder(KernelBuilder&& other) noexcept
    : state_(std::move(other.state_)), finished_(other.finished_), grid_strides_(other.grid_strides_) {
  other = KernelBuilder("moved");
  other.state_->builder.Fail(
      absl::FailedPreconditionError("the KernelBuilder was moved from; use the one that it was moved to"));
}
KernelBuilder& KernelBuilder::operator=(KernelBuilder&& other) noexcept {
  std::swap(state_, other.state_);
  std::swap(finished_, other.finished_);
  std::swap(grid_strides_, other.grid_strides_);
  return *this;
}
KernelBuilder::~KernelBuilder() {
  if (state_ != nullptr) internal::ForgetOpenTrace(state_.get());
}

// Parameters.

AnyArrayVar KernelBuilder::Array(std::string name, DType dtype, int rank, Layout layout, Alignment alignment) {
  const Entered entered(*this);
  state_->CheckParamName(name);
  if (alignment > Alignment::kVectorRows) {
    state_->Fail("array '", name, "' has alignment #", static_cast<int>(alignment),
                 "; Alignment::kElement, kVector or kVectorRows is wanted");
  }
  if (alignment == Alignment::kVectorRows && layout != Layout::kContiguous) {
    state_->builder.Fail(absl::InvalidArgumentError(
        absl::StrCat("array '", name,
                     "' is strided, and only contiguous ones have rows of whole vectors; declare it "
                     "contiguous, or with Alignment::kVector")));
  }
  return AnyArrayVar::FromTrace(
      state_->Ref(state_->builder.AddArray({.name = std::move(name),
                                            .kind = ParamKind::kArray,
                                            .dtype = dtype,
                                            .rank = rank,
                                            .layout = layout,
                                            .vector = alignment != Alignment::kElement,
                                            .vector_rows = alignment == Alignment::kVectorRows})));
}
AnyExpr KernelBuilder::Scalar(std::string name, DType dtype) {
  const Entered entered(*this);
  state_->CheckParamName(name);
  return AnyExpr::FromTrace(internal::ScalarParam(state_->builder.AddScalar(std::move(name), dtype)));
}
uint32_t KernelBuilder::Struct(std::string name, uint32_t size, uint32_t align) {
  state_->CheckParamName(name);
  return state_->builder.AddStruct(std::move(name), size, align);
}
AnyExpr KernelBuilder::Field(uint32_t structure, uint32_t offset, DType dtype) {
  const Entered entered(*this);
  return AnyExpr::FromTrace(internal::StructField(structure, offset, dtype));
}

// Arrays of the kernel's own.

AnyArrayVar KernelBuilder::SharedArray(DType dtype, absl::Span<const int64_t> shape) {
  const Entered entered(*this);
  return slipway::SharedArray(dtype, shape);
}
AnyArrayVar KernelBuilder::LocalArray(DType dtype, absl::Span<const int64_t> shape) {
  const Entered entered(*this);
  return slipway::LocalArray(dtype, shape);
}
AnyArrayVar KernelBuilder::DynamicSharedArray(DType dtype, absl::Span<const AnyExpr> extents) {
  const Entered entered(*this);
  std::vector<Operand> operands;
  for (const AnyExpr& extent : extents) operands.push_back(extent.Get());
  return AnyArrayVar::FromTrace(internal::NewDynamicSharedArray(dtype, operands));
}
AnyArrayVar KernelBuilder::ConstantArray(DType dtype, absl::Span<const int64_t> shape, std::string bytes) {
  const Entered entered(*this);
  return AnyArrayVar::FromTrace(
      internal::NewArray(internal::ArraySpace::kConstant, dtype, shape.data(), shape.size(), std::move(bytes)));
}

// Values.

AnyExpr KernelBuilder::Literal(int64_t value) {
  const Entered entered(*this);
  return AnyExpr(value);
}
AnyExpr KernelBuilder::Literal(double value) {
  const Entered entered(*this);
  return AnyExpr(value);
}
AnyExpr KernelBuilder::Literal(bool value) {
  const Entered entered(*this);
  return AnyExpr(value);
}
AnyExpr KernelBuilder::CastOperand(DType dtype, const Operand& value, const char* kind) {
  const Entered entered(*this);
  return AnyExpr::FromTrace(internal::CastTo(dtype, value, kind));
}
AnyExpr KernelBuilder::Cast(DType dtype, const AnyExpr& value) { return CastOperand(dtype, value.Get()); }
AnyExpr KernelBuilder::RoundCast(DType dtype, const AnyExpr& value, Rounding rounding) {
  return CastOperand(dtype, value.Get(), internal::CastKind(rounding));
}
AnyExpr KernelBuilder::SaturateCast(DType dtype, const AnyExpr& value) {
  return CastOperand(dtype, value.Get(), "sat");
}
AnyExpr KernelBuilder::BitCast(DType dtype, const AnyExpr& value) { return CastOperand(dtype, value.Get(), "bits"); }

AnyExpr KernelBuilder::Call(const AnyExternalFunction& function, absl::Span<const AnyExpr> arguments) {
  const Entered entered(*this);
  std::vector<Operand> operands;
  for (const AnyExpr& argument : arguments) operands.push_back(argument.Get());
  return AnyExpr::FromTrace(internal::CallExternal(function, operands));
}
AnyExpr KernelBuilder::Address(const AnyArrayVar& array, bool read_only) {
  const Entered entered(*this);
  return AnyExpr::FromTrace(internal::AddressOfArray(array.Get(), !read_only));
}

AnyExpr KernelBuilder::Apply(const std::string& op, absl::Span<const AnyExpr> operands) {
  const Entered entered(*this);
  ir::Op found;
  if (!ir::OpFromName(op, &found)) {
    state_->Fail("there is no operator or function '", absl::Utf8SafeCHexEscape(op.substr(0, 64)), "'");
    return AnyExpr::FromTrace({});
  }
  const int arity = ir::SemanticsOf(found).arity;
  if (operands.size() != static_cast<size_t>(arity)) {
    state_->Fail("'", op, "' takes ", arity, arity == 1 ? " operand" : " operands", ", not ", operands.size());
    return AnyExpr::FromTrace({});
  }
  std::vector<Operand> list;
  for (const AnyExpr& operand : operands) list.push_back(operand.Get());
  return AnyExpr::FromTrace(internal::Apply(op.c_str(), list, DType::kVoid));
}

AnyVar KernelBuilder::Variable(const AnyExpr& value) {
  const Entered entered(*this);
  return AnyVar(value);
}
AnyVar KernelBuilder::Variable(DType dtype, const AnyExpr& value) {
  const Entered entered(*this);
  return AnyVar(dtype, value);
}

AnyExpr KernelBuilder::GlobalIndex() {
  const Entered entered(*this);
  return slipway::GlobalIndex();
}
AnyExpr KernelBuilder::ThreadIndex(int dimension) {
  const Entered entered(*this);
  return slipway::ThreadIndex(dimension);
}
AnyExpr KernelBuilder::BlockIndex(int dimension) {
  const Entered entered(*this);
  return slipway::BlockIndex(dimension);
}
AnyExpr KernelBuilder::BlockSize(int dimension) {
  const Entered entered(*this);
  return slipway::BlockSize(dimension);
}
AnyExpr KernelBuilder::GridSize(int dimension) {
  const Entered entered(*this);
  return slipway::GridSize(dimension);
}
AnyExpr KernelBuilder::LaneIndex() {
  const Entered entered(*this);
  return slipway::LaneIndex();
}

// Control flow.

void KernelBuilder::BeginIf(const AnyExpr& condition) {
  const Entered entered(*this);
  internal::BeginIf(condition.Get());
}
void KernelBuilder::Else() { state_->builder.BeginElse(); }
void KernelBuilder::EndIf() { state_->builder.EndIf(); }
AnyExpr KernelBuilder::BeginFor(const AnyExpr& begin, const AnyExpr& end, const AnyExpr& step, uint32_t unroll) {
  const Entered entered(*this);
  const auto bound = [](const AnyExpr& value) { return internal::LoopBound(value.Get()); };
  const TraceRef first = bound(begin), last = bound(end), by = bound(step);
  return AnyExpr::FromTrace(internal::BeginFor(first, last, by, unroll));
}
void KernelBuilder::EndFor() {
  state_->builder.EndFor();
  if (grid_strides_ > 0 && state_->builder.depth() < grid_strides_) --grid_strides_;
}
void KernelBuilder::BeginWhile() { state_->builder.BeginWhile(); }
void KernelBuilder::WhileCondition(const AnyExpr& condition) {
  const Entered entered(*this);
  internal::WhileCondition(condition.Get());
}
void KernelBuilder::EndWhile() { state_->builder.EndWhile(); }

AnyExpr KernelBuilder::GridStrideIndex(const AnyExpr& n) {
  const Entered entered(*this);
  const LoopRange range = GridStride(n);
  const AnyExpr index =
      AnyExpr::FromTrace(internal::BeginFor(range.begin.Get(), range.end.Get(), range.step.Get(), /*unroll=*/0));
  // Only loops that nothing else is open around can go on to the end of the kernel.
  if (state_->builder.depth() == grid_strides_ + 1) ++grid_strides_;
  return index;
}

void KernelBuilder::Break() { state_->builder.Break(); }
void KernelBuilder::Continue() { state_->builder.Continue(); }
void KernelBuilder::Return() { state_->builder.Return(); }

void KernelBuilder::SyncThreads() {
  const Entered entered(*this);
  slipway::SyncThreads();
}
void KernelBuilder::SyncGrid() { state_->builder.GridSync(); }
void KernelBuilder::Fence(MemoryScope scope) { state_->builder.Fence(scope); }
void KernelBuilder::Printf(const std::string& format, absl::Span<const AnyExpr> operands) {
  const Entered entered(*this);
  std::vector<Operand> list;
  for (const AnyExpr& operand : operands) list.push_back(operand.Get());
  internal::PrintfOf(format, list);
}
void KernelBuilder::CheckThat(const AnyExpr& condition, const std::string& message, absl::Span<const AnyExpr> operands,
                              bool stops) {
  const Entered entered(*this);
  std::vector<Operand> list;
  for (const AnyExpr& operand : operands) list.push_back(operand.Get());
  internal::CheckThat(condition.Get(), message, list, stops);
}
void KernelBuilder::Assert(const AnyExpr& condition, const std::string& message, const std::source_location& where) {
  const Entered entered(*this);
  internal::LocateAt(where);
  internal::AssertThat(condition.Get(), message);
}
void KernelBuilder::Bounds(const LaunchBounds& bounds) { state_->builder.SetBounds(bounds); }

// The end.

absl::Status KernelBuilder::status() const {
  if (finished_ == nullptr) return state_->builder.status();
  return finished_->status().ok() && state_->builder.refused() ? state_->builder.status() : finished_->status();
}

const internal::TracedKernel& KernelBuilder::Finish() {
  if (finished_ == nullptr) {
    for (; grid_strides_ > 0 && state_->builder.depth() == grid_strides_; --grid_strides_) state_->builder.EndFor();
    finished_ = internal::FinishTrace(*state_, /*infer_read_only=*/true, /*infer_wide_accesses=*/false);
    // An error for what may come, of which nobody is told unless something does.
    state_->Fail("something is added to it after it was built; make another KernelBuilder");
    state_->builder.ForgetRefused();
  }
  return *finished_;
}

absl::StatusOr<std::string> KernelBuilder::Ir() {
  const internal::TracedKernel& kernel = Finish();
  SLIPWAY_RETURN_IF_ERROR(status());
  return kernel.ir();
}
absl::StatusOr<CompiledKernel> KernelBuilder::Compile(const Device& device, bool index32,
                                                      const CompileOptions& options) {
  SLIPWAY_ASSIGN_OR_RETURN(const Target target, TargetFor(device));
  return Compile(target, index32, options);
}
absl::StatusOr<CompiledKernel> KernelBuilder::Compile(const Target& target, bool index32,
                                                      const CompileOptions& options) {
  const internal::TracedKernel& kernel = Finish();
  SLIPWAY_RETURN_IF_ERROR(status());
  return kernel.Compile(target, index32, options);
}
absl::StatusOr<std::vector<CompiledKernel>> KernelBuilder::CompileForAll(absl::Span<const Target> targets, bool index32,
                                                                         const CompileOptions& options) {
  std::vector<CompiledKernel> kernels;
  for (const Target& target : targets) {
    absl::StatusOr<CompiledKernel> compiled = Compile(target, index32, options);
    if (!compiled.ok()) {
      return absl::Status(compiled.status().code(), absl::StrCat(ToString(target), ": ", compiled.status().message()));
    }
    kernels.push_back(*std::move(compiled));
  }
  return kernels;
}
absl::StatusOr<Kernel> KernelBuilder::Build(const Device& device, bool index32, const CompileOptions& options) {
  SLIPWAY_ASSIGN_OR_RETURN(CompiledKernel compiled, Compile(device, index32, options));
  return Kernel::Load(device, std::move(compiled));
}

}  // namespace slipway
