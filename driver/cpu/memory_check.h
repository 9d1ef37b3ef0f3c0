// SLIPWAY_CPU_CHECK=memory: what checked code and the checker behind it share.
//
// Checked code tests each access before it makes it. For memory that all threads share it compares the address with the
// last range that the same access was found in; only if that does not hold it, or something has been freed since, it
// calls the checker, which looks at what the arena has live. An access that is refused is told of (kernel, block,
// thread, place in the source, nearest allocation) and not made: its thread ends, and the launch fails when its block
// is done.
#ifndef SLIPWAY_DRIVER_CPU_MEMORY_CHECK_H_
#define SLIPWAY_DRIVER_CPU_MEMORY_CHECK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/types/span.h"
#include "driver/cpu/program.h"
#include "driver/cpu/ptx/type.h"

namespace slipway::cpu {

enum class AccessKind : uint8_t { kRead, kWrite, kAtomic, kAtomicRead };

// Whether an access may go past the end of an allocation, to the end of the aligned word in which that lies. Those that
// are atomic may: PTX has no atomic operation on bytes, so one is done on the word around it, and every device places
// allocations at multiples of more than a word.
constexpr bool MayReachEndOfWord(AccessKind kind, uint64_t bytes) {
  return bytes == 4 && (kind == AccessKind::kAtomic || kind == AccessKind::kAtomicRead);
}

// --- Constants of checked code; laid out by translate/access_checks.cc.

// One access of the program.
struct AccessSite {
  const char* where;     // In the source, or in the PTX.
  const char* function;  // The device function that it stands in; null in a kernel.
  const char* variable;  // That it names; null if the address comes out of a register.
  uint64_t variable_bytes;
  uint32_t bytes;  // A power of two, which the address has to be a multiple of.
  uint32_t known;  // Index into CheckedThread::known.
  AccessKind kind;
  ptx::Space space;
  bool in_bounds;  // Of the variable that it names: then only the alignment is not known.
};

struct CheckedKernel {
  const char* name;
  uint64_t shared_bytes;  // Static ones.
  uint64_t params_bytes;
};

// --- What checked code knows of the host's thread that runs it.

// Memory that was live when `frees` was the arena's.
struct KnownRange {
  uint64_t begin = UINT64_MAX;
  uint64_t end = UINT64_MAX;
  uint64_t frees = 0;
};

// A variable in local memory, or one that calls pass, whose address a function takes.
struct LocalVariable {
  uint64_t begin;
  uint64_t bytes;
  const char* name;
};

// Those of a function, followed by them; on its stack.
struct LocalFrame {
  const LocalFrame* outer;  // Of the function that called.
  uint64_t count;
  const LocalVariable* variables() const { return reinterpret_cast<const LocalVariable*>(this + 1); }
};

struct CheckedThread {
  static constexpr uint32_t kKnownRanges = 512;

  const std::atomic<uint64_t>* frees = nullptr;  // The arena's.
  uint64_t shared_bytes = 0;                     // Of the block: static and dynamic.
  const LocalFrame* frame = nullptr;
  // By access; several may share one. Constant memory is apart, since not all that is live may be read as such.
  KnownRange known[kKnownRanges];
  KnownRange known_constant[kKnownRanges];
};

// The host's functions that checked code calls: (symbol, address).
//   CheckedThread* slipway_check_begin(CpuLaunch*, std::byte* shared, const CheckedKernel*): before a range of blocks.
//   CheckedThread* slipway_check_thread(): the same thread's, in functions that have not begun.
//   bool slipway_check_access(CheckedThread*, uint64_t address, const AccessSite*, block x, y, z, thread x, y, z):
//     whether it may be made; of shared memory the address counts from the block's. If not, it has been told of.
//   bool slipway_check_free(CheckedThread*, void*, const AccessSite*, block x, y, z, thread x, y, z): free() of a
//     kernel.
absl::Span<const std::pair<std::string_view, void*>> CheckFunctions();

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_MEMORY_CHECK_H_
