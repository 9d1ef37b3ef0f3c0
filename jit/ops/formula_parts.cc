// Formulas whose reductions over axes are worked out by formulas of their own.
#include <algorithm>
#include <limits>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "driver/status_macros.h"
#include "jit/ops/broadcast.h"
#include "jit/ops/formula.h"

namespace slipway::elementwise {

struct Formula::Parts {
  struct Part {
    Part(text::Split::Part part, const Formula& whole)
        : formula(std::move(part.program), whole.name_, whole.options_, whole.parse_microseconds_, Kind::kElements,
                  /*is_part=*/true),
          inputs(std::move(part.inputs)) {}

    Formula formula;
    const std::vector<uint32_t> inputs;  // As of text::Split.
  };

  // Neither moves, nor is any changed after it was made.
  std::list<Part> stages;
  std::unique_ptr<Part> rest, fused;  // Null where the text cannot be split, or that is not to be had.

  template <class Visit>
  void ForEach(const Visit& visit) const {
    for (const Part& stage : stages) visit(stage.formula);
    if (rest != nullptr) visit(rest->formula);
    if (fused != nullptr) visit(fused->formula);
  }
};

namespace {

// Saturates.
double CountOf(const Shape& shape, uint32_t dimensions) {
  double count = 1;
  for (int d = 0; d < shape.rank; ++d) {
    if (dimensions & (uint32_t{1} << d)) count *= static_cast<double>(shape.extents[d]);
  }
  return count;
}

}  // namespace

// By how many operands are evaluated, and how many of them one after the other.
Formula::Way Formula::WayFor(const Shapes& shapes) {
  constexpr double kFewOperands = 256;     // Which one thread goes through before a second launch has begun,
  constexpr double kLittleWork = 1 << 17;  // and all together.
  const std::vector<text::AxisReduction>& reductions = program_.axis_reductions;
  if (reductions.empty() || is_part_) return Way::kWhole;
  const double elements = CountOf(shapes.loop, ~uint32_t{0});
  std::vector<double> turns(reductions.size());  // Of each, with those around it: of one thread.
  double in_threads = 0, in_parts = elements, longest = 0, outer_results = 0;
  bool nested = false;
  for (size_t r = 0; r < reductions.size(); ++r) {
    const bool outermost = reductions[r].outer == text::AxisReduction::kNoReduction;
    const double operands = CountOf(shapes.operands[r], shapes.reduced[r]);
    const double results = CountOf(shapes.operands[r], ~shapes.reduced[r]);
    turns[r] = operands * (outermost ? 1 : turns[reductions[r].outer]);
    in_threads += elements * turns[r];
    in_parts += operands * results;
    longest = std::max(longest, turns[r]);
    nested |= !outermost;
    if (outermost) outer_results = std::max(outer_results, results);
  }
  if (longest < kFewOperands && in_threads - in_parts < kLittleWork) return Way::kWhole;
  // Where each value is wanted once, and the threads of a block can share the work, there is nothing to be kept.
  if (shareable_ && !nested && elements == outer_results) return Way::kWhole;
  if (in_threads < 2 * in_parts && elements >= kFewOperands) return Way::kWhole;
  const Parts& all = parts();
  if (all.rest == nullptr) return Way::kWhole;
  return all.fused != nullptr && elements == outer_results ? Way::kFused : Way::kParts;
}

Formula::Parts& Formula::parts() {
  const std::lock_guard lock(mutex_);
  if (parts_ != nullptr) return *parts_;
  auto parts = std::make_shared<Parts>();
  if (std::optional<text::Split> split = text::SplitReductions(program_); split.has_value()) {
    for (text::Split::Part& stage : split->stages) parts->stages.emplace_back(std::move(stage), *this);
    parts->rest = std::make_unique<Parts::Part>(std::move(split->rest), *this);
    if (split->fused.has_value()) {
      auto fused = std::make_unique<Parts::Part>(*std::move(split->fused), *this);
      if (fused->formula.shareable_) parts->fused = std::move(fused);
    }
  }
  parts_ = std::move(parts);
  return *parts_;
}

absl::Status Formula::RunParts(const Stream& stream, const Arguments& arguments, Way way) {
  Parts& all = parts();
  std::list<std::vector<AnyArray>> arrays;
  std::list<Arg> results;
  std::vector<const Arg*> sources(arguments.inputs.begin(), arguments.inputs.end());
  const auto bind = [&](const Parts::Part& part) {
    Arguments bound;
    for (uint32_t source : part.inputs) bound.inputs.push_back(sources[source]);
    return bound;
  };
  const size_t stages = all.stages.size() - (way == Way::kFused ? 1 : 0);
  auto stage = all.stages.begin();
  for (size_t i = 0; i < stages; ++i, ++stage) {
    SLIPWAY_ASSIGN_OR_RETURN(std::vector<AnyArray> made, stage->formula.Allocate(stream, bind(*stage)));
    for (const AnyArray& array : arrays.emplace_back(std::move(made))) {
      sources.push_back(&results.emplace_back(array));
    }
  }
  Parts::Part& last = way == Way::kFused ? *all.fused : *all.rest;
  Arguments bound = bind(last);
  bound.outputs = arguments.outputs;
  return last.formula.Run(stream, bound);
}

std::vector<ElementwiseVariant> Formula::Variants() const {
  const std::lock_guard lock(mutex_);
  std::vector<ElementwiseVariant> variants = variants_;
  if (parts_ == nullptr) return variants;
  parts_->ForEach([&](const Formula& part) {
    for (ElementwiseVariant& variant : part.Variants()) variants.push_back(std::move(variant));
  });
  return variants;
}

uint64_t Formula::compiles() const {
  const std::lock_guard lock(mutex_);
  uint64_t compiles = kernels_.counters().compiles;
  if (parts_ != nullptr) parts_->ForEach([&](const Formula& part) { compiles += part.compiles(); });
  return compiles;
}

size_t Formula::plans() const {
  const std::lock_guard lock(mutex_);
  size_t plans = plans_.size();
  if (parts_ != nullptr) parts_->ForEach([&](const Formula& part) { plans += part.plans(); });
  return plans;
}

}  // namespace slipway::elementwise
