// A driver that fails on demand, to prove that every error path of a program ends well.
//
//   FaultDriver& fault = *FaultDriver::Wrap(RecordingDriver()).value();
//   for (int n = 1;; ++n) {
//     fault.Arm({.call = n, .result = CUDA_ERROR_OUT_OF_MEMORY});
//     absl::Status status = Scenario(fault.api());
//     if (!fault.fired()) break;             // The scenario makes fewer than n calls: all have been failed once.
//     EXPECT_FALSE(status.ok());
//     EXPECT_EQ(CountRecordedObjects(), RecordedObjects{});
//   }
#ifndef SLIPWAY_FAULT_DRIVER_H_
#define SLIPWAY_FAULT_DRIVER_H_

#include <cstdint>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "slipway/driver_api.h"

namespace slipway {

// Which call fails, and how.
struct Fault {
  std::string function;  // A member of DriverApi such as "MemAlloc"; empty: calls of every function are counted.
  int64_t call = 1;      // The first counted call after Arm is 1.
  CUresult result = CUDA_ERROR_UNKNOWN;
  bool sticky = false;  // All calls from that one on fail, as after a fault in a kernel.
};

// Passes every call on to the wrapped driver, but for those that it fails: these do nothing and return the fault's
// result. Thread-safe.
class FaultDriver {
 public:
  // The fault driver around `wrapped`; the same one each time for the same table. Lives as long as the process. At most
  // four tables can be wrapped: RESOURCE_EXHAUSTED after that.
  static absl::StatusOr<FaultDriver*> Wrap(const DriverApi& wrapped);

  // The table, to open devices on. Its name is "fault"; optional entries that the wrapped table lacks are absent.
  const DriverApi& api() const { return api_; }

  // Counts anew, to fail the call that `fault` names. INVALID_ARGUMENT if DriverApi has no such function or the number
  // of the call is not positive.
  absl::Status Arm(Fault fault);
  // Lets every call pass.
  void Disarm();
  // Whether a call was failed since Arm.
  bool fired() const;
  // Calls counted since Arm, the failed ones included.
  int64_t calls() const;

  const DriverApi& wrapped() const { return *wrapped_; }

 private:
  friend struct FaultSlots;  // The entries of the table.
  FaultDriver() = default;
  // Counts a call; whether it must fail, and with what.
  bool Fails(const char* function, CUresult* result);

  mutable std::mutex mutex_;
  const DriverApi* wrapped_ = nullptr;
  DriverApi api_;
  bool armed_ = false;
  Fault fault_;
  int64_t calls_ = 0;
  bool fired_ = false;
};

}  // namespace slipway

#endif  // SLIPWAY_FAULT_DRIVER_H_
