// A graph of small kernels beside as many launches, on the CPU device: nanoseconds a kernel, by plain driver calls.
//
//   graph_replay [--kernels 1000] [--rounds 200] [--json]
//
// "enqueue" is the host's part: the calls until the last has returned, with nothing waited for before. "done" is the
// time until all has run. Both sides alternate in one run, on one stream; medians over the rounds. A kernel that counts
// its runs is replayed first and must have counted right.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "slipway/cpu_device.h"

namespace {

using slipway::CUDA_SUCCESS;

constexpr const char* kPtx = R"(
.version 7.8
.target sm_75
.address_size 64
.visible .entry empty()
{
  ret;
}
.visible .entry count(.param .u64 word)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [word];
  ld.global.u32 %r1, [%rd1];
  add.s32 %r2, %r1, 1;
  st.global.u32 [%rd1], %r2;
  ret;
}
)";

const slipway::DriverApi& Api() { return slipway::CpuDriver(); }

void Must(slipway::CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "graph_replay: %s failed with %d\n", what, static_cast<int>(result));
  std::exit(1);
}

struct Side {
  std::vector<double> enqueue, done;  // Nanoseconds a kernel, by round.
};

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

class Bench {
 public:
  explicit Bench(int kernels) : kernels_(kernels) {
    slipway::CUcontext context = nullptr;
    slipway::CUmodule module = nullptr;
    Must(Api().Init(0), "Init");
    Must(Api().DevicePrimaryCtxRetain(&context, 0), "DevicePrimaryCtxRetain");
    Must(Api().CtxPushCurrent(context), "CtxPushCurrent");
    Must(Api().ModuleLoadDataEx(&module, kPtx, 0, nullptr, nullptr), "ModuleLoadDataEx");
    Must(Api().ModuleGetFunction(&empty_, module, "empty"), "ModuleGetFunction");
    Must(Api().ModuleGetFunction(&count_, module, "count"), "ModuleGetFunction");
    Must(Api().StreamCreateWithPriority(&stream_, slipway::CU_STREAM_NON_BLOCKING, 0), "StreamCreateWithPriority");
  }

  slipway::CUgraphExec Capture(slipway::CUfunction function, void** params) {
    slipway::CUgraph graph = nullptr;
    slipway::CUgraphExec exec = nullptr;
    Must(Api().StreamBeginCapture(stream_, slipway::CU_STREAM_CAPTURE_MODE_GLOBAL), "StreamBeginCapture");
    for (int i = 0; i < kernels_; ++i) Launch(function, params);
    Must(Api().StreamEndCapture(stream_, &graph), "StreamEndCapture");
    Must(Api().GraphInstantiateWithFlags(&exec, graph, 0), "GraphInstantiateWithFlags");
    Must(Api().GraphDestroy(graph), "GraphDestroy");
    return exec;
  }

  void Check() {
    slipway::CUdeviceptr word = 0;
    uint32_t count = 0;
    Must(Api().MemAlloc(&word, 4), "MemAlloc");
    Must(Api().MemsetD8Async(word, 0, 4, stream_), "MemsetD8Async");
    void* params[] = {&word};
    slipway::CUgraphExec exec = Capture(count_, params);
    for (int i = 0; i < 3; ++i) Must(Api().GraphLaunch(exec, stream_), "GraphLaunch");
    Must(Api().StreamSynchronize(stream_), "StreamSynchronize");
    Must(Api().MemcpyDtoH(&count, word, 4), "MemcpyDtoH");
    if (count == 3 * static_cast<uint32_t>(kernels_)) return;
    std::fprintf(stderr, "graph_replay: 3 replays of %d kernels have counted to %u\n", kernels_, count);
    std::exit(1);
  }

  void Run(int rounds, Side* launches, Side* graph) {
    slipway::CUgraphExec exec = Capture(empty_, nullptr);
    for (int round = 0; round < rounds; ++round) {
      Time(launches, [&] {
        for (int i = 0; i < kernels_; ++i) Launch(empty_, nullptr);
      });
      Time(graph, [&] { Must(Api().GraphLaunch(exec, stream_), "GraphLaunch"); });
    }
  }

 private:
  void Launch(slipway::CUfunction function, void** params) {
    Must(Api().LaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream_, params, nullptr), "LaunchKernel");
  }

  template <typename Body>
  void Time(Side* side, Body body) {
    using Clock = std::chrono::steady_clock;
    const auto nanoseconds = [this](Clock::duration time) {
      return std::chrono::duration<double, std::nano>(time).count() / kernels_;
    };
    const Clock::time_point start = Clock::now();
    body();
    const Clock::time_point enqueued = Clock::now();
    Must(Api().StreamSynchronize(stream_), "StreamSynchronize");
    side->enqueue.push_back(nanoseconds(enqueued - start));
    side->done.push_back(nanoseconds(Clock::now() - start));
  }

  const int kernels_;
  slipway::CUstream stream_ = nullptr;
  slipway::CUfunction empty_ = nullptr, count_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  int kernels = 1000, rounds = 200;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    int* number = flag == "--kernels" ? &kernels : flag == "--rounds" ? &rounds : nullptr;
    if (flag == "--json") {
      json = true;
    } else if (number == nullptr || i + 1 == argc || (*number = std::atoi(argv[++i])) <= 0) {
      std::fprintf(stderr, "usage: graph_replay [--kernels N] [--rounds N] [--json], with N above 0\n");
      return 2;
    }
  }
  Bench bench(kernels);
  bench.Check();
  Side launches, graph;
  bench.Run(rounds, &launches, &graph);
  const char* const format =
      json ? "{\"kernels\": %d, \"rounds\": %d, \"launch_enqueue_ns\": %.1f, \"launch_done_ns\": %.1f, "
             "\"graph_enqueue_ns\": %.1f, \"graph_done_ns\": %.1f}\n"
           : "%d kernels, median of %d rounds, ns a kernel\n  launches  enqueue %7.1f  done %7.1f\n"
             "  graph     enqueue %7.1f  done %7.1f\n";
  std::printf(format, kernels, rounds, Median(launches.enqueue), Median(launches.done), Median(graph.enqueue),
              Median(graph.done));
  return 0;
}
