// How accesses to memory are ordered between threads, and how they pass the caches: what kernels may say of a load, a
// store, an atomic operation or a fence. The meanings are those of the PTX memory consistency model.
#ifndef SLIPWAY_MEMORY_MODEL_H_
#define SLIPWAY_MEMORY_MODEL_H_

#include <cstdint>

namespace slipway {

// Among which threads an atomic operation or a fence counts: those of the block, of the device, or of the device and
// the host and other devices.
enum class MemoryScope : uint8_t { kBlock, kDevice, kSystem };

// What an atomic operation promises of the accesses around it. kSequential operations have one order that all threads
// agree on.
enum class MemoryOrder : uint8_t { kRelaxed, kAcquire, kRelease, kAcquireRelease, kSequential };

// How often data is expected to be used again: advice to the caches, for arrays in global memory, that changes no
// result, but for kReadOnly.
enum class CacheHint : uint8_t {
  kNone,
  kCacheGlobal,  // Cached in L2 and not in L1 (ld.cg, st.cg).
  kStreaming,    // Used once (ld.cs, st.cs).
  kLastUse,      // Loads only: not used again by anybody (ld.lu).
  kReadOnly,     // Loads only: nobody writes there while the kernel runs, which is believed (ld.global.nc).
  kWriteThrough  // Stores only: written through L2 to memory (st.wt).
};

// How one load or store is done; by itself an ordinary one, which other threads need not see in any order, and which
// the compiler may merge with others. Made by the functions below.
struct MemoryAccess {
  enum Kind : uint8_t { kWeak, kVolatile, kAtomic };

  Kind kind = kWeak;
  CacheHint hint = CacheHint::kNone;          // Of weak ones.
  MemoryOrder order = MemoryOrder::kRelaxed;  // Of atomic ones, and
  MemoryScope scope = MemoryScope::kBlock;    // among which threads.

  // Done as often as it is written down.
  static constexpr MemoryAccess Volatile() { return {kVolatile}; }
  static constexpr MemoryAccess Cached(CacheHint hint) { return {kWeak, hint}; }
  // A load of what nobody writes while the kernel runs, neither it nor anything else: that is believed.
  static constexpr MemoryAccess ReadOnly() { return Cached(CacheHint::kReadOnly); }
  // In one piece, and ordered with other accesses of this thread as the order says.
  static constexpr MemoryAccess Atomic(MemoryOrder order, MemoryScope scope = MemoryScope::kDevice) {
    return {kAtomic, CacheHint::kNone, order, scope};
  }
  static constexpr MemoryAccess Relaxed(MemoryScope scope = MemoryScope::kDevice) {
    return Atomic(MemoryOrder::kRelaxed, scope);
  }
  static constexpr MemoryAccess Acquire(MemoryScope scope = MemoryScope::kDevice) {
    return Atomic(MemoryOrder::kAcquire, scope);
  }
  static constexpr MemoryAccess Release(MemoryScope scope = MemoryScope::kDevice) {
    return Atomic(MemoryOrder::kRelease, scope);
  }

  friend bool operator==(const MemoryAccess&, const MemoryAccess&) = default;
};

}  // namespace slipway

#endif  // SLIPWAY_MEMORY_MODEL_H_
