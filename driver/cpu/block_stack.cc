#include "driver/cpu/block_stack.h"

#include "driver/cpu/guarded_memory.h"

// The stack pointer of the thread's own stack while it is on the other one. Initial-exec: the code below reads it.
extern "C" {
__attribute__((tls_model("initial-exec"), visibility("hidden"))) thread_local uintptr_t slipway_cpu_own_stack = 0;

__attribute__((visibility("hidden"))) void slipway_cpu_run_on(slipway::cpu::CpuLaunch* launch, uint64_t first,
                                                              uint64_t last, std::byte* shared,
                                                              slipway::cpu::CpuRunBlocks run, std::byte* top);
}

// What the caller needs again is kept on its own stack, and where that is, in thread-local memory: the kernel may have
// overwritten all that it was to give back.
asm(R"(
  .text
  .p2align 4
  .hidden slipway_cpu_run_on
  .globl slipway_cpu_run_on
  .type slipway_cpu_run_on, @function
slipway_cpu_run_on:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq slipway_cpu_own_stack@gottpoff(%rip), %rax
  movq %rsp, %fs:(%rax)
  movq %r9, %rsp
  callq *%r8
  movq slipway_cpu_own_stack@gottpoff(%rip), %rax
  movq %fs:(%rax), %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  retq
  .size slipway_cpu_run_on, .-slipway_cpu_run_on
)");

namespace slipway::cpu {
namespace {

constexpr size_t kBytes = size_t{16} << 20;

}  // namespace

std::byte* BlockStackTop() {
  static thread_local GuardedMemory stack;
  std::byte* const begin = stack.Reserve(kBytes);
  return begin == nullptr ? nullptr : begin + stack.bytes();
}

void RunOnBlockStack(std::byte* top, CpuRunBlocks run, CpuLaunch* launch, uint64_t first, uint64_t last,
                     std::byte* shared) {
  slipway_cpu_run_on(launch, first, last, shared, run, top);
}

}  // namespace slipway::cpu
