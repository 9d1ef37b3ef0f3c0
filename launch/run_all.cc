#include "launch/run_all.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

namespace slipway::internal {
namespace {

struct Job {
  absl::FunctionRef<absl::Status(size_t)> work;
  std::vector<absl::Status> results;
  std::atomic<size_t> next{0};

  void Take() {
    for (size_t i = next++; i < results.size(); i = next++) results[i] = work(i);
  }
};

}  // namespace

absl::Status RunAll(size_t count, absl::FunctionRef<absl::Status(size_t)> work) {
  Job job{work, std::vector<absl::Status>(count)};
  const auto take = [](void* self) -> void* {
    static_cast<Job*>(self)->Take();
    return nullptr;
  };
  // Not std::thread, which ends a process without exceptions where no more threads are to be had.
  std::vector<pthread_t> others;
  const size_t threads = std::min<size_t>(count, std::thread::hardware_concurrency());
  for (pthread_t thread; others.size() + 1 < threads && pthread_create(&thread, nullptr, take, &job) == 0;) {
    others.push_back(thread);
  }
  job.Take();
  for (const pthread_t thread : others) pthread_join(thread, nullptr);
  for (absl::Status& result : job.results) {
    if (!result.ok()) return std::move(result);
  }
  return absl::OkStatus();
}

}  // namespace slipway::internal
