// Translated PTX beside a native loop: z = a * x + y over float32 arrays, on as many threads.
//
//   cpu_saxpy [--n 10000000] [--threads N] [--repeat 15] [--json | --samples]
//
// The kernels are what the front ends emit: one thread an element, `if (i < n)`, or a loop over the grid's stride in
// each thread, launched with a thread for each element or with fewer; arrays by value as {data, shape, strides} or
// {data, shape}. Both sides run on the same threads, alternating, on the same arrays; the median of each is printed
// with their ratio, and the time that loading the kernel took. All values are compared before anything is timed. With
// --samples, for tools/compare, each side is a row of its own.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "benchmarks/samples.h"
#include "benchmarks/saxpy_ptx.h"
#include "driver/cpu/program.h"

namespace {

using slipway::cpu::CpuKernel;
using slipway::cpu::CpuLaunch;
using slipway::cpu::Program;

constexpr uint32_t kBlock = 256;

struct StridedArray {
  const float* data;
  int64_t shape, stride;
};
struct ContiguousArray {
  const float* data;
  int64_t shape;
};
template <class Array>
struct alignas(16) Params {
  Array z, x, y;
  float a;
  int64_t n;
};

__attribute__((noinline)) void NativeSaxpy(float* z, const float* x, const float* y, float a, int64_t n) {
  for (int64_t i = 0; i < n; ++i) z[i] = a * x[i] + y[i];
}

// Runs f(part) on `threads` threads and gives the seconds that it took.
double Timed(int threads, const std::function<void(int)>& f) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> others;
  for (int part = 1; part < threads; ++part) others.emplace_back(f, part);
  f(0);
  for (std::thread& thread : others) thread.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

enum class Output { kText, kJson, kSamples };

// What all kernels are run with.
struct Setting {
  int threads, repeat;
  Output output;
  float* z;
  const float* x;
  const float* y;
  slipway::SampleReport* report;
};

// Whether the translated kernel computes what the native loop does, to the bit; says where not.
bool SameValues(const char* name, const Setting& setting, int64_t n, const std::function<void()>& native,
                const std::function<void()>& translated) {
  native();
  const std::vector<float> expected(setting.z, setting.z + n);
  std::fill(setting.z, setting.z + n, 0.0F);
  translated();
  for (int64_t i = 0; i < n; ++i) {
    if (setting.z[i] == expected[i]) continue;
    std::fprintf(stderr, "%s: z[%lld] is %g, and %g by the native loop\n", name,
                 static_cast<long long>(i),  // NOLINT(google-runtime-int): printed.
                 setting.z[i], expected[i]);
    return false;
  }
  return true;
}

template <class P>
int Compare(const char* name, const char* ptx, P params, int64_t blocks, const Setting& setting) {
  const auto [threads, repeat, output, z, x, y, report] = setting;
  const auto start = std::chrono::steady_clock::now();
  absl::StatusOr<std::unique_ptr<Program>> program = Program::Load(ptx);
  const std::chrono::duration<double, std::milli> load = std::chrono::steady_clock::now() - start;
  if (!program.ok()) {
    std::fprintf(stderr, "%s\n", std::string(program.status().message()).c_str());
    return 1;
  }
  const CpuKernel* kernel = (*program)->FindKernel("saxpy");
  const int64_t n = params.n;
  CpuLaunch launch;
  launch.params = reinterpret_cast<const std::byte*>(&params);
  launch.block[0] = kBlock;
  launch.grid[0] = static_cast<uint32_t>(blocks);
  const auto share = [&](int64_t total, int part) { return total * part / threads; };
  const auto run_native = [&] {
    return Timed(threads, [&](int part) {
      const int64_t begin = share(n, part), end = share(n, part + 1);
      NativeSaxpy(z + begin, x + begin, y + begin, params.a, end - begin);
    });
  };
  const auto run_translated = [&] {
    return Timed(threads, [&](int part) {
      kernel->run(&launch, share(launch.grid[0], part), share(launch.grid[0], part + 1), nullptr);
    });
  };
  if (!SameValues(name, setting, n, run_native, run_translated)) return 1;
  if (output == Output::kSamples) {
    const std::string result = slipway::Fingerprint(z, static_cast<size_t>(n) * sizeof(float));
    report->Add(std::string("native/") + name, "ms", result, repeat, [&] { return run_native() * 1e3; });
    report->Add(std::string("translated/") + name, "ms", result, repeat, [&] { return run_translated() * 1e3; });
    return 0;
  }
  std::vector<double> native, translated;
  for (int i = 0; i < repeat; ++i) {
    native.push_back(run_native());
    translated.push_back(run_translated());
  }
  const double native_time = Median(native), translated_time = Median(translated);
  const char* const form =
      output == Output::kJson
          ? "{\"kernel\": \"%s\", \"native_ms\": %.3f, \"translated_ms\": %.3f, \"ratio\": %.3f, \"load_ms\": %.1f}"
          : "%-30s native %8.3f ms   translated %8.3f ms   ratio %.3f   load %6.1f ms\n";
  std::printf(form, name, native_time * 1e3, translated_time * 1e3, translated_time / native_time, load.count());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int64_t n = 10'000'000;
  int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  int repeat = 15;
  Output output = Output::kText;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--json" || argument == "--samples") {
      output = argument == "--json" ? Output::kJson : Output::kSamples;
      continue;
    }
    const long long value = i + 1 < argc ? std::atoll(argv[i + 1]) : 0;  // NOLINT(google-runtime-int)
    if (value > 0 && argument == "--n") {
      n = value;
    } else if (value > 0 && argument == "--threads") {
      threads = static_cast<int>(value);
    } else if (value > 0 && argument == "--repeat") {
      repeat = static_cast<int>(value);
    } else {
      std::fprintf(stderr, "usage: cpu_saxpy [--n N] [--threads N] [--repeat N] [--json | --samples]\n");
      return 2;
    }
    ++i;
  }
  std::vector<float> x(n), y(n), z(n);
  for (int64_t i = 0; i < n; ++i) {  // Values whose sums round, so that an order or a fused step shows.
    x[i] = 1.0F / static_cast<float>(1 + i % 1009);
    y[i] = static_cast<float>(i % 4093) * 0.3F;
  }
  const bool json = output == Output::kJson;
  if (output != Output::kSamples) {
    std::printf(json ? "{\"n\": %s, \"threads\": %d, \"runs\": [" : "saxpy of %s float32 on %d threads\n",
                std::to_string(n).c_str(), threads);
  }
  slipway::SampleReport report;
  const Setting setting = {threads, repeat, output, z.data(), x.data(), y.data(), &report};
  const Params<StridedArray> strided{{z.data(), n, 1}, {x.data(), n, 1}, {y.data(), n, 1}, 3.0F, n};
  const Params<ContiguousArray> contiguous{{z.data(), n}, {x.data(), n}, {y.data(), n}, 3.0F, n};
  const int64_t all = (n + kBlock - 1) / kBlock;
  int failed = 0;
  const char* separator = "";
  const auto compare = [&](const char* name, const char* ptx, const auto& params, int64_t blocks) {
    if (json) std::printf("%s", std::exchange(separator, ", "));
    failed |= Compare(name, ptx, params, blocks, setting);
  };
  compare("strided", kStrided, strided, all);
  compare("contiguous", kContiguous, contiguous, all);
  compare("grid stride", kGridStride, strided, all);
  compare("grid stride, 32-bit", kGridStride32, strided, all);
  compare("grid stride, 64 blocks", kGridStride, strided, 64);
  compare("grid stride, 32-bit, 64 blocks", kGridStride32, strided, 64);
  if (json) std::printf("]}\n");
  if (output == Output::kSamples && failed == 0) report.Print();
  return failed;
}
