#include "slipway/stream.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/status_macros.h"

namespace slipway {
namespace {

// The handles that stand for a default stream of whatever context is current.
bool IsDefault(CUstream handle) { return handle == nullptr || handle == kStreamLegacy || handle == kStreamPerThread; }

}  // namespace

Stream::Stream(Device device, CUstream handle, bool owned)
    : device_(std::move(device)),
      handle_(handle),
      owned_(owned),
      direct_device_(IsDefault(handle) ? nullptr : device_.state().get()) {}

Stream Stream::Foreign(Device device, CUstream handle) { return Stream(std::move(device), handle, /*owned=*/false); }

Stream::Stream(Stream&& other) noexcept
    : device_(std::move(other.device_)),
      handle_(other.handle_),
      owned_(std::exchange(other.owned_, false)),
      direct_device_(other.direct_device_) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  if (this == &other) return *this;
  Destroy();
  device_ = std::move(other.device_);
  handle_ = other.handle_;
  owned_ = std::exchange(other.owned_, false);
  direct_device_ = other.direct_device_;
  return *this;
}

Stream::~Stream() { Destroy(); }

void Stream::Destroy() {
  if (!std::exchange(owned_, false)) return;
  const ScopedContext current(*device_.state());
  // A stream goes with its context: where that cannot be made current, there is nothing left to destroy.
  if (current.ok()) static_cast<void>(device_.api().StreamDestroy(handle_));
}

absl::Status Stream::Synchronize() const {
  const ScopedContext current(*device_.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  const CUresult result = device_.api().StreamSynchronize(handle_);
  if (result == CUDA_SUCCESS) return absl::OkStatus();
  return DriverStatus(device_.api(), result, absl::StrCat("work on a stream of ", device_.Describe(), " failed"));
}

absl::StatusOr<bool> Stream::Query() const {
  const ScopedContext current(*device_.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  const CUresult result = device_.api().StreamQuery(handle_);
  if (result == CUDA_SUCCESS) return true;
  if (result == CUDA_ERROR_NOT_READY) return false;
  return DriverStatus(device_.api(), result, absl::StrCat("work on a stream of ", device_.Describe(), " failed"));
}

absl::Status Stream::Wait(const Event& event) const {
  if (&event.device().api() != &device_.api()) {
    return absl::InvalidArgumentError(absl::StrCat("Stream::Wait: the event belongs to ", event.device().Describe(),
                                                   " and the stream to ", device_.Describe(),
                                                   ", which is another driver; synchronize the event on the host"));
  }
  const ScopedContext current(*device_.state());
  SLIPWAY_RETURN_IF_ERROR(current.status());
  return DriverStatus(device_.api(), device_.api().StreamWaitEvent(handle_, event.handle(), 0),
                      "cannot make a stream wait for an event");
}

}  // namespace slipway
