// A C function of the program, called and launched.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "benchmarks/launch_case_types.h"
#include "benchmarks/launch_scale.h"
#include "benchmarks/launch_timing.h"
#include "slipway/array.h"
#include "slipway/host_function.h"

namespace slipway::launch_cases {
namespace {

// Touches what it is given and is over: what is left of the time is the call.
[[gnu::noinline]] void Touch(float* y, const float* x, float a, int64_t n) { y[n - 1] = a * x[n - 1]; }

using Function = decltype(&Touch);

struct HostArguments {
  const HostArguments* next;
  ArrayView<float, 1> y;
  ArrayView<const float, 1> x;
  float a;
  int64_t n;
};

// What the rows share: the device, its arrays, and the ring over parts of them.
struct HostBench {
  Device device = Device::Open(HostDriver()).value();
  Stream stream = device.CreateStream().value();
  Array<float, 1> y = Array<float, 1>::Zeros(device, 1000).value();
  Array<float, 1> x = Array<float, 1>::Zeros(device, 1000).value();
  std::vector<HostArguments> ring;

  HostBench() {
    for (int64_t k = 0; k < ArgumentRing::kSets; ++k) {
      ring.push_back({nullptr,
                      {device, y.data() + k, {100 + k}},
                      {device, x.data() + k, {100 + k}},
                      static_cast<float>(k),
                      100 + k});
    }
    for (size_t k = 0; k < ring.size(); ++k) ring[k].next = &ring[(k + 1) % ring.size()];
  }
};

template <class Call>
void Register(const char* name, const std::shared_ptr<const HostBench>& bench, const Call& call) {
  constexpr int kBurst = 1'000;
  benchmark::RegisterBenchmark(name, [bench, call](benchmark::State& state) {
    for (auto _ : state) {
      Repeat(bench->ring.data(), kBurst, [&](const HostArguments& args) SLIPWAY_INLINE { return call(args); });
    }
    SetPerLaunch(&state, kBurst);
  });
}

}  // namespace

void RegisterHostRows() {
  const auto bench = std::make_shared<const HostBench>();
  Function function = &Touch;
  asm volatile("" : "+r"(function));  // Called through a pointer, as registered functions are.
  const auto typed = HostFunction::Make("touch", function).value();
  const Kernel dynamic = typed.kernel();
  const Stream& stream = bench->stream;
  Register("host/call", bench, [function](const HostArguments& args) SLIPWAY_INLINE {
    function(args.y.data(), args.x.data(), args.a, args.n);
    return true;
  });
  Register("host/typed", bench, [typed, &stream](const HostArguments& args) SLIPWAY_INLINE {
    return typed(stream, kCallOnce, args.y, args.x, args.a, args.n).ok();
  });
  Register("host/dynamic", bench, [dynamic, &stream](const HostArguments& args) SLIPWAY_INLINE {
    return dynamic(stream, kCallOnce, args.y, args.x, args.a, args.n).ok();
  });
}

}  // namespace slipway::launch_cases
