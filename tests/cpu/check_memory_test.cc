// SLIPWAY_CPU_CHECK=memory: what memory may be used, when, and what is told of the rest.
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "driver/cpu/arena.h"
#include "driver/cpu/freed_ranges.h"
#include "driver/cpu/object_cache.h"
#include "driver/cpu/settings.h"
#include "driver/cpu/system/device_heap.h"
#include "driver/cpu/testing.h"
#include "tests/cpu/check_fixture.h"

namespace slipway::cpu {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const bool check_is_set = [] {
  setenv("SLIPWAY_CPU_CHECK", "memory", /*overwrite=*/1);
  return true;
}();

// A kernel `k` with parameters %a, %b (.u64), i = its place in the grid, and these instructions.
std::string Kernel(const std::string& body, const std::string& before = "") {
  return before + R"(
.visible .entry k(.param .u64 pa, .param .u64 pb)
{
  .reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %l<20>; .reg .b64 %a, %b; .reg .b32 %i;
  ld.param.u64 %a, [pa]; ld.param.u64 %b, [pb];
  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %i, %tid.x; mad.lo.u32 %i, %r0, %r1, %i;
)" + body +
         "\nret;\n}\n";
}
constexpr char kRead[] = "ld.global.u32 %r2, [%a];";
// words[i] = i
constexpr char kFill[] = "mul.wide.u32 %l1, %i, 4; add.s64 %l1, %l1, %a; st.global.u32 [%l1], %i;";

class CheckMemory : public CheckTest {
 protected:
  std::string ToldOf(const std::string& body, CUdeviceptr a, CUdeviceptr b = 0, const Shape& shape = {}) {
    return Told(CUDA_ERROR_ILLEGAL_ADDRESS, Load(Kernel(body)), shape, a, b);
  }
};

// Another device's memory is there for contexts that are its peers.
TEST_F(CheckMemory, OfAnotherDeviceWantsPeerAccess) {
  CUcontext other = nullptr;
  ASSERT_CUDA(Api().DevicePrimaryCtxRetain(&other, 1));
  ASSERT_CUDA(Api().CtxPushCurrent(other));
  const CUdeviceptr memory = Allocate(4096);
  CUdeviceptr managed = 0;
  ASSERT_CUDA(Api().MemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
  ASSERT_CUDA(Api().CtxPopCurrent(nullptr));
  EXPECT_THAT(ToldOf(kRead, memory), HasSubstr("0 bytes inside a 4096-byte allocation of device 1, which this context "
                                               "has no access to"));
  const CUfunction read = Load(Kernel(kRead));
  EXPECT_CUDA(Run(read, {}, managed, managed)) << "anybody's";
  ASSERT_CUDA(Api().CtxEnablePeerAccess(other, 0));
  EXPECT_CUDA(Run(read, {}, memory, memory));
  EXPECT_CUDA(Run(read, {}, memory + 4092, memory));
  // That of one context is not that of the next.
  Renew();
  EXPECT_THAT(ToldOf(kRead, memory), HasSubstr("has no access to"));
  EXPECT_CUDA(Api().DevicePrimaryCtxRelease(1));
}

TEST_F(CheckMemory, SaysWhereAnAddressIs) {
  CUdeviceptr memory = Allocate(1000);
  EXPECT_EQ(
      ToldOf(kRead, memory + 1012),
      absl::StrCat("slipway: cpu device: invalid global read of size 4 at ", Hex(memory + 1012),
                   ", 12 bytes past the end of a 1000-byte allocation\n"
                   "  kernel k, block (0,0,0), thread (0,0,0), line 10 of the PTX\n"
                   "slipway: cpu device: an invalid access in kernel k, block (0,0,0), thread (0,0,0); every later "
                   "call on its context fails\n"));
  memory = Allocate(1000);
  EXPECT_THAT(ToldOf(kRead, memory + 1000), HasSubstr(", at the end of a 1000-byte allocation\n"));
  memory = Allocate(1000);
  EXPECT_THAT(ToldOf(kRead, memory - 4), HasSubstr(", 4 bytes before a 1000-byte allocation\n"));
  memory = Allocate(1000);
  EXPECT_THAT(ToldOf(kRead, memory - 1), HasSubstr(", 1 byte before a 1000-byte allocation\n"));
  memory = Allocate(1001);
  EXPECT_THAT(ToldOf(kRead, memory + 1000), HasSubstr(", 1000 bytes inside a 1001-byte allocation\n"))
      << "its end is not";
  for (const auto& [bytes, words] : {std::pair(11, "an 11-byte "), std::pair(80, "an 80-byte "),
                                     std::pair(110, "a 110-byte "), std::pair(18000, "an 18000-byte ")}) {
    memory = Allocate(static_cast<size_t>(bytes));
    EXPECT_THAT(ToldOf(kRead, memory - 4), HasSubstr(words));
  }
  memory = Allocate(1000);
  EXPECT_THAT(ToldOf(kRead, memory + (1 << 20)), HasSubstr(", 1047576 bytes past the end of a 1000-byte allocation\n"));
  Allocate(16);
  EXPECT_THAT(ToldOf(kRead, 0), HasSubstr(" at 0x0, a null pointer\n"));
  EXPECT_THAT(ToldOf(kRead, 24), HasSubstr(" at 0x18, 24 bytes from a null pointer\n"));
  uint32_t here = 0;
  EXPECT_THAT(ToldOf(kRead, reinterpret_cast<CUdeviceptr>(&here)), HasSubstr(", which is no memory of the device\n"));
  EXPECT_THAT(ToldOf(kRead, ~uint64_t{3}), HasSubstr(" at 0xfffffffffffffffc, which is no memory of the device\n"));
}

TEST_F(CheckMemory, TheWrongStateSpace) {
  EXPECT_THAT(
      ToldOf(".shared .align 4 .b8 s[8]; mov.u64 %l0, s; cvta.shared.u64 %l0, %l0; ld.global.u32 %r2, [%l0];", 0),
      HasSubstr(", which is shared memory of the block\n"));
  EXPECT_THAT(ToldOf(".local .align 4 .b8 d[8]; mov.u64 %l0, d; cvta.local.u64 %l0, %l0; ld.global.u32 %r2, [%l0];", 0),
              HasSubstr(", which is local memory of the thread\n"));
  EXPECT_THAT(ToldOf("ld.local.u32 %r2, [%a];", Allocate(8)), HasSubstr(", which is no local memory of the thread\n"));
  EXPECT_THAT(ToldOf("ld.const.u32 %r2, [%a];", Allocate(8)),
              HasSubstr(", 0 bytes inside an 8-byte allocation, which is no constant memory\n"));
}

TEST_F(CheckMemory, NeighboursLieApart) {
  std::vector<CUdeviceptr> all;
  for (int i = 0; i < 16; ++i) all.push_back(Allocate(256));
  // One step too far is nobody else's.
  for (size_t i = 1; i < all.size(); ++i) EXPECT_GE(all[i] > all[0] ? all[i] - all[0] : all[0] - all[i], 512U);
  EXPECT_THAT(ToldOf(kFill, all[3], 0, {.grid = 1, .block = {65, 1}}),
              AllOf(HasSubstr("invalid global write of size 4"), HasSubstr("at the end of a 256-byte allocation"),
                    HasSubstr("thread (64,0,0)")));
}

TEST_F(CheckMemory, MemoryOfTheHost) {
  void* pinned = nullptr;
  ASSERT_CUDA(Api().MemAllocHost(&pinned, 128));
  const auto address = reinterpret_cast<CUdeviceptr>(pinned);
  EXPECT_CUDA(Run(Load(Kernel(kFill)), {.grid = 1, .block = {32, 1}}, address, uint64_t{0}));
  EXPECT_EQ(static_cast<uint32_t*>(pinned)[31], 31U);
  EXPECT_THAT(ToldOf(kRead, address + 128), HasSubstr(", at the end of a 128-byte allocation of the host\n"));
}

TEST_F(CheckMemory, UseAfterFree) {
  CUdeviceptr memory = Allocate(4096);
  ASSERT_CUDA(Api().MemFree(memory));
  EXPECT_NE(Allocate(4096), memory) << "kept back";
  EXPECT_THAT(ToldOf(kRead, memory + 8), HasSubstr(", 8 bytes inside a 4096-byte allocation that was freed\n"));
  // After a kernel that has used it while it was there.
  memory = Allocate(4096);
  CUfunction fill = Load(Kernel(kFill));
  EXPECT_CUDA(Run(fill, {.grid = 1, .block = {32, 1}}, memory, uint64_t{0}));
  ASSERT_CUDA(Api().MemFree(memory));
  EXPECT_THAT(Told(CUDA_ERROR_ILLEGAL_ADDRESS, fill, {.grid = 1, .block = {32, 1}}, memory, uint64_t{0}),
              HasSubstr("a 4096-byte allocation that was freed\n"));
}

TEST_F(CheckMemory, FreesCountInStreamOrder) {
  CUstream stream = NewStream();
  CUdeviceptr memory = 0;
  ASSERT_CUDA(Api().MemAllocAsync(&memory, 4096, stream));
  CUfunction fill = Load(Kernel(kFill));
  LaunchBuffer buffer(memory, uint64_t{0});
  const auto launch = [&] { return Api().LaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, buffer.extra()); };
  // What was queued before the free may use it, also when the free has been asked for before it ran.
  volatile uint32_t* flag = NewFlag();
  ASSERT_CUDA(LaunchSpin(flag, stream));
  ASSERT_CUDA(launch());
  ASSERT_CUDA(Api().MemFreeAsync(memory, stream));
  *flag = 1;
  EXPECT_CUDA(Api().StreamSynchronize(stream));
  testing::internal::CaptureStderr();
  EXPECT_CUDA(launch());
  EXPECT_EQ(Api().StreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("a 4096-byte allocation that was freed\n"));
}

TEST_F(CheckMemory, VariablesOfModules) {
  const std::string variables =
      ".visible .global .align 4 .u32 before[4];\n.visible .global .align 4 .u32 after[4] = {1, 2, 3, 4};\n"
      ".visible .const .align 4 .u32 table[4] = {5, 6, 7, 8};\n";
  const std::string name = "mov.u64 %l0, before; mov.u64 %l2, after; mov.u64 %l3, table; ";
  CUfunction by_index =
      Load(Kernel(name + "add.s64 %l0, %l0, %b; ld.global.u32 %r2, [%l0]; st.global.u32 [%a], %r2;", variables));
  const CUdeviceptr out = NewWords(1);
  EXPECT_CUDA(Run(by_index, {}, out, uint64_t{12}));
  EXPECT_THAT(Told(CUDA_ERROR_ILLEGAL_ADDRESS, by_index, {}, out, uint64_t{20}),
              HasSubstr(", 4 bytes past the end of variable before of 16 bytes\n"));
  // Constant memory is read from, and by ld.const alone from beyond a cvta.
  CUfunction constant =
      Load(Kernel(name + "add.s64 %l3, %l3, %b; ld.const.u32 %r2, [%l3]; st.global.u32 [%a], %r2;", variables));
  const CUdeviceptr next = NewWords(1);
  EXPECT_CUDA(Run(constant, {}, next, uint64_t{12}));
  EXPECT_EQ(ReadWords(next, 1)[0], 8U);
  EXPECT_THAT(Told(CUDA_ERROR_ILLEGAL_ADDRESS, constant, {}, next, uint64_t{16}),
              HasSubstr("invalid constant read of size 4"));
  CUfunction write = Load(Kernel(name + "cvta.const.u64 %l3, %l3; ld.u32 %r2, [%l3]; st.u32 [%l3], %r2;", variables));
  EXPECT_THAT(Told(CUDA_ERROR_ILLEGAL_ADDRESS, write, {}, uint64_t{0}, uint64_t{0}),
              AllOf(HasSubstr("invalid write of size 4"), HasSubstr(", 0 bytes inside constant table of 16 bytes\n")));
  // One module's variable may be used by another's kernel.
  CUfunction other = Load(Kernel(kFill));
  CUmodule module = nullptr;
  ASSERT_CUDA(Api().ModuleLoadDataEx(&module, kTestPtx, 0, nullptr, nullptr));
  CUdeviceptr counter = 0;
  ASSERT_CUDA(Api().ModuleGetGlobal(&counter, nullptr, module, "counter"));
  EXPECT_CUDA(Run(other, {}, counter, uint64_t{0}));
  ASSERT_CUDA(Api().ModuleUnload(module));
  EXPECT_THAT(Told(CUDA_ERROR_ILLEGAL_ADDRESS, other, {}, counter, uint64_t{0}), HasSubstr("that was freed\n"));
}

// The second is linked from the code that was made for the first.
TEST_F(CheckMemory, ModulesOfOneTextAreCheckedEachByItsOwnVariables) {
  const std::string text =
      Kernel("mov.u64 %l0, own; st.global.u64 [%a], %l0; add.s64 %l0, %l0, %b; st.global.u32 [%l0], 1;",
             ".visible .global .align 8 .u32 own[4];\n");
  CUfunction functions[2];
  functions[0] = Load(text);
  const uint64_t hits = ObjectCacheForTesting().counts().hits;
  functions[1] = Load(text);
  EXPECT_EQ(ObjectCacheForTesting().counts().hits, hits + 1);
  const CUdeviceptr out = NewWords(2);
  uint64_t addresses[2];
  for (int i = 0; i < 2; ++i) {
    EXPECT_CUDA(Run(functions[i], {}, out, uint64_t{12}));
    EXPECT_CUDA(Api().MemcpyDtoH(&addresses[i], out, sizeof(addresses[i])));
  }
  EXPECT_NE(addresses[0], addresses[1]);
  EXPECT_THAT(Told(CUDA_ERROR_ILLEGAL_ADDRESS, functions[1], {}, out, uint64_t{16}),
              HasSubstr("invalid global write of size 4 at " + Hex(addresses[1] + 16) +
                        ", at the end of variable own of 16 bytes\n  kernel k, block (0,0,0), thread (0,0,0), line "));
}

TEST_F(CheckMemory, DynamicSharedMemory) {
  for (const char* wait : {"", "bar.sync 0;"}) {
    CUfunction function = Load(Kernel(std::string(".shared .align 4 .b8 own[16]; mov.u64 %l0, dynamic; mov.u64 %l2, "
                                                  "own; st.shared.u32 [%l2], %i; add.s64 %l0, %l0, %a;") +
                                          wait + "st.shared.u32 [%l0], %i;",
                                      ".extern .shared .align 4 .b8 dynamic[];\n"));
    EXPECT_CUDA(Run(function, {.shared = 64}, uint64_t{60}, uint64_t{0}));
    EXPECT_CUDA(Run(function, {.shared = 128}, uint64_t{124}, uint64_t{0}));
    EXPECT_THAT(
        Told(CUDA_ERROR_ILLEGAL_ADDRESS, function, {.shared = 64}, uint64_t{72}, uint64_t{0}),
        HasSubstr(
            "invalid shared write of size 4 at 0x58, 8 bytes past the end of the block's 80 bytes of shared memory\n"));
  }
  EXPECT_THAT(
      ToldOf(".shared .align 4 .b8 own[16]; mov.u64 %l0, own; cvt.u32.u64 %r3, %l0; sub.u32 %r3, %r3, 8; st.shared.u32 "
             "[%r3], %i;",
             0),
      HasSubstr(
          "invalid shared write of size 4 at 0xfffffff8, 8 bytes before the block's 16 bytes of shared memory\n"));
}

constexpr char kMallocDeclarations[] =
    ".extern .func (.param .b64 r) malloc(.param .b64 bytes);\n.extern .func free(.param .b64 p);\n";
constexpr char kMalloc[] =
    "{ .param .b64 r; .param .b64 b; st.param.b64 [b], 40; call.uni (r), malloc, (b); ld.param.b64 %l2, [r]; }\n";
constexpr char kFree[] = "{ .param .b64 p; st.param.b64 [p], %l2; call.uni free, (p); }\n";

TEST_F(CheckMemory, MemoryOfMalloc) {
  const auto kernel = [&](const std::string& body) { return Load(Kernel(kMalloc + body, kMallocDeclarations)); };
  const Shape many{.grid = 4, .block = {64, 1}};
  for (const char* wait : {"", "bar.sync 0;"}) {
    CUdeviceptr out = NewWords(256);
    CUfunction right = kernel(
        std::string("st.u32 [%l2], %i; st.u32 [%l2+36], %i;") + wait +
        "ld.u32 %r2, [%l2+36]; mul.wide.u32 %l1, %i, 4; add.s64 %l1, %l1, %a; st.global.u32 [%l1], %r2;" + kFree);
    EXPECT_CUDA(Run(right, many, out, uint64_t{0}));
    const std::vector<uint32_t> words = ReadWords(out, 256);
    for (uint32_t i = 0; i < 256; ++i) EXPECT_EQ(words[i], i);
  }
  EXPECT_THAT(Told(CUDA_ERROR_ILLEGAL_ADDRESS, kernel("st.u32 [%l2+44], %i;"), {}, uint64_t{0}, uint64_t{0}),
              HasSubstr(", 4 bytes past the end of a 40-byte block of malloc\n"));
  EXPECT_THAT(Told(CUDA_ERROR_ILLEGAL_ADDRESS, kernel("st.u32 [%l2], %i;" + std::string(kFree) + "st.u32 [%l2+4], %i;"),
                   {}, uint64_t{0}, uint64_t{0}),
              HasSubstr(", 4 bytes inside a 40-byte block of malloc that was freed\n"));
  EXPECT_THAT(Told(CUDA_ERROR_LAUNCH_FAILED, kernel(std::string(kFree) + kFree), {}, uint64_t{0}, uint64_t{0}),
              AllOf(HasSubstr("cpu device: double free of 0x"),
                    HasSubstr("\n  kernel k, block (0,0,0), thread (0,0,0), line ")));
  EXPECT_THAT(
      Told(CUDA_ERROR_LAUNCH_FAILED, kernel("add.s64 %l2, %l2, 8;" + std::string(kFree)), {}, uint64_t{0}, uint64_t{0}),
      AllOf(HasSubstr("cpu device: invalid free of 0x"), HasSubstr(", which malloc did not give\n")));
  // An address that the same instruction has found good before is looked at again after a free.
  const std::string again =
      std::string("mov.u32 %r3, 0;\nAGAIN: st.u32 [%l2], %i; setp.eq.u32 %p0, %r3, 1; @%p0 bra DONE;\n") + kFree +
      "mov.u32 %r3, 1; bra AGAIN;\nDONE:";
  EXPECT_THAT(Told(CUDA_ERROR_ILLEGAL_ADDRESS, kernel(again), {}, uint64_t{0}, uint64_t{0}),
              HasSubstr("that was freed\n"));
}

TEST_F(CheckMemory, TheHeapOfMallocHasTheSizeThatWasSet) {
  // %b bytes; the address, and by a free the heap's room again, twice.
  const std::string body = R"(
    mov.u32 %r3, 0;
    AGAIN: { .param .b64 r; .param .b64 b; st.param.b64 [b], %b; call.uni (r), malloc, (b); ld.param.b64 %l2, [r]; }
    mul.wide.u32 %l1, %r3, 8; add.s64 %l1, %l1, %a; st.global.u64 [%l1], %l2;
    { .param .b64 p; st.param.b64 [p], %l2; call.uni free, (p); }
    add.u32 %r3, %r3, 1; setp.lt.u32 %p0, %r3, 2; @%p0 bra AGAIN;)";
  EXPECT_CUDA(Api().CtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 4096));
  CUfunction function = Load(Kernel(body, kMallocDeclarations));
  for (const uint64_t bytes : {uint64_t{4096}, uint64_t{4097}}) {
    const CUdeviceptr out = NewWords(4);
    EXPECT_CUDA(Run(function, {}, out, bytes));
    uint64_t addresses[2];
    EXPECT_CUDA(Api().MemcpyDtoH(addresses, out, sizeof(addresses)));
    EXPECT_EQ(addresses[0] != 0, bytes == 4096);
    EXPECT_EQ(addresses[1] != 0, bytes == 4096);
  }
  EXPECT_EQ(Api().CtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 8192), CUDA_ERROR_INVALID_VALUE);
  Renew();  // With a heap of the usual size.
}

TEST_F(CheckMemory, SourceLines) {
  const auto told = [&](const std::string& loc) {
    const std::string text = Kernel("\n" + loc + "\nld.global.u32 %r2, [%a];") + R"(
.file 1 "dir/formula.cc"
.file 2 "square.h", 1700000000, 512
.section .debug_str
{
$info:
.b8 102, 0
}
)";
    return Told(CUDA_ERROR_ILLEGAL_ADDRESS, Load(text), {}, uint64_t{8}, uint64_t{0});
  };
  EXPECT_THAT(told(".loc 1 41 7"), HasSubstr("thread (0,0,0), dir/formula.cc:41\n"));
  EXPECT_THAT(told(".loc 1 41 7\n.loc 2 3 1, function_name $info, inlined_at 1 41 7"),
              HasSubstr(", square.h:3, inlined at dir/formula.cc:41\n"));
  EXPECT_THAT(told(".loc 1 50 1\n.loc 1 41 7, function_name $info, inlined_at 1 50 1\n"
                   ".loc 2 3 1, function_name $info+1, inlined_at 1 41 7"),
              HasSubstr(", square.h:3, inlined at dir/formula.cc:41, inlined at dir/formula.cc:50\n"));
  EXPECT_THAT(told(".loc 1 0 0"), HasSubstr(", line 12 of the PTX\n")) << "no line";
  EXPECT_THAT(told(".loc 1 41 7\n.loc 1 41 7, function_name $info, inlined_at 1 41 7"),
              HasSubstr(", dir/formula.cc:41, inlined at dir/formula.cc:41\n"));
}

TEST_F(CheckMemory, EachThreadIsToldOfUpToAHundred) {
  const CUdeviceptr memory = Allocate(4 * 50);
  const std::string told = ToldOf(kFill, memory, 0, {.grid = 1, .block = {60, 1}});
  for (uint32_t i = 48; i < 60; ++i) {
    EXPECT_EQ(told.find(absl::StrCat("thread (", i, ",0,0), line ")) != std::string::npos, i >= 50) << i;
  }
  const std::string many = ToldOf(kFill, 16, 0, {.grid = 1, .block = {1024, 1}});
  size_t lines = 0;
  for (size_t at = 0; (at = many.find("invalid global write", at)) != std::string::npos; ++at) ++lines;
  EXPECT_EQ(lines, 100U);
  EXPECT_THAT(many, HasSubstr("cpu device: more than 100 threads of a launch fail; the others are not told of\n"));
}

TEST_F(CheckMemory, AnAccessThatIsRefusedIsNotMadeAndOtherThreadsGoOn) {
  for (const char* wait : {"", "bar.sync 0;"}) {
    // Thread 5 writes to b, which is no memory of the device; the others to a.
    uint32_t here = 77;
    const auto b = reinterpret_cast<CUdeviceptr>(&here);
    void* pinned = nullptr;
    ASSERT_CUDA(Api().MemAllocHost(&pinned, 4 * 64));
    std::memset(pinned, 0, 4 * 64);
    CUfunction function =
        Load(Kernel("mul.wide.u32 %l1, %i, 4; add.s64 %l1, %l1, %a; setp.eq.u32 %p0, %i, 5; selp.b64 %l3, %b, %l1, "
                    "%p0; st.global.u32 [%l3], 1;" +
                    std::string(wait) + "st.global.u32 [%l1], 2;"));
    testing::internal::CaptureStderr();
    EXPECT_EQ(Run(function, {.grid = 1, .block = {64, 1}}, reinterpret_cast<CUdeviceptr>(pinned), b),
              CUDA_ERROR_ILLEGAL_ADDRESS);
    testing::internal::GetCapturedStderr();
    EXPECT_EQ(here, 77U);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(static_cast<uint32_t*>(pinned)[i], i == 5 ? 0U : 2U) << i;
    Renew();
  }
}

TEST_F(CheckMemory, WhoWaitsForAThreadThatHasFailedIsNotWaitedFor) {
  // Thread 0 would set the flag that the others wait for.
  const std::string told = ToldOf(R"(
    setp.ne.u32 %p0, %i, 0; @%p0 bra SPIN;
    ld.global.u32 %r2, [%b]; st.volatile.global.u32 [%a], 1; bra DONE;
    SPIN: ld.volatile.global.u32 %r2, [%a]; setp.eq.u32 %p1, %r2, 0; @%p1 bra SPIN;
    DONE:)",
                                  NewWords(1), 8, {.grid = 2, .block = {32, 1}});
  EXPECT_THAT(
      told, AllOf(HasSubstr("block (0,0,0), thread (0,0,0)"), HasSubstr("cpu device: an invalid access in kernel k")));
}

// Of a thread that goes on after another's access was refused, the context's end is the end.
TEST_F(CheckMemory, AKernelThatDoesNotEndIsEndedAfterAnAccessWasRefused) {
  for (const char* wait : {"", "bar.sync 0;"}) {
    void* pinned = nullptr;
    ASSERT_CUDA(Api().MemAllocHost(&pinned, 4));
    auto& started = *static_cast<uint32_t*>(pinned);
    started = 0;
    CUfunction function = Load(Kernel(std::string(wait) + R"(
      setp.ne.u32 %p0, %i, 0; @%p0 bra LOOP; ld.global.u32 %r2, [%b]; bra DONE;
      LOOP: st.volatile.global.u32 [%a], 1; bra LOOP;
      DONE:)"));
    LaunchBuffer buffer(reinterpret_cast<uint64_t>(pinned), uint64_t{8});
    testing::internal::CaptureStderr();
    ASSERT_CUDA(Api().LaunchKernel(function, 1, 1, 1, 2, 1, 1, 0, nullptr, nullptr, buffer.extra()));
    ASSERT_EQ(Api().StreamQuery(nullptr), CUDA_ERROR_NOT_READY);
    while (std::atomic_ref(started).load() == 0) std::this_thread::yield();
    SetTimeToFinishForTesting(1);
    Renew();
    SetTimeToFinishForTesting(5000);
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                AllOf(HasSubstr("invalid global read of size 4 at 0x8, 8 bytes from a null pointer"),
                      HasSubstr("a context was destroyed before its work was done, and ends it: kernel k\n")));
    const CUdeviceptr words = NewWords(64);
    EXPECT_CUDA(Run(Load(Kernel(kFill)), {.grid = 2, .block = {32, 1}}, words, uint64_t{0}));
  }
}

// FC-13: an element that is repeated by a stride of 0, and a kernel that drops the stride.
TEST_F(CheckMemory, ABroadcastElementInAKernelForContiguousData) {
  const std::string text = Kernel(R"(
    mul.wide.u32 %l0, %i, 4; add.s64 %l0, %l0, %b; .reg .b64 %s; ld.param.u64 %s, [stride]; cvt.u64.u32 %l1, %i;
    mul.lo.u64 %l1, %l1, %s; add.s64 %l1, %l1, %a; ld.global.u32 %r2, [%l1]; st.global.u32 [%l0], %r2;)");
  std::string with_stride = text;
  with_stride.replace(text.find(".param .u64 pb)"), 15, ".param .u64 pb, .param .u64 stride)");
  const Shape shape{.grid = 10, .block = {100, 1}};
  CUfunction copy = Load(with_stride);
  const CUdeviceptr one = NewWords(1), out = NewWords(1000), dense = NewWords(1000);
  const uint32_t value = 5;
  ASSERT_CUDA(Api().MemcpyHtoD(one, &value, 4));
  EXPECT_CUDA(Run(copy, shape, dense, out, uint64_t{4}));
  EXPECT_CUDA(Run(copy, shape, one, out, uint64_t{0}));
  EXPECT_THAT(ReadWords(out, 1000), Each(5U));
  EXPECT_THAT(Told(CUDA_ERROR_ILLEGAL_ADDRESS, copy, shape, one, out, uint64_t{4}),
              AllOf(HasSubstr("invalid global read of size 4"), HasSubstr(", at the end of a 4-byte allocation\n"),
                    HasSubstr("thread (1,0,0)"), Not(HasSubstr("block (0,0,0), thread (0,0,0)"))));
}

TEST_F(CheckMemory, LaunchesOfGraphs) {
  CUstream stream = NewStream();
  CUfunction fill = Load(Kernel(kFill));
  CUdeviceptr memory = Allocate(4096);
  LaunchBuffer buffer(memory, uint64_t{0});
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_CUDA(Api().StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  for (int i = 0; i < 2; ++i) {
    ASSERT_CUDA(Api().LaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, buffer.extra()));
  }
  ASSERT_CUDA(Api().StreamEndCapture(stream, &graph));
  ASSERT_CUDA(Api().GraphInstantiateWithFlags(&exec, graph, 0));
  ASSERT_CUDA(Api().GraphLaunch(exec, stream));
  EXPECT_CUDA(Api().StreamSynchronize(stream));
  ASSERT_CUDA(Api().MemFree(memory));
  testing::internal::CaptureStderr();
  ASSERT_CUDA(Api().GraphLaunch(exec, stream));
  EXPECT_EQ(Api().StreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("a 4096-byte allocation that was freed\n"));
}

// Kernels on several streams while other threads allocate and free: nothing is told of what is right.
TEST_F(CheckMemory, WhileOthersAllocateAndFree) {
  CUfunction fill = Load(Kernel(
      std::string(kFill) + "bar.sync 0; ld.global.u32 %r4, [%l1]; add.u32 %r4, %r4, 1; st.global.u32 [%l1], %r4;"));
  constexpr unsigned kBlocks = 64, kThreads = 64, kCount = kBlocks * kThreads;
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  testing::internal::CaptureStderr();
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      Api().CtxPushCurrent(context_);
      while (!stop) {
        CUdeviceptr some[8] = {};
        for (CUdeviceptr& one : some) wrong += Api().MemAlloc(&one, 5000) != CUDA_SUCCESS;
        for (CUdeviceptr& one : some) wrong += Api().MemFree(one) != CUDA_SUCCESS;
      }
      Api().CtxPopCurrent(nullptr);
    });
  }
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      Api().CtxPushCurrent(context_);
      CUstream stream = NewStream();
      for (int round = 0; round < 50; ++round) {
        CUdeviceptr memory = 0;
        wrong += Api().MemAllocAsync(&memory, kCount * 4, stream) != CUDA_SUCCESS;
        LaunchBuffer buffer(memory, uint64_t{0});
        wrong +=
            Api().LaunchKernel(fill, kBlocks, 1, 1, kThreads, 1, 1, 0, stream, nullptr, buffer.extra()) != CUDA_SUCCESS;
        std::vector<uint32_t> words(kCount);
        wrong += Api().MemcpyDtoHAsync(words.data(), memory, kCount * 4, stream) != CUDA_SUCCESS;
        wrong += Api().MemFreeAsync(memory, stream) != CUDA_SUCCESS;
        wrong += Api().StreamSynchronize(stream) != CUDA_SUCCESS;
        for (uint32_t i = 0; i < kCount; ++i) wrong += words[i] != i + 1;
      }
      Api().CtxPopCurrent(nullptr);
    });
  }
  for (size_t t = 2; t < threads.size(); ++t) threads[t].join();
  stop = true;
  for (size_t t = 0; t < 2; ++t) threads[t].join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(CheckMemory, MemoryIsThereToTheLastByte) {
  // What is kept back, and what keeps allocations apart, is not the program's loss.
  size_t free = 0, total = 0;
  for (int round = 0; round < 20; ++round) {
    ASSERT_CUDA(Api().MemGetInfo(&free, &total));
    CUdeviceptr all = 0;
    ASSERT_CUDA(Api().MemAlloc(&all, free));
    ASSERT_CUDA(Api().MemFree(all));
  }
}

TEST(FreedRanges, KeepsBackAndForgets) {
  std::vector<uintptr_t> back;
  const auto give_back = [&](uintptr_t address, size_t) { back.push_back(address); };
  FreedRanges freed(100);
  freed.Add(1000, 30, 40, give_back);
  freed.Add(2000, 30, 40, give_back);
  EXPECT_TRUE(back.empty());
  freed.Add(3000, 30, 40, give_back);
  EXPECT_THAT(back, ElementsAre(1000U)) << "the oldest";
  EXPECT_EQ(freed.Find(1029)->address, 1000U) << "still remembered";
  EXPECT_EQ(freed.Find(1030), nullptr);
  freed.Add(4000, 200, 200, give_back);
  EXPECT_THAT(back, ElementsAre(1000U, 2000U, 3000U, 4000U)) << "too large to be kept at all";
  freed.Add(5000, 8, 8, give_back);
  EXPECT_TRUE(freed.GiveAllBack(give_back));
  EXPECT_FALSE(freed.GiveAllBack(give_back));
  EXPECT_EQ(back.back(), 5000U);
  freed.Forget(1040, 1000);
  EXPECT_NE(freed.Find(1029), nullptr);
  EXPECT_EQ(freed.Find(2010), nullptr) << "given out again, in part";
  for (size_t i = 0; i < 2 * FreedRanges::kMostRanges; ++i) freed.Add(10000 + 16 * i, 0, 1, give_back);
  EXPECT_EQ(freed.Find(5000), nullptr) << "forgotten";
  EXPECT_EQ(back.size(), 5 + 2 * FreedRanges::kMostRanges - 100);
}

TEST(CheckSettings, Values) {
  EXPECT_TRUE(ParseCheck("memory")->memory);
  EXPECT_FALSE(ParseCheck("memory")->call_stack);
  EXPECT_TRUE(ParseCheck("memory,stack")->memory);
  EXPECT_TRUE(ParseCheck("memory,stack")->call_stack);
  for (const char* text : {"", "stack", "Memory", "memory,", "memory,stack,stack", "on", "1"}) {
    EXPECT_FALSE(ParseCheck(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace slipway::cpu
