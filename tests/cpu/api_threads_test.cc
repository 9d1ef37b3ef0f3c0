// Many threads on one device, and fork().
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "driver/cpu/sanitizers.h"
#include "driver/cpu/testing.h"
#include "tests/assembled.h"
#include "tests/cpu/api_fixture.h"

namespace slipway::cpu {
namespace {

using ApiThreads = ApiTest;

constexpr int kThreads = 8;

template <typename Body>
void InThreads(Body body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([&body, t] { body(t); });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ApiThreads, EachWithItsStream) {
  InThreads([&](int t) {
    ASSERT_CUDA(Api().CtxSetCurrent(context_));
    CUstream stream = NewStream(t % 2 == 0 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT);
    for (int round = 0; round < 20; ++round) {
      uint32_t n = 1000 * (1 + static_cast<uint32_t>(t));
      CUdeviceptr words = 0;
      ASSERT_CUDA(Api().MemAllocAsync(&words, n * 4, stream));
      ASSERT_CUDA(Api().MemsetD32Async(words, static_cast<unsigned>(t), n, stream));
      for (int i = 0; i < 10; ++i) {
        ASSERT_CUDA(Launch("add_one", (n + 255) / 256, 256, stream, uint64_t{words}, n));
      }
      std::vector<uint32_t> read(n);
      ASSERT_CUDA(Api().MemcpyDtoHAsync(read.data(), words, n * 4, stream));
      ASSERT_CUDA(Api().MemFreeAsync(words, stream));
      ASSERT_EQ(read, std::vector<uint32_t>(n, static_cast<uint32_t>(t) + 10));
    }
    ASSERT_CUDA(Api().StreamDestroy(stream));
  });
}

TEST_F(ApiThreads, AllOnOneStream) {
  CUstream stream = NewStream();
  CUdeviceptr words = NewWords(64);
  InThreads([&](int) {
    for (int i = 0; i < 500; ++i) {
      ASSERT_CUDA(Launch("add_one", 1, 64, stream, uint64_t{words}, 64u));
      if (i % 100 == 0) {
        ASSERT_CUDA(Api().StreamSynchronize(stream));
      }
    }
  });
  ASSERT_CUDA(Api().StreamSynchronize(stream));
  EXPECT_EQ(ReadWords(words, 64), std::vector<uint32_t>(64, 500 * kThreads));
}

TEST_F(ApiThreads, EventsBetweenThreads) {
  // A ring: each thread's stream waits for its neighbour's last event, whichever that is.
  std::vector<CUstream> streams;
  std::vector<CUevent> events;
  for (int t = 0; t < kThreads; ++t) {
    streams.push_back(NewStream());
    events.push_back(NewEvent());
  }
  CUdeviceptr words = NewWords(64 * kThreads);
  InThreads([&](int t) {
    for (int i = 0; i < 200; ++i) {
      ASSERT_CUDA(Api().StreamWaitEvent(streams[t], events[(t + 1) % kThreads], 0));
      ASSERT_CUDA(Launch("add_one", 1, 64, streams[t], uint64_t{words + 256 * static_cast<unsigned>(t)}, 64u));
      ASSERT_CUDA(Api().EventRecord(events[t], streams[t]));
      if (i % 50 == 49) {
        ASSERT_CUDA(Api().EventSynchronize(events[t]));
      }
    }
  });
  ASSERT_CUDA(Api().CtxSynchronize());
  EXPECT_EQ(ReadWords(words, 64 * kThreads), std::vector<uint32_t>(64 * kThreads, 200));
}

TEST_F(ApiThreads, DefaultStreamsOfManyThreads) {
  CUdeviceptr words = NewWords(64 * kThreads);
  InThreads([&](int t) {
    ASSERT_CUDA(Api().CtxSetCurrent(context_));
    uint64_t mine = words + 256 * static_cast<unsigned>(t);
    for (int i = 0; i < 100; ++i) {
      ASSERT_CUDA(Launch("add_one", 1, 64, i % 2 == 0 ? nullptr : kStreamPerThread, mine, 64u));
    }
    ASSERT_CUDA(Api().CtxSynchronize());
  });
  EXPECT_EQ(ReadWords(words, 64 * kThreads), std::vector<uint32_t>(64 * kThreads, 100));
}

constexpr char kStorePtx[] = R"(
.version 7.8
.target sm_75
.address_size 64
.visible .entry store(.param .u64 words, .param .u32 value)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [words];
  ld.param.u32 %r1, [value];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r1;
  ret;
}
)";

// FC-27: load, launch and drop, with one bad image now and then.
TEST_F(ApiThreads, LoadLaunchUnload) {
  AssembleAfterTests(kStorePtx);
  const int rounds = kSanitized ? 3 : 10;
  size_t handles = LiveHandlesForTesting();
  InThreads([&](int t) {
    ASSERT_CUDA(Api().CtxSetCurrent(context_));
    CUdeviceptr words = 0;
    ASSERT_CUDA(Api().MemAlloc(&words, 1024));
    CUstream stream = NewStream();
    for (int round = 0; round < rounds; ++round) {
      CUmodule module = nullptr;
      if (round % 5 == t % 5) {
        ASSERT_EQ(Api().ModuleLoadDataEx(&module, "bad image", 0, nullptr, nullptr), CUDA_ERROR_INVALID_PTX);
        continue;
      }
      ASSERT_CUDA(Api().ModuleLoadDataEx(&module, kStorePtx, 0, nullptr, nullptr));
      CUfunction store = nullptr;
      ASSERT_CUDA(Api().ModuleGetFunction(&store, module, "store"));
      LaunchBuffer buffer(uint64_t{words}, static_cast<uint32_t>(round));
      ASSERT_CUDA(Api().LaunchKernel(store, 1, 1, 1, 256, 1, 1, 0, stream, nullptr, buffer.extra()));
      ASSERT_CUDA(Api().ModuleUnload(module));
      ASSERT_EQ(ReadWords(words, 256), std::vector<uint32_t>(256, static_cast<uint32_t>(round)));
    }
    ASSERT_CUDA(Api().StreamDestroy(stream));
    ASSERT_CUDA(Api().MemFree(words));
  });
  EXPECT_EQ(LiveHandlesForTesting(), handles);
}

// Runs `body` in a forked child and expects it to return true there.
template <typename Body>
void ExpectInChild(Body body) {
  pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// FC-38: parent and child both go on with what was queued, on memory of their own.
TEST_F(ApiThreads, ForkedChildWorksOn) {
  constexpr uint32_t kWords = 100'000;
  CUdeviceptr words = NewWords(kWords);
  CUstream stream = NewStream();
  auto add = [&](int times) {
    for (int i = 0; i < times; ++i) {
      if (Launch("add_one", (kWords + 255) / 256, 256, stream, uint64_t{words}, kWords) != CUDA_SUCCESS) return false;
    }
    return true;
  };
  auto all_are = [&](uint32_t value) {
    std::vector<uint32_t> read(kWords);
    return Api().StreamSynchronize(stream) == CUDA_SUCCESS &&
           Api().MemcpyDtoH(read.data(), words, kWords * 4) == CUDA_SUCCESS &&
           read == std::vector<uint32_t>(kWords, value);
  };
  uint32_t expected = 0;
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(add(100));  // Some of it is running when the fork comes.
    expected += 100;
    ExpectInChild([&] {
      // Waiting, polling and a host function, all with threads of the child's own.
      if (!all_are(expected) || !add(3)) return false;
      while (Api().StreamQuery(stream) == CUDA_ERROR_NOT_READY) std::this_thread::yield();
      std::atomic<int> called{0};
      if (Api().LaunchHostFunc(
              stream, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &called) != CUDA_SUCCESS) {
        return false;
      }
      return all_are(expected + 3) && called == 1;
    });
    ASSERT_TRUE(all_are(expected));
  }
}

// Small kernels in a row, which one thread runs, and a large one: both are left half-way when the fork comes.
TEST_F(ApiThreads, ForkedChildGoesOnWithGraphs) {
  constexpr uint32_t kWords = 100'000;
  CUdeviceptr words = NewWords(kWords), few = NewWords(64);
  CUstream stream = NewStream();
  Function("add_one");
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_CUDA(Api().StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  for (int i = 0; i < 200; ++i) ASSERT_CUDA(Launch("add_one", 1, 64, stream, uint64_t{few}, 64u));
  ASSERT_CUDA(Launch("add_one", (kWords + 255) / 256, 256, stream, uint64_t{words}, kWords));
  ASSERT_CUDA(Api().StreamEndCapture(stream, &graph));
  ASSERT_CUDA(Api().GraphInstantiateWithFlags(&exec, graph, 0));
  auto all_are = [&](uint32_t value) {
    std::vector<uint32_t> read(kWords), read_few(64);
    return Api().StreamSynchronize(stream) == CUDA_SUCCESS &&
           Api().MemcpyDtoH(read.data(), words, kWords * 4) == CUDA_SUCCESS &&
           Api().MemcpyDtoH(read_few.data(), few, 256) == CUDA_SUCCESS &&
           read == std::vector<uint32_t>(kWords, value) && read_few == std::vector<uint32_t>(64, 200 * value);
  };
  uint32_t expected = 0;
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 20; ++i, ++expected) ASSERT_CUDA(Api().GraphLaunch(exec, stream));
    ExpectInChild([&] {
      return all_are(expected) && Api().GraphLaunch(exec, stream) == CUDA_SUCCESS && all_are(expected + 1) &&
             Api().GraphExecDestroy(exec) == CUDA_SUCCESS;
    });
    ASSERT_TRUE(all_are(expected));
  }
}

TEST_F(ApiThreads, ForkWhileOtherThreadsLaunch) {
  std::atomic<bool> stop{false};
  // Looked up before: the fixture's own lock may be held by another thread when the fork comes.
  CUfunction add_one = Function("add_one"), store = Function("store");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      CUdeviceptr words = 0;
      ASSERT_CUDA(Api().CtxSetCurrent(context_));
      ASSERT_CUDA(Api().MemAlloc(&words, 40'000));
      CUstream stream = NewStream();
      while (!stop) {
        LaunchBuffer buffer(uint64_t{words}, 10'000u);
        ASSERT_CUDA(Api().LaunchKernel(add_one, 40, 1, 1, 256, 1, 1, 0, stream, nullptr, buffer.extra()));
        ASSERT_CUDA(Api().StreamSynchronize(stream));
      }
    });
  }
  for (int round = 0; round < 10; ++round) {
    ExpectInChild([&] {
      CUdeviceptr words = 0;
      CUstream stream = nullptr;
      uint32_t read = 0;
      if (Api().MemAlloc(&words, 256) != CUDA_SUCCESS) return false;
      LaunchBuffer buffer(uint64_t{words}, 9u);
      return Api().StreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS &&
             Api().LaunchKernel(store, 1, 1, 1, 64, 1, 1, 0, stream, nullptr, buffer.extra()) == CUDA_SUCCESS &&
             Api().StreamSynchronize(stream) == CUDA_SUCCESS &&
             Api().MemcpyDtoH(&read, words + 252, 4) == CUDA_SUCCESS && read == 9;
    });
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace slipway::cpu
