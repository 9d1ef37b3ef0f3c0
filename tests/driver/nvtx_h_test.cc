// driver/nvtx_abi.h against NVTX's own headers. Compiling is the test.
#include <nvtx3/nvToolsExt.h>

#include <cstddef>
#include <type_traits>

#include "driver/nvtx_abi.h"
#include "gtest/gtest.h"

namespace slipway::nvtx {
namespace {

// Numbers of different enumerations.
constexpr bool Equal(int64_t ours, int64_t theirs) { return ours == theirs; }

static_assert(Equal(kVersion, NVTX_VERSION));
static_assert(Equal(kCallbacks, NVTX_ETID_CALLBACKS) && Equal(kVersionInfo, NVTX_ETID_VERSIONINFO));
static_assert(Equal(kCore, NVTX_CB_MODULE_CORE) && Equal(kCuda, NVTX_CB_MODULE_CUDA) &&
              Equal(kOpenCl, NVTX_CB_MODULE_OPENCL) && Equal(kCudaRt, NVTX_CB_MODULE_CUDART) &&
              Equal(kCore2, NVTX_CB_MODULE_CORE2) && Equal(kSync, NVTX_CB_MODULE_SYNC));
static_assert(std::size(kModuleSizes) == NVTX_CB_MODULE_SIZE);
static_assert(Equal(kModuleSizes[kCore], NVTX_CBID_CORE_SIZE) && Equal(kModuleSizes[kCuda], NVTX_CBID_CUDA_SIZE) &&
              Equal(kModuleSizes[kOpenCl], NVTX_CBID_OPENCL_SIZE) &&
              Equal(kModuleSizes[kCudaRt], NVTX_CBID_CUDART_SIZE) &&
              Equal(kModuleSizes[kCore2], NVTX_CBID_CORE2_SIZE) && Equal(kModuleSizes[kSync], NVTX_CBID_SYNC_SIZE));
static_assert(Equal(kDomainRangePushEx, NVTX_CBID_CORE2_DomainRangePushEx));
static_assert(Equal(kDomainRangePop, NVTX_CBID_CORE2_DomainRangePop));
static_assert(Equal(kDomainCreateA, NVTX_CBID_CORE2_DomainCreateA));
static_assert(Equal(kMessageAscii, NVTX_MESSAGE_TYPE_ASCII));

#define SAME_PLACE(ours, our_member, theirs, their_member)                      \
  static_assert(offsetof(ours, our_member) == offsetof(theirs, their_member) && \
                sizeof(ours::our_member) == sizeof(theirs::their_member))
static_assert(sizeof(EventAttributes) == sizeof(nvtxEventAttributes_t));
SAME_PLACE(EventAttributes, version, nvtxEventAttributes_t, version);
SAME_PLACE(EventAttributes, size, nvtxEventAttributes_t, size);
SAME_PLACE(EventAttributes, category, nvtxEventAttributes_t, category);
SAME_PLACE(EventAttributes, color_type, nvtxEventAttributes_t, colorType);
SAME_PLACE(EventAttributes, color, nvtxEventAttributes_t, color);
SAME_PLACE(EventAttributes, payload_type, nvtxEventAttributes_t, payloadType);
SAME_PLACE(EventAttributes, reserved0, nvtxEventAttributes_t, reserved0);
SAME_PLACE(EventAttributes, payload, nvtxEventAttributes_t, payload);
SAME_PLACE(EventAttributes, message_type, nvtxEventAttributes_t, messageType);
SAME_PLACE(EventAttributes, message, nvtxEventAttributes_t, message);
static_assert(sizeof(Callbacks) == sizeof(NvtxExportTableCallbacks));
SAME_PLACE(Callbacks, get_module_function_table, NvtxExportTableCallbacks, GetModuleFunctionTable);
static_assert(sizeof(VersionInfo) == sizeof(NvtxExportTableVersionInfo));
SAME_PLACE(VersionInfo, version, NvtxExportTableVersionInfo, version);
SAME_PLACE(VersionInfo, set_injection_version, NvtxExportTableVersionInfo, SetInjectionNvtxVersion);
static_assert(std::is_same_v<FunctionTable, NvtxFunctionTable>);

TEST(NvtxHeaderTest, Compiles) {}

}  // namespace
}  // namespace slipway::nvtx
