// Running translated code so that what it does wrong becomes a result instead of the end of the process.
#ifndef SLIPWAY_DRIVER_CPU_FAULT_H_
#define SLIPWAY_DRIVER_CPU_FAULT_H_

#include <pthread.h>

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "driver/cpu/arena.h"
#include "driver/cpu/program.h"
#include "slipway/driver_api.h"

namespace slipway::cpu {

struct Fault {
  CUresult result = CUDA_SUCCESS;
  uintptr_t address = 0;  // The address that was touched, where the fault has one.
};

// Runs blocks [first, last) in CUDA's floating-point environment (round to nearest, subnormals kept) and puts the
// caller's back. A memory fault inside gives CUDA_ERROR_ILLEGAL_ADDRESS, an illegal instruction or an arithmetic trap
// CUDA_ERROR_LAUNCH_FAILED; the blocks that had not finished then never do. Leaves the thread fit for more. `program`
// is what `kernel` belongs to.
Fault RunBlocksGuarded(const Program& program, const CpuKernel& kernel, CpuLaunch* launch, uint64_t first,
                       uint64_t last, std::byte* shared);

// Copies or fills memory of `arena` that may be gone by now: another stream or another context may have had it freed. A
// fault in it gives CUDA_ERROR_ILLEGAL_ADDRESS, and what was written stays. One at any other address, which is the
// application's, goes to the handler that was there before.
Fault CopyGuarded(const Arena& arena, absl::FunctionRef<void()> copy);

// Ends the blocks that a thread runs of a launch whose CpuLaunch::trapped is kStopped, wherever in translated code it
// is; does nothing to a thread that runs something else, or is in a function of the host just now: ask again. The
// thread must be alive. False if that cannot be done.
bool InterruptBlocks(pthread_t thread);

// Whether an address lies on the stack of the blocks that RunBlocksGuarded runs on this thread: in local memory.
bool IsOnBlockStack(uintptr_t address);

// Sees to it that the signal handlers are installed. A signal that neither translated code nor a copy caused goes to
// the handler that was there before. Called when a module is loaded, a thread does its first work, and a pool thread
// wakes up: an application may put handlers of its own in the place of ours at any time.
void InstallFaultHandlers();
// The same, at most once in a tick of the system's coarse clock (milliseconds): for whoever waits for work, where a
// system call each time would show.
void RenewFaultHandlers();

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_FAULT_H_
