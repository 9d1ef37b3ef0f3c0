// What devices say of themselves, and what there is nothing to do for.
#include <cstdio>
#include <cstring>
#include <string_view>

#include "driver/cpu/cuda_library/client.h"
#include "driver/cpu/limits.h"
#include "driver/cpu/runtime.h"

namespace slipway::cpu::client {
namespace {

bool IsDevice(CUdevice device) { return device >= 0 && device < GetSettings().devices; }

}  // namespace

CUresult NotSupported() { return CUDA_ERROR_NOT_SUPPORTED; }

CUresult DeviceComputeCapability(int* major, int* minor, CUdevice device) {
  SLIPWAY_RETURN_IF_FAILED(DeviceGetAttribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  return DeviceGetAttribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
}

CUresult DeviceGetProperties(CUdevprop* properties, CUdevice device) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  *properties = {};
  properties->maxThreadsPerBlock = static_cast<int>(kMaxThreadsPerBlock);
  for (int i = 0; i < 3; ++i) {
    properties->maxThreadsDim[i] = static_cast<int>(kMaxBlock[i]);
    properties->maxGridSize[i] = static_cast<int>(kMaxGrid[i]);
  }
  properties->sharedMemPerBlock = static_cast<int>(kSharedBytesPerBlock);
  properties->totalConstantMemory = static_cast<int>(kConstantBytes);
  properties->SIMDWidth = kWarpSize;
  properties->memPitch = kMaxPitch;
  properties->regsPerBlock = kRegisters;
  properties->clockRate = kClockKilohertz;
  return DeviceGetAttribute(&properties->textureAlign, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, device);
}

// The same in every process, as programs that tell their processes' devices apart expect.
CUresult DeviceGetUuid(CUuuid* uuid, CUdevice device) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::memcpy(uuid->bytes, "slipway cpu dev", sizeof(uuid->bytes));
  uuid->bytes[sizeof(uuid->bytes) - 1] = static_cast<char>(device);
  return CUDA_SUCCESS;
}

CUresult DeviceGetPCIBusId(char* text, int length, CUdevice device) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (text == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(text, static_cast<size_t>(length), "0000:%02x:00.0", static_cast<unsigned>(device));
  return CUDA_SUCCESS;
}

CUresult DeviceGetByPCIBusId(CUdevice* device, const char* text) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (device == nullptr || text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // "[domain]:[bus]:[device].[function]", "[domain]:[bus]:[device]" or "[bus]:[device].[function]".
  unsigned domain = 0, bus = 0, slot = 0;
  if (std::sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3 && std::sscanf(text, "%x:%x", &bus, &slot) != 2) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (domain != 0 || slot != 0 || bus >= static_cast<unsigned>(GetSettings().devices)) return CUDA_ERROR_INVALID_DEVICE;
  *device = static_cast<CUdevice>(bus);
  return CUDA_SUCCESS;
}

CUresult DeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice from, CUdevice to) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!IsDevice(from) || !IsDevice(to) || from == to) return CUDA_ERROR_INVALID_DEVICE;
  switch (attribute) {
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
      *value = 1;  // One address space holds the memory of all.
      return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
      *value = 0;
      return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult DeviceGetExecAffinitySupport(int* supported, CUexecAffinityType, CUdevice device) {
  SLIPWAY_RETURN_IF_FAILED(Ready());
  if (supported == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  *supported = 0;
  return CUDA_SUCCESS;
}

CUresult ProfilerInitialize(const char*, const char*, CUoutput_mode) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult ProfilerStart() { return Ready(); }
CUresult ProfilerStop() { return Ready(); }

// Tables that no manual describes, which CUDA's runtime library asks for.
CUresult GetExportTable(const void** table, const CUuuid*) {
  if (table == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

}  // namespace slipway::cpu::client
