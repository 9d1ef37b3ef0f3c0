// Exporting functions of drivers in software under the names that a driver library has.
#ifndef SLIPWAY_DRIVER_EXPORT_JUMP_H_
#define SLIPWAY_DRIVER_EXPORT_JUMP_H_

#if defined(__x86_64__)
#define SLIPWAY_JUMP_THROUGH(slot) "  jmp *" slot "(%rip)\n"
#elif defined(__aarch64__)
#define SLIPWAY_JUMP_THROUGH(slot) \
  "  adrp x16, " slot              \
  "\n"                             \
  "  ldr x16, [x16, #:lo12:" slot  \
  "]\n"                            \
  "  br x16\n"
#else
#error "exports know the jump of x86-64 and of AArch64 only"
#endif

// An export is a jump through a slot of its own: whatever the parameters are, they stay where they came in, and a call
// costs an instruction more than the function in the slot.
#define SLIPWAY_EXPORT(exported, function)                                                                    \
  extern "C" {                                                                                                \
  [[gnu::used, gnu::visibility("hidden")]] void* slipway_slot_##exported = reinterpret_cast<void*>(function); \
  }                                                                                                           \
  asm(".pushsection .text\n.globl " #exported "\n.type " #exported ", @function\n.balign 16\n" #exported      \
      ":\n" SLIPWAY_JUMP_THROUGH("slipway_slot_" #exported) ".size " #exported ", . - " #exported "\n.popsection\n");

#endif  // SLIPWAY_DRIVER_EXPORT_JUMP_H_
