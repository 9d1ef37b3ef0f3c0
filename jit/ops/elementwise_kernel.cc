#include "jit/ops/elementwise_kernel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "driver/status_macros.h"
#include "jit/builder.h"
#include "slipway/facts.h"
#include "slipway/memory_model.h"

namespace slipway::elementwise {
namespace {

using ir::Builder;
using ir::Op;
using ir::ParamId;
using ir::ValueId;

class KernelWriter {
 public:
  KernelWriter(const text::Program& program, const Specialization& specialization, const std::string& name)
      : program_(program), spec_(specialization), builder_(name) {}

  absl::StatusOr<ir::Kernel> Write(const text::Typing& typing) && {
    builder_.AddFile("expression");
    AddParameters();
    ValueId index = builder_.GlobalIndex(SignedIndex());
    if (spec_.lanes == 1) {
      builder_.BeginIf(builder_.Apply(Op::kLt, {index, Size()}));
      SLIPWAY_RETURN_IF_ERROR(WriteElement(typing, index));
      builder_.EndIf();
      return std::move(builder_).Finish();
    }
    const ValueId lanes = builder_.Literal(int64_t{spec_.lanes});
    index = builder_.Apply(Op::kMul, {index, lanes});
    const ValueId end = builder_.Apply(Op::kAdd, {index, lanes});
    builder_.BeginIf(builder_.Apply(Op::kLe, {end, Size()}));
    SLIPWAY_RETURN_IF_ERROR(WriteGroup(typing, index));
    builder_.BeginElse();
    const ValueId rest = builder_.BeginFor("rest", SignedIndex(), index, Size(), builder_.Constant(SignedIndex(), 1),
                                           /*unroll=*/1);
    SLIPWAY_RETURN_IF_ERROR(WriteElement(typing, rest));
    builder_.EndFor();
    builder_.EndIf();
    return std::move(builder_).Finish();
  }

 private:
  // One element. All inputs are read before any output is written, so that an output may be an input.
  absl::Status WriteElement(const text::Typing& typing, ValueId index) {
    Unravel(index);
    std::vector<text::InputBinding> inputs(spec_.inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ArgumentForm& form = spec_.inputs[i];
      inputs[i] = Shared(i);
      LocateAt(program_.inputs[i]);
      if (form.access == Access::kIndexed) {
        // One that does not go along the whole loop is refused over an output: nobody writes it.
        const bool whole = std::popcount(form.mask) == spec_.loop_rank;
        inputs[i].value = builder_.Load(inputs_[i], IndicesOf(form), whole ? MemoryAccess() : MemoryAccess::ReadOnly());
      } else if (form.access == Access::kLinear) {
        inputs[i].value = builder_.Load(inputs_[i], {index});
      }
    }
    SLIPWAY_ASSIGN_OR_RETURN(const std::vector<ValueId> outputs, text::Emit(program_, typing, inputs, builder_));
    for (size_t i = 0; i < outputs.size(); ++i) {
      LocateAt(program_.outputs[i]);
      builder_.Store(outputs_[i], IndicesOf(spec_.outputs[i]), outputs[i]);
    }
    return absl::OkStatus();
  }

  // As many neighbours as a thread has lanes, each array in one access.
  absl::Status WriteGroup(const text::Typing& typing, ValueId index) {
    const auto lanes = static_cast<size_t>(spec_.lanes);
    std::vector<std::vector<text::InputBinding>> inputs(lanes, std::vector<text::InputBinding>(spec_.inputs.size()));
    for (size_t i = 0; i < spec_.inputs.size(); ++i) {
      const ArgumentForm& form = spec_.inputs[i];
      LocateAt(program_.inputs[i]);
      std::vector<ValueId> values;
      if (form.access == Access::kLinear) {
        values = builder_.LoadGroup(inputs_[i], {index}, spec_.lanes, CacheHint::kNone);
        SLIPWAY_RETURN_IF_ERROR(builder_.status());
      } else {
        text::InputBinding shared = Shared(i);
        if (form.access == Access::kIndexed) {
          shared.value = builder_.Load(inputs_[i], absl::Span<const ValueId>(), MemoryAccess::ReadOnly());
        }
        for (size_t lane = 0; lane < lanes; ++lane) inputs[lane][i] = shared;
        continue;
      }
      for (size_t lane = 0; lane < lanes; ++lane) inputs[lane][i].value = values[lane];
    }
    std::vector<std::vector<ValueId>> outputs(spec_.outputs.size());
    for (size_t lane = 0; lane < lanes; ++lane) {
      SLIPWAY_ASSIGN_OR_RETURN(const std::vector<ValueId> values, text::Emit(program_, typing, inputs[lane], builder_));
      for (size_t i = 0; i < values.size(); ++i) outputs[i].push_back(values[i]);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      LocateAt(program_.outputs[i]);
      builder_.StoreGroup(outputs_[i], {index}, outputs[i], CacheHint::kNone);
    }
    return absl::OkStatus();
  }

  // What comes is of where the text first names the parameter.
  void LocateAt(const text::Parameter& parameter) {
    for (const text::Symbol& symbol : program_.symbols) {
      if (symbol.name != parameter.name) continue;
      return builder_.SetLocation(program_.source.LocationOfToken(symbol.span.offset));
    }
  }

  // What all elements have in common of an input: a number, or an array to gather from.
  text::InputBinding Shared(size_t input) {
    text::InputBinding binding;
    if (spec_.inputs[input].access == Access::kScalar) binding.value = builder_.Scalar(inputs_[input]);
    if (spec_.inputs[input].access == Access::kGathered) binding.array = inputs_[input];
    return binding;
  }

  bool narrow() const { return spec_.index == IndexWidth::kIndex32; }
  DType SignedIndex() const { return narrow() ? DType::kInt32 : DType::kInt64; }
  DType UnsignedIndex() const { return narrow() ? DType::kUInt32 : DType::kUInt64; }

  ParamId AddParameter(const std::string& name, const ArgumentForm& form, bool read_only) {
    if (form.access == Access::kScalar) return builder_.AddScalar(name, form.dtype);
    return builder_.AddArray({.name = name,
                              .kind = ParamKind::kArray,
                              .dtype = form.dtype,
                              .rank = form.ArrayRank(),
                              .layout = form.contiguous ? Layout::kContiguous : Layout::kStrided,
                              .index = spec_.index,
                              .vector = spec_.lanes > 1 && form.access == Access::kLinear,
                              .read_only = read_only});
  }

  void AddParameters() {
    for (size_t i = 0; i < spec_.outputs.size(); ++i) {
      outputs_.push_back(AddParameter(program_.outputs[i].name, spec_.outputs[i], /*read_only=*/false));
    }
    for (size_t i = 0; i < spec_.inputs.size(); ++i) {
      inputs_.push_back(AddParameter(program_.inputs[i].name, spec_.inputs[i], /*read_only=*/true));
    }
    if (!TakesExtents(spec_)) return;
    for (int d = 0; d < spec_.loop_rank; ++d) {
      extents_[d] = builder_.AddScalar(FreeName(d == 0 ? "size" : absl::StrCat("extent", d)), SignedIndex());
    }
  }

  // A parameter's name that no parameter of the program has.
  std::string FreeName(std::string name) const {
    const auto taken = [&] {
      for (const text::Symbol& symbol : program_.symbols) {
        if (symbol.name == name) return true;
      }
      return false;
    };
    while (taken()) name += "_";
    return name;
  }

  ValueId Size() {
    if (TakesExtents(spec_)) return builder_.Scalar(extents_[0]);
    return builder_.Cast(SignedIndex(), builder_.Shape(outputs_[0], 0));
  }

  // The index along each loop dimension, from the last inwards; as far out as an argument depends on one. Unsigned,
  // because dividing such numbers is cheaper.
  void Unravel(ValueId linear) {
    linear_ = linear;
    uint32_t needed = 0;
    for (const auto* forms : {&spec_.outputs, &spec_.inputs}) {
      for (const ArgumentForm& form : *forms) {
        if (form.access == Access::kIndexed) needed |= form.mask;
      }
    }
    if (!TakesExtents(spec_)) {
      indices_[0] = linear;
      return;
    }
    ValueId rest = needed == 0 ? ir::kNone : builder_.Cast(UnsignedIndex(), linear);
    for (int d = spec_.loop_rank - 1; d >= 0 && (needed & ((uint32_t{2} << d) - 1)) != 0; --d) {
      ValueId index = rest;
      if (d > 0) {
        const ValueId extent = builder_.Cast(UnsignedIndex(), builder_.Scalar(extents_[d]));
        const ValueId outer = builder_.Apply(Op::kDiv, {rest, extent});
        if (needed & (uint32_t{1} << d)) {
          index = builder_.Apply(Op::kSub, {rest, builder_.Apply(Op::kMul, {outer, extent})});
        }
        rest = outer;
      }
      if (needed & (uint32_t{1} << d)) indices_[d] = builder_.Cast(SignedIndex(), index);
    }
  }

  absl::InlinedVector<ValueId, kMaxRank> IndicesOf(const ArgumentForm& form) const {
    if (form.access == Access::kLinear) return {linear_};
    absl::InlinedVector<ValueId, kMaxRank> indices;
    for (int d = 0; d < spec_.loop_rank; ++d) {
      if (form.mask & (uint32_t{1} << d)) indices.push_back(indices_[d]);
    }
    return indices;
  }

  const text::Program& program_;
  const Specialization& spec_;
  Builder builder_;
  std::vector<ParamId> outputs_;
  std::vector<ParamId> inputs_;
  std::array<ParamId, kMaxRank> extents_{};
  ValueId linear_ = ir::kNone;
  std::array<ValueId, kMaxRank> indices_{};
};

// Bits 0-7 dtype, 8-9 access, 10 contiguous, 11-14 rank, 16-23 mask.
uint64_t WordOf(const ArgumentForm& form) {
  return static_cast<uint64_t>(form.dtype) | static_cast<uint64_t>(form.access) << 8 |
         static_cast<uint64_t>(form.contiguous) << 10 | static_cast<uint64_t>(form.rank) << 11 |
         static_cast<uint64_t>(form.mask) << 16;
}

}  // namespace

int ArgumentForm::ArrayRank() const {
  switch (access) {
    case Access::kScalar:
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

absl::InlinedVector<uint64_t, 8> KeyOf(const Specialization& specialization) {
  // How many there are of each is the program's; two arguments share a word.
  absl::InlinedVector<uint64_t, 8> key = {static_cast<uint64_t>(specialization.loop_rank) |
                                          static_cast<uint64_t>(specialization.index) << 8 |
                                          static_cast<uint64_t>(specialization.lanes) << 16};
  int shift = 32;
  for (const auto* forms : {&specialization.outputs, &specialization.inputs}) {
    for (const ArgumentForm& form : *forms) {
      if (shift == 64) {
        key.push_back(0);
        shift = 0;
      }
      key.back() |= WordOf(form) << shift;
      shift += 32;
    }
  }
  return key;
}

bool TakesWideAccesses(const Device& device) {
  return !device.is_cpu() || wide_accesses_everywhere.load(std::memory_order_relaxed);
}

int LanesFor(const text::Program& program, const Specialization& specialization) {
  constexpr size_t kMostNodes = 256;  // Of all copies of the formula together.
  size_t widest = 0;
  for (const auto* forms : {&specialization.outputs, &specialization.inputs}) {
    for (const ArgumentForm& form : *forms) {
      if (form.access == Access::kLinear) widest = std::max(widest, SizeOf(form.dtype));
      // In a loop of one dimension: an array of a single element.
      if (form.access == Access::kIndexed && form.mask != 0) return 1;
    }
  }
  if (specialization.loop_rank != 1 || widest == 0) return 1;
  size_t lanes = facts::kVectorBytes / widest;
  while (lanes > 1 && lanes * program.nodes.size() > kMostNodes) lanes /= 2;
  return static_cast<int>(lanes);
}

absl::StatusOr<ir::Kernel> BuildKernel(const text::Program& program, const text::Typing& typing,
                                       const Specialization& specialization, const std::string& name) {
  return KernelWriter(program, specialization, name).Write(typing);
}

}  // namespace slipway::elementwise
