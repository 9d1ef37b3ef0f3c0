// Launches: arguments, limits, floating point, faults.
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cfenv>
#include <fstream>
#include <functional>
#include <limits>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "driver/cpu/sanitizers.h"
#include "tests/cpu/api_fixture.h"

namespace slipway::cpu {
namespace {

using ApiLaunch = ApiTest;

TEST_F(ApiLaunch, BothWaysOfPassingArguments) {
  CUdeviceptr out = NewWords(8);
  uint8_t a = 200;
  double b = -1.5;  // 0xBFF80000'00000000
  uint16_t c = 60000;
  uint64_t address = out;
  void* params[] = {&a, &b, &c, &address};
  ASSERT_CUDA(Api().LaunchKernel(Function("mixed"), 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr));
  // They were copied at the call.
  a = 0;
  b = 0;
  EXPECT_EQ(ReadWords(out, 4), (std::vector<uint32_t>{200, 0, 0xBFF80000, 60000}));
  ASSERT_CUDA(Launch("mixed", 1, 1, nullptr, uint8_t{7}, 1.0, uint16_t{9}, uint64_t{out}));
  EXPECT_EQ(ReadWords(out, 4), (std::vector<uint32_t>{7, 0, 0x3FF00000, 9}));
}

TEST_F(ApiLaunch, BufferMustHaveTheExactSize) {
  CUdeviceptr words = NewWords(32);
  LaunchBuffer buffer(uint64_t{words}, 1u);
  EXPECT_EQ(buffer.size, 12u);
  CUfunction store = Function("store");
  auto launch = [&](size_t size) {
    buffer.size = size;
    return Api().LaunchKernel(store, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, buffer.extra());
  };
  EXPECT_CUDA(launch(12));
  EXPECT_EQ(launch(16), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  EXPECT_EQ(launch(13), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  EXPECT_EQ(launch(11), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(Api().CtxSynchronize());  // None of them broke the context.
}

TEST_F(ApiLaunch, ArgumentMistakes) {
  CUfunction store = Function("store");
  CUdeviceptr words = NewWords(32);
  uint64_t address = words;
  uint32_t value = 3;
  void* params[] = {&address, &value};
  void* missing[] = {&address, nullptr};
  LaunchBuffer buffer(uint64_t{words}, 1u);
  size_t size = 12;
  void* no_size[] = {kLaunchParamBufferPointer, &address, kLaunchParamEnd};
  void* no_pointer[] = {kLaunchParamBufferSize, &size, kLaunchParamEnd};
  void* null_size[] = {kLaunchParamBufferPointer, &address, kLaunchParamBufferSize, nullptr, kLaunchParamEnd};
  void* unknown[] = {reinterpret_cast<void*>(9), &address, kLaunchParamEnd};
  auto launch = [&](void** by_pointer, void** extra) {
    return Api().LaunchKernel(store, 1, 1, 1, 32, 1, 1, 0, nullptr, by_pointer, extra);
  };
  EXPECT_CUDA(launch(params, nullptr));
  EXPECT_EQ(launch(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(missing, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(params, buffer.extra()), CUDA_ERROR_INVALID_VALUE);
  for (void** extra : {no_size, no_pointer, null_size, unknown})
    EXPECT_EQ(launch(nullptr, extra), CUDA_ERROR_INVALID_VALUE);
  // A kernel without parameters takes neither, or an empty buffer.
  CUfunction empty = Function("empty");
  EXPECT_CUDA(Api().LaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  LaunchBuffer nothing;
  EXPECT_CUDA(Api().LaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nothing.extra()));
  EXPECT_EQ(Api().LaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, buffer.extra()),
            CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
}

struct Shape {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared;
  CUresult result;
};

class ApiLaunchShape : public ApiTest, public testing::WithParamInterface<Shape> {};

TEST_P(ApiLaunchShape, IsCheckedAsADriverDoes) {
  const auto& [grid, block, shared, result] = GetParam();
  EXPECT_EQ(Api().LaunchKernel(Function("empty"), grid[0], grid[1], grid[2], block[0], block[1], block[2], shared,
                               nullptr, nullptr, nullptr),
            result);
  EXPECT_CUDA(Api().CtxSynchronize());
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ApiLaunchShape,
    testing::Values(Shape{{1, 1, 1}, {1024, 1, 1}, 0, CUDA_SUCCESS}, Shape{{1, 1, 1}, {1, 1024, 1}, 0, CUDA_SUCCESS},
                    Shape{{1, 1, 1}, {16, 1, 64}, 0, CUDA_SUCCESS}, Shape{{3, 65535, 1}, {1, 1, 1}, 0, CUDA_SUCCESS},
                    Shape{{1, 1, 65535}, {1, 1, 1}, 0, CUDA_SUCCESS}, Shape{{1, 1, 1}, {1, 1, 1}, 49152, CUDA_SUCCESS},
                    Shape{{0, 1, 1}, {1, 1, 1}, 0, CUDA_ERROR_INVALID_VALUE},
                    Shape{{1, 0, 1}, {1, 1, 1}, 0, CUDA_ERROR_INVALID_VALUE},
                    Shape{{1, 1, 0}, {1, 1, 1}, 0, CUDA_ERROR_INVALID_VALUE},
                    Shape{{1, 1, 1}, {0, 1, 1}, 0, CUDA_ERROR_INVALID_VALUE},
                    Shape{{1, 1, 1}, {1, 0, 1}, 0, CUDA_ERROR_INVALID_VALUE},
                    Shape{{1, 1, 1}, {1, 1, 0}, 0, CUDA_ERROR_INVALID_VALUE},
                    Shape{{1, 1, 1}, {1025, 1, 1}, 0, CUDA_ERROR_INVALID_VALUE},
                    Shape{{1, 1, 1}, {1, 1, 65}, 0, CUDA_ERROR_INVALID_VALUE},
                    Shape{{1, 1, 1}, {32, 33, 1}, 0, CUDA_ERROR_INVALID_VALUE},
                    Shape{{0x80000000u, 1, 1}, {1, 1, 1}, 0, CUDA_ERROR_INVALID_VALUE},
                    Shape{{1, 65536, 1}, {1, 1, 1}, 0, CUDA_ERROR_INVALID_VALUE},
                    Shape{{1, 1, 65536}, {1, 1, 1}, 0, CUDA_ERROR_INVALID_VALUE},
                    Shape{{1, 1, 1}, {1, 1, 1}, 49153, CUDA_ERROR_INVALID_VALUE}));

TEST_F(ApiLaunch, KernelsOwnBlockLimits) {
  auto launch = [&](const char* kernel, unsigned x, unsigned y) {
    return Api().LaunchKernel(Function(kernel), 1, 1, 1, x, y, 1, 0, nullptr, nullptr, nullptr);
  };
  EXPECT_CUDA(launch("wants_64", 64, 1));
  EXPECT_EQ(launch("wants_64", 32, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch("wants_64", 32, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(launch("at_most_128", 64, 2));
  EXPECT_EQ(launch("at_most_128", 129, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ApiLaunch, MoreSharedMemoryByOptIn) {
  CUfunction empty = Function("empty");
  auto launch = [&](unsigned shared) {
    return Api().LaunchKernel(empty, 4, 1, 1, 32, 1, 1, shared, nullptr, nullptr, nullptr);
  };
  EXPECT_EQ(launch(100000), CUDA_ERROR_INVALID_VALUE);
  ASSERT_CUDA(Api().FuncSetAttribute(empty, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
  EXPECT_CUDA(launch(100000));
  EXPECT_EQ(launch(100001), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(Api().CtxSynchronize());
}

// Every element once, whatever the split into portions.
TEST_F(ApiLaunch, EveryBlockRunsOnce) {
  for (uint32_t n : {1u, 31u, 1000u, 8192u, 8193u, 100000u, 1u << 20}) {
    for (unsigned block : {1u, 32u, 256u, 1024u}) {
      if (n / block > 200000) continue;
      CUdeviceptr words = NewWords(n);
      ASSERT_CUDA(Launch("add_one", (n + block - 1) / block, block, nullptr, uint64_t{words}, n));
      EXPECT_EQ(ReadWords(words, n), std::vector<uint32_t>(n, 1)) << n << " by " << block;
      ASSERT_CUDA(Api().MemFree(words));
    }
  }
}

// Few threads do not wake others, unless they turn out to have much to do.
TEST_F(ApiLaunch, FewThreadsWithMuchToDo) {
  constexpr uint32_t kGrid = 32, kBlock = 64;
  for (uint32_t rounds : {1U, 100U, 20000U}) {
    CUdeviceptr words = NewWords(kGrid * kBlock);
    ASSERT_CUDA(Launch("rounds", kGrid, kBlock, nullptr, uint64_t{words}, rounds));
    std::vector<uint32_t> wanted;
    for (uint32_t i = 0; i < kGrid * kBlock; ++i) {
      uint32_t value = i;
      for (uint32_t left = rounds; left != 0; --left) value = value * value + left;
      wanted.push_back(value);
    }
    EXPECT_EQ(ReadWords(words, kGrid * kBlock), wanted) << rounds;
    ASSERT_CUDA(Api().MemFree(words));
  }
}

// A waiting thread runs kernels itself, and its own floating-point modes are not CUDA's.
TEST_F(ApiLaunch, FloatingPointModeIsCudasAndTheCallersIsKept) {
  CUdeviceptr out = NewWords(2);
  float tiny = std::numeric_limits<float>::min();
  std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
  unsigned before = _mm_getcsr() | 0x8040;  // FTZ and DAZ.
  _mm_setcsr(before);
#endif
  CUresult launched = Launch("arithmetic", 1, 1, nullptr, uint64_t{out}, 1.0f, 0x1p-30f, tiny, 0.5f);
  CUresult done = Api().CtxSynchronize();
  int round = std::fegetround();
#if defined(__x86_64__)
  unsigned after = _mm_getcsr();
  _mm_setcsr(0x1F80);
  EXPECT_EQ(before & ~0x3Fu, after & ~0x3Fu);
#endif
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(round, FE_UPWARD);
  EXPECT_CUDA(launched);
  EXPECT_CUDA(done);
  EXPECT_EQ(ReadWords(out, 2), (std::vector<uint32_t>{0x3F800000, 0x00400000}));
}

TEST_F(ApiLaunch, IllegalAddressSticksToTheContext) {
  CUdeviceptr words = NewWords(64);
  CUstream stream = NewStream();
  CUevent event = NewEvent();
  // Far away, null, and where no address can be.
  for (uint64_t wild : {uint64_t{words} + (uint64_t{1} << 33), uint64_t{0}, uint64_t{0x8000} << 48}) {
    CUfunction empty = Function("empty");
    CUmodule loaded = Module();
    ASSERT_CUDA(Launch("store", 4, 256, stream, wild, 1u));
    EXPECT_EQ(Api().StreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(Api().LaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(Api().ModuleGetFunction(&empty, loaded, "store"), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(Api().StreamQuery(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(Api().CtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(Api().EventRecord(event, stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    uint32_t word = 0;
    EXPECT_EQ(Api().MemcpyDtoH(&word, words, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
    CUdeviceptr more = 0;
    EXPECT_EQ(Api().MemAlloc(&more, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
    CUmodule module = nullptr;
    EXPECT_EQ(Api().ModuleLoadDataEx(&module, kTestPtx, 0, nullptr, nullptr), CUDA_ERROR_ILLEGAL_ADDRESS);
    // What owns something can let go of it.
    EXPECT_EQ(Api().MemFree(words), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(Api().EventDestroy(event), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(Api().StreamDestroy(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(Api().ModuleUnload(loaded), CUDA_ERROR_ILLEGAL_ADDRESS);
    // A new context is well.
    TearDown();
    SetUp();
    words = NewWords(64);
    stream = NewStream();
    event = NewEvent();
    ASSERT_CUDA(Launch("store", 1, 64, stream, uint64_t{words}, 5u));
    EXPECT_CUDA(Api().StreamSynchronize(stream));
    EXPECT_EQ(ReadWords(words, 64), std::vector<uint32_t>(64, 5));
  }
}

TEST_F(ApiLaunch, WhatIsQueuedBehindAFaultDoesNotRun) {
  volatile uint32_t* flag = NewFlag();
  CUstream stream = NewStream();
  CUdeviceptr words = NewWords(64);
  ASSERT_CUDA(LaunchSpin(flag, stream));
  ASSERT_CUDA(Launch("store", 1, 32, stream, uint64_t{0}, 1u));
  ASSERT_CUDA(Launch("store", 1, 64, stream, uint64_t{words}, 1u));
  *flag = 1;
  EXPECT_EQ(Api().StreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(*reinterpret_cast<volatile uint32_t*>(words), 0u);
}

TEST_F(ApiLaunch, TrapIsALaunchFailure) {
  CUfunction empty = Function("empty");
  ASSERT_CUDA(Launch("trapper", 2, 64, nullptr));
  EXPECT_EQ(Api().CtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(Api().LaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_ERROR_LAUNCH_FAILED);
}

// endless: calls itself until the stack is full; the arithmetic after the call keeps it from being a loop.
// hoard: stores `offset` at `offset` of 512 KiB of local memory, and reads it back to `out`.
constexpr char kStackPtx[] = R"(
.version 7.8
.target sm_75
.address_size 64

.func (.param .b64 r) deeper(.param .b64 n)
{
  .reg .b64 %rd<5>;
  .reg .pred %p<2>;
  ld.param.b64 %rd1, [n];
  add.s64 %rd2, %rd1, 1;
  setp.eq.s64 %p1, %rd2, 0;
  @%p1 bra out;
  {
    .param .b64 q;
    .param .b64 a;
    st.param.b64 [a], %rd2;
    call (q), deeper, (a);
    ld.param.b64 %rd3, [q];
  }
  mad.lo.s64 %rd4, %rd3, %rd1, %rd2;
  st.param.b64 [r], %rd4;
  ret;
out:
  st.param.b64 [r], %rd1;
  ret;
}

.visible .entry endless(.param .u64 n)
{
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [n];
  {
    .param .b64 r;
    .param .b64 a;
    st.param.b64 [a], %rd1;
    call (r), deeper, (a);
    ld.param.b64 %rd2, [r];
  }
  st.global.u64 [%rd2], %rd2;
  ret;
}

.visible .entry hoard(.param .u64 out, .param .u64 offset)
{
  .local .align 8 .b8 depot[524288];
  .reg .b32 %r<3>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [offset];
  mov.u64 %rd3, depot;
  add.s64 %rd4, %rd3, %rd2;
  cvt.u32.u64 %r1, %rd2;
  st.volatile.local.u32 [%rd4], %r1;
  ld.volatile.local.u32 %r2, [%rd4];
  st.global.u32 [%rd1], %r2;
  ret;
}
)";

CUfunction StackFunction(const char* name) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  EXPECT_CUDA(Api().ModuleLoadDataEx(&module, kStackPtx, 0, nullptr, nullptr));
  EXPECT_CUDA(Api().ModuleGetFunction(&function, module, name));
  return function;
}

// Runs `body` in a thread with a stack of that size and `context` current, or, for 0, in this one.
void OnStackOf(size_t bytes, CUcontext context, const std::function<void()>& body) {
  if (bytes == 0) return body();
  const std::function<void()> work = [&] {
    EXPECT_CUDA(Api().CtxPushCurrent(context));
    body();
  };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
  pthread_t thread;
  const auto run = [](void* of) -> void* {
    (*static_cast<const std::function<void()>*>(of))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&work)), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

// On whatever stack the blocks run: the pool's, that of a thread of the application that waits, and a small one.
TEST_F(ApiLaunch, EndlessRecursionIsAnIllegalAddress) {
  for (size_t stack_bytes : {size_t{0}, size_t{8} << 20, size_t{128} << 10}) {
    CUfunction endless = StackFunction("endless");
    CUresult result = CUDA_SUCCESS;
    OnStackOf(stack_bytes, context_, [&] {
      CUstream stream = NewStream();
      LaunchBuffer buffer(uint64_t{1});
      const unsigned grid = stack_bytes == 0 ? 100 : 1;
      EXPECT_CUDA(Api().LaunchKernel(endless, grid, 1, 1, 256, 1, 1, 0, stream, nullptr, buffer.extra()));
      result = Api().StreamSynchronize(stream);
    });
    EXPECT_EQ(result, CUDA_ERROR_ILLEGAL_ADDRESS);
    TearDown();
    SetUp();
  }
}

// Local memory is on the stack of the thread that runs the blocks.
TEST_F(ApiLaunch, MuchLocalMemoryFitsWhateverTheWaitersStack) {
  CUfunction hoard = StackFunction("hoard");
  CUdeviceptr words = NewWords(1);
  OnStackOf(size_t{64} << 10, context_, [&] {
    CUstream stream = NewStream();
    LaunchBuffer buffer(uint64_t{words}, uint64_t{500000});
    EXPECT_CUDA(Api().LaunchKernel(hoard, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, buffer.extra()));
    EXPECT_CUDA(Api().StreamSynchronize(stream));
  });
  EXPECT_EQ(ReadWords(words, 1), std::vector<uint32_t>{500000});
}

TEST_F(ApiLaunch, OtherDevicesContextIsNotTouchedByAFault) {
  CUcontext other = nullptr;
  ASSERT_CUDA(Api().DevicePrimaryCtxRetain(&other, 1));
  ASSERT_CUDA(Launch("store", 1, 32, nullptr, uint64_t{0}, 1u));
  EXPECT_EQ(Api().CtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  ASSERT_CUDA(Api().CtxPushCurrent(other));
  CUdeviceptr words = NewWords(4);
  EXPECT_EQ(ReadWords(words, 4), std::vector<uint32_t>(4, 0));
  EXPECT_CUDA(Api().CtxPopCurrent(nullptr));
  EXPECT_CUDA(Api().DevicePrimaryCtxRelease(1));
}

// A fault of the program's own, at an address that the compiler cannot see.
void TouchAddress(uintptr_t address) {
  volatile uintptr_t hidden = address;
  *reinterpret_cast<volatile int*>(hidden) = 1;
}

// A fault that is not translated code's goes to the handler that was there before ours.
TEST(ApiFault, OthersFaultsAreTheirHandlers) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer's handler is its own";
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        signal(SIGSEGV, [](int) { _exit(42); });
        CUcontext context = nullptr;
        CUmodule module = nullptr;
        if (Api().Init(0) != CUDA_SUCCESS || Api().DevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
            Api().CtxSetCurrent(context) != CUDA_SUCCESS ||
            Api().ModuleLoadDataEx(&module, kTestPtx, 0, nullptr, nullptr) != CUDA_SUCCESS) {
          _exit(1);
        }
        TouchAddress(16);
        _exit(2);
      },
      testing::ExitedWithCode(42), "");
  EXPECT_EXIT(
      {
        CUcontext context = nullptr;
        CUmodule module = nullptr;
        if (Api().Init(0) != CUDA_SUCCESS || Api().DevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
            Api().CtxSetCurrent(context) != CUDA_SUCCESS ||
            Api().ModuleLoadDataEx(&module, kTestPtx, 0, nullptr, nullptr) != CUDA_SUCCESS) {
          _exit(1);
        }
        TouchAddress(16);
        _exit(2);
      },
      testing::KilledBySignal(SIGSEGV), "");
}

// Makes a context, loads `store` and, if `before` is given, calls that; then stores to address 0.
CUresult FaultOfAKernel(void (*before)()) {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction store = nullptr;
  if (Api().Init(0) != CUDA_SUCCESS || Api().DevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
      Api().CtxSetCurrent(context) != CUDA_SUCCESS ||
      Api().ModuleLoadDataEx(&module, kTestPtx, 0, nullptr, nullptr) != CUDA_SUCCESS ||
      Api().ModuleGetFunction(&store, module, "store") != CUDA_SUCCESS) {
    _exit(1);
  }
  before();
  LaunchBuffer buffer(uint64_t{0}, 1u);
  if (Api().LaunchKernel(store, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, buffer.extra()) != CUDA_SUCCESS) _exit(1);
  return Api().CtxSynchronize();
}

struct sigaction before_the_applications;

// A handler that comes after ours does not get the faults of kernels, and gets the application's.
TEST(ApiFault, LaterHandlersGetWhatIsNotAKernels) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer's handler is its own";
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        if (FaultOfAKernel([] { signal(SIGSEGV, [](int) { _exit(42); }); }) != CUDA_ERROR_ILLEGAL_ADDRESS) _exit(3);
        TouchAddress(16);
        _exit(2);
      },
      testing::ExitedWithCode(42), "");
  // One that puts back what it found, which is ours, and raises the signal again, as Python's faulthandler does.
  EXPECT_EXIT(
      {
        const auto install = [] {
          struct sigaction action = {};
          action.sa_handler = [](int raised) {
            sigaction(SIGSEGV, &before_the_applications, nullptr);
            raise(raised);
          };
          action.sa_flags = SA_NODEFER;
          sigaction(SIGSEGV, &action, &before_the_applications);
        };
        if (FaultOfAKernel(install) != CUDA_ERROR_ILLEGAL_ADDRESS) _exit(3);
        TouchAddress(16);
        _exit(2);
      },
      testing::KilledBySignal(SIGSEGV), "");
  // One that calls what it found.
  EXPECT_EXIT(
      {
        const auto install = [] {
          struct sigaction action = {};
          action.sa_sigaction = [](int raised, siginfo_t* info, void* machine) {
            before_the_applications.sa_sigaction(raised, info, machine);
          };
          action.sa_flags = SA_SIGINFO;
          sigaction(SIGSEGV, &action, &before_the_applications);
        };
        if (FaultOfAKernel(install) != CUDA_ERROR_ILLEGAL_ADDRESS) _exit(3);
        TouchAddress(16);
        _exit(2);
      },
      testing::KilledBySignal(SIGSEGV), "");
}

size_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// FC-34: launches allocate nothing once warm, however far the host runs ahead of the device.
TEST_F(ApiLaunch, MemoryIsFlatOverManyLaunches) {
  const int launches = kSanitized ? 20'000 : 1'000'000;
  CUstream stream = NewStream();
  CUfunction empty = Function("empty");
  auto run = [&](int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_CUDA(Api().LaunchKernel(empty, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr));
    }
    ASSERT_CUDA(Api().StreamSynchronize(stream));
  };
  run(10'000);
  size_t before = ResidentBytes();
  run(launches);
  size_t after = ResidentBytes();
  if (!kSanitized) {
    EXPECT_LT(after, before + (size_t{2} << 20));
  }
}

}  // namespace
}  // namespace slipway::cpu
