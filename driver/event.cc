#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/host_function.h"
#include "driver/retired.h"
#include "driver/status_macros.h"
#include "slipway/graph.h"
#include "slipway/stream.h"

namespace slipway {

absl::StatusOr<Event> Event::Create(const Device& device, bool timing) {
  const ScopedContext current(*device.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  CUevent handle = nullptr;
  const CUresult result = device.api().EventCreate(&handle, timing ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING);
  if (result != CUDA_SUCCESS) {
    return DriverStatus(device.api(), result, absl::StrCat("cannot create an event on ", device.Describe()));
  }
  return Event(device, handle);
}

Event::Event(Event&& other) noexcept
    : device_(std::move(other.device_)),
      handle_(std::exchange(other.handle_, nullptr)),
      capture_(std::move(other.capture_)) {}

Event& Event::operator=(Event&& other) noexcept {
  if (this == &other) return *this;
  Destroy();
  device_ = std::move(other.device_);
  handle_ = std::exchange(other.handle_, nullptr);
  capture_ = std::move(other.capture_);
  return *this;
}

Event::~Event() { Destroy(); }

void Event::Destroy() {
  const CUevent handle = std::exchange(handle_, nullptr);
  if (handle == nullptr) return;
  const ScopedContext current(*device_.state());
  // As for streams: an event goes with its context.
  if (current.ok()) static_cast<void>(device_.api().EventDestroy(handle));
}

std::shared_ptr<internal::CaptureRecord> Event::capture() const {
  std::lock_guard<std::mutex> lock(capture_mutex_);
  return capture_;
}

absl::Status Event::CheckNotCaptured(const char* what) const {
  if (capture() == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(what,
                   ": the event was last recorded in a stream that was captured, and stands for no work that ran; "
                   "record it again, outside of the capture"));
}

absl::Status Event::Record(const Stream& stream) const {
  SLIPWAY_RETURN_IF_ERROR(stream.CheckUsable());
  if (!(stream.device() == device_)) {
    return absl::InvalidArgumentError(absl::StrCat("Event::Record: the stream belongs to ", stream.device().Describe(),
                                                   " and the event to ", device_.Describe(),
                                                   "; create the event on the stream's device"));
  }
  const ScopedContext current(*device_.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  std::shared_ptr<internal::CaptureRecord> capture = stream.capture();
  SLIPWAY_RETURN_IF_ERROR(
      DriverStatus(device_.api(), device_.api().EventRecord(handle_, stream.handle()), "cannot record an event"));
  std::lock_guard<std::mutex> lock(capture_mutex_);
  capture_.swap(capture);
  return absl::OkStatus();
}

absl::Status Event::Synchronize() const {
  SLIPWAY_RETURN_IF_ERROR(CheckNotCaptured("Event::Synchronize"));
  const ScopedContext current(*device_.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  const CUresult result = device_.api().EventSynchronize(handle_);
  if (result == CUDA_SUCCESS) {
    internal::Reap();
    return absl::OkStatus();
  }
  absl::Status status = DriverStatus(device_.api(), result, "the work before an event failed");
  internal::DropHostFunctionsIfLost(*device_.state(), status);
  return status;
}

absl::StatusOr<bool> Event::Query() const {
  SLIPWAY_RETURN_IF_ERROR(CheckNotCaptured("Event::Query"));
  const ScopedContext current(*device_.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  const CUresult result = device_.api().EventQuery(handle_);
  if (result == CUDA_SUCCESS) return true;
  if (result == CUDA_ERROR_NOT_READY) return false;
  return DriverStatus(device_.api(), result, "the work before an event failed");
}

absl::StatusOr<float> Event::MillisecondsSince(const Event& start) const {
  if (!(start.device() == device_)) {
    return absl::InvalidArgumentError(absl::StrCat("Event::MillisecondsSince: the events belong to ",
                                                   start.device().Describe(), " and ", device_.Describe(),
                                                   "; time can be measured on one device only"));
  }
  for (const Event* event : {&start, this}) {
    SLIPWAY_RETURN_IF_ERROR(event->CheckNotCaptured("Event::MillisecondsSince"));
  }
  const ScopedContext current(*device_.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  float milliseconds = 0;
  SLIPWAY_RETURN_IF_ERROR(
      DriverStatus(device_.api(), device_.api().EventElapsedTime(&milliseconds, start.handle_, handle_),
                   "no time between two events (both must have timing, be recorded and be finished)"));
  return milliseconds;
}

}  // namespace slipway
