// Which threads of a kernel have failed: where that is known, and how often it is told.
#ifndef SLIPWAY_DRIVER_CPU_FAILED_THREADS_H_
#define SLIPWAY_DRIVER_CPU_FAILED_THREADS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "driver/cpu/program.h"

namespace slipway::cpu {

struct FailedThread {
  uint32_t block[3] = {};
  uint32_t thread[3] = {};
  bool has_thread = false;  // Else only the block is known.
};

// Notes who failed in the blocks that the calling thread runs, if nobody has before.
void NoteFailedThread(const FailedThread& failed);
// Who did, and forgets it; nothing if it is not known.
std::optional<FailedThread> TakeFailedThread();

// "block (3,0,0), thread (17,0,0)", as far as it is known.
std::string Describe(const FailedThread& failed);

// Whether one more failure of a launch's threads is to be told, of which there may be as many as threads: the first 100
// are. Thread-safe.
bool MayTellOfThread(const CpuLaunch& launch);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_FAILED_THREADS_H_
