#include <cstdlib>
#include <cstring>

#include "tests/launch/launch_test_util.h"

namespace slipway {
namespace {

CUresult MemAlloc(CUdeviceptr* address, size_t bytes) {
  void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(memory, 0xa5, bytes);  // What was not written is seen.
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}
CUresult MemFree(CUdeviceptr address) {
  std::free(reinterpret_cast<void*>(address));
  return CUDA_SUCCESS;
}
CUresult MemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return CUDA_SUCCESS;
}
CUresult MemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return CUDA_SUCCESS;
}
CUresult MemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
  std::memset(reinterpret_cast<void*>(to), value, count);
  return CUDA_SUCCESS;
}

}  // namespace

const DriverApi& HostMemoryDriver() {
  static const DriverApi api = [] {
    DriverApi table = NullDriver();
    table.MemAlloc = MemAlloc;
    table.MemFree = MemFree;
    table.MemcpyHtoD = MemcpyHtoD;
    table.MemcpyDtoH = MemcpyDtoH;
    table.MemsetD8 = MemsetD8;
    table.name = "host memory";
    return table;
  }();
  return api;
}

}  // namespace slipway
