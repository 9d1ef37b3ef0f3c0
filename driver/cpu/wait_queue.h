// A condition variable that survives fork() and waits with a deadline, on a futex.
//
// std::condition_variable does neither reliably: after fork() the child's copy remembers waiters that do not exist and
// may hand them a wake-up meant for a living thread.
#ifndef SLIPWAY_DRIVER_CPU_WAIT_QUEUE_H_
#define SLIPWAY_DRIVER_CPU_WAIT_QUEUE_H_

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <mutex>

namespace slipway::cpu {

// Every call is made with the same mutex held. May wake without cause: wait in a loop.
class WaitQueue {
 public:
  // Releases the lock while waiting. Returns false if `microseconds` passed (0: no limit) without a notification.
  bool Wait(std::unique_lock<std::mutex>& lock, uint32_t microseconds = 0) {
    uint32_t seen = epoch_.load(std::memory_order_relaxed);
    ++sleepers_;
    lock.unlock();
    timespec limit = {static_cast<time_t>(microseconds / 1000000), static_cast<int32_t>(microseconds % 1000000) * 1000};
    // Private futex; returns at once if a notification has changed the epoch since the lock was released.
    syscall(SYS_futex, &epoch_, FUTEX_WAIT_PRIVATE, seen, microseconds == 0 ? nullptr : &limit, nullptr, 0);
    lock.lock();
    --sleepers_;
    return epoch_.load(std::memory_order_relaxed) != seen;
  }

  void NotifyOne() { Wake(1); }
  void NotifyAll() { Wake(INT_MAX); }

  // Threads inside Wait; some of them may have been notified and not yet run.
  int sleepers() const { return sleepers_; }
  // In the child of a fork, whose only thread is not waiting.
  void ForgetSleepers() { sleepers_ = 0; }

 private:
  void Wake(int count) {
    if (sleepers_ == 0) return;
    epoch_.fetch_add(1, std::memory_order_relaxed);
    syscall(SYS_futex, &epoch_, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
  }

  std::atomic<uint32_t> epoch_ = 0;
  int sleepers_ = 0;
};

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_WAIT_QUEUE_H_
