#include "jit/ops/elementwise_kernel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "driver/status_macros.h"
#include "jit/builder.h"
#include "jit/ops/element_writer.h"
#include "jit/ops/scan_kernel.h"
#include "jit/ops/team_kernel.h"
#include "slipway/facts.h"

namespace slipway::elementwise {
namespace {

using ir::Builder;
using ir::Op;
using ir::ValueId;

// A thread for an element, or for `lanes` of them.
absl::Status WriteLoop(ElementWriter& writer) {
  Builder& builder = writer.builder();
  const int lane_count = writer.spec().lanes;
  ValueId index = builder.GlobalIndex(writer.SignedIndex());
  const ValueId size = writer.Size();
  if (lane_count == 1) {
    builder.BeginIf(builder.Apply(Op::kLt, {index, size}));
    SLIPWAY_RETURN_IF_ERROR(writer.WriteElement(index));
    builder.EndIf();
    return absl::OkStatus();
  }
  const ValueId lanes = builder.Literal(int64_t{lane_count});
  index = builder.Apply(Op::kMul, {index, lanes});
  const ValueId end = builder.Apply(Op::kAdd, {index, lanes});
  builder.BeginIf(builder.Apply(Op::kLe, {end, size}));
  SLIPWAY_RETURN_IF_ERROR(writer.WriteGroup(index));
  builder.BeginElse();
  const ValueId rest = builder.BeginFor("rest", writer.SignedIndex(), index, size, writer.Literal(1), /*unroll=*/1);
  SLIPWAY_RETURN_IF_ERROR(writer.WriteElement(rest));
  builder.EndFor();
  builder.EndIf();
  return absl::OkStatus();
}

// Bits 0-7 dtype, 8-10 access, 11 contiguous, 12-15 rank, 16-23 mask.
uint64_t WordOf(const ArgumentForm& form) {
  return static_cast<uint64_t>(form.dtype) | static_cast<uint64_t>(form.access) << 8 |
         static_cast<uint64_t>(form.contiguous) << 11 | static_cast<uint64_t>(form.rank) << 12 |
         static_cast<uint64_t>(form.mask) << 16;
}

}  // namespace

int ArgumentForm::ArrayRank() const {
  switch (access) {
    case Access::kScalar:
    case Access::kNone:
      return 0;
    case Access::kLinear:
      return 1;
    case Access::kIndexed:
      return std::popcount(mask);
    case Access::kGathered:
      return rank;
  }
  return 0;
}

std::array<uint8_t, kMaxRank> OuterDimensions(const text::AxisReduction& reduction, absl::Span<const int64_t> shape,
                                              uint32_t reduced, int outer_rank) {
  std::array<uint8_t, kMaxRank> outer = {};
  const auto rank = static_cast<int>(shape.size());
  const int result_rank = reduction.keep_dimensions ? rank : rank - std::popcount(reduced);
  int at = outer_rank - result_rank;  // Shapes are aligned at the last dimension.
  for (int d = 0; d < rank; ++d) {
    if (reduced & (uint32_t{1} << d)) {
      outer[d] = text::ReductionBinding::kReduced;
      at += reduction.keep_dimensions;
    } else {
      outer[d] = shape[d] == 1 ? text::ReductionBinding::kSingle : static_cast<uint8_t>(at);
      ++at;
    }
  }
  return outer;
}

absl::InlinedVector<uint64_t, 8> KeyOf(const Specialization& specialization) {
  // How many there are of each is the program's; two arguments share a word.
  absl::InlinedVector<uint64_t, 8> key = {
      static_cast<uint64_t>(specialization.loop_rank) | static_cast<uint64_t>(specialization.index) << 8 |
      static_cast<uint64_t>(specialization.output_rank) << 16 | static_cast<uint64_t>(specialization.lanes) << 20 |
      static_cast<uint64_t>(specialization.team) << 28};
  int shift = 32;
  const absl::Span<const ArgumentForm> all[] = {specialization.outputs, specialization.inputs, specialization.views};
  for (const absl::Span<const ArgumentForm> forms : all) {
    for (const ArgumentForm& form : forms) {
      if (shift == 64) {
        key.push_back(0);
        shift = 0;
      }
      key.back() |= WordOf(form) << shift;
      shift += 32;
    }
  }
  for (const Specialization::Reduction& reduction : specialization.reductions) {
    uint64_t word = reduction.rank;
    for (int d = 0; d < reduction.rank; ++d) word |= (reduction.outer[d] & uint64_t{0xf}) << (8 + 4 * d);
    key.push_back(word);
  }
  key.push_back(static_cast<uint64_t>(specialization.kind) | uint64_t{specialization.exclusive} << 8 |
                uint64_t{specialization.segmented} << 9 | uint64_t{specialization.carried} << 10 |
                static_cast<uint64_t>(specialization.offsets) << 16);
  return key;
}

bool TakesWideAccesses(const Device& device) {
  return !device.is_cpu() || wide_accesses_everywhere.load(std::memory_order_relaxed);
}

int LanesFor(const text::Program& program, const Specialization& specialization) {
  constexpr size_t kMostNodes = 256;  // Of all copies of the formula together.
  if (!program.loops_freely() || program.wants_extents || !specialization.views.empty()) return 1;
  size_t widest = 0;
  for (const auto* forms : {&specialization.outputs, &specialization.inputs}) {
    for (const ArgumentForm& form : *forms) {
      if (form.access == Access::kLinear) widest = std::max(widest, SizeOf(form.dtype));
      // In a loop of one dimension: an array of a single element.
      if (form.access == Access::kIndexed && form.mask != 0) return 1;
    }
  }
  for (const ArgumentForm& output : specialization.outputs) {
    if (output.access != Access::kLinear) return 1;  // Written by index.
  }
  if (specialization.loop_rank != 1 || widest == 0) return 1;
  size_t lanes = facts::kVectorBytes / widest;
  while (lanes > 1 && lanes * program.nodes.size() > kMostNodes) lanes /= 2;
  return static_cast<int>(lanes);
}

std::vector<DType> StatesOf(const text::Program& program, const text::Typing& typing) {
  std::vector<DType> states;
  for (const text::Monoid& monoid : text::MonoidsOf(program, typing)) {
    for (DType dtype : monoid.types()) states.push_back(dtype);
  }
  return states;
}

bool TakesExtents(const Specialization& specialization) {
  if (specialization.loop_rank > 1) return true;
  return std::all_of(specialization.outputs.begin(), specialization.outputs.end(),
                     [](const ArgumentForm& form) { return form.access == Access::kGathered; });
}

absl::StatusOr<ir::Kernel> BuildKernel(const text::Program& program, const text::Typing& typing,
                                       const Specialization& specialization, const std::string& name,
                                       KernelOrigin* origin) {
  ElementWriter writer(program, typing, specialization, name, origin);
  writer.AddParameters();
  if (specialization.is_scan()) {
    SLIPWAY_RETURN_IF_ERROR(WriteScan(writer));
  } else if (specialization.team == Specialization::Team::kThread && !specialization.segmented) {
    SLIPWAY_RETURN_IF_ERROR(WriteLoop(writer));
  } else {
    SLIPWAY_RETURN_IF_ERROR(WriteTeam(writer));
  }
  return std::move(writer.builder()).Finish();
}

}  // namespace slipway::elementwise
