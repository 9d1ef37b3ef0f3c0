// Runs one launch case a given number of times and prints how many heap allocations that took; tools/
// count_launch_instructions runs it under callgrind with two numbers and takes the difference.
//
//   launch_count --list               each path and case, a line
//   launch_count PATH CASE LAUNCHES   prints the allocations made after the first launch
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "benchmarks/launch_cases.h"

namespace {

std::atomic<long> allocations{0};  // NOLINT(google-runtime-int): printed with %ld.

}  // namespace

void* operator new(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  std::abort();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

int main(int argc, char** argv) {
  using namespace slipway::launch_cases;
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
    for (const LaunchCase& row : AllLaunchCases()) std::printf("%s %s\n", row.path, row.name);
    return 0;
  }
  if (argc != 4) {
    std::fputs("usage: launch_count --list | launch_count PATH CASE LAUNCHES\n", stderr);
    return 2;
  }
  for (const LaunchCase& row : AllLaunchCases()) {
    if (std::strcmp(row.path, argv[1]) != 0 || std::strcmp(row.name, argv[2]) != 0) continue;
    const Bench bench = Bench::Make();
    row.run(bench, 1);  // Loads the kernel.
    const auto before = allocations.load();
    row.run(bench, std::atoll(argv[3]));
    std::printf("%ld\n", allocations.load() - before);
    return 0;
  }
  std::fprintf(stderr, "launch_count: no case '%s %s'; --list names them\n", argv[1], argv[2]);
  return 2;
}
