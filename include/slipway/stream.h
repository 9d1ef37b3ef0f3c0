// In-order queues of device work, and events that mark points in them.
//
//   Stream stream = device.CreateStream().value();
//   kernel(stream, ForSize(n), y, x, 2.0f);
//   absl::Status done = stream.Synchronize();     // also reports what went wrong while the work ran
//
// docs/streams.md tells what orders what; graph.h captures what a stream is given into a graph.
#ifndef SLIPWAY_STREAM_H_
#define SLIPWAY_STREAM_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/device.h"

namespace slipway {

class Event;
class Graph;

namespace internal {
class CaptureRecord;
class StreamErrors;
struct StreamOwner;

// What a launch gives a kernel that may raise an error, behind its other parameters; see driver/error_record.h.
struct ErrorWords {
  uint64_t gate = 0;
  uint64_t launch = 0;
};
}  // namespace internal

// Which threads may make calls that are unsafe in a capture, such as cuMemAlloc, while a stream is captured: numbers of
// CUstreamCaptureMode (CUDA Driver API, cuThreadExchangeStreamCaptureMode). Slipway's own allocations, loads and frees
// are allowed under each.
enum class CaptureMode {
  kGlobal = 0,       // None may. The thread that begins has to end the capture.
  kThreadLocal = 1,  // All but the one that begins, which has to end the capture.
  kRelaxed = 2,      // All may, and any may end the capture.
};

// Move-only; one that was moved from may only be destroyed or assigned: everything else returns an error. In debug
// builds (without NDEBUG) so does one that was destroyed, where its memory has not been used for something else yet.
// Destroying an owning Stream does not wait: work already queued still runs, and the driver's stream goes once memory
// that was allocated for it (memory.h) has. Thread-safe, as CUstream is.
class Stream {
 public:
  // Wraps a stream that someone else made and will destroy (kStreamLegacy and kStreamPerThread too). One that belongs
  // to another device's context, or to another context than the device's primary one, is refused by whatever is asked
  // of the result, naming both; the driver is asked once, here (drivers before CUDA 9.2 cannot tell). Captures that its
  // owner began are not known to Slipway: it keeps nothing alive for them.
  static Stream Foreign(Device device, CUstream handle);

  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  ~Stream();

  CUstream handle() const { return handle_; }
  const Device& device() const { return device_; }
  // A default stream: the driver wants the device's context current for every call on it.
  bool needs_context() const { return is_default_; }
  // The device's state where launches may go straight to the driver, else nullptr: the stream is a default one, is
  // captured, or cannot be used. So a launch, by one compare with its kernel's device, checks all of these and that the
  // stream is of that device.
  const DeviceState* direct_device() const { return direct_device_.load(std::memory_order_relaxed); }
  // FAILED_PRECONDITION where the stream was moved from or (in debug builds) destroyed; INVALID_ARGUMENT for a foreign
  // stream of another context.
  absl::Status CheckUsable() const;

  // Whom memory allocated for this stream keeps, so that it can be freed on it; null for what is not ours to destroy.
  const std::shared_ptr<const internal::StreamOwner>& owner() const { return owner_; }

  // The priority that the driver gave it: the one asked for, clamped to Device::PriorityRange.
  absl::StatusOr<int> Priority() const;

  // Waits for everything queued so far. FAILED_PRECONDITION while the stream is captured (and the capture goes on).
  // Where a kernel raised an error (Check in embedded/threads.h), that is returned, once: INVALID_ARGUMENT, "KERNEL:
  // MESSAGE (element I, block B, thread T)". Kernels with checks that were launched here after it have done nothing;
  // those that are launched from now on run again. docs/errors.md tells the whole.
  absl::Status Synchronize() const;
  // Whether everything queued so far has finished; an error if it failed, or if it has finished and a kernel raised
  // one, as Synchronize returns it. FAILED_PRECONDITION as for Synchronize.
  absl::StatusOr<bool> Query() const;
  // The error that kernels raised so far, or OK. Neither waits nor asks the driver, and takes nothing: Synchronize will
  // return that error or, where kernels still run, one that comes before it. FAILED_PRECONDITION for a stream that was
  // moved from.
  absl::Status CheckErrors() const;
  // Work queued on this stream from now on waits for `event`, of this device or another of the same driver;
  // INVALID_ARGUMENT for an event of another driver. An event that was recorded in a stream that is captured makes this
  // stream part of that capture, until it ends.
  absl::Status Wait(const Event& event) const;

  // Calls `function` on a thread of the driver's once everything queued so far has finished; what is queued after it
  // waits for it. In a captured stream it becomes a part of the graph, which owns it, and runs at every launch of that,
  // for several GraphExecs of the graph perhaps at the same time.
  //
  // It must not throw, nor call the driver, which most of Slipway does: nor drop the last handle of an array, a stream,
  // an event or a kernel. What it owns it may own: it is destroyed by a later call of this function, of a Synchronize
  // or of an allocation, never on the driver's thread. It is dropped without having run where the work is: the device
  // failed, or was closed. INVALID_ARGUMENT for an empty function.
  absl::Status AddHostFunction(std::function<void()> function) const;

  // From now on what is queued here is not run but recorded. FAILED_PRECONDITION if the stream is captured already;
  // INVALID_ARGUMENT for the legacy default stream, which cannot be. Graph::Capture does this and EndCapture in one.
  absl::Status BeginCapture(CaptureMode mode = CaptureMode::kThreadLocal) const;
  // The graph of what was recorded since BeginCapture, of this stream and those that came to wait for it; they have to
  // be waited for by this one. The stream is an ordinary one again, also where the driver refuses the graph, unless the
  // error says that another thread has to end the capture. FAILED_PRECONDITION if this stream did not begin a capture.
  absl::StatusOr<Graph> EndCapture() const;
  bool IsCapturing() const { return capture() != nullptr; }
  // The capture that this stream takes part in, as its origin or by waiting for an event; nullptr if none is going on.
  std::shared_ptr<internal::CaptureRecord> capture() const;
  // For launches: where kernels on this stream leave their errors.
  internal::StreamErrors& errors() const;

 private:
  friend class Device;
  Stream(Device device, CUstream handle, bool owned);
  void Take(Stream& other);
  void Destroy();
  void JoinCapture(std::shared_ptr<internal::CaptureRecord> capture) const;

  Device device_;
  CUstream handle_;
  std::shared_ptr<const internal::StreamOwner> owner_;  // Null if somebody else owns the stream.
  bool is_default_;
  absl::Status usable_;  // Why a foreign stream cannot be used.
  // Atomic, because a capture may end on one thread while another launches; a plain load on every machine.
  mutable std::atomic<const DeviceState*> direct_device_;
  mutable std::atomic<internal::StreamErrors*> errors_{nullptr};  // Of the device; null until the first.
  mutable std::mutex capture_mutex_;
  mutable std::shared_ptr<internal::CaptureRecord> capture_;
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

  // Moves the event to the end of what `stream` holds now. INVALID_ARGUMENT if the stream is of another device. In a
  // captured stream it stands for what was recorded so far: other streams of the capture can wait for it, the host
  // cannot, and it has no time.
  absl::Status Record(const Stream& stream) const;
  // Waits until the work before the last Record has finished; returns at once if there was none. FAILED_PRECONDITION if
  // that was in a capture.
  absl::Status Synchronize() const;
  // Whether that work has finished; an error if it failed. FAILED_PRECONDITION as for Synchronize.
  absl::StatusOr<bool> Query() const;
  // Milliseconds from `start` to this event; both made with timing, recorded and finished (UNAVAILABLE while they are
  // not; INVALID_ARGUMENT if they never will be, or belong to different devices).
  absl::StatusOr<float> MillisecondsSince(const Event& start) const;

 private:
  friend class Stream;
  void Destroy();
  // The capture that the last Record was in, ended or not; nullptr for none.
  std::shared_ptr<internal::CaptureRecord> capture() const;
  absl::Status CheckNotCaptured(const char* what) const;
  Event(Device device, CUevent handle) : device_(std::move(device)), handle_(handle) {}
  Device device_;
  CUevent handle_;
  mutable std::mutex capture_mutex_;
  mutable std::shared_ptr<internal::CaptureRecord> capture_;
};

}  // namespace slipway

#endif  // SLIPWAY_STREAM_H_
