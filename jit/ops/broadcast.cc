#include "jit/ops/broadcast.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace slipway::elementwise {
namespace {

int64_t Magnitude(int64_t stride) { return stride == INT64_MIN ? INT64_MAX : std::abs(stride); }

// Whether dimension `a` belongs outside of dimension `b`: larger steps outside, as the first operand that can tell
// says.
bool BelongsOutside(absl::Span<const LoopOperand> operands, int a, int b) {
  for (const LoopOperand& operand : operands) {
    const int64_t step_a = Magnitude(operand.strides[a]);
    const int64_t step_b = Magnitude(operand.strides[b]);
    if (step_a != 0 && step_b != 0 && step_a != step_b) return step_a > step_b;
  }
  return false;
}

void DropUnitDimensions(Loop& loop, absl::Span<LoopOperand> operands) {
  int kept = 0;
  for (int d = 0; d < loop.shape.rank; ++d) {
    if (loop.shape.extents[d] == 1) continue;
    loop.shape.extents[kept] = loop.shape.extents[d];
    for (LoopOperand& operand : operands) operand.strides[kept] = operand.strides[d];
    ++kept;
  }
  loop.shape.rank = kept;
}

void TurnForward(const Loop& loop, absl::Span<LoopOperand> operands) {
  for (int d = 0; d < loop.shape.rank; ++d) {
    bool any_backward = false;
    bool any_forward = false;
    for (const LoopOperand& operand : operands) {
      any_backward |= operand.strides[d] < 0;
      any_forward |= operand.strides[d] > 0;
    }
    if (!any_backward || any_forward) continue;
    for (LoopOperand& operand : operands) {
      operand.offset += operand.strides[d] * (loop.shape.extents[d] - 1);
      operand.strides[d] = -operand.strides[d];
    }
  }
}

void SortDimensions(Loop& loop, absl::Span<LoopOperand> operands) {
  // Insertion sort: at most eight, mostly in order already, and the comparison is no strict order when strides are
  // zero, which std::sort may not be given.
  for (int d = 1; d < loop.shape.rank; ++d) {
    for (int at = d; at > 0 && BelongsOutside(operands, at, at - 1); --at) {
      std::swap(loop.shape.extents[at], loop.shape.extents[at - 1]);
      for (LoopOperand& operand : operands) std::swap(operand.strides[at], operand.strides[at - 1]);
    }
  }
}

void MergeDimensions(Loop& loop, absl::Span<LoopOperand> operands) {
  if (loop.shape.rank == 0) return;
  int last = 0;  // The dimension that the next one may merge into.
  for (int d = 1; d < loop.shape.rank; ++d) {
    const int64_t inner = loop.shape.extents[d];
    const bool merges = std::all_of(operands.begin(), operands.end(), [&](const LoopOperand& operand) {
      int64_t whole_inner = 0;
      return !__builtin_mul_overflow(operand.strides[d], inner, &whole_inner) && operand.strides[last] == whole_inner;
    });
    if (merges) {
      loop.shape.extents[last] *= inner;
    } else {
      ++last;
      loop.shape.extents[last] = inner;
    }
    for (LoopOperand& operand : operands) operand.strides[last] = operand.strides[d];
  }
  loop.shape.rank = last + 1;
}

void Describe(const Loop& loop, LoopOperand& operand) {
  operand.mask = 0;
  operand.contiguous = true;
  int64_t dense = 1;
  for (int d = loop.shape.rank - 1; d >= 0; --d) {
    if (loop.shape.extents[d] == 1) operand.strides[d] = dense;  // Any will do; this one is in no array's way.
    if (operand.strides[d] == 0) continue;
    operand.mask |= uint32_t{1} << d;
    operand.contiguous &= operand.strides[d] == dense;
    dense *= loop.shape.extents[d];
  }
  operand.linear = operand.contiguous && operand.mask == (uint32_t{1} << loop.shape.rank) - 1;
}

}  // namespace

std::string ToString(absl::Span<const int64_t> shape) {
  return absl::StrCat("(", absl::StrJoin(shape, ", "), shape.size() == 1 ? ",)" : ")");
}

bool BroadcastInto(absl::Span<const int64_t> shape, Shape& into) {
  const int rank = static_cast<int>(shape.size());
  if (rank > into.rank) {
    const int shift = rank - into.rank;
    for (int d = rank - 1; d >= 0; --d) into.extents[d] = d >= shift ? into.extents[d - shift] : 1;
    into.rank = rank;
  }
  for (int d = 0; d < rank; ++d) {
    int64_t& extent = into.extents[into.rank - rank + d];
    if (shape[d] == extent || shape[d] == 1) continue;
    if (extent != 1) return false;
    extent = shape[d];
  }
  return true;
}

bool BroadcastsTo(absl::Span<const int64_t> shape, absl::Span<const int64_t> to) {
  if (shape.size() > to.size()) return false;
  const absl::Span<const int64_t> inner = to.last(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != inner[d] && shape[d] != 1) return false;
  }
  return true;
}

LoopOperand MakeOperand(const Loop& loop, absl::Span<const int64_t> shape, absl::Span<const int64_t> strides) {
  LoopOperand operand;
  const int shift = loop.shape.rank - static_cast<int>(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) operand.strides[shift + d] = shape[d] == 1 ? 0 : strides[d];
  return operand;
}

void Collapse(Loop& loop, absl::Span<LoopOperand> operands, LoopOrder order) {
  if (order != LoopOrder::kDimensions) DropUnitDimensions(loop, operands);
  if (order == LoopOrder::kAny) {
    TurnForward(loop, operands);
    SortDimensions(loop, operands);
  }
  if (order != LoopOrder::kDimensions) MergeDimensions(loop, operands);
  if (loop.shape.rank == 0) {
    // One element: call it an array of one dimension, which is the kernel that longer arrays have anyway.
    loop.shape.rank = 1;
    loop.shape.extents[0] = 1;
    for (LoopOperand& operand : operands) operand.strides[0] = 1;
  }
  for (LoopOperand& operand : operands) Describe(loop, operand);
}

namespace {

// Where the bytes of a footprint lie modulo `step`: from `begin` on, so many. Strides that are multiples of `step` say
// nothing there.
struct Arc {
  uint64_t begin = 0;
  __int128 width = 0;
};
Arc ArcOf(const Footprint& footprint, uint64_t step) {
  const __int128 modulus = step;
  __int128 low = 0, high = footprint.item_size;
  for (size_t d = 0; d < footprint.shape.size(); ++d) {
    int64_t stride = 0, reach = 0;
    const bool counts = !__builtin_mul_overflow(footprint.strides[d], footprint.item_size, &stride) &&
                        !__builtin_mul_overflow(footprint.shape[d] - 1, stride, &reach);
    if (!counts) return {0, modulus + 1};  // Everywhere.
    if (stride % modulus != 0) (reach < 0 ? low : high) += reach;
  }
  return {static_cast<uint64_t>(((footprint.address + low) % modulus + modulus) % modulus), high - low};
}

// Whether the bytes of two footprints lie apart modulo `step`.
bool AreApart(const Footprint& a, const Footprint& b, uint64_t step) {
  const Arc first = ArcOf(a, step), second = ArcOf(b, step);
  const uint64_t from_first =
      second.begin >= first.begin ? second.begin - first.begin : second.begin + (step - first.begin);
  return from_first >= first.width && from_first + second.width <= step;
}

}  // namespace

bool MayOverlap(const Footprint& a, const Footprint& b) {
  const ByteRange range_a = RangeOf(a.shape, a.strides, a.item_size);
  const ByteRange range_b = RangeOf(b.shape, b.strides, b.item_size);
  if (range_a.begin == range_a.end || range_b.begin == range_b.end) return false;
  const __int128 first_a = static_cast<__int128>(a.address);
  const __int128 first_b = static_cast<__int128>(b.address);
  if (first_a + range_a.end <= first_b + range_b.begin || first_b + range_b.end <= first_a + range_a.begin)
    return false;
  // Steps to look at the addresses by: the common divisor of all strides (every second element of one buffer each), and
  // each stride (rows of a matrix, of which each has some columns).
  uint64_t divisor = 0;
  std::array<uint64_t, 2 * kMaxRank + 1> steps;
  size_t count = 0;
  for (const Footprint* side : {&a, &b}) {
    for (size_t d = 0; d < side->shape.size(); ++d) {
      const uint64_t step = static_cast<uint64_t>(Magnitude(side->strides[d])) * static_cast<uint64_t>(side->item_size);
      if (side->shape[d] == 1 || step == 0) continue;
      divisor = std::gcd(divisor, step);
      steps[count++] = step;
    }
  }
  if (divisor == 0) return true;
  steps[count++] = divisor;
  return std::none_of(steps.begin(), steps.begin() + count, [&](uint64_t step) { return AreApart(a, b, step); });
}

}  // namespace slipway::elementwise
