// Stands in for benchmarks/launch_count: rows whose cost is known, so that launch_counts_test.py can see what the
// counting sees. Prints what launch_count prints.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>

namespace {

std::atomic<int64_t> atomic{0};
std::mutex mutex;

void Plain(int64_t launches) {
  for (int64_t i = 0; i < launches; ++i) asm volatile("nop\n nop\n nop");
}
void Dearer(int64_t launches) {
  for (int64_t i = 0; i < launches; ++i) asm volatile("nop\n nop\n nop\n nop\n nop");
}
void Atomic(int64_t launches) {
  for (int64_t i = 0; i < launches; ++i) atomic.fetch_add(1);
}
void Exchange(int64_t launches) {
  for (int64_t i = 0; i < launches; ++i) atomic.exchange(i);
}
void Locked(int64_t launches) {
  for (int64_t i = 0; i < launches; ++i) std::lock_guard<std::mutex> lock(mutex);
}

}  // namespace

extern "C" [[gnu::noinline]] void SlipwayMeasuredRun(void (*run)(int64_t), int64_t launches) { run(launches); }

// With --loaded, launches of the row `typed` are dearer.
int main(int argc, char** argv) {
  const bool loaded = argc > 1 && std::strcmp(argv[1], "--loaded") == 0;
  std::thread([] {}).join();  // As in launch_count: a process that never had threads leaves lock prefixes out.
  const struct {
    const char* row;
    void (*run)(int64_t);
    int64_t allocations;  // Claimed, a launch.
  } rows[] = {{"bare_buffer 0", Dearer, 0}, {"bare_params 0", Plain, 0}, {"typed 0", loaded ? Dearer : Plain, 1},
              {"atomic 0", Atomic, 0},      {"exchange 0", Exchange, 0}, {"locked 0", Locked, 0}};
  for (const auto& [row, run, allocations] : rows) {
    std::printf("%s", row);
    for (const int64_t launches : {16, 1616}) {
      SlipwayMeasuredRun(run, launches);
      std::printf(" %lld %lld", static_cast<long long>(launches), static_cast<long long>(launches * allocations));
    }
    std::puts("");
  }
}
