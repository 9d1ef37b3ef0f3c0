// Hooks live in slots of a list that only grows, so that whoever runs hooks can walk it without a lock. A slot whose
// hook was removed is used again.
//
// Removal against running is decided by two words of the slot, as in Dekker's algorithm, both sequentially consistent:
// a runner counts itself in and then looks whether the slot still has points; a remover takes the points away and then
// looks whether a runner is counted in. So either the runner sees that it must not call, or the remover sees that it
// must wait. The function is destroyed by whoever finds the slot removed and nobody counted in, exactly once.
#include "slipway/hooks.h"

#include <cstddef>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"

namespace slipway {

using internal::HookSlot;

struct internal::HookSlot {
  static constexpr uint64_t kRemoved = uint64_t{1} << 63;  // Of `runners`: the hook was removed, and is not destroyed.
  static constexpr uint64_t kDestroying = uint64_t{1} << 62;  // Of `runners`: its function is being destroyed.

  std::atomic<uint32_t> points{0};
  std::atomic<uint64_t> runners{0};     // How many are counted in, and the flags.
  std::atomic<uint64_t> generation{0};  // How many hooks were here and are destroyed.
  HookFunction function;
  bool taken = true;  // Guarded by the list's mutex.
  HookSlot* next = nullptr;

  // Destroys a removed hook's function if nobody is counted in.
  void DestroyIfIdle();
};

namespace {

struct HookList {
  std::atomic<HookSlot*> first{nullptr};
  std::mutex mutex;  // Guards changes.

  // Called with the mutex held.
  void UpdatePoints() {
    uint32_t points = 0;
    for (const HookSlot* slot = first.load(std::memory_order_relaxed); slot != nullptr; slot = slot->next) {
      points |= slot->points.load(std::memory_order_relaxed);
    }
    internal::hooked_points.store(points, std::memory_order_relaxed);
  }
};

// Never destroyed: a registration may go, or a thread launch, during static destruction.
HookList& TheHooks() {
  static auto* list = new HookList;
  return *list;
}

// Whether this thread is running hooks.
thread_local bool running_hooks = false;

}  // namespace

void HookSlot::DestroyIfIdle() {
  uint64_t idle = kRemoved;
  if (!runners.compare_exchange_strong(idle, kDestroying)) return;
  function = nullptr;
  runners.fetch_and(~kDestroying);
  HookList& list = TheHooks();
  std::lock_guard<std::mutex> lock(list.mutex);
  taken = false;
  // Within the lock: once the slot is taken again it counts for another hook.
  generation.fetch_add(1);
  generation.notify_all();
}

HookRegistration::HookRegistration(HookRegistration&& other) noexcept
    : slot_(std::exchange(other.slot_, nullptr)), generation_(other.generation_) {}

HookRegistration& HookRegistration::operator=(HookRegistration&& other) noexcept {
  if (this == &other) return *this;
  Remove();
  slot_ = std::exchange(other.slot_, nullptr);
  generation_ = other.generation_;
  return *this;
}

void HookRegistration::Remove() {
  HookSlot* const slot = std::exchange(slot_, nullptr);
  if (slot == nullptr) return;
  HookList& list = TheHooks();
  {
    std::lock_guard<std::mutex> lock(list.mutex);
    slot->points.store(0);
    list.UpdatePoints();
  }
  slot->runners.fetch_or(HookSlot::kRemoved);
  slot->DestroyIfIdle();
  if (running_hooks) return;
  slot->generation.wait(generation_);
}

absl::StatusOr<HookRegistration> AddHook(HookPoint points, HookFunction function) {
  if (!Includes(kAllHookPoints, points) ||
      Includes(static_cast<HookPoint>(~static_cast<uint32_t>(kAllHookPoints)), points)) {
    return absl::InvalidArgumentError(absl::StrCat("AddHook: the points are ", static_cast<uint32_t>(points),
                                                   "; give one or more of HookPoint's, joined by |"));
  }
  if (function == nullptr) {
    return absl::InvalidArgumentError("AddHook: the function is empty; give one to call with each HookEvent");
  }
  HookList& list = TheHooks();
  std::lock_guard<std::mutex> lock(list.mutex);
  HookSlot* slot = list.first.load(std::memory_order_relaxed);
  while (slot != nullptr && slot->taken) slot = slot->next;
  if (slot == nullptr) {
    slot = new HookSlot;
    slot->next = list.first.load(std::memory_order_relaxed);
    list.first.store(slot, std::memory_order_release);
  }
  slot->taken = true;
  slot->function = std::move(function);
  slot->points.store(static_cast<uint32_t>(points));  // Publishes the function.
  list.UpdatePoints();
  return HookRegistration(slot, slot->generation.load());
}

namespace internal {

uint64_t NewHookId() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void RunHooks(const HookEvent& event) {
  if (running_hooks || !Hooked(event.point)) return;
  running_hooks = true;
  const auto point = static_cast<uint32_t>(event.point);
  for (HookSlot* slot = TheHooks().first.load(std::memory_order_acquire); slot != nullptr; slot = slot->next) {
    if ((slot->points.load(std::memory_order_relaxed) & point) == 0) continue;
    slot->runners.fetch_add(1);
    if ((slot->points.load() & point) != 0) slot->function(event);
    if (slot->runners.fetch_sub(1) - 1 == HookSlot::kRemoved) slot->DestroyIfIdle();
  }
  running_hooks = false;
}

}  // namespace internal
}  // namespace slipway
