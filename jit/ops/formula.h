// A text with everything that calls of it have needed so far: types, kernels, plans of launches, and, where it has
// reductions over axes, the texts that work those out (jit/text/split.h). What an Elementwise is underneath.
#ifndef SLIPWAY_JIT_OPS_FORMULA_H_
#define SLIPWAY_JIT_OPS_FORMULA_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jit/ops/elementwise_arguments.h"
#include "jit/ops/elementwise_kernel.h"
#include "jit/ops/elementwise_plan.h"
#include "jit/text/emit.h"
#include "jit/text/program.h"
#include "jit/text/split.h"
#include "slipway/array.h"
#include "slipway/bound_launch.h"
#include "slipway/dispatch.h"
#include "slipway/elementwise.h"

namespace slipway::elementwise {

// Safe to use from any thread.
class Formula {
 public:
  static constexpr size_t kNoSlot = internal::PlanSlots::kNoSlot;

  // `parse_microseconds` is what it took to parse the text, for the times of its kernels.
  // kScan: its reductions run along the elements. `is_part`: of a text that was split, and is not split again.
  enum class Kind : uint8_t { kElements, kScan };
  Formula(text::Program program, std::string name, const CompileOptions& options, double parse_microseconds,
          Kind kind = Kind::kElements, bool is_part = false);

  const text::Program& program() const { return program_; }
  const std::string& name() const { return name_; }
  const CompileOptions& options() const { return options_; }
  const internal::PlanSlots& slots() const { return slots_; }

  // Checks and runs a call whose arguments are bound: its outputs are allocated for the stream, or among the arguments.
  // If a plan fits calls of known types, it goes to `slot`, unless that is kNoSlot.
  absl::StatusOr<std::vector<AnyArray>> Allocate(const Stream& stream, Arguments arguments);
  absl::Status Run(const Stream& stream, const Arguments& arguments, size_t slot = kNoSlot);
  absl::StatusOr<BoundLaunch> Bind(const Device& device, const Arguments& arguments);

  // What a call's kernel is specialised by, and what that is given.
  struct Specialized {
    Specialization form;
    Shares shares;
    absl::InlinedVector<Given, 8> given;             // To the kernel's parameters,
    absl::InlinedVector<Arg, kMaxRank + 1> extents;  // and to the next of them.
  };
  // `most` is the most threads that the reductions of an element may have.
  absl::StatusOr<Specialized> Specialize(const Device& device, const Arguments& arguments, const Shapes& shapes,
                                         Specialization::Team most) const;

  // Whether threads may share the operands of its reductions out: all go over the same elements, none stands in
  // another, nor where a thread may not come to it.
  bool shareable() const { return shareable_; }
  absl::StatusOr<const text::Typing*> TypingOf(const Arguments& arguments);
  absl::StatusOr<const Kernel*> KernelFor(const Device& device, const text::Typing& typing,
                                          const Specialized& specialized);
  // Launches a kernel of a form: what Specialize says it is given, then `more`.
  absl::Status Launch(const Stream& stream, const Arguments& arguments, const text::Typing& typing,
                      const Specialized& specialized, const LaunchConfig& config, absl::Span<const Arg> more);

  // What was compiled so far, by the text and those that work out its reductions.
  std::vector<ElementwiseVariant> Variants() const;
  uint64_t compiles() const;
  size_t plans() const;
  void Keep(Kernel kernel);  // So that its module stays loaded.

 private:
  struct Parts;  // Of a text that is split.

  // What the kernel of a form is given; it refers to both.
  static absl::InlinedVector<Arg, 16> ArgsOf(const Specialized& specialized, const Arguments& arguments);

  void Remember(const Plan& plan, size_t slot);
  absl::StatusOr<Kernel> CompileFor(const Device& device, const text::Typing& typing,
                                    const Specialization& specialization);
  absl::StatusOr<Plan> PlanFor(const Device& device, const Arguments& arguments, const text::Typing& typing,
                               const Shapes& shapes);
  // The plan of the call, kept if there is room; else `here` holds it.
  absl::StatusOr<const Plan*> KeptPlan(const Device& device, absl::Span<const uint64_t> key, const Arguments& arguments,
                                       const text::Typing& typing, const Shapes& shapes,
                                       std::unique_ptr<const Plan>& here);

  absl::Status RunChecked(const Stream& stream, const Arguments& arguments, const PlanKey& key,
                          const text::Typing& typing, const Shapes& shapes, size_t slot);

  // How a call goes: as a whole, or the reductions first, by texts of their own, and then the rest, in which the last
  // of them may be.
  enum class Way : uint8_t { kWhole, kFused, kParts };
  Way WayFor(const Shapes& shapes);
  absl::Status RunParts(const Stream& stream, const Arguments& arguments, Way way);
  Parts& parts();

  const text::Program program_;
  const std::string name_;
  const CompileOptions options_;
  const double parse_microseconds_;
  const Kind kind_;
  const bool is_part_;  // Of a text that was split.
  const bool shareable_;

  // What a call's dtypes give, and the kernels. The device's address is part of a kernel's key, and devices_ keeps it
  // from being used again.
  SpecializationCache<text::Typing> typings_;
  SpecializationCache<Kernel> kernels_;
  SpecializationCache<std::unique_ptr<const Plan>> plans_;
  internal::PlanSlots slots_;

  mutable std::mutex mutex_;  // Guards what follows.
  std::vector<Device> devices_;
  std::vector<ElementwiseVariant> variants_;
  std::vector<Kernel> kept_;
  std::shared_ptr<Parts> parts_;  // Made when a call wants it, and never changed after.
};

absl::Status CheckStream(const Stream& stream);
absl::Status CheckFormulaOptions(const ElementwiseOptions& options);
absl::Status CheckOneOutput(const text::Program& program);

// Whether all reductions over axes stand where every thread of a block comes to them, in no other, and nothing has
// effects before: then a block may work for one element.
bool IsShareable(const text::Program& program);

}  // namespace slipway::elementwise

#endif  // SLIPWAY_JIT_OPS_FORMULA_H_
