// Profiling that the environment asks for, without a change to the program.
#ifndef SLIPWAY_DRIVER_PROFILERS_H_
#define SLIPWAY_DRIVER_PROFILERS_H_

namespace slipway {

// At the first call of the process, starts what these variables ask for; a warning says what could not be:
//   SLIPWAY_TRACE          a TraceWriter on this path (%p: the process's number), closed when the process ends by
//                          returning from main or by exit()
//   SLIPWAY_TRACE_DEVICE   1: with device times
//   NVTX_INJECTION64_PATH  NVTX ranges; profilers set it
// Later calls cost a load and a branch. Whatever can be the first thing that a program does with Slipway calls it:
// opening a device, and compiling.
void StartProfilersFromEnvironment();

}  // namespace slipway

#endif  // SLIPWAY_DRIVER_PROFILERS_H_
