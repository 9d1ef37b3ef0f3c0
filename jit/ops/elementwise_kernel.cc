#include "jit/ops/elementwise_kernel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "driver/status_macros.h"
#include "jit/builder.h"
#include "jit/ops/team.h"
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
  KernelWriter(const text::Program& program, const Specialization& specialization, const std::string& name,
               KernelOrigin* origin)
      : program_(program), spec_(specialization), builder_(name), origin_(origin) {}

  absl::StatusOr<ir::Kernel> Write(const text::Typing& typing) && {
    builder_.AddFile("expression");
    AddParameters(typing);
    if (spec_.team != Specialization::Team::kThread) return std::move(*this).WriteTeam(typing);
    ValueId index = builder_.GlobalIndex(SignedIndex());
    size_ = Size();
    if (spec_.lanes == 1) {
      builder_.BeginIf(builder_.Apply(Op::kLt, {index, size_}));
      SLIPWAY_RETURN_IF_ERROR(WriteElement(typing, index));
      builder_.EndIf();
      return std::move(builder_).Finish();
    }
    const ValueId lanes = builder_.Literal(int64_t{spec_.lanes});
    index = builder_.Apply(Op::kMul, {index, lanes});
    const ValueId end = builder_.Apply(Op::kAdd, {index, lanes});
    builder_.BeginIf(builder_.Apply(Op::kLe, {end, size_}));
    SLIPWAY_RETURN_IF_ERROR(WriteGroup(typing, index));
    builder_.BeginElse();
    const ValueId rest = builder_.BeginFor("rest", SignedIndex(), index, size_, builder_.Constant(SignedIndex(), 1),
                                           /*unroll=*/1);
    SLIPWAY_RETURN_IF_ERROR(WriteElement(typing, rest));
    builder_.EndFor();
    builder_.EndIf();
    return std::move(builder_).Finish();
  }

 private:
  // What the program sees of an element. All inputs are read before any output is written, so that an output may be an
  // input.
  text::Site ReadSite(ValueId index) {
    Unravel(index);
    text::Site site = MakeSite();
    if (!program_.checks.empty()) {
      site.element = builder_.Cast(DType::kInt64, index);
      builder_.SetElement(site.element);
    }
    for (size_t i = 0; i < site.inputs.size(); ++i) {
      const ArgumentForm& form = spec_.inputs[i];
      Share(i, site.inputs[i]);
      LocateAt(program_.inputs[i]);
      if (form.access == Access::kIndexed) {
        // One that does not go along the whole loop is refused over an output: nobody writes it.
        const bool whole = std::popcount(form.mask) == spec_.loop_rank;
        site.inputs[i].value =
            builder_.Load(inputs_[i], IndicesOf(form), whole ? MemoryAccess() : MemoryAccess::ReadOnly());
      } else if (form.access == Access::kLinear) {
        site.inputs[i].value = builder_.Load(inputs_[i], {index});
      }
    }
    return site;
  }

  absl::Status WriteElement(const text::Typing& typing, ValueId index, text::SharedReductions* shared = nullptr) {
    text::Site site = ReadSite(index);
    site.shared = shared;
    std::vector<text::EmittedReduction> reductions;
    const ValueId begin = builder_.num_instructions();
    SLIPWAY_ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                             text::Emit(program_, typing, site, builder_, &reductions));
    if (origin_ != nullptr) {
      *origin_ = {&program_, std::move(site), begin, builder_.num_instructions(), std::move(reductions), {}};
      for (ValueId output : outputs) origin_->outputs.push_back(text::NoteValue(builder_, output));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (spec_.outputs[i].access == Access::kGathered) continue;  // Its elements were written by the program.
      LocateAt(program_.outputs[i]);
      builder_.Store(outputs_[i], IndicesOf(spec_.outputs[i]), outputs[i]);
    }
    return absl::OkStatus();
  }

  // A block, or several of them, for one element. The operands of reductions are shared out over the threads, each
  // thread's merged, then the block's, then the blocks'; what comes of it does not hang on which thread was how fast.
  absl::StatusOr<ir::Kernel> WriteTeam(const text::Typing& typing) && {
    if (spec_.team == Specialization::Team::kTile) return std::move(*this).WriteTile(typing);
    const bool many = spec_.team == Specialization::Team::kBlocks;
    Team team(builder_, text::MonoidsOf(program_, typing));
    const ValueId block = builder_.Cast(SignedIndex(), builder_.Special(ir::SpecialRegister::kBlockX));
    const ValueId blocks = many ? builder_.Scalar(blocks_) : ir::kNone;
    const ValueId index = many ? builder_.Apply(Op::kDiv, {block, blocks}) : block;
    size_ = Size();
    builder_.BeginIf(builder_.Apply(Op::kLt, {index, size_}));
    shared_.states.resize(program_.axis_reductions.size());
    if (!many) {
      SLIPWAY_RETURN_IF_ERROR(BeginShared(typing, index, Literal(0), CountOperands(), team));
      SLIPWAY_RETURN_IF_ERROR(WriteResults(typing, index));
      builder_.EndIf();
    } else {
      const ValueId first = builder_.Apply(Op::kMul, {index, blocks});
      const ValueId count = CountOperands();
      const ValueId each = builder_.Apply(
          Op::kAdd, {builder_.Apply(Op::kDiv, {builder_.Apply(Op::kSub, {count, Literal(1)}), blocks}), Literal(1)});
      const ValueId begin = builder_.Apply(Op::kMul, {builder_.Apply(Op::kSub, {block, first}), each});
      const ValueId end = builder_.Apply(Op::kMin, {builder_.Apply(Op::kAdd, {begin, each}), count});
      SLIPWAY_RETURN_IF_ERROR(BeginShared(typing, index, begin, end, team));
      const ir::ArrayId last = LeaveStates(index, block, blocks);
      builder_.EndIf();
      builder_.ThreadBarrier(ir::BarrierReduction::kNone, ir::kNone);
      builder_.BeginIf(builder_.Load(last, {Literal(0)}));
      BeginMergedBlocks(typing, first, blocks, team);
      SLIPWAY_RETURN_IF_ERROR(WriteResults(typing, index));
      builder_.EndIf();
      builder_.EndIf();
    }
    builder_.EndIf();
    return std::move(builder_).Finish();
  }

  // A block for a row of neighbouring elements, whose operands are neighbours, too.
  absl::StatusOr<ir::Kernel> WriteTile(const text::Typing& typing) && {
    Team team(builder_, text::MonoidsOf(program_, typing));
    const ValueId thread = builder_.Cast(SignedIndex(), team.thread());
    const ValueId row = builder_.Apply(Op::kDiv, {builder_.Cast(UnsignedIndex(), thread), UnsignedLiteral(kTile)});
    const ValueId column = builder_.Apply(Op::kRem, {builder_.Cast(UnsignedIndex(), thread), UnsignedLiteral(kTile)});
    const ValueId block = builder_.Cast(UnsignedIndex(), builder_.Special(ir::SpecialRegister::kBlockX));
    const ValueId index = builder_.Cast(
        SignedIndex(), builder_.Apply(Op::kAdd, {builder_.Apply(Op::kMul, {block, UnsignedLiteral(kTile)}), column}));
    size_ = Size();
    shared_.states.resize(program_.axis_reductions.size());
    // Threads past the last element come to the barrier with the others.
    const ValueId inside = builder_.Apply(Op::kLt, {index, size_});
    StateVariables states(builder_, text::MonoidsOf(program_, typing));
    builder_.BeginIf(inside);
    SLIPWAY_RETURN_IF_ERROR(
        MergeOperands(typing, index, builder_.Cast(SignedIndex(), row), CountOperands(), kTeam / kTile, states));
    builder_.EndIf();
    shared_.states = team.BeginMergedColumns(states.Read());
    builder_.BeginIf(inside);
    SLIPWAY_RETURN_IF_ERROR(WriteResults(typing, index));
    builder_.EndIf();
    builder_.EndIf();
    return std::move(builder_).Finish();
  }

  // Begins an if of the first thread, which has the states of the operands from `begin` to `end`.
  absl::Status BeginShared(const text::Typing& typing, ValueId index, ValueId begin, ValueId end, Team& team) {
    StateVariables states(builder_, text::MonoidsOf(program_, typing));
    const ValueId first = builder_.Apply(Op::kAdd, {begin, builder_.Cast(SignedIndex(), team.thread())});
    SLIPWAY_RETURN_IF_ERROR(MergeOperands(typing, index, first, end, kTeam, states));
    shared_.states = team.BeginMerged(states.Read());
    return absl::OkStatus();
  }

  // The states of every `step`-th operand of an element.
  absl::Status MergeOperands(const text::Typing& typing, ValueId index, ValueId first, ValueId end, int step,
                             StateVariables& states) {
    text::Site site = ReadSite(index);
    shared_.pass = text::SharedReductions::Pass::kOperands;
    shared_.number = builder_.BeginFor("operand", SignedIndex(), first, end, Literal(step));
    site.shared = &shared_;
    SLIPWAY_RETURN_IF_ERROR(text::Emit(program_, typing, site, builder_).status());
    states.Merge(shared_.states);
    builder_.EndFor();
    return absl::OkStatus();
  }

  // Leaves the block's states for the block that comes last of those of its element. Whether it is that.
  ir::ArrayId LeaveStates(ValueId index, ValueId block, ValueId blocks) {
    size_t part = 0;
    for (const text::ReductionState& state : shared_.states) {
      for (ValueId value : state) builder_.Store(scratch_[part++], {block}, value);
    }
    builder_.Fence(MemoryScope::kDevice);
    // It is 0 again after the last one.
    const ValueId last = builder_.Cast(DType::kUInt32, builder_.Apply(Op::kSub, {blocks, Literal(1)}));
    const ValueId number = builder_.Atomic(ir::AtomicOp::kIncrement, scratch_[part], absl::MakeConstSpan(&index, 1),
                                           absl::MakeConstSpan(&last, 1), MemoryOrder::kAcquireRelease);
    const ir::ArrayId is_last = builder_.AddSharedArray("is_last", DType::kBool, {1});
    builder_.Store(is_last, {Literal(0)}, builder_.Apply(Op::kEq, {number, last}));
    return is_last;
  }

  // Begins an if of the first thread, which has the states of all blocks.
  void BeginMergedBlocks(const text::Typing& typing, ValueId first, ValueId blocks, Team& team) {
    builder_.Fence(MemoryScope::kDevice);
    StateVariables states(builder_, text::MonoidsOf(program_, typing));
    const ValueId k =
        builder_.BeginFor("block", SignedIndex(), builder_.Cast(SignedIndex(), team.thread()), blocks, Literal(kTeam));
    const ValueId at = builder_.Apply(Op::kAdd, {first, k});
    size_t part = 0;
    for (text::ReductionState& state : shared_.states) {
      for (ValueId& value : state) value = builder_.Load(scratch_[part++], {at});
    }
    states.Merge(shared_.states);
    builder_.EndFor();
    shared_.states = team.BeginMerged(states.Read());
  }

  // The element, for which the reductions are known.
  absl::Status WriteResults(const text::Typing& typing, ValueId index) {
    shared_.pass = text::SharedReductions::Pass::kResults;
    shared_.count = CountOperands();
    return WriteElement(typing, index, &shared_);
  }

  // How many operands an element's reductions have.
  ValueId CountOperands() {
    const text::Site site = MakeSite();
    const text::ReductionBinding& axes = site.reductions[0];
    ValueId count = Literal(1);
    for (int d = 0; d < axes.rank; ++d) {
      if (axes.outer[d] != text::ReductionBinding::kReduced) continue;
      count = builder_.Apply(Op::kMul, {count, builder_.Cast(SignedIndex(), builder_.Shape(axes.AnyArray(), d))});
    }
    return count;
  }
  ValueId UnsignedLiteral(int64_t value) { return builder_.Constant(UnsignedIndex(), static_cast<uint64_t>(value)); }
  ValueId Literal(int64_t value) { return builder_.Constant(SignedIndex(), static_cast<uint64_t>(value)); }

  // As many neighbours as a thread has lanes, each array in one access. Only for programs that neither ask for their
  // place nor take arrays otherwise; see LanesFor.
  absl::Status WriteGroup(const text::Typing& typing, ValueId index) {
    const auto lanes = static_cast<size_t>(spec_.lanes);
    std::vector<text::Site> sites(lanes, MakeSite());
    for (size_t i = 0; i < spec_.inputs.size(); ++i) {
      const ArgumentForm& form = spec_.inputs[i];
      LocateAt(program_.inputs[i]);
      if (form.access == Access::kLinear) {
        const std::vector<ValueId> values = builder_.LoadGroup(inputs_[i], {index}, spec_.lanes, CacheHint::kNone);
        SLIPWAY_RETURN_IF_ERROR(builder_.status());
        for (size_t lane = 0; lane < lanes; ++lane) sites[lane].inputs[i].value = values[lane];
        continue;
      }
      text::InputBinding shared;
      Share(i, shared);
      if (form.access == Access::kIndexed) {
        shared.value = builder_.Load(inputs_[i], absl::Span<const ValueId>(), MemoryAccess::ReadOnly());
      }
      for (text::Site& site : sites) site.inputs[i] = shared;
    }
    std::vector<std::vector<ValueId>> outputs(spec_.outputs.size());
    for (const text::Site& site : sites) {
      SLIPWAY_ASSIGN_OR_RETURN(const std::vector<ValueId> values, text::Emit(program_, typing, site, builder_));
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
  void Share(size_t input, text::InputBinding& binding) {
    if (spec_.inputs[input].access == Access::kScalar) binding.value = builder_.Scalar(inputs_[input]);
    if (spec_.inputs[input].access == Access::kGathered) binding.array = inputs_[input];
  }

  bool narrow() const { return spec_.index == IndexWidth::kIndex32; }
  DType SignedIndex() const { return narrow() ? DType::kInt32 : DType::kInt64; }
  DType UnsignedIndex() const { return narrow() ? DType::kUInt32 : DType::kUInt64; }

  // What the program sees of its kernel, but for the inputs' values.
  text::Site MakeSite() {
    text::Site site{
        .outputs = outputs_, .index_type = SignedIndex(), .number = linear_, .size = size_, .rank = spec_.output_rank};
    site.inputs.resize(spec_.inputs.size());
    site.indices.assign(indices_.begin(), indices_.begin() + spec_.output_rank);
    if (program_.wants_extents) AddExtents(site);
    size_t view = 0;
    for (size_t i = 0; i < site.inputs.size(); ++i) {
      if (program_.inputs[i].whole()) site.inputs[i].array = views_[view++];
    }
    for (const Specialization::Reduction& reduction : spec_.reductions) {
      site.reductions.push_back({.rank = reduction.rank, .outer = reduction.outer, .arrays = {}});
      site.reductions.back().arrays.resize(program_.reduced.size(), ir::kNone);
    }
    for (size_t i = 0; i < program_.reduced.size(); ++i) {
      site.reductions[program_.reduced[i].reduction].arrays[i] = views_[view++];
    }
    return site;
  }

  // The outermost extent is what the others leave of the size.
  void AddExtents(text::Site& site) {
    ValueId inner = builder_.Constant(SignedIndex(), 1);
    for (int d = 1; d < spec_.output_rank; ++d) {
      site.extents.push_back(builder_.Scalar(extents_[d]));
      inner = builder_.Apply(Op::kMul, {inner, site.extents.back()});
    }
    if (spec_.output_rank > 0) {
      site.extents.insert(site.extents.begin(), builder_.Apply(Op::kDiv, {site.size, inner}));
    }
  }

  ParamId AddParameter(const std::string& name, const ArgumentForm& form, bool read_only) {
    if (form.access == Access::kNone) return ir::kNone;
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

  void AddParameters(const text::Typing& typing) {
    for (size_t i = 0; i < spec_.outputs.size(); ++i) {
      outputs_.push_back(AddParameter(program_.outputs[i].name, spec_.outputs[i], /*read_only=*/false));
    }
    for (size_t i = 0; i < spec_.inputs.size(); ++i) {
      inputs_.push_back(AddParameter(program_.inputs[i].name, spec_.inputs[i], /*read_only=*/true));
    }
    const auto add_view = [&](size_t input, const std::string& suffix) {
      const ArgumentForm& form = spec_.views[views_.size()];
      const bool number = form.access == Access::kScalar;
      views_.push_back(number ? ir::kNone
                              : AddParameter(FreeName(program_.inputs[input].name + suffix), form, /*read_only=*/true));
    };
    for (size_t i = 0; i < spec_.inputs.size(); ++i) {
      if (program_.inputs[i].whole()) add_view(i, "_whole");
    }
    for (const text::ReducedArray& reduced : program_.reduced) {
      add_view(reduced.input, absl::StrCat("_reduced", reduced.reduction));
    }
    for (int d = 0; TakesExtents(spec_) && d < spec_.loop_rank; ++d) {
      extents_[d] = builder_.AddScalar(FreeName(d == 0 ? "size" : absl::StrCat("extent", d)), SignedIndex());
    }
    if (spec_.team != Specialization::Team::kBlocks) return;
    blocks_ = builder_.AddScalar(FreeName("blocks"), SignedIndex());
    const auto add = [&](const std::string& name, DType dtype) {
      scratch_.push_back(builder_.AddArray({.name = FreeName(name),
                                            .kind = ParamKind::kArray,
                                            .dtype = dtype,
                                            .rank = 1,
                                            .layout = Layout::kContiguous,
                                            .index = spec_.index}));
    };
    for (DType dtype : StatesOf(program_, typing)) add(absl::StrCat("states", scratch_.size()), dtype);
    add("tickets", DType::kUInt32);
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
    size_t output = 0;
    while (spec_.outputs[output].access == Access::kGathered) ++output;
    return builder_.Cast(SignedIndex(), builder_.Shape(outputs_[output], 0));
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
    needed |= (uint32_t{1} << spec_.output_rank) - 1;
    if (spec_.loop_rank == 1) {
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
  KernelOrigin* const origin_;
  std::vector<ParamId> outputs_;
  std::vector<ParamId> inputs_;
  std::vector<ParamId> views_;
  std::array<ParamId, kMaxRank> extents_{};
  ParamId blocks_ = ir::kNone;
  std::vector<ParamId> scratch_;
  text::SharedReductions shared_;
  ValueId size_ = ir::kNone;
  ValueId linear_ = ir::kNone;
  std::array<ValueId, kMaxRank> indices_{};
};

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
  return KernelWriter(program, specialization, name, origin).Write(typing);
}

}  // namespace slipway::elementwise
