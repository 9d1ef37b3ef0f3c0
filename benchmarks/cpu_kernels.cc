// Kernels of ordinary CUDA C++ on the CPU device beside plain C++ loops, and what launches and waits cost there.
//
//   cpu_kernels [--filter TEXT] [--repeat 15] [--json FILE] [--quick]
//
// The kernels are benchmarks/cpu_kernels/kernels.cu, compiled by nvcc once, and take the whole road: a module loaded
// from PTX, a launch on a stream, a synchronization. The loops run on as many threads as the device has cores; those
// are started before and awake. Both sides use the same memory and alternate in one process; each is compared with an
// oracle in wider precision before it is timed. A ratio is the median over the samples of device / native; beside it
// stands the ratio of the least times, which tells more where other programs take the cores now and then.
//
// Small sizes are of about 8192 elements. From the device's time an empty launch is subtracted, from the loops' an
// empty round of the threads; of the loops the better of all threads and one alone counts.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "benchmarks/cpu_kernels/cases.h"
#include "benchmarks/cpu_kernels/kernel.h"
#include "benchmarks/cpu_kernels/kernels_ptx.h"
#include "benchmarks/cpu_kernels/overheads.h"
#include "slipway/cpu_device.h"

namespace {

using slipway::Device;
using slipway::cpu_kernels::Bench;
using slipway::cpu_kernels::Case;
using slipway::cpu_kernels::Cases;
using slipway::cpu_kernels::Median;
using slipway::cpu_kernels::Must;
using slipway::cpu_kernels::Overhead;
using slipway::cpu_kernels::Overheads;
using slipway::cpu_kernels::Prepared;
using slipway::cpu_kernels::Samples;
using slipway::cpu_kernels::TimeLoad;

constexpr int64_t kLarge = 10'000'000, kSmall = 8192;
// A sample is as many rounds as take about this long: short, so that other programs spoil few of them.
constexpr double kSampleSeconds = 0.0005;
constexpr int kSmallSamples = 7;  // So many times as many of a small size.

struct Options {
  std::string filter;
  int repeat = 15;
  const char* json = nullptr;
  bool quick = false;

  bool Wants(std::string_view name) const { return name.find(filter) != name.npos; }
};

struct Row {
  std::string name, size;
  double native = 0, device = 0;  // Seconds.
  double ratio = 0, least_ratio = 0;
};
struct OverheadRow {
  std::string name;
  double value;
  std::string unit;
};

// Seconds of one of so many rounds.
double Time(int rounds, const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < rounds; ++i) run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / rounds;
}

double Least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

int RoundsFor(const std::function<void()>& run) {
  const double once = Least(Samples(3, [&] { return Time(1, run); }));
  return static_cast<int>(std::clamp(kSampleSeconds / once, 1.0, 1000.0));
}

void Check(const Case& one, const Prepared& prepared, const char* side, const std::function<void()>& run) {
  prepared.reset();
  run();
  const std::string problem = prepared.check();
  if (problem.empty()) return;
  std::fprintf(stderr, "cpu_kernels: %s, %s, %s: %s\n", one.name.c_str(), prepared.size.c_str(), side, problem.c_str());
  std::exit(1);
}

Row Measure(Bench& bench, const Case& one, int64_t n, const Options& options) {
  const Prepared prepared = one.prepare(bench, n);
  const auto empty = slipway::cpu_kernels::Find<>(bench.module, "empty");
  const auto synchronized = [&](const std::function<void()>& launch) {
    return [&bench, launch] {
      launch();
      Must(bench.stream.Synchronize());
    };
  };
  const std::function<void()> run = synchronized(prepared.launch);
  const std::function<void()> run_empty = synchronized([&] { Must(empty(bench.stream, {.grid = {1}, .block = {1}})); });
  const std::function<void()> dispatch_nothing = [&] { bench.workers.Run([](int, int) {}); };
  bench.workers.Wake();
  Check(one, prepared, "native", prepared.native);
  Check(one, prepared, "native, one thread", prepared.native_alone);
  const bool small = n <= kSmall;
  const int samples = options.repeat * (small ? kSmallSamples : 1);
  const int native_rounds = RoundsFor(prepared.native);
  bench.workers.LetSleep();
  Check(one, prepared, "device", run);
  const int device_rounds = RoundsFor(run);
  std::vector<double> native, alone, dispatch, device, launch;
  for (int i = 0; i < samples; ++i) {
    bench.workers.Wake();
    dispatch_nothing();
    native.push_back(Time(native_rounds, prepared.native));
    if (small) {
      dispatch.push_back(Time(native_rounds, dispatch_nothing));
      alone.push_back(Time(native_rounds, prepared.native_alone));
    }
    bench.workers.LetSleep();
    run();  // Wakes the device's threads.
    device.push_back(Time(device_rounds, run));
    if (small) launch.push_back(Time(device_rounds, run_empty));
  }
  if (small) {  // Without what has no part in the work itself.
    const double dispatched = Least(dispatch), launched = Least(launch);
    for (int i = 0; i < samples; ++i) {
      native[i] = std::min(native[i] - dispatched, alone[i]);
      device[i] -= launched;
    }
  }
  std::vector<double> ratios;
  for (int i = 0; i < samples; ++i) ratios.push_back(device[i] / native[i]);
  return {one.name, prepared.size, Median(native), Median(device), Median(ratios), Least(device) / Least(native)};
}

double GeometricMean(const std::vector<Row>& rows, double Row::*ratio) {
  double sum = 0;
  for (const Row& row : rows) sum += std::log(row.*ratio);
  return std::exp(sum / static_cast<double>(rows.size()));
}

void PrintRows(const char* title, const std::vector<Row>& rows) {
  if (rows.empty()) return;
  std::printf("%-30s %-12s %11s %11s %7s %7s\n", title, "size", "native us", "device us", "ratio", "least");
  for (const Row& row : rows) {
    std::printf("%-30s %-12s %11.2f %11.2f %7.3f %7.3f\n", row.name.c_str(), row.size.c_str(), row.native * 1e6,
                row.device * 1e6, row.ratio, row.least_ratio);
  }
  std::printf("%-30s %-12s %11s %11s %7.3f %7.3f\n\n", "geometric mean", "", "", "", GeometricMean(rows, &Row::ratio),
              GeometricMean(rows, &Row::least_ratio));
}

void WriteRows(std::FILE* file, const char* key, const std::vector<Row>& rows) {
  std::fprintf(file, "\"%s\": [", key);
  for (const Row& row : rows) {
    std::fprintf(file,
                 "%s\n  {\"name\": \"%s\", \"size\": \"%s\", \"native_us\": %.3f, \"device_us\": %.3f, "
                 "\"ratio\": %.4f, \"least_ratio\": %.4f}",
                 &row == rows.data() ? "" : ",", row.name.c_str(), row.size.c_str(), row.native * 1e6, row.device * 1e6,
                 row.ratio, row.least_ratio);
  }
  std::fprintf(file, "],\n ");
}

bool WriteJson(const char* path, int threads, const std::vector<Row>& small, const std::vector<Row>& large,
               const std::vector<OverheadRow>& overheads) {
  std::FILE* const file = std::fopen(path, "w");
  if (file == nullptr) return false;
  std::fprintf(file, "{\"threads\": %d,\n ", threads);
  WriteRows(file, "small", small);
  WriteRows(file, "large", large);
  std::fprintf(file, "\"overheads\": [");
  for (const OverheadRow& row : overheads) {
    std::fprintf(file, "%s\n  {\"name\": \"%s\", \"value\": %.4f, \"unit\": \"%s\"}",
                 &row == overheads.data() ? "" : ",", row.name.c_str(), row.value, row.unit.c_str());
  }
  std::fprintf(file, "]}\n");
  return std::fclose(file) == 0;
}

constexpr char kUsage[] =
    "usage: cpu_kernels [--filter TEXT] [--repeat N] [--json FILE] [--quick]\n"
    "  --filter TEXT  only rows with TEXT in their names\n"
    "  --repeat N     samples a row, above 0; 15 by default\n"
    "  --json FILE    writes the figures there, too\n"
    "  --quick        small sizes only, one sample: to see that it works\n";

// Whether the arguments were understood.
bool Parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const char* const value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (argument == "--quick") {
      options->quick = true;
      options->repeat = 1;
      continue;
    }
    if (value == nullptr) return false;
    ++i;
    if (argument == "--filter") {
      options->filter = value;
    } else if (argument == "--json") {
      options->json = value;
    } else if (argument != "--repeat" || (options->repeat = std::atoi(value)) <= 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, &options)) {
    const bool asked = argc == 2 && std::string_view(argv[1]) == "--help";
    std::fputs(kUsage, asked ? stdout : stderr);
    return asked ? 0 : 2;
  }
  std::vector<OverheadRow> overheads;
  const Device device = Must(Device::Open(slipway::CpuDriver()));
  constexpr char kFirstLoad[] = "loading a module of one small kernel, first";
  // Before anything else has been loaded.
  if (options.Wants(kFirstLoad)) overheads.push_back({kFirstLoad, TimeLoad(device), "ms"});
  Bench bench(device, Must(device.CreateStream()), Must(slipway::Module::LoadPtx(device, slipway::cpu_kernels::kPtx)));
  for (const Overhead& one : Overheads()) {
    if (options.Wants(one.name)) overheads.push_back({one.name, one.measure(bench, options.repeat), one.unit});
  }
  std::vector<Row> small, large;
  for (const Case& one : Cases()) {
    if (!options.Wants(one.name)) continue;
    small.push_back(Measure(bench, one, kSmall, options));
    if (!options.quick) large.push_back(Measure(bench, one, kLarge, options));
  }
  std::printf("%d threads, median of %d samples\n\n", bench.workers.count(), options.repeat);
  PrintRows("small, empty launch subtracted", small);
  PrintRows("large", large);
  for (const OverheadRow& row : overheads) {
    std::printf("%-50s %10.2f %s\n", row.name.c_str(), row.value, row.unit.c_str());
  }
  if (options.json == nullptr || WriteJson(options.json, bench.workers.count(), small, large, overheads)) return 0;
  std::fprintf(stderr, "cpu_kernels: cannot write %s\n", options.json);
  return 1;
}
