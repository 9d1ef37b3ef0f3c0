// What the CPU device can hold, as a GPU of the same compute capability would report it.
//
// Source: CUDA C++ Programming Guide, "Features and Technical Specifications", technical specifications per compute
// capability.
#ifndef SLIPWAY_DRIVER_CPU_LIMITS_H_
#define SLIPWAY_DRIVER_CPU_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace slipway::cpu {

inline constexpr uint32_t kMaxThreadsPerBlock = 1024;
inline constexpr uint32_t kMaxBlock[3] = {1024, 1024, 64};
inline constexpr uint32_t kMaxGrid[3] = {0x7FFFFFFF, 65535, 65535};
inline constexpr int kWarpSize = 32;
inline constexpr size_t kSharedBytesPerBlock = 48 << 10;  // Without opting in.
inline constexpr size_t kMaxSharedBytes = 227 << 10;      // The most that any capability lets a block opt in to.
inline constexpr size_t kConstantBytes = 64 << 10;
inline constexpr size_t kLocalBytesPerThread = 512 << 10;
// What cuCtxGetLimit answers until cuCtxSetLimit is called, as GPUs have it.
inline constexpr size_t kThreadStackBytes = 1024;
inline constexpr size_t kPrintfBytes = size_t{1} << 20;
inline constexpr size_t kMallocHeapBytes = size_t{8} << 20;
inline constexpr size_t kL2FetchBytes = 64;
inline constexpr size_t kMaxL2FetchBytes = 128;
inline constexpr int kRegisters = 65536;      // A block and a multiprocessor.
inline constexpr int kNominalRegisters = 32;  // A thread: translated code has none of a GPU's; some divide by it.
inline constexpr int kMaxPitch = 0x7FFFFFFF;
inline constexpr int kNominalL2Bytes = 32 << 20;  // Some callers divide work by it.
// Nominal: a CPU's clock varies.
inline constexpr int kClockKilohertz = 1'000'000;
// cuCtxGetStreamPriorityRange on GPUs since Volta. A lower number is served first.
inline constexpr int kGreatestPriority = -5;
inline constexpr int kLeastPriority = 0;
inline constexpr size_t kMaxParameterBytes = 32764;  // From PTX ISA 8.1 on.
inline constexpr size_t kMaxParameterBytesBefore81 = 4096;

// Shared memory that the system takes of each block, and the unit that a block's is rounded up to (CUDA C++ Best
// Practices Guide, occupancy; cuda_occupancy.h of the toolkit).
constexpr size_t ReservedSharedBytes(int sm) { return sm < 80 ? 0 : 1024; }
constexpr size_t SharedGranularity(int sm) { return sm < 80 ? 256 : 128; }

struct ArchLimits {
  int sm;  // From this compute capability * 10 on.
  int max_threads_per_multiprocessor;
  int max_blocks_per_multiprocessor;
  size_t shared_bytes_per_multiprocessor;
};

// Ordered by sm. A block can opt in to all of a multiprocessor's shared memory but one KiB (all of it on 7.5).
inline constexpr ArchLimits kArchLimits[] = {
    {75, 1024, 16, 64 << 10},  {80, 2048, 32, 164 << 10}, {86, 1536, 16, 100 << 10},  {87, 1536, 16, 164 << 10},
    {89, 1536, 24, 100 << 10}, {90, 2048, 32, 228 << 10}, {120, 1536, 24, 100 << 10},
};

constexpr const ArchLimits& LimitsFor(int sm) {
  const ArchLimits* found = &kArchLimits[0];
  for (const ArchLimits& limits : kArchLimits) {
    if (limits.sm <= sm) found = &limits;
  }
  return *found;
}

constexpr size_t MaxSharedBytesOptIn(int sm) {
  return LimitsFor(sm).shared_bytes_per_multiprocessor - ReservedSharedBytes(sm);
}

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_LIMITS_H_
