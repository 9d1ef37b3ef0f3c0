// Runs launch cases so that their instructions can be counted: tools/count_launch_instructions runs this under
// callgrind, which counts apart what happens inside of each SlipwayMeasuredRun.
//
//   launch_count --list                    each path and case, a line
//   launch_count [--path P] [--case C]     each row of them (every one of its path, of its case): after a warm-up, a
//                                          run of kFew launches and one of kMany; prints the row, both numbers, and the
//                                          heap allocations that each run made
//                [--loaded N]              the same, with N other kernels loaded
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <thread>

#include "benchmarks/launch_cases.h"
#include "slipway/null_driver.h"

namespace {

using slipway::launch_cases::Run;

std::atomic<long> allocations{0};  // NOLINT(google-runtime-int): printed with %ld.

// Whole rounds of the ring, so that the difference is the mean of the ring's launches, exactly.
constexpr int64_t kWarmUp = 64, kFew = 160, kMany = 1760;

}  // namespace

void* operator new(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  std::abort();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

// Known to callgrind by this name.
extern "C" [[gnu::noinline]] void SlipwayMeasuredRun(const Run& run, const slipway::Stream& stream, int64_t launches) {
  run(stream, launches);
}

int main(int argc, char** argv) {
  using namespace slipway::launch_cases;
  std::string only_path, only_case;
  bool list = false;
  long loaded = 0;  // NOLINT(google-runtime-int): as strtol gives it.
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--list") {
      list = true;
    } else if (argument == "--path" && i + 1 < argc) {
      only_path = argv[++i];
    } else if (argument == "--case" && i + 1 < argc) {
      only_case = argv[++i];
    } else if (argument == "--loaded" && i + 1 < argc) {
      loaded = std::strtol(argv[++i], nullptr, 10);
    } else {
      std::fputs("usage: launch_count [--list] [--path PATH] [--case CASE] [--loaded N]\n", stderr);
      return 2;
    }
  }
  setenv("SLIPWAY_LAUNCH_WARNINGS", "off", /*replace=*/0);  // Launches are small here, and are to be.
  const Bench bench(slipway::Device::Open(slipway::NullDriver()).value());
  // In a process that never had a second thread, the C library and reference counts leave atomics and lock prefixes
  // out, and what costs a program with threads would not be seen.
  std::thread([] {}).join();
  KeepLoaded(bench.device, static_cast<size_t>(loaded));
  int rows = 0;
  for (const LaunchCase& row : AllLaunchCases()) {
    if (!only_path.empty() && row.path != only_path) continue;
    if (!only_case.empty() && row.name != only_case) continue;
    ++rows;
    std::printf("%s %s", row.path.c_str(), row.name.c_str());
    if (!list) {
      const Run run = row.prepare(bench);
      run(bench.stream, kWarmUp);
      for (const int64_t launches : {kFew, kMany}) {
        const auto before = allocations.load();
        SlipwayMeasuredRun(run, bench.stream, launches);
        std::printf(" %ld %ld", static_cast<long>(launches), allocations.load() - before);  // NOLINT
      }
    }
    std::puts("");
  }
  if (rows > 0) return 0;
  std::fputs("launch_count: no such row; --list names them\n", stderr);
  return 2;
}
