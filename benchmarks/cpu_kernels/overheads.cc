#include "benchmarks/cpu_kernels/overheads.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "benchmarks/cpu_kernels/kernel.h"
#include "benchmarks/cpu_kernels/kernels_ptx.h"
#include "slipway/memory.h"

namespace slipway::cpu_kernels {
namespace {

using Clock = std::chrono::steady_clock;

double Nanoseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::nano>(Clock::now() - since).count();
}

double MedianOf(int repeat, const std::function<double()>& sample) { return Median(Samples(repeat, sample)); }

constexpr LaunchConfig kOneThread{.grid = {1}, .block = {1}};

double EmptyLaunch(Bench& bench, int repeat) {
  const auto empty = Find<>(bench.module, "empty");
  constexpr int kLaunches = 1000;
  return MedianOf(repeat, [&] {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < kLaunches; ++i) {
      Must(empty(bench.stream, kOneThread));
      Must(bench.stream.Synchronize());
    }
    return Nanoseconds(start) / kLaunches;
  });
}

constexpr LaunchConfig kLarge{.grid = {9}, .block = {1024}};  // So large that a thread is woken for it.

void Pause(int microseconds) {
  const Clock::time_point start = Clock::now();
  while (Nanoseconds(start) < microseconds * 1e3) sched_yield();
}

// Behind a kernel that another thread is running: one of its threads computes for about 200 microseconds.
double LaunchWhileAwake(Bench& bench, int repeat) {
  constexpr int kRounds = 100'000, kBursts = 8, kLaunches = 8;
  const auto empty = Find<>(bench.module, "empty");
  const auto busy = Find<int, unsigned*>(bench.module, "busy");
  const DeviceMemory word = Must(DeviceMemory::Allocate(bench.device, sizeof(unsigned)));
  std::vector<double> samples;
  for (int i = 0; i < 10 * repeat; ++i) {
    Must(busy(bench.stream, kLarge, kRounds, word.address()));
    Pause(50);
    for (int burst = 0; burst < kBursts; ++burst) {
      const Clock::time_point start = Clock::now();
      for (int k = 0; k < kLaunches; ++k) Must(empty(bench.stream, kOneThread));
      samples.push_back(Nanoseconds(start) / kLaunches);
    }
    Must(bench.stream.Synchronize());
  }
  return Median(std::move(samples));
}

// As the launches before it have been done, a worker has gone to sleep again, and each 16th wakes it.
double LaunchInBurst(Bench& bench, int repeat) {
  const auto empty = Find<>(bench.module, "empty");
  constexpr int kLaunches = 1000;
  return MedianOf(repeat, [&] {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < kLaunches; ++i) Must(empty(bench.stream, kOneThread));
    const double time = Nanoseconds(start) / kLaunches;
    Must(bench.stream.Synchronize());
    return time;
  });
}

double LaunchThatWakes(Bench& bench, int repeat) {
  const auto empty = Find<>(bench.module, "empty");
  return MedianOf(10 * repeat, [&] {
    Pause(200);  // So that all are asleep again.
    const Clock::time_point start = Clock::now();
    Must(empty(bench.stream, kLarge));
    const double time = Nanoseconds(start);
    Must(bench.stream.Synchronize());
    return time;
  });
}

// Nanoseconds that one more round costs a kernel(rounds, ...) that is launched by `launch(rounds)`.
template <class Launch>
double PerRound(Bench& bench, int repeat, int rounds, const Launch& launch) {
  const auto time = [&](int given) {
    const Clock::time_point start = Clock::now();
    launch(given);
    Must(bench.stream.Synchronize());
    return Nanoseconds(start);
  };
  return MedianOf(repeat, [&] {
    const double none = time(0);
    return (time(rounds) - none) / rounds;
  });
}

constexpr int kBarrierRounds = 1000;

template <uint32_t kThreads>
double Barrier(Bench& bench, int repeat, const char* name) {
  const auto kernel = Find<int>(bench.module, name);
  const LaunchConfig config{.grid = {1}, .block = {kThreads}};
  return PerRound(bench, repeat, kBarrierRounds, [&](int rounds) { Must(kernel(bench.stream, config, rounds)); }) /
         kThreads;
}
template <uint32_t kThreads>
double StructuredBarrier(Bench& bench, int repeat) {
  return Barrier<kThreads>(bench, repeat, "barriers");
}
template <uint32_t kThreads>
double DivergedBarrier(Bench& bench, int repeat) {
  return Barrier<kThreads>(bench, repeat, "diverged_barriers");
}

double BlockSum(Bench& bench, int repeat) {
  const auto kernel = Find<int, float*>(bench.module, "block_sums");
  const DeviceMemory out = Must(DeviceMemory::Allocate(bench.device, 256 * sizeof(float)));
  constexpr LaunchConfig kConfig{.grid = {1}, .block = {256}};
  const auto launch = [&](int rounds) { Must(kernel(bench.stream, kConfig, rounds, out.address())); };
  return PerRound(bench, repeat, 1000, launch);
}

double Load(Bench& bench, int repeat) {
  return MedianOf(repeat, [&] { return TimeLoad(bench.device); });
}

double ResidentMebibytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  long total = 0, resident = 0;  // NOLINT(google-runtime-int): as scanned.
  const bool read = file != nullptr && std::fscanf(file, "%ld %ld", &total, &resident) == 2;
  if (file != nullptr) std::fclose(file);
  if (!read) Must(absl::UnavailableError("/proc/self/statm cannot be read, which tells the resident set"));
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 0x1p20;
}

double Growth(Bench& bench, int repeat) {
  const auto empty = Find<>(bench.module, "empty");
  const auto launch = [&](int count) {
    for (int i = 0; i < count; ++i) Must(empty(bench.stream, kOneThread));
    Must(bench.stream.Synchronize());
  };
  launch(10'000);  // As many are queued at once as ever will be.
  const double before = ResidentMebibytes();
  launch(repeat > 1 ? 1'000'000 : 1000);
  const double growth = ResidentMebibytes() - before;
  constexpr double kMost = 4;
  if (growth > kMost) {
    Must(absl::ResourceExhaustedError(absl::StrCat(
        "memory grew by ", growth, " MiB while a kernel was launched again and again; at most ", kMost, " are right")));
  }
  return growth;
}

}  // namespace

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

std::vector<double> Samples(int count, const std::function<double()>& sample) {
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) samples.push_back(sample());
  return samples;
}

double TimeLoad(const Device& device) {
  // Saxpy alone.
  const std::string_view all = kPtx;
  const size_t begin = all.find(".visible .entry saxpy("), end = all.find("\n}\n", begin);
  const std::string ptx =
      absl::StrCat(".version 9.0\n.target sm_75\n.address_size 64\n", std::string(all.substr(begin, end + 3 - begin)));
  const Clock::time_point start = Clock::now();
  const Module module = Must(Module::LoadPtx(device, ptx));
  return Nanoseconds(start) * 1e-6;
}

const std::vector<Overhead>& Overheads() {
  static const auto* const overheads = new std::vector<Overhead>{
      {"empty launch and synchronize, one block", EmptyLaunch, "ns"},
      {"launch while a worker is awake", LaunchWhileAwake, "ns"},
      {"launch that wakes a worker", LaunchThatWakes, "ns"},
      {"launch, one of 1,000 in a burst", LaunchInBurst, "ns"},
      {"barrier, 32 threads, for each", StructuredBarrier<32>, "ns"},
      {"barrier, 256 threads, for each", StructuredBarrier<256>, "ns"},
      {"barrier, 1024 threads, for each", StructuredBarrier<1024>, "ns"},
      {"barrier after divergence, 32 threads, for each", DivergedBarrier<32>, "ns"},
      {"barrier after divergence, 256 threads, for each", DivergedBarrier<256>, "ns"},
      {"barrier after divergence, 1024 threads, for each", DivergedBarrier<1024>, "ns"},
      {"sum over a block of 256 by warp shuffles", BlockSum, "ns"},
      {"loading a module of one small kernel, again", Load, "ms"},
      {"growth of memory over 1,000,000 launches", Growth, "MiB"},
  };
  return *overheads;
}

}  // namespace slipway::cpu_kernels
