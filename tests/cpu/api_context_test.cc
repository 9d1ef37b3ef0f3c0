// Initialization, devices, contexts, and which context a call wants.
#include <thread>

#include "driver/cpu/settings.h"
#include "tests/cpu/api_fixture.h"

namespace slipway::cpu {
namespace {

TEST(ApiInit, NothingWorksBeforeInit) {
  // In a child of its own: in this process some other test may have called Init.
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        int count = 0;
        CUcontext context = nullptr;
        bool refused =
            Api().DeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED &&
            Api().CtxGetCurrent(&context) == CUDA_ERROR_NOT_INITIALIZED &&
            Api().LaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) == CUDA_ERROR_NOT_INITIALIZED;
        int version = 0;
        bool answered = Api().DriverGetVersion(&version) == CUDA_SUCCESS && version == 13000;
        _exit(refused && answered ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(ApiInit, RefusesFlags) { EXPECT_EQ(Api().Init(1), CUDA_ERROR_INVALID_VALUE); }

TEST(ApiInit, EveryEntryIsThereAndFoundByName) {
#define SLIPWAY_TEST_ENTRY(member, since, need, parameters)                                                \
  {                                                                                                        \
    ASSERT_NE(Api().member, nullptr);                                                                      \
    void* function = nullptr;                                                                              \
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;                          \
    EXPECT_CUDA(Api().GetProcAddress("cu" #member, &function, 13000, 0, &status));                         \
    EXPECT_EQ(function, reinterpret_cast<void*>(Api().member));                                            \
    EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);                                                        \
    EXPECT_EQ(Api().GetProcAddress("cu" #member, &function, since - 1, 0, &status), CUDA_ERROR_NOT_FOUND); \
    EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);                                         \
  }
  SLIPWAY_DRIVER_FUNCTIONS(SLIPWAY_TEST_ENTRY)
  void* function = &function;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  EXPECT_EQ(Api().GetProcAddress("cuNoSuchThing", &function, 13000, 0, &status), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(Api().GetProcAddress(nullptr, &function, 13000, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST(ApiInit, ErrorsHaveNamesAndTexts) {
  const char* text = nullptr;
  EXPECT_CUDA(Api().GetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_CUDA(Api().GetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
  EXPECT_NE(std::string(text), "");
  EXPECT_EQ(Api().GetErrorName(static_cast<CUresult>(12345), &text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(text, nullptr);
  EXPECT_EQ(Api().GetErrorString(CUDA_SUCCESS, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST(ApiDevice, PropertiesAreThoseOfComputeCapabilityNine) {
  ASSERT_CUDA(Api().Init(0));
  int count = 0;
  EXPECT_CUDA(Api().DeviceGetCount(&count));
  EXPECT_EQ(count, 2);
  CUdevice device = -1;
  EXPECT_CUDA(Api().DeviceGet(&device, 1));
  EXPECT_EQ(Api().DeviceGet(&device, 2), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(Api().DeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
  struct Expected {
    CUdevice_attribute attribute;
    int value;
  };
  for (auto [attribute, value] : {Expected{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
                                  {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
                                  {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
                                  {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
                                  {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
                                  {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
                                  {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
                                  {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
                                  {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
                                  {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
                                  {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, GetSettings().cores}}) {
    int read = -1;
    EXPECT_CUDA(Api().DeviceGetAttribute(&read, attribute, 0));
    EXPECT_EQ(read, value) << attribute;
  }
  int value = 0;
  EXPECT_EQ(Api().DeviceGetAttribute(&value, static_cast<CUdevice_attribute>(9999), 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().DeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 7), CUDA_ERROR_INVALID_DEVICE);
  char name[8] = {};
  EXPECT_CUDA(Api().DeviceGetName(name, sizeof(name), 0));
  EXPECT_STREQ(name, "CPU dev");
  EXPECT_EQ(Api().DeviceGetName(name, 0, 0), CUDA_ERROR_INVALID_VALUE);
  size_t bytes = 0;
  EXPECT_CUDA(Api().DeviceTotalMem(&bytes, 0));
  EXPECT_EQ(bytes, size_t{256} << 20);
}

TEST(ApiSettings, Parse) {
  EXPECT_EQ(ParseArch("90"), 90);
  EXPECT_EQ(ParseArch("9.0"), 90);
  EXPECT_EQ(ParseArch("sm_120"), 120);
  EXPECT_EQ(ParseArch("12.1"), 121);
  for (const char* bad : {"", "sm_", "9.00", "70", "130", "90a", "-90", "9.", "nine"})
    EXPECT_FALSE(ParseArch(bad)) << bad;
  EXPECT_EQ(ParseBytes("4096"), 4096);
  EXPECT_EQ(ParseBytes("64K"), 65536);
  EXPECT_EQ(ParseBytes("3g"), size_t{3} << 30);
  for (const char* bad : {"", "0", "K", "1T", "-1", "1.5G", "99999999999999999999", "18446744073709551615K"}) {
    EXPECT_FALSE(ParseBytes(bad)) << bad;
  }
}

using ApiContext = ApiTest;

TEST_F(ApiContext, PrimaryContextIsCounted) {
  CUcontext again = nullptr;
  ASSERT_CUDA(Api().DevicePrimaryCtxRetain(&again, 0));
  EXPECT_EQ(again, context_);
  EXPECT_CUDA(Api().DevicePrimaryCtxRelease(0));
  EXPECT_CUDA(Api().CtxSynchronize());  // Still there.
  EXPECT_EQ(Api().DevicePrimaryCtxRelease(1), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(Api().DevicePrimaryCtxRelease(9), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(Api().DevicePrimaryCtxRetain(&again, 9), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(ApiContext, WhatLivedInADestroyedContextIsGone) {
  CUcontext other = nullptr;
  ASSERT_CUDA(Api().DevicePrimaryCtxRetain(&other, 1));
  ASSERT_CUDA(Api().CtxPushCurrent(other));
  CUstream stream = NewStream();
  CUevent event = NewEvent();
  CUdeviceptr memory = 0;
  ASSERT_CUDA(Api().MemAlloc(&memory, 1000));
  CUmodule module = nullptr;
  ASSERT_CUDA(Api().ModuleLoadDataEx(&module, kTestPtx, 0, nullptr, nullptr));
  ASSERT_CUDA(Api().DevicePrimaryCtxRelease(1));

  EXPECT_EQ(Api().StreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Api().StreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Api().EventQuery(event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Api().EventDestroy(event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Api().ModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Api().CtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(Api().MemAlloc(&memory, 4), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(Api().CtxPushCurrent(other), CUDA_ERROR_INVALID_CONTEXT);
  CUcontext popped = nullptr;
  EXPECT_CUDA(Api().CtxPopCurrent(&popped));
  EXPECT_EQ(popped, other);
  EXPECT_EQ(Api().MemFree(memory), CUDA_ERROR_INVALID_VALUE);

  // The next one is another context, with all its memory.
  CUcontext fresh = nullptr;
  ASSERT_CUDA(Api().DevicePrimaryCtxRetain(&fresh, 1));
  EXPECT_NE(fresh, other);
  ASSERT_CUDA(Api().CtxPushCurrent(fresh));
  size_t free = 0, total = 0;
  EXPECT_CUDA(Api().MemGetInfo(&free, &total));
  EXPECT_EQ(free, total);
  EXPECT_CUDA(Api().CtxPopCurrent(nullptr));
  EXPECT_CUDA(Api().DevicePrimaryCtxRelease(1));
}

TEST_F(ApiContext, StackIsTheThreads) {
  CUcontext current = nullptr;
  EXPECT_CUDA(Api().CtxGetCurrent(&current));
  EXPECT_EQ(current, context_);
  std::thread([&] {
    CUcontext mine = context_;
    EXPECT_CUDA(Api().CtxGetCurrent(&mine));
    EXPECT_EQ(mine, nullptr);
    EXPECT_EQ(Api().CtxPopCurrent(&mine), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(Api().CtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
    CUdevice device = 0;
    EXPECT_EQ(Api().CtxGetDevice(&device), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_CUDA(Api().CtxSetCurrent(context_));
    EXPECT_CUDA(Api().CtxGetDevice(&device));
    EXPECT_EQ(device, 0);
    EXPECT_CUDA(Api().CtxSetCurrent(nullptr));
    EXPECT_CUDA(Api().CtxGetCurrent(&mine));
    EXPECT_EQ(mine, nullptr);
  }).join();
  EXPECT_EQ(Api().CtxPushCurrent(nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(Api().CtxSetCurrent(reinterpret_cast<CUcontext>(0x1234)), CUDA_ERROR_INVALID_CONTEXT);
  for (int i = 0; i < 1000; ++i) ASSERT_CUDA(Api().CtxPushCurrent(context_));
  for (int i = 0; i < 1000; ++i) ASSERT_CUDA(Api().CtxPopCurrent(nullptr));
}

// As tried on an H200: a created stream carries its context, a default stream takes the current one.
TEST_F(ApiContext, CreatedStreamsNeedNoContextAndDefaultOnesDo) {
  CUdeviceptr words = NewWords(32);
  CUstream stream = NewStream();
  CUfunction store = Function("store");
  auto launch = [&](CUstream on, uint32_t value) {
    LaunchBuffer buffer(uint64_t{words}, value);
    return Api().LaunchKernel(store, 1, 1, 1, 32, 1, 1, 0, on, nullptr, buffer.extra());
  };
  CUcontext foreign = nullptr;
  ASSERT_CUDA(Api().DevicePrimaryCtxRetain(&foreign, 1));
  std::thread([&] {
    // None.
    EXPECT_EQ(launch(nullptr, 1), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(launch(kStreamLegacy, 1), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(launch(kStreamPerThread, 1), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(Api().StreamSynchronize(nullptr), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_CUDA(launch(stream, 2));
    EXPECT_CUDA(Api().StreamSynchronize(stream));
    // A foreign one.
    EXPECT_CUDA(Api().CtxPushCurrent(foreign));
    EXPECT_EQ(launch(nullptr, 3), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(launch(kStreamPerThread, 3), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_CUDA(launch(stream, 4));
    EXPECT_CUDA(Api().StreamSynchronize(stream));
    CUstream foreign_stream = NewStream();
    EXPECT_EQ(launch(foreign_stream, 5), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(Api().EventRecord(NewEvent(), stream), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_CUDA(Api().CtxPopCurrent(nullptr));
  }).join();
  EXPECT_EQ(ReadWords(words, 32), std::vector<uint32_t>(32, 4));
  EXPECT_CUDA(launch(nullptr, 6));
  EXPECT_CUDA(launch(kStreamPerThread, 7));
  EXPECT_CUDA(Api().CtxSynchronize());
  EXPECT_EQ(ReadWords(words, 32), std::vector<uint32_t>(32, 7));
  EXPECT_CUDA(Api().DevicePrimaryCtxRelease(1));
}

TEST_F(ApiContext, HandlesAreNeverFollowed) {
  // Numbers, addresses of real memory, handles of another kind, stale ones: none is followed.
  CUstream stale = NewStream();
  EXPECT_CUDA(Api().StreamDestroy(stale));
  int real = 0;
  for (void* bad : {static_cast<void*>(stale), static_cast<void*>(&real), reinterpret_cast<void*>(0x30),
                    static_cast<void*>(Module()), static_cast<void*>(context_)}) {
    CUstream stream = static_cast<CUstream>(bad);
    EXPECT_EQ(Api().StreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(Api().StreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(Api().StreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(Api().EventSynchronize(static_cast<CUevent>(bad)), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(Api().EventDestroy(static_cast<CUevent>(bad)), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(Api().LaunchKernel(static_cast<CUfunction>(bad), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
              CUDA_ERROR_INVALID_HANDLE);
    int value = 0;
    EXPECT_EQ(Api().FuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, static_cast<CUfunction>(bad)),
              CUDA_ERROR_INVALID_HANDLE);
    if (bad == Module()) continue;
    EXPECT_EQ(Api().ModuleUnload(static_cast<CUmodule>(bad)), CUDA_ERROR_INVALID_HANDLE);
  }
}

}  // namespace
}  // namespace slipway::cpu
