#include "driver/cpu/translate/system_calls.h"

#include <atomic>

#include "driver/cpu/failed_threads.h"
#include "driver/cpu/program.h"
#include "driver/cpu/system/device_heap.h"
#include "driver/cpu/system/printf.h"
#include "driver/cpu/translate/access_checks.h"
#include "driver/cpu/translate/control.h"

namespace slipway::cpu {
namespace {

// --- Of the host.

int PrintToBuffer(CpuLaunch* launch, const char* format, const std::byte* arguments) {
  return Vprintf(launch->printf, format, arguments);
}

void* HeapAllocate(CpuLaunch* launch, uint64_t bytes) {
  return launch->heap == nullptr ? nullptr : launch->heap->Allocate(bytes);
}

bool HeapFree(CpuLaunch* launch, void* address) {
  return address == nullptr || (launch->heap != nullptr && launch->heap->Free(address));
}

void Fail(CpuLaunch* launch, uint32_t reason, const FailedThread& who) {
  // Other ranges of the launch may do so, too.
  std::atomic_ref(launch->trapped).store(reason, std::memory_order_relaxed);
  NoteFailedThread(who);
}

void Trap(CpuLaunch* launch, uint32_t reason, uint32_t block_x, uint32_t block_y, uint32_t block_z, uint32_t thread_x,
          uint32_t thread_y, uint32_t thread_z) {
  // Where blocks run as one (global_index.h), the thread is counted from the first of them on.
  block_x += thread_x / launch->block[0];
  thread_x %= launch->block[0];
  Fail(launch, reason, {{block_x, block_y, block_z}, {thread_x, thread_y, thread_z}, true});
}

void AssertionFailed(CpuLaunch* launch, const char* message, const char* file, uint32_t line, const char* function,
                     uint32_t block_x, uint32_t block_y, uint32_t block_z, uint32_t thread_x, uint32_t thread_y,
                     uint32_t thread_z) {
  const FailedThread who{{block_x, block_y, block_z}, {thread_x, thread_y, thread_z}, true};
  Fail(launch, kAssertionFailed, who);
  if (MayTellOfThread(*launch)) PrintAssertion(message, file, line, function, who.block, who.thread);
}

// --- Of translated code.

Value* Pointer(Emitter& e, Value* address) { return e.b.CreateLoad(e.b.getPtrTy(), address); }

void EmitVprintf(Emitter& e, absl::Span<Value* const> x) {
  e.b.CreateStore(
      e.CallHost("slipway_system_vprintf", e.b.getInt32Ty(), {e.thread.launch, Pointer(e, x[1]), Pointer(e, x[2])}),
      x[0]);
}

void EmitMalloc(Emitter& e, absl::Span<Value* const> x) {
  Value* bytes = e.b.CreateLoad(e.b.getInt64Ty(), x[1]);
  e.b.CreateStore(e.CallHost("slipway_system_malloc", e.b.getPtrTy(), {e.thread.launch, bytes}), x[0]);
}

void EmitFree(Emitter& e, absl::Span<Value* const> x) {
  Value* freed = e.module.checked
                     ? EmitCheckedFree(e, Pointer(e, x[0]))
                     : e.CallHost("slipway_system_free", e.b.getInt1Ty(), {e.thread.launch, Pointer(e, x[0])});
  // Undefined for what malloc did not give (or gave and has back); it ends the launch here.
  llvm::Function* const function = e.b.GetInsertBlock()->getParent();
  llvm::BasicBlock* const wrong = llvm::BasicBlock::Create(e.b.getContext(), "wrong", function);
  llvm::BasicBlock* const next = llvm::BasicBlock::Create(e.b.getContext(), "freed", function);
  e.b.CreateCondBr(freed, next, wrong);
  e.b.SetInsertPoint(wrong);
  EmitTrap(e, kThreadTrapped);
  e.b.CreateBr(next);
  e.b.SetInsertPoint(next);
}

void EmitAssertfail(Emitter& e, absl::Span<Value* const> x) {  // message, file, line, function, size of a character
  const ThreadContext& t = e.thread;
  e.CallHost("slipway_system_assertfail", e.b.getVoidTy(),
             {t.launch, Pointer(e, x[0]), Pointer(e, x[1]), e.b.CreateLoad(e.b.getInt32Ty(), x[2]), Pointer(e, x[3]),
              t.block[0], t.block[1], t.block[2], t.thread[0], t.thread[1], t.thread[2]});
  EmitEnd(e, e.exited);  // The others of its block go on: each that fails says so, as on a GPU.
}

constexpr SystemCall kSystemCalls[] = {
    {"vprintf", 1, 2, &EmitVprintf},
    {"malloc", 1, 1, &EmitMalloc},
    {"free", 0, 1, &EmitFree},
    {kAssertFunction, 0, 5, &EmitAssertfail},
};

}  // namespace

const SystemCall* FindSystemCall(std::string_view name) {
  for (const SystemCall& call : kSystemCalls) {
    if (call.name == name) return &call;
  }
  return nullptr;
}

absl::Span<const std::pair<std::string_view, void*>> SystemFunctions() {
  static const std::pair<std::string_view, void*> functions[] = {
      {"slipway_system_vprintf", reinterpret_cast<void*>(&PrintToBuffer)},
      {"slipway_system_malloc", reinterpret_cast<void*>(&HeapAllocate)},
      {"slipway_system_free", reinterpret_cast<void*>(&HeapFree)},
      {"slipway_system_trap", reinterpret_cast<void*>(&Trap)},
      {"slipway_system_assertfail", reinterpret_cast<void*>(&AssertionFailed)},
  };
  return functions;
}

}  // namespace slipway::cpu
