#include "driver/device_times.h"

#include <chrono>
#include <optional>
#include <utility>

#include "slipway/graph.h"

namespace slipway {
namespace {

// Waits and queries are forbidden on a thread while a stream is captured, even where it is another one that is timed:
// the program's capture would become invalid by being traced.
using internal::RelaxedCapture;

// An event that has just happened on the device.
absl::StatusOr<Event> EventNow(const Device& device) {
  absl::StatusOr<Stream> stream = device.CreateStream();
  if (!stream.ok()) return stream.status();
  absl::StatusOr<Event> event = Event::Create(device);
  if (!event.ok()) return event.status();
  if (absl::Status status = event->Record(*stream); !status.ok()) return status;
  if (absl::Status status = event->Synchronize(); !status.ok()) return status;
  return event;
}

// After so many microseconds an origin is taken anew: an EventElapsedTime of 4 seconds, a float of milliseconds, is
// good to a quarter of a microsecond.
constexpr double kOriginLasts = 4e6;

}  // namespace

double HostMicroseconds() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::shared_ptr<const DeviceTimes::Origin> DeviceTimes::OriginOf(const Device& device) {
  std::shared_ptr<const Origin>& origin = origins_[device.id()];
  if (origin == nullptr || HostMicroseconds() - origin->time > kOriginLasts) {
    absl::StatusOr<Event> now = EventNow(device);
    if (now.ok()) origin = std::make_shared<const Origin>(Origin{*std::move(now), HostMicroseconds()});
  }
  return origin;
}

std::optional<DeviceTimes::Pair> DeviceTimes::TakePair(const Device& device) {
  std::vector<Pair>& spare = spare_[device.id()];
  if (!spare.empty()) {
    Pair pair = std::move(spare.back());
    spare.pop_back();
    return pair;
  }
  absl::StatusOr<Event> begin = Event::Create(device);
  absl::StatusOr<Event> end = Event::Create(device);
  if (!begin.ok() || !end.ok()) return std::nullopt;
  return Pair{*std::move(begin), *std::move(end)};
}

void DeviceTimes::Begin(const HookEvent& event) {
  const RelaxedCapture relaxed(event.device->api());
  std::shared_ptr<const Origin> origin = OriginOf(*event.device);
  if (origin == nullptr) return;
  std::optional<Pair> pair = TakePair(*event.device);
  if (!pair.has_value() || !pair->begin.Record(Stream::Foreign(*event.device, event.stream)).ok()) return;
  DeviceSpan span = {
      .id = event.id, .name = std::string(event.name), .device_id = event.device->id(), .stream = event.stream};
  begun_.emplace(event.id, Timed{std::move(span), std::move(origin), *std::move(pair)});
}

void DeviceTimes::End(const HookEvent& event) {
  auto begun = begun_.extract(event.id);
  if (begun.empty()) return;
  Timed timed = std::move(begun.mapped());
  if (event.status->ok() && timed.pair.end.Record(Stream::Foreign(*event.device, event.stream)).ok()) {
    waiting_.push_back(std::move(timed));
  } else {
    spare_[timed.span.device_id].push_back(std::move(timed.pair));
  }
}

std::vector<DeviceSpan> DeviceTimes::TakeFinished(bool wait) {
  std::vector<DeviceSpan> spans;
  while (!waiting_.empty()) {
    Timed& timed = waiting_.front();
    const RelaxedCapture relaxed(timed.pair.end.device().api());
    if (!wait) {
      const absl::StatusOr<bool> done = timed.pair.end.Query();
      if (done.ok() && !*done) break;
    } else {
      // Work that failed shows below, where its times cannot be read.
      static_cast<void>(timed.pair.end.Synchronize());
    }
    const absl::StatusOr<float> begin = timed.pair.begin.MillisecondsSince(timed.origin->event);
    const absl::StatusOr<float> duration = timed.pair.end.MillisecondsSince(timed.pair.begin);
    if (begin.ok() && duration.ok()) {
      timed.span.begin = timed.origin->time + 1000.0 * *begin;
      timed.span.duration = 1000.0 * *duration;
      spans.push_back(std::move(timed.span));
    }
    spare_[timed.span.device_id].push_back(std::move(timed.pair));
    waiting_.pop_front();
  }
  return spans;
}

}  // namespace slipway
