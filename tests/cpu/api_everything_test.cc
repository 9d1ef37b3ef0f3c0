// Eight threads that do everything a driver offers at once, on objects of their own and on shared ones. For
// ThreadSanitizer above all; what was computed is checked, too.
#include <atomic>
#include <cstring>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "driver/cpu/sanitizers.h"
#include "driver/cpu/testing.h"
#include "tests/cpu/api_fixture.h"

namespace slipway::cpu {
namespace {

constexpr int kThreads = 8;
constexpr int kRounds = kSanitized ? 150 : 600;
constexpr uint32_t kWords = 300;

class ApiEverything : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    Module();
    add_one_ = Function("add_one");
    shared_words_ = NewWords(kWords);
    for (CUstream& stream : streams_) stream = NewStream();
    for (CUevent& event : events_) event = NewEvent();
    // Each launch of it adds 3 to the shared words.
    CUgraph graph = Capture(streams_[0], shared_words_);
    ASSERT_CUDA(Api().GraphInstantiateWithFlags(&shared_exec_, graph, 0));
    ASSERT_CUDA(Api().GraphDestroy(graph));
  }

  CUresult AddOne(CUstream stream, CUdeviceptr words) {
    LaunchBuffer buffer(uint64_t{words}, kWords);
    return Api().LaunchKernel(add_one_, 3, 1, 1, 128, 1, 1, 0, stream, nullptr, buffer.extra());
  }
  // Three launches of add_one in a row.
  CUgraph Capture(CUstream stream, CUdeviceptr words) {
    CUgraph graph = nullptr;
    EXPECT_CUDA(Api().StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (int i = 0; i < 3; ++i) EXPECT_CUDA(AddOne(stream, words));
    EXPECT_CUDA(Api().StreamEndCapture(stream, &graph));
    return graph;
  }

  CUfunction add_one_ = nullptr;
  CUdeviceptr shared_words_ = 0;
  CUgraphExec shared_exec_ = nullptr;
  CUstream streams_[3] = {};
  CUevent events_[3] = {};
  std::atomic<uint32_t> shared_launches_{0};
  std::shared_mutex capturing_;  // Who waits for a context ends the captures of its streams.

  friend class Worker;
};

// What one of the threads does: a row of random actions, each of which leaves its stream in order.
class Worker {
 public:
  Worker(ApiEverything& test, int number) : test_(test), random_(static_cast<unsigned>(number)) {}

  void Run() {
    ASSERT_CUDA(Api().CtxSetCurrent(test_.context_));
    words_ = test_.NewWords(kWords);
    stream_ = test_.NewStream();
    event_ = test_.NewEvent();
    static constexpr void (Worker::*kActions[])() = {
        &Worker::LaunchAFew,  &Worker::OnASharedStream, &Worker::OnANewStream,  &Worker::SharedEvents, &Worker::Graphs,
        &Worker::SharedGraph, &Worker::HostFunctions,   &Worker::OrderedMemory, &Worker::Memory,       &Worker::Copies,
        &Worker::Questions,   &Worker::Contexts,        &Worker::Wait};
    for (int round = 0; round < kRounds && !testing::Test::HasFatalFailure(); ++round) {
      if (round % 50 == 25) Modules();
      (this->*kActions[Below(std::size(kActions))])();
    }
    ASSERT_CUDA(Api().StreamSynchronize(stream_));
    EXPECT_EQ(test_.ReadWords(words_, kWords), std::vector<uint32_t>(kWords, added_));
    EXPECT_EQ(called_, calls_);
    ASSERT_CUDA(Api().EventDestroy(event_));
    ASSERT_CUDA(Api().StreamDestroy(stream_));
    ASSERT_CUDA(Api().MemFree(words_));
  }

 private:
  uint32_t Below(size_t count) { return static_cast<uint32_t>(random_() % count); }

  // Queues `work` on another stream, between what is on this thread's before and after.
  template <class Work>
  void Through(CUstream other, Work work) {
    ASSERT_CUDA(Api().EventRecord(event_, stream_));
    ASSERT_CUDA(Api().StreamWaitEvent(other, event_, 0));
    work();
    CUevent done = test_.NewEvent(CU_EVENT_DISABLE_TIMING);
    ASSERT_CUDA(Api().EventRecord(done, other));
    ASSERT_CUDA(Api().StreamWaitEvent(stream_, done, 0));
    ASSERT_CUDA(Api().EventDestroy(done));
  }

  void LaunchAFew() {
    for (uint32_t i = Below(5); i > 0; --i, ++added_) ASSERT_CUDA(test_.AddOne(stream_, words_));
  }
  void OnASharedStream() {
    Through(test_.streams_[Below(3)], [] {});
    CUstream shared = test_.streams_[Below(3)];
    Through(shared, [&] { ASSERT_CUDA(test_.AddOne(shared, words_)); });
    ++added_;
  }
  void OnANewStream() {
    CUstream fresh = nullptr;
    ASSERT_CUDA(Api().StreamCreateWithPriority(&fresh, Below(2) == 0 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT,
                                               -static_cast<int>(Below(6))));
    Through(fresh, [&] { ASSERT_CUDA(test_.AddOne(fresh, words_)); });
    ++added_;
    ASSERT_CUDA(Api().StreamDestroy(fresh));
  }
  void SharedEvents() {  // Recorded by one thread and waited for by another, whichever comes first.
    CUevent event = test_.events_[Below(3)];
    if (Below(2) == 0) {
      ASSERT_CUDA(Api().EventRecord(event, stream_));
    } else {
      ASSERT_CUDA(Api().StreamWaitEvent(stream_, event, 0));
    }
    const CUresult done = Api().EventQuery(event);
    ASSERT_TRUE(done == CUDA_SUCCESS || done == CUDA_ERROR_NOT_READY);
    if (Below(8) == 0) {
      ASSERT_CUDA(Api().EventSynchronize(event));
    }
  }
  void Graphs() {
    CUgraph graph = nullptr;
    {
      std::shared_lock<std::shared_mutex> capturing(test_.capturing_);
      graph = test_.Capture(stream_, words_);
    }
    CUgraphExec exec = nullptr;
    ASSERT_CUDA(Api().GraphInstantiateWithFlags(&exec, graph, 0));
    for (uint32_t i = Below(3); i > 0; --i, added_ += 3) ASSERT_CUDA(Api().GraphLaunch(exec, stream_));
    CUgraphExecUpdateResultInfo info = {};
    ASSERT_CUDA(Api().GraphExecUpdate(exec, graph, &info));
    ASSERT_CUDA(Api().GraphDestroy(graph));
    ASSERT_CUDA(Api().GraphExecDestroy(exec));
  }
  void SharedGraph() {
    ASSERT_CUDA(Api().GraphLaunch(test_.shared_exec_, stream_));
    ++test_.shared_launches_;
  }
  void HostFunctions() {
    ++calls_;
    ASSERT_CUDA(Api().LaunchHostFunc(
        stream_, [](void* count) { ++*static_cast<std::atomic<uint32_t>*>(count); }, &called_));
  }
  void OrderedMemory() {
    CUdeviceptr memory = 0;
    ASSERT_CUDA(Api().MemAllocAsync(&memory, kWords * 4, stream_));
    ASSERT_CUDA(Api().MemcpyDtoDAsync(memory, words_, kWords * 4, stream_));
    ASSERT_CUDA(test_.AddOne(stream_, memory));
    ASSERT_CUDA(Api().MemcpyDtoDAsync(words_, memory, kWords * 4, stream_));
    ++added_;
    ASSERT_CUDA(Api().MemFreeAsync(memory, stream_));
  }
  void Memory() {
    CUdeviceptr memory = 0;
    void* pinned = nullptr;
    ASSERT_CUDA(Api().MemAlloc(&memory, 256 * (1 + Below(64))));
    ASSERT_CUDA(Api().MemAllocHost(&pinned, 4096));
    ASSERT_CUDA(Api().MemsetD32Async(memory, 7, 16, stream_));
    ASSERT_CUDA(Api().MemcpyDtoHAsync(pinned, memory, 64, stream_));
    ASSERT_CUDA(Api().StreamSynchronize(stream_));
    ASSERT_EQ(static_cast<uint32_t*>(pinned)[15], 7u);
    ASSERT_CUDA(Api().MemFree(memory));
    ASSERT_CUDA(Api().MemFreeHost(pinned));
  }
  void Copies() {
    std::vector<uint32_t> read(kWords);
    ASSERT_CUDA(Api().MemcpyDtoHAsync(read.data(), words_, kWords * 4, stream_));
    ASSERT_CUDA(Api().StreamSynchronize(stream_));
    ASSERT_EQ(read, std::vector<uint32_t>(kWords, added_));
    ASSERT_CUDA(Api().MemcpyHtoDAsync(words_, read.data(), kWords * 4, stream_));
  }
  void Questions() {
    size_t free = 0, total = 0;
    ASSERT_CUDA(Api().MemGetInfo(&free, &total));
    CUcontext context = nullptr;
    ASSERT_CUDA(Api().PointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, words_));
    ASSERT_EQ(context, test_.context_);
    int value = 0;
    ASSERT_CUDA(Api().FuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, test_.add_one_));
    ASSERT_CUDA(Api().OccupancyMaxActiveBlocksPerMultiprocessor(&value, test_.add_one_, 128, 0));
    ASSERT_CUDA(Api().StreamGetPriority(test_.streams_[0], &value));
    const CUresult done = Api().StreamQuery(stream_);
    ASSERT_TRUE(done == CUDA_SUCCESS || done == CUDA_ERROR_NOT_READY);
  }
  void Contexts() {
    CUcontext retained = nullptr, popped = nullptr;
    ASSERT_CUDA(Api().DevicePrimaryCtxRetain(&retained, 0));
    ASSERT_CUDA(Api().CtxPushCurrent(retained));
    ASSERT_CUDA(Api().CtxPopCurrent(&popped));
    ASSERT_EQ(popped, test_.context_);
    ASSERT_CUDA(Api().DevicePrimaryCtxRelease(0));
  }
  void Modules() {
    const char* const text =
        ".version 7.8\n.target sm_75\n.address_size 64\n.visible .global .u32 cell = 5;\n"
        ".visible .entry put(.param .u64 to)\n{\n.reg .b64 %rd<3>; .reg .b32 %r; ld.param.u64 %rd1, [to];\n"
        "mov.u64 %rd2, cell; ld.global.u32 %r, [%rd2]; st.global.u32 [%rd1], %r; ret;\n}\n";
    CUmodule module = nullptr;
    ASSERT_EQ(Api().ModuleLoadDataEx(&module, "no PTX", 0, nullptr, nullptr), CUDA_ERROR_INVALID_PTX);
    ASSERT_CUDA(Api().ModuleLoadDataEx(&module, text, 0, nullptr, nullptr));
    CUfunction put = nullptr;
    CUdeviceptr cell = 0, to = 0;
    size_t bytes = 0;
    ASSERT_CUDA(Api().ModuleGetFunction(&put, module, "put"));
    ASSERT_CUDA(Api().ModuleGetGlobal(&cell, &bytes, module, "cell"));
    ASSERT_CUDA(Api().MemAlloc(&to, 4));
    ASSERT_CUDA(Api().MemsetD32Async(cell, 6, 1, stream_));
    LaunchBuffer buffer(uint64_t{to});
    ASSERT_CUDA(Api().LaunchKernel(put, 1, 1, 1, 1, 1, 1, 0, stream_, nullptr, buffer.extra()));
    if (Below(2) == 0) {
      ASSERT_CUDA(Api().StreamSynchronize(stream_));
    }
    ASSERT_CUDA(Api().ModuleUnload(module));  // Waits for the launch.
    uint32_t word = 0;
    ASSERT_CUDA(Api().StreamSynchronize(stream_));
    ASSERT_CUDA(Api().MemcpyDtoH(&word, to, 4));
    ASSERT_EQ(word, 6u);
    ASSERT_CUDA(Api().MemFree(to));
  }
  void Wait() {
    if (Below(4) == 0) {
      std::unique_lock<std::shared_mutex> nobody_captures(test_.capturing_);
      ASSERT_CUDA(Api().CtxSynchronize());
    } else {
      ASSERT_CUDA(Api().StreamSynchronize(stream_));
    }
  }

  ApiEverything& test_;
  std::mt19937 random_;
  CUdeviceptr words_ = 0;
  CUstream stream_ = nullptr;
  CUevent event_ = nullptr;
  uint32_t added_ = 0;  // To each word, by what has been queued.
  uint32_t calls_ = 0;
  std::atomic<uint32_t> called_{0};
};

TEST_F(ApiEverything, FromEightThreads) {
  const size_t handles = LiveHandlesForTesting();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([this, t] { Worker(*this, t).Run(); });
  for (std::thread& thread : threads) thread.join();
  ASSERT_CUDA(Api().CtxSynchronize());
  EXPECT_EQ(ReadWords(shared_words_, kWords), std::vector<uint32_t>(kWords, 3 * shared_launches_));
  EXPECT_EQ(LiveHandlesForTesting(), handles);
}

}  // namespace
}  // namespace slipway::cpu
