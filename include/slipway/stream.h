// In-order queues of device work, and events that mark points in them.
//
//   Stream stream = device.CreateStream().value();
//   kernel(stream, ForSize(n), y, x, 2.0f);
//   absl::Status done = stream.Synchronize();     // also reports what went wrong while the work ran
#ifndef SLIPWAY_STREAM_H_
#define SLIPWAY_STREAM_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/device.h"

namespace slipway {

class Event;

// Move-only; one that was moved from may only be destroyed or assigned. Destroying an owning Stream does not wait: work
// already queued still runs. Thread-safe, as CUstream is.
class Stream {
 public:
  // Wraps a stream that someone else made and will destroy (kStreamLegacy and kStreamPerThread too).
  static Stream Foreign(Device device, CUstream handle);

  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  ~Stream();

  CUstream handle() const { return handle_; }
  const Device& device() const { return device_; }
  // A default stream: the driver wants the device's context current for every call on it.
  bool needs_context() const { return direct_device_ == nullptr; }
  // The device's state where launches need no context, else nullptr: a launch compares it with its kernel's device and
  // so checks both that the stream is of that device and that it may go straight to the driver.
  const DeviceState* direct_device() const { return direct_device_; }

  absl::Status Synchronize() const;
  // Whether everything queued so far has finished; an error if it failed.
  absl::StatusOr<bool> Query() const;
  // Work queued on this stream from now on waits for `event`, of this device or another of the same driver;
  // INVALID_ARGUMENT for an event of another driver.
  absl::Status Wait(const Event& event) const;

 private:
  friend class Device;
  Stream(Device device, CUstream handle, bool owned);
  void Destroy();
  Device device_;
  CUstream handle_;
  bool owned_;
  const DeviceState* direct_device_;
};

// A point in a stream. Move-only; one that was moved from may only be destroyed or assigned. Thread-safe, as CUevent
// is.
class Event {
 public:
  // `timing` costs the device a time stamp at each Record.
  static absl::StatusOr<Event> Create(const Device& device, bool timing = true);
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  ~Event();

  CUevent handle() const { return handle_; }
  const Device& device() const { return device_; }

  // Moves the event to the end of what `stream` holds now. INVALID_ARGUMENT if the stream is of another device.
  absl::Status Record(const Stream& stream) const;
  // Waits until the work before the last Record has finished; returns at once if there was none.
  absl::Status Synchronize() const;
  // Whether that work has finished; an error if it failed.
  absl::StatusOr<bool> Query() const;
  // Milliseconds from `start` to this event; both made with timing, recorded and finished (UNAVAILABLE while they are
  // not; INVALID_ARGUMENT if they never will be, or belong to different devices).
  absl::StatusOr<float> MillisecondsSince(const Event& start) const;

 private:
  void Destroy();
  Event(Device device, CUevent handle) : device_(std::move(device)), handle_(handle) {}
  Device device_;
  CUevent handle_;
};

}  // namespace slipway

#endif  // SLIPWAY_STREAM_H_
