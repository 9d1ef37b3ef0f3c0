// The part of the Builder that makes arrays and goes to memory.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "driver/check.h"
#include "jit/builder.h"
#include "jit/known_dtype.h"

namespace slipway::ir {
namespace {

Buffer MakeBuffer(std::string name, DType dtype, Space space, absl::Span<const int64_t> shape) {
  Buffer buffer;
  buffer.spec = {.name = std::move(name),
                 .kind = ParamKind::kArray,
                 .dtype = dtype,
                 .rank = static_cast<int>(shape.size()),
                 .layout = Layout::kContiguous,
                 .index = IndexWidth::kIndex32,
                 .read_only = space == Space::kConstant};
  buffer.space = space;
  buffer.shape.assign(shape.begin(), shape.end());
  return buffer;
}

// Enumerators from data may be any number.
bool IsKnown(const MemoryAccess& access) {
  return access.kind <= MemoryAccess::kAtomic && access.hint <= CacheHint::kWriteThrough &&
         access.order <= MemoryOrder::kSequential && access.scope <= MemoryScope::kSystem;
}

}  // namespace

// Parameters and buffers.

ArrayId Builder::AddBuffer(Buffer buffer) {
  if (!Takes()) return kNone;
  const ParamSpec& spec = buffer.spec;
  if (spec.rank > kMaxRank) {
    Fail(absl::InvalidArgumentError(
        absl::StrFormat("array '%s' has rank %d; ranks 0 to %d are possible", spec.name, spec.rank, kMaxRank)));
    return kNone;
  }
  if (Known(spec.dtype) == DType::kVoid) {
    Fail(absl::InvalidArgumentError(absl::StrCat("array '", spec.name, "' has no element type")));
    return kNone;
  }
  kernel_.buffers.push_back(std::move(buffer));
  return kBufferBit | static_cast<ArrayId>(kernel_.buffers.size() - 1);
}

// Whether the extents are positive, and all buffers of that memory together no more than `limit` bytes.
bool Builder::CheckStatic(const Buffer& buffer, int64_t limit, const char* memory) {
  int64_t bytes = static_cast<int64_t>(SizeOf(buffer.spec.dtype));
  for (size_t d = 0; d < buffer.shape.size(); ++d) {
    const int64_t extent = buffer.shape[d];
    if (extent <= 0) {
      Fail(absl::InvalidArgumentError(absl::StrFormat("array '%s' has extent %d in dimension %d; extents are positive",
                                                      buffer.spec.name, extent, d)));
      return false;
    }
    bytes = extent > limit ? limit + 1 : std::min(bytes * extent, limit + 1);
  }
  int64_t others = 0;
  for (const Buffer& other : kernel_.buffers) {
    if (other.space != buffer.space || other.dynamic) continue;
    int64_t size = static_cast<int64_t>(SizeOf(other.spec.dtype));
    for (int64_t extent : other.shape) size *= extent;
    others += (size + 15) / 16 * 16;
  }
  if (bytes > limit - others) {
    Fail(absl::InvalidArgumentError(absl::StrFormat(
        "array '%s' needs more %s memory than there is: %d bytes, of which the kernel's other arrays take %d",
        buffer.spec.name, memory, limit, others)));
    return false;
  }
  return true;
}

ArrayId Builder::AddLocalArray(std::string name, DType dtype, absl::Span<const int64_t> shape) {
  Buffer buffer = MakeBuffer(std::move(name), dtype, Space::kLocal, shape);
  return CheckStatic(buffer, kMaxLocalBytes, "local") ? AddBuffer(std::move(buffer)) : kNone;
}

ArrayId Builder::AddSharedArray(std::string name, DType dtype, absl::Span<const int64_t> shape) {
  Buffer buffer = MakeBuffer(std::move(name), dtype, Space::kShared, shape);
  return CheckStatic(buffer, kMaxStaticSharedBytes, "static shared") ? AddBuffer(std::move(buffer)) : kNone;
}

ArrayId Builder::AddConstantArray(std::string name, DType dtype, absl::Span<const int64_t> shape, std::string data) {
  Buffer buffer = MakeBuffer(std::move(name), dtype, Space::kConstant, shape);
  if (!CheckStatic(buffer, kMaxConstantBytes, "constant")) return kNone;
  size_t wanted = SizeOf(dtype);
  for (int64_t extent : shape) wanted *= static_cast<size_t>(extent);
  if (data.size() != wanted) {
    Fail(absl::InvalidArgumentError(absl::StrFormat("constant array '%s' is given %d bytes; its shape holds %d",
                                                    buffer.spec.name, data.size(), wanted)));
    return kNone;
  }
  buffer.data = std::move(data);
  return AddBuffer(std::move(buffer));
}

ArrayId Builder::AddDynamicSharedArray(std::string name, DType dtype, absl::Span<const ValueId> extents) {
  if (!CheckOperands(extents)) return kNone;
  if (open_.size() != 1) {
    Fail(absl::FailedPreconditionError(absl::StrCat("dynamic shared array '", name,
                                                    "' is declared inside an if, a loop or a function; declare it at "
                                                    "the top of the kernel, where every thread comes by")));
    return kNone;
  }
  Buffer buffer = MakeBuffer(std::move(name), dtype, Space::kShared, {});
  buffer.spec.rank = static_cast<int>(extents.size());
  buffer.dynamic = true;
  std::vector<ValueId> operands;
  for (ValueId extent : extents) operands.push_back(ToType(DType::kInt64, extent, "an extent of a shared array"));
  const ArrayId array = AddBuffer(std::move(buffer));
  if (Takes()) Emit(Op::kDeclare, DType::kVoid, operands, array);
  return array;
}

bool Builder::CheckArray(ArrayId array, const char* what) {
  if (!Takes()) return false;
  if (kernel_.HasArray(array)) return true;
  if (!IsBuffer(array)) return CheckParam(array, ParamKind::kArray, what);
  Fail(absl::InvalidArgumentError(absl::StrCat(what, ": there is no array #", array & ~kBufferBit)));
  return false;
}

ValueId Builder::Shape(ArrayId array, int dimension) {
  if (!CheckArray(array, "shape")) return kNone;
  const ParamSpec& spec = kernel_.ArrayOf(array);
  if (dimension < 0 || dimension >= spec.rank) {
    Fail(absl::OutOfRangeError(
        absl::StrFormat("shape of '%s': dimension %d of an array of rank %d; dimensions count from 0", spec.name,
                        dimension, spec.rank)));
    return kNone;
  }
  const Buffer* buffer = kernel_.BufferOf(array);
  if (buffer != nullptr && !buffer->dynamic) {
    return Constant(DType::kInt64, static_cast<uint64_t>(buffer->shape[dimension]));
  }
  return Emit(Op::kShape, DType::kInt64, {}, array, static_cast<uint32_t>(dimension));
}

// Elements.

// The indices of an element, appended to `operands`. `what` is "load", "store", ...
bool Builder::CheckElement(ArrayId array, absl::Span<const ValueId> indices, const char* what, bool writes,
                           std::vector<ValueId>* operands) {
  if (!CheckArray(array, what) || !CheckOperands(indices)) return false;
  const ParamSpec& spec = kernel_.ArrayOf(array);
  if (indices.size() != static_cast<size_t>(spec.rank)) {
    Fail(absl::InvalidArgumentError(absl::StrFormat("'%s' has rank %d and takes %d ind%s, not %d", spec.name, spec.rank,
                                                    spec.rank, spec.rank == 1 ? "ex" : "ices", indices.size())));
    return false;
  }
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!IsInteger(TypeOf(indices[i]))) {
      Fail(absl::InvalidArgumentError(absl::StrFormat("index %d of '%s' is %s; an integer is wanted: cast it to int64",
                                                      i, spec.name, DescribeValue(indices[i]))));
      return false;
    }
    operands->push_back(indices[i]);
  }
  if (writes && spec.read_only) {
    Fail(absl::InvalidArgumentError(absl::StrCat("'", spec.name, "' is read-only and cannot be written")));
    return false;
  }
  return true;
}

bool Builder::CheckAccess(ArrayId array, const MemoryAccess& access, bool writes) {
  const ParamSpec& spec = kernel_.ArrayOf(array);
  const char* wrong = nullptr;
  if (!IsKnown(access)) {
    wrong = "its kind, hint, order or scope is none of memory_model.h's";
  } else if (access.kind == Access::kAtomic) {
    const bool stores_only = access.order == MemoryOrder::kRelease;
    const bool loads_only = access.order == MemoryOrder::kAcquire;
    if (IsComplex(spec.dtype)) {
      wrong = "a complex number is not loaded or stored in one piece; its parts are, as two arrays of floats";
    } else if (access.order == MemoryOrder::kAcquireRelease || (writes ? loads_only : stores_only)) {
      wrong = writes ? "a store is relaxed, release or sequential" : "a load is relaxed, acquire or sequential";
    }
  } else if (access.hint != CacheHint::kNone) {
    if (access.kind != Access::kWeak) wrong = "a volatile access takes no hint to the caches";
    if (IsBuffer(array)) wrong = "hints to the caches are for arrays in global memory, that is, parameters";
    if (access.hint == CacheHint::kWriteThrough && !writes) wrong = "a load cannot be written through";
    if ((access.hint == CacheHint::kReadOnly || access.hint == CacheHint::kLastUse) && writes) {
      wrong = "a store takes the hints cache_global, streaming and write_through";
    }
  }
  if (wrong == nullptr) return true;
  Fail(absl::InvalidArgumentError(absl::StrCat("access to '", spec.name, "': ", wrong)));
  return false;
}

ValueId Builder::Load(ArrayId array, std::initializer_list<ValueId> indices) {
  return Load(array, absl::MakeConstSpan(indices.begin(), indices.size()));
}
ValueId Builder::Load(ArrayId array, absl::Span<const ValueId> indices, const MemoryAccess& access) {
  std::vector<ValueId> operands;
  if (!CheckElement(array, indices, "load", /*writes=*/false, &operands)) return kNone;
  if (!CheckAccess(array, access, /*writes=*/false)) return kNone;
  return Emit(Op::kLoad, kernel_.ArrayOf(array).dtype, operands, array, Access(access).Pack());
}

void Builder::Store(ArrayId array, std::initializer_list<ValueId> indices, ValueId value) {
  Store(array, absl::MakeConstSpan(indices.begin(), indices.size()), value);
}
void Builder::Store(ArrayId array, absl::Span<const ValueId> indices, ValueId value, const MemoryAccess& access) {
  std::vector<ValueId> operands;
  if (!CheckElement(array, indices, "store", /*writes=*/true, &operands)) return;
  if (!CheckAccess(array, access, /*writes=*/true)) return;
  const ParamSpec& spec = kernel_.ArrayOf(array);
  operands.push_back(ConvertForStore(spec.dtype, value, absl::StrCat("'", spec.name, "'")));
  if (Takes()) Emit(Op::kStore, DType::kVoid, operands, array, Access(access).Pack());
}

bool Builder::CheckLanes(ArrayId array, size_t lanes) {
  const ParamSpec& spec = kernel_.ArrayOf(array);
  const bool power = lanes == 2 || lanes == 4 || lanes == 8 || lanes == 16;
  if (spec.rank == 0 || spec.layout != Layout::kContiguous) {
    Fail(absl::InvalidArgumentError(
        absl::StrCat("'", spec.name,
                     "' is not contiguous: several elements at once are loaded and stored where they are "
                     "neighbours (Layout::kContiguous, rank 1 or more)")));
    return false;
  }
  if (!power || lanes * SizeOf(spec.dtype) > kMaxGroupBytes) {
    Fail(absl::InvalidArgumentError(absl::StrFormat(
        "%d elements of '%s' at once are %d bytes; 2, 4, 8 or 16 elements of together at most %d bytes are possible",
        lanes, spec.name, lanes * SizeOf(spec.dtype), kMaxGroupBytes)));
    return false;
  }
  return true;
}

std::vector<ValueId> Builder::LoadGroup(ArrayId array, absl::Span<const ValueId> indices, int lanes, CacheHint hint) {
  std::vector<ValueId> results(lanes < 0 ? 0 : lanes, kNone);
  Access access = MemoryAccess::Cached(hint);
  std::vector<ValueId> operands;
  if (!CheckElement(array, indices, "load", /*writes=*/false, &operands)) return results;
  if (!CheckAccess(array, access, /*writes=*/false) || !CheckLanes(array, results.size())) return results;
  access.lanes = lanes;
  const DType dtype = kernel_.ArrayOf(array).dtype;
  const ValueId group = Emit(Op::kLoadGroup, dtype, operands, array, access.Pack());
  for (int lane = 0; lane < lanes; ++lane) {
    results[lane] = Emit(Op::kResult, dtype, {group}, static_cast<uint64_t>(lane));
  }
  return results;
}

void Builder::StoreGroup(ArrayId array, absl::Span<const ValueId> indices, absl::Span<const ValueId> values,
                         CacheHint hint) {
  Access access = MemoryAccess::Cached(hint);
  std::vector<ValueId> operands;
  if (!CheckElement(array, indices, "store", /*writes=*/true, &operands)) return;
  if (!CheckAccess(array, access, /*writes=*/true) || !CheckLanes(array, values.size())) return;
  const ParamSpec& spec = kernel_.ArrayOf(array);
  for (ValueId value : values) {
    operands.push_back(ConvertForStore(spec.dtype, value, absl::StrCat("'", spec.name, "'")));
  }
  access.lanes = static_cast<int>(values.size());
  if (Takes()) Emit(Op::kStoreGroup, DType::kVoid, operands, array, access.Pack());
}

ValueId Builder::Atomic(AtomicOp op, ArrayId array, absl::Span<const ValueId> indices,
                        absl::Span<const ValueId> operands, MemoryOrder order, MemoryScope scope) {
  const AtomicRow& row = RowOf(op);
  const std::string what = absl::StrCat("atomic ", row.name);
  std::vector<ValueId> all;
  if (!CheckElement(array, indices, what.c_str(), /*writes=*/true, &all)) return kNone;
  const ParamSpec& spec = kernel_.ArrayOf(array);
  const Buffer* buffer = kernel_.BufferOf(array);
  if (buffer != nullptr && buffer->space == Space::kLocal) {
    Fail(absl::InvalidArgumentError(
        absl::StrCat(what, " on '", spec.name, "', which is the thread's own; nobody else sees it: load and store")));
    return kNone;
  }
  if (!Contains(row.accepts, spec.dtype)) {
    Fail(absl::InvalidArgumentError(
        absl::StrCat(what, " on '", spec.name, "' of ", std::string(Name(spec.dtype)), ": it takes ",
                     IsComplex(spec.dtype)                  ? "no complex numbers; their parts, as two arrays of floats"
                     : row.accepts == SetOf(DType::kUInt32) ? "uint32 only"
                     : Contains(row.accepts, DType::kBool)  ? "integers and bools"
                                                            : "integers and floats")));
    return kNone;
  }
  SLIPWAY_CHECK(static_cast<int>(operands.size()) == row.operands, "an atomic operation is given other operands");
  for (ValueId operand : operands) {
    all.push_back(ConvertForStore(spec.dtype, operand, absl::StrCat("'", spec.name, "'")));
  }
  Access access = MemoryAccess::Atomic(order, scope);
  access.op = op;
  if (!IsKnown(access)) {
    Fail(absl::InvalidArgumentError(
        absl::StrCat(what, " on '", spec.name, "': its order or scope is none of memory_model.h's")));
  }
  return Takes() ? Emit(Op::kAtomic, spec.dtype, all, array, access.Pack()) : kNone;
}

void Builder::Fence(MemoryScope scope) {
  if (scope > MemoryScope::kSystem) {
    Fail(absl::InvalidArgumentError("a fence's scope is none of MemoryScope's; kBlock, kDevice or kSystem is wanted"));
  }
  Emit(Op::kFence, DType::kVoid, {}, static_cast<uint64_t>(scope));
}

}  // namespace slipway::ir
