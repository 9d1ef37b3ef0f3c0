// The null driver as a shared library: a client that opens it by dlopen, our own loader, and its list of names.
#include <dlfcn.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "driver/loader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "slipway/device.h"
#include "slipway/driver_api.h"
#include "slipway/stream.h"

namespace slipway {
namespace {

// What the library's own list says, spelled again as text.
struct Named {
  const char* exported;
  int since;
};
#define SLIPWAY_SINCE(member, since, need, parameters) constexpr int kSince##member = since;
SLIPWAY_DRIVER_FUNCTIONS(SLIPWAY_SINCE)
#undef SLIPWAY_SINCE
constexpr Named kTableExports[] = {
#define X(exported, member) {#exported, kSince##member},
#include "driver/null_library/table_exports.inc"
#undef X
};
constexpr Named kFurtherExports[] = {
#define X(exported, since, function) {#exported, since},
#include "driver/null_library/further_exports.inc"
#undef X
};

// Without the _v2 and the like of variants. (No <regex>: g++ 12 warns of its inside under -fsanitize=address.)
std::string Symbol(const std::string& exported) {
  const size_t version = exported.rfind("_v");
  return version != std::string::npos && version + 3 == exported.size() ? exported.substr(0, version) : exported;
}

class NullLibraryTest : public testing::Test {
 protected:
  void SetUp() override {
    library_ = dlopen(SLIPWAY_NULL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
  }
  void TearDown() override { dlclose(library_); }

  template <class Function>
  Function Get(const char* name) const {
    void* address = dlsym(library_, name);
    EXPECT_NE(address, nullptr) << name;
    return reinterpret_cast<Function>(address);
  }
  CUresult Ask(const std::string& symbol, int version, void** function, CUdriverProcAddressQueryResult* answer) const {
    return Get<decltype(DriverApi::GetProcAddress)>("cuGetProcAddress_v2")(symbol.c_str(), function, version, 0,
                                                                           answer);
  }

  void* library_ = nullptr;
};

TEST_F(NullLibraryTest, ExportsEveryFunctionOfTheTable) {
  std::set<std::string> exported;
  for (const Named& named : kTableExports) exported.insert(named.exported);
  for (const Named& named : kFurtherExports) exported.insert(named.exported);
  EXPECT_EQ(exported.size(), std::size(kTableExports) + std::size(kFurtherExports)) << "a name is listed twice";
#define SLIPWAY_EXPECT(member, since, need, parameters) \
  EXPECT_TRUE(exported.contains(ExportedName(#member))) << ExportedName(#member) << " is missing in table_exports.inc";
  SLIPWAY_DRIVER_FUNCTIONS(SLIPWAY_EXPECT)
#undef SLIPWAY_EXPECT
  for (const std::string& name : exported) EXPECT_NE(dlsym(library_, name.c_str()), nullptr) << name;
}

TEST_F(NullLibraryTest, GetProcAddressKnowsWhatIsExported) {
  for (const auto& list : {std::vector<Named>(std::begin(kTableExports), std::end(kTableExports)),
                           std::vector<Named>(std::begin(kFurtherExports), std::end(kFurtherExports))}) {
    for (const Named& named : list) {
      void* function = nullptr;
      CUdriverProcAddressQueryResult answer = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
      EXPECT_EQ(Ask(Symbol(named.exported), named.since, &function, &answer), CUDA_SUCCESS) << named.exported;
      EXPECT_EQ(answer, CU_GET_PROC_ADDRESS_SUCCESS) << named.exported;
      EXPECT_NE(function, nullptr) << named.exported;
    }
  }
}

TEST_F(NullLibraryTest, GetProcAddressTellsWhatIsMissingFromWhatIsTooNew) {
  void* function = library_;
  CUdriverProcAddressQueryResult answer = CU_GET_PROC_ADDRESS_SUCCESS;
  EXPECT_EQ(Ask("cuMakeTea", 13000, &function, &answer), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(answer, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(Ask("cuMemAllocAsync", 11010, &function, &answer), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(answer, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(Ask("cuMemAllocAsync", 11020, &function, nullptr), CUDA_SUCCESS);
  // The form of CUDA 11.3, without the last parameter.
  const auto older = Get<CUresult (*)(const char*, void**, int, uint64_t)>("cuGetProcAddress");
  EXPECT_EQ(older("cuMakeTea", &function, 13000, 0), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(older("cuInit", &function, 2000, 0), CUDA_SUCCESS);
  EXPECT_NE(function, nullptr);
}

TEST_F(NullLibraryTest, OurLoaderComesUpOnItAndLaunches) {
  const absl::StatusOr<DriverApi> api = LoadDriver({SLIPWAY_NULL_LIBRARY}, "cuda");
  ASSERT_TRUE(api.ok()) << api.status();
#define SLIPWAY_EXPECT(member, since, need, parameters) EXPECT_NE(api->member, nullptr) << #member;
  SLIPWAY_DRIVER_FUNCTIONS(SLIPWAY_EXPECT)
#undef SLIPWAY_EXPECT
  const absl::StatusOr<Device> device = Device::Open(*api);
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ(device->properties().compute_major, 9);
  const absl::StatusOr<Stream> stream = device->CreateStream();
  ASSERT_TRUE(stream.ok()) << stream.status();
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_EQ(api->ModuleLoadDataEx(&module, "", 0, nullptr, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(api->ModuleGetFunction(&function, module, "k"), CUDA_SUCCESS);
  EXPECT_EQ(api->LaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream->handle(), nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_TRUE(stream->Synchronize().ok());
}

TEST_F(NullLibraryTest, AClientComesUpByName) {
  EXPECT_EQ(Get<CUresult (*)(unsigned)>("cuInit")(0), CUDA_SUCCESS);
  CUcontext context = nullptr, current = nullptr;
  ASSERT_EQ(Get<CUresult (*)(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2")(&context, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(Get<decltype(DriverApi::CtxGetCurrent)>("cuCtxGetCurrent")(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, context) << "a new context is current";
  void *module = nullptr, *library = nullptr, *kernel = nullptr, *function = nullptr;
  EXPECT_EQ(Get<CUresult (*)(void**, const void*)>("cuModuleLoadData")(&module, ""), CUDA_SUCCESS);
  EXPECT_EQ((Get<CUresult (*)(void**, const void*, void*, void*, unsigned, void*, void*, unsigned)>(
                "cuLibraryLoadData")(&library, "", nullptr, nullptr, 0, nullptr, nullptr, 0)),
            CUDA_SUCCESS);
  EXPECT_EQ(Get<CUresult (*)(void**, void*, const char*)>("cuLibraryGetKernel")(&kernel, library, "k"), CUDA_SUCCESS);
  EXPECT_EQ(Get<CUresult (*)(void**, void*)>("cuKernelGetFunction")(&function, kernel), CUDA_SUCCESS);
  EXPECT_NE(module, library);
  EXPECT_NE(function, nullptr);
  // Eleven parameters, of which five travel on the stack: the jump must leave them alone.
  EXPECT_EQ(Get<decltype(DriverApi::LaunchKernel)>("cuLaunchKernel")(static_cast<CUfunction>(function), 1, 1, 1, 32, 1,
                                                                     1, 0, nullptr, nullptr, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(Get<CUresult (*)(CUcontext)>("cuCtxDestroy_v2")(context), CUDA_SUCCESS);
  ASSERT_EQ(Get<decltype(DriverApi::CtxGetCurrent)>("cuCtxGetCurrent")(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, nullptr);
}

TEST_F(NullLibraryTest, HostMemoryIsRealAndDeviceMemoryIsNot) {
  void* host = nullptr;
  ASSERT_EQ(Get<CUresult (*)(void**, size_t, unsigned)>("cuMemHostAlloc")(&host, 16, 0), CUDA_SUCCESS);
  std::fill_n(static_cast<char*>(host), 16, 'x');
  CUdeviceptr device = 0, managed = 0;
  ASSERT_EQ(Get<decltype(DriverApi::MemAlloc)>("cuMemAlloc_v2")(&device, 16), CUDA_SUCCESS);
  ASSERT_EQ(Get<decltype(DriverApi::MemcpyDtoH)>("cuMemcpyDtoH_v2")(host, device, 16), CUDA_SUCCESS);
  EXPECT_EQ(std::string(static_cast<char*>(host), 16), std::string(16, 'x')) << "a copy leaves host memory as it is";
  ASSERT_EQ((Get<CUresult (*)(CUdeviceptr*, size_t, unsigned)>("cuMemAllocManaged")(&managed, 16, 1)), CUDA_SUCCESS);
  std::fill_n(reinterpret_cast<char*>(managed), 16, 'y');
  EXPECT_EQ(Get<decltype(DriverApi::MemFreeHost)>("cuMemFreeHost")(host), CUDA_SUCCESS);
}

TEST_F(NullLibraryTest, WritesAnswersWhereTheyAreExpected) {
  int major = 0, minor = -1;
  EXPECT_EQ(Get<CUresult (*)(int*, int*, CUdevice)>("cuDeviceComputeCapability")(&major, &minor, 0), CUDA_SUCCESS);
  EXPECT_EQ(major, 9);
  EXPECT_EQ(minor, 0);
  char text[32] = {};
  EXPECT_EQ(Get<CUresult (*)(char*, int, CUdevice)>("cuDeviceGetPCIBusId")(text, sizeof(text), 0), CUDA_SUCCESS);
  EXPECT_STREQ(text, "0000:01:00.0");
  const CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, static_cast<CUpointer_attribute>(77)};
  int type = 0, unknown = 7;
  void* values[] = {&type, &unknown};
  const auto pointer_attributes =
      Get<CUresult (*)(unsigned, const CUpointer_attribute*, void**, CUdeviceptr)>("cuPointerGetAttributes");
  EXPECT_EQ(pointer_attributes(2, attributes, values, CUdeviceptr{1} << 60), CUDA_SUCCESS);
  EXPECT_EQ(type, 2);
  EXPECT_EQ(unknown, 0);
  bool called = false;
  const auto callback = [](CUstream, CUresult status, void* data) {
    *static_cast<bool*>(data) = status == CUDA_SUCCESS;
  };
  EXPECT_EQ((Get<CUresult (*)(CUstream, void (*)(CUstream, CUresult, void*), void*, unsigned)>("cuStreamAddCallback")(
                nullptr, callback, &called, 0)),
            CUDA_SUCCESS);
  EXPECT_TRUE(called);
}

constexpr char kWordCharacters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

// cudaTypedefs.h has a PFN_<symbol>_v<version> for every variant of every function.
TEST_F(NullLibraryTest, VersionsAreThoseOfTheToolkit) {
  std::ifstream file(SLIPWAY_CUDA_TYPEDEFS);
  if (!file) GTEST_SKIP() << "no CUDA toolkit: cudaTypedefs.h was not found";
  const std::string text(std::istreambuf_iterator<char>(file), {});
  std::map<std::string, std::set<int>> toolkit;
  for (size_t at = text.find("PFN_cu"); at != std::string::npos; at = text.find("PFN_cu", at + 1)) {
    const std::string word = text.substr(at + 4, text.find_first_not_of(kWordCharacters, at) - at - 4);
    const size_t version = word.rfind("_v");
    const bool is_pointer = text[at + 4 + word.size()] == ')';
    if (is_pointer && version != std::string::npos) {
      toolkit[word.substr(0, version)].insert(std::atoi(word.c_str() + version + 2));
    }
  }
  ASSERT_GT(toolkit.size(), 300u);
  for (const Named& named : kFurtherExports) {
    const std::string symbol = Symbol(named.exported);
    // Declared in cudaProfiler.h and cudaGL.h, or a variant of per-thread default streams.
    if (symbol.starts_with("cuProfiler") || symbol.starts_with("cuGraphicsGL") || symbol.ends_with("_ptsz")) continue;
    EXPECT_TRUE(toolkit[symbol].contains(named.since)) << named.exported << " since " << named.since;
  }
}

}  // namespace
}  // namespace slipway
