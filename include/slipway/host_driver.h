// A driver whose device is this process: its memory is the process's memory, and its kernels are functions of the
// program (host_function.h). So C functions are launched like kernels, over arrays like a GPU's.
//
//   Device host = Device::Open("host").value();
//   auto x = Array<double, 1>::From(host, values).value();      // or a view of memory that is there:
//   ArrayView<double, 1> view(host, values.data(), {n});
#ifndef SLIPWAY_HOST_DRIVER_H_
#define SLIPWAY_HOST_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "slipway/driver_api.h"

namespace slipway {

// Addresses are plain ones, copies are memcpy. Everything is done when the call that asks for it returns, on the
// calling thread, so all streams are in order and none ever waits. It loads no PTX, and captures no graphs.
const DriverApi& HostDriver();

namespace internal {

// A function of the program as the host driver launches it; what its CUfunction points to.
struct HostEntry {
  // Calls `function` with what lies in a launch buffer; see KeepHostFailure for failures.
  using Call = CUresult (*)(void (*function)(), const std::byte* buffer);
  struct Param {
    uint32_t offset = 0, bytes = 0;
  };
  Call call = nullptr;
  void (*function)() = nullptr;
  size_t bytes = 0;  // Of the launch buffer.
  std::vector<Param> params;
};

// The CUfunction of an entry. Lives as long as the process; of equal calls and functions there is one.
CUfunction RegisterHostEntry(HostEntry entry);

// Keeps the status that a host function returned for whoever launched it on this thread. Returns
// CUDA_ERROR_LAUNCH_FAILED.
[[gnu::cold]] CUresult KeepHostFailure(absl::Status status);
// The status kept last on this thread, once; OK if there is none.
absl::Status TakeHostFailure();

}  // namespace internal
}  // namespace slipway

#endif  // SLIPWAY_HOST_DRIVER_H_
