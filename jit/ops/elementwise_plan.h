// The plan of an elementwise call: all that follows from the types, shapes and strides of its arguments, and so can be
// kept for the next call with the same ones. Only addresses and numbers are then put into the launch buffer.
#ifndef SLIPWAY_JIT_OPS_ELEMENTWISE_PLAN_H_
#define SLIPWAY_JIT_OPS_ELEMENTWISE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "jit/ops/broadcast.h"
#include "jit/ops/elementwise_arguments.h"
#include "jit/text/program.h"
#include "slipway/elementwise_plan.h"
#include "slipway/kernel.h"
#include "slipway/launch_config.h"
#include "slipway/stream.h"

namespace slipway::elementwise {

// Arguments are counted outputs first.
const Arg& ArgAt(const Arguments& arguments, size_t i);

// Where one argument goes.
struct PlannedParam {
  uint32_t argument = 0;
  uint32_t offset = 0;  // In the launch buffer.
  uint32_t bytes = 0;   // Of a number; 0 for an array, of which the address is stored.
  int64_t shift = 0;    // Bytes from the array's first element to the loop's.
};

// The memory that several blocks of an element need together, which each launch allocates; see StatesOf.
struct Scratch {
  std::vector<DType> states;
  int64_t blocks = 0;    // In all, and
  int64_t elements = 0;  // of the output.
  // Filled by MakePlan:
  std::vector<uint32_t> offsets;  // In the launch buffer, the tickets' last.
};

// How a plan's threads share the output's elements.
struct Shares {
  int64_t elements = 0;
  int lanes = 1;       // Elements of a thread.
  int64_t blocks = 0;  // Of kTeam threads in all; 0 where threads have elements of their own.

  int64_t threads() const { return (elements - 1) / lanes + 1; }
  LaunchConfig Config() const;
};

struct Plan {
  explicit Plan(Kernel k) : kernel(std::move(k)) {}
  Plan(Plan&&) = default;

  Kernel kernel;
  Shape shape;  // Of the outputs, before dimensions were merged.
  Shares shares;
  std::vector<std::byte> buffer;  // The launch buffer, without addresses and numbers.
  std::vector<PlannedParam> params;
  // For calls whose types are known. Points into this plan, once that stays where it is; see Settle.
  internal::CodedPlan coded;
  std::vector<internal::StoredPair> geometry;

  std::optional<Scratch> scratch;

  void Settle();
};

// What tells plans apart: of each argument the facts but for its alignment, shape and strides, and whether all are
// aligned for wide accesses. The device is among
// the facts.
using PlanKey = absl::InlinedVector<uint64_t, 128>;
PlanKey KeyOf(const Arguments& arguments);

// What a parameter of the kernel is given: an argument (outputs counted first), as itself or, of an array, as a view.
struct Given {
  uint32_t argument = 0;
  std::optional<AnyArrayView> view;
};

// The plan of a call that was checked. `given` is for the kernel's parameters, in order, but for the last ones, which
// are `extents` (see TakesExtents), the number of blocks of an element, and `scratch`. INVALID_ARGUMENT if the kernel
// refuses one.
absl::StatusOr<Plan> MakePlan(const Kernel& kernel, const text::Program& program, const Shape& shape,
                              const Shares& shares, const Arguments& arguments, absl::Span<const Given> given,
                              absl::Span<const Arg> extents, const std::optional<Scratch>& scratch);

// Whether the one output is clear of all inputs, as far as one compare tells; false where nothing is known.
bool SeemsClear(const Plan& plan, const Arguments& arguments);

absl::Status LaunchPlanned(const Plan& plan, const Stream& stream, const Arguments& arguments);

}  // namespace slipway::elementwise

#endif  // SLIPWAY_JIT_OPS_ELEMENTWISE_PLAN_H_
