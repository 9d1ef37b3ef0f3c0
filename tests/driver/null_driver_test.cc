#include "slipway/null_driver.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace slipway {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NullTablesTest : public testing::TestWithParam<const char*> {
 protected:
  const DriverApi& api() { return std::string(GetParam()) == "null" ? NullDriver() : RecordingDriver(); }
};

TEST_P(NullTablesTest, EveryEntryIsThere) {
#define SLIPWAY_EXPECT_ENTRY(member, since, need, parameters) EXPECT_NE(api().member, nullptr) << #member;
  SLIPWAY_DRIVER_FUNCTIONS(SLIPWAY_EXPECT_ENTRY)
#undef SLIPWAY_EXPECT_ENTRY
}

TEST_P(NullTablesTest, DescribesAComputeCapability90Device) {
  int major = 0, minor = -1, count = 0, warp = 0, unknown = -1;
  EXPECT_EQ(api().Init(0), CUDA_SUCCESS);
  EXPECT_EQ(api().DeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(api().DeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0), CUDA_SUCCESS);
  EXPECT_EQ(api().DeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0), CUDA_SUCCESS);
  EXPECT_EQ(api().DeviceGetAttribute(&warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0), CUDA_SUCCESS);
  EXPECT_EQ(api().DeviceGetAttribute(&unknown, CU_DEVICE_ATTRIBUTE_INTEGRATED, 0), CUDA_SUCCESS);
  EXPECT_EQ(major, 9);
  EXPECT_EQ(minor, 0);
  EXPECT_EQ(warp, 32);
  EXPECT_EQ(unknown, 0);
}

TEST_P(NullTablesTest, AllocationsAreDistinctAlignedAndLimited) {
  struct Range {
    CUdeviceptr begin, end;
  };
  std::vector<Range> ranges;
  for (size_t bytes : {size_t{1}, size_t{255}, size_t{256}, size_t{257}, size_t{1} << 32, size_t{1}}) {
    CUdeviceptr address = 0;
    ASSERT_EQ(api().MemAlloc(&address, bytes), CUDA_SUCCESS);
    EXPECT_EQ(address % 256, 0u);
    ranges.push_back({address, address + bytes});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < ranges.size(); ++i) EXPECT_LT(ranges[i - 1].end, ranges[i].begin);
  for (const Range& range : ranges) EXPECT_EQ(api().MemFree(range.begin), CUDA_SUCCESS);

  CUdeviceptr address = 0;
  EXPECT_EQ(api().MemAlloc(&address, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(api().MemAlloc(&address, ~size_t{0}), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_P(NullTablesTest, KeepsAContextStackPerThread) {
  CUcontext context = nullptr, now = nullptr;
  ASSERT_EQ(api().DevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  ASSERT_EQ(api().CtxPushCurrent(context), CUDA_SUCCESS);
  std::thread([this] {
    CUcontext other = reinterpret_cast<CUcontext>(1);
    EXPECT_EQ(api().CtxGetCurrent(&other), CUDA_SUCCESS);
    EXPECT_EQ(other, nullptr);
    EXPECT_EQ(api().CtxPopCurrent(&other), CUDA_ERROR_INVALID_CONTEXT);
  }).join();
  EXPECT_EQ(api().CtxGetCurrent(&now), CUDA_SUCCESS);
  EXPECT_EQ(now, context);
  EXPECT_EQ(api().CtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(api().CtxGetCurrent(&now), CUDA_SUCCESS);
  EXPECT_EQ(now, nullptr);
  EXPECT_EQ(api().DevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

// Static objects make their device's context current when main has returned: after the thread's own objects are gone.
TEST_P(NullTablesTest, KeepsTheContextStackUntilTheProcessEnds) {
  static const DriverApi* table = &api();
  static CUcontext pushed = nullptr;
  const auto use_late = [] {
    std::atexit([] {
      CUcontext now = nullptr;
      table->CtxGetCurrent(&now);
      const bool kept = now == pushed && table->CtxSetCurrent(pushed) == CUDA_SUCCESS;
      _exit(kept && table->CtxPopCurrent(&now) == CUDA_SUCCESS && now == pushed ? 0 : 1);
    });
    table->DevicePrimaryCtxRetain(&pushed, 0);
    table->CtxPushCurrent(pushed);
    std::exit(2);
  };
  EXPECT_EXIT(use_late(), testing::ExitedWithCode(0), "");
}

TEST_P(NullTablesTest, TheContextStackHasAnEnd) {
  CUcontext context = nullptr;
  ASSERT_EQ(api().DevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  int pushed = 0;
  while (pushed < 1000 && api().CtxPushCurrent(context) == CUDA_SUCCESS) ++pushed;
  EXPECT_EQ(pushed, 32);
  EXPECT_EQ(api().CtxPushCurrent(context), CUDA_ERROR_OUT_OF_MEMORY);
  while (pushed-- > 0) EXPECT_EQ(api().CtxPopCurrent(&context), CUDA_SUCCESS);
  EXPECT_EQ(api().CtxPopCurrent(&context), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(api().DevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

TEST_P(NullTablesTest, GetProcAddressAnswersFromTheTable) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  EXPECT_EQ(api().GetProcAddress("cuLaunchKernel", &function, 13000, 0, &found), CUDA_SUCCESS);
  EXPECT_EQ(function, reinterpret_cast<void*>(api().LaunchKernel));
  EXPECT_EQ(found, CU_GET_PROC_ADDRESS_SUCCESS);
  EXPECT_EQ(api().GetProcAddress("cuMemAllocAsync", &function, 11000, 0, &found), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(found, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(api().GetProcAddress("cuAbacus", &function, 13000, 0, &found), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(found, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(function, nullptr);
}

TEST_P(NullTablesTest, HostFunctionsRunAndHostMemoryIsReal) {
  int ran = 0;
  EXPECT_EQ(api().LaunchHostFunc(
                nullptr, [](void* data) { ++*static_cast<int*>(data); }, &ran),
            CUDA_SUCCESS);
  EXPECT_EQ(ran, 1);
  void* memory = nullptr;
  ASSERT_EQ(api().MemAllocHost(&memory, 64), CUDA_SUCCESS);
  std::memset(memory, 7, 64);
  EXPECT_EQ(api().MemFreeHost(memory), CUDA_SUCCESS);
}

INSTANTIATE_TEST_SUITE_P(Tables, NullTablesTest, testing::Values("null", "recording"));

TEST(RecordingDriverTest, KeepsEveryArgumentOfALaunch) {
  const DriverApi& api = RecordingDriver();
  TakeRecordedLaunches();
  const auto function = reinterpret_cast<CUfunction>(0x100);
  const auto stream = reinterpret_cast<CUstream>(0x200);
  unsigned char buffer[] = {1, 2, 3, 4, 5};
  size_t size = sizeof(buffer);
  void* extra[] = {kLaunchParamBufferPointer, buffer, kLaunchParamBufferSize, &size, kLaunchParamEnd};
  EXPECT_EQ(api.LaunchKernel(function, 1, 2, 3, 4, 5, 6, 7, stream, nullptr, extra), CUDA_SUCCESS);
  buffer[0] = 99;  // The launch has been made: the record must not follow.
  int value = 5;
  void* params[] = {&value};
  EXPECT_EQ(api.LaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr), CUDA_SUCCESS);

  const std::vector<RecordedLaunch> launches = TakeRecordedLaunches();
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].function, function);
  EXPECT_THAT(launches[0].grid, ElementsAre(1, 2, 3));
  EXPECT_THAT(launches[0].block, ElementsAre(4, 5, 6));
  EXPECT_EQ(launches[0].shared_bytes, 7u);
  EXPECT_EQ(launches[0].stream, stream);
  EXPECT_EQ(launches[0].context, nullptr);
  EXPECT_TRUE(launches[0].has_buffer);
  EXPECT_THAT(launches[0].buffer, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(launches[0].params, nullptr);
  EXPECT_FALSE(launches[1].has_buffer);
  EXPECT_THAT(launches[1].buffer, IsEmpty());
  EXPECT_EQ(launches[1].params, params);
  EXPECT_THAT(TakeRecordedLaunches(), IsEmpty());
}

TEST(RecordingDriverTest, CountsWhatLivesAndRefusesWhatDoesNot) {
  const DriverApi& api = RecordingDriver();
  ASSERT_EQ(CountRecordedObjects(), RecordedObjects{});
  CUmodule module;
  CUstream stream;
  CUevent event;
  CUdeviceptr memory, async_memory;
  void* host;
  CUcontext context;
  EXPECT_EQ(api.DevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  EXPECT_EQ(api.ModuleLoadDataEx(&module, "", 0, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(api.StreamCreateWithPriority(&stream, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(api.EventCreate(&event, 0), CUDA_SUCCESS);
  EXPECT_EQ(api.MemAlloc(&memory, 8), CUDA_SUCCESS);
  EXPECT_EQ(api.MemAllocAsync(&async_memory, 8, stream), CUDA_SUCCESS);
  EXPECT_EQ(api.MemAllocHost(&host, 8), CUDA_SUCCESS);
  EXPECT_EQ(
      CountRecordedObjects(),
      (RecordedObjects{
          .retained_contexts = 1, .modules = 1, .streams = 1, .events = 1, .allocations = 2, .host_allocations = 1}));
  for (const bool alive : {true, false}) {
    EXPECT_EQ(api.ModuleUnload(module), alive ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(api.StreamDestroy(stream), alive ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(api.EventDestroy(event), alive ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(api.MemFree(memory), alive ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.MemFreeAsync(async_memory, nullptr), alive ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.MemFreeHost(host), alive ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(api.DevicePrimaryCtxRelease(0), alive ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
  }
  EXPECT_EQ(CountRecordedObjects(), RecordedObjects{});
}

}  // namespace
}  // namespace slipway
