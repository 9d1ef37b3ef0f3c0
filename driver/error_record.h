// Errors that kernels raise: what a failing thread leaves, and where the host finds it.
//
// A kernel that may fail is given two words (ErrorWords) behind its other parameters: the address of a gate in device
// memory, and the number of its launch. Nothing else is done for a launch. A failure has a key,
//
//     open (1 bit) | launch (11) | code (20) | element (32)
//
// and the least key is the first failure. A failing thread lowers the gate's key to its own, if that is less; one that
// did takes the next place of the report, which lies in host memory, writes what it knows, and then its key. So no two
// threads write to one place, and the host reads the report without asking the driver. A thread that finds no place
// left lowers the report's last word instead: of such a failure the key is all that is known.
//
// Every thread looks at the gate when it starts. A key of another launch makes it clear the open bit and end: nothing
// runs on that gate any more, whatever its number, until the host has read the report. So numbers of launches may come
// again after 2,047, and do so in every replay of a graph.
//
// The words of a code and of values are not known here: whoever launches brings a function that turns a failure into a
// status. The code that kernels have for all this is made in jit/lower_checks.cc.
#ifndef SLIPWAY_DRIVER_ERROR_RECORD_H_
#define SLIPWAY_DRIVER_ERROR_RECORD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "slipway/device.h"
#include "slipway/stream.h"

namespace slipway::internal {

inline constexpr uint64_t kNoError = ~uint64_t{0};
inline constexpr uint64_t kOpenError = uint64_t{1} << 63;
inline constexpr int kErrorLaunchShift = 52, kErrorCodeShift = 32;
inline constexpr uint32_t kErrorLaunches = 2047;  // One less than there are numbers: kNoError has the last.
inline constexpr uint32_t kErrorCodes = uint32_t{1} << (kErrorLaunchShift - kErrorCodeShift);
inline constexpr uint64_t kMaxErrorElement = UINT32_MAX;  // In a key; elements behind it count as one.

inline constexpr int kMaxErrorValues = 11;
inline constexpr int kErrorPlaces = 31;

// What one failing thread writes, its key last.
struct ErrorPlace {
  uint64_t key = kNoError;
  uint64_t element = 0;
  uint32_t block[3] = {};
  uint32_t thread[3] = {};
  uint64_t values[kMaxErrorValues] = {};
};

// In device memory.
struct ErrorGate {
  uint64_t key = kNoError;  // The least; open until another launch has seen it.
  uint64_t places = 0;      // That were taken.
  uint64_t report = 0;      // Its address on the device.
};

// In host memory that the device writes.
struct ErrorReport {
  uint64_t rest = kNoError;  // The least key of those that found no place.
  ErrorGate initial;         // What the gate is set to.
  uint64_t unused[12] = {};
  ErrorPlace places[kErrorPlaces];
};
static_assert(sizeof(ErrorPlace) == 128 && sizeof(ErrorReport) == 4096);

// A failure as the host finds it.
struct KernelFailure {
  uint32_t code;
  uint64_t element;
  const ErrorPlace* place;  // Null where only the key is known.
};
using ErrorDecoder = absl::Status (*)(const KernelFailure& failure);

// A gate and its report. Thread-safe. Whoever keeps one keeps its device.
class ErrorRecord {
 public:
  // Also while a stream is captured.
  static absl::StatusOr<std::shared_ptr<ErrorRecord>> Create(const Device& device, ErrorDecoder decode);
  ~ErrorRecord();
  ErrorRecord(const ErrorRecord&) = delete;
  ErrorRecord& operator=(const ErrorRecord&) = delete;

  // The words of one more launch, whose first code is `code`. Threads that launch at the very same time may get one
  // number, and their kernels then count as one launch: a store is all that this costs.
  ErrorWords NextLaunch(uint32_t code) {
    const uint64_t number = launch_.load(std::memory_order_relaxed);
    launch_.store(number + 1 == kErrorLaunches ? 0 : number + 1, std::memory_order_relaxed);
    return {.gate = gate_, .launch = kOpenError | number << kErrorLaunchShift | uint64_t{code} << kErrorCodeShift};
  }
  // The first failure as far as it is known now, and OK if none is. Stays there.
  absl::Status Peek() const;
  // The same once nothing of this record runs: the next launches run again.
  absl::Status Take();

 private:
  ErrorRecord(const DeviceState& device, ErrorDecoder decode) : device_(device), decode_(decode) {}
  absl::Status Allocate();
  absl::Status Reset();

  const DeviceState& device_;
  const ErrorDecoder decode_;
  CUdeviceptr gate_ = 0;
  ErrorReport* report_ = nullptr;
  CUdeviceptr report_address_ = 0;
  std::atomic<uint64_t> launch_{0};  // The number of the next.
  std::mutex mutex_;                 // Held while it is taken.
};

// The records that a stream's work may fail into; shared by all Streams of one handle. Thread-safe.
class StreamErrors {
 public:
  // Of launches on the stream itself; made by the first.
  absl::StatusOr<ErrorRecord*> Own(const Device& device, ErrorDecoder decode);
  // Something with a record of its own, a graph, was launched on the stream.
  void Watch(std::shared_ptr<ErrorRecord> record);
  // Of the first record that has an error. Take: all that was queued on the stream has finished.
  absl::Status Peek() const;
  absl::Status Take();

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<ErrorRecord> own_;
  std::atomic<ErrorRecord*> own_or_null_{nullptr};
  std::vector<std::shared_ptr<ErrorRecord>> watched_;
};

// Of all streams of a device that have any, by handle.
struct DeviceErrors {
  std::map<CUstream, std::shared_ptr<StreamErrors>> streams;
};

// Those of a stream's handle, or null. `make`: never null.
StreamErrors* FindErrors(const DeviceState& device, CUstream handle, bool make);

// The words of a launch that is about to be queued on `stream`, or to become part of `capture`.
absl::StatusOr<ErrorWords> NextErrorWords(const Stream& stream, CaptureRecord* capture, uint32_t code,
                                          ErrorDecoder decode);

// The stream is about to be destroyed: what it still runs may write into its record. Its context is current.
void ForgetErrors(const Device& device, CUstream handle);

}  // namespace slipway::internal

#endif  // SLIPWAY_DRIVER_ERROR_RECORD_H_
