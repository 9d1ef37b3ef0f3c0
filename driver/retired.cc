#include "driver/retired.h"

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "slipway/graph.h"

namespace slipway::internal {
namespace {

struct Retired {
  std::shared_ptr<const Event> event;  // Null: due at once.
  std::shared_ptr<const void> object;
};

struct RetiredList {
  std::mutex mutex;
  std::vector<Retired> entries;
  std::atomic<size_t> size{0};  // Of `entries`, to be read without the lock.
};

// Never destroyed: handles may go during static destruction.
RetiredList& TheList() {
  static auto* list = new RetiredList;
  return *list;
}

thread_local bool in_host_function = false;

void Add(Retired retired) {
  RetiredList& list = TheList();
  std::lock_guard<std::mutex> lock(list.mutex);
  list.entries.push_back(std::move(retired));
  list.size.store(list.entries.size(), std::memory_order_relaxed);
}

bool IsDue(const Retired& retired) {
  if (retired.event == nullptr) return true;
  // Asking is forbidden in a capture, though not to do with it.
  const RelaxedCapture relaxed(retired.event->device().api());
  const absl::StatusOr<bool> finished = retired.event->Query();
  return !finished.ok() || *finished;  // A device that failed runs nothing more.
}

}  // namespace

void DestroyAfter(std::shared_ptr<const Event> event, std::shared_ptr<const void> object) {
  Retired retired{std::move(event), std::move(object)};
  if (in_host_function || !IsDue(retired)) Add(std::move(retired));
}

void DestroyLater(std::shared_ptr<const void> object) { Add({nullptr, std::move(object)}); }

void Reap() {
  RetiredList& list = TheList();
  if (list.size.load(std::memory_order_relaxed) == 0 || in_host_function) return;
  std::vector<Retired> entries;
  {
    std::lock_guard<std::mutex> lock(list.mutex);
    entries.swap(list.entries);
    list.size.store(0, std::memory_order_relaxed);
  }
  // Without the lock: destroying may retire more.
  for (Retired& retired : entries) {
    if (!IsDue(retired)) Add(std::move(retired));
  }
}

InHostFunction::InHostFunction() : outer_(std::exchange(in_host_function, true)) {}
InHostFunction::~InHostFunction() { in_host_function = outer_; }

}  // namespace slipway::internal
