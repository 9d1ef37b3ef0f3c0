// Allocations, copies and fills.
#include <atomic>
#include <numeric>
#include <thread>

#include "driver/cpu/arena.h"
#include "tests/cpu/api_fixture.h"

namespace slipway::cpu {
namespace {

using ApiMemory = ApiTest;

TEST_F(ApiMemory, AllocationsAreAlignedAndCounted) {
  size_t before = 0, total = 0, after = 0;
  ASSERT_CUDA(Api().MemGetInfo(&before, &total));
  EXPECT_EQ(total, size_t{256} << 20);
  std::vector<CUdeviceptr> addresses;
  for (size_t bytes : {1, 255, 256, 257, 100000}) {
    CUdeviceptr address = 0;
    ASSERT_CUDA(Api().MemAlloc(&address, bytes));
    EXPECT_EQ(address % 256, 0);
    addresses.push_back(address);
  }
  ASSERT_CUDA(Api().MemGetInfo(&after, &total));
  EXPECT_EQ(before - after, 256 + 256 + 256 + 512 + 100096);
  for (CUdeviceptr address : addresses) EXPECT_CUDA(Api().MemFree(address));
  ASSERT_CUDA(Api().MemGetInfo(&after, &total));
  EXPECT_EQ(before, after);
}

TEST_F(ApiMemory, WrongFreesAreRefused) {
  CUdeviceptr address = NewWords(100);
  EXPECT_EQ(Api().MemFree(address + 256), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().MemFree(address + 4), CUDA_ERROR_INVALID_VALUE);
  int on_the_stack = 0;
  EXPECT_EQ(Api().MemFree(reinterpret_cast<CUdeviceptr>(&on_the_stack)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().MemFreeHost(reinterpret_cast<void*>(address)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(Api().MemFree(address));
  EXPECT_EQ(Api().MemFree(address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(Api().MemFree(0));
  EXPECT_EQ(Api().MemAlloc(&address, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().MemAlloc(nullptr, 4), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr variable = 0;
  size_t bytes = 0;
  ASSERT_CUDA(Api().ModuleGetGlobal(&variable, &bytes, Module(), "counter"));
  EXPECT_EQ(Api().MemFree(variable), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ApiMemory, TooMuchIsOutOfMemoryAndLeavesTheRestUsable) {
  CUdeviceptr big = 0, small = 0;
  EXPECT_EQ(Api().MemAlloc(&big, size_t{257} << 20), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(Api().MemAlloc(&big, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_CUDA(Api().MemAlloc(&big, size_t{200} << 20));
  EXPECT_EQ(Api().MemAlloc(&small, size_t{100} << 20), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_CUDA(Api().MemFree(big));
  ASSERT_CUDA(Api().MemAlloc(&small, size_t{100} << 20));
  EXPECT_CUDA(Api().MemFree(small));
}

TEST_F(ApiMemory, CopiesMoveTheBytesTheySay) {
  std::vector<uint32_t> host(1000);
  std::iota(host.begin(), host.end(), 0);
  CUdeviceptr a = NewWords(1000), b = NewWords(1000);
  ASSERT_CUDA(Api().MemcpyHtoD(a, host.data(), 4000));
  ASSERT_CUDA(Api().MemcpyDtoD(b + 400, a, 3600));
  std::vector<uint32_t> read = ReadWords(b, 1000);
  for (uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(read[i], i < 100 ? 0 : i - 100);
  ASSERT_CUDA(Api().MemsetD32(a + 40, 0xDEADBEEF, 5));
  ASSERT_CUDA(Api().MemsetD8(a, 7, 3));
  read = ReadWords(a, 16);
  EXPECT_EQ(read[0], 0x070707u);
  for (uint32_t i = 1; i < 16; ++i) EXPECT_EQ(read[i], i >= 10 && i < 15 ? 0xDEADBEEF : i);
}

TEST_F(ApiMemory, RangesAreChecked) {
  CUdeviceptr a = NewWords(100);
  std::vector<uint32_t> host(200);
  EXPECT_EQ(Api().MemcpyHtoD(a, host.data(), 401), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().MemcpyHtoD(a + 396, host.data(), 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().MemcpyHtoD(a - 4, host.data(), 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().MemcpyHtoD(a, host.data(), SIZE_MAX), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().MemcpyHtoD(0, host.data(), 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().MemcpyHtoD(a, nullptr, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().MemcpyDtoH(host.data(), a + 400, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().MemcpyDtoH(nullptr, a, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().MemcpyDtoD(a, a + 396, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().MemsetD8(a, 0, 401), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().MemsetD32(a, 0, 101), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().MemsetD32(a + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().MemsetD32(a, 0, SIZE_MAX / 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(Api().MemcpyHtoD(a, host.data(), 0));
  EXPECT_CUDA(Api().MemsetD8(a, 0, 0));
  ASSERT_CUDA(Api().MemFree(a));
  EXPECT_EQ(Api().MemcpyHtoD(a, host.data(), 4), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ApiMemory, FreeWaitsForWhatIsQueued) {
  CUdeviceptr words = NewWords(1 << 16), copy = NewWords(1 << 16);
  CUstream stream = NewStream();
  for (int i = 0; i < 20; ++i) ASSERT_CUDA(Launch("add_one", 256, 256, stream, uint64_t{words}, uint32_t{1 << 16}));
  ASSERT_CUDA(Api().MemcpyDtoDAsync(copy, words, 4 << 16, stream));
  ASSERT_CUDA(Api().MemFree(words));
  EXPECT_CUDA(Api().StreamQuery(stream));
  EXPECT_EQ(ReadWords(copy, 1 << 16), std::vector<uint32_t>(1 << 16, 20));
}

TEST_F(ApiMemory, AsynchronousFreeIsInStreamOrder) {
  CUstream stream = NewStream();
  volatile uint32_t* flag = NewFlag();
  CUdeviceptr words = 0, kept = NewWords(64);
  ASSERT_CUDA(Api().MemAllocAsync(&words, 256, stream));
  ASSERT_CUDA(LaunchSpin(flag, stream));
  ASSERT_CUDA(Launch("store", 1, 64, stream, uint64_t{words}, 5u));
  ASSERT_CUDA(Api().MemcpyDtoDAsync(kept, words, 256, stream));
  size_t before = 0, after = 0, total = 0;
  ASSERT_CUDA(Api().MemGetInfo(&before, &total));
  ASSERT_CUDA(Api().MemFreeAsync(words, stream));
  // Gone for the caller at once, and for the device when the stream gets there.
  EXPECT_EQ(Api().MemFreeAsync(words, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().MemFree(words), CUDA_ERROR_INVALID_VALUE);
  ASSERT_CUDA(Api().MemGetInfo(&after, &total));
  EXPECT_EQ(before, after);
  *flag = 1;
  ASSERT_CUDA(Api().StreamSynchronize(stream));
  ASSERT_CUDA(Api().MemGetInfo(&after, &total));
  EXPECT_EQ(after, before + 256);
  EXPECT_EQ(ReadWords(kept, 64), std::vector<uint32_t>(64, 5));
  EXPECT_EQ(Api().MemFreeAsync(kept, reinterpret_cast<CUstream>(0x99)), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ApiMemory, QueuedFreesAreWaitedForBeforeOutOfMemory) {
  CUstream stream = NewStream();
  for (int i = 0; i < 20; ++i) {
    CUdeviceptr big = 0;
    ASSERT_CUDA(Api().MemAllocAsync(&big, size_t{150} << 20, stream));
    ASSERT_CUDA(Api().MemFreeAsync(big, stream));
  }
}

// "The function will return once the pageable buffer has been copied": its memory may be reused at once.
TEST_F(ApiMemory, PageableSourceMayChangeAfterAnAsynchronousCopy) {
  CUstream stream = NewStream();
  volatile uint32_t* flag = NewFlag();
  CUdeviceptr words = NewWords(1024);
  std::vector<uint32_t> host(1024, 7);
  ASSERT_CUDA(LaunchSpin(flag, stream));
  ASSERT_CUDA(Api().MemcpyHtoDAsync(words, host.data(), 4096, stream));
  std::fill(host.begin(), host.end(), 0);
  EXPECT_EQ(Api().StreamQuery(stream), CUDA_ERROR_NOT_READY);
  *flag = 1;
  ASSERT_CUDA(Api().StreamSynchronize(stream));
  EXPECT_EQ(ReadWords(words, 1024), std::vector<uint32_t>(1024, 7));
  // One too large to be staged is done when the call returns.
  std::vector<uint32_t> large(1 << 18, 9);
  CUdeviceptr target = NewWords(1 << 18);
  ASSERT_CUDA(Api().MemcpyHtoDAsync(target, large.data(), 4 << 18, stream));
  EXPECT_CUDA(Api().StreamQuery(stream));
  EXPECT_EQ(ReadWords(target, 1 << 18), large);
  // So is one to pageable memory.
  std::fill(host.begin(), host.end(), 0);
  ASSERT_CUDA(Api().MemcpyDtoHAsync(host.data(), words, 4096, stream));
  EXPECT_EQ(host, std::vector<uint32_t>(1024, 7));
}

TEST_F(ApiMemory, PinnedCopiesAreAsynchronous) {
  CUstream stream = NewStream();
  volatile uint32_t* flag = NewFlag();
  void* pinned = nullptr;
  ASSERT_CUDA(Api().MemAllocHost(&pinned, 4096));
  std::memset(pinned, 0, 4096);
  CUdeviceptr words = NewWords(1024);
  ASSERT_CUDA(Api().MemsetD32(words, 3, 1024));
  ASSERT_CUDA(Api().CtxSynchronize());
  ASSERT_CUDA(LaunchSpin(flag, stream));
  ASSERT_CUDA(Api().MemcpyDtoHAsync(pinned, words, 4096, stream));
  EXPECT_EQ(Api().StreamQuery(stream), CUDA_ERROR_NOT_READY);
  *flag = 1;
  ASSERT_CUDA(Api().StreamSynchronize(stream));
  EXPECT_EQ(static_cast<uint32_t*>(pinned)[1023], 3u);
  EXPECT_EQ(Api().MemFree(reinterpret_cast<CUdeviceptr>(pinned)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(Api().MemFreeHost(pinned));
  EXPECT_EQ(Api().MemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
  // An address that was pinned memory once is nobody's now.
  EXPECT_EQ(Api().MemcpyDtoH(pinned, words, 16), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ApiMemory, PointersTellWhatTheyAre) {
  CUdeviceptr words = NewWords(16);
  CUcontext context = nullptr;
  unsigned type = 0;
  int ordinal = -1;
  CUdeviceptr self = 0;
  EXPECT_CUDA(Api().PointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, words + 8));
  EXPECT_EQ(context, context_);
  EXPECT_CUDA(Api().PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, words));
  EXPECT_EQ(type, 2u);
  EXPECT_CUDA(Api().PointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, words));
  EXPECT_EQ(ordinal, 0);
  EXPECT_CUDA(Api().PointerGetAttribute(&self, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, words + 60));
  EXPECT_EQ(self, words + 60);
  EXPECT_CUDA(
      Api().PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(NewFlag())));
  EXPECT_EQ(type, 1u);
  EXPECT_EQ(Api().PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, words + 64), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Api().PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(&type)),
            CUDA_ERROR_INVALID_VALUE);
}

// The allocator against a list of what is in use: no overlap, and after all the frees one free block again.
TEST(Arena, RandomAllocationsNeverOverlap) {
  constexpr size_t kLimit = size_t{64} << 20;
  Arena arena(kLimit, 1);
  struct Block {
    uintptr_t address;
    size_t bytes;
  };
  std::vector<Block> blocks;
  uint64_t random = 12345;
  auto next = [&] { return (random = random * 6364136223846793005u + 1442695040888963407u) >> 33; };
  size_t granted = 0;
  for (int step = 0; step < 20000; ++step) {
    if (next() % 2 == 0 || blocks.empty()) {
      size_t bytes = 1 + next() % (next() % 50 == 0 ? size_t{1} << 22 : size_t{4096});
      void* memory = arena.Allocate(bytes, 0, 1, Arena::Kind::kDevice);
      if (memory == nullptr) {
        EXPECT_GT(granted + bytes, kLimit / 2);  // Only when it is rather full.
        continue;
      }
      uintptr_t address = reinterpret_cast<uintptr_t>(memory);
      for (const Block& block : blocks) {
        ASSERT_TRUE(address + bytes <= block.address || block.address + block.bytes <= address);
      }
      static_cast<volatile char*>(memory)[0] = 1;  // Both ends can be written.
      static_cast<volatile char*>(memory)[bytes - 1] = 1;
      blocks.push_back({address, bytes});
      granted += (bytes + 255) / 256 * 256;
    } else {
      size_t index = next() % blocks.size();
      ASSERT_TRUE(arena.Find(blocks[index].address, blocks[index].bytes));
      ASSERT_TRUE(arena.BeginFree(blocks[index].address, Arena::Kind::kDevice));
      ASSERT_FALSE(arena.BeginFree(blocks[index].address, Arena::Kind::kDevice));
      ASSERT_FALSE(arena.Find(blocks[index].address, 1));
      arena.Free(blocks[index].address);
      granted -= (blocks[index].bytes + 255) / 256 * 256;
      blocks[index] = blocks.back();
      blocks.pop_back();
    }
    ASSERT_EQ(arena.used(0), granted);
  }
  arena.FreeOwner(1);
  EXPECT_EQ(arena.used(0), 0u);
  EXPECT_NE(arena.Allocate(kLimit, 0, 1, Arena::Kind::kDevice), nullptr);
}

// An allocation that another thread makes while the context goes either fails or goes with it.
TEST_F(ApiMemory, NothingIsLeftOfAContext) {
  for (int round = 0; round < 30; ++round) {
    CUcontext context = nullptr;
    ASSERT_CUDA(Api().DevicePrimaryCtxRetain(&context, 1));
    std::atomic<bool> started{false};
    std::thread thread([&] {
      EXPECT_CUDA(Api().CtxPushCurrent(context));
      CUdeviceptr address = 0;
      CUresult result = CUDA_SUCCESS;
      while (result == CUDA_SUCCESS) {
        result = Api().MemAlloc(&address, 256);
        started = true;
      }
      EXPECT_TRUE(result == CUDA_ERROR_CONTEXT_IS_DESTROYED || result == CUDA_ERROR_OUT_OF_MEMORY) << result;
    });
    while (!started) std::this_thread::yield();
    EXPECT_CUDA(Api().DevicePrimaryCtxRelease(1));
    thread.join();
  }
  CUcontext context = nullptr;
  size_t free = 0, total = 1;
  ASSERT_CUDA(Api().DevicePrimaryCtxRetain(&context, 1));
  ASSERT_CUDA(Api().CtxPushCurrent(context));
  EXPECT_CUDA(Api().MemGetInfo(&free, &total));
  EXPECT_EQ(free, total);
  EXPECT_CUDA(Api().CtxPopCurrent(nullptr));
  EXPECT_CUDA(Api().DevicePrimaryCtxRelease(1));
}

}  // namespace
}  // namespace slipway::cpu
