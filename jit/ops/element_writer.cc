#include "jit/ops/element_writer.h"

#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "driver/status_macros.h"
#include "slipway/memory_model.h"

namespace slipway::elementwise {

using ir::Op;
using ir::ParamId;
using ir::ValueId;

ElementWriter::ElementWriter(const text::Program& program, const text::Typing& typing,
                             const Specialization& specialization, const std::string& name, KernelOrigin* origin)
    : program_(program), typing_(typing), spec_(specialization), builder_(name), origin_(origin) {
  builder_.AddFile("expression");
}

ParamId ElementWriter::AddNumber(const std::string& name) { return builder_.AddScalar(FreeName(name), SignedIndex()); }

ParamId ElementWriter::AddLinear(const std::string& name, DType dtype) {
  return builder_.AddArray({.name = FreeName(name),
                            .kind = ParamKind::kArray,
                            .dtype = dtype,
                            .rank = 1,
                            .layout = Layout::kContiguous,
                            .index = spec_.index});
}

void ElementWriter::AddOffsets() {
  offsets_ = builder_.AddArray({.name = FreeName("offsets"),
                                .kind = ParamKind::kArray,
                                .dtype = spec_.offsets,
                                .rank = 1,
                                .index = spec_.index,
                                .read_only = true});
}

std::vector<ParamId> ElementWriter::AddStates() {
  std::vector<ParamId> states;
  for (DType dtype : StatesOf(program_, typing_)) {
    states.push_back(AddLinear(absl::StrCat("states", states.size()), dtype));
  }
  return states;
}

text::Site ElementWriter::ReadSite(ValueId index) {
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

absl::Status ElementWriter::WriteElement(ValueId index, text::SharedReductions* shared) {
  text::Site site = ReadSite(index);
  site.shared = shared;
  std::vector<text::EmittedReduction> reductions;
  const ValueId begin = builder_.num_instructions();
  SLIPWAY_ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                           text::Emit(program_, typing_, site, builder_, &reductions));
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

absl::Status ElementWriter::WriteGroup(ValueId index) {
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
    SLIPWAY_ASSIGN_OR_RETURN(const std::vector<ValueId> values, text::Emit(program_, typing_, site, builder_));
    for (size_t i = 0; i < values.size(); ++i) outputs[i].push_back(values[i]);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    LocateAt(program_.outputs[i]);
    builder_.StoreGroup(outputs_[i], {index}, outputs[i], CacheHint::kNone);
  }
  return absl::OkStatus();
}

// What comes is of where the text first names the parameter.
void ElementWriter::LocateAt(const text::Parameter& parameter) {
  for (const text::Symbol& symbol : program_.symbols) {
    if (symbol.name != parameter.name) continue;
    return builder_.SetLocation(program_.source.LocationOfToken(symbol.span.offset));
  }
}

// What all elements have in common of an input: a number, or an array to gather from.
void ElementWriter::Share(size_t input, text::InputBinding& binding) {
  if (spec_.inputs[input].access == Access::kScalar) binding.value = builder_.Scalar(inputs_[input]);
  if (spec_.inputs[input].access == Access::kGathered) binding.array = inputs_[input];
}

// What the program sees of its kernel, but for the inputs' values.
text::Site ElementWriter::MakeSite() {
  text::Site site{
      .outputs = outputs_, .index_type = SignedIndex(), .number = linear_, .size = size_, .rank = spec_.output_rank};
  AddArrays(site);
  site.indices.assign(indices_.begin(), indices_.begin() + spec_.output_rank);
  if (program_.wants_extents) AddExtents(site);
  size_t view = 0;
  for (const text::Parameter& input : program_.inputs) view += input.whole();
  for (const Specialization::Reduction& reduction : spec_.reductions) {
    site.reductions.push_back({.rank = reduction.rank, .outer = reduction.outer, .arrays = {}});
    site.reductions.back().arrays.resize(program_.reduced.size(), ir::kNone);
  }
  for (size_t i = 0; i < program_.reduced.size(); ++i) {
    site.reductions[program_.reduced[i].reduction].arrays[i] = views_[view++];
  }
  return site;
}

void ElementWriter::AddArrays(text::Site& site) const {
  site.inputs.resize(spec_.inputs.size());
  size_t view = 0;
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    if (program_.inputs[i].whole()) site.inputs[i].array = views_[view++];
  }
}

// The outermost extent is what the others leave of the size.
void ElementWriter::AddExtents(text::Site& site) {
  ValueId inner = builder_.Constant(SignedIndex(), 1);
  for (int d = 1; d < spec_.output_rank; ++d) {
    site.extents.push_back(builder_.Scalar(extents_[d]));
    inner = builder_.Apply(Op::kMul, {inner, site.extents.back()});
  }
  if (spec_.output_rank > 0) {
    site.extents.insert(site.extents.begin(), builder_.Apply(Op::kDiv, {site.size, inner}));
  }
}

ParamId ElementWriter::AddParameter(const std::string& name, const ArgumentForm& form, bool read_only) {
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

void ElementWriter::AddParameters() {
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
}

// A parameter's name that no parameter of the program has.
std::string ElementWriter::FreeName(std::string name) const {
  const auto taken = [&] {
    for (const text::Symbol& symbol : program_.symbols) {
      if (symbol.name == name) return true;
    }
    return false;
  };
  while (taken()) name += "_";
  return name;
}

ValueId ElementWriter::Size() {
  if (size_ != ir::kNone) return size_;
  if (TakesExtents(spec_)) return size_ = builder_.Scalar(extents_[0]);
  size_t output = 0;
  while (spec_.outputs[output].access == Access::kGathered) ++output;
  return size_ = builder_.Cast(SignedIndex(), builder_.Shape(outputs_[output], 0));
}

// The index along each loop dimension, from the last inwards; as far out as an argument depends on one. Unsigned,
// because dividing such numbers is cheaper.
void ElementWriter::Unravel(ValueId linear) {
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

absl::InlinedVector<ValueId, kMaxRank> ElementWriter::IndicesOf(const ArgumentForm& form) const {
  if (form.access == Access::kLinear) return {linear_};
  absl::InlinedVector<ValueId, kMaxRank> indices;
  for (int d = 0; d < spec_.loop_rank; ++d) {
    if (form.mask & (uint32_t{1} << d)) indices.push_back(indices_[d]);
  }
  return indices;
}

ElementWriter::Range ElementWriter::OperandsOf(ValueId index) {
  if (spec_.segmented) {
    const ValueId next = builder_.Apply(Op::kAdd, {index, Literal(1)});
    return {builder_.Cast(SignedIndex(), builder_.Load(offsets_, {index})),
            builder_.Cast(SignedIndex(), builder_.Load(offsets_, {next}))};
  }
  const text::Site site = MakeSite();
  const text::ReductionBinding& axes = site.reductions[0];
  ValueId count = Literal(1);
  for (int d = 0; d < axes.rank; ++d) {
    if (axes.outer[d] != text::ReductionBinding::kReduced) continue;
    count = builder_.Apply(Op::kMul, {count, builder_.Cast(SignedIndex(), builder_.Shape(axes.AnyArray(), d))});
  }
  return {Literal(0), count};
}

std::vector<text::Monoid> ElementWriter::Monoids() {
  text::Site site{.outputs = outputs_, .index_type = SignedIndex()};
  AddArrays(site);
  for (size_t i = 0; i < site.inputs.size() && !program_.operations.empty(); ++i) Share(i, site.inputs[i]);
  return text::MonoidsOf(program_, typing_, site);
}

absl::Status ElementWriter::MergeOperands(ValueId index, ValueId begin, const Team::Share& share,
                                          StateVariables& states) {
  text::Site site = ReadSite(index);
  text::SharedReductions shared;
  shared.states.resize(program_.axis_reductions.size());
  shared.number = builder_.BeginFor("operand", SignedIndex(), share.begin, share.end, Literal(share.step));
  shared.position = builder_.Apply(Op::kSub, {shared.number, begin});
  site.shared = &shared;
  SLIPWAY_RETURN_IF_ERROR(text::Emit(program_, typing_, site, builder_).status());
  states.Append(shared.states);
  builder_.EndFor();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<text::ReductionState>> ElementWriter::StatesOfElement(ValueId index, ValueId position) {
  text::Site site = ReadSite(index);
  text::SharedReductions shared;
  shared.states.resize(program_.axis_reductions.size());
  shared.number = index;
  shared.position = position;
  site.shared = &shared;
  SLIPWAY_RETURN_IF_ERROR(text::Emit(program_, typing_, site, builder_).status());
  return std::move(shared.states);
}

void ElementWriter::StoreStates(const std::vector<text::ReductionState>& states, const std::vector<ParamId>& arrays,
                                ValueId at) {
  auto array = arrays.begin();
  for (const text::ReductionState& state : states) {
    for (ValueId value : state) builder_.Store(*array++, {at}, value);
  }
}

std::vector<text::ReductionState> ElementWriter::LoadStates(const std::vector<ParamId>& arrays, ValueId at) {
  std::vector<text::ReductionState> states;
  auto array = arrays.begin();
  for (const text::Monoid& monoid : text::MonoidsOf(program_, typing_)) {
    text::ReductionState& state = states.emplace_back();
    for (size_t part = 0; part < monoid.types().size(); ++part) state.push_back(builder_.Load(*array++, {at}));
  }
  return states;
}

}  // namespace slipway::elementwise
