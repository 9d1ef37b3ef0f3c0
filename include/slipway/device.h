// A device: a driver table, an ordinal on it, and the primary context that everything of ours lives in.
//
//   Device device = Device::Open().value();        // $SLIPWAY_DEVICE, else a GPU where one works, else the CPU device
//   Device cpu = Device::Open("cpu").value();
#ifndef SLIPWAY_DEVICE_H_
#define SLIPWAY_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/driver_api.h"

namespace slipway {

class Allocator;
class Stream;

namespace internal {
struct DeviceErrors;
}

// What a device is and what it can hold; read from the driver once, when the device is opened, and plain fields after.
struct DeviceProperties {
  std::string name;
  int compute_major = 0;  // Compute capability 9.0 is {9, 0}.
  int compute_minor = 0;
  int driver_version = 0;  // As cuDriverGetVersion gives it: 13000 is CUDA 13.0.
  int multiprocessors = 0;
  int warp_size = 0;
  int max_threads_per_block = 0;
  int max_threads_per_multiprocessor = 0;
  int max_block[3] = {};
  int max_grid[3] = {};
  size_t shared_bytes_per_block = 0;  // Without opting in.
  size_t shared_bytes_per_block_optin = 0;
  size_t total_memory = 0;  // Bytes.
};

// The state behind every Device handle of one (driver, ordinal). Hot paths read its plain fields; nobody but
// Device::Open writes those.
struct DeviceState {
  const DriverApi* api = nullptr;
  CUdevice device = 0;
  CUcontext context = nullptr;  // The primary context, retained while any handle lives.
  int ordinal = 0;
  // Unique in the process among the devices open at a time, from 1; the device field of facts words. Ids are handed out
  // in turn, so that one is not soon used again for another device.
  uint16_t id = 0;
  DeviceProperties properties;

  // Where stream-ordered memory comes from; null until it is first asked for. Guarded by the mutex: allocator.h.
  mutable std::mutex allocator_mutex;
  mutable std::shared_ptr<Allocator> allocator;
  // The kernels of strided copies; null until the first. Guarded by the mutex: launch/strided_copy.cc.
  mutable std::mutex copy_mutex;
  mutable std::shared_ptr<const void> copy_functions;
  // What kernels that raise errors leave, by stream; null until the first. Guarded by the mutex: driver/error_record.h.
  mutable std::mutex errors_mutex;
  mutable std::shared_ptr<internal::DeviceErrors> errors;

  ~DeviceState();
};

// Of stream priorities, the lowest and the highest: the smaller the number, the sooner a stream is served. Equal where
// the device has none.
struct PriorityRange {
  int least = 0;
  int greatest = 0;
};

// A handle with shared ownership; cheap to copy, safe to use from any thread. Opening the same device twice gives
// handles of one state.
class Device {
 public:
  // Opens the device that `which` names: "auto", "cuda", "cuda:N", "cpu" or "host" (host_driver.h); empty stands for
  // $SLIPWAY_DEVICE, and for "auto" where that is unset or empty. "auto" takes the first GPU that works, else the CPU
  // device, and then says once, on stderr, why no GPU is used ($SLIPWAY_LOG=quiet silences that). INVALID_ARGUMENT for
  // any other name; NOT_FOUND where no such device or driver is (the message says what was looked for and how to mend
  // it); else the driver's error.
  static absl::StatusOr<Device> Open(std::string_view which = {});

  // Opens `ordinal` of a driver table: the CPU device's, a null or fault driver's, or an application's own. `api` must
  // outlive the process's use of the device. INVALID_ARGUMENT if a required entry of the table is null; NOT_FOUND if
  // the driver has no such device; else the driver's error.
  static absl::StatusOr<Device> Open(const DriverApi& api, int ordinal = 0);

  // How many devices the driver of that name has: "cuda" or "cpu". NOT_FOUND where there is no such driver.
  static absl::StatusOr<int> Count(std::string_view driver);
  // Opens all of them, in the driver's order; or, for an empty name, those GPUs that work and then the CPU devices,
  // which may be none. NOT_FOUND as for Count; else the error of the first that cannot be opened.
  static absl::StatusOr<std::vector<Device>> All(std::string_view driver = {});
  // The open device with that id(), which facts words carry. NOT_FOUND if it is not open any more.
  static absl::StatusOr<Device> FromId(uint16_t id);

  const DriverApi& api() const { return *state_->api; }
  const DeviceProperties& properties() const { return state_->properties; }
  CUcontext context() const { return state_->context; }
  uint16_t id() const { return state_->id; }
  bool is_cpu() const;
  // "NVIDIA H200 (cuda:0)".
  std::string Describe() const;

  absl::StatusOr<PriorityRange> StreamPriorities() const;
  // A new stream that does not synchronize with the legacy default stream. Of two streams, the one whose `priority` is
  // lower is served first; the driver clamps it to StreamPriorities().
  absl::StatusOr<Stream> CreateStream(int priority = 0) const;
  // The legacy default stream. Launches on it need the device's context made current, so they cost more.
  Stream DefaultStream() const;
  // The default stream of the thread that queues work on it, whichever that is at the time; launches cost as on the
  // legacy one, with which it synchronizes.
  Stream PerThreadStream() const;
  // Waits for everything on this device. FAILED_PRECONDITION while a stream of it is captured, which ends that capture.
  absl::Status Synchronize() const;

  const std::shared_ptr<const DeviceState>& state() const { return state_; }
  friend bool operator==(const Device& a, const Device& b) { return a.state_ == b.state_; }

 private:
  explicit Device(std::shared_ptr<const DeviceState> state) : state_(std::move(state)) {}
  std::shared_ptr<const DeviceState> state_;
};

// Makes `device`'s context current on this thread and puts the caller's back when destroyed. Costs one driver call
// where it was current already, three where not. The launch path of created streams does not need it.
class ScopedContext {
 public:
  explicit ScopedContext(const DeviceState& device);
  ~ScopedContext();
  ScopedContext(const ScopedContext&) = delete;
  ScopedContext& operator=(const ScopedContext&) = delete;

  // Whether the context is current. Where it is not, calls that depend on it would hit the caller's context: do not
  // make them, and return status().
  bool ok() const { return result_ == CUDA_SUCCESS; }
  absl::Status status() const;

 private:
  const DriverApi* api_;
  CUresult result_;
  CUcontext previous_ = nullptr;
  bool changed_ = false;
};

// Turns a driver's result into a status: OK for CUDA_SUCCESS, else "<what>: <CUDA_ERROR_NAME> (<number>): <text>". What
// a kernel did wrong while it ran (illegal address, trap, failed assertion) is ABORTED; driver/result.cc has the table.
absl::Status DriverStatus(const DriverApi& api, CUresult result, std::string_view what);

}  // namespace slipway

#endif  // SLIPWAY_DEVICE_H_
