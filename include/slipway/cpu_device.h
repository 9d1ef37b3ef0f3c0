// The CPU device: a CUDA device in software, behind the same driver table as a GPU.
//
//   Device device = Device::Open("cpu").value();            // Or, without the registry:
//   Device device = Device::Open(CpuDriver()).value();
//
// It takes PTX, translates it to host code and runs the blocks of a launch on the machine's cores. It answers as a
// driver answers: asynchronous streams, strict limits, errors that stick to a context after a fault. Streams capture by
// the driver's rules; a chain of small kernels in a graph runs on one thread without looking at the queues in between.
//
// What it lacks answers with an error: clusters of more than one block (NOT_SUPPORTED), and stream-ordered allocations,
// frees and launches of graphs on a capturing stream (STREAM_CAPTURE_UNSUPPORTED: its graphs have no such nodes).
//
// Environment, read once, at the first Init:
//   SLIPWAY_CPU_ARCH     compute capability reported, as "90", "9.0" or "sm_90"; 7.5 to 12.1, default 9.0
//   SLIPWAY_CPU_MEMORY   device memory in bytes, with an optional K, M or G (1024-based); default: the machine's memory
//   SLIPWAY_CPU_DEVICES  how many devices to report, 1 to 16, default 1; they share the cores, and each has that memory
//   SLIPWAY_CPU_ASYNC    "eager" (default), or "late": nothing that was queued runs before a wait or a query asks for
//                        it, so that a missing synchronization shows every time
//   SLIPWAY_CPU_CACHE    bytes of translated code to keep, for modules of the same text; default 64M, 0 keeps none
//   SLIPWAY_CPU_CHECK    "memory": every access of a kernel is checked (bounds, alignment, use after free) and told of
//                        on stderr with kernel, block, thread and source line; "memory,stack": with the call stack of
//                        the launch, too. docs/cpu-device.md, "Memory checker"
#ifndef SLIPWAY_CPU_DEVICE_H_
#define SLIPWAY_CPU_DEVICE_H_

#include "slipway/driver_api.h"

namespace slipway {

// The table, named "cpu". Every entry is there. Cheap, thread-safe, never fails; threads start with the first work.
const DriverApi& CpuDriver();

}  // namespace slipway

#endif  // SLIPWAY_CPU_DEVICE_H_
