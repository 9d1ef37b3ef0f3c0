// Drivers that run nothing, for measuring host cost and for tests that look at the exact bytes of a launch.
//
//   Device device = Device::Open(RecordingDriver()).value();
//   ... launch ...
//   std::vector<RecordedLaunch> launches = TakeRecordedLaunches();
//
// Both describe a GPU of compute capability 9.0 with the limits of an H100. Device addresses they hand out are distinct
// and never dereferenced; copies and memsets do nothing; a host function queued on a stream runs at once. Contexts are
// kept per thread as a driver keeps them. On the null driver nothing captures: a graph is empty, whatever was queued.
#ifndef SLIPWAY_NULL_DRIVER_H_
#define SLIPWAY_NULL_DRIVER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "slipway/driver_api.h"

namespace slipway {

// Every call succeeds at once, but for allocations of no bytes or of more than the device has. A launch costs a handful
// of instructions, so that what is measured on it is the caller's own cost.
const DriverApi& NullDriver();

// The null driver, but each launch is kept, live objects are counted, and destroying what does not exist is an
// INVALID_HANDLE (INVALID_VALUE for memory and graphs). One record for the process; thread-safe.
//
// Streams capture: launches, copies, memsets and host functions on a capturing stream become nodes of its graph, with
// forks and joins by events as on a driver, and a launch of the graph appends its kernels to the record in the order of
// their capture and calls its host functions. Violations of the rules of capture are answered as the CPU device answers
// them, but for those of unsafe calls and of the legacy stream, which are not watched.
const DriverApi& RecordingDriver();

// The arguments of one LaunchKernel or LaunchKernelEx.
struct RecordedLaunch {
  CUfunction function = nullptr;
  std::array<uint32_t, 3> grid = {};   // x, y, z.
  std::array<uint32_t, 3> block = {};  // x, y, z.
  uint32_t shared_bytes = 0;
  CUstream stream = nullptr;
  // The context current on the launching thread, or nullptr.
  CUcontext context = nullptr;
  // With a launch buffer: a copy of its bytes, as many as CU_LAUNCH_PARAM_BUFFER_SIZE said. Else empty.
  bool has_buffer = false;
  std::vector<unsigned char> buffer;
  // The kernelParams argument as given. What it points to belongs to the launch and may be gone.
  void** params = nullptr;
  std::vector<CUlaunchAttribute> attributes;  // Of LaunchKernelEx.
  // The executable graph that it was launched by, or nullptr; `stream` and `context` are those of the graph's launch.
  CUgraphExec graph = nullptr;
};

// The launches since the last call, in order; the record is empty afterwards.
std::vector<RecordedLaunch> TakeRecordedLaunches();

// How many objects of each kind live on the recording driver. All zero: nothing has leaked.
struct RecordedObjects {
  int64_t retained_contexts = 0;  // Retains of the primary context less releases.
  int64_t modules = 0;
  int64_t streams = 0;
  int64_t events = 0;
  int64_t allocations = 0;       // Device memory, of either kind.
  int64_t host_allocations = 0;  // Page-locked host memory.
  int64_t captures = 0;          // Begun and not ended.
  int64_t graphs = 0;            // Captured and not destroyed.
  int64_t graph_execs = 0;
  friend bool operator==(const RecordedObjects&, const RecordedObjects&) = default;
};
RecordedObjects CountRecordedObjects();

}  // namespace slipway

#endif  // SLIPWAY_NULL_DRIVER_H_
