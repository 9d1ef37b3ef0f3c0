// Threads that run native loops: started once, and awake while they are measured, so that a loop is not charged for
// starting or waking them.
#ifndef SLIPWAY_BENCHMARKS_CPU_KERNELS_WORKERS_H_
#define SLIPWAY_BENCHMARKS_CPU_KERNELS_WORKERS_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace slipway::cpu_kernels {

// Does one of so many parts of something.
using Part = void (*)(void* data, int part, int parts);

class Workers {
 public:
  explicit Workers(int count);  // The caller is one of them.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int count() const { return static_cast<int>(threads_.size()) + 1; }

  // Between the two the others look for work all the time; outside they sleep, and Run must not be called.
  void Wake();
  void LetSleep();

  // f(part, parts) for each part, on a thread each; returns when all have.
  template <class F>
  void Run(F&& f) {
    RunParts([](void* data, int part, int parts) { (*static_cast<F*>(data))(part, parts); }, &f);
  }

 private:
  void RunParts(Part part, const void* data);
  void Work(int part);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> awake_ = false;
  std::atomic<bool> stop_ = false;
  // Of the round that is running. Alone on their lines: one is written by the caller, the other by all.
  alignas(64) std::atomic<uint64_t> round_ = 0;
  Part part_ = nullptr;
  void* data_ = nullptr;
  alignas(64) std::atomic<int> running_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace slipway::cpu_kernels

#endif  // SLIPWAY_BENCHMARKS_CPU_KERNELS_WORKERS_H_
