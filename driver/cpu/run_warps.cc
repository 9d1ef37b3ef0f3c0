// The scheduler of kernels in regions: one block at a time, its warps in turn, each until it has to wait for another.
//
// Faults and traps leave run_warps by a long jump or an early return, so nothing here owns anything: what it works in
// belongs to the thread.
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <utility>

#include "driver/cpu/failed_threads.h"
#include "driver/cpu/guarded_memory.h"
#include "driver/cpu/warp.h"

namespace slipway::cpu {
namespace {

struct Scratch {
  GuardedMemory warps;
  GuardedMemory local;
  // What the warps have been set up for.
  uint32_t block[3] = {};
  size_t stride = 0;
  uint64_t local_bytes = 0;
  bool runs = false;   // Blocks, right now.
  bool whole = false;  // Whether one form of regions can run each of them as a whole.
};
thread_local Scratch scratch;

// A barrier of the block, in one of its phases.
struct Barrier {
  uint32_t expected = 0;    // Threads; 0: all that have not ended.
  uint32_t arrived = 0;     // Threads, those that wait included.
  uint32_t voters = 0;      // Threads whose predicate counts,
  uint32_t population = 0;  // and those of them whose predicate holds.
};

struct Block {
  const CpuRegions& regions;
  CpuLaunch& launch;
  std::byte* shared;
  std::byte* warps;
  size_t stride;
  uint32_t warp_count;
  uint32_t alive = 0;             // Threads that have not ended.
  uint32_t failure = 0;           // As in CpuLaunch::trapped.
  uint32_t waiting_barriers = 0;  // Bit i: somebody waits at barrier i.
  Barrier barriers[kBarriers] = {};

  Warp& warp(uint32_t i) { return *reinterpret_cast<Warp*>(warps + i * stride); }
  const CpuWait& wait(uint32_t i) const { return regions.waits[i]; }
};

uint32_t Count(uint32_t lanes) {
  return lanes == kAllLanes ? kLanes : static_cast<uint32_t>(std::popcount(lanes));  // A call, on the oldest x86-64.
}
uint32_t First(uint32_t lanes) { return static_cast<uint32_t>(std::countr_zero(lanes)); }

// The lanes whose entry is `value`; four at a time, as every x86-64 can.
uint32_t LanesWith(const uint32_t (&entries)[kLanes], uint32_t value) {
  using Four __attribute__((vector_size(16))) = uint32_t;
  Four bits = {1, 2, 4, 8};
  Four found = {};
  for (uint32_t lane = 0; lane < kLanes; lane += 4) {
    Four four;
    std::memcpy(&four, &entries[lane], sizeof(four));
    found |= (four == value) & bits;
    bits <<= 4;
  }
  return found[0] | found[1] | found[2] | found[3];
}

// Those of `lanes` whose entry is that of the first of them.
uint32_t SameAsFirst(const uint32_t (&entries)[kLanes], uint32_t lanes) {
  return lanes & LanesWith(entries, entries[First(lanes)]);
}

// --- Barriers of the block

// Why the block's threads cannot go on, and one of those that cannot.
void Fail(Block& block, const Warp& warp, uint32_t lane, CpuFailure failure) {
  block.failure = failure;
  FailedThread failed{.has_thread = true};
  for (int i = 0; i < 3; ++i) {
    failed.block[i] = warp.block[i];
    failed.thread[i] = warp.tid[i][lane];
  }
  NoteFailedThread(failed);
}

// Lets the threads at a barrier go on if all that it waits for are there.
void Release(Block& block, uint32_t number) {
  Barrier& barrier = block.barriers[number];
  const uint32_t wanted = barrier.expected == 0 ? block.alive : barrier.expected;
  if (barrier.arrived < wanted) return;
  for (uint32_t i = 0; i < block.warp_count; ++i) {
    Warp& warp = block.warp(i);
    const uint32_t lanes = std::exchange(warp.waiting[number], 0);
    warp.ready |= lanes;
    if (barrier.voters == 0) continue;
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
      const uint32_t lane = First(left);
      const Mode mode = block.wait(warp.together == kSeeLanes ? warp.at[lane] : warp.together).mode;
      warp.result[lane] = mode == Mode::kAnd  ? barrier.population == barrier.voters
                          : mode == Mode::kOr ? barrier.population != 0
                                              : barrier.population;
    }
  }
  barrier = {};
  block.waiting_barriers &= ~(1U << number);
}

// Lanes, all at one wait, come to a barrier.
void ArriveAt(Block& block, Warp& warp, uint32_t lanes, uint32_t number, uint32_t threads, const CpuWait& wait) {
  if (number >= kBarriers || threads % kLanes != 0) {
    return Fail(block, warp, First(lanes), kBadBarrier);
  }
  Barrier& barrier = block.barriers[number];
  barrier.expected = threads;
  // Where threads are counted, they are counted by whole warps.
  barrier.arrived += threads != 0 && lanes == warp.alive ? kLanes : Count(lanes);
  if (wait.mode != Mode::kNone) {
    barrier.voters += Count(lanes);
    for (uint32_t left = lanes; left != 0; left &= left - 1) barrier.population += warp.c[First(left)] & 1;
  }
  if (wait.kind == Wait::kBarrierArrive) {
    warp.ready |= lanes;
  } else {
    warp.waiting[number] |= lanes;
    block.waiting_barriers |= 1U << number;
  }
  Release(block, number);
}

void ArriveAtBarrier(Block& block, Warp& warp, uint32_t lanes, const CpuWait& wait) {
  if (wait.is_whole) return ArriveAt(block, warp, lanes, 0, 0, wait);
  while (lanes != 0) {  // Lanes may name different barriers.
    const uint32_t first = First(lanes);
    uint32_t same = 0;
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
      const uint32_t lane = First(left);
      same |= static_cast<uint32_t>(warp.a[lane] == warp.a[first] && warp.b[lane] == warp.b[first]) << lane;
    }
    const uint32_t number = std::min(warp.a[first], kBarriers);
    ArriveAt(block, warp, same, number, warp.b[first], wait);
    lanes &= ~same;
  }
}

void End(Block& block, Warp& warp, uint32_t lanes) {
  warp.alive &= ~lanes;
  block.alive -= Count(lanes);
  // A barrier does not wait for threads that have ended.
  for (uint32_t left = block.waiting_barriers; left != 0; left &= left - 1) Release(block, First(left));
}

// --- Operations of a warp

bool SameOperation(const CpuWait& x, const CpuWait& y) {
  return x.kind == y.kind && x.mode == y.mode && x.is_signed == y.is_signed && x.converged == y.converged &&
         x.is_wide == y.is_wide;
}

void Perform(Warp& warp, uint32_t lanes, const CpuWait& wait) {
  RunWarpOperation(wait, warp, lanes);
  warp.pending &= ~lanes;
  warp.ready |= lanes;
}

// The same for lanes that may stand at several waits: each has its own lane to shuffle with.
void PerformApart(Block& block, Warp& warp, uint32_t lanes, CpuWait wait) {
  if (wait.kind == Wait::kShuffle) {
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
      const uint32_t lane = First(left);
      const CpuWait& own = block.wait(warp.at[lane]);
      if (own.b != kInLanes) warp.b[lane] = own.b;
      if (own.c != kInLanes) warp.c[lane] = own.c;
    }
    wait.b = wait.c = kInLanes;
  }
  Perform(warp, lanes, wait);
}

// All lanes that are left stand at one wait.
void PerformTogether(Block& block, Warp& warp) {
  const CpuWait& wait = block.wait(warp.together);
  if (wait.in_full && warp.pending == kAllLanes) {  // RunAll sees to it.
    warp.ready = std::exchange(warp.pending, 0);
    return;
  }
  if (wait.is_whole || wait.converged) return Perform(warp, warp.pending, wait);
  // Each mask names a group. It may be that of an earlier turn, with lanes that have not come so far as its own.
  for (uint32_t left = warp.pending; left != 0;) {
    const uint32_t group = SameAsFirst(warp.mask, left);
    const uint32_t mask = warp.mask[First(left)];
    left &= ~group;
    if ((mask & warp.alive & ~group) == 0) Perform(warp, group, wait);
  }
}

uint32_t MaskOf(const CpuWait& wait, const Warp& warp, uint32_t lane) {
  return wait.is_whole ? kAllLanes : warp.mask[lane];
}

// Performs what all lanes named by a mask have come to, wherever in the program each of them stands.
void PerformComplete(Block& block, Warp& warp) {
  for (uint32_t left = warp.pending; left != 0;) {
    const uint32_t first = First(left);
    const CpuWait& wait = block.wait(warp.at[first]);
    const uint32_t mask = MaskOf(wait, warp, first);
    uint32_t here = 0;
    for (uint32_t others = left; others != 0;) {
      const uint32_t same = SameAsFirst(warp.at, others);
      const CpuWait& other = block.wait(warp.at[First(others)]);
      others &= ~same;
      if (!SameOperation(wait, other)) continue;
      here |= other.is_whole ? (mask == kAllLanes ? same : 0) : same & LanesWith(warp.mask, mask);
    }
    left &= ~here;
    if (wait.converged || (mask & warp.alive & ~here) != 0) continue;
    PerformApart(block, warp, here, wait);
  }
}

// Those that are at one place, with nobody of the warp left that could join them: an operation without a mask.
bool PerformConverged(Block& block, Warp& warp) {
  for (uint32_t left = warp.pending; left != 0;) {
    const uint32_t same = SameAsFirst(warp.at, left);
    const CpuWait& wait = block.wait(warp.at[First(left)]);
    left &= ~same;
    if (!wait.converged) continue;
    Perform(warp, same, wait);
    return true;
  }
  return false;
}

// --- Running

void Arrive(Block& block, Warp& warp, uint32_t lanes, uint32_t at) {
  const CpuWait& wait = block.wait(at);
  switch (wait.kind) {
    case Wait::kYield:
      warp.yielded |= lanes;
      return;
    case Wait::kTurn:
      warp.ready |= lanes;
      return;
    case Wait::kBarrier:
    case Wait::kBarrierArrive:
      return ArriveAtBarrier(block, warp, lanes, wait);
    default:
      warp.pending |= lanes;
      return;
  }
}

// Lanes come out of a region.
void Note(Block& block, Warp& warp, uint32_t lanes, uint32_t next) {
  if (next == kSeeLanes && SameAsFirst(warp.at, lanes) == lanes) {
    next = warp.at[First(lanes)];
  }
  if (next == kEnded) {
    End(block, warp, lanes);
    if (warp.pending != 0) PerformComplete(block, warp);  // What others wait for may have been these.
    return;
  }
  if (lanes == warp.alive && next != kSeeLanes) {
    warp.together = next;
    Arrive(block, warp, lanes, next);
    if (warp.pending != 0) PerformTogether(block, warp);
    return;
  }
  warp.together = kSeeLanes;
  while (lanes != 0) {
    const uint32_t same = SameAsFirst(warp.at, lanes);
    const uint32_t at = warp.at[First(lanes)];
    lanes &= ~same;
    if (at == kEnded) {
      End(block, warp, same);
    } else {
      Arrive(block, warp, same, at);
    }
  }
  PerformComplete(block, warp);
}

// What runs the region behind a wait for all lanes of a warp together; null if nothing does.
CpuRegion WholeRegion(const CpuWait& wait, const Warp& warp) {
  return warp.width == kLanes ? wait.full : warp.width != 0 ? wait.rows : nullptr;
}

uint32_t Run(Block& block, Warp& warp, CpuRegion region, uint32_t which) {
  return region(&block.launch, block.shared, block.launch.params, &warp, which);
}

// All 32 lanes of a warp have come from the wait `at`, as a whole, to `next`. Runs them on as long as what they wait
// for is done by the next region itself. Gives what the last region gives.
uint32_t RunOn(Block& block, Warp& warp, uint32_t at, uint32_t next) {
  for (;;) {
    if (next == kLanesDiffer) {
      const CpuWait& wait = block.wait(at);
      if (wait.in_full) RunWarpOperation(wait, warp, kAllLanes);
      return Run(block, warp, wait.some, kAllLanes);
    }
    if (next >= block.regions.count || !block.wait(next).in_full) return next;
    at = next;
    const CpuRegion whole = WholeRegion(block.wait(at), warp);
    next = whole == nullptr ? kLanesDiffer : Run(block, warp, whole, 1);
  }
}

// The same, from a wait on.
uint32_t RunAll(Block& block, Warp& warp, uint32_t at) {
  const CpuRegion whole = WholeRegion(block.wait(at), warp);
  return RunOn(block, warp, at, whole == nullptr ? kLanesDiffer : Run(block, warp, whole, 1));
}

// A CpuFailure of the launch, in this block or another; 0 if there is none.
uint32_t FailureOf(CpuLaunch& launch) { return std::atomic_ref(launch.trapped).load(std::memory_order_relaxed); }

// Runs a warp until none of its lanes can go on by itself.
void RunWarp(Block& block, Warp& warp) {
  do {
    while (warp.ready != 0) {
      uint32_t lanes = warp.ready, at = warp.together;
      if (at == kSeeLanes) {  // Those that are furthest behind go first, so that the others wait for them.
        at = UINT32_MAX;
        for (uint32_t left = warp.ready; left != 0;) {
          const uint32_t same = SameAsFirst(warp.at, left);
          if (warp.at[First(left)] < at) {
            at = warp.at[First(left)];
            lanes = same;
          }
          left &= ~same;
        }
      }
      if (lanes != warp.alive && warp.together != kSeeLanes) {
        for (uint32_t left = warp.alive; left != 0; left &= left - 1) warp.at[First(left)] = at;
        warp.together = kSeeLanes;
      }
      warp.ready &= ~lanes;
      const uint32_t next = lanes == kAllLanes ? RunAll(block, warp, at) : Run(block, warp, block.wait(at).some, lanes);
      if (next == kTrapped) {
        block.failure = FailureOf(block.launch);
      } else {
        Note(block, warp, lanes, next);
      }
      if (block.failure != 0) return;
    }
  } while (warp.together == kSeeLanes && warp.pending != 0 && PerformConverged(block, warp));
}

// Whether somebody goes on who let others go first.
bool ResumeYielded(Block& block) {
  bool resumed = false;
  for (uint32_t i = 0; i < block.warp_count; ++i) {
    Warp& warp = block.warp(i);
    resumed |= warp.yielded != 0;
    warp.ready |= std::exchange(warp.yielded, 0);
  }
  // They wait for what other blocks do, perhaps, which are in the hands of other threads.
  if (resumed) sched_yield();
  return resumed;
}

// --- Blocks

// All warps stand at the wait `at` and can go on.
void StartApart(Block& block, uint32_t at) {
  block.alive = 0;
  block.waiting_barriers = 0;
  std::fill(std::begin(block.barriers), std::end(block.barriers), Barrier());
  for (uint32_t i = 0; i < block.warp_count; ++i) {
    Warp& warp = block.warp(i);
    warp.ready = warp.alive = warp.exists;
    block.alive += Count(warp.alive);
    warp.together = at;
    warp.yielded = warp.pending = 0;
    std::fill(std::begin(warp.waiting), std::end(warp.waiting), 0);
  }
}

// Whether all threads of the block wait there for all others, and for nothing else.
bool IsForAll(const CpuWait& wait) { return wait.kind == Wait::kBarrier && wait.is_whole && wait.mode == Mode::kNone; }

// Whether the warps of a block that all come there go on together.
bool IsInStep(const CpuWait& wait) { return wait.in_full || IsForAll(wait); }

bool Trapped(Block& block) {
  block.failure = FailureOf(block.launch);
  return true;
}

// Runs a block of whole warps, all of one width, as long as all lanes of each stay together and all warps come to one
// barrier after the other, as most do until they end: nobody has to note who waits where. False if they no longer do;
// it is noted then.
bool RunInStep(Block& block) {
  for (uint32_t at = 0;;) {
    const CpuRegion whole = WholeRegion(block.wait(at), block.warp(0));
    if (whole == nullptr) {
      StartApart(block, at);
      return false;
    }
    uint32_t all = 0;  // Where the first warp came to; never the start.
    for (uint32_t i = 0; i < block.warp_count;) {
      Warp& first = block.warp(i);
      const uint32_t next = Run(block, first, whole, block.warp_count - i);
      if (next == kTrapped) return Trapped(block);
      const uint32_t last = i + first.ran, came_to = first.came_to;
      if (i == 0 && last == block.warp_count && (next == kEnded || IsInStep(block.wait(next)))) {
        all = next;
        break;
      }
      for (; i < block.warp_count && i <= last; ++i) {
        const uint32_t own = RunOn(block, block.warp(i), at, i < last ? came_to : next);
        if (own == kTrapped) return Trapped(block);
        const bool for_all = own == kEnded || (own < block.regions.count && IsForAll(block.wait(own)));
        if (i == 0 && for_all) all = own;
        if (own == all) continue;
        StartApart(block, at);
        const auto note = [&](uint32_t k, uint32_t where) {
          if (where == kLanesDiffer) return;  // It has not run.
          block.warp(k).ready = 0;
          Note(block, block.warp(k), kAllLanes, where);
        };
        for (uint32_t k = 0; k < i; ++k) note(k, all);
        note(i, own);
        for (uint32_t k = i + 1; k < last; ++k) note(k, came_to);
        if (i < last && last < block.warp_count) note(last, next);
        if (block.failure == 0) RunWarp(block, block.warp(i));  // What its lanes wait for may be each other alone.
        return block.failure != 0;
      }
    }
    if (all == kEnded) return true;
    at = all;
  }
}

void RunApart(Block& block) {
  while (block.alive != 0) {
    bool ran = false;
    for (uint32_t i = 0; i < block.warp_count; ++i) {
      Warp& warp = block.warp(i);
      if (warp.ready == 0) continue;
      ran = true;
      RunWarp(block, warp);
      if (block.failure != 0) return;
    }
    if (ran) continue;
    // What has failed elsewhere in the launch may be what they wait for.
    block.failure = FailureOf(block.launch);
    if (block.failure != 0) return;
    if (ResumeYielded(block)) continue;
    uint32_t stuck = 0;
    while (block.warp(stuck).alive == 0) ++stuck;
    return Fail(block, block.warp(stuck), First(block.warp(stuck).alive), kDeadlock);
  }
}

using Place = std::array<uint32_t, 3>;
Place PlaceOf(uint64_t block, const uint32_t (&grid)[3]) {
  const uint64_t row = block / grid[0];
  return {static_cast<uint32_t>(block % grid[0]), static_cast<uint32_t>(row % grid[1]),
          static_cast<uint32_t>(row / grid[1])};
}

// What the warps of every block of a launch have in common. Gives whether one form of regions can run each of them.
bool SetUp(const uint32_t (&size)[3], std::byte* warps, size_t stride, uint32_t warp_count, std::byte* local,
           uint64_t local_bytes) {
  const uint32_t threads = size[0] * size[1] * size[2];
  bool whole = true;
  uint32_t place[3] = {};
  for (uint32_t i = 0; i < warp_count; ++i) {
    Warp& warp = *reinterpret_cast<Warp*>(warps + i * stride);
    std::memset(static_cast<void*>(&warp), 0, sizeof(Warp));
    warp.first = i * kLanes;
    warp.local = local + uint64_t{i} * kLanes * local_bytes;
    const uint32_t lanes = std::min(kLanes, threads - warp.first);
    warp.exists = lanes == kLanes ? kAllLanes : (1U << lanes) - 1;
    for (uint32_t lane = 0; lane < lanes;) {  // Row by row: a division a thread is what would be seen.
      const uint32_t in_row = std::min(lanes - lane, size[0] - place[0]);
      for (const uint32_t end = lane + in_row; lane < end; ++lane) {
        warp.tid[0][lane] = place[0]++;
        warp.tid[1][lane] = place[1];
        warp.tid[2][lane] = place[2];
      }
      if (place[0] < size[0]) break;
      place[0] = 0;
      if (++place[1] < size[1]) continue;
      place[1] = 0;
      ++place[2];
    }
    if (lanes == kLanes) {
      if (size[0] % kRowLanes == 0) warp.width = kRowLanes;
      if (warp.tid[0][0] % kLanes == 0 && warp.tid[0][0] + kLanes <= size[0]) warp.width = kLanes;
    }
    whole &= warp.width != 0 && warp.width == reinterpret_cast<const Warp*>(warps)->width;
  }
  return whole;
}

}  // namespace

bool IsInLocalMemory(uintptr_t address) { return scratch.local.Contains(address); }

bool LeaveFaultedBlock(uint32_t (&block)[3]) {
  if (!std::exchange(scratch.runs, false)) return false;
  const Warp& warp = *reinterpret_cast<const Warp*>(scratch.warps.data());
  std::copy(std::begin(warp.block), std::end(warp.block), block);
  return true;
}

extern "C" void slipway_cpu_run_warps(CpuLaunch* launch, uint64_t first, uint64_t last, std::byte* shared,
                                      const CpuRegions* regions) {
  const uint32_t(&size)[3] = launch->block;
  const uint32_t threads = size[0] * size[1] * size[2];
  const uint32_t warp_count = (threads + kLanes - 1) / kLanes;
  const size_t stride = Stride(regions->slot_bytes);
  Scratch& own = scratch;
  std::byte* const warps = own.warps.Reserve(warp_count * stride);
  std::byte* const local = own.local.Reserve(warp_count * kLanes * regions->local_bytes);
  if (warps == nullptr || (local == nullptr && regions->local_bytes != 0)) {
    own.stride = 0;  // What the warps have been set up for may be gone.
    FailedThread failed;
    const Place place = PlaceOf(first, launch->grid);
    std::copy(std::begin(place), std::end(place), failed.block);
    NoteFailedThread(failed);
    std::atomic_ref(launch->trapped).store(kNoMemory, std::memory_order_relaxed);
    return;
  }
  if (!std::equal(size, size + 3, own.block) || own.stride != stride || own.local_bytes != regions->local_bytes) {
    own.whole = SetUp(size, warps, stride, warp_count, local, regions->local_bytes);
    std::copy(size, size + 3, own.block);
    own.stride = stride;
    own.local_bytes = regions->local_bytes;
  }
  Block block{*regions, *launch, shared, warps, stride, warp_count};
  Place place = PlaceOf(first, launch->grid);
  own.runs = true;
  for (uint64_t index = first; index < last; ++index) {
    if (FailureOf(*launch) != 0) break;  // No further block begins.
    for (uint32_t i = 0; i < warp_count; ++i) std::copy(place.begin(), place.end(), block.warp(i).block);
    if (!own.whole) StartApart(block, 0);
    if (!own.whole || !RunInStep(block)) RunApart(block);
    if (block.failure != 0) {
      uint32_t none = 0;  // A thread that failed by itself is the cause of what others wait for.
      std::atomic_ref(launch->trapped).compare_exchange_strong(none, block.failure, std::memory_order_relaxed);
      break;
    }
    for (int axis = 0; axis < 3 && ++place[axis] == launch->grid[axis]; ++axis) place[axis] = 0;
  }
  own.runs = false;
}

}  // namespace slipway::cpu
