// The CPU device's libcuda.so.1 itself: what it exports and hides, its versions, what it refuses, what it leaves
// behind.
#include <dlfcn.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "driver/cpu/sanitizers.h"
#include "tests/cuda_library/tested_driver.h"

namespace slipway::cuda_library {
namespace {

struct Named {
  const char* exported;
  const char* symbol;
  int since;
  bool per_thread;
  bool supported;
};
constexpr Named kExports[] = {
#define X(symbol, variant, since, function) {"cu" #symbol #variant, "cu" #symbol, since, false, true},
#define P(symbol, variant, kind, since, function) {"cu" #symbol #variant #kind, "cu" #symbol, since, true, true},
#define N(symbol, variant, since) {"cu" #symbol #variant, "cu" #symbol, since, false, false},
#define M(symbol, variant, kind, since) {"cu" #symbol #variant #kind, "cu" #symbol, since, true, false},
#include "driver/cpu/cuda_library/exports.inc"
#undef X
#undef P
#undef N
#undef M
};

class CudaLibrary : public DriverTest {
 protected:
  void SetUp() override {
    library_ = dlopen(SLIPWAY_TEST_DRIVER, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    DriverTest::SetUp();
  }
  CUresult Ask(const char* symbol, int version, uint64_t flags, void** function,
               CUdriverProcAddressQueryResult* answer) const {
    return api_->GetProcAddress(symbol, function, version, flags, answer);
  }
  void* library_ = nullptr;
};

TEST_F(CudaLibrary, ExportsWhatADriverExports) {
  std::set<std::string> names;
  for (const Named& named : kExports) {
    EXPECT_NE(dlsym(library_, named.exported), nullptr) << named.exported;
    EXPECT_TRUE(names.insert(named.exported).second) << named.exported << " is listed twice";
  }
#define SLIPWAY_EXPECT(member, since, need, parameters) \
  EXPECT_TRUE(names.contains("cu" #member) || names.contains("cu" #member "_v2")) << #member;
  SLIPWAY_DRIVER_FUNCTIONS(SLIPWAY_EXPECT)
#undef SLIPWAY_EXPECT
  // The toolkit's stub, which programs are linked against.
  void* const stub = dlopen(SLIPWAY_CUDA_STUB, RTLD_LAZY | RTLD_LOCAL);
  if (stub == nullptr) GTEST_SKIP() << "no CUDA toolkit: " << dlerror();
  for (const Named& named : kExports) EXPECT_NE(dlsym(stub, named.exported), nullptr) << named.exported;
}

TEST_F(CudaLibrary, HidesEverythingElse) {
  for (const char* const name : {"LLVMContextCreate", "_ZN7slipway9CpuDriverEv", "slipway_slot_cuInit"}) {
    // Looked up in the library and what it depends on: those that come along as shared libraries have symbols of their
    // own.
    void* const found = dlsym(library_, name);
    Dl_info info = {};
    EXPECT_TRUE(found == nullptr || (dladdr(found, &info) != 0 && std::strstr(info.dli_fname, "libcuda") == nullptr))
        << name;
  }
}

TEST_F(CudaLibrary, GetProcAddressKnowsVersionsAndStreams) {
  for (const Named& named : kExports) {
    void* function = nullptr;
    CUdriverProcAddressQueryResult answer = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    const uint64_t flags = named.per_thread ? 2 : 0;  // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM.
    EXPECT_EQ(Ask(named.symbol, named.since, flags, &function, &answer), CUDA_SUCCESS) << named.exported;
    EXPECT_EQ(answer, CU_GET_PROC_ADDRESS_SUCCESS) << named.exported;
    EXPECT_NE(function, nullptr) << named.exported;
  }
  void* create2 = nullptr;
  void* create4 = nullptr;
  CUdriverProcAddressQueryResult answer = CU_GET_PROC_ADDRESS_SUCCESS;
  EXPECT_EQ(Ask("cuCtxCreate", 3020, 0, &create2, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Ask("cuCtxCreate", 13000, 0, &create4, nullptr), CUDA_SUCCESS);
  EXPECT_NE(create2, create4);
  EXPECT_EQ(Ask("cuMemAllocAsync", 11010, 0, &create2, &answer), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(answer, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(create2, nullptr);
  EXPECT_EQ(Ask("cuMakeTea", 13000, 0, &create2, &answer), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(answer, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(Ask("cuInit", 13000, 8, &create2, &answer), CUDA_ERROR_INVALID_VALUE);
  // A function without a stream is the same for both kinds.
  EXPECT_EQ(Ask("cuMemAlloc", 13000, 2, &create2, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(Ask("cuMemAlloc", 13000, 1, &create4, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(create2, create4);
}

TEST_F(CudaLibrary, WhatIsNotThereSaysSo) {
  for (const Named& named : kExports) {
    if (named.supported) continue;
    // Whatever its parameters are: it looks at none.
    EXPECT_EQ(reinterpret_cast<CUresult (*)()>(dlsym(library_, named.exported))(), CUDA_ERROR_NOT_SUPPORTED)
        << named.exported;
  }
}

// docs/clients.md lists what is not supported, by name.
TEST_F(CudaLibrary, WhatIsNotThereIsDocumented) {
  std::ifstream file("docs/clients.md");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  ASSERT_FALSE(text.empty());
  std::set<std::string> some;  // Symbols of which another variant is supported.
  for (const Named& named : kExports) {
    if (named.supported) some.insert(named.symbol);
  }
  for (const Named& named : kExports) {
    if (named.supported || some.contains(named.symbol)) continue;
    EXPECT_NE(text.find("`" + std::string(named.symbol) + "`"), std::string::npos) << named.symbol;
  }
}

TEST_F(CudaLibrary, RefusesMachineCodeByName) {
  const std::string cubin(
      "\x7f"
      "ELF\x02\x01\x01",
      7);
  std::vector<char> image(256, '\0');
  std::copy(cubin.begin(), cubin.end(), image.begin());
  std::vector<char> log(1024);
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  CUmodule module = nullptr;
  EXPECT_EQ(api_->ModuleLoadDataEx(&module, image.data(), 2, options, values), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_NE(std::string(log.data()).find("takes PTX text, not machine code for a GPU (this is a cubin)"),
            std::string::npos)
      << log.data();
}

// A GPU's driver may crash; here such handles are known for what they are.
TEST_F(CudaLibrary, HandlesOfWhatIsGone) {
  const auto stale = CUDA_ERROR_INVALID_HANDLE;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  ASSERT_EQ(api_->StreamCreateWithPriority(&stream, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(api_->EventCreate(&event, 0), CUDA_SUCCESS);
  ASSERT_EQ(api_->StreamDestroy(stream), CUDA_SUCCESS);
  ASSERT_EQ(api_->EventDestroy(event), CUDA_SUCCESS);
  EXPECT_EQ(api_->StreamSynchronize(stream), stale);
  EXPECT_EQ(api_->StreamDestroy(stream), stale);
  EXPECT_EQ(api_->EventQuery(event), stale);
  const CUmodule module = Load(kKernels);
  CUfunction function = nullptr;
  ASSERT_EQ(api_->ModuleGetFunction(&function, module, "nothing"), CUDA_SUCCESS);
  ASSERT_EQ(api_->ModuleUnload(module), CUDA_SUCCESS);
  EXPECT_EQ(Launch(function, nullptr), stale);
  EXPECT_EQ(api_->ModuleUnload(module), stale);
  const CUcontext gone = NewContext();
  ASSERT_EQ(api_->CtxPushCurrent(gone), CUDA_SUCCESS);
  Destroy(gone);  // The top of the stack goes, and what lies under it stays.
  EXPECT_EQ(api_->CtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(api_->CtxPopCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(api_->CtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(CudaLibrary, PerThreadVariantsTakeTheNullStreamForTheThreads) {
  const auto add_callback =
      reinterpret_cast<CUresult (*)(CUstream, void (*)(CUstream, CUresult, void*), void*, unsigned)>(
          dlsym(library_, "cuStreamAddCallback_ptsz"));
  const auto query = reinterpret_cast<CUresult (*)(CUstream)>(dlsym(library_, "cuStreamQuery_ptsz"));
  const auto begin =
      reinterpret_cast<CUresult (*)(CUstream, CUstreamCaptureMode)>(dlsym(library_, "cuStreamBeginCapture_v2_ptsz"));
  const auto end = reinterpret_cast<CUresult (*)(CUstream, CUgraph*)>(dlsym(library_, "cuStreamEndCapture_ptsz"));
  const auto get_id =
      reinterpret_cast<CUresult (*)(CUstream, unsigned long long*)>(dlsym(library_, "cuStreamGetId_ptsz"));
  bool called = false;
  EXPECT_EQ(add_callback(
                nullptr, [](CUstream, CUresult, void* done) { *static_cast<bool*>(done) = true; }, &called, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(api_->CtxSynchronize(), CUDA_SUCCESS);
  EXPECT_TRUE(called);
  EXPECT_EQ(query(nullptr), CUDA_SUCCESS);
  // The legacy stream cannot capture, this thread's can.
  CUgraph graph = nullptr;
  EXPECT_EQ(begin(kStreamLegacy, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(begin(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(end(kStreamPerThread, &graph), CUDA_SUCCESS);
  EXPECT_EQ(api_->GraphDestroy(graph), CUDA_SUCCESS);
  unsigned long long mine = 0, others = 0;
  EXPECT_EQ(get_id(nullptr, &mine), CUDA_SUCCESS);
  std::thread([&] {
    EXPECT_EQ(api_->CtxPushCurrent(context_), CUDA_SUCCESS);
    EXPECT_EQ(get_id(nullptr, &others), CUDA_SUCCESS);
  }).join();
  EXPECT_NE(mine, others);
}

TEST_F(CudaLibrary, CopiesBoxes) {
  constexpr size_t kRows = 4, kColumns = 5, kSlices = 3;
  std::vector<unsigned char> host(16 * 8 * 6);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<unsigned char>(i * 7);
  CUdeviceptr device = 0;
  ASSERT_EQ(api_->MemAlloc(&device, 32 * 8 * 6), CUDA_SUCCESS);
  ASSERT_EQ(api_->MemsetD8(device, 0, 32 * 8 * 6), CUDA_SUCCESS);
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host.data();
  copy.srcXInBytes = 3;
  copy.srcY = 2;
  copy.srcZ = 1;
  copy.srcPitch = 16;
  copy.srcHeight = 8;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = device;
  copy.dstXInBytes = 1;
  copy.dstY = 3;
  copy.dstZ = 2;
  copy.dstPitch = 32;
  copy.dstHeight = 8;
  copy.WidthInBytes = kColumns;
  copy.Height = kRows;
  copy.Depth = kSlices;
  ASSERT_EQ(Function<CUresult(const CUDA_MEMCPY3D*)>("cuMemcpy3D", 3020)(&copy), CUDA_SUCCESS);
  std::vector<unsigned char> got(32 * 8 * 6), expected(32 * 8 * 6);
  for (size_t z = 0; z < kSlices; ++z) {
    for (size_t y = 0; y < kRows; ++y) {
      for (size_t x = 0; x < kColumns; ++x) {
        expected[((z + 2) * 8 + y + 3) * 32 + x + 1] = host[((z + 1) * 8 + y + 2) * 16 + x + 3];
      }
    }
  }
  ASSERT_EQ(api_->MemcpyDtoH(got.data(), device, got.size()), CUDA_SUCCESS);
  EXPECT_EQ(got, expected);
  copy.dstPitch = 4;  // Less than a row.
  EXPECT_EQ(Function<CUresult(const CUDA_MEMCPY3D*)>("cuMemcpy3D", 3020)(&copy), CUDA_ERROR_INVALID_VALUE);
  copy.dstPitch = 32;
  copy.dstZ = 4;  // Past the end.
  EXPECT_EQ(Function<CUresult(const CUDA_MEMCPY3D*)>("cuMemcpy3D", 3020)(&copy), CUDA_ERROR_INVALID_VALUE);
  for (const size_t rows : {size_t{1} << 60, size_t{1} << 63, ~size_t{0}}) {  // Where it would wrap around.
    copy.dstZ = 0;
    copy.dstY = rows;
    EXPECT_EQ(Function<CUresult(const CUDA_MEMCPY3D*)>("cuMemcpy3D", 3020)(&copy), CUDA_ERROR_INVALID_VALUE);
  }
  copy.dstY = 0;
  copy.dstHeight = kRows - 1;  // Less than a slice.
  EXPECT_EQ(Function<CUresult(const CUDA_MEMCPY3D*)>("cuMemcpy3D", 3020)(&copy), CUDA_ERROR_INVALID_VALUE);
  copy.dstHeight = 8;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  EXPECT_EQ(Function<CUresult(const CUDA_MEMCPY3D*)>("cuMemcpy3D", 3020)(&copy), CUDA_ERROR_NOT_SUPPORTED);
  // Rows of 16-bit elements.
  ASSERT_EQ(api_->MemsetD8(device, 0, got.size()), CUDA_SUCCESS);
  const auto fill = Function<CUresult(CUdeviceptr, size_t, unsigned short, size_t, size_t)>("cuMemsetD2D16", 3020);
  ASSERT_EQ(fill(device + 2, 32, 0x1234, 3, 2), CUDA_SUCCESS);
  EXPECT_EQ(fill(device + 1, 32, 0x1234, 3, 2), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(api_->MemcpyDtoH(got.data(), device, 64), CUDA_SUCCESS);
  for (size_t i = 0; i < 64; ++i) {
    const size_t column = i % 32;
    const int byte = column >= 2 && column < 8 ? (column % 2 == 0 ? 0x34 : 0x12) : 0;
    EXPECT_EQ(got[i], byte) << i;
  }
}

TEST_F(CudaLibrary, CopiesByKind) {
  const auto copy = Function<CUresult(CUdeviceptr, CUdeviceptr, size_t)>("cuMemcpy", 4000);
  std::vector<uint32_t> from = {1, 2, 3, 4}, to(4);
  CUdeviceptr device = 0;
  ASSERT_EQ(api_->MemAlloc(&device, 16), CUDA_SUCCESS);
  ASSERT_EQ(copy(device, reinterpret_cast<CUdeviceptr>(from.data()), 16), CUDA_SUCCESS);
  ASSERT_EQ(copy(reinterpret_cast<CUdeviceptr>(to.data()), device, 16), CUDA_SUCCESS);
  EXPECT_EQ(to, from);
  from[0] = 9;
  ASSERT_EQ(copy(reinterpret_cast<CUdeviceptr>(to.data()), reinterpret_cast<CUdeviceptr>(from.data()), 16),
            CUDA_SUCCESS);
  EXPECT_EQ(to, from) << "from host to host, too";
  EXPECT_EQ(copy(device + 4, reinterpret_cast<CUdeviceptr>(from.data()), 16), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CudaLibrary, PoolsCount) {
  CUmemoryPool pool = nullptr;
  ASSERT_EQ((Function<CUresult(CUmemoryPool*, CUdevice)>("cuDeviceGetDefaultMemPool", 11020)(&pool, 0)), CUDA_SUCCESS);
  const auto read = Function<CUresult(CUmemoryPool, int, void*)>("cuMemPoolGetAttribute", 11020);
  const auto destroy = Function<CUresult(CUmemoryPool)>("cuMemPoolDestroy", 11020);
  uint64_t before = 0, during = 0, after = 0, peak = 0;
  ASSERT_EQ(read(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &before), CUDA_SUCCESS);
  CUdeviceptr memory = 0;
  ASSERT_EQ(api_->MemAllocAsync(&memory, 1000, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(read(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &during), CUDA_SUCCESS);
  EXPECT_EQ(during, before + 1024) << "in steps of 256";
  ASSERT_EQ(api_->MemFreeAsync(memory, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(api_->CtxSynchronize(), CUDA_SUCCESS);
  ASSERT_EQ(read(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &after), CUDA_SUCCESS);
  ASSERT_EQ(read(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &peak), CUDA_SUCCESS);
  EXPECT_EQ(after, before);
  EXPECT_GE(peak, during);
  EXPECT_EQ(destroy(pool), CUDA_ERROR_INVALID_VALUE) << "a device's own";
  CUmemPoolProps props = {};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemoryPool made = nullptr;
  ASSERT_EQ((Function<CUresult(CUmemoryPool*, const CUmemPoolProps*)>("cuMemPoolCreate", 11020)(&made, &props)),
            CUDA_SUCCESS);
  EXPECT_EQ(destroy(made), CUDA_SUCCESS);
  EXPECT_EQ(destroy(made), CUDA_ERROR_INVALID_VALUE);
}

// One device, or as many as SLIPWAY_CPU_DEVICES says.
TEST_F(CudaLibrary, SeveralDevices) {
  const char* const wanted = std::getenv("SLIPWAY_CPU_DEVICES");
  int count = 0;
  ASSERT_EQ(api_->DeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_EQ(count, wanted == nullptr ? 1 : std::atoi(wanted));
  CUdevice device = 0;
  EXPECT_EQ(api_->DeviceGet(&device, count), CUDA_ERROR_INVALID_DEVICE);
  const auto create = Function<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate", 3020);
  const auto by_bus = Function<CUresult(CUdevice*, const char*)>("cuDeviceGetByPCIBusId", 4010);
  const auto bus_of = Function<CUresult(char*, int, CUdevice)>("cuDeviceGetPCIBusId", 4010);
  std::set<std::string> buses;
  for (int i = 0; i < count; ++i) {
    char bus[32] = {};
    ASSERT_EQ(bus_of(bus, sizeof(bus), i), CUDA_SUCCESS);
    EXPECT_TRUE(buses.insert(bus).second) << bus;
    EXPECT_EQ(by_bus(&device, bus), CUDA_SUCCESS);
    EXPECT_EQ(device, i);
    CUcontext context = nullptr;
    ASSERT_EQ(create(&context, 0, i), CUDA_SUCCESS);
    EXPECT_EQ(api_->CtxGetDevice(&device), CUDA_SUCCESS);
    EXPECT_EQ(device, i);
    int can = -1;
    EXPECT_EQ(api_->DeviceCanAccessPeer(&can, 0, i), CUDA_SUCCESS);
    EXPECT_EQ(can, i == 0 ? 0 : 1);
    // From the first device's memory to this one's.
    CUdeviceptr mine = 0, first = 0;
    ASSERT_EQ(api_->MemAlloc(&mine, 4), CUDA_SUCCESS);
    ASSERT_EQ(api_->CtxPushCurrent(context_), CUDA_SUCCESS);
    ASSERT_EQ(api_->MemAlloc(&first, 4), CUDA_SUCCESS);
    ASSERT_EQ(api_->MemsetD32(first, 77, 1), CUDA_SUCCESS);
    ASSERT_EQ(api_->CtxSynchronize(), CUDA_SUCCESS);
    const auto copy = Function<CUresult(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t)>("cuMemcpyPeer", 4000);
    EXPECT_EQ(copy(mine, context, first, context_, 4), CUDA_SUCCESS);
    EXPECT_EQ(api_->CtxSynchronize(), CUDA_SUCCESS);
    uint32_t value = 0;
    EXPECT_EQ(api_->MemcpyDtoH(&value, mine, 4), CUDA_SUCCESS);
    EXPECT_EQ(value, 77u);
    EXPECT_EQ(api_->MemFree(first), CUDA_SUCCESS);
    EXPECT_EQ(api_->CtxPopCurrent(nullptr), CUDA_SUCCESS);
    Destroy(context);
  }
}

TEST_F(CudaLibrary, PoolsHaveLimitsAndHandles) {
  const auto create = Function<CUresult(CUmemoryPool*, const CUmemPoolProps*)>("cuMemPoolCreate", 11020);
  const auto allocate =
      Function<CUresult(CUdeviceptr*, size_t, CUmemoryPool, CUstream)>("cuMemAllocFromPoolAsync", 11020);
  CUmemPoolProps props = {};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  props.maxSize = 4096;
  CUmemoryPool pool = nullptr;
  ASSERT_EQ(create(&pool, &props), CUDA_SUCCESS);
  CUdeviceptr first = 0, second = 0, other = 0;
  ASSERT_EQ(allocate(&first, 3000, pool, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(allocate(&second, 3000, pool, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
  CUmemoryPool told = nullptr;
  EXPECT_EQ(api_->PointerGetAttribute(&told, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, first + 8), CUDA_SUCCESS);
  EXPECT_EQ(told, pool);
  ASSERT_EQ(api_->MemAlloc(&other, 8), CUDA_SUCCESS);
  EXPECT_EQ(api_->PointerGetAttribute(&told, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, other), CUDA_SUCCESS);
  EXPECT_EQ(told, nullptr);
  ASSERT_EQ(api_->MemFreeAsync(first, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(allocate(&second, 3000, pool, nullptr), CUDA_SUCCESS) << "what is freed in stream order is room";
}

TEST_F(CudaLibrary, PoolsOfSeveralDevices) {
  int count = 0;
  ASSERT_EQ(api_->DeviceGetCount(&count), CUDA_SUCCESS);
  const int last = count - 1;
  const auto create = Function<CUresult(CUmemoryPool*, const CUmemPoolProps*)>("cuMemPoolCreate", 11020);
  const auto allocate =
      Function<CUresult(CUdeviceptr*, size_t, CUmemoryPool, CUstream)>("cuMemAllocFromPoolAsync", 11020);
  const auto set = Function<CUresult(CUmemoryPool, const CUmemAccessDesc*, size_t)>("cuMemPoolSetAccess", 11020);
  const auto get = Function<CUresult(CUmemAccess_flags*, CUmemoryPool, CUmemLocation*)>("cuMemPoolGetAccess", 11020);
  CUmemPoolProps props = {};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, last};
  CUmemoryPool pool = nullptr;
  ASSERT_EQ(create(&pool, &props), CUDA_SUCCESS);
  // On a stream of the first device.
  CUdeviceptr memory = 0;
  ASSERT_EQ(allocate(&memory, 64, pool, nullptr), CUDA_SUCCESS);
  int ordinal = -1;
  EXPECT_EQ(api_->PointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory), CUDA_SUCCESS);
  EXPECT_EQ(ordinal, last) << "the pool's";
  CUmemAccess_flags flags = static_cast<CUmemAccess_flags>(99);
  for (int device = 0; device < count; ++device) {
    CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    EXPECT_EQ(get(&flags, pool, &location), CUDA_SUCCESS);
    EXPECT_EQ(static_cast<int>(flags), device == last ? 3 : 0);
    if (device == last) continue;
    CUmemAccessDesc access = {location, static_cast<CUmemAccess_flags>(3)};
    EXPECT_EQ(set(pool, &access, 1), CUDA_SUCCESS);
    EXPECT_EQ(get(&flags, pool, &location), CUDA_SUCCESS);
    EXPECT_EQ(static_cast<int>(flags), 3);
    access.flags = static_cast<CUmemAccess_flags>(2);
    EXPECT_EQ(set(pool, &access, 1), CUDA_ERROR_INVALID_VALUE);
  }
  CUmemAccessDesc own = {{CU_MEM_LOCATION_TYPE_DEVICE, last}, static_cast<CUmemAccess_flags>(0)};
  EXPECT_EQ(set(pool, &own, 1), CUDA_ERROR_INVALID_DEVICE) << "its own access cannot be taken away";
  if (count == 1) return;

  // Times of several devices have no difference.
  const auto record = [&] {
    CUevent event = nullptr;
    EXPECT_EQ(api_->EventCreate(&event, CU_EVENT_DEFAULT), CUDA_SUCCESS);
    EXPECT_EQ(api_->EventRecord(event, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(api_->EventSynchronize(event), CUDA_SUCCESS);
    return event;
  };
  const CUevent here = record();
  CUcontext context = nullptr;
  ASSERT_EQ((Function<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate", 3020)(&context, 0, last)), CUDA_SUCCESS);
  const CUevent there = record();
  float milliseconds = 0;
  EXPECT_EQ(api_->EventElapsedTime(&milliseconds, here, there), CUDA_ERROR_INVALID_HANDLE);
  Destroy(context);
}

TEST_F(CudaLibrary, UserObjectsLiveAsLongAsGraphsNeedThem) {
  static std::atomic<int> destroyed;
  destroyed = 0;
  const auto create =
      Function<CUresult(CUuserObject*, void*, CUhostFn, unsigned, unsigned)>("cuUserObjectCreate", 11030);
  const auto keep = Function<CUresult(CUgraph, CUuserObject, unsigned, unsigned)>("cuGraphRetainUserObject", 11030);
  const auto release = Function<CUresult(CUuserObject, unsigned)>("cuUserObjectRelease", 11030);
  CUuserObject object = nullptr;
  const CUhostFn destroy = [](void* count) { ++*static_cast<std::atomic<int>*>(count); };
  EXPECT_EQ(create(&object, &destroyed, destroy, 1, 0), CUDA_ERROR_INVALID_VALUE) << "without NO_DESTRUCTOR_SYNC";
  ASSERT_EQ(create(&object, &destroyed, destroy, 1, 1), CUDA_SUCCESS);
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_EQ(api_->StreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
  ASSERT_EQ(api_->StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  ASSERT_EQ(api_->StreamEndCapture(stream, &graph), CUDA_SUCCESS);
  constexpr unsigned kMove = 1;
  EXPECT_EQ(create(&object, &destroyed, destroy, ~0u, 1), CUDA_ERROR_INVALID_VALUE);
  const auto retain = Function<CUresult(CUuserObject, unsigned)>("cuUserObjectRetain", 11030);
  EXPECT_EQ(retain(object, ~0u), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(keep(graph, object, 0x7fffffff, 0), CUDA_ERROR_OUT_OF_MEMORY);
  const auto give_back = Function<CUresult(CUgraph, CUuserObject, unsigned)>("cuGraphReleaseUserObject", 11030);
  constexpr unsigned kMany = 1 << 20;
  EXPECT_EQ(keep(graph, object, kMany, 0), CUDA_SUCCESS);
  EXPECT_EQ(give_back(graph, object, kMany + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(give_back(graph, object, kMany), CUDA_SUCCESS);
  EXPECT_EQ(keep(graph, object, 5, kMove), CUDA_ERROR_INVALID_VALUE) << "there is one to be moved";
  ASSERT_EQ(keep(graph, object, 1, kMove), CUDA_SUCCESS);
  EXPECT_EQ(release(object, 1), CUDA_ERROR_INVALID_VALUE) << "it is the graph's now";
  ASSERT_EQ(api_->GraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(api_->GraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(destroyed, 0) << "the executable graph keeps it";
  ASSERT_EQ(api_->GraphExecDestroy(exec), CUDA_SUCCESS);
  while (destroyed == 0) std::this_thread::yield();  // On a thread of the driver's.
  EXPECT_EQ(destroyed, 1);
}

// As much dynamic shared memory as lets so many blocks share a multiprocessor, and no more.
TEST_F(CudaLibrary, SharedMemoryOfResidentBlocks) {
  const auto available =
      Function<CUresult(size_t*, CUfunction, int, int)>("cuOccupancyAvailableDynamicSMemPerBlock", 10020);
  const CUfunction kernel = Kernel("nothing");
  for (const int wanted : {1, 2, 3, 5, 7, 16}) {
    size_t bytes = 0;
    ASSERT_EQ(available(&bytes, kernel, wanted, 64), CUDA_SUCCESS);
    int blocks = 0;
    ASSERT_EQ(api_->OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 64, bytes), CUDA_SUCCESS);
    EXPECT_GE(blocks, wanted) << bytes;
    ASSERT_EQ(api_->OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 64, bytes + 1), CUDA_SUCCESS);
    EXPECT_LT(blocks, wanted) << bytes;
  }
  size_t bytes = 1;
  EXPECT_EQ(available(&bytes, kernel, 3, 1024), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 0u) << "so many threads are not resident";
  EXPECT_EQ(available(&bytes, kernel, 0, 64), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(available(nullptr, kernel, 1, 64), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CudaLibrary, LaunchesInSteps) {
  const CUfunction store = Kernel("store");
  CUdeviceptr words = 0;
  ASSERT_EQ(api_->MemAlloc(&words, 128), CUDA_SUCCESS);
  const auto set_block = Function<CUresult(CUfunction, int, int, int)>("cuFuncSetBlockShape", 2000);
  const auto set_size = Function<CUresult(CUfunction, unsigned)>("cuParamSetSize", 2000);
  const auto set_bytes = Function<CUresult(CUfunction, int, void*, unsigned)>("cuParamSetv", 2000);
  const auto set_number = Function<CUresult(CUfunction, int, unsigned)>("cuParamSeti", 2000);
  const auto launch = Function<CUresult(CUfunction, int, int)>("cuLaunchGrid", 2000);
  EXPECT_EQ(set_block(store, 0, 1, 1), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(set_block(store, 16, 1, 1), CUDA_SUCCESS);
  ASSERT_EQ(set_bytes(store, 0, &words, 8), CUDA_SUCCESS);
  ASSERT_EQ(set_number(store, 8, 5), CUDA_SUCCESS);
  ASSERT_EQ(set_size(store, 12), CUDA_SUCCESS);
  ASSERT_EQ(launch(store, 2, 1), CUDA_SUCCESS);
  std::vector<uint32_t> got(32);
  ASSERT_EQ(api_->MemcpyDtoH(got.data(), words, 128), CUDA_SUCCESS);
  EXPECT_EQ(got, std::vector<uint32_t>(32, 5));
  EXPECT_EQ(launch(store, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set_bytes(store, 32764, &words, 8), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CudaLibrary, LinksToAnImageThatItLoads) {
  const std::string head = ".version 7.0\n.target sm_75\n.address_size 64\n";
  std::string twice = head + R"(
.visible .func (.param .b32 out) twice(.param .b32 x)
{ .reg .b32 %r<3>; ld.param.u32 %r1, [x]; shl.b32 %r2, %r1, 1; st.param.b32 [out], %r2; ret; })";
  std::string main = head + R"(
.extern .func (.param .b32 out) twice(.param .b32 x);
.visible .entry k(.param .u64 to)
{
  .reg .b32 %r<3>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [to];
  mov.u32 %r1, 21;
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), twice, (a); ld.param.b32 %r2, [b]; }
  st.global.u32 [%rd1], %r2;
  ret;
})";
  CUlinkState link = nullptr;
  ASSERT_EQ(api_->LinkCreate(0, nullptr, nullptr, &link), CUDA_SUCCESS);
  for (std::string* text : {&twice, &main}) {
    ASSERT_EQ(api_->LinkAddData(link, CU_JIT_INPUT_PTX, text->data(), text->size() + 1, "part", 0, nullptr, nullptr),
              CUDA_SUCCESS);
  }
  void* image = nullptr;
  size_t bytes = 0;
  ASSERT_EQ(api_->LinkComplete(link, &image, &bytes), CUDA_SUCCESS);
  EXPECT_NE(std::string(static_cast<char*>(image), bytes).find(".version"), std::string::npos) << "it carries PTX";
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_EQ(api_->ModuleLoadDataEx(&module, image, 0, nullptr, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(api_->LinkDestroy(link), CUDA_SUCCESS);
  ASSERT_EQ(api_->ModuleGetFunction(&function, module, "k"), CUDA_SUCCESS);
  CUdeviceptr word = 0;
  ASSERT_EQ(api_->MemAlloc(&word, 4), CUDA_SUCCESS);
  LaunchBuffer buffer(word);
  ASSERT_EQ(Launch(function, nullptr, buffer.extra(), 1, 1), CUDA_SUCCESS);
  uint32_t value = 0;
  ASSERT_EQ(api_->MemcpyDtoH(&value, word, 4), CUDA_SUCCESS);
  EXPECT_EQ(value, 42u);
}

// --- What is left behind.

struct Left {
  size_t heap_bytes = 0;
  size_t device_bytes = 0;
  size_t threads = 0;
  size_t mappings = 0;
  size_t files = 0;
};
std::ostream& operator<<(std::ostream& out, const Left& left) {
  return out << left.heap_bytes << " bytes of the heap, " << left.device_bytes << " bytes of the device, "
             << left.threads << " threads, " << left.mappings << " mappings, " << left.files << " files";
}
// Nothing of what was made so often is left. malloc's heap, and the mappings that it makes, may differ by what
// containers have room for, which is far less than one for each.
testing::AssertionResult LeavesNothing(const Left& before, const Left& after, size_t rounds) {
  const bool same = after.device_bytes == before.device_bytes && after.threads == before.threads &&
                    after.files == before.files && after.mappings < before.mappings + rounds / 1000;
  if (same && after.heap_bytes < before.heap_bytes + rounds) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "before: " << before << "; after " << rounds << ": " << after;
}

size_t Entries(const char* folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

Left Measure(const DriverApi& api) {
  Left left;
  size_t free = 0, total = 0;
  EXPECT_EQ(api.MemGetInfo(&free, &total), CUDA_SUCCESS);
  left.device_bytes = total - free;
  left.threads = Entries("/proc/self/task");
  left.files = Entries("/proc/self/fd");
  std::ifstream maps("/proc/self/maps");
  left.mappings = static_cast<size_t>(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
  left.heap_bytes = mallinfo2().uordblks;
  return left;
}

TEST_F(CudaLibrary, TenThousandOfEachLeaveNothing) {
  if (cpu::kSanitized) GTEST_SKIP() << "a sanitizer's heap is not malloc's";
  const auto round = [&] {
    const CUcontext context = NewContext();
    CUstream stream = nullptr;
    CUevent event = nullptr;
    ASSERT_EQ(api_->StreamCreateWithPriority(&stream, 0, 0), CUDA_SUCCESS);
    ASSERT_EQ(api_->EventCreate(&event, 0), CUDA_SUCCESS);
    const CUmodule module = Load(kKernels);
    CUfunction function = nullptr;
    ASSERT_EQ(api_->ModuleGetFunction(&function, module, "store"), CUDA_SUCCESS);
    CUdeviceptr words = 0;
    ASSERT_EQ(api_->MemAlloc(&words, 128), CUDA_SUCCESS);
    LaunchBuffer buffer(words, 1u);
    ASSERT_EQ(Launch(function, stream, buffer.extra()), CUDA_SUCCESS);
    ASSERT_EQ(api_->EventRecord(event, stream), CUDA_SUCCESS);
    ASSERT_EQ(api_->StreamSynchronize(stream), CUDA_SUCCESS);
    ASSERT_EQ(api_->ModuleUnload(module), CUDA_SUCCESS);
    ASSERT_EQ(api_->EventDestroy(event), CUDA_SUCCESS);
    ASSERT_EQ(api_->StreamDestroy(stream), CUDA_SUCCESS);
    Destroy(context);
  };
  for (int i = 0; i < 100; ++i) round();  // Until what is kept for the next of a kind is there.
  const Left before = Measure(*api_);
  for (int i = 0; i < 10'000; ++i) round();
  const Left after = Measure(*api_);
  EXPECT_TRUE(LeavesNothing(before, after, 10'000));
  // What is not closed goes with its context.
  for (int i = 0; i < 5'000; ++i) {
    const CUcontext context = NewContext();
    CUstream stream = nullptr;
    ASSERT_EQ(api_->StreamCreateWithPriority(&stream, 0, 0), CUDA_SUCCESS);
    Load(kKernels);
    Destroy(context);
  }
  EXPECT_TRUE(LeavesNothing(after, Measure(*api_), 5'000));
}

}  // namespace
}  // namespace slipway::cuda_library
