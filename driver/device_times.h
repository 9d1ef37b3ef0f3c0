// When devices ran what was launched, found by an event on each side of a launch.
#ifndef SLIPWAY_DRIVER_DEVICE_TIMES_H_
#define SLIPWAY_DRIVER_DEVICE_TIMES_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "slipway/device.h"
#include "slipway/hooks.h"
#include "slipway/stream.h"

namespace slipway {

// One launch as a device ran it. Times in microseconds of the host's clock.
struct DeviceSpan {
  uint64_t id = 0;  // The launch's HookEvent::id.
  std::string name;
  uint16_t device_id = 0;
  CUstream stream = nullptr;
  double begin = 0;
  double duration = 0;
};

// Not thread-safe. A launch whose events cannot be made or recorded is left out.
class DeviceTimes {
 public:
  // Around a launch that is not captured, with the same event; Begin() comes first and on the same thread.
  void Begin(const HookEvent& event);
  void End(const HookEvent& event);

  // Takes the spans of launches that have finished, in the order of their launch; with `wait`, of all, which blocks.
  // A launch that failed has none.
  std::vector<DeviceSpan> TakeFinished(bool wait);
  size_t waiting() const { return waiting_.size(); }

 private:
  // What times of one device are counted from: an event of which it is known when it was, on the host's clock.
  struct Origin {
    Event event;
    double time;  // Microseconds.
  };
  struct Pair {
    Event begin, end;
  };
  struct Timed {
    DeviceSpan span;
    std::shared_ptr<const Origin> origin;
    Pair pair;
  };
  std::shared_ptr<const Origin> OriginOf(const Device& device);
  std::optional<Pair> TakePair(const Device& device);

  std::map<uint16_t, std::shared_ptr<const Origin>> origins_;  // By device id.
  std::map<uint16_t, std::vector<Pair>> spare_;                // By device id: events to use again.
  std::map<uint64_t, Timed> begun_;                            // By launch, between Begin() and End().
  std::deque<Timed> waiting_;
};

// The host's clock that traces use: CLOCK_MONOTONIC in microseconds.
double HostMicroseconds();

}  // namespace slipway

#endif  // SLIPWAY_DRIVER_DEVICE_TIMES_H_
