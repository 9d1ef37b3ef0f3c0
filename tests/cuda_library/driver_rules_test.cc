// What a CUDA driver answers to calls that are wrong, and to those that look so: the rules of docs/clients.md, by plain
// cu* calls. The same test runs on the CPU device's library and, by tools/gpu_check, on a GPU.
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/cuda_library/tested_driver.h"

namespace slipway::cuda_library {
namespace {

class DriverRules : public DriverTest {
 protected:
  CUresult LoadResult(const std::string& ptx) {
    CUmodule module = nullptr;
    const CUresult result = api_->ModuleLoadDataEx(&module, ptx.c_str(), 0, nullptr, nullptr);
    if (result == CUDA_SUCCESS) api_->ModuleUnload(module);
    return result;
  }
  CUresult Shaped(const char* kernel, std::vector<unsigned> grid, std::vector<unsigned> block, unsigned shared = 0) {
    return api_->LaunchKernel(Kernel(kernel), grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, nullptr,
                              nullptr, nullptr);
  }
  CUdeviceptr NewWords(size_t count) {
    CUdeviceptr words = 0;
    EXPECT_EQ(api_->MemAlloc(&words, count * 4), CUDA_SUCCESS);
    return words;
  }
  CUstream NewStream() {
    CUstream stream = nullptr;
    EXPECT_EQ(api_->StreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
    return stream;
  }
  CUevent NewEvent(unsigned flags = CU_EVENT_DEFAULT) {
    CUevent event = nullptr;
    EXPECT_EQ(api_->EventCreate(&event, flags), CUDA_SUCCESS);
    return event;
  }
};

// --- Loading.

TEST_F(DriverRules, Load) {
  const std::string head = ".target sm_75\n.address_size 64\n";
  EXPECT_EQ(LoadResult(".version 7.0\n" + head), CUDA_SUCCESS);
  EXPECT_EQ(LoadResult(".version 7.0\n" + head + ".visible .entry k() { no.such.instruction; ret; }"),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(LoadResult(".version 99.0\n" + head), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  // 4,096 bytes of parameters are what PTX below ISA 8.1 may have.
  EXPECT_EQ(LoadResult(".version 7.0\n" + head + ".visible .entry k(.param .align 4 .b8 p[4096]) { ret; }"),
            CUDA_SUCCESS);
  EXPECT_EQ(LoadResult(".version 7.0\n" + head + ".visible .entry k(.param .align 4 .b8 p[4100]) { ret; }"),
            CUDA_ERROR_INVALID_PTX);
  // 48 KiB of static shared memory.
  EXPECT_EQ(LoadResult(".version 7.0\n" + head +
                       ".visible .entry k() { .shared .b8 s[49153]; .reg .b64 %r;\n"
                       "mov.u64 %r, s; ret; }"),
            CUDA_ERROR_INVALID_PTX);
}

// What ptxas refuses, too.
TEST_F(DriverRules, LoadOfWhatThereIsNot) {
  const auto load = [&](const char* version, const char* target, const std::string& body = "") {
    return LoadResult(std::string(".version ") + version + "\n.target " + target + "\n.address_size 64\n" + body);
  };
  // Each target is there from a PTX ISA on.
  EXPECT_EQ(load("6.3", "sm_75"), CUDA_SUCCESS);
  EXPECT_EQ(load("6.2", "sm_75"), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(load("7.0", "sm_90"), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(load("7.0", "sm_75a"), CUDA_ERROR_INVALID_PTX);
  // An architecture's own instructions are for that alone.
  int major = 0, minor = 0;
  ASSERT_EQ(api_->DeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0), CUDA_SUCCESS);
  ASSERT_EQ(api_->DeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0), CUDA_SUCCESS);
  const bool is_90 = major == 9 && minor == 0;
  EXPECT_EQ(load("8.0", "sm_90a"), is_90 ? CUDA_SUCCESS : CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(load("8.8", "sm_120f"), major == 12 ? CUDA_SUCCESS : CUDA_ERROR_NO_BINARY_FOR_GPU);
  // 64 KiB of constants.
  EXPECT_EQ(load("7.0", "sm_75", ".const .align 4 .b8 a[65000];\n.const .align 4 .b8 b[536];\n"), CUDA_SUCCESS);
  EXPECT_EQ(load("7.0", "sm_75", ".const .align 4 .b8 a[65000];\n.const .align 4 .b8 b[537];\n"),
            CUDA_ERROR_INVALID_PTX);
  // Modifiers that go with other types.
  const auto does = [&](const std::string& instruction) {
    return load("7.8", "sm_75",
                ".visible .entry k() { .reg .pred %p<4>; .reg .b32 %r<4>; .reg .f32 %f<4>; .reg .f64 %d<4>;\n" +
                    instruction + "; ret; }");
  };
  EXPECT_EQ(does("add.sat.s32 %r1, %r2, %r3"), CUDA_SUCCESS);
  EXPECT_EQ(does("add.rz.ftz.f32 %f1, %f2, %f3"), CUDA_SUCCESS);
  EXPECT_EQ(does("setp.lo.u32 %p1, %r2, %r3"), CUDA_SUCCESS);
  for (const char* wrong :
       {"add.ftz.s32 %r1, %r2, %r3", "add.sat.u32 %r1, %r2, %r3", "add.ftz.f64 %d1, %d2, %d3",
        "mul.lo.f32 %f1, %f2, %f3", "mad.lo.sat.s32 %r1, %r2, %r3, %r1", "div.approx.rn.f32 %f1, %f2, %f3",
        "min.NaN.u32 %r1, %r2, %r3", "neg.ftz.f64 %d1, %d2", "setp.lt.ftz.s32 %p1, %r2, %r3", "cvt.rn.f64.f32 %d1, %f2",
        "cvt.rn.rzi.s32.f32 %r1, %f2", "cvt.relu.rn.f32.s32 %f1, %r2"}) {
    EXPECT_EQ(does(wrong), CUDA_ERROR_INVALID_PTX) << wrong;
  }
}

TEST_F(DriverRules, LinkTellsWhatIsWrong) {
  const std::string head = ".version 7.0\n.target sm_75\n.address_size 64\n";
  std::vector<char> log(4096, '\0');
  const auto link = [&](std::string text, CUresult* completed) {
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
    CUlinkState state = nullptr;
    EXPECT_EQ(api_->LinkCreate(2, options, values, &state), CUDA_SUCCESS);
    const CUresult added =
        api_->LinkAddData(state, CU_JIT_INPUT_PTX, text.data(), text.size() + 1, "part", 0, nullptr, nullptr);
    void* image = nullptr;
    size_t bytes = 0;
    *completed = added == CUDA_SUCCESS ? api_->LinkComplete(state, &image, &bytes) : added;
    EXPECT_EQ(api_->LinkDestroy(state), CUDA_SUCCESS);
  };
  CUresult result = CUDA_SUCCESS;
  link(head + ".visible .entry k() { ret; }", &result);
  EXPECT_EQ(result, CUDA_SUCCESS);
  link(head + ".visible .entry k( { ret; }", &result);
  EXPECT_EQ(result, CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(std::string(log.data()).find("line"), std::string::npos) << log.data();
  link(head + ".visible .entry k() { no.such.instruction; ret; }", &result);
  EXPECT_EQ(result, CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(std::string(log.data()).find("no.such"), std::string::npos) << log.data();
  CUlinkState state = nullptr;
  ASSERT_EQ(api_->LinkCreate(0, nullptr, nullptr, &state), CUDA_SUCCESS);
  std::string text = head;
  EXPECT_EQ(api_->LinkAddData(state, static_cast<CUjitInputType>(99), text.data(), text.size() + 1, "part", 0, nullptr,
                              nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(api_->LinkDestroy(state), CUDA_SUCCESS);
}

TEST_F(DriverRules, Options) {
  const std::string text = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }";
  CUmodule module = nullptr;
  // The time that it takes, as a float.
  CUjit_option wall_time[] = {static_cast<CUjit_option>(2)};
  void* values[] = {nullptr};
  ASSERT_EQ(api_->ModuleLoadDataEx(&module, text.c_str(), 1, wall_time, values), CUDA_SUCCESS);
  float milliseconds = -1;
  std::memcpy(&milliseconds, values, sizeof(milliseconds));
  EXPECT_GE(milliseconds, 0);
  EXPECT_LT(milliseconds, 1e6);
  CUjit_option unknown[] = {static_cast<CUjit_option>(999)};
  EXPECT_EQ(api_->ModuleLoadDataEx(&module, text.c_str(), 1, unknown, values), CUDA_ERROR_INVALID_VALUE);
  const auto load =
      Function<CUresult(CUlibrary*, const void*, CUjit_option*, void**, unsigned, int*, void**, unsigned)>(
          "cuLibraryLoadData", 12000);
  CUlibrary library = nullptr;
  int preserved[] = {1}, other[] = {99};
  EXPECT_EQ(load(&library, text.c_str(), nullptr, nullptr, 0, preserved, values, 1), CUDA_SUCCESS);
  EXPECT_EQ(load(&library, text.c_str(), nullptr, nullptr, 0, other, values, 1), CUDA_ERROR_INVALID_VALUE);
}

// A context that is broken keeps no other from losing the library.
TEST_F(DriverRules, ALibraryIsUnloadedEverywhere) {
  const auto load =
      Function<CUresult(CUlibrary*, const void*, CUjit_option*, void**, unsigned, int*, void**, unsigned)>(
          "cuLibraryLoadData", 12000);
  const auto module_of = Function<CUresult(CUmodule*, CUlibrary)>("cuLibraryGetModule", 12000);
  const auto unload = Function<CUresult(CUlibrary)>("cuLibraryUnload", 12000);
  CUlibrary library = nullptr;
  ASSERT_EQ(load(&library, kKernels, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
  std::vector<CUcontext> contexts;
  std::vector<CUmodule> modules;
  for (int i = 0; i < 4; ++i) {
    contexts.push_back(NewContext());
    CUmodule module = nullptr;
    ASSERT_EQ(module_of(&module, library), CUDA_SUCCESS);
    modules.push_back(module);
    if (i == 0 || i == 3) continue;
    CUfunction store = nullptr;
    ASSERT_EQ(api_->ModuleGetFunction(&store, module, "store"), CUDA_SUCCESS);
    LaunchBuffer nowhere(CUdeviceptr{64}, 1u);
    ASSERT_EQ(Launch(store, nullptr, nowhere.extra()), CUDA_SUCCESS);
    EXPECT_EQ(api_->CtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  }
  static_cast<void>(unload(library));  // It may tell of those that are broken.
  for (size_t i : {size_t{0}, size_t{3}}) {
    ASSERT_EQ(api_->CtxPushCurrent(contexts[i]), CUDA_SUCCESS);
    CUfunction function = nullptr;
    EXPECT_NE(api_->ModuleGetFunction(&function, modules[i], "store"), CUDA_SUCCESS) << i;
    ASSERT_EQ(api_->CtxPopCurrent(nullptr), CUDA_SUCCESS);
  }
  for (; !contexts.empty(); contexts.pop_back()) Destroy(contexts.back());
}

TEST_F(DriverRules, LoadWritesLogs) {
  const std::string bad = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k() { no.such; ret; }";
  std::vector<char> log(4096, 'x');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  CUmodule module = nullptr;
  EXPECT_EQ(api_->ModuleLoadDataEx(&module, bad.c_str(), 2, options, values), CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(std::string(log.data()).find("line"), std::string::npos) << log.data();
}

TEST_F(DriverRules, LoadTellsWhatKernelsTake) {
  const std::string text =
      ".version 7.0\n.target sm_75\n.address_size 64\n"
      ".visible .entry k() { .shared .align 4 .b8 s[128]; .reg .b32 %r<2>; mov.u32 %r0, s; st.shared.u32 [%r0], 1; "
      "ret; }";
  std::vector<char> log(4096);
  constexpr auto kLogVerbose = static_cast<CUjit_option>(12);
  CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, kLogVerbose};
  for (const bool verbose : {false, true}) {
    log.assign(log.size(), '\0');
    void* values[] = {log.data(), reinterpret_cast<void*>(log.size()), reinterpret_cast<void*>(uintptr_t{verbose})};
    CUmodule module = nullptr;
    ASSERT_EQ(api_->ModuleLoadDataEx(&module, text.c_str(), 3, options, values), CUDA_SUCCESS);
    const std::string told = log.data();
    for (const char* part : {"Compiling entry function 'k' for 'sm_", "bytes stack frame, 0 bytes spill stores",
                             " registers", "128 bytes smem"}) {
      EXPECT_EQ(told.find(part) != std::string::npos, verbose) << told;
    }
    EXPECT_EQ(api_->ModuleUnload(module), CUDA_SUCCESS);
  }
}

TEST_F(DriverRules, Names) {
  CUfunction function = nullptr;
  CUdeviceptr address = 0;
  const CUmodule module = Load(kKernels);
  EXPECT_EQ(api_->ModuleGetFunction(&function, module, "no_such_kernel"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(api_->ModuleGetGlobal(&address, nullptr, module, "no_such_variable"), CUDA_ERROR_NOT_FOUND);
  size_t bytes = 0;
  EXPECT_EQ(api_->ModuleGetGlobal(&address, &bytes, module, "cell"), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 4u);
  uint32_t value = 0;
  EXPECT_EQ(api_->MemcpyDtoH(&value, address, 4), CUDA_SUCCESS);
  EXPECT_EQ(value, 41u);
}

// --- Launching.

TEST_F(DriverRules, LaunchShape) {
  EXPECT_EQ(Shaped("nothing", {1, 1, 1}, {1024, 1, 1}), CUDA_SUCCESS);
  EXPECT_EQ(Shaped("nothing", {0, 1, 1}, {1, 1, 1}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Shaped("nothing", {1, 1, 1}, {0, 1, 1}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Shaped("nothing", {1, 1, 1}, {1025, 1, 1}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Shaped("nothing", {1, 1, 1}, {32, 32, 2}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Shaped("nothing", {1, 1, 1}, {1, 1, 65}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Shaped("nothing", {1, 65536, 1}, {1, 1, 1}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Shaped("nothing", {0x80000000u, 1, 1}, {1, 1, 1}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(api_->CtxSynchronize(), CUDA_SUCCESS) << "a launch that is refused breaks nothing";
}

TEST_F(DriverRules, LaunchBounds) {
  EXPECT_EQ(Shaped("bounded", {1, 1, 1}, {64, 1, 1}), CUDA_SUCCESS);
  EXPECT_EQ(Shaped("bounded", {1, 1, 1}, {65, 1, 1}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Shaped("shaped", {1, 1, 1}, {32, 1, 1}), CUDA_SUCCESS);
  EXPECT_EQ(Shaped("shaped", {1, 1, 1}, {16, 2, 1}), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverRules, LaunchSharedMemory) {
  constexpr unsigned kMost = 48 << 10;
  EXPECT_EQ(Shaped("nothing", {1, 1, 1}, {1, 1, 1}, kMost), CUDA_SUCCESS);
  EXPECT_EQ(Shaped("nothing", {1, 1, 1}, {1, 1, 1}, kMost + 1), CUDA_ERROR_INVALID_VALUE);
  int most = 0;
  ASSERT_EQ(api_->DeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0), CUDA_SUCCESS);
  const CUfunction nothing = Kernel("nothing");
  constexpr CUfunction_attribute kAllowed = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  EXPECT_EQ(api_->FuncSetAttribute(nothing, kAllowed, most), CUDA_SUCCESS);
  EXPECT_EQ(Shaped("nothing", {1, 1, 1}, {1, 1, 1}, static_cast<unsigned>(most)), CUDA_SUCCESS);
  EXPECT_EQ(api_->FuncSetAttribute(nothing, kAllowed, most + 1), CUDA_ERROR_INVALID_VALUE);
}

// Hints change nothing, and IGNORE is "for convenient composition".
TEST_F(DriverRules, LaunchHints) {
  const auto launch = [&](int id) {
    CUlaunchAttribute attribute = {};
    attribute.id = static_cast<CUlaunchAttributeID>(id);
    CUlaunchConfig config = {};
    config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return api_->LaunchKernelEx(&config, Kernel("nothing"), nullptr, nullptr);
  };
  // ACCESS_POLICY_WINDOW, CLUSTER_SCHEDULING_POLICY_PREFERENCE, MEM_SYNC_DOMAIN, PREFERRED_SHARED_MEMORY_CARVEOUT.
  for (const int id : {0, 1, 5, 10, 14}) EXPECT_EQ(launch(id), CUDA_SUCCESS) << id;
  EXPECT_EQ(launch(3), CUDA_ERROR_INVALID_VALUE) << "of streams";
  EXPECT_EQ(launch(99), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(api_->CtxSynchronize(), CUDA_SUCCESS);
}

// A cooperative launch may have as many blocks as cuOccupancyMaxPotentialBlockSize gives.
TEST_F(DriverRules, TheGridOfMostOccupancyIsResident) {
  const CUmodule module = Load(
      ".version 7.0\n.target sm_75\n.address_size 64\n"
      ".visible .entry k() { .shared .align 4 .b8 s[40960]; .reg .b32 %r<2>; mov.u32 %r0, s; st.shared.u32 [%r0], 1; "
      "ret; }");
  CUfunction kernel = nullptr;
  ASSERT_EQ(api_->ModuleGetFunction(&kernel, module, "k"), CUDA_SUCCESS);
  int grid = 0, block = 0;
  ASSERT_EQ(api_->OccupancyMaxPotentialBlockSize(&grid, &block, kernel, nullptr, 0, 0), CUDA_SUCCESS);
  CUlaunchAttribute attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attribute.value.cooperative = 1;
  CUlaunchConfig config = {};
  config.gridDimX = static_cast<unsigned>(grid);
  config.blockDimX = static_cast<unsigned>(block);
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  EXPECT_EQ(api_->LaunchKernelEx(&config, kernel, nullptr, nullptr), CUDA_SUCCESS);
  ++config.gridDimX;
  EXPECT_EQ(api_->LaunchKernelEx(&config, kernel, nullptr, nullptr), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  EXPECT_EQ(api_->CtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(DriverRules, LaunchArguments) {
  const CUdeviceptr words = NewWords(32);
  const CUfunction store = Kernel("store");
  LaunchBuffer right(words, 7u);
  EXPECT_EQ(Launch(store, nullptr, right.extra()), CUDA_SUCCESS);
  LaunchBuffer longer(words, 7u, 0u);
  EXPECT_EQ(Launch(store, nullptr, longer.extra()), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  void* params[] = {nullptr, nullptr};
  EXPECT_EQ(api_->LaunchKernel(store, 1, 1, 1, 32, 1, 1, 0, nullptr, params, right.extra()), CUDA_ERROR_INVALID_VALUE)
      << "one of the two";
  EXPECT_EQ(Launch(store, nullptr), CUDA_ERROR_INVALID_VALUE) << "neither";
  uint32_t value = 0;
  EXPECT_EQ(api_->MemcpyDtoH(&value, words, 4), CUDA_SUCCESS);
  EXPECT_EQ(value, 7u);
}

// --- Contexts: design.md as measured on an H200.

TEST_F(DriverRules, ContextOfALaunch) {
  const CUfunction nothing = Kernel("nothing");
  const CUstream stream = NewStream();
  CUcontext popped = nullptr;
  ASSERT_EQ(api_->CtxPopCurrent(&popped), CUDA_SUCCESS);
  EXPECT_EQ(Launch(nothing, stream), CUDA_SUCCESS) << "a created stream needs no current context";
  EXPECT_EQ(Launch(nothing, nullptr), CUDA_ERROR_INVALID_CONTEXT);
  const CUcontext foreign = NewContext();
  EXPECT_EQ(Launch(nothing, stream), CUDA_SUCCESS) << "and does not mind a foreign one";
  EXPECT_EQ(Launch(nothing, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Launch(nothing, kStreamPerThread), CUDA_ERROR_INVALID_HANDLE);
  Destroy(foreign);
  ASSERT_EQ(api_->CtxPushCurrent(popped), CUDA_SUCCESS);
  EXPECT_EQ(api_->StreamSynchronize(stream), CUDA_SUCCESS);
}

TEST_F(DriverRules, KernelOfALibraryRunsInTheCurrentContext) {
  CUlibrary library = nullptr;
  ASSERT_EQ(
      (Function<CUresult(CUlibrary*, const void*, CUjit_option*, void**, unsigned, CUlibraryOption*, void**, unsigned)>(
          "cuLibraryLoadData", 12000)(&library, kKernels, nullptr, nullptr, 0, nullptr, nullptr, 0)),
      CUDA_SUCCESS);
  CUkernel kernel = nullptr;
  const auto get_kernel = Function<CUresult(CUkernel*, CUlibrary, const char*)>("cuLibraryGetKernel", 12000);
  ASSERT_EQ(get_kernel(&kernel, library, "store"), CUDA_SUCCESS);
  EXPECT_EQ(get_kernel(&kernel, library, "no_such_kernel"), CUDA_ERROR_NOT_FOUND);
  ASSERT_EQ(get_kernel(&kernel, library, "store"), CUDA_SUCCESS);
  for (int i = 0; i < 2; ++i) {
    const CUcontext context = NewContext();
    const CUdeviceptr words = NewWords(32);
    LaunchBuffer buffer(words, 5u);
    EXPECT_EQ(Launch(reinterpret_cast<CUfunction>(kernel), nullptr, buffer.extra()), CUDA_SUCCESS);
    uint32_t value = 0;
    EXPECT_EQ(api_->MemcpyDtoH(&value, words, 4), CUDA_SUCCESS);
    EXPECT_EQ(value, 5u);
    Destroy(context);
  }
  EXPECT_EQ(Function<CUresult(CUlibrary)>("cuLibraryUnload", 12000)(library), CUDA_SUCCESS);
}

TEST_F(DriverRules, ContextStack) {
  CUcontext current = nullptr;
  const CUcontext second = NewContext();
  EXPECT_EQ(api_->CtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, second);
  for (int i = 0; i < 20; ++i) ASSERT_EQ(api_->CtxPushCurrent(i % 2 == 0 ? context_ : second), CUDA_SUCCESS);
  for (int i = 20; i-- > 0;) {
    ASSERT_EQ(api_->CtxPopCurrent(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, i % 2 == 0 ? context_ : second);
  }
  Destroy(second);  // Which is current, and popped.
  EXPECT_EQ(api_->CtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, context_);
  std::thread([&] {
    CUcontext of_thread = context_;
    EXPECT_EQ(api_->CtxGetCurrent(&of_thread), CUDA_SUCCESS);
    EXPECT_EQ(of_thread, nullptr) << "each thread has a stack of its own";
    EXPECT_EQ(api_->CtxPopCurrent(&of_thread), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(api_->CtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
  }).join();
}

TEST_F(DriverRules, PrimaryContext) {
  const auto state = Function<CUresult(CUdevice, unsigned*, int*)>("cuDevicePrimaryCtxGetState", 7000);
  unsigned flags = 0;
  int active = -1;
  CUcontext first = nullptr, again = nullptr;
  ASSERT_EQ(state(0, &flags, &active), CUDA_SUCCESS);
  if (active != 0) GTEST_SKIP() << "somebody else in this process retains it";
  ASSERT_EQ(api_->DevicePrimaryCtxRetain(&first, 0), CUDA_SUCCESS);
  ASSERT_EQ(api_->DevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
  EXPECT_EQ(first, again);
  EXPECT_EQ(state(0, &flags, &active), CUDA_SUCCESS);
  EXPECT_EQ(active, 1);
  EXPECT_EQ(api_->DevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  EXPECT_EQ(api_->DevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  EXPECT_EQ(state(0, &flags, &active), CUDA_SUCCESS);
  EXPECT_EQ(active, 0);
  EXPECT_EQ(api_->DevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
}

// "Resetting the primary context does not release it" (CUDA Driver API, cuDevicePrimaryCtxReset).
TEST_F(DriverRules, AResetPrimaryContextIsReleasedStill) {
  const auto state = Function<CUresult(CUdevice, unsigned*, int*)>("cuDevicePrimaryCtxGetState", 7000);
  const auto reset = Function<CUresult(CUdevice)>("cuDevicePrimaryCtxReset", 11000);
  unsigned flags = 0;
  int active = -1;
  CUcontext context = nullptr;
  ASSERT_EQ(state(0, &flags, &active), CUDA_SUCCESS);
  if (active != 0) GTEST_SKIP() << "somebody else in this process retains it";
  ASSERT_EQ(api_->DevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  ASSERT_EQ(reset(0), CUDA_SUCCESS);
  EXPECT_EQ(api_->DevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  EXPECT_EQ(api_->DevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(DriverRules, EveryErrorHasANameAndAText) {
  for (const int code : {0, 1, 5, 100, 205, 224, 402, 700, 705, 712, 713, 719, 801, 805, 900, 909, 916, 999}) {
    const char* name = nullptr;
    const char* text = nullptr;
    EXPECT_EQ(api_->GetErrorName(static_cast<CUresult>(code), &name), CUDA_SUCCESS) << code;
    EXPECT_EQ(api_->GetErrorString(static_cast<CUresult>(code), &text), CUDA_SUCCESS) << code;
    EXPECT_TRUE(name != nullptr && text != nullptr) << code;
  }
  const char* name = "";
  EXPECT_EQ(api_->GetErrorName(static_cast<CUresult>(12345), &name), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(name, nullptr);
}

// --- Memory.

TEST_F(DriverRules, Memory) {
  CUdeviceptr words = 0;
  EXPECT_EQ(api_->MemAlloc(&words, 0), CUDA_ERROR_INVALID_VALUE);
  words = NewWords(16);
  EXPECT_EQ(api_->MemsetD32(words, 3, 17), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(api_->MemsetD32(words + 1, 3, 1), CUDA_ERROR_INVALID_VALUE);
  std::vector<uint32_t> host(17);
  EXPECT_EQ(api_->MemcpyDtoH(host.data(), words, 68), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(api_->MemcpyHtoD(words, nullptr, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(api_->MemFree(words + 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(api_->MemFree(words), CUDA_SUCCESS);
  EXPECT_EQ(api_->MemFree(words), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(api_->MemFree(0), CUDA_SUCCESS);
  unsigned type = 0;
  EXPECT_EQ(api_->PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(&type)),
            CUDA_ERROR_INVALID_VALUE);
}

// "returns an error if any pitch is greater than the maximum allowed"; the height of a slice "may be 0 if Depth==1".
TEST_F(DriverRules, PitchesAndHeights) {
  int most = 0;
  ASSERT_EQ(api_->DeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_PITCH, 0), CUDA_SUCCESS);
  const size_t too_much = static_cast<size_t>(most) + 1;
  const CUdeviceptr from = NewWords(64), to = NewWords(64);
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.dstDevice = to;
  copy.WidthInBytes = copy.srcPitch = copy.dstPitch = 16;
  copy.Height = copy.Depth = 1;
  const auto run = Function<CUresult(const CUDA_MEMCPY3D*)>("cuMemcpy3D", 3020);
  EXPECT_EQ(run(&copy), CUDA_SUCCESS);
  copy.srcPitch = too_much;
  EXPECT_EQ(run(&copy), CUDA_ERROR_INVALID_VALUE);
  copy.srcPitch = 16;
  copy.dstPitch = too_much;
  EXPECT_EQ(run(&copy), CUDA_ERROR_INVALID_VALUE);
  copy.dstPitch = 16;
  copy.Depth = 2;
  copy.srcHeight = copy.dstHeight = 1;
  EXPECT_EQ(run(&copy), CUDA_SUCCESS);
  copy.srcHeight = 0;
  EXPECT_EQ(run(&copy), CUDA_ERROR_INVALID_VALUE);

  const auto pitched = Function<CUresult(CUdeviceptr*, size_t*, size_t, size_t, unsigned)>("cuMemAllocPitch", 3020);
  CUdeviceptr memory = 0;
  size_t pitch = 0;
  EXPECT_EQ(pitched(&memory, &pitch, too_much, 1, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(pitched(&memory, &pitch, 100, 2, 4), CUDA_SUCCESS);
  EXPECT_GE(pitch, 100u);
}

TEST_F(DriverRules, RegisteredMemory) {
  std::vector<uint32_t> host(4096, 1);
  EXPECT_EQ(api_->MemHostUnregister(host.data()), static_cast<CUresult>(713));
  EXPECT_EQ(api_->MemHostRegister(host.data(), host.size() * 4, kMemHostDeviceMap), CUDA_SUCCESS);
  EXPECT_EQ(api_->MemHostRegister(host.data(), host.size() * 4, 0), static_cast<CUresult>(712));
  CUdeviceptr address = 0;
  EXPECT_EQ(api_->MemHostGetDevicePointer(&address, host.data(), 0), CUDA_SUCCESS);
  LaunchBuffer buffer(address, 9u);
  EXPECT_EQ(Launch(Kernel("store"), nullptr, buffer.extra()), CUDA_SUCCESS);
  EXPECT_EQ(api_->CtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(host[31], 9u);
  EXPECT_EQ(host[32], 1u);
  EXPECT_EQ(api_->MemHostUnregister(host.data()), CUDA_SUCCESS);
}

TEST_F(DriverRules, ManagedMemory) {
  CUdeviceptr address = 0;
  EXPECT_EQ(api_->MemAllocManaged(&address, 128, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(api_->MemAllocManaged(&address, 128, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  LaunchBuffer buffer(address, 6u);
  EXPECT_EQ(Launch(Kernel("store"), nullptr, buffer.extra()), CUDA_SUCCESS);
  EXPECT_EQ(api_->CtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(reinterpret_cast<const uint32_t*>(address)[31], 6u);
  EXPECT_EQ(api_->MemFree(address), CUDA_SUCCESS);
}

// A fill of memory that the host may touch is done when the call returns.
TEST_F(DriverRules, FillsOfHostMemoryAreSynchronous) {
  void* host = nullptr;
  ASSERT_EQ(api_->MemAllocHost(&host, 64), CUDA_SUCCESS);
  EXPECT_EQ(api_->MemsetD8(reinterpret_cast<CUdeviceptr>(host), 0xAB, 64), CUDA_SUCCESS);
  EXPECT_EQ(static_cast<const volatile unsigned char*>(host)[63], 0xAB);
  EXPECT_EQ(api_->MemFreeHost(host), CUDA_SUCCESS);
  CUdeviceptr managed = 0;
  ASSERT_EQ(api_->MemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(api_->MemsetD32(managed, 7, 16), CUDA_SUCCESS);
  EXPECT_EQ(reinterpret_cast<const volatile uint32_t*>(managed)[15], 7u);
  EXPECT_EQ(api_->MemFree(managed), CUDA_SUCCESS);
}

TEST_F(DriverRules, ManagedMemoryIsNotTheNullStreams) {
  constexpr unsigned kSingle = 4;  // CU_MEM_ATTACH_SINGLE.
  const auto attach = Function<CUresult(CUstream, CUdeviceptr, size_t, unsigned)>("cuStreamAttachMemAsync", 6000);
  CUdeviceptr managed = 0;
  ASSERT_EQ(api_->MemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(attach(nullptr, managed, 0, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(attach(nullptr, managed, 0, kSingle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(attach(NewStream(), managed, 0, kSingle), CUDA_SUCCESS);
}

// --- Waiting.

TEST_F(DriverRules, NotReadyUntilDone) {
  const CUstream stream = NewStream();
  const CUevent event = NewEvent();
  EXPECT_EQ(api_->EventQuery(event), CUDA_SUCCESS) << "never recorded counts as done";
  std::atomic<bool> go{false};
  const CUhostFn wait = [](void* flag) {
    while (!static_cast<std::atomic<bool>*>(flag)->load()) std::this_thread::yield();
  };
  ASSERT_EQ(api_->LaunchHostFunc(stream, wait, &go), CUDA_SUCCESS);
  ASSERT_EQ(api_->EventRecord(event, stream), CUDA_SUCCESS);
  EXPECT_EQ(api_->StreamQuery(stream), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(api_->EventQuery(event), CUDA_ERROR_NOT_READY);
  go = true;
  EXPECT_EQ(api_->StreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(api_->StreamQuery(stream), CUDA_SUCCESS);
  EXPECT_EQ(api_->EventQuery(event), CUDA_SUCCESS);
}

TEST_F(DriverRules, EventsThatTellNoTime) {
  float milliseconds = 0;
  const CUevent unrecorded = NewEvent();
  EXPECT_EQ(api_->EventElapsedTime(&milliseconds, unrecorded, unrecorded), CUDA_ERROR_INVALID_HANDLE);
  const CUevent untimed = NewEvent(CU_EVENT_DISABLE_TIMING);
  ASSERT_EQ(api_->EventRecord(untimed, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(api_->EventSynchronize(untimed), CUDA_SUCCESS);
  EXPECT_EQ(api_->EventElapsedTime(&milliseconds, untimed, untimed), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverRules, CallbacksRunInTheirTurn) {
  const CUstream stream = NewStream();
  struct Seen {
    CUstream stream = nullptr;
    CUresult status = CUDA_ERROR_UNKNOWN;
  } seen;
  using Callback = void (*)(CUstream, CUresult, void*);
  const Callback note = [](CUstream of, CUresult status, void* data) { *static_cast<Seen*>(data) = {of, status}; };
  ASSERT_EQ(
      (Function<CUresult(CUstream, Callback, void*, unsigned)>("cuStreamAddCallback", 5000)(stream, note, &seen, 0)),
      CUDA_SUCCESS);
  EXPECT_EQ(api_->StreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(seen.stream, stream);
  EXPECT_EQ(seen.status, CUDA_SUCCESS);
}

// --- Capturing.

TEST_F(DriverRules, CaptureOfTheLegacyStream) {
  EXPECT_EQ(api_->StreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph graph = nullptr;
  EXPECT_EQ(api_->StreamEndCapture(NewStream(), &graph), CUDA_ERROR_ILLEGAL_STATE);
}

TEST_F(DriverRules, WaitingForACapturingStreamSpoilsTheCapture) {
  const CUstream stream = NewStream();
  ASSERT_EQ(api_->StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(api_->StreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(Launch(Kernel("nothing"), stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CUgraph graph = nullptr;
  EXPECT_EQ(api_->StreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(Launch(Kernel("nothing"), stream), CUDA_SUCCESS);
}

TEST_F(DriverRules, AllocationInAGlobalCapture) {
  const CUstream stream = NewStream();
  ASSERT_EQ(api_->StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  CUdeviceptr words = 0;
  EXPECT_EQ(api_->MemAlloc(&words, 4), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph graph = nullptr;
  EXPECT_EQ(api_->StreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(DriverRules, JoiningACapture) {
  const CUstream first = NewStream(), second = NewStream();
  const CUevent event = NewEvent();
  const CUfunction nothing = Kernel("nothing");
  CUgraph graph = nullptr;
  ASSERT_EQ(api_->EventRecord(event, second), CUDA_SUCCESS);
  ASSERT_EQ(api_->StreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(api_->StreamWaitEvent(first, event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION) << "recorded outside of it";
  EXPECT_EQ(api_->StreamEndCapture(first, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

  ASSERT_EQ(api_->StreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  ASSERT_EQ(api_->EventRecord(event, first), CUDA_SUCCESS);
  ASSERT_EQ(api_->StreamWaitEvent(second, event, 0), CUDA_SUCCESS);
  ASSERT_EQ(Launch(nothing, second), CUDA_SUCCESS);
  EXPECT_EQ(api_->StreamEndCapture(first, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);

  ASSERT_EQ(api_->StreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  ASSERT_EQ(api_->EventRecord(event, first), CUDA_SUCCESS);
  ASSERT_EQ(api_->StreamWaitEvent(second, event, 0), CUDA_SUCCESS);
  ASSERT_EQ(Launch(nothing, second), CUDA_SUCCESS);
  ASSERT_EQ(api_->EventRecord(event, second), CUDA_SUCCESS);
  ASSERT_EQ(api_->StreamWaitEvent(first, event, 0), CUDA_SUCCESS);
  EXPECT_EQ(api_->EventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(api_->StreamEndCapture(first, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

// --- What is kept, and told again.

TEST_F(DriverRules, FlagsAndAttributes) {
  const auto flags_of = Function<CUresult(unsigned*, void*)>("cuMemHostGetFlags", 2030);
  void* host = nullptr;
  unsigned flags = 99;
  ASSERT_EQ(api_->MemHostAlloc(&host, 64, kMemHostPortable | kMemHostDeviceMap), CUDA_SUCCESS);
  EXPECT_EQ(flags_of(&flags, host), CUDA_SUCCESS);
  EXPECT_EQ(flags, kMemHostPortable | kMemHostDeviceMap);
  EXPECT_EQ(api_->MemFreeHost(host), CUDA_SUCCESS);

  const auto set = Function<CUresult(const void*, CUpointer_attribute, CUdeviceptr)>("cuPointerSetAttribute", 6000);
  const CUdeviceptr words = NewWords(4);
  bool on = true;
  EXPECT_EQ(api_->PointerGetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, words), CUDA_SUCCESS);
  EXPECT_FALSE(on);
  const unsigned one = 1;
  EXPECT_EQ(set(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, words), CUDA_SUCCESS);
  EXPECT_EQ(api_->PointerGetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, words + 4), CUDA_SUCCESS);
  EXPECT_TRUE(on);
  EXPECT_EQ(set(&one, CU_POINTER_ATTRIBUTE_CONTEXT, words), CUDA_ERROR_INVALID_VALUE);

  // Clusters.
  for (int attribute = 10; attribute <= 15; ++attribute) {
    int value = -1;
    EXPECT_EQ(api_->FuncGetAttribute(&value, static_cast<CUfunction_attribute>(attribute), Kernel("nothing")),
              CUDA_SUCCESS)
        << attribute;
    EXPECT_EQ(value, 0);
  }
  EXPECT_EQ(api_->FuncSetAttribute(Kernel("nothing"), static_cast<CUfunction_attribute>(10), 1),
            CUDA_ERROR_INVALID_VALUE);
  int value = -1;
  EXPECT_EQ(api_->FuncGetAttribute(&value, static_cast<CUfunction_attribute>(16), Kernel("nothing")),
            CUDA_ERROR_INVALID_VALUE);

  // Events that other processes may have take no times.
  CUevent event = nullptr;
  constexpr unsigned kInterprocess = 4;
  EXPECT_EQ(api_->EventCreate(&event, kInterprocess), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(api_->EventCreate(&event, kInterprocess | CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
}

TEST_F(DriverRules, Advice) {
  constexpr int kReadMostly = 1, kPreferredLocation = 3, kAccessedBy = 5;
  const auto advise = Function<CUresult(CUdeviceptr, size_t, int, CUdevice)>("cuMemAdvise", 8000);
  CUdeviceptr managed = 0;
  ASSERT_EQ(api_->MemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(advise(managed, 64, kPreferredLocation, 0), CUDA_SUCCESS);
  EXPECT_EQ(advise(managed, 64, kPreferredLocation, -1), CUDA_SUCCESS) << "the host";
  EXPECT_EQ(advise(managed, 64, kAccessedBy, 99), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(advise(managed, 64, kReadMostly, 99), CUDA_SUCCESS) << "the device is ignored";
  EXPECT_EQ(advise(managed, 64, 99, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverRules, HostMemoryIsRegisteredOnceAndIsThere) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const mapped = mmap(nullptr, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  std::byte* const bytes = static_cast<std::byte*>(mapped);
  EXPECT_EQ(api_->MemHostRegister(bytes + 2 * page, 2 * page, 0), CUDA_SUCCESS);
  constexpr auto kAlready = static_cast<CUresult>(712);
  EXPECT_EQ(api_->MemHostRegister(bytes + 3 * page, page, 0), kAlready) << "inside";
  EXPECT_EQ(api_->MemHostRegister(bytes, 8 * page, 0), kAlready) << "around";
  EXPECT_EQ(api_->MemHostRegister(bytes + 4 * page, page, 0), CUDA_SUCCESS) << "beside";
  EXPECT_EQ(api_->MemHostUnregister(bytes + 2 * page), CUDA_SUCCESS);
  EXPECT_EQ(api_->MemHostUnregister(bytes + 4 * page), CUDA_SUCCESS);
  ASSERT_EQ(munmap(bytes + 4 * page, 4 * page), 0);
  EXPECT_EQ(api_->MemHostRegister(bytes, 8 * page, 0), CUDA_ERROR_INVALID_VALUE) << "half of it is not there";
  munmap(bytes, 4 * page);
}

TEST_F(DriverRules, ContextsArePushedAsDeepAsOneLikes) {
  std::thread([&] {
    for (int i = 0; i < 2000; ++i) ASSERT_EQ(api_->CtxPushCurrent(context_), CUDA_SUCCESS) << i;
    CUcontext popped = nullptr;
    for (int i = 0; i < 1990; ++i) ASSERT_EQ(api_->CtxPopCurrent(&popped), CUDA_SUCCESS) << i;
    EXPECT_EQ(popped, context_);
  }).join();  // Which gives back what ten of them take.
}

// --- Errors that stay.

TEST_F(DriverRules, AFaultStaysWithItsContext) {
  const CUcontext broken = NewContext();
  const CUmodule module = Load(kKernels);
  CUfunction store = nullptr;
  ASSERT_EQ(api_->ModuleGetFunction(&store, module, "store"), CUDA_SUCCESS);
  LaunchBuffer nowhere(CUdeviceptr{64}, 1u);
  EXPECT_EQ(Launch(store, nullptr, nowhere.extra()), CUDA_SUCCESS) << "seen when it runs";
  EXPECT_EQ(api_->CtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUdeviceptr words = 0;
  EXPECT_EQ(api_->MemAlloc(&words, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(Launch(store, nullptr, nowhere.extra()), CUDA_ERROR_ILLEGAL_ADDRESS);
  Destroy(broken);
}

// overrun(words, n) stores n words into an array of 16 in local memory and reads one back. `waits` does so as well, and
// has its threads wait for each other in between.
constexpr const char* kOverrun = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry overrun(.param .u64 p, .param .u32 n)
{
    .local .align 8 .b8 a[64];
    .reg .pred %p;
    .reg .b32 %n, %i, %v;
    .reg .b64 %a, %at, %out;
    ld.param.u64 %out, [p];
    cvta.to.global.u64 %out, %out;
    ld.param.u32 %n, [n];
    mov.u64 %a, a;
    mov.u32 %i, 0;
loop:
    mad.wide.u32 %at, %i, 4, %a;
    st.local.u32 [%at], %i;
    add.u32 %i, %i, 1;
    setp.lo.u32 %p, %i, %n;
    @%p bra loop;
    and.b32 %i, %i, 15;
    mad.wide.u32 %at, %i, 4, %a;
    ld.local.u32 %v, [%at];
    st.global.u32 [%out], %v;
    ret;
}
.visible .entry waits(.param .u64 p, .param .u32 n)
{
    .local .align 8 .b8 a[64];
    .reg .pred %p;
    .reg .b32 %n, %i, %v;
    .reg .b64 %a, %at, %out;
    ld.param.u64 %out, [p];
    cvta.to.global.u64 %out, %out;
    ld.param.u32 %n, [n];
    mov.u64 %a, a;
    mov.u32 %i, 0;
loop:
    mad.wide.u32 %at, %i, 4, %a;
    st.local.u32 [%at], %i;
    add.u32 %i, %i, 1;
    setp.lo.u32 %p, %i, %n;
    @%p bra loop;
    bar.sync 0;
    and.b32 %i, %i, 15;
    mad.wide.u32 %at, %i, 4, %a;
    ld.local.u32 %v, [%at];
    st.global.u32 [%out], %v;
    ret;
}
)";

// A little too far may go unseen, by a GPU, too; far too far does not. The process goes on in any case.
TEST_F(DriverRules, RunningOverALocalArrayEndsNothingButTheContext) {
  for (const char* name : {"overrun", "waits"}) {
    for (unsigned words : {16u, 20u, 64u, 1024u, 1u << 20, 1u << 28}) {
      const CUcontext fresh = NewContext();
      CUfunction kernel = nullptr;
      ASSERT_EQ(api_->ModuleGetFunction(&kernel, Load(kOverrun), name), CUDA_SUCCESS);
      LaunchBuffer buffer(NewWords(1), words);
      for (unsigned grid : {1u, 100u}) {
        const CUresult launched = Launch(kernel, nullptr, buffer.extra(), grid);
        EXPECT_TRUE(launched == CUDA_SUCCESS || launched == CUDA_ERROR_ILLEGAL_ADDRESS) << launched;
        const CUresult result = api_->CtxSynchronize();
        EXPECT_TRUE((result == CUDA_SUCCESS && words != 1u << 28) ||
                    (result == CUDA_ERROR_ILLEGAL_ADDRESS && words != 16))
            << name << ", " << words << " words: " << result;
      }
      Destroy(fresh);
    }
  }
  EXPECT_EQ(Launch(Kernel("nothing"), nullptr), CUDA_SUCCESS);
  EXPECT_EQ(api_->CtxSynchronize(), CUDA_SUCCESS);
}

// Which many applications block in threads that are not to handle them.
TEST_F(DriverRules, AFaultIsToldToAThreadThatBlocksSignals) {
  std::thread([&] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    const CUcontext broken = NewContext();
    const CUmodule module = Load(kKernels);
    CUfunction store = nullptr;
    ASSERT_EQ(api_->ModuleGetFunction(&store, module, "store"), CUDA_SUCCESS);
    LaunchBuffer nowhere(CUdeviceptr{64}, 1u);
    EXPECT_EQ(Launch(store, nullptr, nowhere.extra()), CUDA_SUCCESS);
    EXPECT_EQ(api_->CtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    Destroy(broken);
  }).join();
}

// An application's handler that came later is left alone, too.
TEST_F(DriverRules, AFaultIsNotToldToAHandlerInstalledBetweenLaunches) {
  static std::atomic<int> handled{0};
  const CUcontext broken = NewContext();
  const CUmodule module = Load(kKernels);
  CUfunction store = nullptr;
  ASSERT_EQ(api_->ModuleGetFunction(&store, module, "store"), CUDA_SUCCESS);
  LaunchBuffer somewhere(NewWords(32), 1u), nowhere(CUdeviceptr{64}, 1u);
  EXPECT_EQ(Launch(store, nullptr, somewhere.extra()), CUDA_SUCCESS);
  EXPECT_EQ(api_->CtxSynchronize(), CUDA_SUCCESS);
  struct sigaction action = {}, before = {};
  action.sa_handler = [](int) {
    ++handled;
    _exit(1);  // There is no way back.
  };
  ASSERT_EQ(sigaction(SIGSEGV, &action, &before), 0);
  usleep(50'000);  // More than a tick of any system's clock, after which the CPU device looks again.
  EXPECT_EQ(Launch(store, nullptr, nowhere.extra()), CUDA_SUCCESS);
  EXPECT_EQ(api_->CtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(handled, 0);
  EXPECT_EQ(sigaction(SIGSEGV, &before, nullptr), 0);
  Destroy(broken);
}

// The memory of a context that goes while another's stream has work on it: an error at most.
TEST_F(DriverRules, AFillOfMemoryThatIsGoneEndsNothingButTheContext) {
  constexpr size_t kBytes = size_t{64} << 20;  // So much is given back to the system.
  const CUcontext fills = NewContext();
  const CUstream stream = NewStream();
  const CUcontext owner = NewContext();
  const CUdeviceptr memory = NewWords(kBytes / 4);
  ASSERT_EQ(api_->CtxSetCurrent(fills), CUDA_SUCCESS);
  std::atomic<bool> go{false};
  const auto wait = [](void* go) {
    while (!static_cast<std::atomic<bool>*>(go)->load()) usleep(100);
  };
  ASSERT_EQ(api_->LaunchHostFunc(stream, wait, &go), CUDA_SUCCESS);
  ASSERT_EQ(api_->MemsetD32Async(memory, 1, kBytes / 4, stream), CUDA_SUCCESS);
  Destroy(owner);
  go = true;
  const CUresult result = api_->StreamSynchronize(stream);
  EXPECT_TRUE(result == CUDA_SUCCESS || result == CUDA_ERROR_ILLEGAL_ADDRESS) << result;
  Destroy(fills);
  ASSERT_EQ(api_->CtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(Launch(Kernel("nothing"), nullptr), CUDA_SUCCESS);
  EXPECT_EQ(api_->CtxSynchronize(), CUDA_SUCCESS);
}

// One that the compiler sees, too: it is no licence to leave out what stands around it.
TEST_F(DriverRules, AStoreToAddressZeroIsAFault) {
  const CUcontext broken = NewContext();
  const CUmodule module = Load(
      ".version 7.0\n.target sm_75\n.address_size 64\n"
      ".visible .entry k() { .reg .b64 %p; .reg .b32 %v; mov.u64 %p, 0; mov.u32 %v, 1; st.global.u32 [%p], %v; ret; }");
  CUfunction function = nullptr;
  ASSERT_EQ(api_->ModuleGetFunction(&function, module, "k"), CUDA_SUCCESS);
  EXPECT_EQ(api_->LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(api_->CtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  Destroy(broken);
}

}  // namespace
}  // namespace slipway::cuda_library
