// Hooks: functions that are called before and after every launch, compile and load of the process, for profilers,
// tracers and tests. TraceWriter (trace.h) and the NVTX ranges stand on them.
//
//   HookRegistration hook = AddHook(HookPoint::kAfterLaunch, [](const HookEvent& event) {
//                             std::printf("%.*s\n", static_cast<int>(event.name.size()), event.name.data());
//                           }).value();
//
// Without hooks a launch pays one relaxed load and a branch that is never taken. With them, one atomic add and subtract
// for each call of a hook: running hooks takes no lock.
#ifndef SLIPWAY_HOOKS_H_
#define SLIPWAY_HOOKS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "slipway/device.h"
#include "slipway/driver_api.h"

namespace slipway {

// Where hooks are called. Points are bits, so that a hook may ask for several: kBeforeLaunch | kAfterLaunch.
enum class HookPoint : uint32_t {
  kBeforeLaunch = 1 << 0,  // A kernel is about to be given to the driver; arguments and configuration are checked.
  kAfterLaunch = 1 << 1,   // The driver took it, or refused it. It may not have begun to run.
  kBeforeGraphLaunch = 1 << 2,
  kAfterGraphLaunch = 1 << 3,
  kBeforeCompile = 1 << 4,
  kAfterCompile = 1 << 5,
  kBeforeLoad = 1 << 6,  // Code is about to be given to the driver; on the CPU device this is where it is translated.
  kAfterLoad = 1 << 7,
};
constexpr HookPoint operator|(HookPoint a, HookPoint b) {
  return static_cast<HookPoint>(static_cast<uint32_t>(a) | static_cast<uint32_t>(b));
}
constexpr bool Includes(HookPoint points, HookPoint point) {
  return (static_cast<uint32_t>(points) & static_cast<uint32_t>(point)) != 0;
}
inline constexpr HookPoint kAllHookPoints = static_cast<HookPoint>(0xff);

// What a hook is told. All that it refers to lives until the hook returns, and no longer.
struct HookEvent {
  HookPoint point = HookPoint::kBeforeLaunch;  // One bit.
  // Equal before and after, and for no other event of the process.
  uint64_t id = 0;
  // Launch and compile: the kernel's. Load: the names of the code's kernels, joined by ", ". Graph launch: "graph".
  std::string_view name;
  const Device* device = nullptr;  // Null for a compile, which is for no device in particular.

  // Launches only; `grid`, `block` and `shared_bytes` (dynamic, of a block) not of graphs.
  CUstream stream = nullptr;
  uint32_t grid[3] = {};
  uint32_t block[3] = {};
  uint32_t shared_bytes = 0;
  // The stream is being captured: the launch becomes a node of a graph and runs when the graph does. What a graph
  // launches is seen as one kBeforeGraphLaunch and kAfterGraphLaunch, not kernel by kernel.
  bool captured = false;

  // Load: the PTX that the driver is given, or made its machine code of. After a compile that succeeded: what it made.
  std::string_view code;
  // After a compile that succeeded: its stages in order, in microseconds, as in Inspection::times.
  absl::Span<const std::pair<std::string, double>> times;
  const absl::Status* status = nullptr;  // After: how it went. Null before.
};

// Called on the thread that launches, compiles or loads, possibly on several at once. Must not throw. It may use the
// driver and Slipway, but what it launches, compiles or loads itself is shown to no hook, so that a hook that launches
// does not call itself for ever.
using HookFunction = std::function<void(const HookEvent& event)>;

namespace internal {
struct HookSlot;  // driver/hooks.cc.
}

// A hook while it lives. Move-only; empty when made by default or moved from.
class HookRegistration {
 public:
  HookRegistration() = default;
  HookRegistration(HookRegistration&& other) noexcept;
  HookRegistration& operator=(HookRegistration&& other) noexcept;
  ~HookRegistration() { Remove(); }

  // Removes the hook; nothing if empty. When this returns no call of the hook is running or will begin, and its
  // function is destroyed, so what it refers to may go. So the caller must hold no lock that the hook takes.
  //
  // Within a hook (any hook), it cannot wait: no new call will begin on this thread, but calls on other threads may
  // still run; the last of them to return destroys the function.
  void Remove();

 private:
  friend absl::StatusOr<HookRegistration> AddHook(HookPoint points, HookFunction function);
  HookRegistration(internal::HookSlot* slot, uint64_t generation) : slot_(slot), generation_(generation) {}

  internal::HookSlot* slot_ = nullptr;
  uint64_t generation_ = 0;
};

// Calls `function` at each of `points` from now on, while the registration lives. Thread-safe. Hooks of one point are
// called in no promised order. One that is added or removed between a before and its after sees only one of the two.
// INVALID_ARGUMENT if `points` is none of HookPoint's or `function` is empty.
[[nodiscard]] absl::StatusOr<HookRegistration> AddHook(HookPoint points, HookFunction function);

namespace internal {

// The points that some hook asked for. Written under a lock; launches load it relaxed: a launch that runs while a hook
// is being added may miss it.
inline std::atomic<uint32_t> hooked_points{0};

inline bool Hooked(HookPoint points) {
  return (hooked_points.load(std::memory_order_relaxed) & static_cast<uint32_t>(points)) != 0;
}
// Whether a launch has hooks to call: what the slow road asks.
inline bool LaunchHooked() { return Hooked(HookPoint::kBeforeLaunch | HookPoint::kAfterLaunch); }
// The one test on a launch's way, made together with another: not 0 if there is a hook of any kind, which sends the
// launch to the slow road.
inline uint64_t AnyHooks() { return hooked_points.load(std::memory_order_relaxed); }

uint64_t NewHookId();

// Calls the hooks of event.point.
void RunHooks(const HookEvent& event);

// Does `work`, which returns its Status, between the hooks of event.point and those of `after`. The event needs no id.
template <class Work>
absl::Status WithHooks(HookEvent event, HookPoint after, const Work& work) {
  if (!Hooked(event.point | after)) return work();
  event.id = NewHookId();
  RunHooks(event);
  const absl::Status status = work();
  event.point = after;
  event.status = &status;
  RunHooks(event);
  return status;
}

}  // namespace internal
}  // namespace slipway

#endif  // SLIPWAY_HOOKS_H_
