#include "driver/cpu/fault.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "driver/cpu/block_stack.h"
#include "driver/cpu/failed_threads.h"
#include "driver/cpu/float_environment.h"
#include "driver/cpu/sanitizers.h"
#include "driver/cpu/warp.h"

namespace slipway::cpu {
namespace {

// Signals that a bad access or a trap raises on the thread that did it.
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
constexpr int kSignalCount = sizeof(kSignals) / sizeof(kSignals[0]);

constexpr size_t kSignalStackBytes = size_t{64} << 10;

// What a thread needs to have faults told, for an application's thread that waits runs kernels, too. The handlers, in
// case that the application has put its own in their place since the module was loaded. A stack for
// handlers: a kernel that overflows the thread's own one leaves no room there; where it has one already, that is used.
// And the signals themselves: one that the hardware raises while it is blocked ends the process.
class SignalStack {
 public:
  SignalStack() {
    InstallFaultHandlers();
    sigset_t faults;
    sigemptyset(&faults);
    for (int signal : kSignals) sigaddset(&faults, signal);
    pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
    stack_t current = {};
    if (sigaltstack(nullptr, &current) != 0 || (current.ss_flags & SS_DISABLE) == 0) return;
    void* const memory = mmap(nullptr, kSignalStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    stack_t stack = {};
    stack.ss_sp = memory;
    stack.ss_size = kSignalStackBytes;
    if (sigaltstack(&stack, nullptr) == 0) {
      memory_ = memory;
    } else {
      munmap(memory, kSignalStackBytes);
    }
  }
  ~SignalStack() {
    if (memory_ == nullptr) return;
    stack_t current = {};
    // Unless the application has put another one in its place.
    if (sigaltstack(nullptr, &current) != 0 || current.ss_sp == memory_) {
      stack_t none = {};
      none.ss_flags = SS_DISABLE;
      if (sigaltstack(&none, nullptr) != 0) return;
    }
    munmap(memory_, kSignalStackBytes);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  void* memory_ = nullptr;
};

struct Guard {
  // Of blocks.
  const Program* program = nullptr;
  CpuLaunch* launch = nullptr;
  // Of a copy, which answers for faults in it alone.
  const Arena* arena = nullptr;

  bool AnswersFor(const siginfo_t& info) const {
    return arena == nullptr || arena->Reserved(reinterpret_cast<uintptr_t>(info.si_addr));
  }

  sigjmp_buf out;
  volatile int signal = 0;
  volatile uintptr_t address = 0;
};

// Set only while translated code or a copy runs on this thread. The initial-exec model makes reading it safe in a
// signal handler: the general model may allocate on first use.
__attribute__((tls_model("initial-exec"))) thread_local Guard* volatile armed = nullptr;

// Where the stack of the blocks that this thread runs begins; 0 while it runs none.
thread_local uintptr_t block_stack = 0;

// The handlers that ours go to. The oldest are those that were there before the first module was loaded. Where the
// application installed some later and ours were put in front of them again, those are the latest; they may well take
// ours for what was before them.
struct Previous {
  struct sigaction actions[kSignalCount];
};
std::atomic<const Previous*> oldest{nullptr};
std::atomic<const Previous*> latest{nullptr};
// The frame from which this thread has gone to one of the latest; 0: it is in none.
__attribute__((tls_model("initial-exec"))) thread_local uintptr_t gone_from = 0;

// What the signal of InterruptBlocks carries.
constexpr char kInterrupt = 0;

bool IsInterrupt(const siginfo_t& info) { return info.si_code == SI_QUEUE && info.si_value.sival_ptr == &kInterrupt; }

// Only inside translated code is nothing half done that others rely on: no lock is held, no memory is being allocated.
bool MayBeInterrupted(const Guard& guard, const void* machine) {
  const auto pc = static_cast<const ucontext_t*>(machine)->uc_mcontext.gregs[REG_RIP];
  return guard.program != nullptr &&
         std::atomic_ref(guard.launch->trapped).load(std::memory_order_relaxed) == kStopped &&
         guard.program->ContainsCode(reinterpret_cast<const void*>(pc));
}

void Call(const struct sigaction& previous, int signal, siginfo_t* info, void* machine) {
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, machine);
    return;
  }
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
    return;
  }
  // The default action: put it back and return to the faulting instruction, which raises the signal once more. One
  // that was sent (kill, raise) does not come back by itself.
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  if (info == nullptr || info->si_code <= 0) raise(signal);
}

void GoToPrevious(int index, int signal, siginfo_t* info, void* machine) {
  // From within one of the latest: it has gone on to what it found before it, or raised the signal again. A handler
  // that was left by a long jump is no longer there: the next one starts no deeper in the signal stack than it did.
  const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (frame < gone_from) return Call(oldest.load()->actions[index], signal, info, machine);
  gone_from = frame;
  Call(latest.load()->actions[index], signal, info, machine);
  gone_from = 0;
}

void OnSignal(int signal, siginfo_t* info, void* machine) {
  int index = 0;
  while (index < kSignalCount && kSignals[index] != signal) ++index;
  Guard* guard = armed;
  if (IsInterrupt(*info)) {
    if (guard == nullptr || !MayBeInterrupted(*guard, machine)) return;
    guard->signal = 0;
    armed = nullptr;
    siglongjmp(guard->out, 1);
  }
  // si_code is positive only for what the hardware reported: a signal that somebody sent is not translated code's.
  if (guard == nullptr || info->si_code <= 0 || !guard->AnswersFor(*info)) {
    GoToPrevious(index, signal, info, machine);
    return;
  }
  guard->signal = signal;
  guard->address = reinterpret_cast<uintptr_t>(info->si_addr);
  armed = nullptr;
  siglongjmp(guard->out, 1);
}

void PrepareThread() { static thread_local const SignalStack signal_stack; }

}  // namespace

SLIPWAY_CALLS_TRANSLATED_CODE
Fault RunBlocksGuarded(const Program& program, const CpuKernel& kernel, CpuLaunch* launch, uint64_t first,
                       uint64_t last, std::byte* shared) {
  PrepareThread();
  std::byte* stack = nullptr;
  if (NeedsBlockStack(kernel)) {
    stack = BlockStackTop();
    if (stack == nullptr) {
      std::atomic_ref(launch->trapped).store(kNoMemory, std::memory_order_relaxed);
      NoteFailedThread({});
      return {};
    }
  }
  FloatEnvironmentScope float_environment;
  Guard guard;
  guard.program = &program;
  guard.launch = launch;
  block_stack = reinterpret_cast<uintptr_t>(stack == nullptr ? __builtin_frame_address(0) : stack);
  // The mask is not saved: the handlers run with SA_NODEFER and block nothing, which spares two system calls a chunk.
  // ThreadSanitizer puts a handler of its own before ours, which blocks every signal.
  if (sigsetjmp(guard.out, kThreadSanitizer ? 1 : 0) == 0) {
    armed = &guard;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (stack == nullptr) {
      kernel.run(launch, first, last, shared);
    } else {
      RunOnBlockStack(stack, kernel.run, launch, first, last, shared);
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    armed = nullptr;
    block_stack = 0;
    return {};
  }
  block_stack = 0;
  FailedThread failed;
  const bool has_block = LeaveFaultedBlock(failed.block);
  if (guard.signal == 0) return {};  // Interrupted, which the launch tells.
  if (has_block) NoteFailedThread(failed);
  bool memory = guard.signal == SIGSEGV || guard.signal == SIGBUS;
  return {.result = memory ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_ERROR_LAUNCH_FAILED,
          .address = memory ? guard.address : 0};
}

Fault CopyGuarded(const Arena& arena, absl::FunctionRef<void()> copy) {
  PrepareThread();
  Guard guard;
  guard.arena = &arena;
  if (sigsetjmp(guard.out, kThreadSanitizer ? 1 : 0) == 0) {
    armed = &guard;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    copy();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    armed = nullptr;
    return {};
  }
  return {.result = CUDA_ERROR_ILLEGAL_ADDRESS, .address = guard.address};
}

bool InterruptBlocks(pthread_t thread) {
  InstallFaultHandlers();
  union sigval value = {};
  value.sival_ptr = const_cast<char*>(&kInterrupt);
  return pthread_sigqueue(thread, SIGSEGV, value) == 0;
}

bool IsOnBlockStack(uintptr_t address) {
  return address < block_stack && address >= reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
}

void RenewFaultHandlers() {
  static std::atomic<int64_t> last{-1};
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  const int64_t tick = int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  if (last.load(std::memory_order_relaxed) == tick) return;
  last.store(tick, std::memory_order_relaxed);
  InstallFaultHandlers();
}

void InstallFaultHandlers() {
  static std::mutex mutex;
  const auto is_ours = [](const struct sigaction& action) { return action.sa_sigaction == OnSignal; };
  struct sigaction installed = {};
  if (sigaction(kSignals[0], nullptr, &installed) == 0 && is_ours(installed)) return;
  const std::lock_guard lock(mutex);
  // Never deleted: a handler may be reading the one before.
  Previous* const found = latest.load() == nullptr ? new Previous() : new Previous(*latest.load());
  for (int i = 0; i < kSignalCount; ++i) {
    if (sigaction(kSignals[i], nullptr, &installed) == 0 && !is_ours(installed)) found->actions[i] = installed;
  }
  latest.store(found);
  if (oldest.load() == nullptr) oldest.store(found);
  struct sigaction action = {};
  action.sa_sigaction = OnSignal;
  // SA_ONSTACK: a kernel that overflows its stack needs another one for the handler. SA_RESTART: an interrupt that
  // comes too late may meet a system call of the application.
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (int signal : kSignals) sigaction(signal, &action, nullptr);
}

}  // namespace slipway::cpu
