// Who makes a launch: the call stack of the host, noted on request and told when the launch fails.
#ifndef SLIPWAY_DRIVER_CPU_CALL_STACK_H_
#define SLIPWAY_DRIVER_CPU_CALL_STACK_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace slipway::cpu {

struct CallStack {
  static constexpr int kMostFrames = 32;
  uint64_t frames = 0;
  void* at[kMostFrames] = {};  // Return addresses, the innermost first.
};

// Where it stands behind a launch's parameters.
constexpr size_t CallStackOffset(size_t params_bytes) {
  const size_t bytes = params_bytes < 16 ? 16 : params_bytes;
  return (bytes + alignof(CallStack) - 1) / alignof(CallStack) * alignof(CallStack);
}

// Notes the calling thread's stack in a CallStack at `to`.
void NoteCallStack(std::byte* to);

// A line a frame, "\n    #0 main+0x2f (program)"; frames of the CPU device itself, which come first, are left out.
std::string Describe(const CallStack& stack);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_CALL_STACK_H_
