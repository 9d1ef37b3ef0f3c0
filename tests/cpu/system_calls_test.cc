// What kernels ask of the system: printf, assert, malloc and free.
#include <pthread.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "driver/cpu/settings.h"
#include "driver/cpu/system/device_heap.h"
#include "driver/cpu/system/printf.h"
#include "gmock/gmock.h"
#include "tests/assembled.h"
#include "tests/cpu/api_fixture.h"

namespace slipway::cpu {
namespace {

using ::testing::HasSubstr;

// Lays out arguments as compilers for CUDA do.
class VariadicArguments {
 public:
  template <class... Args>
  explicit VariadicArguments(Args... args) {
    (Append(args), ...);
  }
  const std::byte* data() const { return bytes_; }

 private:
  void Append(char value) { Append(static_cast<int>(value)); }
  template <class T>
  void Append(T value) {
    size_ = (size_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    std::memcpy(bytes_ + size_, &value, sizeof(T));
    size_ += sizeof(T);
  }
  alignas(16) std::byte bytes_[256] = {};
  size_t size_ = 0;
};

template <class... Args>
std::string Formatted(const char* format, Args... args) {
  std::string out;
  EXPECT_GE(Format(format, VariadicArguments(args...).data(), &out), 0);
  return out;
}

// The host's printf is the reference: a GPU's output is formatted by it, too.
#define EXPECT_AS_HOST(format, ...)                            \
  do {                                                         \
    char want[512];                                            \
    std::snprintf(want, sizeof(want), format, __VA_ARGS__);    \
    EXPECT_EQ(Formatted(format, __VA_ARGS__), want) << format; \
  } while (false)

TEST(DevicePrintf, ConversionsAsTheHostHasThem) {
  EXPECT_AS_HOST("%d %i|%5d|%-5d|%05d|%+d|% d", -1, 2, 3, 4, 5, 6, 7);
  EXPECT_AS_HOST("%u %x %X %o %#x %#o", ~0u, 0xabcu, 0xABCu, 8u, 255u, 8u);
  EXPECT_AS_HOST("%ld %lld %lu %llu %llx", -5L, -6LL, 7UL, ~0ULL, 0x123456789abcdefULL);
  EXPECT_AS_HOST("%zu %jd %td", size_t{9}, intmax_t{-9}, ptrdiff_t{-10});
  EXPECT_AS_HOST("%hd %hhd %hu %hhx", 70000, 300, 70000, 300);
  EXPECT_AS_HOST("%f %e %g %a %E %G|%10.3f|%-10.2e|%.0f", 1.5, 1e10, 1e-10, 1.0, 2.0, 3.0, 4.0, 5.0, 6.5);
  EXPECT_AS_HOST("%f %f %F", std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::quiet_NaN(), 1.0);
  EXPECT_AS_HOST("%c%c%3c%-3c|", 'a', 'b', 'c', 'd');
  EXPECT_AS_HOST("%s|%10s|%-10s|%.2s|%5.1s", "abc", "def", "ghi", "jkl", "mno");
  EXPECT_AS_HOST("%p", reinterpret_cast<void*>(0x1234));
  EXPECT_AS_HOST("%*d|%-*d|%.*f|%*.*f", 5, 1, 5, 2, 3, 3.14159, 8, 2, 2.71828);
  EXPECT_AS_HOST("%*d|", -5, 1);
  EXPECT_AS_HOST("%.*f", -1, 0.1);
  EXPECT_AS_HOST("%d%%%d", 1, 2);
  EXPECT_AS_HOST("%d %f %d %lld %c %s", 1, 2.0, 3, 4LL, 'x', "mixed");
  EXPECT_AS_HOST("%300d", 1);
}

TEST(DevicePrintf, CountsArguments) {
  std::string out;
  EXPECT_EQ(Format("none", nullptr, &out), 0);
  EXPECT_EQ(Format("%d %*d", VariadicArguments(1, 2, 3).data(), &out), 3);
  EXPECT_EQ(Vprintf(nullptr, nullptr, nullptr), -1);
}

TEST(DevicePrintf, WhatIsNoConversionIsPrintedAsItStands) {
  EXPECT_EQ(Formatted("100%"), "100%");
  EXPECT_EQ(Formatted("%y %! %"), "%y %! %");
  EXPECT_EQ(Formatted("%-+ #0"), "%-+ #0");
  EXPECT_EQ(Formatted("%ll"), "%ll");
  EXPECT_EQ(Formatted("%n", 5), "%n");
  EXPECT_EQ(Formatted("%5.y%d", 7), "%5.y7");
  EXPECT_EQ(Formatted(""), "");
  EXPECT_EQ(Formatted("%s", static_cast<const char*>(nullptr)), "(null)");
}

TEST(DevicePrintf, WidthsAreBounded) {
  EXPECT_EQ(Formatted("%999999999d", 1).size(), 4096U);
  EXPECT_EQ(Formatted("%*s", 2000000000, "x").size(), 4096U);
  EXPECT_EQ(Formatted("%.99999999999999999999d", 1).size(), 4096U);
}

TEST(DevicePrintf, ABufferLosesWhatWasPrintedFirst) {
  const auto flushed = [](PrintfBuffer& buffer) {
    testing::internal::CaptureStdout();
    buffer.Flush();
    return testing::internal::GetCapturedStdout();
  };
  PrintfBuffer buffer(10);
  EXPECT_EQ(flushed(buffer), "");
  for (const char* text : {"one\n", "two\n", "six\n"}) buffer.Append(text);
  EXPECT_EQ(flushed(buffer), "two\nsix\n");
  EXPECT_EQ(flushed(buffer), "");
  buffer.Append("0123456789");
  buffer.Append("longer than all");  // Has no room at all.
  EXPECT_EQ(flushed(buffer), "0123456789");
  buffer.SetCapacity(0);
  buffer.Append("x");
  EXPECT_EQ(flushed(buffer), "");
  buffer.SetCapacity(2);
  EXPECT_EQ(Vprintf(&buffer, "%d", VariadicArguments(42).data()), 1);
  EXPECT_EQ(Vprintf(&buffer, nullptr, nullptr), -1);
  EXPECT_EQ(flushed(buffer), "42");
}

TEST(DeviceHeap, ItsSizeChangesUntilItIsUsed) {
  std::vector<std::byte> memory(4096);
  size_t asked = 0;
  DeviceHeap heap(1024, [&](size_t bytes) {
    asked = bytes;
    return memory.data();
  });
  EXPECT_EQ(heap.bytes(), 1024U);
  EXPECT_TRUE(heap.Resize(2048));
  EXPECT_EQ(heap.bytes(), 2048U);
  EXPECT_EQ(heap.Allocate(2049), nullptr);
  EXPECT_TRUE(heap.Resize(4096));
  EXPECT_NE(heap.Allocate(4096), nullptr);
  EXPECT_EQ(asked, 4096U);
  EXPECT_FALSE(heap.Resize(1024));
  EXPECT_EQ(heap.bytes(), 4096U);
}

TEST(DeviceHeap, GivesApartAlignedMemoryUntilItIsExhausted) {
  std::vector<std::byte> memory(1024 + 16);
  const uintptr_t base = (reinterpret_cast<uintptr_t>(memory.data()) + 15) / 16 * 16;
  int reserved = 0;
  DeviceHeap heap(1024, [&](size_t bytes) {
    EXPECT_EQ(bytes, 1024U);
    ++reserved;
    return reinterpret_cast<void*>(base);
  });
  EXPECT_EQ(heap.Allocate(0), nullptr);
  EXPECT_EQ(heap.Allocate(1025), nullptr);
  EXPECT_EQ(heap.Allocate(~size_t{0}), nullptr);
  EXPECT_EQ(reserved, 0);
  std::vector<void*> pieces;
  while (void* const piece = heap.Allocate(60)) pieces.push_back(piece);
  EXPECT_EQ(reserved, 1);
  ASSERT_EQ(pieces.size(), 16U);
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(reinterpret_cast<uintptr_t>(pieces[i]), base + 64 * i);
  // Neighbours grow together, whatever the order.
  for (size_t i : {1, 3, 2}) EXPECT_TRUE(heap.Free(pieces[i]));
  EXPECT_EQ(heap.Allocate(193), nullptr);
  EXPECT_EQ(heap.Allocate(192), pieces[1]);
  EXPECT_TRUE(heap.Free(nullptr));
  EXPECT_FALSE(heap.Free(pieces[2])) << "inside another";
  EXPECT_TRUE(heap.Free(pieces[1]));
  EXPECT_FALSE(heap.Free(pieces[1])) << "twice";
  EXPECT_FALSE(heap.Free(memory.data() + 2000));
}

TEST(DeviceHeap, ThereMayBeNoMemory) {
  DeviceHeap heap(1024, [](size_t) { return nullptr; });
  EXPECT_EQ(heap.Allocate(16), nullptr);
}

class SystemCalls : public ApiTest {
 protected:
  // Loads a module of a kernel `k` with this body and parameters %a (.u64) and %n (.u32), and launches it.
  CUresult Run(const std::string& body, CUdeviceptr a, uint32_t n, unsigned grid, unsigned block) {
    const std::string text =
        ".version 7.8\n.target sm_75\n.address_size 64\n"
        ".extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);\n"
        ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);\n"
        ".extern .func (.param .b64 r) malloc(.param .b64 bytes);\n"
        ".extern .func free(.param .b64 p);\n"
        // Bit 0: local; 1: global.
        ".func (.param .b32 r) spaces(.param .b64 p)\n{\n"
        ".reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %l; ld.param.b64 %l, [p];\n"
        "isspacep.local %p0, %l; isspacep.global %p1, %l; selp.b32 %r0, 1, 0, %p0; selp.b32 %r1, 2, 0, %p1;\n"
        "or.b32 %r0, %r0, %r1; st.param.b32 [r], %r0; ret;\n}\n"
        // "%d: %f %s %lld\n", "text"
        ".global .align 1 .b8 format[16] = {37, 100, 58, 32, 37, 102, 32, 37, 115, 32, 37, 108, 108, 100, 10, 0};\n"
        ".global .align 1 .b8 text[5] = {116, 101, 120, 116, 0};\n"
        ".global .align 1 .b8 condition[6] = {105, 32, 60, 32, 110, 0};\n"  // "i < n"
        ".global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};\n"            // "a.cu"
        ".global .align 1 .b8 name[9] = {118, 111, 105, 100, 32, 107, 40, 41, 0};\n"
        ".visible .entry k(.param .u64 pa, .param .u32 pn)\n{\n"
        ".reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %l<9>; .reg .b64 %a; .reg .b32 %n, %i;\n"
        "ld.param.u64 %a, [pa]; ld.param.u32 %n, [pn];\n"
        "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %i, %tid.x; mad.lo.u32 %i, %r0, %r1, %i;\n" +
        body + "\nret;\n}\n";
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    EXPECT_CUDA(Api().ModuleLoadDataEx(&module, text.c_str(), 0, nullptr, nullptr));
    EXPECT_CUDA(Api().ModuleGetFunction(&function, module, "k"));
    AssembleAfterTests(text);
    LaunchBuffer buffer(a, n);
    EXPECT_CUDA(Api().LaunchKernel(function, grid, 1, 1, block, 1, 1, 0, nullptr, nullptr, buffer.extra()));
    return Api().CtxSynchronize();
  }
};

constexpr char kPrint[] = R"(
  .local .align 8 .b8 depot[32]; .reg .b64 %sp;
  mov.u64 %sp, depot; cvta.local.u64 %sp, %sp;
  st.u32 [%sp], %i; mov.b64 %l0, 0d3FF8000000000000; st.b64 [%sp+8], %l0;
  mov.u64 %l1, text; cvta.global.u64 %l1, %l1; st.u64 [%sp+16], %l1; st.u64 [%sp+24], -7;
  mov.u64 %l2, format; cvta.global.u64 %l2, %l2;
  { .param .b32 r; .param .b64 f; .param .b64 v; st.param.b64 [f], %l2; st.param.b64 [v], %sp;
    call.uni (r), vprintf, (f, v); ld.param.b32 %r5, [r]; })";

TEST_F(SystemCalls, PrintfIsThereWhenTheLaunchIsDone) {
  testing::internal::CaptureStdout();
  EXPECT_CUDA(Run(kPrint, 0, 0, 1, 3));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "0: 1.500000 text -7\n1: 1.500000 text -7\n2: 1.500000 text -7\n");
}

TEST_F(SystemCalls, PrintfOfManyThreadsKeepsLinesWhole) {
  testing::internal::CaptureStdout();
  EXPECT_CUDA(Run(kPrint, 0, 0, 50, 20));
  const std::string out = testing::internal::GetCapturedStdout();
  std::vector<int> seen(1000);
  size_t at = 0;
  while (at < out.size()) {
    const size_t end = out.find('\n', at);
    ASSERT_NE(end, std::string::npos);
    const std::string line = out.substr(at, end - at);
    const int i = std::stoi(line);
    ASSERT_EQ(line, std::to_string(i) + ": 1.500000 text -7");
    ++seen[static_cast<size_t>(i)];
    at = end + 1;
  }
  EXPECT_THAT(seen, testing::Each(1));
}

TEST_F(SystemCalls, PrintfGivesTheNumberOfItsArguments) {
  const CUdeviceptr out = NewWords(1);
  testing::internal::CaptureStdout();
  EXPECT_CUDA(Run(kPrint + std::string("st.global.u32 [%a], %r5;"), out, 0, 1, 1));
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(ReadWords(out, 1)[0], 4U);
}

constexpr char kAssert[] = R"(
    setp.lt.u32 %p1, %i, %n; @%p1 bra FINE;
    mov.u64 %l1, condition; cvta.global.u64 %l1, %l1; mov.u64 %l2, file; cvta.global.u64 %l2, %l2;
    mov.u64 %l3, name; cvta.global.u64 %l3, %l3;
    { .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 s;
      st.param.b64 [m], %l1; st.param.b64 [f], %l2; st.param.b32 [l], 19; st.param.b64 [n], %l3; st.param.b64 [s], 1;
      call.uni __assertfail, (m, f, l, n, s); }
    FINE:)";

TEST_F(SystemCalls, FailedAssertionsPrintAndFailTheLaunch) {
  for (const std::string wait : {"", "bar.sync 0;\n"}) {
    testing::internal::CaptureStderr();
    // The others of the block go on. One block: of several, whichever fails first keeps the others from beginning.
    EXPECT_EQ(Run(wait + kAssert, 0, 5, 1, 32), CUDA_ERROR_ASSERT);
    const std::string told = testing::internal::GetCapturedStderr();
    for (int thread = 0; thread < 32; ++thread) {
      const std::string line =
          "a.cu:19: void k(): block: [0,0,0], thread: [" + std::to_string(thread) + ",0,0] Assertion `i < n` failed.\n";
      EXPECT_EQ(told.find(line) != std::string::npos, thread >= 5) << told;
    }
    EXPECT_THAT(told, HasSubstr("cpu device: a failed assertion in kernel k, block (0,0,0), thread (5,0,0); every"));
    EXPECT_EQ(Api().CtxSynchronize(), CUDA_ERROR_ASSERT) << "sticky";
    TearDown();
    SetUp();
  }
}

TEST_F(SystemCalls, AThousandFailedAssertionsPrintAHundred) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(Run(kAssert, 0, 0, 1, 1024), CUDA_ERROR_ASSERT);
  const std::string told = testing::internal::GetCapturedStderr();
  size_t lines = 0;
  for (size_t at = 0; (at = told.find("failed.\n", at)) != std::string::npos; ++at) ++lines;
  EXPECT_EQ(lines, 100U);
  EXPECT_THAT(told, HasSubstr("more than 100 threads of a launch fail; the others are not told of\n"));
}

TEST_F(SystemCalls, ATrapNamesItsThread) {
  for (const std::string wait : {"", "bar.sync 0;\n"}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(Run(wait + "setp.eq.u32 %p1, %i, 37; @%p1 trap;", 0, 0, 2, 32), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                HasSubstr("cpu device: a trap in kernel k, block (1,0,0), thread (5,0,0); every later call"));
    TearDown();
    SetUp();
  }
}

// What only the hardware notices: where threads wait for each other, the block is known.
TEST_F(SystemCalls, AnIllegalAccessNamesItsBlock) {
  if (GetSettings().check.memory) GTEST_SKIP() << "is kept from it";
  testing::internal::CaptureStderr();
  EXPECT_EQ(Run("bar.sync 0; setp.eq.u32 %p1, %i, 37; @%p1 st.global.u32 [%a], 0;", 64, 0, 2, 32),
            CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      HasSubstr("cpu device: illegal access at 0x40 in kernel k, block (1,0,0); every later call on its context "
                "fails (SLIPWAY_CPU_CHECK=memory tells of the thread and the place)\n"));
}

constexpr char kMalloc[] = R"(
  { .param .b64 r; .param .b64 b; st.param.b64 [b], %l1; call.uni (r), malloc, (b); ld.param.b64 %l2, [r]; })";
constexpr char kFree[] = "{ .param .b64 p; st.param.b64 [p], %l2; call.uni free, (p); }";

TEST_F(SystemCalls, MallocGivesEachThreadMemoryOfItsOwn) {
  const CUdeviceptr out = NewWords(64);
  EXPECT_CUDA(Run("mov.u64 %l1, 100;" + std::string(kMalloc) + R"(
    st.u32 [%l2], %i; st.u32 [%l2+96], %i; mul.wide.u32 %l3, %i, 4; add.s64 %l3, %l3, %a;
    ld.u32 %r3, [%l2]; ld.u32 %r4, [%l2+96]; add.u32 %r3, %r3, %r4; st.global.u32 [%l3], %r3;)" +
                      kFree,
                  out, 0, 2, 32));
  const std::vector<uint32_t> words = ReadWords(out, 64);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(words[i], 2 * i);
}

TEST_F(SystemCalls, TheHeapHas8MiBAndIsTheContexts) {
  const CUdeviceptr out = NewWords(2);
  // Pieces of 1 MiB until there are no more; none is freed.
  const std::string take = "mov.u64 %l1, 1048576; mov.u32 %r3, 0;\nAGAIN:" + std::string(kMalloc) + R"(
    setp.eq.s64 %p1, %l2, 0; @%p1 bra DONE; add.u32 %r3, %r3, 1; bra AGAIN;
    DONE: st.global.u32 [%a], %r3;)";
  EXPECT_CUDA(Run(take, out, 0, 1, 1));
  EXPECT_EQ(ReadWords(out, 1)[0], 8U);
  EXPECT_CUDA(Run(take, out, 0, 1, 1));
  EXPECT_EQ(ReadWords(out, 1)[0], 0U) << "nothing was given back";
  TearDown();
  SetUp();
  const CUdeviceptr next = NewWords(2);
  EXPECT_CUDA(Run(take, next, 0, 1, 1));
  EXPECT_EQ(ReadWords(next, 1)[0], 8U) << "a new context has a new heap";
}

constexpr CUlimit kUnsupported[] = {CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH,
                                    CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT,
                                    CU_LIMIT_PERSISTING_L2_CACHE_SIZE,
                                    CU_LIMIT_SHMEM_SIZE,
                                    CU_LIMIT_CIG_ENABLED,
                                    CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED};

TEST_F(SystemCalls, LimitsOfAContext) {
  const auto get = [](CUlimit limit) {
    size_t value = 0;
    EXPECT_CUDA(Api().CtxGetLimit(&value, limit));
    return value;
  };
  // What GPUs have before anything is set (CUDA C++ Programming Guide, "Formatted Output", "Heap Memory Allocation").
  EXPECT_EQ(get(CU_LIMIT_STACK_SIZE), 1024U);
  EXPECT_EQ(get(CU_LIMIT_PRINTF_FIFO_SIZE), size_t{1} << 20);
  EXPECT_EQ(get(CU_LIMIT_MALLOC_HEAP_SIZE), size_t{8} << 20);
  EXPECT_EQ(get(CU_LIMIT_MAX_L2_FETCH_GRANULARITY), 64U);

  EXPECT_CUDA(Api().CtxSetLimit(CU_LIMIT_STACK_SIZE, 5000));
  EXPECT_EQ(get(CU_LIMIT_STACK_SIZE), 5008U);
  EXPECT_CUDA(Api().CtxSetLimit(CU_LIMIT_STACK_SIZE, 512 << 10));
  EXPECT_EQ(Api().CtxSetLimit(CU_LIMIT_STACK_SIZE, (512 << 10) + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get(CU_LIMIT_STACK_SIZE), size_t{512} << 10);
  EXPECT_CUDA(Api().CtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 2 << 20));
  EXPECT_EQ(get(CU_LIMIT_PRINTF_FIFO_SIZE), size_t{2} << 20);
  EXPECT_CUDA(Api().CtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 1000));
  EXPECT_EQ(get(CU_LIMIT_MALLOC_HEAP_SIZE), 1008U);
  EXPECT_CUDA(Api().CtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 1000));
  EXPECT_EQ(get(CU_LIMIT_MAX_L2_FETCH_GRANULARITY), 128U);
  for (const CUlimit limit : {CU_LIMIT_PRINTF_FIFO_SIZE, CU_LIMIT_MALLOC_HEAP_SIZE}) {
    EXPECT_EQ(Api().CtxSetLimit(limit, size_t{256} << 20), CUDA_SUCCESS);
    EXPECT_EQ(Api().CtxSetLimit(limit, (size_t{256} << 20) + 1), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(Api().CtxSetLimit(limit, ~size_t{0}), CUDA_ERROR_OUT_OF_MEMORY);
  }

  size_t value = 0;
  for (const CUlimit limit : kUnsupported) {
    EXPECT_EQ(Api().CtxSetLimit(limit, 1), CUDA_ERROR_UNSUPPORTED_LIMIT) << limit;
    EXPECT_EQ(Api().CtxGetLimit(&value, limit), CUDA_ERROR_UNSUPPORTED_LIMIT) << limit;
  }
  for (const int none : {-1, 10, 1000}) {
    EXPECT_EQ(Api().CtxSetLimit(static_cast<CUlimit>(none), 1), CUDA_ERROR_INVALID_VALUE) << none;
    EXPECT_EQ(Api().CtxGetLimit(&value, static_cast<CUlimit>(none)), CUDA_ERROR_INVALID_VALUE) << none;
  }
  EXPECT_EQ(Api().CtxGetLimit(nullptr, CU_LIMIT_STACK_SIZE), CUDA_ERROR_INVALID_VALUE);
  ASSERT_CUDA(Api().CtxPopCurrent(nullptr));
  EXPECT_EQ(Api().CtxSetLimit(CU_LIMIT_STACK_SIZE, 1024), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(Api().CtxGetLimit(&value, CU_LIMIT_STACK_SIZE), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_CUDA(Api().CtxPushCurrent(context_));
  TearDown();
  SetUp();
  EXPECT_EQ(get(CU_LIMIT_STACK_SIZE), 1024U) << "a new context's own";
}

TEST_F(SystemCalls, TheHeapHasTheSizeThatWasSetBeforeAKernelUsesIt) {
  EXPECT_CUDA(Api().CtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 3 << 20));
  const CUdeviceptr out = NewWords(2);
  EXPECT_CUDA(Run("st.global.u32 [%a], 1;", out, 0, 1, 1));
  EXPECT_CUDA(Api().CtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 5 << 20)) << "that kernel asks for no memory";
  EXPECT_CUDA(Run("mov.u64 %l1, 1048576; mov.u32 %r3, 0;\nAGAIN:" + std::string(kMalloc) + R"(
    setp.eq.s64 %p1, %l2, 0; @%p1 bra DONE; add.u32 %r3, %r3, 1; bra AGAIN;
    DONE: st.global.u32 [%a], %r3;)",
                  out, 0, 1, 1));
  EXPECT_EQ(ReadWords(out, 1)[0], 5U);
  EXPECT_EQ(Api().CtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 8 << 20), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(Api().CtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20)) << "nothing has printed";
}

TEST_F(SystemCalls, AKernelThatCallsItselfHasTheStackThatIsAskedFor) {
  // It goes 3,000 calls deep; whoever waits for it has little stack, and would run it otherwise.
  const std::string text =
      ".version 7.8\n.target sm_75\n.address_size 64\n"
      ".func (.param .b64 r) sum(.param .b64 n)\n{\n"
      ".reg .pred %p; .reg .b64 %l<4>; ld.param.b64 %l0, [n]; setp.eq.s64 %p, %l0, 0; @%p bra END; sub.s64 %l1, %l0, "
      "1;\n"
      "{ .param .b64 x; .param .b64 y; st.param.b64 [x], %l1; call (y), sum, (x); ld.param.b64 %l2, [y]; }\n"
      "add.s64 %l0, %l0, %l2;\nEND: st.param.b64 [r], %l0; ret;\n}\n"
      ".visible .entry k(.param .u64 out)\n{\n"
      ".reg .b64 %l<4>; ld.param.b64 %l0, [out]; mov.u64 %l1, 3000;\n"
      "{ .param .b64 x; .param .b64 y; st.param.b64 [x], %l1; call (y), sum, (x); ld.param.b64 %l2, [y]; }\n"
      "st.global.b64 [%l0], %l2; ret;\n}\n";
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_CUDA(Api().ModuleLoadDataEx(&module, text.c_str(), 0, nullptr, nullptr));
  ASSERT_CUDA(Api().ModuleGetFunction(&function, module, "k"));
  AssembleAfterTests(text);
  ASSERT_CUDA(Api().CtxSetLimit(CU_LIMIT_STACK_SIZE, 256 << 10));
  const CUdeviceptr out = NewWords(2);
  CUstream stream = NewStream();
  LaunchBuffer buffer(out);
  ASSERT_CUDA(Api().LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, buffer.extra()));
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 128 << 10), 0);
  const auto wait = [](void* handle) -> void* {
    return reinterpret_cast<void*>(static_cast<intptr_t>(Api().StreamSynchronize(static_cast<CUstream>(handle))));
  };
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, wait, stream), 0);
  pthread_attr_destroy(&attributes);
  void* result = nullptr;
  ASSERT_EQ(pthread_join(thread, &result), 0);
  EXPECT_EQ(reinterpret_cast<intptr_t>(result), CUDA_SUCCESS);
  EXPECT_EQ(ReadWords(out, 1)[0], 3000U * 3001 / 2);
}

TEST_F(SystemCalls, WhatIsPrintedFirstIsLostWhereTheBufferIsFull) {
  EXPECT_CUDA(Api().CtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 50));  // Two lines of 20 bytes.
  testing::internal::CaptureStdout();
  EXPECT_CUDA(Run(kPrint, 0, 0, 1, 10));
  EXPECT_CUDA(Run(kPrint, 0, 0, 1, 1));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "8: 1.500000 text -7\n9: 1.500000 text -7\n0: 1.500000 text -7\n");
  EXPECT_EQ(Api().CtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(Api().CtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 8 << 20)) << "nothing has asked for memory";
}

TEST_F(SystemCalls, LocalMemoryIsLocalToTheFunctionsThatItIsGivenTo) {  // isspacep of a caller's variable.
  for (const std::string wait : {"", "bar.sync 0;"}) {
    const CUdeviceptr out = NewWords(64);
    EXPECT_CUDA(Run(R"(
      .local .align 8 .b8 depot[32]; mov.u64 %l1, depot; cvta.local.u64 %l1, %l1; add.s64 %l1, %l1, 31;)" +
                        wait + R"(
      { .param .b32 r; .param .b64 p; st.param.b64 [p], %l1; call (r), spaces, (p); ld.param.b32 %r3, [r]; }
      { .param .b32 r; .param .b64 p; st.param.b64 [p], %a; call (r), spaces, (p); ld.param.b32 %r4, [r]; }
      mad.lo.u32 %r3, %r4, 16, %r3; mul.wide.u32 %l3, %i, 4; add.s64 %l3, %l3, %a; st.global.u32 [%l3], %r3;)",
                    out, 0, 1, 64));
    EXPECT_THAT(ReadWords(out, 64), testing::Each(0x21U)) << wait;
  }
}

TEST_F(SystemCalls, FreeingWhatMallocDidNotGiveFailsTheLaunch) {
  const CUdeviceptr out = NewWords(2);
  EXPECT_EQ(Run("mov.u64 %l2, %a;" + std::string(kFree), out, 0, 1, 1), CUDA_ERROR_LAUNCH_FAILED);
}

}  // namespace
}  // namespace slipway::cpu
