// DLPack's structs as version 1.1 lays them out (https://dmlc.github.io/dlpack/latest/c_api.html), and the rows that
// connect its numbers with ours.
#ifndef SLIPWAY_LAUNCH_DLPACK_ABI_H_
#define SLIPWAY_LAUNCH_DLPACK_ABI_H_

#include <cstdint>

#include "slipway/dlpack.h"

namespace slipway::internal {

enum DlpackDeviceType : int32_t { kDlpackCpu = 1, kDlpackCuda = 2, kDlpackCudaHost = 3, kDlpackCudaManaged = 13 };
enum DlpackTypeCode : uint8_t {
  kDlpackInt = 0,
  kDlpackUInt = 1,
  kDlpackFloat = 2,
  kDlpackBfloat = 4,
  kDlpackComplex = 5,
  kDlpackBool = 6,
};
inline constexpr uint64_t kDlpackReadOnly = 1 << 0;
inline constexpr uint64_t kDlpackSubbytePadded = 1 << 2;

struct DlpackManaged {
  DlpackTensor tensor;
  void* context;
  void (*deleter)(DLManagedTensor* self);
};
struct DlpackManagedVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  DlpackTensor tensor;
};
inline constexpr uint32_t kDlpackMajor = 1, kDlpackMinor = 1;

}  // namespace slipway::internal

#endif  // SLIPWAY_LAUNCH_DLPACK_ABI_H_
