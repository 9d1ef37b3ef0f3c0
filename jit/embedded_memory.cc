// Tracing of arrays, accesses to memory, and of what threads do together.
#include <string>
#include <utility>
#include <vector>

#include "driver/check.h"
#include "jit/effects.h"
#include "jit/trace_state.h"
#include "slipway/embedded/trace.h"

namespace slipway::internal {
namespace {

template <class Op>
Op OpByName(const char* name, int count) {
  for (int i = 0; i < count; ++i) {
    if (std::string(name) == ir::RowOf(static_cast<Op>(i)).name) return static_cast<Op>(i);
  }
  SLIPWAY_CHECK(false, "an embedded header names an operation that is not in jit/effects.h");
  return Op{};
}

}  // namespace

// Arrays.

TraceRef NewArray(ArraySpace space, DType dtype, const int64_t* shape, size_t rank, std::string data) {
  TraceScope::State* trace = CurrentTrace();
  if (trace == nullptr) return {};
  const absl::Span<const int64_t> extents(shape, rank);
  const std::string number = std::to_string(trace->arrays++);
  switch (space) {
    case ArraySpace::kLocal:
      return trace->Ref(trace->builder.AddLocalArray("local" + number, dtype, extents));
    case ArraySpace::kShared:
      return trace->Ref(trace->builder.AddSharedArray("shared" + number, dtype, extents));
    case ArraySpace::kConstant:
      return trace->Ref(trace->builder.AddConstantArray("constant" + number, dtype, extents, std::move(data)));
  }
  return {};
}

TraceRef BlockScratch(DType dtype) {
  TraceScope::State* trace = CurrentTrace();
  if (trace == nullptr || dtype == DType::kVoid) return {};
  TraceRef& scratch = trace->block_scratch[static_cast<int>(dtype)];
  if (scratch.trace == 0) {
    const std::string name = "block_" + std::string(Name(dtype));
    scratch = trace->Ref(trace->builder.AddSharedArray(name, dtype, {2 * ir::kWarpSize}));
  }
  return scratch;
}

TraceRef NewDynamicSharedArray(DType dtype, Operands extents) {
  TraceScope::State* trace = TraceOf(extents);
  if (trace == nullptr) return {};
  const std::string name = "shared" + std::to_string(trace->arrays++);
  return trace->Ref(trace->builder.AddDynamicSharedArray(name, dtype, Resolved(trace, extents)));
}

TraceRef StructField(uint32_t param, uint32_t offset, DType dtype) {
  TraceScope::State* trace = CurrentTrace();
  return trace == nullptr ? TraceRef{} : trace->Ref(trace->builder.Field(param, offset, dtype));
}

void BoundLaunches(const LaunchBounds& bounds) {
  if (TraceScope::State* trace = CurrentTrace()) trace->builder.SetBounds(bounds);
}

// Elements.

TraceRef LoadElement(TraceRef array, const Indices& indices, const MemoryAccess& access) {
  TraceScope::State* trace = TraceOf(array);
  if (trace == nullptr) return {};
  const ir::ArrayId id = trace->Resolve(array);
  return trace->Ref(trace->builder.Load(id, Resolved(trace, indices), access));
}
void StoreElement(TraceRef array, const Indices& indices, const Operand& value, const MemoryAccess& access) {
  TraceScope::State* trace = TraceOf(array);
  if (trace == nullptr) return;
  const ir::ArrayId id = trace->Resolve(array);
  trace->builder.Store(id, Resolved(trace, indices), trace->Value(value), access);
}

std::vector<TraceRef> LoadElements(TraceRef array, const Indices& first, int lanes, CacheHint hint) {
  std::vector<TraceRef> elements(lanes);
  TraceScope::State* trace = TraceOf(array);
  if (trace == nullptr) return elements;
  const ir::ArrayId id = trace->Resolve(array);
  const std::vector<ir::ValueId> values = trace->builder.LoadGroup(id, Resolved(trace, first), lanes, hint);
  for (int lane = 0; lane < lanes; ++lane) elements[lane] = trace->Ref(values[lane]);
  return elements;
}
void StoreElements(TraceRef array, const Indices& first, Operands values, CacheHint hint) {
  TraceScope::State* trace = TraceOf(array);
  if (trace == nullptr) return;
  const ir::ArrayId id = trace->Resolve(array);
  trace->builder.StoreGroup(id, Resolved(trace, first), Resolved(trace, values), hint);
}

TraceRef AtomicOnElement(const char* op, TraceRef array, const Indices& indices, Operands operands, MemoryOrder order,
                         MemoryScope scope) {
  TraceScope::State* trace = TraceOf(array);
  if (trace == nullptr) return {};
  const ir::ArrayId id = trace->Resolve(array);
  const std::vector<ir::ValueId> place = Resolved(trace, indices);
  const auto found = OpByName<ir::AtomicOp>(op, ir::kNumAtomics);
  return trace->Ref(trace->builder.Atomic(found, id, place, Resolved(trace, operands), order, scope));
}

// Threads.

TraceRef OnWarp(const char* op, Operands operands, int width) {
  TraceScope::State* trace = TraceOf(operands);
  if (trace == nullptr) return {};
  return trace->Ref(trace->builder.Warp(OpByName<ir::WarpOp>(op, ir::kNumWarpOps), Resolved(trace, operands), width));
}

TraceRef OnBlock(BarrierKind kind, const Operand& predicate, int id, const Operand* threads) {
  TraceScope::State* trace = TraceOf({predicate});
  if (trace == nullptr) return {};
  const auto reduction = static_cast<ir::BarrierReduction>(kind);
  const bool reduces = reduction != ir::BarrierReduction::kNone;
  const ir::ValueId value = reduces ? trace->Value(predicate) : ir::kNone;
  const ir::ValueId count = threads != nullptr ? trace->Value(*threads) : ir::kNone;
  return trace->Ref(trace->builder.ThreadBarrier(reduction, value, id, count));
}

void FenceFor(MemoryScope scope) {
  if (TraceScope::State* trace = CurrentTrace()) trace->builder.Fence(scope);
}
void SyncGrid() {
  TraceScope::State* trace = CurrentTrace();
  if (trace == nullptr) return;
  trace->builder.GridSync();
}
void SleepFor(const Operand& nanoseconds) {
  TraceScope::State* trace = TraceOf({nanoseconds});
  if (trace != nullptr) trace->builder.Sleep(trace->Value(nanoseconds));
}

}  // namespace slipway::internal
