// Operations of the lanes of a warp with each other (PTX ISA 9.7.9.6, 9.7.13).
#include <algorithm>
#include <bit>

#include "driver/cpu/warp.h"

namespace slipway::cpu {
namespace {

template <class F>
void ForEachLane(uint32_t lanes, const F& f) {
  if (lanes == kAllLanes) {  // By far the most common; the compiler unrolls it.
    for (uint32_t lane = 0; lane < kLanes; ++lane) f(lane);
    return;
  }
  for (; lanes != 0; lanes &= lanes - 1) f(static_cast<uint32_t>(std::countr_zero(lanes)));
}

// The source lane and whether it is in range, from the pseudocode of shfl (PTX ISA, "Data Movement and Conversion
// Instructions: shfl.sync"). Reading from a lane that does not take part is undefined there; here it gives the lane's
// own value.
template <class Source>
void Shuffle(const CpuWait& wait, Warp& warp, uint32_t lanes, const Source& source) {
  ForEachLane(lanes, [&](uint32_t lane) {
    const uint32_t c = wait.c == kInLanes ? warp.c[lane] : wait.c;
    const uint32_t distance = (wait.b == kInLanes ? warp.b[lane] : wait.b) & 31;
    const uint32_t clamp = c & 31, segment = c >> 8 & 31;
    bool in_range = false;
    const uint32_t from = source(lane, distance, (lane & segment) | (clamp & ~segment), segment, &in_range) & 31;
    const bool reads = in_range && (lanes >> from & 1) != 0;
    warp.result[lane] = warp.a[reads ? from : lane];
    warp.predicate[lane] = in_range;
  });
}

void Shuffle(const CpuWait& wait, Warp& warp, uint32_t lanes) {
  switch (wait.mode) {
    case Mode::kUp:
      return Shuffle(wait, warp, lanes, [](uint32_t lane, uint32_t distance, uint32_t limit, uint32_t, bool* in_range) {
        *in_range = static_cast<int32_t>(lane - distance) >= static_cast<int32_t>(limit);
        return lane - distance;
      });
    case Mode::kDown:
      return Shuffle(wait, warp, lanes, [](uint32_t lane, uint32_t distance, uint32_t limit, uint32_t, bool* in_range) {
        *in_range = lane + distance <= limit;
        return lane + distance;
      });
    case Mode::kButterfly:
      return Shuffle(wait, warp, lanes, [](uint32_t lane, uint32_t distance, uint32_t limit, uint32_t, bool* in_range) {
        *in_range = (lane ^ distance) <= limit;
        return lane ^ distance;
      });
    default:
      return Shuffle(wait, warp, lanes,
                     [](uint32_t lane, uint32_t distance, uint32_t limit, uint32_t segment, bool* in_range) {
                       const uint32_t from = (lane & segment) | (distance & ~segment);
                       *in_range = from <= limit;
                       return from;
                     });
  }
}

uint32_t Ballot(const Warp& warp, uint32_t lanes) {
  uint32_t ballot = 0;
  ForEachLane(lanes, [&](uint32_t lane) { ballot |= (warp.a[lane] & 1) << lane; });
  return ballot;
}

void Broadcast(Warp& warp, uint32_t lanes, uint32_t result, bool predicate = false) {
  ForEachLane(lanes, [&](uint32_t lane) {
    warp.result[lane] = result;
    warp.predicate[lane] = predicate;
  });
}

void Vote(Mode mode, Warp& warp, uint32_t lanes) {
  const uint32_t ballot = Ballot(warp, lanes);
  uint32_t result = ballot;
  if (mode == Mode::kAll) result = ballot == lanes;
  if (mode == Mode::kAny) result = ballot != 0;
  if (mode == Mode::kUniform) result = ballot == lanes || ballot == 0;
  Broadcast(warp, lanes, result);
}

void Match(Mode mode, bool wide, Warp& warp, uint32_t lanes) {
  uint32_t left = lanes;
  while (left != 0) {
    const int first = std::countr_zero(left);
    uint32_t equal = 0;
    ForEachLane(left, [&](uint32_t lane) {
      const bool same = warp.a[lane] == warp.a[first] && (!wide || warp.a_high[lane] == warp.a_high[first]);
      equal |= static_cast<uint32_t>(same) << lane;
    });
    if (mode == Mode::kAll) {
      const bool all = equal == lanes;
      return Broadcast(warp, lanes, all ? lanes : 0, all);
    }
    Broadcast(warp, equal, equal);
    left &= ~equal;
  }
}

uint32_t Combine(const CpuWait& wait, uint32_t x, uint32_t y) {
  switch (wait.mode) {
    case Mode::kAdd:
      return x + y;
    case Mode::kAnd:
      return x & y;
    case Mode::kOr:
      return x | y;
    case Mode::kXor:
      return x ^ y;
    case Mode::kMin:
      return wait.is_signed ? static_cast<uint32_t>(std::min(static_cast<int32_t>(x), static_cast<int32_t>(y)))
                            : std::min(x, y);
    default:
      return wait.is_signed ? static_cast<uint32_t>(std::max(static_cast<int32_t>(x), static_cast<int32_t>(y)))
                            : std::max(x, y);
  }
}

void Reduce(const CpuWait& wait, Warp& warp, uint32_t lanes) {
  uint32_t result = warp.a[std::countr_zero(lanes)];
  ForEachLane(lanes & (lanes - 1), [&](uint32_t lane) { result = Combine(wait, result, warp.a[lane]); });
  Broadcast(warp, lanes, result);
}

}  // namespace

void RunWarpOperation(const CpuWait& wait, Warp& warp, uint32_t lanes) {
  switch (wait.kind) {
    case Wait::kShuffle:
      return Shuffle(wait, warp, lanes);
    case Wait::kVote:
      return Vote(wait.mode, warp, lanes);
    case Wait::kMatch:
      return Match(wait.mode, wait.is_wide, warp, lanes);
    case Wait::kReduce:
      return Reduce(wait, warp, lanes);
    case Wait::kActiveMask:
      return Broadcast(warp, lanes, lanes);
    case Wait::kElect: {
      const auto leader = static_cast<uint32_t>(std::countr_zero(lanes));
      Broadcast(warp, lanes, leader);
      warp.predicate[leader] = true;
      return;
    }
    default:
      return;
  }
}

}  // namespace slipway::cpu
