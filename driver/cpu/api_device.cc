// Initialization, errors, and what the device is.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "driver/cpu/api.h"
#include "driver/cpu/cuda_types.h"
#include "driver/cpu/limits.h"
#include "driver/cpu/runtime.h"
#include "driver/result.h"
#include "slipway/cpu_device.h"

namespace slipway::cpu {
namespace {

std::string ProcessorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    size_t colon = line.find(':');
    if (colon != std::string::npos && absl::StartsWith(line, "model name")) {
      return std::string(absl::StripAsciiWhitespace(absl::string_view(line).substr(colon + 1)));
    }
  }
  return "unknown processor";
}

bool IsDevice(CUdevice device) { return device >= 0 && device < GetSettings().devices; }

struct Attribute {
  CUdevice_attribute attribute;
  int (*value)(const Settings& settings, CUdevice device);
};

#define SLIPWAY_VALUE(expression) [](const Settings& settings, CUdevice device) -> int { return (expression); }

constexpr Attribute kAttributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, SLIPWAY_VALUE(kMaxThreadsPerBlock)},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, SLIPWAY_VALUE(kMaxBlock[0])},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, SLIPWAY_VALUE(kMaxBlock[1])},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, SLIPWAY_VALUE(kMaxBlock[2])},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, SLIPWAY_VALUE(kMaxGrid[0])},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, SLIPWAY_VALUE(kMaxGrid[1])},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, SLIPWAY_VALUE(kMaxGrid[2])},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, SLIPWAY_VALUE(static_cast<int>(kSharedBytesPerBlock))},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, SLIPWAY_VALUE(static_cast<int>(kConstantBytes))},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, SLIPWAY_VALUE(kWarpSize)},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, SLIPWAY_VALUE(kRegisters)},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, SLIPWAY_VALUE(kClockKilohertz)},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, SLIPWAY_VALUE(settings.cores)},
    {CU_DEVICE_ATTRIBUTE_INTEGRATED, SLIPWAY_VALUE(1)},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, SLIPWAY_VALUE(1)},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, SLIPWAY_VALUE(1)},
    {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, SLIPWAY_VALUE(device)},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
     SLIPWAY_VALUE(LimitsFor(settings.sm).max_threads_per_multiprocessor)},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, SLIPWAY_VALUE(1)},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, SLIPWAY_VALUE(1)},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, SLIPWAY_VALUE(settings.sm / 10)},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, SLIPWAY_VALUE(settings.sm % 10)},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, SLIPWAY_VALUE(1)},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
     SLIPWAY_VALUE(static_cast<int>(LimitsFor(settings.sm).shared_bytes_per_multiprocessor))},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, SLIPWAY_VALUE(kRegisters)},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, SLIPWAY_VALUE(1)},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, SLIPWAY_VALUE(1)},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
     SLIPWAY_VALUE(static_cast<int>(MaxSharedBytesOptIn(settings.sm)))},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR,
     SLIPWAY_VALUE(LimitsFor(settings.sm).max_blocks_per_multiprocessor)},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, SLIPWAY_VALUE(1)},
    {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, SLIPWAY_VALUE(0)},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, SLIPWAY_VALUE(kMaxPitch)},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, SLIPWAY_VALUE(512)},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, SLIPWAY_VALUE(1)},
    {CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, SLIPWAY_VALUE(512)},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, SLIPWAY_VALUE(kClockKilohertz)},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, SLIPWAY_VALUE(64)},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, SLIPWAY_VALUE(kNominalL2Bytes)},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, SLIPWAY_VALUE(32)},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, SLIPWAY_VALUE(1)},
    {CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, SLIPWAY_VALUE(1)},
    {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, SLIPWAY_VALUE(2)},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, SLIPWAY_VALUE(1)},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, SLIPWAY_VALUE(1)},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, SLIPWAY_VALUE(1)},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, SLIPWAY_VALUE(1)},
    {CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, SLIPWAY_VALUE(1)},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK,
     SLIPWAY_VALUE(static_cast<int>(ReservedSharedBytes(settings.sm)))},
    {CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, SLIPWAY_VALUE(1)},
    {CU_DEVICE_ATTRIBUTE_NUMA_ID, SLIPWAY_VALUE(-1)},
    {CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, SLIPWAY_VALUE(-1)},
};

#undef SLIPWAY_VALUE

struct Symbol {
  const char* name;
  int since;
  void* function;
};

absl::Span<const Symbol> Symbols() {
  static const Symbol symbols[] = {
#define SLIPWAY_CPU_SYMBOL(member, since, need, parameters) \
  {"cu" #member, since, reinterpret_cast<void*>(&api::member)},
      SLIPWAY_DRIVER_FUNCTIONS(SLIPWAY_CPU_SYMBOL)
#undef SLIPWAY_CPU_SYMBOL
  };
  return symbols;
}

}  // namespace

namespace api {

CUresult Init(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Runtime::Initialize();
  return CUDA_SUCCESS;
}

CUresult DriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = kDriverVersion;
  return CUDA_SUCCESS;
}

CUresult GetErrorName(CUresult error, const char** name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ResultInfo* info = FindResult(error);
  *name = info == nullptr ? nullptr : info->name;
  return info == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult GetErrorString(CUresult error, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ResultInfo* info = FindResult(error);
  *text = info == nullptr ? nullptr : info->text;
  return info == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult GetProcAddress(const char* symbol, void** function, int version, uint64_t flags,
                        CUdriverProcAddressQueryResult* status) {
  if (symbol == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *function = nullptr;
  CUdriverProcAddressQueryResult answer = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  for (const Symbol& one : Symbols()) {
    if (std::strcmp(one.name, symbol) != 0) continue;
    answer = version < one.since ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT : CU_GET_PROC_ADDRESS_SUCCESS;
    if (answer == CU_GET_PROC_ADDRESS_SUCCESS) *function = one.function;
  }
  if (status != nullptr) *status = answer;
  return *function == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

CUresult DeviceGet(CUdevice* device, int ordinal) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!IsDevice(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult DeviceGetCount(int* count) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = GetSettings().devices;
  return CUDA_SUCCESS;
}

CUresult DeviceGetName(char* name, int length, CUdevice device) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  static const std::string& full =
      *new std::string(absl::StrCat("CPU device (", ProcessorName(), ", ", GetSettings().cores, " threads)"));
  size_t copied = std::min(full.size(), static_cast<size_t>(length) - 1);
  std::memcpy(name, full.data(), copied);
  name[copied] = '\0';
  return CUDA_SUCCESS;
}

CUresult DeviceTotalMem(size_t* bytes, CUdevice device) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = Runtime::Get().arena.limit();
  return CUDA_SUCCESS;
}

CUresult DeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  for (const Attribute& known : kAttributes) {
    if (known.attribute != attribute) continue;
    *value = known.value(GetSettings(), device);
    return CUDA_SUCCESS;
  }
  if (attribute <= 0 || attribute >= kDeviceAttributes) return CUDA_ERROR_INVALID_VALUE;
  *value = 0;  // Textures, sharing between processes, and whatever else there is none of.
  return CUDA_SUCCESS;
}

// One address space holds the memory of all.
CUresult DeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!IsDevice(device) || !IsDevice(peer)) return CUDA_ERROR_INVALID_DEVICE;
  *can = device == peer ? 0 : 1;  // A device is no peer of its own.
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace slipway::cpu
