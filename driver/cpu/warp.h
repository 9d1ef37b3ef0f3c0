// Kernels whose threads wait for each other: what translated code and the scheduler that runs it share.
//
// Such a kernel is cut where its threads wait: at barriers, warp-wide operations and yields. What lies between two
// waits is a region. Each region is translated to functions that run it for threads of one warp: `full` for all 32
// lanes of a warp whose threads lie next to each other in x, as a loop that vectorises, `rows` for four such rows of 8,
// and `some` for any of its lanes. A lane that comes out of a region stores what the operation that it waits for reads,
// and those of its registers that live on, into the warp, and notes where it stands. The scheduler (run_warps.cc) does
// what the lanes wait for and runs the regions behind it.
//
// So threads that stay together run as vectors, those that go apart run one after another until they meet again at a
// wait, and every lane makes progress by itself, as independent thread scheduling has it (CUDA C++ Programming Guide,
// "Independent Thread Scheduling").
#ifndef SLIPWAY_DRIVER_CPU_WARP_H_
#define SLIPWAY_DRIVER_CPU_WARP_H_

#include <cstddef>
#include <cstdint>

#include "driver/cpu/program.h"

namespace slipway::cpu {

inline constexpr uint32_t kLanes = 32;
inline constexpr uint32_t kRowLanes = 8;  // Of a row: threads next to each other in x, of which a warp has four.
inline constexpr uint32_t kAllLanes = 0xffffffff;
inline constexpr uint32_t kBarriers = 16;  // Of a block (PTX ISA 9.7.13.1).

// What threads wait for.
enum class Wait : uint8_t {
  kStart,  // Nothing: the beginning of the kernel.
  kYield,  // Nothing, but others go first: in a loop that waits for what they store.
  kTurn,   // Nothing: the next turn of a loop, which `full` takes with all lanes together; `some` does not stop here.
  // Of the block. Operands: a barrier number, b threads (0: all), c predicate of a reduction (`mode`).
  kBarrier,
  kBarrierArrive,  // Goes on at once.
  // Of the lanes in `mask`, or of those that are together (`converged`).
  kWarpBarrier,
  kActiveMask,  // Result: the lanes that are together.
  kShuffle,     // a value, b lane or distance, c clamp and segment mask; results: value, in range.
  kVote,        // a predicate; result.
  kMatch,       // a value; results: lanes, all equal.
  kReduce,      // a value; result.
  kElect,       // Results: the leader, whether it is this lane.
};

// What a wait does with the values, by its kind.
enum class Mode : uint8_t {
  kNone,
  // kShuffle.
  kUp,
  kDown,
  kButterfly,
  kIndex,
  // kVote; of kMatch, the first two.
  kAll,
  kAny,
  kUniform,
  kBallot,
  // kReduce; of kBarrier, the first two.
  kAnd,
  kOr,
  kXor,
  kAdd,
  kMin,
  kMax,
  // kBarrier.
  kPopulation,
};

struct Warp;

// Runs a region: for all 32 lanes of each of `which` warps that follow each other (`full`, `rows`), or for the lanes
// `which`, not 0, of one (`some`). Gives the wait at which all of them stand, or one of the values below. The first
// ends where a warp comes to another wait than those before it, or gives up, and give what that one comes to:
// Warp::ran.
using CpuRegion = uint32_t (*)(CpuLaunch* launch, std::byte* shared, const std::byte* params, Warp* warp,
                               uint32_t which);
inline constexpr uint32_t kSeeLanes = 0xffffffff;  // Where each stands is in Warp::at.
inline constexpr uint32_t kTrapped = 0xfffffffe;   // A thread executed `trap`.
inline constexpr uint32_t kLanesDiffer =
    0xfffffffd;                             // `full` has done nothing: lanes differ in what it takes to be one.
inline constexpr uint32_t kEnded = 0xffff;  // In Warp::at, too: the thread has ended.

inline constexpr uint32_t kInLanes = 0xffffffff;  // An operand is no constant: each lane has stored its own.
inline constexpr uint32_t kShuffleBits = 0x1f1f;  // All that shuffles look at: a lane or clamp, and a segment mask.

// A wait, and the region behind it. Laid out by translate/region_frame.cc.
struct CpuWait {
  Wait kind;
  Mode mode;
  bool is_signed;  // kReduce
  bool is_whole;  // Of warps: all lanes are named (mask is not stored); of blocks: barrier 0, all threads (nothing is).
  bool converged;  // Of warps: there is no mask; the lanes that are together.
  bool is_wide;    // kMatch: of 64 bits.
  bool in_full;    // Of warps: `full` does itself what all lanes wait for.
  uint32_t b;      // kShuffle: the operands, or kInLanes.
  uint32_t c;
  CpuRegion full;
  CpuRegion rows;  // Null where a kernel never asks for a thread's y.
  CpuRegion some;
};

// A kernel in regions; the first wait is the start.
struct CpuRegions {
  uint64_t count;
  uint64_t slot_bytes;   // What registers that live across waits take, of a warp.
  uint64_t local_bytes;  // Local memory of a thread, a multiple of its alignment.
  const CpuWait* waits;
};

// A warp of the block that is running, followed by its slots: those of its registers that live across waits. Translated
// code knows the layout. An array has an entry a lane. 64-byte aligned, as are the slots: vectors are stored there.
struct alignas(64) Warp {
  uint32_t tid[3][kLanes];  // %tid
  uint32_t at[kLanes];      // The wait at which a lane stands, or kEnded.
  uint32_t mask[kLanes];    // Operands of the wait.
  uint32_t a[kLanes];
  uint32_t a_high[kLanes];  // Of values of 64 bits.
  uint32_t b[kLanes];
  uint32_t c[kLanes];
  uint32_t result[kLanes];
  uint32_t predicate[kLanes];  // 0 or 1.
  uint32_t block[3];           // %ctaid
  uint32_t first;              // Number of the first lane's thread in the block.
  std::byte* local;            // Local memory: local_bytes a lane.
  // Of the first of the warps that `full` or `rows` was called for: so many of them have come to the wait `came_to`. If
  // there are more, the next one is that of which the result tells.
  uint32_t ran;
  uint32_t came_to;

  // The scheduler's.
  uint32_t exists;              // Lanes that have a thread.
  uint32_t alive;               // Those that have not ended.
  uint32_t ready;               // Those that can go on.
  uint32_t yielded;             // Those that can when nobody else can.
  uint32_t pending;             // Those that wait for others of the warp.
  uint32_t waiting[kBarriers];  // Those that wait at a barrier of the block.
  uint32_t together;            // The wait at which all alive lanes stand, where that is known; else kSeeLanes.
  // Threads that lie next to each other in x: 32, the first at a multiple of 32, and `full` can run the warp; 8, from
  // multiples of 8 on, and `rows` can; 0, and neither can.
  uint32_t width;
};

// From a warp to the next one of its block, in bytes.
constexpr uint64_t Stride(uint64_t slot_bytes) {
  return sizeof(Warp) + (slot_bytes + alignof(Warp) - 1) / alignof(Warp) * alignof(Warp);
}

// Runs blocks [first, last) of a kernel in regions; called by the function that CpuKernel::run points to.
extern "C" void slipway_cpu_run_warps(CpuLaunch* launch, uint64_t first, uint64_t last, std::byte* shared,
                                      const CpuRegions* regions);

// Whether an address lies in the local memory of the warps that this thread runs.
bool IsInLocalMemory(uintptr_t address);

// After a fault: whether the thread was in slipway_cpu_run_warps, and in which block. It is out of it then.
bool LeaveFaultedBlock(uint32_t (&block)[3]);

// Does what the lanes `lanes` of a warp, all at waits of this kind, wait for; not for barriers of the block.
void RunWarpOperation(const CpuWait& wait, Warp& warp, uint32_t lanes);

}  // namespace slipway::cpu

#endif  // SLIPWAY_DRIVER_CPU_WARP_H_
