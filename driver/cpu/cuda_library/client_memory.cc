// Memory of every kind, copies by kind and in two and three dimensions, fills of rows.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <optional>

#include "driver/cpu/allocate.h"
#include "driver/cpu/copy.h"
#include "driver/cpu/cuda_library/client.h"
#include "driver/cpu/limits.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu::client {
namespace {

CUresult Current(std::shared_ptr<Context>* context) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  return CurrentContext(context);
}

std::optional<Arena::Allocation> Find(CUdeviceptr address, size_t bytes = 0) {
  return Runtime::Get().arena.Find(address, bytes);
}
std::optional<Arena::Allocation> FindHost(const void* host) {
  std::optional<Arena::Allocation> found = Find(reinterpret_cast<CUdeviceptr>(host), 1);
  const bool is_host = found && found->kind == Arena::Kind::kHost;
  return is_host ? found : std::nullopt;
}

// Hints about where managed memory should be: it is where it is.
CUresult CheckManaged(CUdeviceptr address, size_t bytes) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const std::optional<Arena::Allocation> found = Find(address, bytes);
  return found && found->kind == Arena::Kind::kManaged && bytes != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
// CU_MEM_LOCATION_TYPE_*, of which those of the host have no device number.
CUresult CheckLocation(CUmemLocation location) {
  constexpr int kDevice = 1, kHostNumaCurrent = 4;
  if (location.type == kDevice) {
    return location.id >= 0 && location.id < GetSettings().devices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
  }
  return location.type > kDevice && location.type <= kHostNumaCurrent ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUmemLocation LocationOf(CUdevice device) {
  constexpr CUdevice kCpu = -1;  // CU_DEVICE_CPU.
  constexpr int kDevice = 1, kHost = 2;
  return {.type = static_cast<CUmemLocationType>(device == kCpu ? kHost : kDevice), .id = device};
}
// CU_MEM_ADVISE_SET_READ_MOSTLY to CU_MEM_ADVISE_UNSET_ACCESSED_BY.
bool IsAdvice(int advice) { return advice >= 1 && advice <= 6; }

// One side of a copy in dimensions, as its descriptor gives it.
struct Side {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  size_t x, y, z;
  size_t pitch;
  size_t height;
};
CUresult EndOf(const Side& side, const CopyShape& shape, CopyEnd* end) {
  switch (side.type) {
    case CU_MEMORYTYPE_HOST:
      *end = {.where = Where::kHost, .address = reinterpret_cast<CUdeviceptr>(side.host)};
      break;
    case CU_MEMORYTYPE_DEVICE:
      *end = {.where = Where::kDevice, .address = side.device};
      break;
    case CU_MEMORYTYPE_UNIFIED:
      *end = {.where = Where::kAny, .address = side.device};
      break;
    case CU_MEMORYTYPE_ARRAY:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  if (end->address == 0) return CUDA_ERROR_INVALID_VALUE;
  // "returns an error if any pitch is greater than the maximum allowed"; the height "may be 0 if Depth==1".
  if (side.pitch > kMaxPitch || (side.height == 0 && shape.slices > 1)) return CUDA_ERROR_INVALID_VALUE;
  // 0: rows and slices lie side by side.
  using Wide = unsigned __int128;  // Of sums and products that may not fit.
  const Wide row = Wide{side.x} + shape.bytes, rows = Wide{side.y} + shape.rows;
  const Wide pitch = side.pitch == 0 ? row : side.pitch, height = side.height == 0 ? rows : side.height;
  if (pitch < row || height < rows || pitch > UINT64_MAX || height > UINT64_MAX) return CUDA_ERROR_INVALID_VALUE;
  const Wide slice = pitch * height;
  if (slice > UINT64_MAX) return CUDA_ERROR_INVALID_VALUE;
  const Wide first = slice * side.z + pitch * side.y + side.x;
  const Wide last = first + slice * shape.slices + pitch * shape.rows + shape.bytes;
  if (first + end->address > UINT64_MAX || last + end->address > UINT64_MAX) return CUDA_ERROR_INVALID_VALUE;
  end->pitch = static_cast<size_t>(pitch);
  end->slice_pitch = static_cast<size_t>(slice);
  end->address += static_cast<CUdeviceptr>(first);
  return CUDA_SUCCESS;
}

Side ToOf(const CUDA_MEMCPY3D& copy) {
  return {copy.dstMemoryType, copy.dstHost, copy.dstDevice, copy.dstXInBytes,
          copy.dstY,          copy.dstZ,    copy.dstPitch,  copy.dstHeight};
}
Side FromOf(const CUDA_MEMCPY3D& copy) {
  return {copy.srcMemoryType, copy.srcHost, copy.srcDevice, copy.srcXInBytes,
          copy.srcY,          copy.srcZ,    copy.srcPitch,  copy.srcHeight};
}

CUresult CopyBox(const Side& to, const Side& from, const CopyShape& shape, CUstream stream, CopyWait wait) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  CopyEnd to_end, from_end;
  SLIPWAY_RETURN_IF_FAILED(EndOf(to, shape, &to_end));
  SLIPWAY_RETURN_IF_FAILED(EndOf(from, shape, &from_end));
  return Copy(to_end, from_end, shape, stream, wait);
}

CUresult Copy2D(const CUDA_MEMCPY2D* copy, CUstream stream, CopyWait wait) {
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return CopyBox(
      {copy->dstMemoryType, copy->dstHost, copy->dstDevice, copy->dstXInBytes, copy->dstY, 0, copy->dstPitch, 0},
      {copy->srcMemoryType, copy->srcHost, copy->srcDevice, copy->srcXInBytes, copy->srcY, 0, copy->srcPitch, 0},
      {.bytes = copy->WidthInBytes, .rows = copy->Height}, stream, wait);
}

CUresult Copy3D(const CUDA_MEMCPY3D* copy, CUstream stream, CopyWait wait) {
  if (copy == nullptr || copy->srcLOD != 0 || copy->dstLOD != 0) return CUDA_ERROR_INVALID_VALUE;
  return CopyBox(ToOf(*copy), FromOf(*copy), {.bytes = copy->WidthInBytes, .rows = copy->Height, .slices = copy->Depth},
                 stream, wait);
}

CUresult CopyAny(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream, CopyWait wait) {
  return Copy({.where = Where::kAny, .address = to}, {.where = Where::kAny, .address = from}, {.bytes = bytes}, stream,
              wait);
}

CUresult FillNow(CUdeviceptr to, size_t pitch, uint32_t value, uint32_t width, size_t count, size_t rows) {
  return Fill(to, pitch, value, width, count, rows, nullptr, CopyWait::kSync);
}

}  // namespace

CUresult MakeCopy3D(const CUDA_MEMCPY3D& copy, Op* op) {
  if (copy.srcLOD != 0 || copy.dstLOD != 0) return CUDA_ERROR_INVALID_VALUE;
  const CopyShape shape = {.bytes = copy.WidthInBytes, .rows = copy.Height, .slices = copy.Depth};
  CopyEnd to, from;
  SLIPWAY_RETURN_IF_FAILED(EndOf(ToOf(copy), shape, &to));
  SLIPWAY_RETURN_IF_FAILED(EndOf(FromOf(copy), shape, &from));
  return MakeCopy(to, from, shape, op);
}

CUresult MemAllocPitch(CUdeviceptr* address, size_t* pitch, size_t width, size_t height, unsigned element_bytes) {
  if (pitch == nullptr || width == 0 || height == 0 || width > kMaxPitch) return CUDA_ERROR_INVALID_VALUE;
  if (element_bytes != 4 && element_bytes != 8 && element_bytes != 16) return CUDA_ERROR_INVALID_VALUE;
  constexpr size_t kPitch = 512;  // Of devices of compute capability 5 and newer.
  const size_t row = (width + kPitch - 1) / kPitch * kPitch;
  if (row > kMaxPitch) return CUDA_ERROR_INVALID_VALUE;  // No copy would take it.
  size_t bytes = 0;
  if (__builtin_mul_overflow(row, height, &bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  *pitch = row;
  return MemAlloc(address, bytes);
}

CUresult MemGetAddressRange(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  std::shared_ptr<Context> context;
  SLIPWAY_RETURN_IF_FAILED(Current(&context));
  const std::optional<Arena::Allocation> found = Find(address, 1);
  if (!found) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = found->address;
  if (bytes != nullptr) *bytes = found->bytes;
  return CUDA_SUCCESS;
}

// Strict as a GPU's driver, and unlike Slipway's own table.
CUresult MemHostRegister(void* address, size_t bytes, unsigned flags) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const uintptr_t begin = reinterpret_cast<uintptr_t>(address);
  if (begin == 0 || bytes == 0 || begin + bytes < begin) return CUDA_ERROR_INVALID_VALUE;
  if (Runtime::Get().arena.Overlaps(begin, bytes)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  // Pages that are not there cannot be pinned.
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)), first = begin / page * page;
  if (msync(reinterpret_cast<void*>(first), begin + bytes - first, MS_ASYNC) != 0) return CUDA_ERROR_INVALID_VALUE;
  return api::MemHostRegister(address, bytes, flags);
}

CUresult MemHostGetFlags(unsigned* flags, void* host) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const std::optional<Arena::Allocation> found = FindHost(host);
  if (flags == nullptr || !found) return CUDA_ERROR_INVALID_VALUE;
  *flags = found->host_flags;
  return CUDA_SUCCESS;
}

CUresult MemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device) {
  return MemAdvise_v2(address, bytes, advice, LocationOf(device));
}
CUresult MemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location) {
  // "The device argument is ignored for" the other advice.
  constexpr int kSetPreferredLocation = 3, kSetAccessedBy = 5, kUnsetAccessedBy = 6;
  if (!IsAdvice(advice)) return CUDA_ERROR_INVALID_VALUE;
  SLIPWAY_RETURN_IF_FAILED(CheckManaged(address, bytes));
  const bool names = advice == kSetPreferredLocation || advice == kSetAccessedBy || advice == kUnsetAccessedBy;
  return names ? CheckLocation(location) : CUDA_SUCCESS;
}

CUresult MemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream) {
  return MemPrefetchAsync_v2(address, bytes, LocationOf(device), 0, stream);
}
CUresult MemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned flags,
                             CUstream handle) {
  SLIPWAY_RETURN_IF_FAILED(CheckManaged(address, bytes));
  SLIPWAY_RETURN_IF_FAILED(CheckLocation(location));
  std::shared_ptr<Stream> stream;
  return flags != 0 ? CUDA_ERROR_INVALID_VALUE : ResolveStream(handle, &stream);
}

CUresult Memcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return CopyAny(to, from, bytes, nullptr, CopyWait::kSync);
}
CUresult MemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return CopyAny(to, from, bytes, stream, CopyWait::kAsync);
}
CUresult MemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes) {
  SLIPWAY_RETURN_IF_FAILED(BeforeSynchronousCall());
  return MemcpyPeerAsync(to, to_context, from, from_context, bytes, nullptr);
}
CUresult Memcpy2D(const CUDA_MEMCPY2D* copy) { return Copy2D(copy, nullptr, CopyWait::kSync); }
CUresult Memcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream stream) { return Copy2D(copy, stream, CopyWait::kAsync); }
CUresult Memcpy3D(const CUDA_MEMCPY3D* copy) { return Copy3D(copy, nullptr, CopyWait::kSync); }
CUresult Memcpy3DAsync(const CUDA_MEMCPY3D* copy, CUstream stream) { return Copy3D(copy, stream, CopyWait::kAsync); }

CUresult MemsetD16(CUdeviceptr to, unsigned short value, size_t count) { return FillNow(to, 0, value, 2, count, 1); }
CUresult MemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return Fill(to, 0, value, 2, count, 1, stream, CopyWait::kAsync);
}
CUresult MemsetD2D8(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height) {
  return FillNow(to, pitch, value, 1, width, height);
}
CUresult MemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
                         CUstream stream) {
  return Fill(to, pitch, value, 1, width, height, stream, CopyWait::kAsync);
}
CUresult MemsetD2D16(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height) {
  return FillNow(to, pitch, value, 2, width, height);
}
CUresult MemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
                          CUstream stream) {
  return Fill(to, pitch, value, 2, width, height, stream, CopyWait::kAsync);
}
CUresult MemsetD2D32(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height) {
  return FillNow(to, pitch, value, 4, width, height);
}
CUresult MemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height, CUstream stream) {
  return Fill(to, pitch, value, 4, width, height, stream, CopyWait::kAsync);
}

namespace {

// An attribute that an address does not have is zero, and no error (cuPointerGetAttributes). Zeroes take as many bytes
// as the attribute has.
size_t BytesOf(CUpointer_attribute attribute) {
  switch (static_cast<int>(attribute)) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return sizeof(int);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return sizeof(bool);
    default:
      return sizeof(void*);
  }
}

}  // namespace

CUresult PointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  if (attribute != CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE) return api::PointerGetAttribute(value, attribute, address);
  SLIPWAY_RETURN_IF_FAILED(Ready());
  const std::optional<Arena::Allocation> found = Find(address, 1);
  if (value == nullptr || !found) return CUDA_ERROR_INVALID_VALUE;
  *static_cast<CUmemoryPool*>(value) = PoolOf(found->pool);
  return CUDA_SUCCESS;
}

CUresult PointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** values, CUdeviceptr address) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (count == 0 || attributes == nullptr || values == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    if (values[i] == nullptr || attributes[i] < CU_POINTER_ATTRIBUTE_CONTEXT ||
        attributes[i] > CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  for (unsigned i = 0; i < count; ++i) {
    if (PointerGetAttribute(values[i], attributes[i], address) == CUDA_SUCCESS) continue;
    std::memset(values[i], 0, BytesOf(attributes[i]));
    if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) *static_cast<int*>(values[i]) = -2;  // CU_DEVICE_INVALID.
  }
  return CUDA_SUCCESS;
}

// Copies are ordered as synchronous ones need it anyhow.
CUresult PointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
  const bool on = *static_cast<const unsigned*>(value) != 0;
  return Runtime::Get().arena.SetSyncMemops(address, on) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace slipway::cpu::client
