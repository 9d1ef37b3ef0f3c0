#include "benchmarks/cpu_kernels/workers.h"

#include <sched.h>

namespace slipway::cpu_kernels {
namespace {

// Looks until `done`; lets others have the core now and then, where there are more threads than cores.
template <class Done>
void Spin(const Done& done) {
  constexpr int kLooks = 2000;
  while (!done()) {
    for (int i = 0; i < kLooks; ++i) {
      if (done()) return;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    sched_yield();
  }
}

}  // namespace

Workers::Workers(int count) {
  for (int part = 1; part < count; ++part) threads_.emplace_back([this, part] { Work(part); });
}

Workers::~Workers() {
  stop_ = true;
  Wake();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::Wake() {
  const std::lock_guard lock(mutex_);
  awake_ = true;
  changed_.notify_all();
}

void Workers::LetSleep() { awake_ = false; }

void Workers::RunParts(Part part, const void* data) {
  part_ = part;
  data_ = const_cast<void*>(data);
  running_.store(static_cast<int>(threads_.size()), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  part(data_, 0, count());
  Spin([&] { return running_.load(std::memory_order_acquire) == 0; });
}

void Workers::Work(int part) {
  uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return awake_.load(); });
    }
    for (;;) {
      Spin([&] { return round_.load(std::memory_order_acquire) != seen || stop_ || !awake_; });
      if (stop_) return;
      // A round that was begun is done, also where the sleep was ordered meanwhile.
      if (round_.load(std::memory_order_acquire) == seen) break;
      ++seen;
      part_(data_, part, count());
      running_.fetch_sub(1, std::memory_order_release);
    }
  }
}

}  // namespace slipway::cpu_kernels
