#include "driver/cpu/copy.h"

#include <cstring>
#include <limits>
#include <memory>
#include <optional>

#include "driver/cpu/runtime.h"

namespace slipway::cpu {
namespace {

// "For transfers from pageable host memory to device memory, ... the function will return once the pageable buffer has
// been copied to the staging memory" (CUDA driver API, API synchronization behavior). Larger ones are copied before the
// call returns, which comes to the same.
constexpr size_t kMaxStagedBytes = size_t{64} << 10;

std::byte* Pointer(CUdeviceptr address) { return reinterpret_cast<std::byte*>(address); }

// From the first byte to behind the last; nothing if that does not fit, or rows overlap.
std::optional<size_t> Extent(const CopyShape& shape, size_t pitch, size_t slice_pitch) {
  if (shape.rows > 1 && pitch < shape.bytes) return std::nullopt;
  constexpr size_t kMost = std::numeric_limits<ptrdiff_t>::max();
  size_t rows = 0;
  size_t slices = 0;
  size_t bytes = 0;
  if (__builtin_mul_overflow(shape.rows - 1, pitch, &rows) ||
      __builtin_mul_overflow(shape.slices - 1, slice_pitch, &slices) || __builtin_add_overflow(rows, slices, &bytes) ||
      __builtin_add_overflow(bytes, shape.bytes, &bytes) || bytes > kMost) {
    return std::nullopt;
  }
  return bytes;
}

// Whose memory a range is, and whether an asynchronous copy may use it after the call has returned. A host pointer into
// the arena's address space must be allocated; any other is the caller's.
enum class Range : uint8_t { kInvalid, kPageable, kPinned, kDevice };
Range Classify(const CopyEnd& end, size_t bytes) {
  if (end.address == 0) return Range::kInvalid;
  const Arena& arena = Runtime::Get().arena;
  if (const std::optional<Arena::Allocation> found = arena.Find(end.address, bytes)) {
    return found->kind == Arena::Kind::kHost ? Range::kPinned : Range::kDevice;
  }
  return end.where == Where::kDevice || arena.Reserved(end.address) ? Range::kInvalid : Range::kPageable;
}

bool IsEmpty(const CopyShape& shape) { return shape.bytes == 0 || shape.rows == 0 || shape.slices == 0; }

CUresult Check(const CopyEnd& to, const CopyEnd& from, const CopyShape& shape, Range* target, Range* source) {
  const std::optional<size_t> to_bytes = Extent(shape, to.pitch, to.slice_pitch);
  const std::optional<size_t> from_bytes = Extent(shape, from.pitch, from.slice_pitch);
  if (!to_bytes || !from_bytes) return CUDA_ERROR_INVALID_VALUE;
  *target = Classify(to, *to_bytes);
  *source = Classify(from, *from_bytes);
  return *target == Range::kInvalid || *source == Range::kInvalid ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

void FillIn(const CopyEnd& to, const CopyEnd& from, const CopyShape& shape, Op* op) {
  op->kind = OpKind::kCopy;
  op->to = Pointer(to.address);
  op->from = Pointer(from.address);
  op->count = shape.bytes;
  op->box = {.rows = shape.rows,
             .slices = shape.slices,
             .to_pitch = to.pitch,
             .to_slice = to.slice_pitch,
             .from_pitch = from.pitch,
             .from_slice = from.slice_pitch};
}

// Whose memory a fill is of.
CUresult CheckFill(CUdeviceptr to, size_t pitch, uint32_t width, size_t count, size_t rows, Arena::Kind* kind) {
  if (to % width != 0 || (rows > 1 && pitch % width != 0) || count > std::numeric_limits<size_t>::max() / width) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::optional<size_t> bytes = Extent({.bytes = count * width, .rows = rows}, pitch, 0);
  if (!bytes) return CUDA_ERROR_INVALID_VALUE;
  const std::optional<Arena::Allocation> found = Runtime::Get().arena.Find(to, *bytes);
  if (!found) return CUDA_ERROR_INVALID_VALUE;
  *kind = found->kind;
  return CUDA_SUCCESS;
}

void FillIn(CUdeviceptr to, size_t pitch, uint32_t value, uint32_t width, size_t count, size_t rows, Op* op) {
  op->kind = OpKind::kFill;
  op->to = Pointer(to);
  op->value = value;
  op->width = width;
  op->count = count;
  op->box.rows = rows;
  op->box.to_pitch = pitch;
}

}  // namespace

CUresult Copy(const CopyEnd& to, const CopyEnd& from, const CopyShape& shape, CUstream handle, CopyWait how) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  Captures& captures = Runtime::Get().captures;
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(ResolveStream(handle, &stream));
  const bool capturing = Captures::IsCapturing(*stream);
  if (how != CopyWait::kAsync) SLIPWAY_RETURN_IF_FAILED(captures.BeforeSynchronousCall(*stream));
  if (IsEmpty(shape)) return CUDA_SUCCESS;
  Range target = Range::kInvalid, source = Range::kInvalid;
  SLIPWAY_RETURN_IF_FAILED(Check(to, from, shape, &target, &source));
  bool wait = how == CopyWait::kAlways ||
              (how == CopyWait::kSync && !(target == Range::kDevice && source == Range::kDevice)) ||
              target == Range::kPageable;
  const bool stage = source == Range::kPageable && !wait && !capturing && shape.rows * shape.slices == 1 &&
                     shape.bytes <= kMaxStagedBytes;
  wait |= source == Range::kPageable && !stage;
  Engine& engine = Engine::Get();
  Op* op = engine.NewOp(OpKind::kCopy);
  FillIn(to, from, shape, op);
  if (stage) {
    std::memcpy(op->buffer.Reserve(shape.bytes), op->from, shape.bytes);
    op->from = op->buffer.data();
  }
  if (!wait || capturing) return captures.Submit(stream, op);
  return engine.EnqueueAndWait(*stream, op);
}

CUresult Fill(CUdeviceptr to, size_t pitch, uint32_t value, uint32_t width, size_t count, size_t rows, CUstream handle,
              CopyWait how) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Stream> stream;
  SLIPWAY_RETURN_IF_FAILED(ResolveStream(handle, &stream));
  if (how != CopyWait::kAsync) SLIPWAY_RETURN_IF_FAILED(Runtime::Get().captures.BeforeSynchronousCall(*stream));
  if (count == 0 || rows == 0) return CUDA_SUCCESS;
  Arena::Kind kind = Arena::Kind::kDevice;
  SLIPWAY_RETURN_IF_FAILED(CheckFill(to, pitch, width, count, rows, &kind));
  Op* op = Engine::Get().NewOp(OpKind::kFill);
  FillIn(to, pitch, value, width, count, rows, op);
  // "asynchronous with respect to the host unless the target is pinned host memory or a Unified Memory region, in which
  // case they are fully synchronous" (API synchronization behavior).
  const bool shared = kind == Arena::Kind::kHost || kind == Arena::Kind::kManaged;
  if (how == CopyWait::kSync && shared) return Engine::Get().EnqueueAndWait(*stream, op);
  return Runtime::Get().captures.Submit(stream, op);
}

CUresult MakeCopy(const CopyEnd& to, const CopyEnd& from, const CopyShape& shape, Op* op) {
  if (IsEmpty(shape)) return CUDA_SUCCESS;
  Range target = Range::kInvalid, source = Range::kInvalid;
  SLIPWAY_RETURN_IF_FAILED(Check(to, from, shape, &target, &source));
  FillIn(to, from, shape, op);
  return CUDA_SUCCESS;
}

CUresult MakeFill(CUdeviceptr to, size_t pitch, uint32_t value, uint32_t width, size_t count, size_t rows, Op* op) {
  if (count == 0 || rows == 0) return CUDA_SUCCESS;
  Arena::Kind kind = Arena::Kind::kDevice;
  SLIPWAY_RETURN_IF_FAILED(CheckFill(to, pitch, width, count, rows, &kind));
  FillIn(to, pitch, value, width, count, rows, op);
  return CUDA_SUCCESS;
}

CUresult BeforeSynchronousCall() {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  std::shared_ptr<Stream> legacy;
  SLIPWAY_RETURN_IF_FAILED(ResolveStream(nullptr, &legacy));
  return Runtime::Get().captures.BeforeSynchronousCall(*legacy);
}

}  // namespace slipway::cpu
